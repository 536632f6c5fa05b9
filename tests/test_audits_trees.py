"""Trees in an audit: what names lead to is seen where it is said to be, or it is said why it is not."""

# ruff: noqa: E501 - a message stands on the line that it is printed on

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest

from site_builder import audits, editorial, receipts, verification
from site_builder.receipts import Body, Ledger, Observation, Step
from site_builder.sources import Lock, TreeMember
from tests import demo, groves
from tests.groves import HOME, LOCK, PACKAGE, READ, SCRIPT
from tests.simulators import Shelf, digest_of

_MEND = "    Look at what changed upstream, and mend the reader."
_FOLLOW = "    Run `python build.py fetch bind`: it follows what an observation reads."
_FETCH_ALONE = "    The lock is written by `fetch` alone: restore it, or fetch again."


@cache
def _stocked() -> tuple[Mapping[str, bytes], Lock]:
    store, lock = groves.stocked()
    return store.bodies, lock


@pytest.fixture
def store() -> Shelf:
    """A store with all of both wheels."""
    made = Shelf()
    made.bodies = dict(_stocked()[0])
    return made


@pytest.fixture
def lock() -> Lock:
    """What fetch locks of them."""
    return _stocked()[1]


def _observation(*lines: str, otherwise: bool = False) -> str:
    given = '"wheel@{release}"' + (', otherwise="unknown"' if otherwise else "")
    body = "".join(f"    {line}\n" for line in lines)
    return f'@audit.observation({given})\ndef more(wheel):\n    """More."""\n{body}'


def _absence(*lines: str, control: str = "wheel@{release}", otherwise: bool = False) -> str:
    given = f'"wheel@{{release}}", control="{control}"' + (', otherwise="unknown"' if otherwise else "")
    body = "".join(f"    {line}\n" for line in lines)
    return f'@audit.absence({given})\ndef more(wheel):\n    """More."""\n{body}'


def _said(
    function: str, lock: Lock | None = None, packages: Mapping[str, Mapping[str, str]] | None = None
) -> list[str]:
    """What is wrong with one more function, whose files are followed unless a lock is given."""
    files = groves.script(function)
    store, followed = groves.stocked(files, packages)
    return demo.problems(partial(groves.body, store, lock or followed, files))


def _line(function: str) -> int:
    return groves.line_of(function, groves.script(function))


def _record(body: Body) -> Ledger:
    issued = receipts.Issued(
        version="draft",
        as_of=groves.NOW,
        operation_id="none",
        predecessor="none",
        builder="none",
        parsers={},
        overlap="none",
        intake="none",
        search_budget="none",
        review="none",
    )
    return Ledger(receipt=receipts.Receipt(audit="bind", body=body, issued=issued), digest="")


# What is seen


def test_a_way_from_file_to_file(store, lock):
    """A value says its file and lines, and so does each step that led there; each region is those whole lines."""
    body = groves.body(store, lock)
    pages = {item.id: item for item in body.observations}["pages@1.0.0"]

    assert ("16", "page", {"path": "shelf/pressed.py", "line": 5, "lastLine": 5}) == (pages.value, pages.unit, pages.at)
    assert pages.trail is not None
    assert [
        ("entry", ("sewn", "Thread"), "shelf/registry.py"),
        ("branch", "host.has_press()", "shelf/sewn.py"),
        ("import", "shelf.pressed:Thread", "shelf/sewn.py"),
        ("class", "shelf.pressed:Thread", "shelf/pressed.py"),
    ] == [(step.step, step.value, step.at["path"]) for step in pages.trail]
    places: list[Observation | Step] = [pages, *pages.trail]
    for place in places:
        assert place.at is not None
        lines = PACKAGE[str(place.at["path"])].splitlines(keepends=True)
        region = "".join(lines[int(place.at["line"]) - 1 : int(place.at["lastLine"])])
        assert digest_of(region.encode()) == place.region


