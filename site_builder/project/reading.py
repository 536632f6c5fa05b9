"""Reading the repository: every file that a build needs, by its place; what has no place is a problem."""

from __future__ import annotations

import os
import re
import stat
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from site_builder.errors import EvidenceError, Problem, UsageError
from site_builder.inputs import AuditInputs, File, Inputs, Stored, Version
from site_builder.project.disk import opened_folder, read, unreadable
from site_builder.values import Digest

_KIB, _MIB = 1024, 1024 * 1024
_SLUG: Final = r"[a-z0-9](?:[a-z0-9-]{0,78}[a-z0-9])?"
_NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,119}"
_AUDIT: Final = rf"evidence/{_SLUG}"
_CONTENT_FOLDERS = ("guides", "pages", "policies", "corrections")

_PLACES: tuple[tuple[str, str, int], ...] = (
    # a folder, the files that may lie in it, and how large the largest honest one is
    (r"content", r"(?:site|links|contributors)\.yaml", 256 * _KIB),
    (r"content", r"publications\.jsonl", 256 * _MIB),
    (r"content/(?:guides|pages|policies)", rf"{_SLUG}\.md", _MIB),
    (r"content/corrections", rf"{_SLUG}\.yaml", 256 * _KIB),
    (r"evidence", r"releases\.yaml", 256 * _KIB),
    (_AUDIT, r"(?:sources|reported|decision|desk|fixtures)\.yaml", 256 * _KIB),
    (_AUDIT, r"audit\.py|README\.md", _MIB),
    (_AUDIT, r"sources\.lock", 8 * _MIB),
    (_AUDIT, r"rechecks\.jsonl", 64 * _MIB),
    (rf"{_AUDIT}/tables", r"[a-z0-9][A-Za-z0-9.@_-]{0,119}\.yaml", 256 * _KIB),
    (rf"{_AUDIT}/tools", _NAME, _MIB),
    (rf"{_AUDIT}/fixtures(?:/{_NAME})*", _NAME, 16 * _MIB),
    (rf"{_AUDIT}/receipts", r"(?:draft|[1-9][0-9]{0,5})\.json", 8 * _MIB),
    (rf"templates(?:/{_NAME})*", _NAME, 4 * _MIB),
)
_FILES = tuple((re.compile(folder), re.compile(name), at_most) for folder, name, at_most in _PLACES)
_FOLDERS = re.compile("|".join((*(folder for folder, _, _ in _PLACES), rf"content/(?:{'|'.join(_CONTENT_FOLDERS)})")))
_RESERVED = re.compile(r"(?:content/(?:guides|pages|policies)|evidence)/(?:aux|con|index|nul|prn)(?:\.md)?")
"""Names that mean something else to a server or to another system's disk."""

_BY_SLUG = "<slug>.md, the slug of a-z, 0-9 and -"
_MAY_HOLD: Mapping[str, str] = {
    "content": "site.yaml, links.yaml, contributors.yaml, publications.jsonl, "
    + ", ".join(f"{folder}/" for folder in _CONTENT_FOLDERS),
    "content/guides": _BY_SLUG,
    "content/pages": _BY_SLUG,
    "content/policies": _BY_SLUG,
    "content/corrections": "<slug>.yaml, the slug of a-z, 0-9 and -",
    "evidence": "releases.yaml or a folder for each audit, its name of a-z, 0-9 and -",
    "tables": "<id>.yaml, the id of a-z, A-Z, 0-9 and .@_-",
    "receipts": "draft.json or <number>.json",
    "": "audit.py, sources.yaml, reported.yaml, decision.yaml, desk.yaml, fixtures.yaml, sources.lock, "
    "tables/, fixtures/, tools/, receipts/",
}

_BUILT_ON = (
    "capstone",
    "jinja2",
    "markdown-it-py",
    "pydantic",
    "pygments",
    "pyyaml",
    "rfc8785",
    "tree-sitter",
    "tree-sitter-python",
)
"""What a verdict or a page may depend on beside the builder's own source."""


def read_inputs(root: Path, stored: Stored) -> Inputs:
    """Return everything that the gates and the render read.

    Raises:
        UsageError: there is no project at the root.
        EvidenceError: a file is missing, has no place or can't be read safely; all such problems at once.
    """
    if not os.path.lexists(root / "content" / "site.yaml"):
        raise UsageError.at(
            "content/site.yaml",
            "expected the site's settings, found none",
            "Run this in the project's own folder, or name it with --root.",
        )
    problems: list[Problem] = []
    files = {file.where: file for top in ("content", "evidence", "templates") for file in _walk(root, top, problems)}
    audits = [_audit(name, below, problems) for name, below in _by_audit(files).items()]
    if problems:
        # No leaf of the tree: an editor, an author and a publisher may each have something to do.
        raise EvidenceError(*problems)
    log = "content/publications.jsonl"
    return Inputs(
        site=files["content/site.yaml"],
        links=files.get("content/links.yaml"),
        contributors=files.get("content/contributors.yaml"),
        log=files.get(log) or File(where=log, body=b""),
        guides=_below(files, "content/guides/", ".md"),
        pages=_below(files, "content/pages/", ".md"),
        policies=_below(files, "content/policies/", ".md"),
        corrections=_below(files, "content/corrections/", ".yaml"),
        releases=files.get("evidence/releases.yaml"),
        audits={audit.name: audit for audit in audits if audit is not None},
        templates=_below(files, "templates/"),
        builder=_builder(),
        versions=_versions(),
        stored=stored,
    )


