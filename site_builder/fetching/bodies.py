"""Bodies: whether what came back is the source at all, or a login page, a shell, a pointer to the file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from site_builder.sources import Source

_BEGINNING = 1024
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_POINTER = re.compile(
    rb"version https://git-lfs[^\n]*\n(?:[a-z0-9.-]+ [^\n]*\n)*?oid sha256:([0-9a-f]{64})\n"
    rb"(?:[a-z0-9.-]+ [^\n]*\n)*?size ([0-9]+)\n?"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a body is not the source. Code 1: whoever keeps the sources must act; 3: another time may do."""

    problem: str
    remedy: str
    exit_code: int
    hollow: bool
    """Whether it is no answer to what was asked, rather than an answer that lacks something."""


def refusal(source: Source, body: bytes, media_type: str) -> Refusal | None:
    """Return why the body can't be this source, or None if nothing speaks against it."""
    expects = source.expects
    kind = expects.type.lower()
    if not body.strip():
        return Refusal(
            "expected a body, found an empty one", "Fetch again; if it stays, name another address.", 3, hollow=True
        )
    if pointer := _POINTER.fullmatch(body[: _BEGINNING + 1]):
        oid, size = pointer.group(1).decode(), pointer.group(2).decode()
        return Refusal(
            f"expected the file, found a Git LFS pointer to it (sha256:{oid}, {size} bytes)",
            "Name an address that serves the file itself; its bytes must have that digest.",
            1,
            hollow=True,
        )
    if "html" not in kind and (media_type in ("text/html", "application/xhtml+xml") or _HTML.match(body[:_BEGINNING])):
        return Refusal(
            f"expected {expects.type}, found an HTML page",
            "Open the address in a browser: it may want a login, or the file may have moved.",
            3,
            hollow=True,
        )
    if "json" in kind and not _is_json(body):
        return Refusal(
            f"expected {expects.type}, found a text that is not JSON",
            "Fetch again, or correct the type.",
            3,
            hollow=True,
        )
    if expects.bytes is not None and len(body) != expects.bytes:
        return Refusal(
            f"expected {expects.bytes} bytes, found {len(body)}",
            "Correct the size, or name the file that is meant.",
            1,
            hollow=False,
        )
    if expects.contains.encode() not in body:
        return Refusal(
            f"expected a body that contains {expects.contains!r}, found none of it in {len(body)} bytes",
            "Correct `contains`, or name the file that is meant.",
            1,
            hollow=False,
        )
    return None


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
