"""Classes: what a class is made of: its bases in order, what they define, what stands above it and what it makes.

How its names are followed to their definitions is `names`'. What is read is what is written: what a decorator, a
metaclass or `setattr` makes of a class is not followed; a decorated name means what it stands above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

from tree_sitter import Node

from site_builder.readers import Hop, MissingError, NotOneError, Plain, Searched, Seen, UnknownError, python, syntax
from site_builder.readers.tree.names import Definition, External, Live, Names, Submodule, parameters

_DEPTH_AT_MOST = 50

_OUTSIDE: Final = {
    f"{module}.{name}": tuple(f"{module}.{base}" for base in bases)
    for module in ("typing", "typing_extensions")
    for name, bases in {"Generic": (), "Protocol": ("Generic",)}.items()
} | {"abc.ABC": (), "builtins.object": ()}
"""Classes outside whose own bases are known, and which bring nothing but what begins with an underscore."""

_One = TypeVar("_One")


@dataclass(frozen=True, kw_only=True, slots=True)
class Decorator:
    """What stands above a class or a function: the qualified name of what is called, and how.

    Arguments go by position (`"0"`) or name: `literals` with their values, `computed` with their source. `trail` begins
    at the decorator's own lines and ends where it is defined, or leaves the artifact.
    """

    name: str
    called: bool
    literals: tuple[tuple[str, Plain], ...]
    computed: tuple[tuple[str, str], ...]
    trail: tuple[Hop, ...]


class _Defined:
    """A definition, its way there, and what stands above it."""

    def __init__(self, names: Names, definition: Definition) -> None:
        self._names = names
        self._file = definition.file
        self._node = definition.node
        self.name = definition.name
        self.trail = definition.trail

    @property
    def seen(self) -> Seen:
        """The definition itself, decorators to header, under its qualified name, and what led there."""
        return self.trail[-1].after(*self.trail[:-1])

    @property
    def path(self) -> str:
        """The file within the artifact."""
        return self._file.path

    @cached_property
    def decorators(self) -> tuple[Decorator, ...]:
        """What stands above it itself, outermost first; what stands above its bases is theirs.

        Raises:
            UnknownError: what a decorator is, is computed.
            MissingError: a file on the way to its definition was not fetched.
        """
        above = self._node.parent
        if above is None or above.type != "decorated_definition":
            return ()
        found = [one for one in syntax.children(above) if one.type == "decorator"]
        return _together(found, self._decorator)

    def _decorator(self, node: Node) -> Decorator:
        written = syntax.bare(syntax.children(node)[0])
        called = written.type == "call"
        function = syntax.field_of(written, "function") if called else written
        hop = self._file.hop_at("decorator", self._file.source(function), node)
        meaning = self._names.value(self._file, function, (hop,))
        literals: list[tuple[str, Plain]] = []
        computed: list[tuple[str, str]] = []
        given = syntax.children(syntax.field_of(written, "arguments")) if called else []
        for position, item in enumerate(given):
            key, value = str(position), item
            if item.type == "keyword_argument":
                key = syntax.name_of(syntax.field_of(item, "name"), self._file.body)
                value = syntax.field_of(item, "value")
            try:
                literals.append((key, syntax.literal(value, self._file.body, False, 0)))
            except UnknownError:
                computed.append((key, self._file.source(syntax.bare(value))))
        return Decorator(
            name=meaning.name,
            called=called,
            literals=tuple(literals),
            computed=tuple(computed),
            trail=meaning.trail,
        )


class Function(_Defined):
    """A function or method of the artifact."""

    @property
    def code(self) -> python.Function:
        """The function, to put `python`'s questions to.

        Raises:
            NotOneError: its name is bound in several places.
        """
        return python.read(self._file.body, self.path).function(self.name.partition(":")[2])


@dataclass(frozen=True, kw_only=True, slots=True)
class Attribute:
    """What a class body assigns to a name: the class, and the value as a literal or a dotted name where it stands."""

    owner: Class
    seen: Hop
    _live: Live
    _name: str

    @property
    def target(self) -> Class | Function | External:
        """The class or function that the value names.

        Raises:
            UnknownError: it names none.
        """
        return _made(self.owner._names, self._meaning(()), self.seen.path)

    def _meaning(self, trail: tuple[Hop, ...]) -> Definition | External | Submodule:
        return self.owner._names.meaning(self.owner._file, self._name, self._live, trail)


class Class(_Defined):
    """A class of the artifact in one world."""

    @property
    def bases(self) -> tuple[Class | External, ...]:
        """Its bases in the order written, `X[T]` as `X`; `builtins.object` where none is.

        Raises:
            UnknownError: one is computed.
            MissingError: a file on the way to one was not fetched.
        """
        listed = self._node.child_by_field_name("superclasses")
        written = [] if listed is None else [one for one in syntax.children(listed) if one.type != "keyword_argument"]
        return _together(written, self._base) or (External(name="builtins.object"),)

    def _base(self, node: Node) -> Class | External:
        meaning = self._names.value(self._file, _unparametrised(node), ())
        found = _made(self._names, meaning, self.path)
        if isinstance(found, Function):
            raise UnknownError(f"{self.path}: line {node.start_point.row + 1}: the base {found.name} is a function")
        return found

    @cached_property
    def mro(self) -> tuple[Class | External, ...]:
        """The class and its bases in the order in which attributes are looked up (C3), as far as the artifact says.

        What bases a class outside has is not known: behind the first such class the order is one that is possible.

        Raises:
            UnknownError: a base is computed, or the bases have no common order.
            MissingError: a file on the way to a base was not fetched.
        """
        return tuple(self._order(0))

    def _order(self, depth: int) -> list[Class | External]:
        if depth > _DEPTH_AT_MOST:
            raise UnknownError(f"{self.path}: the bases of {self.name} have no end")
        bases = self.bases
        orders = _together(bases, lambda base: _order_of(base, depth + 1))
        merged = _merged([*orders, list(bases)])
        if merged is None:
            raise UnknownError(f"{self.path}: the bases of {self.name} have no common order")
        return [self, *merged]

    def bearing(self, decorator: str) -> Searched:
        """Return how many decorators of this qualified name stand above the class and those that it inherits from.

        Raises:
            UnknownError: what one of the decorators or the bases is, is computed.
            MissingError: a file on the way was not fetched.
        """
        classes = [one for one in self.mro if isinstance(one, Class)]
        above = [found for one in _together(classes, lambda one: one.decorators) for found in one]
        files = {one.path: len(one._file.body) for one in classes}
        place = self.trail[-1]
        return Searched(
            matcher=f"decorator {decorator} above a class or its bases",
            bytes=sum(files.values()),
            definitions=len(classes),
            found=sum(found.name == decorator for found in above),
            at=place.at,
            region=place.region,
            trail=self.trail[:-1],
        )

    def attribute(self, name: str) -> Attribute:
        """Return what the first class in the order binds a name to in its body.

        Raises:
            NotOneError: no class of the order does.
            UnknownError: it is computed, no assignment, assigned again from outside of the body, or a class outside the
                artifact comes first and may have it.
        """
        owner, live = self._first(name)
        file = owner._file
        again = file.bindings(file.root, f"{owner.name.partition(':')[2]}.{name}")
        if again:
            raise UnknownError(f"{file.path}: line {again[0][0].start_point.row + 1} assigns {name} again")
        binding = syntax.Binding(live.node, live.path)
        if binding.assignment is None:
            line = live.node.start_point.row + 1
            raise UnknownError(
                f"{file.path}: line {line} binds {name} by something other than an assignment of its own"
            )
        with file.answering():
            value = syntax.literal(syntax.field_of(binding.assignment, "right"), file.body, True, 0)
        return Attribute(owner=owner, seen=file.hop_at("attribute", value, binding.statement), _live=live, _name=name)

    def method(self, name: str) -> Function:
        """Return the method of this name of the first class in the order that defines it.

        Raises:
            NotOneError: no class of the order does.
            UnknownError: it is no function, or a class outside the artifact comes first and may have it.
        """
        owner, live = self._first(name)
        found = owner._names.meaning(owner._file, name, live, ())
        made = _made(owner._names, found, owner.path)
        if not isinstance(made, Function):
            raise UnknownError(f"{owner.path}: line {live.node.start_point.row + 1}: {name} is no method")
        return made

    def _first(self, name: str) -> tuple[Class, Live]:
        for one in self.mro:
            if isinstance(one, Class):
                live = one._names.live(one._file, one._node, name)
                if live is not None:
                    return one, live
            elif one.name not in _OUTSIDE or name.startswith("__"):
                raise UnknownError(f"{self.path}: {one.name}, a base of {self.name}, may have {name}")
        raise NotOneError(f"{name} in {self.name} and its bases", [])

    def instantiates(self, attribute: str) -> Class | External:
        """Return the class that is called for `self.attribute = X(…)` while an object is made.

        The assignment stands in the first `__init__` of the order, or in one that it passes on to by `super()`; the last
        one that the world leaves counts. `self.x(…)` is what the class assigns to `x` in its body. The trail begins at
        the assignment.

        Raises:
            NotOneError: none of them assigns it.
            UnknownError: what is assigned is no call of a class, or other methods assign it, too.
        """
        self._refuse_assigned(attribute, besides="__init__")
        found = self._assigned(attribute, 0)
        if found is None:
            raise NotOneError(f"assignment to self.{attribute} in an __init__ of {self.name}", [])
        owner, function, node = found
        return self._called(owner, function, node)

    def _assigned(self, attribute: str, position: int) -> tuple[Class, Node, Node] | None:
        """Return the assignment that remains of those in the `__init__`s from a position of the order on."""
        if position == len(self.mro):
            return None
        owner, live = self.mro[position], None
        if isinstance(owner, Class):
            live = owner._names.live(owner._file, owner._node, "__init__")
        elif owner.name not in _OUTSIDE:
            raise UnknownError(f"{self.path}: {owner.name}, a base of {self.name}, may assign {attribute}")
        if isinstance(owner, External) or live is None:
            return self._assigned(attribute, position + 1)
        function = live.path[-2]
        if function.type != syntax.FUNCTION:
            line = live.node.start_point.row + 1
            raise UnknownError(f"{owner.path}: line {line}: __init__ is no method")
        for node in reversed(owner._events(function, attribute)):
            further = None
            if node.type == "call":
                if not owner._source_of_call(node).startswith("super("):
                    raise UnknownError(f"{owner.path}: line {node.start_point.row + 1} calls an __init__ by its class")
                further = self._assigned(attribute, position + 1)
                if further is None:
                    continue
            conditions = owner._names.conditions(owner._file, syntax.path_to(function, node))
            if owner._names.is_live(owner._file, node, conditions):
                return further or (owner, function, node)
        return None

    def _events(self, function: Node, attribute: str) -> list[Node]:
        """Return where a function assigns an attribute of its object, or calls another `__init__`, in order."""
        first = next(iter(parameters(function, self._file)), "self")
        assigned = [node for node, _ in self._file.bindings(function, f"{first}.{attribute}")]
        calls = [
            node
            for node in syntax.of_type(function, "call")
            if self._source_of_call(node).endswith(".__init__")
            and not any(step.type in syntax.SCOPES for step in syntax.path_to(function, node)[1:])
        ]
        return sorted([*assigned, *calls], key=lambda node: node.start_byte)

    def _source_of_call(self, node: Node) -> str:
        return self._file.source(syntax.field_of(node, "function"))

    def _called(self, owner: Class, function: Node, node: Node) -> Class | External:
        names, file = owner._names, owner._file
        path = syntax.path_to(function, node)
        assignment = syntax.Binding(node, path).assignment
        value = None if assignment is None else syntax.bare(syntax.field_of(assignment, "right"))
        hops = file.branches(names.conditions(file, path))
        while value is not None and value.type == "conditional_expression":
            value, more = names.side(file, value)
            value, hops = syntax.bare(value), (*hops, *more)
        if assignment is None or value is None or value.type != "call":
            raise UnknownError(f"{file.path}: line {node.start_point.row + 1} assigns what is no call")
        called = _unparametrised(syntax.field_of(value, "function"))
        trail = (*hops, file.hop_at("instance", file.source(called), assignment))
        me = next(iter(parameters(function, file)), "self")
        if called.type == "attribute" and file.source(syntax.field_of(called, "object")) == me:
            name = syntax.name_of(syntax.field_of(called, "attribute"), file.body)
            self._refuse_assigned(name)
            meaning = self.attribute(name)._meaning(trail)
        else:
            meaning = names.value(file, called, trail)
        found = _made(names, meaning, file.path)
        if isinstance(found, Function):
            raise UnknownError(f"{file.path}: line {node.start_point.row + 1} calls the function {found.name}")
        return found

    def _refuse_assigned(self, attribute: str, besides: str | None = None) -> None:
        """Refuse what a method of the order assigns to its object, in whatever method it is but one."""
        for one in self.mro:
            if isinstance(one, External):
                continue
            for function in syntax.of_type(one._node, syntax.FUNCTION):
                around = syntax.path_to(one._node, function)[1:-1]
                name = syntax.name_of(syntax.field_of(function, "name"), one._file.body)
                if name == besides or any(step.type in syntax.SCOPES for step in around):
                    continue
                assigned = [node for node in one._events(function, attribute) if node.type != "call"]
                if assigned:
                    line = assigned[0].start_point.row + 1
                    raise UnknownError(f"{one.path}: line {line} assigns {attribute} in {name}")


Found: TypeAlias = Class | Function | External


def _made(names: Names, meaning: Definition | External | Submodule, path: str) -> Found:
    """Return what a meaning is to who asked for a class or a function."""
    if isinstance(meaning, Submodule):
        raise UnknownError(f"{path}: {meaning.name} is a module, neither a class nor a function")
    if isinstance(meaning, External):
        return meaning
    return (Class if meaning.node.type == syntax.CLASS else Function)(names, meaning)


def _order_of(one: Class | External, depth: int) -> list[Class | External]:
    if isinstance(one, Class):
        return one._order(depth)
    above = [name for base in _OUTSIDE.get(one.name, ()) for name in (base, *_OUTSIDE[base])]
    bases = [name for name in (*above, "builtins.object") if name != one.name]
    return [one, *(External(name=name, trail=one.trail) for name in bases)]


def _key(one: Class | External) -> tuple[str, int]:
    return (one.name, 0) if isinstance(one, External) else (one.path, one._node.start_byte + 1)


def _merged(orders: Sequence[list[Class | External]]) -> list[Class | External] | None:
    """Return the C3 merge, or None if there is none."""
    left = [order for order in orders if order]
    merged: list[Class | External] = []
    while left:
        behind = {_key(one) for order in left for one in order[1:]}
        head = next((order[0] for order in left if _key(order[0]) not in behind), None)
        if head is None:
            return None
        merged.append(head)
        left = [rest for order in left if (rest := order[1:] if _key(order[0]) == _key(head) else order)]
    return merged


def _unparametrised(node: Node) -> Node:
    node = syntax.bare(node)
    while node.type == "subscript":
        node = syntax.bare(syntax.field_of(node, "value"))
    return node


_Given = TypeVar("_Given")


def _together(given: Iterable[_Given], ask: Callable[[_Given], _One]) -> tuple[_One, ...]:
    """Return all answers; what is missing for any is said at once."""
    answers: list[_One] = []
    missing: list[str] = []
    for one in given:
        try:
            answers.append(ask(one))
        except MissingError as error:
            missing.extend(error.paths)
    if missing:
        raise MissingError(missing)
    return tuple(answers)
