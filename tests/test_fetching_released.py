"""Members of wheels and sdists that lie: what an archive says of itself decides nothing."""

from __future__ import annotations

import io
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from site_builder.fetching import fetch
from site_builder.fetching.transport import is_public
from site_builder.sources import Lock, Source
from tests.simulators import QUICK, Internet, Shelf, digest_of, internet, sdist, sources, wheel

KERNEL = b"THRESHOLD = 32\nprint('kernel')\n" * 30
WHEEL = "demo-1.0-py3-none-any.whl"
SDIST = "demo-1.0.tar.gz"
AGAIN = "    Fetch again; if it stays, the file is damaged or not what the index lists."
LIMITS = replace(QUICK, reading=10, member_bytes=100_000, entries=1000)


@pytest.fixture
def net() -> Iterator[Internet]:
    """An internet on loopback."""
    with internet() as made:
        yield made


def found(member: str, file: str = WHEEL) -> Sequence[Source]:
    """A source that is one member."""
    return sources(
        "id: kernel, mutability: immutable, expects: {type: text/x-python, contains: kernel}, locators:"
        f" [{{release: {{project: demo, version: '1.0', file: {file}, member: '{member}'}}}}]"
    )


def problem(net: Internet, body: bytes, member: str = "demo/kernel.py", file: str = WHEEL) -> tuple[str, int]:
    """What is said of the member, once nothing was kept, and the exit code; nothing takes long."""
    net.release(file, body)
    store = Shelf()
    started = time.process_time()
    report = fetch(
        found(member, file),
        Lock(audit="demo"),
        store,
        net.policy(limits=LIMITS),
        now="2026-12-01T12:00:00Z",
        read_file=_no_file,
    )
    assert 5 > time.process_time() - started
    assert {} == store.bodies
    assert () == report.lock.entries
    (only,) = report.problems
    return str(only).removeprefix("sources.yaml:2: kernel: "), report.exit_code


def _no_file(path: str) -> bytes:
    raise FileNotFoundError(path)


def _patched(body: bytes, signature: bytes, at: int, change: bytes, name: bytes = b"demo/kernel.py") -> bytes:
    """The wheel with a field of one member's header changed."""
    start = 0
    length = {b"PK\x01\x02": 46, b"PK\x03\x04": 30}[signature]
    while True:
        start = body.index(signature, start)
        if body[start + length : start + length + len(name)] == name:
            return body[: start + at] + change + body[start + at + len(change) :]
        start += 4


CENTRAL, LOCAL = b"PK\x01\x02", b"PK\x03\x04"
GOOD = wheel({"demo/a.py": b"a", "demo/kernel.py": KERNEL, "demo/z.py": b"z"})


def test_nothing_is_wrong_with_it(net):
    """The archive that the others are made from is read."""
    net.release(WHEEL, GOOD)
    store = Shelf()

    report = fetch(
        found("demo/kernel.py"),
        Lock(audit="demo"),
        store,
        net.policy(limits=LIMITS),
        now="2026-12-01T12:00:00Z",
        read_file=_no_file,
    )

    assert 0 == report.exit_code
    assert {digest_of(KERNEL): KERNEL} == store.bodies


