"""Writing a site: beside the one that is served, then exchanged with it in one step."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from site_builder.errors import EvidenceError, Problem, UsageError
from site_builder.project.disk import in_words, kind, opened_folder, read, short, unreadable
from site_builder.units import Filed
from site_builder.values import Digest

MANIFEST = "build-manifest.json"
"""What every site holds: the list of its files. Where it is missing, no build made the folder."""

_UNLISTED = frozenset({MANIFEST, "SHA256SUMS"})
_PART = re.compile(r"[A-Za-z0-9._@+-]{1,200}")
_LEFT = re.compile(r"\.dist-(?:[0-9]+|next|last)")
_SHOWN = 20
_AT_MOST = 256 * 1024 * 1024

Exchange: TypeAlias = Callable[[Path, Path], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchanged:
    """What an exchange did: files written anew, files taken over unchanged, files that are gone."""

    written: int
    kept: int
    removed: int


def exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step and return True, or False where the system or disk has no such step."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    here, both = -100, 2  # AT_FDCWD, which absolute paths make nothing of, and RENAME_EXCHANGE
    if rename(here, os.fsencode(one), here, os.fsencode(other), both) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(other))


def write_site(root: Path, site: Iterable[tuple[str, bytes | Filed]], exchange: Exchange = exchanged) -> Exchanged:
    """Write the site beside `dist/`, then exchange the two: who reads it sees the old one or the new one.

    A file that is only `Filed` is taken over from the site that is served.

    Raises:
        UsageError: `dist/` holds what no build wrote.
        EvidenceError: a path is unsafe or written twice, or the disk refused a file. The old site stays.
    """
    served = served_sizes(root)
    stage = _Stage(root, served)
    try:
        with in_words(root, stage.folder.name):
            stage.folder.mkdir()
            stage.folder.chmod(0o755)
        for path, body in site:
            with in_words(root, f"dist/{path}"):
                if isinstance(body, Filed):
                    stage.keep(path, body)
                else:
                    stage.add(path, body)
        removed = len(served) - stage.kept - stage.changed
        # Where every file is the same, the site that is served stays where it is.
        if stage.written or removed or not served:
            with in_words(root, "dist"):
                _settle(stage.folder)
                _swap(root, stage.folder, exchange)
        return Exchanged(written=stage.written, kept=stage.kept, removed=removed)
    finally:
        _remove_left(root)


@dataclass(frozen=True, slots=True)
class Published:
    """A folder that is said to be a built site, read without following a link out of it."""

    folder: Path

    def names(self) -> Sequence[str]:
        """Return the paths of everything that lies in it, folders with a slash."""
        found = dict(_tree(self.folder, ""))
        listed = {f"{folder}/" for folder in _folders_of(path for path in found if not path.endswith("/"))}
        return sorted(found.keys() - listed)

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, or nothing where there is none.

        Raises:
            EvidenceError: something else than a regular file stands there.
        """
        where = f"{self.folder.name}/{path}"
        if any(part in ("", ".", "..") for part in path.split("/")):
            return None
        parent, _, name = path.rpartition("/")
        try:
            with opened_folder(self.folder, parent) as opened:
                return read(opened, name, where, _AT_MOST)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise EvidenceError(unreadable(where, error)) from None


def tidy(root: Path) -> None:
    """Finish an exchange that was killed between its two steps, and remove what dead builds left."""
    dist = root / "dist"
    if not os.path.lexists(dist):
        # `.dist-next` is given its name when it is whole, so it comes before what it was to replace.
        left = next((root / name for name in (".dist-next", ".dist-last") if (root / name).is_dir()), None)
        if left is not None:
            left.rename(dist)
    _remove_left(root)


def _remove_left(root: Path) -> None:
    if os.path.lexists(root / "dist"):
        unfinished = [path for path in root.iterdir() if _LEFT.fullmatch(path.name)]
    else:
        # Without a site, `.dist-next` and `.dist-last` are what it will be finished from.
        unfinished = [path for path in root.iterdir() if re.fullmatch(r"\.dist-[0-9]+", path.name)]
    for path in unfinished:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


def _swap(root: Path, stage: Path, exchange: Exchange) -> None:
    """Put the stage in the place of `dist/`; the stage's name, or `.dist-last`, is then what was there."""
    dist = root / "dist"
    if not dist.exists():
        stage.rename(dist)
    elif not exchange(stage, dist):
        following, last = root / ".dist-next", root / ".dist-last"
        stage.rename(following)
        dist.rename(last)
        following.rename(dist)
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _settle(folder: Path) -> None:
    """Return once what was written is on the disk: one call for all files, not one for each."""
    library = ctypes.CDLL(None, use_errno=True)
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not hasattr(library, "syncfs"):
            os.sync()
        elif library.syncfs(opened) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
    finally:
        os.close(opened)


