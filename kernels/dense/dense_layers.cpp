// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/dense_layers.hpp"

#include "kernels/dense/logit_loss.hpp"

namespace shardmark::kernels {
namespace {

/// Places matrices of so many columns each one behind the other; every one begins with a cache line.
class Placement {
 public:
  explicit Placement(std::int64_t samples) : samples_(samples) {}

  std::int64_t numbers() const { return numbers_; }
  Floats next(std::int64_t columns, float* memory) {
    constexpr std::int64_t line = 16;
    const Floats matrix(memory + numbers_, samples_, columns);
    numbers_ += (samples_ * columns + line - 1) / line * line;
    return matrix;
  }

 private:
  std::int64_t samples_, numbers_ = 0;
};

template <class T>
MatrixView<T> first_columns(const MatrixView<T>& buffer, std::int64_t columns) {
  return {buffer.data, buffer.rows, columns};
}

Array<DenseExecution, float> all_of(const Floats& buffer) {
  return Array<DenseExecution, float>(buffer.data, static_cast<std::size_t>(buffer.rows * buffer.columns));
}

}  // namespace

std::int64_t dense_numbers_per_sample(const DenseSpec& spec) {
  const std::int64_t x = spec.top_inputs(), crosses = spec.kind == DenseKind::dcnv2 ? spec.cross_layers : 0;
  std::int64_t widest = x, outputs = 0;
  for (const auto& layers : {spec.bottom_mlp, spec.top_mlp})
    for (const std::int64_t each : layers) {
      widest = std::max(widest, each);
      outputs += each;
    }
  return outputs + x + crosses * (2 * x + spec.cross_rank) + 2 * widest + (crosses > 0 ? 2 * x + spec.cross_rank : 0);
}

DenseLayers::DenseLayers(const DenseSpec& spec) : spec_(spec) {
  check_dense(spec);
  add_layers(spec.numerical_features, spec.bottom_mlp, bottom_layers_);
  for (std::int64_t l = 0; spec.kind == DenseKind::dcnv2 && l < spec.cross_layers; ++l) {
    cross_first_.push_back(parameter_count_);
    parameter_count_ += 2 * spec.cross_rank * spec.top_inputs() + spec.top_inputs();
  }
  add_layers(spec.top_inputs(), spec.top_mlp, top_layers_);
  parameters_ = allocate<DenseExecution, float>("shardmark::dense_parameters", parameter_count_);
  gradients_ = allocate<DenseExecution, float>("shardmark::dense_gradients", parameter_count_);
  const auto add_stages = [&](Part part, std::int64_t layers) {
    for (std::int64_t l = layers; l-- > 0;) stages_.push_back({part, l});
  };
  add_stages(Part::top, std::ssize(top_layers_));
  add_stages(Part::cross, std::ssize(cross_first_));
  stages_.push_back({Part::interaction});
  add_stages(Part::bottom, std::ssize(bottom_layers_));
}

void DenseLayers::add_layers(std::int64_t inputs, const std::vector<std::int64_t>& outputs,
                             std::vector<Layer>& layers) {
  for (const std::int64_t each : outputs) {
    layers.push_back({inputs, each, parameter_count_});
    parameter_count_ += inputs * each + each;
    inputs = each;
  }
}

void DenseLayers::place(std::int64_t samples) {
  const auto lay_out = [&](float* memory) {
    Placement placement(samples);
    const auto next = [&](std::int64_t columns) { return placement.next(columns, memory); };
    const std::int64_t inputs = spec_.top_inputs(), crosses = std::ssize(cross_first_);
    std::int64_t widest = inputs;
    for (auto* list : {&bottom_, &top_, &x_, &v_, &t_}) list->clear();
    for (std::size_t l = 0; l + 1 < bottom_layers_.size(); ++l) bottom_.push_back(next(bottom_layers_[l].outputs));
    for (std::int64_t l = 0; l <= crosses; ++l) x_.push_back(next(inputs));
    for (std::int64_t l = 0; l < crosses; ++l) {
      v_.push_back(next(spec_.cross_rank));
      t_.push_back(next(inputs));
    }
    for (const Layer& layer : top_layers_) top_.push_back(next(layer.outputs));
    for (const auto& layers : {bottom_layers_, top_layers_})
      for (const Layer& layer : layers) widest = std::max(widest, layer.outputs);
    one_ = next(widest);
    other_ = next(widest);
    if (crosses > 0) {
      of_x0_ = next(inputs);
      dt_ = next(inputs);
      dv_ = next(spec_.cross_rank);
    }
    return placement.numbers();
  };
  lay_out(memory_.first(lay_out(nullptr)).data());
  if (!bottom_layers_.empty()) bottom_.push_back(lead());
  logits_ = top_.back();
  // Gradients take turns in two buffers; cross layers change theirs in place.
  Floats gradient = first_columns(one_, 1);
  gradient_of_.clear();
  for (const auto& [part, l] : stages_) {
    gradient_of_.push_back(gradient);
    if (part == Part::interaction) gradient = of_lead(gradient);
    if (part != Part::top && part != Part::bottom) continue;
    const bool is_in_one = gradient.data >= one_.data && gradient.data < one_.data + one_.rows * one_.columns;
    const Layer& layer = (part == Part::top ? top_layers_ : bottom_layers_)[l];
    gradient = part == Part::top || l > 0 ? first_columns(is_in_one ? other_ : one_, layer.inputs) : Floats{};
  }
  gradient_of_.push_back(gradient);
}

Floats DenseLayers::lead() const {
  const std::int64_t begin = spec_.kind == DenseKind::mlp ? spec_.top_inputs() - spec_.lead_width() : 0;
  return x_.front().column_range(begin, begin + spec_.lead_width());
}

CrossWeights DenseLayers::cross_weights(std::int64_t layer) const {
  float* const at = parameters_.data() + cross_first_[layer];
  const std::int64_t n = spec_.top_inputs(), rank = spec_.cross_rank;
  return {Floats(at, rank, n), Floats(at + rank * n, n, rank), at + 2 * rank * n};
}

template <class T>
std::vector<MatrixView<T>> DenseLayers::with_lead(std::span<const MatrixView<T>> of_features,
                                                  MatrixView<T> lead) const {
  std::vector<MatrixView<T>> all(of_features.begin(), of_features.end());
  if (spec_.kind == DenseKind::dlrm && !bottom_layers_.empty()) all.insert(all.begin(), lead);
  return all;
}

void DenseLayers::prepare(const DenseBatch& batch) {
  place(batch.samples);
  share_ = 1.0 / static_cast<double>(batch.global_batch);
  vectors_.set(with_lead<const float>(batch.vectors, lead()));
  const auto stage = std::ranges::find(stages_, Part::interaction, &Stage::part) - stages_.begin();
  vector_gradients_.set(with_lead<float>(batch.vector_gradients, of_lead(gradient_of_[stage])));
}

template <class Launches>
void DenseLayers::launch(const DenseBatch& batch, std::int64_t begin, std::int64_t end, const Launches& launches) {
  if (!on_device<DenseExecution> || one_by_one_) return launches();
  const auto number = [](const auto* pointer) { return reinterpret_cast<std::uint64_t>(pointer); };
  graphs_.run({static_cast<std::uint64_t>(begin * (stages() + 1) + end), static_cast<std::uint64_t>(batch.samples),
               static_cast<std::uint64_t>(batch.global_batch), number(batch.numerical.data), number(batch.labels),
               number(one_.data), number(sums_.scratch.first(0).data()), number(vectors_.in_kernels().data()),
               number(vector_gradients_.in_kernels().data()), static_cast<std::uint64_t>(math_)},
              launches);
}

void DenseLayers::forward(const DenseBatch& batch) {
  prepare(batch);
  launch(batch, -1, 0, [&] { launch_forward(batch); });
}

void DenseLayers::launch_forward(const DenseBatch& batch) {
  ConstFloats input = batch.numerical;
  for (std::size_t l = 0; l < bottom_layers_.size(); ++l) {
    linear(input, weight(bottom_layers_[l], parameters_.data()), bias(bottom_layers_[l], parameters_.data()), true,
           bottom_[l], math_);
    input = bottom_[l];
  }
  if (bottom_layers_.empty()) copy_matrix(batch.numerical, lead());
  interact();
  input = x_.back();
  for (std::size_t l = 0; l < top_layers_.size(); ++l) {
    linear(input, weight(top_layers_[l], parameters_.data()), bias(top_layers_[l], parameters_.data()),
           l + 1 < top_layers_.size(), top_[l], math_);
    input = top_[l];
  }
  logit_loss(logits_.data, batch.labels, batch.samples, batch.global_batch, gradient_of_.front().data, loss_);
}

double DenseLayers::loss() const {
  double sum = 0.0;
  Kokkos::deep_copy(sum, Kokkos::subview(loss_, 0));
  return share_ * sum;
}

void DenseLayers::interact() {
  const Floats x = x_.front();
  const std::int64_t lead_width = spec_.lead_width();
  if (spec_.kind == DenseKind::dlrm)
    dot_interaction(vectors_, x.column_range(lead_width, x.columns), tiles_);
  else if (spec_.kind == DenseKind::mlp)
    average_neighbours(vectors_, spec_.stride, x.column_range(0, x.columns - lead_width));
  else
    concatenate(vectors_, x.column_range(lead_width, x.columns));
  for (std::size_t l = 0; l < cross_first_.size(); ++l)
    cross_layer(x, x_[l], cross_weights(static_cast<std::int64_t>(l)), v_[l], t_[l], x_[l + 1], math_);
}

ParameterRange DenseLayers::completed_by(std::int64_t stage) const {
  const auto [part, l] = stages_[stage];
  if (part == Part::interaction) return {};
  if (part == Part::cross) {
    const std::int64_t n = spec_.top_inputs(), first = cross_first_[l];
    return {first, first + 2 * spec_.cross_rank * n + n};
  }
  const Layer& layer = (part == Part::top ? top_layers_ : bottom_layers_)[l];
  return {layer.first, layer.first + layer.outputs * (layer.inputs + 1)};
}

void DenseLayers::backward(const DenseBatch& batch, std::int64_t begin, std::int64_t end) {
  launch(batch, begin, end, [&] {
    for (std::int64_t stage = begin; stage < end; ++stage) launch_backward(batch, stage);
  });
}

void DenseLayers::launch_backward(const DenseBatch& batch, std::int64_t stage) {
  const auto [part, l] = stages_[stage];
  const Floats gradient = gradient_of_[stage];
  if (part == Part::cross) return cross_backward(l, gradient);
  if (part == Part::interaction) return interact_backward(gradient);
  const bool top = part == Part::top;
  const auto& outputs = top ? top_ : bottom_;
  const Layer& layer = (top ? top_layers_ : bottom_layers_)[l];
  const ConstFloats x = l > 0 ? outputs[l - 1] : top ? x_.back() : batch.numerical;
  const bool linear_end = top && l + 1 == std::ssize(top_layers_);
  linear_backward(x, weight(layer, parameters_.data()), linear_end ? ConstFloats{} : outputs[l], gradient,
                  gradient_of_[stage + 1], weight(layer, gradients_.data()), bias(layer, gradients_.data()), sums_,
                  math_);
}

void DenseLayers::cross_backward(std::int64_t layer, const Floats& gradient) {
  if (layer + 1 == std::ssize(cross_first_)) Kokkos::deep_copy(DenseExecution(), all_of(of_x0_), 0.0F);
  const std::int64_t n = spec_.top_inputs(), rank = spec_.cross_rank;
  float* const at = gradients_.data() + cross_first_[layer];
  cross_layer_backward(x_.front(), x_[layer], cross_weights(layer), v_[layer], t_[layer], gradient, of_x0_, dt_, dv_,
                       {Floats(at, rank, n), Floats(at + rank * n, n, rank), at + 2 * rank * n}, sums_, math_);
}

Floats DenseLayers::of_vectors(const Floats& x) const {
  const std::int64_t lead_width = spec_.lead_width();
  return spec_.kind == DenseKind::mlp ? x.column_range(0, x.columns - lead_width)
                                      : x.column_range(lead_width, x.columns);
}

Floats DenseLayers::of_lead(const Floats& x) const {
  const std::int64_t lead_width = spec_.lead_width();
  return spec_.kind == DenseKind::mlp ? x.column_range(x.columns - lead_width, x.columns)
                                      : x.column_range(0, lead_width);
}

void DenseLayers::interact_backward(const Floats& x) {
  if (spec_.kind == DenseKind::dlrm) {
    dot_interaction_backward(vectors_, of_vectors(x), vector_gradients_, !bottom_layers_.empty(), tiles_);
  } else if (spec_.kind == DenseKind::mlp) {
    average_neighbours_backward(of_vectors(x), spec_.stride, vector_gradients_);
  } else {
    add_to(of_x0_, x);
    split_columns(of_vectors(x), vector_gradients_);
  }
}

}  // namespace shardmark::kernels
