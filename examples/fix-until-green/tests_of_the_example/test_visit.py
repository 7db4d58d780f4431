import ast
import json
import os
import signal
import tempfile
import unittest
from pathlib import Path

from repairer import notebook as notebook_module
from repairer import suite, visit
from repairer.notebook import Notebook, read_lines

from .packages import TIER_TESTS, TIERS, UNREPAIRABLE_TESTS, critic, environment, make_package, start_repair


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def visit(self, package, number, budget=visit.BUDGET):
        return visit.repair(package, environment(package, number, critic(package)[1]), budget)

    def changes(self):
        return read_lines(self.folder / ".repair" / "changes.jsonl")

    def tried(self):
        path = self.folder / ".repair" / "tried.json"
        return json.loads(path.read_text()) if path.exists() else {}


class OneVisit(InAFolder):
    def test_without_feedback_nothing_is_touched(self):
        package = make_package(self.folder)
        self.assertIn("No feedback yet", visit.repair(package, environment(package, 1)))
        self.assertEqual((package / "tiers.py").read_text(), TIERS)

    def test_keeps_a_change_that_helps_and_touches_nothing_else(self):
        package = make_package(self.folder)
        said = self.visit(package, 2)
        self.assertIn("comparison `>` became `>=`", said)
        self.assertEqual((package / "tiers.py").read_text(), TIERS.replace("> 10", ">= 10"))
        self.assertEqual(critic(package)[0], 0)

    def test_the_change_says_where_what_and_why(self):
        package = make_package(self.folder)
        self.visit(package, 2)
        (change,) = self.changes()
        self.assertEqual((change["file"], change["line"], change["visit"]), ("tiers.py", 2, 2))
        self.assertEqual(change["before"], "    if quantity > 10:")
        self.assertEqual(change["after"], "    if quantity >= 10:")
        self.assertEqual(change["tests_fixed"], ["goods.tests.test_tiers.Tiers.test_at"])
        self.assertEqual(change["why"]["failing_test"], "goods.tests.test_tiers.Tiers.test_at")

    def test_what_fixes_one_test_and_breaks_another_is_not_kept(self):
        opposite = "\n    def test_at_too(self):\n        self.assertEqual(tiers.percent(10), 0)\n"
        package = make_package(self.folder, tests=TIER_TESTS + opposite)
        self.assertIn("No candidate left", self.visit(package, 2, budget=100))
        self.assertEqual((package / "tiers.py").read_text(), TIERS)
        self.assertIn("breaks 1", [entry["verdict"] for entry in self.tried().values()])

    def test_a_green_package_stays_as_it_is(self):
        package = make_package(self.folder, TIERS.replace("> 10", ">= 10"))
        said = visit.repair(package, environment(package, 2, "FAIL: test_old (goods.tests.Gone.test_old)"))
        self.assertIn("nothing to repair", said)
        self.assertEqual(self.tried(), {})

    def test_the_same_package_takes_the_same_way(self):
        ways = []
        for name in ("one", "two"):
            package = make_package(self.folder / name)
            self.visit(package, 2)
            entries = json.loads((package.parent / ".repair" / "tried.json").read_text())
            ways.append(list(entries))
        self.assertEqual(*ways)


class ManyVisits(InAFolder):
    def test_no_program_is_judged_twice_and_the_end_is_said(self):
        package = make_package(self.folder, tests=UNREPAIRABLE_TESTS)
        judged = []
        original = visit._judge
        self.addCleanup(setattr, visit, "_judge", original)

        def spy(edit, sources, copy):
            judged.append(visit.digest({**sources, edit.file: edit.apply(sources[edit.file])}))
            return original(edit, sources, copy)

        visit._judge = spy
        for number in range(2, 60):
            said = self.visit(package, number, budget=4)
            if "No candidate left" in said:
                break
        self.assertIn("Can further iteration help: no", said)
        self.assertGreater(len(judged), 8)
        self.assertEqual(len(judged), len(set(judged)))

    def test_what_cannot_be_repaired_never_turns_green(self):
        package = make_package(self.folder, tests=UNREPAIRABLE_TESTS)
        for number in range(2, 60):
            if "No candidate left" in self.visit(package, number, budget=30):
                break
        self.assertEqual(critic(package)[0], 1)
        self.assertEqual([change["what"] for change in self.changes()], ["comparison `>` became `>=`"])

    def test_a_visit_that_is_over_budget_hands_on_to_the_next(self):
        package = make_package(self.folder, tests=UNREPAIRABLE_TESTS)
        self.visit(package, 2)
        self.assertIn("goes on in the next visit", self.visit(package, 3, budget=2))
        self.assertEqual(len([entry for entry in self.tried().values() if entry["visit"] == 3]), 2)


