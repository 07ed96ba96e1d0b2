#!/usr/bin/env python3
"""Connections over librdmacm in number, and processes that are killed while they make them.

usage: cm_stress_test.py LIBRARIES CM_CROWD CM_FLOOD [--long] [--only TEST] [--seed N]

Runs as an ordinary user who may lock 64 KiB, in a network namespace of its own if the test is root.

  cycles    connects and disconnects, again and again: descriptors do not grow
  crowd     1,000 connections of 8 processes with one server at once, a checked message on each
  servers   servers are killed at any moment: their clients hear of it
  clients   clients are killed at any moment: their servers go on
  holders   the process with UDP port 4791 is killed at any moment: connections are made anyway
  nothing   connects to a port without listener; with --long and root also to a machine without the
            service, and to one with another service on UDP port 4791
  flood     thousands of requests for connections that are not used: they are limited and counted,
            and a connection that was there goes on

Afterwards a new server and client work at once, and no name of the connection manager is left.
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
# Within that, and the time that a busy machine needs.
PATIENCE_SECONDS = 60
AT_ONCE_SECONDS = 5
CLIENT_PROCESSES, CONNECTIONS_OF_EACH = 8, 125
KILLS_AT_ONCE = 8


class Failure(Exception):
    """Why the test failed."""


def expect(condition: bool, text: str) -> None:
    if not condition:
        raise Failure(text)


class Crowd:
    """Starts cm_crowd, and gives out ports below the ephemeral ones."""

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
            expect(server.hear().get("listening") == port, "the server does not listen")
            yield server, port

    def unused_port(self) -> int:
        return next(self._ports)

    def at(self, place):
        """The same at another place."""
        other = copy.copy(self)
        other._place = place
        return other


def figures(server: Process) -> dict:
    server.say("figures")
    return server.hear()


def wait_alone(server: Process) -> dict:
    """The figures of a server when its last connection is gone."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (said := figures(server))["connections"] > 0:
        expect(time.monotonic() < end, f"connections remain: {said}")
        time.sleep(0.05)
    return said


def finish(client: Process) -> list[dict]:
    """What a client still says; it must end well, and not too late."""
    said = []
    with contextlib.suppress(EOFError):
        while True:
            said.append(client.hear(PATIENCE_SECONDS))
    code = client.popen.wait(PATIENCE_SECONDS)
    expect(code == 0, f"the client ended with {code} after {said}")
    return said


def talk(crowd: Crowd, address: str, port: int, seconds: float) -> list[dict]:
    with crowd.start("talk", address, port, seconds) as client:
        return finish(client)


def names_of(said: list[dict]) -> list[str]:
    return [one["event"] for one in said]


def expect_whole(said: list[dict]) -> None:
    """A connection that was made, used and ended as it should be."""
    expect(names_of(said) == [ESTABLISHED, "time", DISCONNECTED], f"not a whole one: {said}")


# --- The tests. ---


def test_cycles(crowd: Crowd, long: bool, _) -> str:
    count = 10_000 if long else 500
    with crowd.serve() as (server, port):
        talk(crowd, "127.0.0.1", port, 0)
        before = wait_alone(server)["descriptors"]
        with crowd.start("cycle", port, count) as client:
            [said] = finish_long(client)
        after = wait_alone(server)["descriptors"]
    expect(said["cycles"] == count and said["after"] <= said["before"],
           f"descriptors of the client: {said}")
    expect(after <= before, f"the server had {before} descriptors before, {after} after")
    return (f"{count} connections in {said['ms'] / 1000:.1f} s; descriptors {said['after']} and "
            f"{after}, as before")


def finish_long(client: Process) -> list[dict]:
    said = [client.hear(600)]
    return said + finish(client)


def test_crowd(crowd: Crowd, _, __) -> str:
    with crowd.serve() as (server, port), contextlib.ExitStack() as stack:
        before = figures(server)["descriptors"]
        clients = [stack.enter_context(crowd.start("many", port, CONNECTIONS_OF_EACH))
                   for _ in range(CLIENT_PROCESSES)]
        total = CLIENT_PROCESSES * CONNECTIONS_OF_EACH
        begin = time.monotonic()
        for step in ("established", "exchanged", "disconnected"):
            for client in clients:
                expect(client.hear().get(step) == CONNECTIONS_OF_EACH, f"not all are {step}")
            if step == "established":
                seconds = time.monotonic() - begin
                at_once = figures(server)["connections"]
            if step != "disconnected":
                for client in clients:
                    client.say("go on")
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
    """From before the request is sent until messages have been exchanged for a while."""
    return draw.choice((0.05, 0.2, 0.8)) * draw.random()


