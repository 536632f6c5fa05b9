"""Fetch: the locked bytes into the store, new sources into the lock, and what is said of all others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from site_builder.fetching import FetchReport, Outcome, Progress, fetch
from site_builder.sources import Artifact, Lock, LockEntry, Source, write_lock
from tests.simulators import Internet, Reply, Shelf, digest_of, internet, sdist, sources, wheel

NOW = "2026-12-01T12:00:00Z"
LATER = "2026-12-02T12:00:00Z"
KERNEL = b"THRESHOLD = 32\nprint('kernel')\n"
OTHER = b"THRESHOLD = 64\nprint('kernel')\n"
WHEEL = "demo-1.0-py3-none-any.whl"
SDIST = "demo-1.0.tar.gz"


@pytest.fixture
def net() -> Iterator[Internet]:
    """An internet on loopback."""
    with internet() as made:
        yield made


class Desk:
    """A store, a lock, and an internet to fill them from."""

    def __init__(self, net: Internet) -> None:
        self.net = net
        self.store = Shelf()
        self.lock = Lock(audit="demo")
        self.files: dict[str, bytes] = {}
        self.seen: list[Progress] = []

    def fetch(self, found: Sequence[Source], *, now: str = NOW, **options: Any) -> FetchReport:
        """Fetch, and keep the lock."""
        policy = options.pop("policy", None) or self.net.policy()
        report = fetch(
            found,
            self.lock,
            self.store,
            policy,
            now=now,
            read_file=self.files.__getitem__,
            progress=self.seen.append,
            **options,
        )
        self.lock = report.lock
        return report

    def one(self, found: Sequence[Source], **options: Any) -> Outcome:
        """The outcome of the only source."""
        (outcome,) = self.fetch(found, **options).outcomes
        return outcome


@pytest.fixture
def desk(net: Internet) -> Desk:
    """An empty store and an empty lock."""
    return Desk(net)


def page(net: Internet, path: str = "/kernel.py", mutability: str = "immutable", **more: str) -> str:
    """An entry with an https locator."""
    rest = "".join(f", {name}: {value}" for name, value in more.items())
    return (
        f"id: kernel, mutability: {mutability}, expects: {{type: text/x-python, contains: kernel}},"
        f" locators: [{{https: '{net.web.url}{path}'}}]{rest}"
    )


def member(name: str, id_: str = "", file: str = WHEEL, contains: str = "e", **more: str) -> str:
    """An entry with a release locator."""
    rest = "".join(f", {key}: {value}" for key, value in more.items())
    return (
        f"id: {id_ or name.rpartition('/')[2].lower()}, mutability: immutable,"
        f" expects: {{type: text, contains: {contains}}},"
        f" locators: [{{release: {{project: demo, version: '1.0', file: {file}, member: {name}}}}}]{rest}"
    )


def entry_of(report: FetchReport, id_: str) -> LockEntry:
    """The lock's entry."""
    return report.lock.by_id()[id_]


# One source --------------------------------------------------------------------------------------------------


def test_new_source_is_locked_on_first_reading(desk):
    """A source that answers for the first time is locked as it was read, and its bytes are in the store."""
    desk.net.web.routes["/kernel.py"] = Reply(body=KERNEL)

    outcome = desk.one(sources(page(desk.net)))

    assert "locked" == outcome.state
    assert (
        LockEntry(
            id="kernel",
            standing="obtained",
            digest=digest_of(KERNEL),
            bytes=len(KERNEL),
            integrity="direct",
            mutability="immutable",
            origin=f"{desk.net.web.url}/kernel.py",
            retrieved_at=NOW,
            contacted=("web.test",),
        )
        == outcome.entry
    )
    assert KERNEL == desk.store.get(digest_of(KERNEL))


def test_bytes_at_hand_are_not_asked_for(desk):
    """What is locked and in the store is not asked for again, and its entry stays as it is."""
    desk.net.web.routes["/kernel.py"] = Reply(body=KERNEL)
    desk.fetch(sources(page(desk.net)))
    before = write_lock(desk.lock)
    desk.net.forget()

    outcome = desk.one(sources(page(desk.net)), now=LATER)

    assert "at hand" == outcome.state
    assert [] == desk.net.asked
    assert before == write_lock(desk.lock)


