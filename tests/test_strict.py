"""Strict JSON and YAML: nothing is guessed, every refusal names its line, what is written is read again."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from site_builder import strict


def refusal(load: Callable[[bytes, str], Any], text: bytes) -> str:
    """Return the words of the loader's error, which always has a remedy."""
    with pytest.raises(strict.LoadError) as caught:
        load(text, "demo")
    assert caught.value.remedy
    return str(caught.value)


def test_json_numbers_keep_their_digits() -> None:
    """An integer is an int, anything with a point or an exponent a Decimal, never a float."""
    text = b'{"a": 3.10, "b": 7, "c": 1e3, "d": [true, null], "e": 1000000000000000019884624838656}'

    value = strict.load_json(text, "demo")

    assert {
        "a": Decimal("3.10"),
        "b": 7,
        "c": Decimal("1e3"),
        "d": [True, None],
        "e": 1000000000000000019884624838656,
    } == value
    assert "3.10" == str(value["a"])
    assert int is type(value["b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1,\n "b": 2, "a": 3}', "demo:2:10: the key 'a' stands twice in one object"),
        (b'{"a": {"x": 1,\n"\\u0078": 2}}', "demo:2:1: the key 'x' stands twice in one object"),
        (b"[1,\n NaN]", "demo:2:2: NaN is not JSON"),
        (b"[-Infinity]", "demo:1:2: -Infinity is not JSON"),
        (b"[1e400, 1e401]", "demo:1:9: a number has too many digits or too large an exponent"),
        (b"[" + b"9" * 65 + b"]", "demo:1:2: a number has too many digits or too large an exponent"),
        (b"[01]", "demo:1:2: expected a value, found '0'"),
        (b"[1.]", "demo:1:2: expected a value, found '1'"),
        (b"[1, ]", "demo:1:5: expected a value, found ']'"),
        (b'{"a": 1,}', "demo:1:9: expected a key in double quotes, found '}'"),
        (b"{'a': 1}", 'demo:1:2: expected a key in double quotes, found "\'"'),
        (b'{"a" 1}', "demo:1:6: expected a colon, found '1'"),
        (b"[1\n2]", "demo:2:1: expected a comma or ']', found '2'"),
        (b"[1", "demo:1:3: expected a comma or ']', found the end of the text"),
        (b"", "demo:1:1: expected a value, found the end of the text"),
        (b"1 2", "demo:1:3: expected the end of the text, found '2'"),
        (b'["a\nb"]', "demo:1:2: a string is not closed, or holds a bad escape or a control character"),
        (b'["\\x41"]', "demo:1:2: a string is not closed, or holds a bad escape or a control character"),
        (b'["\\ud800"]', "demo:1:2: a string holds half of a surrogate pair"),
        (b'{"\\udc00": 1}', "demo:1:2: a string holds half of a surrogate pair"),
        (b"\xef\xbb\xbf{}", "demo:1:1: begins with a byte-order mark"),
        (b'{"a":\n"\xff"}', "demo:2:2: expected UTF-8, found the byte 0xff"),
        ('{"a": 1}'.encode("utf-16"), "demo:1:1: expected UTF-8, found the byte 0xff"),
        (b"[" * 65 + b"]" * 65, "demo:1:65: expected at most 64 levels, found more"),
        (b"[" * 200_000, "demo:1:65: expected at most 64 levels, found more"),
        (
            b'"\\' * 500_000,
            "demo:1:1: a string is not closed, or holds a bad escape or a control character",
        ),
        (b" " * (8 * 1024 * 1024 + 1), "demo: expected at most 8388608 bytes, found 8388609"),
    ],
)
def test_json_that_others_let_pass(text: bytes, message: str) -> None:
    """What has no single meaning is refused with its line and column."""
    assert message == refusal(strict.load_json, text)
    assert message == refusal(strict.load_json_lines, text)


def test_json_at_the_limit_is_read() -> None:
    """The limits are the last values that pass."""
    deepest = strict.load_json(b"[" * 64 + b"]" * 64, "demo")

    assert [] != deepest
    assert Decimal("1e400") == strict.load_json(b"1e400", "demo")
    assert "😀" == strict.load_json(b'"\\ud83d\\ude00"', "demo")


def test_json_lines_of_paths() -> None:
    """A member's line is its key's, an item's line is where it begins."""
    text = b'{\n "sources": [\n  {"id": "a"},\n  {\n   "id": "b"}\n ]\n}\n'

    value, lines = strict.load_json_lines(text, "demo")

    assert {"sources": [{"id": "a"}, {"id": "b"}]} == value
    assert {
        (): 1,
        ("sources",): 2,
        ("sources", 0): 3,
        ("sources", 0, "id"): 3,
        ("sources", 1): 4,
        ("sources", 1, "id"): 5,
    } == lines


