"""Names across the files of one artifact: found with every hop, not one, unknown with the reason, or missing files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from site_builder.readers import NotOneError, ReadingError, UnknownError
from site_builder.readers.tree import Class, External, Function, Hop, MissingError, RaisesError, Tree, World

PLATFORMS = ("one", "two", "three")

ENGINE = {
    "engine/__init__.py": "",
    "engine/platforms.py": "def __getattr__(name):\n    return find(name)\n",
    "engine/compiling.py": (
        "from typing import overload\n\n\n"
        "@overload\ndef compiled(cls): ...\n@overload\ndef compiled(*, dims): ...\n"
        "def compiled(cls=None, **options):\n    return cls\n"
    ),
    "engine/parts.py": (
        "from typing import Protocol, TypeVar\n\nimport torch.nn as nn\n\nT = TypeVar('T')\n\n\n"
        "class Ranked(Protocol):\n    ranked = True\n\n\n"
        "class Layered(nn.Module, Ranked): ...\n"
    ),
    "engine/base.py": (
        "import torch\nfrom torch import nn\n\n"
        "from engine.compiling import compiled as quick\n\nfrom .parts import Ranked\n\n\n"
        "@quick\nclass Inner(nn.Module): ...\n\n\n"
        "class Base(nn.Module, Ranked):\n"
        "    model_cls = Inner\n\n"
        "    def __init__(self, *, config):\n"
        "        super().__init__()\n"
        "        self.config = config\n"
        "        self.model = self.model_cls(\n            config=config\n        )\n\n\n"
        "class Flat(Base):\n    pass\n"
    ),
    "engine/models/__init__.py": (
        "from engine.platforms import current\n\n"
        "if current.is_one():\n"
        "    from .one.model import Deep\n"
        "    from .one.model import Deep as Flat\n"
        "elif current.is_two():\n"
        "    raise NotImplementedError('not yet')\n"
        "else:\n"
        "    from engine.base import Flat\n"
        "    from ..base import Flat as Deep\n\n"
        "__all__ = ['Deep', 'Flat']\n"
    ),
    "engine/models/one/__init__.py": "",
    "engine/models/one/model.py": (
        "import torch\n\nfrom engine.base import Base\n\n\n"
        "class Lean(torch.nn.Module): ...\n\n\n"
        "class Deep(Base):\n"
        "    model_cls = Lean\n\n"
        "    def __init__(self, *, config):\n"
        "        super().__init__(config=config)\n"
        "        self.tuned = True\n"
    ),
}


def tree_of(files: dict[str, str]) -> Tree:
    """Return the tree of an artifact of these files, all at hand."""
    bodies = {path: text.encode() for path, text in files.items()}
    return Tree(bodies.get, bodies.__contains__)


def world(name: str, **facts: bool) -> World:
    """Return the world of a platform."""
    return World(name, {**{f"current.is_{one}()": one == name for one in PLATFORMS}, **facts})


ONE = world("one")


def resolved(files: dict[str, str], target: str, where: World = ONE) -> Any:
    """Return what a target is in an artifact."""
    return tree_of(files).resolve(target, where)


def refusal(ask: Callable[[], Any]) -> tuple[type[ReadingError], str]:
    """Return the kind and the words of the reader's error."""
    with pytest.raises(ReadingError) as caught:
        ask()
    return type(caught.value), caught.value.problem


def hops(trail: tuple[Hop, ...]) -> list[str]:
    """Return a trail as one line a hop."""
    return [f"{hop.step} {hop.value} {hop.path}:{hop.at['line']}-{hop.at['lastLine']}" for hop in trail]


def names(found: tuple[Class | External, ...]) -> list[str]:
    """Return the names of classes."""
    return [one.name for one in found]


def sound(trail: tuple[Hop, ...], files: dict[str, str]) -> bool:
    """Tell whether each region is the digest that `sed -n first,lastp | sha256sum` prints."""
    for hop in trail:
        lines = files[hop.path].encode().splitlines(keepends=True)
        region = b"".join(lines[int(hop.at["line"]) - 1 : int(hop.at["lastLine"])])
        if not region or hop.region != "sha256:" + hashlib.sha256(region).hexdigest():
            return False
    return bool(trail)


