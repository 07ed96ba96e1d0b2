#!/usr/bin/env python3
"""Compares connections by address over Verbena with those over TCP, in one run.

  bench/cm.py [--build DIR] [--count N]      (part of make bench)

Set-up time and connections per second: bin/cm_rate by `verbena run`, and over TCP. Latency and
bandwidth of rsockets: Debian's rstream by `verbena run`, and with its own option for sockets. Runs
alternate, so that both see the same background load; the best of each counts. They use the loopback
device of a namespace of their own. Prints the ratios and whether the aim is met; writes
build/bench/cm.json.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import networks  # noqa: E402
import record  # noqa: E402

VERBENA, PEER = "verbena", "tcp"
RUNS = 5
SECONDS_MAX = 60
PORT = 7471


class Row(NamedTuple):
    """A quantity that is measured over both transports."""
    name: str
    unit: str
    less_is_better: bool
    aim: float | None = None  # of the ratio to TCP


SETUP = Row("connection set-up", "us", True, 3.0)
RATE = Row("connect and disconnect", "1/s", False)
STREAMS = {Row("rstream of 64 B", "us", True): ("-S", "64", "-C", "1", "-I", "4000"),
           Row("rstream of 4 KiB", "us", True): ("-S", "4096", "-C", "1", "-I", "4000"),
           Row("rstream of 64 KiB", "Gb/s", False): ("-S", "65536", "-C", "4000", "-I", "1"),
           Row("rstream of 1 MiB", "Gb/s", False): ("-S", "1048576", "-C", "400", "-I", "1")}
ROWS = (SETUP, RATE, *STREAMS)


def figure_of(output: str, unit: str) -> float:
    """From the last line of rstream: name bytes xfers iters total time Gb/sec usec/xfer."""
    found = re.search(r"^custom\s.*s\s+([\d.]+)\s+([\d.]+)\s*$", output, re.MULTILINE)
    if not found:
        raise RuntimeError(f"unexpected output of rstream: {output}")
    return float(found[2 if unit == "us" else 1])


class Bench:
    """Runs the programs in a network namespace, on one build."""

    def __init__(self, build: pathlib.Path, place, count: int):
        self.build, self.place, self.count = build, place, count

    def command(self, transport: str, *words) -> list[str]:
        before = [self.build / "bin" / "verbena", "run", "--"] if transport == VERBENA else []
        return self.place.command(*before, *words)

    def run(self, transport: str, *words) -> str:
        done = subprocess.run(self.command(transport, *words), cwd="/", text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS_MAX)
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]} over {transport}: {done.stdout}")
        return done.stdout

    def connect(self, transport: str) -> dict[Row, float]:
        how = "rdma" if transport == VERBENA else "tcp"
        output = self.run(transport, self.build / "bin" / "cm_rate", how, self.place.ipv4,
                          self.count)
        setup, rate = output.split()[-2:]
        return {SETUP: float(setup), RATE: float(rate)}

    def stream(self, transport: str, row: Row) -> float:
        words = ["rstream", "-p", PORT, *STREAMS[row], *(("-T", "s") if transport == PEER else ())]
        server = subprocess.Popen(self.command(transport, *words, "-b", self.place.ipv4), cwd="/",
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)  # rstream does not report when it listens
            output = self.run(transport, *words, "-s", self.place.ipv4)
            server.wait(SECONDS_MAX)
            return figure_of(output, row.unit)
        finally:
            server.kill()
            server.wait()


def best(row: Row, values: list[float]) -> float:
    return min(values) if row.less_is_better else max(values)


def measure(bench: Bench, with_streams: bool) -> dict[str, dict[str, float]]:
    values = {row: {VERBENA: [], PEER: []} for row in ROWS if with_streams or row not in STREAMS}
    for _ in range(RUNS):
        for transport in (VERBENA, PEER):
            for row, value in bench.connect(transport).items():
                values[row][transport].append(value)
            for row in STREAMS if with_streams else ():
                values[row][transport].append(bench.stream(transport, row))
    return {row.name: {transport: best(row, found) for transport, found in both.items()}
            for row, both in values.items()}


def is_met(row: Row, ratio: float) -> bool:
    return ratio <= row.aim if row.less_is_better else ratio >= row.aim


def show(found: dict[str, dict[str, float]]) -> None:
    print(f"\nConnections, loopback\n  {'':26}{'':>5}{'Verbena':>12}{'TCP':>12}{'ratio':>8}")
    for row in ROWS:
        if row.name not in found:
            continue
        ours, theirs = found[row.name][VERBENA], found[row.name][PEER]
        ratio = ours / theirs
        aim = ""
        if row.aim is not None:
            sign = "<=" if row.less_is_better else ">="
            aim = f"   aim {sign} {row.aim}: {'met' if is_met(row, ratio) else 'NOT MET'}"
        print(f"  {row.name:26}{row.unit:>5}{ours:12,.2f}{theirs:12,.2f}{ratio:8.2f}{aim}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--count", type=int, default=2000, help="connections of one run")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with_streams = shutil.which("rstream") is not None
    if not with_streams:
        print("rsockets: skipped, rstream is not installed (package rdmacm-utils)")
    results = record.begin(build)
    with networks.lone_loopback() as place:
        results["loopback"] = measure(Bench(build, place, arguments.count), with_streams)
    show(results["loopback"])
    record.write(build / "bench" / "cm.json", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
