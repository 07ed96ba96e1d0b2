"""Processes on this machine's loopback device, or in two connected network namespaces."""

import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import signal
import struct
import subprocess
import time
from typing import NamedTuple

NOBODY = 65534
MEMLOCK = 64 * 1024
IFF_TAP, IFF_NO_PI, TUNSETIFF = 0x0002, 0x1000, 0x400454CA
CLONE_NEWNET = 0x40000000


class Place(NamedTuple):
    """Where a process runs: a network namespace, or None for this one, and its addresses."""
    namespace: str | None
    ipv4: str
    ipv6: str
    cpu: int | None = None  # pins the process to this processor

    def command(self, *words) -> list[str]:
        """A command that runs `words` as an ordinary user with a memlock limit of 64 KiB."""
        line = ["ip", "netns", "exec", self.namespace] if self.namespace else []
        line += ["taskset", "-c", str(self.cpu)] if self.cpu is not None else []
        line += ["prlimit", f"--memlock={MEMLOCK}:{MEMLOCK}"]
        if os.getuid() == 0:
            line += ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return line + [str(word) for word in words]


LOOPBACK = Place(None, "127.0.0.1", "::1")


def is_root() -> bool:
    return os.getuid() == 0


def run(*words) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)


class Process:
    """A program that prints JSON, one object per line."""

    def __init__(self, place: Place, *words, **options):
        self.popen = subprocess.Popen(place.command(*words), stdout=subprocess.PIPE,
                                      stdin=subprocess.PIPE, bufsize=0, cwd="/", **options)
        self.heard = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGTERM)

    @property
    def pid(self) -> int:
        return self.popen.pid

    def write_line(self, line: str) -> None:
        self.popen.stdin.write(f"{line}\n".encode())

    def read_line(self, seconds: float = 60) -> dict:
        """The next line. Buffers lines itself, because select() ignores the buffer of a file
        object."""
        end = time.monotonic() + seconds
        while b"\n" not in self.heard:
            left = max(0.0, end - time.monotonic())
            if not select.select([self.popen.stdout], [], [], left)[0]:
                raise TimeoutError(f"no line within {seconds} s")
            part = os.read(self.popen.stdout.fileno(), 65536)
            if not part:
                raise EOFError(f"ended with {self.popen.wait(20)}")
            self.heard += part
        line, self.heard = self.heard.split(b"\n", 1)
        return json.loads(line)

    def end(self, how: signal.Signals) -> None:
        if self.popen.poll() is None:
            self.popen.send_signal(how)
        self.popen.wait(20)


@contextlib.contextmanager
def server(place: Place, programs: str, *options):
    with Process(place, f"{programs}/verbena", "ping", "--port", 0, "--json", *options) as process:
        yield process, process.read_line()["listening"]


def in_namespace(name: str) -> None:
    with open(f"/run/netns/{name}", "rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def open_tap(namespace: str, device: str) -> int:
    in_namespace(namespace)
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def relay(files: tuple[int, int], loss: float, reordered: float, delay: float) -> None:
    """A lossy link between two interfaces. Never returns."""
    draw = random.Random(1)
    waiting: list[tuple[float, int, int, bytes]] = []
    count = 0
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for fd in select.select(files, [], [], timeout)[0]:
            frame = os.read(fd, 65536)
            if draw.random() < loss:
                continue
            late = 3 * delay if draw.random() < reordered else 0
            count += 1
            other = files[1] if fd == files[0] else files[0]
            heapq.heappush(waiting, (time.monotonic() + delay + late, count, other, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, to, frame = heapq.heappop(waiting)
            with contextlib.suppress(OSError):  # an interface that goes down
                os.write(to, frame)


def lossy_relay(names: list[str], devices: list[str]) -> int:
    """Replaces netem on kernels without it: 1 % loss, 2 % reordering, 1 ms delay. Returns the
    pid."""
    ready, signal_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            files = tuple(open_tap(*pair) for pair in zip(names, devices))
            os.write(signal_end, b"x")
            relay(files, loss=0.01, reordered=0.02, delay=0.001)
        finally:
            os._exit(1)
    os.close(signal_end)
    if os.read(ready, 1) != b"x":
        raise RuntimeError("cannot create the interfaces of a relay; does /dev/net/tun exist?")
    return child


def has_netem(namespace: str) -> bool:
    try:
        run("tc", "-n", namespace, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "0ms")
    except subprocess.CalledProcessError:
        return False
    run("tc", "-n", namespace, "qdisc", "del", "dev", "lo", "root")
    return True


@contextlib.contextmanager
def lone_loopback():
    """A namespace with only the loopback device, so that the port's MTU is that of loopback.
    Without root: the current namespace."""
    if not is_root():
        yield LOOPBACK
        return
    name = f"verbena{os.getpid()}lo"
    run("ip", "netns", "add", name)
    try:
        run("ip", "-n", name, "link", "set", "lo", "up")
        yield LOOPBACK._replace(namespace=name)
    finally:
        run("ip", "netns", "del", name)


@contextlib.contextmanager
def joined_namespaces(mtu: int, bad: bool = False):
    """Two namespaces with a link between them; a bad link loses, reorders and delays packets."""
    names = [f"verbena{os.getpid()}{end}" for end in "ab"]
    devices = ["vb0", "vb1"]
    child = None
    try:
        for name in names:
            run("ip", "netns", "add", name)
        netem = bad and has_netem(names[0])
        if bad and not netem:
            child = lossy_relay(names, devices)
        else:
            run("ip", "link", "add", devices[0], "netns", names[0], "type", "veth",
                "peer", "name", devices[1], "netns", names[1])
        for number, (name, device) in enumerate(zip(names, devices), 1):
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", name, "link", "set", device, "mtu", mtu, "up")
            run("ip", "-n", name, "addr", "add", f"10.231.0.{number}/24", "dev", device)
            run("ip", "-n", name, "addr", "add", f"fd00:231::{number}/64", "dev", device, "nodad")
            if netem:
                run("tc", "-n", name, "qdisc", "add", "dev", device, "root", "netem",
                    "delay", "1ms", "loss", "1%", "reorder", "98%")
        yield [Place(name, f"10.231.0.{number}", f"fd00:231::{number}")
               for number, name in enumerate(names, 1)]
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
