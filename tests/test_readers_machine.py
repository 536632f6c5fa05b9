"""Reading machine code: what a function does on every path, and what the reader must not claim to know."""

from __future__ import annotations

import contextlib
import shutil
import struct
import subprocess
import time
from pathlib import Path
from typing import TypeAlias

import hypothesis
import pytest
from hypothesis import strategies

from site_builder.readers import NotOneError, ReadingError, Seen, UnknownError, digest_of
from site_builder.readers.machine import Function, Library, read

_MESSAGE = "the sums must be contiguous"
_TEXT, _PLT, _RODATA, _FRAMES, _GOT, _PADS = 0x1000, 0x3000, 0x4000, 0x5000, 0x6000, 0xA000

_Item: TypeAlias = "bytes | str | tuple[str, str]"
"""Instruction bytes, a label (`"name:"`), or an instruction and what its 32 bit distance leads to."""

_OPCODES = {
    "call": b"\xe8",
    "jmp": b"\xe9",
    "je": b"\x0f\x84",
    "jne": b"\x0f\x85",
    "jl": b"\x0f\x8c",
    "jle": b"\x0f\x8e",
    "jg": b"\x0f\x8f",
    "lea": b"\x48\x8d\x3d",
}
_PUSH, _POP, _RET = b"\x55", b"\x5d", b"\xc3"
_FRAME = b"\x48\x89\xe5"  # mov rbp, rsp
_COMPARE = b"\x41\x83\xfc"  # cmp r12d, number
_USE = b"\x44\x01\xe0"  # add eax, r12d
_THREE = b"\xba\x03\x00\x00\x00"  # mov edx, 3
_FOUR = b"\xba\x04\x00\x00\x00"
_TEST_DIL = b"\x40\x84\xff"
_FLAG_IS_SET = b"\x80\x7d\xf8\x00"  # cmp byte ptr [rbp - 8], 0
_SET_FLAG = b"\x0f\x9f\x45\xf8"  # setg byte ptr [rbp - 8]
_SET_AL, _SET_CL, _SET_DL = b"\x0f\x9f\xc0", b"\x0f\x9f\xc1", b"\x0f\x9f\xc2"
_STORE_AL, _STORE_DL = b"\x88\x45\xf8", b"\x88\x55\xf8"  # mov byte ptr [rbp - 8], al
_OR_AL_CL, _OR_CL_AL = b"\x08\xc8", b"\x08\xc1"

_ALLOCATIONS: list[_Item] = [_USE, _THREE, ("call", "alloc"), _FOUR, ("call", "alloc")]
_CHECK: list[_Item] = [_TEST_DIL, ("je", "fail")]
_LEAVE: list[_Item] = [_POP, _RET]
_FAIL: list[_Item] = ["fail:", ("lea", _MESSAGE), ("call", "throw")]


def _assembled(items: list[_Item], places: dict[str, int]) -> tuple[bytes, dict[str, int]]:
    """Return the code and its labels; two rounds, because a label may stand behind its jump."""
    known = dict(places)
    code = b""
    for _ in range(2):
        code = b""
        for item in items:
            if isinstance(item, bytes):
                code += item
            elif isinstance(item, str):
                known[item[:-1]] = _TEXT + len(code)
            else:
                code += _OPCODES[item[0]]
                code += struct.pack("<i", known.get(item[1], _TEXT) - (_TEXT + len(code) + 4))
    return code, {label: known[label] for label in known if label not in places}


