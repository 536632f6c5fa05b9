"""The disk: what is read and refused, what survives a kill, a full disk and a second writer."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from site_builder.errors import EvidenceError, SourceError, UsageError
from site_builder.inputs import File
from site_builder.project import Exchanged, Project
from site_builder.project.output import exchanged, write_site
from site_builder.units import Filed, Unit
from site_builder.values import Digest


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The smallest repository that can be read."""
    root = tmp_path / "repository"
    files = {
        "content/site.yaml": b"title: t\n",
        "content/guides/demo.md": b"# Demo\n",
        "content/pages/about.md": b"# About\n",
        "evidence/releases.yaml": b"releases: []\n",
        "evidence/demo/audit.py": b'"""Why?"""\n',
        "evidence/demo/sources.yaml": b"sources: []\n",
        "evidence/demo/tables/gates.yaml": b"rows: []\n",
        "evidence/demo/fixtures/logs/a.log": b"x\n",
        "evidence/demo/tools/gate.py": b"\n",
        "evidence/demo/receipts/2.json": b"{}\n",
        "evidence/demo/receipts/10.json": b"{}\n",
        "evidence/demo/receipts/draft.json": b"{}\n",
        "templates/page.html": b"<p>\n",
        "templates/static/site.css": b"p {}\n",
    }
    for path, body in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(body)
    return Project(root)


def _problems(project: Project) -> list[str]:
    with pytest.raises(EvidenceError) as caught:
        project.inputs()
    return [str(problem) for problem in caught.value.problems]


def _site(**files: str) -> list[tuple[str, bytes]]:
    """A site of a few pages, with the list of its files, as every site has."""
    pages = [(name.replace("_", "/") + ".html", body.encode()) for name, body in files.items()]
    manifest = json.dumps({"files": [{"path": path} for path, _ in pages]}).encode()
    return [*pages, ("build-manifest.json", manifest), ("SHA256SUMS", b"")]


def _no_exchange(one: Path, other: Path) -> bool:
    return False


def _served(project: Project) -> dict[str, bytes]:
    dist = project.root / "dist"
    return {path.relative_to(dist).as_posix(): path.read_bytes() for path in dist.rglob("*") if path.is_file()}


def _left(project: Project) -> list[str]:
    """What a killed or failed process could leave behind."""
    return sorted(
        path.relative_to(project.root).as_posix()
        for path in project.root.rglob("*")
        if path.name.startswith((".tmp-", ".dist-"))
    )


# Reading


def test_a_repository_is_read_by_places(project):
    """Each file is found under its place's own key, with the name that messages say; receipts in their order."""
    inputs = project.inputs()
    audit = inputs.audits["demo"]

    assert File(where="content/guides/demo.md", body=b"# Demo\n") == inputs.guides["demo"]
    assert ["about"] == list(inputs.pages)
    assert ["page.html", "static/site.css"] == list(inputs.templates)
    assert b"" == inputs.log.body
    assert [2, 10, "draft"] == list(audit.receipts)
    assert ["gates"] == list(audit.tables)
    assert File(where="evidence/demo/fixtures/logs/a.log", body=b"x\n") == audit.file("fixtures/logs/a.log")
    assert audit.tools["gate.py"] == audit.file("tools/gate.py")
    assert audit.tables["gates"] == audit.file("tables/gates.yaml")
    assert audit.file("../demo/audit.py") is None
    assert "pydantic" in inputs.versions


def test_no_project(tmp_path):
    """A folder without a project is wrong usage, and the message says what was looked for."""
    with pytest.raises(UsageError) as caught:
        Project(tmp_path).inputs()

    assert (
        "content/site.yaml: expected the site's settings, found none\n"
        "    Run this in the project's own folder, or name it with --root."
    ) == str(caught.value)


