// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/dense/layered_model.hpp"

#include <algorithm>

#include "reference/dense/dense_step.hpp"

namespace shardmark::workloads {

LayeredModel::LayeredModel(const comm::Communicator& comm, const DenseSpec& spec, const Optimizer& optimizer,
                           std::uint64_t seed)
    : optimizer_(optimizer), seed_(seed), layers_(spec), vectors_(spec.widths), sums_(comm) {
  reference::check_dense_optimizer(optimizer);
  for (int v = 0; v < choice_of(optimizer.kind).vectors; ++v)
    state_[v] = kernels::allocate<Execution, float>("shardmark::dense_state", parameter_count());
  reset();
}

void LayeredModel::reset() {
  const auto values = parameters_on_host_.room_for(layers_.parameters());
  auto to = values.begin();
  for (const auto& block : reference::initial_dense(layers_.spec(), seed_))
    to = std::ranges::copy(block.values, to).out;
  parameters_on_host_.write(values, layers_.parameters());
  for (int v = 0; v < choice_of(optimizer_.kind).vectors; ++v)
    Kokkos::deep_copy(Execution(), state_[v], initial_state(optimizer_, parameter_count(), v * parameter_count()));
  steps_ = 0;
}

void LayeredModel::resume(std::span<const float> parameters, const std::vector<std::vector<float>>& state,
                          std::int64_t steps) {
  const auto set = [](std::span<const float> from, HostElements<float>& host, const DeviceArray<float>& to) {
    const auto values = host.room_for(to);
    std::ranges::copy(from, values.begin());
    host.write(values, to);
  };
  set(parameters, parameters_on_host_, layers_.parameters());
  for (std::size_t v = 0; v < state.size(); ++v) set(state[v], state_on_host_[v], state_[v]);
  steps_ = steps;
}

DeviceArray<float> LayeredModel::fill_bucket(const kernels::DenseBatch& batch) {
  kernels::ParameterRange bucket;
  const std::int64_t first = next_stage_;
  while (next_stage_ < layers_.stages() && bucket.end - bucket.begin < SummedGradients::least_values) {
    const auto [begin, end] = layers_.completed_by(next_stage_++);
    if (begin == end) continue;
    if (bucket.end == 0) bucket.end = end;
    bucket.begin = begin;
  }
  layers_.backward(batch, first, next_stage_);
  return part(layers_.gradients(), bucket.begin, bucket.end);
}

void LayeredModel::update(const DeviceArray<float>& gradients) {
  const std::int64_t first = gradients.data() - layers_.gradients().data();
  const auto same = [&](const DeviceArray<float>& all) {
    return all.extent(0) == 0 ? all : part(all, first, first + static_cast<std::int64_t>(gradients.extent(0)));
  };
  kernels::dense_update(optimizer_, steps_, same(layers_.parameters()), gradients, same(state_[0]), same(state_[1]));
}

ConstDeviceArray<float> LayeredModel::run(const StepInput& input, const Flight& outputs, PhaseCosts& costs) {
  vectors_.set(input, outputs);
  const std::int64_t numerical = layers_.spec().numerical_features;
  const kernels::DenseBatch batch{.samples = vectors_.samples,
                                  .global_batch = input.global_samples,
                                  .vectors = vectors_.outputs,
                                  .numerical = {input.numerical.data(), vectors_.samples, numerical},
                                  .labels = input.labels.data(),
                                  .vector_gradients = vectors_.gradients};
  const Case& config = outputs.embedding().config();
  layers_.set_math(config.dense_math);
  layers_.launch_one_by_one(config.async.on());  // threads of stages launch meanwhile
  layers_.forward(batch);
  ++steps_;
  next_stage_ = 0;
  sums_.run(
      outputs.embedding(), costs, [&] { return fill_bucket(batch); },
      [&](const DeviceArray<float>& sums) { update(sums); });
  return vectors_.written();
}

}  // namespace shardmark::workloads
