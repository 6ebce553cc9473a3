#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job scripts without a Slurm: what they start, on how many nodes, and that they go on where an earlier life stopped."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRUN = """#!/usr/bin/env bash
for word; do [[ $word == -* ]] || break; options+="$word "; shift; done
echo "srun $options"
exec "$@"
"""
# Ends with what CODE says, leaving what a program that was killed leaves, or a whole file.
PROGRAM = """#!/usr/bin/env bash
echo "shardmark $*"
[[ $1 != results ]] || exit 0
while (($#)); do [[ $1 == --out ]] && out=$2; shift; done
mkdir -p results/local
case ${CODE:-0} in
  0) echo '{"record":"environment"}' > "$out"; rm -f "$out.partial" ;;
  137) echo '{"record":"environment","state":"running"}' > "$out.partial" ;;
  138) echo '{"record":"environment","state":"interrupted"}' > "$out" ;;
esac
exit "${CODE:-0}"
"""


class Slurm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardmark-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "scripts").mkdir()
        (self.root / "scripts" / "slurm").symlink_to(ROOT / "scripts" / "slurm")
        for name, text in (("srun", SRUN), ("program", PROGRAM)):
            (self.root / name).write_text(text)
            (self.root / name).chmod(0o755)

    def job(self, script, *arguments, code=0, **environment):
        """The lines that a job prints on stdout."""
        given = {"PATH": f"{self.root}:{os.environ['PATH']}", "SLURM_SUBMIT_DIR": self.root, "SLURM_JOB_NUM_NODES": "4", "SLURM_JOB_ID": "7",
                 "SLURM_JOB_NAME": "scaling", "SLURM_NTASKS_PER_NODE": "2", "SLURM_CPUS_PER_TASK": "3", "SHARDMARK": self.root / "program",
                 **environment}
        done = subprocess.run(["bash", ROOT / "scripts" / "slurm" / script, *arguments], env=given, cwd="/", text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.err = done.stderr
        return [line.strip() for line in done.stdout.splitlines() if line]

    def test_scaling_is_over_1_2_4_nodes_and_ends_with_one_table(self):
        lines = self.job("scaling.sbatch", "--batch", "64")
        self.assertEqual(lines[0], "srun --mpi=pmix --nodes=1 --ntasks=2 --ntasks-per-node=2 --cpus-per-task=3")
        files = [f"results/local/scaling-7-{nodes}.jsonl" for nodes in (1, 2, 4)]
        self.assertEqual([line for line in lines if "compare" in line], [f"shardmark compare criteo-kaggle --batch 64 --out {file}" for file in files])
        self.assertIn("srun --mpi=pmix --nodes=4 --ntasks=8 --ntasks-per-node=2 --cpus-per-task=3", lines)
        self.assertEqual(lines[-1], "shardmark results show " + " ".join(files))
        shown = self.job("scaling.sbatch", SLURM_JOB_NUM_NODES="6")[-1]
        self.assertTrue(shown.endswith("-1.jsonl results/local/scaling-7-2.jsonl results/local/scaling-7-4.jsonl results/local/scaling-7-6.jsonl"), shown)
        self.assertTrue(self.job("scaling.sbatch", SHARDMARK_NODES="3", SLURM_JOB_ID="8")[-1].endswith("show results/local/scaling-8-3.jsonl"))

    def test_a_job_that_was_killed_goes_on_and_what_is_complete_is_not_measured_again(self):
        self.job("scaling.sbatch", SHARDMARK_NODES="1")
        self.job("scaling.sbatch", code=137, CODE="137")
        two = "results/local/scaling-7-2.jsonl"
        lines = self.job("scaling.sbatch", code=138, CODE="138")
        self.assertEqual(lines[0], "shardmark results show results/local/scaling-7-1.jsonl")
        self.assertIn("scaling-7-1.jsonl is complete", self.err)
        self.assertEqual(lines[-1], f"shardmark compare criteo-kaggle --resume {two}.partial --out {two} --force")
        (self.root / f"{two}.partial").unlink()
        lines = self.job("scaling.sbatch", SLURM_JOB_ID="9", SHARDMARK_JOB="7")
        self.assertIn(f"shardmark compare criteo-kaggle --resume {two} --out {two} --force", lines)

    def test_the_other_scripts(self):
        self.assertEqual(self.job("calibrate.sbatch")[-1], "shardmark calibrate --out machine.json")
        self.assertEqual(self.job("calibrate.sbatch", "m.json", "--quick")[-1], "shardmark calibrate --out m.json --quick")
        self.assertEqual(self.job("exchange.sbatch", "--bytes", "1K", code=137, CODE="137")[-1],
                         "shardmark exchange --bytes 1K --out results/local/scaling-7.jsonl")
        gpus = self.job("compare-gpu.sbatch", "--budget", "5min", SLURM_JOB_NAME="compare-gpu")
        self.assertEqual(gpus[-1], "shardmark compare criteo-kaggle --batch-per-rank 65536 --plan table_wise,row_wise,column_wise --budget 5min "
                                   "--out results/local/compare-gpu-7.jsonl")
        self.job("compare-gpu.sbatch", code=2, SHARDMARK="build/cuda/bin/shardmark")
        self.assertIn("there is no build/cuda/bin/shardmark; build first, on a node of this kind: scripts/setup cuda && cmake --preset cuda &&", self.err)
        self.assertEqual(self.job("exchange.sbatch")[-1], "shardmark exchange --out results/local/scaling-7.jsonl --force")
        self.assertEqual(self.job("shardmark.sbatch", "compare", "my.json", "--out", "a")[-1], "shardmark compare my.json --out a")

    def test_a_missing_program_is_said(self):
        for script in ("shardmark", "calibrate", "exchange", "scaling"):
            self.job(f"{script}.sbatch", code=2, SHARDMARK="none")
            self.assertRegex(self.err, r"^scripts/slurm/step: there is no none; build first, .*cmake --preset release")


if __name__ == "__main__":
    unittest.main(verbosity=2)
