#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/measure with programs that write files instead of measuring."""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS))
from measured import files, samples  # noqa: E402
from measured.campaigns import CAMPAIGNS, campaign_of  # noqa: E402

PROGRAM = f"""#!{sys.executable}
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(SCRIPTS)!r})
from pathlib import Path
from measured import samples
if "hugectr-dlrm" in sys.argv and "REFUSED" in os.environ:
    sys.exit(1)
if "--version" in sys.argv:
    sys.exit(print("shardmark 0.1.0 0123456789ab"))
if "terms" in sys.argv:
    sys.exit(print("  update.row  a row\\n  route.step  a step\\n  lookup.key  a key\\nParts:\\n  keys  all of them\\n    route.step\\n    lookup.key\\n  trees  sums\\n  calls  latency"))
if "mlperf-training" in sys.argv or "--format" in sys.argv:
    dropped = sys.argv[-1] if "--without" in sys.argv else ""
    step = {{"update.row": 3.0, "trees": 2.004}}.get(dropped, 2.0)
    if "--format" in sys.argv:
        given = dict(zip(sys.argv, sys.argv[1:]))
        words = {{after for before, after in zip(sys.argv, sys.argv[1:]) if before == "--set"}}
        if not Path(given["--machine"]).exists() or given["--plan"] != "row_wise" or words != {{
                "scale=4", "batch=512", "exchange=pairwise", "exact=false"}}:
            sys.exit(1)
    sys.exit(print('{{"cases": [{{"plan": "row_wise", "step_ms": %f}}]}}' % step if "--format" in sys.argv else
                   "  all   32   32   %.1f   0.9" % (20 + 0.4 * ("trees" == dropped))))
if "predict" in sys.argv:
    sys.exit(print(samples.PUBLISHED))
machine = next((word for word in sys.argv if word.endswith("machine.json") and "calibrate" not in sys.argv), None)
if machine and not Path(machine).exists():
    sys.exit(1)
if "restore3" in sys.argv[-1]:  # its file
    sys.exit(1)
if "--save" in sys.argv:
    Path(sys.argv[sys.argv.index("--save") + 1]).mkdir()
out = Path(sys.argv[sys.argv.index("--out") + 1])
times = Path(__file__).with_name("times")  # of the steps of calibrations, one after the other
ms = [float(word) for word in times.read_text().split()] if times.exists() else [1.0]
if "calibrate" in sys.argv and len(ms) > 1:
    times.write_text(" ".join(map(str, ms[1:])))
samples.write(out, {{"name": "here", "calibration": {{"cases": [{{"name": "a", "measured_ms": ms[0]}}]}}, "environment": samples.environment()}} if "calibrate" in sys.argv else
              [samples.environment(arguments=sys.argv), samples.case("row_wise", 2, 1, 3)])
"""


