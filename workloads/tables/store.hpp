// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"
#include "kernels/update/fused_update.hpp"
#include "reference/dynamic/eviction.hpp"
#include "reference/pooling.hpp"
#include "reference/row_values.hpp"
#include "reference/storage.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/shard_layout.hpp"

namespace shardmark::workloads {

/// Describes consecutive bags that read one shard, and where their vectors lie, `stride` elements from one to the next.
struct BagBlock {
  std::int64_t first_bag = 0, bags = 0;
  std::int64_t shard = 0;   ///< number among the shards of this rank
  std::int64_t output = 0;  ///< element of the first bag's vector
  std::int64_t stride = 0;
  Pooling pooling = Pooling::sum;
  /// These are for Pooling::max: element of the gradient of the first bag's vector, of the gradient vector of position
  /// 0, and the elements from one position's to the next (kernels::PooledGradient).
  std::int64_t gradient = 0, id_gradient = 0, id_gradient_stride = 0;
};

/// Holds the ids of all bags: bag b looks up the local rows ids[offsets[b] .. offsets[b + 1]) of its shard.
struct BagIds {
  DeviceArray<std::int64_t> offsets;  ///< [bags + 1]
  DeviceArray<std::int64_t> ids;
  DeviceArray<float> weights;  ///< as ids, or empty when every weight is 1
};

/// Names the rows and columns that a shard holds of one part of its table (StorageChoice::parts). A table of which
/// shards hold rows and columns is one part, number 0.
struct ShardPart {
  placement::HeldRows rows;
  std::int64_t column_begin = 0, column_end = 0;

  std::int64_t dim() const { return column_end - column_begin; }
};

/// Is a part of a shard whose row i has key first_key + i.
struct KeyedPart {
  std::int64_t shard = 0, part = 0, first_key = 0;
  std::int64_t rows = 0, dim = 0;
};

using RowGradients = kernels::RowGradients<Execution>;

/// Names a number that the stores of a storage report, added up over stores and ranks.
struct ReportedNumber {
  /// Selects the steps that a number is of: the latest step; the steps that are timed, for numbers counted since the
  /// tables were filled; or the end, for numbers as they are then.
  enum class Of { step, timed_steps, end };

  std::string_view name;
  std::string_view unit;
  Of of;
};

/// Holds median times of a case.
struct StepMilliseconds {
  double step = 0.0;
  double lookup_and_update = 0.0;
};

/// Holds chosen rows of a part, to compare them: values [rows, dim] as fp32, and state [rows, state per row].
struct ChosenRows {
  std::vector<float> values, state;
};

/// Holds consecutive rows of a part, bit for bit as they are stored: what a checkpoint of them needs.
struct StoredRows {
  std::vector<std::byte> values;  ///< [rows] of StorageChoice::row_bytes: int8 rows with their scale and offset
  std::vector<float> state;       ///< [rows, state per row]
  std::vector<RowUse> uses = {};  ///< [rows] where rows come and go
};

/// Names what a checkpoint holds of a table whose rows come and go, each by ascending keys: rows with their uses;
/// counts of keys that have no row yet, as uses; lines of the counters that keys of a bucket share, by their numbers
/// (BloomShape::line_number); and of checkpoints of changes the keys that have neither a row nor a count any more.
enum class SavedKeys { rows, counts, counters, evicted };

/// Is a row of a table whose rows come and go.
struct LiveRow {
  std::int64_t key = 0;
  RowUse use;
};

/// Says how an export shows the parts of a table: the name of the group that holds them, by number, beside attributes
/// of the table that say how rows are computed from them.
struct PartsDescription {
  std::string group;
  nlohmann::ordered_json attributes;
};

/// Rounds `size` up to a multiple of `pair`, so that what is kept of a shard begins with the first of a pair of cache
/// lines. size, pair: in the same unit.
constexpr std::int64_t align(std::int64_t size, std::int64_t pair) { return (size + pair - 1) / pair * pair; }

/// Keeps the shards of this rank whose tables have one storage: their rows and optimizer state, and what a step does
/// with them. Shards go by their numbers in ShardLayout. A store decides once per run of rows of a shard, never per
/// row.
class Store {
 public:
  virtual ~Store() = default;

