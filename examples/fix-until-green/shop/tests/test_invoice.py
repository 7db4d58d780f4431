import unittest
from datetime import date

from shop.coupons import Coupon, CouponRefused
from shop.discounts import Bundle
from shop.invoice import Terms, make_invoice, render

from .fixtures import cart

TODAY = date(2026, 5, 10)
MAY = {"starts": date(2026, 5, 1), "ends": date(2026, 5, 31)}


class Totals(unittest.TestCase):
    def test_nothing_to_invoice(self):
        with self.assertRaises(ValueError):
            make_invoice(cart(), TODAY)

    def test_a_gift_card_alone(self):
        invoice = make_invoice(cart(card=2), TODAY)
        self.assertEqual(invoice.gross_cents, 5000)

    def test_a_small_order_pays_shipping_and_its_tax(self):
        invoice = make_invoice(cart(mug=1), TODAY)
        self.assertEqual(invoice.net_cents, 840 + 290)
        self.assertEqual(invoice.taxes, {"standard": 215})
        self.assertEqual(invoice.gross_cents, 1345)

    def test_a_large_order_is_sent_free(self):
        invoice = make_invoice(cart(pot=2), TODAY)
        self.assertEqual(invoice.shipping_cents, 0)
        self.assertEqual(invoice.gross_cents, 7980 + 1516)

    def test_free_shipping_is_decided_after_discounts(self):
        # 7 mugs are 58.80, 3 per cent off: 57.04; with the coupon 47.04
        coupon = Coupon("TEN", amount_cents=1000, **MAY)
        invoice = make_invoice(cart(mug=7), TODAY, coupon=coupon)
        self.assertEqual(invoice.goods_cents, 4704)
        self.assertEqual(invoice.shipping_cents, 790)

    def test_a_bundle(self):
        terms = Terms(bundles=(("tea", Bundle(take=3, pay=2)),))
        invoice = make_invoice(cart(tea=3, pot=1), TODAY, terms)
        self.assertEqual([line.discount_cents for line in invoice.lines], [495, 0])

    def test_tax_per_line_or_per_total(self):
        filled = cart(tea=1, book=1, pot=1)
        per_total = make_invoice(filled, TODAY, Terms())
        per_line = make_invoice(filled, TODAY, Terms(round_tax_per_line=True))
        self.assertEqual(per_total.taxes, {"reduced": 120, "standard": 758})
        self.assertEqual(per_line.taxes, {"reduced": 35 + 85, "standard": 758})


class Coupons(unittest.TestCase):
    def test_is_spread_over_the_lines_to_the_cent(self):
        coupon = Coupon("FIVE", amount_cents=500, **MAY)
        invoice = make_invoice(cart(tea=1, mug=1, book=1), TODAY, coupon=coupon)
        self.assertEqual([line.coupon_cents for line in invoice.lines], [97, 165, 238])

    def test_larger_than_the_order_leaves_nothing_to_pay_but_shipping(self):
        coupon = Coupon("TWENTY", amount_cents=2000, **MAY)
        invoice = make_invoice(cart(tea=1, mug=1), TODAY, coupon=coupon)
        self.assertEqual(invoice.goods_cents, 0)
        self.assertEqual(invoice.gross_cents, 290 + 55)

    def test_refused_coupons_refuse_the_invoice(self):
        coupon = Coupon("BIG", amount_cents=500, minimum_cents=10000, **MAY)
        with self.assertRaises(CouponRefused):
            make_invoice(cart(tea=1), TODAY, coupon=coupon)


class Text(unittest.TestCase):
    def test_an_invoice_reads_from_top_to_bottom(self):
        text = render(make_invoice(cart(tea=10, pot=1), TODAY))
        self.assertEqual(
            [row.split() for row in text.splitlines()],
            [
                ["10", "x", "Green", "tea", "49.50", "EUR"],
                ["discount", "-3.47", "EUR"],
                ["1", "x", "Teapot", "39.90", "EUR"],
                ["Shipping", "0.00", "EUR"],
                ["Net", "85.93", "EUR"],
                ["VAT", "7", "%", "3.22", "EUR"],
                ["VAT", "19", "%", "7.58", "EUR"],
                ["Total", "96.73", "EUR"],
            ],
        )
