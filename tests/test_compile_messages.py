"""What the activation gate looks for is what its audit read: one list of formats, and logs made of them are understood."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest

_AUDIT: Final = Path(__file__).resolve().parent.parent / "evidence" / "glm52-torch-compile"

_WORDS: Final = {"f": "12.34", "d": "7", "s": "/models/example", "r": "'example'"}
_DATE: Final = time.struct_time((2026, 9, 20, 9, 0, 1, 6, 263, 0))


def _tool() -> Any:
    """Return the gate's names, loaded from its file."""
    path = _AUDIT / "tools" / "activation_gate.py"
    spec = importlib.util.spec_from_file_location("activation_gate_of_the_messages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def gate() -> Any:
    """The gate, as an operator gets it."""
    return _tool()


@pytest.fixture(scope="module")
def body() -> dict[str, Any]:
    """What the audit's receipt says."""
    receipt = json.loads((_AUDIT / "receipts" / "draft.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = receipt["body"]
    return found


def _values(body: dict[str, Any], name: str) -> dict[str, str]:
    """Return what was observed under a name, by release."""
    observed = [(*row["id"].partition("@")[::2], row["value"]) for row in body["observations"]]
    return {release: value for of, release, value in observed if of == name}


def _lines(body: dict[str, Any]) -> list[str]:
    """Return the ids of the lines that the audit says a gate relies on."""
    (table,) = [result for result in body["results"] if result["id"] == "messages"]
    return [row["id"] for row in table["rows"]]


def _read(body: dict[str, Any]) -> set[tuple[str, str, str, str]]:
    """Return what was read: the file that a header names, the release, the format, and how it gets to the logger."""
    (absent,) = [item["value"] for item in body["assumptions"] if item["id"] == "notPrinted"]
    lines, found = set(_lines(body)), set()
    for row in body["observations"]:
        name, _, release = row["id"].partition("@")
        if name not in lines or row["value"] == absent:
            continue
        printed = [step["at"]["path"] for step in row.get("trail", []) if step["step"] == "printed"]
        written = row["at"]["path"]
        via = "log" if not printed else "default" if printed == [written] else "argument"
        found.add(((printed or [written])[-1].rpartition("/")[2], release, row["value"], via))
    return found


def _looked_for(gate: Any) -> set[tuple[str, str, str, str]]:
    observed = [pattern for pattern in gate.PATTERNS if pattern.basis == "observed"]
    return {(item.file, release, item.format, item.via) for item in observed for release in item.releases}


def test_patterns_and_formats_are_one_list(gate: Any, body: dict[str, Any]) -> None:
    """Whatever the gate calls observed was read in just these releases, and whatever was read for it, it looks for."""
    assert [] == sorted(_looked_for(gate) - _read(body))
    assert [] == sorted(_read(body) - _looked_for(gate))


def test_releases_are_those_audited(gate: Any, body: dict[str, Any]) -> None:
    """The releases that the gate speaks of are those that its audit reads, in its order."""
    assert list(gate.RELEASES) == list(_values(body, "recordFormat"))


def test_nothing_was_left_unknown(body: dict[str, Any]) -> None:
    """No format that the gate relies on is unknown in a release."""
    relied_on = [row for row in body["observations"] if row["id"].partition("@")[0] in _lines(body)]

    assert len(_lines(body)) * len(_values(body, "recordFormat")) == len(relied_on)
    assert [] == [row["id"] for row in relied_on if row["value"] == "unknown"]


def test_wordings_of_cases_are_of_no_audited_release(gate: Any, body: dict[str, Any]) -> None:
    """A pattern that is called a case's is in no release that was audited: there it would be observed."""
    texts = {row["value"] for row in body["observations"] if row.get("kind") == "text"}

    assert [] == [pattern.id for pattern in gate.PATTERNS if pattern.basis != "observed" and pattern.format in texts]
    assert [] == [pattern.id for pattern in gate.PATTERNS if (pattern.basis == "observed") != bool(pattern.releases)]


# Logs as each release would write them, of the formats that were read


def _rendered(text: str) -> str:
    """Return the message, as logging fills it in; a beginning that names the module is left empty."""
    text = re.sub(r"^%s(?=\S)", "[backbone] ", text)
    return re.sub(r"%(?:\.\d+)?([dfrs])", lambda found: _WORDS[found[1]], text)


def _record(body: dict[str, Any], release: str, file: str, text: str, level: str) -> str:
    """Return one line of a log of this release."""
    record = _values(body, "recordFormat")[release] % {
        "levelname": level,
        "asctime": time.strftime(_values(body, "recordDates")[release], _DATE),
        "fileinfo": file,
        "lineno": 53,
        "message": _rendered(text),
        "vllm_process_name": "Worker_TP0",
        "process": 4260,
    }
    before = _values(body, "processBeforeEveryLine")[release] == "yes"
    return f"(Worker_TP0 pid=4260) {record}\n" if before else f"{record}\n"


def _as_json(body: dict[str, Any], release: str, logger: str, text: str, level: str) -> str:
    """Return one line of a log of this release that is written as JSON."""
    known = {
        "asctime": "2026-09-20 09:00:01,123",
        "levelname": level,
        "name": logger,
        "processName": "VllmWorker-0",
        "process": 4260,
        "message": _rendered(text),
    }
    fields = re.findall(r"%\((\w+)\)[sd]", _values(body, "recordAsJson")[release])
    return json.dumps({field: known[field] for field in fields}) + "\n"


_RELEASES: Final = _tool().RELEASES


@pytest.mark.parametrize("release", _RELEASES)
def test_log_of_a_compiled_start(gate: Any, body: dict[str, Any], release: str) -> None:
    """A total in the words and the record of its release is a receipt; parity is still wanting."""
    log = "".join(
        _record(body, release, file, _values(body, name)[release], "INFO")
        for name, file in (("compileTotal", "monitor.py"), ("engineStartedCompiled", "core.py"))
    )

    decided = gate.decide([("startup.log", log.encode())])

    assert ("HOLD", True) == (decided["decision"], "positive-receipt" in decided["reasons"])
    assert "unaudited-wording" not in decided["reasons"]
    assert "12.34" == decided["targetCompileSeconds"]


@pytest.mark.parametrize("release", _RELEASES)
@pytest.mark.parametrize(
    ("name", "file", "level", "reason"),
    [
        ("unsupportedModelWarning", "vllm.py", "WARNING", "unsupported-model-warning"),
        ("enforceEager", "vllm.py", "WARNING", "compile-disabled"),
        ("torchCompileDisable", "vllm.py", "WARNING", "compile-disabled"),
        ("inductorDisabled", "vllm.py", "WARNING", "compile-disabled"),
        ("breakableDefault", "vllm.py", "INFO", "compile-disabled"),
        ("eagerBackend", "decorators.py", "WARNING", "compile-disabled"),
        ("engineFailedToStart", "core.py", "ERROR", "startup-failed"),
    ],
)
def test_log_of_a_start_that_did_not_compile(
    gate: Any, body: dict[str, Any], release: str, name: str, file: str, level: str, reason: str
) -> None:
    """What denies compilation rejects the log, whatever total stands beside it."""
    denied = _record(body, release, file, _values(body, name)[release], level)
    total = _record(body, release, "monitor.py", _values(body, "compileTotal")[release], "INFO")

    decided = gate.decide([("startup.log", (denied + total).encode())])

    assert ("REJECT", True) == (decided["decision"], reason in decided["reasons"])


def test_log_written_as_json(gate: Any, body: dict[str, Any]) -> None:
    """Where a release writes records as JSON, its lines are read as those of its text are."""
    fields = _values(body, "recordAsJson")
    releases = [release for release in fields if "%(message)s" in fields[release]]
    assert [] != releases
    for release in releases:
        total = _as_json(body, release, "vllm.compilation.monitor", _values(body, "compileTotal")[release], "INFO")
        done = _as_json(body, release, "vllm.v1.engine.core", _values(body, "engineStartedCompiled")[release], "INFO")
        warning = _values(body, "unsupportedModelWarning")[release]
        denied = _as_json(body, release, "vllm.config.vllm", warning, "WARNING")

        assert "HOLD" == gate.decide([("startup.log", (total + done).encode())])["decision"]
        assert "REJECT" == gate.decide([("startup.log", (denied + total + done).encode())])["decision"]
