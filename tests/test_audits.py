"""Audits: what a script may say, what it comes to, and every way in which it could hide an input or prove nothing."""

# ruff: noqa: E501 - a case stands on one line, and so does a message

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from site_builder import lineage, receipts, verification
from site_builder.audits import load
from site_builder.receipts import Ledger
from site_builder.values import Digest
from tests import demo

_FIRST = demo.FILES[demo.SCRIPT].count("\n") + 3
"""The line of what is written behind the script."""

_NAME_IT = "Make it an assumption with a reason, or an observation, and name it as a parameter."
_TRACE_IT = "Write it with arithmetic, comparisons, choose(…), every(…), some(…) and the like, which leave a trace."
_COMPUTE = "Name what it needs as a parameter, and calculate with values of one unit."


def _result(*lines: str, parameters: str = "memory, large_page, page_size") -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f'@audit.result(title="Mine")\ndef mine({parameters}):\n    """Mine."""\n{body}'


def _ledger(files: Any = demo.FILES, **changed: Any) -> Ledger:
    body = demo.body(files, **changed)
    issued = receipts.Issued(
        version="draft",
        as_of="2026-11-30T10:00:00Z",
        operation_id="none",
        predecessor="none",
        builder="none",
        parsers={},
        overlap="none",
        intake="none",
        search_budget="none",
        review="none",
    )
    return Ledger(receipt=receipts.Receipt(audit="cache", body=body, issued=issued), digest=Digest.of(b""))


# What it comes to


def test_a_sound_audit():
    """Observations, results and invariants come with their lineage, and each value is what its expression yields."""
    ledger = _ledger()

    assert "256" == ledger.cell("memory").value.text
    assert ["div", ["mul", "defaultPages", ["max", "pageSize@1.0.0", "pageSize@1.1.0", "pageSize@1.2.0"]], "MiB"] == (
        ledger.expressions["memory"]
    )
    assert {"16384": "64", "65536": "256"} == {row["id"]: row["size"] for row in ledger.results["sizes"].rows}
    assert ["bounded", "affected", "affected"] == [row["verdict"] for row in ledger.results["releases"].rows]
    assert {"reportIsReproduced": ("256 MiB", "256 MiB"), "pagesDoNotShrink": ("at most 2048 B", "2048 B")} == {
        item.id: (item.expected, item.actual) for item in ledger.receipt.body.invariants
    }
    assert "hold" == ledger.receipt.body.decision.state
    for address, expression in ledger.expressions.items():
        if expression != "opaque":
            assert ledger.cell(address).value.text == ledger.recomputed(address).text, address


def test_a_value_that_another_chooses():
    """What names a row or a member is in the lineage of what stands there, and can break what rests on it."""
    function = '@audit.invariant\ndef proved(releases, newest, affected):\n    """Proved."""\n    return releases.cell(newest, "verdict") == affected\n'
    ledger = _ledger(demo.script(function))

    assert ["at", "releases/1.2.0/verdict", "newest"] == ledger.expressions["state"]
    assert ["div", ["mul", "sizes/16384/cap", ["at", "pageSize@1.2.0", "newest"]], "MiB"] == ledger.expressions[
        "sizes/16384/size"
    ]
    assert {"newest", "releases/1.2.0/verdict"} <= set(ledger.lineage("state"))
    assert ("releases/1.2.0/verdict", "newest") == lineage.why(ledger, "state")[0].rests_on
    (proved,) = (item for item in ledger.receipt.body.invariants if item.id == "proved")
    assert ["eq", ["at", "releases/1.2.0/verdict", "newest"], "affected"] == proved.expression
    assert "newest" in proved.broken_by


def test_a_member_that_chooses_itself():
    """A row of a list that looks up its own member names no chooser: the member is the key."""
    files = demo.script(
        '@audit.result()\ndef listed(memory):\n    """Listed."""\n    return table(row("16384", x=memory), row("65536", x=memory))\n',
        '@audit.result(each="cap")\ndef mine(cap, listed):\n    """Mine."""\n    return row(x=listed.cell(cap, "x"))\n',
    )

    assert "listed/16384/x" == _ledger(files).expressions["mine/16384/x"]


