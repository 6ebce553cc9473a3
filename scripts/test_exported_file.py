#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that verify-export names what is wrong in a file that is not as the layout asks."""
import unittest
from pathlib import Path

import numpy as np

from export_case import VerifyExport
from exported_step import OPTIMIZERS, Step


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

    def test_keys_further_apart_than_64_bits_hold(self):
        step = Step("sum", "sgd")
        step.attributes["/tables/T"]["rows"] = -1
        least = step.arrays["/tables/T/rows"][0]
        for name in ("/tables/T/rows", "/features/a/indices", "/features/b/indices"):
            numbers = step.arrays[name]
            step.arrays[name] = np.where(numbers == least, -6 * 10**18, numbers + 6 * 10**18)
        self.assert_ok(step)

    def test_offsets(self):
        for change in (lambda o: o[1:], lambda o: o + 1, lambda o: o[::-1]):
            step = Step("sum", "sgd")
            count = len(step.arrays["/features/a/indices"])
            step.arrays["/features/a/offsets"] = change(step.arrays["/features/a/offsets"])
            step.arrays["/features/a/offsets"][-1] = -1
            self.assert_bad(step, f"/features/a/offsets: do not ascend from 0 to the {count} ids")

    def test_segments(self):
        step = Step("sum", "sgd", segment_rank=1)
        step.arrays["/features/a/segment_offsets"][-1] += 1
        count = len(step.arrays["/features/a/indices"])
        self.assert_bad(step, f"/features/a/segment_offsets: do not ascend from 0 to the {count} ids")
        step = Step("sum", "sgd", segment_rank=0)
        step.arrays["/features/a/first_segment"] = step.arrays["/features/a/first_segment"][1:]
        step.arrays["/features/a/first_segment"][0] = 0
        self.assert_bad(step, "/features/a/segment_offsets: the segments of a sample do not hold its ids")
        step = Step("sum", "sgd", segment_rank=1)
        del step.arrays["/features/a/first_segment"]
        self.assert_bad(step, "/features/a/first_segment: dataset is missing")
        for pooling, rank, message in (("sum", 2, "segment_rank is 2, expected 0 or 1"),
                                       ("none", 1, "segment_rank 1 has no meaning without pooling")):
            step = Step(pooling, "sgd", segment_rank=0)
            step.attributes["/features/a"]["segment_rank"] = rank
            self.assert_bad(step, f"/features/a: {message}")

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


if __name__ == "__main__":
    unittest.main()
