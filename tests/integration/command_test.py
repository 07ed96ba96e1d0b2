#!/usr/bin/env python3
"""Exit codes and messages of the command `verbena`, for valid and invalid command lines.

usage: command_test.py BIN_FOLDER
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

TIMEOUT_S = 60  # seconds for one command line

DONE, FAILED, MISUSE, NOT_EXECUTABLE, NOT_FOUND = 0, 1, 2, 126, 127


class Row(NamedTuple):
    """A command line, its exit code, and a text that it prints to stdout or stderr."""
    words: str
    code: int
    says: str
    environment: dict[str, str] = {}


# A few command lines for each row of the table in docs/tool.md.
ROWS = [
    Row("--version", DONE, "verbena 0."),
    Row("--help", DONE, "COMMAND --help"),
    Row("ping --help", DONE, "SIZE in [0 bytes to 256 MiB]"),
    Row("ping --self -n 5 -s 4K", DONE, "5 messages of 4096 bytes"),
    Row("ping --self -n 5", DONE, "p99"),
    Row("bench --self -n 8 -o write -m rate", DONE, "p50"),
    Row("bench --self -n 8 -o write,read -m rate", DONE, "read"),
    Row("devices", DONE, "verbena0: port 1, active"),
    Row("run -- true", DONE, ""),
    Row("run --cache --cache-bytes 64M -- true", DONE, ""),
    Row("cache --help", DONE, "--pid"),

    Row("ping no-such-host.invalid", FAILED, "cannot find no-such-host.invalid"),
    Row("ping 127.0.0.1 -p 1", FAILED, "start the server"),

    Row("", MISUSE, "no command given"),
    Row("fly", MISUSE,
        "'fly' is not a command; the commands are run, devices, cache, ping, bench, broker, sim"),
    Row("--fly", MISUSE, "--fly"),
    Row("ping --fly", MISUSE, "verbena ping: unknown option '--fly'"),
    Row("ping --slef", MISUSE, "unknown option '--slef'"),
    Row("devices --jsn", MISUSE, "unknown option '--jsn'; is it --json?"),
    Row("ping a b", MISUSE, "unexpected argument 'b'"),
    Row("run --verbose true", MISUSE, "verbena run: unknown option '--verbose'"),
    Row("run --strict=3 -- true", MISUSE, "verbena run: --strict takes no value"),
    Row("broker quiesce", MISUSE, "verbena broker quiesce: guest is required"),
    Row("broker --budget 64M --limit web:min=128M", MISUSE,
        "the minimum of guest web is more than --budget 64M"),
    Row("cache --socket /x", MISUSE, "--socket requires --shared"),
    Row("cache --pid -1", MISUSE, "--pid: -1 is out of range"),
    Row("bench --self -o write,fly", MISUSE, "'fly' is not one of write, read, send, atomic"),
    Row("bench --self -n 8 -t 1", MISUSE, "--seconds excludes --count"),
    Row("run", MISUSE, "program is required"),
    Row("run --cache --cache-bytes much -- true", MISUSE, "'much' is not a size"),
    Row("run --cache --memory-budget 64M -- true", MISUSE, "--cache"),
    Row("ping --self -n 0", MISUSE, "--count: 0 is out of range: it must be 1 to"),
    Row("ping --self -n -1", MISUSE, "--count: -1 is out of range"),
    Row("ping --self -n x", MISUSE, "'x' is not a whole number"),
    Row("ping --self -s 1G", MISUSE, "--size: 1G is out of range: it must be 0 bytes to 256 MiB"),
    Row("ping --self -s big", MISUSE, "'big' is not a size: write 64, 4K or 1M, for example"),
    Row("ping -p 70000", MISUSE, "--port: 70000 is out of range: it must be 0 to 65535"),
    Row("ping -p -1", MISUSE, "--port: -1 is out of range"),
    Row("bench --self -t -1", MISUSE, "--seconds: -1 is out of range"),
    Row("bench --self -t nan", MISUSE, "--seconds: nan is out of range"),
    Row("bench --self -q 0", MISUSE, "--qps: 0 is out of range: it must be 1 to 8192"),
    Row("bench --self -d 4 -b 8", MISUSE, "-b 8 is more than -d 4"),
    Row("run --memory-budget lots -- true", MISUSE, "'lots' is not a size"),
    Row("run --memory-budget 64M --swap mistyped -- true", MISUSE,
        "mistyped does not exist: name a directory"),
    Row("run --memory-budget-strict -- true", MISUSE, "--memory-budget"),
    Row("run --log loud -- true", MISUSE, "'loud' is not one of error, warning, info, debug"),
    Row("run --trace /no/such/folder/x -- true", MISUSE, "/no/such/folder"),

    Row("run -- no-such-program", NOT_FOUND, "cannot start no-such-program"),
    Row("run -- /etc/passwd", NOT_EXECUTABLE, "Permission denied"),
    Row("run -- /", NOT_EXECUTABLE, "Permission denied"),
    Row("run -- sh -c exit\u00a03", 3, ""),

    Row("run -- ibv_devices", DONE, "VERBENA_STAT is not a variable of Verbena",
        {"VERBENA_STAT": "1"}),
    Row("run -- ibv_devices", DONE, "VERBENA_STATS must be 0 or 1, not 'yes'",
        {"VERBENA_STATS": "yes"}),
    Row("run -- ibv_devices", DONE, "VERBENA_LOG must be error, warning, info or debug, not 'x'",
        {"VERBENA_LOG": "x"}),
    Row("run -- true", DONE, "VERBENA_DEVICE_FILES must be on or off, not 'x'",
        {"VERBENA_DEVICE_FILES": "x"}),
]

# With verbena-sim, which is built with the tests.
SIMULATOR_ROWS = [
    Row("sim --seeds 1..2", DONE, "2 seeds"),
    Row("sim --seed x", MISUSE, "'--seed x' is no option, or has no valid value"),
    Row("sim --minutes 0", MISUSE, "'--minutes 0'"),
    Row("sim --seed 1 --pcap /no/such/folder/x", FAILED, "cannot write /no/such/folder/x"),
]


def check(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def run(command: list, **options) -> subprocess.CompletedProcess:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([str(word) for word in command], check=False, text=True,
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, **options)


def check_row(verbena: Path, row: Row) -> None:
    # Rows write a space within a word as U+00A0.
    words = [word.replace("\u00a0", " ") for word in row.words.split(" ") if word]
    done = run([verbena, *words], env={**os.environ, **row.environment})
    output = done.stdout + done.stderr
    check(done.returncode == row.code, f"verbena {row.words}: exit code {done.returncode} and not "
                                       f"{row.code}, output:\n{output}")
    check(row.says in output, f"verbena {row.words} does not print '{row.says}', but\n{output}")
    check(row.code == DONE or not done.stdout, f"verbena {row.words}: an error on standard output")


def check_output(verbena: Path) -> None:
    """A failed write of the output is an error, and the output does not go to another file."""
    for words in (["devices"], ["devices", "--json"], ["--help"], ["ping", "--self", "-n", "5"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = run([verbena, *words], stdout=full)
        check(done.returncode == FAILED, f"{words} to a full disk: exit code {done.returncode}")
        check("No space left on device" in done.stderr, f"{words} to a full disk: {done.stderr}")
        done = run(["sh", "-c", '"$0" "$@" >&-', verbena, *words])
        check(done.returncode == FAILED, f"{words} to a closed file: exit code {done.returncode}")


def check_without_network(verbena: Path) -> None:
    done = run(["unshare", "--user", "--net", verbena, "devices"])
    if "unshare failed" in done.stderr:
        print("skipped devices without an interface: cannot create a network namespace")
        return
    check(done.returncode == DONE, f"devices without a network: {done.stderr}")
    check("no network interface is up" in done.stdout, f"devices prints {done.stdout}")
    done = run(["unshare", "--user", "--net", verbena, "ping", "--self"])
    check(done.returncode == FAILED, f"ping without a network: exit code {done.returncode}")
    check("no network interface leads there" in done.stderr, f"ping prints {done.stderr}")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    verbena = Path(sys.argv[1]).resolve() / "verbena"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        has_simulator = (verbena.parent / "verbena-sim").exists()
        rows = ROWS + (SIMULATOR_ROWS if has_simulator else [])
        for row in rows:
            check_row(verbena, row)
        check(not os.listdir("."), f"a refused command line has left {os.listdir('.')}")
        check_output(verbena)
        check_without_network(verbena)
    print(f"{len(rows)} command lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
