"""The activation gate: no log without positive evidence for the target is eligible, however the log looks."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

_TOOL = Path(__file__).parent.parent / "evidence" / "glm52-torch-compile" / "tools" / "activation_gate.py"

# One line for each pattern: its id, the module that prints it, and a message of this format.
_MESSAGES = """\
total | monitor.py | torch.compile took 3.25 s in total
total-tagged | monitor.py | [backbone] torch.compile took 3.25 s in total
together | monitor.py | torch.compile and initial profiling/warmup run together took 3.25 s in total
together-tagged | monitor.py | [backbone] torch.compile and initial profiling/warmup run together took 3.25 s in total
aot-load | decorators.py | Directly load AOT compilation from path x1
aot-load-tagged | decorators.py | [backbone] Directly load AOT compilation from path x1
unsupported-model | vllm.py | `torch.compile` is turned on, but the model x1 does not support it. Please open an issue on GitHub if you want it to be supported.
enforce-eager | vllm.py | Enforce eager set, disabling torch.compile and CUDAGraphs. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none
enforce-eager-jit | vllm.py | Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none and --kernel_config.enable_jit_warmup=False
compile-disable-variable | vllm.py | TORCH_COMPILE_DISABLE is set, disabling torch.compile. This is equivalent to setting -cc.mode=none
breakable-set | vllm.py | VLLM_USE_BREAKABLE_CUDAGRAPH is set, disabling vLLM's torch.compile pipeline. Equivalent to -cc.mode=none.
breakable-auto-v4 | vllm.py | Auto-enabling VLLM_USE_BREAKABLE_CUDAGRAPH=1 for DeepSeek V4. Set VLLM_USE_BREAKABLE_CUDAGRAPH=0 to opt out.
breakable-auto | vllm.py | Auto-enabling VLLM_USE_BREAKABLE_CUDAGRAPH=1. Set VLLM_USE_BREAKABLE_CUDAGRAPH=0 to opt out.
breakable-batch-invariant | vllm.py | VLLM_BATCH_INVARIANT=1: auto-enabling VLLM_USE_BREAKABLE_CUDAGRAPH=1. Set VLLM_USE_BREAKABLE_CUDAGRAPH=0 to opt out.
inductor-disabled | vllm.py | Inductor compilation was disabled by user settings, optimizations settings that are only active during inductor compilation will be ignored.
cudagraph-eager | vllm.py | Cudagraph is disabled under eager mode
cudagraph-mode | vllm.py | Cudagraph mode x1 is not compatible with compilation mode x1.Overriding to NONE.
cudagraph-mode-fallback | vllm.py | Cudagraph mode x1 is not compatible with compilation mode x1. Overriding to x1.
eager-backend | decorators.py | Detected eager backend, disabling AOT compile.
no-compiled-submodule | compilation.py | Cudagraph mode x1 requires piecewise capture, but the loaded model provides neither a compiled submodule nor breakable CUDA graphs. Overriding to x1.
oot-backend | compilation.py | Using OOT custom backend for compilation.
engine-failed | core.py | EngineCore failed to start.
engine-fatal | core.py | EngineCore encountered a fatal error.
worker-not-started | multiproc_executor.py | WorkerProc failed to start.
worker-failed | multiproc_executor.py | WorkerProc failed.
worker-exception | multiproc_executor.py | WorkerProc hit an exception.
worker-died | multiproc_executor.py | Worker proc x1 died unexpectedly, shutting down executor.
worker-died-code | multiproc_executor.py | Worker proc x1 died unexpectedly (exit code: x1), shutting down executor.
ray-worker-died | ray_executor_v2.py | RayWorkerProc rank=x1 died unexpectedly, shutting down executor.
ray-worker-failed | ray_executor_v2.py | RayWorkerProc failed: x1
directory | backends.py | Using cache directory: x1 for vLLM's torch.compile
directory-tagged | backends.py | [backbone] Using cache directory: x1 for vLLM's torch.compile
graph-load | backends.py | Directly load the compiled graph(s) for compile range x1 from the cache, took 3.250 s
graph-load-tagged | backends.py | [backbone] Directly load the compiled graph(s) for compile range x1 from the cache, took 3.250 s
dynamo | backends.py | Dynamo bytecode transform time: 3.25 s
dynamo-tagged | backends.py | [backbone] Dynamo bytecode transform time: 3.25 s
graph | backends.py | Compiling a graph for compile range x1 takes 3.25 s
graph-tagged | backends.py | [backbone] Compiling a graph for compile range x1 takes 3.25 s
aot-saved | decorators.py | saved AOT compiled function to x1
aot-saved-tagged | decorators.py | [backbone] saved AOT compiled function to x1
aot-reload-failed | decorators.py | Compiling model again due to a load failure from x1, reason: x1
aot-reload-failed-tagged | decorators.py | [backbone] Compiling model again due to a load failure from x1, reason: x1
aot-unsaved | decorators.py | unable to save AOT compiled function to x1: x1
aot-unsaved-tagged | decorators.py | [backbone] unable to save AOT compiled function to x1: x1
cache-disabled | backends.py | vLLM's torch.compile cache is disabled.
cache-disabled-tagged | backends.py | [backbone] vLLM's torch.compile cache is disabled.
arguments | api_utils.py | non-default args: x1
arguments-startup | startup.py | non-default args: x1
engine | core.py | Initializing a V1 LLM engine (vx1) with config: x1
drafter | gpu_model_runner.py | Loading drafter model...
init | core.py | init engine (profile, create kv cache, warmup model) took 3.25 s
init-compiled | core.py | init engine (profile, create kv cache, warmup model) took 3.25 s (compilation: 2.50 s)
init-encoder | core.py | init engine (profile, create kv cache, warmup model) took 3.25 s (compilation: 2.50 s — language_model: 1.50 s, encoder: 0.75 s)
graphs | model_runner.py | Graph capturing finished in 3 secs, took 2.50 GiB
graphs-v1 | gpu_model_runner.py | Graph capturing finished in 3 secs, took 2.50 GiB
takes | monitor.py | torch.compile takes 3.25 s in total
graphs-sum | monitor.py | graph compilation takes 3.25 s in total
graph-general | backends.py | Compiling a graph for general shape takes 3.25 s
graph-dynamic | backends.py | Compiling a graph for dynamic shape takes 3.25 s
graph-load-dynamic | backends.py | Directly load the compiled graph(s) for dynamic shape from the cache, took 3.250 s
graph-load-shape | backends.py | Directly load the compiled graph(s) for shape x1 from the cache, took 3.250 s
engine-v0 | llm_engine.py | Initializing an LLM engine (vx1) with config: x1
init-seconds | core.py | init engine (profile, create kv cache, warmup model) took 3.25 seconds
init-seconds-v0 | llm_engine.py | init engine (profile, create kv cache, warmup model) took 3.25 seconds
eager-level | vllm.py | Enforce eager set, overriding optimization level to -O0
version | api_server.py | vLLM API server version x1
xla-shapes | tpu_model_runner.py | Compiling the model with different input shapes.
xla | tpu_model_runner.py | Compilation finished in 3.25 [secs].
xla-in | tpu_model_runner.py | Compilation finished in in 3.25 [secs].
engine-hit | core.py | EngineCore hit an exception: x1
engine-raised | utils.py | Engine core initialization failed. See root cause above. x1
server-failed | on.py | Application startup failed. Exiting.
"""  # noqa: E501 - a message is one line

_WARNING = (
    "`torch.compile` is turned on, but the model /m/glm does not support it. "
    "Please open an issue on GitHub if you want it to be supported."
)


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("activation_gate", _TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["activation_gate"] = module  # where a named tuple looks for its annotations
    spec.loader.exec_module(module)
    return module


gate = _loaded()


def _record(message: str, file: str = "monitor.py", process: str = "Worker_TP0 pid=11", level: str = "INFO") -> str:
    prefix = f"({process}) " if process else ""
    return f"{prefix}{level} 09-21 12:00:00 [{file}:53] {message}\n"


def _engine(config: str = "model='/m/glm', speculative_config=None", process: str = "EngineCore pid=10") -> str:
    return _record(f"Initializing a V1 LLM engine (v0.30.0) with config: {config}", "core.py", process)


_ARGUMENTS = _record("non-default args: {'model': '/m/glm'}", "api_utils.py", "APIServer pid=1")
_DIRECTORY = _record(
    "Using cache directory: /c/torch_compile_cache/dcdf5399e2/rank_0_0/backbone for vLLM's torch.compile", "backends.py"
)
_TOTAL = _record("torch.compile took 31.92 s in total")
_END = (
    _record("init engine (profile, create kv cache, warmup model) took 59.80 s", "core.py", "EngineCore pid=10")
    + "(APIServer pid=1) INFO:     Application startup complete.\n"
)
_QUIET = _ARGUMENTS + _engine() + _END
_COMPILED = _ARGUMENTS + _engine() + _DIRECTORY + _TOTAL + _END


def _with(*lines: str, end: str = _END) -> str:
    """A start in which these lines are printed."""
    return _ARGUMENTS + _engine() + "".join(lines) + end


def _bytes(log: str | bytes) -> bytes:
    return log if isinstance(log, bytes) else log.encode()


def _passed(digest: str, **changes: Any) -> bytes:
    receipt = {"logSha256": digest, "result": "passed", "corpus": "glm-52-parity", "checkedAt": "2026-09-22T08:00:00Z"}
    return json.dumps({**receipt, **changes}).encode()


def _answer(*logs: str | bytes, target: str = "language-model", parity: bool = True) -> dict[str, Any]:
    """The answer for these logs, with a parity receipt that is bound to them."""
    named = [(f"{number}.log", _bytes(log)) for number, log in enumerate(logs)]
    digests = [hashlib.sha256(data).hexdigest() for _, data in named]
    lines = "".join(f"{digest}  {name}\n" for digest, (name, _) in zip(digests, named, strict=True))
    digest = digests[0] if len(logs) == 1 else hashlib.sha256(lines.encode()).hexdigest()
    answer: dict[str, Any] = gate.decide(named, _passed(digest) if parity else None, target)
    return answer


def _says(*logs: str | bytes, **asked: Any) -> tuple[str, list[str]]:
    answer = _answer(*logs, **asked)
    return answer["decision"], answer["reasons"]


# --- The state machine -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "without", "passing", "reasons"),
    [
        (_with(_record(_WARNING, "vllm.py", level="WARNING")), "REJECT", "REJECT", ["unsupported-model-warning"]),
        (_QUIET, "REJECT", "REJECT", ["no-positive-receipt"]),
        (_COMPILED, "HOLD", "CANARY-ELIGIBLE", ["positive-receipt"]),
        (
            _with(_TOTAL, _record(_WARNING, "vllm.py", "Worker_TP1 pid=12", "WARNING")),
            "REJECT",
            "REJECT",
            ["unsupported-model-warning", "contradiction"],
        ),
        (
            _with(_record("Detected eager backend, disabling AOT compile.", "decorators.py"), _TOTAL),
            "REJECT",
            "REJECT",
            ["compile-disabled", "contradiction"],
        ),
        (
            _ARGUMENTS + _engine("'mode': <CompilationMode.NONE: 0>") + _TOTAL + _END,
            "REJECT",
            "REJECT",
            ["contradiction"],
        ),
        (_ARGUMENTS + _engine("'mode': <CompilationMode.NONE: 0>") + _END, "REJECT", "REJECT", ["no-positive-receipt"]),
        (
            _with(
                _TOTAL,
                _record(
                    "Cudagraph mode PIECEWISE requires piecewise capture, but the loaded model provides neither a compiled "
                    "submodule nor breakable CUDA graphs. Overriding to NONE.",
                    "compilation.py",
                ),
            ),
            "REJECT",
            "REJECT",
            ["contradiction"],
        ),
        (_with(_TOTAL, _record("EngineCore failed to start.", "core.py")), "REJECT", "REJECT", ["startup-failed"]),
        (_with(_TOTAL, "ValueError: no memory\n", end=""), "REJECT", "REJECT", ["startup-failed"]),
        (_with(_TOTAL, _record("ValueError: no memory"), end=""), "REJECT", "REJECT", ["startup-failed"]),
        (_with("ValueError: handled\n", _DIRECTORY, _TOTAL), "HOLD", "CANARY-ELIGIBLE", ["positive-receipt"]),
        (
            _engine() + "ValueError: handled\n" + _DIRECTORY + _TOTAL + _END.splitlines(True)[0],
            "HOLD",
            "CANARY-ELIGIBLE",
            ["positive-receipt"],
        ),
        (
            _with(_record("Using OOT custom backend for compilation.", "compilation.py"), _TOTAL),
            "REJECT",
            "REJECT",
            ["foreign-compiler"],
        ),
        (
            _with(_record("Compilation finished in 44.09 [secs].", "tpu_model_runner.py")),
            "REJECT",
            "REJECT",
            ["foreign-compiler", "unaudited-wording"],
        ),
        (
            _with(_record("Compilation finished in 44.09 [secs].", "tpu_model_runner.py"), _TOTAL),
            "HOLD",
            "CANARY-ELIGIBLE",
            ["positive-receipt"],
        ),
        (
            _with(
                _record("torch.compile takes 85.78 s in total"),
                _record("Cudagraph is disabled under eager mode", "vllm.py"),
            ),
            "REJECT",
            "REJECT",
            ["compile-disabled", "contradiction", "unaudited-wording"],
        ),
        (
            _with(_DIRECTORY.replace("/backbone", "/eagle_head"), _record("torch.compile takes 85.78 s in total")),
            "REJECT",
            "REJECT",
            ["no-receipt-for-target", "unaudited-wording"],
        ),
        (
            "[2026-05-27 03:33:57] Compiling a graph for dynamic shape takes 1.80 s\n" + _QUIET,
            "REJECT",
            "REJECT",
            ["foreign-compiler", "unaudited-wording"],
        ),
        (
            _with(_record("[eagle_head] torch.compile took 31.92 s in total"), end=""),
            "REJECT",
            "REJECT",
            ["no-receipt-for-target", "incomplete"],
        ),
        (
            "[2026-05-27 03:33:57 TP0] Graph capturing finished in 21 secs, took 1.87 GiB\n" + _QUIET,
            "REJECT",
            "REJECT",
            ["no-positive-receipt"],
        ),
        (_with(_record("Compiling backbone with XLA", "x.py")), "REJECT", "REJECT", ["foreign-compiler"]),
        (_with("neuronx-cc: Compiler status PASS\n"), "REJECT", "REJECT", ["foreign-compiler"]),
        (_with("TensorRT is installed\n", "compiled 4 kernels\n"), "REJECT", "REJECT", ["no-positive-receipt"]),
        (
            _with("neuronx-cc: Compiler status PASS\n", _record(_WARNING, "vllm.py")),
            "REJECT",
            "REJECT",
            ["unsupported-model-warning"],
        ),
        (
            "[2026-05-27 03:33:57 TP0] torch.compile took 31.92 s in total\n" + _QUIET,
            "REJECT",
            "REJECT",
            ["foreign-compiler", "unaudited-wording"],
        ),
        (
            _with(_record("torch.compile takes 85.78 s in total")),
            "HOLD",
            "CANARY-ELIGIBLE",
            ["positive-receipt", "unaudited-wording"],
        ),
        (
            _with(_record("torch.compile takes 85.78 s in total"), _TOTAL),
            "HOLD",
            "CANARY-ELIGIBLE",
            ["positive-receipt"],
        ),
        (
            _with(_record("Enforce eager set, overriding optimization level to -O0", "vllm.py")),
            "REJECT",
            "REJECT",
            ["compile-disabled", "unaudited-wording"],
        ),
        (
            _with(_record("Directly load AOT compilation from path /c/model", "decorators.py")),
            "HOLD",
            "CANARY-ELIGIBLE",
            ["positive-receipt", "cache-load"],
        ),
        (_with(_TOTAL, end=""), "HOLD", "HOLD", ["incomplete", "positive-receipt"]),
        (_with(end=""), "REJECT", "REJECT", ["no-positive-receipt", "incomplete"]),
        ("", "REJECT", "REJECT", ["no-positive-receipt", "incomplete"]),
    ],
)
def test_state(log, without, passing, reasons):
    """Each state has one decision, and only a receipt with bound parity and nothing against it is eligible."""
    assert (without, reasons) == _says(log, parity=False)
    assert (passing, reasons) == _says(log)


def test_what_the_answer_holds():
    """The answer names the log, the model, the seconds as they were logged, the process and the cache's keys."""
    answer = _answer(_COMPILED)

    assert "/m/glm" == answer["model"]
    assert "31.92" == answer["targetCompileSeconds"]
    assert [11] == answer["processes"]
    assert ["dcdf5399e2/rank_0_0"] == answer["cacheKeys"]
    assert 0 == answer["warningCount"]
    assert hashlib.sha256(_COMPILED.encode()).hexdigest() == answer["logSha256"] == answer["logs"][0]["sha256"]
    assert [
        ("request", "arguments"),
        ("request", "engine"),
        ("component", "directory"),
        ("receipt", "total"),
        ("health", "init"),
        ("health", None),
    ] == [(entry["kind"], entry.get("pattern")) for entry in answer["evidence"]]
    assert {
        "file": "0.log",
        "line": 4,
        "kind": "receipt",
        "text": "torch.compile took 31.92 s in total",
        "process": "Worker_TP0 pid=11",
        "pattern": "total",
        "basis": "observed",
        "seconds": "31.92",
    } == answer["evidence"][3]


