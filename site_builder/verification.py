"""The three gates, in order, in one place.

Each gathers all that is wrong within it and raises it together; the next begins only once it holds. Nothing here reads disk
or network: the bytes come with the inputs, and what was checked goes back to whoever asked.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from site_builder import audits, checking, editorial, publications, receipts, records, strict
from site_builder.bindings import Bound, BoundCells, bind, bind_cells, read_links, worded
from site_builder.errors import EvidenceError, GuideError, Problem, ReceiptError, SourceError
from site_builder.figures import Vocabulary
from site_builder.guides import Guide, read_guide, read_page
from site_builder.inputs import AuditInputs, File, Inputs, Version
from site_builder.publications import Log
from site_builder.receipts import Absence, Body, Ledger, Observation, as_json
from site_builder.site import (
    AuditPage,
    Correction,
    Evidence,
    GuidePage,
    Kept,
    Publication,
    Site,
    Tool,
    href,
    read_contributors,
    read_corrections,
    read_site,
    tool_name,
)
from site_builder.snapshots import Snapshot, untrue_members
from site_builder.sources import (
    Artifact,
    FileLocator,
    Lists,
    Lock,
    LockEntry,
    ReleaseLocator,
    Source,
    read_lists,
    read_lock,
    read_sources,
)
from site_builder.units import EVERY, NOTHING, Carried, Keys, Lazy, Served, Unit


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """One audit's sources behind the snapshot gate: what is locked, and which bytes were hashed again."""

    sources: Sequence[Source]
    lock: Lock
    snapshots: Mapping[str, Snapshot]
    """By source id, those whose bytes are at hand and are the locked ones."""
    as_recorded: tuple[str, ...]
    """Ids of entries whose bytes we had once and do not have here."""
    asked: Mapping[str, bool]
    """Of each digest that the store was asked for, whether its bytes were there."""


def gathered(steps: Iterable[Callable[[], None]]) -> None:
    """Run every step, then raise what is wrong in all of them together.

    Raises:
        EvidenceError: the leaf that the steps raised, or their common kind where they differ.
    """
    problems: list[Problem] = []
    kinds: dict[type[EvidenceError], None] = {}
    for step in steps:
        try:
            step()
        except EvidenceError as error:
            problems.extend(error.problems)
            kinds[type(error)] = None
    if problems:
        kind = next(iter(kinds)) if len(kinds) == 1 else EvidenceError
        raise kind(*dict.fromkeys(problems))


# The snapshot gate


def lists(inputs: Inputs) -> Lists:
    """Return the lists that sources may repeat over.

    Raises:
        SourceError: `releases.yaml` does not say what they are.
    """
    return _lists(inputs.releases.body, inputs.releases.where) if inputs.releases else {}


@lru_cache(maxsize=4)
def _lists(body: bytes, where: str) -> Lists:
    """Read the one file once: every audit asks for it."""
    return read_lists(body, where)


def sources_of(inputs: Inputs, audit: AuditInputs) -> tuple[Source, ...]:
    """Return every source of an audit.

    Raises:
        SourceError: `sources.yaml` or `releases.yaml` does not say what a source is.
    """
    return read_sources(audit.sources.body, audit.sources.where, lists(inputs))


def snapshot_gate(inputs: Inputs, names: Iterable[str], *, require_bytes: bool = False) -> Mapping[str, Held]:
    """Return what is held for each audit, once every snapshot at hand has the locked digest and size.

    With `require_bytes` an entry that the lock marks obtained and immutable must be at hand.

    Raises:
        SourceError: with everything that is wrong in the sources, locks and stored bytes of all these audits.
    """
    held: dict[str, Held] = {}

    def step(audit: AuditInputs) -> None:
        held[audit.name] = _held(inputs, audit, require_bytes)

    gathered((lambda audit=inputs.audits[name]: step(audit)) for name in names)  # type: ignore[misc]
    if problems := tuple(_released_otherwise(inputs, held)):
        raise SourceError(*problems)
    return held


_ONE_FILE = (
    "A released file does not change: one of the two was edited. Restore it, or fetch again, which asks the index."
)


