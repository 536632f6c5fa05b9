"""The schema of the activation receipt: what an operator keeps is accepted whole, and nothing less or other is."""

from __future__ import annotations

import copy
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
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
        "logDigest": _DIGEST,
        "gate": {
            "decision": "CANARY-ELIGIBLE",
            "reasons": ["positive-receipt"],
            "target": "language-model",
            "model": "shelf-lab/shelf-1.5",
            "warningCount": 0,
            "targetCompileSeconds": "41.27",
            "processes": [223],
            "cacheKeys": ["a1b2c3d4e5/rank_0_0"],
            "logSha256": _HEX,
            "logs": [{"name": "startup.log", "sha256": _HEX, "bytes": 90210}],
            "parity": {"counts": True, "why": "it is bound to this log"},
            "runs": [
                {"decision": "CANARY-ELIGIBLE", "reasons": ["positive-receipt"], "lines": {"startup.log": [1, 900]}}
            ],
            "notes": ["a sentence"],
            "evidence": [
                {
                    "file": "startup.log",
                    "line": 812,
                    "kind": "receipt",
                    "text": "the line as it stands in the log",
                    "process": "EngineCore pid=223",
                    "pattern": "total",
                    "basis": "observed",
                    "component": "backbone",
                    "seconds": "41.27",
                    "note": "a sentence",
                }
            ],
            "evidenceOmitted": 0,
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


_GATE = ("startup", "gate")

# What the gate says of a line only where there is something to say, and lists that may hold nothing.
_OPTIONAL: list[_Place] = [(*_GATE, "evidence", 0, key) for key in ("pattern", "basis", "component", "seconds", "note")]
_MAY_BE_EMPTY: list[_Place] = [(*_GATE, key) for key in ("processes", "cacheKeys", "notes")]


def _is_verbatim(place: _Place) -> bool:
    """Whether the text is kept as it was: an argument, or what the gate cites or says in a sentence."""
    return (
        "arguments" in place
        or place[-1] in ("text", "why", "file")
        or "notes" in place
        or place
        in (
            (*_GATE, "evidence", 0, "process"),
            (*_GATE, "evidence", 0, "note"),
            (*_GATE, "logs", 0, "name"),
        )
    )


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
        accepted += [place] if _VALIDATOR.is_valid(changed) else []

    assert len(_FIELDS) > 80
    assert _OPTIONAL == accepted


def test_a_field_that_is_not_known():
    """A field that nobody defined, or one misspelt, is refused wherever it stands."""
    assert [] == _accepted(_OBJECTS, lambda value: {**value, "remark": "x"})


def test_an_empty_list():
    """A list without items says nothing."""
    assert list(map(_title, _MAY_BE_EMPTY)) == _accepted(_LISTS, lambda _: [])


@pytest.mark.parametrize("new", [None, True, 1.5, [], {}, ""], ids=repr)
def test_a_value_of_another_type(new):
    """No field takes null, a truth value, a broken number, or an empty list, object or text."""
    allowed: dict[str, list[_Place]] = {
        "[]": _MAY_BE_EMPTY,
        "''": [(*_GATE, "evidence", 0, "process")],
        "True": [(*_GATE, "parity", "counts")],
    }

    assert list(map(_title, allowed.get(repr(new), []))) == _accepted(list(_places(_GOOD)), lambda _: new)


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
    places = [place for place in _TEXTS if not _is_verbatim(place)]
    if around.strip(" ") == "{}":
        places = [place for place in places if place[-1] != "path"]

    assert [] == _accepted(places, around.format)


def test_what_is_not_known():
    """The word for not knowing is no name, version or identity."""
    names = ["model", "process", "name", "runner", "version", "cuda", "driver", "pytorch", "triton", "corpus"]
    names += ["interconnect", "system", "attention", "identity"]
    places = [place for place in _FIELDS if place[-1] in names and not _is_verbatim(place)]

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
        ("configuration.compilation.optimizationLevel", ["2", "O", "O22", "X2"]),
        ("configuration.compilation.cudaGraphMode", ["full", "1"]),
        ("startup.gate.decision", ["HOLD", "REJECT", "canary-eligible"]),
        ("startup.gate.reasons", [["no-positive-receipt"], ["positive-receipt"] * 2]),
        ("startup.gate.reasons.0", ["Positive", "positive receipt"]),
        ("startup.gate.reasons", [["positive-receipt", word] for word in ("Unaudited", "a b", "a\n", "-a", "")]),
        ("startup.gate.target", ["drafter"]),
        ("startup.gate.logs.0.bytes", [0]),
        ("startup.gate.parity.counts", [False, 1]),
        ("startup.gate.runs.0.decision", ["HOLD"]),
        ("startup.gate.runs.0.reasons", [["no-positive-receipt"], ["positive-receipt"] * 2]),
        ("startup.gate.runs.0.lines", [{}, {"a": [1]}, {"a": [1, 2, 3]}, {"a": [0, 1]}]),
        ("startup.gate.processes", [[1, 1]]),
        ("startup.gate.cacheKeys", [["a", "a"]]),
        ("startup.gate.warningCount", [1]),
        ("startup.gate.targetCompileSeconds", ["0", "-1", "1e3", "41.27 s"]),
        ("startup.gate.evidence.0.line", [0]),
        ("compileEvent.kind", ["requested", "capture"]),
        ("compileEvent.seconds", ["0", "0.00", "-1", "+1", "1.", ".5", "01", "1e3", "41,27", "NaN", "none", "41.27s"]),
        ("graph", ["exposed", "none"]),
        ("environment.gpu.count", [0]),
        ("environment.topology.expertParallel", ["maybe", "true"]),
        ("parity.logSha256", ["sha256:" + _HEX.upper(), _HEX.upper(), _HEX[:-1], f"{_HEX}0", f"sha512:{_HEX}"]),
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
        (("startup", "gate", "runs", 0, "lines"), {"rank0.log": [1, 9], "rank1.log": [1, 8]}),
        (("parity", "logSha256"), _DIGEST),
    ],
)
def test_another_way_to_say_it(place, new):
    """What differs between good starts may differ."""
    assert [] == [error.message for error in _VALIDATOR.iter_errors(_with(place, new))]


