"""Units carried over from one build to the next, as a file: damaged, it holds none."""

from __future__ import annotations

import json
from collections.abc import Mapping

from site_builder.units import Filed, Unit
from site_builder.values import Digest


def written(units: Mapping[str, Unit]) -> bytes:
    """Return the bytes to keep: their own digest, then the units."""
    found = {
        name: {
            "key": unit.key,
            "on": unit.on,
            "files": {path: [filed.bytes, filed.digest] for path, filed in unit.files.items()},
            "said": unit.said,
        }
        for name, unit in units.items()
    }
    # Nobody but the next build reads this, and all that it holds came through strict readers: no need for ours.
    body = json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()
    return Digest.of(body).encode() + b"\n" + body


def read(body: bytes) -> Mapping[str, Unit]:
    """Return the units that the bytes hold, none where they are not exactly what was written."""
    head, _, rest = body.partition(b"\n")
    if head != Digest.of(rest).encode():
        return {}
    try:
        return {name: _unit(entry) for name, entry in json.loads(rest).items()}
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return {}


def _unit(entry: Mapping[str, object]) -> Unit:
    key, on, files, said = entry["key"], entry["on"], entry["files"], entry["said"]
    if not (isinstance(on, list) and isinstance(files, dict) and isinstance(said, dict)):
        raise TypeError
    return Unit(
        key=str(key),
        on=tuple(map(str, on)),
        files={str(path): Filed(bytes=int(size), digest=str(digest)) for path, (size, digest) in files.items()},
        said=said,
    )
