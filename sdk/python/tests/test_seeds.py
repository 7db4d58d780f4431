"""The examples of the seeds, taken from the pages themselves; only the name of the package is changed."""

import contextlib
import dataclasses
import io
import json
import re
import unittest
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, List, Optional, get_type_hints

import envoi

SEEDS = Path(__file__).resolve().parents[3] / "spec" / "seeds"


def page(name: str) -> str:
    return (SEEDS / name).read_text(encoding="utf-8")


def blocks(name: str, language: str = "") -> List[str]:
    """The fenced blocks of a page in a language, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)
    return [text for said, text in found if said == language]


class Seeds0And1(unittest.TestCase):
    def test_the_handoff_comes_out_byte_for_byte(self) -> None:
        (given,), (printed,) = blocks("0-envelope-writer.md"), blocks("0-envelope-writer.md", "json")
        self.assertEqual(envoi.write_handoff(given).to_json(), printed)
        self.assertEqual(envoi.HandoffEnvelope.from_json(printed).to_json(), printed)

    def test_the_signal_comes_out_byte_for_byte(self) -> None:
        (given,), (printed,) = blocks("1-routing-signal-resolver.md"), blocks("1-routing-signal-resolver.md", "json")
        signal = envoi.resolve(envoi.decode_routing_input(given)).signal
        self.assertEqual(envoi.json.dumps(signal.to_resolver_dict()), printed)


class Seed2(unittest.TestCase):
    """Two blocks that define the classes, then four that use them."""

    @classmethod
    def setUpClass(cls) -> None:
        printed = [block.replace("jeeves_protocols", "envoi") for block in blocks("2-pipeline-envelope.md", "python")]
        cls.record, cls.envelope, *cls.usage = printed

    def run_block(self, block: str, names: Dict[str, Any]) -> str:
        """What a block prints; `names` is what it finds and leaves."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        return printed.getvalue()

    def test_the_usage_examples_run_one_after_the_other(self) -> None:
        self.assertEqual(len(self.usage), 4)
        creating, goals, serialization, status = self.usage
        names: Dict[str, Any] = {}
        self.run_block(creating, names)
        envelope = names["envelope"]
        self.assertIsInstance(envelope, envoi.Envelope)
        self.assertEqual((envelope.received_at, envelope.request_id), (envelope.created_at, "req-789"))
        self.assertRegex(envelope.created_at, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertTrue(envelope.envelope_id)

        self.assertEqual(self.run_block(goals, names), "['Trace login flow', 'Identify security vulnerabilities']\n")
        members = ["current_stage_number", "max_stages", "all_goals", "remaining_goals", "goal_completion_status", "completed_stages"]
        self.assertEqual(list(names["context"]), members)
        self.assertEqual((names["context"]["current_stage_number"], names["context"]["max_stages"]), (1, 5))

        names["Envelope"] = envoi.Envelope  # this block names it without importing it
        self.run_block(serialization, names)
        self.assertEqual((len(names["json_data"]), len(names["full_state"])), (22, 37))
        self.assertEqual(names["restored"].to_dict(), names["json_data"])
        self.assertEqual(envoi.Envelope.from_dict(names["full_state"]), envelope)
        self.assertEqual(json.loads(json.dumps(names["full_state"])), names["full_state"])

        stuck: List[bool] = []
        names["handle_stuck_pipeline"] = lambda: stuck.append(True)
        self.assertEqual((self.run_block(status, names), stuck), ("", []))
        names["envelope"] = envoi.Envelope.from_dict({"terminated": True, "terminal_reason": "MAX_LLM_CALLS_EXCEEDED"})
        names["envelope"].advance_stage()
        self.assertEqual((self.run_block(status, names), stuck), ("Terminated: max_llm_calls_exceeded\n", [True]))
        self.assertIsInstance(names["reason"], envoi.TerminalReason)

    def test_the_classes_have_the_printed_members_and_defaults(self) -> None:
        names: Dict[str, Any] = {"dataclass": dataclass, "field": field, "datetime": datetime, "Optional": Optional, "Dict": Dict, "List": List, "Any": Any}
        names.update({each: getattr(envoi, each) for each in ("TerminalReason", "FlowInterrupt", "ProcessingRecord")})
        for block, ours in ((self.record, envoi.ProcessingRecord), (self.envelope, envoi.Envelope)):
            self.run_block(block, names)
            printed = {each.name: each for each in dataclasses.fields(names[ours.__name__])}
            made = {each.name: each for each in dataclasses.fields(ours)}
            self.assertEqual([*printed, "unknown"], list(made))
            for name, member in printed.items():
                if member.default_factory is not dataclasses.MISSING:
                    self.assertEqual(made[name].default_factory(), member.default_factory(), name)
                elif member.default is not dataclasses.MISSING:
                    self.assertEqual(made[name].default, member.default, name)
        self.assertEqual(get_type_hints(envoi.Envelope)["terminal_reason"], Optional[envoi.TerminalReason])

    def test_a_record_is_made_by_place_as_its_members_are_printed(self) -> None:
        record = envoi.ProcessingRecord("planner", 1, datetime(2026, 1, 26, 9, 30), None, 12, "success", None, 2)
        self.assertEqual(list(record.to_dict().values()), ["planner", 1, "2026-01-26T09:30:00", None, 12, "success", None, 2])


class Seed3(unittest.TestCase):
    def test_the_example_output_is_a_report_and_comes_out_as_it_went_in(self) -> None:
        (printed,) = blocks("3-skill-report.md", "json")
        report = envoi.SkillReport.from_json(printed.replace("[...]", "[]"))
        self.assertEqual((report.ok, report.skill_name, report.metrics), (True, "mail-triage", {"emailCount": 4}))
        self.assertEqual(json.loads(report.to_json()), json.loads(printed.replace("[...]", "[]")))
        self.assertEqual(envoi.SkillReport.from_json(report.to_json()).to_json(), report.to_json())


class Seed4(unittest.TestCase):
    def test_the_payload_of_the_page_gives_its_text_and_its_reference(self) -> None:
        (payload,) = re.findall(r'\{ "text": .*? \]\}', page("4-user-envelope.md"))
        # The page's opt-in: `bridge_body = {"user": resume_text, "user_envelope": True}`.
        bridge_body: Dict[str, Any] = {"user": payload, "user_envelope": True}
        answer = envoi.parse_user_envelope(bridge_body["user"], bridge_body["user_envelope"])
        self.assertEqual(answer.text, "Approved with edits to draft #4.")
        self.assertEqual([each.to_dict() for each in answer.attachments], json.loads(payload)["attachments"])
        untouched = envoi.parse_user_envelope(payload, False)
        self.assertEqual((untouched.text, untouched.attachments), (payload, []))
        self.assertEqual(envoi.parse_user_envelope(envoi.wrap_user_envelope(answer.text, answer.attachments).payload, True), answer)


if __name__ == "__main__":
    unittest.main()
