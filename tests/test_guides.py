"""Guides: what a page of Markdown turns out to be, and what is wrong in it whatever its receipts say."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from site_builder.errors import GuideError
from site_builder.figures import Vocabulary
from site_builder.guides import (
    BLOCKS,
    Container,
    Guide,
    Part,
    Place,
    heading_ids,
    read_cells,
    read_guide,
    read_page,
    slug,
)
from site_builder.issuing import repinned

_WHERE = "content/guides/x.md"
_NAMES = Vocabulary(names=frozenset({"GLM-5.2", "H200", "FP8"}), reserved=frozenset({"search"}))
_FRONT = "title: A title\ndescription: What it says.\nreceipts: [oom@3]\n"


def guide(markdown: str, front: str = _FRONT) -> Guide:
    """A guide whose Markdown begins on line 6, one more for each further line of front matter."""
    return read_guide(f"---\n{front}---\n{markdown}".encode(), _WHERE, _NAMES)


def problems(markdown: str, front: str = _FRONT) -> list[str]:
    """What is wrong in a guide, as it is printed."""
    return [str(problem) for problem in guide(markdown, front).problems]


def refused(body: bytes) -> str:
    """What is printed for a guide that can't be read at all."""
    with pytest.raises(GuideError) as error:
        read_guide(body, _WHERE, _NAMES)
    return str(error.value)


def outline(parts: Iterable[Part]) -> list[object]:
    """Parts as HTML, exhibits as their address, containers as their name and parts."""
    return [
        (part.name, outline(part.parts))
        if isinstance(part, Container)
        else f"{part.link.scheme}:{part.link.target}"
        if isinstance(part, Place)
        else "".join(
            piece if isinstance(piece, str) else piece.html(lambda link: f"<a {link.scheme}:{link.target}>")
            for piece in part.pieces
        )
        for part in parts
    ]


def test_prose_exhibits_and_containers():
    """Prose is rendered in one run between exhibits; a container holds ordinary Markdown, another container too."""
    parts = guide(
        "## One\n\nA *b* `c<d` [8 GiB][w].\nSecond & last.\n\n![Caption](receipt:workspace)\n\n"
        "::: verdict\n- a\n- b\n\n::: callout\n> q\n:::\n![Code](tool:gate#decide)\n:::\n"
        "3. x\n\n```sh\nls <dir>\n```\n\n[w]: receipt:workspace/a/b\n"
    ).parts

    assert [
        '<h2 id="one">One</h2>\n'
        "<p>A <em>b</em> <code>c&lt;d</code> <a receipt:workspace/a/b>8 GiB</a>.\nSecond &amp; last.</p>\n",
        "receipt:workspace",
        (
            "verdict",
            [
                "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n",
                ("callout", ["<blockquote>\n<p>q</p>\n</blockquote>\n"]),
                "tool:gate#decide",
            ],
        ),
        '<ol start="3">\n<li>x</li>\n</ol>\n<pre><code class="language-sh">ls &lt;dir&gt;\n</code></pre>\n',
    ] == outline(parts)


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_opens(name):
    """Each name of the closed list opens a container."""
    assert [(name, ["<p>a</p>\n"])] == outline(guide(f"::: {name}\na\n:::\n").parts)


def test_repeated_headings():
    """Ids are unique and stable: the first keeps its words, a later duplicate never takes another heading's."""
    written = ["header", "header", "header 2", "header-2", 'Link: "text"(url)', "Link: [text -> url]"]
    written += ["Create **tracked**", "Create tracked", "search", "Setup", "Setup", "Café", "?!"]
    read = guide("".join(f"## {text}\n\n" for text in written))

    assert [
        *("header", "header-1", "header-2", "header-2-1", "link-texturl", "link-text-url", "create-tracked"),
        *("create-tracked-1", "search-1", "setup", "setup-1", "café", "section"),
    ] == [heading.id for heading in read.headings]
    assert (
        f"{_WHERE}:8: expected a heading of its own, found 'header' again; its id is 'header-1'\n"
        "    Reword one of the two: a heading added before it would move the id."
    ) == str(read.notices[0])
    assert ["Create tracked", "Create <strong>tracked</strong>"] == [read.headings[6].text, read.headings[6].html]


