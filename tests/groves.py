"""A small repository with a tree: one audit that follows names across the files of two wheels, and tries a tool.

The wheels are real, served on loopback; tests change a file of one, a line of the audit, a fixture or the tool.
"""

# ruff: noqa: E501 - one sentence a line

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from site_builder import audits, fetching, receipts, verification
from site_builder.fetching import FetchReport, Outcome
from site_builder.inputs import AuditInputs, File, Inputs
from site_builder.receipts import Body, Ledger
from site_builder.sources import (
    Artifact,
    Lock,
    LockEntry,
    ReleaseLocator,
    Source,
    TreeMember,
    read_lists,
    read_sources,
    write_lock,
)
from site_builder.values import Digest
from tests import demo
from tests.simulators import Internet, Shelf, record_row, wheel

RELEASES = ("1.0.0", "1.1.0")
HOME = "evidence/bind/"
SCRIPT = f"{HOME}audit.py"
LOCK = f"{HOME}sources.lock"
DRAFT = f"{HOME}receipts/draft.json"
NOW = "2026-12-01T12:00:00Z"

PACKAGE: Mapping[str, str] = {
    "shelf/__init__.py": "",
    "shelf/registry.py": 'BINDERS = {\n    "thread": ("sewn", "Thread"),\n}\n',
    "shelf/marks.py": "def fast(cls):\n    return cls\n",
    "shelf/sewn.py": "from shelf import host\n\nif host.has_press():\n    from shelf.pressed import Thread\nelse:\n    from shelf.loose import Thread\n",
    "shelf/pressed.py": "from shelf.base import Sheet\n\n\nclass Thread(Sheet):\n    pages = 16\n",
    "shelf/loose.py": "class Thread:\n    pages = 8\n",
    "shelf/base.py": "from shelf.marks import fast\n\n\nclass Sheet:\n    pages = 4\n\n\n@fast\nclass Glued(Sheet):\n    pages = 2\n",
    "shelf/host.py": "def has_press():\n    return True\n",
    "shelf/unread.py": "NOBODY = 'asks'\n",
}
"""The files of a wheel. Which of them are read, nobody lists."""
READ = ("shelf/base.py", "shelf/marks.py", "shelf/pressed.py", "shelf/registry.py", "shelf/sewn.py")
"""Those that the audit reads of each, as far as its wheels are these."""

_TOOL = '''\
"""Tells whether a press may start.

More on that.
"""

import json


def decide(log, settings=None):
    """The decision on a log."""
    lines = log.decode().splitlines()
    held = sum(line == "paper jam" for line in lines)
    name = json.loads(settings)["press"] if settings else "none"
    return {"decision": "HOLD" if held else "GO", "jams": held, "press": name, "seen": lines}
'''

