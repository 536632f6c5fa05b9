"""The render, held to the sample publication: what is built, what it says, what it links to, and what it escapes."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import html5lib
import jsonschema
import pytest
from markupsafe import Markup
from selectolax.lexbor import LexborHTMLParser

from site_builder import receipts, site
from site_builder.errors import GuideError
from site_builder.receipts import Ledger, Receipt
from site_builder.site import downloads, reading
from site_builder.site.links import Links
from site_builder.site.publication import read_site
from site_builder.values import Digest, Expression, number, word
from tests import sample

_REAL = "https://audits.museum/"
_PAYLOADS = [
    "</script><script>alert(document.domain)</script>",
    '"><img src=x onerror=alert(document.title)>',
    "' onload='alert(name)",
    "{{ site.title }} {% include 'base.html' %}",
    "a | b |",
    "[/x] [bold]",
    "]]> -->",
    "javascript:alert(name)",
    "title id=",
    "<style>*{display:none}</style>",
    "<svg/onload=alert(name)>",
    "&lt;b&gt;",
]
_CONTROLS = "\x1b[J\x07\u202eabc\u2028"


@cache
def _built(url: str = "https://audits.example/") -> Mapping[str, bytes]:
    return sample.built(sample.publication(url=url))


def _pages(files: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    for path, body in files.items():
        if path.endswith(".html"):
            yield path, body.decode()


def _text(page: str) -> str:
    tree = LexborHTMLParser(page)
    return re.sub(r"\s+", " ", tree.body.text(separator=" ") if tree.body else "")


def _part(page: str, selector: str) -> str:
    found = LexborHTMLParser(page).css_first(selector)
    assert found is not None, selector
    return re.sub(r"\s+", " ", found.text(separator=" ")).strip()


def test_what_is_built():
    """Every path that the design names is there, and the lists of what was built come last."""
    assert [
        "static/mark-*.svg",
        "static/site-*.css",
        "guides/shelf-cache/index.html",
        "guides/shelf-log/index.html",
        "old/shelf/index.html",
        *(
            f"receipts/shelf-cache/{version}/{name}"
            for version in (1, 2)
            for name in ("receipt.json", "memory.csv", "releases.csv", "signals.csv", "rollback.csv", "rollback.md")
        ),
        "receipts/shelf-cache/receipt.json",
        "receipts/shelf-cache/index.html",
        "tools/cache-receipt.schema.json",
        "tools/cache_gate.py",
        "index.html",
        "methods/index.html",
        "about/index.html",
        "editorial-policy/index.html",
        "verify/index.html",
        "log/publications.jsonl",
        "log/index.html",
        "corrections/index.html",
        "404.html",
        "schema/receipt/1.json",
        "feed.xml",
        "feed.json",
        "sitemap.xml",
        "robots.txt",
        "build-manifest.json",
        "SHA256SUMS",
    ] == [re.sub(r"-[0-9a-f]{12}\.", "-*.", path) for path in _built()]


def test_same_bytes_twice():
    """One publication has one site: nothing of the run gets into it."""
    assert _built() == sample.built(sample.publication())


def test_one_page_at_a_time():
    """A guide is read when its page is due, not before: a thousand of them need no room for a thousand."""
    taken: list[str] = []

    def one_by_one():
        for guide in whole.guides:
            assert isinstance(guide, site.GuidePage)
            taken.append(guide.slug)
            yield guide

    whole = sample.publication()
    files = site.render(replace(whole, guides=one_by_one()), sample.templates())
    paths = [next(files)[0] for _ in range(3)]

    assert "guides/shelf-cache/index.html" == paths[-1]
    assert ["shelf-cache"] == taken


def test_the_lists_name_every_file():
    """The manifest names every file but itself and the sums; the sums name every file but themselves."""
    files = _built()
    manifest = json.loads(files["build-manifest.json"])
    listed = {entry["path"]: (entry["bytes"], entry["digest"]) for entry in manifest["files"]}
    sums = {line[66:]: line[:64] for line in files["SHA256SUMS"].decode().splitlines()}

    assert listed == {
        path: (str(len(body)), Digest.of(body))
        for path, body in files.items()
        if path not in ("build-manifest.json", "SHA256SUMS")
    }
    assert sums == {path: Digest.of(body)[7:] for path, body in files.items() if path != "SHA256SUMS"}
    assert {"jinja2": "3.1.6"} == manifest["versions"]


def test_a_receipt_is_published_byte_for_byte():
    """The public copy is the file itself, under its number and as the newest."""
    _, written = sample.ledger()

    assert written == _built()["receipts/shelf-cache/2/receipt.json"] == _built()["receipts/shelf-cache/receipt.json"]


def test_the_schema_is_that_of_receipts():
    """The published schema accepts the sample receipt and refuses a key that no receipt has."""
    schema = json.loads(_built()["schema/receipt/1.json"])
    receipt = json.loads(sample.ledger()[1])
    jsonschema.Draft202012Validator.check_schema(schema)

    assert "https://json-schema.org/draft/2020-12/schema" == schema["$schema"]
    assert "https://audits.example/schema/receipt/1.json" == schema["$id"]
    assert [] == list(jsonschema.Draft202012Validator(schema).iter_errors(receipt))
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(receipt | {"surprise": "1"}))


@pytest.mark.parametrize("url", ["https://audits.example/", "https://example.org/tools/", "https://example.org/a/b"])
def test_no_link_escapes_the_base(url):
    """Under any address no link begins at the host's root; on the one page that needs it, it has the base in it."""
    base = re.sub(r"^https://[^/]+", "", url).rstrip("/") + "/"
    for path, page in _pages(_built(url)):
        rooted = re.findall(r'(?:href|src)="(/[^"]*)"', page)
        outside = [link for link in rooted if not link.startswith(base)]

        assert [] == (rooted if path != "404.html" else outside), path
    assert f'href="{base}static/' in _built(url)["404.html"].decode()
    assert b"<loc>" + url.rstrip("/").encode() + b"/guides/shelf-cache/</loc>" in _built(url)["sitemap.xml"]


