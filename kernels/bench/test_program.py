#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: test_program.py SHARDMARK-KERNELS. That it lists every case, and what its JSON holds."""
import json
import re
import subprocess
import sys
import unittest

CONTEXT = {"shardmark", "git_hash", "compiler", "flags", "build_type", "cpu", "threads", "transparent_huge_pages",
           "scale", "kokkos", "blas"}
COUNTERS = {"GB/s", "ids/s", "rows/s", "median_us", "huge_pages_%", "triad_%"}
TENSOR_TRAIN = ("tt-uniform", "tt-zipf", "tt-shuffled", "tt-uniform-16384", "tt-zipf-16384", "tt-shuffled-16384")
DENSE = ("dlrm-kaggle", "dlrm-mlperf", "dcnv2-mlperf")
CEILINGS = {"pooled_lookup": {"gather"}, "backward_update": {"rmw", "sorted_rmw"}}


def run(*arguments):
    return subprocess.run([sys.argv[1], "--scale=1/4096", *arguments], text=True, capture_output=True, timeout=60)


class Program(unittest.TestCase):
    def measured(self, *arguments):
        outcome = run("--benchmark_min_time=0.001", "--benchmark_format=json", *arguments)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        return json.loads(outcome.stdout)

    def test_lists_every_kernel_on_every_case(self):
        names = run("--benchmark_list_tests").stdout
        for case in "abcdef":
            for values in ("fp32", "fp16", "bf16", "int8"):
                self.assertRegex(names, f"(?m)^pooled_lookup/case:{case}/.*/values:{values}/ids:int64")
            for optimizer in ("sgd", "rowwise_adagrad"):
                self.assertRegex(names, f"(?m)^backward_update/case:{case}/.*/optimizer:{optimizer}/")
            for kernel in ("bucketize", "unique_rows", "check_bags", "pack_vectors", "expand_positions",
                           "pack_row_gradients", "row_sums"):
                self.assertRegex(names, f"(?m)^{kernel}/case:{case}/")
        self.assertEqual(re.findall("(find_keys|find_update)/case:(.)", names),
                         [(kernel, case) for case in "cd" for kernel in ("find_keys", "find_update")])
        self.assertEqual(re.findall("reduce_to_dense/case:(.)", names), list("def"))
        for case in TENSOR_TRAIN:
            for kernel in ("forward/.*fp32/direction:suffix", "backward/.*fp32/optimizer:sgd/order:unordered",
                           "step/.*bf16/optimizer:sgd"):
                self.assertRegex(names, f"(?m)^tensor_train_{kernel.replace('/', f'/case:{case}/', 1)}/")
        self.assertEqual(len(names.split()), len(set(names.split())))

    def test_rows_hold_counters_and_ceilings(self):
        for kernel, ceilings in CEILINGS.items():
            found = self.measured(f"--benchmark_filter=^{kernel}/case:[ad]/.*fp32/ids:int64/(major:feature|.*sgd)/manual_time")
            self.assertLessEqual(CONTEXT, set(found["context"]))
            self.assertTrue(all(found["context"][key] for key in CONTEXT))
            self.assertEqual(len(found["benchmarks"]), 2)
            wanted = COUNTERS | {name + ending for name in ceilings for ending in ("_us", "_%")}
            for row in found["benchmarks"]:
                self.assertLessEqual(wanted, set(row), row["name"])
                self.assertTrue(all(row[key] > 0 for key in wanted - {"huge_pages_%"}), row)
                ids = row["ids/s"] * row["real_time"] / 1e3
                self.assertAlmostEqual(ids, {"a": 2 * 20, "d": 4 * 26}[re.search("case:(.)", row["name"])[1]], 6)

    def test_rows_of_dynamic_tables_are_found_and_updated(self):
        rows = self.measured("--benchmark_filter=^find_.*/case:d/")["benchmarks"]
        self.assertEqual([row["name"] for row in rows if row.get("error_occurred")], [])
        self.assertTrue(all(row["rows/s"] > 0 for row in rows) and rows[1]["rmw_%"] > 0, rows)

    def test_ceilings_can_be_left_out(self):
        row, = self.measured("--ceilings=off", "--benchmark_filter=lookup/case:a/.*fp32/ids:int64")["benchmarks"]
        self.assertEqual([key for key in row if key.startswith(("gather", "triad"))], [])

    def test_every_value_type_and_optimizer_runs(self):
        rows = self.measured("--ceilings=off", "--benchmark_filter=case:a/")["benchmarks"]
        self.assertEqual([row["name"] for row in rows if row.get("error_occurred")], [])
        self.assertGreater(len(rows), 18)

    def test_unordered_updates_tell_their_difference(self):
        rows = self.measured("--ceilings=off", "--benchmark_filter=case:d/.*order:unordered")["benchmarks"]
        self.assertEqual(len(rows), 1)
        self.assertTrue(all(0 <= row["difference"] < 1e-3 for row in rows), rows)

    def test_tensor_trains_tell_their_share_of_the_peak(self):
        rows = self.measured("--benchmark_filter=^tensor_train_.*/case:tt-shuffled/")["benchmarks"]
        self.assertEqual([row["name"] for row in rows if row.get("error_occurred")], [])
        self.assertEqual(len(rows), 7)
        for row in rows:
            self.assertTrue(all(row[key] > 0 for key in ("us/lookup", "GFLOP/s", "nominal_GFLOP/s", "gemm_GFLOP/s",
                                                         "gemm_%", "prefixes")), row)
            self.assertLessEqual(row["prefixes"], row["rows"])
            self.assertAlmostEqual(row["GFLOP/s"] / row["gemm_GFLOP/s"] * 100, row["gemm_%"], 6)

    def test_dense_models_are_held_against_their_products(self):
        rows = self.measured("--benchmark_filter=^dense_step/")["benchmarks"]
        self.assertEqual([row["name"].split("/")[1].removeprefix("case:") for row in rows[::2]], list(DENSE))
        self.assertEqual([row["name"].split("/")[3] for row in rows[:2]], ["optimizer:sgd", "optimizer:adagrad"])
        for row in rows:
            self.assertTrue(all(row[key] > 0 for key in ("median_us", "gemm_us", "gemm_%", "peak_GFLOP/s")), row)
            self.assertAlmostEqual(row["GFLOP/s"] / row["peak_GFLOP/s"] * 100, row["peak_%"], 6)

    def test_lists_the_cases_for_other_programs(self):
        found = {case["name"]: case for case in json.loads(run("--list-cases").stdout)}
        self.assertLessEqual({*"abcdef", *TENSOR_TRAIN, *DENSE}, set(found))
        self.assertEqual(found["d"]["hotness"], [1] * 26)
        train = found["tt-shuffled"]
        self.assertEqual((train["p"], train["q"], train["r"]), ([200, 220, 250], [4, 4, 4], [1, 32, 32, 1]))
        self.assertTrue(train["shuffled"])
        dense = found["dcnv2-mlperf"]
        self.assertEqual((dense["dense"], dense["widths"], dense["cross_rank"]), ("dcnv2", [128] * 26, 512))
        self.assertEqual(found["dlrm-kaggle"]["parameters"], 475985)  # 155,984 of the bottom MLP, 320,001 of the top one
        self.assertEqual(dense["top_mlp"], [1024, 1024, 512, 256, 1])

    def test_refuses_what_it_does_not_know(self):
        for bad in ("--scale=2", "--ceilings=maybe", "--frobnicate"):
            outcome = run(bad)
            self.assertEqual(outcome.returncode, 2)
            self.assertIn(bad, outcome.stderr)
        self.assertEqual(run("--benchmark_filter=nothing").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
