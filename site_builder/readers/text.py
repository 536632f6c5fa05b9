"""Texts without a parser of their own: one value by one pattern, which must match exactly once in the whole file.

For CMake pins, generated version files and the like. Where a parser exists (`python`, `structured`), it is the better
witness: a pattern sees no quotes, no conditions and no continued lines.

A pattern is the audit's own and is not guarded against itself: one that backtracks without end (`(a+)+b`) will. What is
guarded is the text: by its size and, unless a match may cross lines, by being looked at line by line.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from site_builder.readers import NotOneError, ReadingError, Seen, UnknownError, digest_of, lines_region

BYTES_AT_MOST = 16 << 20

_BRACKET = re.compile(r"#\[(=*)\[")


def pattern(body: bytes, regex: str, *, comment: str | None = None, across_lines: bool = False) -> Seen:
    """Return the one group of the one match of a pattern, at the whole lines that the match touches.

    Each line is looked at by itself, without its end, so that no match can cross one; with `across_lines` the whole
    text is, `.` takes a line feed and `^` and `$` are still a line's ends. With `comment`, the mark that begins a
    comment (`#`, `//`), a match behind such a mark on its line does not count, and with `#` neither does one inside
    `#[[ … ]]`. A mark in quotes is taken for a comment's all the same: that can hide a match, never add one.

    Raises:
        ReadingError: the pattern has not one group, or matches nothing at all.
        NotOneError: the text matches not at all, or several times.
        UnknownError: the text is too large, is not UTF-8, or matches without the group.
    """
    compiled = _compiled(regex, across_lines)
    text = _text(body)
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    comments = _comments(text, starts, comment) if comment else []
    counted: list[tuple[int, int, str | None]] = []
    commented: list[int] = []
    for start, end, group in _matches(compiled, text, starts, across_lines):
        line = bisect_right(starts, start)
        at = bisect_right(comments, (start, len(text))) - 1
        if at >= 0 and start < comments[at][1]:
            commented.append(line)
        else:
            counted.append((line, bisect_right(starts, max(start, end - 1)), group))
    if len(counted) != 1:
        near = [f"in a comment in line {line}" for line in commented] or _near(regex, text)
        raise NotOneError(f"match of {regex}", [line for line, _, _ in counted], near)
    first, last, value = counted[0]
    if value is None:
        raise UnknownError(f"line {first} matches {regex} without its group")
    return Seen(value=value, at={"line": first, "lastLine": last}, region=digest_of(lines_region(body, first, last)))


def _compiled(regex: str, across_lines: bool) -> re.Pattern[str]:
    try:
        compiled = re.compile(regex, re.DOTALL | re.MULTILINE if across_lines else 0)
    except re.error as error:
        raise ReadingError(f"the pattern {regex} is not a regular expression: {error}") from None
    if compiled.groups != 1:
        raise ReadingError(f"expected one group in the pattern {regex}, found {compiled.groups}")
    if compiled.search("") is not None:
        raise ReadingError(f"the pattern {regex} matches an empty text")
    return compiled


def _matches(
    compiled: re.Pattern[str], text: str, starts: list[int], across_lines: bool
) -> list[tuple[int, int, str | None]]:
    if across_lines:
        return [(found.start(), found.end(), found[1]) for found in compiled.finditer(text)]
    return [
        (start + found.start(), start + found.end(), found[1])
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
        for found in compiled.finditer(text[start:end].removesuffix("\n").removesuffix("\r"))
    ]


def _text(body: bytes) -> str:
    if len(body) > BYTES_AT_MOST:
        raise UnknownError(f"expected at most {BYTES_AT_MOST} bytes of text, found {len(body)}")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise UnknownError(f"line {line} is not UTF-8") from None


def _comments(text: str, starts: list[int], mark: str) -> list[tuple[int, int]]:
    """Return where comments begin and end, in order and apart; a bracket comment that is not closed goes to the end."""
    spans: list[tuple[int, int]] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        begins = text.find(mark, max(start, spans[-1][1] if spans else 0), end)
        while begins >= 0:
            bracket = _BRACKET.match(text, begins) if mark == "#" else None
            closes = text.find(f"]{bracket[1]}]", bracket.end()) if bracket else end
            spans.append((begins, closes if closes >= 0 else len(text)))
            begins = text.find(mark, spans[-1][1], end)
    return spans


def _near(regex: str, text: str) -> list[str]:
    """Name the lines that hold the pattern's longest word: where a person would look."""
    words = sorted(re.findall(r"(?<!\\)[A-Za-z_]{4,}", regex), key=len, reverse=True)
    if not words:
        return []
    lines = (number for number, line in enumerate(text.split("\n"), 1) if words[0] in line)
    return [f"{words[0]} in line {number}" for number, _ in zip(lines, range(3), strict=False)]
