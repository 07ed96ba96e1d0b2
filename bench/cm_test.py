#!/usr/bin/env python3
"""cm.py parses the output of rstream and compares ratios with aims."""

import unittest

import cm

OUTPUT = """\
name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer
custom    64      1       2k      250k        1.44s      0.25     360.33
"""


class CmTest(unittest.TestCase):
    def test_reads_latency_and_bandwidth_from_the_last_columns(self):
        self.assertEqual(cm.figure_of(OUTPUT, "us"), 360.33)
        self.assertEqual(cm.figure_of(OUTPUT, "Gb/s"), 0.25)
        with self.assertRaises(RuntimeError):
            cm.figure_of("rstream: Connection refused\n", "us")

    def test_takes_the_best_run(self):
        self.assertEqual(cm.best(cm.SETUP, [3.0, 2.0]), 2.0)
        self.assertEqual(cm.best(cm.RATE, [3.0, 2.0]), 3.0)

    def test_compares_the_set_up_time_with_its_aim(self):
        self.assertTrue(cm.is_met(cm.SETUP, 3.0))
        self.assertFalse(cm.is_met(cm.SETUP, 3.1))


if __name__ == "__main__":
    unittest.main()
