#!/usr/bin/env python3
"""Runs programs that know sockets alone against queue pairs of plain bytes: curl fetches from
examples/web_file.cc, and web_file from Python's web server. Every byte is compared.

usage: plain_streams_test.py WEB_FILE
"""

import functools
import http.server
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

SECONDS_MAX = 60
SIZES = (0, 1, 65_536, 5_000_000)
SKIPPED = 77


def fetched_by_curl(host: str, port: int, *options: str) -> bytes:
    return subprocess.run(["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", *options,
                           f"http://{host}:{port}/"],
                          check=True, capture_output=True, timeout=SECONDS_MAX).stdout


def disturb(port: int) -> None:
    """Clients that go away: at once, in their request, and with a reset in the response."""
    for text in (b"", b"GET", b"GET / HTTP/1.0\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(text)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def check_server(web_file: str, folder: Path) -> list[str]:
    wrong = []
    for size in SIZES:
        content = random.Random(size).randbytes(size)
        path = folder / str(size)
        path.write_bytes(content)
        with subprocess.Popen([web_file, "serve", path], stdout=subprocess.PIPE,
                              text=True) as server:
            try:
                port = int(re.match(r"port (\d+)", server.stdout.readline())[1])
                disturb(port)
                for host in ("127.0.0.1", "[::1]"):
                    if fetched_by_curl(host, port) != content:
                        wrong.append(f"curl got other bytes from {host}: {size}")
                if fetched_by_curl("127.0.0.1", port, "--limit-rate", "20M") != content:
                    wrong.append(f"a slow curl got other bytes: {size}")
            finally:
                server.kill()
    return wrong


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass


def fetch(web_file: str, port: int, path: str) -> subprocess.CompletedProcess:
    return subprocess.run([web_file, "fetch", "127.0.0.1", str(port), path], capture_output=True,
                          timeout=SECONDS_MAX)


def check_client(web_file: str, folder: Path) -> list[str]:
    handler = functools.partial(QuietHandler, directory=folder)
    wrong = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for size in SIZES:
            fetched = fetch(web_file, server.server_port, f"/{size}")
            if fetched.returncode != 0 or fetched.stdout != (folder / str(size)).read_bytes():
                wrong.append(f"web_file got other bytes: {size}: {fetched.stderr!r}")
        if fetch(web_file, server.server_port, "/none").returncode == 0:
            wrong.append("web_file fetched a file that is not there")
        server.shutdown()
    return wrong


def main() -> int:
    if shutil.which("curl") is None:
        print("curl is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        wrong = check_server(sys.argv[1], Path(folder)) + check_client(sys.argv[1], Path(folder))
    for line in wrong:
        print(line)
    print(f"{len(SIZES)} files, by curl from web_file, and by web_file from Python's server")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
