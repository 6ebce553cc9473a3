// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/fill_rows.hpp"
#include "workloads/tables/kept_rows.hpp"
#include "workloads/tables/row_arrays.hpp"
#include "workloads/tables/shard_layout.hpp"
#include "workloads/tables/store.hpp"

namespace shardmark::workloads {

/// Is a store that keeps rows as their values in one array, in huge pages where the system has them, and their state in
/// another. Local row i of a shard lies at its place i; what is never written takes no memory of a host.
class RowStore : public Store {
 public:
  /// places: by number in `shards`, which are numbers in the layout; layout and tables outlive the store.
  RowStore(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards,
           const std::vector<std::int64_t>& places);

  std::unique_ptr<Lookups> lookups(const std::vector<std::int64_t>& shards) override;
  std::unique_ptr<Updates> updates(const std::vector<KeyedShard>& shards) override;

  std::vector<ShardPart> parts(std::int64_t s) const override {
    return {{local(s).rows, local(s).column_begin, local(s).column_end}};
  }
  StoredRows read_range(std::int64_t s, std::int64_t /*part*/, std::int64_t first, std::int64_t count) const override {
    StoredRows stored = arrays(s).read_range(first, count);
    if (KeptRows* const kept = kept_rows(s))
      kept->put_back(
          count, [=](std::int64_t i) { return first + i; }, stored);
    return stored;
  }
  void write_range(std::int64_t s, std::int64_t /*part*/, std::int64_t first, const StoredRows& stored) override {
    arrays(s).write_range(first, stored);
  }
  StoredRows read_listed(std::int64_t s, std::int64_t part, const std::vector<std::int64_t>& local_rows) const override;
  void write_listed(std::int64_t s, std::int64_t part, const std::vector<std::int64_t>& local_rows,
                    const StoredRows& stored) override;
  void keep_rows() override;
  void let_go() override { kept_.clear(); }

  double huge_page_share() const override { return kernels::huge_page_share(values_); }

 protected:
  const std::vector<std::int64_t>& shards() const { return shards_; }
  const LocalShard& local(std::int64_t s) const { return layout_.shards[s]; }
  const Table& table_of(std::int64_t s) const { return tables_[local(s).table]; }
  std::int64_t state_size(std::int64_t s) const { return state_per_row(table_of(s).optimizer.kind, local(s).dim()); }
  std::byte* rows(std::int64_t s) const { return values_.data() + at_[s].values; }
  float* state(std::int64_t s) const { return state_.data() + at_[s].state; }
  std::int64_t places(std::int64_t s) const { return at_[s].places; }

  RowArrays arrays(std::int64_t s) const;
  kernels::ShardRows shard_rows(std::int64_t s) const;
  /// Returns [places] the numbers of the rows of a shard; null where they lie in their order.
  virtual const std::int64_t* row_numbers(std::int64_t /*shard*/) const { return nullptr; }
  /// Returns how many rows, from the first place on, a save may have that begins now.
  virtual std::int64_t rows_to_keep(std::int64_t s) const { return places(s); }
  /// Returns the rows of a shard that are kept for a save; null where none are.
  KeptRows* kept_rows(std::int64_t s) const {
    return kept_.empty() ? nullptr : kept_[static_cast<std::size_t>(s)].get();
  }

 private:
  class RowLookups;
  class RowUpdates;
  /// Says where the rows and the state of a shard begin, in bytes and floats; values -1: it is not kept here.
  struct Place {
    std::int64_t values = -1, state = -1, places = 0;
  };

  kernels::UpdateShard update_shard(const KeyedShard& keyed) const;
  /// Returns ascending local rows as places. Throws InputError for rows that the shard lacks.
  ConstDeviceArray<std::int64_t> listed_places(std::int64_t s, const std::vector<std::int64_t>& local_rows) const;

  const ShardLayout& layout_;
  const std::vector<Table>& tables_;
  std::vector<std::int64_t> shards_;
  std::vector<Place> at_;                        ///< by shard of the layout
  std::vector<std::unique_ptr<KeptRows>> kept_;  ///< by shard of the layout, where rows are kept for a save
  DeviceArray<std::byte> values_;
  DeviceArray<float> state_;
};

}  // namespace shardmark::workloads
