"""Shown: a receipt opened for readers. Its addresses have names, its tables cells, its values lineage both ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TypeAlias, cast

from markupsafe import Markup, escape

from site_builder.receipts import Absence, Cell, Column, Ledger, Observation, Result, SourceRow, Step, Trial
from site_builder.site.reading import EACH, bare, formula, numeric, phrase, reading
from site_builder.values import Expression, Value, leaves, unit_name

Cells = Mapping[tuple[str, str, str], str]
"""The words of editorial cells as HTML, by table, row and column."""


_FOLDED = 8
"""Up to how many links stand side by side."""
_REPEATED = 4
"""From how many operands that differ by their keys alone one stands for all."""
_ANY = "{each}"
"""In an address, the place of such a key."""

_LISTED = frozenset({"min", "max", "sum", "count", "and", "or"})

Repeated: TypeAlias = SourceRow | Observation | Absence | Trial | Result


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownCell:
    """One cell of a table: how it reads, and its attributes, which say where it stands and what it is exactly."""

    html: Markup
    marks: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Records that repeat over a list: those whose ids differ only behind the `@`."""

    name: str
    records: Sequence[Repeated]

    @property
    def repeats(self) -> bool:
        """Whether there is more than one."""
        return len(self.records) > 1

    def alike(self, field: str) -> bool:
        """Return whether all of them have one value of a field."""
        return len({getattr(record, field) for record in self.records}) == 1

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


