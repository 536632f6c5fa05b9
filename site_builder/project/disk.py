"""The disk, step by step: each step of a path is a real folder, and a file is written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from site_builder.errors import EvidenceError, Problem

TEMPORARY: Final = ".tmp-"
"""How the name of a file begins that is still being written."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened_folder(root: Path, path: str, *, make: bool = False) -> Iterator[int]:
    """Open a folder below the root, for use as `dir_fd`, following no link on the way."""
    folder = os.open(root, _FOLDER)
    try:
        for part in path.split("/") if path else ():
            made = False
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
                    made = True
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            if made:
                os.fchmod(below, 0o755)
                os.fsync(folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def listed(root: Path, path: str) -> list[str]:
    """Return the names in a folder in order; none where it is no folder of ours."""
    try:
        with opened_folder(root, path) as folder, os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def kind(mode: int) -> str:
    """Return what a file's mode says that it is."""
    kinds = (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISREG, "a file"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((name for holds, name in kinds if holds(mode)), "a device")


def read(folder: int, name: str, where: str, at_most: int) -> bytes:
    """Return the bytes of a regular file; a link, a pipe or a device in its place is not even opened.

    Raises:
        EvidenceError: it is no regular file, or larger than `at_most`.
        OSError: it is not there, or can't be read.
    """
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISREG(mode):
        # Something else may have taken the file's place since: a link is refused, and no pipe makes us wait.
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(file, "rb") as opened:
            status = os.fstat(file)
            mode = status.st_mode
            if stat.S_ISREG(mode):
                body = opened.read(at_most + 1)
                if len(body) <= at_most:
                    return body
                raise EvidenceError.at(
                    where,
                    f"expected at most {at_most} bytes, found {max(status.st_size, len(body))}",
                    "Split the file, or keep only what is needed.",
                )
    raise EvidenceError.at(
        where,
        f"expected a regular file, found {kind(mode)}",
        "Put the file itself there: nothing outside the repository is read.",
    )


def unreadable(where: str, error: OSError) -> Problem:
    """Return in words why a file or folder could not be opened."""
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        return Problem(
            where=where,
            problem="expected a folder all the way, found a symbolic link or a file",
            remedy="Put the folder itself there: nothing outside the repository is read.",
        )
    return Problem(
        where=where,
        problem=f"expected to read it, found: {os.strerror(error.errno or errno.EIO)}",
        remedy="Give the user who builds the right to read it.",
    )


@contextmanager
def in_words(root: Path, where: str) -> Iterator[None]:
    """Turn what the disk refuses into an EvidenceError that says so."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise EvidenceError(unreadable(where, error)) from None
        raise EvidenceError.at(
            where,
            f"expected to write it, found: {os.strerror(error.errno or errno.EIO)} "
            f"({shutil.disk_usage(root).free} bytes free)",
            "Make room or allow writing there, then run the same command again: nothing was changed.",
        ) from None


def replace(root: Path, where: str, body: bytes, *, new: bool = False) -> None:
    """Put the file in its place in one step, on the disk when this returns; with `new`, only where none is.

    A temporary file beside it, written and synced, takes the name; then the folder is synced, or a power cut
    could take the name back. An error when closing counts: a full disk may tell only then.

    Raises:
        EvidenceError: the disk did not take it; nothing was changed, and nothing is left of it.
    """
    path, _, name = where.rpartition("/")
    with in_words(root, where), opened_folder(root, path, make=True) as folder:
        temporary = f"{TEMPORARY}{os.getpid()}-{os.urandom(4).hex()}"
        try:
            file = os.open(temporary, _NEW, 0o600, dir_fd=folder)
            with os.fdopen(file, "wb") as opened:
                opened.write(body)
                opened.flush()
                os.fsync(file)
                os.fchmod(file, 0o644)
            if new:
                os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
                os.unlink(temporary, dir_fd=folder)
            else:
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def append(root: Path, where: str, before: bytes, line: bytes) -> None:
    """Add a line to the file that still is what was read; it is on the disk when this returns.

    Raises:
        EvidenceError: the file is another one by now, or the disk did not take the line; nothing was changed.
    """
    path, _, name = where.rpartition("/")
    with in_words(root, where), opened_folder(root, path, make=True) as folder:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, 0o644, dir_fd=folder), "r+b", buffering=0) as opened:
            file = opened.fileno()
            if not stat.S_ISREG(os.fstat(file).st_mode) or opened.readall() != before:
                raise EvidenceError.at(
                    where,
                    "expected the bytes that were read, found others",
                    "Somebody else wrote there meanwhile: run the same command again.",
                )
            try:
                if os.write(file, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file)
                os.fchmod(file, 0o644)
            except OSError:
                os.ftruncate(file, len(before))
                raise
        os.fsync(folder)


def remove_temporary(root: Path, path: str) -> None:
    """Remove what a killed process was still writing in this folder."""
    for name in listed(root, path):
        if name.startswith(TEMPORARY):
            with opened_folder(root, path) as folder, contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def short(digest: str) -> str:
    """Return the digest as messages write it."""
    return digest[: len("sha256:") + 8] + "…"