def test_one_name_in_several_branches() -> None:
    """Each world takes its own branch, plain or by another name, and the trail says which lines decided."""
    one = resolved(ENGINE, "engine.models:Flat", world("one"))
    three = resolved(ENGINE, "engine.models:Flat", world("three"))

    assert [
        "branch current.is_one() engine/models/__init__.py:3-3",
        "import engine.models.one.model:Deep engine/models/__init__.py:5-5",
        "class engine.models.one.model:Deep engine/models/one/model.py:9-9",
    ] == hops(one.trail)
    assert [
        "branch not (current.is_one()) engine/models/__init__.py:3-3",
        "branch not (current.is_two()) engine/models/__init__.py:6-6",
        "import engine.base:Flat engine/models/__init__.py:9-9",
        "class engine.base:Flat engine/base.py:24-24",
    ] == hops(three.trail)
    assert "engine.base:Flat" == resolved(ENGINE, "engine.models:Deep", world("three")).name
    assert sound(one.trail, ENGINE)
    assert sound(three.trail, ENGINE)
    assert ("engine/base.py", one.trail[-1].after(*one.trail[:-1])) == (three.path, one.seen)


def test_branch_that_raises() -> None:
    """Where a platform's branch raises, importing fails there, which is an answer of its own."""
    with pytest.raises(RaisesError) as caught:
        resolved(ENGINE, "engine.models:Flat", world("two"))

    assert "engine/models/__init__.py: line 7 raises in the world two" == caught.value.problem
    assert [
        "branch not (current.is_one()) engine/models/__init__.py:3-3",
        "branch current.is_two() engine/models/__init__.py:6-6",
        "raise raise NotImplementedError('not yet') engine/models/__init__.py:7-7",
    ] == hops(caught.value.trail)


def test_condition_that_nobody_decided() -> None:
    """A world that leaves a condition open has no answer; the condition is named."""
    assert (
        UnknownError,
        "engine/models/__init__.py: in the world bare, the facts do not decide line 3: not (current.is_one())",
    ) == refusal(lambda: resolved(ENGINE, "engine.models:Flat", World("bare", {})))
    assert (
        UnknownError,
        "m.py: in the world one, the facts do not decide line 2: tuned()",
    ) == refusal(lambda: resolved({"m.py": "class A: ...\nif tuned():\n    class A: ...\n"}, "m:A"))


@pytest.mark.parametrize(
    ("path", "written", "found"),
    [
        ("p/__init__.py", "from .q import A", "p.q:A"),
        ("p/__init__.py", "from . import q\nA = q.A", "p.q:A"),
        ("p/r.py", "from .q import A", "p.q:A"),
        ("p/r.py", "from . import q\nA = q.A", "p.q:A"),
        ("p/s/__init__.py", "from ..q import A", "p.q:A"),
        ("p/s/t.py", "from .q import A", "p.s.q:A"),
        ("p/s/t.py", "from ..q import A", "p.q:A"),
        ("p/s/t.py", "from .. import q as other\nA = other.A", "p.q:A"),
        ("p/s/t.py", "import p.q\nA = p.q.A", "p.q:A"),
        ("p/s/t.py", "import p.q as short\nA = short.A", "p.q:A"),
        ("p/s/t.py", "from p import (\n    q,\n)\nA = q.A", "p.q:A"),
        ("p/s/t.py", "import torch.nn\nA = torch.nn.Linear", "torch.nn.Linear"),
        ("p/s/t.py", "from torch import nn as n\nA = n.Linear", "torch.nn.Linear"),
        ("p/s/t.py", "A = ValueError", "builtins.ValueError"),
    ],
)
def test_import_as_it_is_written(path: str, written: str, found: str) -> None:
    """Relative imports count from the package in an `__init__`, elsewhere from the parent."""
    package = {"p/__init__.py": "", "p/q.py": "class A: ...", "p/s/__init__.py": "", "p/s/q.py": "class A: ..."}
    files = {**package, path: written + "\n"}
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    assert found == resolved(files, f"{module}:A").name


def test_import_from_beyond() -> None:
    """More dots than packages lead out of the artifact; a module that has no source in it may be compiled."""
    assert (UnknownError, "p.py: line 1 imports from beyond the artifact") == refusal(
        lambda: resolved({"p.py": "from . import A\n"}, "p:A")
    )
    assert (UnknownError, "the artifact has no Python source of the module p._C") == refusal(
        lambda: resolved({"p/__init__.py": "from p._C import A\n"}, "p:A")
    )


@pytest.mark.parametrize(
    ("init", "found"),
    [
        ("from .q import q", "p.q:q"),
        ("from .q import q as q, other", "p.q:q"),
        ("from . import q", "p/r.py: p.q is a module, neither a class nor a function"),
        ("", "p/r.py: p.q is a module, neither a class nor a function"),
        ("class q: ...", "p/__init__.py: q is bound, and may be the module p.q instead"),
        ("from .z import q", "p/__init__.py: q is bound, and may be the module p.q instead"),
    ],
)
def test_attribute_or_module_of_one_name(init: str, found: str) -> None:
    """A name that a package binds from the module of that name is the name; bound otherwise it is either of them."""
    files = {
        "p/__init__.py": init + "\n",
        "p/q.py": "def q(): ...\nother = 1\n",
        "p/z.py": "class q: ...\n",
        "p/r.py": "from p import q as taken\n",
    }
    if found == "p.q:q":
        assert found == resolved(files, "p.r:taken").name
    else:
        assert (UnknownError, found) == refusal(lambda: resolved(files, "p.r:taken"))


