#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input: exit code 2 and one line on stderr, whatever the number of ranks, and no rank waits for ever."""
import os
import unittest

from program import ProgramTest, main

PLANNERS = ("data_parallel", "table_wise", "row_wise", "row_wise_block", "column_wise", "data_parallel+table_wise")
FOUR_GIB = {"memory": 4 << 30}  # who allocates before asking whether it fits dies


def big_spec(rows):
    return {"name": "big", "global_batch": 240, "optimizer": {"name": "sgd"}, "plans": ["row_wise"],
            "tables": [{"name": "T", "rows": rows, "dim": 16}], "features": [{"name": "F", "table": "T"}]}


class Usage(ProgramTest):
    def refuses_usage(self, arguments, *texts):
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                self.refuses(self.launch(ranks, *arguments), *texts)

    def test_an_unknown_option_is_one_line_on_one_rank(self):
        self.refuses_usage(["run", "criteo-kaggle", "--nosuch"], "--nosuch")

    def test_a_missing_argument_is_one_line_on_one_rank(self):
        self.refuses_usage(["run"], "WORKLOAD")

    def test_a_number_out_of_range_is_one_readable_line_on_one_rank(self):
        for option in ("--batch", "--threads", "--seconds"):
            outcome = self.launch(3, "run", "criteo-kaggle", option, 0)
            self.refuses(outcome, option, "0")
            self.assertNotRegex(outcome.err, r"\d{30}")

    def test_an_unknown_command_prints_the_valid_ones(self):
        self.refuses_serial(["nosuch"], "nosuch", "compare", "results")

    def test_an_unknown_subcommand_prints_the_valid_ones(self):
        self.refuses_serial(["plan", "nosuch"], "nosuch", "create", "convert")
        self.refuses_serial(["data", "generate", "nosuch"], "nosuch", "criteo")

    def test_a_usage_error_names_the_command_whose_help_to_read(self):
        for command, rest in (("", ["--nosuch"]), ("plan", []), ("plan create", ["criteo-kaggle"]), ("run", []),
                              ("plan create", ["criteo-kaggle", "--plan", "row_wise", "--ranks", "0"]),
                              ("data generate criteo", []), ("doctor", ["more"]), ("results diff", []),
                              ("run", ["criteo-kaggle", "--set"])):
            self.refuses_serial([*command.split(), *rest], f"see {' '.join(['shardmark', *command.split()])} --help")

    def test_an_unknown_option_suggests_the_nearest_and_names_the_help(self):
        for command, given, meant in (("run criteo-kaggle", "--exchnge", "--exchange"),
                                      ("run criteo-kaggle", "--wire_ids=int64", "--wire-ids"),
                                      ("compare criteo-kaggle", "--optimiser", "--optimizer"),
                                      ("plan create criteo-kaggle --ranks 2", "--plannr", "--plan"),
                                      ("plan show criteo-kaggle", "--rank=2", "--ranks"),
                                      ("calibrate", "--tabel", "--table")):
            name = given.partition("=")[0]
            path = " ".join(command.split()[:2 if command.startswith("plan") else 1])
            self.refuses_serial([*command.split(), given, "row_wise"],
                                f"unknown option '{name}'; did you mean '{meant}'? see shardmark {path} --help")
        self.refuses_serial(["run", "criteo-kaggle", "--nosuch"], "unknown option '--nosuch'; see shardmark run --help")

    def test_what_follows_two_dashes_is_no_option(self):
        self.refuses_serial(["results", "show", "--", "--out"], "--out")

    def test_no_command_at_all_is_one_line(self):
        for arguments in ([], ["plan"], ["data"], ["results"], ["data", "generate"]):
            self.refuses_serial(arguments)

    def test_a_count_that_is_no_number_is_refused(self):
        for option, value in (("steps", "many"), ("steps", 0), ("check", "some"), ("scale", 0)):
            arguments = ["run", "criteo-kaggle", "--dry-run", f"--{option}", value]
            self.refuses_serial(arguments, option, str(value))


