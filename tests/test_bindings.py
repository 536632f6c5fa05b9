"""Bindings: a guide that stands on its receipt, and every way in which it no longer does."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_builder.bindings import Bound, BoundCells, Outbound, bind, bind_cells, read_links
from site_builder.errors import GuideError
from site_builder.figures import Vocabulary
from site_builder.guides import Block, ExhibitPlace, Prose, Reference, read_guide, read_page
from site_builder.receipts import Ledger
from tests.ledgers import COMMIT, ISSUE, body, ledger

_WHERE = "content/guides/x.md"
_NAMES = Vocabulary(names=frozenset({"GLM-5.2", "H200", "FP32"}))
_LINKS = {"https://out.test/": Outbound(url="https://out.test/", purpose="To read on.", rel="nofollow")}
_TOOLS = {"oom": {"gate": ("decide", "main")}}
_FRONT = "title: A title\ndescription: What it says.\nreceipts: [oom@3]\n"

VALID = f"""---
title: GLM-5.2 asks for [8 GiB]
description: Below [32 heads](receipt:minHeads@1.28.0), on H200.
receipts: [oom@3, fact@1]
exempt:
  - {{text: two-phase, times: 2, why: the name of a design}}
related:
  - {{guide: other, reason: The two-phase design.}}
---
## At [32,768 tokens](receipt:workspace/32768/cap)

