"""Conditions: what a place in a function stands under, held against what happens when such a function runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from site_builder.readers import Plain, ReadingError, UnknownError, python


def conditions(body: str, pattern: str = r"here\(\)") -> tuple[str, ...]:
    """Return what the marked call stands under in a function of this body."""
    source = "def f(a, b, c):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    value = python.read(source.encode()).function("f").conditions("call", pattern).value
    assert isinstance(value, tuple)
    return tuple(str(condition) for condition in value)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("here()", ()),
        ("if a:\n    here()", ("a",)),
        ("if a:\n    pass\nelse:\n    here()", ("not (a)",)),
        (
            "if a:\n    pass\nelif b:\n    pass\nelif c:\n    here()\nelse:\n    pass",
            ("not (a)", "not (b)", "c"),
        ),
        ("if a:\n    pass\nelif here():\n    pass", ("not (a)",)),
        ("if not a:\n    return\nhere()", ("a",)),
        ("if not (a and\n        b):  # words\n    raise ValueError\nhere()", ("a and b",)),
        ("if a:\n    if b:\n        return\n    here()", ("a", "not (b)")),
        ("if a:\n    if b:\n        return\nhere()", ("not ((a) and (b))",)),
        ("if a:\n    return\nelif b:\n    pass\nelse:\n    return\nhere()", ("not (a)", "b")),
        ("if a:\n    return\nelse:\n    raise b\nhere()", ("not (a)", "never")),
        ("for x in a:\n    if x:\n        continue\n    here()", ("for x in a", "not (x)")),
        ("for x in a:\n    if b:\n        break\nhere()", ()),
        ("for x in a:\n    if b:\n        return\nhere()", ("not ((for x in a) and (b))",)),
        ("for x in a:\n    if b:\n        break\n    return\nhere()", ("not ((for x in a) and (not (b)))",)),
        ("while a:\n    here()", ("a",)),
        ("try:\n    a()\nexcept (ValueError, KeyError) as e:\n    here()", ("except (ValueError, KeyError)",)),
        ("try:\n    a()\nexcept ValueError:\n    pass\nexcept:\n    here()", ("not (except ValueError)", "except")),
        ("try:\n    a()\nexcept ValueError:\n    return\nhere()", ("not (except ValueError)",)),
        ("try:\n    return a()\nexcept ValueError:\n    pass\nhere()", ("except ValueError",)),
        ("try:\n    if a:\n        return\nexcept ValueError:\n    pass\nhere()", ()),
        ("try:\n    a()\nexcept ValueError:\n    pass\nelse:\n    here()", ("not (except ValueError)",)),
        ("try:\n    return\nfinally:\n    here()", ()),
        ("with a:\n    if b:\n        return\nhere()", ("not (b)",)),
        ("with contextlib.suppress(a):\n    return b()\nhere()", ()),
        (
            "match a:\n    case 1:\n        pass\n    case _ if b:\n        here()",
            ("not (match a: case 1)", "match a: case _ if b"),
        ),
        ("return here() if a else b", ("a",)),
        ("return a if b else here()", ("not (b)",)),
        ("return a and here()", ("a",)),
        ("return not a or here()", ("a",)),
        ("return [here() for x in a if b]", ("for x in a", "b")),
        ("if a:\n    def g():\n        if b:\n            return\n        here()", ("a", "not (b)")),
        ("def g():\n    return\nhere()", ()),
        ("assert a\nhere()", ()),
    ],
)
def test_place_in_a_function(body: str, expected: tuple[str, ...]) -> None:
    """Each test around a place and each way out before it is a condition, outermost first."""
    assert expected == conditions(body)


def test_region_of_conditions() -> None:
    """The region begins at the first condition and ends with the place."""
    body = b"def f(a):\n    x = 1\n    if not a:\n        return\n    y = 2\n    here()\n"

    assert {"line": 3, "lastLine": 6} == python.read(body).function("f").conditions("call", r"here\(\)").at


NAMES = "abc"


def joined(many: list[list[str]]) -> list[str]:
    """Return the lines of several statements."""
    return list(itertools.chain.from_iterable(many))


def blocks(depth: int, loop: bool) -> st.SearchStrategy[list[str]]:
    """Blocks of marks, branches, loops that turn once, and ways out."""
    leaves = st.sampled_from([["mark"], ["return"], *([["break"], ["continue"]] if loop else []), ["mark"]])
    if depth == 0:
        return st.lists(leaves, min_size=1, max_size=3).map(joined)
    inner = blocks(depth - 1, loop)
    test = st.sampled_from([*NAMES, *(f"not {name}" for name in NAMES), "a and b", "b or c", "not (a and c)"])

    def indented(lines: list[str]) -> list[str]:
        return [f"    {line}" for line in lines]

    branch = st.builds(
        lambda one, first, other, second, last: [
            f"if {one}:",
            *indented(first),
            *([f"elif {other}:", *indented(second)] if second else []),
            *(["else:", *indented(last)] if last else []),
        ],
        test,
        inner,
        test,
        st.just([]) | inner,
        st.just([]) | inner,
    )
    turn = blocks(depth - 1, True).map(lambda lines: ["for _ in once:", *indented(lines)])
    return st.lists(leaves | branch | branch | turn, min_size=1, max_size=3).map(joined)


def numbered(lines: list[str]) -> Iterator[str]:
    """Give every mark a number of its own."""
    count = itertools.count()
    for line in lines:
        yield line.replace("mark", f"mark({next(count)})") if "mark" in line else line


@settings(max_examples=150, deadline=None)
@given(blocks(2, False))
def test_conditions_hold_where_a_run_comes_by(lines: list[str]) -> None:
    """In every run, all conditions of a place that is reached hold; where there is no loop, only then is it reached."""
    source = "def f(a, b, c, once, mark):\n" + "".join(f"    {line}\n" for line in numbered(lines))
    scope: dict[str, object] = {}
    exec(source, scope)
    function = python.read(source.encode()).function("f")
    places = {call.argument(0).value: call.conditions.value for call in function.calls("mark")}
    for truths in itertools.product([False, True], repeat=3):
        facts = dict(zip(NAMES, truths, strict=True))
        reached: set[int] = set()
        scope["f"](*truths, [1], reached.add)  # type: ignore[operator]
        for number, stated in places.items():
            assert isinstance(stated, tuple)
            texts = [str(one).replace("for _ in once", "True").replace("never", "False") for one in stated]
            held = all(eval(text, {**facts}) for text in texts)
            if number in reached:
                assert held, (source, number, facts, stated)
            elif "for" not in source:
                assert not held, (source, number, facts, stated)


PRIORITIES = b"""
def priorities(mla, capability, memory, name):
    if mla:
        if capability.major == 10:
            return [Backend.A, *others()]
        elif capability.major == 12 or capability.major == 13:
            return [Backend.B]
        else:
            return [Backend.C, Backend.A]
    limits = {}
    if memory >= 70 * GiB and "a100" not in name:
        limits = {Use.OFFLINE: 16384, Use.SERVER: 8192}
    else:
        limits = {Use.OFFLINE: 8192, Use.SERVER: 2048}
    if platform.is_cpu():
        limits = {Use.OFFLINE: 4096 * workers}
    return limits