def test_an_absence_with_a_control_of_its_own(store, lock):
    """It says what was searched, where, how it was come by, and where the same matcher finds something."""
    absent = groves.body(store, lock).absences[0]

    assert ("yes", 2, {"path": "shelf/pressed.py", "line": 4, "lastLine": 4}) == (
        absent.value,
        absent.definitions,
        absent.at,
    )
    assert {"source": "wheel@1.0.0", "found": 1, "path": "shelf/base.py", "line": 8, "lastLine": 9} == absent.control
    assert absent.trail is not None
    assert ["entry", "branch", "import"] == [step.step for step in absent.trail]


def test_what_a_receipt_says_of_a_tree(store, lock):
    """RECORD's own digest and size, and every file that was read with its own."""
    row = groves.body(store, lock).sources[0]

    assert row.members is not None
    assert READ == tuple(member.path for member in row.members)
    assert (row.digest, row.bytes) == (lock.entries[0].digest, lock.entries[0].bytes)
    assert digest_of(PACKAGE["shelf/base.py"].encode()) == row.members[0].digest


def test_from_bytes_and_from_the_record(store, lock):
    """A run from bytes, one from the record and one from either half are one run, to the byte."""
    whole = groves.body(store, lock)
    recorded = _record(whole)

    for without in ({"wheel@1.0.0"}, {"wheel@1.1.0"}, {"wheel@1.0.0", "wheel@1.1.0"}):
        part = groves.body(store, lock, without=frozenset(without), recorded=recorded)
        assert receipts.written(_record(part).receipt) == receipts.written(recorded.receipt)


def test_a_control_of_which_the_record_is_all_there_is():
    """Where search or control are not both at hand, the record stands, and nobody wonders what else was not read."""
    search = 'wheel.tree.module("shelf/unread.py").count("string", containing="asks")'
    function = _absence(f"return {search}", control="wheel@1.1.0").replace('"wheel@{release}"', '"wheel@1.0.0"')
    files = groves.apart(function)
    files[SCRIPT] = files[SCRIPT].replace('each="release", ', "").replace("most(pages.values())", "pages")
    files[SCRIPT] = files[SCRIPT].replace("return row(binder=binder, pages=pages, plain=no_mark)", "return pages")
    store, lock = groves.stocked(files, {"1.0.0": {**PACKAGE, "shelf/unread.py": "NOBODY = 'minds'\n"}})
    whole = groves.body(store, lock, files)

    assert (("shelf/unread.py",), 6) == (groves.members(lock, "1.1.0"), len(_members(lock)))
    assert ("yes", "wheel@1.1.0") == (whole.absences[-1].value, whole.absences[-1].control["source"])
    for without in ("wheel@1.0.0", "wheel@1.1.0"):
        assert whole == groves.body(store, lock, files, without=frozenset({without}), recorded=_record(whole))
    said = demo.problems(partial(groves.body, store, lock, files, without=frozenset({"wheel@1.1.0"})))
    assert [
        f"{SCRIPT}:{groves.line_of(function, files)}: more: wheel@1.0.0: expected the bytes of its control wheel@1.1.0,"
        f" found neither them nor a record\n{_MEND}"
    ] == said


def test_neither_bytes_nor_a_record(store, lock):
    """Without both, nothing is computed, and nothing is called unknown."""
    said = demo.problems(partial(groves.body, store, lock, without=frozenset({"wheel@1.0.0"})))

    assert [
        f"{SCRIPT}:{groves.line_of(text)}: {name}@1.0.0: expected the bytes of wheel@1.0.0, found neither them nor a recorded observation\n"
        "    Run `fetch`, then `issue`."
        for name, text in (
            ("binder", '@audit.observation("wheel@{release}")\ndef binder'),
            ("pages", '@audit.observation("wheel@{release}", unit="page")'),
            ("noMark", "@audit.absence"),
        )
    ] == said


# What was not fetched


