"""The installed-source tool: held to real installations, to whatever may stand between a file and a run, and to any receipt."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import py_compile
import shutil
import subprocess
import sys
import venv
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

_TOOL = Path(__file__).resolve().parent.parent / "evidence" / "glm52-torch-compile" / "tools" / "installed_source.py"

_TAG = "cp38-abi3-linux_x86_64"
_FILE = "vllm-1.2.0-cp38-abi3-manylinux_2_28_x86_64.whl"
_MODEL = "vllm/models/shelf.py"

# Importing any of it would fail; reading it does not.
_FILES = {
    "vllm/__init__.py": b"raise SystemExit('imported')\n",
    "vllm/config/__init__.py": b"",
    "vllm/config/vllm.py": b"MODE = 3\n",
    "vllm/models/__init__.py": b"raise SystemExit('imported')\n",
    _MODEL: b"class Shelf:\n    pass\n",
    "vllm/models/sizes.json": b'{"rows": 8}\n',
}


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("installed_source", _TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = _load()


def _record(path: str, body: bytes) -> dict[str, Any]:
    return {"path": path, "digest": f"sha256:{hashlib.sha256(body).hexdigest()}", "bytes": len(body)}


def _source(files: dict[str, bytes], file: str = _FILE, id: str = "wheel@1.2.0") -> dict[str, Any]:  # noqa: A002 - its name
    version = file.split("-")[1]
    return {
        "id": id,
        "digest": f"sha256:{hashlib.sha256(file.encode()).hexdigest()}",
        "bytes": 4,
        "origin": f"pkg:pypi/vllm@{version}?file_name={file}#vllm-{version}.dist-info/RECORD",
        "members": [_record(path, body) for path, body in sorted(files.items())],
    }


def _receipt(*sources: dict[str, Any]) -> bytes:
    page = {"id": "notes", "digest": f"sha256:{'0' * 64}", "bytes": 1, "origin": "https://notes.example/"}
    return json.dumps({"schema": "receipt/1", "audit": "shelf", "body": {"sources": [page, *sources]}}).encode()


def _wheel(
    folder: Path, files: dict[str, bytes], name: str = "vllm", version: str = "1.2.0", tag: str = _TAG, more: str = ""
) -> Path:
    """A wheel as a build backend writes it."""
    info = f"{name}-{version}.dist-info"
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nA shelf.\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n{more}".encode(),
    }
    record = "".join(
        f"{path},sha256={urlsafe_b64encode(hashlib.sha256(body).digest()).decode().rstrip('=')},{len(body)}\n"
        for path, body in members.items()
    )
    built = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(built, "w") as archive:
        for path, body in {**members, f"{info}/RECORD": f"{record}{info}/RECORD,,\n".encode()}.items():
            archive.writestr(path, body)
    return built


def _pip(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile", *arguments],
        check=True,
        env={**os.environ, "PIP_CONSTRAINT": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_USER": "0"},
    )


@dataclass(kw_only=True)
class _Installation:
    """A folder that a wheel was installed into, and how the tool is run against it."""

    site: Path
    elsewhere: Path
    before: list[Path] = field(default_factory=list)
    """Folders that an import looks into first."""
    environment: dict[str, str] = field(default_factory=dict)
    tool: Path = _TOOL

    def run(self, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(map(str, [*self.before, self.site]))
        return subprocess.run(
            [sys.executable, str(self.tool), *arguments],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=self.elsewhere,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": path, **self.environment},
        )

    def judged(self, receipt: bytes | None) -> dict[str, Any]:
        """What the command line says as JSON; its exit code is that of its verdict."""
        arguments = []
        if receipt is not None:
            (self.elsewhere / "receipt.json").write_bytes(receipt)
            arguments = ["--receipt", "receipt.json"]
        done = self.run(*arguments, "--json")
        assert "" == done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        codes = {"APPLIES": 0, "LISTED": 0, "DIFFERENT-INPUT": 1, "UNKNOWN": 3, "OUT-OF-SCOPE": 4}
        assert codes[result["verdict"]] == done.returncode
        return result

    def verdict(self, receipt: bytes | None) -> tuple[str, list[str]]:
        result = self.judged(receipt)
        return result["verdict"], [
            ": ".join(filter(None, (one["code"], one["where"], one["text"]))) for one in result["explanations"]
        ]


@pytest.fixture(scope="session")
def wheel_installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip makes of the wheel, once."""
    folder = tmp_path_factory.mktemp("wheel")
    site = folder / "site"
    _pip("--target", str(site), str(_wheel_for_any(folder, _FILES)))
    # pip installs only what suits the machine; the tags that the tool reads are those of the released wheel.
    info = site / "vllm-1.2.0.dist-info"
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: {_TAG}\n\n")
    return site


def _wheel_for_any(folder: Path, files: dict[str, bytes], name: str = "vllm", version: str = "1.2.0") -> Path:
    return _wheel(folder, files, name, version, tag="py3-none-any")


@pytest.fixture
def installed(wheel_installed: Path, tmp_path: Path) -> _Installation:
    """An installation of the wheel that a test may break in one way."""
    shutil.copytree(wheel_installed, tmp_path / "site", symlinks=True)
    (tmp_path / "elsewhere").mkdir()
    return _Installation(site=tmp_path / "site", elsewhere=tmp_path / "elsewhere")


_RECEIPT = _receipt(_source(_FILES))
_EQUAL = ("APPLIES", [f"every-file-equal: every file that the receipt lists (6) is that of {_FILE}"])


# What applies, and what does not.


def test_every_file_equal(installed):
    """APPLIES names the wheel and the row of the receipt, and shows every file in the receipt's notation."""
    assert {
        "verdict": "APPLIES",
        "dist": "vllm",
        "version": "1.2.0",
        "build": "none",
        "tags": [_TAG],
        "wheel": _FILE,
        "source": "wheel@1.2.0",
        "fits": ["wheel@1.2.0"],
        "files": [_record(path, body) for path, body in sorted(_FILES.items())],
        "differences": [],
        "reasons": ["every-file-equal"],
        "explanations": [{"code": "every-file-equal", "where": "", "text": _EQUAL[1][0].partition(": ")[2]}],
    } == installed.judged(_RECEIPT)


