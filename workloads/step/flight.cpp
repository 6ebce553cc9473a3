// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/flight.hpp"

#include "reference/work.hpp"

namespace shardmark::workloads {
namespace {

std::int64_t lookup_bytes_of(GroupFlight& flight) {
  const Execution exec;
  const auto ids = static_cast<std::int64_t>(flight.owned.ids.extent(0));
  const auto keys = flight.keys.first(ids);
  kernels::expand_positions(exec, flight.layout.gradients, ConstDeviceArray<std::int64_t>(flight.owned.offsets),
                            flight.owned.ids, keys, flight.gradient_offsets.first(ids));
  const auto row_bytes = [&](const auto& some, std::int64_t bound, const auto& rows) {
    return rows.row_bytes(kernels::unique_rows<Execution>(exec, some, bound, flight.unique_workspace));
  };
  const std::int64_t exchanged = flight.owned.exchanged_ids;
  const LookupCounts counts{
      .bags = flight.vectors_looked_up(),
      .ids = ids,
      .unique_bytes = row_bytes(part(keys, 0, exchanged), flight.group.exchanged_keys, flight.updates) +
                      row_bytes(part(keys, exchanged, ids), flight.replicated.keys(), flight.replicated),
      .output_elements = flight.layout.looked_up()};
  return pooled_lookup_work(counts, flight.owned.weights.extent(0) > 0, sizeof(std::int64_t)).bytes();
}

}  // namespace

Flight::Flight(Embedding& embedding) : embedding_(embedding) {
  for (std::int64_t g = 0; g < embedding.groups(); ++g)
    groups_.push_back(std::make_unique<GroupFlight>(embedding.group(g)));
}

DeviceArray<float> Flight::output(const StepInput& input, std::int64_t feature) const {
  const std::int64_t table = embedding_.tables().features()[feature].table;
  return groups_[embedding_.group_of_table(table)]->output(input, feature);
}

RowCounts Flight::row_counts() const {
  RowCounts sum;
  for (const auto& group : groups_)
    if (group->rows.any()) sum += group->rows.counts();
  return sum;
}

std::int64_t Flight::lookup_bytes() {
  std::int64_t sum = 0;
  for (const auto& group : groups_) sum += lookup_bytes_of(*group);
  return sum;
}

void Flight::report(Storage storage, std::span<std::int64_t> numbers) const {
  for (const auto& group : groups_) {
    group->layout.exchanged.report(storage, numbers);
    group->layout.replicated.report(storage, numbers);
    group->updates.report(storage, numbers);
    group->replicated.report(storage, numbers);
  }
}

comm::SentBytes Flight::sent() const {
  comm::SentBytes sent(embedding_.comm().rank(), embedding_.comm().size(), results::phase_names.size());
  for (const auto& group : groups_) sent += group->sent;
  return sent;
}

}  // namespace shardmark::workloads
