// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/datatype.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/exchange/per_route.hpp"

namespace shardmark::comm {

/// MPI_Alltoallv on elements of one datatype. Where a count or displacement of any rank exceeds the count limit:
/// MPI_Alltoallw with one datatype per peer that holds both, so that MPI's int arguments are 0 and 1. Whether one does
/// an all-reduce finds in a route's first run, if its bound allows for it.
class MpiAlltoallv : public Exchange {
 public:
  explicit MpiAlltoallv(const Communicator& comm);

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  bool exceeds_limit(const Route& route);
  /// With Waiting::messages.
  void run_by_messages(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) const;
  void run_in_runs(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) const;

  const Communicator& comm_;
  Datatype element_;
  std::int64_t element_bytes_ = 0;
  PerRoute<bool> exceeds_limit_;  ///< of routes whose bound does
  std::vector<int> send_counts_, receive_counts_, send_offsets_, receive_offsets_;
};

}  // namespace shardmark::comm
