"""Machine code: what a function of an x86_64 ELF library does on every path, read off its bytes, not run.

The reader takes the library apart as far as a question needs it: sections, symbols, imports, the ranges that
the unwinder knows, and one function's control flow. What the functions mean, and which names and messages to
look for, is the audit's.

An answer holds for *every* path from a function's entry to its return, over a graph that leaves no edge out:
exceptions follow the unwinder's own tables, and a jump whose targets can't be listed makes the function
unknown. An edge too many can only turn an answer into unknown, never into the opposite one.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import capstone

from site_builder.readers import NotOneError, Seen, UnknownError, digest_of

_SECTIONS_AT_MOST = 512
_SYMBOLS_AT_MOST = 200_000
_NAMES_AT_MOST = 64 << 20
_CODE_AT_MOST = 32 << 20
_JUMPS_AT_MOST = 2_000_000
_FRAMES_AT_MOST = 8 << 20
_FUNCTION_AT_MOST = 256 << 10
_DECODED_AT_MOST = 4 << 20
_PIECES_AT_MOST = 64
_TABLE_AT_MOST = 4096
_PLACES_AT_MOST = 64
_ASKED_AT_MOST = 256
"""Limits far above what a real library needs: a lying file ends as unknown, in seconds."""

_NEVER_RETURNS = re.compile(
    r"__cxa_(throw|rethrow|bad_cast|bad_typeid|throw_bad_array_new_length|call_unexpected|call_terminate)"
    r"|_Unwind_Resume|__clang_call_terminate|abort|exit|_exit|__stack_chk_fail|__assert_fail"
    r"|std::terminate|std::__throw_\w+"
)
"""What the C and C++ runtimes define never to return."""

_RETURNS = frozenset({"ret", "retf", "retfq", "iretq"})
_HALTS = frozenset({"ud2", "ud1", "ud0", "hlt", "int3"})
_KEEPS_FLAGS = re.compile(
    r"v?mov\w*|lea|push|pop|nop|endbr64|set\w+|cmov\w+|pxor|punpck\w+|cdqe?|cqo|cwde|not"
)
_UP_TO = re.compile(r"(?P<op>j|set|cmov)(?P<when>le|ng|be|na|g|nle|a|nbe)")
_BELOW = re.compile(r"(?P<op>j|set|cmov)(?P<when>l|nge|b|nae|c|ge|nl|ae|nb|nc)|sbb|adc")
_LOW = frozenset({"le", "ng", "be", "na", "l", "nge", "b", "nae", "c"})
_ON_FLAGS = re.compile(r"set\w+|cmov\w+|sbb|adc")
_RECKONS = frozenset({"add", "sub", "imul", "lea", "movsxd", "shl"})
_COUNT = re.compile(r"(?P<register>[er][a-ds][a-z]|[er][bs]p|r\d+d?)|[dq]word ptr \[.*\]")
"""A count is a 32 or 64 bit value; narrower ones are truths and enumerations."""

_IN_FRAME = re.compile(r"(?:(?P<width>\w+) ptr )?\[rbp - (?P<at>0x[0-9a-f]+|\d+)\]")
_WIDTHS = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16, "ymmword": 32}

_FAMILY: Mapping[str, str] = {
    name: "r" + base
    for base in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")
    for name in ("r" + base, "e" + base, base, base[0] + "l", base + "l", base[0] + "h")
} | {f"r{number}{width}": f"r{number}" for number in range(8, 16) for width in ("", "d", "w", "b")}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def loaded(self) -> bool:
        return bool(self.flags & 2) and self.kind != 8

    @property
    def executable(self) -> bool:
        return self.loaded and bool(self.flags & 4)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Piece:
    """One range that the unwinder knows: a function, or a part of one that the compiler moved away."""

    start: int
    end: int
    pads: int
    begins: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """One instruction."""

    address: int
    after: int
    name: str
    operands: str

    @property
    def text(self) -> str:
        return f"{self.name} {self.operands}".strip()

    @property
    def target(self) -> int | None:
        """Where a direct jump or call goes."""
        return int(self.operands, 16) if self.operands.startswith("0x") and "," not in self.operands else None

    @property
    def jumps(self) -> bool:
        return self.name[0] == "j" or self.name.startswith("loop") or self.name == "xbegin"

    @property
    def ends(self) -> bool:
        return self.jumps or self.name == "call" or self.name in _RETURNS or self.name in _HALTS


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A call: the callee's qualified name, where it stands, and what the line of code before it passes.

    `constants` are the registers that hold a known number at the call, by their 64 bit names; `immediates`
    are the numbers written in those instructions, in order.
    """

    name: str
    address: int
    seen: Seen
    constants: Mapping[str, int]
    immediates: tuple[int, ...]


def read(body: bytes, never_return: Iterable[str] = ()) -> Library:
    """Return the library with its sections read; `never_return` names callees known to raise or end the
    process.

    Raises:
        UnknownError: these are not the bytes of a whole x86_64 ELF file, or a size in them is wrong.
    """
    return Library(body=body, sections=_sections(body), never_return=frozenset(never_return))