def test_a_patched_file_as_text(installed):
    """A reader is told which file differs, what was expected and what was found."""
    (installed.site / _MODEL).write_bytes(b"class Shelf:\n    yes!\n")
    (installed.elsewhere / "receipt.json").write_bytes(_RECEIPT)
    digests = [_record(path, body)["digest"] for path, body in sorted(_FILES.items())]
    found = f"sha256:{hashlib.sha256((installed.site / _MODEL).read_bytes()).hexdigest()}"

    done = installed.run("--receipt", "receipt.json")

    assert (1, "") == (done.returncode, done.stderr)
    assert [
        f"vllm 1.2.0 ({_TAG})",
        f"{digests[0]}         29  vllm/__init__.py",
        f"{digests[1]}          0  vllm/config/__init__.py",
        f"{digests[2]}          9  vllm/config/vllm.py",
        f"{digests[3]}         29  vllm/models/__init__.py",
        f"{found}         22  {_MODEL}",
        f"{digests[5]}         12  vllm/models/sizes.json",
        f"{_MODEL}:",
        f"    expected {digests[4]}  22",
        f"    found    {found}  22",
        "DIFFERENT-INPUT",
        f"    file-differs: {_MODEL}: it is not the file of {_FILE}",
    ] == done.stdout.splitlines()


@pytest.mark.parametrize("path", [path for path, body in _FILES.items() if body])
@pytest.mark.parametrize("change", ["flipped", "longer", "shorter", "empty"])
def test_a_changed_file(installed, path, change):
    """Whichever listed file is changed, in a byte or in its length, the receipt's answer does not carry over."""
    body = _FILES[path]
    changed = {"flipped": bytes([body[0] ^ 1]) + body[1:], "longer": body + b"\n", "shorter": body[:-1], "empty": b""}
    (installed.site / path).write_bytes(changed[change])

    result = installed.judged(_RECEIPT)

    assert ("DIFFERENT-INPUT", ["file-differs"]) == (result["verdict"], result["reasons"])
    assert [
        {
            "path": path,
            "expected": {key: value for key, value in _record(path, body).items() if key != "path"},
            "found": {key: value for key, value in _record(path, changed[change]).items() if key != "path"},
        }
    ] == result["differences"]


@given(data=st.data())
def test_any_one_byte_of_any_file(wheel_installed, tmp_path_factory, data):
    """No change of one byte, at any place of any listed file, is ever taken for the file that was audited."""
    site = tmp_path_factory.mktemp("patched") / "site"
    shutil.copytree(wheel_installed, site)
    path = data.draw(st.sampled_from([path for path, body in _FILES.items() if body]))
    body = bytearray(_FILES[path])
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    (site / path).write_bytes(body)

    seen = tool.examine("vllm", lambda _: sorted(_FILES), [str(site)])

    assert "DIFFERENT-INPUT" == tool.judge(seen, _RECEIPT)["verdict"]
    shutil.rmtree(site)


def test_a_receipt_that_states_another_size(installed):
    """A digest alone is not enough: a receipt that contradicts itself is not satisfied."""
    source = _source(_FILES)
    source["members"][0]["bytes"] += 1

    assert "DIFFERENT-INPUT" == installed.judged(_receipt(source))["verdict"]


def test_a_file_that_the_receipt_does_not_list(installed):
    """Only what the receipt lists decides; other files of the package may differ."""
    (installed.site / "vllm/models/sizes.json").write_bytes(b"{}")
    listed = {path: body for path, body in _FILES.items() if path != "vllm/models/sizes.json"}

    assert "APPLIES" == installed.judged(_receipt(_source(listed)))["verdict"]


# What can't be read.


def _pipe(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


def _outside(site: Path) -> Path:
    shutil.copy(site / _MODEL, site.parent / "shelf.py")
    return site.parent / "shelf.py"


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda site: (site / _MODEL).unlink(), "file-missing: {}: it is not there"),
        (lambda site: (site / _MODEL).rename(site / "vllm/models/shelve.py"), "file-missing: {}: it is not there"),
        (lambda site: shutil.rmtree(site / "vllm/models"), "file-missing: {}: it is not there"),
        (
            lambda site: (site / "vllm/models").rename(site / "models") and (site / "vllm/models").write_bytes(b""),
            "file-missing: {}: it is not there",
        ),
        (
            lambda site: [(site / _MODEL).unlink(), (site / _MODEL).mkdir()],
            "file-unreadable: {}: it is not a regular file",
        ),
        (
            lambda site: _pipe(site / _MODEL),
            "file-unreadable: {}: it is not a regular file",
        ),
        (
            lambda site: [(site / _MODEL).unlink(), (site / _MODEL).symlink_to("shelf.py")],
            "file-unreadable: {}: reading it fails with OSError",
        ),
        (
            lambda site: [_outside(site), (site / _MODEL).unlink(), (site / _MODEL).symlink_to(site / "gone.py")],
            "file-missing: {}: it is not there",
        ),
        (
            lambda site: [
                _outside(site),
                (site / _MODEL).unlink(),
                (site / _MODEL).symlink_to(site.parent / "shelf.py"),
            ],
            "leads-outside: {}: a link leads out of the installation, to what others may change",
        ),
        (
            lambda site: [py_compile.compile(str(site / _MODEL), str(site / f"{_MODEL}c")), (site / _MODEL).unlink()],
            "file-missing: {}: it is not there",
        ),
    ],
    ids=[
        "deleted",
        "renamed",
        "no-folder",
        "file-for-folder",
        "folder",
        "pipe",
        "loop",
        "dangling",
        "outside",
        "bytecode",
    ],
)
def test_a_file_that_cannot_be_read(installed, broken, reason):
    """A listed file that is not there, is no file, or lies with somebody else is never a pass."""
    broken(installed.site)

    verdict, reasons = installed.verdict(_RECEIPT)

    assert "UNKNOWN" == verdict
    assert reason.format(_MODEL) in reasons


def test_a_link_within_the_installation(installed):
    """A link to another file of the installation is read as an import reads it."""
    (installed.site / _MODEL).rename(installed.site / "vllm/models/real.py")
    (installed.site / _MODEL).symlink_to("real.py")

    assert _EQUAL == installed.verdict(_RECEIPT)