def _released_otherwise(inputs: Inputs, held: Mapping[str, Held]) -> Iterator[Problem]:
    """Yield where a lock says of a released file what another audit's lock does not.

    No bytes at hand yield what the index states of a file that was read in part; that two readings agree is what is there.
    """
    for name, audit in inputs.audits.items():
        if audit.lock is None:
            continue
        others = [other for other in held if other != name and (other < name or name not in held)]
        shared = [
            (other, artifact)
            for other in others
            for artifact in held[other].lock.artifacts
            if artifact.file.encode() in audit.lock.body
        ]
        if not shared:
            continue
        lock = held[name].lock if name in held else read_lock(audit.lock.body, audit.lock.where)
        own = {artifact.file: artifact for artifact in lock.artifacts}
        for other, artifact in shared:
            where = f"evidence/{other}/sources.lock"
            yield from _differing(own.get(artifact.file), artifact, audit.lock.where, where)


def _differing(found: Artifact | None, expected: Artifact, where: str, stated_in: str) -> Iterator[Problem]:
    if found is not None and _stated(found) != _stated(expected):
        yield Problem(
            where=f"{where}: {found.file}",
            problem=f"expected {_stated(expected)} as {stated_in} says, found {_stated(found)}",
            remedy=_ONE_FILE,
        )


def _stated(artifact: Artifact) -> str:
    return f"{artifact.digest} of {artifact.bytes} bytes, {artifact.purl} of {artifact.uploaded_at}"


def _held(inputs: Inputs, audit: AuditInputs, require_bytes: bool) -> Held:
    sources = sources_of(inputs, audit)
    if audit.lock is None:
        raise SourceError.at(
            audit.sources.where.removesuffix("yaml") + "lock",
            "expected what was seen of the sources, found no lock",
            f"Run `python build.py fetch {audit.name}`.",
        )
    lock = read_lock(audit.lock.body, audit.lock.where)
    problems = list(_lock_problems(sources, lock, audit))
    locked = lock.by_id()
    snapshots: dict[str, Snapshot] = {}
    recorded: list[str] = []
    asked: dict[str, bool] = {}

    def stored(digest: str, where: str) -> bytes | None:
        body = inputs.stored(digest, where)
        asked[digest] = body is not None
        return body

    for source in sources:
        entry = locked.get(source.id)
        if entry is None or not entry.held:
            continue
        where = f"{audit.lock.where}: {source.id}"
        try:
            body = _bytes_of(stored, audit, source, entry, where)
            members = {member.path: stored(member.digest, f"{where}: {member.path}") for member in entry.members or ()}
            # A tree is at hand whole or not at all.
            there = {path: found for path, found in members.items() if found is not None}
            if body is not None and len(there) == len(members):
                snapshots[source.id] = Snapshot.verified(source, entry, body, there)
                problems.extend(_expectation_problems(source, body))
                continue
            if body is not None:
                problems.extend(untrue_members(source, entry, body))
        except SourceError as error:
            problems.extend(error.problems)
            continue
        recorded.append(source.id)
        if require_bytes and entry.required:
            problems.append(
                Problem(
                    where=where,
                    problem=f"expected the bytes of {entry.digest}{_and_members(members)}, found none in the store",
                    remedy=f"Run `python build.py fetch {audit.name}`.",
                )
            )
    if problems:
        raise SourceError(*problems)
    return Held(sources=sources, lock=lock, snapshots=snapshots, as_recorded=tuple(recorded), asked=asked)


def _and_members(members: Mapping[str, bytes | None]) -> str:
    lacking = [path for path, body in members.items() if body is None]
    return f" and of its {len(members)} files, {lacking[0]} among them" if lacking else ""


def _bytes_of(
    stored: Callable[[str, str], bytes | None], audit: AuditInputs, source: Source, entry: LockEntry, where: str
) -> bytes | None:
    for locator in source.locators:
        if isinstance(locator, FileLocator):
            file = audit.file(locator.file)
            return file.body if file is not None else None
    return stored(entry.digest, where)


def _expectation_problems(source: Source, body: bytes) -> Iterator[Problem]:
    expects = source.expects
    if expects.contains.encode() not in body:
        yield Problem(
            where=source.where,
            problem=f"{source.id}: expected bytes that contain {expects.contains!r}, found {len(body)} bytes without it",
            remedy="Either this is not the source that is meant, or it changed: read it, then mend `expects`.",
        )
    if expects.bytes is not None and expects.bytes != len(body):
        yield Problem(
            where=source.where,
            problem=f"{source.id}: expected {expects.bytes} bytes, found {len(body)}",
            remedy="Read what came instead, then mend `expects`.",
        )


