"""The source files of the project: tracked by git, or new and not ignored."""

import os
import subprocess
from pathlib import Path

CPP = (".h", ".cc")


def files(root: Path, *suffixes: str) -> list[Path]:
    """Paths relative to root, sorted, of the files with one of these suffixes."""
    found = _from_git(root) if (root / ".git").exists() else None
    if found is None:
        found = _from_disk(root)
    return sorted(p for p in found if p.suffix in suffixes and (root / p).is_file())


def _from_git(root: Path) -> set[Path] | None:
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-coz", "--exclude-standard"],
        capture_output=True, text=True, check=False)
    if listing.returncode != 0:  # git is missing, or refuses a checkout owned by another user
        return None
    return {Path(name) for name in listing.stdout.split("\0") if name}


def _from_disk(root: Path) -> set[Path]:
    found = set()
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [s for s in subfolders if s != "build" and not s.startswith(".")]
        found.update(Path(folder, name).relative_to(root) for name in names)
    return found
