"""Lineage: every value ends somewhere, and every source knows what stands on it."""

# ruff: noqa: E501 - an origin stands on the line that it is printed on

from __future__ import annotations

from functools import cache

import pytest

from site_builder import guides, lineage, receipts
from site_builder.figures import Vocabulary
from site_builder.project import Store
from site_builder.receipts import UnknownAddress
from site_builder.sources import write_lock
from tests import demo, groves, sample

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


# Trees and trials


@cache
def _bind(files: tuple[tuple[str, str], ...] = ()) -> receipts.Ledger:
    changed = {**groves.FILES, **dict(files)}
    store, lock = groves.stocked(changed)
    return receipts.opened(groves.receipt(groves.inputs(store, lock, changed)), groves.DRAFT)


def _changed(name: str, old: str, new: str) -> receipts.Ledger:
    return _bind(((groves.HOME + name, groves.changed(name, old, new)[groves.HOME + name]),))


def test_what_led_to_a_line():
    """A value that was come by from file to file says each step, its file and its line, before the line it ends at."""
    step = lineage.why(_bind(), "pages@1.0.0")[0]

    assert (
        "shelf/registry.py:2: entry, sewn, Thread",
        "shelf/sewn.py:3: branch, host.has_press()",
        "shelf/sewn.py:4: import, shelf.pressed:Thread",
        "shelf/pressed.py:4: class, shelf.pressed:Thread",
    ) == step.trail
    assert step.ends.startswith(
        "wheel@1.0.0: pkg:pypi/shelf@1.0.0?file_name=shelf-1.0.0-py3-none-any.whl#shelf-1.0.0.dist-info/RECORD (sha256:"
    )
    assert step.ends.endswith(", obtained), path shelf/pressed.py, line 5, lastLine 5")


def test_an_absence_and_its_control():
    """An absence says where it was searched, with what, and where the same search finds something."""
    step = lineage.why(_bind(), "noMark@1.0.0")[0]

    assert 3 == len(step.trail)
    assert step.ends.endswith(
        "path shelf/pressed.py, line 4, lastLine 4, 167 bytes and 2 definitions searched with decorator shelf.marks:fast above a class"
        " or its bases; its control, wheel@1.0.0, path shelf/base.py, line 8, lastLine 9, has 1"
    )


def test_what_a_trial_stands_on():
    """A trial ends at its tool and its fixtures, and what is computed from it goes on to there."""
    steps = {step.address: step for step in lineage.why(_bind(), "starts")}

    assert {"starts", "decision@quiet", "decision@jammed", "go"} == set(steps)
    assert "gate.py on logs/jammed/press.log, logs/jammed/press.json" == steps["decision@jammed"].ends


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("gate.py", {"decision@quiet", "decision@jammed", "jams@quiet", "jams@jammed", "runs/quiet/decision", "runs/quiet/jams", "runs/jammed/decision", "runs/jammed/jams", "starts", "state"}),
        ("logs/quiet/press.log", {"decision@quiet", "jams@quiet", "runs/quiet/decision", "runs/quiet/jams", "starts", "state"}),
        ("logs/jammed/press.json", {"decision@jammed", "jams@jammed", "runs/jammed/decision", "runs/jammed/jams", "starts"}),
        ("wheel@1.1.0", {"binder@1.1.0", "pages@1.1.0", "noMark@1.1.0", "binders/1.1.0/binder", "binders/1.1.0/pages", "binders/1.1.0/plain"}),
    ],
)  # fmt: skip
def test_what_stands_on_a_tool_a_fixture_or_a_tree(name, addresses):
    """What was made of it or read off it, and all that was computed from that; the lines of guides that say so."""
    ledger = _bind()
    text = groves.FILES["content/guides/binding.md"]
    said = list(lineage.mentions(guides.read_guide(text.encode(), "guide.md", Vocabulary())))
    found = lineage.impact(ledger, name, said)

    assert lineage.knows(ledger, name)
    assert addresses == set(found.addresses)
    targets = {mention.target for mention in found.mentions}
    assert ("decision@quiet" in targets) == ("decision@quiet" in addresses)
    assert ("wheel@1.1.0" in targets) == (name == "wheel@1.1.0")


