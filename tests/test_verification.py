"""The three gates: each gathers all that is wrong within it, none is skipped, and the next begins only behind it."""

# ruff: noqa: E501 - a message stands on the line that it is printed on

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial
from typing import Any

import pytest

from site_builder import receipts, sources, strict, verification
from site_builder.errors import EvidenceError, GuideError, ReceiptError, SourceError
from site_builder.figures import Vocabulary
from site_builder.inputs import File, Inputs
from site_builder.sources import Lock
from site_builder.units import Keys, Unit
from site_builder.values import Digest
from site_builder.verification import Rules
from tests import demo, groves, simulators
from tests.simulators import Shelf

_RULES = Rules(vocabulary=Vocabulary(), floor=Decimal("0.8"))
_LOCK_IS = "    The lock is written by `fetch` alone: restore it, or fetch again."


@cache
def _receipt() -> bytes:
    from site_builder import issuing

    inputs = demo.inputs()
    return receipts.written(issuing.draft(inputs, inputs.audits["cache"]))


def _inputs(files: Mapping[str, str] = demo.FILES, **changed: Any) -> Inputs:
    made = demo.inputs(files, receipt=changed.pop("receipt", _receipt()), **changed)
    links = replace(made.site, where="content/links.yaml", body=files["content/links.yaml"].encode())
    return replace(made, links=links)


def _verified(inputs: Inputs) -> verification.Verified:
    return verification.verify(inputs, _RULES)


def test_all_three():
    """What passes has its snapshots, its receipts and its prose."""
    found = _verified(_inputs())

    assert ["cache@draft"] == list(found.ledgers)
    assert ["cache"] == list(found.guides)
    assert ["cache@1.0.0", "cache@1.1.0", "cache@1.2.0", "settings", "limits", "issue"] == list(
        found.held["cache"].snapshots
    )
    assert () == found.held["cache"].as_recorded


def test_one_gate_behind_the_other():
    """What is wrong in a later gate is not said before the earlier one holds."""
    files = demo.changed(demo.GUIDE, "[256 MiB](receipt:memory) on", "[9 MiB](receipt:memory) on")
    files = demo.changed("evidence/cache/reported.yaml", '"256"', '"255"', files)
    broken = {**demo.BYTES, "settings": b"{}"}

    inputs = _inputs(files)
    sound = inputs.stored
    bad = replace(
        inputs, stored=lambda digest, where: broken["settings"] if "settings" in where else sound(digest, where)
    )
    for made, kind, where in ((bad, SourceError, "sources.yaml"), (inputs, EvidenceError, "audit.py")):
        with pytest.raises(kind) as refused:
            _verified(made)
        assert {where} == {problem.where.rpartition("/")[2].partition(":")[0] for problem in refused.value.problems}
    with pytest.raises(GuideError) as refused:
        _verified(_inputs(demo.changed(demo.GUIDE, "[256 MiB](receipt:memory) on", "[9 MiB](receipt:memory) on")))
    assert ["content/guides/cache.md:14"] == [problem.where for problem in refused.value.problems]


def test_all_of_a_gate_at_once():
    """Everything that is wrong in one gate is said together, each thing once."""
    files = demo.changed(demo.GUIDE, "256 MiB", "255 MiB")
    said = demo.problems(lambda: _verified(_inputs(files)))

    assert ["3", "14", "16"] == [problem.split(":")[1] for problem in said if "cache.md" in problem]
    raised = [partial(_raise, SourceError, "a"), partial(_raise, SourceError, "a"), partial(_raise, ReceiptError, "b")]
    with pytest.raises(EvidenceError) as refused:
        verification.gathered(raised)
    assert (EvidenceError, ["a", "b"]) == (type(refused.value), [problem.where for problem in refused.value.problems])
    with pytest.raises(SourceError):
        verification.gathered(raised[:2])


def _raise(kind: type[EvidenceError], where: str) -> None:
    raise kind.at(where, "expected this", "Do that.")


# The snapshot gate


def _locked(name: str, **changed: Any) -> Lock:
    lock = demo.lock()
    return lock.model_copy(
        update={"entries": tuple(one.model_copy(update=changed) if one.id == name else one for one in lock.entries)}
    )


def _with_artifact(file: str, **changed: Any) -> Lock:
    lock = demo.lock()
    artifacts = tuple(one.model_copy(update=changed) if one.file == file else one for one in lock.artifacts)
    return lock.model_copy(update={"artifacts": artifacts})


