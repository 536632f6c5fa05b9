"""Names: what a name in one file of an artifact means in a world, followed through imports to where it is defined.

In a scope the last live binding wins: of the places that bind a name, those that the world rules out are left out, and
one that it leaves open makes the answer unknown. What stands at the top of a module, in a class body or above a class
is taken as it is at that line; what stands in a function, as the module ends up. What a class is made of is `classes`'.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from tree_sitter import Node

from site_builder.readers import Hop, NotOneError, Plain, ReadingError, UnknownError, python, syntax
from site_builder.readers.conditions import Condition, Facts, conditions_of, possible
from site_builder.readers.tree.files import File, Files

_HOPS_AT_MOST = 60
"""Imports in a circle have no end; the longest way met has nine hops."""

_BUILTINS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        object type int float complex bool str bytes bytearray memoryview list tuple dict set frozenset
        range slice property staticmethod classmethod super enumerate zip map filter reversed len isinstance
        issubclass getattr hasattr BaseException Exception ArithmeticError AssertionError AttributeError
        BufferError EOFError FileExistsError FileNotFoundError ImportError IndexError InterruptedError
        IOError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError
        NotImplementedError OSError OverflowError PermissionError RecursionError RuntimeError
        StopAsyncIteration StopIteration SyntaxError SystemError SystemExit TimeoutError TypeError
        UnicodeDecodeError UnicodeEncodeError UnicodeError ValueError ZeroDivisionError ConnectionError
        Warning DeprecationWarning FutureWarning RuntimeWarning UserWarning BaseExceptionGroup
        ExceptionGroup
        """,
    )
)
"""Those that a class may rest on or be made by; written out, since the Python that runs this may have others."""


@dataclass(frozen=True, slots=True)
class World:
    """A platform by its name, and what holds on it, by source text: `{"current_platform.is_cuda()": True}`.

    `TYPE_CHECKING` is false and `__name__` is the module's in every world. That a `try` body ran through is a fact like
    others: `{"except ImportError": False}`.
    """

    name: str
    facts: Facts


