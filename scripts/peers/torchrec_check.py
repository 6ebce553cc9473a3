# SPDX-License-Identifier: Apache-2.0
"""Does TorchRec do our step? One that shardmark exported, from the same rows and weights on the same ids."""
import numpy
import torch
import torch.distributed as dist
from torchrec.distributed import comm_ops

from torchrec_model import Embeddings, WholeStep, jagged, sharded, shards_of

RELATIVE = 1e-4  # of the largest value: sums of fp32 in another order


def error(what, found, expected):
    """The largest difference, of the largest value. Throws ValueError where that is no rounding."""
    expected = torch.as_tensor(expected)
    largest = ((found - expected).abs().max() / expected.abs().max().clamp_min(1e-30)).item() if expected.numel() else 0.0
    if not largest <= RELATIVE:
        raise ValueError(f"{what} differ by {largest:.1e} of the largest: not the same step")
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


def check(request):
    """{what: largest error}"""
    exported, tables, dense = numpy.load(request["step"]), request["tables"], request["dense"]
    comm_ops.set_gradient_division(bool(dense))
    model = sharded(request, dist.get_world_size())
    shards = [(shard, exported[f"rows/{shard[0]}"]) for shard in shards_of(model)]
    for shard, rows in shards:
        places, values = part_of(shard, rows, exported[f"before/{shard[0]}"])
        shard[3][places] = values
    samples = request["batch"] // dist.get_world_size()
    mine = slice(dist.get_rank() * samples, (dist.get_rank() + 1) * samples)
    def of_features(what):
        return [torch.from_numpy(exported[f"{what}/{table['name']}"][mine]) for table in tables]
    ids = jagged(tables, torch.cat(of_features("ids")), torch.ones(len(tables) * samples, dtype=torch.int64))
    found = {}
    if dense:
        step = WholeStep(model, request["dense_learning_rate"], request["tuned"])
        after = load_dense(step, exported, request["blocks"], tables)
        loss = step(torch.from_numpy(exported["numerical"][mine]), ids, torch.from_numpy(exported["labels"][mine]))
        dist.all_reduce(loss)
        found["loss"] = error("losses", loss / dist.get_world_size(), exported["loss"].astype(numpy.float32))
        found["weights"] = max(error("weights", parameter.data, values.reshape(parameter.shape))
                               for parameter, values in zip(step.dense(), after))
    else:
        keys = model(ids).keys()
        order = [[table["name"] for table in tables].index(key) for key in keys]
        def together(what):
            return torch.cat([of_features(what)[number] for number in order], 1)
        found["vectors"] = error("vectors", Embeddings(model)(ids, together("gradients")), together("outputs"))
    found["rows"] = max([0.0, *(error(f"rows of {shard[0]}", shard[3][places], values) for shard, (places, values) in (
        (shard, part_of(shard, rows, exported[f"after/{shard[0]}"])) for shard, rows in shards) if len(places))])
    return found