def _elf(*functions: list[_Item], machine: int = 62, pad: int = 0) -> bytes:
    """Return a library with these functions, one message, and the imports `alloc`, `throw`, `note`.

    A call that raises, in any of them, goes on so many bytes behind its function's start, if that's told.
    """
    rodata = _MESSAGE.encode() + b"\0"
    places = {"alloc": _PLT, "throw": _PLT + 16, "note": _PLT + 32, _MESSAGE: _RODATA}
    items: list[_Item] = []
    for number, function in enumerate(functions):
        items += [f"start{number}:", *function, f"end{number}:"]
    code, labels = _assembled(items, places)
    plt = b"".join(
        b"\xff\x25" + struct.pack("<i", _GOT + 8 * entry - (_PLT + 16 * entry + 6)) + b"\x90" * 10 for entry in range(3)
    )
    names = b"\0_Z5allocv\0__cxa_throw\0note\0"
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", at, 0x12, 0, 0, 0, 0) for at in (1, 11, 23))
    slots = b"".join(struct.pack("<QQq", _GOT + 8 * entry, entry + 1 << 32 | 7, 0) for entry in range(3))
    frames = struct.pack("<II", 20, 0) + b"\x01zLR\0\x01\x78\x10\x02\x1b\x1b" + bytes(5)
    for number in range(len(functions)):
        start, end = labels[f"start{number}"], labels[f"end{number}"]
        at = len(frames)
        frames += struct.pack("<IIiIB", 20, at + 4, start - (_FRAMES + at + 8), end - start, 4)
        frames += struct.pack("<i", _PADS - (_FRAMES + at + 17) if pad else 0) + b"\x41\0\0"
    return _file(
        machine,
        [
            (".text", 1, 6, _TEXT, code, 0),
            (".plt", 1, 6, _PLT, plt, 0),
            (".rodata", 1, 2, _RODATA, rodata, 0),
            (".eh_frame", 1, 2, _FRAMES, frames + bytes(4), 0),
            (".dynsym", 11, 2, 0x7000, symbols, 6),
            (".dynstr", 3, 2, 0x8000, names, 0),
            (".rela.plt", 4, 2, 0x9000, slots, 5),
            (".gcc_except_table", 1, 2, _PADS, bytes([0xFF, 0xFF, 1, 4, 0, 127, pad, 0]), 0),
        ],
    )


def _file(machine: int, sections: list[tuple[str, int, int, int, bytes, int]]) -> bytes:
    names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in sections) + b".names\0"
    content, rows = b"", [bytes(64)]
    for name, kind, flags, address, body, link in [*sections, (".names", 3, 0, 0, names, 0)]:
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        rows.append(struct.pack("<IIQQQQIIQQ", at, kind, flags, address, 64 + len(content), len(body), link, 0, 1, 0))
        content += body
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 64 + len(content), 0, 64, 0, 0, 64, len(rows), len(rows) - 1
    )
    return identity + head + content + b"".join(rows)


def _guard(*functions: list[_Item]) -> Seen:
    return _guard_of(read(_elf(*functions)).function_raising(_MESSAGE))


def _guard_of(function: Function) -> Seen:
    calls = function.calls("alloc", before=_MESSAGE, last=2)
    return function.guard(of=calls, compares_with=1)


def _problem(*functions: list[_Item]) -> str:
    with pytest.raises(UnknownError) as raised:
        _guard(*functions)
    return raised.value.problem


def _guarded(number: int, jump: str) -> list[_Item]:
    compare = _COMPARE + bytes([number])
    return [_PUSH, compare, (jump, "after"), *_ALLOCATIONS, *_CHECK, "after:", *_LEAVE, *_FAIL]


def _flagged(number: int) -> list[_Item]:
    return [
        *(
            _PUSH,
            _FRAME,
            _COMPARE + bytes([number]),
            _SET_FLAG,
            ("call", "note"),
            _FLAG_IS_SET,
            ("je", "after"),
        ),
        *(*_ALLOCATIONS, *_CHECK, "after:", *_LEAVE, *_FAIL),
    ]


_PLAIN: list[_Item] = [_PUSH, *_ALLOCATIONS, *_CHECK, *_LEAVE, *_FAIL]


def test_calls_on_every_path() -> None:
    """Where no path returns without the calls, the guard is absent, and the receipt shows the first call."""
    seen = _guard(_PLAIN)

    assert seen.value == "absent"
    assert dict(seen.at) == {"section": ".text", "address": "0x1009", "bytes": "e8f21f0000"}
    assert digest_of(bytes.fromhex("e8f21f0000")) == seen.region


def test_calls_behind_a_comparison_with_one() -> None:
    """A branch that skips the calls up to one is the guard, and the receipt shows comparison and branch."""
    seen = _guard(_guarded(1, "jle"))

    assert seen.value == "present"
    assert dict(seen.at) == {"section": ".text", "address": "0x1001", "bytes": "4183fc010f8e20000000"}


@pytest.mark.parametrize(("number", "jump"), [(1, "jle"), (2, "jl")])
def test_the_same_question_asked_in_another_way(number: int, jump: str) -> None:
    """Not above one and below two are the same condition."""
    assert _guard(_guarded(number, jump)).value == "present"


