// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/step_input.hpp"

#include <algorithm>

#include "comm/collectives.hpp"

namespace shardmark::workloads {

namespace {

/// Writes the gradients of one feature, [bags, dim].
void write_gradients(const Batch& own, std::int64_t number, const Feature& feature, std::int64_t dim,
                     std::int64_t first, std::int64_t step, const GradientValues& values, float* gradient) {
  reference::for_each_bag(own, number, feature, 0, own.samples, [&](const reference::Bag& bag) {
    for (std::int64_t c = 0; c < dim; ++c) *gradient++ = values(step, number, first + bag.sample, bag.position, c);
  });
}

/// Returns whether batches with as many vectors have the same gradients, which are those of samples and positions in
/// their bags.
bool counts_say_positions(const Workload& workload) {
  return !workload.ids.ragged || std::ranges::all_of(workload.features, has_bag_per_sample);
}

}  // namespace

StepInput make_step_input(const comm::Communicator& comm, const Workload& workload, const datasets::Samples& samples,
                          std::int64_t first, std::int64_t step, const GradientValues& values,
                          std::span<const StepInput> earlier) {
  const Batch& own = samples.batch;
  StepInput input;
  input.first_bag = input.first_element = {0};
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t f = 0; f < own.features; ++f) {
    const Feature& feature = workload.features[f];
    const std::int64_t dim = workload.tables[feature.table].dim;
    bool alone = own.weights.empty();  // every bag has one id, or none
    reference::for_each_bag(own, f, feature, 0, own.samples, [&](const reference::Bag& bag) {
      offsets.push_back(offsets.back() + std::ssize(bag.ids));
      alone &= std::ssize(bag.ids) <= 1;
    });
    input.divided.push_back(divides(feature.pooling) && !alone);
    input.ids.push_back(own.end_of(f) - own.begin_of(f));
    input.first_bag.push_back(std::ssize(offsets) - 1);
    input.first_element.push_back(input.elements() + input.bags_of(f) * dim);
  }
  const Execution exec;
  input.bags = {kernels::array_of(exec, input.first_bag, "shardmark::first_bag"),
                kernels::array_of(exec, offsets, "shardmark::offsets"),
                kernels::array_of(exec, own.indices, "shardmark::indices"),
                kernels::array_of(exec, own.weights, "shardmark::weights")};
  input.numerical = kernels::array_of(exec, samples.dense, "shardmark::numerical");
  input.labels = kernels::array_of(exec, samples.labels, "shardmark::labels");
  const std::int64_t same = step % GradientValues::distinct_steps;
  if (same < std::ssize(earlier) && earlier[same].first_element == input.first_element &&
      counts_say_positions(workload)) {
    input.gradients = earlier[same].gradients;
  } else {
    const auto gradients = kernels::allocate<Execution, float>("shardmark::gradients", input.elements());
    HostElements<float> on_host;
    const std::span<float> values_on_host = on_host.room_for(gradients);
    for (std::int64_t f = 0; f < own.features; ++f) {
      const Feature& feature = workload.features[f];
      write_gradients(own, f, feature, workload.tables[feature.table].dim, first, step, values,
                      values_on_host.data() + input.first_element[f]);
    }
    on_host.write(values_on_host, gradients);
    input.gradients = gradients;
  }
  input.global_samples = comm::all_reduce(comm, own.samples, comm::Reduce::sum);
  input.global_replaced = comm::all_reduce(comm, samples.replaced, comm::Reduce::sum);
  input.global_ids = comm::all_reduce(comm, own.nnz(), comm::Reduce::sum);
  input.weighted = comm::all_reduce(comm, own.weights.empty() ? 0 : 1, comm::Reduce::max) > 0;
  return input;
}

}  // namespace shardmark::workloads
