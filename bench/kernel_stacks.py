#!/usr/bin/env python3
"""Compares Verbena with the kernel's Soft-RoCE and SoftiWARP, in a guest.

  bench/kernel_stacks.py LAB SHARE [--build DIR] [--only REGEX] [--runs N]   (not in make bench)

LAB is a command that runs a program in the guest (`LAB sh COMMAND`), whose kernel has rxe, siw and
veth. SHARE is a folder of this machine that is /share there; /host there has this machine's /usr.

Both ends of a row are Debian's perftest of this machine, in the guest, in two network namespaces
with a veth pair of MTU 9000 for each wire: on Verbena (`verbena run`), and on the kernel's device.
The two alternate, and the better of each counts, because other work on the machine only makes a run
slower. A guest with one processor measures its scheduler where both ends poll: there perftest
sleeps for its completions (-e) where it can. It cannot for writes; and over siw with -R it hangs
where it sleeps for completions of sends, except in ib_send_lat.

Prints a line per row, and writes build/bench/kernel_stacks.json. Rows that --only leaves out stay
in the file as they are.
"""

import argparse
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import perftest
import progress
import record

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN_SECONDS = 20
TRIES = 3
PORT = 18600
# Each wire has a veth pair: rdma_cm takes rxe if rxe and siw share an interface.
NETWORK = """
ip netns list | grep -qw verbenaB && exit 0
ip netns add verbenaA && ip netns add verbenaB
for i in 0 1; do
  ip link add va$i mtu 9000 type veth peer name vb$i mtu 9000
  ip link set va$i netns verbenaA; ip link set vb$i netns verbenaB
  for end in A:1:va B:2:vb; do
    IFS=: read -r space host link <<< $end
    ip -n verbena$space addr add 10.99.$i.$host/24 dev $link$i
    ip -n verbena$space link set $link$i up; ip -n verbena$space link set lo up
  done
done
for end in A:va B:vb; do
  IFS=: read -r space link <<< $end
  ip netns exec verbena$space rdma link add rxe$space type rxe netdev ${link}0
  ip netns exec verbena$space rdma link add siw$space type siw netdev ${link}1
done
ip netns exec verbenaA ping -c 1 -W 2 10.99.0.2 > /dev/null
"""
# In the namespace of an end: the devices that are visible there, then the root of this machine.
INSIDE = "mount --rbind /sys /host/sys; ulimit -l unlimited; exec chroot /host"


class Wire(NamedTuple):
    """What Verbena and the kernel's device have in common, and what each of them needs."""
    name: str
    server: str
    verbena: tuple[str, ...]
    device: str  # of the kernel, at end A or B
    both: tuple[str, ...] = ()
    siw_crc: str = ""


ROCE = Wire("RoCEv2 / rxe", "10.99.0.2", (), "rxe", ("-m", "4096"))
IWARP = Wire("iWARP / siw", "10.99.1.2", ("--transport=iwarp",), "siw", ("-R",), "Y")
IWARP_NO_CRC = Wire("iWARP / siw, no CRC", "10.99.1.2", ("--transport=iwarp", "--mpa-crc=off"),
                    "siw", ("-R",), "N")

LATENCY, BANDWIDTH, RATE = "us", "MiB/s", "thousand/s"


class Row(NamedTuple):
    wire: Wire
    name: str
    unit: str
    test: str
    options: tuple

    def title(self) -> str:
        return f"{self.wire.name}: {self.name}"


def roce_rows() -> list[Row]:
    def row(name, unit, test, *options) -> Row:
        return Row(ROCE, name, unit, test, options)

    return [row("send latency, 64 B", LATENCY, "ib_send_lat", "-e", "-s", 64, "-n", 1000),
            row("read latency, 64 B", LATENCY, "ib_read_lat", "-e", "-s", 64, "-n", 1000),
            row("send 64 KiB", BANDWIDTH, "ib_send_bw", "-e", "-s", 65536, "-n", 2000),
            row("write 1 MiB", BANDWIDTH, "ib_write_bw", "-s", 1 << 20, "-n", 200),
            row("read 1 MiB", BANDWIDTH, "ib_read_bw", "-e", "-s", 1 << 20, "-n", 200),
            row("8-byte writes", RATE, "ib_write_bw", "-s", 8, "-n", 20000),
            row("8-byte sends", RATE, "ib_send_bw", "-e", "-s", 8, "-n", 20000),
            row("8-byte atomics", RATE, "ib_atomic_bw", "-e", "-n", 20000)]


def iwarp_rows(wire: Wire) -> list[Row]:
    def row(name, unit, test, *options) -> Row:
        return Row(wire, name, unit, test, options)

    return [row("send latency, 64 B", LATENCY, "ib_send_lat", "-e", "-s", 64, "-n", 1000),
            row("read latency, 64 B", LATENCY, "ib_read_lat", "-e", "-s", 64, "-n", 1000),
            row("send 64 KiB", BANDWIDTH, "ib_send_bw", "-s", 65536, "-n", 2000),
            row("send 1 MiB", BANDWIDTH, "ib_send_bw", "-s", 1 << 20, "-n", 200),
            row("write 64 KiB", BANDWIDTH, "ib_write_bw", "-s", 65536, "-n", 2000),
            row("write 1 MiB", BANDWIDTH, "ib_write_bw", "-s", 1 << 20, "-n", 200),
            row("read 64 KiB", BANDWIDTH, "ib_read_bw", "-e", "-s", 65536, "-n", 2000),
            row("read 1 MiB", BANDWIDTH, "ib_read_bw", "-e", "-s", 1 << 20, "-n", 200)]