def test_folder_without_init() -> None:
    """A folder alone is a package, too, as far as modules of it are named."""
    files = {"p/__init__.py": "", "p/q/r.py": "class A: ...\n", "p/s.py": "from p.q import r\nA = r.A\n"}

    assert "p.q.r:A" == resolved(files, "p.s:A").name


def test_module_that_makes_its_names() -> None:
    """What a module does not bind, its `__getattr__` may give; what it binds, it does not."""
    files = {"m.py": "class A: ...\ndef __getattr__(name): ...\n"}

    assert "m:A" == resolved(files, "m:A").name
    assert (UnknownError, "m.py: B is bound nowhere; the module's __getattr__ in line 2 may give it") == refusal(
        lambda: resolved(files, "m:B")
    )


@pytest.mark.parametrize(
    ("star", "importer", "found"),
    [
        ("__all__ = ['A']\nclass A: ...", "from .s import *", "p.s:A"),
        ("__all__ = ['A']\nclass A: ...", "from .s import *\nclass A: ...", "p.m:A"),
        ("__all__ = ['A']\nclass A: ...", "class A: ...\nfrom .s import *", "p.s:A"),
        ("__all__ = ['B']\nclass A: ...", "class A: ...\nfrom .s import *", "p.m:A"),
        ("__all__ = ['B']\nclass A: ...", "class A: ...\nif x: from .s import *", "p.m:A"),
        ("class _: ...", "class A: ...\nfrom torch import *\nclass A: ...", "p.m:A"),
    ],
)
def test_star_import_that_says_its_names(star: str, importer: str, found: str) -> None:
    """An `import *` binds what `__all__` lists, where it stands among the other bindings."""
    files = {"p/__init__.py": "", "p/s.py": star + "\n", "p/m.py": importer + "\n"}

    assert found == resolved(files, "p.m:A").name


@pytest.mark.parametrize(
    ("star", "importer", "problem"),
    [
        ("class A: ...", "from .s import *", "in line 1 may bring A: p/s.py has no __all__ that is read"),
        ("__all__ = make()", "from .s import *", "in line 1 may bring A: p/s.py has no __all__ that is read"),
        (
            "__all__ = ['A']\n__all__ += more",
            "class A: ...\nfrom .s import *",
            "in line 2 may bring A: p/s.py has no __all__ that is read",
        ),
        ("", "class A: ...\nfrom torch import *", "in line 2 may bring A from torch"),
    ],
)
def test_star_import_of_unsaid_names(star: str, importer: str, problem: str) -> None:
    """An `import *` whose names can't be told may bring any."""
    files = {"p/__init__.py": "", "p/s.py": star + "\n", "p/m.py": importer + "\n"}

    assert (UnknownError, f"p/m.py: the `import *` {problem}") == refusal(lambda: resolved(files, "p.m:A"))


