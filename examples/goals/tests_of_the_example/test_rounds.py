import os
import tempfile
import unittest

import check
import plan
import write


class Rounds(unittest.TestCase):
    def setUp(self):
        self.before = os.getcwd()
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir(self.before)
        self.folder.cleanup()

    def test_each_line_of_the_outline_is_a_goal(self):
        self.assertEqual(plan.chapters("a\n\n b \n"), ["a", "b"])

    def test_a_chapter_is_done_when_it_is_long_enough(self):
        self.assertEqual(check.done(["care", "repair"]), [])
        write.work("care")
        write.work("repair")
        self.assertEqual(check.done(["care", "repair"]), ["care"])
        write.work("repair")
        self.assertEqual(check.done(["repair"]), ["repair"])


if __name__ == "__main__":
    unittest.main()
