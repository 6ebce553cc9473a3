// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "comm/exchange/exchange.hpp"
#include "comm/exchange/lane.hpp"

namespace shardmark {

/// An exchange whose MPI calls are made on a lane, so that other tasks of the lane may compute meanwhile. What is
/// packed before and unpacked after (run_staged) is so by the caller, not on the lane.
class LaneExchange : public Exchange {
 public:
  LaneExchange(std::unique_ptr<Exchange> exchange, Lane& lane) : exchange_(std::move(exchange)), lane_(lane) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    lane_.run([&] { exchange_->run(route, send, receive, element_bytes); });
  }

  std::string picked() const override { return exchange_->picked(); }
  std::span<const std::int64_t> sent() const override { return exchange_->sent(); }

 private:
  std::unique_ptr<Exchange> exchange_;
  Lane& lane_;
};

}  // namespace shardmark
