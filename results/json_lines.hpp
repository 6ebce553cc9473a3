// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/exchange_record.hpp"
#include "results/record.hpp"

namespace shardmark::results {

/// Says which files a writer may replace.
struct Replace {
  bool file = false;     ///< FILE
  bool partial = false;  ///< FILE.partial

  /// Returns both or none.
  static constexpr Replace of(bool force) { return {force, force}; }
};

/// Writes one results file: the environment, then a line per case. After every change the disk holds all of it as
/// FILE.partial, a whole file that replaces the one before, even if a process dies (reference/output_file.hpp); close()
/// makes FILE of it. A file without that ending is complete, and one with it holds what its run had measured. What
/// exists and is no regular file (/dev/null, a pipe) is written to once, by close().
class JsonLinesWriter {
 public:
  /// Creates missing folders and writes the first lines. Throws InputError when FILE or FILE.partial exists already and
  /// may not be replaced, or cannot be written: construct it before the measurement starts. FILE is replaced by
  /// close().
  JsonLinesWriter(std::filesystem::path file, const nlohmann::ordered_json& environment, Replace replace = {},
                  std::span<const CaseRecord> cases = {});

  /// Throws where the constructor would, and leaves nothing but missing folders behind.
  static void require_writable(const std::filesystem::path& file, Replace replace = {});

  /// Replaces all lines by these. Throws InputError when they cannot be written or a record could not be read again (a
  /// value is not finite).
  void rewrite(const nlohmann::ordered_json& environment, std::span<const CaseRecord> cases);
  /// Appends a record of another kind without reading it: read_results() refuses it.
  void append(const nlohmann::ordered_json& record);

  /// Removes FILE.partial: there is nothing worth keeping.
  void discard();
  /// Completes the file; to be called once, after all else. Throws InputError when it cannot be completed.
  void close();

  const std::filesystem::path& file() const { return file_; }

 private:
  void save() const;

  std::filesystem::path file_;
  std::filesystem::path partial_;  ///< empty: none
  std::string text_;               ///< all lines
};

/// Returns results/local/<workload>-<yyyymmddThhmmssZ>.jsonl below `folder`, with -2, -3, ... before the ending when
/// that file or its .partial exists. `time` is utc_time(); characters of `workload` other than letters, digits, '.',
/// '_' and '-' become '_'.
std::filesystem::path default_results_file(std::string_view workload, std::string_view time,
                                           const std::filesystem::path& folder = "");

/// Holds what one file says: cases, or exchanges, or benchmarks.
struct Results {
  nlohmann::ordered_json environment;          ///< of Google Benchmark its `context`
  std::vector<CaseRecord> cases;               ///< of run and compare
  std::vector<ExchangeRecord> exchanges = {};  ///< of `shardmark exchange`
  nlohmann::ordered_json benchmarks = {};      ///< the document that Google Benchmark wrote; null without one
};

/// Reads a file of cases. Throws InputError naming file and line for anything but one environment record followed by
/// case records.
Results read_results(const std::filesystem::path& file);
Results read_results(std::istream& stream, const std::string& name);

/// Throws InputError naming the file where it holds exchanges, which cannot be compared.
void require_no_exchanges(const Results& results, const std::string& name);

/// Reads a file of cases, of exchanges or of Google Benchmark (--benchmark_out_format=json); its content shows which it
/// is. Throws InputError naming the file and the line that cannot be used.
Results read_any_results(const std::filesystem::path& file);

}  // namespace shardmark::results