def _lock_problems(sources: Sequence[Source], lock: Lock, audit: AuditInputs) -> Iterator[Problem]:
    where = audit.lock.where if audit.lock else audit.sources.where
    if lock.audit != audit.name:
        yield Problem(
            where=where, problem=f"expected the lock of {audit.name}, found that of {lock.audit}", remedy="Fetch again."
        )
    locked, cited = lock.by_id(), {source.id: source for source in sources}
    artifacts = {artifact.file: artifact for artifact in lock.artifacts}
    for source in sources:
        entry = locked.get(source.id)
        if entry is None:
            yield Problem(
                where=source.where,
                problem=f"expected {source.id} in the lock, found no entry",
                remedy=f"Run `python build.py fetch {audit.name}`.",
            )
            continue
        yield from _entry_problems(source, entry, artifacts, where)
    for name in locked:
        if name not in cited:
            yield Problem(
                where=f"{where}: {name}",
                problem="expected a source of that id in sources.yaml, found none",
                remedy="Cite it again, or fetch again so that the lock forgets it.",
            )
    used = {entry.artifact for entry in lock.entries}
    for file, artifact in artifacts.items():
        if artifact.verified and file.endswith(".whl"):
            yield Problem(
                where=f"{where}: {file}",
                problem="verified: expected false, since a wheel is read in part, found true",
                remedy="The lock is written by `fetch` alone: restore it, or fetch again.",
            )
        if file not in used:
            yield Problem(
                where=f"{where}: {file}",
                problem="expected a source that is read from this artifact, found none",
                remedy="Fetch again.",
            )


