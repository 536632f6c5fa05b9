"""An internet on loopback: hosts that answer as told, a package index, a file host with ranges; and a store.

Every attack is a switch of the reply that makes it. Nothing here imports the code under test but its public names.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import re
import socket
import ssl
import tarfile
import threading
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from site_builder.errors import SourceError
from site_builder.fetching import Index, Limits, Policy
from site_builder.sources import Source, read_lists, read_sources

SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"


def digest_of(body: bytes) -> str:
    """The digest as locks write it."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a host answers, and how it misbehaves while it does."""

    body: bytes = b""
    status: int = 200
    head: Mapping[str, str] = field(default_factory=dict)
    declared: int | str | None = "right"
    """The Content-Length: the right one, another one, or None for no length at all."""
    chunked: bool = False
    sent: int | None = None
    """How many bytes of the body go out before the connection is cut; None for all."""
    reset: bool = False
    """The cut is a reset."""
    pause: float = 0.0
    """Seconds between one byte and the next."""
    stall: bool = False
    """Nothing comes after the head."""
    endless: bool = False
    """Chunks without end."""
    raw: bytes | None = None
    """What goes out in place of an answer."""


Route = Reply | Callable[["Asked"], Reply]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request that a host received."""

    method: str
    path: str
    head: Mapping[str, str]
    at: float

    @property
    def range(self) -> tuple[int, int] | None:
        """First and last byte asked for."""
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.head.get("range", ""))
        return (int(match.group(1)), int(match.group(2))) if match else None


class Host:
    """A server on loopback. `routes` says what it answers, `asked` holds what it was asked."""

    def __init__(self, tls: ssl.SSLContext | None = None, name: str = "127.0.0.1") -> None:
        self.routes: dict[str, Route | list[Route]] = {}
        self.asked: list[Asked] = []
        self.connections = 0
        self.clock: Callable[[], float] = time.monotonic
        self.closing = threading.Event()
        self.name = name
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                host.connections += 1

            def do_GET(self) -> None:
                host._answer(self)

            do_HEAD = do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: Any) -> None:
                pass

            def finish_request(self, request: Any, address: Any) -> None:
                if tls is None:
                    super().finish_request(request, address)
                    return
                request.settimeout(5)
                with tls.wrap_socket(request, server_side=True) as wrapped:
                    super().finish_request(wrapped, address)

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self.authority = f"{name}:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.authority}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        asked = Asked(
            method=handler.command,
            path=handler.path,
            head={name.lower(): value for name, value in handler.headers.items()},
            at=self.clock(),
        )
        self.asked.append(asked)
        route = self.routes.get(handler.path.partition("?")[0], Reply(status=404, body=b"gone"))
        if isinstance(route, list):
            route = route.pop(0) if len(route) > 1 else route[0]
        reply = route if isinstance(route, Reply) else route(asked)
        with contextlib.suppress(OSError):
            self._send(handler, reply)

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        out = handler.wfile
        if reply.raw is not None:
            out.write(reply.raw)
            handler.close_connection = True
            return
        lines = [f"HTTP/1.1 {reply.status} X"]
        if reply.chunked or reply.endless:
            lines.append("Transfer-Encoding: chunked")
        elif reply.declared is not None:
            lines.append(f"Content-Length: {len(reply.body) if reply.declared == 'right' else reply.declared}")
        else:
            handler.close_connection = True
        lines += [f"{name}: {value}" for name, value in reply.head.items()]
        out.write("\r\n".join([*lines, "", ""]).encode())
        out.flush()
        if reply.stall:
            self.closing.wait(10)
        elif reply.endless:
            while not self.closing.is_set():
                out.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        elif reply.pause:
            for number in range(len(reply.body)):
                out.write(reply.body[number : number + 1])
                out.flush()
                if self.closing.wait(reply.pause):
                    break
        else:
            body = reply.body if reply.sent is None else reply.body[: reply.sent]
            if reply.chunked:
                out.write(b"%x\r\n" % len(reply.body) + body)
                out.write(b"\r\n0\r\n\r\n" if reply.sent is None else b"")
            else:
                out.write(body)
        if reply.sent is not None:
            out.flush()
            handler.close_connection = True
            if reply.reset:
                handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                handler.connection.close()


@dataclass(kw_only=True)
class Released:
    """A file on the index: what it holds and what the index states of it."""

    body: bytes
    stated: dict[str, Any]
    ranged: Callable[[Asked, Reply], Reply] | None = None
    """A change to each answer for a range: what a hostile file host does."""


class Clock:
    """The real clock and what was slept on top of it: waits cost nothing and are seen."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._ahead = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """The time now."""
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        with self._lock:
            self.slept.append(seconds)
            self._ahead += seconds


QUICK = Limits(connect=2, silence=0.4, reading=2, slow_after=0.5, spacing=0)


class Internet:
    """An index, its file host and a host that content names."""

    def __init__(self, tls: ssl.SSLContext | None = None, ca_file: str | None = None) -> None:
        self.index = Host(tls, "index.test" if tls else "127.0.0.1")
        self.files = Host(tls, "files.test" if tls else "127.0.0.1")
        self.web = Host(tls, "web.test")
        self.clock = Clock()
        self.ca_file = ca_file
        self.released: dict[str, dict[str, Released]] = {}
        self.resolved: list[str] = []
        self.names: dict[str, Sequence[str]] = {}
        for host in self.hosts:
            host.clock = self.clock

    @property
    def hosts(self) -> tuple[Host, Host, Host]:
        """Every host."""
        return self.index, self.files, self.web

    @property
    def asked(self) -> list[Asked]:
        """Every request that any host received."""
        return [asked for host in self.hosts for asked in host.asked]

    def forget(self) -> None:
        """Begin to count anew."""
        for host in self.hosts:
            host.asked.clear()

    def close(self) -> None:
        """Stop all hosts."""
        for host in self.hosts:
            host.close()

    def policy(self, **changed: Any) -> Policy:
        """The policy of a run on this internet: loopback is let in by value, waiting costs no time."""
        settings: dict[str, Any] = {
            "index": Index(url=f"{self.index.url}/simple", ca_file=self.ca_file),
            "trusted": frozenset({self.web.authority}),
            "limits": QUICK,
            "resolve": self.resolve,
            "clock": self.clock,
            "sleep": self.clock.sleep,
            "jitter": lambda: 1.0,
        }
        return Policy(**{**settings, **changed})

    def resolve(self, host: str, _port: int) -> Sequence[str]:
        """The addresses of a name: loopback for our own, what `names` says for others."""
        self.resolved.append(host)
        if host in self.names:
            return self.names[host]
        if host.endswith(".test") or host == "127.0.0.1":
            return ["127.0.0.1"]
        raise OSError("no such name")

    def release(self, file: str, body: bytes, **stated: Any) -> Released:
        """Put a file on the index. What it states may be other than what is true."""
        project = file.partition("-")[0]
        files = self.released.setdefault(project, {})
        path = f"/packages/{file}"
        found = Released(
            body=body,
            stated={
                "filename": file,
                "url": self.files.url + path,
                "hashes": {"sha256": digest_of(body)[7:]},
                "size": len(body),
                "upload-time": "2026-06-15T05:12:54.416128Z",
                "yanked": False,
                **stated,
            },
        )
        files[file] = found
        self.files.routes[path] = lambda asked: self._ranged(found, asked)
        self.index.routes[f"/simple/{project}/"] = lambda _: self.page(project)
        return found

    def page(self, project: str, **changed: Any) -> Reply:
        """The index's page on a project."""
        files = [released.stated for released in self.released[project].values()]
        page = {"meta": {"api-version": "1.1"}, "name": project, "files": files, **changed}
        return Reply(body=json.dumps(page).encode(), head={"Content-Type": SIMPLE_JSON})

    def _ranged(self, released: Released, asked: Asked) -> Reply:
        if asked.range is None:
            return Reply(body=released.body)
        first, last = asked.range
        part = released.body[first : last + 1]
        reply = Reply(
            body=part,
            status=206,
            head={"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(released.body)}"},
        )
        return released.ranged(asked, reply) if released.ranged else reply