@pytest.mark.parametrize(
    ("body", "said", "code"),
    [
        (
            b"this is no archive",
            f"expected {WHEEL} to be a wheel, found an archive that can't be read\n{AGAIN}",
            3,
        ),
        (GOOD[:-30], f"expected {WHEEL} to be a wheel, found an archive that can't be read\n{AGAIN}", 3),
        (
            _patched(GOOD, CENTRAL, 16, b"\0\0\0\0"),
            f"expected demo/kernel.py to be readable in {WHEEL}, found it damaged\n{AGAIN}",
            3,
        ),
        (
            _patched(GOOD, CENTRAL, 24, struct.pack("<I", len(KERNEL) - 1)),
            f"expected demo/kernel.py to be readable in {WHEEL}, found it damaged\n{AGAIN}",
            3,
        ),
        (
            _patched(GOOD, CENTRAL, 24, struct.pack("<I", len(KERNEL) + 1)),
            f"expected demo/kernel.py to be readable in {WHEEL}, found it damaged\n{AGAIN}",
            3,
        ),
        (
            _patched(GOOD, CENTRAL, 20, struct.pack("<I", 5000)),
            f"expected demo/kernel.py to be readable in {WHEEL}, found it damaged\n{AGAIN}",
            3,
        ),
        (
            _patched(GOOD, CENTRAL, 24, struct.pack("<I", 4_000_000_000)),
            f"expected demo/kernel.py of {WHEEL} to be at most 100000 bytes and at most 200 times its compressed"
            " size, found 4000000000\n    Name a smaller member.",
            3,
        ),
        (
            _patched(GOOD, CENTRAL, 8, struct.pack("<H", 1)),
            f"expected demo/kernel.py of {WHEEL} to be a plain file, found another kind\n{AGAIN}",
            3,
        ),
        (
            _patched(GOOD, CENTRAL, 10, struct.pack("<H", 14)),
            f"expected demo/kernel.py of {WHEEL} to be a plain file, found another kind\n{AGAIN}",
            3,
        ),
        (
            _patched(GOOD, CENTRAL, 38, struct.pack("<I", 0o120777 << 16)),
            f"expected demo/kernel.py of {WHEEL} to be a plain file, found another kind\n{AGAIN}",
            3,
        ),
        (
            _patched(GOOD, CENTRAL, 42, struct.pack("<I", 0)),
            f"expected demo/kernel.py to be readable in {WHEEL}, found it damaged\n{AGAIN}",
            3,
        ),
        (
            _patched(GOOD, CENTRAL, 42, struct.pack("<I", len(GOOD) * 2)),
            f"expected demo/kernel.py to be readable in {WHEEL}, found it damaged\n{AGAIN}",
            3,
        ),
        (
            _patched(GOOD, LOCAL, 30, b"demo/lernel.py"),
            f"expected demo/kernel.py to be readable in {WHEEL}, found it damaged\n{AGAIN}",
            3,
        ),
        (
            wheel({"demo/kernel.py": KERNEL}, twice="demo/kernel.py"),
            f"expected each member of {WHEEL} once, found demo/kernel.py twice\n"
            "    Don't rest anything on this file: which of the two is installed depends on the installer.",
            1,
        ),
        (
            wheel({"demo/kernel.py": KERNEL}, twice="demo-1.0.dist-info/RECORD"),
            f"expected each member of {WHEEL} once, found demo-1.0.dist-info/RECORD twice\n"
            "    Don't rest anything on this file: which of the two is installed depends on the installer.",
            1,
        ),
        (
            wheel({"demo/kernel.py": KERNEL, "evil-1.0.dist-info/RECORD": b"x"}),
            f"expected one RECORD in {WHEEL}, found 2\n{AGAIN}",
            1,
        ),
        (
            wheel({f"demo/{number}": b"" for number in range(1001)}),
            f"expected at most 1000 members in {WHEEL}, found 1002\n{AGAIN}",
            3,
        ),
        (
            wheel({"demo/kernel.py": KERNEL}, record=lambda rows: rows + rows.splitlines()[0] + "\n"),
            f"{WHEEL}'s RECORD: expected each member once, found demo/kernel.py twice\n{AGAIN}",
            1,
        ),
        (
            wheel({"demo/kernel.py": KERNEL}, record=lambda rows: rows.replace("demo/kernel.py", "demo/other.py")),
            f"expected demo/kernel.py in the RECORD of {WHEEL}, found it in its directory only\n{AGAIN}",
            1,
        ),
        (
            wheel({"demo/a.py": b"a"}, record=lambda rows: rows + rows.replace("a.py", "kernel.py", 1)[:-28]),
            f"expected demo/kernel.py in the directory of {WHEEL}, found it in its RECORD only\n{AGAIN}",
            1,
        ),
        (
            wheel({"demo/kernel.py": KERNEL}, record=lambda rows: rows.replace(",", ";")),
            f"{WHEEL}'s RECORD: expected name, digest and size in each row, found another row\n{AGAIN}",
            1,
        ),
        (
            wheel({"demo/kernel.py": KERNEL}, record=lambda rows: rows.replace(f",{len(KERNEL)}", ",many")),
            f"{WHEEL}'s RECORD: expected name, digest and size in each row, found another row\n{AGAIN}",
            1,
        ),
        (
            wheel({"demo/kernel.py": KERNEL}, record=lambda rows: rows.replace(f",{len(KERNEL)}", ",7")),
            f"expected demo/kernel.py as {WHEEL}'s RECORD states it ({digest_of(KERNEL)}, 7 bytes),"
            f" found {digest_of(KERNEL)}, {len(KERNEL)} bytes\n"
            "    Don't rest anything on this member: the file does not agree with itself.",
            1,
        ),
        (
            wheel({"demo/kernel.py": KERNEL}, record=lambda rows: rows.replace("sha256=", "md5=")),
            f"expected sha256 and size of demo/kernel.py in the RECORD of {WHEEL}, found none\n"
            "    Don't rest anything on this member: nothing vouches for it.",
            1,
        ),
        (
            wheel({"demo/kernel.py": bytes(1_000_000)}),
            f"expected demo/kernel.py of {WHEEL} to be at most 100000 bytes and at most 200 times its compressed"
            " size, found 1000000\n    Name a smaller member.",
            3,
        ),
    ],
    ids=[
        "no archive",
        "cut",
        "crc",
        "shorter",
        "longer",
        "overlapping",
        "huge",
        "encrypted",
        "lzma",
        "symlink",
        "another place",
        "beyond the end",
        "another name",
        "twice",
        "record twice",
        "two records",
        "many",
        "row twice",
        "not in record",
        "not in directory",
        "no rows",
        "no size",
        "another size",
        "another digest",
        "bomb",
    ],
)
def test_wheel_that_lies(net, body, said, code):
    """A member is taken only as directory, local header, checksum and RECORD agree on it."""
    assert (said, code) == problem(net, body)


