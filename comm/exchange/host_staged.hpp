// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "comm/device_memory.hpp"
#include "comm/exchange/mpi_alltoallv.hpp"

namespace shardmark::comm {

/// Carries GPU memory by way of pinned host buffers, which are kept, and an exchange of host memory, MPI_Alltoallv
/// unless another is given: it is for an MPI that cannot read GPUs. Host memory goes to the exchange as it is. Ranks
/// may share a GPU.
class HostStaged : public Exchange {
 public:
  static std::string unusable(const Communicator& comm) { return no_gpus(comm); }

  explicit HostStaged(const Communicator& comm) : HostStaged(comm, std::make_unique<MpiAlltoallv>(comm)) {}
  HostStaged(const Communicator& comm, std::unique_ptr<Exchange> of_hosts)
      : comm_(comm), of_hosts_(std::move(of_hosts)) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    select_gpu(comm_);
    const std::byte* from = send;
    if (on_gpu(send)) {
      std::byte* room = to_send_.at_least(route.send_total() * element_bytes);
      copy_bytes(room, send, route.send_total() * element_bytes);
      from = room;
    }
    if (!on_gpu(receive)) return of_hosts_->run(route, from, receive, element_bytes);

    std::byte* to = received_.at_least(route.receive_total() * element_bytes);
    of_hosts_->run(route, from, to, element_bytes);
    copy_bytes(receive, to, route.receive_total() * element_bytes);
  }
  bool reads_gpus() const override { return true; }
  std::string picked() const override { return of_hosts_->picked(); }
  std::span<const std::int64_t> sent() const override { return of_hosts_->sent(); }

 private:
  const Communicator& comm_;
  std::unique_ptr<Exchange> of_hosts_;
  KeptMemory to_send_{KeptMemory::Place::pinned_host};
  KeptMemory received_{KeptMemory::Place::pinned_host};
};

}  // namespace shardmark::comm
