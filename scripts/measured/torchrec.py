# SPDX-License-Identifier: Apache-2.0
"""What results/measured/torchrec_*.json say: plans that went to TorchRec and back, steps that it repeated, its estimates."""
import json

import estimates

from measured.text import markdown_table


def read(root, name):
    """What is in the file, or None without it."""
    file = root / "results" / "measured" / f"torchrec_{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def plans(root):
    found = read(root, "plans")
    return found and (f"{found['plans']:,} plans of drawn tables ({', '.join(found['sharding_types'])}) were written, loaded by torchrec "
                      f"{found['torchrec']}, dumped and read again: {found['differ_afterwards']} differed.")


def steps(root):
    found = read(root, "steps")
    if not found:
        return None
    rows = [[f"`{kind['sharding_type']}`", f"{kind['plans']}", ", ".join(map(str, kind["ranks"])), ", ".join(kind["optimizers"]),
             *("-" if kind[what] is None else f"{kind[what]:.1e}" for what in ("vectors", "rows", "states"))] for kind in found["kinds"]]
    return (f"{found['plans']} plans of {found['tables']} tables, torchrec {found['torchrec']}; the largest differences, of the largest value "
            f"of a feature or table ({found['allowed']:g} is allowed):\n\n" +
            markdown_table(["sharding", "plans with it", "ranks", "optimizers", "pooled embeddings", "rows after", "state after"], rows))


def topology(root):
    """What its planner was told of the machine, or None."""
    found = read(root, "estimates")
    return found and found["topology"]


def planner(root):
    found = read(root, "estimates")
    return found and f"```\n{estimates.table_of(found['plans'])}\n```"
