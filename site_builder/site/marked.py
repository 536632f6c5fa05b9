"""Marked: the values of a built page, held to the receipts that they name in `data-address` and `data-receipt`.

What a mark must read as is what the build writes there; a value that bears no mark can't be held to anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from html.parser import HTMLParser
from typing import Final

from site_builder.errors import Problem
from site_builder.figures import reads
from site_builder.receipts import Cell, Ledger
from site_builder.site import downloads
from site_builder.site.reading import bare, reading, visible

_AGAIN: Final = "Download the page again; where it is the same, it is not what was built from that receipt."
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_TAG = re.compile(r"<[^>]*>")


@dataclass(kw_only=True, slots=True)
class _Mark:
    """An element with an address, and what is read in it."""

    tag: str
    line: int
    attributes: Mapping[str, str]
    text: list[str] = field(default_factory=list)


class _Marks(HTMLParser):
    """Gathers the marks of a page in the order in which they end."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[_Mark] = []
        self._open: list[tuple[str, _Mark | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # Of an attribute that is written twice, the first one counts.
        attributes = {name: value or "" for name, value in reversed(attrs)}
        marked = "data-address" in attributes or ("data-receipt" in attributes and "data-source" not in attributes)
        mark = _Mark(tag=tag, line=self.getpos()[0], attributes=attributes) if marked else None
        if tag not in _VOID:
            self._open.append((tag, mark))
        elif mark:
            self.found.append(mark)

    def handle_endtag(self, tag: str) -> None:
        if not any(tag == name for name, _ in self._open):
            return
        while True:
            name, mark = self._open.pop()
            if mark:
                self.found.append(mark)
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        for _, mark in self._open:
            if mark:
                mark.text.append(data)

    def close(self) -> None:
        super().close()
        while self._open:
            _, mark = self._open.pop()
            if mark:
                self.found.append(mark)


@dataclass(frozen=True)
class Opened:
    """A receipt as marks are held to it."""

    ledger: Ledger

    @cached_property
    def words(self) -> Mapping[tuple[str, str, str], str]:
        """How cells that were written by hand read."""
        return {place: passage.plain for place, passage in downloads.words_of(self.ledger).items()}

    def readings(self, cell: Cell) -> Collection[str]:
        """Return what the build may write for a value where no author did."""
        result, _, place = cell.address.partition("/")
        row, _, column = place.rpartition("/")
        written = self.words.get((result, row, column))
        if written is not None:
            return (_seen(written),)
        return (_seen(unescape(_TAG.sub("", reading(cell.value)))), _seen(bare(cell.value)))


def check_page(
    body: bytes, where: str, receipt: Callable[[str], Opened | None], *, marks_expected: bool = False
) -> Iterator[Problem]:
    """Yield each marked value of a page that does not read as what stands at its address.

    `receipt` returns the receipt of a pin, if it is at hand; with `marks_expected`, a page without any is a problem.
    """
    marks = _Marks()
    marks.feed(body.decode("utf-8", "replace"))
    marks.close()
    if marks_expected and not marks.found:
        yield Problem(
            where=where,
            problem="expected a value with data-address, found none",
            remedy="Save a guide's page or a receipt's, whole, as HTML.",
        )
    for mark in sorted(marks.found, key=lambda mark: mark.line):
        address, pin = mark.attributes.get("data-address", ""), mark.attributes.get("data-receipt", "")
        if problem := _problem(mark, address, pin, receipt(pin)):
            yield Problem(where=f"{where}:{mark.line}", problem=problem, remedy=_AGAIN)


def _problem(mark: _Mark, address: str, pin: str, receipt: Opened | None) -> str:
    if receipt is None:
        return f"{address}: expected a receipt that is here, found {pin or 'none named'}"
    cell = receipt.ledger.cells.get(address)
    if cell is None:
        return f"{address or 'no address'}: expected a value of {pin}, found none there"
    text = _seen("".join(mark.text))
    exact = mark.attributes.get("data-value")
    stated = visible(cell.value.text if isinstance(cell.value.text, str) else " ".join(cell.value.text))
    if exact is not None and exact != stated:
        return f"{address}: expected data-value {stated!r} ({pin}), found {exact!r}"
    if "claim" in mark.attributes.get("class", "").split():
        return (
            "" if reads(text, cell) else f"{address}: expected a text that reads as {stated!r} ({pin}), found {text!r}"
        )
    expected = receipt.readings(cell)
    return "" if text in expected else f"{address}: expected {next(iter(expected))!r} ({pin}), found {text!r}"


def _seen(text: str) -> str:
    return " ".join(visible(text).split())
