# SPDX-License-Identifier: Apache-2.0
"""A ReFrame test: compares placements on the nodes of each partition, and records samples/s of the best one.

  reframe -C SITE.py -c scripts/packaging/reframe_shardmark.py -r -S workload=my-tables.json -S budget=5m

It runs `shardmark` of the PATH, by what starts parallel programs in the partition. It fails where the verdict is not VALID.
A reference value is set from outside: -S reference='{"cluster:partition": {"throughput": (2.8e6, -0.1, None, "samples/s")}}'."""
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_before, sanity_function, variable


@rfm.simple_test
class Placements(rfm.RunOnlyRegressionTest):
    nodes = parameter([1, 2, 4], loggable=True)
    ranks_per_node = variable(int, value=2)
    workload = variable(str, value="criteo-kaggle")
    budget = variable(str, value="2m")
    options = variable(str, value="", loggable=True)

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "shardmark"
    time_limit = "30m"

    @run_before("run")
    def choose_ranks(self):
        self.num_tasks_per_node = self.ranks_per_node
        self.num_tasks = self.nodes * self.ranks_per_node
        if self.current_partition.processor.num_cores:
            self.num_cpus_per_task = max(1, self.current_partition.processor.num_cores // self.ranks_per_node)
            self.env_vars["OMP_NUM_THREADS"] = self.num_cpus_per_task
        self.executable_opts = ["compare", self.workload, "--budget", self.budget, "--out", "placements.jsonl", *self.options.split()]
        self.keep_files = ["placements.jsonl"]

    @sanity_function
    def is_valid(self):
        return sn.assert_found(r"^RESULT: VALID", self.stdout)

    @performance_function("samples/s")
    def throughput(self):
        return sn.extractsingle(r"^FOM samples/s: (\d+)", self.stdout, 1, float)
