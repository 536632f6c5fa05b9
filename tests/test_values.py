"""Values: exact, with their units, unknown where they must be, and each the value that its own expression yields."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from site_builder import values
from site_builder.values import (
    UNKNOWN,
    Digest,
    Value,
    ValueRefused,
    choose,
    count,
    decoded,
    evaluate,
    every,
    grouped,
    holds,
    least,
    leaves,
    most,
    number,
    plain,
    shown,
    some,
    total,
    truth,
    unit_name,
    word,
    words,
)

_UNITS = ("1", "token", "head", "B", "KiB", "MiB", "GiB", "kB", "MB", "GB", "ms", "s", "min", "h", "%")
_TRUTHS = (True, False, UNKNOWN)

decimals = st.decimals(min_value=-(10**9), max_value=10**9, allow_nan=False, allow_infinity=False, places=3)
numbers = st.tuples(decimals | st.just(UNKNOWN), st.sampled_from(_UNITS))


class _Leaves:
    """Values by an address each, as a receipt has them."""

    def __init__(self) -> None:
        self.by_address: dict[str, Value] = {}

    def number(self, drawn: tuple[Decimal | str, str]) -> Value:
        return self._kept(lambda address: number(drawn[0], drawn[1], address))

    def truth(self, raw: Any) -> Value:
        return self._kept(lambda address: truth(raw, address))

    def _kept(self, make: Callable[[str], Value]) -> Value:
        address = f"leaf{len(self.by_address)}"
        self.by_address[address] = make(address)
        return self.by_address[address]


_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": least,
    "max": most,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "sum": total,
}


@st.composite
def _computed(draw: st.DrawFn) -> tuple[Value, _Leaves]:
    """A value that was computed in several steps from leaves, and these."""
    made = _Leaves()
    known = [made.number(draw(numbers)) for _ in range(draw(st.integers(1, 4)))]
    truths = [made.truth(draw(st.sampled_from(_TRUTHS)))]
    for _ in range(draw(st.integers(1, 6))):
        operation = draw(st.sampled_from([*_BINARY, "neg", "to", "and", "or", "not", "if", "count", "zero"]))
        one, other = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        try:
            match operation:
                case "neg":
                    value = -one
                case "to":
                    value = one.to(
                        draw(st.sampled_from([unit for unit in _UNITS if unit not in ("1", "token", "head")]))
                    )
                case "and":
                    value = every(*truths)
                case "or":
                    value = some(*truths)
                case "not":
                    value = ~draw(st.sampled_from(truths))
                case "if":
                    value = choose(draw(st.sampled_from(truths)), one, other)
                case "count":
                    value = count(*truths)
                case "zero":
                    value = one + 0
                case _:
                    value = _BINARY[operation](one, other)
        except ValueRefused:
            continue
        (truths if value.kind == "truth" else known).append(value)
    return draw(st.sampled_from([*known, *truths])), made


@given(_computed())
def test_the_expression_yields_the_value(drawn):
    """What a value remembers of how it was computed comes to the same kind, unit and amount, without the author's code."""
    value, made = drawn

    again = evaluate(value.expression, made.by_address.__getitem__)
    assert (value.kind, value.unit, value.text) == (again.kind, again.unit, again.text)
    assert set(leaves(value.expression)) <= set(made.by_address)


@given(_computed())
def test_the_encoding_keeps_the_value(drawn):
    """What is written of a value and read again is the value."""
    value, _ = drawn

    again = decoded(value.text, value.kind, value.unit, "there")
    assert (value.kind, value.unit, value.text, value.raw == UNKNOWN) == (
        again.kind,
        again.unit,
        again.text,
        again.raw == UNKNOWN,
    )


# Exactness


def _exact(value: Value) -> Fraction:
    return Fraction(cast(Decimal, value.raw))