words = st.text(st.characters(codec="utf-8"), max_size=8)
json_values = st.recursive(
    st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)


@given(json_values)
def test_what_is_written_is_read_again(value: Any) -> None:
    """What `dump_json` writes, both readers of JSON load as the same value."""
    written = strict.dump_json(value)

    assert value == strict.load_json(written, "demo")
    assert value == strict.load_json_lines(written, "demo")[0]


@settings(max_examples=300)
@given(
    st.one_of(
        st.binary(max_size=40),
        st.text(st.sampled_from('{}[]",:\\ \n0123456789.eE+-truefalsnNaIity'), max_size=40).map(str.encode),
    )
)
def test_both_readers_of_json_agree(text: bytes) -> None:
    """The fast reader and the exact one load the same texts and refuse the same texts."""
    answers = []
    for load in (strict.load_json, lambda *given: strict.load_json_lines(*given)[0]):
        try:
            answers.append(repr(load(text, "demo")))
        except strict.LoadError as error:
            answers.append(str(error))

    assert answers[0] == answers[1]


def test_yaml_scalars_stay_words() -> None:
    """No scalar is turned into a number, a truth, a date or a null."""
    text = b"v: 3.10\ncommit: 0123456\nat: 12:30:45\nno: NO\non: ~\nempty:\nday: 2026-01-02\nquoted: '1'\n"

    assert {
        "v": "3.10",
        "commit": "0123456",
        "at": "12:30:45",
        "no": "NO",
        "on": "~",
        "empty": "",
        "day": "2026-01-02",
        "quoted": "1",
    } == strict.load_yaml(text, "demo")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: 1\nb: 2\na: 3\n", "demo:3:1: the key 'a' stands twice"),
        (b"x: {a: 1, a: 2}\n", "demo:1:11: the key 'a' stands twice"),
        (b"a: &x 1\n", "demo:1:4: an anchor (&) is not allowed"),
        (b"a: 1\nb: *x\n", "demo:2:4: an alias (*) is not allowed"),
        (b"&x a: 1\n", "demo:1:1: an anchor (&) is not allowed"),
        (b"*x : 1\n", "demo:1:1: an alias (*) is not allowed"),
        (b"a: !!int 1\n", "demo:1:4: a tag (!) is not allowed"),
        (b"a: !!python/object/apply:os.system [true]\n", "demo:1:4: a tag (!) is not allowed"),
        (b"!x a: 1\n", "demo:1:1: a tag (!) is not allowed"),
        (b"a:\n  <<: {b: 1}\n", "demo:2:3: a merge key (<<) is not allowed"),
        (b"? [a, b]\n: 1\n", "demo:1:3: expected a word as key, found a list or a mapping"),
        (b"a: 1\n---\nb: 2\n", "demo:2:1: expected one document, found another"),
        (b"%YAML 1.1\n---\na: 1\n", "demo:1:1: a directive (%YAML, %TAG) is not allowed"),
        (b"# only words\n", "demo:1:1: expected a value, found an empty text"),
        (b"", "demo:1:1: expected a value, found an empty text"),
        (
            b"a: [1\nb: 2\n",
            "demo:2:2: not YAML: while parsing a flow sequence, expected ',' or ']', but got ':'",
        ),
        (
            b"a: 1\n\tb: 2\n",
            "demo:2:1: not YAML: while scanning for the next token, found character '\\t' that cannot start any token",
        ),
        (b"a: \x07\n", "demo:1:4: the character U+0007 is not allowed in YAML"),
        ("a: 1 # x\x85b: 2\n".encode(), "demo:1:9: a line ends in something other than a line feed"),
        ("a: 'x\u2028y'\n".encode(), "demo:1:6: a line ends in something other than a line feed"),
        (b"a: 1\rb: 2\n", "demo:1:5: a line ends in something other than a line feed"),
        (b"\xef\xbb\xbfa: 1\n", "demo:1:1: begins with a byte-order mark"),
        (b"a: 1\nb: \xc3\x28\n", "demo:2:4: expected UTF-8, found the byte 0xc3"),
        (b"[" * 33 + b"]" * 33, "demo:1:33: expected at most 32 levels, found more"),
        (b"[" * 200_000, "demo:1:33: expected at most 32 levels, found more"),
        (b"- " * 100_000, "demo:1:65: expected at most 32 levels, found more"),
        (b"#" * (256 * 1024 + 1), "demo: expected at most 262144 bytes, found 262145"),
    ],
)
def test_yaml_that_others_let_pass(text: bytes, message: str) -> None:
    """What YAML would share, resolve, overwrite or end early is refused with its line and column."""
    assert message == refusal(strict.load_yaml, text)


