"""Declared: what an audit's script says, one function after the other, and what its functions work with.

Nothing is run here; a declaration is a record of a function, what it needs and what is published of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import FunctionType, MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from site_builder.values import (
    MEASURED,
    Kind,
    Value,
    ValueRefused,
    chosen,
    operand,
)

Phrases: TypeAlias = Mapping[str, Sequence[str]]
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


MEANS_ELSE: Final = MEASURED | {"B", "0", "1", "opaque", "counts"}
"""What stands in an expression for something other than a value of that name."""


@dataclass(frozen=True, slots=True)
class Row:
    """Named values that stand beside each other; in a table of several, under an id of its own."""

    id: str
    cells: Mapping[str, Value]


def row(id: str = "", /, **cells: Value | int) -> Row:  # noqa: A002 - the word that receipts use
    """Return a row of these cells. Its id is the key it was computed for, where it has one."""
    named = {camel(name): operand(value) for name, value in cells.items()}
    if len(named) != len(cells) or "id" in named:
        raise ValueRefused(f"expected cells of names of their own, other than `id`, found {', '.join(cells)}")
    return Row(id, named)


@dataclass(frozen=True, slots=True)
class Table:
    """A computed table as later functions see it: cells by row id and column, each known by its address."""

    id: str
    keys: tuple[str, ...]
    row: Callable[[str], Mapping[str, Value]]

    def cell(self, row: str | Value, column: str) -> Value:
        """Return one cell; a value that chooses the row is part of its lineage."""
        return _chosen(self.row(_key_text(row))[camel(column)], row)

    def column(self, column: str) -> Sequence[Value]:
        """Return a column, in the order of the rows."""
        return [self.row(key)[camel(column)] for key in self.keys]


def named(table: str, row: str, cells: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return a row's cells, each known by its address from here on."""
    return {column: cell.named(f"{table}/{row}/{column}") for column, cell in cells.items()}


def table(*rows: Row) -> Sequence[Row]:
    """Return a table of rows that are named one by one."""
    return rows


