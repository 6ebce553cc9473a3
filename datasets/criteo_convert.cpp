// SPDX-License-Identifier: Apache-2.0
#include "datasets/criteo_convert.hpp"

#include <filesystem>
#include <numeric>

#include "datasets/criteo_hdf5.hpp"
#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

std::vector<SparseKey> criteo_keys(const IdMapping& mapping) {
  std::vector<SparseKey> keys;
  for (int c = 0; c < criteo_categories; ++c)
    keys.push_back({criteo_field_name(criteo_dense + c), mapping.rows()[c], 1});
  return keys;
}

void count_missing(const CriteoBlock& block, std::vector<std::int64_t>& missing) {
  for (const std::uint64_t bits : block.missing)
    for (std::size_t field = 0; field < missing.size(); ++field) missing[field] += bits >> field & 1U;
}

}  // namespace

void map_block(const CriteoBlock& block, const IdMapping& mapping, Samples& samples) {
  Batch& batch = samples.batch;
  const auto rows = static_cast<std::size_t>(block.rows);
  batch.samples = block.rows;
  batch.features = criteo_categories;
  batch.offsets.resize(criteo_categories * rows + 1);
  std::iota(batch.offsets.begin(), batch.offsets.end(), 0);
  batch.indices.clear();
  std::vector<std::uint32_t> ids(rows);
  for (int c = 0; c < criteo_categories; ++c) {
    mapping.map(block, c, ids);
    batch.indices.insert(batch.indices.end(), ids.begin(), ids.end());
  }
  samples.dense = block.dense;
  samples.labels.assign(block.labels.begin(), block.labels.end());
}

ConvertReport convert_criteo(const std::string& in, const std::string& out, const IdMapping& mapping,
                             const CriteoReaderOptions& options, const Progress& progress) {
  CriteoReader reader(in, options);
  SampleFileMeta meta;
  meta.source = std::filesystem::path(in).filename();
  meta.missing.assign(criteo_fields, 0);
  SampleFileWriter writer(out, criteo_keys(mapping), criteo_dense, &mapping);
  ConvertReport report;
  CriteoBlock block;
  Samples samples;
  while (reader.next(block)) {
    map_block(block, mapping, samples);
    writer.append(samples);
    count_missing(block, meta.missing);
    progress(report.samples += block.rows);
  }
  if (report.samples == 0) throw InputError(in + ": holds no samples");
  meta.labelled = reader.labelled();
  writer.finish(meta);
  report.labelled = reader.labelled();
  report.text_bytes = reader.bytes();
  report.malformed = reader.malformed();
  report.malformed_summary = reader.malformed_summary();
  return report;
}

}  // namespace shardmark::datasets
