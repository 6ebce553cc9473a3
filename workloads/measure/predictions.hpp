// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/placement/cost/step_cost.hpp"
#include "kernels/ceilings.hpp"
#include "results/record.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark::workloads {

/// Returns the number of ranks on the node with most: predictions take nodes to be alike.
int ranks_per_node(const comm::Communicator& comm);

/// Returns what job.machine predicts for every case, before any is run, where anything can be predicted; nothing for
/// all without a machine. Cases of one plan share what is known of its lookups.
std::vector<std::optional<placement::StepPrediction>> predict_cases(const Job& job);

/// Returns the prediction of steps that are prepared before they are taken, from that of one that is not:
///   max(ahead / T, rest, computing, exchanges)
/// in seconds of the phases that T threads prepare (DeepRec's formula, with those that are left to the step), but no
/// less than all phases compute, since kernels take turns, or send, since they share links. It is the same as `step`
/// inline; nothing in mode patched, where it is left to chance how often vectors are sent again.
std::optional<placement::StepPrediction> prepared_ahead(const placement::StepPrediction& step, const Async& async);

/// Writes a prediction into a record: predicted_ms, predicted_ms and least_ms of its phases, and in its details the
/// memory of the rank that needs most.
void record_prediction(const placement::StepPrediction& predicted, results::CaseRecord& record);

/// Says what the rates of a machine are measured on; sizes are those of one rank.
struct RateSizes {
  std::uint64_t array_bytes = std::uint64_t{256} << 20;  ///< each of the three arrays that are streamed
  std::uint64_t table_bytes = std::uint64_t{1} << 30;    ///< the table whose rows are read
  std::int64_t rows = std::int64_t{1} << 18;             ///< of one round
  int rounds = 5;                                        ///< of which the best counts
};

/// Is how fast one rank moves memory while all others do the same.
struct Rate {
  std::string name;               ///< triad, copy, gather or read_modify_write
  std::int64_t dim = 0;           ///< fp32 values per row; 0: not about rows
  double bytes_per_second = 0;    ///< in the best round of this rank
  kernels::RowSetting setting{};  ///< with which that was reached, for rows
};

struct MachineRates {
  std::vector<Rate> rates;
  double huge_page_share = 0;  ///< of the table's memory, 0 to 1
};

/// Measures the ceilings that kernels on tables are compared with: streams (triad, copy), reads of random rows (gather)
/// and their update in place (read_modify_write). Needs table_bytes + 3 array_bytes of memory per rank. Collective;
/// Kokkos must be initialised.
MachineRates machine_rates(const comm::Communicator& comm, const RateSizes& sizes);

}  // namespace shardmark::workloads
