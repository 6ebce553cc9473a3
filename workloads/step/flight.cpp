// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/flight.hpp"

#include <algorithm>

#include "reference/work.hpp"
#include "workloads/batches/compute_threads.hpp"
#include "workloads/step/phase_clock.hpp"

namespace shardmark::workloads {
namespace {

std::unique_ptr<Transfer> make_pooled(const TransferContext& context, std::optional<NodeVectors>& at_home) {
  return at_home ? make_vectors_at_home(context, *at_home) : make_transfer(context);
}

kernels::ShardList<Execution, kernels::GradientShard> gradient_shards_of(const Group& group) {
  std::vector<kernels::GradientShard> shards;
  for (const KeyedShard& keyed : group.layout.exchanged)
    shards.push_back({keyed.first_key, group.layout.shards[keyed.shard].dim()});
  return kernels::shard_list(Execution(), shards);
}

/// Returns what sums the gradients of replicated tables where the exchange is NCCL's; null without such tables.
/// Collective.
std::unique_ptr<comm::Nccl> nccl_of_replicas(const Group& group) {
  if (host_reaches_arrays || group.comm.size() == 1 || group.reduction != "nccl" || group.layout.replicas.empty())
    return nullptr;
  auto nccl = std::make_unique<comm::Nccl>(group.comm);
  if (group.exchange->follows()) nccl->follow(kernel_stream());
  return nccl;
}

}  // namespace

GroupFlight::GroupFlight(const Group& of)
    : group(of),
      readers(readers_in_node()),
      sent(of.comm.rank(), of.comm.size(), phase_count),
      exchange(*of.exchange, of.progress, sent),
      at_home(of.at_home ? std::make_optional<NodeVectors>(of.comm) : std::nullopt),
      pooled(make_pooled({of.comm, of.progress, exchange, of.wire, sent, of.modes, of.config.movement.transfer,
                          of.own_stays, of.reduction},
                         at_home)),
      rows(of.comm, exchange, of.wire, of.tables, of.layout, of.modes, of.dedup),
      replicated(of.comm, of.progress, of.tables, of.layout, of.gathered, sent, nccl_of_replicas(of)),
      ids(of.comm, of.progress, exchange, of.layout, of.tables, of.modes, of.wire.ids()),
      layout(of.tables, of.layout, rows, replicated),
      brought(of.tables, of.layout),
      updates(of.tables, of.layout.exchanged),
      row_sums(of.comm, exchange, of.plan, of.tables.tables(), of.tables.features(), of.layout),
      gradient_shards(gradient_shards_of(of)) {}

void GroupFlight::lay_out(const BagCounts& new_bags) {
  bags = new_bags;
  counts = ids.vector_counts();
  layout.place(bags, counts, pooled->lay_out(group.layout, group.modes, bags, counts));
  if (at_home) lay_out_at_home();
  layout.list(bags, counts, at_home ? at_home->homes() : HomePlaces{});
  if (!at_home) lay_out_here();
}

void GroupFlight::lay_out_here() {
  bands.clear();
  vectors = vectors_scratch.first(layout.regions().size());
  bands = layout.regions().bands_in(vectors);
  packed_gradients = layout.regions().of(vectors, VectorRegion::gradients);
  owner_gradients = layout.owner_gradients(vectors);
}

void GroupFlight::lay_out_at_home() {
  std::vector<std::int64_t> gradients(static_cast<std::size_t>(group.layout.ranks));
  for (int rank = 0; rank < group.layout.ranks; ++rank)
    for (std::int64_t f = 0; f < std::ssize(group.tables.features()); ++f)
      gradients[rank] += bags(rank, f) * group.tables.table_of(group.tables.features()[f]).dim;
  group.progress.run([&] { at_home->lay_out(layout.regions().size(), gradients); });
  vectors = at_home->vectors();
  packed_gradients = at_home->gradients();
  owner_gradients = at_home->all_gradients();
}

DeviceArray<float> GroupFlight::output(const StepInput& input, std::int64_t feature) const {
  const std::int64_t begin = layout.output_begin()[feature];
  return part(vectors, begin, begin + input.first_element[feature + 1] - input.first_element[feature]);
}

bool GroupFlight::divides(const StepInput& input) const {
  for (std::size_t f = 0; f < input.divided.size(); ++f)
    if (group.layout.served[f] && input.divided[f]) return true;
  return false;
}

void GroupFlight::divide(const StepInput& input, const std::vector<std::int64_t>& begins, bool whole_too,
                         const DeviceArray<float>& bag_vectors) {
  const auto& features = group.tables.features();
  divided_blocks.host.clear();
  for (std::int64_t f = 0; f < std::ssize(features); ++f) {
    if (!group.layout.served[f] || !input.divided[f]) continue;
    if (!whole_too && layout.pools_whole(f)) continue;
    const std::int64_t dim = group.tables.table_of(features[f]).dim;
    divided_blocks.host.push_back({.first_bag = input.first_bag[f],
                                   .bags = input.bags_of(f),
                                   .dim = dim,
                                   .begin = begins[f],
                                   .stride = dim,
                                   .pooling = features[f].pooling});
  }
  if (divided_blocks.host.empty()) return;
  kernels::divide_by_bag(Execution(), divided_blocks.array(), input.bags.offsets, input.bags.weights, bag_vectors);
}

namespace {

std::int64_t lookup_bytes_of(GroupFlight& flight) {
  const Execution exec;
  const auto ids = static_cast<std::int64_t>(flight.owned.ids.extent(0));
  const auto keys = flight.keys.first(ids);
  kernels::expand_positions(exec, flight.layout.gradients, ConstDeviceArray<std::int64_t>(flight.owned.offsets),
                            flight.owned.ids, keys, flight.gradient_offsets.first(ids));
  const auto row_bytes = [&](const auto& some, std::int64_t bound, const auto& rows) {
    return rows.row_bytes(kernels::unique_rows<Execution>(exec, some, bound, flight.unique_workspace));
  };
  const std::int64_t exchanged = flight.owned.exchanged_ids;
  const LookupCounts counts{
      .bags = flight.vectors_looked_up(),
      .ids = ids,
      .unique_bytes = row_bytes(part(keys, 0, exchanged), flight.group.layout.exchanged_keys, flight.updates) +
                      row_bytes(part(keys, exchanged, ids), flight.replicated.keys(), flight.replicated),
      .output_elements = flight.layout.looked_up()};
  return pooled_lookup_work(counts, flight.owned.weights.extent(0) > 0, sizeof(std::int64_t)).bytes();
}

}  // namespace

Flight::Flight(Embedding& embedding) : embedding_(embedding) {
  for (std::int64_t g = 0; g < embedding.groups(); ++g)
    groups_.push_back(std::make_unique<GroupFlight>(embedding.group(g)));
}

DeviceArray<float> Flight::output(const StepInput& input, std::int64_t feature) const {
  const std::int64_t table = embedding_.tables().features()[feature].table;
  return groups_[embedding_.group_of_table(table)]->output(input, feature);
}

RowCounts Flight::row_counts() const {
  RowCounts sum;
  for (const auto& group : groups_)
    if (group->rows.any()) sum += group->rows.counts();
  return sum;
}

std::int64_t Flight::lookup_bytes() {
  std::int64_t sum = 0;
  for (const auto& group : groups_) sum += lookup_bytes_of(*group);
  return sum;
}

void Flight::report(Storage storage, std::span<std::int64_t> numbers) const {
  for (const auto& group : groups_) {
    group->layout.exchanged.report(storage, numbers);
    group->layout.replicated.report(storage, numbers);
    group->updates.report(storage, numbers);
    group->replicated.report(storage, numbers);
  }
}

comm::SentBytes Flight::sent() const {
  comm::SentBytes sent(embedding_.comm().rank(), embedding_.comm().size(), phase_count);
  for (const auto& group : groups_) sent += group->sent;
  return sent;
}

}  // namespace shardmark::workloads
