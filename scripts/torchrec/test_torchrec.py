#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans go to TorchRec and come back as they were. SHARDMARK is the program; --plans N: so many are drawn (20); with a
Python that has torchrec in --python, or else that of scripts/peers/fbgemm, its own classes are used."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE))
from shardmark_torchrec import PlanError, bandwidths_of, read_printed, read_report, spec_of  # noqa: E402

SHARDMARK = os.environ.get("SHARDMARK", str(ROOT / "build/release/bin/shardmark"))
OPTIONS = SimpleNamespace(plans=20, python=str(ROOT / ".deps/peers-fbgemm/bin/python"))
PLANNERS = ("data_parallel", "table_wise", "row_wise_block", "column_wise", "torchrec", "memory_balanced", "basic", "hugectr_auto")
PRINTED = """2026-11-26 INFO module: sparse.ebc

param | sharding type | compute kernel | ranks
----- | ------------- | -------------- | ------
a     | column_wise   | fused          | [0, 2]
b     | data_parallel | dense          | None

param | shard offsets | shard sizes | placement
----- | ------------- | ----------- | -------------
a     | [0, 0]        | [10, 4]     | rank:0/cuda:0
a     | [0, 4]        | [10, 4]     | rank:2/cuda:2
2026-11-26 INFO training begins
"""
# Reads a file with a plan a line, and writes what torchrec's own classes make of each: as JSON, and printed.
WORKER = """
import json, sys
sys.path.append(sys.argv[1])
from shardmark_torchrec import constraints_of, dump_plan, load_plan, topology_of
for line in open(sys.argv[2]):
    plan = json.loads(line)
    loaded = load_plan(plan, module_path="embedding_bag_collection")
    assert set(constraints_of(plan)) == set(plan["plan"]["embedding_bag_collection"])
    topology_of(sys.argv[3], 16)
    print(json.dumps({"dumped": dump_plan(loaded, plan["world_size"]), "printed": str(loaded)}))
"""
# Plans drawn tables on 4 ranks by TorchRec's own planner, and writes the box that it logs, the plan and the tables.
PLANNER = """
import io, json, logging, random, sys
import torch, torchrec
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner, ParameterConstraints, Topology
draw = random.Random(int(sys.argv[1]))
configs = [torchrec.EmbeddingBagConfig(name=f"t{t}", embedding_dim=64, num_embeddings=draw.randrange(10, 10**5),
                                       feature_names=[f"f{t}"], pooling=torchrec.PoolingType.SUM) for t in range(6)]
collection = torchrec.EmbeddingBagCollection(device=torch.device("meta"), tables=configs)
kinds = ["table_wise", "column_wise", "row_wise", "table_row_wise", "table_wise", "column_wise"]
log = io.StringIO()
logger = logging.getLogger("torchrec.distributed.planner.stats")
logger.addHandler(logging.StreamHandler(log)); logger.setLevel(logging.INFO)
planner = EmbeddingShardingPlanner(topology=Topology(world_size=4, local_world_size=2, compute_device="cuda"), batch_size=128, debug=True,
    constraints={c.name: ParameterConstraints(sharding_types=[kind], min_partition=16, pooling_factors=[3.0]) for c, kind in zip(configs, kinds)})
plan = planner.plan(torch.nn.ModuleDict({"ebc": collection}), [EmbeddingBagCollectionSharder()])
print(json.dumps({"log": log.getvalue(), "plan": plan._serialize()["plan"], "rows": {c.name: c.num_embeddings for c in configs}}))
"""


def has_torchrec():
    python = Path(OPTIONS.python)
    return python.exists() and subprocess.run([python, "-c", "import torchrec"], capture_output=True, check=False).returncode == 0


def shardmark(*arguments):
    return subprocess.run([SHARDMARK, *map(str, arguments)], capture_output=True, text=True, check=False)


