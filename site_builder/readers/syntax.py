"""Python's syntax tree: nodes, their normalised source, the literals they are, and what binds a name.

What is asked of a module is `python`'s; under which conditions a node stands is `conditions`'.
"""

from __future__ import annotations

import difflib
import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

import tree_sitter
import tree_sitter_python
from tree_sitter import Node

from site_builder.readers import Plain, UnknownError

_BYTES_AT_MOST = 2 << 20
"""Ten times the largest source met; a single hostile line of this size takes seconds to parse, not minutes."""

_READ_AT_MOST = 16 << 20
"""Nodes of one kind may stand in each other; together they may not be more to read than this."""

DEPTH_AT_MOST = 100
_PATH_AT_MOST = 250
_DIGITS_AT_MOST = 80
_SHOWN_AT_MOST = 60

LANGUAGE: Final = tree_sitter.Language(tree_sitter_python.language())
_CODING: Final = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
FUNCTION: Final = "function_definition"
CLASS: Final = "class_definition"
SCOPES: Final = frozenset({FUNCTION, CLASS, "lambda"})
COMPREHENSIONS: Final = frozenset(
    {"list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"}
)
COMPOUND: Final = frozenset(
    {"if_statement", "for_statement", "while_statement", "try_statement", "with_statement", "match_statement"}
)

# Nodes -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def parse(body: bytes) -> Node:
    """Return the root of a source's tree; it may be broken. Each body is parsed once: releases share most of theirs."""
    return tree_sitter.Parser(LANGUAGE).parse(body).root_node


def unreadable(body: bytes) -> str | None:
    """Return why a source can't be read at all, or None."""
    if len(body) > _BYTES_AT_MOST:
        return f"expected at most {_BYTES_AT_MOST} bytes of Python, found {len(body)}"
    for line in body.split(b"\n", 2)[:2]:
        coding = _CODING.match(line)
        if coding and coding[1].lower().replace(b"_", b"-") not in (b"utf-8", b"utf8", b"ascii", b"us-ascii"):
            return "the source says that it is not UTF-8"
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"line {body.count(bytes([10]), 0, error.start) + 1} is not UTF-8"
    # Python ends a line, and with it a comment, at a lone carriage return; the parser and `sed` do not.
    for mark, said in ((rb"\r(?!\n)", "a carriage return of its own"), (rb"\0", "a NUL")):
        found = re.search(mark, body)
        if found:
            return f"line {body.count(bytes([10]), 0, found.start()) + 1} holds {said}"
    return None


def broken(root: Node) -> str | None:
    """Return why a tree can't be relied on, or None."""
    if root.has_error:
        node = root
        while True:
            # Following the first child that holds an error leads to the error itself.
            inner = next((child for child in node.children if child.has_error or child.is_missing), None)
            if inner is None or node.is_error:
                break
            node = inner
        return f"the source does not parse at line {node.start_point.row + 1}"
    for kind in ("print_statement", "exec_statement"):
        old = of_type(root, kind)
        if old:
            return f"line {old[0].start_point.row + 1} is not Python 3"
    return None


@lru_cache(maxsize=256)
def _query(node_type: str) -> tree_sitter.Query:
    return tree_sitter.Query(LANGUAGE, f"({node_type}) @node")


def of_type(node: Node, node_type: str) -> list[Node]:
    """Return the nodes of a type in a node, itself included, in the order of the source."""
    found = tree_sitter.QueryCursor(_query(node_type)).captures(node).get("node", [])
    if sum(one.end_byte - one.start_byte for one in found) > _READ_AT_MOST:
        raise UnknownError(f"line {node.start_point.row + 1} is nested too deeply to be searched")
    return sorted(found, key=lambda one: (one.start_byte, -one.end_byte))


