#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that save their tables, go on elsewhere, are killed, or are given what is no checkpoint of theirs.

SHARDMARK_CRASH_POINTS=1:201 kills a run at each of so many writes, syncs and renames, instead of at a few."""
import concurrent.futures
import os
import shutil
import signal
import subprocess

import h5py
import numpy
from program import SHARDMARK, SMALL, ProgramTest, main, options, records

COME_AND_GO = {"exact": "true", "scale": None}
EXACT = {"exact": "true", "optimizer": "sgd", "scale": "1/16384"}  # the bits are the same on any ranks and plan
# Rows that come and go, of keys that are rows, or that nobody knows, beside some of which there are all.
COMING = {"name": "coming", "global_batch": 300, "optimizer": {"name": "sgd", "learning_rate": 0.125}, "ids": {"drift_share": 0.1, "drift_every": 2},
          "tables": [{"name": "all", "rows": 700, "dim": 8},
                     {"name": "idle", "rows": 9000, "dim": 8, "storage": "dynamic", "dynamic": {"admit": "counter:2", "evict": "idle:2"}},
                     {"name": "least", "rows": -1, "keys": 6000, "dim": 4, "storage": "dynamic", "dynamic": {"admit": "bloom:2:0.1", "evict": "lru", "capacity": 30000}}],
          "features": [{"name": name, "table": name, "pooling": "sum", "hotness": 3} for name in ("all", "idle", "least")]}


def crash_points():
    first, _, end = os.environ.get("SHARDMARK_CRASH_POINTS", "").partition(":")
    return range(int(first), int(end)) if end else (2, 23, 61)


class SavedRuns(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.saved = cls.folder / "saved"
        cls.outcome, cls.file = cls.case(2, plan="row_wise", train=4, save=cls.saved, save_every=2, disk_ceiling="true", **EXACT)

    def step(self, number):
        return self.saved / f"step-{number:08}"

    def copy(self):
        """The checkpoint of step 2, to be spoiled."""
        return shutil.copytree(self.step(2), self.new_path())

    def succeeds_with(self, outcome_and_file):
        self.assertEqual(self.succeeds(outcome_and_file[0]).last_line(), "RESULT: VALID")
        return outcome_and_file[1]

    def checkpoint(self, command, *folders, code=0):
        outcome = self.serial("checkpoint", command, *folders)
        self.assertEqual(outcome.code, code, outcome.out + outcome.err)
        return outcome

    def test_the_record_says_what_saves_took(self):
        self.assertEqual(self.succeeds(self.outcome).last_line(), "RESULT: VALID")
        case = records(self.file)[1]
        saved = case["saved"]
        self.assertEqual(saved["times"], 2)
        self.assertGreater(saved["bytes"], 0)
        self.assertGreater(saved["seconds"], 0)
        self.assertTrue(0 < saved["sent_bytes"] < saved["bytes"], saved)
        self.assertEqual((saved["end_wait_seconds"], saved["steps_behind"], saved["step_ms_behind"]), (0, 0, 0), saved)
        self.assertGreater(saved["step_ms_between"], 0)
        self.assertGreater(saved["ceiling_gb_per_s"], 0)
        self.assertEqual(sorted(path.name for path in self.saved.iterdir()), ["step-00000002", "step-00000004"])
        self.assertAlmostEqual(saved["waited_seconds"], saved["seconds"], delta=0.002 + 0.1 * saved["seconds"])
        self.assertNotIn("loss", case)  # nothing has layers
        for number in (2, 4):
            self.assertIn(f"checkpoint: {self.step(number)} (", self.outcome.err)

    def test_any_program_can_read_the_arrays(self):
        with h5py.File(self.step(4) / "index.h5") as index:
            arrays = [name for name in index["tables"]]
            self.assertEqual(len(arrays), 26)
            seen = {name: numpy.zeros(index[f"tables/{name}/values"].shape[0], bool) for name in arrays}
            for path in sorted(self.step(4).glob("part-*.h5")):
                with h5py.File(path) as part:
                    for name, group in part["tables"].items():
                        rows = slice(group.attrs["first"], group.attrs["first"] + len(group["values"]))
                        self.assertTrue(numpy.array_equal(index[f"tables/{name}/values"][rows], group["values"]), name)
                        seen[name][rows] = True
            self.assertTrue(all(each.all() for each in seen.values()))
        shown = self.checkpoint("show", self.saved)
        self.assertIn("step 4 of criteo-kaggle, 960 samples; saved by 2 ranks under plan row_wise", shown.out)
        self.assertIn("are what was written", self.checkpoint("verify", self.saved).out)

    def test_a_run_goes_on_on_other_ranks_under_another_plan(self):
        again, threads = self.new_path(), self.new_path()
        given = {**EXACT, "restore": self.step(2), "train": 4, "optimizer": "sgd"}
        outcome, file = self.case(3, plan="column_wise", save=again, disk_ceiling="true", **given)
        self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID")
        restored = records(file)[1]["restored"]
        self.assertEqual(restored["times"], 1)
        self.assertGreater(restored["ceiling_gb_per_s"], 0)
        self.assertTrue(0 <= restored["cached_share"] <= 1, restored)
        self.assertIn("the same, bit for bit", self.checkpoint("diff", self.saved, again).out)
        outcome = self.checkpoint("diff", self.step(2), self.step(4), code=1)
        self.assertIn("rows differ, the first of them row", outcome.out)
        prefetched, _ = self.case(1, plan="table_wise", save=threads, save_every=1, save_mode="behind", **{"async": "ids"}, **given)
        self.succeeds(prefetched)
        self.checkpoint("diff", self.saved, threads)
        more, _ = self.case(1, plan="table_wise", save=again, restore=again, train=5, **EXACT)  # in the same folder
        self.succeeds(more)
        self.assertEqual(sorted(path.name for path in again.iterdir()), ["step-00000004", "step-00000005"])

    def crash(self, point):
        """Kills a run, and returns what it left, gone on from to step 4; nothing where it had saved nothing."""
        folder = self.new_path()
        given = {**COME_AND_GO, "workload": self.coming, "plan": "row_wise", "train": 14, "save": folder, "save_every": 1,
                 "save_kind": ("full", "changes")[point % 2], "save_mode": ("stop", "behind")[point // 2 % 2]}
        outcome, _ = self.case(2, set=f"fault=crash@{point}", **given)
        if outcome.code == 0:
            raise AssertionError(f"crash@{point}: the run ended")
        if not any(folder.glob("*/manifest.json")):
            return None
        self.checkpoint("verify", folder)
        self.succeeds(self.case(1, **{**given, "restore": folder, "save_kind": "full"})[0])
        return folder

    def test_a_run_that_is_killed_goes_on_from_its_last_checkpoint(self):
        whole = self.new_path()
        self.coming = self.new_file(COMING)
        self.succeeds(self.case(1, plan="table_wise", workload=self.coming, train=14, save=whole, **COME_AND_GO)[0])
        with h5py.File(whole / "step-00000014" / "index.h5") as index:
            for name in ("idle", "least"):
                keys, use = index[f"tables/{name}/key"][:, 0], index[f"tables/{name}/use"][:]
                self.assertGreater(len(keys), 100, name)
                self.assertTrue((keys[1:] > keys[:-1]).all() and (use[:, 0] <= 14).all() and (use > 0).all(), name)
                self.assertEqual(len(index[f"tables/{name}/values"]), len(keys))
            self.assertTrue(set(index["tables/idle/counted/key"][:, 0]).isdisjoint(index["tables/idle/key"][:, 0]))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            left = list(pool.map(self.crash, crash_points()))
        self.assertTrue(any(left))
        for folder in filter(None, left):
            self.checkpoint("diff", whole, folder)

    def test_a_save_behind_the_steps_is_whole_or_not_there(self):
        folder, rest = self.new_path(), self.new_path()
        given = {**EXACT, "plan": "row_wise", "save_mode": "behind", "save_every": 1}
        killed, _ = self.case(2, save=folder, train=9, set="fault=crash@40", **given)
        self.assertNotEqual(killed.code, 0)
        self.checkpoint("verify", folder)
        file = self.succeeds_with(self.case(2, save=rest, restore=folder, train=9, **given))
        saved = records(file)[1]["saved"]
        self.assertTrue(0 < saved["longest_wait_seconds"] <= saved["waited_seconds"] < saved["seconds"], saved)
        self.assertGreater(saved["end_wait_seconds"], 0)
        rate = 1e-9 * saved["bytes"] / (saved["waited_seconds"] + saved["end_wait_seconds"])
        self.assertAlmostEqual(saved["gb_per_s"], rate, delta=0.001 + 0.1 * rate)  # of seconds in 3 digits
        self.assertGreater(saved["steps_behind"] * saved["step_ms_behind"], 0)
        self.assertNotIn("ceiling_gb_per_s", saved)
        whole = self.new_path()
        self.succeeds(self.case(1, plan="table_wise", train=9, save=whole, **EXACT)[0])
        self.checkpoint("diff", whole, rest)
        self.refuses_case("--save-mode behind: table C1 has storage tt, whose rows are not kept for a save; use --save-mode stop",
                          ranks=(1,), save=self.new_path(), save_mode="behind", storage="tt", **EXACT)

    def test_a_run_that_is_told_to_end_saves_first(self):
        folder = self.new_path()
        given = {**SMALL, **EXACT, "train": 10**6, "save": folder, "save_every": 100, "save_mode": "behind", "out": self.new_path(".jsonl")}
        with subprocess.Popen([SHARDMARK, "run", "criteo-kaggle", *options(given)], stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True, cwd=self.folder) as run:
            for line in run.stderr:
                if line.startswith("checkpoint:"):
                    run.send_signal(signal.SIGTERM)
                    break
            rest = run.communicate(timeout=30)[1]
        self.assertEqual(run.returncode, 128 + signal.SIGTERM, rest)
        self.checkpoint("verify", folder)
        self.assertGreaterEqual(len(list(folder.iterdir())), 2)

    def test_what_is_no_checkpoint_of_the_run_is_refused(self):
        self.refuses_case("is of another model: table C1: dim 16 there and 8 here", ranks=(1, 2), restore=self.saved,
                          train=9, dim=8, **EXACT)
        self.refuses_case("table C1: optimizer name sgd there and adagrad here", ranks=(1,), restore=self.saved,
                          **{**EXACT, "optimizer": "adagrad"})
        self.refuses_case("4 steps have been taken there, and --train 4 asks for no more", ranks=(1,), train=4,
                          restore=self.saved, **EXACT)
        self.refuses_case("holds a checkpoint of step 4 already", ranks=(2,), save=self.saved, **EXACT)
        self.refuses_case("/proc/none", ranks=(1,), save="/proc/none", **EXACT)
        self.refuses_case("no folder; name one that --save wrote", ranks=(1,), restore="nowhere", **EXACT)
        self.refuses_case("--save-every 3: nothing is saved; use --save FOLDER", ranks=(1,), save_every=3)
        self.refuses_case("nothing is saved", ranks=(1,), set="fault=crash@3")
        self.refuses_case("--disk-ceiling true: nothing is saved or restored", ranks=(1,), disk_ceiling="true")
        self.refuses_case("overlap law there and 0.5 here", ranks=(1,), restore=self.saved, overlap=0.5, **EXACT)
        self.refuses_case("storage dense there and dynamic here", ranks=(1,), restore=self.saved, storage="dynamic", train=9, **EXACT)
        self.refuses_case("--save-kind changes: nothing is saved", ranks=(1,), save_kind="changes")
        outcome, _ = self.case(1, command="compare", plan="table_wise,row_wise", save=self.new_path(), **EXACT)
        self.refuses(outcome, "has room for one case, and there are")

    def test_damage_is_named_and_nothing_of_it_is_used(self):
        flipped, cut, foreign, missing = (self.copy() for _ in range(4))
        with h5py.File(flipped / "part-00001.h5") as part:
            name = max(part["tables"], key=lambda each: len(part["tables"][each]["values"]))
            at = part["tables"][name]["values"].id.get_offset()
        with open(flipped / "part-00001.h5", "r+b") as file:
            file.seek(at + 5)
            byte = file.read(1)
            file.seek(at + 5)
            file.write(bytes([byte[0] ^ 1]))
        os.truncate(cut / "part-00000.h5", 1000)
        shutil.copy(self.step(4) / "part-00000.h5", foreign / "part-00000.h5")
        (missing / "part-00001.h5").unlink()
        for folder, text in ((flipped, f"part-00001.h5: /tables/{name}: rows "), (cut, "part-00000.h5: this part has 1000 bytes"),
                             (foreign, "part-00000.h5: this part "), (missing, "part-00001.h5: this part is missing")):
            with self.subTest(text=text):
                found = self.checkpoint("verify", folder, code=2)
                self.assertIn(text, found.out)
                outcome, _ = self.case(2, restore=folder, train=4, **EXACT)
                self.refuses(outcome, text)


if __name__ == "__main__":
    main()
