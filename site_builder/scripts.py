"""Scripts: what an audit's script may say, seen from its source before any of it counts.

The script as a whole, and what it observes with, has a few of Python's names around it and no way to the others. A result
or an invariant names its inputs as parameters and leaves a trace of what it does with them. Whatever would bring in
something else, or decide without a trace, is refused here; what remains is run with nothing around it.
"""

from __future__ import annotations

import ast
import builtins
import dis
import importlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any, Final, NoReturn, TypeAlias

from site_builder.errors import AuditError, Problem

_OFFERED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        name: frozenset(words.split())
        for name, words in {
            "__future__": "annotations",
            "collections": "Counter OrderedDict defaultdict deque",
            "collections.abc": "Callable Collection Iterable Iterator Mapping Sequence Set",
            "decimal": "Decimal",
            "functools": "cache partial reduce",
            "itertools": "accumulate chain combinations groupby islice pairwise permutations product repeat takewhile "
            "dropwhile zip_longest",
            "json": "dumps loads",
            "operator": "add and_ contains eq floordiv ge getitem gt itemgetter le lt mod mul ne neg not_ or_ sub truediv",
            "re": "A ASCII DOTALL I IGNORECASE M MULTILINE Match Pattern S VERBOSE X compile error escape findall finditer "
            "fullmatch match search split sub subn",
            "string": "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits punctuation whitespace",
            "textwrap": "dedent indent",
            "typing": "Any Final Literal TYPE_CHECKING TypeAlias cast",
            "site_builder.audits": "Audit choose count every holds least most row some table total",
            "site_builder.readers": "NotOneError ReadingError UnknownError",
            "site_builder.readers.tree": "Class External Function RaisesError World",
        }.items()
    }
)
"""What shapes what was read, and does nothing else: no clock, no chance, no system.

Names and not modules: a module holds what it imported itself. What looks an attribute up by its name is left out, and so
is what makes an answer of a reader: a script has those from readers alone.
"""

_BUILTINS: Final = frozenset(
    {
        *("abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "filter", "frozenset", "int"),
        *(
            "isinstance",
            "iter",
            "len",
            "list",
            "map",
            "max",
            "min",
            "next",
            "ord",
            "range",
            "repr",
            "reversed",
            "round",
        ),
        *("set", "slice", "sorted", "str", "sum", "tuple", "zip"),
        *("ArithmeticError", "AssertionError", "AttributeError", "Exception", "IndexError", "KeyError", "LookupError"),
        *("NotImplementedError", "RuntimeError", "StopIteration", "TypeError", "UnicodeError", "ValueError"),
    }
)
"""What of Python's own names an audit's functions may use."""

_OF_FRAMES: Final = re.compile(
    r"(?:gi|cr|ag)_(?:frame|code|await|yieldfrom|origin)|tb_\w+|co_\w+|f_(?:back|builtins|code|globals|locals|trace)"
)
"""Attributes through which running code is looked into; those with two underscores are refused as such."""

_TAKES_KEYS: Final = frozenset({"cell", "column", "to", "of"})
_ATTRIBUTES: Final = _TAKES_KEYS | {"items", "keys", "values"}

_PLAIN: Final = (
    *(ast.Assign, ast.Return, ast.Name, ast.Load, ast.Store, ast.Tuple, ast.List, ast.Starred),
    *(ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Constant, ast.GeneratorExp, ast.ListComp),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.UnaryOp, ast.USub, ast.Invert),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.comprehension),
)
"""What leaves a trace, or only puts values where they are wanted."""

_DECIDES: Final = (
    *(ast.If, ast.IfExp, ast.While, ast.Match, ast.BoolOp, ast.Not, ast.Assert, ast.Raise, ast.Try),
    *(ast.In, ast.NotIn, ast.Is, ast.IsNot),
)
_BRINGS_IN: Final = (
    *(ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Lambda),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.NamedExpr),
)

