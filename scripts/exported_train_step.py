# SPDX-License-Identifier: Apache-2.0
"""exported_step.py with a tensor train as its table: an entry is the product of a matrix of each core."""
import json

import numpy as np

from exported_step import F, Step


class TrainStep(Step):
    """p 2 x 2 x 3, one row of padding, q 1 x 2 x 3, ranks 2 and 3."""
    P, Q, R = (2, 2, 3), (1, 2, 3), (1, 2, 3, 1)

    def __init__(self, pooling, optimizer, seed=0, **options):
        super().__init__(pooling, optimizer, seed, **{"rows": 11, "dim": 6} | options)

    def cores_before(self):
        return [self.values_before((p, r, q, s)) for p, r, q, s in zip(self.P, self.R, self.Q, self.R[1:])]

    def rows_before(self, rows, dim):
        self.cores = self.cores_before()
        self.digits = [np.unravel_index(row, self.P) for row in range(rows)]
        return np.array([self.row(digits) for digits in self.digits])

    def row(self, digits):
        values = np.zeros(int(np.prod(self.Q)), dtype=F)
        for column, of_cores in enumerate(np.ndindex(*self.Q)):
            product = np.ones((1, 1), dtype=F)
            for core, i, j in zip(self.cores, digits, of_cores):
                product = product @ core[i][:, j, :]
            values[column] = product[0, 0]
        return values

    def slice_gradients(self, digits, gradient):
        """d row / d G_t[a, j_t, b] is the product of what stands before, [.., a], and behind, [b, ..]."""
        found = [np.zeros(core.shape[1:], dtype=F) for core in self.cores]
        for column, of_cores in enumerate(np.ndindex(*self.Q)):
            matrices = [core[i][:, j, :] for core, i, j in zip(self.cores, digits, of_cores)]
            for t, j in enumerate(of_cores):
                before, behind = np.ones((1, 1), dtype=F), np.ones((1, 1), dtype=F)
                for matrix in matrices[:t]:
                    before = before @ matrix
                for matrix in matrices[:t:-1]:
                    behind = matrix @ behind
                found[t][:, j, :] += gradient[column] * np.outer(before, behind).astype(F)
        return found

    def add_table(self, used, before, gradients, initial, rows):
        spec = {"row_shape": self.P, "dim_shape": self.Q, "ranks": self.R[1:-1]}
        self.attributes["/tables/T"] = {"rows": len(self.digits), "dim": before.shape[1],
                                        "tensor_train": json.dumps(spec)}
        for t, core in enumerate(self.cores):
            slices = np.unique([self.digits[row][t] for row in used]).astype(np.int64)
            sums = np.zeros(core.shape, dtype=F)
            for k in self.random.permutation(len(used)):
                digits = self.digits[used[k]]
                sums[digits[t]] += self.slice_gradients(digits, gradients[k])[t]
            self.add_rows(f"/tables/T/cores/{t}", slices, core.reshape(len(core), -1)[slices],
                          sums.reshape(len(core), -1)[slices], initial, len(core))
