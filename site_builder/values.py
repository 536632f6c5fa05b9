"""Values: numbers with units, words and truths, and the arithmetic done on them.

Authors of audits write ordinary Python; a value remembers how it was computed, so that the expression which a receipt
publishes is a by-product and not a second statement of the same thing. `evaluate` computes an expression again without
the author's code. Unknown is a value: what rests on it and can't be decided without it is unknown too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from functools import cache
from typing import Any, Final, Literal, NoReturn, TypeAlias

UNKNOWN: Final = "unknown"
"""What can't be decided, as it stands in receipts: a word, never null and never missing."""

Kind: TypeAlias = Literal["number", "word", "truth", "date", "version", "digest", "text", "words"]
Expression: TypeAlias = "str | list[Expression]"
"""A leaf (an address, a column of the same row, a unit, `0` or `1`) or an operation and its operands."""

_BYTES: Final[Mapping[str, Decimal]] = {
    "B": Decimal(1),
    **{f"{prefix}iB": Decimal(1024) ** power for power, prefix in enumerate("KMGT", start=1)},
    **{f"{prefix}B": Decimal(1000) ** power for power, prefix in enumerate("kMGT", start=1)},
}
_SECONDS: Final[Mapping[str, Decimal]] = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}
_DIMENSIONS: Final[tuple[Mapping[str, Decimal], ...]] = (_BYTES, _SECONDS, {"%": Decimal("0.01")})
MEASURED: Final[frozenset[str]] = frozenset(unit for dimension in _DIMENSIONS for unit in dimension) - {"B"}
"""Units of what is measured or scaled, which prose may round. Everything else is counted and is exact."""

_EXACT = Context(prec=60, traps=[Inexact, InvalidOperation, DivisionByZero, Overflow])
_LONE = re.compile("[\ud800-\udfff]")
_UNIT = re.compile(r"1|%|[A-Za-z][A-Za-z0-9/-]*")


class ValueRefused(TypeError):
    """An audit did something to a value that would leave no trace or has no meaning."""


class Digest(str):
    """The SHA-256 of bytes, as `sha256:` and 64 hex digits."""

    __slots__ = ()

    @classmethod
    def of(cls, body: bytes) -> Digest:
        """Return the digest of these bytes."""
        return cls("sha256:" + hashlib.sha256(body).hexdigest())


