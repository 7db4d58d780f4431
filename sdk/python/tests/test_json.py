"""What the reader refuses and keeps, where it points, and what the writer writes."""

import copy
import math
import pickle
import unittest
from decimal import Decimal

from envoi import json


def refused(document: "str | bytes") -> json.JsonError:
    try:
        value = json.loads(document)
    except json.JsonError as error:
        return error
    raise AssertionError(f"{document!r} was read as {value!r}")


class Reading(unittest.TestCase):
    def test_tokens_order_and_strings_survive(self) -> None:
        for text in (
            '{"z":123456789012345678901234567890,"a":1.00,"m":1e400,"n":-0,"o":9007199254740993,"p":-0.0E+05}',
            '["é","\U0001f600","\\u0000\\u001f","\\b\\f\\n\\r\\t","\\"\\\\/",""]',
            '{"":null,"a":[true,false,{}],"b":[]}',
            "0",
            '"\x7f\u2028"',
            "-" + "9" * 3999,
            "8" * 4001,
            "1" * 100_000 + ".5e-7",
            "[1e-400,1.0,1e16,1e+16,0.1,5e-324,1E5,-0.0,-1e1000000000000000000000]",
        ):
            value = json.loads(text)
            self.assertEqual(json.dumps(value, compact=True), text)
            self.assertEqual(json.dumps(json.loads(json.dumps(value)), compact=True), text)

    def test_numbers_are_ordinary_numbers(self) -> None:
        whole, money, negative_zero, big, far = json.loads("[4, 1.50, -0, 9007199254740993, 1e400]")
        self.assertEqual((type(whole), whole), (int, 4))
        self.assertEqual((money, money * 2, type(money * 2)), (1.5, 3.0, float))
        self.assertEqual((negative_zero, big + 1, far), (0, 9007199254740994, math.inf))

    def test_copies_of_numbers_keep_their_text(self) -> None:
        value = json.loads('{"a":[1.00,-0,1e400]}')
        for copied in (copy.deepcopy(value), copy.copy(value), pickle.loads(pickle.dumps(value))):
            self.assertEqual(json.dumps(copied, compact=True), '{"a":[1.00,-0,1e400]}')

    def test_each_refusal_names_its_place(self) -> None:
        rows = (
            ("", 1, 1, "", "a value"),
            ("\ufeff{}", 1, 1, "", "JSON without a byte order mark"),
            ("{} {}", 1, 4, "", "the end of the document"),
            ("[1,]", 1, 4, "/1", "a value"),
            ('{"a":1,}', 1, 8, "", "a member name in quotes"),
            ('{"é":1, "é":2}', 1, 9, "/é", "each member name once"),
            ('{\n "a/b": {"~": nul}}', 2, 15, "/a~1b/~0", "a value"),
            ("NaN", 1, 1, "", "a value"),
            ("-Infinity", 1, 1, "", "a number"),
            ("nullx", 1, 1, "", "a value"),
            ('["\\uD800"]', 1, 3, "/0", "a whole surrogate pair"),
            ('["\\uDC00\\uD800"]', 1, 3, "/0", "a whole surrogate pair"),
            ('["\\uDC00\\uDC00"]', 1, 3, "/0", "a whole surrogate pair"),
            ('["\\uD800\\u0041"]', 1, 3, "/0", "a whole surrogate pair"),
            ('"\\u12g4"', 1, 2, "", "four hexadecimal digits"),
            ('"\\x"', 1, 2, "", "an escape that JSON knows"),
            ('"a\x01"', 1, 3, "", "the rest of a string (control characters are escaped)"),
            ('"a', 1, 3, "", "the rest of a string (control characters are escaped)"),
            ("[1 2]", 1, 4, "", "`,` or `]`"),
            ('{"a" 1}', 1, 6, "", "`:`"),
            ("\xa01", 1, 1, "", "a value"),
            ('"\ud800"', 1, 2, "", "UTF-8 text"),
            (b'["\xc3\xa9", "\xff"]', 1, 8, "", "UTF-8 text"),
            (b'"\xed\xa0\x80"', 1, 2, "", "UTF-8 text"),
        )
        for document, line, column, pointer, expected in rows:
            with self.subTest(document=document):
                error = refused(document)
                self.assertEqual((error.line, error.column, error.pointer, error.expected), (line, column, pointer, expected))

    def test_numbers_that_json_does_not_know_are_refused(self) -> None:
        for text in "01 -01 +1 .5 1. 1e 1e+ - 1.e1 0x1 1_000 1.2.3 --1 1-1 1e1.5 ١".split():
            refused(text)
            self.assertFalse(json.is_number(text), text)

    def test_nesting_ends_at_127(self) -> None:
        json.loads("[" * 127 + "]" * 127)
        for text in ("[" * 128 + "]" * 128, '[{"a":' * 100_000):
            self.assertEqual(refused(text).expected, "at most 127 levels of nesting")

    def test_a_document_past_16_mib_is_refused_never_cut(self) -> None:
        filler = "x" * (json.MAX_BYTES - 2)
        self.assertEqual(len(json.loads(f'"{filler}"')), json.MAX_BYTES - 2)
        for document in (f'"{filler}x"', f'"{filler[1:]}é"', f'"{filler}x"'.encode()):
            self.assertEqual(refused(document).expected, "a document of at most 16 MiB")

    def test_duplicates_are_found_in_wide_objects_too(self) -> None:
        members = ",".join(f'"n{index}":{index}' for index in range(20_000))
        self.assertEqual(len(json.loads(f"{{{members}}}")), 20_000)
        error = refused(f'{{{members},\n"n7":0}}')
        self.assertEqual((error.pointer, error.line, error.column), ("/n7", 2, 1))

    def test_values_are_found_again_for_errors(self) -> None:
        text = '{\n  "a": [1, {"b/c": "x"}],\n  "é": 2}'
        rows = {"": (1, 1), "/a": (2, 8), "/a/1": (2, 12), "/a/1/b~1c": (2, 20), "/é": (3, 8), "/a/2": None, "/b": None, "/a/x": None}
        for pointer, place in rows.items():
            self.assertEqual(json.locate(text, pointer), place, pointer)


