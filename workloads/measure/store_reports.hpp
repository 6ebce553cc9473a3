// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "workloads/step/flight.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {

/// What the stores of one storage reported of a case, over all ranks.
struct StorageReport {
  const StorageMaker* maker = nullptr;
  std::vector<Table> tables;          ///< that have the storage
  std::vector<std::int64_t> numbers;  ///< as StorageMaker::numbers
};

/// One of each storage that reports numbers and that some of the tables have; all numbers 0.
std::vector<StorageReport> empty_reports(const std::vector<Table>& tables);

/// Sets the numbers of the latest step. Waits for the device, so not for timed steps. Collective.
void report_step(const comm::Communicator& comm, const Flight& flight, std::vector<StorageReport>& reports);

/// Counts what the stores do between its construction and end(), which adds that to the reports. Both are collective.
class ReportWatch {
 public:
  ReportWatch(const comm::Communicator& comm, const ShardedTables& tables, std::vector<StorageReport>& reports)
      : comm_(comm), tables_(tables), reports_(reports), before_(counted()) {}
  void end();

 private:
  /// [reports][numbers]
  std::vector<std::vector<std::int64_t>> counted() const;

  const comm::Communicator& comm_;
  const ShardedTables& tables_;
  std::vector<StorageReport>& reports_;
  std::vector<std::vector<std::int64_t>> before_;
};

}  // namespace shardmark::workloads
