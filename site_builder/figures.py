"""Figures: what in prose counts as a number, and whether a text reads as a value.

Both are about the text alone. Where prose stands and what its links point to is `guides`' work; which value
is meant, `bindings`'.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cached_property
from typing import Final

from site_builder.errors import GuideError, Problem
from site_builder.receipts import Cell
from site_builder.values import MEASURED, Value, plain, shown, unit_name

ASIDE: Final = "\ufffc"
"""Stands, once for each character, where a text is not looked at: code, claims, names, what is exempt."""

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS: Final[Mapping[str, Decimal]] = {
    **{name: Decimal(value) for value, name in enumerate(_ONES)},
    **{name: Decimal(value * 10) for value, name in enumerate(_TENS, start=2)},
    **{
        f"{tens}-{one}": Decimal(value * 10 + digit)
        for value, tens in enumerate(_TENS, start=2)
        for digit, one in enumerate(_ONES[1:10], start=1)
    },
    "half": Decimal("0.5"),
    "quarter": Decimal("0.25"),
    "twice": Decimal(2),
    "thrice": Decimal(3),
    "dozen": Decimal(12),
}
_SCALES: Final[Mapping[str, Decimal]] = {
    "hundred": Decimal(100),
    "thousand": Decimal(1000),
    "million": Decimal(1000000),
    "billion": Decimal(1000000000),
    "trillion": Decimal(1000000000000),
}
_PLURALS: Final = frozenset(
    {
        *(f"{name}{'es' if name in ('zero', 'six') else 's'}" for name in _ONES if name != "one"),
        *(f"{name.removesuffix('y')}ies" for name in _TENS),
        *(f"{name}s" for name in (*_SCALES, "dozen", "quarter", "percent", "zero")),
        "halves",
    }
)
"""How many there are about: figures as well, and no value reads so."""

_FIGURE_WORDS: Final = frozenset({*_NUMBERS, *_SCALES, *_PLURALS, "couple", "percent"} - {"one"})

# Beside the digits of every script: superscripts, fractions, Roman numerals, circled and bracketed numbers, those of
# Chinese and Japanese, and the ten on a key.
_N = (
    "\\d²³¹¼-¾\u1369-\u137c\u2070-\u2089\u2150-\u218b\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3007\u3021-\u3029\u3038-\u303a"
    "\u3192-\u3195\u3220-\u3229\u3248-\u325f\u3280-\u3289\u32b1-\u32bf\u32c0-\u32cb\u3358-\u3370\u33e0-\u33fe"
    "一二三四五六七八九十百千万億\U00010107-\U00010133\U0001d360-\U0001d378\U0001f100-\U0001f10c\U0001f51f"
)
_CHUNK = re.compile(rf"(?<!\S)[^\s{_N}]*+[{_N}]\S*")
_PIECE = re.compile(rf"\w*[{_N}]\w*(?:[.,:/-]\w*[{_N}]\w*)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_UNUSUAL = re.compile(r"[^\s\x00-\x7f\ufffc]")
_RUN = re.compile(r"\S+")
# Letters of other alphabets that a reader takes for Latin ones; what decomposes into Latin letters needs no entry.
_LOOKS_LIKE: Final = str.maketrans(
    {
        **dict(zip("асԁеһіјкморԛѕтѵԝху", "acdehijkmopqstvwxy", strict=True)),
        **dict(zip("αοενιτυκρχ", "aoevitukpx", strict=True)),
        **dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True)),
    }
)
_NAME = re.compile(r"(?=[^\s]*[^\W\d_])\S+")
_SPACE = re.compile(r"\s|$")
_AROUND = "()[]{}<>\"'“”‘’«».,;:!?*_—"


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The names that are set aside when figures are looked for, and the ids that templates use themselves."""

    names: frozenset[str] = frozenset()
    """Names with digits or number words in them (GLM-5.2, H200, FP8), met as whole tokens only."""
    reserved: frozenset[str] = frozenset()
    """Ids of the page's own elements, which no heading may take."""

    @classmethod
    def of(cls, names: Iterable[str], where: str, reserved: Iterable[str] = ()) -> Vocabulary:
        """Return the vocabulary, once each of its names is one: a word with a letter in it.

        Raises:
            GuideError: a name is a bare number or is more than one word, and would hide figures.
        """
        known = tuple(names)
        problems = [
            Problem(
                where=where,
                problem=f"expected names of one word with a letter in it, found {name!r}",
                remedy="Write a product's or format's name; a number in prose is a claim or is exempt.",
            )
            for name in known
            if not _NAME.fullmatch(name)
        ]
        if problems:
            raise GuideError(*problems)
        return cls(names=frozenset(known), reserved=frozenset(reserved))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return whole(self.names)

    def without_names(self, text: str) -> str:
        """Return the text with each name in it, where it is a whole token, set aside."""
        return self._pattern.sub(aside, text) if self.names else text


