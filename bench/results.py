#!/usr/bin/env python3
"""Writes docs/results.md from stored results, each with its machine and commit.

  bench/results.py           writes the page from docs/results/*.json
  bench/results.py --keep    first copies build/bench/*.json, and their figures, to docs/results
  bench/results.py --check   fails if the page is outdated (part of make test)
"""

import argparse
import json
import pathlib
import shutil
import sys

import compare_peers
import fault_cost
import guests
import iwarp
import record
import registration_cache

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = pathlib.Path("docs/results")
PAGE = pathlib.Path("docs/results.md")

HEAD = """\
# Results

`bench/results.py` generates this page from `docs/results/*.json`, the results of `make bench`; do
not edit it. [benchmarks.md](benchmarks.md) explains how each figure is measured, its aim and its
meaning. A plus after a commit means uncommitted changes. Load is the load average of the minute
before the run: times of a busy machine say little.
"""


def number(value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(head: list[str], rows: list[list]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |",
             "| --- |" + " ---: |" * (len(head) - 1)]
    return lines + ["| " + " | ".join(number(cell) for cell in row) + " |" for row in rows]


def readable(value: float, unit: str, budget: float | None) -> tuple:
    """Converts short times and their budgets to nanoseconds."""
    if unit != "us" or value >= 0.1:
        return value, unit, budget
    return value * 1000, "ns", budget and budget * 1000


def memory(found: dict) -> list[str]:
    return table(["what", "measured", "unit", "budget"],
                 [[name, *readable(one["value"], one["unit"], one["budget"])]
                  for name, one in found.items()])


def peers(found: dict) -> list[str]:
    lines: list[str] = []
    for network, figures in found.items():
        if network in ("growth", "system calls"):
            continue
        rows = [[name, value, "", ""] for name, value in figures.items()]
        if network in ("loopback", "veth"):
            rows += [[name, value, aim, met]
                     for name, value, aim, met in compare_peers.ratios(figures)]
        lines += [f"### {network}", "", *table(["what", "measured", "aim", "met"], rows), ""]
    calls = found.get("system calls", {})
    rows = [[f"{name}, {per}", value] for per, one in calls.items() for name, value in one.items()]
    return [*lines, "### System calls", "", *table(["call", "times"], rows)]


def progress(found: dict) -> list[str]:
    rows = [[f"{situation}: {name}", one["figure"], one["ours"], one["beside"], one["ratio"],
             one["aim"], one["met"]]
            for situation, rows in found.items() for name, one in rows.items()]
    return table(["what", "figure", "Verbena", "beside", "ratio", "aim", "met"], rows)


def faults(found: dict) -> list[str]:
    ratios = [ratio for part, one in found.items() for ratio in fault_cost.RATIOS[part](one)]
    return table(["what", "measured", "aim", "met"],
                 [[ratio.name, ratio.value, ratio.aim, ratio.met if ratio.aim else None]
                  for ratio in ratios])


def ucx(found: dict) -> list[str]:
    rows = [[f"{network}: {test}", one["rc_v"], one["ud_v"], one["tcp"]]
            for network, tests in found.items() for test, one in tests.items()]
    return table(["test, bytes", "rc_v", "ud_v", "tcp"], rows)


def connections(found: dict) -> list[str]:
    rows = [[name, one["verbena"], one["tcp"], one["verbena"] / one["tcp"]]
            for rows in found.values() for name, one in rows.items()]
    return table(["what", "Verbena", "TCP", "ratio"], rows)


def iwarp_and_tcp(found: dict) -> list[str]:
    rows = [[name, value, None, None] for name, value in found.items()]
    rows += [list(ratio) for ratio in iwarp.ratios(found)]
    return table(["what", "measured", "aim", "met"], rows)


def guest_costs(found: dict) -> list[str]:
    figures = {name: guests.Figure(*one) for name, one in found.items()}
    rows = [[name, one.value, one.unit, None, None] for name, one in figures.items()]
    rows += [[one.name, one.value, "", one.aim, one.met] for one in guests.ratios(figures)]
    return table(["what", "measured", "unit", "aim", "met"], rows)


def cache_figure(name: str, found: dict) -> list[str]:
    """What registering for each message costs with and without a cache; the figure beside it."""
    rows = [[int(size), found["plain_us"][size], found["cache_us"][size],
             found["plain_us"][size] / found["cache_us"][size]]
            for size in sorted(found["plain_us"], key=int)]
    return [*table(["bytes of a message", "registered each time, us", "cache, us", "times as fast"],
                   rows), "", f"![times as fast with the cache](results/{name}.svg)"]


def registration_cache_hits(found: dict) -> list[str]:
    rows = [[name, ns, found["ucx_ns"].get(name),
             registration_cache.HIT_NS_MAX if registration_cache.has_aim(name) else None]
            for name, ns in found["verbena_ns"].items()]
    lines = table(["what", "Verbena, ns", "UCX rcache, ns", "aim"], rows)
    if not found["plain_us"]:
        return lines
    return [*lines, "", "Registered for each message, `--pin`:", "",
            *cache_figure("registration_cache", found)]


def kernel_stacks(found: dict) -> list[str]:
    rows = [[f"{wire}: {name}", one["figure"], one["ours"], one["beside"], one["ratio"],
             one["aim"], one["met"]]
            for wire, rows in found.items() for name, one in rows.items()]
    return table(["what", "unit", "Verbena", "kernel", "ratio", "aim", "met"], rows)


SECTIONS = {"memory": ("Memory core, reliable connection and wire", memory),
            "peers": ("The network", peers),
            "progress": ("Shared processors", progress),
            "faults": ("Faults", faults),
            "ucx": ("UCX: latency in us, bandwidth in MB/s", ucx),
            "cm": ("Connections and rsockets: us, 1/s, Gb/s", connections),
            "iwarp": ("iWARP and TCP", iwarp_and_tcp),
            "guests": ("Guests", guest_costs),
            "kernel_stacks": ("The kernel's software RDMA, in a guest", kernel_stacks),
            "registration_cache": ("The registration cache", registration_cache_hits),
            "registration_cache_rxe": ("The registration cache over Soft-RoCE",
                                       lambda found: cache_figure("registration_cache_rxe",
                                                                  found))}


def where_line(where: dict) -> str:
    return (f"{where['date']}, commit `{where['commit']}`: {where['cpu']}, {where['cores']} cores, "
            f"{where['memory_gib']} GiB, Linux {where['kernel']}, load {where['load']}.")


def page(kept: dict[str, dict]) -> str:
    lines = [HEAD]
    for name, (title, render) in SECTIONS.items():
        if name in kept:
            found = dict(kept[name])
            where = found.pop(record.WHERE)
            lines += [f"## {title}", "", where_line(where), "", *render(found), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def keep(build: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Copies results that have a machine and a commit; returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name in SECTIONS:
        source = build / "bench" / f"{name}.json"
        found = json.loads(source.read_text(encoding="utf-8")) if source.exists() else {}
        if found.get(record.WHERE, {}).get("commit", "unknown") != "unknown":
            for one in (source, source.with_suffix(".svg")):
                if one.exists():
                    shutil.copy(one, folder / one.name)
            names.append(name)
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    folder, target = arguments.root / KEPT, arguments.root / PAGE
    if arguments.keep:
        print("kept:", ", ".join(keep(arguments.build, folder)) or "nothing")
    text = page({path.stem: json.loads(path.read_text(encoding="utf-8"))
                 for path in sorted(folder.glob("*.json"))})
    if arguments.check:
        if target.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE}:1: does not match {KEPT}; run bench/results.py")
        return 1
    target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
