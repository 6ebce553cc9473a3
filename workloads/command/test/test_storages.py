#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dense tables and tensor trains beside each other, as a user asks for them and reads of them."""
from program import ProgramTest, main, records

TRAINS = {"workload": "fbtt", "scale": "1/1000", "batch": 32, "steps": 6, "exchange": "mpi_alltoallv", "tt.row-shape": "auto"}


class Storages(ProgramTest):
    def test_compare_puts_storages_beside_each_other(self):
        outcome, file = self.case(2, command="compare", storage="dense,tt", plan="table_wise,data_parallel,row_wise", **TRAINS)
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        note, idle = outcome.complaints()
        self.assertTrue(note.startswith("shardmark: row_wise is not measured with --storage tt: "), note)
        self.assertEqual(idle, "shardmark: plan table_wise: rank 1 holds nothing")
        cases = {(case["plan"], case["options"]["storage"]): case for case in records(file)[1:]}
        self.assertEqual(sorted(cases), [("data_parallel", "dense"), ("data_parallel", "tt"), ("row_wise", "dense"),
                                         ("table_wise", "dense"), ("table_wise", "tt")])
        for (plan, storage), case in cases.items():
            self.assertEqual((case["wrong"], "tensor_train" in case, "tt.ranks" in case["options"]),
                             (0, storage == "tt", storage == "tt"), (plan, storage))
            self.assertEqual("storage" in case["changed"], storage == "dense")  # the workload says tt
            self.assertEqual(case["options"]["batches"], cases["table_wise", "dense"]["options"]["batches"])
        self.assertEqual(cases["table_wise", "dense"]["table_bytes_max"], 4 * 64 * 11000)
        self.assertEqual(cases["row_wise", "dense"]["table_bytes_max"], 4 * 64 * 5500)
        train = cases["table_wise", "tt"]
        self.assertEqual(train["table_bytes_max"], 4 * train["tensor_train"]["parameters"])
        self.assertLess(cases["data_parallel", "tt"]["sent_bytes_max"], cases["data_parallel", "dense"]["sent_bytes_max"])
        for line in outcome.out.splitlines():
            self.assertLessEqual(len(line), 120, line)
        for part in ("# plan           storage", "\n# tt: tables as products of cores, ", "\n# fbtt: ", "  Measured at 11,000 rows: ",
                     "  tt wins by memory from about ", "with data_parallel"):
            self.assertIn(part, outcome.out)
        shown = self.succeeds(self.serial("results", "show", file)).out
        self.assertEqual(shown.partition("ANSWER:")[2], outcome.out.partition("ANSWER:")[2])
        same = self.serial("results", "diff", file, file)
        self.assertIn("storage:dense", same.out)

    def test_a_plan_that_no_storage_can_do_is_an_error(self):
        self.refuses_case("row_wise", "storage tt", ranks=[2], **TRAINS, plan="row_wise")

    def test_a_plan_file_says_the_storage_of_tables(self):
        tables = [{"name": name, "rows": 4000, "dim": 16, "optimizer": {"name": "sgd"}} for name in ("A", "B")]
        spec = self.new_file({"name": "two", "global_batch": 64, "optimizer": {"name": "sgd"}, "tables": tables,
                              "features": [{"name": t["name"], "table": t["name"], "pooling": "sum"} for t in tables]})
        whole = lambda rank: [{"rows": [0, 4000, 1], "columns": [0, 16], "rank": rank}]
        halves = [{"rows": [rank, 4000, 2], "columns": [0, 16], "rank": rank} for rank in (0, 1)]
        plan = lambda shards: self.new_file({"format": "shardmark-plan/1", "name": "mixed", "ranks": 2, "tables": [
            {"name": "A", "shards": whole(0)}, {"name": "B", "storage": "tt", "shards": shards}]})
        mixed = plan(whole(1))
        for storage in (None, "dense,tt"):
            outcome, file = self.case(2, spec, command="compare", scale=1, plan=mixed, storage=storage,
                                      exchange="mpi_alltoallv")
            self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
            told = [case["options"]["storage"] for case in records(file)[1:]]
            self.assertEqual(told, [["dense", "tt"]] if storage is None else [["dense", "tt"], "tt"])
            for case in records(file)[1:]:
                self.assertEqual((case["wrong"], "tensor_train" in case), (0, True))
        self.refuses_case("table B", "storage tt", "row_wise", ranks=[2], workload=spec, scale=1, plan=plan(halves))
        self.assertRegex(self.succeeds(self.serial("plan", "show", spec, mixed)).out, r"\nB .* table_wise +1 +1, tt\n")

    def test_dynamic_tables_stand_beside_dense_ones(self):
        common = {"scale": "1/2000", "batch": 128, "steps": 4, "exchange": "mpi_alltoallv"}
        outcome, file = self.case(2, "criteo-kaggle", command="compare", storage="dense,dynamic", plan="table_wise,row_wise", **common)
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        cases = {(case["plan"], case["options"]["storage"]): case for case in records(file)[1:]}
        self.assertEqual(len(cases), 4)
        for (plan, storage), case in cases.items():
            self.assertEqual((case["wrong"], "dynamic" in case, case["options"].get("admit")),
                             (0, storage == "dynamic", "all" if storage == "dynamic" else None), (plan, storage))
        told = [case["dynamic"] for (_, storage), case in cases.items() if storage == "dynamic"]
        self.assertEqual(told[0]["rows"], told[1]["rows"])
        self.assertGreater(told[0]["load"], 0)
        for each in told:  # two plans take turns, each with empty tables
            self.assertGreater(each["found"], 0)
            self.assertEqual(each["admitted"], 0)
        outcome, file = self.case(4, "criteo-kaggle", storage="dynamic", plan="row_wise", admit="counter:5", evict="lru", capacity="40k",
                                  **common)
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        self.assertGreater(records(file)[1]["dynamic"]["absent"], 0)

    def test_dynamic_tables_are_refused_where_they_cannot_be(self):
        common = {"workload": "criteo-kaggle", "scale": "1/2000", "batch": 128, "storage": "dynamic"}
        for given, words in (({"plan": "data_parallel"}, ["plan data_parallel", "storage dynamic", "table_wise or row_wise"]),
                             ({"async": "rows"}, ["storage dynamic cannot be prefetched"]),
                             ({"evict": "lru", "capacity": 4096, "batch": 60000}, ["a step names", "capacity 4096", "use capacity="])):
            self.refuses_case(*words, ranks=[2], **{**common, **given})

    def test_run_says_how_fast_lookups_are_beside_fbtt(self):
        outcome, file = self.case(1, "fbtt", **{key: value for key, value in TRAINS.items() if key != "workload"}, plan="table_wise")
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        self.assertRegex(outcome.out.replace("\n#   ", " "),
                         r"# fbtt: [\d.]+ us per lookup forward \+ backward \+ update, 0.416 published \(GPU\); GFLOP/s: [\d.]+ "
                         r"nominal, [\d.]+ executed, [\d.]+ FBTT-printed \(published accounting, 10 times too high\)")
        self.assertEqual(records(file)[1]["options"]["storage"], "tt")


