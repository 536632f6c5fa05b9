"""Snapshots: bytes are what was locked, or they are not in hand."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_builder.readers import MissingError, NotOneError, ReadingError
from site_builder.snapshots import Snapshot
from site_builder.sources import LockEntry, Source
from tests import demo, simulators

_BODY = b"SIZE = 4096\n# SIZE = 1\n"
(_SOURCE,) = simulators.sources(
    "id: kernel, mutability: immutable, expects: {type: t, contains: S}, locators: [{file: fixtures/k.py}]"
)


def _entry(body: bytes = _BODY, **changed: object) -> LockEntry:
    return LockEntry.model_validate(
        {
            "id": "kernel",
            "standing": "obtained",
            "digest": simulators.digest_of(body),
            "bytes": len(body),
            "integrity": "direct",
            "mutability": "immutable",
            "origin": "fixtures/k.py",
            "retrievedAt": "2026-11-30T10:00:00Z",
            **changed,
        }
    )


def test_bytes_that_are_the_locked_ones():
    """A snapshot has the source and its bytes, and reads them by their kind."""
    snapshot = Snapshot.verified(_SOURCE, _entry(), _BODY)

    assert (_SOURCE, _BODY) == (snapshot.source, snapshot.body)
    assert (4096, 1) == (snapshot.python.constant("SIZE").value, snapshot.python.constant("SIZE").at["line"])
    assert "4096" == snapshot.pattern(r"SIZE = (\d+)", comment="#").value
    with pytest.raises(NotOneError):
        snapshot.pattern(r".*SIZE = (\d+)")


@given(st.integers(0, len(_BODY) - 1), st.integers(1, 255))
def test_any_byte_that_differs(place, by):
    """Whichever byte is another, and whatever it is, the snapshot does not come to be."""
    body = bytearray(_BODY)
    body[place] ^= by

    assert [
        f"sources.yaml:2: kernel: expected {simulators.digest_of(_BODY)} of 23 bytes, "
        f"found {simulators.digest_of(bytes(body))} of 23 bytes\n"
        "    The stored bytes changed after they were locked: fetch again, and review what moved."
    ] == demo.problems(partial(Snapshot.verified, _SOURCE, _entry(), bytes(body)))


@pytest.mark.parametrize("body", [b"", _BODY[:-1], _BODY + b"\n", _BODY * 2])
def test_bytes_of_another_length(body):
    """Neither a part of the bytes nor more of them are the locked ones."""
    assert 1 == len(demo.problems(lambda: Snapshot.verified(_SOURCE, _entry(), body)))


def test_a_size_that_is_not_the_bytes_own():
    """The lock's size counts, too."""
    assert 1 == len(demo.problems(lambda: Snapshot.verified(_SOURCE, _entry(bytes=22), _BODY)))


def test_a_body_is_parsed_once():
    """Several questions to the same bytes, of whichever source, are put to one parse."""
    other = Source(**{**{name: getattr(_SOURCE, name) for name in _SOURCE.__slots__}, "id": "other"})

    assert Snapshot(source=_SOURCE, body=_BODY).python is Snapshot(source=other, body=bytes(bytearray(_BODY))).python


# Trees


_MODULE = b"SIZE = 4096\n"
(_WHEEL,) = simulators.sources(
    "id: wheel, mutability: immutable, expects: {type: text/csv, contains: shelf}, tree: shelf, locators:"
    " [{release: {project: shelf, version: '1.0', file: shelf-1.0-py3-none-any.whl, member: shelf-1.0.dist-info/RECORD}}]"
)


def _record(*rows: str) -> bytes:
    listed = rows or (simulators.record_row("shelf/a.py", _MODULE), simulators.record_row("shelf/b.py", b""))
    return "".join([*listed, simulators.record_row("other/c.py", b""), "shelf-1.0.dist-info/RECORD,,\n"]).encode()


def _of_tree(record: bytes, *members: tuple[str, bytes]) -> LockEntry:
    listed = [{"path": path, "digest": simulators.digest_of(body), "bytes": len(body)} for path, body in members]
    return _entry(record, id="wheel", integrity="record", members=listed)