class BeingKilled(InAFolder):
    def test_a_visit_that_made_its_change_does_not_make_another(self):
        package = make_package(self.folder, tests=UNREPAIRABLE_TESTS)
        variables = environment(package, 2, critic(package)[1])
        visit.repair(package, variables)
        source, tried = (package / "tiers.py").read_text(), self.tried()
        self.assertIn("already", visit.repair(package, variables))
        self.assertEqual(((package / "tiers.py").read_text(), self.tried()), (source, tried))

    def test_killed_before_any_write_it_is_completed_by_the_next_attempt(self):
        for survived in range(8):
            with self.subTest(writes=survived):
                package = make_package(self.folder / str(survived))
                variables = environment(package, 2, critic(package)[1])
                self.kill_after_writes(package, variables, survived)
                self.assertIn((package / "tiers.py").read_text(), (TIERS, TIERS.replace("> 10", ">= 10")))
                visit.repair(package, variables)
                self.assertEqual((package / "tiers.py").read_text(), TIERS.replace("> 10", ">= 10"))
                self.assertEqual(len(read_lines(package.parent / ".repair" / "changes.jsonl")), 1)
                self.assertFalse((package.parent / ".repair" / "pending.json").exists())

    def kill_after_writes(self, package, variables, survived):
        """Make a visit in a child that is killed before its write number `survived`."""
        child = os.fork()
        if child == 0:
            original, count = notebook_module.write, [0]

            def write(path, content):
                if count[0] == survived:
                    os.kill(os.getpid(), signal.SIGKILL)
                count[0] += 1
                original(path, content)

            notebook_module.write = write
            visit.repair(package, variables)
            os._exit(0)
        os.waitpid(child, 0)

    def test_killed_at_any_moment_the_package_parses_and_the_next_attempt_repairs_it(self):
        for candidates in range(0, 3):
            with self.subTest(candidates=candidates):
                package = make_package(self.folder / str(candidates), tests=UNREPAIRABLE_TESTS)
                variables = environment(package, 2, critic(package)[1])
                process = start_repair(package, variables)
                tried = package.parent / ".repair" / "tried.json"
                while process.poll() is None and self.count(tried) < candidates:
                    pass
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                ast.parse((package / "tiers.py").read_text())
                again = start_repair(package, variables)
                self.assertTrue(again.communicate()[0])
                self.assertEqual(again.returncode, 0)
                self.assertIn(">= 10", (package / "tiers.py").read_text())
                self.assertEqual(list((package.parent / ".repair").glob("scratch-*")), [])

    @staticmethod
    def count(path):
        return len(json.loads(path.read_text())) if path.exists() else 0


class Judging(InAFolder):
    def test_a_program_that_never_ends_passes_nothing(self):
        original = suite.CPU_SECONDS
        self.addCleanup(setattr, suite, "CPU_SECONDS", original)
        suite.CPU_SECONDS = 1
        package = make_package(self.folder, "while True:\n    pass\n")
        self.assertEqual(suite.run(package), suite.NOTHING_PASSED)

    def test_what_tests_print_does_not_disturb_the_result(self):
        package = make_package(self.folder, 'print("{}")\n' + TIERS)
        result = suite.run(package)
        self.assertEqual((len(result.passed), len(result.failed)), (3, 1))

    def test_a_package_that_cannot_be_imported_fails_and_is_left_alone(self):
        package = make_package(self.folder, "import nothing_of_this_name\n")
        said = self.visit(package, 2)
        self.assertIn("No candidate left", said)
        self.assertEqual(self.changes(), [])


class Keeping(InAFolder):
    def test_a_file_keeps_its_mode(self):
        package = make_package(self.folder)
        (package / "tiers.py").chmod(0o640)
        self.visit(package, 2)
        self.assertEqual((package / "tiers.py").stat().st_mode & 0o777, 0o640)

    def test_a_pending_change_that_never_reached_the_package_is_dropped(self):
        package = make_package(self.folder)
        Notebook(package)
        change = {"id": "x", "file": "tiers.py", "key": "k"}
        pending = self.folder / ".repair" / "pending.json"
        pending.write_text(json.dumps({"change": change, "digest": "0" * 64}))
        self.assertEqual(Notebook(package).changes(), [])
        self.assertFalse(pending.exists())