def test_yaml_key_in_quotes_is_no_merge_key() -> None:
    """Only the bare `<<` merges."""
    assert {"<<": "1"} == strict.load_yaml(b"'<<': 1\n", "demo")


def test_yaml_lines_of_paths() -> None:
    """A member's line is its key's, an item's its own, also in a file with CRLF and behind an offset."""
    text = b"# words\r\nsources:\r\n  - id: a\r\n  -\r\n    id: b\r\n"

    value, lines = strict.load_yaml_lines(text, "demo", first_line=10)

    assert {"sources": [{"id": "a"}, {"id": "b"}]} == value
    assert 11 == lines[("sources",)]
    assert 12 == lines[("sources", 0, "id")]
    assert 14 == lines[("sources", 1, "id")]


def test_yaml_refusal_behind_an_offset() -> None:
    """Front matter that begins on the file's second line is reported by the file's lines."""
    with pytest.raises(strict.LoadError) as caught:
        strict.load_yaml(b"a: 1\na: 2\n", "guide.md", first_line=2)

    assert "guide.md:3" == caught.value.place
    assert (3, 1) == (caught.value.line, caught.value.column)


@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(st.sampled_from("ab:-[]{}&*!|>'\"%#?,\n \t<~0"), max_size=60).map(str.encode),
    )
)
def test_yaml_of_any_bytes(text: bytes) -> None:
    """Any bytes are a value of strings, lists and mappings or a refusal, and never another error."""
    try:
        value = strict.load_yaml(text, "demo")
    except strict.LoadError:
        return

    assert only_words(value)


def only_words(value: Any) -> bool:
    """Tell whether a value is made of strings, lists and mappings alone."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and only_words(item) for key, item in value.items())
    return all(map(only_words, value)) if isinstance(value, list) else isinstance(value, str)


def test_json_is_written_in_one_way() -> None:
    """One space of indent, the keys' own order, no escapes beyond JSON's, one line feed at the end."""
    written = '{\n "b": [\n  1,\n  true\n ],\n "a": "ü\\n",\n "e": {},\n "f": []\n}\n'

    assert written.encode() == strict.dump_json({"b": (1, True), "a": "ü\n", "e": {}, "f": []})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1.5]}, "/a/0: a float has no place in our JSON"),
        ({"a": None}, "/a: a NoneType has no place in our JSON"),
        ({"a": Decimal("1")}, "/a: a Decimal has no place in our JSON"),
        ({"a": {1: "x"}}, "/a: the key 1 is not a string"),
        ({"a": {"x"}}, "/a: a set has no place in our JSON"),
        (b"a", "/: a bytes has no place in our JSON"),
        ("\ud800", "/: half of a surrogate pair"),
        ({"\ud800": 1}, "/: half of a surrogate pair in a key"),
        (2**53, "/: 9007199254740992 is beyond 2^53-1; write it as a string"),
    ],
)
def test_what_has_no_place_in_our_json(value: Any, message: str) -> None:
    """What JSON cannot say exactly is refused with its pointer, and nothing is written."""
    with pytest.raises(strict.UnwritableError) as caught:
        strict.dump_json(value)

    assert message == str(caught.value)


def test_json_too_deep_to_be_read_is_not_written() -> None:
    """What we write we can read: nesting ends where reading ends."""
    value: Any = 1
    for _ in range(64):
        value = [value]

    assert value == strict.load_json(strict.dump_json(value), "demo")
    with pytest.raises(strict.UnwritableError):
        strict.dump_json([value])


@settings(max_examples=300)
@given(json_values)
def test_canonical_json_is_that_of_its_reference(value: Any) -> None:
    """What the encoder in C writes is what the implementation of RFC 8785 writes, whatever stands in it."""
    assert rfc8785.dumps(value) == strict.canonical_json(value)


def test_canonical_json_sorts_by_utf_16() -> None:
    """The canonical form is that of RFC 8785: keys stand by their UTF-16 units; nulls pass, floats do not."""
    value = {"\ue000": 1, "\U0001f600": 2, "a": None, "b": (True,)}

    assert '{"a":null,"b":[true],"\U0001f600":2,"\ue000":1}'.encode() == strict.canonical_json(value)
    with pytest.raises(strict.UnwritableError):
        strict.canonical_json({"a": 1.0})
