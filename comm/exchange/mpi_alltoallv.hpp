// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/datatype.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/exchange/per_route.hpp"

namespace shardmark::comm {

/// Calls MPI_Alltoallv on elements of one datatype. Where a count or displacement of any rank exceeds the count limit,
/// it calls MPI_Alltoallw with one datatype per peer that holds both, so that MPI's int arguments are 0 and 1. On a
/// route's first run an all-reduce finds whether one does, unless the bound of the route rules it out.
class MpiAlltoallv : public Exchange {
 public:
  explicit MpiAlltoallv(const Communicator& comm);

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 protected:
  const Communicator& comm_;

 private:
  bool exceeds_limit(const Route& route);
  /// Carries the blocks under Waiting::messages, and those of GPUs under Waiting::sleep.
  void run_by_messages(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) const;
  void run_in_runs(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) const;

  Datatype element_;
  std::int64_t element_bytes_ = 0;
  PerRoute<bool> exceeds_limit_;  ///< by route whose bound exceeds the limit: whether a rank exceeds it
  std::vector<int> send_counts_, receive_counts_, send_offsets_, receive_offsets_;
};

}  // namespace shardmark::comm
