#!/usr/bin/env python3
"""Runs own_pyverbs.py, our tests in Python, on our libibverbs as an ordinary user.

usage: own_pyverbs_test.py LIBRARIES [TEST...]
"""

import sys
from pathlib import Path

from ordinary_user import Bench
from pairs import must_succeed
from pyverbs_test import PYTHON

SUITE = Path(__file__).with_name("own_pyverbs.py")
SECONDS_MAX = 200


def main() -> int:
    libraries, tests = Path(sys.argv[1]), sys.argv[2:]
    with Bench(libraries, SUITE) as bench:
        suite = bench.start([PYTHON, SUITE.name, "--verbose", *tests],
                            PYTHONDONTWRITEBYTECODE="1")
        try:
            print(must_succeed(suite, SECONDS_MAX))
        except AssertionError as problem:
            print(problem)
            return 1
        finally:
            suite.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