def test_the_address_may_lack_its_slash():
    """An address without its last slash builds the same site."""
    assert _built("https://example.org/tools/") == _built("https://example.org/tools")


_LINKS = """\
<p id="links"></p><a href="#links">1</a><a href="../tutorial/#Conflicts">2</a><a href="../tutorial/#none">3</a>
<a href="../tutorial/#raw-id">4</a><a href="#">6</a><a href="#top">7</a><a href="../tutorial/#:~:text=Second">8</a>
<a href="../tutorial/#caf%C3%A9">9</a><a href="#Test-1">10</a><a href="../tutoral/">11</a><a href="sub/">12</a>
<a href="../tutorial/#in-code">14</a><a href="https://elsewhere.museum/#frag">15</a><img src="img/none.png" alt="16">
<a href="../../out/">17</a>
<a href="https://example.org/tools/gone/">18</a><a href="//example.org/tools/tutorial/">19</a>
<a href="/tutorial/">20</a><a href="https://example.org/toolsmith/">21</a><a href="../TUTORIAL/">22</a>
"""
_TUTORIAL = '<h2 id="conflicts"></h2><h2 id="café"></h2><a id="raw-id"></a><pre>&lt;a id=&quot;in-code&quot;&gt;</pre>'


@pytest.mark.parametrize("order", ["links first", "targets first"])
def test_dead_links_in_either_order(order):
    """Ids come from the built pages, whichever came first; what is alive is not complained about."""
    links = Links(url="https://example.org/tools/")
    pages = [("links/index.html", _LINKS), ("tutorial/index.html", _TUTORIAL)]
    for path, text in pages if order == "links first" else reversed(pages):
        links.page(path, text)

    assert [
        "links/index.html: expected an id of links/index.html, found '#Test-1', and nothing there has that id",
        "links/index.html: expected a link inside the site, found '../../out/', which leaves it",
        "links/index.html: expected a file of this site, found '../TUTORIAL/', and nothing is built there;"
        " there is tutorial/index.html",
        "links/index.html: expected a file of this site, found '../tutoral/', and nothing is built there",
        "links/index.html: expected an id of tutorial/index.html, found '../tutorial/#Conflicts',"
        " and nothing there has that id; there is #conflicts",
        "links/index.html: expected an id of tutorial/index.html, found '../tutorial/#in-code',"
        " and nothing there has that id",
        "links/index.html: expected an id of tutorial/index.html, found '../tutorial/#none',"
        " and nothing there has that id",
        "links/index.html: expected a file of this site, found 'https://example.org/tools/gone/',"
        " and nothing is built there",
        "links/index.html: expected a file of this site, found 'img/none.png', and nothing is built there",
        "links/index.html: expected a file of this site, found 'sub/', and nothing is built there",
    ] == [f"{problem.where}: {problem.problem}" for problem in links.problems(lambda *_: None)]


def test_a_dead_link_in_a_guide():
    """A link within the site that leads nowhere stops the render, and names the guide and the line."""
    guide = sample.GUIDE.replace("is only a link.", "is only [a link](/nowhere/).")
    line = guide.splitlines().index(next(text for text in guide.splitlines() if "/nowhere/" in text)) + 1

    with pytest.raises(GuideError) as stopped:
        sample.built(sample.publication(guide=guide))

    assert (
        f"content/guides/shelf-cache.md:{line}: expected a file of this site, found '/nowhere/', and nothing is built"
        " there\n    Write the address of a page of this site, or the id of one of its headings."
    ) == str(stopped.value)


