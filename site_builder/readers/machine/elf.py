"""ELF: an x86_64 library as the loader sees it: its sections, the names of its functions, what is bound where.

Only sizes and places that fit the file pass `opened`, so that what reads an image need not doubt them. Where functions
begin and end is for `frames` to say, what their instructions do for `code`.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from site_builder.readers import UnknownError

# Limits far above what a real library needs: a lying file ends as unknown, in seconds.
_SECTIONS_AT_MOST = 512
_SYMBOLS_AT_MOST = 200_000
_NAMES_AT_MOST = 64 << 20
_NAME_AT_MOST = 16 << 10

# The numbers of the format, by the names that its specification gives them.
_ELFCLASS64_ELFDATA2LSB = b"\x02\x01"
_ET_EXEC, _ET_DYN = 2, 3
_EM_X86_64 = 62
_SHT_NULL, _SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS, _SHT_DYNSYM = 0, 2, 4, 8, 11
_SHF_WRITE, _SHF_ALLOC, _SHF_EXECINSTR = 1, 2, 4
_STT_FUNC, _STT_GNU_IFUNC = 2, 10
_R_X86_64_GLOB_DAT, _R_X86_64_JUMP_SLOT = 6, 7

_LINKAGE_JUMP = re.compile(rb"(?s)(?:\xf3\x0f\x1e\xfa)?\xf2?\xff\x25(....)")
"""A jump of the linkage table, through a slot that lies so many bytes behind it: perhaps `endbr64`, perhaps `bnd`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One section: its name, what it is for, and where it lies in the file and in memory."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def loaded(self) -> bool:
        """Whether bytes of the file are loaded for it."""
        return bool(self.flags & _SHF_ALLOC) and self.kind != _SHT_NOBITS

    @property
    def executable(self) -> bool:
        """Whether it holds code."""
        return self.loaded and bool(self.flags & _SHF_EXECINSTR)

    @property
    def writable(self) -> bool:
        """Whether the running program may change it."""
        return bool(self.flags & _SHF_WRITE)


def opened(body: bytes) -> Image:
    """Return the image of the library, once its sections lie in the file and apart from each other.

    Raises:
        UnknownError: these are not the bytes of a whole x86_64 ELF file, or a size in them is wrong.
    """
    sections = _sections(body)
    stored = sorted(
        (one.offset, one.offset + one.size) for one in sections if one.kind not in (_SHT_NULL, _SHT_NOBITS) and one.size
    )
    if any(end > len(body) for _, end in stored):
        raise UnknownError("the ELF file is cut short, or a section's size in it is wrong")
    if _overlap(stored):
        raise UnknownError("sections of the ELF file overlap")
    placed = sorted((one.address, one.address + one.size) for one in sections if one.loaded and one.size)
    if _overlap(placed) or any(end >= 1 << 63 for _, end in placed):
        raise UnknownError("sections of the ELF file overlap where they are loaded")
    return Image(body=body, sections=sections)


def unpacked(form: str, body: bytes, offset: int) -> tuple[Any, ...]:
    """Return the numbers that stand at the offset of a table.

    Raises:
        UnknownError: the table ends before them.
    """
    if offset + struct.calcsize(form) > len(body):
        raise UnknownError("the file ends inside a table, or a size in it is wrong")
    return struct.unpack_from(form, body, offset)


