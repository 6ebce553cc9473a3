#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run that is killed keeps what it has measured; one that is warned prints it."""
import os
import signal
import subprocess
import time
from pathlib import Path

from program import MPIEXEC, SHARDMARK, ProgramTest, main, records

LONG = ["compare", "criteo-kaggle", "--plan", "table_wise,row_wise", "--exchange", "pairwise,linear", "--scale", "1/4096",
        "--batch", "240", "--threads", "1", "--steps", "3000", "--check", "1", "--out"]
WARNED = {signal.SIGUSR1: "SIGUSR1", signal.SIGTERM: "SIGTERM"}


class Interruption(ProgramTest):
    def start_long(self, ranks):
        """A compare that goes on for long, once it has finished a round: (process, its results file)."""
        file = self.new_path(".jsonl")
        launcher = [*MPIEXEC, str(ranks)] if ranks > 1 else []
        process = subprocess.Popen([*launcher, SHARDMARK, *LONG, file], stdin=subprocess.DEVNULL, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                   start_new_session=True)
        self.addCleanup(self.end, process)
        partial = Path(f"{file}.partial")
        deadline = time.monotonic() + 50
        while not (partial.exists() and len(records(partial)) > 1):
            self.assertIsNone(process.poll(), process.returncode)
            self.assertLess(time.monotonic(), deadline, "no round was finished")
            time.sleep(0.05)
        return process, file

    def end(self, process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()

    def test_a_killed_run_keeps_every_case_of_its_last_round(self):
        process, file = self.start_long(2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
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


if __name__ == "__main__":
    main()
