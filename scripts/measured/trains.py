# SPDX-License-Identifier: Apache-2.0
"""What the campaigns of tensor trains say: FBTT-Embedding's benchmark, sizes from which tt wins, the cache, PyTorch."""
import comparison
import tensor_train_comparison

from measured.files import field, median_ms as median, of_part
from measured.text import figure, interval, markdown_table, ratio_text, span_text

IDS = {"uniform": "uniform", "zipf": "Zipf 1.05", "drift": "Zipf 1.05, hot rows drift"}


def train(record):
    return record.get("tensor_train", {})


def rows_of(record):
    """Of the table, from a case with tt."""
    return train(record)["parameters"] * train(record)["compression"] / record["options"]["dim"]


def rounded(count):
    """About three digits: the compression that rows come from is no exact figure."""
    digits = len(f"{count:.0f}")
    return f"{round(count, 3 - digits):,.0f}" if digits > 3 else f"{count:.0f}"


def pair_of(records, plan):
    """{"dense": case, "tt": case} of a plan, where both were measured."""
    found = {field(record, "storage"): record for record in records if record["plan"] == plan}
    return found if {"dense", "tt"} <= set(found) else None


def sizes(results):
    """[(rows, plan, {"dense", "tt"})] of the parts that differ in rows, by plan and rows."""
    parts = {record["part"] for record in results.records if record.get("part", "").startswith("rows")}
    found = []
    for part in parts:
        records = of_part(results, part)
        for plan in {record["plan"] for record in records}:
            pair = pair_of(records, plan)
            if pair and train(pair["tt"]):
                found.append((rows_of(pair["tt"]), plan, pair))
    return sorted(found, key=lambda each: (each[1], each[0]))


def wins(results, pair):
    return results.faster_by(pair["tt"], pair["dense"])[0] > 1 and not results.indistinguishable(pair["tt"], pair["dense"])


def crossings(results):
    """{plan: sentence}: from which measured size on tt is faster, beyond the intervals."""
    said = {}
    for plan in dict.fromkeys(plan for _, plan, _ in sizes(results)):
        measured = [(rows, wins(results, pair)) for rows, its_plan, pair in sizes(results) if its_plan == plan]
        lost = [rows for rows, won in measured if not won]
        won = [rows for rows, _ in measured if not lost or rows > lost[-1]]
        said[plan] = (f"from {rounded(won[0])} rows on" + (f", not yet at {rounded(lost[-1])}" if lost else ", the least measured")
                      if won else f"at no measured size up to {rounded(lost[-1])} rows")
    return said


def published(record):
    """Microseconds per lookup that others published."""
    return train(record)["fbtt_published_us_per_lookup"]


def fbtt_table(results):
    rows = []
    for part, ids in IDS.items():
        for record in of_part(results, part)[:1]:
            told = train(record)
            theirs = published(record)
            rows.append([ids, interval(record["step_ms"]), figure(told["us_per_lookup"]), figure(told["us_per_lookup_of_step"]),
                         *(figure(told[key]) for key in ("nominal_gflops", "executed_gflops", "fbtt_printed_gflops")),
                         f"{told['rows']:,}", " + ".join(f"{count:,}" for count in told["prefixes"][:-1]), record["wrong"]])
    head = ["ids", "step, ms [95 % interval]", "µs per lookup", "of the whole step", "GFLOP/s nominal", "executed",
            "FBTT-printed", "different rows of 10,240", "shared products", "wrong"]
    return "" if not rows else (
        f"**FBTT-Embedding's benchmark**: forward, backward and SGD of 512 bags of 20 lookups, published at {theirs} µs per lookup "
        "on a GPU. `FBTT-printed` is the published accounting, which is 10 times too high: it divides the flops of ten iterations by "
        "the time of one.\n\n" + markdown_table(head, rows))


def sizes_table(results):
    rows = [[rounded(count), plan, interval(pair["dense"]["step_ms"]), interval(pair["tt"]["step_ms"]),
             ratio_text(results.faster_by(pair["tt"], pair["dense"])),
             *(" / ".join(figure(pair[storage][key] / 1e6) for storage in ("dense", "tt")) for key in ("table_bytes_max", "sent_bytes_max"))]
            for count, plan, pair in sizes(results)]
    head = ["rows of 64", "plan", "dense, ms", "tt, ms", "dense / tt", "MB of a rank, dense / tt", "MB sent, dense / tt"]
    said = "; ".join(f"`{plan}` {text}" for plan, text in crossings(results).items())
    return "" if not rows else (
        f"**From which size on tt wins** (2 ranks of 1 thread, uniform ids). By time: {said}.\n\n" + markdown_table(head, rows))


