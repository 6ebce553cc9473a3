// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/cases/options.hpp"
#include "workloads/measure/needed_memory.hpp"

namespace shardmark::workloads {

/// Describes the batches that a rank rotates through.
struct InputSizes {
  std::int64_t batches = 0, samples = 0;  ///< samples: of this rank in each
  double output_bytes = 0.0, ids = 0.0;   ///< of its samples in one batch
};

/// Returns the bytes of batches, as every rank keeps its samples of them: ids and offsets, numerical features and
/// labels, and gradients, which are shared where the number of vectors does not depend on the ids.
double input_bytes(const RunOptions& options, const InputSizes& sizes);

/// Returns the bytes that the dense model of the options takes on a rank with so many samples: weights, gradients and
/// state, activations, gradients of vectors; and the reference, which knows the gradients of all vectors of a batch.
NeededMemory dense_bytes(const RunOptions& options, int ranks, std::int64_t samples);

}  // namespace shardmark::workloads
