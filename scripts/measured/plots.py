# SPDX-License-Identifier: Apache-2.0
"""Pictures of results files, for `shardmark results plot`, which starts this with a Python that has matplotlib. Every number is
one of `shardmark results show --format json`; pictures.py draws."""
import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
MOST_LINES = 8  # of a picture of scaling


def digest(drawing):
    return hashlib.sha256(json.dumps(drawing, sort_keys=True).encode()).hexdigest()


def row_of(case, label, tied):
    """A line of a picture of cases."""
    return {"label": label, "median": case["step_ms"]["median"], "low": case["step_ms"]["low"], "high": case["step_ms"]["high"],
            "stopped": bool(case.get("stopped")), "tied": tied, "ratio": case["ratio"], "phases": case["parts"] or {}}


def figure(x):
    """About four significant digits, as the program prints them."""
    return f"{x:,.{3 if x < 10 else 2 if x < 100 else 1 if x < 1000 else 0}f}"


def chosen(report, every):
    """The valid cases, the fastest first: of each plan (or what else differs first) the fastest, or every one."""
    cases = [case for case in report["cases"] if case["valid"] and (every or case["leads"])]
    return sorted(cases, key=lambda case: case["rank"])


def step(report, every):
    rows = [row_of(case, case["name"].replace(" (", "\n("), case["tied"]) for case in chosen(report, every)]
    return {"kind": "cases", "title": f"Time of a step by {report['compared']}", "note": report["circumstances"],
            "description": "; ".join(f"{' '.join(row['label'].split())} {figure(row['median'])} ms [{figure(row['low'])}, {figure(row['high'])}]" for row in rows),
            "rows": rows}


def predicted(report, every):
    rows = [{**row_of(case, case["name"], case["tied"]), "predicted": case["predicted_ms"], "error": case["error"]}
            for case in chosen(report, every) if case["predicted_ms"] is not None]
    return {"kind": "predicted", "title": "Predicted beside measured time of a step", "note": report["circumstances"],
            "description": "; ".join(f"{row['label']} {figure(row['median'])} ms, predicted {figure(row['predicted'])} ms" for row in rows),
            "rows": rows}


def scaling(table, every):
    lines = {}
    for row in table["rows"]:
        lines.setdefault(row["line"], []).append(row)
    shown = list(lines.values()) if every else list(lines.values())[:MOST_LINES]
    note = table["circumstances"] + ("" if len(shown) == len(lines) else f"\nthe {len(shown)} fastest of {len(lines)}")
    return {"kind": "scaling", "title": f"{table['scaling'].capitalize()} scaling" if table["scaling"] != "neither" else "Scaling",
            "scaling": table["scaling"], "note": note,
            "description": "; ".join(f"{row['name']} on {row['ranks']} ranks {figure(row['step_ms']['median'])} ms" for rows in shown for row in rows),
            "lines": [{"label": rows[0]["plan"] if len({row["plan"] for row in table["rows"]}) == len(lines) else rows[0]["name"],
                       "points": rows} for rows in shown]}


WHAT = {"step": step, "predicted": predicted, "scaling": scaling}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--what", choices=WHAT, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    done = subprocess.run([options.program, "results", "show", "--format", "json", *(["--all"] if options.all else []), *options.files],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: wrong values in some case, which no picture shows
        sys.exit(done.returncode)
    facts = json.loads(done.stdout)
    import pictures  # only here: report, which has no matplotlib, imports this file too
    drawing = WHAT[options.what](facts[-1] if options.what == "scaling" else facts[0], options.all)
    partial = options.out.with_name(f"{options.out.name}.{os.getpid()}.tmp")
    try:
        pictures.save(drawing, digest(drawing), partial, options.out.suffix.removeprefix("."))
        partial.replace(options.out.resolve())
    except OSError as error:
        print(f"shardmark: {options.out}: cannot write this picture: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    finally:
        partial.unlink(missing_ok=True)
    print(f"wrote {options.out}: {drawing['title']}")


if __name__ == "__main__":
    main()