class Names(ProgramTest):
    def test_an_unknown_name_suggests_the_nearest_and_prints_the_valid_ones(self):
        run = ["run", "criteo-kaggle", "--dry-run"]
        for arguments, meant, valid in ((["comapre"], "compare", "valid: run, compare"),
                                        (["plan", "creat"], "create", "valid: create, show"),
                                        (["run", "criteo_kagle", "--dry-run"], "criteo-kaggle", "hugectr-dlrm"),
                                        ([*run, "--optimizer", "adagard"], "adagrad", "rowwise_adagrad"),
                                        ([*run, "--set", "learningrate=1"], "learning_rate", "weight_decay"),
                                        ([*run, "--set", "fault=missing"], None, "valid: none, lookup"),
                                        (["list", "planers"], "planners", "workloads"),
                                        (["plan", "show", "criteo-kaggle", "rowwise", "--ranks", "2"], "row_wise",
                                         "planners: data_parallel")):
            suggestion = f"did you mean '{meant}'? " if meant else "unknown fault 'missing'; valid"
            self.refuses_serial(arguments, suggestion, valid)

    def test_an_unknown_workload_prints_the_valid_ones(self):
        self.refuses_case("'nosuch'", "criteo-kaggle", "hugectr-dlrm", workload="nosuch")

    def test_an_unknown_planner_prints_the_valid_ones(self):
        self.refuses_case("'nosuch'", *PLANNERS, plan="nosuch")

    def test_an_unknown_planner_in_a_list_of_compare_prints_the_valid_ones(self):
        self.refuses_case("'nosuch'", *PLANNERS, command="compare", plan="row_wise,nosuch")

    def test_an_unknown_exchange_prints_the_valid_ones(self):
        self.refuses_case("'nosuch'", "mpi_alltoallv", "pairwise", exchange="nosuch")

    def test_an_exchange_that_cannot_run_here_is_refused_with_the_reason(self):
        self.refuses_case("exchange 'node_aware' cannot be used here: all ranks are on one node", exchange="node_aware")

    def test_a_number_on_an_exchange_without_one_is_refused(self):
        self.refuses_case("exchange 'pairwise' takes no number: ':4'", exchange="pairwise:4")

    def test_an_unknown_transfer_prints_the_valid_ones(self):
        self.refuses_case("'nosuch'", "dense_partials", "reduce_scatter", transfer="nosuch")

    def test_an_unknown_optimizer_prints_the_valid_ones(self):
        self.refuses_case("'nosuch'", "sgd", "adagrad", "rowwise_adagrad", optimizer="nosuch")

    def test_an_unknown_setting_prints_the_valid_ones(self):
        self.refuses_case("'nosuch'", "batches", "dim", "ids.alpha", "seed", set=["nosuch=1"])

    def test_an_unknown_pooling_value_type_check_fault_or_distribution_prints_the_valid_ones(self):
        self.refuses_case("'nosuch'", "sqrtn", ranks=[3], pooling="nosuch")
        self.refuses_case("'nosuch'", "bf16", ranks=[3], dtype="nosuch")
        self.refuses_case("'nosuch'", "warn", ranks=[3], bounds_check="nosuch")
        self.refuses_case("'nosuch'", "update", ranks=[3], set=["fault=nosuch"])
        self.refuses_case("'nosuch'", "power_law", ranks=[3], set=["ids.distribution=nosuch"])

    def test_an_option_is_refused_as_it_was_given_with_the_valid_values(self):
        self.refuses_case("--set dedup=nosuch: ", "'nosuch'", "local+owner", ranks=[3], set=["dedup=nosuch"])
        self.refuses_case("--storage nosuch: ", "'nosuch'", "dense", ranks=[1], storage="nosuch")
        self.refuses_case("--group-balance nosuch: ", "count, bytes", ranks=[1], group_balance="nosuch")
        self.refuses_case("--learning-rate nan: ", "a number of at least 0", ranks=[1], learning_rate="nan")
        self.refuses_case("--groups many: ", "table or a number of at least 1", ranks=[1], groups="many")
        self.refuses_case("--dedup off,local: ", "'off,local'", ranks=[1], dedup="off,local")
        self.refuses_case("--dtype fp16,bf16: ", "'fp16,bf16'", ranks=[1], command="compare", dtype="fp16,bf16")

    def test_a_setting_without_value_or_with_a_wrong_one_is_refused(self):
        for setting in ("dim", "dim=", "dim=zero", "dim=0", "exact=maybe", "seed=-1", "learning_rate=nan"):
            self.refuses_serial(["run", "criteo-kaggle", "--dry-run", "--set", setting], f"--set {setting}: ")

    def test_an_unknown_id_rule_prints_the_valid_ones(self):
        self.refuses_case("'nosuch'", "modulo", "frequency", data=self.new_file("\n", ".tsv"), id_rule="nosuch")

    def test_an_unknown_id_rule_is_refused_without_data_too(self):
        self.refuses_case("'nosuch'", "modulo", "frequency", ranks=[1], id_rule="nosuch")

    def test_an_unknown_action_on_malformed_lines_is_refused_without_data_too(self):
        self.refuses_case("'nosuch'", "stop", "skip", ranks=[1], malformed="nosuch")


