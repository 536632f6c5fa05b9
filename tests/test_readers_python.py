"""Python sources: found, not one, or unknown; never absent where something does not parse."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from site_builder.readers import (
    NotOneError,
    ReadingError,
    Searched,
    Seen,
    UnknownError,
    digest_of,
    python,
    syntax,
)

KERNEL = b'''"""A kernel's front; "THRESHOLD" in words is no constant."""
import os
from base import Backend, register as enroll  # THRESHOLD

THRESHOLD = 32
BLOCK: int = 16 * 1024
__version__ = version = "1.2.0"
TABLE = {"one": ("pkg.one", "One"), "two": 2, Kind.THREE: [3]}
NAMES = frozenset({"a", "b"})
Mode = Literal["auto", "fast"]
declared: int


@enroll
class Kernel(Backend):
    supported: ClassVar[list[str]] = [
        "auto",
        "fp8",  # an alias
        torch.bfloat16,
    ]
    retries: int = Field(default=3, ge=1)
    ratio: float = 0.90
    name: str
    made: list = field(default_factory=list)

    def pad(self, heads: int, *, limit=64, mode: str = Mode.FAST, when=now()) -> int:
        mixed = self.heads < THRESHOLD
        self.padding = (
            128 if self.family(100) else 64
        )
        if mixed and 0 < heads <= limit:
            logger.warning_once("Padding %d heads "
                                "to %d", heads, limit)
        return 64 if heads <= 64 else 128


class Level(enum.IntEnum):
    """Levels."""

    NONE = 0
    FULL = 3
    _hidden = 9

    def label(self):
        return "x"
