# SPDX-License-Identifier: Apache-2.0
"""From measurements of dense models to a table of ratios for each optimizer. A measurement is one of comparison.py; ours has
beside its "ms" the counters of its benchmark. {"record": "peak", "system", "setting", "gflops"} is a large product."""
from comparison import (OURS, SETTINGS, error_lines, geometric_mean, machine_line, median_of, medians_of_systems, number,
                        products_line, ratio, text_table, times_of)

SYSTEMS = (OURS, ("torch", "as installed"), ("torch", "tuned"), ("torch.compile", "tuned"))
OPERATIONS = {"sgd": "SGD", "adagrad": "Adagrad"}


def table(records, operation):
    head = ["case", "ours, ms", "GFLOP/s", "of its products alone, %", "of the peak, %",
            *(f"{system}, {setting}" for system, setting in SYSTEMS[1:]), *(f"faster peer {setting} / ours" for setting in SETTINGS)]
    times = times_of(records, operation)
    rows = []
    for case, passes in times.items():
        ours, *peers = medians_of_systems(passes, SYSTEMS)
        counters = [median_of(records, key, case=case, operation=operation) for key in ("GFLOP/s", "gemm_%", "peak_%")]
        rows.append([case, number(ours), *(number(counter, 0) for counter in counters), *map(number, peers),
                     *(number(ratio(passes, setting)) for setting in SETTINGS)])
    means = [geometric_mean([ratio(passes, setting) for passes in times.values()]) for setting in SETTINGS]
    rows.append(["geometric mean", *[""] * (len(head) - 1 - len(means)), *map(number, means)])
    return f"Forward, backward and {OPERATIONS[operation]}, ms\n\n" + text_table(head, rows)


def markdown(records):
    passes = {record["pass"] for record in records if record["record"] == "time"}
    def libraries(first):
        return f"{first['shardmark']['blas']}; torch {first['torch']} ({first['capability']})"
    return "\n\n".join([
        *machine_line(records, libraries), *products_line(records),
        f"Medians over {len(passes)} pass{'es' * (len(passes) != 1)} of each case.",
        *(table(records, operation) for operation in OPERATIONS if times_of(records, operation)), *error_lines(records)])
