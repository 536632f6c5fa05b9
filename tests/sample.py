"""A small publication in full: an audit of a library that does not exist, its receipt, and two guides that stand on it.

Tests break it in one way at a time. Every text of it can be replaced, so that a hostile one can be tried in each place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from site_builder import bindings, guides, publications, receipts, site
from site_builder.figures import Vocabulary
from site_builder.inputs import File
from site_builder.receipts import Ledger, Receipt
from site_builder.values import Digest

ROOT = Path(__file__).resolve().parent.parent
RELEASES = ("1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.0.1")
_PAGES = {"1.0.0": "4096", "1.1.0": "4096", "1.2.0": "16384", "2.0.0": "16384", "2.0.1": "unknown"}


TOOL = b'''"""Says whether a start is safe."""

import json


def decide(text):
    """Return the state that one log shows."""
    # A log without the word says nothing.
    return {"state": "hold" if "cache" in text else "unknown", "rows": 1}


def main():
    print(json.dumps(decide("")))
'''

LOG = b'shelf: starting <cache> & "pages"\nshelf: ready\n'
LOGS = {
    "full": b"\x1b[32mINFO\x1b[0m shelf: cache of \xc2\xa065536 pages\r\n" + b"\x00\xff\xfe\xe2\x80\xae<end>\n",
    "quiet": b"".join(b"shelf: line %d of a long log\n" % line for line in range(1, 1001)) + b"x" * 5000,
}
SCHEMA = b'{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}\n'


def templates() -> Mapping[str, File]:
    """Return the project's own templates."""
    folder = ROOT / "templates"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name: File(where=f"templates/{name}", body=(folder / name).read_bytes()) for name in names}


