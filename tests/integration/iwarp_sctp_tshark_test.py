#!/usr/bin/env python3
"""Wireshark decodes a connection of iWARP over SCTP that a program makes: each datagram is an SCTP
packet with a good checksum, and each message has the protocol and the function of its place.

usage: iwarp_sctp_tshark_test.py LIBRARIES

Runs in a network namespace of its own. Exits with 77, which ctest counts as skipped, where there is
no tshark, rping or namespace.
"""

import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from ordinary_user import Bench
from rdmacm_test import is_udp_port
from tshark_test import SKIPPED

PORT = 7174
SECONDS_MAX = 60
INSIDE = "--inside"
ALL_PROTOCOLS, OUTGOING = 3, 4      # ETH_P_ALL, PACKET_OUTGOING
SEGMENT, CONTROL = "16", "17"       # payload protocol identifiers
# The first bytes of a control message: number 0 and its function, which are the enhanced ones.
INITIATE, ACCEPT = "00000005", "00000006"
TERMINATE = "0004"
FIELDS = ("udp.dstport", "sctp.srcport", "sctp.dstport", "sctp.checksum.status",
          "sctp.adaptation_layer_indication", "sctp.data_payload_proto_id", "data.data",
          "_ws.malformed")


class Capture:
    """Writes what the loopback device carries to a file."""

    def __init__(self, file: Path):
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
        self._socket.bind(("lo", 0))
        self._socket.settimeout(0.2)
        self._file = file.open("wb")
        self._file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1))
        self._ends = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends:
            try:
                frame, address = self._socket.recvfrom(1 << 18)
            except TimeoutError:
                continue
            if address[2] == OUTGOING:  # each is seen twice
                self._file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)

    def end(self) -> None:
        self._ends = True
        self._thread.join()
        self._file.close()
        self._socket.close()


def run_rping(libraries: Path, capture: Path) -> str:
    """An error text, or ""."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with Bench(libraries, ordinary=False) as bench:
        recorder = Capture(capture)
        command = ("rping", "-a", "127.0.0.1", "-p", str(PORT), "-V", "-C", "5")
        server = bench.start((*command, "-s"), VERBENA_TRANSPORT="iwarp-sctp")
        while not is_udp_port(PORT) and server.wait(0.05) is None:
            pass
        client = bench.start((*command, "-c"), VERBENA_TRANSPORT="iwarp-sctp")
        codes = [client.wait(SECONDS_MAX), server.wait(SECONDS_MAX)]
        recorder.end()
        said = client.output() + server.output()
        client.end()
        server.end()
        return "" if codes == [0, 0] else f"rping ended with {codes}:\n{said}"


def decode(capture: Path) -> list[dict[str, list[str]]]:
    command = ["tshark", "-r", str(capture), "-d", f"udp.port=={PORT},sctp",
               "-o", "sctp.checksum:CRC 32c", "-o", "sctp.reassembly:false",
               "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=,"]
    for field in FIELDS:
        command += ["-e", field]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [dict(zip(FIELDS, (text.split(",") if text else [] for text in line.split("\t"))))
            for line in said.splitlines()]


def problems_of(frames: list[dict[str, list[str]]]) -> list[str]:
    problems = []
    messages: dict[bool, list[tuple[str, str]]] = {True: [], False: []}  # by: to the server
    indications = []
    for number, frame in enumerate(frames, 1):
        if not frame["sctp.dstport"]:
            problems.append(f"frame {number} is no SCTP packet")
        elif frame["sctp.dstport"][0] != frame["udp.dstport"][0]:
            problems.append(f"frame {number}: the SCTP port is not the UDP port")
        if frame["sctp.checksum.status"] not in (["1"], ["Good"]):
            problems.append(f"frame {number}: checksum {frame['sctp.checksum.status']}")
        if frame["_ws.malformed"]:
            problems.append(f"frame {number} is malformed")
        indications += frame["sctp.adaptation_layer_indication"]
        to_server = frame["udp.dstport"] == [str(PORT)]
        messages[to_server] += zip(frame["sctp.data_payload_proto_id"], frame["data.data"])
    if [int(value, 0) for value in indications] != [1, 1]:
        problems.append(f"the adaptation layer indications are {indications}, not two of 1")
    for to_server, function in ((True, INITIATE), (False, ACCEPT)):
        said = messages[to_server]
        if len(said) < 10:
            problems.append(f"only {len(said)} messages")
            continue
        if said[0][0] != CONTROL or not said[0][1].startswith(function):
            problems.append(f"the first message is {said[0]}")
        between = [protocol for protocol, _ in said[1:-1]]
        if set(between) != {SEGMENT}:
            problems.append(f"messages between set-up and end have the protocols {set(between)}")
        if said[-1][0] != CONTROL or said[-1][1][4:8] != TERMINATE:
            problems.append(f"the last message is {said[-1]}")
        numbers = [int(data[:4], 16) for _, data in said]
        if sorted(set(numbers)) != list(range(len(set(numbers)))):
            problems.append(f"the numbers have a gap: {numbers}")
    return problems


def inside(libraries: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "sctp.pcap"
        if problem := run_rping(libraries, capture):
            print(problem)
            return 1
        frames = decode(capture)
    problems = problems_of(frames)
    print("\n".join(problems) or f"{len(frames)} SCTP packets decoded")
    return 1 if problems else 0


def main() -> int:
    if len(sys.argv) > 2 and sys.argv[2] == INSIDE:
        return inside(Path(sys.argv[1]))
    if not shutil.which("tshark") or not shutil.which("rping"):
        print("tshark or rping is not installed")
        return SKIPPED
    namespace = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*namespace, "true"], check=False, capture_output=True).returncode != 0:
        print("there is no network namespace for the test")
        return SKIPPED
    return subprocess.run([*namespace, sys.executable, __file__, sys.argv[1], INSIDE],
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
