"""Receipts: what an audit found, versioned, canonical and chained, and how a value in one is addressed.

`body` is a pure function of what the audit read; `issued` is written once. Computing a body is `audits`' work; here is
what a receipt is, how its bytes are written and read, and what an address in it stands for.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field, JsonValue, WithJsonSchema, model_validator

from site_builder import records, strict
from site_builder.errors import ReceiptError
from site_builder.records import Record
from site_builder.sources import Artifact, DigestText, Integrity, Mutability, Role, Standing, TreeMembers
from site_builder.values import OPERATIONS, Digest, Expression, Kind, Value, decoded, evaluate, leaves, words

ID = re.compile(r"[a-z0-9][A-Za-z0-9.@_-]*")
Id = Annotated[str, Field(pattern=r"^[a-z0-9][A-Za-z0-9.@_-]*$")]
FixturePath = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]*(/[A-Za-z0-9][A-Za-z0-9._@-]*)*$")]
Text: TypeAlias = str | tuple[str, ...]


_EXPRESSION_SCHEMA: Mapping[str, Any] = {
    "description": "An address, a column of the same row, a unit, 0 or 1; or an operation and its operands, each such a one.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "array",
            "minItems": 2,
            "prefixItems": [{"enum": sorted(OPERATIONS)}],
            "items": {"type": ["string", "array"]},
        },
        {"type": "null"},
    ],
}
JsonExpression = Annotated[JsonValue, WithJsonSchema(dict(_EXPRESSION_SCHEMA))]


class _Typed(Record):
    """What every value has: its text, what kind it is, and the phrases that prose may use for it."""

    value: Text
    kind: Kind | None = None
    unit: str | None = None
    phrases: Mapping[str, tuple[str, ...]] | None = None
    """By value, the wordings that read as it, beside the value's own text."""


class SourceRow(Record):
    """One source as the lock knows it, with what it is for."""

    id: Id
    purpose: str
    role: Role
    mutability: Mutability
    standing: Standing
    integrity: Integrity
    digest: DigestText
    bytes: int
    origin: str
    artifact: str | None = None
    retrieved_at: str
    recorded_by: str | None = None
    reason: str | None = None
    members: TreeMembers | None = None
    """Of a tree, every file that was read of it; the digest and size beside are those of the wheel's RECORD."""


class Step(Record):
    """One step of the way to what was read: what was met there, its value, its place and the digest of its lines."""

    step: str
    value: Text
    at: Mapping[str, str | int]
    region: DigestText


class Assumption(_Typed):
    """A value that we chose, and why."""

    id: Id
    statement: str
    reason: str
    axis: str | None = None
    """For a list of values: the name under which its members are spoken of, one by one."""


class Reported(_Typed):
    """A value that another party stated. It stays theirs in everything computed from it."""

    id: Id
    by: str
    url: str | None = None
    how: str
    statement: str


class Observation(_Typed):
    """A value read off one source's bytes, and where it stands there."""

    id: Id
    source: Id
    at: Mapping[str, str | int] | None = None
    region: DigestText | None = None
    trail: tuple[Step, ...] | None = None
    """What led there, where names were followed from file to file."""
    statement: str
    reason: str | None = None
    """Why it is unknown."""


class Absence(_Typed):
    """That something is not there: what was searched, how much, and the same search where it does find something."""

    id: Id
    source: Id
    statement: str
    matcher: str
    bytes: int
    definitions: int
    at: Mapping[str, str | int] | None = None
    region: DigestText | None = None
    """What was searched, where it is less than the whole source."""
    trail: tuple[Step, ...] | None = None
    control: Mapping[str, str | int]
    reason: str | None = None


class Column(Record):
    """A column of a table: its values' kind or unit, and the one expression that yields each of its cells."""

    id: Id
    title: str
    kind: Kind | None = None
    unit: str | None = None
    expression: JsonExpression = None
    phrases: Mapping[str, tuple[str, ...]] | None = None