'''


def region(first: int, last: int, body: bytes = KERNEL) -> str:
    """Return the digest that `sed -n first,lastp | sha256sum` prints."""
    return "sha256:" + hashlib.sha256(b"".join(body.splitlines(keepends=True)[first - 1 : last])).hexdigest()


def line_of(text: bytes, body: bytes = KERNEL) -> int:
    """Return the line that a text begins on."""
    return body[: body.index(text)].count(b"\n") + 1


def refusal(ask: Callable[[python.Module], Any], body: bytes = KERNEL) -> tuple[type[ReadingError], str]:
    """Return the kind and the words of the reader's error."""
    with pytest.raises(ReadingError) as caught:
        ask(python.read(body))
    return type(caught.value), caught.value.problem


@pytest.mark.parametrize(
    ("ask", "value", "begins", "lines"),
    [
        (lambda m: m.constant("THRESHOLD"), 32, b"THRESHOLD = 32", 1),
        (lambda m: m.constant("BLOCK"), 16384, b"BLOCK", 1),
        (lambda m: m.constant("__version__"), "1.2.0", b"__version__", 1),
        (lambda m: m.constant("version"), "1.2.0", b"__version__", 1),
        (lambda m: m.entry("TABLE", "one"), ("pkg.one", "One"), b"TABLE", 1),
        (lambda m: m.entry("TABLE", "Kind.THREE"), (3,), b"TABLE", 1),
        (lambda m: m.members("NAMES"), ("a", "b"), b"NAMES", 1),
        (lambda m: m.members("Mode"), ("auto", "fast"), b"Mode = ", 1),
        (lambda m: m.attribute("Kernel", "supported"), ("auto", "fp8", "torch.bfloat16"), b"    supported", 5),
        (lambda m: m.field("Kernel", "retries"), ("int", "Field(default=3, ge=1)"), b"    retries", 1),
        (lambda m: m.field("Kernel", "name"), ("str", ""), b"    name: str", 1),
        (lambda m: m.field_default("Kernel", "retries"), 3, b"    retries", 1),
        (lambda m: m.field_default("Kernel", "ratio"), Decimal("0.90"), b"    ratio", 1),
        (lambda m: m.enum("Level"), (("NONE", 0), ("FULL", 3)), b"class Level", 9),
        (lambda m: m.default("Kernel.pad", "limit"), 64, b"    def pad", 1),
        (lambda m: m.default("Kernel.pad", "mode"), "Mode.FAST", b"    def pad", 1),
        (
            lambda m: m.function("Kernel.pad").comparison(r"self\.heads", "<", "THRESHOLD"),
            "self.heads < THRESHOLD",
            b"        mixed",
            1,
        ),
        (lambda m: m.comparison("heads", "<=", r"(\d+)"), "64", b"        return 64", 1),
        (lambda m: m.comparison("0", "<", "heads"), "0 < heads", b"        if mixed", 1),
        (
            lambda m: m.function("Kernel.pad").one("conditional_expression", r"(\d+) if heads <= (\d+) else (\d+)"),
            ("64", "64", "128"),
            b"        return 64",
            1,
        ),
        (
            lambda m: m.function("Kernel.pad").assigned("self.padding"),
            "128 if self.family(100) else 64",
            b"        self.padding",
            3,
        ),
        (lambda m: m.log("Padding").format, "Padding %d heads to %d", b"            logger.warning_once", 2),
        (lambda m: m.log("Padding").level, "warning_once", b"            logger.warning_once", 2),
        (lambda m: m.log("Padding").arguments, 2, b"            logger.warning_once", 2),
        (lambda m: m.log("Padding").conditions, ("mixed and 0 < heads <= limit",), b"        if mixed", 3),
        (lambda m: m.call("self.family").argument(0), 100, b"            128 if", 1),
        (lambda m: m.call("Field").argument(keyword="ge"), 1, b"    retries", 1),
        (lambda m: m.arguments("Field", keyword="default")[0], 3, b"    retries", 1),
    ],
)
def test_value_with_its_lines(ask: Callable[[python.Module], Seen], value: object, begins: bytes, lines: int) -> None:
    """A value comes with the whole lines it stands on, as `sed` and `sha256sum` see them."""
    first = line_of(begins)
    seen = ask(python.read(KERNEL))

    assert (value, type(value)) == (seen.value, type(seen.value))
    assert {"line": first, "lastLine": first + lines - 1} == seen.at
    assert region(first, first + lines - 1) == seen.region


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        (
            lambda m: m.constant("THRESHHOLD"),
            NotOneError,
            "expected one binding of THRESHHOLD at the top level, found none (near: THRESHOLD)",
        ),
        (
            lambda m: m.constant("declared"),
            NotOneError,
            "expected one binding of declared at the top level, found none",
        ),
        (lambda m: m.constant("NAMES"), UnknownError, 'line 9 is no literal: frozenset({"a", "b"})'),
        (
            lambda m: m.constant("os"),
            UnknownError,
            "os is bound in line 2 by something other than an assignment of its own",
        ),
        (lambda m: m.members("THRESHOLD"), UnknownError, "THRESHOLD is no collection of literals: 32"),
        (lambda m: m.entry("TABLE", "on"), NotOneError, "expected one entry 'on' in TABLE, found none (near: one)"),
        (lambda m: m.entry("NAMES", "a"), UnknownError, 'NAMES is no dictionary display: frozenset({"a", "b"})'),
        (
            lambda m: m.attribute("Kernel", "suported"),
            NotOneError,
            "expected one binding of suported in Kernel, found none (near: supported)",
        ),
        (
            lambda m: m.attribute("Kernels", "supported"),
            NotOneError,
            "expected one definition of Kernels, found none (near: Kernel)",
        ),
        (lambda m: m.attribute("Kernel", "retries"), UnknownError, "line 21 is no literal: Field(default=3, ge=1)"),
        (lambda m: m.field_default("Kernel", "name"), NotOneError, "expected one default of Kernel.name, found none"),
        (
            lambda m: m.field_default("Kernel", "made"),
            UnknownError,
            "the default of Kernel.made is made by a call",
        ),
        (
            lambda m: m.function("Kernel"),
            NotOneError,
            "expected one function Kernel, found none (near: a class of that name in line 15)",
        ),
        (
            lambda m: m.function("THRESHOLD"),
            NotOneError,
            "expected one definition of THRESHOLD, found none (near: bound otherwise in line 5)",
        ),
        (
            lambda m: m.default("Kernel.pad", "heads"),
            NotOneError,
            "expected one default of the parameter heads of Kernel.pad, found none",
        ),
        (lambda m: m.default("Kernel.pad", "when"), UnknownError, "line 26 is no literal: now()"),
        (
            lambda m: m.comparison(r"self\.heads", "<=", "THRESHOLD"),
            NotOneError,
            r"expected one comparison self\.heads <= THRESHOLD in the module, "
            "found none (near: self.heads < THRESHOLD)",
        ),
        (
            lambda m: m.one("conditional_expression", ".*"),
            NotOneError,
            "expected one conditional_expression .* in the module, found 2 (lines 29, 34)",
        ),
        (lambda m: m.one("conditional", ".*"), ReadingError, "'conditional' is not a node type of the Python grammar"),
        (
            lambda m: m.log("Padding %s heads to"),
            NotOneError,
            "expected one log call that begins 'Padding %s heads to' in the module, "
            "found none (near: Padding %d heads to %d)",
        ),
        (
            lambda m: m.function("Kernel.pad").assigned("self.pading"),
            NotOneError,
            "expected one assignment to self.pading in Kernel.pad, found none",
        ),
        (
            lambda m: m.call("Feld"),
            NotOneError,
            "expected one call of Feld in the module, found none (near: Field, field)",
        ),
        (
            lambda m: m.call("Field").argument(0),
            NotOneError,
            "expected one argument at 0 of Field(default=3, ge=1), found none",
        ),
        (
            lambda m: m.function("Kernel.pad").returned(),
            UnknownError,
            "line 34 is no literal: 64 if heads <= 64 else 128",
        ),
    ],
)
def test_question_without_one_answer(
    ask: Callable[[python.Module], Any], kind: type[ReadingError], message: str
) -> None:
    """What is not there once says what is there instead; what is computed is unknown."""
    assert (kind, message) == refusal(ask)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"X = 1\nX = 2\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nX += 2\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\ndel X\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nfor X in y: pass\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nwith a as X: pass\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nwith a as (X, y): pass\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nimport a as X\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nfrom a import (b, X)\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nimport X.y\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nif (X := 2): pass\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\n[(X := y) for y in z]\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\na, (b, *X) = y\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nclass X: pass\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\ndef X(): pass\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\ntype X = int\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\ntype X[T] = int\n", "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\ndef f():\n  global X\n", "expected one binding of X at the top level, found 2 (lines 1, 3)"),
        (
            b"X = 1\ntry: pass\nexcept A as X: pass\n",
            "expected one binding of X at the top level, found 2 (lines 1, 3)",
        ),
        (b"X = 1\nmatch a:\n  case [X, 1]: pass\n", "expected one binding of X at the top level, found 2 (lines 1, 3)"),
        (b"X = 1\nmatch a:\n  case b as X: pass\n", "expected one binding of X at the top level, found 2 (lines 1, 3)"),
        (b"X = 1\nmatch a:\n  case {1: X}: pass\n", "expected one binding of X at the top level, found 2 (lines 1, 3)"),
        (b"X = 1\nmatch a:\n  case P(b=X): pass\n", "expected one binding of X at the top level, found 2 (lines 1, 3)"),
        ("X = 1\n\uff38 = 2\n".encode(), "expected one binding of X at the top level, found 2 (lines 1, 2)"),
        (b"X = 1\nfrom a import *\n", "the `import *` in line 2 may bind X again"),
        (b"if a:\n  X = 1\n", "X is bound in line 2 only under 'if a:'"),
        (b"try:\n  X = 1\nexcept A: pass\n", "X is bound in line 2 only under 'try:'"),
        (b"X, y = 1, 2\n", "X is bound in line 1 by something other than an assignment of its own"),
        (b"X = y\n", "line 1 is no literal: y"),
        (b"X = [1, y]\n", "line 1 is no literal: y"),
        (b"X = f'a{b}'\n", "line 1 holds no plain string: f'a{b}'"),
        (b"X = t'a'\n", "line 1 holds no plain string: t'a'"),
        (b"X = b'a'\n", "line 1 holds no plain string: b'a'"),
        (b"X = '\\N{BULLET}'\n", "line 1 holds an escape that is not read: \\N{BULLET}"),
        (b"X = '\\ud800'\n", "line 1 holds an escape that is not read: \\ud800"),
        (b"X = int('3')\n", "line 1 is no literal: int('3')"),
        (b"X = 1 / 2\n", "line 1 is no plain integer arithmetic: 1 / 2"),
        (b"X = 1.5 * 2\n", "line 1 is no plain integer arithmetic: 1.5 * 2"),
        (b"X = 10 ** 10 ** 10\n", "line 1 is no plain integer arithmetic: 10 ** 10 ** 10"),
        (b"X = 1 << 100000\n", "line 1 is no plain integer arithmetic: 1 << 100000"),
        (b"X = 3j\n", "line 1 holds a number that is not read: 3j"),
        (b"X = 0777\n", "line 1 holds a number that is not read: 0777"),
        (b"X = 1e999\n", "line 1 holds a number that is not read: 1e999"),
        (b"X = {1: 2}\n", "line 1 is no literal: {1: 2}"),
        (b"X = None\n", "line 1 is no literal: None"),
        (b"X = [*a]\n", "line 1 is no literal: *a"),
        (b"X = " + b"[" * 120 + b"]" * 120 + b"\n", "line 1 is nested too deeply"),
        (b"X = " + b"(" * 9000 + b"1" + b")" * 9000 + b"\n", None),
    ],
)
def test_constant_that_is_none(body: bytes, problem: str | None) -> None:
    """Only a literal that one statement binds for good is a constant; every other binding of the name counts."""
    if problem is None:
        assert 1 == python.read(body).constant("X").value
    else:
        assert problem == refusal(lambda module: module.constant("X"), body)[1]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (b"0x_ff", 255),
        (b"1_000", 1000),
        (b"-3", -3),
        (b"~3", -4),
        (b"2 ** 10 - 1", 1023),
        (b"7 // 2 % 2", 1),
        (b"1 << 4 | 1", 17),
        (b"(1)", 1),
        (b"(1,)", (1,)),
        (b"1, 2", (1, 2)),
        (b"{3, 1}", (3, 1)),
        (b"[]", ()),
        (b"[[1], (True, 'x')]", ((1,), (True, "x"))),
        (b"-0.50", Decimal("-0.50")),
        (b"1e-5", Decimal("1e-5")),
        (b"1_0.0_1", Decimal("10.01")),
        (b"('a' # words\n 'b')", "ab"),
        (b"'a' \\\n 'b'", "ab"),
        (b"r'\\n'", "\\n"),
        (b"'\\x41\\101\\u00e9\\U0001F600\\q\\\n'", "AA\u00e9\U0001f600\\q"),
        (b"'''a\r\nb'''", "a\nb"),
        (b"f'{{a}}'", "{a}"),
        (b"''", ""),
        (b"not_a_call if 0 else 1", None),
    ],
)
def test_literal_of_each_kind(written: bytes, value: object) -> None:
    """A literal is read as Python reads it, decimals with their digits."""
    module = python.read(b"X = " + written + b"\n")
    if value is None:
        with pytest.raises(UnknownError):
            module.constant("X")
        return
    seen = module.constant("X").value

    assert (value, type(value), str(value)) == (seen, type(seen), str(seen))


plain_values = st.recursive(
    st.booleans() | st.integers(-(10**30), 10**30) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.tuples(inner, inner),
    max_leaves=6,
)


@given(plain_values)
def test_literal_as_python_writes_it(value: object) -> None:
    """What `repr` writes is read as what it was, unless it holds half of a surrogate pair."""
    source = f"X = {value!r}\n".encode("utf-8", "surrogatepass")
    try:
        seen = python.read(source).constant("X").value
    except UnknownError:
        assert "\\ud" in repr(value)
        return

    assert tupled(ast.literal_eval(repr(value))) == seen


def tupled(value: Any) -> Any:
    """Return lists as the tuples that readers give."""
    return tuple(tupled(item) for item in value) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"X = 1\nclass C[T = int]: pass\n", "the source does not parse at line 2"),
        (b"X = 1\ndef f(:\n  pass\n", "the source does not parse at line 2"),
        (b"X = 1\n'''open\n", "the source does not parse at line 2"),
        (b"X = 1\nprint 'x'\n", "line 2 is not Python 3"),
        (b"X = 1\nexec 'x'\n", "line 2 is not Python 3"),
        (b"X = 1\n# words\rX = 2\n", "line 2 holds a carriage return of its own"),
        (b"X = 1\n\0\n", "line 2 holds a NUL"),
        (b"X = 1\n# \xff\n", "line 2 is not UTF-8"),
        (b"# -*- coding: latin-1 -*-\nX = 1\n", "the source says that it is not UTF-8"),
        (b"X = 1\n" + b"#" * (2 << 20), "expected at most 2097152 bytes of Python, found 2097158"),
    ],
)
@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.constant("X"),
        lambda m: m.constant("Y"),
        lambda m: m.attribute("C", "x"),
        lambda m: m.field("C", "x"),
        lambda m: m.function("f"),
        lambda m: m.one("call", ".*"),
        lambda m: m.comparison("a", "<", "b"),
        lambda m: m.calls("f"),
        lambda m: m.log("x"),
        lambda m: m.assigned("X"),
        lambda m: m.entry("X", "y"),
        lambda m: m.members("X"),
        lambda m: m.enum("C"),
        lambda m: m.count("name", name="Y"),
        lambda m: m.absent("name", name="Y"),
        lambda m: m.absent("class", decorated_by="y"),
        lambda m: m.absent("string", containing="y"),
    ],
)
def test_source_that_does_not_parse(body: bytes, problem: str, ask: Callable[[python.Module], Any]) -> None:
    """Whatever is asked of a file of which a part can't be read, the answer is unknown."""
    assert (UnknownError, problem) == refusal(ask, body)