def test_a_counted_id_is_never_a_natural_one():
    """Wherever the duplicates stand, no counted id is another heading's own."""
    assert ["a", "a-2", "a-1", "a-3"] == heading_ids(["a", "a", "a-1", "a"])
    assert ["a-1", "a", "a-2"] == heading_ids(["a-1", "a", "a"])
    assert "two-words-3" == slug("Two  words -- 3!")


def test_lines_are_those_of_the_file():
    """What stands behind a line end inside code, in a list or in a container has the line that an editor shows."""
    read = guide("A `b\nc` [d](#e)\n\n- f\n- [g](#h)\n\n::: faq\n![i [j](#k)](receipt:l)\n:::\n")

    assert [(7, "#e"), (10, "#h"), (13, "#k")] == [
        (link.line, link.target) for passage in read.passages for link in passage.links
    ]


def test_figures_of_all_prose():
    """Title, description, headings, lists, quotes, captions and alternative texts are prose; code and addresses not."""
    read = guide(
        "## 2\n\n- 3\n\n> 4\n\n![5](receipt:a)\n\n`6` [x](/7/) ![8](/9.png)\n\n10. x\n\n[11](receipt:a)\n\n<https://x.test/12>",
        "title: GLM-5.2 in 1\ndescription: FP8 at 13\nreceipts: [oom@3]\nowns: 14\nrelated: [{guide: a, reason: 15}]\n",
    )

    assert ["1", "13", "14", "15", "2", "3", "4", "5", "8"] == [
        figure.text for passage in read.passages for figure in passage.figures
    ]


def test_exempt_figures():
    """Title, description, headings, lists, quotes, captions, alternative texts are prose; code and addresses not."""
    read = guide(
        "Of **two** phases in two-phase\nmode and 1 < 2.\n",
        _FRONT + 'exempt:\n- {text: two phases, why: "idiom, \\"so\\""}\n- {text: two-phase mode, why: name}\n'
        '- {text: "1 < 2", why: logic}\n',
    )

    assert () == read.problems
    assert 4 == read.exempt
    assert [
        '<p>Of <strong><span class="exempt" title="idiom, &quot;so&quot;">two</span></strong>'
        '<span class="exempt" title="idiom, &quot;so&quot;"> phases</span> in '
        '<span class="exempt" title="name">two-phase</span>\n<span class="exempt" title="name">mode</span> and '
        '<span class="exempt" title="logic">1 &lt; 2</span>.</p>\n'
    ] == outline(read.parts)


@pytest.mark.parametrize(("text", "found"), [("", "never"), ("3 days, 3 days", "2 times"), ("3 days.", "")])
def test_an_exempt_text_has_its_count(text, found):
    """An exempt text stands there as often as was declared, not more and not less."""
    expected = (
        [
            f"{_WHERE}:6: expected '3 days' once outside of claims, found it {found}\n"
            "    Make the new ones claims, or correct the count once each was looked at."
        ]
        if found
        else []
    )

    assert expected == problems(text, _FRONT + "exempt:\n- {text: 3 days, why: custom}\n")


def test_an_exemption_is_whole_and_not_a_claims():
    """No exemption covers a part of a number, or what stands inside a claim or code."""
    read = guide("3 and 3.5 and 13 and [3](receipt:a) and `3`", _FRONT + 'exempt:\n- {text: "3", why: custom}\n')

    assert () == read.problems
    assert ["3.5", "13"] == [figure.text for passage in read.passages for figure in passage.figures]


