# SPDX-License-Identifier: Apache-2.0
"""What each term of the model earns: how far predictions are off without it, on machines that were measured (the cases of a
campaign and the machine file that it was predicted by) and for the steps that others published."""
import json
import re
import statistics
import subprocess

from measured.campaigns import CAMPAIGNS
from measured.files import BadInput, machine_beside, median_ms, parse

LEAST_EARNED = 0.5  # points of MAPE, below which in all columns, of which there are two at least, a term is not worth having
TAKES_LONG = ("search",)  # plans that are made anew for each prediction


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BadInput(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def names(program):
    """All that `predict --without` takes."""
    return [line.split()[0] for line in run(program, "list", "terms").splitlines() if line.startswith("  ")]


def published_error(program, without):
    """The MAPE of the steps that are built in, in percent."""
    page = run(program, "predict", "--published", "mlperf-training", *without)
    return float(re.search(r"(?m)^  all +\d+ +\d+ +(\S+)", page)[1])


class Measured:
    """A campaign of predictions beside the machine that predicted them."""
    def __init__(self, program, file):
        self.program, self.machine = program, machine_beside(file)
        self.workloads = {}
        for record in parse(file)[1]:
            if record["plan"] not in TAKES_LONG:
                self.workloads.setdefault(record["workload"], {})[record["plan"]] = record

    def error(self, without):
        """The MAPE of its cases, in percent."""
        errors = []
        for workload, cases in self.workloads.items():
            record = next(iter(cases.values()))
            options = record["options"]
            page = run(self.program, "predict", workload, "--scale", f"1/{options['scale']}", "--batch", options["batch"], "--exchange",
                       options["exchange"], "--plan", ",".join(cases), "--ranks", record["ranks"], "--machine", self.machine, "--format",
                       "json", *without)
            errors += [abs(case["step_ms"] / median_ms(cases[case["plan"]]) - 1) for case in json.loads(page)["cases"] if "step_ms" in case]
        return 100 * statistics.mean(errors)


def table(program, folder):
    """A line for each term and part: by how many points MAPE rises without it."""
    sources = {"published steps": lambda without: published_error(program, without)}
    for campaign in CAMPAIGNS:
        file = folder / f"{campaign.name}{campaign.suffix}"
        if campaign.kind == "predictions" and file.exists() and machine_beside(file).exists():
            sources[campaign.name] = Measured(program, file).error
    whole = {name: error(()) for name, error in sources.items()}
    rows = [("with all", *(f"{error:.1f} %" for error in whole.values()), "")]
    for name in names(program):
        earned = [error(("--without", name)) - whole[source] for source, error in sources.items()]
        judged = len(sources) > 1 and max(earned) < LEAST_EARNED  # calibrated terms are not there for published steps
        rows.append((name, *(f"{points:+.2f}" for points in earned), "not worth having" if judged else ""))
    head = ("without", *sources, "")
    widths = [max(len(str(row[c])) for row in (head, *rows)) for c in range(len(head))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in (head, *rows))
