// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/group_flight.hpp"

#include <algorithm>

#include "workloads/step/phase.hpp"

namespace shardmark {

GroupFlight::GroupFlight(const Group& of)
    : group(of),
      sent(of.comm.rank(), of.comm.size(), phase_names.size()),
      exchange(*of.exchange, of.lane, sent),
      pooled(make_transfer(
          {of.comm, of.lane, exchange, of.wire, sent, of.how.movement.transfer, of.how.exchange.choice->reduction})),
      rows(of.comm, exchange, of.wire, of.tables, of.layout, of.modes, of.dedup),
      replicated(of.comm, of.lane, of.tables, of.layout, of.gathered, sent),
      ids(of.comm, of.lane, exchange, of.layout, of.tables, of.modes, of.wire.ids()),
      layout(of.tables, of.layout, rows, replicated),
      updates(of.tables, of.exchanged_shards),
      row_sums(of.comm, exchange, of.plan, of.tables.tables(), of.layout) {}

void GroupFlight::lay_out(const BagCounts& new_bags) {
  bags = new_bags;
  counts = ids.vector_counts();
  layout.set(bags, counts, pooled->lay_out(group.layout, group.modes, bags, counts));
  vectors = vectors_scratch.first(layout.size());
  packed_gradients = layout.outputs_are_packed() ? packed_gradients_scratch.first(layout.places().packed_size)
                                                 : part(vectors, layout.packed_begin(), layout.packed_end());
  // The gradients of a maximum are found by what the lookup wrote.
  owner_gradients = layout.exchanged.pools_by_max() ? owner_gradients_scratch.first(layout.packed_begin())
                                                    : part(vectors, 0, layout.packed_begin());
}

DeviceArray<float> GroupFlight::output(const StepInput& input, std::int64_t feature) const {
  const std::int64_t begin = layout.output_begin()[feature];
  return part(vectors, begin, begin + input.first_element[feature + 1] - input.first_element[feature]);
}

void GroupFlight::divide(const StepInput& input, const std::vector<std::int64_t>& begins, bool whole_too,
                         const DeviceArray<float>& bag_vectors) {
  const auto& features = group.tables.features();
  divided_blocks.host.clear();
  for (std::int64_t f = 0; f < std::ssize(features); ++f) {
    if (!group.layout.served[f] || !kernels::divides(features[f].pooling)) continue;
    if (!whole_too && layout.pools_whole(f)) continue;
    const std::int64_t dim = group.tables.table_of(features[f]).dim;
    divided_blocks.host.push_back({.first_bag = input.first_bag[f],
                                   .bags = input.bags_of(f),
                                   .dim = dim,
                                   .begin = begins[f],
                                   .stride = dim,
                                   .pooling = features[f].pooling});
  }
  kernels::divide_by_bag(Execution(), divided_blocks.array(), input.bags.offsets, input.bags.weights, bag_vectors);
}

}  // namespace shardmark