def test_calls_moved_out_of_the_straight_line() -> None:
    """A branch to the calls above one is the same guard as a branch around them."""
    moved: list[_Item] = [
        *(_PUSH, _COMPARE + b"\x01", ("jg", "calls"), "after:", *_LEAVE),
        *("calls:", *_ALLOCATIONS, *_CHECK, ("jmp", "after"), *_FAIL),
    ]

    assert _guard(moved).value == "present"


@pytest.mark.parametrize(
    ("number", "jump"), [(1, "jl"), (1, "jg"), (1, "je"), (0, "jle"), (2, "jle"), (3, "jle"), (0, "je")]
)
def test_calls_behind_another_condition(number: int, jump: str) -> None:
    """A branch that asks for something else, or skips the calls above one, is neither present nor absent."""
    place = "0x1005"

    assert _problem(_guarded(number, jump)) == (
        f"the branch at {place} asks for something that this reader can't trace"
    )


def test_a_count_that_is_counted_down() -> None:
    """A decrement that sets the flags is a comparison that the reader does not trace."""
    counted: list[_Item] = [
        *(_PUSH, b"\x41\xff\xcc", ("jle", "after"), *_ALLOCATIONS, *_CHECK, "after:", *_LEAVE, *_FAIL)
    ]

    assert _problem(counted) == "the branch at 0x1004 asks for something that this reader can't trace"


def test_a_compared_value_that_the_calls_do_not_use() -> None:
    """Some value is compared with one, but nothing says that it is the calls' business."""
    unused: list[_Item] = [
        *(_PUSH, _COMPARE + b"\x01", ("jle", "after"), *_ALLOCATIONS[1:], *_CHECK, "after:", *_LEAVE, *_FAIL)
    ]

    assert _problem(unused) == "what is compared at 0x1001 is not seen to be used by the calls"


def test_sizes_chosen_by_the_comparison() -> None:
    """Calls on every path whose sizes may be nothing up to one are not called absent."""
    chosen: list[_Item] = [_PUSH, _COMPARE + b"\x01", b"\x0f\x4e\xc1", *_PLAIN[1:]]

    assert _problem(chosen) == "a choice by a comparison with 1, at 0x1005, precedes the calls"


def test_a_branch_that_joins_before_the_calls() -> None:
    """A branch by the comparison that leads to the calls on both sides may choose their sizes as well."""
    joined: list[_Item] = [_PUSH, _COMPARE + b"\x01", ("jle", "one"), b"\x31\xc0", "one:", *_PLAIN[1:]]

    assert _problem(joined) == "a choice by a comparison with 1, at 0x1005, precedes the calls"


def test_a_conditional_move_right_before_the_calls() -> None:
    """A conditional move whose comparison can't be read may choose the sizes."""
    moved: list[_Item] = [_PUSH, b"\x45\x85\xe4", b"\x0f\x4e\xc1", *_PLAIN[1:]]

    assert _problem(moved) == "a conditional move right before the calls, in the block at 0x1000"


def test_a_comparison_whose_other_side_raises() -> None:
    """A check that raises chooses nothing."""
    checked: list[_Item] = [_PUSH, _COMPARE + b"\x01", ("jle", "fail"), *_PLAIN[1:]]
    function = read(_elf(checked)).function_raising(_MESSAGE)

    with pytest.raises(UnknownError, match="0 calls of alloc stand on every path to the message, not 2"):
        _guard_of(function)


def test_calls_behind_a_flag_with_other_reasons() -> None:
    """A flag that is set by anything else says "otherwise", and what sets it can be shown."""
    function = read(_elf(_flagged(9))).function_raising(_MESSAGE)
    calls = function.calls("alloc", before=_MESSAGE, last=2)

    assert function.guard(of=calls, compares_with=1).value == "otherwise"
    assert [("cmp r12d, 9", "setg byte ptr [rbp - 8]")] == [seen.value for seen in function.conditions(calls)]


def test_calls_behind_a_flag_set_by_the_comparison() -> None:
    """A guard that went through a flag is not called otherwise."""
    assert _problem(_flagged(1)) == "a choice by a comparison with 1, at 0x1008, precedes the calls"


