"""Small packages to repair, and a visit made as the engine makes it: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent

TIERS = """\
def percent(quantity):  # of the list price
    if quantity > 10:
        return 7
    return 0


def off(price, quantity):
    return price * quantity * percent(quantity) // 100
"""

TIER_TESTS = """\
import unittest

from goods import tiers


class Tiers(unittest.TestCase):
    def test_below(self):
        self.assertEqual(tiers.percent(9), 0)

    def test_at(self):
        self.assertEqual(tiers.percent(10), 7)

    def test_above(self):
        self.assertEqual(tiers.percent(11), 7)

    def test_off(self):
        self.assertEqual(tiers.off(100, 20), 140)
"""

# No single small edit makes this pass: the tests want something quite different.
UNREPAIRABLE_TESTS = TIER_TESTS + """
    def test_wants_the_impossible(self):
        self.assertEqual(tiers.percent(123456), "a word")
"""


def make_package(folder, source=TIERS, tests=TIER_TESTS):
    """A package `goods` in `folder`, with one file and one file of tests."""
    package = Path(folder) / "goods"
    (package / "tests").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "tiers.py").write_text(source)
    (package / "tests" / "__init__.py").write_text("")
    (package / "tests" / "test_tiers.py").write_text(tests)
    return package


def critic(package):
    """Run the suite as the flow does; returns the exit code and what the engine would hand on as feedback."""
    command = ["unittest", "discover", "-s", str(package / "tests"), "-t", str(package / "..")]
    done = subprocess.run([sys.executable, "-B", "-m", *command], capture_output=True, text=True)
    return done.returncode, f"{done.stdout}\n--- stderr\n{done.stderr}"


def environment(package, visit, feedback=None):
    """What the engine sets for one visit."""
    variables = {"ENVOI_RUN_ID": "run_1", "ENVOI_VISIT": str(visit), "ENVOI_KEY": f"run_1/repair.{visit}"}
    if feedback is not None:
        path = package.parent / "feedback"
        path.write_text(feedback)
        variables["ENVOI_FEEDBACK"] = str(path)
    return variables


def start_repair(package, variables):
    return subprocess.Popen(
        [sys.executable, "-B", str(EXAMPLE / "repair.py"), str(package)],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