def named(top: Node, name: str, body: bytes) -> list[Node]:
    """Return the identifiers of a name in a node, as `of_type` and `name_of` find them."""
    if not name.isascii() or _disguises(body):
        return [node for node in of_type(top, "identifier") if name_of(node, body) == name]
    found: list[Node] = []
    wanted = name.encode()
    at = body.find(wanted, top.start_byte, top.end_byte)
    while at >= 0:
        node = top.descendant_for_byte_range(at, at + len(wanted))
        if node is not None and node.type == "identifier" and node.end_byte - node.start_byte == len(wanted):
            found.append(node)
        at = body.find(wanted, at + len(wanted), top.end_byte)
    return found


@lru_cache(maxsize=64)
def _disguises(body: bytes) -> bool:
    """Return whether a character of the source could stand for an ASCII one in a name."""
    plain = unicodedata.normalize("NFKC", "".join(one for one in {*body.decode("utf-8", "replace")} if one > "\x7f"))
    return any(one.isascii() and one.isalnum() for one in plain)


def path_to(top: Node, node: Node) -> list[Node]:
    """Return the nodes from one down to another inside it, both included."""
    path = [top]
    while path[-1] != node:
        step = path[-1].child_with_descendant(node)
        if step is None or len(path) == _PATH_AT_MOST:
            raise UnknownError(f"line {node.start_point.row + 1} is nested too deeply, or outside of what is read")
        path.append(step)
    return path


def children(node: Node) -> list[Node]:
    """Return the named nodes directly in a node, without comments."""
    return [child for child in node.named_children if child.type not in ("comment", "line_continuation")]


def field_of(node: Node, name: str) -> Node:
    """Return the part of a node that has this name in the grammar, which must be there."""
    found = node.child_by_field_name(name)
    if found is None:
        raise UnknownError(f"line {node.start_point.row + 1}: expected the {name} of a {node.type}, found none")
    return found


def bare(node: Node) -> Node:
    """Return what stands in parentheses that only group."""
    while node.type == "parenthesized_expression":
        inner = children(node)
        if len(inner) != 1:
            break
        node = inner[0]
    return node


def _is_dotted(node: Node) -> bool:
    while node.type == "attribute":
        node = field_of(node, "object")
    return node.type == "identifier"


def called(node: Node, body: bytes) -> str:
    """Return the dotted name of a decorator, called or bare."""
    return source(field_of(node, "function") if node.type == "call" else node, body)


def returned(node: Node) -> Node | None:
    """Return what a `return` gives, if anything."""
    values = children(node)
    return values[0] if values else None


def argument(call: Node, position: int | None, keyword: str | None) -> Node | None:
    """Return the argument at a position or of a name, if the call gives it and `*` or `**` can't."""
    arguments = field_of(call, "arguments")
    if arguments.type != "argument_list":
        raise UnknownError(f"line {call.start_point.row + 1} is called with a generator")
    given = children(arguments)
    splat = next((item for item in given if item.type in ("list_splat", "dictionary_splat")), None)
    for item in given:
        if item.type == "keyword_argument" and keyword is not None and field_of(item, "name").text == keyword.encode():
            return field_of(item, "value")
    plain = [item for item in given if item.type != "keyword_argument"]
    if (
        position is not None
        and position < len(plain)
        and (splat is None or splat.start_byte > plain[position].start_byte)
    ):
        return plain[position]
    if splat is not None:
        raise UnknownError(f"line {call.start_point.row + 1} takes arguments from elsewhere")
    return None


_LEVELS: Final = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal"})


def log_message(call: Node, body: bytes) -> Node | None:
    """Return the message of a logger call, or None if the call is none or its message is not a string literal."""
    function = field_of(call, "function")
    arguments = field_of(call, "arguments")
    if function.type != "attribute" or arguments.type != "argument_list":
        return None
    level = name_of(field_of(function, "attribute"), body).removesuffix("_once")
    logger = source(field_of(function, "object"), body).rpartition(".")[2].strip("_").lower()
    given = children(arguments)
    if level not in _LEVELS or not (logger in ("log", "logging") or logger.endswith("logger")) or not given:
        return None
    message = bare(given[0])
    return message if message.type in ("string", "concatenated_string") else None


def literal_start(message: Node, body: bytes) -> str:
    """Return what a message says up to its first interpolation."""
    return all_text(message, body).partition("\0")[0]