def body(say: Callable[[str], str] = str) -> dict[str, Any]:
    """Return the receipt's body, each text of it passed through `say`."""

    def digest(name: str) -> str:
        return Digest.of(name.encode())

    sources: list[dict[str, Any]] = [
        {
            "id": f"{family}@{release}",
            "purpose": say(purpose),
            "role": "upstream",
            "mutability": "immutable",
            "standing": "absent" if (family, release) == ("native", "1.0.0") else "obtained",
            "integrity": "record",
            "digest": digest(family + release),
            "bytes": 2048 + 17 * place,
            "origin": say(f"pkg:pypi/shelf@{release}?file_name=shelf-{release}-py3-none-any.whl#shelf/{family}.py"),
            "artifact": f"shelf-{release}-py3-none-any.whl",
            "retrievedAt": "2026-11-20T09:30:00Z",
        }
        for family, purpose in (
            ("cache", "Where the size of the page cache is decided."),
            ("native", "The compiled allocator that takes the memory."),
        )
        for place, release in enumerate(RELEASES)
    ]
    sources.append(
        {
            "id": "issue-7",
            "purpose": say("The report that started this audit."),
            "role": "reporter",
            "mutability": "mutable",
            "standing": "recorded",
            "integrity": "direct",
            "digest": digest("issue"),
            "bytes": 9311,
            "origin": say("https://forge.example/shelf/issues/7"),
            "retrievedAt": "2026-11-20T09:30:00Z",
            "recordedBy": say("The first audit of shelf"),
        }
    )
    sources += [
        {
            "id": f"wheel@{release}",
            "purpose": say("What decides which allocator takes the memory."),
            "role": "upstream",
            "mutability": "immutable",
            "standing": "obtained",
            "integrity": "record",
            "digest": digest(f"record{release}"),
            "bytes": 911,
            "origin": say(
                f"pkg:pypi/shelf@{release}?file_name=shelf-{release}-py3-none-any.whl#shelf.dist-info/RECORD"
            ),
            "artifact": f"shelf-{release}-py3-none-any.whl",
            "retrievedAt": "2026-11-20T09:30:00Z",
            "members": [
                {"path": path, "digest": digest(path + (release if moved else "")), "bytes": 640 + moved}
                for path, moved in (("shelf/__init__.py", 0), ("shelf/alloc/native.py", 1), ("shelf/registry.py", 0))
            ],
        }
        for release in RELEASES[-2:]
    ]
    trail: list[dict[str, Any]] = [
        {
            "step": say(step),
            "value": say(value),
            "at": {"path": path, "line": line, "lastLine": line + place},
            "region": digest(step),
        }
        for place, (step, value, path, line) in enumerate(
            (
                ("entry", "native:Allocator", "shelf/registry.py", 12),
                ("import", "shelf.alloc.native", "shelf/registry.py", 3),
                ("class", "shelf.alloc.native:Allocator", "shelf/alloc/native.py", 80),
            )
        )
    ]
    observations: list[dict[str, Any]] = [
        {
            "id": f"pageSize@{release}",
            "value": _PAGES[release],
            "unit": "B",
            "kind": "number",
            "source": f"cache@{release}",
            "at": {"line": 40 + place, "lastLine": 40 + place},
            "region": digest(f"page{release}"),
            "statement": say("Bytes that one page of the cache takes."),
            **({"reason": say("the constant is computed when the module is loaded")} if release == "2.0.1" else {}),
        }
        for place, release in enumerate(RELEASES)
    ]
    observations.append(
        {
            "id": "defaultPages",
            "value": "65536",
            "unit": "page",
            "kind": "number",
            "source": "cache@2.0.0",
            "at": {"path": "PageCache.__init__", "line": 71, "lastLine": 73},
            "region": digest("default"),
            "statement": say("Pages that the cache keeps when nobody says otherwise."),
        }
    )
    observations += [
        {
            "id": f"allocator@{release}",
            "value": say("shelf.alloc.native:Allocator"),
            "kind": "text",
            "source": f"wheel@{release}",
            "at": {"path": "shelf/alloc/native.py", "line": 80, "lastLine": 80},
            "region": digest("allocator"),
            "trail": trail,
            "statement": say("Class that takes the memory, through the registry."),
        }
        for release in RELEASES[-2:]
    ]
    rows = [
        {"id": pages, "pages": pages, "size": text, "left": left, "note": say(note)}
        for pages, text, left, note in (
            ("16384", "256", "7.75", "fits beside everything"),
            ("32768", "512", "7.5", "fits"),
            ("65536", "1024", "7", "the default"),
            ("524288", "8192", "0", "takes the whole machine"),
        )
    ]
    releases = [
        {"id": release, "release": release, "page": _PAGES[release], "verdict": verdict}
        for release, verdict in zip(RELEASES, ("safe", "safe", "affected", "affected", "unknown"), strict=True)
    ]
    return {
        "question": say("How much memory does shelf’s page cache take at its defaults?"),
        "artifacts": [
            {
                "file": f"shelf-{release}-py3-none-any.whl",
                "purl": f"pkg:pypi/shelf@{release}",
                "digest": digest(f"wheel{release}"),
                "bytes": 1_204_331,
                "uploadedAt": "2026-05-04T10:00:00Z",
                "verified": release != "1.0.0",
            }
            for release in RELEASES
        ],
        "sources": sources,
        "assumptions": [
            {
                "id": "machineMemory",
                "value": "8",
                "unit": "GiB",
                "statement": say("Memory of the machine that the cache runs on."),
                "reason": say("The smallest machine that the library’s own guide names."),
            },
            {
                "id": "limits",
                "value": ["512", "2048"],
                "unit": "MiB",
                "axis": "limit",
                "statement": say("Limits that the cache is held to."),
                "reason": say("One below the default’s memory and one above."),
            },
        ],
        "reported": [
            {
                "id": "reportedPeak",
                "value": "1.1",
                "unit": "GiB",
                "by": say("shelf/shelf#7"),
                "url": "https://forge.example/shelf/issues/7",
                "how": "public-copy",
                "statement": say("Peak of the process, as its reporter measured it."),
            }
        ],
        "observations": observations,
        "absences": [
            {
                "id": "noLimit",
                "value": "yes",
                "kind": "truth",
                "source": "cache@2.0.0",
                "statement": say("No option limits the cache in bytes."),
                "matcher": say("an assignment to a name that ends in _bytes_limit"),
                "bytes": 2099,
                "definitions": 41,
                "control": {"source": "cache@1.0.0", "found": 1},
            },
            *(
                {
                    "id": f"noRelease@{release}",
                    "value": "yes",
                    "kind": "truth",
                    "source": f"wheel@{release}",
                    "statement": say("The allocator gives no memory back."),
                    "matcher": say("a call of free in a class or its bases"),
                    "bytes": 1641,
                    "definitions": 1,
                    "at": {"path": "shelf/alloc/native.py", "line": 80, "lastLine": 131},
                    "region": digest("searched"),
                    "trail": trail[:2],
                    "control": {
                        "source": f"wheel@{release}",
                        "found": 2,
                        "path": "shelf/__init__.py",
                        "line": 9,
                        "lastLine": 30,
                    },
                }
                for release in RELEASES[-2:]
            ),
        ],
        "tools": [
            {"id": name, "statement": say(statement), "digest": Digest.of(file), "bytes": len(file)}
            for name, statement, file in (
                ("cache-receipt.schema.json", "What is kept of a start.", SCHEMA),
                ("cache_gate.py", "Says whether a start is safe.", TOOL),
            )
        ],
        "fixtures": [
            {"id": name, "statement": say(statement), "digest": Digest.of(file), "bytes": len(file)}
            for name, statement, file in (
                ("sample-log", "A log of one start.", LOG),
                ("starts/full/startup.log", "A start that says the word, written by a terminal.", LOGS["full"]),
                ("starts/quiet/startup.log", "A start that says nothing.", LOGS["quiet"]),
            )
        ],
        "trials": [
            {
                "id": f"startState@{key}",
                "value": value,
                "kind": "word",
                "statement": say("What the gate decides on the log."),
                "tool": "cache_gate.py",
                "fixtures": [f"starts/{key}/startup.log"],
            }
            for key, value in (("full", "hold"), ("quiet", "unknown"))
        ],
        "results": [
            {
                "id": "memory",
                "kind": "table",
                "class": "computed",
                "title": say("Memory by number of pages"),
                "statement": say("Memory that the cache takes once it is full, by the number of its pages."),
                "needs": ["pageSize@2.0.0", "machineMemory"],
                "columns": [
                    {"id": "pages", "title": say("Pages"), "unit": "page"},
                    {
                        "id": "size",
                        "title": say("Cache"),
                        "unit": "MiB",
                        "expression": ["div", ["mul", "pages", "pageSize@2.0.0"], "MiB"],
                    },
                    {
                        "id": "left",
                        "title": say("Left of the machine"),
                        "unit": "GiB",
                        "expression": ["sub", "machineMemory", "size"],
                    },
                    {"id": "note", "title": say("What it means"), "kind": "text", "expression": "opaque"},
                ],
                "rows": rows,
            },
            {
                "id": "defaultMemory",
                "kind": "value",
                "class": "computed",
                "title": say("Memory at the default"),
                "statement": say("What a full cache takes when nobody sets its size."),
                "needs": ["defaultPages", "pageSize@2.0.0"],
                "value": "1",
                "valueKind": "number",
                "unit": "GiB",
                "expression": ["div", ["mul", "defaultPages", "pageSize@2.0.0"], "GiB"],
            },
            {
                "id": "releases",
                "kind": "table",
                "class": "computed",
                "title": say("Verdict by release"),
                "statement": say(
                    "Whether a full cache of the default size is larger than it was in the first release."
                ),
                "needs": ["pageSize@1.0.0"],
                "columns": [
                    {"id": "release", "title": say("Release"), "kind": "version"},
                    {"id": "page", "title": say("Page"), "unit": "B", "expression": "pageSize@{row}"},
                    {"id": "verdict", "title": say("Verdict"), "kind": "word", "expression": "opaque"},
                ],
                "rows": releases,
            },
            {
                "id": "signals",
                "kind": "table",
                "class": "editorial",
                "title": say("What it looks like"),
                "statement": say("Signs of a cache that has grown too large, and what else they may mean."),
                "columns": [
                    {"id": "sign", "title": say("Sign"), "kind": "text"},
                    {"id": "means", "title": say("What it means here"), "kind": "text"},
                    {"id": "not", "title": say("What it does not mean"), "kind": "text"},
                ],
                "rows": [
                    {
                        "id": "slow",
                        "sign": say("Growth over hours"),
                        "means": say("The cache fills towards [1 GiB](receipt:defaultMemory)."),
                        "not": say("A leak: it stops by itself."),
                    },
                    {
                        "id": "jump",
                        "sign": say("A jump after an upgrade"),
                        "means": say("Pages of `16384` bytes, as in the [cache module](source:cache@2.0.0)."),
                        "not": say("More pages: their number did not change."),
                    },
                ],
            },
            {
                "id": "rollback",
                "kind": "checklist",
                "class": "editorial",
                "title": say("Going back"),
                "statement": say("The order in which to undo it."),
                "ordered": True,
                "columns": [{"id": "text", "title": say("Step"), "kind": "text"}],
                "rows": [
                    {"id": "s1", "text": say("Stop taking new work, and note how full the cache is.")},
                    {"id": "s2", "text": say("Set the number of pages that the last good run had.")},
                    {"id": "s3", "text": say("Start again, and watch the process for a whole cycle.")},
                ],
            },
        ],
        "invariants": [
            {
                "id": "defaultIsInTheTable",
                "statement": say("The default’s memory is the one that the table has for as many pages."),
                "expression": ["eq", "defaultMemory", "memory/65536/size"],
                "expected": "1 GiB",
                "actual": "1024 MiB",
                "brokenBy": ["pageSize@2.0.0", "defaultPages"],
            },
            {
                "id": "reportIsPlausible",
                "statement": say("The reported peak is at least what the cache alone takes."),
                "expression": ["ge", "reportedPeak", "defaultMemory"],
                "expected": "yes",
                "actual": "yes",
                "brokenBy": ["reportedPeak", "defaultPages"],
            },
            {
                "id": "limitIsAbove",
                "statement": say("The larger limit holds the default."),
                "expression": ["gt", "limits/2048", "defaultMemory"],
                "expected": "yes",
                "actual": "yes",
                "brokenBy": ["limits/2048", "defaultPages"],
            },
        ],
        "boundary": {"refused": ["open a socket or resolve a name", "start a process"], "observed": "none"},
        "decision": {
            "state": say("Affected since the default was raised"),
            "statement": say(
                "Set the number of pages yourself before you upgrade: the default now takes several times the memory."
            ),
            "subjects": [{"id": row["id"], "state": row["verdict"]} for row in releases],
            "conditions": [say("The cache is used with its defaults."), say("The process is long-lived.")],
            "reopen": [
                {"id": "smaller-page", "when": say("a release has pages of another size")},
                {"id": "limit", "when": say("a release offers a limit in bytes")},
            ],
        },
        "limits": [say("Nothing was run: all of this was read."), say("Only pure wheels were read.")],
    }


