"""The store: upstream bytes by their digest, outside version control, hashed again whenever they are read."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from site_builder.errors import EvidenceError, Problem, SourceError
from site_builder.project.disk import (
    listed,
    opened_folder,
    read,
    remove_temporary,
    replace,
    short,
    unreadable,
)
from site_builder.values import Digest

_HOME = ".store/sha256"
_DIGEST = re.compile(r"sha256:([0-9a-f]{2})([0-9a-f]{62})")
_AT_MOST = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Store:
    """Bytes by their digest: `.store/sha256/ab/cdef…` below the root."""

    root: Path

    def has(self, digest: str) -> bool:
        """Return whether the bytes are at hand and sound; damaged ones are not, so that `fetch` replaces them."""
        try:
            return self.get(digest) is not None
        except SourceError:
            return False

    def get(self, digest: str, where: str = "") -> bytes | None:
        """Return the bytes, hashed as they were read, or nothing where they are not at hand.

        `where` names who asks (`evidence/demo/sources.lock: kernel`), for the message.

        Raises:
            SourceError: the stored bytes are not those of the digest.
        """
        folder, name = _place(digest)
        path = f"{folder}/{name}"
        try:
            with opened_folder(self.root, folder) as opened:
                body = read(opened, name, path, _AT_MOST)
        except FileNotFoundError:
            return None
        except EvidenceError as error:
            raise SourceError(*error.problems) from None
        except OSError as error:
            raise SourceError(unreadable(path, error)) from None
        found = Digest.of(body)
        if found != digest:
            raise SourceError.at(
                where or path,
                f"expected {short(digest)}, found {short(found)} in the store.",
                "The stored bytes changed after they were locked: fetch again, and review what moved.",
            )
        return body

    def put(self, body: bytes) -> Digest:
        """Keep the bytes; they are on the disk in whole, under their digest, when this returns.

        What stood there damaged is replaced.

        Raises:
            EvidenceError: the disk did not take them; nothing is left of them.
        """
        digest = Digest.of(body)
        with contextlib.suppress(SourceError):
            if self.get(digest) is not None:
                return digest
        replace(self.root, "/".join(_place(digest)), body)
        return digest

    def digests(self) -> Iterator[str]:
        """Yield what is stored, in order."""
        for folder in listed(self.root, _HOME):
            for name in listed(self.root, f"{_HOME}/{folder}"):
                if _DIGEST.fullmatch(f"sha256:{folder}{name}"):
                    yield f"sha256:{folder}{name}"

    def damaged(self) -> Iterator[Problem]:
        """Read everything again and yield what is not what it is called."""
        for digest in self.digests():
            try:
                self.get(digest)
            except SourceError as error:
                yield from error.problems

    def tidy(self) -> None:
        """Remove what killed processes were still writing."""
        for folder in listed(self.root, _HOME):
            remove_temporary(self.root, f"{_HOME}/{folder}")


def _place(digest: str) -> tuple[str, str]:
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise SourceError.at(
            ".store",
            f"expected sha256: and 64 hex digits, found {digest!r}",
            "Restore the lock that names it.",
        )
    return f"{_HOME}/{match[1]}", match[2]