class RaisesError(ReadingError):
    """In this world, importing a module on the way raises: `trail` ends with the conditions and the `raise`."""

    def __init__(self, world: World, trail: tuple[Hop, ...]) -> None:
        self.trail = trail
        super().__init__(f"{trail[-1].path}: line {trail[-1].at['line']} raises in the world {world.name}")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class External:
    """What is defined outside of the artifact, by its dotted name as it is imported."""

    name: str
    trail: tuple[Hop, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Submodule:
    """A module of the artifact."""

    name: str
    trail: tuple[Hop, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A class or a function where it is written."""

    file: File
    node: Node
    trail: tuple[Hop, ...]

    @property
    def name(self) -> str:
        """The module that defines it, and its name there: `package.module:Outer.Inner`."""
        return f"{self.file.module}:{self.file.qualified(self.node)}"


Meaning: TypeAlias = External | Submodule | Definition


@dataclass(frozen=True, slots=True)
class Live:
    """The binding of a name that a world leaves: its node, the path to it, and what it stands under."""

    node: Node
    path: list[Node]
    conditions: list[Condition]


class Names:
    """What names mean in one world."""

    def __init__(self, files: Files, world: World) -> None:
        self.files = files
        self.world = world
        self._facts: dict[str, Facts] = {}
        self._imports: set[str] = set()

    # Modules

    def in_module(self, module: str, name: str, trail: tuple[Hop, ...]) -> Meaning:
        """Return what `from module import name` gives."""
        path = self.files.path_of(module)
        below = f"{module}.{name}"
        if path is None:
            if self.files.is_outside(module):
                return External(name=below, trail=trail)
            if self.files.path_of(below):
                return Submodule(below, trail)  # `module` is a namespace: a folder alone.
            raise UnknownError(f"the artifact has no Python source of the module {module}")
        file = self.files.file(path)
        self._refuse_raise(file, trail)
        has_below = file.is_package and self.files.path_of(below) is not None
        found = self._bound(file, file.root, name, None, trail)
        if found is not None:
            if has_below and not _loads(found.trail[len(trail) :], below):
                raise UnknownError(f"{path}: {name} is bound, and may be the module {below} instead")
            return found
        dynamic = file.bindings(file.root, "__getattr__")
        if dynamic:
            line = dynamic[0][0].start_point.row + 1
            raise UnknownError(f"{path}: {name} is bound nowhere; the module's __getattr__ in line {line} may give it")
        if has_below:
            return Submodule(below, trail)
        raise self._nothing(file, file.root, name)

    def _module(self, module: str, trail: tuple[Hop, ...]) -> Meaning:
        return External(name=module, trail=trail) if self.files.is_outside(module) else Submodule(module, trail)

    def _refuse_raise(self, file: File, trail: tuple[Hop, ...]) -> None:
        """Refuse a module that raises while it is imported; a `raise` that only takes the place of another is none."""
        if file.path in self._imports:
            return
        for node in file.every("raise_statement"):
            path = syntax.path_to(file.root, node)
            if any(step.type in syntax.SCOPES or step.type.startswith("except") for step in path):
                continue
            conditions = self.conditions(file, path)
            if self.is_live(file, node, conditions):
                hops = (*file.branches(conditions), file.hop_at("raise", file.source(node), node))
                raise RaisesError(self.world, (*trail, *hops))
        self._imports.add(file.path)

    def _target(self, file: File, statement: Node) -> str:
        """Return the module that a `from … import` names."""
        named = syntax.field_of(statement, "module_name")
        written = file.source(named)
        tail = written.lstrip(".")
        up = len(written) - len(tail)
        if not up:
            return written
        within = file.module.split(".")
        within = within if file.is_package else within[:-1]
        if up > len(within):
            raise UnknownError(f"{file.path}: line {statement.start_point.row + 1} imports from beyond the artifact")
        return ".".join([*within[: len(within) - up + 1], *([tail] if tail else [])])

    # Bindings

    def live(self, file: File, scope: Node, name: str, before: int | None = None) -> Live | None:
        """Return the last binding of a name in a scope that the world leaves, of those before a byte; None if none is.

        An `import *` is one where what it exports may be the name.

        Raises:
            UnknownError: whether it is live is not decided.
        """
        found = file.bindings(scope, name)
        if scope == file.root:
            found.extend((star, syntax.path_to(scope, star)) for star in file.every("wildcard_import"))
        for node, path in sorted(found, key=lambda one: one[0].start_byte, reverse=True):
            if before is not None and node.start_byte >= before:
                continue
            with file.answering():
                conditions = self.conditions(file, path)
            undecided = None
            try:
                if not self.is_live(file, node, conditions):
                    continue
            except UnknownError as error:
                undecided = error
            if node.type == "wildcard_import" and not self._exports(file, path[-2], name):
                continue
            if undecided is not None:
                raise undecided
            return Live(node, path, conditions)
        return None

    def is_live(self, file: File, node: Node, conditions: list[Condition]) -> bool:
        """Tell whether a place is reached in this world.

        Raises:
            UnknownError: the world's facts leave a condition open; it is named.
        """
        try:
            return bool(possible([(node, conditions)], self._facts_of(file)))
        except UnknownError as error:
            raise UnknownError(f"{file.path}: in the world {self.world.name}, {error.problem}") from None

    def conditions(self, file: File, path: list[Node]) -> list[Condition]:
        """Return what a node stands under, given that what it stands in runs to its end.

        In the body of a `try`, that no handler was entered which goes on; not, that none was which raises again.
        """
        found = conditions_of(path, file.body)
        if any(_is_no_handler(one) for one in found):
            raising = {
                handler.start_point.row
                for statement in file.every("try_statement")
                for handler in _handlers(statement)
                if _raises(handler)
            }
            found = [one for one in found if not (_is_no_handler(one) and one.row in raising)]
        for step, inside in pairwise(path):
            if step.type == "try_statement" and step.child_by_field_name("body") == inside:
                going_on = [handler for handler in _handlers(step) if not _raises(handler)]
                found.extend(conditions_of([step, handler], file.body)[-1].negated for handler in going_on)
            if step.type == "with_statement" and step.child_by_field_name("body") == inside:
                items = file.source(syntax.children(step)[0])
                if "suppress" in items:
                    found.append(Condition(f"with {items}", True, step.start_point.row))
        return found

    def _facts_of(self, file: File) -> Facts:
        if file.path not in self._facts:
            own: dict[str, Plain | None] = {"__name__": file.module, "typing.TYPE_CHECKING": False}
            bound = [path for _, path in file.bindings(file.root, "TYPE_CHECKING")]
            if all(_is_from_typing(file, path) for path in bound):
                own["TYPE_CHECKING"] = False
            # What is no expression, such as `except OSError`, is met or not by its own text alone.
            refused = {f"not ({text})": not met for text, met in self.world.facts.items() if isinstance(met, bool)}
            self._facts[file.path] = {**own, **refused, **self.world.facts}
        return self._facts[file.path]

    def _bound(self, file: File, scope: Node, name: str, before: int | None, trail: tuple[Hop, ...]) -> Meaning | None:
        live = self.live(file, scope, name, before)
        return None if live is None else self.meaning(file, name, live, trail)

    def meaning(self, file: File, name: str, live: Live, trail: tuple[Hop, ...]) -> Meaning:
        """Return what a live binding binds its name to.

        Raises:
            UnknownError: a value that only a run would tell.
        """
        node, path = live.node, live.path
        trail = (*trail, *file.branches(live.conditions))
        if len(trail) > _HOPS_AT_MOST:
            raise UnknownError(f"{file.path}: {name} is imported in a circle")
        by = path[-2]
        if by.type in (syntax.CLASS, syntax.FUNCTION):
            step = "class" if by.type == syntax.CLASS else "function"
            return Definition(file, by, (*trail, file.hop_at(step, f"{file.module}:{file.qualified(by)}", by)))
        statement = next((one for one in path if one.type in ("import_statement", "import_from_statement")), None)
        if statement is not None:
            return self._imported(file, name, statement, path, trail)
        assignment = syntax.Binding(node, path).assignment
        if assignment is not None:
            value = syntax.field_of(assignment, "right")
            hop = file.hop_at("alias", syntax.shortened(file.source(value)), assignment)
            return self.value(file, value, (*trail, hop))
        line = node.start_point.row + 1
        raise UnknownError(f"{file.path}: line {line} binds {name} to what only a run would tell")

    def _imported(self, file: File, name: str, statement: Node, path: list[Node], trail: tuple[Hop, ...]) -> Meaning:
        item = path[path.index(statement) + 1]
        written = file.source(syntax.field_of(item, "name") if item.type == "aliased_import" else item)
        if statement.type == "import_statement":
            module = written if item.type == "aliased_import" else name
            return self._module(module, (*trail, file.hop_at("import", module, statement)))
        module = self._target(file, statement)
        wanted = name if item.type == "wildcard_import" else written
        trail = (*trail, file.hop_at("import", f"{module}:{wanted}", statement))
        if module != file.module:
            return self.in_module(module, wanted, trail)
        # A package that imports from itself has what it bound so far, and its modules.
        found = self._bound(file, file.root, wanted, statement.start_byte, trail)
        return found or self._module(f"{module}.{wanted}", trail)

    def _exports(self, file: File, statement: Node, name: str) -> bool:
        """Tell whether an `import *` brings a name, as far as an `__all__` says."""
        module = self._target(file, statement)
        path = self.files.path_of(module)
        where = f"{file.path}: the `import *` in line {statement.start_point.row + 1}"
        if path is None:
            raise UnknownError(f"{where} may bring {name} from {module}")
        try:
            return name in _listed(python.read(self.files.file(path).body).members("__all__").value)
        except NotOneError as error:
            if error.count == 0 and name.startswith("_"):
                return False
        except UnknownError:
            pass
        raise UnknownError(f"{where} may bring {name}: {path} has no __all__ that is read")

    # Expressions

    def value(self, file: File, node: Node, trail: tuple[Hop, ...]) -> Meaning:
        """Return what an expression names where it stands: a name, an attribute, either side of a condition.

        Raises:
            NotOneError: nothing binds the name.
            UnknownError: it is computed, or a parameter.
        """
        node = syntax.bare(node)
        if node.type == "identifier":
            return self._name(file, node, trail)
        if node.type == "attribute":
            owner = self.value(file, syntax.field_of(node, "object"), trail)
            return self._member(file, owner, syntax.name_of(syntax.field_of(node, "attribute"), file.body), node)
        if node.type == "conditional_expression":
            side, hops = self.side(file, node)
            return self.value(file, side, (*trail, *hops))
        text = syntax.shortened(file.source(node))
        raise UnknownError(f"{file.path}: line {node.start_point.row + 1} is computed: {text}")

    def side(self, file: File, node: Node) -> tuple[Node, tuple[Hop, ...]]:
        """Return the side of a conditional expression that the world takes, and the condition."""
        then, _, otherwise = syntax.children(node)
        conditions = conditions_of([node, then], file.body)
        if self.is_live(file, then, conditions):
            return then, file.branches(conditions)
        return otherwise, file.branches([one.negated for one in conditions])

    def _member(self, file: File, owner: Meaning, name: str, node: Node) -> Meaning:
        if isinstance(owner, External):
            return External(name=f"{owner.name}.{name}", trail=owner.trail)
        if isinstance(owner, Submodule):
            return self.in_module(owner.name, name, owner.trail)
        if owner.node.type == syntax.CLASS:
            found = self._bound(owner.file, owner.node, name, None, owner.trail)
            if found is not None:
                return found
        line = node.start_point.row + 1
        raise UnknownError(f"{file.path}: line {line} takes {name} from {owner.name}, which does not itself define it")

    def _name(self, file: File, node: Node, trail: tuple[Hop, ...]) -> Meaning:
        name = syntax.name_of(node, file.body)
        path = syntax.path_to(file.root, node)
        before: int | None = _statement(path).start_byte
        scopes = [file.root, *(step for step, inside in pairwise(path) if _is_body(step, inside))]
        for scope in reversed(scopes):
            if scope.type == syntax.CLASS and scope != scopes[-1]:
                continue
            if scope.type == syntax.FUNCTION and name in parameters(scope, file):
                line = node.start_point.row + 1
                raise UnknownError(f"{file.path}: line {line} takes {name} from who calls {file.qualified(scope)}")
            found = self._bound(file, scope, name, before, trail)
            if found is not None:
                return found
            if scope.type == syntax.FUNCTION:
                if file.bindings(scope, name):
                    raise self._nothing(file, scope, name)
                before = None  # When it runs, what is around it is done.
        if file.is_package and self.files.path_of(f"{file.module}.{name}"):
            raise UnknownError(f"{file.path}: {name} is bound nowhere, and may be the module {file.module}.{name}")
        if name in _BUILTINS:
            return External(name=f"builtins.{name}", trail=trail)
        raise self._nothing(file, file.root, name)

    def _nothing(self, file: File, scope: Node, name: str) -> NotOneError:
        """Say that no live binding is there, and what the others stand under."""
        near = []
        for node, path in file.bindings(scope, name):
            under = " and ".join(map(str, self.conditions(file, path))) or "no condition"
            near.append(f"line {node.start_point.row + 1} under {syntax.shortened(under)}")
        return NotOneError(f"binding of {name} in {file.path} in the world {self.world.name}", [], near)


def parameters(function: Node, file: File) -> list[str]:
    """Return the names of a function's parameters in order."""
    names = []
    for item in syntax.children(syntax.field_of(function, "parameters")):
        named = item.child_by_field_name("name") or next(iter(syntax.of_type(item, "identifier")), None)
        if named is not None:
            names.append(syntax.name_of(named, file.body))
    return names


def _statement(path: list[Node]) -> Node:
    """Return the innermost statement that a node stands in."""
    index = max(index for index, step in enumerate(path[:-1]) if step.type in ("block", "module"))
    return path[index + 1]


def _is_body(step: Node, inside: Node) -> bool:
    return step.type in (syntax.CLASS, syntax.FUNCTION) and step.child_by_field_name("body") == inside


def _loads(hops: Sequence[Hop], module: str) -> bool:
    """Tell that the first import on a way loads a module, so that a name bound from it is not replaced by it later."""
    first = next((str(hop.value) for hop in hops if hop.step == "import"), "")
    named, _, taken = first.partition(":")
    return f"{named}.".startswith(f"{module}.") or f"{named}.{taken}" == module


def _is_no_handler(condition: Condition) -> bool:
    return not condition.met and condition.text.startswith("except")


def _handlers(statement: Node) -> list[Node]:
    return [part for part in syntax.children(statement) if part.type.startswith("except")]


def _raises(handler: Node) -> bool:
    return any(one.type == "raise_statement" for one in syntax.children(syntax.children(handler)[-1]))


def _is_from_typing(file: File, path: list[Node]) -> bool:
    statement = next((one for one in path if one.type == "import_from_statement"), None)
    return statement is not None and file.source(syntax.field_of(statement, "module_name")) in (
        "typing",
        "typing_extensions",
    )


def _listed(value: Plain) -> tuple[Plain, ...]:
    return value if isinstance(value, tuple) else ()