@given(decimals, decimals)
def test_arithmetic_is_exact(a, b):
    """Sums, differences and products are what fractions say; a quotient is exact or refused; floors go down."""
    left, right = number(a), number(b)
    x, y = Fraction(a), Fraction(b)

    assert x + y == _exact(left + right)
    assert x - y == _exact(left - right)
    assert x * y == _exact(left * right)
    assume(b != 0)
    assert x // y == _exact(left // right)
    assert x % y == _exact(left % right)
    denominator = (x / y).denominator
    for factor in (2, 5):
        while denominator % factor == 0:
            denominator //= factor
    if denominator == 1:
        assert x / y == _exact(left / right)
    else:
        with pytest.raises(ValueRefused, match="the result has no end; use // or state it as a ratio"):
            left / right


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: number("1") / number("3"), "1 and 3: the result has no end; use // or state it as a ratio"),
        (lambda: number("1") / number("0"), "1 divided by 0"),
        (lambda: number("1") // number("0"), "1 divided by 0"),
        (lambda: number("1") % number("0"), "1 divided by 0"),
        (lambda: number("1." + "0" * 30 + "1") * number("1." + "0" * 30 + "1"), "1." + "0" * 30 + "1 and 1."),
        (lambda: number("9e999999"), "expected a number of at most 60 digits, found one beyond"),
        (lambda: number("1e-61"), "expected a number of at most 60 digits, found one beyond"),
        (lambda: number("1" * 61), "expected a number of at most 60 digits, found one beyond"),
    ],
)
def test_a_result_that_is_not_exact(work, said):
    """What can't be written whole is refused, not rounded."""
    with pytest.raises(ValueRefused, match="^" + re.escape(said)):
        work()


def test_no_float_comes_in():
    """Neither a float nor a Python truth nor another number becomes a value by itself."""
    for item in (0.5, 2, True, None, "3", Decimal(3), float("nan")):
        with pytest.raises(ValueRefused):
            number("1") + item
    for text in ("nan", "Infinity", "-Infinity", "one", "1,5", ""):
        with pytest.raises(ValueRefused):
            number(text)
    assert ["add", "x", "1"] == (number("2", "1", "x") + 1).expression


# Units


@pytest.mark.parametrize(
    ("value", "text", "unit"),
    [
        (number("8589934592", "B").to("GiB"), "8", "GiB"),
        (number("8", "GiB").to("B"), "8589934592", "B"),
        (number("8", "GB").to("MB"), "8000", "MB"),
        (number("1.5", "h").to("min"), "90", "min"),
        (number("1", "GiB") + number("512", "MiB"), "1.5", "GiB"),
        (number("1", "GiB") / number("1", "MiB"), "1024", "1"),
        (number("4096", "token") * number("2", "B"), "8192", "B"),
        (number("64", "head") / number("8", "GPU"), "8", "head"),
        (number("64", "head") / number("8", "head"), "8", "1"),
        (number("10", "head") * number("3", "token"), "30", "1"),
        (number("2", "head") * number("3"), "6", "head"),
        (number("7", "GiB") - 0, "7", "GiB"),
        (most(number("0.5", "s"), cast(Value, 1)), "1", "s"),
        (number("3").of("head"), "3", "head"),
    ],
)
def test_units_that_meet(value, text, unit):
    """Amounts of one dimension are converted, counts keep the name of what is counted, 0 and 1 take any unit."""
    assert (text, unit) == (value.text, value.unit)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: number("1", "GiB") + number("1", "s"), "s beside GiB: not the same unit"),
        (lambda: number("1", "head") + number("1", "token"), "token beside head: not the same unit"),
        (lambda: number("1", "GiB") < number("1", "token"), "token beside GiB: not the same unit"),
        (lambda: number("1", "GiB") + number("2"), "a pure number beside GiB: give it its unit"),
        (lambda: number("1", "GiB") * number("1", "MiB"), "GiB times MiB has no meaning here"),
        (lambda: number("1", "token") / number("1", "s"), "token divided by s has no meaning here"),
        (lambda: number("1", "token").to("GiB"), "token is not expressed in GiB"),
        (lambda: number("1", "GiB").to("token"), "'token' is no unit of a known dimension"),
        (lambda: number("1", "GiB").of("head"), r"a number in GiB can't be renamed to head: convert it with to\(\)"),
        (lambda: number("1").of("GiB"), r"a number in 1 can't be renamed to GiB: convert it with to\(\)"),
        (lambda: word("x").of("head"), r"a number in word can't be renamed to head"),
        (lambda: choose(truth(True), number("1", "GiB"), number("1", "MiB")), "GiB or MiB: choose between values of one unit"),
        (lambda: choose(truth(True), number("1"), word("x")), "number or word: choose between values of one kind"),
        (lambda: number("1", "two words"), "'two words' is no unit"),
    ],
)  # fmt: skip
def test_units_that_do_not_meet(work, said):
    """Whatever would add apples to pears is refused with both of their names."""
    with pytest.raises(ValueRefused, match="^" + said):
        work()


# Unknown, as Kleene has it


def _and(a: Any, b: Any) -> Any:
    return False if a is False or b is False else UNKNOWN if UNKNOWN in (a, b) else True