@dataclass(frozen=True, slots=True)
class Figure:
    """One number in prose, however it is written, and the word it stands in."""

    start: int
    end: int
    text: str
    word: str


def whole(texts: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of these texts where no letter or digit continues them, the longest first."""
    ordered = sorted(texts, key=lambda text: (-len(text), text))
    either = "|".join(re.escape(text).replace(r"\ ", r"\s+") for text in ordered)
    return re.compile(rf"(?<!\w)(?<!\d[.,])(?:{either})(?!\w|[.,]\d)")


def aside(match: re.Match[str]) -> str:
    """Return what stands for a text that was set aside: as long, and nothing to be read."""
    return ASIDE * (match.end() - match.start())


def figures(text: str, vocabulary: Vocabulary) -> Sequence[Figure]:
    """Return the figures of a text in their order.

    Two passes: one pattern with every number word and name in it takes longer than parsing the guide.
    """
    found = [
        Figure(chunk.start() + piece.start(), chunk.start() + piece.end(), piece[0], _word(chunk[0], piece.start()))
        for chunk in _CHUNK.finditer(text)
        for piece in _PIECE.finditer(vocabulary.without_names(chunk[0]))
    ]
    spelled = [*_spelled(text, vocabulary), *_disguised(text)]
    return sorted([*found, *spelled], key=lambda figure: figure.start) if spelled else found


def _disguised(text: str) -> Iterator[Figure]:
    """Number words in letters that only look like those: full-width, ligatures, other alphabets, something unseen within."""
    if text.isascii():
        return
    for run in _RUN.finditer(text):
        if not _UNUSUAL.search(run[0]):
            continue
        plainly = _as_it_looks(run[0])
        words = {word.lower() for word in _LETTERS.findall(plainly)} & _FIGURE_WORDS
        if words - {word.lower() for word in _LETTERS.findall(run[0])}:
            yield Figure(run.start(), run.end(), run[0], run[0].strip(_AROUND))


def _as_it_looks(text: str) -> str:
    """The letters that a reader sees: compatibility forms resolved, accents and what can't be seen taken away."""
    spread = unicodedata.normalize("NFKD", text.lower()).translate(_LOOKS_LIKE)
    return "".join(letter for letter in spread if unicodedata.category(letter) not in ("Mn", "Me", "Cf", "Cc"))


def _word(chunk: str, place: int) -> str:
    """The word around a place in a run of characters, as a message quotes it."""
    end = chunk.find(ASIDE, place)
    return chunk[chunk.rfind(ASIDE, 0, place) + 1 : end if end >= 0 else None].strip(_AROUND)


def _spelled(text: str, vocabulary: Vocabulary) -> Iterator[Figure]:
    previous: Figure | None = None
    for match in _LETTERS.finditer(text):
        if match[0].lower() not in _FIGURE_WORDS:
            continue
        start = max(text.rfind(" ", 0, match.start()), text.rfind("\n", 0, match.start())) + 1
        ending = _SPACE.search(text, match.end())
        chunk = text[start : ending.start() if ending else None]
        if vocabulary.without_names(chunk)[match.start() - start] == ASIDE:
            continue
        if previous is not None and text[previous.end : match.start()] in ("-", " "):
            # "thirty-two" and "two hundred" are one figure each
            whole = text[previous.start : match.end()]
            previous = Figure(previous.start, match.end(), whole, whole)
            continue
        if previous is not None:
            yield previous
        previous = Figure(match.start(), match.end(), match[0], _word(chunk, match.start() - start))
    if previous is not None:
        yield previous


# How a claim reads ------------------------------------------------------------------------------------------

_MONTHS: Final = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_UNIT_WORDS: Final[Mapping[str, Sequence[str]]] = {
    "%": ("%", "percent"),
    "B": ("B", "byte", "bytes"),
    "ms": ("ms", "millisecond", "milliseconds"),
    "s": ("s", "second", "seconds"),
    "min": ("min", "minute", "minutes"),
    "h": ("h", "hour", "hours"),
    "d": ("d", "day", "days"),
}
UNIT_OUTSIDE: Final = re.compile(
    r"[\s\u00a0\u202f-]?(?:%|(?:"
    + "|".join(sorted({*MEASURED, *(word for words in _UNIT_WORDS.values() for word in words)} - {"%"}))
    + r"|KB|pct|per cent|(?i:(?:kilo|mega|giga|tera|kibi|mebi|gibi|tebi)bytes?))(?!\w))"
)
"""A unit of measure, as it may follow a claim: it would give the value a unit that it does not have."""

_WRITTEN = re.compile(r"([-\u2212]?)([1-9]\d{0,2}(?:,\d{3})+|0|[1-9]\d*)(\.\d+)?", re.ASCII)
_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PREFIX = re.compile(r"([0-9a-f]{8,})(?:(?:…|\.\.\.)([0-9a-f]{4,})?)?")
_SPACES = re.compile(r"[\s\u00a0\u202f]+")
_LEAST_SIGNIFICANT = 2
_MOST_PLACES = 30
_WIDE = Context(prec=200)


def reads(text: str, cell: Cell, digests: Iterable[str] = ()) -> bool:
    """Return whether the whole text is the value; `digests` are those that a short one could be taken for."""
    written = _SPACES.sub(" ", text).strip()
    if written.lower() in (phrase.lower() for phrase in cell.phrases):
        return True
    value = cell.value
    if not value.known or value.kind == "truth":
        return written.lower() == value.text
    if isinstance(value.raw, Decimal):
        return _reads_number(written, value.raw, value.unit)
    if isinstance(value.raw, tuple):
        return bool(value.raw) and re.split(r",? and |, ?", written) == list(value.raw)
    raw = str(value.raw)
    if value.kind == "date":
        return written == raw or _day(written) == _day(raw[:10]) is not None
    if value.kind == "version":
        return written.removeprefix("v") == raw.removeprefix("v")
    if is_digest(value):
        return _reads_digest(written, raw, digests)
    return written == raw


def is_digest(value: Value) -> bool:
    """Return whether it is a digest or a commit, which prose may cut short."""
    if value.kind == "digest":
        return value.known
    return value.kind in ("word", "text") and _HEX.fullmatch(str(value.raw)) is not None


def nearest(text: str, cell: Cell) -> str:
    """Return the text that reads as the value and resembles the given one most."""
    value = cell.value
    if cell.phrases and value.kind in ("truth", "word", "text", "words"):
        return cell.phrases[0]
    if not value.known or value.kind in ("truth", "words"):
        return shown(value)
    if isinstance(value.raw, Decimal):
        places = _amount(_SPACES.sub(" ", text).strip())[1]
        for digits in range(places, places + 4):
            written = f"{_rounded(value.raw, digits):,f} {unit_name(value.unit, value.raw)}".strip()
            if _reads_number(written, value.raw, value.unit):
                return written
        return shown(value)
    raw = str(value.raw)
    if is_digest(value):
        short = _PREFIX.match(text.strip().removeprefix("sha256:"))
        return raw.removeprefix("sha256:")[: len(short[1]) if short else 8]
    return raw


def _reads_number(written: str, value: Decimal, unit: str) -> bool:
    amount, places, rest = _amount(written)
    if amount is None or not _reads_unit(rest, value, unit):
        return False
    if amount == value:
        return unit in MEASURED or places <= len(plain(value).partition(".")[2])
    if unit not in MEASURED or amount == 0 or amount != _rounded(value, places):
        return False
    significant = f"{abs(amount):.{places}f}".replace(".", "").lstrip("0")
    return len(significant) >= _LEAST_SIGNIFICANT


def _rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _WIDE)