def cache_pair(results):
    return pair_of(of_part(results, "cache"), "table_wise")


def cache_table(results):
    pair = cache_pair(results)
    if not pair:
        return ""
    cache = train(pair["tt"]).get("cache", {})
    rows = [[name, interval(record["step_ms"]), f"{ratio:.2f}", figure(record["table_bytes_max"] / 1e6)] for name, record, ratio in (
        ("dense", pair["dense"], 1), ("tt and its cache", pair["tt"], results.faster_by(pair["dense"], pair["tt"])[0]))]
    return (f"**With a warm cache** of 10 % of {rounded(rows_of(pair['tt']))} rows, Zipf 1.05 (2 ranks of 1 thread); "
            f"{100 * cache.get('hit_rate', 0):.0f} % of the lookups hit it.\n\n"
            + markdown_table(["storage", "step, ms [95 % interval]", "of dense", "MB of a rank"], rows))


def missing(results):
    parts = [part.name for part in results.campaign.parts if not of_part(results, part.name)]
    return f"Without a valid measurement: {', '.join(parts)}." if parts else ""


def trains_table(results):
    return "\n\n".join(text for text in (fbtt_table(results), sizes_table(results), cache_table(results), missing(results)) if text)


def peers_table(results):
    return (tensor_train_comparison.markdown(results.records) + "\n\nWhat the peers do, and what is fair about it: "
            "[`scripts/peers`](../../../scripts/peers/README.md).")


def headlines(results, headline):
    """headline: makes one of (claim, ours, peer, ratio, results)."""
    lines = []
    for record in of_part(results, "uniform")[:1]:
        ours = train(record)["us_per_lookup"]
        lines.append(headline("FBTT-Embedding's benchmark, uniform ids: µs per lookup, forward + backward + update", f"{figure(ours)} µs",
                              f"{published(record)} µs published, on a GPU", published(record) / ours, results))
    for count, plan, pair in [each for each in sizes(results) if each[1] == "data_parallel"][-1:]:
        lines.append(headline(f"{rounded(count)} rows of 64, {plan}: tensor train against dense",
                              f"{figure(median(pair['tt']))} ms", f"{figure(median(pair['dense']))} ms",
                              results.faster_by(pair["tt"], pair["dense"]), results))
    return lines


def peers_headlines(results, headline):
    """Means over the cases."""
    times = comparison.times_of(results.records, tensor_train_comparison.OPERATION)
    lines = []
    for peer, title in tensor_train_comparison.PEERS.items():
        ratios = {case: ratio for case, passes in times.items() if (ratio := tensor_train_comparison.ratio(passes, peer))}
        if ratios:
            ours = comparison.geometric_mean(comparison.median_of(results.records, "ms", case=case, system="shardmark")
                                             for case in ratios)
            ratio = comparison.geometric_mean(ratios.values())
            lines.append(headline(f"Tensor-train step beside PyTorch, {title}, {span_text(ratios)}", f"{figure(ours)} ms",
                                  f"{figure(ours * ratio)} ms", ratio, results))
    return lines


def drawing(results, note):
    """Time of a step against the rows, a line for each plan and storage."""
    found = sizes(results)
    if not found:
        return None
    lines = [{"label": f"{storage}, {plan}", "storage": storage,
              "points": [[rows, *(pair[storage]["step_ms"][key] for key in ("median", "low", "high"))]
                         for rows, its_plan, pair in found if its_plan == plan]}
             for plan in dict.fromkeys(plan for _, plan, _ in found) for storage in ("dense", "tt")]
    return {"kind": "trains", "title": "Dense tables and tensor trains: time of a step by the rows of the table", "note": note,
            "description": ". ".join(f"{line['label']}: " + "; ".join(f"{rounded(point[0])} rows {figure(point[1])} ms"
                                                                     for point in line["points"]) for line in lines),
            "lines": lines}