def _or(a: Any, b: Any) -> Any:
    return True if a is True or b is True else UNKNOWN if UNKNOWN in (a, b) else False


@pytest.mark.parametrize(("a", "b"), list(product(_TRUTHS, repeat=2)))
def test_truth_tables(a, b):
    """And, or, not and if are decided by what is known wherever it decides, and unknown otherwise."""
    one, other = truth(a, "a"), truth(b, "b")

    assert _and(a, b) == every(one, other).raw
    assert _or(a, b) == some(one, other).raw
    assert (UNKNOWN if a == UNKNOWN else not a) == (~one).raw
    assert (UNKNOWN if UNKNOWN in (a, b) else a == b) == (one == other).raw
    assert (UNKNOWN if UNKNOWN in (a, b) else a != b) == (one != other).raw
    assert (UNKNOWN if UNKNOWN in (a, b) else str((a is True) + (b is True))) == count(one, other).text


@pytest.mark.parametrize(("a", "b"), list(product(("1", "2", UNKNOWN), repeat=2)))
def test_an_unknown_number(a, b):
    """What is computed from an unknown number is unknown, in the right unit; a choice between equals is known."""
    one, other = number(a, "GiB"), number(b, "GiB")
    unknown = UNKNOWN in (a, b)

    for made in (one + other, one - other, one / 1, least(one, other), most(one, other), total(one, other)):
        wholly = a == UNKNOWN if made.expression[0] == "div" else unknown
        assert (wholly, "GiB") == (made.raw == UNKNOWN, made.unit)
    for related in (one < other, one >= other, one == other):
        assert unknown == (related.raw == UNKNOWN)
    assert (a if a == b else UNKNOWN) == choose(truth(UNKNOWN), one, other).text
    assert a == choose(truth(True), one, other).text
    assert b == choose(truth(False), one, other).text


def test_an_unknown_beside_something_else():
    """An unknown word takes the shape of what it stands beside; the rest of a list that is unknown decides nothing."""
    chosen = choose(truth(False), number("3", "head"), word(UNKNOWN))
    assert ("number", "head", UNKNOWN) == (chosen.kind, chosen.unit, chosen.raw)
    listed = words(["fp8", "auto"])
    assert [True, False, UNKNOWN] == [holds(listed, word(item)).raw for item in ("fp8", "bf16", UNKNOWN)]
    assert UNKNOWN == holds(word(UNKNOWN, "words"), word("fp8")).raw
    assert True is holds(words(["8", "9"]), number("9")).raw


# What leaves no trace


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (bool, "a value is no Python truth"),
        (lambda value: not value, "a value is no Python truth"),
        (lambda value: value and value, "a value is no Python truth"),
        (lambda value: 0 < value < 9, "a value is no Python truth"),
        (int, "a value is no Python number"),
        (float, "a value is no Python number"),
        (lambda value: [1, 2][value], "a value is no Python number"),
        (range, "a value is no Python number"),
        (hash, "a value is no key"),
        (lambda value: {value: 1}, "a value is no key"),
        (lambda value: {value}, "a value is no key"),
        (list, "a value has no members"),
        (lambda value: 1 in value, "`in` leaves no trace"),
        (lambda value: value in [number("5"), number("6")], "a value is no Python truth"),
        (lambda value: sorted([value, value]), "a value is no Python truth"),
        (lambda value: max(value, value), "a value is no Python truth"),
    ],
)
def test_what_leaves_no_trace(work, said):
    """A value refuses whatever Python would do with it that its expression does not show."""
    with pytest.raises(ValueRefused, match=said):
        work(number("3"))


def test_a_value_can_not_be_changed():
    """What was computed stays; naming it makes another one."""
    value = number("3", "GiB")
    with pytest.raises(AttributeError):
        value.raw = Decimal(4)  # type: ignore[misc]
    assert ("there", "") == (value.named("there").expression, value.expression)


@pytest.mark.parametrize(
    "work",
    [
        lambda: every(number("1"), truth(True)),
        lambda: count(word("yes")),
        lambda: ~number("1"),
        lambda: choose(number("1"), number("1"), number("2")),
        lambda: number("1") + word("1"),
        lambda: word("1") < word("2"),
        lambda: number("1") == word("1"),
        lambda: truth(True) == word("yes"),
        lambda: holds(word("fp8"), word("fp8")),
        lambda: holds(words(["yes"]), truth(True)),
        total,
        lambda: every(cast(Value, [])),
        lambda: least(cast(Value, "12")),
        lambda: choose(cast(Value, "x"), number("1"), number("2")),
        lambda: holds(cast(Value, "fp8"), word("fp8")),
    ],
)
def test_an_operation_without_meaning(work):
    """Kinds that do not go together, and nothing at all, are refused."""
    with pytest.raises(ValueRefused):
        work()


