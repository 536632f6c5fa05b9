"""Operators: the tools that an audit offers, run in-process on fixtures of its own making.

A tool is one file of the standard library alone. It is loaded from its bytes, inside the audit's boundary, and under no
name that anything could import.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from site_builder.audits.loading import raised_at
from site_builder.boundary import BoundaryCrossed
from site_builder.errors import AuditError, EvidenceError
from site_builder.strict import LoadError, load_json
from site_builder.values import ValueRefused

_MEND = "Mend the tool."
_ELSEWHERE = frozenset({"_thread", "asyncio", "concurrent", "multiprocessing", "threading"})
"""What brings work to other threads, which not every Python says as it happens."""


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
        """What it says of itself: the first line of a script's docstring, the description of a schema.

        Raises:
            AuditError: it says nothing, or can't be read.
        """
        if self.name.endswith(".py"):
            said: object = ast.get_docstring(self._parsed())
        else:
            try:
                found = load_json(self.body, self.where)
            except LoadError as error:
                raise AuditError.at(f"{self.where}:{error.line}", error.problem, error.remedy) from None
            said = found.get("description", "") if isinstance(found, dict) else ""
        if not isinstance(said, str) or not said.strip():
            raise AuditError.at(
                f"{self.where}:1",
                "expected a docstring or a description, which is published, found none",
                "Say in one line what the tool is for.",
            )
        return said.strip().split("\n", 1)[0].rstrip()

    def _parsed(self) -> ast.Module:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self.body, self.where)
        except SyntaxError as error:
            raise AuditError.at(
                f"{self.where}:{error.lineno or 1}", f"expected Python, found {error.msg}", _MEND
            ) from None
        except (ValueError, MemoryError, RecursionError) as error:
            said = str(error) or "too deep a nesting"
            raise AuditError.at(f"{self.where}:1", f"expected Python, found {said}", _MEND) from None

    def load(self) -> ModuleType:
        """Return the tool's names, as its code makes them when it is not run as a program.

        Raises:
            AuditError: its code can't be read, raises, or would do its work elsewhere.
        """
        module = ModuleType(f"tool {self.stem}")
        module.__file__ = self.where
        parsed = self._parsed()
        for line, name in _imported(parsed):
            if name in _ELSEWHERE:
                raise AuditError.at(
                    f"{self.where}:{line}",
                    f"expected a tool that works in one thread, found that it imports {name}",
                    "The boundary holds in the thread that runs the audit: do it there.",
                )
        code = compile(parsed, self.where, "exec", dont_inherit=True)
        with self.answering(), _registered(module):
            exec(code, module.__dict__)  # noqa: S102 - a tool is a script of this repository, reviewed like its code
        return module

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Say in which of its lines the tool raised, whatever it was.

        Raises:
            AuditError: it raised, or did something to what this process has loaded.
        """
        try:
            with _as_it_was(self.where):
                yield
        except (EvidenceError, BoundaryCrossed, KeyboardInterrupt):
            raise
        except BaseException as error:
            line = raised_at(error, self.where)
            if line == 1:
                raise  # none of its lines had a part in it
            raise AuditError.at(f"{self.where}:{line}", f"{type(error).__name__}: {error}", _MEND) from None


def _imported(parsed: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, _name(alias.name)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, _name(str(node.module))


@contextmanager
def _registered(module: ModuleType) -> Iterator[None]:
    """Let the module be found while its classes are made, and leave no trace: no name, no compiled file."""
    written = sys.dont_write_bytecode
    sys.modules[module.__name__], sys.dont_write_bytecode = module, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = written
        sys.modules.pop(module.__name__, None)


@contextmanager
def _as_it_was(where: str) -> Iterator[None]:
    """Refuse a tool that puts other modules in place of those that are loaded: everything here would run on them."""
    before = dict(sys.modules)
    try:
        yield
    finally:
        # What it loads of Python's own library may stay: it is what anybody would load.
        mine = {
            name: module
            for name, module in sys.modules.items()
            if name not in before
            and (_name(name) not in sys.stdlib_module_names or not getattr(module, "__spec__", None))
        }
        other = [name for name, module in before.items() if sys.modules.get(name) is not module]
        for name in mine:
            del sys.modules[name]
        sys.modules.update({name: before[name] for name in other})
        if changed := sorted({*other, *mine}):
            raise AuditError.at(
                where, f"expected loaded modules to stay as they are, found {changed[0]} changed", _MEND
            )


def _name(module: str) -> str:
    return module.partition(".")[0]


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
    if axis and not folder.endswith(f"/{{{axis}}}"):
        raise ValueRefused(f"expected a folder, or <folder>/{{{axis}}} for each folder in it, found {folder}")
    folder = folder.removesuffix(f"/{{{axis}}}")
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