class Result(Record):
    """What was computed or, for a table of words, written: a value, a table or a list of steps."""

    id: Id
    kind: Literal["value", "table", "checklist"]
    class_: Literal["computed", "editorial"] = Field(alias="class")
    title: str
    statement: str
    needs: tuple[str, ...] = ()
    value: Text | None = None
    value_kind: Kind | None = None
    unit: str | None = None
    phrases: Mapping[str, tuple[str, ...]] | None = None
    expression: JsonExpression = None
    columns: tuple[Column, ...] = ()
    rows: tuple[Mapping[str, Text], ...] = ()
    expressions: Mapping[str, JsonExpression] | None = None
    """By `row/column`, the expressions of cells that do not share their column's."""
    ordered: bool | None = None

    @model_validator(mode="after")
    def _each_cell_once(self) -> Result:
        if (self.value is None) == (self.kind == "value") or bool(self.rows) == (self.kind == "value"):
            raise ValueError(f"expected a value or rows, as a {self.kind} has them")
        columns = _each_once([column.id for column in self.columns], "column")
        for row in self.rows:
            if set(row) != {"id", *columns}:
                raise ValueError(
                    f"expected {', '.join(sorted({'id', *columns}))} in each row, found {', '.join(sorted(row))}"
                )
        ids = _each_once([str(row["id"]) for row in self.rows], "row")
        if strange := [name for name in ids if not ID.fullmatch(name)]:
            raise ValueError(f"expected rows with ids of a-z, A-Z, 0-9 and .@_-, found {strange[0]!r}")
        return self


def _each_once(names: Sequence[str], what: str) -> Sequence[str]:
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"expected each {what} once, found {twice} twice")
    return names


class Tool(Record):
    """A file that operators run or check against, as it is offered with the site."""

    id: str
    statement: str
    digest: DigestText
    bytes: int


class Fixture(Record):
    """Input made by us, and said to be: never a record of something that happened."""

    id: FixturePath
    """Its path below `fixtures/`."""
    statement: str
    digest: DigestText
    bytes: int
    type: Literal["synthetic"] = "synthetic"


class Trial(_Typed):
    """What a tool of this repository made of fixtures."""

    id: Id
    statement: str
    tool: str
    fixtures: tuple[str, ...]


class Invariant(Record):
    """A relation that must hold, what it came to, and which moved leaves break it."""

    id: Id
    statement: str
    expression: JsonExpression
    expected: str
    actual: str
    broken_by: tuple[str, ...]


class Decision(Record):
    """What follows for a reader: the state, what it is about, on which conditions, and what would open it again."""

    state: str
    statement: str
    subjects: tuple[Mapping[str, str], ...]
    conditions: tuple[str, ...]
    reopen: tuple[Mapping[str, str], ...]


class Body(Record):
    """What the audit found: a pure function of what it read."""

    question: str
    artifacts: tuple[Artifact, ...]
    sources: tuple[SourceRow, ...]
    reported: tuple[Reported, ...]
    assumptions: tuple[Assumption, ...]
    observations: tuple[Observation, ...]
    absences: tuple[Absence, ...]
    tools: tuple[Tool, ...] = ()
    fixtures: tuple[Fixture, ...]
    trials: tuple[Trial, ...] = ()
    results: tuple[Result, ...]
    invariants: tuple[Invariant, ...]
    boundary: Mapping[str, Text]
    decision: Decision
    limits: tuple[str, ...]

    @model_validator(mode="after")
    def _each_name_once(self) -> Body:
        leaves = [*(item.id for item in self.reported), *(item.id for item in self.assumptions)]
        read = [*(item.id for item in self.observations), *(item.id for item in self.absences)]
        read += [item.id for item in self.trials]
        _each_once([*leaves, *read, *(item.id for item in self.results)], "value")
        _each_once([source.id for source in self.sources], "source")
        fixtures = _each_once([fixture.id for fixture in self.fixtures], "fixture")
        tools = _each_once([tool.id for tool in self.tools], "tool")
        for trial in self.trials:
            if trial.tool not in tools or not set(trial.fixtures) <= set(fixtures):
                raise ValueError(f"expected the tool and the fixtures of {trial.id} beside it, found others")
        return self


class Issued(Record):
    """What was true when the receipt was made, written once."""

    version: int | Literal["draft"]
    as_of: str
    operation_id: str
    predecessor: DigestText | Literal["none"]
    builder: str
    parsers: Mapping[str, str]
    overlap: JsonValue
    intake: JsonValue
    search_budget: JsonValue
    review: JsonValue


class Receipt(Record):
    """The versioned record of one audit."""

    schema_: Literal["receipt/1"] = Field(default="receipt/1", alias="schema")
    audit: Id
    body: Body
    issued: Issued


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """The value at one address, with what is needed to read prose against it and to explain it."""

    address: str
    audit: str
    value: Value
    phrases: tuple[str, ...]
    """The wordings, beside its own text, that read as it."""
    statement: str
    standing: Literal["assumption", "reported", "observation", "absence", "trial", "computed", "editorial", "counted"]
    own_key: bool = False
    """Whether it is merely the key of its own row, which says nothing by itself."""
    by: str | None = None
    """Who stated it, for a reported value."""


