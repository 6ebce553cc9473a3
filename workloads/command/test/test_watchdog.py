#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that stops or dies: every rank says where it is, the exit code says so, and no process is left."""
import re
import time
from pathlib import Path

from program import ProgramTest, main

QUICK = ["--seconds", "0.001", "--bytes", "64"]
LINE = re.compile(r"shardmark: rank (\d+) \((\S+)\): (.+) since [\d.]+ s; stuck")


def processes_naming(text):
    """Processes whose command line holds `text`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass
    return found


class Watchdog(ProgramTest):
    def none_is_left(self, text):
        for _ in range(50):
            if not processes_naming(str(text)):
                return
            time.sleep(0.1)
        self.fail(f"left behind: {processes_naming(str(text))}")

    def test_a_rank_that_stops_in_a_step(self):
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                outcome, file = self.case(ranks, plan="row_wise", set="fault=stop", watchdog=3)
                self.assertEqual(outcome.code, 124, outcome.out + outcome.err)
                phases = {int(rank): phase for rank, _, phase in LINE.findall(outcome.err)}
                self.assertEqual(sorted(phases), list(range(ranks)), outcome.err)
                self.assertEqual(phases[ranks - 1], "lookup")
                for rank in range(ranks - 1):
                    self.assertEqual(phases[rank], "output_dist")
                self.none_is_left(file)

    def test_a_rank_that_stops_in_an_exchange(self):
        file = self.new_path(".jsonl")
        outcome = self.launch(3, "exchange", *QUICK, "--exchange", "pairwise", "--set", "fault=stop", "--watchdog", "3",
                              "--out", file)
        self.assertEqual(outcome.code, 124, outcome.out + outcome.err)
        phases = {int(rank): phase for rank, _, phase in LINE.findall(outcome.err)}
        self.assertEqual(phases, {rank: "exchange pairwise, uniform 64" for rank in range(3)}, outcome.err)
        self.none_is_left(file)

    def test_a_rank_that_dies(self):
        outcome, file = self.case(3, plan="row_wise", set="fault=die", watchdog=5)
        self.assertNotEqual(outcome.code, 0, outcome.out + outcome.err)
        self.none_is_left(file)
        file = self.new_path(".jsonl")
        outcome = self.launch(2, "exchange", *QUICK, "--exchange", "linear", "--set", "fault=die", "--out", file)
        self.assertNotEqual(outcome.code, 0, outcome.out + outcome.err)
        self.none_is_left(file)

    def test_is_silent_while_all_goes_on_and_may_be_off(self):
        for seconds in ("10", "0"):
            outcome = self.succeeds(self.launch(2, "exchange", *QUICK, "--exchange", "linear", "--watchdog", seconds))
            self.assertEqual(outcome.complaints(), [])
        self.refuses(self.launch(2, "exchange", *QUICK, "--watchdog", "-1"), "--watchdog")


if __name__ == "__main__":
    main()
