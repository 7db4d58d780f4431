"""The steps of the example, without an engine."""

import contextlib
import io
import mailbox
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE.parent.parent / "sdk" / "python" / "src")]

import envoi  # noqa: E402

import remind  # noqa: E402
import sort_emails  # noqa: E402
import triage_emails  # noqa: E402


def ids(file):
    """The ids of the mails in a mailbox."""
    with contextlib.closing(mailbox.mbox(file, create=False)) as box:
        return [message["Message-ID"] for message in box]


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

    def test_each_mail_gets_one_category_and_a_reason(self):
        report = self.run_step(triage_emails.main, HERE / "inbox.mbox", "example.org")
        self.assertTrue(report.ok)
        self.assertEqual(report.data["totals"], {"billing": 2, "work": 1, "personal": 1, "spam": 2})
        categories = [item["category"] for item in report.data["items"]]
        self.assertEqual(categories, ["work", "billing", "spam", "personal", "billing", "spam"])
        self.assertEqual(report.data["items"][1]["subject"], "Rechnung für Oktober")
        self.assertEqual(report.metrics["emailCount"], 6)

    def test_the_sorted_mailboxes_hold_every_mail_once(self):
        self.run_step(triage_emails.main, HERE / "inbox.mbox", "example.org")
        self.assertTrue(self.run_step(sort_emails.main, HERE / "inbox.mbox", "triage_emails.json").ok)
        found = [name for file in sorted(Path("sorted").iterdir()) for name in ids(file)]
        self.assertEqual(sorted(found), sorted(ids(HERE / "inbox.mbox")))
        self.assertIn(">From noon on", Path("sorted/personal.mbox").read_text())

    def test_what_wants_money_is_listed(self):
        self.run_step(triage_emails.main, HERE / "inbox.mbox", "example.org")
        self.run_step(remind.main, "triage_emails.json")
        self.assertEqual(Path("to-pay.md").read_text(encoding="utf-8").count("- [ ] "), 2)

    def test_a_mailbox_that_is_missing_or_empty_is_a_failure(self):
        self.assertEqual(self.run_step(triage_emails.main, "none.mbox", "x").error["code"], "NO_MAILBOX")
        Path("empty.mbox").write_bytes(b"")
        self.assertEqual(self.run_step(triage_emails.main, "empty.mbox", "x").error["code"], "EMPTY_MAILBOX")


if __name__ == "__main__":
    unittest.main()