def plain(number: Decimal) -> str:
    """Return the number's one decimal notation: no exponent, no trailing zeros, no negative zero."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


Raw: TypeAlias = "Decimal | str | bool | tuple[str, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A number, word or truth with the expression that yields it.

    It refuses to be used as a Python truth, number, key or member of a container: what is done that way leaves no trace
    in the expression. `least`, `most`, `every`, `some`, `choose`, `total` and `count` are the words for it.
    """

    raw: Raw
    """A Decimal, a text, a bool or a tuple of texts; `UNKNOWN` in place of any of them."""
    kind: Kind
    unit: str
    """The unit of a number; empty for everything else."""
    expression: Expression

    @property
    def known(self) -> bool:
        """Whether it is decided. For the builder: in an audit the unknown goes its way by itself."""
        return self.raw != UNKNOWN

    @property
    def text(self) -> str | list[str]:
        """The value as receipts write it."""
        if isinstance(self.raw, bool):
            return "yes" if self.raw else "no"
        if isinstance(self.raw, Decimal):
            return plain(self.raw)
        return list(self.raw) if isinstance(self.raw, tuple) else self.raw

    def named(self, expression: Expression) -> Value:
        """Return the same value, known from here on by an address instead of by how it was computed."""
        return Value(self.raw, self.kind, self.unit, expression)

    def __bool__(self) -> NoReturn:
        raise ValueRefused("a value is no Python truth: write every(…), some(…) or choose(condition, then, else)")

    def __int__(self) -> NoReturn:
        raise ValueRefused("a value is no Python number: calculate with the value itself")

    __index__ = __float__ = __int__

    def __hash__(self) -> NoReturn:
        raise ValueRefused("a value is no key: compare it with ==, and gather with some(…)")

    def __iter__(self) -> NoReturn:
        raise ValueRefused("a value has no members: read a list of words as words, or ask holds(list, word)")

    def __contains__(self, item: object) -> NoReturn:
        raise ValueRefused("`in` leaves no trace: write holds(list, word)")

    def __add__(self, other: object) -> Value:
        return _arithmetic("add", self, other)

    def __radd__(self, other: object) -> Value:
        return _arithmetic("add", other, self)

    def __sub__(self, other: object) -> Value:
        return _arithmetic("sub", self, other)

    def __rsub__(self, other: object) -> Value:
        return _arithmetic("sub", other, self)

    def __mul__(self, other: object) -> Value:
        return _arithmetic("mul", self, other)

    def __rmul__(self, other: object) -> Value:
        return _arithmetic("mul", other, self)

    def __truediv__(self, other: object) -> Value:
        return _arithmetic("div", self, other)

    def __rtruediv__(self, other: object) -> Value:
        return _arithmetic("div", other, self)

    def __floordiv__(self, other: object) -> Value:
        return _arithmetic("floordiv", self, other)

    def __rfloordiv__(self, other: object) -> Value:
        return _arithmetic("floordiv", other, self)

    def __mod__(self, other: object) -> Value:
        return _arithmetic("mod", self, other)

    def __neg__(self) -> Value:
        return _applied("neg", [self])

    def __lt__(self, other: object) -> Value:
        return _applied("lt", [self, operand(other)])

    def __le__(self, other: object) -> Value:
        return _applied("le", [self, operand(other)])

    def __gt__(self, other: object) -> Value:
        return _applied("gt", [self, operand(other)])

    def __ge__(self, other: object) -> Value:
        return _applied("ge", [self, operand(other)])

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return _applied("eq", [self, operand(other)])

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return _applied("ne", [self, operand(other)])

    def __invert__(self) -> Value:
        return _applied("not", [self])

    def to(self, unit: str) -> Value:
        """Return the same amount in another unit of its dimension: 8589934592 B is 8 GiB."""
        return _applied("div", [self, _unit_leaf(unit)])

    def of(self, unit: str) -> Value:
        """Return the same count under the name of what is counted. Units of measure are converted, not renamed."""
        if self.kind != "number" or unit in MEASURED or self.unit in MEASURED or "B" in (unit, self.unit):
            raise ValueRefused(f"a number in {self.unit or self.kind} can't be renamed to {unit}: convert it with to()")
        return Value(self.raw, self.kind, unit, self.expression)


def number(value: str | int | Decimal, unit: str = "1", expression: Expression = "") -> Value:
    """Return a number with its unit, `1` for a pure number."""
    if not _UNIT.fullmatch(unit):
        raise ValueRefused(f"{unit!r} is no unit")
    if value == UNKNOWN:
        return Value(UNKNOWN, "number", unit, expression)
    try:
        decimal = Decimal(value)
    except InvalidOperation:
        raise ValueRefused(f"{value!r} is no decimal number") from None
    if not decimal.is_finite():
        raise ValueRefused(f"{value!r} is no finite number")
    if decimal and (len(decimal.as_tuple().digits) > _EXACT.prec or abs(decimal.adjusted()) >= _EXACT.prec):
        raise ValueRefused(f"expected a number of at most {_EXACT.prec} digits, found one beyond")
    return Value(decimal, "number", unit, expression)


def word(value: str, kind: Kind = "word", expression: Expression = "") -> Value:
    """Return a word: a token, a version, a date or a digest, as it was read."""
    return Value(_text(value), kind, "", expression)


def words(values: Iterable[str], expression: Expression = "") -> Value:
    """Return a list of words in its own order."""
    return Value(tuple(map(_text, values)), "words", "", expression)


def _text(value: str) -> str:
    if _LONE.search(value):
        raise ValueRefused("half of a surrogate pair is no text")
    return value


def truth(value: bool | Literal["unknown"], expression: Expression = "") -> Value:
    """Return yes, no or unknown."""
    return Value(value, "truth", "", expression)


