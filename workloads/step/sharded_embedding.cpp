// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/sharded_embedding.hpp"

#include <algorithm>
#include <numeric>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/cheapest_transfers.hpp"
#include "reference/work.hpp"
#include "workloads/step/commit_fault.hpp"
#include "workloads/transfer/unique_rows/choose_dedup.hpp"

namespace shardmark {
namespace {

/// How the vectors of each strip travel: transfers differ for row-split ones only.
std::vector<RowTransfer> modes_of(const ShardLayout& layout, RowTransfer transfer) {
  std::vector<RowTransfer> modes;
  for (const Strip& strip : layout.strips) modes.push_back(strip.row_split() ? transfer : RowTransfer::dense_partials);
  return modes;
}

/// By strip of the layout, what the first batch makes cheapest. Collective.
std::vector<RowTransfer> cheapest_modes(const CaseContext& context, const ShardLayout& layout, const StepInput& input) {
  const auto& tables = context.tables.tables();
  const auto& features = context.tables.features();
  std::vector<FeatureBags> bags;
  for (std::size_t f = 0; f < features.size(); ++f)
    bags.push_back({{input.bags.offsets.data() + input.first_bag[f], static_cast<std::size_t>(input.bags_of(f)) + 1},
                    {input.bags.indices.data(), input.bags.indices.extent(0)}});
  TransferBytes bytes(context.plan, tables, features, context.movement.wire, context.wire.ids(), input.weighted);
  bytes.add_home(context.comm.rank(), bags);
  context.lane.run([&] { all_reduce(context.comm, bytes.bytes(), Reduce::sum); });
  const auto splits = row_splits(context.plan, tables);
  const auto chosen = bytes.cheapest();
  std::vector<RowTransfer> modes;
  for (const Strip& strip : layout.strips) {
    const std::int64_t table = features[strip.feature].table;
    const auto split = std::ranges::find(splits, RowSplit{table, strip.column_begin, strip.column_end});
    modes.push_back(strip.row_split() ? chosen[split - splits.begin()] : RowTransfer::dense_partials);
  }
  return modes;
}

/// Where NCCL exchanges what is not added, it adds too.
std::unique_ptr<Transfer> make_transfer(const CaseContext& context, Exchange& exchange, SentBytes& sent) {
  const TransferChoice& choice = choice_named(transfers, "transfer", context.movement.transfer);
  const bool nccl = context.movement.exchange == "nccl" && choice.reduction == "library";
  return choice.make(
      {context.comm, context.lane, exchange, context.wire, sent, choice.name, nccl ? "nccl" : choice.reduction});
}

RowTransfer transfer_of(const Movement& movement) {
  return choice_named(transfers, "transfer", movement.transfer).mode;
}

/// Whether the first batch decides between dedup local and node.
bool chooses_dedup(const CaseContext& context, const std::vector<RowTransfer>& modes) {
  return context.movement.dedup == Dedup::automatic && std::ranges::count(modes, RowTransfer::unique_rows) > 0 &&
         NodeRows::unusable(context.comm).empty();
}

Dedup without_choice(Dedup dedup) { return dedup == Dedup::automatic ? Dedup::local : dedup; }

}  // namespace

ShardedEmbedding::ShardedEmbedding(const CaseContext& context, ShardLayout layout)
    : context_(context),
      comm_(context.comm),
      lane_(context.lane),
      tables_(context.tables),
      layout_(std::move(layout)),
      fault_(context.fault),
      sent_(comm_.rank(), comm_.size()),
      exchange_(std::make_unique<CountedExchange>(
          std::make_unique<LaneExchange>(exchange_named(context.movement.exchange).make(comm_), lane_), sent_)),
      transfer_(make_transfer(context, *exchange_, sent_)),
      row_sum_exchange_(comm_, *exchange_, context.plan, tables_.tables(), layout_),
      replicated_(comm_, lane_, tables_, layout_, context.movement.replicated_gradients, sent_),
      blocks_(tables_, layout_) {
  exchanged_shards_ = shards_where(false, exchanged_keys_);
  for (std::size_t f = 0; f < layout_.served.size(); ++f) {
    const Pooling pooling = tables_.features()[f].pooling;
    divides_ |= layout_.served[f] && (pooling == Pooling::mean || pooling == Pooling::sqrtn);
  }
  const RowTransfer transfer = transfer_of(context.movement);
  if (transfer == RowTransfer::automatic) return;
  const std::vector<RowTransfer> modes = modes_of(layout_, transfer);
  if (!chooses_dedup(context_, modes)) set_modes(modes, without_choice(context.movement.dedup));
}

/// The shards of replicated tables or the others, their rows numbered from 0; `keys`: how many rows.
kernels::ShardList<Execution, kernels::UpdateShard> ShardedEmbedding::shards_where(bool replicated,
                                                                                   std::int64_t& keys) const {
  std::vector<kernels::UpdateShard> chosen;
  keys = 0;
  for (std::int64_t s = 0; s < std::ssize(layout_.shards); ++s) {
    const LocalShard& shard = layout_.shards[s];
    if (shard.replicated != replicated) continue;
    chosen.push_back(tables_.update_shard(s, keys));
    keys += shard.rows.count();
  }
  return kernels::shard_list(Execution(), chosen);
}

/// What the first batch decides. Collective.
void ShardedEmbedding::decide(const StepInput& input) {
  const RowTransfer transfer = transfer_of(context_.movement);
  const std::vector<RowTransfer> modes =
      transfer == RowTransfer::automatic ? cheapest_modes(context_, layout_, input) : modes_of(layout_, transfer);
  if (!chooses_dedup(context_, modes)) return set_modes(modes, without_choice(context_.movement.dedup));
  set_modes(modes, Dedup::node);
  rows_->request(input);
  if (cheaper_between_nodes(comm_, lane_, *rows_, context_.wire) == Dedup::local) set_modes(modes, Dedup::local);
}

void ShardedEmbedding::set_modes(std::vector<RowTransfer> modes, Dedup dedup) {
  modes_ = std::move(modes);
  dedup_ = dedup;
  ids_.emplace(comm_, lane_, *exchange_, layout_, tables_.features(), tables_.tables(), modes_, context_.wire.ids(),
               fault_);
  rows_.emplace(comm_, *exchange_, context_.wire, tables_, layout_, modes_, dedup_);
  held_shards_.clear();
  for (auto [s, end] = rows_->held().held(); s < end; ++s) held_shards_.push_back(rows_->shard(s).local_shard);
}

void ShardedEmbedding::input_dist(const StepInput& input, PhaseClock& clock) {
  if (!ids_) decide(input);
  sent_.begin(Phase::input_dist);  // what the decision took is not counted
  const BagCounts bags = ids_->count_bags(input);
  if (bags != bags_) ids_->lay_out(bags);
  owned_ = ids_->run(input, *rows_);
  // Decided alike on all ranks, though one may find its own counts unchanged: exchanges set routes up together.
  const bool counts_follow_ids = std::ranges::any_of(modes_, [](RowTransfer mode) {
    return mode == RowTransfer::sparse_partials || mode == RowTransfer::unique_rows;
  });
  if (bags != bags_ || counts_follow_ids || ids_->vector_counts() != counts_) {
    bags_ = bags;
    counts_ = ids_->vector_counts();
    blocks_.set(bags_, counts_, transfer_->lay_out(layout_, modes_, bags_, counts_), held_shards_);
    vectors_ = vectors_scratch_.first(blocks_.size());
    packed_gradients_ = packed_gradients_scratch_.first(blocks_.places().packed_size);
    owner_gradients_ = owner_gradients_scratch_.first(blocks_.owner_gradients());
  }
  if (rows_->any()) {
    rows_->lay_out(input, blocks_.output_begin(), blocks_.gradient_begin());
    if (OwnerRows* owner = rows_->owner())
      owner->find(part(owned_.offsets, 0, owned_.rows + 1), part(owned_.ids, 0, owned_.rows));
  }
  clock.end(Phase::input_dist);
}

void ShardedEmbedding::lookup(const StepInput&, PhaseClock& clock) {
  interrupt(comm_, fault_);
  const Execution exec;
  for (const auto& [begin, end] : blocks_.places().zeros) Kokkos::deep_copy(exec, part(vectors_, begin, end), 0.0F);
  OwnerRows* owner = rows_->owner();
  if (owner) owner->read(part(vectors_, blocks_.rows_begin(), blocks_.size()));
  kernels::pooled_lookup(exec, owner ? blocks_.lookups_of_bags() : blocks_.lookups, owned_.offsets, owned_.ids,
                         owned_.weights, vectors_);
  if (fault_ == Fault::lookup && vectors_.extent(0) > 0) {
    if (blocks_.places().owner_size > 0)
      change_one(vectors_, 0, 1.0F, 1.0F);
    else if (owned_.rows > 0)
      change_one(vectors_, blocks_.rows_begin(), 1.0F, 1.0F);
    else
      change_one(vectors_, std::ranges::max(blocks_.output_begin()), 1.0F, 1.0F);
  }
  exec.fence("shardmark: pooled vectors are sent");
  clock.end(Phase::lookup);
}

std::int64_t ShardedEmbedding::lookup_bytes() {
  const Execution exec;
  const auto ids = static_cast<std::int64_t>(owned_.ids.extent(0));
  const auto keys = keys_.first(ids);
  LookupCounts counts{.bags = static_cast<std::int64_t>(owned_.offsets.extent(0)) - 1,
                      .ids = ids,
                      .output_elements = blocks_.looked_up()};
  for (const bool replicated : {false, true}) {
    const auto some = replicated ? part(keys, owned_.exchanged_ids, ids) : part(keys, 0, owned_.exchanged_ids);
    std::int64_t rows = 0;
    const auto shards = shards_where(replicated, rows);
    const auto unique = kernels::unique_rows<Execution>(exec, some, rows, unique_workspace_);
    counts.unique_bytes += kernels::row_elements(exec, unique, shards).bytes;
  }
  return pooled_lookup_work(counts, owned_.weights.extent(0) > 0, sizeof(std::int64_t)).bytes();
}

/// Divides the vectors of features that pool by mean or sqrtn by their bags' divisors. vectors_begin: by feature.
void ShardedEmbedding::divide(const StepInput& input, const std::vector<std::int64_t>& vectors_begin,
                              bool replicated_too, const DeviceArray<float>& vectors) const {
  std::vector<kernels::BagVectors> blocks;
  for (std::size_t f = 0; f < tables_.features().size(); ++f) {
    const Feature& feature = tables_.features()[f];
    if (!layout_.served[f] || (feature.pooling != Pooling::mean && feature.pooling != Pooling::sqrtn)) continue;
    if (!replicated_too && std::ranges::find(layout_.replicated_features, f) != layout_.replicated_features.end())
      continue;
    const std::int64_t dim = tables_.tables()[feature.table].dim;
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
  const std::int64_t packed = blocks_.places().owner_size;
  const auto owner = part(vectors_, 0, packed), home = part(vectors_, packed, blocks_.packed_end());
  transfer_->pack(Direction::forward, owner);
  transfer_->move(Direction::forward, owner, home);
  transfer_->unpack(Direction::forward, home);
  if (fault_ == Fault::exchange && blocks_.places().packed_size > 0) change_one(vectors_, packed, -1.0F, 0x1p-8F);
  kernels::sum_partials<Execution>(exec, blocks_.to_sum.pieces, {blocks_.to_sum.partials, owned_.vectors_before},
                                   blocks_.to_sum.rows, home, vectors_);
  if (rows_->any()) {
    const auto rows = rows_->receive(part(vectors_, blocks_.rows_begin(), blocks_.size()));
    if (fault_ == Fault::exchange && blocks_.places().packed_size == 0 && rows.extent(0) > 0)
      change_one(rows, 0, -1.0F, 0x1p-8F);
    rows_->pool(vectors_);
  }
  if (divides_) divide(input, blocks_.output_begin(), false, vectors_);
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
    divide(input, blocks_.gradient_begin(), true, divided);
    gradients_ = divided;
  }
  kernels::copy_to_partials<Execution>(exec, blocks_.to_send.pieces, {blocks_.to_send.partials, owned_.vectors_before},
                                       blocks_.to_send.rows, gradients_, packed_gradients_);
  exec.fence("shardmark: gradients are sent");
  const auto of_vectors = part(owner_gradients_, 0, blocks_.places().owner_size);
  transfer_->pack(Direction::backward, packed_gradients_);
  transfer_->move(Direction::backward, packed_gradients_, of_vectors);
  transfer_->unpack(Direction::backward, of_vectors);
  if (rows_->any())
    rows_->return_gradients(vectors_, gradients_,
                            part(owner_gradients_, blocks_.places().owner_size, blocks_.owner_gradients()));
  clock.end(Phase::grad_dist);
}

std::string ShardedEmbedding::picked_dedup() const {
  if (context_.movement.dedup != Dedup::automatic || !rows_ || !rows_->any()) return {};
  return std::string(name_of(dedup_));
}

DeviceArray<float> ShardedEmbedding::output(const StepInput& input, std::int64_t feature) const {
  const auto f = static_cast<std::size_t>(feature);
  const std::int64_t elements = input.first_element[f + 1] - input.first_element[f];
  return part(vectors_, blocks_.output_begin()[f], blocks_.output_begin()[f] + elements);
}

}  // namespace shardmark
