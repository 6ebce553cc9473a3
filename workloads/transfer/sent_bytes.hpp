// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "comm/exchange/exchange.hpp"
#include "comm/lane.hpp"
#include "workloads/transfer/phase.hpp"

namespace shardmark {

/// Bytes that this rank sends to each rank in a step, by phase, counted where they are sent. What stays on the rank is
/// not counted.
class SentBytes {
 public:
  SentBytes(int rank, int ranks) : rank_(static_cast<std::size_t>(rank)) {
    bytes_.fill(std::vector<std::int64_t>(static_cast<std::size_t>(ranks)));
  }

  /// What is added from now on belongs to `phase`; what the step before sent in it is forgotten.
  void begin(Phase phase) {
    open_ = static_cast<std::size_t>(phase);
    bytes_[open_].assign(bytes_[open_].size(), 0);
  }

  void add(std::size_t peer, std::int64_t bytes) {
    if (peer != rank_) bytes_[open_][peer] += bytes;
  }

  SentBytes& operator+=(const SentBytes& other) {
    for (std::size_t p = 0; p < bytes_.size(); ++p)
      for (std::size_t r = 0; r < bytes_[p].size(); ++r) bytes_[p][r] += other.bytes_[p][r];
    return *this;
  }

  /// By rank.
  const std::vector<std::int64_t>& to_ranks(Phase phase) const { return bytes_[index_of(phase)]; }

  std::array<std::int64_t, phase_names.size()> totals() const {
    std::array<std::int64_t, phase_names.size()> totals{};
    for (std::size_t p = 0; p < totals.size(); ++p)
      totals[p] = std::accumulate(bytes_[p].begin(), bytes_[p].end(), std::int64_t{0});
    return totals;
  }

 private:
  std::size_t rank_;
  std::size_t open_ = 0;
  std::array<std::vector<std::int64_t>, phase_names.size()> bytes_;
};

/// An exchange that happens on a lane; what is packed and unpacked on the way is so by the caller, before and after.
class LaneExchange : public Exchange {
 public:
  LaneExchange(std::unique_ptr<Exchange> exchange, Lane& lane) : exchange_(std::move(exchange)), lane_(lane) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    lane_.run([&] { exchange_->run(route, send, receive, element_bytes); });
  }

  std::string picked() const override { return exchange_->picked(); }

 private:
  std::unique_ptr<Exchange> exchange_;
  Lane& lane_;
};

/// An exchange whose bytes are counted: those of the route, whatever ways and detours the algorithm takes.
class CountedExchange : public Exchange {
 public:
  CountedExchange(std::unique_ptr<Exchange> exchange, SentBytes& sent) : exchange_(std::move(exchange)), sent_(sent) {}

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    count(route, element_bytes);
    exchange_->run(route, send, receive, element_bytes);
  }

  void run_staged(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes,
                  const Stages& stages) override {
    count(route, element_bytes);
    exchange_->run_staged(route, send, receive, element_bytes, stages);
  }

  std::string picked() const override { return exchange_->picked(); }

 private:
  void count(const Route& route, std::int64_t element_bytes) {
    const auto& counts = route.send_counts();
    for (std::size_t peer = 0; peer < counts.size(); ++peer) sent_.add(peer, counts[peer] * element_bytes);
  }

  std::unique_ptr<Exchange> exchange_;
  SentBytes& sent_;
};

}  // namespace shardmark
