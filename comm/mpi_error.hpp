// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace shardmark::comm {

/// Reports that a call of MPI (or NCCL, CUDA) failed. what() is one line: the call, the peer and the bytes where they
/// are known, the library's error string.
class MpiError : public std::runtime_error {
 public:
  MpiError(std::string_view call, int code, int peer = -1, std::int64_t bytes = -1);
  MpiError(std::string_view call, std::string_view reason, int peer = -1, std::int64_t bytes = -1);
};

/// Reports that a call failed since another rank did, whose own error says more: a program that ends by it lets the
/// other speak (with_mpi).
class PeerFailed : public MpiError {
 public:
  using MpiError::MpiError;
};

/// Throws MpiError unless `code` is MPI_SUCCESS. `peer` and `bytes` are -1 where they do not apply.
inline void check_mpi(int code, std::string_view call, int peer = -1, std::int64_t bytes = -1) {
  if (code != 0) throw MpiError(call, code, peer, bytes);  // MPI_SUCCESS is 0 by the standard
}

}  // namespace shardmark::comm
