"""The examples of the seeds as they are printed, with the package name changed."""

import contextlib
import io
import json
import unittest
from datetime import datetime
from typing import Any, Dict, Optional, get_type_hints

import envoi

HANDOFF_TEXT = """Step ID: "analyze_requirements"
Flow key: "signal"
Run ID: "run-20251228-010000-abc123"
Output: "Analyzed 15 user stories. Identified 3 high-priority features: authentication, user profile, and search functionality. Created requirements.md with detailed specifications."
Status: succeeded
Duration: 45000 ms
Artifacts: requirements.md, user_stories.json
Routing: decision=advance, next_step_id=design_system, reason=requirements_complete, confidence=0.9
"""

HANDOFF = """{
  "step_id": "analyze_requirements",
  "flow_key": "signal",
  "run_id": "run-20251228-010000-abc123",
  "routing_signal": {
    "decision": "advance",
    "next_step_id": "design_system",
    "route": null,
    "reason": "requirements_complete",
    "confidence": 0.9,
    "needs_human": false
  },
  "summary": "Analyzed 15 user stories. Identified 3 high-priority features: authentication, user profile, and search functionality. Created requirements.md with detailed specifications.",
  "artifacts": {
    "requirements.md": "signal/requirements.md",
    "user_stories.json": "signal/user_stories.json"
  },
  "status": "succeeded",
  "error": null,
  "duration_ms": 45000,
  "timestamp": "2025-12-28T01:00:45.000Z"
}
"""

ROUTING_TEXT = """Handoff text: "The code review is complete. Status: VERIFIED"
Step routing: loop_target=VERIFIED, max_iterations=5, success_values=[VERIFIED], can_further_iteration_help=false
"""

SIGNAL = """{
  "decision": "proceed",
  "next_step_id": null,
  "route": null,
  "reason": "Loop target reached",
  "confidence": 0.9
}
"""


class Seeds0And1(unittest.TestCase):
    def test_the_handoff_comes_out_byte_for_byte(self) -> None:
        self.assertEqual(envoi.write_handoff(HANDOFF_TEXT).to_json(), HANDOFF)
        self.assertEqual(envoi.HandoffEnvelope.from_json(HANDOFF).to_json(), HANDOFF)

    def test_the_signal_comes_out_byte_for_byte(self) -> None:
        signal = envoi.resolve(envoi.decode_routing_input(ROUTING_TEXT)).signal
        self.assertEqual(envoi.json.dumps(signal.to_resolver_dict()), SIGNAL)