def decoded(text: str | Sequence[str], kind: Kind, unit: str, expression: Expression) -> Value:
    """Return the value that a receipt's text stands for: the inverse of `Value.text`.

    Raises:
        ValueRefused: the text is not of that kind.
    """
    if text == UNKNOWN:
        return Value(UNKNOWN, kind, unit, expression)
    if kind == "words":
        if isinstance(text, str):
            raise ValueRefused(f"{text!r} is no list of words")
        return words(text, expression)
    if not isinstance(text, str):
        raise ValueRefused("a list where one value was expected")
    if kind == "number":
        value = number(text, unit, expression)
        if value.text != text:
            raise ValueRefused(f"{text!r} is not how this number is written ({value.text})")
        return value
    if kind == "truth":
        if text not in ("yes", "no"):
            raise ValueRefused(f"{text!r} is neither yes, no nor unknown")
        return truth(text == "yes", expression)
    return word(text, kind, expression)


def least(*values: Value) -> Value:
    """Return the smallest."""
    return _applied("min", _gathered(values))


def most(*values: Value) -> Value:
    """Return the largest."""
    return _applied("max", _gathered(values))


def every(*values: Value) -> Value:
    """Return whether all hold: no as soon as one does not, unknown where the unknown ones decide."""
    return _applied("and", _gathered(values))


def some(*values: Value) -> Value:
    """Return whether any holds: yes as soon as one does, unknown where the unknown ones decide."""
    return _applied("or", _gathered(values))


def choose(condition: Value, then: Value, otherwise: Value) -> Value:
    """Return the one that the condition selects; unknown where the condition is unknown and the two differ."""
    return _applied("if", [operand(condition), operand(then), operand(otherwise)])


def total(*values: Value) -> Value:
    """Return the sum."""
    return _applied("sum", _gathered(values))


def count(*values: Value) -> Value:
    """Return how many hold, as a pure number."""
    return _applied("count", _gathered(values))


def holds(listed: Value, member: Value) -> Value:
    """Return whether the list of words has this word."""
    return _applied("holds", [operand(listed), operand(member)])


def chosen(value: Value, chooser: Value) -> Value:
    """Return the value of the row or member that the chooser names, with the chooser in its lineage."""
    return _applied("at", [value, chooser])


def _gathered(values: Sequence[Any]) -> list[Value]:
    """Take the operands one by one or as one iterable of them, a table's column say."""
    flat = values if len(values) != 1 or isinstance(values[0], Value) else list(values[0])
    if not flat:
        raise ValueRefused("no values to gather: empty is wrong")
    return [operand(item) for item in flat]


def operand(item: object) -> Value:
    """Return what arithmetic may be done on: a value, or 0 or 1.

    Raises:
        ValueRefused: anything else has no lineage.
    """
    if isinstance(item, Value):
        return item
    if item in (0, 1) and type(item) is int:
        return number(item, "1", str(item))
    if isinstance(item, bool):
        raise ValueRefused("a Python truth has no lineage: compare values instead")
    literal = f" {item!r}" if isinstance(item, int | float | str | Decimal) else ""
    raise ValueRefused(f"{type(item).__name__}{literal} has no lineage: make it an assumption with a reason")


def _unit_leaf(unit: str) -> Value:
    for dimension in _DIMENSIONS:
        if unit in dimension:
            return Value(Decimal(1), "number", unit, unit)
    raise ValueRefused(f"{unit!r} is no unit of a known dimension")


def _arithmetic(operation: str, left: object, right: object) -> Value:
    return _applied(operation, [operand(left), operand(right)])


def _applied(operation: str, operands: Sequence[Value]) -> Value:
    kind, unit, raw = _OPERATIONS[operation](operands)
    return Value(raw, kind, unit, [operation, *(operand.expression for operand in operands)])


_Outcome: TypeAlias = tuple[Kind, str, Raw]


@cache
def _dimension(unit: str) -> Mapping[str, Decimal] | None:
    return next((dimension for dimension in _DIMENSIONS if unit in dimension), None)


def _numbers(operands: Sequence[Value]) -> None:
    for operand in operands:
        if operand.kind != "number":
            raise ValueRefused(f"{operand.kind} {operand.text!r} where a number was expected")


