"""Small receipts for tests: one of each kind of value, as bytes would hold them."""

from __future__ import annotations

from typing import Any

from site_builder.receipts import Ledger, Receipt

COMMIT = "a8f794d1c0ffee0123456789abcdef0123456789"
DIGEST = "sha256:" + "5e" * 32
ISSUE = "https://example.org/engine/issues/53413"


def _source(name: str, digest: str, origin: str, size: int) -> dict[str, Any]:
    return {
        "id": name,
        "purpose": "What is read.",
        "role": "upstream",
        "mutability": "immutable",
        "standing": "obtained",
        "integrity": "record",
        "digest": digest,
        "bytes": size,
        "origin": origin,
        "retrievedAt": "2026-11-30T10:00:00Z",
    }


def body() -> dict[str, Any]:
    """Return the body of a receipt with every kind of value."""
    return {
        "question": "How large is it?",
        "artifacts": [],
        "sources": [
            _source("kernel@1.28.0", DIGEST, "pkg:pypi/engine@1.28.0?file_name=engine-1.28.0.whl#a/kernel.py", 34530),
            _source("tree", "sha256:" + "7f" * 32, f"https://example.org/engine/blob/{COMMIT}/kernel.cu", 910),
        ],
        "reported": [
            {
                "id": "reportedRequest",
                "value": "8",
                "unit": "GiB",
                "by": "engine/engine#53413",
                "url": ISSUE,
                "how": "In the issue.",
                "statement": "What was asked for.",
            }
        ],
        "assumptions": [
            {"id": "splits", "value": "2", "unit": "1", "statement": "Parts.", "reason": "One each."},
            {"id": "day", "value": "2026-08-26", "kind": "date", "statement": "Then.", "reason": "It was."},
        ],
        "observations": [
            _observed("minHeads@1.28.0", "32", unit="head"),
            _observed("buffer", "8.2822", unit="MiB"),
            _observed("version", "1.28.0", kind="version"),
            _observed("pin", COMMIT, kind="digest"),
            _observed("modes", ["FP8", "BF16"], kind="words"),
            _observed("heads", "unknown", unit="head"),
            _observed("reachable", "no", kind="truth", phrases={"no": ["not reachable", "out of reach"]}),
        ],
        "absences": [],
        "fixtures": [{"id": "log", "statement": "Ours.", "digest": DIGEST, "bytes": 12}],
        "results": [
            {
                "id": "workspace",
                "kind": "table",
                "class": "computed",
                "title": "Workspace",
                "statement": "By cap.",
                "needs": ["splits"],
                "columns": [
                    {"id": "cap", "title": "Cap", "unit": "token"},
                    {"id": "size", "title": "Size", "unit": "GiB", "expression": ["mul", "splits", "cap", "GiB"]},
                ],
                "rows": [
                    {"id": "4096", "cap": "4096", "size": "1"},
                    {"id": "32768", "cap": "32768", "size": "8"},
                ],
            },
            {
                "id": "signals",
                "kind": "table",
                "class": "editorial",
                "title": "Signals",
                "statement": "What to look for.",
                "columns": [
                    {"id": "signal", "title": "Signal", "kind": "text"},
                    {"id": "meaning", "title": "Meaning", "kind": "text"},
                ],
                "rows": [
                    {"id": "size", "signal": "Size", "meaning": "It asks for [8 GiB](receipt:reportedRequest)."},
                    {"id": "path", "signal": "Path", "meaning": "Below [32 heads](receipt:minHeads@1.28.0)."},
                ],
            },
        ],
        "invariants": [],
        "boundary": {},
        "decision": {"state": "hold", "statement": "Wait.", "subjects": [], "conditions": [], "reopen": []},
        "limits": [],
    }


def _observed(name: str, value: Any, **shape: Any) -> dict[str, Any]:
    return {"id": name, "value": value, "source": "kernel@1.28.0", "statement": "As read.", **shape}


def ledger(
    audit: str = "oom",
    version: int | str = 3,
    changed: dict[str, Any] | None = None,
    issued: dict[str, Any] | None = None,
) -> Ledger:
    """Return the receipt of an audit, opened, with some parts of its body and of how it was issued changed."""
    made: dict[str, Any] = {
        "version": version,
        "asOf": "2026-11-30T10:00:00Z",
        "operationId": "x",
        "predecessor": "none",
        "builder": "x",
        "parsers": {},
        "overlap": "none",
        "intake": "none",
        "searchBudget": "none",
        "review": "none",
        **(issued or {}),
    }
    receipt = Receipt.model_validate({"audit": audit, "body": {**body(), **(changed or {})}, "issued": made})
    return Ledger(receipt=receipt, digest=DIGEST)
