// SPDX-License-Identifier: Apache-2.0
#include "datasets/criteo_hdf5.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "reference/error.hpp"
#include "reference/json.hpp"

namespace shardmark::datasets {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t format_version = 1;
constexpr std::int64_t most_samples = std::int64_t{1} << 40;
constexpr std::int64_t most_features = std::int64_t{1} << 20;  // dense features, ids per sample

Json json_attribute(const hdf5::File& file, const std::string& name) {
  const std::string text = file.read_string("/meta", name);
  try {
    return parse_json(text);
  } catch (const JsonError& error) {
    file.fail("/meta", "attribute '" + name + "': " + error.what());
  }
}

/// Checks a count from the file: it is bounded, so that products of two of them do not overflow.
std::int64_t checked_count(const hdf5::File& file, const std::string& name, std::int64_t value, std::int64_t most) {
  if (value < 0 || value > most)
    file.fail("/meta", name + " " + std::to_string(value) + " is outside [0, " + std::to_string(most) + "]");
  return value;
}

std::vector<SparseKey> keys_from(const hdf5::File& file) {
  std::vector<SparseKey> keys;
  try {
    for (const auto& table : json_attribute(file, "tables")) {
      SparseKey& key = keys.emplace_back();
      key.key = table.at("key").get<std::string>();
      key.rows = checked_count(file, key.key + " rows", table.at("rows").get<std::int64_t>(), most_samples);
      key.hotness = checked_count(file, key.key + " hotness", table.at("hotness").get<std::int64_t>(), most_features);
    }
  } catch (const Json::exception& error) {
    file.fail("/meta", std::string("attribute 'tables': ") + error.what());
  }
  return keys;
}

struct IdRuleText {
  std::string name;
  std::int64_t min_count = 0;
};

IdRuleText id_rule_from(const hdf5::File& file) {
  try {
    const Json json = json_attribute(file, "id_rule");
    return {json.at("name").get<std::string>(), json.value("min_count", std::int64_t{0})};
  } catch (const Json::exception& error) {
    file.fail("/meta", std::string("attribute 'id_rule': ") + error.what());
  }
}

}  // namespace

SampleFileReader::SampleFileReader(const std::string& path) : file_(hdf5::File::open(path)) {
  read_meta();
  open_columns();
}

void SampleFileReader::read_meta() {
  if (!file_.exists("/meta")) file_.fail("/meta", "is missing: this is not a training set of shardmark");
  const std::int64_t version = file_.read_integer("/meta", "format_version");
  if (version != format_version)
    file_.fail("/meta", "format_version " + std::to_string(version) + " is not known, only " +
                            std::to_string(format_version) + "; convert the data again");
  samples_ = checked_count(file_, "samples", file_.read_integer("/meta", "samples"), most_samples);
  meta_.dense = checked_count(file_, "dense", file_.read_integer("/meta", "dense"), most_features);
  meta_.source = file_.read_string("/meta", "source");
  meta_.labelled = file_.read_string("/meta", "labels") == "read";
  meta_.sparse = keys_from(file_);
  const Json missing = json_attribute(file_, "missing");
  for (const auto& count : missing) meta_.missing.push_back(count.is_number_integer() ? count.get<std::int64_t>() : 0);
  id_rule_ = file_.read_string("/meta", "id_rule");
}

void SampleFileReader::open_columns() {
  const auto expect = [&](const auto& dataset, std::int64_t size) {
    if (dataset.size() != size)
      file_.fail(dataset.name(), "holds " + std::to_string(dataset.size()) + " elements, " + std::to_string(samples_) +
                                     " samples need " + std::to_string(size));
  };
  dense_ = hdf5::Dataset<float>::open(file_, "/dense");
  labels_ = hdf5::Dataset<std::uint8_t>::open(file_, "/label");
  expect(*dense_, samples_ * meta_.dense);
  expect(*labels_, samples_);
  for (const SparseKey& key : meta_.sparse) {
    const std::string group = "/sparse/" + key.key;
    Sparse& sparse =
        sparse_.emplace_back(Sparse{hdf5::Dataset<std::uint32_t>::open(file_, group + "/values"), std::nullopt});
    if (key.hotness != 0) {
      expect(sparse.values, samples_ * key.hotness);
      continue;
    }
    sparse.offsets = hdf5::Dataset<std::uint64_t>::open(file_, group + "/offsets");
    expect(*sparse.offsets, samples_ + 1);
    std::uint64_t ends[2] = {};
    sparse.offsets->read(0, std::span(ends, 1));
    sparse.offsets->read(samples_, std::span(ends + 1, 1));
    if (ends[0] != 0 || ends[1] != static_cast<std::uint64_t>(sparse.values.size()))
      file_.fail(sparse.offsets->name(), "offsets run from " + std::to_string(ends[0]) + " to " +
                                             std::to_string(ends[1]) + ", the ids from 0 to " +
                                             std::to_string(sparse.values.size()));
  }
}

void SampleFileReader::check_ids(std::int64_t key, std::int64_t first, std::span<const std::uint32_t> ids) const {
  const std::int64_t rows = meta_.sparse[key].rows;
  std::uint32_t largest = 0;
  for (const std::uint32_t id : ids) largest = std::max(largest, id);
  if (ids.empty() || largest < rows) return;
  const auto at = std::find_if(ids.begin(), ids.end(), [&](std::uint32_t id) { return id >= rows; }) - ids.begin();
  file_.fail(sparse_[key].values.name(), "id " + std::to_string(ids[at]) + " at element " + std::to_string(first + at) +
                                             " is outside its table of " + std::to_string(rows) + " rows");
}

