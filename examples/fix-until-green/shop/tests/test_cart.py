import unittest

from shop.catalogue import UnknownProduct

from .fixtures import cart


class Filling(unittest.TestCase):
    def test_adding_twice_adds_up(self):
        filled = cart(tea=2)
        filled.add("tea", 3)
        self.assertEqual([line.quantity for line in filled.lines()], [5])

    def test_lines_stay_in_the_order_of_adding(self):
        filled = cart(pot=1, tea=1)
        filled.add("pot")
        self.assertEqual([line.product.sku for line in filled.lines()], ["pot", "tea"])

    def test_removing_some_and_all(self):
        filled = cart(tea=3, mug=1)
        filled.remove("tea", 2)
        filled.remove("mug")
        self.assertEqual([(l.product.sku, l.quantity) for l in filled.lines()], [("tea", 1)])

    def test_more_than_there_are_cannot_be_removed(self):
        with self.assertRaises(ValueError):
            cart(tea=1).remove("tea", 2)

    def test_nothing_cannot_be_added(self):
        with self.assertRaises(ValueError):
            cart().add("tea", 0)

    def test_only_what_is_sold_can_be_added(self):
        with self.assertRaises(UnknownProduct):
            cart().add("coffee")

    def test_weight(self):
        self.assertEqual(cart(tea=2, mug=1).weight_grams(), 570)