_AUDIT = '''\
"""How many pages does the binder of a release take?"""

from site_builder.audits import Audit, choose, count, every, most, row
from site_builder.readers.tree import World

audit = Audit(__doc__)
PRESS = World("press", {"host.has_press()": True})
FAST = "shelf.marks:fast"


def _binder(tree):
    """The class that the registry names, and what led there."""
    named = tree.module("shelf/registry.py").dictionary("BINDERS").entry("thread")
    module, name = named.value
    return tree.resolve(f"shelf.{module}:{name}", PRESS), named.hop("entry")


@audit.observation("wheel@{release}")
def binder(wheel):
    """Class that binds."""
    found, entry = _binder(wheel.tree)
    return found.seen.after(entry)


@audit.observation("wheel@{release}", unit="page")
def pages(wheel):
    """Pages that it takes."""
    found, entry = _binder(wheel.tree)
    return found.attribute("pages").seen.after(entry, *found.trail)


@audit.absence("wheel@{release}", control="wheel@{release}")
def no_mark(wheel):
    """Nothing marks the binder as fast."""
    found, entry = _binder(wheel.tree)
    return found.bearing(FAST).after(entry).against(wheel.tree.resolve("shelf.base:Glued", PRESS).bearing(FAST))


@audit.trial("gate", "logs/{run}")
def decision(gate, files):
    """What the gate decides on a log."""
    return gate.decide(files["press.log"], files.get("press.json"))["decision"]


@audit.trial("gate", "logs/{run}", unit="1")
def jams(gate, files):
    """Jams that it counts."""
    return gate.decide(files["press.log"])["jams"]


@audit.assumption(unit="page", reason="The paper at hand.")
def at_hand():
    """Pages that there are."""
    return 16


@audit.assumption(reason="The gate's word.")
def go():
    """The press may start."""
    return "GO"


@audit.assumption(unit="1", reason="That is what jammed means.")
def once():
    """A jam is enough."""
    return 1


@audit.result(each="release", title="Binders")
def binders(binder, pages, no_mark):
    """What binds in each release."""
    return row(binder=binder, pages=pages, plain=no_mark)


@audit.result(each="run", title="Runs")
def runs(decision, jams):
    """What the gate makes of each log."""
    return row(decision=decision, jams=jams)


@audit.result(title="Starts")
def starts(decision, go):
    """Logs after which the press may start."""
    return count(one == go for one in decision.values())


@audit.invariant
def paper_suffices(pages, at_hand):
    """No binder takes more than is at hand."""
    return most(pages.values()) <= at_hand


@audit.invariant
def jams_hold(decision, jams, go, once):
    """A log without a jam, and no other, may start."""
    return every((decision[key] == go) == (jams[key] < once) for key in jams)


@audit.result(title="State")
def state(decision):
    """What the gate says of a quiet log."""
    return decision["quiet"]
'''

FILES: Mapping[str, str] = {
    **{name: text for name, text in demo.FILES.items() if not name.startswith(("evidence/cache/", "content/guides/"))},
    "content/guides/binding.md": """\
---
title: What binds
description: The binder takes [16 pages](receipt:pages@1.1.0).
status: published
receipts: [bind@draft]
authors: [team]
published: "2026-11-30"
---

The binder takes [16 pages](receipt:pages@1.1.0), as the [wheel](source:wheel@1.1.0) says, and a quiet log means [GO](receipt:decision@quiet).

![What binds](receipt:binders)
""",
    "evidence/releases.yaml": "releases:\n" + "".join(f'  - {{key: "{key}"}}\n' for key in RELEASES),
    f"{HOME}sources.yaml": """\
sources:
  - id: wheel@{release}
    for: releases
    purpose: The library as it was released
    role: upstream
    mutability: immutable
    expects: {type: text/csv, contains: "shelf/registry.py"}
    tree: shelf
    locators:
      - release: {project: shelf, version: "{key}", file: "shelf-{key}-py3-none-any.whl", member: "shelf-{key}.dist-info/RECORD"}
""",
    SCRIPT: _AUDIT,
    f"{HOME}decision.yaml": """\
state:
  from: state
  states: {GO: go, HOLD: hold}
statement: Look at the log first.
conditions: ["The press is on."]
reopen:
  - {id: log, when: "the log says something else"}
""",
    f"{HOME}fixtures.yaml": """\
fixtures:
  - {path: logs/quiet/press.log, statement: Nothing happens.}
  - {path: logs/jammed/press.log, statement: The paper jams.}
  - {path: logs/jammed/press.json, statement: The press is named.}
""",
    f"{HOME}fixtures/logs/quiet/press.log": "started\n",
    f"{HOME}fixtures/logs/jammed/press.log": "started\npaper jam\n",
    f"{HOME}fixtures/logs/jammed/press.json": '{"press": "old"}\n',
    f"{HOME}tools/gate.py": _TOOL,
}


def wheels(packages: Mapping[str, Mapping[str, str]] | None = None, **changed: Any) -> Mapping[str, bytes]:
    """Return a wheel for each release, by its file's name, of the package's files or of others."""
    packages = packages or {}
    return {
        f"shelf-{key}-py3-none-any.whl": wheel(
            {path: text.encode() for path, text in packages.get(key, PACKAGE).items()},
            project="shelf",
            version=key,
            **changed,
        )
        for key in RELEASES
    }


