#!/usr/bin/env python3
"""Many connections over librdmacm, and processes that are killed during connection establishment.

usage: cm_stress_test.py LIBRARIES CM_CROWD CM_FLOOD [--long] [--only TEST] [--seed N]

Runs as an ordinary user with a memlock limit of 64 KiB, in a network namespace of its own if the
test is root.

  cycles    connects and disconnects repeatedly: the number of descriptors does not grow
  crowd     1,000 connections of 8 processes to one server, a checked message on each
  servers   servers are killed at random moments: their clients get an event
  clients   clients are killed at random moments: their servers continue
  holders   the owner of UDP port 4791 is killed at random moments: connections are still made
  nothing   connects to a port without listener; with --long and root also to a machine without the
            service, and to one with another service on UDP port 4791
  flood     thousands of connection requests that are never completed: they are limited and counted,
            and an existing connection continues

Afterwards a new server and client work, and no socket name of the connection manager is left.
"""

import argparse
import contextlib
import copy
import itertools
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import networks
from networks import LOOPBACK, Process, joined_namespaces
from ordinary_user import Bench

ROCE_PORT = 4791
NAME = "@verbena/cm/"
ESTABLISHED = "RDMA_CM_EVENT_ESTABLISHED"
DISCONNECTED = "RDMA_CM_EVENT_DISCONNECTED"
REJECTED = "RDMA_CM_EVENT_REJECTED"
UNREACHABLE = "RDMA_CM_EVENT_UNREACHABLE"
NO_LISTENER = 8  # a reason of IBA 12.6.7.2
TIMED_OUT = -110
# The connection manager sends a message 16 times, which takes 17 s, and then gives up.
GIVE_UP_SECONDS = range(14, 25)
# Longer than that, with a margin for a busy machine.
TIMEOUT_S = 60
PROMPT_S = 5
CLIENT_PROCESSES, CONNECTIONS_OF_EACH = 8, 125
PARALLEL_KILLS = 8


class Failure(Exception):
    """Why the test failed."""


def expect(condition: bool, text: str) -> None:
    if not condition:
        raise Failure(text)


class Crowd:
    """Starts cm_crowd, and assigns ports below the ephemeral range."""

    def __init__(self, program: Path, flood: Path, libraries: Path, seed: int, place=LOOPBACK):
        self._line = ["env", f"LD_LIBRARY_PATH={libraries}", program]
        self._flood = flood
        self._ports = itertools.count(random.Random(seed).randrange(20_000, 30_000))
        self._place = place

    def start(self, *words) -> Process:
        return Process(self._place, *self._line, *words)

    def flood(self, *words) -> Process:
        return Process(self._place, self._flood, *words)

    @contextlib.contextmanager
    def serve(self, **options):
        port = next(self._ports)
        with Process(self._place, *self._line, "serve", port, **options) as server:
            expect(server.read_line().get("listening") == port, "the server does not listen")
            yield server, port

    def unused_port(self) -> int:
        return next(self._ports)

    def at(self, place):
        """The same in another network namespace."""
        other = copy.copy(self)
        other._place = place
        return other


def figures(server: Process) -> dict:
    server.write_line("figures")
    return server.read_line()


def wait_alone(server: Process) -> dict:
    """The figures of a server after its last connection has ended."""
    end = time.monotonic() + TIMEOUT_S
    while (output := figures(server))["connections"] > 0:
        expect(time.monotonic() < end, f"connections remain: {output}")
        time.sleep(0.05)
    return output


def finish(client: Process) -> list[dict]:
    """The remaining output of a client, which must end in time and with exit code 0."""
    output = []
    with contextlib.suppress(EOFError):
        while True:
            output.append(client.read_line(TIMEOUT_S))
    code = client.popen.wait(TIMEOUT_S)
    expect(code == 0, f"the client ended with {code} after {output}")
    return output


def talk(crowd: Crowd, address: str, port: int, seconds: float) -> list[dict]:
    with crowd.start("talk", address, port, seconds) as client:
        return finish(client)


def names_of(output: list[dict]) -> list[str]:
    return [one["event"] for one in output]


def expect_whole(output: list[dict]) -> None:
    """Expects a connection that was established, used and disconnected."""
    expect(names_of(output) == [ESTABLISHED, "time", DISCONNECTED], f"unexpected events: {output}")


# --- The tests. ---


def test_cycles(crowd: Crowd, long: bool, _) -> str:
    count = 10_000 if long else 500
    with crowd.serve() as (server, port):
        talk(crowd, "127.0.0.1", port, 0)
        before = wait_alone(server)["descriptors"]
        with crowd.start("cycle", port, count) as client:
            [output] = finish_long(client)
        after = wait_alone(server)["descriptors"]
    expect(output["cycles"] == count and output["after"] <= output["before"],
           f"descriptors of the client: {output}")
    expect(after <= before, f"the server had {before} descriptors before, {after} after")
    return (f"{count} connections in {output['ms'] / 1000:.1f} s; descriptors {output['after']} "
            f"and {after}, as before")


def finish_long(client: Process) -> list[dict]:
    output = [client.read_line(600)]
    return output + finish(client)


