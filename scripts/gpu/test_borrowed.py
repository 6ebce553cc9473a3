#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: test_borrowed.py FOLDER_OF_PROGRAMS. That `borrowed --dry` measures every case, goes on where it was stopped and prints
a row per kernel."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent


def borrowed(*arguments):
    environment = {**os.environ, "SHARDMARK_BIN": sys.argv[1]}
    return subprocess.run([HERE / "borrowed", *arguments], text=True, capture_output=True, timeout=100, env=environment)


class Borrowed(unittest.TestCase):
    def test_measures_every_case_and_goes_on_where_it_was_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            first = borrowed("--dry", "measure", folder)
            self.assertEqual(first.returncode, 0, first.stderr)
            for case, batch in {"a": 32, "b": 16, "c": 64, "d": 16, "e": 4}.items():
                self.assertRegex(first.stdout, f"(?m)^pooled_lookup/case:{case}/.*batch:{batch}/.* gather ")
                self.assertRegex(first.stdout, f"(?m)^backward_update/case:{case}/.*optimizer:rowwise_adagrad ")
            self.assertRegex(first.stdout, "(?m)^bucketize/case:a/")
            (pathlib.Path(folder) / "kernels_b.json").unlink()
            again = borrowed("--dry", "measure", folder)
            self.assertIn("case b,", again.stderr)
            self.assertNotIn("case a,", again.stderr)

    def test_takes_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            taken = borrowed("--dry", "steps", folder)
            self.assertEqual(taken.returncode, 0, taken.stderr)
            self.assertRegex(taken.stdout, r"(?m)^kaggle +512  .* 0$")
            self.assertRegex(taken.stdout, r"(?m)^kaggle-dlrm +512  .* 0$")
            self.assertNotIn("kaggle-staged  ", taken.stdout)  # nothing lies on a GPU

    def test_says_what_it_wants(self):
        for arguments in ((), ("everything",)):
            outcome = borrowed(*arguments)
            self.assertEqual(outcome.returncode, 2)
            self.assertIn("Usage: borrowed tests|steps|measure", outcome.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
