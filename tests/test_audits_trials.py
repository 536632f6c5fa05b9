"""Trials: what a tool makes of fixtures is a leaf like any other, or its author is told what is wrong with it."""

# ruff: noqa: E501 - a message stands on the line that it is printed on

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import pytest

from site_builder import verification
from site_builder.receipts import Body
from site_builder.sources import Lock
from tests import demo, groves
from tests.groves import DRAFT, HOME, SCRIPT
from tests.simulators import Shelf, digest_of

_GATE = f"{HOME}tools/gate.py"
_LIST = f"{HOME}fixtures.yaml"
_MEND = "    Mend the trial, its fixtures or the tool."
_MEND_TOOL = "    Mend the tool."
_DECIDES = '    return {"decision": "HOLD" if held else "GO", "jams": held, "press": name, "seen": lines}\n'


@cache
def _stocked() -> tuple[Shelf, Lock]:
    return groves.stocked()


def _body(files: Mapping[str, str] = groves.FILES) -> Body:
    return groves.body(*_stocked(), files)


def _said(files: Mapping[str, str]) -> list[str]:
    return demo.problems(partial(_body, files))


def _values(body: Body) -> dict[str, Any]:
    return {item.id: item.value for item in body.trials}


def _trial(made: str, given: str = '"gate", "logs/{run}"', name: str = "more") -> dict[str, str]:
    return groves.script(f'@audit.trial({given})\ndef {name}(gate, files):\n    """More."""\n    return {made}\n')


def _deciding(line: str) -> dict[str, str]:
    """The files with another last line of the tool's function."""
    return groves.changed("tools/gate.py", _DECIDES, f"    {line}\n")


def _line(text: str, files: Mapping[str, str], name: str = SCRIPT) -> int:
    return groves.line_of(text, files, name)


# What it comes to


def test_what_a_tool_makes_of_each_folder():
    """A trial per folder, in the order of `fixtures.yaml`, with the tool and the files that it was made of."""
    body = _body()

    assert {"decision@quiet": "GO", "decision@jammed": "HOLD", "jams@quiet": "0", "jams@jammed": "1"} == _values(body)
    jammed = {item.id: item for item in body.trials}["decision@jammed"]
    assert ("gate.py", ("logs/jammed/press.log", "logs/jammed/press.json"), "word", None) == (
        jammed.tool,
        jammed.fixtures,
        jammed.kind,
        jammed.unit,
    )
    assert ["quiet", "jammed"] == [row["id"] for row in next(one for one in body.results if one.id == "runs").rows]
    (tool,) = body.tools
    assert ("gate.py", "Tells whether a press may start.", digest_of(groves.FILES[_GATE].encode())) == (
        tool.id,
        tool.statement,
        tool.digest,
    )
    assert [("logs/quiet/press.log", "Nothing happens.", "synthetic", 8)] == [
        (one.id, one.statement, one.type, one.bytes) for one in body.fixtures[:1]
    ]


def test_the_order_of_the_list():
    """The order of `fixtures.yaml` is the order of the axis, and nothing else changes with it."""
    first, second, third = groves.FILES[_LIST].splitlines()[1:]
    turned = _body({**groves.FILES, _LIST: f"fixtures:\n{second}\n{third}\n{first}\n"})

    assert ["decision@jammed", "decision@quiet"] == [item.id for item in turned.trials[:2]]
    assert ["jammed", "quiet"] == [row["id"] for row in next(one for one in turned.results if one.id == "runs").rows]
    assert _values(_body()) == _values(turned)


def test_a_trial_that_moves():
    """The outcomes of trials are leaves: an invariant on them can fail, and says which of them break it."""
    body = _body()

    assert {
        "paperSuffices": ("atHand", "pages@1.0.0", "pages@1.1.0"),
        "jamsHold": ("go", "once", "decision@quiet", "decision@jammed", "jams@quiet", "jams@jammed"),
    } == {item.id: item.broken_by for item in body.invariants}
    said = _said(_deciding('return {"decision": "GO", "jams": held}'))
    at = _line("def jams_hold", groves.FILES) - 1
    assert [f"{SCRIPT}:{at}"] == [one.partition(": ")[0] for one in said]
    assert ": jamsHold: expected " in said[0]


