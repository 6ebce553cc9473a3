// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "results/json_lines.hpp"
#include "workloads/measure/measure.hpp"

namespace shardmark::workloads {

/// The results file of a run, which rank 0 writes. Created before the measurement starts, so that a path that cannot be
/// written is refused then; what goes wrong later does not end the measurement.
class ResultsFile {
 public:
  /// path: empty for the default one. Collective; throws InputError as JsonLinesWriter does.
  ResultsFile(const comm::Communicator& world, const std::string& path, const std::string& workload,
              nlohmann::ordered_json environment);

  /// Puts what is known on the disk, as FILE.partial.
  void keep(const Measured& measured);

  /// Completes the file. False, and a line on stderr, where it cannot be written: the same on every rank.
  bool finish(const Measured& measured);

  /// Of the run as it ended.
  const nlohmann::ordered_json& environment() const { return environment_; }

 private:
  void write(const Measured& measured, const std::string& state);

  const comm::Communicator& world_;
  nlohmann::ordered_json environment_;
  std::optional<results::JsonLinesWriter> writer_;
};

}  // namespace shardmark::workloads
