// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// The messages of Linear in `chunks` parts each: while chunk c moves, chunk c+1 is packed and chunk c-1 unpacked. With
/// Tc for both of those and Tm for the movement, max(Tc, Tm) + min(Tc, Tm) / chunks in place of Tc + Tm, for
/// (chunks - 1) (P - 1) messages more.
class Chunked : public Exchange {
 public:
  Chunked(const Communicator& comm, int chunks) : comm_(comm), messages_(chunks, Messages(comm)) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;
  void run_staged(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes,
                  const Stages& stages) override;

 private:
  const Communicator& comm_;
  std::vector<Messages> messages_;  ///< by chunk
};

}  // namespace shardmark::comm
