# SPDX-License-Identifier: Apache-2.0
"""What an exported step holds (shardmark run --export FILE.h5), read with h5py and checked against the layout."""
import json

import h5py
import numpy as np

from optimizer_rules import VALUE_TYPES, Optimizer, U
from tensor_trains import TensorTrain


class BadFile(Exception):
    """One line that says where the file is not what the layout asks for."""


def require(condition, where, what):
    if not condition:
        raise BadFile(f"{where}: {what}")


def attribute(node, name):
    require(name in node.attrs, node.name, f"attribute {name} is missing")
    value = node.attrs[name]
    return value.decode() if isinstance(value, bytes) else value


def count_attribute(node, name):
    value = attribute(node, name)
    require(np.issubdtype(np.asarray(value).dtype, np.integer), node.name, f"attribute {name} is no whole number")
    return int(value)


def json_attribute(node, name):
    try:
        value = json.loads(attribute(node, name))
    except (TypeError, ValueError):
        raise BadFile(f"{node.name}: attribute {name} is not JSON") from None
    require(isinstance(value, dict), node.name, f"attribute {name} is not a JSON object")
    return value


def child(group, name, kind, what):
    found = group.get(name)
    require(isinstance(found, kind), f"{group.name.rstrip('/')}/{name}", f"{what} is missing")
    return found


def array(group, name, dtype, shape):
    """Dataset `name` of that type and shape; None in the shape stands for any length."""
    dataset = child(group, name, h5py.Dataset, "dataset")
    fits = len(dataset.shape) == len(shape) and all(w in (None, n) for n, w in zip(dataset.shape, shape))
    wanted = " x ".join("any" if n is None else str(n) for n in shape)
    require(fits, dataset.name, f"has shape {dataset.shape}, expected {wanted}")
    require(dataset.dtype == np.dtype(dtype), dataset.name, f"holds {dataset.dtype}, expected {np.dtype(dtype)}")
    return dataset[...]


class Table:
    """A table, or a core of a tensor train, whose rows are slices."""
    cores = ()

    def __init__(self, group, name):
        self.name, self.dim = name, count_attribute(group, "dim")
        try:
            self.optimizer = Optimizer(json_attribute(group, "optimizer"))
        except ValueError as error:
            raise BadFile(f"{group.name}: {error}") from None
        self.value_type = attribute(group, "value_type") if "value_type" in group.attrs else "fp32"
        require(self.value_type in VALUE_TYPES, group.name,
                f"unknown value type {self.value_type!r}; valid: {', '.join(VALUE_TYPES)}")
        self.stochastic = "stochastic_rounding" in group.attrs and bool(count_attribute(group, "stochastic_rounding"))
        self.rows = array(group, "rows", np.int64, (None,))
        self.count = count_attribute(group, "rows")  # -1: any of the 2^64 integers is a row
        inside = (self.rows >= 0) & (self.rows < self.count) | (self.count == -1)
        require(inside.all(), f"{group.name}/rows", f"row {first(self.rows, ~inside)} is outside the table")
        require((self.rows[1:] > self.rows[:-1]).all(), f"{group.name}/rows", "the rows do not ascend")
        shape = (len(self.rows), self.dim)
        self.before, self.after = (array(group, when, np.float32, shape) for when in ("before", "after"))
        self.state_before, self.state_after = (self.read_state(group, f"state_{when}") for when in ("before", "after"))
        self.values = self.before.astype(np.float64)
        self.value_bounds = self.bounds_of_bytes()
        self.features = []

    def bounds_of_bytes(self):
        """Of the rows before the step: bytes times their scale may be added to the offset by a fused operation."""
        if self.value_type != "int8":
            return np.zeros(self.before.shape)
        return U * (self.values - self.values.min(axis=1, keepdims=True) + 2 * np.abs(self.values))

    def places_of(self, ids, where):
        """Of each id in the rows."""
        return places(ids, self.rows, where, "id", f"/tables/{self.name}/rows")

    def read_state(self, group, name):
        """[rows, width], the vectors one after the other and then the scalars."""
        width = self.optimizer.width(self.dim)
        if width == 0:
            require(name not in group, f"{group.name}/{name}", f"{self.optimizer.name} has no state")
            return np.zeros((len(self.rows), 0), dtype=np.float32)
        shape = (len(self.rows), width)
        flat = width == 1 and len(child(group, name, h5py.Dataset, "dataset").shape) == 1
        return array(group, name, np.float32, shape[:1] if flat else shape).reshape(shape)

    def split_state(self):
        cuts = [(k + 1) * self.dim for k in range(self.optimizer.vectors)]
        parts = np.split(self.state_before.astype(np.float64), cuts, axis=1)
        return parts[:self.optimizer.vectors + self.optimizer.scalars]


