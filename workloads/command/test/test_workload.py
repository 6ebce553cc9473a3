#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Specs of the user's own tables: workload new and schema, list spec-keys, what a dry run understands, and --batch-per-rank."""
import json
import re
import unittest

from program import REPOSITORY, ProgramTest, main, records

DOCS = (REPOSITORY / "docs/workload-specs.md").read_text()
EXAMPLE = (REPOSITORY / "docs/examples/my-tables.json").read_text()


class New(ProgramTest):
    def test_a_new_spec_runs_as_it_is(self):
        file = self.new_path("/shop.json")
        file.parent.mkdir()
        outcome = self.succeeds(self.serial("workload", "new", file))
        self.assertIn(f"wrote {file}: 3 tables, 2.5 M rows, 650 MB with optimizer state, 22 ids a sample, batch 16384\n", outcome.out)
        for next_step in ("--dry-run", "compare", "predict", "list spec-keys"):
            self.assertIn(next_step, outcome.out)
        self.assertEqual(file.read_text(), EXAMPLE.replace('"my-tables"', '"shop"'))
        self.assertEqual(self.succeeds(self.case(2, file, scale=None, batch=None)[0]).last_line(), "RESULT: VALID")
        page = self.succeeds(self.serial("predict", file, "--ranks", "2,4", "--plan", "table_wise")).out
        self.assertIn("\n# 3 tables, 2.5 M rows, 650 MB with optimizer state, 22 ids a sample, batch 16384\n", page)

    def test_a_file_that_exists_is_kept_without_force(self):
        file = self.new_file("precious")
        self.refuses_serial(["workload", "new", file], f"{file}: exists already", "--force")
        self.assertEqual(file.read_text(), "precious")
        self.succeeds(self.serial("workload", "new", file, "--force"))
        self.assertEqual(json.loads(file.read_text())["name"], file.stem)

    def test_a_name_that_no_command_would_read_is_refused(self):
        for name in ("tables", "tables.yaml", ".json", ""):
            self.refuses_serial(["workload", "new", self.folder / name], "ends in .json")
        self.refuses_serial(["workload", "new", self.folder / "missing/tables.json"], "missing")

    def test_the_docs_show_what_is_written(self):
        self.assertIn(f"```json\n{EXAMPLE}```\n", DOCS)
        self.assertLessEqual(len(EXAMPLE.splitlines()), 9)


