"""The laws, on generated values: what was written is read as the same, and written again as the same, twice over."""

import copy
import random
import unittest
from dataclasses import fields
from datetime import datetime, timedelta, timezone

import envoi
from envoi import json
from tests import generate

SEED = 8
ROUNDS = 400


def chances() -> list:
    return [random.Random(f"{SEED}-{index}") for index in range(ROUNDS)]


class Laws(unittest.TestCase):
    def check(self, value, read, write) -> None:
        """decode(encode(x)) == x, and encode after decode changes nothing, twice over."""
        once = write(value)
        restored = read(once)
        self.assertEqual(restored, value)
        self.assertEqual(write(restored), once)
        self.assertEqual(write(read(write(restored))), once)

    def test_json_values(self) -> None:
        for chance in chances():
            value = generate.value(chance, 6)
            for compact in (True, False):
                self.check(value, json.loads, lambda each, compact=compact: json.dumps(each, compact=compact))
        self.check(generate.deep(127), json.loads, json.dumps)

    def test_envelopes(self) -> None:
        for chance in chances():
            given = generate.envelope(chance)
            before = copy.deepcopy(given)
            envelope = envoi.Envelope.from_dict(given)
            self.assertEqual(given, before)
            self.check(envelope, envoi.Envelope.from_json, lambda each: each.to_json(compact=True))
            self.check(envelope, envoi.Envelope.from_dict, lambda each: each.to_state_dict())
            exchanged = envelope.to_dict()
            self.assertEqual(envoi.Envelope.from_dict(exchanged).to_dict(), exchanged)

    def test_signals_and_handoffs(self) -> None:
        written = 0
        for chance in chances():
            try:
                handoff = envoi.write_handoff(generate.draft(chance))
            except envoi.ContractError:
                continue
            written += 1
            self.check(handoff, envoi.HandoffEnvelope.from_json, lambda each: each.to_json())
            signal = handoff.routing_signal
            self.check(signal, envoi.RoutingSignal.from_dict, lambda each: each.to_dict())
            self.check(signal, envoi.RoutingSignal.from_dict, lambda each: each.to_resolver_dict())
        self.assertGreater(written, 50)

    def test_reports(self) -> None:
        for chance in chances():
            given = {"ok": True, "generatedAt": "t", "skillName": "s", **generate.unknown(chance)}
            given.update(generate.some(chance, ("data", "metrics", "error"), lambda: generate.value(chance)))
            report = envoi.SkillReport.from_dict(given)
            self.check(report, envoi.SkillReport.from_json, lambda each: each.to_json())
            self.assertEqual(set(report.to_dict()), set(given))

    def test_answers(self) -> None:
        for chance in chances():
            ref = {"artifactId": "a", "representationRevisionId": "r", "digest": "d", "mime": "m", "originKind": "upload"}
            words = generate.text(chance) or "x"
            wrapped = envoi.wrap_user_envelope(words, [ref, {**ref, "size": generate.count(chance)}, 7, {**ref, "x": 1}])
            self.assertEqual((wrapped.enveloped, wrapped.dropped), (True, 2))
            answer = envoi.parse_user_envelope(wrapped.payload, True)
            self.assertEqual(answer.text, words)
            self.check(
                answer,
                lambda text: envoi.parse_user_envelope(text, True),
                lambda each: json.dumps(each.to_dict(), compact=True),
            )


