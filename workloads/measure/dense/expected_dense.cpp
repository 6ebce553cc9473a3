// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/dense/expected_dense.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "comm/collectives.hpp"
#include "kernels/dense/dense_update.hpp"
#include "reference/dense/exact_head.hpp"
#include "workloads/cases/dense_spec_of.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {

SharedErrors::SharedErrors(const Batch& batch, std::span<const Feature> features) {
  for (std::int64_t f = 0; f < batch.features; ++f) {
    const auto table = static_cast<std::size_t>(features[f].table);
    vectors_of_row_.resize(std::max(vectors_of_row_.size(), table + 1));
    for (std::int64_t i = batch.begin_of(f); i < batch.end_of(f); ++i) ++vectors_of_row_[table][batch.indices[i]];
  }
}

double SharedErrors::vectors(std::int64_t table, const reference::Bag& bag) const {
  std::int64_t most = 1;
  for (const std::int64_t id : bag.ids) most = std::max(most, vectors_of_row_[table].at(id));
  return static_cast<double>(most);
}

double most_alike(std::span<const double> logits) {
  constexpr int dropped_bits = 12;  // double sums, too, depend on their order
  std::unordered_map<std::uint64_t, std::int64_t> alike;
  std::int64_t most = 1;
  for (const double logit : logits)
    most = std::max(most, ++alike[(std::bit_cast<std::uint64_t>(logit) + (1u << (dropped_bits - 1))) >> dropped_bits]);
  return static_cast<double>(most);
}

namespace {

using reference::Uncertain;

/// Returns the bound as fp32, rounded up.
float bound_in_fp32(const Uncertain& x) {
  if (std::isnan(x.error)) return INFINITY;
  return x.error == 0.0 ? 0.0F : std::nextafter(static_cast<float>(x.bound()), INFINITY);
}

}  // namespace

ExpectedDense::ExpectedDense(const comm::Communicator& comm, const RunOptions& options, WireTypes wire, DenseMath math)
    : comm_(comm), options_(options), wire_(wire), math_(math), widths_(output_widths(options.workload)) {
  std::exclusive_scan(widths_.begin(), widths_.end(), std::back_inserter(first_of_), std::int64_t{0});
  const DenseKind kind = options.dense.kind;
  if (has_layers(kind))
    layers_.emplace(dense_spec_of(options.workload, kind), options.dense.optimizer_of_weights(), options.seed,
                    options.workload.global_batch, math);
  for (int rank = 0; rank < comm.size(); ++rank)
    first_sample_.push_back(samples_of(options.workload.global_batch, comm.size(), rank).first);
  first_sample_.push_back(options.workload.global_batch);
}

/// Returns the standard error of an output. Bounds of fp32 are far from what its roundings do; a narrow type, of the
/// output, of the gradients that changed its rows or of the rows themselves, rounds evenly within its bound.
double ExpectedDense::error_of_output(float bound, std::int64_t feature) const {
  const Workload& workload = options_.workload;
  const Table& table = workload.tables[workload.features[feature].table];
  const bool updated = outcomes_.size() > 1;
  if (updated && !is_linear(table.optimizer.kind)) return reference::error_of_bound(bound, table.optimizer.kind);
  const bool narrow = wire_.forward != ValueType::fp32 ||
                      (updated && (wire_.backward != ValueType::fp32 || table.value_type != ValueType::fp32));
  return bound / (narrow ? std::sqrt(3.0) : Uncertain::confidence);
}

