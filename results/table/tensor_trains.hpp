// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "results/table/answer.hpp"

namespace shardmark::results {

/// Returns whether any of the cases has tables of storage tt.
bool has_tensor_trains(const Records& records);

/// Returns lines on the fastest case with such tables: how small they are, what a step shares, flops over time and hits
/// of the cache; for the workload fbtt also its time per lookup beside the published one. It is empty where there is
/// none.
std::vector<std::string> tensor_train_lines(const Records& ranked);

/// Returns sentences where cases with storage dense and others with storage tt are valid: which is faster and smaller,
/// and the size of table from which tt wins, measured or estimated.
///   By memory: rows of which dense tables take as many bytes as tt does here.
///   By time, where several scales were measured: the least rows from which on tt is faster, beyond the intervals, with
///   the plan that is best for it.
///   By time, from one scale with dense gradients of data_parallel tables on several ranks, since these are summed over
///   all their rows: dense takes D ms at N rows, G of it in the update, and at most all of that grows with the rows;
///   tt takes T ms at any size. They cross at N (1 + (T - D) / G) rows: at most there where tt is faster at N (T < D),
///   else at least there.
/// Otherwise they say only whether it is faster at the size that was measured.
std::vector<std::string> storage_sentences(const Findings& findings);

}  // namespace shardmark::results