def served(net: Internet, found: Mapping[str, bytes] | None = None) -> Internet:
    """Put the wheels on the index."""
    for file, body in (wheels() if found is None else found).items():
        net.release(file, body)
    return net


def sources_of(files: Mapping[str, str] = FILES) -> tuple[Source, ...]:
    """Return the audit's sources."""
    lists = read_lists(files["evidence/releases.yaml"].encode(), "evidence/releases.yaml")
    return read_sources(files[f"{HOME}sources.yaml"].encode(), f"{HOME}sources.yaml", lists)


def fetched(
    net: Internet, store: Any, lock: Lock | None = None, files: Mapping[str, str] = FILES, rounds: int = 100
) -> FetchReport:
    """Return what `fetch` makes of the audit, with the bytes in the store."""
    sources = sources_of(files)
    known = fetching.Known()
    allowed = net.policy()
    fixtures = {name.removeprefix(HOME): text.encode() for name, text in files.items()}
    report = fetching.fetch(
        sources, lock or Lock(audit="bind"), store, allowed, now=NOW, read_file=fixtures.__getitem__, known=known
    )
    audited = audits.packages(sources)

    def follow(trees: Any) -> Any:
        script = audits.load(files[SCRIPT].encode(), SCRIPT, audited)
        return audits.followed(script, SCRIPT, trees, audited)

    return fetching.fetch_trees(report, sources, store, allowed, follow, known=known, rounds=rounds)


def members(report: FetchReport | Lock, key: str = "1.0.0") -> tuple[str, ...] | None:
    """Return the files that the lock names of a release's tree."""
    lock = report.lock if isinstance(report, FetchReport) else report
    entry = lock.by_id().get(f"wheel@{key}")
    return None if entry is None or entry.members is None else tuple(member.path for member in entry.members)


def inputs(store: Shelf, lock: Lock | bytes, files: Mapping[str, str] = FILES, receipt: bytes | None = None) -> Inputs:
    """Return the repository in memory."""

    def below(folder: str, suffix: str = "") -> dict[str, File]:
        found = {name: files[name] for name in sorted(files) if name.startswith(folder)}
        return {
            name.removeprefix(folder).removesuffix(suffix): File(where=name, body=text.encode())
            for name, text in found.items()
        }

    def file(name: str) -> File:
        return File(where=name, body=files[name].encode())

    audit = AuditInputs(
        name="bind",
        script=file(SCRIPT),
        sources=file(f"{HOME}sources.yaml"),
        reported=None,
        decision=file(f"{HOME}decision.yaml"),
        desk=None,
        lock=File(where=LOCK, body=lock if isinstance(lock, bytes) else write_lock(lock)),
        tables={},
        fixture_list=file(f"{HOME}fixtures.yaml") if f"{HOME}fixtures.yaml" in files else None,
        fixtures=below(f"{HOME}fixtures/"),
        tools=below(f"{HOME}tools/"),
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
        audits={"bind": audit},
        templates={},
        builder=Digest.of(b"builder"),
        versions={},
        stored=store.get,
    )


def body(
    store: Shelf,
    lock: Lock,
    files: Mapping[str, str] = FILES,
    *,
    without: frozenset[str] = frozenset(),
    recorded: Ledger | None = None,
) -> Body:
    """Return what the audit comes to, on these bytes but for those of some sources.

    Raises:
        EvidenceError: a gate does not hold.
    """
    made = inputs(store, lock, files)
    held = verification.snapshot_gate(made, ["bind"])["bind"]
    there = {name: snapshot for name, snapshot in held.snapshots.items() if name not in without}
    before = verification.recorded_in(recorded.receipt) if recorded else {}
    return verification.computed(made.audits["bind"], replace(held, snapshots=there), before)


def receipt(made: Inputs) -> bytes:
    """Return the draft that `issue` writes."""
    from site_builder import issuing

    return receipts.written(issuing.draft(made, made.audits["bind"]))


