"""What editors write beside an audit: it becomes records, or each thing that is wrong is said with its line."""

# ruff: noqa: E501 - a message stands on the line that it is printed on

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from site_builder import editorial
from site_builder.audits import FixtureFile
from site_builder.inputs import AuditInputs, File
from tests import demo

_SCHEMA = "    Write what the file's schema asks for here."
_REPORTED = "evidence/cache/reported.yaml"
_DECISION = "evidence/cache/decision.yaml"
_SIGNALS = "evidence/cache/tables/signals.yaml"
_DESK = "evidence/cache/desk.yaml"


def _audit(files: dict[str, str] | None = None, desk: str | None = None) -> AuditInputs:
    audit = demo.inputs(files or dict(demo.FILES)).audits["cache"]
    return audit if desk is None else replace(audit, desk=File(where=_DESK, body=desk.encode()))


def test_what_others_stated():
    """A reported value keeps its unit, its attribution and how it is known."""
    (found,) = editorial.reported(_audit())

    assert ("reportedPeak", "256", "MiB", "shelf/shelf#7") == (found.id, found.value, found.unit, found.by)
    without = {name: text for name, text in demo.FILES.items() if name != _REPORTED}
    assert () == editorial.reported(_audit(without))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('value: "256"', 'value: "large"', f"{_REPORTED}: reportedPeak: 'large' is no decimal number\n    Mend the reported value."),
        ('value: "256"', "value: nan", f"{_REPORTED}: reportedPeak: 'nan' is no finite number\n    Mend the reported value."),
        ("    unit: MiB\n", "", f"{_REPORTED}: reportedPeak: expected a unit for a number, or a kind for anything else\n    Mend the reported value."),
        ("unit: MiB", "unit: MiB\n    kind: word", f"{_REPORTED}: reportedPeak: expected a unit for a number, or a kind for anything else\n    Mend the reported value."),
        ("    by: shelf/shelf#7\n", "", f"{_REPORTED}:2: reported.0.by: expected it, found nothing\n{_SCHEMA}"),
        ("id: reportedPeak", "id: Reported", f"{_REPORTED}:2: reported.0.id: String should match pattern '^[a-z0-9][A-Za-z0-9.@_-]*$'\n{_SCHEMA}"),
        ("unit: MiB", "unit: MiB\n    mood: good", f"{_REPORTED}:5: reported.0.mood: expected a known key, found this one\n{_SCHEMA}"),
        ("unit: MiB", "unit: MiB\n    unit: GiB", f"{_REPORTED}:5: the key 'unit' stands twice\n    Keep one of the two."),
    ],
)  # fmt: skip
def test_a_reported_value_that_is_none(old, new, said):
    """A number has a unit, anything else a kind, and each an attribution."""
    assert [said] == demo.problems(partial(editorial.reported, _audit(demo.changed(_REPORTED, old, new))))


def test_a_table_of_words():
    """Columns, rows and their places: each cell knows the line that it is written on."""
    (found,) = editorial.tables(_audit())

    assert ("signals", (("signal", "Signal"), ("meaning", "Meaning")), False) == (
        found.id,
        found.columns,
        found.checklist,
    )
    assert ["full", "quiet"] == [row["id"] for row in found.rows]
    assert {f"{_SIGNALS}:7", f"{_SIGNALS}:8"} == set(editorial.cell_lines(_audit()).values())


