"""A small repository in full: one audit of a library that does not exist, its lock, its bytes, and a guide on it.

Tests break it in one way at a time: a text of it with other words, stored bytes with others, in memory or on the disk.
"""

# ruff: noqa: E501 - one sentence a line

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from click.testing import CliRunner, Result

import build
from site_builder import sources, verification
from site_builder.errors import EvidenceError
from site_builder.inputs import AuditInputs, File, Inputs
from site_builder.project import Store
from site_builder.receipts import Body
from site_builder.sources import Artifact, Lock, LockEntry
from site_builder.values import Digest

HERE = Path(__file__).resolve().parent.parent
RELEASES = ("1.0.0", "1.1.0", "1.2.0")

_CACHE = '''\
"""The page cache."""

PAGE_SIZE = {page}
KEPT = ("pages", "index")


def room(pages, limit={limit}):
    """Bytes that so many pages take."""
    return min(pages, limit) * PAGE_SIZE
'''
BYTES: Mapping[str, bytes] = {
    "cache@1.0.0": _CACHE.format(page=2048, limit=65536).encode(),
    "cache@1.1.0": _CACHE.format(page=4096, limit=65536).encode(),
    "cache@1.2.0": _CACHE.format(page=4096, limit=131072).encode(),
    "settings": b'{"defaultPages": 65536, "engine": "mapped"}\n',
    "limits": b'BYTES_LIMIT = "BYTES_LIMIT"\n',
    "issue": b"A peak of 256 MiB was seen.\n",
}
"""The bytes of each source that was obtained."""

