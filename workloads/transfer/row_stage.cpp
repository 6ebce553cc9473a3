// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/row_stage.hpp"

namespace shardmark {
namespace {

using Unique = kernels::UniqueRows<Execution>;

std::int64_t size_of(const RowStage::Range& range) { return range.second - range.first; }

// Kernels outside the class: nvcc takes no lambda of a kernel in a private function.

/// segments[u] = u
void make_single(const DeviceArray<std::int64_t>& segments) {
  Kokkos::parallel_for(
      "shardmark::repeat_rows", kernels::static_range(Execution(), static_cast<std::int64_t>(segments.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t u) { segments(u) = u; });
}

/// first_row[s]: the first distinct row with a key of shard s or later, s = 0 .. shards.
void list_first_rows(const Unique& unique, const ConstDeviceArray<std::int64_t>& first_key,
                     const DeviceArray<std::int64_t>& first_row) {
  const auto shards = static_cast<std::int64_t>(first_key.extent(0));
  Kokkos::parallel_for(
      "shardmark::first_rows", kernels::static_range(Execution(), shards + 1), KOKKOS_LAMBDA(const std::int64_t s) {
        const auto key_of = [&](std::int64_t u) { return unique.key(u); };
        first_row(s) = s == shards ? unique.count() : kernels::first_at_least(unique.count(), first_key(s), key_of);
      });
}

/// ids(u): the local row of distinct row u in its shard.
template <class Index>
void list_ids(const Unique& unique, const ConstDeviceArray<std::int64_t>& first_key, const DeviceArray<Index>& ids) {
  const auto shards = static_cast<std::int64_t>(first_key.extent(0));
  Kokkos::parallel_for(
      "shardmark::asked_ids", kernels::static_range(Execution(), static_cast<std::int64_t>(ids.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t u) {
        const std::int64_t key = unique.key(u);
        ids(u) = static_cast<Index>(key - first_key(kernels::last_at_most(shards, key, first_key)));
      });
}

}  // namespace

RowStage::RowStage(Exchange& exchange, Wire& wire, const RowShards& rows, std::vector<Range> asked, Range held,
                   const std::vector<bool>& askers)
    : exchange_(exchange),
      rows_(rows),
      asked_(std::move(asked)),
      held_(held),
      first_row_("shardmark::first_row", rows.shards.size() + 1),
      id_wire_(wire.ids()),
      vectors_(exchange, wire) {
  std::vector<std::int64_t> sent, received, first_key;
  for (const Range& range : asked_) sent.push_back(size_of(range));
  for (const bool asks : askers) received.push_back(asks ? size_of(held) : 0);
  count_route_ = Route(std::move(sent), std::move(received), std::ssize(rows.shards) * std::ssize(asked_));
  for (const RowShard& shard : rows.shards) first_key.push_back(shard.first_key);
  first_key_ = kernels::array_of(Execution(), first_key, "shardmark::row_shard_keys");
}

void RowStage::request(const ConstDeviceArray<std::int64_t>& keys, std::int64_t peak, bool repeated) {
  unique_ = kernels::unique_rows<Execution>(Execution(), keys, rows_.keys, workspace_);
  if (repeated) repeat_rows();
  find_first_rows();
  exchange_counts();
  make_routes(peak);
}

/// Makes every sorted position a row of its own.
void RowStage::repeat_rows() {
  const std::int64_t positions = unique_.positions();
  unique_.segments = each_.first(positions + 1);
  make_single(unique_.segments);
  Kokkos::deep_copy(Execution(), unique_.total, positions);
}

void RowStage::find_first_rows() {
  const Execution exec;
  const auto first_row = Kokkos::create_mirror_view(Execution::memory_space{}, first_row_);
  list_first_rows(unique_, first_key_, first_row);
  Kokkos::deep_copy(exec, first_row_, first_row);
  exec.fence("shardmark: the host reads how many rows it asks for");
}

void RowStage::exchange_counts() {
  asked_counts_.clear();
  for (const auto& [begin, end] : asked_)
    for (std::int64_t s = begin; s < end; ++s) asked_counts_.push_back(rows(s));
  held_counts_.assign(static_cast<std::size_t>(count_route_.receive_total()), 0);
  run(exchange_, count_route_, std::span<const std::int64_t>(asked_counts_), std::span(held_counts_));
  const auto held = static_cast<std::size_t>(size_of(held_));
  for (std::size_t r = 0; r < asked_.size(); ++r)  // ranks that ask for nothing
    if (count_route_.receive_counts()[r] == 0)
      held_counts_.insert(held_counts_.begin() + static_cast<std::ptrdiff_t>(r * held), held, 0);
}

void RowStage::make_routes(std::int64_t peak) {
  const auto dim = [&](std::int64_t s) { return rows_.shards[static_cast<std::size_t>(s)].dim; };
  std::vector<std::int64_t> ids_sent, ids_received;
  RowBlocks blocks{.owner = {}, .home = {}, .peak_rows = peak, .peak_elements = peak * rows_.largest_dim};
  packed_begin_.assign(1, 0);
  for (std::int64_t s = 0; s < std::ssize(rows_.shards); ++s)
    packed_begin_.push_back(packed_begin_.back() + rows(s) * dim(s));
  auto count = held_counts_.begin();
  for (int r = 0; r < static_cast<int>(asked_.size()); ++r) {
    const auto& [begin, end] = asked_[static_cast<std::size_t>(r)];
    ids_sent.push_back(first_row(end) - first_row(begin));
    for (std::int64_t s = begin; s < end; ++s) blocks.home.push_back({r, rows(s), dim(s)});
    std::int64_t ids = 0;
    for (std::int64_t s = held_.first; s < held_.second; ids += *count++, ++s)
      blocks.owner.push_back({r, *count, dim(s)});
    ids_received.push_back(ids);
  }
  id_route_ = Route(std::move(ids_sent), std::move(ids_received), peak);
  vectors_.lay_out(static_cast<int>(asked_.size()), blocks);
}

void RowStage::receive_ids(const DeviceArray<std::int64_t>& ids) {
  id_wire_.write(id_route_.send_total(), [&](const auto& asked) { list_ids(unique_, first_key_, asked); });
  id_wire_.exchange(exchange_, id_route_, ids);
}

void RowStage::send_rows(const DeviceArray<float>& held, const DeviceArray<float>& packed) {
  vectors_.pack(Direction::forward, held);
  vectors_.move(Direction::forward, held, packed);
  vectors_.unpack(Direction::forward, packed);
}

void RowStage::return_gradients(const DeviceArray<float>& packed, const DeviceArray<float>& held) {
  vectors_.pack(Direction::backward, packed);
  vectors_.move(Direction::backward, packed, held);
  vectors_.unpack(Direction::backward, held);
}

}  // namespace shardmark
