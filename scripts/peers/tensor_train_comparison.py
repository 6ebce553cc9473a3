# SPDX-License-Identifier: Apache-2.0
"""From measurements of tensor-train tables to a table of ratios. A measurement is one of comparison.py; ours has beside
its "ms" the counters of its benchmark. {"record": "peak", "system", "setting", "gflops"} is a large product of matrices."""
import statistics

from comparison import OURS, SETTINGS, number, times_of

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


def median_of(records, key, **wanted):
    values = [record[key] for record in records
              if key in record and all(record.get(name) == value for name, value in wanted.items())]
    return statistics.median(values) if values else None


def table(records):
    head = ["case", "ours, ms", "µs a lookup", "of the GEMM peak, %",
            *(f"{title}, {setting}" for title in PEERS.values() for setting in SETTINGS),
            *(f"{title} / ours" for title in PEERS.values())]
    rows = []
    for case, passes in times_of(records, OPERATION).items():
        medians = [median_of(records, "ms", case=case, system=system, setting=setting) for system, setting in SYSTEMS]
        ours = [median_of(records, key, case=case, system=OURS[0]) for key in ("us/lookup", "gemm_%")]
        rows.append([case, number(medians[0]), number(ours[0], 3), number(ours[1], 1), *map(number, medians[1:]),
                     *(number(ratio(passes, peer), 1) for peer in PEERS)])
    lines = [head, ["--"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def markdown(records):
    """The table, under lines that say what ran where and how fast large matrices are multiplied there."""
    lines = []
    for first in [record for record in records if record["record"] == "environment"][:1]:
        ours = first["shardmark"]
        lines.append(f"{ours['cpu']}, {ours['threads']} threads; shardmark {ours['git_hash'][:12]}, {ours['compiler']}; "
                     f"torch {first['torch']} ({first['capability']}); huge pages {ours['transparent_huge_pages']}")
    peaks = [record for record in records if record["record"] == "peak"]
    told = [f"{name} {number(value, 0)}" for name, value in (
        ("ours", median_of(peaks, "gflops", system=OURS[0])),
        *((f"torch.mm, {setting},", median_of(peaks, "gflops", setting=setting)) for setting in SETTINGS)) if value]
    if told:
        lines.append("Products of matrices from the caches, GFLOP/s: " + "; ".join(told) + ".")
    passes = {record["pass"] for record in records if record["record"] == "time"}
    lines.append(f"Forward, backward and SGD, ms; medians over {len(passes)} pass{'es' * (len(passes) != 1)}.")
    lines.append(table(records))
    errors = sorted({f"- {record['system']}, {record['setting']}, case {record['case']}: {record['error']}"
                     for record in records if "error" in record})
    return "\n\n".join(lines + (["Not measured:\n\n" + "\n".join(errors)] if errors else []))
