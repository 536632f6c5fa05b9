"""Links: every internal address of the built pages, made relative to its page and checked against what was built.

Only what the final HTML of all pages holds counts: ids come from there, so that forward references work. Addresses of
other sites are not asked for, and are neither right nor wrong here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from site_builder.errors import Problem

# Every quotation mark in text and attribute values is escaped on its way into a page: a literal one belongs to a tag.
# The other attributes are matched, too, so that what stands in one of them is never taken for a tag's own.
# A data block is no markup, and has quotation marks of its own.
_ATTRIBUTE = re.compile(r'<script\b[^>]*>[^<]*</script>|\s(?:(id|href|src)="([^"]*)"|[\w:-]+="[^"]*")')
_DIRECTIVE = re.compile(r":~:.*", re.DOTALL)


_Wish: TypeAlias = tuple[str, str, str]
"""The page that links, the address as it is written there, and the fragment."""
Wish: TypeAlias = tuple[str, str, str]
"""The file that is linked to, the address as it is written, and the fragment."""


@dataclass(kw_only=True, slots=True)
class Links:
    """What the pages of one build link to and what they hold, gathered page by page."""

    url: str
    """The site's address, with its base path and a closing slash."""
    wheres: dict[str, str] = field(default_factory=dict)
    """By page, the file that its prose was written in."""
    served: Callable[[str], bytes | None] = lambda _path: None
    """What a kept page holds."""
    outward: dict[str, list[Wish]] = field(default_factory=dict)
    """By page made anew, what it links to beside itself."""
    _ids: dict[str, str] = field(default_factory=dict)
    """By page, its ids, one a line: one text is far smaller than a set."""
    _kept: set[str] = field(default_factory=set)
    _files: set[str] = field(default_factory=set)
    _waiting: dict[str, list[_Wish]] = field(default_factory=dict)
    """By a file that was not built yet, who links to it."""
    _dead: list[tuple[str, _Wish]] = field(default_factory=list)
    _twice: list[tuple[str, str]] = field(default_factory=list)

    def file(self, path: str) -> None:
        """Take note of a file that is no page."""
        self._files.add(path)
        self._waiting.pop(path, None)

    def page(self, path: str, text: str, *, absolute: bool = False) -> str:
        """Return a page with its internal addresses made relative to it, its links and ids taken note of.

        `absolute` keeps the base path in them, for a page that is served from anywhere.
        """
        base, host = urlsplit(self.url).path, urlsplit(self.url).netloc
        folder = posixpath.dirname(path)
        root = base if absolute else "../" * (folder.count("/") + 1 if folder else 0) or "./"
        ids: dict[str, None] = {}
        seen: dict[str, str] = {}

        def placed(match: re.Match[str]) -> str:
            name, value = match[1], match[2]
            if name is None:
                return match[0]
            if name == "id":
                plain = unescape(value)
                if plain in ids:
                    self._twice.append((path, plain))
                ids[plain] = None
                return match[0]
            if (known := seen.get(value)) is None:
                known = seen[value] = self._placed(path, folder, value, root, base, host)
            return f'{match[0][0]}{name}="{known}"'

        placed_text = _ATTRIBUTE.sub(placed, text)
        self._ids[path] = _listed(ids)
        self._built(path)
        return placed_text

    def kept(self, path: str, wishes: Sequence[Wish]) -> None:
        """Take note of a page that stays as it is served, and of what it was found to link to when it was made."""
        self._kept.add(path)
        self._built(path)
        for target, written, fragment in wishes:
            self._want(target, (path, written, fragment))

    def _built(self, path: str) -> None:
        self._files.add(path)
        for wish in self._waiting.pop(path, ()):
            self._want(path, wish)

    def _placed(self, page: str, folder: str, value: str, root: str, base: str, host: str) -> str:
        plain = unescape(value)
        try:
            parts = urlsplit(plain)
        except ValueError:
            self._dead.append((plain, (page, plain, "")))
            return value
        if parts.scheme not in ("", "http", "https"):
            return value
        inside = parts.path
        if parts.netloc:
            if parts.netloc != host:
                return value
            if not f"{inside or '/'}".startswith(base):
                return value  # another site of the same host
            target = inside[len(base) :]
        elif inside.startswith("/"):
            target = inside[1:]
            value = root + value[1:] if value != "/" else root
        elif inside:
            target = posixpath.normpath(posixpath.join(folder, inside)) + ("/" if inside.endswith("/") else "")
            target = "" if target in (".", "./") else target
        else:
            target = page
        target = unquote(target)
        if not target or target.endswith("/"):
            target += "index.html"
        fragment = unquote(_DIRECTIVE.sub("", parts.fragment))
        if target != page:
            self.outward.setdefault(page, []).append((target, plain, fragment))
        self._want(target, (page, plain, fragment))
        return value

    def _want(self, path: str, wish: _Wish) -> None:
        if path not in self._files:
            self._waiting.setdefault(path, []).append(wish)
        elif wish[2] not in ("", "top") and self._lacks(path, wish):
            self._dead.append((path, wish))

    def _lacks(self, path: str, wish: _Wish) -> bool:
        if path in self._kept:
            if wish[0] in self._kept:
                return False  # both are as they were when every link held
            if path not in self._ids:
                self._ids[path] = _listed(_ids_in((self.served(path) or b"").decode()))
        return path in self._ids and f"\n{wish[2]}\n" not in self._ids[path]

    def problems(self, line_of: Callable[[str, str], int | None]) -> list[Problem]:
        """Return what is dead: links to files that were not built, and to ids that no page of that name has.

        `line_of` tells where a page's own file writes an address, if it does.
        """
        found = [
            Problem(
                where=self.wheres.get(page, page),
                problem=f"expected each id once on a page, found {name!r} twice",
                remedy="Give one of the two headings an id of its own.",
            )
            for page, name in self._twice
        ]
        missing = [(path, wish) for path, wishes in self._waiting.items() for wish in wishes]
        for path, wish in sorted(self._dead + missing, key=lambda item: (item[1], item[0])):
            page, written, _ = wish
            where, line = self.wheres.get(page, page), line_of(page, written)
            found.append(
                Problem(
                    where=f"{where}:{line}" if line else where,
                    problem=self._death(path, wish),
                    remedy="Write the address of a page of this site, or the id of one of its headings.",
                )
            )
        return found

    def _death(self, path: str, wish: _Wish) -> str:
        _, written, fragment = wish
        if path.startswith("../"):
            return f"expected a link inside the site, found {written!r}, which leaves it"
        if path in self._ids:
            near = _alike(fragment, self._ids[path].split("\n"))
            hint = f"; there is #{near}" if near else ""
            return f"expected an id of {path}, found {written!r}, and nothing there has that id{hint}"
        near = _alike(path, sorted(self._files))
        hint = f"; there is {near}" if near else ""
        return f"expected a file of this site, found {written!r}, and nothing is built there{hint}"


def _ids_in(text: str) -> Iterable[str]:
    return (unescape(match[2]) for match in _ATTRIBUTE.finditer(text) if match[1] == "id")


def _listed(ids: Iterable[str]) -> str:
    return "\n" + "\n".join(ids) + "\n"


def _alike(wanted: str, names: Iterable[str]) -> str | None:
    return next((name for name in names if name and name.lower() == wanted.lower()), None)
