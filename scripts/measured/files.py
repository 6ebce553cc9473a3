# SPDX-License-Identifier: Apache-2.0
"""Files of results: read, with what the program says of their cases; and stored beside others with what names a host or a
path of the machine left out."""
import json
import re
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

from measured.campaigns import CAMPAIGNS, MACHINE, Campaign

COMPARED = ("cases", "predictions", "options", "trains", "dynamic")  # kinds of campaigns whose cases the program compares


class BadInput(Exception):
    """One line: what and where."""


@dataclass(frozen=True)
class Results:
    """A file of results. `environment`: of a results file of shardmark, of the peers, or Google Benchmark's context.
    Cases have a number, valid, rank, ratio and error of the program too (as_json() of results/results_table.hpp)."""
    campaign: Campaign
    path: Path
    environment: dict
    records: list
    ratios: dict = None  # {(one, other), by their numbers: (ratio, low, high, distinguishable)}
    predictions: dict = None  # {workload, None of all: how good they were}

    @property
    def told(self):  # {"command", "note"} that scripts/measure put there
        return self.environment.get("campaign", {})

    @property
    def ranked(self):
        """The cases, as the program ranks those of a job: valid ones first, then the fastest."""
        return sorted(self.records, key=lambda record: record["rank"])

    @property
    def valid(self):
        return [record for record in self.ranked if record["valid"]]

    def faster_by(self, one, other):
        """(ratio, low, high): how many times as fast `one` is as `other`; both are valid and of one workload."""
        return self.ratios[one["number"], other["number"]][:3]

    def indistinguishable(self, one, other):
        return one is other or not self.ratios[one["number"], other["number"]][3]


def parse(path):
    """(environment, records) of JSON lines, or of Google Benchmark's JSON."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            found = json.loads(text)
            return found["context"], found["benchmarks"]
        lines = [json.loads(line) for line in text.splitlines()]
        environments = [line for line in lines if line["record"] == "environment"]  # the peers' may come later
        return environments[0], [line for line in lines if line["record"] != "environment"]
    except (json.JSONDecodeError, KeyError, IndexError, TypeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not a file of results ({error!r}); measure again") from error


def asked(program, command, path, *options, folder=None):
    """What `shardmark results COMMAND` prints of the file; wrong values (1) are told there."""
    if not program.exists():
        raise BadInput(f"no {program}, which computes what pages say: build preset release, or name one with --program")
    done = subprocess.run([program.resolve(), "results", command, path, *options], cwd=folder, text=True, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise BadInput(f"{program} results {command} {path} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def shown(program, path, *options, folder=None):
    return asked(program, "show", path, *options, folder=folder)


def read(campaign, path, program):
    environment, records = parse(path)
    if campaign.kind not in COMPARED:
        return Results(campaign, path, environment, records)
    facts, = json.loads(shown(program, path, "--format", "json"))
    ratios = {}
    for each in facts["ratios"]:
        slow, fast, ratio, low, high = (each[key] for key in ("slow", "fast", "ratio", "low", "high"))
        ratios[fast, slow] = ratio, low, high, each["distinguishable"]
        ratios[slow, fast] = 1 / ratio, high and 1 / high, low and 1 / low, each["distinguishable"]
    return Results(campaign, path, environment, [{**case, **record} for case, record in zip(facts["cases"], records, strict=True)],
                   ratios, {each["workload"]: each for each in facts["predictions"]})


def machines(folder, program):
    """{machine: [Results in the order of the campaigns]} of results/measured/; machines by name."""
    found = {}
    for machine in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = [(campaign, machine / (campaign.name + campaign.suffix)) for campaign in CAMPAIGNS]
        results = [read(campaign, path, program) for campaign, path in files if path.exists()]
        if results:
            found[machine.name] = results
    return found


def without_places(environment, program):
    """Hosts become host1, host2, ..., the program goes by its name; files, names of jobs and of the kernel's build go."""
    kept = {key: value for key, value in environment.items() if key not in ("host_name", "executable", "load_avg")}
    hosts = {}
    if "ranks" in kept:
        kept["ranks"] = [{**rank, "host": hosts.setdefault(rank["host"], f"host{len(hosts) + 1}")} for rank in kept["ranks"]]
    if kept.get("arguments"):
        words = kept["arguments"]
        words = [program, *(word for before, word in zip(words, words[1:]) if "--out" not in (before, word))]
        kept["arguments"] = [Path(word).name if word.startswith("/") else word for word in words]
    if "machine" in kept:
        kernel = re.match(r"[0-9.]+", kept["machine"].get("kernel") or "")
        kept["machine"] = {**kept["machine"], "kernel": kernel[0] if kernel else None}
    if "variables" in kept:
        kept["variables"] = {key: value for key, value in kept["variables"].items() if not key.startswith("SLURM")}
    if isinstance(kept.get("shardmark"), dict):
        kept["shardmark"] = without_places(kept["shardmark"], program)
    return kept


