# SPDX-License-Identifier: Apache-2.0
"""Between TorchRec and shardmark: tables of an EmbeddingBagCollection as a spec, sharding plans in both directions.

  from shardmark_torchrec import load_plan, spec_of

  json.dump(spec_of(model.embedding_bag_collection, global_batch=65536), open("my.json", "w"))
  # shardmark compare my.json; shardmark plan create my.json --plan search --ranks 16 --out plan.json
  # shardmark plan convert my.json plan.json --to torchrec-plan --out theirs.json
  plan = load_plan("theirs.json", module_path="sparse_arch.embedding_bag_collection", device="cuda")
  model = DistributedModelParallel(model, plan=plan, sharders=[...])

A plan of TorchRec becomes one that `shardmark compare my.json --plan theirs.json` measures by dump_plan(); one that was only
printed, str(plan), by read_printed(); the box that its planner logs is a spec and a plan at once, by read_report(). Only load_plan() and constraints_of() import TorchRec. Holds for torchrec 1.5.0."""
import ast
import json
import os
import re
from pathlib import Path

COLLECTION = "embedding_bag_collection"  # the module path of plans that shardmark writes
VALUE_TYPES = {"FP32": "fp32", "FP16": "fp16", "BF16": "bf16", "INT8": "int8"}


class PlanError(ValueError):
    """What is wrong with a plan, and where."""


def spec_of(collection, global_batch, hotness=1, optimizer="rowwise_adagrad", learning_rate=0.01, name="torchrec"):
    """The spec of an EmbeddingBagCollection, or of a list of EmbeddingBagConfig. hotness: ids of a sample, of all
    features or {feature: ids}. A table of several features is one table that several features read."""
    configs = collection.embedding_bag_configs() if hasattr(collection, "embedding_bag_configs") else collection
    tables, features = [], []
    for config in configs:
        table = {"name": config.name, "rows": config.num_embeddings, "dim": config.embedding_dim}
        value_type = VALUE_TYPES.get(getattr(getattr(config, "data_type", None), "name", "FP32"))
        if value_type is None:
            raise PlanError(f"table {config.name}: shardmark has no tables of {config.data_type}")
        if value_type != "fp32":
            table["value_type"] = value_type
        tables.append(table)
        for feature in config.feature_names:
            ids = hotness.get(feature, 1) if isinstance(hotness, dict) else hotness
            features.append({"name": feature, "table": config.name, "pooling": config.pooling.name.lower(), "hotness": ids})
    names = [feature["name"] for feature in features]
    for feature in features:  # a feature that two tables have is two features
        if names.count(feature["name"]) > 1:
            feature["name"] += "@" + feature["table"]
    return {"name": name, "global_batch": global_batch, "optimizer": {"name": optimizer, "learning_rate": learning_rate},
            "tables": tables, "features": features}


def _modules(source):
    """{module path: {table: {...}}} of a file, a text, or what _serialize() returned; and the number of ranks, if it says."""
    if isinstance(source, (str, Path)):
        text = Path(source).read_text(encoding="utf-8") if not str(source).lstrip().startswith("{") else str(source)
        source = json.loads(text)
    return source.get("plan", source), source.get("world_size")


def _tables(source):
    """{table: {...}} of the modules of a plan together."""
    modules, _ = _modules(source)
    return {table: placed for module in modules.values() for table, placed in module.items()}


def _highest_rank(modules):
    ranks = [rank for module in modules.values() for placed in module.values() for rank in placed.get("ranks") or []]
    ranks += [int(match[1]) for module in modules.values() for placed in module.values() for shard in placed.get("shards", [])
              if (match := re.match(r"rank:(\d+)/", str(shard["placement"])))]
    return max(ranks, default=0)


def dump_plan(plan, world_size=None):
    """What `--plan FILE.json` of shardmark reads of a ShardingPlan. world_size: as many ranks as the highest one named
    plus one where it is not given, which is too few if the last ranks hold nothing."""
    modules = plan._serialize()["plan"]
    return {"world_size": world_size or _highest_rank(modules) + 1, "plan": modules}


