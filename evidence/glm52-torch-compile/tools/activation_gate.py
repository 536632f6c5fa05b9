#!/usr/bin/env python3
"""Says whether a vLLM start-up log proves that the target model was compiled.

    python activation_gate.py LOG… [--parity FILE] [--target language-model] [--json]

A requested mode, a healthy server and captured CUDA graphs prove nothing; a line that vLLM prints after it compiled does.
There are three answers:

    REJECT            1   the log denies that the target was compiled, or does not say that it was
    HOLD              4   it says so; parity is not proved, or the log ends too early or mixes processes
    CANARY-ELIGIBLE   0   it says so, start-up finished, and a parity receipt is bound to exactly these bytes

Exit 2 is wrong usage. Whatever the bytes are, the answer is one of the three, and the reasons say why.

What counts. A *receipt* is a record of vLLM's own logger: its header stands at the start of the line (or behind a progress bar
or another complete record) and names the module that prints it, and its message is the pattern and nothing else. The same words
in a prompt, an argument dump or prose are no receipt. What *denies* compilation is heard more readily: also in a line that has
no header, and cut off or quoted. A receipt that names a drafter or an encoder (by its tag, or by the cache directory that its
process opened for it) is no receipt for the target, and neither is one that names nobody where a drafter could have printed it.

Several runs in one file. Each run is decided alone, from its own lines, and the worst decision is the answer: a receipt of one
start says nothing about the restart behind it, and a file with an eager run in it is no evidence for what serves now. `runs`
says which lines to cut out in order to ask about one of them. Several LOGs are the ranks of one run.

Patterns. `PATTERNS` holds every format that is looked for, as the logger gets it. An *observed* one was read in the releases
that it names; one *from a case* was met in a log of a release that nobody audited, and what rests on it alone says
`unaudited-wording`.

Limits. Who can write whole lines into the log, header included, can forge it; bind the log to a process that you trust.
"""

from __future__ import annotations

import argparse
import bisect
import codecs
import hashlib
import json
import re
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

RELEASES = (
    "0.23.0", "0.23.0-2", "0.24.0", "0.25.0", "0.25.1", "0.26.0", "0.27.0",
    "0.27.1", "0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0",
)  # fmt: skip


class Pattern(NamedTuple):
    """One format that is looked for: what it is evidence of, where it is printed, and who has seen it."""

    id: str
    kind: str
    format: str  # exactly as the logger gets it
    file: str  # whose name the record's header carries
    releases: tuple[str, ...]  # in which exactly this format exists; none for a case
    basis: str = "observed"
    via: str = "log"  # "log": in the call; "default": of a parameter; "argument": of a call in another file


def _span(first: str, last: str) -> tuple[str, ...]:
    return RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1]


_ALL, _PLAIN, _TAGGED = RELEASES, _span("0.23.0", "0.31.0"), _span("0.32.0", "0.33.0")
_TOTAL = "torch.compile took %.2f s in total"
_TOGETHER = "torch.compile and initial profiling/warmup run together took %.2f s in total"
_BREAKABLE = "VLLM_USE_BREAKABLE_CUDAGRAPH"
_EAGER = "Enforce eager set, disabling torch.compile"
_INIT = "init engine (profile, create kv cache, warmup model) took %.2f s"
_DIRECTORY = "Using cache directory: %s for vLLM's torch.compile"
_RANGE = "for compile range %s"

