#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people type by mistake: each is answered before anything is measured, in one line that says what to type."""
import concurrent.futures
import unittest

from program import ProgramTest, main

# arguments, and what the answer says to type; MY is a spec, KEY, TYPE and CUT are damaged ones, TSV has two columns.
MISTAKES = (
    ("", "a command is needed: run, compare, "),
    ("comapre criteo-kaggle", "did you mean 'compare'?"),
    ("plan", "a command is needed: create, show, check, convert; see shardmark plan --help"),
    ("help predit", "did you mean 'predict'?"),
    ("completion tcsh", "valid: bash, zsh, fish, man"),
    ("list workload", "did you mean 'workloads'?"),
    ("run", "WORKLOAD is required; see shardmark run --help"),
    ("run criteo", "did you mean 'criteo-kaggle'?"),
    ("run my-tables.json", "my-tables.json: no such file; `shardmark workload new my-tables.json` writes one to edit"),
    ("run KEY", 'unknown key "pool"; did you mean \'pooling\'?'),
    ("run TYPE", 'key "rows" has the wrong type: "2000000" (wanted: whole number)'),
    ("run CUT", "not valid JSON"),
    ("run MY --plan rowwise", "did you mean 'row_wise'?"),
    ("run MY --plan missing.json", "plan 'missing.json' is neither a file nor a planner"),
    ("run MY --plan MY", "unknown key 'global_batch'; known: format, name, ranks, tables"),
    ("run MY --plan", "--plan: its value is missing; see shardmark run --help"),
    ("run MY --plans all", "unknown option '--plans'; did you mean '--plan'?"),
    ("run MY --lr 0.1", "unknown option '--lr'; did you mean '--learning-rate'?"),
    ("compare MY --iterations 10", "did you mean '--steps'?"),
    ("run MY --exchange alltoall", "did you mean 'mpi_alltoallv'?"),
    ("run MY --transfer all", "--transfer all: this command takes one; shardmark compare takes several"),
    ("run MY --wire fp8", "valid: fp32, fp16, bf16, int8"),
    ("run MY --optimizer Adam", "did you mean 'adam'?"),
    ("run MY --storage tensor-train", "valid: dense, tt, dynamic"),
    ("run MY --dense DLRM", "did you mean 'dlrm'?"),
    ("run MY --async yes", "valid: off, ids, rows, patched"),
    ("run MY --batch 0", "--batch 0: '0' is not a number of at least 1"),
    ("run MY --batch 4k --batch-per-rank 1k", "both set batch; leave one of them out"),
    ("run MY --scale 2/3", "--scale 2/3: scale '2/3' is not 1/N with N at least 1"),
    ("run MY --budget 5x", "'5x' is not a duration above 0 such as 90s or 2m"),
    ("run MY --check -1", "'-1' is not off or a number of at least 1"),
    ("run MY --threads many", "--threads: 'many' is not a number above 0"),
    ("run MY --format pdf", "valid: text, markdown, csv, json"),
    ("run MY --set dim", "--set dim: expected key=value"),
    ("run MY --set dimension=4", "did you mean 'dim'?"),
    ("run MY --config missing.toml", "--config missing.toml: cannot be read"),
    ("run MY --data missing.tsv", "missing.tsv: cannot open: No such file or directory"),
    ("run MY --data TSV", "write samples of other workloads as HDF5 (docs/workload-specs.md)"),
    ("run criteo-kaggle --data TSV", "TSV:1: expected 40 fields separated by tabs, found 2"),
    ("run MY extra", "The following argument was not expected: extra; see shardmark run --help"),
    ("compare MY --plan table_wise,rowwise", "did you mean 'row_wise'?"),
    ("compare MY --resume missing.jsonl", "cannot read missing.jsonl; name a results file (.jsonl"),
    ("predict MY --ranks 0", "--ranks: Value 0 not in range 1 to 1048576"),
    ("predict MY --machine a100", "did you mean 'dgx-a100'?"),
    ("predict MY --links 200", "'200' is not a rate such as 200Gb/s (bits) or 25GB/s (bytes)"),
    ("predict MY --latency 2", "'2' is not a latency such as 2us or 800ns"),
    ("predict MY --memory 80X", "--memory: '80X' is not a size such as 80GB (10^9) or 80GiB (2^30)"),
    ("predict MY --scaling linear", "valid: weak, strong, both"),
    ("plan create MY --ranks 4", "--plan is required; see shardmark plan create --help"),
    ("plan create MY --plan search --ranks 4 --to torchrec", "did you mean 'torchrec-plan'?"),
    ("plan show MY row_wise", "planner 'row_wise' needs --ranks"),
    ("results show missing.jsonl", "cannot read missing.jsonl; name a results file (.jsonl"),
    ("results diff MY", "launches of OLD and of NEW are needed; see shardmark results diff --help"),
    ("data convert TSV", "IN and OUT are required; see shardmark data convert --help"),
    ("data generate criteo out.tsv", "--samples is required; see shardmark data generate criteo --help"),
    ("exchange --bytes 1XB", "expected a size or BEGIN:END[:FACTOR] such as 1KiB:16MiB:4"),
    ("exchange --skew flat", "valid: uniform, zipf, hot, banded"),
    ("machine describe", "the data sheet says nothing; give --cores, "),
    ("machine describe --cores 8 --out m.txt", "--out m.txt: name a file that ends in .json"),
    ("workload new my.txt", "my.txt: name a file that ends in .json"),
    ("calibrate --out .", ".: is a folder; name a file to write"),
)


class Mistakes(ProgramTest):
    def test_each_is_answered_by_what_to_type(self):
        mine = self.new_path(".json")
        self.succeeds(self.serial("workload", "new", mine))
        spec = mine.read_text()
        files = {"MY": mine, "KEY": self.new_file(spec.replace('"pooling"', '"pool"')), "CUT": self.new_file(spec[:300]),
                 "TYPE": self.new_file(spec.replace('"rows": 2000000', '"rows": "2000000"')), "TSV": self.new_file("a\tb\n", ".tsv")}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # starting MPI is mostly waiting
            outcomes = pool.map(lambda each: self.serial(*(files.get(word, word) for word in each[0].split())), MISTAKES)
        for (line, answer), outcome in zip(MISTAKES, outcomes):
            with self.subTest(mistake=line):
                for name, file in files.items():
                    answer = answer.replace(f"{name}:", f"{file}:")
                self.refuses(outcome, answer)
                self.assertEqual(len(outcome.err.splitlines()), 1, outcome.err)


if __name__ == "__main__":
    main()
