import unittest

from shop.shipping import CannotShip, parcel_price, shipping_price


class Parcels(unittest.TestCase):
    def test_the_smallest_that_holds_it(self):
        for grams, cents in ((1, 290), (501, 490), (2500, 790), (20000, 1590)):
            with self.subTest(grams=grams):
                self.assertEqual(parcel_price(grams), cents)

    def test_a_parcel_may_be_full(self):
        for grams, cents in ((500, 290), (2000, 490), (10000, 790), (31500, 1590)):
            with self.subTest(grams=grams):
                self.assertEqual(parcel_price(grams), cents)

    def test_too_heavy(self):
        with self.assertRaises(CannotShip):
            parcel_price(31501)


class Prices(unittest.TestCase):
    def test_small_orders_pay(self):
        self.assertEqual(shipping_price(700, 1995), 490)

    def test_one_cent_less_than_free(self):
        self.assertEqual(shipping_price(700, 4999), 490)

    def test_free_from_fifty(self):
        self.assertEqual(shipping_price(700, 5000), 0)
        self.assertEqual(shipping_price(700, 12000), 0)

    def test_neighbours_pay_a_surcharge(self):
        self.assertEqual(shipping_price(700, 1995, "FR"), 890)

    def test_neighbours_pay_for_large_orders_too(self):
        self.assertEqual(shipping_price(700, 12000, "AT"), 890)

    def test_what_weighs_nothing_is_not_sent(self):
        self.assertEqual(shipping_price(0, 1000), 0)
        self.assertEqual(shipping_price(0, 1000, "FR"), 0)

    def test_elsewhere(self):
        with self.assertRaisesRegex(CannotShip, "BR"):
            shipping_price(700, 1995, "BR")
