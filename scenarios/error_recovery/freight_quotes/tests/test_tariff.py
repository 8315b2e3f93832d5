import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

from freight import TariffError, load_tariff

SMALL = """
[tariff]
revision = test
fuel_percent = 5

[zone X]
base = 1.00
per_kg = 0.10
free_kg = 1

[options]
express_percent = 10
insured = 1.00
saturday = 2.00
"""


class Loading(unittest.TestCase):
    def test_default_tariff_has_three_zones(self):
        self.assertEqual(sorted(load_tariff().zones), ["A", "B", "C"])

    def test_path_is_used(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "small.ini")
            path.write_text(SMALL)
            self.assertEqual(load_tariff(path).zone("X").base, Decimal("1.00"))

    def test_missing_file(self):
        with self.assertRaises(TariffError):
            load_tariff("no/such/file.ini")

    def test_unknown_zone(self):
        with self.assertRaises(TariffError):
            load_tariff().zone("Q")


if __name__ == "__main__":
    unittest.main()