PATTERNS: tuple[Pattern, ...] = (
    # The target model was compiled, or a compiled one was loaded.
    Pattern("total", "receipt", _TOTAL, "monitor.py", _PLAIN, via="default"),
    Pattern("total-tagged", "receipt", "%s" + _TOTAL, "monitor.py", _TAGGED, via="default"),
    Pattern("together", "receipt", _TOGETHER, "monitor.py", _PLAIN, via="argument"),
    Pattern("together-tagged", "receipt", "%s" + _TOGETHER, "monitor.py", _TAGGED, via="argument"),
    Pattern("aot-load", "cache-load", "Directly load AOT compilation from path %s", "decorators.py", _PLAIN),
    Pattern("aot-load-tagged", "cache-load", "%sDirectly load AOT compilation from path %s", "decorators.py", _TAGGED),
    # It was not.
    Pattern(
        "unsupported-model", "unsupported",
        "`torch.compile` is turned on, but the model %s does not support it. Please open an issue on GitHub if you want it "
        "to be supported.",
        "vllm.py", _ALL,
    ),
    Pattern(
        "enforce-eager", "disabled",
        _EAGER + " and CUDAGraphs. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none",
        "vllm.py", _ALL,
    ),
    Pattern(
        "enforce-eager-jit", "disabled",
        _EAGER + ", CUDAGraphs, and JIT kernel warmup. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none "
        "and --kernel_config.enable_jit_warmup=False",
        "vllm.py", _span("0.31.0", "0.33.0"),
    ),
    Pattern(
        "compile-disable-variable", "disabled",
        "TORCH_COMPILE_DISABLE is set, disabling torch.compile. This is equivalent to setting -cc.mode=none",
        "vllm.py", _ALL,
    ),
    Pattern(
        "breakable-set", "disabled",
        _BREAKABLE + " is set, disabling vLLM's torch.compile pipeline. Equivalent to -cc.mode=none.",
        "vllm.py", _span("0.23.0", "0.27.1"),
    ),
    Pattern(
        "breakable-auto-v4", "disabled",
        "Auto-enabling " + _BREAKABLE + "=1 for DeepSeek V4. Set " + _BREAKABLE + "=0 to opt out.",
        "vllm.py", _span("0.23.0", "0.23.0-2"),
    ),
    Pattern(
        "breakable-auto", "disabled",
        "Auto-enabling " + _BREAKABLE + "=1. Set " + _BREAKABLE + "=0 to opt out.",
        "vllm.py", _span("0.24.0", "0.33.0"),
    ),
    Pattern(
        "breakable-batch-invariant", "disabled",
        "VLLM_BATCH_INVARIANT=1: auto-enabling " + _BREAKABLE + "=1. Set " + _BREAKABLE + "=0 to opt out.",
        "vllm.py", _span("0.31.0", "0.33.0"),
    ),
    Pattern(
        "inductor-disabled", "disabled",
        "Inductor compilation was disabled by user settings, optimizations settings that are only active during inductor "
        "compilation will be ignored.",
        "vllm.py", _ALL,
    ),
    Pattern(
        "cudagraph-eager", "disabled", "Cudagraph is disabled under eager mode",
        "vllm.py", _ALL,
    ),
    Pattern(
        "cudagraph-mode", "disabled", "Cudagraph mode %s is not compatible with compilation mode %s.Overriding to NONE.",
        "vllm.py", _span("0.23.0", "0.29.0"),
    ),
    Pattern(
        "cudagraph-mode-fallback", "disabled",
        "Cudagraph mode %s is not compatible with compilation mode %s. Overriding to %s.",
        "vllm.py", _span("0.30.0", "0.33.0"),
    ),
    Pattern(
        "eager-backend", "disabled", "Detected eager backend, disabling AOT compile.",
        "decorators.py", _ALL,
    ),
    Pattern(
        "no-compiled-submodule", "denial",
        "Cudagraph mode %s requires piecewise capture, but the loaded model provides neither a compiled submodule nor "
        "breakable CUDA graphs. Overriding to %s.",
        "compilation.py", _span("0.30.0", "0.33.0"),
    ),
    Pattern("oot-backend", "foreign-backend", "Using OOT custom backend for compilation.", "compilation.py", _ALL),
    Pattern("engine-failed", "failed", "EngineCore failed to start.", "core.py", _ALL),
    Pattern(
        "engine-fatal", "failed", "EngineCore encountered a fatal error.", "core.py", _ALL,
    ),
    Pattern(
        "worker-not-started", "failed", "WorkerProc failed to start.", "multiproc_executor.py", _ALL,
    ),
    Pattern("worker-failed", "failed", "WorkerProc failed.", "multiproc_executor.py", _ALL),
    Pattern(
        "worker-exception", "failed", "WorkerProc hit an exception.", "multiproc_executor.py", _ALL,
    ),
    Pattern(
        "worker-died", "failed", "Worker proc %s died unexpectedly, shutting down executor.",
        "multiproc_executor.py", _span("0.23.0", "0.25.1"),
    ),
    Pattern(
        "worker-died-code", "failed", "Worker proc %s died unexpectedly (exit code: %s), shutting down executor.",
        "multiproc_executor.py", _span("0.26.0", "0.33.0"),
    ),
    Pattern(
        "ray-worker-died", "failed", "RayWorkerProc rank=%s died unexpectedly, shutting down executor.",
        "ray_executor_v2.py", _ALL,
    ),
    Pattern(
        "ray-worker-failed", "failed", "RayWorkerProc failed: %s", "ray_executor_v2.py", _ALL,
    ),
    # Compilation is under way: whose it is, and what it found in the cache. No receipt.
    Pattern("directory", "component", _DIRECTORY, "backends.py", _PLAIN),
    Pattern("directory-tagged", "component", "%s" + _DIRECTORY, "backends.py", _TAGGED),
    Pattern(
        "graph-load", "graph-load", "Directly load the compiled graph(s) " + _RANGE + " from the cache, took %.3f s",
        "backends.py", _PLAIN,
    ),
    Pattern(
        "graph-load-tagged", "graph-load", "%sDirectly load the compiled graph(s) " + _RANGE + " from the cache, took %.3f s",
        "backends.py", _TAGGED,
    ),
    Pattern("dynamo", "activity", "Dynamo bytecode transform time: %.2f s", "backends.py", _PLAIN),
    Pattern("dynamo-tagged", "activity", "%sDynamo bytecode transform time: %.2f s", "backends.py", _TAGGED),
    Pattern("graph", "activity", "Compiling a graph " + _RANGE + " takes %.2f s", "backends.py", _PLAIN),
    Pattern("graph-tagged", "activity", "%sCompiling a graph " + _RANGE + " takes %.2f s", "backends.py", _TAGGED),
    Pattern("aot-saved", "activity", "saved AOT compiled function to %s", "decorators.py", _PLAIN),
    Pattern("aot-saved-tagged", "activity", "%ssaved AOT compiled function to %s", "decorators.py", _TAGGED),
    Pattern(
        "aot-reload-failed", "warning", "Compiling model again due to a load failure from %s, reason: %s",
        "decorators.py", _PLAIN,
    ),
    Pattern(
        "aot-reload-failed-tagged", "warning", "%sCompiling model again due to a load failure from %s, reason: %s",
        "decorators.py", _TAGGED,
    ),
    Pattern("aot-unsaved", "warning", "unable to save AOT compiled function to %s: %s", "decorators.py", _PLAIN),
    Pattern("aot-unsaved-tagged", "warning", "%sunable to save AOT compiled function to %s: %s", "decorators.py", _TAGGED),
    Pattern("cache-disabled", "warning", "vLLM's torch.compile cache is disabled.", "backends.py", _PLAIN),
    Pattern("cache-disabled-tagged", "warning", "%svLLM's torch.compile cache is disabled.", "backends.py", _TAGGED),
    # What was asked for, and how the start went. Never evidence of compilation.
    Pattern("arguments", "request", "non-default args: %s", "api_utils.py", _span("0.23.0", "0.32.0")),
    Pattern("arguments-startup", "request", "non-default args: %s", "startup.py", _span("0.33.0", "0.33.0")),
    Pattern("engine", "engine", "Initializing a V1 LLM engine (v%s) with config: %s", "core.py", _ALL),
    Pattern("drafter", "drafter", "Loading drafter model...", "gpu_model_runner.py", _ALL),
    Pattern("init", "initialised", _INIT, "core.py", _ALL),
    Pattern("init-compiled", "initialised", _INIT + " (compilation: %.2f s)", "core.py", _ALL),
    Pattern(
        "init-encoder", "summary", _INIT + " (compilation: %.2f s — language_model: %.2f s, encoder: %.2f s)", "core.py", _ALL
    ),
    Pattern("graphs", "health", "Graph capturing finished in %.0f secs, took %.2f GiB", "model_runner.py", _ALL),
    Pattern("graphs-v1", "health", "Graph capturing finished in %.0f secs, took %.2f GiB", "gpu_model_runner.py", _ALL),
    # Met in logs of releases that were not audited.
    Pattern(
        "takes", "receipt", "torch.compile takes %.2f s in total", "monitor.py", (), "case: 07-cudagraphs-without-compile"
    ),
    Pattern(
        "graphs-sum", "receipt", "graph compilation takes %.2f s in total", "monitor.py", (), "case: vLLM pull request 10941"
    ),
    Pattern(
        "graph-general", "activity", "Compiling a graph for general shape takes %.2f s", "backends.py", (),
        "case: 07-cudagraphs-without-compile",
    ),
    Pattern(
        "graph-dynamic", "activity", "Compiling a graph for dynamic shape takes %.2f s", "backends.py", (),
        "case: 20-benign-negative-words",
    ),
    Pattern(
        "graph-load-dynamic", "graph-load", "Directly load the compiled graph(s) for dynamic shape from the cache, took %.3f s",
        "backends.py", (), "case: vLLM 0.10 backends.py",
    ),
    Pattern(
        "graph-load-shape", "graph-load", "Directly load the compiled graph(s) for shape %s from the cache, took %.3f s",
        "backends.py", (), "case: vLLM 0.10 backends.py",
    ),
    Pattern(
        "engine-v0", "engine", "Initializing an LLM engine (v%s) with config: %s", "llm_engine.py", (),
        "case: 07-cudagraphs-without-compile",
    ),
    Pattern(
        "init-seconds", "initialised", "init engine (profile, create kv cache, warmup model) took %.2f seconds", "core.py", (),
        "case: 03-two-ranks-duplicated-warning-glued-to-tqdm",
    ),
    Pattern(
        "init-seconds-v0", "initialised", "init engine (profile, create kv cache, warmup model) took %.2f seconds",
        "llm_engine.py", (), "case: 07-cudagraphs-without-compile",
    ),
    Pattern(
        "eager-level", "disabled", "Enforce eager set, overriding optimization level to -O0", "vllm.py", (),
        "case: vLLM 0.12 config/vllm.py",
    ),
    Pattern(
        "version", "request", "vLLM API server version %s", "api_server.py", (),
        "case: 03-two-ranks-duplicated-warning-glued-to-tqdm",
    ),
    Pattern(
        "xla-shapes", "foreign", "Compiling the model with different input shapes.", "tpu_model_runner.py", (),
        "case: vLLM pull request 15727",
    ),
    Pattern(
        "xla", "foreign", "Compilation finished in %.2f [secs].", "tpu_model_runner.py", (), "case: tpu-inference issue 898"
    ),
    Pattern(
        "xla-in", "foreign", "Compilation finished in in %.2f [secs].", "tpu_model_runner.py", (),
        "case: vLLM pull request 15727",
    ),
    Pattern(
        "engine-hit", "failed", "EngineCore hit an exception: %s", "core.py", (), "case: vLLM pull request 15727",
    ),
    Pattern(
        "engine-raised", "failed", "Engine core initialization failed. See root cause above. %s", "utils.py", (),
        "case: raised, not logged",
    ),
    Pattern(
        "server-failed", "failed", "Application startup failed. Exiting.", "on.py", (), "case: uvicorn, not vLLM",
    ),
)  # fmt: skip

