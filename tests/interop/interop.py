#!/usr/bin/env python3
"""Runs programs between Verbena on this machine and the kernel's Soft-RoCE and SoftiWARP in a
guest, in both directions.

usage: interop.py LAB VERBENA SHARE [--only REGEX] [--write FILE] [--listening SECONDS]

LAB is a command that runs a program in the guest (`LAB sh COMMAND`), and on this machine in the
network that it shares with the guest (`LAB host COMMAND`). The devices of the guest are rxe0 and
siw0, in networks of their own. VERBENA is bin/verbena. SHARE is a folder of this machine that the
guest mounts at /share; the guest mounts the root of this machine at /host. answers.c, late.c and
managed.c are compiled into SHARE. Cases over iWARP that change how siw sets up connections need a
kernel that was changed by siw_parameters.sh, and are left out otherwise. Prints a line per case,
and with --write a Markdown table. Exits with 1 if a case fails. Not part of `make test`, because
few machines can start a guest.
"""

import argparse
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from swapping import Swapping, swapping

TIMEOUT_S = 60  # for a case; long, because the guest can be emulated
LISTEN_DELAY_S = 3.0  # from the start of a server until it accepts its client

# Programs on libibverbs connect over TCP by the IPv4 addresses, and their RoCE packets use those of
# the GID indices. Programs on librdmacm connect by the addresses of either version.
OUR_ADDRESS = {"ipv4": "10.77.0.1", "ipv6": "fd77::1"}
THEIR_ADDRESS = {"ipv4": "10.77.0.2", "ipv6": "fd77::2"}
OUR_GID = {"ipv4": 0, "ipv6": 2}  # 10.77.0.1, fd77::1
THEIR_GID = {"ipv4": 1, "ipv6": 2}  # 10.77.0.2, fd77::2
IWARP_OUR_ADDRESS = {"ipv4": "10.77.1.1", "ipv6": "fd77:1::1"}
IWARP_THEIR_ADDRESS = {"ipv4": "10.77.1.2", "ipv6": "fd77:1::2"}
OUR_PROGRAMS = ("answers", "late", "managed")  # compiled into SHARE
SIW_PARAMETERS = "/sys/module/siw/parameters"
SIW_DEFAULTS = {"mpa_version": "2", "mpa_crc_required": "N", "peer_to_peer": "N"}
# The server of perftest stops listening after its first connection and listens again for the next
# one. The kernel rejects a client that connects in between (reason 8), and perftest crashes on its
# second attempt, because it uses freed memory. Verbena delays the request until the server listens.
PERFTEST_TRIES = 4
# ibv_rc_pingpong gives up after 8 times 67 ms, and a guest of a busy machine may stand still for as
# long. The timeout of perftest can be set: -u 18 is a second.
PINGPONG_TRIES = 4
ASKED_MIN = 5  # times that the memory of a guest is asked for during a case


class Case(NamedTuple):
    """A program with its arguments; `gid` is its option for the GID index."""
    program: str
    arguments: str
    gid: str
    ip: str
    we_serve: bool

    def name(self) -> str:
        side = "kernel to us" if self.we_serve else "us to kernel"
        return f"{self.program} {self.arguments}, {self.ip}, {side}"

    def words(self, is_here: bool, serves: bool) -> str:
        gid = (OUR_GID if is_here else THEIR_GID)[self.ip]
        peer = (THEIR_ADDRESS if is_here else OUR_ADDRESS)["ipv4"]
        return " ".join(["" if is_here else "-d rxe0", self.arguments, self.gid, str(gid),
                         "" if serves else peer])

    def tries(self) -> int:
        return 1

    def run_options(self) -> list[str]:
        return ["--strict"]


class ManagedCase(NamedTuple):
    """A program on librdmacm: arguments of both sides, of the server and of the client. {address}
    is the server's."""
    program: str
    arguments: str
    server: str
    client: str
    ip: str
    we_serve: bool

    name = Case.name

    def words(self, is_here: bool, serves: bool) -> str:
        address = (OUR_ADDRESS if self.we_serve else THEIR_ADDRESS)[self.ip]
        device = "-d rxe0 " if self.program.startswith("ib_") and not is_here else ""
        side = self.server if serves else self.client
        return f"{device}{self.arguments} {side.format(address=address)}"

    def tries(self) -> int:
        return PERFTEST_TRIES if self.program.startswith("ib_") and not self.we_serve else 1

    run_options = Case.run_options