def changed(name: str, old: str, new: str, files: Mapping[str, str] = FILES) -> dict[str, str]:
    """Return the files with one text of one of them replaced, wherever it stands there."""
    return demo.changed(name if name in files else HOME + name, old, new, files)


def script(*functions: str, files: Mapping[str, str] = FILES) -> dict[str, str]:
    """Return the files with more functions at the end of the audit's script."""
    return {**files, SCRIPT: files[SCRIPT] + "".join(f"\n\n{function}" for function in functions)}


def apart(*functions: str) -> dict[str, str]:
    """Return the files with the two wheels as sources by themselves, of which the audit reads the first."""
    files = script(*functions)
    one = changed("sources.yaml", "  - id: wheel@{release}\n    for: releases\n", "  - id: wheel@1.0.0\n", files)
    text = one[f"{HOME}sources.yaml"].replace("{key}", "1.0.0")
    both = text + text.replace("1.0.0", "1.1.0").removeprefix("sources:\n")
    return {**one, f"{HOME}sources.yaml": both, SCRIPT: one[SCRIPT].replace('"wheel@{release}"', '"wheel@1.0.0"')}


def line_of(text: str, files: Mapping[str, str] = FILES, name: str = SCRIPT) -> int:
    """Return the line of a file that a text begins in."""
    return files[name][: files[name].index(text)].count("\n") + 1


def lines_of(found: Body) -> Iterator[str]:
    """Yield what an audit observed and tried, in short."""
    yield from (f"{item.id} = {item.value}" for item in found.observations)
    yield from (f"{item.id} = {item.value}" for item in found.absences)
    yield from (f"{item.id} = {item.value}" for item in found.trials)


def written(root: Path, files: Mapping[str, str] = FILES) -> Path:
    """Write the repository, without a lock, and return its root."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for folder in ("templates", "content/pages", "content/policies"):
        shutil.copytree(demo.HERE / folder, root / folder)
    return root


def stocked(
    files: Mapping[str, str] = FILES, packages: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[Shelf, Lock]:
    """Return a store with all of both wheels, and the lock that a fetch of them writes; nothing is asked of anybody."""
    store = Shelf()
    entries, artifacts = [], []
    for source in sources_of(files):
        (locator,) = source.locators
        assert isinstance(locator, ReleaseLocator)
        released = locator.release
        package = (packages or {}).get(released.version, PACKAGE)
        rows = [record_row(path, text.encode()) for path, text in package.items()]
        record = "".join([*rows, f"{released.member},,\n"]).encode()
        for body in (record, *(text.encode() for text in package.values())):
            store.put(body)
        artifacts.append(
            Artifact(
                file=released.file,
                purl=f"pkg:pypi/shelf@{released.version}",
                digest=Digest.of(released.file.encode()),
                bytes=1024,
                uploaded_at="2026-05-04T10:00:00Z",
                verified=False,
            )
        )
        entries.append(
            LockEntry(
                id=source.id,
                standing="obtained",
                digest=Digest.of(record),
                bytes=len(record),
                integrity="record",
                mutability="immutable",
                origin=locator.origin,
                artifact=released.file,
                retrieved_at=NOW,
            )
        )
    report = FetchReport(
        outcomes=tuple(Outcome(source=entry.id, state="locked", entry=entry) for entry in entries),
        lock=Lock(audit="bind", artifacts=tuple(artifacts), entries=tuple(entries)),
    )
    sources = sources_of(files)
    audited = audits.packages(sources)
    script = audits.load(files[SCRIPT].encode(), SCRIPT, audited)
    done = fetching.fetch_trees(
        report, sources, store, fetching.Policy(), lambda trees: audits.followed(script, SCRIPT, trees, audited)
    )
    assert () == done.problems
    return store, done.lock


def relocked(lock: Lock, *members: TreeMember, key: str = "1.0.0") -> Lock:
    """Return the lock with these files of a release's tree in place of its own."""
    entries = [
        entry.model_copy(update={"members": members}) if entry.id == f"wheel@{key}" else entry for entry in lock.entries
    ]
    return lock.model_copy(update={"entries": tuple(entries)})