def test_empty_store_is_filled_with_the_locked_bytes(desk):
    """Bytes that are locked and not at hand are fetched; the time of their first reading stays."""
    desk.net.web.routes["/kernel.py"] = Reply(body=KERNEL)
    desk.fetch(sources(page(desk.net)))
    before = write_lock(desk.lock)
    desk.store.bodies.clear()

    outcome = desk.one(sources(page(desk.net)), now=LATER)

    assert ("fetched", 0) == (outcome.state, outcome.exit_code)
    assert before == write_lock(desk.lock)
    assert {digest_of(KERNEL): KERNEL} == desk.store.bodies


def test_damaged_bytes_in_the_store_are_replaced(desk):
    """Bytes that are no longer those of their digest are not at hand, and are fetched again."""
    desk.net.web.routes["/kernel.py"] = Reply(body=KERNEL)
    desk.fetch(sources(page(desk.net)))
    desk.store.bodies[digest_of(KERNEL)] = OTHER

    assert "fetched" == desk.one(sources(page(desk.net))).state
    assert KERNEL == desk.store.get(digest_of(KERNEL))


def test_immutable_source_answers_with_other_bytes(desk):
    """What can't change and has changed is an error that names both digests; nothing of it is kept."""
    desk.net.web.routes["/kernel.py"] = Reply(body=KERNEL)
    desk.fetch(sources(page(desk.net)))
    before = write_lock(desk.lock)
    desk.store.bodies.clear()
    desk.net.web.routes["/kernel.py"] = Reply(body=OTHER)

    report = desk.fetch(sources(page(desk.net)))

    assert [
        f"sources.yaml:2: kernel: expected {digest_of(KERNEL)}, found {digest_of(OTHER)}\n"
        "    What can't change has changed: find out why before anything rests on it."
    ] == list(map(str, report.problems))
    assert 1 == report.exit_code
    assert {} == desk.store.bodies
    assert before == write_lock(desk.lock)


@pytest.mark.parametrize("mutability", ["versioned", "mutable", "volatile"])
def test_source_that_may_move_has_moved_on(desk, mutability):
    """News is no error: it is reported as moved on, the lock stays and the other bytes are not kept."""
    found = sources(page(desk.net, mutability=mutability))
    desk.net.web.routes["/kernel.py"] = Reply(body=KERNEL)
    desk.fetch(found)
    before = write_lock(desk.lock)
    desk.store.bodies.clear()
    desk.net.web.routes["/kernel.py"] = Reply(body=b"nothing of it is left\n")

    outcome = desk.one(found)

    assert ("moved on", 0, None) == (outcome.state, outcome.exit_code, outcome.problem)
    assert outcome.moved is not None
    assert (digest_of(KERNEL), digest_of(b"nothing of it is left\n")) == (outcome.moved.expected, outcome.moved.found)
    assert {} == desk.store.bodies
    assert before == write_lock(desk.lock)


def two_places(net: Internet, mutability: str = "immutable") -> Sequence[Source]:
    """A source with two locators."""
    return sources(
        f"id: kernel, mutability: {mutability}, expects: {{type: text/x-python, contains: kernel}},"
        f" locators: [{{https: '{net.web.url}/a'}}, {{https: '{net.web.url}/b'}}]"
    )


def test_first_locator_is_gone(desk):
    """The next locator is asked where one has no answer, and the entry says which one answered."""
    desk.net.web.routes["/b"] = Reply(body=KERNEL)

    outcome = desk.one(two_places(desk.net))

    assert outcome.entry is not None
    assert (0, f"{desk.net.web.url}/b") == (outcome.exit_code, outcome.entry.origin)


def test_another_locator_has_the_locked_bytes(desk):
    """A moved locator of a source that may move is passed over for one that has the locked bytes."""
    desk.net.web.routes.update({"/a": Reply(body=KERNEL), "/b": Reply(body=KERNEL)})
    desk.fetch(two_places(desk.net, "mutable"))
    desk.store.bodies.clear()
    desk.net.web.routes["/a"] = Reply(body=OTHER)

    outcome = desk.one(two_places(desk.net, "mutable"))

    assert ("fetched", None, 0) == (outcome.state, outcome.moved, outcome.exit_code)
    assert desk.store.has(digest_of(KERNEL))


def test_immutable_locator_lies_and_another_has_the_locked_bytes(desk):
    """The bytes are had from the second locator, and the first one's alarm is raised all the same."""
    desk.net.web.routes.update({"/a": Reply(body=KERNEL), "/b": Reply(body=KERNEL)})
    desk.fetch(two_places(desk.net))
    desk.store.bodies.clear()
    desk.net.web.routes["/a"] = Reply(body=OTHER)

    outcome = desk.one(two_places(desk.net))

    assert ("fetched", 1) == (outcome.state, outcome.exit_code)
    assert desk.store.has(digest_of(KERNEL))


