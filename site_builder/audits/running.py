"""Running: an audit and everything that it reads become the body of a receipt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from site_builder import boundary, scripts
from site_builder.audits.computation import Computation, Leaf, as_json_value, refuse_disguised
from site_builder.audits.declared import MEANS_ELSE, Audit, Entry, worded
from site_builder.audits.loading import crossing, raised_at
from site_builder.audits.operators import FixtureFile, ToolFile, folders
from site_builder.errors import AuditError, EvidenceError, Problem
from site_builder.readers import Hop, MissingError, Plain, ReadingError, Searched, Seen, digest_of, lines_region
from site_builder.receipts import (
    Absence,
    Assumption,
    Body,
    Decision,
    Fixture,
    Invariant,
    Observation,
    Reported,
    Result,
    SourceRow,
    Step,
    Tool,
    Trial,
)
from site_builder.snapshots import Snapshot
from site_builder.sources import Lock, LockEntry, ReleaseLocator, Source
from site_builder.values import (
    UNKNOWN,
    Digest,
    Kind,
    Value,
    ValueRefused,
    decoded,
    evaluate,
    number,
    truth,
    word,
    words,
)


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
    subjects_from: tuple[str, str | tuple[str, ...]] | None
    """The table and the column that give a state for each subject, or the columns that give it one each."""
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
    tools: Sequence[ToolFile]
    fixtures: Sequence[FixtureFile]
    recorded: Mapping[str, Observation | Absence]
    """By id, what an earlier run observed: it stands where the bytes are not at hand."""


def run(audit: Audit, inputs: Inputs) -> Body:
    """Return the receipt body: what the audit observes, computes and holds, as a pure function of its inputs.

    Raises:
        AuditError: an observation, a result or an invariant does not come to a value, or an invariant does not hold or
            can't fail.
    """
    try:
        with boundary.within(packages(inputs.sources)):
            return _Run(audit, inputs).body()
    except boundary.BoundaryCrossed as crossed:
        tools = (tool.where for tool in inputs.tools if raised_at(crossed, tool.where) > 1)
        raise crossing(next(tools, inputs.where), crossed) from None
    except SystemExit as end:
        raise AuditError.at(
            f"{inputs.where}:{raised_at(end, inputs.where)}",
            "expected an audit that comes to its end, found one that ends the process",
            "Mend the script: what can't be read is said by raising UnknownError.",
        ) from None
    except (EvidenceError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a declaration holds, it is its author's to mend
        raise AuditError.at(
            f"{inputs.where}:{raised_at(error, inputs.where)}",
            f"expected declarations that make a receipt, found {type(error).__name__}: {error}".split("\n", 1)[0],
            "Mend the script: texts are texts, numbers are decimals with a unit.",
        ) from None


def packages(sources: Iterable[Source]) -> frozenset[str]:
    """Return the names under which what is audited would be imported."""
    released = [
        locator.release for source in sources for locator in source.locators if isinstance(locator, ReleaseLocator)
    ]
    named = {member.project.lower().replace("-", "_") for member in released}
    return frozenset(named | {member.member.partition("/")[0] for member in released if member.file.endswith(".whl")})


class _Run:
    """One run of an audit. `Computation` does the computing, so that moved leaves can be computed beside the real ones."""

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
        self.taken_as_recorded = False

    def body(self) -> Body:
        self._named_once()
        assumptions = self._assumptions()
        observations, absences = self._observed()
        reported = tuple(self.inputs.reported)
        tools = tuple(self._tools())
        trials = tuple(self._trials())
        self._refuse()
        leaves = self._leaves(assumptions, reported, observations, absences, trials)
        computation = Computation(self.entries, self.axes, leaves)
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
            tools=tools,
            fixtures=tuple(_fixture_row(fixture) for fixture in self.inputs.fixtures),
            trials=trials,
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
            if name in taken or name in MEANS_ELSE:
                problem = f"expected a name that is no unit and stands for nothing else, found {name}"
                self.problems.append(Problem(where=f"{folder}{file}", problem=problem, remedy="Rename it."))
            taken.add(name)

    def _refuse(self) -> None:
        if self.problems:
            raise AuditError(*self.problems)

    def _problem(self, entry: Entry | None, problem: str, remedy: str) -> None:
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

    def _of(self, kind: str) -> Iterator[Entry]:
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
        if not self.problems and not self.taken_as_recorded:
            self._all_of_each_lock_is_read()
        return observations, absences

    def _all_of_each_lock_is_read(self) -> None:
        """What a lock names of a tree is what the observations read of it, so that a receipt lists no other file."""
        for name, snapshot in self.inputs.snapshots.items():
            if snapshot.source.tree is not None:
                used = frozenset(snapshot.tree.used)
                unread = [member.path for member in self.locked[name].members or () if member.path not in used]
                if unread:
                    self._problem(
                        None,
                        f"{name}: expected a lock that names what is read of the tree, found {unread[0]}, which no"
                        " observation reads",
                        f"Run `python build.py fetch {self.inputs.name}`: it follows what an observation reads.",
                    )

    def _one(self, entry: Entry, source: Source, address: str) -> Observation | Absence | None:
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
            self.taken_as_recorded = True
            return _as_recorded(entry, recorded)
        try:
            if entry.kind == "absence":
                return self._absence(entry, source, snapshot, address)
            seen = _asked(entry, snapshot)
            if not isinstance(seen, Seen):
                raise _NotReadError(f"expected what a reader saw, found {type(seen).__name__}")
            for place in (seen, *seen.trail):
                _refuse_unseen(place.at, place.region, snapshot)
            value = _as_value(seen.value, entry)
        except _NotFetchedError as error:
            self._problem(
                entry,
                f"{address}: expected {error.path} among the locked files of {error.source}, found it not fetched",
                f"Run `python build.py fetch {self.inputs.name}`: it follows what an observation reads.",
            )
            return None
        except ReadingError as error:
            if entry.otherwise == UNKNOWN:
                return self._unknown(entry, source, address, error.recorded)
            self._problem(
                entry, f"{address}: {source.id}: {error.problem}", "Look at what changed upstream, and mend the reader."
            )
            return None
        except _NotReadError as error:
            self._problem(
                entry, f"{address}: {source.id}: {error}", "Look at what changed upstream, and mend the reader."
            )
            return None
        except ValueRefused as error:
            self._problem(
                entry, f"{address}: {source.id}: {error}", "Give it the unit or the kind of what stands there."
            )
            return None
        except Exception as error:  # noqa: BLE001 - whatever an observation raises is its author's to mend
            line = max(raised_at(error, self.inputs.where), entry.line)
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
            trail=_steps(seen.trail),
            statement=entry.statement,
            **_typed(value, entry),
        )

    def _unknown(self, entry: Entry, source: Source, address: str, reason: str) -> Observation | Absence:
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

    def _absence(self, entry: Entry, source: Source, snapshot: Snapshot, address: str) -> Absence | None:
        control_id = entry.control_of(source.key)
        searched = _searched(entry, snapshot)
        control = self.inputs.snapshots.get(control_id)
        if control is None:
            recorded = self.inputs.recorded.get(address)
            if isinstance(recorded, Absence) and recorded.control["source"] == control_id:
                return _as_recorded(entry, recorded)
            locked = self.locked.get(control_id)
            if locked is not None and locked.standing == "absent":
                raise ReadingError(f"the control {control_id} is absent: the search proves nothing")
            raise _NotReadError(f"expected the bytes of its control {control_id}, found neither them nor a record")
        found = searched.control or _searched(entry, control)
        if found.matcher != searched.matcher:
            raise _NotReadError(
                f"expected a control of the same matcher ({searched.matcher}), found one of another ({found.matcher})"
            )
        if not found.found:
            raise ReadingError(f"the control {control_id} has none either: the search proves nothing")
        places: list[tuple[Searched | Hop, Snapshot]] = [(searched, snapshot), (found, control)]
        places += ((hop, snapshot) for hop in searched.trail)
        for place, read in places:
            if place.at is not None:
                _refuse_unseen(place.at, place.region, read)
        return Absence(
            id=address,
            source=source.id,
            statement=entry.statement,
            value="no" if searched.found else "yes",
            **_shape(entry),
            matcher=searched.matcher,
            bytes=searched.bytes,
            definitions=searched.definitions,
            at=None if searched.at is None else dict(searched.at),
            region=searched.region,
            trail=_steps(searched.trail),
            control={"source": control_id, "found": found.found, **(found.at or {})},
        )

    # What tools make of fixtures

    def _tools(self) -> Iterator[Tool]:
        for tool in self.inputs.tools:
            try:
                yield Tool(id=tool.name, statement=tool.statement, digest=Digest.of(tool.body), bytes=len(tool.body))
            except AuditError as error:
                self.problems.extend(error.problems)

    def _trials(self) -> Iterator[Trial]:
        tools = {tool.stem: tool for tool in self.inputs.tools if tool.name.endswith(".py")}
        loaded: dict[str, ModuleType] = {}
        for name in dict.fromkeys(entry.tool for entry in self._of("trial") if entry.tool in tools):
            try:
                loaded[name] = tools[name].load()
            except AuditError as error:
                self.problems.extend(one for one in error.problems if one not in self.problems)
        for entry in self._of("trial"):
            if entry.tool not in tools:
                known = ", ".join(tools) or "none"
                self._problem(entry, f"{entry.id}: expected one of the tools {known}, found {entry.tool}", "Name one.")
            elif entry.tool in loaded:
                yield from self._tried(entry, tools[entry.tool], loaded[entry.tool])

    def _tried(self, entry: Entry, tool: ToolFile, names: ModuleType) -> Iterator[Trial]:
        """Yield what the tool makes of each folder of fixtures."""
        address = entry.id
        try:
            for key, files in self._fixtures(entry).items():
                address = f"{entry.id}@{key}" if key else entry.id
                with tool.answering():
                    made = entry.function(scripts.offering(names), {name: file.body for name, file in files.items()})
                yield Trial(
                    id=address,
                    statement=entry.statement,
                    tool=tool.name,
                    fixtures=tuple(file.path for file in files.values()),
                    **_typed(_as_value(made, entry), entry),
                )
        except AuditError as error:
            self.problems.extend(replace(one, problem=f"{address}: {one.problem}") for one in error.problems)
        except Exception as error:  # noqa: BLE001 - whatever a trial raises is its author's to mend
            shown = str(error) if isinstance(error, ValueRefused) else f"{type(error).__name__}: {error}"
            self._problem(entry, f"{address}: {shown}", "Mend the trial, its fixtures or the tool.")

    def _fixtures(self, entry: Entry) -> Mapping[str, Mapping[str, FixtureFile]]:
        """The trial's fixtures by key, in the order of the list where there is one of that name."""
        found = folders(entry.source, entry.axis, self.inputs.fixtures)
        if entry.axis:
            keys = self.axes.setdefault(entry.axis, tuple(found))
            if set(keys) != set(found):
                raise ValueRefused(
                    f"expected a folder for each {entry.axis} ({', '.join(keys)}), found {', '.join(found)}"
                )
            return {key: found[key] for key in keys}
        return found

    def _leaves(
        self,
        assumptions: Sequence[Assumption],
        reported: Sequence[Reported],
        observations: Sequence[Observation],
        absences: Sequence[Absence],
        trials: Sequence[Trial],
    ) -> dict[tuple[str, str], Leaf]:
        """Every leaf by name and key, decoded from its record: a run from bytes and one from the record are one run."""
        found: dict[tuple[str, str], Leaf] = {}
        records: list[Any] = [*assumptions, *reported, *observations, *absences, *trials]
        for record in records:
            name, _, key = record.id.partition("@")
            text = record.value if isinstance(record.value, str) else list(record.value)
            if isinstance(record, Assumption) and record.axis:
                for item in text:
                    address = f"{record.id}/{item}"
                    kind: Kind = "number" if record.unit else "word"
                    leaf = decoded(item, kind, record.unit or "", address)
                    found[record.id, item] = Leaf(address, record.id, item, leaf)
                continue
            value = decoded(text, record.kind or "number", record.unit or "", record.id)
            if (name, key) in found:
                self._problem(None, f"{record.id}: expected one thing of that name, found two", "Rename one.")
            found[name, key] = Leaf(record.id, name, key, value)
        return found

    # Results and invariants

    def _results(self, computation: Computation) -> Iterator[Result]:
        for entry in self._of("result"):
            try:
                if entry.axis and entry.axis not in self.axes:
                    raise ValueRefused(f"expected a list called {entry.axis!r}, found {', '.join(self.axes) or 'none'}")
                yield from computation.published(entry)
            except Exception as error:  # noqa: BLE001 - whatever a result raises is its author's to mend
                self._failed(entry, error)

    def _failed(self, entry: Entry, error: Exception) -> None:
        line = raised_at(error, self.inputs.where)
        shown = f"nothing stands at {error}" if isinstance(error, KeyError) else str(error)
        if isinstance(error, ValidationError):
            detail = error.errors(include_url=False)[0]
            shown = f"{'.'.join(map(str, detail['loc']))}: {detail['msg'].removeprefix('Value error, ')}"
        self.problems.append(
            Problem(
                where=f"{self.inputs.where}:{line if line > 1 else entry.line}",
                problem=f"{entry.id}: {shown}",
                remedy="Name what it needs as a parameter, and calculate with values of one unit.",
            )
        )

    def _invariants(self, computation: Computation) -> Iterator[Invariant]:
        for entry in self._of("invariant"):
            try:
                value = computation.value(entry.id, "")
                if not isinstance(value, Value) or value.kind != "truth":
                    raise ValueRefused("expected a relation that holds or does not, found something else")
                refuse_disguised(value.expression)
            except Exception as error:  # noqa: BLE001 - whatever an invariant raises is its author's to mend
                self._failed(entry, error)
                continue
            actual, expected = _both_sides(value, computation)
            if value.raw is not True:
                self._problem(
                    entry,
                    f"{entry.id}: expected {expected}, found {actual} ({worded(entry.name)})",
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
                expression=as_json_value(value.expression),
                expected=expected,
                actual=actual,
                broken_by=broken_by,
            )

    def _decision(self, computation: Computation) -> Decision:
        text = self.inputs.decision
        try:
            state = str(computation.at(text.state_from).text)
            subjects: list[Mapping[str, str]] = []
            if text.subjects_from is not None:
                result, named = text.subjects_from
                columns = {"state": named} if isinstance(named, str) else {column: column for column in named}
                whole = computation.whole(result)
                subjects = [
                    {"id": key, **{name: str(whole.cell(key, column).text) for name, column in columns.items()}}
                    for key in whole.keys
                ]
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
        members=locked.members,
    )


