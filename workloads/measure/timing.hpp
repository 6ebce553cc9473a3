// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "workloads/measure/async_record.hpp"
#include "workloads/measure/prepare.hpp"
#include "workloads/step/flight.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {

/// Holds what the stores of one storage reported of a case, over all ranks.
struct StorageReport {
  const StorageMaker* maker = nullptr;
  std::vector<Table> tables;          ///< that have the storage
  std::vector<std::int64_t> numbers;  ///< as StorageMaker::numbers
};

/// Returns a report for each storage that reports numbers and that some of the tables have; all numbers are 0.
std::vector<StorageReport> empty_reports(const std::vector<Table>& tables);

/// Sets the numbers of the latest step. Waits for the device, so it is not for timed steps. Collective.
void report_step(const comm::Communicator& comm, const Flight& flight, std::vector<StorageReport>& reports);

/// Counts what the stores do between its construction and end(), which adds that to the reports. Both are collective.
class ReportWatch {
 public:
  ReportWatch(const comm::Communicator& comm, const ShardedTables& tables, std::vector<StorageReport>& reports)
      : comm_(comm), tables_(tables), reports_(reports), before_(counted()) {}
  void end();

 private:
  /// Returns the numbers, [reports][numbers].
  std::vector<std::vector<std::int64_t>> counted() const;

  const comm::Communicator& comm_;
  const ShardedTables& tables_;
  std::vector<StorageReport>& reports_;
  std::vector<std::vector<std::int64_t>> before_;
};

/// Holds what the timed steps of one case gave. Per step these are the time and phases of the slowest rank, their means
/// over ranks, and the bytes of the busiest: those that it sends, and of the lookup those that it reads and writes in
/// the first batch.
struct Timings {
  std::vector<double> step_ms;
  std::vector<std::int64_t> visits;  ///< how many of these steps each visit took
  std::array<std::vector<double>, phase_count> phase_max_ms, phase_mean_ms;
  /// These are the times from when the last rank left the phase before until the last rank left this one: they add up
  /// to the step, but for waiting for a batch that is prepared beforehand. 0 in phases that are hidden.
  std::array<std::vector<double>, phase_count> phase_path_ms;
  std::array<std::int64_t, phase_count> phase_bytes{};
  std::vector<double> imbalance;  ///< maximum over mean of the ranks' lookup times; elsewhere ranks wait for each other
  std::vector<double> communication_ms, exposed_ms;  ///< of the rank that waits longest
  std::int64_t sent_bytes = 0, payload_bytes = 0;    ///< with and without what is forwarded for others
  double huge_page_share = 0.0;                      ///< of the rows, on the rank with the least
  std::int64_t gpu_bytes = 0;                        ///< taken of the fullest GPU, by whomever; 0 without GPUs
  RowCounts rows;                                    ///< of the last step, over all ranks, where rows travel one by one
  std::vector<double> read_ms;                       ///< of steps that read their batch, of the slowest rank
  std::vector<StorageReport> reports;                ///< of the first step; what is counted: of all
  AsyncFacts async;                  ///< of all visits of a case that prepares steps before they are taken
  std::string picked, picked_dedup;  ///< what exchange auto and dedup auto chose

  /// Adds a step. first: of the phases of the step; what was done before is hidden behind other steps.
  void add(const comm::Communicator& comm, const PhaseCosts& costs, double seconds, Phase first = Phase::input_dist);
};

/// Times a case until its next turn: untimed steps until caches of rows are warm and keys of batches that come again
/// are known, then two, of which the second gives how many timed ones `seconds` hold. A case that prepares steps before
/// they are taken takes an untimed one in each place of its pipeline, and after the timed ones those that were prepared
/// meanwhile, so that each timed step stands for one whole batch; a step then lasts from the end of the step before on
/// the rank that was last to its own end there, without barriers. Collective.
void visit(const Job& job, Prepared& prepared, std::size_t number, double seconds, Timings& timings);

}  // namespace shardmark::workloads
