# SPDX-License-Identifier: Apache-2.0
"""What the campaigns of predictions say: predicted beside measured, `search` beside the other planners, the hold-out.

The program computes the three figures (results/prediction_quality.hpp): MAPE, Spearman's rank correlation, regret."""
import json
import math
import re
import statistics
from dataclasses import dataclass

from measured.files import BadInput, machines_beside, median_ms
from measured.text import figure, interval, markdown_table, ratio_text

SEARCH = "search"
SEEDS = ("data_parallel", "table_wise", "row_wise", "row_wise_block", "column_wise", "data_parallel+table_wise")
MOST_HOLDOUT_ERROR = 0.25  # beyond which a prediction is told as missed


def plan_of(record):
    return record["plan"]


def rule_of(record):
    return record["plan"].partition(":")[0]


def workloads(results):
    """{workload: its valid cases, the fastest first}, in the order of the file."""
    found = {}
    for record in results.valid:  # the first of each job come first
        found.setdefault(record["workload"], []).append(record)
    return found


def qualities(results):
    """How good the predictions of each workload were, in the order of the file."""
    return [quality for workload, quality in results.predictions.items() if workload]


def beside_search(cases):
    """(search, the best of the other planners, the best seed rule); None for what was not measured."""
    def first(wanted):
        return next((record for record in cases if wanted(rule_of(record))), None)
    return first(lambda rule: rule == SEARCH), first(lambda rule: rule != SEARCH), first(lambda rule: rule in SEEDS)


def percent(x):
    return f"{100 * x:.1f} %"


def signed(x):
    return f"{100 * x:+.1f} %"


def beside(results, search, other):
    """How many times as fast `search` is, and as what."""
    return f"{ratio_text(results.faster_by(search, other))} (`{plan_of(other)}`)" if search and other else "-"


def machines_of(results):
    """{workload: the machine} where they were calibrated before each."""
    return {part: json.loads(path.read_text(encoding="utf-8")) for part, path in machines_beside(results.path).items() if part}


def steps_after(results):
    """{workload: how many times as long steps took in the calibration behind it as in the one before, in the median}"""
    known = {part: machine.get("calibration", {}).get("steps_after") for part, machine in machines_of(results).items()}
    return {part: factor for part, factor in known.items() if factor}


def memory_speeds(results):
    """{workload: (bytes/s of rows read at random, of rows changed)} of the machines that were calibrated before each."""
    machines = machines_of(results)
    return {part: tuple(machine["bytes_per_second"][name] for name in ("gather", "update")) for part, machine in machines.items()}


def workload_row(results, name, cases, speeds):
    told = ["-"] * 4
    if quality := results.predictions.get(name):
        correlation = quality["rank_correlation"]
        told = [percent(quality["mean_error"]), "-" if correlation is None else f"{correlation:.2f}", percent(quality["regret"]),
                f"`{plan_of(results.records[quality['liked']])}`"]
    search, other, seed = beside_search(cases)
    return [name, len(cases), f"`{plan_of(cases[0])}` {figure(median_ms(cases[0]))}", *told, beside(results, search, other),
            beside(results, search, seed), " / ".join(figure(speed / 1e9) for speed in speeds) or "-"]


@dataclass(frozen=True)
class Figures:
    """How good the predictions of a campaign are; shares, None where nothing tells."""
    error: float = None  # MAPE of all cases
    correlations: tuple = ()  # Spearman's, of the workloads that have one
    regret: float = None  # the most of a workload
    behind: float = None  # `search` behind the best other planner, at worst
    behind_at: str = ""  # the workload where it is
    ahead: tuple = ()  # of the best seed rule, `search` of each workload


def figures(results):
    told = qualities(results)
    compared = {name: each for name, each in ((name, beside_search(cases)) for name, cases in workloads(results).items()) if all(each)}
    behind = max(((results.faster_by(other, search)[0] - 1, name) for name, (search, other, _) in compared.items()), default=(None, ""))
    return Figures(
        results.predictions[None]["mean_error"] if told else None,
        tuple(each["rank_correlation"] for each in told if each["rank_correlation"] is not None),
        max((each["regret"] for each in told), default=None),
        *behind,
        tuple(results.faster_by(search, seed)[0] - 1 for search, _, seed in compared.values()))


