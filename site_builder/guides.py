"""Guides: Markdown in, Guide out, by one parse.

A guide is front matter, prose, and the places where prose meets a receipt. What a link says is read here; whether it is true
is `bindings`' work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from site_builder.errors import Problem

BLOCKS = ("verdict", "callout", "faq", "signature", "preconditions", "cta")
"""The names that `:::` may open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """What is set aside when figures are looked for, and the ids that templates use themselves."""

    names: frozenset[str] = frozenset()
    """Names with digits or number words in them (GLM-5.2, H200, FP8), met as whole tokens only."""
    reserved: frozenset[str] = frozenset()
    """Ids of the page's own elements, which no heading may take."""


class _Record(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class Exemption(_Record):
    """A text whose figures stand on no receipt: exactly how it reads, how often it stands there, and why that is right."""

    text: str
    times: int = 1
    why: str


class Related(_Record):
    """Another guide, and what a reader finds there and not here."""

    guide: str
    reason: str


class FrontMatter(_Record):
    """What an editor says about a guide or a page before its prose."""

    title: str
    description: str
    status: Literal["published", "draft", "withdrawn"] = "draft"
    receipts: tuple[str, ...] = ()
    """Pins, `audit@3` or `audit@draft`; the first is the guide's own."""
    authors: tuple[str, ...] = ()
    published: str | None = None
    modified: str | None = None
    reviewed: str | None = None
    reviewed_by: tuple[str, ...] = ()
    original_as_of: str | None = None
    """For a re-audit: the date as of which the audited publication spoke."""
    owns: str | None = None
    """The question that this guide alone answers."""
    not_here: tuple[Related, ...] = ()
    related: tuple[Related, ...] = ()
    aliases: tuple[str, ...] = ()
    """Paths under which it stood before."""
    exempt: tuple[Exemption, ...] = Field(default=())


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A heading, with the id that links to it use."""

    level: int
    id: str
    text: str
    html: str
    """Its text as HTML, without links: for a table of contents."""
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Prose:
    """A run of rendered prose: finished HTML."""

    html: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ExhibitPlace:
    """Where a generated figure stands: templates render it."""

    kind: Literal["table", "checklist", "value", "formula", "pointer", "fixture", "tool", "section"]
    """`pointer`: a leaf (observation, reported, assumption, absence). `section`: a part of the receipt's body by its name."""
    audit: str
    pin: str
    address: str
    """For table, checklist, value and formula the result's id; for pointer and fixture its id; for section its name; for tool
    the tool's name."""
    part: str | None
    """For a tool: the function that is shown; nothing shows the whole file."""
    caption: str
    """HTML, which may hold claims."""
    caption_text: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A container with a name from `BLOCKS`."""

    name: str
    segments: tuple[Segment, ...]
    line: int


Segment: TypeAlias = Prose | ExhibitPlace | Block


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """What a link points to, for whoever knows the site's addresses."""

    kind: Literal["claim", "source", "tool", "attribution", "outbound", "internal"]
    target: str
    """The address of a claim, the id of a source, the name of a tool, or the URL or path as the editor wrote it."""
    audit: str = ""
    pin: str = ""
    part: str | None = None
    """For a tool: the function named after `#`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """A bound guide as HTML, for one set of addresses."""

    title: str
    """HTML, which may hold claims; `title_text` is for <title>, feeds and metadata."""
    title_text: str
    description: str
    description_text: str
    segments: tuple[Segment, ...]
    toc: tuple[Heading, ...]


Href: TypeAlias = Callable[[Reference], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Guide:
    """A guide as it is written, not yet met with its receipts."""

    where: str
    front: FrontMatter
    headings: tuple[Heading, ...]
    notices: tuple[Problem, ...]
    """What does not stop a build but an editor should know."""