class UnknownAddress(LookupError):
    """Nothing stands at the address; `near` are addresses that resemble it, nearest first."""

    def __init__(self, address: str, near: Sequence[str]) -> None:
        super().__init__(address)
        self.address = address
        self.near = tuple(near)


@dataclass(frozen=True)
class Ledger:
    """A receipt opened for looking things up: addresses, expressions and lineage."""

    receipt: Receipt
    digest: str
    """`fileDigest` of the bytes it was read from."""

    @property
    def audit(self) -> str:
        """The audit's name."""
        return self.receipt.audit

    @property
    def pin(self) -> str:
        """The name under which a guide pins it."""
        return f"{self.receipt.audit}@{self.receipt.issued.version}"

    @cached_property
    def cells(self) -> Mapping[str, Cell]:
        """Every value by its address, in the receipt's order."""
        return {cell.address: cell for cell in _cells(self.receipt)}

    @cached_property
    def results(self) -> Mapping[str, Result]:
        """Results by id."""
        return {result.id: result for result in self.receipt.body.results}

    @cached_property
    def sources(self) -> Mapping[str, SourceRow]:
        """Sources by id."""
        return {source.id: source for source in self.receipt.body.sources}

    def cell(self, address: str) -> Cell:
        """Return the value at an address.

        Raises:
            UnknownAddress: nothing stands there.
        """
        if (cell := self.cells.get(address)) is not None:
            return cell
        raise UnknownAddress(address, nearest(address, self.cells))

    @cached_property
    def expressions(self) -> Mapping[str, Expression]:
        """The expression behind each computed address, with the columns of its own row spelled out as addresses."""
        return dict(_expressions(self.receipt))

    def recomputed(self, address: str) -> Value:
        """Return what the expression at a computed address yields from the values that it names."""
        return evaluate(self.expressions[address], lambda leaf: self.cell(leaf).value)

    def lineage(self, address: str) -> Sequence[str]:
        """Return the addresses that a value rests on, itself first, each once, to the leaves."""
        order: dict[str, None] = {}
        waiting = [address]
        while waiting:
            current = waiting.pop(0)
            if current in order:
                continue
            order[current] = None
            waiting.extend(leaves(self.expressions.get(current, [])) if current in self.expressions else ())
        return tuple(order)


def nearest(wanted: str, known: Iterable[str], at_most: int = 3) -> Sequence[str]:
    """Return the known names that resemble the wanted one, nearest first."""
    names = list(dict.fromkeys(known))
    close = difflib.get_close_matches(wanted, names, n=at_most, cutoff=0.6)
    return close or sorted(name for name in names if name.split("/", 1)[0] == wanted.split("/", 1)[0])[:at_most]


def opened(body: bytes, where: str) -> Ledger:
    """Return the receipt that these bytes are.

    Raises:
        ReceiptError: the bytes are not a receipt, or not written as receipts are.
    """
    receipt = records.read(body, where, "json", Receipt, ReceiptError)
    return Ledger(receipt=receipt, digest=Digest.of(body))


def written(receipt: Receipt) -> bytes:
    """Return the receipt's bytes: one form for one content."""
    return strict.dump_json(as_json(receipt))


def operation_id(receipt: Receipt) -> str:
    """Return the id that follows from everything else in the receipt, so that no field of it is free to be edited."""
    rest = as_json(receipt)
    del rest["issued"]["operationId"]
    digits = "".join(character for character in receipt.issued.as_of if character.isdigit())
    return f"{digits}-{Digest.of(strict.canonical_json(rest)).removeprefix('sha256:')[:10]}"


def as_json(record: BaseModel) -> Any:
    """Return a record as JSON values, names in lowerCamelCase, what does not apply left out."""
    return record.model_dump(mode="json", by_alias=True, exclude_none=True)


def _typed(record: _Typed, address: str) -> Value:
    return decoded(_text(record.value), record.kind or "number", record.unit or "", address)


def _text(value: Text) -> str | Sequence[str]:
    return value if isinstance(value, str) else list(value)


def _phrases(phrases: Mapping[str, tuple[str, ...]] | None, value: Value) -> tuple[str, ...]:
    return (phrases or {}).get(str(value.text), ()) if isinstance(value.text, str) else ()