def kill_server(crowd: Crowd, seed: int) -> list[str]:
    with crowd.serve() as (server, port), crowd.start("talk", "127.0.0.1", port, 10) as client:
        kill(server, moment(random.Random(seed)))
        said = finish(client)
    expect(bool(said), "the client said nothing")
    expect(said[-1]["event"] in (REJECTED, UNREACHABLE, DISCONNECTED), f"not the end: {said}")
    if said[0]["event"] == REJECTED:
        expect(said[0]["status"] == NO_LISTENER, f"rejected for another reason: {said}")
    return names_of(said)


def kill_client(crowd: Crowd, seed: int) -> list[str]:
    with crowd.serve() as (server, port):
        with crowd.start("talk", "127.0.0.1", port, 10) as client:
            kill(client, moment(random.Random(seed)))
        begin = time.monotonic()
        expect_whole(talk(crowd, "127.0.0.1", port, 0))
        seconds = time.monotonic() - begin
        expect(seconds < PATIENCE_SECONDS / 2, f"the next client took {seconds:.1f} s")
        was_established = figures(server)["established"] == 2
    return ["established" if was_established else "not established"]


def tally(ends: list[list[str]]) -> str:
    last = [end[-1].removeprefix("RDMA_CM_EVENT_").lower() for end in ends]
    return ", ".join(f"{last.count(name)} {name}" for name in sorted(set(last)))


def kill_many(crowd: Crowd, once, long: bool, draw: random.Random) -> str:
    """Another process has UDP port 4791 meanwhile."""
    count = 70 if long else 8
    with crowd.start("hold") as holder, ThreadPoolExecutor(KILLS_AT_ONCE) as pool:
        holder.hear()
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
        return True  # it was started first; others can be on this machine
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
            holder.hear()
            expect(has_roce_port(holder), "the first process does not have UDP port 4791")
            with crowd.serve() as (server, port):
                with crowd.start("talk", "127.0.0.1", port, 0.5) as client:
                    kill(holder, moment(draw))
                    said = finish(client)
                expect_whole(said)
                slowest = max(slowest, said[0]["ms"])
                expect_whole(talk(crowd, "127.0.0.1", port, 0))
                wait_alone(server)
    return f"{count} killed; the slowest connection took {slowest} ms"


def expect_unreachable(said: list[dict], what: str) -> str:
    expect(names_of(said) == [UNREACHABLE] and said[0]["status"] == TIMED_OUT,
           f"{what}: {said}")
    seconds = round(said[0]["ms"] / 1000)
    expect(seconds in GIVE_UP_SECONDS, f"{what}: unreachable after {seconds} s")
    return f"{what}: unreachable after {seconds} s"


def test_nothing(crowd: Crowd, long: bool, _) -> str:
    with crowd.start("hold") as holder:
        holder.hear()
        said = talk(crowd, "127.0.0.1", crowd.unused_port(), 1)
    expect(names_of(said) == [REJECTED] and said[0]["status"] == NO_LISTENER,
           f"a port without listener: {said}")
    expect(said[0]["ms"] < 1000 * AT_ONCE_SECONDS, f"rejected late: {said}")
    lines = [f"no listener: rejected after {said[0]['ms']} ms"]
    if long and networks.is_root():
        with joined_namespaces(1500) as (there, here):
            crowd = crowd.at(here)
            lines.append(expect_unreachable(talk(crowd, there.ipv4, 7471, 1), "no service"))
            with Process(there, "python3", "-c", SINK) as sink:
                sink.hear()
                lines.append(expect_unreachable(talk(crowd, there.ipv4, 7471, 1),
                                                "another service"))
    return "; ".join(lines)


def counters_of(server: Process, printed) -> dict[str, int]:
    """What VERBENA_STATS says when the program ends, by name."""
    server.popen.stdin.close()
    expect(server.popen.wait(AT_ONCE_SECONDS) == 0, "the server did not end well")
    printed.seek(0)
    return {name: int(value) for name, _, value in
            (line.rpartition(": ") for line in printed.read().splitlines()) if value.isdigit()}


def test_flood(crowd: Crowd, long: bool, _) -> str:
    """From an address of this machine, and from another one of it."""
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
                said = finish(client)
            expect_whole(said)
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


# Has UDP port 4791 and never answers.
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
        said = talk(crowd, "127.0.0.1", port, 0)
        wait_alone(server)
    expect_whole(said)
    expect(said[-1]["ms"] < 1000 * AT_ONCE_SECONDS, f"not at once: {said}")


def check_names() -> None:
    """Of this network namespace. Without root, other processes can have names there."""
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