# What a kind of evidence does to the decision.
_POSITIVE = frozenset({"receipt", "cache-load"})
_DENYING = {"unsupported": "unsupported-model-warning", "disabled": "compile-disabled", "failed": "startup-failed"}
_HEARD = frozenset({*_DENYING, "denial", "foreign", "foreign-backend", "drafter"})  # whatever stands before it
_EARLY = frozenset({"request", "disabled", "foreign", "exception", "health"})  # may stand before an engine starts
_PUBLISHED = {
    "engine": "request",
    "drafter": "request",
    "initialised": "health",
    "summary": "health",
    "ready": "health",
}
_REASONS = (
    "unsupported-model-warning", "compile-disabled", "startup-failed", "foreign-compiler", "contradiction",
    "no-receipt-for-target", "no-positive-receipt", "incomplete", "ambiguous-process", "positive-receipt", "cache-load",
    "unaudited-wording",
)  # fmt: skip
_RANKED = ("CANARY-ELIGIBLE", "HOLD", "REJECT")
_EXITS = {"CANARY-ELIGIBLE": 0, "REJECT": 1, "HOLD": 4}
_USAGE = 2
_OWN_TAGS = {"language-model": frozenset({"backbone"})}  # any other target is a tag, as the log has it
_SHOWN = 64  # entries of one kind; the counts are always whole
_TEXT = 400


# --- Formats ----------------------------------------------------------------------------------------------------------
# A terminal breaks lines anywhere, also within a number, and a copy of it may lose the space at the edge. So whitespace says
# nothing here: format and message are compared without any.

_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([dfrs%])")
_QUOTING = "`'\"*_\\"
_QUOTES = f"[{re.escape(_QUOTING)}]{{0,4}}"
_NUMBER = r"([-+]?(?:[0-9][0-9.,]{0,40}|nan|inf))"  # more than a format prints: it is said why it does not count
_LITERALS = 12  # fewer would match what is not the message
_GAP = 512
_HEAD = 6
_LONGEST = 1 << 16
_CONTINUATIONS = 12
_TAG = re.compile(r"\[([^\[\]]{1,200})\]")


class _Expression(NamedTuple):
    """A pattern, ready to be compared."""

    pattern: Pattern
    tagged: bool  # begins with the component's tag, which may be empty
    head: str
    whole: re.Pattern[str]
    core: re.Pattern[str] | None  # the first sentence of what denies compilation is enough


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _compiled(format: str) -> tuple[str, str]:  # noqa: A002 - the word that loggers have for it
    """Return a %-format as an expression, and its literal beginning."""
    parts: list[str] = []
    literals: list[str] = []
    end = 0
    for conversion in [*_CONVERSION.finditer(format), None]:
        literal = _squeezed(format[end : conversion.start() if conversion else None])
        end = conversion.end() if conversion else len(format)
        gap = ""
        if conversion and conversion[1] == "%":
            literal += "%"
        elif conversion:
            gap = _NUMBER if conversion[1] in "df" else "(.*)" if end == len(format) else f"(.{{0,{_GAP}}}?)"
        literals.append(literal)
        for character in literal:
            if character == "`":
                parts.append(_QUOTES)
            else:  # a dash that was decoded wrongly is up to four characters
                parts.append(re.escape(character) if character.isascii() else ".{1,4}?")
        parts.append(gap)
    if len("".join(literals)) < _LITERALS:
        raise ValueError(f"{format!r} says too little to be looked for")
    return "".join(parts), literals[0]


def _expression(pattern: Pattern) -> _Expression:
    tagged = pattern.format.startswith("%s")
    whole, head = _compiled(pattern.format[2:] if tagged else pattern.format)
    sentence = pattern.format.split(". ")[0] if pattern.kind in _DENYING else ""
    core = re.compile(_compiled(sentence.lstrip("`"))[0]) if sentence else None
    return _Expression(pattern, tagged, head.lstrip("`")[:_HEAD], re.compile(whole), core)


_EXPRESSIONS = tuple(_expression(pattern) for pattern in PATTERNS)
_DENIALS = tuple((each, each.core) for each in _EXPRESSIONS if each.core)
_BY_HEAD: dict[str, list[_Expression]] = {}
for _each in _EXPRESSIONS:
    _BY_HEAD.setdefault(_each.head, []).append(_each)


class _Match(NamedTuple):
    """A message that is a pattern: what stood in the gaps, as it was logged."""

    expression: _Expression
    tag: str | None
    values: tuple[str, ...]


def _values(text: str, found: re.Match[str], skipped: int) -> tuple[str, ...]:
    """Return the groups of a match in squeezed text with the spaces that they had."""
    places = [place for place, character in enumerate(text) if not character.isspace()]

    def original(group: int) -> str:
        start, end = found.span(group)
        return text[places[start + skipped] : places[end + skipped - 1] + 1] if end > start else ""

    return tuple(original(group) for group in range(1, (found.re.groups or 0) + 1))


