// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/nccl.hpp"
#include "comm/reduction/reduction.hpp"

namespace shardmark::comm {

/// Calls the reduction and the gather of exchange/nccl.hpp on the values where they lie. NCCL chooses steps and order;
/// the bytes counted are those that must be sent at least. It is unusable where exchange nccl is.
class NcclReduction : public Reduction {
 public:
  static std::string unusable(const Communicator& comm) { return Nccl::unusable(comm); }

  explicit NcclReduction(const Communicator& comm) : Reduction(comm), nccl_(comm) {}

  void follow(GpuStream stream) override { nccl_.follow(stream); }
  bool follows() const override { return nccl_.follows(); }
  void finish() override { nccl_.finish(); }

 private:
  void add(std::span<const float> partials, std::span<float> sums) override {
    nccl_.reduce_scatter(partials, counts_, sums);
    count_shares();
  }
  void gather(std::span<const float> own, std::span<float> all) override {
    nccl_.all_gather_v(std::as_bytes(own).data(), counts_, std::as_writable_bytes(all).data(), sizeof(float));
    count_own();
  }
  bool reads_gpus() const override { return true; }

  Nccl nccl_;
};

}  // namespace shardmark::comm
