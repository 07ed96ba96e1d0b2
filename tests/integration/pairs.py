"""Pairs of processes of one program, and a runner for tests that are functions."""

import time

from ordinary_user import Bench, Process, free_port, wait_listening

SECONDS_MAX = 40


class Pair:
    """A server and a client of one program; leaving the context ends both. `options` go to
    Bench.start."""

    def __init__(self, bench: Bench, *command, port_option: str | None = "-p", **options):
        self._bench, self._options = bench, options
        port = free_port()
        self._command = [*command, *((port_option,) if port_option else ()), port]
        self.server = bench.start(self._command, **options)
        self.client: Process | None = None
        if not wait_listening(port, self.server, SECONDS_MAX):
            raise AssertionError(f"{command[0]} did not start:\n{self.server.output()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.server, self.client):
            if process is not None:
                process.end()

    def connect(self) -> "Pair":
        self.client = self._bench.start([*self._command, "127.0.0.1"], **self._options)
        return self

    def must_succeed(self, until: float) -> None:
        for process in (self.client, self.server):
            must_succeed(process, until - time.monotonic())


def must_succeed(process: Process, seconds: float = SECONDS_MAX) -> str:
    """The output of the process."""
    code = process.wait(seconds)
    assert code == 0, f"{process.command}: {code}\n{process.output()}"
    return process.output()


def run_all(tests, *arguments) -> int:
    """Runs the tests; returns the exit code, 1 if a test failed."""
    failures = 0
    for test in tests:
        begin = time.monotonic()
        try:
            test(*arguments)
            result = "ok    "
        except AssertionError as problem:
            failures += 1
            result = "FAILED"
            print(problem)
        name = test.__name__.replace("_", " ")
        print(f"{result} {time.monotonic() - begin:5.1f} s  {name}", flush=True)
    return 1 if failures else 0