def summary(results, speeds):
    """[(what, its value)] over all workloads; without what was not measured. speeds: memory_speeds()."""
    found, lines = figures(results), []
    if found.error is not None:
        lines.append(("mean error of all predictions (MAPE)", percent(found.error)))
        if found.correlations:
            lines.append(("rank correlation (Spearman), mean of the workloads",
                          f"{statistics.mean(found.correlations):.2f}, least {min(found.correlations):.2f}"))
        lines.append(("most regret of a workload", percent(found.regret)))
    if found.behind is not None:
        lines.append((f"`{SEARCH}` behind the best other planner, at worst", signed(found.behind)))
        lines.append((f"`{SEARCH}` ahead of the best seed rule, mean and at most",
                      f"{signed(statistics.mean(found.ahead))}, {signed(max(found.ahead))}"))
    if speeds:
        spread = max(max(each) / min(each) for each in zip(*speeds.values()))
        lines.append(("drift of the machine: fastest over slowest memory of its calibrations, one before each workload", f"{spread:.2f}"))
    if after := steps_after(results):
        part, factor = max(after.items(), key=lambda each: abs(math.log(each[1])))
        lines.append(("the same around a workload, at most: steps of the calibration behind it beside those of the one before",
                      f"{factor:.2f} times as long (`{part}`)"))
    return lines


def missed_phases(results):
    """{phase: how far it is off, in shares of the step, on average}, the furthest first; of cases that were predicted."""
    off, cases = {}, [record for record in results.valid if record["error"] is not None]
    for record in cases:
        for name, phase in record["phases"].items():
            if "predicted_ms" in phase:
                off[name] = off.get(name, 0.0) + abs(phase["predicted_ms"] - phase["median_ms"]) / median_ms(record)
    return {name: off[name] / len(cases) for name in sorted(off, key=off.get, reverse=True)}


def trust(machine, results):
    """How far off the predictions were, in a sentence; None where there were none."""
    told = qualities(results)
    if not told:
        return None
    everything, links = results.predictions[None], " between hosts" if results.campaign.links else ""
    return (f"{everything['cases']} cases of {len(told)} workloads on {results.records[0]['ranks']} ranks{links} ({machine}): "
            f"{percent(everything['mean_error'])} off on average; the plan that was liked best was at most "
            f"{percent(max(each['regret'] for each in told))} slower than the fastest.")


def usual_errors(newest):
    """What the program says of its predictions (results/usual_error.cpp): on calibrated machines, between their hosts, and on
    described ones the published steps that chose nothing. Cases of several machines are as many cases of one kind."""
    calibrated, errors = {}, {}
    for _, results in newest:
        if results.campaign.kind == "predictions" and qualities(results):
            calibrated.setdefault("between_hosts" if results.campaign.links else "one_node", []).append(results)
        if results.campaign.kind == "holdout":
            held_out = [abs(published_error(record)) for record in results.records if record["held_out"]]
            if held_out:
                errors["described"] = {"cases": len(held_out), "mean_error": round(statistics.mean(held_out), 4)}
    for kind, several in calibrated.items():
        every = [results.predictions[None] for results in several]
        cases = sum(each["cases"] for each in every)
        errors[kind] = {"cases": cases, "workloads": max(len(qualities(results)) for results in several), "ranks": several[0].records[0]["ranks"],
                        "mean_error": round(sum(each["cases"] * each["mean_error"] for each in every) / cases, 4)}
    return errors


def cases_table(cases):
    rows = [[f"`{plan_of(record)}`", interval(record["step_ms"]), *(["-", "-"] if record["error"] is None
             else [figure(record["predicted_ms"]), signed(record["error"])]), f"stopped {record['stopped']}" if "stopped" in record else ""]
            for record in cases]
    return markdown_table(["plan", "measured, ms [95 % interval]", "predicted, ms", "error", ""], rows)


def phases_table(record):
    """Measured, predicted and least of each phase of the fastest plan; None where that was not predicted."""
    rows = [[name, figure(phase["median_ms"]), *(figure(phase[key]) if key in phase else "-" for key in ("predicted_ms", "least_ms"))]
            for name, phase in record["phases"].items()]
    told = any("predicted_ms" in phase or "least_ms" in phase for phase in record["phases"].values())
    return markdown_table([f"phase of `{plan_of(record)}`", "measured, ms", "predicted", "least"], rows) if told else None


