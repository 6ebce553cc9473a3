#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`results plot`: pictures of stored files, what they show, and what is refused before a Python is started."""
import json
import re
import shutil
import subprocess
import unittest

from program import REPOSITORY, SHARDMARK, ProgramTest, main, records, start

PLACEMENTS = REPOSITORY / "results" / "measured" / "amd-epyc-2" / "placements.jsonl"
PYTHON = REPOSITORY / "scripts" / "python"
CAN_DRAW = subprocess.run([PYTHON, "--with", "matplotlib", "-c", ""], capture_output=True, check=False).returncode == 0


class Plot(ProgramTest):
    @classmethod
    def launch_on(cls, ranks, factor, **environment):
        """The placements as if they had been measured on so many ranks, each on a node of its own, in another time."""
        header, *cases = records(PLACEMENTS)
        header = {**header, **environment, "ranks": [{**header["ranks"][0], "rank": rank, "host": f"n{rank}"} for rank in range(ranks)]}
        for case in cases:
            case["ranks"] = ranks
            case["step_ms"] = {key: value if key in ("n", "visits") else [factor * x for x in value] if isinstance(value, list)
                               else factor * value for key, value in case["step_ms"].items()}
            case["samples_per_s"] /= factor
        return cls.new_file("".join(json.dumps(line) + "\n" for line in (header, *cases)), ".jsonl")

    def drawn(self, *arguments, ending=".svg"):
        file = self.new_path(ending)
        said = self.succeeds(self.serial("results", "plot", *arguments, "--out", file)).out
        self.assertRegex(said, rf"^wrote {file}: [\w ]+\n$")
        self.assertEqual([path.name for path in self.folder.glob(file.name + "*")], [file.name])
        return file.read_bytes()

    @unittest.skipUnless(CAN_DRAW, "no Python with matplotlib")
    def test_a_step_is_its_phases(self):
        facts, = json.loads(self.serial("results", "show", PLACEMENTS, "--format", "json").out)
        best = [case for case in facts["cases"] if case["leads"]]
        self.assertEqual(len(best), 4)
        for case in facts["cases"]:
            self.assertAlmostEqual(sum(case["parts"].values()), case["step_ms"]["median"], delta=0.006 * case["step_ms"]["median"])
        svg = self.drawn(PLACEMENTS).decode()
        for text in ("Time of a step by plan", "table_wise", "row_wise", "column_wise", "update", "5.77", "AMD EPYC"):
            self.assertIn(text, svg)
        self.assertEqual(self.drawn(PLACEMENTS).decode(), svg)
        self.assertTrue(self.drawn(PLACEMENTS, ending=".pdf").startswith(b"%PDF"))

    @unittest.skipUnless(CAN_DRAW, "no Python with matplotlib")
    def test_predictions_stand_beside_what_was_measured(self):
        svg = self.drawn(PLACEMENTS, "--what", "predicted", "--all").decode()
        for text in ("Predicted beside measured", "+1.4 %", "mpi_alltoallv", "table_wise (exchange node_shared) 5.771 ms, predicted 5.849 ms"):
            self.assertIn(text, svg)

    @unittest.skipUnless(CAN_DRAW, "no Python with matplotlib")
    def test_launches_on_several_ranks_are_a_picture_of_scaling(self):
        files = [self.launch_on(4, 0.5), PLACEMENTS, self.launch_on(1, 1.6)]
        shown = self.succeeds(self.serial("results", "show", *files)).out
        self.assertIn("strong scaling: 16384 samples a step", shown)
        self.assertRegex(shown, r"\n  table_wise +node_shared +4 +4 +4096 2\.885 \[2\.662, 3\.516\] 5,678,4\d\d +3\.20 +80 %")
        self.assertRegex(shown, "ANSWER: On 4 ranks of 4 nodes the fastest plan is table_wise: 2.885 ms")
        svg = self.drawn(*files).decode()
        for text in ("Strong scaling", "table_wise", "(3.20 x on 4, 80 %)", "4 nodes"):
            self.assertIn(text, svg)
        self.assertTrue(self.drawn(*files, ending=".png").startswith(b"\x89PNG"))

    def test_launches_that_differ_in_more_are_named(self):
        file = self.launch_on(4, 0.5, seed=7)
        outcome = self.serial("results", "plot", PLACEMENTS, file, "--what", "scaling", "--out", self.new_path(".svg"))
        self.assertEqual((outcome.code, outcome.err), (3, f"shardmark: seed differs: '1' in {PLACEMENTS}, '7' in {file}\n"))
        self.assertIn("# no table of scaling: seed differs: '1' in", self.serial("results", "show", PLACEMENTS, file).out)

    def test_what_cannot_be_drawn_is_refused(self):
        exchanges, kernels = PLACEMENTS.with_name("exchanges.jsonl"), PLACEMENTS.with_name("kernels.json")
        svg = self.new_path(".svg")
        for arguments, *texts in (((PLACEMENTS, "--out", self.new_path(".gif")), ".svg, .pdf or .png"),
                                  ((exchanges, "--out", svg), str(exchanges), "results show prints it"),
                                  ((kernels, "--out", svg), str(kernels), "results show prints it"),
                                  ((PLACEMENTS, "--what", "scaling", "--out", svg), "different numbers of ranks"),
                                  ((PLACEMENTS, PLACEMENTS, "--out", svg), "2 files on one number of ranks"),
                                  ((PLACEMENTS, "--what", "pie", "--out", svg), "unknown picture 'pie'; valid: auto, step"),
                                  ((PLACEMENTS, "--out", "none/a.svg"), "no folder none"),
                                  ((PLACEMENTS.with_name("none"), "--out", svg), "cannot read")):
            with self.subTest(arguments=arguments):
                self.refuses_serial(("results", "plot", *arguments), *texts)
                self.assertFalse(svg.exists())

    def test_a_missing_script_or_python_is_said(self):
        program = self.folder / "moved" / "bin" / "shardmark"
        program.parent.mkdir(parents=True)
        shutil.copy(SHARDMARK, program)
        command = [program, "results", "plot", PLACEMENTS, "--out", self.new_path(".svg")]
        self.refuses(start([str(word) for word in command]), "moved/share/shardmark/scripts", "start the program where it was")
        scripts = self.folder / "moved" / "share" / "shardmark" / "scripts"
        (scripts / "measured").mkdir(parents=True)
        shutil.copy(PYTHON, scripts)
        shutil.copy(REPOSITORY / "scripts" / "measured" / "plots.py", scripts / "measured")
        if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
            self.skipTest("the Python of the system has matplotlib")
        python = self.folder / "python" / "python3"
        python.parent.mkdir()
        python.write_text("#!/bin/sh\nexit 1\n")
        python.chmod(0o755)
        outcome = start([str(word) for word in command], {"PATH": f"{python.parent}:/usr/bin:/bin"})
        self.refuses(outcome, "no Python with matplotlib", "python3 -m pip install matplotlib")

    def test_stored_files_of_every_kind_are_printed(self):
        for file in sorted(PLACEMENTS.parents[1].glob("*/*.json*")):
            first = file.read_text().partition("\n")[0]
            with self.subTest(file=file.name):
                outcome = self.serial("results", "show", file)
                if '"record":"environment"' in first and re.search(r'"record":"(case|exchange)"', file.read_text()):
                    self.assertTrue(self.succeeds(outcome).last_line().startswith("RESULT: VALID"), outcome.out)
                elif '"benchmarks"' in file.read_text():
                    self.assertRegex(self.succeeds(outcome).out, r"\n# benchmark +(case +)?variant +time us +GB/s +gather_%")
                else:  # of the peers, of what others published, of tests
                    self.assertEqual(outcome.code, 2, outcome.out)
                    self.assertNotIn("remove", outcome.err)
                self.assertLessEqual(max(map(len, outcome.out.splitlines() or [""])), 400)  # a command is one word


if __name__ == "__main__":
    main()
