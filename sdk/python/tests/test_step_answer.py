"""The answer of a person, as a command finds it."""

import tempfile
import unittest
from pathlib import Path

import envoi

REF = '{"artifactId":"a","representationRevisionId":"r","digest":"d","mime":"m","originKind":"upload"}'
FULL = (
    '{"text":"Approved with edits.","attachments":[' + REF + '],"interrupt":"int_1","step":"review","visit":2,"kind":"confirmation","question":"Publish?","choice":"approve",'
    '"approved":true,"data":{"net":1.00,"id":123456789012345678901234567890,"far":1e400},"by":"ada","channel":"cli",'
    '"answered_at":"2026-02-20T05:30:00.000+01:00","files":[{"artifactId":"a","filename":"edits.pdf","path":"/run/files/edits.pdf"},'
    '{"artifactId":"b","unreadable":"it is not in this tenant","tried":2}],"later":[1.0]}'
)


class AnAnswer(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def answer(self, content: str, name: str = "answer.json") -> envoi.Answer:
        (self.folder / name).write_text(content, encoding="utf-8")
        environ = {"ENVOI_ANSWER": str(self.folder / name), "ENVOI_ANSWER_FILES": "/run/files"}
        answer = envoi.step(environ=environ).answer
        assert answer is not None
        return answer

    def test_each_member_is_there_with_its_type(self) -> None:
        answer = self.answer(FULL)
        self.assertEqual((answer.text, answer.interrupt, answer.step), ("Approved with edits.", "int_1", "review"))
        self.assertEqual((answer.visit, answer.kind, answer.question), (2, envoi.InterruptKind.CONFIRMATION, "Publish?"))
        self.assertEqual((answer.choice, answer.approved), (envoi.AnswerChoice.APPROVE, True))
        self.assertEqual((answer.by, answer.channel, answer.answered_at), ("ada", "cli", "2026-02-20T05:30:00.000+01:00"))
        self.assertEqual([each.artifact_id for each in answer.attachments], ["a"])
        edits, other = answer.files
        self.assertEqual((edits.filename, edits.path, edits.unreadable), ("edits.pdf", Path("/run/files/edits.pdf"), None))
        self.assertEqual((other.artifact_id, other.path, other.unreadable), ("b", None, "it is not in this tenant"))
        self.assertEqual((answer.paths, answer.folder), ([Path("/run/files/edits.pdf")], Path("/run/files")))

    def test_numbers_keep_their_text_and_unknown_members_are_kept(self) -> None:
        answer = self.answer(FULL)
        written = '{"net":1.00,"id":123456789012345678901234567890,"far":1e400}'
        self.assertEqual(envoi.json.dumps(answer.data, compact=True), written)
        self.assertEqual(answer.data["id"] % 10, 0)
        self.assertEqual(envoi.json.dumps(answer.members, compact=True), FULL)

    def test_an_answer_of_few_words_is_read_too(self) -> None:
        for content, text in (('{"text":"Yes."}', "Yes."), ("{}", ""), ('{"text":null,"choice":null,"data":null,"approved":null}', "")):
            answer = self.answer(content)
            self.assertEqual((answer.text, answer.choice, answer.approved, answer.data), (text, None, None, None))
            self.assertEqual((answer.attachments, answer.files, answer.paths), ([], [], []))

    def test_a_file_that_is_no_json_is_its_text(self) -> None:
        answer = self.answer(FULL, "answer.txt")
        self.assertEqual((answer.text, answer.choice, answer.members), (FULL, None, {}))

    def test_data_may_be_anything(self) -> None:
        for data in ("[1.0]", '"x"', "0", "false"):
            self.assertEqual(envoi.json.dumps(self.answer('{"data":' + data + "}").data, compact=True), data)

    def test_what_it_is_not_is_refused_with_its_place(self) -> None:
        for content, pointer in (
            ("[]", ""),
            ('{"text":1}', "/text"),
            ('{"choice":"maybe"}', "/choice"),
            ('{"choice":"Approve"}', "/choice"),
            ('{"kind":"quiz"}', "/kind"),
            ('{"visit":1.5}', "/visit"),
            ('{"approved":"yes"}', "/approved"),
            ('{"attachments":null}', "/attachments"),
            ('{"attachments":[{}]}', "/attachments/0"),
            ('{"answered_at":"soon"}', "/answered_at"),
            ('{"files":{}}', "/files"),
            ('{"files":[{"path":"/x"}]}', "/files/0"),
            ('{"files":[{"artifactId":"a"}]}', "/files/0"),
            ('{"files":[{"artifactId":"a","path":1}]}', "/files/0/path"),
        ):
            with self.assertRaises(envoi.ContractError) as caught:
                self.answer(content)
            self.assertEqual((caught.exception.code, caught.exception.pointer), ("INVALID_USER_ENVELOPE", pointer), content)
        with self.assertRaises(envoi.JsonError):
            self.answer('{"text":"a","text":"b"}')


if __name__ == "__main__":
    unittest.main()
