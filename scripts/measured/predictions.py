# SPDX-License-Identifier: Apache-2.0
"""What the campaigns of predictions say: predicted beside measured, `search` beside the other planners, the hold-out.

The three figures are those of results/prediction_quality.hpp: MAPE, Spearman's rank correlation, regret."""
import statistics

from measured.files import BadInput, faster_by, median_ms, ranked
from measured.text import figure, interval, markdown_table, ratio_text

SEARCH = "search"
SEEDS = ("data_parallel", "table_wise", "row_wise", "row_wise_block", "column_wise", "data_parallel+table_wise")
MOST_HOLDOUT_ERROR = 0.25  # beyond which a prediction is told as missed


def plan_of(record):
    return record["plan"]


def rule_of(record):
    return record["plan"].partition(":")[0]


def valid(records):
    return ranked(record for record in records if record["wrong"] == 0 and record["checked_steps"] > 0)


def workloads(results):
    """{workload: its valid cases, the fastest first}, in the order of the file."""
    found = {}
    for record in results.records:
        found.setdefault(record["workload"], []).append(record)
    return {name: cases for name, records in found.items() if (cases := valid(records))}


def predicted(cases):
    return [record for record in cases if record.get("predicted_ms")]


def error(record):
    """(predicted - measured) / measured"""
    return record["predicted_ms"] / median_ms(record) - 1


def mean_error(cases):
    return sum(abs(error(record)) for record in cases) / len(cases)


def mean_ranks(values):
    """From 1 on, ascending; equal values have the mean of the ranks that they take."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def rank_correlation(a, b):
    """Spearman's rho; None where the values of one are all equal."""
    a, b = mean_ranks(a), mean_ranks(b)
    mean = (len(a) + 1) / 2
    both = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    spread = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return both / spread ** 0.5 if spread else None


def correlation_of(cases):
    return rank_correlation([record["predicted_ms"] for record in cases], [median_ms(record) for record in cases])


def liked(cases):
    """The case of the least prediction; among equals the slowest of them."""
    return min(cases, key=lambda record: (record["predicted_ms"], -median_ms(record)))


def regret(cases):
    return median_ms(liked(cases)) / min(map(median_ms, cases)) - 1


def beside_search(cases):
    """(search, the best of the other planners, the best seed rule); None for what was not measured."""
    def first(wanted):
        return next((record for record in cases if wanted(rule_of(record))), None)
    return first(lambda rule: rule == SEARCH), first(lambda rule: rule != SEARCH), first(lambda rule: rule in SEEDS)


def percent(x):
    return f"{100 * x:.1f} %"


def signed(x):
    return f"{100 * x:+.1f} %"


def ratio_or_dash(one, other):
    return ratio_text(faster_by(one, other)) if one and other else "-"


def workload_row(name, cases):
    told = predicted(cases)
    quality = ["-"] * 4
    if told:
        correlation = correlation_of(told)
        quality = [percent(mean_error(told)), "-" if correlation is None else f"{correlation:.2f}", percent(regret(told)),
                   f"`{plan_of(liked(told))}`"]
    search, other, seed = beside_search(cases)
    return [name, len(cases), f"`{plan_of(cases[0])}` {figure(median_ms(cases[0]))}", *quality,
            f"{ratio_or_dash(search, other)}" + (f" (`{plan_of(other)}`)" if search and other else ""),
            f"{ratio_or_dash(search, seed)}" + (f" (`{plan_of(seed)}`)" if search and seed else "")]


def summary(results):
    """[(what, its value)] over all workloads; without what was not measured."""
    found = workloads(results)
    told = {name: predicted(cases) for name, cases in found.items() if predicted(cases)}
    lines = []
    if told:
        lines.append(("mean error of all predictions (MAPE)", percent(mean_error([record for cases in told.values() for record in cases]))))
        correlations = [rho for cases in told.values() if (rho := correlation_of(cases)) is not None]
        if correlations:
            lines.append(("rank correlation (Spearman), mean of the workloads", f"{statistics.mean(correlations):.2f}, least {min(correlations):.2f}"))
        lines.append(("most regret of a workload", percent(max(regret(cases) for cases in told.values()))))
    beside = [each for each in map(beside_search, found.values()) if all(each)]
    if beside:
        behind = max(median_ms(search) / median_ms(other) - 1 for search, other, _ in beside)
        ahead = [median_ms(seed) / median_ms(search) - 1 for search, _, seed in beside]
        lines.append((f"`{SEARCH}` behind the best other planner, at worst", signed(behind)))
        lines.append((f"`{SEARCH}` ahead of the best seed rule, mean and at most", f"{signed(statistics.mean(ahead))}, {signed(max(ahead))}"))
    return lines


def trust(results):
    """How far off the predictions were, in a sentence; None where there were none."""
    told = [cases for each in workloads(results).values() if (cases := predicted(each))]
    if not told:
        return None
    cases = sum(told, [])
    links = " between hosts" if results.campaign.links else ""
    return (f"{len(cases)} cases of {len(told)} workloads on {cases[0]['ranks']} ranks{links}: {percent(mean_error(cases))} off on average; "
            f"the plan that was liked best was at most {percent(max(map(regret, told)))} slower than the fastest.")


def cases_table(cases):
    rows = [[f"`{plan_of(record)}`", interval(record["step_ms"]), *([figure(record["predicted_ms"]), signed(error(record))]
             if record.get("predicted_ms") else ["-", "-"]), f"stopped {record['stopped']}" if "stopped" in record else ""]
            for record in cases]
    return markdown_table(["plan", "measured, ms [95 % interval]", "predicted, ms", "error", ""], rows)


def phases_table(record):
    """Measured, predicted and least of each phase of the fastest plan; None where that was not predicted."""
    rows = [[name, figure(phase["median_ms"]), *(figure(phase[key]) if key in phase else "-" for key in ("predicted_ms", "least_ms"))]
            for name, phase in record["phases"].items()]
    told = any("predicted_ms" in phase or "least_ms" in phase for phase in record["phases"].values())
    return markdown_table([f"phase of `{plan_of(record)}`", "measured, ms", "predicted", "least"], rows) if told else None


def predictions_table(results):
    found = workloads(results)
    wanted = [part.name for part in results.campaign.parts]
    missing = [name for name in wanted if name not in {record.get("part") for cases in found.values() for record in cases}]
    text = markdown_table(["over all workloads", ""], [list(line) for line in summary(results)])
    text += "\n\n" + markdown_table(
        ["workload", "plans", "fastest, ms", "MAPE", "Spearman", "regret", "liked best", f"best other / `{SEARCH}`",
         f"best seed rule / `{SEARCH}`"], [workload_row(name, cases) for name, cases in found.items()])
    text += ("\n\nRegret: time of the plan that the predictions liked best / the least - 1. Seed rules: " +
             ", ".join(f"`{name}`" for name in SEEDS) + ". Least: what the measured speed of memory and links allows for the same bytes.")
    told = {part.name: part.when for part in results.campaign.parts}
    for name, cases in found.items():
        phases = phases_table(cases[0])
        text += f"\n\n**{name}**: {told.get(name, name)}\n\n{cases_table(cases)}" + (f"\n\n{phases}" if phases else "")
    return text + (f"\n\nWithout a valid measurement: {', '.join(missing)}." if missing else "")


def behind_best(found):
    """{plan: times of its steps / the least, a workload each} of the plans that all workloads have."""
    behind = {}
    for cases in found.values():
        for record in cases:
            behind.setdefault(plan_of(record), []).append(median_ms(record) / median_ms(cases[0]))
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


def published_records(text, workload):
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