def test_what_is_no_regular_file_is_refused(project, tmp_path, monkeypatch):
    """Links, pipes, sockets and folders in a file's place are refused, all of them at once, and none is opened."""
    outside = tmp_path / "secret.md"
    outside.write_text("secret")
    guides = project.root / "content/guides"
    (guides / "link.md").symlink_to(outside)
    (guides / "dangling.md").symlink_to(tmp_path / "nothing")
    os.mkfifo(guides / "pipe.md")
    (guides / "folder.md").mkdir()
    monkeypatch.chdir(guides)  # a socket's name must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.md")

    put = "\n    Put the file itself there: nothing outside the repository is read."
    assert [
        f"content/guides/dangling.md: expected a regular file, found a symbolic link{put}",
        "content/guides/folder.md: expected <slug>.md, the slug of a-z, 0-9 and -; found folder.md/\n"
        "    Rename it, or move it out of this folder.",
        f"content/guides/link.md: expected a regular file, found a symbolic link{put}",
        f"content/guides/pipe.md: expected a regular file, found a named pipe{put}",
        f"content/guides/socket.md: expected a regular file, found a socket{put}",
    ] == _problems(project)


@pytest.mark.parametrize("folder", ["content/guides", "evidence/demo/receipts", "templates", "content"])
def test_a_linked_folder_is_refused(project, tmp_path, folder):
    """A folder that is a link leads out of the repository, and is not read."""
    away = tmp_path / "away"
    (project.root / folder).rename(away)
    (project.root / folder).symlink_to(away)

    assert any(problem.startswith(f"{folder}: ") for problem in _problems(project))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("content/guides/Other.md", "expected <slug>.md, the slug of a-z, 0-9 and -; found Other.md"),
        ("content/guides/Über.md", "expected <slug>.md, the slug of a-z, 0-9 and -; found Über.md"),
        ("content/guides/con.md", "expected <slug>.md, the slug of a-z, 0-9 and -; found con.md"),
        ("content/guides/-a.md", "expected <slug>.md, the slug of a-z, 0-9 and -; found -a.md"),
        (f"content/guides/{'a' * 81}.md", f"expected <slug>.md, the slug of a-z, 0-9 and -; found {'a' * 81}.md"),
        ("content/guides/a\x1b[2J.md", "expected <slug>.md, the slug of a-z, 0-9 and -; found a\\x1b[2J.md"),
        ("evidence/demo/receipts/02.json", "expected draft.json or <number>.json; found 02.json"),
        ("evidence/demo/tables/a.yml", "expected <id>.yaml, the id of a-z, A-Z, 0-9 and .@_-; found a.yml"),
        ("evidence/demo/fixtures/a b", "expected a name of A-Z, a-z, 0-9 and ._@+-; found a b"),
    ],
)
def test_a_name_that_has_no_place(project, name, expected):
    """A file that nothing would read is a problem: a typing error in a name must not drop a file silently."""
    (project.root / name).write_bytes(b"")

    (problem,) = _problems(project)
    assert expected in problem


def test_two_guides_with_one_slug(project):
    """Two names that differ by case alone are one address, and one file on some systems."""
    (project.root / "content/guides/Demo.md").write_bytes(b"")

    assert [
        "content/guides/Demo.md: expected <slug>.md, the slug of a-z, 0-9 and -; found Demo.md\n"
        "    Rename it, or move it out of this folder.",
        "content/guides/demo.md: expected a name of its own, found Demo.md beside it\n"
        "    Rename one of the two: some systems take them for one file.",
    ] == _problems(project)


def test_unicode_twins(project):
    """Two names that differ by Unicode form alone are one file on some systems."""
    for name in ("\u00e9.txt", "e\u0301.txt"):
        (project.root / "evidence/demo/fixtures" / name).write_bytes(b"")

    assert any("expected a name of its own, found e\u0301.txt beside it" in text for text in _problems(project))


def test_files_of_editors_are_set_aside(project):
    """What starts with a dot or ends in a tilde is no file of the project."""
    for name in (".demo.md.swp", "demo.md~"):
        (project.root / "content/guides" / name).write_bytes(b"")

    assert ["demo"] == list(project.inputs().guides)


