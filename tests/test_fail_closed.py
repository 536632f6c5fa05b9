"""Bad input: each kind stops the command with its whole message and exit code; nothing is written, the last site stays.

One publication is made and built once; each test breaks a copy of it in one way.
"""

# ruff: noqa: E501 - a message stands on the lines that it is printed on

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import build
from site_builder import sources
from site_builder.project import Store
from tests import demo, simulators
from tests.simulators import Internet, Reply, digest_of

_Break = Callable[[Path], None]
_RESTORE_LOG = "    Restore the file from version control: it is only ever added to.\n"
_NEVER_EDITED = "    Restore it from version control: a published receipt is never edited, it gets a successor.\n"
_ISSUE_AGAIN = "    Restore it, or issue the draft again.\n"
_REISSUE = "    If the evidence is right, issue cache again and reread what is bound to it.\n"
_MEND = "    Look at what changed upstream, and mend the reader.\n"
_ONLY_READS = "expected an audit that only reads its snapshots, found that it"
_CITE = "    Cite the bytes as a source and let `fetch` obtain them.\n"
_READ_IT = "    Cite what it would bring in as a source, and read it with a reader.\n"
_BIND = "    Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why.\n"
_SCHEMA = "    Write what the file's schema asks for here.\n"
_REAL_FOLDER = "    Put the file itself there: nothing outside the repository is read.\n"

_SOURCES = "evidence/cache/sources.yaml"
_REPORTED = "evidence/cache/reported.yaml"
_LOG = "content/publications.jsonl"
_FIRST = demo.FILES[demo.SCRIPT].count("\n") + 3
"""The line of what is written behind the audit's script."""


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose guide stands on a draft, with the site that was built from it."""
    root = demo.written(tmp_path_factory.mktemp("drafted") / "repository")
    for verb in (["issue", "cache"], ["build"]):
        assert 0 == demo.ran(root, *verb).exit_code
    return root


@pytest.fixture(scope="module")
def published(drafted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after its publication."""
    root = tmp_path_factory.mktemp("published") / "repository"
    shutil.copytree(drafted, root)
    for verb in (["publish", "cache"], ["build"]):
        assert 0 == demo.ran(root, *verb).exit_code
    return root


@pytest.fixture
def root(drafted: Path, tmp_path: Path) -> Path:
    """A copy of the first, to be broken."""
    return Path(shutil.copytree(drafted, tmp_path / "repository"))


@pytest.fixture
def numbered(published: Path, tmp_path: Path) -> Path:
    """A copy of the second, to be broken."""
    return Path(shutil.copytree(published, tmp_path / "repository"))


def _all(root: Path) -> dict[str, bytes]:
    """Everything that a build could write, but for who held the workspace last."""
    written = demo.tree(root, "content", "evidence", "templates", "dist", ".store", ".build")
    return {name: body for name, body in written.items() if name not in (".build/holder", ".build/lock")}


def _stops(root: Path, said: str, *, code: int = 1, verb: str = "build") -> None:
    """The verb ends with this code and says this and nothing else; nothing is written and the last site is intact."""
    before = _all(root)
    result = demo.ran(root, verb)

    assert said == result.stderr
    assert (code, "") == (result.exit_code, result.stdout)
    assert before == _all(root)
    assert [] == [path.name for path in root.glob(".dist-*")]