class GuestCase(NamedTuple):
    """A program that is a guest on our side, whose memory is taken away again and again."""
    program: str
    arguments: str
    gid: str
    ip: str
    we_serve: bool

    words = Case.words
    run_options = Case.run_options

    def name(self) -> str:
        return f"swapped guest: {Case.name(self)}"

    def tries(self) -> int:
        return PINGPONG_TRIES if self.program == "ibv_rc_pingpong" else 1


class SetUp(NamedTuple):
    """How an iWARP connection is set up: the options of `verbena run`, and siw's parameters."""
    name: str
    ours: tuple[str, ...] = ()
    theirs: dict[str, str] = {}


class IwarpCase(NamedTuple):
    """A program on librdmacm, over iWARP. {address} is the server's."""
    program: str
    arguments: str
    server: str
    client: str
    ip: str
    we_serve: bool
    set_up: SetUp

    def name(self) -> str:
        return f"iwarp ({self.set_up.name}): {Case.name(self)}"

    def words(self, is_here: bool, serves: bool) -> str:
        address = (IWARP_OUR_ADDRESS if self.we_serve else IWARP_THEIR_ADDRESS)[self.ip]
        device = "-d siw0 " if self.program.startswith("ib_") and not is_here else ""
        # late.c: the page is late on our side, because siw has pinned its memory.
        late = "-l " if self.program == "late" and is_here else ""
        side = self.server if serves else self.client
        return f"{device}{self.arguments} {late}{side.format(address=address)}"

    def tries(self) -> int:
        return PERFTEST_TRIES if self.program.startswith("ib_") else 1

    def run_options(self) -> list[str]:
        return ["--transport=iwarp", *self.set_up.ours]


def pingpongs(ip: str, we_serve: bool):
    for mtu in (256, 512, 1024, 2048, 4096):
        yield Case("ibv_rc_pingpong", f"-c -n 50 -m {mtu}", "-g", ip, we_serve)
        yield Case("ibv_uc_pingpong", f"-c -n 50 -m {mtu}", "-g", ip, we_serve)
    yield Case("ibv_ud_pingpong", "-c -n 50 -s 1024", "-g", ip, we_serve)
    yield Case("ibv_srq_pingpong", "-c -n 50", "-g", ip, we_serve)
    yield Case("ibv_rc_pingpong", "-c -n 50 -e", "-g", ip, we_serve)
    yield Case("ibv_rc_pingpong", "-c -n 4 -s 1048576", "-g", ip, we_serve)


def perftests(ip: str, we_serve: bool):
    for operation in ("send", "write", "read"):
        yield Case(f"ib_{operation}_bw", "-F -n 50 -s 65536", "-x", ip, we_serve)
        yield Case(f"ib_{operation}_lat", "-F -n 50 -s 64", "-x", ip, we_serve)
    yield Case("ib_atomic_bw", "-F -n 50 -A FETCH_AND_ADD", "-x", ip, we_serve)
    yield Case("ib_atomic_bw", "-F -n 50 -A CMP_AND_SWAP", "-x", ip, we_serve)


def answers(ip: str, we_serve: bool):
    """answers.c: how the kernel's requester handles responses that only Verbena sends."""
    yield Case("answers", "refused", "-g", ip, we_serve)
    if we_serve:
        yield Case("answers", "held", "-g", ip, we_serve)


def guests(ip: str, we_serve: bool):
    """What the kernel does to memory that is out waits: writes and sends for RNR NAKs, reads for
    their responses. Messages of 1 MiB, because less than 256 KiB stays native memory."""
    yield GuestCase("ibv_rc_pingpong", "-c -n 50 -s 1048576", "-g", ip, we_serve)
    for operation in ("send", "write", "read"):
        yield GuestCase(f"ib_{operation}_bw", "-F -u 18 -n 300 -s 1048576", "-x", ip, we_serve)