def test_nothing_answers(desk):
    """Everything that was wrong is said, once each, and it could not be told."""
    outcome = desk.one(two_places(desk.net))

    assert (
        "sources.yaml:2: kernel: expected the whole file from web.test, found the status 404\n"
        "    See whether it has moved or gone, and name another address."
    ) == str(outcome.problem)
    assert 3 == outcome.exit_code
    assert {} == desk.store.bodies
    assert () == desk.lock.entries


def test_one_of_several_fails(desk):
    """A source that can't be had does not keep others from being fetched; outcomes stand in the sources' order."""
    desk.net.web.routes["/kernel.py"] = Reply(body=KERNEL)
    found = sources(
        page(desk.net, "/missing").replace("id: kernel", "id: a"),
        page(desk.net).replace("id: kernel", "id: b"),
        page(desk.net, "/missing").replace("id: kernel", "id: c"),
        page(desk.net).replace("id: kernel", "id: d"),
    )

    report = desk.fetch(found)

    assert [("a", "failed"), ("b", "locked"), ("c", "failed"), ("d", "locked")] == [
        (outcome.source, outcome.state) for outcome in report.outcomes
    ]
    assert 2 == len(report.problems)


def test_head_is_never_asked(desk):
    """What a HEAD would say is never asked for: a host that can't answer one is read all the same."""
    desk.net.web.routes["/kernel.py"] = lambda asked: Reply(body=KERNEL) if asked.method == "GET" else Reply(status=405)
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}))
    desk.net.release(SDIST, sdist({"demo-1.0/kernel.py": KERNEL}))

    report = desk.fetch(
        sources(page(desk.net), member("demo/kernel.py", "a"), member("demo-1.0/kernel.py", "b", SDIST))
    )

    assert 0 == report.exit_code
    assert {"GET"} == {asked.method for asked in desk.net.asked}
    assert {"identity"} == {asked.head["accept-encoding"] for asked in desk.net.asked}


def test_file_of_the_repository(desk):
    """A file is read through what the caller gives, locked as read directly, and looked at every time."""
    desk.files["tools/gate.py"] = KERNEL
    found = sources(
        "id: gate, mutability: versioned, expects: {type: text/x-python, contains: kernel},"
        " locators: [{file: tools/gate.py}]"
    )

    first = desk.one(found)
    desk.files["tools/gate.py"] = OTHER
    second = desk.one(found)
    del desk.files["tools/gate.py"]
    desk.store.bodies.clear()
    third = desk.one(found)

    assert first.entry is not None
    assert ("direct", "tools/gate.py", ()) == (first.entry.integrity, first.entry.origin, first.entry.contacted)
    assert "moved on" == second.state
    assert ("sources.yaml:2: gate: expected the file tools/gate.py, found none\n    Correct the path.") == str(
        third.problem
    )
    assert [] == desk.net.asked


# What is no answer ---------------------------------------------------------------------------------------------

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)


@pytest.mark.parametrize(
    ("kind", "reply", "problem", "exit_code"),
    [
        (
            "text/csv",
            Reply(body=POINTER),
            "kernel: expected the file, found a Git LFS pointer to it"
            " (sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393, 12345 bytes)\n"
            "    Name an address that serves the file itself; its bytes must have that digest.",
            1,
        ),
        (
            "text/x-python",
            Reply(body=b"<!DOCTYPE html><title>Log in</title>kernel"),
            "kernel: expected text/x-python, found an HTML page\n"
            "    Open the address in a browser: it may want a login, or the file may have moved.",
            3,
        ),
        (
            "text/x-python",
            Reply(body=b"kernel", head={"Content-Type": "Text/HTML; charset=utf-8"}),
            "kernel: expected text/x-python, found an HTML page\n"
            "    Open the address in a browser: it may want a login, or the file may have moved.",
            3,
        ),
        (
            "application/json",
            Reply(body=b"kernel, please log in"),
            "kernel: expected application/json, found a text that is not JSON\n    Fetch again, or correct the type.",
            3,
        ),
        (
            "text/x-python",
            Reply(body=b" \n"),
            "kernel: expected a body, found an empty one\n    Fetch again; if it stays, name another address.",
            3,
        ),
        (
            "text/html",
            Reply(body=b"<html><script src=app.js></script></html>"),
            "kernel: expected a body that contains 'kernel', found none of it in 41 bytes\n"
            "    Correct `contains`, or name the file that is meant.",
            1,
        ),
        (
            "text/x-python, bytes: 7",
            Reply(body=b"kernel"),
            "kernel: expected 7 bytes, found 6\n    Correct the size, or name the file that is meant.",
            1,
        ),
    ],
)
def test_body_that_is_not_the_source(desk, kind, reply, problem, exit_code):
    """A pointer, a login page, a shell and an empty body are not the source, and are not kept."""
    desk.net.web.routes["/kernel.py"] = reply

    outcome = desk.one(sources(page(desk.net).replace("text/x-python", kind)))

    assert f"sources.yaml:2: {problem}" == str(outcome.problem)
    assert exit_code == outcome.exit_code
    assert {} == desk.store.bodies
    assert () == desk.lock.entries


