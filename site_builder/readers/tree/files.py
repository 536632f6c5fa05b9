"""Files: the Python files of an artifact, parsed, and the steps of a trail that stand in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tree_sitter import Node

from site_builder.readers import Hop, MissingError, Plain, UnknownError, digest_of, lines_region, syntax
from site_builder.readers.conditions import Condition


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """One Python file of an artifact, parsed."""

    path: str
    body: bytes
    root: Node
    _found: dict[str, list[Node]] = field(default_factory=dict)

    def every(self, node_type: str) -> list[Node]:
        """Return all nodes of a type in the file; looked for once."""
        if node_type not in self._found:
            self._found[node_type] = syntax.of_type(self.root, node_type)
        return self._found[node_type]

    @property
    def module(self) -> str:
        """Its name as a module."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def is_package(self) -> bool:
        """Whether relative imports count from it, and not from its parent."""
        return self.path.endswith("__init__.py")

    def source(self, node: Node) -> str:
        """Return the normalised source of a node."""
        return syntax.source(node, self.body)

    def qualified(self, node: Node) -> str:
        """Return the name of a definition with those around it."""
        around = [step for step in syntax.path_to(self.root, node) if step.type in (syntax.CLASS, syntax.FUNCTION)]
        return ".".join(syntax.name_of(syntax.field_of(step, "name"), self.body) for step in around)

    def hop(self, step: str, value: Plain, first: int, last: int) -> Hop:
        """Return a step of a trail that stands in these lines, counted from one."""
        at: dict[str, str | int] = {"path": self.path, "line": first, "lastLine": last}
        return Hop(step=step, value=value, at=at, region=digest_of(lines_region(self.body, first, last)))

    def hop_at(self, step: str, value: Plain, node: Node) -> Hop:
        """Return a step that stands in the lines of a node; a definition's are its decorators and its header."""
        first, last = node.start_point.row, node.end_point.row
        if node.type in (syntax.CLASS, syntax.FUNCTION):
            last = next(child for child in reversed(node.children) if child.type == ":").start_point.row
            if node.parent is not None and node.parent.type == "decorated_definition":
                first = node.parent.start_point.row
        return self.hop(step, value, first + 1, last + 1)

    def branches(self, conditions: Sequence[Condition]) -> tuple[Hop, ...]:
        """Return the conditions as steps of a trail."""
        return tuple(self.hop("branch", str(one), one.row + 1, one.row + 1) for one in conditions)

    def bindings(self, scope: Node, name: str) -> list[tuple[Node, list[Node]]]:
        """Return the nodes that bind a name in a scope, or a dotted target, each with its path from the scope."""
        if "." in name:
            nodes = [node for node in syntax.of_type(scope, "attribute") if self.source(node) == name]
        else:
            nodes = syntax.named(scope, name, self.body)
        found = [(node, syntax.path_to(scope, node)) for node in nodes]
        return [(node, path) for node, path in found if syntax.binds(path)]

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Say which file it was that could not answer."""
        try:
            yield
        except UnknownError as error:
            raise UnknownError(f"{self.path}: {error.problem}") from None


class Files:
    """The Python files of an artifact, each asked for, parsed and remembered once."""

    def __init__(self, members: Callable[[str], bytes | None], exists: Callable[[str], bool]) -> None:
        self._members = members
        self.exists = exists
        self.read: dict[str, File] = {}
        self.given: set[str] = set()
        """The paths of those whose bytes were given, whether or not they parse: an answer rests on that, too."""
        self.missed: list[str] = []
        """The paths of those that were asked for and are not at hand, as often as they were."""

    def path_of(self, module: str) -> str | None:
        """Return the file of a module, or None if the artifact has none."""
        stem = module.replace(".", "/")
        return next((path for path in (f"{stem}/__init__.py", f"{stem}.py") if self.exists(path)), None)

    def is_outside(self, module: str) -> bool:
        """Tell that neither a module nor the package at its head is in the artifact."""
        return self.path_of(module) is None and self.path_of(module.partition(".")[0]) is None

    def file(self, path: str) -> File:
        """Return a file that the artifact has.

        Raises:
            MissingError: its bytes are not at hand.
            UnknownError: it does not parse.
        """
        if path not in self.read:
            body = self._members(path)
            if body is None:
                self.missed.append(path)
                raise MissingError([path])
            self.given.add(path)
            problem = syntax.unreadable(body)
            root = syntax.parse(b"" if problem else body)
            problem = problem or syntax.broken(root)
            if problem:
                raise UnknownError(f"{path}: {problem}")
            self.read[path] = File(path, body, root)
        return self.read[path]
