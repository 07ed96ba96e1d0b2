"""A broker whose operator has the memory of a guest taken away again and again."""

import contextlib
import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path

GUEST = "swapped"
BUDGET = "256M"  # room for all: only the operator takes memory away
PAUSE_S = 0.1  # between two times
START_S = 5.0  # for the broker


class Swapping:
    """Counts how often the memory of the guest was asked for. A region leaves when no posted send
    names it, and comes back when it is needed, or before the next time."""

    def __init__(self, verbena: Path, folder: Path):
        self.verbena = verbena
        self.socket = folder / "broker.sock"
        self.swap = folder
        self.asked = 0
        self.has_ended = threading.Event()

    def options(self) -> list[str]:
        """Of `verbena run`."""
        return ["--guest", GUEST, "--broker", str(self.socket), "--swap", str(self.swap), "--stats"]

    def operate(self, what: str) -> int:
        """The number of regions; 0 if there is no such guest yet, or no longer."""
        done = subprocess.run([self.verbena, "broker", what, GUEST, "--socket", self.socket],
                              capture_output=True, text=True, check=False)
        return int(done.stdout.split()[0]) if done.returncode == 0 else 0

    def swap_again_and_again(self) -> None:
        while not self.has_ended.wait(PAUSE_S):
            self.asked += self.operate("quiesce")
            time.sleep(PAUSE_S)
            self.operate("resume")

    def verdict(self, output: str, asked_min: int) -> tuple[bool, str]:
        """Whether the memory really left and came back, by the counters in the guest's output."""
        written, read = (counter(output, f"pages {what} swap") for what in
                         ("written to", "read from"))
        seen = f"asked for {self.asked} times: {written} pages written to swap, {read} read"
        return self.asked >= asked_min and written > 0 and read > 0, seen


def counter(output: str, name: str) -> int:
    found = re.search(rf"^{name}: (\d+)$", output, re.MULTILINE)
    return int(found[1]) if found else 0


@contextlib.contextmanager
def swapping(verbena: Path):
    with tempfile.TemporaryDirectory() as name:
        made = Swapping(verbena, Path(name))
        with subprocess.Popen([verbena, "broker", "--budget", BUDGET, "--socket", made.socket],
                              stderr=subprocess.DEVNULL) as broker:
            ends = time.monotonic() + START_S
            while not made.socket.exists() and time.monotonic() < ends:
                time.sleep(0.01)
            operator = threading.Thread(target=made.swap_again_and_again)
            operator.start()
            try:
                yield made
            finally:
                made.has_ended.set()
                operator.join()
                broker.terminate()