def test_a_trial_on_one_folder():
    """Without an axis a tool is put to the files of one folder, under no key."""
    files = _trial('gate.decide(files["press.log"])["seen"]', '"gate", "logs/jammed", kind="words"')

    assert ("started", "paper jam") == _values(_body(files))["more"]


@pytest.mark.parametrize(
    ("made", "given", "value"),
    [
        ("len(files)", 'unit="1"', "1"),
        ('"1.50"', 'unit="s"', "1.5"),
        ("len(files) == 1", 'kind="truth"', "yes"),
        ('"unknown"', 'kind="truth"', "unknown"),
        ('("a", 2)', 'kind="words"', ("a", "2")),
        ("()", 'kind="words"', ()),
    ],
)
def test_what_a_trial_may_come_to(made, given, value):
    """A word, a number with its unit, a truth, or a list of words."""
    assert value == _values(_body(_trial(made, f'"gate", "logs/quiet", {given}')))["more"]


# What it may not come to


@pytest.mark.parametrize(
    ("made", "given", "said"),
    [
        ("1.5", "", "1.5 is a float: give it a unit, or read it as a word"),
        ("1.5", ', unit="s"', "1.5 is no decimal number"),
        ("None", "", "None is a NoneType: give it a unit, or read it as a word"),
        ("None", ', unit="1"', "'None' is no decimal number"),
        ("None", ', kind="truth"', "None is neither yes nor no"),
        ("gate.decide(files['press.log'])", "", None),
        ("files['press.log']", "", "b'started\\n' is a bytes: give it a unit, or read it as a word"),
        ("[1.5]", ', kind="words"', "1.5 is a float: a list is one of words or numbers"),
        ("[None]", ', kind="words"', "None is a NoneType: a list is one of words or numbers"),
        ("[{}]", ', kind="words"', "{} is a dict: a list is one of words or numbers"),
        ("True", "", "True is a bool: give it a unit, or read it as a word"),
        ("1", "", "1 is a int: give it a unit, or read it as a word"),
        ("'yes'", ', kind="truth"', "'yes' is neither yes nor no"),
        ("'a' + chr(0xDC00)", "", "half of a surrogate pair is no text"),
        ("'many'", ', unit="1"', "'many' is no decimal number"),
        ("files['nothing.log']", "", "KeyError: 'nothing.log'"),
        ("gate.nothing(files)", "", "AttributeError: module 'tool gate' has no attribute 'nothing'"),
    ],
)
def test_what_is_no_value(made, given, said):
    """Whatever else comes of a trial is refused at its line, under the key that it came of."""
    files = _trial(made, f'"gate", "logs/{{run}}"{given}')
    at = _line(f'@audit.trial("gate", "logs/{{run}}"{given})\ndef more', files)

    found = _said(files)
    assert 1 == len(found)
    assert found[0].startswith(f"{SCRIPT}:{at}: more@quiet: {said or '{'}")
    assert found[0].endswith(f"\n{_MEND}")


