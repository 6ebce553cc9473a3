// SPDX-License-Identifier: Apache-2.0
#include "comm/reduction/reduction.hpp"

#include <algorithm>
#include <stdexcept>

#include "comm/collectives.hpp"

namespace shardmark::comm {
namespace {

/// Returns pinned host memory of the size of `values`.
std::span<float> host_room(KeptMemory& memory, std::span<const float> values) {
  return {reinterpret_cast<float*>(memory.at_least(std::ssize(std::as_bytes(values)))), values.size()};
}

void copy(std::span<float> to, std::span<const float> from) {
  copy_bytes(std::as_writable_bytes(to).data(), std::as_bytes(from).data(), std::ssize(std::as_bytes(from)));
}

}  // namespace

void Reduction::lay_out(std::span<const std::int64_t> counts) {
  if (std::ssize(counts) != comm_.size()) throw std::invalid_argument("reduction: counts of another number of ranks");
  counts_.assign(counts.begin(), counts.end());
  offsets_ = exclusive_scan(counts);
  sent_.assign(counts.size(), 0);
  make_room();
}

void Reduction::reduce_scatter(std::span<const float> partials, std::span<float> sums) {
  go(&Reduction::add, partials, total(), sums, own_size());
}

void Reduction::all_gather(std::span<const float> own, std::span<float> all) {
  go(&Reduction::gather, own, own_size(), all, total());
}

void Reduction::go(Path path, std::span<const float> from, std::size_t from_size, std::span<float> to,
                   std::size_t to_size) {
  if (from.size() < from_size || to.size() < to_size)
    throw std::invalid_argument("reduction: a buffer is smaller than the counts");
  from = from.first(from_size);
  to = to.first(to_size);
  std::ranges::fill(sent_, 0);
  const bool staged_from = !reads_gpus() && on_gpu(from.data()), staged_to = !reads_gpus() && on_gpu(to.data());
  if (staged_from || staged_to) select_gpu(comm_);
  const auto room_from = staged_from ? host_room(sent_copy_, from) : std::span<float>();
  const auto room_to = staged_to ? host_room(received_copy_, to) : to;
  if (staged_from) copy(room_from, from);
  (this->*path)(staged_from ? room_from : from, room_to);
  if (staged_to) copy(to, room_to);
}

void Reduction::send(std::span<const float> values, int peer) {
  messages_.send(std::as_bytes(values), peer);
  count(peer, std::ssize(values));
}

void Reduction::count_shares() {
  for (int peer = 0; peer < comm_.size(); ++peer) count(peer, counts_[peer]);
}

void Reduction::count_own() {
  for (int peer = 0; peer < comm_.size(); ++peer) count(peer, counts_[comm_.rank()]);
}

void Reduction::count(int peer, std::int64_t values) {
  if (peer == comm_.rank()) return;
  sent_[peer] += values * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace shardmark::comm
