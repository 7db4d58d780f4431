"""From a cart to an invoice.

The order is: discounts of the lines, then the coupon (spread over the lines, because they may have
different tax rates), then shipping, then tax. Shipping is taxed at the standard rate.
"""

from dataclasses import dataclass

from . import coupons, money, shipping, tax
from .discounts import DEFAULT_TIERS, line_discount


@dataclass(frozen=True)
class Terms:
    """How a shop computes its invoices."""

    tiers: tuple = DEFAULT_TIERS
    bundles: tuple = ()
    round_tax_per_line: bool = False


@dataclass(frozen=True)
class InvoiceLine:
    name: str
    quantity: int
    tax_class: str
    list_cents: int
    discount_cents: int
    coupon_cents: int

    @property
    def net_cents(self):
        return self.list_cents - self.discount_cents + self.coupon_cents


@dataclass(frozen=True)
class Invoice:
    lines: tuple
    shipping_cents: int
    taxes: dict

    @property
    def goods_cents(self):
        return sum(line.net_cents for line in self.lines)

    @property
    def net_cents(self):
        return self.goods_cents + self.shipping_cents

    @property
    def gross_cents(self):
        return self.net_cents + sum(self.taxes.values())


def make_invoice(cart, today, terms=Terms(), coupon=None, country=shipping.HOME):
    """The invoice for a cart. Raises `CouponRefused` or `CannotShip` if it cannot be made."""
    lines = cart.lines()
    if not lines:
        raise ValueError("there is nothing in the cart")
    bundles = dict(terms.bundles)
    discounts = [line_discount(line, bundles, terms.tiers) for line in lines]
    after_discount = [line.list_cents - off for line, off in zip(lines, discounts)]
    invoice_lines = tuple(
        InvoiceLine(
            name=line.product.name,
            quantity=line.quantity,
            tax_class=line.product.tax_class,
            list_cents=line.list_cents,
            discount_cents=discount,
            coupon_cents=share,
        )
        for line, discount, share in zip(
            lines, discounts, _coupon_shares(coupon, after_discount, today)
        )
    )
    goods_cents = sum(line.net_cents for line in invoice_lines)
    shipping_cents = shipping.shipping_price(cart.weight_grams(), goods_cents, country)
    amounts = [(line.tax_class, line.net_cents) for line in invoice_lines]
    amounts.append(("standard", shipping_cents))
    by_class = tax.tax_per_line if terms.round_tax_per_line else tax.tax_per_total
    return Invoice(invoice_lines, shipping_cents, by_class(amounts))


def _coupon_shares(coupon, after_discount, today):
    """What of the coupon falls on each line."""
    goods_cents = sum(after_discount)
    if coupon is None:
        return [0] * len(after_discount)
    coupons.check(coupon, goods_cents, today)
    if goods_cents == 0:
        return [0] * len(after_discount)
    return money.split(coupons.coupon_discount(coupon, goods_cents), after_discount)


def render(invoice):
    """The invoice as plain text, one line of text a row."""
    rows = []
    for line in invoice.lines:
        rows.append((f"{line.quantity} x {line.name}", line.list_cents))
        if line.discount_cents:
            rows.append(("  discount", -line.discount_cents))
        if line.coupon_cents:
            rows.append(("  coupon", -line.coupon_cents))
    rows.append(("Shipping", invoice.shipping_cents))
    rows.append(("Net", invoice.net_cents))
    for tax_class, cents in sorted(invoice.taxes.items()):
        if cents:
            rows.append((f"VAT {tax.rate_of(tax_class) // 100} %", cents))
    rows.append(("Total", invoice.gross_cents))
    return "\n".join(f"{label:<32}{money.show(cents):>14}" for label, cents in rows)