def receipt(say: Callable[[str], str] = str, version: int | str = 2) -> Receipt:
    """Return the sample receipt."""
    return Receipt.model_validate(
        {
            "schema": "receipt/1",
            "audit": "shelf-cache",
            "body": body(say),
            "issued": {
                "version": version,
                "asOf": "2026-11-20T10:00:00Z",
                "operationId": say("op-2026-11-20-7f3a"),
                "predecessor": Digest.of(b"1"),
                "builder": Digest.of(b"builder"),
                "parsers": {"tree-sitter": "0.26.1", "capstone": say("5.0.9")},
                "overlap": {"closest": [say("none")]},
                "intake": say("proposed by a reader"),
                "searchBudget": "unknown",
                "review": "unknown",
            },
        }
    )


def ledger(say: Callable[[str], str] = str, version: int | str = 2) -> tuple[Ledger, bytes]:
    """Return the sample receipt opened, and its bytes."""
    sample = receipt(say, version)
    written = receipts.written(sample)
    return Ledger(receipt=sample, digest=Digest.of(written)), written


GUIDE = """\
---
title: The page cache that grew with an upgrade
description: A full cache takes [1 GiB](receipt:defaultMemory) since pages grew, and nothing says so.
status: published
receipts: [shelf-cache@{version}]
authors: [desk]
published: "2026-11-21"
modified: "2026-11-24"
originalAsOf: "2026-08-26"
related:
  - guide: shelf-log
    reason: what the log says at startup.
aliases: [old/shelf]
exempt:
  - text: two
    times: 1
    why: It counts the sentences of this paragraph.
---

A process that is healthy for hours and then fails is a different problem from one that does not start.
The cache of *shelf* takes memory as it fills, and it fills slowly.

::: callout
Setting the number of pages is not a limit in bytes.
:::

## Recognise it

With [65,536 pages](receipt:defaultPages) of [16,384 B](receipt:pageSize@2.0.0) it takes [1 GiB](receipt:defaultMemory).
The size is decided in the [cache module](source:cache@2.0.0).
The [reporter](https://forge.example/shelf/issues/7) measured [1.1 GiB](receipt:reportedPeak) for the whole process.
These two sentences are not a benchmark; the [canonical form](https://www.rfc-editor.org/rfc/rfc8785) is only a link.

![What it looks like, and what else it may be](receipt:signals)

## How large it gets

![Memory by number of pages](receipt:memory)

![How the table is computed](receipt:memory/formula)

![Memory at the default](receipt:defaultMemory)

### In which releases

![Verdict by release](receipt:releases)

![Where the page size stands](receipt:pageSize@2.0.0)

## Find it in a log

![The gate, as it is tested](tool:cache-gate#decide)

![A start, made up](receipt:sample-log)

![A start that ends badly](receipt:starts/full/startup.log)

![A long start](receipt:starts/quiet/startup.log)

![What is kept of a start](tool:cache-receipt.schema.json)

![The tools](receipt:tools)

![What the gate decides](receipt:trials)

![One of these](receipt:startState@full)

![The logs](receipt:fixtures)

![Nothing is given back](receipt:noRelease@2.0.0)

The allocator is named in the [registry](source:wheel@2.0.0#shelf/registry.py) of [that wheel](source:wheel@2.0.0).

## Go back

![The order in which to undo it](receipt:rollback)

::: faq
### Is it a leak?

No: it stops by itself.
:::

## What it rests on

![The sources](receipt:sources)

![What was chosen](receipt:assumptions)

::: verdict
Set the number of pages yourself.
:::
"""

