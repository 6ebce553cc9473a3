# SPDX-License-Identifier: Apache-2.0
"""What results/measured/known_half.json says: how far predictions of published steps are off, and what it would earn to fit the
constants of their software to the steps of other devices, or to all (scripts/fit-software)."""
import json
import textwrap

from measured.text import markdown_table

WITHIN = 25  # percent


def read(root):
    """What is in the file, or None without it."""
    file = root / "results" / "measured" / "known_half.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def cells(quality):
    return [f"{quality['mape_percent']:.1f} %", f"{quality['within_percent']:.0f} %",
            "-" if quality["spearman"] is None else f"{quality['spearman']:.2f}", quality["signs"] or "-"]


def missed(found):
    """The steps that were off by more than that, as a reader names them."""
    return [f"{step['group']}, {step['ranks']} ranks, {step['ms']:.4g} ms: {100 * step['errors']['as_they_stand']:+.0f} %"
            for step in found["steps"] if abs(step["errors"]["as_they_stand"]) > WITHIN / 100]


def table(root):
    found = read(root)
    if not found:
        return None
    rows = [[group, quality["steps"], *cells(quality), *(f"{found[fit][group]['mape_percent']:.1f} %" for fit in ("left_out", "fitted"))]
            for group, quality in found["as_they_stand"].items()]
    text = markdown_table(["device", "steps", "MAPE", f"within {WITHIN} %", "Spearman", "signs", "MAPE, fitted to other devices", "MAPE, fitted to all"],
                          rows)
    return f"{text}\n\nOff by more than {WITHIN} %: {'; '.join(missed(found)) or 'none'}. Published times are {found['notice']}."


def usual_error(root):
    """For what the program says of its predictions; empty without the file."""
    found = read(root)
    every = found and found["as_they_stand"]["all"]
    return {"of_parts": {"cases": every["steps"], "mean_error": round(every["mape_percent"] / 100, 4)}} if found else {}


def sentence(root):
    """For the README."""
    found = read(root)
    if not found:
        return None
    every, fitted = found["as_they_stand"]["all"], found["left_out"]["all"]
    worst = max(abs(step["errors"]["as_they_stand"]) for step in found["steps"])
    return textwrap.fill(
        f"{every['steps']} published steps of {len(found['as_they_stand']) - 1} devices, by constants fitted to none of them: "
        f"{every['mape_percent']:.1f} % off on average, {every['within_percent']:.0f} % within {WITHIN} %, the worst {100 * worst:.0f} %, "
        f"{every['signs']} signs right ({fitted['mape_percent']:.1f} % where constants are fitted to the other devices). Times "
        f"{found['notice']}.", 118)
