"""Fetching: the network's edge. Everything that leaves this machine leaves through here.

`index` finds the package index as pip does, `transport` reads bytes under a policy, `released` reads members of wheels
and sdists, `bodies` tells a source from what only looks like one, `locking` puts bytes into the store and sources into
the lock, `trees` all files of a wheel that an audit asks for. What another reading means is `drift`'s to say, and the
disk is `project`'s.
"""

from site_builder.fetching.index import Index, find_index
from site_builder.fetching.locking import Cost, FetchReport, Moved, Outcome, Progress, Store, fetch, read_url
from site_builder.fetching.released import Known
from site_builder.fetching.transport import Limits, Policy
from site_builder.fetching.trees import Follow, fetch_trees

__all__ = [
    "Cost",
    "FetchReport",
    "Follow",
    "Index",
    "Known",
    "Limits",
    "Moved",
    "Outcome",
    "Policy",
    "Progress",
    "Store",
    "fetch",
    "fetch_trees",
    "find_index",
    "read_url",
]
