#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the program writes: links, pipes and devices stay, whole files appear, and what cannot be written is said."""
import os
import stat
import subprocess
import threading

import numpy
from program import REPOSITORY, SHARDMARK, SMALL, ProgramTest, main, options

PLAN = ("plan", "create", "criteo-kaggle", "--plan", "table_wise", "--ranks", 2)
GENERATE = ("data", "generate", "criteo", "--samples", 10)
DEEP = 200_000


class Outputs(ProgramTest):
    def pipe(self):
        path = self.new_path()
        os.mkfifo(path)
        return path

    def read_from(self, pipe, *arguments):
        """What the program writes into the pipe."""
        held = []
        reader = threading.Thread(target=lambda: held.append(pipe.read_bytes()), daemon=True)
        reader.start()
        self.succeeds(self.serial(*arguments))
        reader.join(10)
        self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode), f"{pipe} is no pipe any more")
        return held[0]

    def test_pipes_are_written_to(self):
        for command in PLAN, GENERATE:
            file, pipe = self.new_path(), self.pipe()
            self.succeeds(self.serial(*command, "--out", file))
            self.assertEqual(self.read_from(pipe, *command, "--out", pipe), file.read_bytes())

    def test_devices_stay(self):
        device = self.new_path()
        try:
            os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError:
            self.skipTest("only root can make a device")
        for command in PLAN, GENERATE, ("run", "criteo-kaggle", *options({**SMALL, "out": self.new_path()}), "--traffic"):
            flag = () if command[0] == "run" else ("--out",)
            self.succeeds(self.serial(*command, *flag, device))
            self.assertTrue(stat.S_ISCHR(device.stat().st_mode), command)

    def test_links_are_followed(self):
        tsv = self.new_path(".tsv")
        self.succeeds(self.serial(*GENERATE, "--out", tsv))
        for command, flag in ((PLAN, "--out"), (GENERATE, "--out"), (("data", "convert", tsv), "--out"),
                              (("run", "criteo-kaggle", *options({**SMALL, "out": self.new_path()})), "--export"),
                              (("calibrate", "--quick"), "--out")):
            file, link = self.new_file("old", ".h5"), self.new_path(".h5")
            link.symlink_to(file.name)
            self.succeeds(self.serial(*command, flag, link, "--force"))
            self.assertTrue(link.is_symlink(), command)
            self.assertNotEqual(file.read_bytes(), b"old")

    def test_what_exists_is_replaced_only_by_force(self):
        """Of every command that writes a file; what is refused is so before anything takes time."""
        tsv, plan, table = self.new_path(".tsv"), self.new_path(".json"), self.new_path(".npy")
        self.succeeds(self.serial(*GENERATE, "--out", tsv))
        self.succeeds(self.serial(*PLAN, "--out", plan))
        numpy.save(table, numpy.ones((8, 4), numpy.float32))
        case = ("run", "criteo-kaggle", *options(SMALL))
        measured = REPOSITORY / "results" / "measured" / "amd-epyc-2" / "placements.jsonl"
        commands = [((*PLAN, "--out"), ".json"), (("plan", "convert", "criteo-kaggle", plan, "--out"), ".json"),
                    ((*GENERATE, "--out"), ".tsv"), (("data", "convert", tsv, "--out"), ".h5"),
                    (("data", "tensor-train", table, "--out"), ".h5"), (("workload", "new"), ".json"),
                    (("machine", "describe", "--cores", 8, "--out"), ".json"),
                    (("predict", "criteo-kaggle", "--register"), ".json"),
                    (("exchange", "--bytes", 64, "--exchange", "linear", "--seconds", 0.001, "--out"), ".jsonl"),
                    ((*case, "--out"), ".jsonl"), ((*case, "--out", "/dev/null", "--export"), ".h5"),
                    ((*case, "--out", "/dev/null", "--traffic"), ".txt"), (("calibrate", "--quick", "--out"), ".json"),
                    (("results", "plot", measured, "--out"), ".svg")]
        for command, ending in commands:
            with self.subTest(command=command):
                file = self.new_file("old", ending)
                self.refuses(self.serial(*command, file), f"{file}: exists already; name another file, or --force to replace it")
                self.assertEqual(file.read_text(), "old")
                self.assertEqual([path for path in self.folder.glob(file.name + "*") if path != file], [])
                if command[0] not in ("calibrate", "results"):  # which take long, or a Python that others need not have
                    self.succeeds(self.serial(*command, file, "--force"))
                    self.assertNotEqual(file.read_bytes(), b"old")
        traffic = self.new_path(".txt")
        phase = self.new_file("old", ".txt.update")
        phase.rename(f"{traffic}.update")
        self.refuses(self.serial(*case, "--out", "/dev/null", "--traffic", traffic), f"{traffic}.update: exists already")

    def test_hdf5_needs_a_file(self):
        tsv, pipe = self.new_path(".tsv"), self.pipe()
        self.succeeds(self.serial(*GENERATE, "--out", tsv))
        self.refuses_serial(("data", "convert", tsv, pipe), str(pipe), "regular file")

    def test_a_full_standard_output_is_said(self):
        case = ("run", "criteo-kaggle", *options({**SMALL, "out": self.new_path()}))
        for command in ("--help",), ("list",), PLAN, case:
            with open("/dev/full", "wb") as full:
                done = subprocess.run([SHARDMARK, *map(str, command)], stdout=full, stderr=subprocess.PIPE, text=True,
                                      check=False, cwd=self.folder)
            complaints = [line for line in done.stderr.splitlines() if "cannot write" in line]
            self.assertEqual((done.returncode, len(complaints)), (4, 1), done.stderr)

    def on_a_small_disk(self, make_arguments):
        """What the program says of make_arguments(folder), that folder having 64 KB."""
        disk = self.new_path()
        disk.mkdir()
        shell = 'mount -t tmpfs -o size=64k none "$0" || exit 77; exec "$@"'
        for unshare in ("unshare", "-m"), ("unshare", "-rm"):
            done = subprocess.run([*unshare, "sh", "-c", shell, disk, SHARDMARK, *make_arguments(disk)],
                                  capture_output=True, text=True, check=False, cwd=self.folder)
            if done.returncode not in (1, 77):
                return done
        return self.skipTest("no file system can be mounted here")

    def test_an_export_on_a_full_disk_is_said(self):
        done = self.on_a_small_disk(lambda disk: (
            "run", "criteo-kaggle", *options({**SMALL, "export": disk / "a.h5", "out": self.new_path()})))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"a\.h5: /.*cannot .*\(No space left on device\)\n")

    def test_results_that_do_not_fit_are_printed_all_the_same(self):
        done = self.on_a_small_disk(lambda disk: (
            "run", "criteo-kaggle", *options({**SMALL, "steps": 6000, "out": disk / "a.jsonl"})))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("a.jsonl.partial: cannot write this file: No space left on device\n", done.stderr)
        self.assertRegex(done.stdout.splitlines()[-1], "^RESULT: VALID(, DISTURBED)?$")

    def test_two_ranks_do_not_write_one_file(self):
        file = self.new_path()
        for command in PLAN, GENERATE:
            outcome = self.launch(2, *command, "--out", file)
            self.refuses(outcome, "each of the 2 ranks", "without mpiexec")
            self.assertFalse(file.exists())
            self.succeeds(self.launch(1, *command, "--out", file))
            file.unlink()

    def test_both_data_commands_take_both_shapes(self):
        first, second = self.new_path(".tsv"), self.new_path(".tsv")
        self.succeeds(self.serial(*GENERATE, first))
        self.succeeds(self.serial(*GENERATE, "--out", second))
        self.assertEqual(first.read_bytes(), second.read_bytes())
        files = [self.new_path(".h5") for _ in range(4)]
        for arguments in ((first, files[0]), (first, "--out", files[1]), ("criteo", first, files[2]),
                          ("criteo", first, "--out", files[3], "--id-rule", "frequency")):
            self.succeeds(self.serial("data", "convert", *arguments))
        inspected = [self.succeeds(self.serial("data", "inspect", file)).out.partition(": ")[2] for file in files]
        self.assertEqual(inspected[:3], [inspected[0]] * 3)
        self.assertIn('"frequency"', inspected[3])
        self.refuses_serial(("data", "convert", first), "OUT")
        self.refuses_serial(("data", "generate", "criteo", "--samples", 10), "--out")

    def test_deep_json_is_refused(self):
        text = "[" * DEEP + "]" * DEEP
        deep, inside = self.new_file(text), self.new_file(f'{{"format": {text}}}')
        for file in deep, inside:
            self.refuses_serial(("run", file, "--dry-run"), str(file), ": JSON nested deeper than 32 levels")
            self.refuses(self.serial("results", "show", file), "nested deeper")
            for command in "show", "convert":
                self.refuses_serial(("plan", command, "criteo-kaggle", inside), "nested deeper")
            self.assertIn("nested deeper", self.serial("plan", "check", "criteo-kaggle", file).err)
            self.refuses(self.serial("run", "criteo-kaggle", *options({**SMALL, "machine": file})), "nested deeper")

    def test_a_scale_beyond_all_numbers_is_refused_or_leaves_a_row(self):
        outcome = self.succeeds(self.serial("plan", "show", "criteo-kaggle", "table_wise", "--ranks", 2, "--scale",
                                            "1/9223372036854775807"))
        self.assertRegex(outcome.out, r"(?m)^C1 +1 ")
        spec = self.serial("run", "criteo-kaggle", "--scale", "1/64", "--dry-run").out
        self.refuses_serial(("plan", "show", self.new_file(spec), "table_wise", "--ranks", 2, "--scale",
                             "1/9223372036854775807"), "scale")


if __name__ == "__main__":
    main()
