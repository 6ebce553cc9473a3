#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs drawn cases by the net in launches of a few hundred, goes on behind one that crashes or hangs and makes that case
smaller by launching smaller ones, and adds up what the launches counted.

A case fails where its launch ends by a signal, or with any exit code other than 0. Numbers of cases are seeds: the same
number, options and tables give the same case. Exit code 1 where any failed."""
import argparse
import collections
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VERIFY = Path(__file__).resolve().parents[2] / "scripts" / "verify-export"
LEAST_MET = 20  # cases that each possible pair of values is to be met in


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="test_net, as it was built")
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--first", type=int, help="number of the first case (default: from the commit)")
    parser.add_argument("--seconds", type=float, default=0, help="begin no case after so long")
    parser.add_argument("--threads", default="1,1,2,3", help="of a rank, by launch in turns")
    parser.add_argument("--ranks", type=int, default=5)
    parser.add_argument("--launch", type=int, default=400, help="cases of a launch")
    parser.add_argument("--limit", type=int, default=60, help="seconds of a case, after which it hangs")
    parser.add_argument("--tries", type=int, default=300, help="most runs to make a case that failed smaller")
    parser.add_argument("--stop", type=int, default=0, help="stop after so many cases that failed")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="option that all cases have")
    parser.add_argument("--corpus", help="run the cases of this folder, and draw none")
    parser.add_argument("--found", default="results/local/net", help="folder for cases that failed")
    parser.add_argument("--exports", action="store_true", help="verify exports of some cases with NumPy")
    parser.add_argument("--summary", help="file for what was counted")
    parser.add_argument("--mpiexec", default="mpiexec --oversubscribe --mca mpi_yield_when_idle 1 -n")
    return parser.parse_args()


def commit_number():
    """A first number that other commits do not have."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent)
    return int(asked.stdout[:8] or "1", 16) * 100_000


class Launches:
    def __init__(self, options):
        self.options = options
        self.folder = Path(options.found)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scratch = Path(tempfile.mkdtemp(prefix="net-"))
        self.state = self.scratch / "state.json"

    def run(self, ranks, threads, *more, seconds=None):
        """The exit code of a launch; 124 where it did not end."""
        self.state.unlink(missing_ok=True)
        command = [*shlex.split(self.options.mpiexec), str(ranks), self.options.program, "--threads", str(threads), "--state",
                   str(self.state), "--data", str(self.scratch / "data"), "--limit", str(self.options.limit), *more]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "false", "OMP_WAIT_POLICY": "passive",
                       "OMPI_MCA_odls_base_sigkill_timeout": "0"}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            self.output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            self.output, _ = process.communicate()
            return 124
        return process.returncode

    def why(self, code):
        signals = {128 + 14: "hangs", 128 + 11: "crashes (signal 11)", 128 + 6: "aborts (signal 6)"}
        said = [line for line in self.output.splitlines() if line.startswith("shardmark:")]
        return signals.get(code, f"ends with {code}") + "".join(f"; {line}" for line in said[:1])

    def fails(self, case):
        """Whether a launch of this case alone ends otherwise than well. Those that hang do so within seconds."""
        file = self.scratch / "candidate.json"
        file.write_text(json.dumps(case))
        code = self.run(case["ranks"], case["threads"], "--case", str(file), "--tries", "0", "--limit", "5", seconds=60)
        return code not in (0, 2)

    def smaller(self, case):
        file = self.scratch / "larger.json"
        file.write_text(json.dumps(case))
        return json.loads(subprocess.check_output([self.options.program, "--candidates", str(file)], text=True))

    def shrunk(self, case):
        tries, again = self.options.tries, True
        while again:
            again, candidates, c = False, self.smaller(case), 0
            while c < len(candidates) and tries > 0:
                tries -= 1
                if self.fails(candidates[c]):
                    case, again = candidates[c], True
                    candidates = self.smaller(case)
                else:
                    c += 1
        return case


def command_of(case, name):
    options = " ".join(f"--{key.replace('_', '-')} {shlex.quote(value)}" for key, value in case["options"].items())
    return (f"mpiexec -n {case['ranks']} --oversubscribe shardmark run {name}.spec.json --plan {name}.plan.json --threads "
            f"{case['threads']} --seed {case['seed']} --check {case['steps']} --steps 1 --machine off {options}")


def write(case, name):
    Path(f"{name}.json").write_text(json.dumps(case, indent=1) + "\n")
    Path(f"{name}.spec.json").write_text(json.dumps(case["workload"], indent=1) + "\n")
    if not isinstance(case["plan"], str):
        Path(f"{name}.plan.json").write_text(json.dumps(case["plan"], indent=1) + "\n")