@pytest.mark.parametrize("name", ["../kernel.py", "/etc/passwd", "a/../../kernel.py"])
def test_member_with_a_hostile_name(net, name):
    """A member is a name in an archive and never a path; one that nobody could mean is not asked for."""
    from site_builder.errors import SourceError

    with pytest.raises(SourceError):
        found(name)
    assert [] == net.asked


def test_wheel_whose_directory_is_larger_than_the_last_mebibyte(net):
    """What the first request does not bring is asked for."""
    members = {f"demo/{'x' * 200}{number}": b"" for number in range(4500)}
    net.release(WHEEL, wheel({"demo/kernel.py": KERNEL, **members}))
    report = fetch(
        found("demo/kernel.py"),
        Lock(audit="demo"),
        Shelf(),
        net.policy(limits=replace(LIMITS, entries=10_000, member_bytes=2_000_000)),
        now="2026-12-01T12:00:00Z",
        read_file=_no_file,
    )

    assert ((), 0) == (report.problems, report.exit_code)


def test_wheel_of_more_than_is_allowed(net):
    """Ranges of one wheel have a limit together."""
    net.release(WHEEL, wheel({"demo/kernel.py": KERNEL, "demo/z": b"z"}, padding=1_100_000))
    report = fetch(
        found("demo/kernel.py"),
        Lock(audit="demo"),
        Shelf(),
        net.policy(limits=replace(LIMITS, archive_bytes=1_000_000)),
        now="2026-12-01T12:00:00Z",
        read_file=_no_file,
    )

    assert [f"kernel: expected to read less of {WHEEL}, found that the limit does not suffice"] == [
        found.problem for found in report.problems
    ]


def _tar(make: Callable[[tarfile.TarFile], None]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        make(archive)
    return out.getvalue()


def _kind(kind: bytes, name: str = "demo-1.0/kernel.py", target: str = "/etc/passwd") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return _tar(lambda archive: archive.addfile(info))


def _claims(size: int) -> bytes:
    """An sdist whose first header claims so many bytes, which are there as zeros up to a limit."""
    import gzip

    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, size
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(min(size, 60_000_000)), 1)


GOOD_SDIST = sdist({"demo-1.0/kernel.py": KERNEL, "demo-1.0/z": b"z"})


