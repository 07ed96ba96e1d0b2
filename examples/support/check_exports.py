#!/usr/bin/env python3
"""Holds libverbena.so to the API: nothing else of it can be seen."""

import re
import subprocess
import sys

# A function of the API, or a member of one of its classes; the layers inside are in lower case.
API = re.compile(r"verbena::(?:(?:NameOf|ToString|ParseIpAddress|ListDevices|SourceAddressFor"
                 r"|BackendOf)\b|[A-Z]\w+::)|verbena_cache_\w+$")


def main() -> int:
    lines = subprocess.run(["nm", "-DC", "--defined-only", sys.argv[1]], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    # "address type name"
    names = [line.split(maxsplit=2)[2] for line in lines]
    foreign = [name for name in names if not API.match(name)]
    for name in foreign:
        print(f"not of the API: {name}")
    if not names:
        print("nothing at all can be seen")
    return 1 if foreign or not names else 0


if __name__ == "__main__":
    sys.exit(main())
