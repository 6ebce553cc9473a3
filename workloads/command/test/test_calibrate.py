#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`calibrate`: what it prints and writes, on one rank and on several; bad input."""
import json
import re

from program import ProgramTest, main

SMALL = ["--table", "1M", "--array", "64K", "--rows", "256", "--rounds", "2", "--threads", "1"]
CEILINGS = [("triad", None), ("copy", None), *(("gather", dim) for dim in (16, 64, 128)),
            *(("read_modify_write", dim) for dim in (16, 64, 128))]


class Calibrate(ProgramTest):
    def test_file_holds_every_ceiling_and_the_machine_on_1_and_2_ranks(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                file = self.new_path(".json")
                outcome = self.succeeds(self.launch(ranks, "calibrate", *SMALL, "--out", file))
                machine = json.loads(file.read_text())
                self.assertEqual(machine["format"], "shardmark-machine/1")
                self.assertEqual([(each["name"], each.get("dim")) for each in machine["ceilings"]], CEILINGS)
                for each in machine["ceilings"]:
                    rate = each["bytes_per_second"]
                    self.assertTrue(0 < rate["min"] <= rate["max"], each)
                    self.assertEqual("setting" in each, "dim" in each)
                self.assertEqual([rank["rank"] for rank in machine["environment"]["ranks"]], list(range(ranks)))
                self.assertLessEqual({"machine", "build", "libraries"}, machine["environment"].keys())
                self.assertEqual((machine["table_bytes"], machine["array_bytes"]), (1 << 20, 1 << 16))
                printed = re.findall(r"(?m)^(\w+) +(\d+|-) +[\d.]+ +[\d.]+", outcome.out)
                self.assertEqual([(name, None if dim == "-" else int(dim)) for name, dim in printed], CEILINGS)
                self.assertEqual([path.name for path in self.folder.glob("*.tmp")], [])

    def test_prints_only_without_a_file(self):
        before = sorted(self.folder.rglob("*"))
        self.assertIn("triad", self.succeeds(self.serial("calibrate", *SMALL)).out)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_refuses_bad_input(self):
        self.refuses(self.launch(2, "calibrate", "--table", "100000G"), "--table", "need")
        self.refuses(self.launch(2, "calibrate", *SMALL, "--out", "nowhere/machine.json"), "nowhere/machine.json")
        self.refuses(self.serial("calibrate", "--table", "1K"), "--table must be at least 1M")
        self.refuses(self.serial("calibrate", "--rows", "0"), "--rows")


if __name__ == "__main__":
    main()
