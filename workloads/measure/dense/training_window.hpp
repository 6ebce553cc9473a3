// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// Returns the exact area under the ROC curve of the samples of all ranks (reference/dense/loss.hpp): each rank counts,
/// among its own negatives, those below each positive sample of all (Mann and Whitney's U), a tie half. Returns nothing
/// when one class is missing. Collective; scores, labels: this rank's. Scores are numbers, labels 0 or 1.
std::optional<double> distributed_auc(const comm::Communicator& comm, std::span<const float> scores,
                                      std::span<const float> labels);

/// Holds what a dense model predicted for the samples of some steps, each sample before the model was trained on it in
/// that step.
class TrainingWindow {
 public:
  /// The window holds at most so many steps: more push out the earliest.
  static constexpr std::size_t most_steps = 32;

  /// Adds the step that was taken, this rank's samples. logits may be empty: there is no model.
  void add(double loss_share, std::span<const float> logits, std::span<const float> labels);

  struct Quality {
    double loss = 0.0;  ///< mean over the steps
    std::optional<double> auc;
    std::int64_t steps = 0;
  };
  /// Returns loss and AUC; nothing before a step. Collective.
  std::optional<Quality> quality(const comm::Communicator& comm) const;

 private:
  struct Step {
    double loss_share = 0.0;
    std::vector<float> logits, labels;
  };
  std::vector<Step> steps_;  ///< in turns from next_ on
  std::size_t next_ = 0;
};

}  // namespace shardmark::workloads
