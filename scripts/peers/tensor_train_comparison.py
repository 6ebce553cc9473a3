# SPDX-License-Identifier: Apache-2.0
"""From measurements of tensor-train tables to a table of ratios. A measurement is one of comparison.py; ours has beside
its "ms" the counters of its benchmark. {"record": "peak", "system", "setting", "gflops"} is a large product of matrices."""
import statistics

from comparison import (OURS, SETTINGS, error_lines, machine_line, median_of, medians_of_systems, number, products_line, text_table,
                        times_of)

PEERS = {"chunks": "FBTT's way", "groups": "grouped"}
SYSTEMS = (OURS, *((peer, setting) for peer in PEERS for setting in SETTINGS))
OPERATION = "step"


def ratio(passes, peer):
    """Median over the passes of the time of the peer in its faster setting over ours in the same pass; None without."""
    ratios = []
    for times in passes.values():
        its = [ms for (system, _), ms in times.items() if system == peer]
        if its and OURS in times:
            ratios.append(min(its) / times[OURS])
    return statistics.median(ratios) if ratios else None


def table(records):
    head = ["case", "ours, ms", "µs a lookup", "of the GEMM peak, %",
            *(f"{title}, {setting}" for title in PEERS.values() for setting in SETTINGS),
            *(f"{title} / ours" for title in PEERS.values())]
    rows = []
    for case, passes in times_of(records, OPERATION).items():
        medians = medians_of_systems(passes, SYSTEMS)
        ours = [median_of(records, key, case=case, system=OURS[0]) for key in ("us/lookup", "gemm_%")]
        rows.append([case, number(medians[0]), number(ours[0], 3), number(ours[1], 1), *map(number, medians[1:]),
                     *(number(ratio(passes, peer), 1) for peer in PEERS)])
    return text_table(head, rows)


def markdown(records):
    """The table, under lines that say what ran where and how fast large matrices are multiplied there."""
    passes = {record["pass"] for record in records if record["record"] == "time"}
    return "\n\n".join([
        *machine_line(records, lambda first: f"torch {first['torch']} ({first['capability']})"), *products_line(records),
        f"Forward, backward and SGD, ms; medians over {len(passes)} pass{'es' * (len(passes) != 1)}.", table(records),
        *error_lines(records)])
