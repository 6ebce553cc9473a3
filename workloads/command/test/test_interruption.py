#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run that is killed keeps what it has measured; one that is warned prints it."""
import os
import signal
import subprocess
import time
from pathlib import Path

from program import MPIEXEC, SHARDMARK, ProgramTest, main, records

STEPS = 1200
LONG = ["compare", "criteo-kaggle", "--plan", "table_wise,row_wise", "--exchange", "pairwise,linear", "--scale", "1/4096",
        "--batch", "240", "--threads", "1", "--steps", str(STEPS), "--check", "1", "--out"]
WARNED = {signal.SIGUSR1: "SIGUSR1", signal.SIGTERM: "SIGTERM"}


class Interruption(ProgramTest):
    def start_long(self, ranks, file=None, *more, least_rounds=1):
        """A compare that goes on for long, once it has finished a round: (process, its results file)."""
        file = file or self.new_path(".jsonl")
        launcher = [*MPIEXEC, str(ranks)] if ranks > 1 else []
        process = subprocess.Popen([*launcher, SHARDMARK, *LONG, file, *more], stdin=subprocess.DEVNULL, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                   start_new_session=True)
        self.addCleanup(self.end, process)
        partial = Path(f"{file}.partial")
        deadline = time.monotonic() + 50
        while not (partial.exists() and len(records(partial)) > 1 and records(partial)[0]["rounds"] >= least_rounds):
            self.assertIsNone(process.poll(), process.returncode)
            self.assertLess(time.monotonic(), deadline, "no round was finished")
            time.sleep(0.05)
        return process, file

    def end(self, process):
        """Kills the launcher and its ranks, each of which leads a group of its own, and waits: no rank writes afterwards."""
        deadline = time.monotonic() + 30
        while running := [int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if self.runs_in(stat, process.pid)]:
            self.assertLess(time.monotonic(), deadline, f"processes {running} do not end")
            for each in running:
                try:
                    os.kill(each, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        process.communicate()

    def runs_in(self, stat, session):
        """Whether /proc/PID/stat is that of a process of the session that has not ended."""
        try:
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            return False
        return int(its_session) == session and state not in "ZX"

    def test_a_killed_run_keeps_every_case_of_its_last_round(self):
        process, file = self.start_long(2)
        self.end(process)
        self.assertFalse(file.exists())
        environment, *cases = records(f"{file}.partial")
        self.assertEqual((environment["state"], environment["rounds"] >= 1), ("running", True))
        self.assertEqual(len(cases), 4)
        shown = self.succeeds(self.serial("results", "show", f"{file}.partial"))
        self.assertIn("row_wise", shown.out)
        self.assertTrue(shown.last_line().startswith("RESULT: INTERRUPTED ("), shown.out)

    def test_a_warned_run_prints_its_table(self):
        for ranks, number in ((1, signal.SIGUSR1), (1, signal.SIGTERM), (2, signal.SIGUSR1)):
            with self.subTest(ranks=ranks, signal=WARNED[number]):
                process, file = self.start_long(ranks)
                process.send_signal(number)  # the launcher passes it on to its ranks
                out, err = process.communicate(timeout=30)
                self.assertEqual(process.returncode, 128 + number, out + err)
                self.assertIn("row_wise", out)
                self.assertTrue(out.rstrip().rpartition("\n")[2].startswith("RESULT: INTERRUPTED ("), out)
                self.assertIn(WARNED[number], out.rstrip().rpartition("\n")[2])
                environment, *cases = records(file)
                self.assertEqual(environment["state"], f"interrupted by {WARNED[number]}")
                self.assertEqual(len(cases), 4)
                self.assertFalse(Path(f"{file}.partial").exists())
                self.assertEqual(self.serial("results", "show", file).out, out)

    def resumed(self, file, given, ranks=2):
        """Resumes and ends: the outcome."""
        return self.launch(ranks, *LONG[:-1], "--resume", given, *(["--out", file] if file else []))

    def test_a_job_that_is_killed_twice_goes_on_and_measures_nothing_twice(self):
        process, file = self.start_long(2)
        self.end(process)
        partial = Path(f"{file}.partial")
        first = records(partial)
        process, _ = self.start_long(2, file, "--resume", partial, least_rounds=first[0]["rounds"] + 1)
        self.end(process)
        second = records(partial)
        self.assertGreater(second[0]["rounds"], first[0]["rounds"])
        outcome = self.succeeds(self.resumed(None, partial))
        self.assertEqual(outcome.last_line(), "RESULT: VALID", outcome.out)
        environment, *cases = records(file)
        self.assertFalse(partial.exists())
        self.assertEqual([job["rounds"] for job in environment["resumed"]], [first[0]["rounds"], second[0]["rounds"]])
        self.assertNotIn("state", environment)
        for earlier in (first[1:], second[1:]):
            for before, case in zip(earlier, cases):
                self.assertEqual(case["plan_digest"], before["plan_digest"])
                self.assertEqual(case["step_ms"]["samples"][:before["step_ms"]["n"]], before["step_ms"]["samples"])
        for case in cases:
            self.assertEqual((case["step_ms"]["n"], len(case["step_ms"]["visits"]), len(case["conditions"]["seconds"])), (STEPS, 6, 6))
        self.refuses(self.resumed(None, file), "came to its end")

    def test_an_interrupted_job_goes_on_in_a_file_of_its_own(self):
        process, file = self.start_long(2)
        process.send_signal(signal.SIGUSR1)
        process.communicate(timeout=30)
        before = file.read_bytes()
        other = self.new_path(".jsonl")
        self.succeeds(self.resumed(other, file))
        self.assertEqual(file.read_bytes(), before)
        self.assertEqual([case["step_ms"]["n"] for case in records(other)[1:]], 4 * [STEPS])
        self.refuses(self.launch(2, *LONG[:-1], "--seed", "7", "--resume", file), "seed", "--resume")
        self.refuses(self.launch(2, *LONG[:-1], "--wire", "fp16", "--resume", file), "none of this job", "table_wise")
        self.refuses(self.launch(2, *LONG[:-1], "--resume", self.folder / "none.partial"), "none.partial")

    def test_a_resumed_job_may_replace_its_file_and_loses_nothing_when_it_is_killed_at_once(self):
        """What was measured before stands in FILE.partial from the beginning."""
        process, file = self.start_long(2)
        process.send_signal(signal.SIGUSR1)
        process.communicate(timeout=30)
        before = records(file)
        self.refuses(self.resumed(file, file), f"{file}: exists already", "--force")
        process = subprocess.Popen([*MPIEXEC, "2", SHARDMARK, *LONG[:-1], "--resume", file, "--out", file, "--force"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.folder, start_new_session=True)
        self.addCleanup(self.end, process)
        partial = Path(f"{file}.partial")
        while not (partial.exists() and partial.read_bytes()):
            self.assertIsNone(process.poll())
            time.sleep(0.002)
        self.assertGreaterEqual(len(records(partial)), len(before))
        self.end(process)
        self.succeeds(self.launch(2, *LONG[:-1], "--resume", partial, "--out", file, "--force"))
        for old, new in zip(before[1:], records(file)[1:]):
            self.assertEqual(new["step_ms"]["samples"][:old["step_ms"]["n"]], old["step_ms"]["samples"])
            self.assertEqual(new["step_ms"]["n"], STEPS)
        self.assertFalse(partial.exists())

    def test_a_job_without_a_case_leaves_nothing_behind(self):
        outcome, file = self.case(1, "criteo-kaggle", set="fault=fail")
        self.assertEqual(outcome.code, 4)
        self.assertFalse(Path(f"{file}.partial").exists())


if __name__ == "__main__":
    main()
