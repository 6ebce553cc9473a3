// SPDX-License-Identifier: Apache-2.0
#include "reference/dense/dense_parameters.hpp"

#include <cmath>

#include "reference/counter_random.hpp"

namespace shardmark::reference {
namespace {

DenseBlock weight(std::string name, std::int64_t outputs, std::int64_t inputs) {
  return {std::move(name), outputs, inputs, std::sqrt(2.0 / static_cast<double>(inputs + outputs))};
}

void add_mlp(const std::string& name, std::int64_t inputs, const std::vector<std::int64_t>& layers,
             std::vector<DenseBlock>& blocks) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::string layer = name + "." + std::to_string(l) + ".";
    blocks.push_back(weight(layer + "weight", layers[l], inputs));
    blocks.push_back({layer + "bias", layers[l], 1, std::sqrt(1.0 / static_cast<double>(layers[l]))});
    inputs = layers[l];
  }
}

void add_cross(const DenseSpec& spec, std::vector<DenseBlock>& blocks) {
  for (std::int64_t l = 0; l < spec.cross_layers; ++l) {
    const std::string layer = "cross." + std::to_string(l) + ".";
    blocks.push_back(weight(layer + "v", spec.cross_rank, spec.top_inputs()));
    blocks.push_back(weight(layer + "w", spec.top_inputs(), spec.cross_rank));
    blocks.push_back({layer + "bias", spec.top_inputs(), 1, 0.0});
  }
}

}  // namespace

std::vector<DenseBlock> dense_blocks(const DenseSpec& spec) {
  check_dense(spec);
  std::vector<DenseBlock> blocks;
  add_mlp("bottom", spec.numerical_features, spec.bottom_mlp, blocks);
  if (spec.kind == DenseKind::dcnv2) add_cross(spec, blocks);
  add_mlp("top", spec.top_inputs(), spec.top_mlp, blocks);
  return blocks;
}

DenseParameters<float> initial_dense(const DenseSpec& spec, std::uint64_t seed) {
  constexpr std::int64_t of_the_model = -1;  // where the values of tables have the number of theirs
  DenseParameters<float> parameters;
  for (const DenseBlock& block : dense_blocks(spec)) {
    const auto number = std::ssize(parameters);
    Matrix<float>& values = parameters.emplace_back(block.rows, block.columns);
    if (block.deviation == 0.0) continue;
    for (std::int64_t r = 0; r < block.rows; ++r)
      for (std::int64_t c = 0; c < block.columns; ++c)
        values.at(r, c) =
            static_cast<float>(block.deviation * standard_normal(random_bits(seed, of_the_model, number, r, c)));
  }
  return parameters;
}

}  // namespace shardmark::reference
