// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/pipeline/row_versions.hpp"

namespace shardmark::workloads {
namespace {

/// updated[first_key + key] = version of every row that has a gradient.
void mark_rows(const RowGradients& rows, std::int64_t first_key, std::int32_t version,
               const DeviceArray<std::int32_t>& updated) {
  const Execution exec;
  const auto unique = rows.unique;
  Kokkos::parallel_for(
      "shardmark::mark_updated", kernels::static_range(exec, host_count(exec, unique)),
      KOKKOS_LAMBDA(const std::int64_t u) { updated(first_key + unique.key(u)) = version; });
}

}  // namespace

RowVersions::RowVersions(const GroupFlight& flight)
    : exchanged_keys_(flight.group.exchanged_keys),
      updated_("shardmark::row_versions", static_cast<std::size_t>(exchanged_keys_ + flight.replicated.keys())) {}

void RowVersions::clear() { Kokkos::deep_copy(Execution(), updated_, 0); }

void RowVersions::mark(const GroupFlight& flight, std::int64_t version) {
  const auto number = static_cast<std::int32_t>(version);
  if (exchanged_keys_ > 0) mark_rows(*flight.row_gradients, 0, number, updated_);
  for (const RowGradients& rows : flight.replicated.updated_rows()) mark_rows(rows, exchanged_keys_, number, updated_);
  Execution().fence("shardmark: updated rows are marked");
}

void RowVersions::find_stale(GroupFlight& flight, std::int64_t seen, const DeviceArray<std::uint8_t>& stale) const {
  const OwnedIds& owned = flight.owned;
  const auto ids = static_cast<std::int64_t>(owned.ids.extent(0));
  const auto keys = flight.keys.first(ids), gradient_offsets = flight.gradient_offsets.first(ids);
  kernels::expand_positions(Execution(), flight.layout.gradients, ConstDeviceArray<std::int64_t>(owned.offsets),
                            owned.ids, keys, gradient_offsets);
  const auto offsets = owned.offsets;
  const auto updated = updated_;
  const std::int64_t exchanged_ids = owned.exchanged_ids, exchanged_keys = exchanged_keys_;
  Kokkos::parallel_for(
      "shardmark::find_stale", kernels::static_range(Execution(), static_cast<std::int64_t>(stale.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t bag) {
        bool any = false;
        for (std::int64_t p = offsets(bag); p < offsets(bag + 1); ++p)
          any |= updated(keys(p) + (p < exchanged_ids ? 0 : exchanged_keys)) > seen;
        stale(bag) = any ? 1 : 0;
      });
  Execution().fence("shardmark: the host reads which bags are stale");
}

}  // namespace shardmark::workloads
