# SPDX-License-Identifier: Apache-2.0
"""Tensor trains in float64, and by how much fp32 may differ: for verify-export, apart from the program it judges."""
import numpy as np

from optimizer_rules import U


def products(slices):
    """X_t = G_0 .. G_t of each row, [rows, q_0 .. q_t, r_(t+1)], of its slices G_t, [rows, r_t, q_t, r_(t+1)]."""
    found = [slices[0][:, 0]]
    for core in slices[1:]:
        rows, rank, columns, next_rank = core.shape
        found.append((found[-1] @ core.reshape(rows, rank, columns * next_rank)).reshape(rows, -1, next_rank))
    return found


def gradients(slices, found, gradient):
    """dG_t of each row, as the slices, by dX_last, that of the row, [rows, dim]:
    dG_t = X_(t-1)^T dX_t, dX_(t-1) = dX_t G_t^T."""
    of_slices = []
    for core, before in zip(slices[:0:-1], found[-2::-1]):
        rows, rank, columns, next_rank = core.shape
        gradient = gradient.reshape(rows, -1, columns * next_rank)
        of_slices.append((before.transpose(0, 2, 1) @ gradient).reshape(core.shape))
        gradient = gradient @ core.reshape(rows, rank, -1).transpose(0, 2, 1)
    return [gradient.reshape(slices[0].shape), *of_slices[::-1]]


class TensorTrain:
    """Some rows of a table of factors p and q and ranks r = [1, .., 1]. cores[t]: [slices, r_t q_t r_(t+1)]; places[t]:
    which of them each row has."""
    CHUNK = 1024  # rows at a time, as gradients of the slices of each row take a hundred kilobytes

    def __init__(self, q, r, cores, places):
        self.q, self.r, self.places, self.dim = q, r, places, int(np.prod(q))
        self.cores = [core.astype(np.float64).reshape(-1, *shape) for core, shape in zip(cores, zip(r, q, r[1:]))]
        self.magnitudes = [np.abs(core) for core in self.cores]

    def chunks(self):
        rows = len(self.places[0])
        return [slice(begin, min(begin + self.CHUNK, rows)) for begin in range(0, rows, self.CHUNK)]

    def of_rows(self, cores, chunk):
        return [core[place[chunk]] for core, place in zip(cores, self.places)]

    def rows(self):
        """[rows, dim] and bounds: n u P(|G|), n = sum of the ranks + 2 (docs/bounds.md)."""
        values, bounds = (np.zeros((len(self.places[0]), self.dim)) for _ in range(2))
        for chunk in self.chunks():
            values[chunk], bounds[chunk] = (products(self.of_rows(cores, chunk))[-1].reshape(-1, self.dim)
                                            for cores in (self.cores, self.magnitudes))
        return values, (sum(self.r[1:-1]) + 2) * U * bounds

    def roundings(self, t):
        """Of the gradient of a slice of core t, besides one for each time that a row with it is named."""
        others = [(self.q[s] + 1) * max(self.r[s], self.r[s + 1]) for s in range(len(self.q)) if s != t]
        return 2 + self.dim // self.q[t] + sum(others)

    def slice_gradients(self, gradient, errors, magnitude, uses):
        """For each core (sums, errors, uses), [slices, elements] and [slices], by gradients [rows, dim] of the rows, by
        how much they may differ, the magnitude of their terms and how often each row is named: with T(|G|, g) of
        magnitudes, T(|G|, errors) + n u T(|G|, magnitude + errors)."""
        sums = [[np.zeros_like(core) for core in self.cores] for _ in range(3)]
        for chunk in self.chunks():
            slices, magnitudes = (self.of_rows(cores, chunk) for cores in (self.cores, self.magnitudes))
            found, found_magnitudes = products(slices), products(magnitudes)
            self.add(chunk, gradients(slices, found, gradient[chunk]), sums[0])
            for of_rows, to in zip((errors, magnitude + errors), sums[1:]):
                self.add(chunk, gradients(magnitudes, found_magnitudes, of_rows[chunk]), to)
        for t, (value, error, most) in enumerate(zip(*sums)):
            named = np.bincount(self.places[t], uses, len(value)).astype(np.int64)
            roundings = (self.roundings(t) + named).reshape(-1, 1, 1, 1)
            flat = (len(value), int(np.prod(value.shape[1:])))
            yield value.reshape(flat), (error + roundings * U * most).reshape(flat), named

    def add(self, chunk, of_rows, sums):
        for terms, place, to in zip(of_rows, self.places, sums):
            order = np.argsort(place[chunk], kind="stable")
            unique, starts = np.unique(place[chunk][order], return_index=True)
            to[unique] += np.add.reduceat(terms[order], starts, axis=0)
