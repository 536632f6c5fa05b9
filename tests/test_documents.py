"""The documents say what is so: the example of the README runs, and what they link to is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import build
from site_builder import editorial, guides, publications, receipts, sources
from site_builder.site import publication

_ROOT = Path(__file__).resolve().parent.parent
_DOCUMENTS = sorted(
    path.relative_to(_ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md")
    for path in _ROOT.glob(pattern)
)
_FILE = re.compile(r"^`([\w./-]+)`[^\n]*:?\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _run(root: Path, *arguments: str) -> str:
    said = CliRunner().invoke(build.main, [*arguments, "--root", str(root)])

    assert (0, "") == (said.exit_code, said.stderr)
    return said.stdout


def test_the_example_of_the_readme(tmp_path):
    """Every file that the README shows, written where it says, makes an audit, a receipt and a guide that build."""
    files = dict(_FILE.findall((_ROOT / "README.md").read_text(encoding="utf-8")))
    assert len(files) == 6
    shutil.copytree(_ROOT / "templates", tmp_path / "templates")
    for name in ("site.yaml", "contributors.yaml", "links.yaml", "pages", "policies"):
        source, to = _ROOT / "content" / name, tmp_path / "content" / name
        to.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, to)
        else:
            shutil.copy(source, to)
    for where, text in files.items():
        (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / where).write_text(text, encoding="utf-8")

    _run(tmp_path, "fetch", "buffer")
    _run(tmp_path, "issue", "buffer")
    _run(tmp_path, "build")
    assert ">8 MiB</a>" in (tmp_path / "dist/guides/buffer/index.html").read_text(encoding="utf-8")
    _run(tmp_path, "publish", "buffer")
    assert "receipts: [buffer@1]" in (tmp_path / "content/guides/buffer.md").read_text(encoding="utf-8")
    _run(tmp_path, "build", "--no-cache")


@pytest.mark.parametrize(
    "model",
    [
        receipts.Receipt,
        sources.Lock,
        sources._SourcesFile,
        publications._Line,
        editorial._ReportedFile,
        editorial._TableFile,
        editorial._FixturesFile,
        editorial._DecisionFile,
        editorial.Desk,
        guides.FrontMatter,
        publication._CorrectionsFile,
    ],
)
def test_every_field_is_written_down(model):
    """The page on formats names each field of each file, so that none comes without its words."""
    text = (_ROOT / "docs" / "formats.md").read_text(encoding="utf-8")

    assert [] == [
        name for name in sorted(_fields(model.model_json_schema(by_alias=True))) if not _stands_in(name, text)
    ]


def _fields(schema: Any) -> set[str]:
    """Every name of a property, at any depth."""
    if isinstance(schema, list):
        return {name for item in schema for name in _fields(item)}
    if not isinstance(schema, dict):
        return set()
    return {*schema.get("properties", {}), *(name for item in schema.values() for name in _fields(item))}


def _stands_in(name: str, text: str) -> bool:
    """Whether a name stands in code: between backticks, or as a key of an example."""
    return re.search(rf"`{name}`|[\"{{ ,]{name}\"?:|^{name}:", text, re.MULTILINE) is not None


@pytest.mark.parametrize("name", _DOCUMENTS)
def test_what_a_document_links_to_is_there(name):
    """A link between documents names a file that is there, and a heading of it."""
    text = (_ROOT / name).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        path, _, heading = target.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        place = (_ROOT / name).parent / path if path else _ROOT / name

        assert place.exists(), target
        if heading:
            names = re.findall(r"^#+ (.+)$", place.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in names}
