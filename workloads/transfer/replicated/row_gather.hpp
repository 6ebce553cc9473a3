// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "comm/exchange/lane.hpp"
#include "comm/exchange/sent_bytes.hpp"
#include "kernels/expand_positions.hpp"
#include "kernels/shard_segments.hpp"
#include "workloads/batches/listed.hpp"

namespace shardmark::workloads {

/// The distinct rows of all ranks with their summed gradients, on every rank, in the order of the ranks (all-gather).
class RowGather {
 public:
  RowGather(const comm::Communicator& comm, comm::Lane& lane, comm::SentBytes& sent)
      : comm_(comm), lane_(lane), sent_(sent) {}

  /// dims, first_keys: of the gathered tables, in ascending order of keys; then the number of all keys. Throws
  /// InputError when it is 2^31 or more: rows travel as int32.
  void place(std::vector<std::int64_t> dims, const std::vector<std::int64_t>& first_keys);

  bool empty() const { return dims_.empty(); }
  std::size_t tables() const { return dims_.size(); }

  /// Learns from all ranks how many rows each gives. Collective; the following hold until the next call.
  void count(const kernels::UniqueRows<Execution>& unique);

  /// Number of the first distinct row of table k, and where the gradients [its distinct rows, dim] lie in packed().
  std::int64_t first_unique(std::size_t k) const { return begins_[k]; }
  std::int64_t packed_at(std::size_t k) const { return packed_at_[k]; }
  DeviceArray<float> packed() { return packed_.first(empty() ? 0 : elements_[comm_.rank()]); }

  struct Rows {
    DeviceArray<std::int64_t> keys, gradient_offsets;
    DeviceArray<float> gradients;
  };
  /// The rows and the gradients in packed() of all ranks. Collective.
  Rows gather(const kernels::UniqueRows<Execution>& unique);

 private:
  void lay_out();
  template <class T>
  DeviceArray<T> share(const DeviceArray<T>& own, const std::vector<std::int64_t>& by_rank, DeviceScratch<T>& received);

  const comm::Communicator& comm_;
  comm::Lane& lane_;
  comm::SentBytes& sent_;
  std::vector<std::int64_t> dims_;
  std::vector<std::int64_t> first_keys_;
  kernels::ShardSegments<Execution> segments_;

  std::vector<std::int64_t> begins_;  ///< [tables + 1] distinct rows of this rank
  std::vector<std::int64_t> packed_at_;
  std::vector<std::int64_t> counts_;           ///< [ranks x tables] distinct rows
  std::vector<std::int64_t> rows_, elements_;  ///< [ranks]
  Listed<kernels::GradientBlock> blocks_;      ///< [ranks x tables]: the rows of a table that a rank gives
  DeviceScratch<std::int32_t> ids_sent_{"shardmark::row_ids_sent"}, ids_received_{"shardmark::row_ids_received"};
  DeviceScratch<std::int64_t> keys_{"shardmark::gathered_keys"}, offsets_{"shardmark::gathered_offsets"};
  DeviceScratch<std::int64_t> gradient_offsets_{"shardmark::gathered_gradient_offsets"};
  DeviceScratch<float> packed_{"shardmark::row_gradients_sent"}, gradients_{"shardmark::gathered_gradients"};
};

}  // namespace shardmark::workloads
