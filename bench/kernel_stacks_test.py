#!/usr/bin/env python3
"""What kernel_stacks.py runs in the guest, and what it makes of figures."""

import sys
import unittest

import kernel_stacks
from compare_peers_test import IB_SEND_LAT, IB_WRITE_BW
from kernel_stacks import BANDWIDTH, IWARP, IWARP_NO_CRC, LATENCY, RATE, ROCE, ROWS


def row(title: str):
    return next(one for one in ROWS if one.title() == title)


class FiguresTest(unittest.TestCase):
    def test_each_unit_has_a_column(self):
        self.assertEqual(kernel_stacks.figure(LATENCY, IB_SEND_LAT), 6.42)
        self.assertEqual(kernel_stacks.figure(BANDWIDTH, IB_WRITE_BW), 484.63)
        self.assertAlmostEqual(kernel_stacks.figure(RATE, IB_WRITE_BW), 0.485)

    def test_the_better_of_each_counts(self):
        found = kernel_stacks.evaluate(row(f"{ROCE.name}: send latency, 64 B"), [9, 8], [4, None])
        self.assertEqual((found["ours"], found["beside"], found["ratio"]), (8, 4, 2))
        self.assertEqual((found["met"], found["unfinished"]), (False, 1))
        found = kernel_stacks.evaluate(row(f"{IWARP.name}: send 1 MiB"), [9, 8], [4, 4.5])
        self.assertEqual((found["ratio"], found["met"]), (2, True))

    def test_a_row_without_a_run_is_not_met(self):
        found = kernel_stacks.evaluate(row(f"{ROCE.name}: read 1 MiB"), [None], [4])
        self.assertEqual((found["ratio"], found["met"]), (None, False))


class CommandTest(unittest.TestCase):
    def test_both_run_the_same_program(self):
        ours, theirs = (kernel_stacks.command(row(f"{IWARP_NO_CRC.name}: write 1 MiB"), "A", here)
                        for here in (True, False))
        self.assertIn("run --transport=iwarp --mpa-crc=off -- ib_write_bw -F -p 18600 -R", ours)
        self.assertIn("ib_write_bw -F -p 18600 -R -s 1048576 -n 200 -d siwA 10.99.1.2", theirs)

    def test_siw_has_the_same_choice_of_crc(self):
        for wire, says in ((IWARP, "echo Y > "), (IWARP_NO_CRC, "echo N > ")):
            self.assertIn(says, kernel_stacks.script(row(f"{wire.name}: read 1 MiB"), True))
        self.assertNotIn("echo", kernel_stacks.script(row(f"{ROCE.name}: read 1 MiB"), True))

    def test_atomics_have_no_path_mtu(self):
        self.assertNotIn("-m", kernel_stacks.command(row(f"{ROCE.name}: 8-byte atomics"), "B",
                                                     True).split())


if __name__ == "__main__":
    sys.exit(unittest.main())
