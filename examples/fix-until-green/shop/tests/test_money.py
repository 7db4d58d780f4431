import unittest

from shop import money


class Reading(unittest.TestCase):
    def test_reads_whole_amounts_and_cents(self):
        self.assertEqual(money.parse("12"), 1200)
        self.assertEqual(money.parse("12.50"), 1250)
        self.assertEqual(money.parse(" 0.05 "), 5)

    def test_reads_negative_amounts(self):
        self.assertEqual(money.parse("-3.20"), -320)

    def test_refuses_what_is_not_money(self):
        for text in ("", "12.5", "1,50", "12.500", "EUR 3"):
            with self.subTest(text), self.assertRaises(ValueError):
                money.parse(text)

    def test_shows_cents_with_two_digits(self):
        self.assertEqual(money.show(5), "0.05 EUR")
        self.assertEqual(money.show(123456, "CHF"), "1234.56 CHF")

    def test_shows_a_sign_before_the_amount(self):
        self.assertEqual(money.show(-150), "-1.50 EUR")


class Rounding(unittest.TestCase):
    def test_down(self):
        self.assertEqual(money.round_down(199, 100), 1)
        self.assertEqual(money.round_down(200, 100), 2)

    def test_half_up(self):
        self.assertEqual(money.round_half_up(149, 100), 1)
        self.assertEqual(money.round_half_up(150, 100), 2)
        self.assertEqual(money.round_half_up(151, 100), 2)

    def test_half_up_with_an_odd_denominator(self):
        self.assertEqual(money.round_half_up(4, 3), 1)
        self.assertEqual(money.round_half_up(5, 3), 2)


class Splitting(unittest.TestCase):
    def test_an_even_split_has_nothing_left_over(self):
        self.assertEqual(money.split(900, [1, 1, 1]), [300, 300, 300])

    def test_a_split_in_proportion(self):
        self.assertEqual(money.split(1000, [3, 1]), [750, 250])

    def test_one_cent_left_over_goes_to_the_first_of_equals(self):
        self.assertEqual(money.split(100, [1, 1, 1]), [34, 33, 33])

    def test_two_cents_left_over_go_to_two_parts(self):
        self.assertEqual(money.split(101, [1, 1, 1]), [34, 34, 33])

    def test_who_lost_most_comes_first(self):
        self.assertEqual(money.split(10, [5, 9]), [4, 6])

    def test_parts_always_add_up(self):
        for total in range(0, 200, 7):
            for weights in ([1], [1, 2], [3, 3, 7], [1999, 1, 450, 45]):
                self.assertEqual(sum(money.split(total, weights)), total)

    def test_weights_of_nothing_are_refused(self):
        with self.assertRaises(ValueError):
            money.split(100, [0, 0])
