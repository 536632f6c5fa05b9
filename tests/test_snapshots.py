"""Snapshots: bytes are what was locked, or they are not in hand."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_builder.readers import NotOneError
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
