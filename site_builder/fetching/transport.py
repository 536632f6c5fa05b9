"""The guarded transport: bytes from the network, whole or not at all, and only from where they may come.

Two doors. Addresses that content chose must be public at every hop; those that the operator chose may be
private, and lead only to hosts that the index itself named. Each name is resolved once, every address of it is
judged, the connection goes to a judged address under the name's own certificate. What the bytes mean is for
others to say.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpcore
import httpx

from site_builder.fetching.index import Index

INDEX: Final = "package index"
FILE_HOST: Final = "its file host"
CONTENT_HOST: Final = "host that content named"

_KIB = 1024
_MIB = 1024 * 1024
_TO_FOLLOW = frozenset({301, 302, 303, 307, 308})
_TO_RETRY = frozenset({408, 425, 429})
_TLS_NOT_YET_VALID = 9
_LATER = "Fetch again when the network and the host answer."
_SLICE = 0.5
"""Seconds after which a waiting read looks whether the run was given up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a reading may cost at most. Seconds and bytes."""

    connect: float = 10
    silence: float = 20
    reading: float = 60
    """In all, redirects and attempts included, waiting between attempts not."""
    slow_after: float = 10
    least_rate: float = 8 * _KIB
    redirects: int = 5
    attempts: int = 4
    longest_wait: float = 120
    spacing: float = 0.25
    """Between two requests to a host that content chose."""
    content_connections: int = 2
    index_connections: int = 4
    file_bytes: int = 64 * _MIB
    index_bytes: int = 8 * _MIB
    archive_bytes: int = 40 * _MIB
    """By ranges, of one wheel."""
    sdist_bytes: int = 512 * _MIB
    member_bytes: int = 16 * _MIB
    entries: int = 100_000
    ratio: int = 200


def _looked_up(host: str, port: int) -> Sequence[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What may be read, from where, under which limits. `build.py` passes it; nothing here decides it."""

    index: Index | None = None
    """None: found as pip finds it, when it is first needed."""
    ca_file: str | None = None
    """Certificates to trust; else those of the index's pip, else the system's."""
    trusted: frozenset[str] = frozenset()
    """`host:port` of addresses that content may name although they are private, plain or on another port."""
    limits: Limits = field(default_factory=Limits)
    resolve: Callable[[str, int], Sequence[str]] = _looked_up
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


class Unread(Exception):
    """A reading that yielded nothing: what was wrong, in words that name no address the operator chose."""

    def __init__(self, problem: str, remedy: str, exit_code: int = 3) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.exit_code = exit_code


