#!/usr/bin/env python3
"""What it costs to be a guest, and to give memory back.

  bench/guests.py [--build DIR] [--mib N] [--seconds S]      (part of make bench)

bin/quiesce_cost has the current-I/O word, the second stage, swap-out and swap-in beside plain
writes and reads of a file, and a peer's read of a region that is out. bin/guest_crowd attaches
1,000 guests to one broker. bin/guest_load runs as four guests of `verbena broker`: the throughput
of three of them, which together use all processors, with the fourth idle, and with all memory of
the fourth swapped out and in once a second. Who asks for that takes processor time, too. So
bin/guest_operator does, one process. What swapping takes from the three when it never ends is told
apart by more runs, with 20 times a second:
- as before, with the processor time of the fourth: copies, and the system's part of each page;
- with the fourth under `nice -n 19`, which leaves the processors to the three: what they lose then
  is not processor time but a lock or a wait;
- by `verbena broker quiesce` and `resume`, a process for each, one after the other;
- the same commands for a guest that is not there: what starting them takes from the three.
The plain write and read are of the page cache: nothing waits for a disk, and the pages of the file
are there after the first round. A swap-out also unmaps, checks, allocates and gives back.
Prints each figure beside its aim and writes build/bench/guests.json.
"""

import argparse
import contextlib
import os
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
ALONE = "three guests, the fourth idle"
BESIDE = "three guests, the fourth swapped each second"
OFTEN = "three guests, the fourth swapped 20 times a second"
NICE = "the same, the fourth under nice -n 19"
COMMANDS = "three guests, the fourth swapped by commands"
ABSENT = "three guests, commands for a guest that is not there"
PROCESSORS = "the fourth swapped 20 times a second, its part of all processors"


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
    aims = {BESIDE: 0.95, OFTEN: None, NICE: 0.95, COMMANDS: None, ABSENT: None}
    for name, aim in aims.items():
        if name in figures:
            made.append(Ratio(f"{name} / idle", of(name, ALONE), aim, is_least=True))
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


class Operator:
    """Leaves the fourth guest alone."""

    def __init__(self, build: pathlib.Path, socket: pathlib.Path):
        self.build, self.socket = build, socket

    def step(self) -> None:
        time.sleep(0.05)

    def end(self) -> int:
        """How many times the fourth's region was swapped out."""
        return 0


class OneProcess(Operator):
    rate = "20"

    def __init__(self, build: pathlib.Path, socket: pathlib.Path):
        super().__init__(build, socket)
        self.process = subprocess.Popen([build / "bin/guest_operator", socket, "fourth", self.rate],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self) -> int:
        return int(self.process.communicate()[0])


class EachSecond(OneProcess):
    rate = "1"


class Commands(Operator):
    guest = "fourth"

    def __init__(self, build: pathlib.Path, socket: pathlib.Path):
        super().__init__(build, socket)
        self.taken = 0

    def step(self) -> None:
        for what in ("quiesce", "resume"):
            done = subprocess.run([self.build / "bin/verbena", "broker", what, self.guest,
                                   "--socket", self.socket], capture_output=True, check=False)
            self.taken += what == "quiesce" and done.returncode == 0
        time.sleep(0.05)

    def end(self) -> int:
        return self.taken


class CommandsForAbsent(Commands):
    guest = "absent"


class Throughput(NamedTuple):
    rate: float  # of the first three guests together
    taken: int
    processors: float  # what the fourth used of them, from 0 to 1


def throughput(build: pathlib.Path, mebibytes: int, seconds: float, kind: type[Operator],
               nice: int = 0) -> Throughput:
    """The fourth guest writes its memory now and then."""
    with tempfile.TemporaryDirectory() as name, \
            brokered(build, pathlib.Path(name), mebibytes) as socket:
        def load(guest: str, duration: float, by: int = 0):
            return subprocess.Popen(["nice", "-n", str(by), build / "bin/guest_load", guest, socket,
                                     str(mebibytes), str(duration)], stdout=subprocess.PIPE,
                                    text=True)

        begun = time.monotonic()
        fourth = load("fourth", 0, nice)
        three = [load(f"guest{i}", seconds) for i in range(3)]
        operator = kind(build, socket)
        while any(one.poll() is None for one in three):
            operator.step()
        taken = operator.end()
        fourth.kill()
        _, fourth.returncode, used = os.wait4(fourth.pid, 0)
        processors = (time.monotonic() - begun) * os.cpu_count()
        return Throughput(sum(float(one.communicate()[0]) for one in three), taken,
                          (used.ru_utime + used.ru_stime) / processors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--mib", type=int, default=64, help="of a region that is swapped out")
    parser.add_argument("--seconds", type=float, default=3, help="of a throughput")
    arguments = parser.parse_args()
    build = arguments.build
    results = record.begin(build)
    figures = run(build / "bin/quiesce_cost", arguments.mib) | run(build / "bin/guest_crowd")
    kinds = {ALONE: (Operator, 0), BESIDE: (EachSecond, 0), OFTEN: (OneProcess, 0),
             NICE: (OneProcess, 19), COMMANDS: (Commands, 0), ABSENT: (CommandsForAbsent, 0)}
    runs = {name: [] for name in kinds}
    for _ in range(RUNS):
        for name, (kind, nice) in kinds.items():
            runs[name].append(throughput(build, 16, arguments.seconds, kind, nice))
    for name, found in runs.items():
        figures[name] = Figure(max(run.rate for run in found), "MiB/s")
        if found[0].taken > 0:
            figures[f"{name}: swapped"] = Figure(sum(run.taken for run in found) / RUNS, "times")
    figures[PROCESSORS] = Figure(100 * max(run.processors for run in runs[OFTEN]), "%")
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
