// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/answered_rows.hpp"

namespace shardmark::workloads {

void AnsweredRows::list(const ConstDeviceArray<std::int64_t>& offsets, const ConstDeviceArray<std::int64_t>& ids) {
  const auto positions = static_cast<std::int64_t>(ids.extent(0));
  offsets_ = offsets;
  keys_ = keys_scratch_.first(positions);
  vector_begin_ = begin_scratch_.first(positions);
  blocks_.host.clear();
  std::int64_t first = 0, element = 0;
  auto shard = stage_.held().first;
  for (const std::int64_t rows : stage_.held_counts()) {
    const RowShard& of = rows_.shards[shard];
    blocks_.host.push_back(
        {.first_bag = first, .bags = rows, .first_key = of.first_key, .gradient = element, .gradient_stride = of.dim});
    first += rows;
    element += rows * of.dim;
    if (++shard == stage_.held().second) shard = stage_.held().first;
  }
  kernels::expand_positions(Execution(), blocks_.array(), offsets_, ids, keys_, vector_begin_);
}

void AnsweredRows::repeat(const DistinctRows& distinct, const DeviceArray<float>& packed,
                          const DeviceArray<float>& vectors) {
  shift_.host.clear();
  for (std::int64_t s = 0; s < std::ssize(rows_.shards); ++s) shift_.host.push_back(-distinct.first_row(s));
  const auto indices = indices_.first(static_cast<std::int64_t>(keys_.extent(0)));
  distinct.number_positions(shift_.array(), indices);
  lookups_.host.clear();
  auto shard = stage_.held().first;
  for (const kernels::GradientBlock& block : blocks_.host) {
    lookups_.host.push_back({.first_bag = block.first_bag,
                             .bags = block.bags,
                             .rows = packed.data() + distinct.packed_begin(shard),
                             .value_type = ValueType::fp32,
                             .dim = block.gradient_stride,
                             .output = block.gradient,
                             .output_stride = block.gradient_stride,
                             .pooling = Pooling::sum});
    if (++shard == stage_.held().second) shard = stage_.held().first;
  }
  kernels::pooled_lookup(Execution(), lookups_.array(), offsets_, indices, ConstDeviceArray<float>(), vectors);
}

}  // namespace shardmark::workloads
