#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plan create, show, check and convert, and what `run` says of plan files; examples of HugeCTR's format are golden."""
import copy
import json

from program import REPOSITORY, ProgramTest, main, records

GOLDEN = json.loads((REPOSITORY / "comm/placement/test/data/plan_examples.json").read_text())
FORMATS = ("hugectr-v3.7", "hugectr-notebook", "hugectr-v3.8")


def golden(name):
    return next(entry for entry in GOLDEN["valid"] + GOLDEN["invalid"] if entry["name"] == name)


def spec_of(example):
    """The tables T0, T1, ... and lookups L0, L1, ... of an example as a workload."""
    context = example["context"]
    tables = [{"name": f"T{t}", "rows": table["rows"], "dim": table["dim"],
               "optimizer": {"name": table.get("optimizer", "sgd")}} for t, table in enumerate(context["tables"])]
    features = [{"name": f"L{l}", "table": f"T{lookup['table']}", "pooling": lookup["pooling"]}
                for l, lookup in enumerate(context["lookups"])]
    return {"name": example["name"], "global_batch": 64, "optimizer": {"name": "sgd"}, "tables": tables,
            "features": features}


class OurFiles(ProgramTest):
    def test_hot_rows_are_planned_shown_and_run(self):
        plan = self.new_path(".json")
        self.succeeds(self.serial("plan", "create", "criteo-kaggle", "--scale", "1/4096", "--ranks", 2, "--out", plan,
                                  "--plan", "hot_rows:rows=40", "--replicate-rows", 50))
        entry = next(table for table in json.loads(plan.read_text())["tables"] if table["name"] == "C3")
        self.assertEqual((entry["hot_rows"], [shard["rows"][0] for shard in entry["shards"]]), (40, [40, 41]))
        shown = self.succeeds(self.serial("plan", "show", "criteo-kaggle", plan, "--scale", "1/4096")).out
        self.assertRegex(shown, r"\nC3 .* hot_rows\+row_wise +2 +all have rows 0 to 40\n")
        outcome, file = self.case(2, command="compare", plan=plan, transfer="dense_partials,unique_rows")
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        self.assertEqual([case["wrong"] for case in records(file)[1:]], [0, 0])
        self.refuses_serial(["plan", "convert", "criteo-kaggle", plan, "--to", "hugectr-v3.8"], "copies of its first 40 rows")

    def test_what_no_step_can_do_is_neither_created_nor_sound(self):
        spec = self.new_file({"name": "trains", "global_batch": 64, "optimizer": {"name": "sgd"},
                              "tables": [{"name": "a", "rows": 1000, "dim": 16, "storage": "tt"}, {"name": "b", "rows": 900, "dim": 8}],
                              "features": [{"name": "f", "table": "a"}, {"name": "g", "table": "b"}]})
        self.refuses_serial(["plan", "create", spec, "--ranks", 2, "--plan", "row_wise"], "splits table a", "storage tt")
        plan = self.new_path(".json")
        for planner in ("search", "table_wise"):
            self.succeeds(self.serial("plan", "create", spec, "--ranks", 2, "--plan", planner, "--out", plan))
            plan.with_name(f"{planner}.json").write_text(plan.read_text())
            plan.unlink()
        whole = plan.with_name("table_wise.json")
        self.succeeds(self.serial("plan", "check", spec, whole))
        for other in ("hugectr-v3.8", "torchrec"):
            self.refuses_serial(["plan", "convert", spec, whole, "--to", other], "table 'a'", "storage, tt")
        split = json.loads(whole.read_text())
        rows = next(table for table in split["tables"] if table["name"] == "a")["shards"]
        rows[:] = [{**rows[0], "rows": [begin, begin + 500, 1], "rank": begin // 500} for begin in (0, 500)]
        self.refuses_serial(["plan", "check", spec, self.new_file(split)], "splits table a", "1 problem")

    def test_a_plan_of_whole_tables_is_one_of_scaled_tables(self):
        plan = self.new_path(".json")
        for planner in ("row_wise", "row_wise_block", "column_wise", "hot_rows:rows=4000", "search"):
            self.succeeds(self.serial("plan", "create", "criteo-kaggle", "--plan", planner, "--ranks", 2, "--out", plan))
            with self.subTest(planner):
                for scale in ("1", "1/500", "1/4096"):
                    self.succeeds(self.serial("plan", "check", "criteo-kaggle", plan, "--scale", scale))
                outcome, file = self.case(2, plan=plan)
                self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
                self.assertEqual(records(file)[1]["wrong"], 0)
            plan.unlink()
        self.succeeds(self.serial("plan", "create", "criteo-kaggle", "--plan", "row_wise", "--ranks", 2, "--out", plan))
        self.refuses_serial(["plan", "show", "synthetic-tiny", plan], "no such table")
        scaled = self.new_path(".json")
        self.succeeds(self.serial("plan", "convert", "criteo-kaggle", plan, "--scale", "1/500", "--out", scaled))
        self.assertEqual(json.loads(scaled.read_text())["tables"][2]["shards"][1]["rows"], [1, -(-10131227 // 500), 2])

    def test_check_lists_every_problem(self):
        plan = json.loads(self.serial("plan", "create", "criteo-kaggle", "--plan", "table_wise", "--ranks", 3).out)
        plan["tables"][3]["shards"][0]["rank"] = 7
        plan["tables"][5]["shards"][0]["rows"][0] = 1
        file = self.new_file(plan)
        outcome = self.serial("plan", "check", "criteo-kaggle", file, "--ranks", 4, "--batch", 16)
        self.refuses(outcome, "4 problems")
        for problem in ("table 'C4', rank 7", "table 'C6', columns 0 to 16: row 0 is on no rank", "for 3 ranks, the job has 4",
                        "the global batch of 16 does not divide by 3 ranks"):
            self.assertIn(problem, outcome.err)
        plan["tables"][3]["shards"] = 1
        del plan["tables"][5]["name"], plan["tables"][7]
        outcome = self.serial("plan", "check", "criteo-kaggle", self.new_file(plan))
        self.refuses(outcome, "4 problems")
        for problem in ("table 'C4': 'shards' must be a list", "table 5: key 'name' is missing", "table 'C6' is missing", "table 'C8' is missing"):
            self.assertIn(problem, outcome.err)
        spec = self.new_file({"name": "two", "global_batch": 8, "optimizer": {"name": "sgd"},
                              "tables": [{"name": "a", "rows": 9, "dim": 4, "value_type": "int8"}, {"name": "b", "rows": 9, "dim": 4, "value_type": "int8"}],
                              "features": [{"name": "f", "table": "a"}, {"name": "g", "table": "b"}]})
        whole = {"format": "shardmark-plan/1", "name": "p", "ranks": 1, "tables": [{"name": name, "data_parallel": True} for name in "ab"]}
        self.refuses(self.serial("plan", "check", spec, self.new_file(whole)), "2 problems")

    def test_plans_of_one_name_are_told_apart(self):
        plans = []
        for planner in ("row_wise", "table_wise"):
            plan = self.new_path(".json")
            self.succeeds(self.serial("plan", "create", "criteo-kaggle", "--scale", "1/4096", "--ranks", 2, "--out", plan,
                                      "--plan", planner))
            plan.write_text(plan.read_text().replace(f'"name":"{planner}"', '"name":"search"'))
            plans.append(plan)
        outcome, both = self.case(2, command="compare", exchange="pairwise", plan=f"{plans[0]},{plans[1]},{plans[1]}")
        self.succeeds(outcome)
        names = [case["plan"] for case in records(both)[1:]]
        self.assertRegex(" ".join(names), r"^search#[0-9a-f]{8} search#([0-9a-f]{8}) search#\1#2$")
        digests = [case["plan_digest"] for case in records(both)[1:]]
        self.assertEqual(digests[1], digests[2])
        self.assertEqual([name.split("#")[1] for name in names], [digest[:8] for digest in digests])
        one, other = (self.case(2, plan=plan)[1] for plan in plans)
        self.assertEqual([records(file)[1]["plan"] for file in (one, other)], ["search", "search"])
        differing = self.serial("results", "diff", one, other)
        self.assertEqual(differing.code, 3, differing.out)
        self.assertIn("plan_digest of criteo-kaggle/search/", differing.err)
        self.succeeds(self.serial("results", "diff", one, other, "--allow", "plan_digest,seed,exchange"))


class HugectrFiles(ProgramTest):
    def files(self, example):
        return self.new_file(spec_of(example)), self.new_file(example["plan"])

    def check(self, example, *more):
        context = example["context"]
        arguments = ["plan", "check", *self.files(example), "--ranks", context["ranks"], *more]
        if "bytes_per_rank" in context:
            arguments += ["--memory", context["bytes_per_rank"]]
        if "global_batch" in context:
            arguments += ["--batch", context["global_batch"]]
        return self.serial(*arguments)

    def test_every_valid_example_is_sound(self):
        for example in GOLDEN["valid"]:
            with self.subTest(example["name"]):
                self.assertIn("sound", self.succeeds(self.check(example)).out)

    def test_strict_accepts_what_hugectr_accepts(self):
        for example in GOLDEN["valid"]:
            with self.subTest(example["name"]):
                accepted = self.check(example, "--strict", "hugectr").code == 0
                self.assertEqual(accepted, example["hugectr"] == "accepts")

    def test_every_invalid_example_is_refused_by_its_rule(self):
        for example in GOLDEN["invalid"]:
            if any("id_space" in table for table in example["context"]["tables"]):
                continue  # our specs number the tables themselves
            with self.subTest(example["name"]):
                outcome = self.check(example, "--strict", "hugectr")
                self.refuses(outcome)
                self.assertIn(f": rule {example['rule']}", outcome.err)

    def test_first_example_of_the_notebook_breaks_only_rule_11_of_hugectr(self):
        example = golden("dp_with_shared_table")
        self.succeeds(self.check(example))
        outcome = self.check(example, "--strict", "hugectr")
        self.refuses(outcome, "1 problem")
        self.assertRegex(outcome.err, r"rule 11 \(HugeCTR only\): group 0, lookup 3: .*'T1'")

    def test_first_example_of_the_notebook_runs(self):
        spec, plan = self.files(golden("dp_with_shared_table"))
        outcome, _ = self.case(2, spec, scale=1, plan=plan)
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")

    def test_second_example_is_shown_as_it_is_meant(self):
        out = self.succeeds(self.serial("plan", "show", *self.files(golden("table_wise_plus_dp_notebook")))).out
        self.assertRegex(out, r"\nT0 +1000 +16 +0\.064 +table_wise +1 +0\n")
        self.assertRegex(out, r"\nT1 +500 +16 +0\.032 +table_wise +1 +1\n")
        self.assertRegex(out, r"\nT3 +20 +16 +0\.001 +data_parallel +2 +all\n")

    def test_second_example_converts_to_our_format(self):
        out = self.succeeds(self.serial("plan", "convert", *self.files(golden("table_wise_plus_dp_notebook")))).out
        shard = lambda rows, rank: [{"rows": [0, rows, 1], "columns": [0, 16], "rank": rank}]
        self.assertEqual(json.loads(out)["tables"], [
            {"name": "T0", "shards": shard(1000, 0)}, {"name": "T1", "shards": shard(500, 1)},
            {"name": "T2", "shards": shard(800, 0)}, {"name": "T3", "data_parallel": True}])

    def test_every_format_reads_back_as_the_same_plan(self):
        spec, plan = self.files(golden("table_wise_plus_dp_notebook"))
        ours = json.loads(self.serial("plan", "convert", spec, plan).out)
        for name in FORMATS:
            with self.subTest(name):
                written = self.new_path(".json")
                self.succeeds(self.serial("plan", "convert", spec, plan, "--to", name, "--out", written))
                again = json.loads(self.succeeds(self.serial("plan", "convert", spec, written)).out)
                self.assertEqual(again["tables"], ours["tables"])

    def test_the_spelling_of_the_notebook_is_kept(self):
        example = golden("table_wise_plus_dp_notebook")
        out = self.succeeds(self.serial("plan", "convert", *self.files(example), "--to", "hugectr-notebook")).out
        self.assertEqual(json.loads(out), example["plan"])

    def test_the_plans_of_the_notebook_for_8_ranks_are_sound_for_hugectr(self):
        for name in ("localized", "distributed"):
            file = REPOSITORY / f"workloads/cases/specs/plans/hugectr-dlrm-{name}-8.json"
            self.succeeds(self.serial("plan", "check", "hugectr-dlrm", file, "--ranks", 8, "--strict", "hugectr"))

    def test_columns_cannot_be_said_in_hugectr_files(self):
        self.refuses_serial(["plan", "create", "criteo-kaggle", "--plan", "column_wise", "--ranks", 3, "--to",
                             "hugectr-v3.8"], "'C1'", "column")


class OurFiles(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plan = json.loads(cls.serial("plan", "create", "criteo-kaggle", "--scale", "1/4096", "--plan",
                                         "row_wise", "--ranks", 3).out)

    def changed(self, change):
        plan = copy.deepcopy(self.plan)
        change(plan["tables"])
        return self.new_file(plan)

    def refuses_plan(self, file, *texts):
        self.refuses_case(str(file), *texts, plan=file)
        outcome = self.serial("plan", "check", "criteo-kaggle", file, "--scale", "1/4096")
        self.refuses(outcome)
        for text in texts:
            self.assertIn(text, outcome.err)

    def test_every_planner_makes_a_plan_that_check_and_run_accept(self):
        lines = self.serial("list", "planners").out.splitlines()[1:]
        planners = [line.split()[0] for line in lines if not line.startswith("    ")]  # more deeply: their settings
        files = []
        for planner in planners:
            with self.subTest(planner):
                file = self.new_path(".json")
                scale = ("--scale", "1/4096")
                self.succeeds(self.serial("plan", "create", "criteo-kaggle", *scale, "--plan", planner, "--ranks", 3,
                                          "--out", file))
                self.succeeds(self.serial("plan", "check", "criteo-kaggle", *scale, file, "--ranks", 3))
                self.assertIn(planner, self.succeeds(self.serial("plan", "show", "criteo-kaggle", *scale, file)).out)
                files.append(file)
        for outcome, _ in self.cases({"ranks": 3, "plan": file} for file in files):
            self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")

    def test_a_plan_for_another_number_of_ranks_is_refused(self):
        file = self.new_file(self.plan)
        self.refuses_case(str(file), "3 ranks", "1", ranks=[1], plan=file)
        self.refuses_case(str(file), "3 ranks", "4", ranks=[4], plan=file)
        outcome = self.serial("plan", "check", "criteo-kaggle", file, "--scale", "1/4096", "--ranks", 4)
        self.refuses(outcome)

    def test_a_plan_that_misses_a_shard_names_table_and_row(self):
        self.refuses_plan(self.changed(lambda tables: tables[2]["shards"].pop()), "'C3'", "row 2 ")

    def test_a_plan_that_doubles_a_shard_names_table_and_row(self):
        self.refuses_plan(self.changed(lambda tables: tables[2]["shards"].append(tables[2]["shards"][1])), "'C3'",
                          "row 1 ", "again")

    def test_a_plan_that_misses_a_table_names_it(self):
        self.refuses_plan(self.changed(lambda tables: tables.pop()), "'C26'")

    def test_a_shard_on_a_rank_that_is_not_there_is_named(self):
        self.refuses_plan(self.changed(lambda tables: tables[2]["shards"][1].update(rank=7)), "'C3'", "rank 7")

    def test_a_plan_for_other_tables_is_refused(self):
        file = self.new_file(self.plan)
        self.refuses_case(str(file), "'C3'", ranks=[3], scale="1/2048", plan=file)

    def test_a_plan_that_is_no_json_is_named(self):
        for text in ('{"format": ', "", "hello"):
            self.refuses_plan(self.new_file(text), "not valid JSON")

    def test_a_plan_that_cannot_be_read_is_named(self):
        folder = self.new_path(".json")
        folder.mkdir()
        self.refuses_case(str(folder), plan=folder)
        self.refuses_case("missing.json", plan="missing.json")
        self.refuses(self.serial("plan", "check", "criteo-kaggle", "missing.json"), "missing.json")

    def test_what_plan_commands_do_not_know_is_refused_with_the_valid_names(self):
        self.refuses_serial(["plan", "create", "criteo-kaggle", "--plan", "nosuch", "--ranks", 2], "row_wise_block")
        self.refuses_serial(["plan", "create", "nosuch", "--plan", "row_wise", "--ranks", 2], "hugectr-dlrm")
        self.refuses_serial(["plan", "convert", "criteo-kaggle", self.new_file(self.plan), "--scale", "1/4096", "--to",
                             "nosuch"], "hugectr-notebook")
        self.refuses_serial(["plan", "show", "criteo-kaggle", "nosuch", "--ranks", 2], "row_wise_block")


if __name__ == "__main__":
    main()
