#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: table.py FOLDER, or table.py --sizes. Prints what `borrowed` found in the folder: tests, then a row per kernel and case.
--sizes: what it measures, a line "CASE BATCH_TIMES FILTER" each."""
import json
import pathlib
import re
import sys

# case: (its batch on a GPU over that on processors, operations)
GPU_SIZES = {"a": 16, "b": 8, "c": 8, "d": 4, "e": 8}
KERNELS = ("pooled_lookup/case:{case}/.*values:{values}/ids:int64/major:feature",
           "backward_update/case:{case}/.*values:fp32/ids:int64/optimizer:(sgd|rowwise_adagrad)/manual_time",
           "(bucketize|unique_rows|expand_positions|check_bags|pack_vectors)/case:{case}/.*")


def sizes():
    for case, times in GPU_SIZES.items():
        values = "(fp32|bf16)" if case in "ad" else "fp32"
        kernels = KERNELS if case in "ad" else KERNELS[:2]
        print(case, times, "|".join(kernel.format(case=case, values=values) for kernel in kernels))


def read(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def print_tests(folder):
    for path in sorted(folder.glob("test_*.exit")):
        found = read(path.with_suffix(".json"))
        code = path.read_text().strip()
        if found is None:
            log = path.with_suffix(".log").read_text(errors="replace").splitlines()
            last = max((i for i, line in enumerate(log) if line.startswith("[ RUN ")), default=0)
            passed = sum(line.startswith("[       OK ]") for line in log)
            print(f"{path.stem}: ended with {code} before it could report, after {passed} tests:")
            print("\n".join(log[last:last + 6]))
            continue
        failed = [f"{suite['name']}.{test['name']}" for suite in found["testsuites"] for test in suite["testsuite"]
                  if test.get("failures")]
        skipped = sum(test["result"] == "SKIPPED" for suite in found["testsuites"] for test in suite["testsuite"])
        print(f"{path.stem}: {found['tests']} tests, {found['failures']} failed, {skipped} skipped, exit {code}, {found['time']}")
        for name in failed:
            print(f"  FAILED {name}")
    memcheck = folder / "memcheck.log"
    if memcheck.exists():
        print("memcheck: " + " | ".join(memcheck.read_text(errors="replace").splitlines()[-3:]))


def ceilings(row):
    """The shares of the ceilings that were measured beside the kernel: "gather 83 %"."""
    names = [key[:-2] for key in row if key.endswith("_%") and key[:-2] + "_us" in row]
    return ", ".join(f"{name} {row[name + '_%']:.0f} %" for name in names)


def peer_us(torch, name):
    operation = "forward" if name.startswith("pooled_lookup") else "backward_sgd" if "optimizer:sgd" in name else None
    if torch is None or operation is None or "values:fp32" not in name:
        return None
    return torch[operation]["us"]


def print_kernels(folder):
    print(f"{'kernel':58} {'us':>9} {'GB/s':>7}  {'PyTorch us':>10} {'times':>6}  share of ceilings")
    for case in GPU_SIZES:
        found, torch = read(folder / f"kernels_{case}.json"), read(folder / f"torch_{case}.json")
        for row in found["benchmarks"] if found else []:
            name = re.sub("/(tables|rows|manual_time).*?(?=/|$)", "", row["name"])
            if "error_occurred" in row:
                print(f"{name:58} {row['error_message']}")
                continue
            peer = peer_us(torch, row["name"])
            beside = f"{peer:10.1f} {peer / row['median_us']:6.2f}" if peer else " " * 17
            print(f"{name:58} {row['median_us']:9.1f} {row['GB/s']:7.0f}  {beside}  {ceilings(row)}")


def main(argument):
    if argument == "--sizes":
        sizes()
        return
    folder = pathlib.Path(argument)
    gpu = folder / "gpu.csv"
    print(gpu.read_text().strip() if gpu.exists() else "no GPU")
    print_tests(folder)
    if any(folder.glob("kernels_*.json")):
        print_kernels(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
