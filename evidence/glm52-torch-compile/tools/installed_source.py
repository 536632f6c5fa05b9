#!/usr/bin/env python3
"""Are the installed files the ones that a receipt speaks of? Digests of what would run, taken without importing it.

    python installed_source.py [--dist vllm] [--receipt FILE] [--json]

    verdict          exit  what is true
    APPLIES          0     every file that the receipt lists for one wheel of this version is here, byte for byte
    DIFFERENT-INPUT  1     a file that the receipt lists is another one here: its answer does not carry over
    UNKNOWN          3     something is missing, or what is read here may not be what runs
    OUT-OF-SCOPE     4     the receipt does not speak of this version, build or platform
    LISTED           0     no receipt was given: digests to keep, and no answer
    (usage)          2

Run it with the interpreter, the environment variables and in the folder that the server is started with: they decide what an
import finds. It reads files only. It starts no process, opens no connection and imports nothing that it looks at; import hooks
that this interpreter has already installed are asked where they would find a module, as the import system asks them.

What it can't see: code that replaces parts of the package once the server runs, and a bytecode cache whose time and size are
those of its source but which was compiled from something else. Whether a compilation happened is the startup log's to say.

`judge` is the whole decision, a function of records and bytes. The rest gathers the records and prints.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, NamedTuple, TypedDict
from urllib.parse import unquote

EXIT_CODES = {"APPLIES": 0, "LISTED": 0, "DIFFERENT-INPUT": 1, "UNKNOWN": 3, "OUT-OF-SCOPE": 4}

USUAL_FILES = (
    "vllm/model_executor/models/registry.py",
    "vllm/config/vllm.py",
    "vllm/config/compilation.py",
    "vllm/compilation/decorators.py",
    "vllm/compilation/wrapper.py",
    "vllm/model_executor/models/deepseek_v2.py",
    "vllm/models/deepseek_v32/__init__.py",
    "vllm/models/deepseek_v32/nvidia/model.py",
)
"""What the published question rests on, where a release has it. Which files decide for a release, only its receipt says."""

_RECEIPT_AT_MOST = 64 * 1024 * 1024
_FILE_AT_MOST = 2**40
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SOURCE_ID = re.compile(r"[a-z0-9][A-Za-z0-9.@_-]*")
_DIST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_ORIGIN = re.compile(
    r"pkg:pypi/(?P<dist>[^@?#]+)@(?P<version>[^?#]+)\?file_name=(?P<file>[^&#]+\.whl)(?:#.*)?", re.DOTALL
)
_WHEEL = re.compile(
    r"(?P<dist>[^-]+)-(?P<version>[^-]+)(?:-(?P<build>\d[^-]*))?-(?P<tag>[^-]+-[^-]+-[^-]+)\.whl",
)
_TAG = re.compile(r"[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+")
_MANYLINUX = re.compile(r"manylinux(?:1|2010|2014|_\d+_\d+)_")


class FileRecord(TypedDict):
    """One file, in the receipt's notation."""

    path: str
    digest: str
    bytes: int


class Obstacle(TypedDict):
    """Why something can't be told: a code, the file it is about (empty: the whole installation), and a sentence."""

    code: str
    where: str
    text: str


class Installed(TypedDict):
    """What was found of one distribution; what it lacks stands among the obstacles."""

    dist: str
    version: str
    build: str
    tags: list[str]
    files: list[FileRecord]
    obstacles: list[Obstacle]


class _Wheel(NamedTuple):
    """One released wheel as a receipt speaks of it; no members means that it lists no file of it."""

    source: str
    file: str
    version: str
    build: str
    tags: frozenset[str]
    members: dict[str, FileRecord]


class _Refused(Exception):
    """The receipt can't be relied on; each obstacle says where and why."""

    def __init__(self, obstacles: list[Obstacle]) -> None:
        super().__init__(obstacles)
        self.obstacles = obstacles