def test_crowd(crowd: Crowd, _, __) -> str:
    with crowd.serve() as (server, port), contextlib.ExitStack() as stack:
        before = figures(server)["descriptors"]
        clients = [stack.enter_context(crowd.start("many", port, CONNECTIONS_OF_EACH))
                   for _ in range(CLIENT_PROCESSES)]
        total = CLIENT_PROCESSES * CONNECTIONS_OF_EACH
        begin = time.monotonic()
        for step in ("established", "exchanged", "disconnected"):
            for client in clients:
                expect(client.read_line().get(step) == CONNECTIONS_OF_EACH, f"not all are {step}")
            if step == "established":
                seconds = time.monotonic() - begin
                at_once = figures(server)["connections"]
            if step != "disconnected":
                for client in clients:
                    client.write_line("go on")
        for client in clients:
            finish(client)
        after = wait_alone(server)
    expect(at_once == total, f"the server had {at_once} connections at once, not {total}")
    expect(after["messages"] == total, f"the server got {after['messages']} messages")
    expect(after["descriptors"] <= before + 1, f"{before} descriptors before, then {after}")
    return f"{total} connections of {CLIENT_PROCESSES} processes after {seconds:.1f} s"


def kill(process: Process, seconds: float) -> None:
    time.sleep(seconds)
    process.popen.kill()


def moment(draw: random.Random) -> float:
    """A random time between the start of the client and some exchanged messages."""
    return draw.choice((0.05, 0.2, 0.8)) * draw.random()


def kill_server(crowd: Crowd, seed: int) -> list[str]:
    with crowd.serve() as (server, port), crowd.start("talk", "127.0.0.1", port, 10) as client:
        kill(server, moment(random.Random(seed)))
        output = finish(client)
    expect(bool(output), "the client printed nothing")
    expect(output[-1]["event"] in (REJECTED, UNREACHABLE, DISCONNECTED), f"did not end: {output}")
    if output[0]["event"] == REJECTED:
        expect(output[0]["status"] == NO_LISTENER, f"rejected for another reason: {output}")
    return names_of(output)


def kill_client(crowd: Crowd, seed: int) -> list[str]:
    with crowd.serve() as (server, port):
        with crowd.start("talk", "127.0.0.1", port, 10) as client:
            kill(client, moment(random.Random(seed)))
        begin = time.monotonic()
        expect_whole(talk(crowd, "127.0.0.1", port, 0))
        seconds = time.monotonic() - begin
        expect(seconds < TIMEOUT_S / 2, f"the next client took {seconds:.1f} s")
        was_established = figures(server)["established"] == 2
    return ["established" if was_established else "not established"]


def tally(ends: list[list[str]]) -> str:
    last = [end[-1].removeprefix("RDMA_CM_EVENT_").lower() for end in ends]
    return ", ".join(f"{last.count(name)} {name}" for name in sorted(set(last)))


def kill_many(crowd: Crowd, once, long: bool, draw: random.Random) -> str:
    """Another process owns UDP port 4791 during the test."""
    count = 70 if long else 8
    with crowd.start("hold") as holder, ThreadPoolExecutor(PARALLEL_KILLS) as pool:
        holder.read_line()
        seeds = [draw.getrandbits(32) for _ in range(count)]
        return f"{count} killed: " + tally(list(pool.map(lambda seed: once(crowd, seed), seeds)))


def test_servers(crowd: Crowd, long: bool, draw: random.Random) -> str:
    return kill_many(crowd, kill_server, long, draw)


def test_clients(crowd: Crowd, long: bool, draw: random.Random) -> str:
    return kill_many(crowd, kill_client, long, draw)


def sockets_of(process: Process) -> set[str]:
    files = Path(f"/proc/{process.pid}/fd")
    return {str(file.readlink()) for file in files.iterdir() if file.is_symlink()}


