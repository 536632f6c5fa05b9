"""The package index, found as pip finds it: real pips, asked with other settings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from site_builder.errors import UnreachableError
from site_builder.fetching import Index, find_index


def _environment(**settings: str) -> Mapping[str, str]:
    """The environment without any setting of pip but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return {**kept, "PIP_CONFIG_FILE": os.devnull, **settings}


def _file(folder: Path, text: str) -> str:
    path = folder / "pip.conf"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_index_of_the_environment():
    """A variable decides, with its password as it stands there and its certificates."""
    found = find_index(
        environment=_environment(PIP_INDEX_URL="https://name:p%40ss@index.example/simple/", PIP_CERT="ca.pem")
    )

    assert Index(url="https://name:p%40ss@index.example/simple/", ca_file="ca.pem") == found
    assert "index.example" not in repr(found)


def test_index_of_a_file(tmp_path):
    """What is set for downloads is more than what is set for all, and a variable is more than both."""
    text = (
        "[global]\nindex-url = https://all.example/simple\ncert = all.pem\n"
        "extra-index-url = https://extra.example/simple\nfind-links = /nowhere\n"
        "[download]\nindex-url = https://download.example/simple\n"
        "[install]\nindex-url = https://install.example/simple\n"
    )
    environment = _environment(PIP_CONFIG_FILE=_file(tmp_path, text))

    assert Index(url="https://download.example/simple", ca_file="all.pem") == find_index(environment=environment)
    assert (
        "https://env.example/simple"
        == find_index(environment={**environment, "PIP_INDEX_URL": "https://env.example/simple"}).url
    )


def test_index_that_is_not_set():
    """Where nothing is set it is the default that pip itself prints."""
    found = find_index(environment=_environment())

    assert "https" == urlsplit(found.url).scheme
    assert found.ca_file is None


def test_environment_without_pip(tmp_path):
    """A Python without pip has one that it carries for new environments; settings count there, too."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = str(tmp_path / "bare" / "bin" / "python")

    assert find_index(environment=_environment()) == find_index(python, _environment())
    assert (
        "https://env.example/simple" == find_index(python, _environment(PIP_INDEX_URL="https://env.example/simple")).url
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"PIP_NO_INDEX": "1", "PIP_INDEX_URL": "https://index.example/simple"},
            "expected an index to ask, found that pip is told to use none\n"
            "    Unset no-index (PIP_NO_INDEX), or set PIP_INDEX_URL for this command.",
        ),
        (
            {"PIP_INDEX_URL": "file:///opt/index"},
            "expected an index on the network, found that pip is told to use another kind\n"
            "    Set PIP_INDEX_URL to an index that answers over https.",
        ),
    ],
    ids=["none", "file"],
)
def test_index_that_can_not_be_asked(settings, said):
    """Without an index on the network it can't be told, and the message names no address."""
    with pytest.raises(UnreachableError) as caught:
        find_index(environment=_environment(**settings))

    assert f"the package index: {said}" == str(caught.value)
    assert 3 == caught.value.exit_code


def test_no_pip_answers(tmp_path):
    """Where nothing can be asked, the variable that pip reads is the way out."""
    with pytest.raises(UnreachableError) as caught:
        find_index(str(tmp_path / "nothing"), _environment())

    assert ("the package index: expected pip to name it, found no pip that does\n    Set PIP_INDEX_URL.") == str(
        caught.value
    )
    assert (
        "https://env.example/simple"
        == find_index(str(tmp_path / "nothing"), {"PIP_INDEX_URL": "https://env.example/simple"}).url
    )
