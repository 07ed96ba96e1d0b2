#!/usr/bin/env python3
"""The registration cache beside UCX's, and beside registering for each message.

  bench/registration_cache.py [--build DIR] [--seconds S]      (part of make bench)
  bench/registration_cache.py --lab LAB SHARE                  (a guest with Soft-RoCE instead)

A hit by the number of entries and threads, misses, and invalidations: bin/cache_bench, and
bin/ucx_rcache over the same operations. What a program gains that registers for each message:
bin/register_per_message by `verbena run --pin`, with and without `--cache`, in turns; the better of
each counts. Prints both, writes build/bench/registration_cache.json and the figure
build/bench/registration_cache.svg.

With --lab, bin/cached_per_message runs in a guest that has the kernel's Soft-RoCE: LAB is a command
that reaches it (`LAB sh COMMAND`), SHARE the folder here that is /share there, and /host there has
this machine's libraries. Writes build/bench/registration_cache_rxe.json and .svg.
"""

import argparse
import json
import math
import pathlib
import shutil
import subprocess
import sys

import record

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


def in_guest(lab: str, share: pathlib.Path, build: pathlib.Path, milliseconds: int) -> str:
    """What cached_per_message prints there, whose kernel may have no userfaultfd."""
    shutil.copy2(build / "bin/cached_per_message", share)
    return subprocess.run([lab, "sh", "chroot /host /share/cached_per_message --gid 1 --announces "
                           f"{milliseconds}"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def two_columns(said: str) -> tuple[dict[int, float], dict[int, float]]:
    """Microseconds by size, of a message that registers and of one that asks the cache."""
    rows = [line.split() for line in said.splitlines()]
    return ({int(size): float(plain) for size, plain, _ in rows},
            {int(size): float(cached) for size, _, cached in rows})


def draw(ratios: dict[int, float], title: str) -> str:
    """The speed-up over the size of a message; the axis across is logarithmic."""
    sizes = sorted(ratios)
    first, last = math.log2(sizes[0]), math.log2(sizes[-1])
    highest = max(*ratios.values(), 1.0)
    places = [(LEFT + WIDTH * (math.log2(size) - first) / (last - first),
               TOP + HEIGHT * (1 - ratios[size] / highest)) for size in sizes]
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + LEFT + 30}" '
             f'height="{TOP + HEIGHT + 50}" font-family="sans-serif" font-size="11">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{LEFT}" y="{TOP - 16}">{title}</text>']
    for part in (0, 0.5, 1):
        y = TOP + HEIGHT * (1 - part)
        lines += [f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}" stroke="#ccc"/>',
                  f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">'
                  f'{part * highest:.1f}</text>']
    even = TOP + HEIGHT * (1 - 1 / highest)  # where a cache gains nothing
    lines.append(f'<line x1="{LEFT}" y1="{even:.1f}" x2="{LEFT + WIDTH}" y2="{even:.1f}" '
                 'stroke="#888" stroke-dasharray="4 3"/>')
    for (x, y), size in zip(places, sizes):
        name = f"{size >> 20} Mi" if size >= 1 << 20 else f"{size >> 10} Ki"
        lines += [f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{name}</text>',
                  f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#7048a8"/>']
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    lines.append(f'<polyline points="{path}" fill="none" stroke="#7048a8" stroke-width="2"/>')
    return "\n".join(lines + ["</svg>"]) + "\n"


def has_aim(name: str) -> bool:
    """The aim is for one thread; more of them may share a processor."""
    return name.startswith("Hit/") and name.endswith("threads:1")


def print_hits(ours: dict[str, float], ucx: dict[str, float]) -> None:
    print(f"{'registration cache':<34}{'verbena':>12}{'UCX rcache':>12}{'ratio':>12}")
    for name, ns in ours.items():
        other = f"{ucx[name]:9.1f} ns  {ucx[name] / ns:5.1f} times" if name in ucx else ""
        aim = f"  at most {HIT_NS_MAX} ns: {'met' if ns <= HIT_NS_MAX else 'MISSED'}"
        print(f"{name:<34}{ns:9.1f} ns{other:<28}{aim if has_aim(name) else ''}")


def print_messages(title: str, without: dict[int, float], with_cache: dict[int, float]) -> None:
    print(f"\n{title:<34}{'each time':>12}{'cache':>12}")
    for size in sorted(without):
        print(f"{size:>27} bytes {without[size]:>9.1f} us{with_cache[size]:>9.1f} us"
              f"  {without[size] / with_cache[size]:5.1f} times as fast")


def write(path: pathlib.Path, results: dict, title: str) -> None:
    """The results, and the speed-up by size if memory could be registered."""
    record.write(path.with_suffix(".json"), results)
    plain, cached = results["plain_us"], results["cache_us"]
    if plain and cached:
        ratios = {size: plain[size] / cached[size] for size in plain}
        path.with_suffix(".svg").write_text(draw(ratios, title), encoding="utf-8")


def measure_in_guest(lab: str, share: pathlib.Path, build: pathlib.Path, seconds: float) -> None:
    results = record.begin(build)
    plain, cached = two_columns(in_guest(lab, share, build, int(seconds * 1_000)))
    print_messages("registered for each message, rxe", plain, cached)
    write(build / "bench" / "registration_cache_rxe",
          results | {"plain_us": plain, "cache_us": cached},
          "times as fast with the cache, by bytes of a message (Soft-RoCE)")


def measure(build: pathlib.Path, seconds: float) -> None:
    results = record.begin(build)
    ours = benchmark(build / "bin/cache_bench", seconds)
    has_ucx = (build / "bin/ucx_rcache").exists()
    ucx = benchmark(build / "bin/ucx_rcache", seconds) if has_ucx else {}
    print_hits(ours, ucx)
    plain, cached = [], []
    for _ in range(RUNS):
        plain.append(per_message(build, int(seconds * 1_000)))
        cached.append(per_message(build, int(seconds * 1_000), "--cache"))
    without, with_cache = best(plain), best(cached)
    if without and with_cache:
        print_messages("registered for each message, --pin", without, with_cache)
    else:
        print("registered for each message: left out, because memory cannot be locked here")
    write(build / "bench" / "registration_cache",
          results | {"verbena_ns": ours, "ucx_ns": ucx, "plain_us": without,
                     "cache_us": with_cache},
          "times as fast with --cache, by bytes of a message (registered each time, pinned)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each figure")
    parser.add_argument("--lab", nargs=2, metavar=("LAB", "SHARE"))
    arguments = parser.parse_args()
    if arguments.lab:
        measure_in_guest(arguments.lab[0], pathlib.Path(arguments.lab[1]), arguments.build,
                         arguments.seconds)
    else:
        measure(arguments.build, arguments.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
