"""The publication log: what its chain shows, and what only the receipts beside it do."""

from __future__ import annotations

import json

import pytest

from site_builder import publications, strict
from site_builder.errors import ReceiptError
from site_builder.inputs import File, Version
from site_builder.values import Digest

_WHERE = "content/publications.jsonl"
_RESTORE = "\n    Restore the file from version control: it is only ever added to."


def _receipt(audit: str, version: int, predecessor: str, value: str = "8") -> File:
    body = strict.dump_json(
        {
            "schema": "receipt/1",
            "audit": audit,
            "body": {"note": '\n "issued": {"predecessor": "none"}', "value": value},
            "issued": {"version": version, "predecessor": predecessor},
        }
    )
    return File(where=f"evidence/{audit}/receipts/{version}.json", body=body)


def _published(*names: str) -> tuple[bytes, dict[str, dict[Version, File]]]:
    """Publish the named audits one after the other, and return the log and the receipts."""
    log, receipts = b"", dict[str, dict[Version, File]]()
    for minute, name in enumerate(names):
        own = receipts.setdefault(name, {})
        before = own[len(own)].digest if own else "none"
        receipt = own[len(own) + 1] = _receipt(name, len(own) + 1, before)
        log += publications.line_after(
            publications.read(log, _WHERE),
            audit=name,
            version=len(own),
            file_digest=receipt.digest,
            blocks={"guide": {"p1": Digest.of(b"text")}},
            at=f"2026-11-30T12:{minute:02}:00Z",
        )
    return log, receipts


def _problems(log: bytes) -> list[str]:
    with pytest.raises(ReceiptError) as caught:
        publications.read(log, _WHERE)
    return [str(problem) for problem in caught.value.problems]


def _checked(log: bytes, receipts: dict[str, dict[Version, File]]) -> list[str]:
    return [str(problem) for problem in publications.check(publications.read(log, _WHERE), receipts)]


def _short(body: bytes) -> str:
    return Digest.of(body)[:15] + "…"


def test_a_log_is_read_as_it_was_written():
    """Each line names audit, version, receipt, blocks and time, and the digest of the whole line before it."""
    log, receipts = _published("oom", "compile", "oom")
    lines = log.splitlines(keepends=True)

    found = publications.read(log, _WHERE)
    assert [("oom", 1, 1), ("compile", 1, 2), ("oom", 2, 3)] == [
        (entry.audit, entry.version, entry.line) for entry in found.publications
    ]
    assert [receipts["oom"][1].digest, receipts["oom"][2].digest] == [entry.file_digest for entry in found.of("oom")]
    assert {"guide": {"p1": Digest.of(b"text")}} == found.publications[0].blocks
    assert ["none", *map(Digest.of, lines[:2])] == [json.loads(line)["previous"] for line in lines]
    assert Digest.of(lines[-1]) == found.head
    assert [] == _checked(log, receipts)


def test_a_log_without_lines():
    """Before the first publication the log is empty, and drafts need no line."""
    assert "none" == publications.read(b"", _WHERE).head
    assert [] == _checked(b"", {"oom": {"draft": File(where="draft", body=b"")}})


def test_a_line_that_was_rewritten():
    """A rewritten line no longer has the digest that the next one names: the message names the line."""
    first, second, third = _published("oom", "compile", "oom")[0].splitlines(keepends=True)
    other = second.replace(b"12:01:00", b"12:01:01")

    assert [
        f"{_WHERE}:2: expected {_short(second)}, which line 3 names as previous, found {_short(other)}: "
        f"this line was rewritten, or lines behind it were dropped{_RESTORE}"
    ] == _problems(first + other + third)


def test_every_byte_of_the_log_counts():
    """No byte of any line but the last can change unnoticed; the last one's receipt is held to it by `check`."""
    log, _ = _published("oom", "compile")
    last = log.rindex(b"\n", 0, -1) + 1
    for index in range(last):
        with pytest.raises(ReceiptError):
            publications.read(log[:index] + bytes([log[index] ^ 1]) + log[index + 1 :], _WHERE)


def test_a_line_that_was_dropped():
    """A line missing at the beginning or between others breaks the chain."""
    first, second, third = _published("oom", "compile", "oom")[0].splitlines(keepends=True)

    assert [
        f"{_WHERE}:1: expected no previous line, found {_short(first)} named: lines before it were dropped{_RESTORE}"
    ] == _problems(second + third)
    assert [
        f"{_WHERE}:1: expected {_short(second)}, which line 2 names as previous, found {_short(first)}: "
        f"this line was rewritten, or lines behind it were dropped{_RESTORE}"
    ] == _problems(first + third)


def test_the_last_line_dropped():
    """The chain can't show that its end is missing; the numbered receipt without a line does."""
    log, receipts = _published("oom", "oom")

    assert [
        f"evidence/oom/receipts/2.json: expected its line in {_WHERE}, found none\n"
        "    Restore the log if it had the line; if not, this was never published: remove the file, issue and publish."
    ] == _checked(log.splitlines(keepends=True)[0], receipts)