def _matched(message: str, origin: str | None = None) -> _Match | None:
    """Return the pattern that the whole message is, or, of what denies compilation, that it begins with."""
    message = message[:_LONGEST]
    squeezed = _squeezed(message)
    tag = _TAG.match(squeezed)
    body = squeezed[tag.end() :] if tag else squeezed
    match = None
    for each in _BY_HEAD.get(body.lstrip("`")[:_HEAD], ()):
        found = None if tag and not each.tagged else each.whole.fullmatch(body)
        if found:
            match = match or _Match(each, tag[1] if tag else None, _values(message, found, len(squeezed) - len(body)))
            if each.pattern.file == origin:  # one format may be printed by two modules
                return match._replace(expression=each)
    if match:
        return match
    bare = squeezed.lstrip(_QUOTING)
    for each, core in _DENIALS:
        found = core.match(bare)
        if found:
            return _Match(each, None, _values(message, found, len(squeezed) - len(bare)))
    return None


def _may_go_on(message: str) -> bool:
    """Return whether the message could be the beginning of a pattern that the next line ends."""
    squeezed = _squeezed(message[:_LONGEST])
    tag = _TAG.match(squeezed)
    body = (squeezed[tag.end() :] if tag else squeezed).lstrip(_QUOTING)
    return body[:_HEAD] in _BY_HEAD or len(body) < _HEAD


# --- Lines and records ------------------------------------------------------------------------------------------------

_ANSI = re.compile(
    r"(?:\x1b|\x9b|\^\[|\\x1b|\\033|\\u001b|\u241b)\[?[0-9;]{0,16}m|\x1b\[[0-?]{0,32}[ -/]{0,4}[@-~]|"
    r"\x1b\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?|\x1b[@-_]|\[[0-9;]{1,8}m"
)
_REPEATED = re.compile(r"\[repeated \d{1,9}x across cluster\]")
_TIMED = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)\s+(?:(?:stdout|stderr) [FP] ?)?"
)
_SOURCES = (
    re.compile(r"(?!DEBUG|INFO|WARNING|ERROR)([A-Za-z0-9][\w.-]{0,80})\s+\| ?"),  # docker compose
    re.compile(r"\[(pod/[^\]\s]{1,200})\] ?"),  # kubectl logs --prefix
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ([\w.-]{1,100} [\w.@/-]{1,80})\[\d{1,10}\]: ?"),  # journald
)
_QUOTED = re.compile(r"(?:\s*>)+ ?")
_HEADER = re.compile(
    r"(DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL)[ \t]{1,8}\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?[ \t]{1,8}"
    r"\[?([\w./\\-]{1,200}\.py):\d{1,7}\](?: |$)"
)
_PROCESS = (
    r"\((?P<label>[A-Za-z_][\w.-]{0,63}(?: rank=\d{1,6})?) pid=(?P<pid>\d{1,10})(?:, ?ip=(?P<ip>[^()\s,]{1,64}))?\)"
)
_PROCESS_BEFORE = re.compile(_PROCESS + r"\s*$")
_PROCESS_FIRST = re.compile(r"\s*" + _PROCESS + r"\s*")
_FIELD = re.compile(
    r"[\s\-|:\[\]<>]{0,16}(?:(?P<level>(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL)\b)|(?P<name>vllm(?:\.\w{1,80}){1,12})(?::\w{1,80}:\d{1,7})?|"
    r"(?P<file>[\w./\\-]{1,200}\.py):\d{1,7}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|"
    r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|\d{1,10}\b|" + _PROCESS + ")"
)
_FOREIGN = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: [A-Z]{2,3}\d{1,4}){0,4}\] ")
_READY = re.compile(r"INFO:Applicationstartupcomplete\.")
_READY_RECORD = re.compile(r"(?:\([^()]{1,200}\) )?(?:INFO:\s{1,8})?Application startup complete\.")
_RAISED = re.compile(
    r"(?:\w{1,80}\.){0,8}\w{1,80}(?:Error|Exception|Interrupt)(?::|$)|Killed$|Segmentation fault|"
    r"\S{1,80} exited with code [1-9]"
)
_SERVED = re.compile(r'INFO:\s+\S{1,80} - "(?:GET|POST) /\S{0,400} HTTP/[\d.]{1,3}" 200\b')
_COMPILES = re.compile(  # something that compiles models, and is not the compiler that is asked about
    r"(?i)(?=.{0,400}\bcompil).{0,400}\b(?:xla|jax|neuronx?(?:-cc)?|tensorrt|trt-?llm|openvino|torchair|npugraph_ex|tvm|onnx)\b"
)
_SPEAKS = re.compile(r"['\"`{}]|DEBUG|INFO|WARNING|ERROR|CRITICAL")  # before a header: somebody quotes it
_JSON_TEXT = ("message", "msg", "log", "MESSAGE", "line", "text", "textPayload")
_JSON_ORIGIN = ("name", "logger", "filename", "pathname")
# A formatter's own record has one of these; anything else carries somebody's line.
_JSON_OWN = frozenset({"levelname", "name", "logger"})
# A record that names no module counts if it has no other field than these.
_JSON_PLAIN = frozenset(
    {
        "asctime",
        "level",
        "levelname",
        "message",
        "msg",
        "pid",
        "process",
        "processName",
        "severity",
        "time",
        "timestamp",
        "ts",
    }
)


class _Record(NamedTuple):
    """A record of a logger, or, without header, a line."""

    file: int
    line: int
    source: str
    label: str
    pid: str
    message: str
    origin: str | None = None  # module that the header names
    headed: bool = False
    trusted: bool = False  # what is positive counts: nothing before the header quotes it

    @property
    def process(self) -> str:
        """Return the process, as the log names it."""
        return " ".join(part for part in (self.source, self.label, self.pid and f"pid={self.pid}") if part)


def _text(data: bytes) -> str:
    """Return the bytes as text, whatever they are; what has no mark and is none is still ASCII between its NULs."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8", errors="replace").replace("\0", "").replace("\ufeff", "")


def _origin(path: str) -> str:
    """Return a module's file name: of `compilation/monitor.py` and of `vllm.compilation.monitor` it is `monitor.py`."""
    if path.startswith("vllm.") and not path.endswith(".py"):
        return path.rsplit(".", 1)[-1] + ".py"
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _bare(text: str) -> tuple[str, str]:
    """Return the line without colours and without what collectors and quoting put before it, and whose it is."""
    text = _ANSI.sub("", text)
    source = ""
    for _ in range(6):
        found = _QUOTED.match(text) or _TIMED.match(text)
        for expression in () if found else _SOURCES:
            found = expression.match(text)
            if found:
                source = found[1]
                break
        if not found:
            break
        text = text[found.end() :]
    repeated = _REPEATED.search(text)
    return (text[: repeated.start()] if repeated else text).strip(), source


def _loaded(text: str) -> Any:
    if (text[:1], text[-1:]) not in {("{", "}"), ('"', '"'), ('"', ",")}:
        return None
    try:
        return json.loads(text.rstrip(","))
    except (ValueError, RecursionError):
        return None


