"""Issuing: an audit's findings become a draft receipt, and a draft becomes a numbered one.

Where the files go, and in which order, is `build.py`'s and `project`'s work; the log's line is `publications`'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from site_builder import editorial, publications, receipts, verification
from site_builder.bindings import Bound
from site_builder.errors import ReceiptError
from site_builder.guides import Guide
from site_builder.inputs import AuditInputs, File, Inputs
from site_builder.publications import Log
from site_builder.receipts import Issued, Receipt
from site_builder.values import Digest

_PARSERS = ("capstone", "pyyaml", "tree-sitter", "tree-sitter-python")


def draft(inputs: Inputs, audit: AuditInputs) -> Receipt:
    """Return the draft receipt: what the audit finds in the bytes that are at hand, all that are required among them.

    Raises:
        EvidenceError: required bytes are not at hand, or the audit does not hold.
    """
    held = verification.snapshot_gate(inputs, [audit.name], require_bytes=True)[audit.name]
    # What can't be read any more stands as it was read: a mutable page that has moved on, say.
    before = verification.newest(audit)
    recorded = verification.recorded_in(receipts.opened(before[1].body, before[1].where).receipt) if before else {}
    body = verification.computed(audit, held, recorded)
    published = publications.read(inputs.log.body, inputs.log.where).of(audit.name)
    desk = editorial.desk(audit)
    issued = Issued(
        version="draft",
        as_of=max(entry.retrieved_at for entry in held.lock.entries),
        operation_id="",
        # A number that no line of the log names was never published, and nothing follows it.
        predecessor=Digest(published[-1].file_digest) if published else "none",
        builder=inputs.builder,
        parsers={name: inputs.versions[name] for name in _PARSERS if name in inputs.versions},
        overlap=desk.overlap,
        intake=desk.intake,
        search_budget=desk.search_budget,
        review=desk.review,
    )
    return _identified(Receipt(audit=audit.name, body=body, issued=issued))


@dataclass(frozen=True, kw_only=True, slots=True)
class Numbered:
    """A draft under its number."""

    version: int
    body: bytes
    logged: bool
    """Whether the log names it already: an earlier publication was interrupted behind that."""


def numbered(audit: AuditInputs, log: Log) -> Numbered:
    """Return the draft under the number that follows what the log names.

    Raises:
        ReceiptError: there is no draft, it says what the newest published receipt says, or it does not follow that one.
    """
    file = audit.receipts.get("draft")
    if file is None:
        raise ReceiptError.at(
            f"evidence/{audit.name}/receipts/draft.json",
            "expected a draft to publish, found none",
            f"Run `python build.py issue {audit.name}`.",
        )
    receipt = receipts.opened(file.body, file.where).receipt
    published = ["none", *(entry.file_digest for entry in log.of(audit.name))]
    before = receipt.issued.predecessor
    version = published.index(before) + 1 if before in published else 0
    issued = receipt.issued.model_copy(update={"version": version})
    body = receipts.written(_identified(receipt.model_copy(update={"issued": issued})))
    if before == published[-1]:
        if _says_the_same(receipt, audit.receipts.get(version - 1)):
            raise ReceiptError.at(
                file.where,
                f"expected something to publish, found a draft that says what {audit.name}@{version - 1} says",
                f"Remove the draft: {audit.name}@{version - 1} stands.",
            )
        return Numbered(version=version, body=body, logged=False)
    if version == len(published) - 1 and Digest.of(body) == published[-1]:
        return Numbered(version=version, body=body, logged=True)
    raise ReceiptError.at(
        file.where,
        f"expected the predecessor {published[-1]}, found {before}",
        f"Run `python build.py issue {audit.name}` again: another receipt was published since.",
    )


def _says_the_same(draft: Receipt, file: File | None) -> bool:
    """Whether body and desk are those of the published receipt; by what and when it was made is not what it says."""
    if file is None:
        return False
    before = receipts.opened(file.body, file.where).receipt
    made = {name: getattr(draft.issued, name) for name in _MADE}
    return before.model_copy(update={"issued": before.issued.model_copy(update=made)}) == draft


_MADE = ("version", "as_of", "operation_id", "predecessor", "builder", "parsers")


def without_unlogged(audit: AuditInputs, number: Numbered) -> AuditInputs:
    """Return the audit's inputs without the receipt that an interrupted publication wrote and did not log.

    Only the very bytes that are published now are taken for that.
    """
    there = audit.receipts.get(number.version)
    if number.logged or there is None or there.body != number.body:
        return audit
    kept = {version: file for version, file in audit.receipts.items() if version != number.version}
    return replace(audit, receipts=kept)


def blocks(bound: Bound) -> Mapping[str, Digest]:
    """Return the digest of each block of a guide: what a reader reads under one heading, by the heading's id.

    What stands before the first heading, title and description included, is the block `top`.
    """
    guide = bound.guide
    texts: dict[str, list[str]] = {"top": []}
    starts = [(heading.line, heading.id) for heading in guide.headings]
    for passage in guide.passages:
        current = next((name for line, name in reversed(starts) if line <= passage.line), "top")
        if passage in (guide.title, guide.description):
            current = "top"
        texts.setdefault(current, []).append(passage.plain)
    return {name: Digest.of("\n\n".join(passages).encode()) for name, passages in texts.items()}


def repinned(guide: Guide, body: bytes, audit: str, version: int) -> bytes:
    """Return the guide's bytes with its pin of the audit moved to this version; nothing else in them changes."""
    lines = body.split(b"\n")
    for pin, line in guide.pin_lines.items():
        if pin.rpartition("@")[0] == audit:
            alone = rb"(?<![A-Za-z0-9._-])" + re.escape(pin.encode()) + rb"(?![A-Za-z0-9._-])"
            lines[line - 1] = re.sub(alone, f"{audit}@{version}".encode(), lines[line - 1])
    return b"\n".join(lines)


def _identified(receipt: Receipt) -> Receipt:
    issued = receipt.issued.model_copy(update={"operation_id": receipts.operation_id(receipt)})
    return receipt.model_copy(update={"issued": issued})
