"""Figures: the cases of tests/specs, where an editor can add one, and what has no form as a row."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_builder.errors import GuideError
from site_builder.figures import Vocabulary, figures, nearest, reads, stands_in
from site_builder.receipts import Cell
from site_builder.values import Kind, Value, decoded, number, plain, shown, word

_SPECS = Path(__file__).parent / "specs"
_KINDS = ("word", "truth", "date", "version", "digest", "text", "words")
_NAMES = Vocabulary(names=frozenset({"GLM-5.2", "H200", "FP8", "SM90", "Two-Face"}))


def rows(name: str) -> list[list[str]]:
    """The rows of a spec's tables, without their heads."""
    lines = (_SPECS / name).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    heads = {place - 1 for place, row in enumerate(cells) if set(row[0]) == {"-"}}
    return [row for place, row in enumerate(cells) if place not in heads and set(row[0]) != {"-"}]


def cell(value: Value, *phrases: str) -> Cell:
    """A value as a receipt gives it."""
    return Cell(address="x", audit="a", value=value, phrases=phrases, statement="", standing="computed")


def _value(text: str, kind: str) -> Value:
    if kind == "words":
        return decoded(text.split(", "), "words", "", "x")
    if kind in _KINDS:
        return decoded(text, cast(Kind, kind), "", "x")
    return decoded(text, "number", kind, "x")


@pytest.mark.parametrize(("text", "value", "kind", "outcome"), rows("claims.md"))
def test_claims_read_as_in_the_spec(text, value, kind, outcome):
    """A claim reads as its value, or the nearest text that does is named."""
    meant = cell(_value(value, kind))

    assert outcome == ("reads" if reads(text, meant) else nearest(text, meant))


@pytest.mark.parametrize("row", rows("claims.md"), ids=lambda row: row[0])
def test_what_is_proposed_reads(row):
    """The nearest text always reads as the value itself: following a remedy ends the problem."""
    meant = cell(_value(row[1], row[2]))

    assert reads(nearest(row[0], meant), meant)
    assert reads(shown(meant.value), meant)


@pytest.mark.parametrize(("text", "found"), rows("figures.md"))
def test_figures_are_found_as_in_the_spec(text, found):
    """A figure is found whatever script, form or word it is written in; names and idiom are none."""
    assert found.split("; ") == [figure.text for figure in figures(text, _NAMES)] or (
        not found and not figures(text, _NAMES)
    )


def test_a_phrase_of_the_value_reads():
    """A phrase that the value's own list allows reads as it, at the start of a sentence too."""
    meant = cell(_value("no", "truth"), "not reachable")

    assert reads("Not reachable", meant)
    assert not reads("reachable", meant)
    assert "not reachable" == nearest("reachable", meant)


def test_a_short_digest_that_could_be_another_does_not_read():
    """A prefix that two digests share stands for neither."""
    pin = "a8f794d1" + "0" * 32
    other = "a8f794d1" + "1" * 32

    assert reads("a8f794d1", cell(word(pin, "digest")), [pin])
    assert not reads("a8f794d1", cell(word(pin, "digest")), [pin, other])
    assert reads("a8f794d10", cell(word(pin, "digest")), [pin, other])


@pytest.mark.parametrize(
    ("figure", "own"),
    [
        *(("1.28.0", True), ("v1.28.0", True), ("1.28", False), ("28", False), ("1.28.01", False)),
        *(("34,530", True), ("34530", True), ("34,53", False), ("5e5e5e5e", True), ("5e5e5e5", False)),
        *(("53413", True), ("5341", False), ("a8f794d1", True), ("a8f794d2", False), ("2026-11-30", True)),
        *(("2026-11-3", False), ("3", False)),
    ],
)
def test_a_source_has_its_own_numbers(figure, own):
    """A citation may carry the version, commit, number, size and digest of its source, whole, and no other."""
    names = ("kernel@1.28.0", "https://example.org/issues/53413/a8f794d1c0ffee", "2026-11-30")

    assert own == stands_in(figure, names, "sha256:" + "5e" * 32, 34530)


@pytest.mark.parametrize("name", ["5.2", "CUDA 13", "", "--"])
def test_a_name_that_would_hide_figures(name):
    """A bare number or more than one word is no name: it would set every such figure aside."""
    with pytest.raises(GuideError) as error:
        Vocabulary.of(["H200", name], "content/site.yaml")

    assert (
        f"content/site.yaml: expected names of one word with a letter in it, found {name!r}\n"
        "    Write a product's or format's name; a number in prose is a claim or is exempt."
    ) == str(error.value)


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=4), st.sampled_from(["1", "GiB", "head", "%", "B"]))
def test_what_is_shown_reads(amount, unit):
    """Every number reads as it is shown, whatever its sign, size and unit."""
    value = number(plain(amount), unit)

    assert reads(shown(value), cell(value))


@given(st.integers(0, 10**7), st.integers(0, 4), st.data())
def test_one_digit_changed_never_reads(amount, places, data):
    """A claim with one digit changed reads as another number, however it is rounded."""
    value = number(plain(Decimal(amount) / 10000), "GiB")
    text = nearest("1." + "0" * places if places else "1", cell(value))
    place = data.draw(st.sampled_from([at for at, character in enumerate(text) if character.isdigit()]))
    digit = data.draw(st.sampled_from([other for other in "0123456789" if other != text[place]]))

    assert reads(text, cell(value))
    assert not reads(text[:place] + digit + text[place + 1 :], cell(value))


@pytest.mark.parametrize(
    "text",
    [
        "t\u00adwo",
        "t\u2060wo",
        "tw\u034fo",
        "t\ufe0fwo",
        "ｔｗｏ",
        "𝐭𝐰𝐨",
        "ﬁve",
        "twо",
        "ᴛᴡᴏ",
        "tẁo",
        "fi\u200dve",
        "τwο",
    ],
)
def test_a_number_word_in_disguise_is_a_figure(text):
    """What a reader reads as a number word counts as one, whatever its letters are."""
    assert [text] == [figure.word for figure in figures(f"It takes {text} of them.", Vocabulary())]


@pytest.mark.parametrize("text", ["naïve", "Größe", "Δt", "мир", "“quoted”", "café"])
def test_other_words_are_no_figures(text):
    """Accents and other alphabets are not figures by themselves."""
    assert [] == list(figures(f"It takes {text} here.", Vocabulary()))
