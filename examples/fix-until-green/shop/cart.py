"""What a customer wants to buy, before any discount or tax."""

from dataclasses import dataclass

from .catalogue import Product


@dataclass(frozen=True)
class Line:
    """So many of one product."""

    product: Product
    quantity: int

    @property
    def list_cents(self):
        """The price of the line without any discount."""
        return self.product.price_cents * self.quantity

    @property
    def weight_grams(self):
        return self.product.weight_grams * self.quantity


class Cart:
    """Lines in the order in which their products were first added."""

    def __init__(self, catalogue):
        self._catalogue = catalogue
        self._quantities = {}

    def add(self, sku, quantity=1):
        if quantity < 1:
            raise ValueError("at least one piece has to be added")
        product = self._catalogue.find(sku)
        self._quantities[product.sku] = self._quantities.get(product.sku, 0) + quantity

    def remove(self, sku, quantity=1):
        left = self._quantities.get(sku, 0) - quantity
        if left < 0:
            raise ValueError(f"there are not {quantity} of {sku} in the cart")
        if left == 0:
            del self._quantities[sku]
        else:
            self._quantities[sku] = left

    def lines(self):
        return [
            Line(self._catalogue.find(sku), quantity)
            for sku, quantity in self._quantities.items()
        ]

    def weight_grams(self):
        return sum(line.weight_grams for line in self.lines())
