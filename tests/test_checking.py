"""A published copy held to itself: each value of a receipt counts."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from site_builder import checking, receipts, strict
from site_builder.errors import EvidenceError
from site_builder.receipts import Receipt
from site_builder.values import Digest
from tests import sample


def _sound(value: dict[str, Any]) -> bytes:
    """The receipt under the id that follows from the rest of it, as somebody would write it who forges all of it."""
    receipt = Receipt.model_validate(value)
    issued = receipt.issued.model_copy(update={"operation_id": receipts.operation_id(receipt)})
    return receipts.written(receipt.model_copy(update={"issued": issued}))


_VALUE = receipts.as_json(sample.receipt())
_BODY = _sound(_VALUE)


def _problems(body: bytes) -> list[str]:
    try:
        return [str(problem) for problem in checking.check_receipt(body, "receipt.json")]
    except EvidenceError as error:
        return [str(problem) for problem in error.problems]


def test_a_sound_receipt():
    """A receipt that is what it says has no problem, and says how much could be computed again."""
    assert [] == _problems(_BODY)
    values, invariants = checking.recomputed(receipts.opened(_BODY, "receipt.json"))
    assert values > 10
    assert len(_VALUE["body"]["invariants"]) == invariants


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    else:
        yield path


def test_every_leaf_counts():
    """No leaf of a receipt can be edited unnoticed, unless all that follows from it is edited too."""
    unnoticed = []
    sound = strict.load_json(_BODY, "receipt.json")
    for path in _leaves(sound):
        changed = copy.deepcopy(sound)
        inner = changed
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = inner[path[-1]] + 1 if isinstance(inner[path[-1]], int) else f"{inner[path[-1]]}0"
        if not _problems(strict.dump_json(changed)):
            unnoticed.append(path)

    assert [] == unnoticed


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (("results", 0, "rows", 0, "size"), "257", "memory/16384/size: expected 256 MiB (recomputed), found 257 MiB"),
        (("results", 1, "value"), "2", "defaultMemory: expected 1 GiB (recomputed), found 2 GiB"),
        (("reported", 0, "value"), "0.5", "reportIsPlausible: expected a relation that holds, found no"),
        (("invariants", 0, "brokenBy"), [], "defaultIsInTheTable: expected something that can break it, found nothing"),
        (
            ("results", 1, "expression"),
            ["mul", "nowhere", "1"],
            "defaultMemory: expected what its expression yields, which is nothing (",
        ),
        (("observations", 0, "value"), ["a", "b"], "expected values of the kinds that it names: "),
    ],
)
def test_a_forged_value(path, value, problem):
    """Under a fresh id, a value is still held to its expression, and a relation to its two sides."""
    forged = copy.deepcopy(_VALUE)
    inner = forged["body"]
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value

    assert any(f"receipt.json: {problem}" in found for found in _problems(_sound(forged)))


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"\xff", _BODY.replace(b"receipt/1", b"receipt/2"), _BODY + b"\n"])
def test_what_is_no_receipt(body):
    """Anything else than a receipt is a problem, and no more than that."""
    assert _problems(body)


def _site(*copies: tuple[str, bytes]) -> list[str]:
    """What is wrong with a site of these files, under a manifest and a list of digests that agree with them."""
    files = dict(copies)
    listed = [
        {"path": path, "bytes": str(len(body)), "digest": str(Digest.of(body))} for path, body in sorted(files.items())
    ]
    said = {"schema": "build-manifest/1", "url": "https://audits.example/", "builder": "1", "versions": {}}
    manifest = strict.dump_json({**said, "files": listed})
    digests = {**{entry["path"]: entry["digest"] for entry in listed}, checking.MANIFEST: str(Digest.of(manifest))}
    sums = "".join(f"{digest.removeprefix('sha256:')}  {path}\n" for path, digest in sorted(digests.items())).encode()
    held = {**files, checking.MANIFEST: manifest, checking.SUMS: sums}
    return [str(problem) for problem in checking.check_site(held, held.get, "dist")]


def test_the_newest_receipt_is_a_copy_of_its_version():
    """The address that always gives the newest receipt gives the bytes under that receipt's own version."""
    own, newest, draft = (f"receipts/shelf/{name}receipt.json" for name in ("2/", "", "draft/"))
    other = _BODY.replace(b"GiB", b"MiB")

    assert [] == _site((own, _BODY), (newest, _BODY))
    assert [
        f"dist/{newest}: expected {Digest.of(_BODY)}, as {own} is, found {Digest.of(other)}\n"
        "    Download it again; where it is the same, what is published there is not what was built."
    ] == _site((own, _BODY), (newest, other))
    assert [
        f"dist/{newest}: expected no receipt of that audit, found {Digest.of(_BODY)}\n"
        "    Download it again; where it is the same, what is published there is not what was built."
    ] == _site((newest, _BODY))
    unnumbered = _sound(receipts.as_json(sample.receipt(version="draft")))
    assert [] == _site((own, _BODY), (draft, unnumbered), (newest, _BODY))
    assert [
        f"dist/{newest}: expected {Digest.of(_BODY)}, as {own} is, found {Digest.of(unnumbered)}\n"
        "    Download it again; where it is the same, what is published there is not what was built."
    ] == _site((own, _BODY), (draft, unnumbered), (newest, unnumbered))
    assert [] == _site((draft, unnumbered), (newest, unnumbered))


