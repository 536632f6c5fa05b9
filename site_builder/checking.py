"""Checking what was published by what it says of itself: a saved receipt, or a site by its list of files and its marks.

The bytes come from whoever reads them, a folder or an address. Nothing else is needed; whether they are the ones that
were published, the log says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue, ValidationError

from site_builder import receipts, strict
from site_builder.errors import EvidenceError, Problem, ReceiptError
from site_builder.publications import Log
from site_builder.receipts import Ledger
from site_builder.records import Record
from site_builder.sources import DigestText
from site_builder.values import Digest, Expression, ValueRefused, evaluate, shown

if TYPE_CHECKING:
    from site_builder.site.marked import Opened

MANIFEST = "build-manifest.json"
SUMS = "SHA256SUMS"

_KEEP = "Compare it with the public copy: a receipt is written once and never edited."
_AGAIN = "Download it again; where it is the same, what is published there is not what was built."
_RECEIPT = re.compile(r"receipts/([^/]+)/([^/]+)/receipt\.json")
_NEWEST = re.compile(r"receipts/([^/]+)/receipt\.json")


class _File(Record):
    path: str
    bytes: str
    digest: DigestText


class _Manifest(Record):
    schema_: Literal["build-manifest/1"] = Field(alias="schema")
    url: str
    builder: str
    versions: Mapping[str, str]
    files: tuple[_File, ...]


def sound(body: bytes, where: str) -> Ledger:
    """Return the receipt that these bytes are, once each of its values stands where it must and is of its kind.

    Raises:
        ReceiptError: it is no receipt, or no value can be read at one of its addresses.
    """
    ledger = receipts.opened(body, where)
    try:
        if ledger.cells and ledger.expressions is not None:
            return ledger
        problem = "expected values, found none"
    except ValueRefused as error:
        problem = f"expected values of the kinds that it names: {error}"
    except (LookupError, ArithmeticError) as error:
        problem = f"expected a value in every cell, found none: {error}"
    raise ReceiptError.at(where, problem, _KEEP)


def check_receipt(body: bytes, where: str) -> Iterator[Problem]:
    """Yield what is wrong with a receipt by itself.

    Raises:
        ReceiptError: the bytes are no receipt.
    """
    yield from inconsistent(sound(body, where), body, where)


def inconsistent(ledger: Ledger, body: bytes, where: str) -> Iterator[Problem]:
    """Yield what is wrong with a receipt: its form, its id, and each value that its own expression does not yield."""
    if receipts.written(ledger.receipt) != body:
        yield Problem(where=where, problem="expected the one form of a receipt, found another", remedy=_KEEP)
    issued = ledger.receipt.issued.operation_id
    if (derived := receipts.operation_id(ledger.receipt)) != issued:
        yield Problem(where=where, problem=f"operationId: expected {derived}, found {issued}", remedy=_KEEP)
    for at, problem in (*_unyielded(ledger), *_unheld(ledger)):
        yield Problem(where=where, problem=f"{at}: {problem}", remedy=_KEEP)


def recomputed(ledger: Ledger) -> tuple[int, int]:
    """Return how many values and invariants of a receipt can be computed again without the audit's own script."""
    values = sum(expression != "opaque" for expression in ledger.expressions.values())
    return values, sum(item.expression != "opaque" for item in ledger.receipt.body.invariants)


def _unyielded(ledger: Ledger) -> Iterator[tuple[str, str]]:
    for address, expression in ledger.expressions.items():
        if expression == "opaque":
            continue
        stated = shown(ledger.cell(address).value)
        try:
            value = ledger.recomputed(address)
        except (ValueRefused, LookupError, ArithmeticError) as error:
            yield address, f"expected what its expression yields, which is nothing ({error}), found {stated}"
        else:
            if value.text != ledger.cell(address).value.text:
                yield address, f"expected {shown(value)} (recomputed), found {stated}"


def _unheld(ledger: Ledger) -> Iterator[tuple[str, str]]:
    for item in ledger.receipt.body.invariants:
        if not item.broken_by:
            yield item.id, "expected something that can break it, found nothing"
        if item.expression == "opaque":
            continue
        try:
            holds = str(evaluate(_plain(item.expression), lambda leaf: ledger.cell(leaf).value).text)
        except (ValueRefused, LookupError, ArithmeticError) as error:
            holds = f"nothing ({error})"
        if holds != "yes":
            yield item.id, f"expected a relation that holds, found {holds}"


def _plain(expression: JsonValue) -> Expression:
    return [_plain(item) for item in expression] if isinstance(expression, list) else str(expression)


