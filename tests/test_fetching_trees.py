"""Trees: fetch follows what the observations read to its closure, and locks that: all of it, and no other file."""

# ruff: noqa: E501 - a message stands on the line that it is printed on

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from site_builder.fetching import FetchReport
from site_builder.project import Store
from site_builder.sources import Lock
from tests import demo, groves
from tests.groves import HOME, PACKAGE, READ, SCRIPT
from tests.simulators import Asked, Internet, Reply, Shelf, digest_of, internet, record_row

_SPREAD = 300_000
"""Bytes before each member: its own request brings it, unless it is among the last ones."""
_UNVOUCHED = "    Don't rest anything on this member: nothing vouches for it."


@pytest.fixture
def net() -> Iterator[Internet]:
    """An internet on loopback."""
    with internet() as made:
        yield made


@pytest.fixture
def store() -> Shelf:
    """An empty store."""
    return Shelf()


_SEARCH = (
    '@audit.absence("wheel@1.0.0", control="wheel@1.1.0")\ndef no_limit(wheel):\n    """No limit is named."""\n'
    '    return wheel.tree.module("shelf/unread.py").count("string", containing="asks")\n'
)


def _packages(text: Mapping[str, str] | None = None, *without: str) -> dict[str, Mapping[str, str]]:
    """The files of both wheels, those of the first one with others or without some."""
    first = {path: body for path, body in {**PACKAGE, **(text or {})}.items() if path not in without}
    return {"1.0.0": first, "1.1.0": PACKAGE}


def _states(report: FetchReport) -> list[str]:
    return [outcome.state for outcome in report.outcomes]


def _said(report: FetchReport) -> list[str]:
    return [str(problem) for problem in report.problems]


def _reads(path: str, name: str = "more", also: str = "") -> str:
    return f'@audit.observation("wheel@{{release}}")\ndef {name}(wheel):\n    """More."""\n{also}    return wheel.tree.module("{path}").constant("NOBODY")\n'


# To closure


def test_files_that_nobody_listed(net, store):
    """What the observations read of each wheel is locked, with what RECORD states; what they don't read is not fetched."""
    groves.served(net)
    report = groves.fetched(net, store)

    assert (0, ["locked", "locked"], []) == (report.exit_code, _states(report), _said(report))
    assert [READ, READ] == [groves.members(report, key) for key in groves.RELEASES]
    for member in report.lock.by_id()["wheel@1.0.0"].members or ():
        text = PACKAGE[member.path].encode()
        assert (digest_of(text), len(text)) == (member.digest, member.bytes)
    assert digest_of(PACKAGE["shelf/unread.py"].encode()) not in store.bodies
    assert digest_of(PACKAGE["shelf/loose.py"].encode()) not in store.bodies


def test_a_chain_of_imports(net, store):
    """A file that is needed only once another was read is found in its round, however many rounds that takes."""
    links = {f"shelf/link{n}.py": f"from shelf.link{n + 1} import Thread\n" for n in range(8)}
    chain = {**links, "shelf/link8.py": "from shelf.pressed import Thread\n"}
    groves.served(net, groves.wheels(_packages({**chain, "shelf/sewn.py": "from .link0 import Thread\n"})))
    report = groves.fetched(net, store)

    assert tuple(sorted({*READ, *chain})) == groves.members(report)
    assert READ == groves.members(report, "1.1.0")
    trail = groves.body(store, report.lock).observations[0].trail
    assert trail is not None
    assert ["entry", *(["import"] * 10)] == [step.step for step in trail]


def test_an_absence_whose_search_does_not_say_its_control(net, store):
    """The same search on its control reads files, too; where the control is another tree, they are that tree's."""
    files = groves.apart(_SEARCH)
    groves.served(net, groves.wheels(_packages({"shelf/unread.py": "NOBODY = 'minds'\n"})))
    report = groves.fetched(net, store, files=files)

    assert tuple(sorted((*READ, "shelf/unread.py"))) == groves.members(report)
    assert ("shelf/unread.py",) == groves.members(report, "1.1.0")


def test_a_file_that_does_not_parse(net, store):
    """What can't be read was asked for as well: that it can't is what the answer says, so it is locked with the rest."""
    groves.served(net, groves.wheels(_packages({"shelf/unread.py": "NOBODY = (\n"})))
    files = groves.script(_reads("shelf/unread.py").replace('{release}"', '{release}", otherwise="unknown"', 1))
    report = groves.fetched(net, store, files=files)

    assert tuple(sorted((*READ, "shelf/unread.py"))) == groves.members(report)
    more = {item.id: item.reason or item.value for item in groves.body(store, report.lock, files).observations}
    assert ("shelf/unread.py: the source does not parse at line 1", "asks") == (more["more@1.0.0"], more["more@1.1.0"])


