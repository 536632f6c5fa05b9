"""Pointers into JSON and YAML, and entries of RECORD: one value, or an error that says what stands there."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_builder.readers import NotOneError, ReadingError, Searched, Seen, UnknownError, structured

CONFIG = b'{"layers": 78, "ratio": 0.50, "a/b": {"m~n": [true, "x"]}, "none": null, "list": [{"k": 1}]}\n'
MEMBER = b"print('hello')\n"
ENCODED = base64.urlsafe_b64encode(hashlib.sha256(MEMBER).digest()).rstrip(b"=")
RECORD = b"""demo/__init__.py,sha256=%s,15
"demo/odd, name.py",sha256=%s,15
demo/plain.py,,
demo-1.0.dist-info/RECORD,,
""" % (ENCODED, ENCODED)


def refusal(read: Callable[..., Any], *given: Any) -> tuple[type[ReadingError], str]:
    """Return the kind and the words of the reader's error."""
    with pytest.raises(ReadingError) as caught:
        read(*given)
    return type(caught.value), caught.value.problem


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/layers", 78),
        ("/ratio", Decimal("0.50")),
        ("/a~1b/m~0n", (True, "x")),
        ("/a~1b/m~0n/1", "x"),
        ("/list/0/k", 1),
    ],
)
def test_value_at_a_pointer(pointer: str, value: object) -> None:
    """The value keeps its type and its digits; the region is the whole file."""
    seen = structured.json_pointer(CONFIG, pointer)

    assert (
        Seen(value=seen.value, at={"pointer": pointer}, region="sha256:" + hashlib.sha256(CONFIG).hexdigest()) == seen
    )
    assert repr(value) == repr(seen.value)


@pytest.mark.parametrize(
    ("pointer", "kind", "message"),
    [
        ("/layer", NotOneError, "expected one value at /layer, found none (near: layers)"),
        ("/a~1b/m~0n/2", NotOneError, "expected one value at /a~1b/m~0n/2, found none (near: a list of 2)"),
        ("/a~1b/m~0n/-", NotOneError, "expected one value at /a~1b/m~0n/-, found none (near: a list of 2)"),
        ("/a~1b/m~0n/01", NotOneError, "expected one value at /a~1b/m~0n/01, found none (near: a list of 2)"),
        (
            "/layers/x",
            NotOneError,
            "expected one value at /layers/x, found none (near: a value without members above it)",
        ),
        ("/none", UnknownError, "at /none stands null"),
        ("/a~1b", UnknownError, "at /a~1b stands an object, which is no single value: point at its members"),
        ("/list", UnknownError, "at /list/0 stands an object, which is no single value: point at its members"),
        ("", UnknownError, "at the top stands an object, which is no single value: point at its members"),
        (
            "layers",
            ReadingError,
            "'layers' is no JSON Pointer: expected /-separated steps with ~0 for ~ and ~1 for /",
        ),
        ("/~2", ReadingError, "'/~2' is no JSON Pointer: expected /-separated steps with ~0 for ~ and ~1 for /"),
    ],
)
def test_pointer_that_leads_to_no_one_value(pointer: str, kind: type[ReadingError], message: str) -> None:
    """What is not there is not one; what is there but no value is unknown."""
    assert (kind, message) == refusal(structured.json_pointer, CONFIG, pointer)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"a": 1,\n"a": 2}', "line 2: the key 'a' stands twice in one object"),
        (b'{"a": NaN}', "line 1: NaN is not JSON"),
        (b'\xef\xbb\xbf{"a": 1}', "line 1: begins with a byte-order mark"),
        (b'{"a": "\xff"}', "line 1: expected UTF-8, found the byte 0xff"),
        (b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}", "line 1: expected at most 64 levels, found more"),
        (b"<html>", "line 1: expected a value, found '<'"),
        (b" " * (8 * 1024 * 1024 + 1), "expected at most 8388608 bytes, found 8388609"),
    ],
)
def test_json_with_no_single_meaning(body: bytes, message: str) -> None:
    """A file that others would guess at is unknown, wherever the pointer leads."""
    assert (UnknownError, message) == refusal(structured.json_pointer, body, "/a")