def test_one_file_missing_and_another_changed(installed):
    """A difference that was seen is certain whatever else is missing; both are said."""
    (installed.site / _MODEL).unlink()
    (installed.site / "vllm/config/vllm.py").write_bytes(b"MODE = 0\n")

    assert (
        "DIFFERENT-INPUT",
        [
            f"file-differs: vllm/config/vllm.py: it is not the file of {_FILE}",
            f"file-missing: {_MODEL}: it is not there",
        ],
    ) == installed.verdict(_RECEIPT)


# Which installation it is.


def _metadata(site: Path, text: str) -> None:
    (site / "vllm-1.2.0.dist-info" / "METADATA").write_text(text)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (
            shutil.rmtree,
            "not-installed: expected one distribution named vllm where this interpreter looks, found 0",
        ),
        (
            lambda info: shutil.copytree(info, info.with_name("vllm-1.1.0.dist-info")),
            "several-distributions: expected one distribution named vllm where this interpreter looks, found 2",
        ),
        (
            lambda info: info.with_name("vllm.egg-info").mkdir(),
            "several-distributions: expected one distribution named vllm where this interpreter looks, found 2",
        ),
        (
            lambda info: (info / "METADATA").unlink(),
            "no-metadata: expected its Name and Version in METADATA, once each: not installed from a wheel?",
        ),
        (
            lambda info: (info / "METADATA").write_text("Name: vllm\nVersion: 1.2.0\nVersion: 1.2.1\n"),
            "no-metadata: expected its Name and Version in METADATA, once each: not installed from a wheel?",
        ),
        (
            lambda info: (info / "METADATA").write_text("Name: other\nVersion: 1.2.0\n"),
            "no-metadata: expected its Name and Version in METADATA, once each: not installed from a wheel?",
        ),
        (
            lambda info: (info / "METADATA").write_text("Name: vllm\nVersion: \x1b[2J\n"),
            "no-metadata: expected its Name and Version in METADATA, once each: not installed from a wheel?",
        ),
        (
            lambda info: (info / "WHEEL").unlink(),
            "no-wheel-file: expected tags in WHEEL: for which platform it was built can't be told",
        ),
        (
            lambda info: (info / "WHEEL").write_text(f"Build: 1\nBuild: 2\nTag: {_TAG}\n"),
            "no-wheel-file: expected tags in WHEEL: for which platform it was built can't be told",
        ),
        (
            lambda info: (info / "WHEEL").write_text("Tag: any\n"),
            "no-wheel-file: expected tags in WHEEL: for which platform it was built can't be told",
        ),
        (
            lambda info: (info / "direct_url.json").write_text(
                '{"url": "file:///src", "dir_info": {"editable": true}}'
            ),
            "editable: an editable install: what runs lies elsewhere and can change at any time",
        ),
        (
            lambda info: (info / "direct_url.json").write_text("["),
            "editable: expected an object in direct_url.json: whether it points elsewhere can't be told",
        ),
        (
            lambda info: (info / "direct_url.json").write_text('{"dir_info": []}'),
            "editable: expected an object in direct_url.json: whether it points elsewhere can't be told",
        ),
    ],
)
def test_an_installation_that_cannot_be_identified(installed, broken, reason):
    """No distribution, two of one name, one that is not from a wheel or lies elsewhere: there is nothing to compare."""
    broken(installed.site / "vllm-1.2.0.dist-info")

    assert ("UNKNOWN", [reason]) == installed.verdict(_RECEIPT)


def test_a_wheel_on_the_path(installed, tmp_path):
    """What runs out of an archive has no installed files."""
    installed.site = _wheel(tmp_path, _FILES)

    verdict, reasons = installed.verdict(_RECEIPT)

    assert "UNKNOWN" == verdict
    assert "not-a-folder: it is not installed as files in a folder: an archive on the path?" in reasons


def test_the_same_folder_twice(installed):
    """A folder that the path names twice, once through a link, holds one distribution."""
    (installed.elsewhere / "link").symlink_to(installed.site)
    installed.before = [installed.elsewhere / "link", installed.site]

    assert _EQUAL == installed.verdict(_RECEIPT)


def test_a_plugin(installed, tmp_path):
    """Another distribution that registers code with this one is input that the receipt has not seen."""
    info = "vllm_extra-3.dist-info"
    _pip(
        "--target",
        str(installed.site),
        str(
            _wheel_for_any(
                tmp_path,
                {f"{info}/entry_points.txt": b"[vllm.general_plugins]\nmine = extra:register\n"},
                "vllm_extra",
                "3",
            )
        ),
    )

    assert (
        "UNKNOWN",
        ["plugin: vllm_extra registers code under vllm.general_plugins: it may replace what the receipt speaks of"],
    ) == installed.verdict(_RECEIPT)


def test_its_own_plugins(installed):
    """What the distribution registers with itself came with its wheel."""
    (installed.site / "vllm-1.2.0.dist-info" / "entry_points.txt").write_text("[vllm.general_plugins]\na = vllm:b\n")

    assert _EQUAL == installed.verdict(_RECEIPT)


# What would be imported.


def _package(folder: Path) -> Path:
    (folder / "vllm").mkdir(parents=True)
    (folder / "vllm" / "__init__.py").write_bytes(_FILES["vllm/__init__.py"])
    return folder


@pytest.mark.parametrize("module", ["vllm/__init__.py", "vllm.py"])
def test_another_package_earlier_on_the_path(installed, tmp_path, module):
    """A package of that name that is found first is what would run, even if its bytes are equal."""
    other = tmp_path / "first" / module
    other.parent.mkdir(parents=True)
    other.write_bytes(_FILES["vllm/__init__.py"])
    installed.before = [tmp_path / "first"]

    assert ("UNKNOWN", [f"shadowed: an import of vllm finds {other}"]) == installed.verdict(_RECEIPT)


def test_a_checkout_in_the_current_folder(installed):
    """`python -m` looks into the current folder first; a checkout there would run instead."""
    _package(installed.elsewhere)

    assert (
        "UNKNOWN",
        [f"shadowed: an import of vllm finds {installed.elsewhere}/vllm/__init__.py"],
    ) == installed.verdict(_RECEIPT)


def test_a_package_beside_the_tool(installed, tmp_path):
    """The tool's own folder is on its path only because it is a script: the server's imports don't look there."""
    installed.tool = Path(shutil.copy(_TOOL, _package(tmp_path / "downloads")))

    assert _EQUAL == installed.verdict(_RECEIPT)


