"""What editors write beside an audit: what others reported, tables of words, and how the decision is worded.

Each file is strict YAML. What its text claims is checked where claims are checked; here it only becomes records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, JsonValue, model_validator

from site_builder import records, strict
from site_builder.audits import DecisionText, FixtureFile, ToolFile, WordTable
from site_builder.errors import AuditError, Problem
from site_builder.inputs import AuditInputs, File
from site_builder.receipts import FixturePath, Id, Reported
from site_builder.records import Record
from site_builder.values import ValueRefused, decoded

_Read = TypeVar("_Read", bound=BaseModel)


class _ReportedFile(Record):
    reported: tuple[Reported, ...] = Field(min_length=1)


class _Column(Record):
    id: Id
    title: str


class _TableFile(Record):
    title: str
    statement: str
    columns: tuple[_Column, ...] = ()
    rows: tuple[Mapping[str, str], ...] = ()
    items: tuple[Mapping[str, str], ...] = ()
    ordered: str = "no"

    @model_validator(mode="after")
    def _either_rows_or_items(self) -> _TableFile:
        if bool(self.rows) == bool(self.items) or bool(self.columns) != bool(self.rows):
            raise ValueError("expected columns and rows, or items alone")
        names = {"id", "text"} if self.items else {"id", *(column.id for column in self.columns)}
        ids = [row.get("id") for row in self.rows or self.items]
        for number, row in enumerate(self.rows or self.items):
            if set(row) != names:
                raise ValueError(
                    f"expected {', '.join(sorted(names))} in row {number + 1}, found {', '.join(sorted(row))}"
                )
        if len(set(ids)) != len(ids):
            raise ValueError("expected an id of its own in every row")
        return self


class _StateFrom(Record):
    from_: str = Field(alias="from")
    states: Mapping[str, str] = Field(min_length=1)


class _SubjectsFrom(Record):
    table: Id
    column: Id | Annotated[tuple[Id, ...], Field(min_length=1)]
    """One, whose cells are the states; or several, each a state of its own name."""


class _DecisionFile(Record):
    state: _StateFrom
    statement: str
    subjects: _SubjectsFrom | None = None
    conditions: tuple[str, ...] = Field(min_length=1)
    reopen: tuple[Mapping[str, str], ...] = Field(min_length=1)


class _Fixture(Record):
    path: FixturePath
    statement: str = Field(min_length=1)


class _FixturesFile(Record):
    fixtures: tuple[_Fixture, ...] = Field(min_length=1)


class Desk(Record):
    """What the editors' desk recorded of an audit: overlap with other guides, intake, search budget and review."""

    overlap: JsonValue
    intake: JsonValue
    search_budget: JsonValue
    review: JsonValue


def reported(audit: AuditInputs) -> tuple[Reported, ...]:
    """Return what others stated.

    Raises:
        AuditError: the file does not say it as it must.
    """
    if audit.reported is None:
        return ()
    entries = _read(audit.reported, _ReportedFile).reported
    problems = []
    for entry in entries:
        text = entry.value if isinstance(entry.value, str) else list(entry.value)
        try:
            if (entry.unit is None) == (entry.kind is None):
                raise ValueRefused("expected a unit for a number, or a kind for anything else")
            decoded(text, entry.kind or "number", entry.unit or "", entry.id)
        except ValueRefused as error:
            problems.append(
                Problem(where=audit.reported.where, problem=f"{entry.id}: {error}", remedy="Mend the reported value.")
            )
    if problems:
        raise AuditError(*problems)
    return entries