class Copies(unittest.TestCase):
    def test_what_is_read_shares_nothing_with_what_it_was_read_from(self) -> None:
        given = {"outputs": {"a": {"n": [1]}}, "errors": [{"x": []}], "zzz": {"y": []}}
        envelope = envoi.Envelope.from_dict(given)
        written = envelope.to_state_dict()
        given["outputs"]["a"]["n"].append(2)
        given["errors"][0]["x"].append(2)
        given["zzz"]["y"].append(2)
        self.assertEqual(envelope.to_state_dict(), written)
        written["outputs"]["a"]["n"].append(3)
        written["zzz"]["y"].append(3)
        self.assertEqual(envelope.to_state_dict()["outputs"], {"a": {"n": [1]}})
        self.assertEqual(envelope.to_state_dict()["zzz"], {"y": []})

    def test_a_stage_context_is_a_copy(self) -> None:
        envelope = envoi.Envelope(all_goals=["a"], completed_stages=[{"x": []}])
        context = envelope.get_stage_context()
        context["all_goals"].append("b")
        context["completed_stages"][0]["x"].append(1)
        self.assertEqual((envelope.all_goals, envelope.completed_stages), (["a"], [{"x": []}]))

    def test_goals_given_as_a_list_are_copied(self) -> None:
        goals = ["a", "b", "a"]
        envelope = envoi.Envelope()
        envelope.initialize_goals(goals)
        goals.append("c")
        envelope.mark_goal_complete("a")
        self.assertEqual(envelope.all_goals, ["a", "b", "a"])
        self.assertEqual(envelope.remaining_goals, ["b", "a"])
        self.assertEqual(envelope.goal_completion_status, {"a": "complete", "b": "pending"})


class Setting(unittest.TestCase):
    def test_datetimes_can_be_set_and_are_written_as_times(self) -> None:
        at = datetime(2026, 1, 2, 3, 4, 5, 678901, timezone(timedelta(hours=2)))
        record = envoi.ProcessingRecord("repair", 0, started_at=at, completed_at=datetime(2026, 1, 2))
        envelope = envoi.Envelope(completed_at=at, processing_history=[record])
        state = envelope.to_state_dict()
        self.assertEqual(state["completed_at"], "2026-01-02T03:04:05.678901+02:00")
        self.assertEqual(state["processing_history"][0]["completed_at"], "2026-01-02T00:00:00")
        self.assertEqual(envoi.parse_time(state["completed_at"]), at)

    def test_times_become_datetimes(self) -> None:
        rows = {
            "2026-01-26T09:30:00.123456": datetime(2026, 1, 26, 9, 30, 0, 123456),
            "2026-01-26t09:30:00z": datetime(2026, 1, 26, 9, 30, tzinfo=timezone.utc),
            "2026-01-26 09:30:00.123456789-00:30": datetime(2026, 1, 26, 9, 30, 0, 123456, timezone(-timedelta(minutes=30))),
            "2026-01-26T09:30:00.5+00:00Z": datetime(2026, 1, 26, 9, 30, 0, 500000, timezone.utc),
        }
        for text, moment in rows.items():
            self.assertEqual(envoi.parse_time(text), moment)
        for text in ("soon", "2016-12-31T23:59:60Z"):
            self.assertRaises(ValueError, envoi.parse_time, text)

    def test_what_could_not_be_read_again_is_not_written(self) -> None:
        for name, value, pointer in (
            ("iteration", -1, "/iteration"),
            ("created_at", "soon", "/created_at"),
            ("stage_order", ["a", 1], "/stage_order/1"),
            ("metadata", {"x": object()}, "/metadata/x"),
            ("terminal_reason", "tired", "/terminal_reason"),
            ("outputs", None, "/outputs"),
            ("unknown", {"x": object()}, "/x"),
            ("processing_history", [envoi.ProcessingRecord(duration_ms=-1)], "/processing_history/0/duration_ms"),
        ):
            envelope = envoi.Envelope()
            setattr(envelope, name, value)
            for write in (envelope.to_state_dict, envelope.to_json):
                with self.subTest(name), self.assertRaises(envoi.ContractError) as caught:
                    write()
                self.assertEqual((caught.exception.code, caught.exception.pointer), ("ENVELOPE_INVALID", pointer))

    def test_a_handoff_that_could_not_be_read_again_is_not_written(self) -> None:
        for name, value, pointer, found in (
            ("summary", "x" * 3000, "/summary", "3000 of them"),
            ("summary", "x" * 1999 + "\ud800", "/summary", "half a surrogate pair"),
            ("error", "it broke", "/error", "`it broke`"),
            ("timestamp", "soon", "/timestamp", '`"soon"`'),
            ("step_id", " ", "/step_id", "an empty one"),
            ("artifacts", {"a": "../a"}, "/artifacts/a", '`"../a"`'),
            ("artifacts", None, "/artifacts", "`null`"),
            ("status", "tired", "/status", '`"tired"`'),
            ("duration_ms", -1, "/duration_ms", "`-1`"),
            ("file_changes", {"a": object()}, "/file_changes/a", "a Python `object`"),
            ("unknown", {"x": [object()]}, "/x/0", "a Python `object`"),
            ("routing_signal", envoi.RoutingSignal(confidence=5), "/routing_signal/confidence", "`5`"),
            ("routing_signal", envoi.RoutingSignal("branch"), "/routing_signal", "neither"),
        ):
            handoff = envoi.write_handoff(step_id="s", flow_key="f", run_id="r", status="succeeded")
            setattr(handoff, name, value)
            for write in (handoff.to_dict, handoff.to_json):
                with self.assertRaises(envoi.ContractError, msg=name) as caught:
                    write()
                refusal = caught.exception
                self.assertEqual((refusal.code, refusal.pointer, refusal.found), ("HANDOFF_INVALID", pointer, found))

    def test_a_handoff_is_written_as_it_would_be_read(self) -> None:
        handoff = envoi.write_handoff(step_id="s", flow_key="f", run_id="r", status="succeeded")
        handoff.timestamp = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
        handoff.error, handoff.duration_ms, handoff.status = "", json.loads("4.5e1"), "skipped"
        written = handoff.to_dict()
        self.assertEqual((written["error"], written["duration_ms"], written["status"]), (None, 45, "skipped"))
        self.assertEqual(written["timestamp"], "2026-01-02T03:04:05+00:00")
        self.assertEqual(envoi.HandoffEnvelope.from_dict(written).to_dict(), written)

    def test_an_unknown_member_never_takes_the_place_of_a_known_one(self) -> None:
        envelope = envoi.Envelope(user_id="u", unknown={"user_id": "another", "z": 1})
        self.assertEqual(envelope.to_state_dict()["user_id"], "u")
        self.assertEqual(envelope.to_state_dict()["z"], 1)

    def test_words_can_be_set_as_text(self) -> None:
        envelope = envoi.Envelope(terminal_reason="completed", interrupt=envoi.FlowInterrupt("confirmation"))
        state = envelope.to_state_dict()
        self.assertEqual((state["terminal_reason"], state["interrupt"]["status"]), ("completed", "pending"))

    def test_there_are_37_members(self) -> None:
        names = [field.name for field in fields(envoi.Envelope)]
        self.assertEqual([*envoi.Envelope().to_state_dict(), "unknown"], names)
        self.assertEqual((len(names) - 1, len(envoi.Envelope().to_dict())), (37, 22))


