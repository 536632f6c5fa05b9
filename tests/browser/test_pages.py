"""The sample's pages in a browser: on a phone and on a desk, in the dark, in print, and with hostile text."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from site_builder import site
from tests import sample

_PATHS = [
    "",
    "guides/shelf-cache/",
    "guides/shelf-log/",
    "receipts/shelf-cache/",
    "methods/",
    "about/",
    "editorial-policy/",
    "verify/",
    "log/",
    "corrections/",
    "nowhere/at/all/",
]
_HOSTILE = "</script><script>alert(name)</script>\"'><img src=x onerror=alert(name)><svg/onload=alert(name)>{{ site }}"


class _Files(http.server.SimpleHTTPRequestHandler):
    """Serves a built site below a base path, and its 404 page for what is not there."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix("/base"))

    def send_error(self, code: int, _message: str | None = None, _explain: str | None = None) -> None:
        body = (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing: what was asked for is asserted, not printed."""


@contextmanager
def _served(publication: site.Publication, folder: Path) -> Iterator[str]:
    for path, body in sample.built(publication).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(body)
    handler = functools.partial(_Files, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/base/"
        server.shutdown()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The sample, served below a base path of its own."""
    publication = sample.publication(url="https://audits.example/base/")
    with _served(publication, tmp_path_factory.mktemp("site")) as url:
        yield url


@pytest.fixture
def page(browser, request) -> Iterator[Any]:
    """A page as wide and as dark as the test asks for; in the end the console is empty and nothing was missing."""
    options = {"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})}
    context = browser.new_context(**options)
    opened = context.new_page()
    heard: list[str] = []
    opened.on("console", lambda message: heard.append(message.text))
    opened.on("pageerror", lambda error: heard.append(str(error)))
    opened.on("request", lambda asked: None if "127.0.0.1" in asked.url else heard.append(asked.url))
    opened.on("response", lambda answer: heard.append(answer.url) if answer.status >= 400 else None)
    yield opened
    context.close()
    assert [] == [text for text in heard if "nowhere" not in text and "404" not in text]


_PHONE = {"viewport": {"width": 390, "height": 844}}
_DARK = {"color_scheme": "dark"}
_NO_SCRIPT = {"java_script_enabled": False}


@pytest.mark.parametrize("page", [_PHONE, {"viewport": {"width": 320, "height": 600}}, {}], indirect=True)
def test_no_page_is_wider_than_the_screen(page, address):
    """A page never scrolls sideways; what is wider scrolls in a region of its own that the keyboard reaches."""
    for path in _PATHS:
        page.goto(address + path)
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")

        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], path
        assert [] == page.evaluate(
            """[...document.querySelectorAll('main *')].filter(part =>
                part.scrollWidth > part.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(part).overflowX)
                && (part.tabIndex < 0 || !part.getAttribute('aria-label')))
                .map(part => part.outerHTML.slice(0, 80))"""
        )


def test_structure(page, address):
    """Every page has its landmarks, its headings in order without a gap, and names for what can be reached."""
    for path in _PATHS:
        page.goto(address + path)

        assert [1, 1, 1, 1] == [page.locator(name).count() for name in ("main", "header.masthead", "footer", "h1")]
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(part => +part.tagName[1])")
        assert 1 == levels[0]
        assert [] == [(one, two) for one, two in pairwise(levels) if two > one + 1]
        assert [] == page.evaluate(
            """[...document.querySelectorAll('a, summary, nav, [role=region], table, img')].filter(part =>
                !(part.textContent.trim() || part.getAttribute('aria-label') || part.getAttribute('alt')))
                .map(part => part.outerHTML.slice(0, 80))"""
        )
        assert [] == page.evaluate(
            """[...document.querySelectorAll('table')].filter(part =>
                !part.caption || part.querySelector('th:not([scope])')).map(part => part.outerHTML.slice(0, 80))"""
        )


_CONTRAST = """() => {
    const light = color => {
        const parts = color.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255)
            .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const behind = part => {
        for (; part; part = part.parentElement) {
            const color = getComputedStyle(part).backgroundColor;
            if (!/, 0\\)$|transparent/.test(color)) return color;
        }
        return 'rgb(255, 255, 255)';
    };
    const poor = new Set();
    for (const part of document.querySelectorAll('body *')) {
        const own = [...part.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        const box = part.getBoundingClientRect();
        if (!own || !box.width || !box.height || part.matches('.unseen, .skip, .rest')) continue;
        const pair = [light(getComputedStyle(part).color), light(behind(part))].sort((a, b) => b - a);
        const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
        if (ratio < 4.5) poor.add(`${part.tagName}.${part.className} ${ratio.toFixed(2)}`);
    }
    return [...poor];
}"""


@pytest.mark.parametrize("page", [{"color_scheme": "light"}, _DARK], indirect=True, ids=["light", "dark"])
def test_contrast(page, address):
    """Every text has at least 4.5 to 1 against what is behind it, in the light and in the dark."""
    for path in _PATHS:
        page.goto(address + path)
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")

        assert [] == page.evaluate(_CONTRAST), path


@pytest.mark.parametrize("page", [_DARK], indirect=True)
def test_dark(page, address):
    """Who prefers the dark gets dark paper."""
    page.goto(address)

    assert "rgb(20, 23, 26)" == page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("page", [_PHONE, {}], indirect=True, ids=["phone", "desk"])
def test_the_verdict_is_on_the_first_screen(page, address):
    """State, statement and date are read without scrolling."""
    page.goto(address + "guides/shelf-cache/")
    box = page.locator("section.verdict .dates").bounding_box()

    assert box["y"] + box["height"] <= page.viewport_size["height"]


def test_keyboard(page, address):
    """The first tab stop skips to the content, and what has the focus is seen to have it."""
    page.goto(address + "guides/shelf-cache/")
    page.keyboard.press("Tab")

    assert "Skip to the content" == page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    assert "main" == page.evaluate("document.activeElement.id")
    page.keyboard.press("Tab")
    assert "3px" == page.evaluate("getComputedStyle(document.activeElement).outlineWidth")


@pytest.mark.parametrize("page", [_NO_SCRIPT, {**_NO_SCRIPT, **_PHONE}], indirect=True, ids=["desk", "phone"])
def test_from_a_citation_to_a_file_of_a_tree(page, address):
    """Without scripts, a citation of one file opens the folded list of files at that file of that release."""
    page.goto(address + "guides/shelf-cache/")
    page.locator(".prose p a.source", has_text="registry").click()

    assert page.url.endswith("/receipts/shelf-cache/#source:wheel@2.0.0/shelf/registry.py")
    assert page.locator('[id="source:wheel@2.0.0/shelf/registry.py"]').is_visible()


@pytest.mark.parametrize("page", [_NO_SCRIPT, {**_NO_SCRIPT, **_PHONE}], indirect=True, ids=["desk", "phone"])
def test_from_a_trial_to_its_fixture(page, address):
    """A trial leads to its fixture by a path with slashes, and a trail unfolds without scripts and fits the screen."""
    page.goto(address + "guides/shelf-cache/")
    page.locator(".exhibit-pointer a", has_text="starts/full/startup.log").click()

    assert page.url.endswith("/receipts/shelf-cache/#fixture:starts/full/startup.log")
    assert page.locator('[id="fixture:starts/full/startup.log"]').is_visible()
    page.goto(address + "guides/shelf-cache/")
    page.locator(".exhibit-pointer .trail summary").click()
    box = page.locator(".exhibit-pointer .trail li").first.bounding_box()
    assert box["x"] + box["width"] <= page.viewport_size["width"]


@pytest.mark.parametrize("page", [_NO_SCRIPT], indirect=True)
def test_from_a_claim_to_its_source(page, address):
    """Without scripts, a figure leads to its value, that to what it needs, and that to the source it was read off."""
    page.goto(address + "guides/shelf-cache/")
    page.locator(".prose p a.claim", has_text="1 GiB").first.click()

    assert page.url.endswith("/receipts/shelf-cache/#defaultMemory")
    page.locator('[id="why:defaultMemory"] a', has_text="page size (2.0.0)").click()
    assert page.url.endswith("#pageSize@2.0.0")
    page.locator('[id="pageSize@2.0.0"] a.source').click()
    assert page.url.endswith("#source:cache@2.0.0")
    assert page.locator('[id="source:cache@2.0.0"]').is_visible()


def test_print(page, address):
    """In print, a digest stands there whole, a folded table is unfolded, and an address is written out."""
    page.goto(address + "receipts/shelf-cache/")
    page.emulate_media(media="print")

    assert page.evaluate("[...document.querySelectorAll('.digest .rest')].every(part => part.offsetWidth > 20)")
    assert page.locator('[id="source:cache@1.0.0"]').bounding_box()["height"] > 10
    assert page.locator(".trail li").first.bounding_box()["height"] > 5
    assert page.locator('[id="source:wheel@2.0.0/shelf/registry.py"]').bounding_box()["height"] > 5
    assert "(" in page.evaluate("getComputedStyle(document.querySelector('.values a.attribution'), '::after').content")


def test_a_digest_copies_whole(page, address):
    """What is copied of a shortened digest is all of it."""
    page.goto(address + "receipts/shelf-cache/")
    copied = page.evaluate(
        """() => {
            const digest = document.querySelector('#part\\\\:fixtures ~ dl .digest');
            getSelection().selectAllChildren(digest);
            return getSelection().toString();
        }"""
    )

    assert len("sha256:") + 64 == len(copied.strip())


def test_hostile_text(browser, tmp_path):
    """Nothing runs, nothing is asked for elsewhere and nothing is complained of, whatever a text says."""
    publication = sample.publication(lambda text: f"{text} {_HOSTILE}", url="https://audits.example/base/")
    heard: list[str] = []

    def answered(dialog: Any) -> None:
        heard.append(dialog.message)
        dialog.dismiss()

    with _served(publication, tmp_path) as url:
        opened = browser.new_page()
        opened.on("dialog", answered)
        opened.on("console", lambda message: heard.append(message.text))
        opened.on("request", lambda asked: None if asked.url.startswith(url) else heard.append(asked.url))
        for path in _PATHS[:-1]:
            opened.goto(url + path)

            assert _HOSTILE in opened.evaluate("document.body.textContent"), path
            assert 0 == opened.locator("main img, main svg[onload], script:not([type='application/ld+json'])").count()
        opened.close()

    assert [] == heard
