# SPDX-License-Identifier: Apache-2.0
"""Small files of results for the tests, with numbers that can be checked by eye.

SHARDMARK is the program that compares their cases."""
import json
import os
import tempfile
from pathlib import Path

from measured.campaigns import campaign_of
from measured.files import read


def environment(**more):
    return {"record": "environment", "format_version": 2, "time": "2026-11-23T08:00:00Z",
            "arguments": ["/home/me/shardmark", "compare", "criteo-kaggle"], "seed": 1,
            "build": {"version": "0.1.0", "git_hash": "0123456789abcdef", "dirty": False, "compiler": "GNU 12.2.0",
                      "flags": "-O3", "type": "Release"},
            "libraries": {"mpi": "Open MPI v4.1.4, package", "hdf5": "1.10.8"},
            "machine": {"cpu": "Some CPU", "logical_cpus": 2, "cores": 2, "memory_bytes": 24 << 30},
            "ranks": [{"rank": 0, "host": "secret7"}, {"rank": 1, "host": "secret7"}],
            "variables": {"OMP_PROC_BIND": "spread", "SLURM_JOB_NODELIST": "secret[7-8]"}, **more}


def case(plan, median, low, high, exchange="auto", transfer="dense_partials", wrong=0, wire="fp32", options=None, **more):
    return {"record": "case", "workload": "criteo-kaggle", "plan": plan,
            "options": {"scale": 1, "transfer": transfer, "exchange": exchange, "wire_forward": wire, "wire_backward": wire,
                        "wire_ids": "int32", "groups": 1, "optimizer": "rowwise_adagrad", "batch": 16384, **(options or {})},
            "changed": [], "ranks": 2, "threads": 1, "samples_per_s": 16384e3 / median,
            "step_ms": {"median": median, "low": low, "high": high, "n": 1, "samples": [median]},
            "phases": {"lookup": {"median_ms": median / 2, "mean_over_ranks_ms": median / 2, "bytes": 0},
                       "update": {"median_ms": median / 4, "mean_over_ranks_ms": median / 4, "bytes": 0}},
            "imbalance": 1.0, "sent_bytes_max": 6_900_000, "predicted_ms": None, "checked_steps": 2, "wrong": wrong, **more}


def exchange(skew, size, name, median, low, high):
    return {"record": "exchange", "skew": skew, "bytes": size, "busiest_bytes": size, "exchange": name, "ranks": 2,
            "time_ms": {"min": low, "median": median, "p99": high, "low": low, "high": high, "n": 1, "samples": [median]},
            "algbw_bytes_per_s": 1, "busbw_bytes_per_s": 1, "ping_pong_ms": median / 2, "wrong": 0}


def time(case_name, operation, system, setting, ms, number=0):
    return {"record": "time", "pass": number, "case": case_name, "operation": operation, "system": system,
            "setting": setting, "ms": ms, "calls": 9}


def train_case(part, storage, median, scale=1, plan="table_wise", **more):
    """Of a table of 10^6 / scale rows of 64, whose cores hold 100,000 values; intervals are 5 % wide on both sides."""
    told = {"parameters": 100_000, "compression": 640 / scale, "us_per_lookup": 0.2, "us_per_lookup_of_step": 0.3,
            "nominal_gflops": 100.0, "executed_gflops": 40.0, "fbtt_printed_gflops": 1000.0, "fbtt_published_us_per_lookup": 0.416,
            "rows": 9000, "prefixes": [500, 9000], **more}
    return case(plan, median, 0.95 * median, 1.05 * median, part=part, options={"storage": storage, "dim": 64},
                table_bytes_max=256_000_000 // scale if storage == "dense" else 400_000,
                **({"tensor_train": told} if storage == "tt" else {}))


def train_time(system, setting, ms, number=0, **more):
    return {**time("tt-zipf", "step", system, setting, ms, number), **more}


TRAINS = [environment(), train_case("uniform", "tt", 4), train_case("zipf", "tt", 3), train_case("drift", "tt", 3.5),
          *(train_case(f"rows{scale}", storage, ms, scale, plan) for scale, plan, dense, tt in (
              (1, "table_wise", 2, 6), (10, "table_wise", 2, 5), (10, "data_parallel", 30, 5), (100, "data_parallel", 4, 4.5))
            for storage, ms in (("dense", dense), ("tt", tt))),
          train_case("cache", "dense", 2, 10), train_case("cache", "tt", 2.5, 10, cache={"hit_rate": 0.875})]