def test_a_file_that_is_too_large(project):
    """A file beyond its place's cap is refused; no more of it than that is read."""
    with (project.root / "content/guides/demo.md").open("wb") as file:
        file.truncate(1 << 40)

    assert [
        f"content/guides/demo.md: expected at most 1048576 bytes, found {1 << 40}\n"
        "    Split the file, or keep only what is needed."
    ] == _problems(project)


def test_an_audit_without_its_script(project):
    """A folder below evidence/ is an audit, or a problem."""
    (project.root / "evidence/demo/audit.py").unlink()

    assert [
        "evidence/demo/audit.py: expected the file, found none\n    Write it, or remove the audit's folder."
    ] == _problems(project)


# The store


def test_what_was_put_is_read(project):
    """Bytes are found under their digest, world-readable whatever the umask, and listed."""
    digest = project.store.put(b"upstream")

    assert b"upstream" == project.store.get(digest)
    assert project.store.has(digest)
    assert [digest] == list(project.store.digests())
    assert [] == list(project.store.damaged())
    assert project.store.get(Digest.of(b"other")) is None


@pytest.mark.parametrize("damage", [b"Upstream", b"upstrea", b"", b"upstream\n", b"\0" * 8])
def test_a_flipped_byte_in_the_store(project, damage):
    """Stored bytes that changed are never returned; putting the true bytes again repairs them."""
    digest = project.store.put(b"upstream")
    path = project.root / ".store/sha256" / digest[7:9] / digest[9:]
    path.write_bytes(damage)

    with pytest.raises(SourceError) as caught:
        project.store.get(digest, "evidence/demo/sources.lock: kernel")
    assert (
        f"evidence/demo/sources.lock: kernel: expected {digest[:15]}…, found {Digest.of(damage)[:15]}… in the store.\n"
        "    The stored bytes changed after they were locked: fetch again, and review what moved."
    ) == str(caught.value)
    assert [f".store/sha256/{digest[7:9]}/{digest[9:]}"] == [at.where for at in project.store.damaged()]
    assert digest == project.store.put(b"upstream")
    assert b"upstream" == project.store.get(digest)


def test_a_link_in_the_store(project, tmp_path):
    """A link in the store is not followed, be the bytes behind it the right ones."""
    digest = project.store.put(b"upstream")
    path = project.root / ".store/sha256" / digest[7:9] / digest[9:]
    path.rename(tmp_path / "away")
    path.symlink_to(tmp_path / "away")

    assert not project.store.has(digest)
    with pytest.raises(SourceError) as caught:
        project.store.get(digest)
    assert "expected a regular file, found a symbolic link" in str(caught.value)


@pytest.mark.parametrize("digest", ["sha256:../../x", "sha256:" + "A" * 64, "sha1:" + "a" * 64, "a" * 64])
def test_a_digest_that_is_none(project, digest):
    """What is no digest names no file."""
    with pytest.raises(SourceError):
        project.store.get(digest)


# Single files


def test_a_file_is_replaced_in_whole(project):
    """A made file takes the place of the old one; a folder on the way that is a link is refused."""
    with project.writing("test") as writer:
        writer.write("evidence/demo/sources.lock", b"one")
        writer.write("evidence/demo/sources.lock", b"two")
        (project.root / "evidence/linked").symlink_to(project.root / "content")
        with pytest.raises(EvidenceError) as caught:
            writer.write("evidence/linked/site.yaml", b"")

    assert b"two" == (project.root / "evidence/demo/sources.lock").read_bytes()
    assert (
        "evidence/linked/site.yaml: expected a folder all the way, found a symbolic link or a file\n"
        "    Put the folder itself there: nothing outside the repository is read."
    ) == str(caught.value)
    assert b"title: t\n" == (project.root / "content/site.yaml").read_bytes()