def test_attributes_are_read_as_a_parser_reads_them():
    """Links and ids are found by a pattern; an HTML parser finds the same ones, hostile text or not."""

    class Parsed(HTMLParser):
        def handle_starttag(self, _tag, attrs):
            found.extend((name, value) for name, value in attrs if name in ("id", "href", "src"))

    for files in (_built(), _hostile("title id="), _hostile(_PAYLOADS[1])):
        for path, page in _pages(files):
            found: list[tuple[str, str | None]] = []
            Parsed().feed(page)
            seen: list[str] = []

            class Noting(Links):
                def _placed(self, _page, _folder, value, *_rest, seen=seen):
                    seen.append(value)
                    return value

            links = Noting(url="https://audits.example/")
            links.page(path, page)
            ids = [value for name, value in found if name == "id"]

            assert ids == links._ids[path].split("\n")[1:-1], path
            assert {value for name, value in found if name != "id"} == {
                reading_of.replace("&amp;", "&") for reading_of in seen
            }, path


@cache
def _hostile(payload: str) -> Mapping[str, bytes]:
    return sample.built(sample.publication(lambda text: f"{text} {payload}"))


@pytest.mark.parametrize("payload", _PAYLOADS)
def test_hostile_text_stays_text(payload):
    """A text of a receipt, a tool's name or a setting is read as text wherever it stands, and is never markup."""
    for path, page in _pages(_hostile(payload)):
        plain = LexborHTMLParser(_built()[path].decode())
        tree = LexborHTMLParser(page)

        assert len(plain.css("*")) == len(tree.css("*")), path
        assert [] == [name for node in tree.css("*") for name in node.attributes if name.startswith("on")], path
        assert re.sub(r"\s+", " ", payload) in _text(page), path
    assert ET.fromstring(_hostile(payload)["feed.xml"]) is not None
    assert payload in json.loads(_hostile(payload)["feed.json"])["title"]


def test_control_characters_are_spelled_out():
    """Control and direction characters reach no page: they are shown as what they are."""
    files = _hostile(_CONTROLS)

    for path, page in _pages(files):
        assert r"\u{1b}[J\u{7}\u{202e}abc\u{2028}" in _text(page), path
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]", page), path
    assert ET.fromstring(files["feed.xml"]) is not None


def test_every_page_is_valid_html():
    """Every page parses without an error, and has one heading of the first level and one main part."""
    for path, page in _pages(_built()):
        parser = html5lib.HTMLParser(strict=False)
        parser.parse(page)
        tree = LexborHTMLParser(page)

        assert [] == [error[1] for error in parser.errors], path
        assert (1, 1) == (len(tree.css("h1")), len(tree.css("main"))), path


def test_no_script_and_no_style_in_a_page():
    """Nothing runs and nothing is styled in place; the policy in the head says so."""
    for path, page in _pages(_built()):
        tree = LexborHTMLParser(page)

        assert [] == [node for node in tree.css("script") if node.attributes["type"] != "application/ld+json"], path
        assert [] == tree.css("style, [style]"), path
        assert "default-src 'none'; style-src 'self'; img-src 'self'" in page, path


def test_every_generated_value_can_be_checked():
    """A value of a receipt names its address and its receipt, and reads as what the receipt has there."""
    ledger, _ = sample.ledger()
    for path in ("guides/shelf-cache/index.html", "receipts/shelf-cache/index.html"):
        marked = LexborHTMLParser(_built()[path].decode()).css("[data-address]")

        assert marked
        for node in marked:
            assert "shelf-cache@2" == node.attributes["data-receipt"]
            cell = ledger.cell(node.attributes["data-address"] or "")
            text = cell.value.text if isinstance(cell.value.text, str) else " ".join(cell.value.text)
            if cell.standing == "editorial" or "claim" in (node.attributes.get("class") or ""):
                continue  # words with bindings of their own, and claims, which the claim gate has read
            assert text == node.attributes.get("data-value", node.text().strip()), cell.address


def test_every_address_has_its_place():
    """Each address of a receipt is an id on its page, and a computed one says what it is made of."""
    ledger, _ = sample.ledger()
    page = _built()["receipts/shelf-cache/index.html"].decode()
    ids = {node.attributes["id"] for node in LexborHTMLParser(page).css("[id]")}

    assert set() == set(ledger.cells) - ids
    assert set() == {f"source:{name}" for name in ledger.sources} - ids
    assert set() == {f"why:{address}" for address in ledger.expressions} - ids


