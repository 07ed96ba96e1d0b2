#!/usr/bin/env python3
"""The Debian packages: their contents, dependencies and lintian warnings. Installed in a clean
system they work, and purging them leaves nothing behind.

usage: package_test.py BUILD_FOLDER [--debootstrap]

Installs them in an overlay of this system: all changes go to a tmpfs. With --debootstrap, installs
them in a minimal Debian, which takes minutes to download.
Exits with 77, which ctest counts as skipped, if it has not the rights for that.
"""

import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
PACKAGES = ("libverbena0", "libverbena-dev", "verbena")
TRIPLET = "x86_64-linux-gnu"

CONTENTS = {
    "libverbena0": [f"usr/lib/{TRIPLET}/libverbena.so.0", f"usr/lib/{TRIPLET}/libverbena.so.0.1.0"],
    "libverbena-dev": [f"usr/lib/{TRIPLET}/libverbena.so", "usr/include/verbena/verbena.h",
                       f"usr/lib/{TRIPLET}/pkgconfig/verbena.pc",
                       f"usr/lib/{TRIPLET}/cmake/verbena/verbena-config.cmake"],
    "verbena": ["usr/bin/verbena", "usr/bin/verbena-sim",
                f"usr/lib/{TRIPLET}/verbena/libibverbs.so.1",
                f"usr/lib/{TRIPLET}/verbena/libverbena-files.so",
                f"usr/lib/{TRIPLET}/verbena/libverbena-sockets.so",
                "usr/share/bash-completion/completions/verbena",
                *(f"usr/share/man/man1/verbena{of}.1.gz"
                  for of in ("", "-run", "-devices", "-ping", "-bench", "-sim"))],
}

# Installs, uses and purges the packages, in the root of the clean system. $1: their folder.
SCRIPT = r"""
set -e
mount -t proc proc /proc 2>/dev/null || true
ip link set lo up 2>/dev/null || true
! command -v verbena
dpkg --install "$1"/*.deb >/dev/null
verbena --version
verbena ping --self -n 20
test "$(verbena run -- cat /sys/class/infiniband/verbena0/node_type)" = "1: CA"
bash -c 'source /usr/share/bash-completion/completions/verbena
         COMP_WORDS=(verbena ru) COMP_CWORD=1; _verbena; test "${COMPREPLY[*]}" = run
         COMP_WORDS=(verbena run --memory-budget-) COMP_CWORD=2; _verbena
         test "${COMPREPLY[*]}" = --memory-budget-strict'
if command -v c++ >/dev/null; then
  cd "$(mktemp -d)"
  echo '#include <verbena/verbena.h>' >program.cc
  echo 'int main() { return !verbena::Context::Open(); }' >>program.cc
  c++ -std=c++20 program.cc -lverbena -o program
  ./program
fi
dpkg --purge libverbena-dev verbena libverbena0 >/dev/null
test -z "$(find /usr -name '*verbena*' -not -path '/usr/src/*' -newer "$1")"
echo installed, used and removed
"""


def check(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def run(*command, **options) -> str:
    done = subprocess.run([str(word) for word in command], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    check(done.returncode == 0, f"{command[0]}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def make_packages(build: Path, folder: Path) -> dict[str, Path]:
    run("cpack", "-G", "DEB", "-B", folder, cwd=build)
    found = {name: list(folder.glob(f"{name}_*.deb")) for name in PACKAGES}
    for name, files in found.items():
        check(len(files) == 1, f"{name}: {files}")
    return {name: files[0] for name, files in found.items()}


def check_contents(packages: dict[str, Path]) -> None:
    for name, package in packages.items():
        files = {line.split()[5].removeprefix("./")
                 for line in run("dpkg-deb", "--contents", package).splitlines()}
        for path in (*CONTENTS[name], f"usr/share/doc/{name}/copyright",
                     f"usr/share/doc/{name}/changelog.gz"):
            check(path in files, f"{name} has no {path}")
    needs = run("dpkg-deb", "--field", packages["libverbena-dev"], "Depends")
    check("libverbena0 (= " in needs and "libexpected-dev" in needs, f"-dev needs {needs}")
    check("libc6" in run("dpkg-deb", "--field", packages["verbena"], "Depends"), "shlibs")


def check_readme(packages: dict[str, Path]) -> None:
    """The command line in README.md installs the package of `verbena` and those that it needs."""
    readme = Path(__file__).resolve().parents[2] / "README.md"
    line = next(line for line in readme.read_text().splitlines() if "apt-get install ./" in line)
    patterns = [Path(word).name for word in line.split() if word.startswith("./build/")]
    named = [name for pattern in patterns for name, package in packages.items()
             if fnmatch.fnmatch(package.name, pattern)]
    check(sorted(named) == ["libverbena0", "verbena"], f"README.md installs {named}: {line}")


def check_lintian(packages: dict[str, Path]) -> None:
    if shutil.which("lintian") is None:
        print("lintian is not installed: check skipped")
        return
    output = run("lintian", "--allow-root", "--fail-on", "error,warning", *packages.values())
    print(f"lintian: {output.strip() or 'nothing to say'}")


def install_over_this(folder: Path, packages: Path) -> None:
    """Installs in a chroot on an overlay of this system's files; changes go to a tmpfs."""
    over = r"""
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
mount -t proc proc "$1/root/proc"
mount --bind /dev "$1/root/dev"
mount --bind /sys "$1/root/sys"
mkdir "$1/root/packages" && cp "$2"/*.deb "$1/root/packages/"
touch "$1/root/packages"
exec chroot "$1/root" bash -c "$3" script /packages
"""
    print(run("unshare", "--mount", "--net", "bash", "-c", over, "over", folder, packages,
              SCRIPT).strip())


def install_in_minimal(folder: Path, packages: Path) -> None:
    root = folder / "root"
    run("debootstrap", "--variant=minbase", "--include=iproute2,libisal2,liburing2,liblz4-1,"
        "libexpected-dev,libstdc++6", "bookworm", root)
    (root / "packages").mkdir()
    for package in packages.glob("*.deb"):
        shutil.copy(package, root / "packages")
    print(run("unshare", "--mount", "--net", "chroot", root, "bash", "-c", SCRIPT, "script",
              "/packages").strip())


def may_mount(folder: Path) -> bool:
    tried = subprocess.run(["unshare", "--mount", "--net", "mount", "-t", "tmpfs", "tmpfs",
                            str(folder)], check=False, capture_output=True)
    return os.geteuid() == 0 and tried.returncode == 0


def main() -> int:
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--debootstrap"]):
        print(__doc__, file=sys.stderr)
        return 2
    if shutil.which("dpkg-shlibdeps") is None:
        print("dpkg-shlibdeps is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        made, place = Path(name) / "made", Path(name) / "place"
        place.mkdir()
        packages = make_packages(Path(sys.argv[1]), made)
        check_contents(packages)
        check_readme(packages)
        check_lintian(packages)
        if not may_mount(place):
            print("no right to mount: the packages were built, but not installed")
            return SKIPPED
        (install_in_minimal if sys.argv[2:] else install_over_this)(place, made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
