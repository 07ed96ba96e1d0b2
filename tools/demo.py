#!/usr/bin/env python3
"""The demo: runs unmodified RDMA programs, shows their packets and the residency of a region larger
than its memory, and writes a page with the results.

usage: demo.py BUILD_FOLDER PAGE.html
"""

import contextlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import demo_page

MEMLOCK = 64 << 10  # bytes: the default limit of an ordinary user on most machines
TIMEOUT_S = 60  # for one program
SIZES = (64, 4 << 10, 64 << 10, 1 << 20)  # message sizes of the bandwidth chart, in bytes
ITERATIONS = 1000  # messages per size: the largest size takes about a second
ROUND_TRIPS = 4  # in the packet ladder


def title(text: str) -> None:
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (MEMLOCK, MEMLOCK))


class Stage:
    """Runs programs on the libraries of one build."""

    def __init__(self, build: Path):
        self.build = build

    def command(self, *program: str, options: tuple[str, ...] = ()) -> list[str]:
        return [str(self.build / "bin/verbena"), "run", *options, "--", *program]

    def output(self, *program: str, options: tuple[str, ...] = ()) -> str:
        return subprocess.run(self.command(*program, options=options), check=True, text=True,
                              stdout=subprocess.PIPE, timeout=TIMEOUT_S,
                              preexec_fn=limited).stdout

    def pair(self, *program: str, options: tuple[str, ...] = ()) -> str:
        """Runs a server and a client of the same program; returns the output of the client."""
        with subprocess.Popen(self.command(*program), stdout=subprocess.DEVNULL,
                              preexec_fn=limited) as server:
            try:
                time.sleep(0.5)  # the programs do not report when the server listens
                printed = self.output(*program, "127.0.0.1", options=options)
                server.wait(TIMEOUT_S)
                return printed
            finally:
                server.kill()


def show_device(stage: Stage) -> str:
    title("A device on a kernel without RDMA: verbena run -- ibv_devinfo")
    lines = stage.output("ibv_devinfo").splitlines()[:16]
    print("\n".join(lines))
    fields = dict(line.strip().split(":", 1) for line in lines if ":" in line)
    facts = [(name, fields[name].strip()) for name in
             ("hca_id", "transport", "node_guid", "max_mtu", "active_mtu", "state", "link_layer")
             if name in fields]
    kernel = Path("/sys/class/infiniband")
    devices = ", ".join(sorted(os.listdir(kernel))) if kernel.is_dir() else ""
    facts += [("this machine", f"{platform.release()}, {os.cpu_count()} processors"),
              ("RDMA devices of its kernel", devices or "none")]
    return demo_page.section("A device on a kernel without RDMA",
                             "Debian's unmodified ibv_devinfo finds a device and an active port.",
                             "verbena run -- ibv_devinfo", demo_page.facts_table(facts))


def bandwidths(printed: str) -> dict[int, float]:
    """MiB/s by size. The columns of perftest: bytes, iterations, peak, average, message rate."""
    rows = [line.split() for line in printed.splitlines()]
    return {int(row[0]): float(row[3]) for row in rows if len(row) == 5 and row[0].isdigit()}


def show_bandwidth(stage: Stage) -> str:
    title("Bandwidth with a memlock limit of 64 KiB: verbena run -- ib_{write,read,send}_bw")
    figures: dict[str, dict[int, float]] = {}
    for operation in ("write", "read", "send"):
        figures[operation] = {}
        for size in SIZES:
            printed = stage.pair(f"ib_{operation}_bw", "-s", str(size), "-n", str(ITERATIONS))
            figures[operation].update(bandwidths(printed))
            print(f"  {operation:<6}{demo_page.size_words(size):>9} "
                  f"{demo_page.speed_words(figures[operation][size]):>12}", flush=True)
    return demo_page.section(
        "Bandwidth with a memlock limit of 64 KiB",
        "Unmodified perftest between two processes of this machine, over UDP sockets: bandwidth by "
        "message size.",
        "verbena run -- ib_write_bw & verbena run -- ib_write_bw 127.0.0.1",
        demo_page.bandwidth_chart(figures))


def read_trace(trace: Path) -> list[demo_page.Packet]:
    """The packets of a trace, decoded by tshark. The sender of the first packet is the client."""
    columns = ["frame.time_relative", "udp.srcport", "_ws.col.Info", "infiniband.bth.psn",
               "frame.len"]
    fields = [word for column in columns for word in ("-e", column)]
    # The first process has UDP port 4791, which Wireshark decodes as RoCEv2; the others have these.
    decoded = subprocess.run(["tshark", "-d", "udp.port==61001-65095,infiniband", "-r", str(trace),
                              "-T", "fields", *fields],
                             check=True, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, timeout=TIMEOUT_S).stdout
    rows = [line.split("\t") for line in decoded.splitlines()]
    return [demo_page.Packet(microseconds=1e6 * float(seconds), to_right=port == rows[0][1],
                             what=info.split(" QP=")[0], psn=int(psn), size=int(size))
            for seconds, port, info, psn, size in rows]


