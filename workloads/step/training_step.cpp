// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/training_step.hpp"

namespace shardmark {

PhaseCosts training_step(GroupedEmbedding& embedding, const StepInput& input) {
  PhaseCosts costs;
  const Lane& lane = embedding.lane();
  costs.communication_seconds = -lane.busy_seconds();
  costs.exposed_seconds = -lane.exposed_seconds();

  embedding.each(costs, Phase::input_dist, [&](ShardedEmbedding& group, PhaseClock& clock) {
    group.input_dist(input, clock);   // ids to the owners of their rows
    group.lookup(input, clock);       // pooled lookup on the local shards
    group.output_dist(input, clock);  // pooled vectors home to their samples
  });
  PhaseClock dense(costs, lane, Phase::dense);
  const auto gradients = input.gradients;  // dense: none, the input brings the gradients of its outputs
  dense.end(Phase::dense);
  const kernels::UpdateStep now = embedding.tables().next_step();
  embedding.each(costs, Phase::grad_dist, [&](ShardedEmbedding& group, PhaseClock& clock) {
    group.grad_dist(input, gradients, clock);  // the inverse way
    group.update(input, now, clock);           // distinct rows, summed gradients, optimizer
  });

  costs.communication_seconds += lane.busy_seconds();
  costs.exposed_seconds += lane.exposed_seconds();
  costs.count(embedding.sent());
  return costs;
}

}  // namespace shardmark