def test_what_breaks_an_invariant():
    """Each leaf that makes an invariant false when it is moved is listed, and no other."""
    body = demo.body()

    assert {
        "reportIsReproduced": ("defaultPages", "pageSize@1.1.0", "pageSize@1.2.0", "reportedPeak"),
        "pagesDoNotShrink": ("pageSize@1.1.0", "pageSize@1.2.0"),
    } == {item.id: tuple(sorted(item.broken_by)) for item in body.invariants}


def test_from_bytes_and_from_the_record():
    """A run from bytes, one from the record and one from either half are one run."""
    made = demo.inputs()
    held = verification.snapshot_gate(made, ["cache"])["cache"]
    whole = verification.computed(made.audits["cache"], held, {})
    recorded = verification.recorded_in(_ledger().receipt)

    names = list(held.snapshots)
    for kept in ([], names[::2], names[1::2]):
        part = replace(held, snapshots={name: held.snapshots[name] for name in kept})
        assert whole == verification.computed(made.audits["cache"], part, recorded)


def test_observed_values_reach_results_through_their_encoding():
    """What a reader returns is written down and read again before anything computes with it."""
    files = demo.changed(
        demo.SCRIPT,
        'return source.python.constant("PAGE_SIZE")',
        'return source.python.constant("PAGE_SIZE").read_as("4096.0")',
    )

    assert {"4096"} == {item.value for item in demo.body(files).observations if item.id.startswith("pageSize@")}


# What hides an input


@pytest.mark.parametrize(
    ("lines", "at", "found", "remedy"),
    [
        (["return memory * 3"], 3, "the literal 3", _NAME_IT),
        (["return memory * -2"], 3, "the literal 2", _NAME_IT),
        (["return memory == 'x'"], 3, "the literal 'x'", _NAME_IT),
        (["return choose(memory == memory, True, memory)"], 3, "the literal True", _NAME_IT),
        (["return memory * LIMIT"], 3, "the global name LIMIT", _NAME_IT),
        (["return memory * len(page_size)"], 3, "the global name len", _NAME_IT),
        (["return memory * audit.limits"], 3, "the global name audit", _NAME_IT),
        # the name is local to the comprehension alone
        (
            ["some(LIMIT == large_page for LIMIT in page_size.values())", "return memory * LIMIT"],
            4,
            "the global name LIMIT",
            _NAME_IT,
        ),
        (["import re", "return memory"], 3, "a statement that brings in a name", _NAME_IT),
        (["return memory << large_page"], 3, "something that leaves no trace (LShift)", _TRACE_IT),
        (["global LIMIT", "return memory"], 3, "a statement that brings in a name", _NAME_IT),
        (["f = lambda: memory", "return f()"], 3, "a statement that brings in a name", _NAME_IT),
        (["return (x := memory)"], 3, "a statement that brings in a name", _NAME_IT),
        (["return memory.raw"], 3, "the attribute .raw", _TRACE_IT),
        (["return memory.named(large_page)"], 3, "the attribute .named", _TRACE_IT),
        (["return choose(memory.known, memory, memory)"], 3, "the attribute .known", _TRACE_IT),
        (["return page_size[f'{memory}']"], 3, "a place that is named by its number", _NAME_IT),
        (["return page_size.values()[1]"], 3, "a place that is named by its number", _NAME_IT),
        (["return memory if large_page else memory"], 3, "a choice that leaves no trace", _TRACE_IT),
        (["return memory and large_page"], 3, "a choice that leaves no trace", _TRACE_IT),
        (
            ["if memory is large_page:", "    return memory", "return memory"],
            3,
            "a choice that leaves no trace",
            _TRACE_IT,
        ),
        (["return total(x for x in page_size.values() if x)"], 3, "a choice that leaves no trace", _TRACE_IT),
        (["page_size['1.0.0'] = memory", "return memory"], 3, "an assignment into a value", _TRACE_IT),
        (["return {'a': memory}['a']"], 3, "something that leaves no trace (Dict)", _TRACE_IT),
        (
            ["for x in page_size.values():", "    memory = x", "return memory"],
            3,
            "something that leaves no trace (For)",
            _TRACE_IT,
        ),
    ],
)
def test_an_input_that_is_hidden(lines, at, found, remedy):
    """A literal, a global, a choice or an attribute in a result is said with its line."""
    said = demo.problems(lambda: demo.body(demo.script(_result(*lines))))

    line = _FIRST + at
    assert (
        f"evidence/cache/audit.py:{line}: mine: expected inputs that it names as parameters, found {found}\n    {remedy}"
        in said
    )


