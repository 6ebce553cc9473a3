// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "comm/exchange/progress_thread.hpp"
#include "comm/reduction/reduction.hpp"
#include "workloads/step/phase_clock.hpp"

namespace shardmark::workloads {

/// Sums gradients over all ranks, bucket by bucket in place, on a progress thread of their own: while one bucket
/// travels, the next is computed. One rank adds up each part of a bucket and all gather it, so that the sums of all
/// ranks have the same bits.
class SummedGradients {
 public:
  /// A bucket is filled until it holds at least so many gradients, or none are left: those of a model of 4 MB travel in
  /// four buckets.
  static constexpr std::int64_t least_values = std::int64_t{1} << 18;

  /// Makes the progress thread. Collective.
  explicit SummedGradients(const comm::Communicator& comm);

  /// Sums all buckets. next(): fills the next bucket and returns it, an empty one when there is none; done(bucket):
  /// called with its sums. Adds what it cost to phase dense. Collective.
  template <class Next, class Done>
  void run(PhaseCosts& costs, const Next& next, const Done& done) {
    bucket_ = 0;
    constexpr std::int64_t under_way = 2;  // one travels, one is computed
    interleave(progress_, costs, under_way, [&](std::int64_t) {
      for (std::span<float> bucket = next(); !bucket.empty(); bucket = next()) {
        const std::size_t number = bucket_++;
        if (comm_.size() > 1) progress_.run([&] { sum(number, bucket, costs); });
        done(bucket);
      }
    });
  }

 private:
  struct Bucket {
    std::unique_ptr<comm::Reduction> reduction;
    std::vector<float> own;  ///< the part that this rank adds
    std::size_t size = 0;
  };
  void sum(std::size_t number, std::span<float> values, PhaseCosts& costs);

  const comm::Communicator& comm_;
  std::vector<Bucket> buckets_;
  std::size_t bucket_ = 0;
  comm::ProgressThread progress_;  ///< its thread ends before what it uses
};

}  // namespace shardmark::workloads
