"""The command line: each verb on a small repository of its own, its messages, its exit codes, and what it writes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import build
from site_builder.errors import UsageError
from site_builder.values import Digest
from tests import sample

_HERE = Path(__file__).resolve().parent.parent

_FILES = {
    "content/site.yaml": """\
title: The Shelf Review
description: Audits of a library that does not exist.
url: https://audits.example/
team: The review's team
contact: mailto:corrections@audits.example
""",
    "content/contributors.yaml": """\
contributors:
  - {id: team, name: The team, role: Editors}
""",
    "content/guides/demo.md": """\
---
title: A buffer that fills
description: A full buffer takes [8 MiB](receipt:memory).
status: published
receipts: [demo@draft]
authors: [team]
published: "2026-11-30"
---

## What it takes

A full buffer takes [8 MiB](receipt:memory), of [2,048 pages](receipt:pages) with [4,096 bytes](receipt:pageSize) each.

![What a full buffer takes](receipt:memory)
""",
    "evidence/demo/audit.py": '''\
"""How much memory does a full buffer take?"""

from site_builder.audits import Audit

audit = Audit(__doc__, limits=["Nothing was run."])


@audit.assumption(unit="page", reason="The smallest size that the manual names.")
def pages():
    """Pages of a full buffer."""
    return 2048


@audit.observation("settings", unit="B")
def page_size(source):
    """Bytes of one page."""
    return source.json("/pageSize")


@audit.result(title="Memory of a full buffer")
def memory(pages, page_size):
    """What a full buffer takes."""
    return (pages * page_size).to("MiB")


@audit.result(title="Whether it is large")
def large(memory, reported_peak):
    """Whether a full buffer takes at least what was reported."""
    return memory >= reported_peak


@audit.invariant
def report_is_reproduced(memory, reported_peak):
    """The computed memory is the reported one."""
    return memory == reported_peak
''',
    "evidence/demo/sources.yaml": """\
sources:
  - id: settings
    purpose: The buffer's settings
    role: upstream
    mutability: immutable
    expects: {type: application/json, contains: "pageSize"}
    locators:
      - file: fixtures/settings.json
  - id: spare
    purpose: What nothing is read off
    role: upstream
    mutability: immutable
    expects: {type: text/plain, contains: "spare"}
    locators:
      - file: fixtures/spare.txt
""",
    "evidence/demo/reported.yaml": """\
reported:
  - id: reportedPeak
    value: "8"
    unit: MiB
    by: shelf/shelf#7
    how: quoted in a public issue
    statement: Peak of the buffer, as its reporter measured it.
""",
    "evidence/demo/decision.yaml": """\
state:
  from: large
  states: {"yes": affected, "no": not affected, unknown: unknown}
statement: Set the number of pages yourself.
conditions: ["The buffer is full."]
reopen:
  - {id: page, when: "the page has another size"}
""",
    "evidence/demo/fixtures/settings.json": '{"pageSize": 4096}\n',
    "evidence/demo/fixtures/spare.txt": "spare\n",
}


def _run(root: Path, *arguments: str, ci: str | None = None) -> Result:
    verb, *rest = arguments
    return CliRunner().invoke(build.main, [verb, "--root", str(root), *rest], env={"CI": ci})


def _ran(root: Path, *arguments: str) -> str:
    """Run a verb that must hold, and return what it printed."""
    result = _run(root, *arguments)
    assert (0, "") == (result.exit_code, result.stderr), result.stderr
    return result.stdout


def _failed(root: Path, code: int, *arguments: str) -> str:
    """Run a verb that must not hold, and return what it said is wrong."""
    result = _run(root, *arguments)
    assert code == result.exit_code, result.output
    return result.stderr


def _made(root: Path) -> Path:
    for name, text in _FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for folder in ("templates", "content/pages", "content/policies"):
        shutil.copytree(_HERE / folder, root / folder)
    return root


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A repository whose sources were never fetched."""
    return _made(tmp_path / "repository")


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a lock and a draft receipt, made once and never written to."""
    made = _made(tmp_path_factory.mktemp("issued") / "repository")
    _ran(made, "fetch")
    _ran(made, "issue", "demo")
    return made


@pytest.fixture
def root(issued: Path, tmp_path: Path) -> Path:
    """A repository of the test's own, from which a site can be built."""
    shutil.copytree(issued, tmp_path / "repository", ignore=shutil.ignore_patterns(".build"))
    return tmp_path / "repository"


