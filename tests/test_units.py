"""What stands from build to build: with it and without it, the same bytes, the same verdicts and the same messages."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from site_builder import units, verification
from site_builder.figures import Vocabulary
from site_builder.inputs import File, Inputs
from site_builder.project import Project
from site_builder.units import EVERY, NOTHING, Filed, Keys, Lazy, Unit
from site_builder.values import Digest
from tests import demo

_SHELF = {
    "content/guides/shelf.md": """\
---
title: A shelf that fills
description: A full shelf has [12 rows](receipt:rows).
status: published
receipts: [shelf@draft]
authors: [team]
published: "2026-11-30"
---

## What it has

A full shelf has [12 rows](receipt:rows), in [the guide to the cache](/guides/cache/#here).

![Signals](receipt:signs)
""",
    "evidence/shelf/audit.py": '''\
"""How many rows has a full shelf?"""

from site_builder.audits import Audit, row

audit = Audit(__doc__, limits=["Nothing was run."])


@audit.assumption(unit="row", reason="The catalogue says so.")
def boards():
    """Boards of a full shelf."""
    return 4


@audit.observation("catalogue", unit="1")
def each(source):
    """Rows of one board."""
    return source.json("/rows")


@audit.result(title="Rows of a full shelf")
def rows(boards, each):
    """Rows that a full shelf has."""
    return boards * each


@audit.result(title="Whether it is large")
def large(rows, boards):
    """Whether a full shelf has at least as many rows as boards."""
    return rows >= boards


@audit.invariant
def more_rows_than_boards(rows, boards):
    """A shelf has at least as many rows as boards."""
    return rows >= boards
''',
    "evidence/shelf/sources.yaml": """\
sources:
  - id: catalogue
    purpose: The shelf's catalogue
    role: upstream
    mutability: immutable
    expects: {type: application/json, contains: "rows"}
    locators:
      - file: fixtures/catalogue.json
""",
    "evidence/shelf/decision.yaml": """\
state:
  from: large
  states: {"yes": large, "no": small, unknown: unknown}
statement: Count the rows yourself.
conditions: ["The shelf is full."]
reopen:
  - {id: row, when: "the row has another size"}
""",
    "evidence/shelf/tables/signs.yaml": """\
title: What to look for
statement: What a shelf shows when it is full.
columns:
  - {id: sign, title: Sign}
  - {id: meaning, title: Meaning}
rows:
  - {id: full, sign: No gap is left, meaning: "As a cache of [256 MiB](receipt:cache:memory)."}
""",
    "evidence/shelf/fixtures/catalogue.json": '{"rows": 3}\n',
}
"""An audit whose table of words stands on another audit, and a guide that links to another guide."""


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of two audits that was never built."""
    cache = demo.FILES[demo.GUIDE] + "\n## Here\n\nIt is quiet.\n"
    root = demo.written(tmp_path_factory.mktemp("units") / "repository", {**demo.FILES, demo.GUIDE: cache})
    for name, text in _SHELF.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for verb in (["fetch", "shelf"], ["issue", "cache"], ["issue", "shelf"]):
        assert 0 == (said := demo.ran(root, *verb)).exit_code, said.output
    return root


@pytest.fixture
def root(issued: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(issued, tmp_path / "repository"))


@pytest.fixture(autouse=True)
def _not_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def _clean(root: Path) -> tuple[int, str, Mapping[str, bytes]]:
    """What a build comes to that knows of no other."""
    other = root.parent / "clean"
    shutil.copytree(root, other, ignore=shutil.ignore_patterns("dist", ".build"))
    try:
        done = demo.ran(other, "build", "--no-cache")
        return done.exit_code, done.stderr, demo.tree(other, "dist")
    finally:
        shutil.rmtree(other)


def _agrees(root: Path) -> int:
    """Build, hold the build to a clean one, and return its exit code."""
    before = demo.tree(root, "dist")
    done = demo.ran(root, "build")
    code, said, site = _clean(root)

    assert (code, said) == (done.exit_code, done.stderr)
    assert (before if code else site) == demo.tree(root, "dist")
    return code


def _written(root: Path, name: str, change: Callable[[str], str]) -> None:
    path = root / name
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def _swap(name: str, old: str, new: str) -> Callable[[Path], None]:
    """An edit that is taken back the next time."""

    def work(root: Path) -> None:
        def change(text: str) -> str:
            assert old in text or new in text, name
            return text.replace(new, old) if new in text else text.replace(old, new)

        if (root / name).exists():
            _written(root, name, change)

    return work


def _reissued(root: Path) -> None:
    _swap("evidence/shelf/audit.py", "Rows that a full shelf has.", "The rows of a full shelf, all of them.")(root)
    assert 0 == demo.ran(root, "issue", "shelf").exit_code


def _bytes_gone(root: Path) -> None:
    """The store moves away and comes back."""
    here, there = (root / ".store", root / ".away") if (root / ".store").exists() else (root / ".away", root / ".store")
    here.rename(there)


def _renamed(root: Path) -> None:
    one, other = root / "content/guides/shelf.md", root / "content/guides/shelves.md"
    (one if one.exists() else other).rename(other if one.exists() else one)


def _removed(root: Path) -> None:
    """A guide is withdrawn from its folder, and put back."""
    away = root / "away.md"
    guide = root / demo.GUIDE
    (guide if guide.exists() else away).rename(away if guide.exists() else guide)


def _touched(root: Path) -> None:
    for path in (root / "content").rglob("*.*"):
        path.touch()


def _site_damaged(root: Path) -> None:
    for path in sorted((root / "dist").rglob("*.html"))[::2]:
        path.write_bytes(path.read_bytes() + b" ")


def _site_thinned(root: Path) -> None:
    for path in sorted((root / "dist").rglob("*.html"))[1::2]:
        path.unlink()


def _unreadable(root: Path) -> None:
    for path in (root / "dist").rglob("*.csv"):
        path.chmod(0o600)


_EDITS: dict[str, Callable[[Path], None]] = {
    "touch": _touched,
    "a sentence": _swap(demo.GUIDE, "It is quiet.", "It is very quiet."),
    "a title": _swap(demo.GUIDE, "title: ", "title: Again, "),
    "a claim that is wrong": _swap(demo.GUIDE, "[256 MiB](receipt:memory) on", "[9 MiB](receipt:memory) on"),
    "a heading that is linked to": _swap(demo.GUIDE, "## Here", "## There"),
    "withdrawn": _swap(demo.GUIDE, "status: published", "status: withdrawn"),
    "a receipt": _reissued,
    "a table of words": _swap("evidence/shelf/tables/signs.yaml", "No gap is left", "No gap remains"),
    "a decision": _swap("evidence/cache/decision.yaml", "yourself", "by hand"),
    "the store": _bytes_gone,
    "a template": _swap("templates/guide.html", "The evidence</h2>", "What it stands on</h2>"),
    "a template of the home page": _swap("templates/home.html", ">Guides</h2>", ">All guides</h2>"),
    "a setting": _swap("content/site.yaml", "title: ", "title: About "),
    "a contributor": _swap("content/contributors.yaml", "role: ", "role: Senior "),
    "rename": _renamed,
    "remove": _removed,
    "damage": _site_damaged,
    "thin": _site_thinned,
    "hide": _unreadable,
}


@pytest.mark.parametrize("seed", range(2))
def test_edits_in_any_order(root, seed):
    """After each of many edits, and after the reversal of some: the site, and what is said, are a clean build's."""
    chance = random.Random(seed)
    names = chance.sample(sorted(_EDITS), len(_EDITS))
    wrong = 0
    assert 0 == _agrees(root)
    for name in (*names, *chance.sample(names, 4)):
        _EDITS[name](root)
        if _agrees(root):
            wrong += 1
            _EDITS[name](root)
            assert 0 == _agrees(root), name
    assert 2 <= wrong <= 10


def test_a_draft_beside_a_number(root):
    """A draft beside a number is one more page of its audit: both stand, and change, as in a clean build."""
    for verb in ("publish", "issue"):
        done = demo.ran(root, verb, "cache")
        assert done.exit_code in (0, 4), done.output
    assert 0 == _agrees(root)
    receipts = root / "dist/receipts" / "cache"
    assert (receipts / "1/receipt.json").read_bytes() == (receipts / "receipt.json").read_bytes()
    assert (receipts / "draft/index.html").exists()
    assert 0 == _ran(root)["written"]
    _EDITS["a decision"](root)
    assert 1 == _agrees(root)
    assert 0 == demo.ran(root, "issue", "cache").exit_code
    assert 0 == _agrees(root)
    assert 0 == demo.ran(root, "verify", str(root / "dist")).exit_code


def test_a_saved_page(root):
    """A page that somebody saved is held to the receipts of the repository, and says so; without a mark it says nothing."""
    assert 0 == _ran(root)["removed"]
    saved = root / "saved.html"
    page = (root / "dist/receipts/cache/index.html").read_text(encoding="utf-8")
    saved.write_text(page, encoding="utf-8")
    assert 0 == (said := demo.ran(root, "verify", str(saved))).exit_code, said.output
    assert "saved.html: every marked value reads as its receipt in this repository has it\n" in said.output
    saved.write_text(page.replace(">256\u00a0MiB<", ">257\u00a0MiB<"), encoding="utf-8")
    assert 1 == (said := demo.ran(root, "verify", str(saved))).exit_code
    assert "memory: expected '256 MiB' (cache@draft), found '257 MiB'\n" in said.output
    saved.write_text("<p>256 MiB</p>", encoding="utf-8")
    assert 1 == (said := demo.ran(root, "verify", str(saved))).exit_code
    assert "saved.html: expected a value with data-address, found none\n" in said.output


def _ran(root: Path, *options: str) -> Mapping[str, int]:
    done = demo.ran(root, "build", "--json", *options)
    assert 0 == done.exit_code, done.output
    found: Mapping[str, int] = json.loads(done.stdout)["site"]
    return found


def test_what_stands_is_not_done_again(root):
    """Without a change nothing is written; after an edit of one guide, only that one is read and bound."""
    first = _ran(root)
    assert {"written": 0, "kept": first["written"], "removed": 0} == _ran(root)
    _written(root, "content/guides/shelf.md", lambda text: text + "\nIt stands.\n")
    project = Project(root)
    inputs = project.inputs()
    carried = Keys(inputs).carried(project.carried(), project.served)
    rules = verification.Rules(vocabulary=Vocabulary(), floor=Decimal(0))
    verified = verification.verify(inputs, rules, carried=carried)

    assert (["cache", "shelf"], ["cache"], ["cache", "shelf"], None) == (
        list(carried.audits),
        list(carried.guides),
        list(carried.receipts),
        carried.site,
    )
    assert ({}, ["shelf"]) == (verified.held, list(verified.guides))
    assert 3 == _ran(root)["written"]  # the guide, the manifest, the sums


@pytest.mark.parametrize("kind", ["audit", "guide", "receipt", "site"])
def test_a_record_that_lacks_a_unit(root, kind):
    """Without its record a unit is made anew."""
    _ran(root)
    before = demo.tree(root, "dist")
    project = Project(root)
    with project.writing("test") as writer:
        writer.remember({name: unit for name, unit in project.carried().items() if not name.startswith(kind)})

    assert 0 == _ran(root)["written"]
    assert before == demo.tree(root, "dist")


@pytest.mark.parametrize("body", [b"", b"garbage", b"\x00\x00", b"{}"])
def test_a_record_of_garbage(root, body):
    """Garbage in the record's place costs time and nothing else."""
    _ran(root)
    before = demo.tree(root, "dist")
    (root / ".build/carried.json").write_bytes(body)

    assert 0 == _ran(root)["written"]
    assert before == demo.tree(root, "dist")


def test_a_foreign_file_beside_a_site_that_stands(root):
    """A build without a change says what it always says of a file that no build wrote."""
    _ran(root)
    (root / "dist/note.txt").write_text("mine")
    said = demo.ran(root, "build")

    assert 2 == said.exit_code
    assert said.stderr.startswith("dist/note.txt: expected only what a build wrote, found this")


def test_bytes_that_are_required(root):
    """A verdict without all bytes is none for a build that requires them."""
    (root / ".store").rename(root / ".away")
    _ran(root)

    assert 1 == demo.ran(root, "build", "--require-bytes").exit_code
    _ran(root)


# Keys


def _file(file: File) -> File:
    return replace(file, body=file.body + b"\n")


def _audited(inputs: Inputs, **changed: object) -> Inputs:
    return replace(inputs, audits={**inputs.audits, "shelf": replace(inputs.audits["shelf"], **changed)})  # type: ignore[arg-type]


def _more(files: Mapping[object, File]) -> dict[object, File]:
    return {**files, "more": File(where="evidence/shelf/more", body=b"")}


def _other_file(name: str) -> Callable[[Inputs], Inputs]:
    return lambda inputs: _audited(inputs, **{name: File(where=f"evidence/shelf/{name}", body=b"")})


def _one_more(name: str) -> Callable[[Inputs], Inputs]:
    return lambda inputs: _audited(inputs, **{name: _more(getattr(inputs.audits["shelf"], name))})


_AUDIT: dict[str, Callable[[Inputs], Inputs]] = {
    "builder": lambda inputs: replace(inputs, builder=Digest.of(b"other")),
    "versions": lambda inputs: replace(inputs, versions={**inputs.versions, "jinja2": "4"}),
    "releases": lambda inputs: replace(inputs, releases=_file(inputs.releases or inputs.site)),
    **{name: _other_file(name) for name in ("script", "sources", "reported", "decision", "desk", "lock")},
    **{name: _one_more(name) for name in ("tables", "fixtures", "tools", "receipts")},
}
_PAGE: dict[str, Callable[[Inputs], Inputs]] = {
    "site": lambda inputs: replace(inputs, site=_file(inputs.site)),
    "links": lambda inputs: replace(inputs, links=None),
    "contributors": lambda inputs: replace(inputs, contributors=None),
    "a template": lambda inputs: replace(
        inputs, templates={**inputs.templates, "guide.html": _file(inputs.templates["guide.html"])}
    ),
    "one template fewer": lambda inputs: replace(inputs, templates=dict(list(inputs.templates.items())[1:])),
    "another audit's tool": lambda inputs: replace(
        inputs,
        audits={**inputs.audits, "cache": replace(inputs.audits["cache"], tools=_more({}))},  # type: ignore[arg-type]
    ),
}


def _keyed(inputs: Inputs, *, require_bytes: bool = False) -> Mapping[str, str]:
    keys = Keys(inputs, require_bytes=require_bytes)
    audit = keys.audit("shelf", {"sha256:a": True})
    keys.audit("cache", {})
    return {
        "audit": audit,
        "guide": keys.guide("shelf", ["shelf"]),
        "receipt": keys.receipt("shelf", ["shelf"]),
        "site": keys.site(),
    }


@pytest.mark.parametrize("name", [*_AUDIT, *_PAGE])
def test_every_input_is_in_the_keys(issued, name):
    """Whatever an audit depends on changes its key and all others; what a page depends on, those of the pages."""
    inputs = Project(issued).inputs()
    before, after = _keyed(inputs), _keyed((_AUDIT | _PAGE)[name](inputs))

    flipped = {kind for kind in before if before[kind] != after[kind]}
    assert {"guide", "receipt", "site"} | ({"audit"} if name in _AUDIT else set()) == flipped


def test_what_else_a_key_is_made_of(issued):
    """Bytes at hand, the wish for them, the guide's text and name, and the audits that a page stands on."""
    inputs = Project(issued).inputs()
    keys = Keys(inputs)
    audits = {
        keys.audit("shelf", {}),
        keys.audit("shelf", {"sha256:a": True}),
        keys.audit("shelf", {"sha256:a": False}),
    }
    assert 4 == len({*audits, Keys(inputs, require_bytes=True).audit("shelf", {})})
    pages = [keys.guide("shelf", []), keys.guide("shelf", ["shelf"]), keys.guide("shelf", ["cache"])]
    pages += [
        keys.guide("cache", []),
        keys.guide("shelf", [EVERY]),
        keys.receipt("shelf", []),
        keys.receipt("cache", []),
    ]
    changed = replace(inputs, guides={**inputs.guides, "shelf": _file(inputs.guides["shelf"])})
    pages.append(Keys(changed).guide("shelf", []))
    fewer = replace(inputs, audits={"shelf": inputs.audits["shelf"]})
    pages.append(Keys(fewer).guide("shelf", [EVERY]))
    assert len(pages) == len(set(pages))


@pytest.mark.parametrize("group", ["pages", "policies", "corrections", "guides", "log"])
def test_the_site_depends_on_all(issued, group):
    """What belongs to no unit belongs to the site."""
    inputs = Project(issued).inputs()
    more = File(where=f"content/{group}/more", body=b"")
    changed: Any = {group: more if group == "log" else {**getattr(inputs, group), "more": more}}

    assert _keyed(inputs)["site"] != _keyed(replace(inputs, **changed))["site"]


def test_a_page_whose_file_is_another(issued):
    """A page stands only while its file is the very one that was made."""
    inputs = Project(issued).inputs()
    keys = Keys(inputs)
    body = b"<p>"
    page = Filed(bytes=3, digest=Digest.of(body))
    earlier = {"guide shelf": Unit(key=keys.guide("shelf", []), files={"a": page})}

    assert ["shelf"] == list(keys.carried(earlier, lambda _path: body).guides)
    assert [{}, {}, {}] == [keys.carried(earlier, {"a": other}.get).guides for other in (None, b"<p", b"<q>")]
    assert NOTHING == units.Carried() == keys.carried({}, lambda _path: None)


def test_made_when_asked_for():
    """A value is made once, and only when somebody wants it."""
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    lazy = Lazy(["a", "b"], make, {"c": "C"})

    assert (["a", "b"], 2, True, False) == (list(lazy), len(lazy), "a" in lazy, "d" in lazy)
    assert [] == made
    assert ("A", "A", "C", None) == (lazy["a"], lazy["a"], lazy["c"], lazy.get("d"))
    assert ["a"] == made
