#!/usr/bin/env python3
"""Compares the latency of Verbena on shared processors with bare UDP and qperf, in one run.

  bench/progress.py [--build DIR] [--minutes M] [--situations quiet,one,busy] (part of make bench)
  bench/progress.py --connections N [--loops K]                               (not part of it)

Debian's perftest on Verbena in three situations:

  quiet  nothing else runs, and the scheduler places both ends
  one    both ends are bound to the same processor, the first that this process may use
  busy   K busy loops (8) run at the same time, and the scheduler places everything

Polling programs are compared with udp_floor, a UDP ping-pong that polls; programs that sleep until
an event arrives (-e) with qperf's tcp_lat and udp_lat, which sleep in the kernel. All latencies are
average round trips: perftest and qperf print half of one, except ib_read_lat. The two programs of a
row alternate, and the means of their averages are compared. In "quiet" each end of udp_floor has a
processor of its own, because the scheduler tends to put both on one, where a round trip takes
several times as long; the last row has that factor. A run that takes longer than 60 s is reported
and its row is NOT MET; so is a row without a run, because no run starts after M minutes. Writes
build/bench/progress.json.

With --connections it does N short runs of reliable connections instead, one after the other, while
the loops run, with perftest's -u 14 (a timeout of 67 ms, 7 retries), and counts lost connections
and runs that do not end. The exit code is 1 if there are any. Writes build/bench/connections.json.
"""

import argparse
import contextlib
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import compare_peers  # noqa: E402
import networks  # noqa: E402
import perftest  # noqa: E402
import record  # noqa: E402
from ordinary_user import free_port  # noqa: E402

RUN_SECONDS = 60
LOOPS = 8
SETTLE_SECONDS = 0.5  # for the scheduler to spread the loops
LOST = re.compile(r"retry exceeded|Failed status|Completion with error", re.IGNORECASE)


class Situation(NamedTuple):
    title: str
    runs: int
    round_trips: int
    spun_round_trips: int  # of ib_write_lat, each of which may take until the scheduler's next tick
    has_one_cpu: bool = False
    is_busy: bool = False


SITUATIONS = {
    "quiet": Situation("quiet: two ends, placed by the scheduler", 3, 10000, 10000),
    "one": Situation("one CPU: both ends on the same one", 3, 1000, 500, has_one_cpu=True),
    "busy": Situation("busy: {loops} loops run beside both ends", 4, 1000, 250, is_busy=True),
}


class Aim(NamedTuple):
    sign: str
    limit: float

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g}"

    def is_met(self, value: float) -> bool:
        return value <= self.limit if self.sign == "<=" else value >= self.limit


class Row(NamedTuple):
    """A measurement, what it is compared with, and the aim. Each of the two functions runs once and
    returns figures by name, of which `figure` is compared."""
    name: str
    figure: str
    ours: Callable
    beside: Callable
    aim: Aim | None = None
    aim_is_of_value: bool = False  # the aim applies to our value, not to the ratio


class Ends(compare_peers.Peers):
    """Both ends in one network namespace, placed as the situation requires."""

    def __init__(self, build, place, situation: Situation, deadline):
        if situation.has_one_cpu:
            place = place._replace(cpu=min(os.sched_getaffinity(0)))
        super().__init__(build, place, place, deadline)
        self.situation = situation
        self.qperf_port = free_port()
        if situation.has_one_cpu or situation.is_busy:
            self.poller_there = self.poller_here = place

    def ask(self, place, *words, timeout: float = RUN_SECONDS) -> str:
        """As in Peers, but with the full timeout even after the deadline, so that every unfinished
        run took this long."""
        return compare_peers.run(place.command(*words), timeout)

    def floor_as_placed(self) -> dict:
        placed = Ends(self.programs.parent, self.here, self.situation, self.deadline)
        placed.poller_there = placed.poller_here = self.here
        return placed.floor(self.situation.round_trips)


def latency_figures(test: str, output: str) -> dict[str, float]:
    """Round trips, in us."""
    halves = 1 if test == "ib_read_lat" else 2
    columns = {"average, us": "t_avg[usec]", "typical, us": "t_typical[usec]",
               "99.9 %, us": "99.9% percentile[usec]"}
    return {name: halves * perftest.figure(output, column) for name, column in columns.items()}


def floor_figures(floor: dict) -> dict[str, float]:
    return {"average, us": floor["avg_us"], "typical, us": floor["p50_us"],
            "99.9 %, us": floor["p999_us"], "M/s": floor["round_trips_per_second"] / 1e6}


def bandwidth_figures(output: str) -> dict[str, float]:
    return {"MiB/s": perftest.figure(output, "BW average[MB/sec]"),  # MiB, despite the heading
            "M/s": perftest.figure(output, "MsgRate[Mpps]")}


def program(test: str, *options, figures=None) -> Callable:
    """One run of perftest."""
    def measure(ends: Ends) -> dict | None:
        count = ()
        if figures is None:
            count = ("-n", ends.situation.spun_round_trips if test == "ib_write_lat"
                     else ends.situation.round_trips)
        output = perftest.output(ends, free_port(), test, *options, *count, timeout=RUN_SECONDS)
        if output is None:
            return None
        return figures(output) if figures else latency_figures(test, output)
    return measure


