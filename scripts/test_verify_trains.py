#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of verify-export on small files with a tensor train, written here: right ones, wrong ones and bad ones."""
import json
import unittest

import numpy as np

from export_case import VerifyExport
from exported_step import F
from exported_train_step import TrainStep
from tensor_trains import TensorTrain

CORES = [f"/tables/T/cores/{t}" for t in range(3)]


class NearTies(TrainStep):
    """Rows in which slices 0 and 1 of the outer cores change places differ by rounding alone."""

    def cores_before(self):
        cores = super().cores_before()
        for t in (0, 2):
            cores[t][1] = F(1.1) * cores[t][0]
        return cores


class Right(VerifyExport):
    def test_every_pooling_and_optimizer(self):
        for seed, (pooling, optimizer) in enumerate(self.every_case()):
            for value_type in ("fp32", ("fp16", "bf16")[seed % 2]):
                with self.subTest(pooling=pooling, optimizer=optimizer, value_type=value_type, seed=seed):
                    self.assert_ok(TrainStep(pooling, optimizer, seed, weighted=seed % 3 > 0, value_type=value_type,
                                             stochastic=seed % 4 > 1, exact=seed % 5 == 0, initial=0.25))

    def test_nothing_but_empty_bags(self):
        self.assert_ok(TrainStep("sum", "adagrad", longest=0))

    def test_more_rows_than_are_contracted_at_a_time(self):
        chunk, TensorTrain.CHUNK = TensorTrain.CHUNK, 3
        try:
            for seed in range(5):
                self.assert_ok(TrainStep("sum", "sgd", seed, samples=40))
        finally:
            TensorTrain.CHUNK = chunk

    def test_maxima_that_differ_by_less_than_fp32_tells(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                self.assert_ok(NearTies("max", "sgd", seed, weighted=False, longest=8))

    def test_prints_a_line_per_feature_and_core(self):
        _, _, text = self.verdict_on(TrainStep("mean", "adagrad"))
        whats = [line.split("  ")[0] for line in text.splitlines()]
        cores = [what for t in range(3) for what in (f"rows of T core {t} (adagrad)", f"state of T core {t}")]
        self.assertEqual(whats, ["output of a (mean)", "output of b (mean)", *cores, "EXPORT: OK"])


class Wrong(VerifyExport):
    def test_one_value_of_any_result(self):
        for pooling, optimizer in self.each_choice():
            if optimizer == "none":
                continue
            for name in ("/outputs/a", *(f"{core}/{what}" for core in CORES for what in ("after", "state_after"))):
                step = TrainStep(pooling, optimizer, weighted=False, initial=0.25, epsilon=0.1)
                if name not in step.arrays:
                    continue
                with self.subTest(pooling=pooling, optimizer=optimizer, name=name):
                    values = step.arrays[name]
                    values[np.unravel_index(np.argmax(np.abs(values)), values.shape)] *= F(1.001)
                    self.assert_wrong(step, values=1)

    def test_a_spoiled_core(self):
        for seed, core in enumerate(CORES):
            step = TrainStep("sum", "sgd", seed)
            step.arrays[f"{core}/before"][0] *= F(1.001)
            self.assert_wrong(step)

    def test_cores_in_another_order(self):
        step = TrainStep("sum", "sgd")
        of_slices = step.arrays[f"{CORES[1]}/before"]
        transposed = of_slices.reshape(-1, 2, 2, 3).transpose(0, 3, 2, 1).reshape(of_slices.shape)
        step.arrays[f"{CORES[1]}/before"] = np.ascontiguousarray(transposed)
        self.assert_wrong(step)

    def test_a_slice_that_was_left_out_of_the_update(self):
        for core in CORES:
            step = TrainStep("sum", "sgd")
            step.arrays[f"{core}/after"][-1] = step.arrays[f"{core}/before"][-1]
            self.assert_wrong(step, values=step.arrays[f"{core}/after"].shape[1])

    def test_a_slice_that_changed_although_no_row_has_it(self):
        step = TrainStep("sum", "sgd", rows=6)  # slice 0 of core 0 is in all of them
        for when in ("before", "after"):
            values = step.arrays[f"{CORES[0]}/{when}"]
            step.arrays[f"{CORES[0]}/{when}"] = np.concatenate([values, np.ones_like(values)])
        step.arrays[f"{CORES[0]}/rows"] = np.array([0, 1])
        self.assert_ok(step)
        step.arrays[f"{CORES[0]}/after"][1, 1] = np.nextafter(F(1), F(9))
        self.assert_wrong(step, values=1)


class Bad(VerifyExport):
    def test_slices(self):
        step = TrainStep("sum", "sgd")
        for name in ("rows", "before", "after"):
            step.arrays[f"{CORES[2]}/{name}"] = step.arrays[f"{CORES[2]}/{name}"][:-1]
        self.assert_bad(step, f"/tables/T: slice 2 is not in {CORES[2]}/rows")

    def test_rows(self):
        step = TrainStep("sum", "sgd")
        step.arrays["/features/a/indices"][0] = 11  # of the padding
        self.assert_bad(step, "/tables/T: row 11 of a feature is outside the table")

    def test_shapes(self):
        for change, message in (
                ({"row_shape": [2, 2, 2]}, "/tables/T: row_shape has a product of 8, less than the 11 rows"),
                ({"dim_shape": [1, 2, 4]}, "/tables/T: dim_shape has a product of 8, expected the dim of 6"),
                ({"row_shape": [2, 2, 4]}, f"{CORES[2]}: has 3 slices, expected 4"),
                ({"ranks": [2, 4]}, f"{CORES[1]}: its slices have 12 elements, expected 16"),
                ({"ranks": [2]}, "/tables/T: attribute tensor_train needs as many numbers in row_shape as in "
                                 "dim_shape, and one less in ranks"),
                ({"row_shape": [2, 2, 3, 1], "dim_shape": [1, 2, 3, 1], "ranks": [2, 3, 1]},
                 "/tables/T/cores/3: group is missing")):
            with self.subTest(change=change):
                step = TrainStep("sum", "sgd")
                spec = json.loads(step.attributes["/tables/T"]["tensor_train"]) | change
                step.attributes["/tables/T"]["tensor_train"] = json.dumps(spec)
                self.assert_bad(step, message)

    def test_bytes(self):
        step = TrainStep("sum", "none")
        step.attributes[CORES[1]]["value_type"] = "int8"
        self.assert_bad(step, f"{CORES[1]}: a core cannot hold int8")


if __name__ == "__main__":
    unittest.main()
