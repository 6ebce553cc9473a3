// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/tables/row_store.hpp"

namespace shardmark::workloads {

/// Keeps rows of Storage::dense: every row lies in memory, one behind the other, in huge pages where the system has
/// them.
class DenseStore : public RowStore {
 public:
  /// shards: numbers in the layout; layout and tables outlive the store.
  DenseStore(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards)
      : RowStore(layout, tables, shards, counts_of_rows(layout, shards)) {}

  void fill(const RowValues& initial) override {
    const Execution exec;
    for (const std::int64_t s : shards()) {
      kernels::fill_rows(exec, initial, shard_rows(s), rows(s));
      kernels::fill_state(exec, table_of(s).optimizer, places(s), local(s).dim(), state(s));
    }
    exec.fence("shardmark: tables are filled");
  }

  ChosenRows read_rows(std::int64_t s, std::int64_t /*part*/,
                       const std::vector<std::int64_t>& local_rows) const override {
    return arrays(s).read_rows(local_rows);
  }
  std::int64_t changed_rows(std::int64_t s, std::int64_t /*part*/, const RowValues& initial) const override {
    return kernels::count_changed_rows(Execution(), initial, shard_rows(s), rows(s));
  }

 private:
  static std::vector<std::int64_t> counts_of_rows(const ShardLayout& layout, const std::vector<std::int64_t>& shards) {
    std::vector<std::int64_t> counts;
    for (const std::int64_t s : shards) counts.push_back(layout.shards[s].rows.count());
    return counts;
  }
};

inline std::unique_ptr<Store> make_dense_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                               const std::vector<std::int64_t>& shards) {
  return std::make_unique<DenseStore>(layout, tables, shards);
}

}  // namespace shardmark::workloads
