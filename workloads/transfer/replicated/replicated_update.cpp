// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/replicated/replicated_update.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "comm/collectives.hpp"
#include "comm/placement/traffic/replicated_gradients.hpp"
#include "kernels/route/bag_lengths.hpp"
#include "reference/error.hpp"
#include "workloads/transfer/transfer.hpp"

namespace shardmark::workloads {

void RowGather::place(std::vector<std::int64_t> dims, const std::vector<std::int64_t>& first_keys) {
  if (!dims.empty() && first_keys.back() > std::numeric_limits<std::int32_t>::max())
    throw InputError("replicated gradients by rows: " + std::to_string(first_keys.back()) +
                     " rows of replicated tables need more than 31 bits; use dense, or split the largest tables");
  dims_ = std::move(dims);
  first_keys_ = first_keys;
  segments_ = kernels::ShardSegments<Execution>(first_keys);
  const auto ranks = static_cast<std::size_t>(comm_.size());
  packed_at_.resize(dims_.size());
  counts_.resize(ranks * dims_.size());
  rows_.resize(ranks);
  elements_.resize(ranks);
}

void RowGather::count(const kernels::UniqueRows<Execution>& unique) {
  begins_ = segments_(unique);
  const auto tables = static_cast<std::int64_t>(dims_.size());
  std::vector<std::int64_t> own;
  for (std::size_t k = 0; k < dims_.size(); ++k) own.push_back(begins_[k + 1] - begins_[k]);
  const std::vector<std::int64_t> as_many(static_cast<std::size_t>(comm_.size()), tables);
  for (std::size_t peer = 0; peer < as_many.size(); ++peer)
    sent_.add(peer, tables * std::int64_t{sizeof(std::int64_t)});
  progress_.run([&] { comm::all_gather_v(comm_, std::span<const std::int64_t>(own), as_many, std::span(counts_)); });
  lay_out();
}

void RowGather::lay_out() {
  std::int64_t row = 0, element = 0;
  blocks_.host.clear();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::int64_t first_row = row, first_element = element;
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      if (r == static_cast<std::size_t>(comm_.rank())) packed_at_[k] = element - first_element;
      const std::int64_t rows = counts_[r * dims_.size() + k];
      blocks_.host.push_back({.first_bag = row,
                              .bags = rows,
                              .first_key = first_keys_[k],
                              .gradient = element,
                              .gradient_stride = dims_[k]});
      row += rows;
      element += rows * dims_[k];
    }
    rows_[r] = row - first_row;
    elements_[r] = element - first_element;
  }
}

/// Everybody's values, by_rank[r] of rank r.
template <class T>
DeviceArray<T> RowGather::share(const DeviceArray<T>& own, const std::vector<std::int64_t>& by_rank,
                                DeviceScratch<T>& received) {
  const auto all = received.first(std::accumulate(by_rank.begin(), by_rank.end(), std::int64_t{0}));
  for (std::size_t peer = 0; peer < by_rank.size(); ++peer)
    sent_.add(peer, static_cast<std::int64_t>(own.extent(0) * sizeof(T)));
  if (nccl_ != nullptr) {
    const auto bytes_of = [](const DeviceArray<T>& array) { return reinterpret_cast<std::byte*>(array.data()); };
    run_reduction(*nccl_, progress_, [&] { nccl_->all_gather_v(bytes_of(own), by_rank, bytes_of(all), sizeof(T)); });
    return all;
  }
  HostElements<T>& sent = std::get<HostElements<T>>(sent_elements_);
  HostElements<T>& gathered = std::get<HostElements<T>>(gathered_elements_);
  const std::span<T> from = sent.read(own), to = gathered.room_for(all);
  progress_.run([&] { comm::all_gather_v(comm_, std::span<const T>(from), by_rank, to); });
  gathered.write(to, all);
  return all;
}

