"""Debian's perftest on Verbena (`verbena run`), compared with qperf over TCP and UDP."""

import re

PORT = 18515
BANDWIDTH = ("-s", 1 << 20, "-n", 300)
# Few, because on a busy machine each round trip of ib_write_lat waits for the scheduler: it reads
# its memory instead of polling a CQ, so the progress thread needs the processor.
LATENCY = ("-s", 64, "-n", 1000)
COLUMN = re.compile(r"#\w+|[^\s\[]+(?: [^\s\[]+)?\[[^\]]+\]")

WRITE_BW = "ib_write_bw, 1 MiB, MiB/s"
READ_BW = "ib_read_bw, 1 MiB, MiB/s"
TCP_BW = "qperf tcp_bw, 1 MiB, MiB/s"
WRITE_LAT = "ib_write_lat, 64 bytes, round trip, us"
SEND_LAT = "ib_send_lat, 64 bytes, round trip, us"
TCP_LAT = "qperf tcp_lat, 64 bytes, round trip, us"
UDP_LAT = "qperf udp_lat, 64 bytes, round trip, us"

COMPARED = {
    "bandwidth of ib_write_bw / TCP": (WRITE_BW, TCP_BW),
    "bandwidth of ib_read_bw / TCP": (READ_BW, TCP_BW),
    "latency of ib_write_lat / TCP": (WRITE_LAT, TCP_LAT),
    "latency of ib_write_lat / UDP": (WRITE_LAT, UDP_LAT),
    "latency of ib_send_lat / TCP": (SEND_LAT, TCP_LAT),
    "latency of ib_send_lat / UDP": (SEND_LAT, UDP_LAT),
}


def figure(output: str, column: str) -> float:
    """The figure in the result line below this column heading."""
    heading, row = re.search(r"^ *(#bytes.*)\n(.*)$", output, re.MULTILINE).groups()
    return float(row.split()[COLUMN.findall(heading).index(column)])


def command(peers, port: int, test: str, *options) -> list:
    """The command line of the server; that of the client ends with the host."""
    return [peers.programs / "verbena", "run", "--", test, "-F", "-p", port, *options]


def output(peers, port: int, test: str, *options, timeout: float) -> str | None:
    """The output of the client; None if it does not end in time."""
    words = command(peers, port, test, *options)
    with peers.listening(port, *words):
        return peers.try_ask(peers.here, *words, peers.host, timeout=timeout)


def run(peers, test: str, options, column: str) -> float | None:
    printed = output(peers, PORT, test, *options, timeout=15)
    return None if printed is None else figure(printed, column)


def measure(peers) -> dict[str, float | None]:
    """Runs them as users do: the scheduler places them, like those of qperf."""
    def bandwidth(test):  # perftest means MiB when it says MB
        return run(peers, test, BANDWIDTH, "BW average[MB/sec]")

    def round_trip(test):
        half = run(peers, test, LATENCY, "t_typical[usec]")
        return half and 2 * half

    return {
        WRITE_BW: bandwidth("ib_write_bw"),
        READ_BW: bandwidth("ib_read_bw"),
        TCP_BW: peers.qperf("tcp_bw", "1M"),
        WRITE_LAT: round_trip("ib_write_lat"),
        SEND_LAT: round_trip("ib_send_lat"),
        TCP_LAT: 2 * peers.qperf("tcp_lat", "64"),
        UDP_LAT: 2 * peers.qperf("udp_lat", "64"),
    }


def ratios(found: dict) -> dict[str, float]:
    return {name: found[ours] / found[other] for name, (ours, other) in COMPARED.items()
            if found[ours] and found[other]}
