"""The verbs: what each reads and writes, in order; problems printed, the exit code set, nothing decided.

`python build.py` builds; `python build.py --help` lists the rest. Exit codes: 0 verified, 1 something is wrong, 2 wrong
usage, 3 could not tell (the network), 4 needs a person.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from site_builder.errors import EvidenceError, Problem, UsageError, printable, worst

if TYPE_CHECKING:
    from site_builder.fetching import FetchReport, Policy
    from site_builder.inputs import AuditInputs, File, Inputs, Version
    from site_builder.project import Exchanged, Project, Writer
    from site_builder.receipts import Ledger
    from site_builder.site import Site
    from site_builder.units import Carried, Unit
    from site_builder.verification import Verified

_VERDICTS = {0: "verified", 1: "wrong", 2: "usage", 3: "could not tell", 4: "needs a person"}
_INTERRUPTED = 130


@dataclass
class _Said:
    """What a verb has to say: lines for a reader, facts for `--json`, and what is wrong."""

    as_json: bool
    lines: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def wrong(self, problems: Sequence[Problem], code: int = 1) -> None:
        self.problems.extend(problems)
        if problems:
            self.codes.append(code)

    def show(self) -> int:
        """Print all of it and return the exit code: problems on the error stream, the rest on the other."""
        code = worst(self.codes)
        if self.as_json:
            from site_builder.strict import dump_json

            said = {"verdict": _VERDICTS[code], "exitCode": code, **self.facts}
            said["problems"] = [
                {"where": item.where, "problem": item.problem, "remedy": item.remedy} for item in self.problems
            ]
            click.echo(dump_json(_wellformed(said)), nl=False)
            return code
        for problem in self.problems:
            click.echo(str(problem), err=True)
        for line in self.lines:
            click.echo(printable(line, 4000))
        return code


def _wellformed(value: Any) -> Any:
    """A file's name may hold bytes that are no text: they are said as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_wellformed(key): _wellformed(item) for key, item in value.items()}
    return [_wellformed(item) for item in value] if isinstance(value, list | tuple) else value


class _Verbs(click.Group):
    """`build` where no verb is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("--help", "-h")):
            args = ["build", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def main() -> None:
    """Build and check a site of technical audits whose every figure stands on a receipt."""


def _verb(work: Callable[..., None]) -> Callable[..., None]:
    """Give a verb its project and its say, and turn what is wrong into problems and an exit code."""

    @wraps(work)
    def run(root: Path, as_json: bool, **options: Any) -> None:
        from site_builder.project import Project

        said = _Said(as_json=as_json)
        try:
            if sys.flags.optimize > 1:
                raise UsageError.at(
                    "python -OO", "expected docstrings, which are published, found them dropped", "Run it without -OO."
                )
            work(Project(root.absolute()), said, **options)
        except EvidenceError as error:
            said.wrong(error.problems, error.exit_code)
        except KeyboardInterrupt:
            sys.exit(_INTERRUPTED)
        sys.exit(said.show())

    folder = click.Path(path_type=Path, exists=True, file_okay=False)
    run = click.option("--root", type=folder, default=".", help="The project's folder, if not this one.")(run)
    run = click.option("--json", "as_json", is_flag=True, help="Print verdict and problems as JSON.")(run)
    return main.command()(run)


# Building and verifying


@_verb
@click.option("--require-bytes", is_flag=True, help="Missing bytes of an entry that was obtained are an error.")
@click.option("--no-cache", is_flag=True, help="Run every audit again, whatever an earlier build saw.")
def build(project: Project, said: _Said, require_bytes: bool, no_cache: bool) -> None:
    """Pass the three gates, then write dist/ and exchange it in whole."""
    with project.writing("build") as writer:
        cache = not no_cache and not os.environ.get("CI")
        _build(project, writer, said, require_bytes=require_bytes, cache=cache)


def _build(project: Project, writer: Writer, said: _Said, *, require_bytes: bool, cache: bool) -> None:
    from site_builder.project import Exchanged
    from site_builder.units import Keys

    inputs = project.inputs()
    keys = Keys(inputs, require_bytes=require_bytes)
    earlier = project.carried() if cache else {}
    carried = keys.carried(earlier, project.served)
    paths = [path for unit in earlier.values() for path in unit.files]
    if carried.site and project.serves(paths):
        _say_verified(said, carried.audits, len(carried.guides))
        writer.report(said.facts["sources"])
        _say_site(said, Exchanged(written=0, kept=len(paths), removed=0))
        return
    from site_builder import site, verification

    settings, verified = _verified(inputs, require_bytes=require_bytes, carried=carried)
    audits = verification.audit_units(verified, keys)
    publication = verification.publication(inputs, settings, verified, keys, project.served)
    units: dict[str, Unit] = {}
    done = writer.exchange(site.render(publication, inputs.templates, units))
    _say_verified(said, audits, sum(name.startswith("guide ") for name in units))
    writer.report(said.facts["sources"])
    writer.remember({**{f"audit {name}": unit for name, unit in audits.items()}, **units})
    _say_site(said, done)


def _say_site(said: _Said, done: Exchanged) -> None:
    said.facts["site"] = {"written": done.written, "kept": done.kept, "removed": done.removed}
    files = done.written + done.kept
    said.lines.append(f"dist/: {files} files, {done.written} of them new, {done.removed} removed")


def _verified(inputs: Inputs, *, require_bytes: bool = False, carried: Carried | None = None) -> tuple[Site, Verified]:
    """Pass the three gates under the site's own settings."""
    from decimal import Decimal

    from site_builder import site, verification
    from site_builder.figures import Vocabulary
    from site_builder.units import NOTHING

    settings = site.read_site(inputs.site.body, inputs.site.where)
    rules = verification.Rules(
        vocabulary=Vocabulary.of(settings.names, inputs.site.where, site.RESERVED_IDS),
        floor=Decimal(settings.coverage_floor),
    )
    return settings, verification.verify(inputs, rules, require_bytes=require_bytes, carried=carried or NOTHING)


