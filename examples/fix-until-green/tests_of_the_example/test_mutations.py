import unittest

from repairer.mutations import propose


def results(source):
    return {edit.apply(source.encode()).decode() for edit in propose("x.py", source.encode())}


class Proposals(unittest.TestCase):
    def test_each_kind_of_slip_is_proposed(self):
        for source, expected in (
            ("a < b", "a <= b"),
            ("a <= b", "a < b"),
            ("a == b", "a != b"),
            ("a in b", "a not in b"),
            ("(a) > (b)", "(a) >= (b)"),
            ("a < b <= c", "a < b < c"),
            ("a + b", "a - b"),
            ("a // b", "a * b"),
            ("a and b", "a or b"),
            ("not a", "a"),
            ("min(a, b)", "max(a, b)"),
            ("math.floor(a)", "math.ceil(a)"),
            ("a[1]", "a[0]"),
            ("a[:b]", "a[:b + 1]"),
            ("range(a)", "range(a - 1)"),
            ("range(a - 1)", "range(a)"),
            ("x = 5_00", "x = 50_00"),
            ("x = 10_000", "x = 1_000"),
            ("x = 10_000", "x = 9_999"),
            ("from m import up, down\nup(a)", "from m import up, down\ndown(a)"),
        ):
            with self.subTest(source):
                self.assertIn(expected, results(source))

    def test_nothing_else_on_the_line_changes(self):
        source = "if  a<b :   # < is right here, isn't it?"
        self.assertIn("if  a<=b :   # < is right here, isn't it?\n  pass", results(source + "\n  pass"))

    def test_letters_outside_ascii_do_not_shift_the_place(self):
        self.assertIn('x = "größer" if a <= b else "·"', results('x = "größer" if a < b else "·"'))

    def test_what_does_not_parse_is_not_proposed(self):
        for source in ("def f(a=1):\n    return -a - 1\n", "x = a if b else -1\n", "x = 1 .real\n"):
            for result in results(source):
                compile(result, "x.py", "exec")

    def test_strings_and_truth_values_are_not_numbers(self):
        self.assertEqual(results('x = "1"\ny = True\nz = f"{1 + 2}"\n'), set())

    def test_the_order_is_the_same_each_time(self):
        source = b"def f(a, b):\n    return max(a + 1, b) if a < b and a else a[1:b]\n"
        self.assertEqual(propose("x.py", source), propose("x.py", source))
