import unittest
from datetime import date

from shop.coupons import Coupon, CouponRefused, check, coupon_discount

MAY = {"starts": date(2026, 5, 1), "ends": date(2026, 5, 31)}


class Validity(unittest.TestCase):
    coupon = Coupon("MAY", percent=10, minimum_cents=2000, **MAY)

    def test_both_days_are_included(self):
        check(self.coupon, 5000, date(2026, 5, 1))
        check(self.coupon, 5000, date(2026, 5, 31))

    def test_too_early_and_too_late(self):
        for day in (date(2026, 4, 30), date(2026, 6, 1)):
            with self.subTest(day), self.assertRaises(CouponRefused):
                check(self.coupon, 5000, day)

    def test_the_minimum_is_enough(self):
        check(self.coupon, 2000, date(2026, 5, 10))

    def test_below_the_minimum(self):
        with self.assertRaisesRegex(CouponRefused, "larger order"):
            check(self.coupon, 1999, date(2026, 5, 10))

    def test_a_coupon_is_either_of_two_kinds(self):
        for kinds in ({}, {"percent": 10, "amount_cents": 500}):
            with self.subTest(kinds), self.assertRaises(ValueError):
                Coupon("X", **MAY, **kinds)

    def test_days_in_the_wrong_order(self):
        with self.assertRaises(ValueError):
            Coupon("X", date(2026, 5, 2), date(2026, 5, 1), percent=10)


class Value(unittest.TestCase):
    def test_per_cent_to_the_nearest_cent(self):
        self.assertEqual(coupon_discount(Coupon("P", percent=15, **MAY), 1990), 299)

    def test_everything(self):
        self.assertEqual(coupon_discount(Coupon("P", percent=100, **MAY), 1990), 1990)

    def test_an_amount(self):
        self.assertEqual(coupon_discount(Coupon("A", amount_cents=500, **MAY), 1990), 500)

    def test_an_amount_never_exceeds_the_goods(self):
        self.assertEqual(coupon_discount(Coupon("A", amount_cents=500, **MAY), 320), 320)