def test_star_import_leaves_private_names() -> None:
    """Without an `__all__`, an `import *` brings no name that begins with an underscore."""
    files = {"s.py": "class _A: ...\n", "m.py": "class _A: ...\nfrom s import *\n"}

    assert "m:_A" == resolved(files, "m:_A").name


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("class A: ...\nclass A: ...", 2),
        ("class A: ...\nif current.is_one():\n    class A: ...", 3),
        ("class A: ...\nif current.is_two():\n    class A: ...", 1),
        ("if not current.is_two():\n    class A: ...\nelse:\n    class A: ...", 2),
        ("with locked():\n    class A: ...", 2),
        ("try:\n    class A: ...\nfinally:\n    done()", 2),
        ("try:\n    class A: ...\nexcept ImportError as error:\n    raise RuntimeError from error", 2),
        ("try:\n    import x\nexcept ImportError:\n    raise\nclass A: ...", 5),
        ("try:\n    class A: ...\nexcept OSError:\n    A = None", 2),
        ("try:\n    import x\nexcept OSError:\n    A = None\nelse:\n    class A: ...", 6),
        ("match kind:\n    case 1:\n        class A: ...", 3),
        ("class A: ...\nif TYPE_CHECKING:\n    class A: ...", 1),
        ("class A: ...\nif typing.TYPE_CHECKING:\n    class A: ...", 1),
        ("from typing import TYPE_CHECKING\nclass A: ...\nif TYPE_CHECKING:\n    class A: ...", 2),
        ("class A: ...\nif __name__ == '__main__':\n    class A: ...", 1),
        ("class A: ...\nB = A\nclass A: ...\nA = B", 1),
        ("class B: ...\nA = B if current.is_one() else None", 1),
        ("class B: ...\nA: type = (B)", 1),
        ("class B: ...\nA = C = B", 1),
        ("@final\nclass A: ...\ndef f():\n    A = 1", 1),
        ("class A: ...\nA: type", 1),
    ],
)
def test_last_live_binding(body: str, line: int) -> None:
    """Of the places that bind a name, the last one that the world leaves counts, in whatever block it stands."""
    where = world("one", **{"except OSError": False, "match kind: case 1": True})
    found = resolved({"m.py": body + "\n"}, "m:A", where)

    assert (Class, line) == (type(found), found.seen.at["line"])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            "try:\n    from torch import A\nexcept ImportError:\n    A = None",
            "the facts do not decide line 3: except ImportError",
        ),
        (
            "try:\n    class A: ...\nexcept ImportError:\n    pass",
            "the facts do not decide line 3: not (except ImportError)",
        ),
        ("for x in y:\n    class A: ...", "the facts do not decide line 1: for x in y"),
        ("while x:\n    class A: ...", "the facts do not decide line 1: x"),
        ("match a:\n    case 1:\n        class A: ...", "the facts do not decide line 2: match a: case 1"),
        (
            "with suppress(ImportError):\n    from torch import A",
            "the facts do not decide line 1: with suppress(ImportError)",
        ),
        ("if ready():\n    raise OSError\nclass A: ...", "the facts do not decide line 1: ready()"),
        ("class B: ...\nA = B if ready() else None", "the facts do not decide line 2: ready()"),
        (
            "TYPE_CHECKING = make()\nif TYPE_CHECKING:\n    class A: ...",
            "the facts do not decide line 2: TYPE_CHECKING",
        ),
    ],
)
def test_binding_under_an_open_condition(body: str, problem: str) -> None:
    """Whether a body was entered, or left early, is a condition that somebody must decide."""
    assert (UnknownError, f"m.py: in the world one, {problem}") == refusal(
        lambda: resolved({"m.py": body + "\n"}, "m:A")
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("for A in all: ...", "line 1 binds A to what only a run would tell"),
        ("with x as A: ...", "line 1 binds A to what only a run would tell"),
        ("A, B = make()", "line 1 binds A to what only a run would tell"),
        ("if (A := make()): ...", "line 1 binds A to what only a run would tell"),
        ("class A: ...\ndel A", "line 2 binds A to what only a run would tell"),
        ("class A: ...\nA = wrapped(A)", "line 2 is computed: wrapped(A)"),
        ("A = 3", "line 1 is computed: 3"),
        ("A = lambda: 3", "line 1 is computed: lambda: 3"),
        ("A = known['A']", "line 1 is computed: known['A']"),
        ("def f(): ...\nA = f.part", "line 2 takes part from m:f, which does not itself define it"),
    ],
)
def test_binding_that_only_a_run_would_tell(body: str, problem: str) -> None:
    """What a run computes is unknown, and so is a name that a function may bind again."""
    assert (UnknownError, f"m.py: {problem}") == refusal(lambda: resolved({"m.py": body + "\n"}, "m:A"))


def test_name_that_a_function_binds_again() -> None:
    """A `global` lets a function bind the name at any time."""
    body = "class A: ...\ndef f():\n    global A\n    A = None\n"

    assert UnknownError is refusal(lambda: resolved({"m.py": body}, "m:A"))[0]


def test_name_that_is_not_there() -> None:
    """No binding is not one; those that the world rules out are named, with what they stand under."""
    assert (NotOneError, "expected one binding of B in m.py in the world one, found none") == refusal(
        lambda: resolved({"m.py": "class A: ...\n"}, "m:B")
    )
    assert (
        NotOneError,
        "expected one binding of A in m.py in the world one, found none (near: line 2 under current.is_two())",
    ) == refusal(lambda: resolved({"m.py": "if current.is_two():\n    class A: ...\n"}, "m:A"))
    assert (NotOneError, "expected one module x.y in the artifact, found none") == refusal(
        lambda: resolved({"m.py": ""}, "x.y:A")
    )
    assert (ReadingError, "expected package.module:Name, found 'm.A'") == refusal(lambda: resolved({"m.py": ""}, "m.A"))
    assert (NotOneError, "expected one file x.py in the artifact, found none") == refusal(
        lambda: tree_of({"m.py": ""}).module("x.py")
    )


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "from b import A\n", "b.py": "from a import A\n"},
        {"a.py": "import b\nA = b.A\n", "b.py": "import a\nA = a.A\n"},
    ],
)
def test_imports_in_a_circle(files: dict[str, str]) -> None:
    """A name that modules hand to each other is never bound."""
    kind, problem = refusal(lambda: resolved(files, "a:A"))

    assert (UnknownError, "is imported in a circle") == (kind, problem.partition(": ")[2].partition(" ")[2])


