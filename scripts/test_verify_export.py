#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of verify-export, on small files written here: right ones for every pooling and optimizer, and wrong ones."""
import json
import subprocess
import unittest
from pathlib import Path

import numpy as np

from export_case import PROGRAM, VerifyExport
from exported_step import OPTIMIZERS, POOLINGS, F, Step


class Right(VerifyExport):
    def test_every_pooling_and_optimizer(self):
        for seed, (pooling, optimizer) in enumerate(self.every_case()):
            for weighted, initial in ((False, 0.0), (True, 0.25)):
                with self.subTest(pooling=pooling, optimizer=optimizer, weighted=weighted, seed=seed):
                    self.assert_ok(Step(pooling, optimizer, seed, weighted, initial=initial))

    def test_exact_mode(self):
        for seed, (pooling, optimizer) in enumerate(self.each_choice()):
            with self.subTest(pooling=pooling, optimizer=optimizer, seed=seed):
                self.assert_ok(Step(pooling, optimizer, seed, exact=True))

    def test_exact_mode_with_a_learning_rate_that_is_not(self):
        for seed in range(5):
            self.assert_ok(Step("sum", "sgd", seed, exact=True, lr=0.01))

    def test_segments(self):
        for seed, (pooling, optimizer) in enumerate(self.each_choice()):
            for rank in (0, 1):
                if pooling == "none" and rank == 1:
                    continue
                for exact in (False, True):
                    with self.subTest(pooling=pooling, optimizer=optimizer, rank=rank, exact=exact, seed=seed):
                        self.assert_ok(Step(pooling, optimizer, seed, segment_rank=rank, exact=exact, initial=0.25))

    def test_weight_decay(self):
        for seed, (pooling, optimizer) in enumerate(self.each_choice()):
            for mode in ("l2", "decoupled"):
                with self.subTest(pooling=pooling, optimizer=optimizer, mode=mode, seed=seed):
                    self.assert_ok(Step(pooling, optimizer, seed, initial=0.25, weight_decay=0.125,
                                        weight_decay_mode=mode))

    def test_value_types(self):
        for seed, (pooling, optimizer) in enumerate(self.each_choice()):
            for value_type, stochastic in (("fp16", False), ("fp16", True), ("bf16", False), ("bf16", True)):
                exact = seed % 2 == 0
                with self.subTest(pooling=pooling, optimizer=optimizer, value_type=value_type, exact=exact,
                                  stochastic=stochastic, seed=seed):
                    self.assert_ok(Step(pooling, optimizer, seed, value_type=value_type, stochastic=stochastic,
                                        exact=exact, initial=0.25))

    def test_bytes_are_looked_up(self):
        for pooling in POOLINGS:
            self.assert_ok(Step(pooling, "none", value_type="int8"))

    def test_files_without_value_type_and_weight_decay(self):
        step = Step("sum", "sgd")
        step.attributes["/tables/T"] = {"rows": 10, "dim": 5, "optimizer": '{"name":"sgd","learning_rate":0.01}'}
        self.assert_ok(step)

    def test_many_gradients_for_few_rows(self):
        for pooling, optimizer in self.each_choice():
            with self.subTest(pooling=pooling, optimizer=optimizer):
                self.assert_ok(Step(pooling, optimizer, samples=300, rows=2, longest=7))

    def test_nothing_but_empty_bags(self):
        for pooling in POOLINGS:
            with self.subTest(pooling=pooling):
                self.assert_ok(Step(pooling, "adagrad", longest=0))

    def test_state_per_row_without_a_second_dimension(self):
        step = Step("sum", "rowwise_adagrad")
        for name in ("/tables/T/state_before", "/tables/T/state_after"):
            step.arrays[name] = step.arrays[name][:, 0]
        self.assert_ok(step)

    def test_several_files(self):
        paths = [Path(self.directory.name) / f"{seed}.h5" for seed in range(3)]
        steps = [Step("sum", "sgd", seed) for seed in range(3)]
        steps[1].arrays["/outputs/a"][0] += F(1)
        for path, step in zip(paths, steps):
            step.write(path)
        self.assertEqual(self.run_program(paths[0], paths[2])[1].splitlines()[-1], "EXPORT: OK")
        self.assertEqual(self.run_program(*paths)[1].splitlines()[-1], "EXPORT: WRONG (5 values)")

    def test_prints_a_line_per_feature_and_table(self):
        _, _, text = self.verdict_on(Step("mean", "adagrad"))
        whats = [line.split("  ")[0] for line in text.splitlines()]
        outputs = ["output of a (mean)", "output of b (mean)"]
        self.assertEqual(whats, [*outputs, "rows of T (adagrad)", "state of T", "EXPORT: OK"])