# What is wrong with a tool


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(2)", "SystemExit: 2"),
        ("return decide(log)", "RecursionError: maximum recursion depth exceeded"),
        ("raise KeyError('a\\nb')", "KeyError: 'a\\nb'"),
        ("raise GeneratorExit", "GeneratorExit: "),
        ("sys = __import__('sys'); sys.modules['json'] = None", None),
    ],
)
def test_a_tool_that_raises(line, said):
    """What a tool raises is said at its own line, with the trial that it was tried in."""
    files = _deciding(line)
    found = _said(files)

    if said is None:
        assert "json" in sys.modules
        assert sys.modules["json"] is not None
        assert [
            f"{_GATE}: {name}@quiet: expected loaded modules to stay as they are, found json changed\n{_MEND_TOOL}"
            for name in ("decision", "jams")
        ] == found
        return
    at = _line(line, files, _GATE)
    assert 2 == len(found)
    for name, one in zip(("decision", "jams"), found, strict=True):
        assert one.startswith(f"{_GATE}:{at}: {name}@quiet: {said}") or "RecursionError" in said
        assert one.endswith(f"\n{_MEND_TOOL}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("import json\n", "import json\n\n1 / 0\n", "{at}: ZeroDivisionError: division by zero"),
        ("import json\n", "import json\n\nraise SystemExit('no')\n", "{at}: SystemExit: no"),
        ("import json\n", "import jsn\n", "6: ModuleNotFoundError: No module named 'jsn'"),
        ("import json\n", "import json\ndef (:\n", "7: expected Python, found invalid syntax"),
        (
            "import json\n",
            "import json\n\0\n",
            "1: expected Python, found source code string cannot contain null bytes",
        ),
        (
            "import json\n",
            "x = " + "(" * 300 + ")" * 300 + "\n",
            "6: expected Python, found too many nested parentheses",
        ),
        ("import json\n", "import json, sys\nsys.modules['tests.demo'] = json\n", None),
        ("import json\n", "import json, sys\nsys.modules['nobody.knows'] = json\n", None),
        ("import json\n", "import json, sys\ndel sys.modules[__name__]\n", ""),
    ],
)
def test_a_tool_that_does_not_load(old, new, said):
    """A tool that can't be read is said once, at its own line; what it did to loaded modules is undone."""
    files = groves.changed("tools/gate.py", old, new)
    before = dict(sys.modules)
    found = _said(files)

    assert {name: sys.modules.get(name) for name in before} == before
    assert not {"nobody.knows", "tool gate"} & set(sys.modules)
    if said is None:
        changed = "tests.demo" if "tests.demo" in new else "nobody.knows"
        assert [f"{_GATE}: expected loaded modules to stay as they are, found {changed} changed\n{_MEND_TOOL}"] == found
    elif not said:
        assert [] == found
    else:
        shown = said.format(at=8)
        assert [f"{_GATE}:{shown}\n{_MEND_TOOL}"] == found


@pytest.mark.parametrize("docstring", ["", '""""""\n', '"""   """\n', "# Tells whether a press may start.\n"])
def test_a_tool_without_a_word_of_its_own(docstring):
    """What a tool says of itself is published, so it says something."""
    text = groves.FILES[_GATE]
    files = {**groves.FILES, _GATE: docstring + text[text.index("import json") :]}

    assert [
        f"{_GATE}:1: expected a docstring or a description, which is published, found none\n    Say in one line what the tool is for."
    ] == _said(files)


def test_a_schema_beside_a_tool():
    """A file that is no script says what it is for by its description."""
    schema = f"{HOME}tools/press.schema.json"

    assert ["gate.py", "press.schema.json"] == [
        tool.id for tool in _body({**groves.FILES, schema: '{"description": "What a press says."}'}).tools
    ]
    for text, said in (
        ("{}", "1: expected a docstring or a description, which is published, found none"),
        ("[]", "1: expected a docstring or a description, which is published, found none"),
        ('{"description": 1}', "1: expected a docstring or a description, which is published, found none"),
        ('{"a": 1,\n "a": 2}', "2: the key 'a' stands twice in one object"),
    ):
        (found,) = _said({**groves.FILES, schema: text})
        assert found.startswith(f"{schema}:{said}\n")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("import socket; socket.socket()", "opened a socket or resolved a name"),
        ("import subprocess; subprocess.run(['true'])", "started a process"),
        ("open('gate.log', 'w')", "wrote a file"),
        ("import shelf", "imported the audited package shelf"),
        ("open('/etc/hostname').read()", "read a file that is no module of Python"),
    ],
)
@pytest.mark.parametrize("swallowed", [False, True])
@pytest.mark.parametrize("at_load", [False, True])
def test_a_tool_that_crosses_the_boundary(line, what, swallowed, at_load):
    """What an audit is refused its tools are refused, where they are loaded and where they are tried."""
    indent = "" if at_load else "    "
    text = f"{indent}{line}\n"
    if swallowed:
        text = f"{indent}try:\n{indent}    {line}\n{indent}except BaseException:\n{indent}    pass\n"
    files = groves.changed("tools/gate.py", "\n\ndef decide", f"\n\n{text}\n\ndef decide")
    if not at_load:
        files = groves.changed("tools/gate.py", _DECIDES, text + _DECIDES)
    (found,) = _said(files)

    at = _line(line, files, _GATE)
    assert found.startswith(f"{_GATE}:{at}: expected an audit that only reads its snapshots, found that it {what}")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import json, threading", "threading"),
        ("from threading import Thread", "threading"),
        ("from concurrent.futures import ThreadPoolExecutor", "concurrent"),
        ("import multiprocessing.pool as pool", "multiprocessing"),
        ("import asyncio", "asyncio"),
    ],
)
def test_a_tool_that_works_elsewhere(line, name):
    """The boundary holds in one thread, so a tool works in that."""
    for files in (
        groves.changed("tools/gate.py", "import json\n", f"import json\n{line}\n"),
        _deciding(f"{line}; return {{}}"),
    ):
        assert [
            f"{_GATE}:{_line(line, files, _GATE)}: expected a tool that works in one thread, found that it imports {name}\n"
            "    The boundary holds in the thread that runs the audit: do it there."
        ] == _said(files)


