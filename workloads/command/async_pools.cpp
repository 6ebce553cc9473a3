// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/async_pools.hpp"

#include <algorithm>
#include <utility>

#include "comm/agree.hpp"
#include "reference/error.hpp"
#include "workloads/cases/option_use.hpp"

namespace shardmark {
namespace {

/// What was given for the option last; empty where it was not.
std::vector<std::string> values_of(const std::vector<GivenOption>& given, std::string_view option) {
  std::vector<std::string> values;
  for (const GivenOption& each : given)
    if (each.option->name == option) values = each.values;
  return values;
}

}  // namespace

MpiThreads mpi_threads(const CaseArguments& arguments) try {
  const auto given = arguments.given();
  const auto modes = values_of(given, "async"), pools = values_of(given, "async_pool");
  const bool ahead = std::ranges::any_of(modes, [](const auto& mode) { return mode != "off"; });
  const bool by_threads =
      pools.empty() || std::ranges::any_of(pools, [](const auto& pool) { return pool != "inline"; });
  return ahead && by_threads ? MpiThreads::several : MpiThreads::one_at_a_time;
} catch (const InputError&) {
  return MpiThreads::one_at_a_time;
}

StagePool dedicated_pool(const std::vector<GivenOption>& given) {
  std::vector<StagePool> pools;
  for (const std::string& value : values_of(given, "async_pool"))
    if (value != "all") pools.push_back(stage_pool_named(value));
  const auto dedicated = std::ranges::find(pools, PoolKind::dedicated, &StagePool::kind);
  if (dedicated == pools.end()) return {};
  if (std::ranges::count(pools, *dedicated) < std::ssize(pools))
    throw InputError("--async-pool " + dedicated->name() +
                     ": it takes cores from the threads that compute, which all cases share; give it alone");
  return *dedicated;
}

CoreShares core_shares(const Communicator& world, const Affinity& affinity, const CaseArguments& arguments) {
  const int share = threads_for_rank(world, affinity);
  return agree(world, [&] {
    CoreShares shares = share_cores(affinity, share, dedicated_pool(arguments.given()));
    if (shares.apart) CoreSet(affinity, shares.compute).bind_thread();
    return shares;
  });
}

std::vector<Case> with_pools_in_effect(std::vector<Case> cases, const PoolFacts& facts, const Notice& notice) {
  for (Case& how : cases) {
    if (!how.async.on()) continue;
    const StagePool asked = std::exchange(how.async.pool, pool_in_effect(how.async.pool, facts));
    if (asked.kind == PoolKind::automatic && how.async.inlined())
      notice(facts.mpi == MpiThreads::several
                 ? "--async-pool auto is inline: ranks of one host without a core to spare would hide nothing"
                 : "--async-pool auto is inline: this MPI gives no MPI_THREAD_MULTIPLE, which threads need");
  }
  return without_unused_async(std::move(cases));
}

}  // namespace shardmark
