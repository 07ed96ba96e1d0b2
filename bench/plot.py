#!/usr/bin/env python3
"""Draws docs/figures/growth.svg from the figures of compare_peers.py.

  bench/plot.py [build/bench/peers.json] [docs/figures/growth.svg]
"""

import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, HEIGHT, LEFT, TOP = 300, 200, 60, 40
PANELS = {
    "size": ("bytes of a write", "MiB/s"),
    "qps": ("queue pairs, 32 writes outstanding on each", "writes of 64 bytes per second"),
    "depth": ("outstanding writes", "writes of 64 bytes per second"),
}


def short(value: float) -> str:
    for step, unit in ((1e6, "M"), (1e3, "k")):
        if value >= step:
            return f"{value / step:.3g} {unit}"
    return f"{value:.3g}"


def binary(value: int) -> str:
    return f"{value >> 20} Mi" if value >= 1 << 20 else f"{value >> 10} Ki" if value >= 1024 \
        else str(value)


def panel(points: list, words: tuple[str, str], left: float) -> list[str]:
    """One curve: the x axis doubles at each step, the y axis starts at 0."""
    across, up = words
    highest = max(value for _, value in points)
    first, last = math.log2(points[0][0]), math.log2(points[-1][0])
    places = [(left + WIDTH * (math.log2(x) - first) / (last - first),
               TOP + HEIGHT * (1 - y / highest)) for x, y in points]
    lines = [f'<text x="{left}" y="{TOP - 16}">{up}</text>',
             f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 36}" text-anchor="middle">'
             f'{across}</text>']
    for part in (0, 0.5, 1):
        y = TOP + HEIGHT * (1 - part)
        lines.append(f'<line x1="{left}" y1="{y}" x2="{left + WIDTH}" y2="{y}" stroke="#ccc"/>')
        lines.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">'
                     f'{short(part * highest)}</text>')
    for (x, _), (value, _) in zip(places, points):
        lines.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">'
                     f'{binary(value)}</text>')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    lines.append(f'<polyline points="{path}" fill="none" stroke="#7048a8" stroke-width="2"/>')
    lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#7048a8"/>' for x, y in places]
    return lines


def draw(growth: dict) -> str:
    step = WIDTH + LEFT + 30
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{step * len(PANELS)}" '
             f'height="{TOP + HEIGHT + 50}" font-family="sans-serif" font-size="11">',
             '<rect width="100%" height="100%" fill="white"/>']
    for number, (name, words) in enumerate(PANELS.items()):
        lines += panel(growth[name], words, LEFT + number * step)
    return "\n".join(lines + ["</svg>"]) + "\n"


def main(source: str = str(ROOT / "build/bench/peers.json"),
         target: str = str(ROOT / "docs/figures/growth.svg")) -> None:
    growth = json.loads(pathlib.Path(source).read_text())["growth"]
    pathlib.Path(target).parent.mkdir(exist_ok=True)
    pathlib.Path(target).write_text(draw(growth))


if __name__ == "__main__":
    main(*sys.argv[1:])
