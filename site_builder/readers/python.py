"""Python sources: constants, fields, defaults, conditions and calls, read off the syntax tree; nothing is imported.

The tree is tree-sitter's, so that the answer does not depend on the Python that runs the check. A file of which any
part does not parse answers nothing: what an error swallowed can't be told. What is read is what is *written*: a list
that is appended to elsewhere, a name set through `globals()` or `setattr` is not followed. Names across modules, base
classes and what a decorator does are left to others.

A literal is read as its value: numbers (`16 * 1024`, too: arithmetic on integer literals alone), strings, truths, and
tuples, lists and sets of them as tuples in the order written. A decimal literal is a `Decimal` with its digits. Where
names may stand beside literals (class attributes, defaults, returned lists, entries), a dotted name and `None` are read
as their source text. A source text is normalised: no comments, one space for any gap, none inside brackets or before a
comma, no comma before a bracket that closes on a later line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from site_builder.readers import (
    NotOneError,
    Plain,
    ReadingError,
    Searched,
    Seen,
    UnknownError,
    digest_of,
    lines_region,
    syntax,
)
from site_builder.readers.conditions import Condition, Facts, conditions_of, matched, possible

_COLLECTIONS = ("tuple", "list", "set", "frozenset")
_PLACES_AT_MOST = 1000


@lru_cache(maxsize=1024)
def read(body: bytes, path: str | None = None) -> Module:
    """Return the module, one for the same bytes; whether it parses is told by the first question put to it.

    With a path, what is seen says in which file of its tree.
    """
    return Module(body, path)


@dataclass(frozen=True, kw_only=True, slots=True)
class Return:
    """One `return`: its normalised source, the conditions it stands under, and what it is if that is literal."""

    text: str
    conditions: tuple[str, ...]
    line: int
    seen: Seen | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call: its normalised source, the conditions it stands under, and its arguments."""

    text: str
    line: int
    _scope: _Scope
    _node: Node

    @property
    def conditions(self) -> Seen:
        """What the call stands under; see `Function.conditions`."""
        return self._scope._conditions_seen(self._node)

    def argument(self, position: int | None = None, keyword: str | None = None) -> Seen:
        """Return the literal argument given at this position (from zero) or by this name.

        Raises:
            NotOneError: the call does not give it.
            UnknownError: it is computed, or a `*` or `**` may give it.
        """
        node = syntax.argument(self._node, position, keyword)
        if node is None:
            wanted = keyword if keyword is not None else f"at {position}"
            raise NotOneError(f"argument {wanted} of {syntax.shortened(self.text)}", [])
        module = self._scope._module
        return module._seen(module._literal(node, names=True), node)


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """One logger call: its level, the number of arguments after the format, the conditions it stands under."""

    level: Seen
    arguments: Seen
    conditions: Seen
    _module: Module
    _message: Node
    _from: int | None
    """The line the format's region begins at, where conditions told the call from others."""

    @property
    def format(self) -> Seen:
        """The format as the logger gets it.

        Raises:
            UnknownError: it is an f-string.
        """
        return self._module._seen(self._module._literal(self._message, names=False), self._message, self._from)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dictionary:
    """A dictionary display: its entries in the order written."""

    _module: Module
    _node: Node
    _name: str
    _from: int | None
    """The line its regions begin at, where it was chosen by a condition."""

    @property
    def entries(self) -> Seen:
        """Every key and value as pairs.

        Raises:
            UnknownError: a key or a value is computed, or `**` brings in others.
        """
        pairs: list[Plain] = []
        for item in syntax.children(self._node):
            if item.type != "pair":
                text = syntax.shortened(syntax.source(item, self._module.body))
                raise UnknownError(f"{self._name} is made of more than it says: {text}")
            pairs.append((self._key(item), self._module._literal(syntax.field_of(item, "value"), names=True)))
        return self._module._seen(tuple(pairs), self._node, self._from)

    def entry(self, key: str | int) -> Seen:
        """Return the value under this key; a key that is a name is given as its source text.

        Raises:
            NotOneError: no entry has the key, or several have.
            UnknownError: the value is computed, or a `**` may bring or replace it.
        """
        items = syntax.children(self._node)
        splats = [item.start_byte for item in items if item.type != "pair"]
        found, others = [], []
        for item in items:
            if item.type != "pair":
                continue
            try:
                written = self._key(item)
            except UnknownError:
                splats.append(item.start_byte)  # A computed key may be any key.
                continue
            same = written == key and type(written) is type(key)
            found.append(item) if same else others.append(str(written))
        if (len(found) == 1 and any(start > found[0].start_byte for start in splats)) or (not found and splats):
            raise UnknownError(f"{self._name} is made of more than it says: an entry {key!r} may come from elsewhere")
        if len(found) != 1:
            raise NotOneError(
                f"entry {key!r} in {self._name}", syntax.lines_of(found), syntax.near_misses(str(key), others)
            )
        value = self._module._literal(syntax.field_of(found[0], "value"), names=True)
        return self._module._seen(value, found[0], self._from)

    def _key(self, item: Node) -> Plain:
        return self._module._literal(syntax.field_of(item, "key"), names=True)


