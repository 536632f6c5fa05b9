"""Receipts: one form, one value at each address, and what each value stands on."""

# ruff: noqa: E501 - a case stands on one line

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema
import pytest

from site_builder import receipts, strict
from site_builder.receipts import Issued, Ledger, Receipt, UnknownAddress
from site_builder.values import Digest
from tests import demo

_SCHEMA = "    Write what the file's schema asks for here."


@cache
def _body() -> bytes:
    issued = Issued(
        version="draft",
        as_of="2026-11-30T10:00:00Z",
        operation_id="none",
        predecessor="none",
        builder="none",
        parsers={"yaml": "6"},
        overlap="none",
        intake="none",
        search_budget="none",
        review="none",
    )
    receipt = Receipt(audit="cache", body=demo.body(), issued=issued)
    issued = issued.model_copy(update={"operation_id": receipts.operation_id(receipt)})
    return receipts.written(receipt.model_copy(update={"issued": issued}))


def _ledger() -> Ledger:
    return receipts.opened(_body(), "draft.json")


def test_one_form():
    """What is opened is written as it was: UTF-8, one line end, a digest of the very bytes."""
    assert _body() == receipts.written(_ledger().receipt)
    assert Digest.of(_body()) == _ledger().digest
    assert _body().endswith(b"}\n")
    assert b"\r" not in _body()
    assert b"null" not in _body()


@pytest.mark.parametrize(
    ("address", "text", "standing"),
    [
        ("largePage", "4096", "assumption"),
        ("caps/65536", "65536", "assumption"),
        ("reportedPeak", "256", "reported"),
        ("pageSize@1.1.0", "4096", "observation"),
        ("noLimit@1.0.0", "yes", "absence"),
        ("memory", "256", "computed"),
        ("sizes/16384/size", "64", "computed"),
        ("releases/1.0.0/verdict", "bounded", "computed"),
        ("signals/quiet/meaning", "It has room.", "editorial"),
        ("counts/observations", "7", "counted"),
    ],
)
def test_what_stands_at_an_address(address, text, standing):
    """Every kind of value has an address, and says whose it is."""
    cell = _ledger().cell(address)

    assert (address, text, standing) == (cell.address, cell.value.text, cell.standing)
    assert cell.statement


def test_a_list_as_a_whole_and_by_its_members():
    """A list that results are computed over is one value, and each of its members is one."""
    assert ["16384", "65536"] == _ledger().cell("caps").value.text
    assert ("number", "page") == (_ledger().cell("caps/16384").value.kind, _ledger().cell("caps/16384").value.unit)


def test_the_key_of_its_own_row():
    """A key says nothing by itself: it is told apart, in the first column alone."""
    assert [True, False] == [_ledger().cell(f"releases/1.0.0/{column}").own_key for column in ("release", "page")]


@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("memry", ("memory",)),
        ("pagesize@1.1.0", ("pageSize@1.1.0", "pageSize@1.2.0", "pageSize@1.0.0")),
        ("sizes/16384/Size", ("sizes/16384/size", "sizes/16384/cap", "sizes/65536/size")),
        ("releases/9.9.9/verdict", ("releases/1.2.0/verdict", "releases/1.1.0/verdict", "releases/1.0.0/verdict")),
        ("", ()),
        ("memory/1/2", ("memory",)),
        ("zzz", ()),
    ],
)
def test_an_address_of_nothing(address, near):
    """What stands nowhere is told with what resembles it, nearest first."""
    with pytest.raises(UnknownAddress) as refused:
        _ledger().cell(address)
    assert (address, near) == (refused.value.address, refused.value.near)


def test_a_name_that_is_known_twice():
    """What resembles a name is told once, however many things have that name."""
    assert ["memory"] == receipts.nearest("memry", ["memory", "memory"])


def test_phrases_that_read_as_a_value():
    """A value's own phrases are those of what it came to, not of its other values."""
    assert (("no limit in bytes",), ("two",)) == (
        _ledger().cell("noLimit@1.1.0").phrases,
        _ledger().cell("large").phrases,
    )


def test_expressions_in_a_row():
    """A column's one expression means each row's own cells, and yields what stands in them."""
    found = _ledger().expressions

    assert ["div", "sizes/16384/size", "memory"] == found["sizes/16384/ofAll"] or "memory" in str(
        found["sizes/16384/ofAll"]
    )
    assert "pageSize@1.0.0" in str(found["releases/1.0.0/full"])
    assert "pageSize@1.1.0" not in str(found["releases/1.0.0/full"])
    for address in found:
        assert _ledger().recomputed(address).text == _ledger().cell(address).value.text


