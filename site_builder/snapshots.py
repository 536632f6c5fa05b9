"""Snapshots: the bytes of a source, proven to be the bytes that were locked, and the typed readers over them.

Reading them from disk is `project`'s work and reading them from the network is `fetching`'s; nothing here does either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from site_builder.errors import Problem, SourceError
from site_builder.readers import ReadingError, Seen, digest_of, structured, text
from site_builder.sources import LockEntry, Source, is_inside, read_record
from site_builder.values import Digest

if TYPE_CHECKING:
    from site_builder.readers.machine import Library
    from site_builder.readers.python import Module
    from site_builder.readers.tree import Tree


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The verified bytes of one source."""

    source: Source
    body: bytes
    members: Mapping[str, bytes] = field(default_factory=dict)
    """Of a tree, the files that are at hand, by path. The body is the RECORD, which says which files there are."""

    @classmethod
    def verified(
        cls, source: Source, entry: LockEntry, body: bytes, members: Mapping[str, bytes] | None = None
    ) -> Snapshot:
        """Return the snapshot, once its bytes match the lock, and those of a tree's files what RECORD says of them.

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
        members = members or {}
        if problems := tuple(untrue_members(source, entry, body)):
            raise SourceError(*problems)
        for member in entry.members or ():
            read = members.get(member.path, b"")
            if Digest.of(read) != member.digest:
                raise SourceError.at(
                    source.where,
                    f"{source.id}: {member.path}: expected {member.digest}, found {Digest.of(read)}",
                    "The stored bytes changed after they were locked: fetch again, and review what moved.",
                )
        return cls(source=source, body=body, members=members)

    @cached_property
    def tree(self) -> Tree:
        """The files of the artifact as one tree, in which names are followed from file to file.

        Raises:
            ReadingError: the source is a file by itself.
        """
        from site_builder.readers.tree import Tree

        folder = self.source.tree
        if folder is None:
            raise ReadingError(f"expected a tree, found {self.source.id}, which is a file by itself")
        return Tree(self.members.get, tree_files(self.body, folder).__contains__)

    def lists(self, path: str) -> Seen:
        """Return whether the RECORD lists a file, as it was seen there."""
        return Seen(value=self.tree.exists(path), at={"pointer": ""}, region=digest_of(self.body))

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


@lru_cache(maxsize=32)
def tree_files(record: bytes, folder: str) -> Mapping[str, tuple[str, int]]:
    """Return the files of a tree as a wheel's RECORD states them: digest and size by path.

    Raises:
        ValueError: it is no RECORD, it has no file in the folder, or one whose path leads out of it.
    """
    files = {path: stated for path, stated in read_record(record).items() if path.startswith(f"{folder}/")}
    if not files:
        raise ValueError(f"expected files below {folder}/ in RECORD, found none")
    for path in files:
        if not is_inside(path):
            raise ValueError(f"expected paths inside the wheel in RECORD, found {path!r}")
    return files


def untrue_members(source: Source, entry: LockEntry, record: bytes) -> Iterator[Problem]:
    """Yield what the lock says of a tree's files and the wheel's RECORD does not; no file needs to be at hand for it."""
    if source.tree is None:
        return
    try:
        stated = tree_files(record, source.tree)
    except ValueError as error:
        remedy = "Name the RECORD of a wheel, and after `tree:` a folder that it has."
        yield Problem(where=source.where, problem=f"{source.id}: {error}", remedy=remedy)
        return
    for member in entry.members or ():
        if (member.digest, member.bytes) != stated.get(member.path):
            digest, size = stated.get(member.path, ("", 0))
            said = (
                f"{digest or 'no sha256'} of {size} bytes as RECORD states it" if member.path in stated else "no file"
            )
            yield Problem(
                where=source.where,
                problem=f"{source.id}: {member.path}: expected {said}, found {member.digest} of {member.bytes} bytes",
                remedy="The lock is written by `fetch` alone: restore it, or fetch again.",
            )


@lru_cache(maxsize=64)
def _python(body: bytes) -> Module:
    """Parse each body once: several observations read one source, and two releases may ship the same bytes."""
    from site_builder.readers import python

    return python.read(body)


@lru_cache(maxsize=32)
def _library(body: bytes, never_return: tuple[str, ...]) -> Library:
    from site_builder.readers import machine

    return machine.read(body, never_return)
