#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the peers' tables, and that scripts which need torch at least parse."""
import ast
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import dlrm_comparison as dlrm  # noqa: E402
import hash_maps_comparison as hash_maps  # noqa: E402
import tensor_train_comparison as tensor_train  # noqa: E402
import torchrec_comparison as torchrec  # noqa: E402
from comparison import geometric_mean, markdown, ratio, ratio_of_means, read_records, times_of  # noqa: E402

HERE = Path(__file__).resolve().parent


def time(number, case, system, setting, **result):
    return {"record": "time", "pass": number, "case": case, "operation": "forward", "system": system,
            "setting": setting, **result}


RECORDS = [
    time(0, "a", "shardmark", "as built", ms=2.0), time(0, "a", "fbgemm", "tuned", ms=3.0),
    time(0, "a", "torch", "tuned", ms=2.5), time(0, "a", "fbgemm", "as installed", ms=8.0),
    time(1, "a", "shardmark", "as built", ms=4.0), time(1, "a", "fbgemm", "tuned", ms=6.0),
    time(1, "a", "torch", "tuned", ms=7.0), time(1, "a", "torch", "as installed", error="no memory"),
    time(0, "b", "shardmark", "as built", ms=1.0), time(0, "b", "torch", "tuned", ms=4.0),
]


