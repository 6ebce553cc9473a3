// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/table.hpp"

namespace shardmark::workloads {

/// Bytes of what a step makes for lookups in a table of Storage::tt and their update, beside ids, vectors and gradients
/// as any table has them: the tree of prefixes, twice, contracted rows and their gradients, products between them
/// (within the budget of tensor_train.workspace_mib) and gradients of slices. ids: that the rank looks up; distinct:
/// different rows of them.
double train_step_bytes(const Table& table, double ids, double distinct);

/// Of a replicated one: gradients of all slices and a count for each, and MPI's copy of them.
double train_sum_bytes(const Table& table);

}  // namespace shardmark::workloads