@pytest.mark.parametrize("otherwise", [False, True])
@pytest.mark.parametrize(
    "lines",
    [
        ['return wheel.tree.module("shelf/unread.py").constant("NOBODY")'],
        [
            'if wheel.tree.exists("shelf/unread.py"):',
            '    return wheel.tree.module("shelf/unread.py").constant("NOBODY")',
            'return wheel.tree.module("shelf/registry.py").dictionary("BINDERS").entry("thread")',
        ],
        [
            "try:",
            '    return wheel.tree.module("shelf/unread.py").constant("NOBODY")',
            "except Exception:",
            '    return wheel.tree.module("shelf/pressed.py").class_("Thread").constant("pages")',
        ],
        [
            "try:",
            '    wheel.tree.module("shelf/unread.py")',
            "except Exception:",
            "    pass",
            "return _binder(wheel.tree)[0].seen",
        ],
    ],
    ids=["read", "guarded", "another way", "swallowed"],
)
def test_a_file_that_was_not_fetched(lock, lines, otherwise):
    """It is a problem that names the file and `fetch`, never unknown, whatever the script makes of the refusal."""
    function = _observation(*lines, otherwise=otherwise)

    assert [
        f"{SCRIPT}:{_line(function)}: more@{key}: expected shelf/unread.py among the locked files of wheel@{key}, found it not fetched\n{_FOLLOW}"
        for key in groves.RELEASES
    ] == _said(function, lock)


@pytest.mark.parametrize("otherwise", [False, True])
def test_an_absence_in_a_file_that_was_not_fetched(lock, otherwise):
    """The same of what is searched, and of a control."""
    search = 'wheel.tree.module("shelf/{}.py").count("string", containing="asks")'
    for lines in (
        [f"return {search.format('unread')}"],
        [f"return {search.format('pressed')}.against({search.format('unread')})"],
    ):
        function = _absence(*lines, otherwise=otherwise)
        assert [
            f"{SCRIPT}:{_line(function)}: more@{key}: expected shelf/unread.py among the locked files of wheel@{key}, found it not fetched\n{_FOLLOW}"
            for key in groves.RELEASES
        ] == _said(function, lock)


def test_a_control_in_another_tree_that_was_not_fetched(lock):
    """What is missing of a control is named with the control's tree."""
    function = _absence(
        'return wheel.tree.module("shelf/unread.py").count("string", containing="asks")', control="wheel@1.1.0"
    )
    store, followed = groves.stocked(
        groves.script(function), {"1.0.0": {**PACKAGE, "shelf/unread.py": "NOBODY = 'minds'\n"}}
    )
    first = followed.by_id()["wheel@1.0.0"]
    files = groves.script(function)
    made = groves.relocked(followed, *(lock.by_id()["wheel@1.1.0"].members or ()), key="1.1.0")

    assert first.members is not None
    assert 6 == len(first.members)
    said = demo.problems(partial(groves.body, store, made, files))
    assert (
        f"{SCRIPT}:{_line(function)}: more@1.0.0: expected shelf/unread.py among the locked files of wheel@1.1.0, found it not fetched\n{_FOLLOW}"
    ) in said


def test_a_lock_that_names_more_than_is_read(store, lock):
    """A file that no observation reads is in no receipt: the script was changed, or the lock."""
    more = groves.stocked(
        groves.script(_observation('return wheel.tree.module("shelf/unread.py").constant("NOBODY")'))
    )[1]

    assert [
        f"{SCRIPT}: wheel@{key}: expected a lock that names what is read of the tree, found shelf/unread.py, which no observation reads\n{_FOLLOW}"
        for key in groves.RELEASES
    ] == demo.problems(partial(groves.body, store, more))


# What a lock may not say


def _member(path: str, text: str, **changed: object) -> TreeMember:
    stated = {"path": path, "digest": digest_of(text.encode()), "bytes": len(text.encode()), **changed}
    return TreeMember.model_construct(**stated)  # type: ignore[arg-type]


def _members(lock: Lock) -> list[TreeMember]:
    return list(lock.entries[0].members or ())


_NOWHERE = "sha256:" + "0" * 64