def test_text_about_a_pointer_is_no_pointer(desk):
    """Only a file that is a pointer from its first line to its last is one."""
    desk.net.web.routes["/kernel.py"] = Reply(body=b"# kernel: a pointer begins with\n\n" + POINTER)

    assert 0 == desk.one(sources(page(desk.net))).exit_code


@pytest.mark.parametrize(
    "reply",
    [Reply(body=POINTER), Reply(body=b"<!doctype html>Log in"), Reply(body=b"", declared=0)],
    ids=["pointer", "login", "empty"],
)
def test_no_answer_where_bytes_are_locked(desk, reply):
    """A login page in place of a locked file is no drift: it could not be told, or the address is wrong."""
    found = sources(page(desk.net, mutability="mutable"))
    desk.net.web.routes["/kernel.py"] = Reply(body=KERNEL)
    desk.fetch(found)
    desk.store.bodies.clear()
    desk.net.web.routes["/kernel.py"] = reply

    outcome = desk.one(found)

    assert ("failed", None) == (outcome.state, outcome.moved)


# Recorded ------------------------------------------------------------------------------------------------------

COMMIT = "91df0fad4c0ffee0123456789abcdef012345678"
VERSION = b"__commit__ = '91df0fad4'\n"


def recorded(digest: str, witness: str = "") -> Mapping[str, str]:
    """What another publication stated of the kernel."""
    return {
        "recorded": f"{{digest: '{digest}', bytes: '{len(KERNEL)}', by: an earlier audit,"
        f" at: '2026-01-01T00:00:00Z', origin: 'https://code.example/{COMMIT}/kernel.py'{witness}}}"
    }


WITNESS = ", witness: {source: version, names: 91df0fad4}"


def test_recorded_bytes_are_obtained(desk):
    """A locator that answers with the recorded digest makes an entry whose bytes were obtained, not its origin."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}))

    entry = desk.one(sources(member("demo/kernel.py", **recorded(digest_of(KERNEL))))).entry

    assert ("bytes-obtained", "record", "an earlier audit", NOW) == (
        entry.standing,
        entry.integrity,
        entry.recorded_by,
        entry.retrieved_at,
    )
    assert f"pkg:pypi/demo@1.0?file_name={WHEEL}#demo/kernel.py" == entry.origin


@pytest.mark.parametrize("body", [None, OTHER], ids=["no answer", "other bytes"])
def test_recorded_bytes_are_not_had(desk, body):
    """Where no locator has the recorded bytes, the entry is what was recorded, and is never asked for again."""
    if body is not None:
        desk.net.web.routes["/kernel.py"] = Reply(body=body)
    found = sources(page(desk.net, **recorded(digest_of(KERNEL))))

    outcome = desk.one(found)
    desk.net.forget()
    again = desk.one(found, now=LATER)

    assert ("recorded", 0) == (outcome.state, outcome.exit_code)
    assert (
        LockEntry(
            id="kernel",
            standing="recorded",
            digest=digest_of(KERNEL),
            bytes=len(KERNEL),
            integrity="stated",
            mutability="immutable",
            origin=f"https://code.example/{COMMIT}/kernel.py",
            retrieved_at="2026-01-01T00:00:00Z",
            recorded_by="an earlier audit",
        )
        == outcome.entry
    )
    assert [] == desk.net.asked
    assert outcome.entry == again.entry
    assert {} == desk.store.bodies


def test_witness_names_the_recorded_origin(desk):
    """The origin is confirmed where a held source out of the same file names a commit of the recorded address."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL, "demo/_version.py": VERSION}))

    report = desk.fetch(
        sources(
            member("demo/kernel.py", "kernel", **recorded(digest_of(KERNEL), WITNESS)),
            member("demo/_version.py", "version", contains="commit"),
        )
    )

    assert "origin-confirmed" == entry_of(report, "kernel").standing


