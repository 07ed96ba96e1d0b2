#!/usr/bin/env python3
"""Two processes transfer checked data over real networks.

usage: network_test.py TEST FOLDER [--long]

FOLDER has the programs verbena and network_check. TEST is one of

  loopback    all operations on RC, UC and UD, over IPv4 and IPv6
  namespaces  the same between namespaces, MTU 1500 and 9000, also on a lossy, reordering link
  segments    a link that drops UDP segments that the sender's kernel has not split (UDP_SEGMENT)
  capture     tshark decodes such a run, and every ICRC is right
  killed      one side is killed at a random moment: the other side notices and continues
  flood       random and mutated packets arrive during a transfer
  load        1,000 connections with all operations in parallel
  idle        1,000 idle connections take no processor time and no wake-ups
  sleepers    a latency benchmark that sleeps until completions arrive, between namespaces
  managed     a region four times as large as its memory, between namespaces

Exits with 77, which ctest counts as skipped, if the test needs root and is not run as root.
"""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import networks
from networks import LOOPBACK, Process, joined_namespaces, server
from ordinary_user import public_programs

SKIPPED = 77
PROGRAMS = ("verbena", "network_check", "larger_than_memory")
ROCE_PORT = 4791  # of the first process of a machine; the others have OTHER_PORTS
OTHER_PORTS = range(61001, 65096)
PAGES_KIB = 2048  # tolerance for the growth of a process


class Failure(Exception):
    """Why the test failed."""


class Skip(Exception):
    """Why the test cannot run here."""


def expect(condition: bool, text: str) -> None:
    if not condition:
        raise Failure(text)


def finish(process: Process) -> None:
    code = process.popen.wait(60)
    expect(code == 0, f"{process.popen.args[-5:]} ended with {code}")


def check(programs, places, rounds: int, lossy: bool, loses_all: bool = False) -> None:
    """Runs all operations from the second place to a server at the first, over IPv4 and IPv6. Some
    unreliable messages may be lost if `lossy`, and all of them if `loses_all`."""
    there, here = places
    with server(there, programs) as (_, port):
        for host in (there.ipv4, there.ipv6):
            with Process(here, f"{programs}/network_check", "check", host, port, rounds) as client:
                output = [client.read_line(100) for _ in range(3)]
                finish(client)
            expect(output[0]["operations"] >= 4 * 5 * rounds, f"too few operations: {output[0]}")
            for one in output[1:]:
                least = one["sent"] // 4 if lossy else one["sent"]  # a message can have ten packets
                least = 0 if loses_all else least
                expect(one["echoed"] >= least, f"messages were lost: {one}")
            print(f"  {host}: {output[0]['operations']} operations of RC with packets of "
                  f"{output[0]['mtu']} bytes; of {output[1]['sent']} messages came back "
                  f"{output[1]['echoed']} on UC, {output[2]['echoed']} on UD", flush=True)


def test_loopback(programs, long):
    check(programs, (LOOPBACK, LOOPBACK), 2000 if long else 200, lossy=False)


