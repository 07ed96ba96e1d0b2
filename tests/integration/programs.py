"""Unmodified programs with options that work: each case is a server and a client."""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """Both ends run `program options`; the client's command line ends with the server's address."""
    program: str
    options: tuple[str, ...]
    fixed: tuple[str, ...] = ()        # options that keep the test short; not on the page
    expect: str = ""                   # a regular expression that must match the client's output
    checks: str = "exit codes"         # what the test checks, for the page
    port_option: str = "-p"
    needs_ib: bool = False              # needs an InfiniBand device
    asks: tuple[str, ...] = field(default=())  # qperf: the test that the client requests

    @property
    def name(self) -> str:
        return " ".join((self.program,) + self.options + self.asks)

    @property
    def is_reliable(self) -> bool:
        """Whether the case succeeds even if a socket overflows while it waits for a processor."""
        return re.search(r"(?i)\b(uc|ud)(\b|_)|_u[cd]_", self.name) is None


def pingpong(kind: str, *options: str, iterations: int = 50, fixed: tuple[str, ...] = ()) -> Case:
    looks = "-c" in options and kind != "xsrq"
    return Case(f"ibv_{kind}_pingpong", options, ("-g", "0", "-n", str(iterations), *fixed),
                expect="iters in" if kind != "xsrq" else "",
                checks="exit codes; one byte per page, by the program" if looks else "exit codes")


def perftest(test: str, *options: str, iterations: int = 20, rows: int = 1) -> Case:
    count = () if "-D" in options else ("-n", str(iterations))
    return Case(f"ib_{test}", options, ("-F", *count),
                expect=rf"(?s)#bytes.*?\n(\s*\d+\s+\d+.*?\n){{{rows}}}",
                checks="exit codes; a result line for each size")


def qperf(test: str, *options: str) -> Case:
    return Case("qperf", options, ("-t", "1"), expect=rf"(?s){test}:.*=", port_option="-lp",
                checks="exit codes; a result", needs_ib=True, asks=(test,))


def pingpongs() -> list[Case]:
    cases = [pingpong("rc", *options) for options in
             ((), ("-c",), ("-e",), ("-c", "-e"), ("-N",), ("-c", "-N"), ("-c", "-o"),
              ("-c", "-o", "-P"), ("-c", "-O"), ("-t",), ("-c", "-t"), ("-c", "-j"))]
    cases += [pingpong("rc", "-c", "-m", str(mtu)) for mtu in (256, 512, 1024, 2048, 4096)]
    cases += [pingpong("rc", "-c", "-s", str(size)) for size in (1, 4095, 65536)]
    cases += [pingpong("rc", "-c", "-s", str(size), iterations=4, fixed=("-r", "4"))
              for size in (1 << 20, 16 << 20)]
    cases += [pingpong("uc", *options) for options in
              ((), ("-c",), ("-c", "-e"), ("-c", "-s", "65536"))]
    cases += [pingpong("ud", *options) for options in ((), ("-c",), ("-c", "-e"), ("-s", "1"))]
    cases += [pingpong("srq", *options) for options in
              ((), ("-c",), ("-c", "-e"), ("-c", "-o"), ("-c", "-q", "1"))]
    cases += [pingpong("xsrq", *options) for options in ((), ("-e",), ("-o",), ("-s", "65536"))]
    return cases


def perftests() -> list[Case]:
    all_sizes = 23
    cases = [perftest(test, "-a", iterations=5, rows=all_sizes)
             for test in ("send_bw", "write_bw", "read_bw", "write_lat")]
    cases += [perftest(test) for test in ("send_lat", "read_lat")]
    cases += [perftest(f"{test}_bw", *options) for test in ("send", "write", "read")
              for options in (("-b",), ("-q", "16"), ("--odp",), ("--mr_per_qp", "-q", "4"),
                              ("--use_old_post_send",))]
    cases += [perftest(f"{test}_bw", "-l", "8", iterations=40)
              for test in ("send", "write", "read")]
    cases += [perftest(f"{test}_{what}", "-e") for test in ("send", "read")
              for what in ("bw", "lat")]
    cases += [perftest(f"{test}_{what}", "-c", "UC") for test in ("send", "write")
              for what in ("bw", "lat")]
    cases += [perftest(f"send_{what}", "-c", "UD", *more) for what in ("bw", "lat")
              for more in ((), ("-e",))]
    cases += [perftest(f"{test}_{what}", "-c", "XRC") for test in ("send", "write", "read")
              for what in ("bw", "lat")]
    cases += [perftest("send_bw", "--use-srq", "-q", "4"), perftest("send_lat", "--use-srq")]
    cases += [perftest(f"{test}_{what}", "--inline_size", "64", "-s", "64")
              for test in ("send", "write") for what in ("bw", "lat")]
    cases += [perftest(f"atomic_{what}", "-A", kind) for what in ("bw", "lat")
              for kind in ("CMP_AND_SWAP", "FETCH_AND_ADD")]
    cases += [perftest("atomic_bw", "-q", "16"), perftest("write_bw", "-b", "-q", "16"),
              perftest("write_bw", "-D", "1"), perftest("send_bw", "-m", "256")]
    return cases


def qperfs() -> list[Case]:
    cases = [qperf(test) for test in
             ("rc_lat", "rc_bw", "rc_bi_bw", "rc_rdma_read_lat", "rc_rdma_read_bw",
              "rc_rdma_write_lat", "rc_rdma_write_bw", "rc_rdma_write_poll_lat",
              "rc_compare_swap_mr", "rc_fetch_add_mr", "ver_rc_compare_swap",
              "ver_rc_fetch_add", "uc_lat", "uc_bw", "ud_lat")]
    # By default ud_bw sends datagrams of 2 KiB, which a port with an MTU of 1,500 bytes refuses.
    return [*cases, qperf("ud_bw", "-m", "1K")]


def all_cases() -> list[Case]:
    return pingpongs() + perftests() + qperfs()
