#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TorchRec does the steps that shardmark does under the same plans: drawn plans of every kind that TorchRec has, of drawn tables
on 2 to 4 ranks. SHARDMARK is the program; --plans N: so many are drawn (6); --out FILE keeps what was found. Exit code 77 where no
Python has torchrec."""
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
from steps import MOST, PROGRAM, PYTHON, ROOT, Steps, has_torchrec, run, table_of  # noqa: E402

OPTIONS = SimpleNamespace(plans=6, python=PYTHON, out=None)
BY_ROWS = ("row_wise", "table_row_wise")
KINDS = ("table_wise", "row_wise", "column_wise", "table_row_wise", "grid_shard", "data_parallel")


def blocks(total, parts):
    """Rows as TorchRec cuts them: [(begin, end)], none of them empty."""
    block = -(-total // parts)
    return [(begin, min(begin + block, total)) for begin in range(0, total, block)]


def placed(draw, kind, table, ranks, per_node):
    """A table of shardmark's plan file, placed at random as that kind."""
    def shard(rows, columns, rank):
        return {"rows": [*rows, 1], "columns": list(columns), "rank": rank}

    rows, dim, whole = table["rows"], table["dim"], (0, table["rows"])
    nodes = list(range(0, ranks, per_node))
    half = [(0, dim // 8 * 4), (dim // 8 * 4, dim)]
    if kind == "data_parallel":
        return {"name": table["name"], "data_parallel": True}
    if kind == "table_wise":
        shards = [shard(whole, (0, dim), draw.randrange(ranks))]
    elif kind == "row_wise":
        shards = [shard(part, (0, dim), rank) for rank, part in enumerate(blocks(rows, ranks))]
    elif kind == "table_row_wise":
        first = draw.choice(nodes)
        shards = [shard(part, (0, dim), first + k) for k, part in enumerate(blocks(rows, per_node))]
    elif kind == "column_wise":
        shards = [shard(whole, part, rank) for part, rank in zip(half, draw.sample(range(ranks), 2))]
    else:
        held = [draw.choice(nodes) for _ in half]
        shards = [shard(part, columns, first + k) for columns, first in zip(half, held) for k, part in enumerate(blocks(rows, per_node))]
    return {"name": table["name"], "shards": shards}


def drawn(draw, number):
    """(spec, plan, ranks of a node) with one table of the kind whose turn it is, and others."""
    ranks, per_node = (4, 2) if KINDS[number % len(KINDS)] == "table_row_wise" else draw.choice([(2, 2), (3, 3), (4, 2), (4, 4)])
    kinds = [KINDS[number % len(KINDS)], *(draw.choice(KINDS) for _ in range(draw.randrange(1, 4)))]
    if kinds[0] in BY_ROWS and draw.random() < 0.5:
        kinds = [draw.choice(BY_ROWS) for _ in kinds[1:]] + kinds[:1]
    sums = ("grid_shard",) if set(kinds) <= set(BY_ROWS) else ("grid_shard", *BY_ROWS)  # steps.py says what TorchRec does with others
    optimizer = draw.choice(["sgd", "adagrad", "rowwise_adagrad"])
    if optimizer == "rowwise_adagrad" and {"column_wise", "grid_shard"} & set(kinds):
        optimizer = draw.choice(["sgd", "adagrad"])
    tables = [{"name": f"t{t}", "rows": draw.choice([3, 5, 37, 200, 3000]) + draw.randrange(9), "dim": 8 * draw.randrange(1, 5)} for t in range(len(kinds))]
    parts = {"row_wise": ranks, "table_row_wise": per_node, "grid_shard": per_node}
    for kind, table in zip(kinds, tables):
        while len(blocks(table["rows"], parts.get(kind, 1))) < parts.get(kind, 1):  # no empty ones; steps.py says why
            table["rows"] += 1
    features = [{"name": f"f{t}{letter}", "table": table["name"], "hotness": draw.randrange(1, 5), "pooling": pooling}
                for t, table in enumerate(tables)
                for pooling in ["sum" if kinds[t] in sums else draw.choice(["sum", "mean"])] for letter in "ab"[:draw.randrange(1, 3)]]
    spec = {"name": "drawn", "global_batch": ranks * draw.randrange(2, 9), "tables": tables, "features": features,
            "ids": {"ragged": draw.random() < 0.7, "alpha": 1.05}, "optimizer": {"name": optimizer, "learning_rate": 0.05}}
    plan = {"format": "shardmark-plan/1", "name": "drawn", "ranks": ranks,
            "tables": [placed(draw, kind, table, ranks, per_node) for kind, table in zip(kinds, tables)]}
    return spec, plan, per_node


class StepsOfTorchRec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.steps = Steps(PROGRAM, OPTIONS.python, os.environ.get("MPIEXEC", "mpiexec"))

    @classmethod
    def tearDownClass(cls):
        cls.steps.__exit__()
        cls.folder.cleanup()

    def check(self, spec, plan, per_node, changed=None):
        files = [Path(self.folder.name) / name for name in ("spec.json", "plan.json")]
        for file, what in zip(files, (spec, plan)):
            file.write_text(json.dumps(what), encoding="utf-8")
        return self.steps.check(files[0], files[1], per_node=per_node, changed=changed)

    def test_drawn_plans_give_the_same_step(self):
        seed = int(os.environ.get("SEED", random.SystemRandom().randrange(10**6)))
        draw, found = random.Random(seed), []
        for number in range(OPTIONS.plans):
            spec, plan, per_node = drawn(draw, number)
            found.append(self.check(spec, plan, per_node) | {"tables": len(spec["tables"])})
            self.assertTrue({"vectors", "rows"} <= found[-1].keys(), f"seed {seed}, plan {number}: {found[-1]}\n{json.dumps(spec)}\n{json.dumps(plan)}")
            self.assertEqual("states" in found[-1], found[-1]["optimizer"] != "sgd")
        print(f"{table_of(found)}\nseed {seed}", flush=True)
        self.assertLessEqual(set(KINDS[:OPTIONS.plans]), {kind for each in found for kind in each["sharding_types"]})
        if OPTIONS.out:
            OPTIONS.out.write_text(json.dumps(summary(found, seed), indent=1) + "\n", encoding="utf-8")

    SPEC = {"name": "one", "global_batch": 24, "tables": [{"name": "t", "rows": 37, "dim": 8}], "ids": {"alpha": 1.05},
            "features": [{"name": "f", "table": "t", "hotness": 3}], "optimizer": {"name": "sgd", "learning_rate": 0.5}}
    PLAN = {"format": "shardmark-plan/1", "name": "rows", "ranks": 2, "tables": [
        {"name": "t", "shards": [{"rows": [0, 19, 1], "columns": [0, 8], "rank": 0}, {"rows": [19, 37, 1], "columns": [0, 8], "rank": 1}]}]}

    def test_blocks_that_are_not_torchrecs_are_seen(self):
        """Why plans of such blocks are not exported: it looks for row 18 on rank 0, whatever the plan says."""
        def changed(request):
            (plan,) = request["sharding"]["plan"].values()
            for shard, (first, rows) in zip(plan["t"]["shards"], ((0, 18), (18, 19))):
                shard["shard_offsets"][0], shard["shard_sizes"][0] = first, rows
        found = self.check(self.SPEC, self.PLAN, 2, changed)
        self.assertRegex(found.get("error", ""), "pooled embeddings of f differ by .* of the largest: not the same step")

    def test_a_row_that_is_not_ours_is_seen(self):
        def changed(request):
            request["learning_rate"] *= 1.001
        found = self.check(self.SPEC, self.PLAN, 2, changed)
        self.assertRegex(found.get("error", ""), "rows of t differ by .* of the largest: not the same step")

    def test_a_state_that_is_not_ours_is_seen(self):
        def changed(request):
            code = ("import numpy, sys; step = dict(numpy.load(sys.argv[1])); step['state_after/t'] *= numpy.float32(1.0001); "
                    "numpy.savez(sys.argv[1], **step)")
            subprocess.run([ROOT / "scripts" / "python", "-c", code, request["step"]], check=True)
        spec = {**self.SPEC, "optimizer": {"name": "rowwise_adagrad", "learning_rate": 0.5}}
        found = self.check(spec, self.PLAN, 2, changed)
        self.assertRegex(found.get("error", ""), "states of t differ by .* of the largest: not the same step")


def summary(found, seed):
    """What is kept: of plans with each kind how many there were, and the largest differences."""
    kinds = {kind: [each for each in found if kind in each["sharding_types"]] for kind in KINDS}
    return {"command": f"SEED={seed} scripts/torchrec/test_steps.py --plans {len(found)}", "torchrec": "1.5.0",
            "program": run([PROGRAM, "--version"]).strip(), "plans": len(found),
            "tables": sum(each["tables"] for each in found), "allowed": MOST,
            "kinds": [{"sharding_type": kind, "plans": len(plans), "ranks": sorted({each["ranks"] for each in plans}),
                       "optimizers": sorted({each["optimizer"] for each in plans}),
                       **{what: max((each[what] for each in plans if what in each), default=None) for what in ("vectors", "rows", "states")}}
                      for kind, plans in kinds.items()]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=OPTIONS.plans)
    parser.add_argument("--python", default=OPTIONS.python)
    parser.add_argument("--out", type=Path)
    known, rest = parser.parse_known_args()
    OPTIONS.__dict__.update(vars(known))
    if not has_torchrec(OPTIONS.python):
        print(f"{OPTIONS.python} has no torchrec; scripts/peers/fbgemm --prepare installs it")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