def test_hidden_in_a_default_value():
    """A default value is a literal that no parameter names, in a result and in a rule."""
    files = demo.script(
        "@audit.rule\ndef scaled(value, by=5, *more, least_by=7):\n    return value * by\n",
        _result("return memory", parameters="memory, large_page=5, **rest"),
    )

    found = [problem.splitlines()[0] for problem in demo.problems(lambda: demo.body(files))]
    expected = "expected inputs that it names as parameters, found"
    assert [
        f"evidence/cache/audit.py:{_FIRST + 6}: mine: {expected} parameters without names of their own",
        f"evidence/cache/audit.py:{_FIRST + 6}: mine: {expected} the default value of a parameter",
        f"evidence/cache/audit.py:{_FIRST + 1}: scaled: {expected} parameters without names of their own",
        f"evidence/cache/audit.py:{_FIRST + 1}: scaled: {expected} the default value of a parameter",
    ] == found


@pytest.mark.parametrize(
    "text",
    [
        # another function under a result's name
        'def _other(memory):\n    """Mine."""\n    return memory\n\n\n_other.__name__ = "mine"\naudit.result()(_other)\n',
        # one that is made by another
        'def _maker(factor):\n    def mine(memory):\n        """Mine."""\n        return memory * factor\n    return mine\n\n\naudit.result()(_maker(2))\n',
        # one under a condition, and one under a decorator more
        'if True:\n    @audit.result()\n    def mine(memory):\n        """Mine."""\n        return memory\n',
        'def same(function):\n    return function\n\n\n@same\n@audit.result()\ndef mine(memory):\n    """Mine."""\n    return memory\n',
    ],
)  # fmt: skip
def test_a_function_that_is_not_what_is_read(text):
    """What computes is a function of the script's top level as it is written there, under one decorator."""
    (said,) = demo.problems(lambda: demo.body(demo.script(text)))

    place, _, problem = said.partition(": ")
    assert place.startswith("evidence/cache/audit.py:")
    assert (
        "mine: expected a function of the script's top level under one decorator, found another\n"
        "    Write it as `def` with the audit's decorator alone over it."
    ) == problem


def test_a_word_that_was_given_another_meaning():
    """A result runs with the words, the rules and nothing else: what the script binds to their names is not asked."""
    script = demo.FILES[demo.SCRIPT]
    bent = script + "\n\nmost = lambda *values: list(values[0])[0]\n\n\ndef taken(pages, page):\n    return page\n"
    files = {**demo.FILES, demo.SCRIPT: bent}

    assert demo.body() == demo.body(files)


