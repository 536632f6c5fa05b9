"""The boundary: what may not happen while an audit runs, refused by the interpreter and counted.

An audit hook sees what this process asks of the system: sockets, processes, native libraries, devices, files, imports. It
does not see native code or a child process; there is no child, since starting one is refused. That a script can't reach
the hook, the interpreter or another thread is `scripts`' work.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import all_suffixes
from pathlib import PurePath
from typing import Any, Final

REFUSED: Final[Sequence[str]] = (
    "open a socket or resolve a name",
    "start a process",
    "load a native library beyond the parsers",
    "open a GPU device",
    "write a file, or read one that is no module of Python",
    "import an audited package",
)
"""What is refused while an audit runs, as receipts state it."""


class BoundaryCrossed(BaseException):
    """An audit did what its boundary refuses. Not an Exception, so that no audit can catch it by accident."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


_PROCESS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    }
)
_CHANGES = frozenset(
    {
        *("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"),
        *("os.truncate", "os.utime", "os.setxattr", "os.removexattr", "tempfile.mkstemp", "tempfile.mkdtemp"),
    }
)
_TO_WRITE = 0x3 | 0x40 | 0x200 | 0x400
"""The flags that open to write, create, truncate or append, as Linux and macOS number them."""
_DEVICES = ("/dev/nvidia", "/dev/dri", "/dev/kfd")
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_OF_PYTHON = frozenset({"lib-dynload", "DLLs"})
"""Where Python keeps the native parts of its own library."""


_MODULES = tuple(all_suffixes())
"""How files end that an import reads."""


class _Within(threading.local):
    """What is refused in one thread, and what it tried: a context could be left by whoever runs in another."""

    audited: frozenset[str] | None = None
    crossed: BoundaryCrossed | None = None


_here = _Within()


@contextmanager
def within(audited: frozenset[str]) -> Iterator[None]:
    """Refuse, in this thread alone, what an audit may not do.

    Raises:
        BoundaryCrossed: it was tried, even where the audit swallowed the refusal.
    """
    _install()
    before = _here.audited, _here.crossed
    _here.audited, _here.crossed = audited, None
    try:
        yield
    finally:
        crossed = _here.crossed
        _here.audited, _here.crossed = before
        if crossed is not None:
            raise crossed


@cache
def _install() -> None:
    """Add the hook once: an audit hook can't be taken away again."""
    sys.addaudithook(_hook)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _here.audited is None:
        return
    what = _crossing(event, args, _here.audited)
    if what is not None:
        crossed = BoundaryCrossed(what)
        _here.crossed = _here.crossed or crossed
        raise crossed


def _crossing(event: str, args: tuple[Any, ...], audited: frozenset[str]) -> str | None:
    if event.startswith("socket."):
        return f"opened a socket or resolved a name ({event})"
    if event in _PROCESS:
        return f"started a process ({event})"
    if event.startswith("ctypes."):
        return f"loaded a native library ({event})"
    if event in _CHANGES or event.startswith("shutil."):
        return f"changed a file ({event})"
    if event == "import":
        return _imported(str(args[0]), args[1], audited)
    if event == "open":
        return _opened(args[0], args[1], args[2], audited)
    return None


def _imported(name: str, file: object, audited: frozenset[str]) -> str | None:
    if name.partition(".")[0] in audited:
        return f"imported the audited package {name}"
    if isinstance(file, str) and PurePath(file).parent.name not in _OF_PYTHON:
        return f"loaded a native library (import {name})"
    return None


def _opened(path: object, mode: object, flags: object, audited: frozenset[str]) -> str | None:
    name = path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else str(path)
    if name.startswith(_DEVICES):
        return "opened a GPU device"
    if (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & _TO_WRITE):
        return "wrote a file"
    parts = PurePath(name).parts
    for place, part in enumerate(parts[:-1]):
        # Not every way to import a module says so, but each has to read it.
        if part in _INSTALLED and parts[place + 1].partition(".")[0] in audited:
            return f"imported the audited package {parts[place + 1]}"
    return None if name.endswith(_MODULES) else "read a file that is no module of Python"
