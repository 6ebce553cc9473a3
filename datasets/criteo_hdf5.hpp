// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datasets/hdf5.hpp"
#include "datasets/id_mapping.hpp"
#include "datasets/sample_source.hpp"
#include "datasets/value_table.hpp"
#include "reference/output_file.hpp"

namespace shardmark::datasets {

/// Describes a sparse feature of a training set. A training set is one HDF5 file, format version 1 (n samples):
///   /meta                   attributes format_version, generator, source, id_rule (JSON), tables (JSON array of {key,
///                           rows, hotness}), samples, dense, labels ("read" | "absent"), missing (JSON: empty fields
///                           per column)
///   /dense                  float32 [n * dense], sample-major, raw values
///   /label                  uint8 [n]
///   /sparse/<key>/values    uint32 [nnz], ids
///   /sparse/<key>/offsets   uint64 [n + 1]; only where hotness is 0. Elsewhere each sample has `hotness` ids.
///   /dictionary/<key>       uint32, under the id rule frequency: the raw value of id i + 2
/// Every data set is one-dimensional, extensible, in chunks of 1 MiB with Fletcher32, with its XXH64 in the attribute
/// xxh64.
struct SparseKey {
  std::string key;
  std::int64_t rows = 0;     ///< ids are below it
  std::int64_t hotness = 1;  ///< ids per sample; 0 when it varies
};

struct SampleFileMeta {
  std::string source;  ///< where the samples come from
  std::vector<SparseKey> sparse;
  std::int64_t dense = 0;             ///< dense features per sample
  bool labelled = true;               ///< false: the source had no labels, all are 0
  std::vector<std::int64_t> missing;  ///< empty fields per column, dense ones first; may be empty (unknown)
};

/// Writes an OutputFile, which appears under its name with finish().
class SampleFileWriter {
 public:
  /// Creates the file. Throws InputError when it cannot be created. `mapping` is recorded where given, with its
  /// dictionaries.
  SampleFileWriter(const std::string& path, const std::vector<SparseKey>& sparse, std::int64_t dense,
                   const IdMapping* mapping);

  /// Appends the samples to those appended before. samples.batch has a feature per key. Throws InputError when an id is
  /// outside its key's rows or a bag has not the key's hotness.
  void append(const Samples& samples);

  /// Completes the file. meta.sparse and meta.dense must be those of the constructor.
  void finish(const SampleFileMeta& meta);

 private:
  struct Sparse {
    SparseKey key;
    std::optional<ColumnWriter<std::uint32_t>> values;
    std::optional<ColumnWriter<std::uint64_t>> offsets;
    std::uint64_t nnz = 0;
  };
  void append_sparse(Sparse& sparse, const Batch& batch, std::int64_t feature);

  OutputFile output_;
  hdf5::File file_;
  std::vector<Sparse> sparse_;
  std::int64_t dense_features_;
  std::int64_t samples_ = 0;
  ColumnWriter<float> dense_;
  ColumnWriter<std::uint8_t> labels_;
};

/// Opens a file and validates its structure; data are checked as they are read (Fletcher32, ids, offsets).
class SampleFileReader {
 public:
  /// Throws InputError naming file and data set: not HDF5, truncated, another format version, a data set missing or of
  /// the wrong size.
  explicit SampleFileReader(const std::string& path);
  SampleFileReader(const SampleFileReader&) = delete;
  SampleFileReader& operator=(const SampleFileReader&) = delete;

  const std::string& path() const { return file_.path(); }
  const SampleFileMeta& meta() const { return meta_; }
  const std::string& id_rule() const { return id_rule_; }  ///< JSON
  std::int64_t samples() const { return samples_; }

  /// Reads samples [first, first + count), a feature per key. Reuses the memory of `samples`. Throws InputError naming
  /// the data set and sample when a checksum fails, offsets decrease or an id is out of range.
  void read(std::int64_t first, std::int64_t count, Samples& samples);

  /// Returns the id mapping of the file with its dictionaries, to convert further files alike.
  IdMapping mapping() const;

  /// Reads everything, checks it and compares all XXH64 checksums, if it has them. Throws InputError naming the data
  /// set.
  void verify();

  /// Returns whether the file must have a checksum of each data set: those that others wrote, of id rule none, need
  /// not.
  bool has_checksums() const;

 private:
  struct Sparse {
    hdf5::Dataset<std::uint32_t> values;
    std::optional<hdf5::Dataset<std::uint64_t>> offsets;
  };
  void read_meta();
  void open_columns();
  void read_sparse(std::int64_t key, std::int64_t first, std::int64_t count, Batch& batch);
  void check_ids(std::int64_t key, std::int64_t first, std::span<const std::uint32_t> ids) const;
  void check_offsets(std::int64_t key, std::int64_t first, std::span<const std::uint64_t> offsets) const;

  hdf5::File file_;
  SampleFileMeta meta_;
  std::string id_rule_;
  std::int64_t samples_ = 0;
  std::vector<Sparse> sparse_;
  std::optional<hdf5::Dataset<float>> dense_;
  std::optional<hdf5::Dataset<std::uint8_t>> labels_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint8_t> label_bytes_;
};

}  // namespace shardmark::datasets