class Keys(ProgramTest):
    def keys(self):
        lines = self.succeeds(self.serial("list", "spec-keys")).out.splitlines()[1:]
        return {line.split()[0]: re.split(r"  +", line.strip()) for line in lines}

    def test_keys_have_type_unit_default_and_meaning(self):
        keys = self.keys()
        self.assertEqual(keys["tables[].rows"], ["tables[].rows", "whole number", "rows", "required",
                         "rows of the table, before --scale; -1: keys are any integers, of storage dynamic"])
        self.assertEqual(keys["tables[].storage"][1:3], ["choice", "dense"])
        self.assertTrue(keys["tables[].storage"][3].endswith(": dense, tt, dynamic"))
        self.assertIn("(shardmark list optimizers)", keys["optimizer.name"][-1])
        self.assertIn("keys: those of optimizer", keys["tables[].optimizer"][-1])

    def test_the_docs_explain_every_key_and_no_other(self):
        explained = set()
        section = DOCS.partition("\n## Keys\n")[2].partition("\n## Many tables")[0]
        for line in section.splitlines():
            if re.match(r"\| `", line):
                explained |= set(re.findall(r"`(\w+)`", line.split("|")[1]))
        self.assertEqual(explained, {re.split(r"[.]", key.removesuffix("[]"))[-1] for key in self.keys()})

    def test_the_schema_is_that_of_the_keys(self):
        schema = json.loads(self.succeeds(self.serial("workload", "schema")).out)
        table = schema["properties"]["tables"]["items"]
        self.assertEqual(table["required"], ["name", "rows", "dim"])
        self.assertEqual(table["properties"]["rows"], {"type": "integer", "minimum": -1, "description":
            "rows of the table, before --scale; -1: keys are any integers, of storage dynamic [rows]"})
        self.assertEqual(schema["properties"]["dense"]["properties"]["model"]["enum"], ["mlp", "dlrm", "dcnv2"])

    def test_the_schema_accepts_the_specs_that_there_are(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no jsonschema in this Python; cases checks the schema too")
        schema = json.loads(self.serial("workload", "schema").out)
        jsonschema.Draft202012Validator.check_schema(schema)
        for folder in ("workloads/cases/specs", "docs/examples"):
            for file in (REPOSITORY / folder).glob("*.json"):
                jsonschema.validate(json.loads(file.read_text()), schema)


class Errors(ProgramTest):
    def test_the_place_of_an_error_is_a_line_and_a_column(self):
        for wrong, place, *texts in (('"rows": 2000000', "2:35", '"rows" must be at least 1'),
                                     ('"hotness"', "6:72", "unknown key", "did you mean 'hotness'?"),
                                     ('"rowwise_adagrad"', "1:60", "did you mean 'rowwise_adagrad'?"),
                                     ('"table": "countries"', "7:35", 'no table is called "countrie"', "did you mean 'countries'?"),
                                     ('],\n "features"', "4:63", "not valid JSON")):
            right = {'"rows": 2000000': '"rows": 0', '"hotness"': '"hotnes"', '"rowwise_adagrad"': '"rowwise_adagad"',
                     '"table": "countries"': '"table": "countrie"', '],\n "features"': ',],\n "features"'}[wrong]
            self.assertIn(wrong, EXAMPLE)
            file = self.new_file(EXAMPLE.replace(wrong, right))
            for command in (["run", file, "--dry-run"], ["predict", file], ["plan", "create", file, "--ranks", 2, "--plan", "row_wise"]):
                with self.subTest(wrong=wrong, command=command[0]):
                    self.refuses_serial(command, f"{file}:{place}: ", *texts)

    def test_a_dry_run_says_first_what_it_understood(self):
        for command in ("run", "compare"):
            outcome = self.succeeds(self.serial(command, "criteo-kaggle", "--dry-run", "--hotness", 2))
            self.assertEqual(outcome.err, "criteo-kaggle: 26 tables, 33.8 M rows, 2.3 GB with optimizer state, 52 ids a sample, batch 16384\n")


class BatchPerRank(ProgramTest):
    def test_the_global_batch_follows_the_ranks(self):
        for ranks in (1, 3):
            outcome, file = self.case(ranks, batch=None, batch_per_rank=80)
            self.succeeds(outcome)
            self.assertEqual(records(file)[1]["options"]["batch"], 80 * ranks)
            self.assertIn("batch", records(file)[1]["changed"])
        outcome = self.succeeds(self.launch(2, "run", "criteo-kaggle", "--dry-run", "--batch-per-rank", 80))
        self.assertIn("batch 160, 80 a rank", outcome.err)

    def test_plans_are_made_for_the_batch_of_their_ranks(self):
        given = ["criteo-kaggle", "row_wise", "--ranks", 4, "--format", "json"]
        shown = [json.loads(self.succeeds(self.serial("plan", "show", *given, *batch)).out)
                 for batch in (("--batch-per-rank", 1000), ("--batch", 4000))]
        self.assertEqual(shown[0], shown[1])
        plan = self.new_path(".json")
        self.succeeds(self.serial("plan", "create", "criteo-kaggle", "--plan", "cost_rule", "--ranks", 4, "--batch-per-rank", 1000, "--out", plan))
        again = self.serial("plan", "create", "criteo-kaggle", "--plan", "cost_rule", "--ranks", 4, "--batch", 4000)
        self.assertEqual(plan.read_text(), self.succeeds(again).out)
        page = self.succeeds(self.serial("plan", "show", "criteo-kaggle", plan, "--batch-per-rank", 1000)).out
        self.assertIn("batch 4000", page)

    def test_both_batches_are_refused_and_named(self):
        for given in (["--batch", 8, "--batch-per-rank", 4], ["--set", "batch=8", "--batch-per-rank", 4], ["--batch", 8, "--set", "batch_per_rank=4"]):
            for command in ("run", "compare", "predict"):
                self.refuses_serial([command, "criteo-kaggle", *given], "batch_per_rank" if "batch_per_rank=4" in given else "--batch-per-rank 4",
                                    "both set batch; leave one of them out")

    def test_a_batch_that_cannot_be_is_refused(self):
        self.refuses_serial(["run", "criteo-kaggle", "--dry-run", "--batch-per-rank", 0], "--batch-per-rank 0: '0' is not a number of at least 1")
        self.refuses_serial(["predict", "criteo-kaggle", "--batch-per-rank", 2**62, "--ranks", 4], "--batch-per-rank", "64 bits")


if __name__ == "__main__":
    main()