def _nested(text: str, blank: _Record, depth: int) -> Iterator[_Record]:
    """Yield the records of lines that stand within a line."""
    for part in re.split(r"\r\n|\r|\n", text):
        yield from _parsed(_bare(part)[0], blank, depth - 1)


def _from_json(value: Mapping[str, Any], blank: _Record, depth: int) -> Iterator[_Record]:
    """Yield what a JSON log line carries: a record of its own, or lines that somebody wrapped."""
    message = next((value[key] for key in _JSON_TEXT if isinstance(value.get(key), str)), "")
    known = _JSON_PLAIN.issuperset(value)
    carries = not known or _HEADER.search(message) or _loaded(message.strip()) is not None
    if carries and _JSON_OWN.isdisjoint(value):
        yield from _nested(message, blank, depth)
        return
    origin = next((value[key] for key in _JSON_ORIGIN if isinstance(value.get(key), str)), None)
    label, pid = value.get("processName", ""), value.get("process", value.get("pid", ""))
    yield blank._replace(
        label=label if isinstance(label, str) else "",
        pid=str(pid) if re.fullmatch(r"[0-9]{1,10}", str(pid)) else "",
        message=_ANSI.sub("", message),
        origin=_origin(origin) if origin else None,
        headed=True,
        trusted=known or origin is not None,
    )


def _with_fields(text: str, blank: _Record) -> _Record | None:
    """Return the record of a formatter that is not vLLM's, if its header has a level and the name of a module."""
    level, origin, end, record = False, None, 0, blank
    for _ in range(8):
        field = _FIELD.match(text, end)
        if not field:
            break
        end = field.end()
        level = level or bool(field["level"])
        origin = origin or field["name"] or field["file"]
        if field["label"]:
            record = record._replace(label=field["label"], pid=field["pid"])
    if not (level and origin):
        return None
    message = text[end:].lstrip(" -|:]>")  # a bracket that opens is the tag's
    return record._replace(message=message, origin=_origin(origin), headed=True, trusted=True)


def _processed(text: str, blank: _Record) -> tuple[_Record, int]:
    """Return whose record begins at the end of the text, and where its prefix does."""
    start, record = len(text), blank
    for _ in range(3):
        found = _PROCESS_BEFORE.search(text[max(0, start - 240) : start])
        if not found:
            break
        if not record.label:  # the innermost one printed it
            record = record._replace(
                label=found["label"], pid=found["pid"] + ("@" + found["ip"] if found["ip"] else "")
            )
        start = max(0, start - 240) + found.start()
    return record, start


def _parsed(text: str, blank: _Record, depth: int = 3) -> Iterator[_Record]:
    """Yield the records of one line, and what stands before the first as a line without header."""
    value = _loaded(text) if depth > 0 else None
    if isinstance(value, dict):
        yield from _from_json(value, blank, depth)
        return
    if isinstance(value, str):
        yield from _nested(value, blank, depth)
        return
    headers = list(_HEADER.finditer(text))
    if not headers:
        record = _with_fields(text, blank)
        first = _PROCESS_FIRST.match(text)
        if not record and first:
            record = blank._replace(label=first["label"], pid=first["pid"], message=text[first.end() :])
        yield record or blank._replace(message=text)
        return
    trusted, before = True, 0
    for number, header in enumerate(headers):
        record, start = _processed(text[before : header.start()], blank)
        between = text[before : before + start]
        if number == 0:
            trusted = len(between) <= _TEXT and not _SPEAKS.search(between)
            yield blank._replace(message=between)
        else:
            match = _matched(between)  # whole, and with an end of its own: what ends in a text may hold anything
            trusted = trusted and match is not None and not match.expression.pattern.format.endswith("%s")
        after = headers[number + 1].start() if number + 1 < len(headers) else len(text)
        after = header.end() + _processed(text[header.end() : after], blank)[1]
        yield record._replace(
            message=text[header.end() : after], origin=_origin(header[2]), headed=True, trusted=trusted
        )
        before = header.end()


def _seamless(lines: Iterable[_Record]) -> Iterator[_Record]:
    """Yield the lines; two between which a terminal broke a header are one."""
    held: _Record | None = None
    for line in lines:
        if held:
            tail = held.message[-200:]
            for seam in ("", " "):
                found = _HEADER.search(tail + seam + line.message[:200])
                if found and found.start() < len(tail) < found.end() - len(seam):
                    held = held._replace(message=held.message + seam + line.message)
                    break
            else:
                yield held
                held = line
            continue
        held = line
    if held:
        yield held


def _records(file: int, data: bytes) -> Iterator[_Record]:
    """Yield the records of one log. A line ends at CR, LF or both; it is counted as an editor counts."""
    text = _text(data)
    physical = text.split("\n") if "\n" in text else text.split("\r")
    bare = ((number, *_bare(part)) for number, line in enumerate(physical, start=1) for part in line.split("\r"))
    lines = (_Record(file, number, source, "", "", message) for number, message, source in bare if message)
    for line in _seamless(lines):
        yield from _parsed(line.message, line._replace(message=""))


# --- Findings ---------------------------------------------------------------------------------------------------------


class _Finding(NamedTuple):
    """One thing that the log says."""

    record: _Record
    kind: str
    text: str
    pattern: str = ""
    basis: str = ""
    tag: str | None = None
    values: tuple[str, ...] = ()
    seconds: str | None = None
    note: str = ""


def _positive(value: str, precision: int) -> bool:
    """Return whether the text is a positive number as a format of this precision prints it."""
    return bool(re.fullmatch(rf"[0-9]{{1,12}}\.[0-9]{{{precision}}}", value)) and Decimal(value) > 0


def _finding(record: _Record, match: _Match, text: str) -> _Finding:
    pattern = match.expression.pattern
    finding = _Finding(record, pattern.kind, text, pattern.id, pattern.basis, match.tag, match.values)
    if pattern.kind in _HEARD:
        return finding
    if not record.trusted:
        return finding._replace(kind="quoted", note="a header stands within another message")
    if record.origin not in {None, pattern.file}:
        return finding._replace(kind="quoted", note=f"{pattern.file} prints this, and the header names another module")
    if pattern.kind == "receipt":
        (seconds,) = (_squeezed(value) for value in match.values)
        if not _positive(seconds, 2):
            return finding._replace(kind="void", note="the duration is not a positive number as the format prints it")
        return finding._replace(seconds=seconds)
    return finding