SECOND = """\
---
title: What shelf says at startup
description: The start says nothing of the cache, and this page says where to look instead.
status: draft
receipts: [shelf-cache@{version}]
---

## Nothing

The start is silent about the [1 GiB](receipt:defaultMemory) that follow.
"""

PAGES = {
    "home": ROOT / "content/pages/home.md",
    "methods": ROOT / "content/pages/methods.md",
    "about": ROOT / "content/pages/about.md",
    "editorial-policy": ROOT / "content/policies/editorial-policy.md",
}
VOCABULARY = Vocabulary(reserved=site.RESERVED_IDS)


def bound(text: str, where: str, ledger: Ledger) -> bindings.Bound:
    """Return a guide met with the sample receipt."""
    version = ledger.receipt.issued.version
    return bindings.bind(
        guides.read_guide(text.replace("{version}", str(version)).encode(), where, VOCABULARY),
        {ledger.pin: ledger},
        links=bindings.read_links((ROOT / "content/links.yaml").read_bytes(), "content/links.yaml"),
        tools={ledger.audit: {"cache-gate": ("decide", "main"), "cache-receipt.schema.json": ()}},
        newest={} if version == "draft" else {ledger.audit: int(version)},
        floor=Decimal(0),
    )


@cache
def pages() -> Mapping[str, bindings.Bound]:
    """Return the project's own pages."""
    return {
        slug: bindings.bind(
            guides.read_page(path.read_bytes(), path.relative_to(ROOT).as_posix(), VOCABULARY),
            {},
            links={},
            tools={},
            newest={},
        )
        for slug, path in PAGES.items()
    }


