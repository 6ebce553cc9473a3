// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "datasets/criteo_tsv.hpp"
#include "datasets/id_mapping.hpp"
#include "reference/batch.hpp"

namespace shardmark::datasets {

/// Holds training data of batch.samples samples.
struct Samples {
  Batch batch;
  std::vector<float> dense;   ///< [samples, dense features], raw values; a missing one is 0
  std::vector<float> labels;  ///< [samples], 0 or 1
  std::int64_t replaced = 0;  ///< ids that were outside their table, and are now others
};

/// Receives what the user should know and no value shows: lines skipped, no labels, the data start again.
using Notice = std::function<void(const std::string&)>;

/// Gives training data by global sample number, so that every rank count sees the same samples. Numbers beyond the end
/// start again at 0 (reported once through the notice).
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  std::int64_t samples() const { return samples_; }  ///< at least 1

  /// Reads samples [first, first + count), one feature per table. Reuses the memory of `samples`. Throws InputError
  /// naming file and data set or line.
  void read(std::int64_t first, std::int64_t count, Samples& samples);

 protected:
  SampleSource(std::string path, Notice notice) : path_(std::move(path)), notice_(std::move(notice)) {}
  void set_samples(std::int64_t samples);  ///< throws InputError when there are none
  const std::string& path() const { return path_; }

 private:
  virtual void read_range(std::int64_t first, std::int64_t count, Samples& samples) = 0;
  std::string path_;
  Notice notice_;
  std::int64_t samples_ = 0;
  bool told_wrap_ = false;
};

struct SourceOptions {
  std::vector<std::int64_t> rows;  ///< of the table of each feature
  IdRule rule = IdRule::modulo;    ///< for TSV; an HDF5 file has its ids
  std::int64_t min_count = 1;      ///< for the rule frequency
  CriteoReaderOptions reader;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< samples of a TSV file that are kept in memory
};

/// Returns how a TSV file's values become rows. The rule frequency reads the whole file; `notice` receives what did not
/// fit.
IdMapping mapping_of(const std::string& path, const SourceOptions& options, const Notice& notice);

/// Returns whether the file begins as HDF5 files do. Throws InputError when it cannot be read, or its name says so and
/// its content does not.
bool is_hdf5(const std::string& path);

/// Opens an HDF5 file (recognised by its first bytes) or a Criteo TSV file (plain, .gz, .zst). The first `limit`
/// samples of a TSV file are read into memory (157 B each); the rule frequency reads the whole file once before. Throws
/// InputError when the file cannot be read or does not fit the tables.
std::unique_ptr<SampleSource> open_samples(const std::string& path, const SourceOptions& options, const Notice& notice);

}  // namespace shardmark::datasets
