# SPDX-License-Identifier: Apache-2.0
"""A collection of embedding tables, alone or in TorchRec's DLRM, sharded over some processes on processors."""
import sys
from pathlib import Path

import torch
import torchrec
from fbgemm_gpu.split_table_batched_embeddings_ops_common import BoundsCheckMode
from torch.distributed.optim import _apply_optimizer_in_backward as apply_optimizer_in_backward
from torchrec.datasets.utils import Batch
from torchrec.distributed import DistributedModelParallel
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner, ParameterConstraints, Topology
from torchrec.distributed.sharding_plan import column_wise, construct_module_sharding_plan, row_wise, table_wise
from torchrec.distributed.types import ShardingPlan
from torchrec.distributed.mc_embeddingbag import ManagedCollisionEmbeddingBagCollectionSharder
from torchrec.models.dlrm import DLRM, DLRMTrain
from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingBagCollection
from torchrec.modules.mc_modules import DistanceLFU_EvictionPolicy, ManagedCollisionCollection, MCHManagedCollisionModule

sys.path.append(str(Path(__file__).resolve().parents[1] / "torchrec"))
from shardmark_torchrec import load_plan  # noqa: E402

CPU = torch.device("cpu")
EVICTION_INTERVAL = 64  # steps
FUSED = {"sgd": torchrec.optim.SGD, "adagrad": torchrec.optim.Adagrad, "rowwise_adagrad": torchrec.optim.RowWiseAdagrad}


class Sharder(EmbeddingBagCollectionSharder):
    """Offers one way of sharding: the planner refuses row_wise on a processor, unless nothing else is offered."""

    def __init__(self, plan, tuned):
        super().__init__(fused_params={"bounds_check_mode": BoundsCheckMode.NONE} if tuned else None)
        self.plan = plan

    def sharding_types(self, compute_device_type):
        return [self.plan]


