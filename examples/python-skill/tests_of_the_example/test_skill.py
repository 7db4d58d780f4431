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

import skill  # noqa: E402


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def run_step(self, work, argument, **variables):
        """What the step printed and reported."""
        environ = {"PATH": os.environ["PATH"], "ENVOI_REPORT": f"{work.__name__}.json", **variables}
        printed = io.StringIO()
        with mock.patch.dict(os.environ, environ, clear=True), contextlib.redirect_stdout(printed):
            work(argument)
        return printed.getvalue(), envoi.read_skill_report(f"{work.__name__}.json")

    def test_each_draft_says_less(self):
        _, collected = self.run_step(skill.collect, HERE / "fragments")
        self.assertEqual([entry["kind"] for entry in collected.data["entries"]], ["added", "fixed", "changed"])
        lengths = []
        for iteration in range(3):
            _, drafted = self.run_step(skill.draft, "collect.json", ENVOI_ITERATION=str(iteration))
            lengths.append(drafted.data["characters"])
        self.assertEqual(sorted(lengths, reverse=True), lengths)
        self.assertEqual(len(set(lengths)), 3)

    def test_the_critic_states_a_status_that_routing_reads(self):
        skill.NOTES.write_text("x" * 20)
        handoff = envoi.write_handoff(step_id="draft", flow_key="f", run_id="r", status="succeeded", output="Draft 1.")
        Path("handoff.json").write_text(handoff.to_json())
        for most, decision in (("20", "advance"), ("19", "loop")):
            text, _ = self.run_step(skill.critic, most, ENVOI_HANDOFF="handoff.json")
            routing = {"routing_kind": "microloop", "success_values": ["FITS"]}
            self.assertEqual(envoi.resolve_routing(text, routing).decision.value, decision)

    def test_a_fragment_of_another_kind_is_an_exception_and_none_at_all_is_a_failure(self):
        _, empty = self.run_step(skill.collect, ".")
        self.assertEqual((empty.ok, empty.error["code"]), (False, "NOTHING_TO_SAY"))
        Path("a.removed.md").write_text("Gone.")
        with self.assertRaises(ValueError):
            self.run_step(skill.collect, ".")
        self.assertIn("a.removed.md", envoi.read_skill_report("collect.json").error["message"])


if __name__ == "__main__":
    unittest.main()