def _say_verified(said: _Said, audits: Mapping[str, Unit], guides: int) -> None:
    """How much was read again, and how much stands as it was recorded."""
    by_audit = {name: unit.said for name, unit in audits.items()}
    rehashed = sum(unit.said["rehashed"] for unit in audits.values())
    recorded = sum(len(unit.said["asRecorded"]) for unit in audits.values())
    said.facts["sources"] = {"rehashed": rehashed, "asRecorded": recorded, "audits": by_audit}
    said.lines.append(
        f"{len(audits)} audits and {guides} guides verified: "
        f"{rehashed} sources hashed again, {recorded} taken as recorded"
    )


@_verb
@click.argument("target", required=False)
@click.option("--require-bytes", is_flag=True, help="Missing bytes of an entry that was obtained are an error.")
@click.option("--trust", multiple=True, metavar="HOST:PORT", help="A private address that may be read.")
def verify(project: Project, said: _Said, target: str | None, require_bytes: bool, trust: tuple[str, ...]) -> None:
    """Pass the gates alone; or hold a built folder, an address, a saved receipt or page to what it says of itself."""
    if target is None:
        from site_builder import verification

        inputs = project.inputs()
        verified = _verified(inputs, require_bytes=require_bytes)[1]
        _say_verified(said, verification.audit_units(verified), len(verified.guides))
        said.facts["unchecked"] = dict(verification.unchecked(inputs, verified))
        said.lines += [
            f"{name}: {number} figures in statements, reasons, limits, purposes and desk texts are not checked"
            for name, number in said.facts["unchecked"].items()
            if number
        ]
    elif target.startswith(("https://", "http://")):
        from site_builder import fetching

        if not _host(target):
            raise UsageError.at(target, "expected an address, found one without a host", "Correct the address.")
        base, policy = target.rstrip("/"), _policy(trust)
        _check_site(project, said, None, lambda path: fetching.read_url(f"{base}/{path}", policy), "the published site")
    elif Path(target).is_dir():
        from site_builder.project import Published

        published = Published(Path(target))
        _check_site(project, said, published.names(), published.read, target.rstrip("/"))
    elif Path(target).is_file() and target.endswith((".html", ".htm")):
        _check_page(project, said, Path(target).read_bytes(), target)
    elif Path(target).is_file():
        _check_receipt(project, said, Path(target).read_bytes(), target)
    else:
        raise UsageError.at(
            target, "expected a built folder, an address or a saved receipt, found none", "Name one that exists."
        )


