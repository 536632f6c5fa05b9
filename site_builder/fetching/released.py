"""Released files: what the package index says of them, and members of wheels and sdists without reading all.

A wheel's directory and RECORD lie at its end and come with one request; its members follow in as few as their
places allow. An sdist is one compressed stream: it is read to its end when its digest is to be recomputed,
else to the last member asked for. Nothing is extracted; nothing in an archive says how much is read of it.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from site_builder import strict
from site_builder.fetching.index import Index
from site_builder.fetching.transport import INDEX, Answer, Limits, Meter, Transport, Unread
from site_builder.sources import read_record

_ACCEPT: Final = "application/vnd.pypi.simple.v1+json"
_TAIL: Final = 1024 * 1024
"""In every wheel looked at, RECORD is the last member: it and the directory lie within the last MiB."""
_GAP: Final = 64 * 1024
"""Bytes not needed that are cheaper to receive than another request."""
_PIECE: Final = 256 * 1024
_FED: Final = 16 * 1024
_WHOLE_PIECE: Final = 8 * 1024 * 1024
_RECORD = re.compile(r"[^/]+\.dist-info/RECORD")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DEFLATED_OR_STORED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})

_AGAIN = "Fetch again; if it stays, the file is damaged or not what the index lists."
_UNVOUCHED = "Don't rest anything on this member: nothing vouches for it."


# The index's page -------------------------------------------------------------------------------------------


class _IndexFile(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    filename: str
    url: str
    hashes: Mapping[str, str]
    size: int | None = None
    upload_time: str | None = Field(default=None, alias="upload-time")
    yanked: bool | str = False


class _IndexMeta(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    api_version: str = Field(alias="api-version", pattern=r"^1\.[0-9]+$")


class _IndexPage(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    meta: _IndexMeta
    files: Sequence[_IndexFile]


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A released file as the index states it."""

    file: str
    url: str
    digest: str
    bytes: int
    uploaded_at: str
    yanked: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """What the index lists of a project."""

    project: str
    page: str
    _files: Mapping[str, _IndexFile]

    @classmethod
    def asked(cls, transport: Transport, project: str, meter: Meter) -> Listing:
        """Return the index's page on the project.

        Raises:
            Unread: the index did not answer, or not with such a page.
        """
        page = canonicalize_name(project)
        answer = transport.listing(page, _ACCEPT, meter)
        if answer.media_type != _ACCEPT:
            raise Unread(
                f"expected the {INDEX}'s page on {page} in its JSON form, found another form",
                "Use an index that serves the JSON form of the simple interface (PIP_INDEX_URL).",
            )
        try:
            found = _IndexPage.model_validate(strict.load_json(answer.body, INDEX))
        except (strict.LoadError, ValidationError):
            raise Unread(
                f"expected the {INDEX}'s page on {page} to list files as is agreed, found another form",
                "Ask whoever keeps the index; nothing is taken from a page that is not understood.",
            ) from None
        files: dict[str, _IndexFile] = {}
        for file in found.files:
            if files.setdefault(file.filename, file) is not file:
                raise Unread(
                    f"expected each file once on the {INDEX}'s page on {page}, found {file.filename} twice",
                    "Ask whoever keeps the index.",
                    1,
                )
        return cls(project=project, page=page, _files=files)

    def file(self, name: str, version: str, transport: Transport) -> Listed:
        """Return what the index states of this file of this version.

        Raises:
            Unread: the index has no such file, or does not state what is needed to read it.
        """
        if (of := _version_of(name, self.page)) is None or of != _version(version):
            raise Unread(
                f"expected the name of a wheel or sdist of {self.page} {version}, found {name}",
                "Correct project, version or file of the locator.",
                1,
            )
        found = self._files.get(name)
        if found is None:
            same = [other for other in sorted(self._files) if _version_of(other, self.page) == of]
            raise Unread(
                f"expected {name} on the {INDEX}'s page on {self.page},"
                f" found {len(same)} other files of {version}" + (f", among them {same[0]}" if same else ""),
                "Correct the file's name; if it was there before, it has been deleted.",
            )
        digest = found.hashes.get("sha256", "").lower()
        if not _SHA256.fullmatch(digest):
            raise Unread(
                f"expected the {INDEX} to state the sha256 of {name}, found none",
                "Use an index that states it (PIP_INDEX_URL).",
                1,
            )
        if found.size is None or found.size <= 0:
            raise Unread(
                f"expected the {INDEX} to state the size of {name}, found none",
                "Use an index that states it (PIP_INDEX_URL).",
            )
        return Listed(
            file=name,
            url=transport.released(self.page, found.url),
            digest=f"sha256:{digest}",
            bytes=found.size,
            uploaded_at=_in_utc(found.upload_time),
            yanked=bool(found.yanked) or found.yanked == "",
        )

    def names(self, version: str) -> bytes:
        """Return the names of the version's files in one form: evidence that another is not among them."""
        wanted = _version(version)
        return strict.canonical_json(
            sorted(name for name in self._files if wanted is not None and _version_of(name, self.page) == wanted)
        )


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _version_of(file: str, project: str) -> Version | None:
    """The version in a file's name, or None if it is not the name of a wheel or sdist of the project."""
    if "/" in file or "\\" in file:
        return None
    try:
        name, version = parse_wheel_filename(file)[:2] if file.endswith(".whl") else parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return version if name == project else None


