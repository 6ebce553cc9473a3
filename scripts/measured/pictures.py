# SPDX-License-Identifier: Apache-2.0
"""Draws: a JSON object {file: drawing} on stdin, SVG files out, for scripts/report, which makes the environment; and a
picture of plots.py, in any format.

The same drawing gives the same bytes. Text stays text; the ground is opaque, so that it can be read on dark pages too;
what colours tell, shape, hatching or order tell as well."""
import json
import re
import sys
import textwrap
from html import escape
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "shardmark", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False,
    "text.parse_math": False, "figure.facecolor": "white", "savefig.facecolor": "white", "hatch.linewidth": 0.8,
})
INK = "#1f2328"
# 3 : 1 on white at least. Hatched: what moves bytes between ranks.
PHASES = {"input_dist": ("#117733", "//"), "lookup": ("#0072b2", ""), "output_dist": ("#882255", "//"),
          "dense": ("#666666", ""), "grad_dist": ("#aa4499", "\\\\"), "update": ("#c04f00", ""), "waiting": ("#d0d7de", "..")}
# Shape: the system; filled: tuned.
MARKS = {"FBGEMM, as installed": ("o", "white", "#0072b2"), "FBGEMM, tuned": ("o", "#0072b2", "#0072b2"),
         "PyTorch, as installed": ("s", "white", "#c04f00"), "PyTorch, tuned": ("s", "#c04f00", "#c04f00")}


def number(x):
    return f"{x:.{2 if x < 10 else 1 if x < 100 else 0}f}"


def heading(figure, drawing, height):
    figure.text(0.012, 1 - 0.14 / height, drawing["title"], ha="left", va="top", fontsize=13, fontweight="bold", color=INK)
    note = "\n".join(line for part in drawing["note"].split("\n") for line in textwrap.wrap(part, 105))
    figure.text(0.012, 1 - 0.42 / height, note, ha="left", va="top", fontsize=9.5, color="#57606a", linespacing=1.3)


def draw_ranking(axes, rows):
    """A point and its 95 % interval per row, the number beside it."""
    far = max(row["high"] for row in rows)
    for y, row in enumerate(rows):
        tied = row["tied"]
        axes.plot([row["low"], row["high"]], [y, y], color=INK, linewidth=2, solid_capstyle="butt")
        for end in (row["low"], row["high"]):
            axes.plot([end, end], [y - 0.13, y + 0.13], color=INK, linewidth=1.4)
        axes.plot(row["median"], y, marker="D" if tied else "o", color="#0072b2" if tied else INK, markersize=5.5)
        label = number(row["median"])
        if not tied:
            label += f" ({row['ratio']:.2f} x)"
        axes.text(row["high"] + 0.025 * far, y, label + (" *" if row["stopped"] else ""), va="center", fontsize=10, color=INK)
    axes.set_xlim(0, 1.42 * far)


def draw_phases(axes, rows):
    longest = max(sum(row["phases"].values()) for row in rows)
    names = [name for name in PHASES if any(row["phases"].get(name, 0) > 0.005 * longest for row in rows)]
    for y, row in enumerate(rows):
        left = 0.0
        for name in names:
            colour, hatch = PHASES[name]
            width = row["phases"].get(name, 0.0)
            axes.barh(y, width, left=left, height=0.56, color=colour, hatch=hatch, edgecolor="white", linewidth=0.8,
                      label=name if y == 0 else None)
            left += width
    axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.02), ncols=3, frameon=False, fontsize=9, handlelength=1.6,
                columnspacing=1.2, borderaxespad=0)