OPEN = {"scale": "1/256", "batch": 2048, "steps": 12, "batches": 6, "check": 3}


class OpenVocabulary(ProgramTest):
    def test_keys_are_equal_on_any_ranks_and_in_both_plans(self):
        rules = {"admit": "counter:2", "evict": "idle:3", "capacity": 40000, "storage": "dynamic", "exchange": "pairwise"}
        shapes = {"open-vocabulary": [(1, "table_wise"), (2, "row_wise"), (3, "table_wise"), (4, "row_wise")],
                  "churn": [(1, "row_wise"), (4, "table_wise")]}
        for workload, each in shapes.items():
            ends = set()
            for outcome, file in self.cases([{"ranks": ranks, "plan": plan, "workload": workload, **OPEN, **rules} for ranks, plan in each]):
                self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
                case = records(file)[1]
                self.assertEqual((case["wrong"], case["step_ms"]["n"]), (0, 12))
                self.assertGreater(case["dynamic"]["admitted"], 0)  # ids move on, and new keys stay new
                self.assertIn(f"their keys: {case['dynamic']['keys']}", " ".join(outcome.out.replace("#", "").split()))
                ends.add(tuple(case["dynamic"][name] for name in ("keys", "rows", "evicted")))
            self.assertEqual(len(ends), 1, ends)
            self.assertGreater(min(ends)[1], 1000)

    def test_other_storages_are_refused_by_name(self):
        self.refuses_case("table C1:", "2^64", "storage dense", "use --storage dynamic", ranks=[2], workload="open-vocabulary",
                          **OPEN, storage="dense")
        outcome = self.serial("plan", "show", "open-vocabulary", "table_wise", "--ranks", "2", "--storage", "tt")
        self.refuses(outcome, "table C1:", "storage tt")

    def test_what_nobody_says_is_asked_for(self):
        tables = [{"name": "T", "rows": -1, "dim": 4, "storage": "dynamic"}]
        spec = {"name": "any", "global_batch": 64, "optimizer": {"name": "sgd"}, "tables": tables,
                "features": [{"name": "F", "table": "T"}], "plans": ["table_wise"]}
        file = self.new_file(spec)
        self.refuses_serial(["run", file, "--dry-run"], "table T: rows -1", "--capacity N with --evict")
        self.refuses_serial(["run", "criteo-kaggle", "--dry-run", "--ids.new", "0.1"], "ids.new", '"rows": -1')
        outcome = self.serial("run", file, "--dry-run", "--capacity", "5000", "--evict", "lru")
        self.assertIn('"keys": 5000', self.succeeds(outcome).out)

    def test_keys_outside_a_vocabulary_are_refused_or_folded_and_counted(self):
        columns = [f"C{c + 1}" for c in range(26)]
        spec = self.new_file({"name": "few", "global_batch": 32, "optimizer": {"name": "sgd"}, "plans": ["row_wise"], "tables": [
            {"name": name, "rows": -1, "min_key": 0, "max_key": 2**31 - 1, "keys": 200, "dim": 4, "storage": "dynamic"} for name in columns],
            "features": [{"name": name, "table": name} for name in columns]})
        lines = [[str(row % 2), *map(str, range(13)), *(f"{(row * 26 + c) * 2654435761 % 2**32:08x}" for c in range(26))] for row in range(64)]
        data = self.new_file("".join("\t".join(line) + "\n" for line in lines), ".txt")
        outside = sum(int(value, 16) >= 2**31 for line in lines for value in line[14:])
        given = {"workload": spec, "scale": None, "batch": None, "steps": 4, "batches": 2, "check": 2, "data": data, "ids": "raw"}
        self.refuses_case("is outside", "2147483648", ranks=[1], **given)
        outcome, file = self.case(3, **given, bounds_check="fold")
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        self.assertEqual(records(file)[1]["replaced_ids"], outside)

    def test_values_of_a_criteo_file_are_keys(self):
        lines = [[str(row % 2), *map(str, range(13)), *(f"{(row % 40 * 26 + c) * 2654435761 % 2**32:08x}" for c in range(26))] for row in range(96)]
        data = self.new_file("".join("\t".join(line) + "\n" for line in lines), ".txt")
        given = {"scale": "1/16", "batch": 32, "steps": 4, "batches": 3, "check": 2, "data": data, "ids": "raw", "plan": "table_wise,row_wise"}
        cases = [{"ranks": ranks, "command": "compare", "storage": "dynamic", **given} for ranks in (1, 2)]
        values = {(c, line[14 + c]) for line in lines for c in range(26)}
        for outcome, file in self.cases(cases):
            self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
            self.assertEqual({case["dynamic"]["rows"] for case in records(file)[1:]}, {len(values)})
        self.refuses_case("id_rule raw", "storage dense", ranks=[1], **{**given, "plan": "table_wise"})


if __name__ == "__main__":
    main()
