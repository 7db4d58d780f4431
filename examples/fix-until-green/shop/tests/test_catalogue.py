import unittest

from shop.catalogue import Catalogue, Product, UnknownProduct

from .fixtures import catalogue


class Finding(unittest.TestCase):
    def test_rows_become_products(self):
        self.assertEqual(
            catalogue().find("tea"), Product("tea", "Green tea", 495, 110, "reduced")
        )
        self.assertEqual(len(catalogue()), 5)

    def test_an_unknown_article_number_is_named(self):
        with self.assertRaisesRegex(UnknownProduct, "cofee"):
            catalogue().find("cofee")

    def test_article_numbers_are_unique(self):
        tea = Product("tea", "Green tea", 495)
        with self.assertRaises(ValueError):
            Catalogue([tea, tea])


class Refusing(unittest.TestCase):
    def test_negative_price(self):
        with self.assertRaises(ValueError):
            Product("x", "x", -1)

    def test_negative_weight(self):
        with self.assertRaises(ValueError):
            Product("x", "x", 1, -1)

    def test_unknown_tax_class(self):
        with self.assertRaises(ValueError):
            Product("x", "x", 1, 1, "luxury")

    def test_a_price_of_nothing_is_allowed(self):
        self.assertEqual(Product("x", "Sample", 0).price_cents, 0)
