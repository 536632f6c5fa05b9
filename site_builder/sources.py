"""Sources, their locators, and the lock: what is cited, where its bytes can be had, and what was seen of them.

A source's identity is the digest of its bytes; a locator is only a way to obtain them. Reading the network is `fetching`'s
work and reading the disk `project`'s; here is what `sources.yaml`, `releases.yaml` and `sources.lock` mean.
"""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from site_builder import records, strict
from site_builder.errors import Problem, SourceError
from site_builder.records import Record

Role: TypeAlias = Literal["first-party", "upstream", "reporter", "discovery-only"]
Mutability: TypeAlias = Literal["immutable", "versioned", "mutable", "volatile"]
Standing: TypeAlias = Literal["obtained", "origin-confirmed", "bytes-obtained", "recorded", "absent"]
"""What we know of an entry's bytes.

`obtained`: we read them. `recorded`: another publication stated their digest, we never had them. `bytes-obtained`: a locator
answered with a recorded digest. `origin-confirmed`: and that locator names the recorded origin. `absent`: what should hold
the member does not, and its listing says so.
"""
Integrity: TypeAlias = Literal["whole", "record", "stated", "prefix", "direct"]
"""How far the bytes are vouched for.

`whole`: the artifact's stated digest was recomputed. `record`: the member agrees with its wheel's RECORD. `stated`: RECORD's
word, the member was not read. `prefix`: an sdist read in part. `direct`: the source was read by itself, not out of an artifact.
"""

HELD: frozenset[str] = frozenset({"obtained", "origin-confirmed", "bytes-obtained"})
"""The standings of entries whose bytes we had in hand."""

_ID = re.compile(r"[a-z0-9][A-Za-z0-9.@_-]*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_DIGEST_BYTES = 32
_PLACEHOLDER = re.compile(r"\{([A-Za-z]+)\}")


def _matching(pattern: re.Pattern[str], what: str) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"expected {what}, found {text!r}")
        return text

    return AfterValidator(check)


def is_inside(path: str) -> bool:
    """Tell whether a path stays inside the folder that it is relative to."""
    parts = path.split("/")
    return not (path.startswith("/") or "\\" in path or "\0" in path or any(part in ("", ".", "..") for part in parts))


def _inside(path: str) -> str:
    if not is_inside(path):
        raise ValueError(f"expected a path inside the folder, found {path!r}")
    return path


def _is_time(text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\dZ)?", text, re.ASCII):
        raise ValueError(f"expected a day or a time such as 2026-11-30T10:00:00Z, found {text!r}")
    datetime.fromisoformat(text)
    return text


Time = Annotated[str, AfterValidator(_is_time)]
DigestText = Annotated[str, _matching(_DIGEST, "sha256: and 64 hex digits")]
Inside = Annotated[str, AfterValidator(_inside)]


class HttpsLocator(Record):
    """A URL whose whole body is the source."""

    https: Annotated[str, _matching(re.compile(r"https?://[^\s\x00-\x1f]+"), "an https URL")]

    @property
    def origin(self) -> str:
        """What the lock and the site say of where it is."""
        return self.https


class Member(Record):
    """One member of one released file, as the package index lists it."""

    project: str
    version: str
    file: Inside
    member: Inside


class ReleaseLocator(Record):
    """A member of a released wheel or sdist. Its origin names neither an index nor a host."""

    release: Member

    @property
    def origin(self) -> str:
        """The package URL of the file, and the member's path in it."""
        member = self.release
        return f"pkg:pypi/{member.project}@{member.version}?file_name={member.file}#{member.member}"


class FileLocator(Record):
    """A file of this repository, named relative to the audit's folder."""

    file: Inside

    @property
    def origin(self) -> str:
        """The path, as the repository names it."""
        return self.file


def _locator_kind(value: Any) -> str | None:
    """Tell a locator's kind by its one key, so that what is wrong in it is said of that kind."""
    named = value if isinstance(value, Mapping) else getattr(value, "model_fields_set", ())
    return next((kind for kind in ("https", "release", "file") if kind in named), None)


