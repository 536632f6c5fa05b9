"""Strict text formats: JSON and YAML in without guessing, JSON out in one way only.

What the standard loaders let pass silently is refused here with its line: a key that stands twice, NaN, a
byte-order mark, anchors and tags, a nesting or a size that no honest file has. No number becomes a float; in
YAML nothing becomes anything but a string. Typing is left to the models, and turning a `LoadError` into the
error of whoever must act is left to the caller.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias

import rfc8785
import yaml

Path: TypeAlias = tuple[str | int, ...]
Lines: TypeAlias = dict[Path, int]
"""For each path, `("sources", 3, "id")`, the line (from one) where its key or, in a list, its item begins."""

JSON_BYTES = 8 * 1024 * 1024
JSON_DEPTH = 64
YAML_BYTES = 256 * 1024
YAML_DEPTH = 32

_NUMBER_LENGTH = 64
_EXPONENT = 400
_LARGEST_INT = 2**53 - 1


class LoadError(Exception):
    """The text could not be loaded: the `problem`, its `line` and `column` from one or None, the `remedy`."""

    def __init__(self, where: str, line: int | None, column: int | None, problem: str, remedy: str) -> None:
        super().__init__(f"{where}{'' if line is None else f':{line}:{column}'}: {problem}")
        self.where = where
        self.line = line
        self.column = column
        self.problem = problem
        self.remedy = remedy

    @property
    def place(self) -> str:
        """The file and, where it is known, the line, as messages begin."""
        return self.where if self.line is None else f"{self.where}:{self.line}"


class UnwritableError(ValueError):
    """A value has no place in our JSON: a float, a None, a key that is not a string, a lone surrogate."""


def load_json(text: bytes, where: str) -> Any:
    """Return the value of a JSON text; its numbers are int or, with a point or an exponent, Decimal.

    Raises:
        LoadError: not UTF-8, not JSON, a duplicate key, or beyond a limit.
    """
    source = _decoded(text, where, JSON_BYTES)
    try:
        if _nesting(source) > JSON_DEPTH or _SURROGATE.search(source):
            raise ValueError
        return _FAST.decode(source)
    except (ValueError, RecursionError):
        # The fast reader knows that something is wrong but not always where; the exact one names the line.
        return _Json(source, where).document()


def load_json_lines(text: bytes, where: str) -> tuple[Any, Lines]:
    """Return what `load_json` returns, and the line of each path.

    Raises:
        LoadError: as `load_json`.
    """
    reader = _Json(_decoded(text, where, JSON_BYTES), where)
    value = reader.document()
    return value, reader.lines


def load_yaml(text: bytes, where: str, *, first_line: int = 1) -> Any:
    """Return the value of a YAML text, whose scalars are all strings as written: `3.10` stays "3.10".

    Raises:
        LoadError: not UTF-8, not YAML, empty, more than one document, a duplicate key, an anchor, alias, tag,
            merge key or directive, or beyond a limit. Its line counts the text's first line as `first_line`.
    """
    return load_yaml_lines(text, where, first_line=first_line)[0]


def load_yaml_lines(text: bytes, where: str, *, first_line: int = 1) -> tuple[Any, Lines]:
    """Return what `load_yaml` returns, and the line of each path.

    Raises:
        LoadError: as `load_yaml`.
    """
    reader = _Yaml(_decoded(text, where, YAML_BYTES), where, first_line)
    value = reader.document()
    return value, reader.lines


def dump_json(value: Any) -> bytes:
    """Return the value as all our files are written: UTF-8, LF, one space of indent, keys in the order given.

    Raises:
        UnwritableError: it holds a float, a Decimal, a None, a key that is not a string, an integer beyond
            2^53-1, half of a surrogate pair, or is nested deeper than `load_json` reads.
    """
    if _is_plain(value, null=False):
        text = json.dumps(value, ensure_ascii=False, indent=1)
        if not _LONE.search(text):
            return text.encode() + b"\n"
    plain = _plain(value, "", null=False)
    return json.dumps(plain, ensure_ascii=False, indent=1).encode() + b"\n"


def canonical_json(value: Any) -> bytes:
    """Return the canonical form (RFC 8785) of the value; it takes the nulls of upstream answers, too.

    Raises:
        UnwritableError: as `dump_json`, null excepted.
    """
    plain = value if _is_plain(value, null=True) else _plain(value, "", null=True)
    # Of what is left, the encoder in C writes the same text many times faster; keys alone it sorts by code points, which
    # is the order of UTF-16 units unless a character needs two of them.
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if plain is value and _LONE.search(text):
        plain = _plain(value, "", null=True)
    return text.encode() if max(text) <= "\uffff" else rfc8785.dumps(plain)


def _decoded(text: bytes, where: str, at_most: int) -> str:
    if len(text) > at_most:
        problem = f"expected at most {at_most} bytes, found {len(text)}"
        raise LoadError(where, None, None, problem, "Split the file, or keep only what is needed.")
    if text.startswith(b"\xef\xbb\xbf"):
        raise LoadError(where, 1, 1, "begins with a byte-order mark", "Save the file as UTF-8 without one.")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _place(text[: error.start].decode("utf-8"), error.start)
        problem = f"expected UTF-8, found the byte 0x{text[error.start]:02x}"
        raise LoadError(where, line, column, problem, "Save the file as UTF-8.") from None


def _place(source: str, index: int) -> tuple[int, int]:
    """Return line and column, from one. Only a line feed ends a line, as in editors and in `sed`."""
    index = min(index, len(source))
    return source.count("\n", 0, index) + 1, index - source.rfind("\n", 0, index)


# JSON -------------------------------------------------------------------------------------------------------

_PIECE = r'[^"\\\x00-\x1f]*+'
_STRING = re.compile(rf'"{_PIECE}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PIECE})*+"')
_BARE = re.compile(r"[\w.+-]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SPACE = re.compile(r"[ \t\n\r]*")
_QUOTED = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_UNBRACKETED = re.compile(r"[^\[\]{}]+")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}


def _nesting(source: str) -> int:
    depth = deepest = 0
    for character in _UNBRACKETED.sub("", _QUOTED.sub("", source)):
        depth += 1 if character in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError
    return value


def _refused(token: str) -> NoReturn:
    raise ValueError(token)


def _int(token: str) -> int:
    if len(token) > _NUMBER_LENGTH:
        raise ValueError
    return int(token)


def _decimal(token: str) -> Decimal:
    # Beyond these, turning the number into an int or a string would take the machine with it.
    if len(token) > _NUMBER_LENGTH:
        raise ValueError
    exponent = token.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > _EXPONENT:
        raise ValueError
    return Decimal(token)


_FAST = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_refused, parse_int=_int, parse_float=_decimal)


class _Json:
    """A JSON text read by hand, slower than the standard reader, knowing where it is."""

    def __init__(self, source: str, where: str) -> None:
        self.source = source
        self.where = where
        self.lines: Lines = {}
        self._index = 0
        self._line = 1
        self._counted = 0

    def document(self) -> Any:
        value = self._value((), 0)
        if self._next():
            self._fail(f"expected the end of the text, found {self._next()!r}")
        return value

    def _fail(self, problem: str, remedy: str = "Correct the JSON there.", index: int | None = None) -> NoReturn:
        line, column = _place(self.source, self._index if index is None else index)
        raise LoadError(self.where, line, column, problem, remedy)

    def _next(self) -> str:
        """Go to the next character that is not white space and return it, or nothing at the end."""
        space = _SPACE.match(self.source, self._index)
        self._index = space.end() if space else self._index
        return self.source[self._index : self._index + 1]

    def _here(self) -> int:
        self._line += self.source.count("\n", self._counted, self._index)
        self._counted = self._index
        return self._line

    def _value(self, path: Path, depth: int) -> Any:
        character = self._next()
        self.lines.setdefault(path, self._here())
        if character in ("{", "["):
            if depth == JSON_DEPTH:
                self._fail(f"expected at most {JSON_DEPTH} levels, found more", "Nest less deeply.")
            return self._object(path, depth + 1) if character == "{" else self._list(path, depth + 1)
        if character == '"':
            return self._string()
        return self._bare()

    def _object(self, path: Path, depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        self._index += 1
        if self._next() == "}":
            self._index += 1
            return value
        while True:
            if self._next() != '"':
                self._fail(f"expected a key in double quotes, found {self._shown()}")
            start = self._index
            key = self._string()
            if key in value:
                self._fail(f"the key {key!r} stands twice in one object", "Keep one of the two.", start)
            self.lines[(*path, key)] = self._here()
            if self._next() != ":":
                self._fail(f"expected a colon, found {self._shown()}")
            self._index += 1
            value[key] = self._value((*path, key), depth)
            if self._ends("}"):
                return value

    def _list(self, path: Path, depth: int) -> list[Any]:
        value: list[Any] = []
        self._index += 1
        if self._next() == "]":
            self._index += 1
            return value
        while True:
            value.append(self._value((*path, len(value)), depth))
            if self._ends("]"):
                return value

    def _ends(self, bracket: str) -> bool:
        found = self._next()
        if found not in (",", bracket) or not found:
            self._fail(f"expected a comma or {bracket!r}, found {self._shown()}")
        self._index += 1
        return found == bracket

    def _string(self) -> str:
        token = _STRING.match(self.source, self._index)
        if token is None:
            self._fail("a string is not closed, or holds a bad escape or a control character")
        value: str = json.loads(token[0])
        if _LONE.search(value):
            self._fail("a string holds half of a surrogate pair", "Write the whole character.")
        self._index = token.end()
        return value

    def _bare(self) -> int | Decimal | bool | None:
        token = _BARE.match(self.source, self._index)
        if token is None:
            self._fail(f"expected a value, found {self._shown()}")
        word = token[0]
        if word in _WORDS:
            self._index = token.end()
            return _WORDS[word]
        if word.lstrip("+-") in ("NaN", "Infinity"):
            self._fail(f"{word} is not JSON", "Write a number or a word in quotes.")
        digits = _NUMBER.fullmatch(word)
        if digits is None or not word.isascii():
            self._fail(f"expected a value, found {self._shown()}")
        try:
            number = _decimal(word) if digits[1] or digits[2] else _int(word)
        except ValueError:
            self._fail("a number has too many digits or too large an exponent", "Write it as a string.")
        self._index = token.end()
        return number

    def _shown(self) -> str:
        found = self.source[self._index : self._index + 1]
        return repr(found) if found else "the end of the text"


# YAML -------------------------------------------------------------------------------------------------------

_OTHER_BREAKS = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
_WRITE_OUT = "Write the value out where it is needed, without YAML's shortcuts."


class _Yaml:
    """A YAML text read from its parser's events: nothing is resolved, shared or built before a check."""

    def __init__(self, source: str, where: str, first_line: int) -> None:
        self.source = source
        self.where = where
        self.lines: Lines = {}
        self._first_line = first_line
        # YAML takes these for line ends, editors and `sed` do not: a comment could end where nobody sees it.
        other = _OTHER_BREAKS.search(source)
        if other:
            problem = "a line ends in something other than a line feed"
            self._fail(other.start(), problem, "Save the file with LF line ends.")
        self._events: Iterator[yaml.Event] = iter(yaml.parse(source, Loader=yaml.BaseLoader))

    def document(self) -> Any:
        try:
            next(self._events)  # the stream's start
            start = next(self._events)
            if isinstance(start, yaml.StreamEndEvent):
                self._fail(0, "expected a value, found an empty text", "Write it, or remove the file.")
            if isinstance(start, yaml.DocumentStartEvent) and (start.version or start.tags):
                self._fail(_index(start), "a directive (%YAML, %TAG) is not allowed", _WRITE_OUT)
            value = self._value(next(self._events), (), 0)
            next(self._events)  # the document's end
            more = next(self._events)
            if not isinstance(more, yaml.StreamEndEvent):
                self._fail(_index(more), "expected one document, found another", "Keep one in a file.")
            return value
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = ", ".join(part for part in (error.context, error.problem) if part)
            self._fail(mark.index if mark else 0, f"not YAML: {problem}", "Correct the YAML there.")
        except yaml.reader.ReaderError as error:
            problem = f"the character U+{ord(self.source[error.position]):04X} is not allowed in YAML"
            self._fail(error.position, problem, "Remove it.")

    def _fail(self, index: int, problem: str, remedy: str) -> NoReturn:
        line, column = _place(self.source, index)
        raise LoadError(self.where, line + self._first_line - 1, column, problem, remedy)

    def _line(self, event: yaml.Event) -> int:
        return (event.start_mark.line if event.start_mark else 0) + self._first_line

    def _value(self, event: yaml.Event, path: Path, depth: int) -> Any:
        self._refuse_shortcuts(event)
        self.lines.setdefault(path, self._line(event))
        if isinstance(event, yaml.ScalarEvent):
            return event.value
        if depth == YAML_DEPTH:
            problem = f"expected at most {YAML_DEPTH} levels, found more"
            self._fail(_index(event), problem, "Nest less deeply.")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path, depth + 1)
        return self._list(path, depth + 1)

    def _mapping(self, path: Path, depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            self._refuse_shortcuts(event)
            if not isinstance(event, yaml.ScalarEvent):
                problem = "expected a word as key, found a list or a mapping"
                self._fail(_index(event), problem, "Use a word as key.")
            key: str = event.value
            if key == "<<" and event.style is None:
                self._fail(_index(event), "a merge key (<<) is not allowed", _WRITE_OUT)
            if key in value:
                self._fail(_index(event), f"the key {key!r} stands twice", "Keep one of the two.")
            self.lines[(*path, key)] = self._line(event)
            value[key] = self._value(next(self._events), (*path, key), depth)
        return value

    def _list(self, path: Path, depth: int) -> list[Any]:
        value: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            value.append(self._value(event, (*path, len(value)), depth))
        return value

    def _refuse_shortcuts(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._fail(_index(event), "an alias (*) is not allowed", _WRITE_OUT)
        if getattr(event, "anchor", None) is not None:
            self._fail(_index(event), "an anchor (&) is not allowed", _WRITE_OUT)
        if getattr(event, "tag", None) is not None:
            self._fail(_index(event), "a tag (!) is not allowed", _WRITE_OUT)


def _index(event: yaml.Event) -> int:
    return event.start_mark.index if event.start_mark else 0


# Out --------------------------------------------------------------------------------------------------------


def _is_plain(value: Any, *, null: bool, depth: int = 0) -> bool:
    """Return whether the value is of our types themselves and within our limits; half a surrogate pair is not seen."""
    kind = type(value)
    if kind is dict or kind is list:
        if depth == JSON_DEPTH:
            return False
        if kind is dict and not all(type(key) is str for key in value):
            return False
        for item in value.values() if kind is dict else value:
            if type(item) is not str and not _is_plain(item, null=null, depth=depth + 1):
                return False
        return True
    return kind is str or kind is bool or (kind is int and abs(value) <= _LARGEST_INT) or (value is None and null)


def _plain(value: Any, at: str, *, null: bool, depth: int = 0) -> Any:
    """Return a copy of str, int, bool, list and dict alone, so that what is written is what was checked."""
    if isinstance(value, bool) or (value is None and null):
        return value
    if isinstance(value, str):
        if _LONE.search(value):
            raise UnwritableError(f"{at or '/'}: half of a surrogate pair")
        return str.__str__(value)
    if isinstance(value, int):
        if abs(value) > _LARGEST_INT:
            raise UnwritableError(f"{at or '/'}: {value} is beyond 2^53-1; write it as a string")
        return int(value)
    if isinstance(value, list | tuple | Mapping) and depth == JSON_DEPTH:
        raise UnwritableError(f"{at or '/'}: more than {JSON_DEPTH} levels")
    if isinstance(value, list | tuple):
        return [_plain(item, f"{at}/{index}", null=null, depth=depth + 1) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {_key(key, at): _plain(item, f"{at}/{key}", null=null, depth=depth + 1) for key, item in value.items()}
    raise UnwritableError(f"{at or '/'}: a {type(value).__name__} has no place in our JSON")


def _key(key: Any, at: str) -> str:
    if not isinstance(key, str):
        raise UnwritableError(f"{at or '/'}: the key {key!r} is not a string")
    if _LONE.search(key):
        raise UnwritableError(f"{at or '/'}: half of a surrogate pair in a key")
    return str.__str__(key)