class Train:
    """A table that is a tensor train: the rows that its features name, as its cores give them before the step."""

    def __init__(self, file, group, name):
        self.name, self.dim, self.count = name, count_attribute(group, "dim"), count_attribute(group, "rows")
        found = child(group, "cores", h5py.Group, "group")
        p, q, r = self.read_shape(group)
        self.cores = [Table(child(found, str(t), h5py.Group, "group"), f"{name} core {t}") for t in range(len(p))]
        for t, core in enumerate(self.cores):
            where, elements = f"{found.name}/{t}", r[t] * q[t] * r[t + 1]
            require(core.count == p[t], where, f"has {core.count} slices, expected {p[t]}")
            require(core.dim == elements, where, f"its slices have {core.dim} elements, expected {elements}")
            require(core.value_type != "int8", where, "a core cannot hold int8")
        self.optimizer, self.features = self.cores[0].optimizer, []

        self.rows = np.unique(ids_of(file, name))
        inside = (self.rows >= 0) & (self.rows < self.count)
        require(inside.all(), group.name, f"row {first(self.rows, ~inside)} of a feature is outside the table")
        digits, rest = [], self.rows
        for factor in p[::-1]:  # the first digit is the most significant
            digits.insert(0, rest % factor)
            rest = rest // factor
        in_cores = [places(digit, core.rows, group.name, "slice", f"{found.name}/{t}/rows")
                    for t, (digit, core) in enumerate(zip(digits, self.cores))]
        self.train = TensorTrain(q, r, [core.before for core in self.cores], in_cores)
        self.values, self.value_bounds = self.train.rows()

    def read_shape(self, group):
        """Factors of the rows and of the columns, and the ranks with a 1 at either end."""
        spec = json_attribute(group, "tensor_train")
        p, q, ranks = (spec.get(key) for key in ("row_shape", "dim_shape", "ranks"))
        numbers = all(isinstance(x, list) and all(type(n) is int and n > 0 for n in x) for x in (p, q, ranks))
        require(numbers and len(p) == len(q) == len(ranks) + 1 and len(p) >= 2, group.name,
                "attribute tensor_train needs as many numbers in row_shape as in dim_shape, and one less in ranks")
        require(np.prod(p, dtype=object) >= self.count, group.name,
                f"row_shape has a product of {np.prod(p, dtype=object)}, less than the {self.count} rows")
        require(np.prod(q, dtype=object) == self.dim, group.name,
                f"dim_shape has a product of {np.prod(q, dtype=object)}, expected the dim of {self.dim}")
        return p, q, [1, *ranks, 1]

    def places_of(self, ids, _where):
        return np.searchsorted(self.rows, ids)


def ids_of(file, table):
    """All ids that features look up in a table."""
    features = child(file, "features", h5py.Group, "group")
    groups = [child(features, name, h5py.Group, "group") for name in features]
    ids = [array(group, "indices", np.int64, (None,)) for group in groups if attribute(group, "table") == table]
    return np.concatenate([np.zeros(0, dtype=np.int64), *ids])


def places(wanted, rows, where, what, file):
    """Of each of the wanted numbers in ascending rows; the error says what is missing in which part of the file."""
    found = np.searchsorted(rows, wanted)
    known = found < len(rows)
    known[known] = rows[found[known]] == wanted[known]
    require(known.all(), where, f"{what} {first(wanted, ~known)} is not in {file}")
    return found


def read_table(file, name):
    group = child(file["tables"], name, h5py.Group, "group")
    return Train(file, group, name) if "tensor_train" in group.attrs else Table(group, name)


class Feature:
    POOLINGS = ("none", "sum", "mean", "sqrtn", "max")

    def __init__(self, file, name, tables):
        group = child(file["features"], name, h5py.Group, "group")
        self.name, self.pooling = name, attribute(group, "pooling")
        require(self.pooling in self.POOLINGS, group.name,
                f"unknown pooling {self.pooling!r}; valid: {', '.join(self.POOLINGS)}")
        table = attribute(group, "table")
        require(table in tables, group.name, f"its table {table!r} is not in /tables")
        self.table = tables[table]
        self.table.features.append(self)

        ids = array(group, "indices", np.int64, (None,))
        offsets = read_offsets(group, "offsets", len(ids), "ids")
        self.places = self.table.places_of(ids, f"{group.name}/indices")
        self.weights = np.ones(len(ids))
        if "weights" in group:
            self.weights = array(group, "weights", np.float32, (len(ids),)).astype(np.float64)
            require(np.isfinite(self.weights).all(), f"{group.name}/weights", "a weight is not finite")

        self.samples = len(offsets) - 1
        self.offsets = np.arange(len(ids) + 1) if self.pooling == "none" else offsets
        if "segment_rank" in group.attrs:
            self.read_segments(group, offsets)
        shape = (len(self.offsets) - 1, self.table.dim)
        self.output, self.gradient = (
            array(child(file, kind, h5py.Group, "group"), name, np.float32, shape) for kind in ("outputs", "gradients"))


    def read_segments(self, group, offsets):
        """Segments of the samples and ids of the segments, which are the bags at rank 1."""
        rank = count_attribute(group, "segment_rank")
        require(rank in (0, 1), group.name, f"segment_rank is {rank}, expected 0 or 1")
        require(rank == 0 or self.pooling != "none", group.name, "segment_rank 1 has no meaning without pooling")
        segments = read_offsets(group, "segment_offsets", offsets[-1], "ids")
        first_segment = read_offsets(group, "first_segment", len(segments) - 1, "segments")
        nested = len(first_segment) == len(offsets) and (segments[first_segment] == offsets).all()
        require(nested, f"{group.name}/segment_offsets", "the segments of a sample do not hold its ids")
        if rank == 1:
            self.offsets = segments


def read_offsets(group, name, count, what):
    """Offsets of lists that hold `count` things together."""
    offsets = array(group, name, np.int64, (None,))
    csr = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == count and (np.diff(offsets) >= 0).all()
    require(csr, f"{group.name}/{name}", f"do not ascend from 0 to the {count} {what}")
    return offsets


def read_step(path):
    """The case, the features and the tables of a file."""
    with h5py.File(path, "r") as file:
        version = count_attribute(file, "format_version")
        require(version == 1, "/", f"format_version is {version}, expected 1")
        case = json_attribute(file, "case")
        tables = {name: read_table(file, name) for name in child(file, "tables", h5py.Group, "group")}
        features = [Feature(file, name, tables) for name in child(file, "features", h5py.Group, "group")]
    require(features, "/features", "there are none")
    require(len({f.samples for f in features}) == 1, "/features", "the batches differ in size")
    return case, features, tables


def first(values, where):
    return values[np.argmax(where)] if where.any() else None