def _tree(root: Path, *folders: str) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


# The chain


def test_from_nothing_to_a_site(fresh):
    """Fetch, issue, build: each says what it did, and a second build changes no byte."""
    assert "demo: 2 sources: 2 locked\n" == _ran(fresh, "fetch")
    assert re.fullmatch(r"evidence/demo/receipts/draft.json: written, \d+ bytes\n", _ran(fresh, "issue", "demo"))
    assert re.fullmatch(
        r"1 audits and 1 guides verified: 2 sources hashed again, 0 taken as recorded\n"
        r"dist/: (\d+) files, \1 of them new, 0 removed\n",
        _ran(fresh, "build"),
    )
    before = _tree(fresh, "dist")
    assert re.search(r"dist/: \d+ files, 0 of them new, 0 removed\n$", _ran(fresh, "build"))
    assert before == _tree(fresh, "dist")
    assert f"{fresh}/dist: every file is as its manifest says\n" == _ran(fresh, "verify", f"{fresh}/dist")


def test_build_is_the_default(root):
    """Without a verb the site is built."""
    result = CliRunner().invoke(build.main, ["--root", str(root)])

    assert 0 == result.exit_code
    assert (root / "dist/index.html").exists()


def test_json_says_verdict_and_problems(root):
    """Every verb takes --json: a verdict, an exit code, the problems, and what the verb found."""
    said = json.loads(_ran(root, "build", "--json"))
    assert ("verified", 0, []) == (said["verdict"], said["exitCode"], said["problems"])
    assert {"rehashed": 2, "asRecorded": 0} == {key: said["sources"][key] for key in ("rehashed", "asRecorded")}
    assert said["sources"] == json.loads((root / ".build/report.json").read_text())

    result = _run(root, "why", "memry", "--json")
    assert {
        "verdict": "usage",
        "exitCode": 2,
        "problems": [
            {
                "where": "memry",
                "problem": "expected something that stands in a receipt, found nothing of that name",
                "remedy": "Perhaps demo:memory.",
            }
        ],
    } == json.loads(result.stdout)
    assert (2, "") == (result.exit_code, result.stderr)


def test_the_same_site_anywhere(root, tmp_path):
    """Another folder, time zone, locale, hash seed and umask: the same bytes."""
    _ran(root, "build")
    other = tmp_path / "a folder with spaces, é"
    shutil.copytree(root, other, ignore=shutil.ignore_patterns("dist", ".build"))
    surroundings = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "PATH": os.environ["PATH"]}
    subprocess.run(
        [sys.executable, str(_HERE / "build.py"), "--root", str(other)],
        env=surroundings,
        check=True,
        umask=0o077,
        stdout=subprocess.DEVNULL,
    )

    assert _tree(root, "dist") == _tree(other, "dist")


_LEAVES_A_TRACE = """\


@audit.trial("tracer", "asked")
def traced(tool, files):
    \"\"\"What a tool says that leaves a trace.\"\"\"
    return tool.decide()
"""


def _traced(root: Path) -> None:
    """Give the audit a tool that leaves a trace in this process, and issue it again."""
    home = root / "evidence/demo"
    (home / "tools").mkdir()
    tool = '"""Decides."""\n\nimport builtins\n\n\ndef decide():\n    builtins.demo_ran = True\n    return "decided"\n'
    (home / "tools/tracer.py").write_text(tool)
    (home / "fixtures/asked").mkdir()
    (home / "fixtures/asked/one.txt").write_text("one")
    (home / "fixtures.yaml").write_text("fixtures:\n  - {path: asked/one.txt, statement: One.}\n")
    script = home / "audit.py"
    script.write_text(script.read_text() + _LEAVES_A_TRACE)
    _ran(root, "issue", "demo")


def _runs(root: Path, *arguments: str, ci: str | None = None) -> bool:
    """Whether the verb ran the audit again: its tool leaves a trace in this process alone."""
    sys.modules["builtins"].__dict__.pop("demo_ran", None)
    assert 0 == _run(root, *arguments, ci=ci).exit_code
    return "demo_ran" in sys.modules["builtins"].__dict__


