// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/dense/export_dense.hpp"

#include <nlohmann/json.hpp>

#include "reference/dense/dense_parameters.hpp"
#include "reference/dense/exact_head.hpp"
#include "workloads/batches/learnable_samples.hpp"
#include "workloads/cases/dense_spec_of.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

Json description_of(const RunOptions& options) {
  const DenseKind kind = options.dense.kind;
  Json model{{"kind", name_of(kind)}, {"features", Json::array()}};
  for (const Feature& feature : options.workload.features) model["features"].push_back(feature.name);
  if (!has_layers(kind)) return model;
  const DenseSpec spec = dense_spec_of(options.workload, kind);
  model.update({{"bottom_mlp", spec.bottom_mlp},
                {"top_mlp", spec.top_mlp},
                {"stride", spec.stride},
                {"cross_layers", kind == DenseKind::dcnv2 ? spec.cross_layers : 0},
                {"optimizer", to_json(options.dense.optimizer_of_weights())}});
  return model;
}

}  // namespace

void write_dense_inputs(datasets::hdf5::File& file, const RunOptions& options, const datasets::Samples& samples) {
  const std::int64_t batch = samples.batch.samples;
  file.create_group("/dense");
  file.write_attribute("/dense", "model", description_of(options).dump());
  const std::int64_t numerical = batch > 0 ? std::ssize(samples.dense) / batch : numerical_features(options);
  file.write_array<float>("/dense/numerical", samples.dense, {batch, numerical});
  file.write_array<float>("/dense/labels", samples.labels, {batch});
  if (has_layers(options.dense.kind)) return file.create_group("/dense/parameters");
  const auto widths = output_widths(options.workload);
  std::vector<float> head;
  for (std::size_t f = 0; f < widths.size(); ++f)
    for (std::int64_t c = 0; c < widths[f]; ++c)
      head.push_back(ExactHead{.seed = options.seed}(static_cast<std::int64_t>(f), c));
  file.write_array<float>("/dense/head", head, {std::ssize(head)});
}

void write_dense_parameters(datasets::hdf5::File& file, const RunOptions& options, const DenseModel& model,
                            const std::string& when) {
  if (!has_layers(options.dense.kind)) return;
  const std::int64_t vectors = choice_of(options.dense.optimizer).vectors;
  std::size_t first = 0;
  for (const auto& block : reference::dense_blocks(dense_spec_of(options.workload, options.dense.kind))) {
    const std::string group = "/dense/parameters/" + block.name;
    const auto size = static_cast<std::size_t>(block.rows * block.columns);
    if (when == "before") file.create_group(group);
    file.write_array<float>(group + "/" + when, model.parameters().subspan(first, size), {block.rows, block.columns});
    std::vector<float> state;
    for (int v = 0; v < static_cast<int>(vectors); ++v) {
      const auto part = model.state(v).subspan(first, size);
      state.insert(state.end(), part.begin(), part.end());
    }
    if (vectors > 0) file.write_array<float>(group + "/state_" + when, state, {vectors, block.rows, block.columns});
    first += size;
  }
}

void write_dense_outcome(datasets::hdf5::File& file, double loss, std::span<const float> logits) {
  file.write_attribute("/dense", "outcome", Json{{"loss", loss}}.dump());
  file.write_array<float>("/dense/logits", logits, {std::ssize(logits)});
}

}  // namespace shardmark::workloads
