# SPDX-License-Identifier: Apache-2.0
"""What the pictures show, as plain data: pictures.py draws it, and its digest stands in the picture."""
import hashlib
import json

import comparison

from measured.answers import name_of
from measured.files import best_of_each
from measured.text import circumstances, figure


def of_cases(results):
    """The best case of each plan (transfer, ...) with its interval, and the phases of its step."""
    records = best_of_each(results)
    if not records:
        return None
    names = "s, ".join(results.campaign.axis)
    rows = [{"label": name_of(record, results), "median": record["step_ms"]["median"], "low": record["step_ms"]["low"],
             "high": record["step_ms"]["high"], "stopped": "stopped" in record,
             "phases": {name: phase["median_ms"] for name, phase in record["phases"].items()}} for record in records]
    best = rows[0]
    return {"kind": "cases", "title": f"{results.campaign.title}: {names}s by the time of a step",
            "note": f"{records[0]['workload']}, {circumstances(results)}",
            "description": f"Fastest: {best['label']}, {figure(best['median'])} ms. " + "; ".join(
                f"{row['label']} {figure(row['median'])} ms [{figure(row['low'])}, {figure(row['high'])}]" for row in rows),
            "rows": rows}


def of_peers(results):
    """Time of a peer / ours for each case and operation."""
    panels = []
    for operation, title in comparison.OPERATIONS.items():
        times = comparison.times_of(results.records, operation)
        rows = [{"label": case, "points": {
            f"{system}, {setting}": comparison.ratio({number: {key: ms for key, ms in measured.items() if key in (
                comparison.OURS, (system, setting))} for number, measured in passes.items()}, setting)
            for system, setting in comparison.SYSTEMS[1:]}} for case, passes in times.items()]
        if rows:
            panels.append({"title": title, "rows": rows})
    if not panels:
        return None
    lines = [f"{panel['title']}: " + "; ".join(
        f"case {row['label']} " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in row["points"].items() if ratio)
        for row in panel["rows"]) for panel in panels]
    return {"kind": "peers", "title": "Kernels beside FBGEMM and PyTorch: time of the peer / ours",
            "note": circumstances(results), "description": ". ".join(lines), "panels": panels}


def drawing(results):
    makers = {"cases": of_cases, "peers": of_peers}
    return makers[results.campaign.kind](results) if results.campaign.kind in makers else None


def digest(drawing_):
    return hashlib.sha256(json.dumps(drawing_, sort_keys=True).encode()).hexdigest()
