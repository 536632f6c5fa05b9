"""The corpus: guides with an audit and a receipt each, from a seed, for this builder and for Hugo from the same text.

Every audit has a script of its own that runs, on sources that are made here and read once; its receipt is what the
script found, published under number 1. Nothing in the corpus is a fact about anything. Guide i depends on the seed and i
alone, so that a smaller corpus is the beginning of a larger one.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import string
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from site_builder import bindings, figures, guides, issuing, publications, receipts, site, verification
from site_builder.inputs import AuditInputs, File, Inputs
from site_builder.receipts import Ledger
from site_builder.sources import Artifact, Lock, LockEntry, ReleaseLocator, Source, write_lock
from site_builder.values import Digest, plain, shown

HERE: Final = Path(__file__).resolve().parent
SEED: Final = 20260826
_AT: Final = "2026-11-20T09:30:00Z"

_RELEASES: Final = tuple(f"1.{minor}.{patch}" for minor in range(7) for patch in (0, 1))
_CONSTANTS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "scheduler": {"STEP_TOKENS": ("unit", "token"), "CHUNKED": ("kind", "truth")},
    "cache": {"PAGE_BYTES": ("unit", "B"), "CACHE_DTYPE": ("kind", "word")},
    "backend": {"MIN_HEADS": ("unit", "head"), "BACKEND": ("kind", "word")},
    "allocator": {"ALIGNMENT": ("unit", "B")},
    "kernel": {"SPLITS": ("unit", "1")},
    "platform": {"DEVICE_TIER": ("unit", "GiB")},
    "config": {"LAYER_COUNT": ("unit", "layer")},
    "limits": {"MAX_STEPS": ("unit", "step")},
    "planner": {"GUARDED": ("kind", "truth")},
    "workspace": {"ELEMENT_BYTES": ("unit", "B")},
    "build": {"BUILD_COMMIT": ("kind", "digest")},
}
"""By family of sources, what an audit observes in each release of it: a constant and its unit or kind."""
_SINGLE: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "model-heads": {"MODEL_HEADS": ("unit", "head")},
    "model-width": {"MODEL_WIDTH": ("unit", "1")},
    "model-context": {"MODEL_CONTEXT": ("unit", "token")},
    "model-layers": {"MODEL_LAYERS": ("unit", "layer")},
    "handbook": {},
    "change-log": {},
}

_NOUNS: Final = (
    *(
        "scheduler",
        "accumulator",
        "workspace",
        "allocator",
        "checkpoint",
        "registry",
        "manifest",
        "partition",
        "kernel",
    ),
    *(
        "batch",
        "budget",
        "prefill",
        "decoder",
        "envelope",
        "reserve",
        "adapter",
        "router",
        "gateway",
        "replica",
        "shard",
    ),
    *("digest", "revision", "canary", "rollback", "threshold", "quota", "queue", "parser", "validator", "fixture"),
    *(
        "profile",
        "trace",
        "counter",
        "deadline",
        "lease",
        "pipeline",
        "compiler",
        "graph",
        "topology",
        "volume",
        "ledger",
    ),
)
_ADJECTIVES: Final = (
    *("pinned", "bounded", "transient", "reproducible", "physical", "cached", "scheduled", "speculative", "mixed"),
    *("padded", "contiguous", "reserved", "explicit", "measured", "declared", "packaged", "stable", "sustained"),
    *("partial", "regional", "canonical", "archived", "observed", "unmerged", "shared", "local", "late", "early"),
)
_VERBS: Final = (
    *("allocates", "retains", "rejects", "bounds", "exposes", "records", "replays", "flattens", "pads", "reserves"),
    *("admits", "drains", "restores", "resolves", "reconciles", "regenerates", "promotes", "limits", "delays"),
)
_HEADINGS: Final = (
    *("Recognise the failure before tuning", "Pin the affected path", "See why the default takes the mixed path"),
    *("Follow the hidden arithmetic", "Keep the workspace and the cache apart", "Understand why it comes late"),
    *("Use the cap as a lever", "Start with a single change", "Weigh the other route", "Treat a proposal as unmerged"),
    *("Build a canary of mixed traffic", "Measure memory and service together", "Keep a way back"),
    *("Rent capacity after the preflight", "Tell signatures apart", "Questions that come up", "Sources and method"),
)
_EXHIBITS: Final = (
    *((0, "signals"), (1, "releases"), (3, "workspace"), (4, "reconciliation"), (5, "phases"), (10, "gates")),
    *((11, "metrics"), (12, "rollback")),
)
"""Below which heading an exhibit stands."""
_SENTENCES: Final = (
    "The {a} {n} {v} the {m} before the {p} can see it.",
    "At {claim} the {a} {n} {v} a {b} {m}, and the {p} has no other path.",
    "A {n} can start, pass its check and still fail when the {a} {m} comes to {claim}.",
    "In the {source} the {n} {v} the {a} {m}, and the {b} {p} is never asked.",
    "We keep the {n} of {claim} and the {m} apart, because they answer different questions.",
    "What the {a} {n} comes to, {claim}, is computed from the {source}.",
    "Do not read a low {n} as proof that the {a} {m} fits beside the {p}.",
    "The {n} is recorded in the receipt, so the {m} stands on bytes that anyone can have.",
    "When `{code}` returns early, the {a} {n} {v} the earlier {m} instead.",
    "This is why a newer {n} is no remedy: the {a} {m} still names the same {p}.",
    "The {report} states {reported}, which is a report and no measurement of ours.",
    "Only the {a} {n} was read here, and `{code}` at {claim}.",
    "**A low {n} does not prove that the {a} {m} is safe**, because the {p} {v} it.",
    "Write down the {a} {n}, the {m} and the {p} before anyone changes *the {b} {q}*.",
    "Neither the {n} nor the {m} says whether the {a} {p} survives a burst.",
    "For {claim} the {n} is {claim}, and everything else follows from the {a} {m}.",
    "Where the {a} {n} stands at {claim}, the {m} {v} no {p}.",
    "The {other} covers that separate {n} and the {a} {m}.",
    "The {n} may be smaller than {claim} elsewhere, yet the {a} {m} {v} the same {p}.",
)
_CODE: Final = (
    "sparse_decode",
    "load_manifest",
    "resolve_digest",
    "build_index",
    "drain_queue",
    "retry_after",
    "pick_path",
)

Bytes: TypeAlias = Mapping[str, bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One guide and its audit: the files of both sites, and what the publication log says of it."""

    name: str
    ours: Bytes
    hugo: Bytes
    stored: Bytes
    """The sources' bytes by digest: upstream's, which neither site holds."""
    digest: str
    blocks: Mapping[str, str]