def test_file_that_does_not_parse() -> None:
    """A file with an error inside tells nothing, though the name is in its sound part."""
    files = {"m.py": "from n import A\n", "n.py": "class A: ...\ndef f(:\n"}

    assert (UnknownError, "n.py: the source does not parse at line 2") == refusal(lambda: resolved(files, "m:A"))


def test_files_fetched_as_they_are_needed() -> None:
    """A question says all that it misses; asked again with it, it ends, and what was read is the closure."""
    files = {
        **ENGINE,
        "engine/both.py": "from .base import Flat\nfrom .parts import Layered\n\n\nclass Both(Flat, Layered): ...\n",
    }
    at_hand: dict[str, bytes] = {}
    asked: list[tuple[str, ...]] = []
    tree = Tree(at_hand.get, files.__contains__)

    def order() -> list[str]:
        found = tree.resolve("engine.both:Both", ONE)
        assert isinstance(found, Class)
        return names(found.mro)

    found: list[str] = []
    while not found:
        try:
            found = order()
        except MissingError as error:
            asked.append(error.paths)
            at_hand |= {path: files[path].encode() for path in error.paths}

    assert [("engine/both.py",), ("engine/base.py", "engine/parts.py")] == asked
    assert "not fetched yet: a.py, b.py" == MissingError(["b.py", "a.py", "b.py"]).problem
    assert ("engine/base.py", "engine/both.py", "engine/parts.py") == tree.used
    assert [
        "engine.both:Both",
        "engine.base:Flat",
        "engine.base:Base",
        "engine.parts:Layered",
        "torch.nn.Module",
        "engine.parts:Ranked",
        "typing.Protocol",
        "typing.Generic",
        "builtins.object",
    ] == found


@pytest.mark.parametrize(
    ("body", "order"),
    [
        ("class A: ...", "m:A builtins.object"),
        ("class X: ...\nclass Y(X): ...\nclass Z(X): ...\nclass A(Y, Z): ...", "m:A m:Y m:Z m:X builtins.object"),
        ("class B: ...\nclass A(B[int], metaclass=M): ...", "m:A m:B builtins.object"),
        ("class B[T]: ...\nclass A[T](B[T][int]): ...", "m:A m:B builtins.object"),
        (
            "from typing import Generic as G\nclass A(dict, G[T]): ...",
            "m:A builtins.dict typing.Generic builtins.object",
        ),
        ("import abc\nclass A(abc.ABC, metaclass=abc.ABCMeta): ...", "m:A abc.ABC builtins.object"),
        ("class A: ...\nclass A(A): ...", "m:A m:A builtins.object"),
        ("class B: ...\nclass A(B if current.is_one() else dict): ...", "m:A m:B builtins.object"),
        ("class B: ...\nclass A(B): ...\nB = None", "m:A m:B builtins.object"),
        ("class O:\n    class I: ...\nclass A(O.I): ...", "m:A m:O.I builtins.object"),
    ],
)
def test_order_of_bases(body: str, order: str) -> None:
    """Bases stand in Python's own order, as they are where the class is made; parameters and keywords are none."""
    assert order.split() == names(resolved({"m.py": body + "\n"}, "m:A").mro)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("class X: ...\nclass Y(X): ...\nclass A(X, Y): ...", "m.py: the bases of m:A have no common order"),
        ("class A(*bases): ...", "m.py: line 1 is computed: *bases"),
        ("class A(make()): ...", "m.py: line 1 is computed: make()"),
        ("def f(): ...\nclass A(f): ...", "m.py: line 2: the base m:f is a function"),
        ("import m as me\nclass A(me): ...", "m.py: m is a module, neither a class nor a function"),
    ],
)
def test_bases_that_can_not_be_told(body: str, problem: str) -> None:
    """A base that is computed, or is no class, leaves the order unknown."""
    assert (UnknownError, problem) == refusal(lambda: resolved({"m.py": body + "\n"}, "m:A").mro)


def test_bases_in_a_circle() -> None:
    """Classes of two modules that rest on each other have no order."""
    files = {"a.py": "import b\nclass A(b.B): ...\n", "b.py": "import a\nclass B(a.A): ...\n"}

    assert UnknownError is refusal(lambda: resolved(files, "a:A").mro)[0]