class Specs(ProgramTest):
    def refuses_spec(self, spec, *texts):
        file = self.new_file(spec)
        self.refuses_serial(["run", file, "--dry-run"], str(file), *texts)

    def changed(self, **changes):
        return {**big_spec(100), **changes}

    def test_segments_that_cannot_be_are_refused_with_what_to_do(self):
        def spec(**keys):
            feature = {**big_spec(100)["features"][0], "hotness": 6, **keys}
            return {**big_spec(100), "features": [feature]}
        for keys, message in (
                ({"segment_rank": 1}, "segment_rank 1 pools segments, but the ids are not nested; give segments"),
                ({"segments": 2, "segment_rank": 2}, "segment_rank 2 is neither 0, a bag per sample, nor 1, a bag per "
                                                     "segment; for a vector per id use pooling none"),
                ({"segments": 2, "segment_rank": -1}, "segment_rank -1 is neither 0"),
                ({"segments": 2, "segment_rank": 1, "pooling": "none"},
                 "segment_rank 1 pools segments, but pooling none gives a vector per id; use segment_rank 0 or another "
                 "pooling"),
                ({"segments": 4}, "6 ids per sample are no multiple of its 4 segments; change hotness or segments"),
                ({"segments": -1}, '"segments" must be at least 0, got -1'),
                ({"segments": 1.5}, 'key "segments" has the wrong type: 1.5')):
            with self.subTest(keys=keys):
                self.refuses_spec(spec(**keys), f"features[0]: {message}")
        nested = self.new_file(spec(segments=2, segment_rank=1))
        name = spec()["features"][0]["name"]
        for given, message in (({"pooling": "none"}, "segment_rank 1 pools segments, but pooling none"),
                               ({"segments": "none"}, "but the ids are not nested; give segments"),
                               ({"set": ["hotness=5"]}, "5 ids per sample are no multiple of its 2 segments"),
                               ({"data": self.new_file("", ".h5")}, "has segments, which data files do not have; leave "
                                                                    "data or segments out")):
            with self.subTest(given=given):
                self.refuses_case(f"feature {name}", message, ranks=[1], workload=nested, scale=1, **given)

    def test_a_spec_that_cannot_be_read_is_named(self):
        self.refuses_case("missing.json", workload="missing.json")
        folder = self.new_path(".json")
        folder.mkdir()
        self.refuses_serial(["run", folder, "--dry-run"], str(folder))

    def test_a_spec_that_is_no_json_is_named_with_the_place(self):
        self.refuses_spec('{"name": ', ":1:10: not valid JSON")
        self.refuses_spec("", "not valid JSON")
        self.refuses_spec("[]", "expected a JSON object")

    def test_a_spec_with_a_missing_unknown_or_mistyped_key_names_the_key(self):
        self.refuses_spec(self.changed(nosuch=1), '"nosuch"')
        self.refuses_spec({"name": "x"}, '"global_batch"', "missing")
        self.refuses_spec(self.changed(tables=3), '"tables"')
        self.refuses_spec(self.changed(tables=[{"name": "T", "rows": "many", "dim": 4}]), "tables[0]", '"rows"')
        self.refuses_spec(self.changed(tables=[{"name": "T", "rows": 0, "dim": 4}]), "tables[0]", '"rows"')

    def test_a_count_that_is_no_whole_number_is_refused(self):
        self.refuses_spec(self.changed(tables=[{"name": "T", "rows": 1.5, "dim": 4}]), "tables[0]", '"rows"', "1.5")

    def test_an_unknown_optimizer_names_the_file_and_the_valid_ones(self):
        self.refuses_spec(self.changed(optimizer={"name": "nosuch"}), "'nosuch'", "rowwise_adagrad")

    def test_an_unknown_storage_names_the_table_and_the_valid_ones(self):
        self.refuses_spec(self.changed(tables=[{"name": "T", "rows": 9, "dim": 4, "storage": "nosuch"}]), "tables[0]",
                          "unknown storage 'nosuch'; valid: dense")

    def test_a_feature_of_a_table_that_is_not_there_is_named(self):
        self.refuses_spec(self.changed(features=[{"name": "F", "table": "U"}]), "features[0]", '"U"')


