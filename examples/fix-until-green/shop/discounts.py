"""Discounts on one line: for quantity, and for bundles. A line gets the better of the two."""

from dataclasses import dataclass

from .money import round_half_up


@dataclass(frozen=True)
class Tier:
    """From this quantity on, so many per cent off the line."""

    from_quantity: int
    percent: int


@dataclass(frozen=True)
class Bundle:
    """Take ``take``, pay for ``pay``."""

    take: int
    pay: int

    def __post_init__(self):
        if not 0 < self.pay < self.take:
            raise ValueError("a bundle has to give something away, and not everything")


DEFAULT_TIERS = (Tier(5, 3), Tier(10, 7), Tier(50, 12))


def tier_for(quantity, tiers=DEFAULT_TIERS):
    """The highest tier that ``quantity`` reaches, or None."""
    reached = None
    for tier in sorted(tiers, key=lambda each: each.from_quantity):
        if quantity > tier.from_quantity:
            reached = tier
    return reached


def quantity_discount(line, tiers=DEFAULT_TIERS):
    """Cents off the line for its quantity."""
    tier = tier_for(line.quantity, tiers)
    if tier is None:
        return 0
    return round_half_up(line.list_cents * tier.percent, 100)


def bundle_discount(line, bundle):
    """Cents off the line for the complete bundles in it."""
    complete = line.quantity // bundle.take
    return complete * (bundle.take - bundle.pay) * line.product.price_cents


def line_discount(line, bundles, tiers=DEFAULT_TIERS):
    """Cents off the line: the better of its quantity discount and its bundle, never both."""
    for_quantity = quantity_discount(line, tiers)
    bundle = bundles.get(line.product.sku)
    if bundle is None:
        return for_quantity
    return max(for_quantity, bundle_discount(line, bundle))
