// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "reference/batch.hpp"
#include "workloads/batches/batch_source.hpp"
#include "workloads/batches/step_input.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/measure/status.hpp"

namespace shardmark::workloads {

/// Returns the bytes of all rows and their optimizer state, each table once.
double table_bytes(const Workload& workload);

/// Holds the batches that the steps of a job rotate through, and the reason for their number.
struct TimedBatches {
  std::vector<StepInput> inputs;
  std::string reason;
};

/// Reads as many batches as the options set; if they leave it open, as many as it takes for the rows that they name to
/// leave the last-level caches of all hosts, so that a lookup finds in a cache what the workload's skew keeps there and
/// not what the last turn of a few batches left. It reads fewer where the tables fit those caches anyway, where no more
/// steps are timed, or where a rank would keep more than 1 GiB for them; never fewer than are checked. Collective.
TimedBatches read_batches(const comm::Communicator& comm, const RunOptions& options, BatchSource& source,
                          const Status& status);

/// Reads batch `step` as this rank sees it, which may share gradients with `earlier` ones; `see` is called with its ids
/// first. Collective.
StepInput read_batch(const comm::Communicator& comm, const RunOptions& options, BatchSource& source, std::int64_t step,
                     std::span<const StepInput> earlier = {}, const std::function<void(const Batch&)>& see = {});

/// Holds what decides whether more batches are read.
struct BatchFacts {
  std::int64_t count = 0, most = 1;                              ///< there are, and may be
  double row_bytes = 0.0, table_bytes = 0.0, cache_bytes = 0.0;  ///< of the distinct rows named, all rows, caches
};
/// Returns why there are enough batches; empty when there are not.
std::string reason_to_stop(const RunOptions& options, const BatchFacts& facts);

/// Returns the most batches that are read, when one takes so many bytes of the rank with most.
std::int64_t most_batches(const RunOptions& options, double bytes_of_one);

/// Returns the most bytes that a rank keeps of a batch: its ids and gradients, and while it is checked the outputs that
/// are expected, with their bounds. elements: of the pooled outputs.
double bytes_of_batch(double elements, double ids);

/// Estimates how many different 64-bit hashes were added on all ranks together, to within 1.6 %, from 16 KiB a rank:
/// HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, 2007), with linear counting where few were added.
class DistinctCount {
 public:
  void add(std::uint64_t hash);
  /// Returns the estimate. Collective.
  double estimate(const comm::Communicator& comm) const;

 private:
  static constexpr int index_bits = 12;
  std::vector<int> longest_ = std::vector<int>(std::size_t{1} << index_bits);
};

/// Estimates the memory that the rows that batches name take, each row once, with their optimizer state. Rows that are
/// computed are not in memory: the parts of such tables are counted whole.
class RowFootprint {
 public:
  explicit RowFootprint(const Workload& workload);

  /// Adds this rank's samples.
  void add(const Batch& batch);
  /// Returns the bytes of all ranks. Collective.
  double bytes(const comm::Communicator& comm) const;

 private:
  const Workload& workload_;
  double part_bytes_ = 0.0;
  std::map<std::int64_t, DistinctCount> counts_;  ///< by the bytes of a row
};

}  // namespace shardmark::workloads
