"""The repository's own audits: what they record is reproduced, and nothing of it can be changed unnoticed.

Where upstream's bytes are not at hand, what needs them is left out; in CI they must be there.
"""

from __future__ import annotations

import copy
import os
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from site_builder import checking, lineage, receipts, site, strict, verification
from site_builder.bindings import bind, read_links
from site_builder.errors import EvidenceError
from site_builder.figures import Vocabulary
from site_builder.guides import read_guide
from site_builder.inputs import File, Inputs
from site_builder.project import Project, Store
from site_builder.receipts import Body, Ledger
from site_builder.snapshots import Snapshot
from site_builder.verification import Held

_ROOT = Path(__file__).resolve().parent.parent


@cache
def _inputs() -> Inputs:
    return Project(_ROOT).inputs()


_AUDITS = sorted(verification.audit_names(_inputs()))


@dataclass(frozen=True, kw_only=True)
class _Real:
    """One audit of the repository, run once."""

    name: str
    file: File
    ledger: Ledger
    held: Held
    body: Body


@cache
def _run(name: str) -> _Real:
    inputs = _inputs()
    found = verification.newest(inputs.audits[name])
    assert found is not None
    ledger = receipts.opened(found[1].body, found[1].where)
    held = verification.snapshot_gate(inputs, [name])[name]
    body = verification.computed(inputs.audits[name], held, verification.recorded_in(ledger.receipt))
    return _Real(name=name, file=found[1], ledger=ledger, held=held, body=body)


@pytest.fixture(params=_AUDITS)
def real(request: pytest.FixtureRequest) -> _Real:
    """Each audit that has a receipt."""
    return _run(request.param)


def _with_bytes(real: _Real) -> Sequence[str]:
    """The sources whose bytes are in the store; without any, there is nothing to hold to them."""
    required = [entry.id for entry in real.held.lock.entries if entry.required]
    found = [name for name in required if name in real.held.snapshots]
    if found != required:
        missing = (
            f"{len(required) - len(found)} of {len(required)} sources of {real.name} are not in the store: run fetch"
        )
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        if not found:
            pytest.skip(missing)
    return found


# What is recorded is what is found


def test_there_are_audits():
    """Empty is wrong: an audit without a receipt would pass everything here."""
    assert _AUDITS
    assert set(_inputs().audits) == set(_AUDITS)


