#!/usr/bin/env python3
"""What guests.py makes of figures."""

import sys
import unittest

import guests
from guests import Figure

TEXT = """\
current-I/O word, one operation begun and ended                 12.50 ns
two compare-and-swaps of a word, and no more                    10.00 ns
translation of an access, one stage                             10.00 ns
translation of an access, two stages                            12.00 ns
swap-out of a region, until its memory is given back           300.00 us/MiB
swap-in of a region, until all of it is in memory              400.00 us/MiB
the same by plain pwrite                                       150.00 us/MiB
the same by plain pread                                        100.00 us/MiB
a peer's read of 4 KiB, the region is in memory                 10.00 us
a peer's read of 4 KiB, the region is out                      500.00 us
something else
"""


class FiguresTest(unittest.TestCase):
    def test_a_line_is_a_name_a_value_and_a_unit(self):
        figures = guests.parse(TEXT)
        self.assertEqual(len(figures), 10)
        self.assertEqual(figures[guests.WORD], Figure(12.5, "ns"))
        self.assertEqual(figures[guests.FAR], Figure(500.0, "us"))

    def test_each_has_its_ratio(self):
        ratios = {ratio.name: ratio for ratio in guests.ratios(guests.parse(TEXT))}
        self.assertEqual(ratios["swap-out / plain write"].value, 2)
        self.assertEqual(ratios["swap-in / plain read"].value, 4)
        self.assertEqual(ratios["two stages / one stage"].value, 1.2)
        self.assertEqual(ratios["a peer's read, out / in memory"].value, 50)
        self.assertTrue(ratios["current-I/O word, ns for one operation"].met)
        self.assertIsNone(ratios["swap-out / plain write"].met)
        self.assertEqual(ratios["current-I/O word / its compare-and-swaps"].value, 1.25)

    def test_a_missed_aim_is_missed(self):
        figures = guests.parse(TEXT)
        figures[guests.WORD] = Figure(21, "ns")
        figures[guests.ALONE] = Figure(100, "MiB/s")
        figures[guests.BESIDE] = Figure(94, "MiB/s")
        ratios = {ratio.name: ratio.met for ratio in guests.ratios(figures)}
        self.assertFalse(ratios["current-I/O word, ns for one operation"])
        self.assertFalse(ratios[f"{guests.BESIDE} / idle"])
        figures[guests.BESIDE] = Figure(95, "MiB/s")
        figures[guests.NICE] = Figure(90, "MiB/s")
        ratios = {ratio.name: ratio.met for ratio in guests.ratios(figures)}
        self.assertTrue(ratios[f"{guests.BESIDE} / idle"])
        self.assertFalse(ratios[f"{guests.NICE} / idle"])


if __name__ == "__main__":
    sys.exit(unittest.main())