"""


@pytest.mark.parametrize(
    ("facts", "value"),
    [
        ({"mla": True, "capability.major": 9}, ("Backend.C", "Backend.A")),
        ({"mla": True, "capability.major": 13}, ("Backend.B",)),
        ({"mla": True, "capability.major": 12}, ("Backend.B",)),
        ({"mla": False}, "limits"),
    ],
)
def test_return_that_facts_decide(facts: dict[str, Plain], value: object) -> None:
    """Under the facts, one return remains."""
    assert value == python.read(PRIORITIES).function("priorities").returned(given=facts).value


@pytest.mark.parametrize(
    ("memory", "name", "value"),
    [(141, "h200", 16384), (80, "a100", 8192), (24, "a10", 8192)],
)
def test_entry_that_facts_decide(memory: int, name: str, value: int) -> None:
    """Comparisons and arithmetic on what is given are worked out; a call is given by its text."""
    facts: dict[str, Plain] = {
        "mla": False,
        "memory": memory * 2**30,
        "GiB": 2**30,
        "name": name,
        "platform.is_cpu()": False,
    }
    function = python.read(PRIORITIES.replace(b"    limits = {}\n", b"")).function("priorities")

    assert value == function.entry("limits", "Use.OFFLINE", given=facts).value


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"mla": True}, "the facts do not decide line 4: capability.major == 10"),
        ({"mla": True, "capability.major": 10}, "line 5 is no literal: *others()"),
        ({"mla": True, "capability.major": "9"}, "the facts do not decide line 4: capability.major == 10"),
    ],
)
def test_return_that_facts_do_not_decide(facts: dict[str, Plain], message: str) -> None:
    """A condition left open, or a value that is computed, makes the answer unknown."""
    function = python.read(PRIORITIES).function("priorities")
    with pytest.raises(UnknownError) as caught:
        function.returned(given=facts)

    assert message == caught.value.problem


def test_facts_that_leave_several_places() -> None:
    """Two places that facts allow are two places."""
    facts: dict[str, Plain] = {"memory": 0, "GiB": 1, "name": "", "platform.is_cpu()": False, "mla": False}
    with pytest.raises(ReadingError) as caught:
        python.read(PRIORITIES).function("priorities").assigned("limits", given=facts)

    assert caught.value.problem.startswith(
        "expected one assignment to limits under the facts given in priorities, found 2 (lines 10, 14)"
    )


@pytest.mark.parametrize(
    ("test", "facts", "verdict"),
    [
        ("x is None", {"x": None}, True),
        ("x is not None and x > 3", {"x": None}, False),
        ("x is not None and x > 3", {"x": 4}, True),
        ("x is y", {"x": 1, "y": 1}, None),
        ("x < 3 < y", {"x": 2}, None),
        ("x < 3 < y", {"x": 5}, False),
        ("x in (1, 2)", {"x": 2}, True),
        ("x not in [1, 2]", {"x": 2}, False),
        ("x or y", {"x": True}, True),
        ("x and y", {"x": False}, False),
        ("x and y", {"x": True}, None),
        ("f(x)", {"x": 1}, None),
        ("f(x)", {"f(x)": True}, True),
        ("x < 'a'", {"x": 1}, None),
        ("x << 2 == 8", {"x": 2}, True),
        ("x / 2 == 1", {"x": 2}, None),
        ("x == 'a'", {"x": 1}, None),
        ("x != 'a'", {"x": None}, True),
        ("x % 0 == 1", {"x": 2}, None),
        ("not not x", {"x": 1}, True),
        ("x == 0.5", {"x": 1}, False),
        ("-x == 1", {"x": 1}, None),
    ],
)
def test_condition_under_facts(test: str, facts: dict[str, Plain | None], verdict: bool | None) -> None:
    """A condition is met, not met, or left open; nothing is guessed."""
    body = f"def f():\n    if {test}:\n        return 1\n    else:\n        return 2\n".encode()
    try:
        value = python.read(body).function("f").returned(given=facts).value
    except UnknownError:
        assert verdict is None
    else:
        assert verdict is not None
        assert (1 if verdict else 2) == value
