// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/dense/training_window.hpp"

#include <algorithm>
#include <functional>

#include "comm/collectives.hpp"

namespace shardmark::workloads {

std::optional<double> distributed_auc(const comm::Communicator& comm, std::span<const float> scores,
                                      std::span<const float> labels) {
  std::vector<float> positives, negatives;
  for (std::size_t s = 0; s < scores.size(); ++s) (labels[s] == 1.0F ? positives : negatives).push_back(scores[s]);
  std::ranges::sort(negatives);
  const auto all_positives = comm::all_gather(comm, std::span<const float>(positives)).values;
  std::int64_t twice_below = 0;
  for (const float score : all_positives) {
    const auto [first, last] = std::ranges::equal_range(negatives, score);
    twice_below += (first - negatives.begin()) + (last - negatives.begin());
  }
  twice_below = comm::all_reduce(comm, twice_below, comm::Reduce::sum);
  const std::int64_t negative_count =
      comm::all_reduce(comm, static_cast<std::int64_t>(negatives.size()), comm::Reduce::sum);
  if (all_positives.empty() || negative_count == 0) return std::nullopt;
  return static_cast<double>(twice_below) /
         (2.0 * static_cast<double>(all_positives.size()) * static_cast<double>(negative_count));
}

void TrainingWindow::add(double loss_share, std::span<const float> logits, std::span<const float> labels) {
  if (steps_.size() < most_steps && next_ == steps_.size()) steps_.emplace_back();
  Step& step = steps_[next_];
  step.loss_share = loss_share;
  step.logits.assign(logits.begin(), logits.end());
  step.labels.assign(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(logits.size()));
  next_ = (next_ + 1) % most_steps;
}

std::optional<TrainingWindow::Quality> TrainingWindow::quality(const comm::Communicator& comm) const {
  Quality quality{.loss = 0.0, .auc = {}, .steps = std::ssize(steps_)};
  if (quality.steps == 0) return std::nullopt;
  std::vector<float> logits, labels;
  double loss = 0.0;
  for (const Step& step : steps_) {
    logits.insert(logits.end(), step.logits.begin(), step.logits.end());
    labels.insert(labels.end(), step.labels.begin(), step.labels.end());
    loss += step.loss_share;
  }
  quality.loss = comm::all_reduce(comm, loss, comm::Reduce::sum) / static_cast<double>(quality.steps);
  quality.auc = distributed_auc(comm, logits, labels);
  return quality;
}

}  // namespace shardmark::workloads
