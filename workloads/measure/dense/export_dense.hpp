// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "datasets/hdf5.hpp"
#include "workloads/step/dense/dense_model.hpp"

namespace shardmark::workloads {

/// Is a dense model that also keeps the gradients that it returned last.
class RecordedModel : public DenseModel {
 public:
  explicit RecordedModel(DenseModel& model) : model_(model) {}

  ConstDeviceArray<float> run(const StepInput& input, const Flight& outputs, PhaseCosts& costs) override {
    return gradients_ = model_.run(input, outputs, costs);
  }
  const ConstDeviceArray<float>& gradients() const { return gradients_; }

 private:
  DenseModel& model_;
  ConstDeviceArray<float> gradients_;
};

/// Writes what a dense model is, and its inputs:
///   /dense             attribute model (JSON: kind, features in their order, layers, optimizer)
///   /dense/numerical   float32 [batch, numerical features]
///   /dense/labels      float32 [batch]
///   /dense/head        float32 [width of all features]: the weights of the exact head
void write_dense_inputs(datasets::hdf5::File& file, const RunOptions& options, const datasets::Samples& samples);

/// Writes weights and biases; when: "before", "after".
///   /dense/parameters/<block>/<when>        float32 [rows, columns]
///   /dense/parameters/<block>/state_<when>  float32 [vectors of state, rows, columns] where the optimizer has any
void write_dense_parameters(datasets::hdf5::File& file, const RunOptions& options, const DenseModel& model,
                            const std::string& when);

/// Writes /dense/logits float32 [batch]; attribute outcome of /dense (JSON: loss).
void write_dense_outcome(datasets::hdf5::File& file, double loss, std::span<const float> logits);

}  // namespace shardmark::workloads