@pytest.mark.parametrize(
    "expression",
    [[], ["add"], ["pow", "x", "x"], ["add", ["div"], "x"], [["add"], "x"], ["if", "x", "x", "x"], ["opaque"]],
)
def test_an_expression_that_is_none(expression):
    """An expression of no operation, or of one on other kinds, is refused."""
    with pytest.raises((ValueRefused, ValueError)):
        evaluate(expression, lambda leaf: number("3", "1", leaf))


def test_an_expression_with_too_many_operands():
    """An operation on two takes two: nothing in an expression is left out of what it yields."""
    for operation in ("add", "sub", "mul", "div", "eq", "lt", "neg", "not", "if", "holds"):
        with pytest.raises(ValueRefused):
            evaluate([operation, "x", "x", "x", "x"], lambda leaf: number("3", "1", leaf))


# How they are written


@given(decimals)
def test_one_notation(value):
    """A number has one notation, without exponent or trailing zeros, which reads as itself."""
    text = plain(value)

    assert Decimal(text) == value
    assert "e" not in text.lower()
    assert not (text.endswith("0") and "." in text)
    assert "-0" != text
    assert text == grouped(value).replace(",", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (number("32768", "token"), "32,768 tokens"),
        (number("1", "token"), "1 token"),
        (number("1", "B"), "1 byte"),
        (number("-1234567.5", "GiB"), "-1,234,567.5 GiB"),
        (number("-0.5"), "-0.5"),
        (number("2", "entry"), "2 entries"),
        (number("2", "batch"), "2 batches"),
        (number("2", "key"), "2 keys"),
        (number("256", "byte/token"), "256 bytes/token"),
        (number(UNKNOWN, "GiB"), "unknown"),
        (truth(True), "yes"),
        (words(["a", "b"]), "a, b"),
    ],
)
def test_as_a_reader_reads_it(value, text):
    """Whole, thousands in groups, with the unit that the amount asks for."""
    assert text == shown(value)


def test_a_digest():
    """A digest is the one of the bytes, as it is written everywhere."""
    assert "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" == Digest.of(b"")


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("sizes/32768/size", "32768"),
        ("pageSize@1.2.0", "1.2.0"),
        ("caps/4096", "4096"),
        ("plain", ""),
        ("a@b/c@d/e", "c@d"),
    ],
)
def test_the_key_of_an_address(address, key):
    """A value's key is its row's id, what stands behind the `@`, or the member of a list."""
    assert key == values.key_of(address)


def test_a_value_that_another_chooses():
    """What names the key of a value is part of how it was come by, and is held to that key."""
    leaves = {"pageSize@1.2.0": number("4096", "B", "x"), "newest": word("1.2.0", "version", "newest")}
    chosen = values.chosen(leaves["pageSize@1.2.0"].named("pageSize@1.2.0"), leaves["newest"])

    assert ("4096", "B", ["at", "pageSize@1.2.0", "newest"]) == (chosen.text, chosen.unit, chosen.expression)
    assert ["pageSize@1.2.0", "newest"] == list(values.leaves(chosen.expression))
    assert "4096" == values.evaluate(chosen.expression, leaves.__getitem__).text
    with pytest.raises(ValueRefused, match=r"expected the value that stands under '1\.1\.0', found 'pageSize@1\.2\.0'"):
        values.evaluate(chosen.expression, {**leaves, "newest": word("1.1.0")}.__getitem__)
    with pytest.raises(ValueRefused, match="expected the value that stands under"):
        values.evaluate(["at", ["neg", "pageSize@1.2.0"], "newest"], leaves.__getitem__)


def test_every_operation_is_tried_here():
    """An operation that is added is added to these tests."""
    tried = {*_BINARY, "neg", "and", "or", "not", "if", "count", "holds", "at"}

    assert set(values.OPERATIONS) == tried
    assert "" == unit_name("1", Decimal(2))


def test_half_of_a_surrogate_pair():
    """What can't be written is no value: an upstream's JSON may hold it."""
    with pytest.raises(ValueRefused, match="half of a surrogate pair is no text"):
        word("x\ud800")
    with pytest.raises(ValueRefused, match="half of a surrogate pair is no text"):
        values.words(["x", "\udfff"])