class Wrong(VerifyExport):
    RESULTS = ("/outputs/a", "/outputs/b", "/tables/T/after", "/tables/T/state_after")

    def test_one_value_of_any_result(self):
        for pooling, optimizer in self.each_choice():
            for name in self.RESULTS:
                step = Step(pooling, optimizer, weighted=False)
                if name not in step.arrays:
                    continue
                for damage in (1.0001, np.nan, np.inf):
                    with self.subTest(pooling=pooling, optimizer=optimizer, name=name, damage=damage):
                        step = Step(pooling, optimizer, weighted=False, initial=0.25)
                        values = step.arrays[name]
                        place = np.unravel_index(np.argmax(np.abs(values)), values.shape)
                        values[place] *= F(damage)
                        self.assert_wrong(step, values=1)

    def test_one_bit_in_exact_mode(self):
        for pooling in ("none", "sum"):
            for name in self.RESULTS[:3]:
                with self.subTest(pooling=pooling, name=name):
                    step = Step(pooling, "sgd", exact=True)
                    step.arrays[name][1] = np.nextafter(step.arrays[name][1], F(9))
                    self.assert_wrong(step, values=step.arrays[name].shape[1])

    def test_little_in_a_hot_row_whose_sums_are_exact(self):
        step = Step("sum", "adagrad", exact=True, samples=1000, rows=2, initial=0.25)
        step.arrays["/tables/T/state_after"][1, 1] *= F(1 + 1e-6)
        self.assert_wrong(step, values=1)

    def test_ids_in_another_segment(self):
        step = Step("sum", "sgd", segment_rank=1, samples=30)
        starts = step.arrays["/features/a/first_segment"]
        offsets = step.arrays["/features/a/segment_offsets"]
        inner = next(k for s, end in zip(starts, starts[1:]) for k in range(s + 1, end) if offsets[k] < offsets[k + 1])
        offsets[inner] += 1  # the first id of a segment is taken for the last of the one before it
        self.assert_wrong(step)

    def test_one_id_weight_or_gradient(self):
        for pooling, optimizer in self.each_choice():
            if pooling == "max":  # which need not depend on every id
                continue
            for name in ("/features/a/indices", "/features/a/weights", "/gradients/a", "/tables/T/before"):
                if optimizer == "none" and name.startswith("/gradients"):
                    continue
                with self.subTest(pooling=pooling, optimizer=optimizer, name=name):
                    step = Step(pooling, optimizer, seed=3)
                    values, rows = step.arrays[name], step.arrays["/tables/T/rows"]
                    at = step.arrays["/features/a/offsets"][np.argmax(np.diff(step.arrays["/features/a/offsets"]))]
                    if name.endswith("indices"):
                        values[at] = rows[0] if values[at] != rows[0] else rows[1]
                    elif name.endswith("weights"):  # of a bag of several: alone it would cancel in a mean
                        values[at] *= F(1.01)
                    else:
                        values[0] *= F(1.01)
                    self.assert_wrong(step)

    def test_the_hyperparameters(self):
        used = {"nesterov": "momentum", "rowwise_adagrad": "epsilon", "adagrad": "epsilon", "rmsprop": "epsilon decay",
                "adam": "beta1 beta2", "rowwise_adam": "beta1 beta2", "ftrl": "l1 l2 beta", "lamb": "beta1 beta2"}
        for optimizer in OPTIMIZERS[:-1]:
            for key in ["learning_rate", "weight_decay", *used.get(optimizer, "").split()]:
                with self.subTest(optimizer=optimizer, key=key):
                    step = Step("sum", optimizer, weight_decay=0.5, weight_decay_mode="decoupled", epsilon=0.1)
                    self.assert_ok(step)
                    step.spec[key] *= 1.01
                    step.attributes["/tables/T"]["optimizer"] = json.dumps(step.spec)
                    self.assert_wrong(step)

    def test_the_mode_of_weight_decay(self):
        for optimizer in OPTIMIZERS[1:-1]:
            with self.subTest(optimizer=optimizer):
                step = Step("sum", optimizer, weight_decay=0.5)
                step.attributes["/tables/T"]["optimizer"] = json.dumps(step.spec | {"weight_decay_mode": "decoupled"})
                self.assert_wrong(step)

    def test_one_column_makes_rows_and_elements_the_same(self):
        step = Step("sum", "adagrad", dim=1)
        step.attributes["/tables/T"]["optimizer"] = json.dumps(step.spec | {"name": "rowwise_adagrad"})
        self.assert_ok(step)

    def test_a_tie_that_only_one_of_two_gets(self):
        step = Step("max", "sgd", lr=1.0, samples=1, rows=1, longest=0)  # written by hand from here on
        step.arrays.update({"/tables/T/rows": np.array([0, 1]), "/tables/T/before": np.ones((2, 5), dtype=F),
                            "/tables/T/after": np.full((2, 5), 0.5, dtype=F)})
        for f in "ab":
            step.arrays.update({f"/features/{f}/offsets": np.array([0, 2]), f"/features/{f}/indices": np.array([0, 1]),
                                f"/features/{f}/weights": np.ones(2, dtype=F),
                                f"/outputs/{f}": np.ones((1, 5), dtype=F),
                                f"/gradients/{f}": np.full((1, 5), 0.5, dtype=F)})
        self.assert_ok(step)
        step.arrays["/tables/T/after"][:] = [[0.0] * 5, [1.0] * 5]
        self.assert_wrong(step, values=10)

    def test_values_that_the_type_does_not_have(self):
        for value_type in ("fp16", "bf16"):
            step = Step("sum", "adagrad", value_type=value_type, stochastic=True)
            step.arrays["/tables/T/after"][1, 2] *= F(1 + 2.0**-20)
            self.assert_wrong(step, values=1)

    def test_the_wrong_neighbour_unless_rounding_is_stochastic(self):
        step = Step("sum", "sgd", value_type="bf16", exact=True, stochastic=True, samples=40)
        self.assert_ok(step)
        step.attributes["/tables/T"]["stochastic_rounding"] = 0
        self.assert_wrong(step)

    def test_a_row_that_changed_although_no_bag_counts_it(self):
        step = Step("mean", "rowwise_adagrad")
        for f in "ab":
            step.arrays[f"/features/{f}/weights"][:] = 0
            step.arrays[f"/outputs/{f}"][:] = 0
        step.arrays["/tables/T/after"] = step.arrays["/tables/T/before"].copy()
        step.arrays["/tables/T/state_after"] = step.arrays["/tables/T/state_before"].copy()
        self.assert_ok(step)
        step.arrays["/tables/T/after"][2, 1] = np.nextafter(step.arrays["/tables/T/after"][2, 1], F(9))
        self.assert_wrong(step, values=1)


class Program(VerifyExport):
    def exit_code(self, step):
        step.write(self.path)
        return subprocess.run([PROGRAM, self.path], stdout=subprocess.DEVNULL).returncode

    def test_exit_codes_of_the_process(self):
        step = Step("sum", "sgd")
        self.assertEqual(self.exit_code(step), 0)
        step.arrays["/outputs/a"] += F(1)
        self.assertEqual(self.exit_code(step), 1)
        self.assertEqual(subprocess.run([PROGRAM], stderr=subprocess.DEVNULL).returncode, 2)


if __name__ == "__main__":
    unittest.main()
