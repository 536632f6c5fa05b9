"""Fetch: the locked bytes into the store, new sources into the lock.

`fetch` looks for the bytes that are locked, at each locator in turn; what is in the store is not asked for.
That an upstream has moved on is reported and is no error. Judging a reading that differs is `drift`'s work,
writing the lock `project`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from site_builder.errors import EvidenceError, Problem, worst
from site_builder.fetching.bodies import Refusal, refusal
from site_builder.fetching.index import Index, find_index
from site_builder.fetching.released import Known, Listed, Listing, MemberBody, NoMember, read_sdist, read_wheel
from site_builder.fetching.transport import INDEX, Meter, Policy, Transport, Unread
from site_builder.sources import (
    Artifact,
    FileLocator,
    HttpsLocator,
    Integrity,
    Lock,
    LockEntry,
    Member,
    Recorded,
    ReleaseLocator,
    Source,
    Standing,
)
from site_builder.values import Digest


class Store(Protocol):
    """Where bytes are kept under their digest, used by several threads at once; `put` is atomic."""

    def has(self, digest: str, /) -> bool:
        """Whether bytes of this digest are kept and sound; what is damaged is fetched again."""

    def get(self, digest: str, /) -> bytes | None:
        """Return the bytes of this digest, or nothing where they are not kept."""

    def put(self, body: bytes, /) -> str:
        """Keep the bytes and return their digest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """Requests made and bytes received, heads included."""

    requests: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """Another answer than the locked one."""

    expected: str
    found: str


