#!/usr/bin/env python3
"""Programs linked with newer releases of rdma-core start on our library, and each call that those
releases added returns a result or EOPNOTSUPP.

usage: newer_nodes_test.py FOLDER PAGE COMPILER

FOLDER has our libibverbs.so.1, PAGE the table of its version nodes. The program is linked with a
stub library that has the nodes of a release. Exits with 77, which ctest counts as skipped, if
COMPILER does not work.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SKIPPED = 77

# Functions that every program uses, in nodes that all releases have.
COMMON = {"IBVERBS_1.1": ["ibv_get_device_list", "ibv_free_device_list", "ibv_open_device",
                          "ibv_close_device", "ibv_alloc_pd", "ibv_dealloc_pd", "ibv_dereg_mr"]}


class Release(NamedTuple):
    """A release of rdma-core: its number, its public nodes after 1.14, and its private node."""
    number: int
    public: tuple[str, ...]
    private: str


RELEASES = [
    Release(56, (), "IBVERBS_PRIVATE_34"),
    Release(58, (), "IBVERBS_PRIVATE_57"),
    Release(61, ("IBVERBS_1.15",), "IBVERBS_PRIVATE_59"),
    Release(63, ("IBVERBS_1.15", "IBVERBS_1.16"), "IBVERBS_PRIVATE_59"),
    Release(64, ("IBVERBS_1.15", "IBVERBS_1.16", "IBVERBS_1.17"), "IBVERBS_PRIVATE_64"),
    Release(65, ("IBVERBS_1.15", "IBVERBS_1.16", "IBVERBS_1.17", "IBVERBS_1.18"),
            "IBVERBS_PRIVATE_65"),
]

# C code that checks the calls of a node. Uses `pd`, `context` and `memory` of the program.
CALLS = {
    "IBVERBS_1.15": """
  struct { size_t length; int access; uint64_t mask, iova; void *addr; int fd; uint64_t offset;
           void *dmah, *buf; } attr = {4096, 7, 2, 0, memory, -1, 0, 0, 0};
  void *mr = ibv_reg_mr_ex(pd, &attr);
  EXPECT(mr != 0 && ibv_dereg_mr(mr) == 0);
  errno = 0;
  EXPECT(ibv_alloc_dmah(context, memory) == 0 && errno == EOPNOTSUPP);
  EXPECT(ibv_dealloc_dmah(memory) == EOPNOTSUPP);
""",
    "IBVERBS_1.16": """
  uint64_t speed = 0;
  EXPECT(ibv_query_port_speed(context, 1, &speed) == 0 && speed == 1000);
  errno = 0;
  EXPECT(ibv_dm_export_dmabuf_fd(memory) == -1 && errno == EOPNOTSUPP);
""",
    "IBVERBS_1.17": """
  void *buf = 0;
  char *bytes = ibv_alloc_buf(pd, 10000, &buf);
  EXPECT(bytes != 0 && buf != 0);
  memset(bytes, 1, 10000);
  void *region = ibv_reg_buf_mr(pd, buf, bytes, 10000, 7);
  EXPECT(region != 0 && ibv_dereg_mr(region) == 0);
  ibv_free_buf(buf);
""",
    "IBVERBS_1.18": """
  uint64_t value = 0;
  EXPECT(_ibv_query_comp_cntr_caps(context, memory, 8) == EOPNOTSUPP);
  errno = 0;
  EXPECT(ibv_create_comp_cntr(context, memory) == 0 && errno == EOPNOTSUPP);
  EXPECT(ibv_destroy_comp_cntr(memory) == EOPNOTSUPP);
  EXPECT(ibv_set_comp_cntr(memory, 1) == EOPNOTSUPP);
  EXPECT(ibv_set_err_comp_cntr(memory, 1) == EOPNOTSUPP);
  EXPECT(ibv_inc_comp_cntr(memory, 1) == EOPNOTSUPP);
  EXPECT(ibv_inc_err_comp_cntr(memory, 1) == EOPNOTSUPP);
  EXPECT(ibv_read_comp_cntr(memory, &value) == EOPNOTSUPP);
  EXPECT(ibv_read_err_comp_cntr(memory, &value) == EOPNOTSUPP);
  EXPECT(ibv_qp_attach_comp_cntr(memory, memory, memory) == EOPNOTSUPP);
  errno = 0;
  EXPECT(ibv_export_buf_dmabuf_fd(memory) == -1 && errno == EOPNOTSUPP);