@pytest.mark.parametrize(
    "newer",
    [
        b"type Pair[T] = tuple[T, T]\n",
        b"def f[T](x: T) -> T: return x\n",
        b"match a:\n  case {'k': 1, **rest} if rest: pass\n",
        b"try: pass\nexcept* ValueError: pass\n",
        b"x = f'{a['b']}'\n",
        b"x = t'{a}'\n",
        b"with (open(a) as b, open(c) as d): pass\n",
    ],
)
def test_syntax_newer_than_the_oldest_python_we_run_on(newer: bytes) -> None:
    """What later versions of Python write is read, whichever version runs this."""
    assert 1 == python.read(newer + b"X = 1\n").constant("X").value


@pytest.mark.parametrize(
    ("kind", "matcher", "said", "found"),
    [
        ("class", {"decorated_by": "Backend"}, "class decorated by Backend", 0),
        ("name", {"name": "THRESHOLD"}, "identifier THRESHOLD", 2),
        ("name", {"name": "bfloat16"}, "identifier bfloat16", 1),
        ("name", {"name": "words"}, "identifier words", 0),
        ("call", {"of": "self.family"}, "call of self.family", 1),
        ("call", {"of": "family"}, "call of family", 0),
        ("string", {"containing": "heads to"}, "string with 'heads to'", 1),
        ("string", {"containing": "an alias"}, "string with 'an alias'", 0),
    ],
)
def test_search_with_its_scope(kind: str, matcher: dict[str, str], said: str, found: int) -> None:
    """A search says how much it read and how often it found what it looked for; comments are not searched."""
    module = python.read(KERNEL)
    searched = Searched(matcher=said, bytes=len(KERNEL), definitions=4, found=found)

    assert searched == module.count(kind, **matcher)
    if found:
        with pytest.raises(ReadingError) as caught:
            module.absent(kind, **matcher)
        assert caught.value.problem.startswith(f"expected no {said}, found {found} (lines ")
    else:
        assert searched == module.absent(kind, **matcher)


