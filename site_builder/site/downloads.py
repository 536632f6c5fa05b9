"""Downloads: a receipt's tables and lists as files of their own, for spreadsheets and for the hand.

What is written is what the receipt says, words without their markup. Which files there are is decided by the receipt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Final

from site_builder.figures import Vocabulary
from site_builder.guides import Passage, read_cells
from site_builder.receipts import Ledger, Result
from site_builder.site.reading import visible

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_FORMULA = re.compile(r"[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]")
"""What a spreadsheet may take for the beginning of a formula."""
_TAG = re.compile(r"<[^>]*>")
_KEPT: Final = {"<code>": "`", "</code>": "`", "<em>": "*", "</em>": "*", "<strong>": "**", "</strong>": "**"}

Words = Mapping[tuple[str, str, str], Passage]


def files(ledger: Ledger, url: str) -> Iterator[tuple[str, bytes]]:
    """Yield a receipt's downloads by name: each table and list as CSV, and each list with empty boxes.

    `url` is the address of the receipt's page.
    """
    words = words_of(ledger)
    for result in ledger.results.values():
        if result.rows:
            yield f"{result.id}.csv", _csv(result, words)
        if result.kind == "checklist":
            yield f"{result.id}.md", _boxes(ledger, result, words, url)


def words_of(ledger: Ledger) -> Words:
    """Return the cells that were written by hand, by table, row and column, read as the Markdown that they are."""
    texts = {
        (result.id, str(row["id"]), column.id): str(row[column.id])
        for result in ledger.results.values()
        if result.class_ == "editorial"
        for row in result.rows
        for column in result.columns
    }
    passages, _ = read_cells(((f"{ledger.audit}:1", text) for text in texts.values()), Vocabulary())
    return dict(zip(texts, passages, strict=True))


def _csv(result: Result, words: Words) -> bytes:
    """A table: exact values, ids and units in the first line."""
    units = [
        f"{column.id} [{column.unit}]" if column.unit and column.unit != "1" else column.id for column in result.columns
    ]
    lines = [["row", *units]]
    for row in result.rows:
        cells = [str(row["id"])]
        for column in result.columns:
            text, passage = row[column.id], words.get((result.id, str(row["id"]), column.id))
            if passage is not None:
                text = " ".join(passage.plain.split())
            cells.append(text if isinstance(text, str) else " ".join(text))
        lines.append(cells)
    return "".join(",".join(map(_quoted, line)) + "\n" for line in lines).encode()


def _quoted(text: str) -> str:
    """A cell that is a text to every spreadsheet: an apostrophe stands before what would be a formula."""
    shown = visible(text)
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        shown = f"'{shown}"
    return '"' + shown.replace('"', '""') + '"' if any(sign in shown for sign in ',"\r\n') else shown


def _boxes(ledger: Ledger, result: Result, words: Words, url: str) -> bytes:
    """A list to be ticked off by hand: plain text that is Markdown as well."""
    version = ledger.receipt.issued.version
    lines = [f"# {_line(result.title)}", "", _line(result.statement), ""]
    for number, row in enumerate(result.rows, 1):
        column = result.columns[-1].id
        passage = words.get((result.id, str(row["id"]), column))
        text = _line(str(row[column])) if passage is None else _marked(passage)
        lines.append(f"{f'{number}.' if result.ordered else '-'} [ ] {text}")
    lines += ["", f"From {ledger.audit}, {'draft' if version == 'draft' else f'version {version}'}: {url}#{result.id}"]
    return ("\n".join(lines) + "\n").encode()


def _marked(passage: Passage) -> str:
    """A passage with its code and emphasis as Markdown has them, and its links as their texts."""
    html = passage.html(lambda _link: "<a>")
    return _line(unescape(_TAG.sub(lambda tag: _KEPT.get(tag[0], ""), html)))


def _line(text: str) -> str:
    return visible(" ".join(text.split()))
