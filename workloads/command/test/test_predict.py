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

    def test_published_figures_stand_beside_predictions(self):
        page = self.predict("hugectr-dlrm", "--published")
        for text in ("103.45", "190.85", "a hold-out but for", "published 1.84", "mean absolute error of the hold-out"):
            self.assertIn(text, page)
        fast, slow = (line.split() for line in page.splitlines() if line.startswith("dgx-1-hugectr"))
        self.assertEqual((fast[-1], slow[-1]), ("no", "yes"))
        self.assertLess(abs(float(fast[5])), 0.5)  # it chose a constant

    def test_published_steps_are_predicted_as_they_were_run(self):
        run = [line.split() for line in self.predict("synthetic-large", "--published").splitlines() if line[:1] != "#"][1]
        case, = self.cases("synthetic-large", "--ranks", "32", "--plan", run[2], "--machine", run[0], "--dense")
        self.assertAlmostEqual(float(run[4]), case["step_ms"] - case["phases"]["input_dist"]["ms"], 1)

    def test_steps_that_nobody_published_are_refused(self):
        self.refuses_serial(["predict", "criteo-kaggle", "--published"], "nothing was published")

    def test_bad_input_is_one_line(self):
        predict = ["predict", "criteo-kaggle"]
        self.refuses_serial([*predict, "--machine", "dgx-9000"], "unknown machine 'dgx-9000'", "dgx-a100")
        self.refuses_serial([*predict, "--machine", "nosuch.json"], "nosuch.json: cannot be read")
        self.refuses_serial([*predict, "--plan", "tabel_wise"], "did you mean 'table_wise'")
        self.refuses_serial([*predict, "--ranks", "0"], "--ranks")
        self.refuses_serial(["predict", "fbtt", "--dense"], "no dense half")
        self.refuses_serial([*predict, "--format", "xml"], "format 'xml'", "csv")


if __name__ == "__main__":
    main()
