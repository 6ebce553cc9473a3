#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: table.py FOLDER, or table.py --sizes, --steps, --launches or --metrics. Prints what `borrowed` found in the folder: tests, a row per
kernel and case, a row per launch that ncu looked at. --sizes: what it measures, a line "CASE BATCH_TIMES FILTER" each.
--launches: what ncu looks at, "NAME BATCH_TIMES FILTER LAUNCHES_BEFORE LAUNCHES" each. --metrics: what it is asked for."""
import csv
import json
import pathlib
import re
import sys

GPU_SIZES = {"a": 16, "b": 8, "c": 8, "d": 4, "e": 8}  # of each case, by how many times its batch is that on processors
KERNELS = ("pooled_lookup/case:{case}/.*values:{values}/ids:int64/major:feature",
           "backward_update/case:{case}/.*values:fp32/ids:int64/optimizer:(sgd|rowwise_adagrad)/manual_time",
           "(bucketize|unique_rows|expand_positions|check_bags|pack_vectors|unpack_vectors)/case:{case}/.*")
LOOKUP, BACKWARD = "pooled_lookup/case:{case}/.*fp32/ids:int64/major:feature", "backward_update/case:{case}/.*fp32.*rowwise_adagrad/manual"
LAUNCHES = (("lookup", "a", LOOKUP, 3, 1), ("lookup", "d", LOOKUP, 3, 1), ("backward", "a", BACKWARD, 26, 13),
            ("backward", "d", BACKWARD, 26, 13), ("bucketize", "d", "bucketize/case:{case}/.*fp32", 9, 8))
METRICS = {"us": "gpu__time_duration.sum", "MB": "dram__bytes.sum", "memory %": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
           "L2 %": "lts__throughput.avg.pct_of_peak_sustained_elapsed", "warps %": "sm__warps_active.avg.pct_of_peak_sustained_active",
           "issue %": "smsp__issue_active.avg.pct_of_peak_sustained_active", "registers": "launch__registers_per_thread"}
# Of steps, with one rank: a name, and the arguments of the program.
STEPS = {"kaggle": "run criteo-kaggle --batch 65536", "kaggle-8192": "run criteo-kaggle --batch 8192",
         "kaggle-staged": "run criteo-kaggle --batch 65536 --exchange host_staged",
         "kaggle-dlrm": "run criteo-kaggle --batch 8192 --dense dlrm --check 1", "dcnv2": "run dlrm-dcnv2 --scale 1/8 --batch 2048 --check 1"}
UNITS = {"us": 1e-3, "MB": 1e-6}  # ncu gives nanoseconds and bytes
PHASES = ("input_dist", "lookup", "output_dist", "dense", "grad_dist", "update")
STEP_HEAD = ("step", "batch", "exchange", "ms", "95 %", "samples/s", *(phase.removesuffix("_dist") for phase in PHASES), "steps", "wrong")
HEAD = ("kernel", "us", "GB/s", "PyTorch us", "times", "FBGEMM us", "times", "share of ceilings")


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


def card(folder):
    """Lines of what nvidia-smi said of the GPU."""
    try:
        with open(folder / "gpu.csv", encoding="utf-8") as file:
            row = next(csv.DictReader(file, skipinitialspace=True))
    except (OSError, StopIteration):
        return ["no GPU"]
    return [f"{row['name']}, {row['memory.total [MiB]']}, driver {row['driver_version']}, at most {row['clocks.max.sm [MHz]']}"]


def tests(folder):
    """A line per test program and number of ranks, and one per failed test."""
    lines, counts = [], {}
    for path in sorted(folder.glob("test_*.exit")):
        found = read(path.with_suffix(".json"))
        code = path.read_text().strip()
        if found is None:
            log = path.with_suffix(".log").read_text(errors="replace").splitlines()
            last = max((i for i, line in enumerate(log) if line.startswith("[ RUN ")), default=0)
            passed = sum(line.startswith("[       OK ]") for line in log)
            lines += [f"{path.stem}: ended with {code} before it could report, after {passed} tests:", *log[last:last + 6]]
            continue
        all_tests = [(suite["name"], test) for suite in found["testsuites"] for test in suite["testsuite"]]
        skipped = sum(test["result"] == "SKIPPED" for _, test in all_tests)
        count = counts.setdefault(re.sub(r"(\.np\d)\.\d$", r"\1", path.stem), [0, 0, 0])
        for i, number in enumerate((len(all_tests), found["failures"], skipped)):
            count[i] += number
        lines += [f"  FAILED {suite}.{test['name']}" for suite, test in all_tests if test.get("failures")]
    lines += [f"{name}: {number} tests, {failed} failed, {skipped} skipped" for name, (number, failed, skipped) in counts.items()]
    memcheck = folder / "memcheck.log"
    if memcheck.exists():
        lines.append("memcheck: " + " | ".join(memcheck.read_text(errors="replace").splitlines()[-3:]))
    return lines


def ceilings(row):
    """The shares of the ceilings that were measured beside the kernel: "gather 83 %"."""
    names = [key[:-2] for key in row if key.endswith("_%") and key[:-2] + "_us" in row]
    return ", ".join(f"{name} {row[name + '_%']:.0f} %" for name in names)


def beside_peer(peer, name, median_us):
    """Cells of what a peer took for the same, and how many times as long that is."""
    optimizer = re.search("^backward_update/.*optimizer:([a-z_]+)", name)
    operation = "forward" if name.startswith("pooled_lookup") else f"backward_{optimizer[1]}" if optimizer else None
    if "values:fp32" not in name or operation not in (peer or {}):
        return "", ""
    return f"{peer[operation]['us']:.1f}", f"{peer[operation]['us'] / median_us:.2f}"


def kernels(folder):
    """Cells of the rows under HEAD."""
    rows = []
    for case in GPU_SIZES:
        found, torch = read(folder / f"kernels_{case}.json"), read(folder / f"torch_{case}.json")
        for row in found["benchmarks"] if found else []:
            name = re.sub("/(tables|rows|manual_time).*?(?=/|$)", "", row["name"])
            if "error_occurred" in row:
                rows.append((name, *[""] * (len(HEAD) - 2), row["error_message"]))
                continue
            peers = (cell for peer in (torch, (torch or {}).get("fbgemm")) for cell in beside_peer(peer, row["name"], row["median_us"]))
            rows.append((name, f"{row['median_us']:.1f}", f"{row['GB/s']:.0f}", *peers, ceilings(row)))
    return rows


def steps(folder):
    """Cells of the rows under STEP_HEAD: the cases that `borrowed steps` has measured."""
    rows = []
    for name in STEPS:
        try:
            lines = (folder / f"steps_{name}.jsonl").read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        for case in (record for record in map(json.loads, lines) if record["record"] == "case"):
            step, options = case["step_ms"], case["options"]
            judged = f"{case['wrong']}" if case["checked_steps"] else "unchecked"
            rows.append((name, f"{options['batch']:,}", case.get("picked") or options["exchange"], f"{step['median']:.3f}",
                         f"[{step['low']:.3f}, {step['high']:.3f}]", f"{case['samples_per_s']:,.0f}",
                         *(f"{case['phases'][phase]['median_ms']:.3f}" for phase in PHASES), f"{step['n']}", judged))
    return rows


def print_table(head, rows):
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        cells = [cell.ljust(width) if head[i] in ("kernel", "launch", "step", "exchange", HEAD[-1]) else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def launches(folder):
    """Cells of the rows under "launch" and METRICS."""
    rows = []
    for path in sorted(folder.glob("ncu_*.csv")):
        lines = path.read_text(errors="replace").splitlines()
        start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
        of_launch = {}
        for row in csv.DictReader(lines[start:]):
            of_launch.setdefault(row["ID"], {"name": row["Kernel Name"]})[row["Metric Name"]] = row["Metric Value"]
        for launch in of_launch.values():
            words = re.findall(r"(\w+)<|(Device\w+Kernel)", launch["name"].partition("Parallel")[2] or launch["name"])
            name = next((word for pair in words for word in pair if word and word not in ("For", "Scan", "Reduce", "View")), "")
            values = ((key, launch.get(metric)) for key, metric in METRICS.items())
            cells = (f"{float(value.replace(',', '')) * UNITS.get(key, 1):.1f}" if value else "" for key, value in values)
            rows.append((f"{path.stem[4:]}: {name}", *cells))
    return rows


def markdown(head, rule, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def page(folder):
    """The page of a GPU in Markdown, or None for a folder of something else."""
    context = next((found["context"] for case in GPU_SIZES if (found := read(folder / f"kernels_{case}.json"))), None)
    if context is None or not (folder / "gpu.csv").exists():
        return None
    peers = next((found for case in GPU_SIZES if (found := read(folder / f"torch_{case}.json"))), {})
    torch, fbgemm = peers.get("torch", "none"), peers.get("fbgemm_version", "absent")
    of_steps = ""
    if taken := steps(folder):
        of_steps = ("\nSteps (`borrowed steps`), one rank: `shardmark run` as `table.py` lists it, milliseconds, phases by CUDA events, each case checked "
                    "before and after it was timed:\n\n" + markdown(STEP_HEAD, ("--", "--:", "--", *["--:"] * (len(STEP_HEAD) - 3)), taken) + "\n")
    table = markdown(HEAD, ("--", *["--:"] * (len(HEAD) - 2), "--"), kernels(folder))
    if looked := launches(folder):
        table += "\n\nBy ncu, launch by launch; `step` is one step of case `kaggle`, whose other time goes into copies and gaps:\n\n" + markdown(("launch", *METRICS), ("--", *["--:"] * len(METRICS)), looked)
    return (f"# {folder.name}\n\n{card(folder)[0]}; {context['date'][:10]}, commit {context['git_hash'][:12]}, "
            f"PyTorch {torch}, FBGEMM {fbgemm}. Made by `scripts/gpu/borrowed tests`, `steps` and `measure` ([GPUs](../../../docs/gpu.md)).\n\n"
            + "".join(f"- {line.strip()}\n" for line in tests(folder))
            + of_steps + "\nKernels. Medians of calls by CUDA events, the batches of ids taking turns. GB/s: the bytes that the kernel has to move, "
            "each read of a row counted once for a batch, by its time. Ceilings: moving the same rows and nothing else, measured between the calls; "
            "`rmw` reads and writes rows and state in the order of the ids, `sorted_rmw` ascending, `backward` also sorts and "
            "reads the gradients. PyTorch: `embedding_bag` over one matrix of all tables, forward, and backward with sparse "
            "gradients and SGD"
            + ("; each call of a peer is queued while the GPU waits, so that no time of its host counts" if peers.get("queued") else "")
            + ". FBGEMM: its table-batched embeddings, "
            f"a table for each of the case, backward with sort and update.\n\n{table}\n")


def main(argument):
    if argument == "--sizes":
        sizes()
        return
    if argument == "--steps":
        for name, arguments in STEPS.items():
            print(name, arguments)
        return
    if argument == "--launches":
        for name, case, kernel, before, count in LAUNCHES:
            print(f"{name}-{case}", GPU_SIZES[case], kernel.format(case=case), before, count)
        return
    if argument == "--metrics":
        print(",".join(METRICS.values()))
        return
    folder = pathlib.Path(argument)
    print("\n".join(card(folder) + tests(folder)))
    for head, rows in ((STEP_HEAD, steps(folder)), (HEAD, kernels(folder)), (("launch", *METRICS), launches(folder))):
        if rows:
            print_table(head, rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
