"""Verdicts carried over from one build to the next: they can only save time, and damaged they are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from site_builder import strict
from site_builder.values import Digest


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """Verdicts of earlier builds, each with the digest of all its inputs."""

    units: Mapping[str, tuple[str, JsonValue]]

    def verdict(self, unit: str, inputs: str) -> JsonValue | None:
        """Return the verdict on a unit whose inputs are byte-identical, or nothing."""
        digest, verdict = self.units.get(unit, ("", None))
        return verdict if digest == inputs else None

    @classmethod
    def read(cls, body: bytes) -> Carried:
        """Return what the bytes hold, nothing where they are not exactly what was written."""
        head, _, rest = body.partition(b"\n")
        if head != Digest.of(rest).encode():
            return cls(units={})
        try:
            value = strict.load_json(rest, ".build/carried.json")
            return cls(units={unit: (entry["inputs"], entry["verdict"]) for unit, entry in value.items()})
        except (strict.LoadError, AttributeError, KeyError, TypeError):
            return cls(units={})

    def written(self) -> bytes:
        """Return the bytes to keep: their own digest, then the units."""
        body = strict.dump_json(
            {unit: {"inputs": inputs, "verdict": verdict} for unit, (inputs, verdict) in sorted(self.units.items())}
        )
        return Digest.of(body).encode() + b"\n" + body
