# SPDX-License-Identifier: Apache-2.0
"""What predictions, and tables that do not know their size, are meant to reach, and what was measured: by the newest campaigns, whatever
the machine, those of predictions of each machine, and by the known half of published steps."""
import statistics

import comparison
import hash_maps_comparison as hash_maps

from measured import dynamic, known_half
from measured.predictions import figures, gap, missed_phases, percent, signed
from measured.text import markdown_table, ratio_text

MOST_TERMS = 2  # named where a goal is missed


def row(what, goal, told, met, terms=""):
    return [what, goal, told, "yes" if met else "no", "" if met else terms]


def most_off(results):
    """The phases that are furthest off."""
    return ", ".join(f"{name} {100 * share:.1f}" for name, share in list(missed_phases(results).items())[:MOST_TERMS])


def least_sure(results):
    """The workloads whose plans are told apart worst."""
    told = {name: quality["rank_correlation"] for name, quality in results.predictions.items()
            if name and quality["rank_correlation"] is not None}
    return ", ".join(f"{name} {told[name]:.2f}" for name in sorted(told, key=told.get)[:MOST_TERMS])


def of_machine(machine, results):
    """Of a campaign of predictions."""
    found, links = figures(results), results.campaign.links
    where = f"{results.records[0]['ranks']} ranks{' between hosts' if links else ''}, {machine}"
    most_error, rows = 0.12 if links else 0.08, []
    if found.error is not None:
        rows.append(row(f"MAPE, {where}", f"≤ {percent(most_error)}", percent(found.error), found.error <= most_error,
                        f"phases, in points of the step: {most_off(results)}"))
        if found.correlations:
            mean, least = statistics.mean(found.correlations), min(found.correlations)
            rows.append(row(f"Spearman, mean and least, {where}", "≥ 0.97, ≥ 0.90", f"{mean:.2f}, {least:.2f}", mean >= 0.97 and least >= 0.9,
                            least_sure(results)))
        worst = max((quality["regret"], name) for name, quality in results.predictions.items() if name)
        rows.append(row(f"regret of the plan liked best, {where}", "≤ 3 %", percent(found.regret), found.regret <= 0.03, worst[1]))
    if found.behind is not None:
        rows.append(row(f"`search` behind the best other plan, {where}", "≤ 2 %", signed(found.behind), found.behind <= 0.02,
                        found.behind_at))
    return rows


def of_known_half(root):
    """Of published steps."""
    found = known_half.read(root)
    if not found:
        return []
    every = found["as_they_stand"]["all"]
    right, counted = (int(word) for word in every["signs"].split(" of "))
    off = sorted(found["steps"], key=lambda step: -abs(step["errors"]["as_they_stand"]))[:MOST_TERMS + 1]
    points = 100 * sum(abs(step["errors"]["as_they_stand"]) for step in off) / len(found["steps"])
    named = ", ".join(f"{step['group']} {step['ms']:.4g} ms" for step in off)
    terms = f"{points:.1f} points by {len(off)} steps: {named}"
    return [row("MAPE of the known half of published steps, fitted to none", "≤ 15 %", f"{every['mape_percent']:.1f} %", every["mape_percent"] <= 15,
                terms),
            row("within 25 %", "≥ 90 %", f"{every['within_percent']:.0f} %", every["within_percent"] >= 90, terms),
            row("signs right", "all", every["signs"], right == counted)]


def of_scale(machine, results):
    """Of plans for a large cluster."""
    found = {record["part"]: record for record in results.records}
    rows = []
    if search := found.get("search"):
        rows.append(row(f"search, Colossal on 4,096 ranks, {machine}: seconds, gap to the bound", "≤ 60 s, ≤ 5 %",
                        f"{search['seconds']:.0f} s, {percent(gap(search))}", search["seconds"] <= 60 and gap(search) <= 0.05,
                        "its time was over" if search["late"] else ""))
    if predict := found.get("predict"):
        rows.append(row("predict, three plans of the same: seconds, memory", "≤ 5 s, ≤ 2 GB", f"{predict['seconds']:.1f} s, {predict['peak_bytes'] / 1e9:.2f} GB",
                        predict["seconds"] <= 5 and predict["peak_bytes"] <= 2e9))
    return rows


OF_KIND = {"predictions": of_machine, "scale": of_scale}


def rows_of(of_kind, newest):
    return [each for machine, results in newest if results.campaign.kind in of_kind
            for each in of_kind[results.campaign.kind](machine, results)]


def table(newest, root):
    """newest: [(machine, Results)] of each campaign. None where nothing was measured."""
    rows = rows_of(OF_KIND, newest) + of_known_half(root)
    return markdown_table(["what", "goal", "measured", "met", "most of the miss"], rows) if rows else None