def test_a_folder_of_that_name_without_code(installed, tmp_path):
    """A folder that is no package, with a model in it perhaps, gives way to the package, as it does in an import."""
    (tmp_path / "first" / "vllm").mkdir(parents=True)
    installed.before = [tmp_path / "first"]

    assert _EQUAL == installed.verdict(_RECEIPT)


def test_no_package_at_all(installed):
    """Where only the distribution's own words are left, an import finds nothing."""
    shutil.rmtree(installed.site / "vllm")

    assert ("UNKNOWN", ["shadowed: an import of vllm finds nothing"]) == installed.verdict(_RECEIPT)


def test_a_package_without_its_init(installed):
    """Without its __init__.py the package is a namespace, which other folders may add to."""
    (installed.site / "vllm/__init__.py").unlink()
    listed = {path: body for path, body in _FILES.items() if path != "vllm/__init__.py"}

    assert (
        "UNKNOWN",
        ["shadowed: an import of vllm finds no source but a folder without __init__.py"],
    ) == installed.verdict(_receipt(_source(listed)))


@pytest.mark.parametrize("other", ["vllm/models/shelf.abi3.so", "vllm/models/shelf/__init__.py"])
def test_a_module_that_is_found_before_the_file(installed, other):
    """An extension module or a folder of the same name wins over the source file that the receipt lists."""
    (installed.site / other).parent.mkdir(exist_ok=True)
    (installed.site / other).write_bytes(b"")
    finds = "no source but " if other.endswith(".so") else ""

    assert (
        "UNKNOWN",
        [f"shadowed-file: {_MODEL}: an import of it finds {finds}{installed.site / other}"],
    ) == installed.verdict(_RECEIPT)


_HOOK = """
import sys, importlib.machinery
class Redirection:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == {name!r}:
            {action}
sys.meta_path.insert(0, Redirection)
"""


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (
            _HOOK.format(name="vllm", action="return importlib.machinery.ModuleSpec(name, None)"),
            "shadowed: an import of vllm is answered by the hook sitecustomize.Redirection",
        ),
        (
            _HOOK.format(name="vllm.models.shelf", action="return importlib.machinery.ModuleSpec(name, None)"),
            f"shadowed-file: {_MODEL}: an import of it is answered by the hook sitecustomize.Redirection",
        ),
        (
            _HOOK.format(name="vllm", action="raise RuntimeError"),
            "shadowed: an import of vllm is answered by the hook sitecustomize.Redirection, which fails with RuntimeError",
        ),
        (
            "import sys\nsys.modules['vllm'] = sys",
            "already-imported: vllm was imported when this interpreter started, by a .pth file or a site hook",
        ),
    ],
    ids=["package", "module", "failing", "imported"],
)
def test_an_import_hook(installed, tmp_path, hook, reason):
    """A hook that answers instead of the ordinary search may give anything; one that answers other names does no harm."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "sitecustomize.py").write_text(hook)
    installed.before = [tmp_path / "hooks"]

    assert ("UNKNOWN", [reason]) == installed.verdict(_RECEIPT)

    (tmp_path / "hooks" / "sitecustomize.py").write_text(hook.replace("vllm", "other"))
    assert _EQUAL == installed.verdict(_RECEIPT)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment, where .pth files take part."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    return folder


@pytest.fixture
def site_packages(environment: Path, wheel_installed: Path) -> tuple[Path, Path]:
    """The interpreter of an environment that the wheel is installed in, and its folder of packages."""
    site = next(environment.glob("lib/python*/site-packages"))
    shutil.rmtree(site)
    shutil.copytree(wheel_installed, site)
    return environment / "bin" / "python", site


def _in(python: Path, folder: Path) -> list[str]:
    (folder / "receipt.json").write_bytes(_RECEIPT)
    done = subprocess.run(
        [str(python), str(_TOOL), "--receipt", "receipt.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={},
    )
    assert "" == done.stderr
    return [
        str(done.returncode),
        *(line.strip() for line in done.stdout.splitlines() if not line.startswith("sha256:")),
    ]


def test_an_environment(site_packages, tmp_path):
    """In an environment of its own nothing needs to be set; a .pth file that names another folder comes too late to matter."""
    python, site = site_packages
    (site / "more.pth").write_text(f"{_package(tmp_path / 'more')}\n")

    assert ["0", f"vllm 1.2.0 ({_TAG})", "APPLIES wheel@1.2.0", *_EQUAL[1]] == _in(python, tmp_path)


def test_a_path_file_that_puts_a_folder_first(site_packages, tmp_path):
    """A .pth file that changes the path, or stands for an install elsewhere, decides what is imported."""
    python, site = site_packages
    first = _package(tmp_path / "first")
    (site / "first.pth").write_text(f"import sys; sys.path.insert(0, {str(first)!r})\n")

    assert [
        "3",
        f"vllm 1.2.0 ({_TAG})",
        "UNKNOWN",
        f"shadowed: an import of vllm finds {first}/vllm/__init__.py",
    ] == _in(python, tmp_path)


# Bytecode.


def _compiled(installed: _Installation, mode: py_compile.PycInvalidationMode, optimize: int = -1) -> Path:
    made = py_compile.compile(
        str(installed.site / _MODEL), invalidation_mode=mode, optimize=optimize, doraise=True, quiet=1
    )
    assert made
    return Path(made)


@pytest.mark.parametrize("optimize", [-1, 1, 2])
def test_bytecode_that_is_never_compared(installed, optimize):
    """A cache that is not checked against its source runs instead of it, whatever the source says."""
    cache = _compiled(installed, py_compile.PycInvalidationMode.UNCHECKED_HASH, optimize)

    assert (
        "UNKNOWN",
        [f"unchecked-bytecode: {_MODEL}: {cache} runs instead of it, and is never compared with it"],
    ) == installed.verdict(_RECEIPT)


@pytest.mark.parametrize("optimize", [-1, 1, 2])
def test_bytecode_kept_elsewhere(installed, tmp_path, optimize):
    """Where an interpreter keeps its caches in a folder of their own, they are looked for there."""
    cache = _compiled(installed, py_compile.PycInvalidationMode.UNCHECKED_HASH, optimize)
    kept = tmp_path / "caches" / str(installed.site / _MODEL).lstrip("/")
    kept.parent.mkdir(parents=True)
    cache.rename(kept.with_name(cache.name))
    installed.environment = {"PYTHONPYCACHEPREFIX": str(tmp_path / "caches")}

    assert "unchecked-bytecode" in installed.judged(_RECEIPT)["reasons"]

    installed.environment = {}
    assert _EQUAL == installed.verdict(_RECEIPT)


@pytest.mark.parametrize("mode", ["TIMESTAMP", "CHECKED_HASH"])
def test_bytecode_that_is_compared(installed, mode):
    """A cache that Python itself compares with its source is what every installation has."""
    _compiled(installed, py_compile.PycInvalidationMode[mode])

    assert _EQUAL == installed.verdict(_RECEIPT)


@pytest.mark.parametrize("change", [lambda body: b"\0" + body[1:], lambda body: body[:6]])
def test_bytecode_that_does_not_run(installed, change):
    """A cache of another Python, or a broken one, is compiled again from the source."""
    cache = _compiled(installed, py_compile.PycInvalidationMode.UNCHECKED_HASH)
    cache.write_bytes(change(cache.read_bytes()))

    assert _EQUAL == installed.verdict(_RECEIPT)


# Releases, builds, platforms.


@pytest.mark.parametrize("version", ["1.2.1", "1.2.0.post1", "1.2.0+cu129", "1.2", "1.2.0rc1"])
def test_a_version_that_the_receipt_does_not_speak_of(installed, version):
    """Another version, a post-release or a local build is another artifact, even with the same files."""
    _metadata(installed.site, f"Name: vllm\nVersion: {version}\n")

    assert (
        "OUT-OF-SCOPE",
        [f"version-not-covered: the receipt does not speak of vllm {version}"],
    ) == installed.verdict(_RECEIPT)


@pytest.mark.parametrize(
    "tag",
    [
        "cp38-abi3-linux_aarch64",
        "cp38-abi3-manylinux_2_28_aarch64",
        "cp38-abi3-musllinux_1_2_x86_64",
        "cp38-abi3-macosx_11_0_x86_64",
        "cp312-cp312-linux_x86_64",
        "py3-none-any",
    ],
)
def test_a_platform_that_the_receipt_does_not_speak_of(installed, tag):
    """The same version for another platform is another wheel."""
    (installed.site / "vllm-1.2.0.dist-info" / "WHEEL").write_text(f"Tag: {tag}\n")

    assert (
        "OUT-OF-SCOPE",
        [f"platform-not-covered: the receipt does not speak of vllm 1.2.0 for {tag}"],
    ) == installed.verdict(_RECEIPT)


@pytest.mark.parametrize(
    "tag", ["cp38-abi3-manylinux_2_28_x86_64", "cp38-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64"]
)
def test_a_platform_in_other_words(installed, tag):
    """Whether WHEEL says linux, or which libc it was built against, it is one platform."""
    (installed.site / "vllm-1.2.0.dist-info" / "WHEEL").write_text(f"Tag: {tag}\n")

    assert "APPLIES" == installed.judged(_RECEIPT)["verdict"]


def test_a_platform_more(installed):
    """A wheel that says it is for more than the receipt's wheel is not that wheel."""
    (installed.site / "vllm-1.2.0.dist-info" / "WHEEL").write_text(f"Tag: {_TAG}\nTag: cp38-abi3-linux_aarch64\n")

    assert ["platform-not-covered"] == installed.judged(_RECEIPT)["reasons"]


