"""The guarded transport against hosts that misbehave: nothing half, nothing endless, nothing from elsewhere."""

from __future__ import annotations

import datetime as dt
import gzip
import resource
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from site_builder.errors import UnreachableError
from site_builder.fetching import FetchReport, Index, Policy, fetch, read_url
from site_builder.sources import Lock, Source
from tests.simulators import QUICK, Host, Internet, Reply, Shelf, internet, sources, wheel

BODY = b"THRESHOLD = 32\nprint('kernel')\n" * 40
WHEEL = "demo-1.0-py3-none-any.whl"
AGAIN = "    Fetch again when the network and the host answer."

_connected: list[Any] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        _connected.append(arguments[1])


sys.addaudithook(_hook)


def _no_file(path: str) -> bytes:
    raise FileNotFoundError(path)


@pytest.fixture
def net() -> Iterator[Internet]:
    """An internet on loopback."""
    with internet() as made:
        yield made


def found(net: Internet, url: str = "") -> Sequence[Source]:
    """One https source."""
    return sources(
        "id: kernel, mutability: immutable, expects: {type: text/x-python, contains: kernel},"
        f" locators: [{{https: '{url or net.web.url + '/kernel.py'}'}}]"
    )


def run(
    net: Internet, which: Sequence[Source] = (), policy: Policy | None = None, workers: int = 4
) -> tuple[FetchReport, Shelf]:
    """Fetch into an empty store."""
    store = Shelf()
    report = fetch(
        which or found(net),
        Lock(audit="demo"),
        store,
        policy or net.policy(),
        now="2026-12-01T12:00:00Z",
        read_file=_no_file,
        workers=workers,
    )
    return report, store


def problem(net: Internet, which: Sequence[Source] = (), policy: Policy | None = None) -> str:
    """What is said of the one source, once nothing was kept of it."""
    report, store = run(net, which, policy)
    (only,) = report.problems
    assert {} == store.bodies
    assert () == report.lock.entries
    assert 3 == report.exit_code
    return str(only).removeprefix("sources.yaml:2: kernel: ")


def unanswered(fault: str) -> str:
    """The message after four attempts."""
    return f"expected an answer from web.test, found {fault} (4 attempts)\n{AGAIN}"


# Half and endless answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=BODY, sent=100),
        Reply(body=BODY, sent=0),
        Reply(body=BODY, sent=100, reset=True),
        Reply(body=BODY, chunked=True, sent=100),
        Reply(body=BODY, declared=len(BODY) + 1, sent=len(BODY)),
        Reply(raw=b""),
        Reply(raw=b"SSH-2.0-OpenSSH_9.2\r\n"),
        Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nkernel"),
        Reply(raw=b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n"),
        Reply(body=BODY, chunked=True, sent=100, reset=True),
    ],
    ids=["short", "empty", "reset", "chunk", "one more", "nothing", "ssh", "length", "head", "chunk reset"],
)
def test_answer_breaks_off(net, reply):
    """An answer that ends before its declared end, or is none, is not stored; it is asked for four times in all."""
    net.web.routes["/kernel.py"] = reply

    assert unanswered("an answer that broke off") == problem(net)
    assert 4 == len(net.web.asked)
    assert [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5] == net.clock.slept


def test_answer_without_a_length(net):
    """An answer that does not say how long it is could be cut without a trace."""
    net.web.routes["/kernel.py"] = Reply(body=BODY, declared=None)

    assert (
        "expected web.test to say how long its answer is, found no length\n    Name an address that says it."
    ) == problem(net)
    assert 1 == len(net.web.asked)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=gzip.compress(bytes(50_000_000)), head={"Content-Encoding": "gzip"}),
        Reply(body=gzip.compress(BODY)[:-9], head={"Content-Encoding": "gzip"}),
        Reply(body=gzip.compress(gzip.compress(BODY)), head={"Content-Encoding": "gzip, gzip"}),
        Reply(body=BODY, head={"Content-Encoding": "zstd"}),
    ],
    ids=["bomb", "cut", "nested", "label"],
)
def test_encoded_answer(net, reply):
    """Only the bytes as they are were asked for: anything else is refused before it is decoded."""
    net.web.routes["/kernel.py"] = reply
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert (
        "expected the bytes as they are from web.test, found them encoded though that was not asked for\n"
        "    Name an address that serves the file itself."
    ) == problem(net)
    assert 16 * 1024 > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


