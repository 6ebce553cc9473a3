#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of the peers' table, and that scripts which need torch at least parse."""
import ast
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
from comparison import geometric_mean, markdown, ratio, read_records, times_of  # noqa: E402

HERE = Path(__file__).resolve().parent


def time(number, case, system, setting, **result):
    return {"record": "time", "pass": number, "case": case, "operation": "forward", "system": system,
            "setting": setting, **result}


RECORDS = [
    time(0, "a", "shardmark", "as built", ms=2.0), time(0, "a", "fbgemm", "tuned", ms=3.0),
    time(0, "a", "torch", "tuned", ms=2.5), time(0, "a", "fbgemm", "as installed", ms=8.0),
    time(1, "a", "shardmark", "as built", ms=4.0), time(1, "a", "fbgemm", "tuned", ms=6.0),
    time(1, "a", "torch", "tuned", ms=7.0), time(1, "a", "torch", "as installed", error="no memory"),
    time(0, "b", "shardmark", "as built", ms=1.0), time(0, "b", "torch", "tuned", ms=4.0),
]


class Comparison(unittest.TestCase):
    def test_ratio_is_that_of_the_faster_peer_in_the_same_pass(self):
        times = times_of(RECORDS, "forward")
        self.assertEqual(ratio(times["a"], "tuned"), (2.5 / 2 + 6 / 4) / 2)
        self.assertEqual(ratio(times["a"], "as installed"), 4)
        self.assertIsNone(ratio(times["b"], "as installed"))

    def test_geometric_mean_leaves_out_what_is_missing(self):
        self.assertAlmostEqual(geometric_mean([2, None, 8]), 4)
        self.assertIsNone(geometric_mean([None]))

    def test_table_holds_medians_ratios_and_errors(self):
        lines = markdown(RECORDS).splitlines()
        self.assertIn("| a | 3.00 | 8.00 | 4.50 | - | 4.75 | 4.00 | 1.38 |", lines)
        self.assertIn("| b | 1.00 | - | - | - | 4.00 | - | 4.00 |", lines)
        self.assertIn("| geometric mean |  |  |  |  |  | 4.00 | 2.35 |", lines)
        self.assertIn("- torch, as installed, case a, forward: no memory", lines)

    def test_files_add_up(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("1", "2")]
            for file in files:
                file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
            self.assertEqual(len(times_of(read_records(files), "forward")["a"]), 4)

    def test_scripts_parse(self):
        ast.parse((HERE / "fbgemm_worker.py").read_text())
        run = subprocess.run([sys.executable, HERE / "fbgemm", "--help"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("--passes", run.stdout)


if __name__ == "__main__":
    unittest.main()