@pytest.mark.parametrize(
    "text", ["import os", "import threading, re", "from time import time", "from . import x", "from site_builder.audits import _Run",
             "from site_builder.audits import run", "from site_builder.readers import Seen", "from site_builder.readers import io",
             "from operator import attrgetter", "from enum import sys", "from string import *", "import site_builder.audits",
             "from site_builder.values import number", "def f():\n    import random"],
)  # fmt: skip
def test_an_import_of_more_than_shapes(text):
    """A script imports its own words, the readers, and what shapes text: no clock, no chance, no system."""
    name = {
        "import os": "os",
        "import threading, re": "threading",
        "from time import time": "time",
        "from . import x": ".",
        "from site_builder.audits import _Run": "_Run of site_builder.audits",
        "from site_builder.audits import run": "run of site_builder.audits",
        "from site_builder.readers import Seen": "Seen of site_builder.readers",
        "from site_builder.readers import io": "io of site_builder.readers",
        "from operator import attrgetter": "attrgetter of operator",
        "from enum import sys": "enum",
        "from string import *": "* of string",
        "import site_builder.audits": "site_builder.audits",
        "from site_builder.values import number": "site_builder.values",
    }.get(text, "random")

    said = demo.problems(lambda: demo.body(demo.script(text)))
    line = _FIRST + text.count("\n")
    assert [
        f"evidence/cache/audit.py:{line}: expected imports that read and shape alone (site_builder.audits, "
        f"site_builder.readers, site_builder.readers.tree, re and their like), found {name}\n    Cite what it would bring in as a source, and read it with a reader."
    ] == said


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["return total(1, 1, 1) * memory"], "sum of literals alone is a number without a lineage: make it an assumption"),
        (["return choose(total(1, 1) == 0, memory, memory)"], "eq of literals alone is a number without a lineage: make it an assumption"),
        (["return memory * (large_page / large_page)"], "div of a value and itself says nothing: compare or combine two things"),
        (["return memory * (1 + 1)"], "int 2 has no lineage: make it an assumption with a reason"),
        (["return table(row('a', x=1 + 1))"], "int 2 has no lineage: make it an assumption with a reason"),
        (["return table(row('a', x=memory == large_page, id=memory))"], "expected cells of names of their own, other than `id`, found x, id"),
        (["return table(row('a', some_x=memory, someX=memory))"], "expected cells of names of their own, other than `id`, found some_x, someX"),
        (["return table(row('a', x=memory), row('a', x=memory))"], "expected an id of its own for each row, found 'a', 'a'"),
        (["return table(row('a/b', x=memory))"], "expected an id of its own for each row, found 'a/b'"),
        (["return table(row('a', x=memory), row('b', x=memory, y=memory))"], "expected the same cells in every row"),
        (["return table(row('a'))"], "expected the same cells in every row"),
        (["return table(row('a', LSE=memory))"], "columns.1.id: String should match pattern"),
        (["return row(x=memory)"], "one row without a key: return a value or a table"),
        (["return memory + page_size"], "Keyed has no lineage: make it an assumption with a reason"),
        (["return page_size.values()"], "expected a value, a row or a table of named rows, found"),
        (["return memory > large_page > memory"], "a value is no Python truth"),
        (["return page_size['9.9.9']"], "nothing stands at '9.9.9'"),
        (["return nowhere"], "nothing is called 'nowhere'"),
        (["return mine"], "mine rests on itself"),
        (["a, b = memory", "return a"], "a value has no members"),
    ],
)  # fmt: skip
def test_a_result_that_can_not_stand(lines, problem):
    """What has no lineage, no meaning or no place of its own ends in one message, with the result's name and line."""
    last = lines[-1].rpartition(" ")[2]
    parameters = "memory, large_page, page_size" + (f", {last}" if last in ("nowhere", "mine") else "")
    said = demo.problems(lambda: demo.body(demo.script(_result(*lines, parameters=parameters))))

    assert 1 == len(said), said
    place, _, rest = said[0].partition(": mine: ")
    assert place.startswith("evidence/cache/audit.py:")
    assert int(place.rpartition(":")[2]) >= _FIRST
    assert rest.startswith(problem) or problem in rest
    assert rest.endswith(f"\n    {_COMPUTE}")


def test_a_row_of_a_list_takes_its_key():
    """A row per key has the key by itself: neither an id nor a cell of that name may say another."""
    for text in ("row('other', x=memory)", "row(cap=memory)"):
        function = f'@audit.result(each="cap")\ndef mine(cap, memory):\n    """Mine."""\n    return {text}\n'
        (said,) = demo.problems(partial(demo.body, demo.script(function)))
        assert "mine: a row of cap takes its key by itself: leave its id and its key out\n" in said


# What proves nothing


def _invariant(line: str, parameters: str = "memory, default_pages, page_size, large_page, reported_peak") -> str:
    return f'@audit.invariant\ndef proved({parameters}):\n    """Proved."""\n    return {line}\n'


def test_a_false_invariant():
    """An invariant that does not hold stops the audit with both of its sides."""
    files = demo.changed("evidence/cache/reported.yaml", '"256"', '"255"')

    line = demo.FILES[demo.SCRIPT].splitlines().index("def report_is_reproduced(memory, reported_peak):")
    assert [
        f"evidence/cache/audit.py:{line}: reportIsReproduced: expected 255 MiB, found 256 MiB (report is reproduced)\n"
        "    Either the evidence moved, and the invariant and every sentence on it must be reread, or it was wrong."
    ] == demo.problems(lambda: demo.body(files))