def _unheaded(records: Sequence[_Record]) -> Iterator[_Finding]:
    """Yield what lines without header deny, wherever it stands in them and however they are broken."""
    for record in records:
        if _SERVED.match(record.message):
            yield _Finding(record, "health", record.message)
        elif _RAISED.match(record.message):
            yield _Finding(record, "exception", record.message)
        elif _COMPILES.match(record.message):
            yield _Finding(record, "foreign", record.message)
        foreign = _FOREIGN.match(record.message)
        match = _matched(record.message[foreign.end() :]) if foreign else None
        if match and match.expression.pattern.kind in {"receipt", "activity"}:
            pattern = match.expression.pattern
            yield _Finding(record, "foreign", record.message, pattern.id, "case: SGLang pull request 26437")
    squeezed = [_squeezed(record.message) for record in records]
    starts = [0]
    for part in squeezed:
        starts.append(starts[-1] + len(part))
    whole = "".join(squeezed)
    for found in _READY.finditer(whole):
        record = records[bisect.bisect_right(starts, found.start()) - 1]
        yield _Finding(record, "ready", record.message)
    places: set[tuple[str, int]] = set()
    for expression, core in _DENIALS:
        for found in core.finditer(whole):
            place = expression.pattern.kind, found.start()
            if place in places:  # one of two formats that begin alike
                continue
            places.add(place)
            record = records[bisect.bisect_right(starts, found.end() - 1) - 1]
            first = records[bisect.bisect_right(starts, found.start()) - 1]
            pattern = expression.pattern
            text = first.message if first is record else f"{first.message} {record.message}"
            yield _Finding(first, pattern.kind, text, pattern.id, pattern.basis, values=found.groups())


class _Entry(NamedTuple):
    """A record that has a header, what was found, or both."""

    record: _Record | None
    finding: _Finding | None

    @property
    def place(self) -> _Record:
        """Return where it stands."""
        if self.finding:
            return self.finding.record
        assert self.record
        return self.record


def _entries(records: Iterable[_Record]) -> Iterator[_Entry]:
    """Yield each record that has a header with what it says, also together with the lines that it was broken into."""
    waiting: list[_Record] = []
    unfinished: _Record | None = None
    joined, taken = "", 0
    for record in records:
        if record.headed:
            yield from (_Entry(None, finding) for finding in _unheaded(waiting))
            waiting, unfinished, joined, taken = [], None, record.message, 0
            match = _matched(record.message, record.origin)
            if match:
                yield _Entry(record, _finding(record, match, record.message))
            elif _READY_RECORD.fullmatch(record.message.strip()):
                yield _Entry(record, _Finding(record, "ready", record.message))
            elif _RAISED.match(record.message):
                yield _Entry(record, _Finding(record, "exception", record.message))
            elif _COMPILES.match(record.message):
                yield _Entry(record, _Finding(record, "foreign", record.message))
            else:
                unfinished = record if _may_go_on(record.message) else None
                yield _Entry(record, None)
            continue
        waiting.append(record)
        if unfinished and taken < _CONTINUATIONS:
            joined, taken = joined + record.message, taken + 1
            match = _matched(joined, unfinished.origin)
            if match:
                yield _Entry(None, _finding(unfinished, match, joined))
                waiting, unfinished = [], None
    yield from (_Entry(None, finding) for finding in _unheaded(waiting))


# --- Runs -------------------------------------------------------------------------------------------------------------

_TRACKED = re.compile(r"APIServer|EngineCore|Worker_|VllmWorker rank=")  # one process each; other names are shared


class _Run:
    """The lines from one start of the server to the next."""

    def __init__(self) -> None:
        self.findings: list[_Finding] = []
        self.pids: dict[tuple[str, str], set[str]] = {}
        self.lines: dict[int, tuple[int, int]] = {}
        self.headed: set[int] = set()
        self.engines: set[tuple[str, str]] = set()
        self.settled = False  # past its arguments: who prints some now has started again

    def add(self, entry: _Entry) -> None:
        """Make the entry part of the run."""
        place = entry.place
        first, last = self.lines.get(place.file, (place.line, place.line))
        self.lines[place.file] = first, max(last, place.line)
        if entry.finding:
            self.findings.append(entry.finding)
            self.settled = self.settled or entry.finding.kind not in _EARLY
            if entry.finding.kind == "engine":
                self.engines.add((place.source, place.label))
        if entry.record:
            self.headed.add(place.file)
            if place.pid and _TRACKED.match(place.label):
                self.pids.setdefault((place.source, place.label), set()).add(place.pid)

    def is_over(self, entry: _Entry, seen: set[tuple[str, str, str]]) -> bool:
        """Return whether the entry belongs to a start behind this run."""
        whose = entry.place.source, entry.place.label
        known = self.pids.get(whose)
        if entry.record and known and (*whose, entry.record.pid) not in seen:
            return True
        kind = entry.finding.kind if entry.finding else ""
        return (kind == "request" and self.settled) or (kind == "engine" and whose in self.engines)

    @classmethod
    def merged(cls, runs: Iterable[_Run]) -> _Run:
        """Return the runs as one."""
        whole = cls()
        for run in runs:
            whole.findings += run.findings
            whole.headed |= run.headed
            for key, pids in run.pids.items():
                whole.pids.setdefault(key, set()).update(pids)
            for file, (first, last) in run.lines.items():
                whole.lines[file] = min(first, whole.lines.get(file, (first, last))[0]), last
        return whole


def _runs(file: int, data: bytes) -> list[_Run]:
    """Return the runs of one log, in order."""
    runs = [_Run()]
    seen: set[tuple[str, str, str]] = set()
    for entry in _entries(_records(file, data)):
        if runs[-1].is_over(entry, seen):
            runs.append(_Run())
        runs[-1].add(entry)
        seen.add((entry.place.source, entry.place.label, entry.place.pid))
    return runs


def _interleaved(runs: Sequence[_Run]) -> bool:
    """Return whether a process of one run comes back after the start of another: then they cannot be told apart."""
    return any(len(pids) > 1 for run in runs for pids in run.pids.values())


# --- Decision ---------------------------------------------------------------------------------------------------------

_DRAFTS = re.compile(r"speculative_config['\"]?[=:](?!None)(?![^)}]{0,200}?method['\"]?[=:]['\"]?(?:ngram|suffix))")
_ENCODES = re.compile(r"compile_mm_encoder['\"]?[=:](?:True|true)")
_MODEL = re.compile(r"model=(?:'((?:[^'\\]|\\.){1,4096})'|\"((?:[^\"\\]|\\.){1,4096})\")")
_OFF = re.compile(r"CompilationMode\.NONE\b")
_CACHE_KEY = re.compile(
    r"torch_compile_cache[/\\](?:torch_aot_compile[/\\])?([0-9A-Za-z]{6,128})(?:[/\\](rank_\d{1,6}_\d{1,6}))?"
)
_RANK = re.compile(r"rank_\d{1,6}_\d{1,6}")


class _Verdict(NamedTuple):
    decision: str
    reasons: tuple[str, ...]
    seconds: str | None
    findings: tuple[_Finding, ...]
    notes: tuple[str, ...]


