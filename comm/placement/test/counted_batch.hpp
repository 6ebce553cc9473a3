// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/statistics/plan_counts.hpp"
#include "reference/batch.hpp"

namespace shardmark::placement {

/// The bags of a batch by feature. The batch must outlive the object.
class BagsOfBatch {
 public:
  BagsOfBatch(const Batch& batch, std::span<const Feature> features) : offsets_(features.size()) {
    for (std::int64_t f = 0; f < batch.features; ++f) {
      auto& offsets = offsets_[f];
      offsets = {batch.begin_of(f)};
      reference::for_each_bag(batch, f, features[f], 0, batch.samples, [&](const reference::Bag& bag) {
        offsets.push_back(offsets.back() + std::ssize(bag.ids));
      });
      bags_.push_back({offsets, batch.indices});
    }
  }
  BagsOfBatch(const BagsOfBatch&) = delete;
  BagsOfBatch& operator=(const BagsOfBatch&) = delete;

  std::span<const FeatureBags> bags() const { return bags_; }

 private:
  std::vector<std::vector<std::int64_t>> offsets_;
  std::vector<FeatureBags> bags_;
};

/// Of the samples of one rank.
inline PlanCounts counts_of(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                            const Batch& home) {
  return exact_counts(plan, tables, features, BagsOfBatch(home, features).bags());
}

/// The distinct rows that the samples of several ranks name together.
inline PlanCounts counts_together(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                                  std::span<const Batch> homes, const std::vector<int>& ranks) {
  Batch all{.samples = 0, .features = std::ssize(features), .offsets = {0}, .indices = {}, .weights = {}};
  for (const int rank : ranks) all.samples += homes[rank].samples;
  for (std::int64_t f = 0; f < all.features; ++f)
    for (const int rank : ranks) {
      const Batch& home = homes[rank];
      for (std::int64_t s = f * home.samples; s < (f + 1) * home.samples; ++s) {
        for (std::int64_t i = home.offsets[s]; i < home.offsets[s + 1]; ++i) all.indices.push_back(home.indices[i]);
        all.offsets.push_back(all.nnz());
      }
    }
  std::vector<FeatureBags> bags;
  for (std::int64_t f = 0; f < all.features; ++f)
    bags.push_back({std::span(all.offsets).subspan(f * all.samples, all.samples + 1), all.indices});
  return counts_of_rows(plan, tables, named_rows(tables, features, bags));
}

}  // namespace shardmark::placement