def test_what_only_a_part_made_ask_for(net, store):
    """A file that was asked for because another was not there yet is not among those that are locked."""
    swallowing = (
        '@audit.observation("wheel@{release}")\ndef more(wheel):\n    """More."""\n'
        '    try:\n        wheel.tree.module("shelf/unread.py")\n        wheel.tree.module("shelf/host.py")\n'
        '    except Exception:\n        return wheel.tree.module("shelf/loose.py").constant("LOOSE")\n'
        '    return wheel.tree.module("shelf/unread.py").constant("NOBODY")\n'
    )
    groves.served(net)
    files = groves.script(swallowing)
    report = groves.fetched(net, store, files=files)

    assert tuple(sorted((*READ, "shelf/host.py", "shelf/unread.py"))) == groves.members(report)
    assert digest_of(PACKAGE["shelf/loose.py"].encode()) in store.bodies
    assert "more@1.0.0 = asks" in list(groves.lines_of(groves.body(store, report.lock, files)))


def test_a_refusal_that_an_observation_swallows(net, store):
    """A script that catches whatever a reader raises does not hide from fetch that a file is missing."""
    swallowing = (
        '@audit.observation("wheel@{release}")\ndef more(wheel):\n    """More."""\n'
        '    try:\n        wheel.tree.module("shelf/unread.py")\n    except Exception:\n        pass\n'
        "    return _binder(wheel.tree)[0].seen\n"
    )
    groves.served(net)
    report = groves.fetched(net, store, files=groves.script(swallowing))

    assert tuple(sorted((*READ, "shelf/unread.py"))) == groves.members(report)


# Again


def test_everything_at_hand(net, store):
    """With lock and bytes at hand nothing is asked for, and the lock is the same to the byte."""
    groves.served(net)
    first = groves.fetched(net, store)
    net.forget()
    again = groves.fetched(net, store, first.lock)

    assert ([], ["at hand", "at hand"], first.lock) == (net.asked, _states(again), again.lock)


def test_a_fresh_store(net, store):
    """With a lock alone each wheel's end is asked for once and its files once each; the index, once for either."""
    groves.served(net, groves.wheels(padding=_SPREAD))
    lock = groves.fetched(net, store).lock
    net.forget()
    fresh = Shelf()
    report = groves.fetched(net, fresh, lock)

    assert (0, ["fetched", "fetched"], lock) == (report.exit_code, _states(report), report.lock)
    assert 2 == len(net.index.asked)
    for key in groves.RELEASES:
        ranges = sorted(asked.range or (0, 0) for asked in net.files.asked if key in asked.path)
        assert 1 == sum(
            last == len(net.released["shelf"][f"shelf-{key}-py3-none-any.whl"].body) - 1 for _, last in ranges
        )
        assert all(one[1] < other[0] for one, other in pairwise(ranges)), ranges
    assert groves.body(fresh, lock) == groves.body(store, lock)
    assert sum(cost.requests for cost in report.spent.values()) == len(net.asked)
    assert {"package index", "its file host"} == set(report.spent)


def test_rounds_ask_for_no_end_twice(net, store):
    """Following to closure asks for no piece of a wheel twice, however many rounds it takes."""
    groves.served(net, groves.wheels(padding=_SPREAD))
    groves.fetched(net, store)

    assert 2 < len(net.index.asked)
    for key in groves.RELEASES:
        ranges = [asked.range for asked in net.files.asked if key in asked.path]
        assert len(set(ranges)) == len(ranges)


def test_a_script_that_needs_fewer_files(net, store):
    """The lock shrinks with what is read, and grows with it; what is at hand is not asked for."""
    groves.served(net)
    more = groves.script(_reads("shelf/unread.py"))
    grown = groves.fetched(net, store, groves.fetched(net, store).lock, more)
    net.forget()
    shrunk = groves.fetched(net, store, grown.lock)

    assert ["locked", "locked"] == _states(grown) == _states(shrunk)
    assert tuple(sorted((*READ, "shelf/unread.py"))) == groves.members(grown)
    assert (READ, []) == (groves.members(shrunk), net.asked)


