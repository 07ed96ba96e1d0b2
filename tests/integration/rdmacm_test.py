#!/usr/bin/env python3
"""Runs unmodified programs on our librdmacm: a server and its clients, as an ordinary user.

usage: rdmacm_test.py LIBRARIES [--write] [--only REGEX]

Compares the list of programs in docs/rdmacm.md with the cases, or writes it.
"""

import argparse
import functools
import itertools
import random
import re
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cm_programs
from cm_programs import CmCase
from ordinary_user import Bench, Process, wait_listening

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "rdmacm.md"
SECONDS_BETWEEN_CLIENTS = 0.3
SECONDS_MAX = 90
PARALLEL_CASES = 2
SKIPPED = 77
# A server binds its port a moment before it listens.
SECONDS_TO_LISTEN = 0.3
BEGIN, END = "<!-- cases -->", "<!-- end of cases -->"


def is_cm_port(space: str, port: int) -> bool:
    """A process that has bound a port of the connection manager owns a socket name."""
    name = f"@verbena/cm/4791/{space}/{port}/"
    return name in Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")


def is_udp_port(port: int) -> bool:
    lines = [line for table in ("udp", "udp6")
             for line in Path(f"/proc/net/{table}").read_text(encoding="utf-8").splitlines()[1:]]
    return any(int(line.split()[1].rsplit(":", 1)[1], 16) == port for line in lines)


def is_bound(space: str, port: int) -> bool:
    """Whether a process has bound the port: one of SCTP in UDP, or of the connection manager."""
    return is_udp_port(port) if space == "sctp" else is_cm_port(space, port)


def wait_bound(case: CmCase, port: int, server: Process) -> bool:
    if case.port_space == "sockets":
        return wait_listening(port, server, SECONDS_MAX)
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        if not case.port_space or is_bound(case.port_space, port):
            time.sleep(SECONDS_TO_LISTEN)
            return True
        if server.wait(0.02) is not None:
            return False
    return False


def report(processes: list[Process], codes: list[int | None]) -> str:
    return "\n".join(f"{' '.join(process.command)}: exit code {code}\n{process.output()}"
                     for process, code in zip(processes, codes))


def problem_of(case: CmCase, clients: list[Process], server: Process, end: float) -> str:
    """An error text, or ""."""
    codes = [process.wait(end - time.monotonic()) for process in clients]
    if any(codes):
        return report([*clients, server], [*codes, server.wait(0.01)])
    if None in codes:
        return "a client does not end:\n" + report([*clients, server], [*codes, None])
    if case.server_ends and (code := server.wait(end - time.monotonic())) != 0:
        return report([*clients, server], [*codes, code])
    if not all(re.search(case.expect, client.output()) for client in clients):
        return "unexpected output of the client:\n" + report(clients, codes)
    if not re.search(case.expect_server, server.output()):
        return "unexpected output of the server:\n" + report([server], [0])
    return ""


def run(bench: Bench, case: CmCase, port: int) -> str:
    """Runs a case; returns an error text, or ""."""
    def start(command) -> Process:
        words = [word.replace(cm_programs.PORT, str(port)) for word in command]
        return bench.start(words)

    end = time.monotonic() + SECONDS_MAX
    server = start(case.server)
    others = []
    try:
        if not wait_bound(case, port, server):
            return f"the server did not start:\n{server.output()}"
        clients = []
        for number in range(case.clients):
            # The server of rping holds one pending request; a second one overwrites it.
            if number > 0:
                time.sleep(SECONDS_BETWEEN_CLIENTS)
            clients.append(start(case.client))
            others.append(clients[-1])
        if case.quit:
            for client in clients:
                client.wait(end - time.monotonic())
            others.append(start(case.quit))
        return problem_of(case, clients, server, end)
    finally:
        for process in (server, *others):
            process.end()


def run_and_report(bench: Bench, case: CmCase, port: int) -> bool:
    """Runs a case and prints the result; returns whether it passed."""
    begin = time.monotonic()
    problem = run(bench, case, port)
    for _ in range(case.rejections_max):
        if "RDMA_CM_EVENT_REJECTED" not in problem:
            break
        problem = run(bench, case, port)
    seconds = time.monotonic() - begin
    print(f"{'FAILED' if problem else 'ok    '} {seconds:5.1f} s  {case.name}"
          f"{chr(10) if problem else ''}{problem}", flush=True)
    return not problem


def ports():
    """Ports below the ephemeral range, which the kernel assigns to other programs."""
    return itertools.count(random.randrange(20_000, 30_000))


def run_all(bench: Bench, cases: list[CmCase]) -> bool:
    """Runs the cases. Those that can lose a message or have a fixed port run alone."""
    alone = [case for case in cases if case.can_lose or case.fixed_port]
    together = [case for case in cases if case not in alone]
    runner = functools.partial(run_and_report, bench)
    numbers = ports()
    with ProcessPoolExecutor(PARALLEL_CASES) as pool:
        results = list(pool.map(runner, together, itertools.islice(numbers, len(together))))
    results += [runner(case, cm_programs.FIXED_PORT if case.fixed_port else next(numbers))
                for case in alone]
    return all(results)


def table(cases: list[CmCase]) -> str:
    lines = ["| program | options | what is checked |", "| --- | --- | --- |"]
    for case in cases:
        options = f"`{case.shown}`" if case.shown else ""
        lines.append(f"| `{case.title}` | {options} | {case.checks} |")
    return "\n".join(lines)


def check_page(write: bool, page: Path, cases: list[CmCase]) -> bool:
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    wanted = f"{head}{BEGIN}\n\n{table(cases)}\n\n{END}{tail}"
    if write:
        page.write_text(wanted, encoding="utf-8")
    elif wanted != text:
        print(f"{page.name} does not list these cases: run this test with --write")
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    cases = [case for case in cm_programs.all_cases() if re.search(arguments.only, case.name)]
    missing = {command for case in cases for command in (case.server[0], case.client[0])
               if shutil.which(command) is None}
    if missing:
        print("not installed:", ", ".join(sorted(missing)))
        return SKIPPED
    with Bench(arguments.libraries) as bench:
        good = run_all(bench, cases)
    if good and not arguments.only:
        good = check_page(arguments.write, PAGE, cm_programs.all_cases())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
