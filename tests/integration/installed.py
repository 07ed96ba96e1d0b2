"""`verbena` next to its libraries, as it is installed, in a folder where any user can run it."""

import shutil
from pathlib import Path

from ordinary_user import Bench, Process
from pairs import must_succeed

LIBRARIES = ("libibverbs.so*", "libverbena-files.so", "libverbena.so*")


class Installed:
    """Owns a Bench; use as a context. `ours` are programs of the tests, found in `folder`."""

    def __init__(self, libraries: Path, programs: Path, *ours: str, ordinary: bool = True):
        self.bench = Bench(libraries, *(programs / program for program in ours), ordinary=ordinary)
        self.folder = self.bench.folder
        for name in ("bin", "lib"):
            (self.folder / name).mkdir()
        shutil.copy(programs / "verbena", self.folder / "bin")
        for pattern in LIBRARIES:
            for library in libraries.glob(pattern):
                shutil.copy(library, self.folder / "lib", follow_symlinks=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def command(self, *program, options=()) -> list:
        return [self.folder / "bin" / "verbena", "run", *options, "--", *program]

    def start(self, *program, options=(), **others) -> Process:
        return self.bench.start(self.command(*program, options=options), **others)

    def run(self, *program, **options) -> str:
        """The output of the program, including standard error."""
        return must_succeed(self.start(*program, **options))