def test_yaml_at_a_pointer() -> None:
    """A scalar in YAML is the word that is written."""
    body = b"python:\n  versions: [3.10, '3.11']\n  on: yes\n"

    assert ("3.10", "3.11") == structured.yaml_pointer(body, "/python/versions").value
    assert "3.10" == structured.yaml_pointer(body, "/python/versions/0").value
    assert "yes" == structured.yaml_pointer(body, "/python/on").value
    assert (NotOneError, "expected one value at /pyton, found none (near: python)") == refusal(
        structured.yaml_pointer, body, "/pyton"
    )


def test_yaml_with_an_alias() -> None:
    """A shortcut of YAML makes the file unknown."""
    assert (UnknownError, "line 1: an anchor (&) is not allowed") == refusal(
        structured.yaml_pointer, b"a: &x 1\nb: *x\n", "/a"
    )


@pytest.mark.parametrize(("member", "line"), [("demo/__init__.py", 1), ("demo/odd, name.py", 2)])
def test_entry_of_record(member: str, line: int) -> None:
    """An entry is the digest as receipts write it and the size; its region is its line."""
    region = RECORD.splitlines(keepends=True)[line - 1]

    assert Seen(
        value=("sha256:" + hashlib.sha256(MEMBER).hexdigest(), 15),
        at={"line": line, "lastLine": line},
        region="sha256:" + hashlib.sha256(region).hexdigest(),
    ) == structured.record_entry(RECORD, member)


@pytest.mark.parametrize(
    ("record", "member", "kind", "message"),
    [
        (RECORD, "demo/plain.py", UnknownError, "line 3 states no SHA-256 of the member"),
        (
            RECORD,
            "demo/__init.py",
            NotOneError,
            "expected one entry demo/__init.py in RECORD, found none (near: demo/__init__.py)",
        ),
        (
            RECORD,
            "other/plain.py",
            NotOneError,
            "expected one entry other/plain.py in RECORD, found none (near: demo/plain.py)",
        ),
        (
            RECORD + RECORD,
            "demo/plain.py",
            NotOneError,
            "expected one entry demo/plain.py in RECORD, found 2 (lines 3, 7)",
        ),
        (b"a,md5=abc,1\n", "a", UnknownError, "line 1 states no SHA-256 of the member"),
        (b"a,sha256=%s,\n" % ENCODED, "a", UnknownError, "line 1 states no size of the member"),
        (b"a,sha256=%s,-1\n" % ENCODED, "a", UnknownError, "line 1 states no size of the member"),
        (b"a,sha256=!%s,1\n" % ENCODED, "a", UnknownError, "line 1 states no SHA-256 of the member"),
        (b"a,,\nb,\n", "a", UnknownError, "line 2: expected path, digest and size, found something else"),
        (b'a,,\n"b,,\nc,,\n', "a", UnknownError, "line 2: expected path, digest and size, found something else"),
        (b"\n", "a", UnknownError, "RECORD lists nothing"),
        (b"a,,\n\xff", "a", UnknownError, "line 2 is not UTF-8"),
    ],
)
def test_record_that_gives_no_one_entry(record: bytes, member: str, kind: type[ReadingError], message: str) -> None:
    """A member that is not listed is not one; a RECORD that can't be read, or says nothing of it, is unknown."""
    assert (kind, message) == refusal(structured.record_entry, record, member)


def test_member_that_record_does_not_list() -> None:
    """An absence says how much was searched; the same search finds a member that is there."""
    assert Searched(
        matcher="RECORD entry demo/gone.py", bytes=len(RECORD), definitions=4, found=0
    ) == structured.record_absent(RECORD, "demo/gone.py")
    assert 3 == structured.record_count(RECORD, "demo/").found
    assert (ReadingError, "expected no RECORD entry demo/plain.py, found 1") == refusal(
        structured.record_absent, RECORD, "demo/plain.py"
    )


def test_absence_from_a_record_that_is_not_one() -> None:
    """Nothing is absent from what can't be read."""
    assert (UnknownError, "line 1: expected path, digest and size, found something else") == refusal(
        structured.record_absent, b"<html>\n", "a"
    )


@given(st.binary(max_size=80), st.integers(0, len(RECORD)))
def test_record_with_other_bytes_in_it(inserted: bytes, at: int) -> None:
    """Whatever stands in a RECORD, an answer is an entry that stands there or an error."""
    body = RECORD[:at] + inserted + RECORD[at:]
    try:
        seen = structured.record_entry(body, "demo/__init__.py")
    except ReadingError:
        return

    assert seen.region in {"sha256:" + hashlib.sha256(line + b"\n").hexdigest() for line in body.split(b"\n")}
