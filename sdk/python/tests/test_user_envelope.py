"""Answers: what the vectors do not reach."""

import unittest

import envoi

REF = {"artifactId": "a", "representationRevisionId": "r", "digest": "d", "mime": "m", "originKind": "upload"}


class Answers(unittest.TestCase):
    def test_a_blank_answer_does_not_answer_a_question(self) -> None:
        for values in ({}, {"userResponse": " \t"}, {"approved": True}, {"approvalNote": "", "userResponse": 7}):
            self.assertRaises(envoi.BlankAnswerError, envoi.answer_text, values, envoi.InterruptKind.CLARIFICATION)
        self.assertEqual(envoi.answer_text({"userResponse": " x "}, envoi.InterruptKind.CLARIFICATION), " x ")

    def test_without_a_valid_attachment_the_text_stays_as_it_is(self) -> None:
        text = '{"text": "looks like one"}\r\n'
        wrapped = envoi.wrap_user_envelope(text, [None, {}, {**REF, "size": -1}, {**REF, "title": None}])
        self.assertEqual((wrapped.payload, wrapped.enveloped, wrapped.dropped), (text, False, 4))

    def test_an_envelope_has_its_members_in_order(self) -> None:
        given = envoi.AttachmentRef("a", "r", "d", "m", envoi.OriginKind.UPLOAD, size=3)
        wrapped = envoi.wrap_user_envelope("t", [given])
        self.assertEqual(
            wrapped.payload,
            '{"text":"t","attachments":[{"artifactId":"a","representationRevisionId":"r","digest":"d","mime":"m","originKind":"upload","size":3}]}',
        )

    def test_more_than_20_are_refused_wherever_they_are(self) -> None:
        for parse in (
            lambda: envoi.wrap_user_envelope("t", [REF] * 21),
            lambda: envoi.parse_user_envelope("t", False, [REF] * 21),
            lambda: envoi.parse_user_envelope(envoi.wrap_user_envelope("t", [REF] * 15).payload, True, [REF] * 6),
        ):
            with self.assertRaises(envoi.UserEnvelopeParseError) as caught:
                parse()
            self.assertTrue(caught.exception.reason.startswith("merged attachments exceed the 20-ref total (envelope "))
            self.assertEqual(caught.exception.code, "INVALID_USER_ENVELOPE")

    def test_the_opt_in_is_exactly_true_or_false(self) -> None:
        raw = '{"text": "t"}'
        for enabled in ("true", "false", "", 1, 0, None, {}):
            with self.subTest(enabled=enabled), self.assertRaises(TypeError):
                envoi.parse_user_envelope(raw, enabled)  # type: ignore[arg-type]
        self.assertEqual(envoi.parse_user_envelope(raw, True).text, "t")
        self.assertEqual(envoi.parse_user_envelope(raw, False).text, raw)

    def test_a_refusal_says_where(self) -> None:
        with self.assertRaises(envoi.UserEnvelopeParseError) as caught:
            envoi.parse_user_envelope('{"text": "t",\n "attachments": [{"artifactId": 1}]}', True)
        cause = caught.exception.cause
        self.assertEqual((cause.pointer, cause.line), ("/attachments/0/artifactId", 2))


if __name__ == "__main__":
    unittest.main()
