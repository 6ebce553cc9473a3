// SPDX-License-Identifier: Apache-2.0
#include "workloads/sharded_embedding.hpp"

#include <algorithm>
#include <numeric>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "workloads/commit_fault.hpp"

namespace shardmark {
namespace {

std::span<float> span_of(const DeviceArray<float>& array, std::int64_t begin, std::int64_t size) {
  return {array.data() + begin, static_cast<std::size_t>(size)};
}

DeviceArray<float> allocate(const std::string& label, std::int64_t size) {
  return kernels::allocate<Execution, float>("shardmark::" + label, size);
}

}  // namespace

ShardedEmbedding::ShardedEmbedding(const Communicator& comm, ShardedTables& tables, const Plan& plan,
                                   const Movement& movement, Fault fault)
    : comm_(comm),
      tables_(tables),
      layout_(tables.layout()),
      fault_(fault),
      sent_(comm.rank(), comm.size()),
      exchange_(std::make_unique<CountedExchange>(exchange_named(movement.exchange).make(comm), sent_)),
      transfer_(choice_named(transfers, "transfer", movement.transfer).make(comm, *exchange_, sent_)),
      ids_(comm, *exchange_, layout_, tables.features(), tables.tables(), fault),
      row_sums_(comm, *exchange_, plan, tables.tables(), layout_) {
  std::vector<kernels::UpdateShard> exchanged, replicated;
  std::vector<kernels::DenseShard> dense;
  std::int64_t dense_elements = 0;
  for (std::int64_t s = 0; s < std::ssize(layout_.shards); ++s) {
    const LocalShard& shard = layout_.shards[static_cast<std::size_t>(s)];
    const Table& table = tables.tables()[static_cast<std::size_t>(shard.table)];
    auto& list = shard.replicated ? replicated : exchanged;
    auto& keys = shard.replicated ? replicated_rows_ : exchanged_keys_;
    list.push_back({.rows = tables.rows(s),
                    .state = tables.state(s),
                    .first_key = keys,
                    .dim = shard.dim(),
                    .full_dim = table.dim,
                    .optimizer = table.optimizer,
                    .value_type = table.value_type,
                    .stochastic_rounding = table.stochastic_rounding,
                    .table = shard.table,
                    .row_begin = shard.rows.begin,
                    .row_stride = shard.rows.stride,
                    .column_begin = shard.column_begin});
    if (shard.replicated) {
      dense.push_back({.first_key = keys, .dim = shard.dim(), .output = dense_elements});
      dense_elements += shard.rows.count() * shard.dim();
    }
    keys += shard.rows.count();
  }
  const Execution exec;
  exchanged_shards_ = kernels::shard_list(exec, exchanged);
  replicated_shards_ = kernels::shard_list(exec, replicated);
  dense_shards_ = kernels::shard_list(exec, dense);
  dense_elements_ = dense_elements;
  dense_gradients_ = allocate("dense_gradients", dense_elements + replicated_rows_);
  for (const Feature& feature : tables.features()) {
    divides_ |= feature.pooling == Pooling::mean || feature.pooling == Pooling::sqrtn;
    if (feature.pooling == Pooling::max)
      largest_max_dim_ = std::max(largest_max_dim_, tables.tables()[static_cast<std::size_t>(feature.table)].dim);
  }
}

void ShardedEmbedding::lay_out(const BagCounts& bags) {
  bags_ = bags;
  ids_.lay_out(bags);
  addresses_ = transfer_->lay_out(layout_, bags);
  place_homes();
  vectors_ = allocate("vectors", addresses_.owner_size + addresses_.packed_size + home_elements_);
  packed_gradients_ = allocate("packed_gradients", addresses_.packed_size);
  owner_gradients_ = allocate("owner_gradients", addresses_.owner_size);
  make_blocks();
  make_pieces();
}

/// A feature whose vectors come home whole is used where they arrive; others are put together behind.
void ShardedEmbedding::place_homes() {
  const auto& features = tables_.features();
  const std::int64_t packed = addresses_.owner_size;
  const std::int64_t homes = packed + addresses_.packed_size;
  home_elements_ = 0;
  output_begin_.assign(features.size(), -1);
  gradient_begin_.assign(1, 0);
  for (std::size_t s = 0; s < layout_.strips.size(); ++s) {
    const Strip& strip = layout_.strips[s];
    const Feature& feature = features[static_cast<std::size_t>(strip.feature)];
    const auto& partials = addresses_.partials_of_strip[s];
    if (strip.dim() == tables_.tables()[static_cast<std::size_t>(feature.table)].dim && partials.size() == 1)
      output_begin_[static_cast<std::size_t>(strip.feature)] = packed + partials.front();
  }
  for (std::size_t f = 0; f < features.size(); ++f) {
    const std::int64_t elements = bags_(layout_.rank, static_cast<std::int64_t>(f)) *
                                  tables_.tables()[static_cast<std::size_t>(features[f].table)].dim;
    gradient_begin_.push_back(gradient_begin_.back() + elements);
    if (output_begin_[f] >= 0) continue;
    output_begin_[f] = homes + home_elements_;
    home_elements_ += elements;
  }
}

/// One block per (source rank, own slot), then one per replicated feature: the order of OwnedIds.
void ShardedEmbedding::make_blocks() {
  std::vector<kernels::LookupBlock> lookups;
  std::vector<kernels::GradientBlock> gradients;
  std::vector<kernels::PooledGradient> exchanged_maxima, replicated_maxima;
  std::int64_t first_bag = 0;
  const auto add = [&](std::int64_t bags, std::int64_t shard_number, std::int64_t first_key, std::int64_t output,
                       std::int64_t gradient, Pooling pooling) {
    const LocalShard& shard = layout_.shards[static_cast<std::size_t>(shard_number)];
    const ValueType value_type = tables_.table_of(shard).value_type;
    lookups.push_back({.first_bag = first_bag,
                       .bags = bags,
                       .rows = tables_.rows(shard_number),
                       .value_type = value_type,
                       .dim = shard.dim(),
                       .output = output,
                       .output_stride = shard.dim(),
                       .pooling = pooling});
    gradients.push_back({.first_bag = first_bag,
                         .bags = bags,
                         .first_key = first_key,
                         .gradient = gradient,
                         .gradient_stride = shard.dim()});
    if (pooling == Pooling::max) {
      const std::int64_t behind = shard.replicated ? gradient_begin_.back() : addresses_.owner_size;
      kernels::PooledGradient block{lookups.back()};
      block.gradient = gradient;
      block.gradient_stride = shard.dim();
      gradients.back().gradient = block.id_gradient = behind;
      gradients.back().gradient_stride = block.id_gradient_stride = largest_max_dim_;
      gradients.back().pooling = Pooling::max;
      (shard.replicated ? replicated_maxima : exchanged_maxima).push_back(block);
    }
    first_bag += bags;
  };
  auto address = addresses_.owner.begin();
  for (int r = 0; r < layout_.ranks; ++r) {
    for (const Slot& slot : layout_.own_slots()) {
      const LocalShard& shard = layout_.shards[static_cast<std::size_t>(slot.local_shard)];
      const bool max = tables_.features()[static_cast<std::size_t>(slot.feature)].pooling == Pooling::max;
      add(bags_(r, slot.feature), slot.local_shard, shard.first_key, *address, *address,
          max ? Pooling::max : Pooling::sum);
      ++address;
    }
  }
  for (const std::int64_t f : layout_.replicated_features) {
    const Feature& feature = tables_.features()[static_cast<std::size_t>(f)];
    const auto shard = std::ranges::find_if(
        layout_.shards, [&](const LocalShard& s) { return s.replicated && s.table == feature.table; });
    const auto number = shard - layout_.shards.begin();
    add(bags_(layout_.rank, f), number, shard->first_key - exchanged_keys_, output_begin_[static_cast<std::size_t>(f)],
        gradient_begin_[static_cast<std::size_t>(f)],
        feature.pooling == Pooling::none ? Pooling::sum : feature.pooling);
  }
  const Execution exec;
  lookup_blocks_ = kernels::array_of(exec, lookups, "shardmark::lookup_blocks");
  gradient_blocks_ = kernels::array_of(exec, gradients, "shardmark::gradient_blocks");
  exchanged_maxima_ = kernels::array_of(exec, exchanged_maxima, "shardmark::exchanged_maxima");
  replicated_maxima_ = kernels::array_of(exec, replicated_maxima, "shardmark::replicated_maxima");
}

/// What is put together at home, and what goes back to the owners.
void ShardedEmbedding::make_pieces() {
  std::vector<kernels::VectorPiece> to_sum, to_send;
  std::vector<std::int64_t> summed_from, sent_to;
  std::int64_t rows_to_sum = 0, rows_to_send = 0;
  const auto add = [](std::vector<kernels::VectorPiece>& pieces, std::vector<std::int64_t>& packed_of,
                      std::int64_t& rows, kernels::VectorPiece piece, const std::vector<std::int64_t>& partials) {
    piece.first_row = rows;
    piece.first_partial = std::ssize(packed_of);
    piece.partials = std::ssize(partials);
    pieces.push_back(piece);
    packed_of.insert(packed_of.end(), partials.begin(), partials.end());
    rows += piece.bags;
  };
  const std::int64_t packed_end = addresses_.owner_size + addresses_.packed_size;
  for (std::size_t s = 0; s < layout_.strips.size(); ++s) {
    const Strip& strip = layout_.strips[s];
    const auto f = static_cast<std::size_t>(strip.feature);
    const auto& partials = addresses_.partials_of_strip[s];
    const std::int64_t dim = tables_.tables()[static_cast<std::size_t>(tables_.features()[f].table)].dim;
    kernels::VectorPiece piece{.bags = bags_(layout_.rank, strip.feature), .dim = strip.dim(), .home_stride = dim};
    piece.home = gradient_begin_[f] + strip.column_begin;
    add(to_send, sent_to, rows_to_send, piece, partials);
    if (output_begin_[f] < packed_end) continue;
    piece.home = output_begin_[f] + strip.column_begin;
    add(to_sum, summed_from, rows_to_sum, piece, partials);
  }
  const Execution exec;
  pieces_to_sum_ = {kernels::array_of(exec, to_sum, "shardmark::pieces_to_sum"),
                    kernels::array_of(exec, summed_from, "shardmark::summed_from"), rows_to_sum};
  pieces_to_send_ = {kernels::array_of(exec, to_send, "shardmark::pieces_to_send"),
                     kernels::array_of(exec, sent_to, "shardmark::sent_to"), rows_to_send};
}

void ShardedEmbedding::input_dist(const StepInput& input, PhaseClock& clock) {
  sent_.begin(Phase::input_dist);
  if (const BagCounts bags = ids_.count_bags(input); bags != bags_) lay_out(bags);
  owned_ = ids_.run(input);
  clock.end(Phase::input_dist);
}

void ShardedEmbedding::lookup(const StepInput&, PhaseClock& clock) {
  const Execution exec;
  for (const auto& [begin, end] : addresses_.zeros) Kokkos::deep_copy(exec, part(vectors_, begin, end), 0.0F);
  kernels::pooled_lookup(exec, lookup_blocks_, owned_.offsets, owned_.ids, owned_.weights, vectors_);
  if (fault_ == Fault::lookup && vectors_.extent(0) > 0) {
    if (addresses_.owner_size > 0)
      change_one(vectors_, 0, 1.0F, 1.0F);
    else
      change_one(vectors_, output_begin_.front(), 1.0F, 1.0F);
  }
  exec.fence("shardmark: pooled vectors are sent");
  clock.end(Phase::lookup);
}

/// Divides the vectors of features that pool by mean or sqrtn by their bags' divisors. vectors_begin: by feature.
void ShardedEmbedding::divide(const StepInput& input, const std::vector<std::int64_t>& vectors_begin,
                              bool replicated_too, const DeviceArray<float>& vectors) const {
  std::vector<kernels::BagVectors> blocks;
  for (std::size_t f = 0; f < tables_.features().size(); ++f) {
    const Feature& feature = tables_.features()[f];
    if (feature.pooling != Pooling::mean && feature.pooling != Pooling::sqrtn) continue;
    if (!replicated_too && std::ranges::find(layout_.replicated_features, f) != layout_.replicated_features.end())
      continue;
    const std::int64_t dim = tables_.tables()[static_cast<std::size_t>(feature.table)].dim;
    blocks.push_back({.first_bag = input.first_bag[f],
                      .bags = input.bags_of(f),
                      .dim = dim,
                      .begin = vectors_begin[f],
                      .stride = dim,
                      .pooling = feature.pooling});
  }
  const Execution exec;
  kernels::divide_by_bag(exec, kernels::array_of(exec, blocks, "shardmark::divided"), input.bags.offsets,
                         input.bags.weights, vectors);
}

void ShardedEmbedding::output_dist(const StepInput& input, PhaseClock& clock) {
  const Execution exec;
  sent_.begin(Phase::output_dist);
  const std::int64_t packed = addresses_.owner_size;
  transfer_->forward(span_of(vectors_, 0, packed), span_of(vectors_, packed, addresses_.packed_size));
  if (fault_ == Fault::exchange && addresses_.packed_size > 0) change_one(vectors_, packed, -1.0F, 0x1p-8F);
  kernels::sum_partials<Execution>(exec, pieces_to_sum_.pieces, pieces_to_sum_.packed_of, pieces_to_sum_.rows,
                                   part(vectors_, packed, packed + addresses_.packed_size), vectors_);
  if (divides_) divide(input, output_begin_, false, vectors_);
  exec.fence("shardmark: the outputs are complete");
  clock.end(Phase::output_dist);
}

void ShardedEmbedding::grad_dist(const StepInput& input, ConstDeviceArray<float> gradients, PhaseClock& clock) {
  const Execution exec;
  sent_.begin(Phase::grad_dist);
  gradients_ = gradients;
  if (divides_) {
    const auto divided = divided_gradients_.first(input.elements());
    Kokkos::deep_copy(exec, divided, gradients);
    divide(input, gradient_begin_, true, divided);
    gradients_ = divided;
  }
  kernels::copy_to_partials<Execution>(exec, pieces_to_send_.pieces, pieces_to_send_.packed_of, pieces_to_send_.rows,
                                       gradients_, packed_gradients_);
  exec.fence("shardmark: gradients are sent");
  transfer_->backward(span_of(packed_gradients_, 0, addresses_.packed_size),
                      span_of(owner_gradients_, 0, addresses_.owner_size));
  clock.end(Phase::grad_dist);
}

DeviceArray<float> ShardedEmbedding::output(const StepInput& input, std::int64_t feature) const {
  const auto f = static_cast<std::size_t>(feature);
  const std::int64_t elements = input.first_element[f + 1] - input.first_element[f];
  return part(vectors_, output_begin_[f], output_begin_[f] + elements);
}

}  // namespace shardmark