@pytest.mark.parametrize("where", ["../x", "/etc/x", "a/../../x", "content", "a//b", "a/./b", "a\\b/c", "a/\0"])
def test_a_path_that_escapes_is_not_written(project, where):
    """Nothing is written outside the repository, nor straight into its root."""
    with project.writing("test") as writer, pytest.raises(EvidenceError):
        writer.write(where, b"")


def test_a_numbered_receipt_is_written_once(project):
    """The same bytes again are no error, so that an interrupted publication can be finished; others are."""
    with project.writing("publish") as writer:
        writer.write_new("evidence/demo/receipts/3.json", b"three")
        writer.write_new("evidence/demo/receipts/3.json", b"three")
        with pytest.raises(EvidenceError) as caught:
            writer.write_new("evidence/demo/receipts/3.json", b"four")

    assert (
        f"evidence/demo/receipts/3.json: expected no such file yet, found {Digest.of(b'three')[:15]}…\n"
        "    Nothing says that it was published: compare it with the newest receipt, then remove it."
    ) == str(caught.value)
    assert b"three" == (project.root / "evidence/demo/receipts/3.json").read_bytes()


def test_a_log_that_changed_meanwhile(project):
    """A line is added to the bytes that were checked, and to no others."""
    with project.writing("publish") as writer:
        log = project.inputs().log
        writer.append(log, b"one\n")
        with pytest.raises(EvidenceError) as caught:
            writer.append(log, b"two\n")

    assert (
        "content/publications.jsonl: expected the bytes that were read, found others\n"
        "    Somebody else wrote there meanwhile: run the same command again."
    ) == str(caught.value)
    assert b"one\n" == project.inputs().log.body


# The site


def test_a_site_is_exchanged_in_whole(project):
    """The new site replaces the old one; what is the same to the byte is taken over, what is gone is gone."""
    with project.writing("build") as writer:
        first = writer.exchange(_site(index="1", guides_a="a", guides_b="b"))
        second = writer.exchange(_site(index="2", guides_a="a"))
        third = writer.exchange(_site(index="2", guides_a="a"))

    assert Exchanged(written=5, kept=0, removed=0) == first
    assert Exchanged(written=2, kept=2, removed=1) == second
    assert Exchanged(written=0, kept=4, removed=0) == third
    assert dict(_site(index="2", guides_a="a")) == _served(project)
    assert [] == _left(project)


def test_a_site_whose_render_fails(project):
    """A page that can't be rendered leaves the last good site, to the byte, and no half of the new one."""

    def broken() -> Iterator[tuple[str, bytes]]:
        yield "index.html", b"2"
        raise SourceError.at("content/guides/demo.md:3", "a", "b")

    with project.writing("build") as writer:
        writer.exchange(_site(index="1"))
        with pytest.raises(SourceError):
            writer.exchange(broken())

    assert dict(_site(index="1")) == _served(project)
    assert [] == _left(project)


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a/../x", "a//x", "", ".", "a/", "a\\x", "a\nx", "a\0x", "é", "a.", "x" * 201]
)
def test_an_unsafe_path_of_a_page(project, path):
    """A page's path stays inside the site and means the same on every server."""
    with project.writing("build") as writer, pytest.raises(EvidenceError) as caught:
        writer.exchange([(path, b"")])

    assert "expected a path of A-Z, a-z, 0-9 and ._@+- inside the site, found another" in str(caught.value)
    assert not (project.root / "dist").exists()


@pytest.mark.parametrize(
    ("first", "second"), [("a", "a"), ("a", "A"), ("a", "a/b"), ("a/b", "a"), ("a/b", "A/c"), ("a/b", "A")]
)
def test_two_pages_with_one_path(project, first, second):
    """Two paths that some servers take for one are refused, be they files or folders."""
    with project.writing("build") as writer, pytest.raises(EvidenceError) as caught:
        writer.exchange([(first, b""), (second, b"")])

    assert "expected a path of its own, found " in str(caught.value)