def _entry_problems(source: Source, entry: LockEntry, artifacts: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """What a lock entry says beside its digest must agree with what the source says of itself."""
    at = f"{where}: {source.id}"

    def differs(what: str, expected: object, found: object) -> Problem:
        return Problem(
            where=at,
            problem=f"{what}: expected {expected}, found {found}",
            remedy="The lock is written by `fetch` alone: restore it, or fetch again.",
        )

    if entry.mutability != source.mutability:
        yield differs("mutability", source.mutability, entry.mutability)
    origins = {locator.origin for locator in source.locators} | ({source.recorded.origin} if source.recorded else set())
    if entry.standing != "absent" and entry.origin not in origins:
        yield differs("origin", " or ".join(sorted(origins)), entry.origin)
    if source.recorded is not None:
        if (entry.digest, entry.bytes) != (source.recorded.digest, source.recorded.bytes):
            expected, found = (f"{one.digest} of {one.bytes} bytes" for one in (source.recorded, entry))
            yield differs("digest", expected, found)
        if entry.standing not in ("recorded", "bytes-obtained", "origin-confirmed"):
            yield differs("standing", "recorded, bytes-obtained or origin-confirmed", entry.standing)
        if entry.recorded_by != source.recorded.by:
            yield differs("recordedBy", source.recorded.by, entry.recorded_by)
        if entry.standing == "origin-confirmed" and source.recorded.witness is None:
            yield differs("standing", "bytes-obtained (no witness is named)", entry.standing)
    elif entry.standing not in ("obtained", "absent"):
        yield differs("standing", "obtained", entry.standing)
    elif (entry.standing == "obtained" and source.tree is not None) != (entry.members is not None):
        yield differs("members", "the files of the tree" if source.tree else "none", len(entry.members or ()))
    elif (entry.standing == "absent") != (source.lacking is not None) and entry.reason is None:
        yield differs("standing", "a reason", "none")
    if entry.standing == "absent":
        return
    members = [locator for locator in source.locators if isinstance(locator, ReleaseLocator)]
    of_release = next((locator for locator in members if locator.origin == entry.origin), None)
    if of_release is None:
        if entry.artifact is not None:
            yield differs("artifact", "none", entry.artifact)
        if entry.standing != "recorded" and entry.integrity != "direct":
            yield differs("integrity", "direct", entry.integrity)
        return
    if entry.artifact != of_release.release.file or entry.artifact not in artifacts:
        yield differs("artifact", of_release.release.file, entry.artifact or "none")
        return
    if entry.integrity == "whole" and not artifacts[entry.artifact].verified:
        yield differs("integrity", "an artifact whose digest was recomputed", entry.integrity)
        return
    of_such = ("record", "stated") if entry.artifact.endswith(".whl") else ("whole", "prefix", "stated")
    if entry.standing != "recorded" and entry.integrity not in of_such:
        yield differs("integrity", " or ".join(of_such), entry.integrity)


# The receipt gate


def computed(audit: AuditInputs, held: Held, recorded: Mapping[str, Observation | Absence]) -> Body:
    """Return the body that the audit comes to.

    Raises:
        EvidenceError: the audit, its tables, what was reported or its decision do not hold.
    """
    return audits.run(
        audits.load(audit.script.body, audit.script.where, audits.packages(held.sources)),
        audits.Inputs(
            name=audit.name,
            where=audit.script.where,
            sources=held.sources,
            lock=held.lock,
            snapshots=held.snapshots,
            reported=editorial.reported(audit),
            tables=editorial.tables(audit),
            decision=editorial.decision(audit),
            tools=editorial.tools(audit),
            fixtures=editorial.fixtures(audit),
            recorded=recorded,
        ),
    )


def recorded_in(receipt: receipts.Receipt) -> Mapping[str, Observation | Absence]:
    """Return what a receipt records as observed, by id."""
    observations: dict[str, Observation | Absence] = {item.id: item for item in receipt.body.observations}
    return observations | {item.id: item for item in receipt.body.absences}


def newest(audit: AuditInputs) -> tuple[Version, File] | None:
    """Return the receipt that the audit must reproduce: the draft where there is one, else the highest number."""
    if not audit.receipts:
        return None
    version: Version = "draft"
    if version not in audit.receipts:
        version = max(item for item in audit.receipts if item != "draft")
    return version, audit.receipts[version]


def published(audit: AuditInputs) -> tuple[Version, File] | None:
    """Return the receipt that readers are shown: the highest number, or the draft where there is none yet."""
    numbers = [item for item in audit.receipts if item != "draft"]
    return (max(numbers), audit.receipts[max(numbers)]) if numbers else newest(audit)


def receipt_gate(inputs: Inputs, held: Mapping[str, Held]) -> Mapping[str, Ledger]:
    """Return the receipts of these audits by pin, once each audit, run again, reproduces its newest one to the byte.

    Raises:
        EvidenceError: with everything that is wrong in the audits, receipts and the publication log.
    """
    ledgers: dict[str, Ledger] = {}

    def step(audit: AuditInputs) -> None:
        opened = {version: checking.sound(file.body, file.where) for version, file in audit.receipts.items()}
        ledgers.update({ledger.pin: ledger for ledger in opened.values()})
        current = newest(audit)
        gathered(
            (
                partial(_released_as_published, audit, held[audit.name], opened),
                *(partial(_by_itself, audit, version, ledger) for version, ledger in opened.items()),
                *([partial(_reproduced, audit, held[audit.name], current[1], opened[current[0]])] if current else []),
            )
        )

    gathered((lambda audit=inputs.audits[name]: step(audit)) for name in held)  # type: ignore[misc]
    return ledgers


def _released_as_published(audit: AuditInputs, held: Held, opened: Mapping[Version, Ledger]) -> None:
    """A lock says of a released file what the published receipts of its audit say."""
    where = audit.lock.where if audit.lock else audit.sources.where
    own = {artifact.file: artifact for artifact in held.lock.artifacts}
    problems = [
        problem
        for version, ledger in opened.items()
        if version != "draft"
        for artifact in ledger.receipt.body.artifacts
        for problem in _differing(own.get(artifact.file), artifact, where, audit.receipts[version].where)
    ]
    if problems:
        raise SourceError(*problems)


_ISSUE_AGAIN = "Restore it, or issue the draft again."
_NEVER_EDITED = "Restore it from version control: a published receipt is never edited, it gets a successor."


def _by_itself(audit: AuditInputs, version: Version, ledger: Ledger) -> None:
    """A receipt is the one that its place says, is written as receipts are, and yields what it states."""
    receipt, where = ledger.receipt, audit.receipts[version].where
    problems = []
    if receipt.audit != audit.name or receipt.issued.version != version:
        problems.append(
            Problem(
                where=where,
                problem=f"expected the receipt {audit.name}@{version}, found {ledger.pin}",
                remedy="Restore the file that belongs here.",
            )
        )
    remedy = _ISSUE_AGAIN if version == "draft" else _NEVER_EDITED
    wrong = checking.inconsistent(ledger, audit.receipts[version].body, where)
    problems.extend(replace(problem, remedy=remedy) for problem in wrong)
    if problems:
        raise ReceiptError(*problems)


def _reproduced(audit: AuditInputs, held: Held, file: File, ledger: Ledger) -> None:
    reproduces(computed(audit, held, recorded_in(ledger.receipt)), file, ledger)


def reproduces(body: Body, file: File, ledger: Ledger) -> None:
    """Return once a receipt's body is, byte for byte, what its audit came to.

    Raises:
        ReceiptError: with each place where it is not.
    """
    expected, found = as_json(body), as_json(ledger.receipt.body)
    # In one line, which is written many times faster: the text is not looked at, only whether it is one.
    if json.dumps(expected) == json.dumps(found):
        return
    _, lines = records.loaded(file.body, file.where, "json", ReceiptError)
    problems = []
    for path, wanted, there in _differences(expected, found):
        at: tuple[Any, ...] = ("body", *path)
        while at and at not in lines:
            at = at[:-1]
        problems.append(
            Problem(
                where=f"{file.where}:{lines.get(at, 1)}",
                problem=f"{_spoken(path, expected)}: expected {_short(wanted)} (recomputed), found {_short(there)}",
                remedy=f"If the evidence is right, issue {ledger.audit} again and reread what is bound to it.",
            )
        )
        if len(problems) == _SHOWN:
            break
    raise ReceiptError(*problems)


_SHOWN = 20
"""How many differences of one receipt are told apart: past that it is another receipt."""


def _differences(expected: Any, found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in dict.fromkeys([*expected, *found]):
            yield from _differences(expected.get(key, _MISSING), found.get(key, _MISSING), (*path, key))
    elif isinstance(expected, list) and isinstance(found, list):
        for position in range(max(len(expected), len(found))):
            yield from _differences(
                expected[position] if position < len(expected) else _MISSING,
                found[position] if position < len(found) else _MISSING,
                (*path, position),
            )
    elif expected != found or type(expected) is not type(found):
        yield path, expected, found


class _Missing:
    def __str__(self) -> str:
        return "nothing"


_MISSING = _Missing()


def _short(value: Any) -> str:
    text = str(value) if isinstance(value, (str, int, _Missing)) else strict.dump_json(value).decode().strip()
    return text if len(text) <= 100 else text[:100] + "…"


def _spoken(path: tuple[Any, ...], body: Any) -> str:
    """The path with ids in place of positions: `observations minHeads@0.28.0 value`."""
    words: list[str] = []
    here = body
    for step in path:
        here = here.get(step, {}) if isinstance(here, dict) else here[step] if step in range(len(here)) else {}
        words.append(
            str(here["id"]) if isinstance(step, int) and isinstance(here, dict) and "id" in here else str(step)
        )
    return " ".join(words)


def audit_names(inputs: Inputs) -> Sequence[str]:
    """Return the audits that take part: those with a receipt, or that have been fetched for one."""
    return [name for name, audit in inputs.audits.items() if audit.receipts]


# The claim gate


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What the site's settings ask of prose."""

    vocabulary: Vocabulary
    floor: Decimal
    """The least coverage of a guide, from 0 to 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Claimed:
    """What the claim gate let pass: prose whose every binding holds."""

    guides: Mapping[str, Bound]
    """By slug, those that are not withdrawn and whose page does not stand."""
    pages: Mapping[str, Bound]
    """Pages and policies, by slug."""
    cells: Mapping[str, Words]
    """By pin, the words of editorial tables; only of receipts that are newest or pinned is it certain that they hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The words of a receipt's editorial tables, and which audits they were met with."""

    cells: BoundCells
    on: tuple[str, ...]


def claim_gate(inputs: Inputs, ledgers: Mapping[str, Ledger], rules: Rules, carried: Carried = NOTHING) -> Claimed:
    """Return all prose met with its receipts, once every binding resolves and every claim reads as its value.

    Prose of units that stand is not read again.

    Raises:
        GuideError: with everything that is wrong in the guides, pages, policies and editorial tables.
    """
    desk = _Editing(inputs, ledgers, rules)
    guides: dict[str, Bound] = {}
    pages: dict[str, Bound] = {}
    cells = Lazy(ledgers, lambda pin: desk.cells(ledgers[pin]))

    def guide(slug: str, file: File) -> None:
        read = read_guide(file.body, file.where, rules.vocabulary)
        if read.front.status != "withdrawn":
            guides[slug] = desk.guide(read, rules.floor)

    def page(slug: str, file: File) -> None:
        pages[slug] = desk.guide(read_page(file.body, file.where, rules.vocabulary), Decimal(0))

    def tables(pin: str) -> None:
        cells[pin]

    written = {**inputs.pages, **inputs.policies}
    gathered(
        (
            *(partial(guide, slug, file) for slug, file in inputs.guides.items() if slug not in carried.guides),
            *(partial(page, slug, file) for slug, file in written.items()),
            *(partial(_named_once, slug, inputs) for slug in inputs.pages if slug in inputs.policies),
            partial(_tools_named_once, inputs),
            partial(_without_figures, inputs, rules.vocabulary),
        )
    )
    pinned = [pin for bound in (*guides.values(), *pages.values()) for pin in bound.ledgers]
    current = [
        f"{name}@{found[0]}"
        for name, audit in inputs.audits.items()
        if name not in carried.receipts
        for found in (newest(audit), published(audit))
        if found
    ]
    gathered(partial(tables, pin) for pin in dict.fromkeys((*current, *pinned)) if pin in ledgers)
    return Claimed(guides=guides, pages=pages, cells=cells)


def _without_figures(inputs: Inputs, vocabulary: Vocabulary) -> None:
    """The site's own texts stand on no receipt, and so hold no figure."""
    settings = read_site(inputs.site.body, inputs.site.where)
    texts = [(inputs.site.where, text) for text in (settings.title, settings.description, settings.team)]
    if inputs.links:
        known = read_links(inputs.links.body, inputs.links.where)
        texts += [(inputs.links.where, link.purpose) for link in known.values()]
    if problems := tuple(worded(texts, vocabulary)):
        raise GuideError(*problems)


def unchecked(inputs: Inputs, verified: Verified) -> Mapping[str, int]:
    """Return by audit how many figures of its newest receipt's statements, reasons, limits and the like nothing checks."""
    current = {name: f"{name}@{found[0]}" for name, audit in inputs.audits.items() if (found := newest(audit))}
    return {
        name: sum(map(len, verified.cells[pin].cells.unchecked.values()))
        for name, pin in current.items()
        if pin in verified.cells
    }


def _named_once(slug: str, inputs: Inputs) -> None:
    raise GuideError.at(
        inputs.policies[slug].where, f"expected a slug of its own, found {inputs.pages[slug].where}", "Rename one."
    )


def _tools_named_once(inputs: Inputs) -> None:
    """Tools of all audits are offered in one folder."""
    files = [(name, file.where) for audit in inputs.audits.values() for name, file in audit.tools.items()]
    first = dict(reversed(files))
    if twice := [(where, first[name]) for name, where in files if first[name] != where]:
        raise GuideError(
            *(
                Problem(where=where, problem=f"expected a name of its own, found {other}", remedy="Rename one.")
                for where, other in twice
            )
        )


class _Editing:
    """What every guide is met with, made once."""

    def __init__(self, inputs: Inputs, ledgers: Mapping[str, Ledger], rules: Rules) -> None:
        self._inputs = inputs
        self._ledgers = ledgers
        self._rules = rules
        self._links = read_links(inputs.links.body, inputs.links.where) if inputs.links else {}
        self._tools = Lazy(inputs.audits, lambda name: dict(_tool_functions(inputs.audits[name])))
        numbers = {
            name: [number for number in audit.receipts if number != "draft"] for name, audit in inputs.audits.items()
        }
        self._newest = {name: max(found) for name, found in numbers.items() if found}

    def guide(self, guide: Guide, floor: Decimal) -> Bound:
        """Return the guide met with its receipts; an old pin may stay where the newest receipt says the same."""
        old = {
            pin: f"{audit}@{self._newest[audit]}"
            for pin in guide.front.receipts
            for audit, _, version in [pin.partition("@")]
            if version != "draft" and audit in self._newest and version != str(self._newest[audit])
        }
        bound = self._bound(guide, floor, frozenset(old))
        unchanged = frozenset(
            pin
            for pin, latest in old.items()
            if (ledger := self._ledgers.get(latest)) and not (bound.moved(ledger) or bound.reworded(ledger))
        )
        return bound if unchanged == frozenset(old) else self._bound(guide, floor, unchanged)

    def _bound(self, guide: Guide, floor: Decimal, unchanged: frozenset[str]) -> Bound:
        return bind(
            guide,
            self._ledgers,
            links=self._links,
            tools=self._tools,
            newest=self._newest,
            unchanged=unchanged,
            floor=floor,
        )

    def cells(self, ledger: Ledger) -> Words:
        """Return the words of a receipt's editorial tables, met with the receipts that they name."""
        audit = self._inputs.audits[ledger.audit]
        version = ledger.receipt.issued.version
        current = newest(audit)
        named = dict.fromkeys(match[1] for text in _editorial_texts(ledger) for match in _PREFIX.finditer(text))
        where = f"evidence/{ledger.audit}/receipts/{version}.json:1"

        def met(audits: Iterable[str], lines: Mapping[tuple[str, str, str], str]) -> BoundCells:
            return bind_cells(
                ledger,
                [
                    other
                    for name in audits
                    if name in self._inputs.audits and name != ledger.audit
                    for other in self._current(name)
                ],
                vocabulary=self._rules.vocabulary,
                links=self._links,
                tools=self._tools,
                locate=lambda *place: lines.get(place, where),
            )

        try:
            return Words(cells=met(named, {}), on=tuple(dict.fromkeys((ledger.audit, *named))))
        except GuideError:
            # With every receipt at hand: what is meant may be another audit's, or resemble something there. Always to do
            # so would make each receipt's cost grow with the number of all, and the lines cost reading the tables again.
            lines = editorial.cell_lines(audit) if current and current[0] == version else {}
            return Words(cells=met(self._inputs.audits, lines), on=(EVERY, *self._inputs.audits))

    def _current(self, name: str) -> Iterator[Ledger]:
        found = newest(self._inputs.audits[name])
        if found is not None:
            yield self._ledgers[f"{name}@{found[0]}"]


_PREFIX = re.compile(r"\((?:receipt|source|tool):([a-z0-9][A-Za-z0-9._-]*):")
"""A link of a cell that says whose value or source it means."""


def _editorial_texts(ledger: Ledger) -> Iterator[str]:
    for result in ledger.receipt.body.results:
        if result.class_ == "editorial":
            yield from (str(text) for row in result.rows for text in row.values())


def _tool_functions(audit: AuditInputs) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each tool under the name that guides use, with the functions of it that they may show."""
    for name, file in audit.tools.items():
        try:
            tree = ast.parse(file.body, file.where)
        except (SyntaxError, ValueError):
            functions: frozenset[str] = frozenset()
        else:
            functions = frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
        yield tool_name(name), functions


# All three


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """What stands behind the three gates: ready to be rendered."""

    held: Mapping[str, Held]
    """By audit, without those that stand."""
    ledgers: Mapping[str, Ledger]
    """By pin."""
    log: Log
    guides: Mapping[str, Bound]
    """By slug, without those that stand."""
    pages: Mapping[str, Bound]
    cells: Mapping[str, Words]
    carried: Carried


def verify(inputs: Inputs, rules: Rules, *, require_bytes: bool = False, carried: Carried = NOTHING) -> Verified:
    """Return what the site is made from, once all three gates hold, one after the other.

    What stands from an earlier build is taken as it was found there.

    Raises:
        EvidenceError: with everything that is wrong in the first gate that does not hold.
    """
    names = [name for name in audit_names(inputs) if name not in carried.audits]
    held = snapshot_gate(inputs, names, require_bytes=require_bytes)
    log = publications.read(inputs.log.body, inputs.log.where)
    opened: dict[str, Ledger] = {}
    gathered((lambda: opened.update(receipt_gate(inputs, held)), lambda: _logged(inputs, log)))
    files = {
        f"{audit.name}@{version}": file for audit in inputs.audits.values() for version, file in audit.receipts.items()
    }
    ledgers = Lazy(files, lambda pin: receipts.opened(files[pin].body, files[pin].where), opened)
    claimed = claim_gate(inputs, ledgers, rules, carried)
    return Verified(
        held=held,
        ledgers=ledgers,
        log=log,
        guides=claimed.guides,
        pages=claimed.pages,
        cells=claimed.cells,
        carried=carried,
    )


def audit_units(verified: Verified, keys: Keys | None = None) -> Mapping[str, Unit]:
    """Return what the first two gates found of each audit, by name; `keys` know their keys from now on."""
    made = {name: _audit_unit(name, held, keys) for name, held in verified.held.items()}
    found = {**verified.carried.audits, **made}
    return dict(sorted(found.items()))


def _audit_unit(name: str, held: Held, keys: Keys | None) -> Unit:
    # A source that is a file of the repository is in the key with the others of its folder.
    return Unit(
        key=keys.audit(name, held.asked) if keys else "",
        on=tuple(held.asked),
        said={"rehashed": len(held.snapshots), "asRecorded": list(held.as_recorded)},
    )


def _logged(inputs: Inputs, log: Log) -> None:
    problems = tuple(publications.check(log, {name: audit.receipts for name, audit in inputs.audits.items()}))
    if problems:
        raise ReceiptError(*problems)


def publication(
    inputs: Inputs, settings: Site, verified: Verified, keys: Keys | None = None, served: Served | None = None
) -> Publication:
    """Return what the site renders: what the gates let pass, and the files that are offered with it.

    Units that stand are kept as they are `served`; the others have keys from `keys`, in which those of all audits are
    known.
    """
    contributors = inputs.contributors
    current = {name: f"{name}@{found[0]}" for name, audit in inputs.audits.items() if (found := published(audit))}
    shown = Lazy(current, lambda name: verified.ledgers[current[name]])
    guides = list(_guide_pages(inputs, verified, keys))
    pins = dict(map(_pins, guides))
    of_audits = {
        name: [
            replace(item, guide=next((slug for slug, pinned in pins.items() if pin in pinned), None))
            for item in _corrections(verified, pin)
        ]
        for name, pin in current.items()
    }
    return Publication(
        site=settings,
        guides=guides,
        audits=[_audit_page(inputs, verified, keys, pin, of_audits[name]) for name, pin in current.items()],
        pages=verified.pages,
        drafts=[name for name, audit in inputs.audits.items() if "draft" in audit.receipts and len(audit.receipts) > 1],
        contributors=read_contributors(contributors.body, contributors.where) if contributors else {},
        tools={
            tool_name(name): Tool(name=tool_name(name), audit=audit.name, file=name, body=file.body)
            for audit in inputs.audits.values()
            for name, file in audit.tools.items()
        },
        fixtures={
            (audit.name, name): file.body for audit in inputs.audits.values() for name, file in audit.fixtures.items()
        },
        corrections=(
            *(item for file in inputs.corrections.values() for item in read_corrections(file, shown, pins.keys())),
            *(item for items in of_audits.values() for item in items),
        ),
        log=verified.log,
        log_file=inputs.log.body,
        builder=inputs.builder,
        versions=inputs.versions,
        key=keys.site() if keys else "",
        served=served,
    )


def _guide_pages(inputs: Inputs, verified: Verified, keys: Keys | None) -> Iterator[GuidePage | Kept]:
    for slug in inputs.guides:
        if (unit := verified.carried.guides.get(slug)) is not None:
            yield Kept(name=slug, unit=unit)
        elif (bound := verified.guides.get(slug)) is not None:
            words = {pin: verified.cells[pin] for pin in bound.ledgers}
            on = tuple(
                dict.fromkeys(name for pin, found in words.items() for name in (pin.rpartition("@")[0], *found.on))
            )
            yield GuidePage(
                slug=slug,
                bound=bound,
                cells={pin: found.cells for pin, found in words.items()},
                key=keys.guide(slug, on) if keys else "",
                on=on,
            )


def _pins(page: GuidePage | Kept) -> tuple[str, Collection[str]]:
    return (page.name, page.unit.said["head"]["pins"]) if isinstance(page, Kept) else (page.slug, page.bound.ledgers)


def _audit_page(
    inputs: Inputs, verified: Verified, keys: Keys | None, pin: str, corrections: Sequence[Correction]
) -> AuditPage | Kept:
    name = pin.rpartition("@")[0]

    def made() -> AuditPage:
        receipts = inputs.audits[name].receipts
        others = {version: other for version in receipts if (other := f"{name}@{version}") != pin}
        words = verified.cells[pin]
        of_draft = verified.cells[others["draft"]] if "draft" in others else None
        on = tuple(dict.fromkeys((*words.on, *(of_draft.on if of_draft else ()))))
        return AuditPage(
            ledger=verified.ledgers[pin],
            versions={version: file.body for version, file in receipts.items()},
            others={version: verified.ledgers[other] for version, other in others.items()},
            cells=words.cells,
            draft_cells=of_draft.cells if of_draft else None,
            corrections=tuple(corrections),
            key=keys.receipt(name, on) if keys else "",
            on=on,
        )

    unit = verified.carried.receipts.get(name)
    return Kept(name=name, unit=unit, again=made) if unit else made()


_CORRECTIONS = "corrections"
"""The table of words in which an audit says what an earlier publication said, what is true, and which values show it."""


def _named(cell: object) -> Sequence[str]:
    """The addresses that a cell names: each a code span, since an address is no prose and has figures in it."""
    return str(cell).replace("`", " ").split()


def _corrections(verified: Verified, pin: str) -> Iterator[Correction]:
    """What an audit's own table of corrections says, but for the guide that says it now."""
    unit = verified.carried.receipts.get(pin.rpartition("@")[0])
    if unit is not None:
        yield from map(Correction.kept, unit.said["corrections"])
        return
    ledger = verified.ledgers[pin]
    table = ledger.results.get(_CORRECTIONS)
    if table is None:
        return
    words = verified.cells[pin].cells.rendered(href)
    for row in table.rows:
        name = str(row["id"])
        yield Correction(
            id=name,
            at=ledger.receipt.issued.as_of,
            publication=table.title,
            said=words[_CORRECTIONS, name, "said"],
            true=words[_CORRECTIONS, name, "true"],
            evidence=tuple(Evidence(audit=ledger.audit, address=address) for address in _named(row["evidence"])),
        )