""",
}

PROTOTYPES = """
void **ibv_get_device_list(int *);
void ibv_free_device_list(void **);
void *ibv_open_device(void *);
int ibv_close_device(void *);
void *ibv_alloc_pd(void *);
int ibv_dealloc_pd(void *);
int ibv_dereg_mr(void *);
void *ibv_reg_mr_ex(void *, void *);
void *ibv_alloc_dmah(void *, void *);
int ibv_dealloc_dmah(void *);
int ibv_query_port_speed(void *, uint32_t, uint64_t *);
int ibv_dm_export_dmabuf_fd(void *);
void *ibv_alloc_buf(void *, size_t, void **);
void ibv_free_buf(void *);
void *ibv_reg_buf_mr(void *, void *, void *, size_t, int);
int _ibv_query_comp_cntr_caps(void *, void *, size_t);
void *ibv_create_comp_cntr(void *, void *);
int ibv_destroy_comp_cntr(void *);
int ibv_set_comp_cntr(void *, uint64_t);
int ibv_set_err_comp_cntr(void *, uint64_t);
int ibv_inc_comp_cntr(void *, uint64_t);
int ibv_inc_err_comp_cntr(void *, uint64_t);
int ibv_read_comp_cntr(void *, uint64_t *);
int ibv_read_err_comp_cntr(void *, uint64_t *);
int ibv_qp_attach_comp_cntr(void *, void *, void *);
int ibv_export_buf_dmabuf_fd(void *);
int ibv_query_gid_type(void *, uint8_t, unsigned, unsigned *);
"""


def private_names(page: str, node: str) -> list[str]:
    """The names that the page lists for the node and for those before it."""
    names: set[str] = {"ibv_query_gid_type", "ibv_cmd_alloc_pd", "verbs_set_ops",
                       "verbs_allow_disassociate_destroy"}
    for row, added in re.findall(r"^\| `(IBVERBS_PRIVATE_\d+)` \|[^|]*\|([^|]*)\|", page, re.M):
        names = {name for name in names if not name.startswith("verbs_register_driver")}
        names |= set(re.findall(r"`(\w+)`", added))
        if row == node:
            return sorted(names)
    raise ValueError(f"the page has no {node}")


def stub(release: Release, private: list[str]) -> tuple[str, str]:
    """The source of a library with the release's nodes, and its version script."""
    nodes = {**COMMON, **{node: re.findall(r"\b_?ibv_\w+(?=\()", CALLS[node])
                          for node in release.public}, release.private: private}
    seen: set[str] = set()
    script, source = "", ""
    for node, names in nodes.items():
        mine = sorted(set(names) - seen)
        seen |= set(mine)
        script += f"{node} {{ global: {' '.join(name + ';' for name in mine)} }};\n"
        source += "".join(f"void {name}(void) {{}}\n" for name in mine)
    return source, script


def program(release: Release, private: list[str]) -> str:
    others = [name for name in private if name != "ibv_query_gid_type"]
    refused = [name for name in others if name.startswith("ibv_cmd_")]
    declared = "".join(f"extern char {name}[];\n" for name in others)
    return f"""#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
{PROTOTYPES}{declared}
#define EXPECT(what) if (!(what)) return printf("failed: %s\\n", #what), 1
static char memory[8192];
int main(void) {{
  char *present[] = {{{", ".join(others)}}};
  for (unsigned i = 0; i < sizeof present / sizeof *present; ++i) EXPECT(present[i] != 0);
  char *refused[] = {{{", ".join(refused)}}};
  for (unsigned i = 0; i < sizeof refused / sizeof *refused; ++i) {{
    int answer = ((int (*)(void))refused[i])();
    EXPECT(answer == EOPNOTSUPP || (answer == -1 && errno == EOPNOTSUPP));
  }}
  void **list = ibv_get_device_list(0);
  EXPECT(list != 0 && list[0] != 0);
  void *context = ibv_open_device(list[0]);
  EXPECT(context != 0);
  ibv_free_device_list(list);
  void *pd = ibv_alloc_pd(context);
  EXPECT(pd != 0);
  unsigned type = 7;
  EXPECT(ibv_query_gid_type(context, 1, 0, &type) == 0 && type == 1);
{"".join(CALLS[node] for node in release.public)}
  EXPECT(ibv_dealloc_pd(pd) == 0);
  EXPECT(ibv_close_device(context) == 0);
  return 0;
}}
"""


def build(compiler: str, folder: Path, release: Release, private: list[str]) -> None:
    source, script = stub(release, private)
    (folder / "stub.c").write_text(source, encoding="utf-8")
    (folder / "stub.map").write_text(script, encoding="utf-8")
    (folder / "program.c").write_text(program(release, private), encoding="utf-8")
    subprocess.run([compiler, "-x", "c", "-w", "-shared", "-fPIC", "stub.c",
                    "-Wl,-soname,libibverbs.so.1", "-Wl,--version-script=stub.map", "-o",
                    "libibverbs.so"], cwd=folder, check=True)
    subprocess.run([compiler, "-x", "c", "-w", "-fPIC", "-pie", "program.c", "-x", "none",
                    "./libibverbs.so", "-Wl,-z,now", "-o", "program"], cwd=folder, check=True)


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    ours, page, compiler = sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8"), sys.argv[3]
    failed = 0
    for release in RELEASES:
        with tempfile.TemporaryDirectory() as name:
            private = private_names(page, release.private)
            try:
                build(compiler, Path(name), release, private)
            except (OSError, subprocess.CalledProcessError) as reason:
                print(f"newer_nodes_test.py: Skipped\n{reason}")
                return SKIPPED
            settings = {**os.environ, "LD_LIBRARY_PATH": ours, "VERBENA_LOG": "error"}
            done = subprocess.run([f"{name}/program"], text=True, capture_output=True, timeout=60,
                                  env=settings, check=False)
        print(f"linked with rdma-core {release.number}, {len(private)} private names: "
              f"{'runs' if done.returncode == 0 else 'FAILED'} {done.stdout}{done.stderr}".strip())
        failed += done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
