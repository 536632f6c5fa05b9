"""Conditions: what a node of a Python source stands under, as text, and whether facts decide it.

The tests around a node count, and the ways out before it that were not taken. Nothing is run: a condition is met, not
met, or left open by the facts.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias

from tree_sitter import Node

from site_builder.readers import Plain, UnknownError, syntax

Facts: TypeAlias = "Mapping[str, Plain | None]"
"""What is taken to hold, by source text."""


_CONDITIONS_AT_MOST = 200
_NEVER: Final = "never"
"""What stands behind a way out that is always taken."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A test that was met or not, and the row of the statement that puts it."""

    text: str
    met: bool
    row: int

    def __str__(self) -> str:
        return self.text if self.met else f"not ({self.text})"

    @property
    def negated(self) -> Condition:
        """The same test, with the other outcome."""
        return Condition(self.text, not self.met, self.row)


def _test(node: Node, body: bytes, row: int) -> Condition:
    """Return the condition that a test is met; `not` at its head is taken as its not being met."""
    met = True
    node = syntax.bare(node)
    while node.type == "not_operator":
        node, met = syntax.bare(syntax.field_of(node, "argument")), not met
    return Condition(syntax.source(node, body), met, row)


def matched(conditions: Sequence[Condition], pattern: str) -> list[Condition]:
    """Return the conditions that a pattern matches as a whole."""
    return [condition for condition in conditions if re.fullmatch(pattern, str(condition))]


def possible(found: Sequence[tuple[Node, list[Condition]]], given: Facts) -> list[tuple[Node, list[Condition]]]:
    """Leave out the places that the facts rule out; what is left must stand under nothing that they leave open."""
    left = []
    undecided: list[Condition] = []
    for node, conditions in found:
        verdicts = [(condition, _verdict(condition, given)) for condition in conditions]
        if not any(verdict is False for _, verdict in verdicts):
            left.append((node, conditions))
            undecided.extend(condition for condition, verdict in verdicts if verdict is None)
    if undecided:
        first = undecided[0]
        raise UnknownError(f"the facts do not decide line {first.row + 1}: {syntax.shortened(str(first))}")
    return left


def _verdict(condition: Condition, given: Facts) -> bool | None:
    if condition.text == _NEVER:
        return not condition.met
    known = given.get(str(condition))
    if isinstance(known, bool):
        return known
    expression = _expression(condition.text)
    truth = None if expression is None else _truth(expression, condition.text.encode(), given, 0)
    return truth if truth is None or condition.met else not truth


@lru_cache(maxsize=4096)
def _expression(text: str) -> Node | None:
    """Return a condition's text as an expression, or None if it is none (`except …`, `for … in …`, `match …`)."""
    root = syntax.parse(text.encode())
    statements = root.named_children
    if root.has_error or len(statements) != 1 or statements[0].type != "expression_statement":
        return None
    return statements[0].named_children[0] if len(statements[0].named_children) == 1 else None


def _truth(node: Node, body: bytes, given: Facts, depth: int) -> bool | None:
    node = syntax.bare(node)
    if node.type == "not_operator" and depth <= syntax.DEPTH_AT_MOST and syntax.source(node, body) not in given:
        truth = _truth(syntax.field_of(node, "argument"), body, given, depth + 1)
        return None if truth is None else not truth
    if node.type == "boolean_operator" and depth <= syntax.DEPTH_AT_MOST and syntax.source(node, body) not in given:
        sides = [_truth(syntax.field_of(node, side), body, given, depth + 1) for side in ("left", "right")]
        decisive = syntax.field_of(node, "operator").type == "or"
        return decisive if decisive in sides else None if None in sides else not decisive
    value = _fact(node, body, given, depth)
    return None if isinstance(value, _Undecided) else bool(value)


class _Undecided:
    """What the facts do not say."""


