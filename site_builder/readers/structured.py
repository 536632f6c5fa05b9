"""Structured texts: a value in JSON or YAML by its pointer, and a wheel's RECORD by member.

What is strict about reading them is `strict`'s; here a place is found in what it loaded.
"""

from __future__ import annotations

import base64
import binascii
import csv
import difflib
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from site_builder import strict
from site_builder.readers import (
    NotOneError,
    Plain,
    ReadingError,
    Searched,
    Seen,
    UnknownError,
    digest_of,
    lines_region,
)

_RECORD_AT_MOST = 16 << 20
_INDEX = re.compile(r"0|[1-9][0-9]*")


def json_pointer(body: bytes, pointer: str) -> Seen:
    """Return the value at a JSON Pointer (RFC 6901); a list is a tuple, a number with a point a Decimal.

    Raises:
        NotOneError: nothing is there.
        UnknownError: the text is no strict JSON, or an object or a null is there.
    """
    return _at_pointer(body, pointer, strict.load_json)


def yaml_pointer(body: bytes, pointer: str) -> Seen:
    """Return the string, or the list of strings, at a JSON Pointer into YAML; `3.10` is "3.10".

    Raises:
        NotOneError: nothing is there.
        UnknownError: the text is no strict YAML, or a mapping is there.
    """
    return _at_pointer(body, pointer, strict.load_yaml)


def record_entry(body: bytes, member: str) -> Seen:
    """Return what a wheel's RECORD says of a member: its digest, as `sha256:` and hex, and its size in bytes.

    Raises:
        NotOneError: RECORD does not list the member, or lists it several times.
        UnknownError: RECORD can't be read, or states no SHA-256 and size for the member.
    """
    rows = _record(body)
    found = [(line, row) for line, row in rows if row[0] == member]
    if len(found) != 1:
        names = sorted({row[0] for _, row in rows})
        same = [name for name in names if name.rpartition("/")[2] == member.rpartition("/")[2] and name != member]
        near = same or difflib.get_close_matches(member, names[:2000], 3, 0.8)
        raise NotOneError(f"entry {member} in RECORD", [line for line, _ in found], near)
    line, (_, digest, size) = found[0]
    value = (_sha256(digest, line), _size(size, line))
    return Seen(value=value, at={"line": line, "lastLine": line}, region=digest_of(lines_region(body, line, line)))


def record_count(body: bytes, member: str) -> Searched:
    """Return how often a wheel's RECORD lists a member or, where it ends in a slash, members below it.

    Raises:
        UnknownError: RECORD can't be read.
    """
    rows = _record(body)
    below = member.endswith("/")
    found = sum(row[0].startswith(member) if below else row[0] == member for _, row in rows)
    what = f"RECORD entry {'below ' if below else ''}{member}"
    return Searched(matcher=what, bytes=len(body), definitions=len(rows), found=found)


def record_absent(body: bytes, member: str) -> Searched:
    """Return the search of `record_count`, once it has found nothing.

    Raises:
        ReadingError: RECORD lists the member.
        UnknownError: RECORD can't be read.
    """
    searched = record_count(body, member)
    if searched.found:
        raise ReadingError(f"expected no {searched.matcher}, found {searched.found}")
    return searched


def _at_pointer(body: bytes, pointer: str, load: Callable[[bytes, str], Any]) -> Seen:
    steps = _steps(pointer)
    try:
        value = load(body, "the text")
    except strict.LoadError as error:
        place = f"line {error.line}: " if error.line is not None else ""
        raise UnknownError(f"{place}{error.problem}") from None
    for depth, step in enumerate(steps):
        here = "/".join(["", *(_escaped(taken) for taken in steps[: depth + 1])])
        value = _step(value, step, here)
    return Seen(value=_plain(value, pointer), at={"pointer": pointer}, region=digest_of(body))


def _steps(pointer: str) -> list[str]:
    if (pointer and not pointer.startswith("/")) or re.search(r"~(?![01])", pointer):
        raise ReadingError(f"{pointer!r} is no JSON Pointer: expected /-separated steps with ~0 for ~ and ~1 for /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _step(value: Any, step: str, here: str) -> Any:
    if isinstance(value, dict):
        if step in value:
            return value[step]
        raise NotOneError(f"value at {here}", [], difflib.get_close_matches(step, sorted(value)[:2000], 3, 0.6))
    if isinstance(value, list):
        if _INDEX.fullmatch(step) and len(step) < 10 and int(step) < len(value):
            return value[int(step)]
        raise NotOneError(f"value at {here}", [], [f"a list of {len(value)}"])
    raise NotOneError(f"value at {here}", [], ["a value without members above it"])


def _plain(value: Any, pointer: str) -> Plain:
    if isinstance(value, str | int | bool | Decimal):
        return value
    if isinstance(value, list):
        return tuple(_plain(item, f"{pointer}/{index}") for index, item in enumerate(value))
    said = "null" if value is None else "an object, which is no single value: point at its members"
    raise UnknownError(f"at {pointer or 'the top'} stands {said}")


def _record(body: bytes) -> list[tuple[int, list[str]]]:
    if len(body) > _RECORD_AT_MOST:
        raise UnknownError(f"expected at most {_RECORD_AT_MOST} bytes of RECORD, found {len(body)}")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise UnknownError(f"line {line} is not UTF-8") from None
    rows: list[tuple[int, list[str]]] = []
    for line, written in enumerate(text.split("\n"), 1):
        if not written.strip("\r"):
            continue
        try:
            # One line at a time: a quote that is left open must not swallow the entries below it.
            row = next(csv.reader([written.removesuffix("\r")], strict=True))
        except csv.Error:
            row = []
        if len(row) != 3 or not row[0] or "\r" in row[0]:
            raise UnknownError(f"line {line}: expected path, digest and size, found something else")
        rows.append((line, row))
    if not rows:
        raise UnknownError("RECORD lists nothing")
    return rows


def _sha256(stated: str, line: int) -> str:
    name, _, encoded = stated.partition("=")
    try:
        digest = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    canonical = base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == encoded.rstrip("=")
    if name != "sha256" or len(digest) != 32 or not canonical:
        raise UnknownError(f"line {line} states no SHA-256 of the member")
    return "sha256:" + digest.hex()


def _size(stated: str, line: int) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", stated):
        raise UnknownError(f"line {line} states no size of the member")
    return int(stated)
