"""The site: a publication and its templates in, `(path, bytes)` out, one file at a time.

What is shown has passed the gates; nothing is judged here but the links between the built pages. Writing files is
`project`'s work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, cast
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from markupsafe import Markup

from site_builder import strict
from site_builder.bindings import Bound, BoundCells
from site_builder.errors import EvidenceError, GuideError
from site_builder.guides import ExhibitPlace, Reference
from site_builder.inputs import File
from site_builder.receipts import Ledger
from site_builder.site import downloads, files, reading
from site_builder.site.heads import Head, ReceiptHead
from site_builder.site.links import Links
from site_builder.site.publication import (
    AuditPage,
    Contributor,
    Correction,
    Evidence,
    GuidePage,
    Kept,
    Publication,
    Site,
    Tool,
    read_contributors,
    read_corrections,
    read_site,
)
from site_builder.site.shown import Shown, unit
from site_builder.units import Filed, Unit
from site_builder.values import Digest

__all__ = [
    "RESERVED_IDS",
    "AuditPage",
    "Contributor",
    "Correction",
    "Evidence",
    "GuidePage",
    "Kept",
    "Publication",
    "Site",
    "Tool",
    "href",
    "read_contributors",
    "read_corrections",
    "read_site",
    "render",
    "tool_name",
]

RESERVED_IDS = frozenset({"main", "verdict", "contents", "evidence", "contributors", "guides"})
"""The ids that templates use on a page of prose: no heading may take one."""

_PAGES = {
    "home": "",
    "methods": "methods/",
    "about": "about/",
    "editorial-policy": "editorial-policy/",
}


def href(reference: Reference) -> str:
    """Return where a link of a guide leads, as an address below the site's root or as the editor wrote it."""
    match reference.kind:
        case "claim":
            return f"/receipts/{reference.audit}/#{reference.target}"
        case "source":
            file = f"/{quote(reference.part)}" if reference.part else ""
            return f"/receipts/{reference.audit}/#source:{reference.target}{file}"
        case "tool":
            return f"/tools/{_tool_file(reference.target)}"
        case _:
            return reference.target


def tool_name(file: str) -> str:
    """Return the name under which guides show a tool: a plain Python file's without its suffix, and with dashes."""
    stem = file.removesuffix(".py")
    return file if stem == file or "-" in stem or "." in stem else stem.replace("_", "-")


def _tool_file(name: str) -> str:
    return name if "." in name else f"{name.replace('-', '_')}.py"


def render(
    publication: Publication, templates: Mapping[str, File], units: dict[str, Unit] | None = None
) -> Iterator[tuple[str, bytes | Filed]]:
    """Yield every file of the site, one at a time, in one order; the last ones say what was built.

    Files of kept units are only named. `units` is given the units of this site, once the last file is out.

    Raises:
        GuideError: a link between pages leads nowhere, said once all of them are built.
    """
    press = _Press(publication=publication, templates=templates)
    listed: dict[str, Filed] = {}

    def noted(path: str, body: bytes | Filed) -> tuple[str, bytes | Filed]:
        listed[path] = body if isinstance(body, Filed) else Filed(bytes=len(body), digest=Digest.of(body))
        return path, body

    for path, body in press.files():
        yield noted(path, body)
    press.check_links()
    yield noted("build-manifest.json", files.manifest(publication, sorted(listed.items())))
    yield noted("SHA256SUMS", files.sums(sorted(listed.items())))
    if units is not None:
        units |= press.units(listed)


def _broken(template: str, error: TemplateError | UnicodeDecodeError, known: Collection[str]) -> EvidenceError:
    """Return the error of a template that makes no page, with the line that stopped it where there is one."""
    at, step = template, error.__traceback__
    if isinstance(error, TemplateSyntaxError):
        at = f"{error.name or template}:{error.lineno}"
    while step is not None:
        if (name := step.tb_frame.f_code.co_filename) in known:
            at = f"{name}:{step.tb_lineno}"
        step = step.tb_next
    missing = isinstance(error, TemplateNotFound)
    problem = f"expected the template {error}, found none" if missing else f"expected a page, found that {error}"
    return GuideError.at(f"templates/{at}", problem, "Restore the template, or mend it.")


