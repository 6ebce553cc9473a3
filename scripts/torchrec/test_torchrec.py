#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans go to TorchRec and come back as they were. SHARDMARK is the program; --plans N: so many are drawn (20); with a
Python that has torchrec in --python, or else that of scripts/peers/fbgemm, its own classes are used."""
import argparse
import json
import os
import random
import re
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
from shardmark_torchrec import PlanError, read_printed, read_report, spec_of  # noqa: E402
from steps import PYTHON, has_torchrec  # noqa: E402

SHARDMARK = os.environ.get("SHARDMARK", str(ROOT / "build/release/bin/shardmark"))
OPTIONS = SimpleNamespace(plans=20, python=PYTHON)
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
# Reads a file with a plan and the ranks of a node a line, and writes what torchrec's own classes make of each: as JSON, and
# printed; first what its Topology is of the arguments in another file.
WORKER = """
import json, sys
sys.path.append(sys.argv[1])
from shardmark_torchrec import constraints_of, dump_plan, load_plan
from torchrec.distributed.planner import Topology
topology = Topology(**json.load(open(sys.argv[3])))
print(json.dumps({name: getattr(topology, name) for name in ("world_size", "local_world_size", "hbm_mem_bw", "intra_host_bw", "inter_host_bw")}
                 | {"hbm_cap": topology.devices[0].storage.hbm}))
for line in open(sys.argv[2]):
    plan, per_node = json.loads(line)
    loaded = load_plan(plan, module_path="embedding_bag_collection", ranks_per_node=per_node)
    assert set(constraints_of(plan)) == set(plan["plan"]["embedding_bag_collection"])
    # As tzrec/utils/checkpoint_util.py of TorchEasyRec writes the file `plan` of a checkpoint.
    checkpoint = {path: {table: {"sharding_type": each.sharding_type, "compute_kernel": each.compute_kernel, "ranks": each.ranks}
                         for table, each in module.items()} for path, module in loaded.plan.items()}
    print(json.dumps({"dumped": dump_plan(loaded, plan["world_size"]), "printed": str(loaded), "checkpoint": checkpoint}))
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


def shardmark(*arguments):
    return subprocess.run([SHARDMARK, *map(str, arguments)], capture_output=True, text=True, check=False)


def without_empty(plan):
    """Without shards of no rows, which TorchRec wants on every rank of a node."""
    plan = json.loads(json.dumps(plan))
    for module in plan["plan"].values():
        for placed in module.values():
            if "shards" in placed:
                placed["shards"] = [shard for shard in placed["shards"] if shard["shard_sizes"][0]]
                placed["ranks"] = [shard["placement"] for shard in placed["shards"]]
    return plan


