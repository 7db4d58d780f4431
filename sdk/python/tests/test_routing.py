"""Routing: where a careless reader of texts goes wrong, and how the functions are called."""

import unittest

import envoi
from envoi.letters import is_alphanumeric

GATE = {"routing_kind": "microloop", "success_values": ["OK"]}


class Texts(unittest.TestCase):
    def test_only_ascii_letters_have_two_cases(self) -> None:
        rows = {
            "Status: ok": "advance",
            "Status: O\u212a": "loop",  # the Kelvin sign, whose lower case is k
            "\u017ftatus: OK": "advance",  # a long s is no label: the word alone is read
            "Status: OKé": "loop",
            "Status: OK\u093e": "loop",  # a vowel sign belongs to the word, though `isalnum` denies it
            "Status: OK\xa0x": "advance",
        }
        for text, decision in rows.items():
            self.assertEqual(envoi.resolve_routing(text, GATE).decision.value, decision, ascii(text))
        self.assertEqual(envoi.resolve_routing("\u017ftatus: OK", GATE).confidence, 0.8)

    def test_a_list_of_alternatives_mentions_none(self) -> None:
        for text in ("BAD / OK", "BAD | OK", "OK or BAD", "BAD or OK", "Status: OK | BAD"):
            signal = envoi.resolve_routing(text, GATE)
            self.assertEqual((signal.reason, signal.needs_human), ("Handoff does not state a status", True), text)
        self.assertEqual(envoi.resolve_routing("It is OK", GATE).reason, "Loop target reached")
        self.assertEqual(envoi.resolve_routing("It is not yet OK", GATE).decision, envoi.Decision.LOOP)

    def test_letters_are_those_of_unicode_whatever_python_knows(self) -> None:
        self.assertTrue(all(map(is_alphanumeric, "aZ09éß中ا\u093e²Ⅷ\U0001e900\U000323af")))
        self.assertFalse(any(map(is_alphanumeric, "_-. \u0301—😀\u2028\x00\U0010ffff")))


class Calls(unittest.TestCase):
    def test_steps_limit_where_a_hint_may_lead(self) -> None:
        signal = envoi.resolve_routing("Go to step 'build'", None, steps=["build"])
        self.assertEqual((signal.decision, signal.route), (envoi.Decision.BRANCH, envoi.Route("build")))
        self.assertEqual(signal.to_dict()["route"], "build")
        self.assertEqual(signal.to_resolver_dict()["route"], {"flow": None, "step_id": "build"})
        unknown = envoi.resolve_routing("Go to step 'build'", None, steps=("test",))
        self.assertEqual(unknown.reason, "No routing configuration; unknown step 'build'")
        self.assertTrue(unknown.needs_human)
        self.assertEqual(envoi.resolve_routing("Go to step 'build'", None, hints=False).reason, "No routing configuration")

    def test_a_loop_that_nothing_could_end_is_refused(self) -> None:
        for routing in ({"routing_kind": "microloop"}, envoi.Routing(envoi.RoutingKind.MICROLOOP), {"loop_target": " "}):
            with self.assertRaises(envoi.ContractError) as caught:
                envoi.resolve_routing("x", routing)
            self.assertEqual((caught.exception.code, caught.exception.pointer), ("ROUTING_INVALID", "/routing"))

    def test_the_same_signal_is_equal_whatever_word_said_it(self) -> None:
        said = [envoi.RoutingSignal.from_dict({"decision": word, "reason": "r"}) for word in ("loop", "RERUN", "retry")]
        self.assertEqual(said[0], said[1])
        self.assertEqual([each.raw_decision for each in said], [None, "RERUN", "retry"])
        self.assertRaises(ValueError, envoi.convert, {"decision": "loop"}, "somewhere")


class Handoffs(unittest.TestCase):
    def test_the_engines_identity_overrules_and_the_difference_is_kept(self) -> None:
        identity = envoi.Identity("real", "f", "r")
        for details, kept in ((None, {}), ({"a": 1}, {"a": 1}), ("text", {"details": "text"})):
            handoff = envoi.write_handoff(
                {"step_id": "claimed", "run_id": "r", "status": "skipped", "verification_details": details}, identity=identity
            )
            overruled = {"identity_overruled": {"step_id": {"stated": "claimed", "used": "real"}}}
            self.assertEqual((handoff.step_id, handoff.verification_details), ("real", {**kept, **overruled}))

    def test_python_values_are_accepted_beside_their_json_form(self) -> None:
        members = {"step_id": "s", "flow_key": "f", "run_id": "r", "status": envoi.HandoffStatus.FAILED}
        signal = envoi.RoutingSignal(envoi.Decision.TERMINATE, reason="no way")
        handoff = envoi.write_handoff(**members, routing_signal=signal, started_at=envoi.parse_time("2026-01-02T03:04:05+01:00"), duration_ms=1500)
        self.assertEqual((handoff.timestamp, handoff.routing_signal), ("2026-01-02T02:04:06.500Z", signal))
        self.assertEqual(handoff.error, "Step failed without an error message")
        self.assertEqual(envoi.write_handoff(envoi.HandoffDraft(**members)).status, envoi.HandoffStatus.FAILED)
        self.assertRaises(TypeError, envoi.write_handoff, envoi.HandoffDraft(**members), error="x")

    def test_a_long_text_keeps_what_it_states(self) -> None:
        text = "begin " + "filler words " * 400 + "\nStatus: VERIFIED\n" + "more words " * 400 + "end"
        summary = envoi.summarize(text)
        self.assertLessEqual(len(summary), 2000)
        self.assertTrue(summary.startswith("Status: VERIFIED\nbegin "), summary[:40])
        self.assertTrue(summary.endswith(" end"))
        self.assertRegex(summary, r"\n… \[\d+ characters omitted\] …\n")


if __name__ == "__main__":
    unittest.main()
