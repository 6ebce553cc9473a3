// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "comm/exchange/exchange.hpp"
#include "comm/exchange/progress_thread.hpp"
#include "comm/exchange/sent_bytes.hpp"

namespace shardmark::comm {

/// Runs an exchange whose MPI calls are made by a progress thread, so that other tasks may compute meanwhile, and adds
/// its bytes to `sent`. All three must outlive the object; several objects may use the same exchange.
class ProgressExchange : public Exchange {
 public:
  ProgressExchange(Exchange& exchange, ProgressThread& progress, SentBytes& sent)
      : exchange_(exchange), progress_(progress), sent_(sent) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    progress_.run([&] {
      exchange_.run(route, send, receive, element_bytes);
      const std::span<const std::int64_t> forwarding = exchange_.sent();
      for (int peer = 0; peer < route.size(); ++peer) {
        const std::int64_t payload = route.send_counts()[peer] * element_bytes;
        sent_.add(peer, payload, forwarding.empty() ? payload : forwarding[peer]);
      }
    });
  }

  std::string picked() const override { return exchange_.picked(); }
  std::span<const std::int64_t> sent() const override { return exchange_.sent(); }

 private:
  Exchange& exchange_;
  ProgressThread& progress_;
  SentBytes& sent_;
};

}  // namespace shardmark::comm