def test_a_tree_at_hand():
    """A tree reads the files that are at hand, knows which others the wheel has in its folder, and none beside it."""
    record = _record()
    snapshot = Snapshot.verified(_WHEEL, _of_tree(record, ("shelf/a.py", _MODULE)), record, {"shelf/a.py": _MODULE})

    assert 4096 == snapshot.tree.module("shelf/a.py").constant("SIZE").value
    assert ("shelf/a.py",) == snapshot.tree.used
    assert (True, True, False) == tuple(map(snapshot.tree.exists, ("shelf/a.py", "shelf/b.py", "other/c.py")))
    with pytest.raises(MissingError):
        snapshot.tree.module("shelf/b.py")
    with pytest.raises(NotOneError):
        snapshot.tree.module("shelf/c.py")


def test_a_tree_of_a_file_by_itself():
    """What is a file by itself has no tree."""
    with pytest.raises(ReadingError, match="expected a tree, found kernel, which is a file by itself"):
        _ = Snapshot.verified(_SOURCE, _entry(), _BODY).tree


@pytest.mark.parametrize("read", [b"SIZE = 8192\n", b"", None])
def test_a_file_of_a_tree_that_is_another(read):
    """Each file of a tree has the digest that the lock has of it, or nothing of the tree is in hand."""
    record = _record()
    entry = _of_tree(record, ("shelf/a.py", _MODULE))
    members = {} if read is None else {"shelf/a.py": read}

    assert [
        f"sources.yaml:2: wheel: shelf/a.py: expected {simulators.digest_of(_MODULE)},"
        f" found {simulators.digest_of(read or b'')}\n"
        "    The stored bytes changed after they were locked: fetch again, and review what moved."
    ] == demo.problems(partial(Snapshot.verified, _WHEEL, entry, record, members))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (b"other/c.py,,\n", "expected files below shelf/ in RECORD, found none"),
        (b"shelf.py,,\n", "expected files below shelf/ in RECORD, found none"),
        (b"no record\n", "expected name, digest and size in each row, found another row"),
        (b"shelf/a.py,,\nshelf/a.py,,\n", "expected each member once, found shelf/a.py twice"),
        (b"shelf/../a.py,,\n", "expected paths inside the wheel in RECORD, found 'shelf/../a.py'"),
        (b"shelf//a.py,,\n", "expected paths inside the wheel in RECORD, found 'shelf//a.py'"),
        (b"shelf/a.py,sha256=AAAA,1\n", "expected name, digest and size in each row, found another row"),
    ],
)
def test_a_record_that_is_none(record, said):
    """A tree's own bytes are a RECORD, in which its folder has files."""
    assert [
        f"sources.yaml:2: wheel: {said}\n    Name the RECORD of a wheel, and after `tree:` a folder that it has."
    ] == demo.problems(partial(Snapshot.verified, _WHEEL, _of_tree(record), record))


def test_a_file_of_which_record_says_nothing():
    """What RECORD does not state can't be what the lock has."""
    record = _record("shelf/a.py,,\n")
    entry = _of_tree(record, ("shelf/a.py", _MODULE))
    digest = simulators.digest_of(_MODULE)

    assert [
        "sources.yaml:2: wheel: shelf/a.py: expected no sha256 of -1 bytes as RECORD states it,"
        f" found {digest} of 12 bytes\n    The lock is written by `fetch` alone: restore it, or fetch again."
    ] == demo.problems(partial(Snapshot.verified, _WHEEL, entry, record, {"shelf/a.py": _MODULE}))


def test_who_goes_on_without_a_file():
    """Whoever is held to files at hand can't go on without one that was asked for, even where that was swallowed."""
    record = _record()
    tree = Snapshot(source=_WHEEL, body=record, members={"shelf/a.py": _MODULE}).tree

    def swallowing() -> None:
        with tree.at_hand(), suppress(MissingError):
            tree.module("shelf/b.py")

    def raising() -> None:
        with tree.at_hand():
            try:
                tree.module("shelf/b.py")
            except MissingError:
                raise KeyError("another") from None

    for asking in (swallowing, raising, swallowing):
        with pytest.raises(MissingError) as refused:
            asking()
        assert ("shelf/b.py",) == refused.value.paths
    with tree.at_hand():
        assert 4096 == tree.module("shelf/a.py").constant("SIZE").value
