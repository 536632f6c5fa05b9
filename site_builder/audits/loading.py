"""Loading: a script becomes the audit that it declares, once it is seen to hide nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from site_builder import boundary, scripts
from site_builder.audits.declared import MEANS_ELSE, Audit, row, table
from site_builder.errors import AuditError, EvidenceError, Problem
from site_builder.receipts import (
    ID,
)
from site_builder.values import (
    choose,
    count,
    every,
    holds,
    least,
    most,
    some,
    total,
)

_WORDS: Final[Mapping[str, Any]] = MappingProxyType(
    {word.__name__: word for word in (choose, count, every, holds, least, most, row, some, table, total)}
)
"""What a result or an invariant may say beside arithmetic."""


def load(body: bytes, where: str, audited: frozenset[str]) -> Audit:
    """Return the audit that a script declares, once its results and invariants are seen to use nothing but what they name.

    Raises:
        AuditError: the script can't be read, declares no audit, or hides an input in a literal or a global name.
    """
    script = scripts.read(body, where)
    _load_readers()
    namespace: dict[str, Any] = {
        "__name__": "audit",
        "__doc__": script.docstring,
        "__builtins__": scripts.surroundings(),
    }
    try:
        with boundary.within(audited):
            exec(script.code, namespace)  # noqa: S102 - an audit is a script of this repository, reviewed like its code
    except boundary.BoundaryCrossed as crossed:
        raise crossing(where, crossed) from None
    except (EvidenceError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a script raises is its author's to mend
        line = raised_at(error, where)
        raise AuditError.at(
            f"{where}:{line}", f"the script does not load: {type(error).__name__}: {error}", "Mend the script."
        ) from None
    audit = namespace.get("audit")
    if type(audit) is not Audit:
        raise AuditError.at(where, "expected a module-level `audit = Audit(__doc__)`, found none", "Declare the audit.")
    computing = {
        entry.name: entry.function for entry in audit.entries.values() if entry.kind in ("result", "invariant")
    }
    made = scripts.computing(script, {**computing, **audit.rules}, audit.rules, _WORDS)
    audit = audit.with_computing(made)
    if problems := tuple(_misnamed(audit, where)):
        raise AuditError(*problems)
    return audit


def _load_readers() -> None:
    """Load the parsers before the boundary closes: they are native libraries, and an audit may load none."""
    from site_builder.readers import machine, python, structured, text, tree  # noqa: F401


def crossing(where: str, crossed: boundary.BoundaryCrossed) -> AuditError:
    """Return the error of an audit that did what its boundary refuses."""
    return AuditError(
        Problem(
            where=f"{where}:{raised_at(crossed, where)}",
            problem=f"expected an audit that only reads its snapshots, found that it {crossed.what}",
            remedy="Cite the bytes as a source and let `fetch` obtain them.",
        )
    )


def raised_at(error: BaseException, where: str) -> int:
    """Return the script's line in which something was raised; its first where none of its lines had a part in it."""
    line, step = 1, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == where:
            line = step.tb_lineno
        step = step.tb_next
    return line


def _misnamed(audit: Audit, where: str) -> Iterator[Problem]:
    for entry in audit.entries.values():
        if not ID.fullmatch(entry.id) or entry.id in MEANS_ELSE:
            yield Problem(
                where=f"{where}:{entry.line}",
                problem=f"expected a name that is no unit and not `counts`, found {entry.name}",
                remedy="Rename it.",
            )