def _host(url: str) -> str | None:
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _check_site(
    project: Project,
    said: _Said,
    names: Sequence[str] | None,
    read: Callable[[str], bytes | None],
    where: str,
) -> None:
    from site_builder import checking

    said.wrong(list(checking.check_site(names, read, where)))
    log = _log(project)
    if log is not None:
        said.wrong(list(checking.against_log(read(checking.MANIFEST) or b"", log, where)))
    if not said.problems:
        said.lines.append(f"{where}: every file is as its manifest says")


def _check_page(project: Project, said: _Said, body: bytes, where: str) -> None:
    """A saved page, held to the receipts of this repository."""
    from site_builder import checking
    from site_builder.site import marked

    files = {
        f"{audit.name}@{version}": file
        for audit in project.inputs().audits.values()
        for version, file in audit.receipts.items()
    }

    @cache
    def receipt(pin: str) -> marked.Opened | None:
        return marked.Opened(checking.sound(files[pin].body, files[pin].where)) if pin in files else None

    said.wrong(list(marked.check_page(body, where, receipt, marks_expected=True)))
    if not said.problems:
        said.lines.append(f"{where}: every marked value reads as its receipt in this repository has it")


def _check_receipt(project: Project, said: _Said, body: bytes, where: str) -> None:
    from site_builder import checking, receipts

    said.wrong(list(checking.check_receipt(body, where)))
    ledger = receipts.opened(body, where)
    values, invariants = checking.recomputed(ledger)
    said.facts |= {"receipt": ledger.pin, "fileDigest": ledger.digest, "values": values, "invariants": invariants}
    if not said.problems:
        said.lines.append(f"{ledger.pin}: {values} values and {invariants} invariants computed again")
    log = _log(project)
    if log is None or ledger.receipt.issued.version == "draft":
        said.lines.append(f"{ledger.pin}: whether it was published was not looked up")
        return
    entries = [entry for entry in log.of(ledger.audit) if entry.version == ledger.receipt.issued.version]
    if [ledger.digest] != [entry.file_digest for entry in entries]:
        expected = entries[0].file_digest if entries else "a line for it"
        said.wrong(
            [
                Problem(
                    where=where,
                    problem=f"expected {expected} as {log.where} names it, found {ledger.digest}",
                    remedy="This is not the receipt that was published here under that number.",
                )
            ]
        )


def _log(project: Project) -> Any:
    """The publication log of this project, or nothing where there is no project."""
    from site_builder import publications

    try:
        inputs = project.inputs()
    except UsageError:
        return None
    return publications.read(inputs.log.body, inputs.log.where)


# Fetching


def _policy(trust: Sequence[str]) -> Policy:
    from site_builder.fetching import Policy

    return Policy(trusted=frozenset(trust))


@_verb
@click.argument("audits", nargs=-1, metavar="[AUDIT]...")
@click.option("-j", "--workers", type=click.IntRange(1, 16), default=4, help="Sources read at a time.")
@click.option("--trust", multiple=True, metavar="HOST:PORT", help="A private address that sources may name.")
def fetch(project: Project, said: _Said, audits: tuple[str, ...], workers: int, trust: tuple[str, ...]) -> None:
    """Bring the locked bytes into the store, and new sources into the lock."""
    with project.writing("fetch") as writer:
        inputs = project.inputs()
        for audit in [_audit(inputs, name) for name in audits] or inputs.audits.values():
            report = _fetch(project, inputs, audit, workers, _policy(trust))
            _lock(writer, audit, report)
            _say_fetched(said, audit.name, report)
        writer.write(".build/fetch.json", _dumped(said.facts))


