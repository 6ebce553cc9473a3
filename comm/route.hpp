// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Returns the offsets of `counts`, one more than there are counts: offsets[r] = sum of counts[0 .. r).
std::vector<std::int64_t> exclusive_scan(std::span<const std::int64_t> counts);

/// A Route says how many elements (ids, rows) this rank sends to and receives from each rank of a communicator, itself
/// included. Buffers hold the elements for or from rank 0 first, then rank 1 and so on without gaps. Gradients take
/// inverse(). The ranks make, keep and replace a route together: an exchange that has to ask others about one (sizes,
/// offsets) asks once and keeps the answers by its id(), and all ranks must come to the same conclusion.
class Route {
 public:
  Route() = default;

  /// `bound` is a limit that the elements sent or received by any rank do not exceed; it is the same on all ranks, so
  /// that they draw the same conclusion from it without communication. It may be far above what travels, and is
  /// therefore no size: use largest_total() for one. Throws std::invalid_argument for negative counts, vectors of
  /// different lengths or a bound below this rank's totals.
  Route(std::vector<std::int64_t> send_counts, std::vector<std::int64_t> receive_counts, std::int64_t bound);

  int size() const { return static_cast<int>(send_counts_.size()); }
  const std::vector<std::int64_t>& send_counts() const { return send_counts_; }
  const std::vector<std::int64_t>& receive_counts() const { return receive_counts_; }
  /// Returns where the elements for each rank begin, and at the end the total: size() + 1 numbers.
  const std::vector<std::int64_t>& send_offsets() const { return send_offsets_; }
  const std::vector<std::int64_t>& receive_offsets() const { return receive_offsets_; }
  std::int64_t send_total() const { return send_offsets_.back(); }
  std::int64_t receive_total() const { return receive_offsets_.back(); }
  /// Returns the bound of the constructor; 0 means that no rank sends anything.
  std::int64_t bound() const { return bound_; }

  /// Returns the route back: what was received is sent. inverse().inverse() is the route itself.
  Route inverse() const;

  /// Returns the same route for elements that consist of `factor` smaller ones. Throws std::overflow_error past 2^63.
  Route scaled(std::int64_t factor) const;

  /// Returns the bytes that leave `rank`, the rank that holds this route, for other ranks.
  std::int64_t bytes_sent_off_rank(std::int64_t element_bytes, int rank) const;

  /// Returns the number of this route in this process. Copies share it, as do a route and the inverse of its inverse;
  /// any other route made in this process has another one. The empty route has 0.
  std::uint64_t id() const { return id_; }

  /// Compares counts and bound.
  bool operator==(const Route& other) const;

 private:
  std::vector<std::int64_t> send_counts_;
  std::vector<std::int64_t> receive_counts_;
  std::vector<std::int64_t> send_offsets_ = {0};
  std::vector<std::int64_t> receive_offsets_ = {0};
  std::int64_t bound_ = 0;
  std::uint64_t id_ = 0;
};

/// Returns the route on which this rank sends send_counts[r] elements to rank r: it sends each peer its count
/// (MPI_Alltoall) and takes the largest total of any rank as the bound (MPI_Allreduce). Collective.
Route exchange_counts(const Communicator& comm, std::vector<std::int64_t> send_counts);

/// Returns the largest send or receive total of any rank (MPI_Allreduce). Collective.
std::int64_t largest_total(const Communicator& comm, const Route& route);

}  // namespace shardmark::comm
