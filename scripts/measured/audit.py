# SPDX-License-Identifier: Apache-2.0
"""How well plans that were measured are told apart by our predictions, by TorchRec's estimate and by HugeCTR's cost: `shardmark
results audit` of the campaigns of predictions, with the speeds of their machine."""
import re

from measured.files import asked


def settings(results, topology):
    """Options for the machine of a campaign: its memory and links as TorchRec's topology has them, between hosts those of the
    campaign's note; none without a topology, so that the peers' planners have their usual ones."""
    if not topology:
        return []
    memory, links = topology["ddr_mem_bw"] * 1e3, topology["intra_host_bw"] * 1e3  # bytes/s of bytes/ms
    between = re.search(r"links of ([\d.]+) Gbit/s", results.environment.get("campaign", {}).get("note", ""))
    if between:
        links = float(between[1]) * 1e9 / 8
    speeds = {"ddr": memory, "inter" if between else "intra": links}
    return ["--torchrec", "device=cpu:" + ":".join(f"{name}={speed / 2**30:.4g}" for name, speed in speeds.items()),
            "--hugectr_auto", f"ratio={memory / links:.4g}"]


def table(results_of, program, root, topology=None):
    """None where no campaign of predictions was measured."""
    parts = []
    for results in results_of:
        if results.campaign.kind != "predictions":
            continue
        text = asked(program, "audit", results.path.relative_to(root), *settings(results, topology), folder=root)
        parts.append(f"{results.records[0]['ranks']} ranks{' between hosts' if results.campaign.links else ''}:\n\n{text.strip()}")
    return "\n\n".join(parts) or None