def _same_unit(operands: Sequence[Value]) -> tuple[str, list[Decimal] | None]:
    """The unit that the operands share, and their amounts in it; 0 and 1 take the unit of what they stand beside."""
    _numbers(operands)
    named = [operand.unit for operand in operands if operand.unit != "1"]
    unit = named[0] if named else "1"
    amounts: list[Decimal] = []
    for operand in operands:
        if operand.unit not in (unit, "1"):
            here, there = _dimension(unit), _dimension(operand.unit)
            if here is None or here is not there:
                raise ValueRefused(f"{operand.unit} beside {unit}: not the same unit")
            if operand.known:
                amounts.append(_exact(lambda a, b: a / b, operand.raw * there[operand.unit], here[unit]))  # type: ignore[operator]
            continue
        if operand.unit == "1" and unit in MEASURED | {"B"} and operand.expression not in ("0", "1"):
            raise ValueRefused(f"a pure number beside {unit}: give it its unit")
        if operand.known:
            amounts.append(operand.raw)  # type: ignore[arg-type]
    return unit, amounts if len(amounts) == len(operands) else None


def _exact(operation: Callable[[Decimal, Decimal], Decimal], left: Decimal, right: Decimal) -> Decimal:
    from decimal import localcontext

    try:
        with localcontext(_EXACT):
            return operation(left, right)
    except Inexact:
        raise ValueRefused(
            f"{plain(left)} and {plain(right)}: the result has no end; use // or state it as a ratio"
        ) from None
    except (DivisionByZero, InvalidOperation):
        raise ValueRefused(f"{plain(left)} divided by {plain(right)}") from None
    except Overflow:
        raise ValueRefused("the result is too large") from None


def _additive(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Sequence[Value]], _Outcome]:
    def apply(operands: Sequence[Value]) -> _Outcome:
        unit, amounts = _same_unit(operands)
        return "number", unit, UNKNOWN if amounts is None else _exact(operation, amounts[0], amounts[1])

    return apply


def _mul(operands: Sequence[Value]) -> _Outcome:
    _numbers(operands)
    measured = [operand.unit for operand in operands if _dimension(operand.unit)]
    counted = [operand.unit for operand in operands if operand.unit != "1" and not _dimension(operand.unit)]
    if len(measured) > 1:
        raise ValueRefused(f"{measured[0]} times {measured[1]} has no meaning here")
    unit = measured[0] if measured else counted[0] if len(counted) == 1 else "1"
    if any(not operand.known for operand in operands):
        return "number", unit, UNKNOWN
    return "number", unit, _exact(lambda a, b: a * b, operands[0].raw, operands[1].raw)  # type: ignore[arg-type]


def _quotient(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Sequence[Value]], _Outcome]:
    def apply(operands: Sequence[Value]) -> _Outcome:
        _numbers(operands)
        left, right = operands
        here, there = _dimension(left.unit), _dimension(right.unit)
        if there is not None and right.expression == right.unit:  # a unit: the same amount, expressed in it
            if here is None or here is not there:
                raise ValueRefused(f"{left.unit} is not expressed in {right.unit}")
            unit, scale = right.unit, (here[left.unit], there[right.unit])
        elif here is not None and here is there:
            unit, scale = "1", (here[left.unit], there[right.unit])
        elif there is not None:
            raise ValueRefused(f"{left.unit} divided by {right.unit} has no meaning here")
        else:
            unit, scale = ("1" if left.unit == right.unit else left.unit), (Decimal(1), Decimal(1))
        if not left.known or not right.known:
            return "number", unit, UNKNOWN
        return "number", unit, _exact(operation, left.raw * scale[0], right.raw * scale[1])  # type: ignore[operator]

    return apply


def _neg(operands: Sequence[Value]) -> _Outcome:
    _numbers(operands)
    raw = operands[0].raw
    return "number", operands[0].unit, -raw if isinstance(raw, Decimal) else UNKNOWN


def _extreme(pick: Callable[[list[Decimal]], Decimal]) -> Callable[[Sequence[Value]], _Outcome]:
    def apply(operands: Sequence[Value]) -> _Outcome:
        unit, amounts = _same_unit(operands)
        return "number", unit, UNKNOWN if amounts is None else pick(amounts)

    return apply


def _ordered(holds_for: Callable[[Decimal, Decimal], bool]) -> Callable[[Sequence[Value]], _Outcome]:
    def apply(operands: Sequence[Value]) -> _Outcome:
        _, amounts = _same_unit(operands)
        return "truth", "", UNKNOWN if amounts is None else holds_for(amounts[0], amounts[1])

    return apply