@pytest.mark.parametrize(
    "line",
    [
        "memory == taken(default_pages, most(page_size.values()))",
        "large_page >= large_page - 1 + 1",
        "least(page_size.values()) <= most(page_size.values())",
        "some(memory == reported_peak, memory != reported_peak)",
        "every(memory * 0 == 0, large_page * 0 == 0)",
    ],
)
def test_an_invariant_that_nothing_can_break(line):
    """An invariant that restates its own computation, or holds whatever was read, stops the audit."""
    assert [
        f"evidence/cache/audit.py:{_FIRST}: proved: expected an input that breaks it, found none: it restates its own computation\n"
        "    Compare two things that were come by separately, or delete it."
    ] == demo.problems(lambda: demo.body(demo.script(_invariant(line))))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("memory == memory", "eq of a value and itself says nothing: compare or combine two things"),
        ("every(memory >= memory, memory == reported_peak)", "ge of a value and itself says nothing: compare or combine two things"),
        ("total(1, 1) > 1", "gt of literals alone is a number without a lineage: make it an assumption"),
        ("memory", "expected a relation that holds or does not, found something else"),
        ("row(x=memory)", "expected a value, a row or a table of named rows, found Row"),
    ],
)  # fmt: skip
def test_an_invariant_that_is_none(line, problem):
    """A value held against itself, literals, and what is no relation are told apart from what nothing can break."""
    (said,) = demo.problems(lambda: demo.body(demo.script(_invariant(line))))

    assert f": proved: {problem}\n    {_COMPUTE}" in said


def test_empty_is_wrong():
    """An audit without invariants, results or a question is none."""
    script = demo.FILES[demo.SCRIPT]
    bare = {**demo.FILES, demo.SCRIPT: script[: script.index("@audit.invariant")]}
    assert [
        "evidence/cache/audit.py: expected results and invariants, found none\n    Empty is wrong."
    ] == demo.problems(lambda: demo.body(bare))
    assert [
        "evidence/cache/audit.py: expected a module-level `audit = Audit(__doc__)`, found none\n    Declare the audit."
    ] == demo.problems(lambda: demo.body({**demo.FILES, demo.SCRIPT: '"""Why?"""\n'}))
    assert [
        "evidence/cache/audit.py:5: the script does not load: ValueRefused: an audit begins with its question, as the script's "
        "docstring\n    Mend the script."
    ] == demo.problems(
        lambda: demo.body(
            {**demo.FILES, demo.SCRIPT: script.replace('"""How much memory does a full page cache take?"""', "")}
        )
    )


# What ends a run


@pytest.mark.parametrize("text", ["exit = 1 / 0", "[][0]", "raise ValueError", "def f():\n    return f()\n\n\nf()"])
def test_a_script_that_fails(text):
    """A script that fails is a problem with its line, and no traceback."""
    (said,) = demo.problems(lambda: demo.body(demo.script(text)))

    place, _, problem = said.partition(": ")
    assert int(place.removeprefix("evidence/cache/audit.py:")) >= _FIRST
    assert problem.startswith("the script does not load: ")


@pytest.mark.parametrize("work", ["sys.exit(0)", "raise SystemExit", "raise BaseException"])
def test_a_tool_that_ends_the_process(work):
    """Neither an audit nor a tool that it tries ends the process, whatever it raises."""
    files = demo.trial(work)

    (said,) = demo.problems(lambda: demo.body(files))
    assert said.startswith("evidence/cache/tools/decider.py:7: tried: ")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('open("x")', "open"), ('eval("1")', "eval"), ('exec("1")', "exec"), ('compile("1", "x", "eval")', "compile"),
        ('hash("x")', "hash"), ("id(1)", "id"), ("globals()", "globals"), ('getattr(1, "real")', "getattr"), ("vars()", "vars"),
        ("input()", "input"), ("breakpoint()", "breakpoint"), ('type("x", (), {})', "type"), ("object()", "object"),
        ("raise SystemExit(0)", "SystemExit"), ("float(1)", "float"), ("print(1)", "print"),
        ('__import__("os")', "__import__"), ("__builtins__", "__builtins__"), ("x = __loader__", "__loader__"),
        ("audit.__class__", ".__class__"), ("().__class__.__base__", ".__base__"), ("audit._entries", "._entries"),
        ("(x for x in ()).gi_frame", ".gi_frame"), ("audit.x.f_globals", ".f_globals"), ("audit.x.tb_frame", ".tb_frame"),
        ("memory.__code__ = memory.__code__", ".__code__"),
        ("match audit:\n    case 1(__globals__=x):\n        pass".replace("1(", "Audit("), ".__globals__"),
        ("def __getattr__(name):\n    return name", "__getattr__"), ("most(__x__=1)", "__x__"), ("import re as __x", "__x"),
        ("def f(__x):\n    return 1", "__x"), ("class X:\n    pass", "the class X"),
        ("def f():\n    return [open for _ in ()]", "open"),
    ],
)  # fmt: skip
def test_what_a_script_does_not_have(line, found):
    """A script has a few of Python's names, and no way to the others: not by attributes, patterns, arguments or classes."""
    said = demo.problems(lambda: demo.body(demo.script(line + "\n")))

    assert said
    assert all(
        item.endswith("\n    Cite what it would bring in as a source, and read it with a reader.") for item in said
    )
    assert found in [item.splitlines()[0].rpartition(", found ")[2] for item in said]
    assert all(int(item.split(":")[1]) >= _FIRST for item in said)


