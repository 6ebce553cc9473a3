// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "comm/collectives.hpp"
#include "comm/placement/traffic/skew.hpp"
#include "workloads/command/doctor/facts.hpp"
#include "workloads/measure/case_predictions.hpp"
#include "workloads/measure/machine_rates.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/sweep/exchange_sweep.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::int64_t largest_message = std::int64_t{1} << 20;
constexpr double sweep_seconds = 0.5;

/// Small, so that they take a few seconds, and smaller where memory is short.
RateSizes sizes_of(const comm::Communicator& world) {
  const std::int64_t room = memory_of_rank(world) / 4;
  const std::int64_t table =
      comm::all_reduce(world, std::clamp<std::int64_t>(room, 1 << 20, 512 << 20), comm::Reduce::min);
  return {.array_bytes = static_cast<std::uint64_t>(table / 8),
          .table_bytes = static_cast<std::uint64_t>(table),
          .rows = 1 << 17,
          .rounds = 4};
}

std::optional<CeilingFacts::Link> link_of(const MessageTimes& times) {
  if (!times.known()) return {};
  return CeilingFacts::Link{times.seconds(64), static_cast<double>(largest_message) / times.seconds(largest_message)};
}

}  // namespace

CeilingFacts ceiling_facts(const comm::Communicator& world) {
  const RateSizes sizes = sizes_of(world);
  const MachineRates rates = machine_rates(world, sizes);
  const auto slowest = [&](std::string_view name, std::int64_t dim) {
    const auto rate = std::ranges::find_if(rates.rates, [&](const Rate& r) { return r.name == name && r.dim == dim; });
    return comm::all_reduce(world, rate->bytes_per_second, comm::Reduce::min);
  };
  CeilingFacts facts{.table_bytes = static_cast<std::int64_t>(sizes.table_bytes),
                     .triad = slowest("triad", 0),
                     .gather = slowest("gather", 64),
                     .huge_page_share = comm::all_reduce(world, rates.huge_page_share, comm::Reduce::min)};
  if (world.size() == 1) return facts;
  const std::vector<comm::NamedExchange> exchanges{comm::exchange_named(placement::library_exchange)};
  ExchangeSweep sweep(world, exchanges, largest_message, 1, Fault::none);
  facts.inside = link_of(sweep.links().inside);
  facts.between = link_of(sweep.links().between);
  facts.all_to_all_bytes = largest_message;
  const TrafficCase traffic{"uniform", largest_message, placement::uniform_traffic(world.size(), largest_message, 1)};
  facts.all_to_all = sweep.run(traffic, sweep_seconds).front().seconds.median;
  return facts;
}

}  // namespace shardmark::workloads
