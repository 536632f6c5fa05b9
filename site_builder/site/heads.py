"""Heads: what other pages, feeds and lists say of a guide or a receipt, and all that is kept of it once it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from site_builder.bindings import Bound
from site_builder.guides import FrontMatter, Rendered
from site_builder.inputs import Version
from site_builder.receipts import Ledger, as_json


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """What is said of a guide."""

    slug: str
    path: str
    title: str
    description: str
    front: FrontMatter
    pins: tuple[str, ...]
    state: str
    """The decision of its own audit; empty for a guide that pins none."""
    as_of: str
    percent: int
    """Its coverage."""

    @classmethod
    def of(cls, slug: str, bound: Bound, rendered: Rendered, own: Ledger | None) -> Head:
        """Return what is said of a bound guide."""
        return cls(
            slug=slug,
            path=f"guides/{slug}/",
            title=rendered.title_text,
            description=rendered.description_text,
            front=bound.guide.front,
            pins=tuple(bound.ledgers),
            state=own.receipt.body.decision.state if own else "",
            as_of=own.receipt.issued.as_of if own else "",
            percent=bound.coverage.percent,
        )

    @classmethod
    def kept(cls, said: Mapping[str, Any]) -> Head:
        """Return what `to_keep` gave."""
        return cls(**{**said, "front": FrontMatter.model_validate(said["front"]), "pins": tuple(said["pins"])})

    def to_keep(self) -> Mapping[str, Any]:
        """Return the head as JSON values."""
        return {
            "slug": self.slug,
            "path": self.path,
            "title": self.title,
            "description": self.description,
            "front": as_json(self.front),
            "pins": list(self.pins),
            "state": self.state,
            "as_of": self.as_of,
            "percent": self.percent,
        }

    @property
    def draft(self) -> bool:
        """Whether it is not published: it says so, and no feed or sitemap names it."""
        return self.front.status == "draft" or any(pin.endswith("@draft") for pin in self.pins)

    @property
    def listed(self) -> bool:
        """Whether feeds, the sitemap and search engines may name it."""
        return self.front.status == "published" and not self.draft

    @property
    def updated(self) -> str:
        """The day of its last change."""
        return self.front.modified or self.front.published or self.as_of


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceiptHead:
    """What is said of an audit's newest receipt."""

    audit: str
    version: Version
    digest: str
    as_of: str

    @classmethod
    def of(cls, ledger: Ledger) -> ReceiptHead:
        """Return what is said of a receipt."""
        issued = ledger.receipt.issued
        return cls(audit=ledger.audit, version=issued.version, digest=ledger.digest, as_of=issued.as_of)

    def to_keep(self) -> Mapping[str, Any]:
        """Return the head as JSON values, from which the class is made again."""
        return {"audit": self.audit, "version": self.version, "digest": self.digest, "as_of": self.as_of}
