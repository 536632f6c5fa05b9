"""Inputs: everything that the gates and the render are functions of, as bytes with their names.

`project` reads them from the disk; what the bytes mean is the business of the module that reads each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from site_builder.values import Digest

Version: TypeAlias = int | Literal["draft"]
"""What a receipt is filed under: its number, or that it has none yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """One file: its name relative to the repository, as messages say it, and its bytes."""

    where: str
    body: bytes

    @property
    def digest(self) -> Digest:
        """The digest of its bytes."""
        return Digest.of(self.body)


class Stored(Protocol):
    """The store, as far as the gates may see it."""

    def __call__(self, digest: str, where: str) -> bytes | None:
        """Return the bytes of this digest, hashed as they were read, or nothing where they are not at hand.

        `where` names who asks (`evidence/demo/sources.lock: kernel`), for the message.

        Raises:
            SourceError: the stored bytes are not those of the digest.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditInputs:
    """The files of one audit's folder."""

    name: str
    script: File
    """`audit.py`."""
    sources: File
    """`sources.yaml`."""
    reported: File | None
    """`reported.yaml`, where others stated something."""
    decision: File | None
    """`decision.yaml`: how the editor words the decision; required before a receipt is issued."""
    desk: File | None
    """`desk.yaml`: overlap, intake, search budget and review, as the editors recorded them."""
    lock: File | None
    """`sources.lock`, once `fetch` has run."""
    tables: Mapping[str, File]
    """`tables/<id>.yaml`, by id."""
    fixture_list: File | None
    """`fixtures.yaml`: what each fixture is for, where there are any."""
    fixtures: Mapping[str, File]
    """By path below `fixtures/`."""
    tools: Mapping[str, File]
    """By file name below `tools/`."""
    receipts: Mapping[Version, File]
    """Numbered ones in their order, then the draft."""

    def file(self, path: str) -> File | None:
        """Return the file that a `file:` locator names, relative to the audit's folder."""
        folder, _, name = path.partition("/")
        if folder == "tables":
            return self.tables.get(name.removesuffix(".yaml")) if name.endswith(".yaml") else None
        return {"fixtures": self.fixtures, "tools": self.tools}.get(folder, {}).get(name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """The repository, read once. Every mapping is in the order of its keys."""

    site: File
    """`content/site.yaml`."""
    links: File | None
    contributors: File | None
    log: File
    """`content/publications.jsonl`; without bytes before the first publication."""
    guides: Mapping[str, File]
    """By slug."""
    pages: Mapping[str, File]
    policies: Mapping[str, File]
    corrections: Mapping[str, File]
    releases: File | None
    """`evidence/releases.yaml`."""
    audits: Mapping[str, AuditInputs]
    """By name."""
    templates: Mapping[str, File]
    """By path below `templates/`."""
    builder: Digest
    """The digest of the builder's own source."""
    versions: Mapping[str, str]
    """Versions of Python and of what the builder stands on, by name."""
    stored: Stored


def inputs_digest(parts: Mapping[str, str]) -> Digest:
    """Return one digest over named ones: another when any of them changes, comes or goes."""
    return Digest.of("".join(f"{len(name)} {name} {digest}\n" for name, digest in sorted(parts.items())).encode())
