# SPDX-License-Identifier: Apache-2.0
"""What the files of results say: advice, and headlines of ours against another. Nothing here is known beforehand."""
import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "peers"))
import comparison  # noqa: E402

from measured.files import (as_fast_as_best, best_of_each, faster_by, field, kernel_rows, overlap,  # noqa: E402
                            traffics)
from measured.text import figure, ratio_text, ranks_of, several  # noqa: E402

LIBRARY = "mpi_alltoallv"
FLAGS = {"plan": "--plan", "transfer": "--transfer", "wire": "--wire", "dedup": "--dedup", "exchange": "--exchange"}


@dataclass(frozen=True)
class Advice:
    situation: str
    attempt: str
    measured: str


@dataclass(frozen=True)
class Headline:
    claim: str
    ours: str
    peer: str
    ratio: object  # peer's time / ours, above 1: ours is faster; or (ratio, least, most)
    results: object


SITUATIONS = {
    "placements": "few of your tables are large, and all fit",
    "hugectr": "the same with rows of 512 bytes",
    "transfers": "tables must be split by rows, all ranks on one machine",
    "links-transfers": "the same, ranks on hosts with slow links",
    "links-wires": "your links are slow and an error of half precision is no harm",
    "links-dedup": "ids repeat within a batch, links are slow",
}


def name_of(record, results):
    return " ".join(field(record, name) for name in results.campaign.axis)


def advice_of_cases(results):
    ranked = best_of_each(results)
    if len(ranked) < 2:
        return None
    best = as_fast_as_best(ranked)
    flag = FLAGS[results.campaign.axis[0]]
    attempt = several([f"`{flag} {name_of(record, results)}`" for record in best])
    others = ranked[len(best):] or ranked[-1:]
    compared = [f"{ratio_text(faster_by(ranked[0], record)[0])} times as fast as `{name_of(record, results)}`"
                for record in others[:1] + others[1:][-1:]]
    return Advice(SITUATIONS[results.campaign.name], attempt,
                  f"{', '.join(compared)} ({results.campaign.name}: {ranks_of(results)})")


def automatic(results):
    """(worst ratio, traffics slower with intervals apart, traffics) of `auto` beside the library's call."""
    pairs = [(lines["auto"]["time_ms"], lines[LIBRARY]["time_ms"]) for lines in traffics(results).values()
             if "auto" in lines and LIBRARY in lines]
    if not pairs:
        return None
    slower = sum(auto["low"] > library["high"] for auto, library in pairs)
    return max(auto["median"] / library["median"] for auto, library in pairs), slower, len(pairs)


def fastest(lines):
    return min(lines.values(), key=lambda line: line["time_ms"]["median"])


def beaten(results):
    """Of the library's call, intervals apart: [(traffic, its record, the fastest one's)]."""
    found = [(traffic, lines[LIBRARY], fastest(lines)) for traffic, lines in traffics(results).items() if LIBRARY in lines]
    return [each for each in found if each[2]["time_ms"]["high"] < each[1]["time_ms"]["low"]]


def advice_of_exchanges(results):
    worst = automatic(results)
    if worst is None:
        return None
    gains = beaten(results)
    where = "between hosts" if results.campaign.links else "on one machine"
    text = f"`auto` takes at most {worst[0]:.2f} of the time of `{LIBRARY}`, slower beyond chance on {worst[1]} of {worst[2]} traffics"
    if gains:
        traffic, library, best = max(gains, key=lambda gain: gain[1]["time_ms"]["median"] / gain[2]["time_ms"]["median"])
        by = library["time_ms"]["median"] / best["time_ms"]["median"]
        text += f"; the most that another gains is {by:.2f}, `{best['exchange']}`"
    return Advice(f"you wonder about the exchange, {where}", "`--exchange auto`" if worst[1] == 0 else f"`--exchange auto,{LIBRARY}`",
                  f"{text} ({results.campaign.name}: {ranks_of(results)})")


def advice(results):
    kinds = {"cases": advice_of_cases, "exchanges": advice_of_exchanges}
    return kinds[results.campaign.kind](results) if results.campaign.kind in kinds else None


def ms(record):
    return figure(record["step_ms"]["median"]) + " ms"


def headlines_of_cases(results):
    ranked = best_of_each(results)
    if len(ranked) < 2 or overlap(ranked[0]["step_ms"], ranked[-1]["step_ms"]):
        return []
    best, worst = ranked[0], ranked[-1]
    claim = f"{results.campaign.title}: the best {results.campaign.axis[0]} against the slowest"
    lines = [Headline(claim, f"{name_of(best, results)} {ms(best)}", f"{name_of(worst, results)} {ms(worst)}",
                      faster_by(best, worst), results)]
    published = results.environment.get("published")
    plans = {field(record, "plan"): record for record in ranked}
    if published and published["fast"] in plans and published["slow"] in plans:
        ratio = faster_by(plans[published["fast"]], plans[published["slow"]])
        lines = [Headline(f"{results.campaign.title}: {published['fast']} over {published['slow']}",
                          f"{ratio_text(ratio)} times as fast", f"{published['ratio']} published ({published['source']})",
                          ratio[0] / published["ratio"], results)]
    return lines


def headlines_of_exchanges(results):
    worst = automatic(results)
    return [Headline(f"{results.campaign.title}: `auto` at worst", "auto", LIBRARY, 1 / worst[0], results)] if worst else []


def means(results, operation, setting):
    """(our ms, the faster peer's, ratio): geometric means over the cases that both ran."""
    times = comparison.times_of(results.records, operation)
    ratios = {case: comparison.ratio(passes, setting) for case, passes in times.items()}
    ours = {case: statistics.median(t[comparison.OURS] for t in passes.values() if comparison.OURS in t)
            for case, passes in times.items() if ratios[case] is not None}
    if not ours:
        return None
    mean = comparison.geometric_mean(list(ours.values()))
    ratio = comparison.geometric_mean([ratios[case] for case in ours])
    return mean, mean * ratio, ratio


def headlines_of_peers(results):
    """Tuned, which is the harder comparison; the page of the machine has the peers as installed too."""
    found = {title: means(results, operation, "tuned") for operation, title in comparison.OPERATIONS.items()}
    return [Headline(f"{title}: the faster of FBGEMM and PyTorch, tuned, mean of the cases", f"{figure(mean[0])} ms",
                     f"{figure(mean[1])} ms", mean[2], results) for title, mean in found.items() if mean]


def headlines_of_kernels(results):
    """The mean over the cases, in percent of the ceiling that bounds each kernel."""
    lines = []
    for kernel, rest, ceiling, claim in (("pooled_lookup", "major:feature", "gather_%", "Lookup against reading the same rows"),
                                         ("backward_update", "optimizer:rowwise_adagrad", "rmw_%",
                                          "Update by row-wise Adagrad, sort included, against modifying the same rows")):
        shares = [row[ceiling] / 100 for (name, _, words), row in kernel_rows(results).items()
                  if name == kernel and rest in words and "ids:int64" in words and row.get(ceiling)]
        if shares:
            lines.append(Headline(f"{claim}, mean of the cases", "the kernel", "the memory's limit",
                                  math.exp(statistics.fmean(map(math.log, shares))), results))
    return lines


def headlines(results):
    return {"cases": headlines_of_cases, "exchanges": headlines_of_exchanges, "peers": headlines_of_peers,
            "kernels": headlines_of_kernels}[results.campaign.kind](results)