def test_a_flag_that_is_written_to_by_its_address() -> None:
    """A flag whose address is taken may be set by anybody."""
    taken: list[_Item] = [_PUSH, _FRAME, b"\x48\x8d\x7d\xf8", *_flagged(9)[2:]]

    assert _problem(taken) == "the flag that decides may be written to at 0x1004 in another way"


def test_a_flag_that_nothing_sets() -> None:
    """A flag that comes from elsewhere decides nothing."""
    unset: list[_Item] = [*_flagged(9)[:2], *_flagged(9)[4:]]

    assert _problem(unset) == "nothing is seen to write to the flag that decides"


def test_a_flag_put_together_in_many_steps() -> None:
    """Each place that adds to a flag is met once, however often what it adds is mixed with the rest."""
    mixed: list[_Item] = [_SET_AL, _SET_CL, *[_OR_AL_CL, _OR_CL_AL] * 40, _STORE_AL]
    function = read(_elf([*_flagged(9)[:3], *mixed, *_flagged(9)[4:]])).function_raising(_MESSAGE)

    assert [("cmp r12d, 9", "setg al"), ("cmp r12d, 9", "setg cl")] == [
        seen.value for seen in function.conditions(function.calls("alloc", before=_MESSAGE, last=2))
    ]


def test_a_flag_put_together_in_more_steps_than_any_code_needs() -> None:
    """A chain without an end in sight is not followed."""
    mixed: list[_Item] = [_SET_AL, _SET_CL, *[_OR_AL_CL, _OR_CL_AL] * 200, _STORE_AL]
    problem = _problem([*_flagged(9)[:3], *mixed, *_flagged(9)[4:]])

    assert problem == "what is stored at 0x105a can't be traced"


def test_a_part_of_a_register_that_is_written_to_whole() -> None:
    """What was in the low byte is gone when the whole register is written to."""
    lost: list[_Item] = [_SET_DL, b"\x89\xca", _STORE_DL]  # mov edx, ecx

    assert _problem([*_flagged(9)[:3], *lost, *_flagged(9)[4:]]) == "what is stored at 0x100d can't be traced"


def test_calls_moved_into_a_callee() -> None:
    """Calls that stand in another function are unknown here, not absent."""
    moved: list[_Item] = [_PUSH, ("call", "start1"), *_CHECK, *_LEAVE, *_FAIL]
    callee: list[_Item] = [_PUSH, *_ALLOCATIONS, *_LEAVE]

    assert _problem(moved, callee) == "0 calls of alloc stand on every path to the message, not 2"


def test_calls_that_stand_twice() -> None:
    """Calls that were copied to several paths are not mistaken for the ones before them."""
    twice: list[_Item] = [
        *(_PUSH, *_ALLOCATIONS, _TEST_DIL, ("jne", "other"), *_ALLOCATIONS, ("jmp", "check")),
        *("other:", *_ALLOCATIONS, "check:", _TEST_DIL, ("je", "fail"), *_LEAVE, *_FAIL),
    ]

    assert _problem(twice) == "a call at 0x1029 stands among them on some paths"


def test_a_jump_to_anywhere() -> None:
    """A jump whose targets can't be listed leaves the function unknown."""
    lost: list[_Item] = [_PUSH, _TEST_DIL, ("je", "on"), b"\xff\xe0", "on:", *_PLAIN[1:]]

    assert _problem(lost) == "nothing says where the jump at 0x100a leads"


def test_bytes_that_are_no_instruction() -> None:
    """A function that can't be decoded whole is unknown."""
    assert _problem([*_PLAIN, b"\x06\x06"]) == "not every byte of the function at 0x1000 is an instruction"


def test_a_jump_into_an_instruction() -> None:
    """Two readings of the same bytes are none."""
    inside: list[_Item] = [_PUSH, _TEST_DIL, b"\x74\x01", *_PLAIN[1:]]

    assert _problem(inside) == "a jump leads into the middle of an instruction"


def test_a_call_that_raises_and_goes_on_elsewhere() -> None:
    """Where the unwinder leads out of the function, its paths can't be told; within it, they go on there."""
    outside = read(_elf(_PLAIN, pad=100)).function_raising(_MESSAGE)
    to_the_return = read(_elf(_PLAIN, pad=0x21)).function_raising(_MESSAGE)

    with pytest.raises(UnknownError, match="a call that raises goes on outside the function"):
        _guard_of(outside)
    with pytest.raises(UnknownError, match="some of the calls are made on every path and some are not"):
        _guard_of(to_the_return)


