# SPDX-License-Identifier: Apache-2.0
"""What predictions are meant to reach, and what was measured: the newest campaigns of predictions, whatever the machine, and the
known half of published steps."""
import statistics

from measured import known_half
from measured.predictions import figures, gap, missed_phases, percent, signed
from measured.text import markdown_table

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
        rows.append(row(f"`search` behind the best other plan, {where}", "≤ 2 %", signed(found.behind), found.behind <= 0.02))
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


OF_KIND = {"predictions": of_machine, "holdout": lambda machine, results: [], "scale": of_scale}


def table(newest, root):
    """newest: [(machine, Results)] of the campaigns of predictions. None where nothing was measured."""
    rows = [each for machine, results in newest for each in OF_KIND[results.campaign.kind](machine, results)]
    rows += of_known_half(root)
    return markdown_table(["what", "goal", "measured", "met", "most of the miss"], rows) if rows else None
