import unittest

from shop import tax


class Rates(unittest.TestCase):
    def test_whole_results(self):
        self.assertEqual(tax.tax_on(10000, "standard"), 1900)
        self.assertEqual(tax.tax_on(10000, "reduced"), 700)
        self.assertEqual(tax.tax_on(10000, "exempt"), 0)

    def test_nearest_cent(self):
        # 19 per cent of 8.40 are 1.596; 7 per cent of 12.15 are 0.8505
        self.assertEqual(tax.tax_on(840, "standard"), 160)
        self.assertEqual(tax.tax_on(1215, "reduced"), 85)

    def test_half_a_cent_goes_up(self):
        self.assertEqual(tax.tax_on(50, "standard"), 10)
        self.assertEqual(tax.tax_on(150, "reduced"), 11)

    def test_contained_in_a_gross_amount(self):
        self.assertEqual(tax.tax_in(11900, "standard"), 1900)
        self.assertEqual(tax.tax_in(1000, "reduced"), 65)

    def test_unknown_class(self):
        with self.assertRaisesRegex(ValueError, "luxury"):
            tax.tax_on(100, "luxury")


class Sums(unittest.TestCase):
    AMOUNTS = [("reduced", 107), ("reduced", 107), ("standard", 840), ("reduced", 107)]

    def test_rounded_per_line(self):
        # 7 per cent of 1.07 are 0.0749: three times 7 cents
        self.assertEqual(tax.tax_per_line(self.AMOUNTS), {"reduced": 21, "standard": 160})

    def test_rounded_per_total(self):
        # 7 per cent of 3.21 are 0.2247
        self.assertEqual(tax.tax_per_total(self.AMOUNTS), {"reduced": 22, "standard": 160})

    def test_both_agree_where_nothing_is_rounded(self):
        amounts = [("standard", 100), ("standard", 300), ("exempt", 77)]
        self.assertEqual(tax.tax_per_line(amounts), tax.tax_per_total(amounts))

    def test_nothing_to_tax(self):
        self.assertEqual(tax.tax_per_total([]), {})
