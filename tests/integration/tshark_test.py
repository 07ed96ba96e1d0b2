#!/usr/bin/env python3
"""tshark decodes a packet of every opcode: every field must have the value that was written.

usage: tshark_test.py ROCE_CAPTURE; the program writes the capture and prints the fields.
Exits with 77, which ctest counts as skipped, if tshark is not installed.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
CRC = "infiniband.invariant.crc"
RAW = ("infiniband.immdt", "infiniband.ieth")

# Wireshark 4.0 decodes these up to the BTH only. In reliable datagrams, which it calls "DC", it
# expects the next header 8 bytes too late, and so reports some of them as malformed.
HEADER_ONLY = ("RD ", "XRC ", "CNP", "RC FLUSH", "RC ATOMIC WRITE")
DECODED = 2 * (23 + 12 + 2)  # RC, UC and UD, over IPv4 and IPv6
TOTAL = 2 * 85


def number(field: str, text: str) -> int:
    """Parses a field as tshark prints it: True, 0x1f, 31, or, if raw, the bytes 0000001f, twice."""
    if field in RAW:
        return int(text.split(",")[0], 16)
    return int(text == "True") if text in ("True", "False") else int(text, 0)


def build(program: str, capture: Path) -> list[dict[str, str]]:
    output = subprocess.run([program, capture], check=True, capture_output=True, text=True).stdout
    return [dict(field.split("=", 1) for field in line.split("\t")) for line in output.splitlines()]


def decode(capture: Path, fields: list[str]) -> list[dict[str, str]]:
    command = ["tshark", "-r", capture, "-T", "fields", "-E", "separator=/t"]
    for field in fields:
        command += ["-e", field]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [dict(zip(fields, line.split("\t"))) for line in output.splitlines()]


def compare(built: dict[str, str], seen: dict[str, str]) -> list[str]:
    header_only = built["name"].startswith(HEADER_ONLY)
    problems = []
    for field, value in built.items():
        if field in ("name", "ip") or (header_only and not field.startswith("infiniband.bth.")):
            continue
        if field != "frame.number" and seen[field] == "":
            problems.append(f"{field} was not decoded")
            continue
        found, meant = number(field, seen[field]), int(value)
        if field == CRC:  # tshark prints the four bytes, roce_capture their value
            meant = int.from_bytes(meant.to_bytes(4, "little"), "big")
        if found != meant:
            problems.append(f"{field} is {found}, not {meant}")
    if not header_only:
        unexpected = [field for field, value in seen.items() if value and field not in built]
        problems += [f"unexpected field {field}: {seen[field]}" for field in unexpected]
    return [f"frame {built['frame.number']}, {built['name']}, IPv{built['ip']}: {problem}"
            for problem in problems]


def main(program: str) -> int:
    if not shutil.which("tshark"):
        print("tshark_test.py: Skipped\ntshark is not installed\n[  SKIPPED ] integration.tshark")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "roce.pcapng"
        packets = build(program, capture)
        names = sorted({name for packet in packets for name in packet} - {"name", "ip"})
        frames = decode(capture, [*names, "_ws.malformed"])
    problems = [problem for packet, frame in zip(packets, frames)
                for problem in compare(packet, frame)]
    decoded = sum(not packet["name"].startswith(HEADER_ONLY) for packet in packets)
    if (len(packets), len(frames), decoded) != (TOTAL, TOTAL, DECODED):
        problems.append(f"{len(packets)} packets, {len(frames)} frames, {decoded} to decode; "
                        f"expected {TOTAL}, {TOTAL}, {DECODED}")
    print("\n".join(problems) or f"{decoded} packets decoded in full, "
                                 f"{len(packets) - decoded} up to the base transport header")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