def _fact(node: Node, body: bytes, given: Facts, depth: int) -> Plain | _Undecided | None:
    """Return the value of an expression under the facts, as far as they say."""
    node = syntax.bare(node)
    text = syntax.source(node, body)
    if text in given:
        return given[text]
    if depth > syntax.DEPTH_AT_MOST:
        return _Undecided()
    if node.type == "comparison_operator":
        return _compared(node, body, given, depth)
    if node.type == "binary_operator":
        left, right = (_fact(syntax.field_of(node, side), body, given, depth + 1) for side in ("left", "right"))
        value = syntax.arithmetic(left, syntax.field_of(node, "operator").type, right)
        return _Undecided() if value is None else value
    if node.type == "none":
        return None
    try:
        return syntax.literal(node, body, False, depth)
    except UnknownError:
        return _Undecided()


def _compared(node: Node, body: bytes, given: Facts, depth: int) -> bool | _Undecided:
    sides = [_fact(side, body, given, depth + 1) for side in syntax.children(node)]
    for left, sign, right in zip(sides, syntax.signs(node, body), sides[1:], strict=False):
        if isinstance(left, _Undecided) or isinstance(right, _Undecided):
            return _Undecided()
        try:
            met = _COMPARISONS[sign](left, right)
        except (KeyError, TypeError):
            return _Undecided()
        if not met:
            return False
    return True


_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda one, other: _alike(one, other) and one == other,
    "!=": lambda one, other: _alike(one, other) and one != other,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda one, many: one in many,
    "not in": lambda one, many: one not in many,
    "is": lambda one, other: _only(one, other) and one is other,
    "is not": lambda one, other: _only(one, other) and one is not other,
}


def _alike(one: object, other: object) -> bool:
    """Tell that equality means something for both: a number given as a word is a slip, not another value."""
    if one is not None and other is not None and isinstance(one, int | Decimal) != isinstance(other, int | Decimal):
        raise TypeError
    return True


def _only(one: object, other: object) -> bool:
    """Tell that identity means something for one of these; for other values it is an accident."""
    if other is not None and not isinstance(other, bool) and one is not None and not isinstance(one, bool):
        raise TypeError
    return True


def conditions_of(path: list[Node], body: bytes) -> list[Condition]:
    """Return what the last node of a path stands under, counted from the first."""
    found: list[Condition] = []
    for index in range(1, len(path)):
        parent, child = path[index - 1], path[index]
        row = parent.start_point.row
        if parent.type in ("block", "module"):
            for before in syntax.children(parent):
                if before == child:
                    break
                if before.type == "case_clause":
                    _add(found, _case(before, body).negated)
                for way in _ways(before, body, 0):
                    _add(found, _unmet(way.met, found, before.start_point.row))
        else:
            for condition in _of_step(parent, child, body, row):
                _add(found, condition)
    return found


def _add(found: list[Condition], condition: Condition) -> None:
    if not any(one.text == condition.text and one.met == condition.met for one in found):
        found.append(condition)
    if len(found) > _CONDITIONS_AT_MOST:
        raise UnknownError(f"line {condition.row + 1} and others are more conditions than are read")


def _unmet(exit_path: Sequence[Condition], given: Sequence[Condition], row: int) -> Condition:
    """Return that a way out was not taken, given what is known already."""
    known = {(condition.text, condition.met) for condition in given}
    left = [condition for condition in exit_path if (condition.text, condition.met) not in known]
    if not left:
        return Condition(_NEVER, True, row)
    if len(left) == 1:
        return left[0].negated
    return Condition(" and ".join(f"({condition})" for condition in left), False, row)