@pytest.mark.parametrize("fault", ["another commit", "another file", "not held", "another origin"])
def test_witness_does_not_name_the_recorded_origin(desk, fault):
    """A witness that names something else, lies elsewhere or is not held confirms nothing."""
    names = b"__commit__ = '0fc695fc6'\n" if fault == "another commit" else VERSION
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL, "demo/_version.py": names}))
    desk.net.web.routes["/version.py"] = Reply(body=VERSION)
    witness = member("demo/_version.py", "version", contains="commit")
    if fault == "another file":
        witness = page(desk.net, "/version.py").replace("id: kernel", "id: version").replace(": kernel", ": commit")
    said = recorded(digest_of(KERNEL), WITNESS)["recorded"]
    if fault == "another origin":
        said = said.replace(COMMIT, "main")
    entries = [member("demo/kernel.py", "kernel", recorded=said), witness]

    report = desk.fetch(sources(*entries[: 1 if fault == "not held" else 2]))

    assert "bytes-obtained" == entry_of(report, "kernel").standing


# Absent --------------------------------------------------------------------------------------------------------


def test_release_without_such_a_file(desk):
    """A release that has no sdist is absent, with the names that the index lists of that version as evidence."""
    for file in ("demo-1.0-2-py3-none-any.whl", WHEEL, "demo-1.1-py3-none-any.whl"):
        desk.net.release(file, wheel({"demo/kernel.py": KERNEL}))
    found = sources(
        "id: 'cmake@{release}', for: releases, mutability: immutable, expects: {type: text, contains: e},"
        " locators: [{release: {project: demo, version: '{version}', file: '{sdist}', member: demo-1.0/x.cmake}}]",
        lists="releases:\n  - {key: 1.0-2, version: '1.0', sdist: none}\n",
    )
    listing = f'["demo-1.0-2-py3-none-any.whl","{WHEEL}"]'.encode()

    outcome = desk.one(found)

    assert (
        LockEntry(
            id="cmake@1.0-2",
            standing="absent",
            digest=digest_of(listing),
            bytes=len(listing),
            integrity="direct",
            mutability="immutable",
            origin="pkg:pypi/demo@1.0",
            retrieved_at=NOW,
            contacted=("package index",),
            reason="1.0-2 has no sdist",
        )
        == outcome.entry
    )
    assert listing == desk.store.get(digest_of(listing))
    desk.net.forget()
    assert "absent" == desk.one(found, now=LATER).state
    assert [] == desk.net.asked


def test_member_that_record_does_not_list(desk):
    """A member that the wheel does not have is absent, with RECORD as evidence."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}))

    report = desk.fetch(sources(member("demo/other.py"), member("demo-1.0.dist-info/RECORD", "record")))

    absent, record = entry_of(report, "other.py"), entry_of(report, "record")
    assert ("absent", record.digest, f"RECORD of {WHEEL} has no demo/other.py") == (
        absent.standing,
        absent.digest,
        absent.reason,
    )
    assert "obtained" == record.standing
    assert b"demo/kernel.py,sha256=" in desk.store.get(record.digest)


def test_member_that_an_sdist_does_not_have(desk):
    """An sdist read to its end says what it lacks, with its list of members as evidence."""
    desk.net.release(SDIST, sdist({"demo-1.0/b": b"b", "demo-1.0/a": b"a"}))

    entry = desk.one(sources(member("demo-1.0/x.cmake", "cmake", SDIST))).entry

    assert ("absent", digest_of(b'["demo-1.0/a","demo-1.0/b"]')) == (entry.standing, entry.digest)


def test_locked_member_is_gone(desk):
    """A member that was locked and is now absent is the alarm that other bytes are."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}))
    desk.fetch(sources(member("demo/kernel.py", "kernel")))
    desk.store.bodies.clear()
    desk.lock = desk.lock.model_copy(update={"artifacts": ()})
    desk.net.release(WHEEL, wheel({"demo/other.py": KERNEL}))

    outcome = desk.one(sources(member("demo/kernel.py", "kernel")))

    assert (
        f"sources.yaml:2: kernel: expected {digest_of(KERNEL)}, found no such member"
        f" (RECORD of {WHEEL} has no demo/kernel.py)\n"
        "    What can't change has changed: find out why before anything rests on it."
    ) == str(outcome.problem)
    assert 1 == outcome.exit_code


# Released files ------------------------------------------------------------------------------------------------