def has_roce_port(process: Process) -> bool:
    if not networks.is_root():
        return True  # without a namespace, a process outside of the test may own the port
    for table in ("udp", "udp6"):
        for line in Path(f"/proc/{process.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if int(fields[1].rsplit(":", 1)[1], 16) == ROCE_PORT:
                return f"socket:[{fields[9]}]" in sockets_of(process)
    return False


def test_holders(crowd: Crowd, long: bool, draw: random.Random) -> str:
    count, slowest = 60 if long else 6, 0
    for _ in range(count):
        with crowd.start("hold") as holder:
            holder.read_line()
            expect(has_roce_port(holder), "the first process does not have UDP port 4791")
            with crowd.serve() as (server, port):
                with crowd.start("talk", "127.0.0.1", port, 0.5) as client:
                    kill(holder, moment(draw))
                    output = finish(client)
                expect_whole(output)
                slowest = max(slowest, output[0]["ms"])
                expect_whole(talk(crowd, "127.0.0.1", port, 0))
                wait_alone(server)
    return f"{count} killed; the slowest connection took {slowest} ms"


def expect_unreachable(output: list[dict], what: str) -> str:
    expect(names_of(output) == [UNREACHABLE] and output[0]["status"] == TIMED_OUT,
           f"{what}: {output}")
    seconds = round(output[0]["ms"] / 1000)
    expect(seconds in GIVE_UP_SECONDS, f"{what}: unreachable after {seconds} s")
    return f"{what}: unreachable after {seconds} s"


def test_nothing(crowd: Crowd, long: bool, _) -> str:
    with crowd.start("hold") as holder:
        holder.read_line()
        output = talk(crowd, "127.0.0.1", crowd.unused_port(), 1)
    expect(names_of(output) == [REJECTED] and output[0]["status"] == NO_LISTENER,
           f"a port without listener: {output}")
    expect(output[0]["ms"] < 1000 * PROMPT_S, f"rejected late: {output}")
    lines = [f"no listener: rejected after {output[0]['ms']} ms"]
    if long and networks.is_root():
        with joined_namespaces(1500) as (there, here):
            crowd = crowd.at(here)
            lines.append(expect_unreachable(talk(crowd, there.ipv4, 7471, 1), "no service"))
            with Process(there, "python3", "-c", SINK) as sink:
                sink.read_line()
                lines.append(expect_unreachable(talk(crowd, there.ipv4, 7471, 1),
                                                "another service"))
    return "; ".join(lines)


def counters_of(server: Process, printed) -> dict[str, int]:
    """The counters that VERBENA_STATS prints when the program ends, by name."""
    server.popen.stdin.close()
    expect(server.popen.wait(PROMPT_S) == 0, "the server did not end with exit code 0")
    printed.seek(0)
    return {name: int(value) for name, _, value in
            (line.rpartition(": ") for line in printed.read().splitlines()) if value.isdigit()}


def test_flood(crowd: Crowd, long: bool, _) -> str:
    """From two addresses of this machine."""
    count = 200_000 if long else 20_000
    environment = dict(os.environ, VERBENA_STATS="1")
    with tempfile.TemporaryFile("w+") as printed:
        with crowd.serve(stderr=printed, env=environment) as (server, port):
            talk(crowd, "127.0.0.1", port, 0)
            with crowd.start("talk", "127.0.0.1", port, 3) as client:
                time.sleep(0.3)
                for source in ("127.0.0.1", "127.0.0.2"):
                    with crowd.flood("127.0.0.1", port, count // 2, source) as flood:
                        sent = finish(flood)[0]["sent"]
                        expect(sent == count // 2, f"{sent} of {count // 2} were sent")
                output = finish(client)
            expect_whole(output)
            expect_whole(talk(crowd, "127.0.0.1", port, 0))
            left = wait_alone(server)
            found = counters_of(server, printed)
    expect(left["lost"] == 0, f"messages were lost: {left}")
    refused = found.get("connection requests refused: backlog or table full", 0)
    received = found.get("connection requests received", 0)
    expect(received > 1000, f"few requests arrived: {found}")
    expect(refused > 0, f"none was refused: {found}")
    return (f"{count} requests, of which {received} came in and {refused} were refused; "
            f"{left['messages']} messages went on meanwhile")


# Owns UDP port 4791 and never answers.
SINK = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", {ROCE_PORT}))
print("{{}}", flush=True)
while True:
    s.recv(4096)
"""


# --- Afterwards. ---


def check_fresh(crowd: Crowd) -> None:
    with crowd.serve() as (server, port):
        output = talk(crowd, "127.0.0.1", port, 0)
        wait_alone(server)
    expect_whole(output)
    expect(output[-1]["ms"] < 1000 * PROMPT_S, f"not at once: {output}")


def check_names() -> None:
    """No socket name is left in this network namespace. Without root, other processes may own
    some."""
    if not networks.is_root():
        return
    text = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    left = [line for line in text.splitlines() if NAME in line]
    expect(not left, "names are left:\n" + "\n".join(left))


TESTS = {name: globals()[f"test_{name}"] for name in
         ("cycles", "crowd", "servers", "clients", "holders", "nothing", "flood")}


def run(crowd: Crowd, name: str, arguments) -> bool:
    begin = time.monotonic()
    try:
        text, good = TESTS[name](crowd, arguments.long, random.Random(arguments.seed)), True
        check_fresh(crowd)
        check_names()
    except (Failure, EOFError, TimeoutError) as failure:
        text, good = f"{type(failure).__name__}: {failure} (--seed {arguments.seed})", False
    print(f"{'ok    ' if good else 'FAILED'} {time.monotonic() - begin:5.1f} s  {name}: {text}",
          flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", type=Path)
    parser.add_argument("program", type=Path)
    parser.add_argument("flood", type=Path)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", choices=TESTS)
    parser.add_argument("--seed", type=int, default=random.getrandbits(32))
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else list(TESTS)
    with (Bench(arguments.libraries, arguments.program, arguments.flood) as bench,
          networks.lone_loopback() as place):
        if place.namespace:
            networks.in_namespace(place.namespace)
        crowd = Crowd(bench.folder / arguments.program.name, bench.folder / arguments.flood.name,
                      bench.folder, arguments.seed)
        results = [run(crowd, name, arguments) for name in names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