FILES: Mapping[str, str] = {
    "content/site.yaml": """\
title: The Shelf Review
description: Audits of a library that does not exist.
url: https://audits.example/
team: The review's team
contact: mailto:corrections@audits.example
coverageFloor: "0.80"
""",
    "content/contributors.yaml": """\
contributors:
  - {id: team, name: The team, role: Editors}
""",
    "content/links.yaml": """\
links:
  - {url: "https://forge.example/shelf", purpose: The library's own page, rel: nofollow}
""",
    "content/guides/cache.md": """\
---
title: How much a full page cache takes
description: A full cache takes [256 MiB](receipt:memory).
status: published
receipts: [cache@draft]
authors: [team]
published: "2026-11-30"
exempt:
  - {text: "64", times: 2, why: The word size of every machine that is meant.}
---

## What it takes

A full cache takes [256 MiB](receipt:memory) on a 64 bit machine: [65,536 pages](receipt:defaultPages) of [4,096 bytes](receipt:pageSize@1.1.0).
Release [1.2.0](receipt:newest) still takes [4,096 bytes](receipt:pageSize@1.2.0) for each page; [two](receipt:large) of the releases do.
The size is set in the [cache's own module](source:cache@1.1.0), and the [reported peak](https://forge.example/shelf/issues/7) was [256 MiB](receipt:reportedPeak).
It was read on [30 November 2026](receipt:asked) off bytes that begin with [5e0c5fe1](receipt:seal).
The library has a [page of its own](https://forge.example/shelf).

![What a cache takes, by its pages](receipt:sizes)

![What each release does](receipt:releases)

![What to look for](receipt:signals)

## Where that ends

On a 64 bit machine nothing else limits it: [no limit in bytes](receipt:noLimit@1.1.0) was found.
""",
    "evidence/releases.yaml": """\
releases:
  - {key: "1.0.0", wheel: shelf-1.0.0-py3-none-any.whl}
  - {key: "1.1.0", wheel: shelf-1.1.0-py3-none-any.whl}
  - {key: "1.2.0", wheel: shelf-1.2.0-py3-none-any.whl}
""",
    "evidence/cache/sources.yaml": """\
sources:
  - id: cache@{release}
    for: releases
    purpose: Where the size of a page is set
    role: upstream
    mutability: immutable
    expects: {type: text/x-python, contains: "PAGE_SIZE"}
    locators:
      - release: {project: shelf, version: "{key}", file: "{wheel}", member: shelf/cache.py}
  - id: settings
    purpose: The settings that it is shipped with
    role: upstream
    mutability: immutable
    expects: {type: application/json, contains: "defaultPages"}
    locators:
      - https: https://raw.forge.example/shelf/0123456789abcdef0123456789abcdef01234567/settings.json
  - id: limits
    purpose: A limit as this library would write it, for the search's control
    role: first-party
    mutability: immutable
    expects: {type: text/x-python, contains: "BYTES_LIMIT"}
    locators:
      - file: fixtures/limits.py
  - id: issue
    purpose: The report that started this
    role: reporter
    mutability: mutable
    expects: {type: text/plain, contains: "peak"}
    locators:
      - https: https://forge.example/shelf/issues/7
  - id: earlier
    purpose: What an earlier audit read
    role: upstream
    mutability: immutable
    expects: {type: text/plain, contains: "pages"}
    locators:
      - https: https://raw.forge.example/shelf/0123456789abcdef0123456789abcdef01234567/notes.txt
    recorded:
      digest: sha256:8888888888888888888888888888888888888888888888888888888888888888
      bytes: 17
      by: The first audit of shelf
      at: "2026-05-04"
      origin: https://raw.forge.example/shelf/0123456789abcdef0123456789abcdef01234567/notes.txt
""",
    "evidence/cache/audit.py": '''\
"""How much memory does a full page cache take?"""

from site_builder.audits import Audit, choose, count, every, holds, least, most, row, some, table, total

audit = Audit(__doc__, limits=["Nothing was run."])


@audit.assumption(axis="cap", unit="page", reason="From one that fits to the default.")
def caps():
    """Numbers of pages that the size is computed for."""
    return 16384, 65536


@audit.assumption(kind="version", reason="The highest that was audited.")
def newest():
    """The newest audited release."""
    return "1.2.0"


@audit.assumption(kind="date", reason="The day on which this was asked.")
def asked():
    """The day of the question."""
    return "2026-11-30"


@audit.assumption(kind="digest", reason="Chosen, to have one.")
def seal():
    """A digest."""
    return "5e0c5fe1c0ffee0123456789abcdef0123456789"


@audit.assumption(unit="B", reason="What the manual calls large.")
def large_page():
    """Bytes from which a page is large."""
    return 4096


@audit.assumption(reason="A word for the decision.")
def affected():
    """The cache takes what was reported."""
    return "affected"


@audit.assumption(reason="A word for the decision.")
def bounded():
    """It takes less."""
    return "bounded"


@audit.observation("cache@{release}", unit="B")
def page_size(source):
    """Bytes of one page."""
    return source.python.constant("PAGE_SIZE")


@audit.observation("cache@{release}", unit="page")
def limit(source):
    """Pages beyond which nothing is kept."""
    return source.python.default("room", "limit")


@audit.observation("settings", unit="page")
def default_pages(source):
    """Pages of a full cache."""
    return source.json("/defaultPages")


@audit.absence("cache@{release}", control="limits", phrases={"yes": ["no limit in bytes"]})
def no_limit(source):
    """No setting limits the cache in bytes."""
    return source.python.count("string", containing="BYTES_LIMIT")


@audit.rule
def taken(pages, page):
    """Memory that so many pages take."""
    return (pages * page).to("MiB")


@audit.result(title="Memory of a full cache")
def memory(default_pages, page_size):
    """What a full cache takes in the largest release."""
    return taken(default_pages, most(page_size.values()))


@audit.result(each="cap", title="Memory by pages", titles={"cap": "Pages", "size": "Memory", "of_all": "Share"})
def sizes(cap, page_size, newest, memory):
    """What so many pages take in the newest release."""
    size = taken(cap, page_size[newest])
    return row(size=size, of_all=size / memory)


@audit.result(each="release", title="What each release does", titles={"release": "Release", "page": "Page"})
def releases(page_size, default_pages, reported_peak, no_limit, affected, bounded):
    """Whether a full cache takes what was reported, release by release."""
    full = taken(default_pages, page_size)
    return row(page=page_size, full=full, verdict=choose(every(no_limit, full >= reported_peak), affected, bounded))


@audit.result(title="Releases with large pages", phrases={"2": ["two"]})
def large(page_size, large_page):
    """Releases whose pages are large."""
    return count(page >= large_page for page in page_size.values())


@audit.result(title="State")
def state(releases, newest):
    """What the newest release does."""
    return releases.cell(newest, "verdict")


@audit.invariant
def report_is_reproduced(memory, reported_peak):
    """The computed memory is the reported one."""
    return memory == reported_peak


@audit.invariant
def pages_do_not_shrink(page_size):
    """No release has smaller pages than the first."""
    return page_size["1.0.0"] <= least(page_size.values())
''',
    "evidence/cache/reported.yaml": """\
reported:
  - id: reportedPeak
    value: "256"
    unit: MiB
    by: shelf/shelf#7
    url: https://forge.example/shelf/issues/7
    how: quoted in a public issue
    statement: Peak of the cache, as its reporter measured it.
""",
    "evidence/cache/decision.yaml": """\
state:
  from: state
  states: {affected: hold, bounded: go, unknown: unknown}
statement: Set the number of pages yourself.
subjects: {table: releases, column: verdict}
conditions: ["The cache is full."]
reopen:
  - {id: page, when: "the page has another size"}
""",
    "evidence/cache/tables/signals.yaml": """\
title: What to look for
statement: What a log shows when the cache is full.
columns:
  - {id: signal, title: Signal}
  - {id: meaning, title: Meaning}
rows:
  - {id: full, signal: The cache says that it is full, meaning: "It takes [256 MiB](receipt:memory)."}
  - {id: quiet, signal: Nothing is said, meaning: It has room.}
""",
    "evidence/cache/fixtures/limits.py": BYTES["limits"].decode(),
}

