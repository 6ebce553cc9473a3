# SPDX-License-Identifier: Apache-2.0
"""One rank of the peer of scripts/peers/torchrec: a JSON request per line on stdin, {"ms", "calls"} or what a check found on
stdout. Ranks talk by gloo."""
import datetime
import gc
import os
import shutil
import sys
import time
from pathlib import Path

import fbgemm_gpu
import numpy
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
import torchrec
from torchrec.distributed import comm_ops

from torchrec_check import check
from torchrec_model import EVICTION_INTERVAL, Embeddings, WholeStep, features_of, jagged, sharded, slots_of
from worker import draw_ids, serve, versions

FEWEST_CALLS = 8
SAVES = 3
WARM_UP = 4


def connect():
    if not dist.is_initialized():
        dist.init_process_group("gloo", init_method=os.environ["PEERS_MEET"], rank=int(os.environ["RANK"]),
                                world_size=int(os.environ["WORLD_SIZE"]), timeout=datetime.timedelta(minutes=2))


def together(step, seconds, most=sys.maxsize, warm_up=WARM_UP):
    """Medians of steps, each the slowest rank's, as many on all ranks; barriers between them."""
    times = []

    def once(number):
        dist.barrier()
        begin = time.perf_counter()
        step(number)
        times.append(time.perf_counter() - begin)
    for number in range(warm_up):
        once(number)
    took = torch.tensor(times[-1])
    dist.all_reduce(took, op=dist.ReduceOp.MAX)
    calls = min(max(FEWEST_CALLS, int(seconds / took.item())), most)
    for number in range(warm_up, warm_up + calls):
        once(number)
    slowest = torch.tensor(times[warm_up:])
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return {"ms": slowest.median().item() * 1e3, "calls": len(slowest)}


def expect_known(model, request, ids):
    """Throws where an id is none of the keys that have a slot."""
    _, slots = model(ids)
    for table, found, wanted in zip(request["tables"], slots.to_dict().values(), ids.to_dict().values()):
        if not torch.equal(found.values(), slots_of(wanted.values(), table, dist.get_world_size())):
            raise ValueError(f"table {table['name']}: an id has not the slot that it was given")


def saves(model, step, batches, gradient, folder):
    """Times saves of rows and state after a step each, synced to the disk, each in a folder of its own."""
    step(batches[0], gradient)
    saved = Path(folder) / "theirs"

    def save(number):
        checkpoint.save({"model": model.state_dict(), "optimizer": model.fused_optimizer.state_dict()},
                        storage_writer=checkpoint.FileSystemWriter(saved / str(number), sync_files=True))
    found = together(save, 0, SAVES, 1)
    if dist.get_rank() == 0:
        shutil.rmtree(saved)
    return found


def measure(request):
    tables, dense, samples = request["tables"], request["dense"], request["batch"] // dist.get_world_size()
    # It divides gradients by the ranks, a pass over all of them; with a loss that is a mean over samples it has to.
    comm_ops.set_gradient_division(bool(dense) or not request["tuned"])
    torch.manual_seed(request["seed"])
    model = sharded(request, dist.get_world_size())
    random = numpy.random.default_rng((request["seed"], dist.get_rank()))
    lengths = torch.ones(len(tables) * samples, dtype=torch.int64)
    batches = [jagged(features_of(request), torch.from_numpy(numpy.concatenate(
        [draw_ids(random, table["rows"], samples, request["alpha"]) for table in tables])), lengths) for _ in range(request["batches"])]
    if dense:
        step = WholeStep(model, request["dense_learning_rate"], request["tuned"])
        numerical, labels = torch.randn(samples, dense["numerical_features"]), (torch.arange(samples) % 4 == 0).float()
        return together(lambda number: step(numerical, batches[number % len(batches)], labels), request["seconds"])
    step = Embeddings(model)
    gradient = torch.randn(samples, sum(table["dim"] for table in tables)).mul_(2.0**-10)
    operation = request["operation"]
    if operation == "save":
        return saves(model, step, batches, gradient, request["folder"])
    if operation == "keys":
        expect_known(model, request, batches[0])
    return together(lambda number: step(batches[number % len(batches)], gradient), request["seconds"],
                    EVICTION_INTERVAL - WARM_UP - 2 if operation == "keys" else sys.maxsize)


def answer(request):
    connect()
    found = check(request) if "step" in request else measure(request)
    gc.collect()
    return found


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    serve(versions(torchrec=torchrec.__version__, fbgemm=fbgemm_gpu.__version__), answer)
    os._exit(0)  # gloo's threads abort in destructors otherwise