def _cells(receipt: Receipt) -> Iterator[Cell]:
    body, audit = receipt.body, receipt.audit
    leaves_of: Sequence[tuple[Any, Iterable[Any]]] = (
        ("assumption", body.assumptions),
        ("reported", body.reported),
        ("observation", body.observations),
        ("absence", body.absences),
        ("trial", body.trials),
    )
    for standing, group in leaves_of:
        for record in group:
            if isinstance(record, Assumption) and record.axis:
                yield from _members(record, audit)
                continue
            value = _typed(record, record.id)
            yield Cell(
                address=record.id,
                audit=audit,
                value=value,
                phrases=_phrases(record.phrases, value),
                statement=record.statement,
                standing=standing,
                by=getattr(record, "by", None),
            )
    for result in body.results:
        if result.kind == "value":
            value = decoded(_text(result.value or ""), result.value_kind or "number", result.unit or "", result.id)
            yield Cell(
                address=result.id,
                audit=audit,
                value=value,
                phrases=_phrases(result.phrases, value),
                statement=result.statement,
                standing=result.class_,
            )
        for row in result.rows:
            for number, column in enumerate(result.columns):
                address = f"{result.id}/{row['id']}/{column.id}"
                value = decoded(_text(row[column.id]), column.kind or "number", column.unit or "", address)
                yield Cell(
                    address=address,
                    audit=audit,
                    value=value,
                    phrases=_phrases(column.phrases, value),
                    statement=result.statement,
                    standing=result.class_,
                    own_key=number == 0 and row[column.id] == row["id"],
                )
    for name, amount, statement in counts(body):
        yield Cell(
            address=f"counts/{name}",
            audit=audit,
            value=decoded(str(amount), "number", "1", f"counts/{name}"),
            phrases=(),
            statement=statement,
            standing="counted",
        )


def _members(listed: Assumption, audit: str) -> Iterator[Cell]:
    """Yield the list as a whole, as words, and each of its members as the number or word that it is."""
    kind: Kind = "number" if listed.unit else "word"
    whole = words(listed.value, listed.id)
    places = [(listed.id, whole)]
    for text in listed.value:
        address = f"{listed.id}/{text}"
        places.append((address, decoded(text, kind, listed.unit or "", address)))
    for address, value in places:
        yield Cell(
            address=address, audit=audit, value=value, phrases=(), statement=listed.statement, standing="assumption"
        )


def counts(body: Body) -> Iterator[tuple[str, int, str]]:
    """Yield what the engine counts in every receipt: the name under `counts/`, the number, and what it counts."""
    held = [source for source in body.sources if source.standing in ("obtained", "origin-confirmed", "bytes-obtained")]
    yield "sources", len(body.sources), "Sources in this receipt."
    yield "held", len(held), "Sources whose bytes were in hand."
    yield "recorded", sum(source.standing == "recorded" for source in body.sources), "Sources only recorded by others."
    yield "absent", sum(source.standing == "absent" for source in body.sources), "Sources that a release does not have."
    yield "artifacts", len(body.artifacts), "Released files that sources were read from."
    yield "observations", len(body.observations), "Values read off bytes."
    yield "unknown", sum(item.value == "unknown" for item in body.observations), "Observations that stayed unknown."
    yield "absences", len(body.absences), "Searches that found nothing where their control found something."
    yield "fixtures", len(body.fixtures), "Inputs that we made."
    yield "trials", len(body.trials), "Values that a tool made of fixtures."
    yield "assumptions", len(body.assumptions), "Values that we chose."
    yield "reported", len(body.reported), "Values that others stated."
    yield "results", len(body.results), "Computed and written results."
    yield "tables", sum(result.kind == "table" for result in body.results), "Tables among the results."
    yield "invariants", len(body.invariants), "Relations that hold and can fail."


def _expressions(receipt: Receipt) -> Iterator[tuple[str, Expression]]:
    for result in receipt.body.results:
        if result.class_ != "computed":
            continue
        if result.kind == "value" and result.expression is not None:
            yield result.id, _plain(result.expression)
        names = {column.id for column in result.columns}
        for row in result.rows:
            row_id = str(row["id"])
            for column in result.columns:
                address = f"{result.id}/{row_id}/{column.id}"
                own = (result.expressions or {}).get(f"{row_id}/{column.id}")
                if own is not None:
                    yield address, _plain(own)
                elif column.expression is not None:
                    yield address, _in_row(_plain(column.expression), result.id, row_id, names)


def _plain(expression: JsonValue) -> Expression:
    if isinstance(expression, list):
        return [_plain(item) for item in expression]
    return str(expression)


def _in_row(expression: Expression, result: str, row: str, columns: set[str]) -> Expression:
    """Spell out what a column's expression means in one row: its own columns, and `{row}` for the row's id."""
    if isinstance(expression, str):
        return f"{result}/{row}/{expression}" if expression in columns else expression.replace("{row}", row)
    return [expression[0], *(_in_row(item, result, row, columns) for item in expression[1:])]
