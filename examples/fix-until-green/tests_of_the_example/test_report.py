import contextlib
import io
import json
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

import report

EVIL = '<script>alert("&")</script>'

HANDOFF = {
    "step_id": "critic",
    "status": "succeeded",
    "routing_signal": {
        "decision": "advance",
        "reason": "Loop target reached " + EVIL,
        "confidence": 0.9,
        "needs_human": False,
    },
}


def change(run="run_1", visit=2, **other):
    return {
        "id": f"{run}-{visit}", "run": run, "visit": visit, "key": "", "file": "tax.py", "line": 4,
        "before": f"    if a < b: {EVIL}", "after": "    if a <= b:", "above": ["# one"], "below": ["    c()"],
        "what": "comparison `<` became `<=`",
        "why": {"failing_test": EVIL, "suspicion": 0.5, "passing_tests_on_this_line": 1},
        "tests_fixed": ["a.b", EVIL], "failing_before": 3, "failing_after": 1, "tests": 9, "tried": 4, **other,
    }


class Tags(HTMLParser):
    """Collects the tags of a page and checks that they close in order."""

    def __init__(self):
        super().__init__()
        self.seen, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.package = self.folder / "shop"
        (self.folder / ".repair").mkdir()
        self.handoff = self.folder / "handoff.json"
        self.handoff.write_text(json.dumps(HANDOFF))
        original = report.PAGE
        self.addCleanup(setattr, report, "PAGE", original)
        report.PAGE = self.folder / "report.html"

    def run_report(self, *changes, tried=()):
        lines = "".join(json.dumps(each) + "\n" for each in changes)
        (self.folder / ".repair" / "changes.jsonl").write_text(lines)
        entries = {str(place): {"run": "run_1", "visit": visit} for place, visit in enumerate(tried)}
        (self.folder / ".repair" / "tried.json").write_text(json.dumps(entries))
        return self.run_as_it_is()

    def run_as_it_is(self):
        environ = {
            "ENVOI_RUN_ID": "run_1",
            "ENVOI_HANDOFF": str(self.handoff),
            "ENVOI_REPORT": str(self.folder / "attempt" / "report.json"),
        }
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
            code = report.main([str(self.package)], environ)
        skill_report = json.loads((self.folder / "attempt" / "report.json").read_text())
        return code, skill_report, said.getvalue()

    def page(self):
        return report.PAGE.read_text()

    def test_leaves_a_skill_report_in_the_order_of_the_contract(self):
        code, skill_report, _ = self.run_report(change(), tried=[2, 2])
        self.assertEqual(code, 0)
        self.assertEqual(list(skill_report), ["ok", "generatedAt", "skillName", "data", "metrics"])
        self.assertEqual((skill_report["ok"], skill_report["skillName"]), (True, "repair-report"))
        self.assertRegex(skill_report["generatedAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(skill_report["metrics"]["candidates_tried"], 2)

    def test_everything_from_files_is_escaped_and_tags_close(self):
        self.run_report(change(), tried=[2])
        tags = Tags()
        tags.feed(self.page())
        self.assertNotIn("script", tags.seen)
        self.assertEqual(tags.open, [])
        self.assertIn("&lt;script&gt;", self.page())

    def test_before_is_of_the_first_change_and_after_of_the_last(self):
        later = change(visit=5, failing_before=1, failing_after=0)
        _, skill_report, said = self.run_report(change(), later, tried=[2, 3, 5])
        self.assertEqual((skill_report["data"]["failing_before"], skill_report["data"]["failing_after"]), (3, 0))
        self.assertIn("2 changes, 3 candidates tried", said)

    def test_visits_that_kept_nothing_are_shown_too(self):
        self.run_report(change(visit=2), tried=[2, 3, 3])
        self.assertIn("<tr><td>3</td><td>2</td><td><span class=\"faint\">nothing kept", self.page())

    def test_other_runs_do_not_count(self):
        _, skill_report, _ = self.run_report(change(run="run_0"), change())
        self.assertEqual(len(skill_report["data"]["changes"]), 1)

    def test_only_a_critic_that_let_it_pass_makes_it_verified(self):
        for signal, expected in (
            ({"decision": "advance", "needs_human": False}, True),
            ({"decision": "advance", "needs_human": True}, False),
            ({"decision": "loop", "needs_human": False}, False),
            ({}, False),
        ):
            with self.subTest(signal):
                self.handoff.write_text(json.dumps({**HANDOFF, "routing_signal": signal}))
                self.assertEqual(self.run_report(change())[1]["data"]["verified"], expected)
                self.assertEqual("Not verified" not in self.page(), expected)

    def test_nothing_to_report_is_a_report_too(self):
        code, skill_report, said = self.run_as_it_is()
        self.assertEqual((code, skill_report["ok"]), (0, True))
        self.assertIn("Nothing had to be changed", said)

    def test_what_cannot_be_read_is_a_failure_with_a_reason(self):
        (self.folder / ".repair" / "changes.jsonl").write_text("{half a line")
        code, skill_report, _ = self.run_as_it_is()
        self.assertEqual((code, skill_report["ok"]), (1, False))
        self.assertEqual(skill_report["error"]["code"], "REPORT_NOT_WRITTEN")
        self.assertFalse(report.PAGE.exists())