def test_the_largest_total_is_reported():
    """Totals are cumulative, so the largest is named, and nothing is added up."""
    assert (
        "6.25"
        == _answer(_with(_record("torch.compile took 5.71 s in total"), _record("torch.compile took 6.25 s in total")))[
            "targetCompileSeconds"
        ]
    )


def test_what_was_requested_is_no_evidence():
    """A requested mode, captured graphs, a start that finished and an answered request are facts, and prove nothing."""
    log = _with(
        _engine(
            "model='/m/glm', compilation_config={'mode': <CompilationMode.VLLM_COMPILE: 3>}", "EngineCore_DP1 pid=12"
        ),
        _record("Graph capturing finished in 21 secs, took 1.87 GiB", "gpu_model_runner.py"),
        _record("Dynamo bytecode transform time: 4.60 s", "backends.py"),
        _record("Compiling a graph for compile range (1, 2048) takes 15.65 s", "backends.py"),
        end=_END + '(APIServer pid=1) INFO:     127.0.0.1:41822 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n',
    )
    answer = _answer(log)

    assert ("REJECT", ["no-positive-receipt"]) == (answer["decision"], answer["reasons"])
    assert ["request", "request", "request", "health", "activity", "activity", "health", "health", "health"] == [
        entry["kind"] for entry in answer["evidence"]
    ]


