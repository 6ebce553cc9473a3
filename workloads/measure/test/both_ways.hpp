// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/collectives.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark {

inline std::vector<float> on_host(const DeviceArray<float>& array) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), array);
  return {host.data(), host.data() + host.extent(0)};
}

/// All outputs of a step on this rank.
inline std::vector<float> outputs_of(const Flight& flight, const StepInput& input) {
  std::vector<float> all;
  for (std::int64_t f = 0; f + 1 < std::ssize(input.first_element); ++f) {
    const auto output = on_host(flight.output(input, f));
    all.insert(all.end(), output.begin(), output.end());
  }
  return all;
}

/// All rows and state that this rank holds.
inline std::vector<float> values_of(const ShardedTables& tables) {
  std::vector<float> all;
  for (std::int64_t s = 0; s < std::ssize(tables.layout().shards); ++s) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(tables.layout().shards[s].rows.count()));
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = static_cast<std::int64_t>(r);
    for (const auto& values : {tables.store_of(s).read_rows(s, 0, rows), tables.store_of(s).read_state(s, 0, rows)})
      all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// A case of a plan that can take steps both ways, on tables of its own.
struct Both {
  Both(const Communicator& comm, const RunOptions& options, const Plan& plan, const Case& how)
      : batches(make_batch_source(options, [](const std::string&) {})),
        inputs(inputs_of(comm, options, *batches)),
        tables(plan, options.workload.tables, options.workload.features, comm.rank()),
        dense(make_dense_model(comm, options)),
        decided(decide(comm, plan, tables.tables(), tables.features(), how.movement, inputs.front())),
        ready(std::make_unique<ReadyCase>(comm, tables, *dense, plan, how, decided, options.fault)) {
    const std::int64_t threads = how.async.inlined() ? 0 : how.async.threads;
    ready->pipeline = std::make_unique<Pipeline>(comm, tables, plan, how, decided, options.fault, threads);
  }

  std::unique_ptr<BatchSource> batches;
  std::vector<StepInput> inputs;
  ShardedTables tables;
  std::unique_ptr<DenseModel> dense;
  Decisions decided;
  std::unique_ptr<ReadyCase> ready;
};

/// Steps whose outputs, rows or state are not bit for bit those of steps one after the other, of any rank.
inline std::int64_t different_steps(const Communicator& comm, const RunOptions& options, const Plan& plan,
                                    const Case& how, std::int64_t steps) {
  Both both(comm, options, plan, how);
  DenseModel& dense = *both.dense;
  both.tables.fill(options.row_values());
  std::vector<std::vector<float>> expected;
  for (std::int64_t step = 0; step < steps; ++step) {
    const StepInput& input = both.inputs[step % both.inputs.size()];
    both.ready->step(input);
    expected.push_back(outputs_of(both.ready->flight, input));
  }
  const std::vector<float> expected_values = values_of(both.tables);
  const std::vector<float> expected_weights(dense.parameters().begin(), dense.parameters().end());
  both.tables.fill(options.row_values());
  dense.reset();
  Pipeline& pipeline = *both.ready->pipeline;
  pipeline.start(both.inputs, 0, steps);
  std::int64_t different = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    pipeline.step(dense);
    different += outputs_of(pipeline.flight(), pipeline.input()) != expected[step] ? 1 : 0;
  }
  pipeline.finish();
  different += values_of(both.tables) != expected_values ? 1 : 0;
  different += std::ranges::equal(dense.parameters(), expected_weights) ? 0 : 1;
  return all_reduce(comm, different, Reduce::sum);
}

}  // namespace shardmark
