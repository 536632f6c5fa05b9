"""Snapshots: the bytes of a source, proven to be the bytes that were locked, and the typed readers over them.

Reading them from disk is `project`'s work and reading them from the network is `fetching`'s; nothing here does either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from site_builder.errors import SourceError
from site_builder.readers import Seen, structured, text
from site_builder.sources import LockEntry, Source
from site_builder.values import Digest

if TYPE_CHECKING:
    from site_builder.readers.machine import Library
    from site_builder.readers.python import Module


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """The verified bytes of one source."""

    source: Source
    body: bytes

    @classmethod
    def verified(cls, source: Source, entry: LockEntry, body: bytes) -> Snapshot:
        """Return the snapshot, once its bytes match the lock.

        Raises:
            SourceError: the bytes are not those that were locked.
        """
        found = Digest.of(body)
        if found != entry.digest or len(body) != entry.bytes:
            raise SourceError.at(
                source.where,
                f"{source.id}: expected {entry.digest} of {entry.bytes} bytes, found {found} of {len(body)} bytes",
                "The stored bytes changed after they were locked: fetch again, and review what moved.",
            )
        return cls(source=source, body=body)

    @property
    def python(self) -> Module:
        """The source as a Python module."""
        return _python(self.body)

    def library(self, *never_return: str) -> Library:
        """Return the source as a shared library of machine code; the named callees never return to their caller."""
        return _library(self.body, never_return)

    def pattern(self, regex: str, *, comment: str | None = None) -> Seen:
        """Return the one group of the one match in the text; a match behind the comment mark does not count."""
        return text.pattern(self.body, regex, comment=comment)

    def json(self, pointer: str) -> Seen:
        """Return the value at a JSON Pointer."""
        return structured.json_pointer(self.body, pointer)

    def yaml(self, pointer: str) -> Seen:
        """Return the value at a JSON Pointer into YAML."""
        return structured.yaml_pointer(self.body, pointer)


@lru_cache(maxsize=64)
def _python(body: bytes) -> Module:
    """Parse each body once: several observations read one source, and two releases may ship the same bytes."""
    from site_builder.readers import python

    return python.read(body)


@lru_cache(maxsize=32)
def _library(body: bytes, never_return: tuple[str, ...]) -> Library:
    from site_builder.readers import machine

    return machine.read(body, never_return)
