#!/usr/bin/env python3
"""`cmake --install` installs everything: the command, the drop-in libraries in a folder of their
own, and the files to build a program on the C++ API.

usage: install_test.py BUILD_FOLDER
Exits with 77, which ctest counts as skipped, if pkg-config is not installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77

CONSUMER = """
#include <cstdio>
#include "verbena/verbena.h"
int main() {
  using namespace verbena;  // the library exports every name
  for (const char* name : {NameOf(AsyncEventType{}), NameOf(CompletionStatus{}), NameOf(Drop{}),
                           NameOf(CompletionOpcode{}), NameOf(SendDrop{}), NameOf(ErrorCode{}),
                           NameOf(QpState{}), NameOf(QpType{})}) std::puts(name);
  std::puts((ToString(*ParseIpAddress("127.0.0.1")) + ToString(DeviceCounters{})).c_str());
  const auto context = verbena::Context::Open();
  if (context) std::printf("port %d\\n", context->port());
  return context ? 0 : 1;
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(verbena REQUIRED)
add_executable(consumer consumer.cc)
target_compile_features(consumer PRIVATE cxx_std_20)
target_link_libraries(consumer PRIVATE verbena::verbena)
"""


def run(*command, **options) -> str:
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def check(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def check_files(prefix: Path, libraries: Path) -> None:
    private = libraries / "verbena"
    for path in (prefix / "bin/verbena", private / "libibverbs.so.1",
                 private / "libverbena-files.so", private / "libverbena-sockets.so",
                 libraries / "libverbena.so.0",
                 libraries / "libverbena.so", prefix / "include/verbena/verbena.h",
                 prefix / "share/man/man1/verbena.1.gz",
                 prefix / "share/man/man1/verbena-run.1.gz"):
        check(path.exists(), f"{path} is missing")
    check(not list(libraries.glob("libibverbs*")), "other programs would find this libibverbs")


def check_run(prefix: Path) -> None:
    """`verbena` finds the drop-in library, and no other program does."""
    environment = {"PATH": os.environ["PATH"]}
    verbena = prefix / "bin/verbena"
    check("verbena0" in run(verbena, "devices", env=environment), "no device")
    listed = run(verbena, "run", "--", "env", env=environment)
    folder = next(line for line in listed.splitlines() if line.startswith("LD_LIBRARY_PATH="))
    check(folder.endswith("/verbena"), folder)
    check("1: CA" in run(verbena, "run", "--", "cat", "/sys/class/infiniband/verbena0/node_type",
                         env=environment), "no files about the device")


def check_removed(build: Path, prefix: Path) -> None:
    run("cmake", "--build", build, "--target", "uninstall")
    left = [path for path in prefix.rglob("*verbena*")]
    check(not left, f"uninstall left {left}")


def check_consumer(prefix: Path, libraries: Path, folder: Path) -> None:
    source = folder / "consumer.cc"
    source.write_text(CONSUMER, encoding="utf-8")
    environment = dict(os.environ, PKG_CONFIG_PATH=str(libraries / "pkgconfig"),
                       LD_LIBRARY_PATH=str(libraries))
    flags = run("pkg-config", "--cflags", "--libs", "verbena", env=environment).split()
    run("c++", source, "-o", folder / "by_pkg_config", *flags)
    check("port" in run(folder / "by_pkg_config", env=environment), "with pkg-config: does not run")

    (folder / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "build")
    check("port" in run(folder / "build/consumer", env=environment), "with CMake: does not run")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if shutil.which("pkg-config") is None:
        print("pkg-config is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prefix = folder / "usr"
        run("cmake", "--install", sys.argv[1], "--prefix", prefix)
        libraries = next(prefix.glob("lib/**/libverbena.so")).parent
        check_files(prefix, libraries)
        check_run(prefix)
        check_consumer(prefix, libraries, folder)
        check_removed(Path(sys.argv[1]), prefix)
    print("installed, found and used")
    return 0


if __name__ == "__main__":
    sys.exit(main())