def draw_cases(drawing):
    rows = drawing["rows"]
    lines = max(row["label"].count("+") + row["label"].count("\n") for row in rows) + 1
    height = 2.5 + (0.42 if lines < 3 else 0.6) * len(rows)
    drawing = {**drawing, "note": f"{drawing['note']}\ndiamonds: best, or statistically indistinguishable from it; *: stopped early"}
    figure, (ranking, phases) = plt.subplots(1, 2, figsize=(9.6, height), sharex=True, sharey=True)
    draw_ranking(ranking, rows)
    draw_phases(phases, rows)
    ranking.set_ylim(len(rows) - 0.45, -0.55)
    ranking.set_yticks(range(len(rows)), [row["label"].replace("+", "\n+ ") for row in rows])
    for axes, label in ((ranking, "median step in ms, 95 % interval"), (phases, "its phases in ms, hatched: between ranks")):
        axes.set_xlabel(label, color=INK, fontsize=10)
        axes.grid(axis="x", color="#d0d7de", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0)
    heading(figure, drawing, height)
    longest = max(len(part) for row in rows for part in row["label"].replace("+", "\n+ ").split("\n"))
    figure.subplots_adjust(left=0.03 + 0.0093 * longest, right=0.985, top=1 - 1.72 / height, bottom=0.52 / height, wspace=0.06)
    return figure


def ticks(low, high):
    """Of a logarithmic axis: (places, labels). 1, 2, 5, 10, or powers of ten where those would be too many."""
    powers = range(-6, 7)
    places = [digit * 10.0**power for power in powers for digit in (1, 2, 5) if low <= digit * 10.0**power <= high]
    if len(places) > 6:
        places = [10.0**power for power in powers if low <= 10.0**power <= high]
    return places, [f"{place:g}" for place in places]


def draw_peers(drawing):
    panels = drawing["panels"]
    most = max(len(panel["rows"]) for panel in panels)
    height = 2.0 + 0.34 * most
    figure, grid = plt.subplots(1, len(panels), figsize=(9.6, height), sharex=True, squeeze=False)
    ratios = [ratio for panel in panels for row in panel["rows"] for ratio in row["points"].values() if ratio]
    for axes, panel in zip(grid[0], panels):
        axes.axvline(1, color=INK, linewidth=1.2)
        axes.axhline(len(panel["rows"]) - 1.5, color="#808890", linewidth=0.8)  # above the means
        for y, row in enumerate(panel["rows"]):
            for name, ratio in row["points"].items():
                if ratio:
                    shape, face, edge = MARKS[name]
                    axes.plot(ratio, y, marker=shape, markerfacecolor=face, markeredgecolor=edge, markeredgewidth=1.6,
                              markersize=7, linestyle="none", label=name if axes is grid[0][0] and y == 0 else None)
        axes.set_xscale("log")
        axes.set_ylim(len(panel["rows"]) - 0.45, -0.55)
        axes.set_yticks(range(len(panel["rows"])), [row["label"] for row in panel["rows"]])
        axes.set_title(panel["title"], loc="left", fontsize=10, color=INK)
        axes.grid(axis="both", color="#d0d7de", linewidth=0.6)
        axes.set_axisbelow(True)
    axes = grid[0][0]
    axes.set_xlim(min(0.8, 0.85 * min(ratios)), 1.2 * max(ratios))
    axes.set_xticks(*ticks(*axes.get_xlim()))
    axes.minorticks_off()
    heading(figure, drawing, height)
    figure.supxlabel("time of the peer / ours, logarithmic; right of 1: ours is faster", fontsize=10, color=INK, y=0.12 / height)
    figure.legend(loc="upper left", bbox_to_anchor=(0.005, 1 - 0.66 / height), ncols=4, frameon=False, fontsize=9.5, handlelength=1)
    figure.subplots_adjust(left=0.075, right=0.985, top=1 - 1.3 / height, bottom=0.62 / height, wspace=0.28)
    return figure


# Colour and dash: the storage; marker: the plan.
STORAGES = {"dense": ("#c04f00", "--"), "tt": ("#0072b2", "-")}