@dataclass(frozen=True, kw_only=True)
class Library:
    """An x86_64 ELF library, ready to be asked for one function."""

    body: bytes
    sections: tuple[_Section, ...]
    never_return: frozenset[str]

    def function_raising(self, message: str) -> Function:
        """Return the one function whose code refers to exactly this NUL-terminated text.

        Raises:
            NotOneError: no function refers to it, or several do.
            UnknownError: code that belongs to no known function refers to it, or its function can't be
            followed.
        """
        if message not in self._raising:
            self._raising[message] = self._the_one_raising(message)
        return self._raising[message]

    @cached_property
    def _raising(self) -> dict[str, Function]:
        return {}

    def _the_one_raising(self, message: str) -> Function:
        refers = self._references(message)
        found: dict[int, Function] = {}
        for place in refers:
            if not any(piece.start <= place < piece.end for one in found.values() for piece in one.pieces):
                piece = self._piece(place)
                if piece is None:
                    raise UnknownError(f"code outside every function, at {place:#x}, refers to the message")
                function = self._function(piece)
                found[function.entry] = function
        if len(found) != 1:
            raise NotOneError("function that refers to the message", sorted(found))
        return next(iter(found.values()))

    def function_named(self, name: str) -> Function:
        """Return the one function with this qualified name (`space::Class::method`).

        Raises:
            NotOneError: no symbol has the name, or several functions have it.
            UnknownError: its code can't be followed.
        """
        places = sorted(place for place, names in self._names.items() if name in names)
        if len(places) != 1:
            raise NotOneError(f"function named {name}", places)
        piece = self._piece(places[0])
        if piece is None or piece.start != places[0]:
            raise UnknownError(f"the unwinder knows no function at {places[0]:#x}")
        return self._function(piece)

    # -- where things are

    @cached_property
    def _loaded(self) -> tuple[_Section, ...]:
        return tuple(
            sorted((one for one in self.sections if one.loaded and one.size), key=lambda one: one.address)
        )

    def _section(self, address: int) -> _Section | None:
        index = bisect_right(self._loaded, address, key=lambda one: one.address) - 1
        if index < 0 or address >= self._loaded[index].address + self._loaded[index].size:
            return None
        return self._loaded[index]

    def _bytes(self, address: int, size: int) -> bytes:
        section = self._section(address)
        if section is None or size < 0 or address + size > section.address + section.size:
            raise UnknownError(f"nothing is loaded at {address:#x}")
        offset = section.offset + address - section.address
        return self.body[offset : offset + size]

    def _content(self, section: _Section) -> bytes:
        return self.body[section.offset : section.offset + section.size]

    def _code(self) -> Iterator[tuple[int, bytes]]:
        sections = [one for one in self._loaded if one.executable]
        if sum(one.size for one in sections) > _CODE_AT_MOST:
            raise UnknownError("more code than this reader takes on")
        return ((one.address, self._content(one)) for one in sections)

    def seen(self, value: str | tuple[str, ...], start: int, end: int) -> Seen:
        """Return the value as read from the instructions from start to end."""
        region = self._bytes(start, end - start)
        section = self._section(start)
        assert section is not None
        at = {"section": section.name, "address": f"{start:#x}", "bytes": region.hex()}
        return Seen(value=value, at=at, region=digest_of(region))

    # -- names

    @cached_property
    def _symbols(self) -> dict[int, tuple[tuple[str, int], ...]]:
        """Name and address of every symbol, by the number of its table's section."""
        return {
            index: tuple(self._table(section))
            for index, section in enumerate(self.sections)
            if section.kind in (2, 11)
        }

    def _table(self, section: _Section) -> Iterator[tuple[str, int]]:
        if section.link >= len(self.sections) or section.size // 24 > _SYMBOLS_AT_MOST:
            raise UnknownError("a symbol table has no names, or too many entries")
        names = self._content(self.sections[section.link])
        table = self._content(section)
        read = 0
        for at, info, _, index, value, _ in struct.iter_unpack("<IBBHQQ", table[: len(table) // 24 * 24]):
            name = _text(names, at)
            read += len(name)
            if read > _NAMES_AT_MOST:
                raise UnknownError("more symbol names than this reader takes on")
            yield name, value if info & 15 in (2, 10) and index != 0 else 0

    @cached_property
    def _names(self) -> dict[int, tuple[str, ...]]:
        """The qualified names of each function, by address."""
        names: dict[int, set[str]] = {}
        for table in self._symbols.values():
            for name, address in table:
                if address:
                    names.setdefault(address, set()).add(_qualified(name))
        return {address: tuple(sorted(found)) for address, found in names.items()}

    @cached_property
    def _slots(self) -> dict[int, tuple[str, int]]:
        """What the loader puts where: the name, and the address if the library defines it itself."""
        slots: dict[int, tuple[str, int]] = {}
        for section in self.sections:
            if section.kind == 4 and section.loaded and section.link in self._symbols:
                symbols = self._symbols[section.link]
                table = self._content(section)
                for place, info, _ in struct.iter_unpack("<QQq", table[: len(table) // 24 * 24]):
                    if info & 0xFFFFFFFF in (6, 7) and 0 < info >> 32 < len(symbols):
                        name, address = symbols[info >> 32]
                        slots[place] = (_qualified(name), address)
        return slots

    @cached_property
    def _stubs(self) -> dict[int, tuple[str, int]]:
        """What the jumps of the linkage table lead to, by their address."""
        stubs: dict[int, tuple[str, int]] = {}
        for section in self._loaded:
            if section.executable and section.name.startswith(".plt"):
                content = self._content(section)
                for found in re.finditer(rb"(?s)(?:\xf3\x0f\x1e\xfa)?\xf2?\xff\x25(....)", content):
                    slot = section.address + found.end() + int.from_bytes(found[1], "little", signed=True)
                    if slot in self._slots:
                        stubs[section.address + found.start()] = self._slots[slot]
        return stubs

    def _callee(self, step: _Step) -> tuple[tuple[str, ...], int]:
        """Return the names of what is called, and its address in this library or 0."""
        if (slot := _slot(step)) is not None:
            name, address = self._slots.get(slot, ("", 0))
        elif (target := step.target) is None:
            return (), 0
        elif target in self._stubs:
            name, address = self._stubs[target]
        else:
            return self._names.get(target, ()), target
        return (name,) if name else (), address

    # -- code

    @cached_property
    def _pieces(self) -> tuple[_Piece, ...]:
        frames = [one for one in self._loaded if one.name == ".eh_frame"]
        if len(frames) != 1:
            raise UnknownError("no unwind table says where functions begin and end")
        if frames[0].size > _FRAMES_AT_MOST:
            raise UnknownError("an unwind table larger than this reader takes on")
        pieces = sorted(_frames(self._content(frames[0]), frames[0].address), key=lambda one: one.start)
        if any(one.end > other.start for one, other in pairwise(pieces)):
            raise UnknownError("functions overlap in the unwind table")
        return tuple(pieces)

    def _piece(self, address: int) -> _Piece | None:
        index = bisect_right(self._pieces, address, key=lambda one: one.start) - 1
        return self._pieces[index] if index >= 0 and address < self._pieces[index].end else None

    @cached_property
    def _decoded(self) -> dict[int, tuple[_Step, ...]]:
        return {}

    def _steps(self, piece: _Piece) -> tuple[_Step, ...]:
        """Return the piece's instructions, one after the other without a gap."""
        if piece.start not in self._decoded:
            if piece.end - piece.start + sum(
                steps[-1].after - start for start, steps in self._decoded.items()
            ) > (_DECODED_AT_MOST):
                raise UnknownError("more code to follow than this reader takes on")
            code = self._bytes(piece.start, piece.end - piece.start)
            steps = tuple(
                _Step(address=at, after=at + size, name=name.split()[-1], operands=operands)
                for at, size, name, operands in _decoder().disasm_lite(code, piece.start)
            )
            if not steps or steps[-1].after != piece.end:
                raise UnknownError(f"not every byte of the function at {piece.start:#x} is an instruction")
            self._decoded[piece.start] = steps
        return self._decoded[piece.start]

    def _step(self, piece: _Piece, address: int) -> _Step | None:
        """Return the piece's instruction at this address, if one begins there."""
        steps = self._steps(piece)
        index = bisect_left(steps, address, key=lambda one: one.address)
        return steps[index] if index < len(steps) and steps[index].address == address else None

    def _references(self, message: str) -> list[int]:
        """Return the instructions that form the address of this text."""
        wanted = message.encode() + b"\0"
        places: set[int] = set()
        for section in self._loaded:
            if not section.executable:
                content = self._content(section)
                at = content.find(wanted)
                while at >= 0 and len(places) <= _PLACES_AT_MOST:
                    places.add(section.address + at)
                    at = content.find(wanted, at + 1)
        if len(places) > _PLACES_AT_MOST:
            raise UnknownError("the message stands in too many places")
        found = []
        looked = 0
        for address, code in self._code() if places else ():
            for lea in re.finditer(rb"(?s)[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](?=(....))", code):
                at = address + lea.start()
                looked += 1
                if looked > _JUMPS_AT_MOST:
                    raise UnknownError("more code than this reader takes on")
                if at + 7 + int.from_bytes(lea[1], "little", signed=True) in places:
                    piece = self._piece(at)
                    if piece is None or self._step(piece, at) is not None:
                        found.append(at)
                    if len(found) > _PLACES_AT_MOST:
                        raise UnknownError("the message is referred to from too many places")
        return found

    @cached_property
    def _jumps(self) -> list[tuple[int, int]]:
        """Target and place of whatever looks like a long jump, by target; most of it is one."""
        found = []
        for address, code in self._code():
            for jump in re.finditer(rb"(?s)(?:\x0f[\x80-\x8f]|\xe9)(?=(....))", code):
                after = address + jump.end() + 4
                found.append((after + int.from_bytes(jump[1], "little", signed=True), address + jump.start()))
                if len(found) > _JUMPS_AT_MOST:
                    raise UnknownError("more code than this reader takes on")
        return sorted(found)

    def _function(self, piece: _Piece) -> Function:
        """Return the function that this piece is part of: all pieces that jump into each other."""
        pieces, todo = {piece.start: piece}, [piece]
        while todo:
            one = todo.pop()
            for other in self._neighbours(one):
                if other.start not in pieces:
                    pieces[other.start] = other
                    todo.append(other)
            if len(pieces) > _PIECES_AT_MOST:
                raise UnknownError("a function in more pieces than this reader takes on")
        entries = [one.start for one in pieces.values() if one.begins]
        if len(entries) != 1:
            raise UnknownError(
                f"{len(entries)} of the {len(pieces)} pieces of the function could be its entry"
            )
        return Function(
            library=self, entry=entries[0], pieces=tuple(pieces[start] for start in sorted(pieces))
        )

    def _neighbours(self, piece: _Piece) -> Iterator[_Piece]:
        for step in self._steps(piece):
            if step.jumps and (target := step.target) is not None and not piece.start <= target < piece.end:
                other = self._piece(target)
                if other and (target > other.start or not other.begins) and target not in self._stubs:
                    yield other
        first = bisect_right(self._jumps, (piece.start, -1))
        for target, at in self._jumps[first:]:
            if target >= piece.end:
                break
            if (target > piece.start or not piece.begins) and not piece.start <= at < piece.end:
                other = self._piece(at)
                jump = self._step(other, at) if other else None
                if other and jump is not None and jump.target == target:
                    yield other

    def _ends_here(self, step: _Step) -> bool:
        """Say whether this call is known never to return."""
        names, address = self._callee(step)
        if any(name in self.never_return or _NEVER_RETURNS.fullmatch(name) for name in names):
            return True
        return address != 0 and not self._returns(address)

    def _returns(self, address: int) -> bool:
        """Say whether a function of this library may return; it can't if there is no return in it at all."""
        if address not in self._returning:
            self._returning[address] = self._may_return(address)
        return self._returning[address]

    @cached_property
    def _returning(self) -> dict[int, bool]:
        return {}

    def _may_return(self, address: int) -> bool:
        pieces: dict[int, _Piece] = {}
        todo = [address]
        while todo:
            piece = self._piece(todo.pop())
            if piece is None or len(pieces) > 8 or piece.end - piece.start > 1 << 14:
                return True
            if piece.start not in pieces:
                pieces[piece.start] = piece
                for step in self._steps(piece):
                    if step.name in _RETURNS or (step.jumps and step.target is None):
                        return True
                    if step.jumps and step.target is not None and not piece.start <= step.target < piece.end:
                        todo.append(step.target)
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Block:
    """Instructions that run one after the other, and what may follow; `_LEAVES` is the function's return."""

    steps: tuple[_Step, ...]
    follow: tuple[int, ...]

    @property
    def last(self) -> _Step:
        return self.steps[-1]

    @property
    def forks(self) -> bool:
        return self.last.jumps and self.last.name != "jmp"


_LEAVES = -1


@dataclass(frozen=True, kw_only=True)
class Function:
    """One function of a library: every piece of it, and every way through it."""

    library: Library
    entry: int
    pieces: tuple[_Piece, ...]

    def calls(self, *names: str, before: str, last: int) -> tuple[Call, ...]:
        """Return the last so many calls of these names that every path makes before it refers to the message.

        Raises:
            NotOneError: nothing in the function refers to the message, or from too many places.
            UnknownError: fewer calls stand on every path, or another one stands among them on some path.
        """
        asked = (names, before, last)
        if asked not in self._answered:
            self._answered[asked] = self._last_calls(names, before, last)
        return self._answered[asked]

    @cached_property
    def _answered(self) -> dict[tuple[tuple[str, ...], str, int], tuple[Call, ...]]:
        return {}

    def _last_calls(self, names: tuple[str, ...], before: str, last: int) -> tuple[Call, ...]:
        refers = set(self.library._references(before)) & {step.address for step in self._steps}
        if not refers:
            raise NotOneError("place in the function that refers to the message", ())
        goal = {
            index for index, block in self._blocks.items() for step in block.steps if step.address in refers
        }
        calls = [index for index, block in self._blocks.items() if self._calls(block, names)]
        if len(calls) > _ASKED_AT_MOST:
            raise UnknownError("more such calls than this reader takes on")
        before_goal = self._leading_to(goal)
        sure = [index for index in calls if index not in goal and not self._reached({index}) & goal]
        if not goal & self._reached():
            raise UnknownError("no path leads to the message")
        ordered = self._in_order(sure)
        if len(sure) < last:
            raise UnknownError(
                f"{len(sure)} calls of {' or '.join(names)} stand on every path to the message, not {last}"
            )
        chosen = ordered[len(ordered) - last :]
        between = self._reached(start=self._blocks[chosen[0]].follow) & before_goal & set(calls)
        if strays := sorted(between - set(chosen)):
            raise UnknownError(
                f"a call at {self._blocks[strays[0]].last.address:#x} stands among them on some paths"
            )
        return tuple(self._call(self._blocks[index], names) for index in chosen)

    def guard(self, of: Sequence[Call], compares_with: int) -> Seen:
        """Return whether these calls, all of them, are made only where some count is greater than
        `compares_with`.

        "present": one branch after a comparison that means this leads to all of the calls, its other side
        returns without them, and the instructions before the first of them use the value that was compared.
        "absent": no path returns without making each of the calls.
        "otherwise": some path returns without them, but what decides that is a flag of the function, and
        whatever is written to that flag is no such comparison; `conditions` says what is.

        "absent" and "otherwise" also mean that nothing before the calls in this function chooses by such a
        comparison, neither by a branch nor by a conditional move: it could have made their sizes nothing
        instead. What a callee decides is out of sight.

        Raises:
            UnknownError: none of the three can be said.
        """
        sites = self._sites(of)
        escapes = [_LEAVES in self._reached({site}) for site in sites]
        if any(escapes) and not all(escapes):
            raise UnknownError("some of the calls are made on every path and some are not")
        forks = self._deciding(sites) if any(escapes) else []
        fitting = [seen for fork in forks if (seen := self._compared(fork, compares_with, sites)) is not None]
        if len(fitting) == 1:
            return fitting[0]
        if fitting or (any(escapes) and not forks):
            raise UnknownError(
                "more than one condition decides whether the calls are made, or none that could be read"
            )
        self._choosing_by(compares_with, sites)
        if not forks:
            last = self._blocks[sites[0]].last
            return self.library.seen("absent", last.address, last.after)
        for fork in forks:
            for source in self._written_to(self._flag(fork)):
                self._is_no_comparison_with(compares_with, *source)
        test = _compare_before(self._blocks[forks[-1]].steps, len(self._blocks[forks[-1]].steps) - 1)
        assert test is not None
        return self.library.seen("otherwise", test.address, test.after)

    def conditions(self, of: Sequence[Call]) -> tuple[Seen, ...]:
        """Return what sets the flags that decide whether the calls are made: each comparison, and its use.

        Raises:
            UnknownError: it is not by flags of the function that it's decided, or not all that sets them can
            be read.
        """
        found: dict[int, Seen] = {}
        for fork in self._deciding(self._sites(of)):
            for compare, use in self._written_to(self._flag(fork)):
                start = use if compare is None or compare.address > use.address else compare
                value = (use.text,) if compare is None else (compare.text, use.text)
                found[use.address] = self.library.seen(value, start.address, start.after)
        return tuple(found[address] for address in sorted(found))

    def sequence(self, pattern: str) -> Seen:
        """Return what the named groups match, where the pattern matches a run of instructions of one block.

        An instruction is a line: its mnemonic, and its operands in Intel notation. Unnamed groups serve to
        refer back.

        Raises:
            NotOneError: it matches nowhere, or several times.
        """
        found: list[tuple[int, int, tuple[str, ...]]] = []
        for block in self._blocks.values():
            lines = "".join(step.text + "\n" for step in block.steps)
            for match in re.finditer(f"(?m)^(?:{pattern})$", lines):
                first = lines.count("\n", 0, match.start())
                last = lines.count("\n", 0, match.end())
                value = tuple(str(group) for group in match.groupdict().values())
                found.append((block.steps[first].address, block.steps[last].after, value))
        if len(found) != 1:
            raise NotOneError("such run of instructions", sorted(start for start, _, _ in found))
        start, end, value = found[0]
        return self.library.seen(value, start, end)

    # -- the graph

    @cached_property
    def _steps(self) -> tuple[_Step, ...]:
        if sum(piece.end - piece.start for piece in self.pieces) > _FUNCTION_AT_MOST:
            raise UnknownError("a function larger than this reader takes on")
        return tuple(step for piece in self.pieces for step in self.library._steps(piece))

    @cached_property
    def _blocks(self) -> dict[int, _Block]:
        """The blocks by the address of their first instruction."""
        steps = {step.address: step for step in self._steps}
        pads = sorted(pad for piece in self.pieces for pad in _pads(self.library, piece))
        if any(end > start for (_, end, _), (start, _, _) in pairwise(pads)):
            raise UnknownError("ranges of an exception table overlap")
        tables = {
            index: self._jump_table(index, steps)
            for index, step in enumerate(self._steps)
            if step.name == "jmp" and step.target is None and not self._leaves(step)
        }
        if len(tables) > _ASKED_AT_MOST:
            raise UnknownError("more jumps through tables than this reader takes on")
        leaders = {piece.start for piece in self.pieces} | {pad for _, _, pad in pads}
        leaders |= {step.after for step in self._steps if step.ends}
        leaders |= {target for targets in tables.values() for target in targets}
        leaders |= {step.target for step in self._steps if step.jumps and step.target is not None}
        if any(self._inside(one) and one not in steps for one in leaders):
            raise UnknownError("a jump leads into the middle of an instruction")
        blocks: dict[int, _Block] = {}
        first = 0
        for index, step in enumerate(self._steps):
            if step.ends or step.after in leaders or step.after not in steps:
                here = self._steps[first : index + 1]
                follow = list(tables[index]) if index in tables else list(self._follow(step, steps))
                nearest = bisect_right(pads, step.address, key=lambda one: one[0]) - 1
                if step.name == "call" and nearest >= 0 and step.address < pads[nearest][1]:
                    follow.append(pads[nearest][2])
                blocks[here[0].address] = _Block(steps=here, follow=tuple(follow))
                first = index + 1
        return blocks

    def _inside(self, address: int) -> bool:
        return any(piece.start <= address < piece.end for piece in self.pieces)

    def _leaves(self, step: _Step) -> bool:
        """Say whether an indirect jump is a call through the loader's table in the last place."""
        return _slot(step) in self.library._slots

    def _follow(self, step: _Step, steps: Mapping[int, _Step]) -> Iterator[int]:
        if step.name in _RETURNS or (step.name == "jmp" and step.target is None):
            yield _LEAVES
        elif step.name not in _HALTS and not (step.name == "call" and self.library._ends_here(step)):
            if step.jumps and step.target is not None:
                yield step.target if self._inside(step.target) else _LEAVES
            if step.name != "jmp":
                if step.after in steps:
                    yield step.after
                elif step.name != "call":
                    raise UnknownError(f"the code runs out of the function at {step.address:#x}")

    def _jump_table(self, index: int, steps: Mapping[int, _Step]) -> tuple[int, ...]:
        """Return where a jump through a table of offsets may lead.

        The table's length isn't read: every further entry that happens to fit is one edge too many, which
        does no harm.
        """
        jump = self._steps[index]
        before = "".join(step.text + "\n" for step in self._steps[max(0, index - 8) : index])
        found = re.search(
            r"lea (?P<base>\w+), \[rip (?P<sign>[+-]) (?P<by>0x[0-9a-f]+|\d+)\]\n(?:(?!j|call|ret).*\n)*?"
            r"movsxd (?P<to>\w+), dword ptr \[(?P=base) \+ \w+\*4\]\n(?:nop.*\n)*add (?P=to), (?P=base)\n\Z",
            before,
        )
        if found is None or found["to"] != jump.operands:
            raise UnknownError(f"nothing says where the jump at {jump.address:#x} leads")
        line = before.count("\n", 0, found.start()) + max(0, index - 8)
        base = self._steps[line].after + int(found["sign"] + found["by"], 0)
        targets: list[int] = []
        while len(targets) < _TABLE_AT_MOST:
            section = self.library._section(base + 4 * len(targets))
            if section is None or section.flags & 1:
                break
            entry = self.library._bytes(base + 4 * len(targets), 4)
            target = base + int.from_bytes(entry, "little", signed=True)
            if target not in steps:
                break
            targets.append(target)
        if not targets:
            raise UnknownError(f"nothing says where the jump at {jump.address:#x} leads")
        return tuple(sorted(set(targets)))

    def _reached(self, without: Iterable[int] = (), start: Iterable[int] | None = None) -> set[int]:
        """Return the blocks that some path reaches without passing through these."""
        closed = set(without)
        found: set[int] = set()
        todo = [self.entry] if start is None else list(start)
        while todo:
            index = todo.pop()
            if index not in found and index not in closed:
                found.add(index)
                if index != _LEAVES:
                    todo.extend(self._blocks[index].follow)
        return found

    @cached_property
    def _preceding(self) -> Mapping[int, tuple[int, ...]]:
        preceding: dict[int, list[int]] = {}
        for index, block in self._blocks.items():
            for follower in block.follow:
                preceding.setdefault(follower, []).append(index)
        return {index: tuple(found) for index, found in preceding.items()}

    def _leading_to(self, goal: Iterable[int], without: Iterable[int] = ()) -> set[int]:
        closed, found, todo = set(without), set[int](), list(goal)
        while todo:
            index = todo.pop()
            if index not in found and index not in closed:
                found.add(index)
                todo.extend(self._preceding.get(index, ()))
        return found

    # -- what the graph says

    def _calls(self, block: _Block, names: Sequence[str]) -> bool:
        return block.last.name == "call" and any(
            name in names for name in self.library._callee(block.last)[0]
        )

    def _call(self, block: _Block, names: Sequence[str]) -> Call:
        name = next(one for one in self.library._callee(block.last)[0] if one in names)
        constants: dict[str, int] = {}
        immediates: list[int] = []
        for step in block.steps[:-1]:
            into, _, source = step.operands.partition(", ")
            number = re.fullmatch(r"(?:.*, )?(-?0x[0-9a-f]+|-?\d+)", source or into)
            if number:
                immediates.append(int(number[1], 0))
            whole = _COUNT.fullmatch(into) is not None and into in _FAMILY
            if step.name in ("mov", "movabs") and whole and number:
                constants[_FAMILY[into]] = int(number[1], 0)
            elif step.name == "xor" and whole and into == source:
                constants[_FAMILY[into]] = 0
            elif (
                (not source and step.name not in ("push", "pop", "inc", "dec", "neg", "not", "nop"))
                or step.name in ("xchg", "xadd", "cmpxchg")
                or re.search(r"\[r[sd]i\].*\[rsi\]|es:|rep", step.text)
            ):
                constants.clear()
            elif step.name not in ("push", "cmp", "test"):
                constants.pop(_FAMILY.get(into, ""), None)
        seen = self.library.seen(name, block.last.address, block.last.after)
        return Call(
            name=name,
            address=block.last.address,
            seen=seen,
            constants=constants,
            immediates=tuple(immediates),
        )

    def _sites(self, of: Sequence[Call]) -> list[int]:
        """Return the blocks that make these calls, in the order in which the paths come by."""
        wanted = {call.address for call in of}
        sites = [index for index, block in self._blocks.items() if block.last.address in wanted]
        if not sites or len(sites) != len(wanted):
            raise UnknownError("the calls are not all in this function")
        if _LEAVES not in self._reached():
            raise UnknownError("no path returns from the function")
        return self._in_order(sites)

    def _in_order(self, blocks: Sequence[int]) -> list[int]:
        """Return the blocks so that each comes behind those that paths pass before it."""
        before = {index: len(self._reached({index}).intersection(blocks)) for index in blocks}
        return sorted(blocks, key=before.__getitem__)

    def _deciding(self, sites: Sequence[int]) -> list[int]:
        """Return the branches that every path to the calls passes and whose other side returns without any.

        Raises:
            UnknownError: paths lead around some of the calls in another way.
        """
        leading, leaving = self._leading_to(sites), self._leading_to({_LEAVES}, without=sites)
        forks = []
        for index in sorted(leading & leaving):
            block = self._blocks[index]
            if any(one in leaving and one not in leading for one in block.follow) and index in self._reached(
                sites
            ):
                if not block.forks or set(sites) & self._reached({index}):
                    raise UnknownError(
                        f"paths part at {block.last.address:#x}, of which only some make the calls"
                    )
                forks.append(index)
            if len(forks) > _PIECES_AT_MOST:
                raise UnknownError("too many conditions decide whether the calls are made")
        if forks and _LEAVES in self._reached({*forks, *sites}):
            raise UnknownError("some path returns around the conditions that were read")
        return forks

    def _compared(self, fork: int, count: int, sites: Sequence[int]) -> Seen | None:
        """Return the guard, if this branch leads to the sites only for a value they use above the count."""
        block = self._blocks[fork]
        compare = _compare_before(block.steps, len(block.steps) - 1)
        takes_low = None if compare is None else _asks_for_low(compare, block.last, count)
        if compare is None or takes_low is None or len(block.follow) != 2:
            return None
        taken, passed = block.follow
        if (passed if takes_low else taken) not in self._leading_to(sites):
            return None
        if not self._uses(passed if takes_low else taken, compare.operands.partition(", ")[0]):
            raise UnknownError(
                f"what is compared at {compare.address:#x} is not seen to be used by the calls"
            )
        return self.library.seen("present", compare.address, block.last.after)

    def _uses(self, start: int, value: str) -> bool:
        """Say whether the straight line from here to its first call reckons with the value compared."""
        for step in self._blocks[start].steps[:-1]:
            into, _, source = step.operands.partition(", ")
            read = step.operands if "[" in into or step.name in _RECKONS else source
            same = [value]
            if value in _FAMILY and step.name in _RECKONS:
                same = [name for name in _FAMILY if _FAMILY[name] == _FAMILY[value]]
            if into != source and any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", read) for name in same):
                return True
            if into == value or (value in _FAMILY and _FAMILY.get(into) == _FAMILY[value]):
                return False
        return False

    def _choosing_by(self, count: int, sites: Sequence[int]) -> None:
        """Make sure that nothing before the calls chooses by a comparison that means "greater than the
        count".

        A branch that leads to the calls on one side only, and raises on the other, is no choice.
        """
        leading = self._leading_to(sites)
        for index in sorted(leading):
            block = self._blocks[index]
            for place, step in enumerate(block.steps):
                if (step.jumps and sum(one in leading for one in block.follow) > 1) or _ON_FLAGS.fullmatch(
                    step.name
                ):
                    compare = _compare_before(block.steps, place)
                    if compare is not None and _asks_for_low(compare, step, count) is not None:
                        raise UnknownError(
                            f"a choice by a comparison with {count}, at {step.address:#x}, precedes the calls"
                        )
        calling = {index for index, block in self._blocks.items() if block.last.name == "call"} - set(sites)
        for index in sorted(self._leading_to(sites, without=calling)):
            if any(_ON_FLAGS.fullmatch(step.name) for step in self._blocks[index].steps):
                raise UnknownError(f"a conditional move right before the calls, in the block at {index:#x}")

    def _flag(self, fork: int) -> str:
        """Return the place in the function's frame whose truth this branch asks for."""
        block = self._blocks[fork]
        compare = _compare_before(block.steps, len(block.steps) - 1)
        asked = compare.operands if compare else ""
        found = re.fullmatch(r"(byte ptr \[rbp - (?:0x[0-9a-f]+|\d+)\]), 0", asked)
        if found is None or block.last.name not in ("je", "jne"):
            raise UnknownError(
                f"the branch at {block.last.address:#x} asks for something that this reader can't trace"
            )
        return found[1]

    def _written_to(self, flag: str) -> list[tuple[_Step | None, _Step]]:
        """Return whatever is written to the flag: the comparison whose outcome it is, if it is one, and its
        use.

        Raises:
            UnknownError: something else may be written to it.
        """
        place = int(flag.rpartition(" ")[2][:-1], 0)
        found: list[tuple[_Step | None, _Step]] = []
        for block in self._blocks.values():
            for index, step in enumerate(block.steps):
                into = step.operands.partition(", ")[0]
                touched = _IN_FRAME.search(step.operands)
                if "[rbp + r" in step.operands:
                    raise UnknownError(f"what is written to at {step.address:#x} depends on an index")
                if touched is None or not 0 <= int(touched["at"], 0) - place < _WIDTHS.get(
                    touched["width"], 64
                ):
                    continue
                if step.name == "lea" or (
                    touched["width"] != "byte" and "[" in into and step.name not in ("cmp", "test")
                ):
                    raise UnknownError(
                        f"the flag that decides may be written to at {step.address:#x} in another way"
                    )
                if into == flag and step.name not in ("cmp", "test"):
                    found += self._outcome(block, index, flag)
        if not found:
            raise UnknownError("nothing is seen to write to the flag that decides")
        return found

    def _outcome(self, block: _Block, index: int, flag: str) -> list[tuple[_Step | None, _Step]]:
        """Return the comparisons whose outcomes the instruction stores."""
        step = block.steps[index]
        source = step.operands.partition(", ")[2]
        if step.name.startswith("set"):
            return [(_required(_compare_before(block.steps, index), step), step)]
        if step.name != "mov":
            raise UnknownError(f"what is stored at {step.address:#x} can't be traced")
        if source in ("0", "1"):
            fork = block.steps if block.forks else ()
            return [(_compare_before(fork, len(fork) - 1) if fork else None, step)]
        return self._traced(block, index, source, flag)

    def _traced(
        self, block: _Block, index: int, register: str, flag: str
    ) -> list[tuple[_Step | None, _Step]]:
        """Return the comparisons that a one byte register was put together from in this block."""
        for place in range(index - 1, -1, -1):
            step = block.steps[place]
            into, _, source = step.operands.partition(", ")
            if _FAMILY.get(into) != _FAMILY.get(register) or step.name in ("cmp", "test"):
                continue
            if step.name.startswith("set") and into == register:
                return [(_required(_compare_before(block.steps, place), step), step)]
            if step.name in ("or", "and") and into == register:
                other = [] if source == flag else self._traced(block, place, source, flag)
                return self._traced(block, place, register, flag) + other
            break
        raise UnknownError(f"what is stored at {block.steps[index].address:#x} can't be traced")

    def _is_no_comparison_with(self, count: int, compare: _Step | None, use: _Step) -> None:
        if compare is not None:
            number = compare.operands.partition(", ")[2]
            if not re.fullmatch(r"0x[0-9a-f]+|\d+", number) or abs(int(number, 0) - count) <= 1:
                raise UnknownError(
                    f"the flag that decides may be set by a comparison with {count} at {use.address:#x}"
                )


def _required(compare: _Step | None, step: _Step) -> _Step:
    if compare is None:
        raise UnknownError(f"what is asked for at {step.address:#x} can't be traced")
    return compare


def _compare_before(steps: Sequence[_Step], index: int) -> _Step | None:
    """Return the comparison whose flags the instruction at the index reads, if it stands in this block."""
    for step in reversed(steps[max(0, index - 32) : index]):
        if step.name == "cmp":
            return step
        if not _KEEPS_FLAGS.fullmatch(step.name):
            return None
    return None


def _asks_for_low(compare: _Step, asks: _Step, count: int) -> bool | None:
    """Say whether the instruction acts where the value is at most the count, or above it (None: neither)."""
    value, _, number = compare.operands.partition(", ")
    if not _COUNT.fullmatch(value) or not re.fullmatch(r"(0x[0-9a-f]+|\d+)", number):
        return None
    by = {count: _UP_TO, count + 1: _BELOW}.get(int(number, 0))
    found = by.fullmatch(asks.name) if by else None
    return None if found is None else found["when"] is None or found["when"] in _LOW


def _decoder() -> Any:
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = False
    return decoder


def _slot(step: _Step) -> int | None:
    """Return the place that an indirect call or jump takes its target from, if the instruction names one."""
    found = re.fullmatch(r"qword ptr \[rip ([+-]) (0x[0-9a-f]+|\d+)\]", step.operands)
    return None if found is None else step.after + int(found[1] + found[2], 0)


# -- the file's own tables


def _unpack(form: str, body: bytes, offset: int) -> tuple[Any, ...]:
    if offset < 0 or offset + struct.calcsize(form) > len(body):
        raise UnknownError("the file ends inside a table, or a size in it is wrong")
    return struct.unpack_from(form, body, offset)


def _text(names: bytes, offset: int) -> str:
    end = names.find(b"\0", offset, offset + 16384)
    return names[offset:end].decode("ascii", "replace") if 0 <= offset <= end else ""


def _sections(body: bytes) -> tuple[_Section, ...]:
    if body[:4] != b"\x7fELF" or len(body) < 64:
        raise UnknownError("these bytes are not an ELF file")
    kind, machine = _unpack("<HH", body, 16)
    if body[4:6] != b"\x02\x01" or machine != 62 or kind not in (2, 3):
        raise UnknownError("the ELF file is not a 64 bit library or program for x86_64")
    (table,) = _unpack("<Q", body, 40)
    size, count, names_at = _unpack("<HHH", body, 58)
    if size != 64 or not 0 < count <= _SECTIONS_AT_MOST or names_at >= count:
        raise UnknownError("the ELF file has no section table that this reader can take on")
    rows = [_unpack("<IIQQQQII", body, table + 64 * index) for index in range(count)]
    names = body[rows[names_at][4] : rows[names_at][4] + rows[names_at][5]]
    found = tuple(
        _Section(
            name=_text(names, name),
            kind=kind,
            flags=flags,
            address=address,
            offset=offset,
            size=size,
            link=link,
        )
        for name, kind, flags, address, offset, size, link, _ in rows
    )
    stored = sorted(
        (one.offset, one.offset + one.size) for one in found if one.kind not in (0, 8) and one.size
    )
    if any(end > len(body) for _, end in stored):
        raise UnknownError("the ELF file is cut short, or a section's size in it is wrong")
    if any(end > start for (_, end), (start, _) in pairwise(stored)):
        raise UnknownError("sections of the ELF file overlap")
    placed = sorted((one.address, one.address + one.size) for one in found if one.loaded and one.size)
    if any(end > start for (_, end), (start, _) in pairwise(placed)) or (placed and placed[-1][1] >= 1 << 63):
        raise UnknownError("sections of the ELF file overlap where they are loaded")
    return found


class _Cursor:
    """A place in a table of the unwinder, moving on as values are read."""

    def __init__(self, content: bytes, address: int, offset: int) -> None:
        self.content, self.address, self.offset = content, address, offset

    def take(self, form: str) -> int:
        (value,) = _unpack("<" + form, self.content, self.offset)
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
        if encoding == 0xFF:
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


def _frames(content: bytes, address: int) -> Iterator[_Piece]:
    """Yield the ranges of an unwind table."""
    common: dict[int, tuple[int, int, int]] = {}
    offset = 0
    while offset + 4 <= len(content):
        length, identity = _unpack("<II", content, offset) if offset + 8 <= len(content) else (0, 0)
        if length == 0:
            break
        if length == 0xFFFFFFFF or length < 4 or offset + 4 + length > len(content):
            raise UnknownError("an entry of the unwind table is longer than the table")
        cursor = _Cursor(content[offset : offset + 4 + length], address + offset, 8)
        if identity == 0:
            common[offset] = _common(cursor)
        else:
            encoding, pads_encoding, extra = common.get(offset + 4 - identity, (0xFF, 0xFF, 0))
            if encoding == 0xFF:
                raise UnknownError("an entry of the unwind table has no common part")
            start = cursor.pointer(encoding)
            end = start + cursor.pointer(encoding, relative=False)
            pads = 0
            if extra:
                after = cursor.uleb() + cursor.offset
                pads = cursor.pointer(pads_encoding)
                cursor.offset = after
            if end > start > 0:
                yield _Piece(start=start, end=end, pads=pads, begins=_begins(cursor))
        offset += 4 + length


def _common(cursor: _Cursor) -> tuple[int, int, int]:
    """Return how entries with this common part write code and exception addresses, and if they say more."""
    cursor.take("B")
    end = cursor.content.find(b"\0", cursor.offset)
    letters = cursor.content[cursor.offset : end] if end >= 0 else b"?"
    cursor.offset = end + 1
    cursor.uleb()
    cursor.uleb()
    cursor.uleb()
    code, pads = 0, 0xFF
    if letters[:1] == b"z":
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
    return code, pads, letters[:1] == b"z"


def _begins(cursor: _Cursor) -> bool:
    """Say whether a range starts with a caller's frame: a function does, a part moved out of one does not."""
    while cursor.offset < len(cursor.content):
        operation = cursor.take("B")
        if operation == 0:
            continue
        return operation >> 6 == 1 or operation in (0x01, 0x02, 0x03, 0x04)
    return True


def _pads(library: Library, piece: _Piece) -> Iterator[tuple[int, int, int]]:
    """Yield which calls of the piece, from start to end, may continue at which place when they raise."""
    if not piece.pads:
        return
    section = library._section(piece.pads)
    if section is None:
        raise UnknownError("an exception table is not where the unwind table says")
    cursor = _Cursor(library._content(section), section.address, piece.pads - section.address)
    base = cursor.take("B")
    base = piece.start if base == 0xFF else cursor.pointer(base)
    if cursor.take("B") != 0xFF:
        cursor.uleb()
    encoding = cursor.take("B")
    end = cursor.uleb()
    end += cursor.offset
    while cursor.offset < end:
        start = cursor.pointer(encoding, relative=False) + piece.start
        size = cursor.pointer(encoding, relative=False)
        pad = cursor.pointer(encoding, relative=False)
        cursor.uleb()
        if pad:
            yield start, start + size, base + pad


# -- names


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
