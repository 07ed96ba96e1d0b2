#!/usr/bin/env python3
"""A tour: unmodified RDMA programs on this machine, what they put on the wire, the memory layer.

usage: demo.py BUILD_FOLDER
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

MEMLOCK = 64 << 10  # bytes: what an ordinary user may lock on most machines
PATIENCE = 60  # seconds for one program


def title(text: str) -> None:
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (MEMLOCK, MEMLOCK))


class Stage:
    """Programs on the library of one build."""

    def __init__(self, build: Path):
        self.build = build

    def command(self, *program: str, options: tuple[str, ...] = ()) -> list[str]:
        return [str(self.build / "bin/verbena"), "run", *options, "--", *program]

    def output(self, *program: str, options: tuple[str, ...] = ()) -> str:
        return subprocess.run(self.command(*program, options=options), check=True, text=True,
                              stdout=subprocess.PIPE, timeout=PATIENCE, preexec_fn=limited).stdout

    def pair(self, *program: str, options: tuple[str, ...] = ()) -> str:
        """A server and a client of the same program; what the client printed."""
        with subprocess.Popen(self.command(*program), stdout=subprocess.DEVNULL,
                              preexec_fn=limited) as server:
            try:
                time.sleep(0.5)  # until the server listens: the programs have no way to tell
                printed = self.output(*program, "127.0.0.1", options=options)
                server.wait(PATIENCE)
                return printed
            finally:
                server.kill()


def table_of(printed: str) -> str:
    """The part of perftest's output that has the figures."""
    lines = printed.splitlines()
    first = next(i for i, line in enumerate(lines) if "#bytes" in line)
    return "\n".join(lines[first:first + 2])


def show_packets(trace: Path) -> None:
    columns = ["frame.number", "ip.src", "ip.dst", "_ws.col.Info"]
    fields = [word for column in columns for word in ("-e", column)]
    # Processes beside the first, whose port Wireshark knows as RoCE, have these.
    decoded = subprocess.run(["tshark", "-d", "udp.port==61001-65095,infiniband", "-r", str(trace),
                              "-c", "3", "-T", "fields", *fields],
                             check=True, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, timeout=PATIENCE)
    print(decoded.stdout, end="")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(sys.argv[1])
    stage = Stage(build)

    title("A device, on a kernel without one: verbena run -- ibv_devinfo")
    print("\n".join(stage.output("ibv_devinfo").splitlines()[:16]))

    title("Two processes that may lock 64 KiB: verbena run -- ib_write_bw")
    print(table_of(stage.pair("ib_write_bw", "-n", "2000")))

    title("What goes over the wire: verbena run --trace demo.pcapng -- ibv_rc_pingpong")
    trace = build / "demo.pcapng"
    trace.unlink(missing_ok=True)
    stage.pair("ibv_rc_pingpong", "-g", "0", "-n", "10", "-c", options=("--trace", str(trace)))
    show_packets(trace)

    title("A region four times as large as its memory: build/bin/larger_than_memory")
    picture = build / "residency.svg"
    subprocess.run([str(build / "bin/larger_than_memory"), str(picture)], check=True,
                   timeout=PATIENCE, preexec_fn=limited)
    print(f"The same as a picture: {picture}")

    title("The memory layer: build/bin/memory_tour")
    return subprocess.run([str(build / "bin/memory_tour")], check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.SubprocessError) as error:  # a program has said why itself
        sys.exit(f"demo: {error}")