def write(root: Path, n: int, *, seed: int = SEED, workers: int = 2, keep_bytes: bool = False) -> None:
    """Write a corpus of n guides: `ours/`, a project of this builder, and `hugo/`, the same text for Hugo.

    With `keep_bytes` the sources' bytes are put into the project's store, as `fetch` would.
    """
    ours, hugo = root / "ours", root / "hugo"
    shutil.copytree(HERE.parent / "templates", ours / "templates")
    shutil.copytree(HERE / "hugo", hugo)
    _put(ours, _SHARED)
    make = partial(unit, seed)
    log = publications.read(b"", "content/publications.jsonl")
    lines = []
    with ProcessPoolExecutor(max_workers=workers) as pool:
        for made in pool.map(make, range(n), chunksize=4):
            _put(ours, made.ours)
            _put(hugo, made.hugo)
            if keep_bytes:
                _put(ours, {_stored_at(digest): body for digest, body in made.stored.items()})
            line = publications.line_after(
                log, audit=made.name, version=1, file_digest=made.digest, blocks={made.name: made.blocks}, at=_AT
            )
            # Reading the log again for each line would take longer the longer it is.
            log = replace(log, head=Digest.of(line))
            lines.append(line)
    _put(ours, {"content/publications.jsonl": b"".join(lines)})


def _stored_at(digest: str) -> str:
    digits = digest.removeprefix("sha256:")
    return f".store/sha256/{digits[:2]}/{digits[2:]}"


def _put(root: Path, files: Bytes) -> None:
    for path, body in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(body)


