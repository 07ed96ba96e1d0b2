"""Unmodified programs on librdmacm with options that work: each case is a server and one or more
clients."""

from dataclasses import dataclass

ADDRESS = "127.0.0.1"
PORT = "{port}"  # replaced by the port of the case
FIXED_PORT = 7174  # of programs without a port option


@dataclass(frozen=True)
class CmCase:
    """`server` and `client` are command lines; `shown` is the text on the page."""
    server: tuple[str, ...]
    client: tuple[str, ...]
    shown: str
    expect: str = ""                # a regular expression that must match the client's output
    expect_server: str = ""         # a regular expression for the server's output
    checks: str = "exit codes"      # what the test checks, for the page
    port_space: str = "tcp"         # of the server's port; "sockets": a port of TCP itself;
                                    # "sctp": of SCTP in UDP
    fixed_port: bool = False        # runs alone
    clients: int = 1                # in parallel
    server_ends: bool = True        # without being killed
    needs_ib: bool = False           # needs an InfiniBand device
    quit: tuple[str, ...] = ()      # a command that ends the server
    can_lose: bool = False          # datagrams are lost when a socket overflows
    rejections_max: int = 0         # after which it is run again

    @property
    def program(self) -> str:
        return self.server[0]

    @property
    def title(self) -> str:
        """The program that the case tests: the client, unless a shell runs it."""
        return self.client[0] if self.client[0] != "sh" else self.server[0]

    @property
    def name(self) -> str:
        return f"{self.title} {self.shown}".strip()


def rping(*options: str, address: str = ADDRESS, server_address: str = "", **more) -> CmCase:
    server = [option for option in options if option != "-I"]
    client = [word for option in options
              for word in (("-I", address) if option == "-I" else (option,))]
    end = ("-p", PORT, "-C", "10")
    return CmCase(("rping", "-s", "-a", server_address or address, *server, *end),
                  ("rping", "-c", "-a", address, *client, *end),
                  shown=" ".join((*options, *(("-a", address) if address != ADDRESS else ()))),
                  checks=("exit codes; every byte, by the program" if "-V" in options
                          else "exit codes"),
                  **more)


def rping_persistent() -> CmCase:
    return CmCase(("rping", "-s", "-P", "-V", "-a", ADDRESS, "-p", PORT),
                  ("rping", "-c", "-V", "-a", ADDRESS, "-p", PORT, "-C", "20"),
                  shown="-V, six at once to a server with -P", clients=6, server_ends=False,
                  checks="exit codes of the clients; every byte, by the program")


def rpings() -> list[CmCase]:
    data = r"ping data: rdma-ping-9: "
    cases = [rping("-V", *options) for options in
             ((), ("-d",), ("-S", "64"), ("-S", "65535"), ("-q",), ("-I",))]
    cases += [rping("-v", "-V", expect=data),
              rping("-V", address="::1"), rping("-V", address="::1", server_address="::"),
              rping_persistent()]
    return cases


def ucmatose(*options: str, port_space: str = "tcp") -> CmCase:
    good = r"(?s)data transfers complete.*test complete\nreturn status 0"
    return CmCase(("ucmatose", "-b", ADDRESS, "-p", PORT, *options),
                  ("ucmatose", "-s", ADDRESS, "-p", PORT, *options), shown=" ".join(options),
                  expect=good, expect_server=good, port_space=port_space,
                  checks="exit codes; all messages arrived")


def udaddy(*options: str) -> CmCase:
    good = r"(?s)data transfers complete.*test complete\nreturn status 0"
    return CmCase(("udaddy", "-b", ADDRESS, *options), ("udaddy", "-s", ADDRESS, *options),
                  shown=" ".join(options), expect=good, expect_server=good, port_space="udp",
                  fixed_port=True, can_lose=True,
                  checks="exit codes; all messages arrived")


def mckey(*options: str) -> CmCase:
    good = r"(?s)data transfers complete.*test complete\nreturn status 0"
    end = ("mckey", "-m", "239.0.1.7", "-b", ADDRESS, *options)
    return CmCase(end, (*end, "-s"), shown=" ".join(("-m", "239.0.1.7", *options)), expect=good,
                  expect_server=good, port_space="", fixed_port=True, can_lose=True,
                  checks="exit codes; all messages arrived")