def _of_step(parent: Node, child: Node, body: bytes, row: int) -> Iterator[Condition]:
    """Yield what standing in this child of the parent says."""
    match parent.type:
        case "if_statement":
            yield from _of_if(parent, child, body)
        case "elif_clause":
            if parent.child_by_field_name("consequence") == child:
                yield _test(syntax.field_of(parent, "condition"), body, row)
        case "while_statement":
            if parent.child_by_field_name("body") == child:
                yield _test(syntax.field_of(parent, "condition"), body, row)
        case "for_statement":
            if parent.child_by_field_name("body") == child:
                yield Condition(_loop(parent, body), True, row)
        case "try_statement":
            yield from _of_try(parent, child, body)
        case "case_clause":
            if parent.child_by_field_name("consequence") == child:
                yield _case(parent, body)
        case "conditional_expression":
            parts = syntax.children(parent)
            if child != parts[1]:
                condition = _test(parts[1], body, row)
                yield condition if child == parts[0] else condition.negated
        case "boolean_operator":
            if parent.child_by_field_name("right") == child:
                condition = _test(syntax.field_of(parent, "left"), body, row)
                yield condition if syntax.field_of(parent, "operator").type == "and" else condition.negated
        case kind if kind in syntax.COMPREHENSIONS:
            for clause in syntax.children(parent):
                if clause == child and clause.type in ("for_in_clause", "if_clause"):
                    break
                if clause.type == "for_in_clause":
                    yield Condition(_loop(clause, body), True, row)
                elif clause.type == "if_clause":
                    yield _test(syntax.children(clause)[0], body, row)


def _of_if(parent: Node, child: Node, body: bytes) -> Iterator[Condition]:
    """Each test before the branch was not met; the branch's own was."""
    own = _test(syntax.field_of(parent, "condition"), body, parent.start_point.row)
    if parent.child_by_field_name("consequence") == child:
        yield own
    for alternative in parent.children_by_field_name("alternative"):
        if alternative == child:
            yield own.negated
            for earlier in parent.children_by_field_name("alternative"):
                if earlier == child:
                    return
                yield _test(syntax.field_of(earlier, "condition"), body, earlier.start_point.row).negated


def _of_try(parent: Node, child: Node, body: bytes) -> Iterator[Condition]:
    handlers = [part for part in syntax.children(parent) if part.type.startswith("except")]
    if child.type == "else_clause":
        for handler in handlers:
            yield _handled(handler, body).negated
    for index, handler in enumerate(handlers):
        if handler == child:
            for earlier in handlers[:index]:
                yield _handled(earlier, body).negated
            yield _handled(handler, body)


def _case(clause: Node, body: bytes) -> Condition:
    patterns = [syntax.source(part, body) for part in syntax.children(clause) if part.type == "case_pattern"]
    parts = [f"case {', '.join(patterns)}"]
    guard = clause.child_by_field_name("guard")
    if guard is not None:
        parts.append(syntax.source(guard, body))
    subjects = [syntax.source(node, body) for node in _match_of(clause).children_by_field_name("subject")]
    return Condition(" ".join([f"match {', '.join(subjects)}:", *parts]), True, clause.start_point.row)


def _match_of(clause: Node) -> Node:
    block = clause.parent
    match = block.parent if block is not None else None
    if match is None:
        raise UnknownError("a case stands in no match")
    return match


def _handled(handler: Node, body: bytes) -> Condition:
    values = handler.children_by_field_name("value")
    text = " ".join(["except", *(syntax.source(syntax.bare(_unaliased(value)), body) for value in values)])
    return Condition(text, True, handler.start_point.row)


def _unaliased(node: Node) -> Node:
    return syntax.children(node)[0] if node.type == "as_pattern" else node


def _loop(node: Node, body: bytes) -> str:
    left, right = (syntax.source(syntax.field_of(node, side), body) for side in ("left", "right"))
    return f"for {left} in {right}"


@dataclass(frozen=True, slots=True)
class _Way:
    """A way out of a block: what must be met to take it, and whether it only leaves the loop or its turn."""

    met: list[Condition]
    of_loop: bool = False