def check_site(names: Collection[str] | None, read: Callable[[str], bytes | None], where: str) -> Iterator[Problem]:
    """Yield where a site is not what its manifest and its list of digests say, what is wrong with its receipts, and which
    marked values of its pages do not read as the receipts that they name.

    `names` are the files that are there, where that can be told; `read` returns a file's bytes or nothing.
    """
    # Loaded where pages are read: whoever only asks for a value needs no templates.
    from site_builder.site import marked

    manifest, sums = read(MANIFEST), read(SUMS)
    for name, body in ((MANIFEST, manifest), (SUMS, sums)):
        if body is None:
            yield Problem(where=f"{where}/{name}", problem="expected the file, found none", remedy="Name a built site.")
    if manifest is None or sums is None:
        return
    try:
        listed = {file.path: file for file in _Manifest.model_validate(strict.load_json(manifest, where)).files}
    except (strict.LoadError, ValidationError):
        yield Problem(where=f"{where}/{MANIFEST}", problem="expected a manifest, found something else", remedy=_AGAIN)
        return
    receipt = _receipts(listed, read)
    stated = {path: file.digest.removeprefix("sha256:") for path, file in listed.items()}
    stated[MANIFEST] = Digest.of(manifest).removeprefix("sha256:")
    if sums != "".join(f"{digest}  {path}\n" for path, digest in sorted(stated.items())).encode():
        yield Problem(
            where=f"{where}/{SUMS}", problem="expected the digests of the manifest, found others", remedy=_AGAIN
        )
    for path, file in listed.items():
        body = read(path)
        if body is None:
            yield Problem(where=f"{where}/{path}", problem="expected the file, found none", remedy=_AGAIN)
        elif (found := Digest.of(body)) != file.digest or str(len(body)) != file.bytes:
            yield Problem(
                where=f"{where}/{path}",
                problem=f"expected {file.digest} of {file.bytes} bytes, found {found} of {len(body)}",
                remedy=_AGAIN,
            )
        elif _RECEIPT.fullmatch(path):
            try:
                yield from check_receipt(body, f"{where}/{path}")
            except EvidenceError as error:
                yield from error.problems
        elif path.endswith(".html"):
            yield from marked.check_page(body, f"{where}/{path}", receipt)
    yield from _misplaced(listed, where)
    for name in sorted(set(names or ()) - {*listed, MANIFEST, SUMS}):
        yield Problem(
            where=f"{where}/{name}", problem="expected only what the manifest lists, found this", remedy="Remove it."
        )


def _receipts(listed: Mapping[str, _File], read: Callable[[str], bytes | None]) -> Callable[[str], Opened | None]:
    """Return what opens a receipt of the site by its pin, each once; what is wrong with one is said where it is checked."""
    from site_builder.site.marked import Opened

    @cache
    def opened(pin: str) -> Opened | None:
        path = f"receipts/{pin.replace('@', '/')}/receipt.json"
        body = read(path) if _RECEIPT.fullmatch(path) and path in listed else None
        try:
            return None if body is None else Opened(sound(body, path))
        except EvidenceError:
            return None

    return opened


def _misplaced(listed: Mapping[str, _File], where: str) -> Iterator[Problem]:
    """Yield each newest receipt that is no copy of the one of the highest number, which alone is held to itself.

    A draft is the newest only of an audit that has no numbered one.
    """
    versions = sorted((match for match in map(_RECEIPT.fullmatch, listed) if match), key=_order)
    newest = {match[1]: match[0] for match in versions}
    for path, file in listed.items():
        if (match := _NEWEST.fullmatch(path)) is None:
            continue
        own = newest.get(match[1])
        if own is None or file.digest != listed[own].digest:
            expected = f"{listed[own].digest}, as {own} is" if own else "no receipt of that audit"
            yield Problem(where=f"{where}/{path}", problem=f"expected {expected}, found {file.digest}", remedy=_AGAIN)


def _order(numbered: re.Match[str]) -> tuple[bool, int]:
    version = numbered[2]
    return version != "draft", int(version) if re.fullmatch(r"[0-9]{1,9}", version) else 0


def against_log(manifest: bytes, log: Log, where: str) -> Iterator[Problem]:
    """Yield each numbered receipt of a published site that this log does not name: its last lines may be missing here.

    This is what finds a log whose end was dropped together with the receipts.
    """
    try:
        listed = _Manifest.model_validate(strict.load_json(manifest, where)).files
    except (strict.LoadError, ValidationError):
        return
    named = {(entry.audit, str(entry.version)): entry.file_digest for entry in log.publications}
    for file in listed:
        match = _RECEIPT.fullmatch(file.path)
        if match is None or match[2] == "draft":
            continue
        expected = named.get((match[1], match[2]))
        if expected != file.digest:
            yield Problem(
                where=f"{where}/{file.path}",
                problem=f"expected {expected or 'no such receipt'} in {log.where}, found {file.digest} published",
                remedy="One of the two was cut short or rewritten: restore log and receipts before you publish.",
            )