Locator: TypeAlias = Annotated[
    Annotated[HttpsLocator, Tag("https")]
    | Annotated[ReleaseLocator, Tag("release")]
    | Annotated[FileLocator, Tag("file")],
    Discriminator(
        _locator_kind,
        custom_error_type="locator",
        custom_error_message="expected one of https, release and file, found none of them",
    ),
]


class Expectation(Record):
    """What a body must be to be this source at all: a shell, a login page or a pointer to the file is none."""

    type: str
    contains: str = Field(min_length=1)
    bytes: int | None = None


class Witness(Record):
    """What makes a locator name the recorded origin: a held source whose bytes name a commit of the recorded URL."""

    source: str
    names: Annotated[str, _matching(re.compile(r"[0-9a-f]{7,40}"), "seven or more hex digits of a commit")]


class Recorded(Record):
    """Digest and size of bytes that another publication stated."""

    digest: DigestText
    bytes: int
    by: str
    at: str
    origin: str
    witness: Witness | None = None


class _SourceEntry(Record):
    id: str
    for_: str | None = Field(default=None, alias="for")
    purpose: str = Field(min_length=1)
    role: Role
    mutability: Mutability
    expects: Expectation
    tree: Inside | None = None
    locators: tuple[Locator, ...]
    recorded: Recorded | None = None

    @model_validator(mode="after")
    def _tree_is_a_wheels(self) -> _SourceEntry:
        releases = [locator.release for locator in self.locators if isinstance(locator, ReleaseLocator)]
        if self.tree is not None and (
            len(self.locators) != 1
            or not releases
            or not releases[0].member.endswith(".dist-info/RECORD")
            or self.mutability != "immutable"
            or self.recorded is not None
        ):
            raise ValueError("expected a tree to be immutable, with one locator: the RECORD of a wheel")
        return self


