// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/dense/layered_model.hpp"

#include "reference/dense/dense_step.hpp"

namespace shardmark::workloads {

LayeredModel::LayeredModel(const comm::Communicator& comm, const DenseSpec& spec, const Optimizer& optimizer,
                           std::uint64_t seed)
    : optimizer_(optimizer), seed_(seed), layers_(spec), vectors_(spec.widths), sums_(comm) {
  reference::check_dense_optimizer(optimizer);
  for (int v = 0; v < choice_of(optimizer.kind).vectors; ++v)
    state_[v] = kernels::allocate<Host, float>("shardmark::dense_state", std::ssize(layers_.parameters()));
  reset();
}

void LayeredModel::reset() {
  float* to = layers_.parameters().data();
  const std::int64_t parameters = std::ssize(layers_.parameters());
  for (const auto& block : reference::initial_dense(layers_.spec(), seed_))
    to = std::ranges::copy(block.values, to).out;
  for (int v = 0; v < choice_of(optimizer_.kind).vectors; ++v)
    std::ranges::fill(span_of(state_[v]), initial_state(optimizer_, parameters, v * parameters));
  steps_ = 0;
}

std::span<float> LayeredModel::fill_bucket(const kernels::DenseBatch& batch) {
  kernels::ParameterRange bucket;
  while (next_stage_ < layers_.stages() && bucket.end - bucket.begin < SummedGradients::least_values) {
    const auto [begin, end] = layers_.backward(batch, next_stage_++);
    if (begin == end) continue;
    if (bucket.end == 0) bucket.end = end;
    bucket.begin = begin;
  }
  return layers_.gradients().subspan(bucket.begin, bucket.end - bucket.begin);
}

void LayeredModel::update(std::span<const float> gradients) {
  const auto first = gradients.data() - layers_.gradients().data();
  const auto same = [&](std::span<float> all) { return all.empty() ? all : all.subspan(first, gradients.size()); };
  kernels::dense_update(optimizer_, steps_, same(layers_.parameters()), gradients, same(span_of(state_[0])),
                        same(span_of(state_[1])));
}

ConstDeviceArray<float> LayeredModel::run(const StepInput& input, const Flight& outputs, PhaseCosts& costs) {
  vectors_.set(input, outputs);
  const std::int64_t numerical = layers_.spec().numerical_features;
  const kernels::DenseBatch batch{.samples = vectors_.samples,
                                  .global_batch = input.global_samples,
                                  .vectors = vectors_.outputs,
                                  .numerical = {input.dense.data(), vectors_.samples, numerical},
                                  .labels = input.labels.data(),
                                  .vector_gradients = vectors_.gradients};
  loss_ = layers_.forward(batch);
  ++steps_;
  next_stage_ = 0;
  sums_.run(
      costs, [&] { return fill_bucket(batch); }, [&](std::span<const float> sums) { update(sums); });
  return vectors_.written();
}

}  // namespace shardmark::workloads
