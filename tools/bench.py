#!/usr/bin/env python3
"""Measures the memory core, the reliable connection and the wire format against their budgets.

Times come from Google Benchmark and vary with the load of the machine. Instruction counts come from
callgrind and sizes from the tables themselves; neither varies. Results go to
build/bench/memory.json.

  tools/bench.py                 everything (make bench)
  tools/bench.py --counts-only   instruction counts and sizes only: repeatable, runs as a test
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import record  # noqa: E402

CALLS = 1000
MANY = 1_000_000
TIMED_UNITS = ("us", "GB/s", "times as long")

# name -> (unit, budget or None)
BUDGETS = {
    "translate, 1 region": ("instructions", 150),
    f"translate, {MANY:,} regions": ("instructions", 150),
    "translate, growth": ("%", 5),
    # Managed memory: one stage more.
    "translate, two stages": ("instructions", 250),
    "invalidate page, 1 region": ("instructions", None),
    f"invalidate page, {MANY:,} regions": ("instructions", None),
    "invalidate page, growth": ("%", 5),
    "bind, type 1": ("instructions", None),
    # From post to completion: both sides and both copies, no ICRC. The budget is for g++, Release.
    "RC write of 64 bytes, alone": ("instructions", None),
    "RC write of 64 bytes, 25 at a time": ("instructions", 1200),
    "RC read of 64 bytes, 25 at a time": ("instructions", None),
    "RC write of 4 KiB, 25 at a time": ("instructions", None),
    "RC read of 4 KiB, 25 at a time": ("instructions", None),
    "bytes per entry": ("bytes", 128),
    "untouched 1 TiB region": ("bytes", 64 * 1024),
    "bytes per present page": ("bytes", 8),
    "bytes per present page of a page list": ("bytes", None),
    "reverse map per page of a page list": ("bytes", None),
    "translate, time": ("us", None),
    f"translate, time, {MANY:,} regions": ("us", None),
    "translate through window, time": ("us", None),
    "translate refused, time": ("us", None),
    "bind, time": ("us", 0.3),
    "bind + invalidate, time": ("us", 0.6),
    "allocate + deallocate window, time": ("us", 1),
    "register + deregister 1 GiB, time": ("us", 5),
    "register + deregister 1 TiB, time": ("us", 5),
    "register 1 TiB, resident growth": ("bytes", 0),
    f"invalidate page, time, {MANY:,} regions": ("us", None),
    # 4 KiB of payload, from cached memory to its position in a packet.
    "memcpy": ("GB/s", None),
    "memcpy, to an aligned place": ("GB/s", None),
    "guarded copy": ("GB/s", None),
    "CRC alone": ("GB/s", None),
    "ICRC": ("GB/s", None),
    "guarded copy and ICRC": ("GB/s", None),
    "guarded copy and ICRC / memcpy": ("times as long", None),
    # The bound is memory speed: memcpy of the same bytes to the same address, then their CRC.
    "guarded copy and ICRC / memcpy and CRC": ("times as long", 1.1),
    "guarded copy and ICRC / aligned memcpy and CRC": ("times as long", None),
}


def count(build, program, *arguments):
    """Instructions per call, counted by callgrind. The program takes the number of calls last."""
    out = build / "bench" / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", "--collect-atstart=no",
               f"--callgrind-out-file={out}", str(build / "bin" / program),
               *map(str, arguments), str(CALLS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not found:
        sys.exit(f"bench: {' '.join(command)} failed:\n{run.stderr}")
    return int(found.group(1)) / CALLS


def instruction_counts(build):
    def case(name, regions):
        print(f"  counting {name}, {regions:,} regions ...", file=sys.stderr, flush=True)
        return count(build, "memory_count", name, regions) - empty

    def growth(one, many):
        return 100 * (many - one) / one

    empty = count(build, "memory_count", "empty", 1)
    translate_one, translate_many = case("translate", 1), case("translate", MANY)
    gone_one, gone_many = case("invalidate-page", 1), case("invalidate-page", MANY)
    return {
        "translate, 1 region": translate_one,
        f"translate, {MANY:,} regions": translate_many,
        "translate, growth": growth(translate_one, translate_many),
        "translate, two stages": case("translate-guest", 1),
        "invalidate page, 1 region": gone_one,
        f"invalidate page, {MANY:,} regions": gone_many,
        "invalidate page, growth": growth(gone_one, gone_many),
        "bind, type 1": case("bind", 1),
        "RC write of 64 bytes, alone": count(build, "rc_count", "write", 64, 1),
        "RC write of 64 bytes, 25 at a time": count(build, "rc_count", "write", 64, 25),
        "RC read of 64 bytes, 25 at a time": count(build, "rc_count", "read", 64, 25),
        "RC write of 4 KiB, 25 at a time": count(build, "rc_count", "write", 4096, 25),
        "RC read of 4 KiB, 25 at a time": count(build, "rc_count", "read", 4096, 25),
    }


def benchmark(build, program, *options):
    """Rows of a Google Benchmark program by name; of several repetitions, the fastest."""
    command = [str(build / "bin" / program), "--benchmark_format=json", *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} failed:\n{run.stderr}")
    rows = json.loads(run.stdout)["benchmarks"]
    for row in rows:
        if row.get("error_occurred"):
            sys.exit(f"bench: {row['name']}: {row['error_message']}")
    rows = sorted((row for row in rows if row["run_type"] == "iteration"),
                  key=lambda row: row["cpu_time"], reverse=True)
    return {re.sub(r"/iterations:\d+$", "", row["name"]): row for row in rows}


def sizes(build):
    rows = benchmark(build, "memory_bench", "--benchmark_filter=Memory",
                     "--benchmark_min_time=0.01")
    tib = rows[f"MemoryOfRegion/{1 << 40}"]
    page_list = rows["MemoryOfPageList"]
    return {
        "bytes per entry": rows[f"MemoryPerEntry/{MANY}"]["bytes_per_entry"],
        "untouched 1 TiB region": tib["untouched_bytes"],
        "bytes per present page": tib["bytes_per_present_page"],
        "bytes per present page of a page list": page_list["bytes_per_present_page"],
        "reverse map per page of a page list": page_list["reverse_map_bytes_per_page"],
    }


def times(build):
    rows = benchmark(build, "memory_bench", "--benchmark_filter=-Memory",
                     "--benchmark_min_time=0.5")

    def us(name):
        row = rows[name]
        return row["cpu_time"] * {"ns": 1e-3, "us": 1, "ms": 1e3}[row["time_unit"]]

    tib = f"RegisterUntouched/{1 << 40}"
    return {
        "translate, time": us("TranslateHit/1"),
        f"translate, time, {MANY:,} regions": us(f"TranslateHit/{MANY}"),
        "translate through window, time": us("TranslateThroughWindow"),
        "translate refused, time": us("TranslateRefused"),
        "bind, time": us("BindType1"),
        "bind + invalidate, time": us("BindAndInvalidateType2"),
        "allocate + deallocate window, time": us("AllocateWindow"),
        "register + deregister 1 GiB, time": us(f"RegisterUntouched/{1 << 30}"),
        "register + deregister 1 TiB, time": us(tib),
        "register 1 TiB, resident growth": rows[tib]["resident_bytes_grown"],
        f"invalidate page, time, {MANY:,} regions": us(f"InvalidatePage/{MANY}"),
    }


def rates(build):
    # Interleaved repetitions expose all cases to the same background load.
    rows = benchmark(build, "wire_bench", "--benchmark_min_time=0.05",
                     "--benchmark_repetitions=9", "--benchmark_enable_random_interleaving=true")

    def rate(name):
        return rows[name]["bytes_per_second"] / 1e9

    def ratio(*bound):
        return rows["CopyAndIcrc"]["cpu_time"] / sum(rows[name]["cpu_time"] for name in bound)

    return {
        "memcpy": rate("Memcpy"),
        "memcpy, to an aligned place": rate("MemcpyAligned"),
        "guarded copy": rate("GuardedCopy"),
        "CRC alone": rate("Crc"),
        "ICRC": rate("Icrc"),
        "guarded copy and ICRC": rate("CopyAndIcrc"),
        "guarded copy and ICRC / memcpy": ratio("Memcpy"),
        "guarded copy and ICRC / memcpy and CRC": ratio("Memcpy", "Crc"),
        "guarded copy and ICRC / aligned memcpy and CRC": ratio("MemcpyAligned", "Crc"),
    }


def report(results):
    """Prints the table; returns the names that are over budget."""
    print(f"\n{'':<48}{'measured':>14} {'budget':>12}")
    over = []
    for name, value in results.items():
        unit, budget = BUDGETS[name]
        verdict = ""
        if budget is not None:
            fits = value <= budget
            verdict = f"{budget:>12,g}" + ("" if fits else "  OVER")
            if not fits:
                over.append(name)
        print(f"{name:<48}{value:>14,.3f} {verdict:<20} {unit}")
    return over


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--counts-only", action="store_true",
                        help="instruction counts and sizes only; does not write the JSON")
    args = parser.parse_args()
    (args.build / "bench").mkdir(parents=True, exist_ok=True)

    origin = record.begin(args.build)
    results = instruction_counts(args.build) | sizes(args.build)
    if not args.counts_only:
        print("  timing ...", file=sys.stderr, flush=True)
        results |= times(args.build) | rates(args.build)
    over = report(results)
    if not args.counts_only:
        path = args.build / "bench" / "memory.json"
        record.write(path, origin | {
            name: {"value": value, "unit": BUDGETS[name][0], "budget": BUDGETS[name][1]}
            for name, value in results.items()})
        print(f"\nwritten to {path}")
    if over:
        # Times depend on the machine, so only counts and sizes fail the run.
        firm = [name for name in over if BUDGETS[name][0] not in TIMED_UNITS]
        print(f"over budget: {'; '.join(over)}", file=sys.stderr)
        return 1 if firm else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
