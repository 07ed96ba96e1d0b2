#!/usr/bin/env python3
"""Manual pages and shell completion agree with the --help of the command `verbena`.

usage: help_test.py BIN_FOLDER
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

TREE = Path(__file__).resolve().parent.parent.parent
TIMEOUT_S = 60  # seconds for one command line

# Calls the completion for a command line, whose last word is completed, and prints the words.
COMPLETE = """source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_verbena
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Page(NamedTuple):
    """A manual page in docs, and the commands whose options it documents."""
    name: str
    commands: list[str]


PAGES = [
    Page("verbena", [""]),
    *(Page(f"verbena-{name}", [name]) for name in ("run", "devices", "cache", "ping", "bench",
                                                   "sim")),
    Page("verbena-broker", ["broker", "broker status", "broker quiesce", "broker resume"]),
]


class Checker:
    def __init__(self, folder: Path) -> None:
        self.verbena = folder / "verbena"
        self.environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        self.failed = 0

    def expect(self, condition: bool, what: str) -> None:
        if not condition:
            print(f"FAILED: {what}")
            self.failed += 1

    def help(self, command: str) -> str:
        return subprocess.run([self.verbena, *command.split(), "--help"], check=True, text=True,
                              stdout=subprocess.PIPE, timeout=TIMEOUT_S).stdout

    def complete(self, *words: str) -> set[str]:
        done = subprocess.run(["bash", "-c", COMPLETE, "bash", TREE / "packaging/verbena.bash",
                               "verbena", *words], check=True, text=True, env=self.environment,
                              stdout=subprocess.PIPE, timeout=TIMEOUT_S)
        return set(done.stdout.split())

    def same(self, what: str, found: set[str], expected: set[str]) -> None:
        lacking, extra = sorted(expected - found), sorted(found - expected)
        self.expect(not lacking, f"{what} lacks {lacking}")
        self.expect(not extra, f"{what} has {extra}, which --help lacks")

    def check_page(self, page: Page) -> None:
        text = (TREE / f"docs/{page.name}.1").read_text(encoding="utf-8").replace("\\-", "-")
        headings = "\n".join(re.findall(r"^\.TP\n(.*)", text, re.MULTILINE))
        texts = [self.help(command) for command in page.commands]
        self.same(f"{page.name}.1", set(re.findall(r"--[a-z-]+", headings)),
                  set().union(*map(options_of, texts)))
        variables = set(re.findall(r"\bVERBENA_[A-Z_]+", "\n".join(texts)))
        self.same(f"{page.name}.1", set(re.findall(r"\bVERBENA_[A-Z_]+", text)), variables)
        for name in commands_of(texts[0]):
            self.expect(re.search(rf"^\.B(R)? {name}\b", text, re.MULTILINE) is not None,
                        f"{page.name}.1 does not document the command {name}")

    def check_completion(self, command: str) -> None:
        text = self.help(command)
        found = {word for word in self.complete(*command.split(), "--") if word != "--"}
        self.same(f"completion of 'verbena {command}'", found, options_of(text))
        commands = commands_of(text)
        self.expect(commands <= self.complete(*command.split(), ""),
                    f"completion of 'verbena {command}' lacks one of {sorted(commands)}")
        for names, values in re.findall(r"^  (-\S+) ([a-z]+(?:\|[a-z,]+)+)(?= |$)", text,
                                        re.MULTILINE):
            for name in names.split(","):
                words = set(values.split("|"))
                self.same(f"completion of 'verbena {command} {name}'",
                          self.complete(*command.split(), name, ""), words)
                self.same(f"completion of 'verbena {command} {name}='",
                          self.complete(*command.split(), name, "=", ""), words)


def options_of(text: str) -> set[str]:
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text, re.MULTILINE))


def commands_of(text: str) -> set[str]:
    _, _, listed = text.partition("\nSubcommands:\n")
    return set(re.findall(r"^  ([a-z]+) ", listed.partition("\n\n")[0], re.MULTILINE))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    checker = Checker(Path(sys.argv[1]).resolve())
    has_simulator = (checker.verbena.parent / "verbena-sim").exists()
    pages = [page for page in PAGES if has_simulator or page.name != "verbena-sim"]
    for page in pages:
        checker.check_page(page)
        for command in page.commands:
            checker.check_completion(command)
    print(f"{len(pages)} manual pages, {checker.failed} failures")
    return 1 if checker.failed else 0


if __name__ == "__main__":
    sys.exit(main())
