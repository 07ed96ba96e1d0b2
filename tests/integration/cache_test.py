#!/usr/bin/env python3
"""A program without code for it has a registration cache, which `verbena cache` shows.

usage: cache_test.py BIN_FOLDER
"""

import os
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop() if len(sys.argv) > 1 else "build/bin")
VERBENA = BIN / "verbena"
PROGRAM = "ibv_rc_pingpong"
SECONDS_MAX = 30
PORT = 21_717


def show(pid: int) -> subprocess.CompletedProcess:
    return subprocess.run([VERBENA, "cache", "--pid", str(pid)], capture_output=True, text=True,
                          check=False)


@unittest.skipUnless(shutil.which(PROGRAM), f"there is no {PROGRAM}")
class CacheTest(unittest.TestCase):
    def run_pair(self, *options: str) -> str:
        """What the server says on standard error, and what `verbena cache` showed of it."""
        words = [VERBENA, "run", *options, "--", PROGRAM, "-p", str(PORT), "-g", "0"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "LC_ALL": "C"}) as server:
            try:
                shown = ""
                end = time.monotonic() + SECONDS_MAX
                while " in use " not in shown and time.monotonic() < end:
                    time.sleep(0.05)
                    shown = show(server.pid).stdout
                client = [*words, "127.0.0.1"]
                while subprocess.run(client, capture_output=True, check=False).returncode != 0:
                    self.assertLess(time.monotonic(), end, "the client does not connect")
                    time.sleep(0.2)
                return shown + server.communicate(timeout=SECONDS_MAX)[1]
            finally:
                server.kill()

    def test_counters_and_table(self):
        said = self.run_pair("--cache", "--stats")
        self.assertRegex(said, r"0  0x[0-9a-f]+  4096  lkey 0x[0-9a-f]+ .* in use  1  ")
        self.assertIn("registration cache misses: 1", said)

    def test_a_program_without_a_cache_is_not_shown(self):
        shown = show(os.getpid())
        self.assertEqual(shown.returncode, 1)
        self.assertIn("does not run with --cache", shown.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
