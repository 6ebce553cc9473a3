// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/async_pools.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/agree.hpp"
#include "reference/error.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {
namespace {

/// What was given for the option last; empty where it was not.
std::vector<std::string> values_of(const std::vector<GivenOption>& given, std::string_view option) {
  std::vector<std::string> values;
  for (const GivenOption& each : given)
    if (each.option->name == option) values = each.values;
  return values;
}

}  // namespace

comm::MpiThreads mpi_threads(const CaseArguments& arguments) try {
  const auto given = arguments.given();
  const auto modes = values_of(given, "async"), pools = values_of(given, "async_pool");
  const bool prefetched = std::ranges::any_of(modes, [](const auto& mode) { return mode != "off"; });
  const bool by_threads =
      pools.empty() || std::ranges::any_of(pools, [](const auto& pool) { return pool != "inline"; });
  return prefetched && by_threads ? comm::MpiThreads::several : comm::MpiThreads::one_at_a_time;
} catch (const InputError&) {
  return comm::MpiThreads::one_at_a_time;
}

StagePool dedicated_pool(const std::vector<GivenOption>& given) {
  const auto names = values_of(given, "async_pool");
  const auto dedicated = std::ranges::find_if(names, [](const auto& name) { return name.starts_with("dedicated"); });
  if (dedicated == names.end()) return {};
  if (names.size() > 1)
    throw InputError(
        fmt::format("--async-pool {}: it takes cores from the threads that compute, which all cases share; "
                    "give it alone",
                    *dedicated));
  try {
    return stage_pool_named(*dedicated);
  } catch (const InputError&) {
    return {};
  }
}

CoreShares core_shares(const comm::Communicator& world, const comm::Affinity& affinity,
                       const CaseArguments& arguments) {
  const int share = comm::threads_for_rank(world, affinity);
  return comm::agree(world, [&] {
    CoreShares shares = share_cores(affinity, share, dedicated_pool(arguments.given()));
    if (shares.apart) comm::CoreSet(affinity, shares.compute).bind_thread();
    return shares;
  });
}

std::string why_inline(const std::vector<GivenOption>& given, const std::vector<Case>& cases, const PoolFacts& facts) {
  const auto names = values_of(given, "async_pool");
  const bool left_open = names.empty() || std::ranges::find(names, "auto") != names.end();
  if (!left_open || std::ranges::none_of(cases, [](const Case& config) { return config.async.inlined(); })) return "";
  return fmt::format("--async-pool auto is inline: {}",
                     facts.mpi == comm::MpiThreads::several
                         ? "ranks of one host without a core to spare would hide nothing"
                         : "this MPI gives no MPI_THREAD_MULTIPLE, which threads that prepare batches need");
}

std::vector<Case> with_pools_in_effect(std::vector<Case> cases, const PoolFacts& facts) {
  for (Case& config : cases)
    if (config.async.on()) config.async.pool = pool_in_effect(config.async.pool, facts);
  return without_unused_async(std::move(cases));
}

}  // namespace shardmark::workloads
