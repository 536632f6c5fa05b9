"""Trees: names resolved across the Python files of one artifact, by parser; nothing is imported or run.

A tree asks for its files one by one. `exists` says what the artifact holds (from a wheel's RECORD), `members` gives what
is at hand. A question that needs more ends in `MissingError` with the paths: fetch them, ask again, and when the answer
is there, `Tree.used` is the closure to lock. What is outside of the artifact is `External`, not unknown.

Every answer has a trail, whose hops say path, lines and the digest of these lines. It holds given that the imports on
its way succeed; a `raise` that the world leaves at the top of a module on the way is `RaisesError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from site_builder.readers import Hop, MissingError, NotOneError, ReadingError, python
from site_builder.readers.tree.classes import Attribute, Class, Decorator, Found, Function, _made
from site_builder.readers.tree.files import Files
from site_builder.readers.tree.names import External, Names, RaisesError, World

__all__ = [
    "Attribute",
    "Class",
    "Decorator",
    "External",
    "Found",
    "Function",
    "Hop",
    "MissingError",
    "RaisesError",
    "Tree",
    "World",
]

_TARGET = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)")


class Tree:
    """The Python files of one artifact."""

    def __init__(self, members: Callable[[str], bytes | None], exists: Callable[[str], bool]) -> None:
        self._files = Files(members, exists)
        self._modules: dict[str, python.Module] = {}

    def resolve(self, target: str, world: World) -> Found:
        """Return what `package.module:Name` is in a world: the class or function, or the name that leaves the artifact.

        Raises:
            NotOneError: the world leaves no binding of the name, or the artifact has no such module.
            UnknownError: the bytes and the world do not decide.
            RaisesError: importing a module on the way raises in this world.
            MissingError: files that are needed were not fetched.
        """
        match = _TARGET.fullmatch(target)
        if match is None:
            raise ReadingError(f"expected package.module:Name, found {target!r}")
        module, name = match.groups()
        path = self._files.path_of(module)
        if path is None:
            raise NotOneError(f"module {module} in the artifact", [])
        names = Names(self._files, world)
        return _made(names, names.in_module(module, name, ()), path)

    def module(self, path: str) -> python.Module:
        """Return one file of the artifact, to put `python`'s questions to; it counts as used.

        Raises:
            NotOneError: the artifact has no such file.
            UnknownError: it does not parse.
            MissingError: it was not fetched.
        """
        if not self._files.exists(path):
            raise NotOneError(f"file {path} in the artifact", [])
        if path not in self._modules:
            self._modules[path] = python.read(self._files.file(path).body, path)
        return self._modules[path]

    def exists(self, path: str) -> bool:
        """Tell whether the artifact has a file."""
        return self._files.exists(path)

    @property
    def used(self) -> tuple[str, ...]:
        """The paths of all files that answers so far were read from, sorted."""
        return tuple(sorted(self._files.given))

    @contextmanager
    def at_hand(self) -> Iterator[None]:
        """Hold whoever asks to files that are at hand.

        Raises:
            MissingError: a file was asked for that is not, even where that was swallowed.
        """
        before = len(self._files.missed)
        try:
            yield
        except Exception:
            self._refuse_missed(before)
            raise
        self._refuse_missed(before)

    def _refuse_missed(self, before: int) -> None:
        if missed := self._files.missed[before:]:
            raise MissingError(missed) from None
