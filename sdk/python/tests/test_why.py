"""Why a signal is what it is, and what an import had to interpret."""

import unittest

import envoi


class AnAudit(unittest.TestCase):
    INPUT = (
        'Handoff text: "Not yet VERIFIED. Go to step moon"\nStep routing: loop_target=VERIFIED, routing_kind=microloop\nSteps: [build]\n'
    )

    def test_it_says_which_row_fired_and_why_those_before_it_did_not(self) -> None:
        audit = envoi.resolve(envoi.decode_routing_input(self.INPUT)).audit
        self.assertEqual(
            audit.to_dict(),
            {
                "row": "6",
                "fired_because": "the status is no success and iterations are left",
                "passed_over": {
                    "1": "the step that the hint names is unknown",
                    "1a": "only one hint",
                    "2": "routing is configured",
                    "3": "the status not VERIFIED is no success value, inferred from unlabelled words",
                    "4": "iterations are left",
                    "5": "further iteration can help",
                },
                "unknown_hint": "moon",
                "input_digest": "sha256:582057d3386017aaafca3c89e75cae7d873b70d9f9065cd493d5186ac0eb29dd",
            },
        )

    def test_another_input_has_another_digest(self) -> None:
        one, other = (envoi.resolve(envoi.RoutingInput("x", iteration=times)).audit for times in (0, 1))
        self.assertNotEqual(one.input_digest, other.input_digest)
        self.assertEqual((one.row, one.unknown_hint, "unknown_hint" in one.to_dict()), ("2", None, False))

    def test_half_a_surrogate_pair_has_no_digest(self) -> None:
        with self.assertRaises(envoi.ContractError) as caught:
            envoi.resolve_routing("\ud800")
        self.assertEqual((caught.exception.code, caught.exception.pointer), ("ROUTING_INVALID", "/handoff_text"))


class AnImport(unittest.TestCase):
    def test_it_says_what_is_written_in_another_way(self) -> None:
        document = envoi.json.loads(
            '{"terminal_reason":"COMPLETED","iteration":4096.0,"created_at":"2026-01-26T09:30:00.5+00:00Z","completed_at":null,'
            '"interrupt":{"kind":"timeout","response":{"text":null}},"metadata":{"n":1.00},"x":[1.0],'
            '"processing_history":[{"llm_calls":-0}]}'
        )
        envelope, interpretations = envoi.Envelope.import_dict(document)
        self.assertEqual(envelope, envoi.Envelope.from_dict(document))
        self.assertEqual(
            interpretations,
            [
                envoi.Interpretation("/terminal_reason", '`"COMPLETED"`', '`"completed"`'),
                envoi.Interpretation("/iteration", "`4096.0`", "`4096`"),
                envoi.Interpretation("/created_at", '`"2026-01-26T09:30:00.5+00:00Z"`', '`"2026-01-26T09:30:00.5Z"`'),
                envoi.Interpretation("/processing_history/0/llm_calls", "`-0`", "`0`"),
            ],
        )

    def test_it_reports_members_that_another_system_groups(self) -> None:
        document = envoi.json.loads(
            '{"identity":{"envelope_id":"env-1","user_id":"u","tenant":"t"},"user_id":"top","termination_reason":null,'
            '"a/b":{"termination_reason":"r","iteration":null},"bounds":{"llm_call_count":2,"deep":{"iteration":1}},"pipeline":[]}'
        )
        envelope, interpretations = envoi.Envelope.import_dict(document)
        self.assertEqual((envelope.envelope_id, envelope.user_id), ("", "top"))
        self.assertEqual(
            interpretations,
            [
                envoi.Interpretation(pointer, read, f"a part of the unknown member, not `{name}`")
                for pointer, read, name in [
                    ("/identity/envelope_id", '`"env-1"`', "envelope_id"),
                    ("/a~1b/termination_reason", '`"r"`', "termination_reason"),
                    ("/bounds/llm_call_count", "`2`", "llm_call_count"),
                ]
            ],
        )

    def test_our_own_has_nothing_to_interpret(self) -> None:
        state = envoi.create_envelope("x", metadata={"a": [1.5, None, {}]}).to_state_dict()
        self.assertEqual(envoi.Envelope.import_dict(state)[1], [])
        self.assertRaises(envoi.ContractError, envoi.Envelope.import_dict, {"iteration": -1})


if __name__ == "__main__":
    unittest.main()
