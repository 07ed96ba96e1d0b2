#!/usr/bin/env python3
"""The cost of page faults, and their effect on other connections, as ratios of one run.

  bench/fault_cost.py [--build DIR] [--part NAME]...      (part of make bench)

Runs the parts of bin/fault_cost, prints each ratio with its aim and the table of the storms, and
writes build/bench/faults.json. Takes two minutes. Simulated slow storage and stuck pages need the
userfaultfd of root; without it those parts are skipped and listed.
"""

import argparse
import json
import pathlib
import statistics
import sys
from typing import NamedTuple

import compare_peers
import record

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = ("minor", "message", "warm", "registration", "storm", "isolation", "stuck")
SECONDS_MAX = 90  # for one part
KINDS = {"slow": "storage of 0.5 ms a page", "swapped": "managed memory, swapped out",
         "zero": "memory never touched"}
STORAGES = {"disk": "a disk of 4 ms a page", "managed": "managed memory, 64 times its budget"}
BASELINES = {"alone": "alone", "beside": "as many without faults",
             "bare": "the system's part of as many faults"}
MEETINGS = {"absent": "the pager", "left": "a copy", "listed": "a copy, page list"}
STUCK = "pages that do not come"
EXPERIMENTS = {"third": ("a fresh page beside two stuck ones: seconds", "<= 0.1"),
               "late_write": ("write to a page that takes 1.2 s, rnr_retry 3: seconds", ""),
               "held_read": ("read of a page that takes 1.2 s, timeout 14, retry 7: seconds", "")}


class Ratio(NamedTuple):
    name: str
    value: float
    aim: str  # "<= 2" or ">= 0.95"; empty if there is none

    @property
    def met(self) -> bool:
        if not self.aim:
            return True
        sense, bound = self.aim.split()
        return self.value <= float(bound) if sense == "<=" else self.value >= float(bound)

    def line(self) -> str:
        verdict = f"   aim {self.aim}: {'met' if self.met else 'NOT MET'}" if self.aim else ""
        return f"  {self.name:64} {self.value:10,.3f}{verdict}"