def _ways(statement: Node, body: bytes, depth: int) -> list[_Way]:
    """Return the ways in which a statement ends the block it stands in.

    To be sure of, each must be taken whenever its conditions are met: what a handler may catch and go on from is no way
    out, except that then the handler was entered, and what `contextlib.suppress` may swallow is none either.
    """
    if depth > syntax.DEPTH_AT_MOST:
        raise UnknownError(f"line {statement.start_point.row + 1} is nested too deeply")
    match statement.type:
        case "return_statement" | "raise_statement":
            return [_Way([])]
        case "break_statement" | "continue_statement":
            return [_Way([], of_loop=True)]
        case "if_statement" | "match_statement":
            return [
                _Way([*conditions, *way.met], way.of_loop)
                for conditions, block in _branches(statement, body)
                for way in _ways_of_block(block, body, depth + 1)
            ]
        case "with_statement":
            items = syntax.source(syntax.children(statement)[0], body)
            ways = _ways_of_block(syntax.field_of(statement, "body"), body, depth + 1)
            return [way for way in ways if way.of_loop] if "suppress" in items else ways
        case "for_statement" | "while_statement":
            row = statement.start_point.row
            if statement.type == "for_statement":
                around = Condition(_loop(statement, body), True, row)
            else:
                around = _test(syntax.field_of(statement, "condition"), body, row)
            ways = _ways_of_block(syntax.field_of(statement, "body"), body, depth + 1)
            return [_Way([around, *way.met]) for way in ways if not way.of_loop]
        case "try_statement":
            return _ways_of_try(statement, body, depth + 1)
    return []


def _ways_of_block(block: Node, body: bytes, depth: int) -> list[_Way]:
    ways: list[_Way] = []
    stayed: list[Condition] = []
    for statement in syntax.children(block):
        new = _ways(statement, body, depth)
        # Who left the loop's turn before does not come here, and yet comes to what stands behind the loop.
        ways.extend(_Way([*stayed, *way.met], way.of_loop) for way in new)
        for way in new:
            if way.of_loop:
                _add(stayed, _unmet(way.met, stayed, statement.start_point.row))
        if any(not way.met for way in new):
            break
    return ways


def _branches(statement: Node, body: bytes) -> Iterator[tuple[list[Condition], Node]]:
    """Yield each branch of an `if` or a `match` with what must be met and not met to take it."""
    passed: list[Condition] = []
    if statement.type == "match_statement":
        for clause in syntax.children(syntax.field_of(statement, "body")):
            if clause.type == "case_clause":
                yield [*passed, _case(clause, body)], syntax.field_of(clause, "consequence")
                passed.append(_case(clause, body).negated)
        return
    for branch in (statement, *statement.children_by_field_name("alternative")):
        if branch.type == "else_clause":
            yield passed, syntax.field_of(branch, "body")
        else:
            test = _test(syntax.field_of(branch, "condition"), body, branch.start_point.row)
            yield [*passed, test], syntax.field_of(branch, "consequence")
            passed = [*passed, test.negated]


def _ways_of_try(statement: Node, body: bytes, depth: int) -> list[_Way]:
    ways: list[_Way] = []
    entered: list[Condition] = []
    for handler in syntax.children(statement):
        if handler.type.startswith("except"):
            inner = _ways_of_block(syntax.children(handler)[-1], body, depth)
            ways.extend(_Way([_handled(handler, body), *way.met], way.of_loop) for way in inner)
            if all(way.met for way in inner):
                entered.append(_handled(handler, body))
        elif handler.type == "finally_clause":
            ways.extend(_ways_of_block(syntax.children(handler)[-1], body, depth))
    tried = _ways_of_block(syntax.field_of(statement, "body"), body, depth)
    if not entered:
        return [*tried, *ways]
    ways.extend(way for way in tried if way.of_loop)
    if len(entered) == 1 and any(not way.met and not way.of_loop for way in tried):
        # Whoever comes past a body that always leaves comes through the one handler that goes on.
        ways.append(_Way([entered[0].negated]))
    return ways