def _alike(wanted: bool) -> Callable[[Sequence[Value]], _Outcome]:
    def apply(operands: Sequence[Value]) -> _Outcome:
        left, right = operands
        if left.kind == "number" and right.kind == "number":
            _, amounts = _same_unit(operands)
            return "truth", "", UNKNOWN if amounts is None else (amounts[0] == amounts[1]) is wanted
        if "number" in (left.kind, right.kind) or ("truth" in (left.kind, right.kind) and left.kind != right.kind):
            raise ValueRefused(f"{left.kind} {left.text!r} beside {right.kind} {right.text!r} can't be compared")
        return "truth", "", UNKNOWN if not (left.known and right.known) else (left.raw == right.raw) is wanted

    return apply


def _truths(operands: Sequence[Value]) -> list[Raw]:
    for operand in operands:
        if operand.kind != "truth":
            raise ValueRefused(f"{operand.kind} {operand.text!r} where yes or no was expected")
    return [operand.raw for operand in operands]


def _kleene(decisive: bool) -> Callable[[Sequence[Value]], _Outcome]:
    """And is decided by one no, or by one yes; else one unknown leaves it unknown."""

    def apply(operands: Sequence[Value]) -> _Outcome:
        raws = _truths(operands)
        if any(raw is decisive for raw in raws):
            return "truth", "", decisive
        return "truth", "", UNKNOWN if UNKNOWN in raws else not decisive

    return apply


def _not(operands: Sequence[Value]) -> _Outcome:
    raw = _truths(operands)[0]
    return "truth", "", UNKNOWN if raw == UNKNOWN else not raw


def _if(operands: Sequence[Value]) -> _Outcome:
    condition, then, otherwise = operands
    raw = _truths([condition])[0]
    if then.kind == "number" and otherwise.kind == "number":
        unit = _same_unit([then, otherwise])[0]
        if unit not in (then.unit, "1") or unit not in (otherwise.unit, "1"):
            raise ValueRefused(f"{then.unit} or {otherwise.unit}: choose between values of one unit")
    elif not then.known or not otherwise.known:
        shape = otherwise if otherwise.known else then  # the unknown one takes the shape of what it stands beside
        then = Value(then.raw, shape.kind, shape.unit, then.expression)
        unit = shape.unit
    elif then.kind != otherwise.kind:
        raise ValueRefused(f"{then.kind} or {otherwise.kind}: choose between values of one kind")
    else:
        unit = then.unit
    if raw == UNKNOWN:
        return then.kind, unit, then.raw if then.raw == otherwise.raw else UNKNOWN
    return then.kind, unit, then.raw if raw else otherwise.raw


def _sum(operands: Sequence[Value]) -> _Outcome:
    unit, amounts = _same_unit(operands)
    if amounts is None:
        return "number", unit, UNKNOWN
    result = Decimal(0)
    for amount in amounts:
        result = _exact(lambda a, b: a + b, result, amount)
    return "number", unit, result


def _count(operands: Sequence[Value]) -> _Outcome:
    raws = _truths(operands)
    return "number", "1", UNKNOWN if UNKNOWN in raws else Decimal(sum(raw is True for raw in raws))


def _holds(operands: Sequence[Value]) -> _Outcome:
    listed, member = operands
    if listed.kind != "words" or member.kind in ("truth", "words"):
        raise ValueRefused(f"holds({listed.kind}, {member.kind}): expected a list of words and a word or a number")
    if not listed.known or not member.known:
        return "truth", "", UNKNOWN
    return "truth", "", member.text in listed.text


def _at(operands: Sequence[Value]) -> _Outcome:
    """A value stands under a key; what names that key is part of how it was come by."""
    value, chooser = operands
    if not isinstance(value.expression, str) or key_of(value.expression) != chooser.text:
        raise ValueRefused(f"expected the value that stands under {chooser.text!r}, found {value.expression!r}")
    return value.kind, value.unit, value.raw


def key_of(address: str) -> str:
    """Return the key under which an address has its value: a row's id, or what stands behind the `@`."""
    _, listed, rest = address.partition("/")
    if not listed:
        return address.partition("@")[2]
    row, cell, _ = rest.rpartition("/")
    return row if cell else rest