def test_lineage_is_linked_both_ways():
    """A computed value links to what it needs, and what it needs links back to it."""
    tree = LexborHTMLParser(_built()["receipts/shelf-cache/index.html"].decode())

    def links(selector: str) -> set[str | None]:
        return {node.attributes["href"] for node in tree.css(f"{selector} a")}

    assert {"#defaultPages", "#pageSize@2.0.0"} <= links('[id="why:defaultMemory"]')
    assert {"#defaultMemory", "#source:cache@2.0.0"} <= links('[id="defaultPages"]')
    assert {"#invariant:limitIsAbove"} <= links('[id="limits"]')
    assert {"#defaultPages", "#noLimit"} <= links('[id="source:cache@2.0.0"]')
    assert {"#invariant:defaultIsInTheTable"} <= links('[id="defaultMemory"]')
    assert "nothing stands on it" in _part(
        _built()["receipts/shelf-cache/index.html"].decode(), '[id="source:native@2.0.0"]'
    )


def test_the_first_screen_is_the_decision():
    """State, statement and both dates come from the decision, above everything else."""
    box = _part(_built()["guides/shelf-cache/index.html"].decode(), "section.verdict")

    assert "Verdict Affected since the default was raised" in box
    assert "Set the number of pages yourself before you upgrade" in box
    assert "Evidence as of 20 November 2026" in box
    assert "First published as of 26 August 2026" in box


def test_a_guide_says_how_far_it_is_checked():
    """Coverage, exempt figures and the lack of a review stand on the page."""
    page = _text(_built()["guides/shelf-cache/index.html"].decode())

    assert "Checked by the build; not yet reviewed by an editor" in page
    assert "83 % coverage: 5 of 6 figures in the text are checked against a receipt" in page
    assert "1 exempt figure, marked in the text" in page


def test_a_draft_says_so_and_is_not_listed():
    """A guide on a draft receipt says so on its page and on its receipt's, and no feed or sitemap names either."""
    files = sample.built(sample.publication(version="draft", url=_REAL))

    for path in ("guides/shelf-cache/index.html", "receipts/shelf-cache/index.html"):
        assert "Draft." in _text(files[path].decode())
        assert '<meta name="robots" content="noindex">' in files[path].decode()
    for path in ("feed.xml", "feed.json", "sitemap.xml"):
        assert b"shelf-cache" not in files[path], path


def test_what_is_published_is_listed():
    """A published guide is in feeds and sitemap with the day of its last change; the draft beside it is not."""
    files = _built(_REAL)

    assert [f"{_REAL}guides/shelf-cache/"] == [item["url"] for item in json.loads(files["feed.json"])["items"]]
    assert b"<updated>2026-11-24T00:00:00Z</updated>" in files["feed.xml"]
    assert f"<loc>{_REAL}guides/shelf-cache/</loc><lastmod>2026-11-24</lastmod>".encode() in files["sitemap.xml"]
    assert b"shelf-log" not in files["feed.xml"] + files["feed.json"] + files["sitemap.xml"]


def test_example_settings_make_a_preview():
    """A site with an address reserved for examples says on every page that it is a preview; with real ones, on none."""
    real = sample.publication(url=_REAL)
    settings = real.site.model_copy(update={"contact": "mailto:corrections@audits.museum"})
    files = sample.built(replace(real, site=settings))

    assert [] == [path for path, page in _pages(_built()) if "built with example settings (url, contact)" not in page]
    assert [] == [path for path, page in _pages(files) if "Preview." in page]
    assert b"Disallow: /\n" in _built()["robots.txt"]
    assert b"Allow: /\n" in files["robots.txt"]


def test_a_table_as_csv():
    """A table can be had as CSV with its exact values, its units in the head, its words without their markup."""
    memory, signals = (
        list(csv.reader(io.StringIO(_built()[f"receipts/shelf-cache/2/{name}.csv"].decode())))
        for name in ("memory", "signals")
    )

    assert ["row", "pages [page]", "size [MiB]", "left [GiB]", "note"] == memory[0]
    assert ["65536", "65536", "1024", "7", "the default"] == memory[3]
    assert "The cache fills towards 1 GiB." == signals[1][2]
    assert "Pages of 16384 bytes, as in the cache module." == signals[2][2]


