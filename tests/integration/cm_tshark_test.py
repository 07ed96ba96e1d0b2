#!/usr/bin/env python3
"""tshark decodes each message of the connection manager: its name and fields must be right.

usage: cm_tshark_test.py CM_CAPTURE; the program writes the capture and prints the fields.
Exits with 77, which ctest counts as skipped, if tshark is not installed.
"""

import ipaddress
import shutil
import sys
import tempfile
from pathlib import Path

from tshark_test import SKIPPED, build, decode

# Names in the column "Info". Of the messages in DATA_ONLY Wireshark 4.0 shows only the bytes.
NAMES = {
    "REQ": "ConnectRequest",
    "MRA": "MsgRcptAck",
    "REJ": "ConnectReject",
    "REP": "ConnectReply",
    "RTU": "ReadyToUse",
    "DREQ": "DisconnectRequest",
    "DREP": "DisconnectReply",
    "SIDR_REQ": "ServiceIDResReq",
    "SIDR_REP": "ServiceIDResReqResp",
    "LAP": "LoadAlternatePath",
    "APR": "AlternatePathResponse",
}
DATA_ONLY = {"MRA", "SIDR_REQ", "SIDR_REP", "LAP", "APR"}
INFO = "_ws.col.Info"
# Bugs of Wireshark 4.0: it shows the upper 12 bits of a flow label only, and takes the first of the
# 4 bytes for the packet rate, which is in the last.
FLOW_LABELS = ("infiniband.cm.req.prim_flowlabel", "infiniband.cm.req.alt_flowlabel")
MISREAD = ("infiniband.cm.req.prim_pktrate", "infiniband.cm.req.alt_pktrate")
GIDS = ("infiniband.cm.req.prim_localgid", "infiniband.cm.req.prim_remotegid")


def as_number(text: str) -> int:
    """Parses a field as tshark prints it: an address, hexadecimal bytes, True, 0x1f or 31."""
    if text in ("True", "False"):
        return int(text == "True")
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return int(ipaddress.ip_address(text))
    except ValueError:
        return int(text.replace(":", ""), 16)


def meant(value: str) -> int:
    return int(value[4:], 16) if value.startswith("hex:") else int(value)


def found(field: str, seen: dict[str, str]) -> int | None:
    """None if it was not decoded."""
    if seen[field]:
        value = seen[field]
        # Hexadecimal bytes without letters look like a decimal number.
        if field.endswith((".private", ".ari", ".data", "gid")) and ":" not in value:
            return int(value, 16)
        return as_number(value)
    if field in GIDS and seen[field + "_ipv4"]:  # a GID that is an IPv4 address
        return 0xFFFF << 32 | as_number(seen[field + "_ipv4"])
    return None


def compare(built: dict[str, str], seen: dict[str, str]) -> list[str]:
    problems = []
    name = f"CM: {NAMES[built['name']]}"
    if seen[INFO] != name:
        problems.append(f"decoded as {seen[INFO]}, not {name}")
    for field, value in built.items():
        if field == "name" or field in MISREAD:
            continue
        number = found(field, seen)
        if number not in (meant(value), meant(value) >> 8 if field in FLOW_LABELS else None):
            problems.append(f"{field} is {seen[field] or 'not decoded'}, not {value}")
    if seen["_ws.malformed"]:
        problems.append("malformed")
    return [f"frame {built['frame.number']}, {built['name']}: {problem}" for problem in problems]


def main(program: str) -> int:
    if not shutil.which("tshark"):
        print("cm_tshark_test.py: Skipped\ntshark is not installed\n"
              "[  SKIPPED ] integration.cm_tshark")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "cm.pcapng"
        packets = build(program, capture)
        fields = sorted({name for packet in packets for name in packet} - {"name"})
        frames = decode(capture, [*fields, *(gid + "_ipv4" for gid in GIDS), INFO, "_ws.malformed"])
    problems = [problem for packet, frame in zip(packets, frames)
                for problem in compare(packet, frame)]
    total = 2 * len(NAMES)
    if (len(packets), len(frames)) != (total, total):
        problems.append(f"{len(packets)} messages, {len(frames)} frames; expected {total}")
    in_full = sum(packet["name"] not in DATA_ONLY for packet in packets)
    checked = sum(len(packet.keys() - {"name", *MISREAD}) for packet in packets)
    print("\n".join(problems) or f"{len(packets)} messages by name, {in_full} of them decoded in "
                                 f"full, {checked} fields")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