def _amount(written: str) -> tuple[Decimal | None, int, str]:
    """The number that a text begins with, its places, and what follows."""
    if match := _WRITTEN.match(written):
        sign, whole, fraction = match.groups()
        amount = Decimal(("-" if sign else "") + whole.replace(",", "") + (fraction or ""))
        places, rest = len(fraction or ".") - 1, written[match.end() :]
        if len(written) > _MOST_PLACES * 2 or places > _MOST_PLACES:
            return None, 0, ""
    else:
        word = re.match(r"(?:a )?([a-z]+(?:-[a-z]+)?)", written.lower())
        if not word:
            return None, 0, ""
        name = word[1] if word[1] in _NUMBERS else word[1].partition("-")[0]
        if name not in _NUMBERS and name not in _SCALES:
            return None, 0, ""
        amount, places = _NUMBERS.get(name, Decimal(1)), 0
        rest = written[word.start(1) + (len(name) if name in _NUMBERS else 0) :]
    while scale := re.match(r" ?(hundred|thousand|million|billion|trillion)\b", rest.lower()):
        amount, places, rest = amount * _SCALES[scale[1]], 0, rest[scale.end() :]
    return amount, places, rest


def _reads_unit(rest: str, value: Decimal, unit: str) -> bool:
    if unit == "1":
        return not rest
    # "32 heads", "32-head" before a noun, "8GiB"
    gap, name = (rest[0], rest[1:]) if rest[:1] in (" ", "-") else ("", rest)
    if unit in _UNIT_WORDS:
        return name == unit or (gap != "" and name in _UNIT_WORDS[unit])
    if unit in MEASURED:
        return name == unit
    singular, plural = unit_name(unit, Decimal(1)), unit_name(unit, Decimal(2))
    proper = singular if value == 1 or gap == "-" else plural
    return gap != "" and name.replace("-", " ") == proper.replace("-", " ")


