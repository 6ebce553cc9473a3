# SPDX-License-Identifier: Apache-2.0
"""The dense model of an exported step (/dense of the file), read and recomputed: logits, loss, gradients of the pooled
vectors, weights and their optimizer state after the step."""
import h5py
import numpy as np

from dense_models import MATHS, Model, run_exact
from exported_file import array, child, json_attribute, require
from optimizer_rules import Optimizer, bounded_step

KINDS = ("exact", "mlp", "dlrm", "dcnv2")


class Dense:
    """What stands in /dense, checked against the layout."""

    def __init__(self, group, features, math="fp32"):
        require(math in MATHS, group.name, f"unknown dense_math {math!r}; valid: {', '.join(MATHS)}")
        self.math = math
        self.spec, outcome = json_attribute(group, "model"), json_attribute(group, "outcome")
        require(self.spec.get("kind") in KINDS, group.name,
                f"unknown model {self.spec.get('kind')!r}; valid: {', '.join(KINDS)}")
        require(isinstance(outcome.get("loss"), float), group.name, "attribute outcome has no loss")
        self.loss, by_name = outcome["loss"], {f.name: f for f in features}
        require(sorted(self.spec.get("features", [])) == sorted(by_name), group.name,
                "attribute model names other features than /features")
        self.features = [by_name[name] for name in self.spec["features"]]
        samples = features[0].samples
        require(all(f.output.size % samples == 0 for f in features), group.name, "a feature has vectors of other widths")
        self.vectors = [f.output.reshape(samples, -1) for f in self.features]
        self.numerical = array(group, "numerical", np.float32, (samples, None))
        self.labels = array(group, "labels", np.float32, (samples,))
        self.logits = array(group, "logits", np.float32, (samples,))
        self.blocks = {}
        if self.spec["kind"] == "exact":
            self.head = array(group, "head", np.float32, (sum(v.shape[1] for v in self.vectors),))
            return
        self.optimizer = Optimizer(self.spec["optimizer"])
        parameters = child(group, "parameters", h5py.Group, "group")
        for name in self.block_names():
            self.blocks[name] = self.read_block(child(parameters, name, h5py.Group, "group"))

    def block_names(self):
        """In the order in which the models take them."""
        for part, count in (("bottom", len(self.spec["bottom_mlp"])), ("cross", self.spec["cross_layers"]),
                            ("top", len(self.spec["top_mlp"]))):
            for layer in range(count):
                for name in ("v", "w", "bias") if part == "cross" else ("weight", "bias"):
                    yield f"{part}.{layer}.{name}"

    @staticmethod
    def read_block(group):
        before = array(group, "before", np.float32, (None, None))
        block = {"before": before, "after": array(group, "after", np.float32, before.shape)}
        for when in ("state_before", "state_after"):
            block[when] = array(group, when, np.float32, (None, *before.shape)) if when in group else \
                np.zeros((0, *before.shape), dtype=np.float32)
        return block


def check_gradients(dense, expected, compare):
    return sum(compare(f"gradient of {f.name}", f.gradient.reshape(value.shape), value, bound)
               for f, (value, bound) in zip(dense.features, expected))


def check_exact(dense, compare):
    """Sums that fp32 rounds, and signs, may be off where they are close."""
    edges = np.cumsum([v.shape[1] for v in dense.vectors])[:-1]
    weights = np.split(dense.head.astype(np.float64), edges)
    (z, bound), loss, gradients = run_exact(dense.vectors, weights, dense.labels)
    unsure = (np.abs(z) <= bound) & (bound > 0)
    wrong = compare("logits", dense.logits, z, bound)
    wrong += compare("loss", np.array([dense.loss]), loss, bound.sum() + 1e-12 * abs(loss))
    return wrong + check_gradients(dense, [(g, np.where(unsure[:, None], np.abs(w), 0.0))
                                           for g, w in zip(gradients, weights)], compare)


def check_layers(dense, compare):
    model = Model(dense.spec, [v.shape[1] for v in dense.vectors], dense.numerical.shape[1],
                  [block["before"] for block in dense.blocks.values()], dense.math)
    logits, (loss, error), of_vectors, of_blocks = model.run(dense.vectors, dense.numerical, dense.labels)
    wrong = compare("logits", dense.logits[:, None], logits.value, logits.bound())
    wrong += compare("loss", np.array([dense.loss]), loss, 8 * error)
    wrong += check_gradients(dense, [(g.value, g.bound()) for g in of_vectors], compare)
    for (name, block), gradient in zip(dense.blocks.items(), of_blocks):
        before = [s.astype(np.float64) for s in block["state_before"]]
        (after, bounds), state = bounded_step(dense.optimizer, block["before"].astype(np.float64), gradient.value,
                                              gradient.bound(), before)
        wrong += compare(f"{name} ({dense.optimizer.name})", block["after"], after, bounds)
        for vector, (value, bound) in enumerate(state):
            wrong += compare(f"state of {name}", block["state_after"][vector], value, bound)
    return wrong


def check_dense(path, features, compare):
    """The number of wrong values; 0 where the step had no dense model."""
    with h5py.File(path, "r") as file:
        if "dense" not in file:
            return 0
        math = json_attribute(file, "case").get("dense_math", "fp32")
        dense = Dense(child(file, "dense", h5py.Group, "group"), features, math)
    if dense.spec["kind"] == "exact":
        return check_exact(dense, compare)
    return check_layers(dense, compare)