BAD = {
    "a table typed by hand": (
        "A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "8: expected no table typed by hand, found one\n"
        "    Make it a result or tables/<id>.yaml, and show it as ![caption](receipt:<id>).",
    ),
    "a typed fence with a figure": (
        "```python\nx = y\nz = 5\n```\n",
        "8: expected no figure in code typed by hand, found '5'\n"
        "    Show the code from a tool, a receipt or a fixture: ![caption](tool:<name>).",
    ),
    "indented code with a figure": (
        "A\n\n    x = 5\n",
        "8: expected no figure in code typed by hand, found '5'\n"
        "    Show the code from a tool, a receipt or a fixture: ![caption](tool:<name>).",
    ),
    "a misspelt scheme": (
        "A\n[8 GiB](reciept:workspace)\n",
        "7: expected a scheme of receipt, source, tool, https, http, mailto, found 'reciept'\n"
        "    It may be receipt:workspace.",
    ),
    "a scheme that runs": (
        "[a](javascript:alert)\n",
        "6: expected a scheme of receipt, source, tool, https, http, mailto, found 'javascript'\n"
        "    Write one of these, or a path of this site.",
    ),
    "an address with a space": (
        "A [b](receipt:a b)\n",
        "6: expected a link, found '](' as text\n"
        "    Write [text](address) without a space in the address, or define the reference.",
    ),
    "a reference that is not defined": (
        "A [b][c]\n",
        "6: expected a link, found '][' as text\n"
        "    Write [text](address) without a space in the address, or define the reference.",
    ),
    "a definition that nothing uses": (
        "A\n\n[b]: receipt:c\n",
        "8: expected a use of [B], found none\n    Write the text as it is defined, or remove the definition.",
    ),
    "a definition that stands twice": (
        "A [b]\n\n[b]: receipt:c\n[b]: receipt:d\n",
        "9: expected one definition of [B], found another\n    Keep one of the two.",
    ),
    "an empty link": ("[a]()\n", "6: expected an address, found ''\n    Write where the link leads."),
    "an address without its scheme": (
        "[a](//x.test/)\n",
        "6: expected an address, found '//x.test/'\n    Write where the link leads.",
    ),
    "a link without a text": (
        "[](receipt:a)\n",
        "6: expected a text for the link to 'receipt:a', found none\n    Write what a reader sees.",
    ),
    "a link with a title": (
        '[a](receipt:a "8 GiB")\n',
        "6: expected a link without a title, found one\n    Say it in the sentence instead.",
    ),
    "an exhibit among words": (
        "See ![a](receipt:b)\n",
        "6: expected an exhibit alone in its paragraph, found it among words\n    Give it a paragraph.",
    ),
    "an exhibit in a list": (
        "- ![a](receipt:b)\n",
        "6: expected an exhibit outside of lists and quotes, found it inside\n    Move it out.",
    ),
    "an exhibit without a caption": (
        "![](receipt:b)\n",
        "6: expected a caption, found an exhibit without one\n    Write it: ![caption](…).",
    ),
    "an image from elsewhere": (
        "![a](https://x.test/a.png)\n",
        "6: expected an image of this site, found https:\n    Keep a copy on the site.",
    ),
    "an image without a text": (
        "![](/a.png)\n",
        "6: expected an image with a text and no link in it\n    Say what the image shows.",
    ),
    "a container of no known name": (
        "::: callot\na\n:::\n",
        "6: expected a container's name, found 'callot'\n    It may be callout.",
    ),
    "a container that is not closed": (
        "::: faq\na\n",
        "6: expected ::: to close faq, found the end\n    Close the container.",
    ),
    "a container closed twice": (
        "::: faq\na\n:::\n:::\n",
        "9: expected an open container before :::, found none\n    Remove the line.",
    ),
    "a container in a list": (
        "- a\n\n  ::: faq\n",
        "8: expected ::: outside of lists and quotes, found it inside\n    Move it out.",
    ),
    "a review that did not happen": (
        "This was\neditorially reviewed.\n",
        "7: expected no word of a review before there was one, found 'editorially reviewed'\n"
        "    Record the review (reviewed and reviewedBy), or leave the words out.",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_prose(case):
    """Each is one message with its line, whatever the receipts say."""
    markdown, message = BAD[case]

    assert [f"{_WHERE}:{message}"] == problems(markdown)


def test_good_prose():
    """A typed fence without a figure, words of a review that did happen, brackets that are no link are right."""
    reviewed = _FRONT + "reviewed: 2026-11-30\nreviewedBy: [someone]\n"

    assert [] == problems("```\nls\n```\n\n[sic] is (not yet reviewed by an editor) [^a\n")
    assert [] == problems("Editorially reviewed.", reviewed)


UNREADABLE = {
    "no front matter": (
        b"A\n",
        "1: expected front matter between two lines of three dashes, found none\n"
        "    Begin the file with ---, then title and description, then ---.",
    ),
    "bytes that are no text": (
        b"---\ntitle: \xff\n---\n",
        "2: expected UTF-8, found the byte 0xff\n    Save the file as UTF-8.",
    ),
    "a character that nobody sees": (
        f"---\n{_FRONT}---\n3\u200b2\n".encode(),
        "6: expected characters that a reader can see, found U+200B\n    Remove it; lines end in a line feed alone.",
    ),
    "line ends of another kind": (
        f"---\n{_FRONT}---\na\r\n".encode(),
        "6: expected characters that a reader can see, found U+000D\n    Remove it; lines end in a line feed alone.",
    ),
    "a key that stands twice": (
        f"---\n{_FRONT}title: Another\n---\n".encode(),
        "5: the key 'title' stands twice\n    Keep one of the two.",
    ),
    "a key that is not known": (
        f"---\n{_FRONT}titel: Another\n---\n".encode(),
        "5: titel: expected a known key, found this one\n    Write what the file's schema asks for here.",
    ),
    "no title": (
        b"---\ndescription: A\nreceipts: [oom@3]\n---\n",
        "2: title: expected it, found nothing\n    Write what the file's schema asks for here.",
    ),
    "a pin that is none": (
        b"---\ntitle: A\ndescription: B\nreceipts: [oom@latest]\n---\n",
        "4: receipts.0: expected a pin such as audit@3 or audit@draft, found 'oom@latest'\n"
        "    Write what the file's schema asks for here.",
    ),
    "a day that is none": (
        f"---\n{_FRONT}published: 2026-02-30\n---\n".encode(),
        "5: published: day is out of range for month\n    Write what the file's schema asks for here.",
    ),
    "a guide on no receipt": (
        b"---\ntitle: A\ndescription: B\n---\n",
        "1: expected a guide to stand on a receipt, found no pin\n"
        "    Write `receipts: [audit@draft]` in its front matter.",
    ),
    "two pins of one audit": (
        b"---\ntitle: A\ndescription: B\nreceipts: [oom@3, oom@4]\n---\n",
        "1: expected one pin of oom, found 2\n    Correct the front matter.",
    ),
    "published on no day": (
        f"---\n{_FRONT}status: published\n---\n".encode(),
        "1: expected the day of publication in published, found none\n    Correct the front matter.",
    ),
    "reviewed by nobody": (
        f"---\n{_FRONT}reviewed: 2026-11-30\n---\n".encode(),
        "1: expected reviewed and reviewedBy together, found one of them\n    Correct the front matter.",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_file_that_is_no_guide(case):
    """Each is one message with its line, and no traceback."""
    body, message = UNREADABLE[case]

    assert f"{_WHERE}:{message}" == refused(body)


def test_a_page_may_stand_on_no_receipt():
    """A page is written as a guide is, and needs no pin."""
    page = read_page(b"---\ntitle: A\ndescription: B\n---\n## C\n", "content/pages/a.md", _NAMES)

    assert ["c"] == [heading.id for heading in page.headings]


def test_hostile_text_is_text():
    """Markup in prose, code, a caption or a language is shown, never obeyed."""
    hostile = "</script><script>alert('x')</script>"
    read = guide(f"{hostile}\n\n`{hostile}`\n\n```{hostile}\n{hostile}\n```\n\n![{hostile}](receipt:a)\n")
    html = "".join(part for part in outline(read.parts) if isinstance(part, str))

    assert "<script" not in html
    assert "</script" not in html
    assert hostile == read.passages[-1].plain


def test_cells_are_prose_of_their_own_file():
    """A cell is read as inline Markdown, with the place that it was given with."""
    passages, wrong = read_cells([("t/a.yaml:4", "A [b](recept:c)"), ("t/b.yaml:9", "*D* 5")], _NAMES)

    assert ["t/a.yaml:4"] == [problem.where for problem in wrong]
    assert ["t/b.yaml:9"] == [passages[1].at(figure.start) for figure in passages[1].figures]


def test_a_pin_moves_alone():
    """Only the audit's own pin is moved, on a line that it shares with one whose name ends alike as well."""
    body = b"---\ntitle: A\ndescription: B\nreceipts: [my-cache@draft, cache@draft]\n---\n"

    moved = repinned(read_guide(body, _WHERE, _NAMES), body, "cache", 3)

    assert body.replace(b" cache@draft", b" cache@3") == moved


def test_containers_nest_a_little():
    """A tower of containers is one problem, however high it is."""
    tower = "::: callout\n" * 3000 + "Words.\n" + ":::\n" * 3000

    assert [f"{_WHERE}:10: expected at most 4 containers in each other, found more\n    Close one before."] == problems(
        tower
    )
    assert [] == problems("::: callout\n" * 4 + "Words.\n" + ":::\n" * 4)