def _downloads(*cells: str) -> Mapping[str, bytes]:
    """The downloads of the sample, its list of steps saying something else."""
    changed = sample.body()
    steps = next(result for result in changed["results"] if result["id"] == "rollback")
    steps["rows"] = [{"id": f"s{number}", "text": cell} for number, cell in enumerate(cells)]
    issued = receipts.as_json(sample.receipt())["issued"]
    receipt = Receipt.model_validate({"audit": "shelf-cache", "body": changed, "issued": issued})
    return dict(downloads.files(Ledger(receipt=receipt, digest=""), "https://audits.example/receipts/shelf-cache/"))


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+49 30", "'+49 30"),
        ("-cmd|x", "'-cmd|x"),
        ("-5", "-5"),
        ("-0.25", "-0.25"),
        ("\uff1d1", "'\uff1d1"),
        ("a = b", "a = b"),
        ('say "=x", then y', 'say "=x", then y'),
        ("\x1b[J", "\\u{1b}[J"),
        ("`=x` [2 GiB](receipt:defaultMemory)", "'=x 2 GiB"),
    ],
)
def test_no_cell_is_a_formula(cell, said):
    """What a spreadsheet would compute is a text to it, a negative number stays one, and nothing moves a terminal."""
    rows = list(csv.reader(io.StringIO(_downloads(cell)["rollback.csv"].decode())))

    assert [["row", "text"], ["s0", said]] == rows


def test_a_list_with_boxes():
    """A list can be had with an empty box for each step, and says which receipt it is from."""
    made = _downloads("Set `pages` to *few*:\n[65,536 pages](receipt:defaultPages).", "Wait.")

    assert (
        "# Going back\n\nThe order in which to undo it.\n\n"
        "1. [ ] Set `pages` to *few*: 65,536 pages.\n2. [ ] Wait.\n\n"
        "From shelf-cache, version 2: https://audits.example/receipts/shelf-cache/#rollback\n"
    ) == made["rollback.md"].decode()


def _hrefs(page: str, selector: str) -> list[str]:
    return [node.attributes["href"] or "" for node in LexborHTMLParser(page).css(f"{selector} a")]


def test_what_an_exhibit_offers():
    """A table offers its CSV, a list its boxes as well, a tool itself: of the very version that the guide stands on."""
    guide = _built()["guides/shelf-cache/index.html"].decode()
    offered = {link for link in _hrefs(guide, ".provenance") if link.endswith((".csv", ".md", ".py", ".json"))}

    assert {f"../../receipts/shelf-cache/2/{name}.csv" for name in ("memory", "releases", "signals", "rollback")} | {
        "../../receipts/shelf-cache/2/rollback.md",
        "../../tools/cache_gate.py",
        "../../tools/cache-receipt.schema.json",
    } == offered
    assert Digest.of(sample.SCHEMA) in _part(guide, '.exhibit-tool:has(a[href$=".json"]) .provenance').replace(" ", "")
    assert sample.SCHEMA == _built()["tools/cache-receipt.schema.json"]


def test_a_tree_shows_its_files():
    """Each content of a tree's file stands there once, with the sources that have it; each of these has an anchor."""
    page = _built()["receipts/shelf-cache/index.html"].decode()
    table = LexborHTMLParser(page).css_first(".members table")
    assert table is not None
    rows = [re.sub(r"\s+", " ", row.text(separator=" ")).strip() for row in table.css("tbody tr")]

    assert [
        *("shelf/__init__.py", "640 2.0.0 2.0.1"),
        *("shelf/alloc/native.py", "641 2.0.0", "641 2.0.1"),
        *("shelf/registry.py", "640 2.0.0 2.0.1"),
    ] == [re.sub(r" sha256:\w{12} \w{52}", "", row) for row in rows]
    assert "2.0.1" == _part(page, '[id="source:wheel@2.0.1/shelf/registry.py"]')
    assert "3 files of the wheel; bytes and digest are those of its RECORD" in _part(page, '[id="source:wheel@2.0.0"]')
    assert "../../receipts/shelf-cache/#source:wheel@2.0.0/shelf/registry.py" in _hrefs(
        _built()["guides/shelf-cache/index.html"].decode(), ".prose p"
    )


def test_a_trail_is_read_in_its_order():
    """What led to a place is a list of steps: file and line, what was met there, its value; a file is named once."""
    page = _built()["receipts/shelf-cache/index.html"].decode()
    trails = [
        node.text(separator=" ") for node in LexborHTMLParser(page).css("#part\\:observations ~ details .trail li")
    ]

    assert [
        "shelf/registry.py:12 entry native:Allocator",
        ":3–4 import shelf.alloc.native",
        "shelf/alloc/native.py:80–82 class shelf.alloc.native:Allocator",
    ] == [re.sub(r"\s+", " ", trail).strip() for trail in trails]