class _Again(Exception):
    """An attempt that failed and may be repeated, after `wait` seconds if the host said so."""

    def __init__(self, problem: str, wait: float | None = None, *, unconnected: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.wait = wait
        self.unconnected = unconnected
        self.host: _Host | None = None


class _Refused(Exception):
    """The guard did not let a connection be made."""


class GivenUp(Exception):
    """The run was ended from outside."""


@dataclass(slots=True)
class Meter:
    """What was spent, by role: requests and bytes received, heads included. Used by one thread at a time."""

    spent: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, role: str, requests: int, received: int) -> None:
        """Count so many more for the role."""
        before = self.spent.get(role, (0, 0))
        self.spent[role] = (before[0] + requests, before[1] + received)

    @property
    def received(self) -> int:
        """The bytes of all roles, also while another thread counts."""
        return sum(received for _, received in list(self.spent.values()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A whole body as it was sent, and what its head said of it."""

    body: bytes
    media_type: str
    validators: tuple[str, str] = ("", "")
    contacted: tuple[str, ...] = ()


# The guard --------------------------------------------------------------------------------------------------

_NEVER_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "64:ff9b::/96",  # NAT64: any IPv4 address can hide in it
        "64:ff9b:1::/48",
        "2002::/16",  # 6to4: as NAT64
        "2001::/32",  # Teredo: as NAT64
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "fec0::/10",
        "192.88.99.0/24",
    )
)
"""What the standard library calls global, and is a way round the guard."""


def is_public(address: str) -> bool:
    """Whether the address is one of the public internet, in no disguise."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (
        found.is_global
        and not found.is_multicast
        and not found.is_reserved
        and not any(found in network for network in _NEVER_PUBLIC if network.version == found.version)
    )


def _is_inside(address: str) -> bool:
    """Whether it is an address of the operator's own network, never a link-local or odd one."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return found.is_private and not (
        found.is_link_local or found.is_multicast or found.is_unspecified or found.is_reserved
    )


@dataclass(slots=True)
class _Budget:
    """What is left of the reading that this thread is at."""

    deadline: float = 0.0
    received: int = 0


class _Stream(httpcore.NetworkStream):
    """A connection that counts what it receives, keeps to the deadline, and ends when the run is given up."""

    def __init__(self, inner: httpcore.NetworkStream, door: _Door) -> None:
        self._inner = inner
        self._door = door

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        budget, clock = self._door.budget(), self._door.policy.clock
        silent_until = clock() + (timeout if timeout is not None else _SLICE)
        while True:
            left = min(silent_until, budget.deadline) - clock()
            if left <= 0:
                raise httpcore.ReadTimeout
            if self._door.given_up.is_set():
                raise GivenUp
            # A read that is cut into slices can be taken up again; one that was ended can't.
            with contextlib.suppress(httpcore.ReadTimeout):
                received = self._inner.read(max_bytes, min(left, _SLICE))
                budget.received += len(received)
                return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout), self._door)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Connects to a judged address of a name, never to the name."""

    def __init__(self, door: _Door) -> None:
        self._door = door
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = self._door.resolved(host, port)
        if not addresses:
            raise httpcore.ConnectError
        self._door.judge(host, port, addresses)
        failed: httpcore.NetworkError | httpcore.TimeoutException = httpcore.ConnectError()
        for address in addresses:
            try:
                inner = self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                failed = error
            else:
                return _Stream(inner, self._door)
        raise failed

    def sleep(self, seconds: float) -> None:
        self._door.policy.sleep(seconds)


class _Door:
    """One of the two ways out: a pool of connections and the rule that judges them."""

    def __init__(self, policy: Policy, context: ssl.SSLContext, given_up: threading.Event) -> None:
        self.policy = policy
        self.given_up = given_up
        self._local = threading.local()
        self.transport = httpx.HTTPTransport(verify=context, trust_env=False)
        # httpx has no public way to give its pool a backend; a test counts what passes through this one.
        self.transport._pool = httpcore.ConnectionPool(
            ssl_context=context, max_connections=None, keepalive_expiry=15, network_backend=_Backend(self)
        )

    def budget(self) -> _Budget:
        """The budget of the reading that this thread is at."""
        if not hasattr(self._local, "budget"):
            self._local.budget = _Budget()
        found: _Budget = self._local.budget
        return found

    def resolved(self, host: str, port: int) -> Sequence[str]:
        """Every address of the name, or none. The system's own look-up knows no deadline, so it gets one."""
        found: list[str] = []

        def look_up() -> None:
            with contextlib.suppress(OSError, UnicodeError):
                found.extend(self.policy.resolve(host, port))

        asking = threading.Thread(target=look_up, daemon=True)
        asking.start()
        asking.join(self.policy.limits.connect)
        return [] if asking.is_alive() else list(dict.fromkeys(found))

    def judge(self, host: str, port: int, addresses: Sequence[str]) -> None:
        """Refuse the connection if one of the addresses is not allowed."""
        raise NotImplementedError

    def admit(self, url: httpx.URL, first: bool) -> None:
        """Refuse the address itself, before anything is looked up."""
        raise NotImplementedError


class _ContentDoor(_Door):
    """For addresses that content chose: public ones over https, and what the policy trusts."""

    def judge(self, host: str, port: int, addresses: Sequence[str]) -> None:
        if f"{host}:{port}" not in self.policy.trusted and not all(map(is_public, addresses)):
            raise _Refused(f"a public address of {host}, found one that is not public")

    def admit(self, url: httpx.URL, first: bool) -> None:  # noqa: ARG002
        if url.userinfo:
            raise _Refused(f"an address without a name and password, found one to {_shown(url)}")
        if f"{url.host}:{_port(url)}" in self.policy.trusted:
            return
        if url.scheme != "https" or _port(url) != 443:
            raise _Refused(f"an https address on the usual port, found {_shown(url)}")


class _OperatorDoor(_Door):
    """For the index and the hosts that its answers name, which may be private where the index itself is."""

    def __init__(
        self, policy: Policy, context: ssl.SSLContext, given_up: threading.Event, own: httpx.URL, rule: str
    ) -> None:
        super().__init__(policy, context, given_up)
        self._rule = rule
        self._own = (own.host, _port(own))
        self._named = {self._own}
        self._inside: bool | None = None

    def name(self, url: httpx.URL) -> None:
        """Let the host of this address be asked: the index named it."""
        self._named.add((url.host, _port(url)))

    def role(self, url: httpx.URL) -> str:
        return INDEX if (url.host, _port(url)) == self._own else FILE_HOST

    def judge(self, host: str, port: int, addresses: Sequence[str]) -> None:
        if (host, port) == self._own:
            self._inside = not all(map(is_public, addresses))
        elif not all(is_public(address) or (self._inside and _is_inside(address)) for address in addresses):
            raise _Refused("a public address, since the index itself has one, found one that is not public")

    def admit(self, url: httpx.URL, first: bool) -> None:
        if url.scheme not in ("http", "https"):
            raise _Refused("an address on the network, found one of another kind")
        if (url.host, _port(url)) not in self._named:
            raise _Refused(f"{self._rule}, found another one")
        if url.userinfo and not first:
            raise _Refused("an address without a name and password, found one with them")


def _shown(url: httpx.URL) -> str:
    """An address that content chose, as messages name it: without a password and what a query may hide."""
    return f"{url.scheme}://{url.host}{url.path if url.scheme in ('http', 'https') else ''}"


def _said(role: str) -> str:
    """The role as messages name it."""
    return {INDEX: f"the {INDEX}", FILE_HOST: f"the {INDEX}'s file host"}.get(role, role)


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


# Asking -----------------------------------------------------------------------------------------------------


class _Host:
    """One host's turn-taking: how many at once, how far apart, and until when it asked to be left alone."""

    def __init__(self, policy: Policy, connections: int, spacing: float, wait: Callable[[float], None]) -> None:
        self._policy = policy
        self._wait = wait
        self._turns = threading.Semaphore(connections)
        self._lock = threading.Lock()
        self._spacing = spacing
        self._free_at = 0.0
        self.closed: str | None = None
        """Why it is not asked any more in this run."""

    def hold(self, seconds: float) -> None:
        """Ask nothing of it for so long."""
        with self._lock:
            self._free_at = max(self._free_at, self._policy.clock() + seconds)

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until it may be asked, and keep others waiting while it is."""
        with self._turns:
            while True:
                with self._lock:
                    if self.closed is not None:
                        raise Unread(self.closed, _LATER)
                    wait = self._free_at - self._policy.clock()
                    if wait <= 0:
                        self._free_at = self._policy.clock() + self._spacing
                        break
                self._wait(wait)
            yield


class Transport:
    """Both doors, open for one run."""

    def __init__(
        self, policy: Policy, index: Index | None = None, rule: str = f"a host that the {INDEX} named"
    ) -> None:
        self._policy = policy
        self._limits = policy.limits
        self.given_up = threading.Event()
        context = _context(policy.ca_file or (index.ca_file if index else None))
        self._content = _ContentDoor(policy, context, self.given_up)
        self._operator: _OperatorDoor | None = None
        self._url: httpx.URL | None = None
        self._secret: tuple[str, str] | None = None
        if index is not None:
            self._url = _parsed(index.url)
            self._secret = (self._url.username, self._url.password) if self._url.userinfo else None
            self._operator = _OperatorDoor(policy, context, self.given_up, self._url, rule)
        self._hosts: dict[tuple[str, int], _Host] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Transport:
        return self

    def __exit__(self, *_: object) -> None:
        for door in filter(None, (self._content, self._operator)):
            door.transport.close()

    def content(self, url: str, meter: Meter) -> Answer:
        """Return the whole body behind an address that content chose.

        Raises:
            Unread: it is not to be had, or not to be asked for.
        """
        found = _parsed(url)
        return self._read(self._content, found, {}, self._limits.file_bytes, lambda hop: hop.host, meter)

    def operator(self, meter: Meter, most: int | None = None) -> Answer:
        """Return the whole body behind the address that the operator gave.

        Raises:
            Unread: it is not to be had.
        """
        door, url = self._chosen()
        return self._read(door, url, {}, most or self._limits.file_bytes, lambda _: "the address given", meter)

    def listing(self, project: str, accept: str, meter: Meter) -> Answer:
        """Return the index's page on a project.

        Raises:
            Unread: it is not to be had.
        """
        door, base = self._chosen()
        url = base.copy_with(path=f"{base.path.rstrip('/')}/{project}/")
        return self._read(door, url, {"Accept": accept}, self._limits.index_bytes, door.role, meter)

    def released(self, page: str, address: str) -> str:
        """Return the full address of a file that the index's page named, and let its host be asked.

        Raises:
            Unread: the address is not one that could be asked.
        """
        door, base = self._chosen()
        url = _parsed(address, base.copy_with(path=f"{base.path.rstrip('/')}/{page}/"))
        if url.scheme not in ("http", "https") or (base.scheme == "https" and url.scheme != "https"):
            raise Unread(
                f"expected the {INDEX} to name files over https, found another kind of address",
                "Ask whoever keeps the index.",
                1,
            )
        door.name(url)
        return str(url)

    def roles(self, url: str) -> tuple[str, ...]:
        """Return who is asked for a released file at this address."""
        door, _ = self._chosen()
        return tuple(dict.fromkeys((INDEX, door.role(_parsed(url)))))

    def piece(self, url: str, first: int, last: int, size: int, meter: Meter) -> Answer:
        """Return the bytes first to last of a released file of that size, exactly.

        Raises:
            Unread: they are not to be had, or the answer is another piece or of another file.
        """
        door, _ = self._chosen()
        wanted = {"Range": f"bytes={first}-{last}"}
        expected = (first, last, size)
        return self._read(door, _parsed(url), wanted, last - first + 1, door.role, meter, expected)

    def _chosen(self) -> tuple[_OperatorDoor, httpx.URL]:
        if self._operator is None or self._url is None:
            raise RuntimeError("no address of the operator was given")
        return self._operator, self._url

    def _wait(self, seconds: float) -> None:
        while seconds > 0:
            if self.given_up.is_set():
                raise GivenUp
            self._policy.sleep(min(seconds, _SLICE))
            seconds -= _SLICE

    def _host(self, url: httpx.URL, door: _Door) -> _Host:
        key = (url.host, _port(url))
        with self._lock:
            if key not in self._hosts:
                content = door is self._content
                self._hosts[key] = _Host(
                    self._policy,
                    self._limits.content_connections if content else self._limits.index_connections,
                    self._limits.spacing if content else 0.0,
                    self._wait,
                )
            return self._hosts[key]

    def _read(
        self,
        door: _Door,
        url: httpx.URL,
        headers: Mapping[str, str],
        most: int,
        role: Callable[[httpx.URL], str],
        meter: Meter,
        piece: tuple[int, int, int] | None = None,
    ) -> Answer:
        """Read with patience: what may pass is tried again, what is refused or denied is not."""
        spent, name = 0.0, _said(role(url))
        for attempt in range(1, self._limits.attempts + 1):
            started = self._policy.clock()
            try:
                return self._followed(door, url, headers, most, role, meter, piece, self._limits.reading - spent)
            except _Refused as refusal:
                raise Unread(f"expected {refusal}", "Correct the address, or leave the source out.") from None
            except _Again as again:
                spent += self._policy.clock() - started
                problem = f"expected an answer from {name}, found {again.problem}"
                if again.wait is not None and again.wait > self._limits.longest_wait:
                    problem = f"expected an answer from {name}, found that it asks to be left alone for longer"
                    if again.host:
                        again.host.closed = problem
                    raise Unread(problem, "Fetch again later.") from None
                if attempt == self._limits.attempts or spent >= self._limits.reading:
                    if again.unconnected and again.host:
                        # What stands at the same host would wait as long for nothing.
                        again.host.closed = problem
                    tried = f"{attempt} attempt{'s' if attempt > 1 else ''}"
                    raise Unread(f"{problem} ({tried})", _LATER) from None
                if again.wait is not None and again.host:
                    again.host.hold(again.wait)
                else:
                    self._wait(self._policy.jitter() * min(30.0, 0.5 * 2 ** (attempt - 1)))
        raise AssertionError("unreachable")

    def _followed(
        self,
        door: _Door,
        url: httpx.URL,
        headers: Mapping[str, str],
        most: int,
        role: Callable[[httpx.URL], str],
        meter: Meter,
        piece: tuple[int, int, int] | None,
        seconds: float,
    ) -> Answer:
        """One attempt: the redirects by hand, each judged as if it had been the first address."""
        contacted: list[str] = []
        chain: list[str] = []
        deadline: float | None = None
        for hop in range(self._limits.redirects + 1):
            try:
                door.admit(url, hop == 0)
            except _Refused as refusal:
                way = f" (redirected from {' to '.join(chain)})" if chain else ""
                raise _Refused(f"{refusal}{way}") from None
            name = role(url)
            chain.append(_shown(url) if door is self._content else _said(name))
            if name not in contacted:
                contacted.append(name)
            host = self._host(url, door)
            with host.turn():
                deadline = deadline or self._policy.clock() + seconds
                try:
                    found = self._asked(door, url, headers, most, name, meter, piece, deadline)
                except _Again as again:
                    again.host = host
                    raise
            if isinstance(found, Answer):
                return Answer(
                    body=found.body,
                    media_type=found.media_type,
                    validators=found.validators,
                    contacted=tuple(contacted),
                )
            if url.scheme == "https" and found.scheme != "https":
                raise _Refused(f"https to the end, found a redirect to another kind ({' to '.join(chain)})")
            url = found
        raise Unread(
            f"expected at most {self._limits.redirects} redirects, found more ({' to '.join(chain)})",
            "Write the address that the redirects lead to.",
        )

    def _asked(
        self,
        door: _Door,
        url: httpx.URL,
        headers: Mapping[str, str],
        most: int,
        name: str,
        meter: Meter,
        piece: tuple[int, int, int] | None,
        deadline: float,
    ) -> Answer | httpx.URL:
        """One request: the whole answer, or where it sends us."""
        budget = door.budget()
        budget.deadline, budget.received = deadline, 0
        limits = self._limits
        waits = {
            "connect": limits.connect,
            "read": limits.silence,
            "write": limits.silence,
            "pool": limits.silence,
        }
        request = httpx.Request("GET", url.copy_with(userinfo=b"", fragment=None), headers=self._headers(url, headers))
        request.extensions = {"timeout": waits}
        try:
            response = door.transport.handle_request(request)
            try:
                if _nearly_used_up(response.headers):
                    self._host(
                        url, door
                    ).closed = f"expected an answer from {_said(name)}, found that its quota is nearly used up"
                if response.status_code in _TO_FOLLOW:
                    return _target(response, url)
                _judge_head(response, _said(name), piece, most, self._limits)
                body = self._body(response, most, _said(name))
                if piece is not None and len(body) != piece[1] - piece[0] + 1:
                    raise _Again("less than the piece asked for")
            finally:
                response.close()
        except (httpx.HTTPError, httpcore.ProtocolError, ssl.SSLError, OSError) as error:
            raise _in_words(error, _said(name), self._policy.clock() >= deadline) from None
        finally:
            meter.add(CONTENT_HOST if door is self._content else name, 1, budget.received)
        head = response.headers
        return Answer(
            body=body,
            media_type=head.get("content-type", "").partition(";")[0].strip().lower(),
            validators=(head.get("etag", ""), head.get("last-modified", "")),
        )

    def _headers(self, url: httpx.URL, headers: Mapping[str, str]) -> dict[str, str]:
        # Any other encoding than identity would be decoded by somebody, and a cut one is not always noticed.
        sent = {"Accept": "*/*", **headers, "Accept-Encoding": "identity", "User-Agent": "evidence-site/0.1"}
        if (
            self._secret
            and self._url
            and (url.scheme, url.host, _port(url))
            == (
                self._url.scheme,
                self._url.host,
                _port(self._url),
            )
        ):
            sent["Authorization"] = "Basic " + base64.b64encode(":".join(self._secret).encode()).decode()
        return sent

    def _body(self, response: httpx.Response, most: int, name: str) -> bytes:
        clock, started = self._policy.clock, self._policy.clock()
        parts: list[bytes] = []
        received = 0
        for part in response.iter_raw():
            parts.append(part)
            received += len(part)
            if received > most:
                raise Unread(
                    f"expected at most {most} bytes from {name}, found more",
                    "Name a smaller file, or raise the limit.",
                )
            seconds = clock() - started
            if seconds > self._limits.slow_after and received < seconds * self._limits.least_rate:
                raise _Again("less than the least rate")
        declared = response.headers.get("content-length")
        if declared is not None and int(declared) != received:
            raise _Again(f"{received} bytes where {declared} were declared")
        return b"".join(parts)


def _context(ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError):
        raise Unread(
            "expected certificates where pip's cert or the policy names a file of them, found none",
            "Correct cert in pip's configuration (PIP_CERT).",
        ) from None


def _parsed(address: str, base: httpx.URL | None = None) -> httpx.URL:
    try:
        url = base.join(address) if base is not None else httpx.URL(address)
        if url.scheme in ("http", "https") and not url.raw_host:
            raise ValueError
    except (httpx.InvalidURL, ValueError, TypeError):
        raise Unread("expected an address, found something else", "Correct the address.", 1) from None
    return url


def _target(response: httpx.Response, url: httpx.URL) -> httpx.URL:
    location = response.headers.get("location", "")
    if not location:
        raise Unread("expected a redirect to say where, found none that does", "Write another address.")
    return _parsed(location, url)


def _judge_head(
    response: httpx.Response, name: str, piece: tuple[int, int, int] | None, most: int, limits: Limits
) -> None:
    """Refuse, or put off, an answer that is not the one asked for."""
    status, head = response.status_code, response.headers
    if status in _TO_RETRY or status >= 500:
        raise _Again(f"the status {status}", _asked_wait(head))
    if status == 403 and head.get("x-ratelimit-remaining") == "0":
        raise _Again("that its quota is used up", limits.longest_wait + 1)
    expected = 200 if piece is None else 206
    if status != expected:
        asked = "the whole file" if piece is None else "the piece asked for"
        raise Unread(
            f"expected {asked} from {name}, found the status {status}",
            "See whether it has moved or gone, and name another address.",
        )
    if head.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise Unread(
            f"expected the bytes as they are from {name}, found them encoded though that was not asked for",
            "Name an address that serves the file itself.",
        )
    declared = head.get("content-length")
    if declared is None and "chunked" not in head.get("transfer-encoding", "").lower():
        raise Unread(f"expected {name} to say how long its answer is, found no length", "Name an address that says it.")
    if declared is not None and declared.isdigit() and int(declared) > most:
        raise Unread(
            f"expected at most {most} bytes from {name}, found {declared} declared",
            "Name a smaller file, or raise the limit.",
        )
    if piece is not None:
        wanted = f"bytes {piece[0]}-{piece[1]}/{piece[2]}"
        if head.get("content-range", "").strip() != wanted:
            raise Unread(
                f"expected the piece asked for from {name}, found another, or one of another file",
                "Fetch again; if it stays, the file is not the one that the index lists.",
            )


def _nearly_used_up(head: httpx.Headers) -> bool:
    """Whether a tenth or less is left of what the host allows: the rest is left to others and to later."""
    allowed, left = head.get("x-ratelimit-limit", ""), head.get("x-ratelimit-remaining", "")
    return allowed[:12].isdigit() and left[:12].isdigit() and int(left[:12]) * 10 <= int(allowed[:12])


def _asked_wait(head: httpx.Headers) -> float | None:
    """How long the host asks us to wait. A date counts from the host's own clock; ours may be wrong."""
    asked = head.get("retry-after", "").strip()
    if asked.isdigit():
        return float(asked[:12])
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(asked) - parsedate_to_datetime(head["date"])).total_seconds())
    return None


def _in_words(error: Exception, name: str, late: bool) -> Exception:
    """What went wrong in our own words: an exception's text may hold an address."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            early = cause.verify_code == _TLS_NOT_YET_VALID
            hint = " that is not valid yet (is this machine's clock right?)" if early else ""
            return Unread(
                f"expected a certificate of {name} that is trusted, found one that is not{hint}",
                "Correct the clock, the name or the trusted certificates (pip's cert); it is never ignored.",
            )
        cause = cause.__cause__ or cause.__context__
    if late:
        return _Again("an answer too slow for the time allowed")
    if isinstance(error, httpx.ConnectTimeout):
        return _Again("no connection in time", unconnected=True)
    if isinstance(error, httpx.ConnectError):
        return _Again("no connection", unconnected=True)
    if isinstance(error, httpx.TimeoutException):
        return _Again("silence")
    return _Again("an answer that broke off")