# --- Patterns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", _MESSAGES.splitlines())
def test_each_pattern_is_met(line):
    """A record of the module that prints it, with a message of its format, is each pattern's, and of no other."""
    identity, file, message = line.split(" | ")
    (entry,) = [entry for entry in _answer(_record(message, file))["evidence"] if "pattern" in entry]

    assert (identity, message) == (entry["pattern"], entry["text"])


def test_each_pattern_has_its_message():
    """Whatever the tool looks for is met above."""
    assert [line.split(" | ")[0] for line in _MESSAGES.splitlines()] == [pattern.id for pattern in gate.PATTERNS]


def test_basis_of_patterns():
    """A pattern was read in the releases that it names, or is a case's, which is named."""
    for pattern in gate.PATTERNS:
        assert ("observed" == pattern.basis) == bool(pattern.releases)
        assert pattern.basis == "observed" or pattern.basis.startswith("case: ")
        assert set(pattern.releases) <= set(gate.RELEASES)


@pytest.mark.parametrize("text", ["%s", "%s %s took", "took %.2f s", ""])
def test_format_that_says_too_little(text):
    """A format of a few characters is not looked for: it would be met everywhere."""
    with pytest.raises(ValueError, match="says too little"):
        gate._compiled(text)


def test_percent_sign_in_a_format():
    """What a format escapes stands once in the message."""
    source, _ = gate._compiled("at 100%% of the graphs")

    assert "at100%ofthegraphs" == source.replace("\\", "")


@pytest.mark.parametrize(
    "text",
    [
        "torch.compile took 31.92 s",
        "torch.compile took 31.92 s in total, or so",
        "The torch.compile took 31.92 s in total",
        "'torch.compile took 31.92 s in total'",
        "`torch.compile took 31.92 s in total`",
        "[APIServer] said: torch.compile took 31.92 s in total",
        "compilation mode 3 selected",
        "torch.compile took -31.92 s in total",
        "torch.compile took 0.00 s in total",
        "torch.compile took nan s in total",
        "torch.compile took inf s in total",
        "torch.compile took 1,031.92 s in total",
        "torch.compile took 31.920 s in total",
        "torch.compile took ٣١.٩٢ s in total",
        "torch.compile took 31 s in total",
        "torch.compile took  s in total",
    ],
)
def test_message_that_is_nearly_a_receipt(text):
    """A receipt is the whole message, with a positive duration as the format prints it."""
    assert ("REJECT", ["no-positive-receipt"]) == _says(_with(_record(text)))


def test_void_duration_is_explained():
    """The evidence says why a line that looks like a receipt is none."""
    (entry,) = [
        entry
        for entry in _answer(_with(_record("torch.compile took 0.00 s in total")))["evidence"]
        if entry["kind"] == "void"
    ]

    assert "the duration is not a positive number as the format prints it" == entry["note"]
    assert "seconds" not in entry


# --- Whose evidence it is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        [_record("[eagle_head] torch.compile took 31.92 s in total")],
        [_record("[Qwen3_VisionBlock] torch.compile took 31.92 s in total")],
        [_record("[eagle_head] Directly load AOT compilation from path /c/model", "decorators.py")],
        [_DIRECTORY.replace("/backbone", "/eagle_head"), _TOTAL],
        [_DIRECTORY.replace("/backbone", "\\eagle_head"), _TOTAL],
        [_engine("speculative_config=SpeculativeConfig(method='mtp')", "EngineCore_DP1 pid=12"), _TOTAL],
        [_engine("speculative_config={'method': 'eagle3'}", "EngineCore_DP1 pid=12"), _TOTAL],
        [_engine("compile_mm_encoder=True", "EngineCore_DP1 pid=12"), _TOTAL],
        [_record("Loading drafter model...", "gpu_model_runner.py"), _TOTAL],
        [_record("Loading drafter model...", "cpu_model_runner.py"), _TOTAL],
        [
            _record("Loading drafter model...", "gpu_model_runner.py"),
            _DIRECTORY.replace("/backbone", "/eagle_head"),
            _TOTAL,
            _TOTAL,
        ],
        [
            _TOTAL,
            _record(
                "init engine (profile, create kv cache, warmup model) took 59.80 s (compilation: 31.92 s — language_model: "
                "0.00 s, encoder: 31.92 s)",
                "core.py",
                "EngineCore pid=10",
            ),
        ],
    ],
)
def test_compiled_beside_an_eager_target(lines):
    """A drafter's or an encoder's receipt, or one that might be, is none for the target."""
    answer = _answer(_with(*lines))

    assert ("REJECT", ["no-receipt-for-target"]) == (answer["decision"], answer["reasons"])
    assert "none" == answer["targetCompileSeconds"]
    assert {"other"} == {entry["kind"] for entry in answer["evidence"] if "note" in entry}


@pytest.mark.parametrize(
    "lines",
    [
        [_record("[backbone] torch.compile took 31.92 s in total")],
        [_DIRECTORY.replace("/backbone", ""), _TOTAL],
        [_engine("speculative_config=SpeculativeConfig(method='ngram')", "EngineCore_DP1 pid=12"), _TOTAL],
        [_engine("speculative_config=SpeculativeConfig(method='mtp')", "EngineCore_DP1 pid=12"), _DIRECTORY, _TOTAL],
        [_engine("speculative_config=SpeculativeConfig(method='mtp')", "EngineCore_DP1 pid=12"), _TOTAL, _TOTAL],
        [
            _record("Loading drafter model...", "gpu_model_runner.py"),
            _record("[backbone] " + _TOTAL.split("] ")[1][:-1]),
        ],
        [_DIRECTORY, _TOTAL, _DIRECTORY.replace("/backbone", "/eagle_head"), _TOTAL.replace("31.92", "33.00")],
        [_DIRECTORY.replace("/backbone", "/eagle_head"), _TOTAL.replace("31.92", "33.00"), _TOTAL],
        [
            _engine("compile_mm_encoder=True", "EngineCore_DP1 pid=12"),
            _TOTAL,
            _record(
                "init engine (profile, create kv cache, warmup model) took 59.80 s (compilation: 41.92 s — language_model: "
                "31.92 s, encoder: 10.00 s)",
                "core.py",
                "EngineCore pid=10",
            ),
        ],
    ],
)
def test_compiled_target(lines):
    """A receipt of the target counts, also beside other components, and only its seconds are reported."""
    answer = _answer(_with(*lines))

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == (answer["decision"], answer["reasons"])
    assert "31.92" == answer["targetCompileSeconds"]


def test_directory_of_another_process():
    """The cache directory that one process opened says nothing about another's receipt."""
    directory = _DIRECTORY.replace("/backbone", "/eagle_head").replace("Worker_TP0 pid=11", "Worker_TP1 pid=12")

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(_with(directory, _TOTAL))


def test_warning_of_the_target_beside_a_drafter():
    """A compiled drafter explains an unnamed receipt beside the warning: that is no contradiction."""
    log = _with(
        _record("Loading drafter model...", "gpu_model_runner.py"),
        _record(_WARNING, "vllm.py", level="WARNING"),
        _TOTAL,
        _TOTAL,
    )

    assert ("REJECT", ["unsupported-model-warning", "no-receipt-for-target"]) == _says(log)


