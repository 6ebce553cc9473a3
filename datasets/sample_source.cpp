// SPDX-License-Identifier: Apache-2.0
#include "datasets/sample_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "datasets/criteo_convert.hpp"
#include "datasets/criteo_hdf5.hpp"
#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

/// Concatenates the samples of `parts`.
void join(const std::vector<Samples>& parts, Samples& all) {
  all = {};
  Batch& batch = all.batch;
  batch.features = parts.front().batch.features;
  batch.offsets = {0};
  for (std::int64_t f = 0; f < batch.features; ++f) {
    for (const Samples& part : parts) {
      const Batch& from = part.batch;
      const std::int64_t base = batch.nnz() - from.begin_of(f);
      for (std::int64_t s = 1; s <= from.samples; ++s)
        batch.offsets.push_back(base + from.offsets[f * from.samples + s]);
      batch.indices.insert(batch.indices.end(), from.indices.begin() + from.begin_of(f),
                           from.indices.begin() + from.end_of(f));
    }
  }
  for (const Samples& part : parts) {
    batch.samples += part.batch.samples;
    all.dense.insert(all.dense.end(), part.dense.begin(), part.dense.end());
    all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
  }
}

class Hdf5Source : public SampleSource {
 public:
  Hdf5Source(const std::string& path, const std::vector<std::int64_t>& rows, const Notice& notice)
      : SampleSource(path, notice), reader_(path) {
    const auto& keys = reader_.meta().sparse;
    if (keys.size() != rows.size())
      throw InputError(path + ": has " + std::to_string(keys.size()) + " sparse features, the workload " +
                       std::to_string(rows.size()));
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (keys[k].rows > rows[k])
        throw InputError(path + ": feature " + keys[k].key + " has ids for " + std::to_string(keys[k].rows) +
                         " rows, the workload's table has " + std::to_string(rows[k]) +
                         "; convert the data for this workload and scale");
    if (!reader_.meta().labelled) notice(path + ": has no labels, all are 0");
    set_samples(reader_.samples());
  }

 private:
  void read_range(std::int64_t first, std::int64_t count, Samples& samples) override {
    reader_.read(first, count, samples);
  }
  SampleFileReader reader_;
};

/// The samples of a TSV file in memory, ids as 32-bit columns.
class TsvSource : public SampleSource {
 public:
  TsvSource(const std::string& path, const SourceOptions& options, const Notice& notice) : SampleSource(path, notice) {
    const IdMapping mapping = mapping_of(path, options, notice);
    CriteoReader reader(path, options.reader);
    CriteoBlock block;
    std::vector<std::uint32_t> ids;
    while (std::ssize(labels_) < options.limit && reader.next(block)) {
      const auto rows = std::min(block.rows, options.limit - std::ssize(labels_));
      ids.resize(block.rows);
      for (int c = 0; c < criteo_categories; ++c) {
        mapping.map(block, c, ids);
        auto& column = ids_[c];
        column.insert(column.end(), ids.begin(), ids.begin() + rows);
      }
      dense_.insert(dense_.end(), block.dense.begin(), block.dense.begin() + rows * criteo_dense);
      labels_.insert(labels_.end(), block.labels.begin(), block.labels.begin() + rows);
    }
    if (reader.malformed() > 0) notice(reader.malformed_summary());
    if (!reader.labelled()) notice(path + ": lines of 39 fields, so there are no labels; all are 0");
    set_samples(std::ssize(labels_));
  }

 private:
  void read_range(std::int64_t first, std::int64_t count, Samples& samples) override {
    Batch& batch = samples.batch;
    batch.samples = count;
    batch.features = criteo_categories;
    batch.weights.clear();
    batch.offsets.resize(batch.bags() + 1);
    for (std::size_t i = 0; i < batch.offsets.size(); ++i) batch.offsets[i] = static_cast<std::int64_t>(i);
    batch.indices.clear();
    for (const auto& column : ids_)
      batch.indices.insert(batch.indices.end(), column.begin() + first, column.begin() + first + count);
    samples.dense.assign(dense_.begin() + first * criteo_dense, dense_.begin() + (first + count) * criteo_dense);
    samples.labels.assign(labels_.begin() + first, labels_.begin() + first + count);
  }

  std::array<std::vector<std::uint32_t>, criteo_categories> ids_;
  std::vector<float> dense_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace

IdMapping mapping_of(const std::string& path, const SourceOptions& options, const Notice& notice) {
  if (options.rule == IdRule::modulo) return IdMapping::modulo(options.rows);
  if (options.rule == IdRule::raw)  // a table of all values leaves them as they are
    return IdMapping::modulo(std::vector<std::int64_t>(options.rows.size(), std::int64_t{1} << 32));
  IdMapping mapping = count_frequencies(path, options.reader, options.rows, options.min_count, [](std::int64_t) {});
  if (const std::string dropped = mapping.dropped_summary(); !dropped.empty()) notice(path + ": " + dropped);
  return mapping;
}

void SampleSource::set_samples(std::int64_t samples) {
  if (samples == 0) throw InputError(path_ + ": holds no samples");
  samples_ = samples;
}

void SampleSource::read(std::int64_t first, std::int64_t count, Samples& samples) {
  if (!told_wrap_ && first + count > samples_) {
    notice_(path_ + ": has " + std::to_string(samples_) + " samples read; they are used again from the start");
    told_wrap_ = true;
  }
  first %= samples_;
  if (first + count <= samples_) return read_range(first, count, samples);
  std::vector<Samples> parts;
  while (count > 0) {
    const std::int64_t piece = std::min(count, samples_ - first);
    read_range(first, piece, parts.emplace_back());
    count -= piece;
    first = 0;
  }
  join(parts, samples);
}

bool is_hdf5(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path + ": cannot open: " + std::strerror(errno));
  char head[8] = {};
  file.read(head, sizeof head);
  if (file.gcount() == sizeof head && std::memcmp(head, "\x89HDF\r\n\x1a\n", sizeof head) == 0) return true;
  if (path.ends_with(".h5") || path.ends_with(".hdf5"))
    throw InputError(path + ": does not begin as an HDF5 file does");
  return false;
}

std::unique_ptr<SampleSource> open_samples(const std::string& path, const SourceOptions& options,
                                           const Notice& notice) {
  if (is_hdf5(path)) return std::make_unique<Hdf5Source>(path, options.rows, notice);
  return std::make_unique<TsvSource>(path, options, notice);
}

}  // namespace shardmark::datasets
