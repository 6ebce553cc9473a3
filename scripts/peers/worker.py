# SPDX-License-Identifier: Apache-2.0
"""What the peers' sides of these scripts share: requests and replies, ids, the clock, the rate of large products."""
import gc
import json
import os
import statistics
import sys
import time

import numpy
import torch


def draw_ids(random, rows, count, alpha):
    """As kernels/bench/problem.cpp draws them: P(i) ~ (i + 1)^-alpha, uniform for alpha 0."""
    r = random.random(count)
    if alpha == 0:
        return (r * rows).astype(numpy.int64)
    g = 1 - alpha
    y = (r * ((rows + 1) ** g - 1) + 1) ** (1 / g)
    return numpy.clip(y.astype(numpy.int64) - 1, 0, rows - 1)


def timed(step, seconds, fewest, warm_up):
    """{"ms", "calls"} of step(number): the median over the calls that fit into the seconds, after some to warm up."""
    times = []
    while len(times) < warm_up + fewest or sum(times[warm_up:]) < seconds:
        begin = time.perf_counter()
        step(len(times))
        times.append(time.perf_counter() - begin)
    return {"ms": statistics.median(times[warm_up:]) * 1e3, "calls": len(times) - warm_up}


def peak(size=1024, calls=15):
    """Multiply-adds per second of the best of some products of large matrices, times two."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    out = torch.empty(size, size)
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        torch.mm(a, b, out=out)
        times.append(time.perf_counter() - begin)
    return {"gflops": 2e-9 * size**3 / min(times)}


def versions(**more):
    return {"torch": torch.__version__, "threads": torch.get_num_threads(),
            "capability": torch.backends.cpu.get_cpu_capability(), **more}


def serve(told, answer):
    """Says what is told once, then gives answer(request) for each JSON line of stdin: lines of stdout, which is taken from
    whatever else prints, libraries in C++ among them. What the peer throws becomes {"error"}: the others go on."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    print(json.dumps(told), file=replies, flush=True)
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:
            reply = {"error": str(error).strip().partition("\n")[0] or repr(error)}
        gc.collect()
        print(json.dumps(reply), file=replies, flush=True)