def median_of_pairs(above: list[float], below: list[float]) -> float:
    """The median ratio of alternating measurements: load that affects both of a pair cancels
    out."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def cold_ratio(found: dict) -> float:
    """The time of a cold message, divided by the time of its page-in plus a warm message."""
    return (found["cold_us"]["p50"]
            / (found["populate_us"]["p50"] + found["warm_us"]["p50"]))


def of_minor(found: dict) -> list[Ratio]:
    parts = found["populate_us"]["p50"] + found["warm_us"]["p50"]
    ratios = [Ratio("cold write of 4 KiB / (populate + warm write)", cold_ratio(found), "<= 2"),
              Ratio("the same, 1 ms after the last fault", found["lone_us"]["p50"] / parts, "")]
    if found["userfault_us"]:
        ratios.append(Ratio("cold write of 4 KiB / bare userfaultfd round trip",
                            found["cold_us"]["p50"] / found["userfault_us"]["p50"], ""))
    return ratios


def of_message(found: dict) -> list[Ratio]:
    return [Ratio("cold message of 4 MiB / (populate + warm message)", cold_ratio(found),
                  "<= 1.25")]


def of_warm(found: dict) -> list[Ratio]:
    return [Ratio("warm writes of 4 KiB a second, pinned / not pinned",
                  median_of_pairs(found["pinned"], found["unpinned"]), "<= 1.02")]


def of_registration(found: dict) -> list[Ratio]:
    def grown(name, when):
        return (found[f"{name}_kib_{when}"] - found[f"{name}_kib_before"]) / 1024

    ratios = [Ratio("registering 1 GiB: MiB locked", grown("locked", "registered"), "<= 0"),
              Ratio("registering 1 GiB: MiB resident", grown("resident", "registered"), "<= 1")]
    if "mlock_us" in found:
        ratios.append(Ratio("mlock of 1 GiB / registering it",
                            found["mlock_us"] / found["register_us"], ">= 1000"))
    return ratios


def storm_rows(runs: list[dict]) -> list[dict]:
    """One row per storm: the median time of its repetitions, and the sum of their timeouts."""
    by_storm: dict[tuple, list[dict]] = {}
    for run in runs:
        by_storm.setdefault((run["qps"], run["requester"], run["responder"]), []).append(run)
    return [same[0]
            | {name: statistics.median(run[name] for run in same)
               for name in ("page_ins_us", "cold_us", "warm_us", "rnr_naks")}
            | {"timeouts": sum(run["timeouts"] for run in same)}
            for same in by_storm.values()]


def of_storm(found: dict) -> list[Ratio]:
    ratios = []
    for kind, words in KINDS.items():
        if kind not in found:
            continue
        rows = storm_rows(found[kind])
        ratios.append(Ratio(f"storms, {words}: worst total / page-ins",
                            max(row["cold_us"] / row["page_ins_us"] for row in rows), "<= 2"))
        # Informative where a page-in is faster than a message; it has no aim.
        ratios.append(Ratio(f"storms, {words}: worst total / (page-ins + warm)",
                            max(row["cold_us"] / (row["page_ins_us"] + row["warm_us"])
                                for row in rows), ""))
        ratios.append(Ratio(f"storms, {words}: retransmission timeouts",
                            sum(row["timeouts"] for row in rows), "<= 0"))
    return ratios


def of_isolation(found: dict) -> list[Ratio]:
    ratios = []
    for storage, words in STORAGES.items():
        if storage not in found:
            continue
        one = found[storage]
        for base, of_base in BASELINES.items():
            if base not in one:
                continue
            rate, p99 = (median_of_pairs(one["faulting"][what], one[base][what])
                         for what in ("writes_per_second", "p99_us"))
            ratios.append(Ratio(f"{words}: writes / {of_base}", rate, ">= 0.95"))
            ratios.append(Ratio(f"{words}: p99 / {of_base}", p99, "<= 1.05"))
    return ratios


def stuck_name(window: dict) -> str:
    if not window["pages"]:
        return "nothing stuck"
    end = "requester" if window["requester"] else "responder"
    return f"{window['pages']} stuck at the {end}, met by {MEETINGS[window['meeting']]}"


def of_stuck(found: dict) -> list[Ratio]:
    ratios = []
    for window in found.get("windows", []):
        name = stuck_name(window)
        stuck, alone = window["stuck"], window["alone"]
        rate, p99 = (median_of_pairs(stuck[what], alone[what])
                     for what in ("writes_per_second", "p99_us"))
        ratios += [Ratio(f"{name}: writes / alone", rate, ">= 0.95"),
                   Ratio(f"{name}: p99 / alone", p99, "<= 1.05"),
                   Ratio(f"{name}: longest, ms", statistics.median(stuck["longest_us"]) / 1e3, "")]
    for name in ("failed", "timeouts", "lost"):
        if "windows" in found:
            ratios.append(Ratio(f"{STUCK}: {name}",
                                sum(int(window[name]) for window in found["windows"]), "<= 0"))
    for name, (words, aim) in EXPERIMENTS.items():
        if name in found:
            ratios += [Ratio(words, found[name]["seconds"], aim),
                       Ratio(f"{words.rpartition(':')[0]}: failed",
                             int(found[name]["status"] != "success"), "<= 0")]
    return ratios


RATIOS = {"minor": of_minor, "message": of_message, "warm": of_warm,
          "registration": of_registration, "storm": of_storm, "isolation": of_isolation,
          "stuck": of_stuck}


def storm_table(found: dict) -> list[str]:
    lines = [f"  {'storm':28} {'QPs':>5} {'faults at':>10} {'page-ins, us':>13} {'total, us':>11} "
             f"{'warm, us':>10} {'RNR NAKs':>8} {'timeouts':>8}"]
    for kind, words in KINDS.items():
        for row in storm_rows(found.get(kind, [])):
            ends = [end for end in ("requester", "responder") if row[end]]
            lines.append(f"  {words:28} {row['qps']:5} {'both' if len(ends) == 2 else ends[0]:>10} "
                         f"{row['page_ins_us']:13,.0f} {row['cold_us']:11,.0f} "
                         f"{row['warm_us']:10,.0f} {row['rnr_naks']:8.0f} {row['timeouts']:8}")
    return lines


def left_out(part: str, found: dict) -> list[str]:
    """The measurements that need rights which this user lacks."""
    if part == "minor" and not found["userfault_us"]:
        return ["bare userfaultfd round trip"]
    if part == "registration" and "mlock_us" not in found:
        return ["mlock of 1 GiB"]
    if part == "stuck" and "windows" not in found:
        return [STUCK]
    wanted = {"storm": KINDS, "isolation": STORAGES}.get(part, {})
    return [words for name, words in wanted.items() if name not in found]


def show(part: str, found: dict) -> None:
    if part == "storm":
        print("\n".join(storm_table(found)))
    for ratio in RATIOS[part](found):
        print(ratio.line())
    for what in left_out(part, found):
        print(f"  skipped, needs root: {what}")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--part", action="append", choices=PARTS)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    results, failed = record.begin(build), False
    print("\nfaults")
    for part in arguments.part or PARTS:
        try:
            output = compare_peers.run([build / "bin" / "fault_cost", part], SECONDS_MAX)
        except compare_peers.Failure as failure:
            print(f"fault_cost: {failure}", file=sys.stderr)
            failed = True
            continue
        results[part] = json.loads(output)
        show(part, results[part])
    record.write(build / "bench" / "faults.json", results)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
