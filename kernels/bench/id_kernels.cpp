// SPDX-License-Identifier: Apache-2.0
// What happens to ids before rows are read or changed: sorted by the owners of their rows, and made distinct.
#include "kernels/bench/hash_unique_rows.hpp"
#include "kernels/bench/suite.hpp"
#include "kernels/route/bucketize.hpp"
#include "kernels/sort/unique_rows.hpp"

namespace shardmark::kernels::bench {
namespace {

constexpr std::int64_t owners = 4;

/// Every table dealt out to `owners` ranks, row after row; slots by rank, then table.
RowPartition dealt_out(const Problem& problem) {
  RowPartition partition;
  for (std::int64_t t = 0; t < problem.tables(); ++t) {
    const std::int64_t rows = problem.table_rows[t];
    std::vector<OwnedRows> shards;
    for (std::int64_t owner = 0; owner < std::min(owners, rows); ++owner)
      shards.push_back({owner, rows, owners, owner * problem.tables() + t});
    partition.add_strip(t, rows, shards);
  }
  return partition;
}

/// The first half of every table's rows with one owner, the second with another, as hot rows and the others are that
/// get as many ids; slots likewise.
RowPartition in_halves(const Problem& problem) {
  RowPartition partition;
  for (std::int64_t t = 0; t < problem.tables(); ++t) {
    const std::int64_t rows = problem.table_rows[t], half = (rows + 1) / 2;
    std::vector<OwnedRows> shards{{0, half, 1, t}};
    if (half < rows) shards.push_back({half, rows, 1, problem.tables() + t});
    partition.add_strip(t, rows, shards);
  }
  return partition;
}

void bucketize_of(benchmark::State& state, Suite& suite, const Case& shape, RowPartition (*partition)(const Problem&)) {
  const Problem& problem = suite.start(shape);
  const Exec& exec = suite.exec();
  const std::int64_t slots = owners * problem.tables(), cells = slots * problem.batch;
  const auto owners_of_rows = row_owners(exec, partition(problem));
  std::vector<std::int64_t> first_cell;
  for (std::int64_t s = 0; s < slots; ++s) first_cell.push_back(s * problem.batch);
  const Buckets<Exec, std::int32_t, std::int32_t> buckets{
      array_of(exec, first_cell, "shardmark::bench_first_cell"),
      allocate<Exec, std::int32_t>("shardmark::bench_lengths", cells),
      allocate<Exec, std::int32_t>("shardmark::bench_bucketized", problem.ids()),
      {}};
  const auto counts = allocate<Exec, std::int64_t>("shardmark::bench_slot_counts", slots);
  const KnownStrips known{std::vector<std::int64_t>(static_cast<std::size_t>(problem.tables()), problem.batch), {}, {}};
  BucketizeWorkspace<Exec> workspace;
  const auto run = [&](std::size_t batch) {
    const Bags<Exec, std::int64_t> bags{problem.first_bag, problem.offsets, problem.batches[batch].ids, {}};
    bucketize(exec, owners_of_rows, bags, buckets, counts, workspace, known);
  };
  const Work work = bucketize_work(problem.bags(), problem.ids(), cells, problem.ids(), false, 4);
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

void unique_rows_of(benchmark::State& state, Suite& suite, const Case& shape, bool by_hash) {
  const Problem& problem = suite.start(shape);
  UniqueRowsWorkspace<Exec> radix_workspace;
  HashUniqueRowsWorkspace<Exec> hash_workspace;
  const auto run = [&](std::size_t batch) {
    const auto& keys = problem.batches[batch].keys;
    if (by_hash)
      hash_unique_rows<Exec>(suite.exec(), keys, problem.rows(), hash_workspace);
    else
      unique_rows<Exec>(suite.exec(), keys, problem.rows(), radix_workspace);
  };
  const Work work = by_hash ? hash_unique_rows_work(problem.ids(), problem.distinct())
                            : unique_rows_work(problem.ids(), problem.rows(), problem.distinct());
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

}  // namespace

void add_id_kernels(Suite& suite, const Case& shape, ValueType type) {
  if (type != ValueType::fp32) return;
  const std::string name = "/" + Problem::name(shape, type, suite.options());
  add("bucketize" + name + "/owners:" + std::to_string(owners),
      [&suite, &shape](auto& state) { bucketize_of(state, suite, shape, dealt_out); });
  add("bucketize_halves" + name, [&suite, &shape](auto& state) { bucketize_of(state, suite, shape, in_halves); });
  for (const bool by_hash : {false, true})
    add("unique_rows" + name + (by_hash ? "/by:hash" : "/by:radix"),
        [&suite, &shape, by_hash](auto& state) { unique_rows_of(state, suite, shape, by_hash); });
}

}  // namespace shardmark::kernels::bench
