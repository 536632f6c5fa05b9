"""Drift: what a second reading says of a first one."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping

import pytest

from site_builder.drift import ArchiveDrift, UnreadableArchive, compare_archives


def archive(members: Mapping[str, bytes], *, level: int = 9, made: int = 0, owner: str = "") -> bytes:
    """A compressed tar archive, as a host makes one."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.uname = len(body), owner
            tar.addfile(info, io.BytesIO(body))
    return gzip.compress(out.getvalue(), level, mtime=made)


FILES = {"p/a.txt": b"one\n" * 50, "p/b.txt": b"two\n"}
FIRST = archive(FILES)


def test_same_bytes():
    """The same bytes are the same archive."""
    assert ArchiveDrift(likeness="same") == compare_archives(FIRST, FIRST)


@pytest.mark.parametrize(
    "second",
    [archive(FILES, level=1), archive(FILES, made=1), archive(FILES, level=0)],
    ids=["level", "time", "stored"],
)
def test_other_compression_of_the_same_content(second):
    """Other bytes around the same tar are a recompression, which is still another digest."""
    assert second != FIRST
    assert ArchiveDrift(likeness="recompressed") == compare_archives(FIRST, second)


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({**FILES, "p/b.txt": b"three\n"}, ("p/b.txt",)),
        ({"p/a.txt": FILES["p/a.txt"]}, ("p/b.txt",)),
        ({**FILES, "p/c.txt": b""}, ("p/c.txt",)),
        ({"p/b.txt": b"", "q/a.txt": FILES["p/a.txt"]}, ("p/a.txt", "p/b.txt", "q/a.txt")),
    ],
    ids=["changed", "gone", "new", "renamed"],
)
def test_other_content(files, names):
    """Every member that differs is named, in order."""
    assert ArchiveDrift(likeness="content changed", names=names) == compare_archives(FIRST, archive(files))


def test_other_headers():
    """Where only headers differ, the content changed and no member's bytes did."""
    assert ArchiveDrift(likeness="content changed") == compare_archives(FIRST, archive(FILES, owner="root"))


@pytest.mark.parametrize(
    "second",
    [b"<html>", FIRST[:-20], gzip.compress(b"no tar at all", mtime=0), b""],
    ids=["html", "cut short", "no tar", "empty"],
)
def test_no_archive(second):
    """What can't be read is not judged."""
    with pytest.raises(UnreadableArchive):
        compare_archives(FIRST, second)