def _attributed(run: _Run, target: str) -> list[_Finding]:
    """Return the findings; of each receipt that is not the target's the kind is `other`, and the note says why."""
    own = _OWN_TAGS.get(target, frozenset({target}))
    said = "\n".join(_squeezed(each.values[-1]) for each in run.findings if each.kind in {"engine", "request"})
    drafter = bool(_DRAFTS.search(said)) or any(each.kind == "drafter" for each in run.findings)
    denied = any(each.kind == "unsupported" for each in run.findings)
    language = [_squeezed(each.values[2]) for each in run.findings if each.kind == "summary"]
    encoder = bool(_ENCODES.search(said)) and not language
    untagged: dict[str, int] = {}
    directories: dict[str, str] = {}
    named: list[tuple[_Finding, str | None]] = []
    for finding in run.findings:
        process = finding.record.process
        if finding.kind == "component":
            name = re.split(r"[/\\]", finding.values[0])[-1]
            directories[process] = "" if _RANK.fullmatch(name) else name
        name = finding.tag or directories.get(process)
        if finding.kind == "receipt":
            directories.pop(process, None)
            if not name:
                untagged[process] = untagged.get(process, 0) + 1
        named.append((finding, name))
    result = []
    for finding, name in named:
        note = ""
        if finding.kind == "graph-load" and name and name not in own:
            finding = finding._replace(kind="activity")
        if finding.kind in _POSITIVE:
            if name:
                note = "" if name in own else f"compiled is {name}"
            elif target not in _OWN_TAGS:
                note = "it does not say which component was compiled"
            elif language and not any(_positive(value, 2) for value in language):
                note = "the engine reports no compilation of the language model"
            elif drafter and denied:
                note = "the target warns, and a drafter is loaded"
            elif (drafter or encoder) and untagged.get(finding.record.process, 0) < 2:
                note = "it does not say which component was compiled, and there is more than one"
        result.append(finding._replace(kind="other", note=note) if note else finding)
    return result


def _ambiguities(run: _Run, findings: Sequence[_Finding]) -> list[str]:
    notes = []
    sources = {each.record.source for each in findings}
    if len(sources) > 1:
        notes.append(
            "several services write to this log: " + ", ".join(sorted(source or "(none)" for source in sources))
        )
    for (_, label), pids in sorted(run.pids.items()):
        if len(pids) > 1:
            notes.append(f"{label} is several processes: " + ", ".join(sorted(pids)))
    bare = [each for each in findings if each.kind in _POSITIVE and not each.record.pid]
    if bare and any(not label.startswith("APIServer") for _, label in run.pids):
        notes.append("a receipt names no process, and other records do")
    return notes


def _is_up(run: _Run, findings: Sequence[_Finding]) -> bool:
    """Return whether start-up finished: the server's, and only where none is seen the engine's."""
    kinds = {each.kind for each in findings}
    server = any(label.startswith("APIServer") for _, label in run.pids)
    server = server or any(each.pattern == "version" for each in findings)
    return "ready" in kinds or (not server and bool(kinds & {"initialised", "summary"}))


def _incomplete(run: _Run, findings: Sequence[_Finding], files: int) -> list[str]:
    notes = []
    if not _is_up(run, findings):
        notes.append("the log ends before start-up finished")
    if len(run.headed) < files:
        notes.append("a log holds no record of this run")
    return notes


def _unaudited(findings: Iterable[_Finding], kinds: Iterable[str]) -> bool:
    return {each.basis.split(":")[0] for each in findings if each.kind in kinds} == {"case"}


def _decided(run: _Run, target: str, files: int, mixed: Sequence[str], passed: bool) -> _Verdict:
    """Return the decision on one run."""
    findings = _attributed(run, target)
    kinds = {each.kind for each in findings}
    proved = bool(kinds & _POSITIVE)
    off = any(each.kind == "engine" and _OFF.search(each.values[-1]) for each in findings)
    reasons = {reason for kind, reason in _DENYING.items() if kind in kinds}
    decisive = {kind for kind in _DENYING if kind in kinds}
    if "exception" in kinds and not _is_up(run, findings):
        reasons.add("startup-failed")
    if "foreign-backend" in kinds or ("foreign" in kinds and not proved and not reasons):
        reasons.add("foreign-compiler")
        decisive.add("foreign")
    if proved and (off or kinds & {"unsupported", "disabled", "denial"}):
        reasons.add("contradiction")
        decisive |= _POSITIVE
    if not proved and "other" in kinds:
        reasons.add("no-receipt-for-target")
        decisive.add("other")
    elif not proved and not reasons:
        reasons.add("no-positive-receipt")
    rejected = bool(reasons)
    ambiguous = [*mixed, *_ambiguities(run, findings)]
    incomplete = (
        _incomplete(run, findings, files) if not reasons - {"no-positive-receipt", "no-receipt-for-target"} else []
    )
    reasons |= {"ambiguous-process"} if ambiguous else set()
    reasons |= {"incomplete"} if incomplete else set()
    if not rejected:
        decisive |= _POSITIVE
        reasons.add("positive-receipt")
        if kinds & {"cache-load", "graph-load"}:
            reasons.add("cache-load")
    if any(_unaudited(findings, kinds) for kinds in [*({kind} for kind in decisive - _POSITIVE), decisive & _POSITIVE]):
        reasons.add("unaudited-wording")
    eligible = passed and not (ambiguous or incomplete)
    decision = "REJECT" if rejected else "CANARY-ELIGIBLE" if eligible else "HOLD"
    totals = [each.seconds or "0" for each in findings if each.kind == "receipt"]
    return _Verdict(
        decision,
        tuple(reason for reason in _REASONS if reason in reasons),
        max(totals, key=Decimal) if totals else None,
        tuple(findings),
        (*ambiguous, *incomplete),
    )


# --- Parity -----------------------------------------------------------------------------------------------------------


def _digest(logs: Sequence[tuple[str, bytes]]) -> str:
    """Return the digest that a parity receipt is bound to: the log's, or that of the lines of `sha256sum LOG…`."""
    digests = [hashlib.sha256(data).hexdigest() for _, data in logs]
    if len(logs) == 1:
        return digests[0]
    lines = "".join(f"{digest}  {name}\n" for digest, (name, _) in zip(digests, logs))
    return hashlib.sha256(lines.encode("utf-8", errors="backslashreplace")).hexdigest()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _dated(text: str) -> bool:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))?", text, flags=re.ASCII):
        return False
    try:
        datetime.fromisoformat(text[:19])
    except ValueError:
        return False
    return True


