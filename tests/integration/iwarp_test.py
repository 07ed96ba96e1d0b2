#!/usr/bin/env python3
"""Runs programs that others wrote over iWARP, by TCP and by SCTP: connections of librdmacm on the
device verbena_iw0, as an ordinary user.

usage: iwarp_test.py LIBRARIES [--write] [--only REGEX]

Holds docs/iwarp.md to the list of what ran, or writes it.
"""

import argparse
import dataclasses
import os
import re
import shutil
import sys
from pathlib import Path

import cm_programs
import rdmacm_test
from cm_programs import CmCase
from ordinary_user import Bench, free_port, wait_listening

# The server of perftest stops to listen after its first connection, and listens again for the next
# one. The kernel refuses a client that is sooner, as it refuses one of an RNIC.
REJECTIONS_MAX = 3

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "iwarp.md"


def cases(port_space: str, suffix: str = "") -> list[CmCase]:
    """rping -q is left out: it moves its queue pair to INIT when it is connected, which is RTS on
    an RNIC."""
    chosen = [*(case for case in cm_programs.rpings() if "-q" not in case.client),
              *(cm_programs.ucmatose(*options)
                for options in ((), ("-c", "10"), ("-C", "100", "-S", "4096"), ("-m",))),
              *(cm_programs.perftest(f"{test}_{kind}")
                for test in ("send", "write", "read") for kind in ("bw", "lat")),
              cm_programs.perftest("write_bw", "-q", "4"), cm_programs.perftest("write_bw", "-b"),
              *(cm_programs.stream("rstream", *options)
                for options in ((), ("-T", "b"), ("-T", "v"))),
              cm_programs.rcopy()]
    return [dataclasses.replace(case, port_space=port_space, rejections_max=REJECTIONS_MAX,
                                shown=f"{case.shown}{suffix}".strip()) for case in chosen]


# A port of the connection manager is one of TCP, or of SCTP in UDP.
WIRES = {"iwarp": cases("sockets"), "iwarp-sctp": cases("sctp", " (SCTP)")}


def device_is_an_rnic(bench: Bench) -> bool:
    process = bench.start(["ibv_devinfo"])
    process.wait(rdmacm_test.SECONDS_MAX)
    good = re.search(r"(?s)hca_id:\s+verbena_iw0.*transport:\s+iWARP", process.output())
    if not good:
        print("ibv_devinfo does not show an RNIC:\n" + process.output())
    return good is not None


def both_devices_work(bench: Bench, wire: str) -> bool:
    """A program that chooses none gets the first of two devices; one can choose the other."""
    def runs(order: str, *command) -> str:
        process = bench.start(command, VERBENA_TRANSPORT=order)
        code = process.wait(rdmacm_test.SECONDS_MAX)
        process.end()
        if code != 0:
            print(f"{' '.join(command)} with {order} ended with {code}:\n{process.output()}")
        return process.output() if code == 0 else ""

    for order, names in ((f"roce,{wire}", ("verbena0", "verbena_iw0")),
                         (f"{wire},roce", ("verbena_iw0", "verbena0"))):
        if re.findall(r"hca_id:\s+(\S+)", runs(order, "ibv_devinfo")) != list(names):
            print(f"ibv_devinfo does not show {names}")
            return False
        if not re.search(rf"hca_id:\s+{names[1]}", runs(order, "ibv_devinfo", "-d", names[1])):
            return False
    port = str(free_port())
    pingpong = ("ibv_rc_pingpong", "-d", "verbena0", "-g", "0", "-p", port, "-n", "50")
    server = bench.start(pingpong, VERBENA_TRANSPORT=f"{wire},roce")
    good = wait_listening(int(port), server, rdmacm_test.SECONDS_MAX) and runs(
        f"{wire},roce", *pingpong, "127.0.0.1") != ""
    server.end()
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    wanted = {wire: [case for case in chosen if re.search(arguments.only, case.name)]
              for wire, chosen in WIRES.items()}
    missing = {command for chosen in wanted.values() for case in chosen
               for command in (case.server[0], case.client[0]) if shutil.which(command) is None}
    if missing:
        print("not installed:", ", ".join(sorted(missing)))
        return rdmacm_test.SKIPPED
    good = True
    for wire, chosen in wanted.items():
        os.environ["VERBENA_TRANSPORT"] = wire
        with Bench(arguments.libraries) as bench:
            good = (device_is_an_rnic(bench) and both_devices_work(bench, wire)
                    and rdmacm_test.run_all(bench, chosen)) and good
    if good and not arguments.only:
        good = rdmacm_test.check_page(arguments.write, PAGE, sum(WIRES.values(), []))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
