"""Trees: the files of a wheel that an audit's observations ask for, fetched round by round until nothing is missing.

Which files these are is known only by asking: names are followed from file to file. What was asked for in the end, all
of it and nothing else, is the closure that is locked. RECORD, which is the tree's own snapshot, states each digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from site_builder.audits import Followed
from site_builder.errors import EvidenceError, Problem, worst
from site_builder.fetching.locking import Cost, FetchReport, Outcome, Progress, State, Store, fetch
from site_builder.fetching.released import Known
from site_builder.fetching.transport import Policy
from site_builder.snapshots import Snapshot, tree_files
from site_builder.sources import Expectation, Lock, LockEntry, ReleaseLocator, Source, TreeMember

Follow: TypeAlias = Callable[[Mapping[str, Snapshot]], Mapping[str, Followed]]
"""What is asked of each tree, by source id. The same snapshots come again, with more files at hand."""

_ROUNDS_AT_MOST: Final = 100
"""The longest way met takes a dozen; what still asks for more after so many asks for anything."""
_ANYTHING: Final = Expectation.model_construct(type="", contains="", bytes=None)
"""A file of a tree is told by the digest that RECORD states."""


@dataclass(slots=True)
class _Tree:
    """One tree on its way to its closure."""

    source: Source
    entry: LockEntry
    new: bool
    """Whether its lock entry was made in this command."""
    stated: Mapping[str, tuple[str, int]]
    snapshot: Snapshot
    bodies: dict[str, bytes]
    spent: dict[str, Cost] = field(default_factory=dict)
    fetched: bool = False
    piecemeal: bool = False
    """Whether files came after others had been read: it may have been asked for what it is not asked for in the end."""
    failures: dict[str, Problem] = field(default_factory=dict)
    """By what they say."""
    codes: list[int] = field(default_factory=list)

    def fail(self, problem: str, remedy: str, code: int = 1) -> None:
        """Say what is wrong; one thing that is wrong with many files is said once."""
        self.failures.setdefault(problem, Problem(where=self.source.where, problem=problem, remedy=remedy))
        self.codes.append(code)

    def begin_afresh(self) -> None:
        """Ask it again as whoever finds all files at hand will."""
        self.snapshot = replace(self.snapshot)
        self.piecemeal = False


def fetch_trees(
    report: FetchReport,
    sources: Sequence[Source],
    store: Store,
    policy: Policy,
    follow: Follow,
    *,
    progress: Callable[[Progress], None] | None = None,
    workers: int = 4,
    known: Known | None = None,
    rounds: int = _ROUNDS_AT_MOST,
) -> FetchReport:
    """Return the report with the closure of each tree whose RECORD it obtained locked beside it.

    A tree whose closure is not to be had stays as it was locked, or unlocked. Where nothing can be followed, because the
    audit does what it may not, the report says so and all trees stay; what else was fetched stands.
    """
    trees = {tree.source.id: tree for tree in _opened(report, sources, store)}
    wanted = {name: {member.path for member in tree.entry.members or ()} for name, tree in trees.items()}
    asked: Mapping[str, Followed] = {}
    for _ in range(rounds):
        _obtain(report.lock, trees, wanted, store, policy, progress, workers, known)
        sound = {name: tree.snapshot for name, tree in trees.items() if not tree.failures}
        try:
            asked = follow(sound) if sound else {}
        except EvidenceError as error:
            return _settled(report, trees, {}, error.problems)
        wanted = {name: set(one.missing) for name, one in asked.items() if one.missing}
        piecemeal = [tree for tree in trees.values() if tree.piecemeal]
        if not wanted and not piecemeal:
            break
        for name in wanted:
            trees[name].piecemeal = True
        for tree in piecemeal if not wanted else ():
            tree.begin_afresh()
    else:
        for name, paths in wanted.items():
            trees[name].fail(
                f"expected observations that come to an end, found one that still asks for {min(paths)}"
                f" after {rounds} rounds",
                "Mend the observation: what it reads must follow from what it read before.",
            )
    return _settled(report, trees, asked, ())


def _settled(
    report: FetchReport, trees: Mapping[str, _Tree], asked: Mapping[str, Followed], wrong: Sequence[Problem]
) -> FetchReport:
    """Return the report once each tree is locked with its closure, or stays as it was."""
    outcomes = [
        _outcome(outcome, trees[outcome.source], asked.get(outcome.source)) if outcome.source in trees else outcome
        for outcome in report.outcomes
    ]
    entries = dict(report.lock.by_id())
    for outcome in outcomes:
        if outcome.entry is None:
            entries.pop(outcome.source, None)
        else:
            entries[outcome.source] = outcome.entry
    read = {entry.artifact for entry in entries.values()}
    lock = report.lock.model_copy(
        update={
            "entries": tuple(entries[name] for name in sorted(entries)),
            "artifacts": tuple(artifact for artifact in report.lock.artifacts if artifact.file in read),
        }
    )
    return replace(report, outcomes=tuple(outcomes), lock=lock, wrong=(*report.wrong, *wrong))


def _opened(report: FetchReport, sources: Sequence[Source], store: Store) -> Iterator[_Tree]:
    by_id = {source.id: source for source in sources}
    for outcome in report.outcomes:
        source, entry = by_id[outcome.source], outcome.entry
        if source.tree is None or entry is None or not entry.held or outcome.problem:
            continue
        record = store.get(entry.digest)
        if record is None:
            continue
        bodies: dict[str, bytes] = {}
        tree = _Tree(
            source=source,
            entry=entry,
            new=outcome.state == "locked",
            stated={},
            snapshot=Snapshot(source=source, body=record, members=bodies),
            bodies=bodies,
        )
        try:
            tree.stated = tree_files(record, source.tree)
        except ValueError as error:
            tree.fail(str(error), "Name the RECORD of a wheel, and after `tree:` a folder that it has.")
        yield tree


def _obtain(
    lock: Lock,
    trees: Mapping[str, _Tree],
    wanted: Mapping[str, set[str]],
    store: Store,
    policy: Policy,
    progress: Callable[[Progress], None] | None,
    workers: int,
    known: Known | None,
) -> None:
    """Bring what is wanted into the store and into the trees."""
    places: dict[str, tuple[_Tree, str]] = {}
    members: list[Source] = []
    entries: list[LockEntry] = []
    for name, paths in wanted.items():
        tree = trees[name]
        for path in sorted(paths):
            if path not in tree.stated:
                continue  # what only the lock names is not asked for again, and leaves it
            if not tree.stated[path][0] or tree.stated[path][1] < 0:
                remedy = "Don't rest anything on this member: nothing vouches for it."
                tree.fail(f"expected sha256 and size of {path} in RECORD, found none", remedy)
                continue
            member, entry = _as_source(tree, path, len(places))
            places[member.id] = tree, path
            members.append(member)
            entries.append(entry)
    of_members = Lock(audit=lock.audit, artifacts=lock.artifacts, entries=tuple(entries))
    found = fetch(
        members,
        of_members,
        store,
        policy,
        now="",
        read_file=_no_file,
        progress=progress,
        workers=workers,
        known=known,
    )
    for outcome in found.outcomes:
        tree, path = places[outcome.source]
        tree.fetched = tree.fetched or outcome.state == "fetched"
        for role, cost in outcome.spent.items():
            before = tree.spent.get(role, Cost())
            tree.spent[role] = Cost(requests=before.requests + cost.requests, bytes=before.bytes + cost.bytes)
        if outcome.problem:
            said = outcome.problem.problem.removeprefix(f"{outcome.source}: ")
            tree.fail(said, outcome.problem.remedy, outcome.exit_code)
        elif (body := store.get(tree.stated[path][0])) is not None:
            tree.bodies[path] = body


def _as_source(tree: _Tree, path: str, number: int) -> tuple[Source, LockEntry]:
    """Return one file of a tree as a source that is locked already: RECORD says what its bytes are."""
    locator = tree.source.locators[0]
    if not isinstance(locator, ReleaseLocator):
        raise TypeError("not a release locator")
    at = ReleaseLocator(release=locator.release.model_copy(update={"member": path}))
    source = replace(tree.source, id=f"{tree.source.id}.{number}", tree=None, expects=_ANYTHING, locators=(at,))
    digest, size = tree.stated[path]
    entry = tree.entry.model_copy(
        update={"id": source.id, "digest": digest, "bytes": size, "origin": at.origin, "members": None}
    )
    return source, entry


def _outcome(outcome: Outcome, tree: _Tree, asked: Followed | None) -> Outcome:
    spent = dict(outcome.spent)
    for role, cost in tree.spent.items():
        before = spent.get(role, Cost())
        spent[role] = Cost(requests=before.requests + cost.requests, bytes=before.bytes + cost.bytes)
    kept = replace(outcome, entry=None if tree.new else outcome.entry, spent=spent)
    if tree.failures:
        first = next(iter(tree.failures.values()))
        problem = replace(first, problem=f"{tree.source.id}: {'; '.join(tree.failures)}")
        return replace(kept, state="failed", problem=problem, exit_code=worst(tree.codes))
    if asked is None:
        return replace(kept, state="failed" if tree.new else outcome.state)
    members = tuple(
        TreeMember(path=path, digest=tree.stated[path][0], bytes=tree.stated[path][1]) for path in asked.used
    )
    entry = tree.entry.model_copy(update={"members": members})
    state: State = "fetched" if outcome.state == "at hand" and tree.fetched else outcome.state
    return replace(outcome, state=state if entry == tree.entry else "locked", entry=entry, spent=spent)


def _no_file(path: str) -> bytes:
    raise FileNotFoundError(path)
