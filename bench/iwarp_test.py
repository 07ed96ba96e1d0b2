#!/usr/bin/env python3
"""iwarp.py parses the output of perftest and compares ratios with aims."""

import unittest

import iwarp

LATENCY = """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]
 64      1000          4.10           52.31        4.25               4.37
"""
BANDWIDTH = """\
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             3100.10            3000.50            0.048008
"""
SEND_LAT, WRITE_BW = iwarp.Row("send_lat", 64), iwarp.Row("write_bw", 1 << 16)


class IwarpTest(unittest.TestCase):
    def test_a_latency_is_a_whole_round_trip(self):
        self.assertEqual(iwarp.figure_of(SEND_LAT, LATENCY), 8.5)

    def test_a_bandwidth_is_the_average(self):
        self.assertEqual(iwarp.figure_of(WRITE_BW, BANDWIDTH), 3000.5)

    def test_names_have_a_unit_and_differ(self):
        self.assertEqual(SEND_LAT.name, "ib_send_lat, 64 B, us")
        self.assertEqual(WRITE_BW.name, "ib_write_bw, 64 KiB, MiB/s")
        self.assertEqual(len({row.name for row in iwarp.ROWS}), len(iwarp.ROWS))

    def test_the_best_round_counts(self):
        rounds = [{SEND_LAT.name: 8.0, WRITE_BW.name: 1.0, "a, us": None},
                  {SEND_LAT.name: 9.0, WRITE_BW.name: 2.0, "a, us": None}]
        self.assertEqual(iwarp.best(rounds),
                         {SEND_LAT.name: 8.0, WRITE_BW.name: 2.0, "a, us": None})

    def test_compares_with_tcp_of_the_same_size(self):
        found = {SEND_LAT.name: 11.5, SEND_LAT.beside: 10.0,
                 WRITE_BW.name: 89.0, WRITE_BW.beside: 100.0}
        self.assertEqual(
            iwarp.ratios(found),
            [iwarp.Ratio("ib_write_bw, 64 KiB / TCP", 0.89, ">= 0.9", False),
             iwarp.Ratio("ib_send_lat, 64 B / TCP", 1.15, "<= 1.15", True)])

    def test_what_was_skipped_has_no_ratio(self):
        self.assertEqual(iwarp.ratios({SEND_LAT.name: None, SEND_LAT.beside: 10.0}), [])


if __name__ == "__main__":
    unittest.main()