def test_members_of_one_wheel(desk):
    """Directory and RECORD come with one request, members that lie together with one more."""
    near = {f"demo/near{number}.py": KERNEL + bytes([65 + number]) * 900 for number in range(6)}
    noise = bytes(range(256)) * 8192
    far = {"demo/far.bin": bytes(b ^ (n * n >> 8 & 255) for n, b in enumerate(noise))}
    body = wheel({**near, **far, "demo/last.py": OTHER})
    desk.net.release(WHEEL, body)
    found = sources(*(member(name) for name in [*near, "demo/last.py", "demo-1.0.dist-info/RECORD"]))

    report = desk.fetch(found)

    assert 0 == report.exit_code
    assert 2 == len(desk.net.files.asked)
    assert {("obtained", "record")} == {(entry.standing, entry.integrity) for entry in report.lock.entries}
    assert (
        Artifact(
            file=WHEEL,
            purl="pkg:pypi/demo@1.0",
            digest=digest_of(body),
            bytes=len(body),
            uploaded_at="2026-06-15T05:12:54Z",
            verified=False,
        ),
    ) == report.lock.artifacts
    assert {("package index", "its file host")} == {entry.contacted for entry in report.lock.entries}
    assert {"package index": 1, "its file host": 2} == {
        role: cost.requests for role, cost in sorted(report.spent.items(), reverse=True)
    }
    assert len(body) > report.spent["its file host"].bytes > 1024 * 1024
    assert KERNEL in desk.store.get(entry_of(report, "near0.py").digest)


def test_sdist_is_read_whole_when_locked_and_in_part_later(desk):
    """The index-stated digest is recomputed at the first reading; later the locked digest decides."""
    noise = b"".join(digest_of(bytes([n & 255, n >> 8])).encode() for n in range(30_000))
    body = sdist({"demo-1.0/x.cmake": b"the pin\n", "demo-1.0/noise": noise})
    desk.net.release(SDIST, body)
    found = sources(member("demo-1.0/x.cmake", "cmake", SDIST))

    first = desk.fetch(found)
    desk.store.bodies.clear()
    second = desk.fetch(found, now=LATER)

    assert ("whole", True) == (entry_of(first, "cmake").integrity, first.lock.artifacts[0].verified)
    assert write_lock(first.lock) == write_lock(second.lock)
    assert b"the pin\n" == desk.store.get(digest_of(b"the pin\n"))
    assert len(body) < first.spent["its file host"].bytes
    assert 270_000 > second.spent["its file host"].bytes


def test_locked_member_that_lies_deep_in_an_sdist(desk):
    """Pieces grow with what was read, so that a deep member is reached in few requests."""
    noise = b"".join(digest_of(n.to_bytes(3, "big"))[7:].encode() for n in range(150_000))
    desk.net.release(SDIST, sdist({"demo-1.0/noise": noise, "demo-1.0/x.cmake": b"the pin\n", "demo-1.0/z": noise}))
    found = sources(member("demo-1.0/x.cmake", "cmake", SDIST))
    desk.fetch(found)
    desk.store.bodies.clear()
    desk.net.forget()

    report = desk.fetch(found)

    assert "fetched" == report.outcomes[0].state
    pieces = [asked.range[1] - asked.range[0] + 1 for asked in desk.net.files.asked if asked.range]
    assert [256 * 1024] * 4 == pieces[:4]
    assert sorted(pieces) == pieces
    assert pieces[-1] > 256 * 1024
    assert 15 > len(pieces)


def test_fetch_is_killed_and_started_again(desk):
    """What has been obtained is in the store and is not read again, although no lock was written."""
    members = {f"demo/m{number}.bin": digest_of(bytes([number])).encode() * 90 for number in range(3)}
    padding = 1_500_000
    desk.net.release(WHEEL, wheel(members, padding=padding))
    found = sources(*(member(name) for name in members))

    class Killed(BaseException):
        pass

    def kill(_: Progress) -> None:
        raise Killed

    with pytest.raises(Killed):
        fetch(
            found,
            desk.lock,
            desk.store,
            desk.net.policy(),
            now=NOW,
            read_file=desk.files.__getitem__,
            progress=kill,
        )
    assert 3 <= len(desk.store.bodies)
    before = len(desk.net.files.asked)
    desk.net.forget()
    report = desk.fetch(found)

    assert 0 == report.exit_code
    assert 1 == len(desk.net.files.asked) <= before