  /// Sets rows and state to their initial values.
  virtual void fill(const RowValues& initial) = 0;

  /// These are of stores whose rows come and go (StorageChoice::comes_and_goes): bring() begins step `step`, from 1, in
  /// a shard, and end() ends it when its rows have been updated. keys: [n], the ids of the step, distinct and
  /// ascending; places: [n], set to the local rows where it reads and updates their rows: every key has one until the
  /// end of the step, also a key that is given no row.
  virtual void bring(std::int64_t /*shard*/, std::int64_t /*step*/, const ConstDeviceArray<std::int64_t>& /*keys*/,
                     const DeviceArray<std::int64_t>& /*places*/) {}
  virtual void end(std::int64_t /*shard*/, std::int64_t /*step*/) {}
  /// Returns the rows of a shard of such a store, by ascending keys.
  virtual std::vector<LiveRow> live_rows(std::int64_t /*shard*/) const { return {}; }

  /// These are what a checkpoint of such a store takes. A save begins with keep_keys(): until let_go() the next three
  /// return what is there then. saved_keys() returns what of a part has changed after step `since`, ascending: all
  /// where it is 0; steps may go on beside it in another thread. saved_count() returns how many those of step 0 are. A
  /// part is read and written by keys that saved_keys() returned, on whichever rank has them now; forget_keys() comes
  /// before the first write. Keys that leave are noted from note_evicted() on, which forgets those before.
  virtual void keep_keys(std::int64_t /*shard*/) {}
  virtual std::vector<std::int64_t> saved_keys(std::int64_t /*shard*/, SavedKeys, std::int64_t /*since*/) { return {}; }
  virtual std::int64_t saved_count(std::int64_t /*shard*/, SavedKeys) const { return 0; }
  virtual StoredRows read_keys(std::int64_t /*shard*/, SavedKeys, const std::vector<std::int64_t>& /*keys*/) const {
    return {};
  }
  virtual void write_keys(std::int64_t /*shard*/, SavedKeys, const std::vector<std::int64_t>& /*keys*/,
                          const StoredRows& /*rows*/) {}
  virtual void forget_keys(std::int64_t /*shard*/) {}
  virtual void note_evicted(std::int64_t /*shard*/) {}

  /// Looks up the bags that a step in flight reads here. set() is called when they change in number; it allocates
  /// nothing for numbers that have been seen before.
  class Lookups {
   public:
    virtual ~Lookups() = default;
    /// Takes the blocks of shards of this store, ascending by first_bag.
    virtual void set(const std::vector<BagBlock>& blocks) = 0;
    /// Writes the pooled embedding of every bag of the blocks into `output`.
    virtual void run(const BagIds& bags, const DeviceArray<float>& output) = 0;
    /// Computes kernels::max_gradients of the blocks that pool by max. pooled: what run() wrote.
    virtual void max_gradients(const BagIds& bags, const ConstDeviceArray<float>& pooled,
                               const ConstDeviceArray<float>& gradients, const DeviceArray<float>& id_gradients) = 0;
    /// Adds to the numbers of the storage (StorageMaker::numbers) those of the latest run(). Waits for the device.
    virtual void report(std::span<std::int64_t> /*numbers*/) const {}
  };
  /// Makes the lookups of blocks of some shards, those of other stores among them.
  virtual std::unique_ptr<Lookups> lookups(const std::vector<std::int64_t>& shards) = 0;