RowGather::Rows RowGather::gather(const kernels::UniqueRows<Execution>& unique) {
  const Execution exec;
  const auto ids = ids_sent_.first(begins_.back() - begins_.front());
  segments_.list_ids(unique, begins_.front(), ids);
  const auto received = share(ids, rows_, ids_received_);
  const auto gradients = share(packed(), elements_, gradients_);
  const auto rows = static_cast<std::int64_t>(received.extent(0));
  const Rows all{keys_.first(rows), gradient_offsets_.first(rows), gradients};
  const auto offsets = offsets_.first(rows + 1);
  kernels::count_up(exec, offsets);
  kernels::expand_positions(exec, blocks_.array(), ConstDeviceArray<std::int64_t>(offsets), received, all.keys,
                            all.gradient_offsets);
  return all;
}

ReplicatedUpdate::ReplicatedUpdate(const comm::Communicator& comm, comm::ProgressThread& progress,
                                   const ShardedTables& tables, const ShardLayout& layout,
                                   const std::vector<bool>& gathered, comm::SentBytes& sent,
                                   std::unique_ptr<comm::Nccl> nccl)
    : comm_(comm),
      progress_(progress),
      tables_(tables),
      sent_(sent),
      nccl_(std::move(nccl)),
      gather_(comm, progress, sent, nccl_.get()) {
  add_replicas(layout, Path::dense, gathered);
  first_gathered_ = rows_.shards.size();
  add_replicas(layout, Path::gathered, gathered);
  std::vector<std::int64_t> gathered_dims, gathered_keys;
  for (std::size_t k = first_gathered_; k < rows_.shards.size(); ++k) {
    gathered_dims.push_back(rows_.shards[k].dim);
    gathered_keys.push_back(rows_.shards[k].first_key);
  }
  gathered_keys.push_back(keys_);
  gather_.place(gathered_dims, gathered_keys);
  add_replicas(layout, Path::by_parts, gathered);
  rows_.list = kernels::shard_list(Execution(), rows_.shards);
  updates_.emplace(tables, replicas_);
  add_parts();
  dense_ = kernels::allocate<Execution, float>("shardmark::dense_gradients",
                                               parts_.empty() ? rows_.end() : parts_.back().end());
}

ReplicatedUpdate::Path ReplicatedUpdate::path(std::int64_t shard, std::int64_t table,
                                              const std::vector<bool>& gathered) const {
  if (tables_.store_of(shard).has_parts()) return Path::by_parts;
  return !gathered.empty() && gathered[table] ? Path::gathered : Path::dense;
}

/// Only the dense ones take part of the dense sums; the others' places are not in memory, or found in every step.
void ReplicatedUpdate::add_replicas(const ShardLayout& layout, Path wanted, const std::vector<bool>& gathered) {
  for (const std::int64_t s : layout.replicas) {
    const LocalShard& shard = layout.shards[s];
    if (path(s, shard.table, gathered) != wanted) continue;
    replicas_.push_back({s, keys_});
    rows_.shards.push_back({.first_key = keys_,
                            .dim = wanted == Path::by_parts ? 0 : shard.dim(),
                            .output = wanted == Path::dense ? rows_.elements : 0,
                            .first_unique = wanted == Path::dense ? -1 : 0});
    keys_ += shard.rows.count();
    if (wanted != Path::dense) continue;
    rows_.elements += shard.rows.count() * shard.dim();
    ring_bytes_ += placement::ring_bytes(shard.rows.count() * (shard.dim() + 1), comm_.size());
    rows_.keys = keys_;
  }
}

void ReplicatedUpdate::add_parts() {
  std::int64_t begin = rows_.end();
  for (const auto& updates : updates_->by_store()) {
    PartSums sums;
    sums.begin = begin;
    sums.updates = updates.get();
    for (const KeyedPart& part : updates->parts()) {
      sums.shards.push_back({.first_key = part.first_key, .dim = part.dim, .output = sums.elements});
      sums.elements += part.rows * part.dim;
      ring_bytes_ += placement::ring_bytes(part.rows * (part.dim + 1), comm_.size());
      sums.keys += part.rows;
    }
    if (sums.keys == 0) continue;
    begin = sums.end();
    sums.list = kernels::shard_list(Execution(), sums.shards);
    parts_.push_back(std::move(sums));
  }
}

std::int64_t ReplicatedUpdate::first_key(std::int64_t shard) const {
  return std::ranges::find(replicas_, shard, &KeyedShard::shard)->first_key;
}