def test_a_list_of_steps():
    """Items without columns are steps, in an order where they say so."""
    text = "title: Steps\nstatement: In this order.\nordered: yes\nitems:\n  - {id: one, text: Stop.}\n  - {id: two, text: Start.}\n"
    (found,) = editorial.tables(_audit({**demo.FILES, _SIGNALS: text}))

    assert (True, True, (("text", "Step"),)) == (found.checklist, found.ordered, found.columns)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  - {id: quiet, signal: Nothing is said, meaning: It has room.}\n", "  - {id: full, signal: x, meaning: y}\n", "expected an id of its own in every row"),
        (", meaning: It has room.", "", "expected id, meaning, signal in row 2, found id, signal"),
        ("meaning: It has room.", "meaning: It has room., more: x", "expected id, meaning, signal in row 2, found id, meaning, more, signal"),
        ("rows:", "items:", "expected columns and rows, or items alone"),
    ],
)  # fmt: skip
def test_a_table_that_is_none(old, new, said):
    """Every row has the table's columns and an id of its own."""
    files = demo.changed(_SIGNALS, old, new)

    assert [f"{_SIGNALS}:1: {said}\n{_SCHEMA}"] == demo.problems(lambda: editorial.tables(_audit(files)))


def test_the_decision():
    """The state comes from a result; how it is worded is the editor's."""
    found = editorial.decision(_audit())

    assert ("state", ("releases", "verdict")) == (found.state_from, found.subjects_from)
    assert {"affected": "hold", "bounded": "go", "unknown": "unknown"} == found.states


def test_a_decision_on_several_grounds():
    """A subject may have a state of each name: on every platform its own, say."""
    files = demo.changed(_DECISION, "column: verdict", "column: [verdict, page]")

    assert [
        {"id": "1.0.0", "verdict": "bounded", "page": "2048"},
        {"id": "1.1.0", "verdict": "affected", "page": "4096"},
        {"id": "1.2.0", "verdict": "affected", "page": "4096"},
    ] == list(demo.body(files).decision.subjects)


def test_without_a_decision():
    """An audit that is issued decides."""
    without = {name: text for name, text in demo.FILES.items() if name != _DECISION}

    assert [
        f"{_DECISION}: expected the decision's wording, found no file\n"
        "    Write the state, the conditions, and what would open the question again."
    ] == demo.problems(lambda: editorial.decision(_audit(without)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('conditions: ["The cache is full."]', "conditions: []", f"{_DECISION}:6: conditions: Tuple should have at least 1 item after validation, not 0\n{_SCHEMA}"),
        ("statement: Set the number of pages yourself.\n", "", f"{_DECISION}:1: statement: expected it, found nothing\n{_SCHEMA}"),
        ("column: verdict", "cell: verdict", f"{_DECISION}:5: subjects.column: expected it, found nothing\n{_SCHEMA}"),
    ],
)  # fmt: skip
def test_a_decision_that_is_none(old, new, said):
    """A decision has conditions, a statement, and what opens it again."""
    said_ = demo.problems(partial(editorial.decision, _audit(demo.changed(_DECISION, old, new))))

    assert said == said_[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("from: state", "from: stat", "decision: nothing stands at 'stat'"),
        ("affected: hold, ", "", "decision: nothing stands at 'affected'"),
        ("column: verdict", "column: virdict", "decision: nothing stands at 'virdict'"),
        ("table: releases", "table: release", "decision: nothing stands at 'release'"),
    ],
)
def test_a_decision_on_nothing(old, new, said):
    """What the decision names must stand in the audit, and every state that it can come to must be worded."""
    assert [
        f"evidence/cache/audit.py: {said}\n    Name a result, a column and every state in decision.yaml."
    ] == demo.problems(lambda: demo.body(demo.changed(_DECISION, old, new)))


def test_the_desk():
    """What the desk recorded goes into the receipt; where it recorded nothing, that is said."""
    assert "not reviewed" == editorial.desk(_audit()).review
    desk = "overlap: none\nintake: {asked: yes}\nsearchBudget: three\nreview: not reviewed\n"
    assert {"asked": "yes"} == editorial.desk(_audit(desk=desk)).intake
    assert [f"{_DESK}:1: review: expected it, found nothing\n{_SCHEMA}"] == demo.problems(
        lambda: editorial.desk(_audit(desk=desk.replace("review: not reviewed\n", "")))
    )


# Fixtures