@pytest.mark.parametrize("at_hand", [True, False])
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"digest": _NOWHERE}, f"found {_NOWHERE} of {len(PACKAGE['shelf/base.py'])} bytes"),
        (
            {"digest": digest_of(b"class Sheet: ...\n")},
            f"found {digest_of(b'class Sheet: ...' + bytes([10]))} of {len(PACKAGE['shelf/base.py'])} bytes",
        ),
        ({"bytes": 1}, f"found {digest_of(PACKAGE['shelf/base.py'].encode())} of 1 bytes"),
    ],
    ids=["a digest of nothing", "a digest of something", "a size"],
)
def test_a_lock_that_says_otherwise_than_record(store, lock, changed, said, at_hand):
    """What RECORD states of a file is what the lock may state, whether or not the file's bytes are at hand."""
    store.put(b"class Sheet: ...\n")
    text = PACKAGE["shelf/base.py"]
    if not at_hand:
        del store.bodies[digest_of(PACKAGE["shelf/sewn.py"].encode())]
    _, *others = _members(lock)
    edited = groves.relocked(lock, _member("shelf/base.py", text, **changed), *others)

    assert [
        f"{HOME}sources.yaml:2: wheel@1.0.0: shelf/base.py: expected {digest_of(text.encode())} of {len(text)} bytes as RECORD states it, {said}\n{_FETCH_ALONE}"
    ] == demo.problems(partial(groves.body, store, edited))


def test_a_lock_that_names_a_file_which_record_does_not(store, lock):
    """A file that the wheel does not have is none of its tree's."""
    store.put(b"x = 1\n")
    members = [*_members(lock), _member("shelf/zero.py", "x = 1\n")]
    edited = groves.relocked(lock, *members)

    assert [
        f"{HOME}sources.yaml:2: wheel@1.0.0: shelf/zero.py: expected no file, found {digest_of(b'x = 1' + bytes([10]))} of 6 bytes\n{_FETCH_ALONE}"
    ] == demo.problems(partial(groves.body, store, edited))


def test_a_lock_that_lacks_a_file(store, lock):
    """What an observation reads and the lock does not name was not fetched, wherever its bytes lie."""
    first, *others = _members(lock)

    said = demo.problems(partial(groves.body, store, groves.relocked(lock, *others)))
    assert first.path == "shelf/base.py"
    assert {f"expected shelf/base.py among the locked files of wheel@1.0.0, found it not fetched\n{_FOLLOW}"} == {
        one.split(": ", 2)[2] for one in said
    }


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("shelf/../passwords.py", "expected a path inside the folder, found 'shelf/../passwords.py'"),
        ("/shelf/base.py", "expected a path inside the folder, found '/shelf/base.py'"),
    ],
)
def test_a_path_in_a_lock_that_leads_elsewhere(store, lock, path, said):
    """A file of a tree lies in it."""
    _, *others = _members(lock)
    edited = groves.relocked(lock, _member(path, ""), *others)

    (found,) = demo.problems(partial(groves.body, store, edited))
    assert said in found
    assert found.startswith(f"{LOCK}:")


def test_a_file_that_stands_twice_in_a_lock(store, lock):
    """Each file stands once, in the order of the paths: a lock has one form."""
    first, second, *others = _members(lock)
    for members in ((first, first, second, *others), (second, first, *others)):
        (found,) = demo.problems(partial(groves.body, store, groves.relocked(lock, *members)))
        assert "expected each file of a tree once, in the order of their paths, found shelf/base.py after" in found


def test_a_tree_that_is_locked_as_a_file(store, lock):
    """A tree has its files in the lock, and nothing else has."""
    bare = lock.model_copy(update={"entries": (lock.entries[0].model_copy(update={"members": None}), lock.entries[1])})

    assert [f"{LOCK}: wheel@1.0.0: members: expected the files of the tree, found 0\n{_FETCH_ALONE}"] == demo.problems(
        partial(groves.body, store, bare)
    )
    files = groves.changed("sources.yaml", "    tree: shelf\n", "")
    assert [
        f"{LOCK}: wheel@{key}: members: expected none, found 5\n{_FETCH_ALONE}" for key in groves.RELEASES
    ] == demo.problems(partial(groves.body, store, lock, files))


