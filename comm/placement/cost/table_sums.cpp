// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/table_sums.hpp"

#include <algorithm>

#include "reference/dynamic/eviction.hpp"
#include "reference/dynamic/key_buckets.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {

TableSums::TableSums(const StepContext& of_step, const MachineModel& of_machine, std::int64_t t,
                     const TablePlacement& of_table)
    : step(of_step),
      machine(of_machine),
      number(t),
      table(of_step.tables()[t]),
      placement(of_table),
      packing(packing_of(of_step, t, of_table)) {
  table.storage = placement.storage.value_or(table.storage);
  for (const Feature& feature : step.features()) {
    if (feature.table != t) continue;
    ++features;
    own_ids += static_cast<double>(step.samples() * feature.hotness);
    pools.add(feature.pooling);
  }
}

LookedUp TableSums::looked_up(const RowSet& rows, double share) const {
  return {step.statistics.expected(number, rows, step.samples()),
          step.statistics.expected(number, rows, step.global_batch), far_rows(step, number, rows, share)};
}

void TableSums::read_rows(RankWork& to, const LookedUp& looked, double distinct, std::int64_t columns) const {
  if (!storage_of(table).computes())
    return add(to, Term::lookup_line, looked.far.lookup * lines_of_row(storage_of(table).row_bytes(table, columns)));
  const LookupFlops flops = storage_of(table).expected_flops(table, distinct);
  add(to, Term::tt_flop, flops.forward);
  add(to, Term::tt_gradient_flop, flops.backward);
  add(to, Term::lookup_value, distinct * static_cast<double>(columns));
}

double TableSums::lines_of_row(std::int64_t bytes) const {
  return lines_of(bytes) / machine.row_share(static_cast<double>(bytes));
}

/// Is the share of the time of a vector's first line, read at random, that each following line takes: processors read
/// on by themselves. An Intel Xeon takes twice as long for 8 lines as for one.
constexpr double share_of_following_line = 0.125;

/// Returns lines of gradients that no cache holds: vectors are read once from wherever they are, and then, table by
/// table, once more for each further id of their bags.
double TableSums::far_gradient_lines(double positions, double vectors, std::int64_t columns) const {
  const double of_feature = 4 * vectors * static_cast<double>(columns) / features;
  const double again = std::max(0.0, positions - vectors) * share_beyond(of_feature, machine.cache_per_rank);
  const double following = lines_of(4 * columns) - 1.0;
  return (step.far_vectors * vectors + again) * (1.0 + share_of_following_line * following);
}

double TableSums::updated_values(double distinct, std::int64_t columns) const {
  if (!storage_of(table).computes()) return distinct * static_cast<double>(columns);
  double values = 0.0;
  for (const Table& part : storage_of(table).parts(table))
    values += expected_distinct(static_cast<double>(part.rows), distinct) * static_cast<double>(part.dim);
  return values;
}

void TableSums::update_rows(RankWork& to, const LookedUp& looked, double positions, double vectors,
                            std::int64_t columns) const {
  const double gradients = positions * static_cast<double>(columns), rows = looked.all.distinct_rows;
  const auto exchanged_sums = static_cast<double>(exchanged_row_sums(table, placement));
  const bool in_two_passes = exchanged_sums > 0.0;
  add(to, Term::update_value, gradients * ((in_two_passes ? 2 : 1) + (pools.by_max ? 1 : 0)));
  add(to, Term::update_vector_line, far_gradient_lines(positions, vectors, columns));
  add(to, Term::update_shard, 1);
  add(to, Term::update_row, rows);
  add(to, Term::exchanged_row, exchanged_sums * rows);
  add(to, Term::optimizer_value, updated_values(rows, columns) * machine.optimizer_weight(table.optimizer.kind));
  if (storage_of(table).computes()) return;
  const std::int64_t state = 4 * state_per_row(table.optimizer.kind, columns);
  add(to, Term::update_line,
      looked.far.update * lines_of_row(storage_of(table).row_bytes(table, columns)) +
          (state > 0 ? looked.far.state * lines_of_row(state) : 0.0));
}

bool TableSums::sorts_for_lookup() const {
  return storage_of(table).comes_and_goes && !table.any_key && !step.weighted && !pools.by_max;
}

void TableSums::add_positions(RankWork& to, double positions) const {
  add(to, Term::update_id, positions);
  if (!sorts_for_lookup()) add(to, Term::update_sorted_id, positions);
}

void TableSums::route_keys(RankWork& home, const Shard& shard, const LookedUp& looked) const {
  if (storage_of(table).comes_and_goes && shard.rows.count() < table.rows) add(home, Term::route_key, looked.own.ids);
}

void TableSums::find_keys(RankWork& owner, const Shard& shard, const LookedUp& looked, double positions) const {
  if (!storage_of(table).comes_and_goes) return;
  const double share = static_cast<double>(shard.rows.count()) / static_cast<double>(table.rows);
  add(owner, Term::key_id, positions);
  add(owner, Term::key, looked.all.distinct_rows);
  add(owner, Term::key_line,
      looked.far.state * (lines_of_row(key_line_bytes) + lines_of_row(static_cast<std::int64_t>(sizeof(RowUse)))));
  add(owner, Term::new_key, share * step.statistics.new_keys(number, step.global_batch));
}

void TableSums::update_shard(RankWork& owner, const Shard& shard, const LookedUp& looked, double positions,
                             double vectors) const {
  add_positions(owner, positions);
  owner.update_keys += static_cast<double>(shard.rows.count());
  update_rows(owner, looked, positions, vectors, shard.columns());
}

void TableSums::add_codec(RankWork& to, double values) const {
  if (packing.wire.forward != ValueType::fp32) add(to, Term::coded_value, values);
  if (packing.wire.backward != ValueType::fp32) add(to, Term::coded_gradient, values);
}

double TableSums::bytes_of_max_gradient() const {
  return pools.by_max ? max_gradient_bytes(table.dim, !placement.shards.empty(), has_replicas(placement)) : 0.0;
}

void TableSums::add_held_gradients(RankWork& to, double ids, std::int64_t columns) const {
  add_buffer(to, ids * bytes_of_max_gradient());
  if (exchanged_row_sums(table, placement) > 0) add_buffer(to, summed_gradient_bytes(columns, ids));
}

}  // namespace shardmark::placement
