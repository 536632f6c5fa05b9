"""Machine code: what a function of an x86_64 ELF library does on every path, read off its bytes, not run.

Here stand the questions. `elf` and `frames` read the file's own tables, `code` decodes, `graph` knows the paths through one
function, and `dataflow` what its instructions compare and pass on; each goes as far as a question needs it. What the
functions mean, and which names and messages to look for, is the audit's.

An answer holds for *every* path from a function's entry to its return, over a graph that leaves no edge out. What was found
once is kept, so several questions to one library cost one analysis.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from site_builder.readers import NotOneError, Seen, UnknownError, digest_of
from site_builder.readers.machine import dataflow, elf
from site_builder.readers.machine.code import Code
from site_builder.readers.machine.frames import Piece
from site_builder.readers.machine.graph import LEAVES, Block, Graph, graph_of

# Far above what a real function needs.
_CALLS_AT_MOST = 256
_FORKS_AT_MOST = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A call: the callee's qualified name, where it stands, and what the line of code before it passes.

    `constants` are the registers that hold a known number at the call, by their 64 bit names; `immediates` are the numbers
    written in those instructions, in order.
    """

    name: str
    address: int
    seen: Seen
    constants: Mapping[str, int]
    immediates: tuple[int, ...]


def read(body: bytes, never_return: Iterable[str] = ()) -> Library:
    """Return the library with its sections read; `never_return` names callees known to raise or end the process.

    Raises:
        UnknownError: these are not the bytes of a whole x86_64 ELF file, or a size in them is wrong.
    """
    return Library(image=elf.opened(body), never_return=frozenset(never_return))


@dataclass(frozen=True, kw_only=True, eq=False)
class Library:
    """An x86_64 ELF library, ready to be asked for one function."""

    image: elf.Image
    never_return: frozenset[str]
    _functions: dict[int, Function] = field(default_factory=dict, init=False, repr=False)
    _raising: dict[str, Function] = field(default_factory=dict, init=False, repr=False)

    def function_raising(self, message: str) -> Function:
        """Return the one function whose code refers to exactly this NUL-terminated text.

        Raises:
            NotOneError: no function refers to it, or several do.
            UnknownError: code that belongs to no known function refers to it, or its function can't be followed.
        """
        if message not in self._raising:
            self._raising[message] = self._found_raising(message)
        return self._raising[message]

    def function_named(self, name: str) -> Function:
        """Return the one function with this qualified name (`space::Class::method`).

        Raises:
            NotOneError: no symbol has the name, or several functions have it.
            UnknownError: its code can't be followed.
        """
        places = [place for place, names in self.image.names.items() if name in names]
        if len(places) != 1:
            raise _not_one(f"function named {name}", places)
        piece = self._code.piece_at(places[0])
        if piece is None or piece.start != places[0]:
            raise UnknownError(f"the unwinder knows no function at {places[0]:#x}")
        return self._function_around(piece)

    def seen(self, value: str | tuple[str, ...], start: int, end: int) -> Seen:
        """Return the value as read from the instructions from start to end."""
        region = self.image.bytes_at(start, end - start)
        section = self.image.section_at(start)
        assert section is not None
        at = {"section": section.name, "address": f"{start:#x}", "bytes": region.hex()}
        return Seen(value=value, at=at, region=digest_of(region))

    @cached_property
    def _code(self) -> Code:
        return Code(self.image, self.never_return)

    def _found_raising(self, message: str) -> Function:
        found: dict[int, Function] = {}
        for place in self._code.references(message):
            if not any(piece.holds(place) for function in found.values() for piece in function.graph.pieces):
                piece = self._code.piece_at(place)
                if piece is None:
                    raise UnknownError(f"code outside every function, at {place:#x}, refers to the message")
                function = self._function_around(piece)
                found[function.entry] = function
        if len(found) != 1:
            raise _not_one("function that refers to the message", found)
        return next(iter(found.values()))

    def _function_around(self, piece: Piece) -> Function:
        graph = graph_of(self._code, piece)
        return self._functions.setdefault(graph.entry, Function(library=self, graph=graph))