def managed(ip: str, we_serve: bool):
    """Connections between our librdmacm and the kernel's rdma_cm."""
    yield ManagedCase("rping", "-v -V -C 10", "-s -a {address}", "-c -a {address}", ip, we_serve)
    yield ManagedCase("rping", "-V -C 3 -S 65535", "-s -a {address}", "-c -a {address}", ip,
                      we_serve)
    for program in ("ucmatose", "udaddy"):
        yield ManagedCase(program, "-c 3 -C 10", "-b {address}", "-s {address}", ip, we_serve)
    for options in ("-T v -S 4096 -I 10 -C 10", "-T b -T v -S 65536 -I 4 -C 10"):
        yield ManagedCase("rstream", options, "-b {address}", "-s {address}", ip, we_serve)
    for mode in ("accepted", "server-ends", "rejected", "unserved"):
        yield ManagedCase("managed", mode, "-s {address}", "{address}", ip, we_serve)
    if ip == "ipv4":  # perftest of Debian 12 connects by IPv4 addresses only
        yield ManagedCase("ib_write_bw", "-R -F -n 50 -s 65536", "", "{address}", ip, we_serve)
        yield ManagedCase("ib_send_lat", "-R -F -n 50 -s 64", "", "{address}", ip, we_serve)


def iwarp_programs(ip: str, we_serve: bool, set_up: SetUp):
    """Programs that show what a set-up may break: framing, the order of messages, depths."""
    def case(program, arguments, server, client):
        return IwarpCase(program, arguments, server, client, ip, we_serve, set_up)

    # rping's server reads. Siw lets a server read nothing if the request has no depths.
    if we_serve or not set_up.name.startswith("revision 1"):
        yield case("rping", "-v -V -C 10", "-s -a {address}", "-c -a {address}")
        yield case("rping", "-V -C 3 -S 65535", "-s -a {address}", "-c -a {address}")
    yield case("late", "", "-s {address}", "{address}")
    if ip == "ipv4":  # perftest of Debian 12 connects by IPv4 addresses only
        for operation in ("send", "write", "read"):
            yield case(f"ib_{operation}_bw", "-R -F -n 200 -s 65536", "", "{address}")
            yield case(f"ib_{operation}_lat", "-R -F -n 200 -s 64", "", "{address}")


def iwarp():
    """Verbena over iWARP and siw, with everything that the two can agree on."""
    def set_ups(we_serve: bool):
        yield SetUp("revision 2, CRC")
        yield SetUp("revision 2, no CRC", ("--mpa-crc=off",))
        if we_serve:
            yield SetUp("revision 2, siw wants CRC", ("--mpa-crc=off",),
                        {"mpa_crc_required": "Y"})
            yield SetUp("revision 2, siw says that it is ready", (), {"peer_to_peer": "Y"})
            yield SetUp("revision 1, CRC", (), {"mpa_version": "1"})
            yield SetUp("revision 1, no CRC", ("--mpa-crc=off",), {"mpa_version": "1"})
        else:
            yield SetUp("revision 1, CRC", ("--mpa-revision=1",))
            yield SetUp("revision 1, no CRC", ("--mpa-revision=1", "--mpa-crc=off"))

    plain = SetUp("revision 2, CRC")
    for we_serve in (False, True):
        for set_up in set_ups(we_serve):
            for ip in IWARP_OUR_ADDRESS if set_up == plain else ("ipv4",):
                yield from iwarp_programs(ip, we_serve, set_up)
        for ip in IWARP_OUR_ADDRESS:
            yield IwarpCase("ucmatose", "-c 3 -C 10", "-b {address}", "-s {address}", ip, we_serve,
                            plain)
            yield IwarpCase("rstream", "-T v -S 4096 -I 10 -C 10", "-b {address}", "-s {address}",
                            ip, we_serve, plain)
            for mode in ("accepted", "server-ends"):
                yield IwarpCase("managed", mode, "-s {address}", "{address}", ip, we_serve, plain)


def cases():
    yield from iwarp()
    for ip in OUR_GID:
        for we_serve in (False, True):
            yield from managed(ip, we_serve)
            yield from pingpongs(ip, we_serve)
            yield from perftests(ip, we_serve)
            yield from answers(ip, we_serve)
            yield from guests(ip, we_serve)


AnyCase = Case | ManagedCase | GuestCase | IwarpCase