def _walk(root: Path, path: str, problems: list[Problem]) -> Iterator[File]:
    """Yield every file below a folder in the order of names, noting what does not belong there."""
    folders = []
    try:
        with opened_folder(root, path) as folder:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if not _set_aside(entry.name))
            twins = _twins(names)
            for name in names:
                where = f"{path}/{name}"
                is_folder = stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
                at_most = _at_most(path, name)
                if name in twins:
                    problems.append(
                        Problem(
                            where=where,
                            problem=f"expected a name of its own, found {twins[name]} beside it",
                            remedy="Rename one of the two: some systems take them for one file.",
                        )
                    )
                elif _RESERVED.fullmatch(where) or not (_FOLDERS.fullmatch(where) if is_folder else at_most):
                    problems.append(
                        Problem(
                            where=where,
                            problem=f"expected {_expected_in(path)}; found {name}{'/' if is_folder else ''}",
                            remedy="Rename it, or move it out of this folder.",
                        )
                    )
                elif is_folder:
                    folders.append(where)
                else:
                    try:
                        yield File(where=where, body=read(folder, name, where, at_most or 0))
                    except EvidenceError as error:
                        problems.extend(error.problems)
                    except OSError as error:
                        problems.append(unreadable(where, error))
    except FileNotFoundError:
        return
    except OSError as error:
        problems.append(unreadable(path, error))
    for below in folders:
        yield from _walk(root, below, problems)


def _set_aside(name: str) -> bool:
    """Whether the name is one that editors, systems and Python use for files of their own."""
    return name.startswith(".") or name.endswith("~") or name == "__pycache__"


def _twins(names: Iterable[str]) -> Mapping[str, str]:
    """Return each name that differs from an earlier one by case or by Unicode form alone, with that one."""
    first: dict[str, str] = {}
    twins: dict[str, str] = {}
    for name in names:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
        if first.setdefault(folded, name) != name:
            twins[name] = first[folded]
    return twins


def _at_most(folder: str, name: str) -> int | None:
    """Return how large the file may be, or nothing where it has no place."""
    return next((size for where, what, size in _FILES if where.fullmatch(folder) and what.fullmatch(name)), None)


def _expected_in(folder: str) -> str:
    if re.fullmatch(_AUDIT, folder):
        return _MAY_HOLD[""]
    last = folder.split("/")[2:3] or [""]
    return _MAY_HOLD.get(folder) or _MAY_HOLD.get(last[0] or "fixtures", "a name of A-Z, a-z, 0-9 and ._@+-")


def _below(files: Mapping[str, File], folder: str, suffix: str = "") -> dict[str, File]:
    start = len(folder)
    return {where[start:].removesuffix(suffix): file for where, file in files.items() if where.startswith(folder)}


def _by_audit(files: Mapping[str, File]) -> Mapping[str, Mapping[str, File]]:
    """Return the files of each audit's folder by their path in it."""
    found: dict[str, dict[str, File]] = {}
    for where, file in files.items():
        top, name, *path = where.split("/", 2)
        if top == "evidence" and path:
            found.setdefault(name, {})[path[0]] = file
    return found


def _audit(name: str, files: Mapping[str, File], problems: list[Problem]) -> AuditInputs | None:
    missing = [needed for needed in ("audit.py", "sources.yaml") if needed not in files]
    problems.extend(
        Problem(
            where=f"evidence/{name}/{needed}",
            problem="expected the file, found none",
            remedy="Write it, or remove the audit's folder.",
        )
        for needed in missing
    )
    if missing:
        return None
    stems = _below(files, "receipts/", ".json")
    numbers = sorted(int(stem) for stem in stems if stem != "draft")
    receipts: dict[Version, File] = {number: stems[str(number)] for number in numbers}
    if "draft" in stems:
        receipts["draft"] = stems["draft"]
    return AuditInputs(
        name=name,
        script=files["audit.py"],
        sources=files["sources.yaml"],
        reported=files.get("reported.yaml"),
        decision=files.get("decision.yaml"),
        desk=files.get("desk.yaml"),
        lock=files.get("sources.lock"),
        tables=_below(files, "tables/", ".yaml"),
        fixture_list=files.get("fixtures.yaml"),
        fixtures=_below(files, "fixtures/"),
        tools=_below(files, "tools/"),
        receipts=receipts,
    )


def _builder() -> Digest:
    """Return the digest of the builder's source: every file of it, by name."""
    package = Path(__file__).parent.parent
    digest = sha256()
    for path in sorted((*package.rglob("*.py"), package.parent / "build.py")):
        with suppress(FileNotFoundError):
            digest.update(f"{path.relative_to(package.parent).as_posix()} {Digest.of(path.read_bytes())}\n".encode())
    return Digest("sha256:" + digest.hexdigest())


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in _BUILT_ON:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return dict(sorted(found.items()))
