"""The example skill: its own tests, and the flow itself when $ENVOI names the binary."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "python-skill"
ENVOI = os.environ.get("ENVOI")


class TheExample(unittest.TestCase):
    def test_its_own_tests_pass(self) -> None:
        command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests_of_the_example", "-t", "."]
        run = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)

    @unittest.skipUnless(ENVOI, "ENVOI does not name the binary")
    def test_the_flow_drafts_until_the_notes_fit(self) -> None:
        run, notes = self.run_flow()
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertTrue(notes.startswith("# Release notes\n\n## Added\n"), notes)
        self.assertLessEqual(len(notes), 260)

    @unittest.skipUnless(ENVOI, "ENVOI does not name the binary")
    def test_an_exception_in_the_skill_fails_the_run_and_is_shown(self) -> None:
        run, _ = self.run_flow(**{"a.removed.md": "Gone."})
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("a fragment is one of added, changed, fixed", run.stdout + run.stderr)

    def run_flow(self, **fragments: str) -> "tuple[subprocess.CompletedProcess[str], str]":
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(shutil.copytree(EXAMPLE, Path(folder, "copy"), ignore=shutil.ignore_patterns(".envoi", "NOTES.md")))
            for name, text in fragments.items():
                (copy / "fragments" / name).write_text(text, encoding="utf-8")
            sdk = f"sdk={ROOT / 'sdk' / 'python' / 'src'}"
            environ = {**os.environ, "ENVOI_HOME": str(copy / ".envoi")}
            command = [str(ENVOI), "run", "flow.yaml", "--input", sdk]
            run = subprocess.run(command, cwd=copy, env=environ, capture_output=True, text=True)
            notes = copy / "NOTES.md"
            return run, notes.read_text(encoding="utf-8") if notes.exists() else ""


if __name__ == "__main__":
    unittest.main()
