"""Trees: the files of a wheel that an audit's observations ask for, fetched round by round until nothing is missing.

Which files these are is known only by asking: names are followed from file to file. What was asked for in the end, all
of it and nothing else, is the closure that is locked. RECORD, which is the tree's own snapshot, states each digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from site_builder.audits import Followed
from site_builder.errors import Problem, worst
from site_builder.fetching.locking import Cost, FetchReport, Outcome, Progress, State, Store, fetch
from site_builder.fetching.released import Tails
from site_builder.fetching.transport import Policy
from site_builder.snapshots import Snapshot, tree_files
from site_builder.sources import Expectation, Lock, LockEntry, ReleaseLocator, Source, TreeMember

Follow: TypeAlias = Callable[[Mapping[str, Snapshot]], Mapping[str, Followed]]
"""What is asked of each tree, by source id. The same snapshots come again, with more files at hand."""

_ROUNDS_AT_MOST: Final = 100
_ANYTHING: Final = Expectation.model_construct(type="", contains="", bytes=None)
"""A file of a tree is told by the digest that RECORD states."""


@dataclass(slots=True)
class _Tree:
    """One tree on its way to its closure."""

    source: Source
    entry: LockEntry
    stated: Mapping[str, tuple[str, int]]
    bodies: dict[str, bytes]
    snapshot: Snapshot
    spent: dict[str, Cost] = field(default_factory=dict)
    fetched: bool = False
    problems: list[Problem] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)


def fetch_trees(
    report: FetchReport,
    sources: Sequence[Source],
    store: Store,
    policy: Policy,
    follow: Follow,
    *,
    progress: Callable[[Progress], None] | None = None,
    workers: int = 4,
    tails: Tails | None = None,
) -> FetchReport:
    """Return the report with the closure of each tree whose RECORD it obtained locked beside it.

    Raises:
        AuditError: what follows names does what an audit may not.
    """
    trees = {tree.source.id: tree for tree in _opened(report, sources, store)}
    wanted = {name: {member.path for member in tree.entry.members or ()} for name, tree in trees.items()}
    asked: Mapping[str, Followed] = {}
    for _ in range(_ROUNDS_AT_MOST):
        _obtain(report.lock, trees, wanted, store, policy, progress, workers, tails)
        asked = follow({name: tree.snapshot for name, tree in trees.items()})
        wanted = {name: set(one.missing) - trees[name].bodies.keys() for name, one in asked.items()}
        wanted = {name: paths for name, paths in wanted.items() if paths and not trees[name].problems}
        if not wanted:
            break
    outcomes = [
        _outcome(outcome, trees[outcome.source], asked[outcome.source]) if outcome.source in trees else outcome
        for outcome in report.outcomes
    ]
    entries = {**report.lock.by_id(), **{outcome.source: outcome.entry for outcome in outcomes if outcome.entry}}
    lock = report.lock.model_copy(update={"entries": tuple(entries[name] for name in sorted(entries))})
    return replace(report, outcomes=tuple(outcomes), lock=lock)


def _opened(report: FetchReport, sources: Sequence[Source], store: Store) -> Iterator[_Tree]:
    by_id = {source.id: source for source in sources}
    for outcome in report.outcomes:
        source, entry = by_id[outcome.source], outcome.entry
        if source.tree is None or entry is None or not entry.held or outcome.problem:
            continue
        record = store.get(entry.digest)
        if record is not None:
            bodies: dict[str, bytes] = {}
            yield _Tree(
                source=source,
                entry=entry,
                stated=tree_files(record, source.tree),
                bodies=bodies,
                snapshot=Snapshot(source=source, body=record, members=bodies),
            )


def _obtain(
    lock: Lock,
    trees: Mapping[str, _Tree],
    wanted: Mapping[str, set[str]],
    store: Store,
    policy: Policy,
    progress: Callable[[Progress], None] | None,
    workers: int,
    tails: Tails | None,
) -> None:
    """Bring what is wanted into the store and into the trees."""
    places: dict[str, tuple[_Tree, str]] = {}
    members: list[Source] = []
    entries: list[LockEntry] = []
    for name, paths in wanted.items():
        tree = trees[name]
        for path in sorted(paths):
            if path not in tree.stated:
                continue  # the first gate says what a lock has that RECORD does not
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
        tails=tails,
    )
    for outcome in found.outcomes:
        tree, path = places[outcome.source]
        tree.fetched = tree.fetched or outcome.state == "fetched"
        for role, cost in outcome.spent.items():
            before = tree.spent.get(role, Cost())
            tree.spent[role] = Cost(requests=before.requests + cost.requests, bytes=before.bytes + cost.bytes)
        body = store.get(tree.stated[path][0])
        if outcome.problem or body is None:
            tree.problems.append(outcome.problem or _not_kept(tree, path))
            tree.codes.append(outcome.exit_code or 1)
        else:
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


def _outcome(outcome: Outcome, tree: _Tree, asked: Followed) -> Outcome:
    spent = dict(outcome.spent)
    for role, cost in tree.spent.items():
        before = spent.get(role, Cost())
        spent[role] = Cost(requests=before.requests + cost.requests, bytes=before.bytes + cost.bytes)
    if tree.problems:
        said = "; ".join(dict.fromkeys(problem.problem for problem in tree.problems))
        problem = replace(tree.problems[0], problem=said)
        return replace(outcome, state="failed", problem=problem, exit_code=worst(tree.codes), spent=spent)
    members = tuple(
        TreeMember(path=path, digest=tree.stated[path][0], bytes=tree.stated[path][1])
        for path in asked.used
        if path in tree.bodies
    )
    entry = tree.entry.model_copy(update={"members": members})
    state: State = outcome.state
    if state == "at hand" and tree.fetched:
        state = "fetched"
    if entry != tree.entry:
        state = "locked"
    return replace(outcome, state=state, entry=entry, spent=spent)


def _not_kept(tree: _Tree, path: str) -> Problem:
    return Problem(
        where=tree.source.where,
        problem=f"{tree.source.id}: expected the bytes of {path} in the store, found none",
        remedy="Fetch again.",
    )


def _no_file(path: str) -> bytes:
    raise FileNotFoundError(path)
