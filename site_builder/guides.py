"""Guides: Markdown in, Guide out, by one parse.

A guide is front matter, prose, and the places where prose meets a receipt. What a link says is read here;
whether it is true is `bindings`' work.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from html import escape
from typing import Annotated, Any, Final, Literal, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from pydantic import AfterValidator, Field

from site_builder import strict
from site_builder.errors import GuideError, Problem
from site_builder.figures import ASIDE, Figure, Vocabulary, figures, whole
from site_builder.receipts import nearest
from site_builder.records import Lines, Record, validated

BLOCKS: Final = ("verdict", "callout", "faq", "signature", "preconditions", "cta")
"""The names that `:::` may open."""
SCHEMES: Final = ("receipt", "source", "tool", "https", "http", "mailto")
"""The schemes that a link may have; one without a scheme stays on the site."""


def _is_day(text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        raise ValueError(f"expected a day such as 2026-08-26, found {text!r}")
    date.fromisoformat(text)
    return text


def _is_pin(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][A-Za-z0-9._-]*@(?:draft|[1-9][0-9]*)", text):
        raise ValueError(f"expected a pin such as audit@3 or audit@draft, found {text!r}")
    return text


Day = Annotated[str, AfterValidator(_is_day)]
Pin = Annotated[str, AfterValidator(_is_pin)]
Words = Annotated[str, Field(min_length=1)]


class Exemption(Record):
    """A text whose figures stand on no receipt: how it reads, how often, and why that is right."""

    text: Words
    times: int = Field(default=1, ge=1)
    why: Words


class Related(Record):
    """Another guide, and what a reader finds there and not here."""

    guide: Words
    reason: Words


class FrontMatter(Record):
    """What an editor says about a guide or a page before its prose."""

    title: Words
    description: Words
    status: Literal["published", "draft", "withdrawn"] = "draft"
    receipts: tuple[Pin, ...] = ()
    """Pins, `audit@3` or `audit@draft`; the first is the guide's own."""
    authors: tuple[str, ...] = ()
    published: Day | None = None
    modified: Day | None = None
    reviewed: Day | None = None
    reviewed_by: tuple[str, ...] = ()
    original_as_of: Day | None = None
    """For a re-audit: the date as of which the audited publication spoke."""
    owns: Words | None = None
    """The question that this guide alone answers."""
    not_here: tuple[Related, ...] = ()
    related: tuple[Related, ...] = ()
    aliases: tuple[str, ...] = ()
    """Paths under which it stood before."""
    exempt: tuple[Exemption, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A heading, with the id that links to it use."""

    level: int
    id: str
    text: str
    html: str
    """Its text as HTML, without links: for a table of contents."""
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Prose:
    """A run of rendered prose: finished HTML."""

    html: str


ExhibitKind: TypeAlias = Literal["table", "checklist", "value", "formula", "pointer", "fixture", "tool", "section"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExhibitPlace:
    """Where a generated figure stands: templates render it."""

    kind: ExhibitKind
    """`pointer`: an observation, reported value, assumption or absence. `section`: a part of the body."""
    audit: str
    pin: str
    address: str
    """The id of the result, the pointer's value or the fixture; the name of the section or the tool."""
    part: str | None
    """For a tool: the function that is shown; nothing shows the whole file."""
    caption: str
    """HTML, which may hold claims; empty until it is rendered."""
    caption_text: str
    line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A container with a name from `BLOCKS`."""

    name: str
    segments: tuple[Segment, ...]
    line: int


Segment: TypeAlias = Prose | ExhibitPlace | Block


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """What a link points to, for whoever knows the site's addresses."""

    kind: Literal["claim", "source", "tool", "attribution", "outbound", "internal"]
    target: str
    """A claim's address, a source's id, a tool's name, else the URL or path as it was written."""
    audit: str = ""
    pin: str = ""
    part: str | None = None
    """What is named after `#`: a tool's function, a file of a tree."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """A bound guide as HTML, for one set of addresses."""

    title: str
    """HTML, which may hold claims; `title_text` is for <title>, feeds and metadata."""
    title_text: str
    description: str
    description_text: str
    segments: tuple[Segment, ...]
    toc: tuple[Heading, ...]


Href: TypeAlias = Callable[[Reference], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A link or an image as it is written: where in its passage it stands, and what it points to."""

    number: int
    """Its place among all links of the guide."""
    start: int
    end: int
    scheme: str
    """One of `SCHEMES`, or nothing for a link within the site."""
    target: str
    """What follows the scheme; for a web address, a mail address and a link within the site all of it."""
    line: int
    image: bool = False
    alternative: str = ""
    """What is read in place of an image."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """The text of one paragraph, heading, caption or field: what a reader sees, and what is checked in it."""

    where: str
    line: int
    plain: str
    links: tuple[Link, ...]
    """Without images, which stand among its pieces alone."""
    figures: tuple[Figure, ...]
    """Those that are in no claim and not exempt."""
    pieces: tuple[str | Link, ...]
    """Its HTML, with a link where the opening tag of one belongs."""

    def at(self, offset: int) -> str:
        """Return the `file:line` where a character of the plain text stands."""
        return f"{self.where}:{self.line + self.plain.count(chr(10), 0, offset)}"

    def sentence(self, offset: int) -> str:
        """Return the line of prose that a character stands in."""
        start = self.plain.rfind("\n", 0, offset) + 1
        end = self.plain.find("\n", offset)
        return self.plain[start : end if end >= 0 else None].strip()

    def html(self, opened: Callable[[Link], str]) -> str:
        """Return the passage as HTML, with the opening tag of each link as `opened` gives it."""
        return "".join(piece if isinstance(piece, str) else opened(piece) for piece in self.pieces)


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Prose between two exhibits: finished HTML and the passages within it."""

    pieces: tuple[str | Passage, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """An image alone in its paragraph, where an exhibit is to stand."""

    link: Link
    caption: Passage


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    """A container as it is written."""

    name: str
    line: int
    parts: tuple[Part, ...]


Part: TypeAlias = Run | Place | Container


@dataclass(frozen=True, kw_only=True, slots=True)
class Guide:
    """A guide as it is written, not yet met with its receipts."""

    where: str
    front: FrontMatter
    pin_lines: Mapping[str, int]
    title: Passage
    description: Passage
    passages: tuple[Passage, ...]
    """All prose in reading order, title and description first."""
    parts: tuple[Part, ...]
    headings: tuple[Heading, ...]
    exempt: int
    """How many figures its exemptions cover."""
    problems: tuple[Problem, ...]
    """What is wrong whatever the receipts say; `bindings` raises them together with its own."""
    notices: tuple[Problem, ...]
    """What does not stop a build but an editor should know."""


_LARGEST = 1024 * 1024
_DEEPEST = 4
"""How many containers may stand in each other."""
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffc]"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_LITERAL = re.compile(r"\]\(|\]\[")
_BOAST = re.compile(
    r"(?<!not )(?<!not yet )\b(?:(?:editorially|independently|expert|peer)[ -](?:reviewed|verified|checked)"
    r"|fact-checked|reviewed by)\b",
    re.IGNORECASE,
)


def read_guide(body: bytes, where: str, vocabulary: Vocabulary) -> Guide:
    """Return the guide that these bytes are, with all that is wrong in its prose by itself.

    Raises:
        GuideError: it can't be read as a guide at all: its encoding, its front matter.
    """
    guide = _read(body, where, vocabulary)
    if not guide.front.receipts:
        raise GuideError.at(
            f"{where}:1",
            "expected a guide to stand on a receipt, found no pin",
            "Write `receipts: [audit@draft]` in its front matter.",
        )
    return guide


def read_page(body: bytes, where: str, vocabulary: Vocabulary) -> Guide:
    """Return a page or policy, which is written as a guide is but may stand on no receipt.

    Raises:
        GuideError: it can't be read at all.
    """
    return _read(body, where, vocabulary)


def read_cells(
    texts: Iterable[tuple[str, str]], vocabulary: Vocabulary
) -> tuple[tuple[Passage, ...], tuple[Problem, ...]]:
    """Return cells of prose as passages, and what is wrong in them; each text comes with its `file:line`."""
    reader = _Reader("", vocabulary, ())
    passages = []
    for place, text in texts:
        reader.where, _, line = place.rpartition(":")
        passages.append(reader.inline(text, int(line), {}))
    return tuple(passages), tuple(reader.problems)


def _read(body: bytes, where: str, vocabulary: Vocabulary) -> Guide:
    text, front_text = _divided(body, where)
    front, lines = _front_matter(front_text, where)
    reader = _Reader(where, vocabulary, front.exempt)
    if front.reviewed is None:
        reader.refused = _BOAST
    skipped = front_text.count("\n") + 2
    env: dict[str, Any] = {}
    tokens = _markdown().parse(text, env)
    for token in tokens:
        if token.map:
            token.map = [token.map[0] + skipped, token.map[1] + skipped]
    fields = [
        reader.inline(front.title, lines[("title",)], env),
        reader.inline(front.description, lines[("description",)], env),
        *(reader.literal(text, lines[path]) for path, text in _shown_fields(front)),
    ]
    parts = reader.assembled(tokens)
    reader.count_exempt(lines)
    reader.check_definitions(env, skipped)
    return Guide(
        where=where,
        front=front,
        pin_lines={pin: lines[("receipts", place)] for place, pin in enumerate(front.receipts)},
        title=fields[0],
        description=fields[1],
        passages=(*fields, *reader.body),
        parts=parts,
        headings=tuple(reader.headings),
        exempt=reader.exempt_figures,
        problems=tuple(reader.problems),
        notices=tuple(reader.notices),
    )


def _divided(body: bytes, where: str) -> tuple[str, str]:
    """The Markdown and the front matter of a file, once it is text that shows all that it holds."""
    if len(body) > _LARGEST:
        raise GuideError.at(where, f"expected at most {_LARGEST} bytes, found {len(body)}", "Split the guide.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GuideError.at(
            f"{where}:{1 + body.count(10, 0, error.start)}",
            f"expected UTF-8, found the byte 0x{body[error.start]:02x}",
            "Save the file as UTF-8.",
        ) from None
    if hidden := _INVISIBLE.search(text):
        raise GuideError.at(
            f"{where}:{1 + text.count(chr(10), 0, hidden.start())}",
            f"expected characters that a reader can see, found U+{ord(hidden[0]):04X}",
            "Remove it; lines end in a line feed alone.",
        )
    if not text.startswith("---\n") or "\n---\n" not in text[3:]:
        raise GuideError.at(
            f"{where}:1",
            "expected front matter between two lines of three dashes, found none",
            "Begin the file with ---, then title and description, then ---.",
        )
    front, _, markdown = text[4:].partition("\n---\n") if not text.startswith("---\n---\n") else ("", "", "")
    return markdown, front + "\n"


def _front_matter(text: str, where: str) -> tuple[FrontMatter, Lines]:
    try:
        value, lines = strict.load_yaml_lines(text.encode(), where, first_line=2)
    except strict.LoadError as error:
        raise GuideError.at(error.place, error.problem, error.remedy) from None
    front = validated(value, lines, where, FrontMatter, GuideError)
    audits = Counter(pin.partition("@")[0] for pin in front.receipts)
    wrong = [f"one pin of {audit}, found {times}" for audit, times in audits.items() if times > 1]
    if bool(front.reviewed) != bool(front.reviewed_by):
        wrong.append("reviewed and reviewedBy together, found one of them")
    if front.status == "published" and front.published is None:
        wrong.append("the day of publication in published, found none")
    if wrong:
        raise GuideError(
            *(
                Problem(where=f"{where}:1", problem=f"expected {text}", remedy="Correct the front matter.")
                for text in wrong
            )
        )
    return front, lines


def _shown_fields(front: FrontMatter) -> Iterator[tuple[strict.Path, str]]:
    """What a page shows beside title and description: plain text, where a figure can only be exempt."""
    if front.owns is not None:
        yield ("owns",), front.owns
    for name, entries in (("notHere", front.not_here), ("related", front.related)):
        for place, entry in enumerate(entries):
            yield (name, place, "reason"), entry.reason


@cache
def _markdown() -> MarkdownIt:
    """CommonMark without raw HTML.

    Tables are read so that they can be refused, and every address is let through, so that a misspelt scheme
    is seen and not printed as text.
    """
    markdown = MarkdownIt("commonmark", {"html": False, "store_labels": True}).enable("table")
    markdown.block.ruler.before(
        "fence", "container", _container_line, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    markdown.validateLink = _any_link  # type: ignore[method-assign]
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return markdown


def _any_link(url: str) -> bool:
    return isinstance(url, str)


def _container_line(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    """Read one line that opens or closes a container: what stands between is ordinary Markdown."""
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    if not line.startswith(":::") or state.is_code_block(start):
        return False
    if not silent:
        token = state.push("container", "", 0)
        token.info = line.lstrip(":").strip()
        token.map = [start, start + 1]
        state.line = start + 1
    return True


def slug(text: str) -> str:
    """Return a heading's id as its words alone give it."""
    kept = re.sub(r"[^\w\s-]", "", unicodedata.normalize("NFKC", text).lower())
    return re.sub(r"[\s-]+", "-", kept).strip("-") or "section"


def heading_ids(slugs: Sequence[str], reserved: Iterable[str] = ()) -> Sequence[str]:
    """Return an id for each slug, all different: the first keeps its slug, a later one takes no other's."""
    natural, taken, ids = set(slugs), set(reserved), []
    for own in slugs:
        free, number = own, 0
        while free in taken or (number and free in natural):
            number += 1
            free = f"{own}-{number}"
        taken.add(free)
        ids.append(free)
    return ids


_PLAIN_HTML: Final[Mapping[str, str]] = {
    "paragraph_open": "<p>",
    "paragraph_close": "</p>\n",
    "bullet_list_open": "<ul>\n",
    "bullet_list_close": "</ul>\n",
    "ordered_list_close": "</ol>\n",
    "list_item_open": "<li>",
    "list_item_close": "</li>\n",
    "blockquote_open": "<blockquote>\n",
    "blockquote_close": "</blockquote>\n",
    "hr": "<hr>\n",
    "em_open": "<em>",
    "em_close": "</em>",
    "strong_open": "<strong>",
    "strong_close": "</strong>",
    "softbreak": "\n",
    "hardbreak": "<br>\n",
    "link_close": "</a>",
}


@dataclass(slots=True)
class _Frame:
    """A container that is still open, the page itself being the first."""

    name: str
    line: int
    parts: list[Part]
    run: list[str | Passage]

    def flush(self) -> list[Part]:
        if self.run:
            self.parts.append(Run(pieces=tuple(self.run)))
            self.run = []
        return self.parts


class _Reader:
    """One reading of one guide: gathers passages, headings and problems on its way through the tokens."""

    def __init__(self, where: str, vocabulary: Vocabulary, exempt: Sequence[Exemption]) -> None:
        self.where = where
        self.vocabulary = vocabulary
        self.exempt = exempt
        self.refused: re.Pattern[str] | None = None
        self.problems: list[Problem] = []
        self.notices: list[Problem] = []
        self.headings: list[Heading] = []
        self.body: list[Passage] = []
        self.exempt_figures = 0
        self._links = 0
        self._labels: set[str] = set()
        self._exempt_text = whole({entry.text for entry in exempt}) if exempt else None
        self._exempt_why = {" ".join(entry.text.split()): entry.why for entry in exempt}
        self._exempt_found: Counter[str] = Counter()

    def problem(self, line: int, problem: str, remedy: str) -> None:
        self.problems.append(Problem(where=f"{self.where}:{line}", problem=problem, remedy=remedy))

    # Passages

    def inline(self, text: str, line: int, env: dict[str, Any]) -> Passage:
        """Read a field or cell that may hold inline Markdown."""
        return self._passage(_markdown().parseInline(text, env)[0].children or [], text, line)

    def literal(self, text: str, line: int) -> Passage:
        """Read a field that is shown as it stands."""
        token = Token("text", "", 0, content=text)
        return self._passage([token], text, line)

    def _passage(self, tokens: Sequence[Token], source: str, line: int) -> Passage:
        plain, masks, links, images = self._scanned(tokens, source, line)
        masked = _masked(plain, masks)
        spans = []
        if self._exempt_text:
            for match in self._exempt_text.finditer(masked):
                name = " ".join(match[0].split())
                self._exempt_found[name] += 1
                spans.append((match.start(), match.end(), self._exempt_why[name]))
            masked = _masked(masked, [(start, end) for start, end, _ in spans])
        if literal := _LITERAL.search(masked):
            self.problem(
                line + plain.count("\n", 0, literal.start()),
                f"expected a link, found {literal[0]!r} as text",
                "Write [text](address) without a space in the address, or define the reference.",
            )
        if self.refused and (boast := self.refused.search(plain)):
            self.problem(
                line + plain.count("\n", 0, boast.start()),
                f"expected no word of a review before there was one, found {boast[0]!r}",
                "Record the review (reviewed and reviewedBy), or leave the words out.",
            )
        return Passage(
            where=self.where,
            line=line,
            plain=plain,
            links=tuple(links),
            figures=tuple(figures(masked, self.vocabulary)),
            pieces=tuple(_pieces(tokens, spans, [*links, *images])),
        )

    def _scanned(
        self, tokens: Sequence[Token], source: str, line: int
    ) -> tuple[str, list[tuple[int, int]], list[Link], list[Link]]:
        """The text as a reader sees it, the spans in it that are set aside, its links and its images."""
        text: list[str] = []
        length = 0
        masks: list[tuple[int, int]] = []
        links: list[Link] = []
        images: list[Link] = []
        opened: list[tuple[int, Token]] = []
        code_breaks = source.count("\n") > sum(token.type in ("softbreak", "hardbreak") for token in tokens)
        for token in tokens:
            kind, start = token.type, length
            if kind == "text":
                text.append(token.content)
                length += len(token.content)
            elif kind in ("softbreak", "hardbreak"):
                text.append("\n")
                length += 1
            elif kind == "code_inline":
                text.append(_with_breaks(token.content, source) if code_breaks else token.content)
                length += len(token.content)
                masks.append((start, length))
            elif kind == "link_open":
                opened.append((start, token))
            elif kind == "link_close":
                start, token = opened.pop()
                at = line + "".join(text).count("\n", 0, start)
                link = self._link(token, str(token.attrs["href"]), start, length, at)
                links.append(link)
                if link.scheme == "receipt" or token.info == "auto":
                    masks.append((start, length))
            elif kind == "image":
                at = line + "".join(text).count("\n")
                images.append(self._image(token, start, at))
        return "".join(text), masks, links, images

    def _link(self, token: Token, href: str, start: int, end: int, line: int, image: bool = False) -> Link:
        self._labels.add(token.meta.get("label", ""))
        if token.attrs.get("title"):
            self.problem(line, "expected a link without a title, found one", "Say it in the sentence instead.")
        scheme, target = "", href
        if match := _SCHEME.fullmatch(href):
            scheme = match[1]
            if scheme in ("receipt", "source", "tool"):
                target = match[2]
            elif scheme not in SCHEMES:
                near = nearest(scheme, SCHEMES)
                self.problem(
                    line,
                    f"expected a scheme of {', '.join(SCHEMES)}, found {scheme!r}",
                    f"It may be {near[0]}:{match[2]}." if near else "Write one of these, or a path of this site.",
                )
        if not href or href.startswith("//"):
            self.problem(line, f"expected an address, found {href!r}", "Write where the link leads.")
        if not image and start == end:
            self.problem(line, f"expected a text for the link to {href!r}, found none", "Write what a reader sees.")
        self._links += 1
        return Link(number=self._links - 1, start=start, end=end, scheme=scheme, target=target, line=line, image=image)

    def _image(self, token: Token, at: int, line: int) -> Link:
        """An image within a sentence: a picture of this site, whose text is prose too."""
        alternative = self._passage(token.children or [], token.content, line)
        self.body.append(alternative)
        link = self._link(token, str(token.attrs["src"]), at, at, line, image=True)
        if link.scheme in ("receipt", "tool"):
            self.problem(
                line, "expected an exhibit alone in its paragraph, found it among words", "Give it a paragraph."
            )
        elif link.scheme:
            self.problem(line, f"expected an image of this site, found {link.scheme}:", "Keep a copy on the site.")
        if not alternative.plain.strip() or alternative.links:
            self.problem(line, "expected an image with a text and no link in it", "Say what the image shows.")
        return replace(link, alternative=" ".join(alternative.plain.split()))

    # Blocks

    def assembled(self, tokens: Sequence[Token]) -> tuple[Part, ...]:
        """Return the parts of the page, once headings have their ids."""
        ids = self._heading_ids(tokens)
        frames = [_Frame("", 0, [], [])]
        depth = table = 0
        heading: Heading | None = None
        exhibit_until = 0
        for place, token in enumerate(tokens):
            kind, frame = token.type, frames[-1]
            line = token.map[0] + 1 if token.map else 0
            if kind.startswith("table"):
                if kind == "table_open":
                    self.problem(
                        line,
                        "expected no table typed by hand, found one",
                        "Make it a result or tables/<id>.yaml, and show it as ![caption](receipt:<id>).",
                    )
                table += token.nesting
            if table or kind == "table_close" or place < exhibit_until:
                continue
            if kind == "container":
                self._container(token.info, line, depth, frames)
            elif kind == "paragraph_open" and (image := _alone(tokens[place + 1])):
                frame.flush().append(self._exhibit(image, line, depth))
                exhibit_until = place + 3
            elif token.hidden:
                continue
            elif kind == "heading_open":
                level, name = int(token.tag[1:]), next(ids)
                frame.run.append(f'<h{level} id="{escape(name)}">')
                heading = Heading(level=level, id=name, text="", html="", line=line)
            elif kind == "heading_close":
                frame.run.append(f"</{token.tag}>\n")
                heading = None
            elif kind == "inline":
                passage = self._passage(token.children or [], token.content, line)
                self.body.append(passage)
                frame.run.append(passage)
                if heading:
                    self.headings.append(_named(heading, passage, token.children or []))
            elif kind in ("fence", "code_block"):
                frame.run.append(self._code(token, line))
            elif kind == "ordered_list_open":
                start = token.attrs.get("start")
                frame.run.append("<ol>\n" if start is None else f'<ol start="{start}">\n')
                depth += 1
            else:
                frame.run.append(_PLAIN_HTML[kind])
                depth += token.nesting if kind.startswith(("bullet", "ordered", "blockquote")) else 0
        for frame in frames[1:]:
            self.problem(frame.line, f"expected ::: to close {frame.name}, found the end", "Close the container.")
        return tuple(frames[0].flush())

    def _heading_ids(self, tokens: Sequence[Token]) -> Iterator[str]:
        texts = [
            (tokens[place + 1], token.map[0] + 1 if token.map else 0)
            for place, token in enumerate(tokens)
            if token.type == "heading_open"
        ]
        slugs = [slug(_text(inline.children or [])) for inline, _ in texts]
        ids = heading_ids(slugs, self.vocabulary.reserved)
        for own, given, (_, line) in zip(slugs, ids, texts, strict=True):
            if own != given:
                self.notices.append(
                    Problem(
                        where=f"{self.where}:{line}",
                        problem=f"expected a heading of its own, found {own!r} again; its id is {given!r}",
                        remedy="Reword one of the two: a heading added before it would move the id.",
                    )
                )
        return iter(ids)

    def _container(self, info: str, line: int, depth: int, frames: list[_Frame]) -> None:
        if depth:
            self.problem(line, "expected ::: outside of lists and quotes, found it inside", "Move it out.")
        elif info:
            if info not in BLOCKS:
                near = ", ".join(nearest(info, BLOCKS)) or ", ".join(BLOCKS)
                self.problem(line, f"expected a container's name, found {info!r}", f"It may be {near}.")
            if len(frames) == _DEEPEST + 1:
                self.problem(
                    line, f"expected at most {_DEEPEST} containers in each other, found more", "Close one before."
                )
            frames.append(_Frame(info, line, [], []))
        elif len(frames) == 1:
            self.problem(line, "expected an open container before :::, found none", "Remove the line.")
        else:
            closed = frames.pop()
            parts = closed.flush()
            whole = len(frames) <= _DEEPEST
            frames[-1].flush().extend(
                [Container(name=closed.name, line=closed.line, parts=tuple(parts))] if whole else parts
            )

    def _exhibit(self, image: Token, line: int, depth: int) -> Place:
        if depth:
            self.problem(line, "expected an exhibit outside of lists and quotes, found it inside", "Move it out.")
        caption = self._passage(image.children or [], image.content, line)
        self.body.append(caption)
        if not caption.plain.strip():
            self.problem(line, "expected a caption, found an exhibit without one", "Write it: ![caption](…).")
        return Place(link=self._link(image, str(image.attrs["src"]), 0, 0, line, image=True), caption=caption)

    def _code(self, token: Token, line: int) -> str:
        if found := figures(token.content, self.vocabulary):
            inside = token.content.count("\n", 0, found[0].start) + (token.type == "fence")
            self.problem(
                line + inside,
                f"expected no figure in code typed by hand, found {found[0].word!r}",
                "Show the code from a tool, a receipt or a fixture: ![caption](tool:<name>).",
            )
        language = token.info.split()[0] if token.info.strip() else ""
        name = f' class="language-{escape(language)}"' if language else ""
        return f"<pre><code{name}>{escape(token.content, quote=False)}</code></pre>\n"

    # The whole

    def count_exempt(self, lines: Lines) -> None:
        """Hold each exemption to its count, and count the figures that it covers."""
        for place, entry in enumerate(self.exempt):
            line = lines.get(("exempt", place), 1)
            found = self._exempt_found[" ".join(entry.text.split())]
            covered = len(figures(entry.text, self.vocabulary))
            self.exempt_figures += covered * found
            if found != entry.times:
                self.problem(
                    line,
                    f"expected {entry.text!r} {_times(entry.times)} outside of claims, found it {_times(found)}",
                    "Make the new ones claims, or correct the count once each was looked at.",
                )
            if not covered:
                self.problem(line, f"expected a figure in {entry.text!r}, found none", "Remove the exemption.")

    def check_definitions(self, env: Mapping[str, Any], skipped: int) -> None:
        """Refuse a definition that stands twice, of which one would be ignored, and one that nothing uses."""
        for again in env.get("duplicate_refs", ()):
            self.problem(
                again["map"][0] + skipped + 1,
                f"expected one definition of [{again['label']}], found another",
                "Keep one of the two.",
            )
        for label, definition in env.get("references", {}).items():
            if label not in self._labels:
                self.problem(
                    definition["map"][0] + skipped + 1,
                    f"expected a use of [{label}], found none",
                    "Write the text as it is defined, or remove the definition.",
                )


def _times(number: int) -> str:
    return ("never", "once")[number] if number < 2 else f"{number} times"


def _masked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + ASIDE * (end - start) + text[end:]
    return text


def _with_breaks(code: str, source: str) -> str:
    """The code with the line ends that Markdown reads as spaces, so that lines are counted as in the file."""
    written = re.search(re.escape(code).replace(r"\ ", r"[ \n]"), source)
    return written[0] if written else code


def _text(tokens: Sequence[Token]) -> str:
    return "".join(" " if token.type.endswith("break") else token.content for token in tokens if token.type != "image")


def _alone(inline: Token) -> Token | None:
    """The image that a paragraph consists of, where it is to be an exhibit."""
    children = inline.children or []
    if len(children) == 1 and children[0].type == "image":
        return children[0] if str(children[0].attrs["src"]).startswith(("receipt:", "tool:")) else None
    return None


def _named(heading: Heading, passage: Passage, tokens: Sequence[Token]) -> Heading:
    bare = [token for token in tokens if token.type not in ("link_open", "link_close", "image")]
    html = "".join(str(piece) for piece in _pieces(bare, (), ()))
    return Heading(
        level=heading.level, id=heading.id, text=" ".join(passage.plain.split()), html=html, line=heading.line
    )


def _pieces(
    tokens: Sequence[Token], spans: Sequence[tuple[int, int, str]], links: Iterable[Link]
) -> Iterator[str | Link]:
    """The HTML of a passage, exempt figures marked, each link where its opening tag belongs."""
    by_start = sorted(links, key=lambda link: link.number)
    waiting: dict[tuple[int, bool], list[Link]] = {}
    for link in by_start:
        waiting.setdefault((link.start, link.image), []).append(link)
    offset = 0
    for token in tokens:
        if token.type == "text":
            yield from _marked(token.content, offset, spans)
            offset += len(token.content)
        elif token.type == "code_inline":
            yield f"<code>{escape(token.content, quote=False)}</code>"
            offset += len(token.content)
        elif token.type in ("link_open", "image"):
            yield waiting[offset, token.type == "image"].pop(0)
        else:
            yield _PLAIN_HTML[token.type]
            offset += token.type in ("softbreak", "hardbreak")


def _marked(text: str, offset: int, spans: Sequence[tuple[int, int, str]]) -> Iterator[str]:
    done = 0
    for start, end, why in spans:
        begin, stop = max(start - offset, done), min(end - offset, len(text))
        if begin < stop:
            yield escape(text[done:begin], quote=False)
            marked = escape(text[begin:stop], quote=False)
            yield f'<span class="exempt" title="{escape(why)}">{marked}</span>'
            done = stop
    yield escape(text[done:], quote=False)
