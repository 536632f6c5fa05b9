"""Lineage: every value ends somewhere, and every source knows what stands on it."""

from __future__ import annotations

import pytest

from site_builder import guides, lineage, receipts
from site_builder.figures import Vocabulary
from site_builder.receipts import UnknownAddress
from tests import sample

_LEDGER = sample.ledger()[0]


def _why(address: str) -> dict[str, lineage.Step]:
    return {step.address: step for step in lineage.why(_LEDGER, address)}


@pytest.mark.parametrize("address", list(_LEDGER.cells))
def test_every_lineage_ends(address):
    """Each leaf of each value's lineage says where it comes from, and each other value what it rests on."""
    steps = lineage.why(_LEDGER, address)

    assert address == steps[0].address
    assert [] == [step.address for step in steps if bool(step.ends) == bool(step.rests_on)]
    known = {step.address for step in steps}
    assert set() == {need for step in steps for need in step.rests_on} - known


def test_a_computed_cell():
    """A cell's lineage names the cells of its own row, and goes through them to what was read and chosen."""
    steps = _why("memory/65536/left")

    assert ["memory/65536/left", "machineMemory", "memory/65536/size", "memory/65536/pages", "pageSize@2.0.0"] == list(
        steps
    )
    assert "sub(machineMemory, memory/65536/size)" == steps["memory/65536/left"].computed
    assert "the key of its row" == steps["memory/65536/pages"].ends
    assert steps["machineMemory"].ends.startswith("assumed, because ")
    assert steps["pageSize@2.0.0"].ends.endswith(", line 43, lastLine 43")


def test_a_cell_of_words():
    """A written cell rests on what its own bindings name."""
    assert ("defaultMemory",) == _why("signals/slow/means")["signals/slow/means"].rests_on
    cited = _why("signals/jump/means")["signals/jump/means"].ends
    assert cited.startswith("written by the editors, citing cache@2.0.0: pkg:pypi/shelf@2.0.0")


def test_a_value_that_only_the_audit_computes():
    """Without an expression, a value rests on what its function's parameters name."""
    assert ("pageSize@1.0.0",) == _why("releases/2.0.0/verdict")["releases/2.0.0/verdict"].rests_on


def test_an_unknown_value():
    """An unknown observation says why it is."""
    assert _why("pageSize@2.0.1")["pageSize@2.0.1"].ends.endswith(
        "; unknown, because the constant is computed when the module is loaded"
    )


def test_an_address_that_is_none():
    """Where nothing stands, the nearest addresses are known."""
    with pytest.raises(UnknownAddress):
        lineage.why(_LEDGER, "memory/65536/lft")


def test_impact_goes_up_to_the_lines_of_a_guide():
    """What was read off a source, what was computed from it, and the lines that say it; elsewhere, nothing."""
    text = sample.GUIDE.format(version="2").encode()
    said = list(lineage.mentions(guides.read_guide(text, "guide.md", Vocabulary())))

    found = lineage.impact(_LEDGER, "cache@2.0.0", said)
    assert {"pageSize@2.0.0", "defaultPages", "noLimit", "memory/65536/left", "defaultMemory"} <= set(found.addresses)
    lines = text.decode().splitlines()
    assert found.mentions
    for mention in found.mentions:
        line = lines[int(mention.where.rpartition(":")[2]) - 1]
        assert f"{mention.scheme}:{mention.target}" in line or f"{mention.target}" in text.decode()
    assert ((), ()) == (
        lineage.impact(_LEDGER, "issue-7", []).addresses,
        lineage.impact(_LEDGER, "issue-7", said).addresses,
    )


def test_what_differs_between_two_versions():
    """Each address that two versions give otherwise is named, with both values, and each source."""
    body = _LEDGER.receipt.body
    changed = _LEDGER.receipt.model_copy(
        update={
            "body": body.model_copy(
                update={
                    "assumptions": (body.assumptions[0].model_copy(update={"value": "16"}),),
                    "sources": body.sources[1:],
                }
            )
        }
    )
    other = receipts.Ledger(receipt=changed, digest="")

    found = {name: (before, after) for name, before, after in lineage.differences(_LEDGER, other)}
    assert ("8 GiB", "16 GiB") == found["machineMemory"]
    assert "nothing" == found[f"source {body.sources[0].id}"][1]
    assert [] == list(lineage.differences(_LEDGER, _LEDGER))


def test_words_that_differ_between_two_versions():
    """Two versions of the same values that say otherwise what these are, or what follows, do not say the same."""
    body = _LEDGER.receipt.body
    changed = _LEDGER.receipt.model_copy(
        update={
            "body": body.model_copy(
                update={
                    "decision": body.decision.model_copy(update={"statement": "Do the opposite."}),
                    "assumptions": (
                        body.assumptions[0].model_copy(update={"reason": "Another one."}),
                        *body.assumptions[1:],
                    ),
                    "limits": (),
                }
            )
        }
    )

    assert [
        ("text of the decision's statement", body.decision.statement, "Do the opposite."),
        ("text of the limits", " ".join(body.limits), ""),
        ("text of machineMemory/reason", body.assumptions[0].reason, "Another one."),
    ] == list(lineage.differences(_LEDGER, receipts.Ledger(receipt=changed, digest="")))