@pytest.mark.parametrize(
    ("reply", "found_"),
    [
        (Reply(endless=True), "more"),
        (Reply(body=b"", declared=10 * 2**30), f"{10 * 2**30} declared"),
        (Reply(body=bytes(1_000_001)), "1000001 declared"),
    ],
    ids=["endless", "ten gigabytes", "one too many"],
)
def test_too_large_an_answer(net, reply, found_):
    """An answer stops at the limit, whatever it declares, and is not asked for again."""
    net.web.routes["/kernel.py"] = reply
    limits = _limits(file_bytes=1_000_000)

    report, _ = run(net, policy=net.policy(limits=limits))

    assert [
        f"sources.yaml:2: kernel: expected at most 1000000 bytes from web.test, found {found_}\n"
        "    Name a smaller file, or raise the limit."
    ] == list(map(str, report.problems))
    assert 1 == len(net.web.asked)
    assert 1_000_000 + 2 * 65536 + 4096 > report.spent["host that content named"].bytes


def _limits(**changed: Any) -> Any:
    return replace(QUICK, **changed)


def _thinking(_: object) -> Reply:
    time.sleep(0.6)
    return Reply(body=BODY)


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (Reply(body=BODY, stall=True), "silence"),
        (Reply(body=BODY, pause=0.05), "less than the least rate"),
        (_thinking, "silence"),
    ],
    ids=["stall", "drip", "thinking"],
)
def test_slow_answer(net, reply, fault):
    """Silence, a drip and an endless thought end within the time allowed; what was received counts for nothing."""
    net.web.routes["/kernel.py"] = reply
    started = time.monotonic()

    said = problem(net, policy=net.policy(limits=_limits(silence=0.3, reading=1.5, attempts=2)))

    assert f"expected an answer from web.test, found {fault} (2 attempts)\n{AGAIN}" == said
    assert 3 > time.monotonic() - started


def test_drip_of_the_head(net):
    """A head that comes byte by byte is no silence, and ends with the time allowed all the same."""

    def drip() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            ports.append(server.getsockname()[1])
            ready.set()
            connection, _ = server.accept()
            with connection:
                for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200:
                    try:
                        connection.sendall(bytes([byte]))
                    except OSError:
                        return
                    time.sleep(0.05)

    ports: list[int] = []
    ready = threading.Event()
    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    ready.wait(5)
    authority = f"web.test:{ports[0]}"
    policy = net.policy(trusted=frozenset({authority}), limits=_limits(silence=0.3, reading=0.8, attempts=1))
    started = time.monotonic()

    said = problem(net, found(net, f"http://{authority}/kernel.py"), policy)

    assert (
        f"expected an answer from web.test, found an answer too slow for the time allowed (1 attempt)\n{AGAIN}" == said
    )
    assert 2 > time.monotonic() - started


def test_run_is_given_up(net):
    """An interrupted run does not wait for hosts that are silent."""
    net.web.routes["/kernel.py"] = Reply(body=BODY, stall=True)
    net.web.routes["/other.py"] = Reply(body=BODY)
    both = (*found(net, net.web.url + "/kernel.py"), *found(net, net.web.url + "/other.py"))
    both = (both[0], replace(both[1], id="other"))
    started = time.monotonic()

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(
            both,
            Lock(audit="demo"),
            Shelf(),
            net.policy(limits=_limits(silence=20, reading=60)),
            now="2026-12-01T12:00:00Z",
            read_file=_no_file,
            progress=interrupt,
        )

    assert 2 > time.monotonic() - started


