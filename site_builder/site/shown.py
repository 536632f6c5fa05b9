"""Shown: a receipt opened for readers. Its addresses have names, its tables cells, its values lineage both ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import cast

from markupsafe import Markup, escape

from site_builder.receipts import Cell, Column, Ledger, Observation, Result, SourceRow
from site_builder.site.reading import bare, formula, numeric, phrase, reading
from site_builder.values import Expression, Value, leaves, unit_name

Cells = Mapping[tuple[str, str, str], str]
"""The words of editorial cells as HTML, by table, row and column."""


_FOLDED = 8
"""Up to how many links stand side by side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownCell:
    """One cell of a table: how it reads, and its attributes, which say where it stands and what it is exactly."""

    html: Markup
    marks: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Records that repeat over a list: those whose ids differ only behind the `@`."""

    name: str
    records: Sequence[SourceRow | Observation | Result]

    @property
    def repeats(self) -> bool:
        """Whether there is more than one."""
        return len(self.records) > 1

    def tally(self, field: str) -> str:
        """Return how often each value of a field stands there, in the order of the first."""
        found: dict[str, int] = {}
        for record in self.records:
            value = getattr(record, field)
            text = ", ".join(value) if isinstance(value, tuple) else str(value)
            found[text] = found.get(text, 0) + 1
        if len(found) > 4:
            return f"{len(found)} different values"
        return " · ".join(f"{text} ({number})" if len(found) > 1 else text for text, number in found.items())


@dataclass(frozen=True)
class Shown:
    """A receipt as a page shows it. `page` is the address of its human view, empty on that page itself."""

    ledger: Ledger
    page: str = ""
    words: Cells = field(default_factory=dict)

    def href(self, address: str) -> str:
        """Return where an address stands in the human view."""
        return f"{self.page}#{address}"

    def label(self, address: str, within: str = "") -> str:
        """Return an address in words; a cell of the result that is read anyway (`within`) without its title."""
        result_id, _, place = address.partition("/")
        result = self.ledger.results.get(result_id)
        if result is None or not place:
            if result_id == "counts":
                return f"count of {place}"
            key = address.partition("@")[2]
            if result is None:
                return phrase(address)
            return f"{result.title} ({key})" if key else result.title
        row, _, column_id = place.rpartition("/")
        column = next((column.title for column in result.columns if column.id == column_id), column_id)
        return f"{column} ({row})" if result_id == within else f"{result.title}, {column} ({row})"

    @cached_property
    def _values(self) -> Mapping[str, Markup]:
        return {address: reading(cell.value) for address, cell in self.ledger.cells.items()}

    def value(self, address: str) -> Markup:
        """Return the value at an address, marked so that a saved page can be checked."""
        shown = self._values[address]
        marks = f'data-address="{escape(address)}" data-receipt="{self.ledger.pin}"'
        exact = _exact(self.ledger.cells[address].value, shown)
        return Markup(f'<span class="value" {marks}{exact}>{shown}</span>')

    def rows(self, result: Result) -> Iterator[tuple[str, Sequence[ShownCell]]]:
        """Yield a table's rows: the row's id, and its cells."""
        looks = [(column, _look(column, result)) for column in result.columns]
        for row in result.rows:
            row_id = str(row["id"])
            yield row_id, [self._cell(result.id, row_id, column, look) for column, look in looks]

    def _cell(self, result: str, row: str, column: Column, look: str) -> ShownCell:
        address = f"{result}/{row}/{column.id}"
        value = self.ledger.cells[address].value
        written = self.words.get((result, row, column.id))
        if written is not None:
            html = Markup(written)
        elif value.kind == "digest" or not numeric(column.kind):
            html = reading(value)
        else:
            html = escape(bare(value))
        marks = self._marks(address) + ("" if written is not None else _exact(value, html))
        unknown = "" if value.known else " unknown"
        return ShownCell(html=html, marks=Markup(f'{marks} class="{look}{unknown}"'))

    def _marks(self, address: str) -> str:
        """On the receipt's own page, an address is where its value stands."""
        name = escape(address)
        place = "" if self.page else f' id="{name}"'
        return f'{place} data-address="{name}" data-receipt="{self.ledger.pin}"'

    def formula(self, expression: object, result: str = "") -> Markup:
        """Return an expression in a reader's notation, each name a link to what it stands for."""
        if expression in (None, "opaque"):
            return Markup('<span class="opaque">computed by the audit’s own code</span>')
        titles: Mapping[str, str] = {}
        if result in self.ledger.results:
            titles = {column.id: column.title for column in self.ledger.results[result].columns}
        return formula(cast(Expression, expression), self._leaf(result, titles))

    def _leaf(self, result: str, titles: Mapping[str, str]) -> Callable[[str], str]:
        def leaf(name: str) -> str:
            if name in titles:
                return f'<span class="leaf">{escape(titles[name])}</span>'
            if name in self.ledger.cells:
                return _link(self.href(name), self.label(name, within=result), "leaf")
            if not any(True for _ in leaves(name)):
                return f'<span class="unit">{escape(name)}</span>'
            key = next(iter(titles.values()), "row").lower()
            return f'<span class="leaf">{escape(self.label(name.replace("{row}", key), within=result))}</span>'

        return leaf

    def inputs(self, result: Result) -> Sequence[Cell]:
        """Return the values that a result's formulas name and that are not its own columns, each once."""
        columns = {column.id for column in result.columns}
        expressions = [result.expression, *(column.expression for column in result.columns)]
        names = [name for expression in expressions if expression for name in leaves(cast(Expression, expression))]
        found = dict.fromkeys(name for name in names if name not in columns and name in self.ledger.cells)
        return [self.ledger.cells[name] for name in found]

    @cached_property
    def _lineage(self) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]:
        """By address, what it needs and what needs it, one step each; without a formula, what the audit named."""
        needs: dict[str, dict[str, None]] = {}
        body, cells = self.ledger.receipt.body, self.ledger.cells
        for observation in body.observations:
            needs[observation.id] = {f"source:{observation.source}": None}
        for absence in body.absences:
            needs[absence.id] = {f"source:{absence.source}": None}
        for address, expression in self.ledger.expressions.items():
            needs[address] = dict.fromkeys(name for name in leaves(expression) if name in cells)
        for result in body.results:
            named = dict.fromkeys(name for name in result.needs if name in cells or name in self.ledger.results)
            for address in self._of(result):
                if not needs.get(address) and not cells[address].own_key:
                    needs[address] = named
        for invariant in body.invariants:
            if invariant.expression not in (None, "opaque"):
                names = leaves(cast(Expression, invariant.expression))
                needs[f"invariant:{invariant.id}"] = dict.fromkeys(name for name in names if name in cells)
        users: dict[str, dict[str, None]] = {}
        for address, named in needs.items():
            for name in named:
                users.setdefault(name, {})[address] = None
        return (
            {address: tuple(named) for address, named in needs.items()},
            {address: tuple(named) for address, named in users.items()},
        )

    def _of(self, result: Result) -> Sequence[str]:
        if result.kind == "value":
            return (result.id,)
        return [f"{result.id}/{row['id']}/{column.id}" for row in result.rows for column in result.columns]

    def needs(self, address: str) -> Markup:
        """Return links to what a value is made of, one step back."""
        return self._links(self._lineage[0].get(address, ()), address)

    def users(self, address: str, members: Sequence[str] = ()) -> Markup:
        """Return links to what is made of a value, or of a list's members, one step on."""
        addresses = [address, *(f"{address}/{member}" for member in members)]
        found = dict.fromkeys(user for name in addresses for user in self._lineage[1].get(name, ()))
        return self._links(tuple(found), address)

    def broken(self, leaf_addresses: Sequence[str]) -> Markup:
        """Return links to the leaves that break an invariant."""
        return self._links(leaf_addresses, "")

    def _links(self, addresses: Sequence[str], within: str) -> Markup:
        """Members of a family and cells of a column stand together, each linked by its key; many are folded."""
        own = within.partition("/")[0]
        groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for address in addresses:
            kind, key = self._grouped(address)
            groups.setdefault(kind, []).append((address, key))
        parts = []
        for kind, members in groups.items():
            if len(members) == 1:
                parts.append(_link(self.href(members[0][0]), self._name(members[0][0], own)))
            else:
                keys = " ".join(_link(self.href(address), key) for address, key in members)
                parts.append(f"{escape(self._kind(kind, own))}: {keys}")
        text = ", ".join(parts)
        if len(addresses) <= _FOLDED:
            return Markup(text)
        return Markup(f'<details class="many"><summary>{len(addresses)} values</summary>{text}</details>')

    def _grouped(self, address: str) -> tuple[tuple[str, str], str]:
        """The family or column that an address belongs to, and its key there."""
        result, _, place = address.partition("/")
        if place and result in self.ledger.results:
            row, _, column = place.rpartition("/")
            return (result, column), row
        family, at, key = address.partition("@")
        return (family, ""), key if at else address

    def _kind(self, kind: tuple[str, str], own: str) -> str:
        family, column_id = kind
        result = self.ledger.results.get(family)
        if result is None or not column_id:
            scheme, colon, name = family.partition(":")
            return f"{scheme} {name}" if colon else phrase(family)
        title = next((column.title for column in result.columns if column.id == column_id), column_id)
        return title if family == own else f"{result.title}, {title}"

    def _name(self, name: str, within: str) -> str:
        kind, colon, rest = name.partition(":")
        if colon:
            return f"{'invariant' if kind == 'invariant' else 'source'} {rest}"
        return self.label(name, within=within)

    def traced(self, result: Result) -> Iterator[tuple[str, str, Markup, Markup, Markup]]:
        """Yield a result's values: address, name, formula with its values filled in, what it needs, what needs it."""
        for address in self._of(result):
            expression = self.ledger.expressions.get(address)
            yield (
                address,
                self.label(address, within=result.id),
                Markup("") if expression is None or expression == "opaque" else self._filled(expression),
                Markup("the key of its row") if self.ledger.cells[address].own_key else self.needs(address),
                self.users(address),
            )

    def _filled(self, expression: Expression) -> Markup:
        return formula(expression, lambda name: self._values.get(name) or escape(name))

    def families(self, records: Sequence[SourceRow] | Sequence[Observation] | Sequence[Result]) -> Sequence[Family]:
        """Return the records by what stands before their `@`; those without company come last, as one group."""
        by_name: dict[str, list[SourceRow | Observation | Result]] = {}
        for record in records:
            by_name.setdefault(record.id.partition("@")[0], []).append(record)
        families = [Family(name=name, records=group) for name, group in by_name.items() if len(group) > 1]
        single = [group[0] for group in by_name.values() if len(group) == 1]
        return [*families, Family(name="", records=single)] if single else families

    def place(self, at: Mapping[str, str | int] | None) -> str:
        """Return where in its source an observation stands, in words."""
        if not at:
            return ""
        said = dict(at)
        first, last = said.pop("line", None), said.pop("lastLine", None)
        lines = [] if first is None else [f"line {first}" if last in (None, first) else f"lines {first} to {last}"]
        return ", ".join([*lines, *(f"{phrase(name)} {text}" for name, text in said.items())])

    def csv(self, result: Result) -> bytes:
        """Return a table as CSV: exact values, ids and units in the first line."""
        units = [
            f"{column.id} [{column.unit}]" if column.unit and column.unit != "1" else column.id
            for column in result.columns
        ]
        lines = [["row", *units]]
        for row in result.rows:
            texts = (row[column.id] for column in result.columns)
            lines.append([str(row["id"]), *(text if isinstance(text, str) else " ".join(text) for text in texts)])
        return "".join(",".join(map(_quoted, line)) + "\n" for line in lines).encode()


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text


def _look(column: Column, result: Result) -> str:
    """Numbers stand under one another, sentences need room, single words do not."""
    if numeric(column.kind):
        return "num"
    if column.kind in ("digest", "version", "date", "truth"):
        return "words"
    longest = max((len(str(row[column.id])) for row in result.rows), default=0)
    return "text" if longest > 24 else "words"


def _link(address: str, text: str, look: str = "") -> str:
    mark = f' class="{look}"' if look else ""
    return f'<a{mark} href="{escape(address)}">{escape(text)}</a>'


def _exact(value: Value, shown: Markup) -> str:
    """The attribute that has a value as the receipt writes it, where a reader sees it written otherwise."""
    text = escape(value.text if isinstance(value.text, str) else " ".join(value.text))
    return "" if shown == text or value.kind == "digest" else f' data-value="{text}"'


def unit(column: Column) -> str:
    """Return the unit that stands in a column's head, unless its title says it already."""
    name = unit_name(column.unit, Decimal(2)) if column.unit else ""
    return "" if name in column.title.lower().split() else name