TRAIN_PEERS = [environment(shardmark={"cpu": "Some CPU", "threads": "2", "git_hash": "0123456789abcdef", "compiler": "GNU 12",
                                      "transparent_huge_pages": "madvise", "date": "2026-11-23"}, torch="2.10", capability="AVX2"),
               train_time("shardmark", "as built", 5, **{"us/lookup": 0.5, "gemm_%": 30.0}),
               train_time("chunks", "tuned", 100), train_time("chunks", "as installed", 110),
               train_time("groups", "tuned", 20), train_time("groups", "as installed", 15)]
DENSE_PEERS = [environment(shardmark={**TRAIN_PEERS[0]["shardmark"], "blas": "OpenBLAS"}, torch="2.10", capability="AVX2"),
               *(time("dlrm-kaggle", operation, *system, ms) | more for operation, scale in (("sgd", 1), ("adagrad", 4))
                 for system, ms, more in (
                     (("shardmark", "as built"), 10 * scale, {"GFLOP/s": 160.0, "gemm_%": 90.0, "peak_%": 80.0}),
                     (("torch", "tuned"), 15 * scale, {}), (("torch.compile", "tuned"), 12 * scale, {})))]
STEP_PEERS = [environment(torchrec={"torchrec": "1.5", "fbgemm": "1.5", "torch": "2.10"}),
              *(time("table_wise, 16,384", operation, *system, ms) | more for operation, ours in (("none", 8), ("dlrm", 40), ("keys", 16), ("save", 100))
                for system, ms, more in (
                    (("torchrec", "as installed"), 5 * ours, {}), (("torchrec", "tuned"), 4 * ours, {}),
                    (("shardmark", "as built"), ours, {"ranks": 2, "threads": 1, "exchange": "node_shared", "phases": {
                        "input_dist": 1.0, "lookup": 2.0, "output_dist": 0.1, "dense": 3.0, "grad_dist": 0.5, "update": 4.0}})))]


def saved_case(part, seconds, waited, **ceiling):
    return case("row_wise", 10, 9, 11, part=part, saved={
        **ceiling,
        "times": 4, "seconds": seconds, "bytes": 2_000_000_000, "gb_per_s": 2 / seconds, "sent_bytes": 1, "waited_seconds": waited,
        "longest_wait_seconds": waited / 2, "end_wait_seconds": 0.0, "steps_behind": 100 * (waited < seconds), "step_ms_behind": 11.0,
        "step_ms_between": 10.0})


def restored_case(part, ranks, seconds, **ceiling):
    return {**case("row_wise", 10, 9, 11, part=part, restored={
        **ceiling,
        "times": 1, "seconds": seconds, "bytes": 500_000_000, "gb_per_s": 0.5 / seconds, "sent_bytes": 1}), "ranks": ranks}


DYNAMIC = [environment(),
           {**case("row_wise", 10, 9.5, 10.5, part="steps", options={"storage": "dense"}), "predicted_ms": 9},
           {**case("row_wise", 12, 11.5, 12.5, part="steps", options={"storage": "dynamic"}, dynamic={
               "found": 90, "admitted": 10, "absent": 0, "bytes_per_row": 124.4, "key_bytes_per_row": 56.4}), "predicted_ms": 12.6},
           saved_case("stop", 4, 4, ceiling_gb_per_s=0.8), saved_case("behind", 16, 1), saved_case("changes", 2, 2), restored_case("restore2", 2, 0.25),
           restored_case("restore3", 3, 0.5), restored_case("disk", 2, 0.5, ceiling_gb_per_s=1.5, cached_share=0.1)]
MAPS = [{**environment(packages={"b": "1", "a": "2"}, threads=1, keys="8M"), "machine": {"cpu": "Some CPU"}},
        *({"record": "time", "pass": 0, "setting": "tuned", "operation": operation, "system": system, "ns": ns}
          for operation, ours in (("find", 10.0), ("insert", 40.0)) for system, ns in (("shardmark", ours), ("one", 2 * ours), ("two", 3 * ours)))]
