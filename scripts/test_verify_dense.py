#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the dense models that verify-export recomputes: gradients by finite differences, and fp32 within the errors."""
import unittest

import numpy as np

from dense_models import Fp32, Model, Tf32, Uncertain, exact_sums, mlp

SPECS = {
    "mlp": {"kind": "mlp", "bottom_mlp": [], "top_mlp": [5, 1], "stride": 3, "cross_layers": 0},
    "dlrm": {"kind": "dlrm", "bottom_mlp": [4, 3], "top_mlp": [6, 1], "stride": 1, "cross_layers": 0},
    "dcnv2": {"kind": "dcnv2", "bottom_mlp": [4], "top_mlp": [1], "stride": 1, "cross_layers": 2, "cross_rank": 2},
}
WIDTHS, NUMERICAL, BATCH = [3, 3, 3], 2, 7


class Cut(Fp32):
    """Products of operands that are cut to TF32."""
    @staticmethod
    def times(a, b):
        def cut(x):
            bits = x.value.astype(np.float32).view(np.uint32) & ~np.uint32(2**13 - 1)
            return bits.view(np.float32).astype(np.float64)
        return Uncertain(cut(a) @ cut(b))

    @staticmethod
    def summed(gradient, x):
        return Cut.times(gradient.T, x)


def blocks_of(spec, random):
    """In their order, as Model takes them."""
    shapes, width = [], NUMERICAL

    def add_mlp(layers):
        nonlocal width
        for outputs in layers:
            shapes.extend([(outputs, width), (outputs, 1)])
            width = outputs

    add_mlp(spec["bottom_mlp"])
    lead, vectors = width, sum(WIDTHS)
    dotted = len(WIDTHS) + 1
    width = {"mlp": -(-vectors // spec["stride"]) + lead, "dlrm": lead + dotted * (dotted - 1) // 2,
             "dcnv2": lead + vectors}[spec["kind"]]
    for _ in range(spec["cross_layers"]):
        shapes.extend([(spec["cross_rank"], width), (width, spec["cross_rank"]), (width, 1)])
    add_mlp(spec["top_mlp"])
    return [random.normal(size=shape) for shape in shapes]


class Models(unittest.TestCase):
    def each(self):
        for name, spec in SPECS.items():
            random = np.random.default_rng(4)
            vectors = [random.normal(size=(BATCH, w)) for w in WIDTHS]
            numerical, labels = random.normal(size=(BATCH, NUMERICAL)), random.integers(0, 2, BATCH)
            with self.subTest(name):
                yield spec, blocks_of(spec, random), vectors, numerical, labels, random

    def test_gradients_are_finite_differences(self):
        h = 1e-6
        for spec, blocks, vectors, numerical, labels, random in self.each():
            def run():
                return Model(spec, WIDTHS, NUMERICAL, blocks).run(vectors, numerical, labels)
            _, _, of_vectors, of_blocks = run()
            for values, gradients in ((vectors, of_vectors), (blocks, of_blocks)):
                for array, gradient in zip(values, gradients):
                    place = tuple(random.integers(0, n) for n in array.shape)
                    at = array[place]
                    array[place] = at + h
                    above = run()[1][0]
                    array[place] = at - h
                    below = run()[1][0]
                    array[place] = at
                    self.assertAlmostEqual((above - below) / (2 * h), gradient.value[place], places=7)

    def test_sums_are_exact_where_no_order_of_fp32_rounds(self):
        third = np.float64(np.float32(1 / 3))
        terms = np.array([[1, 2.0**-23, 0.5], [1, 2.0**-23, 1.5], [third, third, third], [third, 0, 0], [0, 0, 0],
                          [2.0**-149, -2.0**-148, 0], [2.0**-150, 0, 0]])
        self.assertEqual(exact_sums(terms).tolist(), [True, False, False, True, True, True, False])

    def test_errors_are_those_of_fp32(self):
        """A first layer by hand, in fp32."""
        for spec, blocks, vectors, numerical, labels, _ in self.each():
            if not spec["bottom_mlp"]:
                continue
            weight, bias = (b.astype(np.float32) for b in blocks[:2])
            right = mlp([(Uncertain(weight), Uncertain(bias))], Uncertain(numerical.astype(np.float32)), True)[-1]
            found = numerical.astype(np.float32) @ weight.T + bias[:, 0]
            self.assertTrue((np.abs(found - right.value) <= right.bound()).all())
            self.assertLess(right.bound().max(), 1e-4)

    def test_products_in_tf32_are_within_their_errors_and_outside_those_of_fp32(self):
        for spec, blocks, vectors, numerical, labels, _ in self.each():
            def run(math):
                model = Model(spec, WIDTHS, NUMERICAL, blocks)
                model.math = math
                logits, (loss, error), of_vectors, of_blocks = model.run(vectors, numerical, labels)
                return [logits, Uncertain(np.array(loss), np.array(error**2)), *of_vectors, *of_blocks]
            found, outside = run(Cut), 0
            for in_fp32, in_tf32, cut in zip(run(Fp32), run(Tf32), found):
                off = np.abs(cut.value - in_tf32.value)
                self.assertTrue((off <= in_tf32.bound()).all())
                outside += (off > in_fp32.bound()).sum()
            self.assertGreater(outside, 10)


if __name__ == "__main__":
    unittest.main()
