"""Bindings: prose met with receipts. A claim reads as its value, an exhibit exists, a link has its class.

Reading Markdown is `guides`' work and the look of an exhibit `site`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from html import escape
from typing import Annotated, Final, TypeAlias

from pydantic import Field, JsonValue

from site_builder.errors import GuideError, Problem
from site_builder.figures import UNIT_OUTSIDE, Figure, Vocabulary, figures, is_digest, reads, stands_in
from site_builder.figures import nearest as nearest_text
from site_builder.guides import (
    Block,
    Container,
    ExhibitKind,
    ExhibitPlace,
    Guide,
    Href,
    Link,
    Part,
    Passage,
    Place,
    Prose,
    Reference,
    Rendered,
    Segment,
    read_cells,
)
from site_builder.lineage import words
from site_builder.receipts import Cell, Ledger, Result, SourceRow, UnknownAddress, nearest
from site_builder.records import Record, loaded, validated
from site_builder.values import plain, shown

SECTIONS: Final = (
    *("sources", "artifacts", "reported", "assumptions", "observations", "absences", "tools", "fixtures", "trials"),
    *("invariants", "boundary", "decision", "limits"),
)
"""The parts of a receipt's body that an exhibit may show by name, beside its results."""


class Outbound(Record):
    """A page elsewhere that no receipt stands on, and why a reader is sent there."""

    url: Annotated[str, Field(pattern=r"^(?:https?://|mailto:)\S+$")]
    purpose: Annotated[str, Field(min_length=1)]
    rel: Annotated[str, Field(pattern=r"^[a-z]+(?: [a-z]+)*$")] | None = None


class _LinksFile(Record):
    links: tuple[Outbound, ...]


_Own: TypeAlias = Callable[[str, str], bool]
"""Whether a figure, and the unit of measure behind it if any, is a number of the source itself."""

Tools: TypeAlias = Mapping[str, Mapping[str, Collection[str]]]
"""By audit and tool name, the functions of the tool that a guide may show."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A text of the prose that reads as the value at its address."""

    text: str
    cell: Cell
    pin: str
    line: int
    sentence: str
    """The line of prose that it stands in, as a reader sees it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """A link to a source of a pinned receipt."""

    text: str
    source: SourceRow
    pin: str
    line: int
    path: str = ""
    """Of a tree, the file that is meant."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """How many of a guide's figures stand on a receipt."""

    claims: int
    """Claims and a source's own numbers, without the two kinds below."""
    exempt: int
    keys: int
    """Claims that are merely the key of their own row."""
    editorial: int
    """Claims on values that we wrote."""
    computed_cells: int
    editorial_cells: int
    """Cells of the exhibits on the page."""

    @property
    def percent(self) -> int:
        """Whole percent, rounded down, so that 100 means all."""
        total = self.claims + self.exempt
        return 100 * self.claims // total if total else 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A guide whose every binding holds."""

    guide: Guide
    ledgers: Mapping[str, Ledger]
    """By pin, those that the guide pins."""
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    exhibits: tuple[ExhibitPlace, ...]
    coverage: Coverage
    notices: tuple[Problem, ...]
    references: Mapping[int, _Resolved]
    """What each link of the guide points to, by its number."""

    def rendered(self, href: Href) -> Rendered:
        """Return the guide as HTML, with each link's address as `href` gives it."""
        opened = _opener(self.references, href)
        places = iter(self.exhibits)
        return Rendered(
            title=self.guide.title.html(opened),
            title_text=_one_line(self.guide.title.plain),
            description=self.guide.description.html(opened),
            description_text=_one_line(self.guide.description.plain),
            segments=tuple(_segments(self.guide.parts, places, opened)),
            toc=self.guide.headings,
        )

    def moved(self, ledger: Ledger) -> tuple[tuple[Claim, Cell | None], ...]:
        """Return the claims whose value another version of their receipt gives otherwise, with what it gives."""
        return tuple(
            (claim, there)
            for claim in self.claims
            if claim.cell.audit == ledger.audit
            and ((there := ledger.cells.get(claim.cell.address)) is None or not _same(claim.cell, there))
        )

    def reworded(self, ledger: Ledger) -> tuple[str, ...]:
        """Return what another version of a receipt words otherwise, of what the guide says or shows of it.

        The question, the decision and the limits always count: the guide stands on them, shown or not.
        """
        own = next((mine for mine in self.ledgers.values() if mine.audit == ledger.audit), None)
        if own is None:
            return ()
        said = {_named(claim.cell.address) for claim in self.claims if claim.cell.audit == ledger.audit}
        shown = {exhibit.address for exhibit in self.exhibits if exhibit.audit == ledger.audit}
        concerned = said | shown | {_named(address) for address in shown}
        every = any(exhibit.kind == "section" for exhibit in self.exhibits if exhibit.audit == ledger.audit)
        before, after = _all_words(own), _all_words(ledger)
        return tuple(
            name
            for name in dict.fromkeys([*before, *after])
            if before.get(name) != after.get(name) and (every or name.startswith("the ") or _named(name) in concerned)
        )


