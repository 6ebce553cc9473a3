// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/unique_rows.hpp"

namespace shardmark::kernels {

/// Sets begins[s] to the number of distinct rows whose keys are below first_keys[s]. first_keys: ascending; begins: as
/// many.
template <class Exec>
void find_shards(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, std::int64_t> first_keys,
                 Array<Exec, std::int64_t> begins);

/// Sets ids[i] to distinct row first_row + i, as the number key - first_keys[s] within its shard s. first_keys:
/// [shards], ascending; an end behind them does no harm. ids: int32 or int64.
template <class Exec, class Ids>
void list_row_ids(const Exec& exec, const UniqueRows<Exec>& unique, std::int64_t first_row,
                  ConstArray<Exec, std::int64_t> first_keys, const Ids& ids);

/// Finds where the distinct rows of each shard begin among those of a rank, and copies these positions to the host.
template <class Exec>
class ShardSegments {
 public:
  ShardSegments() = default;
  /// Takes first_keys: the key of row 0 of each shard, ascending, and behind the last the number of keys.
  explicit ShardSegments(const std::vector<std::int64_t>& first_keys)
      : first_keys_(array_of(Exec(), first_keys, "shardmark::first_keys")),
        begins_("shardmark::shard_segments", first_keys.size()),
        host_(first_keys.size()) {}

  /// Returns for each shard, [shards + 1], the number of its first distinct row; valid until the next call. Waits for
  /// the device.
  const std::vector<std::int64_t>& operator()(const UniqueRows<Exec>& unique) {
    const Exec exec;
    find_shards(exec, unique, first_keys_, begins_);
    copy_array(exec, host_array(host_), begins_);
    exec.fence("shardmark: the host reads how many distinct rows each shard has");
    return host_;
  }

  /// Writes to `ids` the distinct rows from number first_row on, as numbers within their shards.
  template <class Ids>
  void list_ids(const UniqueRows<Exec>& unique, std::int64_t first_row, const Ids& ids) const {
    list_row_ids(Exec(), unique, first_row, first_keys_, ids);
  }

  const ConstArray<Exec, std::int64_t>& first_keys() const { return first_keys_; }

 private:
  ConstArray<Exec, std::int64_t> first_keys_;
  Array<Exec, std::int64_t> begins_;
  std::vector<std::int64_t> host_;
};

}  // namespace shardmark::kernels