_SECOND = "vllm-1.2.0-2-cp38-abi3-manylinux_2_28_x86_64.whl"
_CHANGED = {**_FILES, _MODEL: b"class Shelf:\n    ...\n", "vllm/config/vllm.py": b"MODE = 2\n"}
_TWO = _receipt(_source(_FILES), _source(_CHANGED, _SECOND, "wheel@1.2.0-2"))


def test_two_wheels_of_one_version(installed):
    """An installation of either wheel is known by its files."""
    assert ["wheel@1.2.0"] == installed.judged(_TWO)["fits"]

    for path in (_MODEL, "vllm/config/vllm.py"):
        (installed.site / path).write_bytes(_CHANGED[path])
    result = installed.judged(_TWO)

    assert ("APPLIES", "wheel@1.2.0-2", _SECOND) == (result["verdict"], result["source"], result["wheel"])
    assert ["wheel@1.2.0-2"] == result["fits"]


def test_a_mixture_of_two_wheels(installed):
    """Files that come from both fit neither; the nearer one is shown."""
    (installed.site / _MODEL).write_bytes(_CHANGED[_MODEL])
    (installed.site / "vllm/__init__.py").write_bytes(b"")
    (installed.site / "vllm/config/vllm.py").write_bytes(_CHANGED["vllm/config/vllm.py"])
    result = installed.judged(_TWO)

    assert ("DIFFERENT-INPUT", "wheel@1.2.0-2", []) == (result["verdict"], result["source"], result["fits"])
    assert ["vllm/__init__.py"] == [difference["path"] for difference in result["differences"]]


def test_a_file_that_would_tell_two_wheels_apart(installed):
    """While one of the wheels is not ruled out by a difference, what is missing decides."""
    (installed.site / _MODEL).unlink()
    result = installed.judged(_TWO)

    assert ("UNKNOWN", "wheel@1.2.0", ["file-missing"]) == (result["verdict"], result["source"], result["reasons"])


def test_a_wheel_that_lists_less(installed):
    """A wheel that a difference rules out is not nearer than one of which a file is missing."""
    less = {path: body for path, body in _CHANGED.items() if path != _MODEL}
    (installed.site / _MODEL).unlink()

    for rows in (
        [_source(_FILES), _source(less, _SECOND, "second")],
        [_source(less, _SECOND, "second"), _source(_FILES)],
    ):
        result = installed.judged(_receipt(*rows))
        assert ("UNKNOWN", "wheel@1.2.0", ["file-missing"]) == (result["verdict"], result["source"], result["reasons"])


