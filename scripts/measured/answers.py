# SPDX-License-Identifier: Apache-2.0
"""What the files of results say: advice, and headlines of ours against another. Nothing here is known beforehand."""
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "peers"))
import comparison  # noqa: E402

from measured import dynamic, peers, predictions, trains  # noqa: E402
from measured.files import best_of_each, field, kernel_rows, traffics  # noqa: E402
from measured.text import figure, several, span_text  # noqa: E402

LIBRARY = "mpi_alltoallv"


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
    ratio: object  # peer's time / ours, above 1: ours is faster; or (ratio, low, high)
    results: object


def name_of(record, results):
    return field(record, results.campaign.axis)


def advice_of_cases(results):
    """The fastest, or all that no interval tells from it; `auto` stands for those that are no faster than it. None where nothing
    pays: no interval tells any two apart, or what is there without being asked for (`against`) is as fast as the best.
    Cases that were given up in their first round have no interval, and say nothing."""
    ranked = [record for record in best_of_each(results) if record.get("vs_best", {}).get("rounds") != 1]
    if len(ranked) < 2:
        return None
    tied = [record for record in ranked if results.indistinguishable(ranked[0], record)]
    chosen = [record for record in tied if name_of(record, results) == "auto"] or tied
    attempt = several([f"`--{results.campaign.axis} {name_of(record, results)}`" for record in chosen])
    others = [record for record in ranked if record not in tied]
    if not others or results.campaign.against in [name_of(record, results) for record in tied]:
        return None
    compared = [f"{record['ratio']:.2f} times as fast as `{name_of(record, results)}`"
                for record in others[:1] + others[1:][-1:]]
    return Advice(results.campaign.when, attempt, ", ".join(compared))


def against(one, other):
    """(ratio, least, most): how many times as fast, of two times with their intervals."""
    return other["median"] / one["median"], other["low"] / one["high"], other["high"] / one["low"]


def automatic(results):
    """[(its time, the library's)] of `auto`, the worst first."""
    pairs = [(lines["auto"]["time_ms"], lines[LIBRARY]["time_ms"]) for lines in traffics(results).values()
             if "auto" in lines and LIBRARY in lines]
    return sorted(pairs, key=lambda pair: against(*pair)[0])


def fastest(lines):
    return min(lines.values(), key=lambda line: line["time_ms"]["median"])


def advice_of_exchanges(results):
    pairs = automatic(results)
    if not pairs:
        return None
    slower = sum(auto["low"] > library["high"] for auto, library in pairs)
    text = f"at worst {1 / against(*pairs[0])[0]:.2f} of the time of `{LIBRARY}`; slower beyond the scatter on {slower} of {len(pairs)} traffics"
    gains = [(against(best["time_ms"], lines[LIBRARY]["time_ms"]), best["exchange"]) for lines in traffics(results).values()
             for best in (fastest(lines),) if LIBRARY in lines]
    gain, exchange = max([each for each in gains if each[0][1] > 1], default=(None, ""))
    if gain:
        text += f"; the most gained over that, by `{exchange}`: {gain[0]:.2f} times as fast"
    return Advice(results.campaign.when, "`--exchange auto`" if slower == 0 else f"`--exchange auto,{LIBRARY}`", text)


def advice(results):
    """Of one situation, or of one for each workload; none where there is nothing to choose."""
    if results.campaign.kind == "predictions":
        return predictions.advice_rows(results, Advice)
    kinds = {"cases": advice_of_cases, "exchanges": advice_of_exchanges}
    found = kinds[results.campaign.kind](results) if results.campaign.kind in kinds else None
    return [found] if found else []


def ms(record):
    return figure(record["step_ms"]["median"]) + " ms"