def record_row(name: str, body: bytes) -> str:
    """A row of RECORD."""
    value = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
    return f"{name},sha256={value},{len(body)}\n"


def wheel(
    members: Mapping[str, bytes],
    *,
    project: str = "demo",
    version: str = "1.0",
    record: Callable[[str], str] = str,
    padding: int = 0,
    twice: str | None = None,
) -> bytes:
    """A wheel of these members and its RECORD, which `record` may falsify; `padding` bytes lie before each member."""
    name = f"{project}-{version}.dist-info/RECORD"
    rows = "".join(record_row(member, body) for member, body in members.items()) + f"{name},,\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (member, body) in enumerate(members.items()):
            if padding:
                archive.writestr(zipfile.ZipInfo(f"padding/{number}"), bytes(padding))
            archive.writestr(_info(member), body, zipfile.ZIP_DEFLATED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if twice is not None:
                archive.writestr(_info(twice), b"another")
            archive.writestr(_info(name), record(rows), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
    info.external_attr = 0o100644 << 16
    return info


def sdist(members: Mapping[str, bytes] | Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """An sdist of these members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for member, body in members.items() if isinstance(members, Mapping) else members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            if info.isreg():
                info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return out.getvalue()


class Shelf:
    """A store in memory. It re-hashes what it gives."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}

    def has(self, digest: str) -> bool:
        """Whether the bytes are kept and sound."""
        return digest in self.bodies and digest == digest_of(self.bodies[digest])

    def get(self, digest: str, where: str = "") -> bytes | None:
        """The bytes, or nothing; damaged ones are said as the store on the disk says them."""
        body = self.bodies.get(digest)
        if body is not None and digest != digest_of(body):
            raise SourceError.at(where or digest, f"expected {digest}, found {digest_of(body)} in the store.", "Fetch.")
        return body

    def put(self, body: bytes) -> str:
        """Keep the bytes."""
        self.bodies[digest_of(body)] = body
        return digest_of(body)


def sources(*entries: str, lists: str = "releases:\n  - {key: '1.0'}\n") -> tuple[Source, ...]:
    """The sources of entries in short: each a flow mapping without what most have in common."""
    common = "purpose: a test, role: upstream"
    text = "sources:\n" + "".join(f"  - {{{common}, {entry}}}\n" for entry in entries)
    return read_sources(text.encode(), "sources.yaml", read_lists(lists.encode(), "releases.yaml"))


@contextlib.contextmanager
def internet(tls: ssl.SSLContext | None = None, ca_file: str | None = None) -> Iterator[Internet]:
    """An internet for one test."""
    made = Internet(tls, ca_file)
    try:
        yield made
    finally:
        made.close()
