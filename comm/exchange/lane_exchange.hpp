// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "comm/exchange/exchange.hpp"
#include "comm/exchange/lane.hpp"
#include "comm/exchange/sent_bytes.hpp"

namespace shardmark {

/// An exchange whose MPI calls are made on a lane, so that other tasks of the lane may compute meanwhile, and whose
/// bytes are added to `sent`.
class LaneExchange : public Exchange {
 public:
  LaneExchange(std::unique_ptr<Exchange> exchange, Lane& lane, SentBytes& sent)
      : exchange_(std::move(exchange)), lane_(lane), sent_(sent) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    lane_.run([&] { exchange_->run(route, send, receive, element_bytes); });
    const std::span<const std::int64_t> forwarding = sent();
    for (int peer = 0; peer < route.size(); ++peer) {
      const std::int64_t payload = route.send_counts()[peer] * element_bytes;
      sent_.add(peer, payload, forwarding.empty() ? payload : forwarding[peer]);
    }
  }

  std::string picked() const override { return exchange_->picked(); }
  std::span<const std::int64_t> sent() const override { return exchange_->sent(); }

 private:
  std::unique_ptr<Exchange> exchange_;
  Lane& lane_;
  SentBytes& sent_;
};

}  // namespace shardmark
