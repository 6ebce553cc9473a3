// SPDX-License-Identifier: Apache-2.0
#include "datasets/count_ids.hpp"

#include <algorithm>

#include "reference/error.hpp"

namespace shardmark::datasets {
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
