"""Bindings: prose met with receipts. A claim reads as its value, an exhibit and a citation exist, a link has its class.

Reading Markdown is `guides`' work and the look of an exhibit `site`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from site_builder.errors import Problem
from site_builder.guides import ExhibitPlace, Guide, Href, Rendered
from site_builder.receipts import Cell, Ledger, SourceRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A text of the prose that reads as the value at its address."""

    text: str
    cell: Cell
    pin: str
    line: int
    sentence: str
    """The line of prose that it stands in, as a reader sees it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """A link to a source of a pinned receipt."""

    text: str
    source: SourceRow
    pin: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """How many of a guide's figures stand on a receipt."""

    claims: int
    """Claims and a source's own numbers; claims that are the key of their own row, or were written by us, are not among them."""
    exempt: int
    keys: int
    editorial: int
    """Claims on values of class editorial."""
    computed_cells: int
    editorial_cells: int
    """Cells of the exhibits on the page."""

    @property
    def percent(self) -> int:
        """Whole percent, rounded down, so that 100 means all."""
        total = self.claims + self.exempt
        return 100 * self.claims // total if total else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A guide whose every binding holds."""

    guide: Guide
    ledgers: Mapping[str, Ledger]
    """By pin, those that the guide pins."""
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    exhibits: tuple[ExhibitPlace, ...]
    coverage: Coverage
    notices: tuple[Problem, ...]

    def rendered(self, href: Href) -> Rendered:
        """Return the guide as HTML, with each link's address as `href` gives it."""
        raise NotImplementedError(href)