def judge(installed: Installed, receipt: bytes | None) -> dict[str, Any]:
    """Return the verdict on what is installed, given a receipt's bytes: APPLIES only if every listed file is equal."""
    whole = [obstacle for obstacle in installed["obstacles"] if not obstacle["where"]]
    if whole:
        return _verdict("UNKNOWN", installed, whole)
    if receipt is None:
        return _listing(installed)
    try:
        spoken = [wheel for wheel in _wheels(receipt, installed["dist"]) if wheel.version == installed["version"]]
    except _Refused as refused:
        return _verdict("UNKNOWN", installed, refused.obstacles)

    candidates, outside = _in_scope(installed, spoken)
    if outside:
        return _verdict("OUT-OF-SCOPE", installed, [outside])
    listing = [wheel for wheel in candidates if wheel.members]
    if not listing:
        text = f"expected files that the receipt lists for {installed['dist']} {installed['version']}, found none"
        return _verdict("UNKNOWN", installed, [_obstacle("receipt-without-members", "", text)])
    return _compared(installed, listing)


def _listing(installed: Installed) -> dict[str, Any]:
    """Return what is here, with no answer."""
    if not installed["files"]:
        text = "no usual file is here, and no receipt says which files decide"
        return _verdict("UNKNOWN", installed, [*installed["obstacles"], _obstacle("nothing-listed", "", text)])
    if installed["obstacles"]:
        return _verdict("UNKNOWN", installed, installed["obstacles"])
    text = "digests and no answer: only a receipt says which files decide for a release, and what they should be"
    return _verdict("LISTED", installed, [_obstacle("no-receipt", "", text)])


def _in_scope(installed: Installed, spoken: list[_Wheel]) -> tuple[list[_Wheel], Obstacle | None]:
    """Return the wheels that this may be an installation of, or why the receipt speaks of none."""
    named = f"{installed['dist']} {installed['version']}"
    if not spoken:
        return [], _obstacle("version-not-covered", "", f"the receipt does not speak of {named}")
    tags = _plain_tags(installed["tags"])
    candidates = [wheel for wheel in spoken if tags and tags <= wheel.tags]
    if not candidates:
        text = f"the receipt does not speak of {named} for {', '.join(installed['tags'])}"
        return [], _obstacle("platform-not-covered", "", text)
    # A build tag is often in the file's name only, and the installer keeps no name: silence is compatible with each.
    if installed["build"] != "none":
        candidates = [wheel for wheel in candidates if wheel.build == installed["build"]]
    if not candidates:
        return [], _obstacle(
            "build-not-covered", "", f"the receipt does not speak of build {installed['build']} of {named}"
        )
    return candidates, None


def _compared(installed: Installed, candidates: list[_Wheel]) -> dict[str, Any]:
    """Return the verdict over the wheels that this may be: one that fits, else the nearest."""
    found = {record["path"]: record for record in installed["files"]}
    hindering: dict[str, list[Obstacle]] = {}
    for obstacle in installed["obstacles"]:
        hindering.setdefault(obstacle["where"], []).append(obstacle)
    compared = []
    for wheel in candidates:
        differences: list[dict[str, Any]] = []
        untold: list[Obstacle] = []
        for path, listed in sorted(wheel.members.items()):
            hindered = hindering.get(path, [])
            if path not in found and not hindered:
                hindered = [_obstacle("file-missing", path, "it is not there")]
            elif path in found and _stated(found[path]) != _stated(listed):
                differences.append({"path": path, "expected": _stated(listed), "found": _stated(found[path])})
            untold.extend(hindered)
        compared.append((wheel, differences, untold))

    fits = [wheel for wheel, differences, untold in compared if not differences and not untold]
    if fits:
        names = " and ".join(wheel.file for wheel in fits)
        text = f"every file that the receipt lists ({len(fits[0].members)}) is that of {names}"
        return _verdict("APPLIES", installed, [_obstacle("every-file-equal", "", text)], wheel=fits[0], fits=fits)
    wheel, differences, untold = min(compared, key=lambda one: (len(one[1]), len(one[2])))
    if differences:
        changed = [_obstacle("file-differs", one["path"], f"it is not the file of {wheel.file}") for one in differences]
        return _verdict("DIFFERENT-INPUT", installed, [*changed, *untold], wheel=wheel, differences=differences)
    return _verdict("UNKNOWN", installed, untold, wheel=wheel)