It takes [8 GiB] and [8.3 MiB](receipt:buffer), [unknown](receipt:heads), [not reachable](receipt:reachable).
Pinned at [a8f794d1…](receipt:pin) in [v1.28.0](receipt:version) on [26 August 2026](receipt:day), two-phase.
The [kernel of 1.28.0, 34,530 bytes](source:kernel@1.28.0) and [#53413]({ISSUE}) say so; [read on](https://out.test/).
Between [1 GiB](receipt:workspace/4096/size)–[8 GiB] there are [2](receipt:fact:splits), see [the gate](tool:gate).

::: verdict
![FP32 at [8 GiB]](receipt:workspace)
:::

![Formula](receipt:workspace/formula)

![Where it is read](receipt:minHeads@1.28.0)

![Signals](receipt:signals)

![Decision](receipt:decision)

![Log](receipt:log)

![Code](tool:gate#decide)

[8 GiB]: receipt:workspace/32768/size
"""


def bound(text: str, ledgers: dict[str, Ledger] | None = None, **how: Any) -> Bound:
    """A guide met with its receipts."""
    known = ledgers or {"oom@3": ledger(), "fact@1": ledger("fact", 1)}
    given = {"links": _LINKS, "tools": _TOOLS, "newest": {"oom": 3, "fact": 1}, **how}
    return bind(read_guide(text.encode(), _WHERE, _NAMES), known, **given)


def said(markdown: str, front: str = _FRONT, **how: Any) -> str:
    """What is printed for a guide whose Markdown begins on line 6 and that has one good claim at its end."""
    with pytest.raises(GuideError) as error:
        bound(f"---\n{front}---\n{markdown}\n\n[32 heads](receipt:minHeads@1.28.0)\n", **how)
    return str(error.value)


def href(reference: Reference) -> str:
    """An address that says what it was asked for."""
    return f"/{reference.kind}/{reference.audit}/{reference.target}" + (f"#{reference.part}" if reference.part else "")


def test_a_valid_guide():
    """Everything is met: claims, citations, exhibits in their order, and what they amount to."""
    met = bound(VALID)

    assert [
        *("workspace/32768/size", "minHeads@1.28.0", "workspace/32768/cap", "workspace/32768/size", "buffer"),
        *("heads", "reachable", "pin", "version", "day", "workspace/4096/size", "workspace/32768/size", "splits"),
        "workspace/32768/size",
    ] == [claim.cell.address for claim in met.claims]
    assert "It takes 8 GiB and 8.3 MiB, unknown, not reachable." == met.claims[4].sentence
    assert (12, "oom@3") == (met.claims[4].line, met.claims[4].pin)
    assert ["kernel@1.28.0"] == [citation.source.id for citation in met.citations]
    assert [
        *(("table", "workspace"), ("formula", "workspace"), ("pointer", "minHeads@1.28.0"), ("table", "signals")),
        *(("section", "decision"), ("fixture", "log"), ("tool", "gate")),
    ] == [(exhibit.kind, exhibit.address) for exhibit in met.exhibits]
    coverage = met.coverage
    # all claims but the key of its own row, and three numbers of cited and attributed sources
    assert (16, 1, 2) == (coverage.claims, coverage.keys, coverage.exempt)
    assert (4, 4, 88) == (coverage.computed_cells, coverage.editorial_cells, coverage.percent)


def test_a_guide_is_rendered():
    """Every link has its class and address, each claim says what it stands on, and exhibits are left to templates."""
    rendered = bound(VALID).rendered(href)
    claim = (
        '<a class="claim" data-address="workspace/32768/size" data-receipt="oom@3" '
        'href="/claim/oom/workspace/32768/size">'
    )

    assert f"GLM-5.2 asks for {claim}8 GiB</a>" == rendered.title
    assert ("GLM-5.2 asks for 8 GiB", "Below 32 heads, on H200.") == (rendered.title_text, rendered.description_text)
    assert ["At 32,768 tokens"] == [heading.text for heading in rendered.toc]
    assert ["At 32,768 tokens"] == [heading.html for heading in rendered.toc]
    first, verdict, *rest = rendered.segments
    assert isinstance(first, Prose)
    assert isinstance(verdict, Block)
    for part in (
        '<h2 id="at-32768-tokens">At <a class="claim" data-address="workspace/32768/cap"',
        f"It takes {claim}8 GiB</a> and ",
        '<a class="source" data-source="kernel@1.28.0" data-receipt="oom@3" href="/source/oom/kernel@1.28.0">kernel of',
        f'<a class="attribution" rel="external" href="/attribution//{ISSUE}">#53413</a>',
        '<a class="outbound" rel="nofollow" href="/outbound//https://out.test/">read on</a>',
        '<a class="claim" data-address="splits" data-receipt="fact@1" href="/claim/fact/splits">2</a>',
        '<a class="tool" href="/tool/oom/gate">the gate</a>',
        '<span class="exempt" title="the name of a design">two-phase</span>',
    ):
        assert part in first.html
    assert (
        ExhibitPlace(
            kind="table",
            audit="oom",
            pin="oom@3",
            address="workspace",
            part=None,
            caption=f"FP32 at {claim}8 GiB</a>",
            caption_text="FP32 at 8 GiB",
            line=18,
        ),
    ) == verdict.segments
    assert [("formula", None), ("pointer", None), ("table", None), ("section", None), ("fixture", None)] == [
        (exhibit.kind, exhibit.part) for exhibit in rest[:5] if isinstance(exhibit, ExhibitPlace)
    ]
    assert "style=" not in first.html


def test_a_reported_value_stays_reported():
    """A claim on what another party stated says so in the page."""
    met = bound(f"---\n{_FRONT}---\n[8 GiB](receipt:reportedRequest)\n").rendered(href)

    assert 'data-address="reportedRequest" data-receipt="oom@3" data-standing="reported"' in str(met.segments[0])


def _digits(text: str) -> list[int]:
    """Where a digit of a figure stands that is not exempt: not in addresses, counts, names or the exemptions."""
    aside = re.compile(r"\]\([^)]*\)|^\[.*\]: .*$|GLM-5\.2|H200|FP32|^receipts:.*$|\{text: .*$", re.MULTILINE)
    spans = [match.span() for match in aside.finditer(text)]
    return [
        place
        for place, character in enumerate(text)
        if character.isdigit() and not any(start <= place < end for start, end in spans)
    ]


@pytest.mark.parametrize("place", _digits(VALID))
def test_any_digit_of_a_claim_or_figure_changed(place):
    """Whatever digit of a claim or figure is changed, to whatever other digit, the guide does not build."""
    line = 1 + VALID.count("\n", 0, place)
    for digit in set("0123456789") - {VALID[place]}:
        with pytest.raises(GuideError) as error:
            bound(VALID[:place] + digit + VALID[place + 1 :])

        assert f"{_WHERE}:{line}: " in str(error.value)


@pytest.mark.parametrize("name", ["GLM-5.2", "H200", "FP32"])
def test_any_digit_of_a_name_changed(name):
    """A name with another digit is no name but a figure."""
    for place in [place for place, character in enumerate(name) if character.isdigit()]:
        other = name[:place] + ("7" if name[place] != "7" else "8") + name[place + 1 :]
        with pytest.raises(GuideError):
            bound(VALID.replace(name, other, 1))


def test_any_value_of_the_receipt_changed():
    """A receipt that gives another value than a claim reads stops the guide that pins it."""
    for place, changed in (("buffer", "9.2822"), ("pin", "b" + COMMIT[1:]), ("version", "1.28.1"), ("heads", "4")):
        observations = [{**item, "value": changed} if item["id"] == place else item for item in body()["observations"]]
        with pytest.raises(GuideError) as error:
            bound(VALID, {"oom@3": ledger(changed={"observations": observations}), "fact@1": ledger("fact", 1)})

        assert f"; {place} is " in str(error.value)


BAD = {
    "a claim that no longer reads as its value": (
        "A\n[4 GiB](receipt:workspace/32768/size)",
        '7: the text says "4 GiB"; workspace/32768/size is 8 GiB (oom, version 3).\n'
        '    Reread the sentence, then write "8 GiB".',
    ),
    "a figure that is not bound": (
        "A kernel of 32 heads.",
        "6: expected every figure to stand on a receipt, found '32' in the prose\n"
        "    Bind it, perhaps as [32 heads](receipt:minHeads@1.28.0); or exempt it, with its count and why.",
    ),
    "a spelled-out number": (
        "In eleven\nor (eight) steps of half.",
        "6: expected every figure to stand on a receipt, found 'eleven' in the prose\n"
        "    Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why.\n"
        f"{_WHERE}:7: expected every figure to stand on a receipt, found 'eight' in the prose\n"
        "    Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why.\n"
        f"{_WHERE}:7: expected every figure to stand on a receipt, found 'half' in the prose\n"
        "    Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why.",
    ),
    "a version": (
        "Since v1.28.0.",
        "6: expected every figure to stand on a receipt, found 'v1.28.0' in the prose\n"
        "    Bind it, perhaps as [v1.28.0](receipt:version); or exempt it, with its count and why.",
    ),
    "a date": (
        "On 2026-08-26",
        "6: expected every figure to stand on a receipt, found '2026-08-26' in the prose\n"
        "    Bind it, perhaps as [2026-08-26](receipt:day); or exempt it, with its count and why.",
    ),
    "a hash": (
        "At a8f794d1…",
        "6: expected every figure to stand on a receipt, found 'a8f794d1…' in the prose\n"
        "    Bind it, perhaps as [a8f794d1…](receipt:pin); or exempt it, with its count and why.",
    ),
    "an unknown address": (
        "[8 GiB](receipt:workspace/32786/size)",
        "6: expected a value of oom@3, found nothing at 'workspace/32786/size'\n"
        "    It may be workspace/32768/size or workspace/4096/size or workspace/32768/cap.",
    ),
    "an address of a receipt that is not pinned": (
        "[8 GiB](receipt:oon:workspace/32768/size)",
        "6: expected one of the pinned receipts, found 'oon'\n    It may be oom; else pin the receipt.",
    ),
    "a claim on a whole table": (
        "[8 GiB](receipt:workspace)",
        "6: expected a claim on one value, found workspace, which is a whole result\n"
        "    Name a row and a column (workspace/4096/cap, workspace/4096/size, workspace/32768/cap), "
        "or show it: ![caption](receipt:workspace).",
    ),
    "an exhibit of one value": (
        "![a](receipt:workspace/32768/size)",
        "6: expected an exhibit, found workspace/32768/size, which is one value\n"
        "    Write it as a claim, [8 GiB](receipt:workspace/32768/size), or show workspace.",
    ),
    "an unknown exhibit": (
        "![a](receipt:worksapce)",
        "6: expected something to show in oom@3, found nothing at 'worksapce'\n    It may be workspace.",
    ),
    "a formula of words": (
        "![a](receipt:signals/formula)",
        "6: expected something to show in oom@3, found nothing at 'signals/formula'\n    It may be signals.",
    ),
    "an unknown source, one problem with its number": (
        "[kernel 1.28.0](source:kernel@1.27.0)",
        "6: expected a source of oom@3, found 'kernel@1.27.0'\n    It may be kernel@1.28.0.",
    ),
    "a number that is not its source's": (
        "[kernel 1.27.0](source:kernel@1.28.0)",
        "6: expected every figure to stand on a receipt, found '1.27.0' in the prose\n"
        "    Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why.",
    ),
    "a number that is not the attribution's": (
        f"[#53414]({ISSUE})",
        "6: expected every figure to stand on a receipt, found '#53414' in the prose\n"
        "    Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why.",
    ),
    "an unknown tool": (
        "[a](tool:gat)",
        "6: expected a tool of oom, found 'gat'\n    It may be gate.",
    ),
    "an unknown part of a tool": (
        "![a](tool:gate#decid)",
        "6: expected a part of gate, found 'decid'\n    It may be decide.",
    ),
    "a link of no class": (
        "[a](https://out.test/b)",
        "6: expected a link with a class, found https://out.test/b\n"
        "    Cite a source (source:), attribute it (reported.yaml), or list it in content/links.yaml; "
        "it may be https://out.test/.",
    ),
    "a link to a source by its URL": (
        f"[a](https://example.org/engine/blob/{COMMIT}/kernel.cu)",
        f"6: expected a link with a class, found https://example.org/engine/blob/{COMMIT}/kernel.cu\n"
        "    It is a source: write source:tree.",
    ),
    "a unit behind a claim": (
        "[2](receipt:splits) GiB",
        "6: expected the unit inside the claim '2', found 'GiB' behind it\n    Write '2', which is all that splits is.",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_bindings(case):
    """Each is one message with its line and what to do."""
    markdown, message = BAD[case]

    assert f"{_WHERE}:{message}" == said(markdown)


@pytest.mark.parametrize(
    ("text", "touching"),
    [
        *(("3[2](receipt:splits)", "3"), ("[2](receipt:splits).5", "."), ("[2](receipt:splits),000", ",")),
        *(("-[2](receipt:splits)", "-"), ("−[2](receipt:splits)", "−"), ("~[2](receipt:splits)", "~")),
        *(("[2](receipt:splits)K", "K"), ("[2](receipt:splits)%", "%"), ("[2](receipt:splits)`5`", "5")),
        *(("**3**[2](receipt:splits)", "3"), ("[2](receipt:splits)-way", "-"), (".[2](receipt:splits)", ".")),
        *(("[2](receipt:splits).post", "."), ("[2](receipt:splits)\u202f[2](receipt:splits)", "\u202f")),
        *(("[2](receipt:splits)²", "²"), ("_[2](receipt:splits)", "_"), ("a[2](receipt:splits)", "a")),
    ],
)
def test_what_touches_a_claim(text, touching):
    """A letter, digit, sign or point that touches a claim would change the number outside of what is checked."""
    assert (
        f"{_WHERE}:6: expected nothing to touch the claim '2', found {touching!r}\n"
        "    Take it into the link or set a space: what touches a number changes it."
    ) in said(text)


@pytest.mark.parametrize(
    "text", ["([2]), [2]; [2].", "“[2]”: *[2]* — [2]!", "[2]–[2]", "[2]/[2] [2]'s", "at [2],\n[2]"]
)
def test_what_may_touch_a_claim(text):
    """Punctuation around a claim and a dash between two are no part of the number."""
    assert bound(f"---\n{_FRONT}---\n{text}\n\n[2]: receipt:splits\n").claims


_TREE = {
    "sources": [
        *body()["sources"],
        {
            **body()["sources"][0],
            "id": "wheel@1.28.0",
            "members": [
                {"path": "engine/config/__init__.py", "digest": "sha256:" + "1d" * 32, "bytes": 1204},
                {"path": "engine/config/engine.py", "digest": "sha256:" + "2e" * 32, "bytes": 88},
            ],
        },
    ]
}


def test_one_file_of_a_tree_is_cited():
    """A citation may name a file of a tree: its size and digest are then the link's own numbers."""
    text = (
        f"---\n{_FRONT}---\n[engine.py of 1.28.0, 88 bytes, 2e2e2e2e](source:wheel@1.28.0#engine/config/engine.py)"
        " in [the wheel of 34,530 bytes](source:wheel@1.28.0), [32 heads](receipt:minHeads@1.28.0).\n"
    )
    met = bound(text, {"oom@3": ledger(changed=_TREE)})

    assert [("wheel@1.28.0", "engine/config/engine.py"), ("wheel@1.28.0", "")] == [
        (citation.source.id, citation.path) for citation in met.citations
    ]
    assert 5 == met.coverage.claims
    rendered = "".join(part.html for part in met.rendered(href).segments if isinstance(part, Prose))
    assert (
        '<a class="source" data-source="wheel@1.28.0#engine/config/engine.py" data-receipt="oom@3" '
        'href="/source/oom/wheel@1.28.0#engine/config/engine.py">engine.py of'
    ) in rendered


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        (
            "[it](source:wheel@1.28.0#engine/config/engin.py)",
            "6: expected one of the 2 files that were read of wheel@1.28.0, found 'engine/config/engin.py'\n"
            "    It may be engine/config/engine.py or engine/config/__init__.py.",
        ),
        (
            "[it](source:wheel@1.28.0#engine.py)",
            "6: expected one of the 2 files that were read of wheel@1.28.0, found 'engine.py'\n"
            "    It may be engine/config/engine.py.",
        ),
        (
            "[it](source:wheel@1.28.0#setup.cfg)",
            "6: expected one of the 2 files that were read of wheel@1.28.0, found 'setup.cfg'\n"
            "    Cite a file that an observation was read off.",
        ),
        (
            "[it](source:kernel@1.28.0#kernel.py)",
            "6: expected kernel@1.28.0 without a path, found 'kernel.py': it is no tree of files\n"
            "    Write source:kernel@1.28.0.",
        ),
        (
            "[34,530 bytes](source:wheel@1.28.0#engine/config/engine.py)",
            "6: expected every figure to stand on a receipt, found '34,530' in the prose\n"
            "    Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why.",
        ),
        (
            "[line 61](source:wheel@1.28.0#engine/config/engine.py)",
            "6: expected every figure to stand on a receipt, found '61' in the prose\n"
            "    Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why.",
        ),
    ],
)
def test_a_file_that_is_not_of_the_tree(link, problem):
    """A path must be one of the tree's own; another's size and a line number are figures as any other."""
    assert f"{_WHERE}:{problem}" == said(link, ledgers={"oom@3": ledger(changed=_TREE)})


