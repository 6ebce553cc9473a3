# SPDX-License-Identifier: Apache-2.0
"""What launches of the net counted, added up over the runs of a campaign, and what a reader asks of that."""
import collections
import gzip
import itertools
import json
import subprocess
from pathlib import Path

LEAST_MET = 20  # cases that each possible pair of values is to be met in
# Of 100,000 values of a kind, one comes as close to its bound: nearly all kinds reach 0.99. Bounds ten times as wide do not.
CLOSE, MANY_VALUES = 0.12, 100_000
# States of weights are bounded by 8 standard errors of many samples; rows that nothing updates are as they were.
NEVER_CLOSE = ("state of weights", "row none")


def commit():
    asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent)
    return asked.stdout[:12]


def read(file):
    """A summary; files that end in .gz are compressed."""
    with (gzip.open if str(file).endswith(".gz") else open)(file, "rt", encoding="utf-8") as stream:
        return json.load(stream)


class Counts:
    """What the launches counted, together, and those of earlier runs that the summary holds."""

    def __init__(self, file=None):
        before = read(file) if file and Path(file).exists() else {}
        self.runs = before.get("runs", [])
        self.cases = self.failed = self.launches = self.exports = 0
        self.refused, self.values = (collections.Counter(before.get(name, {})) for name in ("refused", "values"))
        self.pairs = collections.Counter({(one, other): count for one, others in before.get("pairs", {}).items()
                                          for other, count in others.items()})
        self.closeness = {}  # of this run: kind of values -> how many have a bound, |actual - expected| / bound of the closest
        self.known, self.crashed = set(before.get("known", [])), []
        self.reasons = {(one, other): reason for one, others in before.get("refused_pairs", {}).items()
                        for other, reason in others.items()}

    def add(self, summary):
        self.cases += summary["cases"]
        self.failed += summary["failed"]
        self.refused.update(summary["refused"])
        self.values.update(summary["values"])
        for kind, (values, closest) in summary["closeness"].items():
            before = self.closeness.get(kind, (0, 0.0))
            self.closeness[kind] = (before[0] + values, max(before[1], closest))
        self.known.update(summary["known"])
        for one, others in summary["refused_pairs"].items():
            for other, reason in others.items():
                self.reasons.setdefault((one, other), reason)
        for one, others in summary["pairs"].items():
            for other, count in others.items():
                self.pairs[one, other] += count

    def possible(self):
        """All pairs of values of different options."""
        values = sorted(self.known | set(self.values))
        return [(one, other) for i, one in enumerate(values) for other in values[i + 1:]
                if one.partition("=")[0] != other.partition("=")[0]]

    def rare(self):
        """[value, value, cases that are missing], of those pairs that were met too seldom."""
        return [[*pair, LEAST_MET - self.pairs[pair]] for pair in self.possible() if self.pairs[pair] < LEAST_MET]

    def loose(self):
        """Sentences on kinds of values whose bounds are wider than they need be."""
        return [f"none of {values} values of kind {kind!r} comes nearer to its bound than {closest:.3f} of it"
                for kind, (values, closest) in sorted(self.closeness.items())
                if values >= MANY_VALUES and closest < CLOSE and not kind.startswith(NEVER_CLOSE)]

    def run(self, first, following, seconds):
        return {"commit": commit(), "first": first, "next": following, "cases": self.cases, "failed": self.failed,
                "crashed": self.crashed, "exports": self.exports, "launches": self.launches, "seconds": round(seconds, 1),
                "closeness": dict(sorted(self.closeness.items()))}

    def report(self, run):
        print(f"net: {run['cases']} cases from number {run['first']} in {run['launches']} launches and {run['seconds']:.0f} s, "
              f"{run['failed']} failed, {len(run['crashed'])} of them by a crash or a hang; {sum(self.refused.values())} draws were "
              f"refused")
        for reason, times in self.refused.most_common(12):
            print(f"net: refused {times} times: {reason[:150]}")
        met = [count for count in self.pairs.values() if count > 0]
        print(f"net: {len(met)} pairs of values met, {sum(count < LEAST_MET for count in met)} of them in fewer than {LEAST_MET} "
              f"cases, {len(self.possible()) - len(met)} never")

    def nested(self, of_pairs):
        return {one: {other: of_pairs[one, other] for _, other in group}
                for one, group in itertools.groupby(sorted(of_pairs), key=lambda pair: pair[0])}

    def summary(self, run):
        """All that a later run goes on from, this one included."""
        return {"runs": [*self.runs, run], "known": sorted(self.known), "values": dict(sorted(self.values.items())), "refused":
                dict(self.refused.most_common()), "pairs": self.nested(self.pairs), "refused_pairs": self.nested(self.reasons)}

    def page(self):
        """What a reader asks: which cases, how many failed, which pairs of values they did not meet, and why."""
        never = collections.defaultdict(list)
        for pair in self.possible():
            if not self.pairs[pair]:
                never[self.reasons.get(pair, "not drawn together")].append(" ".join(pair))
        met = {" ".join(pair): count for pair, count in self.pairs.items() if count > 0}
        rare = sorted(((count, pair) for pair, count in met.items() if count < LEAST_MET))
        return {"runs": self.runs, "cases": sum(run["cases"] for run in self.runs), "failed": sum(run["failed"] for run in self.runs),
                "exports": sum(run["exports"] for run in self.runs), "values": dict(sorted(self.values.items())),
                "refused": dict(self.refused.most_common(60)), "pairs": {"met": len(met), f"in_fewer_than_{LEAST_MET}_cases": len(rare),
                "rarest": rare[:100], "never": {reason: {"pairs": len(pairs), "such_as": pairs[:3]} for reason, pairs in
                                                sorted(never.items(), key=lambda each: -len(each[1]))}}}
