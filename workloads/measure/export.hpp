// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/placement/plan.hpp"
#include "workloads/batches/batch_source.hpp"
#include "workloads/cases/case.hpp"

namespace shardmark::workloads {

/// Runs step 0 on fresh tables and writes it to an HDF5 file in global numbering, so that anyone can recompute it:
///   attributes of /            format_version, workload, case (JSON: plan and every option of the case), seed, ranks
///   /features/<name>           offsets int64 [batch + 1], indices int64 [nnz], weights float32 [nnz] where there are
///   any;
///                              attributes table, pooling; of nested ids also segment_rank (0 or 1) and
///                              first_segment int64 [batch + 1], segment_offsets int64 [segments + 1] (Batch)
///   /outputs/<feature>         float32 [bags, dim] pooled output; a sample is a bag, with segment_rank 1 a segment,
///   without
///                              pooling an id
///   /gradients/<feature>       the gradient of it that the update used
///   /tables/<name>             rows int64 [touched] ascending; before, after float32 [touched, dim]; state_before,
///                              state_after float32 [touched, state per row] where the optimizer has state;
///                              attributes rows (-1: any key), dim, optimizer (JSON), value_type, stochastic_rounding
///   /tables/<name>             whose rows are computed: attributes rows, dim and those of its storage; of tt
///                              tensor_train (JSON: row_shape, dim_shape, ranks)
///   /tables/<name>/cores/<t>   core t in the table's own order (reference/tensor_train/shape.hpp), as a table whose
///                              rows are its slices
///   /dense                     of a dense model, its inputs, weights and outcome (dense/export_dense.hpp)
/// On fresh tables no row is cached yet, so cores are all that a tt table has.
/// Collective; rank 0 writes an OutputFile. Throws InputError when the file cannot be written, and where not every row
/// of the step lasts (why_not_exported).
void export_step(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                 const Case& config, BatchSource& batches, const std::string& file);

/// Returns why a step of these tables is not exported; empty where it is.
std::string why_not_exported(const std::vector<Table>& tables);

}  // namespace shardmark::workloads
