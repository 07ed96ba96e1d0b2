#!/usr/bin/env python3
"""Records the scheduler while a program of perftest runs on Verbena, and draws which task ran when.

  bench/sched_trace.py --out FILE.svg [--milliseconds 20] [--loops K] [--cpu N] -- PROGRAM ARGS

    bench/sched_trace.py --out one.svg --cpu 0 -- ib_send_lat -c RC -s 8 -D 2
    bench/sched_trace.py --out busy.svg --loops 8 -- ib_send_lat -e -c RC -s 8 -n 10000

Starts `verbena run -- PROGRAM ARGS` as a server and, with the server's address appended, as a
client, both on a loopback device of their own. They run twice: the first run measures the duration,
and the middle of the second is recorded. A run should take at least a second, because programs need
some tenths of a second to start, and at most a minute: -D 2 of perftest is two seconds. With -e
perftest accepts -n only.

The drawing has a lane for each processor: the program's own thread and the progress thread of each
end, pagers, busy loops, others, idle. Below is the twentieth of the window with most switches of
either end, 20 times as wide. Also prints shares of time, switches, wake-ups and calls of
sched_yield. Needs root for tracefs, which it mounts if necessary. Recording costs some time at each
switch.
"""

import argparse
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

import compare_peers
import networks
import perftest
import progress
import sched_picture
from ordinary_user import free_port

TRACING = pathlib.Path("/sys/kernel/tracing")
EVENTS = ("sched/sched_switch", "sched/sched_wakeup", "sched/sched_wakeup_new",
          "syscalls/sys_enter_sched_yield")
BUFFER_KIB = 16 << 10  # for each processor
MARGIN_SECONDS = 0.01  # on both sides of the window, so that each lane has an earlier switch


@contextlib.contextmanager
def trace_instance():
    """A trace buffer that is separate from those of other tracers."""
    if not (TRACING / "variants").is_dir():
        networks.run("mount", "-t", "tracefs", "nodev", TRACING)
    folder = TRACING / "variants" / f"verbena{os.getpid()}"
    folder.mkdir()
    try:
        (folder / "tracing_on").write_text("0")
        (folder / "trace_clock").write_text("mono")
        (folder / "buffer_size_kb").write_text(str(BUFFER_KIB))
        for event in EVENTS:
            switch = folder / "events" / event / "enable"
            if switch.exists():  # not every kernel has events of system calls
                switch.write_text("1")
        yield folder
    finally:
        folder.rmdir()


def warn_of_lost_events(folder: pathlib.Path) -> None:
    for stats in sorted(folder.glob("per_cpu/cpu*/stats")):
        lost = int(re.search(r"^overrun: (\d+)", stats.read_text(), re.MULTILINE)[1])
        if lost:
            print(f"{stats.parent.name}: {lost} events lost; record fewer --milliseconds",
                  file=sys.stderr)


def threads_of(pid: int) -> dict[int, str]:
    """The names of the threads, by task id."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found[int(task.name)] = (task / "comm").read_text().strip()
    return found


def running_on(tasks) -> dict[int, int]:
    """For each processor, one of the tasks that are runnable there."""
    found = {}
    for task in tasks:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{task}/stat").read_text().rsplit(")", 1)[1].split()
            if fields[0] == "R":
                found[int(fields[36])] = task
    return found


class Pair:
    """A server and a client that can be run several times."""

    def __init__(self, peers: compare_peers.Peers, words: list[str]):
        self.peers, self.words = peers, words

    def run(self, during=None) -> float:
        """Runs both; returns the duration of the client in seconds. Calls `during` with the
        pids."""
        port = free_port()
        command = perftest.command(self.peers, port, *self.words)
        with self.peers.listening(port, *command) as server:
            begin = time.monotonic()
            client = subprocess.Popen(self.peers.here.command(*command, self.peers.host), cwd="/",
                                      stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
            try:
                if during is not None:
                    during(server.pid, client.pid)
                    if client.poll() is not None:
                        raise compare_peers.Failure(
                            "the client ended during the recording; make it run longer (-D, -n)")
                code = progress.wait(client, progress.RUN_SECONDS)
            finally:
                client.kill()
            if code != 0:
                raise compare_peers.Failure(f"the client ended with {code}: {self.words}")
            return time.monotonic() - begin


def record(pair: Pair, loops: list[int], milliseconds: float,
           cpus: set[int]) -> sched_picture.Recording:
    roles = dict.fromkeys(loops, sched_picture.LOOP)
    half = pair.run() / 2
    running = dict.fromkeys(cpus, 0)
    length = milliseconds / 1e3
    begin = 0.0

    with trace_instance() as folder:
        def during(server: int, client: int) -> None:
            nonlocal begin
            time.sleep(max(0.0, half - length / 2 - MARGIN_SECONDS))
            (folder / "tracing_on").write_text("1")
            begin = time.monotonic() + MARGIN_SECONDS
            time.sleep(length + 2 * MARGIN_SECONDS)
            (folder / "tracing_on").write_text("0")
            for pid, end in ((server, sched_picture.SERVER), (client, sched_picture.CLIENT)):
                with contextlib.suppress(FileNotFoundError):
                    for task, name in threads_of(pid).items():
                        roles[task] = sched_picture.role_of_thread(end, name)
            now = running_on(roles)
            running.update({cpu: now[cpu] for cpu in cpus & now.keys()})

        pair.run(during)
        warn_of_lost_events(folder)
        events = list(sched_picture.parse((folder / "trace").read_text()))
    return sched_picture.Recording(events, (begin, begin + length), roles, running)


def title_of(arguments) -> str:
    where = f"both ends on CPU {arguments.cpu}" if arguments.cpu is not None \
        else "placed by the scheduler"
    loops = f", beside {arguments.loops} busy loops" if arguments.loops else ""
    return f"{' '.join(arguments.words)}: {where}{loops}"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=progress.ROOT / "build",
                        help="the build tree, ./build by default")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the drawing, in SVG")
    parser.add_argument("--milliseconds", type=float, default=20, help="length of the window (20)")
    parser.add_argument("--loops", type=int, default=0, help="number of busy loops, unbound (0)")
    parser.add_argument("--cpu", type=int,
                        help="bind both ends to this processor, and draw no other")
    parser.add_argument("--title", help="title of the drawing (default: the programs)")
    parser.add_argument("words", nargs="+", metavar="PROGRAM",
                        help="program of perftest and its options")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if not networks.is_root():
        print("sched_trace: needs root for tracefs", file=sys.stderr)
        return 1
    progress.end_on_sigterm()
    place_options = {} if arguments.cpu is None else {"cpu": arguments.cpu}
    cpus = os.sched_getaffinity(0) if arguments.cpu is None else {arguments.cpu}
    try:
        with networks.lone_loopback() as place, progress.busy_loops(arguments.loops) as loops:
            place = place._replace(**place_options)
            deadline = compare_peers.Deadline(600)
            pair = Pair(compare_peers.Peers(arguments.build.resolve(), place, place, deadline),
                        arguments.words)
            recording = record(pair, [loop.pid for loop in loops], arguments.milliseconds, cpus)
    except compare_peers.Failure as failure:
        print(f"sched_trace: {failure}", file=sys.stderr)
        return 1
    title = arguments.title or title_of(arguments)
    print(f"{title}\n{sched_picture.summary(recording)}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(sched_picture.draw(recording, title))
    return 0


if __name__ == "__main__":
    sys.exit(main())
