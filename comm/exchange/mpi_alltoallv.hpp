// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/datatype.hpp"
#include "comm/exchange/exchange.hpp"

namespace shardmark {

/// MPI_Alltoallv on elements of one datatype. Where a count or displacement of any rank exceeds the count limit:
/// MPI_Alltoallw with one datatype per peer that holds both, so that MPI's int arguments are 0 and 1.
class MpiAlltoallv : public Exchange {
 public:
  explicit MpiAlltoallv(const Communicator& comm);

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  void run_in_runs(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) const;

  const Communicator& comm_;
  Datatype element_;
  std::int64_t element_bytes_ = 0;
  std::vector<int> send_counts_, receive_counts_, send_offsets_, receive_offsets_;
};

}  // namespace shardmark
