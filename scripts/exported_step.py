# SPDX-License-Identifier: Apache-2.0
"""A small exported step for the tests of verify-export, computed with plain loops in fp32: it shares nothing with the
program under test but the definitions."""
import json

import h5py
import numpy as np

POOLINGS = ("none", "sum", "mean", "sqrtn", "max")
WIDTH = {"sgd": lambda dim: 0, "momentum": lambda dim: dim, "nesterov": lambda dim: dim, "adagrad": lambda dim: dim,
         "rowwise_adagrad": lambda dim: 1, "rmsprop": lambda dim: dim, "adam": lambda dim: 2 * dim,
         "rowwise_adam": lambda dim: dim + 1, "ftrl": lambda dim: 2 * dim, "lamb": lambda dim: 2 * dim,
         "none": lambda dim: 0}
OPTIMIZERS = tuple(WIDTH)
ADAPTIVE = ("adagrad", "rowwise_adagrad", "rmsprop")
F = np.float32
SPEC = {"learning_rate": 0.01, "epsilon": 1e-6, "initial_accumulator": 0.0, "momentum": 0.9, "decay": 0.8, "beta1": 0.75,
        "beta2": 0.98, "l1": 0.05, "l2": 0.5, "beta": 0.25, "weight_decay": 0.0, "weight_decay_mode": "l2"}


def divisor(pooling, weights):
    if pooling == "mean":
        return float(np.sum(weights, dtype=np.float64))
    if pooling == "sqrtn":
        return float(np.sqrt(np.sum(np.square(weights, dtype=np.float64))))
    return 1.0


def to_type(x, value_type, random=None):
    """float32 x to nearest, ties to even, or by `random` to either neighbour."""
    if value_type in ("fp32", "int8"):
        return x
    if value_type == "fp16":
        near = F(np.float16(x))
        other = F(np.nextafter(np.float16(near), np.float16(np.inf if near < x else -np.inf)))
        return near if random is None or near == x or random.random() < 0.5 else other
    bits = int(np.array(x, dtype=F).view(np.uint32))
    added = 0x7FFF + (bits >> 16 & 1) if random is None else int(random.integers(0, 0x10000))
    return np.array((bits + added) & 0xFFFF0000, dtype=np.uint32).view(F)[()]


def stepped(spec, w, g, state):
    """The first step of one row, every operation in fp32."""
    o = {key: value if isinstance(value, str) else F(value) for key, value in spec.items()}
    name, lr, dim, before = o["name"], o["learning_rate"], len(w), w
    decoupled = o["weight_decay_mode"] == "decoupled"
    if not decoupled:
        g = g + o["weight_decay"] * w
    mean_square = np.sum(g * g, dtype=F) / F(dim)
    if name == "sgd":
        w = w - lr * g
    elif name in ("momentum", "nesterov"):
        m = o["momentum"] * state - lr * g
        w, state = w + (m if name == "momentum" else m + o["momentum"] * (m - state)), m
    elif name in ADAPTIVE:
        square = mean_square if name == "rowwise_adagrad" else g * g
        state = o["decay"] * state + (F(1) - o["decay"]) * square if name == "rmsprop" else state + square
        w = w - lr * g / (np.sqrt(state) + o["epsilon"])
    elif name == "ftrl":
        n, z, e = state[:dim], state[dim:], F(2.0**-23)
        grown = n + g * g
        z = z + (g - (np.sqrt(grown + e) - np.sqrt(n + e)) / lr * w)
        free = (np.sign(z) * o["l1"] - z) / ((o["beta"] + np.sqrt(grown + e)) / lr + o["l2"])
        w, state = np.where(np.abs(z) <= o["l1"], F(0), free), np.concatenate([grown, z])
    elif name in ("adam", "rowwise_adam", "lamb"):
        m = o["beta1"] * state[:dim] + (F(1) - o["beta1"]) * g
        v = o["beta2"] * state[dim:] + (F(1) - o["beta2"]) * (mean_square if name == "rowwise_adam" else g * g)
        r = m / (F(1) - o["beta1"]) / (np.sqrt(v / (F(1) - o["beta2"])) + o["epsilon"])
        state = np.concatenate([m, v])
        if name == "lamb":
            r = r + (o["weight_decay"] * w if decoupled else F(0))
            norms = np.sqrt(np.sum(w * w, dtype=F)), np.sqrt(np.sum(r * r, dtype=F))
            r = norms[0] / norms[1] * r if 0 not in norms else r
        w = w - lr * r
    if decoupled and name not in ("lamb", "none"):
        w = w - lr * o["weight_decay"] * before
    return w.astype(F), state.astype(F)


def offsets_of(lists):
    return np.cumsum([0] + [len(each) for each in lists]).astype(np.int64)


