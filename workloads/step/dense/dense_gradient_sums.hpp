// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "comm/exchange/progress_thread.hpp"
#include "comm/reduction/reduction.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/step/embedding.hpp"
#include "workloads/step/phase_clock.hpp"

namespace shardmark::workloads {

/// Sums gradients over all ranks, bucket by bucket in place: while one bucket travels, the next is computed. The sums
/// of all ranks have the same bits.
///
/// By MPI on a progress thread of its own, one rank adds up each part of a bucket and all gather it; gradients of a
/// device travel by way of memory of the host. By NCCL, where that carries the pooled embeddings of a device, buckets
/// are summed where they lie, behind the kernels that compute them, and the host waits for none.
class SummedGradients {
 public:
  /// A bucket is filled until it holds at least so many gradients, or none are left: those of a model of 4 MB travel in
  /// four buckets.
  static constexpr std::int64_t least_values = std::int64_t{1} << 18;

  /// Makes the progress thread. Collective.
  explicit SummedGradients(const comm::Communicator& comm);

  /// Sums all buckets, as those of this case travel. next(): fills the next bucket and returns it, an empty one when
  /// there is none; done(bucket): called with its sums, in the order of the buckets. Adds what it cost to phase dense.
  /// Collective.
  template <class Next, class Done>
  void run(const Embedding& embedding, PhaseCosts& costs, const Next& next, const Done& done) {
    comm::Nccl* const nccl = nccl_of(embedding);
    if (nccl != nullptr && nccl->follows()) return run_behind_kernels(*nccl, costs, next, done);
    bucket_ = 0;
    constexpr std::int64_t under_way = 2;  // one travels, one is computed
    interleave(progress_, costs, under_way, [&](std::int64_t) {
      for (DeviceArray<float> gradients = next(); gradients.extent(0) > 0; gradients = next()) {
        const std::size_t number = bucket_++;
        if (nccl != nullptr) {
          wait_for_kernels("shardmark: gradients of the dense model are written");
          progress_.run([&] { sum(*nccl, gradients, costs); });
        } else if (comm_.size() > 1) {
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

  /// Starts the sums of each bucket behind its kernels; the last updates wait for the last bucket alone.
  template <class Next, class Done>
  void run_behind_kernels(comm::Nccl& nccl, PhaseCosts& costs, const Next& next, const Done& done) {
    under_way_.clear();
    for (DeviceArray<float> gradients = next(); gradients.extent(0) > 0; gradients = next()) {
      sum(nccl, gradients, costs);
      under_way_.push_back(gradients);
    }
    for (const DeviceArray<float>& gradients : under_way_) {
      nccl.finish();
      done(gradients);
    }
  }

  /// Returns what sums the gradients of a case by NCCL; null where MPI does, or one rank has all samples. Collective.
  comm::Nccl* nccl_of(const Embedding& embedding);
  void sum(Bucket& bucket, std::span<float> values, PhaseCosts& costs);
  void sum(comm::Nccl& nccl, const DeviceArray<float>& values, PhaseCosts& costs) const;

  const comm::Communicator& comm_;
  std::deque<Bucket> buckets_;
  std::size_t bucket_ = 0;
  std::array<std::unique_ptr<comm::Nccl>, 2> nccl_;  ///< for cases whose exchanges wait, and that follow the kernels
  std::vector<DeviceArray<float>> under_way_;
  comm::ProgressThread progress_;  ///< its thread ends before what it uses
};

}  // namespace shardmark::workloads
