#!/usr/bin/env python3
"""Checks house rules that the compiler, clang-format and clang-tidy do not check."""

import argparse
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import source_tree

LINES_REVIEW, LINES_MAX = 400, 600
LENGTH_FOLDERS = {"src", "sim", "include"}
COLUMNS_MAX = 100

SCRIPTS = (".py", ".sh", ".cmake")

# Source files of src/ without a test beside them, and the reason or the test that covers them.
UNTESTED: dict[str, str] = {
    "src/transport/rc/ack_handler.cc": "the receive half of requester.h: requester_test.cc",
    "src/transport/common/receive_slot.cc": "used by RC, UC and UD: ud_qp_test.cc",
    "src/transport/common/packet_origin.cc": "the GRH of a datagram: ud_qp_test.cc",
    "src/adapter/cm/gsi_calls.cc": "the calls of gsi.h: gsi_test.cc",
    "src/adapter/cm/iwarp_cm_calls.cc": "the calls of iwarp_cm.h: verbs/iwarp_test.cc",
    "src/adapter/cm/iwarp_streams.cc": "a part of iwarp_cm.h: iwarp_cm_test.cc, "
                                       "verbs/stream_kinds_test.cc",
    "src/adapter/loop/engine_iwarp.cc": "verbs/iwarp_test.cc, between two adapters",
    "src/adapter/control/adapter_cm.cc": "verbs/connection_manager_test.cc makes each call",
    "src/adapter/loop/engine_cm.cc": "verbs/connection_manager_test.cc makes each call",
    "src/adapter/loop/engine_control.cc": "the part of engine.h for control calls: engine_test.cc",
    "src/fabric/sctp/sctp_calls.cc": "the calls of sctp_socket.h: sctp_socket_test.cc",
    "src/adapter/objects/sctp_stream.cc": "stream_files_test.cc, between two sockets",
    "src/fabric/netlink_reports.cc": "tested through its users: address_watch_test.cc",
    **{f"src/cache/{name}.cc": f"tested through the API: {test}_test.cc"
       for name, test in (("core", "registration_cache"), ("core_acquire", "registration_cache"),
                          ("core_collect", "registration_cache"), ("domain_backend", "domain"),
                          ("text", "registration_cache"))},
    "src/ibverbs/objects/cache_socket.cc": "mr_cache_test.cc reads from it",
    "src/host/arbiter_regions.cc": "the part of arbiter.h for regions: arbiter_test.cc",
    "src/host/broker_messages.cc": "the part of broker.h for messages: broker_test.cc",
    "src/host/broker_buffers.cc": "the part of broker.h for shared buffers: buffer_client_test.cc",
    "src/host/agent.cc": "the peer of a broker: broker_test.cc",
    "src/host/operator_client.cc": "a client of a broker: broker_test.cc",
    "src/odp/managed_pages.cc": "needs an engine: adapter/control/managed_pages_test.cc",
    "src/odp/managed_pages_arenas.cc": "arenas of managed_pages.h: managed_pages_test.cc",
    "src/odp/takeover_memory.cc": "needs an engine: adapter/control/takeover_memory_test.cc",
    "src/managed/thread_swap_file.cc": "swap_file_test.cc runs both implementations",
    "src/managed/uring_swap_file.cc": "swap_file_test.cc runs both implementations",
    **{f"src/preload/calls/{name}.cc": "a test linked with it would redirect its own file calls: "
                                       "tests/integration/path_calls_check.cc calls each"
       for name in ("folder", "generated_file", "name", "open", "redirected", "stat")},
    "src/preload/sockets/accept4.cc": "overrides a libc call: tests/integration/sockets_test.py",
    "src/libc/calls.cc": "which calls: tests/integration/exports_test.py; how: call_test.cc",
    **{f"src/transport/iwarp/{name}.cc": "a part of the queue pair: iwarp_qp_test.cc, "
                                         "iwarp_errors_test.cc, iwarp_pages_test.cc"
       for name in ("iwarp_qp_receive", "iwarp_requester", "iwarp_requester_receive",
                    "iwarp_responder", "iwarp_responder_send")},
    **{f"src/transport/iwarp/{name}.cc": "a part of the queue pair: stream_qp_test.cc, "
                                         "stream_qp_errors_test.cc"
       for name in ("byte_receiver", "byte_sender")},
    "src/wire/iwarp/header_text.cc": "text of all headers: ddp_headers_test.cc and others",
    "src/wire/roce/header_text.cc": "the test of each header checks its text",
    **{f"src/rdmacm/objects/{name}.cc": f"tested through the API: ../calls/{test}_test.cc"
       for name, test in (("completion", "endpoint"), ("completion_queues", "qp"),
                          ("event_channel", "event_channel"), ("group", "multicast"),
                          ("id", "id"), ("path", "address"), ("reported_event", "connection"),
                          ("request", "connection"))},
    **{f"src/rdmacm/rsocket/{name}.cc": "tested through the API: exports_test.cc"
       for name in ("cm_event_channel", "datagram_exchange", "datagram_port", "datagram_socket",
                    "iomap", "notified_cq", "poll", "process", "registered_memory", "select",
                    "socket", "stream_connect", "stream_connection", "stream_control",
                    "stream_endpoint", "stream_io", "stream_socket")},
    "src/cli/main.cc": "dispatches to the commands; tests/integration runs it",
}


