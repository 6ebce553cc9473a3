// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/asked_bags.hpp"

#include <algorithm>

#include "kernels/bag_lengths.hpp"

namespace shardmark::workloads {

AskedBags::AskedBags(const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes,
                     std::int64_t features) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(features));
  for (std::size_t s = 0; s < modes.size(); ++s)
    if (modes[s] == placement::RowTransfer::unique_rows) first[layout.strips[s].feature] = layout.strips[s].hot_rows;
  if (std::ranges::all_of(first, [](std::int64_t row) { return row == 0; })) return;
  first_row_ = kernels::array_of(Execution(), first, "shardmark::first_asked_row");
  first_id_ = decltype(first_id_)("shardmark::first_asked_id", first.size() + 1);
}

void AskedBags::set(const StepInput& input) {
  bags_ = input.bags;
  ids_ = input.ids;
  if (first_row_.extent(0) == 0) return;
  const Execution exec;
  bags_ = kernels::later_rows<Execution>(exec, first_row_, input.bags, workspace_);
  const auto taken = Kokkos::create_mirror_view(Execution::memory_space{}, first_id_);
  kernels::take<Execution>(exec, bags_.offsets, bags_.first_bag, taken);
  Kokkos::deep_copy(exec, first_id_, taken);
  exec.fence("shardmark: the host reads how many rows are asked for");
  for (std::size_t f = 0; f < ids_.size(); ++f) ids_[f] = first_id_(f + 1) - first_id_(f);
}

}  // namespace shardmark::workloads