def test_class_by_attribute_of_a_base() -> None:
    """What `self.model_cls(…)` of a base makes is what the class itself names, with the way there."""
    deep = resolved(ENGINE, "engine.models:Flat", world("one")).instantiates("model")
    flat = resolved(ENGINE, "engine.models:Flat", world("three")).instantiates("model")

    assert [
        "instance self.model_cls engine/base.py:19-21",
        "alias Lean engine/models/one/model.py:10-10",
        "class engine.models.one.model:Lean engine/models/one/model.py:6-6",
    ] == hops(deep.trail)
    assert [
        "instance self.model_cls engine/base.py:19-21",
        "alias Inner engine/base.py:14-14",
        "class engine.base:Inner engine/base.py:9-10",
    ] == hops(flat.trail)
    assert sound(deep.trail, ENGINE)
    assert sound(flat.trail, ENGINE)
    assert ([], ["engine.compiling:compiled"]) == tuple(
        [one.name for one in found.decorators] for found in (deep, flat)
    )


DECORATED = """\
import functools
from engine import compiling
from engine.compiling import compiled, compiled as quick

fast = quick


@compiled
@quick(dims=2, when=lambda config: config.on)
@compiling.compiled("x", (1, "two"), *more)
@fast
@functools.wraps
class A: ...


class B(A): ...


@make()(1)
class C: ...
"""


def test_decorators() -> None:
    """A decorator is known by its qualified name, bare or called or by another name, arguments as far as literal."""
    files = {**ENGINE, "m.py": DECORATED}
    found = resolved(files, "m:A").decorators

    assert [
        ("engine.compiling:compiled", False, (), ()),
        ("engine.compiling:compiled", True, (("dims", 2),), (("when", "lambda config: config.on"),)),
        ("engine.compiling:compiled", True, (("0", "x"), ("1", (1, "two"))), (("2", "*more"),)),
        ("engine.compiling:compiled", False, (), ()),
        ("functools.wraps", False, (), ()),
    ] == [(one.name, one.called, one.literals, one.computed) for one in found]
    assert [
        "decorator fast m.py:11-11",
        "alias quick m.py:5-5",
        "import engine.compiling:compiled m.py:3-3",
        "function engine.compiling:compiled engine/compiling.py:8-8",
    ] == hops(found[3].trail)
    assert all(sound(one.trail, files) for one in found)
    assert () == resolved(files, "m:B").decorators
    assert (UnknownError, "m.py: line 19 is computed: make()") == refusal(lambda: resolved(files, "m:C").decorators)


def test_region_of_a_decorated_class() -> None:
    """A class stands from its first decorator to the end of its header."""
    body = "@a\n@b(\n    1\n)\nclass A(\n    dict[str, int],\n):\n    x: int = 1\n"

    assert ["class m:A m.py:1-7"] == hops(resolved({"m.py": body}, "m:A").trail)