def _fixture_row(fixture: FixtureFile) -> Fixture:
    body = fixture.body
    return Fixture(id=fixture.path, statement=fixture.statement, digest=Digest.of(body), bytes=len(body))


def _steps(trail: Sequence[Hop]) -> tuple[Step, ...] | None:
    return (
        tuple(Step(step=hop.step, value=_stepped(hop.value), at=dict(hop.at), region=hop.region) for hop in trail)
        or None
    )


def _stepped(value: Plain) -> str | tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, tuple) else str(value)


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


def _as_recorded(entry: Entry, recorded: _Read) -> _Read:
    """Return what an earlier run read, under the statement, unit and kind that the script gives to it now."""
    said = {"unit": None, "kind": None, "phrases": None, **_shape(entry), "statement": entry.statement}
    made: Any = recorded.model_copy(update=said)
    return made  # type: ignore[no-any-return]


class _NotReadError(Exception):
    """An answer that was not read off the bytes as it says: whoever wrote the audit must act, so it is never unknown."""


class _NotFetchedError(Exception):
    """A file of a tree that an answer needs and that is not at hand: never unknown, since `fetch` obtains it."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.source = source


def _asked(entry: Entry, snapshot: Snapshot) -> Any:
    """Return what the function makes of the snapshot, once every file that it asked for was at hand."""
    if snapshot.source.tree is None:
        return entry.function(snapshot)
    try:
        with snapshot.tree.at_hand():
            return entry.function(snapshot)
    except MissingError as error:
        raise _NotFetchedError(error.paths[0], snapshot.source.id) from None


def _searched(entry: Entry, snapshot: Snapshot) -> Searched:
    found = _asked(entry, snapshot)
    if not isinstance(found, Searched):
        raise _NotReadError(f"expected what a search found, found {type(found).__name__}")
    return found


def _refuse_unseen(at: Mapping[str, str | int], said: str | None, snapshot: Snapshot) -> None:
    """Refuse what was not seen where it is said to be: a reader computes the region, and the engine does so again."""
    body = snapshot.members.get(str(at["path"]), b"") if "path" in at else snapshot.body
    if "line" in at:
        first, last = int(at["line"]), int(at.get("lastLine", at["line"]))
        # Of lines that are not all there, those that are would be the region of another place.
        there = body.count(b"\n") + (not body.endswith(b"\n"))
        region = lines_region(body, first, last) if 1 <= first <= last <= there else b""
    elif "bytes" in at:
        region = bytes.fromhex(str(at["bytes"]))
        region = region if region in body else b""
    else:
        region = body
    if not region or digest_of(region) != said:
        place = ", ".join(f"{name} {value}" for name, value in at.items())
        raise _NotReadError(f"expected a place whose bytes have the digest that was read, found others at {place}")


def _shape(entry: Entry) -> dict[str, Any]:
    shape: dict[str, Any] = {"unit": entry.unit} if entry.unit else {"kind": entry.value_kind or "word"}
    if entry.phrases.get(""):
        shape["phrases"] = {key: tuple(wordings) for key, wordings in entry.phrases[""].items()}
    return shape


def _typed(value: Value, entry: Entry) -> dict[str, Any]:
    text = value.text
    return {**_shape(entry), "value": text if isinstance(text, str) else tuple(text)}


def _as_value(plain: Plain, entry: Entry) -> Value:
    """Return the value under the entry's unit or kind; what was read must be of that kind."""
    if isinstance(plain, (list, tuple)):
        if entry.unit:
            items = [number(_number_text(item), entry.unit).text for item in plain]
            return words(str(item) for item in items)
        for item in plain:
            if not isinstance(item, str | int | Decimal | tuple):
                raise ValueRefused(f"{item!r} is a {type(item).__name__}: a list is one of words or numbers")
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


_RELATIONS: Final = MappingProxyType(
    {"eq": "", "ne": "other than ", "lt": "less than ", "le": "at most ", "gt": "more than ", "ge": "at least "}
)


def _both_sides(value: Value, computation: Computation) -> tuple[str, str]:
    """Return what the relation came to and what it had to be, in words: `7.5 GiB`, `at most 8 GiB`."""
    expression = value.expression
    if isinstance(expression, list) and expression[0] in _RELATIONS:
        left, right = (evaluate(side, computation.at) for side in expression[1:])
        return _with_unit(left), _RELATIONS[str(expression[0])] + _with_unit(right)
    return str(value.text), "yes"


def _with_unit(value: Value) -> str:
    text = value.text if isinstance(value.text, str) else ", ".join(value.text)
    return f"{text} {value.unit}" if value.unit not in ("", "1") else text
