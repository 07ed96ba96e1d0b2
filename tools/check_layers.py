#!/usr/bin/env python3
"""Checks includes and link dependencies of the source tree against the layer table."""

import argparse
import re
import sys
from pathlib import Path

import source_tree

PUBLIC = "verbena"  # include/verbena: the headers that users include

# Public headers that define values, not handles. Inner layers share these types with the API, so
# that a value is not converted between layers. Every layer may include them.
VALUES = {
    "access", "advice", "async_event", "cm_event", "completion", "counters", "current_io_word",
    "error", "gid", "ip_address", "memory_events", "numbers", "options", "post_error", "qp_state",
    "serial_number", "shared_buffer", "strong_id", "transport_type", "work_request",
}

# The layers that a folder of src/ may include besides itself.
ALLOWED = {
    "base": set(),
    "wire": {"base"},
    "fabric": {"base"},
    "queue": {"base"},
    "memory": {"base"},
    "paging": {"base"},
    "managed": {"base", "memory", "paging"},
    "transport": {"base", "wire", "memory", "queue"},
    "odp": {"base", "memory", "managed", "transport"},
    "adapter": {"base", "wire", "fabric", "queue", "memory", "managed", "transport", "odp"},
    "host": {"base", "memory"},
    "verbs": {"base", "queue", "memory", "managed", "adapter", "host", PUBLIC},
    "ibverbs": {"base", "preload", PUBLIC},
    "rdmacm": {"base", "ibverbs", PUBLIC},
    "cache": {"base", PUBLIC},
    "iscsi": {"base", PUBLIC},
    "cli": {"base", "host", PUBLIC},
    "preload": set(),
    "libc": set(),
}

# The subfolders of a layer, in order: a file includes files of its own subfolder and of those
# before it. Files in the layer's own folder are values that all subfolders may include, except for
# those in `TOPS`, which may include all subfolders.
SUBFOLDERS = {
    "memory": ["copy", "translation", "spaces", "protection"],
    "transport": ["common", "xrc", "rc", "uc", "ud", "iwarp", "cm"],
    "adapter": ["objects", "cm", "loop", "control"],
}
TOPS = {"memory/memory_core"}
# None of these subfolders includes another of them.
INDEPENDENT = {"transport": {"rc", "uc", "ud", "iwarp", "cm"}}

# These folders may include everything. Nothing in src/ may include them, except that unit tests may
# include the fixtures in tests/support.
OUTSIDE = {"sim", "tests", "fuzz", "bench", "examples"}

FIXTURES = "tests/support/"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LAYER_CALL = re.compile(r"\bverbena_layer\s*\(([^)]*)\)")
LAYER_TARGET = re.compile(r"\bverbena_(" + "|".join(ALLOWED) + r")\b")
KEYWORDS = {"DEPENDS", "BESIDE", "LIBRARIES", "TEST_LIBRARIES", "PRECOMPILED", "TEST_PRECOMPILED",
            "WITHOUT"}


def named(layers) -> str:
    return ", ".join(sorted(layers)) or "nothing"


def subfolder_rank(layer: str, path: str) -> int:
    """The position of a file's subfolder in the order; -1 for a file in the layer's own folder."""
    parts = path.split("/")
    order = SUBFOLDERS[layer]
    return order.index(parts[1]) if len(parts) > 2 and parts[1] in order else -1


