"""The search for quoted hand-offs: how much of a text it reads. What it finds is in the vectors."""

import unittest
from typing import Tuple

from envoi.routing.handoff import Finder

NAMES = '"flow_key" "routing_signal" '
HANDOFF = '{"step_id":"a","flow_key":"b","run_id":"c","routing_signal":{"decision":"advance"},"summary":"d"}'


def search(text: str) -> Tuple[int, int]:
    """How many hand-offs a search line by line finds, and how many scalars it reads."""
    finder = Finder(text)
    found = start = 0
    while start <= len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        handoff = finder.first(start, end)
        found += handoff is not None
        start = end + 1 if handoff is None else handoff[1]
    return found, finder.scalars_read


class Work(unittest.TestCase):
    def test_a_search_reads_each_scalar_a_few_times_whatever_the_text(self) -> None:
        level = '{"a":'
        rows = {
            "nested": level * 100 + "1" + "}" * 100,
            "nested and open": level * 126 + "[" + "1," * 50_000,
            "nested too deep": level * 20_000,
            "one line each, open": '{"a":\n' * 100 + "[1],\n" * 20_000,
            "a long string": level * 120 + '"' + "x" * 100_000,
            "braces in strings": '{"a {":[' * 10_000,
            "lists before a brace in a string": ('{"a {":' + "[1]," * 5_000) * 10,
            "many objects": '{"a": 1}\n' * 10_000,
        }
        for name, row in rows.items():
            text = NAMES + row
            found, read = search(text)
            self.assertEqual(found, 0, name)
            self.assertLessEqual(read, 3 * len(text), name)

    def test_all_handoffs_in_one_object_are_found_in_one_reading(self) -> None:
        text = '{"a":[' + ",\n".join([HANDOFF] * 500) + "]}"
        self.assertEqual(search(text), (500, len(text)))