def _fetch(project: Project, inputs: Inputs, audit: AuditInputs, workers: int, policy: Policy) -> FetchReport:
    from datetime import UTC, datetime

    from site_builder import audits, fetching, verification
    from site_builder.sources import Lock, read_lock

    def read_file(path: str) -> bytes:
        file = audit.file(path)
        if file is None:
            raise FileNotFoundError(path)
        return file.body

    lock = read_lock(audit.lock.body, audit.lock.where) if audit.lock else Lock(audit=audit.name)
    sources = verification.sources_of(inputs, audit)
    known = fetching.Known()
    report = fetching.fetch(
        sources,
        lock,
        project.store,
        policy,
        now=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        read_file=read_file,
        progress=_progress(audit.name),
        workers=workers,
        known=known,
    )
    if any(source.tree for source in sources):
        audited, where = audits.packages(sources), audit.script.where
        script = cache(lambda: audits.load(audit.script.body, where, audited))
        report = fetching.fetch_trees(
            report,
            sources,
            project.store,
            policy,
            lambda trees: audits.followed(script(), where, trees, audited),
            progress=_progress(audit.name),
            workers=workers,
            known=known,
        )
    _progress_ends()
    return report


def _lock(writer: Writer, audit: AuditInputs, report: FetchReport) -> None:
    from site_builder.sources import write_lock

    body = write_lock(report.lock)
    if report.lock.entries and (audit.lock is None or audit.lock.body != body):
        writer.write(f"evidence/{audit.name}/sources.lock", body)


def _say_fetched(said: _Said, name: str, report: FetchReport) -> None:
    by_state: dict[str, int] = {}
    for outcome in report.outcomes:
        by_state[outcome.state] = by_state.get(outcome.state, 0) + 1
    spent = {role: {"requests": cost.requests, "bytes": cost.bytes} for role, cost in report.spent.items()}
    said.facts.setdefault("audits", {})[name] = {
        "states": dict(sorted(by_state.items())),
        "spent": spent,
        "yanked": list(report.yanked),
        "sources": {
            outcome.source: {
                "state": outcome.state,
                "spent": {
                    role: {"requests": cost.requests, "bytes": cost.bytes} for role, cost in outcome.spent.items()
                },
            }
            for outcome in report.outcomes
        },
    }
    states = ", ".join(f"{number} {state}" for state, number in sorted(by_state.items()))
    said.lines.append(f"{name}: {len(report.outcomes)} sources: {states}")
    said.lines += [
        f"{name}: {cost.requests} requests and {cost.bytes} bytes from {role}" for role, cost in report.spent.items()
    ]
    said.lines += [
        f"{name}: {outcome.source} moved on: locked {outcome.moved.expected}, now {outcome.moved.found}"
        for outcome in report.outcomes
        if outcome.state == "moved on" and outcome.moved
    ]
    said.lines += [f"{name}: {file} was yanked from the index" for file in report.yanked]
    said.problems.extend(report.problems)
    said.codes.append(report.exit_code)


def _progress(name: str) -> Callable[[Any], None] | None:
    """A line that is written over while something is done, on a terminal alone."""
    if not sys.stderr.isatty():
        return None

    def show(progress: Any) -> None:
        text = f"{name}: {progress.done} of {progress.total} sources, {progress.received // 1024} KiB"
        click.echo(f"\r\x1b[K{printable(text)}", nl=False, err=True)

    return show


def _progress_ends() -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", nl=False, err=True)


# Issuing and publishing


@_verb
@click.argument("audit")
def issue(project: Project, said: _Said, audit: str) -> None:
    """Run an audit on the bytes at hand and write its draft receipt."""
    from site_builder import issuing, receipts

    with project.writing("issue") as writer:
        inputs = project.inputs()
        own = _audit(inputs, audit)
        body = receipts.written(issuing.draft(inputs, own))
        where = f"evidence/{own.name}/receipts/draft.json"
        before = own.receipts.get("draft")
        if before is None or before.body != body:
            writer.write(where, body)
        said.facts |= {"receipt": f"{own.name}@draft", "changed": before is None or before.body != body}
        said.lines.append(f"{where}: {'written' if said.facts['changed'] else 'as it was'}, {len(body)} bytes")


