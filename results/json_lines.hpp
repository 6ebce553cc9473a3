// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.hpp"

namespace shardmark {

/// Writes one results file: the environment, then a line per case. All goes to FILE.partial, which close() renames to
/// FILE: a file without that ending is complete, and one with it holds what its run had measured when it was cut off.
class JsonLinesWriter {
 public:
  /// Creates missing folders and writes the first line. Throws InputError when FILE or FILE.partial exists already
  /// (results are never overwritten) or cannot be written: to be called before the measurement starts.
  JsonLinesWriter(std::filesystem::path file, const nlohmann::ordered_json& environment);

  /// Throws InputError when the line cannot be written or the record could not be read again (a value is not finite).
  void append(const CaseRecord& record);
  /// A record of another kind, unread: read_results() refuses it.
  void append(const nlohmann::ordered_json& record) { write_line(record); }

  /// Replaces FILE.partial by one of these lines, which are on the disk before it takes its place: whoever dies, there
  /// is a whole file. Throws InputError as append() does, and then leaves the one there was.
  void rewrite(const nlohmann::ordered_json& environment, std::span<const CaseRecord> cases);

  /// To be called once, after all else. Throws InputError when the file cannot be completed.
  void close();

  const std::filesystem::path& file() const { return file_; }

 private:
  void open(const std::filesystem::path& file);
  void write_line(const nlohmann::ordered_json& json);
  void sync() const;
  [[noreturn]] void fail(std::string_view action) const;

  struct CloseFile {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };

  std::filesystem::path file_;
  std::filesystem::path partial_;
  std::unique_ptr<std::FILE, CloseFile> stream_;
};

/// results/local/<workload>-<yyyymmddThhmmssZ>.jsonl below `folder`, with -2, -3, ... before the ending when that file
/// or its .partial exists. `time` is utc_time(); characters of `workload` other than letters, digits, '.', '_' and '-'
/// become '_'.
std::filesystem::path default_results_file(std::string_view workload, std::string_view time,
                                           const std::filesystem::path& folder = "");

struct Results {
  nlohmann::ordered_json environment;
  std::vector<CaseRecord> cases;
};

/// Throws InputError naming file and line for anything but one environment record followed by case records.
Results read_results(const std::filesystem::path& file);
Results read_results(std::istream& stream, const std::string& name);

}  // namespace shardmark
