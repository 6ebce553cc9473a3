// SPDX-License-Identifier: Apache-2.0
#include "reference/dense/dense_work.hpp"

namespace shardmark::reference {
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
