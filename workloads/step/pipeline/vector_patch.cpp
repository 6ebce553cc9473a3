// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/pipeline/vector_patch.hpp"

#include <algorithm>

namespace shardmark::workloads {
namespace {

/// Sets updated[first_key + key] to `version` for every row that has a gradient.
void mark_rows(const RowGradients& rows, std::int64_t first_key, std::int32_t version,
               const DeviceArray<std::int32_t>& updated) {
  const Execution exec;
  const auto unique = rows.unique;
  Kokkos::parallel_for(
      "shardmark::mark_updated", kernels::static_range(exec, host_count(exec, unique)),
      KOKKOS_LAMBDA(const std::int64_t u) { updated(first_key + unique.key(u)) = version; });
}

}  // namespace

RowVersions::RowVersions(const GroupFlight& flight)
    : exchanged_keys_(flight.group.layout.exchanged_keys),
      updated_("shardmark::row_versions", static_cast<std::size_t>(exchanged_keys_ + flight.replicated.keys())) {}

void RowVersions::clear() { Kokkos::deep_copy(Execution(), updated_, 0); }

void RowVersions::mark(const GroupFlight& flight, std::int64_t version) {
  const auto number = static_cast<std::int32_t>(version);
  if (exchanged_keys_ > 0) mark_rows(*flight.row_gradients, 0, number, updated_);
  for (const RowGradients& rows : flight.replicated.updated_rows()) mark_rows(rows, exchanged_keys_, number, updated_);
  Execution().fence("shardmark: updated rows are marked");
}

void RowVersions::find_stale(GroupFlight& flight, std::int64_t seen, const DeviceArray<std::uint8_t>& stale) const {
  const OwnedIds& owned = flight.owned;
  const auto ids = static_cast<std::int64_t>(owned.ids.extent(0));
  const auto keys = flight.keys.first(ids), gradient_offsets = flight.gradient_offsets.first(ids);
  kernels::expand_positions(Execution(), flight.layout.gradients, ConstDeviceArray<std::int64_t>(owned.offsets),
                            owned.ids, keys, gradient_offsets);
  const auto offsets = owned.offsets;
  const auto updated = updated_;
  const std::int64_t exchanged_ids = owned.exchanged_ids, exchanged_keys = exchanged_keys_;
  Kokkos::parallel_for(
      "shardmark::find_stale", kernels::static_range(Execution(), static_cast<std::int64_t>(stale.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t bag) {
        bool any = false;
        for (std::int64_t p = offsets(bag); p < offsets(bag + 1); ++p)
          any |= updated(keys(p) + (p < exchanged_ids ? 0 : exchanged_keys)) > seen;
        stale(bag) = any ? 1 : 0;
      });
}

namespace {

/// Returns the route of the counts: this rank sends those of its own slots to every rank, and receives from each rank
/// those of its slots.
comm::Route route_of_counts(const ShardLayout& layout) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(layout.ranks), std::ssize(layout.own_slots())), received;
  for (int r = 0; r < layout.ranks; ++r) received.push_back(layout.first_slot[r + 1] - layout.first_slot[r]);
  return comm::Route(std::move(sent), std::move(received), std::ssize(layout.slots) * layout.ranks);
}

void copy_runs(HostList<ElementRun>& runs, const DeviceArray<float>& from, const DeviceArray<float>& to) {
  const auto count = std::ssize(runs.host);
  if (count == 0) return;
  const auto listed = runs.array();
  Kokkos::parallel_for(
      "shardmark::copy_patched", kernels::static_range(Execution(), count), KOKKOS_LAMBDA(const std::int64_t r) {
        const ElementRun run = listed(r);
        for (std::int64_t e = 0; e < run.elements; ++e) to(run.to + e) = from(run.from + e);
      });
  Execution().fence("shardmark: patched vectors are copied");
}

}  // namespace

VectorPatch::VectorPatch(GroupFlight& flight)
    : flight_(flight),
      exchanged_(flight.group.tables, flight.group.layout.exchanged_numbers()),
      replicated_(flight.group.tables, flight.group.layout.replicas),
      vectors_(flight.exchange, flight.group.wire),
      count_route_(route_of_counts(flight.group.layout)) {}

PatchCounts VectorPatch::run(const RowVersions& versions, std::int64_t seen) {
  const std::int64_t bags = flight_.vectors_looked_up();
  const auto stale = stale_scratch_.first(bags);
  versions.find_stale(flight_, seen, stale);
  stale_ = stale_elements_.read(stale);
  PatchCounts counts{.vectors = bags};
  counts.again += look_up_again(flight_.layout.replicated_blocks(), replicated_);
  counts.again += look_up_again(flight_.layout.exchanged_blocks(), exchanged_);
  if (flight_.group.layout.slots.empty()) return counts;
  list_stale();
  exchange_numbers();
  send();
  return counts;
}

