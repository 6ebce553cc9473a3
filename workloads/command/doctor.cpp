// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/session.hpp"
#include "workloads/batches/compute_threads.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/context.hpp"
#include "workloads/command/doctor/doctor_page.hpp"
#include "workloads/command/doctor/facts.hpp"

namespace shardmark::workloads {
namespace {

std::vector<RankFacts> rank_facts(const comm::Communicator& world, const comm::Affinity& affinity) {
  const auto cpus = comm::all_gather(world, affinity.processing_units);
  const auto cores = comm::all_gather(world, std::span<const int>(affinity.cores));
  const auto threads = comm::all_gather(world, compute_thread_count());
  std::vector<RankFacts> ranks;
  for (int r = 0; r < world.size(); ++r)
    ranks.push_back({.host = world.host_of(r),
                     .node = world.node_of(r),
                     .cpus = cpus[r],
                     .cores = {cores.of(r).begin(), cores.of(r).end()},
                     .threads = threads[r]});
  return ranks;
}

int print_page(const comm::Communicator& world) {
  const MachineFacts machine = comm::agree(world, machine_facts);
  const comm::Affinity affinity = comm::agree(world, comm::observed_affinity);
  const ComputeThreads threads(world, affinity, 0);
  const Status status = status_line(world);
  status("measuring ceilings for a few seconds");
  const Facts facts{.build = build_facts(),
                    .machine = machine,
                    .ranks = rank_facts(world, affinity),
                    .mpi = mpi_facts(world),
                    .ceilings = ceiling_facts(world),
                    .gpu = gpu_facts(world)};
  status("");
  if (world.rank() == 0) fmt::print("{}", doctor_page(facts));
  return 0;
}

}  // namespace

void define_doctor(CLI::App& app) {
  when_parsed(app, [] {
    if (const int code = comm::with_mpi(print_page); code != 0) throw Failure{code};
  });
}

}  // namespace shardmark::workloads