def _parity(data: bytes | None, digest: str) -> str:
    """Return why the parity receipt does not count; nothing if it does."""
    if data is None:
        return "none was given"
    try:
        receipt = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        return f"it is not strict JSON: {type(error).__name__}"
    keys = {"logSha256", "result", "corpus", "checkedAt"}
    if not isinstance(receipt, dict) or set(receipt) != keys:
        return "it is not an object of logSha256, result, corpus and checkedAt"
    if not all(isinstance(value, str) and value.strip() for value in receipt.values()):
        return "its values are not all text"
    if receipt["logSha256"] not in {digest, f"sha256:{digest}"}:
        return "it is bound to another log"
    if receipt["result"] != "passed":
        return "its result is not passed"
    if not _dated(receipt["checkedAt"]):
        return "checkedAt is no date"
    return ""


# --- The answer -------------------------------------------------------------------------------------------------------


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _evidence(findings: Iterable[_Finding], names: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
    """Return the findings as the answer has them, and how many of a kind were too many to show."""
    shown: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    omitted = 0
    for finding in sorted(findings, key=lambda each: (each.record.file, each.record.line)):
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
        if counts[finding.kind] > _SHOWN:
            omitted += 1
            continue
        entry: dict[str, Any] = {
            "file": names[finding.record.file],
            "line": finding.record.line,
            "kind": _PUBLISHED.get(finding.kind, finding.kind),
            "text": _shown(finding.text),
            "process": finding.record.process,
        }
        if finding.pattern:
            entry |= {"pattern": finding.pattern, "basis": finding.basis}
        if finding.tag:
            entry["component"] = finding.tag
        if finding.seconds:
            entry["seconds"] = finding.seconds
        if finding.note:
            entry["note"] = finding.note
        shown.append(entry)
    return shown, omitted


def _model(findings: Sequence[_Finding]) -> str:
    """Return the model that the warning names, else the one that the engine was started with."""
    for finding in findings:
        if finding.kind == "unsupported" and finding.values[0]:
            return finding.values[0]
    for finding in findings:
        named = _MODEL.search(finding.values[-1]) if finding.kind == "engine" else None
        if named:
            return re.sub(r"\\(.)", r"\1", named[1] or named[2])
    return "unknown"


def decide(
    logs: Sequence[tuple[str, bytes]], parity: bytes | None = None, target: str = "language-model"
) -> dict[str, Any]:
    """Return the decision on the logs of one server, with its reasons and the lines that it stands on."""
    digest = _digest(logs)
    refusal = _parity(parity, digest)
    by_file = [_runs(number, data) for number, (_, data) in enumerate(logs)]
    mixed: list[str] = []
    if any(_interleaved(runs) for runs in by_file):
        mixed.append("processes of one start write after the next start")
    if len({len(runs) for runs in by_file}) > 1:
        mixed.append("the logs hold different numbers of runs")
    runs = (
        [_Run.merged(run for runs in by_file for run in runs)]
        if mixed
        else [_Run.merged(part) for part in zip(*by_file)]
    )
    verdicts = [_decided(run, target, len(logs), mixed, not refusal) for run in runs or [_Run()]]
    worst = max(verdicts, key=lambda verdict: _RANKED.index(verdict.decision)).decision
    deciding = [verdict for verdict in verdicts if verdict.decision == worst]
    reasons = {reason for verdict in deciding for reason in verdict.reasons}
    findings = [finding for verdict in verdicts for finding in verdict.findings]
    warnings = [finding for finding in findings if finding.kind == "unsupported"]
    speaking = warnings or [finding for finding in findings if finding.kind in _POSITIVE]
    names = [name for name, _ in logs]
    seconds = [verdict.seconds for verdict in deciding if verdict.seconds]
    evidence, omitted = _evidence(findings, names)
    keys = {
        "/".join(part for part in key.groups() if part)
        for finding in findings
        if finding.kind in {"component", "cache-load"}
        for key in _CACHE_KEY.finditer(_squeezed(finding.values[0]))
    }
    return {
        "decision": worst,
        "reasons": [reason for reason in _REASONS if reason in reasons],
        "target": target,
        "model": _model(findings),
        "warningCount": len(warnings),
        "targetCompileSeconds": max(seconds, key=Decimal) if seconds else "none",
        "processes": sorted({int(finding.record.pid.split("@")[0]) for finding in speaking if finding.record.pid}),
        "cacheKeys": sorted(keys),
        "logSha256": digest,
        "logs": [{"name": name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in logs],
        "parity": {"counts": not refusal, "why": refusal or "it is bound to this log"},
        "runs": [
            {
                "decision": verdict.decision,
                "reasons": list(verdict.reasons),
                "lines": {names[file]: list(lines) for file, lines in sorted(run.lines.items())},
            }
            for run, verdict in zip(runs, verdicts)
        ],
        "notes": list(dict.fromkeys(note for verdict in verdicts for note in verdict.notes)),
        "evidence": evidence,
        "evidenceOmitted": omitted,
    }


# --- The command line -------------------------------------------------------------------------------------------------


def _printed(answer: Mapping[str, Any]) -> str:
    """Return the answer for a person. What a log says is escaped: it shall not move the cursor."""
    lines = [f"{answer['decision']}: {', '.join(answer['reasons'])}"]
    lines += [
        f"model {answer['model']}, target {answer['target']}, warnings {answer['warningCount']}, "
        f"compiled in {answer['targetCompileSeconds']}{' s' if answer['targetCompileSeconds'] != 'none' else ''}",
        f"log sha256:{answer['logSha256']}",
        f"parity: {answer['parity']['why']}",
    ]
    lines += [f"note: {note}" for note in answer["notes"]]
    for entry in answer["evidence"]:
        where = f"{entry['file']}:{entry['line']}: {entry['kind']}"
        which = f" ({entry['pattern']}, {entry['basis']})" if "pattern" in entry else ""
        lines.append(f"{where}{which}: {entry['text']}{' -- ' + entry['note'] if 'note' in entry else ''}")
    return "\n".join(line.encode("unicode_escape").decode("ascii") for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the decision and return its exit code."""
    parser = argparse.ArgumentParser(prog="activation_gate.py", description="Was the target model compiled?")
    parser.add_argument("logs", metavar="LOG", nargs="+", help="start-up log; several are the ranks of one run")
    parser.add_argument(
        "--parity", metavar="FILE", help="JSON receipt that the compiled model passed the parity corpus"
    )
    parser.add_argument("--target", default="language-model", help="language-model, or a tag as the log has it")
    parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    given = parser.parse_args(arguments)
    try:
        logs = [(name, Path(name).read_bytes()) for name in given.logs]
        parity = Path(given.parity).read_bytes() if given.parity is not None else None
    except (OSError, ValueError) as error:
        parser.exit(
            _USAGE, f"activation_gate.py: cannot be read: {str(error).encode('unicode_escape').decode('ascii')}\n"
        )
    answer = decide(logs, parity, given.target)
    try:
        print(json.dumps(answer, indent=2) if given.json else _printed(answer), flush=True)
    except BrokenPipeError:  # who reads it has seen enough
        sys.stderr.close()
    return _EXITS[str(answer["decision"])]


if __name__ == "__main__":
    sys.exit(main())