@_verb
@click.argument("audit")
def publish(project: Project, said: _Said, audit: str) -> None:
    """Give an audit's draft its number and its line in the log, and move the pins of guides that still read the same.

    A guide of which a value or the words changed keeps its pin: a person must reread it (exit 4).

    In this order, each step safe to repeat: the numbered receipt, the line, the pins, the draft's removal. Run again,
    it finishes what was interrupted.
    """
    from datetime import UTC, datetime

    from site_builder import issuing, publications, receipts
    from site_builder.values import Digest

    with project.writing("publish") as writer:
        inputs = project.inputs()
        log = publications.read(inputs.log.body, inputs.log.where)
        number = issuing.numbered(_audit(inputs, audit), log)
        own = issuing.without_unlogged(_audit(inputs, audit), number)
        inputs = replace(inputs, audits={**inputs.audits, audit: own})
        verified = _verified(inputs)[1]
        where = f"evidence/{audit}/receipts/{number.version}.json"
        guides = {
            slug: bound for slug, bound in verified.guides.items() if audit in _pinned(bound.guide.front.receipts)
        }
        if not number.logged:
            writer.write_new(where, number.body)
            line = publications.line_after(
                log,
                audit=audit,
                version=number.version,
                file_digest=Digest.of(number.body),
                blocks={slug: issuing.blocks(bound) for slug, bound in guides.items()},
                at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            )
            writer.append(inputs.log, line)
        said.lines.append(f"{where}: published as {audit}@{number.version}")
        ledger = receipts.opened(number.body, where)
        for slug, bound in guides.items():
            file = inputs.guides[slug]
            moved, reworded = bound.moved(ledger), bound.reworded(ledger)
            if moved or reworded:
                pin = next(pin for pin, mine in bound.ledgers.items() if mine.audit == audit)
                said.lines += [f"{file.where}:{claim.line}: still pins {claim.pin}: {claim.text}" for claim, _ in moved]
                said.lines += [f"{file.where}: still pins {pin}: the text of {name} is another" for name in reworded]
                said.codes.append(4)
                continue
            writer.write(file.where, issuing.repinned(bound.guide, file.body, audit, number.version))
            said.lines.append(
                f"{file.where}: its pin is now {audit}@{number.version}; no bound value and no word of it changed"
            )
        writer.remove(f"evidence/{audit}/receipts/draft.json")
        said.facts |= {"receipt": f"{audit}@{number.version}", "fileDigest": Digest.of(number.body)}


def _pinned(pins: Sequence[str]) -> set[str]:
    return {pin.rpartition("@")[0] for pin in pins}


# Asking


@_verb
@click.argument("address")
def why(project: Project, said: _Said, address: str) -> None:
    """Print what a value stands on, down to a source's line, an assumption's reason or an attribution."""
    from site_builder import lineage

    ledger, name = _at(_newest(project.inputs()), address)
    steps = lineage.why(ledger, name)
    said.facts["lineage"] = [
        {
            "address": step.address,
            "value": step.value,
            "standing": step.standing,
            "statement": step.statement,
            "restsOn": list(step.rests_on),
            "computed": step.computed,
            "ends": step.ends,
            "trail": list(step.trail),
        }
        for step in steps
    ]
    for step in steps:
        said.lines.append(f"{step.address} = {step.value} ({step.standing}): {step.statement}")
        said.lines += [f"    = {step.computed}"] if step.computed else []
        said.lines += [f"    {hop}" for hop in step.trail]
        said.lines += [f"    {step.ends}"] if step.ends else []


@_verb
@click.argument("source")
def impact(project: Project, said: _Said, source: str) -> None:
    """Print what stands on a source (or an address): values, to fixpoint, and the lines of guides that say them."""
    from site_builder import guides, lineage
    from site_builder.figures import Vocabulary

    inputs = project.inputs()
    asked = [ledger for ledger in _newest(inputs).values() if lineage.knows(ledger, source)]
    if not asked:
        raise _unknown(source, [name for ledger in _newest(inputs).values() for name in ledger.sources])
    mentions = [
        mention
        for file in inputs.guides.values()
        for mention in lineage.mentions(guides.read_guide(file.body, file.where, Vocabulary()))
    ]
    said.facts["impact"] = {}
    for ledger in asked:
        found = lineage.impact(ledger, source, mentions)
        said.facts["impact"][ledger.pin] = {
            "addresses": list(found.addresses),
            "guideLines": [{"where": mention.where, "target": mention.target} for mention in found.mentions],
        }
        said.lines += [f"{ledger.pin}: {address}" for address in found.addresses]
        said.lines += [f"{mention.where}: {mention.scheme}:{mention.target}" for mention in found.mentions]
        if not found.addresses and not found.mentions:
            said.lines.append(f"{ledger.pin}: nothing stands on {source}")


