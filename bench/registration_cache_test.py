#!/usr/bin/env python3
"""What registration_cache.py makes of figures."""

import contextlib
import io
import sys
import unittest
import xml.etree.ElementTree as ET

import registration_cache


class FiguresTest(unittest.TestCase):
    def test_the_best_of_each_counts(self):
        self.assertEqual(registration_cache.best([{1: 3.0, 2: 5.0}, {1: 4.0, 2: 1.0}]),
                         {1: 3.0, 2: 1.0})
        self.assertEqual(registration_cache.best([{1: 3.0}, {}]), {})

    def test_the_figure_has_a_point_for_each_size(self):
        svg = ET.fromstring(registration_cache.draw({4096: 2.0, 65536: 8.0, 1048576: 16.0},
                                                     "title"))
        self.assertEqual(len(svg.findall("{*}circle")), 3)
        highest = min(float(c.get("cy")) for c in svg.findall("{*}circle"))
        self.assertEqual(highest, registration_cache.TOP)

    def test_a_guest_prints_both_in_one_line(self):
        self.assertEqual(registration_cache.two_columns("4096 20.5 10\n16384 41 10.5\n"),
                         ({4096: 20.5, 16384: 41.0}, {4096: 10.0, 16384: 10.5}))

    def test_a_missed_aim_is_said(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            registration_cache.print_hits({"Hit/10/threads:1": 20.0, "Hit/1000/threads:1": 60.0},
                                          {"Hit/10/threads:1": 70.0})
        self.assertIn("50 ns: met", out.getvalue())
        self.assertIn("MISSED", out.getvalue())
        self.assertIn("70.0 ns    3.5 times", out.getvalue())


if __name__ == "__main__":
    sys.exit(unittest.main())
