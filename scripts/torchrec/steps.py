# SPDX-License-Identifier: Apache-2.0
"""A step of ours, exported by `shardmark run --export`, repeated by TorchRec under the same plan; for check-step and its test."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "scripts" / "peers"))
from running import MPI_SETTINGS  # noqa: E402

PROGRAM = os.environ.get("SHARDMARK", str(ROOT / "build/release/bin/shardmark"))
PYTHON = str(ROOT / ".deps/peers-fbgemm/bin/python")
MOST = 1e-5
ACCUMULATOR = 0.1  # sums of squares before the step: from 0, Adagrad makes a step of what rounding leaves of gradients that cancel
OPTIMIZERS = ("sgd", "adagrad", "rowwise_adagrad")
MPI = {**MPI_SETTINGS, "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
       "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMP_NUM_THREADS": "1"}
COLUMNS = ("plan", "ranks", "a node", "shardings", "optimizer", "pooled", "rows", "states")


class BadInput(Exception):
    """One line: what is wrong."""


def has_torchrec(python):
    """Whether that Python has it, without the seconds that importing takes."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torchrec') is None)"
    return Path(python).exists() and subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0


def run(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or [f"exit code {done.returncode}"]
        said = [line for line in lines if line.startswith("shardmark: ")]
        raise BadInput((said or lines)[-1].removeprefix("shardmark: "))
    return done.stdout


class Steps:
    """Steps of ours, repeated by a process of TorchRec's, which is started once."""

    def __init__(self, program, python, mpiexec="mpiexec"):
        self.program, self.mpiexec = program, mpiexec
        self.folder = tempfile.TemporaryDirectory(prefix="shardmark-")
        self.log = Path(self.folder.name) / "torchrec.log"
        with self.log.open("w", encoding="utf-8") as log:
            self.theirs = subprocess.Popen([python, "-W", "ignore", HERE / "torchrec_steps.py"], text=True, stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.theirs.stdin.close()
        self.theirs.wait()
        self.folder.cleanup()

    def converted(self, spec, plan, case, ranks, per_node):
        """The plan as TorchRec's, parsed."""
        if Path(plan).exists():
            scale = [word for at, word in enumerate(case) if "--scale" in case[max(0, at - 1):at + 1]]
            return json.loads(run([self.program, "plan", "convert", spec, plan, *scale, "--to", "torchrec-plan"]))
        if not ranks:
            raise BadInput(f"{plan} is no file; a planner needs --ranks")
        nodes = ["--ranks-per-node", per_node or ranks]
        return json.loads(run([self.program, "plan", "create", spec, "--plan", plan, "--ranks", ranks, *nodes, *case,
                               "--to", "torchrec-plan"]))

    def check(self, spec, plan, case=(), ranks=None, per_node=None, changed=None):
        """What is known of the step under a plan: a line of the table. case: options of `shardmark run`. changed: called with
        what TorchRec is asked for, for tests that change it."""
        theirs = self.converted(spec, plan, list(case), ranks, per_node)
        file, exported, step, record = (Path(self.folder.name) / name for name in ("theirs.json", "step.h5", "step.npz", "step.jsonl"))
        file.write_text(json.dumps(theirs), encoding="utf-8")
        case = [*case, "--set", f"initial_accumulator={ACCUMULATOR}"]
        for old in (exported, record):
            old.unlink(missing_ok=True)
        run([self.mpiexec, "-n", theirs["world_size"], self.program, "run", spec, "--plan", file, *case, "--steps", 1, "--check", 1,
             "--machine", "off", "--out", record, "--export", exported], env={**os.environ, **MPI})
        told = json.loads(run([ROOT / "scripts" / "python", ROOT / "scripts" / "peers" / "torchrec_step.py", exported, step]))
        optimizer, (placed,) = told["optimizer"], theirs["plan"].values()
        known = {"plan": Path(plan).stem if Path(plan).exists() else plan, "ranks": theirs["world_size"],
                 "ranks_per_node": per_node or theirs["world_size"], "optimizer": optimizer["name"],
                 "sharding_types": sorted({table["sharding_type"] for table in placed.values()})}
        parts = {"row_wise": known["ranks"], "table_row_wise": known["ranks_per_node"], "grid_shard": known["ranks_per_node"]}
        if (why := self.refusal(placed, told["features"], optimizer, parts)) is not None:
            return {**known, "refused": why}
        request = {"tables": told["tables"], "features": told["features"], "dense": None, "tuned": False, "step": str(step),
                   "batch": told["samples"], "optimizer": optimizer["name"], "learning_rate": optimizer["learning_rate"],
                   "epsilon": optimizer["epsilon"], "sharding": theirs, "ranks": known["ranks"],
                   "ranks_per_node": known["ranks_per_node"], "most": MOST}
        if changed:
            changed(request)
        try:
            print(json.dumps(request), file=self.theirs.stdin, flush=True)
            line = self.theirs.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            said = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise BadInput(f"the process of TorchRec ended: {said[-1] if said else 'it said nothing'}")
        return {**known, **json.loads(line)}

    @staticmethod
    def refusal(placed, features, optimizer, parts):
        """Why TorchRec has no such step, or None."""
        if optimizer["name"] not in OPTIMIZERS:
            return f"{optimizer['name']} is none of {', '.join(OPTIMIZERS)}, which TorchRec has on processors as we do"
        means = {feature["table"] for feature in features if feature["pooling"] == "mean"}
        divided = [table for table, each in placed.items() if each["sharding_type"] == "grid_shard" and table in means]
        if divided:
            return f"table {divided[0]}: TorchRec 1.5.0 does not divide means of tables that are sharded by grid_shard"
        by_rows = [table for table, each in placed.items() if each["sharding_type"] in ("row_wise", "table_row_wise")]
        if means & set(by_rows) and len(by_rows) < len(placed):
            other = next(table for table in placed if table not in by_rows)
            return (f"table {other}: TorchRec 1.5.0 divides it by its ids, as it does the means of {min(means & set(by_rows))}, which is "
                    "split by rows in the same collection")
        widths = {shard["shard_sizes"][1] for each in placed.values() for shard in each.get("shards", [])}
        for table, each in placed.items():  # the kernel takes a table of no rows for a feature of the next one, of its columns
            filled = {shard["shard_offsets"][0] for shard in each.get("shards", []) if shard["shard_sizes"][0]}
            if len(widths) > 1 and len(filled) < parts.get(each["sharding_type"], 0):
                return f"table {table}: a rank has none of its rows, and there FBGEMM on processors updates the next table wrongly"
        split = [table for table, each in placed.items() if each["sharding_type"] in ("column_wise", "table_column_wise", "grid_shard")]
        if split and optimizer["name"] == "rowwise_adagrad":
            return f"table {split[0]}: TorchRec keeps a sum of squares for each block of columns, which is another optimizer"
        return None


def table_of(found):
    rows = [COLUMNS] + [(each["plan"], str(each["ranks"]), str(each["ranks_per_node"]), "+".join(each["sharding_types"]), each["optimizer"],
                         *(f"{each[what]:.1e}" if what in each else "-" for what in ("vectors", "rows", "states"))) for each in found]
    widths = [max(len(row[k]) for row in rows) for k in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    for number, each in enumerate(found, 1):
        if why := each.get("refused") or each.get("error"):
            lines[number] += f"  {'refused' if 'refused' in each else 'ANOTHER STEP'}: {why}"
    return "\n".join(["# " + lines[0], *("  " + line for line in lines[1:])])
