"""Parses the kernel's scheduler trace and draws it: one lane for each processor."""

import html
import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

IDLE, OTHER, LOOP, PAGER = "idle", "others", "busy loops", "pagers"
SERVER, CLIENT = "server", "client"
COLOURS = {
    SERVER: "#1b62a5", f"{SERVER}'s progress thread": "#85bfe8",
    CLIENT: "#cf4f0a", f"{CLIENT}'s progress thread": "#fbb877",
    PAGER: "#7048a8", LOOP: "#c3c6ca", OTHER: "#3d4450", IDLE: "#f3f4f5",
}
PROGRESS_THREADS = ("verbena-prog",)

LEFT, WIDTH, RIGHT = 92, 1000, 24
LANE, WAKES, GAP = 44, 7, 14
ZOOM = 20  # times as wide


class Event(NamedTuple):
    seconds: float
    cpu: int
    kind: str  # "switch", "wakeup" or "yield"
    task: int  # the task that is switched to, woken, or yields
    before: int = 0  # the task that ran before a switch


class Segment(NamedTuple):
    begin: float
    end: float
    task: int


LINE = re.compile(r"-(\d+) +\[(\d+)\] \S+ +([\d.]+): (\w+)(.*)")
SWITCH = re.compile(r" prev_pid=(\d+) .* ==> .*next_pid=(\d+)")
WAKEUP = re.compile(r" pid=(\d+) .*target_cpu=(\d+)")


def parse(trace: str) -> Iterator[Event]:
    """The events in the text of tracefs. Skips other events."""
    for line in trace.splitlines():
        match = LINE.search(line)
        if match is None:
            continue
        task, cpu, seconds, event, rest = match.groups()
        if event == "sched_switch" and (tasks := SWITCH.search(rest)):
            yield Event(float(seconds), int(cpu), "switch", int(tasks[2]), int(tasks[1]))
        elif event.startswith("sched_wakeup") and (woken := WAKEUP.search(rest)):
            yield Event(float(seconds), int(woken[2]), "wakeup", int(woken[1]))
        elif event == "sys_sched_yield" or event == "sys_enter_sched_yield":
            yield Event(float(seconds), int(cpu), "yield", int(task))


def role_of_thread(end: str, name: str) -> str:
    """The role of a thread of the server or the client."""
    if name.startswith(PROGRESS_THREADS):
        return f"{end}'s progress thread"
    return PAGER if name.startswith("verbena-pager") else end


