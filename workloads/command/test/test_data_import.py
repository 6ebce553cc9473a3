#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`data import`: samples of CSV and Parquet, a column for each feature, are what plain Python makes of the same values.

It needs a Python with pyarrow, which nothing else does; without one it is skipped. The seed of the drawn samples is printed."""
import collections
import gzip
import json
import random
import sys
import unittest
import zlib

from program import ProgramTest, main

try:
    import h5py
    import numpy
    import pyarrow as pa
    import pyarrow.parquet
except ImportError:
    pa = None

ROWS = {"user": 50, "history": 30, "country": 8}
SPEC = {"name": "clicks", "global_batch": 24, "optimizer": {"name": "sgd"}, "plans": ["table_wise"],
        "tables": [{"name": name, "rows": rows, "dim": 4} for name, rows in ROWS.items()],
        "features": [{"name": "user", "table": "user", "hotness": 1}, {"name": "history", "table": "history", "hotness": 5},
                     {"name": "country", "table": "country", "hotness": 1}]}
SEED = random.SystemRandom().randrange(2**32)
WORDS = ("at", "be", "ch", "de", "es", "fr", "it", "nl", "pl", "se")


def drawn(samples, draw, missing=0.1):
    """[(user, history, country, label, age)]; a user or a country may be missing."""
    law = [1 / (rank + 1) for rank in range(400)]
    users = draw.choices(range(400), law, k=samples)
    return [(None if draw.random() < missing else user, [draw.randrange(90) for _ in range(draw.choice((0, 1, 3, 7)))],
             None if draw.random() < missing else draw.choice(WORDS), draw.randrange(2), draw.random()) for user in users]


def mapped(values, rows, rule, min_count):
    """The ids of all values of a feature, as the page on specs says."""
    if rule == "none":
        return values
    if rule == "modulo":
        return [0 if value is None else (value if isinstance(value, int) else zlib.crc32(value.encode())) % rows for value in values]
    counts = collections.Counter(value for value in values if value is not None)
    known = sorted((value for value in counts if counts[value] >= min_count), key=lambda value: (-counts[value], value))[:rows - 2]
    ids = {value: place + 2 for place, value in enumerate(known)}
    return [0 if value is None else ids.get(value, 1) for value in values]


@unittest.skipIf(pa is None, "no pyarrow")
class DataImport(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        print(f"seed {SEED}", file=sys.stderr)
        cls.spec = cls.new_file(SPEC)
        cls.samples = drawn(3000, random.Random(SEED))
        cls.files = cls.written(cls.samples)

    @classmethod
    def written(cls, samples):
        """The same samples as CSV, as TSV that is compressed, and as a folder of two Parquet files."""
        def text(separator):
            lines = [separator.join(("user", "items", "country", "click", "age"))]
            lines += [separator.join(("" if user is None else str(user), "|".join(map(str, items)), country or "", str(click), repr(age)))
                      for user, items, country, click, age in samples]
            return "\n".join(lines) + "\n"

        folder = cls.new_path()
        folder.mkdir()
        names, half = ("user", "items", "country", "click", "age"), len(samples) // 2
        for part, some in enumerate((samples[:half], samples[half:])):
            table = pa.table([pa.array(column) for column in zip(*some)], names=names) if some else None
            if table:
                pa.parquet.write_table(table, folder / f"part-{part}.parquet", row_group_size=500)
        return {"csv": cls.new_file(text(","), ".csv"), "tsv.gz": cls.new_file(gzip.compress(text("\t").encode()), ".tsv.gz"), "parquet": folder}

    def imported(self, file, *options, out=None, spec=None):
        out = out or self.new_path(".h5")
        return self.serial("data", "import", file, out, "--workload", spec or self.spec, "--column", "history=items", *options), out

    def same(self, found, expected, what):
        """assertEqual() would take minutes to find what differs."""
        differing = [place for place, (one, other) in enumerate(zip(found, expected)) if one != other]
        self.assertEqual((len(found), differing[:3]), (len(expected), []), f"{what}, seed {SEED}" + "".join(
            f"; {place}: {found[place]}, expected {expected[place]}" for place in differing[:3]))

    def test_every_format_and_rule_is_what_plain_python_makes_of_the_values(self):
        for form, file in self.files.items():
            for rule, min_count in (("modulo", 1), ("frequency", 1), ("frequency", 4)):
                with self.subTest(form=form, rule=rule, min_count=min_count, seed=SEED):
                    outcome, out = self.imported(file, "--id-rule", rule, "--min-count", min_count, "--label", "click", "--numerical", "age")
                    self.succeeds(outcome)
                    self.assertIn("3000 samples of 3 features", outcome.out)
                    expected = {"user": [s[0] for s in self.samples], "history": [item for s in self.samples for item in s[1]],
                                "country": [s[2] for s in self.samples]}
                    with h5py.File(out) as data:
                        for feature, values in expected.items():
                            self.same(data[f"sparse/{feature}/values"][:].tolist(), mapped(values, ROWS[feature], rule, min_count), feature)
                        begins = [0]
                        for sample in self.samples:
                            begins.append(begins[-1] + len(sample[1]))
                        self.same(data["sparse/history/offsets"][:].tolist(), begins, "offsets")
                        self.assertNotIn("offsets", data["sparse/user"])
                        self.same(data["label"][:].tolist(), [s[3] for s in self.samples], "labels")
                        self.same(data["dense"][:].tolist(), [float(numpy.float32(s[4])) for s in self.samples], "ages")

    def test_what_is_imported_is_inspected_counted_and_trained_on(self):
        outcome, out = self.imported(self.files["parquet"], "--id-rule", "frequency", "--label", "click")
        self.succeeds(outcome)
        self.assertIn("country: 4 values have no row of the 8 and share id 1", outcome.err)
        self.assertRegex(self.succeeds(self.serial("data", "inspect", out)).out, r"samples +3000\n")
        self.succeeds(self.serial("data", "statistics", out, "--workload", self.spec))
        outcome, results = self.case(2, self.spec, data=out, steps=4, check="4", scale=None, batch=None)
        self.succeeds(outcome)
        self.assertIn("RESULT: VALID", outcome.out)

    def test_rows_that_are_ids_already_stay(self):
        samples = [(user % 50, [item % 30 for item in items], None, click, age) for user, items, _, click, age in drawn(100, random.Random(SEED), 0)]
        spec = {**SPEC, "tables": SPEC["tables"][:2], "features": SPEC["features"][:2]}
        out = self.new_path(".h5")
        self.succeeds(self.serial("data", "import", self.written(samples)["csv"], out, "--workload", self.new_file(spec), "--column", "history=items"))
        with h5py.File(out) as data:
            self.assertEqual(data["sparse/user/values"][:].tolist(), [s[0] for s in samples])
            self.assertEqual(data["sparse/history/values"][:].tolist(), [item for s in samples for item in s[1]])
            self.assertEqual(json.loads(data["meta"].attrs["tables"])[1], {"key": "history", "rows": 30, "hotness": 0})

    def test_what_cannot_be_imported_is_refused_in_one_line_and_nothing_is_left(self):
        def refused(file, *options, says, spec=self.spec):
            out = self.new_path(".h5")
            outcome, _ = self.imported(file, *options, out=out, spec=spec)
            self.refuses(outcome, *says)
            self.assertFalse(list(out.parent.glob(out.name + "*")), says)

        csv, few = self.files["csv"], [(3, [1, 2], "at", 1, 0.5), (7, [], "be", 0, 0.25)]
        many = few * 700
        refused(csv, says=("column user, sample", "the value is missing; --id-rule modulo or frequency"))
        numbers = self.new_file({**SPEC, "tables": SPEC["tables"][:2], "features": SPEC["features"][:2]})
        refused(self.written([*many, (51, [], "at", 0, 0.0)])["parquet"], spec=numbers,
                says=("column user, sample 1401: id 51 is no row of its table, which has 50; --id-rule modulo folds ids",))
        refused(self.written([*many, (1, [2, 3, 30], "at", 0, 0.0)])["csv"], spec=numbers, says=("column items, sample 1401: id 30 is no row",))
        refused(self.written(few)["csv"], says=("column country: ", "--id-rule frequency or modulo takes any values"))
        refused(csv, "--column", "user=nosuch", says=("feature user: there is no column nosuch; there are user, items, country",))
        refused(csv, "--column", "visitor=user", says=("the workload has no feature visitor; it has user, history, country",))
        refused(csv, "--column", "user", says=("--column user: expected FEATURE=COLUMN",))
        refused(csv, "--id-rule", "modulo", "--label", "user", says=("column user, sample", "is not 0 or 1"))
        refused(csv, "--id-rule", "modulo", "--numerical", "country", says=("Failed to parse string",))
        refused(csv, "--id-rule", "hash", says=("unknown id rule 'hash'; valid: none, modulo, frequency",))
        refused(self.new_file("a", ".xls"), says=("ends neither in .parquet nor in .csv",))
        refused(self.new_path(".csv"), says=("no such file",))
        refused(self.new_file("user,items,country,click,age\n", ".csv"), "--id-rule", "modulo", says=("holds no samples",))
        precious = self.new_file("precious", ".h5")
        self.refuses(self.imported(csv, out=precious)[0], "exists", "--force")
        self.assertEqual(precious.read_text(), "precious")


if __name__ == "__main__":
    main()