class Step:
    """One table T and two features, a and b, of `pooling`; every array of the export, by its path, and attributes."""

    def __init__(self, pooling, optimizer, seed=0, weighted=True, exact=False, initial=0.0, lr=None, samples=13, rows=9,
                 dim=5, longest=4, value_type="fp32", stochastic=False, segment_rank=None, **hyperparameters):
        self.random = np.random.default_rng(seed)
        self.pooling, self.exact = pooling, exact
        self.value_type, self.stochastic, self.segment_rank = value_type, stochastic, segment_rank
        self.spec = {"name": optimizer} | SPEC | {"learning_rate": lr or (0.0625 if exact else 0.01)} | hyperparameters
        self.arrays, self.attributes = {}, {}
        before = self.rows_before(rows, dim)
        bags = {f: [self.random.integers(0, rows, self.random.integers(0, longest + 1)) for _ in range(samples)]
                for f in "ab"}
        used = np.unique(np.concatenate([ids for f in "ab" for ids in bags[f]]))
        contributions = {int(row): [] for row in used}
        for f in "ab":
            self.add_feature(f, bags[f], before, contributions, weighted)
        self.add_table(used, before[used], [self.summed(contributions[row], dim) for row in used], initial, 10**12)
        self.attributes["/"] = {"format_version": 1, "workload": "w", "seed": 1, "ranks": 2,
                                "case": json.dumps({"plan": "p", "exact": exact})}

    def some(self, shape):
        if self.exact:
            return (self.random.integers(-64, 65, shape) * 2.0**-10).astype(F)
        return self.random.uniform(-1, 1, shape).astype(F)

    def values_before(self, shape):
        return np.vectorize(lambda x: to_type(x, self.value_type), otypes=[F])(self.some(shape))

    def rows_before(self, rows, dim):
        return self.values_before((rows, dim))

    def summed(self, terms, dim):
        total = np.zeros(dim, dtype=F)
        for i in self.random.permutation(len(terms)):
            total += terms[i]
        return total

    def add_feature(self, f, bags, before, contributions, weighted):
        segments = [] if self.segment_rank is None else [self.cut(ids) for ids in bags]
        if self.pooling == "none":
            vectors = [np.array([i]) for ids in bags for i in ids]
        elif self.segment_rank == 1:
            vectors = [part for parts in segments for part in parts]
        else:
            vectors = bags
        weights = [self.random.integers(1, 9, len(v)) / 4 if weighted else np.ones(len(v)) for v in vectors]
        weights = [w.astype(F) for w in weights]
        dim = before.shape[1]
        outputs, gradients = [], self.some((len(vectors), dim))
        for ids, w, g in zip(vectors, weights, gradients):
            terms = [w[i] * before[x] for i, x in enumerate(ids)]
            total, shares = np.zeros(dim, dtype=F), [np.ones(dim, dtype=F) for _ in ids]
            for i in self.random.permutation(len(ids)):
                total += terms[i]
            if self.pooling == "max" and len(ids) > 0:
                total = np.max(terms, axis=0)
                shares = [(term == total).astype(F) for term in terms]
            d = np.sum(shares, axis=0) if self.pooling == "max" else divisor(self.pooling, w)
            outputs.append((total / d).astype(F) if self.pooling != "max" and d != 0 else total)
            for i, x in enumerate(ids):
                contributions[int(x)].append(w[i] * (shares[i] * g / d).astype(F))
        group = f"/features/{f}"
        self.attributes[group] = {"table": "T", "pooling": self.pooling}
        self.arrays[f"{group}/offsets"] = offsets_of(bags)
        if self.segment_rank is not None:
            self.attributes[group]["segment_rank"] = self.segment_rank
            self.arrays[f"{group}/first_segment"] = offsets_of(segments)
            self.arrays[f"{group}/segment_offsets"] = offsets_of([part for parts in segments for part in parts])
        self.arrays[f"{group}/indices"] = np.concatenate(bags).astype(np.int64)
        if weighted:
            self.arrays[f"{group}/weights"] = np.concatenate(weights) if weights else np.zeros(0, dtype=F)
        self.arrays[f"/outputs/{f}"] = np.array(outputs, dtype=F).reshape(-1, dim)
        self.arrays[f"/gradients/{f}"] = gradients

    def cut(self, ids):
        """Segments of a sample, some of them empty; none where it has no ids, at times."""
        cuts = np.sort(self.random.integers(0, len(ids) + 1, self.random.integers(0, 3)))
        return np.split(ids, cuts) if len(ids) > 0 or self.random.random() < 0.5 else []

    def add_table(self, used, before, gradients, initial, rows):
        self.add_rows("/tables/T", used, before, gradients, initial, rows)

    def add_rows(self, group, used, before, gradients, initial, rows):
        name, dim = self.spec["name"], before.shape[1]
        state = np.zeros((len(used), WIDTH[name](dim)), dtype=F)
        if name in ("adagrad", "rowwise_adagrad", "ftrl"):
            state[:, :dim] = initial
        after, state_after = before.copy(), state.copy()
        for k, g in enumerate(gradients):
            values, state_after[k] = stepped(self.spec, before[k], g, state[k])
            after[k] = [to_type(x, self.value_type, self.random if self.stochastic else None) for x in values]
        self.attributes[group] = {"rows": rows, "dim": dim, "optimizer": json.dumps(self.spec),
                                  "value_type": self.value_type, "stochastic_rounding": int(self.stochastic)}
        self.arrays[f"{group}/rows"] = used.astype(np.int64)
        self.arrays[f"{group}/before"], self.arrays[f"{group}/after"] = before, after
        if state.size or state.shape[1]:
            self.arrays[f"{group}/state_before"], self.arrays[f"{group}/state_after"] = state, state_after

    def write(self, path):
        with h5py.File(path, "w") as file:
            for name, values in self.arrays.items():
                file.create_dataset(name, data=values)
            for group, attributes in self.attributes.items():
                file.require_group(group).attrs.update(attributes)
