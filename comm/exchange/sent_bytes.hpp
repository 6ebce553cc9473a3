// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/exchange/exchange.hpp"

namespace shardmark {

/// The bytes that one rank sends to each rank, counted where they are sent, in sections that the caller numbers (the
/// phases of a step). What a rank keeps for itself is not counted, nor the few numbers by which ranks tell each other
/// the sizes of messages before a route is first used.
class SentBytes {
 public:
  /// By rank.
  struct Bytes {
    std::vector<std::int64_t> payload;  ///< what this rank has for the other
    std::vector<std::int64_t> sent;     ///< what it sends to it: other ranks' bytes on their way, too
  };

  SentBytes(int rank, int ranks, std::size_t sections = 1)
      : rank_(rank), sections_(sections, {std::vector<std::int64_t>(ranks), std::vector<std::int64_t>(ranks)}) {}

  /// What is added from now on belongs to `section`, and what was counted in it before is forgotten.
  void begin(std::size_t section) {
    open_ = section;
    for (auto* bytes : {&sections_[open_].payload, &sections_[open_].sent}) bytes->assign(bytes->size(), 0);
  }

  /// Payload that goes to `peer` directly.
  void add(std::int64_t peer, std::int64_t bytes) { add(peer, bytes, bytes); }

  void add(std::int64_t peer, std::int64_t payload, std::int64_t sent) {
    if (peer == rank_) return;
    sections_[open_].payload[peer] += payload;
    sections_[open_].sent[peer] += sent;
  }

  SentBytes& operator+=(const SentBytes& other) {
    const auto add_to = [](std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& more) {
      for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += more[r];
    };
    for (std::size_t s = 0; s < sections_.size(); ++s) {
      add_to(sections_[s].payload, other.sections_[s].payload);
      add_to(sections_[s].sent, other.sections_[s].sent);
    }
    return *this;
  }

  const Bytes& to_ranks(std::size_t section) const { return sections_[section]; }

 private:
  int rank_;
  std::size_t open_ = 0;
  std::vector<Bytes> sections_;
};

/// An exchange whose bytes are counted in `sent`.
class CountedExchange : public Exchange {
 public:
  CountedExchange(std::unique_ptr<Exchange> exchange, SentBytes& sent) : exchange_(std::move(exchange)), sent_(sent) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    exchange_->run(route, send, receive, element_bytes);
    count(route, element_bytes);
  }

  void run_staged(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes,
                  const Stages& stages) override {
    exchange_->run_staged(route, send, receive, element_bytes, stages);
    count(route, element_bytes);
  }

  std::string picked() const override { return exchange_->picked(); }
  std::span<const std::int64_t> sent() const override { return exchange_->sent(); }

 private:
  void count(const Route& route, std::int64_t element_bytes) {
    const std::span<const std::int64_t> sent = exchange_->sent();
    for (int peer = 0; peer < route.size(); ++peer) {
      const std::int64_t payload = route.send_counts()[peer] * element_bytes;
      sent_.add(peer, payload, sent.empty() ? payload : sent[peer]);
    }
  }

  std::unique_ptr<Exchange> exchange_;
  SentBytes& sent_;
};

}  // namespace shardmark
