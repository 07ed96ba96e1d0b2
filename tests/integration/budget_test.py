#!/usr/bin/env python3
"""Unmodified programs under `verbena run --memory-budget`: they transfer every byte, and their
registered memory stays within the budget.

usage: budget_test.py LIBRARIES PROGRAMS; PROGRAMS is the folder of verbena.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from installed import Installed
from ordinary_user import Process
from pairs import SECONDS_MAX, Pair, must_succeed, run_all

SKIPPED = 77
BUDGET = 2 << 20
MEMORY = "/memfd:verbena-managed"
INVALID = "invalid data"
NOT_UNDER = "is not under the memory budget"
NO_UFFD = "no userfaultfd that serves system calls"


def resident(process: Process) -> int:
    """Bytes of managed memory that the process has resident."""
    folder = Path(f"/proc/{process.pid}/fd")
    found = {}  # by inode: a guest has a second descriptor of each file, for the broker
    try:
        for file in folder.iterdir():
            if os.readlink(file).startswith(MEMORY):
                status = os.stat(file)
                found[status.st_ino] = status.st_blocks * 512
    except OSError:
        pass  # the process has ended, or has closed a file
    return sum(found.values())


def peaks(pair: Pair) -> list[int]:
    """Waits until both processes have ended; returns the peak of each."""
    most = [0, 0]
    ends = time.monotonic() + SECONDS_MAX
    while time.monotonic() < ends:
        both = (pair.client, pair.server)
        most = [max(peak, resident(process)) for peak, process in zip(most, both)]
        if all(process.wait(0.002) is not None for process in both):
            break
    return most


class World:
    """`verbena` as it is installed, and a folder for swap files."""

    def __init__(self, libraries: Path, programs: Path, ordinary: bool):
        self.installed = Installed(libraries, programs, ordinary=ordinary)
        self.bench = self.installed.bench
        (self.bench.folder / "swap").mkdir()
        os.chmod(self.bench.folder / "swap", 0o777)

    def run(self, *program, budget="2M", swap: str | None = None) -> list:
        where = self.bench.folder / "swap" if swap is None else swap
        return self.installed.command(
            *program, options=("--memory-budget", budget, "--swap", where, "--stats"))

    def pair(self, *program) -> Pair:
        return Pair(self.bench, *self.run(*program))


def counter(output: str, name: str) -> int:
    found = re.search(rf"^{name}: (\d+)$", output, re.MULTILINE)
    return int(found.group(1)) if found else 0


def must_succeed_both(pair: Pair, process: Process) -> str:
    """The output of the process. On failure, the exception includes the output of the other end."""
    try:
        return must_succeed(process, 1)
    except AssertionError as problem:
        other = pair.server if process is pair.client else pair.client
        raise AssertionError(f"{problem}\nthe other end:\n{other.output()}") from problem


def must_stay_within(world: World, *program) -> None:
    with world.pair(*program) as pair:
        pair.connect()
        for process, peak in zip((pair.client, pair.server), peaks(pair)):
            output = must_succeed_both(pair, process)
            assert INVALID not in output, output
            assert counter(output, "regions under the memory budget") == 1, output
            most = counter(output, "peak resident bytes under the memory budget")
            assert BUDGET // 2 < most <= BUDGET, output
            assert counter(output, "pages written to swap") > 0, output
            assert BUDGET // 2 < peak <= BUDGET, f"{peak} bytes in memory\n{output}"


def perftest(test: str):
    def run(world: World) -> None:
        # -u 18 is a timeout of a second, since the machine can be busy.
        must_stay_within(world, f"ib_{test}", "-F", "-s", "1048576", "-q", "4", "-n", "20",
                         "-u", "18")
    run.__name__ = f"ib_{test}_within_a_quarter_of_its_memory"
    return run


def a_ping_pong_beyond_the_budget_keeps_every_byte(world: World) -> None:
    must_stay_within(world, "ibv_rc_pingpong", "-g", "0", "-s", "4194304", "-n", "5", "-c")


def a_uc_ping_pong_within_the_budget_loses_no_message(world: World) -> None:
    with world.pair("ibv_uc_pingpong", "-g", "0", "-s", "524288", "-n", "20", "-c") as pair:
        pair.connect().must_succeed(time.monotonic() + SECONDS_MAX)
        output = pair.client.output()
        assert INVALID not in output, output
        assert counter(output, "regions under the memory budget") == 1, output


def a_uc_write_to_absent_pages_arrives(world: World) -> None:
    """First to memory that was never touched, then to twice as much memory as the budget."""
    for size in ("262144", "2097152"):
        with world.pair("ib_write_lat", "-F", "-c", "UC", "-s", size, "-n", "10") as pair:
            pair.connect().must_succeed(time.monotonic() + SECONDS_MAX)
            output = pair.client.output()
            assert counter(output, "regions under the memory budget") == 1, output


def small_regions_are_native_with_a_warning(world: World) -> None:
    with world.pair("ibv_rc_pingpong", "-g", "0", "-n", "50", "-c") as pair:
        pair.connect().must_succeed(time.monotonic() + SECONDS_MAX)
        output = pair.client.output()
        assert INVALID not in output, output
        assert output.count(NOT_UNDER) == 1 and "smaller than 256 KiB" in output, output


def invalid_options_are_refused_before_the_program_starts(world: World) -> None:
    for wrong, words in ((dict(budget="lots"), "is not a size"), (dict(budget="1K"), "at least 1M"),
                         (dict(swap="/no/such/folder"), "does not exist"),
                         (dict(swap=""), "is empty")):
        process = world.bench.start(world.run("echo", "started", **wrong))
        code = process.wait(SECONDS_MAX)
        assert code != 0, f"{wrong}: {code}"
        assert words in process.output() and "started" not in process.output(), process.output()


@contextlib.contextmanager
def small_disk(folder: Path, size: int):
    """A tmpfs of `size` bytes at `folder`."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "verbena", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(file: Path) -> None:
    """Writes to the file until the disk is full."""
    with file.open("wb", buffering=0) as out, contextlib.suppress(OSError):
        while out.write(bytes(1 << 20)):
            pass


