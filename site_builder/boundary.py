"""The boundary: what may not happen while an audit runs, refused by the interpreter and counted.

An audit hook sees what this process asks of the system: sockets, processes, native libraries, devices, imports. It
does not see native code or a child process; there is no child, since starting one is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

REFUSED: Final[Sequence[str]] = (
    "open a socket or resolve a name",
    "start a process",
    "load a native library beyond the parsers",
    "open a GPU device",
    "write a file",
    "import an audited package",
)
"""What is refused while an audit runs, as receipts state it."""


class BoundaryCrossed(BaseException):
    """An audit did what its boundary refuses. Not an Exception, so that no audit can catch it by accident."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


_PROCESS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "pty.spawn",
)
_WRITING = frozenset("wax+")
_packages: ContextVar[frozenset[str] | None] = ContextVar("audited packages", default=None)
_crossings: ContextVar[list[str] | None] = ContextVar("crossings", default=None)


@contextmanager
def within(audited: frozenset[str]) -> Iterator[None]:
    """Refuse, in this context alone, what an audit may not do.

    Raises:
        BoundaryCrossed: it was tried, even where the audit swallowed the refusal.
    """
    _install()
    crossings: list[str] = []
    token, counted = _packages.set(audited), _crossings.set(crossings)
    try:
        yield
    finally:
        _packages.reset(token)
        _crossings.reset(counted)
    if crossings:
        raise BoundaryCrossed(crossings[0])


@cache
def _install() -> None:
    """Add the hook once: an audit hook can't be taken away again."""
    sys.addaudithook(_hook)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    audited = _packages.get()
    if audited is None:
        return
    what = _crossing(event, args, audited)
    if what is not None:
        crossings = _crossings.get()
        if crossings is not None:
            crossings.append(what)
        raise BoundaryCrossed(what)


def _crossing(event: str, args: tuple[Any, ...], audited: frozenset[str]) -> str | None:
    if event.startswith("socket."):
        return f"opened a socket or resolved a name ({event})"
    if event in _PROCESS:
        return f"started a process ({event})"
    if event.startswith("ctypes."):
        return f"loaded a native library ({event})"
    if event == "import" and str(args[0]).partition(".")[0] in audited:
        return f"imported the audited package {args[0]}"
    if event == "open":
        path, mode = str(args[0]), args[1]
        if path.startswith(("/dev/nvidia", "/dev/dri", "/dev/kfd")):
            return "opened a GPU device"
        if isinstance(mode, str) and _WRITING & set(mode):
            return "wrote a file"
    return None