def test_a_lock_that_was_edited(net, store):
    """Whatever was made of a lock's files, fetch writes what RECORD states of what is read."""
    groves.served(net)
    lock = groves.fetched(net, store).lock
    entry = lock.by_id()["wheel@1.0.0"]
    first, *others = entry.members or ()
    for members in (
        others,
        [first.model_copy(update={"digest": "sha256:" + "0" * 64}), *others],
        [first.model_copy(update={"path": "shelf/nothing.py"}), *others],
    ):
        edited = lock.model_copy(
            update={"entries": (entry.model_copy(update={"members": tuple(members)}), *lock.entries[1:])}
        )
        assert lock == groves.fetched(net, store, edited).lock


def test_a_file_that_is_damaged_in_the_store(net, store):
    """Stored bytes that are not those of their digest are fetched again, alone."""
    groves.served(net)
    lock = groves.fetched(net, store).lock
    digest = digest_of(PACKAGE["shelf/base.py"].encode())
    store.bodies[digest] = b"class Sheet: pages = 5\n"
    report = groves.fetched(net, store, lock)

    assert (0, ["fetched", "fetched"], lock) == (report.exit_code, _states(report), report.lock)
    assert PACKAGE["shelf/base.py"].encode() == store.bodies[digest]


def test_a_fetch_that_is_killed(net):
    """What a killed fetch had received is not received again, and the lock comes out as it would have."""
    groves.served(net, groves.wheels(padding=_SPREAD))
    whole = groves.fetched(net, Shelf())
    before = len(net.files.asked)

    class Killed(BaseException):
        pass

    class Dying(Shelf):
        def put(self, body: bytes) -> str:
            if len(self.bodies) == 5:
                raise Killed
            return super().put(body)

    dying, store = Dying(), Shelf()
    with pytest.raises(Killed):
        groves.fetched(net, dying)
    store.bodies = dict(dying.bodies)
    net.forget()
    report = groves.fetched(net, store)

    assert whole.lock == report.lock
    assert 5 == len(dying.bodies)
    assert before > len(net.files.asked)


# What is wrong with a wheel


def _refused(net: Internet, store: Shelf, said: str, code: int) -> None:
    """The first tree is refused and not locked, the second one is locked, and what is wrong is said once."""
    report = groves.fetched(net, store)

    assert ([f"{HOME}sources.yaml:2: wheel@1.0.0: {said}"], code) == (_said(report), report.exit_code)
    assert ["failed", "locked"] == _states(report)
    assert ["wheel@1.1.0"] == list(report.lock.by_id())
    assert ["shelf-1.1.0-py3-none-any.whl"] == [artifact.file for artifact in report.lock.artifacts]


def _falsified(net: Internet, change: object, packages: Mapping[str, Mapping[str, str]] | None = None) -> None:
    found = dict(groves.wheels(packages))
    false = groves.wheels(packages, record=change)
    found["shelf-1.0.0-py3-none-any.whl"] = false["shelf-1.0.0-py3-none-any.whl"]
    groves.served(net, found)


def test_a_file_that_disagrees_with_record(net, store):
    """A wheel that does not agree with itself vouches for nothing."""
    text = PACKAGE["shelf/sewn.py"].encode()
    row = record_row("shelf/sewn.py", text)
    _falsified(net, lambda rows: rows.replace(row, record_row("shelf/sewn.py", text[:-1] + b"#")))

    _refused(
        net,
        store,
        "expected shelf/sewn.py as shelf-1.0.0-py3-none-any.whl's RECORD states it"
        f" ({digest_of(text[:-1] + b'#')}, {len(text)} bytes), found {digest_of(text)}, {len(text)} bytes\n"
        "    Don't rest anything on this member: the file does not agree with itself.",
        1,
    )


@pytest.mark.parametrize("digest", ["", "md5=1B2M2Y8AsgTpgAmY7PhCfg"])
def test_a_record_without_a_digest(net, store, digest):
    """A file of which RECORD states no sha256 is not read."""
    _falsified(net, lambda rows: "".join(_without_digest(row, digest) for row in rows.splitlines(True)))

    _refused(net, store, f"expected sha256 and size of shelf/registry.py in RECORD, found none\n{_UNVOUCHED}", 1)


def test_a_record_without_a_size(net, store):
    """Nor one of which it states no size, even where the store has its bytes already."""
    for text in PACKAGE.values():
        store.put(text.encode())
    _falsified(net, lambda rows: "".join(_without_size(row) for row in rows.splitlines(True)))

    _refused(net, store, f"expected sha256 and size of shelf/registry.py in RECORD, found none\n{_UNVOUCHED}", 1)


