# SPDX-License-Identifier: Apache-2.0
"""From measurements to the table of ratios. A measurement: {"record": "time", "pass", "case", "operation", "system",
"setting", "ms"}, or "error" in place of "ms"."""
import json
import math
import statistics

OURS = ("shardmark", "as built")
SYSTEMS = (OURS, ("fbgemm", "as installed"), ("fbgemm", "tuned"), ("torch", "as installed"), ("torch", "tuned"))
SETTINGS = ("as installed", "tuned")
OPERATIONS = {
    "forward": "Forward",
    "rowwise_adagrad": "Backward + row-wise Adagrad",
    "sgd": "Backward + SGD",
}


def read_records(files):
    """The lines of all files; passes of different files count as different ones."""
    records = []
    for number, file in enumerate(files):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            records.append({**record, "pass": (number, record["pass"])} if record["record"] == "time" else record)
    return records


def times_of(records, operation):
    """{case: {pass: {(system, setting): ms}}} of what could be measured. FBGEMM's SGD on a processor takes three times as long as
    its own row-wise Adagrad, which does more: what it needs for that is a peer of SGD too."""
    times = {}
    for record in records:
        if record["record"] != "time" or "ms" not in record:
            continue
        passes = times.setdefault(record["case"], {})
        if record["operation"] == operation:
            passes.setdefault(record["pass"], {})[record["system"], record["setting"]] = record["ms"]
        elif (operation, record["operation"], record["system"]) == ("sgd", "rowwise_adagrad", "fbgemm"):
            passes.setdefault(record["pass"], {})["fbgemm's row-wise Adagrad", record["setting"]] = record["ms"]
    return {case: passes for case, passes in sorted(times.items()) if passes}


def ratio(passes, setting):
    """Median over the passes of the time of the faster peer over ours in the same pass; None without such a pass."""
    ratios = []
    for times in passes.values():
        peers = [ms for (system, its_setting), ms in times.items() if its_setting == setting and system != OURS[0]]
        if peers and OURS in times:
            ratios.append(min(peers) / times[OURS])
    return statistics.median(ratios) if ratios else None


def ratio_of_means(times, setting):
    """(ratio, least, most) of the geometric means over the cases in each pass, of which there are three or more; else the
    ratio alone. times: of times_of, where every pass has every case."""
    passes = set.intersection(*(set(passes) for passes in times.values()))
    means = [geometric_mean([ratio({number: passes[number]}, setting) for passes in times.values()]) for number in passes]
    middle = geometric_mean([ratio(passes, setting) for passes in times.values()])
    return (middle, min(middle, *means), max(middle, *means)) if len(means) > 2 else middle


def geometric_mean(values):
    values = [value for value in values if value is not None]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def median_of(records, key, **wanted):
    """Of those records that have the key and all that is wanted."""
    values = [record[key] for record in records
              if key in record and all(record.get(name) == value for name, value in wanted.items())]
    return statistics.median(values) if values else None


def text_table(head, rows):
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["--"] * len(head), *rows))


def machine_line(records, peers):
    """[what ran where]; peers(environment) names the libraries."""
    first = next((record for record in records if record["record"] == "environment"), None)
    if first is None:
        return []
    ours = first["shardmark"]
    return [f"{ours['cpu']}, {ours['threads']} threads; shardmark {ours['git_hash'][:12]}, {ours['compiler']}; "
            f"{peers(first)}; huge pages {ours['transparent_huge_pages']}"]


def products_line(records):
    """[how fast large matrices are multiplied by ours and by the peers, from records of "peak"]"""
    peaks = [record for record in records if record["record"] == "peak"]
    told = [f"{name} {number(value, 0)}" for name, value in (
        ("ours", median_of(peaks, "gflops", system=OURS[0])),
        *((f"torch.mm, {setting},", median_of(peaks, "gflops", setting=setting)) for setting in SETTINGS)) if value]
    return ["Products of matrices from the caches, GFLOP/s: " + "; ".join(told) + "."] * bool(told)


def error_lines(records):
    """[what could not be measured]"""
    errors = sorted({f"- {record['system']}, {record['setting']}, case {record['case']}, {record['operation']}: "
                     f"{record['error']}" for record in records if "error" in record})
    return ["Not measured:\n\n" + "\n".join(errors)] * bool(errors)


def medians_of_systems(passes, systems):
    """Of each system, over the passes."""
    return [statistics.median(ms) if (ms := [times[system] for times in passes.values() if system in times]) else None
            for system in systems]


def table(times, operation):
    head = ["case", *(f"{system}, {setting}" for system, setting in SYSTEMS),
            *(f"faster peer {setting} / ours" for setting in SETTINGS)]
    rows = [[case, *map(number, medians_of_systems(passes, SYSTEMS)),
             *(number(ratio(passes, setting)) for setting in SETTINGS)] for case, passes in times.items()]
    means = [geometric_mean([ratio(passes, setting) for passes in times.values()]) for setting in SETTINGS]
    rows.append(["geometric mean", *[""] * len(SYSTEMS), *map(number, means)])
    return f"{OPERATIONS[operation]}, ms\n\n" + text_table(head, rows)


def markdown(records):
    """A table per operation, under a line that says what ran where."""
    measured = {operation: times_of(records, operation) for operation in OPERATIONS}
    passes = sorted({len(passes) for times in measured.values() for passes in times.values()})
    return "\n\n".join([
        *machine_line(records, lambda first: f"torch {first['torch']}, FBGEMM {first['fbgemm']}"),
        f"Medians over {' to '.join(map(str, passes[:1] + passes[1:][-1:]))} pass{'es' * (passes != [1])} of each case.",
        *(table(times, operation) for operation, times in measured.items() if times), *error_lines(records)])