class Printed(unittest.TestCase):
    def test_a_printed_plan_is_read_from_a_log(self):
        plan = read_printed(PRINTED)
        self.assertEqual(plan["world_size"], 3)
        self.assertEqual(plan["plan"]["sparse.ebc"]["b"], {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": None})
        self.assertEqual(plan["plan"]["sparse.ebc"]["a"]["shards"][1],
                         {"shard_offsets": [0, 4], "shard_sizes": [10, 4], "placement": "rank:2/cuda:2"})
        self.assertEqual(read_printed(PRINTED, 8)["world_size"], 8)

    def test_a_text_without_a_plan_is_refused(self):
        with self.assertRaisesRegex(PlanError, "module: "):
            read_printed("2026-11-26 INFO training begins\n")

    def test_the_script_writes_a_file_and_names_what_is_wrong(self):
        with tempfile.TemporaryDirectory() as name:
            log, out = Path(name) / "train.log", Path(name) / "theirs.json"
            log.write_text(PRINTED)
            subprocess.run([HERE / "plan", log, "--ranks", "4", "--out", out], check=True)
            self.assertEqual(json.loads(out.read_text())["world_size"], 4)
            for arguments, text in ([log, "--ranks", "2"], "rank 2 has shards"), ([Path(name) / "none"], "No such file"):
                done = subprocess.run([HERE / "plan", *arguments], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
                self.assertIn(text, done.stderr)


class Specs(unittest.TestCase):
    def test_configs_become_a_spec_that_is_understood(self):
        def config(name, rows, features, pooling="SUM", value_type="FP32"):
            return SimpleNamespace(name=name, num_embeddings=rows, embedding_dim=16, feature_names=features,
                                   pooling=SimpleNamespace(name=pooling), data_type=SimpleNamespace(name=value_type))

        spec = spec_of([config("a", 100, ["x", "y"], "MEAN"), config("b", 50, ["x"], value_type="FP16")], 64, hotness={"y": 3})
        self.assertEqual([feature["name"] for feature in spec["features"]], ["x@a", "y", "x@b"])
        self.assertEqual([feature["hotness"] for feature in spec["features"]], [1, 3, 1])
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "spec.json"
            file.write_text(json.dumps(spec))
            done = shardmark("run", file, "--dry-run")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["tables"][1]["value_type"], "fp16")
        with self.assertRaisesRegex(PlanError, "table a: .*INT4"):
            spec_of([config("a", 100, ["x"], value_type="INT4")], 64)


class Topologies(unittest.TestCase):
    def test_bandwidths_are_those_of_the_machine_file(self):
        rates = bandwidths_of(ROOT / "comm/placement/machines/dgx-a100.json")
        self.assertAlmostEqual(rates["hbm_mem_bw"], 1019.5e9 / 1e3, delta=1e3)
        self.assertAlmostEqual(rates["intra_host_bw"], 225e9 / 1e3, delta=1e6)  # 75 % of NVLink 3's 300 GB/s
        self.assertAlmostEqual(rates["inter_host_bw"], 20e9 / 1e3, delta=1e5)  # 80 % of 25 GB/s


class Report(unittest.TestCase):
    def test_the_box_of_the_planner_is_a_spec_and_a_plan(self):
        if not has_torchrec():
            self.skipTest(f"{OPTIONS.python} has no torchrec; scripts/peers/fbgemm installs it")
        done = subprocess.run([OPTIONS.python, "-c", PLANNER, "7"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        answer = json.loads(done.stdout.splitlines()[-1])
        spec, plan = read_report(answer["log"])
        self.assertEqual((spec["global_batch"], plan["world_size"]), (512, 4))
        self.assertEqual({table["name"]: table["rows"] for table in spec["tables"]}, answer["rows"])
        self.assertEqual({feature["hotness"] for feature in spec["features"]}, {3})
        (expected,), (read,) = answer["plan"].values(), plan["plan"].values()
        for table, placed in expected.items():
            self.assertEqual((read[table]["sharding_type"], read[table]["ranks"]), (placed["sharding_type"], sorted(placed["ranks"])), table)
            self.assertEqual(sorted(shard["shard_sizes"] for shard in read[table]["shards"]),
                             sorted(shard["shard_sizes"] for shard in placed["shards"]), table)
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "log").write_text(answer["log"])
            subprocess.run([HERE / "plan", Path(name) / "log", "--spec", Path(name) / "my.json", "--out", Path(name) / "theirs.json"], check=True)
            shown = shardmark("plan", "check", Path(name) / "my.json", Path(name) / "theirs.json", "--ranks", "4")
            self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)


class RoundTrip(unittest.TestCase):
    """Plans of planners for drawn tables, of tables whole, on all ranks, by columns and by rows."""

    def drawn(self, draw, folder):
        tables = [{"name": f"t{t}", "rows": draw.choice([1, 7, 100, 5000, 10**6]) + draw.randrange(50), "dim": 4 * draw.randrange(1, 33)}
                  for t in range(draw.randrange(1, 9))]
        spec = folder / "spec.json"
        spec.write_text(json.dumps({"name": "drawn", "global_batch": 512, "optimizer": {"name": "sgd"}, "tables": tables,
                                    "features": [{"name": f"f{t['name']}", "table": t["name"]} for t in tables]}))
        ours = folder / "ours.json"
        ours.unlink(missing_ok=True)
        made = shardmark("plan", "create", spec, "--plan", draw.choice(PLANNERS), "--ranks", draw.choice([1, 2, 3, 4, 8, 16]), "--out", ours)
        theirs = shardmark("plan", "convert", spec, ours, "--to", "torchrec-plan") if made.returncode == 0 else made
        if theirs.returncode:
            return None  # the planner cannot place these tables, or TorchRec has no such sharding: it says so, with a table
        return spec.read_text(), ours.read_text(), json.loads(theirs.stdout)

    def test_drawn_plans_are_the_same_afterwards(self):
        if not has_torchrec():
            self.skipTest(f"{OPTIONS.python} has no torchrec; scripts/peers/fbgemm installs it")
        seed = int(os.environ.get("SEED", random.SystemRandom().randrange(10**6)))
        draw, plans, refused = random.Random(seed), [], 0
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            while len(plans) < OPTIONS.plans:
                plan = self.drawn(draw, folder)
                refused += plan is None
                self.assertLess(refused, 20 + 2 * len(plans), "hardly any plan can be converted")
                plans += [plan] if plan else []
            lines = folder / "plans.jsonl"
            lines.write_text("".join(json.dumps(theirs) + "\n" for _, _, theirs in plans))
            done = subprocess.run([OPTIONS.python, "-c", WORKER, HERE, lines, ROOT / "comm/placement/machines/dgx-a100.json"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            self.assertEqual(len(answers), len(plans))
            different = 0
            spec, back, ours_file = folder / "spec.json", folder / "back.json", folder / "ours.json"
            for (spec_text, ours, theirs), answer in zip(plans, answers):
                self.assertEqual(read_printed(answer["printed"], theirs["world_size"]), answer["dumped"], f"seed {seed}")
                self.assertEqual(answer["dumped"], theirs, f"seed {seed}")
                spec.write_text(spec_text)
                back.write_text(json.dumps(answer["dumped"]))
                ours_file.write_text(ours)
                returned, before = (json.loads(shardmark("plan", "convert", spec, file).stdout) for file in (back, ours_file))
                for each in (returned, before):
                    each.pop("name", None)
                different += returned != before
        types = sorted({placed["sharding_type"] for _, _, theirs in plans for placed in theirs["plan"]["embedding_bag_collection"].values()})
        print(f"{len(plans)} plans with {', '.join(types)}: {different} differ afterwards (seed {seed}, {refused} others refused)")
        self.assertEqual(different, 0, f"seed {seed}")
        if len(plans) >= 20:
            self.assertGreater(len(types), 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=OPTIONS.plans)
    parser.add_argument("--python", default=OPTIONS.python)
    known, rest = parser.parse_known_args()
    OPTIONS.__dict__.update(vars(known))
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
