"""Patterns: one match in the whole file, within a line, not in a comment."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_builder.readers import ReadingError, Seen, text

PINS = b"""include(Fetch)
# GIT_TAG 0000000 was slow
declare(
  kernel
  GIT_REPOSITORY https://example.org/kernel#main
  GIT_TAG 1a2b3c4d  # the pin
)
"""


def refusal(body: bytes, regex: str, **options: Any) -> str:
    """Return what the reader says when it gives no value."""
    with pytest.raises(ReadingError) as caught:
        text.pattern(body, regex, **options)
    return caught.value.problem


def test_pin_behind_a_comment_line() -> None:
    """A match in a comment does not count; the region is the whole line of the one that does."""
    line = b"  GIT_TAG 1a2b3c4d  # the pin\n"

    assert Seen(
        value="1a2b3c4d",
        at={"line": 6, "lastLine": 6},
        region="sha256:" + hashlib.sha256(line).hexdigest(),
    ) == text.pattern(PINS, r"GIT_TAG\s+([0-9a-f]+)", comment="#")


@pytest.mark.parametrize(
    ("regex", "options", "message"),
    [
        (r"GIT_TAG ([0-9a-f]+)", {}, r"expected one match of GIT_TAG ([0-9a-f]+), found 2 (lines 2, 6)"),
        (
            r"GIT_TAG (0+)",
            {"comment": "#"},
            "expected one match of GIT_TAG (0+), found none (near: in a comment in line 2)",
        ),
        (
            r"GIT_TAGS (\w+)|kernel",
            {},
            r"expected one match of GIT_TAGS (\w+)|kernel, found 2 (lines 4, 5)",
        ),
        (
            r"GIT_TAG=(\w+)",
            {},
            r"expected one match of GIT_TAG=(\w+), found none (near: GIT_TAG in line 2, GIT_TAG in line 6)",
        ),
        (r"declare\(\s+(\w+)", {}, r"expected one match of declare\(\s+(\w+), found none (near: declare in line 3)"),
        (r"declare\(|(xyz)", {}, r"line 3 matches declare\(|(xyz) without its group"),
        (r"GIT_TAG", {}, "expected one group in the pattern GIT_TAG, found 0"),
        (r"(a)(b)", {}, "expected one group in the pattern (a)(b), found 2"),
        (r"(x*)", {}, "the pattern (x*) matches an empty text"),
        (r"(x", {}, "the pattern (x is not a regular expression: missing ), unterminated subpattern at position 0"),
    ],
)
def test_pattern_that_gives_no_one_value(regex: str, options: dict[str, Any], message: str) -> None:
    """What matches not at all, several times or beside the point is an error that says where."""
    assert message == refusal(PINS, regex, **options)


def test_match_across_lines_when_asked_for() -> None:
    """A match may cross lines only if that is asked for; its region then is all of them."""
    seen = text.pattern(PINS, r"^declare\(\s+(\w+)$", across_lines=True)

    assert ("kernel", {"line": 3, "lastLine": 4}) == (seen.value, seen.at)
    assert "sha256:" + hashlib.sha256(b"declare(\n  kernel\n").hexdigest() == seen.region


def test_match_that_ends_with_its_line() -> None:
    """A line feed that is matched belongs to the line it ends."""
    assert {"line": 1, "lastLine": 1} == text.pattern(b"a\nb\n", r"(a)\n", across_lines=True).at


def test_bracket_comment() -> None:
    """CMake's bracket comments count as comments to their end, or to the file's."""
    assert "3" == text.pattern(b"#[=[\npin 1\n]] pin 2\n]=] \npin 3\n", r"pin (\d)", comment="#").value
    assert "expected one match of pin (\\d), found none (near: in a comment in line 2)" == refusal(
        b"#[[\npin 1\n", r"pin (\d)", comment="#"
    )


def test_mark_in_quotes() -> None:
    """A mark in quotes hides a match rather than adding one."""
    assert "expected one match of pin (\\d), found none (near: in a comment in line 1)" == refusal(
        b'url "a#b" pin 1\n', r"pin (\d)", comment="#"
    )


def test_lines_that_end_in_crlf() -> None:
    """A carriage return before the line feed belongs to the line's end, and to its region."""
    seen = text.pattern(b"a = 1\r\nb = 2\r\n", r"^b = (\d+)$")

    assert ("2", {"line": 2, "lastLine": 2}) == (seen.value, seen.at)
    assert "sha256:" + hashlib.sha256(b"b = 2\r\n").hexdigest() == seen.region


def test_text_that_is_not_read() -> None:
    """A text that is too large or not UTF-8 is unknown."""
    assert "line 2 is not UTF-8" == refusal(b"a\n\xff\n", "(a)")
    assert "expected at most 16777216 bytes of text, found 16777217" == refusal(b"a" * ((16 << 20) + 1), "(b)")


def test_comments_that_do_not_end() -> None:
    """Many marks, or many matches on one line, cost no more than few."""
    assert "found 500000 (lines 1, 1" in refusal(b"pin 1 " * 500_000, r"pin (\d)", comment="#")
    assert "found none" in refusal(b"# pin 1 " * 500_000, r"pin (\d)", comment="#")
    assert "found none" in refusal(b"#[=[ \n" * 100_000, r"pin (\d)", comment="#")


@given(st.lists(st.sampled_from([b"x = 1", b"# x = 2", b"x", b"", b"y \xc3\xbc = 3", b"x = 4 # x = 5"]), max_size=6))
def test_value_and_region_are_what_stands_there(lines: list[bytes]) -> None:
    """A value read stands in its region, and the region is the line said."""
    body = b"\n".join(lines)
    try:
        seen = text.pattern(body, r"x = (\d)", comment="#")
    except ReadingError:
        assert 1 != sum(line.startswith(b"x = ") for line in lines)
        return

    line = body.splitlines(keepends=True)[int(seen.at["line"]) - 1]
    assert "sha256:" + hashlib.sha256(line).hexdigest() == seen.region
    assert f"x = {seen.value}".encode() in line