_WHEEL = "shelf-1.1.0-py3-none-any.whl"
_ONE_FILE = (
    "    A released file does not change: one of the two was edited. Restore it, or fetch again, which asks the index."
)


def test_a_wheel_that_is_said_to_be_verified():
    """A wheel is read in part: that its digest was recomputed is nobody's to say."""
    made = _inputs(locked=_with_artifact(_WHEEL, verified=True))

    assert [
        f"{demo.LOCK}: {_WHEEL}: verified: expected false, since a wheel is read in part, found true\n{_LOCK_IS}"
    ] == demo.problems(lambda: verification.snapshot_gate(made, ["cache"]))


@pytest.mark.parametrize(
    "changed", [{"digest": "sha256:" + "0" * 64}, {"bytes": 7}, {"uploaded_at": "2020-01-01T00:00:00Z"}]
)
def test_a_released_file_that_another_audit_knows_otherwise(changed):
    """Two locks say the same of a released file, whether or not both of their audits are run again."""
    lock = _with_artifact(_WHEEL, **changed).model_copy(update={"audit": "other"})
    made = _inputs()
    other = replace(
        made.audits["cache"],
        name="other",
        lock=File(where="evidence/other/sources.lock", body=sources.write_lock(lock)),
    )
    made = replace(made, audits={**made.audits, "other": other})

    for names in (["cache"], ["other"], ["cache", "other"]):
        (said,) = demo.problems(partial(verification.snapshot_gate, made, names))
        assert f": {_WHEEL}: expected " in said
        assert said.endswith(_ONE_FILE)
        assert {"evidence/cache/sources.lock", "evidence/other/sources.lock"} <= set(
            re.findall(r"evidence/\w+/sources.lock", said)
        )
    same = replace(
        other, lock=File(where="x", body=sources.write_lock(demo.lock().model_copy(update={"audit": "other"})))
    )
    assert ["cache", "other"] == list(
        verification.snapshot_gate(replace(made, audits={**made.audits, "other": same}), ["cache", "other"])
    )


def test_a_released_file_that_was_published_otherwise():
    """A lock says of a released file what the published receipts say."""
    sound = _inputs()
    made = _inputs(locked=_with_artifact(_WHEEL, digest="sha256:" + "0" * 64))
    audit = made.audits["cache"]
    published = File(where="evidence/cache/receipts/1.json", body=sound.audits["cache"].receipts["draft"].body)
    made = replace(made, audits={"cache": replace(audit, receipts={**audit.receipts, 1: published})})
    held = verification.snapshot_gate(made, ["cache"])

    said = demo.problems(lambda: verification.receipt_gate(made, held))
    digest = Digest.of(_WHEEL.encode())
    told = "of 1024 bytes, pkg:pypi/shelf@1.1.0 of 2026-05-04T10:00:00Z"
    assert (
        f"{demo.LOCK}: {_WHEEL}: expected {digest} {told} as evidence/cache/receipts/1.json says, "
        f"found sha256:{'0' * 64} {told}\n{_ONE_FILE}"
    ) in said


