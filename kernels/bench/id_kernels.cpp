// SPDX-License-Identifier: Apache-2.0
// What happens to ids before rows are read or changed: sorted by the owners of their rows, and made distinct.
#include "kernels/bench/hash_unique_rows.hpp"
#include "kernels/bench/suite.hpp"
#include "kernels/bucketize.hpp"
#include "kernels/unique_rows.hpp"

namespace shardmark::kernels::bench {
namespace {

constexpr std::int64_t owners = 4;

/// Every table dealt out to `owners` ranks, row after row; slots by rank, then table.
RowPartition dealt_out(const Problem& problem) {
  RowPartition partition;
  for (std::int64_t t = 0; t < problem.tables(); ++t) {
    const std::int64_t rows = problem.table_rows[static_cast<std::size_t>(t)];
    std::vector<OwnedRows> shards;
    for (std::int64_t owner = 0; owner < std::min(owners, rows); ++owner)
      shards.push_back({owner, rows, owners, owner * problem.tables() + t});
    partition.add_strip(t, rows, shards);
  }
  return partition;
}

void bucketize_of(benchmark::State& state, Suite& suite, const Case& shape) {
  const Problem& problem = suite.start(shape);
  const Exec& exec = suite.exec();
  const std::int64_t slots = owners * problem.tables(), cells = slots * problem.batch;
  const auto owners_of_rows = row_owners(exec, dealt_out(problem));
  std::vector<std::int64_t> first_bag, first_cell;
  for (std::int64_t t = 0; t <= problem.tables(); ++t) first_bag.push_back(t * problem.batch);
  for (std::int64_t s = 0; s < slots; ++s) first_cell.push_back(s * problem.batch);
  const auto device_first_bag = array_of(exec, first_bag, "shardmark::bench_first_bag");
  const Buckets<Exec, std::int32_t, std::int32_t> buckets{
      array_of(exec, first_cell, "shardmark::bench_first_cell"),
      allocate<Exec, std::int32_t>("shardmark::bench_lengths", cells),
      allocate<Exec, std::int32_t>("shardmark::bench_bucketized", problem.ids()),
      {}};
  const SlotCounts counts("shardmark::bench_slot_counts", static_cast<std::size_t>(slots));
  BucketizeWorkspace<Exec> workspace;
  const auto run = [&](std::size_t batch) {
    const Bags<Exec, std::int64_t> bags{device_first_bag, problem.offsets, problem.batches[batch].ids, {}};
    bucketize(exec, owners_of_rows, bags, buckets, counts, workspace);
  };
  const Work work = bucketize_work(problem.bags(), problem.ids(), cells, problem.ids(), false, 4);
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

template <class Workspace, class Find, class WorkOf>
void distinct_rows_of(benchmark::State& state, Suite& suite, const Case& shape, Workspace&& workspace, const Find& find,
                      const WorkOf& work_of) {
  const Problem& problem = suite.start(shape);
  const auto run = [&](std::size_t batch) { find(problem.batches[batch].keys, problem.rows(), workspace); };
  const Work work = work_of(problem);
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

void unique_rows_of(benchmark::State& state, Suite& suite, const Case& shape) {
  distinct_rows_of(
      state, suite, shape, UniqueRowsWorkspace<Exec>{},
      [&](const auto& keys, std::int64_t rows, auto& workspace) {
        unique_rows<Exec>(suite.exec(), keys, rows, workspace);
      },
      [](const Problem& problem) { return unique_rows_work(problem.ids(), problem.rows(), problem.distinct()); });
}

void hash_unique_rows_of(benchmark::State& state, Suite& suite, const Case& shape) {
  distinct_rows_of(
      state, suite, shape, HashUniqueRowsWorkspace<Exec>{},
      [&](const auto& keys, std::int64_t rows, auto& workspace) {
        hash_unique_rows<Exec>(suite.exec(), keys, rows, workspace);
      },
      [](const Problem& problem) { return hash_unique_rows_work(problem.ids(), problem.distinct()); });
}

}  // namespace

void add_id_kernels(Suite& suite, const Case& shape, ValueType type) {
  if (type != ValueType::fp32) return;
  const std::string name = "/" + Problem::name(shape, type, suite.options());
  add("bucketize" + name + "/owners:" + std::to_string(owners),
      [&suite, &shape](auto& state) { bucketize_of(state, suite, shape); });
  add("unique_rows" + name + "/by:radix", [&suite, &shape](auto& state) { unique_rows_of(state, suite, shape); });
  add("unique_rows" + name + "/by:hash", [&suite, &shape](auto& state) { hash_unique_rows_of(state, suite, shape); });
}

}  // namespace shardmark::kernels::bench
