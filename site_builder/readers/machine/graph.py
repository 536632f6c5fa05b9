"""Control flow: a function's pieces, its blocks, and the paths through them, with no edge left out.

A call may go on at its landing pad, a jump through a table at every entry that fits; a jump whose targets can't be listed
makes the function unknown. An edge too many can turn an answer into unknown, never into the opposite one. What the
instructions do with values is for `dataflow` to say.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from site_builder.readers import UnknownError
from site_builder.readers.machine.code import Code, Instruction
from site_builder.readers.machine.frames import LandingPad, Piece, landing_pads

# Far above what a real function needs.
_FUNCTION_AT_MOST = 256 << 10
_PIECES_AT_MOST = 64
_TABLES_AT_MOST = 256
_ENTRIES_AT_MOST = 4096

LEAVES = -1
"""Where a path goes that returns: it stands among the blocks that follow one, and is none."""

_TABLE_JUMP = re.compile(
    r"lea (?P<base>\w+), \[rip (?P<sign>[+-]) (?P<by>0x[0-9a-f]+|\d+)\]\n(?:(?!j|call|ret).*\n)*?"
    r"movsxd (?P<to>\w+), dword ptr \[(?P=base) \+ \w+\*4\]\n(?:nop.*\n)*add (?P=to), (?P=base)\n\Z"
)
"""What stands before a jump through a table of 32 bit offsets from the table itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Instructions that run one after the other, and the blocks that may follow."""

    instructions: tuple[Instruction, ...]
    follow: tuple[int, ...]
    """Their addresses, or `LEAVES`; where a branch goes when it's taken stands first."""

    @property
    def last(self) -> Instruction:
        """The instruction that decides what follows."""
        return self.instructions[-1]

    @property
    def forks(self) -> bool:
        """Whether it ends with a branch."""
        return self.last.jumps and self.last.name != "jmp"


def graph_of(code: Code, piece: Piece) -> Graph:
    """Return the function that this piece is part of: all pieces that jump into each other, one of them its entry.

    Raises:
        UnknownError: which pieces belong to it, or which is its entry, can't be told.
    """
    pieces, todo = {piece.start: piece}, [piece]
    while todo:
        for other in _neighbours(code, todo.pop()):
            if other.start not in pieces:
                pieces[other.start] = other
                todo.append(other)
        if len(pieces) > _PIECES_AT_MOST:
            raise UnknownError("a function in more pieces than this reader takes on")
    entries = [one.start for one in pieces.values() if one.begins]
    if len(entries) != 1:
        raise UnknownError(f"{len(entries)} of the {len(pieces)} pieces of the function could be its entry")
    return Graph(code=code, entry=entries[0], pieces=tuple(pieces[start] for start in sorted(pieces)))


def _neighbours(code: Code, piece: Piece) -> Iterator[Piece]:
    for step in code.instructions(piece):
        if step.jumps and (target := step.target) is not None and not piece.holds(target):
            other = code.piece_at(target)
            # A jump to a function's entry, or into the linkage table, is a call in the last place.
            if other and (target > other.start or not other.begins) and target not in code.image.stubs:
                yield other
    yield from code.jumping_into(piece)


