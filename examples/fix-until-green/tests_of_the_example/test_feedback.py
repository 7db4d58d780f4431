import tempfile
import unittest
from pathlib import Path

from repairer import feedback

TEXT = """\

--- stderr
..F
======================================================================
FAIL: test_at (goods.tests.test_tiers.Tiers.test_at) (quantity=10)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "{package}/tests/test_tiers.py", line 11, in test_at
  File "{package}/tiers.py", line 2, in percent
  File "/usr/lib/python3/unittest/case.py", line 873, in assertEqual
AssertionError: 0 != 7
======================================================================
ERROR: test_old (goods.tests.test_tiers.Tiers)
----------------------------------------------------------------------
FAIL: test_at (goods.tests.test_tiers.Tiers.test_at) (quantity=20)
"""


class Reading(unittest.TestCase):
    def test_failing_tests_are_named_once_in_order_for_old_and_new_pythons(self):
        said = feedback.parse(TEXT, Path("/project/goods"))
        self.assertEqual(
            said.failing, ("goods.tests.test_tiers.Tiers.test_at", "goods.tests.test_tiers.Tiers.test_old")
        )

    def test_only_frames_of_the_package_count(self):
        with tempfile.TemporaryDirectory() as folder:
            said = feedback.parse(TEXT.format(package=folder), Path(folder))
        self.assertEqual(said.frames, {("tests/test_tiers.py", 11), ("tiers.py", 2)})

    def test_no_feedback_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = Path(folder) / "empty"
            empty.write_text("\n")
            for path in (None, "", str(empty), str(empty.with_name("missing"))):
                with self.subTest(path):
                    self.assertIsNone(feedback.read(path, folder))