/// Runs of stale bags; returns how many bags.
std::int64_t VectorPatch::look_up_again(const std::vector<BagBlock>& blocks, TableLookups& lookups) {
  std::int64_t bags = 0;
  blocks_.clear();
  for (const BagBlock& block : blocks)
    for (std::int64_t b = 0; b < block.bags; ++b) {
      if (stale_[block.first_bag + b] == 0) continue;
      ++bags;
      if (b > 0 && stale_[block.first_bag + b - 1] != 0) {
        ++blocks_.back().bags;
        continue;
      }
      BagBlock& run = blocks_.emplace_back(block);
      run.first_bag = block.first_bag + b;
      run.bags = 1;
      run.output = block.output + b * block.stride;
    }
  if (bags == 0) return 0;
  lookups.set(blocks_);
  lookups.run(flight_.owned, flight_.vectors);
  Execution().fence("shardmark: stale vectors are looked up again");
  return bags;
}

/// Lists the stale vectors of the owner, by home and slot: the blocks of bags are in this order.
void VectorPatch::list_stale() {
  owner_.clear();
  owner_counts_.clear();
  owner_numbers_.clear();
  for (const BagBlock& block : flight_.layout.exchanged_blocks()) {
    const std::int64_t first = std::ssize(owner_numbers_);
    for (std::int64_t b = 0; b < block.bags; ++b)
      if (stale_[block.first_bag + b] != 0) owner_numbers_.push_back(static_cast<std::int32_t>(b));
    const std::int64_t count = std::ssize(owner_numbers_) - first;
    owner_.push_back({block.output, block.stride, first, count});
    owner_counts_.push_back(static_cast<std::int32_t>(count));
  }
}

/// Exchanges how many vectors of each slot are stale, then which.
void VectorPatch::exchange_numbers() {
  const ShardLayout& layout = flight_.group.layout;
  home_counts_.resize(layout.slots.size());
  shardmark::comm::run(flight_.exchange, count_route_, std::span<const std::int32_t>(owner_counts_),
                       std::span<std::int32_t>(home_counts_));
  const auto ranks = static_cast<std::size_t>(layout.ranks), own = layout.own_slots().size();
  row_blocks_ = {};
  std::vector<std::int64_t> sent(ranks), received(ranks);
  home_.clear();
  std::int64_t first = 0;
  for (std::size_t s = 0; s < layout.slots.size(); ++s) {
    const Slot& slot = layout.slots[s];
    const std::int64_t dim = layout.dim_of(slot);
    home_.push_back({flight_.layout.regions().begin(VectorRegion::packed) + flight_.layout.places().packed[s], dim,
                     first, home_counts_[s]});
    first += home_counts_[s];
    received[slot.rank] += home_counts_[s];
    row_blocks_.home.push_back({slot.rank, home_counts_[s], dim});
    for (int r = 0; r < layout.ranks; ++r) {
      row_blocks_.row_bound += flight_.bags(r, slot.feature);
      row_blocks_.element_bound += flight_.bags(r, slot.feature) * dim;
    }
  }
  for (std::size_t block = 0; block < owner_.size(); ++block) {
    const auto home = static_cast<int>(block / own);
    sent[home] += owner_[block].count;
    row_blocks_.owner.push_back({home, owner_[block].count, owner_[block].dim});
  }
  home_numbers_.resize(static_cast<std::size_t>(first));
  const comm::Route route(std::move(sent), std::move(received), row_blocks_.row_bound);
  shardmark::comm::run(flight_.exchange, route, std::span<const std::int32_t>(owner_numbers_),
                       std::span<std::int32_t>(home_numbers_));
}

void VectorPatch::send() {
  const auto sent = sent_.first(list_copies(owner_, owner_numbers_, false, gathered_.host));
  const auto received = received_.first(list_copies(home_, home_numbers_, true, scattered_.host));
  copy_runs(gathered_, flight_.vectors, sent);
  vectors_.lay_out(flight_.group.layout.ranks, row_blocks_);
  vectors_.move(Direction::forward, sent, received);
  copy_runs(scattered_, received, flight_.vectors);
}

/// Lists the copies between the slots and a buffer without gaps; neighbours are one copy. Returns the elements of the
/// buffer.
std::int64_t VectorPatch::list_copies(const std::vector<Chosen>& slots, const std::vector<std::int32_t>& numbers,
                                      bool to_slots, std::vector<ElementRun>& runs) {
  runs.clear();
  std::int64_t packed = 0;
  for (const Chosen& slot : slots)
    for (std::int64_t i = slot.first; i < slot.first + slot.count; ++i) {
      const std::int64_t place = slot.slot_vectors + numbers[i] * slot.dim;
      if (i > slot.first && numbers[i] == numbers[i - 1] + 1)
        runs.back().elements += slot.dim;
      else
        runs.push_back({to_slots ? packed : place, to_slots ? place : packed, slot.dim});
      packed += slot.dim;
    }
  return packed;
}

}  // namespace shardmark::workloads
