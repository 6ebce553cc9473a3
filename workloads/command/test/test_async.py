#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prefetched steps as a user meets them: usage, table and record, faults and stops."""
import os
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path

import h5py

from program import MPIEXEC, SHARDMARK, SMALL, ProgramTest, main, records

AHEAD = ("ids", "rows", "patched")


class Async(ProgramTest):
    def test_what_would_stop_every_batch_is_a_usage_error_that_names_the_rule(self):
        self.refuses_case("--async-threads 0: ", "time to prepare a batch / time of a step", ranks=[1],
                          **{"async": "rows", "async_threads": 0})
        self.refuses_case("--async-capacity 0: ", "no prepared batch can wait",
                          **{"async": "rows", "async_capacity": 0})
        self.refuses_case("--staleness-bound -1: ", ranks=[1], **{"async": "rows", "staleness_bound": -1})
        self.refuses_case("--async nosuch: ", "off, ids, rows, patched", ranks=[1], **{"async": "nosuch"})

    def test_what_stale_rows_cost_in_loss_and_auc_stands_beside_the_speed(self):
        outcome, file = self.case(2, "criteo-kaggle", "compare", plan="table_wise", batch=48, steps=4, dense="dlrm",
                                  exchange="mpi_alltoallv", async_pool="shared", train=20,
                                  staleness_bound="0,2,8", **{"async": "off,rows,patched"})
        self.succeeds(outcome)
        self.assertRegex(outcome.out, r"(?m)^# async +order +S +stale +loss +- off +auc +- off +ms +off/ms$")
        self.assertRegex(outcome.out, r"(?m)^# rows +input +0 .* same .* same ")
        self.assertRegex(outcome.out, r"(?m)^# patched +input +8 .* same .* same ")
        cases = [record for record in records(file) if record["record"] == "case"]
        self.assertEqual(len(cases), 1 + 2 * 3)
        off = next(case for case in cases if case["options"]["async"] == "off")
        for case in cases:
            self.assertEqual(case["trained_steps"], 20)
            if case["options"]["async"] != "rows" or case["options"]["staleness_bound"] == 0:
                self.assertEqual((case["loss"], case["auc"]), (off["loss"], off["auc"]))

    def test_data_that_end_inside_the_lookahead_begin_again(self):
        tsv, h5 = str(self.folder / "short.tsv"), str(self.folder / "short.h5")
        self.succeeds(self.serial("data", "generate", "criteo", "--out", tsv, "--samples", "28"))
        self.succeeds(self.serial("data", "convert", tsv, h5, "--scale", SMALL["scale"]))
        for data, reading, order, check in ((tsv, "before", "completion", 3), (h5, "steps", "input", 1)):
            with self.subTest(data=data, reading=reading, order=order):
                outcome, file = self.case(2, command="compare", plan="table_wise", data=data, batch=12, steps=6,
                                          check=check, dense="dlrm", reading=reading, exchange="mpi_alltoallv",
                                          async_pool="shared", async_threads=3, async_order=order, train=4,
                                          **{"async": "off,ids,rows,patched"})
                self.assertEqual(self.succeeds(outcome).last_line(), "RESULT: VALID", outcome.out)
                self.assertEqual(outcome.err.count("used again from the start"), 1, outcome.err)
                cases = {case["options"]["async"]: case for case in records(file)[1:]}
                self.assertEqual(len(cases), 4)
                self.assertEqual("read_ms" in cases["off"], reading == "steps")
                for mode in AHEAD:
                    self.assertEqual("read_ms" in cases[mode]["pipeline"], reading == "steps")
                if order == "input":
                    self.assertEqual([cases[mode]["loss"] for mode in ("ids", "patched")], 2 * [cases["off"]["loss"]])
                self.assertEqual("ms to read a batch" in outcome.out, reading == "steps")

    def test_data_that_are_damaged_behind_the_first_batches_end_the_run(self):
        tsv, file = str(self.folder / "long.tsv"), self.folder / "damaged.h5"
        self.succeeds(self.serial("data", "generate", "criteo", "--out", tsv, "--samples", "30000"))
        self.succeeds(self.serial("data", "convert", tsv, str(file), "--scale", SMALL["scale"]))
        with h5py.File(file) as data:
            place = data["dense"].id.get_chunk_info(1).byte_offset + 400
        content = bytearray(file.read_bytes())
        content[place] ^= 1
        file.write_bytes(bytes(content))
        runs = [{"ranks": 2, "plan": "row_wise", "data": file, "batch": 1024, "steps": 120, "check": 1, "batches": 2,
                 "dense": "dlrm", "train": 0, "reading": "steps", "async_pool": "shared", "async_threads": threads, "async": mode}
                for mode, threads in zip(AHEAD, (1, 3, 3))]
        for run, (outcome, _) in zip(runs, self.cases(runs)):
            with self.subTest(**{key: run[key] for key in ("async", "async_threads")}):
                self.refuses(outcome, str(file), "/dense", "checksum")

    def test_caches_of_tensor_trains_are_warm_and_counted(self):
        table = {"rows": 10000, "dim": 16, "storage": "tt"}
        train = {"cores": 3, "ranks": [8, 8], "cache": {"rows": 1000, "populate_every": 10, "writes": "trained"}}
        spec = self.new_file({"name": "cached", "global_batch": 512, "optimizer": {"name": "sgd", "learning_rate": 0.001},
                              "tables": [{"name": "a", **table, "tensor_train": train}], "features": [{"name": "f", "table": "a"}]})
        outcome, file = self.case(1, spec, scale="1", batch=512, plan="table_wise", steps=6, async_pool="shared", **{"async": "ids"})
        self.succeeds(outcome)
        self.assertGreater(records(file)[1]["tensor_train"]["cache"]["hit_rate"], 0.1)

    def test_reading_takes_data(self):
        self.refuses_case("reading steps: the ids come from no file", "--data FILE", ranks=[1], reading="steps")

    def test_training_takes_layers(self):
        self.refuses_case("train 20: no layers are trained", ranks=[1], train=20)

    def test_one_thread_has_one_order(self):
        self.refuses_case("--async-order completion: one thread ", "--async-threads 2 or more", ranks=[1],
                          async_order="completion", **{"async": "rows"})
        self.refuses_case("--async-order nosuch: ", "input, completion", ranks=[1], async_order="nosuch",
                          **{"async": "rows"})

    def test_batches_are_taken_in_both_orders(self):
        outcome, file = self.case(3, "deeprec-dlrm", "compare", plan="row_wise", steps=12, check=5,
                                  exchange="mpi_alltoallv", async_pool="shared", async_threads="1,3",
                                  async_order="input,completion", **{"async": "off,ids,rows,patched"})
        self.succeeds(outcome)
        self.assertEqual(outcome.last_line(), "RESULT: VALID", outcome.out)
        self.assertRegex(outcome.out, r"(?m)^# steps whose batch was not the oldest .*\d%")
        cases = [record for record in records(file) if record["record"] == "case"]
        self.assertEqual(len(cases), 1 + 3 * 3)
        for case in cases:
            by_completion = case["options"]["async_order"] == "completion"
            self.assertEqual("steps_overtaking" in case.get("pipeline", {}), by_completion)
            if case["options"]["async"] != "off":
                stale = case["pipeline"]["staleness"]["max"]
                self.assertLessEqual(stale, case["pipeline"].get("staleness_bound", 0))

    def test_what_nothing_reads_is_a_usage_error(self):
        self.refuses_case("--async-threads 2: nothing is prefetched", ranks=[1], async_threads=2)
        self.refuses_case("--staleness-bound 1: no rows are prefetched", ranks=[1],
                          **{"async": "ids", "staleness_bound": 1})

    def test_pools_that_cannot_be_are_refused(self):
        self.refuses_case("--async-pool nosuch: ", "auto, inline, shared, dedicated", ranks=[1], async_pool="nosuch",
                          **{"async": "rows"})
        self.refuses_case("--async-pool shared:2: ", "dedicated alone", ranks=[1], async_pool="shared:2",
                          **{"async": "rows"})
        self.refuses_case("--async-pool dedicated:64: a rank has ", ranks=[1, 3], async_pool="dedicated:64",
                          **{"async": "rows"})
        self.refuses_case("--async-threads 2: a step prepares its batch itself", ranks=[1], async_pool="inline",
                          async_threads=2, **{"async": "rows"})

    def test_steps_prepare_their_batches_where_threads_would_gain_nothing(self):
        for pool in ("auto", "inline"):
            outcome, file = self.case(4, "deeprec-dlrm", "compare", plan="table_wise", steps=4, async_pool=pool,
                                      exchange="mpi_alltoallv", async_capacity="1,2" if pool == "auto" else None,
                                      **{"async": "off,ids,rows,patched"})
            self.succeeds(outcome)
            self.assertIn("inline", outcome.out)
            ahead = [record["pipeline"] for record in records(file) if "pipeline" in record]
            self.assertEqual(len(ahead), 3)
            for pipeline in ahead:
                self.assertEqual((pipeline["pool"], pipeline["threads"], pipeline["staleness"]["max"]), ("inline", 0, 0))
                self.assertAlmostEqual(pipeline["formula_ms"], pipeline["prepare_ms"] + pipeline["main_ms"], places=4)
            self.assertEqual(outcome.err.count("--async-pool auto is inline"), 1 if pool == "auto" else 0)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "no core can be dedicated")
    def test_dedicated_cores_are_those_of_the_stages(self):
        cores = sorted(os.sched_getaffinity(0))
        outcome, file = self.case(1, plan="table_wise", async_pool="dedicated:1", threads=None, **{"async": "rows"})
        self.succeeds(outcome)
        environment, case = records(file)
        self.assertEqual(case["threads"], len(cores) - 1)
        self.assertEqual(case["pipeline"]["cpus"], [str(cores[-1])])
        self.assertIn(f"rows dedicated:1 (cpus {cores[-1]})", outcome.out)

    def test_what_cannot_be_prepared_ahead_is_refused(self):
        self.refuses_case("plan row_wise: --async patched", "dense_partials", ranks=[3], plan="row_wise",
                          transfer="unique_rows", **{"async": "patched"})
        self.refuses_case("feature", "pools by max", ranks=[1], plan="table_wise", pooling="max", **{"async": "rows"})
        self.refuses_case("feature", "pools by max", "dense_partials", ranks=[3], plan="row_wise", pooling="max",
                          **{"async": "patched"})
        self.refuses_case("table", "storage tt", ranks=[1], plan="table_wise", storage="tt", **{"async": "rows"})

    def test_all_modes_in_one_comparison(self):
        outcome, file = self.case(3, "deeprec-dlrm", "compare", plan="table_wise,row_wise", steps=12,
                                  check=5, exchange="mpi_alltoallv", async_pool="shared",
                                  **{"async": "off,ids,rows,patched"})
        self.succeeds(outcome)
        self.assertEqual(outcome.last_line(), "RESULT: VALID", outcome.out)
        modes = re.search(r"(?m)^# prefetching \(--async\) +(.*)$", outcome.out)[1].split()
        self.assertEqual(sorted(modes), sorted(("off", *AHEAD)))
        self.assertRegex(outcome.out, r"(?m)^# ms of communication with nothing beside it( +[\d.]+){4}$")
        cases = [record for record in records(file) if record["record"] == "case"]
        self.assertEqual(len(cases), 8)
        for case in cases:
            self.assertEqual(case["wrong"], 0)
            self.check_record(case)

    def check_record(self, case):
        mode = case["options"]["async"]
        self.assertEqual("pipeline" in case, mode != "off")
        if mode == "off":
            return
        pipeline = case["pipeline"]
        stale = pipeline["staleness"]
        self.assertEqual("staleness_bound" in pipeline, mode != "ids")
        self.assertLessEqual(stale["max"], pipeline.get("staleness_bound", 0))
        self.assertLessEqual(stale["p50"], stale["p99"])
        self.assertGreaterEqual(sum(stale["counts"]), 12)
        self.assertEqual("vectors_again" in pipeline, mode == "patched")
        self.assertGreater(pipeline["buffered_bytes_max"], 0)
        slower = max(pipeline["prepare_ms"] / pipeline["threads"], pipeline["main_ms"])
        self.assertAlmostEqual(pipeline["formula_ms"], slower, places=4)

    def test_threads_and_capacity_are_chosen_by_the_formula(self):
        outcome, file = self.case(2, "deeprec-dlrm", plan="row_wise", async_threads="auto", steps=6,
                                  async_pool="shared", **{"async": "rows"})
        self.succeeds(outcome)
        pipeline = records(file)[-1]["pipeline"]
        self.assertIn(pipeline["threads"], range(1, 5))
        self.assertEqual(pipeline["capacity"], pipeline["threads"])
        self.assertEqual(pipeline["staleness_bound"], pipeline["capacity"] + 1)

    def test_cases_that_differ_in_what_they_do_not_read_are_one(self):
        outcome, file = self.case(1, "deeprec-dlrm", "compare", plan="table_wise", exchange="mpi_alltoallv",
                                  async_threads="1,2", async_pool="shared", **{"async": "off,ids"})
        self.succeeds(outcome)
        self.assertEqual(len(records(file)) - 1, 3)

    def test_wrong_values_are_found(self):
        for mode, pool in zip(AHEAD, ("shared", "inline", "shared")):
            outcome, _ = self.case(2, plan="row_wise", set="fault=exchange", async_pool=pool, **{"async": mode})
            self.assertEqual(outcome.code, 1, outcome.out + outcome.err)
            self.assertIn("RESULT: INVALID", outcome.last_line())

    def test_a_slow_rank_is_waited_for(self):
        outcome, file = self.case(3, plan="row_wise", steps=6, set="fault=slow", async_threads=2,
                                  async_pool="shared", **{"async": "rows"})
        self.succeeds(outcome)
        self.assertEqual(records(file)[-1]["wrong"], 0)

    def test_an_error_in_a_thread_ends_the_run(self):
        for ranks, mode, pool in ((1, "ids", "shared"), (3, "rows", "inline"), (3, "patched", "shared")):
            with self.subTest(ranks=ranks, mode=mode, pool=pool):
                outcome, _ = self.case(ranks, plan="row_wise", set="fault=fail", async_pool=pool, **{"async": mode})
                self.assertEqual(outcome.code, 4, outcome.out + outcome.err)
                self.assertEqual(len(outcome.complaints()), 1, outcome.err)
                self.assertIn("an error on purpose", outcome.complaints()[0])

    def test_a_rank_that_stops_is_told_by_the_watchdog(self):
        outcome, _ = self.case(2, plan="row_wise", set="fault=stop", watchdog=3, async_pool="shared", **{"async": "rows"})
        self.assertEqual(outcome.code, 124, outcome.out + outcome.err)

    def test_a_warned_run_ends_with_its_table(self):
        file = self.new_path(".jsonl")
        process = subprocess.Popen(
            [*MPIEXEC, "2", SHARDMARK, "compare", "deeprec-dlrm", "--plan", "table_wise", "--async", "rows,patched", "--async-pool", "shared",
             "--scale", "1/4096", "--batch", "240", "--threads", "1", "--steps", "900", "--check", "1", "--machine", "off", "--out",
             str(file)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            start_new_session=True)
        try:
            partial = Path(f"{file}.partial")
            deadline = time.monotonic() + 50
            while not (partial.exists() and len(records(partial)) > 1):
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), deadline, "no round was finished")
                time.sleep(0.05)
            process.send_signal(signal.SIGUSR1)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + signal.SIGUSR1, out + err)
            self.assertRegex(out, r"(?m)^# prefetching .*\bpatched\b")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


if __name__ == "__main__":
    main()
