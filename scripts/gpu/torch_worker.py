#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: torch_worker.py FOLDER CASE... PyTorch's embedding_bag on cases of `shardmark-kernels --list-cases`, read from
case_NAME.json of the folder, on a GPU where there is one: forward, and backward with sparse gradients and SGD. Writes
torch_NAME.json, {operation: {"us", "calls"}}."""
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
SECONDS = 4


class Bags:
    """All tables in one matrix: one call of embedding_bag, where a call per table would take longer."""

    def __init__(self, case, device):
        random = numpy.random.default_rng(7)
        first_rows = numpy.cumsum([0, *case["rows"]])
        lengths = numpy.repeat(case["hotness"], case["batch"])
        self.offsets = torch.from_numpy(numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int64)).to(device)
        self.ids = []
        for _ in range(BATCHES):
            ids = [draw_ids(random, rows, case["batch"] * hotness, case["alpha"]) + first
                   for rows, hotness, first in zip(case["rows"], case["hotness"], first_rows)]
            self.ids.append(torch.from_numpy(numpy.concatenate(ids)).to(device))
        self.weights = torch.nn.Parameter(torch.full((sum(case["rows"]), case["dim"]), 0.01, device=device))
        self.optimizer = torch.optim.SGD([self.weights], lr=2.0**-10)
        self.gradient = torch.randn(len(lengths), case["dim"], device=device)

    def forward(self, batch):
        return torch.nn.functional.embedding_bag(self.ids[batch % BATCHES], self.weights, self.offsets, mode="sum", sparse=True,
                                                 include_last_offset=True)

    def backward(self, output):
        output.backward(self.gradient)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


class Clock:
    """Microseconds of a call: by events on a GPU, else by the host."""

    def __init__(self, device):
        self.gpu = device.type == "cuda"

    def __call__(self, call):
        if not self.gpu:
            begin = time.perf_counter()
            call()
            return (time.perf_counter() - begin) * 1e6
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3


def measure(bags, operation, clock):
    """Median over the calls, the batches taking turns, after three to warm up."""
    times = []
    begin = time.perf_counter()
    for batch in range(CALLS + 3):
        if operation == "forward":
            with torch.no_grad():
                took = clock(lambda: bags.forward(batch))
        else:
            output = bags.forward(batch)
            took = clock(lambda: bags.backward(output))
        if batch >= 3:
            times.append(took)
        if len(times) >= BATCHES and time.perf_counter() - begin > SECONDS:
            break
    return {"us": statistics.median(times), "calls": len(times)}


def main(folder, *names):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    clock = Clock(device)
    for name in names:
        case, = (case for case in json.loads((folder / f"case_{name}.json").read_text()) if case["name"] == name)
        bags = Bags(case, device)
        found = {"torch": torch.__version__, "device": device.type,
                 **{operation: measure(bags, operation, clock) for operation in ("forward", "backward_sgd")}}
        (folder / f"torch_{name}.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
