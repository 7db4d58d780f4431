"""What the shop sells."""

from dataclasses import dataclass

from . import money

TAX_CLASSES = ("standard", "reduced", "exempt")


class UnknownProduct(KeyError):
    """Nothing in the catalogue has this article number."""


@dataclass(frozen=True)
class Product:
    """One article. The price is net, without tax."""

    sku: str
    name: str
    price_cents: int
    weight_grams: int = 0
    tax_class: str = "standard"

    def __post_init__(self):
        if self.price_cents < 0:
            raise ValueError(f"{self.sku}: a price cannot be negative")
        if self.weight_grams < 0:
            raise ValueError(f"{self.sku}: a weight cannot be negative")
        if self.tax_class not in TAX_CLASSES:
            raise ValueError(f"{self.sku}: unknown tax class {self.tax_class!r}")


class Catalogue:
    """Products by article number."""

    def __init__(self, products=()):
        self._products = {}
        for product in products:
            self.add(product)

    @classmethod
    def from_rows(cls, rows):
        """Read rows of text: article number, name, price, grams, tax class."""
        return cls(
            Product(sku, name, money.parse(price), int(grams), tax_class)
            for sku, name, price, grams, tax_class in rows
        )

    def add(self, product):
        if product.sku in self._products:
            raise ValueError(f"{product.sku} is in the catalogue already")
        self._products[product.sku] = product

    def find(self, sku):
        try:
            return self._products[sku]
        except KeyError:
            raise UnknownProduct(sku) from None

    def __len__(self):
        return len(self._products)
