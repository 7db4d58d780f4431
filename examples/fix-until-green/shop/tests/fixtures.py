"""A small catalogue for the tests."""

from shop.cart import Cart
from shop.catalogue import Catalogue

ROWS = (
    ("tea", "Green tea", "4.95", "110", "reduced"),
    ("mug", "Mug", "8.40", "350", "standard"),
    ("pot", "Teapot", "39.90", "1400", "standard"),
    ("book", "The book of tea", "12.15", "420", "reduced"),
    ("card", "Gift card", "25.00", "0", "exempt"),
)


def catalogue():
    return Catalogue.from_rows(ROWS)


def cart(**quantities):
    filled = Cart(catalogue())
    for sku, quantity in quantities.items():
        filled.add(sku, quantity)
    return filled