_NAME_IT: Final = "Make it an assumption with a reason, or an observation, and name it as a parameter."
_TRACE_IT: Final = (
    "Write it with arithmetic, comparisons, choose(…), every(…), some(…) and the like, which leave a trace."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """A script that parses, and its code."""

    where: str
    tree: ast.Module
    code: CodeType

    @property
    def docstring(self) -> str | None:
        """The script's docstring."""
        return ast.get_docstring(self.tree)


def read(body: bytes, where: str) -> Script:
    """Return the script that these bytes are.

    Raises:
        AuditError: they are not Python, or it names what does more than shape what was read.
    """
    try:
        tree = ast.parse(body)
        code = compile(tree, where, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise AuditError.at(f"{where}:{line}", f"expected Python, found {error}", "Mend the script.") from None
    found = {**dict(_imports(tree)), **dict(_beyond(code)), **dict(_private(tree))}
    if found:
        raise AuditError(
            *(
                Problem(where=f"{where}:{line}", problem=f"expected {expected}, found {what}", remedy=_READ_IT)
                for (line, what), expected in sorted(found.items())
            )
        )
    return Script(where=where, tree=tree, code=code)


_Found: TypeAlias = tuple[tuple[int, str], str]
"""A line and what stands there; and what was expected in its place."""

_READ_IT: Final = "Cite what it would bring in as a source, and read it with a reader."


def _imports(tree: ast.Module) -> Iterator[_Found]:
    own = ", ".join(name for name in _OFFERED if name.startswith("site_builder"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names if alias.name not in _OFFERED or alias.name.startswith("site_")]
        elif isinstance(node, ast.ImportFrom):
            module = f"{'.' * node.level}{node.module or ''}"
            offered = _OFFERED.get(module, frozenset())
            beyond = [alias.name for alias in node.names if alias.name not in offered]
            named = [f"{name} of {module}" for name in beyond] if module in _OFFERED else [module]
        else:
            continue
        for name in named:
            yield (node.lineno, name), f"imports that read and shape alone ({own}, re and their like)"


def _private(tree: ast.Module) -> Iterator[_Found]:
    """Names of Python's own machinery, and attributes that are somebody's own: an author needs neither."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield (node.lineno, f"the class {node.name}"), "functions alone"
        if isinstance(node, ast.Constant):
            continue
        for part, value in ast.iter_fields(node):
            for name in value if isinstance(value, list) else [value]:
                attribute = part in ("attr", "kwd_attrs")
                if isinstance(name, str) and name not in _OF_SCRIPTS and _is_private(name, attribute):
                    line = getattr(node, "lineno", 1)
                    yield (line, f".{name}" if attribute else name), "names of its own, and attributes that are public"


_OF_SCRIPTS: Final = frozenset({"__doc__", "__name__", "__future__"})


def _is_private(name: str, attribute: bool) -> bool:
    return name.startswith("__") or (attribute and (name.startswith("_") or bool(_OF_FRAMES.fullmatch(name))))


def _beyond(code: CodeType) -> Iterator[_Found]:
    """Those of Python's names that an audit does not have."""
    own = {str(step.argval) for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}
    for name, line in _globals(code):
        if name in vars(builtins) and name not in _BUILTINS | own | _OF_SCRIPTS:
            yield (line, name), "what shapes what was read"


def surroundings() -> dict[str, Any]:
    """Return what a script finds around it in place of Python's own names; each script has one to itself."""
    offered = {name: _Offered(_offered(name)) for name in _OFFERED}
    offered["collections"] = _Offered({**_offered("collections"), "abc": offered["collections.abc"]})

    def imported(name: str, _globals: object = None, _locals: object = None, names: object = (), *_: object) -> Any:
        return offered[name if names else name.partition(".")[0]]

    return {name: getattr(builtins, name) for name in sorted(_BUILTINS)} | {"__import__": imported}


def offering(tool: ModuleType) -> ModuleType:
    """Return the names that a tool defines, without those of the modules that it works with, as a copy."""
    offered = ModuleType(tool.__name__)
    own = {name: value for name, value in vars(tool).items() if not isinstance(value, ModuleType)}
    vars(offered).update({name: value for name, value in own.items() if not name.startswith("_")})
    return offered


class _Offered:
    """The names that a script has of a module, as attributes: there to be read."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        vars(self).update(names)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"expected {name} to be bound to a name of the script's own, found an assignment to a module's"
        )


def _offered(module: str) -> Mapping[str, Any]:
    loaded = importlib.import_module(module)
    return {name: getattr(loaded, name) for name in sorted(_OFFERED[module])}


def computing(
    script: Script, functions: Mapping[str, Callable[..., Any]], rules: Collection[str], words: Mapping[str, Any]
) -> Mapping[str, Callable[..., Any]]:
    """Return the functions as they are run: by themselves, with the words, the rules among them, and nothing else.

    Raises:
        AuditError: one of them is not the script's own, or holds more than it names as parameters.
    """
    known = {*words, *rules}
    bodies = {
        node.decorator_list[0].lineno: node
        for node in script.tree.body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    }
    own = [constant for constant in script.code.co_consts if isinstance(constant, CodeType)]
    problems: list[Problem] = []
    names: dict[str, Any] = {**words, "__builtins__": {}}
    made: dict[str, Callable[..., Any]] = {}
    for name, function in functions.items():
        code = getattr(function, "__code__", None)
        node = bodies.get(code.co_firstlineno) if code is not None and any(code is one for one in own) else None
        if code is None or node is None or node.name != name or len(node.decorator_list) != 1:
            line = node.lineno if node is not None else 1
            problems.append(
                Problem(
                    where=f"{script.where}:{line}",
                    problem=f"{name}: expected a function of the script's top level under one decorator, found another",
                    remedy="Write it as `def` with the audit's decorator alone over it.",
                )
            )
            continue
        problems.extend(_hidden(node, code, known, script.where))
        made[name] = FunctionType(code, names, name)
    if problems:
        raise AuditError(*problems)
    names.update({name: made[name] for name in rules})
    return made


def _hidden(function: ast.FunctionDef, code: CodeType, known: Collection[str], where: str) -> Iterator[Problem]:
    """What is in a computing function beside what it names as parameters: nothing would notice that it is wrong."""
    found: dict[tuple[int, str], str] = {}
    given = function.args
    for default in (*given.defaults, *(item for item in given.kw_defaults if item is not None)):
        found[default.lineno, "the default value of a parameter"] = _NAME_IT
    if given.vararg or given.kwarg:
        found[function.lineno, "parameters without names of their own"] = _NAME_IT
    for name, line in _globals(code):
        if name not in known:
            found[line, f"the global name {name}"] = _NAME_IT
    keys = {id(key) for key in _keys(function)}
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    for statement in function.body:
        if statement is not docstring:
            for node in ast.walk(statement):
                if (said := _said(node, keys)) is not None:
                    found.setdefault((getattr(node, "lineno", statement.lineno), said[0]), said[1])
    for (line, what), remedy in sorted(found.items()):
        yield Problem(
            where=f"{where}:{line}",
            problem=f"{function.name}: expected inputs that it names as parameters, found {what}",
            remedy=remedy,
        )


def _said(node: ast.AST, keys: Collection[int]) -> tuple[str, str] | None:
    """What a node holds that it must not, and the remedy."""
    if isinstance(node, _BRINGS_IN):
        return "a statement that brings in a name", _NAME_IT
    if isinstance(node, _DECIDES):
        return "a choice that leaves no trace", _TRACE_IT
    if not isinstance(node, _PLAIN):
        return f"something that leaves no trace ({type(node).__name__})", _TRACE_IT
    if isinstance(node, ast.Constant):
        literal = type(node.value) is int and node.value in (0, 1)
        return None if literal or id(node) in keys else (f"the literal {node.value!r}", _NAME_IT)
    if isinstance(node, ast.Attribute) and node.attr not in _ATTRIBUTES:
        return f"the attribute .{node.attr}", _TRACE_IT
    if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
        return "an assignment into a value", _TRACE_IT
    if isinstance(node, ast.Subscript) and not (isinstance(node.slice, ast.Name) or id(node.slice) in keys):
        return "a place that is named by its number", _NAME_IT
    if isinstance(node, ast.comprehension) and (node.ifs or node.is_async):
        return "a choice that leaves no trace", _TRACE_IT
    return None


def _keys(function: ast.FunctionDef) -> Iterator[ast.Constant]:
    """The string literals that only say which cell, key or unit is meant."""
    for node in ast.walk(function):
        named: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            named = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TAKES_KEYS:
            named = node.args
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "row":
            named = node.args[:1]
        yield from (item for item in named if isinstance(item, ast.Constant) and isinstance(item.value, str))


def _globals(code: CodeType) -> Iterator[tuple[str, int]]:
    """Yield each name that the code and what stands in it look up outside of it, with its line."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            line = step.positions.lineno if step.positions else None
            yield str(step.argval), line or code.co_firstlineno
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)
