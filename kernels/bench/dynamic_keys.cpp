// SPDX-License-Identifier: Apache-2.0
// Distinct rows of a dynamic table, found by their keys and updated in one kernel.
#include "kernels/bench/keyed_rows.hpp"
#include "kernels/bench/suite.hpp"

namespace shardmark::kernels::bench {
namespace {

constexpr int keyed_dim = 16;  ///< of the cases that are measured

/// Gives every row of a case a random key.
Array<Exec, std::int64_t> random_keys(const Exec& exec, const Array<Exec, std::int64_t>& rows) {
  const auto keys = allocate<Exec, std::int64_t>("shardmark::bench_keys", static_cast<std::int64_t>(rows.extent(0)));
  Kokkos::parallel_for(
      "shardmark::bench_random_keys", static_range(exec, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { keys(i) = static_cast<std::int64_t>(random_bits(5, rows(i))); });
  return keys;
}

/// Inserts the keys of all rows, some at a time.
KeyTable<Exec> table_of_all(const Exec& exec, std::int64_t rows) {
  constexpr std::int64_t at_once = 1 << 20;
  KeyTable<Exec> table(KeyBuckets::of_table(0));
  for (std::int64_t first = 0; first < rows; first += at_once) {
    const auto numbers = allocate<Exec, std::int64_t>("shardmark::bench_numbers", std::min(at_once, rows - first));
    Kokkos::parallel_for(
        "shardmark::bench_numbers", static_range(exec, static_cast<std::int64_t>(numbers.extent(0))),
        KOKKOS_LAMBDA(const std::int64_t i) { numbers(i) = first + i; });
    const auto keys = random_keys(exec, numbers);
    Kokkos::deep_copy(exec, numbers, no_slot);
    table.insert(exec, keys, numbers);
  }
  return table;
}

void dynamic_keys_of(benchmark::State& state, Suite& suite, const Case& shape, bool update) {
  const Problem& problem = suite.start(shape);
  const Exec& exec = suite.exec();
  const KeyTable<Exec> table = table_of_all(exec, problem.rows());
  std::vector<Array<Exec, std::int64_t>> keys;
  for (const auto& batch : problem.batches) keys.push_back(random_keys(exec, batch.distinct));
  std::size_t most = 0;
  for (const auto& batch : keys) most = std::max(most, batch.extent(0));
  const std::int64_t distinct = problem.distinct();
  const Work find = find_keys_work(distinct);
  if (!update) {
    const auto slots = allocate<Exec, std::int64_t>("shardmark::bench_slots", static_cast<std::int64_t>(most));
    const auto run = [&](std::size_t batch) { table.find(exec, keys[batch], slots); };
    return measure(state, suite, run, find, {});
  }
  const WordRows rows = suite.rows(ValueType::fp32);
  const auto row_state = suite.state(OptimizerKind::rowwise_adagrad);
  const KeyedRows<keyed_dim> keyed{
      Array<Exec, float>(reinterpret_cast<float*>(rows.words), static_cast<std::size_t>(problem.rows() * keyed_dim)),
      row_state};
  const auto gradients =
      allocate<Exec, float>("shardmark::bench_gradients", static_cast<std::int64_t>(most) * keyed_dim);
  Kokkos::deep_copy(exec, gradients, 0x1p-10F);
  const auto run = [&](std::size_t batch) {
    update_found_rows<keyed_dim>(exec, table.arrays(), keyed, keys[batch], gradients);
  };
  const Work work = find + fused_update_work({.positions = distinct,
                                              .position_elements = distinct * keyed_dim,
                                              .unique = distinct,
                                              .unique_elements = distinct * keyed_dim,
                                              .row_bytes = distinct * keyed_dim * 4,
                                              .state_elements = distinct,
                                              .gradient_elements = distinct * keyed_dim},
                                             false);
  measure(state, suite, run, work,
          {modify_ceiling(suite, rows, {reinterpret_cast<std::uint32_t*>(row_state.data()), 1}, false)});
}

}  // namespace

void add_dynamic_keys(Suite& suite, const Case& shape, ValueType type) {
  if (type != ValueType::fp32 || shape.dim != keyed_dim) return;
  const std::string name = "/" + Problem::name(shape, type, suite.options());
  add("find_keys" + name, [&suite, &shape](auto& state) { dynamic_keys_of(state, suite, shape, false); });
  add("find_update" + name + "/optimizer:rowwise_adagrad",
      [&suite, &shape](auto& state) { dynamic_keys_of(state, suite, shape, true); });
}

}  // namespace shardmark::kernels::bench
