#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shardmark predict: without MPI, for any ranks of a described machine or of a machine file."""
import csv
import io
import json
import unittest

from program import REPOSITORY, ProgramTest, main, options, records


class Predict(ProgramTest):
    def predict(self, *arguments):
        outcome = self.serial("predict", *arguments)
        self.assertEqual((outcome.code, outcome.complaints()), (0, []), outcome.err)
        return outcome.out

    def cases(self, *arguments):
        return json.loads(self.predict(*arguments, "--format", "json"))["cases"]

    def test_a_page_says_what_is_predicted_and_where_the_bottleneck_moves(self):
        page = self.predict("criteo-kaggle", "--ranks", "8,1,64", "--plan", "table_wise,row_wise", "--machine", "cpu-100g")
        self.assertTrue(page.startswith("# predicted, not measured: criteo-kaggle"), page)
        self.assertIn("machine cpu-100g (described, not measured", page)
        for text in ("BOTTLENECK of table_wise: ", "BOTTLENECK of row_wise: ", "38 ranks hold nothing"):
            self.assertIn(text, page)
        lines = [line.split()[:2] for line in page.splitlines() if "e " in line and line[:6].strip().isdigit() and "#" not in line]
        self.assertEqual([line for line in lines if "." not in line[1]][:6],
                         [[r, p] for r in "1 8 64".split() for p in ("table_wise", "row_wise")])

    def test_formats_agree(self):
        arguments = ["criteo-kaggle", "--ranks", "1,8", "--plan", "column_wise,data_parallel"]
        rows = list(csv.DictReader(io.StringIO(self.predict(*arguments, "--format", "csv"))))
        cases = self.cases(*arguments)
        self.assertEqual([(row["plan"], int(row["ranks"]), float(row["step_ms"])) for row in rows],
                         [(case["plan"], case["ranks"], case["step_ms"]) for case in cases])
        self.assertEqual([case["speedup"] for case in cases[:2]], [1, 1])
        for case in cases:
            self.assertAlmostEqual(sum(phase["ms"] for phase in case["phases"].values()), case["step_ms"])

    def test_options_of_run_are_options_of_predict(self):
        few = self.cases("criteo-kaggle", "--ranks", "4", "--plan", "row_wise", "--transfer", "sparse_partials", "--batch", "4096")
        pooled = ("criteo-kaggle", "--ranks", "4", "--plan", "row_wise", "--transfer", "dense_partials", "--batch", "4096")
        wide, narrow = self.cases(*pooled), self.cases(*pooled, "--wire", "fp16")
        self.assertLess(self.cases("criteo-kaggle", "--ranks", "4", "--plan", "row_wise", "--batch", "4096")[0]["sent_bytes_max"],
                        wide[0]["sent_bytes_max"])  # auto
        self.assertLess(few[0]["sent_bytes_max"], wide[0]["sent_bytes_max"])
        self.assertLess(narrow[0]["sent_bytes_max"], wide[0]["sent_bytes_max"])

    def test_what_does_not_fit_says_where_and_by_how_much(self):
        page = self.predict("synthetic-colossal", "--ranks", "1024", "--plan", "table_wise", "--machine", "dgx-a100")
        self.assertRegex(page, r"does not fit: rank \d+ lacks \d\S* GB; .*(could move is \S+, \S+ GB, to rank \d+|"
                               r"split its largest, \S+, \S+ GB)")

    def test_the_batch_grows_with_the_ranks_unless_told_otherwise(self):
        given = ["criteo-kaggle", "--ranks", "2,8", "--plan", "table_wise"]
        weak = self.cases(*given)
        self.assertEqual([(case["scaling"], case["global_batch"]) for case in weak], [("weak", 16384), ("weak", 65536)])
        self.assertEqual(self.cases(*given, "--batch-per-rank", "8192"), weak)
        strong = self.cases(*given, "--scaling", "strong")
        self.assertEqual([(case["scaling"], case["global_batch"]) for case in strong], [("strong", 16384), ("strong", 16384)])
        self.assertEqual(self.cases(*given, "--scaling", "both"), weak + strong)
        self.assertEqual(self.cases(*given, "--scaling", "strong", "--batch-per-rank", "8192"), strong)
        for cases in (weak, strong):
            self.assertAlmostEqual(cases[1]["speedup"], cases[1]["samples_per_s"] / cases[0]["samples_per_s"])
        self.assertLess(weak[0]["step_ms"], weak[1]["step_ms"])
        page = self.predict(*given, "--scaling", "both")
        for text in ("\n# weak scaling: 8192 samples a rank\n", "\n# strong scaling: 16384 samples a step on any ranks\n"):
            self.assertIn(text, page)
        self.assertNotIn("scaling", self.predict("criteo-kaggle", "--ranks", "8", "--plan", "table_wise", "--scaling", "both"))

    def test_a_page_closes_with_an_answer_and_the_usual_error(self):
        page = self.predict("criteo-kaggle", "--ranks", "1,8", "--plan", "table_wise,row_wise")
        answer = " ".join(page.partition("\nANSWER: ")[2].split())
        cases = {(case["plan"], case["ranks"]): case for case in self.cases("criteo-kaggle", "--ranks", "1,8", "--plan", "table_wise,row_wise")}
        best = min("table_wise", "row_wise", key=lambda plan: cases[plan, 8]["step_ms"])
        self.assertTrue(answer.startswith(f"On 8 ranks the fastest plan that fits is {best}: "), answer)
        self.assertRegex(answer, r"times those of 1 rank \(\d+ % of 8\)")
        self.assertRegex(answer, r"Its fullest rank takes \S+ of 256 GB\.")
        self.assertRegex(answer, r"Predictions for described machines are usually \d+ % off: of 15 published steps")
        self.assertLessEqual(max(map(len, page.partition("\nANSWER: ")[2].splitlines())), 120)
        self.assertIn("of 256\n", page)
        full = self.predict("synthetic-colossal", "--ranks", "8", "--plan", "table_wise", "--machine", "dgx-a100")
        self.assertIn("\nANSWER: No plan fits into the memory; use more ranks", full)

    def one_node(self):
        """A machine file that knows nothing of exchanges between nodes."""
        described = json.loads(self.succeeds(self.serial("machine", "describe", "--like", "cpu-100g", "--ranks-per-node", 4)).out)
        del described["exchanges"]["mpi_alltoallv"]["between"], described["all_reduce"]["between"]
        return self.new_file({**described, "measured": True})

    def test_ranks_that_the_machine_cannot_answer_are_left_out_with_a_note(self):
        given = ["criteo-kaggle", "--plan", "table_wise,row_wise", "--machine", self.one_node(), "--ranks"]
        page = self.predict(*given, "2,4,8")
        self.assertEqual(page.count("# 8 ranks are left out: machine described: it was measured on one node"), 1)
        self.assertIn("--links and --latency", page)
        self.assertIn("ANSWER: On 4 ranks", page)
        self.assertIn("calibrated machines are usually", " ".join(page.split()))
        self.refuses_serial(["predict", *given, "8"], "measured on one node")
        cases = self.cases(*given, "8", "--links", "200Gb/s", "--latency", "2us")
        self.assertEqual([case["ranks"] for case in cases], [8, 8])

    def test_options_override_the_machine(self):
        given = ["criteo-kaggle", "--plan", "table_wise", "--ranks", "8"]
        usual, = self.cases(*given)
        fast, = self.cases(*given, "--links", "400Gb/s", "--latency", "1us")
        slow, = self.cases(*given, "--links", "1Gb/s")
        several, = self.cases(*given, "--links", "8x1Gb/s")
        one_node, = self.cases(*given, "--ranks-per-node", "8")
        self.assertEqual([case["nodes"] for case in (usual, one_node)], [4, 1])
        self.assertLess(fast["step_ms"], usual["step_ms"])
        self.assertLess(several["step_ms"], slow["step_ms"])
        self.assertLess(usual["step_ms"], several["step_ms"])
        page = self.predict(*given, "--links", "8x25GB/s", "--latency", "2us", "--memory", "80GB", "--ranks-per-node", "8")
        self.assertIn("; with 8 links of 200 Gb/s a node, latency of 2 us, 8 ranks a node, 80 GB a rank)", page)
        self.assertIn("of 80 GB.", page)
        self.assertIn("does not fit", self.predict(*given, "--memory", "200MB"))

    def test_a_data_sheet_makes_a_machine(self):
        file = self.new_path(".json")
        sheet = ["--cores", 64, "--memory-bandwidth", "307GB/s", "--links", "2x200Gb/s", "--latency", "1.5us", "--ranks-per-node", 2,
                 "--memory", "384GB", "--out", file]
        said = self.succeeds(self.serial("machine", "describe", *sheet)).out
        self.assertIn(f"wrote {file}: described, not measured: as cpu-100g", said)
        self.assertIn("all else is that of cpu-100g", said)
        case, = self.cases("criteo-kaggle", "--plan", "row_wise", "--ranks", "8", "--machine", file)
        usual, = self.cases("criteo-kaggle", "--plan", "row_wise", "--ranks", "8")
        self.assertLess(case["step_ms"], usual["step_ms"])
        self.assertLess(case["phases"]["lookup"]["ms"], usual["phases"]["lookup"]["ms"])
        self.refuses_serial(["machine", "describe", *sheet], f"{file}: exists already", "--force")
        self.succeeds(self.serial("machine", "describe", *sheet, "--force"))
        gpu = self.new_path(".json")
        self.succeeds(self.serial("machine", "describe", "--like", "dgx-a100", "--memory-bandwidth", "3.35TB/s", "--out", gpu))
        self.assertEqual(json.loads(gpu.read_text())["data_sheet"], {"memory_bytes_per_second": 3.35e12})
        self.refuses_serial(["machine", "describe", "--like", "dgx-a100", "--cores", 8], "--cores: machine dgx-a100 has none")
        self.refuses_serial(["machine", "describe"], "the data sheet says nothing; give --cores")
        self.refuses_serial(["machine", "describe", "--cores", 8, "--out", "machine"], "ends in .json")

    def test_published_figures_stand_beside_predictions(self):
        page = self.predict("hugectr-dlrm", "--published")
        for text in ("103.45", "190.85", "a hold-out but for", "published 1.84", "mean absolute error of the hold-out"):
            self.assertIn(text, page)
        fast, slow = (line.split() for line in page.splitlines() if line.startswith("dgx-1-hugectr"))
        self.assertEqual((fast[-1], slow[-1]), ("no", "yes"))
        self.assertLess(abs(float(fast[5])), 0.5)  # it chose a constant
        self.assertLess(abs(float(slow[5])), 25)  # by the partial sums that HugeCTR sends

    def test_published_steps_are_predicted_as_they_were_run(self):
        run = [line.split() for line in self.predict("synthetic-large", "--published").splitlines() if line[:1] != "#"][1]
        case, = self.cases("synthetic-large", "--ranks", "32", "--plan", run[2], "--machine", run[0], "--dense", "mlp")
        self.assertAlmostEqual(float(run[4]), case["step_ms"] - case["phases"]["input_dist"]["ms"], 1)

    def published(self, *steps):
        """A file of steps that took what `predict` says, or as many times as long as `times`."""
        given = {"workload": "criteo-kaggle", "group": "A", "machine": "dgx-a100", "nodes": 1, "global_batch": 65536,
                 "plan": "table_wise", "source": "we", "set": ["dense=none"]}
        rows = []
        for step in steps:
            row = {**given, **{key: value for key, value in step.items() if key != "times"}}
            case, = self.cases("criteo-kaggle", "--batch", row["global_batch"], "--ranks", row["ranks"], "--machine", "dgx-a100",
                               "--plan", "table_wise", *options(dict(text.split("=") for text in row["set"])))
            rows.append({"ms": case["step_ms"] * step.get("times", 1), **row})
        return self.new_file({"format": "shardmark-published/1", "title": "ours", "notice": "not verified by us", "steps": rows})

    def test_a_file_of_published_steps_is_summed_up_by_group(self):
        file = self.published({"ranks": 2}, {"ranks": 4, "times": 0.5, "set": ["dense=none", "wire=fp16"]}, {"ranks": 8, "times": 4},
                              {"ranks": 8, "group": "B", "times": 2, "used": True}, {"ranks": 8, "group": "B", "machine": ""})
        page = self.predict("--published", file)
        self.assertEqual(page.splitlines()[:2], [f"# {file}: ours", "# not verified by us"])
        lines = [line.split() for line in page.splitlines() if line[:1] != "#"]
        self.assertEqual([line[8] for line in lines[:5]], ["+0.0", "+100.0", "-75.0", "-50.0", "machine"])
        # |0|, |1| and |-0.75|. Only 2 and 8 ranks are a pair: predicted faster on 8, published slower.
        self.assertEqual(lines[5:], [["A", "3", "3", "58.3", "-0.50", "33.3", "0", "of", "1"], ["B", "2", "0", "-", "-", "-", "-"],
                                     ["all", "5", "3", "58.3", "-0.50", "33.3", "0", "of", "1"]])

    def test_pages_stand_at_the_figures_that_are_predicted_today(self):
        page = self.predict("--published", "mlperf-training")
        self.assertIn("derived from MLPerf Training v0.7 to v5.1 results; not verified by MLCommons Association\n", page)
        table = page[page.index("# group"):]
        self.assertTrue(f"\n```\n{table}```\n" in (REPOSITORY / "results/measured/README.md").read_text(), table)

    def test_files_of_published_steps_are_refused_by_step_and_key(self):
        good = json.loads(self.published({"ranks": 2}).read_text())
        for key, value, why in (("workload", "criteo-kagle", "did you mean 'criteo-kaggle'"), ("machine", "dgx-a10", "did you mean 'dgx-a100'"),
                                ("set", ["wire=fp15"], "wire"), ("plan", "tabel_wise", "did you mean 'table_wise'")):
            bad = self.new_file({**good, "steps": [good["steps"][0], {**good["steps"][0], key: value}]})
            self.refuses_serial(["predict", "--published", bad], f'{bad}: steps[1]: "{key}": ', why)
        self.refuses_serial(["predict", "--published", "nosuch.json"], "nosuch.json: cannot be read")
        self.refuses_serial(["predict", "--published", "mlperf"], "unknown published steps", "did you mean 'mlperf-training'")
        self.refuses_serial(["predict", "criteo-kaggle", "--published", "mlperf-training"], "leave out criteo-kaggle")
        self.refuses_serial(["predict"], "WORKLOAD is required")

    def test_registered_predictions_are_held_against_what_is_measured_later(self):
        file, case = self.new_path(".json"), ("criteo-kaggle", "--scale", "1/4096", "--batch", "240", "--exchange", "bruck")
        self.predict(*case, "--ranks", "2", "--plan", "table_wise,row_wise", "--register", file, "--within", "10%")
        record = json.loads(file.read_text())
        self.assertEqual([(step["plan"], step["ranks"], len(step["plan_digest"]), step["placement"]["format"]) for step in record["predictions"]],
                         [(plan, 2, 16, "shardmark-plan/1") for plan in ("table_wise", "row_wise")])
        self.assertEqual((record["workload"], record["machine"]["name"], record["within"]), ("criteo-kaggle", "cpu-100g", 0.1))
        again = self.new_path(".json")
        self.predict(*case, "--ranks", "2", "--plan", "row_wise", "--register", again, "--links", "1Gb/s")
        self.assertNotEqual(json.loads(again.read_text())["machine"]["hash"], record["machine"]["hash"])

        outcome, measured = self.case(2, exchange="bruck", plan="row_wise")
        self.succeeds(outcome)
        environment, of_case = records(measured)
        of_case["step_ms"]["median"] = 1.05 * record["predictions"][1]["step_ms"]  # as if this machine were the described one

        def held(time):
            later = self.new_file("\n".join(map(json.dumps, ({**environment, "time": time}, of_case))) + "\n", ".jsonl")
            page = self.succeeds(self.serial("results", "register", file, later)).out
            return [" ".join(line.split()[7 if str(later) in line else 6:]).removesuffix(f" {later}") for line in page.splitlines() if line[:1] == " "]

        self.assertEqual(held("2999-01-01T00:00:00Z"), ["- not measured", "-4.8 registered"])
        self.assertEqual(held(record["time"]), ["- not measured", "-4.8 not counted: younger than the measurement"])
        of_case["step_ms"]["median"] *= 2
        self.assertEqual(held("2999-01-01T00:00:00Z"), ["- not measured", "-52.4 refuted"])

        changed = self.new_file(file.read_text().replace('"within": 0.1', '"within": 0.9'))
        self.refuses_serial(["results", "register", changed, measured], f"{changed}: was changed after it was registered")
        of_case["options"]["exchange"] = "linear"
        other = self.new_file("\n".join(map(json.dumps, (environment, of_case))) + "\n", ".jsonl")
        outcome = self.serial("results", "register", file, other)
        self.assertEqual(outcome.code, 3)
        self.assertIn(f"# row_wise on 2 ranks: {other} has it with exchange linear, predicted with bruck", outcome.out)

    def test_options_of_registering_are_of_use_with_it_alone(self):
        self.refuses_serial(["predict", "criteo-kaggle", "--within", "10%"], "--within requires --register")
        self.refuses_serial(["predict", "criteo-kaggle", "--force"], "--force requires --register")
        self.refuses_serial(["predict", "hugectr-dlrm", "--published", "--register", self.new_path()], "--register", "excludes", "--published")
        self.refuses_serial(["predict", "criteo-kaggle", "--within", "2", "--register", self.new_path()], "--within 2: neither a percentage")

    def test_the_critical_path_is_explained(self):
        given = ["criteo-kaggle", "--ranks", "8", "--plan", "table_wise", "--machine"]
        case, = self.cases(*given, "cpu-100g")
        self.assertAlmostEqual(sum(part["ms"] for part in case["path"]), case["step_ms"], 6)  # nothing overlaps
        self.assertTrue(all(part["critical"] for part in case["path"] if part["ms"] > 0))
        case, = self.cases(*given, "hgx-a100+hugectr-mlperf-2021", "--dense", "dlrm")
        path = case["path"]
        self.assertAlmostEqual(sum(part["ms"] for part in path if part["critical"]), case["step_ms"], 6)
        self.assertLess(case["step_ms"], sum(part["ms"] for part in path) * 0.999)
        page = self.predict(*given, "hgx-a100+hugectr-mlperf-2021", "--dense", "dlrm", "--explain")
        self.assertIn("wire_forward fp16", page)  # as the software has it
        self.assertRegex(" ".join(page.split()), r"hardware and software are usually \d+ % off: of 32 published steps")
        self.assertRegex(page, r"(?m)^  \* .* rows are updated +update +compute +update\.\S+ \d+ %")
        without, = self.cases(*given, "hgx-a100+hugectr-mlperf-2021", "--dense", "dlrm", "--without", "overlaps")
        self.assertAlmostEqual(without["step_ms"], sum(part["ms"] for part in path), 6)
        listed = self.succeeds(self.serial("list", "machines")).out
        for name in ("cpu-100g", "Hardware:\n", "hgx-h100", "Software:\n", "hugectr-mlperf-2024"):
            self.assertIn(name, listed)

    def test_steps_that_nobody_published_are_refused(self):
        self.refuses_serial(["predict", "criteo-kaggle", "--published"], "nothing was published")
        for option, value in (("--links", "200Gb/s"), ("--latency", "2us"), ("--ranks-per-node", 4), ("--memory", "80GB")):
            self.refuses_serial(["predict", "hugectr-dlrm", "--published", option, value], "--published", option)

    def test_bad_input_is_one_line(self):
        predict = ["predict", "criteo-kaggle"]
        self.refuses_serial([*predict, "--machine", "dgx-9000"], "unknown machine 'dgx-9000'", "dgx-a100")
        self.refuses_serial([*predict, "--machine", "nosuch.json"], "nosuch.json: cannot be read")
        self.refuses_serial([*predict, "--machine", "hgx-h100"], 'hgx-h100: "software" is missing', "hgx-h100+")
        self.refuses_serial([*predict, "--machine", "hgx-h100+hugectr"], "unknown software 'hugectr'", "hugectr-mlperf-2024")
        self.refuses_serial([*predict, "--machine", "a100-pcie+hugectr-mlperf-2021", "--ranks", "16", "--plan", "table_wise"],
                            "machine a100-pcie+hugectr-mlperf-2021: it is of one node", '"between"')
        self.refuses_serial([*predict, "--without", "update.rows"], "--without: unknown term", "did you mean 'update.row'")
        self.refuses_serial([*predict, "--plan", "tabel_wise"], "did you mean 'table_wise'")
        self.refuses_serial([*predict, "--ranks", "0"], "--ranks")
        self.refuses_serial(["predict", "fbtt", "--dense", "mlp"], "describes no layers")
        self.refuses_serial([*predict, "--format", "xml"], "format 'xml'", "csv")
        self.refuses_serial([*predict, "--scaling", "week"], "unknown scaling 'week'; did you mean 'weak'?", "strong, both")
        self.refuses_serial([*predict, "--links", "200"], "--links: '200' is not a rate such as 200Gb/s (bits) or 25GB/s (bytes)")
        self.refuses_serial([*predict, "--links", "0x200Gb/s"], "--links: '0x200Gb/s' is not a link such as 200Gb/s, or several")
        self.refuses_serial([*predict, "--latency", "2"], "--latency: '2' is not a latency such as 2us")
        self.refuses_serial([*predict, "--memory", "80 gigs"], "--memory")


if __name__ == "__main__":
    main()
