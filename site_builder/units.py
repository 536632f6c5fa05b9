"""Units: what of an earlier build stands, because everything that it depends on is byte-identical.

A unit is an audit (what the first two gates say of its folder), a guide (its page) or a receipt (its page, tables and
copies); the site is the unit of all. Each has a key, the digest of every input that its verdict and its files depend
on, and what the rest of the site needs of it. A record can only save time: where one is damaged, stale or missing, its
unit is made anew. Keeping records on the disk is `project`'s work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeAlias, TypeVar

from site_builder.errors import EvidenceError
from site_builder.inputs import AuditInputs, File, Inputs, inputs_digest
from site_builder.values import Digest

EVERY: Final = "*"
"""Among the names that a page stands on: that it asked for all audits there are."""

Served: TypeAlias = Callable[[str], bytes | None]
"""A file of the site that the last build left, by its path, or nothing where it can't be taken over."""

_Made = TypeVar("_Made")


@dataclass(frozen=True, kw_only=True, slots=True)
class Filed:
    """A file of the site that stays as it is served."""

    bytes: int
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """What is kept of a unit once the whole site has passed."""

    key: str
    """The digest of all its inputs."""
    on: tuple[str, ...] = ()
    """What it turned out to depend on: for an audit the digests it asked the store for, for a page the audits."""
    files: Mapping[str, Filed] = field(default_factory=dict)
    """By path, in the order in which they were made."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """What others need of it, as JSON values: only whoever wrote it reads it, and only where the key is the same."""


class Lazy(Mapping[str, _Made], Generic[_Made]):
    """Values by name, each made when somebody asks for it."""

    def __init__(self, names: Iterable[str], make: Callable[[str], _Made], made: Mapping[str, _Made] | None = None):
        self._names = dict.fromkeys(names)
        self._make = make
        self._made = dict(made or {})

    def __getitem__(self, name: str) -> _Made:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Keys:
    """The keys of one build's inputs."""

    def __init__(self, inputs: Inputs, *, require_bytes: bool = False) -> None:
        self._inputs = inputs
        self._everywhere = inputs_digest(
            {
                "builder": inputs.builder,
                "bytes are required": str(require_bytes),
                **{f"version of {name}": version for name, version in inputs.versions.items()},
                **_digests(inputs.releases),
            }
        )
        # What every page shows or is met with. A tool is found by its name alone, whichever audit has it.
        self._pages = inputs_digest(
            {
                "everywhere": self._everywhere,
                **_digests(inputs.site, inputs.links, inputs.contributors, *inputs.templates.values()),
                **_digests(*(file for audit in inputs.audits.values() for file in audit.tools.values())),
            }
        )
        self._guides = {slug: file.digest for slug, file in inputs.guides.items()}
        self._files = {name: _files_digest(audit) for name, audit in inputs.audits.items()}
        self._audits = {name: self.audit(name, {}) for name, audit in inputs.audits.items() if not audit.receipts}

    def audit(self, name: str, at_hand: Mapping[str, bool]) -> Digest:
        """Return an audit's key, and take it for what pages on this audit stand on.

        `at_hand` tells of each digest that it asked the store for whether the bytes were there, hashed in this build.
        """
        key = inputs_digest(
            {
                "everywhere": self._everywhere,
                "files": self._files[name],
                **{f"at hand {digest}": str(there) for digest, there in at_hand.items()},
            }
        )
        self._audits[name] = key
        return key

    def guide(self, slug: str, on: Collection[str]) -> Digest:
        """Return the key of a guide that stands on these audits, whose own keys are known."""
        return inputs_digest({"kind": "guide", "slug": slug, "text": self._guides[slug], **self._page(on)})

    def receipt(self, name: str, on: Collection[str]) -> Digest:
        """Return the key of a receipt's page that stands on these audits, but for the guides that it names."""
        return inputs_digest({"kind": "receipt", "name": name, **self._page(on)})

    def _page(self, on: Collection[str]) -> Mapping[str, str]:
        every = inputs_digest(dict.fromkeys(self._inputs.audits, "")) if EVERY in on else ""
        known = {f"audit {name}": self._audits.get(name, "none") for name in on}
        return {"pages": self._pages, "every": every, **known}

    def site(self) -> Digest:
        """Return the key of everything, once the keys of all audits are known."""
        inputs = self._inputs
        others = (inputs.pages, inputs.policies, inputs.corrections)
        return inputs_digest(
            {
                **self._page(inputs.audits),
                **{f"guide {slug}": digest for slug, digest in self._guides.items()},
                **_digests(inputs.log, *(file for files in others for file in files.values())),
            }
        )

    def carried(self, earlier: Mapping[str, Unit], served: Served) -> Carried:
        """Return which units of an earlier build stand: by their keys, and by their files as they are served."""
        audits = {
            name: unit
            for name, audit in self._inputs.audits.items()
            if audit.receipts and (unit := earlier.get(f"audit {name}")) and self._stands(name, audit, unit)
        }
        for name, audit in self._inputs.audits.items():
            if audit.receipts and name not in audits:
                self._audits.pop(name, None)
        waiting = {name for name, audit in self._inputs.audits.items() if audit.receipts} - audits.keys()

        def pages(kind: str, names: Iterable[str], key: Callable[[str, Collection[str]], Digest]) -> dict[str, Unit]:
            return {
                name: unit
                for name in names
                if (unit := earlier.get(f"{kind} {name}"))
                and not waiting.intersection(unit.on)
                and key(name, unit.on) == unit.key
                and _as_filed(unit, served)
            }

        guides = pages("guide", self._inputs.guides, self.guide)
        receipts = pages("receipt", audits, self.receipt)
        whole = earlier.get("site")
        all_stand = len(earlier) == len(audits) + len(guides) + len(receipts) + 1 and not waiting
        if whole and not (all_stand and self.site() == whole.key and _as_filed(whole, served)):
            whole = None
        return Carried(audits=audits, guides=guides, receipts=receipts, site=whole)

    def _stands(self, name: str, audit: AuditInputs, unit: Unit) -> bool:
        try:
            at_hand = {
                digest: self._inputs.stored(digest, audit.lock.where if audit.lock else name) is not None
                for digest in unit.on
            }
        except EvidenceError:
            return False  # damaged: the first gate will say so in its own words
        return self.audit(name, at_hand) == unit.key


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """The units that stand as an earlier build left them."""

    audits: Mapping[str, Unit] = field(default_factory=dict)
    """By name, those that passed the first two gates on the very same bytes."""
    guides: Mapping[str, Unit] = field(default_factory=dict)
    """By slug."""
    receipts: Mapping[str, Unit] = field(default_factory=dict)
    """By audit, those whose page is the same where the guides that it names are."""
    site: Unit | None = None
    """Where nothing at all has changed."""


NOTHING: Final = Carried()
"""What stands without an earlier build."""


def _as_filed(unit: Unit, served: Served) -> bool:
    for path, filed in unit.files.items():
        body = served(path)
        if body is None or len(body) != filed.bytes or Digest.of(body) != filed.digest:
            return False
    return True


def _digests(*files: File | None) -> dict[str, str]:
    return {file.where: file.digest for file in files if file is not None}


def _files_digest(audit: AuditInputs) -> Digest:
    files = (audit.script, audit.sources, audit.reported, audit.decision, audit.desk, audit.lock, audit.fixture_list)
    listed = (audit.tables, audit.fixtures, audit.tools, audit.receipts)
    return inputs_digest(_digests(*files, *(file for found in listed for file in found.values())))