State: TypeAlias = Literal["at hand", "fetched", "locked", "recorded", "absent", "moved on", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of one source."""

    source: str
    state: State
    entry: LockEntry | None
    """As it was locked before, or as it is to be locked now."""
    moved: Moved | None = None
    problem: Problem | None = None
    exit_code: int = 0
    spent: Mapping[str, Cost] = field(default_factory=dict)
    """By role; what several members of one file share is counted with the first of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """One more source is done. Whoever locks each `outcome` at once loses nothing when the run is killed."""

    done: int
    total: int
    received: int
    outcome: Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchReport:
    """What became of all sources, in their order, and what it cost. Costs go by role, never by host."""

    outcomes: tuple[Outcome, ...]
    lock: Lock
    """As it is to be written: what was locked before and was not asked for stands in it unchanged."""
    yanked: tuple[str, ...] = ()
    wrong: tuple[Problem, ...] = ()
    """What is wrong with the audit itself, where it had to be asked which files it reads."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong."""
        return (*(outcome.problem for outcome in self.outcomes if outcome.problem), *self.wrong)

    @property
    def exit_code(self) -> int:
        """The code that decides."""
        return worst([*(outcome.exit_code for outcome in self.outcomes), *(1 for _ in self.wrong)])

    @property
    def spent(self) -> Mapping[str, Cost]:
        """What was spent, by role, in the order of the roles' names."""
        found: dict[str, Cost] = {}
        for outcome in self.outcomes:
            for role, cost in outcome.spent.items():
                before = found.get(role, Cost())
                found[role] = Cost(requests=before.requests + cost.requests, bytes=before.bytes + cost.bytes)
        return dict(sorted(found.items()))


# Searching --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    """One locator's answer to one source; its bytes are in the store unless others were looked for."""

    digest: str
    bytes: int
    integrity: Integrity
    origin: str
    contacted: tuple[str, ...]
    artifact: Artifact | None = None
    absent: str | None = None
    """Why there is no such member, where the digest is that of the listing."""


_Given: TypeAlias = "_Answer | Unread | Refusal"


@dataclass(slots=True)
class _Search:
    """One source on its way through its locators."""

    source: Source
    locked: LockEntry | None
    meter: Meter = field(default_factory=Meter)
    at: int = 0
    taken: _Answer | None = None
    others: list[_Answer] = field(default_factory=list)
    absences: list[_Answer] = field(default_factory=list)
    failures: list[Unread | Refusal] = field(default_factory=list)

    @property
    def expected(self) -> str | None:
        """The digest that is looked for, if there is one."""
        if self.locked is not None:
            return self.locked.digest
        return self.source.recorded.digest if self.source.recorded else None

    @property
    def locator(self) -> HttpsLocator | ReleaseLocator | FileLocator | None:
        """Where to look next."""
        return self.source.locators[self.at] if self.at < len(self.source.locators) else None

    def give(self, given: _Given) -> None:
        """Take what the locator gave, and go to the next one if it is not what is looked for."""
        if isinstance(given, Unread | Refusal):
            self.failures.append(given)
        elif given.absent is not None:
            self.absences.append(given)
        elif self.expected in (None, given.digest):
            self.taken = given
            return
        else:
            self.others.append(given)
        self.at += 1


def fetch(
    sources: Sequence[Source],
    lock: Lock,
    store: Store,
    policy: Policy,
    *,
    now: str,
    read_file: Callable[[str], bytes],
    progress: Callable[[Progress], None] | None = None,
    workers: int = 4,
    known: Known | None = None,
) -> FetchReport:
    """Return what became of each source, once everything that could be had of it is in the store.

    Nothing is raised for a source that can't be had: its outcome carries the problem. `now` is the time that
    new entries are stamped with; entries that are locked keep theirs.
    """
    return _Run(sources, lock, store, policy, now, read_file, progress, workers, known or Known()).report()


def read_url(url: str, policy: Policy, most: int | None = None) -> bytes:
    """Return the body behind an address that the operator gave, which may be private and leads nowhere else.

    Raises:
        UnreachableError: it is not to be had.
    """
    from site_builder.errors import UnreachableError

    try:
        with Transport(policy, Index(url=url), "the host of the address given") as transport:
            return transport.operator(Meter(), most).body
    except Unread as unread:
        raise UnreachableError.at("the address given", unread.problem, unread.remedy) from None


class _Run:
    """One run of `fetch`."""

    def __init__(
        self,
        sources: Sequence[Source],
        lock: Lock,
        store: Store,
        policy: Policy,
        now: str,
        read_file: Callable[[str], bytes],
        progress: Callable[[Progress], None] | None,
        workers: int,
        known: Known,
    ) -> None:
        locked = lock.by_id()
        self._lock = lock
        self._store = store
        self._policy = policy
        self._now = now
        self._read_file = read_file
        self._progress = progress
        self._workers = workers
        self._known = known
        self._searches = [_Search(source, _standing_entry(source, locked.get(source.id))) for source in sources]
        self._artifacts = {artifact.file: artifact for artifact in lock.artifacts}
        self._listings: dict[str, Listing | Unread] = {}
        self._yanked: set[str] = set()
        self._outcomes: dict[str, Outcome] = {}

    def report(self) -> FetchReport:
        """Run, and return the report."""
        for search in self._searches:
            if self._needs_nothing(search):
                self._done(search)
        open_searches = [search for search in self._searches if search.source.id not in self._outcomes]
        if open_searches:
            self._search(open_searches)
        self._confirm_origins()
        outcomes = tuple(self._outcomes[search.source.id] for search in self._searches)
        return FetchReport(outcomes=outcomes, lock=self._new_lock(outcomes), yanked=tuple(sorted(self._yanked)))

    def _needs_nothing(self, search: _Search) -> bool:
        if search.locked is None:
            return False
        if not search.locked.held:
            return True
        # A file of this repository costs nothing to look at, and may have been edited since.
        locators = search.source.locators
        return self._store.has(search.locked.digest) and not (
            locators and all(isinstance(locator, FileLocator) for locator in locators)
        )

    def _search(self, searches: list[_Search]) -> None:
        index: Index | Unread | None = None
        if any(_projects(search) for search in searches):
            try:
                index = self._policy.index or self._known.index or find_index()
                self._known.index = index
            except EvidenceError as error:
                index = Unread(error.problems[0].problem, error.problems[0].remedy)
        try:
            transport = Transport(self._policy, None if isinstance(index, Unread) else index)
        except Unread as unread:
            for search in searches:
                search.failures.append(unread)
                self._done(search)
            return
        pool = ThreadPoolExecutor(self._workers)
        with transport:
            try:
                self._list(searches, transport, index, pool)
                self._rounds(searches, transport, pool)
            except BaseException:
                # Whoever waits for a host must not keep the process alive.
                transport.given_up.set()
                raise
            finally:
                pool.shutdown(cancel_futures=True)

    def _list(
        self,
        searches: list[_Search],
        transport: Transport,
        index: Index | Unread | None,
        pool: ThreadPoolExecutor,
    ) -> None:
        """Have the index's page on every project, each counted with the first source that needs it.

        It is asked for in each run: whether the index's own address is private is learned by asking it.
        """
        first: dict[str, _Search] = {}
        for search in searches:
            for project in _projects(search):
                first.setdefault(project, search)

        def ask(project: str) -> Listing | Unread:
            if isinstance(index, Unread):
                return index
            try:
                return Listing.asked(transport, project, first[project].meter)
            except Unread as unread:
                return unread

        self._listings.update(zip(first, pool.map(ask, first), strict=True))

    def _rounds(self, searches: list[_Search], transport: Transport, pool: ThreadPoolExecutor) -> None:
        left = searches
        while left:
            for search in left:
                if search.locator is None:
                    self._done(search)
            left = [search for search in left if search.source.id not in self._outcomes]
            tasks: dict[Future[None], list[_Search]] = {}
            for group in _by_file(left):
                tasks[pool.submit(self._read, group, transport)] = group
            for task in as_completed(tasks):
                task.result()
                for search in tasks[task]:
                    if search.taken is not None:
                        self._done(search)
            left = [search for search in left if search.source.id not in self._outcomes]

    # One locator of one source, or one file for several -----------------------------------------------------

    def _read(self, group: list[_Search], transport: Transport) -> None:
        locator = group[0].locator
        if isinstance(locator, ReleaseLocator):
            self._read_release(group, transport)
        elif isinstance(locator, HttpsLocator):
            search = group[0]
            try:
                answer = transport.content(locator.https, search.meter)
            except Unread as unread:
                search.give(unread)
            else:
                search.give(
                    self._judged(search, answer.body, answer.media_type, locator.origin, "direct", answer.contacted)
                )
        elif isinstance(locator, FileLocator):
            search = group[0]
            try:
                body = self._read_file(locator.file)
            except (OSError, KeyError):
                search.give(Unread(f"expected the file {locator.file}, found none", "Correct the path.", 1))
            else:
                search.give(self._judged(search, body, "", locator.origin, "direct", ()))

    def _read_release(self, group: list[_Search], transport: Transport) -> None:
        member = _member(group[0])
        try:
            listing = self._listings[member.project]
            if isinstance(listing, Unread):
                raise listing
            listed = listing.file(member.file, member.version, transport)
            self._compare(listed)
        except Unread as unread:
            for search in group:
                search.give(unread)
            return
        by_member: dict[str, list[_Search]] = {}
        for search in group:
            by_member.setdefault(_member(search).member, []).append(search)
        meters = {name: searches[0].meter for name, searches in by_member.items()}
        limits = self._policy.limits
        if member.file.endswith(".whl"):
            readings = read_wheel(transport, listed, meters, self._stored, limits, self._known)
        else:
            # What is locked is told by its digest; what is new is told by the whole file's.
            new = any(search.expected is None for search in group) or any(search.locked is None for search in group)
            readings = read_sdist(transport, listed, meters, limits, whole=new)
        contacted = transport.roles(listed.url)
        for name, reading in readings:
            for search in by_member[name]:
                if isinstance(reading, Unread):
                    search.give(reading)
                    continue
                verified = isinstance(reading, MemberBody) and reading.whole
                artifact = _artifact(listed, member, verified)
                origin = ReleaseLocator(release=_member(search)).origin
                wheel = member.file.endswith(".whl")
                integrity: Integrity = "record" if wheel else "whole" if verified else "prefix"
                if isinstance(reading, NoMember):
                    search.give(self._absent(reading, artifact, origin, contacted, name, integrity))
                else:
                    search.give(self._judged(search, reading.body, "", origin, integrity, contacted, artifact))

    def _compare(self, listed: Listed) -> None:
        """Refuse a file that the index states otherwise than before."""
        if listed.yanked:
            self._yanked.add(listed.file)
        before = self._artifacts.get(listed.file)
        if before is not None and (before.digest, before.bytes) != (listed.digest, listed.bytes):
            raise Unread(
                f"expected the {INDEX} to state {before.digest}, {before.bytes} bytes, of {listed.file},"
                f" found {listed.digest}, {listed.bytes} bytes",
                "A released file can't change under its name: find out why before anything rests on it.",
                1,
            )

    def _stored(self, digest: str) -> bytes | None:
        return self._store.get(digest) if self._store.has(digest) else None

    def _judged(
        self,
        search: _Search,
        body: bytes,
        media_type: str,
        origin: str,
        integrity: Integrity,
        contacted: tuple[str, ...],
        artifact: Artifact | None = None,
    ) -> _Given:
        """The answer, its bytes in the store if they are what is looked for."""
        digest = Digest.of(body)
        if digest != search.expected:
            refused = refusal(search.source, body, media_type)
            # Where others are expected, bytes that lack something are other bytes; a login page is no answer.
            if refused is not None and (refused.hollow or search.expected is None):
                return refused
        if search.expected in (None, digest):
            self._store.put(body)
        return _Answer(
            digest=digest,
            bytes=len(body),
            integrity=integrity,
            origin=origin,
            contacted=contacted,
            artifact=artifact,
        )

    def _absent(
        self,
        missing: NoMember,
        artifact: Artifact,
        origin: str,
        contacted: tuple[str, ...],
        member: str,
        integrity: Integrity,
    ) -> _Answer:
        return _Answer(
            digest=self._store.put(missing.listing),
            bytes=len(missing.listing),
            integrity=integrity,
            origin=origin,
            contacted=contacted,
            artifact=artifact,
            absent=f"{missing.named} of {artifact.file} has no {member}",
        )

    # What became of it --------------------------------------------------------------------------------------

    def _done(self, search: _Search) -> None:
        outcome = self._outcome(search)
        self._outcomes[search.source.id] = outcome
        if self._progress:
            received = sum(found.meter.received for found in self._searches)
            self._progress(
                Progress(done=len(self._outcomes), total=len(self._searches), received=received, outcome=outcome)
            )

    def _outcome(self, search: _Search) -> Outcome:
        spent = {
            role: Cost(requests=requests, bytes=received)
            for role, (requests, received) in sorted(search.meter.spent.items())
        }
        if search.locked is not None:
            return replace(self._outcome_of_locked(search, search.locked), spent=spent)
        return replace(self._outcome_of_new(search), spent=spent)

    def _outcome_of_locked(self, search: _Search, locked: LockEntry) -> Outcome:
        source = search.source
        asked = search.taken or search.others or search.failures or search.absences
        if not asked and (not locked.held or self._store.has(locked.digest)):
            state: State = "absent" if locked.standing == "absent" else "at hand" if locked.held else "recorded"
            return Outcome(source=source.id, state=state, entry=locked)
        other = next(iter(search.others), None)
        if locked.mutability == "immutable" and (other or search.absences):
            found = other.digest if other else f"no such member ({search.absences[0].absent})"
            return Outcome(
                source=source.id,
                state="fetched" if search.taken else "failed",
                entry=locked,
                moved=Moved(expected=locked.digest, found=other.digest) if other else None,
                problem=Problem(
                    where=source.where,
                    problem=f"{source.id}: expected {locked.digest}, found {found}",
                    remedy="What can't change has changed: find out why before anything rests on it.",
                ),
                exit_code=1,
            )
        if search.taken:
            return Outcome(source=source.id, state="fetched", entry=locked)
        if other is not None:
            moved = Moved(expected=locked.digest, found=other.digest)
            return Outcome(source=source.id, state="moved on", entry=locked, moved=moved)
        return self._failed(search, locked)

    def _outcome_of_new(self, search: _Search) -> Outcome:
        source, answer = search.source, search.taken
        if source.recorded is not None:
            taken = self._entry(source, answer, "bytes-obtained") if answer else None
            entry = taken or _recorded_entry(source, source.recorded)
            return Outcome(source=source.id, state="locked" if answer else "recorded", entry=entry)
        if answer is not None:
            return Outcome(source=source.id, state="locked", entry=self._entry(source, answer, "obtained"))
        if source.lacking is not None:
            return self._lacking(search, source.lacking)
        if search.absences and not search.failures:
            return Outcome(source=source.id, state="absent", entry=self._entry(source, search.absences[0], "absent"))
        return self._failed(search, None)

    def _lacking(self, search: _Search, reason: str) -> Outcome:
        """A release that has no such file: the evidence is the index's listing of that release."""
        source = search.source
        if source.listed_under is None:
            search.failures.append(
                Unread(
                    f"expected a listing that shows it ({reason}), found no project and version to ask for",
                    "Write a release locator whose project and version the list's item has.",
                    1,
                )
            )
            return self._failed(search, None)
        project, version = source.listed_under
        listing = self._listings[project]
        if isinstance(listing, Unread):
            search.failures.append(listing)
            return self._failed(search, None)
        names = listing.names(version)
        answer = _Answer(
            digest=self._store.put(names),
            bytes=len(names),
            integrity="direct",
            origin=f"pkg:pypi/{project}@{version}",
            contacted=(INDEX,),
            absent=reason,
        )
        return Outcome(source=source.id, state="absent", entry=self._entry(source, answer, "absent"))

    def _failed(self, search: _Search, locked: LockEntry | None) -> Outcome:
        """All that was wrong, in the order of the locators; what is wrong for good decides."""
        source = search.source
        failures = search.failures or [Unread("expected a locator, found none", "Write one.", 1)]
        deciding = next((failure for failure in failures if failure.exit_code == 1), failures[0])
        said = list(dict.fromkeys(failure.problem for failure in failures))
        return Outcome(
            source=source.id,
            state="failed",
            entry=locked,
            problem=Problem(where=source.where, problem=f"{source.id}: {'; '.join(said)}", remedy=deciding.remedy),
            exit_code=deciding.exit_code,
        )

    def _entry(self, source: Source, answer: _Answer, standing: Standing) -> LockEntry:
        if answer.artifact is not None:
            before = self._artifacts.get(answer.artifact.file)
            verified = answer.artifact.verified or (before is not None and before.verified)
            self._artifacts[answer.artifact.file] = answer.artifact.model_copy(update={"verified": verified})
        return LockEntry(
            id=source.id,
            standing=standing,
            digest=answer.digest,
            bytes=answer.bytes,
            integrity=answer.integrity,
            mutability=source.mutability,
            origin=answer.origin,
            artifact=answer.artifact.file if answer.artifact else None,
            retrieved_at=self._now,
            contacted=answer.contacted,
            recorded_by=source.recorded.by if source.recorded else None,
            reason=answer.absent,
        )

    def _confirm_origins(self) -> None:
        """Raise bytes obtained to origin-confirmed where the same place names the recorded origin."""
        entries = {**self._lock.by_id()}
        entries.update((id_, outcome.entry) for id_, outcome in self._outcomes.items() if outcome.entry)
        for search in self._searches:
            outcome, recorded = self._outcomes[search.source.id], search.source.recorded
            entry = outcome.entry
            if entry is None or recorded is None or search.locked or entry.standing != "bytes-obtained":
                continue
            if entry.origin == recorded.origin or self._witnessed(entry, recorded, entries):
                confirmed = entry.model_copy(update={"standing": "origin-confirmed"})
                self._outcomes[search.source.id] = replace(outcome, entry=confirmed)

    def _witnessed(self, entry: LockEntry, recorded: Recorded, entries: Mapping[str, LockEntry]) -> bool:
        """Whether the witness, out of the same file, names a commit of the recorded origin."""
        if recorded.witness is None:
            return False
        witness = entries.get(recorded.witness.source)
        if witness is None or not witness.held or witness.artifact != entry.artifact:
            return False
        commits = re.findall(r"(?<![0-9a-f])[0-9a-f]{7,40}(?![0-9a-f])", recorded.origin)
        body = self._stored(witness.digest)
        return (
            body is not None
            and recorded.witness.names.encode() in body
            and any(commit.startswith(recorded.witness.names) for commit in commits)
        )

    def _new_lock(self, outcomes: Iterable[Outcome]) -> Lock:
        entries = {**self._lock.by_id()}
        entries.update((outcome.source, outcome.entry) for outcome in outcomes if outcome.entry)
        used = {entry.artifact for entry in entries.values()}
        return self._lock.model_copy(
            update={
                "entries": tuple(entries[name] for name in sorted(entries)),
                "artifacts": tuple(self._artifacts[name] for name in sorted(self._artifacts) if name in used),
            }
        )


def _standing_entry(source: Source, entry: LockEntry | None) -> LockEntry | None:
    """The entry, if the source is still what it was when it was recorded or found absent."""
    if entry is None or entry.held:
        return entry
    if entry.standing == "recorded":
        return entry if source.recorded is not None and source.recorded.digest == entry.digest else None
    return entry if source.lacking or any(locator.origin == entry.origin for locator in source.locators) else None


def _recorded_entry(source: Source, recorded: Recorded) -> LockEntry:
    return LockEntry(
        id=source.id,
        standing="recorded",
        digest=recorded.digest,
        bytes=recorded.bytes,
        integrity="stated",
        mutability=source.mutability,
        origin=recorded.origin,
        retrieved_at=recorded.at,
        recorded_by=recorded.by,
    )


def _artifact(listed: Listed, member: Member, verified: bool) -> Artifact:
    return Artifact(
        file=listed.file,
        purl=f"pkg:pypi/{member.project}@{member.version}",
        digest=listed.digest,
        bytes=listed.bytes,
        uploaded_at=listed.uploaded_at,
        verified=verified,
    )


def _member(search: _Search) -> Member:
    locator = search.locator
    if not isinstance(locator, ReleaseLocator):
        raise TypeError("not a release locator")
    return locator.release


def _projects(search: _Search) -> Iterator[str]:
    for locator in search.source.locators:
        if isinstance(locator, ReleaseLocator):
            yield locator.release.project
    if search.source.lacking is not None and search.source.listed_under is not None:
        yield search.source.listed_under[0]


def _by_file(searches: Iterable[_Search]) -> list[list[_Search]]:
    """Searches whose locators name the same released file stand together; the rest stand alone."""
    groups: dict[tuple[str, ...], list[_Search]] = {}
    for search in searches:
        locator = search.locator
        if isinstance(locator, ReleaseLocator):
            member = locator.release
            key: tuple[str, ...] = (member.project, member.version, member.file)
        else:
            key = ("", search.source.id)
        groups.setdefault(key, []).append(search)
    return list(groups.values())