def fixtures(audit: AuditInputs) -> tuple[FixtureFile, ...]:
    """Return the fixtures in the order in which `fixtures.yaml` tells what each is for.

    Raises:
        AuditError: it tells of a file that is not there, or not of one that is.
    """
    listed = _read(audit.fixture_list, _FixturesFile).fixtures if audit.fixture_list else ()
    paths = [entry.path for entry in listed]
    where = (
        audit.fixture_list.where
        if audit.fixture_list
        else audit.script.where.removesuffix("audit.py") + "fixtures.yaml"
    )
    # Files of other folders are sources: `sources.yaml` says what they are for.
    folders = {_outermost(path) for path in paths}
    beside = [path for path in audit.fixtures if _outermost(path) in folders]
    wrong = [f"expected a file fixtures/{path}, found none" for path in paths if path not in audit.fixtures]
    wrong += [f"expected an entry for fixtures/{path}, found none" for path in beside if path not in paths]
    wrong += [f"expected each file once, found {path} twice" for path in {*paths} if paths.count(path) > 1]
    if wrong:
        remedy = "Write `path` and `statement` for every file of a folder with fixtures, and for no other."
        raise AuditError(*(Problem(where=where, problem=problem, remedy=remedy) for problem in sorted(wrong)))
    return tuple(
        FixtureFile(path=entry.path, statement=entry.statement, body=audit.fixtures[entry.path].body)
        for entry in listed
    )


def _outermost(path: str) -> str:
    """The folder right below `fixtures/` that a file lies in, however deep; none for a file that lies there itself."""
    return path.partition("/")[0] if "/" in path else ""


def tools(audit: AuditInputs) -> tuple[ToolFile, ...]:
    """Return the operator tools by name, with their code where they are Python."""
    return tuple(ToolFile(name=name, body=file.body, where=file.where) for name, file in sorted(audit.tools.items()))


def tables(audit: AuditInputs) -> tuple[WordTable, ...]:
    """Return the tables of words and the lists of steps, by id.

    Raises:
        AuditError: a file does not say what a table is.
    """
    return tuple(_table(name, _read(file, _TableFile)) for name, file in sorted(audit.tables.items()))


def _table(name: str, read: _TableFile) -> WordTable:
    columns = tuple((column.id, column.title) for column in read.columns) or (("text", "Step"),)
    return WordTable(
        id=name,
        title=read.title,
        statement=read.statement,
        columns=columns,
        rows=read.rows or read.items,
        checklist=bool(read.items),
        ordered=read.ordered == "yes",
    )


def cell_lines(audit: AuditInputs) -> Mapping[tuple[str, str, str], str]:
    """Return `file:line` of each cell by table, row id and column: where a message about its words points."""
    return dict(_cell_lines(audit))


def _cell_lines(audit: AuditInputs) -> Iterator[tuple[tuple[str, str, str], str]]:
    for name, file in audit.tables.items():
        value, lines = strict.load_yaml_lines(file.body, file.where)
        part = "items" if "items" in value else "rows"
        for number, row in enumerate(value[part]):
            for column in row:
                yield (name, row["id"], column), f"{file.where}:{lines.get((part, number, column), 1)}"


def decision(audit: AuditInputs) -> DecisionText:
    """Return how the decision is worded.

    Raises:
        AuditError: there is no `decision.yaml`, or it does not say what a decision is.
    """
    if audit.decision is None:
        raise AuditError.at(
            audit.script.where.removesuffix("audit.py") + "decision.yaml",
            "expected the decision's wording, found no file",
            "Write the state, the conditions, and what would open the question again.",
        )
    read = _read(audit.decision, _DecisionFile)
    return DecisionText(
        state_from=read.state.from_,
        states=read.state.states,
        statement=read.statement,
        subjects_from=(read.subjects.table, read.subjects.column) if read.subjects else None,
        conditions=read.conditions,
        reopen=read.reopen,
    )


def desk(audit: AuditInputs) -> Desk:
    """Return what the desk recorded; where it recorded nothing, the receipt says so.

    Raises:
        AuditError: the file does not say it as it must.
    """
    if audit.desk is None:
        return Desk(overlap="not recorded", intake="not recorded", search_budget="not recorded", review="not reviewed")
    return _read(audit.desk, Desk)


def _read(file: File, model: type[_Read]) -> _Read:
    return records.read(file.body, file.where, "yaml", model, AuditError)