ExpectedDense::Input ExpectedDense::input_of(const datasets::Samples& batch, std::int64_t first,
                                             const std::vector<ExpectedOutputs>& outputs, std::int64_t begin,
                                             std::int64_t end) const {
  Input input;
  const std::int64_t samples = end - begin;
  // dlrm multiplies vectors by kernels of its own, in fp32.
  const bool are_operands = math_ == DenseMath::tf32 && options_.dense.kind != DenseKind::dlrm;
  for (std::size_t f = 0; f < outputs.size(); ++f) {
    const std::int64_t dim = outputs[f].dim(), bags = widths_[f] / dim;
    const Feature& feature = options_.workload.features[f];
    auto& vectors = input.vectors.emplace_back(samples, widths_[f]);
    std::int64_t number = 0;
    reference::for_each_bag(
        batch.batch, static_cast<std::int64_t>(f), feature, first + begin, samples, [&](const reference::Bag& bag) {
          const double alike = shared_.vectors(feature.table, bag), shared = std::sqrt(alike);
          for (std::int64_t c = 0; c < dim; ++c) {
            const double error =
                error_of_output(outputs[f].bounds(begin * bags + number)[c], static_cast<std::int64_t>(f));
            Uncertain& value = vectors.values[number * dim + c];
            value = {double{outputs[f].values(begin * bags + number)[c]}, error, shared * error};
            if (are_operands) value = reference::as_shared_operand(value, alike);
          }
          ++number;
        });
  }
  const std::int64_t numerical = layers_ ? layers_->spec().numerical_features : 0;
  input.numerical = {samples, numerical};
  for (std::int64_t i = 0; i < samples * numerical; ++i)
    input.numerical.values[i] = double{batch.dense[(first + begin) * numerical + i]};
  input.labels.assign(batch.labels.begin() + first + begin, batch.labels.begin() + first + end);
  return input;
}

reference::UncertainResult ExpectedDense::result_of(const Input& input) const {
  if (layers_) return layers_->pass(input);
  return reference::exact_pass(ExactHead{.seed = options_.seed}, input);
}

void ExpectedDense::keep(const reference::UncertainResult& result, std::int64_t begin, std::int64_t samples) {
  Outcome& outcome = outcomes_.back();
  for (std::int64_t s = 0; s < samples; ++s) {
    outcome.logits[begin + s] = result.logits.values[s].value;
    outcome.bounds[begin + s] = result.logits.values[s].bound();
  }
  for (std::size_t f = 0; f < widths_.size(); ++f) {
    const std::int64_t at = first_of_[f] * own_samples_ + begin * widths_[f];
    for (std::size_t i = 0; i < result.vector_gradients[f].values.size(); ++i) {
      const Uncertain& g = result.vector_gradients[f].values[i];
      own_values_[at + i] = static_cast<float>(g.value);
      own_bounds_[at + i] = bound_in_fp32(g);
    }
  }
}

void ExpectedDense::evaluate(const datasets::Samples& batch, SampleRange own,
                             const std::vector<ExpectedOutputs>& outputs) {
  for (std::size_t f = 0; f < outputs.size(); ++f)
    if (outputs[f].bags() * outputs[f].dim() != own.count * widths_[f])
      throw InputError(fmt::format("dense model: samples have different numbers of vectors of feature {}; pool it",
                                   options_.workload.features[f].name));
  own_samples_ = own.count;
  shared_ = {batch.batch, options_.workload.features};
  const auto samples = static_cast<std::size_t>(own.count);
  outcomes_.push_back({std::vector<double>(samples), std::vector<double>(samples)});
  own_values_.assign(samples * static_cast<std::size_t>(first_of_.back() + widths_.back()), 0.0F);
  own_bounds_.assign(own_values_.size(), 0.0F);
  const std::int64_t parameters = layers_ ? layers_->parameter_count() : 0;
  std::vector<reference::DenseGradients> by_thread(kernels::HostThreads().concurrency(),
                                                   reference::DenseGradients(parameters));
  kernels::for_each_part(own.count, samples_at_once, [&](std::int64_t begin, std::int64_t end, std::int64_t thread) {
    for (std::int64_t first = begin; first < end; first += samples_at_once) {
      enter("the reference's dense model");
      const std::int64_t last = std::min(first + samples_at_once, end);
      const auto result = result_of(input_of(batch, own.first, outputs, first, last));
      keep(result, first, last - first);
      by_thread[thread].add(result);
    }
  });
  gradients_ = reference::DenseGradients(parameters);
  for (const auto& part : by_thread) gradients_.add(part);
  if (layers_) gradients_.sum_in_one(own.count, math_);
  if (options_.exact &&
      (gradients_.loss_square > 0.0 || std::ranges::any_of(own_bounds_, [](float b) { return b > 0; })))
    throw InputError(
        "exact mode: the sums of the dense model's head grow beyond 2^24 units, so they are no longer exact in fp32; "
        "use fewer checked steps, other poolings or exact=false");
}

