"""Publications: the log of what was published, each line chained to the one before it by digest.

The chain shows a line that was rewritten, moved or dropped between others. It cannot show that its last lines are
missing: `check` finds those by the numbered receipts that no line names, and where the receipts went with them, only
the public copy tells (`verify` with its address). Reading the file and adding to it is `project`'s work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from site_builder import strict
from site_builder.errors import Problem, ReceiptError
from site_builder.inputs import File, Version
from site_builder.records import Record
from site_builder.sources import DigestText
from site_builder.values import Digest

_NONE = "none"
_RESTORE = "Restore the file from version control: it is only ever added to."

_INTERRUPTED = (
    "If its publication was interrupted, publish again. If that ends here as well, the draft is another by now: restore the "
    "log if it had the line, else remove this file, which was never published."
)
_NEVER_PUBLISHED = (
    "Restore the log if it had the line; if not, this was never published: remove the file, issue and publish."
)


class _Line(Record):
    audit: Annotated[str, Field(pattern=r"^[a-z0-9][A-Za-z0-9.@_-]*$")]
    version: Annotated[int, Field(ge=1)]
    file_digest: DigestText
    blocks: Mapping[str, Mapping[str, DigestText]]
    at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    previous: DigestText | Literal["none"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """One line of the log: which receipt was published when, and the text that stood on it."""

    audit: str
    version: int
    file_digest: str
    blocks: Mapping[str, Mapping[str, str]]
    """By guide and block, the digest of the block as it was published."""
    at: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """Everything that was published, oldest first."""

    where: str
    publications: tuple[Publication, ...]
    head: str
    """The digest of the last line, which the next one names; `none` before the first."""

    def of(self, audit: str) -> Sequence[Publication]:
        """Return an audit's publications, oldest first."""
        return [publication for publication in self.publications if publication.audit == audit]


def read(body: bytes, where: str) -> Log:
    """Return the log, each line of which is chained to the one before it.

    Raises:
        ReceiptError: a line is no line of a log, is unfinished, or does not follow the one before it.
    """
    if not body:
        return Log(where=where, publications=(), head=_NONE)
    *whole, unfinished = body.split(b"\n")
    lines = [line + b"\n" for line in whole]
    if unfinished:
        raise ReceiptError.at(
            f"{where}:{len(lines) + 1}",
            "expected a whole line, found one without its end",
            "Its publication was interrupted and never happened: remove the unfinished line, then publish again.",
        )
    problems: list[Problem] = []
    found = [_parsed(line, f"{where}:{number}", problems) for number, line in enumerate(lines, start=1)]
    digests = [Digest.of(line) for line in lines]
    problems.extend(_unchained(found, digests, where))
    if problems:
        raise ReceiptError(*problems)
    return Log(
        where=where,
        publications=tuple(
            Publication(
                audit=line.audit,
                version=line.version,
                file_digest=line.file_digest,
                blocks=line.blocks,
                at=line.at,
                line=number,
            )
            for number, line in enumerate(found, start=1)
            if line is not None
        ),
        head=digests[-1],
    )


def line_after(
    log: Log, *, audit: str, version: int, file_digest: str, blocks: Mapping[str, Mapping[str, str]], at: str
) -> bytes:
    """Return the line that follows the log's last one, for a receipt that is published now."""
    line = _Line(audit=audit, version=version, file_digest=file_digest, blocks=blocks, at=at, previous=log.head)
    return _written(line)