def test_lineage_to_the_leaves():
    """A value's lineage has itself first and each address once, down to what was read, chosen or reported."""
    found = _ledger().lineage("state")

    assert "state" == found[0]
    assert len(found) == len(set(found))
    assert {"releases/1.2.0/verdict", "pageSize@1.2.0", "defaultPages", "reportedPeak", "noLimit@1.2.0"} <= set(found)


def _changed(*path: Any, to: Any) -> bytes:
    value = json.loads(_body())
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    if to is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return strict.dump_json(value)


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        (("body", "observations", 1, "id"), "pageSize@1.0.0", "body: expected each value once, found pageSize@1.0.0 twice"),
        (("body", "reported", 0, "id"), "memory", "body: expected each value once, found memory twice"),
        (("body", "sources", 1, "id"), "cache@1.0.0", "body: expected each source once, found cache@1.0.0 twice"),
        (("body", "results", 1, "rows", 1, "id"), "16384", "body.results.1: expected each row once, found 16384 twice"),
        (("body", "results", 1, "columns", 1, "id"), "cap", "body.results.1: expected each column once, found cap twice"),
        (("body", "results", 1, "rows", 1, "id"), "a/b", "body.results.1: expected rows with ids of a-z, A-Z, 0-9 and .@_-, found 'a/b'"),
        (("body", "results", 1, "rows", 1, "size"), None, "body.results.1: expected cap, id, ofAll, size in each row, found cap, id, ofAll"),
        (("body", "results", 1, "rows", 1, "more"), "1", "body.results.1: expected cap, id, ofAll, size in each row, found cap, id, more, ofAll, size"),
        (("body", "results", 0, "value"), None, "body.results.0: expected a value or rows, as a value has them"),
        (("body", "results", 0, "kind"), "table", "body.results.0: expected a value or rows, as a table has them"),
        (("body", "sources", 0, "digest"), "sha256:12", "body.sources.0.digest: expected sha256: and 64 hex digits, found 'sha256:12'"),
        (("body", "sources", 0, "mood"), "good", "body.sources.0.mood: expected a known key, found this one"),
        (("issued", "asOf"), None, "issued.asOf: expected it, found nothing"),
        (("issued", "version"), "final", "issued.version: Input should be a valid integer, unable to parse string as an integer"),
    ],
)  # fmt: skip
def test_a_receipt_that_is_none(path, to, said):
    """What would give an address two values, or a cell none, is no receipt; the line is that of the place."""
    (problem,) = demo.problems(lambda: receipts.opened(_changed(*path, to=to), "draft.json"))

    assert problem.endswith(f": {said}\n{_SCHEMA}")
    assert problem.startswith("draft.json:")


def test_an_id_that_follows_from_the_rest():
    """The operation's id is another one as soon as anything else is: the question, a digest, the day."""
    before = _ledger().receipt.issued.operation_id
    assert before == receipts.operation_id(_ledger().receipt)

    for path, to in (
        (("body", "question"), "Why?"),
        (("body", "sources", 0, "digest"), "sha256:" + "0" * 64),
        (("body", "limits"), []),
        (("issued", "parsers"), {"yaml": "7"}),
        (("issued", "predecessor"), "sha256:" + "1" * 64),
        (("audit",), "other"),
    ):
        changed = receipts.opened(_changed(*path, to=to), "draft.json").receipt
        assert before != receipts.operation_id(changed), path
    other = receipts.opened(_changed("issued", "operationId", to="another"), "draft.json").receipt
    assert before == receipts.operation_id(other)
    assert before.startswith("20261130100000-")


def test_what_is_counted():
    """The builder counts what is in the receipt, and says what each number counts."""
    found = {name: number for name, number, _ in receipts.counts(_ledger().receipt.body)}

    assert {
        "sources": 7,
        "held": 6,
        "recorded": 1,
        "absent": 0,
        "artifacts": 3,
        "observations": 7,
        "unknown": 0,
        "absences": 3,
        "fixtures": 0,
        "trials": 0,
        "assumptions": 7,
        "reported": 1,
        "results": 6,
        "tables": 3,
        "invariants": 2,
    } == found


def test_the_schema_names_the_operations():
    """An expression in the published schema is a text, or one of the operations and its operands."""
    column = Receipt.model_json_schema(by_alias=True)["$defs"]["Column"]["properties"]["expression"]
    valid = jsonschema.Draft202012Validator(column).is_valid

    assert [True, True, True] == [valid("cap"), valid(["at", "a/b/c", "d"]), valid(["mul", "a", ["div", "b", "GiB"]])]
    assert [False, False, False] == [valid(["power", "a", "b"]), valid(["add"]), valid(7)]
