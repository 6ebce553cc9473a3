# SPDX-License-Identifier: Apache-2.0
"""What each term of the model earns: how far predictions are off without it, on machines that were measured (the cases of a
campaign and the machine file that it was predicted by) and for the steps that others published."""
import json
import re
import statistics
import subprocess

from measured.campaigns import CAMPAIGNS, MACHINE
from measured.files import BadInput, median_ms, parse

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
    """A campaign of predictions whose machine file is still there."""
    def __init__(self, program, file, machine):
        self.program, self.machine = program, machine
        _, self.records = parse(file)
        campaign, = (each for each in CAMPAIGNS if each.name == file.stem)
        self.parts = {part.name: part.command for part in campaign.parts}

    def error(self, without):
        """The MAPE of its cases, in percent."""
        errors = []
        for name, command in self.parts.items():
            cases = {record["plan"]: record for record in self.records if record.get("part") == name and record["plan"] not in TAKES_LONG}
            if not cases:
                continue
            words = list(command[command.index("compare") + 1:])
            options = [word for option in ("--scale", "--batch") if option in words for word in words[words.index(option):][:2]]
            ranks = next(iter(cases.values()))["ranks"]
            page = run(self.program, "predict", words[0], *options, "--plan", ",".join(cases), "--ranks", ranks, "--exchange", "mpi_alltoallv",
                       "--machine", self.machine, "--format", "json", *without)
            errors += [abs(case["step_ms"] / median_ms(cases[case["plan"]]) - 1) for case in json.loads(page)["cases"] if "step_ms" in case]
        return 100 * statistics.mean(errors)


def table(program, folder, raw):
    """A line for each term and part: by how many points MAPE rises without it."""
    sources = {"published steps": lambda without: published_error(program, without)}
    for campaign in CAMPAIGNS:
        machine, file = raw / f"{campaign.name}-{MACHINE}", folder / f"{campaign.name}{campaign.suffix}"
        if campaign.kind == "predictions" and machine.exists() and file.exists():
            sources[campaign.name] = Measured(program, file, machine).error
    whole = {name: error(()) for name, error in sources.items()}
    rows = [("with all", *(f"{error:.1f} %" for error in whole.values()), "")]
    for name in names(program):
        earned = [error(("--without", name)) - whole[source] for source, error in sources.items()]
        judged = len(sources) > 1 and max(earned) < LEAST_EARNED  # calibrated terms are not there for published steps
        rows.append((name, *(f"{points:+.2f}" for points in earned), "not worth having" if judged else ""))
    head = ("without", *sources, "")
    widths = [max(len(str(row[c])) for row in (head, *rows)) for c in range(len(head))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in (head, *rows))
