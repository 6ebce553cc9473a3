#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training data: generate, convert, inspect and run give the same ids; damaged files are refused by name and place.

Needs h5py (scripts/python)."""
import collections
import gzip
import json
import re
import shutil

import h5py

from program import ProgramTest, main

SAMPLES = 1000
COLUMNS = [f"C{c}" for c in range(1, 27)]
SCALE = "1/256"


def ids_by_modulo(values, rows):
    return [(int(value, 16) if value else 0) % rows for value in values]


def ids_by_frequency(values, rows, least):
    counts = collections.Counter(int(value, 16) for value in values if value)
    frequent = sorted((v for v in counts if counts[v] >= least), key=lambda v: (-counts[v], v))[:max(0, rows - 2)]
    ids = {value: i + 2 for i, value in enumerate(frequent)}
    return [min(rows - 1, ids.get(int(value, 16), 1)) if value else 0 for value in values]


def stored_ids(path):
    with h5py.File(path) as file:
        return [file[f"sparse/{name}/values"][:].tolist() for name in COLUMNS]


class DataTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tsv = cls.folder / "samples.tsv"
        cls.serial("data", "generate", "criteo", "--out", cls.tsv, "--samples", SAMPLES, "--rows", "kaggle")
        cls.lines = cls.tsv.read_text().splitlines()

    @classmethod
    def convert(cls, *options, source=None, scale=SCALE):
        file = cls.new_path(".h5")
        return cls.serial("data", "convert", source or cls.tsv, file, "--scale", scale, *options), file


class SameIds(DataTest):
    def rows(self):
        tables = json.loads(self.serial("run", "criteo-kaggle", "--scale", SCALE, "--dry-run").out)["tables"]
        return [table["rows"] for table in tables]

    def every_export(self, *options, **rule):
        """The features that `run` exports of the text and of the converted file, on 1 and 4 ranks."""
        outcome, converted = self.convert(*options)
        self.succeeds(outcome)
        every = [{"ranks": ranks, "scale": SCALE, "data": file, "export": self.new_path(".h5"), **rule}
                 for ranks in (1, 4) for file in (self.tsv, converted)]
        for outcome, _ in self.cases(every):
            self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        for given in every:
            with h5py.File(given["export"]) as file, self.subTest(ranks=given["ranks"], data=given["data"].name):
                for name in COLUMNS:
                    self.assertEqual(file[f"features/{name}/offsets"][:].tolist(), list(range(241)))
                yield [file[f"features/{name}/indices"][:].tolist() for name in COLUMNS]

    def columns(self):
        return list(zip(*(line.split("\t")[14:] for line in self.lines)))

    def test_ids_by_modulo_are_the_same_from_text_and_hdf5_on_1_and_4_ranks(self):
        expected = [ids_by_modulo(column, rows)[:240] for column, rows in zip(self.columns(), self.rows())]
        for ids in self.every_export("--id-rule", "modulo"):
            self.assertEqual(ids, expected)

    def test_ids_by_frequency_are_the_same_from_text_and_hdf5_on_1_and_4_ranks(self):
        expected = [ids_by_frequency(column, rows, 3)[:240] for column, rows in zip(self.columns(), self.rows())]
        for ids in self.every_export("--id-rule", "frequency", "--min-count", 3, id_rule="frequency", min_count=3):
            self.assertEqual(ids, expected)

    def test_compressed_text_gives_the_same_ids(self):
        packed = self.new_path(".tsv.gz")
        packed.write_bytes(gzip.compress(self.tsv.read_bytes()))
        files = [self.convert(source=file)[1] for file in (self.tsv, packed)]
        self.assertEqual(*map(stored_ids, files))


class Flow(DataTest):
    def test_generate_is_reproducible_and_has_40_fields(self):
        again = self.new_path(".tsv")
        out = self.succeeds(self.serial("data", "generate", "criteo", "--out", again, "--samples", SAMPLES)).out
        self.assertIn(f"{SAMPLES} synthetic samples", out)
        self.assertEqual(again.read_text().splitlines(), self.lines)
        self.assertEqual({line.count("\t") for line in self.lines}, {39})
        self.assertEqual(len(self.lines), SAMPLES)

    def test_convert_and_inspect_count_the_samples(self):
        outcome, file = self.convert("--id-rule", "frequency")
        self.assertRegex(self.succeeds(outcome).out, rf"{SAMPLES} samples .* 0 malformed .* ids by frequency")
        for each in (self.tsv, file):
            out = self.succeeds(self.serial("data", "inspect", each)).out
            self.assertRegex(out, rf"samples +{SAMPLES}\n")
            self.assertEqual(len(re.findall(r"^ +[IC]\d+ ", out, re.MULTILINE)), 39)
        self.assertIn("checksums match", out)

    def test_a_dictionary_maps_another_file_alike(self):
        _, first = self.convert("--id-rule", "frequency", "--min-count", 2)
        outcome, second = self.convert("--dictionary", first, source=self.new_file("\n".join(self.lines[:100]) + "\n"))
        self.succeeds(outcome)
        self.assertEqual(stored_ids(second), [column[:100] for column in stored_ids(first)])

    def test_fewer_samples_than_a_batch_are_used_again_and_that_is_said_once(self):
        short = self.new_file("\n".join(self.lines[:50]) + "\n", ".tsv")
        outcome, _ = self.case(3, data=short)
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        self.assertEqual(len(re.findall(r"has 50 samples read; they are used again", outcome.err)), 1, outcome.err)


class BadText(DataTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lines = list(cls.lines)
        lines.insert(100, "1\tnot a sample")
        lines.insert(201, cls.lines[0][:-8] + "zzzzzzzz")
        cls.bad = cls.new_file("\n".join(lines) + "\n", ".tsv")

    def test_a_malformed_line_stops_with_file_and_line(self):
        self.refuses_case(f"{self.bad}:101:", data=self.bad)
        self.refuses_serial(["data", "inspect", self.bad], f"{self.bad}:101:")
        self.refuses_serial(["data", "convert", self.bad, self.new_path(".h5")], f"{self.bad}:101:")

    def test_skipped_lines_are_counted_once_and_placed_by_run(self):
        for outcome, _ in self.cases({"ranks": n, "data": self.bad, "malformed": "skip"} for n in (1, 3)):
            self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
            self.assertEqual(outcome.err.count("skipped 2 malformed of"), 1, outcome.err)
            for line in (101, 202):
                self.assertIn(f"{self.bad}:{line}:", outcome.err)

    def test_skipped_lines_are_counted_by_convert_and_inspect(self):
        converted = self.convert("--malformed", "skip", source=self.bad)[0]
        self.assertIn(f"{SAMPLES} samples", self.succeeds(converted).out)
        for outcome in (converted, self.succeeds(self.serial("data", "inspect", self.bad, "--malformed", "skip"))):
            self.assertIn(f"skipped 2 malformed of {SAMPLES + 2} lines", outcome.err)

    def test_a_truncated_gzip_file_is_named(self):
        whole = gzip.compress(self.tsv.read_bytes())
        file = self.new_file(whole[:len(whole) // 2], ".tsv.gz")
        self.refuses_case(str(file), "truncated", data=file)
        target = self.new_path(".h5")
        self.refuses_serial(["data", "convert", file, target], str(file), "truncated")
        self.assertFalse(target.exists())

    def test_an_empty_file_is_named(self):
        file = self.new_file("", ".tsv")
        self.refuses_case(str(file), "no samples", data=file)

    def test_a_file_that_cannot_be_read_is_named(self):
        for file in ("missing.tsv", "missing.h5", self.folder):
            self.refuses_case(str(file), ranks=[3], data=file)

    def test_convert_into_its_own_input_is_refused(self):
        copy = self.new_path(".tsv")
        shutil.copy(self.tsv, copy)
        self.refuses_serial(["data", "convert", copy, copy], str(copy))
        self.assertEqual(copy.read_bytes(), self.tsv.read_bytes())


class BadHdf5(DataTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = cls.convert(scale="1/4096")[1]

    def edited(self, edit):
        path = self.new_path(".h5")
        shutil.copy(self.whole, path)
        with h5py.File(path, "r+") as file:
            edit(file)
        return path

    def refuses_data(self, file, *texts):
        self.refuses_case(str(file), *texts, data=file)
        self.refuses_serial(["data", "inspect", file], str(file), *texts)

    def test_a_truncated_file_is_named(self):
        content = self.whole.read_bytes()
        for size in (len(content) // 2, len(content) - 1):
            self.refuses_data(self.new_file(content[:size], ".h5"), "truncated")

    def test_what_is_no_hdf5_is_named(self):
        self.refuses_case("HDF5", ranks=[3], data=self.new_file("hello world", ".h5"))

    def test_a_flipped_byte_is_found_by_its_checksum(self):
        with h5py.File(self.whole) as file:
            place = file["sparse/C3/values"].id.get_chunk_info(0).byte_offset + 400
        content = bytearray(self.whole.read_bytes())
        content[place] ^= 1
        self.refuses_data(self.new_file(bytes(content), ".h5"), "/sparse/C3/values", "checksum")

    def test_a_value_that_somebody_changed_is_found_by_inspect(self):
        def edit(file):
            file["sparse/C3/values"][100] ^= 1
        file = self.edited(edit)
        self.refuses_serial(["data", "inspect", file], str(file), "/sparse/C3/values", "checksum")

    def test_an_id_outside_its_table_is_placed(self):
        def edit(file):
            file["sparse/C3/values"][100] = 999999
        self.refuses_data(self.edited(edit), "/sparse/C3/values", "999999", "100")

    def test_a_column_that_is_too_short_or_missing_is_named(self):
        def shorten(file):
            file["sparse/C3/values"].resize((SAMPLES - 1,))
        def remove(file):
            del file["sparse/C3"]
        self.refuses_data(self.edited(shorten), "/sparse/C3/values", "999")
        self.refuses_data(self.edited(remove), "/sparse/C3/values")

    def test_ids_for_larger_tables_than_those_of_the_workload_are_refused(self):
        self.refuses_case(str(self.whole), "C3", "rows", data=self.whole, scale="1/8192")

    def test_a_hotness_that_the_data_do_not_have_is_refused(self):
        self.refuses_case("hotness", ranks=[1], data=self.whole, set=["hotness=3"])


if __name__ == "__main__":
    main()
