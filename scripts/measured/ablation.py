# SPDX-License-Identifier: Apache-2.0
"""What each term of the model earns: how far predictions are off without it, on machines that were measured (the cases of a
campaign and the machine file that it was predicted by) and for the steps that others published."""
import json
import re
import statistics
import subprocess

from measured.campaigns import CAMPAIGNS, PUBLISHED
from measured.files import BadInput, machines_beside, median_ms, parse
from measured.predictions import published_error, published_records

LEAST_EARNED = 0.5  # points of MAPE, below which in all columns, one of them of cases measured here, a term is not worth having
# Why some are there all the same. The table leaves a term out of a model that was fitted with it; fitted anew without it, others change too.
KEPT = {
    "route.sort_digit": "few ids whose rows travel one by one: their routing is 5 % off in calibrations, fitted without it 32 % (decision 064)",
    "lookup.line": "without it rows in memory cost what cached ones do; cases here are predicted too slow on average, so that less seems better",
    "lookup.mixed_bag": "half of the lookups of small batches whose rows are split",
    "output.value": "fitted without it, output.far_value is 17 % too much: 0.6 to 1.2 points (decision 063)",
    "output.pooled_value": "more than a third of output_dist where rows travel one by one (row_wise of criteo-kaggle)",
    "gradient.summed_value": "the same of grad_dist",
    "gradient.summed_id": "the same of grad_dist",
    "update.row": "0.6 points where the other terms that earn nothing are left out too",
    "calls": "small exchanges of many ranks: no case here has more than 112",
    "rounds": "small exchanges of many ranks: no case here has more than 112",
    "node_limit": "nodes of several GPUs and fewer links: one case here",
    "row_shares": "rows of other sizes than these cases have",
    "limit": "the order of plans: Spearman of the worst workload 0.93, without it 0.87 (decision 062)",
}
TAKES_LONG = ("search",)  # plans that are made anew for each prediction


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BadInput(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def names(program):
    """All that `predict --without` takes, but for terms that are left out together: they stand below their part."""
    lines = [line for line in run(program, "list", "terms").splitlines() if line.startswith("  ")]
    together = {line.strip() for line in lines if line.startswith("    ")}
    return [line.split()[0] for line in lines if line.split()[0] not in together]


def known_half_error(program, without):
    """The MAPE of the steps that are built in, in percent."""
    page = run(program, "predict", "--published", "mlperf-training", *without)
    return float(re.search(r"(?m)^  all +\d+ +\d+ +(\S+)", page)[1])


def holdout_error(program, without):
    """The MAPE of the steps that others published of their workloads on machines that are described whole, in percent."""
    records = [record for part in PUBLISHED for record in published_records(run(program, *part.command[1:], *without), part.name)]
    return 100 * statistics.mean(abs(published_error(record)) for record in records if record["held_out"])


def settings(record):
    """The words that ask for the options of a case, which differ from those of its workload."""
    def text(value):
        return str(value).lower() if isinstance(value, bool) else str(value)
    options = record["options"]
    return tuple(word for name in ("exchange", "batch", *record["changed"]) for word in ("--set", f"{name}={text(options[name])}"))


class Measured:
    """A campaign of predictions beside the machines that predicted them."""
    def __init__(self, program, file):
        self.program, machines = program, machines_beside(file)
        self.jobs = {}  # {(machine, workload, ranks, settings): {plan: record}}
        for record in parse(file)[1]:
            machine = machines.get(record.get("part"), machines.get(""))
            if machine and record["plan"] not in TAKES_LONG and record.get("predicted_ms") is not None:
                self.jobs.setdefault((machine, record["workload"], record["ranks"], settings(record)), {})[record["plan"]] = record

    def error(self, without):
        """The MAPE of its cases, in percent."""
        errors = []
        for (machine, workload, ranks, words), cases in self.jobs.items():
            page = run(self.program, "predict", workload, *words, "--plan", ",".join(cases), "--ranks", ranks, "--machine", machine,
                       "--format", "json", *without)
            errors += [abs(case["step_ms"] / median_ms(cases[case["plan"]]) - 1) for case in json.loads(page)["cases"] if "step_ms" in case]
        return 100 * statistics.mean(errors)


def table(program, folder):
    """A line for each term and part: by how many points MAPE rises without it."""
    sources = {"known half": lambda without: known_half_error(program, without), "holdout": lambda without: holdout_error(program, without)}
    for campaign in CAMPAIGNS:
        file = folder / f"{campaign.name}{campaign.suffix}"
        if campaign.kind in ("predictions", "options") and file.exists() and (measured := Measured(program, file)).jobs:
            sources[campaign.name] = measured.error
    whole = {name: error(()) for name, error in sources.items()}
    rows = [("with all", *(f"{error:.1f} %" for error in whole.values()), "")]
    for name in names(program):
        earned = [error(("--without", name)) - whole[source] for source, error in sources.items()]
        judged = len(sources) > 2 and max(earned) < LEAST_EARNED  # some terms are only there for machines that were measured
        verdict = f"kept: {KEPT[name]}" if name in KEPT else "not worth having"
        rows.append((name, *(f"{points:+.2f}" for points in earned), verdict if judged else ""))
    head = ("without", *sources, "")
    widths = [max(len(str(row[c])) for row in (head, *rows)) for c in range(len(head))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in (head, *rows))
