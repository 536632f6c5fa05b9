"""Reading: how a value, a date, a digest or an expression is shown to a reader.

What is shown is markup that is already safe; what a value is, and how prose may write it, is decided upstream.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Final

from markupsafe import Markup, escape

from site_builder.values import Expression, Kind, Value, grouped, shown

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_LINES: Final = 120
_WIDTH: Final = 400
"""How much of a file is shown."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def visible(text: str) -> str:
    """Return a text or a page with its control and direction characters spelled out: they would forge what is read."""
    return _HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Excerpt:
    """The beginning of a file, as a page shows it."""

    html: Markup
    shown: int
    lines: int
    cut: bool
    """Whether one of the lines that are shown is longer than that."""
    escaped: bool
    """Whether something in it is spelled out."""


def excerpt(body: bytes) -> Excerpt:
    """Return the first lines of any file: what can't be seen, or is no text, is spelled out and marked as such."""
    lines = text(body).split("\n")
    if lines[-1] == "":
        lines.pop()
    shown_lines = lines[:_LINES]
    marked = [_spelled(line[:_WIDTH]) + ("…" if len(line) > _WIDTH else "") for line in shown_lines]
    return Excerpt(
        html=Markup("\n".join(marked) + "\n"),
        shown=len(shown_lines),
        lines=len(lines),
        cut=any(len(line) > _WIDTH for line in shown_lines),
        escaped=any("<b " in line for line in marked),
    )


def text(body: bytes) -> str:
    """Return a file as text; a byte that is none stands there as a character that no text has."""
    return body.decode("utf-8", "surrogateescape")


def _spelled(line: str) -> str:
    return "".join(
        str(escape(run)) if seen else f'<b class="escape">{"".join(map(_escape, run))}</b>'
        for seen, run in ((key, "".join(group)) for key, group in groupby(line, _is_seen))
    )


def _is_seen(character: str) -> bool:
    return character.isprintable() or character == "\t"


def _escape(character: str) -> str:
    point = ord(character)
    return f"\\x{point - 0xDC00:02x}" if 0xDC80 <= point <= 0xDCFF else f"\\u{{{point:x}}}"


def bare(value: Value) -> str:
    """Return a value as a reader reads it, without its unit: in a column, whose head has it."""
    if isinstance(value.raw, Decimal):
        return grouped(value.raw)
    return shown(value) or "none"


def reading(value: Value) -> Markup:
    """Return a value with its unit."""
    if value.kind == "digest" and value.known:
        return digest(str(value.text))
    text = shown(value) or "none"
    return escape(text.replace(" ", "\u00a0", 1) if isinstance(value.raw, Decimal) else text)


def digest(full: str) -> Markup:
    """Return a digest that shows its first digits, copies whole and prints whole."""
    name, colon, digits = full.rpartition(":")
    if len(digits) <= 16:
        return Markup(f'<code class="digest">{escape(full)}</code>')
    rest = f'<span class="rest">{escape(digits[12:])}</span>'
    return Markup(f'<code class="digest">{escape(name + colon + digits[:12])}{rest}</code>')