@pytest.mark.parametrize("unit", ["GiB", "gigabytes", "%", "seconds", "kB"])
@pytest.mark.parametrize(
    "link", ["[53413]({issue}) {unit}", "[53413 {unit}]({issue})", "[34,530](source:kernel@1.28.0) {unit}"]
)
def test_a_number_of_a_source_is_no_measure(link, unit):
    """A source's own number identifies it: with a unit behind it, it would say how much of something there is."""
    text = said(link.format(issue=ISSUE, unit=unit))

    assert f"{_WHERE}:6: expected every figure to stand on a receipt, found " in text


@pytest.mark.parametrize("unit", ["GiB", "gigabytes", "Mebibytes", "pct", "KB"])
def test_a_count_is_no_measure(unit):
    """A unit of measure behind a claim would give the value a unit that it does not have, however it is written."""
    assert (
        f"{_WHERE}:6: expected the unit inside the claim '2', found {unit!r} behind it\n"
        "    Write '2', which is all that splits is."
    ) in said(f"[2](receipt:splits) {unit}")


def test_a_digest_that_could_be_another():
    """A prefix that begins two digests of the pinned receipts stands for neither."""
    twin = {**body()["observations"][3], "id": "otherPin", "value": COMMIT[:8] + "f" * 32}
    known = {"oom@3": ledger(changed={"observations": [*body()["observations"], twin]})}

    assert (
        f"{_WHERE}:6: expected the beginning of one digest, found 'a8f794d1', which begins several\n"
        f"    Write more of it: {COMMIT}."
    ) == said("[a8f794d1](receipt:pin)", ledgers=known)


