#!/usr/bin/env python3
"""Runs unmodified programs on our libibverbs: two processes each, as an ordinary user.

usage: programs_test.py LIBRARIES [--write] [--only REGEX]

Compares the list of programs in docs/programs.md with the cases, or writes it.
"""

import argparse
import functools
import re
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import programs
from ordinary_user import Bench, Process, free_ports, wait_listening

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "programs.md"
SECONDS_MAX = 90
# The programs mostly sleep, or measure the speed of the clock.
PARALLEL_CASES = 2
SKIPPED = 77
INVALID = "invalid data"
BEGIN, END = "<!-- cases -->", "<!-- end of cases -->"


def report(client: Process, server: Process, codes) -> str:
    return (f"client: exit code {codes[0]}\n{client.output()}\n"
            f"server: exit code {codes[1]}\n{server.output()}")


def run(bench: Bench, case: programs.Case, port: int) -> str:
    """Runs a case; returns an error text, or ""."""
    link_layer = {"VERBENA_LINK_LAYER": "ib"} if case.needs_ib else {}
    listen = (case.port_option, port)
    end = time.monotonic() + SECONDS_MAX
    server_command = ([case.program, *listen] if case.asks else
                      [case.program, *case.options, *case.fixed, *listen])
    client_command = ([case.program, "127.0.0.1", *listen, *case.fixed, *case.options, *case.asks]
                      if case.asks else [*server_command, "127.0.0.1"])
    server = bench.start(server_command, **link_layer)
    others = []
    try:
        if not wait_listening(port, server, SECONDS_MAX):
            return f"the server did not start:\n{server.output()}"
        client = bench.start(client_command, **link_layer)
        others.append(client)
        client_code = client.wait(end - time.monotonic())
        if case.asks:  # the server of qperf runs until it gets "quit"
            others.append(bench.start([case.program, "127.0.0.1", *listen, "quit"], **link_layer))
        codes = [client_code, server.wait(end - time.monotonic())]
        # The ping-pongs exit with 0 even if they print that bytes are wrong.
        if codes != [0, 0] or INVALID in server.output() + client.output():
            return report(client, server, codes)
        good = re.search(case.expect, client.output())
        return "" if good else "unexpected output:\n" + report(client, server, codes)
    finally:
        for process in (server, *others):
            process.end()


def run_and_report(bench: Bench, case: programs.Case, port: int) -> bool:
    """Runs a case and prints the result; returns whether it passed."""
    begin = time.monotonic()
    problem = run(bench, case, port)
    seconds = time.monotonic() - begin
    print(f"{'FAILED' if problem else 'ok    '} {seconds:5.1f} s  {case.name}"
          f"{chr(10) if problem else ''}{problem}", flush=True)
    return not problem


def run_all(bench: Bench, cases: list[programs.Case]) -> bool:
    """Runs the cases. Those that can lose a message run alone."""
    together = [case for case in cases if case.is_reliable]
    alone = [case for case in cases if not case.is_reliable]
    runner = functools.partial(run_and_report, bench)
    with ProcessPoolExecutor(PARALLEL_CASES) as pool:
        results = list(pool.map(runner, together, free_ports(len(together))))
    return all(results + list(map(runner, alone, free_ports(len(alone)))))


def table() -> str:
    lines = ["| program | options | what is checked |", "| --- | --- | --- |"]
    for case in programs.all_cases():
        options = " ".join(case.options + case.asks)
        lines.append(f"| `{case.program}` | {f'`{options}`' if options else ''} | {case.checks} |")
    return "\n".join(lines)


def check_page(write: bool) -> bool:
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    wanted = f"{head}{BEGIN}\n\n{table()}\n\n{END}{tail}"
    if write:
        PAGE.write_text(wanted, encoding="utf-8")
    elif wanted != text:
        print(f"{PAGE.name} does not list these cases: run this test with --write")
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    cases = [case for case in programs.all_cases() if re.search(arguments.only, case.name)]
    missing = {case.program for case in cases if shutil.which(case.program) is None}
    if missing:
        print("not installed:", ", ".join(sorted(missing)))
        return SKIPPED
    with Bench(arguments.libraries) as bench:
        good = run_all(bench, cases)
    if good and not arguments.only:
        good = check_page(arguments.write)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