MAKING = """\
import torch
from other import Part, make

class Inner: ...
class Outer: ...

class A:
    part = Inner
    def __init__(self, given):
        {}

    @property
    def kind(self): ...
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("self.model = Inner()", "m:Inner"),
        ("self.model: Outer = Inner()", "m:Inner"),
        ("self.model = self.part(given)", "m:Inner"),
        ("self.model = Inner[int](given)", "m:Inner"),
        ("self.model = self.other = Inner()", "m:Inner"),
        ("self.model = Inner()\n        self.model = Outer()", "m:Outer"),
        ("self.model = Inner() if current.is_two() else Outer()", "m:Outer"),
        (
            "if current.is_two():\n            self.model = Inner()\n        else:\n            self.model = Outer()",
            "m:Outer",
        ),
        ("if current.is_two():\n            return\n        self.model = Outer()", "m:Outer"),
        ("cls = Outer if current.is_one() else Inner\n        self.model = cls()", "m:Outer"),
        ("from other import Late as Here\n        self.model = Here()", "other:Late"),
        ("self.model = Part()", "other:Part"),
        ("self.model = torch.nn.Linear(1)", "torch.nn.Linear"),
        ("def later():\n            self.model = Outer()\n        self.model = Inner()", "m:Inner"),
    ],
)
def test_what_is_made(body: str, found: str) -> None:
    """The last assignment that the world leaves says what is made, by the name as it is there."""
    files = {"m.py": MAKING.format(body), "other.py": "class Part: ...\nclass Late: ...\ndef make(): ...\n"}

    assert found == resolved(files, "m:A").instantiates("model").name


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("self.model = make(1)", "m.py: line 10 calls the function other:make"),
        ("self.model = given", "m.py: line 10 assigns what is no call"),
        ("self.model, x = Inner(), 1", "m.py: line 10 assigns what is no call"),
        ("self.model = given()", "m.py: line 10 takes given from who calls A.__init__"),
        ("self.model = self.kind()", "m.py: line 13 binds kind by something other than an assignment of its own"),
        ("self.part = Outer\n        self.model = self.part()", "m.py: line 10 assigns part in __init__"),
        (
            "if given:\n            self.model = Inner()",
            "m.py: in the world one, the facts do not decide line 10: given",
        ),
        ("torch.nn.Module.__init__(self)", "m.py: line 10 calls an __init__ by its class"),
        (
            "self.model = Inner()\n    def load(self):\n        self.model = Outer()",
            "m.py: line 12 assigns model in load",
        ),
    ],
)
def test_what_is_made_can_not_be_told(body: str, problem: str) -> None:
    """What a function, an argument, an open condition or another method decides is unknown."""
    files = {"m.py": MAKING.format(body), "other.py": "class Part: ...\ndef make(): ...\n"}

    assert (UnknownError, problem) == refusal(lambda: resolved(files, "m:A").instantiates("model"))


def test_nothing_is_made() -> None:
    """No assignment is not one; a base outside of the artifact may have it."""
    assert (NotOneError, "expected one assignment to self.model in an __init__ of m:A, found none") == refusal(
        lambda: resolved({"m.py": MAKING.format("pass")}, "m:A").instantiates("model")
    )
    outside = "import torch\nclass A(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    assert (UnknownError, "m.py: torch.nn.Module, a base of m:A, may assign model") == refusal(
        lambda: resolved({"m.py": outside}, "m:A").instantiates("model")
    )


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("super().__init__()", "m:P"),
        ("super(A, self).__init__()", "m:P"),
        ("super().__init__()\n        self.model = Q()", "m:Q"),
        ("self.model = Q()\n        super().__init__()", "m:P"),
        ("if current.is_two():\n            super().__init__()\n        else:\n            self.model = Q()", "m:Q"),
        ("self.model = Q()", "m:Q"),
        ("pass", ""),
    ],
)
def test_what_is_made_by_a_base(body: str, found: str) -> None:
    """A base's `__init__` counts where `super()` passes on to it, and before or after as it is called."""
    base = "class P: ...\nclass Q: ...\nclass B:\n    def __init__(self):\n        self.model = P()\n"
    files = {"m.py": f"{base}class A(B):\n    def __init__(self):\n        {body}\n"}
    if found:
        assert found == resolved(files, "m:A").instantiates("model").name
    else:
        assert NotOneError is refusal(lambda: resolved(files, "m:A").instantiates("model"))[0]


def test_attributes() -> None:
    """An attribute is the first in the order of bases, with its owner and what it names."""
    deep = resolved(ENGINE, "engine.models.one.model:Deep")
    own = deep.attribute("model_cls")
    base = resolved(ENGINE, "engine.base:Flat").attribute("model_cls")
    chosen = (
        "class B:\n    if current.is_one():\n        kinds = ['a', 2]\n    else:\n        kinds = []\nclass A(B): ...\n"
    )

    assert ("engine.models.one.model:Deep", "Lean", 10) == (own.owner.name, own.seen.value, own.seen.at["line"])
    assert ("engine.base:Base", "Inner", "engine.base:Inner") == (base.owner.name, base.seen.value, base.target.name)
    assert ("m:B", ("a", 2)) == (
        (found := resolved({"m.py": chosen}, "m:A").attribute("kinds")).owner.name,
        found.seen.value,
    )
    assert sound((own.seen, base.seen), ENGINE)


@pytest.mark.parametrize(
    ("body", "kind", "problem"),
    [
        ("class A: ...", NotOneError, "expected one x in m:A and its bases, found none"),
        ("class A:\n    x: int", NotOneError, "expected one x in m:A and its bases, found none"),
        ("class A:\n    x = make()", UnknownError, "m.py: line 2 is no literal: make()"),
        (
            "class A:\n    def x(self): ...",
            UnknownError,
            "m.py: line 2 binds x by something other than an assignment of its own",
        ),
        ("class A:\n    x = 1\nA.x = 2", UnknownError, "m.py: line 3 assigns x again"),
        (
            "import torch\nclass B:\n    x = 1\nclass A(torch.nn.Module, B): ...",
            UnknownError,
            "m.py: torch.nn.Module, a base of m:A, may have x",
        ),
    ],
)
def test_attribute_that_can_not_be_told(body: str, kind: type[ReadingError], problem: str) -> None:
    """A class outside of the artifact that comes first may have it; what is computed or assigned again is unknown."""
    assert (kind, problem) == refusal(lambda: resolved({"m.py": body + "\n"}, "m:A").attribute("x"))