PLACEMENTS = [environment(), case("row_wise", 40, 39, 41), case("table_wise", 20, 19, 21, "mpi_alltoallv"),
              case("data_parallel+table_wise", 19, 18.5, 19.5), case("table_wise", 25, 24, 26),
              case("column_wise", 10, 9, 11, wrong=3), case("grid", 60, 50, 70, stopped="after round 6")]


def predicted_case(workload, plan, measured, predicted, **more):
    """Intervals are 1 % wide on both sides; a case that was not predicted has None."""
    found = case(plan, measured, 0.99 * measured, 1.01 * measured, part=workload, **more)
    found["phases"]["lookup"] |= {"predicted_ms": measured / 3, "least_ms": measured / 8} if predicted else {}
    return {**found, "workload": workload, "predicted_ms": predicted}


# Errors +10, -5, -25, 0 %; ranks 3 2 1 4 beside 3 1 2 4; lookup_greedy is liked best.
PREDICTIONS = [environment(predicted_by={"name": "here", "source": "measured", "measured": True}),
               *(predicted_case("criteo-kaggle", *each) for each in (
                   ("row_wise", 20, 22), ("search", 10, 9.5), ("lookup_greedy:a=1", 12, 9), ("random:seed=1", 40, 40))),
               *(predicted_case("synthetic-tiny", *each) for each in (("table_wise", 10, 10), ("search", 10.3, 10.5))),
               predicted_case("synthetic-tiny", "torchrec", 5, 5, wrong=3)]
PUBLISHED = """# hugectr-dlrm, batch 65536: published, and predicted from described machines; a hold-out but for steps that chose a constant
machine      ranks plan         published ms predicted ms  error % embeddings ms  dense ms   share % held out
dgx-1-v100       8 slow               190.85       200.00     +4.8         150.0      50.0        75       no
dgx-1-v100       8 fast               103.45        70.00    -32.3          60.0      10.0        86      yes
# mean absolute error of the hold-out 32.3 %
# HugeCTR's notebook
"""
EXCHANGES = [environment(), exchange("uniform", 1024, "mpi_alltoallv", 0.004, 0.0039, 0.0041),
             exchange("uniform", 1024, "auto", 0.002, 0.0019, 0.0021), exchange("hot", 4 << 20, "mpi_alltoallv", 1, 0.9, 1.1),
             exchange("hot", 4 << 20, "auto", 1.5, 1.4, 1.6), exchange("hot", 4 << 20, "bruck:2", 0.95, 0.85, 1.05)]
PEERS = [environment(shardmark={"cpu": "Some CPU", "threads": "2", "git_hash": "0123456789abcdef", "compiler": "GNU 12",
                                "transparent_huge_pages": "madvise", "executable": "/home/me/x", "date": "2026-11-23"},
                     torch="2.10", fbgemm="1.5.0"),
         *(time(name, "forward", *system, ms) for name, ours in (("a", 2), ("b", 4)) for system, ms in (
             (("shardmark", "as built"), ours), (("fbgemm", "tuned"), 2 * ours), (("torch", "tuned"), 3 * ours),
             (("fbgemm", "as installed"), 5 * ours), (("torch", "as installed"), 4 * ours)))]
KERNELS = {"context": {"host_name": "secret7", "executable": "/home/me/x", "cpu": "Some CPU", "threads": "2", "date": "2026-11-23",
                       "git_hash": "0123456789abcdef"},
           "benchmarks": [{"name": f"pooled_lookup/case:{name}/rows:9/values:fp32/ids:int64/major:feature/manual_time",
                           "run_type": "iteration", "median_us": 5000.0, "gather_%": share, "GB/s": 8.0}
                          for name, share in (("a", 90.0), ("c", 40.0), ("a", 80.0), ("a", 95.0))]}


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(lines) if isinstance(lines, dict) else "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")


def program():
    return Path(os.environ["SHARDMARK"])


def results(name, lines):
    """The lines as scripts/report reads them from a file of the campaign."""
    campaign = campaign_of(name)
    with tempfile.TemporaryDirectory(prefix="shardmark-") as folder:
        path = Path(folder) / (name + campaign.suffix)
        write(path, lines)
        return read(campaign, path, program())