def _in_utc(time: str | None) -> str:
    """The time to the second: some answers of one index have fractions, others have none."""
    if time is None:
        return "unknown"
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return "unknown"
    return "unknown" if found.tzinfo is None else found.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# Members ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class MemberBody:
    """A member's bytes."""

    body: bytes
    whole: bool
    """Whether the digest of the file that holds it was recomputed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NoMember:
    """The file has no such member; the listing says so."""

    listing: bytes
    named: str


Reading = MemberBody | NoMember | Unread


@dataclass(slots=True)
class Known:
    """What was asked already in the same command, and is not asked again."""

    tails: dict[str, Answer] = field(default_factory=dict)
    """The last pieces of wheels, by the wheels' digests: directory and RECORD, mostly."""
    index: Index | None = None
    """The index that pip is told to ask: it takes a while to find out."""


class _Source:
    """A released file by ranges: every piece exact, of one size and one validator."""

    def __init__(self, transport: Transport, listed: Listed, most: int, known: Known | None = None) -> None:
        self._transport = transport
        self._listed = listed
        self._left = most
        self._tails = (known or Known()).tails
        self._validators: tuple[str, str] | None = None

    def piece(self, first: int, end: int, meter: Meter) -> bytes:
        self._left -= end - first
        if self._left < 0:
            raise Unread(
                f"expected to read less of {self._listed.file}, found that the limit does not suffice",
                "Name fewer or smaller members.",
            )
        answer = self._tails.get(self._listed.digest) if end == self._listed.bytes else None
        if answer is None or len(answer.body) != end - first:
            answer = self._transport.piece(self._listed.url, first, end - 1, self._listed.bytes, meter)
            if end == self._listed.bytes:
                self._tails[self._listed.digest] = answer
        if self._validators is None:
            self._validators = answer.validators
        elif answer.validators != self._validators:
            raise Unread(f"expected {self._listed.file} to stay as it is, found that it changed meanwhile", _AGAIN)
        return answer.body


class _Pieces(io.RawIOBase):
    """A released file that can be read anywhere; what was received is kept, what is missing is asked for."""

    def __init__(self, source: _Source, size: int, meter: Meter) -> None:
        self._source = source
        self._size = size
        self._meter = meter
        self._at = 0
        self._kept: list[tuple[int, bytes]] = []

    def want(self, first: int, end: int, meter: Meter) -> None:
        """Have these bytes at hand."""
        self._kept.append((first, self._source.piece(first, end, meter)))

    def has(self, first: int, end: int) -> bool:
        """Whether these bytes are at hand in one piece."""
        return any(start <= first and end <= start + len(kept) for start, kept in self._kept)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError("before the beginning")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        if not self.has(self._at, end):
            self.want(self._at, min(max(end, self._at + _GAP), self._size), self._meter)
        for start, kept in self._kept:
            if start <= self._at and end <= start + len(kept):
                buffer[: end - self._at] = memoryview(kept)[self._at - start : end - start]
                break
        taken = end - self._at
        self._at = end
        return taken