def equal_columns(plan):
    """Whether blocks of columns of each table have one width, as those of TorchRec's planner; others a checkpoint does not tell."""
    return all(len({shard["shard_sizes"][1] for shard in placed.get("shards", [])}) <= 1 for module in plan["plan"].values()
               for placed in module.values())


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
            for arguments, text in (([log, "--ranks", "2"], "rank 2 has shards"), ([Path(name) / "none"], "No such file"),
                                    ([log, "--ranks", "4", "--out", out], f"{out}: exists already")):
                done = subprocess.run([HERE / "plan", *arguments], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
                self.assertIn(text, done.stderr)
            subprocess.run([HERE / "plan", log, "--ranks", "8", "--out", out, "--force"], check=True)
            self.assertEqual(json.loads(out.read_text())["world_size"], 8)


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
        topology = json.loads(shardmark("machine", "convert", "dgx-a100", "--to", "torchrec", "--ranks", 16, "--device", "cuda").stdout)
        self.assertEqual((topology["world_size"], topology["local_world_size"], topology["compute_device"]), (16, 8, "cuda"))
        self.assertAlmostEqual(topology["hbm_mem_bw"], 1019.5e9 / 1e3, delta=1e3)
        self.assertAlmostEqual(topology["intra_host_bw"], 225e9 / 1e3, delta=1e6)  # 75 % of NVLink 3's 300 GB/s
        self.assertAlmostEqual(topology["inter_host_bw"], 20e9 / 1e3, delta=1e5)  # 80 % of 25 GB/s
        self.assertNotIn("ddr_mem_bw", topology)
        on_hosts = json.loads(shardmark("machine", "convert", "cpu-100g", "--to", "torchrec", "--ranks", 1).stdout)
        self.assertIn("ddr_mem_bw", on_hosts)

    def test_ranks_that_are_no_whole_nodes_are_refused(self):
        done = shardmark("machine", "convert", "dgx-a100", "--to", "torchrec", "--ranks", 12)
        self.assertEqual((done.returncode, "12 ranks are no whole nodes of 8" in done.stderr), (2, True), done.stderr)


class Report(unittest.TestCase):
    def test_the_box_of_the_planner_is_a_spec_and_a_plan(self):
        if not has_torchrec(OPTIONS.python):
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
            self.estimate_is_that_of_the_box(Path(name), answer)

    def estimate_is_that_of_the_box(self, folder, answer):
        """scripts/torchrec/estimate, on the planner's plan and topology, beside a case of it in a file of results."""
        plan, topology, results, out = (folder / name for name in ("theirs.json", "topology.json", "results.jsonl", "out.json"))
        plan.write_text(json.dumps({"world_size": 4, "plan": answer["plan"]}))
        topology.write_text(json.dumps({"world_size": 4, "local_world_size": 2, "compute_device": "cuda"}))
        step = {"median": 0.1, "low": 0.09, "high": 0.2, "n": 9}
        results.write_text("".join(json.dumps(line) + "\n" for line in (
            {"record": "environment", "time": "T", "machine": {"cpu": "C"}, "build": {"git_hash": "H"}, "arguments": ["/x/shardmark", "compare"]},
            *({"record": "case", "plan": "theirs", "options": {"exchange": "auto", "batch": 512}, "wrong": 0, "checked_steps": 1,
               "step_ms": {**step, "median": median}, "predicted_ms": 0.05} for median in (0.2, 0.1)))))
        done = subprocess.run([HERE / "estimate", folder / "my.json", plan, "--topology", topology, "--results", results, "--out", out,
                               "--program", SHARDMARK, "--python", OPTIONS.python], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        (line,) = json.loads(out.read_text())["plans"]
        boxed = float(re.search(r"Maximum of Total Perf: ([\d.]+) ms", answer["log"])[1])
        self.assertAlmostEqual(line["torchrec"]["ms"], boxed, delta=6e-4)
        self.assertAlmostEqual(sum(line["torchrec"][part] for part in ("fwd_compute", "fwd_comms", "bwd_compute", "bwd_comms")),
                               line["torchrec"]["ms"])
        self.assertIn("-50 %  0.1000 [0.09000, 0.2000]", done.stdout)


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
        ranks = draw.choice([1, 2, 3, 4, 8, 16])
        per_node = draw.choice([ranks, ranks // 2]) if ranks % 2 == 0 else ranks
        made = shardmark("plan", "create", spec, "--plan", draw.choice(PLANNERS), "--ranks", ranks, "--ranks-per-node", per_node, "--out", ours)
        theirs = shardmark("plan", "convert", spec, ours, "--to", "torchrec-plan") if made.returncode == 0 else made
        if theirs.returncode:
            return None  # the planner cannot place these tables, or TorchRec has no such sharding: it says so, with a table
        return spec.read_text(), ours.read_text(), json.loads(theirs.stdout), per_node

    def test_drawn_plans_are_the_same_afterwards(self):
        if not has_torchrec(OPTIONS.python):
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
            lines.write_text("".join(json.dumps([theirs, per_node]) + "\n" for _, _, theirs, per_node in plans))
            machine = folder / "topology.json"
            shardmark("machine", "convert", "dgx-a100", "--to", "torchrec", "--ranks", 16, "--device", "cuda", "--out", machine)
            done = subprocess.run([OPTIONS.python, "-c", WORKER, HERE, lines, machine], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            topology, *answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            self.assertLessEqual(topology.items(), json.loads(machine.read_text()).items())
            self.assertEqual(len(answers), len(plans))
            different = 0
            spec, back, ours_file, checkpoint = (folder / name for name in ("spec.json", "back.json", "ours.json", "plan"))
            read_from_checkpoints = 0
            for (spec_text, ours, theirs, _), answer in zip(plans, answers):
                self.assertEqual(read_printed(answer["printed"], theirs["world_size"]), answer["dumped"], f"seed {seed}")
                self.assertEqual(without_empty(answer["dumped"]), without_empty(theirs), f"seed {seed}")
                spec.write_text(spec_text)
                back.write_text(json.dumps(answer["dumped"]))
                ours_file.write_text(ours)
                returned, before = (json.loads(shardmark("plan", "convert", spec, file).stdout) for file in (back, ours_file))
                for each in (returned, before):
                    each.pop("name", None)
                different += returned != before
                if equal_columns(theirs):
                    checkpoint.write_text(json.dumps(answer["checkpoint"]))
                    done = shardmark("plan", "convert", spec, checkpoint)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(json.loads(done.stdout)["tables"], before["tables"], f"seed {seed}")
                    read_from_checkpoints += 1
        types = sorted({placed["sharding_type"] for _, _, theirs, _ in plans for placed in theirs["plan"]["embedding_bag_collection"].values()})
        print(f"{len(plans)} plans with {', '.join(types)}: {different} differ afterwards (seed {seed}, {refused} others refused)")
        self.assertEqual(different, 0, f"seed {seed}")
        self.assertGreater(read_from_checkpoints, len(plans) // 3)
        if len(plans) >= 20:
            self.assertGreater(len(types), 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=OPTIONS.plans)
    parser.add_argument("--python", default=OPTIONS.python)
    known, rest = parser.parse_known_args()
    OPTIONS.__dict__.update(vars(known))
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
