"""Reserves huge pages during a test. Only root can do that."""

import contextlib
from pathlib import Path

RESERVED = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


@contextlib.contextmanager
def reserved(count: int):
    """Yields the reason why there are no huge pages, or "". Releases them at the end."""
    before = int(RESERVED.read_text()) if RESERVED.is_file() else 0
    if before > 0:
        yield ""
        return
    try:
        RESERVED.write_text(str(count))
    except OSError as refused:
        yield f"cannot be reserved: {refused.strerror}"
        return
    try:
        yield "" if int(RESERVED.read_text()) > 0 else "the kernel has no memory for them"
    finally:
        RESERVED.write_text("0")