def test_a_verdict_is_carried_over_on_the_same_bytes_alone(root):
    """An unchanged audit is not run again by build, but by verify, CI, publish and --no-cache; a changed one is."""
    _traced(root)
    assert _runs(root, "build")
    before = _tree(root, "dist")
    assert not _runs(root, "build")
    assert before == _tree(root, "dist")
    assert _runs(root, "verify")
    assert _runs(root, "build", "--no-cache")
    assert not _runs(root, "build")
    _edit(root / "evidence/demo/fixtures/spare.txt", "spare", "spare")
    assert not _runs(root, "build")
    (root / "evidence/demo/fixtures/more.txt").write_text("more")
    assert _runs(root, "build")
    (root / ".build/carried.json").write_bytes(b"garbage")
    assert _runs(root, "build")
    assert _runs(root, "build", ci="true")
    assert _runs(root, "publish", "demo")


def test_figures_that_nothing_checks(root):
    """How many figures stand in statements and the like is said when verifying, and on the receipt's page."""
    _edit(root / "evidence/demo/audit.py", '"Nothing was run."', '"Nothing was run on 2 machines."')
    _ran(root, "issue", "demo")

    said = _ran(root, "verify")
    assert "demo: 1 figures in statements, reasons, limits, purposes and desk texts are not checked\n" in said
    assert {"demo": 1} == json.loads(_ran(root, "verify", "--json"))["unchecked"]
    _ran(root, "build")
    page = (root / "dist/receipts/demo/index.html").read_text(encoding="utf-8")
    assert "<dt>Not checked</dt><dd>1 figure in statements" in page


# What is wrong stops it


def test_what_is_wrong_leaves_the_last_site(root):
    """A claim that no longer reads as its value stops the build; the last good site stays to the byte."""
    _ran(root, "build")
    before = _tree(root, "dist")
    _edit(root / "content/guides/demo.md", "takes [8 MiB](receipt:memory),", "takes [9 MiB](receipt:memory),")

    said = _failed(root, 1, "build")
    assert said.startswith('content/guides/demo.md:12: the text says "9 MiB"; memory is 8 MiB')
    assert before == _tree(root, "dist")
    assert [] == list(root.glob(".dist-*"))
    assert said == _failed(root, 1, "verify")


def test_a_source_that_was_edited(root):
    """Bytes that are not the locked ones stop the build at the first gate."""
    (root / "evidence/demo/fixtures/settings.json").write_text('{"pageSize": 4097}\n')

    said = _failed(root, 1, "build")
    assert "settings: expected sha256:" in said
    assert said.endswith("    The stored bytes changed after they were locked: fetch again, and review what moved.\n")
    assert not (root / "dist").exists()


def test_a_draft_that_was_edited(root):
    """A value changed in the draft is not what the audit comes to."""
    _edit(root / "evidence/demo/receipts/draft.json", '"value": "4096"', '"value": "4095"')

    said = _failed(root, 1, "build")
    where = "evidence/demo/receipts/draft.json"
    assert re.match(
        rf"{where}: operationId: expected \S+, found \S+\n    Restore it, or issue the draft again.\n"
        rf"{where}: memory: expected 7.998046875 MiB \(recomputed\), found 8 MiB\n    Restore it, or issue the draft again.\n",
        said,
    )
    assert re.search(
        rf"\n{where}:\d+: observations pageSize value: expected 4096 \(recomputed\), found 4095\n"
        r"    If the evidence is right, issue demo again and reread what is bound to it.\n\Z",
        said,
    )


def test_without_a_lock(fresh):
    """An audit with a receipt and no lock can't be verified."""
    (fresh / "evidence/demo/receipts").mkdir()
    (fresh / "evidence/demo/receipts/draft.json").write_text("{}")

    assert (
        "evidence/demo/sources.lock: expected what was seen of the sources, found no lock\n"
        "    Run `python build.py fetch demo`.\n"
    ) == _failed(fresh, 1, "build")


def test_a_foreign_file_in_the_site(root):
    """What no build wrote stops the build as wrong usage, before anything is written."""
    _ran(root, "build")
    (root / "dist/notes.txt").write_text("mine")

    assert (
        "dist/notes.txt: expected only what a build wrote, found this\n"
        "    Move it away: what no build wrote is not deleted.\n"
    ) == _failed(root, 2, "build")


