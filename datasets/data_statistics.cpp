// SPDX-License-Identifier: Apache-2.0
#include "datasets/data_statistics.hpp"

#include <algorithm>

#include "datasets/value_table.hpp"
#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

void add(ColumnStatistics& column, double value) {
  column.minimum = column.values == 0 ? value : std::min(column.minimum, value);
  column.maximum = column.values == 0 ? value : std::max(column.maximum, value);
  ++column.values;
}

}  // namespace

DataStatistics inspect(CriteoReader& reader, const Progress& progress) {
  DataStatistics statistics;
  std::vector<ValueTable> seen(criteo_categories);
  for (int field = 0; field < criteo_fields; ++field) {
    statistics.columns.emplace_back().name = criteo_field_name(field);
    statistics.columns.back().missing = 0;
  }
  CriteoBlock block;
  while (reader.next(block)) {
    statistics.samples += block.rows;
    statistics.positives += std::count(block.labels.begin(), block.labels.end(), 1);
    for (int field = 0; field < criteo_fields; ++field) {
      ColumnStatistics& column = statistics.columns[field];
      for (std::int64_t row = 0; row < block.rows; ++row) {
        if (block.is_missing(row, field)) {
          ++column.missing;
        } else if (field < criteo_dense) {
          add(column, block.dense[row * criteo_dense + field]);
        } else {
          const auto c = static_cast<std::size_t>(field - criteo_dense);
          const std::uint32_t value = block.categories[c][row];
          add(column, value);
          seen[c][value] = 1;
        }
      }
    }
    progress(statistics.samples);
  }
  for (std::size_t c = 0; c < seen.size(); ++c)
    statistics.columns[criteo_dense + c].unique = static_cast<std::int64_t>(seen[c].size());
  return statistics;
}

DataStatistics inspect(SampleFileReader& reader, const Progress& progress) {
  constexpr std::int64_t samples_at_once = 1 << 16;
  const SampleFileMeta& meta = reader.meta();
  DataStatistics statistics;
  std::vector<std::vector<bool>> seen;
  for (std::int64_t d = 0; d < meta.dense; ++d)
    statistics.columns.emplace_back().name = criteo_field_name(static_cast<int>(d));
  for (const SparseKey& key : meta.sparse) {
    statistics.columns.emplace_back().name = key.key;
    statistics.columns.back().unique = 0;
    seen.emplace_back(static_cast<std::size_t>(key.rows));
  }
  for (std::size_t i = 0; i < std::min(statistics.columns.size(), meta.missing.size()); ++i)
    statistics.columns[i].missing = meta.missing[i];

  Samples samples;
  for (; statistics.samples < reader.samples(); progress(statistics.samples)) {
    reader.read(statistics.samples, std::min(samples_at_once, reader.samples() - statistics.samples), samples);
    const Batch& batch = samples.batch;
    statistics.samples += batch.samples;
    statistics.positives += std::count(samples.labels.begin(), samples.labels.end(), 1.0F);
    for (std::size_t i = 0; i < samples.dense.size(); ++i)
      add(statistics.columns[i % static_cast<std::size_t>(meta.dense)], samples.dense[i]);
    for (std::int64_t f = 0; f < batch.features; ++f) {
      ColumnStatistics& column = statistics.columns[meta.dense + f];
      auto& marks = seen[f];
      for (std::int64_t i = batch.begin_of(f); i < batch.end_of(f); ++i) {
        const std::int64_t id = batch.indices[i];
        add(column, static_cast<double>(id));
        auto mark = marks[id];
        column.unique += mark ? 0 : 1;
        mark = true;
      }
    }
  }
  return statistics;
}

namespace {

IdCounts count_text(const std::string& path, const SourceOptions& options, const Notice& notice,
                    const Progress& progress) {
  const IdMapping mapping = mapping_of(path, options, notice);
  CriteoReader reader(path, options.reader);
  IdCounts counts{.features = std::vector<FeatureCounts>(criteo_categories)};
  CriteoBlock block;
  std::vector<std::uint32_t> ids;
  while (counts.whole && reader.next(block)) {
    const auto rows = std::min(block.rows, options.limit - counts.samples);
    counts.whole = rows == block.rows;
    ids.resize(block.rows);
    for (int c = 0; c < criteo_categories; ++c) {
      mapping.map(block, c, ids);
      for (std::int64_t row = 0; row < rows; ++row) ++counts.features[c].ids[ids[row]];
    }
    counts.samples += rows;
    progress(counts.samples);
  }
  if (counts.samples == 0) throw InputError(path + ": holds no samples");
  if (reader.malformed() > 0) notice(reader.malformed_summary());
  for (FeatureCounts& feature : counts.features) feature.bags[1] = counts.samples;
  return counts;
}

IdCounts count_samples(SampleSource& source, std::int64_t limit, const Progress& progress) {
  constexpr std::int64_t samples_at_once = 1 << 16;
  IdCounts counts{.whole = source.samples() <= limit, .features = {}};
  Samples samples;
  for (const std::int64_t all = std::min(source.samples(), limit); counts.samples < all; progress(counts.samples)) {
    source.read(counts.samples, std::min(samples_at_once, all - counts.samples), samples);
    const Batch& batch = samples.batch;
    counts.samples += batch.samples;
    counts.features.resize(static_cast<std::size_t>(batch.features));
    for (std::int64_t f = 0; f < batch.features; ++f) {
      FeatureCounts& feature = counts.features[f];
      for (std::int64_t i = batch.begin_of(f); i < batch.end_of(f); ++i)
        ++feature.ids[static_cast<std::uint32_t>(batch.indices[i])];
      for (std::int64_t s = f * batch.samples; s < (f + 1) * batch.samples; ++s)
        ++feature.bags[batch.offsets[s + 1] - batch.offsets[s]];
    }
  }
  return counts;
}

}  // namespace

IdCounts count_ids(const std::string& path, const SourceOptions& options, const Notice& notice,
                   const Progress& progress) {
  if (!is_hdf5(path)) return count_text(path, options, notice, progress);
  return count_samples(*open_samples(path, options, notice), options.limit, progress);
}

}  // namespace shardmark::datasets