@dataclass(frozen=True, kw_only=True, slots=True)
class FileVersion:
    """One content of a tree's file, and which sources have it."""

    digest: str
    bytes: int
    sources: Sequence[tuple[str, str]]
    """Of each source that has it, its key and the anchor of the file there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alike:
    """Observations of one family with the same value, read off the same lines of the same file."""

    first: Observation
    place: str
    """The file, and the lines where they are the same ones in all sources."""
    lines: Sequence[tuple[str, Sequence[tuple[str, Observation]]]]
    """By lines, said where they differ, the keys that they are told by."""
    users: Markup


@dataclass(frozen=True)
class Shown:
    """A receipt as a page shows it. `page` is the address of its human view, empty on that page itself."""

    ledger: Ledger
    page: str = ""
    words: Cells = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The address below which the files of this version lie."""
        return f"/receipts/{self.ledger.audit}/{self.ledger.receipt.issued.version}/"

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
        return Markup(f"<span {marks}{exact}>{shown}</span>")

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
        return formula(self._folded(cast(Expression, expression)), self._leaf(result, titles))

    def _folded(self, expression: Expression) -> Expression:
        """Return an expression with one operand for all where many differ by their keys alone."""
        if isinstance(expression, str):
            return expression
        operands = expression[1:]
        folded = [self._with_any_key(operand) for operand in operands]
        alike = folded and folded[0] is not None and all(operand == folded[0] for operand in folded)
        if str(expression[0]) in _LISTED and len(operands) >= _REPEATED and alike:
            keys = [_ANY + next(name for name in leaves(operand) if self._key(name)) for operand in operands]
            return [expression[0], [EACH, cast(Expression, folded[0]), *keys]]
        return [expression[0], *map(self._folded, operands)]

    def _with_any_key(self, expression: Expression) -> Expression | None:
        """Return an operand with its key left open, where its leaves have only one key between them."""
        keys = {key for name in leaves(expression) if name in self.ledger.cells and (key := self._key(name))}
        if len(keys) != 1:
            return None
        key = next(iter(keys))

        def opened(part: Expression) -> Expression:
            if not isinstance(part, str):
                return [part[0], *map(opened, part[1:])]
            if part not in self.ledger.cells or self._key(part) != key:
                return part
            return part.replace(f"@{key}", f"@{_ANY}") if "/" not in part else part.replace(f"/{key}/", f"/{_ANY}/")

        return opened(expression)

    def _leaf(self, result: str, titles: Mapping[str, str]) -> Callable[[str], str]:
        def leaf(name: str) -> str:
            if name.startswith(_ANY):
                return _link(self.href(name.removeprefix(_ANY)), self._key(name.removeprefix(_ANY)), "leaf")
            if _ANY in name:
                return f'<span class="leaf">{escape(self.label(name, within=result).removesuffix(f" ({_ANY})"))}</span>'
            if name in titles:
                return f'<span class="leaf">{escape(titles[name])}</span>'
            if name in self.ledger.cells:
                return _link(self.href(name), self.label(name, within=result), "leaf")
            if not any(True for _ in leaves(name)):
                return f'<span class="unit">{escape(name)}</span>'
            key = next(iter(titles.values()), "row").lower()
            return f'<span class="leaf">{escape(self.label(name.replace("{row}", key), within=result))}</span>'

        return leaf

    def inputs(self, result: Result) -> Iterator[tuple[str, Cell, Sequence[tuple[Markup, Markup]]]]:
        """Yield what a result's formulas name beside its own columns: a name, a value that says what it is, and the values.

        Those of one family are yielded together: each value once, with links to all that have it.
        """
        groups: dict[str, list[Cell]] = {}
        for cell in self._named(result):
            family, at, _ = cell.address.partition("@")
            groups.setdefault(family if at and "/" not in cell.address else cell.address, []).append(cell)
        for name, cells in groups.items():
            if len(cells) == 1:
                yield self.label(cells[0].address), cells[0], [(self.value(cells[0].address), Markup(""))]
                continue
            alike: dict[Markup, list[str]] = {}
            for cell in cells:
                alike.setdefault(self._values[cell.address], []).append(cell.address)
            values = [(self.value(found[0]), self._keys(found)) for found in alike.values()]
            yield self._kind_of(name), cells[0], values

    def _named(self, result: Result) -> Sequence[Cell]:
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
        for trial in body.trials:
            needs[trial.id] = dict.fromkeys((f"tool:{trial.tool}", *(f"fixture:{name}" for name in trial.fixtures)))
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
        """Members of a family and cells of a table stand together, under a name that is said once; many are folded.

        What has the same key as the value that the links belong to (`within`) needs no key to be told by.
        """
        own, own_key = within.partition("/")[0], self._key(within)
        groups: dict[str, list[str]] = {}
        for address in addresses:
            result, _, place = address.partition("/")
            family = result if place and result in self.ledger.results else address.partition("@")[0]
            groups.setdefault(family, []).append(address)
        parts = []
        for family, members in groups.items():
            if family in self.ledger.results and "/" in members[0]:
                parts.append(self._cell_links(family, members, own, own_key))
            elif len(members) == 1:
                parts.append(_link(self.href(members[0]), _without(self._name(members[0], own), own_key)))
            else:
                parts.append(f"{escape(self._kind_of(family))}: {self._keys(members)}")
        text = ", ".join(parts) if len(parts) < 2 or not any(": " in part for part in parts) else "; ".join(parts)
        if len(addresses) <= _FOLDED:
            return Markup(text)
        return Markup(f'<details class="many"><summary>{len(addresses)} values</summary>{text}</details>')

    def _cell_links(self, result_id: str, addresses: Sequence[str], own: str, own_key: str) -> str:
        """Cells of one row are told by their columns, cells of several rows by column and row."""
        result = self.ledger.results[result_id]
        titles = {column.id: column.title for column in result.columns}
        columns: dict[str, list[tuple[str, str]]] = {}
        for address in addresses:
            row, _, column = address.partition("/")[2].rpartition("/")
            columns.setdefault(column, []).append((row, address))
        rows = {row for found in columns.values() for row, _ in found}
        if len(rows) == 1:
            row = next(iter(rows))
            key = "" if row == own_key else f" ({row})"
            links = ", ".join(
                _link(self.href(address), titles.get(column, column) + (key if result_id == own else ""))
                for column, found in columns.items()
                for _, address in found
            )
            return links if result_id == own else f"{escape(result.title + key)}: {links}"
        parts = [
            f"{escape(titles.get(column, column))} ({' '.join(_link(self.href(address), row) for row, address in found)})"
            for column, found in columns.items()
        ]
        return ", ".join(parts) if result_id == own else f"{escape(result.title)}: {', '.join(parts)}"

    def _key(self, address: str) -> str:
        """What an address has in common with others of its release or row."""
        result, _, place = address.partition("/")
        if place and result in self.ledger.results:
            return place.rpartition("/")[0]
        return address.partition("@")[2]

    def _keys(self, addresses: Sequence[str]) -> Markup:
        return Markup(" ".join(_link(self.href(address), self._key(address) or address) for address in addresses))

    def _kind_of(self, family: str) -> str:
        scheme, colon, name = family.partition(":")
        if colon:
            return f"{scheme} {name}"
        of_family = next((item for item in self.ledger.results.values() if item.id.partition("@")[0] == family), None)
        return of_family.title if of_family else phrase(family)

    def _name(self, name: str, within: str) -> str:
        kind, colon, rest = name.partition(":")
        return f"{kind} {rest}" if colon else self.label(name, within=within)

    def traced(self, result: Result) -> Iterator[tuple[str, str, Markup, Markup]]:
        """Yield a result's values: address, name, how it comes about, what is made of it.

        A cell that is merely the key of its row is yielded where something is made of it.
        """
        for address in self._of(result):
            users = self.users(address)
            if users or not self.ledger.cells[address].own_key:
                yield address, self.label(address, within=result.id), self._traced(result, address), users

    def _traced(self, result: Result, address: str) -> Markup:
        if self.ledger.cells[address].own_key:
            return Markup("the key of its row")
        expression = self.ledger.expressions.get(address, "opaque")
        if expression == "opaque":
            return Markup("the audit’s own code")
        if isinstance(expression, str):
            return self._links((expression,), address) if expression in self.ledger.cells else escape(expression)
        column = address.rpartition("/")[2]
        shared = any(item.id == column and item.expression is not None for item in result.columns)
        return Markup(f"{self._filled(expression, keys=not shared)} = {self.value(address)}")

    def filled(self, result: Result, *, keys: bool = False) -> Markup:
        """Return a single value's formula with values in place of names; empty where it names one value, or there is none."""
        expression = self.ledger.expressions.get(result.id, "opaque")
        return Markup("") if isinstance(expression, str) else self._filled(expression, keys=keys)

    def family_formula(self, family: Family) -> Markup:
        """Return the one formula of a family's values, its key left open; empty where they have several, or none."""
        found = [self.ledger.expressions.get(record.id, "opaque") for record in family.records]
        opened = [None if isinstance(expression, str) else self._with_any_key(expression) for expression in found]
        if not family.repeats or opened[0] is None or any(one != opened[0] for one in opened):
            return Markup("")
        return self.formula(opened[0])

    def code_needs(self, result: Result) -> Markup:
        """Return links to what the audit's own code has to go by, where it has no formula for one of the values."""
        by_code = [
            address
            for address in self._of(result)
            if self.ledger.expressions.get(address, "opaque") == "opaque" and not self.ledger.cells[address].own_key
        ]
        return self.needs(by_code[0]) if by_code else Markup("")

    def _filled(self, expression: Expression, *, keys: bool) -> Markup:
        """Values link to where they stand; many of one kind are counted, and linked by their `keys` if nothing else does."""
        expression = self._folded(expression)

        def leaf(name: str) -> str:
            if name.startswith(_ANY):
                return _link(self.href(name.removeprefix(_ANY)), self._key(name.removeprefix(_ANY)))
            if _ANY in name:
                return str(escape(self.label(name).removesuffix(f" ({_ANY})")))
            shown = self._values.get(name)
            return f'<a href="{escape(self.href(name))}">{shown}</a>' if shown is not None else str(escape(name))

        return formula(expression if keys else _counted(expression), leaf)

    def trail(self, steps: Sequence[Step] | None) -> Markup:
        """Return the steps that led to a place: file and line, what was met there, and its value; folded."""
        if not steps:
            return Markup("")
        items, path = [], ""
        for step in steps:
            at = dict(step.at)
            file, line, last = str(at.pop("path", "")), at.pop("line", None), at.pop("lastLine", None)
            lines = "" if line is None else f":{line}" if last in (None, line) else f":{line}–{last}"
            place = (f"{file}{lines}" if file != path else lines) or self.place(at)
            value = ", ".join(step.value) if isinstance(step.value, tuple) else step.value
            items.append(f"<li><code>{escape(place)}</code> {escape(step.step)} <b>{escape(value)}</b></li>")
            path = file
        count = "1 step led here" if len(items) == 1 else f"{len(items)} steps led here"
        return Markup(f'<details class="trail"><summary>{count}</summary><ol>{"".join(items)}</ol></details>')

    def alike(self, records: Sequence[Observation]) -> Sequence[Alike]:
        """Return a family's observations, those together that read the same off the same lines, wherever these stand."""
        groups: dict[object, list[Observation]] = {}
        for record in records:
            at = dict(record.at or {})
            if not record.trail:
                at.pop("line", None)
                at.pop("lastLine", None)
            same = (record.value, tuple(at.items()), record.region, record.trail and str(record.trail), record.reason)
            groups.setdefault((record.source.partition("@")[0], *same), []).append(record)
        return [self._alike(found) for found in groups.values()]

    def _alike(self, records: Sequence[Observation]) -> Alike:
        by_lines: dict[str, list[tuple[str, Observation]]] = {}
        for record in records:
            at = {name: said for name, said in (record.at or {}).items() if name in ("line", "lastLine")}
            by_lines.setdefault(self.place(at), []).append((self._key(record.id) or record.id, record))
        at = dict(records[0].at or {})
        if len(by_lines) > 1:
            at = {name: said for name, said in at.items() if name not in ("line", "lastLine")}
        within = records[0].id if len(records) == 1 else ""
        found = dict.fromkeys(user for record in records for user in self._lineage[1].get(record.id, ()))
        return Alike(
            first=records[0],
            place=self.place(at),
            lines=[(lines if len(by_lines) > 1 else "", keys) for lines, keys in by_lines.items()],
            users=self._links(tuple(found), within),
        )

    def files(self, records: Sequence[SourceRow]) -> Sequence[tuple[str, Sequence[FileVersion]]]:
        """Return the files of trees by path: each content that one has, and the sources that have it so."""
        found: dict[str, dict[tuple[str, int], list[tuple[str, str]]]] = {}
        for record in records:
            key = record.id.partition("@")[2] or record.id
            for member in record.members or ():
                alike = found.setdefault(member.path, {}).setdefault((member.digest, member.bytes), [])
                alike.append((key, f"source:{record.id}/{member.path}"))
        return [
            (
                path,
                [
                    FileVersion(digest=digest, bytes=size, sources=sources)
                    for (digest, size), sources in versions.items()
                ],
            )
            for path, versions in sorted(found.items())
        ]

    def families(self, records: Sequence[Repeated]) -> Sequence[Family]:
        """Return the records by what stands before their `@`; those without company come last, as one group."""
        by_name: dict[str, list[Repeated]] = {}
        for record in records:
            by_name.setdefault(record.id.partition("@")[0], []).append(record)
        families = [Family(name=name, records=group) for name, group in by_name.items() if len(group) > 1]
        single = [group[0] for group in by_name.values() if len(group) == 1]
        return [*families, Family(name="", records=single)] if single else families

    def place(self, at: Mapping[str, str | int] | None) -> str:
        """Return where in its source an observation stands, in words: the file of a tree, its lines, and all else."""
        if not at:
            return ""
        said = dict(at)
        path, first, last = said.pop("path", None), said.pop("line", None), said.pop("lastLine", None)
        lines = [] if first is None else [f"line {first}" if last in (None, first) else f"lines {first} to {last}"]
        file = [] if path is None else [str(path)]
        return ", ".join([*file, *lines, *(f"{phrase(name)} {text}" for name, text in said.items())])

    def control(self, control: Mapping[str, str | int]) -> Markup:
        """Return where a search's control found something, and how often."""
        said = dict(control)
        source, found = str(said.pop("source", "")), said.pop("found", "")
        place = self.place(said)
        at = f", {escape(place)}" if place else ""
        return Markup(f"{found} in {_link(self.href('source:' + source), source, 'source')}{at}")


def _look(column: Column, result: Result) -> str:
    """Numbers stand under one another, sentences need room, single words do not."""
    if numeric(column.kind):
        return "num"
    if column.kind in ("digest", "version", "date", "truth"):
        return "words"
    longest = max((len(str(row[column.id])) for row in result.rows), default=0)
    return "text" if longest > 24 else "words"


def _counted(expression: Expression) -> Expression:
    """An expression with a number where one operand stands for many."""
    if isinstance(expression, str):
        return expression
    if expression[0] == EACH:
        return f"{len(expression) - 2} values"
    return [expression[0], *map(_counted, expression[1:])]


def _without(text: str, key: str) -> str:
    """A name without the key that goes without saying."""
    return text.removesuffix(f" ({key})") if key else text


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
