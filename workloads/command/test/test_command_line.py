#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the commands promise when they are used rightly, and that a program with a defect is found out."""
import csv
import itertools
import json
import re

import subprocess

from program import SHARDMARK, ProgramTest, main, records

WITHOUT_MPI = {"environment": {"OPAL_PREFIX": "/nonexistent"}}  # Open MPI cannot start then
TABLES = ("workloads", "planners", "machines", "published", "terms", "skews", "plan-formats", "machine-formats", "results-formats", "spec-keys", "options", "transfers", "exchanges", "value-types", "wire-ids",
          "dedups", "group-balances", "replicated-gradients", "async-modes", "async-orders", "stage-pools", "storages", "poolings", "optimizers",
          "weight-decays", "core-initializers", "contraction-directions", "order-of-slice-sums", "cache-writes",
          "admissions", "evictions", "absent-rows", "distributions", "dense-models", "dense-maths", "id-rules",
          "malformed-lines", "readings", "bounds-checks", "faults", "save-kinds", "save-modes")
FAULTS = ("lookup", "route", "exchange", "update", "state", "stray_row", "one_replica", "late_step")
CASE_FIELDS = {"record", "workload", "plan", "options", "changed", "ranks", "threads", "step_ms", "samples_per_s", "phases", "imbalance",
               "sent_bytes_max", "predicted_ms", "checked_steps", "wrong"}


