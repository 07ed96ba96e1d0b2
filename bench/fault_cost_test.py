#!/usr/bin/env python3
"""fault_cost.py computes ratios from measurements and compares them with their aims."""

import unittest

import fault_cost


def at(value: float) -> dict:
    return {"p50": value}


def storm(**changes) -> dict:
    return {"qps": 10, "requester": True, "responder": False, "page_ins_us": 100.0,
            "cold_us": 150.0, "warm_us": 50.0, "rnr_naks": 0, "timeouts": 0} | changes


def window(rate: float, p99: float) -> dict:
    return {"writes_per_second": [rate, rate * 2, rate * 3], "p99_us": [p99, p99 * 2, p99 * 3]}


class FaultCostTest(unittest.TestCase):
    def test_an_aim_may_be_met_exactly(self):
        self.assertTrue(fault_cost.Ratio("x", 2.0, "<= 2").met)
        self.assertFalse(fault_cost.Ratio("x", 2.01, "<= 2").met)
        self.assertTrue(fault_cost.Ratio("x", 0.95, ">= 0.95").met)
        self.assertFalse(fault_cost.Ratio("x", 0.94, ">= 0.95").met)
        self.assertIn("NOT MET", fault_cost.Ratio("x", 2.01, "<= 2").line())
        self.assertNotIn("aim", fault_cost.Ratio("x", 2.01, "").line())

    def test_a_cold_write_is_compared_with_its_parts(self):
        found = {"cold_us": at(30.0), "populate_us": at(2.0), "warm_us": at(8.0),
                 "lone_us": at(40.0), "userfault_us": at(20.0)}
        self.assertEqual([ratio.value for ratio in fault_cost.of_minor(found)], [3.0, 4.0, 1.5])
        self.assertEqual(fault_cost.of_message(found)[0].value, 3.0)

    def test_takes_the_median_of_pairwise_ratios(self):
        # Background load that halves the speed of one pair does not change the result.
        self.assertAlmostEqual(
            fault_cost.median_of_pairs([100, 50, 101], [99, 50, 100]), 1.01, 2)
        with self.assertRaises(ValueError):
            fault_cost.median_of_pairs([1], [1, 2])

    def test_the_worst_storm_counts_and_every_timeout(self):
        found = {"slow": [storm(), storm(qps=100, cold_us=201.0, timeouts=2)], "zero": [storm()]}
        slow, _, slow_timeouts, zero, zero_warm, zero_timeouts = fault_cost.of_storm(found)
        self.assertAlmostEqual(slow.value, 2.01)
        self.assertFalse(slow.met)
        self.assertEqual((slow_timeouts.value, slow_timeouts.met), (2, False))
        self.assertAlmostEqual(zero.value, 1.5)
        self.assertEqual((zero_warm.value, zero_warm.aim), (1.0, ""))
        self.assertTrue(zero_timeouts.met)

    def test_of_repetitions_the_median_counts_and_every_timeout(self):
        rows = fault_cost.storm_rows([storm(cold_us=900.0, timeouts=1), storm(cold_us=110.0),
                                      storm(cold_us=120.0, timeouts=1), storm(qps=100)])
        self.assertEqual([(row["qps"], row["cold_us"], row["timeouts"]) for row in rows],
                         [(10, 120.0, 2), (100, 150.0, 0)])

    def test_the_table_names_the_faulting_end(self):
        both = storm(requester=True, responder=True)
        lines = fault_cost.storm_table({"slow": [storm(), both, storm(requester=False,
                                                                      responder=True)]})
        self.assertEqual([next(word for word in ("requester", "responder", "both") if word in line)
                          for line in lines[1:]], ["requester", "both", "responder"])

    def test_isolation_is_compared_with_both_baselines(self):
        one = {"alone": window(100, 10), "faulting": window(96, 10.6), "beside": window(98, 10.4)}
        ratios = fault_cost.of_isolation({"disk": one})
        self.assertEqual([ratio.met for ratio in ratios], [True, False, True, True])
        ratios = fault_cost.of_isolation({"managed": one})
        self.assertEqual([ratio.met for ratio in ratios], [True, False, True, True])
        ratios = fault_cost.of_isolation({"managed": one | {"bare": window(104, 10)}})
        self.assertEqual([ratio.met for ratio in ratios], [True, False, True, True, False, False])

    def test_stuck_pages_are_compared_with_the_writer_alone(self):
        one = {"meeting": "left", "requester": True, "pages": 2, "lost": False, "failed": 0,
               "timeouts": 1, "alone": window(100, 10),
               "stuck": window(94, 10.4) | {"longest_us": [3000.0, 9000.0, 4000.0]}}
        found = {"windows": [one, one | {"lost": True}],
                 "third": {"seconds": 0.2, "status": "success"},
                 "held_read": {"seconds": 0.6, "status": "retry exceeded"}}
        ratios = fault_cost.of_stuck(found)
        rate, p99, longest = ratios[:3]
        self.assertEqual((rate.met, p99.met, longest.value), (False, True, 4.0))
        self.assertIn("requester", rate.name)
        self.assertEqual([ratio.value for ratio in ratios[6:9]], [0, 2, 1])
        self.assertEqual([ratio.met for ratio in ratios[9:]], [False, True, True, False])
        self.assertEqual(fault_cost.of_stuck({}), [])
        self.assertEqual(fault_cost.stuck_name(one | {"pages": 0}), "nothing stuck")

    def test_registration_locks_nothing(self):
        found = {"register_us": 50.0, "mlock_us": 500000.0,
                 "resident_kib_before": 1000, "locked_kib_before": 0,
                 "resident_kib_registered": 1100, "locked_kib_registered": 1024}
        locked, resident, faster = fault_cost.of_registration(found)
        self.assertFalse(locked.met)
        self.assertTrue(resident.met)
        self.assertEqual(faster.value, 10000)

    def test_names_skipped_measurements(self):
        self.assertEqual(fault_cost.left_out("storm", {"swapped": [], "zero": []}),
                         [fault_cost.KINDS["slow"]])
        self.assertEqual(fault_cost.left_out("isolation", {"managed": {}}),
                         [fault_cost.STORAGES["disk"]])
        self.assertEqual(fault_cost.left_out("registration", {}), ["mlock of 1 GiB"])
        self.assertEqual(fault_cost.left_out("stuck", {}), [fault_cost.STUCK])
        self.assertEqual(fault_cost.left_out("stuck", {"windows": []}), [])
        self.assertEqual(fault_cost.left_out("warm", {}), [])


if __name__ == "__main__":
    unittest.main()
