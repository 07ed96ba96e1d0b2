#!/usr/bin/env python3
"""Checks models/*.pml with Spin, and checks that Spin finds each seeded mistake of a model.

A model lists its seeded mistakes in a comment, as -DMISTAKE_X. Spin must report no error without
them and an error with each of them, which shows that the model can fail.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MODELS = Path(__file__).resolve().parent.parent / "models"
SKIPPED = 77
TIMEOUT_S = 60  # for one search; each model needs less than a second
MISTAKE = re.compile(r"-D(MISTAKE_[A-Z_]+)")
ERRORS = re.compile(r"errors: (\d+)")


def run(command: list[str], folder: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def errors_of(model: Path, mistake: str | None) -> tuple[int, str]:
    """The number of errors that Spin finds, and its output."""
    with tempfile.TemporaryDirectory() as folder:
        run(["spin", "-a", *([f"-D{mistake}"] if mistake else []), str(model)], folder)
        run(["gcc", "-O1", "-w", "-o", "pan", "pan.c"], folder)
        output = run(["./pan", "-a", "-m100000"], folder)
    found = ERRORS.search(output)
    if found is None or "max search depth too small" in output:
        raise RuntimeError(f"{model.name}: the search is incomplete:\n{output}")
    return int(found.group(1)), output


def check(model: Path) -> bool:
    count, output = errors_of(model, None)
    states = re.search(r"(\d+) states, stored", output)
    print(f"{model.name}: {count} errors in {states.group(1)} states")
    is_good = count == 0
    mistakes = sorted(set(MISTAKE.findall(model.read_text())))
    for mistake in mistakes:
        is_found = errors_of(model, mistake)[0] > 0
        print(f"{model.name}: {mistake} is {'found' if is_found else 'NOT FOUND'}")
        is_good = is_good and is_found
    return is_good and bool(mistakes)


def main() -> int:
    if shutil.which("spin") is None or shutil.which("gcc") is None:
        print("skipped: spin or gcc is not installed")
        return SKIPPED
    models = sorted(MODELS.glob("*.pml"))
    return 0 if models and all([check(model) for model in models]) else 1


if __name__ == "__main__":
    sys.exit(main())