class Counts:
    """What the launches counted, together."""

    def __init__(self):
        self.cases = self.failed = self.launches = self.exports = 0
        self.seconds = 0.0
        self.refused, self.values, self.pairs = collections.Counter(), collections.Counter(), collections.Counter()
        self.known, self.crashed, self.reasons = set(), [], {}

    def add(self, summary):
        self.cases += summary["cases"]
        self.failed += summary["failed"]
        self.refused.update(summary["refused"])
        self.values.update(summary["values"])
        self.known.update(summary["known"])
        for one, others in summary["refused_pairs"].items():
            for other, reason in others.items():
                self.reasons.setdefault((one, other), reason)
        for one, others in summary["pairs"].items():
            for other, count in others.items():
                self.pairs[one, other] += count

    def least_met(self):
        """(times, pair) of those pairs of values that were met at all, the rarest first."""
        return sorted((count, f"{one} {other}") for (one, other), count in self.pairs.items())

    def never_met(self):
        values = sorted(self.known | set(self.values))
        return [{"pair": f"{one} {other}", "refused": self.reasons.get((one, other), "")} for i, one in enumerate(values) for other in values[i + 1:]
                if one.partition("=")[0] != other.partition("=")[0] and not self.pairs[one, other]]

    def report(self, first):
        rare = [each for each in self.least_met() if each[0] < LEAST_MET]
        print(f"net: {self.cases} cases from number {first} in {self.launches} launches and {self.seconds:.0f} s, "
              f"{self.failed} failed, {len(self.crashed)} of them by a crash or a hang; {sum(self.refused.values())} draws were "
              f"refused")
        for reason, times in self.refused.most_common(12):
            print(f"net: refused {times} times: {reason[:150]}")
        print(f"net: {len(self.pairs)} pairs of values met, {len(rare)} of them in fewer than {LEAST_MET} cases, "
              f"{len(self.never_met())} never")

    def summary(self, first):
        return {"first": first, "cases": self.cases, "launches": self.launches, "seconds": round(self.seconds, 1), "failed":
                self.failed, "crashed": self.crashed, "exports": self.exports, "refused": dict(self.refused.most_common()), "values":
                dict(sorted(self.values.items())), "pairs": len(self.pairs), "least_met": self.least_met()[:200], "never_met":
                self.never_met()}


def tell_crash(launches, code, counts):
    """Makes the case that the launch ended in smaller. Its number."""
    case = json.loads(launches.state.read_text())
    number, why = case["number"], launches.why(code)
    print(f"case {number} FAILED: {why}", flush=True)
    name = f"{launches.folder}/case_{number}"
    write(case, name)
    counts.failed += 1
    counts.crashed.append({"number": number, "why": why})
    if not launches.fails(case):
        print(f"  alone it does not; {name}.json", flush=True)
        return number
    small = launches.shrunk(case)
    launches.fails(small)
    name = f"{launches.folder}/small_{number}"
    write(small, name)
    print(f"  made smaller: {name}.json\n  {command_of(small, name)}", flush=True)
    return number


def verify_exports(folder, counts):
    """Recomputes with NumPy the steps that a launch exported: all in one process, and where one is wrong each by itself."""
    files = sorted(folder.glob("*.h5"))
    counts.exports += len(files)
    if not files or subprocess.run([sys.executable, VERIFY, *files], capture_output=True).returncode == 0:
        for written in folder.glob("case_*"):
            written.unlink()
        return
    for file in files:
        verified = subprocess.run([sys.executable, VERIFY, file], capture_output=True, text=True)
        if verified.returncode != 0:
            counts.failed += 1
            print(f"{file.stem.replace('_', ' ')} FAILED: its export is not as NumPy has it: {verified.stdout.strip()[-300:]}"
                  f"{verified.stderr.strip()[-300:]}\n  {folder.parent / file.stem}.json", flush=True)
        for written in folder.glob(f"{file.stem}.*"):
            if verified.returncode != 0:
                written.rename(folder.parent / written.name)
            else:
                written.unlink()


def run_corpus(launches, options):
    """All stored cases, by their number of threads, each folder of cases in few launches."""
    by_threads = collections.defaultdict(list)
    for file in sorted(Path(options.corpus).glob("*.json")):
        by_threads[json.loads(file.read_text())["threads"]].append(str(file))
    failed = 0
    for threads, files in by_threads.items():
        code = launches.run(options.ranks, threads, *(word for file in files for word in ("--case", file)), "--tries", "0")
        print(launches.output, end="", flush=True)
        if code != 0:
            failed += 1
            print(f"corpus: {launches.why(code)}")
            if launches.state.exists():
                print(launches.state.read_text())
    return 1 if failed else 0


def run_drawn(launches, options):
    first = options.first if options.first is not None else commit_number()
    counts, begin, number = Counts(), time.monotonic(), first
    print(f"net: cases {first} to {first + options.cases - 1}", flush=True)
    threads = [int(each) for each in options.threads.split(",")]
    fixed = [word for each in options.set for word in ("--set", each)]
    summary, exports = launches.scratch / "summary.json", launches.folder / "exports"
    exports.mkdir(exist_ok=True)
    while number < first + options.cases:
        left = options.seconds - (time.monotonic() - begin)
        if options.seconds and left <= 0 or options.stop and counts.failed >= options.stop:
            break
        count = min(options.launch, first + options.cases - number)
        summary.unlink(missing_ok=True)
        code = launches.run(options.ranks, threads[counts.launches % len(threads)], "--first", str(number), "--cases", str(count),
                            "--found", str(launches.folder), "--summary", str(summary), "--tries", str(options.tries), *fixed,
                            *(["--exports", str(exports)] if options.exports else []),
                            *(["--seconds", str(left)] if options.seconds else []))
        counts.launches += 1
        print(launches.output, end="", flush=True)
        verify_exports(exports, counts)
        if summary.exists():
            counts.add(json.loads(summary.read_text()))
            number += count
        elif launches.state.exists():
            crashed = tell_crash(launches, code, counts)
            counts.cases += crashed - number + 1  # what it had counted is lost
            number = crashed + 1
        else:
            sys.exit(f"net: the launch {launches.why(code)} before its first case")
    counts.seconds = time.monotonic() - begin
    counts.report(first)
    if options.summary:
        Path(options.summary).write_text(json.dumps(counts.summary(first), indent=1) + "\n")
    return 1 if counts.failed else 0


def main():
    options = arguments()
    launches = Launches(options)
    sys.exit(run_corpus(launches, options) if options.corpus else run_drawn(launches, options))


main()