# Tables that do not know their size, and runs that must not be lost.

def of_dynamic(machine, results):
    """Steps, saves and restores beside what they are held against."""
    where, rows = f"{results.records[0]['ranks']} ranks, {machine}", []
    if pair := dynamic.steps(results):
        ratio = results.faster_by(pair["dense"], pair["dynamic"])
        rows.append(row(f"step of known keys / dense, {where}", "≤ 1.10", ratio_text(ratio), ratio[0] <= 1.10))
        if pair["dynamic"]["error"] is not None:
            error = pair["dynamic"]["error"]
            rows.append(row(f"prediction of that step, {where}", "within 15 %", signed(error), abs(error) <= 0.15))
    told = {part: record[kind] for part, kind in (*((part, "saved") for part in dynamic.SAVES), *((part, "restored") for part in dynamic.RESTORES))
            for record in dynamic.of_part(results, part) if record.get(kind)}
    for part, what in (("stop", "save of all rows"), ("changes", "save of changes"), ("disk", "restore from the disk")):
        if ceiling := told.get(part, {}).get("ceiling_gb_per_s"):
            share = told[part]["gb_per_s"] / ceiling
            rows.append(row(f"{what} / the ceiling of its job, {where}", "≥ 80 %", f"{100 * share:.0f} %", share >= 0.8,
                            "the copy into the system's page cache"))
    if "behind" in told and "stop" in told:
        share = told["behind"]["longest_wait_seconds"] / told["stop"]["longest_wait_seconds"]
        rows.append(row(f"a step stops for a save behind the steps / for one that stops them, {where}", "≤ 5 %", f"{100 * share:.0f} %", share <= 0.05))
        if told["behind"].get("steps_behind"):
            slowed = told["behind"]["step_ms_behind"] / told["behind"]["step_ms_between"]
            rows.append(row(f"steps beside such a save / others, {where}", "≤ 1.15", f"{slowed:.2f}", slowed <= 1.15,
                            "copies of rows before their first update, and a writer on the cores of the ranks"))
    if "restore2" in told and "restore3" in told:
        ratio = told["restore3"]["seconds"] / told["restore2"]["seconds"]
        rows.append(row(f"restore on 3 ranks / on the 2 that saved, {machine}", "≤ 1.2", f"{ratio:.2f}", ratio <= 1.2, "3 ranks share 2 cores"))
    return rows


def of_peers(machine, results):
    """Steps by keys beside TorchRec's, and its saves: the least of the cases."""
    rows = []
    for operation, what, goal in (("keys", "TorchRec's sorted ZCH / ours", 8), ("save", "torch.distributed.checkpoint / ours", 2)):
        found = {case: ratio for case, passes in comparison.times_of(results.records, operation).items()
                 if (ratio := comparison.ratio(passes, "tuned")) is not None}
        if found:
            least = min(found, key=found.get)
            rows.append(row(f"{what}, tuned, least of the cases, {machine}", f"≥ {goal}", f"{found[least]:.2f}", found[least] >= goal, least))
    return rows


def of_maps(machine, results):
    """Key tables beside the fastest hash map of each operation, and what they could reach or gain for it."""
    def of_system(operation, system, key="ns"):
        return hash_maps.median_of_system(hash_maps.passes_of(results.records, "tuned", operation, key), system)

    def bound(operation):
        if least := of_system(operation, "two dependent reads"):
            return f"{100 * least / of_system(operation, hash_maps.OURS):.0f} % of the speed of two dependent random reads"
        worst = {system: of_system(operation, system, "worst_batch") for times in hash_maps.passes_of(results.records, "tuned", operation, "worst_batch")
                 for system in times}
        others = [each for system, each in worst.items() if system != hash_maps.OURS]
        return f"its slowest batch takes {worst[hash_maps.OURS]:.1f} times the median one, those of maps {min(others):.0f} times or more" \
            if others and hash_maps.OURS in worst else ""
    rows = []
    for operation, goal in (("find", 2.0), ("find_update", 2.8), ("insert", 1.5)):
        if found := hash_maps.fastest_over_ours(hash_maps.passes_of(results.records, "tuned", operation)):
            ratio = statistics.median(found)
            rows.append(row(f"{hash_maps.OPERATIONS[operation]}: the fastest hash map / ours, tuned, {machine}", f"≥ {goal:g}", f"{ratio:.2f}",
                            ratio >= goal, bound(operation)))
    return rows


OF_STORES = {"dynamic": of_dynamic, "step_peers": of_peers, "map_peers": of_maps}


def stores_table(newest):
    rows = rows_of(OF_STORES, newest)
    return markdown_table(["what", "goal", "measured", "met", "bound by"], rows) if rows else None
