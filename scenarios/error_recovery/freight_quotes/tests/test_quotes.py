import unittest
from decimal import Decimal

from freight import TariffError, quote


class Quotes(unittest.TestCase):
    def test_light_parcel_pays_no_weight(self):
        names = [name for name, _ in quote("A", 1.2, (10, 10, 10)).lines]
        self.assertEqual(names, ["base", "fuel"])

    def test_half_a_cent_goes_up(self):
        # 0.5 kg beyond the free weight at 0.49 a kilogram
        self.assertEqual(dict(quote("A", 2.5, (10, 10, 10)).lines)["weight"], 25)

    def test_weight_beyond_the_free_weight(self):
        found = quote("A", 4.2, (40, 30, 20))
        self.assertEqual(found.billable_kg, Decimal("5.0"))
        self.assertEqual(dict(found.lines)["weight"], 147)

    def test_total_is_the_sum_of_the_lines(self):
        found = quote("C", 7, (30, 30, 30), ["insured"])
        self.assertEqual(found.total_cents, sum(cents for _, cents in found.lines))

    def test_options_have_lines(self):
        lines = dict(quote("B", 1, (10, 10, 10), ["express", "saturday"]).lines)
        self.assertEqual(lines["saturday"], 475)
        self.assertIn("express", lines)

    def test_unknown_option(self):
        with self.assertRaises(TariffError):
            quote("A", 1, (10, 10, 10), ["gift wrap"])


if __name__ == "__main__":
    unittest.main()
