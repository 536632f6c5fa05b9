"""Unwind tables: where functions begin and end, and where they go on when a call in them raises.

The compiler writes them for the exceptions of C++ (`.eh_frame`, and each function's table of landing pads), and they
cover stripped code as well. What stands between begin and end is for `code` to read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from site_builder.readers import UnknownError
from site_builder.readers.machine.elf import Image, unpacked

# Far above what a real library needs.
_FRAMES_AT_MOST = 8 << 20

_OMITTED = 0xFF
"""The encoding of an address that is not written at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One range that the unwinder knows: a function, or a part of one that the compiler moved away."""

    start: int
    end: int
    pads: int
    """The address of its table of landing pads, 0 for none."""
    begins: bool
    """Whether a caller's frame stands at its start, as it does in a function."""

    def holds(self, address: int) -> bool:
        """Say whether the address lies in it."""
        return self.start <= address < self.end


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class LandingPad:
    """Where a piece goes on when a call from start to end raises."""

    start: int
    end: int
    address: int


def pieces(image: Image) -> tuple[Piece, ...]:
    """Return the ranges that the unwinder knows, by address; they don't overlap.

    Raises:
        UnknownError: there is no unwind table, or none that this reader can take on.
    """
    tables = [one for one in image.loaded if one.name == ".eh_frame"]
    if len(tables) != 1:
        raise UnknownError("no unwind table says where functions begin and end")
    if tables[0].size > _FRAMES_AT_MOST:
        raise UnknownError("an unwind table larger than this reader takes on")
    found = sorted(_entries(image.content(tables[0]), tables[0].address), key=lambda one: one.start)
    if any(one.end > other.start for one, other in pairwise(found)):
        raise UnknownError("functions overlap in the unwind table")
    return tuple(found)


def landing_pads(image: Image, piece: Piece) -> Iterator[LandingPad]:
    """Yield the landing pads of the piece.

    Raises:
        UnknownError: its table of them is not there, or ends early.
    """
    if not piece.pads:
        return
    section = image.section_at(piece.pads)
    if section is None:
        raise UnknownError("an exception table is not where the unwind table says")
    cursor = _Cursor(image.content(section), section.address, piece.pads - section.address)
    encoding = cursor.take("B")
    base = piece.start if encoding == _OMITTED else cursor.pointer(encoding)
    if cursor.take("B") != _OMITTED:
        cursor.uleb()
    encoding = cursor.take("B")
    size = cursor.uleb()
    end = size + cursor.offset
    while cursor.offset < end:
        start = cursor.pointer(encoding, relative=False) + piece.start
        size = cursor.pointer(encoding, relative=False)
        pad = cursor.pointer(encoding, relative=False)
        cursor.uleb()
        if pad:
            yield LandingPad(start=start, end=start + size, address=base + pad)


class _Cursor:
    """A place in a table, moving on as values are read."""

    def __init__(self, content: bytes, address: int, offset: int) -> None:
        self.content, self.address, self.offset = content, address, offset

    def take(self, form: str) -> int:
        (value,) = unpacked("<" + form, self.content, self.offset)
        self.offset += struct.calcsize("<" + form)
        return int(value)

    def uleb(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take("B")
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise UnknownError("a number in the unwind table is too long")

    def pointer(self, encoding: int, relative: bool = True) -> int:
        """Return an address that is written in one of the ways of the unwind table, 0 for none."""
        if encoding == _OMITTED:
            return 0
        place = self.address + self.offset
        form = {0: "Q", 2: "H", 3: "I", 4: "Q", 10: "h", 11: "i", 12: "q"}.get(encoding & 15)
        if encoding & 15 == 1:
            value = self.uleb()
        elif form is None or encoding & 0x70 not in (0, 0x10):
            raise UnknownError("the unwind table writes addresses in a way that this reader does not know")
        else:
            value = self.take(form)
        return value + place if relative and value and encoding & 0x70 == 0x10 else value


@dataclass(frozen=True, kw_only=True, slots=True)
class _Common:
    """What the entries of one kind share: how they write the addresses of code and of landing pads."""

    code: int
    pads: int
    augmented: bool


def _entries(content: bytes, address: int) -> Iterator[Piece]:
    commons: dict[int, _Common] = {}
    offset = 0
    while offset + 4 <= len(content):
        length, identity = unpacked("<II", content, offset) if offset + 8 <= len(content) else (0, 0)
        if length == 0:
            break
        # The 64 bit form's mark is a length that no table of this size has.
        if length < 4 or offset + 4 + length > len(content):
            raise UnknownError("an entry of the unwind table is longer than the table")
        cursor = _Cursor(content[offset : offset + 4 + length], address + offset, 8)
        if identity == 0:
            commons[offset] = _common(cursor)
        else:
            common = commons.get(offset + 4 - identity)
            if common is None or common.code == _OMITTED:
                raise UnknownError("an entry of the unwind table has no common part")
            piece = _piece(cursor, common)
            if piece.end > piece.start > 0:
                yield piece
        offset += 4 + length


def _common(cursor: _Cursor) -> _Common:
    cursor.take("B")
    end = cursor.content.find(b"\0", cursor.offset)
    letters = cursor.content[cursor.offset : end] if end >= 0 else b"?"
    cursor.offset = end + 1
    for _ in ("code alignment", "data alignment", "return register"):
        cursor.uleb()
    code, pads = 0, _OMITTED
    augmented = letters[:1] == b"z"
    if augmented:
        cursor.uleb()
        for letter in letters[1:].decode("ascii", "replace"):
            if letter == "R":
                code = cursor.take("B")
            elif letter == "L":
                pads = cursor.take("B")
            elif letter == "P":
                cursor.pointer(cursor.take("B"))
            elif letter not in "SB":
                raise UnknownError("the unwind table has an extension that this reader does not know")
    elif letters:
        raise UnknownError("the unwind table has an extension that this reader does not know")
    return _Common(code=code, pads=pads, augmented=augmented)


def _piece(cursor: _Cursor, common: _Common) -> Piece:
    start = cursor.pointer(common.code)
    end = start + cursor.pointer(common.code, relative=False)
    pads = 0
    if common.augmented:
        size = cursor.uleb()
        after = cursor.offset + size
        pads = cursor.pointer(common.pads)
        cursor.offset = after
    return Piece(start=start, end=end, pads=pads, begins=end > start > 0 and _begins(cursor))


def _begins(cursor: _Cursor) -> bool:
    """Say whether a range starts with a caller's frame: a function does, a part moved out of one does not."""
    while cursor.offset < len(cursor.content):
        operation = cursor.take("B")
        if operation:
            # DW_CFA_advance_loc in its forms, and DW_CFA_set_loc: something runs before the frame changes.
            return operation >> 6 == 1 or operation in (0x01, 0x02, 0x03, 0x04)
    return True