@pytest.mark.parametrize("workers", [1, 8])
def test_any_number_of_workers(desk, workers):
    """Outcomes and lock are the same for any number of workers."""
    for version in ("1.0", "1.1", "1.2"):
        desk.net.release(
            f"demo-{version}-py3-none-any.whl", wheel({"demo/kernel.py": version.encode() + KERNEL}, version=version)
        )
    found = sources(
        "id: 'kernel@{release}', for: releases, mutability: immutable, expects: {type: text, contains: kernel},"
        " locators: [{release: {project: demo, version: '{release}', file: 'demo-{release}-py3-none-any.whl',"
        " member: demo/kernel.py}}]",
        lists="releases:\n  - {key: '1.2'}\n  - {key: '1.0'}\n  - {key: '1.1'}\n",
    )

    report = desk.fetch(found, workers=workers)

    assert ["kernel@1.2", "kernel@1.0", "kernel@1.1"] == [outcome.source for outcome in report.outcomes]
    assert ["kernel@1.0", "kernel@1.1", "kernel@1.2"] == [entry.id for entry in report.lock.entries]
    assert 3 == desk.seen[-1].done == desk.seen[-1].total


def test_report_names_no_index_and_no_file_host(desk):
    """Neither lock nor report nor message holds an address of the operator, whatever goes wrong."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}))
    desk.net.release("demo-1.1-py3-none-any.whl", b"no wheel")
    found = sources(
        member("demo/kernel.py", "a"),
        member("demo/kernel.py", "b", "demo-1.1-py3-none-any.whl").replace("'1.0'", "'1.1'"),
        member("demo/kernel.py", "c", "demo-1.2-py3-none-any.whl").replace("'1.0'", "'1.2'"),
        member("demo/kernel.py", "d", "other-1.0-py3-none-any.whl").replace("project: demo", "project: other"),
    )

    report = desk.fetch(found)

    said = repr(report) + write_lock(report.lock).decode() + "".join(map(str, report.problems)) + repr(desk.seen)
    assert 3 == len(report.problems)
    for host in (desk.net.index, desk.net.files):
        assert str(host.port) not in said
        assert host.name not in said
    assert "127.0.0.1" not in repr(desk.net.policy())


def test_index_states_another_digest_than_before(desk):
    """A released file whose stated digest changed is an error, although its member would be the same."""
    found = sources(member("demo/kernel.py", "kernel"))
    first = wheel({"demo/kernel.py": KERNEL})
    desk.net.release(WHEEL, first)
    desk.fetch(found)
    desk.store.bodies.clear()
    second = wheel({"demo/kernel.py": KERNEL, "demo/more.py": OTHER})
    desk.net.release(WHEEL, second)

    outcome = desk.one(found)

    assert (
        f"sources.yaml:2: kernel: expected the package index to state {digest_of(first)}, {len(first)} bytes,"
        f" of {WHEEL}, found {digest_of(second)}, {len(second)} bytes\n"
        "    A released file can't change under its name: find out why before anything rests on it."
    ) == str(outcome.problem)
    assert 1 == outcome.exit_code
    assert {} == desk.store.bodies


def test_yanked_file_is_reported(desk):
    """A yanked file is read and named as such."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}), yanked="withdrawn")

    report = desk.fetch(sources(member("demo/kernel.py")))

    assert ((WHEEL,), 0) == (report.yanked, report.exit_code)