def floor(ends: Ends) -> dict:
    return floor_figures(ends.floor(ends.situation.round_trips))


def qperf_latency(test: str) -> Callable:
    return lambda ends: {"average, us": 2 * ends.qperf(test, "8")}


def tcp_bandwidth(ends: Ends) -> dict:
    return {"MiB/s": ends.qperf("tcp_bw", "1M")}


def latency_rows() -> list[Row]:
    average = "average, us"

    def polling(name: str, aim, *words) -> Row:
        return Row(f"{name}, polling / udp_floor", average, program(*words, "-s", 8), floor, aim)

    def sleeping(service: str, peer: str) -> Row:
        return Row(f"ib_send_lat {service}, sleeping / {peer}", average,
                   program("ib_send_lat", "-e", "-c", service, "-s", 8), qperf_latency(peer),
                   Aim("<=", 3))

    return [polling("ib_send_lat RC", Aim("<=", 2), "ib_send_lat", "-c", "RC"),
            polling("ib_send_lat UD", Aim("<=", 2), "ib_send_lat", "-c", "UD"),
            polling("ib_write_lat RC", None, "ib_write_lat"),
            polling("ib_read_lat RC", None, "ib_read_lat"),
            sleeping("RC", "tcp_lat"), sleeping("UD", "udp_lat")]


def rows(situation: str) -> list[Row]:
    def bandwidth(aim: Aim, count: int) -> Row:
        return Row("ib_write_bw of 1 MiB / tcp_bw", "MiB/s",
                   program("ib_write_bw", "-s", 1 << 20, "-n", count, figures=bandwidth_figures),
                   tcp_bandwidth, aim)

    def rate(test: str) -> Row:
        return Row(f"{test} of 8 bytes / round trips", "M/s",
                   program(test, "-s", 8, "-n", 200000, figures=bandwidth_figures), floor,
                   Aim(">=", 1.5), aim_is_of_value=True)

    found = latency_rows()
    if situation == "one":
        found.append(bandwidth(Aim(">=", 0.5), 500))
    if situation == "quiet":
        found += [bandwidth(Aim(">=", 0.8), 1000), rate("ib_write_bw"), rate("ib_send_bw"),
                  Row("udp_floor as placed / apart", "average, us",
                      lambda ends: floor_figures(ends.floor_as_placed()), floor)]
    return found


def try_once(measure: Callable, ends: Ends) -> dict | None:
    """Runs a measurement; prints a failure or timeout and returns None."""
    try:
        return measure(ends)
    except compare_peers.Failure as failure:
        print(f"skipped: {failure}", file=sys.stderr)
        return None


def measure_row(row: Row, ends: Ends) -> dict:
    """Alternates the two programs. An unfinished run is not repeated: its row is not met."""
    runs: dict[str, list] = {"ours": [], "beside": []}
    while len(runs["beside"]) < ends.situation.runs and ends.deadline.left() > 0:
        for name, measure in (("ours", row.ours), ("beside", row.beside)):
            runs[name].append(try_once(measure, ends))
        if None in (runs["ours"][-1], runs["beside"][-1]):
            break
    return runs


def evaluate(row: Row, runs: dict) -> dict:
    """The means of all runs, their ratio if there are both, and whether the aim is met (None
    without an aim)."""
    def mean(name: str) -> float | None:
        values = [one[row.figure] for one in runs[name] if one is not None]
        return statistics.fmean(values) if values else None

    ours, beside = mean("ours"), mean("beside")
    ratio = ours / beside if ours is not None and beside else None
    compared = ours if row.aim_is_of_value else ratio
    unfinished = sum(one is None for name in ("ours", "beside") for one in runs[name])
    met = None
    if row.aim is not None:
        met = compared is not None and unfinished == 0 and row.aim.is_met(compared)
    return {"figure": row.figure, "ours": ours, "beside": beside, "ratio": ratio,
            "aim": row.aim and f"{'' if row.aim_is_of_value else 'ratio '}{row.aim}", "met": met,
            "runs": runs, "unfinished": unfinished}


def line(name: str, found: dict) -> str:
    def cell(value: float | None) -> str:
        return f"{value:11,.2f}" if value is not None else f"{'-':>11}"

    unit = found["figure"].split()[-1]
    text = f"  {name:41}{cell(found['ours'])}{cell(found['beside'])} {unit:6}{cell(found['ratio'])}"
    if found["met"] is not None:
        text += f"   aim {found['aim']}: {'met' if found['met'] else 'NOT MET'}"
    if found["unfinished"]:
        text += f"   ({found['unfinished']} not finished)"
    elif found["ours"] is None:
        text += "   (no time left)"
    return text


