#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`calibrate`: what it prints and writes, on one rank and on several; predictions by its file; bad input."""
import json
import re

from program import SMALL, ProgramTest, main, options

QUICK = ["--quick", "--threads", "1"]
CEILINGS = [("triad", None), ("copy", None), *(("gather", dim) for dim in (16, 64, 128)),
            *(("read_modify_write", dim) for dim in (16, 64, 128))]


def small(machine):
    return options({**SMALL, "machine": machine})


class Calibrate(ProgramTest):
    def test_file_holds_every_ceiling_and_the_machine_on_1_and_2_ranks(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                file = self.new_path(".json")
                outcome = self.succeeds(self.launch(ranks, "calibrate", *QUICK, "--out", file))
                machine = json.loads(file.read_text())
                self.assertEqual(machine["format"], "shardmark-machine/3")
                self.assertEqual([(each["name"], each.get("dim")) for each in machine["ceilings"]], CEILINGS)
                for each in machine["ceilings"]:
                    rate = each["bytes_per_second"]
                    self.assertTrue(0 < rate["min"] <= rate["max"], each)
                    self.assertEqual("setting" in each, "dim" in each)
                self.assertEqual([rank["rank"] for rank in machine["environment"]["ranks"]], list(range(ranks)))
                self.assertLessEqual({"machine", "build", "libraries"}, machine["environment"].keys())
                self.assertEqual((machine["table_bytes"], machine["array_bytes"]), (1 << 22, 1 << 20))
                self.assertTrue(machine["measured"])
                self.assertRegex(machine["fingerprint"], "^[0-9a-f]{16}$")
                self.assertIn(f"{ranks} ranks per node, one node; 1 threads", machine["words"])
                for name, seconds in machine["seconds"].items():
                    self.assertTrue(0 <= seconds < 1, name)
                self.assertEqual("mpi_alltoallv" in machine.get("exchanges", {}), ranks > 1)
                self.assertEqual("auto" in machine, ranks > 1)
                # On 2 ranks a round is a message, so that calls and rounds are in no entry.
                self.assertEqual(machine["calibration"].get("latency", {}).get("inside", {}).keys(),
                                 {"ranks", "message", "mean_error"} if ranks > 1 else {}.keys())
                for exchange in [*machine.get("exchanges", {}).values(), machine["all_reduce"]]:
                    self.assertFalse({"call", "inside_round", "between_round"} & exchange.keys())
                cases = machine["calibration"]["cases"]
                self.assertGreater(len(cases), 40)
                for case in cases:
                    self.assertAlmostEqual(case["measured_ms"], sum(p["measured_ms"] for p in case["phases"].values()),
                                           delta=case["measured_ms"])
                printed = re.findall(r"(?m)^(\w+) +(\d+|-) +[\d.]+ +[\d.]+", outcome.out)
                self.assertEqual([(name, None if dim == "-" else int(dim)) for name, dim in printed], CEILINGS)
                self.assertEqual([path.name for path in self.folder.glob("*.tmp")], [])

    def test_cases_are_predicted_by_its_file_and_by_one_of_other_ranks_with_a_warning(self):
        file = self.new_path(".json")
        self.succeeds(self.launch(1, "calibrate", *QUICK, "--out", file))
        for ranks, warned in ((1, False), (2, True)):
            with self.subTest(ranks=ranks):
                out = self.new_path(".jsonl")
                outcome = self.launch(ranks, "compare", "criteo-kaggle", *small(file), "--out", out,
                                      "--exchange", "mpi_alltoallv", "--plan", "table_wise,row_wise")
                self.assertEqual(outcome.code, 0, outcome.err)
                self.assertEqual("not on these ranks" in outcome.err, warned, outcome.err)
                header, *records = map(json.loads, out.read_text().splitlines())
                self.assertEqual("warning" in header["predicted_by"], warned)
                for record in records:
                    self.assertGreater(record["predicted_ms"], 0)
                    self.assertGreater(record["predicted_memory_max"], 0)
                    self.assertGreater(record["phases"]["lookup"]["predicted_ms"], 0)

    def test_damaged_files_and_none_are_refused_by_name(self):
        file = self.new_path(".json")
        for text in ("", "{}", '{"format": "shardmark-machine/2"}'):
            file.write_text(text)
            self.refuses(self.serial("run", "criteo-kaggle", *small(file)), file.name)
        self.refuses(self.serial("run", "criteo-kaggle", *small("nowhere.json")), "nowhere.json")

    def test_what_can_be_refused_is_refused_before_a_minute_of_calibration(self):
        for refused, *texts in (({"plan": "nosuch"}, "nosuch"), ({"plan": "table_wise", "transfer": "nosuch"}, "nosuch"),
                                ({"plan": "table_wise", "out": "nowhere/there/r.jsonl/x"}, "nowhere"),
                                ({"plan": "table_wise", "data": "nowhere.tsv"}, "nowhere.tsv"),
                                ({"plan": "table_wise,row_wise", "scale": "1", "dim": 16384}, "plan ", "--scale 1/", "which fits")):
            with self.subTest(**refused):
                self.new_file("", ".jsonl")
                (self.folder / "nowhere").unlink(missing_ok=True)
                (self.folder / "nowhere").write_text("")  # no folder
                given = {**SMALL, "machine": "auto", "out": self.new_path(".jsonl"), **refused}
                outcome = self.launch(2, "compare", "criteo-kaggle", *options(given))
                self.refuses(outcome, *texts)
                self.assertNotIn("calibrating", outcome.err)
                self.assertFalse((self.folder / "results" / "local" / "machines").exists())

    def test_nothing_is_predicted_without_a_machine(self):
        for machine in ("off", "known"):
            out = self.new_path(".jsonl")
            self.succeeds(self.serial("run", "criteo-kaggle", *small(machine), "--out", out))
            header, record = map(json.loads, out.read_text().splitlines())
            self.assertNotIn("predicted_by", header)
            self.assertIsNone(record["predicted_ms"])

    def test_prints_only_without_a_file(self):
        before = sorted(self.folder.rglob("*"))
        topology = json.loads(self.succeeds(self.serial("calibrate", *QUICK, "--format", "torchrec")).out)
        self.assertEqual((topology["world_size"], topology["local_world_size"], topology["compute_device"]), (1, 1, "cpu"))
        self.assertGreater(topology["ddr_mem_bw"], 1e4)  # bytes per ms
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_refuses_bad_input(self):
        self.refuses(self.launch(2, "calibrate", "--table", "100000G"), "--table", "need")
        self.refuses(self.launch(2, "calibrate", *QUICK, "--out", "nowhere/machine.json"), "nowhere/machine.json")
        self.refuses(self.serial("calibrate", "--table", "1K"), "--table must be at least 1M")
        self.refuses(self.serial("calibrate", "--rows", "0"), "--rows")
        self.refuses(self.serial("calibrate", "--format", "yaml"), "yaml", "torchrec")


if __name__ == "__main__":
    main()
