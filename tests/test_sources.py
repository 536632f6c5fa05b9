"""Sources, lists and locks: what they mean, and everything that they may not say, by its line."""

# ruff: noqa: E501 - a message stands on the line that it is printed on

from __future__ import annotations

import hashlib
from functools import partial

import pytest

from site_builder import sources
from site_builder.sources import read_lists, read_lock, read_sources, write_lock
from tests import demo

_LISTS = read_lists(demo.FILES["evidence/releases.yaml"].encode(), "evidence/releases.yaml")
_ENTRY = """\
  - id: kernel
    purpose: What is read
    role: upstream
    mutability: immutable
    expects: {type: text/plain, contains: x}
    locators:
      - https: https://forge.example/kernel
"""
_SCHEMA = "    Write what the file's schema asks for here."


def _read(text: str) -> tuple[sources.Source, ...]:
    return read_sources(f"sources:\n{text}".encode(), "sources.yaml", _LISTS)


def test_an_entry_for_each_item_of_a_list():
    """An entry that repeats is a source per item, each with its own key, locator and origin."""
    found = read_sources(demo.FILES["evidence/cache/sources.yaml"].encode(), "sources.yaml", _LISTS)

    assert ["cache@1.0.0", "cache@1.1.0", "cache@1.2.0", "settings", "limits", "issue", "earlier"] == [
        one.id for one in found
    ]
    assert {"cache@{release}"} == {one.family for one in found[:3]}
    assert "pkg:pypi/shelf@1.1.0?file_name=shelf-1.1.0-py3-none-any.whl#shelf/cache.py" == found[1].locators[0].origin
    assert ("1.1.0", "sources.yaml:2") == (found[1].key, found[1].where)


def test_an_item_that_has_no_such_file():
    """A field that says none leaves the source without a locator, and says what is lacking."""
    lists = read_lists(b"releases:\n  - {key: '1.0', sdist: none}\n", "releases.yaml")
    entry = _ENTRY.replace("id: kernel", "id: kernel@{release}\n    for: releases").replace(
        "https: https://forge.example/kernel",
        'release: {project: shelf, version: "{key}", file: "{sdist}", member: a.py}',
    )
    (found,) = read_sources(f"sources:\n{entry}".encode(), "sources.yaml", lists)

    assert ((), "1.0 has no sdist", ("shelf", "1.0")) == (found.locators, found.lacking, found.listed_under)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("id: kernel", "id: Kernel", "sources.yaml:2: expected an id of a-z, A-Z, 0-9 and .@_-, found 'Kernel'\n    Begin with a small letter or a digit."),
        ("id: kernel", "id: a/b", "sources.yaml:2: expected an id of a-z, A-Z, 0-9 and .@_-, found 'a/b'\n    Begin with a small letter or a digit."),
        ("id: kernel", "id: kernel\n    for: wheels", "sources.yaml:2: expected one of the lists releases, found 'wheels'\n    Name a list of releases.yaml after `for:`."),
        ("id: kernel", "id: kernel@{tag}\n    for: releases", "sources.yaml:2: expected fields of the list's item 1.0.0, found {tag}\n    Use one of key, release, wheel, or give every item that field."),
        ("role: upstream", "role: friend", f"sources.yaml:4: sources.0.role: Input should be 'first-party', 'upstream', 'reporter' or 'discovery-only'\n{_SCHEMA}"),
        ("immutable", "frozen", f"sources.yaml:5: sources.0.mutability: Input should be 'immutable', 'versioned', 'mutable' or 'volatile'\n{_SCHEMA}"),
        (", contains: x", "", f"sources.yaml:6: sources.0.expects.contains: expected it, found nothing\n{_SCHEMA}"),
        ("contains: x", "contains: ''", f"sources.yaml:6: sources.0.expects.contains: String should have at least 1 character\n{_SCHEMA}"),
        ("https://forge", "ftp://forge", f"sources.yaml:8: sources.0.locators.0.https: expected an https URL, found 'ftp://forge.example/kernel'\n{_SCHEMA}"),
        ("https://forge", "https://for ge", f"sources.yaml:8: sources.0.locators.0.https: expected an https URL, found 'https://for ge.example/kernel'\n{_SCHEMA}"),
        ("https: https", "http: https", f"sources.yaml:8: sources.0.locators.0: expected one of https, release and file, found none of them\n{_SCHEMA}"),
        ("https: https://forge.example/kernel", "file: fixtures/../../x", f"sources.yaml:8: sources.0.locators.0.file: expected a path inside the folder, found 'fixtures/../../x'\n{_SCHEMA}"),
        ("https: https://forge.example/kernel", "file: 'fixtures\\x'", f"sources.yaml:8: sources.0.locators.0.file: expected a path inside the folder, found 'fixtures\\\\x'\n{_SCHEMA}"),
        ("https: https://forge.example/kernel", "file: fixtures//x", f"sources.yaml:8: sources.0.locators.0.file: expected a path inside the folder, found 'fixtures//x'\n{_SCHEMA}"),
        ("https: https://forge.example/kernel", "release: {project: p, version: v, file: f}", f"sources.yaml:8: sources.0.locators.0.release.member: expected it, found nothing\n{_SCHEMA}"),
        ("https: https://forge.example/kernel", "release: {project: p, version: v, file: a/../f, member: m}", f"sources.yaml:8: sources.0.locators.0.release.file: expected a path inside the folder, found 'a/../f'\n{_SCHEMA}"),
    ],
)  # fmt: skip
def test_an_entry_that_is_none(old, new, said):
    """Each field that says what it may not is named with its line."""
    assert old in _ENTRY
    assert [said] == demo.problems(partial(_read, _ENTRY.replace(old, new, 1)))