def said(text: str) -> Markup:
    """Return a statement, with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = (f"<code>{escape(part)}</code>" if place % 2 else str(escape(part)) for place, part in enumerate(parts))
    return Markup("".join(marked))


def size(count: int) -> str:
    """Return a number of bytes."""
    return f"{count:,}\u00a0bytes" if count != 1 else "1\u00a0byte"


def date(text: str) -> Markup:
    """Return a day or a time as a reader writes it, with the exact text for machines."""
    day = text[:10]
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day) or not 1 <= int(day[5:7]) <= 12:
        return escape(text)
    written = f"{int(day[8:])}\u00a0{_MONTHS[int(day[5:7]) - 1]}\u00a0{day[:4]}"
    return Markup(f'<time datetime="{escape(text)}">{written}</time>')


def phrase(name: str) -> str:
    """Return an id as words: `paddedHeads@1.2.0` is "padded heads (1.2.0)"."""
    family, at, key = name.partition("@")
    words = " ".join(
        word if word[1:] != word[1:].lower() or (len(word) > 1 and word.isupper()) else word.lower()
        for word in re.split(r"[-_ ]", _CAMEL.sub(" ", family))
    )
    return f"{words} ({key})" if at else words


_INFIX: Final = {
    "or": (1, " or "),
    "and": (2, " and "),
    "eq": (4, " = "),
    "ne": (4, " ≠ "),
    "lt": (4, " &lt; "),
    "le": (4, " ≤ "),
    "gt": (4, " &gt; "),
    "ge": (4, " ≥ "),
    "holds": (4, " includes "),
    "add": (5, " + "),
    "sub": (5, " − "),
    "mul": (6, " × "),
    "div": (6, " ÷ "),
    "mod": (6, " mod "),
}
_LISTS: Final = {
    "min": "the least of",
    "max": "the greatest of",
    "sum": "the sum of",
    "count": "the number that hold of",
}
EACH: Final = "each"
"""Stands in a list for operands that differ by their keys alone: the one of them all, and the keys as leaves."""

_FLAT: Final = frozenset({"add", "mul", "and", "or"})


def formula(expression: Expression, leaf: Callable[[str], str]) -> Markup:
    """Return an expression as a reader writes it, each leaf as the markup that `leaf` gives for it."""
    return Markup(_formula(expression, leaf)[0])


def _formula(expression: Expression, leaf: Callable[[str], str]) -> tuple[str, int]:
    """Its markup, and how tightly it binds."""
    if isinstance(expression, str):
        return leaf(expression), 9
    operation, operands = str(expression[0]), expression[1:]
    if operation == EACH:
        return f"{_formula(operands[0], leaf)[0]} for each of {' '.join(leaf(str(key)) for key in operands[1:])}", 0
    if operation in ("and", "or") and (len(operands) > 3 or len(operands) == 1):
        return f"{'all of' if operation == 'and' else 'any of'} ({_listed(operands, leaf)})", 9
    if operation in _INFIX:
        level, sign = _INFIX[operation]
        parts = []
        for place, operand in enumerate(operands):
            text, inner = _formula(operand, leaf)
            loose = inner < level or (inner == level and (level == 4 or (place > 0 and operation not in _FLAT)))
            parts.append(f"({text})" if loose else text)
        return sign.join(parts), level
    if operation in _LISTS:
        return f"{_LISTS[operation]} ({_listed(operands, leaf)})", 9
    shown_operands = [_formula(operand, leaf) for operand in operands]
    if operation == "floordiv":
        return f"⌊{' ÷ '.join(_bracketed(operand, 7) for operand in shown_operands)}⌋", 9
    if operation == "neg":
        return f"−{_bracketed(shown_operands[0], 7)}", 7
    if operation == "not":
        return f"not {_bracketed(shown_operands[0], 5)}", 3
    if operation == "at":
        return f"{_bracketed(shown_operands[0], 9)} (chosen by {shown_operands[1][0]})", 9
    if operation == "if":
        condition, then, otherwise = (_bracketed(operand, 1) for operand in shown_operands)
        return f"{then} if {condition}, else {otherwise}", 0
    if operation == "at":
        return f"{shown_operands[0][0]}, as {_bracketed(shown_operands[1], 1)} chooses", 0
    return f"{escape(operation)}({_listed(operands, leaf)})", 9


def _bracketed(operand: tuple[str, int], level: int) -> str:
    return f"({operand[0]})" if operand[1] < level else operand[0]


def _listed(operands: list[Expression], leaf: Callable[[str], str]) -> str:
    return "; ".join(_formula(operand, leaf)[0] for operand in operands)


def numeric(kind: Kind | None) -> bool:
    """Return whether values of this kind are numbers, which stand under one another by their digits."""
    return kind in (None, "number")