class Ban(NamedTuple):
    """An identifier that src/ does not use, except in files that match one of `allowed`."""
    pattern: re.Pattern
    reason: str
    instead: str
    allowed: tuple[str, ...]


# Files that may access the clock, the environment and files.
EDGES = ("src/fabric/*", "src/memory/uffd*", "src/base/*clock.h", "src/odp/*", "src/adapter/*",
         "src/cli/*", "src/ibverbs/*", "src/rdmacm/*", "src/preload/calls/*")

BANS = [
    Ban(re.compile(r"\b(?:system|steady|high_resolution)_clock::now\b"
                   r"|\b(?:clock_gettime|gettimeofday)\s*\("
                   r"|\btime\s*\(\s*(?:nullptr|NULL|0)\s*\)"),
        "a clock makes a run unrepeatable", "take the time as an argument", EDGES),
    Ban(re.compile(r"\bstd::random_device\b|\bs?rand\s*\(|\bgetrandom\s*\("),
        "an unseeded random number makes a run unrepeatable", "take a generator (base/random.h)",
        EDGES),
    Ban(re.compile(r"\bsecure_getenv\s*\("),
        "hidden input", "take an option as an argument", ("src/base/variables.cc", *EDGES)),
    Ban(re.compile(r"\bgetenv\s*\("),
        "a setuid program would obey the environment of its caller", "use secure_getenv",
        ("src/cli/*",)),
    Ban(re.compile(r"\bstd::[io]?fstream\b|\bfopen\s*\("),
        "hidden input and output", "take the bytes, or an interface, as an argument", EDGES),
    Ban(re.compile(r"\bstd::cout\b|(?<![\w.>])printf\s*\(|\bputs\s*\("),
        "standard output belongs to the program that links the library", "return the value",
        ("src/cli/*",)),
    Ban(re.compile(r"\bassert\s*\("),
        "it may be compiled out", "use CHECK or DCHECK (base/check.h)", ()),
]

LEFTOVER = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
# These files contain the words as patterns and examples.
LEFTOVER_EXEMPT = {"tools/check_tidy.py", "tools/check_tidy_test.py"}

# Comments and literals. Raw strings must match before plain ones. An apostrophe after a digit is a
# digit separator.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                      r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)

FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"^# ", re.MULTILINE)
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")


def keep_newlines(match: re.Match) -> str:
    return "".join("\n" if c == "\n" else " " for c in match[0])


