#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a measurement says of itself: what it could have shown, what it left out, and who else was on the processors."""
import os

from program import SHARDMARK, SMALL, ProgramTest, main, options, records, start


class Measuring(ProgramTest):
    def test_compare_says_what_it_could_have_shown(self):
        outcome, file = self.case(2, command="compare", plan="row_wise,table_wise", exchange="pairwise", steps=12)
        text = " ".join(line.strip() for line in self.succeeds(outcome).out.split("ANSWER: ")[1].splitlines())
        self.assertRegex(text, r"This run could have shown differences of [\d.]+ % or more: \w+_wise, measured twice as two cases, "
                               r"took [\d.]+ times \[[\d.]+, [\d.]+\] as long the second time. FOM")
        cases = records(file)[1:]
        self.assertEqual(sum("twin" in case for case in cases), 1)
        for case in cases:
            self.assertEqual(len(case["conditions"]["seconds"]), 6)
            self.assertEqual(case["vs_best"]["rounds"], 6)
        self.assertIn(1, [case["vs_best"]["ratio"] for case in cases])

    def test_a_budget_too_small_for_all_measures_what_fits(self):
        outcome, file = self.case(2, command="compare", plan="row_wise,table_wise", exchange="pairwise", steps=None,
                                  budget="0.001s")
        text = " ".join(self.succeeds(outcome).out.split())
        self.assertIn("Not measured, as --budget has no time for it: table_wise auto pairwise.", text)
        self.assertEqual([case["plan"] for case in records(file)[1:]], ["row_wise"])
        self.assertEqual(records(file)[0]["left_out"], ["table_wise auto pairwise"])

    def test_a_single_rank_under_variables_of_more_is_warned_of(self):
        for variables, warned in (({"SLURM_NTASKS": "4"}, True), ({"SLURM_NTASKS": "1"}, False)):
            outcome = start([SHARDMARK, "run", "criteo-kaggle", *options({**SMALL, "out": self.new_path(".jsonl")})],
                            variables, folder=self.folder)
            self.succeeds(outcome)
            self.assertEqual("this is a single rank, though SLURM_NTASKS says 4" in outcome.err, warned, outcome.err)
            self.assertNotIn("exchanges", outcome.out.split("ANSWER")[1])

    def test_more_threads_than_processors_wait_passively(self):
        for threads, policy in ((2 * os.cpu_count(), "passive"), (1, None)):
            outcome, file = self.case(2, threads=threads)
            self.succeeds(outcome)
            self.assertEqual(records(file)[0]["variables"].get("OMP_WAIT_POLICY"), os.environ.get("OMP_WAIT_POLICY", policy))


if __name__ == "__main__":
    main()
