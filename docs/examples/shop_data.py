#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes samples for the features of shop.json to a file for --data. Here they are drawn; yours come from logs.

shop_data.py shop.h5 [samples]; scripts/python runs it with h5py and NumPy.
"""
import json
import sys

import h5py
import numpy

NUMERICAL = 12
FEATURES = [  # in the order of the spec: key, rows of its table, ids of each sample (0: their number varies)
    ("user", 5_000_000, 1), ("candidate", 800_000, 1), ("history", 800_000, 0),
    ("category", 6_000, 1), ("device", 24, 1), ("query", 30_000_000, 3)]

name, samples = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 65_536
rng = numpy.random.default_rng(1)


def text(value):
    return numpy.bytes_(value)  # of fixed length: the reader refuses strings of variable length


with h5py.File(name, "w") as file:
    meta = file.create_group("meta").attrs
    meta["format_version"] = numpy.int64(1)
    meta["samples"] = numpy.int64(samples)
    meta["dense"] = numpy.int64(NUMERICAL)
    meta["source"] = text("drawn by shop_data.py")
    meta["labels"] = text("read")
    meta["id_rule"] = text(json.dumps({"name": "none"}))
    meta["missing"] = text("[]")
    meta["tables"] = text(json.dumps([{"key": key, "rows": rows, "hotness": ids} for key, rows, ids in FEATURES]))
    file["dense"] = rng.random(samples * NUMERICAL, dtype=numpy.float32)
    file["label"] = rng.integers(0, 2, samples).astype(numpy.uint8)
    for key, rows, ids in FEATURES:
        lengths = numpy.full(samples, ids) if ids else rng.integers(0, 61, samples)
        file[f"sparse/{key}/values"] = rng.integers(0, rows, lengths.sum()).astype(numpy.uint32)
        if not ids:
            file[f"sparse/{key}/offsets"] = numpy.concatenate([[0], lengths.cumsum()]).astype(numpy.uint64)