def test_two_wheels_that_agree(installed):
    """Where no listed file tells two wheels apart, both are named."""
    both = _receipt(_source(_FILES), _source(_FILES, _SECOND, "wheel@1.2.0-2"))

    assert ["wheel@1.2.0", "wheel@1.2.0-2"] == installed.judged(both)["fits"]
    assert (
        "APPLIES",
        [f"every-file-equal: every file that the receipt lists (6) is that of {_FILE} and {_SECOND}"],
    ) == installed.verdict(both)


@pytest.mark.parametrize(("build", "fits"), [("2", ["wheel@1.2.0-2"]), ("3", [])])
def test_a_build_that_the_wheel_states(installed, build, fits):
    """Where WHEEL states its build, only that build's row is compared; one that is not there is out of scope."""
    both = _receipt(_source(_FILES), _source(_FILES, _SECOND, "wheel@1.2.0-2"))
    (installed.site / "vllm-1.2.0.dist-info" / "WHEEL").write_text(f"Build: {build}\nTag: {_TAG}\n")
    result = installed.judged(both)

    assert (build, fits) == (result["build"], result["fits"])
    assert ("APPLIES" if fits else "OUT-OF-SCOPE") == result["verdict"]
    assert (["every-file-equal"] if fits else ["build-not-covered"]) == result["reasons"]


def test_two_rows_of_one_wheel(installed):
    """What two sources of a receipt list for one wheel is asked for together."""
    one = {path: body for path, body in _FILES.items() if path != _MODEL}
    both = _receipt(_source(one), _source({_MODEL: _FILES[_MODEL]}, id="models@1.2.0"))

    assert _EQUAL == installed.verdict(both)
    (installed.site / _MODEL).unlink()
    assert "UNKNOWN" == installed.judged(both)["verdict"]


# Receipts.


def _changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    document = json.loads(_RECEIPT)
    change(document)
    return json.dumps(document).encode()


