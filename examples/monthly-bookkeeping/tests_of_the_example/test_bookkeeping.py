"""The steps of the example, without an engine."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE.parent.parent / "sdk" / "python" / "src")]

import envoi  # noqa: E402

import close_month  # noqa: E402
import summarize_transactions  # noqa: E402

HEAD = "date,account,category,amount,note\n"


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def run_step(self, work, *arguments):
        """What the step reported."""
        environ = {"PATH": os.environ["PATH"], "ENVOI_REPORT": f"{work.__module__}.json"}
        with mock.patch.dict(os.environ, environ, clear=True), contextlib.redirect_stdout(io.StringIO()):
            work(*map(str, arguments))
        return envoi.read_skill_report(f"{work.__module__}.json")

    def test_a_month_is_summed_up_by_category(self):
        report = self.run_step(summarize_transactions.main, HERE / "ledger.csv", "2026-10")
        self.assertEqual((report.data["income"], report.data["expenses"], report.data["net"]), ("1560.50", "-1054.30", "506.20"))
        self.assertEqual(report.data["categories"]["sales"], "1560.50")
        self.assertEqual(report.metrics["transactions"], 6)
        self.assertIn("| **net** | **506.20** |", Path("books/2026-10.md").read_text(encoding="utf-8"))

    def test_a_ledger_with_a_mistake_is_a_failure_that_names_the_line(self):
        rows = {
            "": "the columns are",
            HEAD + "2026-10-01,bank,sales,1.00,\n2026-10-32,bank,sales,1.00,\n": "line 3: `2026-10-32` is no date",
            HEAD + '2026-10-01,bank,sales,"1,00",\n': "line 2: `1,00` is no amount",
            HEAD + "2026-10-01,bank,sales\n": "line 2: not 5 values",
        }
        for text, words in rows.items():
            Path("ledger.csv").write_text(text)
            report = self.run_step(summarize_transactions.main, "ledger.csv", "2026-10")
            self.assertEqual((report.ok, report.error["code"]), (False, "LEDGER_INVALID"))
            self.assertIn(words, report.error["message"])
        Path("ledger.csv").write_text(HEAD)
        report = self.run_step(summarize_transactions.main, "ledger.csv", "2026-10")
        self.assertEqual(report.error["code"], "EMPTY_MONTH")

    def test_a_month_is_closed_once(self):
        Path("books").mkdir()
        for _ in range(2):
            self.assertTrue(self.run_step(close_month.main, "2026-10", "506.20").ok)
        self.assertTrue(self.run_step(close_month.main, "2026-11", "99.00").ok)
        self.assertEqual(self.run_step(close_month.main, "2026-10", "1.00").error["code"], "CLOSED_OTHERWISE")
        self.assertEqual(Path("books/closed.csv").read_text(), "month,net\n2026-10,506.20\n2026-11,99.00\n")


if __name__ == "__main__":
    unittest.main()
