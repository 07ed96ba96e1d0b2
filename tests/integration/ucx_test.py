#!/usr/bin/env python3
"""Debian's UCX on Verbena, with no other setting than UCX_TLS.

usage: ucx_test.py LIBRARIES PROGRAMS; PROGRAMS is the folder of verbena.
Exits with 77, which ctest counts as skipped, if ucx_perftest is not installed.
"""

import shutil
import sys
import time
from pathlib import Path

import networks
from installed import Installed
from ordinary_user import Process, free_port, is_listening
from pairs import must_succeed, run_all

SKIPPED = 77
SECONDS_MAX = 60
TRANSPORTS = ("rc_v", "ud_v")
SIZES = (8, 4096, 65536, 1 << 20, 4 << 20)
# Tests of each kind of operation of UCX, by the names of ucx_perftest.
MESSAGES = ("tag_lat", "tag_bw", "tag_sync_lat", "ucp_put_lat", "ucp_put_bw", "ucp_get",
            "stream_lat", "stream_bw", "ucp_am_lat", "ucp_am_bw")
ATOMICS = ("ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap")


def batch(sizes=SIZES) -> str:
    """Lines for ucx_perftest -b: a few iterations of each test."""
    lines = []
    for size in sizes:
        count = 10 if size < 1 << 20 else 2
        lines += [f"{test}_{size} -t {test} -s {size} -n {count} -w 1" for test in MESSAGES]
    lines += [f"{test}_8 -t {test} -s 8 -n 10 -w 1" for test in ATOMICS]
    return "\n".join(lines) + "\n"


def wait_listening(port: int, server: Process) -> None:
    """Waits until the server listens, in its own network namespace."""
    end = time.monotonic() + SECONDS_MAX
    while not is_listening(port, server.pid):
        assert time.monotonic() < end and server.wait(0.02) is None, server.output()


def must_have_run_all(output: str, lines: str) -> None:
    """Checks that the output has a line of figures for each test."""
    ran = {line.split(",")[0] for line in output.splitlines() if line.count(",") == 8}
    missing = {line.split()[0] for line in lines.splitlines()} - ran
    assert not missing, f"not {sorted(missing)} in\n{output}"


def perftest(world: Installed, place: networks.Place, transport: str, host: str, lines: str,
             *options: str) -> None:
    port = free_port()
    (world.folder / "batch").write_text(lines, encoding="utf-8")
    command = place.command(*world.command("ucx_perftest", "-b", world.folder / "batch", "-v",
                                           "-p", port, *options))
    server = world.bench.start(command, UCX_TLS=transport)
    client = None
    try:
        wait_listening(port, server)
        client = world.bench.start([*command, host], UCX_TLS=transport)
        output = must_succeed(client, SECONDS_MAX)
        must_succeed(server, SECONDS_MAX)
        assert "ERROR" not in output + server.output(), output + server.output()
        must_have_run_all(output, lines)
    finally:
        for process in (server, client):
            if process is not None:
                process.end()


def ucx_finds_the_device(world: Installed) -> None:
    with networks.lone_loopback() as place:
        output = must_succeed(world.bench.start(place.command(*world.command("ucx_info", "-d"))))
    for transport in ("rc_verbs", "ud_verbs"):
        block = output.partition(f"Transport: {transport}")[2]
        assert "Device: verbena0:1" in block[:200], output


def over_ipv4(world: Installed) -> None:
    with networks.lone_loopback() as place:
        for transport in TRANSPORTS:
            perftest(world, place, transport, "127.0.0.1", batch())


def over_ipv6(world: Installed) -> None:
    """UCX prefers an IPv4 address, so the test removes it."""
    if not networks.is_root():
        return
    with networks.lone_loopback() as place:
        networks.run("ip", "-n", place.namespace, "addr", "del", "127.0.0.1/8", "dev", "lo")
        for transport in TRANSPORTS:
            perftest(world, place, transport, "::1", batch((8, 1 << 20)), "-6")


def over_a_network_with_a_small_mtu(world: Installed) -> None:
    if not networks.is_root():
        return
    with networks.joined_namespaces(1500) as (there, here):
        for transport in TRANSPORTS:
            port = free_port()
            words = ("ucx_perftest", "-t", "tag_bw", "-s", 1 << 20, "-n", 3, "-w", 1, "-p", port)
            server = world.bench.start(there.command(*world.command(*words)), UCX_TLS=transport)
            try:
                wait_listening(port, server)
                must_succeed(world.bench.start(here.command(*world.command(*words), there.ipv4),
                                               UCX_TLS=transport), SECONDS_MAX)
                must_succeed(server, SECONDS_MAX)
            finally:
                server.end()


TESTS = (ucx_finds_the_device, over_ipv4, over_ipv6, over_a_network_with_a_small_mtu)


def main() -> int:
    if shutil.which("ucx_perftest") is None:
        print("ucx_perftest is not installed (package ucx-utils)")
        return SKIPPED
    if not networks.is_root():
        print("IPv6 and a network: skipped, namespaces need root")
    # Place.command makes programs run as an ordinary user.
    with Installed(Path(sys.argv[1]), Path(sys.argv[2]), ordinary=not networks.is_root()) as world:
        return run_all(TESTS, world)


if __name__ == "__main__":
    sys.exit(main())