_SHARED: Final[Bytes] = {
    "content/site.yaml": b"""\
title: A corpus for benchmarks
description: Guides and audits that are made from a seed and say nothing about anything.
url: https://audits.example/
team: The benchmark
contact: mailto:corrections@audits.example
coverageFloor: "0.95"
""",
    "content/contributors.yaml": b"contributors:\n  - {id: team, name: The benchmark, role: Generator}\n",
    "content/links.yaml": b"links:\n  - {url: https://www.rfc-editor.org/rfc/rfc8785, purpose: The canonical form of JSON.}\n",
    **{
        f"content/{folder}/{slug}.md": f"---\ntitle: {title}\ndescription: A page of the corpus.\n---\n\nNothing.\n".encode()
        for folder, slug, title in (
            ("pages", "home", "A corpus"),
            ("pages", "methods", "Methods"),
            ("pages", "about", "About"),
            ("policies", "editorial-policy", "Editorial policy"),
        )
    },
    "evidence/releases.yaml": (
        "releases:\n" + "".join(f"  - {{key: {key}, wheel: kernels-{key}-py3-none-any.whl}}\n" for key in _RELEASES)
    ).encode(),
}


# One audit


def unit(seed: int, number: int) -> Unit:
    """Return guide and audit of one number, the receipt as the audit's own script comes to it."""
    rng = random.Random(f"{seed}:{number}")  # noqa: S311 - a corpus, not a key
    letters = "".join(string.ascii_lowercase[number // 26**place % 26] for place in (2, 1, 0))
    topic = f"{rng.choice(_ADJECTIVES)} {rng.choice(_NOUNS)}"
    name = f"audit-{letters}-{topic.replace(' ', '-')}"
    found = _Constants(rng)
    stored: dict[str, bytes] = {Digest.of(body): body for body in found.bodies.values()}
    audit = _locked(_inputs(_audit_files(rng, name, topic, found), name, stored), name, found)
    inputs = _with(audit, stored)
    draft = receipts.written(issuing.draft(inputs, audit))
    where = f"evidence/{name}/receipts"
    drafted = replace(audit, receipts={"draft": File(where=f"{where}/draft.json", body=draft)})
    empty = publications.read(b"", "content/publications.jsonl")
    receipt = issuing.numbered(drafted, empty).body
    ledger = receipts.opened(receipt, f"{where}/1.json")
    text = _Text(rng, ledger, topic, letters)
    guide = text.markdown(_ours)
    vocabulary = figures.Vocabulary(reserved=site.RESERVED_IDS)
    bound = bindings.bind(
        guides.read_guide(guide.encode(), f"content/guides/{name}.md", vocabulary),
        {ledger.pin: ledger},
        links={},
        tools={},
        newest={name: 1},
        floor=Decimal("0.95"),
    )
    files = {file.where: file.body for file in _files(audit)}
    said = json.loads(receipt)
    for result in said["body"]["results"]:
        for row in result.get("rows", ()) if result["class"] == "editorial" else ():
            row.update({key: _for_hugo(cell, name) for key, cell in row.items() if key != "id"})
    head = f'title = "{text.title}"\ndescription = "{text.description}"\ndate = 2026-11-21\naudit = "{name}"\n'
    return Unit(
        name=name,
        ours={**files, f"{where}/1.json": receipt, f"content/guides/{name}.md": guide.encode()},
        hugo={
            f"content/guides/{name}.md": f"+++\n{head}+++\n{text.markdown(_hugo(name), front=False)}".encode(),
            f"content/receipts/{name}.md": f"+++\n{head}+++\n".encode(),
            f"data/receipts/{name}.json": json.dumps(said, ensure_ascii=False).encode(),
            f"static/receipts/{name}/receipt.json": receipt,
            f"static/receipts/{name}/1/receipt.json": receipt,
        },
        stored=stored,
        digest=ledger.digest,
        blocks=issuing.blocks(bound),
    )


class _Constants:
    """What stands in each source of one audit, and the source's bytes: a small module per family and release."""

    def __init__(self, rng: random.Random) -> None:
        heads, width = rng.choice((64, 128)), rng.choice((256, 512))
        self.splits, self.heads, self.width = rng.choice((2, 4)), heads, width
        tokens = {key: rng.choice((2048, 4096, 8192)) for key in _RELEASES}
        guarded = rng.randrange(len(_RELEASES))
        self.bodies: dict[str, bytes] = {}
        for place, key in enumerate(_RELEASES):
            known: dict[str, object] = {
                "STEP_TOKENS": tokens[key],
                "CHUNKED": False,
                "PAGE_BYTES": rng.choice((4096, 16384)),
                "CACHE_DTYPE": rng.choice(("fp8", "bf16")),
                "MIN_HEADS": 32,
                "BACKEND": rng.choice(("SPARSE", "DENSE")),
                "ALIGNMENT": 256,
                "SPLITS": self.splits,
                "DEVICE_TIER": rng.choice((70, 140)),
                "LAYER_COUNT": rng.randrange(24, 90),
                "MAX_STEPS": rng.randrange(100, 9000),
                "GUARDED": place == guarded,
                "ELEMENT_BYTES": 4,
                "BUILD_COMMIT": f"{rng.getrandbits(160):040x}",
            }
            for family, names in _CONSTANTS.items():
                self.bodies[f"{family}@{key}"] = _module(rng, family, {name: known[name] for name in names})
        single: dict[str, object] = {
            "MODEL_HEADS": heads,
            "MODEL_WIDTH": width,
            "MODEL_CONTEXT": rng.choice((131072, 262144)),
            "MODEL_LAYERS": rng.randrange(24, 90),
        }
        for family, names in _SINGLE.items():
            self.bodies[family] = _module(rng, family, {name: single[name] for name in names})

    def accumulator(self, cap: int) -> Decimal:
        """GiB that the script will compute for a cap."""
        return Decimal(self.splits * self.heads * self.width * 4 * cap) / Decimal(2**30)


def _module(rng: random.Random, family: str, constants: Mapping[str, object]) -> bytes:
    lines = [f'"""The {family} of a library that does not exist."""', ""]
    for step in range(rng.randrange(8, 24)):
        lines += [
            f"def {rng.choice(_CODE)}_{step}(value):",
            f'    """{rng.choice(_ADJECTIVES)}."""',
            "    return value",
            "",
        ]
    lines += [f"{name} = {value!r}".replace("'", '"') for name, value in constants.items()]
    return ("\n".join(lines) + "\n").encode()


def _camel(constant: str) -> str:
    first, *rest = constant.lower().split("_")
    return first + "".join(part.capitalize() for part in rest)


def _audit_files(rng: random.Random, name: str, topic: str, found: _Constants) -> dict[str, str]:
    cap = 32768
    requested = found.accumulator(cap)
    free = requested - Decimal("1.6")
    reported = [("reportedRequest", plain(requested), "GiB"), ("reportedFree", plain(free), "GiB")]
    reported += [
        ("reportedCap", str(cap), "token"),
        ("reportedSequences", "32", "sequence"),
        ("reportedDraft", "5", "token"),
    ]
    reported += [(f"reported{word.capitalize()}", str(rng.randrange(3, 900)), "step") for word in rng.sample(_NOUNS, 5)]
    words = partial(_phrase, rng)
    tables = {
        "signals": (7, ("sign", "means", "excludes")),
        "phases": (5, ("phase", "asks", "proof")),
        "gates": (10, ("gate", "rule")),
        "metrics": (8, ("metric", "unit", "reason")),
    }
    files = {
        "audit.py": _script(topic, rng.choice((4, 8))),
        "sources.yaml": _sources_yaml(name),
        "decision.yaml": "state:\n  from: newestDecision\n  states: {affected: Affected, bounded: Bounded}\n"
        "statement: Lower the cap before anything else.\nsubjects: {table: releases, column: decision}\n"
        f"conditions:\n  - The {words(4)}.\n  - The {words(5)}.\nreopen:\n  - {{id: newer, text: A newer release appears.}}\n",
        "reported.yaml": "reported:\n"
        + "".join(
            f'  - {{id: {item}, value: "{value}", unit: {unit}, by: "tracker issue {place}", how: recorded, '
            f'url: "https://tracker.example/{name}/{place}", statement: "What the {words(3)} came to."}}\n'
            for place, (item, value, unit) in enumerate(reported)
        ),
    }
    for table, (rows, columns) in tables.items():
        lines = [f"title: {table.capitalize()} of the {topic}", f"statement: What the {topic} shows.", "columns:"]
        lines += [f"  - {{id: {column}, title: {column.capitalize()}}}" for column in columns]
        lines.append("rows:")
        for row in range(rows):
            cells = [f"{column}: {_cell(rng, requested)}" for column in columns]
            lines.append(f"  - {{id: r{row}, {', '.join(cells)}}}")
        files[f"tables/{table}.yaml"] = "\n".join(lines) + "\n"
    steps = [f"  - {{id: s{step}, text: {_cell(rng, requested)}}}" for step in range(7)]
    files["tables/rollback.yaml"] = (
        f"title: Going back\nstatement: The order in which to undo the {topic}.\nordered: yes\nitems:\n"
        + "\n".join(steps)
        + "\n"
    )
    return files


def _phrase(rng: random.Random, length: int) -> str:
    words = [word for _ in range(length) for word in (rng.choice(_ADJECTIVES), rng.choice(_NOUNS), rng.choice(_VERBS))]
    return " ".join(words[:length])


def _cell(rng: random.Random, requested: Decimal) -> str:
    text = _phrase(rng, rng.randrange(3, 9)).capitalize()
    chance = rng.random()
    if chance < 0.15:
        text += f" at [{plain(requested)} GiB](receipt:reportedRequest)"
    elif chance < 0.25:
        text += f" in the [{rng.choice(_NOUNS)}](source:backend@{rng.choice(_RELEASES)})"
    return f'"{text}"'


def _sources_yaml(name: str) -> str:
    lines = ["sources:"]
    for family in _CONSTANTS:
        lines += [
            f'  - id: "{family}@{{release}}"',
            "    for: releases",
            f"    purpose: Where the {family} of a release is decided.",
            "    role: upstream",
            "    mutability: immutable",
            "    expects: {type: text/x-python, contains: does not exist}",
            "    locators:",
            f'      - release: {{project: kernels, version: "{{release}}", file: "{{wheel}}", member: "{name}/{family}.py"}}',
        ]
    for family in _SINGLE:
        lines += [
            f"  - id: {family}",
            f"    purpose: What is stated as the {family.replace('-', ' ')}.",
            "    role: first-party",
            "    mutability: immutable",
            "    expects: {type: text/x-python, contains: does not exist}",
            "    locators:",
            f"      - https: https://forge.example/{name}/{family}.py",
        ]
    return "\n".join(lines) + "\n"


def _script(topic: str, block: int) -> str:
    observations = [
        _OBSERVATION.format(
            source=family + repeated,
            shape=f'{key}="{value}"',
            name=constant.lower(),
            constant=constant,
            statement=f"What the {family.replace('-', ' ')} calls {constant.replace('_', ' ').lower()}.",
        )
        for families, repeated in ((_CONSTANTS, "@{release}"), (_SINGLE, ""))
        for family, constants in families.items()
        for constant, (key, value) in constants.items()
    ]
    return _SCRIPT.format(topic=topic, block=block, observations="\n\n".join(observations))


_OBSERVATION: Final = '''\
@audit.observation("{source}", {shape})
def {name}(source):
    """{statement}"""
    return source.python.constant("{constant}")
'''
_SCRIPT: Final = '''\
"""How much memory does the {topic} ask for in each release?"""

from site_builder.audits import Audit, choose, count, every, least, most, row, table

audit = Audit(__doc__, limits=["Nothing was run.", "The library does not exist."])


@audit.assumption(axis="cap", unit="token", reason="The caps that the table is computed for.")
def caps():
    """Token caps that the workspace is computed for."""
    return 4096, 8192, 16384, 32768, 65536


@audit.assumption(unit="head", reason="The block of heads that one call takes.")
def head_block():
    """Heads that one block takes."""
    return {block}


@audit.assumption(unit="B", reason="An FP32 number has four bytes.")
def fp32_bytes():
    """Bytes of one accumulator element."""
    return 4


@audit.assumption(unit="B", reason="A BF16 number has two bytes.")
def bf16_bytes():
    """Bytes of one output element."""
    return 2


@audit.assumption(reason="The highest release that was read.")
def newest():
    """Newest release."""
    return "1.6.1"


@audit.assumption(reason="A word for the decision.")
def affected():
    """The workspace follows the cap."""
    return "affected"


@audit.assumption(reason="A word for the decision.")
def bounded():
    """The workspace stays small."""
    return "bounded"


{observations}

@audit.result(title="Splits")
def split_count(splits):
    """Splits that the accumulators are allocated for."""
    return most(splits.values())


@audit.result(title="Accumulator bytes for each token")
def accumulator_per_token(split_count, model_heads, model_width, fp32_bytes):
    """Bytes of the accumulator that one token adds."""
    return split_count * model_heads * model_width * fp32_bytes


@audit.result(title="LSE bytes for each token")
def lse_per_token(split_count, model_heads, fp32_bytes):
    """Bytes of the log-sum-exp that one token adds."""
    return split_count * model_heads * fp32_bytes


@audit.result(title="Output bytes for each token")
def output_per_token(model_heads, model_width, bf16_bytes):
    """Bytes of the output that one token adds."""
    return model_heads * model_width * bf16_bytes


@audit.result(each="cap", title="Workspace by token cap", titles={{"cap": "Cap"}})
def workspace(cap, accumulator_per_token, lse_per_token, output_per_token):
    """What one step that fills the cap asks for."""
    accumulator = (accumulator_per_token * cap).to("GiB")
    output = (output_per_token * cap).to("GiB")
    return row(accumulator=accumulator, lse=(lse_per_token * cap).to("MiB"), output=output, sum=accumulator + output)


@audit.result(title="Deficit")
def deficit(reported_request, reported_free):
    """What the request lacked."""
    return reported_request - reported_free


@audit.result(title="Tokens of a decode step")
def decode_tokens(reported_draft, reported_sequences):
    """Tokens when every sequence decodes."""
    return ((1 + reported_draft) * reported_sequences).of("token")


@audit.result(title="Room for prefills")
def headroom(reported_cap, decode_tokens):
    """Tokens that prefills can fill."""
    return reported_cap - decode_tokens


@audit.result(title="The report, recomputed", titles={{"id": "Failure"}})
def reconciliation(workspace, reported_cap, reported_request, reported_free, deficit, headroom):
    """The request beside what the cap comes to."""
    computed = workspace.cell(reported_cap, "accumulator")
    return table(
        row("reported", requested=reported_request, computed=computed, free=reported_free, deficit=deficit, room=headroom)
    )


@audit.result(each="release", title="Mixed path")
def mixed(model_heads, head_block, min_heads):
    """Whether a release takes the mixed path."""
    return (model_heads // head_block).of("head") < min_heads


@audit.result(each="release", title="Accumulator at the default")
def default_workspace(step_tokens, accumulator_per_token):
    """What the default of a release asks for."""
    return (accumulator_per_token * step_tokens).to("GiB")


@audit.result(each="release", title="Releases", titles={{"release": "Release"}})
def releases(mixed, chunked, guarded, backend, cache_dtype, step_tokens, default_workspace, affected, bounded):
    """What each release does."""
    reachable = every(mixed, ~chunked, ~guarded)
    return row(
        backend=backend,
        dtype=cache_dtype,
        tokens=step_tokens,
        memory=default_workspace,
        guarded=guarded,
        reachable=reachable,
        decision=choose(reachable, affected, bounded),
    )


@audit.result(title="Affected releases")
def affected_releases(releases):
    """Releases on which it is reachable."""
    return count(releases.column("reachable"))


@audit.result(title="Newest decision")
def newest_decision(releases, newest):
    """What the newest release comes to."""
    return releases.cell(newest, "decision")


@audit.invariant
def report_is_reproduced(workspace, reported_cap, reported_request):
    """At the reported cap the accumulator is the reported request."""
    return workspace.cell(reported_cap, "accumulator") == reported_request


@audit.invariant
def request_exceeds_free(reported_request, reported_free):
    """The request is more than what was free."""
    return reported_request > reported_free


@audit.invariant
def every_tier_is_enough(device_tier, reported_request):
    """Every tier holds more than the request."""
    return least(device_tier.values()) > reported_request


@audit.invariant
def default_is_smaller(default_workspace, reported_request):
    """No default asks for as much as the report."""
    return most(default_workspace.values()) < reported_request


@audit.invariant
def room_is_left(headroom, reported_draft):
    """Prefills have room beside a decode step."""
    return headroom > reported_draft


@audit.invariant
def elements_agree(element_bytes, fp32_bytes):
    """The library's element is as wide as ours."""
    return most(element_bytes.values()) == fp32_bytes
'''


def _inputs(files: Mapping[str, str], name: str, stored: Bytes) -> Inputs:
    def file(path: str) -> File:
        return File(where=f"evidence/{name}/{path}", body=files[path].encode())

    audit = AuditInputs(
        name=name,
        script=file("audit.py"),
        sources=file("sources.yaml"),
        reported=file("reported.yaml"),
        decision=file("decision.yaml"),
        desk=None,
        lock=None,
        tables={path[7:-5]: file(path) for path in sorted(files) if path.startswith("tables/")},
        fixture_list=None,
        fixtures={},
        tools={},
        receipts={},
    )
    return _with(audit, stored)


def _with(audit: AuditInputs, stored: Bytes) -> Inputs:
    """The inputs of one audit alone. Who built the corpus and on what is no part of it: it stays the same on any machine."""
    nothing = File(where="content/site.yaml", body=b"")
    return Inputs(
        site=nothing,
        links=None,
        contributors=None,
        log=nothing,
        guides={},
        pages={},
        policies={},
        corrections={},
        releases=File(where="evidence/releases.yaml", body=_SHARED["evidence/releases.yaml"]),
        audits={audit.name: audit},
        templates={},
        builder=Digest.of(b"a corpus for benchmarks"),
        versions={},
        stored=lambda digest, _where: stored.get(digest),
    )


def _files(audit: AuditInputs) -> Iterator[File]:
    optional = (audit.reported, audit.decision, audit.lock)
    yield from (audit.script, audit.sources, *audit.tables.values(), *(file for file in optional if file is not None))


def _locked(inputs: Inputs, name: str, found: _Constants) -> AuditInputs:
    audit = inputs.audits[name]
    sources = verification.sources_of(inputs, audit)
    artifacts = tuple(
        Artifact(
            file=f"kernels-{key}-py3-none-any.whl",
            purl=f"pkg:pypi/kernels@{key}",
            digest=Digest.of(key.encode()),
            bytes=40_000_000,
            uploaded_at=_AT,
            verified=False,
        )
        for key in _RELEASES
    )
    lock = Lock(audit=name, artifacts=artifacts, entries=tuple(_entry(item, found.bodies[item.id]) for item in sources))
    return replace(audit, lock=File(where=f"evidence/{name}/sources.lock", body=write_lock(lock)))


def _entry(source: Source, body: bytes) -> LockEntry:
    locator = source.locators[0]
    released = isinstance(locator, ReleaseLocator)
    return LockEntry(
        id=source.id,
        standing="obtained",
        digest=Digest.of(body),
        bytes=len(body),
        integrity="record" if released else "direct",
        mutability="immutable",
        origin=locator.origin,
        artifact=locator.release.file if isinstance(locator, ReleaseLocator) else None,
        retrieved_at=_AT,
        contacted=("package index", "its file host") if released else ("forge.example",),
    )


# One guide, once for each of the two


@dataclass(frozen=True, slots=True)
class _Span:
    """A part of a sentence that is not plain: what it says, and what it points to."""

    scheme: str
    text: str
    target: str


class _Way:
    """How one of the two builders is told of a link, an exhibit and a block."""

    def link(self, span: _Span) -> str:
        """Return the Markdown of a link."""
        return f"[{span.text}]({span.scheme}{span.target})"

    def exhibit(self, caption: str, table: str) -> str:
        """Return the Markdown of an exhibit."""
        return f"![{caption}](receipt:{table})"

    def block(self, name: str, text: str) -> str:
        """Return the Markdown of a block."""
        return f"::: {name}\n{text}\n:::"


_ours = _Way()


@dataclass(frozen=True)
class _Hugo(_Way):
    audit: str

    def link(self, span: _Span) -> str:
        target = {"receipt:": f"/receipts/{self.audit}/#", "source:": f"/receipts/{self.audit}/#source:"}.get(
            span.scheme, span.scheme
        )
        return f"[{span.text}]({target}{span.target})"

    def exhibit(self, caption: str, table: str) -> str:
        return f'{{{{< exhibit "{table}" "{caption}" >}}}}'

    def block(self, name: str, text: str) -> str:
        return f'<div class="{name}">\n\n{text}\n\n</div>'


_hugo = _Hugo


def _for_hugo(cell: str, audit: str) -> str:
    return cell.replace("](receipt:", f"](/receipts/{audit}/#").replace("](source:", f"](/receipts/{audit}/#source:")


class _Text:
    """The text of one guide: headings, paragraphs of sentences, lists, code, exhibits; figures only where they are claims."""

    words = 2700  # of the templates; what is put into them makes it about 3,500 on the page

    def __init__(self, rng: random.Random, ledger: Ledger, topic: str, letters: str) -> None:
        self._rng = rng
        self._ledger = ledger
        self._urls = [(item.url, item.id) for item in ledger.receipt.body.reported if item.url]
        kinds = ("assumption", "observation", "computed")
        self._claimed = [
            (address, text)
            for address, cell in ledger.cells.items()
            if cell.standing in kinds and not cell.own_key and cell.value.known
            for text in [shown(cell.value)[: 12 if cell.value.kind == "digest" else None]]
            if figures.reads(text, cell)
        ]
        self.title = f"What the {topic} costs, report {letters}"
        self.description = f"What the {topic} asks for in each release, and how to tell."
        self._spent = 0
        self.blocks = [self._block(heading) for heading in range(len(_HEADINGS))]

    def _sentence(self) -> tuple[str | _Span, ...]:
        rng = self._rng
        template = rng.choice(_SENTENCES)
        nouns = rng.sample(_NOUNS, 4)
        plain_words = dict(zip("nmpq", nouns, strict=True)) | dict(zip("ab", rng.sample(_ADJECTIVES, 2), strict=True))
        plain_words |= {"v": rng.choice(_VERBS), "code": rng.choice(_CODE)}
        parts: list[str | _Span] = []
        for literal, name, _, _ in string.Formatter().parse(template):
            parts.append(literal)
            if name in plain_words:
                parts.append(plain_words[name])
            elif name:
                parts.append(self._span(name))
        self._spent += len(template.split())
        return tuple(parts)

    def _span(self, name: str) -> _Span:
        rng = self._rng
        if name == "claim":
            address, text = rng.choice(self._claimed)
            return _Span("receipt:", text, address)
        if name == "source":
            family = rng.choice(list(_CONSTANTS))
            return _Span("source:", f"{rng.choice(_ADJECTIVES)} {family}", f"{family}@{rng.choice(_RELEASES)}")
        if name == "report":
            return _Span("", f"{rng.choice(_NOUNS)} report", rng.choice(self._urls)[0])
        if name == "reported":
            address = rng.choice(self._urls)[1]
            return _Span("receipt:", shown(self._ledger.cells[address].value), address)
        return _Span("", "methods", "/methods/")

    def _paragraph(self, words: int) -> list[tuple[str | _Span, ...]]:
        until, sentences = self._spent + words, []
        while self._spent < until:
            sentences.append(self._sentence())
        return sentences

    def _block(self, heading: int) -> list[Any]:
        rng, share = self._rng, self.words // len(_HEADINGS)
        made: list[Any] = [("heading", _HEADINGS[heading])]
        made += [("paragraph", self._paragraph(share // 3)) for _ in range(2)]
        made += [("exhibit", table) for place, table in _EXHIBITS if place == heading]
        if heading in (6, 13):
            made.append(("list", [self._sentence() for _ in range(5)]))
        if heading in (2, 5, 9):
            code = "\n".join(f"{rng.choice(_CODE)} --{rng.choice(_ADJECTIVES)}-{rng.choice(_NOUNS)}" for _ in range(7))
            made.append(("code", code))
        if heading == 15:
            made.append(("faq", self._paragraph(share // 3)))
        else:
            made.append(("paragraph", self._paragraph(share // 3)))
        return made

    def markdown(self, way: _Way, *, front: bool = True) -> str:
        """Return the guide as one of the two builders reads it."""
        written = [self._block_text(way, kind, value) for block in self.blocks for kind, value in block]
        return (self._front() if front else "\n") + "\n\n".join(written) + "\n"

    def _front(self) -> str:
        return (
            f"---\ntitle: {self.title}\ndescription: {self.description}\nstatus: published\n"
            f'receipts: [{self._ledger.pin}]\nauthors: [team]\npublished: "2026-11-21"\n---\n\n'
        )

    def _block_text(self, way: _Way, kind: str, value: Any) -> str:
        match kind:
            case "heading":
                return f"## {value}"
            case "exhibit":
                return way.exhibit(f"The {value} of this receipt", value)
            case "code":
                return f"```text\n{value}\n```"
            case "list":
                return "\n".join(f"- {_text(way, sentence)}" for sentence in value)
            case "faq":
                return way.block("faq", "\n".join(_text(way, sentence) for sentence in value))
        return "\n".join(_text(way, sentence) for sentence in value)


def _text(way: _Way, sentence: Sequence[str | _Span]) -> str:
    return "".join(part if isinstance(part, str) else way.link(part) for part in sentence)


def main() -> None:
    """Write a corpus where the command says."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("-n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--bytes", action="store_true", help="put the sources' bytes into the store")
    asked = parser.parse_args()
    write(asked.root, asked.n, seed=asked.seed, keep_bytes=asked.bytes)


if __name__ == "__main__":
    main()