def check(log: Log, receipts: Mapping[str, Mapping[Version, File]]) -> Iterator[Problem]:
    """Yield where the log and the numbered receipts, by audit and number, do not say the same."""
    expected: dict[str, int] = {}
    digests: dict[tuple[str, int], str] = {}
    for entry in log.publications:
        at = f"{log.where}:{entry.line}"
        following = expected.get(entry.audit, 1)
        if entry.version != following:
            yield Problem(
                where=at,
                problem=f"expected {entry.audit} {following}, found {entry.audit} {entry.version}",
                remedy=_RESTORE,
            )
        expected[entry.audit] = entry.version + 1
        digests[entry.audit, entry.version] = entry.file_digest
        receipt = receipts.get(entry.audit, {}).get(entry.version)
        if receipt is None:
            yield Problem(
                where=f"evidence/{entry.audit}/receipts/{entry.version}.json",
                problem=f"expected the receipt that {at} names, found none",
                remedy="Restore it from version control: a published receipt is never removed.",
            )
        elif receipt.digest != entry.file_digest:
            yield Problem(
                where=receipt.where,
                problem=f"expected {_short(entry.file_digest)} as {at} names it, found {_short(receipt.digest)}",
                remedy="Restore it from version control: a published receipt is never edited, it gets a successor.",
            )
    for audit, versions in sorted(receipts.items()):
        for version, receipt in versions.items():
            if version == "draft":
                continue
            if (audit, version) not in digests:
                yield Problem(
                    where=receipt.where,
                    problem=f"expected its line in {log.where}, found none",
                    remedy=_INTERRUPTED if "draft" in versions else _NEVER_PUBLISHED,
                )
            elif receipt.digest == digests[audit, version]:
                yield from _unlinked(receipt, digests.get((audit, version - 1), _NONE))


def _unlinked(receipt: File, before: str) -> Iterator[Problem]:
    found = _predecessor(receipt.body)
    if found != before:
        yield Problem(
            where=receipt.where,
            problem=f"expected the predecessor {_short(before)}, found {_short(found)}",
            remedy="Restore receipts and log from version control: each receipt names the one before it.",
        )


def _predecessor(body: bytes) -> str:
    """Return the predecessor's digest from the end of the file, where `issued` stands: bodies are long."""
    start = body.rfind(b'\n "issued": {')
    try:
        return (
            str(strict.load_json(b"{" + body[start:], "receipt")["issued"]["predecessor"]) if start >= 0 else "nothing"
        )
    except (strict.LoadError, KeyError, TypeError):
        return "nothing"


def _written(line: _Line) -> bytes:
    return strict.canonical_json(line.model_dump(mode="json", by_alias=True)) + b"\n"


def _parsed(line: bytes, where: str, problems: list[Problem]) -> _Line | None:
    try:
        parsed = _Line.model_validate(strict.load_json(line, where))
    except strict.LoadError as error:
        problem = error.problem
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        problem = ".".join(map(str, detail["loc"])) + f": {detail['msg']}"
    else:
        if _written(parsed) == line:
            return parsed
        problem = "expected the line as `publish` writes it, found another spelling of it"
    problems.append(Problem(where=where, problem=problem, remedy=_RESTORE))
    return None


def _unchained(lines: Sequence[_Line | None], digests: Sequence[str], where: str) -> Iterator[Problem]:
    numbers = {digest: number for number, digest in enumerate(digests, start=1)}
    for number, line in enumerate(lines, start=1):
        before = digests[number - 2] if number > 1 else _NONE
        if line is None or line.previous == before:
            continue
        if line.previous in numbers or line.previous == _NONE:
            named = f"line {numbers[line.previous]}" if line.previous in numbers else "no line"
            problem = f"expected line {number - 1} as previous, found {named}: lines were moved, dropped or put in"
            yield Problem(where=f"{where}:{number}", problem=problem, remedy=_RESTORE)
        elif number == 1:
            problem = f"expected no previous line, found {_short(line.previous)} named: lines before it were dropped"
            yield Problem(where=f"{where}:{number}", problem=problem, remedy=_RESTORE)
        else:
            problem = f"expected {_short(line.previous)}, which line {number} names as previous, found {_short(before)}"
            yield Problem(
                where=f"{where}:{number - 1}",
                problem=f"{problem}: this line was rewritten, or lines behind it were dropped",
                remedy=_RESTORE,
            )


def _short(digest: str) -> str:
    return digest[: len("sha256:") + 8] + "…" if digest.startswith("sha256:") else digest
