"""Records: what arrives as JSON or YAML, validated once into frozen models; `file:line` for everything that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from site_builder import strict
from site_builder.errors import EvidenceError, Problem

Lines = Mapping[tuple[str | int, ...], int]
"""The line of each key and item of a file, by its path."""


class Record(BaseModel):
    """A frozen record that forbids keys it does not know, lowerCamelCase outside and snake_case inside."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


_Read = TypeVar("_Read", bound=BaseModel)


def loaded(body: bytes, where: str, form: Literal["json", "yaml"], error: type[EvidenceError]) -> tuple[Any, Lines]:
    """Return the file's value and the line of each of its keys.

    Raises:
        EvidenceError: of the given leaf; the file is not strict JSON or YAML.
    """
    try:
        return strict.load_json_lines(body, where) if form == "json" else strict.load_yaml_lines(body, where)
    except strict.LoadError as problem:
        raise error.at(f"{where}:{problem.line}", problem.problem, problem.remedy) from None


def validated(value: Any, lines: Lines, where: str, model: type[_Read], error: type[EvidenceError]) -> _Read:
    """Return the record that a loaded value is.

    Raises:
        EvidenceError: of the given leaf, with one problem per place.
    """
    try:
        return model.model_validate(value)
    except ValidationError as found:
        raise error(*_problems(found, lines, where)) from None


def read(
    body: bytes, where: str, form: Literal["json", "yaml"], model: type[_Read], error: type[EvidenceError]
) -> _Read:
    """Return the record that a file is.

    Raises:
        EvidenceError: of the given leaf.
    """
    if form == "json":
        # The fast reader first, which knows no lines: a receipt has thousands, and a sound one needs none of them.
        with suppress(strict.LoadError, ValidationError):
            return model.model_validate(strict.load_json(body, where))
    value, lines = loaded(body, where, form, error)
    return validated(value, lines, where, model, error)


def _problems(found: ValidationError, lines: Lines, where: str) -> Iterator[Problem]:
    """One problem per place, named by the keys that lead there: which form of a union was meant is no key."""
    seen: set[tuple[str | int, ...]] = set()
    details = found.errors(include_url=False)
    for detail in details:
        inner = (other["loc"] for other in details if len(other["loc"]) > len(detail["loc"]))
        if detail["type"] == "too_short" and any(loc[: len(detail["loc"])] == detail["loc"] for loc in inner):
            continue  # only what is wrong with its items left it without any
        at: tuple[str | int, ...] = ()
        for part in detail["loc"]:
            at = (*at, part) if (*at, part) in lines else at
        if at in seen:
            continue
        seen.add(at)
        lacking = detail["loc"][-1:] if detail["type"] == "missing" else ()
        name = ".".join(str(part) for part in (*at, *lacking))
        said = {"extra_forbidden": "expected a known key, found this one", "missing": "expected it, found nothing"}.get(
            detail["type"], detail["msg"].removeprefix("Value error, ")
        )
        yield Problem(
            where=f"{where}:{lines.get(at, 1)}",
            problem=f"{name}: {said}" if name else said,
            remedy="Write what the file's schema asks for here.",
        )
