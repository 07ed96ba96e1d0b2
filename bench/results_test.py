#!/usr/bin/env python3
"""Results are stored with machine and commit, and the page contains them."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import record
import results

WHERE = {"cpu": "Some processor", "cores": 2, "memory_gib": 8.0, "kernel": "6.1.0", "load": 0.5,
         "commit": "0123456789ab+", "date": "2026-01-02"}
MEMORY = {"translate, 1 region": {"value": 116.0, "unit": "instructions", "budget": 150},
          "bind, time": {"value": 0.038, "unit": "us", "budget": 0.3},
          "translate, time": {"value": 0.009, "unit": "us", "budget": None}}
LOOPBACK = {"runs": 3, "bare UDP, round trip, us": 4.0, "bare UDP, round trips per second": 200000,
            "verbena, write of 64 bytes, us": 6.0, "verbena, writes of 64 bytes per second": 3e6,
            "verbena, writes of 1 MiB, MiB/s": 3600.0, "qperf tcp_bw, MiB/s": 4000.0}


class ResultsTest(unittest.TestCase):
    def test_reads_the_name_of_the_processor(self):
        self.assertEqual(record.cpu_model("processor : 0\nmodel name\t: A B  C\n"), "A B  C")
        self.assertNotEqual(record.cpu_model("processor : 0\n"), "")

    def test_results_start_with_machine_and_commit(self):
        self.assertEqual(set(record.begin(results.ROOT / "build")[record.WHERE]), set(WHERE))

    def test_programs_of_another_tree_have_no_known_commit(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            self.assertEqual(record.where(build)["commit"], "unknown")
            (build / "CMakeCache.txt").write_text(
                "CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n", encoding="utf-8")
            self.assertEqual(record.where(build)["commit"], "unknown")
            (build / "CMakeCache.txt").write_text(
                f"CMAKE_HOME_DIRECTORY:INTERNAL={results.ROOT}\n", encoding="utf-8")
            self.assertEqual(record.where(build)["commit"], record.commit())

    def test_a_commit_with_changes_has_a_plus(self):
        with tempfile.TemporaryDirectory() as root:
            def git(*arguments):
                subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b",
                                *arguments], check=True, capture_output=True)

            self.assertEqual(record.commit(pathlib.Path(root)), "unknown")
            git("init")
            file = pathlib.Path(root, "file")
            file.write_text("one", encoding="utf-8")
            git("add", "file")
            git("commit", "-m", "One")
            clean = record.commit(pathlib.Path(root))
            self.assertRegex(clean, r"^[0-9a-f]{12}$")
            file.write_text("two", encoding="utf-8")
            self.assertEqual(record.commit(pathlib.Path(root)), clean + "+")

    def test_the_page_names_machine_and_commit(self):
        text = results.page({"memory": {"where": WHERE} | MEMORY})
        self.assertIn("2026-01-02, commit `0123456789ab+`: Some processor, 2 cores, 8.0 GiB, "
                      "Linux 6.1.0, load 0.5.", text)
        self.assertIn("| translate, 1 region | 116 | instructions | 150 |", text)
        self.assertIn("| bind, time | 38 | ns | 300 |", text)
        self.assertIn("| translate, time | 9 | ns |  |", text)

    def test_the_page_has_ratios_and_their_aims(self):
        text = results.page({"peers": {"where": WHERE, "loopback": LOOPBACK}})
        self.assertIn("| latency of a write of 64 bytes / bare UDP | 1.5 | <= 1.25 | no |", text)
        self.assertIn("| bandwidth of writes of 1 MiB / TCP | 0.9 | >= 0.8 | yes |", text)

    def test_does_not_keep_results_without_machine_and_commit(self):
        with tempfile.TemporaryDirectory() as root:
            build, folder = pathlib.Path(root, "build"), pathlib.Path(root, "docs/results")
            record.write(build / "bench/memory.json", {"where": WHERE} | MEMORY)
            record.write(build / "bench/peers.json", {"loopback": LOOPBACK})
            record.write(build / "bench/ucx.json", {"where": WHERE | {"commit": "unknown"}})
            self.assertEqual(results.keep(build, folder), ["memory"])
            self.assertEqual(json.loads((folder / "memory.json").read_text(encoding="utf-8")),
                             {"where": WHERE} | MEMORY)

    def test_the_page_has_what_a_cache_gains_and_its_figure(self):
        found = {"where": WHERE, "verbena_ns": {"Hit/10/threads:1": 12.5, "Miss": 400.0},
                 "ucx_ns": {"Hit/10/threads:1": 60.0},
                 "plain_us": {"16384": 8.0, "4096": 6.0}, "cache_us": {"16384": 2.0, "4096": 3.0}}
        text = results.page({"registration_cache": found})
        self.assertIn("| Hit/10/threads:1 | 12.5 | 60 | 50 |\n| Miss | 400 |  |  |", text)
        self.assertIn("| 4,096 | 6 | 3 | 2 |\n| 16,384 | 8 | 2 | 4 |", text)
        self.assertIn("(results/registration_cache.svg)", text)
        nothing_locked = results.page({"registration_cache": found | {"plain_us": {}}})
        self.assertNotIn("svg", nothing_locked)

    def test_a_figure_is_kept_with_its_results(self):
        with tempfile.TemporaryDirectory() as root:
            build, folder = pathlib.Path(root, "build"), pathlib.Path(root, "docs/results")
            record.write(build / "bench/registration_cache.json", {"where": WHERE})
            (build / "bench/registration_cache.svg").write_text("<svg/>", encoding="utf-8")
            self.assertEqual(results.keep(build, folder), ["registration_cache"])
            self.assertTrue((folder / "registration_cache.svg").exists())

    def test_an_outdated_page_fails_the_check(self):
        with tempfile.TemporaryDirectory() as root:
            def run(*options):
                return subprocess.run([sys.executable, results.__file__, "--root", root, *options],
                                      capture_output=True, text=True, check=False)

            record.write(pathlib.Path(root, results.KEPT, "memory.json"), {"where": WHERE} | MEMORY)
            self.assertEqual(run().returncode, 0)
            self.assertEqual(run("--check").returncode, 0)
            record.write(pathlib.Path(root, results.KEPT, "memory.json"), {"where": WHERE})
            late = run("--check")
            self.assertEqual(late.returncode, 1)
            self.assertIn("docs/results.md:1: ", late.stdout)


if __name__ == "__main__":
    unittest.main()
