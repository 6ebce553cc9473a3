// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/batch_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "workloads/batches/checked_batches.hpp"
#include "workloads/batches/id_generator.hpp"
#include "workloads/batches/learnable_samples.hpp"

namespace shardmark::workloads {
namespace {

class GeneratedBatches : public BatchSource {
 public:
  explicit GeneratedBatches(const RunOptions& options) : options_(options) {}

  datasets::Samples read(std::int64_t step, std::int64_t first, std::int64_t count) override {
    const Workload& workload = options_.workload;
    datasets::Samples samples{
        .batch = generate_batch(workload, options_.seed, step, first, count), .dense = {}, .labels = {}};
    if (options_.dense.kind != DenseKind::none) add_learnable(options_, step * workload.global_batch + first, samples);
    return samples;
  }
  std::optional<std::int64_t> samples() const override { return std::nullopt; }

 private:
  const RunOptions& options_;
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
  source = checked(std::move(source), options.bounds_check, rows_of_features(options.workload), notice);
  return std::make_unique<LockedBatches>(std::move(source));
}

}  // namespace shardmark::workloads
