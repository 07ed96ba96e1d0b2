#!/usr/bin/env python3
"""tshark decodes the trace of a connection of rping that `verbena run --trace` writes: all messages
of the connection manager, in order.

usage: cm_trace_test.py FOLDER; FOLDER has the program verbena.
Exits with 77, which ctest counts as skipped, if tshark or rping is not installed.
"""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import networks
from ordinary_user import public_programs
from rdmacm_test import is_bound

SKIPPED = 77
SECONDS_MAX = 60
NAMES = ["ConnectRequest", "ConnectReply", "ReadyToUse", "DisconnectRequest", "DisconnectReply"]
PREFIX = "CM: "


def rping(verbena: Path, port: int, side: str, *options) -> subprocess.Popen:
    command = networks.LOOPBACK.command(verbena, "run", *options, "--", "rping", side, "-V", "-C",
                                        5, "-a", "127.0.0.1", "-p", port)
    return subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run(verbena: Path, trace: Path) -> str:
    """Writes the trace; returns an error text, or ""."""
    port = random.randrange(20_000, 30_000)
    server = rping(verbena, port, "-s", "--trace", trace)
    client = None
    try:
        end = time.monotonic() + SECONDS_MAX
        while not is_bound("tcp", port):
            if time.monotonic() > end or server.poll() is not None:
                return f"the server does not listen, exit code {server.poll()}"
            time.sleep(0.02)
        time.sleep(0.3)  # between bind and listen
        client = rping(verbena, port, "-c")
        output, _ = client.communicate(timeout=SECONDS_MAX)
        server.communicate(timeout=SECONDS_MAX)
        good = client.returncode == 0 and server.returncode == 0
        return "" if good else f"exit codes {client.returncode}, {server.returncode}: {output}"
    finally:
        for process in filter(None, (server, client)):
            process.kill()
            process.wait()


def messages(trace: Path) -> list[str]:
    """The names of the messages, in the order in which they first appear."""
    command = ["tshark", "-d", "udp.port==61001-65095,infiniband", "-r", trace, "-T", "fields",
               "-e", "_ws.col.Info"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = [line.removeprefix(PREFIX) for line in output.splitlines() if line.startswith(PREFIX)]
    return list(dict.fromkeys(found))


def main(folder: str) -> int:
    for program in ("tshark", "rping"):
        if not shutil.which(program):
            print(f"cm_trace_test.py: Skipped\n{program} is not installed\n"
                  "[  SKIPPED ] integration.cm_trace")
            return SKIPPED
    with (networks.lone_loopback() as place, tempfile.TemporaryDirectory() as name,
          public_programs(Path(folder).resolve(), "verbena") as programs):
        if place.namespace:
            networks.in_namespace(place.namespace)
        Path(name).chmod(0o777)
        trace = Path(name) / "rping.pcapng"
        problem = run(programs / "verbena", trace)
        found = [] if problem else messages(trace)
    if not problem and found != NAMES:
        problem = f"the trace has {found}, not {NAMES}"
    print(problem or f"in the trace of rping: {', '.join(found)}")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
