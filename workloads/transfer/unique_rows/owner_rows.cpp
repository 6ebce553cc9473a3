// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/owner_rows.hpp"

namespace shardmark {

void OwnerRows::find(const ConstDeviceArray<std::int64_t>& offsets, const ConstDeviceArray<std::int64_t>& ids) {
  asked_.list(offsets, ids);
  distinct_.find(asked_.keys());
}

void OwnerRows::read(const DeviceArray<float>& held) {
  const auto ids = ids_.first(distinct_.count()), offsets = offsets_.first(distinct_.count() + 1);
  distinct_.list_ids(ids);
  count_up(offsets);
  lookups_.host.clear();
  for (auto [s, end] = owners_.held(); s < end; ++s) {
    const RowShard& shard = rows_.shards[s];
    const LocalShard& local = tables_.layout().shards[shard.local_shard];
    lookups_.host.push_back({.first_bag = distinct_.first_row(s),
                             .bags = distinct_.rows(s),
                             .rows = tables_.rows(shard.local_shard),
                             .value_type = tables_.table_of(local).value_type,
                             .dim = shard.dim,
                             .output = distinct_.packed_begin(s),
                             .output_stride = shard.dim,
                             .pooling = Pooling::sum});
  }
  const auto packed = packed_.first(distinct_.packed_elements());
  kernels::pooled_lookup(Execution(), lookups_.array(), ConstDeviceArray<std::int64_t>(offsets), ids,
                         ConstDeviceArray<float>(), packed);
  asked_.repeat(distinct_, packed, held);
}

}  // namespace shardmark
