#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every planner makes plans that run, and are right, on 1 to 4 ranks."""
import re

from program import ProgramTest, main, records


class Planners(ProgramTest):
    def compare_all(self, workload, ranks, **given):
        plans = re.findall(r"^  (\S+)", self.serial("list", "planners").out, re.MULTILINE)
        self.assertGreater(len(plans), 20)
        outcome, file = self.case(ranks, workload, "compare", plan=",".join(plans), exchange="mpi_alltoallv", **given)
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        self.assertEqual(outcome.complaints(), [])
        cases = records(file)[1:]
        self.assertEqual(sorted(case["plan"] for case in cases), sorted(plans))
        for case in cases:
            self.assertEqual((case["wrong"], case["ranks"]), (0, ranks), case["plan"])

    def test_on_one_hot_features(self):
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                self.compare_all("criteo-kaggle", ranks, scale="1/4096")

    def test_on_shared_multi_hot_tables(self):
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                self.compare_all("synthetic-tiny", ranks, scale="1/1024", batch=60)

    def test_search_keeps_to_what_the_format_of_the_file_can_express(self):
        for name in ("torchrec-plan", "hugectr-matrix", "hugectr-v3.8"):
            file = self.new_path()
            arguments = ["plan", "create", "criteo-kaggle", "--plan", "search:anneal=off", "--ranks", 4, "--to", name, "--out", file]
            outcome = self.succeeds(self.serial(*arguments))
            self.assertRegex(outcome.err, rf"keeping to what {name} can express costs (nothing|[\d.]+ % of a step): [\d.]+ ms predicted, [\d.]+ ms without\n")
            self.succeeds(self.serial("plan", "check", "criteo-kaggle", file, "--ranks", 4))
        outcome = self.succeeds(self.serial("plan", "create", "criteo-kaggle", "--plan", "search:anneal=off", "--ranks", 4, "--out", self.new_path(".json")))
        self.assertNotIn("keeping to", outcome.err)
        self.refuses_serial(["plan", "create", "criteo-kaggle", "--plan", "search:format=yaml", "--ranks", 4], "yaml", "torchrec-plan")

    def test_all_is_every_planner_that_can_place_the_tables_and_plans_alike_once(self):
        outcome, file = self.case(2, command="compare", plan="all", exchange="mpi_alltoallv")
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        plans = {record["plan"] for record in records(file)[1:]}
        self.assertLessEqual({"table_wise", "row_wise", "column_wise", "data_parallel"}, plans)
        self.assertIn("basic is the plan table_wise", outcome.err)
        self.assertNotIn("basic", plans)


if __name__ == "__main__":
    main()
