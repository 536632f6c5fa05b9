"""The repository's own rules: what may stand in a tracked file, and where an import may point."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_LARGEST = 1_000_000

_ORDER = (
    "errors",
    "strict",
    "records",
    "values",
    "inputs",
    "readers",
    "sources",
    "snapshots",
    "boundary",
    "scripts",
    "receipts",
    "audits",
    "editorial",
    "publications",
    "units",
    "figures",
    "guides",
    "lineage",
    "bindings",
    "site",
    "checking",
    "verification",
    "issuing",
    "drift",
    "desk",
    "fetching",
    "project",
)
"""The modules of `site_builder`, in the order of the data's journey."""

_EDGES = ("fetching", "project")

_HOMES = {
    "capstone": "readers",
    "filelock": "project",
    "httpcore": "fetching",
    "httpx": "fetching",
    "jinja2": "site",
    "markdown_it": "guides",
    "tree_sitter": "readers",
    "tree_sitter_python": "readers",
}
"""Each heavy dependency has one home."""

_OUTSIDE = {"getpass", "http", "locale", "os", "platform", "random", "secrets", "shutil", "socket", "ssl"} | {
    "subprocess",
    "tempfile",
    "time",
    "urllib.request",
    "uuid",
    "zoneinfo",
}
"""Where clock, network, disk, environment and locale come from: not below the edges."""

# Folders where checkouts, homes and scratch files lie. Behind a letter or a slash it is part of another path.
_MACHINE_PATH = re.compile(rb"(?<![\w.:/<>~-])/(?:home|Users|root|tmp|work|workspace|private|var/folders)/[\w.]")


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: what is tracked can't be told")


@cache
def _tracked() -> dict[str, bytes]:
    names = _git("ls-files", "-z").split("\0")
    return {name: (_ROOT / name).read_bytes() for name in names if name and (_ROOT / name).is_file()}


def _places(pattern: re.Pattern[bytes], files: dict[str, bytes]) -> list[str]:
    """Every `file:line` where the pattern stands, without what it matched: a log should not repeat it."""
    return [
        f"{name}:{1 + body[: match.start()].count(10)}"
        for name, body in files.items()
        for match in pattern.finditer(body)
    ]


def _hosts(text: str) -> Iterator[str]:
    for address in re.findall(r"https?://[^\s'\",\[\]]+", text):
        host = urlsplit(address).hostname or ""
        if host not in ("localhost", "::1") and not host.startswith("127."):
            yield host


def _index_hosts() -> set[str]:
    """The package index in use and its file host, as pip knows them: its settings and its defaults."""
    settings = [
        subprocess.run([sys.executable, "-m", "pip", *asked], capture_output=True, text=True, check=True).stdout
        for asked in (("config", "list"), ("help", "download"))
    ]
    from pip._internal.models.index import PyPI

    index_settings = [line for line in settings[0].splitlines() if "index" in line or "find-links" in line]
    # The help wraps its lines, and names the default after these words.
    defaults = re.findall(r"\(default\s+(\S+?)\)", settings[1])
    return {*_hosts("\n".join([*index_settings, *defaults])), *_hosts(PyPI.url), PyPI.file_storage_domain}


def _host_pattern(hosts: set[str]) -> re.Pattern[bytes]:
    # A name without a dot may be a word of any sentence: it counts only where an address begins.
    names = [(re.escape(host) if "." in host else "//" + re.escape(host)).encode() for host in sorted(hosts)]
    return re.compile(rb"(?<![\w-])(?:" + b"|".join(names) + rb")(?![\w-])", re.IGNORECASE)


def test_the_hosts_in_use_are_found():
    """The rule on hosts is a rule only where the hosts are known: an index and another host for its files."""
    hosts = _index_hosts()

    assert len(hosts) >= 2
    assert ["a.txt:2"] == _places(
        _host_pattern(hosts), {"a.txt": b"1\nfrom https://" + max(hosts).encode() + b"/simple\n"}
    )
    assert [] == _places(_host_pattern({"nexus", "files.test"}), {"a.txt": b"the nexus; profiles.test"})


def test_no_index_host_in_a_tracked_file():
    """No package index host and no host of its files stands in the repository."""
    assert [] == _places(_host_pattern(_index_hosts()), _tracked())


def test_no_path_of_a_machine_in_a_tracked_file():
    """No tracked file names a folder of the machine that it was written on."""
    here = [re.escape(str(path)).encode() for path in (_ROOT, Path.home()) if len(path.parts) > 2]

    assert [] == _places(_MACHINE_PATH, _tracked())
    for path in here:
        assert [] == _places(re.compile(path + rb"(?![\w-])"), _tracked())


@pytest.mark.parametrize("folder", ["home", "Users", "root", "tmp", "work"])
def test_a_path_of_a_machine_is_seen(folder):
    """The rule sees a path at the start of a line and in quotes, and not inside another path or address."""
    path = f"/{folder}/x".encode()

    assert ["a:1", "a:2"] == _places(_MACHINE_PATH, {"a": path + b'\n"' + path + b'"\n'})
    assert [] == _places(_MACHINE_PATH, {"a": b"src" + path + b" https://example" + path + b" ../" + path})


