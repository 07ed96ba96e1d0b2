#!/usr/bin/env python3
"""A drop-in library exports the same symbols and versions as the system's library, and those of
newer releases that the table of a page lists. Its calls of the C library cannot be interposed.

usage: exports_test.py OURS THEIRS PAGE
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(library: str) -> set[str]:
    """name@version, or name@@version for the default version of a name."""
    lines = run("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines()
    found = {line.split()[-1] for line in lines if " A " not in line}
    # Symbols for `verbena run` and our other library have versions of their own, so that they do
    # not hide other symbols.
    return {name for name in found if "@@VERBENA_" not in name}


def versions(library: str) -> set[tuple[str, str]]:
    """Each version with its parent."""
    found, name = set(), ""
    definitions = run("readelf", "-V", library).split(".gnu.version_r")[0]
    for line in definitions.splitlines():
        if match := re.search(r"Flags: \S+\s+Index: \d+\s+Cnt: \d+\s+Name: (\w+\.?\w*)$", line):
            name = match[1]
            found.add((name, ""))
        elif match := re.search(r"Parent \d+: (\S+)", line):
            found.discard((name, ""))
            found.add((name, match[1]))
    return {(name, after) for name, after in found if name.startswith(("IBV", "RDMA"))}


def interposable_calls(library: str) -> set[str]:
    """The calls of the library that a preloaded library can interpose, of those that are usually
    interposed."""
    lines = run("nm", "-D", "--undefined-only", "--without-symbol-versions", library).splitlines()
    return {line.split()[-1] for line in lines} & set(
        "socket bind listen accept accept4 connect shutdown getsockname getpeername getsockopt "
        "setsockopt send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg read readv write "
        "writev close fcntl dup2 poll ppoll select epoll_create1 epoll_ctl epoll_wait".split())


def additions(page: str) -> dict[str, set[str]]:
    """The version nodes in the page's table, each with the names that its row adds."""
    nodes = {}
    for line in Path(page).read_text(encoding="utf-8").splitlines():
        if line.startswith("| `IBVERBS_"):
            node, _, names = line.strip("|").split("|")
            for name in re.findall(r"`([\w.]+)`", node):
                nodes[name] = set(re.findall(r"`(\w+)`", names))
    return nodes


def promised(nodes: dict[str, set[str]], theirs: set[str]) -> set[str]:
    """name@version of all names that the page adds. A private node has all names of the node before
    it, except the name that contains the node's number."""
    private = {name.split("@")[0] for name in theirs if "@@IBVERBS_PRIVATE" in name}
    wanted = set()
    for node, names in nodes.items():
        if "PRIVATE" in node and node != "IBVERBS_PRIVATE_34":
            private = {name for name in private if not name.startswith("verbs_register_driver")}
        if "PRIVATE" in node:
            names = private = private | names
        wanted |= {f"{name}@{node}" for name in names}
    return wanted


def difference(what: str, ours: set, theirs: set) -> int:
    for missing in sorted(theirs - ours):
        print(f"{what} missing: {missing}")
    for extra in sorted(ours - theirs):
        print(f"{what} that only one library has: {extra}")
    return len(ours ^ theirs)


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    ours, theirs, page = sys.argv[1:]
    nodes = additions(page)
    wrong = difference("symbol", symbols(ours) & symbols(theirs), symbols(theirs))
    plain = {name.replace("@@", "@") for name in symbols(ours)}
    known = {name.replace("@@", "@") for name in symbols(theirs)}
    wrong += difference("symbol", plain, known | promised(nodes, symbols(theirs)))
    wrong += difference("version", versions(ours) & versions(theirs), versions(theirs))
    wrong += difference("version", {name for name, _ in versions(ours)},
                        {name for name, _ in versions(theirs)} | set(nodes))
    wrong += difference("interposable call of the C library",
                        interposable_calls(ours), set())
    kinds = Counter("default" if "@@" in name else "old" for name in symbols(ours))
    print(f"{len(symbols(ours))} symbols ({dict(kinds)}), {len(versions(ours))} versions")
    if not symbols(theirs) or not versions(theirs):
        print(f"{theirs} exports nothing: nothing was compared")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