class Values(unittest.TestCase):
    def test_counts_are_read_by_value_within_53_bits(self) -> None:
        rows = {
            "0": 0, "-0": 0, "0e999999999999999999999": 0, "4096": 4096, "4096.0": 4096, "4.096e3": 4096, "40960E-1": 4096,
            "1e15": 10**15, "9007199254740991": 2**53 - 1, "9007199254740991.000": 2**53 - 1, "9007199254740992": None, "9007199254740992.0": None,
            "9007199254740990.5": None, "1e16": None, "1e400": None, "1e99999999999999999999": None, "-1": None, "1.5": None,
            "1e-1": None, "1e-99999999999999999999": None, "18446744073709551616": None,
        }  # fmt: skip
        for token, count in rows.items():
            self.assertEqual(json.as_count(json.loads(token)), count, token)
        self.assertEqual([json.as_count(each) for each in (True, None, "1", 4096.0, math.nan)], [None, None, None, 4096, None])

    def test_a_fraction_of_one_is_judged_by_value(self) -> None:
        rows = {
            "0": True, "0.9": True, "1": True, "1.000": True, "10e-1": True, "0.1e1": True, "-0": True, "1.01": False,
            "1.0000000000000000000000001": False, "2": False, "-0.1": False, "1e1": False, "1e-400": True, "1e400": False,
        }  # fmt: skip
        for token, fraction in rows.items():
            self.assertEqual(json.is_fraction_of_one(json.loads(token)), fraction, token)


class Writing(unittest.TestCase):
    def test_escapes_are_minimal(self) -> None:
        value = json.loads(' "\\u00e9\\uD83D\\uDE00\\/\\u0041\\u007f\\u001F" ')
        self.assertEqual(json.dumps(value, compact=True), '"é\U0001f600/A\x7f\\u001f"')

    def test_pretty_is_two_spaces_and_one_newline(self) -> None:
        value = json.loads('{"a":[1,{"b":{}}],"c":[]}')
        written = '{\n  "a": [\n    1,\n    {\n      "b": {}\n    }\n  ],\n  "c": []\n}\n'
        self.assertEqual(json.dumps(value), written)
        self.assertEqual((json.dumps(None), json.dumps([]), json.dumps({})), ("null\n", "[]\n", "{}\n"))

    def test_integers_of_any_size_are_written_whole(self) -> None:
        for number in (10**5000 + 7, -(10**600), 10**600 - 1):
            text = json.dumps(number, compact=True)
            self.assertEqual(Decimal(text), number)
        self.assertEqual(json.dumps(Decimal("1.10"), compact=True), "1.10")

    def test_what_json_cannot_say_is_refused_with_its_place(self) -> None:
        nested: list = []
        nested.append(nested)
        deepest = "/0" * 127
        for value, pointer in (
            ({"a": [math.nan]}, "/a/0"),
            ({"a": [-math.inf]}, "/a/0"),
            ({"a": Decimal("NaN")}, "/a"),
            ({"a": {1: 2}}, "/a"),
            ({"a/b": object()}, "/a~1b"),
            (["\ud800"], "/0"),
            ({"\udfff": 1}, ""),
            ([b"x"], "/0"),
            (nested, deepest),
        ):
            with self.assertRaises(json.JsonError) as caught:
                json.dumps(value)
            self.assertEqual(caught.exception.pointer, pointer)


if __name__ == "__main__":
    unittest.main()