def test_a_callee_that_never_returns() -> None:
    """What follows a call that can't return is on no path; its name or its own code says so."""
    raises: list[_Item] = [_PUSH, ("lea", _MESSAGE), ("call", "throw")]
    checked: list[_Item] = [
        *(_PUSH, *_ALLOCATIONS, *_CHECK, *_LEAVE, *_FAIL[:2], ("call", "start1"), ("jmp", "late")),
        *("late:", *_LEAVE),
    ]
    silent: list[_Item] = [_PUSH, ("call", "throw")]

    assert _guard(checked, silent).value == "absent"
    with pytest.raises(NotOneError) as raised:
        _guard(checked, raises)
    assert (
        raised.value.problem == "expected one function that refers to the message, found 2 (addresses 0x1000, 0x1036)"
    )


def test_a_message_that_nothing_refers_to() -> None:
    """No reference is no function."""
    with pytest.raises(NotOneError) as raised:
        read(_elf(_PLAIN)).function_raising("another message")

    assert str(raised.value) == "expected one function that refers to the message, found none"


def test_a_longer_message() -> None:
    """The message is the whole text: a part of one is not found."""
    with pytest.raises(NotOneError):
        read(_elf(_PLAIN)).function_raising(_MESSAGE[:-1])


def test_code_that_the_unwinder_does_not_know() -> None:
    """A reference outside every known function is unknown: it may be a second function."""
    body = _elf(_PLAIN)
    start = body.index(struct.pack("<II", 20, 0)) + 24
    shorter = body[: start + 12] + struct.pack("<I", 30) + body[start + 16 :]

    with pytest.raises(UnknownError, match=r"code outside every function, at 0x[0-9a-f]+, refers to the message"):
        read(shorter).function_raising(_MESSAGE)


def test_what_stands_near_a_call() -> None:
    """A call says its name, its place, and the numbers that the code before it passes."""
    first, second = read(_elf(_PLAIN)).function_raising(_MESSAGE).calls("alloc", before=_MESSAGE, last=2)

    assert (first.name, second.name) == ("alloc", "alloc")
    assert dict(first.constants) == {"rdx": 3}
    assert second.immediates == (4,)
    assert dict(second.seen.at) == {"section": ".text", "address": "0x1013", "bytes": "e8e81f0000"}


def test_a_constant_that_is_overwritten_in_part() -> None:
    """A register whose low byte changes holds no known number."""
    changed: list[_Item] = [_PUSH, _USE, _THREE, b"\xb2\x05", *_PLAIN[3:]]  # mov dl, 5
    first, _ = read(_elf(changed)).function_raising(_MESSAGE).calls("alloc", before=_MESSAGE, last=2)

    assert dict(first.constants) == {}
    assert first.immediates == (3, 5)


def test_a_library_asked_again() -> None:
    """What was found once is kept."""
    library = read(_elf(_PLAIN))
    function = library.function_raising(_MESSAGE)

    assert library.function_raising(_MESSAGE) is function
    assert function.calls("alloc", before=_MESSAGE, last=2) is function.calls("alloc", before=_MESSAGE, last=2)


