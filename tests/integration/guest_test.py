#!/usr/bin/env python3
"""Unmodified programs as guests of a broker: `verbena broker` and `verbena run --guest`. They must
transfer every byte, and what all of them have in memory must stay within the budget, as the kernel
counts it, while guests and the broker are killed and regions are swapped out.

usage: guest_test.py LIBRARIES PROGRAMS [--full]; PROGRAMS is the folder of verbena. --full: four
guests of 256 MiB each with a budget of 256 MiB.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from budget_test import INVALID, NO_UFFD, NOT_UNDER, SKIPPED, has_userfaultfd, resident
from installed import Installed
from ordinary_user import Process
from pairs import SECONDS_MAX, Pair, run_all

MEBIBYTE = 1 << 20
# What the kernel has allocated beyond the grants at a moment: pages that are on their way out.
SLACK = 256 << 10


class World:
    """`verbena` as it is installed, a broker, and a folder for swap files."""

    def __init__(self, libraries: Path, programs: Path, size: int):
        self.installed = Installed(libraries, programs, ordinary=False)
        self.bench = self.installed.bench
        self.verbena = self.installed.folder / "bin" / "verbena"
        self.socket = self.bench.folder / "broker.sock"
        self.size = size  # of each guest, and the budget of all four
        (self.bench.folder / "swap").mkdir()
        self.broker: Process | None = None

    @contextlib.contextmanager
    def brokered(self, *options):
        self.start_broker(*options)
        try:
            yield
        finally:
            self.broker.end()

    def start_broker(self, *options) -> None:
        self.broker = self.bench.start(
            [self.verbena, "broker", "--budget", self.size, "--socket", self.socket, *options])
        wait_until(lambda: self.operate("status", check=False) is not None, "the broker answers")

    def operate(self, *words, check=True) -> str | None:
        done = subprocess.run([self.verbena, "broker", *words, "--socket", self.socket],
                              capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout if done.returncode == 0 else None

    def status(self) -> dict:
        text = self.operate("status", "--json", check=False)
        return json.loads(text) if text else {"guests": [], "committed": 0}

    def guest(self, name: str, *program) -> list:
        return self.installed.command(
            *program, options=("--guest", name, "--guest-min", "1M", "--broker", self.socket,
                               "--swap", self.bench.folder / "swap", "--stats"))

    def pingpong(self, name: str, rounds: int) -> Pair:
        """The server and the client are guests of this name."""
        return Pair(self.bench, *self.guest(name, "ibv_rc_pingpong", "-g", "0", "-c", "-n", rounds,
                                            "-s", self.size // 2))


def wait_until(condition, what: str, seconds: float = SECONDS_MAX) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, f"not so in time: {what}"
        time.sleep(0.01)


def processes(pairs: list[Pair]) -> list[Process]:
    return [process for pair in pairs for process in (pair.server, pair.client)]


def is_stopped(pid: int) -> bool:
    """Also if it has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "TXZ"


@contextlib.contextmanager
def all_stopped(pids: list[int]):
    """Memory moves from guest to guest: what all have at one moment is known only if none runs."""
    try:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        while not all(is_stopped(pid) for pid in pids):
            time.sleep(0.0005)
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def watch(world: World, pairs: list[Pair], *, until) -> int:
    """The most that all guests have had in memory together, as the kernel counts."""
    most = 0
    ends = time.monotonic() + 4 * SECONDS_MAX
    while time.monotonic() < ends and not until():
        running = [process for process in processes(pairs) if process.wait(0) is None]
        with all_stopped([process.pid for process in running]):
            most = max(most, sum(resident(process) for process in running))
        assert most <= world.size + SLACK, f"{most} bytes in memory, {world.size} allowed"
        time.sleep(0.02)
    return most


def all_ended(pairs: list[Pair]) -> bool:
    return all(process.wait(0) is not None for process in processes(pairs))


def must_be_right(pairs: list[Pair]) -> None:
    for process in processes(pairs):
        said = process.output()
        assert process.wait(0) == 0, f"{process.command}: {process.wait(0)}\n{said}"
        assert INVALID not in said and NOT_UNDER not in said, said
        assert "bytes of registered memory are lost" not in said, said


@contextlib.contextmanager
def four_pairs(world: World, rounds: int):
    with contextlib.ExitStack() as stack:
        pairs = [stack.enter_context(world.pingpong(f"guest{i}", rounds)) for i in range(4)]
        for pair in pairs:
            pair.connect()
        yield pairs