def test_no_large_file():
    """No tracked file is larger than a megabyte: upstream bytes belong in the store. A receipt is held by the gates."""
    receipt = re.compile(r"evidence/[^/]+/receipts/(?:draft|\d+)\.json")
    assert [] == [name for name, body in _tracked().items() if len(body) > _LARGEST and not receipt.fullmatch(name)]


def test_no_lock_file_that_names_an_index():
    """Pins stand in requirements/*.txt; a resolver's own lock file names the index on every entry."""
    assert [] == [
        name for name in _tracked() if Path(name).name in ("uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock")
    ]


@pytest.mark.parametrize("name", ["site", "test"])
def test_every_requirement_is_pinned_by_digest(name):
    """Each requirement is one version with at least one digest, and no line says where to get it."""
    text = (_ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    entries = [entry for line in re.sub(r"\\\n", " ", text).splitlines() if (entry := line.partition("#")[0].strip())]
    pinned = re.compile(r"[a-z0-9-]+==[\w.]+( ; [^\\]+?)?(\s+--hash=sha256:[0-9a-f]{64})+")

    assert entries
    assert [] == [entry for entry in entries if not pinned.fullmatch(entry)]
    assert "://" not in text


@pytest.mark.parametrize("name", ["site", "test"])
def test_every_requirement_asked_for_is_pinned(name):
    """What a .in file asks for stands in its .txt: what is not pinned would not be installed."""
    asked = _names((_ROOT / "requirements" / f"{name}.in").read_text(encoding="utf-8"))
    pinned = _names((_ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8"))

    assert asked
    assert set() == asked - pinned


def _names(requirements: str) -> set[str]:
    return {name.lower() for name in re.findall(r"^([A-Za-z][\w.-]*)", requirements, re.MULTILINE)}


def _python() -> dict[str, ast.Module]:
    return {name: ast.parse(body, name) for name, body in _tracked().items() if name.endswith(".py")}


def _module_of(name: str) -> str:
    """The module of `site_builder` that a file belongs to; the parts of a package are one module."""
    return Path(name).parts[1].removesuffix(".py")


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _against_the_stream(name: str, tree: ast.Module) -> Iterator[str]:
    module = _module_of(name)
    for line, imported in _imports(tree):
        first, *rest = imported.split(".")
        if first == "site_builder" and rest and rest[0] != module:
            upstream = [known for known in _ORDER[: _ORDER.index(module)] if known not in _EDGES]
            if rest[0] not in upstream:
                yield f"{name}:{line}: {module} imports {rest[0]}"
        if _HOMES.get(first, module) != module:
            yield f"{name}:{line}: {first} is imported outside {_HOMES[first]}"
        if module not in _EDGES and any(imported == known or imported.startswith(known + ".") for known in _OUTSIDE):
            yield f"{name}:{line}: {module} imports {imported}, which only an edge may"


def _builder() -> dict[str, ast.Module]:
    return {
        name: tree
        for name, tree in _python().items()
        if name.startswith("site_builder/") and name != "site_builder/__init__.py"
    }


def test_every_module_has_its_place_in_the_order():
    """A module of `site_builder` has its place in the order, or its imports can't be judged."""
    assert set() == {_module_of(name) for name in _builder()} - set(_ORDER)


def test_imports_point_upstream():
    """A module imports only modules before it, nobody imports an edge, each heavy dependency has one home."""
    files = {name: tree for name, tree in _builder().items() if _module_of(name) in _ORDER}

    assert files
    assert [] == [problem for name, tree in files.items() for problem in _against_the_stream(name, tree)]


def test_an_import_against_the_stream_is_seen():
    """The rule sees an import wherever it stands: at the top or in a function, of a module or a name."""
    tree = ast.parse(
        "from site_builder.errors import Problem\n"
        "from site_builder import receipts\n"
        "def late():\n"
        "    import site_builder.project\n"
        "    from urllib.request import urlopen\n"
        "import httpx\n"
        "import os.path\n"
    )

    assert [
        "site_builder/values.py:2: values imports receipts",
        "site_builder/values.py:6: httpx is imported outside fetching",
        "site_builder/values.py:7: values imports os.path, which only an edge may",
        "site_builder/values.py:4: values imports project",
        "site_builder/values.py:5: values imports urllib.request.urlopen, which only an edge may",
    ] == list(_against_the_stream("site_builder/values.py", tree))


def test_only_the_command_line_imports_the_edges():
    """`build.py`, the tests and the benchmarks may import an edge; an audit or an operator tool may not."""
    free = re.compile(r"build\.py|tests/.*|benchmarks/.*|site_builder/(fetching|project)(\.py|/.*)")

    assert [] == [
        f"{name}:{line}"
        for name, tree in _python().items()
        if not free.fullmatch(name)
        for line, imported in _imports(tree)
        if any(f"{imported}.".startswith(f"site_builder.{edge}.") for edge in _EDGES)
    ]


def test_every_python_file_says_what_it_holds():
    """Every tracked Python file begins with a docstring."""
    assert [] == [name for name, tree in _python().items() if not ast.get_docstring(tree)]
