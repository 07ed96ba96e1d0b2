#!/usr/bin/env python3
"""Compares Debian's perftest over iWARP with plain TCP, in one run.

  bench/iwarp.py [--build DIR] [--rounds N]      (part of make bench)

Bandwidth: ib_write_bw, ib_send_bw and ib_read_bw by `verbena run --transport=iwarp`, with librdmacm
(-R), and qperf tcp_bw with messages of the same size. Latency: ib_send_lat and ib_write_lat, and
tcp_floor, whose ends poll their sockets as those of ib_send_lat poll their completion queues; qperf
tcp_lat, whose ends sleep in recv, is printed beside them. Each end of every program has a processor
of its own. Programs alternate, so that all see the same background load; the best of each counts.
They use the loopback device of a namespace of their own. Prints the ratios and whether the aims are
met; writes build/bench/iwarp.json.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import compare_peers  # noqa: E402
import networks  # noqa: E402
import perftest  # noqa: E402
import record  # noqa: E402

SECONDS = 240
SECONDS_OF_RUN = 15
ROUNDS = 3
PORT = 18600
FLOOR_PORT = 20501
# The server of perftest stops to listen after its first connection, and listens again for the next.
ATTEMPTS = 4
BYTES_OF_RUN = 1 << 30
ROUND_TRIPS = 5000
# ib_write_lat waits for its memory and polls no completion queue, so its progress thread needs the
# processor.
ROUND_TRIPS_OF_WRITES = 1000
PROGRAMS = ("ib_write_bw", "qperf")


class Row(NamedTuple):
    """One program of perftest, with messages of one size."""
    test: str
    size: int

    @property
    def is_latency(self) -> bool:
        return self.test.endswith("_lat")

    @property
    def unit(self) -> str:
        return "us" if self.is_latency else "MiB/s"

    @property
    def name(self) -> str:
        return f"ib_{self.test}, {size_text(self.size)}, {self.unit}"

    @property
    def beside(self) -> str:
        """The row of TCP that it is compared with."""
        what = "round trip of polling TCP" if self.is_latency else "qperf tcp_bw"
        return f"{what}, {size_text(self.size)}, {self.unit}"

    @property
    def aim(self) -> float:
        return 1.15 if self.is_latency else 0.9


ROWS = (*(Row(test, size) for size in (1 << 16, 1 << 20)
          for test in ("write_bw", "send_bw", "read_bw")),
        *(Row(test, size) for size in (8, 64) for test in ("send_lat", "write_lat")))


class Ratio(NamedTuple):
    name: str
    value: float
    aim: str
    met: bool


def size_text(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def sleeping(size: int) -> str:
    return f"qperf tcp_lat, round trip, {size_text(size)}, us"


def options_of(row: Row) -> tuple:
    if not row.is_latency:
        return ("-s", row.size, "-n", max(5, BYTES_OF_RUN // row.size))
    trips = ROUND_TRIPS_OF_WRITES if row.test == "write_lat" else ROUND_TRIPS
    return ("-s", row.size, "-n", trips)


def figure_of(row: Row, output: str) -> float:
    """A round trip in us (perftest prints half of it), or MiB/s (perftest says MB)."""
    if row.is_latency:
        return 2 * perftest.figure(output, "t_typical[usec]")
    return perftest.figure(output, "BW average[MB/sec]")


class Bench:
    """Runs the programs in one namespace, each end on a processor of its own."""

    def __init__(self, build: pathlib.Path, place):
        cpus = sorted(os.sched_getaffinity(0))
        self.peers = compare_peers.Peers(build, place._replace(cpu=cpus[0]),
                                         place._replace(cpu=cpus[-1]),
                                         compare_peers.Deadline(SECONDS))

    def perftest(self, row: Row) -> float | None:
        words = [self.peers.programs / "verbena", "run", "--transport=iwarp", "--",
                 f"ib_{row.test}", "-R", "-F", "-p", PORT, *options_of(row)]
        for attempt in range(ATTEMPTS):
            try:
                with self.peers.listening(PORT, *words):
                    return figure_of(row, self.peers.ask(self.peers.here, *words, self.peers.host,
                                                         timeout=SECONDS_OF_RUN))
            except compare_peers.Failure as failure:
                if attempt == ATTEMPTS - 1 or "REJECTED" not in str(failure):
                    print(f"skipped: {failure}", file=sys.stderr)
                    return None
        return None

    def floor(self, size: int) -> float:
        program, peers = self.peers.programs / "tcp_floor", self.peers
        with peers.listening(FLOOR_PORT, program, "--echo", peers.host, "--bytes", size):
            printed = peers.ask(peers.here, program, "--to", peers.host, "--bytes", size,
                                "--round-trips", ROUND_TRIPS)
        return json.loads(printed)["p50_us"]

    def round(self, rows) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for row in rows:
            if row.beside not in found:
                found[row.beside] = (self.floor(row.size) if row.is_latency
                                     else self.peers.qperf("tcp_bw", str(row.size)))
                if row.is_latency:
                    found[sleeping(row.size)] = 2 * self.peers.qperf("tcp_lat", str(row.size))
            found[row.name] = self.perftest(row)
        return found


def best(rounds: list[dict[str, float | None]]) -> dict[str, float | None]:
    found = {}
    for name in rounds[0]:
        values = [one[name] for one in rounds if one[name] is not None]
        found[name] = (min if name.endswith("us") else max)(values, default=None)
    return found


def measure(bench: Bench, rows, count: int) -> dict[str, float | None]:
    with compare_peers.background(bench.peers.there, "qperf", "-lp", bench.peers.qperf_port):
        return best([bench.round(rows) for _ in range(count)])


def ratios(found: dict[str, float | None]) -> list[Ratio]:
    """Of the rows that were measured."""
    made = []
    for row in ROWS:
        ours, theirs = found.get(row.name), found.get(row.beside)
        if ours is None or theirs is None:
            continue
        value = ours / theirs
        aim = f"<= {row.aim}" if row.is_latency else f">= {row.aim}"
        met = value <= row.aim if row.is_latency else value >= row.aim
        made.append(Ratio(f"ib_{row.test}, {size_text(row.size)} / TCP", value, aim, met))
    return made


def show(found: dict[str, float | None]) -> None:
    print("\niWARP, loopback")
    for name, value in found.items():
        print(f"  {name:45} " + (f"{value:12,.2f}" if value is not None else "     skipped"))
    for ratio in ratios(found):
        met = "met" if ratio.met else "NOT MET"
        print(f"  {ratio.name:45} {ratio.value:12,.2f}   aim {ratio.aim}: {met}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="rows whose name has this text")
    arguments = parser.parse_args()
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        print("iWARP: skipped, not installed:", ", ".join(missing))
        return 0
    build = arguments.build.resolve()
    results = record.begin(build)
    with networks.lone_loopback() as place:
        results |= measure(Bench(build, place),
                           [row for row in ROWS if arguments.only in row.name], arguments.rounds)
    show({name: value for name, value in results.items() if name != record.WHERE})
    record.write(build / "bench" / "iwarp.json", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
