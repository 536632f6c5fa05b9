"""Computation: results and invariants from one set of leaves, and what would break an invariant.

Each is computed when it is first asked for, so that a moved leaf costs what depends on it and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from site_builder.audits.declared import MEANS_ELSE, Entry, Keyed, Row, Table, camel, named, worded
from site_builder.receipts import (
    ID,
    Result,
)
from site_builder.values import (
    UNKNOWN,
    Expression,
    Value,
    ValueRefused,
    word,
)
from site_builder.values import leaves as leaves_of


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of the lineage: its address, its value, and the axis key it belongs to."""

    address: str
    name: str
    key: str
    value: Value


def as_json_value(expression: Expression) -> JsonValue:
    """Return an expression as a receipt writes it."""
    return expression if isinstance(expression, str) else [as_json_value(item) for item in expression]


def _checked(entry: Entry, made: Any) -> Any:
    """Return what a function made, once it is something that can be published."""
    if isinstance(made, Value):
        return made
    if isinstance(made, Row) and entry.kind == "result":
        if not entry.axis:
            raise ValueRefused("one row without a key: return a value or a table")
        if made.id or entry.axis in made.cells:
            raise ValueRefused(f"a row of {entry.axis} takes its key by itself: leave its id and its key out")
        return made
    if isinstance(made, Sequence) and made and all(isinstance(item, Row) for item in made):
        ids = [item.id for item in made]
        if len(set(ids)) != len(ids) or not all(ID.fullmatch(name) for name in ids):
            raise ValueRefused(f"expected an id of its own for each row, found {', '.join(map(repr, ids))}")
        if len({tuple(sorted(item.cells)) for item in made}) != 1 or not made[0].cells:
            raise ValueRefused("expected the same cells in every row")
        return tuple(made)
    raise ValueRefused(f"expected a value, a row or a table of named rows, found {type(made).__name__}")


_AGAINST_ITSELF: Final = frozenset({"sub", "div", "floordiv", "mod", "min", "max", "eq", "ne", "lt", "le", "gt", "ge"})


def refuse_disguised(expression: Expression) -> None:
    """Refuse a number that is put together from literals, and a value that is held against itself."""
    if isinstance(expression, str):
        return
    operation, *operands = expression
    if not any(True for _ in leaves_of(expression)):
        raise ValueRefused(f"{operation} of literals alone is a number without a lineage: make it an assumption")
    if operation in _AGAINST_ITSELF and all(other == operands[0] for other in operands[1:]) and len(operands) > 1:
        raise ValueRefused(f"{operation} of a value and itself says nothing: compare or combine two things")
    for inner in operands:
        refuse_disguised(inner)