class Keyed(Mapping[str, Any]):
    """A value per key of a list, as a function sees it that is not run per key."""

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = items

    def __getitem__(self, key: str | Value) -> Any:
        return _chosen(self._items[_key_text(key)], key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


def _key_text(key: str | Value) -> str:
    return key if isinstance(key, str) else str(key.text)


def _chosen(value: Value, key: str | Value) -> Value:
    """Return what stands under the key, by whom it was chosen; a member of a list chooses nothing but itself."""
    if isinstance(key, str) or key.expression == f"{str(key.expression).partition('/')[0]}/{key.text}":
        return value
    return chosen(value, key)


@cache
def camel(name: str) -> str:
    """Return a Python name as receipts write it."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def worded(name: str) -> str:
    """Return a name as the words that it is made of."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower()


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One function of an audit, or one thing that it may name."""

    name: str
    id: str
    kind: Literal["assumption", "observation", "absence", "trial", "result", "invariant"]
    function: Callable[..., Any]
    statement: str
    needs: tuple[str, ...]
    line: int
    axis: str | None = None
    """The list that it is run over, if any: the singular name, `release` or `cap`."""
    source: str = ""
    """What it reads; of a trial, the folder of its fixtures."""
    control: str = ""
    tool: str = ""
    unit: str | None = None
    value_kind: Kind | None = None
    reason: str = ""
    title: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    phrases: Mapping[str, Phrases] = field(default_factory=dict)
    """Per column (or under the empty name for a value): the wordings that read as each value."""
    otherwise: str | None = None

    def control_of(self, key: str | None) -> str:
        """Return the id of its control's source, for one key of its list."""
        return self.control.replace("{" + str(self.axis) + "}", key or "")


_Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


class Audit:
    """What an audit script declares, in the order it declares it."""

    __slots__ = ("_entries", "_limits", "_question", "_rules")

    def __init__(self, question: str | None, *, limits: Sequence[str] = ()) -> None:
        if not isinstance(question, str) or not question.strip():
            raise ValueRefused("an audit begins with its question, as the script's docstring")
        self._question = " ".join(question.split())
        self._limits = tuple(_said("limits", limit) for limit in _list("limits", limits))
        self._entries: dict[str, Entry] = {}
        self._rules: dict[str, Callable[..., Any]] = {}

    @property
    def question(self) -> str:
        """What the audit asks."""
        return self._question

    @property
    def limits(self) -> tuple[str, ...]:
        """What it does not show, in sentences."""
        return self._limits

    @property
    def entries(self) -> Mapping[str, Entry]:
        """What was declared by name, without the rules: looked at, and added to by the decorators alone."""
        return MappingProxyType(self._entries)

    @property
    def rules(self) -> Mapping[str, Callable[..., Any]]:
        """Arithmetic that results share, by name."""
        return MappingProxyType(self._rules)

    def with_computing(self, functions: Mapping[str, Callable[..., Any]]) -> Audit:
        """Return the same audit, its results and invariants computed by these functions."""
        made = Audit(self.question, limits=self.limits)
        made._entries = {
            name: replace(entry, function=functions.get(name, entry.function)) for name, entry in self._entries.items()
        }
        made._rules = dict(self._rules)
        return made

    def assumption(
        self,
        *,
        reason: str,
        unit: str | None = None,
        kind: Kind | None = None,
        axis: str | None = None,
        phrases: Phrases = _NONE,
    ) -> _Decorator:
        """Declare a value that we choose, or, with an axis, a list of values that results are computed over."""
        return self._declaring(
            "assumption", reason=reason, unit=unit, value_kind=kind, axis=axis, phrases={"": phrases} if phrases else {}
        )

    def observation(
        self,
        source: str,
        *,
        unit: str | None = None,
        kind: Kind | None = None,
        otherwise: Literal["unknown"] | None = None,
        phrases: Phrases = _NONE,
    ) -> _Decorator:
        """Declare a value read off one source; per member where the source repeats over a list.

        With `otherwise="unknown"` what the reader can't find or decide is recorded as unknown, with the reader's reason;
        without it, that stops the audit.
        """
        return self._declaring(
            "observation",
            source=source,
            axis=_axis_of(source),
            unit=unit,
            value_kind=kind,
            otherwise=otherwise,
            phrases={"": phrases} if phrases else {},
        )

    def absence(
        self, source: str, *, control: str, otherwise: Literal["unknown"] | None = None, phrases: Phrases = _NONE
    ) -> _Decorator:
        """Declare that something is not in a source. The same search on the control must find something.

        Where a search says its own control (`searched.against(…)`), it is in the source that `control` names, too.
        """
        return self._declaring(
            "absence",
            source=source,
            control=control,
            otherwise=otherwise,
            axis=_axis_of(source),
            value_kind="truth",
            phrases={"": phrases} if phrases else {},
        )

    def trial(
        self,
        tool: str,
        fixtures: str,
        *,
        unit: str | None = None,
        kind: Kind | None = None,
        phrases: Phrases = _NONE,
    ) -> _Decorator:
        """Declare what a tool of this audit makes of fixtures: of a folder, or of each folder in one (`logs/{run}`).

        The function gets the tool's names and the fixtures' bytes by file name, and returns a word, a number, a truth or
        a list of them.
        """
        return self._declaring(
            "trial",
            tool=tool,
            source=fixtures,
            axis=_axis_of(fixtures),
            unit=unit,
            value_kind=kind,
            phrases={"": phrases} if phrases else {},
        )

    def result(
        self,
        *,
        title: str = "",
        each: str | None = None,
        titles: Mapping[str, str] = _NONE,
        phrases: Mapping[str, Phrases] | Phrases = _NONE,
    ) -> _Decorator:
        """Declare what is computed: a value, a row per key of a list, or a table."""
        return self._declaring(
            "result",
            title=title,
            axis=each,
            titles={camel(_said("titles", key)): text for key, text in _mapping("titles", titles).items()},
            phrases=phrases,
        )

    def rule(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare arithmetic that several results share: held to the same check, and no result of its own."""
        if not isinstance(function, FunctionType):
            raise ValueRefused(f"expected a function under the decorator, found {type(function).__name__}")
        name = function.__name__
        if name in self._rules or name in self._entries:
            raise ValueRefused(f"{name} is declared twice")
        self._rules[name] = function
        return function

    def invariant(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare a relation that must hold."""
        return self._declaring("invariant")(function)

    def _declaring(self, kind: Any, **fields: Any) -> _Decorator:
        _refuse_misdeclared(fields)

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            if not isinstance(function, FunctionType):
                raise ValueRefused(f"expected a function under the decorator, found {type(function).__name__}")
            name = function.__name__
            statement = (inspect.getdoc(function) or "").strip().split("\n\n")[0]
            if not statement:
                raise ValueRefused(f"{name} has no docstring: its first paragraph is the published statement")
            if name in self._entries or name in self._rules:
                raise ValueRefused(f"{name} is declared twice")
            self._entries[name] = Entry(
                name=name,
                id=camel(name),
                kind=kind,
                function=function,
                statement=" ".join(statement.split()),
                needs=()
                if kind in ("observation", "absence", "trial")
                else tuple(inspect.signature(function).parameters),
                line=function.__code__.co_firstlineno,
                **fields,
            )
            return function

        return declare


def _refuse_misdeclared(fields: Mapping[str, Any]) -> None:
    """Refuse what is no text where a receipt has a text, while the script's line can still be told."""
    for name in ("reason", "source", "control", "tool", "title"):
        _said(name, fields.get(name, ""))
    for name in ("unit", "axis", "otherwise"):
        if fields.get(name) is not None:
            _said(name, fields[name])
    if fields.get("value_kind") not in (None, *get_args(Kind)):
        raise ValueRefused(f"expected a kind of {', '.join(get_args(Kind))}, found {fields['value_kind']!r}")
    for column, title in _mapping("titles", fields.get("titles", _NONE)).items():
        _said("titles", column)
        _said("titles", title)
    for value, wordings in _mapping("phrases", fields.get("phrases", _NONE)).items():
        below = wordings if isinstance(wordings, Mapping) else {value: wordings}
        for phrases in below.values():
            for phrase in _list("phrases", phrases):
                _said("phrases", phrase)


def _said(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise ValueRefused(f"{name}: expected a text, found {type(text).__name__} {text!r}")
    return text


def _list(name: str, items: object) -> Sequence[object]:
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise ValueRefused(f"{name}: expected a list of texts, found {type(items).__name__} {items!r}")
    return items


def _mapping(name: str, items: object) -> Mapping[Any, Any]:
    if not isinstance(items, Mapping):
        raise ValueRefused(f"{name}: expected texts by name, found {type(items).__name__} {items!r}")
    return items


def _axis_of(source: object) -> str | None:
    found = re.search(r"\{([A-Za-z]+)\}", _said("source", source))
    return found.group(1) if found else None
