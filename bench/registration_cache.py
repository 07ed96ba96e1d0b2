#!/usr/bin/env python3
"""The registration cache beside UCX's, and beside registering for each message.

  bench/registration_cache.py [--build DIR] [--seconds S]      (part of make bench)

A hit by the number of entries and threads: bin/cache_bench, and bin/ucx_rcache over the same
operations. What a program gains that registers for each message: bin/register_per_message by
`verbena run --pin`, with and without `--cache`, in turns; the better of each counts. Prints both,
writes build/bench/registration_cache.json and the figure build/bench/registration_cache.svg.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HIT_NS_MAX = 50
RUNS = 3
WIDTH, HEIGHT, LEFT, TOP = 420, 220, 60, 40


def benchmark(program: pathlib.Path, seconds: float) -> dict[str, float]:
    """Nanoseconds by the name of the case."""
    done = subprocess.run([program, "--benchmark_format=json", f"--benchmark_min_time={seconds}"],
                          capture_output=True, text=True, check=True)
    return {row["name"].replace("/real_time", ""): row["real_time"]
            for row in json.loads(done.stdout)["benchmarks"]}


def per_message(build: pathlib.Path, milliseconds: int, *options: str) -> dict[int, float]:
    """Microseconds by size; empty if the memory cannot be locked."""
    done = subprocess.run([build / "bin/verbena", "run", "--pin", *options, "--",
                           build / "bin/register_per_message", str(milliseconds)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        return {}
    return {int(size): float(us) for size, us in map(str.split, done.stdout.splitlines())}


def best(runs: list[dict[int, float]]) -> dict[int, float]:
    return {size: min(run[size] for run in runs) for size in runs[0]} if all(runs) else {}


def draw(ratios: dict[int, float]) -> str:
    """The speed-up over the size of a message; the axis across is logarithmic."""
    sizes = sorted(ratios)
    first, last = math.log2(sizes[0]), math.log2(sizes[-1])
    highest = max(*ratios.values(), 1.0)
    places = [(LEFT + WIDTH * (math.log2(size) - first) / (last - first),
               TOP + HEIGHT * (1 - ratios[size] / highest)) for size in sizes]
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + LEFT + 30}" '
             f'height="{TOP + HEIGHT + 50}" font-family="sans-serif" font-size="11">',
             f'<text x="{LEFT}" y="{TOP - 16}">times as fast with --cache, by bytes of a message '
             "(registered each time, pinned)</text>"]
    for part in (0, 0.5, 1):
        y = TOP + HEIGHT * (1 - part)
        lines += [f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}" stroke="#ccc"/>',
                  f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">'
                  f'{part * highest:.1f}</text>']
    for (x, y), size in zip(places, sizes):
        name = f"{size >> 20} Mi" if size >= 1 << 20 else f"{size >> 10} Ki"
        lines += [f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{name}</text>',
                  f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#7048a8"/>']
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    lines.append(f'<polyline points="{path}" fill="none" stroke="#7048a8" stroke-width="2"/>')
    return "\n".join(lines + ["</svg>"]) + "\n"


def print_hits(ours: dict[str, float], ucx: dict[str, float]) -> None:
    print(f"{'registration cache':<34}{'verbena':>12}{'UCX rcache':>12}")
    for name, ns in ours.items():
        other = f"{ucx[name]:9.1f} ns" if name in ucx else ""
        # The aim is for one thread; more of them may share a processor.
        is_aim = name.startswith("Hit/") and name.endswith("threads:1")
        aim = f"  at most {HIT_NS_MAX} ns: {'met' if ns <= HIT_NS_MAX else 'MISSED'}"
        print(f"{name:<34}{ns:9.1f} ns{other:>12}{aim if is_aim else ''}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each figure")
    arguments = parser.parse_args()
    build = arguments.build
    ours = benchmark(build / "bin/cache_bench", arguments.seconds)
    has_ucx = (build / "bin/ucx_rcache").exists()
    ucx = benchmark(build / "bin/ucx_rcache", arguments.seconds) if has_ucx else {}
    print_hits(ours, ucx)
    plain, cached = [], []
    for _ in range(RUNS):
        plain.append(per_message(build, int(arguments.seconds * 1_000)))
        cached.append(per_message(build, int(arguments.seconds * 1_000), "--cache"))
    without, with_cache = best(plain), best(cached)
    if without and with_cache:
        print(f"\n{'registered for each message, --pin':<34}{'plain':>12}{'--cache':>12}")
        for size in sorted(without):
            print(f"{size:>27} bytes {without[size]:>9.1f} us{with_cache[size]:>9.1f} us"
                  f"  {without[size] / with_cache[size]:5.1f} times as fast")
    else:
        print("registered for each message: left out, because memory cannot be locked here")
    folder = build / "bench"
    folder.mkdir(exist_ok=True)
    (folder / "registration_cache.json").write_text(json.dumps(
        {"verbena_ns": ours, "ucx_ns": ucx, "plain_us": without, "cache_us": with_cache},
        indent=2) + "\n", encoding="utf-8")
    if without and with_cache:
        ratios = {size: without[size] / with_cache[size] for size in without}
        (folder / "registration_cache.svg").write_text(draw(ratios), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
