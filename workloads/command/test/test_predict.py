#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shardmark predict: without MPI, for any ranks of a described machine or of a machine file."""
import csv
import io
import json
import unittest

from program import ProgramTest, main


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

    def test_published_steps_are_predicted_as_they_were_run(self):
        run = [line.split() for line in self.predict("synthetic-large", "--published").splitlines() if line[:1] != "#"][1]
        case, = self.cases("synthetic-large", "--ranks", "32", "--plan", run[2], "--machine", run[0], "--dense", "mlp")
        self.assertAlmostEqual(float(run[4]), case["step_ms"] - case["phases"]["input_dist"]["ms"], 1)

    def test_steps_that_nobody_published_are_refused(self):
        self.refuses_serial(["predict", "criteo-kaggle", "--published"], "nothing was published")
        for option, value in (("--links", "200Gb/s"), ("--latency", "2us"), ("--ranks-per-node", 4), ("--memory", "80GB")):
            self.refuses_serial(["predict", "hugectr-dlrm", "--published", option, value], "--published", option)

    def test_bad_input_is_one_line(self):
        predict = ["predict", "criteo-kaggle"]
        self.refuses_serial([*predict, "--machine", "dgx-9000"], "unknown machine 'dgx-9000'", "dgx-a100")
        self.refuses_serial([*predict, "--machine", "nosuch.json"], "nosuch.json: cannot be read")
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
