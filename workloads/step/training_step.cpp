// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/training_step.hpp"

#include "workloads/step/faults.hpp"
#include "workloads/step/phases.hpp"

namespace shardmark::workloads {

PhaseCosts training_step(Flight& flight, const StepInput& input, DenseModel& dense) {
  PhaseCosts costs;
  const comm::Lane& lane = flight.embedding().lane();
  const Fault fault = flight.embedding().fault();
  flight.each(costs, Phase::input_dist, [&](GroupFlight& group, std::int64_t, PhaseClock& clock) {
    const auto end = [&](Phase phase) {
      clock.end(phase);
      commit_fault(fault, phase, group);
    };
    input_dist(group, input);  // ids to the owners of their rows
    end(Phase::input_dist);
    lookup(group);  // pooled lookup on the local shards
    end(Phase::lookup);
    output_dist(group, input);  // pooled vectors home to their samples
    end(Phase::output_dist);
  });
  PhaseClock dense_clock(costs, lane, Phase::dense);
  const auto gradients = dense.run(input, flight, costs);  // outputs to their gradients
  dense_clock.end(Phase::dense);
  const kernels::UpdateStep now = flight.embedding().tables().next_step();
  flight.each(costs, Phase::grad_dist, [&](GroupFlight& group, std::int64_t, PhaseClock& clock) {
    grad_dist(group, input, gradients);  // the inverse way
    clock.end(Phase::grad_dist);
    commit_fault(fault, Phase::grad_dist, group);
    sum_gradients(group, input, now);  // distinct rows, and the gradient of each
    forget_last_row(fault, group);
    apply_optimizer(group, now);
    clock.end(Phase::update);
    commit_fault(fault, Phase::update, group);
  });

  costs.count(flight.sent());
  return costs;
}

PhaseCosts training_step(Flight& flight, const StepInput& input) {
  SyntheticGradient none;
  return training_step(flight, input, none);
}

}  // namespace shardmark::workloads
