// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "comm/communicator.hpp"
#include "comm/exchange/nccl.hpp"
#include "comm/exchange/progress_thread.hpp"
#include "comm/exchange/sent_bytes.hpp"
#include "kernels/route/expand_positions.hpp"
#include "kernels/sort/shard_segments.hpp"
#include "kernels/sort/shard_sort.hpp"
#include "kernels/update/stored_gradients.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/sharded_tables.hpp"

namespace shardmark::workloads {

/// Gathers the distinct rows of all ranks with their summed gradients on every rank, in the order of the ranks
/// (all-gather).
class RowGather {
 public:
  /// Takes `nccl`, which gathers them where they lie; null: MPI does, in memory of the host.
  RowGather(const comm::Communicator& comm, comm::ProgressThread& progress, comm::SentBytes& sent,
            comm::Nccl* nccl = nullptr)
      : comm_(comm), progress_(progress), sent_(sent), nccl_(nccl) {}

  /// Sets the gathered tables. dims, first_keys: those of the tables, in ascending order of keys; then the number of
  /// all keys. Throws InputError when it is 2^31 or more: rows travel as int32.
  void place(std::vector<std::int64_t> dims, const std::vector<std::int64_t>& first_keys);

  bool empty() const { return dims_.empty(); }
  std::size_t tables() const { return dims_.size(); }

  /// Receives from all ranks how many rows each gives. Collective; the following hold until the next call.
  void count(const kernels::UniqueRows<Execution>& unique);

  /// Return the number of the first distinct row of table k, and where the gradients [its distinct rows, dim] lie in
  /// packed().
  std::int64_t first_unique(std::size_t k) const { return begins_[k]; }
  std::int64_t packed_at(std::size_t k) const { return packed_at_[k]; }
  DeviceArray<float> packed() { return packed_.first(empty() ? 0 : elements_[comm_.rank()]); }

  struct Rows {
    DeviceArray<std::int64_t> keys, gradient_offsets;
    DeviceArray<float> gradients;
  };
  /// Returns the rows and the gradients in packed() of all ranks. Collective.
  Rows gather(const kernels::UniqueRows<Execution>& unique);

 private:
  void lay_out();
  template <class T>
  DeviceArray<T> share(const DeviceArray<T>& own, const std::vector<std::int64_t>& by_rank, DeviceScratch<T>& received);

  const comm::Communicator& comm_;
  comm::ProgressThread& progress_;
  comm::SentBytes& sent_;
  comm::Nccl* nccl_;
  std::vector<std::int64_t> dims_;
  std::vector<std::int64_t> first_keys_;
  kernels::ShardSegments<Execution> segments_;

  std::vector<std::int64_t> begins_;  ///< [tables + 1] distinct rows of this rank
  std::vector<std::int64_t> packed_at_;
  std::vector<std::int64_t> counts_;           ///< [ranks x tables] distinct rows
  std::vector<std::int64_t> rows_, elements_;  ///< [ranks]
  HostList<kernels::GradientBlock> blocks_;    ///< [ranks x tables]: the rows of a table that a rank gives
  DeviceScratch<std::int32_t> ids_sent_{"shardmark::row_ids_sent"}, ids_received_{"shardmark::row_ids_received"};
  DeviceScratch<std::int64_t> keys_{"shardmark::gathered_keys"}, offsets_{"shardmark::gathered_offsets"};
  DeviceScratch<std::int64_t> gradient_offsets_{"shardmark::gathered_gradient_offsets"};
  DeviceScratch<float> packed_{"shardmark::row_gradients_sent"}, gradients_{"shardmark::gathered_gradients"};
  std::tuple<HostElements<std::int32_t>, HostElements<float>> sent_elements_, gathered_elements_;
};

/// Updates replicated tables and hot rows: every rank adds up the gradients of all ranks in the same order, so that the
/// copies stay the same. For each table either the gradients of all its replicated rows are reduced (dense), or the
/// rows that any rank's ids name are gathered with their gradients. For a table whose rows are computed from those of
/// several parts, the gradients of all rows of the parts, which are few, are reduced in either case.
class ReplicatedUpdate {
 public:
  /// Takes `gathered`: by table, whether its touched rows are gathered; empty: none is. nccl: sums and gathers
  /// gradients where they lie; null: MPI does, in memory of the host.
  ReplicatedUpdate(const comm::Communicator& comm, comm::ProgressThread& progress, const ShardedTables& tables,
                   const ShardLayout& layout, const std::vector<bool>& gathered, comm::SentBytes& sent,
                   std::unique_ptr<comm::Nccl> nccl);