reference::BagGradients ExpectedDense::share(std::int64_t step) {
  values_ = comm::all_gather(comm_, std::span<const float>(own_values_)).values;
  const float largest = own_bounds_.empty() ? 0.0F : std::ranges::max(own_bounds_);
  bounds_.clear();
  if (comm::all_reduce(comm_, largest, comm::Reduce::max) > 0.0F)
    bounds_ = comm::all_gather(comm_, std::span<const float>(own_bounds_)).values;
  gradients_.count_alike(comm::all_reduce(comm_, most_alike(outcomes_.back().logits), comm::Reduce::sum));
  for (auto* each : {&gradients_.values, &gradients_.squares})
    comm::all_reduce(comm_, std::span(*each), comm::Reduce::sum);
  const double loss = comm::all_reduce(comm_, gradients_.loss, comm::Reduce::sum);
  const double square = comm::all_reduce(comm_, gradients_.loss_square, comm::Reduce::sum);
  outcomes_.back().loss = loss;
  outcomes_.back().loss_bound = Uncertain::confidence * std::sqrt(square);
  if (layers_) layers_->update(step + 1, gradients_);
  return [this](std::int64_t feature, const reference::Bag& bag, std::span<float> gradient, std::span<float> bounds) {
    copy_gradient(feature, bag, gradient, bounds);
  };
}

void ExpectedDense::copy_gradient(std::int64_t feature, const reference::Bag& bag, std::span<float> gradient,
                                  std::span<float> bounds) const {
  const auto next = std::ranges::upper_bound(first_sample_, bag.sample);
  const std::int64_t first = *(next - 1), samples = *next - first, width_of_all = first_of_.back() + widths_.back();
  const std::int64_t at = first * width_of_all + first_of_[feature] * samples +
                          (bag.sample - first) * widths_[feature] + bag.position * std::ssize(gradient);
  std::copy_n(values_.begin() + at, gradient.size(), gradient.begin());
  if (!bounds_.empty()) std::copy_n(bounds_.begin() + at, bounds.size(), bounds.begin());
}

void ExpectedDense::compare_outcomes(std::int64_t step, const DenseModel& model, WrongValues& wrong) const {
  const Outcome& expected = outcomes_[step];
  const auto logits = model.logits();
  const double loss = comm::all_reduce(comm_, model.loss_share(), comm::Reduce::sum);
  if (comm_.rank() == 0)
    wrong.compare(wrong.closeness["loss"], loss, expected.loss, expected.loss_bound,
                  [&] { return fmt::format("loss of step {}", step); });
  if (logits.size() != expected.logits.size())
    return wrong.add(std::ssize(expected.logits), fmt::format("step {} has {} logits of the rank, expected {}", step,
                                                              logits.size(), expected.logits.size()));
  Closeness& kind = wrong.closeness["logit"];
  for (std::size_t s = 0; s < logits.size(); ++s)
    wrong.compare(kind, double{logits[s]}, expected.logits[s], expected.bounds[s],
                  [&] { return fmt::format("logit {} of the rank in step {}", s, step); });
}

std::span<const reference::TouchedTable> ExpectedDense::parameters() const {
  if (!layers_) return {};
  return layers_->blocks();
}

void ExpectedDense::compare_parameters(const DenseModel& model, WrongValues& wrong) const {
  std::int64_t at = 0;
  const std::span<const float> weights = model.parameters();
  std::vector<std::span<const float>> states;
  for (int v = 0; v < kernels::most_state_vectors; ++v) states.push_back(model.state(v));
  for (const reference::TouchedTable& block : parameters()) {
    const auto& table = block.table();
    const auto& optimizer = choice_of(table.optimizer.kind);
    Closeness& of_weights = wrong.closeness[fmt::format("weight {}", optimizer.name)];
    Closeness& of_states = wrong.closeness[fmt::format("state of weights {}", optimizer.name)];
    for (std::int64_t row = 0; row < table.rows; ++row, at += table.dim)
      for (std::int64_t c = 0; c < table.dim; ++c) {
        const auto which = [&] { return fmt::format("{}[{}][{}]", table.name, row, c); };
        wrong.compare(of_weights, weights[at + c], block.values(row)[c], block.value_bounds(row)[c], which);
        for (std::int64_t v = 0; v < optimizer.vectors; ++v)
          wrong.compare(of_states, states[v][at + c], block.state(row)[v * table.dim + c],
                        block.state_bounds(row)[v * table.dim + c], [&] { return "optimizer state of " + which(); });
      }
  }
}

}  // namespace shardmark::workloads
