"""Where the package index is: found as pip finds it, so that no host of it stands in the project.

Two questions to pip: what is configured, and what it takes when nothing is. Asking the index is
`transport`'s work.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from site_builder.errors import UnreachableError

_SECTIONS = (":env:", "download", "global")
"""Where pip reads a setting, the first that has one decides. Pip itself merges its files into them."""

_PLAIN = {"COLUMNS": "10000", "NO_COLOR": "1", "PYTHONUTF8": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""Without these the help wraps, is coloured or depends on the locale."""

_SETTING = re.compile(r"^(\S+?)\.([a-z-]+)=(.*)$", re.MULTILINE)
_DEFAULT = re.compile(r"--index-url\b.*?\(default:?\s+(https?://[^\s)]+)\)", re.DOTALL)
_NOT = frozenset({"", "0", "false", "no", "off", "n", "f"})
_SECONDS = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """The package index that the operator uses, and the certificates to trust it by, if not the system's."""

    url: str = field(repr=False)
    ca_file: str | None = None


def find_index(python: str = sys.executable, environment: Mapping[str, str] = os.environ) -> Index:
    """Return the index that pip would ask: what is configured, else the default that pip prints.

    Extra indexes and links are ignored on purpose: a second index must not supply evidence.

    Raises:
        UnreachableError: no pip answers, or pip is told to use no index or one that is not on the network.
    """
    settings: dict[str, str] = {}
    default = None
    for pip in _pips(python):
        configured = _said(pip, ["config", "list"], environment)
        if configured is None:
            continue
        settings = _settings(configured)
        if "index-url" not in settings:
            match = _DEFAULT.search(_said(pip, ["help", "download"], environment) or "")
            default = match.group(1) if match else None
        break
    if settings.get("no-index", "").lower() not in _NOT:
        raise UnreachableError.at(
            "the package index",
            "expected an index to ask, found that pip is told to use none",
            "Unset no-index (PIP_NO_INDEX), or set PIP_INDEX_URL for this command.",
        )
    url = settings.get("index-url") or environment.get("PIP_INDEX_URL") or default
    if url is None:
        raise UnreachableError.at(
            "the package index", "expected pip to name it, found no pip that does", "Set PIP_INDEX_URL."
        )
    if urlsplit(url).scheme not in ("http", "https"):
        raise UnreachableError.at(
            "the package index",
            "expected an index on the network, found that pip is told to use another kind",
            "Set PIP_INDEX_URL to an index that answers over https.",
        )
    return Index(url=url, ca_file=settings.get("cert") or environment.get("PIP_CERT") or None)


def _settings(configured: str) -> dict[str, str]:
    """What `pip config list` says, by option; the values are written as Python writes strings."""
    found: dict[str, str] = {}
    lines = {(section, name): value for section, name, value in _SETTING.findall(configured)}
    for section in reversed(_SECTIONS):
        for (at, name), value in lines.items():
            if at == section:
                found[name] = _literal(value)
    return found


def _literal(value: str) -> str:
    try:
        return str(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value


def _said(pip: Sequence[str], asked: Sequence[str], environment: Mapping[str, str]) -> str | None:
    try:
        answer = subprocess.run(
            [*pip, *asked],
            check=False,
            env={**environment, **_PLAIN},
            capture_output=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.decode("utf-8", "replace") if answer.returncode == 0 else None


def _pips(python: str) -> Iterator[Sequence[str]]:
    """Every way to ask a pip: the environment's own, then the one that Python carries for new ones."""
    yield [python, "-m", "pip"]
    import ensurepip

    folders = [Path(ensurepip.__file__).parent / "_bundled", sysconfig.get_config_var("WHEEL_PKG_DIR")]
    for folder in filter(None, folders):
        for wheel in sorted(Path(folder).glob("pip-*.whl"), reverse=True):
            yield [python, str(wheel / "pip")]
