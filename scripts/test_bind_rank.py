#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bind-rank on machines that are told: lscpu and taskset are stand-ins."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).with_name("bind-rank")
TASKSET = """#!/bin/sh
if [ "$1" = -cp ]; then echo "pid 7's current affinity list: $ALLOWED"; exit; fi
echo "bound to $2"
"""
ONE_SOCKET = ["0,0,0,0", "0,0,1,1"]
# Two sockets of two cores with two hardware threads each, numbered as Linux does: second threads last.
TWO_SOCKETS = [f"{core // 2},{core // 2},{core},{core + thread}" for thread in (0, 4) for core in range(4)]
NO_NODES = [",0,0,0", ",0,1,1", ",0,2,2"]


class BindRank(unittest.TestCase):
    def shares(self, machine, allowed, ranks=2, variable="OMPI_COMM_WORLD_LOCAL_RANK"):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("lscpu", "#!/bin/sh\necho '# header'\n" + "".join(f"echo {cpu}\n" for cpu in machine)),
                               ("taskset", TASKSET)):
                (Path(folder) / name).write_text(text)
                (Path(folder) / name).chmod(0o755)
            plain = {name: value for name, value in os.environ.items() if name == "PMI_RANK" or ("RANK" not in name and name != "SLURM_LOCALID")}
            return [subprocess.run([PROGRAM, str(ranks), "echo", "free"], check=True, capture_output=True, text=True, env={
                **plain, "ALLOWED": allowed, "PATH": f"{folder}:{os.environ['PATH']}", variable: str(rank)}).stdout.strip()
                for rank in range(ranks)]

    def test_each_rank_has_its_half(self):
        self.assertEqual(self.shares(ONE_SOCKET, "0,1"), ["bound to 0", "bound to 1"])
        self.assertEqual(self.shares(TWO_SOCKETS, "0-7"), ["bound to 0,4,1,5", "bound to 2,6,3,7"])
        self.assertEqual(self.shares(TWO_SOCKETS, "0-7", 4), [f"bound to {core},{core + 4}" for core in range(4)])

    def test_only_what_the_process_may_use_is_shared(self):
        self.assertEqual(self.shares(TWO_SOCKETS, "1,3"), ["bound to 1", "bound to 3"])
        self.assertEqual(self.shares(TWO_SOCKETS, "2-3,5"), ["bound to 5", "bound to 2"])

    def test_ranks_that_find_no_core_are_free(self):
        self.assertEqual(self.shares(ONE_SOCKET, "1"), ["free", "free"])
        self.assertEqual(self.shares(ONE_SOCKET, "0-1", variable="OTHER"), ["free", "free"])

    def test_other_launchers_and_machines_without_nodes(self):
        for variable in ("MPI_LOCALRANKID", "SLURM_LOCALID", "PMI_RANK"):
            self.assertEqual(self.shares(NO_NODES, "0-2", variable=variable), ["bound to 0", "bound to 1"])

    def test_a_number_among_all_machines_is_the_last_to_be_asked(self):
        os.environ["PMI_RANK"] = "7"
        self.addCleanup(os.environ.pop, "PMI_RANK")
        self.assertEqual(self.shares(NO_NODES, "0-2", variable="SLURM_LOCALID"), ["bound to 0", "bound to 1"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