def _day(text: str) -> date | None:
    """The day that a text names and nothing else: 2026-08-26; 26 August 2026; August 26, 2026."""
    iso = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", text, re.ASCII)
    long = re.fullmatch(r"(\d{1,2}) ([A-Za-z]+) (\d{4})", text, re.ASCII)
    other = re.fullmatch(r"([A-Za-z]+) (\d{1,2}), (\d{4})", text, re.ASCII)
    try:
        if iso:
            return date(int(iso[1]), int(iso[2]), int(iso[3]))
        day, month, year = (
            (long[1], long[2], long[3]) if long else (other[2], other[1], other[3]) if other else ("", "", "")
        )
        return date(int(year), _MONTHS.index(month.lower()) + 1, int(day)) if year else None
    except ValueError:
        return None


def _reads_digest(written: str, raw: str, digests: Iterable[str]) -> bool:
    if written == raw:
        return True
    whole = raw.removeprefix("sha256:")
    match = _PREFIX.fullmatch(written.removeprefix("sha256:"))
    if not match:
        return False
    head, tail = match[1], match[2] or ""
    alike = {other.removeprefix("sha256:") for other in digests if other.removeprefix("sha256:").startswith(head)}
    # a commit that an upstream file cuts short itself is no second one
    single = all(other.startswith(whole) or whole.startswith(other) for other in alike)
    return whole.startswith(head) and whole.endswith(tail) and single


def stands_in(figure: str, names: Iterable[str], digest: str = "", size: int | None = None) -> bool:
    """Return whether a figure is a whole token of one of the names, begins the digest, or is the size."""
    if size is not None and figure.replace(",", "") == str(size) and _WRITTEN.fullmatch(figure):
        return True
    token = figure.removeprefix("v")
    if _PREFIX.fullmatch(token) and digest.removeprefix("sha256:").startswith(token):
        return True
    # a commit may be cut short, a number or a version may not
    end = "" if _PREFIX.fullmatch(token) else r"(?!\w|[.,]\d)"
    pattern = re.compile(rf"(?:(?<![\w.])|(?<=\bv)){re.escape(token)}{end}")
    return any(pattern.search(name) for name in names)