# Status ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [204, 206, 304, 400, 401, 403, 404, 405, 410, 451])
def test_status_that_is_no_answer(net, status):
    """What is denied, gone or not what was asked for is not asked for again."""
    net.web.routes["/kernel.py"] = Reply(body=b"" if status in (204, 304) else BODY, status=status)

    assert (
        f"expected the whole file from web.test, found the status {status}\n"
        "    See whether it has moved or gone, and name another address."
    ) == problem(net)
    assert 1 == len(net.web.asked)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_status_that_may_pass(net, status):
    """What may pass is asked for again, four times in all."""
    net.web.routes["/kernel.py"] = Reply(status=status)

    assert unanswered(f"the status {status}") == problem(net)
    assert 4 == len(net.web.asked)


def test_burst_of_failures_passes(net):
    """An answer after failures is an answer."""
    net.web.routes["/kernel.py"] = [Reply(status=503), Reply(body=BODY, sent=5), Reply(body=BODY)]

    report, _ = run(net)

    assert 0 == report.exit_code
    assert 3 == len(net.web.asked) == report.spent["host that content named"].requests


@pytest.mark.parametrize(
    ("head", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "Mon, 30 Nov 2026 23:01:00 GMT", "Date": "Mon, 30 Nov 2026 23:00:10 GMT"}, 50),
        ({"Retry-After": "120"}, 120),
    ],
    ids=["seconds", "date", "longest"],
)
def test_host_asks_to_be_left_alone(net, head, seconds):
    """Nobody asks the host before the time that it named, whichever source it said it to."""
    net.web.routes["/kernel.py"] = [Reply(status=429, head=head), Reply(body=BODY)]

    report, _ = run(net)

    assert 0 == report.exit_code
    assert 2 == len(net.web.asked)
    assert seconds <= net.web.asked[1].at - net.web.asked[0].at < seconds + 2


@pytest.mark.parametrize(
    ("status", "head"),
    [
        (429, {"Retry-After": "121"}),
        (503, {"Retry-After": "31536000"}),
        (429, {"Retry-After": "9" * 400}),
        (403, {"X-RateLimit-Remaining": "0"}),
    ],
    ids=["too long", "a year", "huge", "quota"],
)
def test_host_asks_to_be_left_alone_for_longer(net, status, head):
    """A longer wait is the next run's: the host is asked nothing more in this one."""
    net.web.routes["/kernel.py"] = Reply(status=status, head=head)
    two = sources(
        *(
            f"id: k{number}, mutability: immutable, expects: {{type: text/x-python, contains: kernel}},"
            f" locators: [{{https: '{net.web.url}/kernel.py'}}]"
            for number in range(2)
        )
    )
    store = Shelf()
    report = fetch(two, Lock(audit="demo"), store, net.policy(), now="x", read_file=_no_file, workers=1)

    said = "expected an answer from web.test, found that it asks to be left alone for longer"
    assert [f"k0: {said}", f"k1: {said}"] == [found.problem for found in report.problems]
    assert 3 == report.exit_code
    assert 1 == len(net.web.asked)
    assert 0.01 > sum(net.clock.slept)


def test_quota_that_is_nearly_used_up(net):
    """The last tenth of what a host allows is left alone: what was answered counts, nothing more is asked."""
    head = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "6"}
    net.web.routes["/kernel.py"] = Reply(body=BODY, head=head)
    two = (*found(net), replace(found(net)[0], id="other"))

    report, _ = run(net, two, workers=1)

    assert ["locked", "failed"] == [outcome.state for outcome in report.outcomes]
    assert ["other: expected an answer from web.test, found that its quota is nearly used up"] == [
        found.problem for found in report.problems
    ]
    assert 1 == len(net.web.asked)


# Redirects and addresses -----------------------------------------------------------------------------------------