def test_all_that_is_wrong_at_once():
    """Every entry is looked at before anything is said, and one id stands for one source."""
    assert [
        "sources.yaml:2: expected an id of a-z, A-Z, 0-9 and .@_-, found 'Kernel'\n    Begin with a small letter or a digit.",
        "sources.yaml:16: expected an id of its own, found kernel again (first at sources.yaml:9)\n    Rename one of the two.",
    ] == demo.problems(lambda: _read(_ENTRY.replace("kernel", "Kernel", 1) + _ENTRY + _ENTRY))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("releases: []\n", "releases.yaml: releases: expected items of plain strings, each with a key of its own\n    Give every item a `key` that no other item has."),
        ("releases:\n  - {name: x}\n", "releases.yaml: releases: expected items of plain strings, each with a key of its own\n    Give every item a `key` that no other item has."),
        ("releases:\n  - {key: '1'}\n  - {key: '1'}\n", "releases.yaml: releases: expected items of plain strings, each with a key of its own\n    Give every item a `key` that no other item has."),
        ("releases:\n  - {key: [x]}\n", "releases.yaml: releases: expected items of plain strings, each with a key of its own\n    Give every item a `key` that no other item has."),
        ("[]\n", "releases.yaml: expected lists by name, found none\n    Write `releases:` and its items."),
        ("x\n", "releases.yaml: expected lists by name, found none\n    Write `releases:` and its items."),
    ],
)  # fmt: skip
def test_lists_that_are_none(text, said):
    """A list has items of plain strings, each with a key of its own."""
    assert [said] == demo.problems(lambda: read_lists(text.encode(), "releases.yaml"))


# The lock


def test_a_lock_has_one_form():
    """What is read of a lock is written as it was, whatever order its entries came in."""
    lock = demo.lock()
    body = write_lock(lock)

    assert body == write_lock(read_lock(body, "sources.lock"))
    turned = lock.model_copy(update={"entries": lock.entries[::-1], "artifacts": lock.artifacts[::-1]})
    assert body == write_lock(turned)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"id": "limits"', '"id": "issue"', "sources.lock: expected each source once, found issue twice\n    Fetch again from a clean lock."),
        ('"schema": "lock/1"', '"schema": "lock/2"', f"sources.lock:2: schema: Input should be 'lock/1'\n{_SCHEMA}"),
        ('"standing": "recorded"', '"standing": "seen"', f"sources.lock:LINE: entries.3.standing: Input should be 'obtained', 'origin-confirmed', 'bytes-obtained', 'recorded' or 'absent'\n{_SCHEMA}"),
        ('"digest": "sha256:88', '"digest": "sha256:8', f"sources.lock:LINE: entries.3.digest: expected sha256: and 64 hex digits, found 'sha256:{'8' * 63}'\n{_SCHEMA}"),
        ('"bytes": 17', '"bytes": "many"', f"sources.lock:LINE: entries.3.bytes: Input should be a valid integer, unable to parse string as an integer\n{_SCHEMA}"),
    ],
)  # fmt: skip
def test_a_lock_that_is_none(old, new, said):
    """What no fetch wrote is said with its line."""
    text = write_lock(demo.lock()).decode()
    assert old in text
    changed = text.replace(old, new, 1)

    line = 1 + text.count("\n", 0, text.index(old))
    assert [said.replace("LINE", str(line))] == demo.problems(lambda: read_lock(changed.encode(), "sources.lock"))