def _keys_by_name(leaves: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    """The keys under which each name has leaves: one for each item of its list, or the empty one."""
    keys: dict[str, list[str]] = {}
    for name, key in leaves:
        keys.setdefault(name, []).append(key)
    return keys


class Computation:
    """Results and invariants from one set of leaves, each computed when it is first asked for."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        axes: Mapping[str, Sequence[str]],
        leaves: Mapping[tuple[str, str], Leaf],
        known: Mapping[tuple[str, str], Any] | None = None,
    ) -> None:
        self.entries = {entry.id: entry for entry in entries.values()}
        self.axes = axes
        self.leaves = leaves
        self.keys = _keys_by_name(leaves)
        self.memo: dict[tuple[str, str], Any] = dict(known or {})
        self._rests: dict[tuple[str, str], frozenset[tuple[str, str]]] = {}
        self._open: set[tuple[str, str]] = set()
        self._rows: dict[tuple[str, str], Mapping[str, Value]] = {}
        self._lists = {entry.axis: entry.id for entry in self.entries.values() if entry.kind == "assumption"}

    def value(self, name: str, key: str) -> Any:
        """Return a result's or an invariant's value, or a row, for one key (the empty one where it has none)."""
        node = (name, key)
        if node not in self.memo:
            if node in self._open:
                raise ValueRefused(f"{name} rests on itself")
            self._open.add(node)
            try:
                entry = self.entries[name]
                made = entry.function(**{need: self._given(entry, need, key) for need in entry.needs})
                self.memo[node] = _checked(entry, made)
            finally:
                self._open.discard(node)
        return self.memo[node]

    def _given(self, entry: Entry, need: str, key: str) -> Any:
        name = camel(need)
        if entry.axis and need == entry.axis:
            return self._member(entry.axis, key)
        if (name, "") in self.leaves:
            return self.leaves[name, ""].value
        if (name, key) in self.leaves and entry.axis and self._axis(name) == entry.axis:
            return self.leaves[name, key].value
        if name in self.entries and self.entries[name].kind == "result":
            return self._result(self.entries[name], entry, key)
        if name in self.keys:
            return Keyed({item: self.leaves[name, item].value for item in self.keys[name]})
        raise ValueRefused(f"nothing is called {need!r}")

    def _axis(self, name: str) -> str | None:
        entry = self.entries.get(name)
        return entry.axis if entry else None

    def _member(self, axis: str, key: str) -> Value:
        if axis in self._lists:
            return self.leaves[self._lists[axis], key].value
        return word(key, "word", f"{axis}/{key}")

    def _result(self, wanted: Entry, asking: Entry, key: str) -> Any:
        if wanted.axis is None:
            made = self.value(wanted.id, "")
            if isinstance(made, Value):
                return made.named(wanted.id)
            return self.whole(wanted.id)
        if asking.axis == wanted.axis:
            made = self.value(wanted.id, key)
            if isinstance(made, Value):
                return made.named(f"{wanted.id}@{key}")
            return {column: cell.named(f"{wanted.id}/{key}/{column}") for column, cell in made.cells.items()}
        keys = self.axes[wanted.axis]
        if isinstance(self.value(wanted.id, keys[0]), Value):
            return Keyed({item: self.value(wanted.id, item).named(f"{wanted.id}@{item}") for item in keys})
        return self.whole(wanted.id)

    def whole(self, name: str) -> Table:
        """Return a computed table; of one per key, each row is computed when it is asked for."""
        entry = self.entries[name]
        if entry.axis:
            return Table(name, tuple(self.axes[entry.axis]), lambda key: self._row(entry, key))
        rows = {item.id: named(name, item.id, item.cells) for item in self.value(name, "")}
        return Table(name, tuple(rows), rows.__getitem__)

    def _row(self, entry: Entry, key: str) -> Mapping[str, Value]:
        node = (entry.id, key)
        if node not in self._rows:
            self._rows[node] = named(*node, self._with_key(entry, key, self.value(*node)))
        return self._rows[node]

    def _with_key(self, entry: Entry, key: str, made: Row) -> Mapping[str, Value]:
        return {str(entry.axis): self._member(str(entry.axis), key), **made.cells}

    def at(self, address: str) -> Value:
        """Return the value at an address of the run."""
        head, _, rest = address.partition("/")
        name, _, key = head.partition("@")
        if rest:
            row_id, _, column = rest.rpartition("/")
            if not row_id:
                return self.leaves[name, column].value if (name, column) in self.leaves else word(column)
            return self.whole(name).row(row_id)[column]
        if (name, key) in self.leaves:
            return self.leaves[name, key].value
        made = self.value(name, key)
        if not isinstance(made, Value):
            raise KeyError(address)
        return made

    # Publishing

    def published(self, entry: Entry) -> Iterator[Result]:
        """Yield the result as it stands in the receipt: per key where it is a value per key, else once."""
        needs = tuple(camel(need) for need in entry.needs)
        keys = self.axes[entry.axis] if entry.axis else ("",)
        first = self.value(entry.id, keys[0])
        if isinstance(first, Value):
            for key in keys:
                value = self.value(entry.id, key)
                refuse_disguised(value.expression)
                yield Result.model_validate(
                    {
                        "id": f"{entry.id}@{key}" if key else entry.id,
                        "kind": "value",
                        "class": "computed",
                        "title": entry.title or worded(entry.id),
                        "statement": entry.statement,
                        "needs": needs,
                        "value": value.text,
                        **({"unit": value.unit} if value.kind == "number" else {"valueKind": value.kind}),
                        "expression": as_json_value(value.expression),
                        **_phrased(entry, ""),
                    }
                )
            return
        if entry.axis:
            axis = str(entry.axis)
            rows = {key: self._with_key(entry, key, self.value(entry.id, key)) for key in keys}
        else:
            axis = ""
            rows = {item.id: item.cells for item in first}
        yield self._table(entry, needs, axis, rows)

    def _table(self, entry: Entry, needs: Sequence[str], axis: str, rows: Mapping[str, Mapping[str, Value]]) -> Result:
        names = list(next(iter(rows.values())))
        columns: list[dict[str, Any]] = []
        single: dict[str, JsonValue] = {}
        if not axis:
            columns.append({"id": "id", "title": entry.titles.get("id", "Item"), "kind": "text"})
        for name in names:
            cells = {key: cells[name] for key, cells in rows.items() if name in cells}
            if len(cells) != len(rows):
                raise ValueRefused(f"column {name}: expected a cell in every row")
            if name in MEANS_ELSE:
                raise ValueRefused(f"expected a column that is no unit, found {name}")
            for cell in cells.values():
                refuse_disguised(cell.expression)
            shapes = {(cell.kind, cell.unit) for cell in cells.values()}
            if len(shapes) != 1 and axis:
                raise ValueRefused(f"column {name}: expected one kind and unit, found {sorted(shapes)}")
            kind, unit = next(iter(shapes))
            column: dict[str, Any] = {"id": name, "title": entry.titles.get(name, worded(name).capitalize())}
            if len(shapes) == 1:
                column |= {"unit": unit} if kind == "number" else {"kind": kind}
            else:
                raise ValueRefused(f"column {name}: expected one kind and unit, found {sorted(shapes)}")
            if name != axis:
                forms = (
                    {key: _as_column(cell.expression, entry.id, key, axis, names) for key, cell in cells.items()}
                    if axis
                    else {}
                )
                if forms and all(form == forms[next(iter(forms))] for form in forms.values()):
                    column["expression"] = next(iter(forms.values()))
                else:
                    single |= {f"{key}/{name}": as_json_value(cell.expression) for key, cell in cells.items()}
            columns.append(column | _phrased(entry, name))
        return Result.model_validate(
            {
                "id": entry.id,
                "kind": "table",
                "class": "computed",
                "title": entry.title or worded(entry.id).capitalize(),
                "statement": entry.statement,
                "needs": tuple(needs),
                "columns": columns,
                "rows": [
                    {"id": key, **{name: cell.text for name, cell in cells.items()}} for key, cells in rows.items()
                ],
                **({"expressions": single} if single else {}),
            }
        )

    # What can break an invariant

    def broken_by(self, invariant: str) -> Iterator[str]:
        """Yield the leaves of the invariant's lineage that make it false when they are moved."""
        reached = self._reached(self.value(invariant, "").expression)
        for node, leaf in self.leaves.items():
            if leaf.address not in reached:
                continue  # no branch of a script can depend on it: a value refuses to be a Python truth
            unaffected = {known: made for known, made in self.memo.items() if node not in self.rests_on(known)}
            # A row shows its own key, which is the leaf that is moved where the leaf is a member of a list.
            member = self._axis(leaf.name) is not None and self.entries[leaf.name].kind == "assumption"
            rows = {} if member else {known: made for known, made in self._rows.items() if known in unaffected}
            for moved in self._moves(leaf):
                leaves = {**self.leaves, node: Leaf(leaf.address, leaf.name, leaf.key, moved)}
                trial = Computation({}, self.axes, {}, unaffected)
                trial.entries, trial.leaves, trial.keys = self.entries, leaves, self.keys
                trial._rows, trial._lists = dict(rows), self._lists
                try:
                    broken = trial.value(invariant, "").raw is False
                except Exception:  # noqa: BLE001, S112 - a move that raises breaks nothing
                    continue
                if broken:
                    yield leaf.address
                    break

    def _reached(self, expression: Expression) -> set[str]:
        """The addresses that an expression names, and those that the results among them name, to the leaves."""
        reached: set[str] = set()
        waiting = list(leaves_of(expression))
        while waiting:
            address = waiting.pop()
            if address not in reached:
                reached.add(address)
                waiting.extend(leaves_of(self._computed_as(address)))
        return reached

    def _computed_as(self, address: str) -> Expression:
        """The expression behind a computed address; none behind a leaf."""
        head, _, rest = address.partition("/")
        name, _, key = head.partition("@")
        entry = self.entries.get(name)
        if entry is None or entry.kind != "result":
            return []
        if not rest:
            return self.value(name, key).expression  # type: ignore[no-any-return]
        row_id, _, column = rest.rpartition("/")
        if entry.axis:
            made = self.value(name, row_id)
            cells: Mapping[str, Value] = self._with_key(entry, row_id, made)
        else:
            cells = next(item.cells for item in self.value(name, "") if item.id == row_id)
        return cells[column].expression

    def _moves(self, leaf: Leaf) -> Iterator[Value]:
        value = leaf.value
        if value.kind == "number":
            if not value.known:
                return
            raw: Any = value.raw
            for moved in dict.fromkeys((raw * 0, raw * 0 + 1, raw + 1, raw - 1, raw * 2, raw / 2, -raw)):
                if moved != raw:
                    yield Value(moved, "number", value.unit, value.expression)
            return
        if value.kind == "truth":
            for other in (True, False):
                if value.raw is not other:
                    yield Value(other, "truth", "", value.expression)
            return
        siblings = [other.value.raw for other in self.leaves.values() if other.value.kind == value.kind]
        for keys in self.axes.values():
            siblings += keys if value.raw in keys else ()  # it may choose one of them
        if value.kind == "words" and isinstance(value.raw, tuple):
            siblings += [value.raw[:at] + value.raw[at + 1 :] for at in range(len(value.raw))]
        for raw in [*dict.fromkeys(siblings), UNKNOWN]:
            if raw != value.raw:
                yield Value(raw, value.kind, "", value.expression)

    def rests_on(self, node: tuple[str, str]) -> frozenset[tuple[str, str]]:
        """Return the leaves below a result or an invariant, by the parameters that the functions name."""
        if node not in self._rests:
            name, key = node
            entry = self.entries[name]
            found: set[tuple[str, str]] = set()
            for need in entry.needs:
                wanted = camel(need)
                target = self.entries.get(wanted)
                if entry.axis and need == entry.axis:
                    found |= {item for item in self.leaves if item[1] == key and self._is_axis(item[0], need)}
                elif (wanted, "") in self.leaves:
                    found.add((wanted, ""))
                elif target is not None and target.kind == "result":
                    same = target.axis is not None and target.axis == entry.axis
                    keys = [key] if same else list(self.axes[target.axis]) if target.axis else [""]
                    for item in keys:
                        found |= self.rests_on((wanted, item))
                elif entry.axis and self._axis(wanted) == entry.axis:
                    found |= {(wanted, key)} & self.leaves.keys()
                else:
                    found |= {item for item in self.leaves if item[0] == wanted}
            self._rests[node] = frozenset(found)
        return self._rests[node]

    def _is_axis(self, name: str, axis: str) -> bool:
        entry = self.entries.get(name)
        return entry is not None and entry.kind == "assumption" and entry.axis == axis


def _phrased(entry: Entry, column: str) -> dict[str, Any]:
    phrases = entry.phrases.get(column) or (entry.phrases if not column and not _per_column(entry) else {})
    return {"phrases": {str(key): tuple(wordings) for key, wordings in phrases.items()}} if phrases else {}


def _per_column(entry: Entry) -> bool:
    return any(isinstance(wordings, Mapping) for wordings in entry.phrases.values())


def _as_column(expression: Expression, result: str, key: str, axis: str, names: Sequence[str]) -> JsonValue:
    """The expression of one cell as its column states it: the row's key as `{row}`, its own columns by their ids."""
    if isinstance(expression, str):
        if expression in names:
            raise ValueRefused(f"column {expression} has the name of a value that its row is computed from: rename one")
        prefix = f"{result}/{key}/"
        if expression.startswith(prefix) and expression[len(prefix) :] in names:
            return expression[len(prefix) :]
        head, slash, last = expression.rpartition("/")
        if slash and last == key and axis in names and "@" not in expression and head.count("/") == 0:
            return axis
        return (
            expression.replace(f"@{key}", "@{row}")
            if expression.endswith(f"@{key}")
            else expression.replace(f"/{key}/", "/{row}/")
        )
    return [str(expression[0]), *(_as_column(item, result, key, axis, names) for item in expression[1:])]
