# SPDX-License-Identifier: Apache-2.0
"""How well plans that were measured are told apart by our predictions, by TorchRec's estimate and by HugeCTR's cost: `shardmark
results audit` of the campaigns of predictions, with the speeds of their machine."""
import json
import re
import subprocess

from measured.files import BadInput, asked, machines_beside


def topology_of(results, program):
    """TorchRec's, of the machine file that the campaign, or its first part, was predicted by; None where none was kept."""
    machine = next(iter(machines_beside(results.path).values()), None)
    if machine is None:
        return None
    done = subprocess.run([program.resolve(), "machine", "convert", machine, "--to", "torchrec", "--ranks", str(results.records[0]["ranks"])],
                          text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise BadInput(f"{program} machine convert {machine} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def settings(results, topology):
    """Options for the machine of a campaign: its memory and links as TorchRec's topology has them, between hosts those of the
    campaign's note where the topology has none; none without a topology, so that the peers' planners have their usual ones."""
    if not topology:
        return []
    memory = topology["ddr_mem_bw"] * 1e3  # bytes/s of bytes/ms
    if noted := re.search(r"links of ([\d.]+) Gbit/s", results.environment.get("campaign", {}).get("note", "")):
        kind, links = "inter", topology["inter_host_bw"] * 1e3 if "inter_host_bw" in topology else float(noted[1]) * 1e9 / 8
    else:  # hosts of one rank each have no links inside
        kind, links = "intra", topology["intra_host_bw"] * 1e3
    speeds = {"ddr": memory, kind: links}
    return ["--torchrec", "device=cpu:" + ":".join(f"{name}={speed / 2**30:.4g}" for name, speed in speeds.items()),
            "--hugectr_auto", f"ratio={memory / links:.4g}"]


def table(newest, program, root, topology=None):
    """newest: [(machine, Results)]; topology: of the machine whose file was not kept. None where no campaign of predictions was
    measured."""
    parts = []
    for machine, results in newest:
        if results.campaign.kind != "predictions":
            continue
        text = asked(program, "audit", results.path.relative_to(root), *settings(results, topology_of(results, program) or topology), folder=root)
        parts.append(f"{results.records[0]['ranks']} ranks{' between hosts' if results.campaign.links else ''} ({machine}):\n\n{text.strip()}")
    return "\n\n".join(parts) or None
