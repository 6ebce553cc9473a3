#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples for --data from CSV or Parquet, a column for each feature; `shardmark data convert columns` starts it.

Reads with Apache Arrow, batch by batch, so that files may be larger than memory; what is held is a dictionary of the values of each
feature, where ids are given by frequency. A column of lists, or of texts such as 3|7|9 for a feature of several ids, gives bags.
Rules: none, an id is a row; modulo, the value, or the CRC-32 of a text, modulo the rows, 0 where it is missing; frequency, as
datasets/id_mapping.hpp: 0 missing, 1 rarer than --min-count or beyond the rows, then by falling count, ties by value."""
import argparse
import json
import os
import sys
import time
import zlib
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset

CHUNK = 1 << 16


class Refused(Exception):
    """What the user has to change, in one line."""


class Feature:
    def __init__(self, described, column):
        self.key, self.rows, self.hotness, self.column = described["key"], described["rows"], described["hotness"], column
        self.counts, self.known, self.dropped, self.numbers = {}, None, 0, None

    def flat(self, array, separator):
        """(the values of all bags one after the other, their lengths; None where each sample has one)."""
        if self.hotness != 1 and (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            split = pc.split_pattern(pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array), separator)
            return self.as_numbers(pc.list_flatten(split)), lengths_of(split)
        if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type)):
            return array, None
        return pc.list_flatten(array), lengths_of(array)

    def as_numbers(self, texts):
        """Parts of texts are numbers where the first of them are."""
        try:
            if self.numbers is not False and len(texts):
                texts = texts.cast(pa.int64())
                self.numbers = True
        except pa.ArrowInvalid as error:
            if self.numbers:
                raise Refused(f"column {self.column}: {first_line(error)}, as the parts of its first texts are") from error
            self.numbers = False
        return texts

    def place(self, index, lengths, first):
        """Says in which sample of the data, counted from 1, the value is."""
        sample = index if lengths is None else int(np.searchsorted(np.cumsum(lengths), index, side="right"))
        return f"column {self.column}, sample {first + sample + 1}"

    def whole(self, values, lengths, first):
        """The values as int64; missing ones are refused."""
        if values.null_count:
            missing = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
            raise Refused(f"{self.place(missing, lengths, first)}: the value is missing; --id-rule modulo or frequency gives it a row")
        try:
            return values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid as error:
            raise Refused(f"column {self.column}: {first_line(error)}; --id-rule frequency or modulo takes any values") from error

    def count(self, values):
        for each in pc.value_counts(values.drop_null()).to_pylist():
            self.counts[each["values"]] = self.counts.get(each["values"], 0) + each["counts"]

    def give_ids(self, min_count, value_type):
        """By falling count, ties by value: the first has id 2."""
        frequent = sorted((value for value, count in self.counts.items() if count >= min_count),
                          key=lambda value: (-self.counts[value], value))
        kept = frequent[:max(0, self.rows - 2)]
        self.dropped = len(frequent) - len(kept)
        self.known = pa.array(kept, value_type)
        self.counts.clear()

    def ids(self, values, lengths, first, rule):
        if rule == "none":
            ids = self.whole(values, lengths, first)
            wrong = (ids < 0) | (ids >= self.rows)
            if wrong.any():
                at = int(np.argmax(wrong))
                raise Refused(f"{self.place(at, lengths, first)}: id {ids[at]} is no row of its table, which has {self.rows}; "
                              "--id-rule modulo folds ids")
            return ids
        if rule == "modulo":
            if pa.types.is_integer(values.type) or pa.types.is_null(values.type):
                return np.mod(pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(np.int64), self.rows)
            coded = pc.dictionary_encode(values.cast(pa.string()))
            rows = np.array([zlib.crc32(text.encode()) % self.rows for text in coded.dictionary.to_pylist()] + [0], np.int64)
            return rows[pc.fill_null(coded.indices, len(rows) - 1).to_numpy(zero_copy_only=False)]
        found = pc.fill_null(pc.add(pc.index_in(values, value_set=self.known), 2), 1).to_numpy(zero_copy_only=False).astype(np.int64)
        return np.where(values.is_null().to_numpy(zero_copy_only=False), 0, np.minimum(found, self.rows - 1))


class Writer:
    """Data sets that grow."""

    def __init__(self, file):
        self.file, self.sizes = file, {}

    def add(self, name, values, dtype):
        if name not in self.sizes:
            self.file.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(CHUNK,))
            self.sizes[name] = 0
        begin = self.sizes[name]
        self.sizes[name] = begin + len(values)
        self.file[name].resize((self.sizes[name],))
        self.file[name][begin:] = values.astype(dtype)


class Progress:
    def __init__(self, doing):
        self.doing, self.samples, self.begin, self.last = doing, 0, time.monotonic(), time.monotonic()

    def add(self, samples):
        self.samples += samples
        if time.monotonic() - self.last >= 2:
            self.last = time.monotonic()
            print(f"{self.doing}: {self.samples} samples, {self.samples / (self.last - self.begin) / 1e6:.2f} M/s", file=sys.stderr)


def lengths_of(lists):
    return pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)


def first_line(error):
    return str(error).splitlines()[0]


def opened(path):
    files = sorted(each for each in Path(path).rglob("*") if each.is_file() and not each.name.startswith(("_", "."))) if Path(path).is_dir() else [Path(path)]
    if not files or not files[0].exists():
        raise Refused(f"{path}: no such file, or a folder without any")
    ends = [each for each in files[0].suffixes if each not in (".gz", ".zst", ".bz2")][-1:]
    if ends in ([".parquet"], [".pq"]):
        form = "parquet"
    elif ends in ([".csv"], [".tsv"], [".txt"]):
        form = pa.dataset.CsvFileFormat(pa.csv.ParseOptions(delimiter="," if ends == [".csv"] else "\t"),
                                        convert_options=pa.csv.ConvertOptions(strings_can_be_null=True))
    else:
        raise Refused(f"{files[0]}: its name ends neither in .parquet nor in .csv, .tsv or .txt (these also with .gz, .zst)")
    return pa.dataset.dataset([str(each) for each in files], format=form)


def chosen(data, features, renamed, label, numerical):
    """The features with their columns; every column that is needed is there."""
    for name in renamed:
        if name not in {each["key"] for each in features}:
            raise Refused(f"--column {name}=...: the workload has no feature {name}; it has {', '.join(each['key'] for each in features)}")
    result = [Feature(each, renamed.get(each["key"], each["key"])) for each in features]
    names = data.schema.names
    for what, column in [(f"feature {each.key}", each.column) for each in result] + [(f"--numerical {each}", each) for each in numerical] + \
            ([("--label", label)] if label else []):
        if column not in names:
            raise Refused(f"{what}: there is no column {column}; there are {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}"
                          + ("; --column FEATURE=COLUMN names another" if what.startswith("feature") else ""))
    return result


def labels_of(array, column, first):
    values = pc.fill_null(array.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise Refused(f"column {column}, sample {first + at + 1}: the label {values[at]:g} is not 0 or 1")
    return values


def batches(data, columns, doing):
    progress = Progress(doing)
    for batch in data.to_batches(columns=columns):
        if batch.num_rows:
            yield progress.samples, batch
            progress.add(batch.num_rows)


def write(arguments, data, features, path):
    columns = list(dict.fromkeys([*(each.column for each in features), *arguments.numerical, *([arguments.label] if arguments.label else [])]))
    if arguments.rule == "frequency":
        types = {}
        for _, batch in batches(data, list(dict.fromkeys(each.column for each in features)), "counting"):
            for feature in features:
                values, _ = feature.flat(batch.column(feature.column), arguments.separator)
                types[feature.key] = values.type
                feature.count(values)
        for feature in features:
            feature.give_ids(arguments.min_count, types.get(feature.key, pa.int64()))
    samples, ends = 0, {each.key: 0 for each in features}
    with h5py.File(path, "w") as file:
        out, ragged = Writer(file), set()
        for first, batch in batches(data, columns, "converting"):
            for feature in features:
                values, lengths = feature.flat(batch.column(feature.column), arguments.separator)
                ids = feature.ids(values, lengths, first, arguments.rule)
                if lengths is not None:
                    if not first:
                        out.add(f"sparse/{feature.key}/offsets", np.zeros(1), np.uint64)
                        ragged.add(feature.key)
                    out.add(f"sparse/{feature.key}/offsets", ends[feature.key] + np.cumsum(lengths), np.uint64)
                    ends[feature.key] += int(lengths.sum())
                out.add(f"sparse/{feature.key}/values", ids, np.uint32)
            numerical = [pc.fill_null(batch.column(each).cast(pa.float32()), 0).to_numpy(zero_copy_only=False) for each in arguments.numerical]
            out.add("dense", np.stack(numerical, axis=1).ravel() if numerical else np.zeros(0), np.float32)
            out.add("label", labels_of(batch.column(arguments.label), arguments.label, first) if arguments.label else np.zeros(batch.num_rows), np.uint8)
            samples = first + batch.num_rows
        if not samples:
            raise Refused(f"{arguments.input}: holds no samples")
        described = [{"key": each.key, "rows": each.rows, "hotness": 0 if each.key in ragged else 1} for each in features]
        meta = file.create_group("meta").attrs
        meta["format_version"], meta["samples"], meta["dense"] = np.int64(1), np.int64(samples), np.int64(len(arguments.numerical))
        for name, text in (("source", Path(arguments.input).name), ("labels", "read" if arguments.label else "absent"),
                           ("id_rule", json.dumps({"name": "none"})), ("missing", "[]"), ("tables", json.dumps(described))):
            meta[name] = np.bytes_(text)  # of fixed length
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", required=True, type=json.loads, help='[{"key": "user", "rows": 5000000, "hotness": 1}, ...]')
    parser.add_argument("--rule", default="none", choices=("none", "modulo", "frequency"))
    parser.add_argument("--min-count", type=int, default=1)
    parser.add_argument("--column", action="append", default=[], metavar="FEATURE=COLUMN")
    parser.add_argument("--label", default="")
    parser.add_argument("--numerical", default="", type=lambda text: [each for each in text.split(",") if each])
    parser.add_argument("--separator", default="|")
    parser.add_argument("input")
    parser.add_argument("output")
    arguments = parser.parse_args()
    partial = arguments.output + ".partial"
    try:
        data = opened(arguments.input)
        renamed = dict(each.split("=", 1) for each in arguments.column)
        features = chosen(data, arguments.features, renamed, arguments.label, arguments.numerical)
        samples = write(arguments, data, features, partial)
    except (Refused, pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        Path(partial).unlink(missing_ok=True)
        print(f"shardmark: {error if isinstance(error, Refused) else arguments.input + ': ' + first_line(error)}", file=sys.stderr)
        return 2
    os.replace(partial, arguments.output)
    for feature in features:
        if feature.dropped:
            print(f"shardmark: feature {feature.key}: {feature.dropped} values have no row of the {feature.rows} and share id 1", file=sys.stderr)
    print(f"{arguments.output}: {samples} samples of {len(features)} features, ids by {arguments.rule}, labels {'read' if arguments.label else 'absent (0)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