def examples() -> list[CmCase]:
    cases = [ucmatose(*options) for options in
             ((), ("-c", "10"), ("-C", "100", "-S", "4096"), ("-m",), ("-t", "32"), ("-a", "12"),
              ("-f", "ip"))]
    cases += [ucmatose("-P", "ib", port_space="ib")]
    cases += [udaddy(*options) for options in ((), ("-c", "4"), ("-C", "5", "-S", "512"))]
    cases += [mckey(*options) for options in ((), ("-c", "4"))]
    end = ("-p", PORT)
    cases += [CmCase(("rdma_server", *end), ("rdma_client", "-s", ADDRESS, *end), shown="",
                     expect="rdma_client: end 0", expect_server="rdma_server: end 0")]
    cases += [CmCase(("rdma_xserver", *end, "-c", kind),
                     ("rdma_xclient", "-s", ADDRESS, *end, "-c", kind), shown=f"-c {kind}",
                     expect="end 0", expect_server="end 0",
                     port_space="ib" if kind == "x" else "tcp") for kind in ("r", "x")]
    cases += [CmCase(("cmtime", "-b", ADDRESS, *end, "-c", count),
                     ("cmtime", "-s", ADDRESS, *end, "-c", count), shown=f"-c {count}",
                     expect=r"(?m)^connect\s*:\s+\d", server_ends=False,
                     checks="exit code of the client; a table of times")
              for count in ("1", "100")]
    return cases


def perftest(test: str, *options: str, rows: int = 1) -> CmCase:
    command = (f"ib_{test}", "-R", *options, "-F", "-p", PORT, "-n", "20" if rows == 1 else "5")
    return CmCase(command, (*command, ADDRESS), shown=" ".join(("-R", *options)),
                  expect=rf"(?s)#bytes.*?\n(\s*\d+\s+\d+.*?\n){{{rows}}}",
                  checks="exit codes; a result line for each size",
                  can_lose="UD" in options)


def perftests() -> list[CmCase]:
    kinds = ("bw", "lat")
    cases = [perftest(f"{test}_{kind}") for test in ("send", "write", "read", "atomic")
             for kind in kinds]
    cases += [perftest(f"send_{kind}", "-c", "UD") for kind in kinds]
    cases += [perftest("send_bw", "-a", rows=23), perftest("write_bw", "-q", "4"),
              perftest("read_bw", "-q", "4"), perftest("write_bw", "-b"),
              perftest("send_bw", "-T", "32")]
    return cases


def qperf(test: str, *options: str) -> CmCase:
    port = ("-lp", PORT)
    return CmCase(("qperf", *port), ("qperf", ADDRESS, *port, "-t", "1", "-cm1", *options, test),
                  shown=" ".join(("-cm1", *options, test)), expect=rf"(?s){test}:.*=",
                  checks="exit codes; a result", port_space="sockets",
                  quit=("qperf", ADDRESS, *port, "quit"))


def qperfs() -> list[CmCase]:
    return [qperf(test) for test in
            ("rc_lat", "rc_bw", "rc_bi_bw", "rc_rdma_read_lat", "rc_rdma_read_bw",
             "rc_rdma_write_lat", "rc_rdma_write_bw", "rc_rdma_write_poll_lat")]


def stream(program: str, *options: str, address: str = ADDRESS) -> CmCase:
    size = ("-S", "30000", "-C", "20", "-I", "10", "-p", PORT)
    shown = (*options, *(("-s", address) if address != ADDRESS else ()))
    verified = "v" in options  # of -T v
    return CmCase((program, "-b", address, *size, *options),
                  (program, "-s", address, *size, *options), shown=" ".join(shown),
                  expect=r"(?m)^custom\s+29k\s.*\d$",
                  checks="exit codes; every byte, by the program" if verified else
                         "exit codes; a result line")


def rcopy() -> CmCase:
    copy = ("head -c 5000000 /dev/urandom >source && "
            f"rcopy source {ADDRESS}:copy -p {PORT} && cmp source copy")
    return CmCase(("rcopy", "-p", PORT), ("sh", "-c", copy), shown="source 127.0.0.1:copy",
                  server_ends=False, checks="exit code of the client; the file")


def udpong(*options: str) -> CmCase:
    end = ("-S", "1000", "-C", "100", "-p", PORT, *options)
    return CmCase(("udpong", "-b", ADDRESS, *end), ("udpong", "-s", ADDRESS, *end),
                  shown=" ".join(options), expect=r"(?m)\d\s*$", port_space="", server_ends=False,
                  can_lose=True, checks="exit code of the client; a result line")


def rsockets() -> list[CmCase]:
    cases = [stream(program, *(word for option in options for word in ("-T", option)))
             for program in ("rstream", "riostream")
             for options in ((), ("b",), ("n",), ("a",), ("v",), ("b", "v"))]
    cases += [stream("rstream", "-T", "r"), stream("rstream", "-T", "v", address="::1"), rcopy()]
    cases += [udpong(*options) for options in ((), ("-T", "b"), ("-T", "a"), ("-T", "e"))]
    return cases


def all_cases() -> list[CmCase]:
    return rpings() + examples() + rsockets() + perftests() + qperfs()