def test_a_run_of_instructions() -> None:
    """The named groups of a pattern are the value; it matches once or not at all."""
    function = read(_elf(_PLAIN)).function_raising(_MESSAGE)
    seen = function.sequence(r"add eax, r12d\nmov (\w+), (?P<sizes>\d)")

    assert seen.value == ("3",)
    assert dict(seen.at) == {"section": ".text", "address": "0x1001", "bytes": "4401e0ba03000000"}
    assert function.sequence(r"(?P<end>pop rbp\nret(\n.*)?)").value == ("pop rbp\nret",)
    with pytest.raises(NotOneError):
        function.sequence(r"mov edx, (?P<sizes>\d)")
    with pytest.raises(NotOneError):
        function.sequence(r"mov edx, 5")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "these bytes are not an ELF file"),
        (b"PK\x03\x04" + bytes(80), "these bytes are not an ELF file"),
        (_elf(_PLAIN)[:63], "these bytes are not an ELF file"),
        (_elf(_PLAIN)[:200], "the file ends inside a table, or a size in it is wrong"),
        (_elf(_PLAIN, machine=183), "the ELF file is not a 64 bit library or program for x86_64"),
    ],
)
def test_bytes_of_another_kind(body: bytes, problem: str) -> None:
    """What is no x86_64 library ends in a sentence."""
    with pytest.raises(UnknownError) as raised:
        read(body)

    assert raised.value.problem == problem


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        (32, 1 << 62, "the ELF file is cut short, or a section's size in it is wrong"),
        (24, 1 << 40, "the ELF file is cut short, or a section's size in it is wrong"),
        (24, 65, "sections of the ELF file overlap"),
        (16, _PLT, "sections of the ELF file overlap where they are loaded"),
    ],
)
def test_a_section_that_lies(field: int, value: int, problem: str) -> None:
    """A section that reaches beyond the file, or into another one, is refused before it is read."""
    body = _elf(_PLAIN)
    (table,) = struct.unpack_from("<Q", body, 40)
    at = table + 64 * 3 + field

    with pytest.raises(UnknownError) as raised:
        read(body[:at] + struct.pack("<Q", value) + body[at + 8 :])
    assert raised.value.problem == problem


@hypothesis.given(at=strategies.integers(0, len(_elf(_PLAIN)) - 1), value=strategies.binary(min_size=1, max_size=8))
def test_damaged_bytes(at: int, value: bytes) -> None:
    """Whatever bytes arrive, the reader answers or says why not, and soon."""
    body = _elf(_guarded(1, "jle"))
    started = time.perf_counter()
    with contextlib.suppress(ReadingError):
        _guard_of(read(body[:at] + value + body[at + len(value) :]).function_raising(_MESSAGE))
    assert time.perf_counter() - started < 5


_SOURCE = """
extern "C" void *reserve(long size);
extern "C" void launch(void *, void *, int);
[[noreturn]] void refuse(const char *message) { throw message; }

extern "C" void run(long rows, int parts, int other) {
    void *sums = nullptr, *outputs = nullptr;
    GUARD {
        sums = reserve((rows + parts) * 3);
        outputs = reserve((rows + parts) * 4);
        if (!sums) refuse("the sums must be contiguous");
        if (!outputs) refuse("the outputs must be contiguous");
    }
    launch(sums, outputs, parts);
}
"""
_CATCHING = "try { launch(nullptr, nullptr, other); } catch (int) { return; }"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(
    ("guard", "level", "expected"),
    [
        ("", "-O2", "absent"),
        ("if (parts > 1)", "-O2", "present"),
        ("if (parts >= 2)", "-O3", "present"),
        ("if (parts > 1)", "-O1", "present"),
        ("if (other > 1)", "-O2", None),
        ("if (parts != 1)", "-O2", None),
        ("if (parts & 2)", "-O2", None),
        ("for (int at = 0; at < parts; ++at)", "-O2", None),
        (_CATCHING, "-O2", None),
    ],
)
def test_what_a_compiler_makes_of_it(tmp_path: Path, guard: str, level: str, expected: str | None) -> None:
    """Real code, with its exceptions and the parts that a compiler moves away, is read the same way."""
    library = _compiled(tmp_path, guard, level)
    function = library.function_raising(_MESSAGE)

    if expected is None:
        with pytest.raises(UnknownError):
            function.guard(of=function.calls("reserve", before=_MESSAGE, last=2), compares_with=1)
    else:
        calls = function.calls("reserve", before=_MESSAGE, last=2)
        assert expected == function.guard(of=calls, compares_with=1).value


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_a_function_by_its_name(tmp_path: Path) -> None:
    """A function is found by its qualified name as well, and it is the same one."""
    library = _compiled(tmp_path, "", "-O2")

    assert library.function_named("run") is library.function_raising(_MESSAGE)
    with pytest.raises(NotOneError, match="expected one function named walk, found none"):
        library.function_named("walk")


def _compiled(folder: Path, guard: str, level: str) -> Library:
    source, target = folder / "library.cpp", folder / "library.so"
    source.write_text(_SOURCE.replace("GUARD", guard), encoding="utf-8")
    command = ["g++", level, "-fPIC", "-shared", "-w", "-o", str(target), str(source)]
    subprocess.run(command, check=True, timeout=60)
    return read(target.read_bytes())
