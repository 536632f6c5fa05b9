"""Files that machines read: feeds, the sitemap, metadata, the schema of receipts, and the lists of what was built."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from site_builder import strict
from site_builder.site.heads import Head
from site_builder.site.publication import Contributor, Publication, Site
from site_builder.site.reading import visible
from site_builder.units import Filed

# What XML 1.0 has no place for, beyond what `visible` spells out.
_NO_XML = re.compile("[\ufffe\uffff]")


def _xml(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", visible(text)), {'"': "&quot;"})


def _moment(text: str) -> str:
    """A day as RFC 3339 wants it; a time is one already."""
    return f"{text}T00:00:00Z" if len(text) == 10 else text


def atom(site: Site, heads: Sequence[Head]) -> bytes:
    """Return the Atom feed of what is published, newest first."""
    entries = _newest(heads)
    updated = _moment(entries[0].updated) if entries else "1970-01-01T00:00:00Z"
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"  <id>{_xml(site.url)}</id>",
        f"  <title>{_xml(site.title)}</title>",
        f"  <updated>{_xml(updated)}</updated>",
        f'  <link rel="self" type="application/atom+xml" href="{_xml(site.url)}feed.xml"/>',
        f'  <link rel="alternate" type="text/html" href="{_xml(site.url)}"/>',
        f"  <author><name>{_xml(site.team)}</name></author>",
    ]
    for head in entries:
        url = _xml(site.url + head.path)
        published = head.front.published
        lines += [
            "  <entry>",
            f"    <id>{url}</id>",
            f"    <title>{_xml(head.title)}</title>",
            f'    <link rel="alternate" type="text/html" href="{url}"/>',
            f"    <updated>{_xml(_moment(head.updated))}</updated>",
            *([f"    <published>{_xml(_moment(published))}</published>"] if published else []),
            f"    <summary>{_xml(head.description)}</summary>",
            "  </entry>",
        ]
    return "\n".join([*lines, "</feed>", ""]).encode()


def json_feed(site: Site, heads: Sequence[Head]) -> bytes:
    """Return the JSON Feed of what is published, newest first."""
    return strict.dump_json(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": site.title,
            "description": site.description,
            "language": site.language,
            "home_page_url": site.url,
            "feed_url": f"{site.url}feed.json",
            "authors": [{"name": site.team}],
            "items": [
                {
                    "id": site.url + head.path,
                    "url": site.url + head.path,
                    "title": head.title,
                    "summary": head.description,
                    "content_text": head.description,
                    "date_modified": _moment(head.updated),
                    **({"date_published": _moment(head.front.published)} if head.front.published else {}),
                }
                for head in _newest(heads)
            ],
        }
    )


def _newest(heads: Sequence[Head]) -> Sequence[Head]:
    listed = sorted((head for head in heads if head.listed), key=lambda head: head.slug)
    return sorted(listed, key=lambda head: head.updated, reverse=True)


def sitemap(site: Site, pages: Iterable[tuple[str, str]]) -> bytes:
    """Return the sitemap: paths, and the day of the last change where one is known."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">']
    for path, day in pages:
        changed = f"<lastmod>{_xml(day)}</lastmod>" if day else ""
        lines.append(f"  <url><loc>{_xml(site.url + path)}</loc>{changed}</url>")
    return "\n".join([*lines, "</urlset>", ""]).encode()


def robots(site: Site) -> bytes:
    """Return robots.txt; a preview asks not to be read at all."""
    rule = "Disallow: /" if site.reserved else "Allow: /"
    return f"User-agent: *\n{rule}\nSitemap: {site.url}sitemap.xml\n".encode()


def json_ld(site: Site, head: Head, contributors: Mapping[str, Contributor]) -> dict[str, Any]:
    """Return what search engines are told of a guide: nothing that its page does not say."""
    team = {"@type": "Organization", "name": site.team, "url": site.url}
    people = [contributors[name] for name in head.front.authors]
    authors = [{"@type": "Person", "name": person.name, "jobTitle": person.role} for person in people]
    said: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "TechArticle",
        "headline": head.title,
        "description": head.description,
        "url": site.url + head.path,
        "inLanguage": site.language,
        "author": authors or [team],
        "publisher": team,
    }
    if head.front.published:
        said["datePublished"] = head.front.published
    if head.front.modified:
        said["dateModified"] = head.front.modified
    if head.pins:
        said["isBasedOn"] = [f"{site.url}receipts/{pin.replace('@', '/')}/receipt.json" for pin in head.pins]
    return said


def schema(site: Site) -> bytes:
    """Return the JSON Schema of receipts, as the model that reads them has it."""
    from site_builder.receipts import Receipt

    # Its defaults are null where a field may be left out: the one of our files that says so.
    found = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{site.url}schema/receipt/1.json",
        **Receipt.model_json_schema(by_alias=True),
    }
    return json.dumps(found, ensure_ascii=False, indent=1).encode() + b"\n"


def manifest(publication: Publication, listed: Sequence[tuple[str, Filed]]) -> bytes:
    """Return what was built, and by what."""
    return strict.dump_json(
        {
            "schema": "build-manifest/1",
            "url": publication.site.url,
            "builder": publication.builder,
            "versions": dict(sorted(publication.versions.items())),
            "files": [{"path": path, "bytes": str(filed.bytes), "digest": filed.digest} for path, filed in listed],
        }
    )


def sums(listed: Sequence[tuple[str, Filed]]) -> bytes:
    """Return the digests in the form that `sha256sum -c` reads."""
    return "".join(f"{filed.digest.partition(':')[2]}  {path}\n" for path, filed in listed).encode()