def draw_trains(drawing):
    """Time of a step against rows, both logarithmic, with 95 % intervals."""
    height = 4.6
    figure, axes = plt.subplots(figsize=(9.6, height))
    plans = list(dict.fromkeys(line["label"].partition(", ")[2] for line in drawing["lines"]))
    for line in drawing["lines"]:
        colour, dash = STORAGES[line["storage"]]
        rows, median, low, high = zip(*line["points"])
        axes.errorbar(rows, median, yerr=([m - low_ for m, low_ in zip(median, low)], [high_ - m for m, high_ in zip(median, high)]),
                      color=colour, linestyle=dash, marker="os^v"[plans.index(line["label"].partition(", ")[2]) % 4], markersize=6,
                      capsize=3, linewidth=1.6, label=line["label"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_yticks(*ticks(*axes.get_ylim()))
    axes.minorticks_off()
    axes.set_xticks(sorted({point[0] for line in drawing["lines"] for point in line["points"]}))
    axes.set_xticklabels([f"{tick:,.0f}" for tick in axes.get_xticks()])
    axes.set_xlabel("rows of the table, logarithmic", fontsize=10, color=INK)
    axes.set_ylabel("median step in ms, logarithmic", fontsize=10, color=INK)
    axes.grid(axis="both", color="#d0d7de", linewidth=0.6)
    axes.set_axisbelow(True)
    heading(figure, drawing, height)
    figure.legend(loc="upper left", bbox_to_anchor=(0.005, 1 - 0.62 / height), ncols=4, frameon=False, fontsize=9.5)
    figure.subplots_adjust(left=0.085, right=0.985, top=1 - 1.1 / height, bottom=0.55 / height)
    return figure


# Colour, dash and marker: the plan.
LINES = [("#0072b2", "-", "o"), ("#c04f00", "--", "s"), ("#117733", "-.", "^"), ("#882255", ":", "v"), ("#aa4499", "-", "D"),
         ("#666666", "--", "P"), ("#1f2328", "-.", "X"), ("#56b4e9", ":", "h")]


def draw_scaling(drawing):
    """Time of a step and samples/s against ranks, both logarithmic, with intervals; thin: what ideal scaling would be."""
    height = 3.9 + 0.22 * ((len(drawing["lines"]) + 1) // 2)
    figure, panels = plt.subplots(1, 2, figsize=(9.6, height), sharex=True)
    ranks = sorted({point["ranks"] for line in drawing["lines"] for point in line["points"]})
    nodes = {count: sorted({point["nodes"] for line in drawing["lines"] for point in line["points"] if point["ranks"] == count})
             for count in ranks}
    for axes, what, label in ((panels[0], "step_ms", "median step in ms"), (panels[1], "samples_per_s", "samples/s")):
        for number, line in enumerate(drawing["lines"]):
            colour, dash, marker = LINES[number % len(LINES)]
            points = line["points"]
            values = [point[what] for point in points]
            axes.errorbar([point["ranks"] for point in points], [value["median"] for value in values],
                          yerr=([value["median"] - value["low"] for value in values], [value["high"] - value["median"] for value in values]),
                          color=colour, linestyle=dash, marker=marker, markersize=6, capsize=3, linewidth=1.6,
                          label=f"{line['label']} ({points[-1]['speedup']:.2f} x on {points[-1]['ranks']}, "
                                f"{100 * points[-1]['efficiency']:.0f} %)" if axes is panels[0] else None)
            power = {"step_ms": -1 if drawing["scaling"] == "strong" else 0, "samples_per_s": 1}[what]
            if drawing["scaling"] != "neither" and points[-1]["ranks"] > points[0]["ranks"]:
                ends = (points[0]["ranks"], points[-1]["ranks"])
                axes.plot(ends, [values[0]["median"] * (end / ends[0])**power for end in ends], color=colour, linewidth=0.7, alpha=0.7)
        axes.set_xscale("log")
        axes.set_xlim(ranks[0] / 1.2, 1.2 * ranks[-1])
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        if high / low < 4:
            axes.set_ylim(low / 2, 2 * high)
        places, labels = ticks(*axes.get_ylim())
        axes.set_yticks(places, labels if what == "step_ms" else [f"{place:.1e}".replace("e+0", "e") for place in places])
        axes.minorticks_off()
        axes.set_xticks(ranks, [f"{count:,}\n{' or '.join(map(str, nodes[count]))} node" + ("s" if nodes[count][-1] > 1 else "") for count in ranks])
        axes.minorticks_off()
        axes.set_xlabel("ranks, logarithmic", fontsize=10, color=INK)
        axes.set_title(f"{label}, logarithmic, with interval", loc="left", fontsize=10, color=INK)
        axes.grid(axis="both", color="#d0d7de", linewidth=0.6)
        axes.set_axisbelow(True)
    note = drawing["note"] + ("" if drawing["scaling"] == "neither" else "\nthin lines: ideal scaling from the fewest ranks; in brackets: speed-up and efficiency")
    lines = sum(len(textwrap.wrap(part, 105)) for part in note.split("\n"))
    heading(figure, {**drawing, "note": note}, height)
    top = 0.48 + 0.19 * lines
    figure.legend(loc="upper left", bbox_to_anchor=(0.005, 1 - top / height), ncols=2, frameon=False, fontsize=9.5)
    rows = (len(drawing["lines"]) + 1) // 2
    figure.subplots_adjust(left=0.07, right=0.97, top=1 - (top + 0.42 + 0.22 * rows) / height, bottom=0.72 / height, wspace=0.2)
    return figure


def draw_predicted(drawing):
    """A row per case: measured with its interval, predicted as a square, the error beside them."""
    rows = drawing["rows"]
    height = 1.9 + 0.36 * len(rows)
    figure, axes = plt.subplots(figsize=(9.6, height))
    far = max(max(row["high"], row["predicted"]) for row in rows)
    for y, row in enumerate(rows):
        axes.plot([row["low"], row["high"]], [y, y], color=INK, linewidth=2, solid_capstyle="butt")
        axes.plot(row["median"], y, marker="o", color=INK, markersize=6, linestyle="none", label="measured, 95 % interval" if y == 0 else None)
        axes.plot(row["predicted"], y, marker="s", markerfacecolor="none", markeredgecolor="#c04f00", markeredgewidth=1.8, markersize=9,
                  linestyle="none", label="predicted before it ran" if y == 0 else None)
        axes.text(max(row["high"], row["predicted"]) + 0.03 * far, y, f"{100 * row['error']:+.1f} %", va="center", fontsize=10, color=INK)
    axes.set_xlim(0, 1.15 * far)
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.set_yticks(range(len(rows)), [row["label"] for row in rows])
    axes.set_xlabel("median step in ms, and how far the prediction is off", color=INK, fontsize=10)
    axes.grid(axis="x", color="#d0d7de", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    heading(figure, drawing, height)
    lines = sum(len(textwrap.wrap(part, 105)) for part in drawing["note"].split("\n"))
    top = 0.48 + 0.19 * lines
    figure.legend(loc="upper left", bbox_to_anchor=(0.005, 1 - top / height), ncols=2, frameon=False, fontsize=9.5)
    longest = max(len(row["label"]) for row in rows)
    figure.subplots_adjust(left=min(0.5, 0.03 + 0.0088 * longest), right=0.985, top=1 - (top + 0.4) / height, bottom=0.55 / height)
    return figure


def finished(svg, drawing, digest):
    """Without DOCTYPE and metadata; with title, description and the digest of what it shows."""
    svg = re.sub(r"<!DOCTYPE[^>]*>\s*", "", svg)
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    named = (f'\\1 role="img" aria-labelledby="title desc">\n <title id="title">{escape(drawing["title"])}</title>\n'
             f' <desc id="desc">{escape(drawing["description"])}</desc>\n <!-- shows {digest} -->')
    svg = re.sub(r"(<svg [^>]*)>", lambda match: named.replace("\\1", match[1]), svg, count=1)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


# What a format says of the file beside the picture: nothing that differs from one drawing to the next.
METADATA = {"svg": {"Date": None, "Creator": None, "Format": None, "Type": None}, "pdf": {"CreationDate": None}, "png": {}}


def save(drawing, digest, path, form):
    figure = {"cases": draw_cases, "peers": draw_peers, "trains": draw_trains, "scaling": draw_scaling,
              "predicted": draw_predicted}[drawing["kind"]](drawing)
    figure.savefig(path, format=form, metadata=METADATA[form], dpi=150)
    plt.close(figure)
    if form == "svg":
        path.write_text(finished(path.read_text(encoding="utf-8"), drawing, digest), encoding="utf-8")


def main():
    for file, (digest, drawing) in json.load(sys.stdin).items():
        save(drawing, digest, Path(file), "svg")


if __name__ == "__main__":
    main()