def links(comparison: Node, body: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield left side, operator and right side of each link of a comparison."""
    sides = [source(bare(side), body) for side in children(comparison)]
    yield from zip(sides, signs(comparison, body), sides[1:], strict=False)


def signs(comparison: Node, body: bytes) -> list[str]:
    """Return the operators of a comparison, `not in` and `is not` with one space."""
    return [source(sign, body) for sign in comparison.children_by_field_name("operators")]


def lines_of(nodes: Sequence[Node]) -> list[int]:
    """Return the lines that nodes begin at."""
    return [node.start_point.row + 1 for node in nodes]


# Text --------------------------------------------------------------------------------------------------------

_OPENING: Final = frozenset({"(", "[", "{"})
_CLOSING: Final = frozenset({")", "]", "}"})


def source(node: Node, body: bytes) -> str:
    """Return the normalised source of a node (see the module's docstring)."""
    out: list[str] = []
    end = node.start_byte
    for leaf, parent in _leaves(node):
        word = body[leaf.start_byte : leaf.end_byte].decode("utf-8", "replace")
        gap = body[end : leaf.start_byte]
        end = leaf.end_byte
        if word in _CLOSING and out and out[-1] == "," and b"\n" in gap and not _is_one_tuple(parent):
            out.pop()
        last = out[-1] if out else "("
        glued = last in _OPENING or word in _CLOSING or word == "," or "." in (word, last)
        if gap and not glued:
            out.append(" ")
        out.append(word)
    return "".join(out)


def _is_one_tuple(parent: Node | None) -> bool:
    return parent is not None and parent.type == "tuple" and len(children(parent)) == 1


def _leaves(node: Node) -> Iterator[tuple[Node, Node | None]]:
    """Yield the words of a node in order with the nodes they stand in; a string is one word, a comment none."""
    waiting: list[tuple[Node, Node | None]] = [(node, None)]
    while waiting:
        here, parent = waiting.pop()
        if here.type in ("comment", "line_continuation"):
            continue
        within = here.children
        if here.type == "string" or not within:
            if here.end_byte > here.start_byte:
                yield here, parent
        else:
            waiting.extend((child, here) for child in reversed(within))


def shortened(text: str) -> str:
    """Return a text that fits a message."""
    return text if len(text) <= _SHOWN_AT_MOST else text[:_SHOWN_AT_MOST] + "…"


def name_of(node: Node, body: bytes) -> str:
    """Return a name as Python knows it: names that look different may be the same."""
    return unicodedata.normalize("NFKC", body[node.start_byte : node.end_byte].decode("utf-8", "replace"))


def near_misses(wanted: str, names: Iterable[str]) -> list[str]:
    """Return up to three of the names that could be meant."""
    short = sorted({name for name in names if len(name) <= 200})[:2000]
    return difflib.get_close_matches(wanted[:200], short, 3, 0.6)


# Literals ----------------------------------------------------------------------------------------------------

_ESCAPE: Final = re.compile(
    r"\\(?:\r?\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)", re.DOTALL
)
_ESCAPED: Final = dict(zip("\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v", strict=True))
_ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
}
_LARGEST: Final = 1 << 256


def literal(node: Node, body: bytes, names: bool, depth: int) -> Plain:
    """Return the value of a literal; with `names`, dotted names and `None` as their source."""
    node = bare(node)
    if depth > DEPTH_AT_MOST:
        raise UnknownError(f"line {node.start_point.row + 1} is nested too deeply")
    match node.type:
        case "integer" | "float":
            return _number(node, body)
        case "true" | "false":
            return node.type == "true"
        case "string" | "concatenated_string":
            return _string(node, body)
        case "list" | "tuple" | "set" | "expression_list":
            return tuple(literal(item, body, names, depth + 1) for item in children(node))
        case "unary_operator":
            operand = literal(field_of(node, "argument"), body, False, depth + 1)
            sign = field_of(node, "operator").type
            if isinstance(operand, int) and not isinstance(operand, bool):
                return {"-": -operand, "+": operand, "~": ~operand}[sign]
            if isinstance(operand, Decimal) and sign in "+-":
                return operand.copy_negate() if sign == "-" else operand
        case "binary_operator":
            return _computed(node, body, depth)
        case "none" if names:
            return "None"
        case "identifier" | "attribute" if names and _is_dotted(node):
            return source(node, body)
    raise UnknownError(f"line {node.start_point.row + 1} is no literal: {shortened(source(node, body))}")


def _computed(node: Node, body: bytes, depth: int) -> int:
    left = literal(field_of(node, "left"), body, False, depth + 1)
    right = literal(field_of(node, "right"), body, False, depth + 1)
    value = arithmetic(left, field_of(node, "operator").type, right)
    if value is None:
        line = node.start_point.row + 1
        raise UnknownError(f"line {line} is no plain integer arithmetic: {shortened(source(node, body))}")
    return value


def arithmetic(left: object, sign: str, right: object) -> int | None:
    """Return the value of integer arithmetic, or None if it is none, has no value or grows beyond bounds."""
    if type(left) is not int or type(right) is not int or sign not in _ARITHMETIC:
        return None
    if sign in ("//", "%") and right == 0:
        return None
    if (sign in ("**", "<<", ">>") and not 0 <= right <= 256) or max(abs(left), abs(right)) > _LARGEST:
        return None
    value = _ARITHMETIC[sign](left, right)
    return value if abs(value) <= _LARGEST else None


def _number(node: Node, body: bytes) -> int | Decimal:
    text = body[node.start_byte : node.end_byte].decode("ascii", "replace")
    try:
        if len(text) > _DIGITS_AT_MOST:
            raise ValueError
        if node.type == "integer":
            return int(text, 0)
        mantissa, _, exponent = text.lower().partition("e")
        if exponent and abs(int(exponent)) > 400:
            raise ValueError
        if not re.fullmatch(r"(?:\d+(?:_\d+)*)?\.?(?:\d+(?:_\d+)*)?", mantissa):
            raise ValueError
        return Decimal(text.replace("_", ""))
    except (ValueError, ArithmeticError):
        line = node.start_point.row + 1
        raise UnknownError(f"line {line} holds a number that is not read: {shortened(text)}") from None


def _string(node: Node, body: bytes) -> str:
    parts = [node] if node.type == "string" else [part for part in children(node) if part.type == "string"]
    return "".join(_string_part(part, body, whole=True) for part in parts)


def _string_part(node: Node, body: bytes, *, whole: bool) -> str:
    """Return what a string literal says. With `whole`, one that holds an interpolation or is of bytes says nothing."""
    start, end = node.children[0], node.children[-1]
    opening = body[start.start_byte : start.end_byte].decode("ascii", "replace")
    prefix = opening.rstrip("'\"").lower()
    line = node.start_point.row + 1
    if whole and ("b" in prefix or "t" in prefix or any(part.type == "interpolation" for part in node.children)):
        raise UnknownError(f"line {line} holds no plain string: {shortened(source(node, body))}")
    pieces, at = [], start.end_byte
    for part in node.children[1:-1]:
        if part.type == "interpolation":
            pieces.append(body[at : part.start_byte])
            pieces.append(b"\0")  # stands for what is not known; no search finds it
            at = part.end_byte
    pieces.append(body[at : end.start_byte])
    text = b"".join(pieces).decode("utf-8", "replace").replace("\r\n", "\n")
    if "r" not in prefix:
        text = _ESCAPE.sub(lambda found: _unescaped(found[0], line, in_bytes="b" in prefix), text)
    return text.replace("{{", "{").replace("}}", "}") if "f" in prefix or "t" in prefix else text


def _unescaped(escape: str, line: int, *, in_bytes: bool) -> str:
    kind = escape[1]
    if kind in _ESCAPED:
        return _ESCAPED[kind]
    if kind in "\r\n":
        return ""
    if kind in "01234567":
        return chr(int(escape[1:], 8))
    if kind == "x" and len(escape) == 4:
        return chr(int(escape[2:4], 16))
    if kind in "uU" and len(escape) > 2 and not in_bytes:
        code = int(escape[2:10], 16)
        if code < 0x110000 and not 0xD800 <= code < 0xE000:
            return chr(code)
    if kind in "uUNx" and not in_bytes:
        raise UnknownError(f"line {line} holds an escape that is not read: {shortened(escape)}")
    return escape


def all_text(node: Node, body: bytes) -> str:
    """Return all that a string literal says, whatever its kind."""
    parts = [node] if node.type == "string" else [part for part in children(node) if part.type == "string"]
    return "".join(_string_part(part, body, whole=False) for part in parts)


def caught(whole: str, words: tuple[str, ...]) -> Plain:
    """Return what a pattern's groups caught: nothing means the whole, one is a word, several are a tuple."""
    return whole if not words else words[0] if len(words) == 1 else words


# Bindings ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Binding:
    """One place that binds a name, with the path from the scope down to it."""

    node: Node
    path: list[Node]

    @property
    def assignment(self) -> Node | None:
        """The assignment, of several in one the last, whose `right` is what the name alone is bound to."""
        parent = self.path[-2]
        if parent.type != "assignment" or parent.child_by_field_name("left") != self.node:
            return None
        while (right := parent.child_by_field_name("right")) is not None and right.type == "assignment":
            parent = right
        return parent

    @property
    def statement(self) -> Node:
        """The outermost node on the assignment's own line of assignments."""
        return next(node for node in self.path if node.type in ("assignment", self.node.type))

    @property
    def condition(self) -> Node | None:
        """The compound statement that may keep the binding from being reached, if it stands in one."""
        return next((step for step in self.path[1:] if step.type in COMPOUND), None)


_THROUGH: Final = frozenset(
    {
        "pattern_list",
        "tuple_pattern",
        "list_pattern",
        "list_splat_pattern",
        "tuple",
        "list",
        "expression_list",
        "parenthesized_expression",
        "splat_pattern",
        "generic_type",
    }
)
"""What may stand between a name and the statement that binds it."""


def binds(path: list[Node]) -> bool:
    """Tell whether the last node of a path binds its name in the scope that the path begins with."""
    scope, node = path[0], path[-1]
    bound, index = node, len(path) - 2
    while index > 0 and path[index].type in _THROUGH:
        bound, index = path[index], index - 1
    if index < 0:
        return False
    by = path[index]
    if by == scope and by.type in (FUNCTION, CLASS):
        return False  # Its own name, parameters and bases are not bound in its body.
    between = path[1:index]
    if by.type in ("global_statement", "nonlocal_statement"):
        return scope.type != CLASS
    if any(step.type in SCOPES for step in between):
        return False
    if by.type != "named_expression" and any(step.type in COMPREHENSIONS for step in between):
        return False
    return _is_target(by, bound, path, index)


def _is_target(by: Node, bound: Node, path: list[Node], index: int) -> bool:
    match by.type:
        case "assignment":
            # `name: int` alone declares the name and binds nothing.
            return by.child_by_field_name("left") == bound and by.child_by_field_name("right") is not None
        case "augmented_assignment" | "for_statement":
            return by.child_by_field_name("left") == bound
        case "named_expression" | "function_definition" | "class_definition":
            return by.child_by_field_name("name") == bound
        case "as_pattern_target" | "delete_statement" | "case_pattern":
            return True
        case "as_pattern":
            return by.child_by_field_name("alias") == bound or by.named_children[-1] == bound
        case "aliased_import":
            return by.child_by_field_name("alias") == bound
        case "type":
            return path[index - 1].type == "type_alias_statement" and path[index - 1].child_by_field_name("left") == by
        case "dotted_name":
            return _imports(by, bound, path[index - 1])
    return False


def _imports(dotted: Node, name: Node, by: Node) -> bool:
    if by.type == "import_statement":
        return dotted.named_children[0] == name
    if by.type == "import_from_statement":
        return by.child_by_field_name("module_name") != dotted
    # A bare name in a pattern takes the value; a dotted one compares with it.
    return by.type in ("case_pattern", "as_pattern", "keyword_pattern") and len(dotted.named_children) == 1
