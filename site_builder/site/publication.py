"""The publication: everything that the site shows, met with its evidence by the gates and ready to be rendered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from site_builder import records
from site_builder.bindings import Bound, BoundCells
from site_builder.errors import GuideError, Problem
from site_builder.inputs import File, Version
from site_builder.publications import Log
from site_builder.receipts import Ledger, nearest
from site_builder.records import Record
from site_builder.units import Served, Unit
from site_builder.values import Digest

_RESERVED_HOSTS = (
    ".example",
    ".invalid",
    ".localhost",
    ".test",
    ".example.com",
    ".example.net",
    ".example.org",
)


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"expected a web address without query or fragment, found {url!r}")
    return url if url.endswith("/") else url + "/"


def _contact(address: str) -> str:
    if not address.startswith(("https://", "mailto:")):
        raise ValueError(f"expected mailto: or https://, found {address!r}")
    return address


class Site(Record):
    """What `content/site.yaml` says: the site's name and address, who answers for it, and what the gates ask for."""

    title: str = Field(min_length=1)
    description: str = Field(min_length=1)
    url: Annotated[str, AfterValidator(_address)]
    language: str = "en"
    team: str = Field(min_length=1)
    contact: Annotated[str, AfterValidator(_contact)]
    """Where a correction is reported: `mailto:` or the address of a form for new issues."""
    repository: str | None = None
    names: tuple[str, ...] = ()
    """Names with digits or number words in them, which no claim has to stand behind."""
    coverage_floor: Annotated[str, Field(pattern=r"^(?:0(?:\.\d+)?|1)$")] = "0.95"
    """The least share of a guide's figures that must be claims, from 0 to 1."""

    @property
    def base(self) -> str:
        """The path under which the site lies, `/` or `/name/`."""
        return urlsplit(self.url).path

    @property
    def reserved(self) -> tuple[str, ...]:
        """The settings that still have a value reserved for examples: a site with one is a preview."""
        found = []
        if _is_reserved(urlsplit(self.url).hostname or ""):
            found.append("url")
        contact = urlsplit(self.contact)
        if _is_reserved(contact.hostname or contact.path.partition("@")[2]):
            found.append("contact")
        return tuple(found)


def _is_reserved(host: str) -> bool:
    return f".{host.lower()}".endswith(_RESERVED_HOSTS)


def read_site(body: bytes, where: str) -> Site:
    """Return the site's settings.

    Raises:
        GuideError: a setting is missing, unknown or not what it should be.
    """
    return records.read(body, where, "yaml", Site, GuideError)


class Contributor(Record):
    """A person or a team that answers for what is published."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    name: Annotated[str, Field(min_length=1)]
    role: Annotated[str, Field(min_length=1)]
    about: str = ""
    pen_name: bool = False


class _ContributorsFile(Record):
    contributors: tuple[Contributor, ...]


def read_contributors(body: bytes, where: str) -> Mapping[str, Contributor]:
    """Return the contributors by id.

    Raises:
        GuideError: the file is not a list of them, or one stands there twice.
    """
    listed = records.read(body, where, "yaml", _ContributorsFile, GuideError).contributors
    by_id = {person.id: person for person in listed}
    if len(by_id) != len(listed):
        raise GuideError.at(where, "expected each contributor once, found one id twice", "Keep one of the two.")
    return by_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """An operator tool as it is offered: one file."""

    name: str
    """As exhibits name it, without its suffix."""
    audit: str
    file: str
    body: bytes

    @property
    def digest(self) -> Digest:
        """The digest of its bytes."""
        return Digest.of(self.body)


@dataclass(frozen=True, kw_only=True, slots=True)
class GuidePage:
    """A guide whose every binding holds, under its slug."""

    slug: str
    bound: Bound
    cells: Mapping[str, BoundCells] = field(default_factory=dict)
    """By pin, the words of the editorial tables that its exhibits may show."""
    key: str = ""
    """The digest of all that the page is made from."""
    on: tuple[str, ...] = ()
    """The audits that it stands on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditPage:
    """An audit's newest receipt, and the exact bytes of every version that is kept."""

    ledger: Ledger
    """The one of the highest number, or the draft of an audit that has none yet."""
    versions: Mapping[Version, bytes]
    """In their order, the draft last."""
    others: Mapping[Version, Ledger] = field(default_factory=dict)
    """Those beside `ledger`, opened."""
    cells: BoundCells | None = None
    """The words of its editorial tables."""
    draft_cells: BoundCells | None = None
    """Those of the draft, where it is one of the others: it has a page of its own."""
    corrections: tuple[Correction, ...] = ()
    """Those that its own table states; the publication lists them with all others."""
    key: str = ""
    """The digest of all that the page is made from, but for the guides that it names."""
    on: tuple[str, ...] = ()
    """The audits that it stands on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A guide or a receipt whose files stay as they are served."""

    name: str
    unit: Unit
    again: Callable[[], AuditPage] | None = None
    """For a receipt: the page, to be made anew where it names other guides by now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A value that a correction rests on."""

    audit: str
    address: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """What a publication said, what is true, and what shows it."""

    id: str
    at: str
    publication: str
    """What is corrected, by its title."""
    said: str
    """HTML, bound to its receipt, as `true` is."""
    true: str
    evidence: tuple[Evidence, ...] = ()
    guide: str | None = None
    """The slug of the guide that says it now."""

    @classmethod
    def kept(cls, said: Mapping[str, Any]) -> Correction:
        """Return what `to_keep` gave, by whichever guide says it now."""
        evidence = tuple(Evidence(audit=audit, address=address) for audit, address in said["evidence"])
        return cls(**{**said, "evidence": evidence})

    def to_keep(self) -> Mapping[str, Any]:
        """Return the correction as JSON values, without the guide, which may be another one next time."""
        return {
            "id": self.id,
            "at": self.at,
            "publication": self.publication,
            "said": str(self.said),
            "true": str(self.true),
            "evidence": [[item.audit, item.address] for item in self.evidence],
        }


