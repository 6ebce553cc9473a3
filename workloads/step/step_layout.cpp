// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/step_layout.hpp"

#include <algorithm>

#include "comm/placement/cost/buffers.hpp"
#include "reference/storage.hpp"
#include "reference/work.hpp"

namespace shardmark::workloads {

void VectorRegions::clear(std::int64_t band) {
  at_ = {};
  bands_.clear();
  band_ = band;
  next_ = size_ = 0;
  has_parts_ = {};
}

std::int64_t VectorRegions::add(VectorRegion region, std::int64_t elements) {
  const auto own = static_cast<std::size_t>(region);
  const std::int64_t begin = next_, end = begin + elements;
  if (!has_parts_[own]) at_[own].begin = begin;
  at_[own].end = end;
  next_ = end + band_;
  size_ = std::max(size_, next_);
  bands_.push_back({end, region});
  has_parts_[own] = true;
  place_others();
  return begin;
}

void VectorRegions::go_behind() {
  next_ = size_;
  place_others();
}

/// Lets the regions that have no parts yet begin where the next part does.
void VectorRegions::place_others() {
  for (std::size_t region = 0; region < at_.size(); ++region)
    if (!has_parts_[region]) at_[region] = {next_, next_};
}

std::vector<std::shared_ptr<const void>> VectorRegions::bands_in(const DeviceArray<float>& all) const {
  static constexpr std::array behind{"behind the owner's vectors",
                                     "behind the rows that others ask for",
                                     "behind the gradients that go back",
                                     "behind the vectors that come home",
                                     "behind the gradients that came back",
                                     "behind the gradients of rows that others ask for",
                                     "behind partials of hot rows",
                                     "behind the outputs",
                                     "behind the sums of a shard of few rows"};
  static_assert(behind.size() == std::tuple_size_v<decltype(at_)>);
  std::vector<std::shared_ptr<const void>> guards;
  if (band_ == 0) return guards;
  for (const Band& band : bands_)
    guards.push_back(kernels::guard_band(all.data() + band.begin, static_cast<std::size_t>(band_) * sizeof(float),
                                         behind[static_cast<std::size_t>(band.behind)]));
  return guards;
}

StepLayout::StepLayout(const ShardedTables& tables, const ShardLayout& layout, const HomeRows& rows,
                       const ReplicatedUpdate& replicas)
    : exchanged(tables, layout.exchanged_numbers()),
      replicated(tables, layout.replicas),
      tables_(tables),
      layout_(layout),
      replicas_(replicas),
      held_shards_(rows.held_shards()),
      reads_held_(!rows.reads_once()) {
  for (const Feature& feature : tables.features())
    if (feature.pooling == Pooling::max) largest_max_dim = std::max(largest_max_dim, tables.table_of(feature).dim);
}

void StepLayout::place(const BagCounts& bags, const VectorCounts& counts, VectorPlaces places) {
  places_ = std::move(places);
  regions_.clear(places_.at_home || !host_reaches_arrays ? 0
                                                         : static_cast<std::int64_t>(kernels::guard_elements<float>()));
  find_packed_outputs();
  place_travelling(counts);
  place_own_partials(bags);
  place_outputs(bags);
  place_sums(counts);
}

void StepLayout::list(const BagCounts& bags, const VectorCounts& counts, const HomePlaces& homes) {
  list_blocks(bags, counts, homes);
  list_pieces(bags, counts);
}

/// Finds the features whose outputs stay where they arrive: their vectors come home whole, from one shard.
void StepLayout::find_packed_outputs() {
  const auto& features = tables_.features();
  packed_output_.assign(features.size(), -1);
  for (const Strip& strip : layout_.strips) {
    const bool whole = strip.dim() == tables_.table_of(features[strip.feature]).dim;
    const bool one = std::ranges::count_if(strip.slots, [&](std::int64_t s) { return places_.packed[s] >= 0; }) == 1;
    if (whole && one && !has_hot_rows(strip)) packed_output_[strip.feature] = places_.packed[strip.slots.front()];
  }
}

/// Places what ranks send each other. Gradients lie over vectors of which nobody needs any more: those that go back
/// over what the owner has sent and those that came back over what came home, or the other way round where memory for
/// the larger of both would exceed the two by more than a sixteenth. What pools by max and outputs are still needed.
void StepLayout::place_travelling(const VectorCounts& counts) {
  std::int64_t requested = 0;
  for (std::size_t b = 0; b < counts.held_rows.size(); ++b)
    requested += counts.held_rows[b] * layout_.shards[held_shards_[b % held_shards_.size()]].dim();
  regions_.add(VectorRegion::owner, places_.owner_size);
  regions_.add(VectorRegion::requested_rows, requested);
  if (places_.at_home) {
    regions_.add(VectorRegion::packed, places_.packed_size);
    return;
  }
  const bool max = pools_by_max(),
             outputs = std::ranges::any_of(packed_output_, [](std::int64_t begin) { return begin >= 0; });
  const std::int64_t sent = places_.owner_size + requested, more_sent = sent - places_.packed_size;
  const std::int64_t excess = std::max<std::int64_t>(max ? 0 : more_sent, outputs ? 0 : -more_sent);
  const bool apart = placement::lie_apart(excess, sent + places_.packed_size), over_owner = apart && !max;
  const auto add_gradients = [&] {
    regions_.add(VectorRegion::gradients, places_.packed_size);
    regions_.go_behind();
  };
  if (over_owner) {
    regions_.lie_over(VectorRegion::owner);
    add_gradients();
  }
  regions_.add(VectorRegion::packed, places_.packed_size);
  if (apart && !outputs) regions_.lie_over(VectorRegion::packed);
  if (!apart && !max) regions_.lie_over(VectorRegion::owner);
  regions_.add(VectorRegion::returned, places_.owner_size);
  regions_.add(VectorRegion::returned_rows, requested);
  regions_.go_behind();
  if (over_owner) return;
  if (!apart && !outputs) regions_.lie_over(VectorRegion::packed);
  add_gradients();
}

/// Places what a feature's hot rows are pooled to and, where its other rows come one by one, what these are.
void StepLayout::place_own_partials(const BagCounts& bags) {
  hot_begin_.assign(tables_.features().size(), -1);
  row_pooled_begin_.assign(tables_.features().size(), -1);
  for (const Strip& strip : layout_.strips) {
    if (!has_hot_rows(strip)) continue;
    const auto place = [&](std::vector<std::int64_t>& begin) {
      begin[strip.feature] = regions_.add(VectorRegion::hot_partials, bags(layout_.rank, strip.feature) * strip.dim());
    };
    place(hot_begin_);
    if (travels_by_rows(strip)) place(row_pooled_begin_);
  }
}

/// Places the outputs: those that do not stay where they arrive are put together behind.
void StepLayout::place_outputs(const BagCounts& bags) {
  const auto& features = tables_.features();
  output_begin_.assign(features.size(), -1);
  gradient_begin_.assign(1, 0);
  for (std::size_t f = 0; f < features.size(); ++f) {
    const std::int64_t elements = bags(layout_.rank, static_cast<std::int64_t>(f)) * tables_.table_of(features[f]).dim;
    gradient_begin_.push_back(gradient_begin_.back() + elements);
    if (packed_output_[f] >= 0)
      output_begin_[f] = regions_.begin(VectorRegion::packed) + packed_output_[f];
    else if (layout_.served[f])
      output_begin_[f] = regions_.add(VectorRegion::outputs, elements);
    if (row_pooled_begin_[f] < 0) row_pooled_begin_[f] = output_begin_[f];
  }
}

void StepLayout::place_sums(const VectorCounts& counts) {
  std::vector<std::int64_t> bags(layout_.shards.size());
  const auto slots = layout_.own_slots();
  for (std::size_t b = 0; b < counts.owner.size(); ++b) bags[slots[b % slots.size()].local_shard] += counts.owner[b];
  sums_.assign(layout_.shards.size(), -1);
  for (std::size_t s = 0; s < sums_.size(); ++s) {
    const LocalShard& shard = layout_.shards[s];
    const std::int64_t few = shard.replicated ? 0 : few_row_sums(shard.rows.most_places(), shard.dim(), bags[s]);
    if (few > 0) sums_[s] = regions_.add(VectorRegion::sums, 2 * few);
  }
}

bool StepLayout::pools_whole(std::int64_t feature) const {
  return hot_begin_[feature] < 0 && std::ranges::count(layout_.replicated_features, feature) > 0;
}

/// Returns where, for a home's bags of a slot's feature, the gradients of their outputs in the slot's columns begin,
/// among those of the home.
std::int64_t StepLayout::gradient_at_home(const BagCounts& bags, int home, const Slot& slot) const {
  std::int64_t begin = layout_.strips[slot.strip].column_begin;
  for (std::int64_t f = 0; f < slot.feature; ++f)
    begin += bags(home, f) * tables_.tables()[tables_.features()[f].table].dim;
  return begin;
}

/// Lists the bags of the slots of this rank, by (home, slot).
void StepLayout::list_slots(const BagCounts& bags, const VectorCounts& counts, const HomePlaces& homes) {
  std::size_t block = 0;
  for (int r = 0; r < layout_.ranks; ++r) {
    std::size_t own = 0;
    for (const Slot& slot : layout_.own_slots()) {
      const bool max = tables_.features()[slot.feature].pooling == Pooling::max;
      const std::int64_t place = places_.owner[block];
      std::int64_t at = place, gradient = regions_.begin(VectorRegion::returned) + place;
      if (places_.at_home) {
        at += homes.packed[r];
        gradient = homes.gradients[r] + gradient_at_home(bags, r, slot);
      } else if (const std::int64_t stays = places_.stays[own++]; r == layout_.rank && stays >= 0) {
        at = regions_.begin(VectorRegion::packed) + stays;
        gradient = regions_.begin(VectorRegion::gradients) + stays;
      }
      add_block(counts.owner[block++], slot.local_shard, at, gradient, max && at >= 0 ? Pooling::max : Pooling::sum);
    }
  }
}

template <class ShardOf>
StepLayout::ByShard StepLayout::ShardLists::list(std::span<const kernels::GradientBlock> of, const ShardOf& shard_of) {
  ByShard result;
  blocks.host.assign(of.begin(), of.end());
  std::ranges::stable_sort(blocks.host, {}, &kernels::GradientBlock::first_key);
  shards.host.clear();
  std::int64_t bags_of_shard = 0;
  for (std::int64_t b = 0; b < std::ssize(blocks.host); ++b) {
    const kernels::GradientBlock& block = blocks.host[b];
    if (shards.host.empty() || shards.host.back().first_key != block.first_key) {
      shards.host.push_back(shard_of(block.first_key));
      shards.host.back().first_key = block.first_key;
      shards.host.back().first_block = b;
      bags_of_shard = 0;
    }
    ++shards.host.back().blocks;
    result.bags += block.bags;
    result.most_bags = std::max(result.most_bags, bags_of_shard += block.bags);
  }
  result.blocks = blocks.array();
  result.shards = shards.array();
  return result;
}

/// Takes the blocks that are listed so far. own_vectors: see HomePlaces.
void StepLayout::list_exchanged_shards(std::int64_t own_vectors) {
  exchanged_by_shard = exchanged_shards_.list(gradients_.host, [&](std::int64_t key) {
    const std::int64_t number = layout_.exchanged_of(key).shard, sums = sums_[number];
    const LocalShard& local = layout_.shards[number];
    const std::int64_t rows = local.rows.most_places(), dim = local.dim();
    kernels::ShardBlocks shard{.rows = rows, .dim = dim};
    if (storage_of(tables_.tables()[local.table]).comes_and_goes)
      shard.keys = has_any_keys(tables_.tables()) ? kernels::ShardBlocks::any_keys : local.rows.most_ids();
    if (sums >= 0) {
      shard.sums = own_vectors + sums - owner_gradients_begin();
      shard.pieces = shard.sums + rows * dim;
    }
    return shard;
  });
}

/// Takes the blocks behind those.
void StepLayout::list_replicated_shards(const BagCounts& bags) {
  std::vector<std::int64_t> bags_of_table(tables_.tables().size());
  for (const std::int64_t f : layout_.replicated_features)
    bags_of_table[tables_.features()[f].table] += bags(layout_.rank, f);
  std::int64_t pieces = 0;
  replicated_by_shard = replicated_shards_.list(
      std::span(gradients_.host).subspan(exchanged_shards_.blocks.host.size()), [&](std::int64_t key) {
        const auto found = std::prev(std::ranges::upper_bound(replicas_.replicas(), key, {}, &KeyedShard::first_key));
        const LocalShard& local = layout_.shards[found->shard];
        kernels::ShardBlocks shard{.rows = local.rows.count(), .dim = local.dim()};
        const std::int64_t few = few_row_sums(shard.rows, shard.dim, bags_of_table[local.table]),
                           sums = replicas_.sums_begin(found->shard);
        if (few == 0 || sums < 0) return shard;
        shard.sums = sums;
        shard.pieces = pieces;
        pieces += few;
        return shard;
      });
  replicated_by_shard.pieces = pieces;
}

void StepLayout::list_blocks(const BagCounts& bags, const VectorCounts& counts, const HomePlaces& homes) {
  exchanged_blocks_.clear();
  replicated_blocks_.clear();
  gradients_.host.clear();
  next_bag_ = looked_up_ = 0;
  std::int64_t before = 0;
  for (std::size_t b = 0; b < counts.held_rows.size(); ++b) {
    const std::int64_t shard = held_shards_[b % held_shards_.size()],
                       at = regions_.begin(VectorRegion::requested_rows) + before;
    add_block(counts.held_rows[b], shard, at, regions_.begin(VectorRegion::returned_rows) + before, Pooling::sum);
    before += counts.held_rows[b] * layout_.shards[shard].dim();
  }
  if (!reads_held_) exchanged_blocks_.clear();
  list_slots(bags, counts, homes);
  list_exchanged_shards(homes.own_vectors);
  for (const std::int64_t f : layout_.replicated_features) {
    const Feature& feature = tables_.features()[f];
    const auto shard = std::ranges::find_if(
        layout_.shards, [&](const LocalShard& s) { return s.replicated && s.table == feature.table; });
    const bool hot = hot_begin_[f] >= 0;
    add_block(bags(layout_.rank, f), shard - layout_.shards.begin(), hot ? hot_begin_[f] : output_begin_[f],
              gradient_begin_[f], hot || feature.pooling == Pooling::none ? Pooling::sum : feature.pooling);
  }
  list_replicated_shards(bags);
  exchanged.set(exchanged_blocks_);
  replicated.set(replicated_blocks_);
  gradients = gradients_.array();
}

/// Adds a block of the next bags, all of one shard. Where they pool by max, a gradient for each of their ids lies
/// behind the gradients.
void StepLayout::add_block(std::int64_t bags, std::int64_t shard_number, std::int64_t output, std::int64_t gradient,
                           Pooling pooling) {
  const LocalShard& shard = layout_.shards[shard_number];
  const bool max = pooling == Pooling::max;
  const std::int64_t stride = places_.at_home ? tables_.tables()[shard.table].dim : shard.dim();  // whole rows at home
  std::int64_t id_gradient = gradient_begin_.back();
  if (!shard.replicated) {
    gradient -= owner_gradients_begin();
    id_gradient = regions_.end(VectorRegion::returned_rows) - owner_gradients_begin();
  }
  (shard.replicated ? replicated_blocks_ : exchanged_blocks_)
      .push_back({.first_bag = next_bag_,
                  .bags = bags,
                  .shard = shard_number,
                  .output = output,
                  .stride = shard.dim(),
                  .pooling = pooling,
                  .gradient = gradient,
                  .id_gradient = id_gradient,
                  .id_gradient_stride = largest_max_dim});
  gradients_.host.push_back(
      {.first_bag = next_bag_,
       .bags = bags,
       .first_key = shard.replicated ? replicas_.first_key(shard_number) : layout_.first_key(shard_number),
       .gradient = max ? id_gradient : gradient,
       .gradient_stride = max ? largest_max_dim : stride,
       .pooling = max ? Pooling::max : Pooling::sum});
  next_bag_ += bags;
  looked_up_ += bags * shard.dim();
}

void StepLayout::PieceLists::clear() {
  pieces.host.clear();
  partials.host.clear();
  rows = 0;
}

void StepLayout::PieceLists::add(kernels::VectorPiece piece, const std::vector<kernels::Partial>& of_piece) {
  piece.first_row = rows;
  piece.first_partial = std::ssize(partials.host);
  piece.partials = std::ssize(of_piece);
  partials.host.insert(partials.host.end(), of_piece.begin(), of_piece.end());
  pieces.host.push_back(piece);
  rows += piece.bags;
}

/// Lists the partials that come home from the slots.
void StepLayout::list_packed(const Strip& strip, const VectorCounts& counts) {
  partials_.clear();
  for (const std::int64_t s : strip.slots)
    if (places_.packed[s] >= 0) partials_.push_back({places_.packed[s], counts.first_cell[s]});
}

void StepLayout::list_pieces(const BagCounts& bags, const VectorCounts& counts) {
  to_sum_.clear();
  to_send_.clear();
  for (const Strip& strip : layout_.strips) {
    if (travels_by_rows(strip) && !has_hot_rows(strip)) continue;
    const auto f = static_cast<std::size_t>(strip.feature);
    const std::int64_t dim = tables_.tables()[tables_.features()[f].table].dim;
    kernels::VectorPiece piece{.bags = bags(layout_.rank, strip.feature), .dim = strip.dim(), .home_stride = dim};
    list_packed(strip, counts);
    piece.home = gradient_begin_[f] + strip.column_begin;
    if (!travels_by_rows(strip)) to_send_.add(piece, partials_);
    const std::int64_t packed = regions_.begin(VectorRegion::packed);
    if (output_begin_[f] < regions_.end(VectorRegion::packed)) continue;
    if (travels_by_rows(strip)) partials_.push_back({row_pooled_begin_[f] - packed});
    if (has_hot_rows(strip)) partials_.push_back({hot_begin_[f] - packed});
    piece.home = output_begin_[f] + strip.column_begin;
    to_sum_.add(piece, partials_);
  }
  to_sum = to_sum_.arrays();
  to_send = to_send_.arrays();
}

}  // namespace shardmark::workloads