def test_foreign_files_in_the_site(project):
    """What no build wrote is not deleted: a file, a folder or a link beside ours is wrong usage, and is named."""
    with project.writing("build") as writer:
        writer.exchange(_site(index="1"))
    dist = project.root / "dist"
    (dist / "notes.txt").write_text("mine")
    (dist / "drafts").mkdir()
    (dist / "link").symlink_to(project.root)

    with project.writing("build") as writer, pytest.raises(UsageError) as caught:
        writer.exchange(_site(index="2"))
    assert [f"dist/{name}" for name in ("drafts/", "link", "notes.txt")] == [at.where for at in caught.value.problems]
    assert (
        "dist/notes.txt: expected only what a build wrote, found this\n"
        "    Move it away: what no build wrote is not deleted."
    ) == str(caught.value.problems[2])
    assert "mine" == (dist / "notes.txt").read_text()


@pytest.mark.parametrize("there", ["files", "link", "file", "damaged"])
def test_a_folder_that_no_build_made(project, tmp_path, there):
    """Files without the manifest of a build, a link and a file in the site's place are left alone."""
    dist = project.root / "dist"
    (tmp_path / "away").mkdir()
    if there == "link":
        dist.symlink_to(tmp_path / "away")
    elif there == "file":
        dist.write_text("mine")
    else:
        dist.mkdir()
        (dist / "thesis.txt").write_text("mine")
        (dist / "build-manifest.json").write_text("{") if there == "damaged" else None

    with project.writing("build") as writer, pytest.raises(UsageError) as caught:
        writer.exchange(_site(index="1"))
    assert 2 == caught.value.exit_code
    assert [] == list((tmp_path / "away").iterdir())


def test_umask_does_not_hide_the_site(project):
    """Published files are 0644 and folders 0755, whatever the umask; so is the store."""
    before = os.umask(0o077)
    try:
        with project.writing("build") as writer:
            writer.exchange(_site(index="1", guides_a="a"))
        digest = project.store.put(b"x")
    finally:
        os.umask(before)

    stored = project.root / ".store/sha256" / digest[7:9]
    found = [project.root / "dist", *(project.root / "dist").rglob("*"), stored, stored / digest[9:]]
    assert {(True, 0o755), (False, 0o644)} == {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in found}


def test_a_system_without_an_exchange_in_one_step(project):
    """Where folders can't be exchanged, the old one is renamed aside and the new one in."""
    for text in ("1", "2"):
        write_site(project.root, _site(index=text), _no_exchange)

    assert dict(_site(index="2")) == _served(project)
    assert [] == _left(project)


def test_killed_between_the_two_renames(project):
    """Without a site, the next start finishes with the new one, which is whole as its name says."""
    write_site(project.root, _site(index="1"))
    (project.root / "dist").rename(project.root / ".dist-last")
    write_site(project.root, _site(index="2"))
    (project.root / "dist").rename(project.root / ".dist-next")
    with project.writing("build"):
        pass

    assert dict(_site(index="2")) == _served(project)
    assert [] == _left(project)


def test_leftovers_of_dead_builds(project):
    """What a killed process was writing is removed at the next start; a link of that name is not followed."""
    digest = project.store.put(b"x")
    (project.root / ".dist-123/a").mkdir(parents=True)
    (project.root / ".store/sha256" / digest[7:9] / ".tmp-1-a").write_text("x")
    (project.root / "evidence/demo/.tmp-1-a").write_text("x")
    (project.root / ".dist-9").symlink_to(project.root / "content")
    with project.writing("build"):
        pass

    assert [".dist-9"] == _left(project)
    assert (project.root / "content/site.yaml").exists()


# Faults

_STEPS = (
    "open",
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.chmod",
    "os.truncate",
    "ctypes.dlsym",
)
"""What the interpreter reports when it is about to ask the disk for something."""