def load_measure():
    loader = importlib.machinery.SourceFileLoader("measure", str(SCRIPTS / "measure"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("measure", loader))
    loader.exec_module(module)
    return module


class Measure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardmark-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "shardmark").write_text(PROGRAM)
        (self.folder / "shardmark").chmod(0o755)
        for place in ("box", "raw"):
            (self.folder / place).mkdir()

    def measure(self, *arguments, code):
        """By a launcher that starts the program once."""
        done = subprocess.run([SCRIPTS / "measure", "--build", self.folder, "--raw", self.folder / "raw", "--out", self.folder,
                               "--machine", "box", *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "REFUSED": "hugectr-dlrm"})
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def test_a_file_holds_the_command_as_one_would_type_it(self):
        self.measure("placements", "--launcher", "env A=1", "--note", "one host", code=0)
        environment = json.loads((self.folder / "box" / "placements.jsonl").read_text().splitlines()[0])
        self.assertEqual(environment["campaign"], {"name": "placements", "note": "one host",
                                                   "command": "mpiexec -n 2 shardmark compare criteo-kaggle --budget 150s"})
        self.assertEqual(environment["arguments"], ["shardmark", "compare", "criteo-kaggle", "--budget", "150s"])

    def test_one_that_fails_leaves_the_others_and_what_was_stored(self):
        samples.write(self.folder / "box" / "hugectr.jsonl", ["old"])
        said = self.measure("hugectr", "placements", "--launcher", "env", code=1)
        self.assertIn("hugectr: nothing stored", said)
        self.assertIn("measured 1 of 2; without: hugectr", said)
        self.assertEqual((self.folder / "box" / "hugectr.jsonl").read_text(), '"old"\n')
        self.assertTrue((self.folder / "box" / "placements.jsonl").exists())

    def test_quick_options_take_the_place_of_the_campaigns_own(self):
        self.measure("links-dedup", "--quick", "--launcher", "env", "--note", "n", code=0)
        words = json.loads((self.folder / "box" / "links-dedup.jsonl").read_text().splitlines()[0])["arguments"]
        self.assertEqual([words.count(option) for option in ("--budget", "--scale", "--check", "--batch")], [1, 1, 1, 1])
        self.assertEqual(words[words.index("--scale") + 1], "1/1024")

    def test_the_machine_is_calibrated_before_its_parts(self):
        (self.folder / "raw" / "links-predictions-machine.json").write_text("of yesterday")
        self.measure("links-predictions", "--quick", "--launcher", "env", "--note", "4 hosts", code=1)  # without hugectr-dlrm
        self.assertNotIn("yesterday", (self.folder / "raw" / "links-predictions-machine.json").read_text())
        first, *records = map(json.loads, (self.folder / "box" / "links-predictions.jsonl").read_text().splitlines())
        command = first["campaign"]["command"].splitlines()
        self.assertEqual(command[0], "mpiexec -n 2 shardmark calibrate --out machine.json")
        self.assertTrue(all("--machine machine.json" in line for line in command[1:]))
        self.assertEqual([record["part"] for record in records], ["criteo-kaggle", "synthetic-tiny", "deeprec-dlrm", "dlrm-dcnv2"])
        machine = json.loads((self.folder / "box" / "links-predictions-machine.json").read_text())  # beside them, without hosts
        self.assertEqual((machine["name"], {rank["host"] for rank in machine["environment"]["ranks"]}), ("here", {"host1"}))
        self.assertNotIn("secret", json.dumps(machine))
        self.assertNotIn("cases", machine["calibration"])

    def test_nothing_is_measured_where_the_machine_that_all_parts_read_is_missing(self):
        said = self.measure("dynamic", "--quick", "--launcher", "false", code=1)
        self.assertEqual(said.count("dynamic: without"), 1, said)
        self.assertIn("calibrate", said)

    def test_a_machine_that_drifts_is_calibrated_before_each_part(self):
        (self.folder / "box" / "predictions-machine.json").write_text("of a campaign that was calibrated once")
        self.measure("predictions", "--quick", "--launcher", "env", code=1)  # without hugectr-dlrm
        first, *records = map(json.loads, (self.folder / "box" / "predictions.jsonl").read_text().splitlines())
        command = first["campaign"]["command"].splitlines()
        self.assertEqual(len(command), 12)
        self.assertTrue(all(line.split()[4] == ("compare" if number % 2 else "calibrate") for number, line in enumerate(command)), command)
        machines = {part: path.name for part, path in files.machines_beside(self.folder / "box" / "predictions.jsonl").items()}
        self.assertEqual(machines, {record["part"]: f"predictions-{record['part']}-machine.json" for record in records})
        self.assertEqual(len(machines), 5)

    def parts_of(self, times):
        """{part: steps_after} of a campaign whose calibrations take these times, and what was said."""
        (self.folder / "times").write_text(times)
        said = self.measure("predictions", "--launcher", "env", code=1)  # without hugectr-dlrm
        machines = files.machines_beside(self.folder / "box" / "predictions.jsonl")
        return {part: json.loads(path.read_text())["calibration"]["steps_after"] for part, path in machines.items()}, said

    def test_a_part_in_which_the_machine_changes_is_measured_again(self):
        after, said = self.parts_of("1 1.5 1.6 1.6 1.5 1.5")  # criteo-kaggle is measured twice
        self.assertEqual((after["criteo-kaggle"], max(after.values()), len(after)), (1.0667, 1.0667, 5))
        self.assertEqual([line.partition("steps ")[2] for line in said.splitlines() if "again" in line],
                         ["take 1.50 times as long after criteo-kaggle as before it: measured again"])
        self.assertFalse(list((self.folder / "raw").glob("*after*")))

    def test_a_part_is_measured_three_times_at_most(self):
        after, said = self.parts_of("1 2 1 2 2")
        self.assertEqual((after["criteo-kaggle"], said.count("measured again")), (2.0, 2))

    def test_checkpoints_lie_beside_the_raw_files_and_go_with_the_campaign(self):
        (self.folder / "raw" / "saved-stop").mkdir()  # of one that was interrupted
        self.measure("dynamic", "--quick", "--launcher", "env", code=1)  # the program fails on 3 ranks
        first, *records = map(json.loads, (self.folder / "box" / "dynamic.jsonl").read_text().splitlines())
        self.assertEqual([record["part"] for record in records], ["steps", "stop", "behind", "changes", "restore2", "disk"])
        self.assertIn("--save saved-behind --save-every 700 --save-mode behind", first["campaign"]["command"])
        self.assertEqual(sorted(path.name for path in (self.folder / "raw").glob("saved-*")), [])

    def test_what_was_published_is_stored_as_records(self):
        self.measure("holdout", code=1)  # without hugectr-dlrm, which the program refuses
        first, *records = map(json.loads, (self.folder / "box" / "holdout.jsonl").read_text().splitlines())
        self.assertEqual(first["build"]["git_hash"], "0123456789ab")
        self.assertEqual((records[0]["workload"], records[0]["published_ms"], records[0]["ranks"]), ("synthetic-tiny", 190.85, 8))

    def test_each_term_is_dropped_in_turn(self):
        case = {**samples.case("row_wise", 2, 1, 3, "pairwise", options={"scale": 4, "batch": 512, "exact": False}), "predicted_ms": 2.0,
                "changed": ["scale", "exact"], "part": "criteo-kaggle"}
        samples.write(self.folder / "box" / "predictions.jsonl", [samples.environment(), case, {**case, "plan": "search"}])
        for machine in ("", "predictions-machine.json", "predictions-criteo-kaggle-machine.json"):
            if machine:
                for old in (self.folder / "box").glob("*-machine.json"):
                    old.unlink()
                (self.folder / "box" / machine).write_text("{}")
            done = subprocess.run([SCRIPTS / "measure", "--ablate", "--build", self.folder, "--out", self.folder, "--machine", "box"],
                                  capture_output=True, text=True, timeout=60, check=False)
            rows = [line.split() for line in done.stdout.splitlines()]
            if machine:  # measured 2 ms
                self.assertEqual(rows[1:], [["with", "all", "20.0", "%", "32.3", "%", "0.0", "%"],
                                            ["update.row", "+0.00", "+0.00", "+50.00"],
                                            ["keys", "+0.00", "+0.00", "+0.00", "not", "worth", "having"],
                                            ["trees", "+0.40", "+0.00", "+0.20", "not", "worth", "having"],
                                            ["calls", "+0.00", "+0.00", "+0.00", "kept:", "small", "exchanges", "of", "many", "ranks:", "no", "case", "here",
                                             "has", "more", "than", "112"]], done.stderr)
            else:
                self.assertEqual(rows[2:], [["update.row", "+0.00", "+0.00"], ["keys", "+0.00", "+0.00"], ["trees", "+0.40", "+0.00"],
                                            ["calls", "+0.00", "+0.00"]])

    def test_bad_input_is_said_in_one_line(self):
        self.assertIn("'nosuch'", self.measure("nosuch", code=2))
        self.assertIn("--launcher", self.measure("links-wires", code=2))

    def test_every_campaign_is_named_once_and_listed(self):
        names = [campaign.name for campaign in CAMPAIGNS]
        self.assertEqual(len(set(names)), len(names))
        listed = subprocess.run([SCRIPTS / "measure", "--list"], capture_output=True, text=True, check=True).stdout
        for name in names:
            self.assertIn(name, listed)
        alone = [campaign.minutes for campaign in CAMPAIGNS if not campaign.links and not campaign.asked]
        self.assertLessEqual(sum(alone), 17)
        self.assertLessEqual(sum(campaign.minutes for campaign in CAMPAIGNS if campaign.group == "tensor-train"), 6)

    def test_what_outlasts_its_time_is_ended_with_all_that_it_started(self):
        started = self.folder / "started"
        code = load_measure().run(campaign_of("placements"), ["sh", "-c", f"sleep 60 & echo $! > '{started}'; wait"], 0.5)
        self.assertEqual(code, 124)
        status = Path(f"/proc/{int(started.read_text())}/stat")
        for _ in range(50):  # until it is gone, or waits for its parent to look
            if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
                return
            time.sleep(0.1)
        self.fail("it still runs")


if __name__ == "__main__":
    unittest.main(verbosity=2)