def wait_printed(process: Process, words: str) -> None:
    ends = time.monotonic() + SECONDS_MAX
    while words not in process.output():
        assert time.monotonic() < ends, f"no '{words}' in: {process.output()}"
        time.sleep(0.01)


def wait_registered(process: Process) -> None:
    ends = time.monotonic() + SECONDS_MAX
    while resident(process) == 0:
        assert time.monotonic() < ends, f"nothing under the budget: {process.output()}"
        time.sleep(0.001)


def a_full_disk_is_reported_and_waited_for(world: World) -> None:
    """Another file fills the disk after the memory is registered. The server is stopped meanwhile,
    so that its swap file has not grown yet. The memory is large: this test looks every millisecond,
    and the server needs a hundred of them to swap it out."""
    disk = world.bench.folder / "disk"
    command = world.run("ib_write_bw", "-F", "-s", str(32 << 20), "-n", "5", swap=str(disk))
    with small_disk(disk, 160 << 20), Pair(world.bench, *command) as pair:
        pair.connect()
        wait_registered(pair.server)
        os.kill(pair.server.pid, signal.SIGSTOP)
        fill(disk / "other")
        os.kill(pair.server.pid, signal.SIGCONT)
        wait_printed(pair.server, "the swap file of managed memory cannot grow")
        (disk / "other").unlink()
        pair.must_succeed(time.monotonic() + SECONDS_MAX)
        output = pair.server.output()
        assert "the swap file of managed memory can be written again" in output, output
        assert counter(output, "regions under the memory budget") == 1, output


def an_ordinary_user_gets_the_budget_or_advice(world: World) -> None:
    with world.pair("ib_write_bw", "-F", "-s", "1048576", "-n", "20") as pair:
        pair.connect().must_succeed(time.monotonic() + SECONDS_MAX)
        output = pair.client.output()
        is_under = counter(output, "regions under the memory budget") == 1
        is_advised = NO_UFFD in output and "vm.unprivileged_userfaultfd=1" in output
        assert is_under != is_advised, output


def a_strict_budget_is_kept_or_the_program_does_not_start(world: World) -> None:
    """A run without --memory-budget-strict shows whether the budget can be kept here."""
    with world.pair("ib_write_bw", "-F", "-s", "1048576", "-n", "5") as pair:
        pair.connect().must_succeed(time.monotonic() + SECONDS_MAX)
        can_be_kept = NO_UFFD not in pair.client.output()
    process = world.bench.start(world.installed.command(
        "echo", "started", options=("--memory-budget", "2M", "--memory-budget-strict")))
    code = process.wait(SECONDS_MAX)
    output = process.output()
    assert (code == 0) == can_be_kept and ("started" in output) == can_be_kept, f"{code}: {output}"
    assert can_be_kept or (code == 1 and "cannot be kept" in output), f"{code}: {output}"


AS_ROOT = (a_strict_budget_is_kept_or_the_program_does_not_start,
           perftest("write_bw"), perftest("read_bw"), perftest("send_bw"),
           a_ping_pong_beyond_the_budget_keeps_every_byte,
           a_uc_ping_pong_within_the_budget_loses_no_message,
           a_uc_write_to_absent_pages_arrives, small_regions_are_native_with_a_warning,
           a_full_disk_is_reported_and_waited_for)
AS_ORDINARY_USER = (invalid_options_are_refused_before_the_program_starts,
                    an_ordinary_user_gets_the_budget_or_advice,
                    a_strict_budget_is_kept_or_the_program_does_not_start)


def has_userfaultfd(libraries: Path, programs: Path) -> bool:
    world = World(libraries, programs, ordinary=False)
    with world.bench, world.pair("ib_write_bw", "-F", "-s", "1048576", "-n", "5") as pair:
        pair.connect().must_succeed(time.monotonic() + SECONDS_MAX)
        return NO_UFFD not in pair.client.output()


def main() -> int:
    libraries, programs = (Path(argument) for argument in sys.argv[1:3])
    missing = [name for name in ("ib_write_bw", "ibv_rc_pingpong") if not shutil.which(name)]
    if missing:
        print(f"{missing[0]} is not installed")
        return SKIPPED
    world = World(libraries, programs, ordinary=True)
    with world.bench:
        code = run_all(AS_ORDINARY_USER, world)
    if not has_userfaultfd(libraries, programs):
        print("skipped: no memory can be under a budget here: " + NO_UFFD)
        return code or SKIPPED
    world = World(libraries, programs, ordinary=False)
    with world.bench:
        return run_all(AS_ROOT, world) or code


if __name__ == "__main__":
    sys.exit(main())
