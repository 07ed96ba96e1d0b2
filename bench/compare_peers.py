#!/usr/bin/env python3
"""Compares Verbena with other programs on the same network, in one run.

  bench/compare_peers.py [--build DIR] [--minutes M]      (part of make bench)

On the loopback device and, as root, on a veth pair between two namespaces: qperf, libfabric's
fi_pingpong, a bare UDP ping-pong (udp_floor), verbena bench, and Debian's perftest on Verbena.
Prints ratios with their aims, curves and system calls; writes build/bench/peers.json, from which
bench/plot.py draws. Each end of a polling program has a processor of its own: on the same one they
would only wait for each other. The scheduler places the other programs. Ends within M minutes: a
program that takes too long is reported as failed, and repetitions beyond the time are skipped.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import networks  # noqa: E402
import perftest  # noqa: E402
import record  # noqa: E402
from ordinary_user import is_listening  # noqa: E402

QPERF_PORT = 19765
SIZES = (64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20)
QPS = (1, 4, 16, 64, 256)
DEPTHS = (1, 4, 16, 64, 256)
RUNS = 3
START_SECONDS = 10
SECONDS = 0.5  # of a measurement
SECONDS_OF_POINT = 0.2  # of a point of a curve
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6,
         "bytes": 2 ** -20, "KB": 1e3 / 2 ** 20, "MB": 1e6 / 2 ** 20, "GB": 1e9 / 2 ** 20}


class Failure(Exception):
    """The reason why a measurement failed."""


class Deadline:
    def __init__(self, seconds: float):
        self.begin = time.monotonic()
        self.seconds = seconds

    def left(self) -> float:
        return self.begin + self.seconds - time.monotonic()

    def has_passed(self, part: float) -> bool:
        return self.left() < (1 - part) * self.seconds


def run(words, timeout: float) -> str:
    line = " ".join(map(str, words))
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              check=False, timeout=timeout, cwd="/")
    except subprocess.TimeoutExpired as expired:
        raise Failure(f"not done within {timeout:.0f} s: {line}") from expired
    if done.returncode != 0:
        raise Failure(f"failed: {line}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def background(place, *words, output=subprocess.DEVNULL):
    process = subprocess.Popen(place.command(*words), stdout=output, stderr=output, cwd="/")
    try:
        time.sleep(0.3)
        if process.poll() is not None:
            raise Failure(f"ended at once: {' '.join(map(str, words))}")
        yield process
    finally:
        process.terminate()
        process.wait(10)


def qperf_figure(output: str) -> float:
    """In us, or MiB/s."""
    value, unit = re.search(r"=\s+([\d.,]+) (\w+)", output).groups()
    return float(value.replace(",", "")) * UNITS[unit]


def strace_counts(table: str) -> dict[str, int]:
    """From `strace -c`: successful and failed calls, by name."""
    counts = {}
    for line in table.splitlines():
        columns = line.split()
        if not re.match(r"[\d.]+$", columns[0] if columns else "") or columns[-1] == "total":
            continue
        failed = int(columns[4]) if len(columns) == 6 else 0
        counts[columns[-1]] = int(columns[3]) - failed
        counts[f"{columns[-1]}, in vain"] = failed
    return counts


class Peers:
    """The measurements between two network namespaces."""

    def __init__(self, build, there, here, deadline):
        cpus = sorted(os.sched_getaffinity(0))
        self.programs = build / "bin"
        self.there, self.here = there, here
        self.poller_there = there._replace(cpu=cpus[0])
        self.poller_here = here._replace(cpu=cpus[-1])
        self.host, self.deadline = there.ipv4, deadline
        self.port = None
        self.qperf_port = QPERF_PORT
        self.broken: set[str] = set()

    @contextlib.contextmanager
    def servers(self):
        with background(self.there, "qperf", "-lp", self.qperf_port), \
                networks.server(self.poller_there, self.programs) as (_, self.port):
            yield

    @contextlib.contextmanager
    def listening(self, port: int, *words, output=subprocess.DEVNULL):
        """Starts a server for one client, and waits until it listens on the port."""
        with background(self.there, *words, output=output) as process:
            end = time.monotonic() + START_SECONDS
            while not is_listening(port, process.pid):
                if time.monotonic() > end or process.poll() is not None:
                    raise Failure(f"does not listen: {' '.join(map(str, words))}")
                time.sleep(0.02)
            yield process

    def ask(self, place, *words, timeout: float = 30) -> str:
        return run(place.command(*words), max(1.0, min(timeout, self.deadline.left())))

    def try_ask(self, place, *words, timeout: float) -> str | None:
        """As ask, but prints a failure and returns None."""
        try:
            return self.ask(place, *words, timeout=timeout)
        except Failure as failure:
            print(f"skipped: {failure}", file=sys.stderr)
            return None

    def qperf(self, test: str, size: str) -> float:
        return qperf_figure(self.ask(self.here, "qperf", "-lp", self.qperf_port, "-t", 1, "-m",
                                     size, self.host, test))

    def fi_pingpong(self, provider: str, endpoint: str) -> float | None:
        """Half a round trip of 64 bytes, in us. None if it does not end: on busy machines its
        datagrams get lost, and it waits for them forever."""
        if provider in self.broken:
            return None
        options = ["-p", provider, "-e", endpoint, "-I", 2000, "-S", 64]
        with background(self.there, "fi_pingpong", *options):
            output = self.try_ask(self.here, "fi_pingpong", *options, self.host, timeout=6)
        if output is None:
            self.broken.add(provider)
            return None
        return float(output.split("\n")[1].split()[6])

    def floor(self, round_trips: int = 20000) -> dict:
        program = self.programs / "udp_floor"
        with background(self.poller_there, program, "--echo", self.host):
            return json.loads(self.ask(self.poller_here, program, "--json", "--round-trips",
                                       round_trips, "--to", self.host))

    def bench_line(self, *options) -> list:
        return [self.programs / "verbena", "bench", self.host, "-p", self.port, "--json",
                "-o", "write", *options]

    def verbena(self, *options, seconds: float = SECONDS) -> list[dict]:
        return json.loads(self.ask(self.poller_here, *self.bench_line("-t", seconds, *options)))

    def system_calls(self, count: int, *options) -> dict[str, int]:
        """System calls of all threads of the client, counted by strace."""
        with tempfile.NamedTemporaryFile() as trace:
            os.chmod(trace.name, 0o666)
            self.ask(self.poller_here, "strace", "-f", "-c", "-o", trace.name,
                     *self.bench_line("-n", count, *options), timeout=60)
            return strace_counts(pathlib.Path(trace.name).read_text())


def measure(peers: Peers) -> dict[str, float | None]:
    floor = peers.floor()
    latency, rate, bandwidth = peers.verbena()
    tcp, udp = peers.fi_pingpong("tcp", "rdm"), peers.fi_pingpong("udp", "dgram")
    return {
        "bare UDP, round trip, us": floor["p50_us"],
        "bare UDP, round trips per second": floor["round_trips_per_second"],
        "verbena, write of 64 bytes, us": latency["latency_us"]["p50"],
        "verbena, writes of 64 bytes per second": rate["requests_per_second"],
        "verbena, writes of 1 MiB, MiB/s": bandwidth["mib_per_second"],
        "qperf tcp_bw, MiB/s": peers.qperf("tcp_bw", "1M"),
        "qperf tcp_lat, round trip, us": 2 * peers.qperf("tcp_lat", "64"),
        "qperf udp_lat, round trip, us": 2 * peers.qperf("udp_lat", "64"),
        "fi_pingpong tcp, round trip, us": tcp and 2 * tcp,
        "fi_pingpong udp, round trip, us": udp and 2 * udp,
    }


def compare(peers: Peers, until: float, measure_once=measure) -> dict[str, float | None]:
    """The best of several rounds, so that all programs see the same background load. No round
    starts after this part of the time."""
    runs = [measure_once(peers)]
    while len(runs) < RUNS and not peers.deadline.has_passed(until):
        runs.append(measure_once(peers))
    found: dict[str, float | None] = {"runs": len(runs)}
    for name in runs[0]:
        values = [one[name] for one in runs if one[name] is not None]
        best = min if name.endswith(" us") else max
        found[name] = best(values, default=None)
    return found


def ratios(found: dict) -> list[tuple[str, float, str, bool]]:
    """Name, value, aim, and whether the aim is met."""
    latency = found["verbena, write of 64 bytes, us"] / found["bare UDP, round trip, us"]
    bandwidth = found["verbena, writes of 1 MiB, MiB/s"] / found["qperf tcp_bw, MiB/s"]
    rate = (found["verbena, writes of 64 bytes per second"]
            / found["bare UDP, round trips per second"])
    return [("latency of a write of 64 bytes / bare UDP", latency, "<= 1.25", latency <= 1.25),
            ("bandwidth of writes of 1 MiB / TCP", bandwidth, ">= 0.8", bandwidth >= 0.8),
            ("writes of 64 bytes / UDP round trips", rate, ">= 5", rate >= 5)]


class Curve(NamedTuple):
    option: str  # whose values are the points
    values: tuple[int, ...]
    figure: str
    others: dict[str, object]

    def options(self, value: int) -> dict[str, object]:
        """A batch has no more requests than may be outstanding."""
        all_of_them = self.others | {self.option: value}
        return all_of_them | {"-b": min(all_of_them["-b"], all_of_them["-d"])}


CURVES = {
    "size": Curve("-s", SIZES, "mib_per_second", {"-m": "bandwidth", "-d": 64, "-b": 8}),
    "qps": Curve("-q", QPS, "requests_per_second", {"-m": "rate", "-d": 32, "-b": 16}),
    "depth": Curve("-d", DEPTHS, "requests_per_second", {"-m": "rate", "-b": 16}),
}


def growth(peers: Peers) -> dict[str, list]:
    def point(curve: Curve, value: int) -> float:
        options = [word for pair in curve.options(value).items() for word in pair]
        return peers.verbena(*options, seconds=SECONDS_OF_POINT)[0][curve.figure]

    return {name: [[value, point(curve, value)] for value in curve.values]
            for name, curve in CURVES.items()}


def calls_per(peers: Peers, counts: tuple[int, int], per: int, *options) -> dict[str, float]:
    """System calls of `per` more requests: the difference of two runs, which excludes start-up. A
    tenth of the requests is warm-up, and included."""
    few, many = counts
    first, second = (peers.system_calls(count, *options) for count in counts)
    difference = {name: (calls - first.get(name, 0)) * per / ((many - few) * 1.1)
                  for name, calls in second.items()}
    return {name: round(value, 2) for name, value in difference.items() if abs(value) >= 0.05}


def show_figures(title: str, found: dict) -> None:
    print(f"\n{title}")
    for name, value in found.items():
        print(f"  {name:45} " + (f"{value:12,.2f}" if value is not None else "     skipped"),
              flush=True)


def show(title: str, found: dict) -> None:
    show_figures(title, found)
    for name, value, aim, met in ratios(found):
        print(f"  {name:45} {value:12,.2f}   aim {aim}: {'met' if met else 'NOT MET'}", flush=True)


def measure_programs(peers: Peers, title: str, until: float, results: dict) -> None:
    with peers.servers():
        found = compare(peers, until, perftest.measure)
    results[title] = found | perftest.ratios(found)
    show_figures(title, results[title])


def measure_loopback(build: pathlib.Path, deadline: Deadline, results: dict) -> None:
    peers = Peers(build, networks.LOOPBACK, networks.LOOPBACK, deadline)
    with peers.servers():
        calls = {
            "per 1,000 writes of 64 bytes": calls_per(peers, (10000, 30000), 1000, "-m", "rate"),
            "per MiB": calls_per(peers, (50, 150), 1, "-m", "bandwidth")}
        results["system calls"] = calls
        for name, found in calls.items():
            print(f"system calls {name}: {found}", flush=True)
        results["loopback"] = compare(peers, 0.27)
        show("loopback", results["loopback"])
        results["growth"] = growth(peers)


def measure_all(build: pathlib.Path, deadline: Deadline, results: dict) -> None:
    measure_loopback(build, deadline, results)
    with networks.lone_loopback() as place:
        measure_programs(Peers(build, place, place, deadline), "perftest, loopback", 0.55, results)
    if not networks.is_root():
        print("\nveth: skipped, needs root")
        return
    with networks.joined_namespaces(9000) as (there, here):
        peers = Peers(build, there, here, deadline)
        with peers.servers():
            results["veth"] = compare(peers, 0.75)
        show("veth, MTU 9000", results["veth"])
        measure_programs(peers, "perftest, veth, MTU 9000", 0.95, results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--minutes", type=float, default=4.5)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    results = record.begin(build)
    failure = None
    try:
        measure_all(build, Deadline(arguments.minutes * 60), results)
    except (Failure, TimeoutError, EOFError) as caught:
        failure = caught
    record.write(build / "bench" / "peers.json", results)
    if failure:
        print(f"compare_peers: {failure}", file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