def test_search_in_a_file_of_a_tree() -> None:
    """Of a tree it says which file was searched, and the digest of the whole of it."""
    searched = python.read(KERNEL, "lib/kernel.py").count("name", name="words")

    assert ({"path": "lib/kernel.py"}, digest_of(KERNEL)) == (searched.at, searched.region)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"config.mode = 1\n", 1),
        (b"def f(config):\n  config.inner.mode = 1\n", 1),
        (b"class C:\n  def f(self):\n    if a:\n      self.mode = 1\n    self.mode += 1\n", 2),
        (b"a.mode, b.mode = 1, 2\n", 2),
        (b"a.mode: int = 1\n", 1),
        (b"for a.mode in b: pass\n", 1),
        (b"del a.mode\n", 1),
        (b"x = [0 for a.mode in b]\n", 1),
        (b"a.mode: int\n", 0),
        (b"mode = 1\n", 0),
        (b"a.modes = b.mode\n", 0),
        (b"a[b.mode] = 1\n", 0),
        (b"a.mode.value = 1\n", 0),
        (b"f(mode=1)\n", 0),
        (b"if a.mode == 1: pass\n", 0),
        (b"# a.mode = 1\n", 0),
    ],
)
def test_assigned_attributes(body: bytes, found: int) -> None:
    """An attribute counts where it is bound, in whatever scope and of whatever object, and not where it is read."""
    searched = python.read(body).count("assignment", to="mode")

    assert (found, "assignment to an attribute mode") == (searched.found, searched.matcher)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"@compile\nclass A: pass\n", 1),
        (b"@compile(dynamic=True)\nclass A: pass\n", 1),
        (b"@tools.compile\n@other\nclass A: pass\n", 1),
        (b"@compile\ndef f(): pass\n", 0),
        (b"# @compile\nclass A: pass\n", 0),
        (b"@recompile\nclass A: pass\n", 0),
        (b"class A:\n  @compile\n  class B: pass\n", 1),
    ],
)
def test_decorated_classes(body: bytes, found: int) -> None:
    """A decorator counts called or bare, with or without its module, over classes only."""
    assert found == python.read(body).count("class", decorated_by="compile").found


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"from tools import compile as fast\n@fast\nclass A: pass\n", "line 1 imports compile as fast"),
        (b"fast = tools.compile\n@fast\nclass A: pass\n", "line 1 gives compile another name"),
    ],
)
def test_absence_behind_another_name(body: bytes, problem: str) -> None:
    """What a file calls by another name is not absent from it."""
    assert (UnknownError, problem) == refusal(lambda m: m.absent("class", decorated_by="compile"), body)
    assert (UnknownError, problem) == refusal(lambda m: m.absent("call", of="compile"), body)