class _Scope:
    """A part of a module that questions are put to: the whole, or one function.

    Where several places answer, they are told apart by what they stand under (see `conditions`). `when` are patterns,
    each of which must match the whole of one condition. `given` are facts, by the source text of a name, a call, a
    comparison or any other part of a condition (`{"capability.major": 9, "platform.is_tpu()": False}`): places of which
    a condition is false under them are left out, and all conditions of the one that remains must be true. Comparisons,
    `and`, `or`, `not` and integer arithmetic are worked out; what the facts do not decide makes the answer unknown.
    """

    def __init__(self, module: Module, node: Node, title: str) -> None:
        self._module = module
        self._node = node
        self._title = title

    def _source(self, node: Node) -> str:
        return syntax.source(node, self._module.body)

    def _name(self, node: Node) -> str:
        return syntax.name_of(node, self._module.body)

    def one(self, node_type: str, pattern: str) -> Seen:
        """Return the one node of this type whose normalised source matches the whole pattern.

        The value is that source; with groups in the pattern, what they caught (one: the word, several: a tuple). Node
        types are those of tree-sitter-python: `conditional_expression`, `comparison_operator`, `return_statement`, …

        Raises:
            NotOneError: none matches, or several.
        """
        node, match = self._matching(node_type, pattern)
        return self._module._seen(syntax.caught(match[0], match.groups("")), node)

    def conditions(self, node_type: str, pattern: str) -> Seen:
        """Return what that one node stands under, outermost first, as normalised source.

        They are the tests of `if`, `elif`, `while`, `match`, conditional expressions, `and` and `or`; the loops and
        `except` clauses it is in; and for each earlier exit (`return`, `raise`, in a loop `break` and `continue`) that
        its test was not met. What was not met reads `not (…)`. An `assert` is no condition, and neither is what a call
        that never returns leaves behind it.

        Raises:
            NotOneError: none matches, or several.
        """
        node, _ = self._matching(node_type, pattern)
        return self._conditions_seen(node)

    def comparison(self, left: str, sign: str, right: str) -> Seen:
        """Return the one comparison with this operator whose sides match the whole patterns; groups as in `one`.

        Of a chain `a < b < c`, each link is a comparison.

        Raises:
            NotOneError: none matches, or several.
        """
        found: list[tuple[Node, Plain]] = []
        near = []
        for node in self._nodes("comparison_operator"):
            for one_side, written, other in syntax.links(node, self._module.body):
                on_left, on_right = re.fullmatch(left, one_side), re.fullmatch(right, other)
                if on_left and on_right and written == sign:
                    words = (*on_left.groups(""), *on_right.groups(""))
                    found.append((node, syntax.caught(f"{one_side} {written} {other}", words)))
                elif bool(on_left) + bool(on_right) + (written == sign) == 2:
                    near.append(syntax.shortened(f"{one_side} {written} {other}"))
        if len(found) != 1:
            wanted = f"comparison {left} {sign} {right} in {self._title}"
            raise NotOneError(wanted, syntax.lines_of([node for node, _ in found]), near)
        return self._module._seen(found[0][1], found[0][0])

    def calls(self, name: str) -> tuple[Call, ...]:
        """Return every call of this dotted name, as it is written, in order; there may be none."""
        return tuple(
            Call(text=self._source(node), line=node.start_point.row + 1, _scope=self, _node=node)
            for node in self._nodes("call")
            if self._source(syntax.field_of(node, "function")) == name
        )

    def call(self, name: str) -> Call:
        """Return the one call of this dotted name.

        Raises:
            NotOneError: there is none, or several.
        """
        found = self.calls(name)
        if len(found) != 1:
            others = {self._source(syntax.field_of(node, "function")) for node in self._nodes("call")}
            lines = [call.line for call in found]
            raise NotOneError(f"call of {name} in {self._title}", lines, syntax.near_misses(name, others))
        return found[0]

    def log(self, prefix: str, *, when: Sequence[str] = ()) -> Log:
        """Return the one logger call whose message begins so.

        Raises:
            NotOneError: there is none, or several.
        """
        found: dict[int, tuple[Node, Node]] = {}
        others = []
        for node, message, start in self._messages():
            if start.startswith(prefix):
                found[node.id] = (node, message)
            else:
                others.append(start)
        wanted, first = f"log call that begins {prefix!r}", None
        nodes = [node for node, _ in found.values()]
        if when and found:
            chosen, first = self._chosen(nodes, wanted, when, None)
            nodes = [chosen]
        if len(nodes) != 1:
            near = [syntax.shortened(text) for text in syntax.near_misses(prefix, others)]
            raise NotOneError(f"{wanted} in {self._title}", syntax.lines_of(nodes), near)
        node, message = found[nodes[0].id]
        given = [
            item for item in syntax.children(syntax.field_of(node, "arguments")) if item.type != "keyword_argument"
        ]
        if any(item.type in ("list_splat", "dictionary_splat") for item in given):
            raise UnknownError(f"the log call that begins {prefix!r} takes its arguments from elsewhere")
        level = self._source(syntax.field_of(syntax.field_of(node, "function"), "attribute"))
        return Log(
            level=self._module._seen(level, node),
            arguments=self._module._seen(len(given) - 1, node),
            conditions=self._conditions_seen(node),
            _module=self._module,
            _message=message,
            _from=first,
        )

    def _messages(self) -> list[tuple[Node, Node, str]]:
        """Return every logger call with its message and what that says up to its first interpolation."""
        logged = self._module._logged
        if self._node.id not in logged:
            body = self._module.body
            called = [(node, syntax.log_message(node, body)) for node in self._nodes("call")]
            logged[self._node.id] = [
                (node, message, syntax.literal_start(message, body)) for node, message in called if message is not None
            ]
        return logged[self._node.id]

    def assigned(self, name: str, *, when: Sequence[str] = (), given: Facts | None = None) -> Seen:
        """Return the normalised source that is assigned to a name or a dotted target, in the one place that assigns it.

        Raises:
            NotOneError: nothing here assigns it, or several places do.
            UnknownError: it is bound by something other than a plain assignment, or the facts do not decide.
        """
        value, node, first = self._assignment(name, when, given)
        return self._module._seen(self._source(syntax.bare(value)), node, first)

    def dictionary(self, name: str, *, when: Sequence[str] = (), given: Facts | None = None) -> Dictionary:
        """Return the dictionary display that is assigned to a name in one place.

        Raises:
            NotOneError: nothing here assigns it, or several places do.
            UnknownError: what is assigned is not a dictionary display, or the facts do not decide.
        """
        value, _, first = self._assignment(name, when, given)
        return self._module._dictionary(value, name, first)

    def entry(self, name: str, key: str | int, *, when: Sequence[str] = (), given: Facts | None = None) -> Seen:
        """Return the value under a key of the one dictionary assigned to a name; see `dictionary`."""
        return self.dictionary(name, when=when, given=given).entry(key)

    def _assignment(self, name: str, when: Sequence[str], given: Facts | None) -> tuple[Node, Node, int | None]:
        """Return the value, the assignment, and the line that the region begins at where conditions chose it."""
        bindings = [syntax.Binding(*found) for found in self._module._bindings(self._node, name)]
        by_id = {binding.node.id: binding for binding in bindings}
        node, first = self._chosen([binding.node for binding in bindings], f"assignment to {name}", when, given)
        binding = by_id[node.id]
        if binding.assignment is None:
            line = node.start_point.row + 1
            raise UnknownError(f"{name} is bound in line {line} by something other than an assignment of its own")
        return syntax.field_of(binding.assignment, "right"), binding.statement, first

    def _chosen(
        self, nodes: Sequence[Node], what: str, when: Sequence[str], given: Facts | None
    ) -> tuple[Node, int | None]:
        """Return the one node that stands under the conditions asked for, and the line of the first of them."""
        if len(nodes) > _PLACES_AT_MOST:
            raise UnknownError(f"expected at most {_PLACES_AT_MOST} of {what} in {self._title}, found {len(nodes)}")
        found: list[tuple[Node, list[Condition]]] = []
        near: list[str] = []
        for node in nodes:
            conditions = self._module._conditions(node, self._node)
            if all(matched(conditions, pattern) for pattern in when):
                found.append((node, conditions))
            near.append(syntax.shortened(" and ".join(map(str, conditions)) or "no condition"))
        if given is not None:
            found = possible(found, given)
        if len(found) != 1:
            under = f" under {' and '.join(when)}" if when else " under the facts given" if given is not None else ""
            raise NotOneError(f"{what}{under} in {self._title}", syntax.lines_of([node for node, _ in found]), near)
        node, conditions = found[0]
        used = [item for pattern in when for item in matched(conditions, pattern)]
        rows = [condition.row for condition in (used if given is None else conditions)]
        return node, min(rows) + 1 if rows else None

    def _matching(self, node_type: str, pattern: str) -> tuple[Node, re.Match[str]]:
        if not re.fullmatch(r"[a-z_]+", node_type) or not syntax.LANGUAGE.id_for_node_kind(node_type, True):
            raise ReadingError(f"{node_type!r} is not a node type of the Python grammar")
        compiled = re.compile(pattern)
        found, others = [], []
        for node in self._nodes(node_type):
            text = self._source(node)
            caught = compiled.fullmatch(text)
            found.append((node, caught)) if caught else others.append(text)
        if len(found) != 1:
            near = [syntax.shortened(text) for text in syntax.near_misses(pattern, others)]
            wanted = f"{node_type} {pattern} in {self._title}"
            raise NotOneError(wanted, syntax.lines_of([node for node, _ in found]), near)
        return found[0]

    def _nodes(self, node_type: str) -> list[Node]:
        self._module._refuse_broken()
        kept, asked = self._module._kept, (self._node.id, node_type)
        if asked not in kept:
            kept[asked] = [node for node in syntax.of_type(self._node, node_type) if node != self._node]
        return kept[asked]

    def _conditions_seen(self, node: Node) -> Seen:
        conditions = self._module._conditions(node, self._node)
        first = min([condition.row for condition in conditions], default=node.start_point.row) + 1
        return self._module._seen(tuple(str(condition) for condition in conditions), node, first)