def _without_digest(row: str, digest: str) -> str:
    name, _, size = row.split(",")
    return f"{name},{digest},{size}" if name == "shelf/registry.py" else row


def _without_size(row: str) -> str:
    name, digest, _ = row.split(",")
    return f"{name},{digest},\n" if name == "shelf/registry.py" else row


def test_a_file_that_record_has_and_the_archive_lacks(net, store):
    """A file that is only said to be there is wrong for good."""
    ghost = {**PACKAGE, "shelf/sewn.py": "from shelf.ghost import Thread\n"}
    row = record_row("shelf/ghost.py", b"class Thread: ...\n")
    _falsified(net, lambda rows: row + rows, {"1.0.0": ghost, "1.1.0": PACKAGE})

    _refused(
        net,
        store,
        "expected shelf/ghost.py in the directory of shelf-1.0.0-py3-none-any.whl, found it in its RECORD only\n"
        "    Fetch again; if it stays, the file is damaged or not what the index lists.",
        1,
    )


def test_a_path_that_leads_out_of_the_wheel(net, store):
    """A RECORD that names files elsewhere is none."""
    row = record_row("shelf/../../passwords.py", b"")
    _falsified(net, lambda rows: row + rows)

    _refused(
        net,
        store,
        "expected paths inside the wheel in RECORD, found 'shelf/../../passwords.py'\n"
        "    Name the RECORD of a wheel, and after `tree:` a folder that it has.",
        1,
    )


def test_a_folder_that_the_wheel_does_not_have(net, store):
    """A tree without files is a mistake, not one of which everything is absent."""
    groves.served(net)
    report = groves.fetched(net, store, files=groves.changed("sources.yaml", "tree: shelf", "tree: shell"))

    assert [
        f"{HOME}sources.yaml:2: wheel@{key}: expected files below shell/ in RECORD, found none\n"
        "    Name the RECORD of a wheel, and after `tree:` a folder that it has."
        for key in groves.RELEASES
    ] == _said(report)
    assert (1, (), ()) == (report.exit_code, report.lock.entries, report.lock.artifacts)


def test_a_host_that_stops_answering(net, store):
    """Where it could not be told, the code is 3, one thing is said once, and a tree that was locked stays locked."""
    groves.served(net, groves.wheels(padding=_SPREAD))
    lock = groves.fetched(net, store).lock

    def only_the_end(asked: Asked, reply: Reply) -> Reply:
        ends = asked.range is not None and int(reply.head["Content-Range"].partition("/")[2]) == asked.range[1] + 1
        return reply if ends else Reply(status=503)

    for released in net.released["shelf"].values():
        released.ranged = only_the_end
    for before in (None, lock):
        report = groves.fetched(net, Shelf(), before)
        assert [f"wheel@{key}" for key in groves.RELEASES] == [
            said.problem.partition(":")[0] for said in report.problems
        ]
        for said in report.problems:
            parts = said.problem.partition(": ")[2].split("; ")
            assert len(set(parts)) == len(parts) < len(READ)
        assert (3, ["failed", "failed"]) == (report.exit_code, _states(report))
        assert (before or Lock(audit="bind")) == report.lock


# What is wrong with a script


def test_a_script_that_does_not_load(net, store):
    """What else was fetched is locked; no tree is, and what is wrong is said once."""
    plain = (
        "  - id: notes\n    purpose: Notes\n    role: first-party\n    mutability: immutable\n"
        "    expects: {type: text/plain, contains: started}\n    locators: [{file: fixtures/logs/quiet/press.log}]\n"
    )
    files = groves.changed("sources.yaml", "sources:\n", f"sources:\n{plain}")
    files = groves.script("nothing()", files=files)
    groves.served(net)
    report = groves.fetched(net, store, files=files)

    line = groves.line_of("nothing()", files)
    assert [
        f"{SCRIPT}:{line}: the script does not load: NameError: name 'nothing' is not defined\n    Mend the script."
    ] == _said(report)
    assert (1, ["locked", "failed", "failed"], ["notes"]) == (
        report.exit_code,
        _states(report),
        list(report.lock.by_id()),
    )
    locked = groves.fetched(net, store).lock
    again = groves.fetched(net, store, locked, groves.script("nothing()"))
    assert (1, locked, ["at hand", "at hand"]) == (again.exit_code, again.lock, _states(again))