class Checker:
    """Collects the violations in one tree (`failures`), and files to review (`warnings`)."""

    def __init__(self, root: Path):
        self.root = root
        self.failures: list[str] = []
        self.warnings: list[str] = []

    def check(self) -> None:
        for path in source_tree.files(self.root, *source_tree.CPP, ".S", *SCRIPTS, ".md", ".txt"):
            text = (self.root / path).read_bytes().decode("utf-8")
            self.check_blanks(path, text)
            if path.suffix == ".md":
                self.check_markdown(path, text)
                continue
            self.check_columns(path, text)
            self.check_leftovers(path, text)
            if path.parts[0] in LENGTH_FOLDERS:
                self.check_length(path, text)
            if path.parts[0] == "src" and path.suffix in source_tree.CPP:
                self.check_bans(path, text)
        self.check_tests()

    def fail(self, path: Path, line: int, message: str) -> None:
        self.failures.append(f"{path}:{line}: {message}")

    def fail_at(self, path: Path, text: str, offset: int, message: str) -> None:
        self.fail(path, text.count("\n", 0, offset) + 1, message)

    def check_blanks(self, path: Path, text: str) -> None:
        for number, line in enumerate(text.split("\n"), 1):
            if "\t" in line:
                self.fail(path, number, "tab; use spaces")
            if line != line.rstrip():
                self.fail(path, number, "trailing blanks")

    def check_columns(self, path: Path, text: str) -> None:
        for number, line in enumerate(text.split("\n"), 1):
            # A URL cannot be wrapped.
            if len(line) > COLUMNS_MAX and "://" not in line:
                self.fail(path, number, f"{len(line)} columns; at most {COLUMNS_MAX}")

    def check_leftovers(self, path: Path, text: str) -> None:
        if path.as_posix() in LEFTOVER_EXEMPT:
            return
        for match in LEFTOVER.finditer(text):
            self.fail_at(path, text, match.start(),
                         f"leftover {match[0]}; resolve it, or open an issue")

    def check_length(self, path: Path, text: str) -> None:
        lines = text.count("\n")
        if lines > LINES_MAX:
            self.fail(path, lines, f"{lines} lines; at most {LINES_MAX}: split the file")
        elif lines > LINES_REVIEW:
            self.warnings.append(f"{path}:{lines}: {lines} lines; does it have one subject?")

    def check_bans(self, path: Path, text: str) -> None:
        code = NOT_CODE.sub(keep_newlines, text)
        for ban in BANS:
            if any(fnmatch(path.as_posix(), place) for place in ban.allowed):
                continue
            for match in ban.pattern.finditer(code):
                name = match[0].rstrip("( ")
                self.fail_at(path, text, match.start(),
                             f"{name} is banned: {ban.reason}; {ban.instead}"
                             + (f" (allowed in {', '.join(ban.allowed)})" if ban.allowed else ""))

    def check_tests(self) -> None:
        for path in source_tree.files(self.root, ".cc"):
            if path.parts[0] != "src" or path.stem.endswith("_test"):
                continue
            tested = (self.root / path).with_name(path.stem + "_test.cc").is_file()
            if not tested and path.as_posix() not in UNTESTED:
                self.fail(path, 1, f"no {path.stem}_test.cc beside it; write it, or give the "
                                   "reason in UNTESTED of tools/check_tidy.py")
            elif tested and path.as_posix() in UNTESTED:
                self.fail(path, 1, "has a test; remove it from UNTESTED in tools/check_tidy.py")

    def check_markdown(self, path: Path, text: str) -> None:
        prose = FENCE.sub(keep_newlines, text)
        titles = len(TITLE.findall(prose))
        if titles != 1:
            self.fail(path, 1, f"{titles} titles; a page has exactly one line that starts '# '")
        for match in LINK.finditer(prose):
            target = match[1].split("#")[0]
            if target and ":" not in target:
                base = self.root if target.startswith("/") else (self.root / path).parent
                if not (base / target.lstrip("/")).exists():
                    self.fail_at(path, text, match.start(), f"link to {target}: no such file")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    checker = Checker(parser.parse_args().root)
    checker.check()
    for warning in checker.warnings:
        print(f"warning: {warning}")
    for failure in checker.failures:
        print(failure)
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