void SampleFileReader::check_offsets(std::int64_t key, std::int64_t first,
                                     std::span<const std::uint64_t> offsets) const {
  const Sparse& sparse = sparse_[key];
  const auto values = static_cast<std::uint64_t>(sparse.values.size());
  const auto down = std::is_sorted_until(offsets.begin(), offsets.end());
  const auto at = down - offsets.begin();
  if (down != offsets.end())
    file_.fail(sparse.offsets->name(), "offsets decrease at sample " + std::to_string(first + at - 1) + ": " +
                                           std::to_string(down[-1]) + " then " + std::to_string(*down));
  if (offsets.back() > values)
    file_.fail(sparse.offsets->name(),
               "offset " + std::to_string(offsets.back()) + " is beyond the " + std::to_string(values) + " ids");
}

void SampleFileReader::read(std::int64_t first, std::int64_t count, Samples& samples) {
  if (first < 0 || count < 0 || first + count > samples_)
    file_.fail("/", "samples [" + std::to_string(first) + ", " + std::to_string(first + count) + ") of " +
                        std::to_string(samples_) + " were asked for");
  Batch& batch = samples.batch;
  batch.samples = count;
  batch.features = std::ssize(meta_.sparse);
  batch.offsets.resize(batch.bags() + 1);
  batch.offsets[0] = 0;
  batch.weights.clear();
  batch.indices.clear();
  for (std::int64_t key = 0; key < batch.features; ++key) read_sparse(key, first, count, batch);

  samples.dense.resize(count * meta_.dense);
  dense_->read(first * meta_.dense, std::span(samples.dense));
  label_bytes_.resize(count);
  labels_->read(first, std::span(label_bytes_));
  samples.labels.assign(label_bytes_.begin(), label_bytes_.end());
}

void SampleFileReader::read_sparse(std::int64_t key, std::int64_t first, std::int64_t count, Batch& batch) {
  const Sparse& sparse = sparse_[key];
  const std::int64_t hotness = meta_.sparse[key].hotness;
  std::int64_t* const offsets = batch.offsets.data() + key * count;
  const std::int64_t base = offsets[0];
  std::int64_t begin = first * hotness;
  std::int64_t end = begin + count * hotness;
  if (sparse.offsets) {
    offsets_.resize(count + 1);
    sparse.offsets->read(first, std::span(offsets_));
    check_offsets(key, first, offsets_);
    begin = static_cast<std::int64_t>(offsets_.front());
    end = static_cast<std::int64_t>(offsets_.back());
    for (std::int64_t s = 1; s <= count; ++s) offsets[s] = base + static_cast<std::int64_t>(offsets_[s]) - begin;
  } else {
    for (std::int64_t s = 1; s <= count; ++s) offsets[s] = base + s * hotness;
  }
  ids_.resize(end - begin);
  sparse.values.read(begin, std::span(ids_));
  check_ids(key, begin, ids_);
  batch.indices.insert(batch.indices.end(), ids_.begin(), ids_.end());
}

IdMapping SampleFileReader::mapping() const {
  std::vector<std::int64_t> rows;
  for (const SparseKey& key : meta_.sparse) rows.push_back(key.rows);
  const auto [name, min_count] = id_rule_from(file_);
  if (choice_named(id_rules, file_.path() + ": id rule", name).value == IdRule::modulo) return IdMapping::modulo(rows);
  std::vector<Dictionary> dictionaries;
  for (const SparseKey& key : meta_.sparse) {
    const auto dataset = hdf5::Dataset<std::uint32_t>::open(file_, "/dictionary/" + key.key);
    Dictionary& dictionary = dictionaries.emplace_back();
    verify_column(file_, dataset, true, [&](std::int64_t, std::span<const std::uint32_t> values) {
      dictionary.values.insert(dictionary.values.end(), values.begin(), values.end());
    });
  }
  return IdMapping::frequency(rows, min_count, std::move(dictionaries));
}

bool SampleFileReader::has_checksums() const {
  return id_rule_from(file_).name != "none" || file_.has_attribute("/dense", checksum_attribute);
}

void SampleFileReader::verify() {
  const bool sums = has_checksums();
  verify_column(file_, *dense_, sums, [](std::int64_t, std::span<const float>) {});
  verify_column(file_, *labels_, sums, [&](std::int64_t first, std::span<const std::uint8_t> labels) {
    const auto at =
        std::find_if(labels.begin(), labels.end(), [](std::uint8_t label) { return label > 1; }) - labels.begin();
    if (at != std::ssize(labels))
      file_.fail("/label",
                 "label " + std::to_string(labels[at]) + " of sample " + std::to_string(first + at) + " is not 0 or 1");
  });
  for (std::int64_t key = 0; key < std::ssize(sparse_); ++key) {
    const Sparse& sparse = sparse_[key];
    verify_column(file_, sparse.values, sums,
                  [&](std::int64_t first, std::span<const std::uint32_t> ids) { check_ids(key, first, ids); });
    if (!sparse.offsets) continue;
    std::uint64_t last = 0;
    verify_column(file_, *sparse.offsets, sums, [&](std::int64_t first, std::span<const std::uint64_t> offsets) {
      if (offsets.front() < last)
        file_.fail(sparse.offsets->name(), "offsets decrease at sample " + std::to_string(first - 1));
      check_offsets(key, first, offsets);
      last = offsets.back();
    });
  }
  if (file_.exists("/dictionary")) mapping();
}

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
