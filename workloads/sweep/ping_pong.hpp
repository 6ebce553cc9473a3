// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/placement/traffic/byte_matrix.hpp"

namespace shardmark::workloads {

/// Gives the seconds of one message in one direction by its size, linear between the measured sizes and beyond the
/// last.
class MessageTimes {
 public:
  struct Point {
    std::int64_t bytes;
    double seconds;
  };

  MessageTimes() = default;
  /// Takes the points, ascending in bytes.
  explicit MessageTimes(std::vector<Point> points) : points_(std::move(points)) {}

  bool known() const { return !points_.empty(); }
  double seconds(std::int64_t bytes) const;

 private:
  std::vector<Point> points_;
};

/// Holds what the links can do: ping-pong between pairs of ranks. All pairs of a round play at once, so that ranks that
/// share a link share it here too; the slowest pair of the slowest round counts, by its best repetition.
struct PingPong {
  MessageTimes inside;   ///< between ranks of one node
  MessageTimes between;  ///< between ranks of different nodes, each with the rank of the same number there
};

/// Measures messages up to `largest` bytes, each size four times the one before. Collective.
PingPong measure_ping_pong(const comm::Communicator& comm, std::int64_t largest);

/// Returns the least time in which the traffic could pass: the rank that sends or receives most within its node does so
/// in one message; the node that sends or receives most does so in one message of each of its ranks, all at once.
/// Absent when nothing leaves any rank, or where no such pair was measured.
std::optional<double> least_seconds(const PingPong& links, const placement::ByteMatrix& traffic,
                                    const comm::Communicator& comm);

}  // namespace shardmark::workloads
