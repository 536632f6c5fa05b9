"""Typed readers: bytes of one source in, one value with its place and the digest of its region out.

Every reader wants exactly one match. What it can't find once is an error that says what was there instead; what it can't
decide (a parse error inside, a value that is computed at run time) is unknown, never absent.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

Plain: TypeAlias = "str | int | bool | Decimal | tuple[Plain, ...]"
"""What a reader may return: words, numbers, truths and lists of them. No floats: a decimal literal stays a Decimal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A value read off bytes, where it stands, and the digest of the region it was read from.

    `at` is what a person needs to find it without this software: `{"line": 61, "lastLine": 61}` (the region is those whole
    lines, newline included, so that `sed -n 61p FILE | sha256sum` checks it), `{"pointer": "/a/b"}` (the region is the
    whole file), or `{"section": ".text", "address": "0x1f3a0", "bytes": "85c0…"}` (the region is those bytes). In a tree,
    `path` says in which of its files. `trail` are the steps that led there, first to last.
    """

    value: Plain
    at: Mapping[str, str | int]
    region: str
    trail: tuple[Hop, ...] = ()

    def read_as(self, value: Plain) -> Seen:
        """Return the same place under the name that the audit gives to what stands there."""
        return replace(self, value=value)

    def after(self, *hops: Hop) -> Seen:
        """Return the same, led there by these steps before its own."""
        return replace(self, trail=(*hops, *self.trail))

    def hop(self, name: str) -> Hop:
        """Return it as one step of a trail."""
        return Hop(value=self.value, at=self.at, region=self.region, step=name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hop(Seen):
    """One step on the way to an answer.

    `step` says what was met there: `import` (the value is `module:name`, or the module), `alias` (what is assigned),
    `branch` (a condition that the world decided), `class`, `function` (the qualified name), `decorator`, `attribute`,
    `instance` (what is called), `raise`, or what an audit calls it.
    """

    step: str

    @property
    def path(self) -> str:
        """The file within the artifact."""
        return str(self.at["path"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Searched:
    """What a search over a whole source found: with nothing found, an absence, as wide as `bytes` and `definitions` say.

    The same matcher must find something on a control, or the search proves nothing. `at` is the place that was searched,
    where it is less than a source, and `trail` what led there.
    """

    matcher: str
    bytes: int
    definitions: int
    found: int
    at: Mapping[str, str | int] | None = None
    region: str | None = None
    trail: tuple[Hop, ...] = ()
    control: Searched | None = None

    def against(self, control: Searched) -> Searched:
        """Return the search with its control, which the same matcher was put to in the same source."""
        return replace(self, control=control)

    def over(self, others: Iterable[Searched], matcher: str) -> Searched:
        """Return one search over this place and these, by the name that the audit gives to it."""
        each = (self, *others)
        return Searched(
            matcher=matcher,
            bytes=sum(one.bytes for one in each),
            definitions=sum(one.definitions for one in each),
            found=sum(one.found for one in each),
        )

    def after(self, *hops: Hop) -> Searched:
        """Return the same, led there by these steps before its own."""
        return replace(self, trail=(*hops, *self.trail))


class ReadingError(Exception):
    """The reader could not answer. `problem` is a sentence without the source's name; the audit adds that."""

    def __init__(self, problem: str, recorded: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.recorded = problem if recorded is None else recorded
        """The same without what the source says near by: a receipt holds no text of a source."""


class NotOneError(ReadingError):
    """What was looked for is there not once but not at all, or several times."""

    def __init__(
        self, looked_for: str, found: Sequence[int | str], near: Sequence[str] = (), *, places: str = "lines"
    ) -> None:
        if found:
            shown = ", ".join(str(place) for place in found[:8])
            there = f"found {len(found)} ({places} {shown}{', …' if len(found) > 8 else ''})"
        else:
            there = "found none"
        recorded = f"expected one {looked_for}, {there}"
        hint = f" (near: {', '.join(near[:3])})" if near and not found else ""
        super().__init__(recorded + hint, recorded)
        self.count = len(found)


class UnknownError(ReadingError):
    """The bytes do not decide: a parse error inside, a condition or a value that only a run would settle."""


class MissingError(ReadingError):
    """Files that the answer needs are in the artifact and were not fetched yet: `paths`, sorted."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(sorted(set(paths)))
        super().__init__(f"not fetched yet: {', '.join(self.paths)}")


def digest_of(region: bytes) -> str:
    """Return the region's digest in the notation of receipts, `sha256:` and 64 hex digits."""
    return "sha256:" + hashlib.sha256(region).hexdigest()


def lines_region(body: bytes, first: int, last: int) -> bytes:
    """Return the whole lines first to last, counted from one, with their newlines, as `sed -n first,lastp` prints them."""
    return b"".join(io.BytesIO(body).readlines()[first - 1 : last])