def publication(
    say: Callable[[str], str] = str,
    *,
    version: int | str = 2,
    url: str = "https://audits.example/",
    guide: str = GUIDE,
    second: str = SECOND,
) -> site.Publication:
    """Return the sample, ready to be rendered."""
    opened, written = ledger(say, version)
    first, first_written = ledger(say, 1)
    cells = bindings.bind_cells(
        opened,
        vocabulary=VOCABULARY,
        links={},
        tools={},
        locate=lambda *_: "evidence/shelf-cache/tables/signals.yaml:1",
    )
    empty = publications.read(b"", "content/publications.jsonl")
    log = publications.line_after(
        empty,
        audit="shelf-cache",
        version=1,
        file_digest=Digest.of(first_written),
        blocks={},
        at="2026-08-26T10:00:00Z",
    )
    return site.Publication(
        site=site.Site(
            title=say("The Shelf Review"),
            description=say("Audits of a library that does not exist."),
            url=url,
            team=say("The review’s team"),
            contact="mailto:corrections@audits.example",
        ),
        guides=[
            site.GuidePage(slug=slug, bound=bound(text, f"content/guides/{slug}.md", opened), cells={opened.pin: cells})
            for slug, text in (("shelf-cache", guide), ("shelf-log", second))
        ],
        audits=[
            site.AuditPage(
                ledger=opened,
                cells=cells,
                versions={1: first_written, version: written},  # type: ignore[dict-item]
                others={1: first},
            )
        ],
        pages=pages(),
        contributors={
            "desk": site.Contributor(id="desk", name=say("Ada Reader"), role=say("Editor"), about=say("Reads."))
        },
        tools={
            site.tool_name(file): site.Tool(name=site.tool_name(file), audit="shelf-cache", file=file, body=content)
            for file, content in (("cache-receipt.schema.json", SCHEMA), ("cache_gate.py", TOOL))
        },
        fixtures={
            ("shelf-cache", "sample-log"): LOG,
            **{("shelf-cache", f"starts/{key}/startup.log"): log for key, log in LOGS.items()},
        },
        corrections=(
            site.Correction(
                id="c1",
                at="2026-11-24",
                publication=say("The cache of shelf, first audit"),
                said=escape(say("The cache takes 256 MiB.")),
                true="It takes <b>1 GiB</b>.",
                evidence=(site.Evidence(audit="shelf-cache", address="defaultMemory"),),
                guide="shelf-cache",
            ),
        ),
        log=publications.read(log, "content/publications.jsonl"),
        log_file=log,
        builder=Digest.of(b"builder"),
        versions={"jinja2": "3.1.6"},
    )


def built(of: site.Publication) -> dict[str, bytes]:
    """Return every file of the sample, rendered by the project's own templates."""
    return {path: body for path, body in site.render(of, templates()) if isinstance(body, bytes)}