class Seed2(unittest.TestCase):
    """The page's code blocks, in its order and with its names."""

    def test_the_usage_examples_run(self) -> None:
        from envoi import Envelope, create_envelope

        envelope = create_envelope(
            raw_input="Analyze the authentication module",
            user_id="user-123",
            session_id="session-456",
            request_id="req-789",
            metadata={"capability": "code_analysis", "repo_path": "/path/to/repo"}
        )  # fmt: skip
        self.assertEqual(envelope.received_at, envelope.created_at)
        self.assertRegex(envelope.created_at, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertTrue(envelope.envelope_id)

        # Initialize goals from intent parsing
        envelope.initialize_goals([
            "Find authentication entry point",
            "Trace login flow",
            "Identify security vulnerabilities"
        ])  # fmt: skip

        # Mark goal complete after processing
        envelope.mark_goal_complete("Find authentication entry point")

        # Check remaining goals
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            print(envelope.remaining_goals)  # ["Trace login flow", "Identify security vulnerabilities"]
        self.assertEqual(printed.getvalue(), "['Trace login flow', 'Identify security vulnerabilities']\n")

        # Get stage context
        context = envelope.get_stage_context()
        self.assertEqual(
            list(context),
            ["current_stage_number", "max_stages", "all_goals", "remaining_goals", "goal_completion_status", "completed_stages"],
        )
        self.assertEqual((context["current_stage_number"], context["max_stages"]), (1, 5))

        # For Go JSON communication
        json_data = envelope.to_dict()

        # For checkpoint/persistence (includes ALL fields)
        full_state = envelope.to_state_dict()

        # Restore from dictionary
        restored = Envelope.from_dict(json_data)
        self.assertEqual(restored.to_dict(), json_data)
        self.assertEqual(Envelope.from_dict(full_state), envelope)
        self.assertEqual(json.loads(json.dumps(full_state)), full_state)

    def test_the_status_example_runs(self) -> None:
        from envoi import Envelope

        stuck = []
        handle_stuck_pipeline = lambda: stuck.append(True)
        envelope = Envelope.from_dict({"terminated": True, "terminal_reason": "MAX_LLM_CALLS_EXCEEDED"})
        envelope.advance_stage()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # Check if pipeline is stuck
            if envelope.is_stuck(min_progress_stages=2):
                # Pipeline has made no progress after 2 stages
                handle_stuck_pipeline()

            # Check termination
            if envelope.terminated:
                reason = envelope.terminal_reason  # TerminalReason enum
                print(f"Terminated: {reason.value}")
        self.assertEqual((stuck, printed.getvalue()), ([True], "Terminated: max_llm_calls_exceeded\n"))
        self.assertIsInstance(reason, envoi.TerminalReason)

    def test_the_record_is_made_as_printed(self) -> None:
        record = envoi.ProcessingRecord("planner", 1, datetime(2026, 1, 26, 9, 30), None, 12, "success", None, 2)
        self.assertEqual(
            record.to_dict(),
            {
                "agent": "planner", "stage_order": 1, "started_at": "2026-01-26T09:30:00", "completed_at": None,
                "duration_ms": 12, "status": "success", "error": None, "llm_calls": 2,
            },
        )  # fmt: skip
        self.assertEqual(envoi.ProcessingRecord(agent="a", stage_order=0, started_at=datetime.now()).status.value, "running")

    def test_the_members_have_the_names_and_defaults_of_the_page(self) -> None:
        defaults: Dict[str, Any] = {
            "current_stage": "start", "max_iterations": 3, "max_llm_calls": 10, "max_agent_hops": 21, "current_stage_number": 1, "max_stages": 5,
        }  # fmt: skip
        for name, value in envoi.Envelope().to_state_dict().items():
            self.assertIn(value, (defaults[name],) if name in defaults else ("", None, False, 0, [], {}), name)
        self.assertEqual(get_type_hints(envoi.Envelope)["terminal_reason"], Optional[envoi.TerminalReason])


class Seed3(unittest.TestCase):
    def test_the_example_output_is_a_report_and_comes_out_as_it_went_in(self) -> None:
        text = (
            '{\n  "ok": true,\n  "generatedAt": "2026-02-20T05:30:00.000Z",\n  "skillName": "mail-triage",\n  "data": {\n'
            '    "totals": {\n      "billing": 1,\n      "work": 1,\n      "personal": 1,\n      "spam": 1\n    },\n    "items": []\n  },\n'
            '  "metrics": {\n    "emailCount": 4\n  }\n}\n'
        )
        report = envoi.SkillReport.from_json(text)
        self.assertEqual((report.ok, report.skill_name, report.metrics), (True, "mail-triage", {"emailCount": 4}))
        self.assertEqual(report.to_json(), text)


class Seed4(unittest.TestCase):
    def test_the_payload_of_the_page_gives_its_text_and_its_reference(self) -> None:
        payload = (
            '{ "text": "Approved with edits to draft #4.", "attachments": [ { "artifactId": "art_…", "representationRevisionId": "rep_…",'
            ' "digest": "sha256:…", "mime": "application/pdf", "originKind": "upload" } ]}'
        )
        answer = envoi.parse_user_envelope(payload, True)
        self.assertEqual(answer.text, "Approved with edits to draft #4.")
        self.assertEqual([each.artifact_id for each in answer.attachments], ["art_…"])
        untouched = envoi.parse_user_envelope(payload, False)
        self.assertEqual((untouched.text, untouched.attachments), (payload, []))
        self.assertEqual(envoi.parse_user_envelope(envoi.wrap_user_envelope(answer.text, answer.attachments).payload, True), answer)


if __name__ == "__main__":
    unittest.main()
