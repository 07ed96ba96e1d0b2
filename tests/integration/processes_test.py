#!/usr/bin/env python3
"""Several processes in parallel, and processes whose peer is killed.

usage: processes_test.py LIBRARIES VERBS_CHECK
"""

import signal
import sys
import time
from pathlib import Path

from ordinary_user import Bench, Process, free_port
from pairs import SECONDS_MAX, Pair, run_all

# Far longer than the timeout of a test: a process ends before only if it notices that its peer
# died.
FOREVER = ("-D", "600", "-F")


def must_fail(process: Process, words: str) -> None:
    code = process.wait(SECONDS_MAX)
    assert code is not None, f"{process.command} does not end:\n{process.output()}"
    assert code > 0, f"{process.command} ended with {code}:\n{process.output()}"
    assert words in process.output(), f"no '{words}' from {process.command}:\n{process.output()}"


def every_byte_is_checked(bench: Bench, check: str) -> None:
    for service in ("rc", "uc", "ud"):
        with Pair(bench, check, service, port_option=None) as pair:
            pair.connect().must_succeed(time.monotonic() + SECONDS_MAX)


def four_pairs_at_once(bench: Bench, _check: str) -> None:
    pairs = [Pair(bench, "ibv_rc_pingpong", "-g", "0", "-c", "-n", "200") for _ in range(4)]
    try:
        for pair in pairs:
            pair.connect()
        for pair in pairs:
            pair.must_succeed(time.monotonic() + SECONDS_MAX)
    finally:
        for pair in pairs:
            pair.__exit__()


def different_programs_at_once(bench: Bench, check: str) -> None:
    with Pair(bench, "ib_write_bw", "-F", "-n", "200") as writes, \
            Pair(bench, "ibv_srq_pingpong", "-g", "0", "-c", "-n", "50") as pingpong, \
            Pair(bench, check, "rc", port_option=None) as bytes_checked:
        for pair in (writes, pingpong, bytes_checked):
            pair.connect()
        for pair in (writes, pingpong, bytes_checked):
            pair.must_succeed(time.monotonic() + SECONDS_MAX)


def a_client_without_a_server(bench: Bench, _check: str) -> None:
    client = bench.start(["ibv_rc_pingpong", "-g", "0", "-p", free_port(), "127.0.0.1"])
    must_fail(client, "Couldn't connect")


def the_server_is_killed(bench: Bench, _check: str) -> None:
    with Pair(bench, "ib_write_bw", *FOREVER) as pair:
        pair.connect()
        time.sleep(2)
        pair.server.kill(signal.SIGKILL)
        must_fail(pair.client, "Failed status 12")  # IBV_WC_RETRY_EXC_ERR


def the_client_is_killed(bench: Bench, _check: str) -> None:
    with Pair(bench, "ib_write_bw", "-b", *FOREVER) as pair:
        pair.connect()
        time.sleep(2)
        pair.client.kill(signal.SIGKILL)
        must_fail(pair.server, "Failed status 12")


def killed_processes_leave_nothing_behind(bench: Bench, check: str) -> None:
    for _ in range(3):
        with Pair(bench, "ib_write_bw", *FOREVER) as pair:
            pair.connect()
            time.sleep(0.5)
            pair.client.kill(signal.SIGKILL)
            pair.server.kill(signal.SIGKILL)
    every_byte_is_checked(bench, check)


TESTS = (every_byte_is_checked, four_pairs_at_once, different_programs_at_once,
         a_client_without_a_server, the_server_is_killed, the_client_is_killed,
         killed_processes_leave_nothing_behind)


def main() -> int:
    libraries, check = Path(sys.argv[1]), sys.argv[2]
    with Bench(libraries, check) as bench:
        return run_all(TESTS, bench, bench.folder / Path(check).name)


if __name__ == "__main__":
    sys.exit(main())
