#!/usr/bin/env python3
"""Programs on our libibverbs under a container's seccomp filter, valgrind, ASan, dlopen and fork.

usage: sandbox_test.py LIBRARIES PROGRAMS; PROGRAMS is the folder of verbena, verbs_check,
verbs_check_asan and loopback_check.
"""

import re
import sys
import time
from pathlib import Path

import container
from ordinary_user import Bench
from pairs import SECONDS_MAX, Pair, must_succeed, run_all

OURS = ("verbena", "verbs_check", "verbs_check_asan", "loopback_check")
VALGRIND_SECONDS = 150
# Longer messages would take half a minute more under valgrind and test nothing new.
VALGRIND_SERVICE = f"rc:{1 << 20}"
RIGHT = "every byte is right"
# valgrind runs one thread at a time. Without fair scheduling, a thread that computes blocks the
# others for longer than the peer's timeout.
VALGRIND = ("valgrind", "--quiet", "--fair-sched=yes", "--error-exitcode=9", "--leak-check=full",
            "--errors-for-leak-kinds=definite")


def pair_must_succeed(bench: Bench, *command, seconds=SECONDS_MAX, **options) -> None:
    with Pair(bench, *command, **options) as pair:
        pair.connect().must_succeed(time.monotonic() + seconds)


def the_container_filter_is_active(bench: Bench) -> None:
    """The tests that follow rely on it."""
    output = must_succeed(bench.start(["cat", "/proc/self/status"], prepare=container.confine))
    for line in (r"Seccomp:\s2", r"NoNewPrivs:\s1", r"CapEff:\s0+\n"):
        assert re.search(line, output), f"not confined: no {line} in\n{output}"


def a_container_lists_missing_kernel_features(bench: Bench) -> None:
    output = must_succeed(bench.start([bench.folder / "verbena", "devices"],
                                    prepare=container.confine))
    assert "verbena0: port 1, active" in output, output
    assert re.search(r"has not +userfaultfd: \w+", output), output


def a_container_moves_every_byte(bench: Bench) -> None:
    for service in ("rc", "uc", "ud"):
        pair_must_succeed(bench, bench.folder / "verbs_check", service, port_option=None,
                          prepare=container.confine)


def a_container_runs_an_unmodified_program(bench: Bench) -> None:
    for options in (("-c",), ("-c", "-e"), ("-c", "-o")):
        pair_must_succeed(bench, "ibv_rc_pingpong", "-g", "0", "-n", "100", *options,
                          prepare=container.confine)


def valgrind_finds_nothing(bench: Bench) -> None:
    pair_must_succeed(bench, *VALGRIND, bench.folder / "verbs_check", VALGRIND_SERVICE,
                      port_option=None, seconds=VALGRIND_SECONDS)


def valgrind_finds_nothing_in_datagrams(bench: Bench) -> None:
    pair_must_succeed(bench, *VALGRIND, bench.folder / "verbs_check", "ud", port_option=None,
                      seconds=VALGRIND_SECONDS)


def a_program_built_with_asan_runs(bench: Bench) -> None:
    for service in ("rc", "ud"):
        pair_must_succeed(bench, bench.folder / "verbs_check_asan", service, port_option=None)


def loopback(bench: Bench, mode: str, *prefix) -> None:
    output = must_succeed(bench.start([*prefix, bench.folder / "loopback_check", mode]))
    assert output == f"{RIGHT}\n", output


def loaded_and_unloaded_three_times(bench: Bench) -> None:
    loopback(bench, "reload")


def loaded_and_unloaded_under_valgrind(bench: Bench) -> None:
    loopback(bench, "reload", *VALGRIND)


def forked_before_a_device_is_open(bench: Bench) -> None:
    loopback(bench, "child")


def forked_with_an_open_device(bench: Bench) -> None:
    loopback(bench, "inherit")


IN_CONTAINER = (the_container_filter_is_active, a_container_lists_missing_kernel_features,
                a_container_moves_every_byte, a_container_runs_an_unmodified_program)
TESTS = (valgrind_finds_nothing, valgrind_finds_nothing_in_datagrams,
         a_program_built_with_asan_runs, loaded_and_unloaded_three_times,
         loaded_and_unloaded_under_valgrind,
         forked_before_a_device_is_open, forked_with_an_open_device)


def main() -> int:
    libraries, programs = Path(sys.argv[1]), Path(sys.argv[2])
    tests = TESTS
    if container.can_confine():
        tests = IN_CONTAINER + TESTS
    else:
        print("containers: skipped, the filter is written for x86-64")
    with Bench(libraries, *(programs / program for program in OURS)) as bench:
        return run_all(tests, bench)


if __name__ == "__main__":
    sys.exit(main())