def test_a_digest_that_is_cut_short_where_it_was_read():
    """A commit that an upstream file itself cuts short is the same one as the whole: a prefix of both may stand for either."""
    short = {**body()["observations"][3], "id": "shortPin", "value": COMMIT[:9]}
    known = {"oom@3": ledger(changed={"observations": [*body()["observations"], short]})}
    text = "[a8f794d1](receipt:pin) and [a8f794d1](receipt:shortPin)"

    assert bound(f"---\n{_FRONT}---\n{text}\n", ledgers=known).claims


def test_everything_wrong_at_once():
    """Problems of the text, of the pins and of the bindings come together, in the order of the lines."""
    text = VALID.replace("8.3 MiB", "8.2 MiB").replace("two-phase.", "a 7.").replace(": verdict", ": verdit")
    text = text.replace("oom@3, fact@1", "oom@2, fact@1")
    with pytest.raises(GuideError) as error:
        bound(text, {"oom@2": ledger(version=2), "fact@1": ledger("fact", 1)})

    assert [f"{_WHERE}:{line}" for line in (4, 6, 12, 13, 17)] == [problem.where for problem in error.value.problems]


def test_a_pin_without_its_receipt():
    """A pin names a receipt that exists; what stands on it is not reported a second time."""
    assert (f"{_WHERE}:4: expected a receipt to pin, found no oom@5\n    It may be oom@3.") == said(
        "A", _FRONT.replace("@3", "@5"), ledgers={"oom@3": ledger()}
    )