def test_redirect_within_what_is_allowed(net):
    """A redirect to an address that could have been named is followed, and every host on the way is named."""
    net.web.routes["/kernel.py"] = Reply(status=302, head={"Location": "/moved"})
    net.web.routes["/moved"] = Reply(status=308, head={"Location": f"http://also.test:{net.files.port}/here"})
    net.files.routes["/here"] = Reply(body=BODY)
    trusted = frozenset({net.web.authority, f"also.test:{net.files.port}"})

    report, _ = run(net, policy=net.policy(trusted=trusted))

    assert ("web.test", "also.test") == report.lock.entries[0].contacted
    assert net.web.url + "/kernel.py" == report.lock.entries[0].origin


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("https://169.254.169.254/latest", "a public address of 169.254.169.254, found one that is not public"),
        ("https://127.0.0.1/", "a public address of 127.0.0.1, found one that is not public"),
        ("https://localhost/", "a public address of localhost, found one that is not public"),
        ("http://code.example/", "an https address on the usual port, found http://code.example/"),
        ("https://code.example:8443/x", "an https address on the usual port, found https://code.example/x"),
        ("file:///etc/passwd", "an https address on the usual port, found file://"),
        ("gopher://code.example/", "an https address on the usual port, found gopher://code.example"),
        (
            "https://name:secret@code.example/x?token=1",
            "an address without a name and password, found one to https://code.example/x",
        ),
    ],
)
def test_redirect_to_where_content_may_not_go(net, target, said):
    """Each hop is judged as the first one is; nothing is connected to, and the way there is told."""
    net.names.update(
        {"169.254.169.254": ["169.254.169.254"], "localhost": ["127.0.0.1"], "code.example": ["127.0.0.1"]}
    )
    net.web.routes["/kernel.py"] = Reply(status=302, head={"Location": target})
    _connected.clear()

    told = problem(net)

    assert told.startswith(f"expected {said}")
    assert "secret" not in told
    assert "token" not in told
    assert {("127.0.0.1", net.web.port)} == set(_connected)


def test_redirect_from_https_to_http(secure):
    """What began over https does not end in the open."""
    plain = Host()
    secure.web.routes["/kernel.py"] = Reply(status=302, head={"Location": f"http://plain.test:{plain.port}/"})
    trusted = frozenset({secure.web.authority, f"plain.test:{plain.port}"})

    said = problem(secure, policy=secure.policy(trusted=trusted))

    assert "expected https to the end, found a redirect to another kind (https://web.test/kernel.py)" in said
    assert [] == plain.asked
    plain.close()


def test_redirects_without_end(net):
    """At most five redirects are followed."""
    net.web.routes["/kernel.py"] = Reply(status=301, head={"Location": "/kernel.py"})

    way = " to ".join(["http://web.test/kernel.py"] * 6)
    assert (
        f"expected at most 5 redirects, found more ({way})\n    Write the address that the redirects lead to."
    ) == problem(net)
    assert 6 == len(net.web.asked)


def test_redirect_that_says_not_where(net):
    """A redirect without a target is no answer."""
    net.web.routes["/kernel.py"] = Reply(status=302)

    assert ("expected a redirect to say where, found none that does\n    Write another address.") == problem(net)


NOT_PUBLIC = (
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.254",
    "127.0.0.1",
    "127.1.2.3",
    "127.255.255.255",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::",
    "2002:a9fe:a9fe::",
    "fc00::1",
    "fd00::1",
    "fdff:ffff::1",
    "fe80::1",
    "fe80::1%eth0",
    "fe80::1%1",
    "fec0::1",
    "ff00::1",
    "ff02::1",
    "ff0e::1",
    "not-an-address",
    "1.2.3",
    "0x7f.1",
    "1.2.3.4.5",
    "2130706433",
)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_name_of_an_address_that_is_not_public(net, address):
    """A name that content chose may not lead into the operator's network, in whatever notation."""
    net.names["code.example"] = [address]
    _connected.clear()

    assert (
        "expected a public address of code.example, found one that is not public\n"
        "    Correct the address, or leave the source out."
    ) == problem(net, found(net, "https://code.example/kernel.py"))
    assert [] == _connected