@_verb
@click.argument("audit")
@click.argument("before", metavar="N")
@click.argument("after", metavar="M")
def diff(project: Project, said: _Said, audit: str, before: str, after: str) -> None:
    """Print what two versions of a receipt do not say alike."""
    from site_builder import lineage

    own = _audit(project.inputs(), audit)
    one, other = _version(own, before), _version(own, after)
    found = list(lineage.differences(one, other))
    said.facts["differences"] = [{"at": at, "before": was, "after": now} for at, was, now in found]
    said.lines += [f"{at}: {was} -> {now}" for at, was, now in found]
    if not found:
        said.lines.append(f"{one.pin} and {other.pin} say the same")


def _version(audit: AuditInputs, text: str) -> Ledger:
    version: Version | None = "draft" if text == "draft" else int(text) if text.isascii() and text.isdigit() else None
    file = audit.receipts.get(version) if version is not None else None
    if file is None:
        there = ", ".join(map(str, audit.receipts)) or "none"
        raise UsageError.at(
            audit.name, f"expected one of the versions {there}, found {text!r}", "Name a version that exists."
        )
    return _opened(file)


def _audit(inputs: Inputs, name: str) -> AuditInputs:
    if name not in inputs.audits:
        there = ", ".join(inputs.audits) or "none"
        raise UsageError.at(name, f"expected one of the audits {there}, found another", "Name an audit that exists.")
    return inputs.audits[name]


def _newest(inputs: Inputs) -> Mapping[str, Ledger]:
    """The newest receipt of each audit that has one: the draft, else the highest number."""
    return {name: _opened(list(audit.receipts.values())[-1]) for name, audit in inputs.audits.items() if audit.receipts}


def _opened(file: File) -> Ledger:
    """The receipt, once all of it can be read: these verbs ask it without passing the gates."""
    from site_builder import checking

    return checking.sound(file.body, file.where)


def _at(ledgers: Mapping[str, Ledger], address: str) -> tuple[Ledger, str]:
    """The receipt and the address in it that `[audit:]id[/row[/column]]` names."""
    audit, prefixed, name = address.rpartition(":")
    found = [ledger for ledger in ledgers.values() if name in ledger.cells and (not prefixed or ledger.audit == audit)]
    if len(found) == 1:
        return found[0], name
    if found:
        among = " or ".join(f"{ledger.audit}:{name}" for ledger in found)
        raise UsageError.at(address, f"expected one value, found {len(found)}", f"Write {among}.")
    below = [
        f"{ledger.audit}:{known}"
        for ledger in ledgers.values()
        if not prefixed or ledger.audit == audit
        for known, cell in ledger.cells.items()
        if known.startswith((f"{name}/", f"{name}@")) and not cell.own_key
    ]
    if below:
        raise UsageError.at(
            address, f"expected one value, found {len(below)} of that name", f"Write one, say {below[0]}."
        )
    raise _unknown(address, [f"{ledger.audit}:{known}" for ledger in ledgers.values() for known in ledger.cells])


def _unknown(name: str, known: Sequence[str]) -> EvidenceError:
    from site_builder.receipts import nearest

    near = nearest(name, known) or nearest(name, [item.rpartition(":")[2] for item in known])
    hint = f"Perhaps {' or '.join(near)}." if near else "Look it up on the receipt's page."
    return UsageError.at(name, "expected something that stands in a receipt, found nothing of that name", hint)


# Previewing


@_verb
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, help="The port on this machine; 0 takes a free one."
)
def serve(project: Project, said: _Said, port: int) -> None:
    """Build, show the site on this machine, and build and reload again whenever a file changes."""
    del said  # each build has its own say, as it is done
    from site_builder.project.preview import serve as serve_site

    def again() -> None:
        now = _Said(as_json=False)
        try:
            with project.writing("serve") as writer:
                _build(project, writer, now, require_bytes=False, cache=True)
        except EvidenceError as error:
            now.wrong(error.problems, error.exit_code)
        now.show()

    serve_site(project.root, port, again, lambda bound: click.echo(f"http://127.0.0.1:{bound}/ (end with Ctrl-C)"))


def _dumped(value: Any) -> bytes:
    from site_builder.strict import dump_json

    return dump_json(value)


if __name__ == "__main__":
    main()
