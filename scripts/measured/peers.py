# SPDX-License-Identifier: Apache-2.0
"""What the campaigns beside dense models of PyTorch and distributed steps of TorchRec say."""
import statistics

import comparison
import dlrm_comparison
import torchrec_comparison

from measured.text import figure, span_text

FAIR = "[`scripts/peers`](../../../scripts/peers/README.md)"


def dense_table(results):
    return f"{dlrm_comparison.markdown(results.records)}\n\nWhat is compared with what: {FAIR}."


def step_table(results):
    return (torchrec_comparison.markdown([{**results.environment, "record": "environment"}, *results.records])
            + f"\n\nAs installed and tuned, and what is fair about it: {FAIR}.")


def means(results, operations, setting):
    """(our ms, the peer's, ratio): geometric means over the cases of the operations that both ran; {case: ratio}. None
    without any."""
    found, ratios, measured = [], {}, {}
    for operation in operations:
        for case, passes in comparison.times_of(results.records, operation).items():
            ratio = comparison.ratio(passes, setting)
            if ratio is not None:
                found.append((statistics.median(times[comparison.OURS] for times in passes.values() if comparison.OURS in times), ratio))
                name = case if len(operations) == 1 else f"{case}, {operation}"
                ratios[name], measured[name] = ratio, passes
    if not found:
        return None
    ours, ratio = (comparison.geometric_mean(column) for column in zip(*found))
    return ours, ours * ratio, comparison.ratio_of_means(measured, setting), ratios


def against(claim, found, results, headline):
    return [headline(f"{claim}, {span_text(found[3])}", f"{figure(found[0])} ms", f"{figure(found[1])} ms", found[2],
                     results)] if found else []


def dense_headlines(results, headline):
    """headline: makes one of (claim, ours, peer, ratio, results). Tuned, which is the harder comparison; the page has the peer as
    installed too."""
    return against("Dense models, forward + backward + update: PyTorch, tuned or compiled",
                   means(results, dlrm_comparison.OPERATIONS, "tuned"), results, headline)


def step_headlines(results, headline):
    claims = {"none": "Distributed step of the Criteo embeddings: TorchRec, tuned", "dlrm": "Whole step with DLRM: TorchRec, tuned",
              "keys": "Distributed step of the Criteo embeddings by keys: TorchRec's sorted ZCH, tuned",
              "save": "Save of all rows and their state: torch.distributed.checkpoint, tuned"}
    return [line for operation, claim in claims.items()
            for line in against(claim, means(results, [operation], "tuned"), results, headline)]
