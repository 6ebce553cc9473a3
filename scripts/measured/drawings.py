# SPDX-License-Identifier: Apache-2.0
"""What the pictures show, as plain data: pictures.py draws it, and its digest stands in the picture."""
import comparison

from measured import trains
from measured.answers import name_of
from measured.files import best_of_each
from measured.plots import row_of
from measured.text import circumstances, date_of, figure, origin


def of_cases(results):
    """The best case of each plan (transfer, ...) with its interval, and the phases of its step."""
    records = best_of_each(results)
    if not records:
        return None
    rows = [row_of(record, name_of(record, results), results.indistinguishable(records[0], record)) for record in records]
    best = rows[0]
    return {"kind": "cases", "title": f"{results.campaign.title}: {results.campaign.axis.removesuffix('s')}s by the time of a step",
            "note": f"{records[0]['workload']} on {origin(results)['cpu']}, {circumstances(results)}",
            "description": f"Fastest: {best['label']}, {figure(best['median'])} ms. " + "; ".join(
                f"{row['label']} {figure(row['median'])} ms [{figure(row['low'])}, {figure(row['high'])}]" for row in rows),
            "rows": rows}


NAMES = {"fbgemm": "FBGEMM", "torch": "PyTorch"}


def ratios_of(passes):
    """{peer and setting: its time / ours, both of the same pass} of one case; None where it was not measured."""
    return {f"{NAMES[system]}, {setting}": comparison.ratio(
        {number: {key: ms for key, ms in times.items() if key in (comparison.OURS, (system, setting))}
         for number, times in passes.items()}, setting) for system, setting in comparison.SYSTEMS[1:]}


def of_peers(results):
    """Time of each peer / ours, for each operation and case, and the geometric means of the cases."""
    panels = []
    for operation, title in comparison.OPERATIONS.items():
        rows = [{"label": f"case {case}", "points": ratios_of(passes)}
                for case, passes in comparison.times_of(results.records, operation).items()]
        if rows:
            means = {name: comparison.geometric_mean([row["points"][name] for row in rows]) for name in rows[0]["points"]}
            panels.append({"title": title, "rows": [*rows, {"label": "mean", "points": means}]})
    if not panels:
        return None
    lines = [f"{panel['title']}: " + "; ".join(
        f"{row['label']} " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in row["points"].items() if ratio)
        for row in panel["rows"]) for panel in panels]
    return {"kind": "peers", "title": "Kernels beside FBGEMM and PyTorch: time of the peer / ours",
            "note": f"{origin(results)['cpu']}, {circumstances(results)}", "description": ". ".join(lines), "panels": panels}


def drawing(results):
    makers = {"cases": of_cases, "peers": of_peers,
              "trains": lambda found: trains.drawing(found, f"fbtt on {origin(found)['cpu']}, {date_of(found)}, 2 ranks of 1 thread")}
    return makers[results.campaign.kind](results) if results.campaign.kind in makers else None
