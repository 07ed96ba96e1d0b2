#!/usr/bin/env python3
"""What it costs to be a guest, and to give memory back.

  bench/guests.py [--build DIR] [--mib N] [--seconds S]      (part of make bench)

bin/quiesce_cost has the current-I/O word, the second stage, swap-out and swap-in beside plain
writes and reads of a file, and a peer's read of a region that is out. bin/guest_crowd attaches
1,000 guests to one broker. bin/guest_load runs as four guests of `verbena broker`: the throughput
of three of them, with the fourth idle, and with the fourth swapped out and in all the time, in
turns; and once more with the fourth under `nice -n 19`, which leaves the processors to the three:
the difference is processor time that the fourth shares with them, and not a lock or a wait.
The plain write and read are of the page cache: nothing waits for a disk, and the pages of the file
are there after the first round. A swap-out also unmaps, checks, allocates and gives back.
Prints each figure beside its aim and writes build/bench/guests.json.
"""

import argparse
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import record

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINE = re.compile(r"^(?P<name>.+?)\s+(?P<value>[\d.]+) (?P<unit>\S+)$")
RUNS = 3

OUT, IN = ("swap-out of a region, until its memory is given back",
           "swap-in of a region, until all of it is in memory")
WRITE, READ = "the same by plain pwrite", "the same by plain pread"
ONE, TWO = "translation of an access, one stage", "translation of an access, two stages"
WORD = "current-I/O word, one operation begun and ended"
SWAPS = "two compare-and-swaps of a word, and no more"
NEAR, FAR = ("a peer's read of 4 KiB, the region is in memory",
             "a peer's read of 4 KiB, the region is out")
ALONE, BESIDE = "three guests, the fourth idle", "three guests, the fourth swapped out and in"
NICE = "the same, the fourth under nice -n 19"


class Figure(NamedTuple):
    value: float
    unit: str


class Ratio(NamedTuple):
    """`aim` is the most that it may be, or the least; None: there is none."""
    name: str
    value: float
    aim: float | None = None
    is_least: bool = False

    @property
    def met(self) -> bool | None:
        if self.aim is None:
            return None
        return self.value >= self.aim if self.is_least else self.value <= self.aim


def parse(text: str) -> dict[str, Figure]:
    found = (LINE.match(line) for line in text.splitlines())
    return {one["name"]: Figure(float(one["value"]), one["unit"]) for one in found if one}


def run(program: pathlib.Path, *arguments) -> dict[str, Figure]:
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True,
                          check=True)
    return parse(done.stdout)


def ratios(figures: dict[str, Figure]) -> list[Ratio]:
    def of(name, over):
        return figures[name].value / figures[over].value

    made = [Ratio("current-I/O word, ns for one operation", figures[WORD].value, 20),
            Ratio("current-I/O word / its compare-and-swaps", of(WORD, SWAPS)),
            Ratio("two stages / one stage", of(TWO, ONE)),
            Ratio("swap-out / plain write", of(OUT, WRITE)),
            Ratio("swap-in / plain read", of(IN, READ)),
            Ratio("a peer's read, out / in memory", of(FAR, NEAR))]
    if ALONE in figures:
        made.append(Ratio("three guests while the fourth is swapped / idle", of(BESIDE, ALONE),
                          0.95, is_least=True))
    if NICE in figures:
        made.append(Ratio("the same, the fourth under nice -n 19", of(NICE, ALONE), 0.95,
                          is_least=True))
    return made


@contextlib.contextmanager
def brokered(build: pathlib.Path, folder: pathlib.Path, mebibytes: int):
    """The socket of a broker with room for all four."""
    socket = folder / "broker.sock"
    broker = subprocess.Popen([build / "bin/verbena", "broker", "--budget", f"{5 * mebibytes}M",
                               "--socket", socket], stderr=subprocess.DEVNULL)
    try:
        while not socket.exists():
            time.sleep(0.01)
        yield socket
    finally:
        broker.terminate()
        broker.wait()


def throughput(build: pathlib.Path, mebibytes: int, seconds: float, is_swapped: bool,
               nice: int = 0) -> float:
    """Of the first three guests together. The fourth writes its memory now and then."""
    with tempfile.TemporaryDirectory() as name, \
            brokered(build, pathlib.Path(name), mebibytes) as socket:
        def load(guest: str, duration: float, by: int = 0):
            return subprocess.Popen(["nice", "-n", str(by), build / "bin/guest_load", guest, socket,
                                     str(mebibytes), str(duration)], stdout=subprocess.PIPE,
                                    text=True)

        fourth = load("fourth", 0, nice)
        three = [load(f"guest{i}", seconds) for i in range(3)]
        while any(one.poll() is None for one in three):
            if is_swapped:
                for what in ("quiesce", "resume"):
                    subprocess.run([build / "bin/verbena", "broker", what, "fourth", "--socket",
                                    socket], capture_output=True, check=False)
            time.sleep(0.05)
        fourth.kill()
        fourth.wait()
        return sum(float(one.communicate()[0]) for one in three)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--mib", type=int, default=64, help="of a region that is swapped out")
    parser.add_argument("--seconds", type=float, default=2, help="of a throughput")
    arguments = parser.parse_args()
    build = arguments.build
    results = record.begin(build)
    figures = run(build / "bin/quiesce_cost", arguments.mib) | run(build / "bin/guest_crowd")
    alone, beside, nice = [], [], []
    for _ in range(RUNS):
        alone.append(throughput(build, 16, arguments.seconds, False))
        beside.append(throughput(build, 16, arguments.seconds, True))
        nice.append(throughput(build, 16, arguments.seconds, True, 19))
    figures[ALONE] = Figure(max(alone), "MiB/s")
    figures[BESIDE] = Figure(max(beside), "MiB/s")
    figures[NICE] = Figure(max(nice), "MiB/s")
    for name, figure in figures.items():
        print(f"{name:<60}{figure.value:>12,.2f} {figure.unit}")
    for ratio in ratios(figures):
        aim = "" if ratio.aim is None else (
            f"  at {'least' if ratio.is_least else 'most'} {ratio.aim:g}: "
            f"{'met' if ratio.met else 'MISSED'}")
        print(f"{ratio.name:<60}{ratio.value:>12,.2f}{aim}")
    results |= {name: list(figure) for name, figure in figures.items()}
    record.write(build / "bench" / "guests.json", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
