import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path

import bug_report
import desk
import triage

REPORTS = Path(__file__).resolve().parent.parent / "reports"
COMPLETE = "Title\n\nVersion: 1.2\n\n1. One\n2. Two\n"


def report(text):
    return bug_report.BugReport("r", text.splitlines()[0], text)


def said(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        function(*arguments)
    return out.getvalue()


class Triage(unittest.TestCase):
    def test_each_sample_goes_its_own_way(self):
        for name, step in (("checkout-crash", "hotfix"), ("typo", "backlog"), ("vague", "needs-info")):
            with self.subTest(name):
                self.assertEqual(triage.decide(bug_report.read(REPORTS / f"{name}.txt"))[0], step)

    def test_rules(self):
        for text, step in (
            (COMPLETE, "backlog"),
            (COMPLETE.replace("Version: 1.2\n", ""), "needs-info"),
            (COMPLETE.replace("Version: 1.2", "Version:"), "needs-info"),
            (COMPLETE.replace("2. Two\n", ""), "needs-info"),
            (COMPLETE + "Severity: Critical\n", "hotfix"),
            (COMPLETE + "Severity: minor\n", "backlog"),
            (COMPLETE + "I was charged twice.\n", "hotfix"),
            (COMPLETE + "The crasher was fine.\n", "backlog"),
        ):
            with self.subTest(text):
                self.assertEqual(triage.decide(report(text))[0], step)

    def test_only_the_last_line_is_a_hint_that_counts(self):
        lines = said(triage.main, str(REPORTS / "vague.txt")).splitlines()
        self.assertEqual(lines[-1], "Go to step 'needs-info'")
        hints = [line for line in lines if "Go to step" in line and not line.startswith(">")]
        self.assertEqual(len(hints), 1)


class Desk(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_a_report_is_put_on_its_pile_and_recorded_once(self):
        for _ in range(2):
            said(desk.main, "backlog", str(REPORTS / "typo.txt"))
            said(desk.main, "record", str(REPORTS / "typo.txt"))
        self.assertIn("Monday", Path("desk/backlog/typo.md").read_text())
        self.assertEqual(Path("desk/journal.txt").read_text(), "typo: backlog\n")