def test_an_old_pin():
    """A guide on an older receipt stops, unless the newer one changes nothing that it binds; a draft is never old."""
    assert (
        f"{_WHERE}:4: the guide stands on oom@3; oom@4 is published and says otherwise what it says\n"
        "    Read build.py diff oom 3 4, then pin oom@4."
    ) == said("A", newest={"oom": 4})
    assert bound(VALID, newest={"oom": 4, "fact": 1}, unchanged={"oom@3"}).claims
    draft = {"oom@draft": ledger(version="draft"), "fact@1": ledger("fact", 1)}
    assert bound(VALID.replace("oom@3", "oom@draft"), draft, newest={"oom": 4}).claims


def test_what_another_version_moves():
    """The claims that another version gives otherwise are named, and those alone."""
    rows = [{"id": "4096", "cap": "4096", "size": "1"}, {"id": "32768", "cap": "32768", "size": "9"}]
    results = [{**body()["results"][0], "rows": rows}]
    met = bound(VALID)

    assert () == met.moved(ledger(version=4))
    assert [(line, "9") for line in (2, 12, 15, 18)] == [
        (claim.line, there and there.value.text)
        for claim, there in met.moved(ledger(version=4, changed={"results": results}))
    ]
    gone = met.moved(ledger(version=4, changed={"observations": body()["observations"][:6]}))
    assert [("reachable", None)] == [(claim.cell.address, there) for claim, there in gone]


