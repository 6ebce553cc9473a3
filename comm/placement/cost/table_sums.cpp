// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/table_sums.hpp"

#include <algorithm>
#include <cmath>

#include "reference/dynamic/eviction.hpp"
#include "reference/dynamic/key_buckets.hpp"
#include "reference/storage.hpp"
#include "reference/work.hpp"

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
    if (divides(feature.pooling) && (feature.hotness > 1 || step.weighted)) ++divided;
  }
  divided /= std::max(1.0, features);
}

LookedUp TableSums::looked_up(const RowSet& rows, double share) const {
  return {step.statistics.expected(number, rows, step.samples()),
          step.statistics.expected(number, rows, step.global_batch),
          far_rows(step, number, rows, share, machine.cache_per_rank)};
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

/// Returns whether the gradients of the rows are added in the order of the ids, to sums that a cache holds.
bool TableSums::adds_few(const Gradients& of) const {
  return machine.on_processors && !step.weighted && !pools.by_max && !storage_of(table).comes_and_goes &&
         few_row_sums(of.rows, of.columns, std::llround(of.bags)) > 0 && static_cast<double>(of.rows) <= of.positions;
}

double TableSums::updated_values(double distinct, std::int64_t columns) const {
  if (!storage_of(table).computes()) return distinct * static_cast<double>(columns);
  double values = 0.0;
  for (const Table& part : storage_of(table).parts(table))
    values += expected_distinct(static_cast<double>(part.rows), distinct) * static_cast<double>(part.dim);
  return values;
}

void TableSums::update_rows(RankWork& to, const LookedUp& looked, const Gradients& gradients) const {
  const std::int64_t columns = gradients.columns;
  const double values = gradients.positions * static_cast<double>(columns), rows = looked.all.distinct_rows;
  const auto exchanged_sums = static_cast<double>(exchanged_row_sums(table, placement));
  const double passes = (exchanged_sums > 0.0 ? 2 : 1) + (pools.by_max ? 1 : 0);
  const double gradient_lines = gradients.vectors * static_cast<double>(columns) / values_of_line;
  if (adds_few(gradients)) {
    add(to, Term::update_id, gradients.positions);
    add_lines(to, Term::update_ordered_line, gradient_lines);
    add(to, Term::update_value, values + passes * rows * static_cast<double>(columns));
  } else {
    add_positions(to, gradients.positions, gradients.rows);
    add(to, Term::update_value, passes * values);
    add(to, Term::update_vector_line,
        gradients.vectors * (1.0 + share_of_following_line * (lines_of(4 * columns) - 1.0)));
    add_lines(to, Term::update_gradient_line, gradient_lines);
  }
  add(to, Term::update_shard, 1);
  add(to, Term::update_row, rows);
  add(to, Term::exchanged_row, exchanged_sums * rows);
  add(to, Term::optimizer_value, updated_values(rows, columns) * machine.optimizer_weight(table.optimizer.kind));
  if (storage_of(table).computes()) return;
  const std::int64_t state = 4 * state_per_row(table.optimizer.kind, columns);
  to.updated_lines += looked.far.update * lines_of_row(storage_of(table).row_bytes(table, columns)) +
                      (state > 0 ? looked.far.state * lines_of_row(state) : 0.0);
}

bool TableSums::sorts_for_lookup() const {
  return storage_of(table).comes_and_goes && !table.any_key && !step.weighted && !pools.by_max;
}

void TableSums::add_positions(RankWork& to, double positions, std::int64_t rows) const {
  add(to, Term::update_id, positions);
  if (!sorts_for_lookup()) add(to, Term::update_sorted_id, positions * radix_passes(rows));
}

void TableSums::route_keys(RankWork& home, const Shard& shard, const LookedUp& looked, int times) const {
  if (storage_of(table).comes_and_goes && shard.rows.count() < table.rows)
    add(home, Term::route_key, times * looked.own.ids);
}

void TableSums::find_keys(RankWork& owner, const Shard& shard, const LookedUp& looked, double positions) const {
  if (!storage_of(table).comes_and_goes) return;
  const double share = static_cast<double>(shard.rows.count()) / static_cast<double>(table.rows);
  if (sorts_for_lookup())
    add(owner, Term::sorted_key, positions * radix_passes(shard.rows.count()));
  else
    add(owner, Term::key_id, positions);
  add(owner, Term::key, looked.all.distinct_rows);
  add(owner, Term::key_line,
      looked.far.state * (lines_of_row(key_line_bytes) + lines_of_row(static_cast<std::int64_t>(sizeof(RowUse)))));
  add(owner, Term::new_key, share * step.statistics.new_keys(number, step.global_batch));
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
