#!/usr/bin/env python3
"""sched_picture.py parses the trace, attributes time to tasks, and draws all lanes."""

import unittest
import xml.etree.ElementTree as ElementTree
from collections import Counter

import sched_picture
from sched_picture import CLIENT, IDLE, LANE, LOOP, OTHER, PAGER, SERVER, Event, Recording

TRACE = """\
# tracer: nop
     ib_send_lat-42      [001] d..2. 13.000100: sched_switch: prev_comm=ib_send_lat prev_pid=42 \
prev_prio=120 prev_state=R+ ==> next_comm=a b-c [1] next_pid=43 next_prio=120
          <idle>-0       [000] dNh4. 13.000200: sched_wakeup: comm=verbena-prog pid=44 prio=120 \
target_cpu=001
           <...>-42      [001] ..... 13.000300: sys_sched_yield()
           <...>-42      [001] ..... 13.000400: sched_migrate_task: comm=x pid=1 prio=120
"""

ROLES = {1: SERVER, 2: CLIENT, 3: LOOP}
EVENTS = [Event(0.002, 0, "switch", 2, before=1), Event(0.0025, 0, "wakeup", 1),
          Event(0.004, 0, "yield", 2), Event(0.006, 0, "switch", 0, before=2),
          Event(0.007, 0, "switch", 99, before=0), Event(0.008, 0, "switch", 1, before=99)]


def recording() -> Recording:
    """CPU 0 as above, CPU 1 without a switch."""
    return Recording(EVENTS, (0.0, 0.01), ROLES, {0: 0, 1: 3})


class ParseTest(unittest.TestCase):
    def test_events_are_distinguished(self):
        self.assertEqual(list(sched_picture.parse(TRACE)),
                         [Event(13.0001, 1, "switch", 43, before=42),
                          Event(13.0002, 1, "wakeup", 44), Event(13.0003, 1, "yield", 42)])

    def test_recognizes_threads_by_their_names(self):
        progress_thread = "server's progress thread"
        for name, role in (("ib_send_lat", SERVER), ("verbena-pager", PAGER),
                           ("verbena-prog", progress_thread),
                           ("verbena-progres", progress_thread)):
            self.assertEqual(sched_picture.role_of_thread(SERVER, name), role)
            self.assertIn(role, sched_picture.COLOURS)


class RecordingTest(unittest.TestCase):
    def assert_shares(self, found: dict, expected: dict) -> None:
        self.assertEqual(found.keys(), expected.keys())
        for role, share in expected.items():
            self.assertAlmostEqual(found[role], share)

    def test_time_before_the_first_switch_belongs_to_the_previous_task(self):
        self.assert_shares(recording().shares(0), {SERVER: 0.4, CLIENT: 0.4, IDLE: 0.1, OTHER: 0.1})

    def test_without_a_switch_all_time_belongs_to_the_running_task(self):
        self.assert_shares(recording().shares(1), {LOOP: 1.0})

    def test_ignores_events_outside_of_the_window(self):
        part = Recording(EVENTS, (0.003, 0.0065), ROLES, {0: 0})
        self.assert_shares(part.shares(0), {CLIENT: 3 / 3.5, IDLE: 0.5 / 3.5})
        self.assertEqual((part.count("switch", 0), part.count("yield", 0)), (1, 1))

    def test_finds_the_part_with_most_switches_of_both_ends(self):
        self.assertEqual(recording().busiest(2), 1)
        loops = [Event(0.001 + i / 1e6, 0, "switch", 3, before=98) for i in range(9)]
        self.assertEqual(Recording(loops + EVENTS, (0.0, 0.01), ROLES, {0: 0}).busiest(2), 1)
        self.assertEqual(Recording([], (0.0, 1.0), {}, {0: 0}).busiest(20), 10)

    def test_columns_add_up_to_the_lane(self):
        for parts in recording().columns(0, 0.0011, 0.0077):
            self.assertAlmostEqual(sum(parts.values()), 1)

    def test_the_summary_has_each_lane(self):
        output = sched_picture.summary(recording())
        self.assertIn("CPU 0: 4 switches, 1 wake-ups, 1 calls of sched_yield", output)
        self.assertIn("CPU 1: 0 switches", output)


class DrawTest(unittest.TestCase):
    def test_a_column_is_as_high_as_the_lane(self):
        for parts in ({SERVER: 1}, {SERVER: 0.3, CLIENT: 0.3, LOOP: 0.4}, {IDLE: 1e-9, OTHER: 1}):
            self.assertEqual(sum(height for _, height in sched_picture.heights(Counter(parts))),
                             LANE)

    def test_axes_have_round_steps(self):
        self.assertEqual([sched_picture.step_of(length) for length in (20, 1, 30, 100)],
                         [2, 0.1, 5, 10])

    def test_a_drawing_has_its_title_and_all_lanes(self):
        drawing = ElementTree.fromstring(sched_picture.draw(recording(), "a <b> & " + "c " * 90))
        words = [one.text for one in drawing.iter() if one.tag.endswith("text")]
        self.assertEqual((words.count("CPU 0"), words.count("CPU 1")), (2, 2))
        self.assertTrue(words[0].startswith("a <b> & c"))
        self.assertLessEqual(max(len(one or "") for one in words), 130)


if __name__ == "__main__":
    unittest.main()
