"""Code: the instructions of a library, decoded piece by piece, what they refer to, and what they call.

Capstone decodes; its text, in Intel notation, is what every other module reads. A scan over all code finds bytes that may
be an instruction of a kind, and decoding the piece around them says whether one is. How control moves from one instruction
to the next is for `graph` to say.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import capstone

from site_builder.readers import UnknownError
from site_builder.readers.machine.elf import Image
from site_builder.readers.machine.frames import Piece, pieces

# Far above what a real library needs: a lying file ends as unknown, in seconds.
_CODE_AT_MOST = 32 << 20
_DECODED_AT_MOST = 4 << 20
_SCANNED_AT_MOST = 2_000_000
_PLACES_AT_MOST = 64
_CALLEE_AT_MOST = 1 << 14
_CALLEE_PIECES_AT_MOST = 8

_NEVER_RETURNS = re.compile(
    r"__cxa_(throw|rethrow|bad_cast|bad_typeid|throw_bad_array_new_length|call_unexpected|call_terminate)"
    r"|_Unwind_Resume|__clang_call_terminate|abort|exit|_exit|__stack_chk_fail|__assert_fail"
    r"|std::terminate|std::__throw_\w+"
)
"""What the C and C++ runtimes define never to return."""

_RETURNS = frozenset({"ret", "retf", "retfq", "iretq"})
_HALTS = frozenset({"ud2", "ud1", "ud0", "hlt", "int3"})

# Both end where a distance of 32 bits begins, which counts from the byte behind it.
_LEA = re.compile(rb"(?s)[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](?=(....))")
_LONG_JUMP = re.compile(rb"(?s)(?:\x0f[\x80-\x8f]|\xe9)(?=(....))")


@dataclass(frozen=True, kw_only=True, slots=True)
class Instruction:
    """One instruction: where it stands, where the next one does, its mnemonic and its operands."""

    address: int
    after: int
    name: str
    operands: str

    @property
    def text(self) -> str:
        """Mnemonic and operands."""
        return f"{self.name} {self.operands}".strip()

    @property
    def target(self) -> int | None:
        """Where a direct jump or call goes."""
        return int(self.operands, 16) if self.operands.startswith("0x") and "," not in self.operands else None

    @property
    def slot(self) -> int | None:
        """The place that an indirect jump or call takes its target from, if the instruction names one."""
        found = re.fullmatch(r"qword ptr \[rip ([+-]) (0x[0-9a-f]+|\d+)\]", self.operands)
        return None if found is None else self.after + int(found[1] + found[2], 0)

    @property
    def jumps(self) -> bool:
        """Whether it may go on somewhere else in the function."""
        return self.name[0] == "j" or self.name.startswith("loop") or self.name == "xbegin"

    @property
    def returns(self) -> bool:
        """Whether it goes back to the caller."""
        return self.name in _RETURNS

    @property
    def halts(self) -> bool:
        """Whether nothing follows it."""
        return self.name in _HALTS

    @property
    def ends(self) -> bool:
        """Whether a block ends with it."""
        return self.jumps or self.name == "call" or self.returns or self.halts


class Code:
    """The code of one library, decoded as far as it was asked for; what was decoded once is kept."""

    def __init__(self, image: Image, never_return: frozenset[str]) -> None:
        self.image = image
        self._never_return = never_return
        self._instructions: dict[int, tuple[Instruction, ...]] = {}
        self._decoded = 0
        self._returning: dict[int, bool] = {}

    def piece_at(self, address: int) -> Piece | None:
        """Return the range of the unwind table in which the address lies, if one does.

        Raises:
            UnknownError: the unwind table can't be read.
        """
        index = bisect_right(self._pieces, address, key=lambda one: one.start) - 1
        return self._pieces[index] if index >= 0 and address < self._pieces[index].end else None

    def instructions(self, piece: Piece) -> tuple[Instruction, ...]:
        """Return the piece's instructions, one after the other without a gap.

        Raises:
            UnknownError: some byte of it belongs to no instruction, or too much was decoded already.
        """
        if piece.start not in self._instructions:
            size = piece.end - piece.start
            if self._decoded + size > _DECODED_AT_MOST:
                raise UnknownError("more code to follow than this reader takes on")
            found = tuple(
                # A prefix (`rep`, `notrack`) is no part of the mnemonic's meaning here.
                Instruction(address=at, after=at + length, name=name.split()[-1], operands=operands)
                for at, length, name, operands in self._decoder.disasm_lite(
                    self.image.bytes_at(piece.start, size), piece.start
                )
            )
            if not found or found[-1].after != piece.end:
                raise UnknownError(f"not every byte of the function at {piece.start:#x} is an instruction")
            self._instructions[piece.start] = found
            self._decoded += size
        return self._instructions[piece.start]

    def instruction_at(self, address: int) -> Instruction | None:
        """Return the instruction that begins at the address, if one does there in a known piece.

        Raises:
            UnknownError: the piece around it can't be decoded.
        """
        piece = self.piece_at(address)
        steps = self.instructions(piece) if piece else ()
        index = bisect_left(steps, address, key=lambda one: one.address)
        return steps[index] if index < len(steps) and steps[index].address == address else None

    def references(self, message: str) -> list[int]:
        """Return the places of the instructions that form the address of exactly this NUL-terminated text.

        A place outside every known piece counts as well: it may be such an instruction.

        Raises:
            UnknownError: the text, or what refers to it, stands in too many places.
        """
        texts = self._places_of(message.encode() + b"\0")
        found: list[int] = []
        for target, place in self._scan(_LEA) if texts else ():
            if target in texts:
                if self.piece_at(place) is None or self.instruction_at(place) is not None:
                    found.append(place)
                if len(found) > _PLACES_AT_MOST:
                    raise UnknownError("the message is referred to from too many places")
        return found

    def jumping_into(self, piece: Piece) -> Iterator[Piece]:
        """Yield the other pieces that jump into this one, once for each jump; to jump to its entry is to call it.

        Raises:
            UnknownError: a piece around what looks like such a jump can't be decoded.
        """
        first = bisect_left(self._long_jumps, (piece.start + piece.begins, -1))
        for target, place in self._long_jumps[first : bisect_left(self._long_jumps, (piece.end, -1))]:
            if not piece.holds(place) and (other := self.piece_at(place)) is not None:
                jump = self.instruction_at(place)
                if jump is not None and jump.target == target:
                    yield other

    def callee(self, call: Instruction) -> tuple[tuple[str, ...], int]:
        """Return the names of what is called, and its address in this library or 0."""
        if (slot := call.slot) is not None:
            name, address = self.image.slots.get(slot, ("", 0))
        elif (target := call.target) is None:
            return (), 0
        elif target in self.image.stubs:
            name, address = self.image.stubs[target]
        else:
            return self.image.names.get(target, ()), target
        return (name,) if name else (), address

    def never_returns(self, call: Instruction) -> bool:
        """Say whether the callee is known never to return: by its name, or because there is no return in it at all."""
        names, address = self.callee(call)
        if any(name in self._never_return or _NEVER_RETURNS.fullmatch(name) for name in names):
            return True
        if address and address not in self._returning:
            self._returning[address] = self._may_return(address)
        return address != 0 and not self._returning[address]

    def _may_return(self, address: int) -> bool:
        seen: set[int] = set()
        todo = [address]
        while todo:
            piece = self.piece_at(todo.pop())
            if piece is None or len(seen) > _CALLEE_PIECES_AT_MOST or piece.end - piece.start > _CALLEE_AT_MOST:
                return True
            if piece.start not in seen:
                seen.add(piece.start)
                for step in self.instructions(piece):
                    if step.returns or (step.jumps and step.target is None):
                        return True
                    if step.jumps and step.target is not None and not piece.holds(step.target):
                        todo.append(step.target)
        return False

    @cached_property
    def _pieces(self) -> tuple[Piece, ...]:
        return pieces(self.image)

    @cached_property
    def _decoder(self) -> capstone.Cs:
        return capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)

    @cached_property
    def _long_jumps(self) -> list[tuple[int, int]]:
        """Target and place of whatever looks like a long jump, by target; most of it is one."""
        return sorted(self._scan(_LONG_JUMP))

    def _scan(self, kind: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
        """Yield target and place of whatever looks like an instruction of this kind."""
        sections = [one for one in self.image.loaded if one.executable]
        if sum(one.size for one in sections) > _CODE_AT_MOST:
            raise UnknownError("more code than this reader takes on")
        scanned = 0
        for section in sections:
            for found in kind.finditer(self.image.content(section)):
                scanned += 1
                if scanned > _SCANNED_AT_MOST:
                    raise UnknownError("more code than this reader takes on")
                after = section.address + found.end() + 4
                yield after + int.from_bytes(found[1], "little", signed=True), section.address + found.start()

    def _places_of(self, text: bytes) -> set[int]:
        places: set[int] = set()
        for section in self.image.loaded:
            if not section.executable:
                content = self.image.content(section)
                at = content.find(text)
                while at >= 0 and len(places) <= _PLACES_AT_MOST:
                    places.add(section.address + at)
                    at = content.find(text, at + 1)
        if len(places) > _PLACES_AT_MOST:
            raise UnknownError("the message stands in too many places")
        return places