@contextlib.contextmanager
def busy_loops(count: int):
    """Starts loops that end with the thread that started them, even if it is killed. They stay in
    its session: with sched_autogroup_enabled the kernel divides time among sessions, and loops in
    another session would disturb the measurement less."""
    loops: list[subprocess.Popen] = []
    try:
        for _ in range(count):
            loops.append(subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "sh", "-c",
                                           "while :; do :; done"]))
        time.sleep(SETTLE_SECONDS if count else 0)
        yield loops
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def measure_situation(key: str, arguments, deadline, results: dict) -> None:
    situation = SITUATIONS[key]
    found = results.setdefault(key, {})
    title = situation.title.format(loops=arguments.loops)
    print(f"\n{title}\n  {'means':41}{'Verbena':>11}{'beside':>11}{'ratio':>18}", flush=True)
    with networks.lone_loopback() as place, \
            busy_loops(arguments.loops if situation.is_busy else 0):
        ends = Ends(arguments.build, place, situation, deadline)
        with compare_peers.background(ends.there, "qperf", "-lp", ends.qperf_port):
            for row in rows(key):
                found[row.name] = evaluate(row, measure_row(row, ends))
                print(line(row.name, found[row.name]), flush=True)


SHORT_RUNS = (("ib_send_lat", "-s", 8, "-n", 200), ("ib_write_lat", "-s", 8, "-n", 100),
              ("ib_read_lat", "-s", 8, "-n", 200), ("ib_send_bw", "-s", 65536, "-n", 200),
              ("ib_write_bw", "-s", 65536, "-n", 200))


def outcome(code: int | None, output: str) -> str:
    """The outcome of one end. The code is None if it did not end by itself."""
    if LOST.search(output) or code not in (None, 0):
        return "lost"
    return "unfinished" if code is None else "done"


def wait(process: subprocess.Popen, seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def wait_for_both(ends: Ends, port: int, command: list, there, here) -> list[int | None]:
    """The exit codes, the client's first. The output of the ends goes to these files."""
    with ends.listening(port, *command, output=there) as server:
        client = subprocess.Popen(ends.here.command(*command, ends.host), stdout=here, stderr=here,
                                  cwd="/")
        try:
            return [wait(client, RUN_SECONDS), wait(server, 10)]
        finally:
            client.kill()


def run_connection(ends: Ends, *words) -> tuple[str, str]:
    """The outcome, and the output of both ends."""
    port = free_port()
    command = perftest.command(ends, port, *words, "-u", 14)
    with tempfile.TemporaryFile("w+") as there, tempfile.TemporaryFile("w+") as here:
        try:
            codes = wait_for_both(ends, port, command, there, here)
        except compare_peers.Failure as failure:
            return "unfinished", str(failure)
        output = []
        for file in (here, there):
            file.seek(0)
            output.append(file.read())
    outcomes = [outcome(*end) for end in zip(codes, output)]
    return next((one for one in ("lost", "unfinished") if one in outcomes), "done"), "".join(output)


def count_connections(arguments, results: dict) -> int:
    counts = {"done": 0, "lost": 0, "unfinished": 0}
    with networks.lone_loopback() as place, busy_loops(arguments.loops):
        ends = Ends(arguments.build, place, SITUATIONS["busy"], None)
        for number in range(1, arguments.connections + 1):
            words = SHORT_RUNS[number % len(SHORT_RUNS)]
            how, output = run_connection(ends, *words)
            counts[how] += 1
            if how != "done":
                print(f"{number}: {' '.join(map(str, words))}: {how}\n{output}", flush=True)
            if how != "done" or number % 10 == 0 or number == arguments.connections:
                print(f"{number} of {arguments.connections}: {counts['lost']} lost, "
                      f"{counts['unfinished']} unfinished", flush=True)
            results["connections"] = counts | {"loops": arguments.loops}
    return 0 if counts["done"] == arguments.connections else 1


def chosen_situations(text: str) -> list[str]:
    chosen = text.split(",")
    unknown = set(chosen) - set(SITUATIONS)
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; valid are "
                                         f"{', '.join(SITUATIONS)}")
    return chosen


def parse_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="the build tree, ./build by default")
    parser.add_argument("--situations", type=chosen_situations, default=list(SITUATIONS),
                        help="comma-separated list of quiet, one, busy (default: all)")
    parser.add_argument("--minutes", type=float, default=6,
                        help="no run starts later than this (6)")
    parser.add_argument("--loops", type=int, default=LOOPS, help="number of busy loops (8)")
    parser.add_argument("--connections", type=int, metavar="N",
                        help="only count lost connections in this many short runs")
    arguments = parser.parse_args(words)
    arguments.build = arguments.build.resolve()
    return arguments


def end_on_sigterm() -> None:
    """Makes SIGTERM end all started programs, like Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def main() -> int:
    arguments = parse_arguments(sys.argv[1:])
    end_on_sigterm()
    results = record.begin(arguments.build)
    code = 0
    try:
        if arguments.connections:
            code = count_connections(arguments, results)
        else:
            deadline = compare_peers.Deadline(arguments.minutes * 60)
            for key in arguments.situations:
                measure_situation(key, arguments, deadline, results)
    except compare_peers.Failure as failure:
        print(f"progress: {failure}", file=sys.stderr)
        code = 1
    finally:
        name = "connections.json" if arguments.connections else "progress.json"
        record.write(arguments.build / "bench" / name, results)
    return code


if __name__ == "__main__":
    sys.exit(main())
