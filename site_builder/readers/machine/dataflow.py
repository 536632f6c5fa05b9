"""Data flow, as far as a block or a flag tells it: what is compared, what a call is passed, what a flag stands for.

Nothing here follows a value from block to block: what isn't in sight is not claimed. Which blocks matter to a question, and
what an answer is worth on all paths, is the questions' own business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from site_builder.readers import UnknownError
from site_builder.readers.machine.code import Instruction
from site_builder.readers.machine.graph import Block

_COMPARISON_WITHIN = 32
_TRACED_AT_MOST = 256
"""Far more than real code needs."""

_KEEPS_FLAGS = re.compile(r"v?mov\w*|lea|push|pop|nop|endbr64|set\w+|cmov\w+|pxor|punpck\w+|cdqe?|cqo|cwde|not")
_UP_TO = re.compile(r"(?:j|set|cmov)(?P<when>le|ng|be|na|g|nle|a|nbe)")
_BELOW = re.compile(r"(?:j|set|cmov)(?P<when>l|nge|b|nae|c|ge|nl|ae|nb|nc)|sbb|adc")
_LOW = frozenset({"le", "ng", "be", "na", "l", "nge", "b", "nae", "c"})
_ON_FLAGS = re.compile(r"set\w+|cmov\w+|sbb|adc")
_ONLY_READ = frozenset({"cmp", "test"})
_RECKONS = frozenset({"add", "sub", "imul", "lea", "movsxd", "shl"})
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_COUNT = re.compile(r"(?:[er][a-ds][a-z]|[er][bs]p|r\d+d?)|[dq]word ptr \[.*\]")
"""A count is a 32 or 64 bit value; narrower ones are truths and enumerations."""

_FLAG = re.compile(r"(?P<flag>byte ptr \[rbp - (?P<at>0x[0-9a-f]+|\d+)\]), 0")
_IN_FRAME = re.compile(r"(?:(?P<width>\w+) ptr )?\[rbp - (?P<at>0x[0-9a-f]+|\d+)\]")
_WIDTHS = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16, "ymmword": 32}

_FAMILY: Mapping[str, str] = (
    {f"{width}{letter}x": f"r{letter}x" for letter in "abcd" for width in ("r", "e", "")}
    | {f"{letter}{half}": f"r{letter}x" for letter in "abcd" for half in "lh"}
    | {name: "r" + base for base in ("si", "di", "bp", "sp") for name in ("r" + base, "e" + base, base, base + "l")}
    | {f"r{number}{width}": f"r{number}" for number in range(8, 16) for width in ("", "d", "w", "b")}
)
"""The 64 bit register that each register is part of."""


# -- comparisons


def compared_before(block: Block, index: int = -1) -> Instruction | None:
    """Return the comparison whose flags an instruction of the block reads, the last one unless told otherwise.

    None if it stands in another block, or if something between the two may set flags as well.
    """
    before = block.instructions[:index]
    for step in reversed(before[-_COMPARISON_WITHIN:]):
        if step.name == "cmp":
            return step
        if not _KEEPS_FLAGS.fullmatch(step.name):
            return None
    return None


def acts_on_flags(step: Instruction) -> bool:
    """Say whether what the instruction stores depends on a comparison."""
    return _ON_FLAGS.fullmatch(step.name) is not None


def asks_for_low(compare: Instruction, asks: Instruction, count: int) -> bool | None:
    """Say whether the instruction acts where the value is at most the count, or above it (None: neither)."""
    value, _, number = compare.operands.partition(", ")
    if not _COUNT.fullmatch(value) or not _NUMBER.fullmatch(number):
        return None
    by = {count: _UP_TO, count + 1: _BELOW}.get(int(number, 0))
    found = by.fullmatch(asks.name) if by else None
    return None if found is None else found["when"] is None or found["when"] in _LOW


def reckons_with(steps: Iterable[Instruction], value: str) -> bool:
    """Say whether these instructions compute something from the value before it's overwritten."""
    family = _FAMILY.get(value)
    for step in steps:
        into, _, source = step.operands.partition(", ")
        read = step.operands if "[" in into or step.name in _RECKONS else source
        same = [value]
        if family and step.name in _RECKONS:
            same = [name for name in _FAMILY if _FAMILY[name] == family]
        if into != source and any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", read) for name in same):
            return True
        if into == value or (family and _FAMILY.get(into) == family):
            return False
    return False


# -- what a call is passed


def constants_after(steps: Iterable[Instruction]) -> dict[str, int]:
    """Return the registers that hold a known number behind these instructions, by their 64 bit names."""
    constants: dict[str, int] = {}
    for step in steps:
        into, _, source = step.operands.partition(", ")
        number = _immediate(step)
        whole = into in _FAMILY and _COUNT.fullmatch(into) is not None
        if step.name in ("mov", "movabs") and whole and number is not None:
            constants[_FAMILY[into]] = number
        elif step.name == "xor" and whole and into == source:
            constants[_FAMILY[into]] = 0
        elif (
            (not source and step.name not in ("push", "pop", "inc", "dec", "neg", "not", "nop"))
            or step.name in ("xchg", "xadd", "cmpxchg")
            or re.search(r"\[r[sd]i\].*\[rsi\]|es:", step.operands)
        ):
            # It writes to registers that its operands don't name, or to both of them.
            constants.clear()
        elif step.name != "push" and step.name not in _ONLY_READ:
            constants.pop(_FAMILY.get(into, ""), None)
    return constants