def predictions_table(results):
    found, speeds = workloads(results), memory_speeds(results)
    wanted = [part.name for part in results.campaign.parts]
    missing = [name for name in wanted if name not in {record.get("part") for cases in found.values() for record in cases}]
    text = markdown_table(["over all workloads", ""], [list(line) for line in summary(results, speeds)])
    text += "\n\n" + markdown_table(
        ["workload", "plans", "fastest, ms", "MAPE", "Spearman", "regret", "liked best", f"best other / `{SEARCH}`",
         f"best seed rule / `{SEARCH}`", "rows read / changed, GB/s"],
        [workload_row(results, name, cases, speeds.get(name, ())) for name, cases in found.items()])
    text += ("\n\nRegret: time of the plan that the predictions liked best / the least - 1. For Spearman and regret, cases of one and the "
             "same plan count as one, with the median of their times. Seed rules: " +
             ", ".join(f"`{name}`" for name in SEEDS) + ". Least: what the measured speed of memory and links allows for the same bytes." +
             (" Rows read and changed at random: in the calibration right before the workload." if speeds else ""))
    told = {part.name: part.when for part in results.campaign.parts}
    for name, cases in found.items():
        phases = phases_table(cases[0])
        text += f"\n\n**{name}**: {told.get(name, name)}\n\n{cases_table(cases)}" + (f"\n\n{phases}" if phases else "")
    return text + (f"\n\nWithout a valid measurement: {', '.join(missing)}." if missing else "")


def option_words(record):
    """What a case has that its workload does not ask for, besides how many batches there are."""
    told = [f"{name} {record['options'][name]}" for name in record["changed"] if name not in ("batches", "scale", "exchange")]
    return ", ".join((record["options"]["exchange"], *told))


def predicted_parts(results):
    """{part: its valid cases that were predicted}, of those that have some."""
    found = {part.name: [record for record in results.valid if record["part"] == part.name and record["error"] is not None]
             for part in results.campaign.parts}
    return {name: cases for name, cases in found.items() if cases}


def mean_error(cases):
    return statistics.mean(abs(record["error"]) for record in cases)


def trust_options(machine, results):
    """The same of other options; None where nothing was predicted."""
    parts = predicted_parts(results)
    if not parts:
        return None
    every, worst = [record for cases in parts.values() for record in cases], max(parts, key=lambda name: mean_error(parts[name]))
    return (f"{len(every)} cases of {len(parts)} other kinds of options on {every[0]['ranks']} ranks ({machine}): {percent(mean_error(every))} off on "
            f"average; furthest {worst}, {percent(mean_error(parts[worst]))}.")


def options_table(results):
    """A line for each case, and how far off the predictions of each part are."""
    parts = predicted_parts(results)
    if not parts:
        return "Without a valid measurement."
    every = [record for cases in parts.values() for record in cases]
    told = {part.name: part.when for part in results.campaign.parts}
    rows = [[name, told[name], len(cases), percent(mean_error(cases))] for name, cases in parts.items()]
    text = markdown_table(["cases", "what is special", "how many", "MAPE"], [*rows, ["all", "", len(every), percent(mean_error(every))]])
    rows = [[name, record["workload"], f"`{plan_of(record)}`", option_words(record), interval(record["step_ms"]), figure(record["predicted_ms"]),
             signed(record["error"])] for name, cases in parts.items() for record in cases]
    return text + "\n\n" + markdown_table(["cases", "workload", "plan", "options", "measured, ms [95 % interval]", "predicted, ms", "error"], rows)


def behind_best(found):
    """{plan: times of its steps / the least, a workload each} of the plans that all workloads have."""
    behind = {}
    for cases in found.values():
        for record in cases:
            behind.setdefault(plan_of(record), []).append(record["ratio"])
    return {plan: times for plan, times in behind.items() if len(times) == len(found)}


def advice_rows(results, make):
    """`make(situation, attempt, measured)` of the plan that is least behind the best of each workload, on average."""
    found = workloads(results)
    behind = behind_best(found)
    means = {plan: statistics.geometric_mean(times) for plan, times in behind.items()}
    if not means:
        return []
    best, *others = sorted(means, key=means.get)
    compared = "".join(f"; `{plan}`: {means[plan]:.2f}" for plan in others[:1] + others[1:][-1:])
    return [make(results.campaign.when, f"`--plan {best}`",
                 f"on average {means[best]:.2f} of the time of the fastest of {len(means)} plans for each of {len(found)} workloads, "
                 f"at worst {max(behind[best]):.2f}{compared}")]


# The hold-out: `shardmark predict WORKLOAD --published` prints a line a published step.

COLUMNS = ("machine", "ranks", "plan", "published_ms", "predicted_ms", "error", "embeddings_ms", "dense_ms", "share", "held_out")
CASTS = {"machine": str, "plan": str, "ranks": int, "held_out": {"yes": True, "no": False}.get}


