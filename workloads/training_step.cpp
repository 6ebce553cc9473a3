// SPDX-License-Identifier: Apache-2.0
#include "workloads/training_step.hpp"

namespace shardmark {

PhaseCosts training_step(ShardedEmbedding& embedding, const StepInput& input) {
  PhaseCosts costs;
  PhaseClock clock(costs);
  embedding.input_dist(input, clock);      // ids to the owners of their rows
  embedding.lookup(input, clock);          // pooled lookup on the local shards
  embedding.output_dist(input, clock);     // pooled vectors home to their samples
  const auto gradients = input.gradients;  // dense: none, the input brings the gradients of its outputs
  clock.end(Phase::dense);
  embedding.grad_dist(input, gradients, clock);  // the inverse way
  embedding.update(input, clock);                // distinct rows, summed gradients, optimizer
  costs.bytes = embedding.sent().totals();
  return costs;
}

}  // namespace shardmark