def test_a_tool_that_is_not_there():
    """A trial names one of the audit's tools."""
    files = _trial('"x"', '"gait", "logs/{run}"')

    at = _line('@audit.trial("gait"', files)
    assert [f"{SCRIPT}:{at}: more: expected one of the tools gate, found gait\n    Name one."] == _said(files)


def test_a_tool_with_classes():
    """What a tool's classes need while they are made is there: a dataclass looks its module up."""
    files = groves.changed(
        "tools/gate.py",
        "import json\n",
        "from __future__ import annotations\n\nimport json\nfrom dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Log:\n    lines: list[str]\n",
    )

    assert _values(_body()) == _values(_body(files))
    assert "tool gate" not in sys.modules


# What is wrong with fixtures


def test_a_fixture_that_is_listed_and_missing():
    """The list names files that are there."""
    files = {name: text for name, text in groves.FILES.items() if name != f"{HOME}fixtures/logs/jammed/press.json"}

    assert [
        f"{_LIST}: expected a file fixtures/logs/jammed/press.json, found none\n"
        "    Write `path` and `statement` for every file of a folder with fixtures, and for no other."
    ] == _said(files)


@pytest.mark.parametrize(
    "path", ["logs/quiet/more.log", "logs/third/press.log", "logs/quiet/deeper/press.log", "logs/press.log"]
)
def test_a_fixture_that_is_not_listed(path):
    """Every file of a folder with fixtures is listed, however deep it lies: none is put to a tool, or left out, unsaid."""
    assert [
        f"{_LIST}: expected an entry for fixtures/{path}, found none\n"
        "    Write `path` and `statement` for every file of a folder with fixtures, and for no other."
    ] == _said({**groves.FILES, f"{HOME}fixtures/{path}": "x\n"})