ROWS = [*roce_rows(), *iwarp_rows(IWARP), *iwarp_rows(IWARP_NO_CRC)]


def aim_of(row: Row) -> progress.Aim | None:
    """Of the ratio: what Verbena has, by what the kernel has."""
    if row.wire is ROCE:
        return progress.Aim("<=" if row.unit == LATENCY else ">=", 1)
    return progress.Aim(">=", 2) if row.unit == BANDWIDTH else None


def figure(unit: str, output: str) -> float:
    """Half a round trip as perftest has it; a whole one of a read."""
    if unit == LATENCY:
        return perftest.figure(output, "t_typical[usec]")
    if unit == BANDWIDTH:
        return perftest.figure(output, "BW average[MB/sec]")
    return 1000 * perftest.figure(output, "MsgRate[Mpps]")


def command(row: Row, end: str, is_ours: bool) -> str:
    program = [row.test, "-F", "-p", PORT, *row.wire.both, *row.options]
    if row.test == "ib_atomic_bw":
        program = [word for word in program if word not in row.wire.both]  # it has no -m
    if is_ours:
        program = ["env", "LD_LIBRARY_PATH=/share/verbena/lib", "/share/verbena/bin/verbena", "run",
                   *row.wire.verbena, "--", *program]
    else:
        program += ["-d", f"{row.wire.device}{end}"]
    if end == "A":
        program.append(row.wire.server)
    words = " ".join(map(str, program))
    return f"ip netns exec verbena{end} sh -c '{INSIDE} timeout {RUN_SECONDS} {words}'"


def script(row: Row, is_ours: bool) -> str:
    """Both ends; a client that comes before its server listens is tried again."""
    crc = (f"echo {row.wire.siw_crc} > /sys/module/siw/parameters/mpa_crc_required\n"
           if row.wire.siw_crc else "")
    return f"""{crc}{command(row, "B", is_ours)} > /tmp/server 2>&1 &
server=$!
for try in 1 2 3 4; do
  sleep 1
  {command(row, "A", is_ours)} > /tmp/client 2>&1 && break
  kill -0 $server 2> /dev/null || break
done
wait $server
cat /tmp/client; tail -n 3 /tmp/server >&2
"""


class Guest:
    def __init__(self, lab: str, share: pathlib.Path, build: pathlib.Path):
        self.lab = lab
        self.sh(NETWORK)
        shutil.rmtree(share / "verbena", ignore_errors=True)
        for folder in ("bin", "lib"):
            (share / "verbena" / folder).mkdir(parents=True)
        for file in ("bin/verbena", *(f"lib/{path.name}" for path in build.glob("lib/*.so*"))):
            shutil.copy2(build / file, share / "verbena" / file, follow_symlinks=False)

    def sh(self, words: str) -> str:
        done = subprocess.run([self.lab, "sh", "bash -s"], input=words, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"in the guest: {done.stderr.strip()[-300:]}")
        return done.stdout

    def run(self, row: Row, is_ours: bool) -> float | None:
        """A figure; None, and a line on standard error, if the program prints none. perftest prints
        0 or inf if it could not measure the clock, as on a busy machine: then it runs again."""
        for _ in range(TRIES):
            output = self.sh(script(row, is_ours))
            try:
                found = figure(row.unit, output)
            except AttributeError:  # no result line
                break
            if 0 < found < math.inf:
                return found
        print(f"skipped: {row.title()}, {'Verbena' if is_ours else 'kernel'}: "
              f"{output.strip()[-200:]}", file=sys.stderr)
        return None


def better(unit: str, values: list[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    if not found:
        return None
    return min(found) if unit == LATENCY else max(found)


def evaluate(row: Row, ours: list[float | None], beside: list[float | None]) -> dict:
    """In the form of progress.evaluate."""
    best = better(row.unit, ours), better(row.unit, beside)
    ratio = best[0] / best[1] if None not in best else None
    aim = aim_of(row)
    met = ratio is not None and aim.is_met(ratio) if aim else None
    return {"figure": row.unit, "ours": best[0], "beside": best[1], "ratio": ratio,
            "aim": aim and f"ratio {aim}", "met": met, "runs": {"ours": ours, "beside": beside},
            "unfinished": sum(one is None for one in (*ours, *beside))}


def measure(guest: Guest, row: Row, runs: int) -> dict:
    figures: dict[bool, list] = {True: [], False: []}
    for _ in range(runs):
        for is_ours in (True, False):
            figures[is_ours].append(guest.run(row, is_ours))
    return evaluate(row, figures[True], figures[False])


def stored(path: pathlib.Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lab")
    parser.add_argument("share", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--only", default="", help="only rows whose name matches")
    parser.add_argument("--runs", type=int, default=2, metavar="N", help="of each of the two")
    arguments = parser.parse_args()
    path = arguments.build / "bench" / "kernel_stacks.json"
    results = stored(path) | record.begin(arguments.build)
    guest = Guest(arguments.lab, arguments.share, arguments.build)
    print(f"  {'':41}{'Verbena':>11}{'kernel':>11} {'':6}{'ratio':>11}")
    for row in ROWS:
        if not re.search(arguments.only, row.title()):
            continue
        found = measure(guest, row, arguments.runs)
        results.setdefault(row.wire.name, {})[row.name] = found
        print(progress.line(row.title(), found), flush=True)
        record.write(path, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
