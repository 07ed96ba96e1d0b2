#!/usr/bin/env python3
"""Socket programs over rsockets: `verbena run --rsockets`, as an ordinary user.

usage: sockets_test.py LIBRARIES PROGRAMS
"""

import contextlib
import json
import os
import random
import shutil
import sys
import time
from pathlib import Path

from ordinary_user import Bench, Process, free_port, is_listening, public_programs

SKIPPED = 77
SECONDS_MAX = 60
PYTHON = "/usr/bin/python3"
FILE_BYTES = 8 << 20


def is_bound(port: int) -> bool:
    """Whether a process has bound the port of the connection manager."""
    names = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    return f"@verbena/cm/4791/tcp/{port}/" in names


class Pair:
    """A server and clients that `verbena run --rsockets` starts."""

    def __init__(self, bench: Bench, verbena: Path):
        self._bench = bench
        self._verbena = verbena

    def start(self, *command: str) -> Process:
        return self._bench.start([self._verbena, "run", "--rsockets", "--stats", "--", *command])

    @contextlib.contextmanager
    def server(self, port: int, *command: str):
        server = self.start(*command)
        try:
            end = time.monotonic() + SECONDS_MAX
            while not is_bound(port):
                if server.wait(0.05) is not None or time.monotonic() > end:
                    raise AssertionError(f"the server does not listen:\n{server.output()}")
            time.sleep(0.2)  # from rdma_bind_addr to rdma_listen
            assert not is_listening(port), "the server listens on TCP"
            yield server
        finally:
            server.end()

    def client(self, *command: str) -> str:
        """The output of the client, without the counters after it."""
        client = self.start(*command)
        try:
            code = client.wait(SECONDS_MAX)
            assert code == 0, f"{command[0]}: exit code {code}\n{client.output()}"
            return client.output()
        finally:
            client.end()


def download(pair: Pair, folder: Path, host: str, address: str) -> None:
    """Downloads a file several times in parallel, and compares the copies."""
    source, port = folder / "source", free_port()
    source.write_bytes(random.randbytes(FILE_BYTES))
    os.chmod(source, 0o644)
    with pair.server(port, PYTHON, "-m", "http.server", str(port), "--bind", address):
        url = f"http://{host}:{port}/source"
        names = ["one", "two", "three"]
        clients = [pair.start("curl", "-sS", "-o", name, url) for name in names]
        try:
            for name, client in zip(names, clients):
                code = client.wait(SECONDS_MAX)
                assert code == 0, f"curl: exit code {code}\n{client.output()}"
                assert (folder / name).read_bytes() == source.read_bytes(), "another file came"
                (folder / name).unlink()
                assert "connections established: 1" in client.output(), client.output()
        finally:
            for client in clients:
                client.end()
        missing = pair.client("curl", "-s", "-o", "none", "-w", "%{http_code}\\n", url + "/none")
        assert "404" in missing.splitlines(), missing


def stream(pair: Pair, *options: str) -> None:
    port = free_port()
    with pair.server(port, "iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", str(port)):
        output = pair.client("iperf3", "-J", "-n", "64M", "-c", "127.0.0.1", "-p", str(port),
                             *options)
    end = json.JSONDecoder().raw_decode(output[output.index("{"):])[0]["end"]
    sent, received = end["sum_sent"]["bytes"], end["sum_received"]["bytes"]
    # The server stops at the end of the test, even if bytes are still in flight.
    assert received >= sent * 9 // 10 > 0, f"{received} bytes of {sent} arrived"


def main(libraries: Path, programs: Path) -> int:
    missing = [name for name in ("curl", "iperf3") if not shutil.which(name)]
    if missing:
        print(f"skipped: no {', '.join(missing)}")
        return SKIPPED
    with Bench(libraries) as bench, public_programs(programs, "verbena") as folder:
        pair = Pair(bench, folder / "verbena")
        for name, case in (
                ("curl from http.server", lambda: download(pair, bench.folder, "127.0.0.1",
                                                           "127.0.0.1")),
                ("curl from http.server, IPv6", lambda: download(pair, bench.folder, "[::1]",
                                                                 "::1")),
                ("iperf3", lambda: stream(pair)),
                ("iperf3 -R -P 4", lambda: stream(pair, "-R", "-P", "4"))):
            begin = time.monotonic()
            case()
            print(f"ok     {time.monotonic() - begin:5.1f} s  {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
