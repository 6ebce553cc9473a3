# SPDX-License-Identifier: Apache-2.0
"""What the scripts that measure peers share: their environment, the processes, the options, the results file."""
import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

from comparison import read_records

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# torchrec comes last and alone: what it asks for would bring FBGEMM for GPUs and take the place of this torch.
PACKAGES = (("torch==2.10.*", "fbgemm-gpu-cpu==1.5.0", "numpy", "iopath", "pyre-extensions", "tensordict==0.11.*", "tqdm",
             "torchmetrics"), ("--no-deps", "torchrec==1.5.0"))
PINNED = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
SETTINGS = {
    "as installed": {},
    "tuned": {**PINNED, "THP_MEM_ALLOC_ENABLE": "1", "MALLOC_MMAP_THRESHOLD_": "4294967296",
              "MALLOC_TRIM_THRESHOLD_": "4294967296"},
}


# As scripts/run sets them: it is bind-rank that binds ranks, for any MPI.
MPI_SETTINGS = {
    "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_hwloc_base_use_hwthreads_as_cpus": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    **({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.getuid() == 0 else {}),
}


def say(text):
    print(f"scripts/peers/{Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


def make_environment(folder):
    """Its Python, with the peers in it. The mark comes last and names the packages: what an interrupted run left, or an
    earlier list gave, is made anew."""
    complete = folder / "complete"
    python = folder / "bin" / "python"
    listed = "".join(" ".join(packages) + "\n" for packages in PACKAGES)
    if complete.exists() and complete.read_text(encoding="utf-8") == listed:
        return python
    say(f"installing the peers into {folder}: about 3 GB, most of it CUDA libraries that torch asks for")
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    for packages in PACKAGES:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check",
                        *packages], check=True, stdout=sys.stderr)
    complete.write_text(listed, encoding="utf-8")
    return python


def build_ours(target):
    for command in (["cmake", "--preset", "release"], ["cmake", "--build", "--preset", "release", "--target", target]):
        subprocess.run(command, check=True, stdout=sys.stderr, cwd=ROOT)
    return ROOT / "build" / "release" / "bin" / target


class Peers:
    """A process of a worker script in one setting, on those CPUs; it measures what it is told to and holds no tables in
    between."""

    def __init__(self, python, script, setting, threads, cpus=None, more=()):
        environment = {**os.environ, **SETTINGS[setting], "OMP_NUM_THREADS": str(threads),
                       **({"FBGEMM_TBE_MAX_NUM_THREADS": str(threads)} if setting == "tuned" else {}),  # later FBGEMMs: else 1
                       "PYTHONDONTWRITEBYTECODE": "1", **dict(more)}
        self.setting = setting
        bound = ["taskset", "-c", ",".join(map(str, sorted(cpus)))] if cpus else []
        self.process = subprocess.Popen([*bound, python, HERE / script], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.versions = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of the peers ({self.setting}) ended with code {self.process.wait()}")
        return json.loads(line)

    def ask(self, request):
        print(json.dumps(request), file=self.process.stdin, flush=True)

    def measure(self, request):
        self.ask(request)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def listed_cases(program, options):
    """Those of --cases, as shardmark-kernels describes them."""
    cases = json.loads(subprocess.run([program, "--list-cases", f"--scale={options.scale}"], check=True, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    return [{**case, "scale": options.scale} for case in cases if case["name"] in options.cases.split(",")]


def run_ours(program, options, benchmarks, ceilings):
    """What Google Benchmark reports of the benchmarks that match; its rows in "benchmarks", of what it ran on in "context"."""
    command = [program, f"--scale={options.scale}", f"--ceilings={ceilings}", f"--benchmark_filter=^({benchmarks})",
               f"--benchmark_min_time={options.seconds}", "--benchmark_format=json"]
    run = subprocess.run(command, env={**os.environ, **PINNED, "OMP_NUM_THREADS": str(options.threads)}, text=True,
                         check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = json.loads(run.stdout)
    found["context"] = {key: value for key, value in found["context"].items() if key not in ("caches", "host_name")}
    return found


def main(description, cases, measure_all, markdown, target="shardmark-kernels", more_options=lambda parser: None):
    """measure_all(options, program, python, write) measures everything with the program `target`, write(record) keeps a line of
    the file."""
    name = Path(sys.argv[0]).name
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=cases, help="default %(default)s")
    parser.add_argument("--passes", type=int, default=3, help="how often everything is measured, default %(default)s")
    parser.add_argument("--seconds", type=float, default=1, help="of each measurement, default %(default)s")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="default %(default)s, all CPUs")
    parser.add_argument("--scale", default="1/1", help="of rows and batch, to try the script out; default %(default)s")
    parser.add_argument("--out", type=Path, help=f"default results/local/peers-{name}-TIME.jsonl")
    parser.add_argument("--program", type=Path, help=f"a built {target}; default: that of preset release")
    parser.add_argument("--environment", type=Path, default=ROOT / ".deps" / "peers-fbgemm",
                        help="Python environment of the peers, made if it is not there; default .deps/peers-fbgemm")
    parser.add_argument("--report", type=Path, nargs="+", metavar="FILE", help="measure nothing, print what FILES hold")
    parser.add_argument("--prepare", action="store_true", help="make the environment if it is not there, measure nothing")
    more_options(parser)
    options = parser.parse_args()
    if options.prepare:
        make_environment(options.environment)
        return
    if options.report:
        print(markdown(read_records(options.report)))
        return
    python = make_environment(options.environment)
    program = options.program or build_ours(target)
    now = datetime.datetime.now(datetime.timezone.utc)
    out = options.out or ROOT / "results" / "local" / f"peers-{name}-{now:%Y%m%dT%H%M%SZ}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", encoding="utf-8") as file:
        measure_all(options, program, python, lambda record: print(json.dumps(record), file=file, flush=True))
    print(markdown(read_records([out])))
    say(f"measurements are in {out}")
