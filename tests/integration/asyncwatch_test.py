#!/usr/bin/env python3
"""Debian's ibv_asyncwatch reports events when the machine gets an address and loses it.

usage: asyncwatch_test.py LIBRARIES
Exits with 77, which ctest counts as skipped, without root: the address is added to a namespace.
"""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import networks
from ordinary_user import Bench

SKIPPED = 77
SECONDS_MAX = 20
ADDRESS = "10.231.7.1/32"
CHANGE = r"event_type .*GID.*port 1"


class Terminal:
    """A program on a pseudoterminal, so that it flushes each line."""

    def __init__(self, command, environment):
        self.own, its = pty.openpty()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its,
                                        env=environment, cwd="/")
        os.close(its)
        self.output = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.own)

    def must_print(self, words: str, count: int = 1) -> None:
        end = time.monotonic() + SECONDS_MAX
        while len(re.findall(words, self.output)) < count:
            left = end - time.monotonic()
            assert left > 0, f"not {count} times {words!r} in\n{self.output}"
            if select.select([self.own], [], [], left)[0]:
                self.output += os.read(self.own, 4096).decode()


def watch(place: networks.Place, libraries: Path) -> None:
    environment = dict(os.environ, LD_LIBRARY_PATH=str(libraries))
    with Terminal(place.command("ibv_asyncwatch"), environment) as watcher:
        watcher.must_print("async event FD")
        networks.run("ip", "-n", place.namespace, "addr", "add", ADDRESS, "dev", "lo")
        watcher.must_print(CHANGE)
        networks.run("ip", "-n", place.namespace, "addr", "del", ADDRESS, "dev", "lo")
        watcher.must_print(CHANGE, 2)
        print(watcher.output)


def main() -> int:
    if not networks.is_root():
        print("needs root, for a network namespace")
        return SKIPPED
    with Bench(Path(sys.argv[1])) as bench, networks.lone_loopback() as place:
        try:
            watch(place, bench.folder)
        except AssertionError as problem:
            print(problem)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