def _edit(name: str, old: str, new: str) -> _Break:
    def work(root: Path) -> None:
        text = (root / name).read_text(encoding="utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return work


def _append(name: str, text: str) -> _Break:
    def work(root: Path) -> None:
        (root / name).write_text((root / name).read_text(encoding="utf-8") + text, encoding="utf-8")

    return work


def _tries(work: str) -> _Break:
    """The audit tries a tool that does this, in its line 7."""

    def write(root: Path) -> None:
        for name, text in demo.trial(work).items():
            if text != demo.FILES.get(name):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")

    return write


def _says(sentence: str) -> _Break:
    """The guide says one thing more, from its line 18 on."""
    return _edit(demo.GUIDE, "The library has a", f"{sentence}\nThe library has a")


def _reads(old: bytes, new: bytes, name: str = "cache@1.1.0") -> _Break:
    """Upstream's bytes were others, and these are locked."""

    def work(root: Path) -> None:
        bodies = {**demo.BYTES, name: demo.BYTES[name].replace(old, new)}
        assert bodies != demo.BYTES
        (root / demo.LOCK).write_bytes(sources.write_lock(demo.lock(bodies=bodies)))
        Store(root).put(bodies[name])

    return work


# Bytes that changed


def test_a_flipped_byte_in_the_store(root):
    """Each stored object is hashed again: one with another byte is named with its source."""
    for entry in demo.lock().entries:
        digest = entry.digest.removeprefix("sha256:")
        path = root / ".store/sha256" / digest[:2] / digest[2:]
        if not path.exists() or entry.id == "limits":
            continue
        sound = path.read_bytes()
        for place in (0, len(sound) // 2, len(sound) - 1):
            body = bytearray(sound)
            body[place] ^= 1
            path.write_bytes(body)
            found = digest_of(bytes(body))
            _stops(
                root,
                f"evidence/cache/sources.lock: {entry.id}: expected {entry.digest[:15]}…, found {found[:15]}… in the store.\n"
                "    The stored bytes changed after they were locked: fetch again, and review what moved.\n",
            )
        path.write_bytes(sound)


def test_a_flipped_byte_in_a_file_of_the_repository(root):
    """A source that is a file of the repository is held to its lock, too."""
    _edit("evidence/cache/fixtures/limits.py", "BYTES", "BYTEZ")(root)
    body = (root / "evidence/cache/fixtures/limits.py").read_bytes()

    _stops(
        root,
        f"evidence/cache/sources.yaml:17: limits: expected {digest_of(demo.BYTES['limits'])} of 28 bytes, "
        f"found {digest_of(body)} of 28 bytes\n"
        "    The stored bytes changed after they were locked: fetch again, and review what moved.\n",
    )


@pytest.mark.parametrize("name", [demo.LOCK, demo.DRAFT])
def test_any_flipped_byte(root, name):
    """A flipped bit anywhere in a lock or a draft stops the build, in a message, whatever the byte was."""
    before = _all(root)
    path = root / name
    sound = path.read_bytes()
    for place in range(0, len(sound), 97):
        body = bytearray(sound)
        body[place] ^= 1
        path.write_bytes(body)
        result = demo.ran(root, "build")
        assert (1, "") == (result.exit_code, result.stdout), (place, bytes(body[place - 20 : place + 20]))
        assert result.stderr.startswith("evidence/cache/")
    path.write_bytes(sound)
    assert before == _all(root)


def test_a_lock_that_was_edited(root):
    """A size in the lock that is not the bytes' own."""
    _edit(demo.LOCK, f'"bytes": {len(demo.BYTES["settings"])}', '"bytes": 7')(root)

    digest = digest_of(demo.BYTES["settings"])
    _stops(
        root,
        f"evidence/cache/sources.yaml:10: settings: expected {digest} of 7 bytes, found {digest} of 44 bytes\n"
        "    The stored bytes changed after they were locked: fetch again, and review what moved.\n",
    )


def test_a_draft_that_was_edited(root):
    """A value in a draft that the audit does not come to is said with its line."""
    receipt = json.loads((root / demo.DRAFT).read_text())
    _edit(demo.DRAFT, '"value": "65536"', '"value": "65537"')(root)

    said = demo.ran(root, "build").stderr
    line = re.search(r"draft\.json:(\d+): ", said)
    derived = re.search(r"operationId: expected (\S+), found", said)
    assert line
    assert derived
    assert "65537" in (root / demo.DRAFT).read_text().splitlines()[int(line[1]) - 1]
    _stops(
        root,
        f"evidence/cache/receipts/draft.json: operationId: expected {derived[1]}, found {receipt['issued']['operationId']}\n"
        f"{_ISSUE_AGAIN}"
        f"evidence/cache/receipts/draft.json:{line[1]}: observations limit@1.0.0 value: expected 65536 (recomputed), found 65537\n"
        f"{_REISSUE}",
    )


def test_a_published_receipt_that_was_edited(numbered):
    """A published receipt with another word is told from its line in the log, and from what the audit comes to."""
    before = json.loads((numbered / "evidence/cache/receipts/1.json").read_text())["issued"]["operationId"]
    named = json.loads((numbered / _LOG).read_text())["fileDigest"]
    _edit("evidence/cache/receipts/1.json", "Bytes of one page", "Bytes of each page")(numbered)
    body = (numbered / "evidence/cache/receipts/1.json").read_bytes()

    derived = re.search(r"operationId: expected (\S+), found", demo.ran(numbered, "build").stderr)
    assert derived
    line = 1 + next(place for place, text in enumerate(body.splitlines()) if b"Bytes of each page" in text)
    where = "evidence/cache/receipts/1.json"
    _stops(
        numbered,
        f"{where}: operationId: expected {derived[1]}, found {before}\n{_NEVER_EDITED}"
        f"{where}:{line}: observations pageSize@1.0.0 statement: expected Bytes of one page. (recomputed), found Bytes of each page.\n{_REISSUE}"
        f"{where}: expected {named[:15]}… as content/publications.jsonl:1 names it, found {digest_of(body)[:15]}…\n{_NEVER_EDITED}",
    )


def _again(root: Path) -> None:
    """Publish a second version in which nothing but a reason differs."""
    _edit(demo.SCRIPT, "From one that fits to the default.", "From a small one to the default.")(root)
    for verb in ("issue", "publish"):
        assert 0 == demo.ran(root, verb, "cache").exit_code
    assert 0 == demo.ran(root, "build").exit_code


def test_a_log_line_that_was_rewritten(numbered):
    """A line that says something else no longer has the digest that the line after it names."""
    _again(numbered)
    lines = (numbered / _LOG).read_bytes().splitlines(keepends=True)
    named = json.loads(lines[1])["previous"]
    changed = lines[0].replace(b'"at":"2', b'"at":"1')
    (numbered / _LOG).write_bytes(changed + lines[1])

    _stops(
        numbered,
        f"content/publications.jsonl:1: expected {named[:15]}…, which line 2 names as previous, found {digest_of(changed)[:15]}…: "
        f"this line was rewritten, or lines behind it were dropped\n{_RESTORE_LOG}",
    )


def test_a_log_line_that_was_dropped(numbered):
    """A first line that is gone is told by the next; a last one by the receipt that no line names."""
    _again(numbered)
    lines = (numbered / _LOG).read_bytes().splitlines(keepends=True)
    (numbered / _LOG).write_bytes(lines[1])
    _stops(
        numbered,
        f"content/publications.jsonl:1: expected no previous line, found {json.loads(lines[1])['previous'][:15]}… named: "
        f"lines before it were dropped\n{_RESTORE_LOG}",
    )

    (numbered / _LOG).write_bytes(lines[0])
    _stops(
        numbered,
        "evidence/cache/receipts/2.json: expected its line in content/publications.jsonl, found none\n"
        "    Restore the log if it had the line; if not, this was never published: remove the file, issue and publish.\n",
    )


# Audits that do not hold


@pytest.mark.parametrize(
    ("work", "said"),
    [
        pytest.param(
            _edit(_REPORTED, '"256"', '"255"'),
            "evidence/cache/audit.py:112: reportIsReproduced: expected 255 MiB, found 256 MiB (report is reproduced)\n"
            "    Either the evidence moved, and the invariant and every sentence on it must be reread, or it was wrong.\n",
            id="a false invariant",
        ),
        pytest.param(
            _append(
                demo.SCRIPT,
                '\n\n@audit.invariant\ndef proved(page_size):\n    """Proved."""\n'
                "    return least(page_size.values()) <= most(page_size.values())\n",
            ),
            f"evidence/cache/audit.py:{_FIRST}: proved: expected an input that breaks it, found none: it restates its own computation\n"
            "    Compare two things that were come by separately, or delete it.\n",
            id="an invariant that nothing can break",
        ),
        pytest.param(
            _reads(b"PAGE_SIZE = 4096", b'PAGES = "PAGE_SIZE"'),
            "evidence/cache/audit.py:50: pageSize@1.1.0: cache@1.1.0: expected one binding of PAGE_SIZE at the top level, found none "
            f"(near: PAGES)\n{_MEND}",
            id="a missing observation",
        ),
        pytest.param(
            _reads(b"PAGE_SIZE = 4096", b"PAGE_SIZE = 4096\nPAGE_SIZE = 4096"),
            "evidence/cache/audit.py:50: pageSize@1.1.0: cache@1.1.0: expected one binding of PAGE_SIZE at the top level, found 2 "
            f"(lines 3, 4)\n{_MEND}",
            id="an ambiguous observation",
        ),
        pytest.param(
            _reads(b"PAGE_SIZE = 4096", b"PAGE_SIZE = 4096 +\n"),
            f"evidence/cache/audit.py:50: pageSize@1.1.0: cache@1.1.0: the source does not parse at line 5\n{_MEND}"
            f"evidence/cache/audit.py:56: limit@1.1.0: cache@1.1.0: the source does not parse at line 5\n{_MEND}"
            f"evidence/cache/audit.py:68: noLimit@1.1.0: cache@1.1.0: the source does not parse at line 5\n{_MEND}",
            id="an unparseable observation",
        ),
        pytest.param(
            _append(
                demo.SCRIPT,
                '\n\n@audit.observation("earlier")\ndef noted(source):\n    """Noted."""\n    return source.pattern("(pages)")\n',
            ),
            f"evidence/cache/audit.py:{_FIRST}: noted: expected bytes that were obtained and can't move, found earlier recorded "
            "(immutable, direct)\n    Observe what was read; cite what others stated as reported.\n",
            id="an observation on bytes never obtained",
        ),
        pytest.param(
            _append(
                demo.SCRIPT,
                '\n\n@audit.observation("issue")\ndef noted(source):\n    """Noted."""\n    return source.pattern("(peak)")\n',
            ),
            f"evidence/cache/audit.py:{_FIRST}: noted: expected bytes that were obtained and can't move, found issue obtained "
            "(mutable, direct)\n    Observe what was read; cite what others stated as reported.\n",
            id="an observation on bytes that can move",
        ),
        pytest.param(
            _tries('__import__("socket").socket()'),
            f"evidence/cache/tools/decider.py:7: {_ONLY_READS} opened a socket or resolved a name (socket.__new__)\n{_CITE}",
            id="a tool that opens a socket",
        ),
        pytest.param(
            _tries('__import__("subprocess").run(["true"])'),
            f"evidence/cache/tools/decider.py:7: {_ONLY_READS} started a process (subprocess.Popen)\n{_CITE}",
            id="a tool that starts a process",
        ),
        pytest.param(
            _tries('__import__("shelf")'),
            f"evidence/cache/tools/decider.py:7: {_ONLY_READS} imported the audited package shelf\n{_CITE}",
            id="a tool that imports the audited package",
        ),
        pytest.param(
            _tries('open("/etc/hostname")'),
            f"evidence/cache/tools/decider.py:7: {_ONLY_READS} read a file that is no module of Python\n{_CITE}",
            id="a tool that reads a file of the machine",
        ),
        pytest.param(
            _append(demo.SCRIPT, '\n\n__import__("socket").socket()\n'),
            f"evidence/cache/audit.py:{_FIRST}: expected names of its own, and attributes that are public, found __import__\n{_READ_IT}",
            id="a script that imports by another way",
        ),
        pytest.param(
            _append(demo.SCRIPT, "\n\nfrom shelf import cache\n"),
            f"evidence/cache/audit.py:{_FIRST}: expected imports that read and shape alone (site_builder.audits, "
            "site_builder.readers, site_builder.readers.tree, re and their like), found shelf\n" + _READ_IT,
            id="a script that names it as an import",
        ),
        pytest.param(
            _append(demo.SCRIPT, '\n\naudit.entries["memory"] = 1\n'),
            f"evidence/cache/audit.py:{_FIRST}: the script does not load: TypeError: 'mappingproxy' object does not support item "
            "assignment\n    Mend the script.\n",
            id="a script that bends its audit",
        ),
        pytest.param(
            _tries("sys.exit(0)"),
            "evidence/cache/tools/decider.py:7: tried: SystemExit: 0\n    Mend the tool.\n",
            id="a tool that ends the process as if all were well",
        ),
    ],
)
def test_an_audit_that_does_not_hold(root, work, said):
    """What an audit can't read, does not hold or may not do stops the build at its own line."""
    work(root)

    _stops(root, said)


# Prose that does not stand on its receipt


@pytest.mark.parametrize(
    ("work", "said"),
    [
        pytest.param(
            _edit(demo.GUIDE, "takes [256 MiB](receipt:memory) on", "takes [255 MiB](receipt:memory) on"),
            'content/guides/cache.md:14: the text says "255 MiB"; memory is 256 MiB (cache, draft).\n'
            '    Reread the sentence, then write "256 MiB".\n',
            id="a claim that no longer reads as its value",
        ),
        pytest.param(
            _says("It takes 12 pages."),
            f"content/guides/cache.md:18: expected every figure to stand on a receipt, found '12' in the prose\n{_BIND}",
            id="a figure",
        ),
        pytest.param(
            _says("It takes twelve pages."),
            f"content/guides/cache.md:18: expected every figure to stand on a receipt, found 'twelve' in the prose\n{_BIND}",
            id="a spelled-out number",
        ),
        pytest.param(
            _says("It was so in release 1.1.0."),
            "content/guides/cache.md:18: expected every figure to stand on a receipt, found '1.1.0' in the prose\n"
            "    Bind it, perhaps as [1.1.0](receipt:releases/1.1.0/release); or exempt it, with its count and why.\n",
            id="a version",
        ),
        pytest.param(
            _says("It was seen on 2026-12-24."),
            f"content/guides/cache.md:18: expected every figure to stand on a receipt, found '2026-12-24' in the prose\n{_BIND}",
            id="a date",
        ),
        pytest.param(
            _says("It was seen in commit 0badcafe1234."),
            f"content/guides/cache.md:18: expected every figure to stand on a receipt, found '0badcafe1234' in the prose\n{_BIND}",
            id="a hash",
        ),
        pytest.param(
            _says("\n| release | page |\n|---|---|\n| first | small |\n"),
            "content/guides/cache.md:19: expected no table typed by hand, found one\n"
            "    Make it a result or tables/<id>.yaml, and show it as ![caption](receipt:<id>).\n",
            id="a hand-typed table",
        ),
        pytest.param(
            _says("\n```\npage = 4096\n```\n"),
            "content/guides/cache.md:20: expected no figure in code typed by hand, found '4096'\n"
            "    Show the code from a tool, a receipt or a fixture: ![caption](tool:<name>).\n",
            id="a typed fence with a figure",
        ),
        pytest.param(
            _edit(demo.GUIDE, "(receipt:pageSize@1.1.0)", "(receipt:pagesize@1.1.0)"),
            "content/guides/cache.md:14: expected a value of cache@draft, found nothing at 'pagesize@1.1.0'\n"
            "    It may be pageSize@1.1.0 or pageSize@1.2.0 or pageSize@1.0.0.\n",
            id="an unknown address",
        ),
        pytest.param(
            _says("It is [described elsewhere](https://other.example/x)."),
            "content/guides/cache.md:18: expected a link with a class, found https://other.example/x\n"
            "    Cite a source (source:), attribute it (reported.yaml), or list it in content/links.yaml; "
            "it may be https://forge.example/shelf.\n",
            id="a link of no class",
        ),
        pytest.param(
            _edit(demo.GUIDE, "(source:cache@1.1.0)", "(sorce:cache@1.1.0)"),
            "content/guides/cache.md:16: expected a scheme of receipt, source, tool, https, http, mailto, found 'sorce'\n"
            "    It may be source:cache@1.1.0.\n",
            id="a misspelt scheme",
        ),
        pytest.param(
            _says("Nor does a 64 bit disk."),
            "content/guides/cache.md:9: expected '64' 2 times outside of claims, found it 3 times\n"
            "    Make the new ones claims, or correct the count once each was looked at.\n",
            id="an exempt figure that occurs more often than declared",
        ),
        pytest.param(
            _edit("content/site.yaml", "description: ", "description: Ninety audits. "),
            "content/site.yaml: expected words without a figure, found 'Ninety' in 'Ninety audits. Audits of a library that does not exist.'\n"
            "    Say it without the figure, or in a sentence or a cell where it can be bound.\n",
            id="a figure in the site's own description",
        ),
        pytest.param(
            _edit(demo.GUIDE, "status: published", "status: published\nmood: good"),
            f"content/guides/cache.md:5: mood: expected a known key, found this one\n{_SCHEMA}",
            id="an unknown key",
        ),
        pytest.param(
            _edit(demo.GUIDE, "status: published", "status: published\nstatus: draft"),
            "content/guides/cache.md:5: the key 'status' stands twice\n    Keep one of the two.\n",
            id="a duplicate key",
        ),
        pytest.param(
            _edit("evidence/cache/tables/signals.yaml", "[256 MiB](receipt:memory)", "[255 MiB](receipt:memory)"),
            'evidence/cache/receipts/draft.json:LINE: results signals rows full meaning: expected It takes [255 MiB](receipt:memory). '
            f"(recomputed), found It takes [256 MiB](receipt:memory).\n{_REISSUE}",
            id="a claim in a table of words",
        ),
    ],
)  # fmt: skip
def test_prose_that_does_not_stand(root, work, said):
    """Each sentence that does not stand on its receipt is said with its line and what would be right."""
    work(root)

    if "LINE" in said:
        draft = (root / demo.DRAFT).read_text().splitlines()
        said = said.replace("LINE", str(1 + next(place for place, text in enumerate(draft) if "It takes [256" in text)))
    _stops(root, said)


def test_an_old_pin(numbered):
    """A guide on an older receipt is told once the newest one says something else than its sentences."""
    _edit(demo.SCRIPT, 'return "5e0c5fe1', 'return "5e0c5fe2')(numbered)
    for verb, code in (("issue", 0), ("publish", 4)):
        assert code == demo.ran(numbered, verb, "cache").exit_code

    _stops(
        numbered,
        "content/guides/cache.md:5: the guide stands on cache@1; cache@2 is published and says otherwise what it says\n"
        "    Read build.py diff cache 1 2, then pin cache@2.\n",
    )


def test_two_guides_with_one_slug(root):
    """Two names that some disks take for one are both said."""
    shutil.copy(root / demo.GUIDE, root / "content/guides/Cache.md")

    _stops(
        root,
        "content/guides/Cache.md: expected <slug>.md, the slug of a-z, 0-9 and -; found Cache.md\n"
        "    Rename it, or move it out of this folder.\n"
        "content/guides/cache.md: expected a name of its own, found Cache.md beside it\n"
        "    Rename one of the two: some systems take them for one file.\n",
    )


def test_two_pages_with_one_slug(root):
    """A page and a policy would stand at one address."""
    shutil.copy(root / "content/pages/about.md", root / "content/policies/about.md")

    _stops(
        root, "content/policies/about.md: expected a slug of its own, found content/pages/about.md\n    Rename one.\n"
    )


# Files that are not what they must be


@pytest.mark.parametrize(
    ("work", "said"),
    [
        pytest.param(
            _edit(demo.LOCK, '"audit": "cache",', '"audit": "cache",\n "audit": "cache",'),
            "evidence/cache/sources.lock:4: the key 'audit' stands twice in one object\n    Keep one of the two.\n",
            id="a duplicate key in JSON",
        ),
        pytest.param(
            _edit(demo.DRAFT, '"schema": "receipt/1",', '"schema": "receipt/1",\n "schema": "receipt/1",'),
            "evidence/cache/receipts/draft.json:3: the key 'schema' stands twice in one object\n    Keep one of the two.\n",
            id="a duplicate key in a receipt",
        ),
        pytest.param(
            _edit(_SOURCES, "  - id: settings", "  - id: settings\n    id: settings"),
            "evidence/cache/sources.yaml:11: the key 'id' stands twice\n    Keep one of the two.\n",
            id="a duplicate key in YAML",
        ),
        pytest.param(
            _edit(demo.LOCK, '"bytes": 44', '"bytes": NaN'),
            "evidence/cache/sources.lock:105: NaN is not JSON\n    Write a number or a word in quotes.\n",
            id="NaN",
        ),
        pytest.param(
            _edit(_SOURCES, "  - id: settings", "  - id: settings\n    size: 44"),
            f"evidence/cache/sources.yaml:11: sources.1.size: expected a known key, found this one\n{_SCHEMA}",
            id="an unknown key in YAML",
        ),
        pytest.param(
            _edit(demo.LOCK, '"audit": "cache",', '"audit": "cache",\n "size": 7,'),
            f"evidence/cache/sources.lock:4: size: expected a known key, found this one\n{_SCHEMA}",
            id="an unknown key in JSON",
        ),
        pytest.param(
            _edit(demo.DRAFT, '"schema": "receipt/1",', '"schema": "receipt/1",\n "mood": "good",'),
            f"evidence/cache/receipts/draft.json:3: mood: expected a known key, found this one\n{_SCHEMA}",
            id="an unknown key in a receipt",
        ),
        pytest.param(
            _edit(_SOURCES, "file: fixtures/limits.py", "file: ../../content/site.yaml"),
            "evidence/cache/sources.yaml:23: sources.2.locators.0.file: expected a path inside the folder, found '../../content/site.yaml'\n"
            f"{_SCHEMA}",
            id="a path that escapes its folder",
        ),
        pytest.param(
            _edit(_SOURCES, "file: fixtures/limits.py", "file: /etc/passwd"),
            f"evidence/cache/sources.yaml:23: sources.2.locators.0.file: expected a path inside the folder, found '/etc/passwd'\n{_SCHEMA}",
            id="an absolute path",
        ),
        pytest.param(
            _edit(_SOURCES, "member: shelf/cache.py", "member: ../cache.py"),
            f"evidence/cache/sources.yaml:9: sources.0.locators.0.release.member: expected a path inside the folder, found '../cache.py'\n{_SCHEMA}",
            id="a member that escapes its archive",
        ),
        pytest.param(
            _edit(_SOURCES, "file: fixtures/limits.py", "folder: fixtures"),
            "evidence/cache/sources.yaml:23: sources.2.locators.0: expected one of https, release and file, found none of them\n"
            f"{_SCHEMA}",
            id="a locator of no kind",
        ),
    ],
)
def test_a_file_that_is_not_what_it_must_be(root, work, said):
    """What a loader could let pass silently is said with its line."""
    work(root)

    _stops(root, said)


def test_a_version_that_yaml_would_shorten(root):
    """`3.10` without quotes stays what it is: no loader makes 3.1 of it, and a claim that says 3.1 is refused."""
    entry = "  - {id: builtFor, value: 3.10, kind: version, by: shelf/shelf#8, how: in its notes, statement: The Python meant.}\n"
    _append(_REPORTED, entry)(root)
    assert 0 == demo.ran(root, "issue", "cache").exit_code
    assert '"value": "3.10"' in (root / demo.DRAFT).read_text()
    _says("It is built for [3.1](receipt:builtFor).")(root)

    _stops(
        root,
        'content/guides/cache.md:18: the text says "3.1"; builtFor is 3.10 (cache, draft).\n'
        '    Reread the sentence, then write "3.10".\n',
    )
    _edit(demo.GUIDE, "[3.1]", "[3.10]")(root)
    assert 0 == demo.ran(root, "build").exit_code


# Links on the disk


@pytest.mark.parametrize(
    "name", [demo.GUIDE, demo.SCRIPT, demo.LOCK, demo.DRAFT, "content/site.yaml", "templates/guide.html"]
)
def test_a_symlink(root, name, tmp_path):
    """A symbolic link in place of a file is not followed, wherever it leads."""
    shutil.move(root / name, tmp_path / "elsewhere")
    (root / name).symlink_to(tmp_path / "elsewhere")

    before = demo.tree(root, "dist", ".store")
    result = demo.ran(root, "build")
    said = f"{name}: expected a regular file, found a symbolic link\n{_REAL_FOLDER}"
    assert (1, "") == (result.exit_code, result.stdout)
    assert said in result.stderr
    assert before == demo.tree(root, "dist", ".store")


@pytest.mark.parametrize("name", [".store", "dist"])
def test_a_symlink_to_a_folder(root, name, tmp_path):
    """Neither store nor site is followed out of the repository, and nothing is written where a link leads."""
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(root / name)
    (root / name).symlink_to(tmp_path / "elsewhere")

    result = demo.ran(root, "build")
    assert "" == result.stdout
    assert {".store": 1, "dist": 2}[name] == result.exit_code
    assert {
        ".store": "expected a folder all the way, found a symbolic link or a file\n    Put the folder itself there: nothing outside the repository is read.\n",
        "dist": "dist: expected a folder that a build made, found a symbolic link\n    Move it away: what no build wrote is not deleted.\n",
    }[name] in result.stderr
    assert [] == list((tmp_path / "elsewhere").iterdir())


# Hostile text from upstream

_HOSTILE = '</script><script>alert(1)</script> | [/x](javascript:alert) {{ 7 }} \x1b[2J\u2028\u202e ::error:: "'
_ESCAPED = '</script><script>alert(1)</script> | [/x](javascript:alert) {{ 7 }} \\x1b[2J\\u{2028}\\u{202e} ::error:: "'


def _hostile(root: Path) -> None:
    """Upstream's settings hold a hostile text, and the audit reads it."""
    _reads(b'"mapped"', json.dumps(_HOSTILE).encode(), "settings")(root)
    observed = '@audit.observation("settings", kind="text")\ndef engine(source):\n    """Engine."""\n    return source.json("/engine")\n'
    shown = '@audit.result(title="Engines")\ndef engines(engine):\n    """The engine."""\n    return table(row("shelf", name=engine))\n'
    _append(demo.SCRIPT, f"\n\n{observed}\n\n{shown}")(root)
    assert 0 == demo.ran(root, "issue", "cache").exit_code


def test_hostile_text_in_a_message(root):
    """What upstream wrote is said on one line, its control characters as escapes."""
    _hostile(root)
    _says("The engine is [mapped](receipt:engine).")(root)

    _stops(
        root,
        f'content/guides/cache.md:18: the text says "mapped"; engine is {_ESCAPED} (cache, draft).\n'
        f'    Reread the sentence, then write "{_ESCAPED}".\n',
    )


def test_hostile_text_on_a_page(root):
    """In a cell, a caption, a title and a JSON-LD block it is text: no tag, no link, no template of it comes to life."""
    _hostile(root)
    _says("\n![</script><script>alert(x)</script>](receipt:engines)\n")(root)
    _edit(
        demo.GUIDE, "title: How much a full page cache takes", 'title: "</script><script>alert(x)</script> | {{ x }}"'
    )(root)
    assert "" == demo.ran(root, "build").stderr

    pages = [path.read_text(encoding="utf-8") for path in (root / "dist").rglob("*.html")]
    assert any(
        "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; | [/x](javascript:alert) {{ 7 }}" in page
        for page in pages
    )
    for page in pages:
        assert "<script>alert" not in page
        assert 'href="javascript' not in page
        assert "\x1b" not in page
        for block in re.findall(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL):
            json.loads(block)
            assert "<" not in block
    guide = (root / "dist/guides/cache/index.html").read_text(encoding="utf-8")
    titles = [json.loads(block) for block in re.findall(r'ld\+json">(.*?)</script>', guide, re.DOTALL)]
    assert "</script><script>alert(x)</script> | {{ x }}" in json.dumps(titles)


# The network


_SETTINGS = "/shelf/0123456789abcdef0123456789abcdef01234567/settings.json"


@pytest.fixture
def online(drafted: Path, tmp_path: Path) -> Iterator[tuple[Path, Internet]]:
    """A repository that was fetched from a small internet, and issued and built on what came."""
    with simulators.internet() as net:
        net.files.routes["/shelf/issues/7"] = Reply(body=demo.BYTES["issue"], head={"Content-Type": "text/plain"})
        net.files.routes[_SETTINGS] = Reply(body=demo.BYTES["settings"], head={"Content-Type": "application/json"})
        for release in demo.RELEASES:
            _release(net, release)
        root = Path(shutil.copytree(drafted, tmp_path / "repository"))
        shutil.rmtree(root / ".store")
        (root / demo.LOCK).unlink()
        for host in ("https://raw.forge.example", "https://forge.example"):
            text = (root / _SOURCES).read_text()
            (root / _SOURCES).write_text(text.replace(host, net.files.url))
        assert 0 == _fetched(root, net).exit_code
        for verb in (["issue", "cache"], ["build"]):
            assert 0 == demo.ran(root, *verb).exit_code
        yield root, net


def _release(net: Internet, release: str, twice: str | None = None) -> None:
    body = simulators.wheel(
        {"shelf/cache.py": demo.BYTES[f"cache@{release}"]}, project="shelf", version=release, twice=twice
    )
    net.release(f"shelf-{release}-py3-none-any.whl", body)


def _fetched(root: Path, net: Internet) -> Result:
    surroundings = {"PIP_INDEX_URL": f"{net.index.url}/simple", "PIP_CONFIG_FILE": "/dev/null"}
    return CliRunner().invoke(
        build.main, ["fetch", "--root", str(root), "--trust", net.files.authority], env=surroundings
    )


def _anew(root: Path) -> None:
    shutil.rmtree(root / ".store")


def test_every_mutable_source_answers_with_other_bytes(online):
    """What may move has moved: fetch succeeds and says so, and the same site is built from what was recorded."""
    root, net = online
    site = demo.tree(root, "dist", "evidence")
    net.files.routes["/shelf/issues/7"] = Reply(
        body=b"A peak of nothing at all.\n", head={"Content-Type": "text/plain"}
    )
    _anew(root)

    result = _fetched(root, net)
    found = digest_of(b"A peak of nothing at all.\n")
    assert (0, "") == (result.exit_code, result.stderr)
    assert f"cache: issue moved on: locked {digest_of(demo.BYTES['issue'])}, now {found}\n" in result.stdout
    assert "cache: 7 sources: 5 fetched, 1 moved on, 1 recorded\n" in result.stdout
    assert 0 == demo.ran(root, "build").exit_code
    assert site == demo.tree(root, "dist", "evidence")


def test_an_immutable_source_answers_with_other_bytes(online):
    """What can't change has changed: that is an alarm, and neither lock nor store takes the other bytes."""
    root, net = online
    other = demo.BYTES["settings"].replace(b"mapped", b"opened")
    net.files.routes[_SETTINGS] = Reply(body=other, head={"Content-Type": "application/json"})
    lock = (root / demo.LOCK).read_bytes()
    _anew(root)

    result = _fetched(root, net)
    assert (
        f"evidence/cache/sources.yaml:10: settings: expected {digest_of(demo.BYTES['settings'])}, found {digest_of(other)}\n"
        "    What can't change has changed: find out why before anything rests on it.\n"
    ) == result.stderr
    assert 1 == result.exit_code
    assert lock == (root / demo.LOCK).read_bytes()
    assert other not in demo.tree(root, ".store").values()


def test_a_truncated_download(online):
    """An answer that broke off is no answer: nothing of it is kept, and it could not be told."""
    root, net = online
    body = demo.BYTES["settings"]
    net.files.routes[_SETTINGS] = Reply(body=body, sent=len(body) // 2, head={"Content-Type": "application/json"})
    _anew(root)

    result = _fetched(root, net)
    assert (
        "evidence/cache/sources.yaml:10: settings: expected an answer from 127.0.0.1, found an answer that broke off (4 attempts)\n"
        "    Fetch again when the network and the host answer.\n"
    ) == result.stderr
    assert 3 == result.exit_code
    assert not any(body.startswith(kept) for kept in demo.tree(root, ".store").values())
    assert 0 == demo.ran(root, "build").exit_code


def test_a_wheel_with_duplicate_members(online):
    """Which of two members of one name is installed depends on the installer: neither is evidence."""
    root, net = online
    _release(net, "1.1.0", twice="shelf/cache.py")
    _anew(root)
    (root / demo.LOCK).unlink()

    result = _fetched(root, net)
    assert (
        "evidence/cache/sources.yaml:2: cache@1.1.0: expected each member of shelf-1.1.0-py3-none-any.whl once, found shelf/cache.py twice\n"
        "    Don't rest anything on this file: which of the two is installed depends on the installer.\n"
    ) == result.stderr
    assert 1 == result.exit_code
    assert "cache@1.1.0" not in (root / demo.LOCK).read_text()


def test_no_network_at_all(online):
    """Nobody answers: fetch could not tell, with every source that it asked for, and the build is complete all the same."""
    root, net = online
    site = demo.tree(root, "dist", "evidence")
    _anew(root)
    net.close()

    result = _fetched(root, net)
    assert 3 == result.exit_code
    problems = re.findall(r"^(\S+): (\S+): (expected .*)$", result.stderr, re.MULTILINE)
    assert {"cache@1.0.0", "cache@1.1.0", "cache@1.2.0", "settings", "issue"} == {source for _, source, _ in problems}
    assert net.index.url not in result.output
    done = demo.ran(root, "build")
    assert (0, "") == (done.exit_code, done.stderr)
    assert "1 audits and 1 guides verified: 1 sources hashed again, 5 taken as recorded\n" in done.stdout
    assert site == demo.tree(root, "dist", "evidence")


def test_bytes_that_are_required(root):
    """Where bytes are required, what was obtained and can't move must be at hand; what can move need not be."""
    _anew(root)
    before = demo.tree(root, "dist")

    result = CliRunner().invoke(build.main, ["build", "--root", str(root), "--require-bytes"])
    locked = demo.lock().by_id()
    assert (
        "".join(
            f"evidence/cache/sources.lock: {name}: expected the bytes of {locked[name].digest}, found none in the store\n"
            "    Run `python build.py fetch cache`.\n"
            for name in ("cache@1.0.0", "cache@1.1.0", "cache@1.2.0", "settings")
        )
        == result.stderr
    )
    assert 1 == result.exit_code
    assert before == demo.tree(root, "dist")
