# SPDX-License-Identifier: Apache-2.0
"""Markdown: a page per machine, and the parts of other pages that stand between <!-- report: NAME --> and <!-- end -->."""
import comparison

from measured import dynamic, peers, predictions, trains
from measured.answers import LIBRARY, advice, fastest, headlines
from measured.campaigns import CAMPAIGNS
from measured.files import field, kernel_rows, overlap, traffics
from measured.text import (circumstances, commit_of, date_of, figure, interval, markdown_table, origin, ranks_of, ratio_text,
                           size_text)

FIELDS = ("plan", "transfer", "exchange", "dedup", "wire", "groups", "async")  # those that a campaign may vary
NARROW = {"fp16", "bf16", "int8"}
# Shown where the field before them varies: it is what that field changes; a path into the record and its title.
MORE = {"dedup": (("ids_per_row", "ids per row"), ("rows_per_read", "rows per read")),
        "groups": (("communication_ms", "communication, ms"), ("exposed_ms", "exposed, ms")),
        "async": (("pipeline.staleness.p99", "updates lacked (p99)"), ("pipeline.queue_depth.mean", "batches that wait"),
                  ("pipeline.formula_ms", "formula, ms"), ("pipeline.vectors_again", "vectors sent twice"))}


def at(record, path):
    """What lies there, or None: "pipeline.staleness.p99"."""
    for name in path.split("."):
        record = record.get(name) if record else None
    return record


def beside_best(results, best, record):
    if best["valid"] and record["valid"] and record is not best:
        return ratio_text(results.faster_by(best, record))
    return f"{record['ratio']:.2f}" if best["valid"] else "-"


def cases_table(results):
    """As the program prints it: the fields that differ, and what was measured."""
    records = results.ranked
    names = [name for name in FIELDS if len({field(record, name) for record in records}) > 1] or ["plan"]
    more = [column for name in names for column in MORE.get(name, ()) if any(at(record, column[0]) is not None for record in records)]
    rows = []
    for record in records:
        stopped = [f"stopped {record['stopped']}"] if "stopped" in record else []
        picked = [f"{record[key]}" for key in ("picked", "dedup_picked") if key in record and "auto" in
                  (field(record, "exchange"), field(record, "transfer"), field(record, "dedup"))]
        rows.append([*(field(record, name) for name in names), interval(record["step_ms"]), f"{record['samples_per_s']:,.0f}",
                     *("-" if at(record, path) is None else figure(at(record, path)) for path, _ in more),
                     figure(record["sent_bytes_max"] / 1e6), beside_best(results, records[0], record),
                     f"{record['wrong']:,}" if record["checked_steps"] else "unchecked", "; ".join(picked + stopped)])
    head = [*names, "ms [95 % interval]", "samples/s", *(title for _, title in more), "MB sent", "vs best", "wrong", "picked"]
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    text = markdown_table(head, rows)
    errors = [f"{field(record, 'wire')} {record['wire_error']['forward']['max']:.1e}" for record in records
              if field(record, "wire_forward") in NARROW and "wire_error" in record]
    return text + (f"\n\nLargest error of a vector, of its largest value: {', '.join(dict.fromkeys(errors))}." if errors else "")


def exchanges_table(results):
    rows = []
    for (skew, size), lines in traffics(results).items():
        library, automatic, best = lines.get(LIBRARY), lines.get("auto"), fastest(lines)
        median = {key: line["time_ms"]["median"] for key, line in (("library", library), ("auto", automatic)) if line}
        gain = median["library"] / best["time_ms"]["median"] if library else None
        apart = library and best is not library and not overlap(best["time_ms"], library["time_ms"])
        rows.append([skew, size_text(size), figure(1e3 * median["library"]) if library else "-", best["exchange"],
                     "-" if gain is None else f"{gain:.2f}" + ("" if apart or best is library else " (within the scatter)"),
                     f"{median['auto'] / median['library']:.2f}" if len(median) == 2 else "-",
                     f"{100 * best['ping_pong_ms'] / best['time_ms']['median']:.0f} %" if best["ping_pong_ms"] else "-",
                     f"{sum(line['wrong'] for line in lines.values())}"])
    return markdown_table(["traffic", "bytes of a rank", f"{LIBRARY}, us", "fastest", f"{LIBRARY} / fastest",
                           f"auto / {LIBRARY}", "fastest, of the ping-pong limit", "wrong bytes"], rows)


HIDDEN = ("values:fp32", "ids:int64", "major:feature")
CEILINGS = ("gather_%", "rmw_%", "copy_%")


def kernels_table(results):
    """A line per kernel, a column per case: milliseconds, and percent of the ceiling measured beside it."""
    rows = kernel_rows(results)
    cases = sorted({case for _, case, _ in rows})
    lines = {}
    for (kernel, case, rest), row in rows.items():
        label = " ".join([f"`{kernel}`", *(word for word in rest if word not in HIDDEN)])
        ceiling = next((name for name in CEILINGS if row.get(name)), None)
        share = f" ({row[ceiling]:.0f} %)" if ceiling else ""
        line = lines.setdefault(label, {"limit": ceiling})
        line[case] = figure(row["median_us"] / 1e3) + share
    table = markdown_table(["kernel", *(f"{case}, ms" for case in cases), "limit"],
                           [[label, *(line.get(case, "-") for case in cases), (line["limit"] or "-").removesuffix("_%")]
                            for label, line in lines.items()])
    return (table + "\n\nIn brackets: the time that the memory needs at least, measured between the calls, of the kernel's: "
            "`gather` reads the same rows at random, `rmw` reads and writes them and their state, `copy` moves as many bytes. "
            "The cases are those of [`bench/cases.hpp`](../../../kernels/bench/cases.hpp).")


