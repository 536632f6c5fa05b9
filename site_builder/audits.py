"""Audits: assumptions, observations, results and invariants as small functions, and the body that they yield.

A function's parameters name what it needs; that is the lineage. Its docstring is the published statement. Reading
disk and network is left to others: an audit is run on snapshots, on what others reported, and on tables of words.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, TypeVar

from pydantic import JsonValue

from site_builder import boundary, scripts
from site_builder.errors import AuditError, EvidenceError, Problem
from site_builder.readers import Plain, ReadingError, Seen, digest_of, lines_region
from site_builder.receipts import (
    ID,
    Absence,
    Assumption,
    Body,
    Decision,
    Invariant,
    Observation,
    Reported,
    Result,
    SourceRow,
)
from site_builder.snapshots import Snapshot
from site_builder.sources import Lock, LockEntry, ReleaseLocator, Source
from site_builder.values import (
    MEASURED,
    UNKNOWN,
    Expression,
    Kind,
    Value,
    ValueRefused,
    choose,
    count,
    decoded,
    evaluate,
    every,
    holds,
    least,
    most,
    number,
    operand,
    some,
    total,
    truth,
    word,
    words,
)
from site_builder.values import (
    leaves as leaves_of,
)

__all__ = [
    "Audit",
    "Inputs",
    "choose",
    "count",
    "every",
    "holds",
    "least",
    "most",
    "row",
    "run",
    "some",
    "table",
    "total",
]

Phrases: TypeAlias = Mapping[str, Sequence[str]]
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Row:
    """Named values that stand beside each other; in a table of several, under an id of its own."""

    id: str
    cells: Mapping[str, Value]


def row(id: str = "", /, **cells: Value | int) -> Row:  # noqa: A002 - the word that receipts use
    """Return a row of these cells. Its id is the key it was computed for, where it has one."""
    named = {_camel(name): operand(value) for name, value in cells.items()}
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
        """Return one cell."""
        return self.row(_key_text(row))[_camel(column)]

    def column(self, column: str) -> Sequence[Value]:
        """Return a column, in the order of the rows."""
        return [self.row(key)[_camel(column)] for key in self.keys]


def _named(table: str, row: str, cells: Mapping[str, Value]) -> Mapping[str, Value]:
    return {column: cell.named(f"{table}/{row}/{column}") for column, cell in cells.items()}


def table(*rows: Row) -> Sequence[Row]:
    """Return a table of rows that are named one by one."""
    return rows


class Keyed(Mapping[str, Any]):
    """A value per key of a list, as a function sees it that is not run per key."""

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = items

    def __getitem__(self, key: str | Value) -> Any:
        return self._items[_key_text(key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


def _key_text(key: str | Value) -> str:
    return key if isinstance(key, str) else str(key.text)


@cache
def _camel(name: str) -> str:
    first, *rest = name.strip("_").split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _worded(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """One function of an audit, or one thing that it may name."""

    name: str
    id: str
    kind: Literal["assumption", "observation", "absence", "result", "invariant"]
    function: Callable[..., Any]
    statement: str
    needs: tuple[str, ...]
    line: int
    axis: str | None = None
    """The list that it is run over, if any: the singular name, `release` or `cap`."""
    source: str = ""
    control: str = ""
    unit: str | None = None
    value_kind: Kind | None = None
    reason: str = ""
    title: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    phrases: Mapping[str, Phrases] = field(default_factory=dict)
    """Per column (or under the empty name for a value): the wordings that read as each value."""
    otherwise: str | None = None


_Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


class Audit:
    """What an audit script declares, in the order it declares it."""

    def __init__(self, question: str | None, *, limits: Sequence[str] = ()) -> None:
        if not question or not question.strip():
            raise ValueRefused("an audit begins with its question, as the script's docstring")
        self.question = " ".join(question.split())
        self.limits = tuple(limits)
        self.entries: dict[str, _Entry] = {}
        self.rules: dict[str, Callable[..., Any]] = {}

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

    def absence(self, source: str, *, control: str, phrases: Phrases = _NONE) -> _Decorator:
        """Declare that something is not in a source. The same search on the control must find something."""
        return self._declaring(
            "absence",
            source=source,
            control=control,
            axis=_axis_of(source),
            value_kind="truth",
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
            titles={_camel(key): text for key, text in titles.items()},
            phrases=phrases,
        )

    def rule(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare arithmetic that several results share: held to the same check, and no result of its own."""
        name = function.__name__
        if name in self.rules or name in self.entries:
            raise ValueRefused(f"{name} is declared twice")
        self.rules[name] = function
        return function

    def invariant(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare a relation that must hold."""
        return self._declaring("invariant")(function)

    def _declaring(self, kind: Any, **fields: Any) -> _Decorator:
        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            name = function.__name__
            statement = (inspect.getdoc(function) or "").strip().split("\n\n")[0]
            if not statement:
                raise ValueRefused(f"{name} has no docstring: its first paragraph is the published statement")
            if name in self.entries or name in self.rules:
                raise ValueRefused(f"{name} is declared twice")
            self.entries[name] = _Entry(
                name=name,
                id=_camel(name),
                kind=kind,
                function=function,
                statement=" ".join(statement.split()),
                needs=() if kind in ("observation", "absence") else tuple(inspect.signature(function).parameters),
                line=function.__code__.co_firstlineno,
                **fields,
            )
            return function

        return declare


def _axis_of(source: str) -> str | None:
    found = re.search(r"\{([A-Za-z]+)\}", source)
    return found.group(1) if found else None


_WORDS: Final[Mapping[str, Any]] = MappingProxyType(
    {word.__name__: word for word in (choose, count, every, holds, least, most, row, some, table, total)}
)
"""What a result or an invariant may say beside arithmetic."""


def load(body: bytes, where: str, audited: frozenset[str]) -> Audit:
    """Return the audit that a script declares, once its results and invariants are seen to use nothing but what they name.

    Raises:
        AuditError: the script can't be read, declares no audit, or hides an input in a literal or a global name.
    """
    script = scripts.read(body, where)
    namespace: dict[str, Any] = {"__name__": "audit", "__doc__": script.docstring, "__file__": where}
    try:
        with boundary.within(audited):
            exec(script.code, namespace)  # noqa: S102 - an audit is a script of this repository, reviewed like its code
    except boundary.BoundaryCrossed as crossed:
        raise _crossed(where, crossed) from None
    except EvidenceError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a script raises is its author's to mend
        line = _raised_at(error, where)
        raise AuditError.at(
            f"{where}:{line}", f"the script does not load: {type(error).__name__}: {error}", "Mend the script."
        ) from None
    audit = namespace.get("audit")
    if not isinstance(audit, Audit):
        raise AuditError.at(where, "expected a module-level `audit = Audit(__doc__)`, found none", "Declare the audit.")
    computing = {
        entry.name: entry.function for entry in audit.entries.values() if entry.kind in ("result", "invariant")
    }
    made = scripts.computing(script, computing | audit.rules, audit.rules, _WORDS)
    for name in computing:
        audit.entries[name] = replace(audit.entries[name], function=made[name])
    if problems := tuple(_misnamed(audit, where)):
        raise AuditError(*problems)
    return audit


def _crossed(where: str, crossed: boundary.BoundaryCrossed) -> AuditError:
    return AuditError(
        Problem(
            where=f"{where}:{_raised_at(crossed, where)}",
            problem=f"expected an audit that only reads its snapshots, found that it {crossed.what}",
            remedy="Cite the bytes as a source and let `fetch` obtain them.",
        )
    )


def _raised_at(error: BaseException, where: str) -> int:
    line, step = 1, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == where:
            line = step.tb_lineno
        step = step.tb_next
    return line


_MEANS_ELSE: Final = MEASURED | {"B", "0", "1", "opaque", "counts"}
"""What stands in an expression for something other than a value of that name."""


def _misnamed(audit: Audit, where: str) -> Iterator[Problem]:
    for entry in audit.entries.values():
        if not ID.fullmatch(entry.id) or entry.id in _MEANS_ELSE:
            yield Problem(
                where=f"{where}:{entry.line}",
                problem=f"expected a name that is no unit and not `counts`, found {entry.name}",
                remedy="Rename it.",
            )


# Running


@dataclass(frozen=True, kw_only=True, slots=True)
class WordTable:
    """A table of words or a list of steps, written by an editor in `tables/<id>.yaml`."""

    id: str
    title: str
    statement: str
    columns: tuple[tuple[str, str], ...]
    """Ids and titles."""
    rows: tuple[Mapping[str, str], ...]
    checklist: bool = False
    ordered: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionText:
    """How an editor words the decision; its state comes from a result."""

    state_from: str
    """The address of the computed word or truth that is the state."""
    states: Mapping[str, str]
    statement: str
    subjects_from: tuple[str, str] | None
    """The table and the column that give a state for each subject."""
    conditions: tuple[str, ...]
    reopen: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """Everything that an audit's body is a function of."""

    name: str
    where: str
    """The script's path, for messages."""
    sources: Sequence[Source]
    lock: Lock
    snapshots: Mapping[str, Snapshot]
    """By source id, those whose bytes are at hand."""
    reported: Sequence[Reported]
    tables: Sequence[WordTable]
    decision: DecisionText
    recorded: Mapping[str, Observation | Absence]
    """By id, what an earlier run observed: it stands where the bytes are not at hand."""


def run(audit: Audit, inputs: Inputs) -> Body:
    """Return the receipt body: what the audit observes, computes and holds, as a pure function of its inputs.

    Raises:
        AuditError: an observation, a result or an invariant does not come to a value, or an invariant does not hold or
            can't fail.
    """
    _warm_readers()
    try:
        with boundary.within(packages(inputs.sources)):
            return _Run(audit, inputs).body()
    except boundary.BoundaryCrossed as crossed:
        raise _crossed(inputs.where, crossed) from None
    except SystemExit as end:
        raise AuditError.at(
            f"{inputs.where}:{_raised_at(end, inputs.where)}",
            "expected an audit that comes to its end, found one that ends the process",
            "Mend the script: what can't be read is said by raising UnknownError.",
        ) from None


def packages(sources: Iterable[Source]) -> frozenset[str]:
    """Return the names under which what is audited would be imported."""
    released = [
        locator.release for source in sources for locator in source.locators if isinstance(locator, ReleaseLocator)
    ]
    named = {member.project.lower().replace("-", "_") for member in released}
    return frozenset(named | {member.member.partition("/")[0] for member in released if member.file.endswith(".whl")})


def _warm_readers() -> None:
    """Load the parsers before the boundary closes: they are native libraries, and the audit may load none."""
    from site_builder.readers import machine, python, structured, text  # noqa: F401


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One leaf of the lineage: its address, its value, and the axis key it belongs to."""

    address: str
    name: str
    key: str
    value: Value


class _Run:
    """One run of an audit. `_Computation` does the computing, so that moved leaves can be computed beside the real ones."""

    def __init__(self, audit: Audit, inputs: Inputs) -> None:
        self.audit = audit
        self.inputs = inputs
        self.problems: list[Problem] = []
        self.entries = audit.entries
        self.locked = inputs.lock.by_id()
        self.by_family: dict[str, list[Source]] = {}
        for source in inputs.sources:
            self.by_family.setdefault(source.family, []).append(source)
        self.axes: dict[str, tuple[str, ...]] = {}

    def body(self) -> Body:
        self._named_once()
        assumptions = self._assumptions()
        observations, absences = self._observed()
        reported = tuple(self.inputs.reported)
        self._refuse()
        leaves = self._leaves(assumptions, reported, observations, absences)
        computation = _Computation(self.entries, self.axes, leaves, self.inputs)
        results = tuple(self._results(computation))
        results += tuple(_word_result(item) for item in self.inputs.tables)
        self._refuse()
        invariants = tuple(self._invariants(computation))
        self._refuse()
        if not invariants or not results:
            raise AuditError.at(self.inputs.where, "expected results and invariants, found none", "Empty is wrong.")
        body = Body(
            question=self.audit.question,
            artifacts=self.inputs.lock.artifacts,
            sources=tuple(_source_row(source, self.locked[source.id]) for source in self.inputs.sources),
            reported=reported,
            assumptions=tuple(assumptions),
            observations=tuple(observations),
            absences=tuple(absences),
            fixtures=(),
            results=results,
            invariants=invariants,
            boundary={"refused": tuple(boundary.REFUSED), "observed": "none"},
            decision=self._decision(computation),
            limits=self.audit.limits,
        )
        self._refuse()
        return body

    def _named_once(self) -> None:
        """What is reported and the tables of words stand beside the script's values, each under a name of its own."""
        folder = self.inputs.where.removesuffix("audit.py")
        taken = {entry.id for entry in self.entries.values()}
        reported = dict.fromkeys(item.id.partition("@")[0] for item in self.inputs.reported)
        written = [(name, "reported.yaml") for name in reported]
        written += [(item.id, f"tables/{item.id}.yaml") for item in self.inputs.tables]
        for name, file in written:
            if name in taken or name in _MEANS_ELSE:
                problem = f"expected a name that is no unit and stands for nothing else, found {name}"
                self.problems.append(Problem(where=f"{folder}{file}", problem=problem, remedy="Rename it."))
            taken.add(name)

    def _refuse(self) -> None:
        if self.problems:
            raise AuditError(*self.problems)

    def _problem(self, entry: _Entry | None, problem: str, remedy: str) -> None:
        line = f":{entry.line}" if entry else ""
        self.problems.append(Problem(where=f"{self.inputs.where}{line}", problem=problem, remedy=remedy))

    # Leaves

    def _assumptions(self) -> list[Assumption]:
        made = []
        for entry in self._of("assumption"):
            try:
                value = _as_value(entry.function(), entry)
            except (ValueRefused, ValueError, TypeError) as error:
                self._problem(entry, f"{entry.id}: {error}", "Return a number, a word or a list of them.")
                continue
            if entry.axis:
                self.axes[entry.axis] = tuple(value.raw) if isinstance(value.raw, tuple) else ()
            made.append(
                Assumption(
                    id=entry.id,
                    statement=entry.statement,
                    reason=entry.reason,
                    axis=entry.axis,
                    **_typed(value, entry),
                )
            )
        return made

    def _of(self, kind: str) -> Iterator[_Entry]:
        return (entry for entry in self.entries.values() if entry.kind == kind)

    def _observed(self) -> tuple[list[Observation], list[Absence]]:
        observations: list[Observation] = []
        absences: list[Absence] = []
        for entry in self.entries.values():
            if entry.kind not in ("observation", "absence"):
                continue
            family = self.by_family.get(entry.source, [])
            if not family:
                self._problem(
                    entry, f"{entry.id}: expected a source {entry.source!r}, found none", "Add it to sources.yaml."
                )
            if entry.axis:
                keys = tuple(source.key or "" for source in family)
                if self.axes.setdefault(entry.axis, keys) != keys:
                    self._problem(
                        entry, f"{entry.id}: expected the keys of {entry.axis}, found others", "Use one list."
                    )
            for source in family:
                address = f"{entry.id}@{source.key}" if entry.axis else entry.id
                record = self._one(entry, source, address)
                if isinstance(record, Observation):
                    observations.append(record)
                elif record is not None:
                    absences.append(record)
        return observations, absences

    def _one(self, entry: _Entry, source: Source, address: str) -> Observation | Absence | None:
        locked = self.locked.get(source.id)
        if locked is None:
            self._problem(entry, f"{address}: expected {source.id} in the lock, found no entry", "Run `fetch` first.")
            return None
        if locked.standing == "absent":
            reason = locked.reason or "the release does not have it"
            return self._unknown(entry, source, address, reason)
        if not locked.bears_verdicts:
            self._problem(
                entry,
                f"{address}: expected bytes that were obtained and can't move, found {source.id} {locked.standing}"
                f" ({locked.mutability}, {locked.integrity})",
                "Observe what was read; cite what others stated as reported.",
            )
            return None
        snapshot = self.inputs.snapshots.get(source.id)
        if snapshot is None:
            recorded = self.inputs.recorded.get(address)
            if recorded is None or recorded.source != source.id:
                self._problem(
                    entry,
                    f"{address}: expected the bytes of {source.id}, found neither them nor a recorded observation",
                    "Run `fetch`, then `issue`.",
                )
                return None
            return _as_recorded(entry, recorded)
        try:
            if entry.kind == "absence":
                return self._absence(entry, source, snapshot, address)
            seen = entry.function(snapshot)
            if not isinstance(seen, Seen):
                raise ReadingError(f"expected what a reader saw, found {type(seen).__name__}")
            _refuse_unseen(seen, snapshot.body)
            value = _as_value(seen.value, entry)
        except ReadingError as error:
            if entry.otherwise == UNKNOWN:
                return self._unknown(entry, source, address, error.problem)
            self._problem(
                entry, f"{address}: {source.id}: {error.problem}", "Look at what changed upstream, and mend the reader."
            )
            return None
        except ValueRefused as error:
            self._problem(
                entry, f"{address}: {source.id}: {error}", "Give it the unit or the kind of what stands there."
            )
            return None
        except Exception as error:  # noqa: BLE001 - whatever an observation raises is its author's to mend
            line = max(_raised_at(error, self.inputs.where), entry.line)
            self.problems.append(
                Problem(
                    where=f"{self.inputs.where}:{line}",
                    problem=f"{address}: {source.id}: {type(error).__name__}: {error}",
                    remedy="Mend the observation.",
                )
            )
            return None
        return Observation(
            id=address,
            source=source.id,
            at=dict(seen.at),
            region=seen.region,
            statement=entry.statement,
            **_typed(value, entry),
        )

    def _unknown(self, entry: _Entry, source: Source, address: str, reason: str) -> Observation | Absence:
        if entry.kind == "absence":
            return Absence(
                id=address,
                source=source.id,
                statement=entry.statement,
                value=UNKNOWN,
                **_shape(entry),
                matcher="not searched",
                bytes=0,
                definitions=0,
                control={"source": "none", "found": 0},
                reason=reason,
            )
        shape = _shape(entry)
        return Observation(
            id=address, source=source.id, statement=entry.statement, value=UNKNOWN, reason=reason, **shape
        )

    def _absence(self, entry: _Entry, source: Source, snapshot: Snapshot, address: str) -> Absence | None:
        control_id = entry.control.replace("{" + str(entry.axis) + "}", source.key or "")
        control = self.inputs.snapshots.get(control_id)
        if control is None:
            recorded = self.inputs.recorded.get(address)
            if isinstance(recorded, Absence):
                return _as_recorded(entry, recorded)
            raise ReadingError(f"expected the bytes of its control {control_id}, found neither them nor a record")
        searched, found = entry.function(snapshot), entry.function(control)
        if not found.found:
            raise ReadingError(f"the control {control_id} has none either: the search proves nothing")
        return Absence(
            id=address,
            source=source.id,
            statement=entry.statement,
            value="no" if searched.found else "yes",
            **_shape(entry),
            matcher=searched.matcher,
            bytes=searched.bytes,
            definitions=searched.definitions,
            control={"source": control_id, "found": found.found},
        )

    def _leaves(
        self,
        assumptions: Sequence[Assumption],
        reported: Sequence[Reported],
        observations: Sequence[Observation],
        absences: Sequence[Absence],
    ) -> dict[tuple[str, str], _Leaf]:
        """Every leaf by name and key, decoded from its record: a run from bytes and one from the record are one run."""
        found: dict[tuple[str, str], _Leaf] = {}
        records: list[Any] = [*assumptions, *reported, *observations, *absences]
        for record in records:
            name, _, key = record.id.partition("@")
            text = record.value if isinstance(record.value, str) else list(record.value)
            if isinstance(record, Assumption) and record.axis:
                for item in text:
                    address = f"{record.id}/{item}"
                    kind: Kind = "number" if record.unit else "word"
                    leaf = decoded(item, kind, record.unit or "", address)
                    found[record.id, item] = _Leaf(address, record.id, item, leaf)
                continue
            value = decoded(text, record.kind or "number", record.unit or "", record.id)
            if (name, key) in found:
                self._problem(None, f"{record.id}: expected one thing of that name, found two", "Rename one.")
            found[name, key] = _Leaf(record.id, name, key, value)
        return found

    # Results and invariants

    def _results(self, computation: _Computation) -> Iterator[Result]:
        for entry in self._of("result"):
            try:
                if entry.axis and entry.axis not in self.axes:
                    raise ValueRefused(f"expected a list called {entry.axis!r}, found {', '.join(self.axes) or 'none'}")
                yield from computation.published(entry)
            except Exception as error:  # noqa: BLE001 - whatever a result raises is its author's to mend
                self._failed(entry, error)

    def _failed(self, entry: _Entry, error: Exception) -> None:
        line = _raised_at(error, self.inputs.where)
        shown = f"nothing stands at {error}" if isinstance(error, KeyError) else str(error)
        self.problems.append(
            Problem(
                where=f"{self.inputs.where}:{line if line > 1 else entry.line}",
                problem=f"{entry.id}: {shown}",
                remedy="Name what it needs as a parameter, and calculate with values of one unit.",
            )
        )

    def _invariants(self, computation: _Computation) -> Iterator[Invariant]:
        for entry in self._of("invariant"):
            try:
                value = computation.value(entry.id, "")
                if not isinstance(value, Value) or value.kind != "truth":
                    raise ValueRefused("expected a relation that holds or does not, found something else")
                _refuse_disguised(value.expression)
            except Exception as error:  # noqa: BLE001 - whatever an invariant raises is its author's to mend
                self._failed(entry, error)
                continue
            actual, expected = _both_sides(value, computation)
            if value.raw is not True:
                self._problem(
                    entry,
                    f"{entry.id}: expected {expected}, found {actual} ({_worded(entry.name)})",
                    "Either the evidence moved, and the invariant and every sentence on it must be reread, or it was wrong.",
                )
                continue
            broken_by = tuple(computation.broken_by(entry.id))
            if not broken_by:
                self._problem(
                    entry,
                    f"{entry.id}: expected an input that breaks it, found none: it restates its own computation",
                    "Compare two things that were come by separately, or delete it.",
                )
                continue
            yield Invariant(
                id=entry.id,
                statement=entry.statement,
                expression=_json(value.expression),
                expected=expected,
                actual=actual,
                broken_by=broken_by,
            )

    def _decision(self, computation: _Computation) -> Decision:
        text = self.inputs.decision
        try:
            state = str(computation.at(text.state_from).text)
            subjects: list[Mapping[str, str]] = []
            if text.subjects_from is not None:
                result, column = text.subjects_from
                whole = computation.whole(result)
                subjects = [{"id": key, "state": str(whole.cell(key, column).text)} for key in whole.keys]
            wording = text.states[state]
        except (KeyError, AttributeError, ValueRefused) as error:
            self._problem(
                None,
                f"decision: nothing stands at {error}",
                "Name a result, a column and every state in decision.yaml.",
            )
            return Decision(state=UNKNOWN, statement=text.statement, subjects=(), conditions=(), reopen=())
        return Decision(
            state=wording,
            statement=text.statement,
            subjects=tuple(subjects),
            conditions=text.conditions,
            reopen=text.reopen,
        )


def _source_row(source: Source, locked: LockEntry) -> SourceRow:
    return SourceRow(
        id=source.id,
        purpose=source.purpose,
        role=source.role,
        mutability=locked.mutability,
        standing=locked.standing,
        integrity=locked.integrity,
        digest=locked.digest,
        bytes=locked.bytes,
        origin=locked.origin,
        artifact=locked.artifact,
        retrieved_at=locked.retrieved_at,
        recorded_by=locked.recorded_by,
        reason=locked.reason,
    )


def _word_result(item: WordTable) -> Result:
    return Result.model_validate(
        {
            "id": item.id,
            "kind": "checklist" if item.checklist else "table",
            "class": "editorial",
            "title": item.title,
            "statement": item.statement,
            "columns": [{"id": column, "title": title, "kind": "text"} for column, title in item.columns],
            "rows": item.rows,
            **({"ordered": item.ordered} if item.checklist else {}),
        }
    )


_Read = TypeVar("_Read", bound=Observation | Absence)


def _as_recorded(entry: _Entry, recorded: _Read) -> _Read:
    """Return what an earlier run read, under the statement, unit and kind that the script gives to it now."""
    said = {"unit": None, "kind": None, "phrases": None, **_shape(entry), "statement": entry.statement}
    made: Any = recorded.model_copy(update=said)
    return made  # type: ignore[no-any-return]


def _refuse_unseen(seen: Seen, body: bytes) -> None:
    """Refuse what was not seen where it is said to be: a reader computes the region, and the engine does so again."""
    at = seen.at
    if "line" in at:
        region = lines_region(body, int(at["line"]), int(at.get("lastLine", at["line"])))
    elif "bytes" in at:
        region = bytes.fromhex(str(at["bytes"]))
        region = region if region in body else b""
    else:
        region = body
    if not region or digest_of(region) != seen.region:
        place = ", ".join(f"{name} {value}" for name, value in at.items())
        raise ReadingError(f"expected a place whose bytes have the digest that was read, found others at {place}")


def _shape(entry: _Entry) -> dict[str, Any]:
    shape: dict[str, Any] = {"unit": entry.unit} if entry.unit else {"kind": entry.value_kind or "word"}
    if entry.phrases.get(""):
        shape["phrases"] = {key: tuple(wordings) for key, wordings in entry.phrases[""].items()}
    return shape


def _typed(value: Value, entry: _Entry) -> dict[str, Any]:
    text = value.text
    return {**_shape(entry), "value": text if isinstance(text, str) else tuple(text)}


def _as_value(plain: Plain, entry: _Entry) -> Value:
    """Return the value under the entry's unit or kind; what was read must be of that kind."""
    if isinstance(plain, (list, tuple)):
        if entry.unit:
            items = [number(_number_text(item), entry.unit).text for item in plain]
            return words(str(item) for item in items)
        return words(str(item) for item in plain)
    if entry.unit:
        return number(_number_text(plain), entry.unit)
    kind = entry.value_kind or "word"
    if kind == "truth":
        if plain == UNKNOWN:
            return truth(UNKNOWN)
        if not isinstance(plain, bool):
            raise ValueRefused(f"{plain!r} is neither yes nor no")
        return truth(plain)
    if not isinstance(plain, str):
        raise ValueRefused(f"{plain!r} is a {type(plain).__name__}: give it a unit, or read it as a word")
    return word(plain, kind)


def _number_text(plain: Any) -> str:
    if isinstance(plain, bool | float):
        raise ValueRefused(f"{plain!r} is no decimal number")
    return str(plain)


def _json(expression: Expression) -> JsonValue:
    return expression if isinstance(expression, str) else [_json(item) for item in expression]


_RELATIONS: Final = MappingProxyType(
    {"eq": "", "ne": "other than ", "lt": "less than ", "le": "at most ", "gt": "more than ", "ge": "at least "}
)


def _both_sides(value: Value, computation: _Computation) -> tuple[str, str]:
    """Return what the relation came to and what it had to be, in words: `7.5 GiB`, `at most 8 GiB`."""
    expression = value.expression
    if isinstance(expression, list) and expression[0] in _RELATIONS:
        left, right = (evaluate(side, computation.at) for side in expression[1:])
        return _with_unit(left), _RELATIONS[str(expression[0])] + _with_unit(right)
    return str(value.text), "yes"


def _with_unit(value: Value) -> str:
    text = value.text if isinstance(value.text, str) else ", ".join(value.text)
    return f"{text} {value.unit}" if value.unit not in ("", "1") else text


def _checked(entry: _Entry, made: Any) -> Any:
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


def _refuse_disguised(expression: Expression) -> None:
    """Refuse a number that is put together from literals, and a value that is held against itself."""
    if isinstance(expression, str):
        return
    operation, *operands = expression
    if not any(True for _ in leaves_of(expression)):
        raise ValueRefused(f"{operation} of literals alone is a number without a lineage: make it an assumption")
    if operation in _AGAINST_ITSELF and all(other == operands[0] for other in operands[1:]) and len(operands) > 1:
        raise ValueRefused(f"{operation} of a value and itself says nothing: compare or combine two things")
    for inner in operands:
        _refuse_disguised(inner)


def _keys_by_name(leaves: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    """The keys under which each name has leaves: one for each item of its list, or the empty one."""
    keys: dict[str, list[str]] = {}
    for name, key in leaves:
        keys.setdefault(name, []).append(key)
    return keys


class _Computation:
    """Results and invariants from one set of leaves, each computed when it is first asked for."""

    def __init__(
        self,
        entries: Mapping[str, _Entry],
        axes: Mapping[str, Sequence[str]],
        leaves: Mapping[tuple[str, str], _Leaf],
        inputs: Inputs,
        known: Mapping[tuple[str, str], Any] | None = None,
    ) -> None:
        self.entries = {entry.id: entry for entry in entries.values()}
        self.axes = axes
        self.leaves = leaves
        self.keys = _keys_by_name(leaves)
        self.inputs = inputs
        self.memo: dict[tuple[str, str], Any] = dict(known or {})
        self._rests: dict[tuple[str, str], frozenset[tuple[str, str]]] = {}
        self._open: set[tuple[str, str]] = set()

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

    def _given(self, entry: _Entry, need: str, key: str) -> Any:
        name = _camel(need)
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
        for entry in self.entries.values():
            if entry.kind == "assumption" and entry.axis == axis:
                return self.leaves[entry.id, key].value
        return word(key, "word", f"{axis}/{key}")

    def _result(self, wanted: _Entry, asking: _Entry, key: str) -> Any:
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
        rows = {item.id: _named(name, item.id, item.cells) for item in self.value(name, "")}
        return Table(name, tuple(rows), rows.__getitem__)

    def _row(self, entry: _Entry, key: str) -> Mapping[str, Value]:
        return _named(entry.id, key, self._with_key(entry, key, self.value(entry.id, key)))

    def _with_key(self, entry: _Entry, key: str, made: Row) -> Mapping[str, Value]:
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

    def published(self, entry: _Entry) -> Iterator[Result]:
        """Yield the result as it stands in the receipt: per key where it is a value per key, else once."""
        needs = tuple(_camel(need) for need in entry.needs)
        keys = self.axes[entry.axis] if entry.axis else ("",)
        first = self.value(entry.id, keys[0])
        if isinstance(first, Value):
            for key in keys:
                value = self.value(entry.id, key)
                _refuse_disguised(value.expression)
                yield Result.model_validate(
                    {
                        "id": f"{entry.id}@{key}" if key else entry.id,
                        "kind": "value",
                        "class": "computed",
                        "title": entry.title or _worded(entry.id),
                        "statement": entry.statement,
                        "needs": needs,
                        "value": value.text,
                        **({"unit": value.unit} if value.kind == "number" else {"valueKind": value.kind}),
                        "expression": _json(value.expression),
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

    def _table(self, entry: _Entry, needs: Sequence[str], axis: str, rows: Mapping[str, Mapping[str, Value]]) -> Result:
        names = list(next(iter(rows.values())))
        columns: list[dict[str, Any]] = []
        single: dict[str, JsonValue] = {}
        if not axis:
            columns.append({"id": "id", "title": entry.titles.get("id", "Item"), "kind": "text"})
        for name in names:
            cells = {key: cells[name] for key, cells in rows.items() if name in cells}
            if len(cells) != len(rows):
                raise ValueRefused(f"column {name}: expected a cell in every row")
            if name in _MEANS_ELSE:
                raise ValueRefused(f"expected a column that is no unit, found {name}")
            for cell in cells.values():
                _refuse_disguised(cell.expression)
            shapes = {(cell.kind, cell.unit) for cell in cells.values()}
            if len(shapes) != 1 and axis:
                raise ValueRefused(f"column {name}: expected one kind and unit, found {sorted(shapes)}")
            kind, unit = next(iter(shapes))
            column: dict[str, Any] = {"id": name, "title": entry.titles.get(name, _worded(name).capitalize())}
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
                    single |= {f"{key}/{name}": _json(cell.expression) for key, cell in cells.items()}
            columns.append(column | _phrased(entry, name))
        return Result.model_validate(
            {
                "id": entry.id,
                "kind": "table",
                "class": "computed",
                "title": entry.title or _worded(entry.id).capitalize(),
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
            for moved in self._moves(leaf):
                leaves = {**self.leaves, node: _Leaf(leaf.address, leaf.name, leaf.key, moved)}
                trial = _Computation({}, self.axes, {}, self.inputs, unaffected)
                trial.entries, trial.leaves, trial.keys = self.entries, leaves, self.keys
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

    def _moves(self, leaf: _Leaf) -> Iterator[Value]:
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
                wanted = _camel(need)
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


def _phrased(entry: _Entry, column: str) -> dict[str, Any]:
    phrases = entry.phrases.get(column) or (entry.phrases if not column and not _per_column(entry) else {})
    return {"phrases": {str(key): tuple(wordings) for key, wordings in phrases.items()}} if phrases else {}


def _per_column(entry: _Entry) -> bool:
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