def test_a_guide_without_a_claim():
    """Empty is wrong: a guide that binds nothing stands on nothing."""
    with pytest.raises(GuideError) as error:
        bound(f"---\n{_FRONT}---\nA\n")

    assert (
        f"{_WHERE}:1: expected claims on the pinned receipt, found none\n"
        "    Write the values that the guide rests on as [value](receipt:<address>)."
    ) == str(error.value)


def test_coverage_below_the_floor():
    """Exempt figures may not be more than the floor leaves; the key of its own row counts on neither side."""
    front = _FRONT + 'exempt: [{text: "7", why: custom}]\n'
    markdown = "7 [4,096 tokens](receipt:workspace/4096/cap)"

    assert (
        f"{_WHERE}:1: expected a coverage of 95 % or more, found 50 % (1 claims, 1 exempt figures)\n"
        "    Bind exempt figures to values of a receipt, or leave them out."
    ) == said(markdown, front, floor=Decimal("0.95"))
    assert bound(f"---\n{front}---\n{markdown} [1 GiB](receipt:workspace/4096/size)\n", floor=Decimal("0.5")).claims


def test_a_page_on_no_receipt():
    """A page may stand on no receipt: its links have their classes, and it needs no claim."""
    page = read_page(b"---\ntitle: A\ndescription: B\n---\n[a](/b/) [c](https://out.test/)\n", _WHERE, _NAMES)
    met = bind(page, {}, links=_LINKS, tools={}, newest={}, floor=Decimal(1))

    assert ({}, 0, 100) == (met.ledgers, met.coverage.claims, met.coverage.percent)
    assert '<a href="/internal//b/">a</a>'.replace("//b", "///b") in str(met.rendered(href).segments[0])


def cells(meaning: str, **how: Any) -> BoundCells:
    """The editorial cells of a receipt, one of them with other words."""
    results = body()["results"]
    results[1]["rows"][1]["meaning"] = meaning
    return bind_cells(
        ledger(changed={"results": results}),
        vocabulary=_NAMES,
        links=_LINKS,
        tools=_TOOLS,
        locate=lambda table, row, _: f"evidence/oom/tables/{table}.yaml:{7 if row == 'path' else 4}",
        **how,
    )


