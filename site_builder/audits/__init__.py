"""Audits: assumptions, observations, results and invariants as small functions, and the body that they yield.

A function's parameters name what it needs; that is the lineage. Its docstring is the published statement. Reading
disk and network is left to others: an audit is run on snapshots, on what others reported, and on tables of words.

`declared` is what a script says, `loading` how it is read, `operators` what tools make of fixtures, `following` which
files of a tree are asked for, `computation` what follows from it all, `running` what is published.
"""

from site_builder.audits.declared import Audit, row, table
from site_builder.audits.following import Followed, followed
from site_builder.audits.loading import load
from site_builder.audits.operators import FixtureFile, ToolFile
from site_builder.audits.running import DecisionText, Inputs, WordTable, packages, run
from site_builder.values import choose, count, every, holds, least, most, some, total

__all__ = [
    "Audit",
    "DecisionText",
    "FixtureFile",
    "Followed",
    "Inputs",
    "ToolFile",
    "WordTable",
    "choose",
    "count",
    "every",
    "followed",
    "holds",
    "least",
    "load",
    "most",
    "packages",
    "row",
    "run",
    "some",
    "table",
    "total",
]
