# SPDX-License-Identifier: Apache-2.0
"""The peers' side of scripts/peers/fbgemm: a JSON request per line on stdin, {operation: {"ms", "calls"}} on stdout."""
import contextlib
import statistics
import time

import fbgemm_gpu
import numpy
import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType, SparseType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import BoundsCheckMode, EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen

from worker import draw_ids, serve, versions

BATCHES = 8
FEWEST_CALLS = BATCHES
LEARNING_RATE = 2.0**-10


class Inputs:
    """Batches of a case, table after table and sample after sample; `shift` numbers the rows of all tables as one."""

    def __init__(self, case, seed, shift):
        random = numpy.random.default_rng(seed)
        first_rows = numpy.cumsum([0, *case["rows"]])
        self.bags = case["batch"] * len(case["rows"])
        lengths = numpy.repeat(case["hotness"], case["batch"])
        self.offsets = torch.from_numpy(numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int64))
        self.ids = []
        for _ in range(BATCHES):
            ids = [draw_ids(random, rows, case["batch"] * hotness, case["alpha"]) + (first if shift else 0)
                   for rows, hotness, first in zip(case["rows"], case["hotness"], first_rows)]
            self.ids.append(torch.from_numpy(numpy.concatenate(ids)))


class Fbgemm:
    optimizers = {"sgd": EmbOptimType.EXACT_SGD, "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD}

    def __init__(self, case, optimizer, check_bounds, seed):
        self.inputs = Inputs(case, seed, shift=False)
        tables = [(rows, case["dim"], EmbeddingLocation.HOST, ComputeDevice.CPU) for rows in case["rows"]]
        self.module = SplitTableBatchedEmbeddingBagsCodegen(
            tables, optimizer=self.optimizers[optimizer], pooling_mode=PoolingMode.SUM, learning_rate=LEARNING_RATE,
            weights_precision=SparseType.FP32, device=torch.device("cpu"),
            bounds_check_mode=BoundsCheckMode.WARNING if check_bounds else BoundsCheckMode.NONE)
        for weights in self.module.split_embedding_weights():
            weights.fill_(0.01)
        self.gradient = torch.randn(case["batch"], len(tables) * case["dim"])

    def forward(self, batch):
        return self.module(self.inputs.ids[batch], self.inputs.offsets)

    def backward(self, output):
        output.backward(self.gradient)  # updates the tables


class Torch:
    """All tables in one matrix: one call of embedding_bag, where a call per table would take longer."""
    optimizers = {"sgd": torch.optim.SGD, "rowwise_adagrad": torch.optim.Adagrad}  # element-wise: the only one

    def __init__(self, case, optimizer, check_bounds, seed):
        self.inputs = Inputs(case, seed, shift=True)
        self.weights = torch.nn.Parameter(torch.empty(sum(case["rows"]), case["dim"]).fill_(0.01))
        self.optimizer = self.optimizers[optimizer]([self.weights], lr=LEARNING_RATE)
        self.gradient = torch.randn(self.inputs.bags, case["dim"])

    def forward(self, batch):
        return torch.nn.functional.embedding_bag(self.inputs.ids[batch], self.weights, self.inputs.offsets, mode="sum",
                                                 sparse=True, include_last_offset=True)

    def backward(self, output):
        output.backward(self.gradient)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def measure(peer, operation, seconds):
    """Median over the calls that fit into `seconds`, the batches taking turns."""
    times = []
    batch = -3  # two calls to warm up
    while len(times) < FEWEST_CALLS or sum(times) < seconds:
        batch += 1
        with torch.no_grad() if operation == "forward" else contextlib.nullcontext():
            begin = time.perf_counter()
            output = peer.forward(batch % BATCHES)
        if operation != "forward":
            begin = time.perf_counter()
            peer.backward(output)
        took = time.perf_counter() - begin
        if batch >= 0:
            times.append(took)
    return {"ms": statistics.median(times) * 1e3, "calls": len(times)}


def answer(request):
    optimizer = request["operations"][-1]  # forward goes with any
    kind = {"fbgemm": Fbgemm, "torch": Torch}[request["system"]]
    peer = kind(request["case"], optimizer, request["check_bounds"], request["seed"])
    return {operation: measure(peer, operation, request["seconds"]) for operation in request["operations"]}


if __name__ == "__main__":
    serve(versions(fbgemm=fbgemm_gpu.__version__), answer)