def test_observations_that_read_alike_are_one_row():
    """Releases with the same value off the same lines stand together, each with its own anchor and its own line."""
    page = _built()["receipts/shelf-cache/index.html"].decode()
    row = LexborHTMLParser(page).css_first('tr:has([id="allocator@2.0.0"])')

    assert row is not None
    assert row.css_first('[id="allocator@2.0.1"]') is not None
    assert [] == row.css('[id="pageSize@2.0.1"]')
    assert "shelf/alloc/native.py, line 80" in row.text()
    assert "the constant is computed when the module is loaded" in _part(page, 'tr:has([id="pageSize@2.0.1"])')


def test_a_search_says_where_and_against_what():
    """A search that found nothing says what it read, and where the same search does find something."""
    page = _built()["receipts/shelf-cache/index.html"].decode()
    row = _part(page, '[id="noRelease@2.0.0"]')
    exhibit = _part(_built()["guides/shelf-cache/index.html"].decode(), "figure:has([data-address='noRelease@2.0.0'])")

    for text in (row, exhibit):
        assert "shelf/alloc/native.py, lines 80 to 131" in text
        assert "1,641\u00a0bytes, 1 definition" in text.replace("1,641 bytes", "1,641\u00a0bytes")
        assert "2 in wheel@2.0.0 , shelf/__init__.py, lines 9 to 30" in text
        assert "2 steps led here" in text


def test_tools_fixtures_and_trials_are_linked():
    """A trial leads to its tool and its fixtures, these lead back, and a path with slashes is an anchor."""
    page = _built()["receipts/shelf-cache/index.html"].decode()
    guide = _built()["guides/shelf-cache/index.html"].decode()
    anchor = "#fixture:starts/full/startup.log"

    assert ["#tool:cache_gate.py", anchor] == _hrefs(page, '[id="startState@full"]')
    assert {"#startState@full", "#startState@quiet"} <= set(_hrefs(page, '[id="tool:cache_gate.py"]'))
    assert ["#startState@full"] == _hrefs(page, '[id="fixture:starts/full/startup.log"]')
    assert "../../tools/cache_gate.py" in _hrefs(page, '[id="tool:cache_gate.py"]')
    assert Digest.of(sample.TOOL)[:19] in _part(page, '[id="tool:cache_gate.py"]')
    assert 3 == _hrefs(guide, "figure").count(f"../../receipts/shelf-cache/{anchor}")


def test_a_tool_that_is_another_by_now():
    """A receipt whose tool or fixture was changed since says so, and offers the file under no digest but its own."""
    of = sample.publication()
    tools = {name: replace(tool, body=tool.body + b"\n") for name, tool in of.tools.items()}
    fixtures = {name: body + b"more\n" for name, body in of.fixtures.items()}
    files = sample.built(replace(of, tools=tools, fixtures=fixtures))

    assert "the file that is offered by now is another one" in _part(
        files["receipts/shelf-cache/index.html"].decode(), '[id="tool:cache_gate.py"]'
    )
    guide = _text(files["guides/shelf-cache/index.html"].decode())
    assert "shelf-cache, version 2 , has an earlier one" in guide.replace("version 2,", "version 2 ,")
    assert 3 == guide.count("what is shown is a later file of that name")
    assert "has an earlier one" not in _text(_built()["guides/shelf-cache/index.html"].decode())


def test_a_fixture_of_any_bytes():
    """A fixture is shown as far as a page can: escapes for what can't be seen, the beginning of what is long."""
    page = _built()["guides/shelf-cache/index.html"].decode()
    full, quiet = (
        LexborHTMLParser(page).css_first(f'figure:has(a[href$="fixture:starts/{key}/startup.log"]) pre')
        for key in ("full", "quiet")
    )

    assert full
    assert quiet
    assert (
        r"\u{1b}[32mINFO\u{1b}[0m shelf: cache of \u{a0}65536 pages\u{d}" + "\n" + r"\u{0}\xff\xfe\u{202e}<end>" + "\n"
    ) == full.text()
    assert [r"\u{1b}", r"\u{1b}", r"\u{a0}", r"\u{d}", r"\u{0}\xff\xfe\u{202e}"] == [
        node.text() for node in full.css("b.escape")
    ]
    assert 120 == quiet.text().count("\n")
    assert "Shown: the first 120 of 1,001 lines." in _text(page)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]", page)


def test_a_long_line_is_cut():
    """A line that no page has room for is cut, and the page says so."""
    made = reading.excerpt(b"x" * 5000 + b"\nshort")

    assert ("x" * 400 + "…\nshort\n", 2, 2, True) == (made.html, made.shown, made.lines, made.cut)