@dataclass
class _Press:
    """One run of the render: what it has seen so far, and nothing that another run could see."""

    publication: Publication
    templates: Mapping[str, File]
    heads: list[Head] = field(default_factory=list)
    receipts: list[ReceiptHead] = field(default_factory=list)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)
    """By page and address as written, the line of its file that links within the site."""
    made: dict[str, tuple[Unit, Sequence[str]]] = field(default_factory=dict)
    """Guides and receipts with the paths of their files, which have digests only once they are out."""

    def __post_init__(self) -> None:
        self.site = self.publication.site
        self.links = Links(url=self.site.url, served=self.publication.served or (lambda _path: None))
        for path in ("build-manifest.json", "SHA256SUMS"):
            self.links.file(path)

    @cached_property
    def static(self) -> Mapping[str, tuple[str, bytes]]:
        """By name, a static file's path with a digest in it, and its bytes."""
        found = {}
        for name, file in self.templates.items():
            if name.startswith("static/"):
                stem, dot, suffix = name.rpartition(".")
                found[name.removeprefix("static/")] = (
                    f"{stem}-{file.digest.partition(':')[2][:12]}{dot}{suffix}",
                    file.body,
                )
        return found

    @cached_property
    def environment(self) -> Environment:
        """The templates, each compiled once."""

        def load(name: str) -> tuple[str, str, None]:
            if (file := self.templates.get(name)) is None:
                raise TemplateNotFound(name)
            return file.body.decode(), name, None

        environment = Environment(
            loader=FunctionLoader(cast(Any, load)),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            cache_size=-1,
        )
        environment.filters |= {
            "date": reading.date,
            "digest": reading.digest,
            "size": reading.size,
            "grouped": lambda number: f"{number:,}",
            "phrase": reading.phrase,
            "said": reading.said,
            "excerpt": reading.excerpt,
            "html": _markup,
            "unit": unit,
            "numeric": lambda column: reading.numeric(column.kind),
            "pretty": lambda record: strict.dump_json(record).decode().rstrip("\n"),
            "plain": lambda text: ", ".join(text) if isinstance(text, tuple) else text,
        }
        environment.globals |= {
            "site": self.site,
            "versions": self.publication.versions,
            "builder": self.publication.builder,
            "static": {name: path for name, (path, _) in self.static.items()},
            "highlighted": _highlighted,
            "offered": {tool.file: tool.digest for tool in self.publication.tools.values()},
            "correction_link": self._correction_link,
        }
        return environment

    @cached_property
    def heads_by_audit(self) -> Mapping[str, Sequence[Head]]:
        """The guides that pin each audit: all of them are rendered before the first receipt asks."""
        found: dict[str, list[Head]] = {}
        for head in self.heads:
            for name in dict.fromkeys(pin.rpartition("@")[0] for pin in head.pins):
                found.setdefault(name, []).append(head)
        return found

    def files(self) -> Iterator[tuple[str, bytes | Filed]]:
        """Yield the site's files but those that list the others."""
        for path, body in self.static.values():
            yield self._file(path, body)
        for guide in self.publication.guides:
            if isinstance(guide, Kept):
                self.heads.append(Head.kept(guide.unit.said["head"]))
                yield from self._kept(f"guide {guide.name}", guide.unit)
            else:
                yield self._guide(guide)
        for head in self.heads:
            for alias in head.front.aliases:
                yield self._page(f"{alias.strip('/')}/index.html", "moved.html", to=f"/{head.path}", listed=False)
        for audit in self.publication.audits:
            yield from self._receipt(audit)
        for tool in self.publication.tools.values():
            yield self._file(f"tools/{tool.file}", tool.body)
        yield from self._pages()
        yield self._file("schema/receipt/1.json", files.schema(self.site))
        yield self._file("feed.xml", files.atom(self.site, self.heads))
        yield self._file("feed.json", files.json_feed(self.site, self.heads))
        yield self._file("sitemap.xml", files.sitemap(self.site, self._mapped()))
        yield self._file("robots.txt", files.robots(self.site))

    def check_links(self) -> None:
        """Return, once every link between the pages leads somewhere.

        Raises:
            GuideError: one does not.
        """
        if problems := self.links.problems(lambda page, written: self.lines.get((page, written))):
            raise GuideError(*problems)

    def units(self, listed: Mapping[str, Filed]) -> Mapping[str, Unit]:
        """Return the units of this site, whose files are listed: guides, receipts, and what belongs to none of them."""
        units = {
            name: replace(unit, files={path: listed[path] for path in paths})
            for name, (unit, paths) in self.made.items()
        }
        rest = listed.keys() - {path for unit in units.values() for path in unit.files}
        whole = Unit(key=self.publication.key, files={path: filed for path, filed in listed.items() if path in rest})
        return {**units, "site": whole}

    def _kept(self, name: str, unit: Unit) -> Iterator[tuple[str, Filed]]:
        pages = {said["page"]: said for said in unit.said["pages"]}
        for path, filed in unit.files.items():
            if (said := pages.get(path)) is not None:
                self.links.wheres |= {path: said["where"]} if said["where"] else {}
                self.links.kept(path, [(target, written, fragment) for target, written, fragment, _ in said["links"]])
                self.lines |= {(path, written): line for _, written, _, line in said["links"] if line}
            else:
                self.links.file(path)
            yield path, filed
        self.made[name] = unit, tuple(unit.files)

    def _linked(self, page: str) -> Mapping[str, Any]:
        """What a page that was just made links to, as it is kept."""
        return {
            "page": page,
            "where": self.links.wheres.get(page, ""),
            "links": [
                (target, written, fragment, self.lines.get((page, written), 0))
                for target, written, fragment in self.links.outward.pop(page, ())
            ],
        }

    def _file(self, path: str, body: bytes) -> tuple[str, bytes]:
        self.links.file(path)
        return path, body

    def _page(self, path: str, template: str, *, where: str = "", **values: Any) -> tuple[str, bytes]:
        if where:
            self.links.wheres[path] = where
        address = path.removesuffix("index.html")
        try:
            text = self.environment.get_template(template).render(path=f"/{address}", **values)
        except (TemplateError, UnicodeDecodeError) as error:
            raise _broken(template, error, self.templates) from None
        return path, self.links.page(path, reading.visible(text), absolute=path == "404.html").encode()

    def _written(self, path: str, bound: Bound) -> str:
        """Take note of where a page's prose links within the site, and return the file that it was written in."""
        for passage in bound.guide.passages:
            for link in passage.links:
                if not link.scheme:
                    self.lines.setdefault((path, link.target), link.line)
        return bound.guide.where

    def _guide(self, guide: GuidePage) -> tuple[str, bytes]:
        bound, front = guide.bound, guide.bound.guide.front
        shown = {
            pin: Shown(
                ledger,
                self._view(ledger.audit, pin),
                guide.cells[pin].rendered(self._href) if pin in guide.cells else {},
            )
            for pin, ledger in bound.ledgers.items()
        }
        own = shown[front.receipts[0]] if front.receipts else None
        rendered = bound.rendered(self._href)
        head = Head.of(guide.slug, bound, rendered, own.ledger if own else None)
        # Only the head is kept: a thousand guides need no room for a thousand receipts.
        self.heads.append(head)
        path = f"{head.path}index.html"
        page = self._page(
            path,
            "guide.html",
            where=self._written(path, bound),
            listed=head.listed,
            head=head,
            rendered=rendered,
            front=front,
            coverage=bound.coverage,
            shown=shown,
            own=own,
            authors=[self.publication.contributors[name] for name in front.authors],
            exhibit=partial(self._exhibit, shown, {}),
            metadata=files.json_ld(self.site, head, self.publication.contributors),
        )
        said = {"head": head.to_keep(), "pages": [self._linked(path)]}
        self.made[f"guide {guide.slug}"] = Unit(key=guide.key, on=guide.on, said=said), (path,)
        return page

    def _exhibit(self, shown: Mapping[str, Shown], numbers: dict[str, int], place: ExhibitPlace) -> Markup:
        numbers["last"] = numbers.get("last", 0) + 1
        values: dict[str, Any] = {"place": place, "number": numbers["last"], "result": None, "shown": None}
        receipt = shown[place.pin]
        values |= {"shown": receipt, "result": receipt.ledger.results.get(place.address)}
        if place.kind == "tool":
            tool = self.publication.tools[place.address]
            listed = {item.id: item.digest for item in receipt.ledger.receipt.body.tools}
            values |= {"tool": tool, "recorded": listed.get(tool.file, tool.digest)}
            values["code"] = _part(reading.text(tool.body), place.part) if tool.file.endswith(".py") else None
        if place.kind == "fixture":
            fixture = next(item for item in receipt.ledger.receipt.body.fixtures if item.id == place.address)
            body = self.publication.fixtures.get((place.audit, place.address), b"")
            values |= {"fixture": fixture, "excerpt": reading.excerpt(body), "same": Digest.of(body) == fixture.digest}
        return Markup(self.environment.get_template("exhibits/frame.html").render(values))

    def _receipt(self, audit: AuditPage | Kept) -> Iterator[tuple[str, bytes | Filed]]:
        name = audit.name if isinstance(audit, Kept) else audit.ledger.audit
        guides = [head.to_keep() for head in self.heads_by_audit.get(name, ())]
        if isinstance(audit, Kept) and audit.again and audit.unit.said["guides"] != guides:
            audit = audit.again()
        if isinstance(audit, Kept):
            self.receipts.append(ReceiptHead(**audit.unit.said["head"]))
            yield from self._kept(f"receipt {name}", audit.unit)
            return
        paths = []
        for path, body in self._audit(audit):
            paths.append(path)
            yield path, body
        self.receipts.append(ReceiptHead.of(audit.ledger))
        said = {
            "head": self.receipts[-1].to_keep(),
            "guides": guides,
            "corrections": [item.to_keep() for item in audit.corrections],
            "pages": [self._linked(path) for path in paths if path.endswith(".html")],
        }
        self.made[f"receipt {name}"] = Unit(key=audit.key, on=audit.on, said=said), paths

    def _audit(self, audit: AuditPage) -> Iterator[tuple[str, bytes]]:
        """Yield the files of every version of a receipt, and the pages of the newest and of a draft beside it."""
        name, newest = audit.ledger.audit, audit.ledger.receipt.issued.version
        folder = f"receipts/{name}/"
        ledgers = {**audit.others, newest: audit.ledger}
        for version, body in audit.versions.items():
            yield self._file(f"{folder}{version}/receipt.json", body)
            page = f"{self.site.url}{self._view(name, f'{name}@{version}')[1:]}"
            for file, made in downloads.files(ledgers[version], page):
                yield self._file(f"{folder}{version}/{file}", made)
        yield self._file(f"{folder}receipt.json", audit.versions[newest])
        yield self._receipt_page(audit, audit.ledger, audit.cells, f"{folder}index.html")
        if name in self.publication.drafts:
            yield self._receipt_page(audit, ledgers["draft"], audit.draft_cells, f"{folder}draft/index.html")

    def _receipt_page(self, audit: AuditPage, ledger: Ledger, cells: BoundCells | None, path: str) -> tuple[str, bytes]:
        version = ledger.receipt.issued.version
        return self._page(
            path,
            "receipt.html",
            listed=version != "draft",
            audit=audit,
            shown=Shown(ledger, "", cells.rendered(self._href) if cells else {}),
            version=version,
            newest=audit.ledger.receipt.issued.version,
            unchecked=sum(map(len, cells.unchecked.values())) if cells else 0,
            guides=self.heads_by_audit.get(ledger.audit, ()),
        )

    def _view(self, audit: str, pin: str) -> str:
        """Return the address of the page that shows a receipt: that of a draft has its own beside a numbered one."""
        own = audit in self.publication.drafts and pin.endswith("@draft")
        return f"/receipts/{audit}/draft/" if own else f"/receipts/{audit}/"

    def _href(self, reference: Reference) -> str:
        address, shared = href(reference), f"/receipts/{reference.audit}/"
        own = self._view(reference.audit, reference.pin) if reference.pin else shared
        return own + address.removeprefix(shared) if address.startswith(shared) else address

    def _pages(self) -> Iterator[tuple[str, bytes]]:
        listed: dict[str, Any] = {"heads": self.heads, "receipts": self.receipts, "listed": True}
        corrections, log = self.publication.corrections, self.publication.log
        for slug, bound in self.publication.pages.items():
            path = f"{_PAGES.get(slug, f'{slug}/')}index.html"
            yield self._page(
                path,
                "home.html" if slug == "home" else "page.html",
                where=self._written(path, bound),
                rendered=bound.rendered(self._href),
                corrections=corrections,
                contributors=self.publication.contributors.values() if slug == "about" else (),
                **listed,
            )
        yield self._page("verify/index.html", "verify.html", **listed)
        if self.publication.log_file:
            yield self._file("log/publications.jsonl", self.publication.log_file)
        yield self._page("log/index.html", "log.html", log=log, **listed)
        yield self._page("corrections/index.html", "corrections.html", corrections=corrections, **listed)
        yield self._page("404.html", "404.html", heads=self.heads, listed=False)

    def _mapped(self) -> Iterator[tuple[str, str]]:
        yield "", max((head.updated for head in self.heads if head.listed), default="")
        for head in self.heads:
            if head.listed:
                yield head.path, head.updated
        for receipt in self.receipts:
            if receipt.version != "draft":
                yield f"receipts/{receipt.audit}/", receipt.as_of
        for path in ("about/", "corrections/", "editorial-policy/", "log/", "methods/", "verify/"):
            yield path, ""

    def _correction_link(self, title: str, path: str, pin: str = "") -> str:
        contact, text = self.site.contact, f"Correction: {title}" + (f" ({pin})" if pin else "")
        page = f"{self.site.url}{path.lstrip('/')}"
        body = f"Page: {page}\nReceipt: {pin or 'none'}\n\nWhat it says:\n\nWhat is true, and where to see it:\n"
        sign = "&" if "?" in contact else "?"
        first = "subject" if contact.startswith("mailto:") else "title"
        return f"{contact}{sign}{first}={quote(text)}&body={quote(body)}"


def _markup(text: str) -> Markup:
    """What the guide's parser rendered is markup already: its own text was escaped there."""
    return Markup(text)


def _part(code: str, name: str | None) -> str:
    """Return one function or class of a Python file, with its decorators, or the whole file."""
    if name is None:
        return code
    import ast

    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(code.split("\n")[first - 1 : node.end_lineno]) + "\n"
    return code


def _highlighted(code: str, language: str) -> Markup:
    """Return code with its tokens marked by class. What is plain text needs no highlighter, and none is loaded."""
    if language == "text":
        return Markup("<pre><code>{}</code></pre>").format(code)
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    return Markup(highlight(code, get_lexer_by_name(language), HtmlFormatter(nowrap=False, cssclass="code")))
