// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "datasets/criteo_hdf5.hpp"
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

/// A count from the file; bounded, so that products of two of them do not overflow.
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
    verify_column(file_, dataset, [&](std::int64_t, std::span<const std::uint32_t> values) {
      dictionary.values.insert(dictionary.values.end(), values.begin(), values.end());
    });
  }
  return IdMapping::frequency(rows, min_count, std::move(dictionaries));
}

void SampleFileReader::verify() {
  verify_column(file_, *dense_, [](std::int64_t, std::span<const float>) {});
  verify_column(file_, *labels_, [&](std::int64_t first, std::span<const std::uint8_t> labels) {
    const auto at =
        std::find_if(labels.begin(), labels.end(), [](std::uint8_t label) { return label > 1; }) - labels.begin();
    if (at != std::ssize(labels))
      file_.fail("/label",
                 "label " + std::to_string(labels[at]) + " of sample " + std::to_string(first + at) + " is not 0 or 1");
  });
  for (std::int64_t key = 0; key < std::ssize(sparse_); ++key) {
    const Sparse& sparse = sparse_[key];
    verify_column(file_, sparse.values,
                  [&](std::int64_t first, std::span<const std::uint32_t> ids) { check_ids(key, first, ids); });
    if (!sparse.offsets) continue;
    std::uint64_t last = 0;
    verify_column(file_, *sparse.offsets, [&](std::int64_t first, std::span<const std::uint64_t> offsets) {
      if (offsets.front() < last)
        file_.fail(sparse.offsets->name(), "offsets decrease at sample " + std::to_string(first - 1));
      check_offsets(key, first, offsets);
      last = offsets.back();
    });
  }
  if (file_.exists("/dictionary")) mapping();
}

}  // namespace shardmark::datasets