def test_drafter_in_the_arguments():
    """A drafter is known from the arguments, too."""
    log = _ARGUMENTS.replace("}", ", 'speculative_config': {'method': 'mtp'}}") + _TOTAL + _END

    assert ("REJECT", ["no-receipt-for-target"]) == _says(log)


def test_another_target():
    """Another target is the tag that the log has for it, and a receipt without a tag is not its own."""
    log = _with(_record("[eagle_head] torch.compile took 3.25 s in total"))

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(log, target="eagle_head")
    assert "eagle_head" == _answer(log)["evidence"][2]["component"]
    assert ("REJECT", ["no-receipt-for-target"]) == _says(log, target="draft_model")
    assert ("REJECT", ["no-receipt-for-target"]) == _says(_with(_TOTAL), target="eagle_head")


def test_rank_that_only_loads():
    """A rank that prints less than the first is not eager for it."""
    log = _with(
        _DIRECTORY,
        _TOTAL,
        _record("Directly load AOT compilation from path /c/model", "decorators.py", "Worker_TP1 pid=12"),
    )

    assert [11, 12] == _answer(log)["processes"]
    assert ["873c8fa0/rank_1_0", "dcdf5399e2/rank_0_0"] == _answer(
        log.replace("/c/model", "/c/torch_compile_cache/torch_aot_compile/873c8fa0/rank_1_0/model")
    )["cacheKeys"]
    assert ("CANARY-ELIGIBLE", ["positive-receipt", "cache-load"]) == _says(log)


def test_graphs_from_the_cache():
    """Graphs that were loaded label the receipt."""
    log = _with(
        _record(
            "Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 5.684 s",
            "backends.py",
        ),
        _TOTAL,
    )

    assert ("CANARY-ELIGIBLE", ["positive-receipt", "cache-load"]) == _says(log)
    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(
        log.replace("Directly load", "[eagle_head] Directly load")
    )
    assert ("CANARY-ELIGIBLE", ["positive-receipt", "cache-load"]) == _says(
        log.replace("Directly", "[backbone] Directly")
    )


# --- Quoted, forged, in prose ------------------------------------------------------------------------------------------

_REQUEST = "(APIServer pid=1) INFO 09-21 12:10:00 [logger.py:40] "


@pytest.mark.parametrize(
    "line",
    [
        "torch.compile took 31.92 s in total\n",
        _REQUEST + "prompt: 'torch.compile took 31.92 s in total'\n",
        _REQUEST + "torch.compile took 31.92 s in total\n",
        _REQUEST + "no such model: " + _TOTAL,
        _REQUEST + "prompt: '" + _TOTAL,
        _ARGUMENTS.replace("/m/glm", _TOTAL.strip() + _REQUEST),
        _record("saved AOT compiled function to /c", "decorators.py").strip() + _TOTAL,
        "'" + _TOTAL,
        "2026-09-21 12:00:00 - vllm.entrypoints.logger - INFO - no such model: " + _TOTAL,
        "INFO:     no such model: " + _TOTAL,
        "x" * 500 + " " + _TOTAL,
        json.dumps({"log": "torch.compile took 31.92 s in total\n", "stream": "stderr"}) + "\n",
        json.dumps({"message": "torch.compile took 31.92 s in total", "user": "somebody"}) + "\n",
        json.dumps({"message": "torch.compile took 31.92 s in total", "name": "chat.monitor"}) + "\n",
        json.dumps({"message": "no such model: " + _TOTAL.strip(), "name": "vllm.entrypoints", "levelname": "ERROR"})
        + "\n",
        json.dumps({"message": _TOTAL.strip(), "name": "vllm.entrypoints", "levelname": "ERROR"}) + "\n",
        _REQUEST
        + "no such model: "
        + _record("Dynamo bytecode transform time: 4.60 s", "backends.py").strip()
        + _TOTAL,
        json.dumps({"name": "vllm.x", "message": "no such model: " + _TOTAL.strip(), "user": "x"}) + "\n",
        json.dumps({"logger": "vllm.x", "message": "no such model: " + _TOTAL.strip(), "user": "x"}) + "\n",
        json.dumps({"levelname": "INFO", "message": "no such model: " + _TOTAL.strip(), "user": "x"}) + "\n",
        json.dumps({"levelname": "INFO", "message": "torch.compile took 31.92 s in total", "user": "x"}) + "\n",
        json.dumps({"log": json.dumps({"log": json.dumps({"log": json.dumps({"log": _TOTAL})})})}) + "\n",
        "2026-09-01 10:00:00 vllm.compilation.monitor: torch.compile took 31.92 s in total\n",
        _ARGUMENTS.replace("'/m/glm'", "'torch.compile took 31.92 s in total'"),
    ],
)
def test_receipt_that_somebody_else_wrote(line):
    """A receipt in a prompt, in arguments, of another module or without header does not count."""
    decision, reasons = _says(_with(line))

    assert "REJECT" == decision
    assert {"no-positive-receipt"} == {*reasons} - {"incomplete"}


@pytest.mark.parametrize(
    "line",
    [
        "torch.compile is turned on, but the model /m/glm does not support it\n",
        "the log says \\`torch.compile\\` is turned on, but the model /m/glm does not support it, so\n",
        '"log": "\\"`torch.compile`\\" is turned on, but the model /m/glm does not support it. Please',
        "> " + _record(_WARNING, "vllm.py", level="WARNING")[:150] + "\n",
        _record(_WARNING, "vllm.py", level="WARNING")[:130] + "\n",
        "- it said: " + _record(_WARNING, "vllm.py", level="WARNING"),
        _record(_WARNING, "config.py", level="WARNING"),
        "'" + _record(_WARNING, "vllm.py", level="WARNING"),
        json.dumps({"log": _record(_WARNING, "vllm.py", level="WARNING")}) + "\n",
        json.dumps([_WARNING, 1]) + "\n",
        json.dumps({"text": f"it says: {_WARNING}", "user": 1}) + "\n",
        "`torch.compile` is turned on, but the model /m/glm does not support it " + _record("hello"),
        "`torch.compile` is turned on, but the\nmodel /m/glm does not sup\nport it. Please\n",
        "INFO 09-21 12:00:00 [x.py:1] loaded" + _record(_WARNING, "vllm.py", level="WARNING"),
    ],
)
def test_warning_wherever_it_stands(line):
    """The warning is heard with and without header, backticks and its end; a receipt does not outweigh it."""
    answer = _answer(line)

    assert ("REJECT", ["unsupported-model-warning"]) == (answer["decision"], answer["reasons"])
    assert ("/m/glm", 1) == (answer["model"], answer["warningCount"])
    assert 1 == answer["evidence"][0]["text"].count("is turned on")
    assert "REJECT" == _answer(_COMPILED + line)["decision"]


def test_warning_in_a_request():
    """A message that quotes the warning is not the warning."""
    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(_COMPILED + _REQUEST + f"prompt: '{_WARNING}'\n")


@pytest.mark.parametrize(
    "message",
    [
        "vLLM's torch.compile cache is disabled.",
        "Compiling model again due to a load failure from /c/model, reason: Compile cache file corrupted.",
        "unable to save AOT compiled function to /c/model: [Errno 28] No space left on device",
        "Asynchronous scheduling is disabled.",
        "non-default args: {'enforce_eager': False}",
    ],
)
def test_benign_words(message):
    """What is disabled, fails or is unable beside the compiler does not deny that the model was compiled."""
    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(_with(_record(message, "decorators.py"), _TOTAL))


# --- Logs as people have them ------------------------------------------------------------------------------------------


def _each_line(change: Any) -> str:
    return "".join(change(line) + "\n" for line in _COMPILED.splitlines())


def _colours(escape: str) -> str:
    return (
        _COMPILED.replace("(Worker", f"{escape}[0;36m(Worker")
        .replace("pid=11)", f"pid=11){escape}[0;0m")
        .replace("INFO 09", f"{escape}[32mINFO{escape}[0m 09")
        .replace("12:00:00 [", f"12:00:00{escape}[0m {escape}[90m[")
    )


def _wrapped(columns: int, lines: str, *, trimmed: bool = False) -> str:
    pieces = [line[at : at + columns] for line in lines.splitlines() for at in range(0, len(line), columns)]
    return "".join(f"{piece.rstrip() if trimmed else piece}\n" for piece in pieces)


