# SPDX-License-Identifier: Apache-2.0
"""What the campaigns of dynamic tables say: their steps beside dense ones, saves and restores, key tables beside hash maps."""
import statistics

import hash_maps_comparison as hash_maps

from measured.files import field, of_part
from measured.text import figure, interval, markdown_table, ratio_text, span_text

SAVES = {"stop": "all rows, training stops", "behind": "all rows, behind the steps", "changes": "all rows, then what changed"}
RESTORES = {"restore2": "page cache", "restore3": "page cache", "disk": "disk"}


def steps(results):
    """{storage: case}, where both were measured."""
    found = {field(record, "storage"): record for record in of_part(results, "steps")}
    return found if {"dense", "dynamic"} <= set(found) else None


def predicted(record):
    """2.000 (-4.0 %)"""
    time = record.get("predicted_ms")
    return f"{figure(time)} ({100 * (time / record['step_ms']['median'] - 1):+.1f} %)" if time else "-"


def steps_table(results):
    pair = steps(results)
    if not pair:
        return ""
    rows = []
    for storage, record in pair.items():
        told = record.get("dynamic", {})
        bytes_of_row = " / ".join(figure(told[key]) for key in ("bytes_per_row", "key_bytes_per_row")) if told else "-"
        of_dense = "1.00" if storage == "dense" else ratio_text(results.faster_by(pair["dense"], record))
        rows.append([storage, interval(record["step_ms"]), of_dense, predicted(record), bytes_of_row, record["wrong"]])
    told = pair["dynamic"]["dynamic"]
    keys = told["found"] + told["admitted"] + told["absent"]
    return (f"**Steps.** Of the keys of the timed steps {100 * told['found'] / keys:.1f} % had a row.\n\n" + markdown_table(
                ["storage", "ms [95 % interval]", "of dense", "predicted, ms", "bytes per row / without values and state", "wrong"], rows))


def of_ceiling(told):
    """62 % (1.30): the share, and the ceiling in GB/s."""
    ceiling = told.get("ceiling_gb_per_s")
    return f"{100 * told['gb_per_s'] / ceiling:.0f} % ({ceiling:.2f})" if ceiling else "-"


def saves_table(results):
    found = {part: record for part in SAVES for record in of_part(results, part) if record.get("saved")}
    rows = []
    for part, record in found.items():
        told = record["saved"]
        waited, longest = (told["waited_seconds"] + told["end_wait_seconds"]) / told["times"], told["longest_wait_seconds"]
        of_stop = f"{100 * longest / found['stop']['saved']['longest_wait_seconds']:.0f} %" if part != "stop" and "stop" in found else "-"
        slowed = f"{told['step_ms_behind'] / told['step_ms_between']:.2f}" if told.get("steps_behind") else "-"
        rows.append([SAVES[part], told["times"], figure(told["bytes"] / told["times"] / 1e6), figure(waited), f"{told['gb_per_s']:.2f}",
                     of_ceiling(told), figure(longest), of_stop, slowed])
    return "" if not rows else (
        "**Saves** of dense tables in training, with the sync of the disk. The ceiling: right behind each save every rank writes and syncs a "
        "file of as many bytes, in order.\n\n" + markdown_table(
            ["what", "times", "MB each", "waited, s each", "GB/s", "of the ceiling (GB/s)", "a step waited at most, s", "of the first",
             "steps beside saves / others"], rows))


def restores_table(results):
    rows = []
    for part, record in ((part, record) for part in RESTORES for record in of_part(results, part) if record.get("restored")):
        told = record["restored"]
        rows.append([record["ranks"], f"{RESTORES[part]}, {100 * told['cached_share']:.0f} % cached" if told.get("cached_share") else RESTORES[part],
                     figure(told["bytes"] / 1e6), figure(told["seconds"]), f"{told['gb_per_s']:.2f}", of_ceiling(told)])
    return "" if not rows else (
        "**Restores** of what 2 ranks saved: of files that the system mostly has in its page cache, and taken out of it. The ceiling: right "
        "behind it they are taken out again, and the ranks read them in order.\n\n" + markdown_table(["ranks", "from", "MB", "seconds", "GB/s", "of the ceiling (GB/s)"], rows))


def dynamic_table(results):
    return "\n\n".join(text for text in (steps_table(results), saves_table(results), restores_table(results)) if text)


def maps_table(results):
    return (hash_maps.markdown([{**results.environment, "record": "environment"}, *results.records])
            + "\n\nWhat is compared with what: [`scripts/peers`](../../../scripts/peers/README.md).")


def headlines(results, headline):
    """headline: makes one of (claim, ours, peer, ratio, results)."""
    pair = steps(results)
    if not pair:
        return []
    return [headline("Step of tables that grow beside dense ones of the same rows", f"{figure(pair['dynamic']['step_ms']['median'])} ms",
                     f"dense {figure(pair['dense']['step_ms']['median'])} ms", results.faster_by(pair["dynamic"], pair["dense"]), results)]


def maps_headlines(results, headline):
    """A mean over the operations, tuned, beside the fastest map of each."""
    ratios, ours = {}, []
    for operation, title in hash_maps.OPERATIONS.items():
        passes = hash_maps.passes_of(results.records, "tuned", operation)
        if found := hash_maps.fastest_over_ours(passes):
            ratios[title] = statistics.median(found)
            ours.append(hash_maps.median_of_system(passes, hash_maps.OURS))
    if not ratios:
        return []
    mine, ratio = (statistics.geometric_mean(values) for values in (ours, ratios.values()))
    return [headline(f"Key table: the fastest hash map of each operation, tuned, {span_text(ratios)}", f"{figure(mine)} ns a key",
                     f"{figure(mine * ratio)} ns a key", ratio, results)]