def _row(document: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = document["body"]["sources"][1]
    return row


def _member(**keys: Any) -> bytes:
    return _changed(lambda document: _row(document)["members"][0].update(keys))


_BAD_MEMBER = (
    "malformed-receipt: /body/sources/1/members/0: "
    "expected path (relative, once), digest (sha256: and 64 hex) and bytes (an integer)"
)
_BAD_ORIGIN = "malformed-receipt: /body/sources/1/origin: expected a wheel of the version that is named"
_BAD_ID = "malformed-receipt: /body/sources/1/id: expected an id that no other source has"
_NOT_JSON = "malformed-receipt: /: expected the JSON of a receipt, found "
_NO_MEMBERS = "receipt-without-members: expected files that the receipt lists for vllm 1.2.0, found none"

_MALFORMED = {
    "empty": (b"", _NOT_JSON + "Expecting value: line 1 column 1 (char 0)"),
    "cut": (_RECEIPT[:-1], None),
    "mark": (b"\xef\xbb\xbf" + _RECEIPT, None),
    "latin": (b'{"schema": "\xe9"}', None),
    "deep": (b"[" * 100_000, None),
    "float": (
        _RECEIPT.replace(b'"bytes": 1,', b'"bytes": 1.0,'),
        _NOT_JSON + "the number 1.0, where a receipt has integers and strings",
    ),
    "nan": (
        _RECEIPT.replace(b'"bytes": 1,', b'"bytes": NaN,'),
        _NOT_JSON + "the number NaN, where a receipt has integers and strings",
    ),
    "huge": (
        _RECEIPT.replace(b'"bytes": 1,', b'"bytes": ' + b"9" * 5000 + b","),
        _NOT_JSON + "an integer that no size or line needs",
    ),
    "twice": (_RECEIPT[:-1] + b', "schema": "receipt/1"}', _NOT_JSON + "a key that stands twice in one object"),
    "list": (b"[]", 'malformed-receipt: /schema: expected "receipt/1"'),
    "schema": (_changed(lambda it: it.update(schema="receipt/2")), 'malformed-receipt: /schema: expected "receipt/1"'),
    "audit": (_changed(lambda it: it.pop("audit")), "malformed-receipt: /audit: expected the name of an audit"),
    "no-audit": (_changed(lambda it: it.update(audit="")), "malformed-receipt: /audit: expected the name of an audit"),
    "body": (
        _changed(lambda it: it.update(body=[])),
        "malformed-receipt: /body/sources: expected a list that is not empty",
    ),
    "sources": (
        _changed(lambda it: it["body"].update(sources=[])),
        "malformed-receipt: /body/sources: expected a list that is not empty",
    ),
    "row": (_changed(lambda it: it["body"]["sources"].insert(1, 5)), _BAD_ID),
    "id": (_changed(lambda it: _row(it).update(id="notes")), _BAD_ID),
    "id-type": (_changed(lambda it: _row(it).update(id=["wheel"])), _BAD_ID),
    "origin": (
        _changed(lambda it: _row(it).pop("origin")),
        "malformed-receipt: /body/sources/1/origin: expected an address or a package URL",
    ),
    "file": (_changed(lambda it: _row(it).update(origin="pkg:pypi/vllm@1.2.0?file_name=vllm.whl")), _BAD_ORIGIN),
    "other-file": (
        _changed(lambda it: _row(it).update(origin=f"pkg:pypi/vllm@1.2.1?file_name={_FILE}#RECORD")),
        _BAD_ORIGIN,
    ),
    "members": (
        _changed(lambda it: _row(it).update(members={})),
        "malformed-receipt: /body/sources/1/members: expected a list",
    ),
    "members-null": (
        _changed(lambda it: _row(it).update(members=None)),
        "malformed-receipt: /body/sources/1/members: expected a list",
    ),
    "no-members": (_changed(lambda it: _row(it).update(members=[])), _NO_MEMBERS),
    "members-absent": (_changed(lambda it: _row(it).pop("members")), _NO_MEMBERS),
    "member": (_changed(lambda it: _row(it)["members"].insert(0, "vllm/__init__.py")), _BAD_MEMBER),
    "member-twice": (
        _changed(lambda it: _row(it)["members"].append(_row(it)["members"][0])),
        _BAD_MEMBER.replace("members/0", "members/6"),
    ),
    "disagreement": (
        _changed(lambda it: it["body"]["sources"].append({**_source({_MODEL: b""}), "id": "again"})),
        "malformed-receipt: /body/sources/2/members: two rows disagree about a file of one wheel",
    ),
    "above": (_member(path="../vllm/__init__.py"), _BAD_MEMBER),
    "within": (_member(path="vllm/../vllm/__init__.py"), _BAD_MEMBER),
    "absolute": (_member(path="/vllm/__init__.py"), _BAD_MEMBER),
    "drive": (_member(path="c:vllm/__init__.py"), _BAD_MEMBER),
    "backslash": (_member(path="vllm\\__init__.py"), _BAD_MEMBER),
    "dot": (_member(path="vllm/./__init__.py"), _BAD_MEMBER),
    "slashes": (_member(path="vllm//__init__.py"), _BAD_MEMBER),
    "no-path": (_member(path=""), _BAD_MEMBER),
    "nul": (_member(path="vllm/__init__.py\0"), _BAD_MEMBER),
    "surrogate": (_member(path="vllm/\ud800.py"), _BAD_MEMBER),
    "upper": (_member(digest="sha256:" + "A" * 64), _BAD_MEMBER),
    "bare": (_member(digest="a" * 64), _BAD_MEMBER),
    "newline": (_member(digest="sha256:" + "a" * 64 + "\n"), _BAD_MEMBER),
    "text": (_member(bytes="29"), _BAD_MEMBER),
    "truth": (_member(bytes=True), _BAD_MEMBER),
    "negative": (_member(bytes=-1), _BAD_MEMBER),
    "absurd": (_member(bytes=2**41), _BAD_MEMBER),
}


@pytest.mark.parametrize(("receipt", "reason"), _MALFORMED.values(), ids=_MALFORMED)
def test_a_malformed_receipt(installed, receipt, reason):
    """A receipt that can't be relied on says nothing: which part, and what was expected."""
    verdict, reasons = installed.verdict(receipt)

    assert "UNKNOWN" == verdict
    assert 1 == len(reasons)
    assert reason in (None, *reasons)
    assert reasons[0].startswith(("malformed-receipt: /", "receipt-without-members: "))


def test_every_malformed_row_is_named(installed):
    """All that is wrong with the rows is said at once."""
    receipt = _changed(lambda it: [it["body"]["sources"][0].pop("origin"), _row(it)["members"][2].pop("bytes")])

    assert ["/body/sources/0/origin", "/body/sources/1/members/2"] == [
        one["where"] for one in installed.judged(receipt)["explanations"]
    ]


def test_a_receipt_of_something_else(installed):
    """A receipt that speaks of other distributions has no say here."""
    other = json.loads(_RECEIPT.replace(b"vllm", b"shelf"))

    assert "OUT-OF-SCOPE" == installed.judged(json.dumps(other).encode())["verdict"]


def test_a_receipt_that_speaks_of_the_sdist(installed):
    """What was read from a source distribution is not what a wheel installed."""
    row = {**_source(_FILES), "origin": "pkg:pypi/vllm@1.2.0?file_name=vllm-1.2.0.tar.gz#vllm-1.2.0/PKG-INFO"}

    assert "OUT-OF-SCOPE" == installed.judged(_receipt(row))["verdict"]


def test_a_receipt_with_more_keys(installed):
    """A receipt says more than this tool reads, and may come to say more."""
    receipt = _changed(
        lambda it: [_row(it)["members"][0].update(note="x"), _row(it).update(tree="vllm"), it.update(more={})]
    )

    assert _EQUAL == installed.verdict(receipt)


@pytest.mark.parametrize(
    ("name", "error"), [("gone.json", "FileNotFoundError"), (".", "IsADirectoryError"), ("", "IsADirectoryError")]
)
def test_a_receipt_that_cannot_be_read(installed, name, error):
    """A receipt that is not there is never taken for none."""
    done = installed.run("--receipt", name)

    assert (3, "") == (done.returncode, done.stderr)
    assert [
        f"vllm 1.2.0 ({_TAG})",
        "UNKNOWN",
        f"    receipt-unreadable: reading {name} fails with {error}",
    ] == done.stdout.splitlines()


_INSTALLED = {
    "dist": "vllm",
    "version": "1.2.0",
    "build": "none",
    "tags": [_TAG],
    "files": [_record(path, body) for path, body in _FILES.items()],
    "obstacles": [],
}


@given(cut=st.integers(0, len(_RECEIPT) - 1))
def test_a_truncated_receipt(cut):
    """No beginning of a receipt is a receipt."""
    assert "UNKNOWN" == tool.judge(_INSTALLED, _RECEIPT[:cut])["verdict"]


def test_a_receipt_without_end():
    """What is larger than any receipt is not read as one."""
    assert [_NOT_JSON + "more than 67108864 bytes"] == [
        f"{one['code']}: {one['where']}: {one['text']}"
        for one in tool.judge(_INSTALLED, _RECEIPT + b" " * 64 * 1024 * 1024)["explanations"]
    ]


@given(place=st.integers(0, len(_RECEIPT) - 1), byte=st.integers(0, 255))
def test_a_receipt_with_one_other_byte(place, byte):
    """Whatever byte of a receipt is changed there is a verdict, and no file that it then lists otherwise is passed over."""
    receipt = _RECEIPT[:place] + bytes([byte]) + _RECEIPT[place + 1 :]

    result = tool.judge(_INSTALLED, receipt)

    assert result["verdict"] in ("APPLIES", "DIFFERENT-INPUT", "UNKNOWN", "OUT-OF-SCOPE")
    if result["verdict"] == "APPLIES":
        assert sorted(_FILES) == tool.files_listed(receipt, "vllm", "1.2.0")


@given(gone=st.sets(st.sampled_from(sorted(_FILES)), min_size=1))
def test_whatever_was_not_read(gone):
    """A listed file that nobody read is missing, even where no obstacle says so."""
    fewer = {**_INSTALLED, "files": [_record(path, body) for path, body in _FILES.items() if path not in gone]}

    result = tool.judge(fewer, _RECEIPT)

    assert "UNKNOWN" == result["verdict"]
    assert sorted(gone) == [one["where"] for one in result["explanations"]]


# Without a receipt.


def test_without_a_receipt(installed):
    """Digests of the usual files that the release has are listed, and nothing is claimed."""
    result = installed.judged(None)

    assert ("LISTED", ["no-receipt"]) == (result["verdict"], result["reasons"])
    assert [_record("vllm/config/vllm.py", b"MODE = 3\n")] == result["files"]
    assert [] == result["fits"]


def test_without_a_receipt_and_shadowed(installed, tmp_path):
    """Digests of files that would not run are no listing."""
    installed.before = [_package(tmp_path / "first")]

    assert "UNKNOWN" == installed.judged(None)["verdict"]


def test_without_a_receipt_and_other_bytecode(installed):
    """Digests of sources that are not what runs are no listing either."""
    config = installed.site / "vllm/config/vllm.py"
    py_compile.compile(str(config), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)

    assert ("UNKNOWN", ["unchecked-bytecode"]) == (
        (result := installed.judged(None))["verdict"],
        result["reasons"],
    )


def test_another_distribution_without_a_receipt(installed, tmp_path):
    """Which files decide for another distribution nobody has said."""
    _pip("--target", str(installed.site), str(_wheel_for_any(tmp_path, {"shelf.py": b""}, "shelf", "2")))

    done = installed.run("--dist", "shelf")

    assert (3, "") == (done.returncode, done.stderr)
    assert [
        "shelf 2 (py3-none-any)",
        "UNKNOWN",
        "    nothing-listed: no usual file is here, and no receipt says which files decide",
    ] == done.stdout.splitlines()


def test_a_distribution_of_one_module(installed, tmp_path):
    """A distribution may be one module; its name is compared as installers compare names."""
    _pip("--target", str(installed.site), str(_wheel_for_any(tmp_path, {"shelf.py": b"A = 1\n"}, "my_shelf", "2")))
    row = {
        **_source({"shelf.py": b"A = 1\n"}),
        "origin": "pkg:pypi/my-shelf@2?file_name=my_shelf-2-py3-none-any.whl#my_shelf-2.dist-info/RECORD",
    }
    (installed.elsewhere / "receipt.json").write_bytes(_receipt(row))

    assert 0 == installed.run("--dist", "My.Shelf", "--receipt", "receipt.json").returncode
    (installed.elsewhere / "shelf.py").write_bytes(b"A = 1\n")
    assert 3 == installed.run("--dist", "My.Shelf", "--receipt", "receipt.json").returncode


# The command line.


@pytest.mark.parametrize(
    "arguments", [["--receipts", "x"], ["--rec", "x"], ["--receipt"], ["--dist", ""], ["--dist", "a/b"], ["file"]]
)
def test_wrong_usage(installed, arguments):
    """What the tool does not know, it says on the error stream and answers nothing."""
    done = installed.run(*arguments)

    assert (2, "") == (done.returncode, done.stdout)
    assert "Traceback" not in done.stderr


def test_names_from_outside(installed):
    """What a reader can't see is shown as an escape: a receipt must not write on the terminal."""
    row = {**_source({"vllm/\u202egnp.py": b""}), "members": [_record("vllm/gnp\u00e9.py", b"")]}
    (installed.elsewhere / "receipt.json").write_bytes(_receipt(row))

    done = installed.run("--receipt", "receipt.json")

    assert "    file-missing: vllm/gnp\\xe9.py: it is not there" == done.stdout.splitlines()[-1]


def test_a_folder_that_writes_on_the_terminal(installed, tmp_path):
    """Neither must the name of a folder."""
    installed.before = [_package(tmp_path / "\x1b[2J")]

    done = installed.run()

    assert f"    shadowed: an import of vllm finds {tmp_path}/\\x1b[2J/vllm/__init__.py" == done.stdout.splitlines()[-1]


def test_command_line_and_function(installed):
    """The command line decides nothing: it prints what the function says of the records."""
    (installed.site / _MODEL).write_bytes(b"")
    files = [_record(path, b"" if path == _MODEL else body) for path, body in _FILES.items()]

    assert tool.judge({**_INSTALLED, "files": files}, _RECEIPT) == installed.judged(_RECEIPT)


def test_the_function_from_its_bytes():
    """An audit loads the file from its own snapshot: the function needs no file beside it and no name."""
    namespace: dict[str, Any] = {}
    exec(compile(_TOOL.read_bytes(), "installed_source.py", "exec"), namespace)

    assert "APPLIES" == namespace["judge"](_INSTALLED, _RECEIPT)["verdict"]


def test_nobody_reads_the_answer(installed):
    """An answer that could not be written is none, and there is no traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = installed.run(stdout=writer)
    finally:
        os.close(writer)

    assert (3, "") == (done.returncode, done.stderr)


def test_an_unforeseen_failure(installed, tmp_path):
    """Where the tool itself fails the exit code names no difference, and there is no traceback."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "sitecustomize.py").write_text("import os\ndel os.path.realpath\n")
    installed.before = [tmp_path / "hooks"]

    done = installed.run()

    assert (3, "", "UNKNOWN\n    internal: AttributeError\n") == (done.returncode, done.stdout, done.stderr)


def test_nothing_is_started_or_imported(installed, tmp_path):
    """It starts no process, opens no connection, writes no file and imports nothing that it looks at."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "sitecustomize.py").write_text(
        "import sys, os\n"
        "def refuse(event, arguments):\n"
        "    name = event.partition('.')[0]\n"
        "    writing = event == 'open' and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)\n"
        "    audited = event == 'import' and arguments[0].partition('.')[0] == 'vllm'\n"
        "    if writing or audited or name in ('subprocess', 'socket', 'ctypes', 'urllib') or event in (\n"
        "        'os.system', 'os.exec', 'os.fork', 'os.forkpty', 'os.posix_spawn', 'os.mkdir', 'os.remove', 'os.rename'\n"
        "    ):\n"
        "        os.write(2, f'{event} {arguments}'.encode())\n"
        "        os._exit(99)\n"
        "sys.addaudithook(refuse)\n"
    )
    installed.before = [tmp_path / "hooks"]
    installed.environment = {"PYTHONDONTWRITEBYTECODE": "1"}

    assert _EQUAL == installed.verdict(_RECEIPT)
    assert "LISTED" == installed.judged(None)["verdict"]


def test_it_runs_where_the_operator_is():
    """One file of Python 3.9 that needs nothing but the standard library."""
    tree = ast.parse(_TOOL.read_bytes(), feature_version=(3, 9))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert "__future__" in imported
    assert [] == sorted(name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names)
