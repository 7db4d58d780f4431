"""Reports on disk: written as a whole or not at all, read back, and what is no report."""

import contextlib
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path
from unittest import mock

import envoi

_COUNT = "an integer from 0 to 2^53 - 1"
_COST = "US dollars from 0 to 18 billion: a number, or a decimal string"

KILLED_WHILE_WRITING = """
import os, signal, sys
import envoi
real = os.fsync
def die(descriptor):
    os.kill(os.getpid(), signal.SIGKILL)
os.fsync = die
envoi.write_skill_report(sys.argv[1], "s", {"half": "x" * 100000})
"""


class Reports(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "deep", "er", "report.json")

    def write(self, *arguments, **named) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            envoi.write_skill_report(self.path, *arguments, **named)
        return printed.getvalue()

    def test_what_an_assigned_report_lacks_is_filled_and_named(self) -> None:
        fill = {"fill_skill_name": "step", "fill_generated_at": "2026-01-02T03:04:05Z"}
        verdict = envoi.judge(exit=0, report_text='{"ok": true, "generatedAt": 7}', assigned=True, **fill)
        self.assertEqual(verdict.filled, ("generatedAt", "skillName", "data"))
        self.assertEqual(verdict.report, envoi.SkillReport(True, "2026-01-02T03:04:05Z", "step", None))
        whole = '{"ok": true, "generatedAt": "t", "skillName": "s", "data": 1}'
        self.assertEqual(envoi.judge(exit=0, report_text=whole, assigned=True, **fill).filled, ())

    def test_a_report_is_two_space_json_and_says_one_line(self) -> None:
        said = self.write("mail-triage", {"n": envoi.json.loads("1.00")}, metrics={"emailCount": 4}, generated_at="2026-02-20T05:30:00.000Z")
        self.assertEqual(said, f"mail-triage: ok, report written to {self.path}\n")
        self.assertEqual(
            self.path.read_text(encoding="utf-8"),
            '{\n  "ok": true,\n  "generatedAt": "2026-02-20T05:30:00.000Z",\n  "skillName": "mail-triage",\n'
            '  "data": {\n    "n": 1.00\n  },\n  "metrics": {\n    "emailCount": 4\n  }\n}\n',
        )

    def test_a_report_that_counts_as_a_failure_says_so_in_its_line(self) -> None:
        said = self.write("s", None, error={"code": "NO_RATES", "message": "the bank is closed"})
        self.assertEqual(said, f"s: failed (NO_RATES: the bank is closed), report written to {self.path}\n")

    def test_data_is_written_even_if_it_is_null(self) -> None:
        self.write("s", None)
        self.assertIn('"data": null', self.path.read_text(encoding="utf-8"))

    def test_an_error_means_not_ok_unless_said_otherwise(self) -> None:
        rows = (
            ({"error": "no rates"}, False, {"code": "SKILL_ERROR", "message": "no rates"}),
            ({"error": {"code": "X", "message": "m", "more": 1}}, False, {"code": "X", "message": "m", "more": 1}),
            ({"error": envoi.SkillError("X", "m"), "ok": True}, True, {"code": "X", "message": "m"}),
            ({"ok": False}, False, {"code": "SKILL_REPORTED_FAILURE", "message": "Skill reported ok:false"}),
        )
        for named, ok, error in rows:
            self.write("s", None, **named)
            report = envoi.read_skill_report(self.path)
            self.assertEqual((report.ok, report.error), (ok, error))

    def test_what_json_cannot_say_leaves_no_file_and_spares_the_old_one(self) -> None:
        self.assertRaises(envoi.JsonError, self.write, "s", {"x": float("nan")})
        self.assertFalse(self.path.exists())
        self.write("s", "old")
        self.assertRaises(envoi.JsonError, self.write, "s", {"x": object()})
        self.assertEqual(envoi.read_skill_report(self.path).data, "old")

    def test_what_no_reader_would_take_for_a_report_is_not_written(self) -> None:
        self.write("s", "old")
        for arguments, named, pointer, expected, found in (
            ((None, 1), {}, "/skillName", "a string", "`null`"),
            (("s", 1), {"ok": "no"}, "/ok", "true or false", '`"no"`'),
            (("s", 1), {"ok": 0}, "/ok", "true or false", "`0`"),
            (("s", 1), {"generated_at": 1}, "/generatedAt", "a string", "`1`"),
            (("s", 1), {"metrics": [1]}, "/metrics", "an object", "an array"),
            *(
                (("s", 1), {"metrics": {name: figure}}, f"/metrics/{name}", expected, found)
                for name, expected, figure, found in (
                    ("llm_calls", _COUNT, "12", '`"12"`'),
                    ("llm_calls", _COUNT, 1.5, "`1.5`"),
                    ("llm_calls", _COUNT, True, "`true`"),
                    ("tokens_in", _COUNT, -1, "`-1`"),
                    ("tokens_out", _COUNT, 1e30, "`1e+30`"),
                    ("cost_usd", _COST, -5, "`-5`"),
                    ("cost_usd", _COST, "NaN", '`"NaN"`'),
                    ("cost_usd", _COST, "1e3", '`"1e3"`'),
                    ("cost_usd", _COST, 18446744074, "`18446744074`"),
                    ("cost_usd", _COST, 1e300, "`1e+300`"),
                    ("cost_usd", _COST, [], "an array"),
                )
            ),
            (("s", "x" * envoi.json.MAX_BYTES), {}, "", "a document of at most 16 MiB", "16777289 bytes"),
        ):
            with self.assertRaises(envoi.ContractError, msg=pointer) as caught:
                self.write(*arguments, **{"generated_at": "t", **named})
            refusal = caught.exception
            self.assertEqual((refusal.code, refusal.pointer), ("SKILL_REPORT_INVALID", pointer))
            self.assertEqual((refusal.expected, refusal.found), (expected, found))
        self.assertEqual(envoi.read_skill_report(self.path).data, "old")
        self.assertRaises(envoi.ContractError, envoi.SkillReport(1, "t", "s").to_json)

    def test_figures_that_the_engine_counts_are_written(self) -> None:
        for metrics in (
            {"llm_calls": 0, "tokens_in": 2**53 - 1, "tokens_out": 5.0, "cost_usd": "0.000125"},
            {"cost_usd": 3.5e-05, "llm_calls": None},
            {"cost_usd": Decimal("18446744073.709551615")},
            {"cost_usd": -0.0, "other": "anything", "more": -1},
        ):
            self.write("s", 1, metrics=metrics)
            self.assertEqual(set(envoi.read_skill_report(self.path).metrics), set(metrics))

    def test_a_refusal_says_where(self) -> None:
        for arguments, named, pointer in (
            (("s", {"a": [object()]}), {}, "/data/a/0"),
            (("s", 1), {"metrics": {"at": object()}}, "/metrics/at"),
            (("s", 1), {"error": {"message": object()}}, "/error/message"),
        ):
            with self.assertRaises(envoi.JsonError) as caught:
                self.write(*arguments, **named)
            self.assertEqual(caught.exception.pointer, pointer)

    def test_a_failure_while_writing_spares_the_old_file_and_leaves_nothing_beside_it(self) -> None:
        self.write("s", "old")
        with mock.patch("os.replace", side_effect=OSError("no space left")):
            self.assertRaises(OSError, self.write, "s", "new")
        self.assertEqual(envoi.read_skill_report(self.path).data, "old")
        self.assertEqual(os.listdir(self.path.parent), ["report.json"])

    @unittest.skipUnless(hasattr(signal, "SIGKILL"), "needs signals")
    def test_a_kill_while_writing_spares_the_old_file(self) -> None:
        self.write("s", "old")
        run = subprocess.run([sys.executable, "-B", "-c", KILLED_WHILE_WRITING, self.path])
        self.assertEqual(run.returncode, -signal.SIGKILL)
        self.assertEqual(envoi.read_skill_report(self.path).data, "old")

    @unittest.skipUnless(os.name == "posix", "needs permissions")
    def test_a_report_has_the_permissions_of_any_new_file(self) -> None:
        self.write("s", None)
        other = self.path.with_name("other")
        other.touch()
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), stat.S_IMODE(other.stat().st_mode))

    def test_the_end_of_stderr_explains_an_exit(self) -> None:
        error = envoi.judge(exit=1, stderr="first words " + "x" * 1990 + " last words\n").error
        self.assertEqual((error.code, len(error.message)), ("TOOL_EXIT_NON_ZERO", 2000))
        self.assertTrue(error.message.endswith("x last words"))
        self.assertEqual(envoi.judge(signal=9).error.message, "signal 9")
        self.assertEqual(envoi.judge(exit=3, stderr=" \n").error.message, "exit code 3")

    def test_no_file_and_no_report_are_none(self) -> None:
        self.assertIsNone(envoi.read_skill_report(self.path))
        self.path.parent.mkdir(parents=True)
        for text in ("", "{}", '{"ok": 1, "generatedAt": "t", "skillName": "s"}', '{"ok": true, "ok": true}', "\xff"):
            self.path.write_bytes(text.encode("latin-1"))
            self.assertIsNone(envoi.read_skill_report(self.path), text)
        self.path.write_text('{"skillName": "s", "ok": false, "generatedAt": "any"}')
        self.assertIs(envoi.read_skill_report(self.path).data, envoi.ABSENT)


if __name__ == "__main__":
    unittest.main()