  /// Updates the rows of some shards, which it knows by their keys. Keys of shards of other stores are left alone.
  class Updates {
   public:
    virtual ~Updates() = default;
    /// Computes kernels::row_sums: sums over the columns held here, [distinct rows, width].
    virtual void row_sums(const RowGradients& gradients, const kernels::UpdateStep& now,
                          const DeviceArray<double>& sums, std::int64_t width) = 0;
    /// Applies the optimizer of every distinct row's table. whole_rows: the completed sums, where row_sums() was
    /// called.
    virtual void run(const RowGradients& gradients, const kernels::UpdateStep& now,
                     const kernels::RowSums<Execution>& whole_rows) = 0;
    /// Counts the distinct rows of this store, and the values, bytes and state of what they are made of: for the work
    /// of a step.
    virtual kernels::RowElements count(const kernels::UniqueRows<Execution>& unique) = 0;

    /// Returns the parts where rows are computed from those of several: these under keys of their own, from 0 and
    /// ascending, so that their gradients can be summed over ranks before they are updated. Elsewhere it returns none:
    /// the rows are what is updated.
    virtual std::vector<KeyedPart> parts() const { return {}; }
    /// Returns the gradients of the rows of the parts from those of rows.
    virtual RowGradients part_gradients(const RowGradients& rows) { return rows; }
    /// Does what run() does, given the gradients of the rows of the parts.
    virtual void update_parts(const RowGradients& gradients, const kernels::UpdateStep& now) {
      run(gradients, now, {});
    }
    /// Adds to the numbers of the storage those of the latest update. Waits for the device.
    virtual void report(std::span<std::int64_t> /*numbers*/) const {}
  };
  /// Makes the updates of these shards: ascending by first_key.
  virtual std::unique_ptr<Updates> updates(const std::vector<KeyedShard>& shards) = 0;

  /// Returns the parts of a shard, by number.
  virtual std::vector<ShardPart> parts(std::int64_t shard) const = 0;
  /// Returns whether rows are computed from those of several parts, so that Updates::parts() are what is updated.
  virtual bool has_parts() const { return false; }

  /// Returns some local rows of a part, in any order; where rows come and go, by their keys, and for a key that has no
  /// row the one that it would be given.
  virtual ChosenRows read_rows(std::int64_t shard, std::int64_t part,
                               const std::vector<std::int64_t>& local_rows) const = 0;
  /// Return and set the local rows [first, first + count) of a part, by their places: steps that follow a write are,
  /// bit for bit, those that would have followed the read (ShardedTables::resume). Rows that lie beside the parts and
  /// are trained (StorageChoice::cached_rows) are left out. Throw InputError for rows that the part lacks, and for
  /// values and state of different numbers of rows.
  virtual StoredRows read_range(std::int64_t shard, std::int64_t part, std::int64_t first,
                                std::int64_t count) const = 0;
  virtual void write_range(std::int64_t shard, std::int64_t part, std::int64_t first, const StoredRows& rows) = 0;
  /// Do the same for some local rows of a part, distinct and ascending; by ranges where a store knows nothing faster.
  virtual StoredRows read_listed(std::int64_t shard, std::int64_t part,
                                 const std::vector<std::int64_t>& local_rows) const;
  virtual void write_listed(std::int64_t shard, std::int64_t part, const std::vector<std::int64_t>& local_rows,
                            const StoredRows& rows);
  /// Where a storage keeps rows for a save (StorageChoice::keeps_rows): from keep_rows() until let_go(), read_range(),
  /// read_listed() and read_keys() return rows as they were at keep_rows(), each once, whatever writes them meanwhile.
  /// On hosts.
  virtual void keep_rows() {}
  virtual void let_go() {}

  /// Counts the local rows of a part whose values are no longer, bit for bit, the initial ones.
  virtual std::int64_t changed_rows(std::int64_t shard, std::int64_t part, const RowValues& initial) const = 0;

  /// Adds to the numbers of the storage those that have been counted since the tables were filled, and those that hold
  /// at present. Waits for the device.
  virtual void report(std::span<std::int64_t> /*numbers*/) const {}

  /// Returns the share of the bytes of the rows that lie in huge pages, 0 to 1.
  virtual double huge_page_share() const = 0;
};

}  // namespace shardmark::workloads