@dataclass(frozen=True, kw_only=True, eq=False)
class Image:
    """The sections of a library, and what the loader needs to know of them."""

    body: bytes
    sections: tuple[Section, ...]

    @cached_property
    def loaded(self) -> tuple[Section, ...]:
        """The sections that have a place in memory, by address."""
        return tuple(sorted((one for one in self.sections if one.loaded and one.size), key=lambda one: one.address))

    def section_at(self, address: int) -> Section | None:
        """Return the section that is loaded at the address, if one is."""
        index = bisect_right(self.loaded, address, key=lambda one: one.address) - 1
        if index < 0 or address >= self.loaded[index].address + self.loaded[index].size:
            return None
        return self.loaded[index]

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return the bytes of one section from the address on.

        Raises:
            UnknownError: so many are not loaded there.
        """
        section = self.section_at(address)
        if section is None or address + size > section.address + section.size:
            raise UnknownError(f"nothing is loaded at {address:#x}")
        offset = section.offset + address - section.address
        return self.body[offset : offset + size]

    def content(self, section: Section) -> bytes:
        """Return all bytes of the section."""
        return self.body[section.offset : section.offset + section.size]

    @cached_property
    def names(self) -> Mapping[int, tuple[str, ...]]:
        """The qualified names of each function that the library defines, by address."""
        names: dict[int, set[str]] = {}
        for table in self._symbols.values():
            for name, address in table:
                if address:
                    names.setdefault(address, set()).add(_qualified(name))
        return {address: tuple(sorted(found)) for address, found in names.items()}

    @cached_property
    def slots(self) -> Mapping[int, tuple[str, int]]:
        """What the loader puts where: the name, and the address if the library defines it itself."""
        slots: dict[int, tuple[str, int]] = {}
        for section in self.sections:
            if section.kind == _SHT_RELA and section.loaded and section.link in self._symbols:
                symbols = self._symbols[section.link]
                for place, info, _ in _rows("<QQq", self.content(section)):
                    kind, symbol = info & 0xFFFFFFFF, info >> 32
                    if kind in (_R_X86_64_GLOB_DAT, _R_X86_64_JUMP_SLOT) and 0 < symbol < len(symbols):
                        name, address = symbols[symbol]
                        slots[place] = (_qualified(name), address)
        return slots

    @cached_property
    def stubs(self) -> Mapping[int, tuple[str, int]]:
        """What the jumps of the linkage table lead to, by their address."""
        stubs: dict[int, tuple[str, int]] = {}
        for section in self.loaded:
            if section.executable and section.name.startswith(".plt"):
                for jump in _LINKAGE_JUMP.finditer(self.content(section)):
                    slot = section.address + jump.end() + int.from_bytes(jump[1], "little", signed=True)
                    if slot in self.slots:
                        stubs[section.address + jump.start()] = self.slots[slot]
        return stubs

    @cached_property
    def _symbols(self) -> Mapping[int, tuple[tuple[str, int], ...]]:
        """Name and address of every symbol, by the number of its table's section; the address of a function only."""
        return {
            index: tuple(self._symbols_in(section))
            for index, section in enumerate(self.sections)
            if section.kind in (_SHT_SYMTAB, _SHT_DYNSYM)
        }

    def _symbols_in(self, section: Section) -> Iterator[tuple[str, int]]:
        if section.link >= len(self.sections) or section.size // 24 > _SYMBOLS_AT_MOST:
            raise UnknownError("a symbol table has no names, or too many entries")
        names = self.content(self.sections[section.link])
        read = 0
        for at, info, _, defined_in, value, _ in _rows("<IBBHQQ", self.content(section)):
            name = _text(names, at)
            read += len(name)
            if read > _NAMES_AT_MOST:
                raise UnknownError("more symbol names than this reader takes on")
            yield name, value if info & 15 in (_STT_FUNC, _STT_GNU_IFUNC) and defined_in else 0


def _sections(body: bytes) -> tuple[Section, ...]:
    if body[:4] != b"\x7fELF" or len(body) < 64:
        raise UnknownError("these bytes are not an ELF file")
    kind, machine = unpacked("<HH", body, 16)
    if body[4:6] != _ELFCLASS64_ELFDATA2LSB or machine != _EM_X86_64 or kind not in (_ET_EXEC, _ET_DYN):
        raise UnknownError("the ELF file is not a 64 bit library or program for x86_64")
    (table,) = unpacked("<Q", body, 40)
    size, count, names_at = unpacked("<HHH", body, 58)
    if size != 64 or not 0 < count <= _SECTIONS_AT_MOST or names_at >= count:
        raise UnknownError("the ELF file has no section table that this reader can take on")
    rows = [unpacked("<IIQQQQII", body, table + 64 * index) for index in range(count)]
    names = body[rows[names_at][4] : rows[names_at][4] + rows[names_at][5]]
    return tuple(
        Section(name=_text(names, name), kind=kind, flags=flags, address=address, offset=offset, size=size, link=link)
        for name, kind, flags, address, offset, size, link, _ in rows
    )


def _overlap(ranges: list[tuple[int, int]]) -> bool:
    return any(end > start for (_, end), (start, _) in pairwise(ranges))


def _rows(form: str, table: bytes) -> Iterator[tuple[Any, ...]]:
    """Return the whole rows of a table."""
    size = struct.calcsize(form)
    return struct.iter_unpack(form, table[: len(table) // size * size])


def _text(names: bytes, offset: int) -> str:
    end = names.find(b"\0", offset, offset + _NAME_AT_MOST)
    return names[offset:end].decode("ascii", "replace") if end >= 0 else ""


def _qualified(symbol: str) -> str:
    """Return `space::Class::method` for a plain C++ symbol, and any other symbol as it stands."""
    found = re.match(r"_Z(?P<nested>N[rVK]*[RO]?)?(?P<std>St)?L?(?=\d)", symbol)
    if found is None:
        return symbol
    parts, offset = (["std"] if found["std"] else []), found.end()
    while length := re.compile(r"L?([1-9]\d{0,4})").match(symbol, offset):
        offset = length.end() + int(length[1])
        parts.append(symbol[length.end() : offset])
        if not found["nested"]:
            break
    whole = symbol[offset : offset + 1] == "E" if found["nested"] else symbol[offset : offset + 1] != "I"
    return "::".join(parts) if whole and offset <= len(symbol) else symbol
