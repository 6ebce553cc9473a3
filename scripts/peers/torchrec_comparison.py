# SPDX-License-Identifier: Apache-2.0
"""From measurements of distributed steps to a table for the embeddings alone and one for whole steps. A measurement is one of
comparison.py, its case "PLAN, BATCH"; ours has the medians of its phases beside its "ms"."""
from comparison import (OURS, SETTINGS, error_lines, geometric_mean, median_of, medians_of_systems, number, ratio, text_table,
                        times_of)

SYSTEMS = (OURS, ("torchrec", "as installed"), ("torchrec", "tuned"))
OPERATIONS = {"none": "embeddings alone", "dlrm": "whole step with DLRM", "keys": "embeddings of keys",
              "save": "save of all rows and their state"}
PHASES = ("input_dist", "lookup", "output_dist", "dense", "grad_dist", "update")


def phases_head(operation):
    if operation == "save":
        return []
    return ["ours: input / lookup / output / " + ("dense / " if operation == "dlrm" else "") + "gradients / update"]


def phases_of(records, case, operation):
    """[medians over the passes, in ms: a / b / c], or nothing where the operation is no step."""
    found = [record["phases"] for record in records
             if (record.get("case"), record.get("operation")) == (case, operation) and "phases" in record]
    names = [name for name in PHASES if any(name in phases for phases in found) and (name != "dense" or operation == "dlrm")]
    return [" / ".join(number(median_of(found, name), 1) for name in names)] if phases_head(operation) else []


def plan_and_batch(case):
    plan, _, batch = case.partition(", ")
    return plan, int(batch.replace(",", ""))


def table(records, operation):
    head = ["plan, batch", *(f"{system}, {setting}" for system, setting in SYSTEMS),
            *(f"peer {setting} / ours" for setting in SETTINGS), *phases_head(operation)]
    times = dict(sorted(times_of(records, operation).items(), key=lambda each: plan_and_batch(each[0])))
    rows = [[case, *map(number, medians_of_systems(passes, SYSTEMS)), *(number(ratio(passes, setting)) for setting in SETTINGS),
             *phases_of(records, case, operation)] for case, passes in times.items()]
    means = [geometric_mean([ratio(passes, setting) for passes in times.values()]) for setting in SETTINGS]
    rows.append(["geometric mean", *[""] * len(SYSTEMS), *map(number, means), *[""] * len(phases_head(operation))])
    title = OPERATIONS[operation]
    return f"{title[0].upper()}{title[1:]}, ms\n\n" + text_table(head, rows)


def ran_on(records):
    first = next((record for record in records if record["record"] == "environment"), None)
    if first is None:
        return []
    ours = next((record for record in records if "exchange" in record), {})
    peers = first["torchrec"]
    return [f"{first['machine']['cpu']}, {ours.get('ranks')} ranks of {ours.get('threads')} thread; shardmark "
            f"{(first['build']['git_hash'] or 'unknown')[:12]}, exchange {ours.get('exchange')}; TorchRec {peers['torchrec']}, FBGEMM "
            f"{peers['fbgemm']}, torch {peers['torch']}, gloo"]


def markdown(records):
    passes = {record["pass"] for record in records if record["record"] == "time"}
    return "\n\n".join([*ran_on(records), f"Medians over {len(passes)} pass{'es' * (len(passes) != 1)} of each case.",
                        *(table(records, operation) for operation in OPERATIONS if times_of(records, operation)),
                        *error_lines(records)])