def show_packets(stage: Stage, trace: Path) -> str:
    command = ("ibv_rc_pingpong", "-g", "0", "-n", str(ROUND_TRIPS), "-s", "64", "-c")
    title("Packets on the wire: verbena run --trace demo.pcapng -- ibv_rc_pingpong")
    trace.unlink(missing_ok=True)
    stage.pair(*command, options=("--trace", str(trace)))
    packets = read_trace(trace)
    for packet in packets[:4]:
        print(f"  {packet.microseconds:9.1f} us  {'->' if packet.to_right else '<-'} {packet.what}")
    print(f"All packets: {trace} (open it with Wireshark)")
    return demo_page.section(
        "Packets on the wire",
        f"{ROUND_TRIPS} messages of 64 bytes in each direction, as RoCEv2 packets, decoded by "
        f"tshark from {trace}.",
        f"verbena run --trace demo.pcapng -- {' '.join(command)} 127.0.0.1",
        demo_page.packet_ladder(packets))


def show_memory(stage: Stage, picture: Path) -> str:
    title("A region four times as large as its memory: larger_than_memory")
    subprocess.run([str(stage.build / "bin/larger_than_memory"), str(picture)], check=True,
                   timeout=TIMEOUT_S, preexec_fn=limited)
    return demo_page.section(
        "A region four times as large as its memory",
        "A peer writes and reads the whole region by RDMA while the program that owns it counts in "
        "its pages. Every byte is checked. Pages that do not fit are in a swap file.",
        f"{stage.build}/bin/larger_than_memory residency.svg", picture.read_text("utf-8"))


class Guests:
    """Four guests of a broker that has memory for one of them, each with a peer."""
    COUNT, MEBIBYTES, SECONDS = 4, 16, 4

    def __init__(self, stage: Stage, folder: Path):
        programs = stage.build / "bin"
        self.verbena, self.guest = str(programs / "verbena"), str(programs / "guest")
        self.socket = str(folder / "broker.sock")
        self.samples: list[tuple[float, dict[str, int]]] = []

    def start(self, *command: str, **options) -> subprocess.Popen:
        return subprocess.Popen(command, text=True, preexec_fn=limited, **options)

    def status(self) -> dict:
        command = [self.verbena, "broker", "status", "--json", "--socket", self.socket]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(asked.stdout) if asked.returncode == 0 else {"guests": []}

    def run(self) -> None:
        with contextlib.ExitStack() as stack:
            def begin(*command: str, **options) -> subprocess.Popen:
                process = stack.enter_context(self.start(*command, **options))
                stack.callback(process.kill)
                return process

            begin(self.verbena, "broker", "--budget", f"{self.MEBIBYTES}M", "--socket", self.socket,
                  stderr=subprocess.DEVNULL)
            while not Path(self.socket).exists():
                time.sleep(0.01)
            owners = [begin(self.guest, "owner", f"guest{i}", self.socket, str(self.MEBIBYTES),
                            stdout=subprocess.PIPE) for i in range(self.COUNT)]
            # The work of each has its time: the shares follow it.
            visitors = [begin(self.guest, "visitor", "127.0.0.1", owner.stdout.readline().strip(),
                              str(self.MEBIBYTES), str(1 + self.SECONDS * i / self.COUNT), str(i),
                              stdout=subprocess.PIPE) for i, owner in enumerate(owners)]
            self.sample(visitors)
            for visitor in visitors:
                said = visitor.communicate(timeout=TIMEOUT_S)[0]
                if visitor.returncode != 0:
                    raise subprocess.SubprocessError(f"a guest's memory was wrong: {said}")

    def sample(self, visitors: list[subprocess.Popen]) -> None:
        begin = time.monotonic()
        while any(visitor.poll() is None for visitor in visitors):
            if time.monotonic() - begin > TIMEOUT_S:
                raise subprocess.SubprocessError("the guests do not end")
            seconds = time.monotonic() - begin
            self.samples.append((seconds, {one["name"]: one["resident"]
                                           for one in self.status()["guests"]}))
            time.sleep(0.05)


def show_guests(stage: Stage) -> str:
    title("Four programs that share the memory of one: verbena broker")
    with tempfile.TemporaryDirectory() as folder:
        guests = Guests(stage, Path(folder))
        guests.run()
    most = max(sum(of.values()) for _, of in guests.samples)
    print(f"  {Guests.COUNT} guests of {Guests.MEBIBYTES} MiB each, every byte checked by their "
          f"peers; at most {most / (1 << 20):.1f} MiB of all in memory, {Guests.MEBIBYTES} allowed")
    return demo_page.section(
        "Four programs that share the memory of one",
        f"A broker divides {Guests.MEBIBYTES} MiB among four guests that have registered as much "
        "each. Peers write and read all of it by RDMA, and check every byte; one guest after the "
        "other has no more work, and the others get its memory. Bytes in memory, by guest:",
        f"verbena broker --budget {Guests.MEBIBYTES}M & verbena broker status",
        demo_page.residency_chart(guests.samples, Guests.MEBIBYTES << 20))


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    build, page = Path(sys.argv[1]), Path(sys.argv[2])
    stage = Stage(build)
    sections = [show_device(stage), show_bandwidth(stage),
                show_packets(stage, page.with_name("demo.pcapng")),
                show_memory(stage, page.with_name("residency.svg")), show_guests(stage)]
    page.write_text(demo_page.page(sections), encoding="utf-8")
    print(f"\nResults on one page: {page}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.SubprocessError) as error:  # the program has printed the reason
        sys.exit(f"demo: {error}")
