#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs drawn cases by the net in launches of a few hundred, goes on behind one that crashes or hangs and makes that case
smaller by launching smaller ones, and adds up what the launches counted.

A case fails where its launch ends by a signal, or with any exit code other than 0. Numbers of cases are seeds: the same
number, options and tables give the same case. Exit code 1 where any failed."""
import argparse
import collections
import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from counts import LEAST_MET, Counts, commit

VERIFY = Path(__file__).resolve().parents[2] / "scripts" / "verify-export"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="test_net, as it was built")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, help="number of the first case (default: behind those of --summary, or from the commit)")
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
    parser.add_argument("--summary", help="file of what was counted, to which this run adds")
    parser.add_argument("--rare", action="store_true",
                        help=f"draw for each two values that --summary has in fewer than {LEAST_MET} cases those that are missing")
    parser.add_argument("--page", help="write what a reader asks of --summary to this file, and run nothing")
    parser.add_argument("--mpiexec", default="mpiexec --oversubscribe --mca mpi_yield_when_idle 1 -n")
    options = parser.parse_args()
    if (options.rare or options.page) and not (options.summary and Path(options.summary).exists()):
        parser.error("--rare and --page need a --summary that an earlier run has written")
    if options.rare and options.set:
        parser.error("--rare decides what cases have; leave out --set")
    return options


def commit_number():
    """A first number that other commits do not have."""
    return int(commit()[:8] or "1", 16) * 100_000


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


def save(file, counts, run):
    """After each launch, so that what ends a campaign loses one; whole, or not at all."""
    if file:
        partial = Path(f"{file}.partial")
        with gzip.open(partial, "wt") if file.endswith(".gz") else open(partial, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(counts.summary(run)) + "\n")
        partial.replace(file)


def run_drawn(launches, options):
    counts, begin = Counts(options.summary), time.monotonic()
    first = options.first if options.first is not None else counts.runs[-1]["next"] if counts.runs else commit_number()
    number, last = first, sys.maxsize if options.rare else first + options.cases
    print(f"net: cases from {first} on", flush=True)
    threads = [int(each) for each in options.threads.split(",")]
    fixed = [word for each in options.set for word in ("--set", each)]
    summary, exports, pairs = launches.scratch / "summary.json", launches.folder / "exports", launches.scratch / "pairs.json"
    exports.mkdir(exist_ok=True)
    rare = counts.rare() if options.rare else []
    while number < last and (rare or not options.rare):
        left = options.seconds - (time.monotonic() - begin)
        if options.seconds and left <= 0 or options.stop and counts.failed >= options.stop:
            break
        drawn = ["--cases", str(min(options.launch, last - number))]
        if options.rare:
            count = options.launch // 10  # of pairs
            pairs.write_text(json.dumps(rare[:count]))
            rare, drawn = rare[count:], ["--pairs", str(pairs)]
        elif not options.set:
            drawn += ["--turn", str(first + counts.launches)]
        summary.unlink(missing_ok=True)
        code = launches.run(options.ranks, threads[counts.launches % len(threads)], "--first", str(number), *drawn, "--found",
                            str(launches.folder), "--summary", str(summary), "--tries", str(options.tries), *fixed,
                            *(["--exports", str(exports)] if options.exports else []),
                            *(["--seconds", str(left)] if options.seconds else []),
                            seconds=options.limit + 3 * options.launch)
        counts.launches += 1
        print(launches.output, end="", flush=True)
        verify_exports(exports, counts)
        if summary.exists():
            counted = json.loads(summary.read_text())
            counts.add(counted)
            number = counted["next"]
            if code != 0 and counted["failed"] == 0:
                counts.failed += 1
                print(f"net: the launch {launches.why(code)} behind its last case", flush=True)
        elif launches.state.exists():
            crashed = tell_crash(launches, code, counts)
            counts.cases += crashed - number + 1  # what it had counted is lost
            number = crashed + 1
        else:
            sys.exit(f"net: the launch {launches.why(code)} before its first case")
        save(options.summary, counts, counts.run(first, number, time.monotonic() - begin))
    for sentence in [] if options.rare or options.set else counts.loose():
        counts.failed += 1
        print(f"net: bounds FAILED: {sentence}")
    run = counts.run(first, number, time.monotonic() - begin)
    counts.report(run)
    save(options.summary, counts, run)
    return 1 if counts.failed else 0


def main():
    options = arguments()
    if options.page:
        Path(options.page).write_text(json.dumps(Counts(options.summary).page(), indent=1) + "\n")
        return
    launches = Launches(options)
    failed = run_corpus(launches, options) if options.corpus else run_drawn(launches, options)
    if not failed:
        shutil.rmtree(launches.scratch)
    sys.exit(failed)


main()
