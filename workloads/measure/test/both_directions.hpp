// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "comm/collectives.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark::workloads {

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
    const auto [values, state] = tables.store_of(s).read_rows(s, 0, rows);
    all.insert(all.end(), values.begin(), values.end());
    all.insert(all.end(), state.begin(), state.end());
  }
  return all;
}

/// A case of a plan that can take steps both ways, on tables of its own.
struct Both {
  Both(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan, const Case& config)
      : batches(make_batch_source(options, [](const std::string&) {})),
        inputs(inputs_of(comm, options, *batches)),
        tables(plan, options.workload.tables, options.workload.features, comm.rank()),
        dense(make_dense_model(comm, options)),
        decided(decide(comm, plan, tables.tables(), tables.features(), config.movement_in_effect(), inputs.front())),
        ready(std::make_unique<ReadyCase>(comm, tables, *dense, plan, config, decided, options.fault)) {
    const std::int64_t threads = config.async.inlined() ? 0 : config.async.threads;
    ready->pipeline = std::make_unique<Pipeline>(comm, tables, plan, config, decided, options.fault, threads);
  }

  std::unique_ptr<BatchSource> batches;
  std::vector<StepInput> inputs;
  ShardedTables tables;
  std::unique_ptr<DenseModel> dense;
  placement::Decisions decided;
  std::unique_ptr<ReadyCase> ready;
};

/// Of some steps: the batch of each and its outputs on this rank; rows, state and weights after the last.
struct StepsTaken {
  std::vector<std::int64_t> batches;
  std::vector<std::vector<float>> outputs;
  std::vector<float> values, weights;
};

inline StepsTaken prefetched_steps(Both& both, const RunOptions& options, std::int64_t steps) {
  StepsTaken taken;
  both.tables.fill(options.row_values());
  both.dense->reset();
  Pipeline& pipeline = *both.ready->pipeline;
  pipeline.start(both.inputs, 0, steps);
  for (std::int64_t step = 0; step < steps; ++step) {
    pipeline.step(*both.dense);
    taken.batches.push_back(pipeline.ticket());
    taken.outputs.push_back(outputs_of(pipeline.flight(), pipeline.input()));
  }
  pipeline.finish();
  taken.values = values_of(both.tables);
  taken.weights.assign(both.dense->parameters().begin(), both.dense->parameters().end());
  return taken;
}

/// The same steps, of the same batches, one after the other.
inline StepsTaken steps_again(Both& both, const RunOptions& options, const std::vector<std::int64_t>& batches) {
  StepsTaken taken{.batches = batches, .outputs = {}, .values = {}, .weights = {}};
  both.tables.fill(options.row_values());
  both.dense->reset();
  for (const std::int64_t batch : batches) {
    const StepInput& input = both.inputs[static_cast<std::size_t>(batch) % both.inputs.size()];
    both.ready->step(input);
    taken.outputs.push_back(outputs_of(both.ready->flight, input));
  }
  taken.values = values_of(both.tables);
  taken.weights.assign(both.dense->parameters().begin(), both.dense->parameters().end());
  return taken;
}

/// Steps whose outputs, rows or state are not bit for bit those of steps one after the other, of any rank.
inline std::int64_t different_steps(const comm::Communicator& comm, const RunOptions& options,
                                    const placement::Plan& plan, const Case& config, std::int64_t steps) {
  Both both(comm, options, plan, config);
  const StepsTaken prefetched = prefetched_steps(both, options, steps),
                   again = steps_again(both, options, prefetched.batches);
  std::int64_t different = (prefetched.values != again.values ? 1 : 0) + (prefetched.weights != again.weights ? 1 : 0);
  for (std::size_t step = 0; step < prefetched.outputs.size(); ++step)
    different += prefetched.outputs[step] != again.outputs[step] ? 1 : 0;
  std::vector<std::int64_t> batches = prefetched.batches;
  std::ranges::sort(batches);
  for (std::int64_t step = 0; step < steps; ++step)
    different += (config.async.in_order() ? prefetched.batches[step] : batches[step]) != step ? 1 : 0;
  return comm::all_reduce(comm, different, comm::Reduce::sum);
}

}  // namespace shardmark::workloads
