// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "datasets/criteo_hdf5.hpp"
#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

std::string group_of(const SparseKey& key) { return "/sparse/" + key.key; }

std::string describe(const IdMapping* mapping) {
  nlohmann::ordered_json json;
  json["name"] = mapping == nullptr ? "none" : name_of(mapping->rule());
  if (mapping != nullptr && mapping->rule() == IdRule::frequency) json["min_count"] = mapping->min_count();
  return json.dump();
}

void write_dictionaries(hdf5::File& file, const std::vector<SparseKey>& keys, const IdMapping& mapping) {
  if (mapping.dictionaries().empty()) return;
  file.create_group("/dictionary");
  for (std::size_t k = 0; k < keys.size(); ++k) {
    ColumnWriter<std::uint32_t> column(file, "/dictionary/" + keys[k].key);
    for (const std::uint32_t value : mapping.dictionaries()[k].values) column.append(value);
    column.finish();
  }
}

}  // namespace

SampleFileWriter::SampleFileWriter(const std::string& path, const std::vector<SparseKey>& sparse, std::int64_t dense,
                                   const IdMapping* mapping)
    : output_(path),
      file_(hdf5::File::create(output_)),
      dense_features_(dense),
      dense_(file_, "/dense"),
      labels_(file_, "/label") {
  file_.create_group("/meta");
  file_.create_group("/sparse");
  file_.write_attribute("/meta", "id_rule", describe(mapping));
  if (mapping != nullptr) write_dictionaries(file_, sparse, *mapping);
  sparse_.reserve(sparse.size());
  for (const SparseKey& key : sparse) {
    file_.create_group(group_of(key));
    Sparse& column = sparse_.emplace_back();
    column.key = key;
    column.values.emplace(file_, group_of(key) + "/values");
    if (key.hotness != 0) continue;
    column.offsets.emplace(file_, group_of(key) + "/offsets");
    column.offsets->append(0);
  }
}

void SampleFileWriter::append(const Samples& samples) {
  const Batch& batch = samples.batch;
  if (batch.features != std::ssize(sparse_) || std::ssize(samples.dense) != batch.samples * dense_features_ ||
      std::ssize(samples.labels) != batch.samples)
    throw InputError(output_.target() + ": samples of another shape than the file's " + std::to_string(sparse_.size()) +
                     " sparse and " + std::to_string(dense_features_) + " dense features");
  for (std::int64_t f = 0; f < batch.features; ++f) append_sparse(sparse_[f], batch, f);
  for (const float value : samples.dense) dense_.append(value);
  for (const float label : samples.labels) labels_.append(static_cast<std::uint8_t>(label));
  samples_ += batch.samples;
}

void SampleFileWriter::append_sparse(Sparse& sparse, const Batch& batch, std::int64_t feature) {
  for (std::int64_t s = 0; s < batch.samples; ++s) {
    const auto bag = static_cast<std::size_t>(feature * batch.samples + s);
    const std::int64_t ids = batch.offsets[bag + 1] - batch.offsets[bag];
    if (sparse.offsets) sparse.offsets->append(sparse.nnz += static_cast<std::uint64_t>(ids));
    if (sparse.key.hotness != 0 && ids != sparse.key.hotness)
      file_.fail(group_of(sparse.key), "sample " + std::to_string(samples_ + s) + " has " + std::to_string(ids) +
                                           " ids, its hotness is " + std::to_string(sparse.key.hotness));
  }
  for (std::int64_t i = batch.begin_of(feature); i < batch.end_of(feature); ++i) {
    const std::int64_t id = batch.indices[i];
    if (id < 0 || id >= sparse.key.rows || id > UINT32_MAX)
      file_.fail(group_of(sparse.key),
                 "id " + std::to_string(id) + " is outside [0, " + std::to_string(sparse.key.rows) + ")");
    sparse.values->append(static_cast<std::uint32_t>(id));
  }
}

void SampleFileWriter::finish(const SampleFileMeta& meta) {
  auto tables = nlohmann::ordered_json::array();
  for (Sparse& sparse : sparse_) {
    sparse.values->finish();
    if (sparse.offsets) sparse.offsets->finish();
    tables.push_back({{"key", sparse.key.key}, {"rows", sparse.key.rows}, {"hotness", sparse.key.hotness}});
  }
  dense_.finish();
  labels_.finish();
  file_.write_attribute("/meta", "format_version", std::int64_t{1});
  file_.write_attribute("/meta", "generator", std::string("shardmark"));
  file_.write_attribute("/meta", "source", meta.source);
  file_.write_attribute("/meta", "tables", tables.dump());
  file_.write_attribute("/meta", "samples", samples_);
  file_.write_attribute("/meta", "dense", dense_features_);
  file_.write_attribute("/meta", "labels", std::string(meta.labelled ? "read" : "absent"));
  file_.write_attribute("/meta", "missing", nlohmann::json(meta.missing).dump());
  file_.close();
  output_.commit();
}

}  // namespace shardmark::datasets
