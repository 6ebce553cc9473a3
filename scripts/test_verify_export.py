#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of verify-export, on small files written here: right ones for every pooling and optimizer, and damaged ones."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

from exported_step import OPTIMIZERS, POOLINGS, F, Step

PROGRAM = Path(__file__).resolve().with_name("verify-export")
LOADER = importlib.machinery.SourceFileLoader("verify_export", str(PROGRAM))


def load_program():
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("verify_export", LOADER))
    LOADER.exec_module(module)
    return module


verify_export = load_program()


class VerifyExport(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "step.h5"

    def tearDown(self):
        self.directory.cleanup()

    def run_program(self, *arguments):
        """(exit code, stdout, stderr); in this process, as importing NumPy takes longer than the rest."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = verify_export.main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()

    def verdict_on(self, step):
        step.write(self.path)
        code, out, err = self.run_program(self.path)
        return code, (out or err).splitlines()[-1], out

    def assert_ok(self, step):
        code, last, text = self.verdict_on(step)
        self.assertEqual((code, last), (0, "EXPORT: OK"), text)

    def assert_wrong(self, step, values=None):
        code, last, text = self.verdict_on(step)
        self.assertEqual(code, 1, text + last)
        self.assertRegex(last, r"^EXPORT: WRONG \(\d+ values\)$" if values is None else rf"\({values} values\)$")

    def assert_bad(self, step, message):
        code, last, _ = self.verdict_on(step)
        self.assertEqual((code, last), (2, f"{self.path}: {message}"))

    def every_case(self):
        for pooling in POOLINGS:
            for optimizer in OPTIMIZERS:
                yield pooling, optimizer


class Right(VerifyExport):
    def test_every_pooling_and_optimizer(self):
        for seed, (pooling, optimizer) in enumerate(self.every_case()):
            for weighted, initial in ((False, 0.0), (True, 0.25)):
                with self.subTest(pooling=pooling, optimizer=optimizer, weighted=weighted, seed=seed):
                    self.assert_ok(Step(pooling, optimizer, seed, weighted, initial=initial))

    def test_exact_mode(self):
        for seed, (pooling, optimizer) in enumerate(self.every_case()):
            with self.subTest(pooling=pooling, optimizer=optimizer, seed=seed):
                self.assert_ok(Step(pooling, optimizer, seed, exact=True))

    def test_exact_mode_with_a_learning_rate_that_is_not(self):
        for seed in range(5):
            self.assert_ok(Step("sum", "sgd", seed, exact=True, lr=0.01))

    def test_weight_decay(self):
        for seed, (pooling, optimizer) in enumerate(self.every_case()):
            for mode in ("l2", "decoupled"):
                with self.subTest(pooling=pooling, optimizer=optimizer, mode=mode, seed=seed):
                    self.assert_ok(Step(pooling, optimizer, seed, initial=0.25, weight_decay=0.125,
                                        weight_decay_mode=mode))

    def test_value_types(self):
        for seed, (pooling, optimizer) in enumerate(self.every_case()):
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
        for pooling, optimizer in self.every_case():
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
        for pooling, optimizer in self.every_case():
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

    def test_one_id_weight_or_gradient(self):
        for pooling, optimizer in self.every_case():
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


class Bad(VerifyExport):
    def test_ids_that_are_no_rows(self):
        step = Step("sum", "sgd", rows=50)
        missing = np.setdiff1d(np.arange(50), step.arrays["/tables/T/rows"])[0]
        step.arrays["/features/b/indices"][3] = missing
        self.assert_bad(step, f"/features/b/indices: id {missing} is not in /tables/T/rows")

    def test_rows(self):
        step = Step("sum", "sgd")
        step.arrays["/tables/T/rows"][1] = 0
        self.assert_bad(step, "/tables/T/rows: the rows do not ascend")
        step.arrays["/tables/T/rows"][-1] = 10**12
        self.assert_bad(step, "/tables/T/rows: row 1000000000000 is outside the table")

    def test_offsets(self):
        for change in (lambda o: o[1:], lambda o: o + 1, lambda o: o[::-1]):
            step = Step("sum", "sgd")
            count = len(step.arrays["/features/a/indices"])
            step.arrays["/features/a/offsets"] = change(step.arrays["/features/a/offsets"])
            step.arrays["/features/a/offsets"][-1] = -1
            self.assert_bad(step, f"/features/a/offsets: do not ascend from 0 to the {count} ids")

    def test_shapes_and_types(self):
        step = Step("sum", "sgd")
        step.arrays["/outputs/a"] = step.arrays["/outputs/a"][:-1]
        self.assert_bad(step, "/outputs/a: has shape (12, 5), expected 13 x 5")
        step = Step("sum", "sgd")
        step.arrays["/gradients/b"] = step.arrays["/gradients/b"].astype(np.float64)
        self.assert_bad(step, "/gradients/b: holds float64, expected float32")
        step = Step("sum", "adagrad")
        step.arrays["/tables/T/state_before"] = step.arrays["/tables/T/state_before"][:, :1]
        rows = len(step.arrays["/tables/T/rows"])
        self.assert_bad(step, f"/tables/T/state_before: has shape ({rows}, 1), expected {rows} x 5")

    def test_what_is_missing(self):
        for name in ("/features/a/indices", "/outputs/b", "/tables/T/after", "/tables/T/state_after"):
            step = Step("sum", "adagrad")
            del step.arrays[name]
            self.assert_bad(step, f"{name}: dataset is missing")
        for group, name in (("/", "case"), ("/features/a", "pooling"), ("/tables/T", "optimizer"),
                            ("/tables/T", "dim")):
            step = Step("sum", "adagrad")
            del step.attributes[group][name]
            self.assert_bad(step, f"{group}: attribute {name} is missing")

    def test_what_is_unknown(self):
        for group, name, value, message in (
                ("/features/a", "pooling", "min", "unknown pooling 'min'; valid: none, sum, mean, sqrtn, max"),
                ("/tables/T", "value_type", "fp8", "unknown value type 'fp8'; valid: fp32, fp16, bf16, int8"),
                ("/features/a", "table", "U", "its table 'U' is not in /tables"),
                ("/tables/T", "optimizer", '{"name":"sg"}',
                 f"unknown optimizer 'sg'; valid: {', '.join(OPTIMIZERS)}"),
                ("/tables/T", "optimizer", '{"name":"sgd"}', "the optimizer sgd needs a number learning_rate"),
                ("/tables/T", "optimizer", "sgd", "attribute optimizer is not JSON"),
                ("/tables/T", "dim", "five", "attribute dim is no whole number"),
                ("/", "format_version", 2, "format_version is 2, expected 1")):
            with self.subTest(name=name, value=value):
                step = Step("sum", "sgd")
                step.attributes[group][name] = value
                self.assert_bad(step, f"{group}: {message}")

    def test_state_that_should_not_be(self):
        step = Step("sum", "sgd")
        step.arrays["/tables/T/state_before"] = step.arrays["/tables/T/before"]
        self.assert_bad(step, "/tables/T/state_before: sgd has no state")

    def test_files(self):
        for content in (None, b"", b"no HDF5"):
            path = Path(self.directory.name) / f"file{content}"
            if content is not None:
                path.write_bytes(content)
            code, out, err = self.run_program(path)
            self.assertEqual((code, out, len(err.splitlines())), (2, "", 1), err)
            self.assertIn(str(path), err)

    def test_a_truncated_file(self):
        Step("sum", "sgd", samples=200).write(self.path)
        self.path.write_bytes(self.path.read_bytes()[:-3000])
        code, _, err = self.run_program(self.path)
        self.assertEqual((code, len(err.splitlines())), (2, 1), err)

    def test_usage(self):
        self.assertEqual(self.run_program(), (2, "", "usage: verify-export FILE.h5 ...\n"))
        self.assertEqual(self.run_program("--nonsense")[0], 2)
        self.assertEqual(self.run_program("--help")[0], 0)


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