def test_a_folder_that_the_wheel_does_not_have(store, lock):
    """Of a tree without files nothing is absent: it is a mistake."""
    said = demo.problems(
        partial(groves.body, store, lock, groves.changed("sources.yaml", "tree: shelf", "tree: shell"))
    )

    assert [
        f"{HOME}sources.yaml:2: wheel@{key}: expected files below shell/ in RECORD, found none\n"
        "    Name the RECORD of a wheel, and after `tree:` a folder that it has."
        for key in groves.RELEASES
    ] == said


# At hand whole or not at all


def test_a_tree_of_which_a_file_is_not_at_hand(store, lock):
    """It is taken as recorded in whole, named as such, and missed where bytes are required."""
    del store.bodies[digest_of(PACKAGE["shelf/marks.py"].encode())]
    made = groves.inputs(store, lock)
    held = verification.snapshot_gate(made, ["bind"])["bind"]

    assert ({}, ("wheel@1.0.0", "wheel@1.1.0")) == (held.snapshots, held.as_recorded)
    assert [
        f"{LOCK}: wheel@{key}: expected the bytes of {lock.by_id()[f'wheel@{key}'].digest} and of its 5 files, shelf/marks.py among them,"
        " found none in the store\n    Run `python build.py fetch bind`."
        for key in groves.RELEASES
    ] == demo.problems(lambda: verification.snapshot_gate(made, ["bind"], require_bytes=True))


def test_a_file_of_a_tree_that_is_damaged(store, lock):
    """Damaged bytes stop the first gate, under the name of who asked."""
    digest = digest_of(PACKAGE["shelf/marks.py"].encode())
    store.bodies[digest] = b"fast = None\n"
    made = groves.inputs(store, lock)
    said = demo.problems(lambda: verification.snapshot_gate(made, ["bind"]))

    assert 2 == len(said)
    assert all("expected sha256" in one for one in said)


# What lies


_MOVES = "\n\ndef _moved(seen, **at):\n    return replace(seen, at={**seen.at, **at})\n"


def _run_unchecked(store: Shelf, lock: Lock, files: Mapping[str, str]) -> Body:
    """Run the script with all that Python has: readers are what may not lie, and no script makes what they return."""
    names: dict[str, Any] = {"__name__": "audit", "__doc__": "Who lies?", "replace": replace}
    exec(compile(files[SCRIPT], SCRIPT, "exec"), names)
    made = groves.inputs(store, lock, files)
    audit, held = made.audits["bind"], verification.snapshot_gate(made, ["bind"])["bind"]
    return audits.run(
        names["audit"],
        audits.Inputs(
            name="bind",
            where=SCRIPT,
            sources=held.sources,
            lock=held.lock,
            snapshots=held.snapshots,
            reported=(),
            tables=(),
            decision=editorial.decision(audit),
            tools=editorial.tools(audit),
            fixtures=editorial.fixtures(audit),
            recorded={},
        ),
    )