def test_what_an_entry_bears():
    """Bytes are required where we had them and they can't move; verdicts rest on them where something vouches for them."""
    found = {entry.id: (entry.held, entry.required, entry.bears_verdicts) for entry in demo.lock().entries}

    assert {
        "cache@1.0.0": (True, True, True),
        "settings": (True, True, True),
        "issue": (True, False, False),
        "earlier": (False, False, False),
    } == {name: found[name] for name in ("cache@1.0.0", "settings", "issue", "earlier")}
    entry = demo.lock().by_id()["settings"]
    assert [False, False] == [
        entry.model_copy(update={"integrity": kind}).bears_verdicts for kind in ("stated", "prefix")
    ]


@pytest.mark.parametrize(
    "written", ["2026-13-01T10:00:00Z", "2026-11-30T10:00:00", "yesterday", "٢٠٢٦-11-30", "2026-02-30"]
)
def test_a_time_that_is_none(written):
    """When a source was read is a day or a time that the calendar has: the receipt's own date is taken from it."""
    text = write_lock(demo.lock()).decode().replace("2026-11-30T10:00:00Z", written, 1)

    (said,) = demo.problems(lambda: read_lock(text.encode(), "sources.lock"))

    assert said.startswith("sources.lock:")
    assert "entries.0.retrievedAt: " in said


# Trees


_TREE = """\
  - id: wheel
    purpose: What is read
    role: upstream
    mutability: immutable
    expects: {type: text/csv, contains: x}
    tree: shelf
    locators:
      - release: {project: shelf, version: "1.0", file: shelf-1.0-py3-none-any.whl, member: shelf-1.0.dist-info/RECORD}
"""


def test_a_tree():
    """A tree is a folder of one wheel, whose RECORD is what its locator reads."""
    (found,) = _read(_TREE)

    assert ("shelf", "pkg:pypi/shelf@1.0?file_name=shelf-1.0-py3-none-any.whl#shelf-1.0.dist-info/RECORD") == (
        found.tree,
        found.locators[0].origin,
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mutability: immutable", "mutability: versioned"),
        ("member: shelf-1.0.dist-info/RECORD", "member: shelf/__init__.py"),
        ('      - release: {project: shelf, version: "1.0", file: shelf-1.0-py3-none-any.whl, member: shelf-1.0.dist-info/RECORD}\n', "      - https: https://forge.example/RECORD\n"),
        ("    locators:\n", "    locators:\n      - https: https://forge.example/RECORD\n"),
        ("    locators:\n", "    recorded: {digest: 'sha256:" + "8" * 64 + "', bytes: 1, by: x, at: '2026-05-04', origin: y}\n    locators:\n"),
    ],
)  # fmt: skip
def test_a_tree_that_is_none(old, new):
    """What could move, or is no wheel's RECORD, is no tree."""
    assert old in _TREE
    assert [
        f"sources.yaml:2: sources.0: expected a tree to be immutable, with one locator: the RECORD of a wheel\n{_SCHEMA}"
    ] == demo.problems(partial(_read, _TREE.replace(old, new)))


@pytest.mark.parametrize("folder", ["..", "/shelf", "shelf/", "a//b", "shelf/..", '""'])
def test_a_folder_that_leads_elsewhere(folder):
    """A tree's folder lies in the wheel."""
    (said,) = demo.problems(partial(_read, _TREE.replace("tree: shelf", f"tree: {folder}")))
    assert said.startswith("sources.yaml:7: sources.0.tree: expected a path inside the folder, found ")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"a.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n", {"a.py": ("sha256:" + hashlib.sha256(b"").hexdigest(), 0)}),
        (b"a.py,,\n", {"a.py": ("", -1)}),
        (b"a.py,,7\n", {"a.py": ("", 7)}),
        (b"a.py,sha512=abcd,7\n", {"a.py": ("", 7)}),
        (b"a.py,md5=,7\r\n", {"a.py": ("", 7)}),
        (b'"a,b.py",,\n', {"a,b.py": ("", -1)}),
        (b"", {}),
    ],
)  # fmt: skip
def test_what_record_states(body, found):
    """Digest and size of each member; a digest that is none, or of another algorithm, is empty."""
    assert found == sources.read_record(body)


@pytest.mark.parametrize(
    "body",
    [
        b"a.py\n",
        b"a.py,,,\n",
        b"a.py,sha256=,7\n",
        b"a.py,sha256=abcd,7\n",
        b"a.py,sha256=" + b"A" * 44 + b",7\n",
        b"a.py,,-7\n",
        b"a.py,,1_0\n",
        b"a.py,, 7\n",
        b"a.py,,\xd9\xa3\n",
        b"\xff,,\n",
        b"\n",
    ],
)
def test_a_record_that_is_none(body):
    """A row that says something else is no row: nothing of such a RECORD is believed."""
    with pytest.raises(ValueError, match="expected name, digest and size in each row, found another row"):
        sources.read_record(body)