class Comparison(unittest.TestCase):
    def test_ratio_is_that_of_the_faster_peer_in_the_same_pass(self):
        times = times_of(RECORDS, "forward")
        self.assertEqual(ratio(times["a"], "tuned"), (2.5 / 2 + 6 / 4) / 2)
        self.assertEqual(ratio(times["a"], "as installed"), 4)
        self.assertIsNone(ratio(times["b"], "as installed"))

    def test_row_wise_adagrad_of_fbgemm_stands_in_for_its_slower_sgd(self):
        records = [{**record, "operation": "sgd"} for record in RECORDS]
        records += [{**time(number, "a", "fbgemm", "tuned", ms=1.0), "operation": "rowwise_adagrad"} for number in (0, 1)]
        self.assertEqual(ratio(times_of(records, "sgd")["a"], "tuned"), (1 / 2 + 1 / 4) / 2)
        self.assertEqual(list(times_of(records, "rowwise_adagrad")), ["a"])

    def test_means_of_three_passes_have_an_interval(self):
        passes = {number: {("shardmark", "as built"): 1.0, ("torch", "tuned"): ms} for number, ms in enumerate((2.0, 3.0, 4.0))}
        self.assertEqual([round(each, 9) for each in ratio_of_means({"a": passes, "b": passes}, "tuned")], [3.0, 2.0, 4.0])
        self.assertEqual(round(ratio_of_means({"a": {0: passes[0], 1: passes[1]}}, "tuned"), 9), 2.5)

    def test_geometric_mean_leaves_out_what_is_missing(self):
        self.assertAlmostEqual(geometric_mean([2, None, 8]), 4)
        self.assertIsNone(geometric_mean([None]))

    def test_table_holds_medians_ratios_and_errors(self):
        lines = markdown(RECORDS).splitlines()
        self.assertIn("| a | 3.00 | 8.00 | 4.50 | - | 4.75 | 4.00 | 1.38 |", lines)
        self.assertIn("| b | 1.00 | - | - | - | 4.00 | - | 4.00 |", lines)
        self.assertIn("| geometric mean |  |  |  |  |  | 4.00 | 2.35 |", lines)
        self.assertIn("- torch, as installed, case a, forward: no memory", lines)

    def test_files_add_up(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("1", "2")]
            for file in files:
                file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
            self.assertEqual(len(times_of(read_records(files), "forward")["a"]), 4)

    def test_scripts_parse(self):
        ast.parse((HERE / "worker.py").read_text(encoding="utf-8"))
        for name in ("torchrec_model", "torchrec_check", "torchrec_step"):
            ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))
        for name in ("fbgemm", "tensor_train", "dlrm", "torchrec"):
            ast.parse((HERE / f"{name}_worker.py").read_text(encoding="utf-8"))
            run = subprocess.run([sys.executable, HERE / name, "--help"], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(f"peers-{name}-TIME", run.stdout)
        run = subprocess.run([sys.executable, HERE / "hash_maps", "--help"], capture_output=True, text=True)
        self.assertIn("peers-hash_maps-TIME", run.stdout, run.stderr)


def step(number, case, system, setting, **result):
    return {**time(number, case, system, setting, **result), "operation": "step"}


class TensorTrain(unittest.TestCase):
    records = [
        step(0, "tt", "shardmark", "as built", ms=2.0, **{"us/lookup": 0.2, "gemm_%": 40.0}),
        step(0, "tt", "chunks", "tuned", ms=30.0), step(0, "tt", "chunks", "as installed", ms=20.0),
        step(0, "tt", "groups", "tuned", ms=6.0), step(0, "tt", "groups", "as installed", error="no memory"),
        step(1, "tt", "shardmark", "as built", ms=4.0, **{"us/lookup": 0.4, "gemm_%": 20.0}),
        step(1, "tt", "chunks", "tuned", ms=80.0),
        {"record": "peak", "pass": 0, "system": "groups", "setting": "tuned", "gflops": 200.0},
        {"record": "peak", "pass": 0, "system": "shardmark", "setting": "as built", "gflops": 500.0},
    ]

    def test_ratio_is_that_of_the_faster_setting_in_the_same_pass(self):
        passes = times_of(self.records, "step")["tt"]
        self.assertEqual(tensor_train.ratio(passes, "chunks"), (20 / 2 + 80 / 4) / 2)
        self.assertEqual(tensor_train.ratio(passes, "groups"), 3)
        self.assertIsNone(tensor_train.ratio(passes, "nobody"))

    def test_table_holds_medians_ratios_peaks_and_errors(self):
        text = tensor_train.markdown(self.records)
        self.assertIn("| tt | 3.00 | 0.300 | 30.0 | 20.00 | 55.00 | - | 6.00 | 15.0 | 3.0 |", text.splitlines())
        self.assertIn("ours 500; torch.mm, tuned, 200.", text)
        self.assertIn("- groups, as installed, case tt, step: no memory", text)


class Dlrm(unittest.TestCase):
    records = [{**record, "operation": "sgd"} for record in (
        time(0, "k", "shardmark", "as built", ms=2.0, **{"GFLOP/s": 150.0, "gemm_%": 90.0, "peak_%": 80.0}),
        time(0, "k", "torch", "as installed", ms=5.0), time(0, "k", "torch", "tuned", ms=4.0),
        time(0, "k", "torch.compile", "tuned", ms=3.0), time(0, "m", "shardmark", "as built", ms=10.0),
        time(0, "m", "torch", "tuned", ms=15.0), time(0, "m", "torch.compile", "tuned", error="no compiler"))]

    def test_table_holds_shares_of_ceilings_and_the_faster_peer(self):
        text = dlrm.markdown(self.records)
        self.assertIn("| k | 2.00 | 150 | 90 | 80 | 5.00 | 4.00 | 3.00 | 2.50 | 1.50 |", text.splitlines())
        self.assertIn("| m | 10.00 | - | - | - | - | 15.00 | - | - | 1.50 |", text.splitlines())
        self.assertIn("| geometric mean |  |  |  |  |  |  |  | 2.50 | 1.50 |", text.splitlines())
        self.assertIn("- torch.compile, tuned, case m, sgd: no compiler", text)
        self.assertNotIn("Adagrad", text)


class HashMaps(unittest.TestCase):
    @staticmethod
    def record(number, operation, system, ns, **more):
        return {"record": "time", "pass": number, "setting": "tuned", "operation": operation, "system": system, "ns": ns, **more}

    def test_the_fastest_map_of_each_pass_is_the_peer(self):
        record = self.record
        text = hash_maps.markdown([
            {"record": "environment", "packages": {"b": "1", "a": "2"}, "threads": 1, "keys": "8M"},
            record(0, "find", "shardmark", 10.0), record(0, "find", "one", 30.0), record(0, "find", "two", 20.0),
            record(0, "find", "known slots", 1.0), record(1, "find", "shardmark", 10.0), record(1, "find", "one", 25.0),
            record(1, "find", "two", 40.0),
            record(0, "insert", "one", 50.0, worst_batch=90.0), record(0, "insert", "shardmark", 25.0, worst_batch=2.0, bytes_per_key=24.0)])
        self.assertIn("| find | 10.0 | 27.5 | 30.0 | 2.25 [2.00, 2.50] | 1.0 | - |", text.splitlines())
        self.assertIn("| growing insert | 25.0 | 50.0 | - | 2.00 [2.00, 2.00] | - | - |", text.splitlines())
        self.assertIn("| slowest insert batch / median one | 2.0 | 90.0 | - |  |  |  |", text.splitlines())
        self.assertIn("8M keys, threads: 1; a 2, b 1.", text)
        self.assertIn("| find + sum of 16 floats | - | - | - | - | - | - |", text.splitlines())


class TorchRec(unittest.TestCase):
    phases = {"input_dist": 1.0, "lookup": 1.5, "output_dist": 0.25, "dense": 0.001, "grad_dist": 2.0, "update": 3.0}
    records = [{**record, "operation": operation} for operation, record in (
        ("none", time(0, "table_wise, 512", "shardmark", "as built", ms=8.0, phases=phases, ranks=2, threads=1)),
        ("none", time(0, "table_wise, 512", "torchrec", "as installed", ms=40.0)),
        ("none", time(0, "table_wise, 512", "torchrec", "tuned", ms=32.0)),
        ("none", time(1, "table_wise, 512", "shardmark", "as built", ms=16.0, phases=phases)),
        ("none", time(1, "table_wise, 512", "torchrec", "tuned", ms=32.0)),
        ("dlrm", time(0, "row_wise, 512", "shardmark", "as built", ms=10.0, phases={**phases, "dense": 5.0})),
        ("dlrm", time(0, "row_wise, 512", "torchrec", "tuned", error="no peer")),
        ("save", time(0, "row_wise, 512", "shardmark", "as built", ms=10.0)), ("save", time(0, "row_wise, 512", "torchrec", "tuned", ms=25.0)))]

    def test_batches_stand_by_their_size(self):
        self.assertLess(torchrec.plan_and_batch("row_wise, 4,096"), torchrec.plan_and_batch("row_wise, 16,384"))

    def test_ratios_are_within_a_pass_and_phases_stand_beside(self):
        text = torchrec.markdown(self.records)
        self.assertIn("| table_wise, 512 | 12.00 | 40.00 | 32.00 | 5.00 | 3.00 | 1.0 / 1.5 / 0.2 / 2.0 / 3.0 |", text.splitlines())
        self.assertIn("| row_wise, 512 | 10.00 | - | - | - | - | 1.0 / 1.5 / 0.2 / 5.0 / 2.0 / 3.0 |", text.splitlines())
        self.assertIn("- torchrec, tuned, case row_wise, 512, dlrm: no peer", text)

    def test_saves_have_no_phases(self):
        head, _, row, _ = torchrec.table(self.records, "save").splitlines()[2:]
        self.assertTrue(head.endswith("| peer tuned / ours |"), head)
        self.assertEqual(row, "| row_wise, 512 | 10.00 | - | 25.00 | - | 2.50 |")


if __name__ == "__main__":
    unittest.main()