def test_hostile_names_and_bytes_end_in_messages(root):
    """No file of the project, whatever is in it, ends in a traceback."""
    for name in ("content/site.yaml", "evidence/demo/sources.yaml", "evidence/demo/sources.lock"):
        for body in (b"\xff\xfe", b"a: &a [*a]", b"", b"[" * 5000, b"\x1b[2J: 1"):
            before = (root / name).read_bytes()
            (root / name).write_bytes(body)
            result = _run(root, "build")
            (root / name).write_bytes(before)
            assert 1 == result.exit_code, result.output
            assert isinstance(result.exception, SystemExit)
            assert "\x1b" not in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["issue", "other"], "other: expected one of the audits demo, found another\n    Name an audit that exists.\n"),
        (
            ["diff", "demo", "1", "draft"],
            "demo: expected one of the versions draft, found '1'\n    Name a version that exists.\n",
        ),
        (["diff", "demo", "\x1b[2J", "draft"], "demo: expected one of the versions draft, found '\\x1b[2J'\n"),
        (["why", "memory/1/2/3"], "memory/1/2/3: expected something that stands in a receipt, found nothing"),
        (["impact", "nothing"], "nothing: expected something that stands in a receipt, found nothing of that name\n"),
        (["verify", "nowhere"], "nowhere: expected a built folder, an address or a saved receipt, found none\n"),
        (["verify", "http://"], "http://: expected an address, found one without a host\n    Correct the address.\n"),
        (["verify", "https://[::1"], "https://[::1: expected an address, found one without a host\n"),
        (["publish"], "Usage: "),
        (["build", "--no-such"], "Usage: "),
    ],
)
def test_wrong_usage(root, arguments, said):
    """What does not exist is said, with what does, and ends in 2."""
    assert _failed(root, 2, *arguments).startswith(said)


@pytest.mark.parametrize("verb", ["recheck", "repin", "new", "add-source"])
def test_a_verb_that_does_not_work_is_not_listed(root, verb):
    """Help lists what works, and nothing else."""
    assert 2 == CliRunner().invoke(build.main, [verb]).exit_code
    assert f"  {verb} " not in CliRunner().invoke(build.main, ["--help"]).stdout


# Publishing


def test_a_publication(root):
    """The draft gets its number and its line, guides that read the same are pinned to it, and the draft is gone."""
    said = _ran(root, "publish", "demo")

    assert (
        "evidence/demo/receipts/1.json: published as demo@1\n"
        "content/guides/demo.md: its pin is now demo@1; no bound value and no word of it changed\n"
    ) == said
    assert ["1.json"] == [path.name for path in (root / "evidence/demo/receipts").iterdir()]
    assert _FILES["content/guides/demo.md"].replace("demo@draft", "demo@1") == (
        root / "content/guides/demo.md"
    ).read_text(encoding="utf-8")
    (line,) = (root / "content/publications.jsonl").read_text(encoding="utf-8").splitlines()
    logged = json.loads(line)
    assert Digest.of((root / "evidence/demo/receipts/1.json").read_bytes()) == logged["fileDigest"]
    assert {"demo": ["top", "what-it-takes"]} == {slug: list(found) for slug, found in logged["blocks"].items()}
    _ran(root, "build")
    public = root / "dist/receipts/demo/1/receipt.json"
    assert (root / "evidence/demo/receipts/1.json").read_bytes() == public.read_bytes()
    assert "demo@1: 2 values and 1 invariants computed again\n" == _ran(root, "verify", str(public))


def test_a_second_publication(root):
    """The next receipt names the one before it; a guide whose values changed keeps its pin, and the editor is told."""
    _ran(root, "publish", "demo")
    _edit(root / "evidence/demo/audit.py", "return 2048", "return 4096")
    _edit(root / "evidence/demo/reported.yaml", 'value: "8"', 'value: "16"')
    _ran(root, "issue", "demo")
    said = _needs_a_person(root, "publish", "demo")

    assert "evidence/demo/receipts/2.json: published as demo@2\n" in said
    assert "content/guides/demo.md:12: still pins demo@1: 2,048 pages\n" in said
    assert "receipts: [demo@1]" in (root / "content/guides/demo.md").read_text(encoding="utf-8")
    receipt = json.loads((root / "evidence/demo/receipts/2.json").read_text(encoding="utf-8"))
    assert Digest.of((root / "evidence/demo/receipts/1.json").read_bytes()) == receipt["issued"]["predecessor"]
    assert "memory: 8 MiB -> 16 MiB\n" in _ran(root, "diff", "demo", "1", "2")
    assert "the guide stands on demo@1; demo@2 is published and says otherwise what it says" in _failed(
        root, 1, "build"
    )