def test_search_of_no_kind() -> None:
    """A search that does not exist finds nothing to be absent."""
    assert (ReadingError, "no search for 'module' by name") == refusal(lambda m: m.absent("module", name="x"))
    assert (ReadingError, "no search for 'name' by name, of") == refusal(lambda m: m.count("name", name="x", of="y"))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"D = {'a': 1, **E}\n", "D is made of more than it says: an entry 'a' may come from elsewhere"),
        (b"D = {**E}\n", "D is made of more than it says: an entry 'a' may come from elsewhere"),
        (b"D = {'a': 1, k(): 2}\n", "D is made of more than it says: an entry 'a' may come from elsewhere"),
        (b"D = {'a': 1, 'a': 2}\n", "expected one entry 'a' in D, found 2 (lines 1, 1)"),
        (b"D = {'a': f()}\n", "line 1 is no literal: f()"),
        (b"D = {1: 1}\n", "expected one entry 'a' in D, found none"),
        (b"D = dict(a=1)\n", "D is no dictionary display: dict(a=1)"),
    ],
)
def test_entry_that_may_come_from_elsewhere(body: bytes, problem: str) -> None:
    """An entry that a later part may replace, or an earlier one may bring, is unknown."""
    assert problem == refusal(lambda m: m.entry("D", "a"), body)[1]