def test_a_number_beside_a_draft():
    """Beside a draft, a numbered receipt without a line may be an interrupted publication of it."""
    log, receipts = _published("oom", "oom")
    receipts["oom"]["draft"] = File(where="evidence/oom/receipts/draft.json", body=b"")

    assert [
        f"evidence/oom/receipts/2.json: expected its line in {_WHERE}, found none\n"
        "    If its publication was interrupted, publish again. If that ends here as well, the draft is another by now: "
        "restore the log if it had the line, else remove this file, which was never published."
    ] == _checked(log.splitlines(keepends=True)[0], receipts)


def test_lines_that_changed_places():
    """A line stands behind the one that it names."""
    first, second, third = _published("oom", "compile", "oom")[0].splitlines(keepends=True)

    assert [
        f"{_WHERE}:2: expected line 1 as previous, found line 3: lines were moved, dropped or put in{_RESTORE}",
        f"{_WHERE}:3: expected line 2 as previous, found line 1: lines were moved, dropped or put in{_RESTORE}",
    ] == _problems(first + third + second)
    assert [
        f"{_WHERE}:2: expected line 1 as previous, found no line: lines were moved, dropped or put in{_RESTORE}"
    ] == _problems(first + first)


def test_a_line_that_is_unfinished():
    """A publication that was interrupted while its line was written never happened."""
    log, _ = _published("oom", "oom")

    for end in range(log.index(b"\n") + 2, len(log)):
        assert [
            f"{_WHERE}:2: expected a whole line, found one without its end\n"
            "    Its publication was interrupted and never happened: remove the unfinished line, then publish again."
        ] == _problems(log[:end])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'"audit":"oom"', b'"audit": "oom"', "expected the line as `publish` writes it, found another spelling of it"),
        (b'"version":1', b'"version":true', "expected the line as `publish` writes it, found another spelling of it"),
        (b'"version":1', b'"version":0', "version: Input should be greater than or equal to 1"),
        (b'"version":1', b'"version":1,"version":2', "the key 'version' stands twice in one object"),
        (b'"version":1', b'"version":1,"who":"me"', "who: Extra inputs are not permitted"),
        (b'"version":1', b'"version":NaN', "NaN is not JSON"),
        (b"}\n", b"}\r\n", "expected the line as `publish` writes it, found another spelling of it"),
        (b"{", b"\n{", "expected a value, found the end of the text"),
    ],
)
def test_a_line_that_is_none(old, new, problem):
    """A line is strict JSON in one spelling, without keys that nobody knows."""
    log, _ = _published("oom")

    assert f"{_WHERE}:1: {problem}{_RESTORE}" == _problems(log.replace(old, new, 1))[0]


def test_a_published_receipt_that_was_edited():
    """A numbered receipt has the bytes that its line names."""
    log, receipts = _published("oom")
    edited = _receipt("oom", 1, "none", value="9")

    assert [
        f"evidence/oom/receipts/1.json: expected {receipts['oom'][1].digest[:15]}… as {_WHERE}:1 names it, "
        f"found {edited.digest[:15]}…\n"
        "    Restore it from version control: a published receipt is never edited, it gets a successor."
    ] == _checked(log, {"oom": {1: edited}})


def test_a_published_receipt_that_is_gone():
    """A line of the log has its receipt."""
    log, receipts = _published("oom", "compile")
    del receipts["oom"]

    assert [
        f"evidence/oom/receipts/1.json: expected the receipt that {_WHERE}:1 names, found none\n"
        "    Restore it from version control: a published receipt is never removed."
    ] == _checked(log, receipts)


def test_versions_follow_each_other():
    """An audit's versions count from one without a gap."""
    receipt = _receipt("oom", 2, "none")
    log = publications.line_after(
        publications.read(b"", _WHERE),
        audit="oom",
        version=2,
        file_digest=receipt.digest,
        blocks={},
        at="2026-11-30T12:00:00Z",
    )

    assert [f"{_WHERE}:1: expected oom 1, found oom 2{_RESTORE}"] == _checked(log, {"oom": {2: receipt}})


@pytest.mark.parametrize("predecessor", ["none", "sha256:" + "0" * 64])
def test_a_receipt_names_the_one_before_it(predecessor):
    """A receipt's predecessor is the receipt that the log names before it."""
    log, receipts = _published("oom")
    second = _receipt("oom", 2, predecessor)
    log += publications.line_after(
        publications.read(log, _WHERE),
        audit="oom",
        version=2,
        file_digest=second.digest,
        blocks={},
        at="2026-11-30T12:09:00Z",
    )

    assert [
        f"evidence/oom/receipts/2.json: expected the predecessor {receipts['oom'][1].digest[:15]}…, "
        f"found {predecessor if predecessor == 'none' else predecessor[:15] + '…'}\n"
        "    Restore receipts and log from version control: each receipt names the one before it."
    ] == _checked(log, {"oom": {**receipts["oom"], 2: second}})