def _with_draft() -> site.Publication:
    """The sample, with a draft beside its two numbered receipts, and a guide that stands on it."""
    of, drafted = sample.publication(), sample.publication(version="draft")
    (numbered,), (draft,) = of.audits, drafted.audits
    assert isinstance(numbered, site.AuditPage)
    assert isinstance(draft, site.AuditPage)
    both = replace(
        numbered,
        versions={**numbered.versions, "draft": draft.versions["draft"]},
        others={**numbered.others, "draft": draft.ledger},
        draft_cells=draft.cells,
    )
    guides = [*list(of.guides)[:1], *list(drafted.guides)[1:]]
    return replace(of, audits=[both], guides=guides, drafts=["shelf-cache"])


def test_a_draft_beside_a_number():
    """The newest receipt is the newest numbered one; a draft beside it has a page and an address of its own."""
    files = sample.built(_with_draft())
    numbered, draft = (files[f"receipts/shelf-cache/{path}"].decode() for path in ("index.html", "draft/index.html"))

    assert files["receipts/shelf-cache/2/receipt.json"] == files["receipts/shelf-cache/receipt.json"]
    assert '"version": "draft"' in files["receipts/shelf-cache/draft/receipt.json"].decode()
    assert "Draft." not in _text(numbered)
    assert (
        "Draft. This receipt has no number yet and may change without notice. What is published is version 2"
        in _text(draft)
    )
    assert "../../../receipts/shelf-cache/" in _hrefs(draft, ".notice")
    assert "../../receipts/shelf-cache/draft/" in _hrefs(numbered, ".facts-table")
    assert '<meta name="robots" content="noindex">' in draft
    links = {slug: files[f"guides/{slug}/index.html"].decode() for slug in ("shelf-cache", "shelf-log")}
    assert {"../../receipts/shelf-cache/#defaultMemory"} == set(_hrefs(links["shelf-cache"], ".deck"))
    assert ["../../receipts/shelf-cache/draft/#defaultMemory"] == _hrefs(links["shelf-log"], ".prose > p")
    assert b"draft" not in files["sitemap.xml"]


def test_what_a_guide_tells_machines():
    """The metadata is a data block that says what the page says, and nothing in it ends the block."""
    for files in (_built(), _hostile(_PAYLOADS[0])):
        said = json.loads(_part(files["guides/shelf-cache/index.html"].decode(), "script"))

        assert "The page cache that grew with an upgrade" == said["headline"]
        assert said["publisher"]["name"].startswith("The review’s team")
        assert ["https://audits.example/receipts/shelf-cache/2/receipt.json"] == said["isBasedOn"]


def test_corrections_of_two_audits():
    """Two audits may call a correction alike; what corrects one publication stands together under its title, once."""
    of = sample.publication()
    (first,) = of.corrections
    other = replace(first, evidence=(replace(first.evidence[0], audit="shelf-log"),))
    page = LexborHTMLParser(dict(_unlinked(replace(of, corrections=(first, other))))["corrections/index.html"])

    assert ["correction:shelf-cache/c1", "correction:shelf-log/c1"] == [
        node.attributes["id"] for node in page.css("section.correction")
    ]
    assert [first.publication] == [node.text() for node in page.css(".prose h2")]


def _unlinked(of: site.Publication) -> Iterator[tuple[str, str]]:
    """The pages of a publication, whether or not their links hold."""
    with suppress(GuideError):
        for path, body in site.render(of, sample.templates()):
            if isinstance(body, bytes) and path.endswith(".html"):
                yield path, body.decode()


def test_ids_of_the_page_are_reserved():
    """An id of a page's own is reserved, or has a colon, which no heading's has."""
    for path, page in _pages(_built()):
        if path.startswith("receipts/"):
            continue
        own = {node.attributes["id"] or "" for node in LexborHTMLParser(page).css("[id]:not(.prose h2, .prose h3)")}

        assert set() == {name for name in own if ":" not in name} - site.RESERVED_IDS, path


def _unquoted(template: str) -> list[str]:
    """The tags of a template that have an attribute without quotation marks around all of its value."""
    plain = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "x", template, flags=re.DOTALL)
    return re.findall(r"<[a-zA-Z][^>]*=[^>]*>", re.sub(r'="[^"]*"', "", plain))


def test_templates_quote_every_attribute():
    """No template has an attribute without quotation marks, a style or a script of its own, or turns escaping off."""
    forbidden = re.compile(r"\|\s*safe\b|autoescape|\sstyle=|<style|\son[a-z]+=|javascript:")
    for name, file in sample.templates().items():
        if name.endswith(".html"):
            text = file.body.decode()

            assert [] == _unquoted(text), name
            assert [] == forbidden.findall(text), name
    assert ["<a href=x>"] == _unquoted('<a href={{ y }}><b class="{{ y }}">')
    assert forbidden.search('<p onclick="x">')