class Function(_Scope):
    """One function or method; nested functions are part of it, but what they return is not."""

    @property
    def returns(self) -> tuple[Return, ...]:
        """Every `return` in order; the value is None where it is computed."""
        nodes = self._return_nodes()
        if len(nodes) > _PLACES_AT_MOST:
            raise UnknownError(f"expected at most {_PLACES_AT_MOST} returns in {self._title}, found {len(nodes)}")
        return tuple(map(self._return, nodes))

    def returned(self, *, when: Sequence[str] = (), given: Facts | None = None) -> Seen:
        """Return the literal that the one `return` gives which stands under these conditions.

        The region begins at the first condition that was asked for.

        Raises:
            NotOneError: no return stands under them, or several do.
            UnknownError: what it returns is computed, or the facts do not decide.
        """
        node, first = self._chosen(self._return_nodes(), "return", when, given)
        return self._module._seen(self._module._literal(syntax.returned(node), names=True), node, first)

    def constant(self, name: str, *, when: Sequence[str] = (), given: Facts | None = None) -> Seen:
        """Return the literal that is assigned to a name or a dotted target in one place of the function.

        Raises:
            NotOneError: nothing here assigns it, or several places do.
            UnknownError: it is computed, bound by something other than a plain assignment, or the facts do not decide.
        """
        value, node, first = self._assignment(name, when, given)
        return self._module._seen(self._module._literal(value, names=True), node, first)

    def default(self, parameter: str) -> Seen:
        """Return the literal default of a parameter.

        Raises:
            NotOneError: there is no such parameter, or it has no default.
            UnknownError: the default is computed.
        """
        self._module._refuse_broken()
        with_default, others = [], []
        for item in syntax.children(syntax.field_of(self._node, "parameters")):
            if item.type in ("default_parameter", "typed_default_parameter"):
                name = self._name(syntax.field_of(item, "name"))
                with_default.append(item) if name == parameter else others.append(name)
        if len(with_default) != 1:
            wanted = f"default of the parameter {parameter} of {self._title}"
            raise NotOneError(wanted, syntax.lines_of(with_default), syntax.near_misses(parameter, others))
        item = with_default[0]
        return self._module._seen(self._module._literal(syntax.field_of(item, "value"), names=True), item)

    def _return_nodes(self) -> list[Node]:
        return [
            node
            for node in self._nodes("return_statement")
            if not any(step.type in syntax.SCOPES for step in syntax.path_to(self._node, node)[1:-1])
        ]

    def _return(self, node: Node) -> Return:
        value = syntax.returned(node)
        try:
            seen = self._module._seen(self._module._literal(value, names=True), node)
        except UnknownError:
            seen = None
        conditions = self._module._conditions(node, self._node)
        return Return(
            text="None" if value is None else self._source(syntax.bare(value)),
            conditions=tuple(str(condition) for condition in conditions),
            line=node.start_point.row + 1,
            seen=seen,
        )