@pytest.mark.parametrize("otherwise", [False, True])
@pytest.mark.parametrize(
    ("lie", "place"),
    [
        ("found.seen.after(entry)", None),
        ("found.seen.after(_moved(entry, line=1))", "path shelf/registry.py, line 1, lastLine 2"),
        ("found.seen.after(_moved(entry, lastLine=99))", "path shelf/registry.py, line 2, lastLine 99"),
        ('found.seen.after(_moved(entry, path="shelf/sewn.py"))', "path shelf/sewn.py, line 2, lastLine 2"),
        ('found.seen.after(_moved(entry, path="shelf/unread.py"))', "path shelf/unread.py, line 2, lastLine 2"),
        ('found.seen.after(_moved(entry, path="../etc/passwd"))', "path ../etc/passwd, line 2, lastLine 2"),
        ("_moved(found.seen, line=0)", "path shelf/pressed.py, line 0, lastLine 4"),
        ("_moved(found.seen, line=-1)", "path shelf/pressed.py, line -1, lastLine 4"),
        ("_moved(found.seen, line=5)", "path shelf/pressed.py, line 5, lastLine 4"),
        ('replace(found.seen, region="sha256:" + "0" * 64)', "path shelf/pressed.py, line 4, lastLine 4"),
    ],
)
def test_a_step_that_was_not_seen_where_it_is_said_to_be(store, lock, lie, place, otherwise):
    """Each step of a trail is held to the bytes as its answer is, and a lie is never unknown."""
    function = _observation("found, entry = _binder(wheel.tree)", f"return {lie}", otherwise=otherwise)
    files = groves.script(function)
    files[SCRIPT] += _MOVES
    said = demo.problems(partial(_run_unchecked, store, lock, files))

    problem = f"expected a place whose bytes have the digest that was read, found others at {place}"
    assert (
        []
        if place is None
        else [f"{SCRIPT}:{_line(function)}: more@{key}: wheel@{key}: {problem}\n{_MEND}" for key in groves.RELEASES]
    ) == said


@pytest.mark.parametrize("otherwise", [False, True])
@pytest.mark.parametrize(
    ("lie", "place"),
    [
        ("found.bearing(FAST).against(found.bearing(FAST).after(entry))", None),
        ("_moved(found.bearing(FAST), line=3).against(control)", "path shelf/pressed.py, line 3, lastLine 4"),
        ("found.bearing(FAST).against(_moved(control, lastLine=8))", "path shelf/base.py, line 8, lastLine 8"),
        (
            "found.bearing(FAST).after(_moved(entry, line=3, lastLine=3)).against(control)",
            "path shelf/registry.py, line 3, lastLine 3",
        ),
    ],
)
def test_a_search_that_was_not_made_where_it_is_said_to_be(store, lock, lie, place, otherwise):
    """The place that was searched, that of its control and what led there are held to the bytes, too."""
    lines = (
        "found, entry = _binder(wheel.tree)",
        'control = wheel.tree.resolve("shelf.base:Glued", PRESS).bearing(FAST)',
    )
    function = _absence(*lines, f"return {lie}", otherwise=otherwise)
    files = groves.script(function)
    files[SCRIPT] += _MOVES
    said = demo.problems(partial(_run_unchecked, store, lock, files))

    problem = f"expected a place whose bytes have the digest that was read, found others at {place}"
    if place is None:
        assert otherwise == (said == [])
    else:
        assert [
            f"{SCRIPT}:{_line(function)}: more@{key}: wheel@{key}: {problem}\n{_MEND}" for key in groves.RELEASES
        ] == said


# What proves nothing


_COUNT = 'wheel.tree.module("shelf/{}.py").count("string", containing="{}")'


@pytest.mark.parametrize("otherwise", [False, True])
def test_an_absence_whose_control_has_another_matcher(otherwise):
    """What another search finds proves nothing of this one; its author is told, and it is never unknown."""
    function = _absence(
        f"return {_COUNT.format('pressed', 'asks')}.against({_COUNT.format('registry', 'thread')})", otherwise=otherwise
    )

    found = _said(function)
    assert 2 == len(found)
    for key, said in zip(groves.RELEASES, found, strict=True):
        assert said.startswith(
            f"{SCRIPT}:{_line(function)}: more@{key}: wheel@{key}: expected a control of the same matcher (string"
        )
        assert said.endswith(f"\n{_MEND}")


def test_an_absence_whose_control_finds_nothing():
    """A search that finds nothing where there is something to find proves nothing; it may be called unknown."""
    lines = f"return {_COUNT.format('pressed', 'asks')}.against({_COUNT.format('registry', 'asks')})"
    function = _absence(lines)

    assert [
        f"{SCRIPT}:{_line(function)}: more@{key}: wheel@{key}: the control wheel@{key} has none either: the search proves nothing\n{_MEND}"
        for key in groves.RELEASES
    ] == _said(function)
    files = groves.script(_absence(lines, otherwise=True))
    body = groves.body(*groves.stocked(files), files)
    assert {
        ("unknown", f"the control wheel@{key} has none either: the search proves nothing") for key in groves.RELEASES
    } == {(item.value, item.reason) for item in body.absences if item.id.startswith("more")}


