#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: torch_worker.py FOLDER CASE... PyTorch's embedding_bag, and FBGEMM's table-batched embeddings where they lie beside this script
(scripts/gpu/fbgemm), on cases of `shardmark-kernels --list-cases`, read from case_NAME.json of the folder, on a GPU where there is one: forward,
and backward with the update. Writes torch_NAME.json, {operation: {"us", "calls"}}; "queued": calls were queued while the GPU waited."""
import json
import pathlib
import statistics
import sys
import time

import numpy
import torch

from worker import draw_ids

BATCHES = 8
CALLS = 50
SECONDS = 3
LEARNING_RATE = 2.0**-10


def fbgemm_beside():
    """FBGEMM's package, or None and why there is none."""
    folder = pathlib.Path(__file__).resolve().parent / "fbgemm"
    if not folder.exists() or not torch.cuda.is_available():
        return None, "absent"
    sys.path.insert(0, str(folder))
    try:
        import fbgemm_gpu  # pylint: disable=import-outside-toplevel
        return fbgemm_gpu, fbgemm_gpu.__version__
    except (ImportError, OSError, RuntimeError) as error:
        return None, str(error).splitlines()[0]


class Inputs:
    """Batches of a case, table after table and sample after sample; `shift` numbers the rows of all tables as one."""

    def __init__(self, case, device, shift):
        random = numpy.random.default_rng(7)
        first_rows = numpy.cumsum([0, *case["rows"]])
        lengths = numpy.repeat(case["hotness"], case["batch"])
        self.bags = len(lengths)
        self.offsets = torch.from_numpy(numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int64)).to(device)
        self.ids = []
        for _ in range(BATCHES):
            ids = [draw_ids(random, rows, case["batch"] * hotness, case["alpha"]) + (first if shift else 0)
                   for rows, hotness, first in zip(case["rows"], case["hotness"], first_rows)]
            self.ids.append(torch.from_numpy(numpy.concatenate(ids)).to(device))


class Torch:
    """All tables in one matrix: one call of embedding_bag, where a call per table would take longer."""
    optimizers = ("sgd",)

    def __init__(self, case, device, _):
        self.inputs = Inputs(case, device, shift=True)
        self.weights = torch.nn.Parameter(torch.full((sum(case["rows"]), case["dim"]), 0.01, device=device))
        self.optimizer = torch.optim.SGD([self.weights], lr=LEARNING_RATE)
        self.gradient = torch.randn(self.inputs.bags, case["dim"], device=device)

    def forward(self, batch):
        return torch.nn.functional.embedding_bag(self.inputs.ids[batch], self.weights, self.inputs.offsets, mode="sum", sparse=True,
                                                 include_last_offset=True)

    def backward(self, output):
        output.backward(self.gradient)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


class Fbgemm:
    """The module that TorchRec uses, with a table for each of the case; it writes embeddings of a sample side by side."""
    optimizers = ("rowwise_adagrad", "sgd")

    def __init__(self, case, device, optimizer):
        # pylint: disable=import-outside-toplevel
        from fbgemm_gpu.split_embedding_configs import EmbOptimType, SparseType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import BoundsCheckMode, EmbeddingLocation, PoolingMode
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen
        self.inputs = Inputs(case, device, shift=False)
        tables = [(rows, case["dim"], EmbeddingLocation.DEVICE, ComputeDevice.CUDA) for rows in case["rows"]]
        kind = {"sgd": EmbOptimType.EXACT_SGD, "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD}[optimizer]
        self.module = SplitTableBatchedEmbeddingBagsCodegen(
            tables, optimizer=kind, pooling_mode=PoolingMode.SUM, learning_rate=LEARNING_RATE, weights_precision=SparseType.FP32,
            stochastic_rounding=False, device=device, bounds_check_mode=BoundsCheckMode.NONE)
        for weights in self.module.split_embedding_weights():
            weights.fill_(0.01)
        self.gradient = torch.randn(case["batch"], len(tables) * case["dim"], device=device)

    def forward(self, batch):
        return self.module(self.inputs.ids[batch], self.inputs.offsets)

    def backward(self, output):
        output.backward(self.gradient)  # updates the tables


class Clock:
    """Microseconds of a call: by events on a GPU, which sleeps until the host has queued the call, else by the host."""

    def __init__(self, device):
        self.gpu = device.type == "cuda"

    def __call__(self, call):
        if not self.gpu:
            begin = time.perf_counter()
            call()
            return (time.perf_counter() - begin) * 1e6
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(4_000_000)  # cycles, 2 ms
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3


def measure(peer, operation, clock):
    """Median over the calls, the batches taking turns, after three to warm up."""
    times = []
    begin = time.perf_counter()
    for batch in range(CALLS + 3):
        if operation == "forward":
            with torch.no_grad():
                took = clock(lambda: peer.forward(batch % BATCHES))
        else:
            output = peer.forward(batch % BATCHES)
            took = clock(lambda: peer.backward(output))
        if batch >= 3:
            times.append(took)
        if len(times) >= BATCHES and time.perf_counter() - begin > SECONDS:
            break
    return {"us": statistics.median(times), "calls": len(times)}


def measure_all(kind, case, device, clock):
    """{"forward" or "backward_OPTIMIZER": ..}, or why it failed."""
    found = {}
    try:
        for optimizer in kind.optimizers:
            peer = kind(case, device, optimizer)
            for operation in (["forward"] if not found else []) + ["backward_" + optimizer]:
                found[operation] = measure(peer, operation, clock)
            del peer
    except (RuntimeError, ImportError, TypeError, AttributeError) as error:
        found["error"] = str(error).splitlines()[0]
        print(f"torch_worker: {kind.__name__}, case {case['name']}: {found['error']}", file=sys.stderr)
    return found


def main(folder, *names):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    clock = Clock(device)
    fbgemm, version = fbgemm_beside()
    for name in names:
        case, = (case for case in json.loads((folder / f"case_{name}.json").read_text()) if case["name"] == name)
        found = {"torch": torch.__version__, "device": device.type, "queued": clock.gpu, **measure_all(Torch, case, device, clock), "fbgemm_version": version}
        if fbgemm is not None:
            found["fbgemm"] = measure_all(Fbgemm, case, device, clock)
        (folder / f"torch_{name}.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