def _floor(left: Decimal, right: Decimal) -> Decimal:
    """Floor division as Python's integers know it; the decimal module truncates toward zero instead."""
    quotient = left // right
    return quotient - 1 if quotient * right != left and (left < 0) != (right < 0) else quotient


_OPERATIONS: Final[Mapping[str, Callable[[Sequence[Value]], _Outcome]]] = {
    "add": _additive(lambda a, b: a + b),
    "sub": _additive(lambda a, b: a - b),
    "mul": _mul,
    "div": _quotient(lambda a, b: a / b),
    "floordiv": _quotient(_floor),
    "mod": _additive(lambda a, b: a - b * _floor(a, b)),
    "neg": _neg,
    "min": _extreme(min),
    "max": _extreme(max),
    "lt": _ordered(lambda a, b: a < b),
    "le": _ordered(lambda a, b: a <= b),
    "gt": _ordered(lambda a, b: a > b),
    "ge": _ordered(lambda a, b: a >= b),
    "eq": _alike(True),
    "ne": _alike(False),
    "and": _kleene(False),
    "or": _kleene(True),
    "not": _not,
    "if": _if,
    "sum": _sum,
    "count": _count,
    "holds": _holds,
    "at": _at,
}
OPERATIONS: Final[frozenset[str]] = frozenset(_OPERATIONS)
_TAKES_ANY: Final = frozenset({"min", "max", "and", "or", "sum", "count"})
_TAKES: Final[Mapping[str, int]] = {
    operation: {"neg": 1, "not": 1, "if": 3}.get(operation, 2)
    for operation in _OPERATIONS
    if operation not in _TAKES_ANY
}


def evaluate(expression: Expression, leaf: Callable[[str], Value]) -> Value:
    """Return what the expression yields when each address in it stands for the value that `leaf` gives.

    Raises:
        ValueRefused: an operation is unknown or its operands have no such operation.
        KeyError: `leaf` does not know an address.
    """
    if isinstance(expression, str):
        if expression in ("0", "1"):
            return number(expression, "1", expression)
        if _dimension(expression) is not None:
            return _unit_leaf(expression)
        return leaf(expression).named(expression)
    operation = expression[0] if expression else ""
    if not isinstance(operation, str) or operation not in _OPERATIONS or len(expression) < 2:
        raise ValueRefused(f"{operation!r} is no operation")
    if len(expression) - 1 != _TAKES.get(operation, len(expression) - 1):
        raise ValueRefused(f"{operation} takes {_TAKES[operation]}, found {len(expression) - 1}")
    return _applied(operation, [evaluate(operand, leaf) for operand in expression[1:]])


def leaves(expression: Expression) -> Iterable[str]:
    """Yield the addresses that an expression names, in order, units and literals left out."""
    if isinstance(expression, str):
        if expression not in ("0", "1", "opaque") and _dimension(expression) is None:
            yield expression
        return
    for operand in expression[1:]:
        yield from leaves(operand)


def shown(value: Value) -> str:
    """Return the value as a reader reads it: whole, thousands in groups, a number with its unit."""
    if isinstance(value.raw, Decimal):
        unit = unit_name(value.unit, value.raw)
        return grouped(value.raw) + (f" {unit}" if unit else "")
    return ", ".join(value.text) if isinstance(value.text, list) else value.text


def grouped(number: Decimal) -> str:
    """Return a decimal notation with a comma between each three digits of its whole part."""
    whole, point, fraction = plain(number).partition(".")
    return f"{int(whole):,}{point}{fraction}" if whole != "-0" else f"-0{point}{fraction}"


def unit_name(unit: str, amount: Decimal) -> str:
    """Return what stands behind a number: nothing for a pure one, what is counted in singular or plural."""
    if unit == "1":
        return ""
    if unit == "B":
        return "byte" if amount == 1 else "bytes"
    if unit in MEASURED or amount == 1:
        return unit
    counted, per, rest = unit.partition("/")
    if re.search(r"[^aeiou]y$", counted):
        return f"{counted[:-1]}ies{per}{rest}"
    return f"{counted}{'es' if re.search(r'(s|x|z|ch|sh)$', counted) else 's'}{per}{rest}"
