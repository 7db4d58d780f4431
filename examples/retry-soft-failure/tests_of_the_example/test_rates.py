import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path

import fetch_rates
import prices


class Rates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def attempt(self):
        with contextlib.redirect_stdout(io.StringIO()):
            fetch_rates.main("reports/report.json")
        return json.loads(Path("reports/report.json").read_text())

    def test_the_first_two_fail_softly_and_the_third_answers(self):
        self.assertEqual([self.attempt()["ok"] for _ in range(6)], [False, False, True] * 2)

    def test_a_failure_says_why(self):
        report = self.attempt()
        self.assertEqual(list(report), ["ok", "generatedAt", "skillName", "data", "error"])
        self.assertEqual(report["error"]["code"], "UPSTREAM_THROTTLED")
        self.assertIsNone(report["data"])

    def test_an_answer_carries_the_rates_as_they_came(self):
        for _ in range(3):
            report = self.attempt()
        self.assertNotIn("error", report)
        self.assertEqual(report["data"]["rates"]["CHF"], "0.9400")

    def test_an_answer_of_another_shape_is_no_answer(self):
        self.assertFalse(fetch_rates.judge({})["ok"])


class Prices(unittest.TestCase):
    def test_to_the_nearest_cent(self):
        self.assertIn("Green tea       4.65 CHF\n", prices.price_list("CHF", "0.9400"))
        self.assertIn("Mug             0.42 XXX\n", prices.price_list("XXX", "0.05"))
