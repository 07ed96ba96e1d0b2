#!/usr/bin/env python3
"""Unmodified programs as guests of a broker: `verbena broker` and `verbena run --guest`. They must
transfer every byte, and what all of them have in memory must stay within the budget, as the kernel
counts it, while guests and the broker are killed and regions are swapped out.

usage: guest_test.py LIBRARIES PROGRAMS [--full]; PROGRAMS is the folder of verbena and of the
example guest. --full: four guests of 256 MiB each with a budget of 256 MiB.

Programs on the C++ API run as an ordinary user. Unmodified programs run as the user of the test,
because their memory is taken over, which needs a userfaultfd that serves system calls.
"""

import contextlib
import json
import os
import re
import shutil
import signal
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

    def __init__(self, libraries: Path, programs: Path, size: int, ordinary: bool = False):
        self.installed = Installed(libraries, programs, "guest", ordinary=ordinary)
        self.bench = self.installed.bench
        self.verbena = self.installed.folder / "bin" / "verbena"
        self.socket = self.bench.folder / "broker.sock"
        self.size = size  # of each guest, and the budget of all four
        self.is_full = size >= 256 * MEBIBYTE
        (self.bench.folder / "swap").mkdir()
        os.chmod(self.bench.folder / "swap", 0o777)
        self.broker: Process | None = None

    @contextlib.contextmanager
    def brokered(self, *options):
        self.start_broker(*options)
        try:
            yield
        finally:
            self.broker.end()

    def start_broker(self, *options) -> None:
        # On a busy machine an honest guest may need longer than 5 s to write what it gives up.
        self.broker = self.bench.start(
            [self.verbena, "broker", "--budget", self.size, "--socket", self.socket,
             "--release-time", 60, *options])
        wait_until(lambda: self.operate("status", check=False) is not None, "the broker answers")

    def operate(self, *words, check=True) -> str | None:
        done = self.bench.start([self.verbena, "broker", *words, "--socket", self.socket])
        code = done.wait(SECONDS_MAX)
        assert not check or code == 0, f"{words}: {done.output()}"
        return done.output() if code == 0 else None

    def status(self) -> dict:
        text = self.operate("status", "--json", check=False)
        return json.loads(text) if text else {"guests": [], "committed": 0}

    def guest(self, name: str, *program) -> list:
        return self.installed.command(
            *program, options=("--guest", name, "--guest-min", "1M", "--broker", self.socket,
                               "--swap", self.bench.folder / "swap", "--stats"))

    def pingpong(self, name: str, rounds: int) -> Pair:
        """The server and the client are guests of this name; -c: they check every byte."""
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


def watch(world: World, guests: list[Process], *, until) -> int:
    """The most that all guests have had in memory together, as the kernel counts. On a busy machine
    it takes a while until all are stopped: they then run for longer between two looks, because a
    guest that is stopped most of the time does not give up memory in time."""
    most = 0
    ends = time.monotonic() + 4 * SECONDS_MAX
    while not until():
        assert time.monotonic() < ends, f"the guests do not end: {world.status()}"
        running = [process for process in guests if process.wait(0) is None]
        begin = time.monotonic()
        with all_stopped([process.pid for process in running]):
            most = max(most, sum(resident(process) for process in running))
        assert most <= world.size + SLACK, f"{most} bytes in memory, {world.size} allowed"
        time.sleep(max(0.02, 4 * (time.monotonic() - begin)))
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
    with world.brokered(), four_pairs(world, 6 if world.is_full else 3) as pairs:
        most = watch(world, processes(pairs), until=lambda: all_ended(pairs))
        must_be_right(pairs)
        assert most > world.size // 2, f"only {most} bytes were ever in memory"
        written = [re.search(r"^pages written to swap: (\d+)$", process.output(), re.MULTILINE)
                   for process in processes(pairs)]
        assert all(written), "a guest swapped nothing out"
        wait_until(lambda: not world.status()["guests"], "all guests are gone")


def wait_for_guests(world: World, pairs: list[Pair]) -> None:
    """The first pairs may end before the last ones have attached: alone, they are fast."""
    def all_there() -> bool:
        attached = {guest["pid"] for guest in world.status()["guests"]}
        return all(p.pid in attached or p.wait(0) is not None for p in processes(pairs))
    wait_until(all_there, "all guests are there")


def a_killed_guest_gives_everything_back(world: World) -> None:
    with world.brokered(), four_pairs(world, 6 if world.is_full else 3) as pairs:
        wait_for_guests(world, pairs)
        for process in (pairs[0].server, pairs[0].client):
            process.kill()
        killed = {pairs[0].server.pid, pairs[0].client.pid}
        wait_until(lambda: not killed & {g["pid"] for g in world.status()["guests"]},
                   "the killed ones are gone")
        watch(world, processes(pairs[1:]), until=lambda: all_ended(pairs[1:]))
        must_be_right(pairs[1:])