def test_names_that_a_script_binds_itself():
    """A script may give a name of Python's to something of its own, and use what shapes text."""
    files = demo.script(
        'import collections.abc\nimport json as j\nfrom re import sub as substituted\n\nhash = substituted("a", "b", j.dumps("a"))\n'
        "format = hash + str(isinstance([], collections.abc.Sequence))\n\n\ndef _id(input):\n    id = input\n    return id, format\n\n\n"
        "_id(1)\n"
    )

    assert demo.body() == demo.body(files)


def test_a_trial_has_what_its_tool_defines():
    """A trial reaches a tool's own names, and not what the tool imports."""
    files = demo.trial("pass", asked='return tool.sys.modules["os"].environ["HOME"]')

    (found,) = demo.problems(partial(demo.body, files))
    assert ": tried: AttributeError: module 'tool decider' has no attribute 'sys'\n" in found


def test_a_word_that_is_bent():
    """What a script has of a module is there to be read: nothing can be put in its place, or on it."""
    for line in ("re.compile = None", "re.digest = 1"):
        (said,) = demo.problems(partial(demo.body, demo.script(f"import re\n\n{line}\n")))

        name = line.partition(" ")[0].removeprefix("re.")
        assert (
            f"evidence/cache/audit.py:{_FIRST + 2}: the script does not load: AttributeError: expected {name} to be bound to a name "
            "of the script's own, found an assignment to a module's\n    Mend the script."
        ) == said
    assert demo.body() == demo.body(demo.script('import re\n\nre.compile("x")\n'))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('audit.entries["x"] = 1', "TypeError: 'mappingproxy' object does not support item assignment"),
        ("audit.entries.clear()", "AttributeError: 'mappingproxy' object has no attribute 'clear'"),
        ('audit.rules["taken"] = most', "TypeError: 'mappingproxy' object does not support item assignment"),
        ('audit.entries["memory"].needs = ()', "FrozenInstanceError: cannot assign to field 'needs'"),
        ("audit.entries = {}", "AttributeError: property 'entries' of 'Audit' object has no setter"),
        ("audit.limits = 5", "AttributeError: property 'limits' of 'Audit' object has no setter"),
        ("audit.more = 5", "AttributeError: 'Audit' object has no attribute 'more'"),
        ("Audit(5)", "ValueRefused: an audit begins with its question, as the script's docstring"),
        ('Audit("x", limits="one")', "ValueRefused: limits: expected a list of texts, found str 'one'"),
        ('Audit("x", limits=[5])', "ValueRefused: limits: expected a text, found int 5"),
        ("audit.assumption(reason=5)", "ValueRefused: reason: expected a text, found int 5"),
        ('audit.assumption(reason="x", unit=5)', "ValueRefused: unit: expected a text, found int 5"),
        ('audit.assumption(reason="x", axis=[])', "ValueRefused: axis: expected a text, found list []"),
        ('audit.assumption(reason="x", kind="sort")', "ValueRefused: expected a kind of number, word, truth, date, version, digest, text, words, found 'sort'"),
        ("audit.observation(5)", "ValueRefused: source: expected a text, found int 5"),
        ('audit.observation("settings", phrases=5)', "ValueRefused: phrases: expected a list of texts, found int 5"),
        ('audit.observation("settings", phrases={"yes": "x"})', "ValueRefused: phrases: expected a list of texts, found str 'x'"),
        ('audit.result(phrases={"x": {"yes": [5]}})', "ValueRefused: phrases: expected a text, found int 5"),
        ('audit.result(titles={"x": 5})', "ValueRefused: titles: expected a text, found int 5"),
        ("audit.result(titles=5)", "ValueRefused: titles: expected texts by name, found int 5"),
        ("audit.result(title=None)", "ValueRefused: title: expected a text, found NoneType None"),
        ("audit.result()(5)", "ValueRefused: expected a function under the decorator, found int"),
        ("audit.rule(len)", "ValueRefused: expected a function under the decorator, found builtin_function_or_method"),
        ("audit.invariant(lambda: 1)", "ValueRefused: <lambda> has no docstring: its first paragraph is the published statement"),
        ("audit = 5", "expected a module-level `audit = Audit(__doc__)`, found none"),
    ],
)  # fmt: skip
def test_an_audit_that_is_bent(line, said):
    """Whatever a script does to its audit beside declaring ends in one message with its line, never in a traceback."""
    (found,) = demo.problems(lambda: demo.body(demo.script(line + "\n")))

    if line == "audit = 5":
        assert f"evidence/cache/audit.py: {said}\n    Declare the audit." == found
    else:
        assert f"evidence/cache/audit.py:{_FIRST}: the script does not load: {said}\n    Mend the script." == found


