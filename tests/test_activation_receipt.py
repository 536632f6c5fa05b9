"""The schema of the activation receipt: what an operator keeps is accepted whole, and nothing less or other is."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

_FOLDER = Path(__file__).resolve().parent.parent / "evidence" / "glm52-torch-compile" / "tools"
_SCHEMA = json.loads((_FOLDER / "activation-receipt.schema.json").read_bytes())
_VALIDATOR = Draft202012Validator(_SCHEMA)

_HEX = "0123456789abcdef" * 4
_DIGEST = f"sha256:{_HEX}"

_GOOD: dict[str, Any] = {
    "schema": "activation-receipt/1",
    "recordedAt": "2026-11-30T10:20:30Z",
    "checkpoint": {"repository": "shelf-lab/shelf-1.5", "revision": "0123456789" * 4},
    "runtime": {
        "dist": "vllm",
        "version": "1.2.0+cu129",
        "artifact": {"kind": "wheel", "name": "vllm-1.2.0-cp38-abi3-manylinux_2_28_x86_64.whl", "digest": _DIGEST},
        "files": [
            {"path": "vllm/__init__.py", "digest": _DIGEST, "bytes": 0},
            {"path": "vllm/models/shelf.py", "digest": _DIGEST, "bytes": 4096},
        ],
    },
    "configuration": {
        "runner": "V1",
        "compilation": {"mode": "VLLM_COMPILE", "optimizationLevel": "O2", "cudaGraphMode": "FULL_AND_PIECEWISE"},
        "arguments": ["vllm", "serve", "shelf-lab/shelf-1.5", "--tensor-parallel-size", "8"],
    },
    "startup": {
        "process": "pid 223 in pod shelf-0",
        "startedAt": "2026-11-30T10:00:00Z",
        "log": {"digest": _DIGEST, "files": ["startup.log"]},
        "gate": {
            "decision": "CANARY-ELIGIBLE",
            "reasons": ["positive-receipt"],
            "model": "shelf-lab/shelf-1.5",
            "warningCount": 0,
            "targetCompileSeconds": "41.27",
            "evidence": [{"line": 812, "kind": "compile-seconds", "text": "the line as it stands in the log"}],
        },
    },
    "compileEvent": {"kind": "compilation", "seconds": "41.27"},
    "graph": {"kind": "cache key", "identity": "a1b2c3d4e5"},
    "environment": {
        "cuda": "12.9",
        "driver": "575.57.08",
        "pytorch": "2.9.0+cu129",
        "triton": "3.5.0",
        "gpu": {"model": "NVIDIA H200", "count": 8},
        "topology": {
            "tensorParallel": 8,
            "pipelineParallel": 1,
            "dataParallel": 1,
            "expertParallel": "no",
            "interconnect": "NVLink",
        },
        "kernel": {"system": "Linux 6.8.0", "attention": "SHELF_SPARSE"},
    },
    "parity": {"logSha256": _HEX, "result": "passed", "corpus": "shelf-parity 3", "checkedAt": "2026-11-30T10:15:00Z"},
}

_Place = tuple[str | int, ...]


def _places(value: Any, place: _Place = ()) -> Iterator[_Place]:
    """Every place of a value, its own first."""
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*place, key))


def _at(value: Any, place: _Place) -> Any:
    for key in place:
        value = value[key]
    return value


def _with(place: _Place, new: Any) -> Any:
    """The good receipt with another value at one place."""
    if not place:
        return new
    changed = copy.deepcopy(_GOOD)
    _at(changed, place[:-1])[place[-1]] = new
    return changed


def _title(place: _Place) -> str:
    return ".".join(map(str, place)) or "receipt"


_FIELDS = [place for place in _places(_GOOD) if place and isinstance(place[-1], str)]
_OBJECTS = [place for place in _places(_GOOD) if isinstance(_at(_GOOD, place), dict)]
_LISTS = [place for place in _places(_GOOD) if isinstance(_at(_GOOD, place), list)]
_TEXTS = [place for place in _places(_GOOD) if isinstance(_at(_GOOD, place), str)]
_COUNTS = [place for place in _places(_GOOD) if isinstance(_at(_GOOD, place), int)]


def test_the_schema_is_one():
    """The schema is a valid schema of its draft, and says which."""
    Draft202012Validator.check_schema(_SCHEMA)

    assert "https://json-schema.org/draft/2020-12/schema" == _SCHEMA["$schema"]


def test_a_whole_receipt():
    """A receipt that says everything is accepted."""
    assert [] == [error.message for error in _VALIDATOR.iter_errors(_GOOD)]


def _accepted(places: list[_Place], change: Callable[[Any], Any]) -> list[str]:
    """Where the changed value is accepted, which it should not be."""
    return [_title(place) for place in places if _VALIDATOR.is_valid(_with(place, change(_at(_GOOD, place))))]


def test_a_field_that_is_missing():
    """Nothing may be left out: a start of which something is not known is not identified."""
    accepted = []
    for place in _FIELDS:
        changed = copy.deepcopy(_GOOD)
        del _at(changed, place[:-1])[place[-1]]
        accepted += [_title(place)] if _VALIDATOR.is_valid(changed) else []

    assert len(_FIELDS) > 50
    assert [] == accepted


def test_a_field_that_is_not_known():
    """A field that nobody defined, or one misspelt, is refused wherever it stands."""
    assert [] == _accepted(_OBJECTS, lambda value: {**value, "note": "x"})


def test_an_empty_list():
    """A list without items says nothing."""
    assert [] == _accepted(_LISTS, lambda _: [])


@pytest.mark.parametrize("new", [None, True, 1.5, [], {}, ""], ids=repr)
def test_a_value_of_another_type(new):
    """No field takes null, a truth value, a broken number, or an empty list, object or text."""
    assert [] == _accepted(list(_places(_GOOD)), lambda _: new)


def test_a_text_that_is_a_number():
    """What is written as text is not taken as a number."""
    assert [] == _accepted(_TEXTS, lambda _: 8)


@pytest.mark.parametrize("new", ["8", -1, 2**60])
def test_a_count_that_is_none(new):
    """A count is a whole number that may be."""
    assert [] == _accepted(_COUNTS, lambda _: new)


@pytest.mark.parametrize("around", ["{}\n", "\n{}", "{}\r\n", " {}", "{} ", "{}\u0000"], ids=ascii)
def test_a_text_with_something_around_it(around):
    """A line break or a blank at either end and a control character are refused; a path may have blanks."""
    kept = {("configuration", "arguments"), ("startup", "gate", "evidence", 0, "text")}
    places = [place for place in _TEXTS if not {place, place[:-1]} & kept]
    if around.strip(" ") == "{}":
        places = [place for place in places if place[-1] != "path"]

    assert [] == _accepted(places, around.format)


def test_what_is_not_known():
    """The word for not knowing is no name, version or identity."""
    names = ["model", "process", "name", "runner", "version", "cuda", "driver", "pytorch", "triton", "corpus"]
    names += ["interconnect", "system", "attention", "identity"]
    places = [place for place in _FIELDS if place[-1] in names]

    assert len(places) > len(names)
    assert [] == _accepted(places, lambda _: "unknown")


@pytest.mark.parametrize(
    ("place", "malformed"),
    [
        ("schema", ["activation-receipt/2", "receipt/1"]),
        ("checkpoint.repository", ["shelf", "a/b/c", "/b", "a/", "a b/c", "https://a/b"]),
        ("checkpoint.revision", ["main", "v1.2.0", "0123456789abcdef", "A" * 40, "a" * 41, "a" * 64]),
        ("runtime.dist", ["a/b", "-a", "a-"]),
        ("runtime.version", ["1 2", "unknown", "+cu129"]),
        ("runtime.artifact.kind", ["sdist", "Wheel"]),
        ("runtime.artifact.digest", [_HEX, _DIGEST.upper(), _DIGEST[:-1], _DIGEST + "0", "md5:" + _HEX[:32]]),
        ("runtime.files.0.digest", [_HEX, "sha256:" + _HEX.upper(), _DIGEST[:-1]]),
        ("configuration.compilation.mode", ["NONE", "3", "vllm_compile"]),
        ("configuration.compilation.optimizationLevel", ["2", "O", "O22", "-O2"]),
        ("configuration.compilation.cudaGraphMode", ["full", "1"]),
        ("startup.gate.decision", ["HOLD", "REJECT", "canary-eligible"]),
        ("startup.gate.reasons", [["no-positive-receipt"], ["positive-receipt", "positive-receipt"], ["Positive"]]),
        ("startup.gate.warningCount", [1]),
        ("startup.gate.targetCompileSeconds", ["0", "-1", "1e3", "41.27 s"]),
        ("startup.gate.evidence.0.line", [0]),
        ("compileEvent.kind", ["requested", "capture"]),
        ("compileEvent.seconds", ["0", "0.00", "-1", "+1", "1.", ".5", "01", "1e3", "41,27", "NaN", "none", "41.27s"]),
        ("graph", ["exposed", "none"]),
        ("environment.gpu.count", [0]),
        ("environment.topology.expertParallel", ["maybe", "true"]),
        ("parity.logSha256", [_DIGEST, _HEX.upper(), _HEX[:-1]]),
        ("parity.result", ["failed", "PASSED", "skipped"]),
        (
            "parity.checkedAt",
            [
                "2026-11-30",
                "2026-11-30T10:15:00",
                "2026-11-30T10:15:00+00:00",
                "2026-11-30 10:15:00Z",
                "2026-11-30t10:15:00z",
                "2026-13-01T10:15:00Z",
                "2026-11-31T24:15:00Z",
                "2026-11-30T10:60:00Z",
                "2026-11-30T10:15:00.5Z",
            ],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_malformed_value(place, malformed):
    """A value that only looks like one of its kind is refused."""
    keys = tuple(int(key) if key.isdecimal() else key for key in place.split("."))

    assert [] == [new for new in malformed if _VALIDATOR.is_valid(_with(keys, new))]


@pytest.mark.parametrize(
    ("place", "new"),
    [
        (("graph",), "not-exposed"),
        (("runtime", "artifact", "kind"), "image"),
        (("compileEvent",), {"kind": "cache-load", "seconds": "0.8"}),
        (("startup", "gate", "targetCompileSeconds"), "none"),
        (("startup", "gate", "reasons"), ["cache-load", "unaudited-wording"]),
        (("startup", "log", "files"), ["rank0.log", "rank1.log"]),
    ],
)
def test_another_way_to_say_it(place, new):
    """What differs between good starts may differ."""
    assert [] == [error.message for error in _VALIDATOR.iter_errors(_with(place, new))]


def test_two_files_of_one_name():
    """A log or an installed file that is listed twice is refused."""
    files = _GOOD["runtime"]["files"]

    assert not _VALIDATOR.is_valid(_with(("runtime", "files"), [*files, files[0]]))
    assert not _VALIDATOR.is_valid(_with(("startup", "log", "files"), ["startup.log", "startup.log"]))


# The path rule as the tool has it, in words of its own.
def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return not any(part in ("", ".", "..") for part in parts) and not set(path) & {
        *'\\:*?"<>|\x7f',
        *map(chr, range(32)),
    }


@given(
    path=st.lists(st.sampled_from(["a", ".", "..", "/", "\\", ":", "b.py", "\n", "\x7f", "…"]), max_size=6).map("".join)
)
def test_a_path_that_leads_elsewhere(path):
    """A path is relative, has one spelling and stays where it is read."""
    assert _is_inside(path) == _VALIDATOR.is_valid(_with(("runtime", "files", 0, "path"), path))


def _parts(schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every schema that describes a field, an item or a definition."""
    yield place, schema
    for name, part in [*schema.get("properties", {}).items(), *schema.get("$defs", {}).items()]:
        yield from _parts(part, f"{place}/{name}")
    for part in schema.get("oneOf", ()):
        if "properties" in part:
            yield from ((name, inner) for name, inner in _parts(part, place) if name != place)
    if "items" in schema:
        yield from _parts(schema["items"], f"{place}/0")


def test_every_field_is_described():
    """Every field says what it holds, in a sentence."""
    described = list(_parts(_SCHEMA))

    assert len(described) > len(_FIELDS)
    assert [] == [place for place, part in described if not part.get("description", "").endswith(".")]


def test_every_object_is_closed():
    """Every object lists its fields, all of them required, and takes no other."""
    objects = [part for _, part in _parts(_SCHEMA) if "properties" in part]
    objects += [part for _, inner in _parts(_SCHEMA) for part in inner.get("oneOf", ()) if "properties" in part]

    assert len(_OBJECTS) == len(objects) + 1  # two rows of installed files share one schema
    assert [] == [part for part in objects if part["additionalProperties"] is not False]
    assert [] == [part for part in objects if sorted(part["required"]) != sorted(part["properties"])]