_RAW = "https://raw.forge.example/shelf/0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("settings", {"mutability": "mutable"}, f"settings: mutability: expected immutable, found mutable\n{_LOCK_IS}"),
        ("issue", {"mutability": "immutable"}, f"issue: mutability: expected mutable, found immutable\n{_LOCK_IS}"),
        ("settings", {"origin": "https://other.example"}, f"settings: origin: expected {_RAW}/settings.json, found https://other.example\n{_LOCK_IS}"),
        ("settings", {"standing": "recorded"}, f"settings: standing: expected obtained, found recorded\n{_LOCK_IS}"),
        ("settings", {"artifact": "shelf-1.0.0-py3-none-any.whl"}, f"settings: artifact: expected none, found shelf-1.0.0-py3-none-any.whl\n{_LOCK_IS}"),
        ("cache@1.0.0", {"artifact": "shelf-1.1.0-py3-none-any.whl"}, f"cache@1.0.0: artifact: expected shelf-1.0.0-py3-none-any.whl, found shelf-1.1.0-py3-none-any.whl\n{_LOCK_IS}"),
        ("cache@1.0.0", {"integrity": "whole"}, f"cache@1.0.0: integrity: expected an artifact whose digest was recomputed, found whole\n{_LOCK_IS}"),
        ("cache@1.0.0", {"integrity": "direct"}, f"cache@1.0.0: integrity: expected record or stated, found direct\n{_LOCK_IS}"),
        ("settings", {"integrity": "record"}, f"settings: integrity: expected direct, found record\n{_LOCK_IS}"),
        ("settings", {"integrity": "whole"}, f"settings: integrity: expected direct, found whole\n{_LOCK_IS}"),
        ("cache@1.0.0", {"standing": "absent"}, f"cache@1.0.0: standing: expected a reason, found none\n{_LOCK_IS}"),
        ("earlier", {"standing": "obtained"}, f"earlier: standing: expected recorded, bytes-obtained or origin-confirmed, found obtained\n{_LOCK_IS}"),
        ("earlier", {"standing": "origin-confirmed"}, f"earlier: standing: expected bytes-obtained (no witness is named), found origin-confirmed\n{_LOCK_IS}"),
        ("earlier", {"recorded_by": "us"}, f"earlier: recordedBy: expected The first audit of shelf, found us\n{_LOCK_IS}"),
        ("earlier", {"bytes": 18}, f"earlier: digest: expected sha256:{'8' * 64} of 17 bytes, found sha256:{'8' * 64} of 18 bytes\n{_LOCK_IS}"),
    ],
)  # fmt: skip
def test_a_lock_that_says_more_than_it_may(name, changed, said):
    """What stands beside a digest in the lock follows from the source, or was forged."""
    inputs = _inputs(locked=_locked(name, **changed))

    assert f"evidence/cache/sources.lock: {said}" in demo.problems(
        lambda: verification.snapshot_gate(inputs, ["cache"])
    )


def test_a_lock_of_others():
    """A lock has an entry for each source, none for what is not cited, and is this audit's."""
    lock = demo.lock()
    entries = tuple(one for one in lock.entries if one.id != "settings")
    extra = lock.by_id()["settings"].model_copy(update={"id": "other"})
    inputs = _inputs(locked=lock.model_copy(update={"audit": "shelf", "entries": (*entries, extra)}))

    assert [
        "evidence/cache/sources.lock: expected the lock of cache, found that of shelf\n    Fetch again.",
        "evidence/cache/sources.yaml:10: expected settings in the lock, found no entry\n    Run `python build.py fetch cache`.",
        "evidence/cache/sources.lock: other: expected a source of that id in sources.yaml, found none\n"
        "    Cite it again, or fetch again so that the lock forgets it.",
    ] == demo.problems(lambda: verification.snapshot_gate(inputs, ["cache"]))


def test_bytes_that_are_not_what_was_expected():
    """Bytes that match the lock and are not the source that is meant: a shell, a login page."""
    files = demo.changed(
        "evidence/cache/sources.yaml", 'contains: "defaultPages"', 'contains: "default-pages", bytes: 45'
    )

    assert [
        "evidence/cache/sources.yaml:10: settings: expected bytes that contain 'default-pages', found 44 bytes without it\n"
        "    Either this is not the source that is meant, or it changed: read it, then mend `expects`.",
        "evidence/cache/sources.yaml:10: settings: expected 45 bytes, found 44\n    Read what came instead, then mend `expects`.",
    ] == demo.problems(lambda: verification.snapshot_gate(_inputs(files), ["cache"]))


def test_bytes_that_are_not_at_hand():
    """Without its bytes an entry is taken as recorded, unless bytes are required of what we had and can't move."""
    inputs = replace(_inputs(), stored=lambda _digest, _where: None)

    held = verification.snapshot_gate(inputs, ["cache"])["cache"]
    assert ("cache@1.0.0", "cache@1.1.0", "cache@1.2.0", "settings", "issue") == held.as_recorded
    required = demo.problems(lambda: verification.snapshot_gate(inputs, ["cache"], require_bytes=True))
    assert ["cache@1.0.0", "cache@1.1.0", "cache@1.2.0", "settings"] == [item.split(": ")[1] for item in required]
    assert ["cache@draft"] == list(verification.receipt_gate(inputs, {"cache": held}))


# The receipt gate


