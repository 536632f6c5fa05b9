"""The corpus of the benchmarks at its smallest: one for one seed, of the stated shape, and verified like any other."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

import build
from benchmarks import corpus


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of two guides, with the sources' bytes."""
    folder = tmp_path_factory.mktemp("corpus")
    corpus.write(folder, 2, seed=7, workers=1, keep_bytes=True)
    return folder


def _built(root: Path, *options: str) -> dict[str, bytes]:
    said = CliRunner().invoke(build.main, ["build", "--root", str(root / "ours"), *options])

    assert (0, "") == (said.exit_code, said.stderr)
    return _files(root / "ours" / "dist")


def test_a_corpus_is_a_function_of_its_seed(root):
    """Seed and number decide every byte of a guide, so that a smaller corpus is the beginning of a larger one."""
    again, other = corpus.unit(7, 1), corpus.unit(8, 1)
    name = again.name

    assert again.ours.items() <= _files(root / "ours").items()
    assert again.hugo.items() <= _files(root / "hugo").items()
    assert name != other.name or again.ours != other.ours


def test_the_shape_of_a_corpus(root):
    """A guide and its receipt are as large as the benchmark says."""
    unit = corpus.unit(7, 0)
    receipt = next(body for path, body in unit.ours.items() if path.endswith("/receipts/1.json"))
    guide = unit.ours[f"content/guides/{unit.name}.md"].decode()
    body = json.loads(receipt)["body"]

    assert (160, 200) == (len(body["sources"]), len(body["observations"]))
    assert 8 == guide.count("\n![")
    assert 90 <= guide.count("](receipt:") - 8 <= 150
    assert 3000 <= len(guide.split()) <= 4000


def test_a_corpus_passes_the_gates_with_and_without_its_bytes(root):
    """Every audit of a corpus really runs: on bytes and on the record it comes to one site, carried verdicts or none."""
    first = _built(root, "--require-bytes")

    assert first == _built(root)
    assert first == _built(root, "--no-cache")
    (root / "ours" / ".store").rename(root / "store")
    assert first == _built(root)
    assert {f"guides/{corpus.unit(7, number).name}/index.html" for number in (0, 1)} <= first.keys()


@pytest.mark.skipif(shutil.which("hugo") is None, reason="Hugo is not installed: the benchmark says so, too")
def test_hugo_builds_the_same_pages(root):
    """Hugo has a page for each guide and each receipt, with the receipt's tables in it."""
    subprocess.run(["hugo", "--quiet"], cwd=root / "hugo", check=True, capture_output=True)
    unit = corpus.unit(7, 0)
    guide = (root / "hugo" / "public" / "guides" / unit.name / "index.html").read_text(encoding="utf-8")
    receipt = (root / "hugo" / "public" / "receipts" / unit.name / "index.html").read_text(encoding="utf-8")

    assert 7 == guide.count("<table>")
    assert 200 == receipt.count('<tr id="') - 160
