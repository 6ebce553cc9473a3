// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/faults.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

namespace shardmark {
namespace {

/// array[at] = factor array[at] + addend.
void change_one(const DeviceArray<float>& array, std::int64_t at, float factor, float addend) {
  Kokkos::parallel_for(
      "shardmark::fault", kernels::static_range(Execution(), 1),
      KOKKOS_LAMBDA(const std::int64_t) { array(at) = array(at) * factor + addend; });
}

/// The last id of the first of the bags [begin, end) that has one moves into the bag after it.
void move_one_id(const DeviceArray<std::int64_t>& offsets, std::int64_t begin, std::int64_t end) {
  Kokkos::parallel_for(
      "shardmark::fault_route", kernels::static_range(Execution(), 1), KOKKOS_LAMBDA(const std::int64_t) {
        for (std::int64_t b = begin; b + 1 < end; ++b) {
          if (offsets(b + 1) == offsets(b)) continue;
          --offsets(b + 1);
          return;
        }
      });
}

/// In the first block of bags that can show it.
void spoil_route(GroupFlight& flight) {
  std::int64_t begin = 0;
  for (const std::int64_t bags : flight.ids.owned_blocks()) {
    if (bags > 1) return move_one_id(flight.owned.offsets, begin, begin + bags);
    begin += bags;
  }
}

/// Of what the lookup wrote: a vector that travels, a row that travels alone, or an output of a replicated table.
void spoil_lookup(GroupFlight& flight) {
  const StepLayout& layout = flight.layout;
  if (flight.vectors.extent(0) == 0) return;
  const std::int64_t at = layout.packed_begin() > 0 ? 0 : std::ranges::max(layout.output_begin());
  change_one(flight.vectors, at, 1.0F, 1.0F);
}

/// Of what came from other ranks: an output, or where no vectors travel a gradient of a replicated table.
void spoil_exchange(Phase ended, GroupFlight& flight) {
  const ShardLayout& layout = flight.group.layout;
  if (ended == Phase::output_dist && !layout.strips.empty())
    return change_one(flight.vectors, flight.layout.output_begin()[layout.strips.front().feature], -1.0F, 0x1p-8F);
  if (ended != Phase::grad_dist || !layout.strips.empty() || flight.gradients.extent(0) == 0) return;
  const auto copy = flight.divided_gradients.first(static_cast<std::int64_t>(flight.gradients.extent(0)));
  if (copy.data() != flight.gradients.data()) Kokkos::deep_copy(Execution(), copy, flight.gradients);
  const auto& replicated = layout.replicated_features;
  if (!replicated.empty()) change_one(copy, flight.layout.gradient_begin()[replicated.front()], -1.0F, 1.0F);
  flight.gradients = copy;
}

}  // namespace

void interrupt(const Communicator& comm, Fault fault) {
  if (comm.rank() + 1 < comm.size()) return;
  if (fault == Fault::die) std::raise(SIGKILL);
  while (fault == Fault::stop) std::this_thread::sleep_for(std::chrono::hours(1));
}

void commit_fault(Fault fault, Phase ended, GroupFlight& flight) {
  if (fault == Fault::none) return;
  if (ended == Phase::input_dist && fault == Fault::route) spoil_route(flight);
  if (ended == Phase::input_dist) interrupt(flight.group.comm, fault);
  if (ended == Phase::lookup && fault == Fault::lookup) spoil_lookup(flight);
  if (fault == Fault::exchange) spoil_exchange(ended, flight);
  Execution().fence("shardmark: the fault is committed");
}

void forget_last_row(Fault fault, GroupFlight& flight) {
  if (fault != Fault::update) return;
  auto [reduced, gathered] = flight.replicated.totals();
  for (const auto& total : {flight.row_gradients->unique.total, reduced, gathered})
    Kokkos::parallel_for(
        "shardmark::fault", kernels::static_range(Execution(), static_cast<std::int64_t>(total.extent(0))),
        KOKKOS_LAMBDA(const std::int64_t i) { total(i) = Kokkos::max(total(i) - 1, std::int64_t{0}); });
}

}  // namespace shardmark
