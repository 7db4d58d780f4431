"""The steps by themselves; examples/check.sh runs the whole flow on every way."""

import contextlib
import os
import tempfile
import unittest
from pathlib import Path

import draft
import publish
import withdraw

CHANGES = [("add", "mail"), ("fix", "rounding"), ("remove", "old export")]


@contextlib.contextmanager
def folder():
    """A fresh current folder."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


class Draft(unittest.TestCase):
    def test_changes_stand_under_their_headings(self):
        text = draft.notes("1.0", CHANGES)
        self.assertEqual(text, "# 1.0\n\n## New\n- mail\n\n## Mended\n- rounding\n\n## Gone\n- old export\n")

    def test_the_reviewer_is_heard(self):
        text = draft.notes("1.0", CHANGES, "drop old\nSay thanks first.\n")
        self.assertEqual(text, "# 1.0\n\nSay thanks first.\n\n## New\n- mail\n\n## Mended\n- rounding\n")

    def test_a_version_is_reserved_once_and_given_back(self):
        with folder():
            Path("notes").mkdir()
            reserved = Path("notes/reserved.txt")
            reserved.write_text("0.9\n")
            draft.reserve(reserved, "1.0")
            draft.reserve(reserved, "1.0")
            self.assertEqual(reserved.read_text(), "0.9\n1.0\n")
            withdraw.withdraw("1.0")
            withdraw.withdraw("1.0")
            self.assertEqual(reserved.read_text(), "0.9\n")


class Publish(unittest.TestCase):
    def test_what_came_with_the_approval_is_published_too(self):
        with folder() as here:
            Path("notes").mkdir()
            Path("notes/1.0.md").write_text("# 1.0\n")
            (here / "plan.pdf").write_bytes(b"%PDF")
            (here / "answer.json").write_text('{"files": [{"path": "%s"}, {"unreadable": "gone"}]}' % (here / "plan.pdf"))
            files = publish.attached({"ENVOI_ANSWER": str(here / "answer.json")})
            names = publish.publish("1.0", "blog", True, files)
            self.assertEqual(names, ["1.0.md", "plan.pdf"])
            self.assertEqual(Path("published/blog/plan.pdf").read_bytes(), b"%PDF")
            self.assertEqual(Path("published/blog/1.0.md").read_text(), "URGENT\n\n# 1.0\n\nAttached: [plan.pdf](plan.pdf)\n")

    def test_without_an_answer_there_are_no_files(self):
        self.assertEqual(publish.attached({}), [])


if __name__ == "__main__":
    unittest.main()
