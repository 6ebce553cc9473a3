// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/nccl.hpp"
#include "comm/reduction/reduction.hpp"

namespace shardmark::comm {

/// The reduction and the gather of exchange/nccl.hpp, from where the values lie. NCCL chooses steps and order; counted
/// is what must be sent at least. Refused where exchange nccl is.
class NcclReduction : public Reduction {
 public:
  static std::string unusable(const Communicator& comm) { return Nccl::unusable(comm); }

  explicit NcclReduction(const Communicator& comm) : Reduction(comm), nccl_(comm) {}

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
