// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <vector>

#include "kernels/dense/matrix_view.hpp"
#include "workloads/step/flight.hpp"

namespace shardmark::workloads {

/// Holds the pooled embeddings of a rank's samples as a dense model sees them, and their gradients, which it writes: a
/// matrix [samples, width] for each feature. Without pooling a sample's vectors stand one after the other in its row.
class FeatureVectors {
 public:
  /// Takes `widths`: of the features (output_widths).
  explicit FeatureVectors(std::vector<std::int64_t> widths) : widths_(std::move(widths)) {}

  /// Sets the matrices to those of this step. Throws std::invalid_argument when some sample has another width.
  void set(const StepInput& input, const Flight& flight) {
    samples = static_cast<std::int64_t>(input.labels.extent(0));
    written_ = gradients_.first(input.elements());
    outputs.clear();
    gradients.clear();
    for (std::size_t f = 0; f < widths_.size(); ++f) {
      const DeviceArray<float> output = flight.output(input, static_cast<std::int64_t>(f));
      if (static_cast<std::int64_t>(output.extent(0)) != samples * widths_[f])
        throw std::invalid_argument("dense model: the samples of feature " + std::to_string(f) +
                                    " have vectors of other widths");
      outputs.emplace_back(output.data(), samples, widths_[f]);
      gradients.emplace_back(written_.data() + input.first_element[f], samples, widths_[f]);
    }
  }
  /// Returns the gradients, as StepInput::first_element, that the model has written.
  const DeviceArray<float>& written() const { return written_; }

  std::int64_t samples = 0;
  std::vector<kernels::ConstFloats> outputs;
  std::vector<kernels::Floats> gradients;

 private:
  std::vector<std::int64_t> widths_;
  DeviceArray<float> written_;
  DeviceScratch<float> gradients_{"shardmark::output_gradients"};
};

}  // namespace shardmark::workloads