def _verdict(
    verdict: str,
    installed: Installed,
    explanations: list[Obstacle],
    *,
    wheel: _Wheel | None = None,
    fits: Sequence[_Wheel] = (),
    differences: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Return the JSON object: the same keys for every verdict, a word where there is nothing to say."""
    asked = None if wheel is None else wheel.members
    return {
        "verdict": verdict,
        "dist": installed["dist"],
        "version": installed["version"],
        "build": installed["build"],
        "tags": sorted(installed["tags"]),
        "wheel": "none" if wheel is None else wheel.file,
        "source": "none" if wheel is None else wheel.source,
        "fits": [one.source for one in fits],
        "files": sorted(
            (record for record in installed["files"] if asked is None or record["path"] in asked),
            key=lambda record: record["path"],
        ),
        "differences": list(differences),
        "reasons": list(dict.fromkeys(explanation["code"] for explanation in explanations)),
        "explanations": explanations,
    }


def _stated(record: FileRecord) -> dict[str, Any]:
    return {"digest": record["digest"], "bytes": record["bytes"]}


def _obstacle(code: str, where: str, text: str) -> Obstacle:
    return {"code": code, "where": where, "text": text}


def _plain_tags(tags: Iterable[str]) -> frozenset[str]:
    """Return the tags one by one, each platform without the libc that a file name promises: WHEEL often says plain linux."""
    plain = set()
    for tag in tags:
        python, abi, platform = tag.lower().split("-")
        plain |= {
            f"{one}-{other}-{_MANYLINUX.sub('linux_', third)}"
            for one in python.split(".")
            for other in abi.split(".")
            for third in platform.split(".")
        }
    return frozenset(plain)


def _normalised(dist: str) -> str:
    return re.sub(r"[-_.]+", "-", dist).lower()


# The receipt, read strictly: what is in doubt is no receipt.


def files_listed(receipt: bytes, dist: str, version: str) -> list[str]:
    """Return the paths that a receipt lists for any wheel of this version; none when it can't be relied on."""
    try:
        wheels = _wheels(receipt, dist)
    except _Refused:
        return []
    return sorted({path for wheel in wheels if wheel.version == version for path in wheel.members})


def _wheels(receipt: bytes, dist: str) -> list[_Wheel]:
    """Return what the receipt says of each wheel of the distribution, in its order.

    Raises:
        _Refused: it is no receipt, or a row about the distribution is malformed.
    """
    problems: list[Obstacle] = []
    wheels: dict[str, _Wheel] = {}
    seen: set[str] = set()
    for number, row in enumerate(_source_rows(receipt)):
        where = f"/body/sources/{number}"
        source, origin = (row.get("id"), row.get("origin")) if isinstance(row, dict) else (None, None)
        if not isinstance(source, str) or not _SOURCE_ID.fullmatch(source) or source in seen:
            problems.append(_obstacle("malformed-receipt", f"{where}/id", "expected an id that no other source has"))
            continue
        seen.add(source)
        if not isinstance(origin, str):
            problems.append(_obstacle("malformed-receipt", f"{where}/origin", "expected an address or a package URL"))
            continue
        package = _ORIGIN.fullmatch(origin)
        if package is None or _normalised(unquote(package["dist"])) != _normalised(dist):
            continue
        wheel = _wheel(row, package, where, problems)
        if wheel is not None:
            wheels[wheel.file] = _joined(wheels.get(wheel.file), wheel, where, problems)
    if problems:
        raise _Refused(problems)
    return list(wheels.values())


def _source_rows(receipt: bytes) -> list[Any]:
    """Return the receipt's rows on sources, not yet looked at.

    Raises:
        _Refused: it is no receipt.
    """
    try:
        if len(receipt) > _RECEIPT_AT_MOST:
            raise ValueError(f"more than {_RECEIPT_AT_MOST} bytes")
        document = json.loads(
            receipt.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=_no_number,
            parse_constant=_no_number,
            parse_int=_integer,
        )
    except (ValueError, RecursionError) as problem:
        raise _not_a_receipt("/", f"the JSON of a receipt, found {str(problem)[:200]}") from problem
    if not isinstance(document, dict) or document.get("schema") != "receipt/1":
        raise _not_a_receipt("/schema", '"receipt/1"')
    if not isinstance(document.get("audit"), str) or not document["audit"]:
        raise _not_a_receipt("/audit", "the name of an audit")
    body = document.get("body")
    sources = body.get("sources") if isinstance(body, dict) else None
    if not isinstance(sources, list) or not sources:
        raise _not_a_receipt("/body/sources", "a list that is not empty")
    return sources


def _not_a_receipt(where: str, expected: str) -> _Refused:
    return _Refused([_obstacle("malformed-receipt", where, f"expected {expected}")])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    taken = dict(pairs)
    if len(taken) != len(pairs):
        raise ValueError("a key that stands twice in one object")
    return taken


def _no_number(text: str) -> Any:
    raise ValueError(f"the number {text[:40]}, where a receipt has integers and strings")


def _integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError("an integer that no size or line needs")
    return int(text)


def _wheel(row: dict[str, Any], package: re.Match[str], where: str, problems: list[Obstacle]) -> _Wheel | None:
    """Return what one row says of its wheel; what is malformed is added to the problems."""
    file = unquote(package["file"])
    name = _WHEEL.fullmatch(file)
    version = unquote(package["version"])
    if name is None or (_normalised(name["dist"]), name["version"]) != (_normalised(unquote(package["dist"])), version):
        problems.append(
            _obstacle("malformed-receipt", f"{where}/origin", "expected a wheel of the version that is named")
        )
        return None
    listed = row.get("members", [])
    members: dict[str, FileRecord] = {}
    if not isinstance(listed, list):
        problems.append(_obstacle("malformed-receipt", f"{where}/members", "expected a list"))
        return None
    for number, member in enumerate(listed):
        record = _record(member)
        if record is None or record["path"] in members:
            text = "expected path (relative, once), digest (sha256: and 64 hex) and bytes (an integer)"
            problems.append(_obstacle("malformed-receipt", f"{where}/members/{number}", text))
        else:
            members[record["path"]] = record
    return _Wheel(row["id"], file, version, name["build"] or "none", _plain_tags([name["tag"]]), members)


def _record(member: Any) -> FileRecord | None:
    """Return a listed file, or None where it is not one."""
    if not isinstance(member, dict):
        return None
    path, digest, size = member.get("path"), member.get("digest"), member.get("bytes")
    if (
        not isinstance(path, str)
        or not _is_inside(path)
        or not isinstance(digest, str)
        or not _DIGEST.fullmatch(digest)
    ):
        return None
    if type(size) is not int or not 0 <= size <= _FILE_AT_MOST:
        return None
    return {"path": path, "digest": digest, "bytes": size}


def _is_inside(path: str) -> bool:
    """Whether the path is relative, has one spelling, and stays in the folder that it is read from, on any system."""
    parts = path.split("/")
    return (
        path.isprintable() and not set(path) & set('\\:*?"<>|') and not any(part in ("", ".", "..") for part in parts)
    )


def _joined(known: _Wheel | None, wheel: _Wheel, where: str, problems: list[Obstacle]) -> _Wheel:
    """Return one wheel of two rows: what it is asked for is what either lists."""
    if known is None:
        return wheel
    if any(known.members.get(path, record) != record for path, record in wheel.members.items()):
        problems.append(
            _obstacle("malformed-receipt", f"{where}/members", "two rows disagree about a file of one wheel")
        )
    return (known if known.members else wheel)._replace(members={**known.members, **wheel.members})


# What is installed, read without importing it.


def examine(dist: str, wanted: Callable[[str], Sequence[str]], search: Sequence[str]) -> Installed:
    """Return what is installed of a distribution: its own words, the files that `wanted` names for its version, and obstacles.

    `search` are the folders that an import looks into, in their order.
    """
    obstacles: list[Obstacle] = []
    installed: Installed = {
        "dist": dist,
        "version": "unknown",
        "build": "none",
        "tags": [],
        "files": [],
        "obstacles": obstacles,
    }
    folders = list(dict.fromkeys(os.path.realpath(folder) for folder in search))
    everything = list(importlib.metadata.distributions(path=folders))
    found = list(importlib.metadata.distributions(name=_normalised(dist), path=folders))
    if len(found) != 1:
        code = "several-distributions" if found else "not-installed"
        text = f"expected one distribution named {dist} where this interpreter looks, found {len(found)}"
        obstacles.append(_obstacle(code, "", text))
        return installed
    root = _root(found[0], obstacles)
    _describe(found[0], installed)
    obstacles.extend(_plugins(everything, dist))
    if root is None:
        return installed

    paths = list(wanted(installed["version"]))
    for top in sorted({path.split("/")[0] for path in paths}):
        obstacles.extend(_elsewhere(top, root, search))
    for path in paths:
        record = _read(root, path, obstacles)
        if record is not None:
            installed["files"].append(record)
    return installed


def _root(found: importlib.metadata.Distribution, obstacles: list[Obstacle]) -> str | None:
    """Return the folder that the distribution's paths are relative to, if it is one."""
    place = found.locate_file("")
    if isinstance(place, Path) and place.is_dir():
        return os.path.realpath(place)
    obstacles.append(_obstacle("not-a-folder", "", "it is not installed as files in a folder: an archive on the path?"))
    return None


def _describe(found: importlib.metadata.Distribution, installed: Installed) -> None:
    """Take over what the distribution says of itself; what it should say and doesn't is an obstacle."""

    def lacks(code: str, text: str) -> None:
        installed["obstacles"].append(_obstacle(code, "", text))

    metadata = HeaderParser().parsestr(found.read_text("METADATA") or "")
    names, versions = metadata.get_all("Name", []), metadata.get_all("Version", [])
    named = [_normalised(name) for name in names] == [_normalised(installed["dist"])]
    if named and len(versions) == 1 and _VERSION.fullmatch(versions[0]):
        installed["version"] = versions[0]
    else:
        lacks("no-metadata", "expected its Name and Version in METADATA, once each: not installed from a wheel?")

    wheel = HeaderParser().parsestr(found.read_text("WHEEL") or "")
    tags, builds = wheel.get_all("Tag", []), wheel.get_all("Build", ["none"])
    if tags and all(_TAG.fullmatch(tag) for tag in tags) and len(builds) == 1:
        installed["tags"] = sorted(tags)
        installed["build"] = builds[0]
    else:
        lacks("no-wheel-file", "expected tags in WHEEL: for which platform it was built can't be told")

    stated = found.read_text("direct_url.json")
    try:
        folder = {} if stated is None else json.loads(stated).get("dir_info", {})
        editable = folder.get("editable", False) is not False
    except (ValueError, RecursionError, AttributeError):
        lacks("editable", "expected an object in direct_url.json: whether it points elsewhere can't be told")
        return
    if editable:
        lacks("editable", "an editable install: what runs lies elsewhere and can change at any time")


def _plugins(everything: Iterable[importlib.metadata.Distribution], dist: str) -> list[Obstacle]:
    """Return an obstacle for each other distribution that plugs code into this one: input that no receipt has seen."""
    prefix = _normalised(dist).replace("-", "_") + "."
    plugged = set()
    for other in everything:
        groups = re.findall(r"^\s*\[\s*([^\]]*?)\s*\]", other.read_text("entry_points.txt") or "", re.MULTILINE)
        taken = sorted({group for group in groups if group.startswith(prefix)})
        name = HeaderParser().parsestr(other.read_text("METADATA") or "").get("Name", "unknown") if taken else dist
        if _normalised(name) != _normalised(dist):
            plugged.add(f"{name} registers code under {', '.join(taken)}: it may replace what the receipt speaks of")
    return [_obstacle("plugin", "", text) for text in sorted(plugged)]


def _elsewhere(top: str, root: str, search: Sequence[str]) -> list[Obstacle]:
    """Return why an import of the package would not be answered by the files of the distribution."""
    name = top.removesuffix(".py")
    if not name.isidentifier():
        return []
    if name in sys.modules:
        text = f"{name} was imported when this interpreter started, by a .pth file or a site hook"
        return [_obstacle("already-imported", "", text)]
    own = Path(root, top) if top != name else Path(root, name, "__init__.py")
    stray = _stray(name, own, search)
    return [] if stray is None else [_obstacle("shadowed", "", f"an import of {name} {stray}")]


def _stray(name: str, own: Path, folders: Sequence[str]) -> str | None:
    """Return what is wrong with the place that an import of the module is answered from, or None: it is the file's own."""
    for finder in sys.meta_path:
        ordinary = finder is importlib.machinery.PathFinder
        kind = finder if isinstance(finder, type) else type(finder)
        hook = f"is answered by the hook {kind.__module__}.{kind.__qualname__}"
        try:
            spec = finder.find_spec(name, folders if ordinary or "." in name else None)
        except Exception as problem:  # noqa: BLE001 - a hook is somebody else's code
            return f"{hook}, which fails with {type(problem).__name__}"
        if spec is None:
            continue
        if not ordinary:
            return hook
        # The exact class: another loader may change what it reads, and one without source reads something else.
        if type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return f"finds no source but {spec.origin or 'a folder without __init__.py'}"
        same = os.path.realpath(spec.origin or "") == os.path.realpath(own)
        return None if same else f"finds {spec.origin}"
    return "finds nothing"


def _read(root: str, path: str, obstacles: list[Obstacle]) -> FileRecord | None:
    """Return the digest of an installed file, if it can be read; what else stands between it and a run is an obstacle."""

    def hindered(code: str, text: str) -> None:
        obstacles.append(_obstacle(code, path, text))

    place = Path(root, *path.split("/"))
    digest, size = hashlib.sha256(), 0
    try:
        if not stat.S_ISREG(place.stat().st_mode):
            hindered("file-unreadable", "it is not a regular file")
            return None
        with place.open("rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
                size += len(block)
        unchecked = _unchecked(place) if path.endswith(".py") else []
    except (FileNotFoundError, NotADirectoryError):
        hindered("file-missing", "it is not there")
        return None
    except (OSError, ValueError) as problem:
        hindered("file-unreadable", f"reading it fails with {type(problem).__name__}")
        return None

    if not Path(os.path.realpath(place)).is_relative_to(root):
        hindered("leads-outside", "a link leads out of the installation, to what others may change")
    for cache in unchecked:
        hindered("unchecked-bytecode", f"{cache} runs instead of it, and is never compared with it")
    module = path.removesuffix(".py").removesuffix("/__init__").split("/")
    if path.endswith(".py") and len(module) > 1 and all(part.isidentifier() for part in module):
        stray = _stray(".".join(module), place, [str(Path(root, *module[:-1]))])
        if stray is not None:
            hindered("shadowed-file", f"an import of it {stray}")
    return {"path": path, "digest": f"sha256:{digest.hexdigest()}", "bytes": size}


def _unchecked(place: Path) -> list[Path]:
    """Return the bytecode files that this interpreter would run without looking at the source file."""
    files = set()
    if (place.parent / "__pycache__").is_dir():
        files = {file for file in (place.parent / "__pycache__").iterdir() if file.name.startswith(f"{place.stem}.")}
    if sys.implementation.cache_tag is not None:  # PYTHONPYCACHEPREFIX keeps them in a folder of their own
        files |= {Path(importlib.util.cache_from_source(str(place), optimization=level)) for level in ("", 1, 2)}
    found = []
    for file in sorted(files):
        if file.suffix == ".pyc" and file.is_file():
            with file.open("rb") as stream:
                header = stream.read(8)
            # After the magic number, 0 compares time and size, 3 the hash of the source, and 1 nothing.
            if header == importlib.util.MAGIC_NUMBER + b"\x01\0\0\0":
                found.append(file)
    return found


# The command line.


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdict and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="installed_source.py",
        description="Digests of the installed files that decide, without importing them; with a receipt, whether it applies.",
        epilog="Exit: 0 APPLIES (without a receipt: digests), 1 DIFFERENT-INPUT, 2 usage, 3 UNKNOWN, 4 OUT-OF-SCOPE.",
        allow_abbrev=False,
    )
    parser.add_argument("--dist", default="vllm", help="the installed distribution (default: vllm)")
    parser.add_argument("--receipt", metavar="FILE", help="the receipt to compare with")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args(arguments)
    if not _DIST.fullmatch(asked.dist):
        parser.error("argument --dist: expected the name of a distribution")

    result = _result(asked.dist, asked.receipt)
    shown = json.dumps(result, indent=2, sort_keys=True) if asked.json else "\n".join(map(_printable, _lines(result)))
    try:
        print(shown, flush=True)
    except OSError:
        # Nobody has the answer, so it is none; without another place to go, what is buffered would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CODES["UNKNOWN"]
    return EXIT_CODES[result["verdict"]]


def _result(dist: str, file: str | None) -> dict[str, Any]:
    """Return the verdict on what this interpreter would import."""
    if file is None:
        usual = USUAL_FILES if _normalised(dist) == "vllm" else ()
        installed = examine(dist, lambda _: usual, _search())
        # Not every release has every usual file; what is not there is not listed.
        there = [obstacle for obstacle in installed["obstacles"] if obstacle["code"] != "file-missing"]
        return judge({**installed, "obstacles": there}, None)
    try:
        with Path(file).open("rb") as stream:
            receipt = stream.read(_RECEIPT_AT_MOST + 1)
    except (OSError, ValueError) as problem:
        installed = examine(dist, lambda _: (), _search())
        unread = _obstacle("receipt-unreadable", "", f"reading {file} fails with {type(problem).__name__}")
        return judge({**installed, "obstacles": [*installed["obstacles"], unread]}, None)
    return judge(examine(dist, lambda version: files_listed(receipt, dist, version), _search()), receipt)


def _search() -> list[str]:
    """Return the folders that the server's imports look into: this script's own is not one, the current one may be.

    `python -m` puts the current folder first, and a checkout that lies there runs instead of what is installed.
    """
    folders = list(sys.path)
    own = str(Path(os.path.realpath(__file__)).parent) if "__file__" in globals() else None
    first_is_own = not sys.flags.isolated and not getattr(sys.flags, "safe_path", False)
    if first_is_own and own is not None and folders and os.path.realpath(folders[0]) == own:
        del folders[0]
    try:
        current = str(Path.cwd())
    except OSError:  # the folder is gone: nothing is found in it
        return [folder for folder in folders if folder]
    return [current, *(folder or current for folder in folders)]


def _lines(result: Mapping[str, Any]) -> Iterable[str]:
    """Return the lines for a reader: what is installed, each file, what differs, the verdict and why."""
    build = "" if result["build"] == "none" else f", build {result['build']}"
    yield f"{result['dist']} {result['version']} ({', '.join(result['tags']) or 'no tags'}{build})"
    for record in result["files"]:
        yield f"{record['digest']}  {record['bytes']:>9}  {record['path']}"
    for difference in result["differences"]:
        yield f"{difference['path']}:"
        for side in ("expected", "found"):
            yield f"    {side:<8} {difference[side]['digest']}  {difference[side]['bytes']}"
    yield result["verdict"] + "".join(f" {source}" for source in result["fits"])
    for explanation in result["explanations"]:
        yield f"    {explanation['code']}: {explanation['where']}{': ' if explanation['where'] else ''}{explanation['text']}"


def _printable(line: str) -> str:
    """Return the line with what a reader can't see as an escape: names come from outside."""
    return "".join(
        character if character.isprintable() and character.isascii() else ascii(character)[1:-1] for character in line
    )


if __name__ == "__main__":
    try:
        code = main()
    except Exception as problem:  # noqa: BLE001 - an exit code of 1 would name a difference that nobody found
        print(f"UNKNOWN\n    internal: {type(problem).__name__}", file=sys.stderr)
        code = EXIT_CODES["UNKNOWN"]
    sys.exit(code)