class _Stage:
    """A site being written beside the one that is served."""

    def __init__(self, root: Path, served: Mapping[str, int]) -> None:
        self._served = served
        self._dist = root / "dist"
        self.folder = root / f".dist-{os.getpid()}"
        self._taken: dict[str, str] = {}
        """Paths written so far by what they are where case makes no difference; folders with a slash."""
        self.written = self.kept = self.changed = 0

    def add(self, path: str, body: bytes) -> None:
        """Write one file, or take it over from the site that is served, where it is the same to the byte."""
        target = self._placed(path)
        if self._served.get(path) == len(body) and self._taken_over(path, target, body):
            self.kept += 1
        else:
            self._write(path, target, body)

    def keep(self, path: str, filed: Filed) -> None:
        """Take one file over from the site that is served, whose digest was found to be this a moment ago."""
        target = self._placed(path)
        if self._served.get(path) == filed.bytes:
            with contextlib.suppress(OSError):
                os.link(self._dist / path, target, follow_symlinks=False)
                self.kept += 1
                return
        body = served(self._dist.parent, path)  # a disk without links, or somebody else at work in `dist/`
        if body is None or Digest.of(body) != filed.digest:
            raise EvidenceError.at(
                f"dist/{path}",
                f"expected {short(filed.digest)}, found other bytes",
                "Somebody else wrote there meanwhile: run the same command again.",
            )
        self._write(path, target, body)

    def _write(self, path: str, target: Path, body: bytes) -> None:
        file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with os.fdopen(file, "wb") as opened:
            opened.write(body)
            # Readers of the site are other users, whatever the umask of the one who built it.
            os.fchmod(file, 0o644)
        self.written += 1
        self.changed += path in self._served

    def _placed(self, path: str) -> Path:
        """Return where the file goes, its folders made, and its name taken."""
        if any(not _PART.fullmatch(part) or part.endswith(".") for part in path.split("/")):
            raise EvidenceError.at(
                f"dist/{path}",
                "expected a path of A-Z, a-z, 0-9 and ._@+- inside the site, found another",
                "Rename what it is made from.",
            )
        self._make(path.rpartition("/")[0])
        self._claim(path, path)
        return self.folder / path

    def _make(self, folder: str) -> None:
        if folder and self._taken.get(folder.casefold()) != f"{folder}/":
            self._make(folder.rpartition("/")[0])
            self._claim(folder, f"{folder}/")
            (self.folder / folder).mkdir()
            (self.folder / folder).chmod(0o755)

    def _claim(self, path: str, name: str) -> None:
        first = self._taken.get(path.casefold())
        if first is not None:
            raise EvidenceError.at(
                f"dist/{path}",
                f"expected a path of its own, found {first} written already",
                "Rename one of the two that they are made from: some servers take the two for one.",
            )
        self._taken[path.casefold()] = name

    def _taken_over(self, path: str, target: Path, body: bytes) -> bool:
        served = self._dist / path
        with contextlib.suppress(OSError):
            if served.read_bytes() == body and stat.S_IMODE(served.stat().st_mode) == 0o644:
                os.link(served, target, follow_symlinks=False)
                return True
        return False


def served(root: Path, path: str) -> bytes | None:
    """Return a file of the site that is served, where it is one that a build could have left just so."""
    parent, _, name = f"dist/{path}".rpartition("/")
    with contextlib.suppress(OSError, EvidenceError), opened_folder(root, parent) as opened:
        if stat.S_IMODE(os.stat(name, dir_fd=opened, follow_symlinks=False).st_mode) == 0o644:
            return read(opened, name, path, _AT_MOST)
    return None


def served_sizes(root: Path) -> Mapping[str, int]:
    """Return the files of the site that is served with their sizes, once it is certain that all are ours.

    Raises:
        UsageError: `dist/` is no folder, or holds what no build wrote.
    """
    dist = root / "dist"
    if not os.path.lexists(dist):
        return {}
    if dist.is_symlink() or not dist.is_dir():
        raise UsageError.at(
            "dist",
            f"expected a folder that a build made, found {kind(dist.lstat().st_mode)}",
            "Move it away: what no build wrote is not deleted.",
        )
    found = dict(_tree(dist, ""))
    ours = _listed_in(dist / MANIFEST)
    if found and ours is None:
        raise UsageError.at(
            "dist",
            f"expected a site with its {MANIFEST}, found files without one",
            "Move the folder away: what no build wrote is not deleted.",
        )
    known = (ours or frozenset()) | {f"{folder}/" for folder in _folders_of(ours or ())}
    if foreign := sorted(found.keys() - known):
        raise UsageError(
            *(
                Problem(
                    where=f"dist/{path}",
                    problem="expected only what a build wrote, found this",
                    remedy="Move it away: what no build wrote is not deleted.",
                )
                for path in foreign[:_SHOWN]
            )
        )
    return {path: size for path, size in found.items() if not path.endswith("/")}


def _tree(folder: Path, prefix: str) -> Iterator[tuple[str, int]]:
    """Yield regular files with their sizes; folders, with a slash, and everything else with -1."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield f"{prefix}{entry.name}/", -1
                yield from _tree(folder / entry.name, f"{prefix}{entry.name}/")
            else:
                regular = entry.is_file(follow_symlinks=False)
                yield f"{prefix}{entry.name}", entry.stat(follow_symlinks=False).st_size if regular else -1


def _listed_in(manifest: Path) -> frozenset[str] | None:
    """Return the paths that a manifest lists and those that it can't, or nothing where it is no manifest."""
    try:
        return _UNLISTED | {str(entry["path"]) for entry in json.loads(manifest.read_bytes())["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _folders_of(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        parts = path.split("/")
        yield from ("/".join(parts[:depth]) for depth in range(1, len(parts)))