  bool empty() const { return replicas_.empty(); }

  /// Return the key of row 0 of a replicated shard, and the number of keys: the replicated rows have keys of their own,
  /// table by table.
  std::int64_t first_key(std::int64_t shard) const;
  std::int64_t keys() const { return keys_; }
  /// Returns the bytes of the distinct rows of some keys, each read once.
  std::int64_t row_bytes(const kernels::UniqueRows<Execution>& unique) const { return updates_->row_bytes(unique); }
  /// Adds the numbers that TableUpdates::report adds.
  void report(Storage storage, std::span<std::int64_t> numbers) const { updates_->report(storage, numbers); }

  /// Returns where the sums of a shard's rows begin, if all of them have a place; -1 if they have none.
  std::int64_t sums_begin(std::int64_t shard) const;
  /// Clears these places. Those of shards of few rows may be filled before reduce(), with the help of so many pieces.
  kernels::FewRowSums<Execution> clear_sums(std::int64_t pieces);
  /// Sums the gradients of each row over all ranks: those of this rank, `own`, under the keys of the rows, and what the
  /// places hold already. Collective.
  void reduce(RowGradients own);
  /// Updates the rows by these sums.
  void apply(const kernels::UpdateStep& now);

  /// Returns the replicated shards under their keys.
  const std::vector<KeyedShard>& replicas() const { return replicas_; }
  /// Returns the sums of this step, reduced and gathered, of rows and of rows of parts.
  std::vector<RowGradients> sums() const;
  /// Returns the rows that this step updates, under their keys; for tables that are made of parts, the rows that this
  /// rank named.
  std::vector<RowGradients> updated_rows() const;

 private:
  /// Sums the gradients of rows all of which have a place, with a count of the ranks that touched each.
  struct DenseSums {
    std::vector<kernels::DenseShard> shards = {};
    std::int64_t keys = 0, elements = 0;
    std::int64_t begin = 0;  ///< of the elements in dense_; the counts follow them
    kernels::ShardList<Execution, kernels::DenseShard> list = {};
    kernels::UniqueRowsWorkspace<Execution> workspace = {};
    std::optional<RowGradients> reduced = {};  ///< of the current step

    std::int64_t end() const { return begin + elements + keys; }
  };
  /// Sums the gradients of the parts that tables of one store are made of.
  struct PartSums : DenseSums {
    Store::Updates* updates = nullptr;
  };

  enum class Path { dense, gathered, by_parts };
  Path path(std::int64_t shard, std::int64_t table, const std::vector<bool>& gathered) const;
  void add_replicas(const ShardLayout& layout, Path path, const std::vector<bool>& gathered);
  void add_parts();
  void place_packed();
  void reduce_dense();
  void add_up_dense();
  void find_touched(DenseSums& sums);

  const comm::Communicator& comm_;
  comm::ProgressThread& progress_;
  const ShardedTables& tables_;
  comm::SentBytes& sent_;
  std::vector<KeyedShard> replicas_;        ///< in the order of Way
  std::int64_t keys_ = 0, ring_bytes_ = 0;  ///< of the dense sums of all tables and parts
  std::optional<TableUpdates> updates_;
  DenseSums rows_;  ///< and where the gathered sums go, shards from first_gathered_ on
  std::vector<PartSums> parts_;
  std::size_t first_gathered_ = 0;
  DeviceScratch<kernels::DenseShard> device_shards_{"shardmark::gradient_sums"};
  DeviceArray<float> dense_;  ///< rows_, then parts_
  HostElements<float> dense_elements_;
  std::unique_ptr<comm::Nccl> nccl_;
  RowGather gather_;
  DeviceScratch<float> pieces_{"shardmark::few_row_pieces"};
  kernels::UniqueRowsWorkspace<Execution> gathered_workspace_;
  kernels::RowGradientsWorkspace<Execution> gradients_workspace_;

  // Of the current step.
  std::optional<RowGradients> own_, gathered_;
};

}  // namespace shardmark::workloads
