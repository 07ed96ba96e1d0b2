#!/usr/bin/env python3
"""Processes share registered buffers through a broker: one publishes, another finds, a peer reads.
What a process published ends with it, and processes of other users find nothing.

usage: shared_buffers_test.py BIN_FOLDER
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop() if len(sys.argv) > 1 else "build/bin").resolve()
SECONDS_MAX = 30
OTHER_USER = 65_533


class SharedBuffersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.folder.chmod(0o755)
        self.socket = self.folder / "broker.sock"
        self.verbena = self.folder / "verbena"  # where any user can start it
        shutil.copy(BIN / "verbena", self.verbena)
        self.broker = None

    @contextlib.contextmanager
    def brokered(self, *options: str):
        self.start_broker(*options)
        try:
            yield
        finally:
            self.broker.kill()
            self.broker.wait()

    def start_broker(self, *options: str) -> None:
        self.broker = subprocess.Popen([self.verbena, "broker", "--socket", self.socket, *options],
                                       stderr=subprocess.DEVNULL)
        self.wait_until(lambda: self.shared().returncode == 0, "the broker answers")

    def wait_until(self, is_so, what: str) -> None:
        end = time.monotonic() + SECONDS_MAX
        while not is_so():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def shared(self, user: int | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([self.verbena, "cache", "--shared", "--socket", self.socket],
                              capture_output=True, text=True, check=False, user=user)

    def is_listed(self) -> bool:
        return "  frames  " in self.shared().stdout

    @contextlib.contextmanager
    def owner(self):
        with subprocess.Popen([BIN / "shared_buffer", "owner", "--broker", self.socket],
                              stdout=subprocess.DEVNULL) as process:
            try:
                self.wait_until(self.is_listed, "the buffer is in the list")
                yield process
            finally:
                process.kill()

    def test_a_peer_reads_what_a_worker_wrote(self):
        with self.brokered():
            ran = subprocess.run([BIN / "shared_buffer", "--broker", self.socket], text=True,
                                 capture_output=True, timeout=SECONDS_MAX, check=False)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertIn('peer: read "written by the worker, read through the owner"', ran.stdout)
            self.wait_until(lambda: not self.is_listed(), "the owner has ended, and its buffer")

    def test_the_list_shows_the_owner(self):
        with self.brokered(), self.owner() as owner:
            self.assertRegex(
                self.shared().stdout,
                rf"^\d+  frames  {owner.pid} \(user {os.getuid()}\)  0\+1048576  0x[0-9a-f]+  "
                r"rkey 0x[0-9a-f]+  remote read, remote write  0 users  127\.0\.0\.1:\d+$")

    def test_a_killed_owner_leaves_nothing(self):
        with self.brokered(), self.owner() as owner:
            owner.send_signal(signal.SIGKILL)
            self.wait_until(lambda: not self.is_listed(), "it is gone")
            self.assertEqual(self.shared().stdout, "no process shares a buffer\n")

    def test_a_name_has_one_owner(self):
        with self.brokered(), self.owner():
            second = subprocess.run([BIN / "shared_buffer", "owner", "--broker", self.socket],
                                    capture_output=True, text=True, timeout=SECONDS_MAX,
                                    check=False)
            self.assertEqual(second.returncode, 1)
            self.assertIn("in use: process ", second.stderr)

    def test_the_next_broker_has_the_list(self):
        with self.brokered(), self.owner():
            self.broker.kill()
            self.broker.wait()
            self.start_broker()
            self.wait_until(self.is_listed, "the owner has published it again")

    def test_without_a_broker_it_says_so(self):
        shown = self.shared()
        self.assertEqual(shown.returncode, 1)
        self.assertIn("no broker answers at", shown.stderr)

    @unittest.skipUnless(os.getuid() == 0, "only root can be another user")
    def test_another_user_sees_nothing(self):
        with self.brokered("--allow-user", str(OTHER_USER)), self.owner():
            shown = self.shared(user=OTHER_USER)
            self.assertEqual(shown.stdout, "no process shares a buffer\n", shown.stderr)
            refused = self.shared(user=OTHER_USER - 1)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("the user of the process is not allowed", refused.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
