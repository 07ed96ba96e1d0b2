#!/usr/bin/env python3
"""Renders the pages of docs/ and the API reference into build/docs/html (make docs).

Sphinx renders the pages, which are GitHub-flavoured Markdown. Doxygen extracts the API reference
from the comments in include/verbena.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import source_tree

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "site"
# Debian's Python, even if PATH has another one first: the Sphinx extensions are Debian packages.
PYTHON = "/usr/bin/python3"

# The pages in the order of the menu. check_menu fails if a page is missing here.
MENU = {
    "Using it": ["docs/running", "docs/programs", "docs/rdmacm", "docs/pyverbs", "docs/interop",
                 "docs/tool", "docs/api", "api/index", "docs/security"],
    "How it works": ["ARCHITECTURE", "docs/memory", "docs/transport", "docs/connection-manager",
                     "docs/iwarp", "docs/rsockets", "docs/wire", "docs/queues", "docs/threading",
                     "docs/fabric", "docs/unpinned", "docs/managed", "docs/paging", "docs/quiesce",
                     "docs/guests", "docs/registration-cache"],
    "What it is held to": ["docs/requirements", "docs/decisions/README", "docs/testing",
                           "docs/simulation", "docs/benchmarks", "docs/results"],
    "Project": ["docs/glossary", "CONTRIBUTING", "CHANGELOG", "SECURITY"],
}
LINK = re.compile(r"\]\(([^()\s#]+)")


def toctree(caption: str, entries: list[str], hidden: bool = True) -> str:
    options = f":caption: {caption}\n" + (":hidden:\n" if hidden else "")
    return "\n```{toctree}\n" + options + "\n" + "\n".join(entries) + "\n```\n"


def pages(root: Path) -> list[Path]:
    return [path for path in source_tree.files(root, ".md")
            if len(path.parts) == 1 or path.parts[0] == "docs"]


def check_menu(root: Path) -> None:
    listed = {entry for entries in MENU.values() for entry in entries} - {"api/index"}
    there = {str(path.with_suffix("")) for path in pages(root)
             if path.parent != Path("docs/decisions") or path.stem == "README"} - {"README"}
    for name in sorted(listed ^ there):
        sys.exit(f"docs: {name}.md is "
                 + ("in MENU of tools/docs.py, but does not exist" if name in listed
                    else "not in MENU of tools/docs.py"))


def copy_with_links(root: Path, source: Path) -> None:
    """Copies the pages and the files that they link to."""
    for path in pages(root):
        text = (root / path).read_text(encoding="utf-8")
        for link in LINK.findall(text):
            target = (root / path).parent / link
            if ":" not in link and target.is_file() and target.suffix != ".md":
                copy = source / target.resolve().relative_to(root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(target, copy)
        copy = source / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, encoding="utf-8")


def add_menu(root: Path, source: Path) -> None:
    with (source / "README.md").open("a", encoding="utf-8") as readme:
        for caption, entries in MENU.items():
            readme.write(toctree(caption, entries))
    subjects = sorted(path.stem for path in pages(root)
                      if path.parent == Path("docs/decisions") and path.stem != "README")
    with (source / "docs/decisions/README.md").open("a", encoding="utf-8") as decisions:
        decisions.write(toctree("Decisions", subjects))


def write_api(root: Path, source: Path) -> None:
    """Writes a page for each public header."""
    folder = source / "api"
    folder.mkdir(parents=True)
    headers = sorted(path.name for path in (root / "include/verbena").glob("*.h")
                     if path.name != "verbena.h")
    for name in headers:
        (folder / f"{Path(name).stem}.md").write_text(
            f"# {name}\n\n```{{doxygenfile}} {name}\n```\n", encoding="utf-8")
    (folder / "index.md").write_text(
        "# API reference\n\nThe headers of `include/verbena`, generated from their comments. All\n"
        "names are in namespace `verbena`. `verbena/verbena.h` includes all headers.\n"
        "Start with [the C++ API](../docs/api.md).\n"
        + toctree("Headers", [Path(name).stem for name in headers], hidden=False), encoding="utf-8")


def run(command: list, **options) -> None:
    if subprocess.run([str(part) for part in command], check=False, **options).returncode:
        sys.exit(f"docs: {command[0]} failed")


def read_headers(root: Path, out: Path) -> Path:
    settings = (SITE / "Doxyfile").read_text(encoding="utf-8") + "\n".join([
        f'INPUT = "{root / "include/verbena"}"', f'OUTPUT_DIRECTORY = "{out}"',
        f'STRIP_FROM_PATH = "{root / "include"}"',
        f'INPUT_FILTER = "{PYTHON} {root / "tools/doc_comments.py"}"', ""])
    run(["doxygen", "-"], input=settings, text=True)
    return out / "xml"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs")
    out = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    source, html = out / "source", out / "html"
    source.mkdir(parents=True)
    check_menu(ROOT)
    copy_with_links(ROOT, source)
    add_menu(ROOT, source)
    write_api(ROOT, source)
    xml = read_headers(ROOT, out)
    # -W: a warning means a broken link or invalid markup.
    run([PYTHON, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", SITE, "-d", out / "cache",
         source, html], env=os.environ | {"VERBENA_API_XML": str(xml)})
    shutil.copy(html / "README.html", html / "index.html")
    print(f"docs: {html / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
