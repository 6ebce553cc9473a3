// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/exchange/exchange.hpp"
#include "comm/exchange/exchange_calibration.hpp"
#include "comm/exchange/node_shared.hpp"
#include "comm/exchange/per_route.hpp"

namespace shardmark::comm {

/// Carries each route by the exchange that was fastest in this job for traffic of its size and shape
/// (exchange_calibration.hpp). A route's first run uses an exchange that has nothing to set up, chosen by the size of
/// the route, which an all-reduce finds; in the second run another all-reduce finds its shape. All ranks pick the same
/// exchange.
class Auto : public Exchange {
 public:
  explicit Auto(const Communicator& comm);

  /// Returns what rma_put keeps, as if it were picked: large routes use exchanges that keep less.
  static double keeps(const Communicator&, int) { return 1.25; }
  static double has(const Communicator& comm) { return NodeShared::has(comm); }

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;
  std::string picked() const override;
  std::span<const std::int64_t> sent() const override {
    return last_ == nullptr ? std::span<const std::int64_t>() : last_->sent();
  }

 private:
  struct Seen {
    int runs;
    double elements;  ///< from rank to rank, in the mean
    bool skewed;
  };

  Exchange& pick(const Route& route, std::int64_t element_bytes);
  Exchange& exchange_numbered(std::size_t number);

  const Communicator& comm_;
  const placement::ExchangeRatios& calibration_;
  std::vector<bool> for_any_route_, for_known_routes_;  ///< of calibration_.exchanges
  PerRoute<Seen> seen_;
  std::vector<std::unique_ptr<Exchange>> made_;  ///< those picked so far
  Exchange* last_ = nullptr;                     ///< of them, the one that ran last
  std::size_t library_ = 0;                      ///< the number of mpi_alltoallv
};

}  // namespace shardmark::comm