def _json_lines(log: str, **fields: Any) -> str:
    """The log as vLLM's own JSON formatter writes it."""
    lines = []
    for line in log.splitlines():
        if " [" not in line:
            lines.append(
                json.dumps({"message": "Application startup complete.", "name": "uvicorn.error", "levelname": "INFO"})
            )
            continue
        process, header, message = (*line.split(") ", 1)[0:1], *line.split(") ", 1)[1].split("] ", 1))
        name = "vllm.x." + header.split("[")[1].split(".py")[0]
        label, pid = process[1:].split(" pid=")
        lines.append(
            json.dumps(
                {"asctime": "2026-09-21 12:00:00,123", "levelname": "INFO", "name": name, "processName": label,
                 "process": int(pid), "message": message, **fields}
            )
        )  # fmt: skip
    return "\n".join(lines)


@pytest.mark.parametrize(
    "log",
    [
        _COMPILED.replace("\n", "\r\n"),
        _COMPILED.replace("\n", "\r"),
        _COMPILED.replace("\n", "\r\n", 2).replace(" s in total\n", " s in total\r"),
        b"\xef\xbb\xbf" + _COMPILED.encode(),
        _COMPILED.encode("utf-16"),
        _COMPILED.encode("utf-16-le"),
        _COMPILED.encode("utf-16-be"),
        "\ufeff".encode("utf-16-be") + _COMPILED.encode("utf-16-be"),
        _COMPILED.replace("INFO", "IN\0FO").encode(),
        b"\xfa\xff" + _COMPILED.encode() + b"\x80",
        _colours("\x1b"),
        _colours("^["),
        _colours("\\x1b"),
        _colours("\\033"),
        _colours("\\u001b"),
        _colours("\u241b"),
        _colours(""),
        _each_line("\x1b]0;title\x07{}".format),
        _each_line("vllm-1  | {}".format),
        _each_line("> {}".format),
        _each_line("> > {}".format),
        _each_line("[prod-7] {}".format),
        _each_line("2026-09-02T08:14:50.123456789Z {}".format),
        _each_line("2026-09-02T08:14:50.123456789Z stderr F {}".format),
        _each_line("[pod/vllm-0/vllm] {}".format),
        _each_line("Sep 02 08:14:50 host vllm[123]: {}".format),
        _each_line(lambda line: json.dumps(line) + ","),
        _each_line(json.dumps),
        _each_line(lambda line: json.dumps({"message": line, "time": "2026-09-02T08:14:50Z"})),
        "".join(f"> {line}\n" for line in _wrapped(80, _COMPILED).splitlines()),
        _COMPILED.replace("torch.compile took", "[backbone] to\nrch.compile took"),
        _each_line(lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-09-02T08:14:50Z"})),
        _each_line(lambda line: json.dumps({"message": line, "host": {"name": "gpu-7"}})),
        _json_lines(_COMPILED),
        "\n".join(json.dumps({"log": line + "\n"}) for line in _json_lines(_COMPILED).splitlines()),
        "\n".join(json.dumps({"message": line}) for line in _json_lines(_COMPILED).splitlines()),
        _wrapped(60, _COMPILED),
        _wrapped(80, _COMPILED),
        _wrapped(80, _COMPILED, trimmed=True),
        _wrapped(120, _COMPILED),
        _wrapped(80, _each_line("2026-09-02T08:14:50.123456789Z {}".format)),
        _wrapped(80, _each_line("2026-09-02T08:14:50.123456789Z {}".format), trimmed=True),
        _COMPILED.replace("(Worker", "Loading shards:  0% Completed | 0/50 [00:00<?, ?it/s](Worker"),
        _COMPILED.replace("(Worker", "Loading shards:  0% Completed | 0/50 [00:00<?, ?it/s]\r(Worker"),
        _COMPILED.replace(_DIRECTORY, _DIRECTORY[:-1]),
        _COMPILED.replace("[monitor.py", "[compilation/monitor.py"),
        _COMPILED.replace("[monitor.py:53]", "monitor.py:53]"),
        _COMPILED.replace("Worker_TP0 pid=11", "RayWorkerWrapper pid=11, ip=10.0.0.2"),
        _COMPILED.replace("(Worker_TP0 pid=11)", "(EngineCore pid=10) (RayWorkerWrapper pid=11, ip=10.0.0.2)"),
        _COMPILED.replace("Worker_TP0 pid=11", "VllmWorker rank=0 pid=11"),
        _COMPILED.replace(" in total\n", " in total [repeated 3x across cluster] (Ray deduplicates logs)\n"),
    ],
)
def test_log_as_people_have_it(log):
    """The same start says the same, however the log was written, collected, coloured, quoted or broken."""
    answer = _answer(log)

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == (answer["decision"], answer["reasons"])
    assert ("31.92", [11], "/m/glm") == (answer["targetCompileSeconds"], answer["processes"], answer["model"])


@pytest.mark.parametrize(
    "header",
    [
        "2026-09-01 10:00:00,123 - {} - INFO - ",
        "[2026-09-01 10:00:00,123][{}][INFO] - ",
        "2026-09-01 10:00:00.123 | INFO     | {}:a_function:62 - ",
        "INFO:{}:",
        "10:00:00 INFO {}: ",
        "[INFO] 2026-09-01T10:00:00Z (Worker pid=11) {}: ",
        "WARNING 1234 [{}] ",
        "(Worker_TP0 pid=11) INFO {}: ",
    ],
)
def test_header_of_another_formatter(header):
    """A header with a level and the logger's name is a header, and the name has to be the module's."""
    end = header.format("vllm.v1.engine.core") + "init engine (profile, create kv cache, warmup model) took 59.80 s\n"
    total = "[backbone] torch.compile took 31.92 s in total\n"

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(header.format("vllm.compilation.monitor") + total + end)
    assert ("REJECT", ["no-positive-receipt"]) == _says(header.format("vllm.entrypoints.logger") + total + end)


def test_header_of_another_formatter_with_process_and_file():
    """Process and file are read wherever such a header has them."""
    answer = _answer("10:00:00 INFO (Worker_TP0 pid=11) monitor.py:53: torch.compile took 31.92 s in total\n")

    assert [("receipt", "Worker_TP0 pid=11")] == [(entry["kind"], entry["process"]) for entry in answer["evidence"]]


@pytest.mark.parametrize(
    "field",
    ["asctime", "level", "levelname", "pid", "process", "processName", "severity", "time", "timestamp", "ts"],
)
@pytest.mark.parametrize("text", ["message", "msg"])
def test_json_record_without_a_name(field, text):
    """A JSON record of a formatter that names no module counts if it holds nothing else than a record."""
    answer = _answer(json.dumps({text: "torch.compile took 31.92 s in total", field: "x"}))

    assert [("receipt", "total")] == [(entry["kind"], entry["pattern"]) for entry in answer["evidence"]]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"message": 1},
        {"message": "non-default args: {}", "processName": 5, "process": [1], "name": 3},
        {"log": None},
        "",
        {"x": {}},
    ],
)
def test_json_of_other_types(value):
    """JSON that is no record is a line like any other."""
    assert ("REJECT", ["no-positive-receipt"]) == _says(_QUIET + json.dumps(value))


def test_message_that_ends_early():
    """A format whose last text is missing is met all the same."""
    (entry,) = _answer(_record("saved AOT compiled function to ", "decorators.py"))["evidence"]

    assert "aot-saved" == entry["pattern"]


def test_denial_over_two_lines():
    """What was broken over two lines is shown with both, and found once."""
    (entry,) = _answer("Auto-enabling VLLM_USE_BREAKABLE\n_CUDAGRAPH=1 for DeepSeek V4. Set it")["evidence"]

    assert ("breakable-auto-v4", 1) == (entry["pattern"], entry["line"])
    assert "Auto-enabling VLLM_USE_BREAKABLE _CUDAGRAPH=1 for DeepSeek V4. Set it" == entry["text"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("vllm.compilation.monitor", "monitor.py"),
        ("compilation/monitor.py", "monitor.py"),
        ("vllm.py", "vllm.py"),
        ("a\\b.py", "b.py"),
        ("chat.monitor", "chat.monitor"),
    ],
)
def test_module_that_a_header_names(path, name):
    """A logger's name says the module's file; the name of another package's logger does not."""
    assert name == gate._origin(path)


@pytest.mark.parametrize(
    "message",
    [
        "Cudagraph mode PIECEWISE requires piecewise capture, but the loaded model provides neither a compiled submodule nor "
        "breakable CUDA graphs. Overriding to NONE.",
        "Using OOT custom backend for compilation.",
    ],
)
def test_denial_of_any_module(message):
    """What speaks against the receipt is heard whatever module the header names."""
    assert "REJECT" == _says(_with(_TOTAL, _record(message, "renamed.py")))[0]