def test_entry_behind_others() -> None:
    """What stands before an entry can't replace it; keys keep their type."""
    module = python.read(b"D = {**E, 'a': 1, 1: 'x', '1': 'y'}\n")

    assert (1, "x", "y") == tuple(module.entry("D", key).value for key in ("a", 1, "1"))
    with pytest.raises(UnknownError):
        _ = module.dictionary("D").entries
    assert (("a", 1), ("K.B", ())) == python.read(b"D = {'a': 1, K.B: []}\n").dictionary("D").entries.value


RETURNS = b"""
def pick(a, b):
    def inner():
        return 0
    if a:
        return [Kind.A, "x"]
    elif b:
        return 1.50
    other = lambda: 2
    for x in a:
        return
    return pick(b, a)
"""


def test_returns_with_their_conditions() -> None:
    """Each return of the function itself comes with its conditions; a computed one with its source alone."""
    returns = python.read(RETURNS).function("pick").returns

    assert [
        ('[Kind.A, "x"]', ("a",), ("Kind.A", "x")),
        ("1.50", ("not (a)", "b"), Decimal("1.50")),
        ("None", ("not (a)", "not (b)", "for x in a"), "None"),
        ("pick(b, a)", ("not (a)", "not (b)", "not (for x in a)"), None),
    ] == [(one.text, one.conditions, one.seen.value if one.seen else None) for one in returns]


def test_return_under_patterns() -> None:
    """Patterns choose one return; its region begins at the first condition that was asked for."""
    function = python.read(RETURNS).function("pick")
    seen = function.returned(when=(r"not \(a\)", "b"))

    assert (Decimal("1.50"), {"line": 5, "lastLine": 8}) == (seen.value, seen.at)
    with pytest.raises(NotOneError) as caught:
        function.returned(when=(r"not \(a\)",))
    assert r"expected one return under not \(a\) in pick, found 3 (lines 8, 11, 12)" == caught.value.problem
    with pytest.raises(NotOneError) as caught:
        function.returned(when=("c",))
    assert (
        "expected one return under c in pick, found none (near: a, not (a) and b, not (a) and not (b) and for x in a)"
        == caught.value.problem
    )