def immediates_in(steps: Iterable[Instruction]) -> tuple[int, ...]:
    """Return the numbers that are written in these instructions as their last operand, in order."""
    return tuple(number for step in steps if (number := _immediate(step)) is not None)


def _immediate(step: Instruction) -> int | None:
    found = re.fullmatch(r"(?:.*, )?(-?0x[0-9a-f]+|-?\d+)", step.operands)
    return None if found is None else int(found[1], 0)


# -- flags in the function's frame


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    """A byte of the function's frame whose truth a branch asks for, and the comparison by which it does."""

    operand: str
    below_base: int
    test: Instruction


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What is stored in a flag: the comparison whose outcome it is (None: a plain truth), and what stores it."""

    compare: Instruction | None
    use: Instruction


def flag_behind(block: Block) -> Flag:
    """Return the flag that the branch at the end of the block asks for.

    Raises:
        UnknownError: it asks for something else.
    """
    test = compared_before(block)
    found = _FLAG.fullmatch(test.operands) if test else None
    if test is None or found is None or block.last.name not in ("je", "jne"):
        raise UnknownError(f"the branch at {block.last.address:#x} asks for something that this reader can't trace")
    return Flag(operand=found["flag"], below_base=int(found["at"], 0), test=test)


def outcomes(flag: Flag, blocks: Iterable[Block]) -> list[Outcome]:
    """Return whatever the function's blocks store in the flag.

    Raises:
        UnknownError: something else may be stored in it.
    """
    found: list[Outcome] = []
    for block in blocks:
        for index, step in enumerate(block.instructions):
            if "[rbp + r" in step.operands:
                raise UnknownError(f"what is written to at {step.address:#x} depends on an index")
            touched = _IN_FRAME.search(step.operands)
            if touched is None or step.name in _ONLY_READ or not _covers(touched, flag):
                continue
            into = step.operands.partition(", ")[0]
            if step.name == "lea" or (touched["width"] != "byte" and "[" in into):
                raise UnknownError(f"the flag that decides may be written to at {step.address:#x} in another way")
            if into == flag.operand:
                found += _stored(block, index, flag)
    if not found:
        raise UnknownError("nothing is seen to write to the flag that decides")
    return found


def differs_from(outcome: Outcome, count: int) -> bool:
    """Say whether the outcome is surely not that of a comparison with the count, or with one next to it."""
    if outcome.compare is None:
        return True
    number = outcome.compare.operands.partition(", ")[2]
    return _NUMBER.fullmatch(number) is not None and abs(int(number, 0) - count) > 1


def _covers(touched: re.Match[str], flag: Flag) -> bool:
    return 0 <= int(touched["at"], 0) - flag.below_base < _WIDTHS.get(touched["width"], 64)


def _stored(block: Block, index: int, flag: Flag) -> list[Outcome]:
    """Return the outcomes that the instruction stores."""
    step = block.instructions[index]
    source = step.operands.partition(", ")[2]
    if step.name.startswith("set"):
        return [_outcome(block, index)]
    if step.name != "mov":
        raise UnknownError(f"what is stored at {step.address:#x} can't be traced")
    if source in ("0", "1"):
        return [Outcome(compare=compared_before(block) if block.forks else None, use=step)]
    return _put_together(block, index, source, flag)


def _put_together(block: Block, index: int, register: str, flag: Flag) -> list[Outcome]:
    """Return the outcomes that a one byte register was put together from in this block, the flag's own left out."""
    found: list[Outcome] = []
    seen: set[tuple[int, str]] = set()
    todo = [(index, register)]
    while todo:
        before, register = todo.pop()
        if (before, register) in seen:
            continue
        seen.add((before, register))
        place = _last_write(block.instructions[:before], register)
        step = block.instructions[place]
        into, _, source = step.operands.partition(", ")
        if place < 0 or into != register or len(seen) > _TRACED_AT_MOST:
            raise UnknownError(f"what is stored at {block.instructions[before].address:#x} can't be traced")
        if step.name.startswith("set"):
            found.append(_outcome(block, place))
        elif step.name in ("or", "and"):
            todo += [(place, register)] if source == flag.operand else [(place, source), (place, register)]
        else:
            raise UnknownError(f"what is stored at {block.instructions[before].address:#x} can't be traced")
    return found


def _last_write(steps: Sequence[Instruction], register: str) -> int:
    """Return where the register, or one that it's part of, is written to last, or -1."""
    for place in range(len(steps) - 1, -1, -1):
        into = steps[place].operands.partition(", ")[0]
        if steps[place].name not in _ONLY_READ and _FAMILY.get(into) == _FAMILY.get(register):
            return place
    return -1


def _outcome(block: Block, index: int) -> Outcome:
    use = block.instructions[index]
    compare = compared_before(block, index)
    if compare is None:
        raise UnknownError(f"what is asked for at {use.address:#x} can't be traced")
    return Outcome(compare=compare, use=use)