def planned(model, tables, sharder, ranks):
    """By TorchRec's planner, which is told the way of sharding alone. It asks for columns wider than half a row of 16."""
    constraints = {table["name"]: ParameterConstraints(sharding_types=[sharder.plan], min_partition=table["dim"] // ranks)
                   for table in tables}
    planner = EmbeddingShardingPlanner(topology=Topology(world_size=ranks, local_world_size=ranks, compute_device="cpu"),
                                       constraints=constraints)
    return planner.collective_plan(model, [sharder], torch.distributed.group.WORLD)


def even(model, tables, sharder, ranks):
    """As many tables, rows or columns of each table on every rank; tables dealt up and down the ranks by size."""
    up_and_down = [*range(ranks), *reversed(range(ranks))]
    by_size = sorted(tables, key=lambda table: -table["rows"])
    ways = {"table_wise": lambda number: table_wise(rank=up_and_down[number % len(up_and_down)]),
            "row_wise": lambda _: row_wise(), "column_wise": lambda _: column_wise(ranks=list(range(ranks)))}
    path, collection = next((name, module) for name, module in model.named_modules()
                            if isinstance(module, torchrec.EmbeddingBagCollection))
    per_table = {table["name"]: ways[sharder.plan](number) for number, table in enumerate(by_size)}
    return ShardingPlan({path: construct_module_sharding_plan(collection, per_table, local_size=ranks, world_size=ranks,
                                                              device_type="cpu", sharder=sharder)})


def features_of(request):
    """Those of the request; without any, one of sums for each table, called as it."""
    return request.get("features") or [{"name": table["name"], "table": table["name"], "pooling": "sum"}
                                       for table in request["tables"]]


def settings_of(request):
    """Of its optimizer."""
    return {"lr": request["learning_rate"]} | ({"eps": request["epsilon"]} if request["optimizer"] != "sgd" and "epsilon" in request else {})


def collection_of(request):
    """Its tables and features. A table's features have one pooling in TorchRec."""
    configs = []
    for table in request["tables"]:
        readers = [feature for feature in features_of(request) if feature["table"] == table["name"]]
        poolings = {feature["pooling"] for feature in readers}
        if len(poolings) != 1:
            raise ValueError(f"table {table['name']}: its features pool by {', '.join(sorted(poolings))}; TorchRec's have one pooling")
        configs.append(torchrec.EmbeddingBagConfig(
            name=table["name"], embedding_dim=table["dim"], num_embeddings=table["rows"],
            feature_names=[feature["name"] for feature in readers], pooling=torchrec.PoolingType[poolings.pop().upper()]))
    return torchrec.EmbeddingBagCollection(device=torch.device("meta"), tables=configs)


def keys_of_a_rank(table, ranks):
    return -(-table["rows"] // ranks)


def sharded_by_keys(request, ranks):
    """The collection behind TorchRec's sorted ZCH, by rows, where every id that there is has its slot: a rank's keys are those of
    its range, in their order, and one slot more takes the ids that have none. No eviction falls into what is timed."""
    collection = collection_of(request | {"tables": [{**table, "rows": ranks * (keys_of_a_rank(table, ranks) + 1)} for table in request["tables"]]})
    apply_optimizer_in_backward(FUSED[request["optimizer"]], collection.parameters(), settings_of(request))
    configs = collection.embedding_bag_configs()
    modules = {table["name"]: MCHManagedCollisionModule(
        zch_size=config.num_embeddings, device=torch.device("meta"), eviction_policy=DistanceLFU_EvictionPolicy(),
        eviction_interval=EVICTION_INTERVAL, input_hash_size=ranks * keys_of_a_rank(table, ranks))
        for table, config in zip(request["tables"], configs, strict=True)}
    model = ManagedCollisionEmbeddingBagCollection(collection, ManagedCollisionCollection(modules, configs), return_remapped_features=True)
    sharder = ManagedCollisionEmbeddingBagCollectionSharder()
    plan = construct_module_sharding_plan(model, {table["name"]: row_wise() for table in request["tables"]}, local_size=ranks,
                                          world_size=ranks, device_type="cpu", sharder=sharder)
    model = DistributedModelParallel(model, device=CPU, plan=ShardingPlan({"": plan}), sharders=[sharder])
    found = {name.rpartition(".")[2]: module for name, module in model.named_modules() if isinstance(module, MCHManagedCollisionModule)}
    for table in request["tables"]:
        count = keys_of_a_rank(table, ranks)
        first = torch.distributed.get_rank() * count
        found[table["name"]]._mch_sorted_raw_ids[:count] = torch.arange(first, first + count)
    return model


def slots_of(ids, table, ranks):
    """Where sharded_by_keys() has the rows of ids."""
    return ids + ids // keys_of_a_rank(table, ranks)


def sharded(request, ranks):
    """The sharded model of a request, as installed or tuned, or by the plan in "sharding"; without a dense model the
    collection alone."""
    tables, dense = request["tables"], request["dense"]
    if request.get("operation") == "keys":
        return sharded_by_keys(request, ranks)
    model = collection_of(request)
    apply_optimizer_in_backward(FUSED[request["optimizer"]], model.parameters(), settings_of(request))
    if "sharding" in request:
        plan = load_plan(request["sharding"], module_path="", ranks_per_node=request["ranks_per_node"])
        return DistributedModelParallel(model, device=CPU, plan=plan, sharders=[EmbeddingBagCollectionSharder()])
    if dense:
        model = DLRMTrain(DLRM(model, dense["numerical_features"], dense["bottom_mlp"], dense["top_mlp"], CPU))
    sharder = Sharder(request["plan"], request["tuned"])
    plan = (even if request["tuned"] else planned)(model, tables, sharder, ranks)
    return DistributedModelParallel(model, device=CPU, plan=plan, sharders=[sharder])


def jagged(features, ids, lengths):
    """Of a rank's samples, feature after feature."""
    return torchrec.KeyedJaggedTensor(keys=[feature["name"] for feature in features], values=ids, lengths=lengths)


class Embeddings:
    """Lookup, the gradient of the pooled vectors that is given, and the update, which is part of the backward pass."""

    def __init__(self, model):
        self.model = model

    def __call__(self, ids, gradient):
        """The pooled vectors, [samples, all columns]."""
        pooled = self.model(ids)
        vectors = (pooled[0] if isinstance(pooled, tuple) else pooled).values()  # with it, the slots of keys
        vectors.backward(gradient)
        return vectors


class WholeStep:
    """DLRM, mean binary cross entropy, SGD of the dense weights; tuned: in one call for all of them."""

    def __init__(self, model, learning_rate, tuned):
        self.model = model
        self.optimizer = torch.optim.SGD(self.dense(), lr=learning_rate,
                                         **({"fused": True} if tuned else {}))

    def dense(self):
        """Weights and biases in the order of the layers."""
        return [parameter for layer in self.linear() for parameter in (layer.weight, layer.bias)]

    def linear(self):
        return [module for module in self.model.modules() if isinstance(module, torch.nn.Linear)]

    def __call__(self, numerical, ids, labels):
        self.optimizer.zero_grad(set_to_none=True)
        loss, _ = self.model(Batch(dense_features=numerical, sparse_features=ids, labels=labels))
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def shards_of(model):
    """[(table, first row, first column, its values)] of this rank; a table on every rank is one shard."""
    found = []
    for name, value in model.state_dict().items():
        table = name.split(".")[-2]
        if hasattr(value, "local_shards"):
            found += [(table, *shard.metadata.shard_offsets, shard.tensor) for shard in value.local_shards()]
        elif name.endswith("embedding_bags." + table + ".weight"):
            found.append((table, 0, 0, value))
    return found


def states_of(model):
    """The same of the optimizer's sums of squares, [rows, 1] or [rows, columns], of the tables that the model updates."""
    return [(name.split(".")[0], *(*shard.metadata.shard_offsets, 0)[:2], shard.tensor if shard.tensor.dim() == 2 else shard.tensor[:, None])
            for states in model.fused_optimizer.state_dict()["state"].values()
            for name, value in states.items() if hasattr(value, "local_shards") for shard in value.local_shards()]