def _needs_a_person(root: Path, *arguments: str) -> str:
    done = _run(root, *arguments)
    assert (4, "") == (done.exit_code, done.stderr)
    return done.stdout


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("audit.py", '"Nothing was run."', '"Nothing was run here."', "the limits"),
        ("audit.py", "What a full buffer takes.", "What it takes.", "memory"),
        ("audit.py", "Bytes of one page.", "Bytes of any page.", "pageSize"),
        ("decision.yaml", "Set the number of pages yourself.", "Set it yourself.", "the decision's statement"),
    ],
)
def test_words_that_changed(root, name, old, new, said):
    """A guide keeps its pin where the decision, a limit or a statement reads otherwise, and a person must reread it."""
    _ran(root, "publish", "demo")
    _edit(root / "evidence/demo" / name, old, new)
    _ran(root, "issue", "demo")

    assert (
        "evidence/demo/receipts/2.json: published as demo@2\n"
        f"content/guides/demo.md: still pins demo@1: the text of {said} is another\n"
    ) == _needs_a_person(root, "publish", "demo")
    assert "receipts: [demo@1]" in (root / "content/guides/demo.md").read_text(encoding="utf-8")
    assert "the guide stands on demo@1; demo@2 is published and says otherwise what it says" in _failed(
        root, 1, "build"
    )
    _edit(root / "content/guides/demo.md", "demo@1", "demo@2")
    _ran(root, "build")


def test_words_that_no_guide_shows(root):
    """What is said of a value that the guide neither says nor shows moves its pin all the same."""
    _ran(root, "publish", "demo")
    _edit(
        root / "evidence/demo/audit.py", "The computed memory is the reported one.", "The memory is the reported one."
    )
    _ran(root, "issue", "demo")

    assert "its pin is now demo@2; no bound value and no word of it changed\n" in _ran(root, "publish", "demo")


def test_a_draft_that_says_nothing_new(root):
    """A draft with the body and the desk of the newest published receipt is no publication."""
    _ran(root, "publish", "demo")
    _ran(root, "issue", "demo")
    before = _tree(root, "content", "evidence")

    assert (
        "evidence/demo/receipts/draft.json: expected something to publish, found a draft that says what demo@1 says\n"
        "    Remove the draft: demo@1 stands.\n"
    ) == _failed(root, 1, "publish", "demo")
    assert before == _tree(root, "content", "evidence")
    (root / "evidence/demo/receipts/draft.json").unlink()
    _ran(root, "build")


def test_a_number_that_was_never_published(root, tmp_path):
    """A numbered receipt without a line and without a draft: what the message says leads out of it."""
    finished = tmp_path / "finished"
    shutil.copytree(root, finished)
    _ran(finished, "publish", "demo")
    unlogged = root / "evidence/demo/receipts/1.json"
    shutil.copy(finished / "evidence/demo/receipts/1.json", unlogged)
    (root / "evidence/demo/receipts/draft.json").unlink()
    assert "remove the file, issue and publish" in _failed(root, 1, "build")

    # whoever issues first finishes it, or is told the same
    _ran(root, "issue", "demo")
    assert "none" == json.loads((root / "evidence/demo/receipts/draft.json").read_bytes())["issued"]["predecessor"]
    unlogged.unlink()
    _ran(root, "publish", "demo")
    _ran(root, "build")


@pytest.mark.parametrize("done", ["receipt", "line", "pins"])
def test_an_interrupted_publication_is_finished(root, done, tmp_path):
    """Published again, what was interrupted behind any of its steps comes to the same end."""
    finished = tmp_path / "finished"
    shutil.copytree(root, finished)
    _ran(finished, "publish", "demo")
    steps = ["evidence/demo/receipts/1.json", "content/publications.jsonl", "content/guides/demo.md"]
    for name in steps[: ["receipt", "line", "pins"].index(done) + 1]:
        shutil.copy(finished / name, root / name)
    _ran(root, "publish", "demo")

    made = _tree(root, "content", "evidence")
    expected = _tree(finished, "content", "evidence")
    if done == "receipt":  # the line is written now, at another time
        made.pop("content/publications.jsonl")
        expected.pop("content/publications.jsonl")
    assert expected == made
    _ran(root, "build")