@pytest.mark.parametrize(
    ("body", "said", "code"),
    [
        (b"no archive", f"expected {SDIST} to be an sdist, found an archive that can't be read\n{AGAIN}", 3),
        (GOOD_SDIST[:120], f"expected {SDIST} to be an sdist, found an archive that can't be read\n{AGAIN}", 3),
        (
            _kind(tarfile.SYMTYPE),
            f"expected demo-1.0/kernel.py of {SDIST} to be a plain file, found another kind\n{AGAIN}",
            3,
        ),
        (
            _kind(tarfile.LNKTYPE),
            f"expected demo-1.0/kernel.py of {SDIST} to be a plain file, found another kind\n{AGAIN}",
            3,
        ),
        (
            _kind(tarfile.CHRTYPE),
            f"expected demo-1.0/kernel.py of {SDIST} to be a plain file, found another kind\n{AGAIN}",
            3,
        ),
        (
            sdist([(tarfile.TarInfo("demo-1.0/kernel.py"), KERNEL), (tarfile.TarInfo("demo-1.0/kernel.py"), b"x")]),
            f"expected demo-1.0/kernel.py once in {SDIST}, found it twice\n{AGAIN}",
            1,
        ),
        (
            sdist({f"demo-1.0/{number}": b"" for number in range(1001)}),
            f"expected at most 1000 members in {SDIST}, found more\n{AGAIN}",
            3,
        ),
        (
            sdist({"demo-1.0/kernel.py": bytes(100_001)}),
            f"expected demo-1.0/kernel.py of {SDIST} to be at most 100000 bytes, found 100001\n"
            "    Name a smaller member.",
            3,
        ),
        (_claims(2**33), f"expected {SDIST} to be an sdist, found an archive that can't be read\n{AGAIN}", 3),
        (
            sdist({"demo-1.0/a": bytes(80_000_000), "demo-1.0/kernel.py": KERNEL}),
            f"expected {SDIST} to be an sdist, found an archive that can't be read\n{AGAIN}",
            3,
        ),
    ],
    ids=["no archive", "cut", "symlink", "link", "device", "twice", "many", "large", "header", "bomb"],
)
def test_sdist_that_lies(net, body, said, code):
    """A member of an sdist is one plain file, and no header decides how much is unpacked."""
    assert (said, code) == problem(net, body, "demo-1.0/kernel.py", SDIST)


def test_sdist_that_is_another_than_the_index_states(net):
    """An sdist whose digest is not the stated one yields nothing, although its member is there."""
    stated = digest_of(b"another")
    net.release(SDIST, GOOD_SDIST, hashes={"sha256": stated[7:]})
    store = Shelf()

    report = fetch(
        found("demo-1.0/kernel.py", SDIST),
        Lock(audit="demo"),
        store,
        net.policy(limits=LIMITS),
        now="2026-12-01T12:00:00Z",
        read_file=_no_file,
    )

    assert [
        f"sources.yaml:2: kernel: expected {SDIST} as the package index states it ({stated}),"
        f" found {digest_of(GOOD_SDIST)}\n"
        "    Don't rest anything on this file: it is not the one that was released."
    ] == list(map(str, report.problems))
    assert 1 == report.exit_code
    assert {} == store.bodies


def test_index_states_another_size(net):
    """A file of another size than the stated one is another file."""
    net.release(SDIST, GOOD_SDIST, size=len(GOOD_SDIST) - 1)

    report = fetch(
        found("demo-1.0/kernel.py", SDIST),
        Lock(audit="demo"),
        Shelf(),
        net.policy(limits=LIMITS),
        now="2026-12-01T12:00:00Z",
        read_file=_no_file,
    )

    assert [
        "kernel: expected the piece asked for from the package index's file host, found another, or one of another file"
    ] == [found.problem for found in report.problems]


def test_sdist_of_two_gzip_streams(net):
    """Streams that follow one another are one stream, as gzip has it."""
    import gzip

    plain = gzip.decompress(GOOD_SDIST)
    net.release(SDIST, gzip.compress(plain[:700]) + gzip.compress(plain[700:]))

    report = fetch(
        found("demo-1.0/kernel.py", SDIST),
        Lock(audit="demo"),
        Shelf(),
        net.policy(limits=LIMITS),
        now="2026-12-01T12:00:00Z",
        read_file=_no_file,
    )

    assert ((), digest_of(KERNEL)) == (report.problems, report.lock.entries[0].digest)


def test_wheel_made_by_another_writer(net):
    """A stored member with a data descriptor and a comment at the end are read as any."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(GOOD)) as good, zipfile.ZipFile(out, "w") as archive:
        for info in good.infolist():
            with archive.open(info.filename, "w", force_zip64=True) as member:
                member.write(good.read(info))
        archive.comment = b"made elsewhere"
    net.release(WHEEL, out.getvalue())

    report = fetch(
        found("demo/kernel.py"),
        Lock(audit="demo"),
        Shelf(),
        net.policy(limits=LIMITS),
        now="2026-12-01T12:00:00Z",
        read_file=_no_file,
    )

    assert ((), digest_of(KERNEL)) == (report.problems, report.lock.entries[0].digest)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2001:4860:4860::8888", "2606:4700::1111"]
)
def test_public_address(address):
    """An address of the public internet is one."""
    assert is_public(address)