def read_printed(text, world_size=None):
    """The same from what print(plan) wrote, lines of a log around it included."""
    modules, columns, module = {}, None, None
    for line in text.splitlines():
        if match := re.match(r".*\bmodule: (\S*)\s*$", line):
            module, columns = modules.setdefault(match[1], {}), None
            continue
        cells = [cell.strip() for cell in line.split(" | ")]
        if cells[0] == "param":
            columns = cells
        elif columns and len(cells) == len(columns) and module is not None and not set(line) <= set("- |+"):
            values = dict(zip(columns, cells))
            if "sharding type" in values:
                ranks = values["ranks"]
                module[values["param"]] = {"sharding_type": values["sharding type"], "compute_kernel": values["compute kernel"],
                                           "ranks": None if ranks == "None" else ast.literal_eval(ranks)}
            elif values["param"] in module:
                module[values["param"]].setdefault("shards", []).append(
                    {"shard_offsets": ast.literal_eval(values["shard offsets"]),
                     "shard_sizes": ast.literal_eval(values["shard sizes"]), "placement": values["placement"]})
    if not any(modules.values()):
        raise PlanError("no table of a plan is in the text: it has to hold what print(plan) writes, from 'module: ' on")
    return {"world_size": world_size or _highest_rank(modules) + 1, "plan": modules}


KINDS = {"DP": "data_parallel", "TW": "table_wise", "CW": "column_wise", "RW": "row_wise", "TWRW": "table_row_wise",
         "TWCW": "table_column_wise", "GS": "grid_shard"}


def _ranks_of(cell):
    """[0, 1, 2] of "0-2", [0, 3] of "0,3"."""
    ends = [part.partition("-") for part in cell.split(",")]
    return [rank for first, _, last in ends for rank in range(int(first), int(last or first) + 1)]


def _shards_of(kind, rows, dim, width, ranks):
    """[(row, column, rows, columns, rank)] as TorchRec cuts a table, in equal parts, the last ones smaller. A report
    lists ranks in ascending order: which of them has which columns it does not say, nor does the time depend on it."""
    columns = [(first, min(width, dim - first)) for first in range(0, dim, width)] if kind in ("CW", "TWCW", "GS") else [(0, dim)]
    by_rows = len(ranks) // len(columns) if kind in ("RW", "TWRW", "GS") else 1
    block = -(-rows // max(by_rows, 1))
    cuts = [(min(b * block, rows), max(0, min(block, rows - b * block))) for b in range(by_rows)]
    if len(ranks) != len(columns) * by_rows:
        raise PlanError(f"{len(ranks)} ranks for {len(columns) * by_rows} shards")
    cells = [(row, column, count, wide) for column, wide in columns for row, count in cuts]
    return [(*cell, rank) for cell, rank in zip(cells, ranks)]


def read_report(text, name="torchrec", optimizer="rowwise_adagrad", learning_rate=0.01):
    """(spec, plan) of the box that EmbeddingShardingPlanner(debug=True) logs: tables, rows, dims, ids, batch, ranks, and
    where each table is. Features are called TABLE_0, TABLE_1, ...: their names are not in it."""
    lines = [re.sub(r"^.*?# | *#$", "", line) for line in text.splitlines() if "#" in line]
    heads = [i for i, line in enumerate(lines) if re.match(r"\s*FQN\s", line)]
    batch = next((int(m[1]) for line in lines if (m := re.search(r"Batch Size: (\d+)", line))), None)
    if not heads or batch is None:
        raise PlanError("no 'Parameter Info' or no 'Batch Size' is in the text: it has to hold the box that the planner logs with debug")
    columns = re.split(r"\s{2,}", lines[heads[0]].strip())
    tables, features, modules = [], [], {}
    for line in lines[heads[0] + 2:]:
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) != len(columns):
            break
        row = dict(zip(columns, cells))
        path, _, table = row["FQN"].rpartition(".")
        if row["Output"] != "pooled":
            raise PlanError(f"table {table}: {row['Output']} is no output that shardmark has")
        rows, kind, ranks = int(row["Hash Size"]), row["Sharding"], _ranks_of(row["Ranks"])
        dim, _, width = row["Emb Dim (CW Dim)"].partition(" (")
        dim, width = int(dim), int(width.rstrip(")") or dim)
        count = int(row["Features"])
        tables.append({"name": table, "rows": rows, "dim": dim})
        features += [{"name": f"{table}_{f}", "table": table, "pooling": "sum",
                      "hotness": max(1, round(float(row["Sum Pooling Factor"]) / count))} for f in range(count)]
        placed = {"sharding_type": KINDS[kind], "compute_kernel": row["Compute Kernel"], "ranks": ranks}
        try:
            shards = [] if kind == "DP" else _shards_of(kind, rows, dim, width, ranks)
        except PlanError as error:
            raise PlanError(f"table {table}: {error}") from error
        if shards:
            placed["shards"] = [{"shard_offsets": [r, c], "shard_sizes": [n, w], "placement": f"rank:{rank}/cpu"}
                                for r, c, n, w, rank in shards]
        modules.setdefault(re.sub(r"\.embedding_bags$", "", path), {})[table] = placed
    numbers = [int(m[1]) for line in lines if (m := re.match(r"\s*(\d+)\s{2,}[\d.]+ \(", line))]  # the table of ranks
    world_size = max(_highest_rank(modules), max(numbers, default=0)) + 1
    spec = {"name": name, "global_batch": batch * world_size, "optimizer": {"name": optimizer, "learning_rate": learning_rate},
            "tables": tables, "features": features}
    return spec, {"world_size": world_size, "plan": modules}