def test_nothing_to_publish(root):
    """Without a draft there is nothing to publish."""
    _ran(root, "publish", "demo")

    assert (
        "evidence/demo/receipts/draft.json: expected a draft to publish, found none\n"
        "    Run `python build.py issue demo`.\n"
    ) == _failed(root, 1, "publish", "demo")


def test_a_published_receipt_that_was_edited(root):
    """A numbered receipt whose bytes are not those of its line stops the build and can't be verified."""
    _ran(root, "publish", "demo")
    path = root / "evidence/demo/receipts/1.json"
    _edit(path, "Bytes of one page.", "Bytes of a page.")

    assert "evidence/demo/receipts/1.json: expected sha256:" in _failed(root, 1, "build")
    assert "operationId: expected " in _failed(root, 1, "verify", str(path))


def test_a_log_that_was_cut_short(root):
    """The log without its last line is told by the receipt; without both, by the public copy."""
    _ran(root, "publish", "demo")
    _ran(root, "build")
    (root / "content/publications.jsonl").write_bytes(b"")

    assert (
        "evidence/demo/receipts/1.json: expected its line in content/publications.jsonl, found none\n"
        "    Restore the log if it had the line; if not, this was never published: remove the file, issue and publish.\n"
    ) in _failed(root, 1, "build")
    (root / "evidence/demo/receipts/1.json").unlink()
    assert "dist/receipts/demo/1/receipt.json: expected no such receipt in content/publications.jsonl" in _failed(
        root, 1, "verify", str(root / "dist")
    )


# A published copy


@pytest.mark.parametrize("name", ["index.html", "SHA256SUMS", "build-manifest.json", "receipts/demo/receipt.json"])
def test_a_copy_with_a_flipped_byte(root, name):
    """A published site with one byte changed is not what its lists say."""
    _ran(root, "publish", "demo")
    _ran(root, "build")
    path = root / "dist" / name
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)

    assert "dist/" in _failed(root, 1, "verify", str(root / "dist"))


def test_a_copy_that_lacks_and_adds(root):
    """A file that is missing and one that no list names are both said."""
    _ran(root, "build")
    (root / "dist/404.html").unlink()
    (root / "dist/extra.html").write_text("x")

    said = _failed(root, 1, "verify", str(root / "dist"))
    assert "dist/404.html: expected the file, found none\n" in said
    assert "dist/extra.html: expected only what the manifest lists, found this\n" in said


