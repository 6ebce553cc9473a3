// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "comm/exchange/exchange.hpp"
#include "comm/exchange/per_route.hpp"

namespace shardmark::comm {

/// Puts the blocks of every rank (MPI_Put, between two fences) into a window of each target, which copies them out.
/// Each rank learns once per route where its blocks begin at the targets and how much each of them receives. The window
/// of every rank has room for the most that any receives, and a quarter more; all ranks make it anew together when a
/// route needs a larger one.
class RmaPut : public Exchange {
 public:
  explicit RmaPut(const Communicator& comm) : comm_(comm) {}
  ~RmaPut() override;

  /// Tries to make a window: some MPIs make none between these ranks (Open MPI 4.1 over TCP).
  static std::string unusable(const Communicator& comm);
  /// Counts the window.
  static double keeps(const Communicator&, int) { return 1.25; }

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  struct Target {
    std::int64_t offset;  ///< element where this rank's block begins
    std::int64_t total;   ///< elements that it receives
  };
  struct Setup {
    std::vector<Target> targets;
    std::int64_t largest_total;
  };

  void ask_targets(const Route& route, Setup& setup);
  void make_room(std::int64_t bytes);
  void put(std::span<const std::byte> bytes, int target, std::int64_t offset) const;

  const Communicator& comm_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::byte* memory_ = nullptr;  ///< memory of this rank's own window
  std::int64_t room_ = 0;
  std::vector<Target> told_;  ///< what this rank sends to each rank when a route is new
  PerRoute<Setup> setups_;
};

}  // namespace shardmark::comm