class _Evidence(Record):
    audit: str
    address: str


class _Correction(Record):
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    publication: Annotated[str, Field(min_length=1)]
    said: Annotated[str, Field(min_length=1)]
    true: Annotated[str, Field(min_length=1)]
    evidence: Annotated[tuple[_Evidence, ...], Field(min_length=1)]
    guide: str | None = None


class _CorrectionsFile(Record):
    corrections: Annotated[tuple[_Correction, ...], Field(min_length=1)]


def read_corrections(file: File, ledgers: Mapping[str, Ledger], guides: Collection[str]) -> tuple[Correction, ...]:
    """Return the corrections that a file of `content/corrections/` states, in plain words.

    `ledgers` are the newest receipts by audit; each correction rests on values of theirs.

    Raises:
        GuideError: the file is no list of corrections, or rests on an address or names a guide that does not exist.
    """
    stated = records.read(file.body, file.where, "yaml", _CorrectionsFile, GuideError).corrections
    problems = []
    for entry in stated:
        for item in entry.evidence:
            ledger = ledgers.get(item.audit)
            if ledger is None or item.address not in ledger.cells:
                near = nearest(item.address, ledger.cells) if ledger else sorted(ledgers)
                problems.append(
                    Problem(
                        where=file.where,
                        problem=f"{entry.id}: expected a value to rest on, found nothing at {item.audit}:{item.address}",
                        remedy=f"Name one of {', '.join(near) or 'the values of a receipt'}.",
                    )
                )
        if entry.guide is not None and entry.guide not in guides:
            problems.append(
                Problem(
                    where=file.where,
                    problem=f"{entry.id}: expected a guide's slug, found {entry.guide!r}",
                    remedy="Name the guide that says it now, or leave it out.",
                )
            )
    if problems:
        raise GuideError(*problems)
    return tuple(
        Correction(
            id=entry.id,
            at=entry.at,
            publication=entry.publication,
            said=escape(entry.said),
            true=escape(entry.true),
            evidence=tuple(Evidence(audit=item.audit, address=item.address) for item in entry.evidence),
            guide=entry.guide,
        )
        for entry in stated
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """Everything that is rendered. Guides and audits are read once and in order: they may come one at a time."""

    site: Site
    guides: Iterable[GuidePage | Kept]
    audits: Iterable[AuditPage | Kept]
    pages: Mapping[str, Bound]
    """`home`, `methods`, `about` and policies, by slug."""
    drafts: Collection[str] = ()
    """Audits whose draft stands beside numbered receipts, and has a page of its own."""
    contributors: Mapping[str, Contributor] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """By name."""
    fixtures: Mapping[tuple[str, str], bytes] = field(default_factory=dict)
    """By audit and id."""
    corrections: tuple[Correction, ...] = ()
    log: Log = field(default_factory=lambda: Log(where="content/publications.jsonl", publications=(), head="none"))
    log_file: bytes = b""
    """The log's own bytes, offered so that its chain can be checked."""
    builder: str = ""
    """The digest of the builder's source."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of what the builder stands on, by name."""
    key: str = ""
    """The digest of all inputs."""
    served: Served | None = None
    """What kept files hold, where there are any."""