def without_samples(record):
    """Of an exchange, which runs for microseconds: 100,000 samples a line would say no more than their statistics."""
    if record.get("record") != "exchange":
        return record
    return {**record, "time_ms": {key: value for key, value in record["time_ms"].items() if key != "samples"}}


def put(text, target):
    """Replaces the file as a whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.rename(target)


def machine_beside(results, part=""):
    """Where the machine is that a file of results, or one part of it, was predicted by."""
    return results.with_name("-".join(filter(None, (results.stem, part, MACHINE))))


def machines_beside(results):
    """{part: the file of the machine that it was predicted by}, of those that were kept; "" is the part of a campaign that was calibrated once."""
    return {path.name[len(results.stem) + 1:-len(MACHINE)].rstrip("-"): path for path in sorted(results.parent.glob(f"{results.stem}-*{MACHINE}"))}


def kept_machine(measured):
    """The file of a machine without the steps that its terms were fitted to, most of it, and without what names a host."""
    try:
        machine = json.loads(measured.read_text(encoding="utf-8"))
        fit = {key: value for key, value in machine["calibration"].items() if key != "cases"}
        return json.dumps({**machine, "calibration": fit, "environment": without_places(machine["environment"], "shardmark")}) + "\n"
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise BadInput(f"{measured}: not the file of a machine ({error!r}); calibrate again") from error


def store_machines(measured, results):
    """Puts the files of machines, {part: file}, beside the results that they predicted, for `predict --machine`, in place of older ones."""
    texts = {machine_beside(results, part): kept_machine(file) for part, file in measured.items()}
    for old in machines_beside(results).values():
        old.unlink()
    for path, text in texts.items():
        put(text, path)


def store(measured, target, campaign, command, note):
    """Puts the files `measured`, [(part, path)], at `target`, all of them or nothing: one environment, each record with the
    name of its part where there are some."""
    environment, records = None, []
    for part, path in measured:
        found, new = parse(path)
        if not new:
            raise BadInput(f"{path}: holds no measurement")
        if found.get("state"):
            raise BadInput(f"{path}: not finished ({found['state']}); measure again")
        environment = environment or found
        records += [{**record, "part": part} if part else record for record in new]
    told = {"name": campaign.name, "command": command, **({"note": note} if note else {})}
    environment = {**without_places(environment, "shardmark"), "campaign": told}
    if target.suffix == ".json":
        text = json.dumps({"context": environment, "benchmarks": records}, indent=1) + "\n"
    else:
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (environment, *map(without_samples, records)))
    put(text, target)


# What the records say, in one shape for all readers.

def field(record, name):
    """A field of a case as text: plan, transfer, exchange, dedup, wire (both ways), ..."""
    if name == "wire":
        forward, backward = (record["options"][name] for name in ("wire_forward", "wire_backward"))
        return forward if forward == backward else f"{forward}/{backward}"
    value = record.get(name, record.get("options", {}).get(name, "-"))
    return value if isinstance(value, str) else json.dumps(value)


def median_ms(record):
    return record["step_ms"]["median"]


def of_part(results, name):
    """The valid cases of a part, the fastest first."""
    return [record for record in results.valid if record.get("part") == name]


def best_of_each(results):
    """The fastest valid case for every value of the campaign's axis, the fastest first."""
    found = {}
    for record in results.valid:
        found.setdefault(field(record, results.campaign.axis), record)
    return list(found.values())


def overlap(one, other):
    """Of two times with intervals of their own."""
    return one["low"] <= other["high"] and other["low"] <= one["high"]


def traffics(results):
    """{(skew, bytes): {exchange: record}} of an exchange campaign."""
    found = {}
    for record in results.records:
        found.setdefault((record["skew"], record["bytes"]), {})[record["exchange"]] = record
    return found


def kernel_rows(results):
    """{(kernel, case, further words of the name): its median row}, one for all repetitions."""
    rows = {}
    for row in results.records:
        if row.get("run_type", "iteration") != "iteration" or row.get("error_occurred"):
            continue
        kernel, *words = row["name"].split("/")
        values = dict(word.split(":", 1) for word in words if ":" in word)
        rest = tuple(f"{key}:{values[key]}" for key in values if key not in ("case", "tables", "rows", "dim", "batch"))
        rows.setdefault((kernel, values.get("case", "-"), rest), []).append(row)
    numbers = ("median_us", "GB/s", "gather_%", "rmw_%", "sorted_rmw_%", "copy_%", "triad_%")
    return {key: {number: statistics.median([row[number] for row in several if number in row])
                  for number in numbers if any(number in row for row in several)} for key, several in rows.items()}