def test_editorial_cells():
    """Cells of words are met with their own receipt, or with another by its name, and rendered one by one."""
    met = cells("*Below* [2](receipt:fact:splits)", others=[ledger("fact", 1)])

    assert {
        ("signals", "size", "signal"): "Size",
        ("signals", "size", "meaning"): 'It asks for <a class="claim" data-address="reportedRequest" '
        'data-receipt="oom@3" data-standing="reported" href="/claim/oom/reportedRequest">8 GiB</a>.',
        ("signals", "path", "signal"): "Path",
        ("signals", "path", "meaning"): '<em>Below</em> <a class="claim" data-address="splits" '
        'data-receipt="fact@1" href="/claim/fact/splits">2</a>',
    } == met.rendered(href)
    assert 2 == met.coverage.claims


def test_bad_editorial_cells():
    """A cell is held to what prose is held to, and named by its file and line."""
    with pytest.raises(GuideError) as error:
        cells("[33 heads](receipt:minHeads@1.28.0) of 40 ](x)")

    assert (
        "evidence/oom/tables/signals.yaml:7: expected a link, found '](' as text\n"
        "    Write [text](address) without a space in the address, or define the reference.\n"
        'evidence/oom/tables/signals.yaml:7: the text says "33 heads"; minHeads@1.28.0 is 32 heads (oom, version 3).\n'
        '    Reread the sentence, then write "32 heads".\n'
        "evidence/oom/tables/signals.yaml:7: expected every figure to stand on a receipt, found '40' in the prose\n"
        "    Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why."
    ) == str(error.value)


def test_a_claim_on_our_own_words():
    """A claim on a value that we wrote holds, and is counted apart."""
    met = bound(f"---\n{_FRONT}---\n[Size](receipt:signals/size/signal) [2](receipt:splits)\n")

    assert (1, 1) == (met.coverage.claims, met.coverage.editorial)


def test_hostile_words_of_a_receipt():
    """What a receipt quotes from elsewhere is text in a message and in a page."""
    hostile = '"><script>\x1b[2J'
    observations = [*body()["observations"], {**body()["observations"][2], "id": "word", "value": hostile}]
    known = {"oom@3": ledger(changed={"observations": observations})}

    message = said("[a](receipt:word)", ledgers=known)

    assert "\x1b" not in message
    assert "\\x1b[2J" in message


LINKS = {
    "a URL that stands twice": (
        "links:\n- {url: 'https://a.test/', purpose: b}\n- {url: 'https://a.test/', purpose: c}\n",
        "3: expected each URL once, found https://a.test/ again\n    Keep one of the two.",
    ),
    "no purpose": (
        "links:\n- {url: 'https://a.test/'}\n",
        "2: links.0.purpose: expected it, found nothing\n    Write what the file's schema asks for here.",
    ),
    "a scheme that runs": (
        "links:\n- {url: 'javascript:a', purpose: b}\n",
        "2: links.0.url: String should match pattern '^(?:https?://|mailto:)\\S+$'\n"
        "    Write what the file's schema asks for here.",
    ),
}


@pytest.mark.parametrize("case", LINKS)
def test_bad_links(case):
    """The list of pages elsewhere names each once, with its purpose."""
    text, message = LINKS[case]
    with pytest.raises(GuideError) as error:
        read_links(text.encode(), "content/links.yaml")

    assert f"content/links.yaml:{message}" == str(error.value)


def test_links():
    """Each page is known by its URL."""
    assert _LINKS == read_links(
        b"links: [{url: 'https://out.test/', purpose: To read on., rel: nofollow}]", "content/links.yaml"
    )


_SNIPPETS = (
    *("[8 GiB]", "[2](receipt:splits)", "![c](receipt:workspace)", "[![a](/b.png)](#c)", "<https://out.test/>", "3"),
    *("two", "H200", "a", " ", "\n", "\n\n", "- ", "> ", "# ", "::: faq\n", "\n:::\n", "`", "```\n", "*", "**", "_"),
    *("[", "]", "(", ")", "](", "![", "\\", "&lt;", "&#50;", "<b>", "    ", "1. ", "|", "|-|\n", "---\n", "  \n"),
)
_CHECKED = re.compile(
    r'<a class="[^>]*>.*?</a>|<code.*?</code>|<span class="exempt".*?</span>|<[^>]*>|H200|&[a-z#0-9x]+;', re.DOTALL
)


