# SPDX-License-Identifier: Apache-2.0
"""One rank of the peer of scripts/peers/torchrec: a JSON request per line on stdin, {"ms", "calls"} or what a check found on
stdout. Ranks talk by gloo."""
import datetime
import gc
import os
import time

import fbgemm_gpu
import numpy
import torch
import torch.distributed as dist
import torchrec
from torchrec.distributed import comm_ops

from torchrec_check import check
from torchrec_model import Embeddings, WholeStep, features_of, jagged, sharded
from worker import draw_ids, serve, versions

BATCHES = 16
FEWEST_CALLS = 8
WARM_UP = 4


def connect():
    if not dist.is_initialized():
        dist.init_process_group("gloo", init_method=os.environ["PEERS_MEET"], rank=int(os.environ["RANK"]),
                                world_size=int(os.environ["WORLD_SIZE"]), timeout=datetime.timedelta(minutes=2))


def together(step, seconds):
    """Medians of steps, each the slowest rank's, as many on all ranks; barriers between them."""
    times = []

    def once(number):
        dist.barrier()
        begin = time.perf_counter()
        step(number)
        times.append(time.perf_counter() - begin)
    for number in range(WARM_UP):
        once(number)
    took = torch.tensor(times[-1])
    dist.all_reduce(took, op=dist.ReduceOp.MAX)
    for number in range(WARM_UP, WARM_UP + max(FEWEST_CALLS, int(seconds / took.item()))):
        once(number)
    slowest = torch.tensor(times[WARM_UP:])
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return {"ms": slowest.median().item() * 1e3, "calls": len(slowest)}


def measure(request):
    tables, dense, samples = request["tables"], request["dense"], request["batch"] // dist.get_world_size()
    # It divides gradients by the ranks, a pass over all of them; with a loss that is a mean over samples it has to.
    comm_ops.set_gradient_division(bool(dense) or not request["tuned"])
    torch.manual_seed(request["seed"])
    model = sharded(request, dist.get_world_size())
    random = numpy.random.default_rng((request["seed"], dist.get_rank()))
    lengths = torch.ones(len(tables) * samples, dtype=torch.int64)
    batches = [jagged(features_of(request), torch.from_numpy(numpy.concatenate(
        [draw_ids(random, table["rows"], samples, request["alpha"]) for table in tables])), lengths) for _ in range(BATCHES)]
    if dense:
        step = WholeStep(model, request["dense_learning_rate"], request["tuned"])
        numerical, labels = torch.randn(samples, dense["numerical_features"]), (torch.arange(samples) % 4 == 0).float()
        return together(lambda number: step(numerical, batches[number % BATCHES], labels), request["seconds"])
    step = Embeddings(model)
    gradient = torch.randn(samples, sum(table["dim"] for table in tables)).mul_(2.0**-10)
    return together(lambda number: step(batches[number % BATCHES], gradient), request["seconds"])


def answer(request):
    connect()
    found = check(request) if "step" in request else measure(request)
    gc.collect()
    return found


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    serve(versions(torchrec=torchrec.__version__, fbgemm=fbgemm_gpu.__version__), answer)
    os._exit(0)  # gloo's threads abort in destructors otherwise
