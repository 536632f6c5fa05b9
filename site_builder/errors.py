"""Errors: everything that can be wrong, as one tree, split by who must act.

Errors carry data and do nothing: where it is, what was expected and found, what to do. Printing them, counting them and
ending the process is `build.py`'s work.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

_SHOWN_AT_MOST = 400


def printable(text: str, at_most: int = _SHOWN_AT_MOST) -> str:
    """Return the text on one line, safe for a terminal and a CI log: what a reader can't see is shown as an escape.

    Control, format and bidirectional characters would let an upstream text move the cursor, hide or forge a message.
    """
    shown = "".join(_escaped(character) for character in text[: at_most + 1])
    return shown if len(text) <= at_most else shown[:at_most] + "…"


def _escaped(character: str) -> str:
    if unicodedata.category(character)[0] == "C" or character in "\u2028\u2029":
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
    return character


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong: where, what was expected and found, and the remedy."""

    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{printable(self.where)}: {printable(self.problem)}\n    {printable(self.remedy)}"


class EvidenceError(Exception):
    """Something is wrong with what is published or about to be. Leaves differ in who must act."""

    exit_code: ClassVar[int] = 1

    def __init__(self, *problems: Problem) -> None:
        if not problems:
            raise ValueError("an error without a problem")
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    @classmethod
    def at(cls, where: str, problem: str, remedy: str) -> EvidenceError:
        """Return the error that carries this one problem."""
        return cls(Problem(where=where, problem=problem, remedy=remedy))


class SourceError(EvidenceError):
    """A source, its lock or its bytes are not what they are said to be: whoever keeps the sources must act."""


class AuditError(EvidenceError):
    """An audit can't be run or does not hold: its author must act."""


class ReceiptError(EvidenceError):
    """A receipt, a draft or the publication log is not what was written: whoever publishes must act."""


class GuideError(EvidenceError):
    """A guide, a page or the site's content does not stand on its receipts: the editor must act."""


class UsageError(EvidenceError):
    """The command was asked for something that does not exist: whoever typed it must act."""

    exit_code = 2


class UnreachableError(EvidenceError):
    """It could not be told, because the network did not answer: try again later."""

    exit_code = 3


class MovedError(EvidenceError):
    """An upstream moved: a person must decide what it means."""

    exit_code = 4


_SEVERITY = (1, 4, 3, 0)
"""Which exit code wins when several apply, worst first."""


def worst(codes: Iterable[int]) -> int:
    """Return the exit code that decides: something wrong, then a person is needed, then it could not be told."""
    found = set(codes)
    if 2 in found:
        return 2
    return next((code for code in _SEVERITY if code in found), 0)