def _edited(*path: Any, to: Any) -> bytes:
    value = strict.load_json(_receipt(), "draft.json")
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    receipt = receipts.Receipt.model_validate(value)
    issued = receipt.issued.model_copy(update={"operation_id": receipts.operation_id(receipt)})
    return receipts.written(receipt.model_copy(update={"issued": issued}))


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        (("body", "question"), "Why?", "question: expected How much memory does a full page cache take? (recomputed), found Why?"),
        (("body", "observations", 0, "region"), "sha256:" + "0" * 64, "observations pageSize@1.0.0 region: expected sha256:"),
        (("body", "observations", 0, "at", "line"), 4, "observations pageSize@1.0.0 at line: expected 3 (recomputed), found 4"),
        (("body", "observations", 0, "unit"), "page", "observations pageSize@1.0.0 unit: expected B (recomputed), found page"),
        (("body", "invariants", 0, "brokenBy", 0), "limit@1.0.0", "invariants reportIsReproduced brokenBy 0: expected "),
        (("body", "results", 0, "statement"), "More.", "results memory statement: expected What a full cache takes in the largest release. (recomputed), found More."),
        (("body", "decision", "state"), "go", "decision state: expected hold (recomputed), found go"),
        (("body", "sources", 3, "standing"), "absent", "sources settings standing: expected obtained (recomputed), found absent"),
        (("body", "boundary", "observed"), "a socket", "boundary observed: expected none (recomputed), found a socket"),
        (("body", "limits"), [], "limits 0: expected Nothing was run. (recomputed), found nothing"),
    ],
)  # fmt: skip
def test_a_receipt_that_was_forged_with_its_id(path, to, said):
    """An edit whose id was made to follow is told by what the audit comes to, with the line where it stands."""
    problems = demo.problems(lambda: _verified(_inputs(receipt=_edited(*path, to=to))))

    assert any(said in problem for problem in problems), problems
    assert all(problem.startswith("evidence/cache/receipts/draft.json:") for problem in problems)


def test_a_receipt_that_is_kept_where_another_belongs():
    """A receipt is the one that its place says."""
    inputs = _inputs(receipt=_edited("issued", "version", to=3))

    assert (
        "evidence/cache/receipts/draft.json: expected the receipt cache@draft, found cache@3\n    Restore the file that belongs here."
    ) in demo.problems(lambda: _verified(inputs))


def test_a_receipt_in_another_form():
    """The same content in other bytes is not the receipt: its digest is that of the bytes."""
    inputs = _inputs(receipt=_receipt().replace(b'"schema": ', b'"schema":  '))

    assert [
        "evidence/cache/receipts/draft.json: expected the one form of a receipt, found another\n    Restore it, or issue the draft again."
    ] == demo.problems(lambda: _verified(inputs))


def test_more_differences_than_are_told():
    """Past twenty it is another receipt."""
    value = strict.load_json(_receipt(), "draft.json")
    for group in ("observations", "absences", "assumptions", "results", "reported", "invariants"):
        for item in value["body"][group]:
            item["statement"] += " More."
    receipt = receipts.Receipt.model_validate(value)
    issued = receipt.issued.model_copy(update={"operation_id": receipts.operation_id(receipt)})
    body = receipts.written(receipt.model_copy(update={"issued": issued}))

    assert 20 == len(demo.problems(lambda: _verified(_inputs(receipt=body))))


# Trees


def _stands(made: Inputs, unit: Unit) -> bool:
    return "bind" in Keys(made).carried({"audit bind": unit}, lambda _path: None).audits


def test_a_tree_that_was_verified_before():
    """What an earlier build verified stands while every file of its trees is at hand or gone as it was then."""
    store, lock = groves.stocked()
    receipt = groves.receipt(groves.inputs(store, lock))
    made = groves.inputs(store, lock, receipt=receipt)
    without = Shelf()
    digest = simulators.digest_of(groves.PACKAGE["shelf/marks.py"].encode())
    without.bodies = {name: body for name, body in store.bodies.items() if name != digest}
    gone = groves.inputs(without, lock, receipt=receipt)

    def unit_of(inputs: Inputs) -> Unit:
        return verification.audit_units(_verified(inputs), Keys(inputs))["bind"]

    whole, recorded = unit_of(made), unit_of(gone)
    assert digest in whole.on
    assert digest in recorded.on
    assert (True, False) == (_stands(made, whole), _stands(gone, whole))
    assert (False, True) == (_stands(made, recorded), _stands(gone, recorded))
    without.bodies[digest] = b"damaged"
    assert (False, False) == (_stands(gone, whole), _stands(gone, recorded))