@pytest.mark.parametrize("addresses", [["8.8.8.8", "127.0.0.1"], ["10.0.0.1", "8.8.8.8"]])
def test_name_of_public_and_other_addresses(net, addresses):
    """One address that is not public condemns the name."""
    net.names["code.example"] = addresses
    _connected.clear()

    assert "found one that is not public" in problem(net, found(net, "https://code.example/kernel.py"))
    assert [] == _connected


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "127.1",
        "localhost",
        "localhost.",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ],
)
def test_ways_to_write_this_machine(net, host):
    """The system's own look-up decides what a host means: no notation of this machine passes."""
    _connected.clear()
    policy = Policy(limits=_limits(attempts=1), sleep=net.clock.sleep)

    said = problem(net, found(net, f"https://{host}/kernel.py"), policy)

    assert "found one that is not public" in said or "found no connection" in said
    # A look-up of a numeric name may connect a datagram socket to sort addresses, which sends nothing.
    assert [] == [address for address in _connected if address[1] == 443]


def test_name_that_changes_its_address(net):
    """A name is looked up once for a connection, and the connection goes to the address that was judged."""
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    asked: list[str] = []

    def resolve(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        return answers[min(len(asked), 2) - 1]

    net.web.routes["/kernel.py"] = Reply(body=BODY)
    _connected.clear()

    report, _ = run(net, policy=net.policy(resolve=resolve))

    assert 0 == report.exit_code
    assert ["web.test"] == asked
    assert [("127.0.0.1", net.web.port)] == _connected


def test_name_is_looked_up_without_end(net):
    """A look-up that does not come back ends with the time for a connection."""
    stuck = threading.Event()

    def resolve(_host: str, _port: int) -> Sequence[str]:
        stuck.wait(5)
        return []

    started = time.monotonic()

    said = problem(net, policy=net.policy(resolve=resolve, limits=_limits(connect=0.2, attempts=2)))

    stuck.set()
    assert f"expected an answer from web.test, found no connection (2 attempts)\n{AGAIN}" == said
    assert 2 > time.monotonic() - started


@pytest.mark.parametrize("url", ["http://code.example/", "https://code.example:444/", "https://a:b@code.example/"])
def test_address_that_content_may_not_name(net, url):
    """Content names https addresses on the usual port, without a password."""
    assert problem(net, found(net, url)).startswith("expected an")
    assert [] == net.resolved


# The operator's addresses ----------------------------------------------------------------------------------------


def release(net: Internet, **stated: Any) -> Sequence[Source]:
    """A source in a wheel."""
    net.release(WHEEL, wheel({"demo/kernel.py": BODY}), **stated)
    return sources(
        "id: kernel, mutability: immutable, expects: {type: text/x-python, contains: kernel}, locators:"
        f" [{{release: {{project: demo, version: '1.0', file: {WHEEL}, member: demo/kernel.py}}}}]"
    )


def test_operator_addresses_are_not_let_in_for_content(net):
    """That the index may be private lets no source name its host."""
    release(net)
    url = f"https://127.0.0.1:{net.index.port}/simple/demo/"

    assert problem(net, found(net, url)).startswith("expected an https address on the usual port")
    assert [] == net.index.asked


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_index_redirects_elsewhere(net, status):
    """From the index only hosts that it named are followed, and its message names no host."""
    which = release(net)
    net.index.routes["/simple/demo/"] = Reply(status=status, head={"Location": f"{net.web.url}/simple"})

    assert (
        "expected a host that the package index named, found another one (redirected from the package index)\n"
        "    Correct the address, or leave the source out."
    ) == problem(net, which)
    assert [] == net.web.asked


def test_index_redirects_to_itself(net):
    """A redirect of the index to another path of its own is followed."""
    which = release(net)
    net.index.routes["/real"] = net.index.routes["/simple/demo/"]
    net.index.routes["/simple/demo/"] = Reply(status=308, head={"Location": "/real"})

    assert 0 == run(net, which)[0].exit_code


def test_public_index_names_a_private_file_host(net):
    """Where the index has a public address, a file host inside the operator's network is not its to name."""
    which = release(net)
    addresses = {"index.example": ["8.8.8.8"], "127.0.0.1": ["127.0.0.1"]}
    from site_builder.fetching.transport import Meter, Transport, Unread

    policy = net.policy(resolve=lambda host, _: addresses[host])
    transport = Transport(policy, Index(url=f"{net.index.url}/simple"))
    door = transport._operator
    assert door is not None
    door._inside = False
    url = transport.released("demo", f"http://127.0.0.1:{net.files.port}/packages/{WHEEL}")

    with pytest.raises(Unread, match="a public address, since the index itself has one"):
        transport.piece(url, 0, 9, 10, Meter())
    assert [] == net.files.asked
    assert which


@pytest.mark.parametrize("address", ["169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1"])
def test_private_index_names_an_odd_file_host(net, address):
    """Even a private index may name only hosts of an ordinary network."""
    net.names["odd.test"] = [address]
    which = release(net, url=f"http://odd.test/{WHEEL}")
    _connected.clear()

    assert "found one that is not public" in problem(net, which)
    assert {net.index.port} == {port for _, port, *_ in _connected}


def test_password_goes_to_the_index_alone(net):
    """The name and password of the index's address go to the index, and to nobody else."""
    which = release(net)
    index = Index(url=net.index.url.replace("//", "//name:p%40ss@") + "/simple")

    report, _ = run(net, which, net.policy(index=index))

    assert 0 == report.exit_code
    assert {"Basic bmFtZTpwQHNz"} == {asked.head.get("authorization") for asked in net.index.asked}
    assert {None} == {asked.head.get("authorization") for asked in net.files.asked}
    assert "p@ss" not in repr(net.policy(index=index))


def test_cookies_are_not_kept(net):
    """Nothing that a host says is carried to the next request."""
    net.web.routes["/kernel.py"] = [Reply(status=503, head={"Set-Cookie": "a=b"}), Reply(body=BODY)]

    run(net)

    assert {None} == {asked.head.get("cookie") for asked in net.web.asked}


@pytest.mark.parametrize(
    ("ranged", "fault"),
    [
        (lambda _asked, _reply: Reply(body=bytes(5000)), "the piece asked for from {}, found the status 200"),
        (
            lambda _, reply: Reply(body=reply.body, status=206, head={"Content-Range": "bytes 0-9/10"}),
            "the piece asked for from {}, found another, or one of another file",
        ),
        (
            lambda _, reply: Reply(body=reply.body, status=206),
            "the piece asked for from {}, found another, or one of another file",
        ),
        (
            lambda _, reply: Reply(
                body=reply.body,
                status=206,
                head={"Content-Range": reply.head["Content-Range"].rpartition("/")[0] + "/999999"},
            ),
            "the piece asked for from {}, found another, or one of another file",
        ),
        (
            lambda _, reply: Reply(body=reply.body[:-1], status=206, head=reply.head),
            "an answer from {}, found less than the piece asked for (4 attempts)",
        ),
        (lambda _asked, _reply: Reply(status=416), "the piece asked for from {}, found the status 416"),
    ],
    ids=["ignored", "another", "none", "size", "short", "unsatisfiable"],
)
def test_piece_that_was_not_asked_for(net, ranged, fault):
    """A file host that answers with another piece, the whole or another file's piece is not believed."""
    which = release(net)
    net.released["demo"][WHEEL].ranged = ranged

    assert problem(net, which).startswith("expected " + fault.format("the package index's file host"))


def test_file_changes_between_two_pieces(net):
    """Pieces of two versions of a file make no file."""
    body = wheel({"demo/kernel.py": BODY, "demo/other.py": b"kernel"}, padding=1_200_000)
    net.release(WHEEL, body)
    tags = iter("ab")
    net.released["demo"][WHEEL].ranged = lambda _, reply: Reply(
        body=reply.body, status=206, head={**reply.head, "ETag": f'"{next(tags)}"'}
    )
    which = sources(
        "id: kernel, mutability: immutable, expects: {type: text/x-python, contains: kernel}, locators:"
        f" [{{release: {{project: demo, version: '1.0', file: {WHEEL}, member: demo/kernel.py}}}}]"
    )

    assert (
        f"expected {WHEEL} to stay as it is, found that it changed meanwhile\n"
        "    Fetch again; if it stays, the file is damaged or not what the index lists."
    ) == problem(net, which)


# TLS -------------------------------------------------------------------------------------------------------------

_CA = trustme.CA()
_NOW = dt.datetime.now(dt.UTC)
_NAMES = ("index.test", "files.test", "web.test")


def _served(ca: trustme.CA = _CA, names: Sequence[str] = _NAMES, **validity: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(*names, **validity).configure_cert(context)
    return context


@pytest.fixture
def ca_file(tmp_path: Path) -> str:
    """The certificate that is trusted."""
    path = tmp_path / "ca.pem"
    _CA.cert_pem.write_to_path(str(path))
    return str(path)


@pytest.fixture
def secure(ca_file: str) -> Iterator[Internet]:
    """An internet over TLS."""
    with internet(_served(), ca_file) as made:
        yield made


def test_tls_with_the_right_name(secure):
    """The certificates of pip's cert are trusted, for the index, its file host and content."""
    secure.web.routes["/kernel.py"] = Reply(body=BODY)
    which = (*found(secure), replace(release(secure)[0], id="wheel"))

    report, _ = run(secure, which)

    assert 0 == report.exit_code
    assert {"its file host": 1, "package index": 1, "host that content named": 1} == {
        role: cost.requests for role, cost in report.spent.items()
    }


UNTRUSTED = (
    "expected a certificate of web.test that is trusted, found one that is not{}\n"
    "    Correct the clock, the name or the trusted certificates (pip's cert); it is never ignored."
)


@pytest.mark.parametrize(
    ("context", "hint"),
    [
        (_served(names=["other.test"]), ""),
        (_served(trustme.CA()), ""),
        (_served(not_before=_NOW - dt.timedelta(9), not_after=_NOW - dt.timedelta(1)), ""),
        (
            _served(not_before=_NOW + dt.timedelta(1), not_after=_NOW + dt.timedelta(9)),
            " that is not valid yet (is this machine's clock right?)",
        ),
    ],
    ids=["name", "authority", "expired", "not yet valid"],
)
def test_certificate_that_is_not_trusted(ca_file, context, hint):
    """A certificate is never ignored, and a reading is not tried again without one."""
    with internet(context, ca_file) as net:
        net.web.routes["/kernel.py"] = Reply(body=BODY)

        assert UNTRUSTED.format(hint) == problem(net)
        assert [] == net.web.asked
        assert [] == net.clock.slept


def test_tls_of_another_age(ca_file):
    """A host that speaks only an old TLS is not spoken to."""
    context = _served()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = ssl.TLSVersion.TLSv1_1
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with internet(context, ca_file) as net:
        assert unanswered("no connection") == problem(net)
        assert [] == net.web.asked


def test_silence_in_the_handshake(net):
    """A host that accepts and says nothing of TLS is left within the time for a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        authority = f"web.test:{server.getsockname()[1]}"
        policy = net.policy(trusted=frozenset({authority}), limits=_limits(connect=0.3, attempts=2))
        started = time.monotonic()

        said = problem(net, found(net, f"https://{authority}/kernel.py"), policy)

    assert f"expected an answer from web.test, found no connection in time (2 attempts)\n{AGAIN}" == said
    assert 2 > time.monotonic() - started


def test_no_file_of_certificates(net):
    """A cert that can't be read is said to be so."""
    said = problem(net, policy=net.policy(ca_file="/nowhere/ca.pem"))

    assert (
        "expected certificates where pip's cert or the policy names a file of them, found none\n"
        "    Correct cert in pip's configuration (PIP_CERT)."
    ) == said


# The address given to verify -------------------------------------------------------------------------------------


def test_address_that_the_operator_gave(net):
    """It may be private and plain; its bytes are returned."""
    net.files.routes["/receipt.json"] = Reply(body=b"{}")

    assert b"{}" == read_url(net.files.url + "/receipt.json", net.policy())


def test_address_that_the_operator_gave_leads_elsewhere(net):
    """It leads to no other host, and the message names none."""
    net.files.routes["/receipt.json"] = Reply(status=302, head={"Location": net.web.url})

    with pytest.raises(UnreachableError) as caught:
        read_url(net.files.url + "/receipt.json", net.policy())
    assert (
        "the address given: expected the host of the address given, found another one"
        " (redirected from the address given)\n    Correct the address, or leave the source out."
    ) == str(caught.value)
    assert [] == net.web.asked
