#!/usr/bin/env python3
"""compare_peers.py parses the output of other programs, and plot.py draws every point."""

import time
import unittest
import xml.etree.ElementTree as ElementTree

import compare_peers
import perftest
import plot

FOUND = {"verbena, write of 64 bytes, us": 10.0, "bare UDP, round trip, us": 8.0,
         "verbena, writes of 1 MiB, MiB/s": 700.0, "qperf tcp_bw, MiB/s": 1000.0,
         "verbena, writes of 64 bytes per second": 500.0, "bare UDP, round trips per second": 100.0}

STRACE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 50.00    0.000200           2       100        90 recvmsg
 50.00    0.000200           2        31           sendmsg
------ ----------- ----------- --------- --------- ----------------
100.00    0.000400           2       131        90 total
"""


IB_WRITE_BW = """\
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:127:00:00:01
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 1048576    300              516.49             484.63 \t\t   0.000485
---------------------------------------------------------------------------------------
"""

IB_SEND_LAT = """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    \
t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\x20
 64      5000          5.88           6051.94      6.42     \t       32.48       \t\
295.95 \t\t29.74   \t\t4040.40
---------------------------------------------------------------------------------------
"""


class GrowthTest(unittest.TestCase):
    def test_a_batch_has_no_more_requests_than_may_be_outstanding(self):
        for name, curve in compare_peers.CURVES.items():
            for value in curve.values:
                options = curve.options(value)
                self.assertLessEqual(options["-b"], options["-d"], f"{name}, {value}")
                self.assertEqual(options[curve.option], value)


class PerftestTest(unittest.TestCase):
    def test_finds_a_figure_by_its_column_heading(self):
        self.assertEqual(perftest.figure(IB_WRITE_BW, "BW average[MB/sec]"), 484.63)
        self.assertEqual(perftest.figure(IB_WRITE_BW, "MsgRate[Mpps]"), 0.000485)
        self.assertEqual(perftest.figure(IB_SEND_LAT, "t_typical[usec]"), 6.42)
        self.assertEqual(perftest.figure(IB_SEND_LAT, "99.9% percentile[usec]"), 4040.40)

    def test_each_ratio_divides_its_two_figures(self):
        names = {name for pair in perftest.COMPARED.values() for name in pair}
        found = dict.fromkeys(names, 1.0) | {perftest.READ_BW: 300.0, perftest.TCP_BW: 400.0}
        self.assertEqual(perftest.ratios(found)["bandwidth of ib_read_bw / TCP"], 0.75)
        self.assertEqual(perftest.ratios(found)["latency of ib_send_lat / UDP"], 1.0)

    def test_unfinished_measurements_have_no_ratio(self):
        names = {name for pair in perftest.COMPARED.values() for name in pair}
        found = dict.fromkeys(names, 1.0) | {perftest.WRITE_LAT: None}
        self.assertNotIn("latency of ib_write_lat / TCP", perftest.ratios(found))
        self.assertIn("latency of ib_send_lat / TCP", perftest.ratios(found))


class ComparePeersTest(unittest.TestCase):
    def test_converts_the_units_of_qperf(self):
        output = "tcp_bw:\n    bw  =  {}\n"
        self.assertAlmostEqual(compare_peers.qperf_figure(output.format("1.048576 GB/sec")), 1000)
        self.assertAlmostEqual(compare_peers.qperf_figure(output.format("52.4288 MB/sec")), 50)
        self.assertAlmostEqual(compare_peers.qperf_figure(output.format("950 ns")), 0.95)
        self.assertAlmostEqual(compare_peers.qperf_figure(output.format("7.5 us")), 7.5)

    def test_counts_failed_system_calls_separately(self):
        self.assertEqual(compare_peers.strace_counts(STRACE),
                         {"recvmsg": 10, "recvmsg, in vain": 90,
                          "sendmsg": 31, "sendmsg, in vain": 0})

    def test_an_aim_may_be_met_exactly(self):
        self.assertEqual([met for *_, met in compare_peers.ratios(FOUND)], [True, False, True])
        worse = FOUND | {"verbena, write of 64 bytes, us": 10.1}
        self.assertFalse(compare_peers.ratios(worse)[0][3])

    def test_a_timeout_names_the_command(self):
        begin = time.monotonic()
        with self.assertRaisesRegex(compare_peers.Failure, "not done within 0 s: sleep 60"):
            compare_peers.run(["sleep", 60], 0.1)
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_failure_contains_the_error_output(self):
        with self.assertRaisesRegex(compare_peers.Failure, "no such thing"):
            compare_peers.run(["sh", "-c", "echo no such thing >&2; exit 1"], 30)

    def test_a_drawing_has_every_point(self):
        growth = {name: [[1, 2.0], [4, 5.0], [1024, 3e6]] for name in plot.PANELS}
        drawing = ElementTree.fromstring(plot.draw(growth))
        circles = [one for one in drawing.iter() if one.tag.endswith("circle")]
        self.assertEqual(len(circles), 3 * len(plot.PANELS))


if __name__ == "__main__":
    unittest.main()