def a_broker_that_is_killed_finds_its_guests_again(world: World) -> None:
    with world.brokered(), four_pairs(world, 12 if world.is_full else 4) as pairs:
        wait_for_guests(world, pairs)
        for _ in range(2 if world.is_full else 1):
            world.broker.kill()
            wait_until(lambda: world.broker.wait(0) is not None, "the broker is dead")
            world.start_broker()
            alive = {p.pid for p in processes(pairs) if p.wait(0) is None}
            wait_until(lambda: alive <= {g["pid"] for g in world.status()["guests"]
                                         if not g["absent"]}
                       or any(p.wait(0) is not None for p in processes(pairs)),
                       "the guests are back")
        watch(world, processes(pairs), until=lambda: all_ended(pairs))
        must_be_right(pairs)


def swapped_out_again_and_again(*program):
    """By the operator, ten times a second, while both ends are at work."""
    def run(world: World) -> None:
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
    run.__name__ = f"{program[0]} is swapped out again and again"
    return run


class Served:
    """A guest on the C++ API, and a peer that writes and reads its memory."""

    def __init__(self, world: World, number: int, seconds: float):
        self.peer = world.bench.folder / "guest"
        mebibytes = world.size // MEBIBYTE
        self.owner = world.bench.start(
            [self.peer, "owner", f"guest{number}", world.socket, mebibytes])
        wait_until(lambda: self.port() or self.owner.wait(0) is not None, "the guest listens")
        assert self.port(), self.owner.output()
        self.visit = [self.peer, "visitor", "127.0.0.1", self.port(), mebibytes, seconds, number]
        self.visitor = None

    def start_visitor(self, world: World) -> None:
        self.visitor = world.bench.start(self.visit)

    def port(self) -> str:
        found = re.search(r"^(\d+)$", self.owner.output(), re.MULTILINE)
        return found[1] if found else ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.owner.end()
        if self.visitor:
            self.visitor.end()

    def has_ended(self) -> bool:
        return self.owner.wait(0) is not None and self.visitor.wait(0) is not None

    def must_be_right(self) -> None:
        for process in (self.visitor, self.owner):
            assert process.wait(0) == 0, f"{process.command}: {process.wait(0)}\n{process.output()}"
        assert " checked" in self.visitor.output(), self.visitor.output()


def four_guests_serve_writers_and_readers(world: World) -> None:
    """Every byte is right, and the budget of a quarter of their memory holds, while one guest and
    the broker are killed, and regions and parts of them are swapped out."""
    seconds = 20 if world.is_full else 6
    with contextlib.ExitStack() as stack:
        stack.enter_context(world.brokered())
        served = [stack.enter_context(Served(world, i, seconds)) for i in range(4)]
        for one in served:
            one.start_visitor(world)
        owners = [one.owner for one in served]
        begin = time.monotonic()
        due = [lambda: world.operate("quiesce", "guest1"),
               served[0].owner.kill,
               world.broker.kill,
               world.start_broker,
               lambda: world.operate("quiesce", "guest2", check=False)]
        def step() -> bool:
            # On a busy machine more than one may be due at a look.
            while due and time.monotonic() - begin > seconds * (6 - len(due)) / 9:
                due.pop(0)()
            return all(one.has_ended() for one in served[1:])

        most = watch(world, owners, until=step)
        assert most > world.size // 2, f"only {most} bytes were ever in memory"
        assert not due, "it was over too soon"
        for one in served[1:]:
            one.must_be_right()
        assert served[0].visitor.wait(SECONDS_MAX) == 1, served[0].visitor.output()
        wait_until(lambda: not world.status()["guests"], "all guests are gone")


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
         a_broker_that_is_killed_finds_its_guests_again,
         swapped_out_again_and_again("ib_write_bw", "-F", "-s", "1048576", "-n", "200", "-u", "18"),
         swapped_out_again_and_again("ibv_rc_pingpong", "-g", "0", "-c", "-n", "3000", "-s",
                                     "1048576"))
ORDINARY = (four_guests_serve_writers_and_readers,)


def main() -> int:
    libraries, programs = (Path(argument) for argument in sys.argv[1:3])
    size = 256 * MEBIBYTE if "--full" in sys.argv else 16 * MEBIBYTE
    world = World(libraries, programs, size, ordinary=True)
    with world.bench:
        failed = run_all(ORDINARY, world)
    missing = [name for name in ("ib_write_bw", "ibv_rc_pingpong") if not shutil.which(name)]
    if missing:
        print(f"{missing[0]} is not installed")
        return failed or SKIPPED
    if not has_userfaultfd(libraries, programs):
        print("nothing can be under a budget here: " + NO_UFFD)
        return failed or SKIPPED
    world = World(libraries, programs, size)
    with world.bench:
        return run_all(TESTS, world) or failed


if __name__ == "__main__":
    sys.exit(main())