def test_namespaces(programs, long):
    for mtu in (1500, 9000):
        for bad in (False, True):
            print(f"MTU {mtu}, {'a bad link' if bad else 'a good link'}", flush=True)
            with joined_namespaces(mtu, bad) as places:
                check(programs, places, (1000 if long else 100) // (4 if bad else 1), lossy=bad)


def lose_segments(place, device: str, longest: int) -> bool:
    """Drops frames longer than `longest` on the device, which are segments that are not split yet.
    False if the kernel cannot do that."""
    # Classic BPF: drop (2) longer frames, pass (-1) all others.
    program = f"4,128 0 0 0,37 0 1 {longest},6 0 0 2,6 0 0 4294967295"
    try:
        networks.run("tc", "-n", place.namespace, "qdisc", "add", "dev", device, "clsact")
        networks.run("tc", "-n", place.namespace, "filter", "add", "dev", device, "egress", "bpf",
                     "da", "bytecode", program)
    except subprocess.CalledProcessError:
        return False
    return True


def test_segments(programs, long):
    """Both directions drop segments, so requests and responses are lost. Reliable connections must
    deliver everything; unreliable ones may lose all messages."""
    mtu, ethernet_header = 1500, 14
    with joined_namespaces(mtu) as places:
        for place, device in zip(places, ("vb0", "vb1")):
            if not lose_segments(place, device, mtu + ethernet_header):
                raise Skip("this kernel has no filter that drops by length (cls_bpf)")
        check(programs, places, 100 if long else 20, lossy=True, loses_all=True)


def icrc_is_right(frame: bytes) -> bool | None:
    """Checks an Ethernet frame; None if it is not RoCE. Written from the specification."""
    version = int.from_bytes(frame[12:14], "big")
    header = 40 if version == 0x86DD else 20
    packet = bytearray(frame[14:])
    if version not in (0x0800, 0x86DD) or packet[6 if header == 40 else 9] != 17:
        return None
    udp = header
    port = int.from_bytes(packet[udp + 2:udp + 4], "big")
    if port != ROCE_PORT and port not in OTHER_PORTS:
        return None
    end = udp + int.from_bytes(packet[udp + 4:udp + 6], "big")
    if header == 20:  # type of service, time to live, checksum
        for masked in (1, 8, 10, 11):
            packet[masked] = 0xFF
    else:  # traffic class, flow label, hop limit
        packet[0] |= 0x0F
        packet[1:4] = b"\xff\xff\xff"
        packet[7] = 0xFF
    packet[udp + 6:udp + 8] = b"\xff\xff"  # checksum
    packet[udp + 8 + 4] = 0xFF  # a reserved byte of the BTH
    crc = zlib.crc32(b"\xff" * 8 + bytes(packet[:end - 4]))
    return crc.to_bytes(4, "little") == bytes(packet[end - 4:end])


def frames_of(capture: bytes):
    offset = 24
    while offset + 16 <= len(capture):
        length = int.from_bytes(capture[offset + 8:offset + 12], "little")
        yield capture[offset + 16:offset + 16 + length]
        offset += 16 + length


def test_capture(programs, _):
    with tempfile.TemporaryDirectory() as folder, joined_namespaces(1500) as places:
        for place, device in zip(places, ("vb0", "vb1")):
            # With this, captured frames are as on the wire: no unsplit segments.
            networks.run("ip", "-n", place.namespace, "link", "set", device, "gso_max_segs", 1)
        file = Path(folder) / "run.pcap"
        sniffer = subprocess.Popen(
            ["ip", "netns", "exec", places[0].namespace, "tshark", "-q", "-i", "vb0",
             "-F", "pcap", "-w", file], stderr=subprocess.PIPE, text=True)
        while "Capturing" not in sniffer.stderr.readline():
            pass
        time.sleep(1)
        check(programs, places, 20, lossy=False)
        time.sleep(1)
        sniffer.send_signal(signal.SIGINT)
        sniffer.communicate(timeout=30)
        read = ["tshark", "-r", file, "-d", "udp.port==61001-65095,infiniband"]
        decoded = subprocess.run([*read, "-Y", "infiniband", "-T", "fields", "-e", "_ws.malformed"],
                                 check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
        verdicts = [icrc_is_right(frame) for frame in frames_of(file.read_bytes())]
    right, wrong = verdicts.count(True), verdicts.count(False)
    malformed = sum(line != "" for line in decoded)
    print(f"{len(decoded)} packets decoded, {malformed} malformed; ICRC of {right} right, "
          f"of {wrong} wrong")
    expect(len(decoded) > 1000 and right > 1000, "too few packets were captured")
    expect(malformed == 0 and wrong == 0, "packets are malformed or have a wrong ICRC")


def test_killed(programs, long):
    draw = random.Random(7)
    count = 200 if long else 20
    slowest = 0.0
    with server(LOOPBACK, programs) as (_, port), \
            Process(LOOPBACK, f"{programs}/network_check", "survive", "127.0.0.1",
                    port) as survivor:
        errors = {}
        for _ in range(count):
            with server(LOOPBACK, programs, "--once") as (victim, victim_port):
                survivor.write_line(f"127.0.0.1 {victim_port}")
                time.sleep(draw.uniform(0, 0.15))
                victim.end(signal.SIGKILL)
            killed = time.monotonic()
            output = survivor.read_line(30)
            if "connected" in output:
                output = survivor.read_line(30)
            slowest = max(slowest, time.monotonic() - killed)
            text = output["error"].split(" at ")[0].split(";")[0]
            expect(text != "none", "the survivor reported no error")
            errors[text] = errors.get(text, 0) + 1
            expect(survivor.read_line(30)["continues"], "another connection failed, too")
        survivor.popen.stdin.close()
        finish(survivor)
    print(f"killed {count} times; detected within {slowest:.2f} s: {errors}")
    expect(slowest < 5, "a kill was detected too late")
    expect(any("retries" in text for text in errors), "no kill broke a connection")


def hostile_packet(draw: random.Random) -> bytes:
    """Random bytes, or a packet whose first header is valid."""
    if draw.random() < 0.3:
        return draw.randbytes(draw.randrange(0, 1400))
    number = (draw.randrange(4) << 16) | draw.randrange(64)
    opcode = draw.choice((0x04, 0x06, 0x0A, 0x0C, 0x11, 0x13, 0x2A, 0x64, 0x81))
    header = bytes([opcode, draw.randrange(256) & 0xF0, 0xFF, 0xFF])  # the version is right
    header += draw.randbytes(1) + number.to_bytes(3, "big")
    header += draw.randbytes(4)
    return header + draw.randbytes(draw.choice((0, 4, 16, 20, 28, 100, 1000)))


def sockets_of(process: Process) -> set[str]:
    found = set()
    for file in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.add(os.readlink(file))
    return found


def ports_of(processes: list[Process]) -> list[int]:
    """Waits until the adapter of each process has a UDP port; returns the ports."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        sockets = set().union(*map(sockets_of, processes))
        rows = [line.split() for family in ("udp", "udp6")
                for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]]
        ports = {int(row[1].rpartition(":")[2], 16) for row in rows
                 if f"socket:[{row[9]}]" in sockets}
        if len(ports) == len(processes):
            return sorted(ports)
        time.sleep(0.02)
    raise Failure("the adapters have no ports")


def flood(ports: list[int], seconds: float) -> int:
    """Sends at most 20,000 packets a second; returns their number."""
    draw = random.Random(3)
    packets = [hostile_packet(draw) for _ in range(5000)]
    sent = 0
    end = time.monotonic() + seconds
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        while time.monotonic() < end:
            for _ in range(200):
                out.sendto(packets[draw.randrange(len(packets))],
                           ("127.0.0.1", ports[sent % len(ports)]))
                sent += 1
            time.sleep(0.01)
    return sent


def expect_bounded(output: dict) -> None:
    grown = output["resident_kib"] - output["resident_early_kib"]
    expect(grown <= PAGES_KIB, f"memory grew by {grown} KiB")


def test_flood(programs, long):
    seconds = 30 if long else 4
    with server(LOOPBACK, programs) as (there, port), \
            Process(LOOPBACK, f"{programs}/network_check", "load", "127.0.0.1", port, 8,
                    seconds) as client:
        sent = flood(ports_of([there, client]), seconds - 1)
        output = client.read_line(60)
        finish(client)
    dropped = output["counters"]["dropped"]
    print(f"{sent} hostile packets; {output['operations']} operations meanwhile; dropped {dropped};"
          f" {output['resident_early_kib']} KiB, then {output['resident_kib']} KiB")
    expect(sum(dropped.values()) > 1000, "the flood did not arrive")
    expect(output["operations"] > 100, "the flood stopped the transfer")
    expect_bounded(output)


def resident_kib(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") // 1024


def test_load(programs, long):
    seconds = 60 if long else 5
    with server(LOOPBACK, programs) as (there, port), \
            Process(LOOPBACK, f"{programs}/network_check", "load", "127.0.0.1", port, 1000,
                    seconds) as client:
        time.sleep(seconds / 2)
        early = resident_kib(there.pid)
        output = client.read_line(seconds + 60)
        late = resident_kib(there.pid)
        finish(client)
    print(f"{output['operations']} operations on 1,000 connections; client "
          f"{output['resident_kib']} KiB, server {late} KiB")
    expect(output["under_way"] is False and output["rounds_min"] >= 1, f"not all moved: {output}")
    if long:  # a short run ends before every page was touched
        expect_bounded(output)
        expect(late - early <= PAGES_KIB, f"the server grew from {early} to {late} KiB")


def cost_of(pid: int) -> tuple[int, int]:
    """The processor time of a process in ticks, and the number of wake-ups of its threads."""
    stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    switches = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                switches += int(line.split()[1])
    return int(stat[11]) + int(stat[12]), switches


def test_idle(programs, _):
    seconds = 5
    with server(LOOPBACK, programs) as (there, port), \
            Process(LOOPBACK, f"{programs}/network_check", "idle", "127.0.0.1", port, 1000,
                    seconds) as client:
        client.read_line()
        pids = {"client": client.pid, "server": there.pid}
        before = {name: cost_of(pid) for name, pid in pids.items()}
        time.sleep(seconds - 0.5)
        after = {name: cost_of(pid) for name, pid in pids.items()}
        output = client.read_line()
        finish(client)
    share = 100 * os.sysconf("SC_CLK_TCK") * (seconds - 0.5) / 100
    for name in pids:
        ticks, woken = (b - a for a, b in zip(before[name], after[name]))
        print(f"{name}: {100 * ticks / share:.2f} % of a core, woken {woken} times")
        expect(ticks < share / 100, f"the {name} used {ticks} ticks")
        expect(woken <= 2, f"the {name} was woken {woken} times")
    expect(output["wake_ups"] == 0, f"the progress thread was woken: {output}")


def run_pair(there, here, serve: list, visit: list, timeout_s: float) -> tuple[str, str]:
    """Runs a server and its client, each in its namespace; returns the output of both."""
    owner = subprocess.Popen(there.command(*serve), stdout=subprocess.PIPE, text=True, cwd="/")
    try:
        time.sleep(0.5)  # until the server listens
        visitor = subprocess.run(here.command(*visit), stdout=subprocess.PIPE, text=True, cwd="/",
                                 timeout=timeout_s, check=False)
        output, _ = owner.communicate(timeout=60)
    finally:
        owner.kill()
    expect(visitor.returncode == 0, f"the client ended with {visitor.returncode}")
    expect(owner.returncode == 0, f"the server ended with {owner.returncode}")
    return output, visitor.stdout


def test_managed(programs, _):
    program, port = f"{programs}/larger_than_memory", 18600
    with joined_namespaces(1500) as (there, here):
        output, seen = run_pair(there, here, [program, "server", port],
                              [program, "client", there.ipv4, port], timeout_s=150)
    print(seen + "\n".join(output.splitlines()[-2:]))


def test_sleepers(programs, _):
    # ib_send_lat has one channel for both completion queues, and expects that a send completes
    # before the peer's answer arrives.
    lat = [f"{programs}/verbena", "run", "--", "ib_send_lat", "-e", "-F", "-s", 64, "-n", 500]
    with joined_namespaces(9000) as (there, here):
        for kind in ("RC", "UC", "UD"):
            _, seen = run_pair(there, here, [*lat, "-c", kind], [*lat, "-c", kind, there.ipv4],
                               timeout_s=30)
            print(kind, seen.splitlines()[-2].strip())


ROOT_ONLY = ("namespaces", "segments", "capture", "managed", "sleepers")
TESTS = {name: globals()[f"test_{name}"] for name in
         ("loopback", "namespaces", "segments", "capture", "killed", "flood", "load", "idle",
          "managed", "sleepers")}


def main(name: str, programs: str, *options: str) -> int:
    if name in ROOT_ONLY and not networks.is_root():
        print(f"network_test.py: Skipped\nneeds root\n[  SKIPPED ] integration.{name}")
        return SKIPPED
    try:
        with public_programs(Path(programs).resolve(), *PROGRAMS) as copy:
            TESTS[name](copy, "--long" in options)
    except Skip as reason:
        print(f"network_test.py: Skipped\n{reason}\n[  SKIPPED ] integration.{name}")
        return SKIPPED
    except (Failure, EOFError, TimeoutError) as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
