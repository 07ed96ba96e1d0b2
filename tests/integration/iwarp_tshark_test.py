#!/usr/bin/env python3
"""Wireshark decodes the iWARP connections that we write: every field must be as intended, and every
CRC good.

usage: iwarp_tshark_test.py IWARP_CAPTURE, the program that writes the capture and says what is in
it.
Exits with 77, which ctest counts as skipped, where there is no tshark.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tshark_test import SKIPPED, build

# Wireshark 4.0 has no names for immediate data, and shows its body as bytes.
MESSAGES = 18
CONNECTIONS = 10
TOTAL = CONNECTIONS * (2 + MESSAGES)
WITH_CRC = 6 * MESSAGES
# Dissectors that guess what is in a send, and may find a guess malformed.
GUESSES = ("smb_direct_iwarp", "rpcrdma_iwarp")


def tshark(capture: Path, *arguments: str) -> str:
    command = ["tshark", "-r", str(capture), *arguments]
    for guess in GUESSES:
        command += ["--disable-heuristic", guess]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def decode(capture: Path, fields: list[str]) -> list[dict[str, str]]:
    arguments = ["-T", "fields", "-E", "separator=/t"]
    for field in fields:
        arguments += ["-e", field]
    said = tshark(capture, *arguments)
    return [dict(zip(fields, line.split("\t"))) for line in said.splitlines()]


def number(text: str) -> int:
    return int(text == "True") if text in ("True", "False") else int(text, 0)


def compare(built: dict[str, str], seen: dict[str, str]) -> list[str]:
    problems = []
    for field, value in built.items():
        if field in ("name", "crc"):
            continue
        if seen[field] == "":
            problems.append(f"{field} was not decoded")
        elif number(seen[field]) != int(value):
            problems.append(f"{field} is {number(seen[field])}, not {value}")
    if seen["_ws.malformed"]:
        problems.append("it is malformed")
    return [f"frame {built['frame.number']}, {built['name']}: {problem}" for problem in problems]


def main(program: str) -> int:
    if not shutil.which("tshark"):
        print("iwarp_tshark_test.py: Skipped\ntshark is not installed\n"
              "[  SKIPPED ] integration.iwarp_tshark")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "iwarp.pcapng"
        packets = build(program, capture)
        fields = sorted({name for packet in packets for name in packet} - {"name", "crc"})
        frames = decode(capture, [*fields, "_ws.malformed"])
        crcs = re.findall(r"\((Good|Bad) CRC32", tshark(capture, "-V"))
    problems = [problem for packet, frame in zip(packets, frames)
                for problem in compare(packet, frame)]
    if (len(packets), len(frames)) != (TOTAL, TOTAL):
        problems.append(f"{len(packets)} segments, {len(frames)} frames; expected {TOTAL}")
    if crcs != ["Good"] * WITH_CRC:
        problems.append(f"{crcs.count('Good')} good CRCs, {crcs.count('Bad')} bad; "
                        f"expected {WITH_CRC} and none")
    checked = sum(len(packet.keys() - {"name", "crc"}) for packet in packets)
    print("\n".join(problems) or f"{len(packets)} segments decoded, {checked} fields, "
                                 f"{len(crcs)} CRCs")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