def test_other_compiler_of_any_module():
    """Another compiler's line is heard whatever module the header names."""
    log = _with(_record("Compiling the model with different input shapes.", "renamed.py"))

    assert ("REJECT", ["foreign-compiler", "unaudited-wording"]) == _says(log)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_name_that_is_not_ascii(encoding):
    """Where the bytes say how they are written, every sign is read."""
    assert "/m/模型" == _answer(_engine("model='/m/模型'").encode(encoding))["model"]


@pytest.mark.parametrize("dash", ["—", "â€”", "?", "\ufffd\ufffd\ufffd"])
def test_dash_that_was_decoded_wrongly(dash):
    """The one sign of a format that is not ASCII is understood however it was decoded."""
    line = (
        f"init engine (profile, create kv cache, warmup model) took 59.80 s (compilation: 31.92 s {dash} language_model: "
        "0.00 s, encoder: 31.92 s)"
    )

    assert ("REJECT", ["no-receipt-for-target"]) == _says(_with(_TOTAL, _record(line, "core.py", "EngineCore pid=10")))


def test_record_behind_an_unknown_message():
    """What is glued behind a message that nobody knows does not count, unless it denies."""
    glued = "(APIServer pid=1) INFO 09-21 12:00:00 [loader.py:447] Loading weights took 186.41 seconds"

    assert ("REJECT", ["no-positive-receipt"]) == _says(_with(glued + _TOTAL))
    assert ("REJECT", ["unsupported-model-warning"]) == _says(_with(glued + _record(_WARNING, "vllm.py")))


def test_record_behind_a_known_message():
    """Two records on one line are two."""
    glued = _record("torch.compile took 33.00 s in total").strip() + _TOTAL

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(_with(glued))
    assert "33.00" == _answer(_with(glued))["targetCompileSeconds"]


def test_process_as_it_is_shown():
    """A process is shown with its name, its id and, of Ray, its node; and not at all where the log has none."""
    ray = _record("torch.compile took 31.92 s in total", process="RayWorkerWrapper pid=11, ip=10.0.0.2")
    plain = _record("torch.compile took 31.92 s in total", process="")
    fields = {"name": "vllm.compilation.monitor", "levelname": "INFO", "message": "torch.compile took 31.92 s in total"}
    named = json.dumps({**fields, "processName": "Worker_TP0", "process": 11}) + "\n"
    label = json.dumps({**fields, "processName": "Worker_TP0"}) + "\n"

    assert ["RayWorkerWrapper pid=11@10.0.0.2", "", "Worker_TP0 pid=11", "Worker_TP0"] == [
        entry["process"] for entry in _answer(ray + plain + named + label)["evidence"]
    ]


def test_json_record_without_a_process_id():
    """Names without ids make no log ambiguous."""
    log = "\n".join(json.dumps({**json.loads(line), "process": None}) for line in _json_lines(_COMPILED).splitlines())

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(log)


def test_lines_are_counted_as_an_editor_counts():
    """A record behind a bare carriage return has the number of its line."""
    log = "first\nbar 0%\r" + _record(_WARNING, "vllm.py") + "last\n"

    assert [2] == [entry["line"] for entry in _answer(log)["evidence"]]
    assert [3] == [entry["line"] for entry in _answer(log.replace("\n", "\r"))["evidence"]]


@pytest.mark.parametrize("digit", ["31.9\n2 s in total", "31\n.92 s\nin to\ntal"])
def test_number_that_a_terminal_broke(digit):
    """A line break within the number is none of the number's."""
    log = _with(_record("torch.compile took " + digit))

    assert ("CANARY-ELIGIBLE", "31.92") == (_answer(log)["decision"], _answer(log)["targetCompileSeconds"])


def test_number_of_lines_that_one_message_may_have():
    """A message is not looked for over the whole log."""
    log = _with(_record("\n".join("torch.compile took 31.92 s in total")))

    assert ("REJECT", ["no-positive-receipt"]) == _says(log)


# --- Runs and processes ------------------------------------------------------------------------------------------------


def _renamed(log: str) -> str:
    """The same start in other processes."""
    return log.replace("pid=11)", "pid=211)").replace("pid=10)", "pid=210)").replace("pid=1)", "pid=201)")


@pytest.mark.parametrize("later", [_renamed, str])
def test_runs_are_decided_alone(later):
    """No run inherits another's receipt, and one run without evidence rejects the file; a container keeps its ids."""
    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(_COMPILED + later(_COMPILED))
    assert ("REJECT", ["no-positive-receipt"]) == _says(_COMPILED + later(_QUIET))
    assert ("REJECT", ["no-positive-receipt"]) == _says(_QUIET + later(_COMPILED))


def test_runs_are_named_with_their_lines():
    """Each run's own decision and lines stand in the answer, so that it can be cut out."""
    answer = _answer(_QUIET + _renamed(_COMPILED))

    assert [
        ("REJECT", ["no-positive-receipt"], {"0.log": [1, 4]}),
        ("CANARY-ELIGIBLE", ["positive-receipt"], {"0.log": [5, 10]}),
    ] == [(run["decision"], run["reasons"], run["lines"]) for run in answer["runs"]]
    assert "none" == answer["targetCompileSeconds"]


def test_run_without_its_first_lines():
    """A log that begins in the middle of a run ends that run where the next start begins."""
    assert ("REJECT", ["no-positive-receipt"]) == _says(_TOTAL + _END + _QUIET)
    assert "REJECT" == _says(_END.splitlines(True)[1] + _with(_TOTAL, end=""))[0]


def test_engine_that_starts_again():
    """A second engine of the same name is another run, also where nobody prints arguments or processes."""
    engine = _engine(process="")
    end = _record("init engine (profile, create kv cache, warmup model) took 59.80 s", "core.py", "")

    assert ("REJECT", ["no-positive-receipt"]) == _says(
        engine + _record(_TOTAL[49:-1], process="") + end + engine + end
    )


def test_arguments_are_one_run():
    """Version, arguments, what they switch off and the engine belong to one start, also where nobody names a process."""
    version = _record("vLLM API server version 0.8.3", "api_server.py", "")
    disabled = _record("Cudagraph is disabled under eager mode", "vllm.py", "")
    arguments = _record("non-default args: {}", "api_utils.py", "")

    assert 1 == len(_answer(version + disabled + arguments + _engine(process=""))["runs"])
    for line in (
        "neuronx-cc: Compiler status PASS\n",
        "ValueError: x\n",
        'INFO:     1.2.3.4:5 - "GET / HTTP/1.1" 200 OK\n',
    ):
        assert 1 == len(_answer(line + _COMPILED)["runs"])
    assert 2 == len(_answer(version + _engine(process="") + arguments)["runs"])
    assert 2 == len(_answer(version + _engine(process="") + disabled + arguments)["runs"])


def test_worker_that_starts_again():
    """A rank in another process is another run."""
    log = _DIRECTORY + _TOTAL + _END.splitlines(True)[0] + _record("hello", process="Worker_TP0 pid=211")

    assert ("REJECT", ["no-positive-receipt", "incomplete"]) == _says(log)


def test_names_that_several_processes_have():
    """A name that is not one process's own makes no log ambiguous."""
    log = _with(_TOTAL, _record("hello", process="MainProcess pid=3"), _record("hello", process="MainProcess pid=4"))

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(log)


def test_engine_that_names_no_process():
    """Where only the server names its process, the receipt may do without."""
    log = _COMPILED.replace("(Worker_TP0 pid=11) ", "").replace("(EngineCore pid=10) ", "")

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(log)


def test_data_parallel_engines_are_one_run():
    """Engines of other names belong to the same start."""
    log = _with(_engine(process="EngineCore_DP1 pid=13"), _DIRECTORY, _TOTAL)

    assert 1 == len(_answer(log)["runs"])


@pytest.mark.parametrize(
    ("log", "note"),
    [
        (
            "".join(
                a + b for a, b in zip(_COMPILED.splitlines(True), _renamed(_COMPILED).splitlines(True), strict=True)
            ),
            "processes of one start write after the next start",
        ),
        (
            "".join(f"vllm-{at % 2}  | {line}" for at, line in enumerate(_COMPILED.splitlines(True))),
            "several services write to this log: vllm-0, vllm-1",
        ),
        (
            "".join(
                f"2026-09-02T08:14:50Z > vllm-{at % 2}  | {line}" for at, line in enumerate(_COMPILED.splitlines(True))
            ),
            "several services write to this log: vllm-0, vllm-1",
        ),
        (_COMPILED.replace(_TOTAL, "vllm-1  | " + _TOTAL), "several services write to this log: (none), vllm-1"),
        (
            _with(_DIRECTORY, _TOTAL.replace("(Worker_TP0 pid=11) ", "")),
            "a receipt names no process, and other records do",
        ),
    ],
)
def test_process_that_cannot_be_told(log, note):
    """A receipt that may be another process's holds, and says so."""
    answer = _answer(log)

    assert ("HOLD", ["ambiguous-process", "positive-receipt"]) == (answer["decision"], answer["reasons"])
    assert note in answer["notes"]


