# SPDX-License-Identifier: Apache-2.0
"""What the tests of verify-export share: its program, run on a step, and what they expect it to say."""
import contextlib
import importlib.machinery
import importlib.util
import io
import sys
import tempfile
import unittest
from pathlib import Path

from exported_step import OPTIMIZERS, POOLINGS

PROGRAM = Path(__file__).resolve().with_name("verify-export")
LOADER = importlib.machinery.SourceFileLoader("verify_export", str(PROGRAM))


def load_program():
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("verify_export", LOADER))
    LOADER.exec_module(module)
    return module


verify_export = load_program()


class VerifyExport(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "step.h5"

    def tearDown(self):
        self.directory.cleanup()

    def run_program(self, *arguments):
        """(exit code, stdout, stderr); in this process, as importing NumPy takes longer than the rest."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = verify_export.main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()

    def verdict_on(self, step):
        step.write(self.path)
        code, out, err = self.run_program(self.path)
        return code, (out or err).splitlines()[-1], out

    def assert_ok(self, step):
        code, last, text = self.verdict_on(step)
        self.assertEqual((code, last), (0, "EXPORT: OK"), text)

    def assert_wrong(self, step, values=None):
        code, last, text = self.verdict_on(step)
        self.assertEqual(code, 1, text + last)
        self.assertRegex(last, r"^EXPORT: WRONG \(\d+ values\)$" if values is None else rf"\({values} values\)$")

    def assert_bad(self, step, message):
        code, last, _ = self.verdict_on(step)
        self.assertEqual((code, last), (2, f"{self.path}: {message}"))

    def every_case(self):
        for pooling in POOLINGS:
            for optimizer in OPTIMIZERS:
                yield pooling, optimizer

    def each_choice(self):
        """Each optimizer once or twice, and each pooling at least three times: 16 of the 55."""
        for number in range(16):
            yield POOLINGS[number % len(POOLINGS)], OPTIMIZERS[number % len(OPTIMIZERS)]
