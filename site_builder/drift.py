"""Drift: what a second reading says of a first one.

So far only of archives: hosts make some of them anew for each request, so that other bytes may hold the same files.
Nothing here accepts a difference; the locked digest stays what it is until a person decides.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from dataclasses import dataclass
from typing import Literal, TypeAlias

from site_builder.values import Digest

Likeness: TypeAlias = Literal["same", "recompressed", "content changed"]

_UNPACKED_AT_MOST = 1024 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveDrift:
    """How two readings of one archive differ, and the names of the members that do."""

    likeness: Likeness
    names: tuple[str, ...] = ()


class UnreadableArchive(ValueError):
    """One of the two is no tar archive, or unpacks to more than an archive may."""


def compare_archives(old: bytes, new: bytes) -> ArchiveDrift:
    """Return whether two compressed tar archives are the same bytes, the same content, or neither.

    *Recompressed* means that the tar inside is the same to the byte. Where it is not and no member differs in name,
    kind or bytes, what differs lies in the headers, and that is a change without names.

    Raises:
        UnreadableArchive: they differ, and one of them can't be read.
    """
    if old == new:
        return ArchiveDrift(likeness="same")
    before, after = _unpacked(old), _unpacked(new)
    if before == after:
        return ArchiveDrift(likeness="recompressed")
    one, other = _members(before), _members(after)
    changed = (name for name in {*one, *other} if one.get(name) != other.get(name))
    return ArchiveDrift(likeness="content changed", names=tuple(sorted(changed)))


def _unpacked(archive: bytes) -> bytes:
    parts: list[bytes] = []
    size = 0
    left = archive
    try:
        while left:
            inflate = zlib.decompressobj(wbits=31)
            parts.append(inflate.decompress(left, _UNPACKED_AT_MOST - size + 1))
            size += len(parts[-1])
            if not inflate.eof or size > _UNPACKED_AT_MOST:
                raise UnreadableArchive("an archive that is cut, or unpacks to more than it may")
            left = inflate.unused_data
    except zlib.error:
        raise UnreadableArchive("no gzip archive") from None
    return b"".join(parts)


def _members(tar: bytes) -> dict[str, tuple[str, ...]]:
    """What each member is: kinds, targets and digests, all of them where a name stands twice."""
    found: dict[str, tuple[str, ...]] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
            for info in archive:
                file = archive.extractfile(info) if info.isreg() else None
                what = Digest.of(file.read()) if file else f"{info.type!r} {info.linkname}"
                found[info.name] = (*found.get(info.name, ()), what)
    except (tarfile.TarError, EOFError, ValueError, OverflowError):
        raise UnreadableArchive("no tar archive") from None
    return found
