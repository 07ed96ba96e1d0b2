#!/usr/bin/env python3
"""Generates the linker version script of a drop-in library, and stubs for the functions that it
does not support, from the list of its exports."""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

KINDS = {
    "ours": None,
    "api": None,
    "refused-int": 'int {id}() {{ return Unsupported("{name}"); }}',
    "refused-fd": 'int {id}() {{ return UnsupportedFd("{name}"); }}',
    "refused-pointer": 'void* {id}() {{ return UnsupportedNull("{name}"); }}',
    "refused-nothing": 'void {id}() {{ static_cast<void>(Unsupported("{name}")); }}',
    "ignored": "int {id}() {{ return 0; }}",
    "flag": "bool {id} = false;",
}

# One of our functions under an older symbol version. It forwards its arguments unseen, which works
# for up to four integer or pointer arguments.
FORWARD = ("long {name}(long, long, long, long);\n"
           "long {id}(long a, long b, long c, long d) {{ return {name}(a, b, c, d); }}")

# The name of this function contains the number of its version node.
REGISTRATION = "verbs_register_driver_"


class Export(NamedTuple):
    """A symbol: its name, its kind, and whether the linker binds new programs to this version."""
    name: str
    kind: str
    default: bool


class Node(NamedTuple):
    """A version node: its name, its predecessor, and its symbols."""
    name: str
    after: str
    exports: list[Export]


def parse(text: str) -> list[Node]:
    nodes = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if line.startswith("[") and line.endswith("]"):
            name, _, model = line[1:-1].partition(" like ")
            name, _, after = name.partition(" after ")
            nodes.append(Node(name, after, copies(nodes, model) if model else []))
        elif line:
            name, _, kind = line.partition(" ")
            if not nodes or kind not in KINDS:
                raise ValueError(f"line {number}: '{line}': expected NAME KIND after a [NODE] line")
            nodes[-1].exports.append(
                Export(name.removeprefix("+"), kind, not name.startswith("+")))
    return nodes


def copies(nodes: list[Node], model: str) -> list[Export]:
    """The symbols of an earlier node, as non-default versions of another node."""
    for node in nodes:
        if node.name == model:
            return [Export(export.name, export.kind, False) for export in node.exports
                    if not export.name.startswith(REGISTRATION)]
    raise ValueError(f"'like {model}': no node {model} is defined before")


def script_name(export: Export) -> str:
    return f'extern "C++" {{ {export.name}; }}' if export.kind == "api" else export.name


def version_script(nodes: list[Node]) -> str:
    """Lists default versions only. The others are made by .symver, so `local: *` is in a node that
    has defaults only: elsewhere it would hide them."""
    text = []
    hiding = next(node for node in nodes if all(export.default for export in node.exports))
    for node in nodes:
        names = [f"    {script_name(export)};" for export in node.exports if export.default]
        body = ["  global:", *names] if names else []
        local = ["  local: *;"] if node is hiding else []
        after = f" {node.after}" if node.after else ""
        text += [f"{node.name} {{", *body, *local, f"}}{after};", ""]
    return "\n".join(text)


def entries(nodes: list[Node]) -> str:
    text = ['#include "ibverbs/failure.h"\n',
            "using verbena::ibverbs::Unsupported;",
            "using verbena::ibverbs::UnsupportedFd;",
            "using verbena::ibverbs::UnsupportedNull;\n",
            'extern "C" {']
    for node in nodes:
        for export in node.exports:
            entry = KINDS[export.kind]
            if entry is None and export.default:
                continue
            identifier = export.name
            if not export.default:
                identifier += "_" + node.name.replace(".", "_")
                text.append(f'__asm__(".symver {identifier}, {export.name}@{node.name}");')
            text.append((entry or FORWARD).format(id=identifier, name=export.name))
    return "\n".join([*text, "}", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", type=Path)
    parser.add_argument("--script", type=Path, required=True, help="the version script to write")
    parser.add_argument("--entries", type=Path, required=True, help="the C++ file to write")
    arguments = parser.parse_args()
    try:
        nodes = parse(arguments.list.read_text(encoding="utf-8"))
    except ValueError as error:
        print(f"{arguments.list}: {error}", file=sys.stderr)
        return 1
    arguments.script.write_text(version_script(nodes), encoding="utf-8")
    arguments.entries.write_text(entries(nodes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
