import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path

import behaviour
import findings
import judge
import revise
import security
import style


class Reviewers(unittest.TestCase):
    def test_each_names_file_line_and_finding(self):
        self.assertEqual(style.review("a.py", "x\n\ty\n"), ["a.py:2: a tab"])
        self.assertEqual(security.review("a.py", "eval(x)\n"), ["a.py:1: `eval` runs whatever it reads"])
        self.assertEqual(behaviour.review("-12"), ["totals.py:5: the total is -12, not 12"])

    def test_nothing_is_found_where_nothing_is_wrong(self):
        self.assertEqual(style.review("a.py", "    x\n"), [])
        self.assertEqual(security.review("a.py", "ast.literal_eval(x)\n"), [])
        self.assertEqual(behaviour.review("12"), [])


class Rounds(unittest.TestCase):
    def setUp(self):
        self.before = os.getcwd()
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir(self.before)
        self.folder.cleanup()

    def test_a_finding_is_repaired_where_it_is(self):
        revise.CHANGE.mkdir()
        (revise.CHANGE / "a.py").write_text("x\n\ty\n")
        self.assertEqual(revise.revise("a.py:2: a tab\nno place\n"), 1)
        self.assertEqual((revise.CHANGE / "a.py").read_text(), "x\n    y\n")

    def judged(self, *statuses):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return judge.main(statuses)

    def test_the_judge_wants_another_round_for_any_finding(self):
        findings.FOLDER.mkdir()
        Path("findings/style.txt").write_text("")
        self.assertEqual(self.judged("succeeded"), 0)
        self.assertEqual(self.judged("failed", "succeeded"), 2)
        Path("findings/security.txt").write_text("a.py:1: x\n")
        self.assertEqual(self.judged("failed", "succeeded"), 1)


if __name__ == "__main__":
    unittest.main()
