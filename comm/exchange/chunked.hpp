// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/exchange/exchange.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// Sends the messages of Linear in `chunks` parts each, of which two are under way at a time: (chunks - 1) (P - 1) more
/// messages, none of which is large.
class Chunked : public Exchange {
 public:
  Chunked(const Communicator& comm, int chunks) : comm_(comm), messages_(chunks, Messages(comm)) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  const Communicator& comm_;
  std::vector<Messages> messages_;  ///< by chunk
};

}  // namespace shardmark::comm