def guests_within_a_quarter_of_their_memory(world: World) -> None:
    """Eight processes of half the budget each: four times as much memory as there is."""
    with world.brokered(), four_pairs(world, 6) as pairs:
        most = watch(world, pairs, until=lambda: all_ended(pairs))
        must_be_right(pairs)
        assert most > world.size // 2, f"only {most} bytes were ever in memory"
        written = [re.search(r"^pages written to swap: (\d+)$", process.output(), re.MULTILINE)
                   for process in processes(pairs)]
        assert all(written), "a guest swapped nothing out"
        wait_until(lambda: not world.status()["guests"], "all guests are gone")


def a_killed_guest_gives_everything_back(world: World) -> None:
    with world.brokered(), four_pairs(world, 6) as pairs:
        wait_until(lambda: len(world.status()["guests"]) == 8, "all guests are there")
        for process in (pairs[0].server, pairs[0].client):
            process.kill()
        killed = {pairs[0].server.pid, pairs[0].client.pid}
        wait_until(lambda: not killed & {g["pid"] for g in world.status()["guests"]},
                   "the killed ones are gone")
        watch(world, pairs[1:], until=lambda: all_ended(pairs[1:]))
        must_be_right(pairs[1:])


def a_broker_that_is_killed_finds_its_guests_again(world: World) -> None:
    with world.brokered(), four_pairs(world, 12) as pairs:
        wait_until(lambda: len(world.status()["guests"]) == 8, "all guests are there")
        for _ in range(2):
            world.broker.kill()
            wait_until(lambda: world.broker.wait(0) is not None, "the broker is dead")
            world.start_broker()
            alive = {p.pid for p in processes(pairs) if p.wait(0) is None}
            wait_until(lambda: alive <= {g["pid"] for g in world.status()["guests"]
                                         if not g["absent"]}
                       or any(p.wait(0) is not None for p in processes(pairs)),
                       "the guests are back")
        watch(world, pairs, until=lambda: all_ended(pairs))
        must_be_right(pairs)


def swapped_out_again_and_again(world: World) -> None:
    """By the operator, while both ends are at work."""
    program = ("ib_write_bw", "-F", "-s", "1048576", "-n", "200", "-u", "18")
    with world.brokered(), Pair(world.bench, *world.guest("victim", *program)) as pair:
        pair.connect()
        outs = 0
        ends = time.monotonic() + SECONDS_MAX
        while not all_ended([pair]) and time.monotonic() < ends:
            done = world.operate("quiesce", "victim", check=False)
            outs += int(done.split()[0]) if done else 0
            time.sleep(0.1)
        must_be_right([pair])
        assert outs > 2, f"{outs} regions were swapped out"


def what_is_wrong_is_said_before_the_program_starts(world: World) -> None:
    process = world.bench.start(world.guest("alone", "echo", "started"))
    assert process.wait(SECONDS_MAX) != 0
    assert "no broker answers at" in process.output(), process.output()
    assert "started" not in process.output().split("start one")[0], process.output()
    with world.brokered():
        greedy = world.installed.command(
            "ibv_devinfo", options=("--guest", "greedy", "--guest-min", "1G", "--broker",
                                    world.socket))
        process = world.bench.start(greedy)
        assert process.wait(SECONDS_MAX) is not None
        assert "a minimum of" in process.output(), process.output()


def a_broker_ends_when_asked_to(world: World) -> None:
    with world.brokered():
        assert "0 guests" in world.operate("status")
        os.kill(world.broker.pid, 15)
        assert world.broker.wait(SECONDS_MAX) == 0, world.broker.output()
        assert not world.socket.exists()


TESTS = (what_is_wrong_is_said_before_the_program_starts, a_broker_ends_when_asked_to,
         guests_within_a_quarter_of_their_memory, a_killed_guest_gives_everything_back,
         a_broker_that_is_killed_finds_its_guests_again, swapped_out_again_and_again)


def main() -> int:
    libraries, programs = (Path(argument) for argument in sys.argv[1:3])
    size = 256 * MEBIBYTE if "--full" in sys.argv else 16 * MEBIBYTE
    missing = [name for name in ("ib_write_bw", "ibv_rc_pingpong") if not shutil.which(name)]
    if missing:
        print(f"{missing[0]} is not installed")
        return SKIPPED
    if not has_userfaultfd(libraries, programs):
        print("nothing can be under a budget here: " + NO_UFFD)
        return SKIPPED
    world = World(libraries, programs, size)
    with world.bench:
        return run_all(TESTS, world)


if __name__ == "__main__":
    sys.exit(main())
