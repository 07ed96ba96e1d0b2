#!/usr/bin/env python3
"""ucx.py parses the output of ucx_perftest and compares ratios with aims."""

import unittest

import ucx

OUTPUT = """\
Waiting for connection...
batch,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
tag_lat_8,  20,4.149,8901.322,8901.322,0.00,0.00,112,112
tag_bw_1048576,   5,2.639,35430.384,35430.384,28.22,29.00,28,28
unknown_8,  20,1.0,1.0,1.0,0.01,0.01,928,928
tag_bw_8,  20
"""


class UcxTest(unittest.TestCase):
    def test_latency_is_the_median_and_bandwidth_the_average(self):
        self.assertEqual(ucx.figures(OUTPUT), {"tag_lat_8": 4.149, "tag_bw_1048576": 28.22})

    def test_takes_the_best_run(self):
        latency, bandwidth = ucx.Row("tag_lat", 8, ucx.LATENCY), ucx.Row("tag_bw", 8, ucx.BANDWIDTH)
        self.assertEqual(ucx.best([{"tag_lat_8": 2.0}, {}, {"tag_lat_8": 1.0}], latency), 1.0)
        self.assertEqual(ucx.best([{"tag_bw_8": 2.0}, {"tag_bw_8": 1.0}], bandwidth), 2.0)
        self.assertIsNone(ucx.best([{}], latency))

    def test_missing_measurements_have_no_ratio(self):
        row = ucx.Row("tag_lat", 8, ucx.LATENCY)
        found = {row.name: {"rc_v": 5.0, "ud_v": None, "tcp": 4.0}}
        self.assertEqual(ucx.ratio(found, row, "rc_v"), 1.25)
        self.assertIsNone(ucx.ratio(found, row, "ud_v"))

    def test_less_latency_and_more_bandwidth_is_better(self):
        latency, bandwidth = ucx.Row("tag_lat", 8, ucx.LATENCY), ucx.Row("tag_bw", 8, ucx.BANDWIDTH)
        self.assertTrue(ucx.is_met(latency, 1.25))
        self.assertFalse(ucx.is_met(latency, 1.26))
        self.assertTrue(ucx.is_met(bandwidth, 0.8))
        self.assertFalse(ucx.is_met(bandwidth, 0.79))

    def test_every_aim_belongs_to_a_measured_row(self):
        self.assertLessEqual(ucx.AIMED_AT, {(row.test, row.size) for row in ucx.rows()})
        for row in ucx.rows():
            self.assertIn(f"-t {row.test} -s {row.size} ", row.line())


if __name__ == "__main__":
    unittest.main()
