// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/table_sums.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

/// Adds gradients that travel by rows: every rank sorts and adds up those of all.
void gather_replicas(const TableSums& sums, const RowSet& rows, const LookedUp& looked, RankWork& work,
                     StepTotals& totals) {
  const double dim = static_cast<double>(sums.table.dim), gathered = sums.ranks() * looked.own.distinct_rows;
  totals.all_gathered += row_gradient_bytes(looked.own.distinct_rows, sums.table.dim);
  sums.add_positions(work, gathered, rows.count());
  TableSums::add(work, Term::update_value, (gathered + looked.own.distinct_rows) * dim);
  work.memory += gathered * (4 * dim + 80);
}

/// Adds dense sums: all rows, or those of the parts that they are computed from, have a place in the sums, and with it
/// a count.
void reduce_replicas(const TableSums& sums, std::int64_t rows, RankWork& work, StepTotals& totals) {
  const double values = summed_values(sums.table, rows);
  TableSums::add(work, Term::replicated_value, values);
  if (sums.step.ranks > 1) totals.all_reduced += 4 * values;
}

}  // namespace

void add_replicas(const TableSums& sums, const RowSet& rows, TableWork& table) {
  RankWork& work = table.everywhere;
  const LookedUp looked = sums.looked_up(rows, 1.0 / sums.ranks());
  const ShardCounts& own = looked.own;
  const double outputs = own.bags * static_cast<double>(sums.table.dim);
  work.memory += stored_bytes(sums.table, rows.count(), sums.table.dim) + replica_bytes(sums.table, rows.count());
  if (sums.placement.data_parallel) {
    const VectorBytes vectors{.outputs = 4 * outputs, .behind = 4 * outputs};
    TableSums::add_buffer(work, bytes_of_vectors(vectors, sums.pools, RowTransfer::dense_partials, {}));
  }
  TableSums::add(work, Term::route_cell, 2 * own.bags);
  TableSums::add(work, Term::owned_id, own.ids);
  TableSums::add(work, Term::lookup_bag, own.bags);
  TableSums::add(work, Term::lookup_id, own.ids);
  TableSums::add(work, Term::lookup_value, own.ids * static_cast<double>(sums.table.dim) + outputs);
  sums.add_lines(work, Term::lookup_vector_line, outputs / TableSums::values_of_line);
  sums.read_rows(work, looked, own.distinct_rows, sums.table.dim);
  if (!sums.placement.data_parallel) sums.add_outputs(work, 2 * outputs);  // added to those of shards
  if (sums.placement.data_parallel) sums.add_divided_gradients(work, outputs);
  sums.update_rows(work, looked, {own.ids, own.bags, own.touched_bags, rows.count(), sums.table.dim});
  if (!storage_of(sums.table).computes() &&
      gradients_by_rows(sums.step, rows.count(), sums.table.dim, own.distinct_rows))
    gather_replicas(sums, rows, looked, work, table.totals);
  else
    reduce_replicas(sums, rows.count(), work, table.totals);
}

}  // namespace shardmark::placement
