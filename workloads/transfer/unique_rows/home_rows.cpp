// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/home_rows.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/route/bag_lengths.hpp"
#include "kernels/route/strip_positions.hpp"
#include "workloads/transfer/max_gradients.hpp"
#include "workloads/transfer/unique_rows/node_dedup.hpp"

namespace shardmark::workloads {

RequestedBags::RequestedBags(const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes,
                             std::int64_t features)
    : requested_(static_cast<std::size_t>(features)) {
  std::vector<std::int64_t> first(requested_.size());
  for (std::size_t s = 0; s < modes.size(); ++s) {
    if (modes[s] != placement::RowTransfer::unique_rows) continue;
    first[layout.strips[s].feature] = layout.strips[s].hot_rows;
    requested_[layout.strips[s].feature] = true;
  }
  if (std::ranges::all_of(first, [](std::int64_t row) { return row == 0; })) return;
  first_row_ = kernels::array_of(Execution(), first, "shardmark::first_asked_row");
  first_id_ = decltype(first_id_)("shardmark::first_asked_id", first.size() + 1);
}

void RequestedBags::set(const StepInput& input) {
  bags_ = input.bags;
  ids_ = input.ids;
  if (first_row_.extent(0) == 0) return;
  const Execution exec;
  first_bag_.host.assign(1, 0);
  std::int64_t most_ids = 0;
  for (std::size_t f = 0; f < requested_.size(); ++f) {
    first_bag_.host.push_back(first_bag_.host.back() + (requested_[f] ? input.bags_of(f) : 0));
    if (requested_[f]) most_ids += input.ids[f];
  }
  bags_ = kernels::later_rows<Execution>(exec, {first_row_, first_bag_.array(), first_bag_.host.back(), most_ids},
                                         input.bags, workspace_);
  kernels::take<Execution>(exec, bags_.offsets, bags_.first_bag, first_id_.on_device());
  first_id_.read();
  for (std::size_t f = 0; f < ids_.size(); ++f) ids_[f] = first_id_(f + 1) - first_id_(f);
}

namespace {

std::vector<int> places_of(const comm::Communicator& comm, placement::Dedup dedup) {
  if (dedup == placement::Dedup::node) return places_of_node_dedup(comm);
  std::vector<int> places(static_cast<std::size_t>(comm.size()));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

/// Every rank is asked for its own row shards, by all or by those that ask for their node.
RowHop stage_of_owners(const comm::Communicator& comm, comm::Exchange& exchange, Wire& wire, const RowShards& rows,
                       placement::Dedup dedup) {
  if (dedup == placement::Dedup::node) return NodeRows::owners(comm, exchange, wire, rows);
  std::vector<RowHop::Range> requested;
  for (int r = 0; r < comm.size(); ++r) requested.push_back(rows.of_rank(r));
  return RowHop(exchange, wire, rows, requested, rows.of_rank(comm.rank()), std::vector<bool>(requested.size(), true));
}

}  // namespace

HomeRows::HomeRows(const comm::Communicator& comm, comm::Exchange& exchange, Wire& wire, const ShardedTables& tables,
                   const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes, placement::Dedup dedup)
    : tables_(tables),
      layout_(layout),
      dedup_(dedup),
      shards_(layout_, tables.tables(), tables.features(), modes, places_of(comm, dedup)),
      requested_bags_(layout_, modes, std::ssize(tables.features())),
      owners_(stage_of_owners(comm, exchange, wire, shards_, dedup)) {
  if (dedup == placement::Dedup::node) node_ = std::make_unique<NodeRows>(comm, exchange, wire.ids(), shards_);
  if (shardmark::placement::reads_once(dedup))
    owner_ = std::make_unique<OwnerRows>(shards_, owners_, tables, held_shards());
  std::vector<std::int64_t> strips(tables.features().size());
  for (const std::int64_t s : shards_.strips) {
    const Strip& strip = layout_.strips[s];
    const auto f = static_cast<std::size_t>(strip.feature);
    most_strips_ = std::max(most_strips_, ++strips[f]);
    if (tables.features()[f].pooling == Pooling::max) largest_max_dim_ = std::max(largest_max_dim_, strip.dim());
  }
}

std::vector<std::int64_t> HomeRows::held_shards() const {
  std::vector<std::int64_t> held;
  for (auto [s, end] = owners_.held(); s < end; ++s) held.push_back(shards_.shards[s].local_shard);
  return held;
}

void HomeRows::request(const StepInput& input) {
  const PositionKeys positions = list_positions(input);
  const std::int64_t bound = input.global_ids * most_strips_;
  if (node_)
    owners_.request(node_->request(positions, bound), bound);
  else
    owners_.request(positions, bound, !placement::asks_once(dedup_));
}

/// Offsets, keys and weights of the ids of every strip, in the order of the bags.
PositionKeys HomeRows::list_positions(const StepInput& input) {
  requested_bags_.set(input);
  std::vector<std::int64_t> ids_before{0};
  for (const std::int64_t ids : requested_bags_.ids()) ids_before.push_back(ids_before.back() + ids);
  std::int64_t bags = 0;
  positions_ = 0;
  first_of_strip_.host.clear();
  position_shift_.host.clear();
  for (const std::int64_t s : shards_.strips) {
    const auto f = static_cast<std::size_t>(layout_.strips[s].feature);
    first_of_strip_.host.push_back(bags);
    position_shift_.host.push_back(positions_ - ids_before[f]);
    bags += input.bags_of(f);
    positions_ += requested_bags_.ids()[f];
  }
  const bool weighted = input.bags.weights.extent(0) > 0;
  offsets_ = offsets_scratch_.first(bags + 1);
  weights_ = weights_scratch_.first(weighted ? positions_ : 0);
  const std::int64_t any = shards_.any.extent(0) > 0 ? positions_ : 0;
  const auto keys = keys_.first(positions_), any_ids = any_ids_.first(any);
  const auto slots = slots_.first(kernels::on_device<Execution> ? 0 : positions_), tags = tags_.first(any);
  kernels::list_strip_positions<Execution>(
      Execution(), shards_.owners, shards_.first_keys, requested_bags_.bags(),
      {first_of_strip_.array(), position_shift_.array(), offsets_, weights_, keys, slots, tags, any_ids, shards_.any});
  return {keys, slots, tags, any_ids};
}

void HomeRows::lay_out(const StepInput& input, const std::vector<std::int64_t>& pooled_begin,
                       const std::vector<std::int64_t>& gradient_begin) {
  place_groups();
  list_rows();
  indices_ = indices_scratch_.first(positions_);
  requested().number_positions(row_shift_.array(), indices_);
  lookups_.host.clear();
  gradients_.host.clear();
  maxima_.host.clear();
  for (std::size_t n = 0; n < shards_.strips.size(); ++n) {
    const auto f = static_cast<std::size_t>(layout_.strips[shards_.strips[n]].feature);
    add_strip(n, input.bags_of(f), pooled_begin[f], gradient_begin[f], gradient_begin.back());
  }
}

void HomeRows::place_groups() {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(shards_.groups)), dims(rows.size());
  group_row_.clear();
  for (std::int64_t s = 0; s < std::ssize(shards_.shards); ++s) {
    const auto group = static_cast<std::size_t>(shard(s).group);
    group_row_.push_back(rows[group]);
    rows[group] += requested().rows(s);
    dims[group] = shard(s).dim;
  }
  group_begin_.assign(1, 0);
  for (std::size_t g = 0; g < rows.size(); ++g) group_begin_.push_back(group_begin_.back() + rows[g] * dims[g]);
  packed_ = packed_scratch_.first(requested().packed_elements());
  rows_ = rows_scratch_.first(group_begin_.back());
}

/// From where the rows arrive to where they lie together.
void HomeRows::list_rows() {
  pieces_.host.clear();
  partials_.host.clear();
  row_shift_.host.clear();
  std::int64_t first_row = 0;
  for (std::int64_t s = 0; s < std::ssize(shards_.shards); ++s) {
    const auto group = static_cast<std::size_t>(shard(s).group);
    const std::int64_t in_group = group_row_[s], dim = shard(s).dim;
    pieces_.host.push_back({.first_row = first_row,
                            .bags = requested().rows(s),
                            .dim = dim,
                            .home = group_begin_[group] + in_group * dim,
                            .home_stride = dim,
                            .first_partial = s});
    partials_.host.push_back({.packed = requested().packed_begin(s)});
    row_shift_.host.push_back(in_group - requested().first_row(s));
    first_row += requested().rows(s);
  }
}

void HomeRows::add_strip(std::size_t number, std::int64_t bags, std::int64_t output, std::int64_t gradient,
                         std::int64_t gradients_end) {
  const Strip& strip = layout_.strips[shards_.strips[number]];
  const Feature& feature = tables_.features()[strip.feature];
  const std::int64_t dim = tables_.tables()[feature.table].dim;
  const std::int64_t first_bag = first_of_strip_.host[number];
  const bool max = feature.pooling == Pooling::max;
  const std::int64_t begin = group_begin_[shards_.group_of_strip[number]];
  lookups_.host.push_back({.first_bag = first_bag,
                           .bags = bags,
                           .rows = rows_.data() + begin,
                           .value_type = ValueType::fp32,
                           .dim = strip.dim(),
                           .output = output + strip.column_begin,
                           .output_stride = dim,
                           .pooling = max ? Pooling::max : Pooling::sum});
  gradients_.host.push_back({.first_bag = first_bag,
                             .bags = bags,
                             .gradient = max ? gradients_end : gradient + strip.column_begin,
                             .gradient_stride = max ? largest_max_dim_ : dim,
                             .pooling = max ? Pooling::max : Pooling::sum});
  if (!max) return;
  kernels::PooledGradient& maxima = maxima_.host.emplace_back(kernels::PooledGradient{lookups_.host.back()});
  maxima.gradient = gradient + strip.column_begin;
  maxima.gradient_stride = dim;
  maxima.id_gradient = gradients_end;
  maxima.id_gradient_stride = largest_max_dim_;
}

DeviceArray<float> HomeRows::receive(const DeviceArray<float>& held) {
  if (node_) {
    const auto rows = node_rows_.first(owners_.requested().packed_elements());
    owners_.send_rows(held, rows);
    node_->hand_on(owners_, rows, packed_);
  } else {
    owners_.send_rows(held, packed_);
  }
  return packed_;
}

void HomeRows::pool(const DeviceArray<float>& vectors) {
  const Execution exec;
  kernels::sum_partials<Execution>(exec, pieces_.array(), {partials_.array(), {}}, requested().count(), packed_, rows_);
  kernels::pooled_lookup(exec, lookups_.array(), ConstDeviceArray<std::int64_t>(offsets_), indices_, weights_, vectors);
}

void HomeRows::return_gradients(const DeviceArray<float>& vectors, const ConstDeviceArray<float>& gradients,
                                const DeviceArray<float>& held) {
  const Execution exec;
  const auto offsets = gradient_offsets_.first(positions_);
  kernels::expand_positions(exec, gradients_.array(), ConstDeviceArray<std::int64_t>(offsets_), indices_,
                            keys_.first(positions_), offsets);
  const std::int64_t of_ids = maxima_.host.empty() ? 0 : positions_ * largest_max_dim_;
  const auto of_vectors = with_max_gradients(gradients, of_ids, max_gradients_, [&](const auto& all) {
    kernels::max_gradients<Execution>(exec, maxima_.array(), offsets_, indices_, weights_, vectors, gradients, all);
  });
  const auto packed = packed_gradients_.first(requested().packed_elements());
  kernels::pack_row_gradients<Execution>(exec, {requested().unique(), offsets, weights_, of_vectors},
                                         requested().packed(), workspace_, packed);
  if (node_) {
    const auto sums = node_gradients_.first(owners_.requested().packed_elements());
    node_->collect(owners_, packed, sums);
    owners_.return_gradients(sums, held);
  } else {
    owners_.return_gradients(packed, held);
  }
}

}  // namespace shardmark::workloads