@dataclass(frozen=True, kw_only=True, eq=False)
class Graph:
    """One function: every piece of it, and every way through it."""

    code: Code
    entry: int
    pieces: tuple[Piece, ...]

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """All instructions, by address.

        Raises:
            UnknownError: the function is too large, or can't be decoded.
        """
        if sum(piece.end - piece.start for piece in self.pieces) > _FUNCTION_AT_MOST:
            raise UnknownError("a function larger than this reader takes on")
        return tuple(step for piece in self.pieces for step in self.code.instructions(piece))

    @cached_property
    def blocks(self) -> Mapping[int, Block]:
        """The blocks by the address of their first instruction.

        Raises:
            UnknownError: where control goes can't be told everywhere.
        """
        pads, tables = self._landing_pads(), self._jump_tables()
        leaders = self._leaders(pads, tables)
        blocks: dict[int, Block] = {}
        first = 0
        for index, step in enumerate(self.instructions):
            if step.ends or step.after in leaders or step.after not in self._addresses:
                here = self.instructions[first : index + 1]
                follow = tables[step.address] if step.address in tables else tuple(self._follow(step))
                blocks[here[0].address] = Block(instructions=here, follow=follow + _raises_to(pads, step))
                first = index + 1
        return blocks

    def reached(self, without: Iterable[int] = (), start: Iterable[int] | None = None) -> set[int]:
        """Return the blocks that some path reaches, `LEAVES` among them, without passing through these."""
        return _closure([self.entry] if start is None else start, self._following, set(without))

    def leading_to(self, goal: Iterable[int], without: Iterable[int] = ()) -> set[int]:
        """Return the blocks from which some path leads to one of these, without passing through those."""
        return _closure(goal, self._preceding, set(without))

    def in_order(self, blocks: Collection[int]) -> list[int]:
        """Return the blocks so that each comes behind those that paths pass before it."""
        before = {index: len(self.reached({index}).intersection(blocks)) for index in blocks}
        return sorted(blocks, key=before.__getitem__)

    @cached_property
    def _addresses(self) -> frozenset[int]:
        return frozenset(step.address for step in self.instructions)

    @cached_property
    def _following(self) -> Mapping[int, tuple[int, ...]]:
        return {index: block.follow for index, block in self.blocks.items()}

    @cached_property
    def _preceding(self) -> Mapping[int, list[int]]:
        preceding: dict[int, list[int]] = {}
        for index, block in self.blocks.items():
            for follower in block.follow:
                preceding.setdefault(follower, []).append(index)
        return preceding

    def _inside(self, address: int) -> bool:
        return any(piece.holds(address) for piece in self.pieces)

    def _landing_pads(self) -> list[LandingPad]:
        pads = sorted(pad for piece in self.pieces for pad in landing_pads(self.code.image, piece))
        if any(one.end > other.start for one, other in pairwise(pads)):
            raise UnknownError("ranges of an exception table overlap")
        if any(not self._inside(pad.address) for pad in pads):
            raise UnknownError("a call that raises goes on outside the function")
        return pads

    def _leaders(self, pads: Iterable[LandingPad], tables: Mapping[int, tuple[int, ...]]) -> set[int]:
        """Return where blocks begin, and perhaps places outside the function."""
        leaders = {piece.start for piece in self.pieces} | {pad.address for pad in pads}
        leaders |= {step.after for step in self.instructions if step.ends}
        leaders |= {target for targets in tables.values() for target in targets}
        leaders |= {step.target for step in self.instructions if step.jumps and step.target is not None}
        if any(one not in self._addresses and self._inside(one) for one in leaders):
            raise UnknownError("a jump leads into the middle of an instruction")
        return leaders

    def _follow(self, step: Instruction) -> Iterator[int]:
        """Yield where control goes behind the last instruction of a block, unless it raises or looks into a table."""
        if step.returns or (step.name == "jmp" and step.target is None):
            yield LEAVES
        elif not step.halts and not (step.name == "call" and self.code.never_returns(step)):
            if step.jumps and step.target is not None:
                yield step.target if self._inside(step.target) else LEAVES
            if step.name != "jmp":
                if step.after in self._addresses:
                    yield step.after
                elif step.name != "call":
                    raise UnknownError(f"the code runs out of the function at {step.address:#x}")

    def _jump_tables(self) -> Mapping[int, tuple[int, ...]]:
        """Return where jumps through tables may lead, by their address."""
        tables = {
            step.address: self._jump_table(index)
            for index, step in enumerate(self.instructions)
            # A jump through the loader's table is a call in the last place.
            if step.name == "jmp" and step.target is None and step.slot not in self.code.image.slots
        }
        if len(tables) > _TABLES_AT_MOST:
            raise UnknownError("more jumps through tables than this reader takes on")
        return tables

    def _jump_table(self, index: int) -> tuple[int, ...]:
        """Return where a jump through a table of offsets may lead.

        The table's length isn't read: every further entry that happens to fit is one edge too many, which does no harm.
        """
        jump = self.instructions[index]
        before = self.instructions[max(0, index - 8) : index]
        text = "".join(step.text + "\n" for step in before)
        found = _TABLE_JUMP.search(text)
        targets: set[int] = set()
        if found is not None and found["to"] == jump.operands:
            base = before[text.count("\n", 0, found.start())].after + int(found["sign"] + found["by"], 0)
            targets.update(self._entries(base))
        if not targets:
            raise UnknownError(f"nothing says where the jump at {jump.address:#x} leads")
        return tuple(sorted(targets))

    def _entries(self, base: int) -> Iterator[int]:
        """Yield where the offsets from here on lead, as long as that is an instruction of this function."""
        for place in range(base, base + 4 * _ENTRIES_AT_MOST, 4):
            section = self.code.image.section_at(place)
            if section is None or section.writable:
                break
            target = base + int.from_bytes(self.code.image.bytes_at(place, 4), "little", signed=True)
            if target not in self._addresses:
                break
            yield target


def _raises_to(pads: list[LandingPad], step: Instruction) -> tuple[int, ...]:
    """Return where the block goes on when its last instruction, a call, raises and the function catches it."""
    nearest = bisect_right(pads, step.address, key=lambda one: one.start) - 1
    caught = step.name == "call" and nearest >= 0 and step.address < pads[nearest].end
    return (pads[nearest].address,) if caught else ()


def _closure(start: Iterable[int], onward: Mapping[int, Iterable[int]], closed: set[int]) -> set[int]:
    """Return what can be come by from the start, itself included, where the closed blocks can't be entered."""
    found: set[int] = set()
    todo = list(start)
    while todo:
        index = todo.pop()
        if index not in found and index not in closed:
            found.add(index)
            todo.extend(onward.get(index, ()))
    return found