_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
)
"""What the archive readers raise at a damaged or forged file."""


def read_wheel(
    transport: Transport,
    listed: Listed,
    members: Mapping[str, Meter],
    stored: Callable[[str], bytes | None],
    limits: Limits,
    known: Known | None = None,
) -> Iterator[tuple[str, Reading]]:
    """Yield each member once it is read and agrees with RECORD; what the store has already is not read.

    What several members share is counted with the first of them.
    """
    first_meter = next(iter(members.values()))
    try:
        pieces = _Pieces(_Source(transport, listed, limits.archive_bytes, known), listed.bytes, first_meter)
        pieces.want(max(0, listed.bytes - _TAIL), listed.bytes, first_meter)
        archive = zipfile.ZipFile(pieces)
        infos = _directory(archive, listed, limits)
        record_name, record = _record_of(archive, infos, listed, limits)
        stated = _stated(record, listed)
    except Unread as unread:
        yield from ((member, unread) for member in members)
        return
    except _BROKEN:
        broken = Unread(f"expected {listed.file} to be a wheel, found an archive that can't be read", _AGAIN)
        yield from ((member, broken) for member in members)
        return
    wanted: list[str] = []
    for member in members:
        reading = _without_reading(member, infos, stated, record_name, record, stored, listed)
        if reading is None:
            wanted.append(member)
        else:
            yield member, reading
    starts = sorted({info.header_offset for info in infos.values()} | {archive.start_dir})
    places = dict(pairwise(starts))
    for group in _grouped(wanted, infos, places, pieces):
        try:
            if group.end > group.first:
                pieces.want(group.first, group.end, members[group.members[0]])
        except Unread as unread:
            yield from ((member, unread) for member in group.members)
            continue
        for member in group.members:
            yield member, _member(archive, infos[member], stated[member], listed, limits, places)


def _directory(archive: zipfile.ZipFile, listed: Listed, limits: Limits) -> Mapping[str, zipfile.ZipInfo]:
    found = archive.infolist()
    if len(found) > limits.entries:
        raise Unread(f"expected at most {limits.entries} members in {listed.file}, found {len(found)}", _AGAIN)
    infos = {info.filename: info for info in found}
    if len(infos) != len(found):
        twice = next(name for name, times in Counter(info.filename for info in found).items() if times > 1)
        raise Unread(
            f"expected each member of {listed.file} once, found {twice} twice",
            "Don't rest anything on this file: which of the two is installed depends on the installer.",
            1,
        )
    return infos


def _record_of(
    archive: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo], listed: Listed, limits: Limits
) -> tuple[str, bytes]:
    names = [name for name in infos if _RECORD.fullmatch(name)]
    if len(names) != 1:
        raise Unread(f"expected one RECORD in {listed.file}, found {len(names)}", _AGAIN, 1)
    return names[0], _inflated(archive, infos[names[0]], listed, limits)


def _stated(record: bytes, listed: Listed) -> Mapping[str, tuple[str, int]]:
    """What RECORD says of each member: digest and size."""
    try:
        return read_record(record)
    except ValueError as error:
        raise Unread(f"{listed.file}'s RECORD: {error}", _AGAIN, 1) from None


def _without_reading(
    member: str,
    infos: Mapping[str, zipfile.ZipInfo],
    stated: Mapping[str, tuple[str, int]],
    record_name: str,
    record: bytes,
    stored: Callable[[str], bytes | None],
    listed: Listed,
) -> Reading | None:
    """What directory and RECORD alone already say of a member, or None if it must be read."""
    if member == record_name:
        return MemberBody(body=record, whole=False)
    if (member in infos) != (member in stated):
        has, lacks = ("directory", "RECORD") if member in infos else ("RECORD", "directory")
        return Unread(f"expected {member} in the {lacks} of {listed.file}, found it in its {has} only", _AGAIN, 1)
    if member not in infos:
        return NoMember(listing=record, named="RECORD")
    if not stated[member][0] or stated[member][1] < 0:
        return Unread(f"expected sha256 and size of {member} in the RECORD of {listed.file}, found none", _UNVOUCHED, 1)
    body = stored(stated[member][0])
    return None if body is None else MemberBody(body=body, whole=False)


