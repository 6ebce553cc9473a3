// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "results/json_lines.hpp"
#include "workloads/measure/measure.hpp"
#include "workloads/measure/resume.hpp"

namespace shardmark::workloads {

/// Returns the file that FILE.partial becomes; empty if the name is another.
std::string file_of_partial(const std::string& partial);

/// The results file of a run, which rank 0 writes. Created before the measurement starts, so that a path that cannot be
/// written is refused then; what goes wrong later does not end the measurement.
class ResultsFile {
 public:
  /// path: empty for the default one. Collective; throws InputError as JsonLinesWriter does.
  /// force: files that exist may be replaced. earlier: what the job resumes; its FILE.partial becomes that of this job
  /// unless a path is given, and what it holds stands in the file from the beginning.
  ResultsFile(const comm::Communicator& world, const std::string& path, bool force, const std::string& workload,
              nlohmann::ordered_json environment, const Earlier* earlier);
  /// Removes FILE.partial if it holds no case.
  ~ResultsFile();
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;

  /// Puts what is known on the disk, as FILE.partial.
  void keep(const Measured& measured);

  /// Completes the file. False, and a line on stderr, where it cannot be written: the same on every rank.
  bool finish(const Measured& measured);

  /// Returns where the results are; empty on ranks other than 0.
  std::filesystem::path file() const { return writer_ ? writer_->file() : std::filesystem::path(); }
  /// Of the run as it ended.
  const nlohmann::ordered_json& environment() const { return environment_; }

 private:
  void write(const Measured& measured, const std::string& state);

  const comm::Communicator& world_;
  bool has_cases_ = false;
  nlohmann::ordered_json environment_;
  std::optional<results::JsonLinesWriter> writer_;
};

}  // namespace shardmark::workloads
