"""The step helper: what a command is given, what it leaves, however it ends."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime
from pathlib import Path

import envoi

HANDOFF = envoi.write_handoff(step_id="before", flow_key="f", run_id="r", status="succeeded", output="All is well.")
REF = {"artifactId": "a", "representationRevisionId": "r", "digest": "d", "mime": "m", "originKind": "upload"}


class AStep(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.report = self.folder / "attempt" / "report.json"
        self.output = self.folder / "attempt" / "output.txt"
        self.environ = {
            "ENVOI_RUN_ID": "run_1", "ENVOI_FLOW": "f", "ENVOI_STEP": "count", "ENVOI_VISIT": "2", "ENVOI_ATTEMPT": "count.2.1",
            "ENVOI_ITERATION": "1", "ENVOI_KEY": "run_1:count.2", "ENVOI_RUN_BASE": folder.name,
            "ENVOI_REPORT": str(self.report), "ENVOI_OUTPUT": str(self.output),
        }  # fmt: skip

    def give(self, variable: str, name: str, content: str) -> None:
        (self.folder / name).write_text(content, encoding="utf-8")
        self.environ[variable] = str(self.folder / name)

    def left(self) -> envoi.SkillReport:
        report = envoi.read_skill_report(self.report)
        self.assertIsNotNone(report)
        return report

    def test_it_knows_where_it_is(self) -> None:
        step = envoi.step(environ=self.environ)
        self.assertEqual((step.run_id, step.flow, step.id), ("run_1", "f", "count"))
        self.assertEqual((step.visit, step.attempt, step.iteration, step.key), (2, "count.2.1", 1, "run_1:count.2"))
        self.assertEqual((step.run_base, step.skill_name), (self.folder, "count"))
        self.assertEqual((step.handoff, step.feedback, step.answer, step.envelope), (None, None, None, None))

    def test_data_is_handed_over_without_a_report(self) -> None:
        environ = {"ENVOI_DATA": str(self.folder / "attempt" / "data.json")}
        self.assertTrue(envoi.write_data({"files": [1, 2.5, None], "ü": "é"}, environ=environ))
        written = Path(environ["ENVOI_DATA"]).read_bytes()
        self.assertEqual(envoi.json.loads(written), {"files": [1, 2.5, None], "ü": "é"})
        with self.assertRaises(envoi.JsonError):
            envoi.write_data({"at": datetime(2026, 1, 1)}, environ=environ)
        self.assertEqual(Path(environ["ENVOI_DATA"]).read_bytes(), written, "nothing is written by halves")
        self.assertFalse(envoi.write_data({"files": 1}, environ={}))

    def test_it_reads_what_came_before(self) -> None:
        self.give("ENVOI_HANDOFF", "handoff.json", HANDOFF.to_json())
        self.give("ENVOI_FEEDBACK", "feedback.txt", "Status: UNVERIFIED\n--- stderr\n2 tests fail\n")
        self.give("ENVOI_ENVELOPE", "envelope.json", envoi.Envelope(envelope_id="e").to_json())
        self.give("ENVOI_ANSWER", "answer.json", envoi.json.dumps({"text": "Yes.", "attachments": [REF], "approved": True}))
        step = envoi.step(environ=self.environ)
        self.assertEqual(step.handoff, HANDOFF)
        self.assertEqual((step.feedback.text, step.feedback.stderr), ("Status: UNVERIFIED\n", "2 tests fail\n"))
        self.assertEqual(step.envelope.envelope_id, "e")
        self.assertEqual((step.answer.text, step.answer.members["approved"]), ("Yes.", True))
        self.assertEqual([each.artifact_id for each in step.answer.attachments], ["a"])

    def test_feedback_and_answers_without_more_are_read_too(self) -> None:
        self.give("ENVOI_FEEDBACK", "feedback.txt", "--- stderr\n")
        self.give("ENVOI_ANSWER", "answer.txt", '{"text": "not unwrapped"}')
        step = envoi.step(environ=self.environ)
        self.assertEqual((step.feedback.text, step.feedback.stderr), ("", ""))
        self.assertEqual((step.answer.text, step.answer.attachments), ('{"text": "not unwrapped"}', []))

    def test_it_leaves_its_text_and_its_report(self) -> None:
        with envoi.step("word-count", environ=self.environ) as step:
            step.text("Counted", 3, "words.")
            step.text("Status: DONE")
            step.data = {"words": 3}
            step.metrics["llm_calls"] = 1
        self.assertEqual(self.output.read_text(encoding="utf-8"), "Counted 3 words.\nStatus: DONE\n")
        report = self.left()
        self.assertEqual((report.ok, report.skill_name, report.data), (True, "word-count", {"words": 3}))
        self.assertEqual((report.metrics, report.error), ({"llm_calls": 1}, envoi.ABSENT))
        self.assertTrue(envoi.judge(exit=0, report_text=self.report.read_bytes(), declared=True).ok)

    def test_without_text_stdout_stays_the_text(self) -> None:
        with envoi.step(environ=self.environ):
            pass
        self.assertFalse(self.output.exists())
        self.assertEqual((self.left().data, self.left().metrics), (None, None))

    def test_an_exception_is_reported_and_goes_on_its_way(self) -> None:
        with self.assertRaises(ZeroDivisionError), envoi.step(environ=self.environ) as step:
            step.data = {"so": "far"}
            step.text("Half done.")
            1 / 0  # noqa: B018
        report = self.left()
        self.assertEqual((report.ok, report.data), (False, {"so": "far"}))
        self.assertEqual(report.error, {"code": "SKILL_EXCEPTION", "message": "ZeroDivisionError: division by zero"})
        self.assertEqual(self.output.read_text(encoding="utf-8"), "Half done.\n")

    def test_an_exception_with_a_code_keeps_it(self) -> None:
        self.give("ENVOI_HANDOFF", "handoff.json", "{}")
        with self.assertRaises(envoi.ContractError), envoi.step(environ=self.environ) as step:
            self.assertIsNone(step.handoff)
        self.assertEqual(self.left().error["code"], "HANDOFF_INVALID")

    def test_leaving_by_exit_is_judged_by_the_exit_code(self) -> None:
        for code, ok, error in (
            (0, True, envoi.ABSENT),
            (None, True, envoi.ABSENT),
            (3, False, {"code": "SKILL_EXIT", "message": "exit code 3"}),
            ("no input", False, {"code": "SKILL_EXIT", "message": "no input"}),
        ):
            with self.assertRaises(SystemExit), envoi.step(environ=self.environ):
                sys.exit(code)
            self.assertEqual((self.left().ok, self.left().error), (ok, error))

    def test_a_failure_without_exception(self) -> None:
        with envoi.step(environ=self.environ) as step:
            step.fail("no rates today", code="THROTTLED")
        self.assertEqual((self.left().ok, self.left().error), (False, {"code": "THROTTLED", "message": "no rates today"}))

    def test_data_that_json_cannot_say_is_a_failure(self) -> None:
        with self.assertRaises(envoi.JsonError), envoi.step(environ=self.environ) as step:
            step.data = {"x": {1, 2}}
        message = "data or metrics: at `/data/x`: expected a value that JSON can express, found a Python `set`"
        self.assertEqual((self.left().ok, self.left().error), (False, {"code": "SKILL_REPORT_INVALID", "message": message}))
        with self.assertRaises(envoi.JsonError), envoi.step(environ=self.environ) as step:
            step.data = {1, 2}
            sys.exit(0)
        self.assertEqual(self.left().error["code"], "SKILL_REPORT_INVALID")

    def test_what_json_cannot_say_takes_nothing_else_with_it(self) -> None:
        spent, at = {"llm_calls": 7, "cost_usd": "1.50"}, datetime(2026, 1, 2)
        for data, metrics, left in (
            ({"at": at}, spent, (None, spent)),
            ([1], {**spent, "at": at, 3: 4}, ([1], spent)),
            ({"at": at}, {**spent, "\udce9": 1}, (None, spent)),
            ("x" * envoi.json.MAX_BYTES, spent, (None, spent)),
            ([1], [7], ([1], None)),
            ([1], {**spent, "tokens_in": -3}, ([1], spent)),
            ([1], {"llm_calls": "7"}, ([1], None)),
            ([1], {"text": "x" * envoi.json.MAX_BYTES}, (None, None)),
        ):
            with self.assertRaises((envoi.JsonError, envoi.ContractError)), envoi.step(environ=self.environ) as step:
                step.data, step.metrics = data, metrics
            self.assertEqual((self.left().data, self.left().metrics), left)
            self.assertEqual((self.left().ok, self.left().error["code"]), (False, "SKILL_REPORT_INVALID"))
            self.assertEqual(step.report, self.left())

    def test_an_exception_comes_before_what_json_cannot_say(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(RuntimeError), envoi.step(environ=self.environ) as step:
            step.metrics["llm_calls"] = 7
            step.data = {"x": {1, 2}}
            raise RuntimeError("the first of two")
        refusal = "at `/data/x`: expected a value that JSON can express, found a Python `set`"
        self.assertEqual(said.getvalue(), f"not in the report: {refusal}\n")
        self.assertEqual((self.left().data, self.left().metrics), (None, {"llm_calls": 7}))
        self.assertEqual(self.left().error, {"code": "SKILL_EXCEPTION", "message": "RuntimeError: the first of two"})
        with self.assertRaises(envoi.JsonError), envoi.step(environ=self.environ) as step:
            step.data = {1, 2}
            step.fail("no rates today", code="THROTTLED")
        self.assertEqual(self.left().error, {"code": "THROTTLED", "message": "no rates today"})

    def test_a_text_that_cannot_be_left_leaves_a_report_all_the_same(self) -> None:
        self.output.mkdir(parents=True)
        with self.assertRaises(OSError), envoi.step(environ=self.environ) as step:
            step.text("words")
            step.metrics["llm_calls"] = 7
        self.assertEqual((self.left().metrics, self.left().error["code"]), ({"llm_calls": 7}, "SKILL_EXCEPTION"))
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(ZeroDivisionError), envoi.step(environ=self.environ) as step:
            step.text("words")
            step.metrics["llm_calls"] = 8
            1 / 0  # noqa: B018
        self.assertEqual((self.left().metrics, self.left().error["message"]), ({"llm_calls": 8}, "ZeroDivisionError: division by zero"))
        self.assertIn("not in the report: ", said.getvalue())

    def test_words_without_bytes_leave_a_report_all_the_same(self) -> None:
        name = b"caf\xe9.txt".decode("utf-8", "surrogateescape")  # as os.fsdecode has it

        def leave(step: envoi.Step) -> None:
            sys.exit(f"cannot read {name}")

        def state(step: envoi.Step) -> None:
            step.error, step.skill_name = envoi.SkillError(f"NO_{name}", name), name

        for end, code, message in (
            (lambda step: step.fail(f"cannot read {name}", code="UNREADABLE"), "UNREADABLE", "cannot read caf?.txt"),
            (lambda step: step.fail(OSError("gone"), code=None), "SKILL_ERROR", "gone"),
            (lambda step: setattr(step, "error", "gone"), "SKILL_ERROR", "gone"),
            (state, "NO_caf?.txt", "caf?.txt"),
            (leave, "SKILL_EXIT", "cannot read caf?.txt"),
        ):
            with contextlib.suppress(SystemExit), envoi.step(environ=self.environ) as step:
                step.metrics["llm_calls"] = 3
                end(step)
            self.assertEqual((self.left().ok, self.left().error), (False, {"code": code, "message": message}))
            self.assertEqual((self.left().metrics, step.report), ({"llm_calls": 3}, self.left()))

    def test_an_exception_without_words_leaves_a_report_all_the_same(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise KeyError("no words")

        class Coy(Exception):
            @property
            def code(self) -> str:
                raise KeyError("no code")

        for error, code, message in (
            (Mute(), "SKILL_EXCEPTION", "Mute"),
            (Coy("x"), "SKILL_EXCEPTION", "Coy: x"),
            (SystemExit(Mute()), "SKILL_EXIT", "Mute"),
        ):
            with self.assertRaises(type(error)), envoi.step(environ=self.environ) as step:
                step.metrics["llm_calls"] = 3
                raise error
            self.assertEqual((self.left().error, self.left().metrics), ({"code": code, "message": message}, {"llm_calls": 3}))

    def test_as_a_command_it_exits_with_1_and_shows_the_exception(self) -> None:
        program = "import envoi\nwith envoi.step() as step:\n    step.text('x')\n    raise ValueError('bad \\udcff')\n"
        run = subprocess.run(
            [sys.executable, "-B", "-c", program], env={**os.environ, **self.environ}, capture_output=True, text=True
        )
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("ValueError", run.stderr)
        self.assertEqual(self.left().error, {"code": "SKILL_EXCEPTION", "message": "ValueError: bad ?"})

    def test_killed_it_leaves_no_report(self) -> None:
        program = "import os, signal, envoi\nwith envoi.step() as step:\n    step.data = 1\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        subprocess.run([sys.executable, "-B", "-c", program], env={**os.environ, **self.environ})
        self.assertFalse(self.report.parent.exists())

    def test_without_envoi_the_text_goes_to_stdout(self) -> None:
        program = "import envoi\nwith envoi.step() as step:\n    step.text('hello', step.id or 'nobody')\n"
        outside = {name: value for name, value in os.environ.items() if not name.startswith("ENVOI_")}
        run = subprocess.run([sys.executable, "-B", "-c", program], env=outside, capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "hello nobody\n", ""))


if __name__ == "__main__":
    unittest.main()
