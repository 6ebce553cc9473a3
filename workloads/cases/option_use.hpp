// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workloads/cases/case.hpp"
#include "workloads/cases/option_table.hpp"

namespace shardmark::workloads {

/// Throws InputError for the first option that nothing reads: ids where there is data, tensor trains without such
/// tables, layers without a model that has some, a pipeline that no case has.
void require_use(const RunOptions& run, const std::vector<Case>& cases, const std::vector<GivenOption>& given);

/// Throws InputError where the workload has no such dense model, or one that cannot be what is asked for.
void check_dense_options(const RunOptions& run);

/// Throws InputError where an optimizer has numbers that its formula cannot take.
void check_optimizers(const RunOptions& run);

/// Whether the option says anything of this job: ids that are generated, or how a data file is read.
bool has_use(const Option& option, const RunOptions& run);

/// What does not matter to a case is as it is by default; cases that are the same then are one.
std::vector<Case> without_unused_async(std::vector<Case> cases);

}  // namespace shardmark::workloads