def test_an_absence_that_can_not_be_searched():
    """Where what is to be searched is not there, the absence is unknown if that is allowed, with the reason."""
    lines = f"return {_COUNT.format('nothing', 'asks')}"
    function = _absence(lines)

    assert [
        f"{SCRIPT}:{_line(function)}: more@{key}: wheel@{key}: expected one file shelf/nothing.py in the artifact, found none\n{_MEND}"
        for key in groves.RELEASES
    ] == _said(function)
    files = groves.script(_absence(lines, otherwise=True))
    absent = groves.body(*groves.stocked(files), files).absences[-1]
    assert ("unknown", "not searched", "expected one file shelf/nothing.py in the artifact, found none") == (
        absent.value,
        absent.matcher,
        absent.reason,
    )


@pytest.mark.parametrize(("made", "kind"), [("1", "int"), ("None", "NoneType"), ("_binder(wheel.tree)[0].seen", "Hop")])
def test_an_absence_that_searched_nothing(made, kind):
    """An absence is what a search found."""
    function = _absence(f"return {made}", otherwise=True)

    assert [
        f"{SCRIPT}:{_line(function)}: more@{key}: wheel@{key}: expected what a search found, found {kind}\n{_MEND}"
        for key in groves.RELEASES
    ] == _said(function)


def test_an_observation_that_read_nothing():
    """An observation is what a reader saw, and what it returns otherwise is never unknown."""
    function = _observation('return "shelf.pressed:Thread"', otherwise=True)

    assert [
        f"{SCRIPT}:{_line(function)}: more@{key}: wheel@{key}: expected what a reader saw, found str\n{_MEND}"
        for key in groves.RELEASES
    ] == _said(function)


# What upstream may hold


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("class Thread(:\n", "shelf/pressed.py: the source does not parse at line 1"),
        ("from shelf.pressed import Thread\n", None),
        ("from shelf.base import *\n", None),
        ("Thread = " + "(" * 3000 + ")" * 3000 + "\n", None),
        ("import shelf.nothing as Thread\n", None),
        ("\0\n", None),
        ("raise ImportError\n", None),
        ("class Thread(Thread): ...\n", None),
        ("\udcff", None),
    ],
    ids=["broken", "circle", "star", "deep", "module", "nul", "raises", "itself", "no text"],
)
def test_a_file_that_can_not_be_followed(text, reason):
    """Whatever a file holds, what depends on it is unknown with a reason that names it; nothing else breaks."""
    function = _observation("return _binder(wheel.tree)[0].seen", otherwise=True)
    files = groves.script(function)
    hostile = text.encode("utf-8", "surrogateescape").decode("latin-1") if "\udcff" in text else text
    packages = {"1.0.0": {**PACKAGE, "shelf/pressed.py": hostile}}
    store, lock = groves.stocked(files, packages)
    said = demo.problems(partial(groves.body, store, lock, files))

    assert (
        {"pages@1.0.0", "noMark@1.0.0"}
        <= {one.split(": ")[1] for one in said}
        <= {"binder@1.0.0", "pages@1.0.0", "noMark@1.0.0"}
    )
    assert all("Traceback" not in one and "Error" not in one.split("\n")[0].replace("ImportError", "") for one in said)
    if reason:
        assert {reason} == {one.split("\n")[0].split(": wheel@1.0.0: ")[1] for one in said}


def test_the_same_digest_under_two_releases(store, lock):
    """Two wheels that ship the same file are read each by itself."""
    body = groves.body(store, lock)

    assert ["shelf.pressed:Thread"] * 2 == [item.value for item in body.observations if item.id.startswith("binder")]
    steps: list[tuple[Step, ...] | None] = [item.trail for item in body.observations if item.id.startswith("binder")]
    assert steps[0] == steps[1]