def test_methods() -> None:
    """A method is where the first class of the order defines it, and can be asked further."""
    body = (
        "class B:\n    def pick(self, a):\n        if a:\n            return 1\n        return 2\n    size = 3\n"
        "class A(B):\n    @staticmethod\n    def own(): ...\n"
    )
    found = resolved({"m.py": body}, "m:A")
    pick = found.method("pick")

    assert (Function, "m:B.pick", 2) == (type(pick), pick.name, pick.seen.at["line"])
    assert 1 == pick.code.returned(when=("a",)).value
    assert ["builtins.staticmethod"] == [one.name for one in found.method("own").decorators]
    assert (UnknownError, "m.py: line 6 is computed: 3") == refusal(lambda: found.method("size"))
    assert (UnknownError, "m.py: builtins.object, a base of m:A, may have __eq__") == refusal(
        lambda: found.method("__eq__")
    )
    assert "def" not in str(refusal(lambda: found.method("none")))


def test_file_of_a_tree_asked_directly() -> None:
    """One file answers what `python` answers, and counts as used."""
    tree = tree_of({"m.py": "TABLE = {'a': ('p.q', 'A')}\n", "n.py": ""})

    assert ("p.q", "A") == tree.module("m.py").entry("TABLE", "a").value
    assert ("m.py",) == tree.used


def test_worlds_side_by_side() -> None:
    """One tree answers for several worlds, in any order, the same as trees of their own."""
    tree = tree_of(ENGINE)
    asked = ["three", "one", "three", "one"]

    assert ["engine.base:Flat", "engine.models.one.model:Deep"] * 2 == [
        getattr(tree.resolve("engine.models:Flat", world(name)), "name", "") for name in asked
    ]


PIECES = st.sampled_from(
    [
        "class A: ...",
        "class A(A): ...",
        "class A(B): ...",
        "from b import *",
        "from b import A",
        "import b as A",
        "from . import A",
        "A = B",
        "B = A",
        "if x:\n    class A: ...\nelse:\n    raise",
        "try:\n    from b import A\nexcept E:\n    pass",
        "def A(): ...",
        "del A",
        "A += 1",
        "class B:\n    A = 1\n    def __init__(self):\n        self.A = B()",
        "@A\nclass B(A): ...",
        "(",
    ]
)


@settings(max_examples=150, deadline=None)
@given(one=st.lists(PIECES, max_size=6), other=st.lists(PIECES, max_size=6))
def test_files_of_any_shape(one: list[str], other: list[str]) -> None:
    """Whatever two files say, the answer is a class with its place, or an error of the reader."""
    files = {"a.py": "\n".join([*one, ""]), "b.py": "\n".join([*other, ""])}
    tree = tree_of(files)
    for target in ("a:A", "b:A", "a:B"):
        with suppress(ReadingError):
            found = tree.resolve(target, World("any", {"x": True, "except E": False}))
            if isinstance(found, Class):
                assert sound(found.trail, files)
                assert found is found.mro[0]
                found.instantiates("A")


# What an audit makes of it


def test_decorator_of_a_base() -> None:
    """A decorator above a base counts, one that goes by another name does, too; a control is the same search elsewhere."""
    files = {**ENGINE, "engine/sub.py": "from engine.base import Inner\nclass Sub(Inner): ...\n"}
    marked = resolved(files, "engine.sub:Sub").bearing("engine.compiling:compiled")
    bare = resolved(ENGINE, "engine.base:Base").bearing("engine.compiling:compiled")

    size = len(files["engine/sub.py"]) + len(files["engine/base.py"])
    assert (1, 2, size) == (marked.found, marked.definitions, marked.bytes)
    assert (0, {"path": "engine/base.py", "line": 13, "lastLine": 13}) == (bare.found, bare.at)
    assert marked == bare.against(marked).control
    assert marked.matcher == bare.matcher


def test_answer_led_there_by_steps() -> None:
    """What was met before an answer stands before it: the entry of a registry, then the way from there."""
    tree = tree_of({**ENGINE, "engine/registry.py": "MODELS = {'deep': ('models', 'Deep')}\n"})
    entry = tree.module("engine/registry.py").entry("MODELS", "deep")
    deep = tree.resolve("engine.models:Deep", ONE)
    assert isinstance(deep, Class)
    found = deep.seen.after(entry.hop("entry"))

    assert ["entry", "branch", "import"] == [hop.step for hop in found.trail]
    assert ("engine/registry.py", 1) == (found.trail[0].path, found.trail[0].at["line"])
    assert sound(found.trail, {**ENGINE, "engine/registry.py": "MODELS = {'deep': ('models', 'Deep')}\n"})
