#!/usr/bin/env python3
"""Reports words that this project avoids, each with the word to use instead.

A good word is one that a maintainer of rxe, UCX or rdma-core would grep for. The list has names
that only this project would use, and persons as subjects of sentences about things.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import source_tree

SUFFIXES = (".cc", ".h", ".c", ".py", ".md", ".cmake", ".txt", ".sh", ".1")

# Files with the user account `nobody`, the license, and the lists of words themselves.
EXEMPT = {"tools/check_words.py", "tools/check_words_test.py", "LICENSE", "CODE_OF_CONDUCT.md",
          "tests/integration/ordinary_user.py", "tests/integration/networks.py",
          "tests/integration/device_files_test.py"}


# Code in pages, where a word may be a literal: the account `nobody`, for example.
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)


class Word(NamedTuple):
    pattern: re.Pattern
    instead: str


def _name(*names: str, instead: str) -> Word:
    """Identifiers that contain one of the names."""
    return Word(re.compile(r"\b\w*(?:" + "|".join(names) + r")"), instead)


def _prose(words: str, instead: str) -> Word:
    return Word(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), instead)


WORDS = [
    _name("Keeper", r"\bkeeper", instead="progress thread"),
    _name("Attentive", instead="armed"),
    _name("Linger", r"\blinger_", instead="spin"),
    _name("TakeUpMarks", "SettleOutbox", instead="drain the ready list, drain the outbox"),
    _name("FlightTable", r"\bFlight\b", instead="outstanding request"),
    _name("GoBack", instead="rewind"),
    _name("Setback", "had_setback", instead="SQD on failure"),
    _name("AnswerAgain", instead="replay"),
    _name("KeptPacket", instead="held packet"),
    _name("Denial", "DeniedKey", instead="refusal"),
    _name("LookAhead", "look_ahead", instead="prefetch"),
    _name("PresenceWatch", "PresenceScan", "presence_period", instead="residency scan, probe"),
    _name("SoleAddress", "sole_address", instead="default source address"),
    _name("QpSurroundings", "Surroundings", instead="context"),
    _name("KeepFromLists", instead="forbid in page lists"),
    _name("InOnePiece", instead="single span"),
    _name(r"\bInstance\b", "StaleInstance", "NextInstance", instead="key variant"),
    _name("Ledger", r"\bledger", instead="resident set"),
    _name("WantTable", "WantRecord", instead="request"),
    _name("UserfaultDoor", "userfault_door", instead="uffd source"),
    _name("Adopted", "Adoption", "Adoptable", instead="take over"),
    _name("TakeNotes", "on_urgent_note", "TellNotes", instead="warnings"),
    _name("WindowBook", "window_book", instead="bind registry"),
    _name("PointedObject", "FrontMargin", "QueueShares",
          instead="handle base, ABI padding, owners"),
    _name(r"[a-z]Told", r"\bTold\B", "_told", r"\btold_",
          instead="reported, raised, sent, answered: what happened"),
    _name(*(part for word in ("Nobody", "Somebody", "Whoever", "Everybody")
            for part in (rf"\w{word}", rf"{word}\w")),
          instead="no thread, no waiter, kNone: the thing itself"),
    _name("RunToRest", "RunTurns", "TurnOf", instead="run until idle, step"),
    _name("BringPages", instead="page in"),
    _name("KeyBook", "key_book", instead="key checker"),
    _name("Judge", r"\bjudge", instead="checker, detector, check"),
    _name("Vandal", r"\bvandal", instead="what it does: page remover"),
    _name("NO_DOOR", "has_door", "OtherLife", "kNoLife", "run_and_tell", r"\bROOMS\b",
          instead="userfaultfd, incarnation, run and print, subfolders"),
    _prose("anew", instead="again"),
    _prose("doors?", instead="the interface: the system call, the device file, the function"),
    _prose("mood|of its own accord|sooner or later|in due course|less than nothing",
           instead="the condition or the number"),
    _prose("nobody|somebody|whoever|everybody|anybody|one who|he|him|his",
           instead="the thing that acts: the poller, the caller, a peer, no thread"),
]


def findings(path: str, text: str) -> list[str]:
    found = []
    if path.endswith(".md"):
        text = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for number, line in enumerate(text.splitlines(), 1):
        for word in WORDS:
            match = word.pattern.search(line)
            if match:
                found.append(f"{path}:{number}: '{match[0]}'; use instead: {word.instead}")
    return found


def check(root: Path) -> list[str]:
    found = []
    for path in source_tree.files(root, *SUFFIXES):
        name = path.as_posix()
        if name not in EXEMPT and not name.startswith("tests/golden/"):
            found += findings(name, (root / path).read_text(encoding="utf-8", errors="replace"))
    return found


def main() -> int:
    found = check(Path(__file__).resolve().parent.parent)
    print(*found, sep="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