class Checker:
    """Collects the violations in one tree, as lines of text."""

    def __init__(self, root: Path):
        self.root = root
        self.violations = []

    def check(self) -> list[str]:
        depends = self.check_build_files()
        for path in source_tree.files(self.root, ".h", ".cc", ".S"):
            for number, quote, target in self.includes(path):
                where = f"{path}:{number}"
                if path.parts[0] == "src" and len(path.parts) > 2:
                    self.check_src_include(where, path.parts[1], quote, target, depends)
                elif path.parts[0] == "include":
                    self.check_public_include(where, quote, target)
                elif path.parts[0] in OUTSIDE:
                    self.check_spelling(where, quote, target)
        return self.violations

    def report(self, where: str, wrong: str, right: str) -> None:
        self.violations.append(f"{where}: {wrong}; {right}")

    def includes(self, path: Path):
        text = (self.root / path).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if match := INCLUDE.match(line):
                yield number, match[1], match[2]

    def check_src_include(self, where, layer, quote, target, depends) -> None:
        if layer not in ALLOWED:
            return  # check_build_files reports the folder once
        if not self.check_spelling(where, quote, target) or quote == "<":
            return
        used = target.split("/")[0]
        permitted = ALLOWED[layer] | {layer}
        if used == layer and layer in SUBFOLDERS:
            self.check_subfolder(where, layer, target)
        if target.startswith(FIXTURES) and where.split(":")[0].endswith("_test.cc"):
            return
        if used in OUTSIDE:
            self.report(where, f'src includes "{target}"', f"nothing in src may use {used}/")
        elif "/" not in target or used not in ALLOWED.keys() | {PUBLIC}:
            self.report(where, f'"{target}" is not written from the src root',
                        f'write "{layer}/..." or another layer\'s name first, and <...> for '
                        "headers of other projects")
        elif used not in permitted and not self.is_value(target):
            self.report(where, f'{layer} includes "{target}"',
                        f"{layer} may include {named(ALLOWED[layer])}, and the values of {PUBLIC}")
        elif used not in depends.get(layer, set()) | {layer, PUBLIC}:
            self.report(where, f'"{target}" is used but {used} is not in DEPENDS',
                        f"add it in src/{layer}/CMakeLists.txt")

    @staticmethod
    def is_value(target: str) -> bool:
        return target.startswith(PUBLIC + "/") and target.split("/")[1][:-2] in VALUES

    def check_subfolder(self, where, layer, target) -> None:
        """Checks that the subfolder of the file may include the subfolder of the target."""
        path = where.split(":")[0].removeprefix("src/")
        if path.rsplit(".", 1)[0] in TOPS or path.endswith("_test.cc"):
            return
        of_file, of_target = subfolder_rank(layer, path), subfolder_rank(layer, target)
        independent = {SUBFOLDERS[layer].index(name) for name in INDEPENDENT.get(layer, set())}
        if of_target > of_file or (of_target != of_file and {of_file, of_target} <= independent):
            self.report(where, f'"{target}" is in a subfolder that this file may not include',
                        f"the order in {layer} is: {', '.join(SUBFOLDERS[layer])}")

    def check_public_include(self, where, quote, target) -> None:
        if quote == '"' and not target.startswith(PUBLIC + "/"):
            self.report(where, f'a public header includes "{target}"',
                        f'only "{PUBLIC}/..." and the standard library are installed for users')

    def check_spelling(self, where, quote, target) -> bool:
        """Whether the path of a project header is written as "layer/file.h"."""
        parts = target.split("/")
        if {".", ".."} & set(parts) or parts[0] in {"src", "include"}:
            self.report(where, f'"{target}" is not written from the src root',
                        'write "layer/file.h"')
            return False
        if quote == "<" and (self.root / "src" / target).is_file():
            self.report(where, f"<{target}> is ours", f'write "{target}"')
            return False
        return True

    def check_build_files(self) -> dict[str, set[str]]:
        """Returns the DEPENDS and BESIDE of each layer."""
        depends = {}
        folders = sorted(p for p in (self.root / "src").glob("*") if p.is_dir())
        for folder in folders:
            layer, file = folder.name, folder / "CMakeLists.txt"
            where = f"src/{layer}/CMakeLists.txt"
            if layer not in ALLOWED:
                self.report(f"src/{layer}:1", f"{layer} is not in the layer table",
                            f"layers are {named(ALLOWED)}")
            elif file.is_file():
                # Removes comments but keeps line numbers.
                text = re.sub(r"#.*", "", file.read_text(encoding="utf-8"))
                depends[layer] = self.check_build_file(where, layer, text)
            elif any(folder.iterdir()):
                self.report(f"{where}:1", "is missing", f"it calls verbena_layer({layer} ...)")
        return depends

    def check_build_file(self, where, layer, text) -> set[str]:
        for match in LAYER_TARGET.finditer(text):
            if match[1] == layer:
                continue
            line = text.count("\n", 0, match.start()) + 1
            self.report(f"{where}:{line}", f"names the target {match[0]}",
                        "layers are linked by DEPENDS of verbena_layer only")
        calls = list(LAYER_CALL.finditer(text))
        if len(calls) != 1 or calls[0][1].split()[:1] != [layer]:
            self.report(f"{where}:1", "does not call verbena_layer exactly once",
                        f"it calls verbena_layer({layer} ...)")
            return set()
        depends = set()
        keyword = None
        for word in re.finditer(r"\S+", calls[0][1]):
            if word[0] in KEYWORDS:
                keyword = word[0]
            elif keyword in {"DEPENDS", "BESIDE"}:
                depends.add(word[0])
                if word[0] not in ALLOWED[layer] - {PUBLIC}:
                    line = text.count("\n", 0, calls[0].start(1) + word.start()) + 1
                    self.report(f"{where}:{line}", f"{layer} depends on {word[0]}",
                                f"{layer} may depend on {named(ALLOWED[layer] - {PUBLIC})}")
        return depends


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    violations = Checker(parser.parse_args().root).check()
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