@dataclass(frozen=True, slots=True)
class _Group:
    """Members that one request brings, or none if they are at hand."""

    first: int
    end: int
    members: tuple[str, ...]


def _grouped(
    wanted: Sequence[str], infos: Mapping[str, zipfile.ZipInfo], places: Mapping[int, int], pieces: _Pieces
) -> Iterable[_Group]:
    groups: list[_Group] = []
    for member in sorted(wanted, key=lambda name: infos[name].header_offset):
        first = infos[member].header_offset
        end = places.get(first, first)
        if pieces.has(first, end):
            groups.append(_Group(0, 0, (member,)))
        elif groups and groups[-1].end and first - groups[-1].end <= _GAP:
            groups[-1] = _Group(groups[-1].first, end, (*groups[-1].members, member))
        else:
            groups.append(_Group(first, end, (member,)))
    return groups


def _member(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    stated: tuple[str, int],
    listed: Listed,
    limits: Limits,
    places: Mapping[int, int],
) -> Reading:
    try:
        if places.get(info.header_offset, 0) - info.header_offset < 30 + info.compress_size:
            raise zipfile.BadZipFile("overlapping")
        body = _inflated(archive, info, listed, limits)
    except Unread as unread:
        return unread
    except _BROKEN:
        return Unread(f"expected {info.filename} to be readable in {listed.file}, found it damaged", _AGAIN)
    found = ("sha256:" + hashlib.sha256(body).hexdigest(), len(body))
    if found != stated:
        return Unread(
            f"expected {info.filename} as {listed.file}'s RECORD states it ({stated[0]}, {stated[1]} bytes),"
            f" found {found[0]}, {found[1]} bytes",
            "Don't rest anything on this member: the file does not agree with itself.",
            1,
        )
    return MemberBody(body=body, whole=False)


def _inflated(archive: zipfile.ZipFile, info: zipfile.ZipInfo, listed: Listed, limits: Limits) -> bytes:
    kind = info.external_attr >> 16 & 0o170000
    if (
        info.is_dir()
        or kind not in (0, 0o100000)
        or info.flag_bits & 1
        or info.compress_type not in _DEFLATED_OR_STORED
    ):
        raise Unread(f"expected {info.filename} of {listed.file} to be a plain file, found another kind", _AGAIN)
    if info.file_size > limits.member_bytes or info.file_size > limits.ratio * max(info.compress_size, 1):
        raise Unread(
            f"expected {info.filename} of {listed.file} to be at most {limits.member_bytes} bytes and at most"
            f" {limits.ratio} times its compressed size, found {info.file_size}",
            "Name a smaller member.",
        )
    with archive.open(info) as member:
        body = member.read(info.file_size + 1)
    if len(body) != info.file_size:
        raise zipfile.BadZipFile("another size")
    return body


# Sdists -----------------------------------------------------------------------------------------------------