def test_two_files_of_one_name():
    """A log or an installed file that is listed twice is refused."""
    files = _GOOD["runtime"]["files"]

    assert not _VALIDATOR.is_valid(_with(("runtime", "files"), [*files, files[0]]))
    assert not _VALIDATOR.is_valid(_with((*_GATE, "logs"), _GOOD["startup"]["gate"]["logs"] * 2))


def test_a_text_without_end():
    """A name, a version, a mode and a path have an end."""
    places = [place for place in _TEXTS if not _is_verbatim(place)]

    assert [] == _accepted(places, lambda _: "A" * 1001)
    assert not _VALIDATOR.is_valid(_with(("checkpoint", "repository"), f"a/{'b' * 1000}"))
    assert not _VALIDATOR.is_valid(_with(("startup", "gate", "reasons"), ["positive-receipt", "a" * 101]))
    assert not _VALIDATOR.is_valid(_with(("compileEvent", "seconds"), f"0.{'1' * 40}"))


def test_what_the_gate_prints():
    """What the log gate prints for a start that it finds eligible is kept whole, as it is."""
    policy = _FOLDER.parent / "fixtures" / "policies" / "checked"
    done = subprocess.run(
        [sys.executable, str(_FOLDER / "activation_gate.py"), "startup.log", "--parity", "parity.json", "--json"],
        cwd=policy,
        capture_output=True,
        check=False,
    )
    gate = json.loads(done.stdout)
    receipt = _with(_GATE, gate)
    receipt["parity"] = json.loads((policy / "parity.json").read_bytes())

    assert 0 == done.returncode
    assert [] == [f"{error.json_path}: {error.message}" for error in _VALIDATOR.iter_errors(receipt)]


@pytest.mark.parametrize("policy", ["quiet", "fallback", "compiled"])
def test_what_the_gate_prints_for_another_start(policy):
    """No other decision of the gate can stand in a receipt."""
    log = _FOLDER.parent / "fixtures" / "policies" / policy / "startup.log"
    done = subprocess.run(
        [sys.executable, str(_FOLDER / "activation_gate.py"), str(log), "--json"], capture_output=True, check=False
    )

    assert not _VALIDATOR.is_valid(_with(_GATE, json.loads(done.stdout)))


def test_what_the_installed_source_tool_prints():
    """The tool's rows of files, of any path that a receipt may list, are rows of this record."""
    spec = importlib.util.spec_from_file_location("installed_source", _FOLDER / "installed_source.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    site = Path(jsonschema.__file__).parent.parent
    seen = tool.examine("jsonschema", lambda _: ["jsonschema/__init__.py", "jsonschema/validators.py"], [str(site)])

    assert 2 == len(seen["files"])
    assert _VALIDATOR.is_valid(_with(("runtime", "files"), seen["files"]))


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

    assert len(_OBJECTS) == len(objects) + 2  # two rows of files share a schema; lines by log are no fields
    assert [] == [part for part in objects if part["additionalProperties"] is not False]
    optional = [sorted(set(part["properties"]) - set(part["required"])) for part in objects]
    assert [sorted(str(place[-1]) for place in _OPTIONAL)] == [keys for keys in optional if keys]