@pytest.mark.parametrize("raised", ["1 / 0", "wheel.nothing", "[][0]", "more(wheel)", "None"])
def test_an_observation_that_raises(net, store, raised):
    """Whatever an observation meets is for a run to say: what the others read is locked."""
    groves.served(net)
    broken = f'@audit.observation("wheel@{{release}}")\ndef more(wheel):\n    """More."""\n    return {raised}\n'
    files = groves.script(broken)
    report = groves.fetched(net, store, files=files)

    assert (0, READ) == (report.exit_code, groves.members(report))


def test_a_script_that_crosses_its_boundary(net, store):
    """While it is followed, an audit is refused what it is refused when it runs."""
    groves.served(net)
    crossing = (
        '@audit.observation("wheel@{release}")\ndef more(wheel):\n    """More."""\n    import shelf\n    return shelf\n'
    )
    files = groves.script(crossing)
    report = groves.fetched(net, store, files=files)

    assert 1 == report.exit_code
    assert 1 == len(report.problems)
    assert report.problems[0].where.startswith(f"{SCRIPT}:")
    assert () == report.lock.entries


def test_a_script_that_asks_without_end(net, store):
    """A way that has no end is given up after so many rounds, and nothing of it is locked."""
    chain = {f"shelf/n{n}.py": f"from shelf.n{n + 1} import Thread\n" for n in range(9)}
    asking = (
        '@audit.observation("wheel@{release}")\ndef more(wheel):\n    """More."""\n    number = 0\n'
        '    while wheel.tree.exists(f"shelf/n{number}.py"):\n        seen = wheel.tree.module(f"shelf/n{number}.py")\n'
        '        number = number + 1\n    return wheel.tree.module("shelf/unread.py").constant("NOBODY")\n'
    )
    groves.served(net, groves.wheels(_packages(chain)))
    report = groves.fetched(net, store, files=groves.script(asking), rounds=6)

    assert [
        f"{HOME}sources.yaml:2: wheel@1.0.0: expected observations that come to an end, found one that still asks for"
        " shelf/n5.py after 6 rounds\n    Mend the observation: what it reads must follow from what it read before."
    ] == _said(report)
    assert ["wheel@1.1.0"] == list(report.lock.by_id())


# On the disk


def test_the_verb(net, tmp_path, monkeypatch):
    """`fetch` follows, `issue` and `build` stand on what it locked, and a fetch without a network is none."""
    groves.served(net)
    root = groves.written(tmp_path / "repository")
    environment = {"PIP_INDEX_URL": f"{net.index.url}/simple", "PIP_CONFIG_FILE": "/dev/null"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    said = demo.ran(root, "fetch")

    assert (0, 1) == (said.exit_code, said.output.count("bind: 2 sources: 2 locked\n")), said.output
    lock = (root / groves.LOCK).read_bytes()
    asked = len(net.asked)
    assert "bind: 2 sources: 2 at hand\n" == demo.ran(root, "fetch").output
    assert (asked, lock) == (len(net.asked), (root / groves.LOCK).read_bytes())
    assert 0 == demo.ran(root, "issue", "bind").exit_code
    done = demo.ran(root, "verify", "--require-bytes")
    assert (0, "1 audits and 1 guides verified: 2 sources hashed again, 0 taken as recorded\n") == (
        done.exit_code,
        done.output,
    )
    missing = digest_of(PACKAGE["shelf/base.py"].encode())
    (root / ".store/sha256" / missing[7:9] / missing[9:]).unlink()
    recorded = demo.ran(root, "verify")
    assert "1 audits and 1 guides verified: 0 sources hashed again, 2 taken as recorded\n" == recorded.output
    assert (
        "".join(
            f"evidence/bind/sources.lock: wheel@{key}: expected the bytes of {_record(root, key)} and of its 5 files,"
            " shelf/base.py among them, found none in the store\n    Run `python build.py fetch bind`.\n"
            for key in groves.RELEASES
        )
        == demo.ran(root, "verify", "--require-bytes").output
    )
    assert "bind: 2 sources: 2 fetched\n" in demo.ran(root, "fetch").output
    assert Store(root).has(missing)


def _record(root: Path, key: str) -> str:
    from site_builder.sources import read_lock

    lock: Lock = read_lock((root / groves.LOCK).read_bytes(), groves.LOCK)
    return str(lock.by_id()[f"wheel@{key}"].digest)