class _Sequence:
    """A released file from its beginning on, piece by piece, hashed on the way."""

    def __init__(self, source: _Source, size: int, piece: int, meter: Meter) -> None:
        self._source = source
        self._size = size
        self._piece = piece
        self._meter = meter
        self._at = 0
        self.hash = hashlib.sha256()

    def next(self) -> bytes:
        if self._at >= self._size:
            return b""
        # A member that lies deep is reached in few requests, at a quarter more than was needed.
        end = min(self._at + max(self._piece, min(self._at // 4, _WHOLE_PIECE)), self._size)
        received = self._source.piece(self._at, end, self._meter)
        self.hash.update(received)
        self._at = end
        return received

    def rest(self) -> str:
        """Read on to the end and return the digest of the whole."""
        while self.next():
            pass
        return "sha256:" + self.hash.hexdigest()


class _Unpacked(io.RawIOBase):
    """The decompressed stream, only as far as it was allowed: no header decides how much is unpacked."""

    def __init__(self, source: _Sequence, ratio_limit: int) -> None:
        self._source = source
        self._inflate = zlib.decompressobj(wbits=31)
        self._piece = b""
        self._next = 0
        self._waiting = b""
        self._allowed = 0
        self._ratio = ratio_limit
        self._received = 0
        self._given = 0

    def allow(self, more: int) -> None:
        """Let so many more bytes be unpacked."""
        self._allowed = max(self._allowed, self._given + more)

    def readable(self) -> bool:
        return True

    def _more(self) -> bytes:
        """The next bit of what was received: what is left of a large one would be copied at every call."""
        if self._next >= len(self._piece):
            self._piece, self._next = self._source.next(), 0
            self._received += len(self._piece)
        self._next += _FED
        return self._piece[self._next - _FED : self._next]

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._inflate.eof:
                self._waiting = self._inflate.unused_data
                self._inflate = zlib.decompressobj(wbits=31)
            if not self._waiting:
                self._waiting = self._more()
                if not self._waiting:
                    return 0
            part = self._inflate.decompress(self._waiting, len(buffer))
            self._waiting = self._inflate.unconsumed_tail
            if part:
                self._given += len(part)
                if self._given > self._allowed or self._given > self._ratio * max(self._received, _PIECE):
                    raise tarfile.ReadError("more than its headers or its size account for")
                buffer[: len(part)] = part
                return len(part)


def read_sdist(
    transport: Transport, listed: Listed, members: Mapping[str, Meter], limits: Limits, *, whole: bool
) -> Iterator[tuple[str, Reading]]:
    """Yield each member, of the whole file whose digest was recomputed or of its beginning."""
    meter = next(iter(members.values()))
    sequence = _Sequence(
        _Source(transport, listed, limits.sdist_bytes), listed.bytes, _WHOLE_PIECE if whole else _PIECE, meter
    )
    found: dict[str, Reading] = {}
    names: list[str] = []
    try:
        for name, body in _members_of(sequence, members, listed, limits, names):
            if name in found:
                raise Unread(f"expected {name} once in {listed.file}, found it twice", _AGAIN, 1)
            found[name] = body
            if not whole and len(found) == len(members):
                break
        if whole and (digest := sequence.rest()) != listed.digest:
            raise Unread(
                f"expected {listed.file} as the {INDEX} states it ({listed.digest}), found {digest}",
                "Don't rest anything on this file: it is not the one that was released.",
                1,
            )
    except Unread as unread:
        yield from ((member, unread) for member in members)
        return
    except _BROKEN:
        broken = Unread(f"expected {listed.file} to be an sdist, found an archive that can't be read", _AGAIN)
        yield from ((member, broken) for member in members)
        return
    lacking = NoMember(listing=strict.canonical_json(sorted(names)), named="the sdist's listing")
    for member in members:
        reading = found.get(member, lacking)
        yield (
            member,
            MemberBody(body=reading.body, whole=whole) if isinstance(reading, MemberBody) else reading,
        )


_HEADERS: Final = 1024 * 1024
"""What stands between two members of an honest sdist at most: headers, long names, padding."""


def _members_of(
    sequence: _Sequence, wanted: Iterable[str], listed: Listed, limits: Limits, names: list[str]
) -> Iterator[tuple[str, Reading]]:
    wanted = frozenset(wanted)
    unpacked = _Unpacked(sequence, limits.ratio)
    unpacked.allow(_HEADERS)
    with tarfile.open(fileobj=unpacked, mode="r|", bufsize=64 * 1024) as archive:
        for info in archive:
            names.append(info.name)
            if len(names) > limits.entries:
                raise Unread(f"expected at most {limits.entries} members in {listed.file}, found more", _AGAIN)
            unpacked.allow(info.size + _HEADERS)
            if info.name not in wanted:
                continue
            if not info.isreg() or info.issparse():
                yield (
                    info.name,
                    Unread(
                        f"expected {info.name} of {listed.file} to be a plain file, found another kind",
                        _AGAIN,
                    ),
                )
            elif info.size > limits.member_bytes:
                yield (
                    info.name,
                    Unread(
                        f"expected {info.name} of {listed.file} to be at most {limits.member_bytes} bytes,"
                        f" found {info.size}",
                        "Name a smaller member.",
                    ),
                )
            else:
                file = archive.extractfile(info)
                body = file.read() if file is not None else b""
                if len(body) != info.size:
                    raise tarfile.ReadError("cut short")
                yield info.name, MemberBody(body=body, whole=False)
