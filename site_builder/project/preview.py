"""A preview: the built site over loopback, built again when a file changes, and reloaded in the browser.

The reloading script is added to what is served, never to what is built.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from site_builder.errors import UsageError

_WATCHED = ("content", "evidence", "templates", "site_builder")
_LOOK_SECONDS = 0.25
_ANSWER_SECONDS = 20.0
_SCRIPT = (
    b"const wait = since => fetch('/.preview/' + since).then(answer => answer.text())"
    b".then(now => since && now !== since ? location.reload() : wait(now))"
    b".catch(() => setTimeout(() => wait(since), 1000)); wait('');"
)
_NO_SCRIPTS, _OWN_SCRIPTS = b"default-src 'none';", b"default-src 'none'; script-src 'self'; connect-src 'self';"


class _Build:
    """How often the site was built, and whoever waits for the next time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.number = 1

    def done(self) -> None:
        with self._changed:
            self.number += 1
            self._changed.notify_all()

    def wait_beyond(self, number: str) -> str:
        with self._changed:
            self._changed.wait_for(lambda: str(self.number) != number, timeout=_ANSWER_SECONDS)
            return str(self.number)


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *given: object, build: _Build, folder: Path) -> None:
        self._build = build
        super().__init__(*given, directory=str(folder))  # type: ignore[arg-type]

    def handle(self) -> None:
        """Answer until the browser leaves: one that leaves while it waits for an answer is no fault."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer with a file of the site, pages with the reloading script in them."""
        if self.path == "/.preview.js":
            self._answer(_SCRIPT, "text/javascript")
        elif self.path.startswith("/.preview/"):
            self._answer(self._build.wait_beyond(self.path.removeprefix("/.preview/")).encode(), "text/plain")
        elif (page := self._page()) is not None:
            body = page.read_bytes().replace(_NO_SCRIPTS, _OWN_SCRIPTS, 1)
            self._answer(body + b'<script src="/.preview.js"></script>\n', "text/html; charset=utf-8")
        else:
            super().do_GET()

    def _page(self) -> Path | None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if self.path.partition("?")[0].endswith("/") else path
        return path if path.suffix == ".html" and path.is_file() else None

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the terminal is for problems."""


def _seen(root: Path) -> dict[str, tuple[int, int]]:
    """Return when each file that the site is made from was written, and its size."""
    paths = (path for folder in _WATCHED for path in (root / folder).rglob("*") if "__pycache__" not in path.parts)
    found = {}
    for path in paths:
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        found[str(path)] = (status.st_mtime_ns, status.st_size)
    return found


def serve(root: Path, port: int, build: Callable[[], None], ready: Callable[[int], None]) -> None:
    """Build and serve the site until interrupted; `ready` is told the port once it answers.

    Raises:
        UsageError: the port can't be had.
    """
    built, stop = _Build(), threading.Event()
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, build=built, folder=root / "dist"))
    except OSError:
        raise UsageError.at(
            f"port {port}",
            "expected a free port of this machine, found one that can't be had",
            "End what listens there, or name another one: --port 0 takes one that is free.",
        ) from None
    server.daemon_threads = True
    seen = _seen(root)
    build()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ready(server.server_port)
    try:
        while not stop.wait(_LOOK_SECONDS):
            if (now := _seen(root)) != seen:
                seen = now
                build()
                built.done()
    finally:
        server.shutdown()
        server.server_close()