SCRIPT = "evidence/cache/audit.py"
GUIDE = "content/guides/cache.md"
DRAFT = "evidence/cache/receipts/draft.json"
LOCK = "evidence/cache/sources.lock"

_READ_AT = "2026-11-30T10:00:00Z"


def lock(files: Mapping[str, str] = FILES, bodies: Mapping[str, bytes] = BYTES) -> Lock:
    """Return the lock that a fetch of these bytes writes."""
    lists = sources.read_lists(files["evidence/releases.yaml"].encode(), "evidence/releases.yaml")
    cited = sources.read_sources(files["evidence/cache/sources.yaml"].encode(), "evidence/cache/sources.yaml", lists)
    artifacts, entries = {}, []
    for source in cited:
        locator = source.locators[0]
        released = locator.release if isinstance(locator, sources.ReleaseLocator) else None
        stated = source.recorded
        body = bodies.get(source.id, b"")
        entries.append(
            LockEntry(
                id=source.id,
                standing="recorded" if stated else "obtained",
                digest=stated.digest if stated else Digest.of(body),
                bytes=stated.bytes if stated else len(body),
                integrity="record" if released else "direct",
                mutability=source.mutability,
                origin=locator.origin,
                artifact=released.file if released else None,
                retrieved_at=_READ_AT,
                recorded_by=stated.by if stated else None,
            )
        )
        if released:
            artifacts[released.file] = Artifact(
                file=released.file,
                purl=f"pkg:pypi/{released.project}@{released.version}",
                digest=Digest.of(released.file.encode()),
                bytes=1024,
                uploaded_at="2026-05-04T10:00:00Z",
                verified=False,
            )
    return Lock(audit="cache", artifacts=tuple(artifacts.values()), entries=tuple(entries))


