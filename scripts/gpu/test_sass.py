#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sass reads what cuobjdump prints (sass_sample.txt: some kernels, with a few instructions of each), keeps a table and compares with it.
nvcc and its tools are stand-ins."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
SAMPLE = HERE / "sass_sample.txt"
loader = importlib.machinery.SourceFileLoader("sass", str(HERE / "sass"))
sass = importlib.util.module_from_spec(importlib.util.spec_from_loader("sass", loader))
loader.exec_module(sass)


class Sass(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "kernels.o").touch()
        self.table = sass.TABLE = self.folder / "table.tsv"
        self.path = sass.SEARCHED
        sass.SEARCHED = f"{self.folder}:{self.path}"
        self.addCleanup(setattr, sass, "SEARCHED", self.path)
        self.tool("nvdisasm", "")
        self.tool("cuobjdump", f"cat {SAMPLE}")
        self.tool("nvcc", "echo Cuda compilation tools, release 13.0, V13.0.88")

    def tool(self, name, command):
        (self.folder / name).write_text(f"#!/bin/sh\n{command}\n")
        (self.folder / name).chmod(0o755)

    def run_sass(self, *arguments, limits=(), exceptions=()):
        """Exit code and what was printed."""
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            code = sass.main([*arguments, "--objects", str(self.folder)], limits, exceptions)
        return code, out.getvalue()

    def test_reads_names_arguments_and_instructions(self):
        rows = sass.rows_of(sass.read_kernels(SAMPLE.read_text()))
        self.assertEqual(list(rows), ["FindBagFaults (reduce)", "ModifyRows<4>", "RowGradientKernel<1, UpdateRows>", "count_prefixes",
                                      "count_up", "sum_before (scan)"])  # neither CUB's nor Kokkos's own
        cells = {name: dict(zip(sass.COLUMNS, row.cells())) for name, row in rows.items()}
        self.assertEqual(cells["count_up"], {**dict.fromkeys(sass.COLUMNS, "0"), "instances": "1", "registers": "10", "arguments": "80", "STG": "1"})
        self.assertEqual(cells["count_prefixes"]["arguments"], "buffer")
        self.assertEqual(cells["ModifyRows<4>"]["shared"], "16")
        updates = cells["RowGradientKernel<1, UpdateRows>"]
        self.assertEqual((updates["instances"], updates["stack"], updates["LDL"], updates["STL"]), ("2", "16..32", "4", "2"))
        self.assertEqual(sass.counted("LDG.E.128.CONSTANT"), "LDG.128")
        self.assertEqual(sass.counted("LDG.E.LTC128B.64"), "LDG")
        self.assertEqual(sass.counted("LD.E.64"), "LD")
        self.assertIsNone(sass.counted("LDS.128"))

    def test_compares_with_the_table(self):
        self.assertEqual(self.run_sass("--write"), (0, ""))
        self.assertEqual(self.run_sass("--check"), (0, ""))
        text = self.table.read_text()
        self.table.write_text(text.replace("count_up\t1\t10\t", "count_up\t1\t8\t").replace("ModifyRows<4>", "ModifyRows<8>"))
        code, printed = self.run_sass("--check")
        self.assertEqual(code, 1)
        self.assertEqual(printed.splitlines(), [
            "ModifyRows<8>: is in the table, but in no object", "ModifyRows<4>: is not in the table", "count_up: registers 8 -> 10",
            "scripts/gpu/sass: if that is meant: scripts/gpu/sass --write, or a limit of scripts/gpu/sass"])

    def test_a_table_of_another_compiler_is_not_comparable_but_limits_are_kept(self):
        self.run_sass("--write")
        self.tool("nvcc", "echo release 13.1, V13.1.2")
        code, printed = self.run_sass("--check")
        self.assertEqual((code, printed), (3, "scripts/gpu/sass: the table is of nvcc 13.0.88, sm_90, these objects of nvcc 13.1.2, sm_90: "
                                              "only the limits were compared\n"))
        self.assertEqual(self.run_sass("--check", limits=[("stack", ".*", 0, 0, "why")])[0], 1)

    def test_limits_and_exceptions(self):
        self.run_sass("--write")
        limits = [("stack", ".*", 0, 0, "why"), ("arguments", "count_.*", 0, 4095, "the host waits"), ("STG.128", "ModifyRows.*", 1, 9, "wide")]
        exceptions = [("stack LDL", "sum_before.*", "kept"), ("STL", "Gone", "kept")]
        code, printed = self.run_sass("--check", limits=limits, exceptions=exceptions)
        self.assertEqual(code, 1)
        self.assertEqual(printed.splitlines()[:-1], [
            "RowGradientKernel<1, UpdateRows>: stack 16..32, at most 0 allowed: why",
            "count_prefixes: arguments buffer, at most 4095 allowed: the host waits", "ModifyRows<4>: STG.128 0, at least 1 allowed: wide",
            "sum_before.*: no kernel needs the exception from the limit of LDL", "Gone: no kernel needs the exception from the limit of STL"])

    def test_says_what_is_missing(self):
        sass.SEARCHED = "/nonexistent"
        with self.assertRaisesRegex(sass.BadInput, "nvdisasm is not in the PATH"):
            self.run_sass("--check")
        (self.folder / "kernels.o").unlink()
        with self.assertRaisesRegex(sass.BadInput, "no objects in .*cmake --preset cuda-ci"):
            self.run_sass("--check")


if __name__ == "__main__":
    unittest.main()