def test_other_services_in_the_same_log():
    """A service that is no vLLM does not make the log ambiguous."""
    log = _each_line("vllm-1  | {}\nnginx-1  | 10.0.0.1 - GET /".format)

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(log)


def test_several_logs_are_one_run():
    """The ranks' logs are decided together: one denial rejects, and a log without a record leaves it open."""
    rank = _record("hello", "gpu_worker.py", "Worker_TP1 pid=12")
    eager = _record(_WARNING, "vllm.py", "Worker_TP1 pid=12", "WARNING")

    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(_COMPILED, rank)
    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(rank, _QUIET, _DIRECTORY + _TOTAL)
    assert ("REJECT", ["unsupported-model-warning", "contradiction"]) == _says(_COMPILED, eager)
    assert ("HOLD", ["incomplete", "positive-receipt"]) == _says(_COMPILED, "")
    assert ("HOLD", ["incomplete", "positive-receipt"]) == _says(_COMPILED, "hello\n")
    assert ("HOLD", ["incomplete", "positive-receipt"]) == _says(_COMPILED, "ValueError: x\n")


def test_several_logs_with_other_numbers_of_runs():
    """Runs that cannot be matched are judged as one that is ambiguous."""
    assert ("HOLD", ["ambiguous-process", "positive-receipt"]) == _says(_COMPILED + _renamed(_COMPILED), _TOTAL)


def test_several_logs_with_runs_each():
    """The first run of each log is one run, and so is the second."""
    rank = _engine(process="EngineCore_DP1 pid=12") + _record("hello", process="Worker_TP1 pid=13")

    assert ("REJECT", ["no-positive-receipt"]) == _says(_COMPILED + _QUIET, rank + rank)


def test_same_rank_twice():
    """Two logs in which one rank is two processes are not one run."""
    answer = _answer(_COMPILED, _TOTAL.replace("pid=11", "pid=12"))

    assert ("HOLD", ["Worker_TP0 is several processes: 11, 12"]) == (answer["decision"], answer["notes"])


def test_server_that_is_not_up():
    """Where a server prints, its engine's start is not the end of start-up; where none does, it is."""
    engine = _record(
        "init engine (profile, create kv cache, warmup model) took 59.80 s", "core.py", "EngineCore pid=10"
    )

    assert ("HOLD", ["incomplete", "positive-receipt"]) == _says(_with(_TOTAL, end=engine))
    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(_engine() + _TOTAL + engine)
    summary = engine.replace(" s\n", " s (compilation: 41.92 s — language_model: 31.92 s, encoder: 10.00 s)\n")
    assert ("CANARY-ELIGIBLE", ["positive-receipt"]) == _says(_engine() + _TOTAL + summary)
    version = _record("vLLM API server version 0.8.3", "api_server.py", "")
    assert ("HOLD", ["incomplete", "positive-receipt"]) == _says(version + _engine() + _TOTAL + engine)


@pytest.mark.parametrize(
    ("config", "model"),
    [
        ("model='/m/glm'", "/m/glm"),
        ("model='D:\\\\models\\\\glm'", "D:\\models\\glm"),
        ('model="it\'s"', "it's"),
        ("nothing", "unknown"),
    ],
)
def test_model(config, model):
    """The model is the one that the engine was started with, or unknown."""
    assert model == _answer(_record("non-default args: model='/other'", "api_utils.py") + _engine(config))["model"]


def test_model_that_the_warning_leaves_out():
    """A warning without a name leaves the engine's."""
    assert "/m/glm" == _answer(_engine() + _record(_WARNING.replace(" /m/glm", ""), "vllm.py"))["model"]


def test_processes_that_deny():
    """Where some warn, they are the processes that are named, and not those that compiled."""
    assert [12] == _answer(_COMPILED + _record(_WARNING, "vllm.py", "Worker_TP1 pid=12"))["processes"]


def test_evidence_is_bounded():
    """Evidence of one kind is shown up to a number; the count is whole."""
    answer = _answer(_record(_WARNING, "vllm.py") * 100)

    assert (100, 64, 36) == (answer["warningCount"], len(answer["evidence"]), answer["evidenceOmitted"])
    assert 400 == len(_answer(_record("non-default args: " + "x" * 1000, "api_utils.py"))["evidence"][0]["text"])


# --- Parity ------------------------------------------------------------------------------------------------------------

_DIGEST = hashlib.sha256(_COMPILED.encode()).hexdigest()


@pytest.mark.parametrize(
    ("parity", "why"),
    [
        (None, "none was given"),
        (b"", "it is not strict JSON: JSONDecodeError"),
        (b"\xff", "it is not strict JSON: UnicodeDecodeError"),
        (b"[" * 100_000, "it is not strict JSON: RecursionError"),
        (_passed(_DIGEST).replace(b'"corpus"', b'"result": "passed", "corpus"'), "it is not strict JSON: ValueError"),
        (_passed(_DIGEST, corpus=float("nan")), "it is not strict JSON: ValueError"),
        (b"1", "it is not an object of logSha256, result, corpus and checkedAt"),
        (b"[]", "it is not an object of logSha256, result, corpus and checkedAt"),
        (_passed(_DIGEST, more="x"), "it is not an object of logSha256, result, corpus and checkedAt"),
        (_passed(_DIGEST, corpus=1), "its values are not all text"),
        (_passed(_DIGEST, corpus=" "), "its values are not all text"),
        (_passed("0" * 64), "it is bound to another log"),
        (_passed(_DIGEST[:32]), "it is bound to another log"),
        (_passed(_DIGEST, result="failed"), "its result is not passed"),
        (_passed(_DIGEST, result="Passed"), "its result is not passed"),
        (_passed(_DIGEST, checkedAt="yesterday"), "checkedAt is no date"),
        (_passed(_DIGEST, checkedAt="2026-02-30"), "checkedAt is no date"),
        (_passed(_DIGEST, checkedAt="2026-09-22T08:00:00"), "checkedAt is no date"),
        (_passed(_DIGEST, checkedAt="2026-09-22T08:00:00 or so"), "checkedAt is no date"),
    ],
)
def test_parity_that_does_not_count(parity, why):
    """A parity receipt that is not strict, not passed or not this log's holds the log back, and says why."""
    answer = gate.decide([("startup.log", _COMPILED.encode())], parity)

    assert ("HOLD", ["positive-receipt"], {"counts": False, "why": why}) == (
        answer["decision"],
        answer["reasons"],
        answer["parity"],
    )


@pytest.mark.parametrize("changes", [{}, {"logSha256": f"sha256:{_DIGEST}"}, {"checkedAt": "2026-09-22"}])
def test_parity_that_counts(changes):
    """A receipt that is bound to these bytes and passed makes the log eligible."""
    answer = gate.decide([("startup.log", _COMPILED.encode())], _passed(_DIGEST, **changes))

    assert ("CANARY-ELIGIBLE", {"counts": True, "why": "it is bound to this log"}) == (
        answer["decision"],
        answer["parity"],
    )


def test_parity_of_other_line_endings():
    """The digest is over the raw bytes."""
    answer = gate.decide([("startup.log", _COMPILED.replace("\n", "\r\n").encode())], _passed(_DIGEST))

    assert "HOLD" == answer["decision"]


# --- Whatever the bytes are --------------------------------------------------------------------------------------------

_NOISE = st.sampled_from(
    [
        "",
        "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:00<?, ?it/s]",
        "(Worker_TP1 pid=12) INFO 09-21 12:00:00 [gpu_worker.py:640] Available KV cache memory: 18.43 GiB",
        "torch.compile took 99.00 s in total",
        "compilation mode 3 selected in 3 s",
        _REQUEST + "prompt: 'torch.compile took 99.00 s in total'",
        '{"log": "torch.compile took 99.00 s in total"}',
        "[eagle_head] torch.compile took 99.00 s in total",
        _record("[eagle_head] torch.compile took 99.00 s in total").strip(),
        _record("Compiling a graph for compile range (1, 8192) takes 99.00 s", "backends.py").strip(),
        _record("Graph capturing finished in 99 secs, took 1.87 GiB", "gpu_model_runner.py").strip(),
        "\x1b[32mINFO\x1b[0m",
        "{",
        '"',
        "> ",
        "[",
        "\u2028",
    ]
)


