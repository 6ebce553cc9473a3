# SPDX-License-Identifier: Apache-2.0
"""Does TorchRec do our step? One that shardmark exported, from the same rows and weights on the same ids."""
import numpy
import torch
import torch.distributed as dist
import torchrec
from torchrec.distributed import comm_ops

from torchrec_model import Embeddings, WholeStep, features_of, jagged, settings_of, sharded, shards_of, states_of

RELATIVE = 1e-4  # of the largest value: sums of fp32 in another order


class OtherStep(ValueError):
    """Says what is not as in our step."""


def error(what, found, expected, most=RELATIVE):
    """The largest difference, of the largest value. Throws OtherStep where that is above `most`, no rounding."""
    expected = torch.as_tensor(expected)
    largest = ((found - expected).abs().max() / expected.abs().max().clamp_min(1e-30)).item() if expected.numel() else 0.0
    if not largest <= most:
        raise OtherStep(f"{what} differ by {largest:.1e} of the largest: not the same step")
    return largest


def part_of(shard, rows, values):
    """(which rows of the shard the exported ones are, their values in its columns)"""
    _, first_row, first_column, held = shard
    inside = (rows >= first_row) & (rows < first_row + held.shape[0])
    return torch.from_numpy(rows[inside] - first_row), torch.from_numpy(
        values[inside, first_column:first_column + held.shape[1]])


def triangle_of(weights, vectors, width):
    """Ours meets pairs (i, j), j < i, row by row of the lower triangle; TorchRec's the upper one."""
    i, j = torch.triu_indices(vectors, vectors, 1)
    return torch.cat([weights[:, :width], weights[:, width + j * (j - 1) // 2 + i]], 1)


def load_dense(step, exported, blocks, tables):
    """Our weights, in the order of TorchRec's; what they should be after the step."""
    before, after = ([torch.from_numpy(exported[f"{when}/{block}"]) for block in blocks] for when in ("dense_before", "dense_after"))
    first_of_top = next(number for number, layer in enumerate(step.linear()) if layer.in_features > tables[0]["dim"] and
                        step.linear()[number - 1].out_features == tables[0]["dim"])
    for values in (before, after):
        values[2 * first_of_top] = triangle_of(values[2 * first_of_top], len(tables) + 1, tables[0]["dim"])
    for parameter, values in zip(step.dense(), before, strict=True):
        parameter.data.copy_(values.reshape(parameter.shape))
    return after


class CopiedTables:
    """The optimizer of tables that are on every rank, which TorchRec leaves to its user: their gradients are means of the
    ranks'."""

    def __init__(self, model, request):
        copied = {name.split(".")[-2]: parameter for name, parameter in model.named_parameters()
                  if name.split(".")[-2] in tables_on_all(request)}
        by_name = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "rowwise_adagrad": torchrec.optim.RowWiseAdagrad}
        self.parameters = copied
        self.optimizer = by_name[request["optimizer"]](copied.values(), **settings_of(request)) if copied else None

    def step(self):
        if self.optimizer:
            self.optimizer.step()

    def states(self):
        """As states_of()."""
        if not self.optimizer:
            return []
        return [(table, 0, 0, self.optimizer.state[parameter]["sum"].reshape(len(parameter), -1)) for table, parameter in self.parameters.items()
                if "sum" in self.optimizer.state[parameter]]


def tables_on_all(request):
    """Names of the tables that the request's plan has on every rank."""
    modules = request.get("sharding", {}).get("plan", {})
    return {table for module in modules.values() for table, placed in module.items() if placed["sharding_type"] == "data_parallel"}


def load(shards, exported, what):
    """Sets the exported rows, or their states, of the shards; returns [(shard, places, values after the step)]."""
    found = []
    for shard in shards:
        table = shard[0]
        before, after = (exported[f"{what}{when}/{table}"] for when in ("before", "after"))
        places, values = part_of(shard, exported[f"rows/{table}"], before)
        shard[3][places] = values.reshape(shard[3][places].shape)
        found.append((shard, places, part_of(shard, exported[f"rows/{table}"], after)[1].reshape(shard[3][places].shape)))
    return found


def check(request, most=RELATIVE):
    """{what: largest error}. Throws OtherStep where one is above `most`, or where another row changed."""
    exported, tables, dense, features = numpy.load(request["step"]), request["tables"], request["dense"], features_of(request)
    ranks = dist.get_world_size()
    planned = "sharding" in request  # gradients of tables on every rank are always divided, so all are then
    comm_ops.set_gradient_division(bool(dense) or planned)
    model = sharded(request, ranks)
    copied = CopiedTables(model, request)
    rows = load(shards_of(model), exported, "")
    others = [shard[3].clone() for shard, _, _ in rows]
    states = load(states_of(model) + copied.states(), exported, "state_") if planned and request["optimizer"] != "sgd" else []
    samples = request["batch"] // ranks
    mine = slice(dist.get_rank() * samples, (dist.get_rank() + 1) * samples)
    offsets = {feature["name"]: exported[f"offsets/{feature['name']}"] for feature in features}

    def of_features(what):
        return [torch.from_numpy(exported[f"{what}/{feature['name']}"][mine]) for feature in features]

    def of_ids(name):
        return torch.from_numpy(exported[f"ids/{name}"][offsets[name][mine.start]:offsets[name][mine.stop]])
    ids = jagged(features, torch.cat([of_ids(feature["name"]) for feature in features]), torch.cat(
        [torch.from_numpy(numpy.diff(offsets[feature["name"]][mine.start:mine.stop + 1])) for feature in features]))
    found = {}
    if dense:
        step = WholeStep(model, request["dense_learning_rate"], request["tuned"])
        after = load_dense(step, exported, request["blocks"], tables)
        loss = step(torch.from_numpy(exported["numerical"][mine]), ids, torch.from_numpy(exported["labels"][mine]))
        dist.all_reduce(loss)
        found["loss"] = error("losses", loss / ranks, exported["loss"].astype(numpy.float32), most)
        found["weights"] = max(error("weights", parameter.data, values.reshape(parameter.shape), most)
                               for parameter, values in zip(step.dense(), after))
    else:
        keys = model(ids).keys()
        order = [[feature["name"] for feature in features].index(key) for key in keys]

        def together(what):
            return torch.cat([of_features(what)[number] for number in order], 1)
        gradients = together("gradients") * (ranks if planned else 1)
        vectors, first, errors = Embeddings(model)(ids, gradients), 0, []
        for number in order:
            expected = of_features("outputs")[number]
            errors.append(error(f"pooled embeddings of {features[number]['name']}", vectors[:, first:first + expected.shape[1]], expected, most))
            first += expected.shape[1]
        found["vectors"] = max(errors)
        copied.step()
    for what, shards in (("rows", rows), ("states", states)):
        found |= {what: max([0.0, *(error(f"{what} of {shard[0]}", shard[3][places], values, most)
                                    for shard, places, values in shards if len(places))])} if shards or what == "rows" else {}
    for (shard, places, _), before in zip(rows, others):
        changed = (shard[3] != before).any(1)
        changed[places] = False
        if changed.any():
            raise OtherStep(f"row {int(changed.nonzero()[0]) + shard[1]} of {shard[0]} changed, though no sample has it")
    return found