def peers_table(results):
    return (comparison.markdown(results.records) + "\n\nAs installed and tuned, and what is fair about it: "
            "[`scripts/peers`](../../../scripts/peers/README.md).")


TABLES = {"cases": cases_table, "exchanges": exchanges_table, "kernels": kernels_table, "peers": peers_table,
          "trains": trains.trains_table, "train_peers": trains.peers_table, "dense_peers": peers.dense_table,
          "step_peers": peers.step_table, "map_peers": dynamic.maps_table, "dynamic": dynamic.dynamic_table,
          "predictions": predictions.predictions_table, "options": predictions.options_table, "holdout": predictions.holdout_table,
          "scale": predictions.scale_table}


def section(results, pictures):
    campaign = results.campaign
    parts = [f"## {campaign.title}", campaign.answers, f"```\n{results.told.get('command', '')}\n```",
             f"{circumstances(results)}. Samples: [`{results.path.name}`]({results.path.name}).", TABLES[campaign.kind](results)]
    if campaign.name in pictures:
        parts.append(f"![{pictures[campaign.name]['title']}]({campaign.name}.svg)")
    return "\n\n".join(parts)


def machine_lines(results_of):
    """CPU and memory, compiler and libraries, of the first file that tells."""
    environments = [results.environment for results in results_of if "logical_cpus" in results.environment.get("machine", ())]
    if not environments:
        return origin(results_of[0])['cpu']
    first = environments[0]
    machine, libraries = first["machine"], first["libraries"]
    parts = [f"{machine['cpu']}, {machine['logical_cpus']} processors", f"{machine['memory_bytes'] / 2**30:.1f} GiB",
             first["build"]["compiler"], *(f"{key}: {str(value).splitlines()[0].split(',')[0]}"
                                           for key, value in libraries.items() if key in ("mpi", "hdf5"))]
    return ", ".join(parts)


def machine_page(machine, results_of, pictures):
    head = (f"# {machine}\n\n<!-- Written by scripts/report from the files beside it: change those, not this. -->\n\n"
            f"{machine_lines(results_of)}.\nMade by `scripts/measure --machine {machine}` and `scripts/report`.")
    return "\n\n".join([head, *(section(results, pictures) for results in results_of)]) + "\n"


def newest(machines):
    """[(machine, Results)]: of each campaign the newest, whatever the machine, in the order of the campaigns; of predictions, which are
    to hold on any, those of all machines, the newest first."""
    found = {}
    for machine, several in machines.items():
        for results in several:
            found.setdefault(results.campaign.name, []).append((origin(results)["date"], machine, results))
    return [told[1:] for campaign in CAMPAIGNS
            for told in sorted(found.get(campaign.name, []), key=lambda told: told[:2], reverse=True)[:None if campaign.kind == "predictions" else 1]]


def decisions(newest_of_each):
    rows = []
    for machine, results in newest_of_each:
        found = advice(results)
        where = f"{machine}, {results.told.get('note') or ranks_of(results)}" if found else ""
        rows += [[each.situation, each.attempt, each.measured, where] for each in found]
    return markdown_table(["when", "try", "because", "measured on"], rows)


def headlines_table(newest_of_each):
    rows = [[line.claim, line.ours, line.peer, f"**{ratio_text(line.ratio)}**", f"[{machine}]({machine}/README.md)",
             f"`scripts/measure {results.campaign.name}`"] for machine, results in newest_of_each for line in headlines(results)]
    return markdown_table(["claim", "ours", "peer", "ratio", "machine", "command"], rows)


def machines_list(machines):
    return markdown_table(["machine", "measured", "date", "commit"], [
        [f"[{machine}]({machine}/README.md)", ", ".join(results.campaign.name for results in several),
         date_of(several[0]), commit_of(several[0])] for machine, several in machines.items()])


def holdout(newest_of_each):
    """How far off predictions were here, and what was published beside what is predicted; None before that was done."""
    told = {"predictions": predictions.trust, "options": predictions.trust_options}
    here = [text for machine, results in newest_of_each for of_kind in (told.get(results.campaign.kind),)
            if of_kind and (text := of_kind(machine, results))]
    published = [predictions.holdout_summary(results) for _, results in newest_of_each if results.campaign.kind == "holdout"]
    return "\n\n".join([" ".join(here)] * bool(here) + published) or None


def first_placements(machines):
    """(machine, Results) that the README shows: the newest placements."""
    found = [(results.environment["time"], machine, results) for machine, several in machines.items()
             for results in several if results.campaign.name == "placements"]
    return max(found, key=lambda each: each[:2])[1:] if found else None