class Interrupts(unittest.TestCase):
    def test_one_made_here_is_pending_and_expires_after_its_kinds_time(self) -> None:
        rows = {
            "clarification": "2026-01-03T03:04:05.000Z", "confirmation": "2026-01-02T04:04:05.000Z",
            "agent_review": "2026-01-02T03:34:05.000Z", "resource_exhausted": "2026-01-02T03:09:05.000Z",
            "timeout": "2026-01-02T03:09:05.000Z", "system_error": "2026-01-02T04:04:05.000Z", "checkpoint": None,
        }  # fmt: skip
        self.assertEqual(set(rows), {kind.value for kind in envoi.InterruptKind})
        for kind, expires_at in rows.items():
            made = envoi.FlowInterrupt.create(envoi.InterruptKind(kind), now="2026-01-02T03:04:05.000Z", question="?")
            self.assertEqual((made.expires_at, made.status, made.data, made.question), (expires_at, envoi.InterruptStatus.PENDING, {}, "?"))
        lasting = envoi.FlowInterrupt.create(envoi.InterruptKind.TIMEOUT, expires_at=None)
        self.assertIsNone(lasting.expires_at)

    def test_one_that_is_read_is_not_filled_in(self) -> None:
        read = envoi.FlowInterrupt.from_dict({"kind": "timeout"})
        self.assertEqual((read.status, read.data, read.id), (None, None, None))
        self.assertEqual(len(read.to_dict()), 16)


if __name__ == "__main__":
    unittest.main()