class Module(_Scope):
    """One Python source, parsed once."""

    def __init__(self, body: bytes, path: str | None = None) -> None:
        problem = syntax.unreadable(body)
        root = syntax.parse(b"" if problem else body)
        super().__init__(self, root, "the module")
        self.body = body
        self._in: dict[str, str | int] = {} if path is None else {"path": path}
        self._problem = problem or syntax.broken(root)
        self._kept: dict[tuple[int, str], list[Node]] = {}
        self._logged: dict[int, list[tuple[Node, Node, str]]] = {}
        """Nodes by where and for what they were looked for: one file is asked many questions."""

    @property
    def broken(self) -> str | None:
        """Why nothing can be told of this file, or None."""
        return self._problem

    def constant(self, name: str) -> Seen:
        """Return the literal that a name is bound to, exactly once, at the module's top level.

        Raises:
            NotOneError: nothing binds the name, or several statements do.
            UnknownError: it is computed, bound under a condition or by another statement, or perhaps again by a later
                `import *`.
        """
        node, value = self._bound(self._node, name)
        return self._seen(self._literal(value, names=False), node)

    def attribute(self, class_name: str, name: str) -> Seen:
        """Return what a class body binds a name to, exactly once: a literal, or a dotted name as its source.

        Raises:
            NotOneError: no such class or attribute, or several.
            UnknownError: it is computed or bound under a condition.
        """
        node, value = self._bound(self._class(class_name), name, f" in {class_name}")
        return self._seen(self._literal(value, names=True), node)

    def members(self, name: str, *, of: str | None = None) -> Seen:
        """Return the members of a collection bound once at the top level, or in the class `of`, in the order written.

        A display, one wrapped in `tuple`, `list`, `set` or `frozenset`, or the alternatives of a `Literal[…]`.

        Raises:
            NotOneError: nothing binds the name, or several statements do.
            UnknownError: it is no such collection, or is computed.
        """
        scope = self._node if of is None else self._class(of)
        node, value = self._bound(scope, name, f" in {of}" if of else "")
        return self._seen(
            tuple(self._literal(item, names=True) for item in self._items(syntax.bare(value), name)), node
        )

    def dictionary(self, name: str, *, when: Sequence[str] = (), given: Facts | None = None) -> Dictionary:
        """Return the dictionary display that is bound to a name once, at the top level, or under these conditions.

        Raises:
            NotOneError: nothing binds the name, or several statements do.
            UnknownError: what is bound is not a dictionary display, or the facts do not decide.
        """
        if when or given is not None:
            return super().dictionary(name, when=when, given=given)
        _, value = self._bound(self._node, name)
        return self._dictionary(value, name, None)

    def enum(self, class_name: str) -> Seen:
        """Return the members of an enumeration as pairs of name and literal, in the order written.

        Raises:
            NotOneError: there is no such class, or several.
            UnknownError: a value is computed (`auto()`), or the class body is more than plain statements.
        """
        node = self._class(class_name)
        pairs: list[Plain] = []
        for statement in syntax.children(syntax.field_of(node, "body")):
            if statement.type in syntax.COMPOUND:
                line = statement.start_point.row + 1
                raise UnknownError(f"the members of {class_name} depend on the statement in line {line}")
            if statement.type != "expression_statement" or not statement.named_children:
                continue
            assignment = statement.named_children[0]
            value = assignment.child_by_field_name("right") if assignment.type == "assignment" else None
            if value is None:
                continue
            name = self._source(syntax.field_of(assignment, "left"))
            if not name.isidentifier() or value.type == "assignment":
                raise UnknownError(f"{class_name} binds several names at once: {syntax.shortened(name)}")
            if not name.startswith("_"):
                pairs.append((name, self._literal(value, names=False)))
        if not pairs:
            raise NotOneError(f"member of {class_name}", [])
        return self._seen(tuple(pairs), node)

    def field(self, class_name: str, name: str) -> Seen:
        """Return a field's annotation and default as normalised source; what is not written is empty.

        Raises:
            NotOneError: no such class or field, or several.
        """
        node = self._field_node(class_name, name)
        annotation, default = node.child_by_field_name("type"), node.child_by_field_name("right")
        texts = [self._source(syntax.bare(part)) if part else "" for part in (annotation, default)]
        return self._seen(tuple(texts), node)

    def field_default(self, class_name: str, name: str) -> Seen:
        """Return a field's literal default, be it written plainly or as `default` of a call such as `Field(…)`.

        Raises:
            NotOneError: no such class or field, several, or a field without a default.
            UnknownError: the default is computed, or made by a factory.
        """
        node = self._field_node(class_name, name)
        value = node.child_by_field_name("right")
        if value is not None and syntax.bare(value).type == "call":
            value = syntax.argument(syntax.bare(value), None, "default")
            if value is None:
                raise UnknownError(f"the default of {class_name}.{name} is made by a call")
        if value is None:
            raise NotOneError(f"default of {class_name}.{name}", [])
        return self._seen(self._literal(value, names=True), node)

    def function(self, qualified_name: str) -> Function:
        """Return the one function of this name; methods and nested functions as `Class.method` and `outer.inner`.

        It may stand under a condition; a name that is bound again (`f = wrap(f)`, `@overload`) names no one function.

        Raises:
            NotOneError: there is none, or several bindings of that name.
        """
        node = self._definition(qualified_name)
        if node.type != syntax.FUNCTION:
            raise NotOneError(
                f"function {qualified_name}", [], [f"a class of that name in line {node.start_point.row + 1}"]
            )
        return Function(self, node, qualified_name)

    def default(self, function: str, parameter: str) -> Seen:
        """Return the literal default of a function's parameter; see `Function.default`."""
        return self.function(function).default(parameter)

    def arguments(self, function: str, position: int | None = None, keyword: str | None = None) -> tuple[Seen, ...]:
        """Return the literal given for one argument at every call of this dotted name, in order.

        Raises:
            NotOneError: there is no call, or one that does not give the argument.
            UnknownError: it is computed at one of them.
        """
        found = self.calls(function)
        if not found:
            self.call(function)
        return tuple(call.argument(position, keyword) for call in found)

    def count(self, kind: str, **matcher: str) -> Searched:
        """Return how often something occurs in the whole file, with the scope of the search.

        `("class", decorated_by=NAME)`: classes that a decorator of that name, called or bare, stands over.
        `("name", name=NAME)`: the identifier, wherever it stands, attributes included; not in comments or strings.
        `("call", of=DOTTED)`: calls of that dotted name as it is written.
        `("assignment", to=NAME)`: places that bind an attribute of that name, of whatever object; `setattr` is not seen.
        `("string", containing=TEXT)`: string literals that contain the text, adjacent ones taken together.

        Raises:
            UnknownError: the file does not parse, a string can't be told, or an import gives the name another one.
        """
        self._refuse_broken()
        found, said = self._searched(kind, matcher)
        definitions = len(syntax.of_type(self._node, syntax.FUNCTION)) + len(syntax.of_type(self._node, syntax.CLASS))
        return Searched(
            matcher=said,
            bytes=len(self.body),
            definitions=definitions,
            found=len(found),
            at=self._in or None,
            region=digest_of(self.body) if self._in else None,
        )

    def absent(self, kind: str, **matcher: str) -> Searched:
        """Return the search of `count`, once it has found nothing.

        Raises:
            ReadingError: it has found something.
            UnknownError: as `count`.
        """
        searched = self.count(kind, **matcher)
        if searched.found:
            lines = ", ".join(str(line) for line in syntax.lines_of(self._searched(kind, matcher)[0])[:8])
            raise ReadingError(f"expected no {searched.matcher}, found {searched.found} (lines {lines})")
        return searched

    # What the questions are made of

    def _refuse_broken(self) -> None:
        if self._problem is not None:
            raise UnknownError(self._problem)

    def _seen(self, value: Plain, node: Node, first: int | None = None) -> Seen:
        start, end = node.start_point.row + 1, node.end_point.row + 1
        if node.end_point.column == 0 and end > start:
            end -= 1
        start = min(start, first or start)
        region = digest_of(lines_region(self.body, start, end))
        return Seen(value=value, at={**self._in, "line": start, "lastLine": end}, region=region)

    def _searched(self, kind: str, matcher: dict[str, str]) -> tuple[list[Node], str]:
        match kind, matcher:
            case "class", {"decorated_by": name, **rest} if not rest:
                self._refuse_alias(name)
                return list(self._decorators(name)), f"class decorated by {name}"
            case "name", {"name": name, **rest} if not rest:
                same = [node for node in syntax.of_type(self._node, "identifier") if self._name(node) == name]
                return same, f"identifier {name}"
            case "call", {"of": name, **rest} if not rest:
                self._refuse_alias(name)
                calls = [
                    node
                    for node in syntax.of_type(self._node, "call")
                    if self._source(syntax.field_of(node, "function")) == name
                ]
                return calls, f"call of {name}"
            case "assignment", {"to": name, **rest} if not rest:
                bound = [
                    node
                    for node in syntax.of_type(self._node, "attribute")
                    if self._name(syntax.field_of(node, "attribute")) == name and self._is_bound(node)
                ]
                return bound, f"assignment to an attribute {name}"
            case "string", {"containing": text, **rest} if not rest:
                holding = [node for node in self._strings() if text in syntax.all_text(node, self.body)]
                return holding, f"string with {text!r}"
        raise ReadingError(f"no search for {kind!r} by {', '.join(sorted(matcher)) or 'nothing'}")

    def _is_bound(self, node: Node) -> bool:
        """Tell whether a node is bound where it stands, in the innermost scope around it."""
        path = syntax.path_to(self._node, node)
        inner = max((index for index, step in enumerate(path) if step.type in syntax.SCOPES), default=0)
        by = path[-2]
        return syntax.binds(path[inner:]) or (by.type == "for_in_clause" and by.child_by_field_name("left") == node)

    def _decorators(self, name: str) -> Iterator[Node]:
        """Yield the decorators of classes by that name, with or without what it is an attribute of."""
        for node in syntax.of_type(self._node, "decorator"):
            written = syntax.called(syntax.children(node)[0], self.body)
            over = node.parent.child_by_field_name("definition") if node.parent else None
            same = written in (name, name.rpartition(".")[2]) or written.endswith("." + name)
            if same and over is not None and over.type == syntax.CLASS:
                yield node

    def _strings(self) -> list[Node]:
        joined = syntax.of_type(self._node, "concatenated_string")
        inside = {part.id for node in joined for part in node.named_children}
        return [*joined, *(node for node in syntax.of_type(self._node, "string") if node.id not in inside)]

    def _refuse_alias(self, name: str) -> None:
        """An import or an assignment under another name would hide what is looked for by its name."""
        last = name.rpartition(".")[2]
        for node in syntax.of_type(self._node, "assignment"):
            right = node.child_by_field_name("right")
            named = right is not None and right.type in ("identifier", "attribute")
            if right is not None and named and self._source(right).rpartition(".")[2] == last:
                raise UnknownError(f"line {node.start_point.row + 1} gives {last} another name")
        for node in syntax.of_type(self._node, "aliased_import"):
            imported = self._source(syntax.field_of(node, "name"))
            alias = self._name(syntax.field_of(node, "alias"))
            if imported.rpartition(".")[2] in name.split(".") and alias not in (imported, last):
                line = node.start_point.row + 1
                raise UnknownError(f"line {line} imports {syntax.shortened(imported)} as {syntax.shortened(alias)}")

    def _definition(self, qualified_name: str) -> Node:
        self._refuse_broken()
        scope, done = self._node, ""
        for part in qualified_name.split("."):
            found = list(self._bindings(scope, part))
            within = f" in {done}" if done else ""
            if len(found) != 1:
                raise NotOneError(
                    f"definition of {part}{within}", syntax.lines_of([n for n, _ in found]), self._names(scope, part)
                )
            node, path = found[0]
            definition = path[-2]
            if definition.type not in (syntax.FUNCTION, syntax.CLASS):
                line = node.start_point.row + 1
                raise NotOneError(f"definition of {part}{within}", [], [f"bound otherwise in line {line}"])
            scope, done = definition, f"{done}.{part}" if done else part
        return scope

    def _class(self, qualified_name: str) -> Node:
        node = self._definition(qualified_name)
        if node.type != syntax.CLASS:
            line = node.start_point.row + 1
            raise NotOneError(f"class {qualified_name}", [], [f"a function of that name in line {line}"])
        return node

    def _bound(self, scope: Node, name: str, within: str = "") -> tuple[Node, Node]:
        """Return the assignment that alone binds the name, as a statement of its own, and its value."""
        self._refuse_broken()
        found = list(self._bindings(scope, name))
        if len(found) != 1:
            wanted = f"binding of {name}{within or ' at the top level'}"
            raise NotOneError(wanted, syntax.lines_of([node for node, _ in found]), self._names(scope, name))
        binding = syntax.Binding(*found[0])
        line = binding.node.start_point.row + 1
        if binding.assignment is None:
            raise UnknownError(f"{name} is bound in line {line} by something other than an assignment of its own")
        if binding.condition is not None:
            under = self.body[binding.condition.start_byte :].split(b"\n", 1)[0].decode("utf-8", "replace")
            raise UnknownError(f"{name} is bound in line {line} only under {syntax.shortened(under.strip())!r}")
        for star in syntax.of_type(scope, "wildcard_import"):
            if star.start_byte > binding.node.start_byte:
                raise UnknownError(f"the `import *` in line {star.start_point.row + 1} may bind {name} again")
        return binding.statement, syntax.field_of(binding.assignment, "right")

    def _bindings(self, scope: Node, name: str) -> Iterator[tuple[Node, list[Node]]]:
        """Yield the nodes that bind a name in a scope, or a dotted target, each with the path that leads to it."""
        self._refuse_broken()
        if "." in name:
            found = [node for node in syntax.of_type(scope, "attribute") if self._source(node) == name]
        else:
            found = syntax.named(scope, name, self.body)
        for node in found:
            if syntax.binds(path := syntax.path_to(scope, node)):
                yield node, path

    def _names(self, scope: Node, name: str) -> list[str]:
        """The names bound in a scope that a misspelt one could mean."""
        names = {
            self._name(node)
            for node in syntax.of_type(scope, "identifier")[:20_000]
            if syntax.binds(syntax.path_to(scope, node))
        }
        return syntax.near_misses(name, names)

    def _field_node(self, class_name: str, name: str) -> Node:
        """Return the annotated or plain assignment that declares a field; an annotation alone declares one, too."""
        body = self._class(class_name)
        found, others = [], []
        for node in syntax.of_type(body, "assignment"):
            path = syntax.path_to(body, node)
            if any(step.type in syntax.SCOPES for step in path[1:]):
                continue
            left = self._source(syntax.field_of(node, "left"))
            found.append((node, path)) if left == name else others.append(left)
        if len(found) != 1:
            raise NotOneError(
                f"field {name} of {class_name}",
                syntax.lines_of([n for n, _ in found]),
                syntax.near_misses(name, others),
            )
        node, path = found[0]
        if any(step.type in syntax.COMPOUND for step in path):
            raise UnknownError(f"the field {name} of {class_name} depends on a condition")
        return node

    def _dictionary(self, value: Node, name: str, first: int | None) -> Dictionary:
        node = syntax.bare(value)
        if node.type != "dictionary":
            raise UnknownError(f"{name} is no dictionary display: {syntax.shortened(self._source(node))}")
        return Dictionary(_module=self, _node=node, _name=name, _from=first)

    def _items(self, node: Node, name: str) -> list[Node]:
        if node.type == "call" and self._source(syntax.field_of(node, "function")) in _COLLECTIONS:
            given = syntax.children(syntax.field_of(node, "arguments"))
            node = syntax.bare(given[0]) if len(given) == 1 else node
        if node.type in ("list", "tuple", "set"):
            return syntax.children(node)
        if node.type == "subscript" and self._source(syntax.field_of(node, "value")).rpartition(".")[2] == "Literal":
            return node.children_by_field_name("subscript")
        raise UnknownError(f"{name} is no collection of literals: {syntax.shortened(self._source(node))}")

    def _literal(self, node: Node | None, *, names: bool) -> Plain:
        return "None" if node is None else syntax.literal(node, self.body, names, 0)

    def _conditions(self, node: Node, top: Node) -> list[Condition]:
        self._refuse_broken()
        return conditions_of(syntax.path_to(top, node), self.body)
