"""Project: the disk. It reads the repository, keeps the store, writes files and sites whole or not at all.

What the bytes mean is left to the core. Nothing outside the root is read or written: every step of a path is
opened as a real folder, and what is neither a folder nor a regular file is refused. Whoever writes holds the
workspace, one at a time.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from site_builder import strict
from site_builder.errors import EvidenceError
from site_builder.inputs import File, Inputs
from site_builder.project import carried, disk, output
from site_builder.project.output import Exchanged, Published
from site_builder.project.reading import read_inputs
from site_builder.project.store import Store
from site_builder.units import Filed, Unit
from site_builder.values import Digest

if TYPE_CHECKING:
    from pydantic import JsonValue

__all__ = ["Exchanged", "Project", "Published", "Store", "Writer"]

_WAIT_SECONDS = 5.0
_AT_MOST = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Project:
    """One repository on the disk."""

    root: Path

    @property
    def store(self) -> Store:
        """The store of upstream bytes."""
        return Store(self.root)

    def inputs(self) -> Inputs:
        """Return everything that the gates and the render read.

        Raises:
            UsageError: there is no project at the root.
            EvidenceError: a file is missing, has no place or can't be read safely; all such problems at once.
        """
        return read_inputs(self.root, self.store.get)

    def carried(self) -> Mapping[str, Unit]:
        """Return the units of the last build that was kept, by name; none where the record is damaged."""
        return carried.read(self._made("carried.json") or b"")

    def served(self, path: str) -> bytes | None:
        """Return a file of the site as the last build left it, or nothing where it can't be taken over."""
        return output.served(self.root, path)

    def serves(self, paths: Collection[str]) -> bool:
        """Return whether the site is exactly these files.

        Raises:
            UsageError: `dist/` holds what no build wrote.
        """
        return output.served_sizes(self.root).keys() == set(paths)

    @contextmanager
    def writing(self, verb: str, wait_seconds: float = _WAIT_SECONDS) -> Iterator[Writer]:
        """Hold the workspace, once what dead processes left is tidied up.

        Raises:
            EvidenceError: another process holds it, and the message says which.
        """
        from filelock import FileLock, Timeout

        with disk.in_words(self.root, ".build"), disk.opened_folder(self.root, ".build", make=True):
            lock = FileLock(self.root / ".build" / "lock", timeout=wait_seconds)
            try:
                lock.acquire()
            except Timeout:
                holder = (self._made("holder") or b"another process").decode("utf-8", "replace").strip()
                raise EvidenceError.at(
                    ".build/lock",
                    f"expected nobody else at work here, found {holder}",
                    "Wait until it has ended, or end it; then run the same command again.",
                ) from None
        try:
            since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            disk.replace(self.root, ".build/holder", f"`{verb}` (process {os.getpid()}, since {since})\n".encode())
            with disk.in_words(self.root, "dist"):
                self._tidy()
            yield Writer(self)
        finally:
            lock.release()

    def _made(self, name: str) -> bytes | None:
        try:
            with disk.opened_folder(self.root, ".build") as folder:
                return disk.read(folder, name, f".build/{name}", _AT_MOST)
        except (OSError, EvidenceError):
            return None

    def _tidy(self) -> None:
        output.tidy(self.root)
        self.store.tidy()
        for folder in (".build", "content", "content/guides"):
            disk.remove_temporary(self.root, folder)
        for audit in disk.listed(self.root, "evidence"):
            for folder in (f"evidence/{audit}", f"evidence/{audit}/receipts"):
                disk.remove_temporary(self.root, folder)


@dataclass(frozen=True, slots=True)
class Writer:
    """The hand that holds the workspace: made by `Project.writing`, good while its block lasts."""

    project: Project

    def write(self, where: str, body: bytes) -> None:
        """Replace one file of the repository in whole.

        Raises:
            EvidenceError: the disk did not take it, or its place is none for a file; nothing was changed.
        """
        disk.replace(self.project.root, _inside(where), body)

    def write_new(self, where: str, body: bytes) -> None:
        """Write one file that is not there yet, or is there with these very bytes.

        Raises:
            EvidenceError: it is there with other bytes, or the disk did not take it.
        """
        folder, _, name = _inside(where).rpartition("/")
        with disk.in_words(self.project.root, where), contextlib.suppress(FileNotFoundError):
            with disk.opened_folder(self.project.root, folder) as opened:
                there = disk.read(opened, name, where, _AT_MOST)
            if there == body:
                return
            raise EvidenceError.at(
                where,
                f"expected no such file yet, found {disk.short(Digest.of(there))}",
                "Nothing says that it was published: compare it with the newest receipt, then remove it.",
            )
        disk.replace(self.project.root, where, body, new=True)

    def append(self, file: File, line: bytes) -> None:
        """Add a line to a file that still is what was read; it is on the disk when this returns.

        Raises:
            EvidenceError: the file changed meanwhile, or the disk did not take the line; nothing was changed.
        """
        disk.append(self.project.root, _inside(file.where), file.body, line)

    def remove(self, where: str) -> None:
        """Remove one file of the repository, if it is there."""
        folder, _, name = _inside(where).rpartition("/")
        with (
            disk.in_words(self.project.root, where),
            contextlib.suppress(FileNotFoundError),
            disk.opened_folder(self.project.root, folder) as opened,
        ):
            os.unlink(name, dir_fd=opened)

    def exchange(self, site: Iterable[tuple[str, bytes | Filed]]) -> Exchanged:
        """Write the site beside `dist/`, then exchange the two: who reads it sees the old one or the new one.

        A file that is only `Filed` is taken over from the site that is served.

        Raises:
            UsageError: `dist/` holds what no build wrote.
            EvidenceError: a path is unsafe or written twice, or the disk refused a file. The old site stays.
        """
        return output.write_site(self.project.root, site)

    def remember(self, units: Mapping[str, Unit]) -> None:
        """Keep units for the next build."""
        self.write(".build/carried.json", carried.written(units))

    def report(self, report: JsonValue) -> None:
        """Write `.build/report.json`: what this build read again and what it took as recorded."""
        self.write(".build/report.json", strict.dump_json(report))


def _inside(where: str) -> str:
    if "/" not in where or "\\" in where or "\0" in where or any(part in ("", ".", "..") for part in where.split("/")):
        raise EvidenceError.at(where, "expected a path inside the repository, found another", "Name another file.")
    return where
