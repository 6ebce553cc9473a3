// SPDX-License-Identifier: Apache-2.0
#include "comm/route.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "comm/collectives.hpp"
#include "comm/mpi_error.hpp"

namespace shardmark::comm {
namespace {

void check_counts(const std::vector<std::int64_t>& counts, const char* direction) {
  for (std::size_t peer = 0; peer < counts.size(); ++peer) {
    if (counts[peer] < 0)
      throw std::invalid_argument(fmt::format("route: {} count {} for rank {}", direction, counts[peer], peer));
  }
}

/// Returns an even number, so that the inverse can take the odd number behind it.
std::uint64_t new_id() {
  static std::atomic<std::uint64_t> last = 0;
  return last += 2;
}

std::vector<std::int64_t> times(std::vector<std::int64_t> counts, std::int64_t factor) {
  for (auto& count : counts) count *= factor;
  return counts;
}

}  // namespace

std::vector<std::int64_t> exclusive_scan(std::span<const std::int64_t> counts) {
  std::vector<std::int64_t> offsets(counts.size() + 1, 0);
  for (std::size_t i = 0; i < counts.size(); ++i) offsets[i + 1] = offsets[i] + counts[i];
  return offsets;
}

Route::Route(std::vector<std::int64_t> send_counts, std::vector<std::int64_t> receive_counts, std::int64_t bound)
    : send_counts_(std::move(send_counts)), receive_counts_(std::move(receive_counts)), bound_(bound), id_(new_id()) {
  check_counts(send_counts_, "send");
  check_counts(receive_counts_, "receive");
  if (send_counts_.size() != receive_counts_.size())
    throw std::invalid_argument(
        fmt::format("route: {} send counts, {} receive counts", send_counts_.size(), receive_counts_.size()));
  send_offsets_ = exclusive_scan(send_counts_);
  receive_offsets_ = exclusive_scan(receive_counts_);
  if (bound_ < std::max(send_total(), receive_total()))
    throw std::invalid_argument(
        fmt::format("route: bound {} is below the totals {}, {}", bound_, send_total(), receive_total()));
}

Route Route::inverse() const {
  Route back = *this;
  back.send_counts_.swap(back.receive_counts_);
  back.send_offsets_.swap(back.receive_offsets_);
  if (id_ != 0) back.id_ = id_ ^ 1;
  return back;
}

bool Route::operator==(const Route& other) const {
  return send_counts_ == other.send_counts_ && receive_counts_ == other.receive_counts_ && bound_ == other.bound_;
}

Route Route::scaled(std::int64_t factor) const {
  if (factor < 0) throw std::invalid_argument(fmt::format("route: factor {}", factor));
  if (factor > 0 && bound_ > std::numeric_limits<std::int64_t>::max() / factor)
    throw std::overflow_error(fmt::format("route: {} elements times {} exceed 64 bits", bound_, factor));
  return Route(times(send_counts_, factor), times(receive_counts_, factor), bound_ * factor);
}

std::int64_t Route::bytes_sent_off_rank(std::int64_t element_bytes, int rank) const {
  return (send_total() - send_counts_.at(rank)) * element_bytes;
}

Route exchange_counts(const Communicator& comm, std::vector<std::int64_t> send_counts) {
  if (std::ssize(send_counts) != comm.size())
    throw std::invalid_argument(fmt::format("route: {} counts for {} ranks", send_counts.size(), comm.size()));
  std::vector<std::int64_t> receive_counts(send_counts.size());
  check_mpi(MPI_Alltoall(send_counts.data(), 1, MPI_INT64_T, receive_counts.data(), 1, MPI_INT64_T, comm.get()),
            "MPI_Alltoall");
  const auto sum = [](const auto& counts) { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); };
  const auto bound = all_reduce(comm, std::max(sum(send_counts), sum(receive_counts)), Reduce::max);
  return Route(std::move(send_counts), std::move(receive_counts), bound);
}

std::int64_t largest_total(const Communicator& comm, const Route& route) {
  return all_reduce(comm, std::max(route.send_total(), route.receive_total()), Reduce::max);
}

}  // namespace shardmark::comm
