// SPDX-License-Identifier: Apache-2.0
// Rows with their state are read, range by range, and written back into tables that hold others: steps go on as if
// nothing had been.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "workloads/measure/test/both_directions.hpp"
#include "workloads/measure/test/small_tts.hpp"

namespace shardmark::workloads {
namespace {

/// Visits the ranges of at most `rows` rows of every part that this rank holds.
template <class Visit>
void for_each_range(const ShardedTables& tables, std::int64_t rows, const Visit& visit) {
  for (std::int64_t s = 0; s < std::ssize(tables.layout().shards); ++s) {
    const auto parts = tables.store_of(s).parts(s);
    for (std::int64_t p = 0; p < std::ssize(parts); ++p) {
      const std::int64_t all = parts[p].rows.count();
      for (std::int64_t first = 0; first < all; first += rows)
        visit(tables.store_of(s), s, p, first, std::min(rows, all - first));
    }
  }
}

std::vector<StoredRows> read_all(const ShardedTables& tables, std::int64_t rows) {
  std::vector<StoredRows> all;
  for_each_range(tables, rows, [&](const Store& store, auto shard, auto part, auto first, auto count) {
    all.push_back(store.read_range(shard, part, first, count));
  });
  return all;
}

void write_all(const ShardedTables& tables, std::int64_t rows, const std::vector<StoredRows>& stored) {
  auto next = stored.begin();
  for_each_range(tables, rows, [&](Store& store, auto shard, auto part, auto first, auto) {
    store.write_range(shard, part, first, *next++);
  });
}

/// The bits of values and state.
std::vector<std::uint32_t> bits_of(const std::vector<StoredRows>& all) {
  std::vector<std::uint32_t> bits;
  for (const StoredRows& rows : all) {
    for (const std::byte byte : rows.values) bits.push_back(std::to_integer<std::uint32_t>(byte));
    for (const float number : rows.state) bits.push_back(std::bit_cast<std::uint32_t>(number));
  }
  return bits;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

/// All bits of outputs, rows and state that some steps leave on this rank.
struct Bits {
  std::vector<std::vector<std::uint32_t>> outputs;
  std::vector<std::uint32_t> rows;
};

Bits after_steps(Both& both, std::int64_t first, std::int64_t end) {
  Bits bits;
  for (std::int64_t step = first; step < end; ++step) {
    const StepInput& input = both.inputs[static_cast<std::size_t>(step) % both.inputs.size()];
    both.ready->step(input);
    bits.outputs.push_back(bits_of(outputs_of(both.ready->flight, input)));
  }
  bits.rows = bits_of(read_all(both.tables, 64));
  return bits;
}

void check_break(const comm::Communicator& comm, const RunOptions& options, std::string_view planner) {
  const std::string name = std::string(planner) + ", " +
                           std::string(name_of(options.workload.tables.front().optimizer.kind)) + ", " +
                           std::string(name_of(options.workload.tables.front().value_type));
  Both both(comm, options, plan_of(planner, options, comm.size()), {});
  both.tables.fill(options.row_values());
  after_steps(both, 0, 3);
  const auto stored = read_all(both.tables, 7);  // ranges that end within a table, and at its end
  const kernels::UpdateStep latest = both.tables.latest_step();
  const Bits wanted = after_steps(both, 3, 6);

  both.tables.fill({.seed = 99, .scale = 3.0F});
  after_steps(both, 0, 4);
  write_all(both.tables, 7, stored);
  both.tables.resume(latest);
  EXPECT_EQ(bits_of(read_all(both.tables, 7)), bits_of(stored)) << name;
  const Bits found = after_steps(both, 3, 6);
  EXPECT_EQ(found.outputs, wanted.outputs) << name;
  EXPECT_EQ(found.rows, wanted.rows) << name;
}

constexpr std::array kinds_of_state{OptimizerKind::none, OptimizerKind::sgd, OptimizerKind::rowwise_adagrad,
                                    OptimizerKind::adam, OptimizerKind::lamb};

TEST(RowRanges, StepsGoOnAfterDenseRowsAreWrittenBack) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const std::string_view planner : {"row_wise", "column_wise", "table_wise", "data_parallel"}) {
    for (const OptimizerKind kind : kinds_of_state)
      for (const ValueType type : {ValueType::fp32, ValueType::fp16, ValueType::bf16}) {
        RunOptions options = small_case(Pooling::sum, kind, false, type);
        for (Table& table : options.workload.tables) table.stochastic_rounding = type != ValueType::fp32;
        check_break(comm, options, planner);
      }
    check_break(comm, small_case(Pooling::sum, OptimizerKind::none, false, ValueType::int8), planner);
  }
}

TEST(RowRanges, StepsGoOnAfterSlicesOfCoresAreWrittenBack) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const std::string_view planner : tt_planners)
    for (const OptimizerKind kind : kinds_of_state)
      for (const ValueType type : {ValueType::fp32, ValueType::fp16, ValueType::bf16})
        for (const std::int64_t cached : {0, 16}) {
          RunOptions options = small_tts(Pooling::sum, kind, false, type);
          for (Table& table : options.workload.tables)
            table.tensor_train.cache = {.rows = cached, .writes = CacheWrites::read_only, .populate_every = 2};
          check_break(comm, options, planner);
        }
}