class Lab:
    """Runs the two ends of a case."""

    def __init__(self, lab: str, verbena: Path, share: Path, listening: float):
        self.lab = lab
        self.verbena = verbena
        self.share = share
        self.listening = listening
        self.siw = self.siw_parameters()
        for name, libraries in (("answers", ["-libverbs", "-lpthread"]),
                                ("late", ["-lrdmacm", "-libverbs", "-lpthread"]),
                                ("managed", ["-lrdmacm", "-libverbs"])):
            subprocess.run(["cc", "-O1", "-o", str(share / name),
                            str(Path(__file__).with_name(f"{name}.c")), *libraries], check=True)

    def siw_parameters(self) -> set[str]:
        listed = subprocess.run([self.lab, "sh", f"ls {SIW_PARAMETERS}"], capture_output=True,
                                text=True, check=False)
        return set(listed.stdout.split())

    def can_run(self, case: AnyCase) -> bool:
        return not isinstance(case, IwarpCase) or set(case.set_up.theirs) <= self.siw

    def set_up(self, case: AnyCase) -> None:
        if not isinstance(case, IwarpCase):
            return
        values = {name: value for name, value in (SIW_DEFAULTS | case.set_up.theirs).items()
                  if name in self.siw}
        subprocess.run([self.lab, "sh", "; ".join(f"echo {value} > {SIW_PARAMETERS}/{name}"
                                                  for name, value in values.items()) or "true"],
                       check=True)

    def here(self, case: AnyCase, serves: bool, options: list[str]) -> list[str]:
        ours = case.program in OUR_PROGRAMS
        program = str(self.share / case.program) if ours else case.program
        return [self.lab, "host", "timeout", str(TIMEOUT_S), str(self.verbena), "run",
                *case.run_options(), *options, "--", program,
                *shlex.split(case.words(True, serves))]

    def there(self, case: AnyCase, serves: bool) -> list[str]:
        ours = case.program in OUR_PROGRAMS
        program = f"chroot /host /share/{case.program}" if ours else case.program
        return [self.lab, "sh", f"timeout {TIMEOUT_S} {program} {case.words(False, serves)}"]

    def run(self, case: AnyCase) -> tuple[bool, str]:
        """Whether both ends succeeded, and the attempt if not the first; or their last lines."""
        self.set_up(case)
        for attempt in range(1, case.tries() + 1):
            good, why = self.run_once(case)
            if good:
                return True, why if attempt == 1 else f"{why} at attempt {attempt}".strip()
        return False, why

    def run_once(self, case: AnyCase) -> tuple[bool, str]:
        if not isinstance(case, GuestCase):
            return self.run_both(case, None)
        with swapping(self.verbena) as swaps:
            return self.run_both(case, swaps)

    def run_both(self, case: AnyCase, swaps: Swapping | None) -> tuple[bool, str]:
        here = self.here(case, case.we_serve, swaps.options() if swaps else [])
        there = self.there(case, not case.we_serve)
        server, client = (here, there) if case.we_serve else (there, here)
        with subprocess.Popen(server, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as waiting:
            time.sleep(self.listening)
            try:
                done = subprocess.run(client, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, timeout=TIMEOUT_S, check=False)
                output, _ = waiting.communicate(timeout=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                waiting.kill()
                return False, f"timeout after {TIMEOUT_S} s"
        if done.returncode == 0 and waiting.returncode == 0:
            ours = output if case.we_serve else done.stdout
            return swaps.verdict(ours, ASKED_MIN) if swaps else (True, "")
        return False, " / ".join(text.strip().splitlines()[-1][:100]
                                 for text in (done.stdout, output) if text.strip())


def table(results) -> str:
    lines = ["| program | set-up | IP | direction | seen |", "| --- | --- | --- | --- | --- |"]
    for case, good, why in results:
        side = "kernel → us" if case.we_serve else "us → kernel"
        seen = f"passed {why}".strip() if good else f"failed: {why}"
        how = case.set_up.name if isinstance(case, IwarpCase) else ""
        lines.append(f"| `{case.program} {case.arguments}` | {how} | {case.ip} | {side} | {seen} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lab")
    parser.add_argument("verbena", type=Path)
    parser.add_argument("share", type=Path)
    parser.add_argument("--only", default="", help="only cases whose name matches")
    parser.add_argument("--listening", type=float, default=LISTEN_DELAY_S, metavar="SECONDS",
                        help="time between the start of a server and of its client")
    parser.add_argument("--write", type=Path, help="where to write the table")
    arguments = parser.parse_args()
    lab = Lab(arguments.lab, arguments.verbena.resolve(), arguments.share.resolve(),
              arguments.listening)
    results = []
    for case in cases():
        if not re.search(arguments.only, case.name()) or not lab.can_run(case):
            continue
        good, why = lab.run(case)
        results.append((case, good, why))
        print(f"{'passed' if good else 'FAILED'}  {case.name()}  {why}", flush=True)
        if arguments.write:
            arguments.write.write_text(table(results), encoding="utf-8")
    failed = sum(not good for _, good, _ in results)
    print(f"{len(results)} cases, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