class WithoutMpi(ProgramTest):
    def subcommands(self, path):
        """The names in the last section of the help of `path`."""
        text = self.succeeds(self.serial(*path, "--help", **WITHOUT_MPI)).out
        self.assertIn("Usage: " + " ".join(("shardmark", *path)), text)
        names = re.findall(r"^  ([\w-]+)", text.partition("\nSubcommands:\n")[2], re.MULTILINE)
        return [(*path, name) for name in names]

    def test_every_command_prints_its_help(self):
        found, left = set(), [()]
        while left:
            path = left.pop()
            found.add(" ".join(path))
            left += self.subcommands(path)
        self.assertLessEqual({"run", "compare", "list", "doctor", "plan create", "plan show", "plan check", "plan convert",
                              "workload new", "workload schema", "machine describe", "machine convert", "data generate criteo", "data convert", "data inspect", "results show", "results plot"}, found)

    def test_version_names_the_program_and_a_version(self):
        out = self.succeeds(self.serial("--version", **WITHOUT_MPI)).out
        self.assertRegex(out, r"^shardmark \d+\.\d+\.\d+\b.*\n$")

    def test_list_prints_every_table(self):
        out = self.succeeds(self.serial("list", "all", **WITHOUT_MPI)).out
        self.assertEqual(re.findall(r"^([\w-]+): ", out, re.MULTILINE), list(TABLES))

    def test_list_alone_names_the_lists(self):
        out = self.succeeds(self.serial("list", **WITHOUT_MPI)).out
        self.assertEqual(re.findall(r"^  ([\w-]+) +\S", out, re.MULTILINE), [*TABLES, "all"])

    def test_list_of_one_table_is_its_part_of_the_whole_list(self):
        whole = self.serial("list", "all").out
        for table in TABLES:
            part = self.succeeds(self.serial("list", table)).out
            self.assertRegex("\n" + part, r"\n  \S+ +\S")
            self.assertIn(part, whole)

    def test_list_of_options_names_their_values_and_help_has_each_of_them(self):
        planners = self.serial("list", "planners").out
        self.assertRegex(planners, r"\n  memory_balanced +distributed-embeddings: .*\n    :column_threshold=N +larger tables .*\n"
                                   r"(    :.*\n)*    :merge=on +on: ")
        self.assertIn("planner (shardmark list planners), with settings", re.sub(r"\s+", " ", self.serial("plan", "create", "--help").out))
        options = self.serial("list", "options").out
        self.assertEqual(self.serial("list", "settings").out, options)
        self.assertRegex(options, r"\n  wire_ids +\S.*: auto, int64 \(default: auto\)\n")
        self.assertRegex(options, r"\n  dim +\S.*: a number of at least 1\n")
        for command in ("run", "compare"):
            text = self.succeeds(self.serial(command, "--help-all")).out
            for name in re.findall(r"^  ([\w.]+)", options, re.MULTILINE):
                self.assertRegex(text, rf"\n  --{re.escape(name.replace('_', '-'))}[ |]")

    def test_help_of_run_and_compare_is_twenty_options_and_three_examples(self):
        for command in ("run", "compare"):
            text = self.succeeds(self.serial(command, "--help")).out
            self.assertEqual(len(re.findall(r"^  --(?!help)", text, re.MULTILINE)), 20)
            shown, _, examples = text.partition("\nExamples:\n")
            self.assertEqual(len(examples.splitlines()), 3)
            more = int(re.search(r"\n(\d+) more options: --help-all\n", shown)[1])
            whole = self.succeeds(self.serial(command, "--help-all")).out
            self.assertEqual(len(re.findall(r"^  --(?!help)", whole, re.MULTILINE)), 20 + more)

    def test_help_is_at_most_100_columns_wide(self):
        for path in (["run", "--help-all"], ["compare", "--help-all"], ["compare", "--help"], ["plan", "create", "--help"], ["predict", "--help"],
                     ["doctor", "--help"], ["calibrate", "--help"], ["exchange", "--help"], ["results", "diff", "--help"], ["results", "register", "--help"], ["results", "plot", "--help"], ["--help"]):
            self.assertLessEqual(max(map(len, self.succeeds(self.serial(*path)).out.splitlines())), 100, path)

    def test_the_command_help_prints_what_the_option_does(self):
        for path in (["run"], ["plan", "create"], ["list"]):
            self.assertEqual(self.succeeds(self.serial("help", *path)).out, self.succeeds(self.serial(*path, "--help")).out)
        self.refuses_serial(["help", "plan", "creat"], "command", "creat", "create")

    def test_bash_completes_commands_options_and_values(self):
        script = self.new_file(self.succeeds(self.serial("completion", "bash")).out, ".bash")
        program = self.folder / "bin"
        program.mkdir(exist_ok=True)
        (program / "shardmark").symlink_to(SHARDMARK)
        for words, some in ((["pre"], "predict"), (["plan", "cr"], "create"), (["compare", "criteo-k"], "criteo-kaggle"), (["run", "--group-b"], "--group-balance"),
                            (["compare", "--exchange", "mpi_alltoallv,pair"], "mpi_alltoallv,pairwise"), (["plan", "create", "--plan", "row"], "row_wise"),
                            (["list", "plann"], "planners")):
            quoted = " ".join(["shardmark", *words])
            out = subprocess.run(["bash", "-c", f"PATH={program}:$PATH; . {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _shardmark; "
                                  "printf '%s\\n' \"${COMPREPLY[@]}\""], capture_output=True, text=True, cwd=self.folder, check=True).stdout
            self.assertIn(some, out.split(), words)

    def test_other_completions_and_a_man_page_name_all_commands(self):
        for shell in ("zsh", "fish", "man"):
            text = self.succeeds(self.serial("completion", shell)).out.replace("\\-", "-")
            for word in ("compare", "convert", "staleness-bound"):
                self.assertIn(word, text)
        self.refuses_serial(["completion", "tcsh"], "tcsh", "bash, zsh, fish, man")

    def test_options_come_from_a_file_and_those_of_the_command_line_go_before(self):
        file = self.new_file('# my campaign\nbatch = "8k"\nscale = "1/64"\n"ids.ragged" = true\ndry-run = true\nwire = ["fp32", "fp16"]\n', ".toml")
        spec = json.loads(self.succeeds(self.serial("compare", "criteo-kaggle", "--config", file)).out)
        self.assertEqual((spec["global_batch"], spec["scale"], spec["ids"]["ragged"]), (8000, 64, True))
        spec = json.loads(self.succeeds(self.serial("compare", "criteo-kaggle", "--scale", "1/128", f"--config={file}")).out)
        self.assertEqual((spec["global_batch"], spec["scale"]), (8000, 128))
        self.refuses_serial(["run", "criteo-kaggle", "--config", self.new_file("bach = 8\n", ".toml")], "'bach'", "'batch'")
        self.refuses_serial(["run", "criteo-kaggle", "--config", self.folder / "none.toml"], "none.toml")
        self.refuses_serial(["run", "criteo-kaggle", "--config", self.new_file('wire = ["fp32", "fp16"]\n', ".toml")], "wire", "fp32,fp16")

    def test_numbers_and_durations_are_understood_as_people_write_them(self):
        wanted = self.succeeds(self.serial("run", "criteo-kaggle", "--batch", 8000, "--scale", "1/10", "--dry-run")).out
        for batch, scale in (("8k", "0.1"), ("8e3", 10), ("0.008M", "1/10")):
            self.assertEqual(self.succeeds(self.serial("run", "criteo-kaggle", "--batch", batch, "--scale", scale, "--dry-run")).out, wanted)
        self.succeeds(self.serial("compare", "criteo-kaggle", "--budget", "60sec", "--batch", "1Ki", "--dry-run"))
        self.refuses_serial(["run", "criteo-kaggle", "--scale", "0.3", "--dry-run"], "'0.3'", "did you mean 1/3?")
        for batch in ("8.5", "8q", "1e30", "k", ""):
            self.refuses_serial(["run", "criteo-kaggle", "--batch", batch, "--dry-run"], "--batch", "a number of at least 1")

    def test_dry_run_of_every_workload_can_be_fed_back(self):
        for workload in re.findall(r"^  (\S+)", self.serial("list", "workloads").out, re.MULTILINE):
            with self.subTest(workload):
                spec = self.succeeds(self.serial("run", workload, "--dry-run", **WITHOUT_MPI)).out
                self.assertEqual(json.loads(spec)["name"], workload)
                again = self.serial("run", self.new_file(spec), "--dry-run", **WITHOUT_MPI)
                self.assertEqual(self.succeeds(again).out, spec)

    def test_dry_run_prints_what_the_options_changed(self):
        arguments = ["--scale", "1/64", "--batch", "96", "--optimizer", "adagrad", "--set", "dim=8", "--set",
                     "ids.ragged=true", "--set", "learning_rate=0.1", "--dry-run"]
        spec = json.loads(self.succeeds(self.serial("run", "criteo-kaggle", *arguments)).out)
        self.assertEqual((spec["scale"], spec["global_batch"], spec["ids"]["ragged"]), (64, 96, True))
        self.assertEqual((spec["optimizer"]["name"], spec["optimizer"]["learning_rate"]), ("adagrad", 0.1))
        self.assertEqual(spec["tables"][2], {"name": "C3", "rows": -(-10131227 // 64), "dim": 8})
        again = self.serial("run", self.new_file(spec), "--dry-run")
        self.assertEqual(json.loads(self.succeeds(again).out), spec)

    def test_dry_run_prints_segments(self):
        arguments = ["--hotness", "12", "--segments", "4", "--segment-rank", "1", "--dry-run"]
        spec = json.loads(self.succeeds(self.serial("run", "criteo-kaggle", *arguments)).out)
        feature = spec["features"][0]
        self.assertEqual([feature[key] for key in ("hotness", "segments", "segment_rank")], [12, 4, 1])
        again = self.serial("run", self.new_file(spec), "--dry-run")
        self.assertEqual(json.loads(self.succeeds(again).out), spec)
        self.assertNotIn("segments", self.serial("run", "criteo-kaggle", "--dry-run").out)

    def test_every_setting_is_an_option_and_every_option_a_setting(self):
        spelled = ["--ids.ragged", "true", "--hotness=3", "--set", "optimizer=adam", "--set", "batch=96", "--set", "scale=1/64",
                   "--weight-decay-mode", "decoupled", "--storage", "dense"]
        other = ["--set", "ids.ragged=true", "--set", "hotness=3", "--optimizer", "adam", "--batch", "96", "--scale", "1/64",
                 "--set", "weight_decay_mode=decoupled", "--set", "storage=dense"]
        specs = [self.succeeds(self.serial("run", "criteo-kaggle", "--dry-run", *each)).out for each in (spelled, other)]
        self.assertEqual(specs[0], specs[1])
        self.assertEqual(json.loads(specs[0])["optimizer"]["name"], "adam")

    def test_dry_run_writes_no_file(self):
        before = sorted(self.folder.rglob("*"))
        for command in ("run", "compare"):
            self.succeeds(self.serial(command, "criteo-kaggle", "--dry-run", "--out", "unwritten.jsonl"))
        self.assertEqual(sorted(self.folder.rglob("*")), before)


class Run(ProgramTest):
    def test_run_ends_valid_on_1_2_and_3_ranks(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                outcome, file = self.case(ranks, plan="row_wise", exchange="pairwise")
                self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
                self.assertEqual((records(file)[1]["ranks"], records(file)[1]["wrong"]), (ranks, 0))

    def test_run_with_fewer_samples_than_ranks_is_valid(self):
        self.assertEqual(self.succeeds(self.case(3, batch=2)[0]).last_line(), "RESULT: VALID")

    def test_results_file_is_the_environment_and_then_the_case(self):
        outcome, file = self.case(2, plan="column_wise", set=["seed=7"])
        self.succeeds(outcome)
        environment, case = records(file)
        self.assertEqual((environment["record"], environment["seed"]), ("environment", 7))
        self.assertIn("seed=7", environment["arguments"])
        self.assertEqual([rank["rank"] for rank in environment["ranks"]], [0, 1])
        self.assertLessEqual({"build", "libraries", "machine", "time", "format_version"}, environment.keys())
        self.assertLessEqual(CASE_FIELDS, case.keys())
        expected = {"record": "case", "workload": "criteo-kaggle", "plan": "column_wise", "ranks": 2, "threads": 1, "checked_steps": 1,
                    "wrong": 0}
        self.assertEqual({key: case[key] for key in expected}, expected)
        expected = {"scale": 4096, "transfer": "auto", "exchange": "mpi_alltoallv", "groups": 1, "wire_forward": "fp32",
                    "wire_backward": "fp32", "wire_ids": "int32", "batch": 240}
        self.assertEqual({name: case["options"][name] for name in expected}, expected)
        self.assertEqual((case["step_ms"]["n"], len(case["step_ms"]["samples"])), (1, 1))
        self.assertAlmostEqual(case["samples_per_s"], 240e3 / case["step_ms"]["median"], delta=1)
        for phase in ("input_dist", "lookup", "output_dist", "dense", "grad_dist", "update"):
            self.assertLessEqual({"median_ms", "mean_over_ranks_ms", "bytes"}, case["phases"][phase].keys())

    def test_a_record_holds_every_option_and_says_which_are_changed(self):
        outcome, file = self.case(2, dtype="fp16", hotness=3, wire="bf16", set=["seed=7", "batches=4"])
        self.succeeds(outcome)
        case = records(file)[1]
        expected = {"dtype": "fp16", "hotness": 3, "dim": 16, "wire_forward": "bf16", "wire_ids": "int32", "exact": False,
                    "groups": 1, "scale": 4096, "batch": 240, "ids.alpha": 1.05, "learning_rate": 0.01, "storage": "dense"}
        self.assertEqual({name: case["options"][name] for name in expected}, expected)
        self.assertEqual(case["changed"], ["wire_forward", "wire_backward", "batch", "scale", "dtype", "hotness", "batches"])
        self.assertEqual((case["seed"], case["steps"], case["options"]["dtype"]), (7, 1, "fp16"))
        self.assertRegex(outcome.out, r"(?s)\n# workload criteo-kaggle,.* wire bf16,.* dtype fp16,.* hotness 3\b")

    def test_results_go_below_the_current_folder_by_default(self):
        self.succeeds(self.case(1, out=None)[0])
        (file,) = (self.folder / "results/local").iterdir()
        self.assertRegex(file.name, r"^criteo-kaggle-\d{8}T\d{6}Z\.jsonl$")

    def test_results_show_prints_the_table_of_the_run_again(self):
        outcome, file = self.case(2)
        shown = self.succeeds(self.serial("results", "show", file))
        self.assertRegex(outcome.out, r"\nFOM samples/s: [\d.e+]+\nRESULT: VALID(, DISTURBED)?\n$")
        self.assertIn(f"\nresults: {file} (shardmark results show {file})\n", "\n" + outcome.err)
        self.assertEqual(shown.out, outcome.out)

    def test_an_unchecked_run_is_invalid_and_so_it_is_shown(self):
        outcome, file = self.case(2, check="off")
        for each in (outcome, self.serial("results", "show", file)):
            self.assertEqual(each.code, 1)
            self.assertRegex(each.last_line(), r"^RESULT: INVALID \(.*unchecked\)$")

    def test_every_fault_makes_wrong_values_and_exit_code_1(self):
        every = [{"ranks": ranks, "plan": "data_parallel" if fault == "one_replica" else "row_wise", "set": f"fault={fault}",
                  "optimizer": "adagrad" if fault == "state" else None, "check": 2 if fault == "late_step" else 1}
                 for fault in FAULTS for ranks in (1, 2, 3)]
        for given, (outcome, file) in zip(every, self.cases(every)):
            with self.subTest(**given):
                self.assertEqual(outcome.code, 1, outcome.out + outcome.err)
                self.assertRegex(outcome.last_line(), r"^RESULT: INVALID \(wrong values")
                self.assertGreater(records(file)[1]["wrong"], 0)

    def test_compare_prints_both_plans_of_the_notebook_and_the_published_ratio(self):
        outcome, file = self.case(2, "hugectr-dlrm", "compare", scale="1/1024")
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        self.assertRegex(outcome.out, r"\n.*data_parallel\+table_wise / row_wise: [\d.]+ here, 1\.845 published")
        cases = {(case["plan"], case["options"]["exchange"]) for case in records(file)[1:]}
        exchanges = {exchange for _, exchange in cases}
        self.assertEqual({"auto", "mpi_alltoallv", "node_shared"}, exchanges)
        self.assertEqual(cases, {(plan, exchange) for plan in ("data_parallel+table_wise", "row_wise")
                                 for exchange in exchanges})

    def test_results_show_prints_the_published_ratio_of_a_compare_again(self):
        outcome, file = self.case(2, "hugectr-dlrm", "compare", scale="1/1024", exchange="pairwise")
        self.assertEqual(self.succeeds(self.serial("results", "show", file)).out, self.succeeds(outcome).out)

    def test_compare_all_runs_every_combination_that_differs(self):
        every = [{"transfer": "all", "exchange": "linear,pairwise"},
                 {"transfer": "dense_partials,unique_rows", "exchange": "all"}]
        same = {"ranks": 3, "command": "compare", "plan": "row_wise,table_wise"}
        for given, (outcome, file) in zip(every, self.cases([{**same, **given} for given in every])):
            with self.subTest(**given):
                self.succeeds(outcome)
                cases = records(file)[1:]
                transfers, exchanges = ({case["options"][field] for case in cases} for field in ("transfer", "exchange"))
                self.assertEqual(sorted((c["plan"], c["options"]["transfer"], c["options"]["exchange"]) for c in cases),
                                 sorted([*itertools.product(["row_wise"], transfers, exchanges),
                                         *itertools.product(["table_wise"], ["dense_partials"], exchanges)]))
                self.assertGreater(max(len(transfers), len(exchanges)), 5)

    def test_compare_of_dedups_says_what_each_saves(self):
        names = ["off", "local", "owner", "local+owner", "auto"]
        outcome, file = self.case(2, command="compare", plan="row_wise", transfer="unique_rows", exchange="pairwise",
                                  dedup=",".join(names), set="hotness=4")
        self.succeeds(outcome)
        cases = {case["options"]["dedup"]: case for case in records(file)[1:]}
        self.assertEqual(set(cases), set(names))
        for name, case in cases.items():
            once = name not in ("off", "owner")
            self.assertEqual(case["ids_per_row"] > 1, once, name)
            self.assertEqual(case["rows_per_read"] > 1, "owner" in name, name)
            self.assertEqual(case["sent_bytes_max"], cases["local" if once else "off"]["sent_bytes_max"])
            self.assertEqual(case.get("dedup_picked"), "local" if name == "auto" else None)
        self.assertRegex(outcome.out, r"\n# plan row_wise, [^|]*\n# dedup .* ids_per_row +rows_per_read")

    def test_exchange_auto_lets_vectors_lie_at_home_where_ranks_share_a_node(self):
        outcome, file = self.case(2, command="compare", plan="table_wise", exchange="auto,linear", wire="fp32,fp16")
        self.succeeds(outcome)
        at_home = {(case["options"]["exchange"], case["options"]["wire_forward"]): "vectors at home" in case.get("picked", "")
                   for case in records(file)[1:]}
        self.assertEqual(at_home, {("auto", "fp32"): True, ("auto", "fp16"): False, ("linear", "fp32"): False, ("linear", "fp16"): False})

    def test_compare_takes_wire_types_each_way_and_says_what_they_do_to_the_vectors(self):
        outcome, file = self.case(2, command="compare", plan="row_wise", exchange="pairwise",
                                  wire_forward="fp32,fp16", wire_backward="bf16,int8")
        self.succeeds(outcome)
        cases = {(c["options"]["wire_forward"], c["options"]["wire_backward"]): c for c in records(file)[1:]}
        self.assertEqual(set(cases), {(f, b) for f in ("fp32", "fp16") for b in ("bf16", "int8")})
        dim = 16
        for (forward, backward), case in cases.items():
            row = {"fp32": 4 * dim, "fp16": 2 * dim, "bf16": 2 * dim, "int8": dim + 8}
            vectors = case["phases"]["output_dist"]["bytes"] // row[forward]
            self.assertEqual(case["phases"]["output_dist"]["bytes"], vectors * row[forward])
            self.assertEqual(case["phases"]["grad_dist"]["bytes"], vectors * row[backward])
            error = case["wire_error"]
            self.assertEqual(error["forward"]["max"] > 0, forward != "fp32")
            self.assertEqual(error["backward"]["max"] > 0, backward == "int8")  # bf16 holds our gradients
            for direction in error.values():
                self.assertTrue(direction["rms"] <= direction["max"] < 0.01, error)
        self.assertRegex(outcome.out, r"\n# wire_forward +wire_backward .* fwd err +bwd err ")

    def test_one_wire_type_serves_both_ways(self):
        outcome, file = self.case(2, plan="row_wise", wire="bf16")
        self.succeeds(outcome)
        wires = [records(file)[1]["options"][name] for name in ("wire_forward", "wire_backward", "wire_ids")]
        self.assertEqual(wires, ["bf16", "bf16", "int32"])

    def test_ids_travel_as_int32_unless_int64_is_asked_for(self):
        outcome, file = self.case(2, command="compare", plan="row_wise", exchange="pairwise",
                                  transfer="unique_rows,sparse_partials", wire_ids="auto,int64")
        self.succeeds(outcome)
        sent = {(c["options"]["transfer"], c["options"]["wire_ids"]): c["phases"]["input_dist"]["bytes"] for c in records(file)[1:]}
        self.assertEqual(set(sent), set(itertools.product(("unique_rows", "sparse_partials"), ("int32", "int64"))))
        for transfer in ("unique_rows", "sparse_partials"):
            saved = sent[transfer, "int64"] - sent[transfer, "int32"]
            self.assertEqual(saved % 4, 0)
            self.assertGreater(saved, sent[transfer, "int64"] / 8)  # lengths and counts stay
        self.assertRegex(outcome.out, r"\n# transfer .* wire_ids ")
        self.refuses_case("int16", "auto", "int64", wire_ids="int16")

    def test_replicated_gradients_go_densely_or_by_rows_and_auto_sends_no_more_than_either(self):
        outcome, file = self.case(2, command="compare", plan="data_parallel", exchange="pairwise",
                                  replicated_gradients="dense,rows,auto")
        self.succeeds(outcome)
        sent = {c["options"]["replicated_gradients"]: c["phases"]["update"]["bytes"] for c in records(file)[1:]}
        self.assertEqual(set(sent), {"dense", "rows", "auto"})
        self.assertNotEqual(sent["dense"], sent["rows"])
        self.assertLessEqual(sent["auto"], min(sent["dense"], sent["rows"]))
        self.refuses_case("sparse", "dense", "rows", "auto", replicated_gradients="sparse")

    def test_wire_types_that_cannot_be_are_refused(self):
        self.refuses_case("fp17", "fp16", wire="fp17")
        self.refuses_case("fp16,bf16", wire_forward="fp16,bf16", ranks=[2])
        self.refuses_case("--wire-backward", wire="fp16", wire_backward="fp32", ranks=[2])
        for transfer in ("reduce_scatter", "reduce_scatter_pairwise", "reduce_scatter_halving"):
            self.refuses_case(f"transfer {transfer}:", "fp16", wire="fp16", plan="row_wise", transfer=transfer, ranks=[2])

    def test_progress_and_logs_leave_stdout_to_the_table(self):
        for line in self.succeeds(self.case(2)[0]).out.splitlines():
            self.assertRegex(line, r"^(# |  |DISTURBED: |ANSWER: |FOM |RESULT: )")
            self.assertLessEqual(len(line), 120)

    def test_compare_answers_on_one_screen_and_has_more_on_request(self):
        given = {"command": "compare", "plan": "row_wise,table_wise", "exchange": "pairwise,linear", "transfer": "all"}
        outcome, file = self.case(2, **given)
        lines = self.succeeds(outcome).out.splitlines()
        self.assertLessEqual(len(lines), 40)
        self.assertLessEqual(max(map(len, lines)), 120)
        self.assertNotIn("\033", outcome.out)
        rows = [line for line in lines if re.match("  (row|table)_wise  ", line)]
        self.assertEqual(len(rows), 2)
        count = len(records(file)) - 1
        self.assertIn(f"; --all shows all {count}\n", outcome.out)
        self.assertRegex(outcome.out, r"\nANSWER: The fastest plan is \w+_wise \(")
        shown = self.succeeds(self.serial("results", "show", "--all", file)).out
        self.assertEqual(len(re.findall("^  (?:row|table)_wise  ", shown, re.MULTILINE)), count)
        table = list(csv.DictReader(self.serial("results", "show", "--format", "csv", file).out.splitlines()))
        self.assertEqual([float(row["samples_per_s"]) for row in table],
                         [case["samples_per_s"] for case in records(file)[1:]])
        self.assertIn("\n| row_wise |", self.serial("results", "show", "--format", "markdown", file).out.replace("*", ""))
        self.refuses_serial(["results", "show", "--format", "html", file], "html", "text, markdown, csv, json")

    def test_run_prints_other_formats(self):
        outcome, file = self.case(2, format="csv")
        self.assertEqual(len(list(csv.DictReader(self.succeeds(outcome).out.splitlines()))), 1)
        self.assertIn("RESULT: VALID", outcome.err)
        self.refuses(self.case(1, format="html")[0], "html", "text, markdown, csv, json")


if __name__ == "__main__":
    main()
