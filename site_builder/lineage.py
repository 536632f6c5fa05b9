"""Lineage: what a value stands on, what stands on a source, and what differs between two versions of a receipt.

Both ways go to the end: down to a source's line, a named assumption or an attribution, up to the lines of the guides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from site_builder.receipts import Absence, Fixture, Ledger, Observation, Tool
from site_builder.receipts import Step as TrailStep
from site_builder.values import UNKNOWN, Expression, leaves, shown

if TYPE_CHECKING:
    from site_builder.guides import Guide, Link, Part

_BOUND = re.compile(r"\]\((receipt|source):([^()\s]+)\)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One value of a lineage: what it is, and how it came to be."""

    address: str
    value: str
    standing: str
    statement: str
    rests_on: tuple[str, ...]
    """The addresses that it was computed from; none for what was read, chosen, reported or written."""
    computed: str
    """Its expression, for what was computed."""
    ends: str
    """Where the lineage ends here: a source's line, an assumption's reason, an attribution."""
    trail: tuple[str, ...]
    """What led to that line, step by step: `path:line: step, value`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """A line of a guide that says a value, shows a result or cites a source."""

    where: str
    """`file:line`."""
    audit: str
    scheme: str
    target: str
    exhibit: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Impact:
    """What stands on a source or on an address."""

    addresses: tuple[str, ...]
    mentions: tuple[Mention, ...]


def why(ledger: Ledger, address: str) -> Sequence[Step]:
    """Return the lineage of the value at an address: itself first, each value once, to the leaves.

    Raises:
        UnknownAddress: nothing stands there.
    """
    ledger.cell(address)
    ends = dict(_ends(ledger))
    trails = dict(_trails(ledger))
    order: dict[str, Step] = {}
    waiting = [address]
    while waiting:
        current = waiting.pop(0)
        if current in order:
            continue
        cell = ledger.cell(current)
        needs = tuple(_needs(ledger, current))
        expression = ledger.expressions.get(current)
        order[current] = Step(
            address=current,
            value=shown(cell.value),
            standing=cell.standing,
            statement=cell.statement,
            rests_on=needs,
            computed="" if expression is None else _written(expression),
            ends=ends.get(current, "" if needs else _ends_by_itself(ledger, current, cell.standing)),
            trail=trails.get(current, ()),
        )
        waiting.extend(needs)
    return tuple(order.values())


def knows(ledger: Ledger, name: str) -> bool:
    """Tell whether a receipt has a source, a tool, a fixture or an address of this name."""
    body = ledger.receipt.body
    made = {tool.id for tool in body.tools} | {fixture.id for fixture in body.fixtures}
    return name in ledger.sources or name in ledger.cells or name in made


def impact(ledger: Ledger, name: str, mentions: Iterable[Mention]) -> Impact:
    """Return what stands on a source or an address of this receipt: values, to fixpoint, and lines of guides."""
    body = ledger.receipt.body
    read_off = [item.id for item in body.observations if item.source == name]
    read_off += [item.id for item in body.absences if name in (item.source, item.control["source"])]
    read_off += [item.id for item in body.trials if name == item.tool or name in item.fixtures]
    used_by: dict[str, list[str]] = {}
    for address in ledger.cells:
        for need in _needs(ledger, address):
            used_by.setdefault(need, []).append(address)
    found: dict[str, None] = {}
    waiting = [*read_off, *([name] if name in ledger.cells else [])]
    while waiting:
        current = waiting.pop(0)
        if current not in found:
            found[current] = None
            waiting.extend(used_by.get(current, ()))
    order = {address: place for place, address in enumerate(ledger.cells)}
    addresses = tuple(sorted(found, key=lambda address: order[address]))
    results = {address.split("/", 1)[0] for address in addresses}
    touched = tuple(
        mention
        for mention in mentions
        if mention.audit == ledger.audit
        and (
            (mention.scheme == "source" and mention.target == name)
            or (mention.scheme == "receipt" and not mention.exhibit and mention.target in found)
            or (mention.scheme == "receipt" and mention.exhibit and mention.target.split("/", 1)[0] in results)
        )
    )
    return Impact(addresses=addresses, mentions=touched)


def mentions(guide: Guide) -> Iterator[Mention]:
    """Yield every place of a guide where it says a value, shows a result or cites a source, by lines."""
    own = guide.front.receipts[0].rpartition("@")[0] if guide.front.receipts else ""
    links = {link.number: (link, passage.where, False) for passage in guide.passages for link in passage.links}
    links |= {link.number: (link, guide.where, True) for link in _shown(guide.parts)}
    for link, where, exhibit in sorted(links.values(), key=lambda item: item[0].line):
        if link.scheme in ("receipt", "source"):
            audit, prefixed, target = link.target.rpartition(":")
            yield Mention(
                where=f"{where}:{link.line}",
                audit=audit if prefixed else own,
                scheme=link.scheme,
                target=target,
                exhibit=exhibit,
            )


def _shown(parts: Iterable[Part]) -> Iterator[Link]:
    from site_builder.guides import Container, Place

    for part in parts:
        if isinstance(part, Place):
            yield part.link
        elif isinstance(part, Container):
            yield from _shown(part.parts)


def differences(before: Ledger, after: Ledger) -> Iterator[tuple[str, str, str]]:
    """Yield what two versions of a receipt do not say alike: addresses, sources and words; name, before, after."""
    for name, one, other in (
        ("", _said(before), _said(after)),
        ("source ", _digests(before), _digests(after)),
        ("text of ", words(before), words(after)),
    ):
        for key in dict.fromkeys([*one, *other]):
            if one.get(key) != other.get(key):
                yield name + key, one.get(key, "nothing"), other.get(key, "nothing")


def words(ledger: Ledger) -> Mapping[str, str]:
    """Return what a receipt says beside its values, by what it is said of; of each member of a list, once.

    What is said of the whole has a name that begins with `the `; all others begin with an id.
    """
    return dict(_words(ledger))


def _words(ledger: Ledger) -> Iterator[tuple[str, str]]:
    body = ledger.receipt.body
    yield "the question", body.question
    yield "the decision's state", body.decision.state
    yield "the decision's statement", body.decision.statement
    yield "the decision's conditions", " ".join(body.decision.conditions)
    yield "the decision's re-open triggers", " ".join(text for item in body.decision.reopen for text in item.values())
    yield "the limits", " ".join(body.limits)
    for chosen in body.assumptions:
        yield from ((chosen.id, chosen.statement), (f"{chosen.id}/reason", chosen.reason))
    for stated in body.reported:
        by = f"{stated.by}{f', {stated.url}' if stated.url else ''}, {stated.how}"
        yield from ((stated.id, stated.statement), (f"{stated.id}/by", by))
    yield from ((read.id.split("@", 1)[0], read.statement) for read in body.observations)
    yield from ((absent.id.split("@", 1)[0], absent.statement) for absent in body.absences)
    yield from ((trial.id.split("@", 1)[0], trial.statement) for trial in body.trials)
    yield from ((f"fixture {fixture.id}", fixture.statement) for fixture in body.fixtures)
    yield from ((f"tool {tool.id}", tool.statement) for tool in body.tools)
    yield from ((held.id, held.statement) for held in body.invariants)
    for result in body.results:
        yield result.id, f"{result.title}: {result.statement}"
        yield from ((f"{result.id}/{column.id}", column.title) for column in result.columns)


def _said(ledger: Ledger) -> Mapping[str, str]:
    return {address: shown(cell.value) for address, cell in ledger.cells.items()}


def _digests(ledger: Ledger) -> Mapping[str, str]:
    body = ledger.receipt.body
    found = {source.id: f"{source.digest}, {source.standing}" for source in ledger.sources.values()}
    for source in ledger.sources.values():
        found |= {f"{source.id}: {member.path}": member.digest for member in source.members or ()}
    made: list[Tool | Fixture] = [*body.tools, *body.fixtures]
    return found | {item.id: item.digest for item in made}


def _needs(ledger: Ledger, address: str) -> Iterator[str]:
    """Yield the addresses that a value was computed from, each once."""
    if ledger.cell(address).own_key:
        return
    found: Iterable[str] = ()
    expression = ledger.expressions.get(address)
    result = ledger.results.get(address.split("/", 1)[0])
    if expression is not None:
        found = leaves(expression)
    if result is not None and result.class_ == "editorial":
        text = str(ledger.cell(address).value.text)
        found = (target for scheme, target in _BOUND.findall(text) if scheme == "receipt" and ":" not in target)
    elif result is not None and (expression is None or expression == "opaque"):
        found = _named(ledger, result.needs)
    yield from (need for need in dict.fromkeys(found) if need in ledger.cells and need != address)


def _named(ledger: Ledger, needs: Sequence[str]) -> Iterator[str]:
    """Yield the addresses under the names that a function's parameters were: a value, its keys, a table's cells."""
    for address in ledger.cells:
        if address in needs or re.split("[@/]", address, maxsplit=1)[0] in needs:
            yield address


def _ends(ledger: Ledger) -> Iterator[tuple[str, str]]:
    body = ledger.receipt.body
    for chosen in body.assumptions:
        yield chosen.id, f"assumed, because {chosen.reason}"
    for stated in body.reported:
        yield stated.id, f"reported by {stated.by}" + (f", {stated.url}" if stated.url else "")
    for read in body.observations:
        unknown = f"; {UNKNOWN}, because {read.reason}" if read.reason else ""
        yield read.id, f"{_origin(ledger, read.source)}{_placed(read.at)}{unknown}"
    for absent in body.absences:
        searched = f"{absent.bytes} bytes and {absent.definitions} definitions searched with {absent.matcher}"
        control = {name: value for name, value in absent.control.items() if name not in ("source", "found")}
        proof = f"its control, {absent.control['source']}{_placed(control)}, has {absent.control['found']}"
        yield absent.id, f"{_origin(ledger, absent.source)}{_placed(absent.at)}, {searched}; {proof}"
    for trial in body.trials:
        yield trial.id, f"{trial.tool} on {', '.join(trial.fixtures)}"


def _placed(at: Mapping[str, str | int] | None) -> str:
    return "".join(f", {name} {value}" for name, value in (at or {}).items())


def _trails(ledger: Ledger) -> Iterator[tuple[str, tuple[str, ...]]]:
    body = ledger.receipt.body
    read: list[Observation | Absence] = [*body.observations, *body.absences]
    for record in read:
        if record.trail:
            yield record.id, tuple(_stepped(step) for step in record.trail)


def _stepped(step: TrailStep) -> str:
    value = step.value if isinstance(step.value, str) else ", ".join(step.value)
    path = step.at.get("path")
    return f"{f'{path}:' if path else 'line '}{step.at.get('line', '')}: {step.step}, {value}"


def _origin(ledger: Ledger, name: str) -> str:
    source = ledger.sources.get(name)
    return f"{name}: {source.origin} ({source.digest}, {source.standing})" if source else name


def _ends_by_itself(ledger: Ledger, address: str, standing: str) -> str:
    if standing == "editorial":
        text = str(ledger.cell(address).value.text)
        cited = [target for scheme, target in _BOUND.findall(text) if scheme == "source"]
        return "written by the editors" + (
            f", citing {', '.join(_origin(ledger, name) for name in cited)}" if cited else ""
        )
    return "counted by the builder in this receipt" if standing == "counted" else "the key of its row"


def _written(expression: Expression) -> str:
    if isinstance(expression, str):
        return expression
    operation, *operands = expression
    return f"{operation}({', '.join(_written(operand) for operand in operands)})"