def headlines_of_cases(results):
    """None between hosts, whose links someone chose: advice has those ratios, where they belong to a situation."""
    ranked = best_of_each(results)
    if results.campaign.links or len(ranked) < 2 or results.indistinguishable(ranked[0], ranked[-1]):
        return []
    best, other = ranked[0], next((each for each in ranked if name_of(each, results) == results.campaign.against), ranked[-1])
    claim = f"{results.campaign.title}: the best {results.campaign.axis} against {results.campaign.against or 'the slowest'}"
    return [Headline(claim, f"{name_of(best, results)} {ms(best)}", f"{name_of(other, results)} {ms(other)}",
                     results.faster_by(best, other), results)]


def peers_times(results, operation, setting):
    """(our ms, the faster peer's, ratio): geometric means over the cases that both ran; {case: ratio}."""
    times = comparison.times_of(results.records, operation)
    ratios = {case: comparison.ratio(passes, setting) for case, passes in times.items()}
    ours = {case: statistics.median(t[comparison.OURS] for t in passes.values() if comparison.OURS in t)
            for case, passes in times.items() if ratios[case] is not None}
    if not ours:
        return None
    ratio = mean(ratios[case] for case in ours)
    return (mean(ours.values()), mean(ours.values()) * ratio,
            comparison.ratio_of_means({case: times[case] for case in ours}, setting), {case: ratios[case] for case in ours})


def headlines_of_peers(results):
    """Tuned, which is the harder comparison; the page of the machine has the peers as installed too."""
    found = {operation: peers_times(results, operation, "tuned") for operation in comparison.OPERATIONS}
    fbgemm = {operation: "FBGEMM (its SGD or row-wise Adagrad)" if operation == "sgd" else "FBGEMM" for operation in found}
    return [Headline(f"{comparison.OPERATIONS[operation]}: the faster of {fbgemm[operation]} and PyTorch, tuned, {span_text(times[3])}",
                     f"{figure(times[0])} ms", f"{figure(times[1])} ms", times[2], results)
            for operation, times in found.items() if times]


def mean(values):
    return comparison.geometric_mean(list(values))


def case_names(named, ceiling):
    """{what tells a case from the others: its share of the ceiling}"""
    words = [set(map(str, name)) for name in named]
    alike = set.intersection(*words)
    return {" ".join(sorted(own - alike)) or "all": row[ceiling] / 100 for own, row in zip(words, named.values())}


def headlines_of_kernels(results):
    """Means over the cases of a kernel's time, and of the least time that the memory needs for its rows."""
    lines = []
    for kernel, word, ceiling, claim in (
            ("pooled_lookup", "major:feature", "gather_%", "Lookup beside reading the same rows"),
            ("backward_update", "optimizer:rowwise_adagrad", "rmw_%", "Row-wise Adagrad, sort included, beside modifying the same rows")):
        named = {(case, *words): row for (name, case, words), row in kernel_rows(results).items()
                 if name == kernel and {word, "values:fp32", "ids:int64"} <= set(words) and row.get(ceiling)}
        rows = list(named.values())
        if rows:
            ours, share = mean(row["median_us"] / 1e3 for row in rows), mean(row[ceiling] / 100 for row in rows)
            lines.append(Headline(f"{claim}, {span_text(case_names(named, ceiling))}", f"{figure(ours)} ms", f"the memory's limit {figure(ours * share)} ms",
                                  share, results))
    return lines


def headlines(results):
    """None of predictions, of which the README says more."""
    of_kind = {"cases": headlines_of_cases, "peers": headlines_of_peers,
               "kernels": headlines_of_kernels, "trains": lambda found: trains.headlines(found, Headline),
               "train_peers": lambda found: trains.peers_headlines(found, Headline),
               "dense_peers": lambda found: peers.dense_headlines(found, Headline),
               "step_peers": lambda found: peers.step_headlines(found, Headline),
               "map_peers": lambda found: dynamic.maps_headlines(found, Headline),
               "dynamic": lambda found: dynamic.headlines(found, Headline)}
    return of_kind.get(results.campaign.kind, lambda found: [])(results)