def test_the_receipt_is_reproduced(real):
    """The audit, run again on the bytes at hand, comes to the receipt's body byte for byte."""
    verification.reproduces(real.body, real.file, real.ledger)

    assert strict.dump_json(receipts.as_json(real.ledger.receipt)) == real.file.body
    assert [] == list(checking.inconsistent(real.ledger, real.file.body, real.file.where))


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_from_the_record(real, seed):
    """A run without any bytes, or with a random half of them, is the same run."""
    names = sorted(real.held.snapshots)
    kept = random.Random(seed).sample(names, len(names) // 2) if seed else []
    part = replace(real.held, snapshots={name: real.held.snapshots[name] for name in kept})
    recorded = verification.recorded_in(real.ledger.receipt)

    assert real.body == verification.computed(_inputs().audits[real.name], part, recorded)


def test_every_stored_byte_counts(real, tmp_path):
    """Each stored object with one byte changed is caught: by the store that reads it, and by the gate that is given it."""
    names = _with_bytes(real)
    sources = {source.id: source for source in real.held.sources}
    locked = real.held.lock.by_id()
    store = Store(tmp_path)
    chance = random.Random(7)
    for name in names:
        body = bytearray(real.held.snapshots[name].body)
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
        with pytest.raises(EvidenceError) as refused:
            Snapshot.verified(sources[name], locked[name], bytes(body))
        (problem,) = refused.value.problems
        assert f"{name}: expected {locked[name].digest} of {len(body)} bytes, found sha256:" in problem.problem
        digest = locked[name].digest.removeprefix("sha256:")
        path = tmp_path / ".store/sha256" / digest[:2] / digest[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        with pytest.raises(EvidenceError) as refused:
            store.get(locked[name].digest, f"sources.lock: {name}")
        assert f"sources.lock: {name}" == refused.value.problems[0].where


# Nothing of a receipt can be edited unnoticed


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    else:
        yield path


def _edited(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy in which one leaf says another thing of the same type: for a number or a digest, the next one."""
    made = copy.deepcopy(value)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    before = inner[path[-1]]
    if isinstance(before, bool):
        inner[path[-1]] = not before
    elif isinstance(before, int):
        inner[path[-1]] = before + 1
    else:
        inner[path[-1]] = before[:-1] + ("1" if before[-1:] != "1" else "2")
    return made


def _records(model: type[BaseModel]) -> dict[str, type[BaseModel] | None]:
    """By name in JSON, the model of each part of a body of which there are many, or none where it is plain."""
    return {
        field.alias or name: next(
            (
                item
                for item in (*get_args(field.annotation), field.annotation)
                if isinstance(item, type) and issubclass(item, BaseModel)
            ),
            None,
        )
        for name, field in model.model_fields.items()
    }


def test_every_leaf_of_the_body_counts(real):
    """Each leaf of the body, edited by itself, is refused as it is read or differs from what the audit comes to.

    A body has tens of thousands of leaves. Records of a body know nothing of each other, so that reading the record around a
    leaf is reading the body; that a body that differs anywhere is refused is held below, for leaves of many shapes.
    """
    expected = receipts.as_json(real.body)
    models = _records(Body)
    unnoticed = []
    for name, part in expected.items():
        model = models[name]
        items = [(name, part)] if isinstance(part, dict) else [((name, place), item) for place, item in enumerate(part)]
        for at, item in items:
            for path in _leaves({"": item} if not isinstance(item, dict) else item):
                changed = _edited({"": item} if not isinstance(item, dict) else item, path)
                if model is None:
                    continue  # a list of plain words, or words by name: nothing is done to them as they are read
                try:
                    read = receipts.as_json(model.model_validate(changed))
                except ValidationError:
                    continue
                if read == item:
                    unnoticed.append((at, path))

    assert [] == unnoticed


def test_a_leaf_of_many_shapes_stops_the_gate(real):
    """A leaf of many shapes, edited in the receipt's bytes: the body is not what the audit comes to, whatever the id says;
    the rest is not what the id follows from.
    """
    whole = strict.load_json(real.file.body, real.file.where)
    shapes: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for path in _leaves(whole):
        shapes.setdefault(tuple(step if isinstance(step, str) else "*" for step in path[:4]), []).append(path)
    chance = random.Random(11)
    paths = [chance.choice(shapes[shape]) for shape in chance.sample(sorted(shapes), 30)]

    assert [] == [path for path in paths if not _caught(real, _edited(whole, path), path[0])]


def _caught(real: _Real, changed: Any, part: str) -> bool:
    file = replace(real.file, body=strict.dump_json(changed))
    try:
        ledger = checking.sound(file.body, file.where)
        if part != "body":
            return any(
                "operationId: expected " in item.problem
                for item in checking.inconsistent(ledger, file.body, file.where)
            )
        verification.reproduces(real.body, file, ledger)
    except EvidenceError:
        return True
    return False


# Lineage, both ways


def test_verdicts_stand_on_bytes_that_were_read(real):
    """Every observation behind a verdict was read off bytes that were obtained, can't move, and something vouches for."""
    locked = real.held.lock.by_id()
    observed = {item.id: item for item in (*real.body.observations, *real.body.absences)}
    verdicts = [address for address in real.ledger.cells if re.fullmatch(r"releases/[^/]+/decision", address)]
    if not verdicts:
        pytest.skip(f"{real.name} decides nothing per release")
    seen = set()
    for address in verdicts:
        for step in lineage.why(real.ledger, address):
            if step.address in observed:
                entry = locked[observed[step.address].source]
                seen.add(entry.id)
                if entry.standing == "absent":
                    assert "unknown" == observed[step.address].value, step.address
                    continue
                assert ("obtained", "immutable") == (entry.standing, entry.mutability), step.address
                assert entry.integrity in ("whole", "record"), step.address
    assert len(seen) >= len(verdicts)


@pytest.mark.parametrize(
    "condition",
    [
        "setOnHopper",
        "partitionsFallToOne",
        "chunked",
        "registryModule",
        "leavesWhenShort",
        "maskedPrefillsElsewhere",
    ],
)
def test_a_condition_that_was_not_observed(condition):
    """Without one of its conditions a release is neither affected nor bounded: its row is unknown."""
    real = _run("h200-runtime-oom")
    recorded = verification.recorded_in(real.ledger.receipt)
    address = f"{condition}@0.27.0"
    lost = recorded[address].model_copy(update={"value": "unknown"})
    part = replace(real.held, snapshots={})

    body = verification.computed(_inputs().audits[real.name], part, {**recorded, address: lost})

    row = next(
        row for result in body.results if result.id == "releases" for row in result.rows if row["id"] == "0.27.0"
    )
    assert "unknown" == row["decision"]


_ENDS = re.compile(
    r"assumed, because .+|reported by .+|\S+: .+ \(sha256:[0-9a-f]{64}, [a-z-]+\)(, .+|; unknown, because .+)",
    re.DOTALL,
)


def _guides() -> list[str]:
    return [slug for slug, file in _inputs().guides.items() if b"\nstatus: withdrawn" not in file.body]


def _vocabulary() -> Vocabulary:
    settings = site.read_site(_inputs().site.body, _inputs().site.where)
    return Vocabulary.of(settings.names, _inputs().site.where, site.RESERVED_IDS)


def _ledgers() -> dict[str, Ledger]:
    return {_run(name).ledger.pin: _run(name).ledger for name in _AUDITS}


@pytest.mark.parametrize("slug", _guides())
def test_why_ends_where_it_must(slug):
    """The lineage of every claim ends in a source's place, an assumption with its reason, or an attribution."""
    guide = read_guide(_inputs().guides[slug].body, _inputs().guides[slug].where, _vocabulary())
    by_audit = {ledger.audit: ledger for ledger in _ledgers().values()}
    asked = {
        (mention.audit, mention.target)
        for mention in lineage.mentions(guide)
        if mention.scheme == "receipt" and not mention.exhibit
    }

    assert asked
    astray = []
    for audit, address in sorted(asked):
        for step in lineage.why(by_audit[audit], address):
            counted = step.standing == "counted" or step.ends == "the key of its row"
            if not step.rests_on and not counted and not _ENDS.fullmatch(step.ends):
                astray.append((address, step.address, step.ends))
    assert [] == astray


def test_impact_ends_in_guides_or_in_nothing(real):
    """What stands on a source that is read goes up to lines of guides; on any other stands nothing, and that is said."""
    vocabulary = _vocabulary()
    mentions = [
        mention
        for slug in _guides()
        for mention in lineage.mentions(
            read_guide(_inputs().guides[slug].body, _inputs().guides[slug].where, vocabulary)
        )
    ]
    if real.name not in {mention.audit for mention in mentions}:
        pytest.skip(f"no guide stands on {real.name}")
    read = {item.source for item in (*real.body.observations, *real.body.absences)}
    astray = []
    for name in real.ledger.sources:
        found = lineage.impact(real.ledger, name, mentions)
        if name in read and not (found.addresses and found.mentions):
            astray.append((name, "is read, and no line of a guide stands on it"))
        if name not in read and found.addresses:
            astray.append((name, "is not read, and values stand on it"))
    assert [] == astray


# Every digit of a guide


@dataclass(frozen=True)
class _Line:
    """One line of a guide by itself, under what it needs of the rest."""

    number: int
    text: str
    head: str
    tail: str

    def problems(self, text: str, bound: Any) -> set[str]:
        try:
            bound(f"{self.head}{text}\n\n{self.tail}".encode())
        except EvidenceError as error:
            return {re.sub(r":\d+$", "", problem.where) + problem.problem for problem in error.problems}
        return set()


_DEFINITION = re.compile(r"^\[([^\]]+)\]: ", re.MULTILINE)
_SET_ASIDE = re.compile(r"^ *\d+\. |`[^`]*`|\]\([^)]*\)|\]\[[^\]]*\]|\{#[^}]*\}|<[^>]*>")


@pytest.mark.parametrize("slug", _guides())
def test_every_digit_of_a_guide_counts(slug):
    """Every digit that a reader reads, in a claim or outside, changed by itself, is a problem; exempt figures are counted.

    A guide has one sentence a line, so that each is bound by itself, with the definitions that it names.
    """
    file = _inputs().guides[slug]
    vocabulary = _vocabulary()
    links = _inputs().links
    outbound = read_links(links.body, links.where) if links else {}
    ledgers = _ledgers()
    guide = read_guide(file.body, file.where, vocabulary)

    def bound(body: bytes) -> None:
        read = read_guide(body, file.where, vocabulary)
        bind(read, ledgers, links=outbound, tools={}, newest={}, unchanged=frozenset(), floor=Decimal(0))

    unnoticed, changed = [], 0
    for line in _lines(file.body.decode("utf-8"), guide.front.receipts):
        aside = [match.span() for match in _SET_ASIDE.finditer(line.text)]
        visible = vocabulary.without_names(line.text)
        assert len(visible) == len(line.text)
        for exemption in guide.front.exempt:
            aside += [match.span() for match in re.finditer(re.escape(exemption.text), line.text)]
        before: set[str] | None = None
        for place, digit in enumerate(visible):
            if not digit.isdigit() or any(start <= place < end for start, end in aside):
                continue
            before = line.problems(line.text, bound) if before is None else before
            other = line.text[:place] + str((int(digit) + 1) % 10) + line.text[place + 1 :]
            changed += 1
            if not line.problems(other, bound) - before:
                unnoticed.append((line.number, other[max(0, place - 30) : place + 30]))

    assert changed > 100
    assert [] == unnoticed


def _lines(text: str, pins: Sequence[str]) -> Iterator[_Line]:
    front, body = text.split("\n---\n", 1)
    definitions = {match[1].casefold(): line for line in body.splitlines() if (match := _DEFINITION.match(line))}
    head = f"---\ntitle: A line\ndescription: By itself.\nstatus: draft\nreceipts: [{', '.join(pins)}]\n---\n\n"
    first = front.count("\n") + 3
    fenced = False
    for number, line in enumerate(body.splitlines(), start=first):
        fenced ^= line.startswith("```")
        if fenced or line.startswith(("```", ":::")) or _DEFINITION.match(line) or not re.search(r"\d", line):
            continue
        named = {label.casefold() for label in re.findall(r"\[([^\[\]]+)\]", line)}
        tail = "\n".join(definitions[label] for label in sorted(named) if label in definitions)
        yield _Line(number=number, text=line, head=head, tail=tail)