@unittest.skipIf("ASAN_OPTIONS" in os.environ, "the address sanitizer reserves more than any limit that is of use here")
class Memory(ProgramTest):
    def refuses_size(self, spec, **given):
        self.refuses_case(" GB of memory on this rank", workload=self.new_file(spec), scale=1, how=FOUR_GIB, **given)

    def test_ten_trillion_rows_are_refused_before_allocating_with_rank_and_gigabytes(self):
        self.refuses_size(big_spec(10**13), plan="row_wise")

    def test_a_replicated_table_that_does_not_fit_is_refused(self):
        self.refuses_size(big_spec(10**13), plan="data_parallel")

    def test_more_bytes_than_64_bits_count_are_refused(self):
        self.refuses_size(big_spec(10**18), plan="data_parallel")
        self.refuses_size(big_spec(10**18), plan="row_wise")

    def test_a_dim_batch_hotness_or_number_of_batches_that_does_not_fit_is_refused(self):
        self.refuses_case("rank 0", " GB ", ranks=[3], how=FOUR_GIB, set=["dim=200000000"])
        self.refuses_case("rank 0", " GB ", ranks=[3], how=FOUR_GIB, batch=10**11)
        self.refuses_case("rank 0", " GB ", ranks=[3], how=FOUR_GIB, set=["hotness=1000000000000"])
        self.refuses_case("rank 0", " GB ", ranks=[3], how=FOUR_GIB, set=["batches=100000000000"])

    def test_the_largest_dim_is_refused(self):
        self.refuses_case(" GB of memory on this rank", ranks=[1], how=FOUR_GIB, set=[f"dim={2**63 - 1}"])


class OutputFiles(ProgramTest):
    def test_results_are_never_overwritten(self):
        file = self.new_file("precious", ".jsonl")
        self.refuses_case(str(file), "exists", out=file)
        self.assertEqual(file.read_text(), "precious")

    def test_results_that_cannot_be_written_are_refused_before_measuring(self):
        for ranks in (1, 3):
            outcome, file = self.case(ranks, out=self.new_file("no folder") / "results.jsonl")
            self.refuses(outcome, str(file.parent))
            self.assertNotIn("preparing", outcome.err)

    def test_an_export_that_cannot_be_written_is_refused(self):
        self.refuses_case("missing/step.h5", export=self.folder / "missing/step.h5")

    def test_an_export_that_cannot_be_written_is_refused_before_measuring(self):
        outcome, _ = self.case(1, export=self.folder / "missing/step.h5")
        self.assertNotIn("preparing", outcome.err)

    def test_a_refused_case_leaves_no_file(self):
        before = sorted(self.folder.iterdir())
        self.refuses_case(" GB ", ranks=[1], set=["dim=200000000"])
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_a_refused_case_can_be_repeated_into_the_same_file(self):
        out = self.new_path(".jsonl")
        self.refuses_case(" GB ", ranks=[1], out=out, set=["dim=200000000"])
        self.succeeds(self.case(1, out=out)[0])

    def test_a_plan_that_cannot_be_written_is_refused(self):
        path = self.new_file("no folder") / "plan.json"
        self.refuses_serial(["plan", "create", "criteo-kaggle", "--plan", "row_wise", "--ranks", 2, "--out", path],
                            str(path))

    def test_results_that_cannot_be_read_are_named_with_the_line(self):
        self.refuses_serial(["results", "show", "missing.jsonl"], "missing.jsonl")
        file = self.new_file("{}\n", ".jsonl")
        self.refuses_serial(["results", "show", file], f"{file}:1:")


if __name__ == "__main__":
    main()