def test_no_highlighter_without_code():
    """A site that shows no code loads no highlighter: it costs more than all of the pages."""
    script = (
        "import sys; from tests import sample; "
        "guide = sample.GUIDE.replace('![The gate, as it is tested](tool:cache-gate#decide)', ''); "
        "sample.built(sample.publication(guide=guide)); print('pygments' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=sample.ROOT, check=True)

    assert "False\n" == run.stdout


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (["div", ["mul", "a", "b", "c"], "GiB"], "a × b × c ÷ GiB"),
        (["mul", ["add", "a", "1"], "b"], "(a + 1) × b"),
        (["sub", "a", ["sub", "b", "c"]], "a − (b − c)"),
        (["div", "a", ["mul", "b", "c"]], "a ÷ (b × c)"),
        (["floordiv", ["add", "a", "b"], "c"], "⌊(a + b) ÷ c⌋"),
        (["and", ["lt", "a", "b"], ["not", ["eq", "c", "d"]]], "a &lt; b and not (c = d)"),
        (["or", "a", "b", "c", "d"], "any of (a; b; c; d)"),
        (["if", ["lt", "a", "b"], "c", "d"], "c if a &lt; b, else d"),
        (["max", "a", ["min", "b", "c"]], "the greatest of (a; the least of (b; c))"),
        (["neg", ["add", "a", "b"]], "−(a + b)"),
        (["count", "a", "b"], "the number that hold of (a; b)"),
        (["holds", "a", "b"], "a includes b"),
        (["eq", ["at", "a", "b"], "c"], "a (chosen by b) = c"),
        (["count", ["each", ["eq", "a", "b"], "1.0", "2.0"]], "the number that hold of (a = b for each of 1.0 2.0)"),
    ],
)
def test_an_expression_is_read_as_it_is_written(expression: Expression, said: str):
    """An expression reads as arithmetic, bracketed where it would else be read otherwise."""
    assert said == str(reading.formula(expression, Markup))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (number("32768", "token"), "32,768\u00a0tokens"),
        (number("8", "GiB"), "8\u00a0GiB"),
        (number("-1.50"), "-1.5"),
        (number("unknown", "GiB"), "unknown"),
        (word("GlmMoe<b>"), "GlmMoe&lt;b&gt;"),
    ],
)
def test_a_value_is_read_with_its_unit(value, said):
    """A value reads as a person would write it, and is escaped."""
    assert said == str(reading.reading(value))


def test_settings_that_are_wrong():
    """Settings that are not what they should be are named with their line."""
    with pytest.raises(GuideError) as stopped:
        read_site(
            b"title: x\ndescription: y\nurl: ftp://x/\nteam: z\ncontact: mailto:a@b.museum\ncolour: red\n",
            "content/site.yaml",
        )

    assert (
        "content/site.yaml:3: url: expected a web address without query or fragment, found 'ftp://x/'\n"
        "    Write what the file's schema asks for here.\n"
        "content/site.yaml:6: colour: expected a known key, found this one\n"
        "    Write what the file's schema asks for here."
    ) == str(stopped.value)


def test_the_shipped_settings_are_a_preview():
    """What the repository ships is marked as an example until somebody says who publishes it."""
    body = (sample.ROOT / "content/site.yaml").read_bytes()

    assert ("url", "contact") == read_site(body, "content/site.yaml").reserved


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "templates/guide.html: expected the template guide.html, found none"),
        (b"\n{% if", "templates/guide.html:2: expected a page, found that unexpected 'end of template'"),
        (b"\n\n{{ nothing.there }}", "templates/guide.html:3: expected a page, found that 'nothing' is undefined"),
        (b"{{ 1|nothing }}", "templates/guide.html:1: expected a page, found that No filter named 'nothing'."),
        (
            b"\xff",
            "templates/guide.html: expected a page, found that 'utf-8' codec can't decode byte 0xff in position 0:",
        ),
        (b'{% include "gone.html" %}', "templates/guide.html:1: expected the template gone.html, found none"),
    ],
)
def test_a_template_that_makes_no_page(body, said):
    """A template that is missing or broken is said with its line, and is no traceback."""
    templates = dict(sample.templates())
    file = templates.pop("guide.html")
    if body is not None:
        templates["guide.html"] = replace(file, body=body)

    with pytest.raises(GuideError) as stopped:
        dict(site.render(sample.publication(), templates))

    assert str(stopped.value).startswith(said)
    assert str(stopped.value).endswith("\n    Restore the template, or mend it.")
