// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/pipeline/stage_pool.hpp"

#include <fmt/format.h>

#include "comm/collectives.hpp"
#include "reference/error.hpp"
#include "workloads/batches/compute_threads.hpp"

namespace shardmark::workloads {

PoolFacts pool_facts(const comm::Communicator& comm, const comm::Affinity& affinity) {
  const bool spare = comm::threads_for_rank(comm, affinity) > compute_thread_count();
  return {.mpi = comm::mpi_threads_given(),
          .spare_core = comm::all_reduce(comm, spare ? 1 : 0, comm::Reduce::max) == 1,
          .one_node = comm.nodes() == 1};
}

StagePool pool_in_effect(StagePool pool, const PoolFacts& facts) {
  const bool several = facts.mpi == comm::MpiThreads::several;
  if (pool.kind == PoolKind::automatic)
    pool.kind = several && (facts.spare_core || !facts.one_node) ? PoolKind::shared : PoolKind::inlined;
  if (pool.kind != PoolKind::inlined && !several)
    throw InputError(
        fmt::format("--async-pool {}: this MPI gives no MPI_THREAD_MULTIPLE, which threads that prepare batches need; "
                    "use --async-pool inline",
                    pool.name()));
  return pool;
}

CoreShares share_cores(const comm::Affinity& affinity, int share, const StagePool& pool) {
  const auto& cores = affinity.cores;
  if (pool.kind != PoolKind::dedicated) return {.compute = cores, .stages = cores};
  if (pool.cores >= share)
    throw InputError(
        fmt::format("--async-pool {}: a rank has {} core{}, of which at least one computes; use fewer, or "
                    "--async-pool shared",
                    pool.name(), share, share == 1 ? "" : "s"));
  if (share < std::ssize(cores))
    throw InputError(
        fmt::format("--async-pool {}: ranks share their {} cores, so none can be told which are its own; start "
                    "them with scripts/bind-rank",
                    pool.name(), cores.size()));
  const auto end_of_compute = cores.end() - pool.cores;
  return {.compute = {cores.begin(), end_of_compute}, .stages = {end_of_compute, cores.end()}, .apart = true};
}

std::int64_t CoreShares::threads_to_compute(std::int64_t requested) const {
  const auto most = std::ssize(compute);
  return apart && (requested == 0 || requested > most) ? most : requested;
}

}  // namespace shardmark::workloads