@pytest.mark.parametrize(
    ("stated", "problem", "exit_code"),
    [
        (
            {"hashes": {}},
            f"expected the package index to state the sha256 of {WHEEL}, found none\n"
            "    Use an index that states it (PIP_INDEX_URL).",
            1,
        ),
        (
            {"size": None},
            f"expected the package index to state the size of {WHEEL}, found none\n"
            "    Use an index that states it (PIP_INDEX_URL).",
            3,
        ),
        (
            {"url": "file:///etc/passwd"},
            "expected the package index to name files over https, found another kind of address\n"
            "    Ask whoever keeps the index.",
            1,
        ),
        (
            {"filename": "demo-1.0-py2-none-any.whl"},
            f"expected {WHEEL} on the package index's page on demo,"
            " found 1 other files of 1.0, among them demo-1.0-py2-none-any.whl\n"
            "    Correct the file's name; if it was there before, it has been deleted.",
            3,
        ),
        (
            {"size": "12"},
            "expected the package index's page on demo to list files as is agreed, found another form\n"
            "    Ask whoever keeps the index; nothing is taken from a page that is not understood.",
            3,
        ),
    ],
)
def test_index_states_too_little(desk, stated, problem, exit_code):
    """An index that does not state what a reading rests on is not believed."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}), **stated)

    outcome = desk.one(sources(member("demo/kernel.py", "kernel")))

    assert f"sources.yaml:2: kernel: {problem}" == str(outcome.problem)
    assert exit_code == outcome.exit_code
    assert [] == desk.net.files.asked


FORM = (
    "expected the package index's page on demo to list files as is agreed, found another form\n"
    "    Ask whoever keeps the index; nothing is taken from a page that is not understood."
)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"files"', '"items"'),
        lambda text: text.replace('"1.1"', '"2.0"'),
        lambda text: text.replace('"name"', '"files": [], "name"'),
        lambda text: text.replace('"size": ', '"size": NaN, "was": '),
        lambda text: text.replace('"name"', '"x": 1e999, "name"', 1),
        lambda text: text.replace('"name"', '"x": "\\ud800", "name"', 1),
        lambda text: "\ufeff" + text,
        lambda _: "[" * 100_000,
        lambda text: text[:-1],
        lambda _: "null",
    ],
    ids=["renamed", "version", "twice", "nan", "overflow", "surrogate", "bom", "deep", "cut", "null"],
)
def test_index_page_in_another_form(desk, change):
    """A page that is not exactly of the agreed form is not understood in part."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}))
    reply = desk.net.page("demo")
    desk.net.index.routes["/simple/demo/"] = Reply(body=change(reply.body.decode()).encode(), head=reply.head)

    outcome = desk.one(sources(member("demo/kernel.py", "kernel")))

    assert f"sources.yaml:2: kernel: {FORM}" == str(outcome.problem)


def test_index_page_with_more_than_is_known(desk):
    """Fields that are not known and another order are no fault of an index."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}), unheard={"of": [1, 2]})
    found = json.loads(desk.net.page("demo", versions=["1.0"]).body)
    turned = json.dumps(dict(reversed(found.items()))).encode()
    desk.net.index.routes["/simple/demo/"] = Reply(body=turned, head=desk.net.page("demo").head)

    assert 0 == desk.one(sources(member("demo/kernel.py"))).exit_code


def test_index_page_as_html(desk):
    """An index that has no JSON form is not read."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}))
    desk.net.index.routes["/simple/demo/"] = Reply(body=b"<a href=x>", head={"Content-Type": "text/html"})

    assert (
        "sources.yaml:2: kernel: expected the package index's page on demo in its JSON form, found another form\n"
        "    Use an index that serves the JSON form of the simple interface (PIP_INDEX_URL)."
    ) == str(desk.one(sources(member("demo/kernel.py", "kernel"))).problem)


def test_file_stands_twice_on_the_index(desk):
    """Two files of one name are no evidence of either."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}))
    stated = desk.net.released["demo"][WHEEL].stated
    reply = desk.net.page("demo", files=[stated, stated])
    desk.net.index.routes["/simple/demo/"] = reply

    assert (
        f"sources.yaml:2: kernel: expected each file once on the package index's page on demo, found {WHEEL} twice\n"
        "    Ask whoever keeps the index."
    ) == str(desk.one(sources(member("demo/kernel.py", "kernel"))).problem)


@pytest.mark.parametrize("file", ["other-1.0-py3-none-any.whl", "demo-1.1-py3-none-any.whl", "demo.whl"])
def test_file_of_another_release(desk, file):
    """A locator's file is one of its project and version."""
    desk.net.release(WHEEL, wheel({"demo/kernel.py": KERNEL}))

    assert (
        f"sources.yaml:2: kernel: expected the name of a wheel or sdist of demo 1.0, found {file}\n"
        "    Correct project, version or file of the locator."
    ) == str(desk.one(sources(member("demo/kernel.py", "kernel", file))).problem)


# No network ----------------------------------------------------------------------------------------------------


def test_no_network_at_all(desk):
    """Without any network each source is named, nothing is written, and it could not be told."""
    desk.net.close()
    desk.net.names["web.test"] = []
    found = sources(
        page(desk.net).replace("id: kernel", "id: a"),
        page(desk.net).replace("id: kernel", "id: b"),
        member("demo/kernel.py", "c"),
    )

    report = desk.fetch(found, workers=1)

    again = "    Fetch again when the network and the host answer."
    assert [
        f"sources.yaml:2: a: expected an answer from web.test, found no connection (4 attempts)\n{again}",
        f"sources.yaml:3: b: expected an answer from web.test, found no connection\n{again}",
        f"sources.yaml:4: c: expected an answer from the package index, found no connection (4 attempts)\n{again}",
    ] == list(map(str, report.problems))
    assert 3 == report.exit_code
    assert {} == desk.store.bodies
    assert () == report.lock.entries
