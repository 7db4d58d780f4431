import unittest

from shop.cart import Line
from shop.catalogue import Product
from shop.discounts import (
    Bundle,
    Tier,
    bundle_discount,
    line_discount,
    quantity_discount,
    tier_for,
)

TEA = Product("tea", "Green tea", 495)


def line(quantity):
    return Line(TEA, quantity)


class Quantity(unittest.TestCase):
    def test_below_the_first_tier_there_is_none(self):
        self.assertIsNone(tier_for(4))
        self.assertEqual(quantity_discount(line(4)), 0)

    def test_between_two_tiers_the_lower_one_holds(self):
        self.assertEqual(tier_for(7), Tier(5, 3))
        self.assertEqual(tier_for(49), Tier(10, 7))

    def test_a_tier_holds_from_its_quantity_on(self):
        self.assertEqual(tier_for(5), Tier(5, 3))
        self.assertEqual(tier_for(10), Tier(10, 7))
        self.assertEqual(tier_for(50), Tier(50, 12))

    def test_far_above_the_last_tier_it_still_holds(self):
        self.assertEqual(tier_for(5000), Tier(50, 12))

    def test_the_order_of_the_tiers_does_not_matter(self):
        self.assertEqual(tier_for(30, (Tier(20, 9), Tier(2, 1))), Tier(20, 9))

    def test_discount_is_rounded_to_the_nearest_cent(self):
        # 7 * 4.95 = 34.65; 3 per cent are 1.0395
        self.assertEqual(quantity_discount(line(7)), 104)


class Bundles(unittest.TestCase):
    def test_take_three_pay_two(self):
        offer = Bundle(take=3, pay=2)
        self.assertEqual(bundle_discount(line(2), offer), 0)
        self.assertEqual(bundle_discount(line(3), offer), 495)
        self.assertEqual(bundle_discount(line(5), offer), 495)
        self.assertEqual(bundle_discount(line(6), offer), 990)

    def test_a_bundle_gives_something_but_not_everything(self):
        for take, pay in ((3, 3), (3, 4), (3, 0)):
            with self.subTest(take=take, pay=pay), self.assertRaises(ValueError):
                Bundle(take, pay)

    def test_a_line_gets_the_better_of_the_two(self):
        bundles = {"tea": Bundle(take=20, pay=19)}
        self.assertEqual(line_discount(line(20), bundles), 693)
        self.assertEqual(line_discount(line(20), {"tea": Bundle(take=4, pay=3)}), 2475)

    def test_without_a_bundle_the_quantity_counts(self):
        self.assertEqual(line_discount(line(8), {}), 119)
