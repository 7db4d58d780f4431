import unittest

from slugs import slug


class Slugs(unittest.TestCase):
    def test_words_are_joined(self):
        self.assertEqual(slug("one two"), "one-two")

    def test_letters_are_lower_case(self):
        self.assertEqual(slug("One Two"), "one-two")

    def test_signs_and_spaces_are_one_hyphen(self):
        self.assertEqual(slug("  What, now?  "), "what-now")


if __name__ == "__main__":
    unittest.main()