/// Every third row and its successor are read as a list, others are written there, and then these again.
void check_listed(const comm::Communicator& comm, const RunOptions& options, std::string_view planner) {
  ShardedTables tables(plan_of(planner, options, comm.size()), options.workload.tables, options.workload.features,
                       comm.rank());
  tables.fill(options.row_values());
  for_each_range(tables, 1 << 20, [&](Store& store, auto shard, auto part, auto, std::int64_t count) {
    std::vector<std::int64_t> rows;
    std::vector<StoredRows> wanted;
    for (std::int64_t row = 0; row < count; ++row)
      if (row % 3 > 0) {
        rows.push_back(row);
        wanted.push_back(store.read_range(shard, part, row, 1));
      }
    if (rows.empty()) return;
    StoredRows listed = store.read_listed(shard, part, rows);
    std::vector<std::byte> values;
    std::vector<float> state;
    for (const StoredRows& row : wanted) {
      values.insert(values.end(), row.values.begin(), row.values.end());
      state.insert(state.end(), row.state.begin(), row.state.end());
    }
    EXPECT_EQ(listed.values, values) << planner;
    EXPECT_EQ(bits_of(listed.state), bits_of(state)) << planner;
    const StoredRows before = store.read_range(shard, part, 0, 1);
    StoredRows zeros{std::vector<std::byte>(values.size()), std::vector<float>(state.size(), 1.0F)};
    store.write_listed(shard, part, rows, zeros);
    EXPECT_EQ(store.read_listed(shard, part, rows).values, zeros.values) << planner;
    EXPECT_EQ(store.read_listed(shard, part, rows).state, zeros.state) << planner;
    EXPECT_EQ(store.read_range(shard, part, 0, 1).values, before.values) << planner;
    store.write_listed(shard, part, rows, listed);
    EXPECT_EQ(bits_of({store.read_listed(shard, part, rows)}), bits_of({listed})) << planner;
    rows.back() = count;
    EXPECT_THROW(store.read_listed(shard, part, rows), InputError);
    EXPECT_THROW(store.write_listed(shard, part, rows, listed), InputError);
  });
}

TEST(RowRanges, RowsThatAreListedAreThoseOfRanges) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const ValueType type : {ValueType::fp32, ValueType::bf16}) {
    for (const std::string_view planner : {"row_wise", "column_wise"})
      check_listed(comm, small_case(Pooling::sum, OptimizerKind::adagrad, false, type), planner);
    check_listed(comm, small_tts(Pooling::sum, OptimizerKind::adam, false, type), "data_parallel");
  }
}

TEST(RowRanges, RowsThatAPartLacksAreRefused) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_tts(Pooling::sum, OptimizerKind::adagrad, false);
  ShardedTables tables(plan_of("data_parallel", options, comm.size()), options.workload.tables,
                       options.workload.features, comm.rank());
  tables.fill(options.row_values());
  for_each_range(tables, 1 << 20, [](Store& store, auto shard, auto part, auto first, std::int64_t count) {
    StoredRows rows = store.read_range(shard, part, first, count);
    EXPECT_THROW(store.read_range(shard, part, 0, count + 1), InputError);
    EXPECT_THROW(store.read_range(shard, part, -1, 1), InputError);
    EXPECT_THROW(store.write_range(shard, part, 1, rows), InputError);
    rows.state.pop_back();
    EXPECT_THROW(store.write_range(shard, part, 0, rows), InputError);
    rows.values.pop_back();
    EXPECT_THROW(store.write_range(shard, part, 0, rows), InputError);
  });
}

}  // namespace
}  // namespace shardmark::workloads
