"""Writes results of a benchmark as JSON, with the machine and the commit of the run."""

import datetime
import json
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
WHERE = "where"  # the key of machine and commit


def cpu_model(cpuinfo: str) -> str:
    """The name of the processor in /proc/cpuinfo, where some have none."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def commit(root: pathlib.Path = ROOT) -> str:
    """The commit of the tree, with a plus if there are uncommitted changes."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True,
                              check=False).stdout.strip()

    name = git("rev-parse", "--short=12", "HEAD")
    if not name:
        return "unknown"
    return name + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def is_built_here(build: pathlib.Path, root: pathlib.Path = ROOT) -> bool:
    """Whether CMake configured the build for this tree; otherwise the commit is unknown."""
    cache = build / "CMakeCache.txt"
    if not cache.is_file():
        return False
    found = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", cache.read_text(encoding="utf-8"),
                      re.MULTILINE)
    return found is not None and pathlib.Path(found[1]).resolve() == root.resolve()


def where(build: pathlib.Path) -> dict:
    """Machine, load of the last minute, and commit. The commit is that of the tree, which make
    bench builds first; the commit of programs of another tree is unknown."""
    return {
        "cpu": cpu_model(pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 2),
        "commit": commit() if is_built_here(build) else "unknown",
        "date": datetime.date.today().isoformat(),
    }


def begin(build: pathlib.Path) -> dict:
    """The first entries of the results, taken before the benchmark adds to the load."""
    return {WHERE: where(build)}


def write(path: pathlib.Path, results: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
