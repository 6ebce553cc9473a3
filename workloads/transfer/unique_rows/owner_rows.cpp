// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/owner_rows.hpp"

#include "kernels/route/bag_lengths.hpp"

namespace shardmark::workloads {

void OwnerRows::find(const ConstDeviceArray<std::int64_t>& offsets, const ConstDeviceArray<std::int64_t>& ids) {
  asked_.list(offsets, ids);
  distinct_.find({asked_.keys(), {}, {}, {}});
}

void OwnerRows::read(const DeviceArray<float>& held) {
  const auto ids = ids_.first(distinct_.count()), offsets = offsets_.first(distinct_.count() + 1);
  distinct_.list_ids(ids);
  kernels::count_up(Execution(), offsets);
  blocks_.clear();
  for (auto [s, end] = owners_.held(); s < end; ++s)
    blocks_.push_back({.first_bag = distinct_.first_row(s),
                       .bags = distinct_.rows(s),
                       .shard = rows_.shards[s].local_shard,
                       .output = distinct_.packed_begin(s),
                       .stride = rows_.shards[s].dim});
  const auto packed = packed_.first(distinct_.packed_elements());
  lookups_.set(blocks_);
  lookups_.run({offsets, ids, {}}, packed);
  asked_.repeat(distinct_, packed, held);
}

}  // namespace shardmark::workloads
