"""The boundary: what an audit tries is refused, counted, and refused even where the refusal is swallowed."""

# ruff: noqa: E501, PTH107, PTH104, PTH123, SIM105, SIM115 - every way to cross it, one on a line

from __future__ import annotations

import contextvars
import ctypes
import importlib
import io
import os
import shutil
import socket
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from site_builder import boundary
from tests import demo

_REMEDY = "Cite the bytes as a source and let `fetch` obtain them."


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package that is audited: importing it leaves a trace."""
    home = tmp_path / "site-packages"
    (home / "shelf").mkdir(parents=True)
    (home / "shelf" / "__init__.py").write_text("import builtins\nbuiltins.shelf_was_imported = True\n")
    (home / "shelf.py.txt").write_text("")
    monkeypatch.syspath_prepend(str(home))
    yield home
    sys.modules.pop("shelf", None)
    assert not hasattr(__import__("builtins"), "shelf_was_imported")


def _tried(work, audited=frozenset({"shelf"})):
    """What crossing was told, or None where there was none."""
    try:
        with boundary.within(audited):
            work()
    except boundary.BoundaryCrossed as crossed:
        return crossed.what
    return None


@pytest.mark.parametrize(
    ("work", "what"),
    [
        (socket.socket, "opened a socket or resolved a name (socket.__new__)"),
        (lambda: socket.getaddrinfo("localhost", 80), "opened a socket or resolved a name (socket.getaddrinfo)"),
        (lambda: contextvars.Context().run(socket.socket), "opened a socket or resolved a name (socket.__new__)"),
        (lambda: subprocess.run(["true"], check=False), "started a process (subprocess.Popen)"),
        (lambda: os.system("true"), "started a process (os.system)"),
        (os.fork, "started a process (os.fork)"),
        (lambda: os.posix_spawn("/bin/true", ["true"], {}), "started a process (os.posix_spawn)"),
        (lambda: os.kill(os.getpid(), 0), "started a process (os.kill)"),
        (lambda: ctypes.CDLL("libm.so.6"), "loaded a native library (ctypes.dlopen)"),
        (lambda: open("/dev/nvidia0", "rb"), "opened a GPU device"),
        (lambda: os.open("/dev/dri/card0", os.O_RDONLY), "opened a GPU device"),
        (lambda: open("/etc/hostname"), "read a file that is no module of Python"),
        (lambda: Path("/proc/self/environ").read_bytes(), "read a file that is no module of Python"),
        (lambda: os.open("x", os.O_RDONLY), "read a file that is no module of Python"),
        (lambda: open("x", "w"), "wrote a file"),
        (lambda: open("x", "r+b"), "wrote a file"),
        (lambda: Path("x").write_text("x"), "wrote a file"),
        (lambda: io.FileIO("x", "a"), "wrote a file"),
        (lambda: os.open("x", os.O_WRONLY | os.O_CREAT), "wrote a file"),
        (lambda: os.remove("x"), "changed a file (os.remove)"),
        (lambda: os.rename("x", "y"), "changed a file (os.rename)"),
        (lambda: Path("x").mkdir(), "changed a file (os.mkdir)"),
        (lambda: Path("x").symlink_to("y"), "changed a file (os.symlink)"),
        (lambda: shutil.rmtree("x"), "changed a file (shutil.rmtree)"),
    ],
)  # fmt: skip
def test_what_is_refused(work, what, tmp_path, monkeypatch):
    """Sockets, processes, native libraries, devices and changed files are refused, and nothing of it is done."""
    monkeypatch.chdir(tmp_path)

    assert what == _tried(work)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "work",
    [
        lambda: __import__("shelf"),
        lambda: importlib.import_module("shelf"),
        lambda: exec("import shelf.kernel"),
        lambda: exec("from shelf import kernel"),
        lambda: exec((Path(sys.path[0]) / "shelf" / "__init__.py").read_text()),
    ],
)
def test_an_audited_package(work, package):
    """The package that is audited is not imported, by whichever way, nor is its source run."""
    assert "imported the audited package shelf" == _tried(work, frozenset({"shelf"})).partition(".")[0]


def test_another_package_of_that_beginning(package):
    """Only the package itself is refused."""
    (package / "shelfish.py").write_text("")

    assert None is _tried(lambda: importlib.import_module("shelfish"))


def test_a_refusal_that_is_swallowed():
    """A crossing that the audit catches is raised at the end, the first of them, with the place where it was tried."""

    def work():
        for tried in (socket.socket, os.fork):
            try:
                tried()
            except BaseException:  # noqa: BLE001 - what a careless script does
                pass

    with pytest.raises(boundary.BoundaryCrossed) as raised, boundary.within(frozenset()):
        work()
    assert "opened a socket or resolved a name (socket.__new__)" == raised.value.what
    assert "work" in [entry.name for entry in raised.traceback]


def test_a_crossing_that_ends_in_another_error():
    """What else goes wrong does not hide a crossing."""

    def work():
        try:
            socket.socket()
        finally:
            raise ValueError("something else")

    assert "opened a socket or resolved a name (socket.__new__)" == _tried(work)


def test_outside_of_it():
    """What the rest of the process does in the meantime, and whoever comes after, is free."""
    done = []

    def serve():
        with socket.socket():
            done.append("another thread")

    other = threading.Thread(target=serve)

    def work():
        other.start()
        other.join()

    assert None is _tried(work)
    with socket.socket():
        done.append("afterwards")
    assert ["another thread", "afterwards"] == done


def test_one_within_another():
    """The inner one's packages are refused inside alone, and what it counted stays with it."""

    def work():
        assert "imported the audited package shelf" == _tried(lambda: __import__("shelf"), frozenset({"shelf"}))
        sys.audit("import", "shelf", None, None, None, None)

    assert None is _tried(work, frozenset({"other"}))


# In an audit


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('__import__("socket").socket()', "opened a socket or resolved a name (socket.__new__)"),
        ('__import__("subprocess").run(["true"])', "started a process (subprocess.Popen)"),
        ('__import__("shelf")', "imported the audited package shelf"),
        ('__import__("pathlib").Path("x").write_text("x")', "wrote a file"),
        ('open("/etc/hostname").read()', "read a file that is no module of Python"),
    ],
)
def test_an_audit_that_crosses(line, what, tmp_path, monkeypatch):
    """What a tool does while an audit tries it is told by the tool's line, even where the script swallows the refusal."""
    monkeypatch.chdir(tmp_path)
    swallowed = 'try:\n        return tool.decide()\n    except:\n        return "swallowed"'
    for files in (demo.trial(line), demo.trial(line, asked=swallowed)):
        assert [
            f"evidence/cache/tools/decider.py:7: expected an audit that only reads its snapshots, found that it {what}\n    {_REMEDY}"
        ] == demo.problems(partial(demo.body, files))
    assert [] == list(tmp_path.iterdir())


def test_a_tool_that_crosses_as_it_is_loaded():
    """A tool is loaded inside of the boundary, too."""
    files = demo.trial("pass")
    files["evidence/cache/tools/decider.py"] += '\n\n__import__("socket").socket()\n'

    (said,) = demo.problems(partial(demo.body, files))
    assert "found that it opened a socket or resolved a name (socket.__new__)\n" in said