@pytest.mark.parametrize(
    "body",
    [
        KERNEL,
        "# a word of its own: ﬁne\nfine = 1\nx = f'{fine} fine'\nrefine = fine_ = fine.fine\n".encode(),
        "ﬁne = 1\nfine = 2\nｆine.fine = 3\nprint(fine, match, _)\n".encode(),
    ],
    ids=["plain", "with a look-alike in a comment", "with names that are the same"],
)
def test_names_as_python_knows_them(body: bytes) -> None:
    """A name is found wherever it stands as one, in whatever characters it is written, and nowhere else."""
    root = syntax.parse(body)
    expected: dict[str, list[Any]] = {}
    for node in syntax.of_type(root, "identifier"):
        expected.setdefault(syntax.name_of(node, body), []).append(node)

    assert expected == {name: syntax.named(root, name, body) for name in expected}
    assert [] == syntax.named(root, "ine", body)


def test_function_by_its_qualified_name() -> None:
    """A nested function is named by those around it; a name bound twice names none."""
    module = python.read(RETURNS)

    assert 0 == module.function("pick.inner").returned().value
    assert (NotOneError, "expected one definition of f, found 2 (lines 1, 2)") == refusal(
        lambda m: m.function("f"), b"def f(): pass\nf = wrap(f)\n"
    )
    assert 1 == python.read(b"if a:\n  async def f(): return 1\n").function("f").returned().value


def test_assignments_told_apart() -> None:
    """Several assignments to one name are told apart by their conditions."""
    body = b"def f(a):\n    if a:\n        x = {'k': 1}\n    else:\n        x = {'k': 2}\n    y: int\n    y, z = x\n"
    function = python.read(body).function("f")

    assert 2 == function.entry("x", "k", when=(r"not \(a\)",)).value
    assert {"line": 2, "lastLine": 5} == function.entry("x", "k", when=(r"not \(a\)",)).at
    assert "{'k': 1}" == function.assigned("x", when=("a",)).value
    assert (NotOneError, "expected one assignment to x in f, found 2 (lines 3, 5)") == refusal(
        lambda m: m.function("f").assigned("x"), body
    )
    assert (UnknownError, "y is bound in line 7 by something other than an assignment of its own") == refusal(
        lambda m: m.function("f").assigned("y"), body
    )


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        (b"f(\n    a,  # words\n    b,\n)", "f(a, b)"),
        (b"f( a,b )", "f(a,b)"),
        (b"(\n    a,\n)", "(a,)"),
        (b"[\n    1,\n    2,\n]", "[1, 2]"),
        (b"a \\\n    + b", "a + b"),
        (b"(\n    a\n    .b()\n    .c\n)", "a.b().c"),
        (b"(a\n    and b)", "a and b"),
        (b"f('a  b', '''\n''')", "f('a  b', '''\n''')"),
        (b"x [1 : 2]", "x [1 : 2]"),
        (b"{\n  'a': 1,\n}", "{'a': 1}"),
    ],
)
def test_normalised_source(written: bytes, normal: str) -> None:
    """How a text is broken into lines makes no difference; what is in a string does."""
    assert normal == python.read(b"X = " + written + b"\n").assigned("X").value


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (b"f(*a)", "line 1 takes arguments from elsewhere"),
        (b"f(**a)", "line 1 takes arguments from elsewhere"),
        (b"f(x for x in a)", "line 1 is called with a generator"),
        (b"f(a())", "line 1 is no literal: a()"),
        (b"f()", "expected one argument at 0 of f(), found none"),
    ],
)
def test_argument_that_is_not_written(call: bytes, problem: str) -> None:
    """An argument that is computed, or may come from elsewhere, is unknown; one that is not given is not one."""
    assert problem == refusal(lambda m: m.call("f").argument(0), call)[1]


def test_argument_that_is_a_name() -> None:
    """A name given as an argument is its source; one given by keyword is found by either."""
    assert "a.b" == python.read(b"f(a.b)").call("f").argument(0, "k").value
    assert 1 == python.read(b"f(k=1)").call("f").argument(0, "k").value


def test_log_call_with_an_interpolation() -> None:
    """An f-string has a place and conditions, and no format."""
    body = b"def f(a):\n    if a:\n        self.logger.info(f'Padding {a} heads')\n    catalog.info('Padding', a)\n"
    log = python.read(body).log("Padding ")

    assert (("a",), "info", 0) == (log.conditions.value, log.level.value, log.arguments.value)
    with pytest.raises(UnknownError) as caught:
        _ = log.format
    assert "line 3 holds no plain string: f'Padding {a} heads'" == caught.value.problem


