// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <future>

#include "kernels/bench/suite.hpp"
#include "reference/counter_random.hpp"

namespace shardmark::kernels::bench {
namespace {

/// Maps r in [0, 1) to a row: P(i) ~ (i + 1)^-alpha by the inverse of its continuous distribution; uniform for 0.
/// Shuffled: times a prime larger than any number of rows, modulo theirs.
std::int64_t draw(double r, std::int64_t rows, const Case& of) {
  const auto n = static_cast<double>(rows);
  if (of.alpha == 0) return static_cast<std::int64_t>(r * n);
  const double g = 1 - of.alpha;
  const double y = std::pow(r * (std::pow(n + 1, g) - 1) + 1, 1 / g);
  const std::int64_t row = std::clamp<std::int64_t>(static_cast<std::int64_t>(y) - 1, 0, rows - 1);
  return of.shuffled ? row * 2'654'435'761 % rows : row;
}

/// A batch on the host, in the words of IdBatch.
struct HostBatch {
  std::vector<std::int64_t> ids, keys, distinct, sorted;
};

HostBatch draw_batch(const Problem& problem, std::size_t number) {
  HostBatch drawn;
  for (std::size_t t = 0; t < problem.table_rows.size(); ++t)
    for (std::int64_t i = 0; i < problem.batch * problem.shape.tables[t].hotness; ++i) {
      const double r = unit_interval(random_bits(7, number, t, i));
      drawn.ids.push_back(draw(r, problem.table_rows[t], problem.shape));
      drawn.keys.push_back(problem.first_key[t] + drawn.ids.back());
    }
  std::vector<bool> seen(static_cast<std::size_t>(problem.rows()));
  for (const std::int64_t key : drawn.keys)
    if (auto known = seen[key]; !known) {
      known = true;
      drawn.distinct.push_back(key);
    }
  drawn.sorted = drawn.distinct;
  std::sort(drawn.sorted.begin(), drawn.sorted.end());
  return drawn;
}

IdBatch batch_of(const Exec& exec, const HostBatch& drawn) {
  return {array_of(exec, drawn.ids, "shardmark::bench_ids"),
          array_of(exec, std::vector<std::int32_t>(drawn.ids.begin(), drawn.ids.end()), "shardmark::bench_ids32"),
          array_of(exec, drawn.keys, "shardmark::bench_keys"),
          array_of(exec, drawn.distinct, "shardmark::bench_distinct"),
          array_of(exec, drawn.sorted, "shardmark::bench_sorted")};
}

}  // namespace

Problem::Problem(const Case& of, const Options& options)
    : shape(of), batch(scaled_batch(of.batch, options)), first_key{0} {
  std::vector<std::int64_t> ends{0}, bags{0};
  for (const auto& table : shape.tables) {
    table_rows.push_back(scaled(table.rows, options));
    first_key.push_back(first_key.back() + table_rows.back());
    bags.push_back(bags.back() + batch);
    for (std::int64_t sample = 0; sample < batch; ++sample) ends.push_back(ends.back() + table.hotness);
  }
  first_bag = array_of(Exec{}, bags, "shardmark::bench_first_bag");
  offsets = array_of(Exec{}, ends, "shardmark::bench_offsets");
  std::vector<std::future<HostBatch>> drawn;
  for (std::size_t number = 0; number < batch_count; ++number)
    drawn.push_back(std::async(std::launch::async, [this, number] { return draw_batch(*this, number); }));
  for (auto& batch_drawn : drawn) batches.push_back(batch_of(Exec{}, batch_drawn.get()));
}

std::int64_t Problem::distinct() const {
  std::size_t sum = 0;
  for (const auto& ids : batches) sum += ids.sorted.extent(0);
  return static_cast<std::int64_t>(sum / batch_count);
}

std::string Problem::name(const Case& shape, ValueType type, const Options& options) {
  std::int64_t rows = 0;
  for (const auto& table : shape.tables) rows += scaled(table.rows, options);
  return "case:" + std::string(shape.name) + "/tables:" + std::to_string(shape.tables.size()) +
         "/rows:" + std::to_string(rows) + "/dim:" + std::to_string(shape.dim) +
         "/batch:" + std::to_string(scaled_batch(shape.batch, options)) + "/values:" + std::string(name_of(type));
}

}  // namespace shardmark::kernels::bench
