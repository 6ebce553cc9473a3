#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchrec_estimate.py < REQUEST: what TorchRec's estimator says of plans, for scripts/torchrec/estimate.

stdin is {"workload": of `shardmark run --dry-run`, "topology": arguments of Topology, "plans": [...]}; stdout a list with
{"ms": the busiest rank's time, by which its planner compares plans, "mean_ms", and the parts of that rank} or {"refused"} for
each plan."""
import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1] / "peers"))
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder  # noqa: E402
from torchrec.distributed.planner import ParameterConstraints, Topology  # noqa: E402
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator  # noqa: E402
from torchrec.distributed.planner.types import Perf  # noqa: E402

from shardmark_torchrec import load_plan  # noqa: E402
from torchrec_model import FUSED, apply_optimizer_in_backward, collection_of  # noqa: E402

PARTS = ("fwd_compute", "fwd_comms", "bwd_compute", "bwd_comms")


class Sharder(EmbeddingBagCollectionSharder):
    """Offers what the plan has: on processors TorchRec's own offers less than it runs."""

    def __init__(self, placed):
        super().__init__()
        self.placed = placed

    def sharding_types(self, compute_device_type):
        return sorted({each.sharding_type for each in self.placed.values()})


def collection(workload):
    request = {"tables": workload["tables"], "features": workload["features"]}
    made, optimizer = collection_of(request), workload["optimizer"]
    if optimizer["name"] not in FUSED:
        raise ValueError(f"optimizer {optimizer['name']} is none of {', '.join(FUSED)}")
    apply_optimizer_in_backward(FUSED[optimizer["name"]], made.parameters(), {"lr": optimizer["learning_rate"]})
    return made


def estimate(workload, topology, plan):
    """Sums of the shards' estimates by rank. An estimate does not depend on the rank that a shard is on."""
    (placed,) = load_plan(plan, module_path="", ranks_per_node=topology.local_world_size).plan.values()
    if plan["world_size"] != topology.world_size:
        raise ValueError(f"the plan is for {plan['world_size']} ranks, the topology for {topology.world_size}")
    constraints = {}
    for table, each in placed.items():
        columns = {shard.shard_sizes[1] for shard in each.sharding_spec.shards} if each.sharding_spec else {None}
        hotness = [float(feature["hotness"]) for feature in workload["features"] if feature["table"] == table]
        constraints[table] = ParameterConstraints(
            sharding_types=[each.sharding_type], compute_kernels=[each.compute_kernel], pooling_factors=hotness,
            **({"min_partition": min(columns)} if each.sharding_type in ("column_wise", "grid_shard") else {}))
    options = EmbeddingEnumerator(topology=topology, batch_size=workload["global_batch"] // topology.world_size,
                                  constraints=constraints).enumerate(collection(workload), [Sharder(placed)])
    of_ranks = [Perf(0, 0, 0, 0) for _ in range(topology.world_size)]
    for option in options:
        spec = placed[option.name].sharding_spec
        ranks = {(*shard.shard_offsets, *shard.shard_sizes): shard.placement.rank() for shard in spec.shards} if spec else {}
        for number, shard in enumerate(option.shards):
            rank = ranks.get((*shard.offset, *shard.size)) if spec else number
            if rank is None:
                raise ValueError(f"table {option.name}: TorchRec's planner has no {option.sharding_type} of such shards")
            of_ranks[rank] = of_ranks[rank] + shard.perf
    busiest = max(of_ranks, key=lambda perf: perf.total)
    return {"ms": busiest.total, "mean_ms": sum(perf.total for perf in of_ranks) / len(of_ranks),
            **{part: getattr(busiest, part) for part in PARTS}}


def main():
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request, found = json.load(sys.stdin), []
    topology = Topology(**request["topology"])
    for plan in request["plans"]:
        try:
            found.append(estimate(request["workload"], topology, plan))
        except Exception as error:  # what TorchRec throws is what it refuses
            found.append({"refused": str(error).strip().partition("\n")[0] or repr(error)})
    print(json.dumps(found), file=replies, flush=True)


if __name__ == "__main__":
    main()