_LIST = "evidence/cache/fixtures.yaml"
_LISTED = """\
fixtures:
  - {path: logs/b/full.log, statement: The cache is full.}
  - {path: logs/a/empty.log, statement: It is empty.}
"""
_EVERY = "    Write `path` and `statement` for every file of a folder with fixtures, and for no other."


def _fixtures(text: str | None = _LISTED, *paths: str) -> tuple[FixtureFile, ...]:
    audit = _audit()
    found = paths or ("logs/a/empty.log", "logs/b/full.log")
    files = {path: File(where=f"evidence/cache/fixtures/{path}", body=path.encode()) for path in sorted(found)}
    listed = None if text is None else File(where=_LIST, body=text.encode())
    return editorial.fixtures(replace(audit, fixtures={**audit.fixtures, **files}, fixture_list=listed))


def test_fixtures():
    """Fixtures come in the order of their list, with what each is for; a file that is a source is none."""
    assert [
        ("logs/b/full.log", "The cache is full.", b"logs/b/full.log"),
        ("logs/a/empty.log", "It is empty.", b"logs/a/empty.log"),
    ] == [(one.path, one.statement, one.body) for one in _fixtures()]
    assert () == _fixtures(None)


@pytest.mark.parametrize(
    ("text", "paths", "said"),
    [
        (_LISTED, ("logs/b/full.log",), ["expected a file fixtures/logs/a/empty.log, found none"]),
        (_LISTED, ("logs/a/empty.log", "logs/b/full.log", "logs/b/more.log"), ["expected an entry for fixtures/logs/b/more.log, found none"]),
        (_LISTED, ("logs/a/empty.log", "logs/b/full.log", "logs/c/d/more.log"), ["expected an entry for fixtures/logs/c/d/more.log, found none"]),
        (_LISTED + "  - {path: logs/a/empty.log, statement: Twice.}\n", (), ["expected each file once, found logs/a/empty.log twice"]),
        (_LISTED + "  - {path: first.log, statement: First.}\n", ("logs/a/empty.log", "logs/b/full.log", "first.log"), ["expected an entry for fixtures/limits.py, found none"]),
        (
            _LISTED.replace("b/full", "c/full"),
            (),
            ["expected a file fixtures/logs/c/full.log, found none", "expected an entry for fixtures/logs/b/full.log, found none"],
        ),
    ],
)  # fmt: skip
def test_a_list_that_is_not_that_of_the_files(text, paths, said):
    """Each file of a folder with fixtures is listed once, and each that is listed is there."""
    assert [f"{_LIST}: {one}\n{_EVERY}" for one in said] == demo.problems(lambda: _fixtures(text, *paths))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("logs/b/full.log", "../audit.py", "2: fixtures.0.path: String should match pattern"),
        ("logs/b/full.log", "/etc/hostname", "2: fixtures.0.path: String should match pattern"),
        ("logs/b/full.log", "logs//full.log", "2: fixtures.0.path: String should match pattern"),
        ("logs/b/full.log", '"logs/b c/full.log"', "2: fixtures.0.path: String should match pattern"),
        ("The cache is full.", '""', "2: fixtures.0.statement: String should have at least 1 character"),
        (", statement: The cache is full.", "", "2: fixtures.0.statement: expected it, found nothing"),
        ("statement: The cache", "type: observed, statement: The cache", "2: fixtures.0.type: expected a known key, found this one"),
    ],
)  # fmt: skip
def test_a_fixture_that_is_none(old, new, said):
    """A fixture is a file below `fixtures/` and a sentence; that it is synthetic is not for the list to say."""
    found = demo.problems(lambda: _fixtures(_LISTED.replace(old, new)))

    assert 1 == len(found)
    assert found[0].startswith(f"{_LIST}:{said}"), found


def test_a_list_without_fixtures():
    """Empty is wrong: an audit without fixtures has no list."""
    assert [
        f"{_LIST}:1: fixtures: Tuple should have at least 1 item after validation, not 0\n{_SCHEMA}"
    ] == demo.problems(lambda: _fixtures("fixtures: []\n"))
