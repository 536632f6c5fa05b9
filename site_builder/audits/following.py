"""Following: which files of a tree an audit's observations ask for, so that `fetch` can obtain them and lock their closure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from site_builder import boundary
from site_builder.audits.declared import Audit, Entry
from site_builder.audits.loading import crossing
from site_builder.readers import MissingError, Searched
from site_builder.snapshots import Snapshot


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """The files of one tree that answers were read from so far, and those that are missing for the rest, by path."""

    used: tuple[str, ...]
    missing: tuple[str, ...]


def followed(
    audit: Audit, where: str, snapshots: Mapping[str, Snapshot], audited: frozenset[str]
) -> Mapping[str, Followed]:
    """Return what the audit's observations ask of each of these trees, by source id.

    Whatever else an observation meets is not judged here: a run will say it in its own words.

    Raises:
        AuditError: an observation did what the boundary refuses.
    """
    families: dict[str, list[Snapshot]] = {}
    for snapshot in snapshots.values():
        families.setdefault(snapshot.source.family, []).append(snapshot)
    missing: dict[str, set[str]] = {name: set() for name in snapshots}
    try:
        with boundary.within(audited):
            for entry in audit.entries.values():
                if entry.kind in ("observation", "absence"):
                    _follow(entry, families, snapshots, missing)
    except boundary.BoundaryCrossed as crossed:
        raise crossing(where, crossed) from None
    return {
        name: Followed(used=snapshot.tree.used, missing=tuple(sorted(missing[name])))
        for name, snapshot in snapshots.items()
    }


def _follow(
    entry: Entry,
    families: Mapping[str, Sequence[Snapshot]],
    snapshots: Mapping[str, Snapshot],
    missing: Mapping[str, set[str]],
) -> None:
    """Ask as a run does: an absence's function on its control, too, where the search does not say its own."""

    def ask(snapshot: Snapshot) -> object:
        try:
            with snapshot.tree.at_hand():
                return entry.function(snapshot)
        except MissingError as error:
            missing[snapshot.source.id].update(error.paths)
            return None
        except (KeyboardInterrupt, boundary.BoundaryCrossed):
            raise
        except BaseException:  # noqa: BLE001 - whatever it is, a run will say it
            return None

    for snapshot in families.get(entry.source, ()):
        searched = ask(snapshot)
        if isinstance(searched, Searched) and searched.control is None:
            control = snapshots.get(entry.control_of(snapshot.source.key))
            if entry.kind == "absence" and control is not None:
                ask(control)
    if entry.source not in families and entry.control:
        # What is searched is a file by itself; its control is a tree, or one tree a key.
        by_id = [snapshots[entry.control]] if entry.control in snapshots else []
        for snapshot in families.get(entry.control, by_id):
            ask(snapshot)
