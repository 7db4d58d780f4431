"""The conformance vectors, and the command that runs them."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import envoi
from envoi.conformance import run_file

VECTORS = Path(__file__).resolve().parents[3] / "spec" / "vectors"


def command(*files: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-B", "-m", "envoi.conformance", *files], capture_output=True, text=True, encoding="utf-8"
    )


class Vectors(unittest.TestCase):
    def test_every_vector_passes(self) -> None:
        files = sorted(VECTORS.glob("*.json"))
        self.assertGreaterEqual(len(files), 5)
        for file in files:
            for outcome in run_file(file.read_bytes()):
                with self.subTest(file=file.name, name=outcome.name):
                    self.assertTrue(outcome.passed, f"expected {outcome.expected}, got {outcome.got}")


class TheCommand(unittest.TestCase):
    def test_failures_are_lines_and_the_last_line_counts(self) -> None:
        cases = [
            {"op": "route.convert", "name": "right", "input": {"signal": {"decision": "next"}, "to": "resolver"},
             "expect": {"decision": "proceed", "next_step_id": None, "route": None, "reason": "", "confidence": 7e-1}},
            {"op": "user_envelope.answer_text", "name": "wrong", "input": {"approved": False}, "expect": "yes"},
            {"op": "route.guess", "name": "unknown op", "input": {}, "expect": {}},
            {"op": "envelope.apply", "name": "unknown operation", "input": {"operations": [{"op": "fly"}]}, "expect": {}},
            {"op": "route.convert", "name": "no expectation", "input": {"signal": {"decision": "next"}, "to": "resolver"}},
            {"op": "user_envelope.answer_text", "name": "a value where a refusal is due", "input": {}, "expect": "[Approved by operator]", "expect_error": "X"},
            {"op": "envelope.roundtrip", "name": "another code", "input_text": "[]", "expect_error": "HANDOFF_INVALID"},
            7,
        ]  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "cases.json")
            file.write_text(envoi.json.dumps(cases), encoding="utf-8")
            run = command(file)
        *failures, last = run.stdout.splitlines()
        names = [line.removeprefix(f"{file}: ").partition(": expected ")[0] for line in failures]
        self.assertEqual(last, "1 passed, 7 failed")
        self.assertEqual(names, [*(case["name"] for case in cases[1:-1]), "case 7"])
        self.assertEqual(run.returncode, 1)

    def test_a_file_that_is_no_list_of_cases_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "cases.json")
            file.write_text("{}", encoding="utf-8")
            run = command(file)
            missing = command(Path(folder, "none.json"))
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("VECTORS_INVALID", run.stderr)
        self.assertEqual((missing.returncode, missing.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()