@pytest.mark.parametrize(
    ("entry", "file", "said"),
    [
        ("logs/quiet/deeper/press.log", True, "expected logs/<run>/<file>, found logs/quiet/deeper/press.log"),
        ("logs/press.log", True, "expected logs/<run>/<file>, found logs/press.log"),
    ],
)
def test_a_fixture_that_lies_elsewhere(entry, file, said):
    """With an axis, fixtures lie in the folders of one folder, and no deeper."""
    del file
    files = {**groves.FILES, f"{HOME}fixtures/{entry}": "x\n"}
    files = groves.changed(
        "fixtures.yaml", "fixtures:\n", f"fixtures:\n  - {{path: {entry}, statement: More.}}\n", files
    )

    assert [
        f"{SCRIPT}:{_line(at, files)}: {name}: {said}\n{_MEND}"
        for name, at in (
            ("decision", '@audit.trial("gate", "logs/{run}")'),
            ("jams", '@audit.trial("gate", "logs/{run}", unit'),
        )
    ] == _said(files)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('"gate", "logs"', "expected logs/<file>, found logs/quiet/press.log"),
        ('"gate", "papers/{run}"', "expected fixtures below papers/, found none"),
        ('"gate", "log"', "expected fixtures below log/, found none"),
        ('"gate", "{run}"', "expected a folder, or <folder>/{run} for each folder in it, found {run}"),
        (
            '"gate", "logs/{run}/press.log"',
            "expected a folder, or <folder>/{run} for each folder in it, found logs/{run}/press.log",
        ),
    ],
)
def test_a_trial_without_fixtures(given, said):
    """A trial names a folder of fixtures, or the folders in one."""
    files = _trial('"x"', given)

    assert [f"{SCRIPT}:{_line(f'@audit.trial({given})', files)}: more: {said}\n{_MEND}"] == _said(files)


def test_folders_that_differ_between_two_trials():
    """Two trials over one list have the same folders."""
    files = _trial('"x"', '"gate", "sounds/{run}"')
    files[f"{HOME}fixtures/sounds/quiet/press.log"] = "hum\n"
    files = groves.changed(
        "fixtures.yaml", "fixtures:\n", "fixtures:\n  - {path: sounds/quiet/press.log, statement: A hum.}\n", files
    )
    at = _line('@audit.trial("gate", "sounds/{run}")', files)

    assert [f"{SCRIPT}:{at}: more: expected a folder for each run (quiet, jammed), found quiet\n{_MEND}"] == _said(
        files
    )


def test_a_folder_whose_name_is_no_key():
    """A folder's name is a key of the receipt, and so it is spelt like one."""
    name = f"{HOME}fixtures/logs/a b/press.log"
    files = groves.changed(
        "fixtures.yaml", "fixtures:\n", 'fixtures:\n  - {path: "logs/a b/press.log", statement: More.}\n'
    )

    (found,) = _said({**files, name: "x\n"})
    assert found.startswith(f"{_LIST}:2: fixtures.0.path: ")


# Receipts


@cache
def _receipt() -> bytes:
    store, lock = _stocked()
    return groves.receipt(groves.inputs(store, lock))


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (
            "fixtures/logs/quiet/press.log",
            "started",
            "begun",
            [
                "fixtures logs/quiet/press.log digest: expected sha256:",
                "fixtures logs/quiet/press.log bytes: expected 6 (recomputed), found 8",
            ],
        ),
        ("tools/gate.py", "More on that.", "Nothing more.", ["tools gate.py digest: expected sha256:"]),
        (
            "fixtures.yaml",
            "Nothing happens.",
            "All is well.",
            ["fixtures logs/quiet/press.log statement: expected All is well. (recomputed), found Nothing happens."],
        ),
    ],
)
def test_what_changed_since_the_receipt(name, old, new, said):
    """A fixture, a tool or a word of either that changed is named with the receipt's own line."""
    store, lock = _stocked()
    assert old in groves.FILES[HOME + name]
    files = groves.changed(HOME + name, old, new)
    made = groves.inputs(store, lock, files, receipt=_receipt())
    found = demo.problems(lambda: verification.receipt_gate(made, verification.snapshot_gate(made, ["bind"])))

    shown = [one.split(": ", 1) for one in found if any(part in one for part in said)]
    assert len(said) == len(found) == len(shown), found
    lines = _receipt().decode().splitlines()
    for where, text in shown:
        file, _, line = where.rpartition(":")
        assert DRAFT == file
        assert text.partition("found ")[2].partition("\n")[0].strip("…")[:40] in lines[int(line) - 1]


def test_nothing_changed_since_the_receipt():
    """The receipt of what is there is reproduced."""
    store, lock = _stocked()
    made = groves.inputs(store, lock, receipt=_receipt())

    assert [] == demo.problems(lambda: verification.receipt_gate(made, verification.snapshot_gate(made, ["bind"])))
