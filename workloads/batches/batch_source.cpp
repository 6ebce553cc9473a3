// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/batch_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "comm/agree.hpp"
#include "kernels/route/check_bags.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/batches/id_generator.hpp"
#include "workloads/batches/learnable_samples.hpp"

namespace shardmark::workloads {
namespace {

class GeneratedBatches : public BatchSource {
 public:
  explicit GeneratedBatches(const RunOptions& options) : options_(options), ids_(options.workload, options.seed) {}

  datasets::Samples read(std::int64_t step, std::int64_t first, std::int64_t count) override {
    const Workload& workload = options_.workload;
    datasets::Samples samples{.batch = ids_.batch(step, first, count), .dense = {}, .labels = {}};
    if (options_.dense.kind != DenseKind::none) add_learnable(options_, step * workload.global_batch + first, samples);
    return samples;
  }
  std::optional<std::int64_t> samples() const override { return std::nullopt; }

 private:
  const RunOptions& options_;
  IdGenerator ids_;
};

class StoredBatches : public BatchSource {
 public:
  StoredBatches(const RunOptions& options, const datasets::Notice& notice) : options_(options) {
    datasets::SourceOptions source;
    source.rows = rows_of_features(options.workload);
    source.rule = options.data.id_rule;
    source.min_count = options.data.min_count;
    source.reader.malformed = options.data.malformed;
    source.limit = options.workload.global_batch * std::max(options.most_batches(), options.most_trained_steps());
    samples_ = datasets::open_samples(options.data.file, source, notice);
  }

  datasets::Samples read(std::int64_t step, std::int64_t first, std::int64_t count) override {
    samples_->read(step * options_.workload.global_batch + first, count, buffer_);
    if (options_.dense.kind != DenseKind::none) transform_numerical(options_, buffer_);
    return buffer_;
  }
  std::optional<std::int64_t> samples() const override { return samples_->samples(); }

 private:
  const RunOptions& options_;
  std::unique_ptr<datasets::SampleSource> samples_;
  datasets::Samples buffer_;
};

class LockedBatches : public BatchSource {
 public:
  explicit LockedBatches(std::unique_ptr<BatchSource> source) : source_(std::move(source)) {}

  datasets::Samples read(std::int64_t step, std::int64_t first, std::int64_t count) override {
    const std::scoped_lock lock(mutex_);
    return source_->read(step, first, count);
  }
  std::optional<std::int64_t> samples() const override { return source_->samples(); }

 private:
  std::unique_ptr<BatchSource> source_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<BatchSource> make_batch_source(const RunOptions& options, const datasets::Notice& notice) {
  std::unique_ptr<BatchSource> source;
  if (options.data.file.empty())
    source = std::make_unique<GeneratedBatches>(options);
  else
    source = std::make_unique<StoredBatches>(options, notice);
  source = checked(std::move(source), options.bounds_check, keys_of_features(options.workload), notice);
  return std::make_unique<LockedBatches>(std::move(source));
}

namespace {

/// Calls check_bags on a batch of the host, whose ids it mends.
kernels::BagWarnings check(Batch& batch, kernels::BoundsCheck mode, const std::vector<KeyRange>& keys,
                           std::int64_t first_sample) {
  const Execution exec;
  std::vector<std::int64_t> first_bag;
  for (std::int64_t f = 0; f <= batch.features; ++f) first_bag.push_back(f * batch.samples);
  const auto indices = kernels::array_of(exec, batch.indices, "shardmark::checked_indices");
  const kernels::Bags<Execution, std::int64_t> bags{
      kernels::array_of(exec, first_bag, "shardmark::checked_first_bag"),
      kernels::array_of(exec, batch.offsets, "shardmark::checked_offsets"), indices,
      kernels::array_of(exec, batch.weights, "shardmark::checked_weights")};
  const auto warnings = kernels::check_bags<Execution, std::int64_t>(
      exec, mode, bags, indices, kernels::array_of(exec, keys, "shardmark::checked_keys"), first_sample);
  if (warnings.ids > 0) {
    kernels::copy_array(exec, kernels::host_array(batch.indices), indices);
    exec.fence("shardmark: the mended ids are used");
  }
  return warnings;
}

class CheckedBatches : public BatchSource {
 public:
  CheckedBatches(std::unique_ptr<BatchSource> source, kernels::BoundsCheck mode, std::vector<KeyRange> keys,
                 datasets::Notice notice)
      : source_(std::move(source)), mode_(mode), keys_(std::move(keys)), notice_(std::move(notice)) {}

  datasets::Samples read(std::int64_t step, std::int64_t first, std::int64_t count) override {
    datasets::Samples samples = source_->read(step, first, count);
    Batch& batch = samples.batch;
    check_shape(batch);
    const auto warnings = check(batch, mode_, keys_, first);
    samples.replaced = warnings.ids;
    if (warnings.ids + warnings.weights > 0 && told_.insert(step).second)
      notice_(fmt::format("batch {}: {} ids {} and {} weights that are not finite; the first: {}", step, warnings.ids,
                          mode_ == kernels::BoundsCheck::fold ? "folded into their tables" : "replaced by row 0",
                          warnings.weights, warnings.first));
    return samples;
  }
  std::optional<std::int64_t> samples() const override { return source_->samples(); }

 private:
  void check_shape(const Batch& batch) const {
    const auto bags = static_cast<std::size_t>(batch.bags());
    if (batch.features != std::ssize(keys_) || batch.offsets.size() != bags + 1 ||
        (!batch.weights.empty() && batch.weights.size() != batch.indices.size()))
      throw InputError(fmt::format("batch: {} offsets, {} ids and {} weights do not fit {} features of {} samples",
                                   batch.offsets.size(), batch.indices.size(), batch.weights.size(), keys_.size(),
                                   batch.samples));
  }

  std::unique_ptr<BatchSource> source_;
  kernels::BoundsCheck mode_;
  std::vector<KeyRange> keys_;
  datasets::Notice notice_;
  std::set<std::int64_t> told_;
};

}  // namespace

std::unique_ptr<BatchSource> checked(std::unique_ptr<BatchSource> source, kernels::BoundsCheck mode,
                                     std::vector<KeyRange> keys, const datasets::Notice& notice) {
  if (mode == kernels::BoundsCheck::off) return source;
  return std::make_unique<CheckedBatches>(std::move(source), mode, std::move(keys), notice);
}

}  // namespace shardmark::workloads
