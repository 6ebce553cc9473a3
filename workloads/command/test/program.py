# SPDX-License-Identifier: Apache-2.0
"""The program under test, as a user sees it: arguments in, exit code, stdout, stderr and files out.

SHARDMARK is the program, MPIEXEC what starts it on N ranks when N follows ("mpiexec -n")."""
import concurrent.futures
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SHARDMARK = os.path.abspath(os.environ.get("SHARDMARK") or shutil.which("shardmark") or "shardmark")
MPIEXEC = shlex.split(os.environ.get("MPIEXEC", "mpiexec -n"))
REPOSITORY = Path(__file__).resolve().parents[3]
# After so long it hangs; beside other tests, ranks that wait for each other take 40 times as long as alone.
SECONDS = 150
SMALL = {"scale": "1/4096", "batch": 240, "steps": 1, "check": 1, "threads": 1, "machine": "off",
         "watchdog": SECONDS / 2}
AT_ONCE = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}  # or Open MPI waits a second for the other ranks when one has failed
PROGRESS = re.compile(r"shardmark: (preparing|calibrating|computing|checking|timed|timing|comparing|training|saving|restoring|exchange \S+ is left out)\b")


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def complaints(self):
        """Our lines on stderr other than progress; the launcher adds its own."""
        return [line for line in self.err.splitlines() if line.startswith("shardmark:") and not PROGRESS.match(line)]

    def last_line(self):
        """Whatever else runs on the machine that tests."""
        return self.out.rstrip().rpartition("\n")[2].removesuffix(", DISTURBED")


def processes():
    """A line each: number, parent, state, the kernel's function it waits in, command."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(re.findall(r"(\w+):\s+(\S*)", (process / "status").read_text()))
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            waits = (process / "wchan").read_text()
        except OSError:  # it has ended
            continue
        if words:
            lines.append(f"{process.name} {status['PPid']} {status['State']} {waits} {words}")
    return "\n".join(lines)


def start(command, environment=None, memory=None, folder=None):
    """Runs `command` to its end, or fails after SECONDS; mpiexec is asked first, so that it can end its ranks."""
    if memory:
        command = ["sh", "-c", f'ulimit -v {memory // 1024} && exec "$@"', "sh", *command]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, cwd=folder, env={**os.environ, **(environment or {})})
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        running = processes()
        process.send_signal(signal.SIGTERM)
        try:
            out, err = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        raise AssertionError(f"hangs, no end after {SECONDS} s: {shlex.join(command)}\n{out}{err}\n{running}") from None
    return Outcome(process.returncode, out, err)


def options(given):
    """{"plan": "row_wise", "min_count": 2, "set": ["a=1", "b=2"]} as arguments; None is left out."""
    arguments = []
    for name, value in given.items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                arguments += ["--" + name.replace("_", "-"), str(each)]
    return arguments


class ProgramTest(unittest.TestCase):
    """Each class has a folder of its own, the current one of the programs it starts."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="shardmark-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.numbers = itertools.count(1)

    @classmethod
    def new_path(cls, ending=""):
        return cls.folder / f"{next(cls.numbers)}{ending}"

    @classmethod
    def new_file(cls, content, ending=".json"):
        path = cls.new_path(ending)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    @classmethod
    def serial(cls, *arguments, **how):
        return start([SHARDMARK, *map(str, arguments)], folder=cls.folder, **how)

    @classmethod
    def launch(cls, ranks, *arguments, memory=None):
        return start([*MPIEXEC, str(ranks), SHARDMARK, *map(str, arguments)], AT_ONCE, memory,
                     cls.folder)

    @classmethod
    def case(cls, ranks, workload="criteo-kaggle", command="run", how=None, **given):
        """`run` or `compare` of a small case, into a results file of its own: (outcome, that file)."""
        given = {**SMALL, "out": cls.new_path(".jsonl"), **given}
        return cls.launch(ranks, command, workload, *options(given), **(how or {})), given["out"]

    @classmethod
    def cases(cls, each):
        """case(**keywords) for each keywords, several at a time: starting one is mostly waiting."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return list(pool.map(lambda keywords: cls.case(**keywords), each))

    def succeeds(self, outcome):
        self.assertEqual(outcome.code, 0, outcome.out + outcome.err)
        return outcome

    def refuses(self, outcome, *texts):
        """Exit code 2 and one line on stderr, which holds all `texts`."""
        self.assertEqual(outcome.code, 2, outcome.out + outcome.err)
        complaints = outcome.complaints()
        self.assertEqual(len(complaints), 1, outcome.err)
        for text in texts:
            self.assertIn(text, complaints[0])

    def refuses_case(self, *texts, ranks=(1, 3), **given):
        for n, (outcome, _) in zip(ranks, self.cases({"ranks": n, **given} for n in ranks)):
            with self.subTest(ranks=n):
                self.refuses(outcome, *texts)

    def refuses_serial(self, arguments, *texts):
        outcome = self.serial(*arguments)
        self.refuses(outcome, *texts)
        self.assertEqual(len(outcome.err.splitlines()), 1, outcome.err)


def records(file):
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def main():
    sys.dont_write_bytecode = True
    unittest.main(verbosity=2)