def _on_nodes(table, placed, per_node):
    """The shards of a table that is split by rows on the ranks of a node, each block of columns so, with the empty ones that
    TorchRec expects on the last ranks. It finds the rank of a row by these sizes, whatever the plan says."""
    shards = placed["shards"]
    rows, found = max(shard["shard_offsets"][0] + shard["shard_sizes"][0] for shard in shards), []
    block = -(-rows // per_node)
    for column, columns in dict.fromkeys((shard["shard_offsets"][1], shard["shard_sizes"][1]) for shard in shards):
        held = [shard for shard in shards if shard["shard_offsets"][1] == column]
        first = _rank_of(held[0])
        node = [{"shard_offsets": [min(k * block, rows), column], "shard_sizes": [min(block, max(0, rows - k * block)), columns],
                 "placement": f"rank:{first + k}/cpu"} for k in range(per_node)]
        there = [(_rank_of(shard), shard["shard_sizes"][0]) for shard in held if shard["shard_sizes"][0]]
        if first % per_node or there != [(_rank_of(shard), shard["shard_sizes"][0]) for shard in node if shard["shard_sizes"][0]]:
            raise PlanError(f"table {table}: {placed['sharding_type']} is not on all {per_node} ranks of a node in equal blocks of "
                            f"rows, as TorchRec has it; plan with --ranks-per-node {per_node}")
        found += node
    return found


def _rank_of(shard):
    return int(re.match(r"rank:(\d+)/", shard["placement"])[1])


def load_plan(source, module_path=COLLECTION, device="cpu", ranks_per_node=None):
    """The ShardingPlan of a file that `shardmark plan convert --to torchrec-plan` wrote, for the module of that path in the
    model that DistributedModelParallel wraps. device: cpu or cuda, whose number is that of the rank in its node.
    ranks_per_node: by default LOCAL_WORLD_SIZE, which torchrun sets, else all ranks."""
    from torch.distributed._shard.sharding_spec import EnumerableShardingSpec, ShardMetadata
    from torchrec.distributed.types import EmbeddingModuleShardingPlan, ParameterSharding, ShardingPlan

    modules, world_size = _modules(source)
    per_node = ranks_per_node or int(os.environ.get("LOCAL_WORLD_SIZE", 0)) or world_size or _highest_rank(modules) + 1
    plan = EmbeddingModuleShardingPlan()
    for table, placed in _tables(source).items():
        shards, ranks = placed.get("shards", []), placed["ranks"]
        if placed["sharding_type"] in ("table_row_wise", "grid_shard"):
            shards = _on_nodes(table, placed, per_node)
            ranks = [_rank_of(shard) for shard in shards]
        metadata = [ShardMetadata(shard_offsets=shard["shard_offsets"], shard_sizes=shard["shard_sizes"], placement=(
            f"rank:{_rank_of(shard)}/cpu" if device == "cpu" else f"rank:{_rank_of(shard)}/{device}:{_rank_of(shard) % per_node}"))
            for shard in shards]
        plan[table] = ParameterSharding(sharding_type=placed["sharding_type"], compute_kernel=placed["compute_kernel"],
                                        ranks=ranks, sharding_spec=EnumerableShardingSpec(metadata) if metadata else None)
    return ShardingPlan({module_path: plan})


def constraints_of(source):
    """{table: ParameterConstraints} by which TorchRec's own planner shards each table the same way, on ranks of its choice."""
    from torchrec.distributed.planner import ParameterConstraints

    def of(placed):
        columns = {shard["shard_sizes"][1] for shard in placed.get("shards", [])}
        return ParameterConstraints(sharding_types=[placed["sharding_type"]], compute_kernels=[placed["compute_kernel"]],
                                    **({"min_partition": min(columns)} if placed["sharding_type"] in ("column_wise", "grid_shard") else {}))

    return {table: of(placed) for table, placed in _tables(source).items()}