def test_a_published_address(root):
    """A site is verified over the network by its address alone; where nobody answers, that is no verdict."""
    _ran(root, "build")
    handler = partial(_Quiet, directory=str(root / "dist"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        assert "the published site: every file is as its manifest says\n" == _ran(root, "verify", address)
        (root / "dist/index.html").write_text("x")
        assert "the published site/index.html: expected sha256:" in _failed(root, 1, "verify", address)
        server.shutdown()

    assert "127.0.0.1" not in _failed(root, 3, "verify", address)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


# Asking


def test_why_ends_in_a_source_an_assumption_or_an_attribution(root):
    """The lineage of a value goes to where each of its leaves comes from."""
    settings = Digest.of(_FILES["evidence/demo/fixtures/settings.json"].encode())

    assert (
        "large = yes (computed): Whether a full buffer takes at least what was reported.\n"
        "    = ge(memory, reportedPeak)\n"
        "memory = 8 MiB (computed): What a full buffer takes.\n"
        "    = div(mul(pages, pageSize), MiB)\n"
        "reportedPeak = 8 MiB (reported): Peak of the buffer, as its reporter measured it.\n"
        "    reported by shelf/shelf#7\n"
        "pages = 2,048 pages (assumption): Pages of a full buffer.\n"
        "    assumed, because The smallest size that the manual names.\n"
        "pageSize = 4,096 bytes (observation): Bytes of one page.\n"
        f"    settings: fixtures/settings.json ({settings}, obtained), pointer /pageSize\n"
    ) == _ran(root, "why", "demo:large")


@pytest.mark.parametrize(
    ("address", "found", "first"),
    [
        ("memory", 12, "memory/16384/size"),
        ("shelf-cache:memory/65536", 3, "memory/65536/size"),
        ("pageSize", 5, "pageSize@1.0.0"),
    ],
)
def test_why_of_many_values(address, found, first):
    """A table, a row or a list stands in the receipt, but is no one value: it is said how many it is."""
    with pytest.raises(UsageError) as refused:
        build._at({"shelf-cache": sample.ledger()[0]}, address)
    assert (
        f"{address}: expected one value, found {found} of that name\n    Write one, say shelf-cache:{first}."
    ) == str(refused.value)


def test_impact_ends_in_guide_lines(root):
    """What stands on a source goes up to the lines of guides; on a source that nothing reads stands nothing."""
    assert (
        "demo@draft: pageSize\n"
        "demo@draft: memory\n"
        "demo@draft: large\n"
        "content/guides/demo.md:3: receipt:memory\n"
        "content/guides/demo.md:12: receipt:memory\n"
        "content/guides/demo.md:12: receipt:pageSize\n"
        "content/guides/demo.md:14: receipt:memory\n"
    ) == _ran(root, "impact", "settings")
    assert "demo@draft: nothing stands on spare\n" == _ran(root, "impact", "spare")
    assert "content/guides/demo.md:12: receipt:pages\n" in _ran(root, "impact", "pages")


@pytest.mark.parametrize("arguments", [["--help"], ["build", "--help"], ["why", "memory"]])
def test_asking_is_quick(root, arguments):
    """Help and lineage load neither the network's, the prose's nor the templates' libraries."""
    code = (
        "import sys, runpy\n"
        f"sys.argv = ['build.py', *{arguments!r}]\n"
        "try:\n"
        f"    runpy.run_path({str(_HERE / 'build.py')!r}, run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "heavy = {'httpx', 'jinja2', 'markdown_it', 'tree_sitter', 'capstone'}\n"
        "print(sorted(heavy & {*sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(_HERE)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "[]\n" == done.stderr


# Previewing


@contextmanager
def _serving(root: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-u", str(_HERE / "build.py"), "serve", "--root", str(root), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background of a shell, a child would inherit that Ctrl-C is ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - nothing else runs here yet
    )
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        yield next(line for line in lines if line.startswith("http://127.0.0.1:")).split()[0]
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=5)[1]
    assert "" == said


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def test_a_preview_that_reloads(root):
    """The preview adds its script to what it serves, builds again when a file changes, and ends with Ctrl-C."""
    with _serving(root) as address:
        assert '<script src="/.preview.js"></script>' in _read(f"{address}guides/demo/")
        assert "preview.js" not in (root / "dist/guides/demo/index.html").read_text(encoding="utf-8")
        _edit(root / "content/guides/demo.md", "## What it takes", "## What a buffer takes")
        started = time.monotonic()
        assert "2" == _read(f"{address}.preview/1")
        assert time.monotonic() - started < 10
        assert "What a buffer takes" in _read(f"{address}guides/demo/")


def test_a_browser_that_leaves_the_preview(root):
    """A browser that is gone when its answer comes costs no word on the terminal."""
    with _serving(root) as address:
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        with socket.create_connection((host, int(port))) as browser:
            browser.sendall(b"GET /.preview/1 HTTP/1.0\r\n\r\n")
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        _edit(root / "content/guides/demo.md", "## What it takes", "## What a buffer takes")
        assert "2" == _read(f"{address}.preview/1")


def test_a_port_that_is_taken(root):
    """A preview that can't have its port says so and builds nothing."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = _run(root, "serve", "--port", str(port))

    assert 2 == said.exit_code
    assert (
        f"port {port}: expected a free port of this machine, found one that can't be had\n"
        "    End what listens there, or name another one: --port 0 takes one that is free.\n"
    ) == said.stderr
    assert not (root / "dist").exists()


def test_without_docstrings():
    """Docstrings are published, so that Python is not asked to drop them."""
    process = subprocess.run(
        [sys.executable, "-OO", "build.py"], cwd=_HERE, capture_output=True, text=True, check=False
    )

    assert (
        2,
        "",
        "python -OO: expected docstrings, which are published, found them dropped\n    Run it without -OO.\n",
    ) == (process.returncode, process.stdout, process.stderr)