class _SourcesFile(Record):
    sources: tuple[_SourceEntry, ...] = Field(min_length=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One cited source: what it is for, what it must be, and where its bytes can be had."""

    id: str
    family: str
    key: str | None
    purpose: str
    role: Role
    mutability: Mutability
    expects: Expectation
    locators: tuple[Locator, ...]
    recorded: Recorded | None
    lacking: str | None
    """Why no locator can be written for this member of the list (the release has no such file), else nothing."""
    listed_under: tuple[str, str] | None = None
    """Where it is lacking: the project and version whose listing shows it, if a locator names them."""
    tree: str | None = None
    """The folder of a wheel whose files are read together; the source's own bytes are the wheel's RECORD."""
    where: str
    """`file:line` of its entry."""


class Artifact(Record):
    """A released file as the package index states it. The index states a digest; `verified` says that we recomputed it."""

    file: str
    purl: str
    digest: DigestText
    bytes: int
    uploaded_at: str
    verified: bool


class TreeMember(Record):
    """One file of a tree: its path in the artifact, and what RECORD states of it."""

    path: Inside
    digest: DigestText
    bytes: Annotated[int, Field(ge=0)]


def _in_order(members: tuple[TreeMember, ...]) -> tuple[TreeMember, ...]:
    paths = [member.path for member in members]
    for before, path in pairwise(paths):
        if before >= path:
            raise ValueError(
                f"expected each file of a tree once, in the order of their paths, found {path} after {before}"
            )
    return members


TreeMembers = Annotated[tuple[TreeMember, ...], AfterValidator(_in_order)]


class LockEntry(Record):
    """What we know of one source's bytes. An absent one has the digest of the listing that lacks it."""

    id: Annotated[str, _matching(_ID, "an id")]
    standing: Standing
    digest: DigestText
    bytes: int
    integrity: Integrity
    mutability: Mutability
    origin: str
    artifact: str | None = None
    retrieved_at: Time
    contacted: tuple[str, ...] = ()
    """The roles that were asked for it ("package index", "its file host", or a host that content named)."""
    recorded_by: str | None = None
    reason: str | None = None
    members: TreeMembers | None = None
    """Of a tree, the files that its observations need, by path: all that they need, and no other."""

    @property
    def held(self) -> bool:
        """Whether we ever had its bytes in hand."""
        return self.standing in HELD

    @property
    def required(self) -> bool:
        """Whether `--require-bytes` insists on its bytes: a property of the lock, the same on every machine."""
        return self.held and self.mutability == "immutable"

    @property
    def bears_verdicts(self) -> bool:
        """Whether a verdict may rest on it: we had the bytes, they can't move, and something vouches for them."""
        return self.required and self.integrity in ("whole", "record", "direct")


class Lock(Record):
    """What was seen of an audit's sources, written by `fetch` alone."""

    schema_: Literal["lock/1"] = Field(default="lock/1", alias="schema")
    audit: str
    artifacts: tuple[Artifact, ...] = ()
    entries: tuple[LockEntry, ...] = ()

    def by_id(self) -> Mapping[str, LockEntry]:
        """Return the entries by source id."""
        return {entry.id: entry for entry in self.entries}


def read_record(body: bytes) -> Mapping[str, tuple[str, int]]:
    """Return what a wheel's RECORD says of each member: digest and size; of itself and of signatures it says neither.

    What is stated in another algorithm than SHA-256, or not at all, is an empty digest; a size that is not, -1.

    Raises:
        ValueError: it is no RECORD, or names a member twice.
    """
    stated: dict[str, tuple[str, int]] = {}
    try:
        for name, digest, size in csv.reader(io.StringIO(body.decode("utf-8"), newline="")):
            if name in stated:
                raise _TwiceError(f"expected each member once, found {name} twice")
            if size and not (size.isascii() and size.isdigit()):
                raise ValueError(size)
            stated[name] = (_stated_digest(digest), int(size) if size else -1)
    except _TwiceError:
        raise
    except (csv.Error, ValueError):
        raise ValueError("expected name, digest and size in each row, found another row") from None
    return stated


def _stated_digest(stated: str) -> str:
    algorithm, _, value = stated.partition("=")
    if algorithm != "sha256":
        return ""
    found = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
    if len(found) != _DIGEST_BYTES:
        raise ValueError(stated)
    return f"sha256:{found.hex()}"


class _TwiceError(ValueError):
    """A RECORD that says two things of one member."""


Lists: TypeAlias = Mapping[str, Sequence[Mapping[str, str]]]
"""The lists of `releases.yaml` by name; each item has a `key` and the fields that placeholders may name."""


def read_lists(body: bytes, where: str) -> Lists:
    """Return the lists that `for:` may name.

    Raises:
        SourceError: an item has no key, a key stands twice, or a value is not a plain string.
    """
    found, _ = records.loaded(body, where, "yaml", SourceError)
    problems = []
    for name, items in found.items() if isinstance(found, dict) else ():
        keys = [item.get("key") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        plain = isinstance(items, list) and all(
            isinstance(item, dict) and all(isinstance(value, str) for value in item.values()) for item in items
        )
        if not keys or not plain or None in keys or len(set(keys)) != len(items):
            problems.append(
                Problem(
                    where=where,
                    problem=f"{name}: expected items of plain strings, each with a key of its own",
                    remedy="Give every item a `key` that no other item has.",
                )
            )
    if not isinstance(found, dict) or not found:
        problems.append(
            Problem(
                where=where, problem="expected lists by name, found none", remedy="Write `releases:` and its items."
            )
        )
    if problems:
        raise SourceError(*problems)
    return cast(Lists, found)


def read_sources(body: bytes, where: str, lists: Lists) -> tuple[Source, ...]:
    """Return every source of `sources.yaml`, those that repeat over a list once for each of its items, in the file's order.

    Raises:
        SourceError: the file does not say what a source is, or names a list, a field or an id wrongly.
    """
    value, lines = records.loaded(body, where, "yaml", SourceError)
    entries = records.validated(value, lines, where, _SourcesFile, SourceError).sources
    problems: list[Problem] = []
    sources: list[Source] = []
    for number, entry in enumerate(entries):
        at = f"{where}:{lines.get(('sources', number), 1)}"
        sources.extend(_expanded(entry, at, lists, problems))
    seen: dict[str, str] = {}
    for source in sources:
        if source.id in seen:
            problems.append(
                Problem(
                    where=source.where,
                    problem=f"expected an id of its own, found {source.id} again (first at {seen[source.id]})",
                    remedy="Rename one of the two.",
                )
            )
        seen.setdefault(source.id, source.where)
    if problems:
        raise SourceError(*problems)
    return tuple(sources)


_NONE = "none"
"""How a list's item says that it has no such file: a word, never an empty value."""


def _expanded(entry: _SourceEntry, at: str, lists: Lists, problems: list[Problem]) -> Iterable[Source]:
    if entry.for_ is not None and entry.for_ not in lists:
        problems.append(
            Problem(
                where=at,
                problem=f"expected one of the lists {', '.join(sorted(lists))}, found {entry.for_!r}",
                remedy="Name a list of releases.yaml after `for:`.",
            )
        )
        return
    singular = (entry.for_ or "").removesuffix("s")
    items: Sequence[Mapping[str, str]] = lists[entry.for_] if entry.for_ else ({},)
    for item in items:
        fields = {**item, singular: item["key"]} if item else {}
        asked = set(_PLACEHOLDER.findall(entry.model_dump_json()))
        if unknown := sorted(asked - set(fields)):
            problems.append(
                Problem(
                    where=at,
                    problem=f"expected fields of the list's item {item.get('key', '(no list)')}, found {{{unknown[0]}}}",
                    remedy=f"Use one of {', '.join(sorted(fields)) or 'no placeholder'}, or give every item that field.",
                )
            )
            return
        source_id = _filled(entry.id, fields)
        if not _ID.fullmatch(source_id):
            problems.append(
                Problem(
                    where=at,
                    problem=f"expected an id of a-z, A-Z, 0-9 and .@_-, found {source_id!r}",
                    remedy="Begin with a small letter or a digit.",
                )
            )
            return
        needed = {name for locator in entry.locators for name in _PLACEHOLDER.findall(locator.model_dump_json())}
        without = sorted(name for name in needed if fields.get(name) == _NONE)
        yield Source(
            id=source_id,
            family=entry.id,
            key=item.get("key"),
            purpose=_filled(entry.purpose, fields),
            role=entry.role,
            mutability=entry.mutability,
            expects=entry.expects,
            locators=() if without else tuple(_filled_locator(locator, fields) for locator in entry.locators),
            recorded=entry.recorded,
            tree=entry.tree,
            lacking=f"{item.get('key')} has no {without[0]}" if without else None,
            listed_under=_listed_under(entry, fields) if without else None,
            where=at,
        )


def _listed_under(entry: _SourceEntry, fields: Mapping[str, str]) -> tuple[str, str] | None:
    """Return project and version of the first release locator that names both, although its file is lacking."""
    for locator in entry.locators:
        if isinstance(locator, ReleaseLocator):
            project, version = (_filled(text, fields) for text in (locator.release.project, locator.release.version))
            if _NONE not in (project, version):
                return project, version
    return None


def _filled(text: str, fields: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: fields[match.group(1)], text)


def _filled_locator(locator: Locator, fields: Mapping[str, str]) -> Locator:
    filled = _filled_value(locator.model_dump(), fields)
    return type(locator).model_validate(filled)


def _filled_value(value: Any, fields: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _filled(value, fields)
    return {key: _filled_value(item, fields) for key, item in value.items()}


def read_lock(body: bytes, where: str) -> Lock:
    """Return the lock.

    Raises:
        SourceError: the file is not a lock, or two entries have one id.
    """
    lock = records.read(body, where, "json", Lock, SourceError)
    ids = [entry.id for entry in lock.entries]
    if len(set(ids)) != len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise SourceError.at(where, f"expected each source once, found {twice} twice", "Fetch again from a clean lock.")
    return lock


def write_lock(lock: Lock) -> bytes:
    """Return the lock's bytes: artifacts by file name, entries by id, one form for one content."""
    ordered = lock.model_copy(
        update={
            "artifacts": tuple(sorted(lock.artifacts, key=lambda artifact: artifact.file)),
            "entries": tuple(sorted(lock.entries, key=lambda entry: entry.id)),
        }
    )
    return strict.dump_json(ordered.model_dump(mode="json", by_alias=True, exclude_none=True))