std::int64_t ReplicatedUpdate::sums_begin(std::int64_t shard) const {
  const auto k = static_cast<std::size_t>(std::ranges::find(replicas_, shard, &KeyedShard::shard) - replicas_.begin());
  return k < first_gathered_ ? rows_.shards[k].output : -1;
}

kernels::FewRowSums<Execution> ReplicatedUpdate::clear_sums(std::int64_t pieces) {
  Kokkos::deep_copy(Execution(), dense_, 0.0F);
  return {part(dense_, 0, rows_.elements), pieces_.first(pieces), part(dense_, rows_.elements, rows_.end())};
}

void ReplicatedUpdate::reduce(RowGradients own) {
  const Execution exec;
  own_ = std::move(own);
  if (!gather_.empty()) {
    gather_.count(own_->unique);
    place_packed();
  }
  const auto reduce = [&](const RowGradients& gradients, const DenseSums& sums, const DeviceArray<float>& packed) {
    const std::int64_t counts = sums.begin + sums.elements;
    kernels::reduce_to_dense(exec, gradients, sums.list, gradients_workspace_, part(dense_, sums.begin, counts),
                             part(dense_, counts, sums.end()), packed);
  };
  if (rows_.keys > 0 || !gather_.empty()) reduce(*own_, rows_, gather_.packed());
  for (const PartSums& sums : parts_) reduce(sums.updates->part_gradients(*own_), sums, {});
  if (dense_.extent(0) > 0) reduce_dense();
  if (gather_.empty()) return;
  const auto all = gather_.gather(own_->unique);
  gathered_ = kernels::sorted_row_gradients<Execution>(exec, all.keys, keys_, all.gradient_offsets,
                                                       DeviceArray<float>(), all.gradients, gathered_workspace_);
}

/// The gathered tables' gradients of this step are packed, one behind the other.
void ReplicatedUpdate::place_packed() {
  for (std::size_t k = 0; k < gather_.tables(); ++k) {
    rows_.shards[first_gathered_ + k].output = gather_.packed_at(k);
    rows_.shards[first_gathered_ + k].first_unique = gather_.first_unique(k);
  }
  rows_.list.shards = device_shards_.holding(Execution(), rows_.shards);
}

void ReplicatedUpdate::add_up_dense() {
  if (nccl_) return run_reduction(*nccl_, progress_, [&] { nccl_->all_reduce({dense_.data(), dense_.extent(0)}); });
  const std::span<float> elements = dense_elements_.read(dense_);
  progress_.run([&] { comm::all_reduce(comm_, elements, comm::Reduce::sum); });
  dense_elements_.write(elements, dense_);
}

void ReplicatedUpdate::reduce_dense() {
  if (comm_.size() > 1) add_up_dense();
  sent_.add((comm_.rank() + 1) % comm_.size(), ring_bytes_);
  if (rows_.keys > 0) find_touched(rows_);
  for (PartSums& sums : parts_) find_touched(sums);
}

void ReplicatedUpdate::find_touched(DenseSums& sums) {
  const std::int64_t counts = sums.begin + sums.elements;
  const auto rows = kernels::touched_rows<Execution>(Execution(), part(dense_, counts, sums.end()), sums.list,
                                                     sums.elements, sums.workspace);
  sums.reduced = RowGradients{rows, {}, {}, part(dense_, sums.begin, counts)};
}

void ReplicatedUpdate::apply(const kernels::UpdateStep& now) {
  if (rows_.reduced) updates_->run(*rows_.reduced, now);
  if (gathered_) updates_->run(*gathered_, now);
  for (PartSums& sums : parts_) sums.updates->update_parts(*sums.reduced, now);
}

std::vector<RowGradients> ReplicatedUpdate::sums() const {
  std::vector<RowGradients> sums;
  if (rows_.reduced) sums.push_back(*rows_.reduced);
  if (gathered_) sums.push_back(*gathered_);
  for (const PartSums& of_store : parts_) sums.push_back(*of_store.reduced);
  return sums;
}

std::vector<RowGradients> ReplicatedUpdate::updated_rows() const {
  std::vector<RowGradients> rows;
  if (rows_.reduced) rows.push_back(*rows_.reduced);
  if (gathered_) rows.push_back(*gathered_);
  if (!parts_.empty()) rows.push_back(*own_);
  return rows;
}

}  // namespace shardmark::workloads
