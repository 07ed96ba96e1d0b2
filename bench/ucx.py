#!/usr/bin/env python3
"""Compares UCX on Verbena with UCX over TCP, in one run.

  bench/ucx.py [--build DIR] [--minutes M]      (part of make bench)

Debian's ucx_perftest, with no setting except UCX_TLS: rc_v and ud_v by `verbena run`, and tcp. Runs
alternate, so that all see the same background load; the best of each counts. They use the loopback
device of a namespace of their own and, as root, a veth pair of MTU 9000. Prints operations and
sizes, ratios to TCP, and whether the aims are met; writes build/bench/ucx.json. Each end has a
processor of its own.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import networks  # noqa: E402
import record  # noqa: E402
from ordinary_user import free_port, is_listening  # noqa: E402

VERBENA, PEER = ("rc_v", "ud_v"), "tcp"
RUNS = 3
START_SECONDS = 10
LATENCY, BANDWIDTH = "us", "MB/s"
AIMS = {LATENCY: 1.25, BANDWIDTH: 0.8}
AIMED_AT = {("tag_lat", 8), ("ucp_am_lat", 8), ("tag_bw", 1 << 20), ("ucp_am_bw", 1 << 20)}


class Row(NamedTuple):
    """One operation of one size."""
    test: str
    size: int
    unit: str

    @property
    def name(self) -> str:
        return f"{self.test}_{self.size}"

    def line(self) -> str:
        """A line for ucx_perftest -b, which takes about a tenth of a second on an idle machine."""
        count = 2000 if self.unit == LATENCY else max(20, min(5000, (256 << 20) // self.size))
        if self.size > 4096 and self.unit == LATENCY:
            count = 300
        return f"{self.name} -t {self.test} -s {self.size} -n {count} -w {count // 10}"


def rows() -> list[Row]:
    latencies = [("tag_lat", (8, 4096, 65536)), ("ucp_am_lat", (8,)), ("ucp_put_lat", (8,)),
                 ("stream_lat", (8,)), ("ucp_get", (8,)), ("ucp_fadd", (8,)), ("ucp_cswap", (8,))]
    bandwidths = [("tag_bw", (8, 4096, 65536, 1 << 20, 4 << 20)), ("ucp_am_bw", (65536, 1 << 20)),
                  ("ucp_put_bw", (65536, 1 << 20)), ("stream_bw", (65536, 1 << 20))]
    return ([Row(test, size, LATENCY) for test, sizes in latencies for size in sizes]
            + [Row(test, size, BANDWIDTH) for test, sizes in bandwidths for size in sizes])


def figures(output: str) -> dict[str, float]:
    """The median latency or the bandwidth of each row, from the output of ucx_perftest -v."""
    by_name = {row.name: row for row in rows()}
    found = {}
    for line in output.splitlines():
        columns = line.split(",")
        row = by_name.get(columns[0])
        if row is not None and len(columns) == 9:
            found[row.name] = float(columns[2 if row.unit == LATENCY else 5])
    return found


class Bench:
    """Runs ucx_perftest between two network namespaces."""

    def __init__(self, build: pathlib.Path, there, here, batch: pathlib.Path, end: float):
        cpus = sorted(os.sched_getaffinity(0))
        self.verbena = build / "bin" / "verbena"
        self.there = there._replace(cpu=cpus[0])
        self.here = here._replace(cpu=cpus[-1])
        self.batch, self.end = batch, end

    def command(self, place, transport: str, port: int, *rest) -> list[str]:
        before = [] if transport == PEER else [self.verbena, "run", "--"]
        return place.command("env", f"UCX_TLS={transport}", *before, "ucx_perftest", "-b",
                             self.batch, "-v", "-p", port, *rest)

    @contextlib.contextmanager
    def server(self, transport: str, port: int):
        process = subprocess.Popen(self.command(self.there, transport, port), cwd="/",
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + START_SECONDS
            while not is_listening(port, process.pid):
                if time.monotonic() > end or process.poll() is not None:
                    raise TimeoutError(f"ucx_perftest over {transport} does not listen")
                time.sleep(0.02)
            yield
        finally:
            process.terminate()
            process.wait(10)

    def measure(self, transport: str) -> dict[str, float]:
        """The figures that were measured in time."""
        port = free_port()
        with self.server(transport, port):
            process = subprocess.Popen(self.command(self.here, transport, port, self.there.ipv4),
                                       cwd="/", text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)
            try:
                output, _ = process.communicate(timeout=max(1.0, self.end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.terminate()
                output, _ = process.communicate()
        found = figures(output)
        if len(found) < len(rows()):
            print(f"skipped over {transport}: {len(rows()) - len(found)} of {len(rows())}; last "
                  f"output: {output.strip().splitlines()[-1:]}", file=sys.stderr)
        return found


def best(runs: list[dict[str, float]], row: Row) -> float | None:
    values = [run[row.name] for run in runs if row.name in run]
    return (min if row.unit == LATENCY else max)(values, default=None)


def compare(bench: Bench) -> dict[str, dict[str, float | None]]:
    runs = {transport: [] for transport in (*VERBENA, PEER)}
    for _ in range(RUNS):
        for transport, found in runs.items():
            if time.monotonic() < bench.end:
                found.append(bench.measure(transport))
    return {row.name: {transport: best(found, row) for transport, found in runs.items()}
            for row in rows()}


def ratio(found: dict, row: Row, transport: str) -> float | None:
    ours, peers = found[row.name][transport], found[row.name][PEER]
    return ours / peers if ours and peers else None


def is_met(row: Row, value: float) -> bool:
    return value <= AIMS[row.unit] if row.unit == LATENCY else value >= AIMS[row.unit]


def show(title: str, found: dict) -> None:
    def cell(value: float | None) -> str:
        return f"{value:10,.2f}" if value is not None else "   skipped"

    print(f"\nUCX, {title}\n  {'operation':14}{'bytes':>9}      {'rc_v':>10}{'ud_v':>10}{'tcp':>10}"
          f"{'rc_v/tcp':>10}{'ud_v/tcp':>10}")
    for row in rows():
        cells = [cell(found[row.name][transport]) for transport in (*VERBENA, PEER)]
        cells += [cell(ratio(found, row, transport)) for transport in VERBENA]
        print(f"  {row.test:14}{row.size:9} {row.unit:>4} {''.join(cells)}", flush=True)
    for row in rows():
        value = ratio(found, row, VERBENA[0])
        if (row.test, row.size) in AIMED_AT and value is not None:
            sign = "<=" if row.unit == LATENCY else ">="
            print(f"  {row.test} of {row.size} bytes, rc_v/tcp: {value:.2f}   aim {sign} "
                  f"{AIMS[row.unit]}: {'met' if is_met(row, value) else 'NOT MET'}", flush=True)


def measure_all(build: pathlib.Path, batch: pathlib.Path, seconds: float, results: dict) -> None:
    begin = time.monotonic()
    with networks.lone_loopback() as place:
        results["loopback"] = compare(Bench(build, place, place, batch, begin + seconds / 2))
    show("loopback", results["loopback"])
    if not networks.is_root():
        print("\nveth: skipped, needs root")
        return
    with networks.joined_namespaces(9000) as (there, here):
        results["veth, MTU 9000"] = compare(Bench(build, there, here, batch, begin + seconds))
    show("veth, MTU 9000", results["veth, MTU 9000"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--minutes", type=float, default=3)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    if shutil.which("ucx_perftest") is None:
        print("UCX: skipped, ucx_perftest is not installed (package ucx-utils)")
        return 0
    results = record.begin(build)
    failure = None
    with tempfile.NamedTemporaryFile("w", prefix="verbena-ucx-") as batch:
        batch.write("".join(row.line() + "\n" for row in rows()))
        batch.flush()
        os.chmod(batch.name, 0o644)
        try:
            measure_all(build, pathlib.Path(batch.name), arguments.minutes * 60, results)
        except TimeoutError as caught:
            failure = caught
    record.write(build / "bench" / "ucx.json", results)
    if failure:
        print(f"ucx: {failure}", file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