@dataclass(frozen=True, kw_only=True, eq=False)
class Function:
    """One function of a library, ready to be asked what it does on every path."""

    library: Library
    graph: Graph
    _calls: dict[tuple[tuple[str, ...], str, int], tuple[Call, ...]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def entry(self) -> int:
        """The address that it is called at."""
        return self.graph.entry

    def calls(self, *names: str, before: str, last: int) -> tuple[Call, ...]:
        """Return the last so many calls of these names that every path makes before it refers to the message.

        Raises:
            NotOneError: nothing in the function refers to the message.
            UnknownError: fewer calls stand on every path, or another one stands among them on some path.
        """
        asked = (names, before, last)
        if asked not in self._calls:
            self._calls[asked] = self._last_calls(names, before, last)
        return self._calls[asked]

    def guard(self, of: Sequence[Call], compares_with: int) -> Seen:
        """Return whether these calls, all of them, are made only where some count is greater than `compares_with`.

        "present": one branch after a comparison that means this leads to all of the calls, its other side returns without
        them, and the instructions before the first of them use the value that was compared.
        "absent": no path returns without making each of the calls.
        "otherwise": some path returns without them, but what decides that is a flag of the function, and whatever is
        written to that flag is no such comparison; `conditions` says what is.

        "absent" and "otherwise" also mean that nothing before the calls in this function chooses by such a comparison,
        neither by a branch nor by a conditional move: it could have made their sizes nothing instead. What a callee
        decides is out of sight.

        Raises:
            UnknownError: none of the three can be said.
        """
        sites = self._sites(of)
        escapes = [LEAVES in self.graph.reached({site}) for site in sites]
        if any(escapes) and not all(escapes):
            raise UnknownError("some of the calls are made on every path and some are not")
        forks = self._deciding(sites) if any(escapes) else []
        fitting = [seen for fork in forks if (seen := self._compared(fork, compares_with, sites)) is not None]
        if len(fitting) == 1:
            return fitting[0]
        if fitting or (any(escapes) and not forks):
            raise UnknownError("more than one condition decides whether the calls are made, or none that could be read")
        self._refuse_choices(compares_with, sites)
        shown = [self._flag_unlike(fork, compares_with) for fork in forks]
        if shown:
            return self.library.seen("otherwise", shown[-1].test.address, shown[-1].test.after)
        first = self.graph.blocks[sites[0]].last
        return self.library.seen("absent", first.address, first.after)

    def conditions(self, of: Sequence[Call]) -> tuple[Seen, ...]:
        """Return what sets the flags that decide whether the calls are made: each comparison, and its use.

        Raises:
            UnknownError: it is not by flags of the function that it's decided, or not all that sets them can be read.
        """
        found: dict[int, Seen] = {}
        blocks = self.graph.blocks
        for fork in self._deciding(self._sites(of)):
            for outcome in dataflow.outcomes(dataflow.flag_behind(blocks[fork]), blocks.values()):
                compare, use = outcome.compare, outcome.use
                start = use if compare is None or compare.address > use.address else compare
                value = (use.text,) if compare is None else (compare.text, use.text)
                found[use.address] = self.library.seen(value, start.address, start.after)
        return tuple(found[address] for address in sorted(found))

    def sequence(self, pattern: str) -> Seen:
        """Return what the named groups match, where the pattern matches a run of instructions of one block.

        An instruction is a line: its mnemonic, and its operands in Intel notation. Unnamed groups serve to refer back.

        Raises:
            NotOneError: it matches nowhere, or several times.
        """
        run = re.compile(f"(?m)^(?:{pattern})$")
        found: list[tuple[int, int, tuple[str, ...]]] = []
        for block in self.graph.blocks.values():
            lines = "\n".join(step.text for step in block.instructions)
            for match in run.finditer(lines):
                first = lines.count("\n", 0, match.start())
                last = lines.count("\n", 0, match.end())
                value = tuple(str(group) for group in match.groupdict().values())
                found.append((block.instructions[first].address, block.instructions[last].after, value))
        if len(found) != 1:
            raise _not_one("such run of instructions", [start for start, _, _ in found])
        start, end, value = found[0]
        return self.library.seen(value, start, end)

    # -- calls

    def _last_calls(self, names: tuple[str, ...], before: str, last: int) -> tuple[Call, ...]:
        references = {step.address for step in self.graph.instructions}.intersection(self.graph.code.references(before))
        if not references:
            raise NotOneError("place in the function that refers to the message", ())
        blocks = self.graph.blocks
        goal = {i for i, block in blocks.items() if any(step.address in references for step in block.instructions)}
        named = {i: name for i, block in blocks.items() if (name := self._callee(block, names)) is not None}
        if len(named) > _CALLS_AT_MOST:
            raise UnknownError("more such calls than this reader takes on")
        sure = [index for index in named if index not in goal and not self.graph.reached({index}) & goal]
        if not goal & self.graph.reached():
            raise UnknownError("no path leads to the message")
        if len(sure) < last:
            raise UnknownError(
                f"{len(sure)} calls of {' or '.join(names)} stand on every path to the message, not {last}"
            )
        chosen = self.graph.in_order(sure)[-last:]
        between = self.graph.reached(start=blocks[chosen[0]].follow) & self.graph.leading_to(goal)
        if strays := sorted(between & set(named) - set(chosen)):
            raise UnknownError(f"a call at {blocks[strays[0]].last.address:#x} stands among them on some paths")
        return tuple(self._call(blocks[index], named[index]) for index in chosen)

    def _callee(self, block: Block, names: Sequence[str]) -> str | None:
        """Return the name of what the block calls at its end, if it's one of these."""
        called = self.graph.code.callee(block.last)[0] if block.last.name == "call" else ()
        return next((name for name in called if name in names), None)

    def _call(self, block: Block, name: str) -> Call:
        passing = block.instructions[:-1]
        return Call(
            name=name,
            address=block.last.address,
            seen=self.library.seen(name, block.last.address, block.last.after),
            constants=dataflow.constants_after(passing),
            immediates=dataflow.immediates_in(passing),
        )

    # -- what decides whether they are made

    def _sites(self, of: Sequence[Call]) -> list[int]:
        """Return the blocks that make these calls, in the order in which the paths come by."""
        wanted = {call.address for call in of}
        sites = [index for index, block in self.graph.blocks.items() if block.last.address in wanted]
        if not sites or len(sites) != len(wanted):
            raise UnknownError("the calls are not all in this function")
        if LEAVES not in self.graph.reached():
            raise UnknownError("no path returns from the function")
        return self.graph.in_order(sites)

    def _deciding(self, sites: Sequence[int]) -> list[int]:
        """Return the branches that every path to the calls passes and whose other side returns without any.

        Raises:
            UnknownError: paths lead around some of the calls in another way.
        """
        leading, leaving = self.graph.leading_to(sites), self.graph.leading_to({LEAVES}, without=sites)
        forks = []
        for index in sorted(leading & leaving & self.graph.reached(sites)):
            block = self.graph.blocks[index]
            if any(one in leaving and one not in leading for one in block.follow):
                if not block.forks or set(sites) & self.graph.reached({index}):
                    raise UnknownError(f"paths part at {block.last.address:#x}, of which only some make the calls")
                forks.append(index)
            if len(forks) > _FORKS_AT_MOST:
                raise UnknownError("too many conditions decide whether the calls are made")
        if forks and LEAVES in self.graph.reached({*forks, *sites}):
            raise UnknownError("some path returns around the conditions that were read")
        return forks

    def _compared(self, fork: int, count: int, sites: Sequence[int]) -> Seen | None:
        """Return the guard, if this branch leads to the sites only for a value they use above the count."""
        block = self.graph.blocks[fork]
        compare = dataflow.compared_before(block)
        takes_low = None if compare is None else dataflow.asks_for_low(compare, block.last, count)
        if compare is None or takes_low is None or len(block.follow) != 2:
            return None
        taken, passed = block.follow
        above = passed if takes_low else taken
        if above not in self.graph.leading_to(sites):
            return None
        value = compare.operands.partition(", ")[0]
        if not dataflow.reckons_with(self.graph.blocks[above].instructions[:-1], value):
            raise UnknownError(f"what is compared at {compare.address:#x} is not seen to be used by the calls")
        return self.library.seen("present", compare.address, block.last.after)

    def _refuse_choices(self, count: int, sites: Sequence[int]) -> None:
        """Refuse any choice before the calls by a comparison that means "greater than the count".

        A branch that leads to the calls on one side only, and raises on the other, is no choice.
        """
        blocks, leading = self.graph.blocks, self.graph.leading_to(sites)
        for index in sorted(leading):
            block = blocks[index]
            joins = sum(one in leading for one in block.follow) > 1
            for place, step in enumerate(block.instructions):
                if dataflow.acts_on_flags(step) or (joins and step.jumps):
                    compare = dataflow.compared_before(block, place)
                    if compare is not None and dataflow.asks_for_low(compare, step, count) is not None:
                        raise UnknownError(
                            f"a choice by a comparison with {count}, at {step.address:#x}, precedes the calls"
                        )
        calling = {index for index, block in blocks.items() if block.last.name == "call"} - set(sites)
        for index in sorted(self.graph.leading_to(sites, without=calling)):
            if any(dataflow.acts_on_flags(step) for step in blocks[index].instructions):
                raise UnknownError(f"a conditional move right before the calls, in the block at {index:#x}")

    def _flag_unlike(self, fork: int, count: int) -> dataflow.Flag:
        """Return the flag that the branch asks for, once nothing that sets it is a comparison with the count."""
        flag = dataflow.flag_behind(self.graph.blocks[fork])
        for outcome in dataflow.outcomes(flag, self.graph.blocks.values()):
            if not dataflow.differs_from(outcome, count):
                raise UnknownError(
                    f"the flag that decides may be set by a comparison with {count} at {outcome.use.address:#x}"
                )
        return flag


def _not_one(looked_for: str, addresses: Iterable[int]) -> NotOneError:
    return NotOneError(looked_for, [f"{address:#x}" for address in sorted(addresses)], places="addresses")