def test_log_calls_told_apart() -> None:
    """Several logger calls whose messages begin alike are told apart by what they stand under."""
    body = (
        b"def f(a):\n    if a:\n        log.info('took %.2f s (compiling %s)', t, a)\n"
        b"    else:\n        log.info('took %.2f s', t)\n"
    )
    eager = python.read(body).log("took", when=(r"not \(a\)",))

    assert ("took %.2f s", 1) == (eager.format.value, eager.arguments.value)
    assert {"line": 2, "lastLine": 5} == eager.format.at
    assert {"line": 2, "lastLine": 3} == python.read(body).log("took", when=("a",)).format.at
    assert (NotOneError, "expected one log call that begins 'took' in the module, found 2 (lines 3, 5)") == refusal(
        lambda m: m.log("took"), body
    )
    assert (
        NotOneError,
        "expected one log call that begins 'took' under b in the module, found none (near: a, not (a))",
    ) == refusal(lambda m: m.log("took", when=("b",)), body)
    assert (NotOneError, "expected one log call that begins 'takes' in the module, found none") == refusal(
        lambda m: m.log("takes", when=("a",)), body
    )


def test_enumeration_of_computed_values() -> None:
    """A member whose value a run would choose makes the enumeration unknown."""
    assert (UnknownError, "line 2 is no literal: auto()") == refusal(
        lambda m: m.enum("E"), b"class E(Enum):\n  A = auto()\n"
    )
    assert (NotOneError, "expected one member of E, found none") == refusal(
        lambda m: m.enum("E"), b"class E(Enum): pass\n"
    )
    assert (UnknownError, "the members of E depend on the statement in line 2") == refusal(
        lambda m: m.enum("E"), b"class E(Enum):\n  if x: A = 1\n"
    )


@pytest.mark.parametrize(
    "hostile",
    [
        b"x = " + b"[" * 20_000 + b"]" * 20_000,
        b"x = " + b"f(" * 20_000 + b")" * 20_000,
        b"x = " + b"not " * 20_000 + b"y",
        b"x = " + b"1 + " * 20_000 + b"1",
        b"def f():\n" + b"  if a: return 1\n" * 5_000,
        b"".join(b" " * depth + b"if a:\n" for depth in range(300)) + b" " * 300 + b"X = 1",
        b"x = '" + b"\\x41" * 50_000 + b"'",
        b"x = " + b"9" * 100_000,
        b"(" * 100_000,
        b"x = a" + b".b" * 50_000,
    ],
)
def test_hostile_source(hostile: bytes) -> None:
    """A source made to exhaust the reader ends in a value or in unknown, soon."""
    module = python.read(hostile + b"\n")
    asks: list[Callable[[], Any]] = [
        lambda: module.constant("X"),
        lambda: module.constant("x"),
        lambda: module.assigned("x"),
        lambda: module.one("call", "f"),
        lambda: module.one("not_operator", "f"),
        lambda: module.function("f").returns,
        lambda: module.function("f").returned(when=("a",)),
        lambda: module.count("call", of="f"),
        lambda: module.count("string", containing="A"),
        lambda: module.conditions("integer", "1"),
    ]
    said = [outcome(ask) for ask in asks]

    assert all(len(text) < 400 for text in said)


def outcome(ask: Callable[[], Any]) -> str:
    """Return the words of an error, or nothing."""
    try:
        ask()
    except ReadingError as error:
        return error.problem
    return ""


@settings(max_examples=150, deadline=None)
@example(at=0, removed=0, inserted="")
@given(
    at=st.integers(0, len(KERNEL)),
    removed=st.integers(0, 40),
    inserted=st.text(st.sampled_from("()[]{}'\"\\:=,.#@\n \tXifdel*f\u00e9"), max_size=8),
)
def test_source_with_other_characters_in_it(at: int, removed: int, inserted: str) -> None:
    """A changed source gives a value that stands in its region, or an error; no absence where it does not parse."""
    body = KERNEL[:at] + inserted.encode() + KERNEL[at + removed :]
    module = python.read(body)
    try:
        searched = module.absent("name", name="nowhere")
        assert module.broken is None
        assert 0 == searched.found
    except UnknownError:
        assert module.broken is not None
    try:
        seen = module.constant("THRESHOLD")
    except ReadingError:
        return

    lines = b"".join(body.splitlines(keepends=True)[int(seen.at["line"]) - 1 : int(seen.at["lastLine"])])
    assert b"THRESHOLD" in lines
    if at + removed <= line_start(b"THRESHOLD = 32") and "\r" not in inserted:
        assert 32 == seen.value or b"THRESHOLD = 32" not in body


def line_start(text: bytes) -> int:
    """Return where the line begins that a text begins."""
    return KERNEL.index(text)