def _named(address: str) -> str:
    """The id that an address or a name of words begins with; a fixture and a tool have theirs behind that word."""
    kind, space, name = address.partition(" ")
    return name if space else re.split("[/@]", kind, maxsplit=1)[0]


def _all_words(ledger: Ledger) -> Mapping[str, str]:
    """What a receipt says in words, the cells of its editorial tables among them."""
    cells = {cell.address: str(cell.value.text) for cell in ledger.cells.values() if cell.standing == "editorial"}
    return {**words(ledger), **cells}


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundCells:
    """The editorial cells of one receipt, every binding in them holding."""

    passages: Mapping[tuple[str, str, str], Passage]
    """By table, row and column."""
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    coverage: Coverage
    references: Mapping[int, _Resolved]
    unchecked: Mapping[str, tuple[str, ...]]
    """The figures that nothing holds to a value, by what is said with them: a statement, a reason, the limits."""

    def rendered(self, href: Href) -> Mapping[tuple[str, str, str], str]:
        """Return the cells as HTML, by table, row and column."""
        opened = _opener(self.references, href)
        return {place: passage.html(opened) for place, passage in self.passages.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Resolved:
    """What a link points to, and the attributes that say so in HTML."""

    reference: Reference
    attributes: str = ""


def read_links(body: bytes, where: str) -> Mapping[str, Outbound]:
    """Return the pages that a guide may send its readers to, by URL.

    Raises:
        GuideError: the file is not a list of them, or names one twice.
    """
    value, lines = loaded(body, where, "yaml", GuideError)
    links = validated(value, lines, where, _LinksFile, GuideError).links
    by_url = {link.url: link for link in links}
    if len(by_url) != len(links):
        urls = [link.url for link in links]
        twice = next(place for place, url in enumerate(urls) if url in urls[:place])
        raise GuideError.at(
            f"{where}:{lines['links', twice]}",
            f"expected each URL once, found {urls[twice]} again",
            "Keep one of the two.",
        )
    return by_url


def bind(
    guide: Guide,
    ledgers: Mapping[str, Ledger],
    *,
    links: Mapping[str, Outbound],
    tools: Tools,
    newest: Mapping[str, int],
    unchanged: Collection[str] = (),
    floor: Decimal = Decimal(0),
) -> Bound:
    """Return the guide with all its bindings met.

    `ledgers` are receipts by pin, `newest` the newest published version by audit, `unchanged` the pins to older ones
    whose bound values and words the newest gives alike, `floor` the least coverage from 0 to 1.

    Raises:
        GuideError: with everything that is wrong in the guide, in the order of its lines.
    """
    pinned = [ledgers[pin] for pin in guide.front.receipts if pin in ledgers]
    desk = _Desk(pinned, links, tools)
    problems = [*guide.problems, *_pin_problems(guide, ledgers, newest, unchanged)]
    if len(pinned) == len(guide.front.receipts):
        for passage in guide.passages:
            desk.meet(passage)
        for place in _places(guide.parts):
            desk.show(place, guide.where)
        problems.extend(desk.problems)
    coverage = desk.coverage(guide.exempt)
    if not problems and pinned:
        problems.extend(_coverage_problems(guide, coverage, floor))
    if problems:
        raise GuideError(*sorted(problems, key=_place))
    return Bound(
        guide=guide,
        ledgers={ledger.pin: ledger for ledger in pinned},
        claims=tuple(desk.claims),
        citations=tuple(desk.citations),
        exhibits=tuple(desk.exhibits),
        coverage=coverage,
        notices=guide.notices,
        references=desk.references,
    )


def bind_cells(
    ledger: Ledger,
    others: Iterable[Ledger] = (),
    *,
    vocabulary: Vocabulary,
    links: Mapping[str, Outbound],
    tools: Tools,
    locate: Callable[[str, str, str], str],
) -> BoundCells:
    """Return the receipt's editorial cells with all their bindings met.

    A binding without a prefix means this receipt, one with a prefix one of the others. `locate` gives the
    `file:line` of a cell from the ids of its table, row and column.

    Raises:
        GuideError: with everything that is wrong in them, in the order of files and lines.
    """
    texts = {
        (result.id, str(row["id"]), column.id): str(row[column.id])
        for result in ledger.receipt.body.results
        if result.class_ == "editorial"
        for row in result.rows
        for column in result.columns
    }
    passages, problems = read_cells(((locate(*place), text) for place, text in texts.items()), vocabulary)
    desk = _Desk([ledger, *others], links, tools)
    for passage in passages:
        desk.meet(passage)
    unbound = [*_unbound_words(ledger, vocabulary), *_phrased_otherwise(ledger, vocabulary)]
    if problems or desk.problems or unbound:
        raise GuideError(*sorted([*problems, *desk.problems, *unbound], key=_place))
    return BoundCells(
        passages=dict(zip(texts, passages, strict=True)),
        claims=tuple(desk.claims),
        citations=tuple(desk.citations),
        coverage=desk.coverage(0),
        references=desk.references,
        unchecked=dict(_unchecked(ledger, vocabulary)),
    )


def _unbound_words(ledger: Ledger, vocabulary: Vocabulary) -> Iterator[Problem]:
    """What a guide shows of a receipt beside values and cells can't hold a binding, so it may hold no figure."""
    folder = f"evidence/{ledger.audit}/"
    body = ledger.receipt.body
    decision = (body.decision.state, body.decision.statement, *body.decision.conditions)
    texts = [(f"{folder}audit.py", body.question), *((f"{folder}decision.yaml", text) for text in decision)]
    texts += [
        (f"{folder}decision.yaml", text)
        for item in body.decision.reopen
        for name, text in item.items()
        if name != "id" or len(item) == 1
    ]
    for result in body.results:
        written = result.class_ == "editorial"
        where = f"{folder}tables/{result.id}.yaml" if written else f"{folder}audit.py"
        titles = [result.title, *(column.title for column in result.columns)]
        texts += [(where, text) for text in (*titles, *([result.statement] if written else ()))]
    yield from worded(texts, vocabulary)


def worded(texts: Iterable[tuple[str, str]], vocabulary: Vocabulary) -> Iterator[Problem]:
    """Yield each figure of texts that can hold no binding, by where each stands."""
    for where, text in dict.fromkeys(texts):
        for figure in figures(text, vocabulary):
            yield Problem(
                where=where,
                problem=f"expected words without a figure, found {figure.word!r} in {text!r}",
                remedy="Say it without the figure, or in a sentence or a cell where it can be bound.",
            )


def _unchecked(ledger: Ledger, vocabulary: Vocabulary) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The figures of what a receipt says beside its values: statements, reasons, limits, purposes, the desk's texts.

    Nothing holds them to a value, so that their number is shown. What is one word by itself (an operation's id, a digest)
    is no sentence.
    """
    receipt = ledger.receipt
    said = [(name, text) for name, text in words(ledger).items() if not name.endswith("/by")]
    said += [(f"source {source.id.partition('@')[0]}", source.purpose) for source in receipt.body.sources]
    issued = receipt.issued
    for name, record in (
        ("overlap", issued.overlap),
        ("intake", issued.intake),
        ("search budget", issued.search_budget),
    ):
        said += [(f"the desk's {name}", text) for text in _texts(record) if " " in text]
    found: dict[str, list[str]] = {}
    for name, text in dict.fromkeys(said):
        found.setdefault(name, []).extend(figure.text for figure in figures(text, vocabulary))
    yield from ((name, tuple(items)) for name, items in found.items() if items)


def _texts(record: JsonValue) -> Iterator[str]:
    """Every text of a record of any form."""
    if isinstance(record, str):
        yield record
    elif isinstance(record, Mapping):
        for item in record.values():
            yield from _texts(item)
    elif isinstance(record, Sequence):
        for item in record:
            yield from _texts(item)


def _phrased_otherwise(ledger: Ledger, vocabulary: Vocabulary) -> Iterator[Problem]:
    """A phrase that reads as a value may hold no figure but the value's own: it would be a claim that nothing checks."""
    phrased = {(phrase, cell.value.text): cell for cell in ledger.cells.values() for phrase in cell.phrases}
    for (phrase, _), cell in phrased.items():
        bare = replace(cell, phrases=(), value=replace(cell.value, unit="1" if cell.value.unit else ""))
        for figure in figures(phrase, vocabulary):
            if not reads(figure.text, bare):
                of = shown(cell.value)
                yield Problem(
                    where=f"evidence/{ledger.audit}/audit.py",
                    problem=f"expected a phrase for {of} without another figure, found {figure.word!r} in {phrase!r}",
                    remedy="Word it without the figure, or bind that figure to a value of its own.",
                )


class _Desk:
    """Where links are met with receipts, one by one: gathers what they turn out to be, and the problems."""

    def __init__(self, ledgers: Sequence[Ledger], links: Mapping[str, Outbound], tools: Tools) -> None:
        self.problems: list[Problem] = []
        self.claims: list[Claim] = []
        self.citations: list[Citation] = []
        self.exhibits: list[ExhibitPlace] = []
        self.references: dict[int, _Resolved] = {}
        self._ledgers = {ledger.audit: ledger for ledger in ledgers}
        self._own = ledgers[0].audit if ledgers else ""
        self._links = links
        self._tools = tools
        self._own_numbers = 0
        self._cells = {"computed": 0, "editorial": 0}
        self._attributed: dict[str, list[str]] = {}
        for ledger in ledgers:
            for item in ledger.receipt.body.reported:
                if item.url is not None:
                    self._attributed.setdefault(item.url, []).append(item.by)

    @cached_property
    def _digests(self) -> Sequence[str]:
        """All digests and commits that a short one could stand for."""
        return [
            digest
            for ledger in self._ledgers.values()
            for digest in (
                *(row.digest for row in ledger.receipt.body.sources),
                *(artifact.digest for artifact in ledger.receipt.body.artifacts),
                *(str(cell.value.raw) for cell in ledger.cells.values() if is_digest(cell.value)),
            )
        ]

    def coverage(self, exempt: int) -> Coverage:
        """Return what was met so far, counted."""
        keys = sum(claim.cell.own_key for claim in self.claims)
        editorial = sum(claim.cell.standing == "editorial" and not claim.cell.own_key for claim in self.claims)
        return Coverage(
            claims=len(self.claims) - keys - editorial + self._own_numbers,
            exempt=exempt,
            keys=keys,
            editorial=editorial,
            computed_cells=self._cells["computed"],
            editorial_cells=self._cells["editorial"],
        )

    def _problem(self, where: str, problem: str, remedy: str) -> None:
        self.problems.append(Problem(where=where, problem=problem, remedy=remedy))

    def meet(self, passage: Passage) -> None:
        """Meet each link of a passage with what it points to, and find each figure in one of them."""
        numbered: list[tuple[Link, _Own]] = []
        for piece in passage.pieces:
            if isinstance(piece, Link):
                own = self._met(passage, piece)
                if own is not None:
                    numbered.append((piece, own))
        for figure in passage.figures:
            within = [own for link, own in numbered if link.start <= figure.start and figure.end <= link.end]
            unit = UNIT_OUTSIDE.match(passage.plain, figure.end) if within else None
            if any(own(figure.text, unit[0].strip(" \u00a0\u202f-") if unit else "") for own in within):
                self._own_numbers += 1
            else:
                self._unbound(passage, figure)

    def _met(self, passage: Passage, link: Link) -> _Own | None:
        """Resolve a link; for one to a source or an attribution, return what tells its own numbers."""
        text = passage.plain[link.start : link.end]
        if link.scheme == "receipt" and not link.image:
            self._claim(passage, link, text)
        elif link.scheme == "source":
            return self._citation(link, text, f"{passage.where}:{link.line}")
        elif link.scheme == "tool" and not link.image:
            self._tool(link, f"{passage.where}:{link.line}")
        elif link.scheme in ("https", "http", "mailto"):
            return self._outward(link, f"{passage.where}:{link.line}")
        elif not link.scheme:
            self.references[link.number] = _Resolved(reference=Reference(kind="internal", target=link.target))
        return None

    def _unbound(self, passage: Passage, figure: Figure) -> None:
        following = passage.plain[figure.end :].split(None, 1)
        texts = [figure.word, figure.text, *(f"{figure.text} {word.strip('.,;:()')}" for word in following[:1])]
        alike = [
            f"[{read}](receipt:{'' if audit == self._own else audit + ':'}{address})"
            for audit, ledger in self._ledgers.items()
            for address, cell in ledger.cells.items()
            if (read := next((text for text in texts if reads(text, cell)), None))
        ]
        self._problem(
            passage.at(figure.start),
            f"expected every figure to stand on a receipt, found {figure.word!r} in the prose",
            f"Bind it, perhaps as {' or '.join(alike[:3])}; or exempt it, with its count and why."
            if alike
            else "Bind it to a value, [text](receipt:<address>); or exempt it, with its count and why.",
        )

    def _addressed(self, link: Link, where: str) -> tuple[Ledger, str] | None:
        audit, _, address = link.target.rpartition(":")
        if (ledger := self._ledgers.get(audit or self._own)) is not None:
            return ledger, address
        near = nearest(audit or link.target, self._ledgers)
        self._problem(
            where,
            f"expected one of the pinned receipts, found {audit or 'no pin'!r}",
            f"It may be {' or '.join(near)}; else pin the receipt." if near else "Pin the receipt.",
        )
        return None

    def _claim(self, passage: Passage, link: Link, text: str) -> None:
        where = f"{passage.where}:{link.line}"
        if (found := self._addressed(link, where)) is None:
            return
        ledger, address = found
        try:
            cell = ledger.cell(address)
        except UnknownAddress as error:
            self._unknown_value(ledger, error, where)
            return
        if not reads(text, cell, self._digests if is_digest(cell.value) else ()):
            self._misread(ledger, cell, text, where)
        elif touching := _touching(passage, link):
            self._problem(
                where,
                f"expected nothing to touch the claim {text!r}, found {touching!r}",
                "Take it into the link or set a space: what touches a number changes it.",
            )
        elif cell.value.kind == "number" and (unit := UNIT_OUTSIDE.match(passage.plain, link.end)):
            self._problem(
                where,
                f"expected the unit inside the claim {text!r}, found {unit[0].strip()!r} behind it",
                f"Write {nearest_text(text, cell)!r}, which is all that {address} is.",
            )
        self.claims.append(
            Claim(text=text, cell=cell, pin=ledger.pin, line=link.line, sentence=passage.sentence(link.start))
        )
        self.references[link.number] = _Resolved(
            reference=Reference(kind="claim", target=address, audit=ledger.audit, pin=ledger.pin),
            attributes=f'class="claim" data-address="{escape(address)}" data-receipt="{escape(ledger.pin)}"'
            + (' data-standing="reported"' if cell.standing == "reported" else ""),
        )

    def _unknown_value(self, ledger: Ledger, error: UnknownAddress, where: str) -> None:
        if error.address in ledger.results:
            self._problem(
                where,
                f"expected a claim on one value, found {error.address}, which is a whole result",
                f"Name a row and a column ({', '.join(error.near)}), or show it: ![caption](receipt:{error.address}).",
            )
            return
        self._problem(
            where,
            f"expected a value of {ledger.pin}, found nothing at {error.address!r}",
            f"It may be {' or '.join(error.near)}." if error.near else "Look the address up on the receipt's page.",
        )

    def _misread(self, ledger: Ledger, cell: Cell, text: str, where: str) -> None:
        if reads(text, cell):
            self._problem(
                where,
                f"expected the beginning of one digest, found {text!r}, which begins several",
                f"Write more of it: {shown(cell.value)}.",
            )
            return
        version = ledger.receipt.issued.version
        name = "draft" if version == "draft" else f"version {version}"
        self._problem(
            where,
            f'the text says "{text}"; {cell.address} is {shown(cell.value)} ({ledger.audit}, {name}).',
            f'Reread the sentence, then write "{nearest_text(text, cell)}".',
        )

    def _citation(self, link: Link, text: str, where: str) -> _Own | None:
        if (found := self._addressed(link, where)) is None:
            return _any_number
        ledger, (name, hash_, path) = found[0], found[1].partition("#")
        if (row := ledger.sources.get(name)) is None:
            near = nearest(name, ledger.sources)
            self._problem(
                where,
                f"expected a source of {ledger.pin}, found {name!r}",
                f"It may be {' or '.join(near)}." if near else "Add it to sources.yaml and fetch it.",
            )
            return _any_number
        digest, size, names = row.digest, row.bytes, [row.id, row.origin, row.artifact or "", row.retrieved_at[:10]]
        if hash_:
            members = {member.path: member for member in row.members or ()}
            if (member := members.get(path)) is None:
                self._no_member(row, path, where)
                return _any_number
            digest, size, names = member.digest, member.bytes, [*names, path]
        self.citations.append(Citation(text=text, source=row, pin=ledger.pin, line=link.line, path=path))
        self.references[link.number] = _Resolved(
            reference=Reference(kind="source", target=name, audit=ledger.audit, pin=ledger.pin, part=path or None),
            attributes=f'class="source" data-source="{escape(found[1])}" data-receipt="{escape(ledger.pin)}"',
        )

        def own(figure: str, unit: str) -> bool:
            if unit:
                return unit in ("B", "byte", "bytes") and stands_in(figure, (), size=size)
            return stands_in(figure, names, digest, size)

        return own

    def _no_member(self, row: SourceRow, path: str, where: str) -> None:
        if row.members is None:
            self._problem(
                where,
                f"expected {row.id} without a path, found {path!r}: it is no tree of files",
                f"Write source:{row.id}.",
            )
            return
        paths = [member.path for member in row.members]
        near = nearest(path, paths) or [known for known in paths if known.endswith(f"/{path.rpartition('/')[2]}")][:3]
        self._problem(
            where,
            f"expected one of the {len(paths)} files that were read of {row.id}, found {path!r}",
            f"It may be {' or '.join(near)}." if near else "Cite a file that an observation was read off.",
        )

    def _tool(self, link: Link, where: str) -> tuple[Ledger, str, str | None] | None:
        if (found := self._addressed(link, where)) is None:
            return None
        ledger, (name, hash_, part) = found[0], found[1].partition("#")
        tools = self._tools.get(ledger.audit, {})
        known = tools.get(name)
        if known is None or (hash_ and part not in known):
            what, near = ("tool", nearest(name, tools)) if known is None else ("part", nearest(part, known))
            self._problem(
                where,
                f"expected a {what} of {ledger.audit if known is None else name}, found {part if known else name!r}",
                f"It may be {' or '.join(near)}."
                if near
                else "Name a file of the audit's tools, then # and a function.",
            )
            return None
        self.references[link.number] = _Resolved(
            reference=Reference(
                kind="tool", target=name, audit=ledger.audit, pin=ledger.pin, part=part if hash_ else None
            ),
            attributes='class="tool"',
        )
        return ledger, name, part if hash_ else None

    def _outward(self, link: Link, where: str) -> _Own | None:
        url = link.target
        if (stated := self._attributed.get(url)) is not None:
            self.references[link.number] = _Resolved(
                reference=Reference(kind="attribution", target=url),
                attributes='class="attribution" rel="external"',
            )
            return lambda figure, unit: not unit and stands_in(figure, [url, *stated])
        if (known := self._links.get(url)) is not None:
            self.references[link.number] = _Resolved(
                reference=Reference(kind="outbound", target=url),
                attributes=f'class="outbound" rel="{escape(known.rel or "external")}"',
            )
            return None
        cited = [row.id for ledger in self._ledgers.values() for row in ledger.sources.values() if row.origin == url]
        near = nearest(url, [*self._links, *self._attributed])
        self._problem(
            where,
            f"expected a link with a class, found {url}",
            f"It is a source: write source:{cited[0]}."
            if cited
            else "Cite a source (source:), attribute it (reported.yaml), or list it in content/links.yaml"
            + (f"; it may be {near[0]}." if near else "."),
        )
        return _any_number

    def show(self, place: Place, where: str) -> None:
        """Find what an exhibit is to show."""
        at = f"{where}:{place.link.line}"
        found = self._tool_shown(place, at) if place.link.scheme == "tool" else self._result_shown(place, at)
        if found is not None:
            self.exhibits.append(found)

    def _tool_shown(self, place: Place, where: str) -> ExhibitPlace | None:
        if (found := self._tool(place.link, where)) is None:
            return None
        ledger, name, part = found
        return _exhibit(place, ledger, "tool", name, part)

    def _result_shown(self, place: Place, where: str) -> ExhibitPlace | None:
        if (found := self._addressed(place.link, where)) is None:
            return None
        ledger, address = found
        if (result := ledger.results.get(address)) is not None:
            self._cells[result.class_] += len(result.rows) * len(result.columns) or 1
            return _exhibit(place, ledger, result.kind, address)
        formula = address.removesuffix("/formula")
        if formula != address and _has_formula(ledger.results.get(formula)):
            return _exhibit(place, ledger, "formula", formula)
        if any(address == fixture.id for fixture in ledger.receipt.body.fixtures):
            return _exhibit(place, ledger, "fixture", address)
        cell = ledger.cells.get(address)
        if cell is not None and cell.standing in ("assumption", "reported", "observation", "absence", "trial"):
            return _exhibit(place, ledger, "pointer", address)
        if address in SECTIONS:
            return _exhibit(place, ledger, "section", address)
        if cell is not None:
            self._problem(
                where,
                f"expected an exhibit, found {address}, which is one value",
                f"Write it as a claim, [{shown(cell.value)}](receipt:{address}), or show {address.split('/')[0]}.",
            )
            return None
        fixtures = (fixture.id for fixture in ledger.receipt.body.fixtures)
        near = nearest(address, [*ledger.results, *fixtures, *SECTIONS, *ledger.cells])
        self._problem(
            where,
            f"expected something to show in {ledger.pin}, found nothing at {address!r}",
            f"It may be {' or '.join(near)}." if near else "Look the address up on the receipt's page.",
        )
        return None


def _any_number(_figure: str, _unit: str) -> bool:
    """Stands for the numbers of a link that leads nowhere: one problem is enough."""
    return True


def _exhibit(place: Place, ledger: Ledger, kind: ExhibitKind, address: str, part: str | None = None) -> ExhibitPlace:
    return ExhibitPlace(
        kind=kind,
        audit=ledger.audit,
        pin=ledger.pin,
        address=address,
        part=part,
        caption="",
        caption_text=_one_line(place.caption.plain),
        line=place.link.line,
    )


def _has_formula(result: Result | None) -> bool:
    return result is not None and (
        result.expression is not None or any(column.expression is not None for column in result.columns)
    )


def _pin_problems(
    guide: Guide, ledgers: Mapping[str, Ledger], newest: Mapping[str, int], unchanged: Collection[str]
) -> Iterator[Problem]:
    for pin in guide.front.receipts:
        where = f"{guide.where}:{guide.pin_lines[pin]}"
        audit, _, version = pin.partition("@")
        latest = newest.get(audit)
        if pin not in ledgers:
            near = nearest(pin, ledgers)
            yield Problem(
                where=where,
                problem=f"expected a receipt to pin, found no {pin}",
                remedy=f"It may be {' or '.join(near)}." if near else f"Issue it: build.py issue {audit}.",
            )
        elif version != "draft" and latest is not None and int(version) < latest and pin not in unchanged:
            yield Problem(
                where=where,
                problem=f"the guide stands on {pin}; {audit}@{latest} is published and says otherwise what it says",
                remedy=f"Read build.py diff {audit} {version} {latest}, then pin {audit}@{latest}.",
            )


def _coverage_problems(guide: Guide, coverage: Coverage, floor: Decimal) -> Iterator[Problem]:
    if not coverage.claims:
        yield Problem(
            where=f"{guide.where}:1",
            problem="expected claims on the pinned receipt, found none",
            remedy="Write the values that the guide rests on as [value](receipt:<address>).",
        )
    elif coverage.claims < floor * (coverage.claims + coverage.exempt):
        yield Problem(
            where=f"{guide.where}:1",
            problem=f"expected a coverage of {plain(floor * 100)} % or more, found {coverage.percent} % "
            f"({coverage.claims} claims, {coverage.exempt} exempt figures)",
            remedy="Bind exempt figures to values of a receipt, or leave them out.",
        )


_SIGNS_BEFORE = "+-−±~≈<>≤≥^$€£–._"
_JOINTS = ("-", "–", "/")
_SIGNS_AFTER = "%‰°+-−±^–_"
_GROUPING = "\u00a0\u2009\u202f"


def _touching(passage: Passage, link: Link) -> str:
    """What touches a claim so that the two read as another number; a dash between two claims is a range."""
    text = passage.plain
    claims = [other for other in passage.links if other.scheme == "receipt"]
    before, after = text[max(link.start - 1, 0) : link.start], text[link.end : link.end + 1]
    joined = before in _JOINTS and any(other.end == link.start - 1 for other in claims)
    if before and not joined:
        decimal = before in f",{_GROUPING}" and text[max(link.start - 2, 0) : link.start - 1].isdigit()
        if before.isalnum() or before in _SIGNS_BEFORE or decimal:
            return before
    joined = after in _JOINTS and any(other.start == link.end + 1 for other in claims)
    if after and not joined:
        following = text[link.end + 1 : link.end + 2]
        decimal = (after in f",:/{_GROUPING}" and following.isdigit()) or (after == "." and following.isalnum())
        if after.isalnum() or after in _SIGNS_AFTER or decimal:
            return after
    return ""


def _same(here: Cell, there: Cell) -> bool:
    one, other = here.value, there.value
    return (one.text, one.kind, one.unit) == (other.text, other.kind, other.unit)


def _place(problem: Problem) -> tuple[str, int]:
    where, _, line = problem.where.rpartition(":")
    return where, int(line) if line.isdigit() else 0


def _places(parts: Iterable[Part]) -> Iterator[Place]:
    for part in parts:
        if isinstance(part, Place):
            yield part
        elif isinstance(part, Container):
            yield from _places(part.parts)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _opener(references: Mapping[int, _Resolved], href: Href) -> Callable[[Link], str]:
    def opened(link: Link) -> str:
        resolved = references[link.number]
        address = escape(href(resolved.reference))
        if link.image:
            return f'<img src="{address}" alt="{escape(link.alternative)}">'
        return f'<a {resolved.attributes} href="{address}">' if resolved.attributes else f'<a href="{address}">'

    return opened


def _segments(
    parts: Iterable[Part], exhibits: Iterator[ExhibitPlace], opened: Callable[[Link], str]
) -> Iterator[Segment]:
    for part in parts:
        if isinstance(part, Place):
            yield replace(next(exhibits), caption=part.caption.html(opened))
        elif isinstance(part, Container):
            segments = tuple(_segments(part.parts, exhibits, opened))
            yield Block(name=part.name, segments=segments, line=part.line)
        else:
            html = (piece if isinstance(piece, str) else piece.html(opened) for piece in part.pieces)
            yield Prose(html="".join(html))
