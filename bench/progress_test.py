#!/usr/bin/env python3
"""progress.py converts output to round trips, compares means and detects lost connections."""

import argparse
import contextlib
import io
import os
import signal
import subprocess
import sys
import time
import unittest

import compare_peers
import progress
from compare_peers_test import IB_SEND_LAT, IB_WRITE_BW
from progress import Aim, Row

AVERAGE = "average, us"
LATENCY = Row("lat", AVERAGE, None, None, Aim("<=", 2))
RATE = Row("rate", "M/s", None, None, Aim(">=", 1.5), aim_is_of_value=True)


def runs(ours: list, beside: list, figure: str = AVERAGE) -> dict:
    return {name: [None if value is None else {figure: value} for value in values]
            for name, values in (("ours", ours), ("beside", beside))}


class FiguresTest(unittest.TestCase):
    def test_doubles_the_half_round_trips_of_perftest(self):
        found = progress.latency_figures("ib_send_lat", IB_SEND_LAT)
        self.assertEqual(found, {AVERAGE: 64.96, "typical, us": 12.84, "99.9 %, us": 8080.8})

    def test_does_not_double_the_latency_of_a_read(self):
        self.assertEqual(progress.latency_figures("ib_read_lat", IB_SEND_LAT)[AVERAGE], 32.48)

    def test_rates_are_in_millions(self):
        self.assertEqual(progress.bandwidth_figures(IB_WRITE_BW),
                         {"MiB/s": 484.63, "M/s": 0.000485})
        floor = {"avg_us": 8, "p50_us": 6, "p999_us": 40, "round_trips_per_second": 125000}
        self.assertEqual(progress.floor_figures(floor)["M/s"], 0.125)
        self.assertEqual(progress.floor_figures(floor)[AVERAGE], 8)


class EvaluateTest(unittest.TestCase):
    def test_means_are_compared_and_an_aim_may_be_met_exactly(self):
        found = progress.evaluate(LATENCY, runs([10, 20, 30], [5, 10, 15]))
        self.assertEqual((found["ours"], found["beside"], found["ratio"]), (20, 10, 2))
        self.assertTrue(found["met"])
        self.assertFalse(progress.evaluate(LATENCY, runs([10, 20, 31], [5, 10, 15]))["met"])

    def test_a_row_with_an_unfinished_run_is_not_met(self):
        for values in (([1, None], [10, 10]), ([1, 1], [10, None])):
            found = progress.evaluate(LATENCY, runs(*values))
            self.assertEqual((found["ratio"], found["met"]), (0.1, False))
            self.assertIn("NOT MET   (1 not finished)", progress.line("lat", found))

    def test_a_row_without_a_run_is_not_met(self):
        found = progress.evaluate(LATENCY, runs([], []))
        self.assertEqual((found["ratio"], found["met"]), (None, False))
        self.assertIn("NOT MET   (no time left)", progress.line("lat", found))

    def test_a_row_without_an_aim_has_no_verdict(self):
        found = progress.evaluate(LATENCY._replace(aim=None), runs([90], [10]))
        self.assertIsNone(found["met"])
        self.assertIn("9.00", progress.line("lat", found))
        self.assertNotIn("aim", progress.line("lat", found))

    def test_an_aim_may_apply_to_the_value_instead_of_the_ratio(self):
        found = progress.evaluate(RATE, runs([1.4, 1.6], [0.1, 0.1], "M/s"))
        self.assertTrue(found["met"])
        self.assertAlmostEqual(found["ratio"], 15)
        self.assertIn("aim >= 1.5: met", progress.line("rate", found))
        self.assertFalse(progress.evaluate(RATE, runs([1.4], [0.1], "M/s"))["met"])

    def test_each_situation_has_its_aims(self):
        aims = {key: [str(row.aim) for row in progress.rows(key) if row.aim]
                for key in progress.SITUATIONS}
        latencies = ["<= 2", "<= 2", "<= 3", "<= 3"]
        self.assertEqual(aims, {"quiet": [*latencies, ">= 0.8", ">= 1.5", ">= 1.5"],
                                "one": [*latencies, ">= 0.5"], "busy": latencies})


class Ends:
    """A situation with a number of runs and a deadline."""

    def __init__(self, count: int, seconds: float = 60):
        self.situation = progress.SITUATIONS["quiet"]._replace(runs=count)
        self.deadline = compare_peers.Deadline(seconds)


class AlternatingRunsTest(unittest.TestCase):
    def setUp(self):
        self.output: list[str] = []

    def row(self, result) -> Row:
        def measure(name: str):
            def once(_):
                self.output.append(name)
                if isinstance(result, Exception):
                    raise result
                return result
            return once
        return LATENCY._replace(ours=measure("ours"), beside=measure("beside"))

    def test_runs_alternate(self):
        progress.measure_row(self.row({AVERAGE: 1}), Ends(2))
        self.assertEqual(self.output, ["ours", "beside", "ours", "beside"])

    def test_an_unfinished_run_is_reported_and_not_repeated(self):
        with contextlib.redirect_stderr(io.StringIO()) as named:
            found = progress.measure_row(self.row(compare_peers.Failure("not done: x")), Ends(3))
        self.assertEqual(found, {"ours": [None], "beside": [None]})
        self.assertIn("not done: x", named.getvalue())

    def test_no_run_starts_after_the_deadline(self):
        found = progress.measure_row(self.row({AVERAGE: 1}), Ends(2, seconds=0))
        self.assertEqual(found, {"ours": [], "beside": []})


class ConnectionsTest(unittest.TestCase):
    def test_a_lost_connection_is_recognized_by_its_code_or_its_text(self):
        self.assertEqual(progress.outcome(0, "no error"), "done")
        self.assertEqual(progress.outcome(1, ""), "lost")
        self.assertEqual(progress.outcome(-11, ""), "lost")
        self.assertEqual(progress.outcome(None, ""), "unfinished")
        for words in ("transport retry exceeded", " Failed status 12: wr_id 0",
                      "Completion with error at client"):
            self.assertEqual(progress.outcome(0, f"x\n{words}\n"), "lost")
            self.assertEqual(progress.outcome(None, words), "lost")


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class BusyLoopsTest(unittest.TestCase):
    def test_loops_end_when_the_measurement_fails(self):
        with self.assertRaises(KeyboardInterrupt), progress.busy_loops(2) as loops:
            self.assertTrue(all(is_running(loop.pid) for loop in loops))
            raise KeyboardInterrupt
        self.assertFalse(any(is_running(loop.pid) for loop in loops))

    def test_loops_end_when_their_parent_is_killed(self):
        script = ("import progress, time\nwith progress.busy_loops(1) as loops:\n"
                  "    print(loops[0].pid, flush=True)\n    time.sleep(60)\n")
        owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                                 cwd=os.path.dirname(os.path.abspath(__file__)))
        loop = int(owner.stdout.readline())
        owner.send_signal(signal.SIGKILL)
        owner.communicate()
        end = time.monotonic() + 10
        while is_running(loop) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertFalse(is_running(loop))


class ArgumentsTest(unittest.TestCase):
    def test_selects_situations_by_name(self):
        self.assertEqual(progress.parse_arguments(["--situations", "one,busy"]).situations,
                         ["one", "busy"])
        with self.assertRaisesRegex(argparse.ArgumentTypeError, "unknown: loud; valid are quiet"):
            progress.chosen_situations("loud,one")


if __name__ == "__main__":
    unittest.main()
