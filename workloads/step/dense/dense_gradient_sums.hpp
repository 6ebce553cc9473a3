// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "comm/exchange/progress_thread.hpp"
#include "comm/reduction/reduction.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/step/phase_clock.hpp"

namespace shardmark::workloads {

/// Sums gradients over all ranks, bucket by bucket in place, on a progress thread of their own: while one bucket
/// travels, the next is computed. One rank adds up each part of a bucket and all gather it, so that the sums of all
/// ranks have the same bits. Gradients of a device travel by way of memory of the host.
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
      for (DeviceArray<float> gradients = next(); gradients.extent(0) > 0; gradients = next()) {
        const std::size_t number = bucket_++;
        if (comm_.size() > 1) {
          if (number == buckets_.size()) buckets_.emplace_back();
          Bucket& bucket = buckets_[number];
          const std::span<float> values = bucket.on_host.read(gradients);
          progress_.run([&] { sum(bucket, values, costs); });
          bucket.on_host.write(values, gradients);
        }
        done(gradients);
      }
    });
  }

 private:
  struct Bucket {
    std::unique_ptr<comm::Reduction> reduction;
    std::vector<float> own;  ///< the part that this rank adds
    std::size_t size = 0;
    HostElements<float> on_host;
  };
  void sum(Bucket& bucket, std::span<float> values, PhaseCosts& costs);

  const comm::Communicator& comm_;
  std::deque<Bucket> buckets_;
  std::size_t bucket_ = 0;
  comm::ProgressThread progress_;  ///< its thread ends before what it uses
};

}  // namespace shardmark::workloads