def test_what_is_not_known():
    """A file of a tree is no source of its own."""
    assert not lineage.knows(_bind(), "shelf/base.py")
    assert not lineage.knows(_bind(), "gait.py")


def test_a_file_of_a_tree_that_differs():
    """A file that another version of the receipt read otherwise is named with both digests."""
    body = _bind().receipt.body
    wheel = body.sources[0]
    assert wheel.members is not None
    first, *others = wheel.members
    other = first.model_copy(update={"digest": "sha256:" + "0" * 64})
    one = body.model_copy(
        update={"sources": (wheel.model_copy(update={"members": (other, *others)}), *body.sources[1:])}
    )
    without = body.model_copy(
        update={"sources": (wheel.model_copy(update={"members": tuple(others)}), *body.sources[1:])}
    )

    for changed, after in ((one, other.digest), (without, "nothing")):
        ledger = receipts.Ledger(receipt=_bind().receipt.model_copy(update={"body": changed}), digest="")
        assert [("source wheel@1.0.0: shelf/base.py", first.digest, after)] == list(
            lineage.differences(_bind(), ledger)
        )


def test_a_tool_or_a_fixture_that_differs():
    """What was made by another tool or of other fixtures is told apart, with what follows and what is said of them."""
    words = list(lineage.differences(_bind(), _changed("tools/gate.py", "may start.\n", "may start now.\n")))
    assert ["source gate.py", "text of tool gate.py"] == [name for name, _, _ in words]
    assert ("Tells whether a press may start.", "Tells whether a press may start now.") == words[1][1:]
    jams = _changed("fixtures/logs/jammed/press.log", "paper jam\n", "paper jam\npaper jam\n")
    assert [("jams@jammed", "1", "2"), ("runs/jammed/jams", "1", "2")] == [
        one for one in lineage.differences(_bind(), jams) if not one[0].startswith("source ")
    ]
    assert ["source logs/jammed/press.log"] == [
        name for name, _, _ in lineage.differences(_bind(), jams) if name.startswith("source ")
    ]
    said = _changed("fixtures.yaml", "The paper jams.", "Paper jams.")
    assert [("text of fixture logs/jammed/press.log", "The paper jams.", "Paper jams.")] == list(
        lineage.differences(_bind(), said)
    )


def test_the_verbs(tmp_path):
    """`why` prints the steps and the control, `impact` and `diff` know trees, tools and fixtures."""
    store, lock = groves.stocked()
    root = groves.written(tmp_path / "repository")
    (root / groves.LOCK).write_bytes(write_lock(lock))
    for body in store.bodies.values():
        Store(root).put(body)
    assert 0 == demo.ran(root, "issue", "bind").exit_code

    why = demo.ran(root, "why", "pages@1.0.0").output.splitlines()
    assert "pages@1.0.0 = 16 pages (observation): Pages that it takes." == why[0]
    assert "    shelf/registry.py:2: entry, sewn, Thread" == why[1]
    assert (
        "; its control, wheel@1.0.0, path shelf/base.py, line 8, lastLine 9, has 1"
        in demo.ran(root, "why", "noMark@1.0.0").output
    )
    said = demo.ran(root, "impact", "logs/quiet/press.log")
    assert (0, "bind@draft: decision@quiet") == (said.exit_code, said.output.splitlines()[0])
    assert "content/guides/binding.md:10: receipt:decision@quiet" in said.output.splitlines()
    assert "bind@draft: starts" in demo.ran(root, "impact", "gate.py").output.splitlines()
    assert (
        "content/guides/binding.md:10: source:wheel@1.1.0"
        in demo.ran(root, "impact", "wheel@1.1.0").output.splitlines()
    )
    assert "bind@draft and bind@draft say the same\n" == demo.ran(root, "diff", "bind", "draft", "draft").output