@settings(max_examples=60)
@given(noise=st.lists(_NOISE, max_size=12), seed=st.randoms(use_true_random=False), columns=st.integers(20, 200))
def test_no_log_without_a_receipt_is_eligible(noise: list[str], seed: random.Random, columns: int) -> None:
    """Shuffled, wrapped and mixed with noise, a start without a receipt for the target is never eligible."""
    lines = [*_QUIET.splitlines(), *noise]
    seed.shuffle(lines)
    log = "\n".join(lines)

    assert "REJECT" == _answer(log)["decision"]
    assert "REJECT" == _answer(_wrapped(columns, log))["decision"]


@settings(max_examples=40)
@given(noise=st.lists(_NOISE.filter(lambda line: "[" not in line), max_size=6), seed=st.randoms(use_true_random=False))
def test_denial_is_heard_among_noise(noise: list[str], seed: random.Random) -> None:
    """Among the ranks' lines in any order, one warning rejects."""
    lines = [*_COMPILED.splitlines(), *noise, _record(_WARNING, "vllm.py", "Worker_TP1 pid=12", "WARNING").strip()]
    seed.shuffle(lines)

    assert "REJECT" == _answer("\n".join(lines))["decision"]


@settings(max_examples=40)
@given(seed=st.randoms(use_true_random=False))
def test_ranks_in_any_order(seed: random.Random) -> None:
    """How the ranks' lines interleave is no matter."""
    ranks = [[_DIRECTORY, _TOTAL]] + [
        [
            _record(
                "Directly load AOT compilation from path /c/model", "decorators.py", f"Worker_TP{rank} pid={11 + rank}"
            )
        ]
        for rank in range(1, 4)
    ]
    lines = []
    while any(ranks):
        lines.append(seed.choice([rank for rank in ranks if rank]).pop(0))

    assert ("CANARY-ELIGIBLE", ["positive-receipt", "cache-load"]) == _says(_with(*lines))


@pytest.mark.parametrize("log", [_COMPILED, _json_lines(_COMPILED), _COMPILED.replace("\n", "\r\n")])
def test_log_cut_off_anywhere(log):
    """A log that was cut off at any byte is not eligible before start-up finished, and not held before the receipt."""
    receipt, end = log.index("in total"), log.index("startup complete")
    for cut in range(len(log) + 1):
        decision = _answer(log[:cut])["decision"]

        assert decision in (
            {"REJECT"} if cut <= receipt else {"HOLD", "REJECT"} if cut <= end else {"HOLD", "CANARY-ELIGIBLE"}
        )


@pytest.mark.parametrize("columns", range(24, 140, 4))
def test_wrapped_at_any_column(columns):
    """Where a terminal breaks the lines, the warning is heard, and a start without a receipt gets none."""
    warning = _with(_record(_WARNING, "vllm.py", level="WARNING"))

    assert ("REJECT", 1) == (
        _answer(_wrapped(columns, warning))["decision"],
        _answer(_wrapped(columns, warning))["warningCount"],
    )
    assert "REJECT" == _answer(_wrapped(columns, _QUIET))["decision"]


@settings(max_examples=200)
@given(data=st.binary(max_size=400), parity=st.none() | st.binary(max_size=60), target=st.text(max_size=8))
def test_any_bytes(data: bytes, parity: bytes | None, target: str) -> None:
    """Any bytes are rejected, and the answer is JSON."""
    answer = gate.decide([("any", data)], parity, target)

    assert "REJECT" == answer["decision"]
    assert answer == json.loads(json.dumps(answer))


@settings(max_examples=60)
@given(
    pieces=st.lists(
        st.sampled_from(
            [
                *_COMPILED.splitlines(True),
                _WARNING,
                "INFO ",
                "\r",
                "\n",
                '{"message":"',
                '"}',
                "\x1b[",
                "'",
                "vllm-1 | ",
            ]
        ),
        max_size=20,
    ),
    again=st.sampled_from(["\r\n", "\r"]),
)
def test_line_endings_decide_nothing(pieces: list[str], again: str) -> None:
    """Whatever the pieces are, the decision is the same with any line ending."""
    log = "".join(pieces).replace("\r", "\n")

    assert _says(log) == _says(log.replace("\n", again))


def test_no_logs():
    """Nothing is rejected."""
    assert ("REJECT", ["no-positive-receipt", "incomplete"]) == _says()


def _steps(log: str) -> int:
    """How many steps of the interpreter an answer takes: that is the same on any machine."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        gate.decide([("long", log.encode())])
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "piece",
    [
        _COMPILED,
        _TOTAL,
        _ARGUMENTS,
        _engine(),
        _record(_WARNING, "vllm.py"),
        _WARNING + "\n",
        _record("torch.") + "compile\n" * 20,
        "INFO 09-21 12:00:00 [",
        _record("")[:-1],
        json.dumps({"message": "x"}) + "\n",
        "x\n",
    ],
)
def test_steps_grow_with_the_log(piece):
    """Four times the log takes four times the steps."""
    assert _steps(piece * 80) < 4.5 * _steps(piece * 20) + 2000


# --- The command line --------------------------------------------------------------------------------------------------


def _run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(_TOOL), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize(("log", "code"), [(_COMPILED, 0), (_QUIET, 1), (_with(_TOTAL, end=""), 4)])
def test_command_line(tmp_path, log, code):
    """The command line prints the function's answer, and exits with the decision."""
    (tmp_path / "a.log").write_bytes(log.encode())
    (tmp_path / "parity.json").write_bytes(_passed(hashlib.sha256(log.encode()).hexdigest()))
    answer = gate.decide([("a.log", log.encode())], (tmp_path / "parity.json").read_bytes())
    printed = _run("a.log", "--parity", "parity.json", "--json", folder=tmp_path)
    read = _run("a.log", "--parity", "parity.json", folder=tmp_path)

    assert (code, answer, "") == (printed.returncode, json.loads(printed.stdout), printed.stderr)
    assert code == read.returncode
    assert f"{answer['decision']}: {', '.join(answer['reasons'])}" == read.stdout.splitlines()[0]


def test_command_line_for_a_person(capsys, tmp_path):
    """What is printed names log, model, parity, notes and evidence with its pattern."""
    log = tmp_path / "a.log"
    log.write_text(_with(_record("torch.compile took 0.00 s in total"), end=""))

    assert 1 == gate.main([str(log)])
    assert [
        "REJECT: no-positive-receipt, incomplete",
        "model /m/glm, target language-model, warnings 0, compiled in none",
        f"log sha256:{hashlib.sha256(log.read_bytes()).hexdigest()}",
        "parity: none was given",
        "note: the log ends before start-up finished",
        f"{log}:1: request (arguments, observed): non-default args: {{'model': '/m/glm'}}",
        f"{log}:2: request (engine, observed): Initializing a V1 LLM engine (v0.30.0) with config: model='/m/glm', "
        "speculative_config=None",
        f"{log}:3: void (total, observed): torch.compile took 0.00 s in total -- the duration is not a positive number as the "
        "format prints it",
    ] == capsys.readouterr().out.splitlines()


def test_command_line_for_another_target(capsys, tmp_path):
    """Several logs and a target are taken as given."""
    (tmp_path / "a.log").write_text(_with(_record("[eagle_head] torch.compile took 3.25 s in total")))
    (tmp_path / "b.log").write_text(_record("hello"))

    assert 4 == gate.main([str(tmp_path / "a.log"), str(tmp_path / "b.log"), "--target", "eagle_head"])
    assert "compiled in 3.25 s" in capsys.readouterr().out


def test_control_characters_are_not_printed(capsys, tmp_path):
    """What a log says does not move the cursor."""
    log = tmp_path / "a.log"
    log.write_text(_record("non-default args: \x07\x1b[2J\x9b1mé", "api_utils.py"), encoding="utf-8")
    gate.main([str(log)])
    printed = capsys.readouterr().out

    assert printed.isascii()
    assert {"\n"} == {character for character in printed if not character.isprintable()}


@pytest.mark.parametrize(
    "arguments",
    [[], ["missing.log"], ["."], ["a.log", "--parity", "missing.json"], ["a.log", "--what"], ["a\udce9.log"], ["a\0b"]],
)
def test_wrong_usage(capsys, tmp_path, monkeypatch, arguments):
    """What cannot be read is wrong usage, never a traceback and never a decision."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text(_COMPILED)
    with pytest.raises(SystemExit) as stopped:
        gate.main(arguments)
    printed = capsys.readouterr()

    assert (2, "") == (stopped.value.code, printed.out)
    assert "Traceback" not in printed.err
    assert printed.err.isascii()


def test_reader_that_has_seen_enough(tmp_path):
    """Who reads only the first line ends nothing with a traceback."""
    (tmp_path / "a.log").write_text(_record(_WARNING, "vllm.py") * 100 + "x")
    with subprocess.Popen(
        [sys.executable, str(_TOOL), "a.log", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"" == process.stderr.read()

    assert 1 == process.returncode
