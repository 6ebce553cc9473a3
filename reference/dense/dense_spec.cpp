// SPDX-License-Identifier: Apache-2.0
#include "reference/dense/dense_spec.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace shardmark::reference {
namespace {

void demand(bool holds, const DenseSpec& spec, const std::string& what) {
  if (!holds) throw InputError("dense model " + std::string(name_of(spec.kind)) + ": " + what);
}

void check_layers(const DenseSpec& spec, const char* name, const std::vector<std::int64_t>& layers) {
  for (std::size_t l = 0; l < layers.size(); ++l)
    demand(layers[l] >= 1, spec,
           std::string(name) + ": layer " + std::to_string(l) + " has " + std::to_string(layers[l]) +
               " outputs, must have at least 1");
}

void check_widths(const DenseSpec& spec) {
  demand(!spec.widths.empty(), spec, "there is no feature");
  for (std::size_t f = 0; f < spec.widths.size(); ++f)
    demand(
        spec.widths[f] >= 1, spec,
        "feature " + std::to_string(f) + " gives " + std::to_string(spec.widths[f]) + " values, must give at least 1");
}

void check_dot(const DenseSpec& spec) {
  const bool bottom = !spec.bottom_mlp.empty();
  const std::int64_t dim = bottom ? spec.bottom_mlp.back() : spec.widths.front();
  for (std::size_t f = 0; f < spec.widths.size(); ++f)
    demand(spec.widths[f] == dim, spec,
           "dot products need vectors of one width: feature " + std::to_string(f) + " gives " +
               std::to_string(spec.widths[f]) + ", " + (bottom ? "bottom_mlp" : "feature 0") + " gives " +
               std::to_string(dim));
  demand(spec.top_inputs() >= 1, spec, "one vector alone has no dot products: add a feature or a bottom_mlp");
}

void check_cross(const DenseSpec& spec) {
  demand(spec.cross_layers >= 1, spec, "cross_layers is " + std::to_string(spec.cross_layers) + ", must be at least 1");
  demand(spec.cross_rank >= 1, spec, "cross_rank is " + std::to_string(spec.cross_rank) + ", must be at least 1");
}

}  // namespace

std::int64_t DenseSpec::width_of_vectors() const {
  return std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
}

std::int64_t DenseSpec::top_inputs() const {
  if (kind == DenseKind::dlrm) return lead_width() + dotted() * (dotted() - 1) / 2;
  if (kind == DenseKind::dcnv2) return lead_width() + width_of_vectors();
  return (width_of_vectors() + stride - 1) / stride + lead_width();
}

void check_dense(const DenseSpec& spec) {
  demand(has_layers(spec.kind), spec, "has no layers");
  check_widths(spec);
  demand(spec.numerical_features >= 0, spec,
         "numerical_features is " + std::to_string(spec.numerical_features) + ", must be at least 0");
  demand(spec.bottom_mlp.empty() || spec.numerical_features >= 1, spec, "bottom_mlp needs numerical_features");
  check_layers(spec, "bottom_mlp", spec.bottom_mlp);
  check_layers(spec, "top_mlp", spec.top_mlp);
  demand(!spec.top_mlp.empty() && spec.top_mlp.back() == 1, spec, "top_mlp must end in 1, the logit");
  if (spec.kind == DenseKind::mlp)
    demand(spec.stride >= 1, spec, "stride is " + std::to_string(spec.stride) + ", must be at least 1");
  if (spec.kind == DenseKind::dlrm) check_dot(spec);
  if (spec.kind == DenseKind::dcnv2) check_cross(spec);
}

namespace {

void add_mlp(std::int64_t inputs, const std::vector<std::int64_t>& layers, DenseWork& work) {
  for (const std::int64_t outputs : layers) {
    work.parameters += inputs * outputs + outputs;
    work.forward_flops += 2 * inputs * outputs;
    inputs = outputs;
  }
}

void add_interaction(const DenseSpec& spec, DenseWork& work) {
  const std::int64_t width = spec.top_inputs();
  if (spec.kind == DenseKind::dlrm) {
    work.forward_flops += spec.dotted() * (spec.dotted() - 1) / 2 * 2 * spec.widths.front();
  } else if (spec.kind == DenseKind::dcnv2) {
    work.parameters += spec.cross_layers * (2 * width * spec.cross_rank + width);
    work.forward_flops += spec.cross_layers * (4 * width * spec.cross_rank + 3 * width);
  } else if (spec.stride > 1) {
    work.forward_flops += spec.width_of_vectors();
  }
}

}  // namespace

DenseWork dense_work(const DenseSpec& spec) {
  check_dense(spec);
  DenseWork work;
  add_mlp(spec.numerical_features, spec.bottom_mlp, work);
  add_interaction(spec, work);
  add_mlp(spec.top_inputs(), spec.top_mlp, work);
  const std::int64_t unneeded = spec.bottom_mlp.empty() ? 0 : 2 * spec.numerical_features * spec.bottom_mlp.front();
  work.backward_flops = 2 * work.forward_flops - unneeded;
  return work;
}

}  // namespace shardmark::reference
