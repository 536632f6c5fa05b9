"""Following: which files of a tree an audit's observations ask for, so that `fetch` can obtain them and lock their closure."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from site_builder import boundary
from site_builder.audits.declared import Audit
from site_builder.audits.loading import crossing
from site_builder.readers import MissingError
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

    Whatever else an observation meets is not judged here: `issue` will say it in its own words.

    Raises:
        AuditError: an observation did what the boundary refuses.
    """
    missing: dict[str, set[str]] = {name: set() for name in snapshots}
    families: dict[str, list[Snapshot]] = {}
    for snapshot in snapshots.values():
        families.setdefault(snapshot.source.family, []).append(snapshot)
    try:
        with boundary.within(audited):
            for entry in audit.entries.values():
                for snapshot in families.get(entry.source, ()) if entry.kind in ("observation", "absence") else ():
                    with suppress(Exception):
                        try:
                            entry.function(snapshot)
                        except MissingError as error:
                            missing[snapshot.source.id].update(error.paths)
    except boundary.BoundaryCrossed as crossed:
        raise crossing(where, crossed) from None
    return {
        name: Followed(used=snapshot.tree.used, missing=tuple(sorted(missing[name])))
        for name, snapshot in snapshots.items()
    }
