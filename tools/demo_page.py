"""The result page of `make demo`: one HTML file with tables and SVG charts."""

import html
from typing import NamedTuple

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #f4f6f8; margin: 0; }
main { max-width: 960px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { margin: 8px 0 0; } h2 { margin: 0 0 4px; font-size: 19px; }
section { background: #fff; border: 1px solid #dde3e8; border-radius: 8px; padding: 18px 22px;
          margin-top: 18px; }
code, pre { font: 13px ui-monospace, monospace; } p { margin: 4px 0 12px; }
pre { background: #10202e; color: #d8e6f0; padding: 8px 12px; border-radius: 6px; margin: 0 0 14px;
      overflow-x: auto; }
svg { max-width: 100%; height: auto; display: block; }
table { border-collapse: collapse; } td, th { padding: 3px 14px 3px 0; text-align: left; }
.facts td:first-child { color: #667; } .lead { color: #456; font-size: 17px; }
"""

COLORS = {"write": "#1f4e79", "read": "#2e8b57", "send": "#c46a1b"}
LEFT, RIGHT = 96, 880  # of the drawing area, in a picture 900 wide


class Packet(NamedTuple):
    """One arrow of the packet ladder."""
    microseconds: float
    to_right: bool
    what: str
    psn: int
    size: int


def text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>'
            f"{html.escape(words)}</text>")


def svg(height: float, parts: list[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height:.0f}" width="900" '
            f'font-family="sans-serif" font-size="13" fill="#333">' + "".join(parts) + "</svg>")


def size_words(count: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count // unit} {name}"
    return f"{count} bytes"


def speed_words(mib: float) -> str:
    return f"{mib / 1024:.2f} GiB/s" if mib >= 1024 else f"{mib:.3g} MiB/s"


def bandwidth_chart(figures: dict[str, dict[int, float]]) -> str:
    """figures[operation][bytes] in MiB/s, drawn as a group of labelled bars for each size."""
    most = max(max(of.values()) for of in figures.values())
    parts, y = [], 10.0
    for size in sorted(next(iter(figures.values()))):
        parts.append(text(LEFT - 10, y + 10 + 9 * len(figures), size_words(size), "end"))
        for operation, of in figures.items():
            width = max(of[size] / most * (RIGHT - LEFT - 170), 1)
            parts.append(f'<rect x="{LEFT}" y="{y:.1f}" width="{width:.1f}" height="16" rx="2" '
                         f'fill="{COLORS[operation]}"/>')
            parts.append(text(LEFT + width + 8, y + 13, f"{operation} {speed_words(of[size])}"))
            y += 19
        y += 12
    return svg(y, parts)


def residency_chart(samples: list[tuple[float, dict[str, int]]], budget: int) -> str:
    """Bytes in memory of each guest over time, one on top of the other, and the budget."""
    names = sorted({name for _, of in samples for name in of})
    colors = ["#1f4e79", "#2e8b57", "#c46a1b", "#7a4fa3", "#a33b4f", "#555"]
    end = max(samples[-1][0], 0.001)
    height, top = 240.0, 24.0
    most = max([budget, *(sum(of.values()) for _, of in samples)])

    def place(seconds: float, count: float) -> str:
        x = LEFT + (RIGHT - LEFT) * seconds / end
        return f"{x:.1f},{top + height * (1 - count / most):.1f}"

    parts = []
    below = [0] * len(samples)
    for number, name in enumerate(names):
        above = [low + of.get(name, 0) for low, (_, of) in zip(below, samples)]
        edge = [place(seconds, count) for (seconds, _), count in zip(samples, above)]
        base = [place(seconds, count) for (seconds, _), count in zip(samples, below)]
        color = colors[number % len(colors)]
        parts.append(f'<polygon points="{" ".join(edge + base[::-1])}" fill="{color}" '
                     'fill-opacity="0.8"/>')
        parts.append(f'<rect x="{LEFT + 110 * number}" y="{top + height + 34:.0f}" width="12" '
                     f'height="12" fill="{color}"/>')
        parts.append(text(LEFT + 110 * number + 18, top + height + 45, name))
        below = above
    y = top + height * (1 - budget / most)
    parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke="#c00" '
                 'stroke-dasharray="5 4"/>')
    parts.append(text(RIGHT, y - 6, f"budget {size_words(budget)}", "end", 'fill="#c00"'))
    parts.append(text(LEFT - 10, top + height, "0", "end"))
    parts.append(text(RIGHT, top + height + 18, f"{end:.1f} s", "end"))
    return svg(top + height + 60, parts)


def arrow(packet: Packet, y: float, left: float, right: float) -> list[str]:
    begin, end = (left, right) if packet.to_right else (right, left)
    back = -9 if packet.to_right else 9
    is_ack = "Acknowledge" in packet.what
    color = "#8a97a3" if is_ack else "#1f4e79"
    words = f"{packet.what}, PSN {packet.psn}" + ("" if is_ack else f", {packet.size} bytes")
    return [f'<path d="M{begin} {y}L{end} {y + 14}" stroke="{color}" stroke-width="2"/>',
            f'<path d="M{end} {y + 14}l{back} -6v10z" fill="{color}"/>',
            text((left + right) / 2, y - 1, words, "middle", 'paint-order="stroke" stroke="#fff" '
                                                         'stroke-width="4"'),
            text(LEFT - 10, y + 5, f"{packet.microseconds:.1f} us", "end", 'fill="#778"')]


def packet_ladder(packets: list[Packet]) -> str:
    """Time goes down; each packet is an arrow from one process to the other."""
    left, right, top, step = 190, 780, 42, 32
    bottom = top + step * len(packets) + 8
    parts = [text(left, 18, "client", "middle", 'font-weight="bold"'),
             text(right, 18, "server", "middle", 'font-weight="bold"')]
    parts += [f'<path d="M{x} 26V{bottom}" stroke="#bcc6cf" stroke-width="3"/>'
              for x in (left, right)]
    for i, packet in enumerate(packets):
        parts += arrow(packet, top + step * i, left, right)
    return svg(bottom + 4, parts)


def section(title: str, lead: str, command: str, body: str) -> str:
    shown = f"<pre>{html.escape(command)}</pre>" if command else ""
    head = f"<h2>{html.escape(title)}</h2><p>{html.escape(lead)}</p>"
    return f"<section>{head}{shown}{body}</section>"


def facts_table(facts: list[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
                   for name, value in facts)
    return f'<table class="facts">{rows}</table>'


def page(sections: list[str]) -> str:
    return ('<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Verbena: the demo</title>'
            '<meta name="viewport" content="width=device-width">'
            f"<style>{STYLE}</style><main><h1>Verbena</h1>"
            '<p class="lead">RDMA verbs without a card, a kernel module, root or pinned memory. '
            "Everything on this page was run and measured on this machine.</p>"
            + "".join(sections) + "</main></html>\n")