def published_records(text, workload, _=None):
    """[{workload, machine, ranks, plan, published_ms, ...}] of what the program prints."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")][1:]  # after the header
    source = text.strip().splitlines()[-1].removeprefix("# ") if text.strip() else ""
    try:
        return [{"record": "published", "workload": workload, "source": source,
                 **{key: CASTS.get(key, float)(word) for key, word in zip(COLUMNS, words, strict=True)}} for words in lines]
    except ValueError as found:
        raise BadInput(f"predict {workload} --published: not a table of published steps ({found})") from found


def published_error(record):
    return record["predicted_ms"] / record["published_ms"] - 1


def ratios(records):
    """[(workload, slow, fast, published, predicted)] of two plans on one machine and so many ranks."""
    found = {}
    for record in records:
        found.setdefault((record["workload"], record["machine"], record["ranks"]), []).append(record)
    pairs = [sorted(several, key=lambda record: record["published_ms"]) for several in found.values() if len(several) == 2]
    return [(fast["workload"], slow["plan"], fast["plan"], slow["published_ms"] / fast["published_ms"],
             slow["predicted_ms"] / fast["predicted_ms"]) for fast, slow in pairs]


def holdout_table(results):
    """Every published step, misses included."""
    rows = []
    for record in results.records:
        miss = published_error(record)
        rows.append([record["workload"], record["machine"], record["ranks"], f"`{record['plan']}`",
                     figure(record["published_ms"]), figure(record["predicted_ms"]),
                     signed(miss) + (" (missed)" if abs(miss) > MOST_HOLDOUT_ERROR else "" if record["held_out"] else " (chosen)"),
                     f"{figure(record['embeddings_ms'])} ({record['share']:.0f} %)"])
    text = markdown_table(["workload", "machine", "ranks", "plan", "published, ms", "predicted, ms", "error", "embeddings of it, ms"], rows)
    return text + "\n\n" + holdout_sentences(results)


def holdout_summary(results):
    """The same in a row for each workload."""
    found = {}
    for record in results.records:
        found.setdefault((record["workload"], record["machine"]), []).append(record)

    def cells(records, text_of):
        return " / ".join(map(text_of, records))
    rows = [[f"{workload} ({machine})",
             cells(records, lambda record: f"`{record['plan']}`" if len(ratios(records)) > 0 else str(record["ranks"])),
             cells(records, lambda record: figure(record["published_ms"])), cells(records, lambda record: figure(record["predicted_ms"])),
             cells(records, lambda record: signed(published_error(record)) if record["held_out"] else "chosen")]
            for (workload, machine), records in found.items()]
    return (markdown_table(["workload (described machine)", "ranks or plans", "published, ms", "predicted, ms", "error"], rows) + "\n\n" +
            holdout_sentences(results))


def holdout_sentences(results):
    held_out = [abs(published_error(record)) for record in results.records if record["held_out"]]
    within = sum(miss <= MOST_HOLDOUT_ERROR for miss in held_out)
    lines = [f"Within {percent(MOST_HOLDOUT_ERROR)}: {within} of {len(held_out)}, from described machines, fitted to none of these, "
             "though their times were known when the machines were described."]
    if len(held_out) < len(results.records):
        lines.append("Of those that are chosen, a constant of the machine was chosen from each.")
    for workload, slow, fast, published, ours in ratios(results.records):
        lines.append(f"{workload}, `{slow}` / `{fast}`: published {published:.3f}, predicted {ours:.3f} ({signed(ours / published - 1)}).")
    return " ".join(lines)


# Plans of large clusters: what a search says of its plan, and what the program takes for that.

SEARCHED = re.compile(r"search: predicted (\S+) ms; no plan of these options takes less than (\S+) ms \(gap (\S+) %\)(.*)")


def scale_records(text, part, took):
    """One record: {part, seconds, peak_bytes} of the command, and of a search its milliseconds and their bound."""
    found = SEARCHED.search(text)
    if (part == "search") != bool(found):
        raise BadInput(f"{part}: not what a command of the campaign prints: {text.strip()[-200:]}")
    told = {"predicted_ms": float(found[1]), "bound_ms": float(found[2]), "late": "the time was over" in found[4]} if found else {}
    return [{"record": "scale", **took, **told}]


def gap(record):
    return record["predicted_ms"] / record["bound_ms"] - 1


def scale_table(results):
    rows = [[record["part"], figure(record["seconds"]), figure(record["peak_bytes"] / 1e9),
             *([figure(record["predicted_ms"]), figure(record["bound_ms"]), percent(gap(record)), "yes" if record["late"] else ""]
               if "bound_ms" in record else ["-"] * 3 + [""])] for record in results.records]
    return markdown_table(["what", "seconds", "GB of memory", "step of the plan, ms", "no plan is faster than, ms", "gap", "time was over"], rows)
