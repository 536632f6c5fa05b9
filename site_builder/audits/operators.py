"""Operators: the tools that an audit offers, run in-process on fixtures of its own making.

A tool is one file of the standard library alone. It is loaded from its bytes, inside the audit's boundary, and under no
name that anything could import.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from site_builder.strict import LoadError, load_json
from site_builder.values import ValueRefused


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolFile:
    """A file below `tools/`."""

    name: str
    body: bytes
    where: str

    @property
    def stem(self) -> str:
        """The name that an audit calls it by."""
        return self.name.removesuffix(".py")

    @property
    def statement(self) -> str:
        """What it says of itself: the first line of a script's docstring, the description of a schema."""
        if self.name.endswith(".py"):
            try:
                said: object = ast.get_docstring(ast.parse(self.body))
            except (SyntaxError, ValueError) as error:
                raise ValueRefused(f"{self.where}: expected Python, found {error}") from None
        else:
            try:
                found = load_json(self.body, self.where)
            except LoadError as error:
                raise ValueRefused(f"{self.where}:{error.line}: {error.problem}") from None
            said = found.get("description", "") if isinstance(found, dict) else ""
        if not isinstance(said, str) or not said.strip():
            raise ValueRefused(f"{self.where}: expected a docstring or a description, which is published, found none")
        return said.strip().split("\n", 1)[0]

    def load(self) -> ModuleType:
        """Return the tool's names, as its code makes them when it is not run as a program."""
        module = ModuleType(f"tool {self.stem}")
        module.__file__ = self.where
        with _registered(module):
            exec(compile(self.body, self.where, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - see above
        return module


@contextmanager
def _registered(module: ModuleType) -> Iterator[None]:
    """Let the module be found while its classes are made, and leave no trace: no name, no compiled file."""
    written = sys.dont_write_bytecode
    sys.modules[module.__name__], sys.dont_write_bytecode = module, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = written
        del sys.modules[module.__name__]


@dataclass(frozen=True, kw_only=True, slots=True)
class FixtureFile:
    """A file below `fixtures/`, and what it is for."""

    path: str
    statement: str
    body: bytes


def folders(folder: str, axis: str | None, fixtures: Sequence[FixtureFile]) -> Mapping[str, Mapping[str, FixtureFile]]:
    """Return the fixtures that a trial is put to, by their names in a folder: those of the folder itself, under the empty
    key, or with an axis those of each folder in it, under its name.

    Raises:
        ValueRefused: there are none, or one lies deeper.
    """
    found: dict[str, dict[str, FixtureFile]] = {}
    for fixture in fixtures:
        if fixture.path.startswith(f"{folder}/"):
            key, _, name = fixture.path.removeprefix(f"{folder}/").rpartition("/")
            if bool(key) != bool(axis) or "/" in key:
                raise ValueRefused(f"expected {folder}/{f'<{axis}>/' if axis else ''}<file>, found {fixture.path}")
            found.setdefault(key, {})[name] = fixture
    if not found:
        raise ValueRefused(f"expected fixtures below {folder}/, found none")
    return found