@pytest.mark.parametrize(
    "body", [b"def f(:\n", b"\0", b"\xff\xfe", b"(" * 5000, b"x = '\\ud800'\nraise ValueError(x)\n"]
)
def test_bytes_that_are_no_script(body):
    """Whatever the script's bytes are, the end is a message."""
    (said,) = demo.problems(lambda: load(body, "audit.py", frozenset()))

    assert said.startswith("audit.py:")


# What is observed


def test_an_observation_of_another_source():
    """What an observation returns must have been seen in the source that it names: the region is held to its bytes."""
    reading = 'return source.python.constant("PAGE_SIZE")'
    files = demo.changed(demo.SCRIPT, reading, f"_KEPT.append({reading.removeprefix('return ')})\n    return _KEPT[0]")
    files[demo.SCRIPT] += "\n\n_KEPT = []\n"

    assert (
        "evidence/cache/audit.py:50: pageSize@1.1.0: cache@1.1.0: expected a place whose bytes have the digest that was read, "
        "found others at line 3, lastLine 3\n    Look at what changed upstream, and mend the reader."
    ) in demo.problems(lambda: demo.body(files))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("found.value = 1", "FrozenInstanceError: cannot assign to field 'value'\n    Mend the observation."),
        ("return found.value", "expected what a reader saw, found int\n    Look at what changed upstream, and mend the reader."),
    ],
)  # fmt: skip
def test_a_value_that_no_reader_made(line, said):
    """A script can't put a value of its own to a place, unless it says so with `read_as`."""
    reading = 'return source.json("/defaultPages")'
    files = demo.changed(demo.SCRIPT, reading, f'found = source.json("/defaultPages")\n    {line}\n    return found')

    (found,) = demo.problems(lambda: demo.body(files))
    assert f": defaultPages: settings: {said}" in found


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"PAGE_SIZE = 4096", b"PAGES = 4096", "expected one binding of PAGE_SIZE at the top level, found none"),
        (b"PAGE_SIZE = 4096", b"PAGE_SIZE = 4096\nPAGE_SIZE = 8192", "expected one binding of PAGE_SIZE at the top level, found 2 (lines 3, 4)"),
        (b"PAGE_SIZE = 4096", b"PAGE_SIZE = 4096 +\n", "the source does not parse at line 5"),
        (b"PAGE_SIZE = 4096", b"PAGE_SIZE = page()", "line 3 is no literal: page()"),
        (b"PAGE_SIZE = 4096", b"PAGE_SIZE = 'large'", "'large' is no decimal number"),
    ],
)  # fmt: skip
def test_an_observation_that_is_missing_ambiguous_or_unparseable(old, new, problem):
    """A reader that finds nothing, more than one place, or what can't be read stops the audit and says what was there."""
    bodies = {**demo.BYTES, "cache@1.1.0": demo.BYTES["cache@1.1.0"].replace(old, new)}

    said = [
        item
        for item in demo.problems(lambda: demo.body(bodies=bodies, locked=demo.lock(bodies=bodies)))
        if "pageSize" in item
    ]
    assert [problem] == [problem for item in said if problem in item], said
    assert said[0].startswith("evidence/cache/audit.py:50: pageSize@1.1.0: cache@1.1.0: ")