@given(st.lists(st.sampled_from(_SNIPPETS), max_size=20).map("".join))
def test_whatever_is_written(markdown):
    """Any text is a guide or has its problems; in a guide no digit reaches a reader that was not checked."""
    text = f"---\n{_FRONT}---\n{markdown}\n\n[2](receipt:splits) [8 GiB]\n\n[8 GiB]: receipt:workspace/32768/size\n"
    try:
        segments = list(bound(text).rendered(href).segments)
    except GuideError:
        return
    while segments:
        segment = segments.pop()
        if isinstance(segment, Block):
            segments.extend(segment.segments)
        else:
            html = segment.html if isinstance(segment, Prose) else segment.caption
            assert not re.search(r"\d|\btwo\b", _CHECKED.sub("", html))


def test_words_that_can_hold_no_binding_hold_no_figure():
    """A decision, a title or a column's title stands on the page without a binding, so a figure in it is a problem."""
    changed = body()
    changed["decision"]["statement"] = "Set a cap of 4096 first."

    with pytest.raises(GuideError) as stopped:
        bind_cells(ledger(changed=changed), vocabulary=Vocabulary(), links={}, tools={}, locate=lambda *_: "t:1")

    assert (
        "evidence/oom/decision.yaml: expected words without a figure, found '4096' in 'Set a cap of 4096 first.'\n"
        "    Say it without the figure, or in a sentence or a cell where it can be bound."
    ) in str(stopped.value)


def test_figures_that_nothing_checks_are_counted():
    """Statements, reasons, limits, purposes and the desk's sentences hold no binding: their figures are told, by where."""
    changed = body()
    changed["limits"] = ["Run on GLM-5.2 alone.", "Of 32 heads, twenty were left out."]
    changed["observations"][0]["statement"] = "Heads below which 2 paths part."
    changed["assumptions"][0]["reason"] = "Half of 4."
    changed["sources"][0]["purpose"] = "The kernel of 1.28.0"
    issued = {"overlap": {"closest": [{"page": "One of 90 pages."}, "2026"]}}
    met = bind_cells(
        ledger(changed=changed, issued=issued), vocabulary=_NAMES, links={}, tools={}, locate=lambda *_: "t:1"
    )

    assert {
        "the limits": ("32", "twenty"),
        "minHeads": ("2",),
        "splits/reason": ("Half", "4"),
        "source kernel": ("1.28.0",),
        "the desk's overlap": ("90",),
    } == met.unchecked


def test_a_question_holds_no_figure():
    """The question is the page's title: a figure in it is a problem."""
    with pytest.raises(GuideError) as stopped:
        bind_cells(
            ledger(changed={"question": "Is it 8 GiB?"}), vocabulary=_NAMES, links={}, tools={}, locate=lambda *_: "t:1"
        )

    assert "evidence/oom/audit.py: expected words without a figure, found '8' in 'Is it 8 GiB?'" in str(stopped.value)


def test_a_trigger_holds_no_figure_under_any_name():
    """Every text of a re-open trigger is shown, whatever the editor called it."""
    changed = body()
    changed["decision"]["reopen"] = [{"id": "cap", "when": "The cap exceeds 4096."}]

    with pytest.raises(GuideError) as stopped:
        bind_cells(ledger(changed=changed), vocabulary=Vocabulary(), links={}, tools={}, locate=lambda *_: "t:1")

    assert "evidence/oom/decision.yaml: expected words without a figure, found '4096'" in str(stopped.value)


def test_a_phrase_says_its_own_value():
    """A phrase may spell its value out, and hold no other figure: as a claim, nothing would check it."""
    changed = body()
    changed["observations"][0]["phrases"] = {"32": ["thirty-two heads of the kernel", "fifty GiB"]}

    with pytest.raises(GuideError) as stopped:
        bind_cells(ledger(changed=changed), vocabulary=Vocabulary(), links={}, tools={}, locate=lambda *_: "t:1")

    assert (
        "evidence/oom/audit.py: expected a phrase for 32 heads without another figure, found 'fifty' in 'fifty GiB'\n"
        "    Word it without the figure, or bind that figure to a value of its own."
    ) == str(stopped.value)
