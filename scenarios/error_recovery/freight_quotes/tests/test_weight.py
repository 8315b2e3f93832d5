import unittest
from decimal import Decimal

from freight import billable_kg


class BillableWeight(unittest.TestCase):
    def test_rounded_up_to_half_a_kilogram(self):
        self.assertEqual(billable_kg(4.501, (10, 10, 10)), Decimal("5.0"))

    def test_multiples_stay(self):
        self.assertEqual(billable_kg(4.5, (10, 10, 10)), Decimal("4.5"))

    def test_large_and_light(self):
        self.assertEqual(billable_kg(1, (50, 40, 30)), Decimal("12.0"))

    def test_weight_must_be_positive(self):
        with self.assertRaises(ValueError):
            billable_kg(0, (10, 10, 10))


if __name__ == "__main__":
    unittest.main()
