#!/usr/bin/env python3
"""The device files that programs see under `verbena run`, as an ordinary user: every path that a
device names exists, and the contents agree with the verbs.

usage: device_files_test.py LIBRARIES PROGRAMS; PROGRAMS is the folder of verbena, path_calls_check,
device_check and verbs_check_asan.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import container
from installed import Installed
from pairs import run_all

OURS = ("path_calls_check", "device_check", "verbs_check_asan")
DEVICE = "/sys/class/infiniband/verbena0"


def read(world: Installed, path: str, **options) -> str:
    return world.run("cat", path, **options).strip()


def field(output: str, name: str) -> str:
    found = re.search(rf"^\s*{name}:\s*(.*?)\s*$", output, re.MULTILINE)
    assert found, f"no {name} in\n{output}"
    return found[1]


def digits(guid: str) -> str:
    return re.sub("0x|:", "", guid)


def every_path_call_is_redirected(world: Installed) -> None:
    assert "every call is right" in world.run(world.folder / "path_calls_check")


def without_redirection_the_calls_find_nothing(world: Installed) -> None:
    """Shows that the previous test can fail."""
    if os.path.exists("/sys/class/infiniband"):
        return
    process = world.start(world.folder / "path_calls_check", options=("--device-files=off",))
    assert process.wait(20) == 1 and "wrong: open" in process.output(), process.output()


def the_files_agree_with_the_verbs(world: Installed) -> None:
    for look in ("roce", "ib"):
        output = world.run(world.folder / "device_check", options=(f"--link-layer={look}",))
        assert "all agree" in output, output


def in_a_container_the_files_agree_with_the_verbs(world: Installed) -> None:
    if not container.can_confine():
        return
    assert "all agree" in world.run(world.folder / "device_check", prepare=container.confine)
    assert "every call is right" in world.run(world.folder / "path_calls_check",
                                              prepare=container.confine)


def all_tools_report_the_same_values(world: Installed) -> None:
    """ibv_devinfo uses the verbs, ibstat reads through libibumad, ibstatus is a shell script."""
    for look, layer in (("roce", "Ethernet"), ("ib", "InfiniBand")):
        options = (f"--link-layer={look}",)
        verbs = world.run("ibv_devinfo", "-v", options=options)
        stat = world.run("ibstat", options=options)
        status = world.run("ibstatus", options=options)
        assert "CA 'verbena0'" in stat and "device 'verbena0' port 1" in status, stat + status
        assert digits(field(verbs, "node_guid")) == digits(field(stat, "Node GUID"))
        assert digits(field(verbs, "sys_image_guid")) == digits(field(stat, "System image GUID"))
        assert field(verbs, "fw_ver") == field(stat, "Firmware version")
        assert field(verbs, "link_layer") == field(stat, "Link layer") == layer
        assert field(status, "link_layer") == layer
        assert int(field(verbs, "port_lid")) == int(field(stat, "Base lid"))
        assert int(field(verbs, "port_lid")) == int(field(status, "base lid"), 16)
        assert "(4)" in field(verbs, "state") and field(stat, "State") == "Active"
        assert field(status, "state") == "4: ACTIVE"
        assert "(5)" in field(verbs, "phys_state") and field(stat, "Physical state") == "LinkUp"
        assert field(stat, "Rate") == "100" and field(status, "rate") == "100 Gb/sec (4X EDR)"
        first = field(status, "default gid")
        assert read(world, f"{DEVICE}/ports/1/gids/0", options=options) == first


def a_shell_walks_the_tree(world: Installed) -> None:
    output = world.run("sh", "-c", f"cd {DEVICE}/device && cat numa_node vendor && ls infiniband; "
                     "for d in /sys/class/infiniband_verbs/uverbs*; do cat $d/ibdev; done; "
                     "cd /dev/infiniband; test -c /dev/infiniband/uverbs0 && test -w uverbs0 && "
                     "echo yes")
    assert output.split() == ["-1", "0xfeed", "verbena0", "verbena0", "yes"], output


def the_files_can_be_disabled(world: Installed) -> None:
    if os.path.exists("/sys/class/infiniband"):
        return
    process = world.start("cat", f"{DEVICE}/node_type", options=("--device-files=off",))
    assert process.wait(20) == 1, process.output()


def a_program_built_with_asan_starts(world: Installed) -> None:
    """The runtime of ASan must be the first library."""
    process = world.start(world.folder / "verbs_check_asan")
    process.wait(20)
    assert "runtime does not come first" not in process.output(), process.output()
    assert "usage" in process.output(), process.output()


def without_a_writable_folder_the_program_runs(world: Installed) -> None:
    """The program runs without the files, with a warning that says why."""
    trap = world.folder / "trap"
    trap.mkdir()
    os.chmod(trap, 0o777)
    (trap / "verbena").symlink_to("/tmp")
    if os.getuid() == 0:
        shutil.chown(trap, "nobody")
    output = world.run("echo", "ran", XDG_RUNTIME_DIR=str(trap))
    assert "ran" in output and "only this user writes to" in output, output


TESTS = (every_path_call_is_redirected, without_redirection_the_calls_find_nothing,
         the_files_agree_with_the_verbs, in_a_container_the_files_agree_with_the_verbs,
         all_tools_report_the_same_values,
         a_shell_walks_the_tree, the_files_can_be_disabled, a_program_built_with_asan_starts,
         without_a_writable_folder_the_program_runs)


def main() -> int:
    libraries, programs = Path(sys.argv[1]), Path(sys.argv[2])
    with Installed(libraries, programs, *OURS) as world:
        return run_all(TESTS, world)


if __name__ == "__main__":
    sys.exit(main())
