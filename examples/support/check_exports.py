#!/usr/bin/env python3
"""Checks that libverbena.so exports the API and nothing else."""

import re
import subprocess
import sys

# A function of the API, or a member of one of its classes. Namespaces of layers are in lower case.
API = re.compile(r"verbena::(?:(?:NameOf|ToString|ParseIpAddress|ListDevices|SourceAddressFor"
                 r"|BackendOf|ToBytes|ParseBufferNotice)\b|[A-Z]\w+::)"
                 r"|(?:vtable|typeinfo) for verbena::AnnouncingBackend$|verbena_cache_\w+$")


def main() -> int:
    lines = subprocess.run(["nm", "-DC", "--defined-only", sys.argv[1]], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    # "address type name"
    names = [line.split(maxsplit=2)[2] for line in lines]
    foreign = [name for name in names if not API.match(name)]
    for name in foreign:
        print(f"exported, but not in the API: {name}")
    if not names:
        print("the library exports nothing")
    return 1 if foreign or not names else 0


if __name__ == "__main__":
    sys.exit(main())
