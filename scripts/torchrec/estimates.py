# SPDX-License-Identifier: Apache-2.0
"""What TorchRec's planner estimates of plans beside what was predicted and measured; for estimate and the pages of results."""
import json
import math
import subprocess
from pathlib import Path

from steps import HERE, BadInput

COLUMNS = ("plan", "shardings", "TorchRec ms", "error", "shardmark ms", "error", "measured ms [95 %]")


def estimates(python, workload, topology, plans):
    """What TorchRec says of each plan."""
    request = json.dumps({"workload": workload, "topology": topology, "plans": plans})
    done = subprocess.run([python, "-W", "ignore", HERE / "torchrec_estimate.py"], input=request, text=True, capture_output=True, check=False)
    if done.returncode:
        raise BadInput((done.stderr.strip().splitlines() or [f"TorchRec ended with {done.returncode}"])[-1])
    return json.loads(done.stdout)


def circumstances_in(file):
    """Where the results of a file are from: {time, cpu, git_hash, command}."""
    environment = json.loads(file.read_text(encoding="utf-8").partition("\n")[0])
    return {"time": environment["time"], "cpu": environment["machine"]["cpu"], "git_hash": environment["build"]["git_hash"],
            "command": " ".join(Path(word).name if "/" in word else word for word in environment["arguments"])}


def measured_in(file):
    """{plan: its fastest case} of a file of results."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case.get("record") != "case" or case["wrong"] or not case["checked_steps"]:
            continue
        if case["plan"] not in found or case["step_ms"]["median"] < found[case["plan"]]["step_ms"]["median"]:
            found[case["plan"]] = case
    return found


def lines_of(plans, theirs, found, measured):
    """What is known of each plan: {plan, sharding_types, torchrec or refused, predicted_ms, step_ms}."""
    lines = []
    for name, plan, estimate in zip(plans, theirs, found):
        (placed,) = plan["plan"].values()
        case = measured.get(Path(name).stem, {})
        line = {"plan": Path(name).stem, "sharding_types": sorted({table["sharding_type"] for table in placed.values()})}
        line |= {"refused": estimate["refused"]} if "refused" in estimate else {"torchrec": estimate}
        if case:
            line |= {"predicted_ms": case.get("predicted_ms"), "exchange": case["options"]["exchange"],
                     "step_ms": {key: case["step_ms"][key] for key in ("median", "low", "high", "n")}
                     | {"visits": len(case["step_ms"].get("visits", range(case["step_ms"]["n"])))}}
        lines.append(line)
    return lines


def mean_error(pairs):
    """(mean absolute error, rank correlation) of [(estimate, measured)], or None of fewer than 2."""
    if len(pairs) < 2:
        return None
    places = [[sorted(column).index(value) for value in column] for column in zip(*pairs)]
    count = len(pairs)
    far = sum((a - b) ** 2 for a, b in zip(*places))
    return sum(abs(a / b - 1) for a, b in pairs) / count, 1 - 6 * far / (count * (count**2 - 1))


def table_of(lines):
    def off(estimate, line):
        return f"{100 * (estimate / line['step_ms']['median'] - 1):+.0f} %" if estimate and "step_ms" in line else "-"

    def figure(value):
        return "-" if value is None else f"{value:.{max(0, 3 - math.floor(math.log10(value)))}f}" if value < 1000 else f"{value:.0f}"
    rows = [COLUMNS]
    for line in sorted(lines, key=lambda line: line.get("step_ms", {}).get("median", math.inf)):
        theirs, ours = line.get("torchrec", {}).get("ms"), line.get("predicted_ms")
        step = line.get("step_ms")
        rows.append((line["plan"], "+".join(line["sharding_types"]), figure(theirs), off(theirs, line), figure(ours), off(ours, line),
                     f"{figure(step['median'])} [{figure(step['low'])}, {figure(step['high'])}]" if step else "-"))
    widths = [max(len(row[k]) for row in rows) for k in range(len(COLUMNS))]
    text = ["  ".join(cell.ljust(width) if k < 2 else cell.rjust(width) for k, (cell, width) in enumerate(zip(row, widths))) for row in rows]
    text = ["# " + text[0], *("  " + line for line in text[1:])]
    text += [f"# {line['plan']}: TorchRec has no estimate: {line['refused']}" for line in lines if "refused" in line]
    if any(line["step_ms"]["visits"] < 6 for line in lines if "step_ms" in line):
        text.append("# fewer than 6 visits: the interval is minimum to maximum")
    known = [line for line in lines if "torchrec" in line and line.get("predicted_ms") and "step_ms" in line]
    for who, value in (("TorchRec", lambda line: line["torchrec"]["ms"]), ("shardmark", lambda line: line["predicted_ms"])):
        if (judged := mean_error([(value(line), line["step_ms"]["median"]) for line in known])) is not None:
            text.append(f"# {who}: {100 * judged[0]:.0f} % off on average over {len(known)} plans, rank correlation {judged[1]:.2f}")
    return "\n".join(text)
