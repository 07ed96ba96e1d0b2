#!/usr/bin/env python3
"""Runs fuzz targets for a bounded time, each from a copy of its corpus in fuzz/corpus/<name>/."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIX = "_fuzz"
# An input of queue_pair covers so many features that entropic scheduling costs more than the run.
OPTIONS = {"queue_pair": ["-entropic=0", "-max_len=256"]}


def run(name: str, build: Path, seconds: int, seed: int) -> bool:
    """Fuzzes one target. New inputs stay in the build tree; the tracked corpus is only read."""
    corpus, kept = build / "corpus" / name, ROOT / "fuzz" / "corpus" / name
    shutil.rmtree(corpus, ignore_errors=True)
    if kept.is_dir():
        shutil.copytree(kept, corpus)
    corpus.mkdir(parents=True, exist_ok=True)
    program = build / "bin" / (name + SUFFIX)
    artifact = build / "artifacts" / f"{name}-"
    artifact.parent.mkdir(exist_ok=True)
    outcome = subprocess.run(
        [program, f"-max_total_time={seconds}", f"-seed={seed}", "-timeout=10",
         "-print_final_stats=1", f"-artifact_prefix={artifact}", *OPTIONS.get(name, []), corpus],
        check=False)
    if outcome.returncode != 0:
        print(f"{name}: failed. Repeat with: {program} FILE (the file named above)",
              file=sys.stderr)
    return outcome.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="time per target")
    parser.add_argument("--seed", type=int, default=0, help="0 draws a random seed")
    parser.add_argument("names", nargs="*", help="targets (default: all)")
    options = parser.parse_args()
    targets = sorted(p.stem.removesuffix(SUFFIX) for p in ROOT.glob(f"fuzz/*{SUFFIX}.cc"))
    names = options.names or targets
    if not names or set(names) - set(targets):
        unknown = ", ".join(sorted(set(names) - set(targets)))
        print(f"run_fuzz: unknown target {unknown}; targets are: {', '.join(targets) or 'none'}",
              file=sys.stderr)
        return 1
    passed = [run(name, options.build, options.seconds, options.seed) for name in names]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