_SITE = sample.built(sample.publication())
_GUIDE, _PAGE = "guides/shelf-cache/index.html", "receipts/shelf-cache/index.html"


def _forged(path: str, there: str, instead: str) -> list[str]:
    """What is wrong with the sample's site once a page says something else, and manifest and digests agree with that."""
    page = _SITE[path].decode()
    assert there in page
    files = {**_SITE, path: page.replace(there, instead, 1).encode()}
    found = _site(*((name, body) for name, body in files.items() if name not in (checking.MANIFEST, checking.SUMS)))
    return [problem for problem in found if "receipt.json: " not in problem]


def test_a_site_as_it_was_built():
    """Every marked value of a built site reads as its receipt has it."""
    assert [] == _forged(_GUIDE, "</h1>", "</h1>")


@pytest.mark.parametrize(
    ("path", "there", "instead", "problem"),
    [
        pytest.param(
            _GUIDE,
            '#defaultMemory">1 GiB</a>',
            '#defaultMemory">2 GiB</a>',
            "defaultMemory: expected a text that reads as '1' (shelf-cache@2), found '2 GiB'",
            id="a claim",
        ),
        pytest.param(
            _GUIDE,
            'data-receipt="shelf-cache@2" data-value="1024" class="num">1,024<',
            'data-receipt="shelf-cache@2" data-value="1024" class="num">1,025<',
            "memory/65536/size: expected '1,024 MiB' (shelf-cache@2), found '1,025'",
            id="a cell",
        ),
        pytest.param(
            _GUIDE,
            'data-value="1024" class="num">1,024<',
            'data-value="1025" class="num">1,024<',
            "memory/65536/size: expected data-value '1024' (shelf-cache@2), found '1025'",
            id="an exact value",
        ),
        pytest.param(
            _PAGE,
            "Growth over hours",
            "Growth over days",
            "signals/slow/sign: expected 'Growth over hours' (shelf-cache@2), found 'Growth over days'",
            id="words",
        ),
        pytest.param(
            _PAGE,
            'data-address="counts/observations" data-receipt="shelf-cache@2">8<',
            'data-address="counts/observations" data-receipt="shelf-cache@2">80<',
            "counts/observations: expected '8' (shelf-cache@2), found '80'",
            id="a count",
        ),
        pytest.param(
            _PAGE,
            'data-address="counts/observations" data-receipt="shelf-cache@2"',
            'data-address="counts/nothing" data-receipt="shelf-cache@2"',
            "counts/nothing: expected a value of shelf-cache@2, found none there",
            id="an address",
        ),
        pytest.param(
            _PAGE,
            'data-address="counts/observations" data-receipt="shelf-cache@2"',
            'data-address="counts/observations" data-receipt="shelf-cache@3"',
            "counts/observations: expected a receipt that is here, found shelf-cache@3",
            id="a receipt",
        ),
        pytest.param(
            _PAGE,
            'data-address="counts/observations" data-receipt="shelf-cache@2"',
            'data-address="counts/observations"',
            "counts/observations: expected a receipt that is here, found none named",
            id="no receipt",
        ),
    ],
)
def test_a_forged_page(path, there, instead, problem):
    """A page that says another value than its receipt is found by the value's address, whatever the digests say."""
    forged = _forged(path, there, instead)
    line = _SITE[path].decode().split(there)[0].count("\n") + 1

    assert any(f": {problem}\n    Download the page again; " in found for found in forged), forged
    assert any(found.startswith(f"dist/{path}:{line}: ") for found in forged), forged
