// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "comm/exchange/exchange.hpp"
#include "comm/exchange/progress_thread.hpp"
#include "comm/exchange/sent_bytes.hpp"

namespace shardmark::comm {

/// Runs an exchange whose MPI calls are made by a progress thread, so that other tasks may compute meanwhile, and adds
/// its bytes to `sent`. One that follows a stream is started by the caller, so that all ranks start theirs in the same
/// order, and other tasks take their turns before it is finished. All three must outlive the object; several objects
/// may use the same exchange.
class ProgressExchange : public Exchange {
 public:
  ProgressExchange(Exchange& exchange, ProgressThread& progress, SentBytes& sent)
      : exchange_(exchange), progress_(progress), sent_(sent) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    auto run_whole = [&] {
      exchange_.run(route, send, receive, element_bytes);
      count(route, element_bytes);
    };
    if (!exchange_.follows()) return progress_.run(run_whole);
    if (!progress_.interleaves()) return run_whole();
    exchange_.start(route, send, receive, element_bytes);
    count(route, element_bytes);
    progress_.run([] {});
    exchange_.finish();
  }

  bool follows() const override { return exchange_.follows(); }
  std::string picked() const override { return exchange_.picked(); }
  std::span<const std::int64_t> sent() const override { return exchange_.sent(); }

 private:
  void count(const Route& route, std::int64_t element_bytes) {
    const std::span<const std::int64_t> forwarding = exchange_.sent();
    for (int peer = 0; peer < route.size(); ++peer) {
      const std::int64_t payload = route.send_counts()[peer] * element_bytes;
      sent_.add(peer, payload, forwarding.empty() ? payload : forwarding[peer]);
    }
  }

  Exchange& exchange_;
  ProgressThread& progress_;
  SentBytes& sent_;
};

}  // namespace shardmark::comm