def test_an_absence_whose_control_finds_nothing():
    """A search that finds nothing where there is something proves nothing."""
    files = demo.changed("evidence/cache/fixtures/limits.py", '"BYTES_LIMIT"', "0")
    limits = files["evidence/cache/fixtures/limits.py"].encode()

    bodies = {**demo.BYTES, "limits": limits}
    said = demo.problems(lambda: demo.body(files, bodies=bodies, locked=demo.lock(files, bodies)))
    assert (
        "evidence/cache/audit.py:68: noLimit@1.0.0: cache@1.0.0: the control limits has none either: the search proves nothing\n"
        "    Look at what changed upstream, and mend the reader."
    ) in said


def test_an_absence_that_is_none():
    """Where the search finds something, the absence says no, with the phrases that the audit gives it."""
    bodies = {**demo.BYTES, "cache@1.1.0": demo.BYTES["cache@1.1.0"] + b'X = "BYTES_LIMIT"\n'}
    body = demo.body(bodies=bodies, locked=demo.lock(bodies=bodies))

    assert ["yes", "no", "yes"] == [item.value for item in body.absences]
    assert {"yes": ("no limit in bytes",)} == body.absences[0].phrases


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"integrity": "stated"}, "cache@1.1.0 obtained (immutable, stated)"),
        ({"integrity": "prefix"}, "cache@1.1.0 obtained (immutable, prefix)"),
        ({"standing": "recorded", "recorded_by": "others"}, "cache@1.1.0 recorded (immutable, record)"),
        ({"mutability": "mutable"}, "cache@1.1.0 obtained (mutable, record)"),
    ],
)
def test_an_observation_on_bytes_that_bear_nothing(changes, found):
    """No verdict rests on bytes that were stated, read in part, only recorded, or that can move."""
    made = demo.inputs()
    held = verification.snapshot_gate(made, ["cache"])["cache"]
    entries = [entry.model_copy(update=changes) if entry.id == "cache@1.1.0" else entry for entry in held.lock.entries]
    held = replace(held, lock=held.lock.model_copy(update={"entries": tuple(entries)}))

    assert (
        f"evidence/cache/audit.py:50: pageSize@1.1.0: expected bytes that were obtained and can't move, found {found}\n"
        "    Observe what was read; cite what others stated as reported."
    ) in demo.problems(lambda: verification.computed(made.audits["cache"], held, {}))


@pytest.mark.parametrize("name", ["memory", "limit", "pageSize", "signals", "kB", "h", "opaque", "counts", "1"])
def test_a_name_that_means_something_else(name):
    """An id that is a unit, a word of the expressions or another value's name is refused wherever it is written."""
    entry = f"  - {{id: {name}, value: '1', unit: page, by: x, how: y, statement: z}}\n"
    files = {**demo.FILES, "evidence/cache/reported.yaml": demo.FILES["evidence/cache/reported.yaml"] + entry}

    where = "tables/signals.yaml" if name == "signals" else "reported.yaml"
    assert [
        f"evidence/cache/{where}: expected a name that is no unit and stands for nothing else, found {name}\n    Rename it."
    ] == demo.problems(lambda: demo.body(files))


def test_a_column_that_is_named_as_a_unit():
    """A column's id stands in its row's expressions, where a unit means something else."""
    function = '@audit.result(each="cap")\ndef mine(cap, memory):\n    """Mine."""\n    return row(s=memory)\n'
    (said,) = demo.problems(lambda: demo.body(demo.script(function)))

    assert "mine: expected a column that is no unit, found s\n" in said