def inputs(
    files: Mapping[str, str] = FILES,
    *,
    bodies: Mapping[str, bytes] = BYTES,
    locked: Lock | None = None,
    receipt: bytes | None = None,
) -> Inputs:
    """Return the repository in memory, as far as the first two gates read it."""

    def file(name: str) -> File:
        return File(where=name, body=files[name].encode())

    def below(folder: str, suffix: str = "") -> dict[str, File]:
        return {
            name.removeprefix(folder).removesuffix(suffix): file(name)
            for name in sorted(files)
            if name.startswith(folder)
        }

    home = "evidence/cache/"
    by_digest = {str(Digest.of(body)): body for body in bodies.values()}
    audit = AuditInputs(
        name="cache",
        script=file(SCRIPT),
        sources=file(f"{home}sources.yaml"),
        reported=file(f"{home}reported.yaml") if f"{home}reported.yaml" in files else None,
        decision=file(f"{home}decision.yaml") if f"{home}decision.yaml" in files else None,
        desk=None,
        lock=File(where=LOCK, body=sources.write_lock(locked or lock(files))),
        tables=below(f"{home}tables/", ".yaml"),
        fixture_list=file(f"{home}fixtures.yaml") if f"{home}fixtures.yaml" in files else None,
        fixtures=below(f"{home}fixtures/"),
        tools=below(f"{home}tools/"),
        receipts={} if receipt is None else {"draft": File(where=DRAFT, body=receipt)},
    )
    return Inputs(
        site=file("content/site.yaml"),
        links=None,
        contributors=None,
        log=File(where="content/publications.jsonl", body=b""),
        guides=below("content/guides/", ".md"),
        pages={},
        policies={},
        corrections={},
        releases=file("evidence/releases.yaml"),
        audits={"cache": audit},
        templates={},
        builder=Digest.of(b"builder"),
        versions={},
        stored=lambda digest, _where: by_digest.get(digest),
    )


def body(files: Mapping[str, str] = FILES, *, bodies: Mapping[str, bytes] = BYTES, locked: Lock | None = None) -> Body:
    """Return what the audit comes to.

    Raises:
        EvidenceError: a gate does not hold.
    """
    made = inputs(files, bodies=bodies, locked=locked)
    held = verification.snapshot_gate(made, ["cache"])["cache"]
    return verification.computed(made.audits["cache"], held, {})


def problems(work: Callable[[], object]) -> list[str]:
    """Return what is wrong, as it is printed."""
    try:
        work()
    except EvidenceError as error:
        return [str(problem) for problem in error.problems]
    return []


def changed(name: str, old: str, new: str, files: Mapping[str, str] = FILES) -> dict[str, str]:
    """Return the files with one text of one of them replaced, wherever it stands there."""
    assert old in files[name], old
    return {**files, name: files[name].replace(old, new)}


def script(*functions: str, files: Mapping[str, str] = FILES) -> dict[str, str]:
    """Return the files with more functions at the end of the audit's script."""
    return {**files, SCRIPT: files[SCRIPT] + "".join(f"\n\n{function}" for function in functions)}


def trial(work: str, files: Mapping[str, str] = FILES, *, asked: str = "return tool.decide()") -> dict[str, str]:
    """Return the files with a tool that does this work, and a trial that asks it."""
    tool = f'"""Decides."""\n\nimport sys\n\n\ndef decide():\n    {work}\n    return "decided"\n'
    function = f'@audit.trial("decider", "asked")\ndef tried(tool, files):\n    """Tried."""\n    {asked}\n'
    listed = "fixtures:\n  - {path: asked/one.txt, statement: One.}\n"
    return script(function, files=files) | {
        "evidence/cache/tools/decider.py": tool,
        "evidence/cache/fixtures.yaml": listed,
        "evidence/cache/fixtures/asked/one.txt": "one",
    }


# On the disk


def written(root: Path, files: Mapping[str, str] = FILES, bodies: Mapping[str, bytes] = BYTES) -> Path:
    """Write the repository, its lock and its store, and return its root."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for folder in ("templates", "content/pages", "content/policies"):
        shutil.copytree(HERE / folder, root / folder)
    (root / LOCK).write_bytes(sources.write_lock(lock(files, bodies)))
    for body in bodies.values():
        Store(root).put(body)
    return root


def ran(root: Path, *arguments: str) -> Result:
    """Run a verb on the repository, in this process."""
    verb, *rest = arguments
    return CliRunner().invoke(build.main, [verb, "--root", str(root), *rest])


def tree(root: Path, *folders: str) -> dict[str, bytes]:
    """Return every file below these folders."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for folder in folders
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