def _in_background(work: Callable[[], None]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # forking beside the test runner's own threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def _forked(work: Callable[[], object], kill_at: int) -> bool:
    """Do the work in a process of its own, killed at its n-th step; return whether it came to its end."""

    def killed() -> None:
        steps = 0

        def hook(event: str, arguments: object) -> None:
            nonlocal steps
            if event in _STEPS:
                steps += 1
                if steps == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        work()

    status = os.waitstatus_to_exitcode(os.waitpid(_in_background(killed), 0)[1])
    assert status in (0, -signal.SIGKILL), f"the process ended with {status}"
    return status == 0


_OLD = _site(index="1", guides_a="a" * 1000, guides_b="b")
_NEW = _site(index="2", guides_a="a" * 1000, guides_c="c")


@pytest.mark.parametrize("exchange", [exchanged, _no_exchange])
def test_killed_while_a_site_is_exchanged(project, exchange):
    """Killed at any step, the site is the old one or the new one in whole, and the next start leaves nothing over."""

    def build() -> None:
        with project.writing("build"):
            write_site(project.root, _NEW, exchange)

    seen: list[str] = []
    ended = False
    while not ended:
        write_site(project.root, _OLD)
        ended = _forked(build, step := len(seen) + 1)
        if exchange is exchanged:
            assert _served(project) in (dict(_OLD), dict(_NEW)), f"killed at step {step}"
        with project.writing("build"):
            pass
        assert _served(project) in (dict(_OLD), dict(_NEW)), f"killed at step {step}"
        assert [] == _left(project)
        seen.append("old" if _served(project) == dict(_OLD) else "new")

    # Each step leaves either site; there is one step from which on it is the new one.
    assert sorted(seen, reverse=True) == seen
    assert min(seen.count("old"), seen.count("new")) > 5


@pytest.mark.parametrize("what", ["store", "write", "append"])
def test_killed_while_a_file_is_written(project, what):
    """Killed at any step, a file is the old one or the new one, and stored bytes are there in whole or not at all."""
    lock, log = project.root / "evidence/demo/sources.lock", project.root / "content/publications.jsonl"
    kept = project.store.put(b"kept")
    new = Digest.of(b"new" * 1000)
    stored = project.root / ".store/sha256" / new[7:9] / new[9:]

    def work() -> None:
        with project.writing("test") as writer:
            if what == "store":
                project.store.put(b"new" * 1000)
            elif what == "write":
                writer.write("evidence/demo/sources.lock", b"new" * 1000)
            else:
                writer.append(File(where="content/publications.jsonl", body=b"old\n"), b"new\n")

    def afresh() -> None:
        lock.write_bytes(b"old")
        log.write_bytes(b"old\n")
        stored.unlink(missing_ok=True)

    step, ended = 0, False
    while not ended:
        afresh()
        ended = _forked(work, step := step + 1)
        with project.writing("test"):
            pass
        assert lock.read_bytes() in (b"old", b"new" * 1000)
        assert log.read_bytes() in (b"old\n", b"old\nnew\n")
        assert [] == list(project.store.damaged())
        assert b"kept" == project.store.get(kept)
        assert [] == _left(project)


@pytest.fixture
def small_files() -> Iterator[None]:
    """A disk that takes no file of more than 4 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk(project, small_files):
    """What the disk does not take is said in words, with the room that there is; nothing is changed or left over."""
    with project.writing("build") as writer:
        writer.exchange(_site(index="1"))
        (project.root / "content/publications.jsonl").write_bytes(b"old\n" * 1000)
        log = project.inputs().log
        attempts = {
            "dist/index.html": lambda: writer.exchange(_site(index="2" * 5000)),
            "evidence/demo/sources.lock": lambda: writer.write("evidence/demo/sources.lock", b"x" * 5000),
            "content/publications.jsonl": lambda: writer.append(log, b"new\n" * 100),
        }
        for where, attempt in attempts.items():
            with pytest.raises(EvidenceError) as caught:
                attempt()
            (problem,) = caught.value.problems
            assert where == problem.where
            assert problem.problem.startswith("expected to write it, found: ")
            assert problem.problem.endswith(" bytes free)")
            assert (
                "Make room or allow writing there, then run the same command again: nothing was changed."
            ) == problem.remedy
        with pytest.raises(EvidenceError):
            project.store.put(b"x" * 5000)

    assert dict(_site(index="1")) == _served(project)
    assert log.body == project.inputs().log.body
    assert [] == list(project.store.digests())
    assert [] == _left(project)


def test_two_writers_at_once(project):
    """The second writer is told who holds the workspace; when that one is killed, the next has it at once."""
    ready, held = os.pipe()

    def hold() -> None:
        with project.writing("fetch"):
            os.write(held, b"held")
            time.sleep(60)

    holder = _in_background(hold)
    try:
        assert b"held" == os.read(ready, 4)
        with pytest.raises(EvidenceError) as caught, project.writing("build", wait_seconds=0.1):
            pass
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
        os.close(ready)
        os.close(held)
    (problem,) = caught.value.problems
    assert f".build/lock: expected nobody else at work here, found `fetch` (process {holder}, since 20" in str(problem)
    assert "Wait until it has ended, or end it; then run the same command again." == problem.remedy
    started = time.monotonic()
    with project.writing("build"):
        assert time.monotonic() - started < 1


def test_builds_at_once_leave_a_whole_site(project):
    """Several writers wait for each other, and the site is in whole one of theirs."""
    sites = [_site(index=str(number), guides_a="a" * number) for number in range(6)]

    def build(site: list[tuple[str, bytes]]) -> None:
        for _ in range(5):
            with project.writing("build", wait_seconds=60) as writer:
                writer.exchange(site)

    children = [_in_background(partial(build, site)) for site in sites]

    assert {0} == {os.waitpid(child, 0)[1] for child in children}
    assert _served(project) in [dict(site) for site in sites]
    assert [] == _left(project)


# Units carried over

_UNITS = {
    "audit demo": Unit(key="sha256:" + "a" * 64, on=("sha256:b",), said={"rehashed": 3}),
    "guide demo": Unit(key="sha256:c", files={"guides/demo/index.html": Filed(bytes=7, digest="sha256:d")}),
}


def test_units_are_carried_over(project):
    """What one build keeps is what the next one finds."""
    with project.writing("build") as writer:
        writer.remember(_UNITS)

    assert _UNITS == project.carried()


@pytest.mark.parametrize("flipped", range(0, 330, 7))
def test_a_damaged_record_only_costs_time(project, flipped):
    """A record with one flipped byte holds nothing."""
    with project.writing("build") as writer:
        writer.remember(_UNITS)
    path = project.root / ".build/carried.json"
    body = bytearray(path.read_bytes())
    body[flipped % len(body)] ^= 1
    path.write_bytes(body)

    assert {} == project.carried()


@pytest.mark.parametrize(
    "body", [b"", b"\n", b"garbage", b"sha256:", b"[]", b'{"site": {"key": 1}}', b"[" * 9999, None]
)
def test_a_record_that_is_none(project, body):
    """Garbage, or nothing, in the record's place is an empty record, even under its own digest."""
    (project.root / ".build").mkdir()
    if body is not None:
        (project.root / ".build/carried.json").write_bytes(Digest.of(body).encode() + b"\n" + body)

    assert {} == project.carried()


def test_a_file_that_is_only_named(project):
    """A file is taken over from the served site only where it is what it was said to be."""
    old, new = _site(index="1", guides_a="a"), _site(index="1", guides_a="b")
    with project.writing("build") as writer:
        writer.exchange(old)
        named = [(path, Filed(bytes=len(body), digest=Digest.of(body))) for path, body in old]
        assert Exchanged(written=1, kept=3, removed=0) == writer.exchange([named[0], new[1], *named[2:]])
        with pytest.raises(EvidenceError) as refused:
            writer.exchange([("index.html", Filed(bytes=2, digest=Digest.of(b"22")))])

    assert [
        "dist/index.html: expected sha256:785f3ec7…, found other bytes\n"
        "    Somebody else wrote there meanwhile: run the same command again."
    ] == [str(problem) for problem in refused.value.problems]
    assert dict(new) == _served(project)
