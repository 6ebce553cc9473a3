# SPDX-License-Identifier: Apache-2.0
"""From measurements of hash maps to a table of ratios. A measurement: {"record": "time", "pass", "setting", "operation", "system",
"ns"} of a key, for inserts with "worst_batch", in times of the median one, and "bytes_per_key" at its peak."""
import statistics

from comparison import number, text_table

OURS = "shardmark"
CEILINGS = ("known slots", "two dependent reads")
SETTINGS = ("as installed", "tuned")
OPERATIONS = {"find": "find", "find_sum": "find + sum of 16 floats", "find_update": "find + row-wise Adagrad of 16 floats",
              "insert": "growing insert"}


def passes_of(records, setting, operation, key="ns"):
    """[{system: value} of each pass]"""
    passes = {}
    for record in records:
        if record["record"] == "time" and (record["setting"], record["operation"]) == (setting, operation) and key in record:
            passes.setdefault(record["pass"], {})[record["system"]] = record[key]
    return list(passes.values())


def maps_of(times):
    return [system for system in times if system not in (OURS, *CEILINGS)]


def spread(values, digits=2):
    """Median [least, most]"""
    values = list(values)
    return f"{number(statistics.median(values), digits)} [{number(min(values), digits)}, {number(max(values), digits)}]" if values else "-"


def median_of_system(passes, system):
    values = [times[system] for times in passes if system in times]
    return statistics.median(values) if values else None


def fastest_over_ours(passes):
    """The time of the fastest map in those of ours, in each pass."""
    return [min(times[system] for system in maps_of(times)) / times[OURS] for times in passes if OURS in times and maps_of(times)]


def table(records, setting):
    systems = sorted({system for operation in OPERATIONS for times in passes_of(records, setting, operation) for system in maps_of(times)})
    head = ["ns a key", OURS, *systems, "fastest map / ours", *CEILINGS]
    rows = []
    for operation, title in OPERATIONS.items():
        passes = passes_of(records, setting, operation)
        values = [number(median_of_system(passes, system), 1) for system in (OURS, *systems)]
        rows.append([title, *values, spread(fastest_over_ours(passes)),
                     *(number(median_of_system(passes, ceiling), 1) for ceiling in CEILINGS)])
    for key, title in (("worst_batch", "slowest insert batch / median one"), ("bytes_per_key", "most bytes a key while growing")):
        passes = passes_of(records, setting, "insert", key)
        rows.append([title, *(number(median_of_system(passes, system), 1) for system in (OURS, *systems)), "", *[""] * len(CEILINGS)])
    return text_table(head, rows)


def markdown(records):
    first = next((record for record in records if record["record"] == "environment"), {})
    packages = ", ".join(f"{name} {version}" for name, version in sorted(first.get("packages", {}).items()))
    passes = {record["pass"] for record in records if record["record"] == "time"}
    lines = [f"{first.get('keys')} keys, threads: {first.get('threads')}; {packages}. Medians over {len(passes)} passes; ratios: "
             "median [least, most] of the passes."]
    for setting in SETTINGS:
        lines += [f"Maps {setting}:", table(records, setting)]
    return "\n\n".join(lines)