class Recording:
    """Events of a time window, and the roles of the tasks."""

    def __init__(self, events: list[Event], window: tuple[float, float], roles: dict[int, str],
                 running: dict[int, int]):
        """`running` has, for each drawn processor, the task that ran if the scheduler never
        switched, or 0."""
        self.begin, self.end = window
        self.roles = roles
        self.cpus = sorted(running)
        self.lanes = {cpu: self._segments([one for one in events
                                           if one.cpu == cpu and one.kind == "switch"],
                                          running[cpu]) for cpu in self.cpus}
        self.events = [event for event in events
                       if event.cpu in running and self.begin <= event.seconds < self.end]

    def role(self, task: int) -> str:
        return IDLE if task == 0 else self.roles.get(task, OTHER)

    def _segments(self, switches: list[Event], running: int) -> list[Segment]:
        points = [(one.seconds, one.task) for one in switches]
        first = switches[0].before if switches else running
        segments = []
        for (begin, task), (end, _) in zip([(self.begin, first), *points],
                                           [*points, (self.end, 0)]):
            begin, end = max(begin, self.begin), min(end, self.end)
            if end > begin:
                segments.append(Segment(begin, end, task))
        return segments

    def count(self, kind: str, cpu: int) -> int:
        return sum(event.kind == kind and event.cpu == cpu for event in self.events)

    def shares(self, cpu: int) -> dict[str, float]:
        """The share of each role in the window, the largest first."""
        found: Counter = Counter()
        for segment in self.lanes[cpu]:
            found[self.role(segment.task)] += segment.end - segment.begin
        return {role: time / (self.end - self.begin) for role, time in found.most_common()}

    def busiest(self, parts: int) -> int:
        """The part of the window, of `parts` equal ones, with the most switches from or to one of
        the two programs; of several, the one nearest to the middle."""
        scale = parts / (self.end - self.begin)
        counts = Counter(int((event.seconds - self.begin) * scale) for event in self.events
                         if event.kind == "switch" and any(
                             self.role(task).startswith((SERVER, CLIENT))
                             for task in (event.task, event.before)))
        return max(range(parts), key=lambda part: (counts[part], -abs(part - parts // 2)))

    def seen_roles(self) -> list[str]:
        seen = {role for cpu in self.cpus for role in self.shares(cpu)}
        return [role for role in COLOURS if role in seen]

    def columns(self, cpu: int, begin: float, end: float) -> list[Counter]:
        """The shares of the roles in each pixel column of the lane."""
        found: list[Counter] = [Counter() for _ in range(WIDTH)]
        scale = WIDTH / (end - begin)
        for segment in self.lanes[cpu]:
            first = max(0.0, (segment.begin - begin) * scale)
            last = min(float(WIDTH), (segment.end - begin) * scale)
            for column in range(int(first), min(WIDTH, math.ceil(last))):
                part = min(last, column + 1) - max(first, column)
                if part > 0:
                    found[column][self.role(segment.task)] += part
        return found


def summary(recording: Recording) -> str:
    lines = []
    for cpu in recording.cpus:
        lines.append(f"CPU {cpu}: {recording.count('switch', cpu)} switches, "
                     f"{recording.count('wakeup', cpu)} wake-ups, "
                     f"{recording.count('yield', cpu)} calls of sched_yield")
        yields = Counter(recording.role(event.task) for event in recording.events
                         if event.kind == "yield" and event.cpu == cpu)
        starts = Counter(recording.role(event.task) for event in recording.events
                         if event.kind == "switch" and event.cpu == cpu)
        for role, share in recording.shares(cpu).items():
            lines.append(f"  {role:26}{share:7.1%}, switched to {starts[role]:6} times, "
                         f"yields {yields[role]:6} times")
    return "\n".join(lines)


def text(x: float, y: float, words: str, **attributes) -> str:
    rest = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{rest}>{html.escape(words)}</text>'


def heights(parts: Counter) -> list[tuple[str, int]]:
    """The heights of the roles in one column, in whole pixels, in the order of the legend."""
    whole = sum(parts.values())
    found, before, below = [], 0.0, 0
    for role in COLOURS:
        if parts[role] > 0:
            before += parts[role]
            top = round(LANE * before / whole)
            if top > below:
                found.append((role, top - below))
            below = top
    return found


def draw_lane(columns: list[Counter], top: float) -> list[str]:
    """A path for each role. Equal adjacent columns are drawn as one."""
    paths: dict[str, list[str]] = {}
    stacks = [heights(parts) for parts in columns]
    start = 0
    for column in range(1, WIDTH + 1):
        if column < WIDTH and stacks[column] == stacks[start]:
            continue
        bottom = top + LANE
        for role, height in stacks[start]:
            bottom -= height
            paths.setdefault(role, []).append(
                f"M{LEFT + start} {bottom:g}h{column - start}v{height}h-{column - start}z")
        start = column
    return [f'<path fill="{COLOURS[role]}" d="{"".join(parts)}"/>'
            for role, parts in paths.items()]


def draw_seams(recording: Recording, cpu: int, begin: float, end: float, top: float) -> list[str]:
    """Lines between tasks of one colour that are wide enough to be visible."""
    scale = WIDTH / (end - begin)
    lane = [one for one in recording.lanes[cpu] if (one.end - one.begin) * scale > 3]
    marks = [f"M{LEFT + (two.begin - begin) * scale:.1f} {top:g}v{LANE}"
             for one, two in zip(lane, lane[1:]) if begin < two.begin < end
             and recording.role(one.task) == recording.role(two.task)]
    return [f'<path stroke="#fff" d="{"".join(marks)}"/>'] if marks else []


def draw_wakes(recording: Recording, cpu: int, begin: float, end: float, top: float) -> list[str]:
    marks = {(recording.role(event.task), round(LEFT + WIDTH * (event.seconds - begin)
                                                / (end - begin), 1))
             for event in recording.events if event.kind == "wakeup" and event.cpu == cpu
             and begin <= event.seconds < end}
    by_role: dict[str, list[str]] = {}
    for role, x in sorted(marks):
        by_role.setdefault(role, []).append(f"M{x:g} {top:g}v{WAKES - 1}")
    return [f'<path stroke="{COLOURS[role]}" stroke-width="1" d="{"".join(parts)}"/>'
            for role, parts in by_role.items()]


def step_of(length: float) -> float:
    """1, 2 or 5 times a power of ten, such that there are at most eleven marks."""
    power = 10 ** math.floor(math.log10(length / 10))
    return next(step * power for step in (1, 2, 5, 10) if length / (step * power) <= 10.001)


def draw_axis(first: float, length: float, top: float, bottom: float) -> list[str]:
    """The time axis, in ms from the start of the window."""
    step = step_of(length)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    lines = []
    slack = 1e-3  # of a step: rounding must not drop the marks at the edges
    for number in range(math.ceil(first / step - slack),
                        math.floor((first + length) / step + slack) + 1):
        x = LEFT + WIDTH * (number * step - first) / length
        lines.append(f'<path stroke="#000" stroke-opacity=".16" d="M{x:.1f} {top:g}V{bottom:g}"/>')
        lines.append(text(x, bottom + 15, f"{number * step:.{digits}f}", text_anchor="middle"))
    lines.append(text(LEFT - 36, bottom + 15, "ms", text_anchor="end", fill="#555"))
    return lines


def draw_panel(recording: Recording, begin: float, end: float, top: float,
               labels: dict[int, str]) -> tuple[list[str], float]:
    """All lanes of a part of the window, and their lower edge."""
    lines = []
    y = top
    for cpu in recording.cpus:
        lines += draw_wakes(recording, cpu, begin, end, y)
        y += WAKES
        lines += draw_lane(recording.columns(cpu, begin, end), y)
        lines += draw_seams(recording, cpu, begin, end, y)
        lines.append(text(LEFT - 10, y + 19, f"CPU {cpu}", text_anchor="end", font_weight="bold"))
        lines.append(text(LEFT - 10, y + 34, labels.get(cpu, ""), text_anchor="end", font_size=10,
                          fill="#555"))
        y += LANE + GAP
    bottom = y - GAP
    axis = draw_axis((begin - recording.begin) * 1e3, (end - begin) * 1e3, top + WAKES, bottom)
    return lines + axis, bottom + 22


def draw_legend(roles: list[str], top: float) -> tuple[list[str], float]:
    lines = []
    x, y = float(LEFT), top
    for role in [*roles, None]:
        words = role if role is not None else "short marks above a lane: wake-ups"
        width = 22 + 6.6 * len(words) + 18
        if x + width > LEFT + WIDTH + RIGHT and x > LEFT:
            x, y = float(LEFT), y + 20
        if role is not None:
            lines.append(f'<rect x="{x:.1f}" y="{y - 10:g}" width="14" height="12" '
                         f'fill="{COLOURS[role]}" stroke="#888" stroke-width=".5"/>')
        else:
            lines.append(f'<path stroke="#333" d="M{x + 3:.1f} {y - 8:g}v8m4 -8v8m4 -8v8"/>')
        lines.append(text(x + 20, y, words))
        x += width
    return lines, y + 14


def draw(recording: Recording, title: str) -> str:
    lines = []
    y = 30.0
    for part in textwrap.wrap(title, 105):
        lines.append(text(LEFT, y, part, font_size=16, font_weight="bold"))
        y += 22
    legend, y = draw_legend(recording.seen_roles(), y + 6)
    lines += legend
    part = recording.busiest(ZOOM)
    length = recording.end - recording.begin
    begin, end = (recording.begin + length * edge / ZOOM for edge in (part, part + 1))
    left, right = (LEFT + WIDTH * edge / ZOOM for edge in (part, part + 1))
    switches = {cpu: f"{recording.count('switch', cpu):,} switches" for cpu in recording.cpus}
    top = y + 8
    panel, y = draw_panel(recording, recording.begin, recording.end, top, switches)
    bottom = y - 22 + 3
    lines += panel
    lines.append(f'<rect x="{left:g}" y="{top + WAKES - 3:g}" width="{right - left:g}" '
                 f'height="{bottom - top - WAKES + 3:g}" fill="none" stroke="#000"/>')
    y += 18
    lines.append(f'<path stroke="#000" stroke-opacity=".35" fill="none" d="M{left:g} {bottom:g}'
                 f'L{LEFT} {y + WAKES:g}M{right:g} {bottom:g}L{LEFT + WIDTH} {y + WAKES:g}"/>')
    panel, y = draw_panel(recording, begin, end, y, {})
    y += 18
    panel.append(text(LEFT, y, f"The lower lanes are the framed part, {ZOOM} times as wide. Where "
                               "several tasks ran within one pixel, heights are their shares of "
                               "it.", fill="#555"))
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" '
            f'height="{y + 6:g}" viewBox="0 0 {LEFT + WIDTH + RIGHT} {y + 6:g}" '
            'font-family="sans-serif" font-size="12">')
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *lines, *panel,
                      "</svg>"]) + "\n"
