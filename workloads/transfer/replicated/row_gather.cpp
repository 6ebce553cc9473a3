// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/replicated/row_gather.hpp"

#include <limits>
#include <numeric>

#include "comm/collectives.hpp"
#include "reference/error.hpp"

namespace shardmark {
namespace {

/// The keys of the distinct rows from number `first` on.
void narrow(const kernels::UniqueRows<Execution>& unique, std::int64_t first, const DeviceArray<std::int32_t>& keys) {
  Kokkos::parallel_for(
      "shardmark::row_keys", kernels::static_range(Execution(), static_cast<std::int64_t>(keys.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { keys(i) = static_cast<std::int32_t>(unique.key(first + i)); });
}

/// Of every gathered row the key, and where its gradient begins.
void expand(const DeviceArray<std::int32_t>& received, const ConstDeviceArray<GatheredBlock>& blocks,
            const DeviceArray<std::int64_t>& keys, const DeviceArray<std::int64_t>& offsets) {
  const auto count = static_cast<std::int64_t>(blocks.extent(0));
  Kokkos::parallel_for(
      "shardmark::gathered_rows", kernels::static_range(Execution(), static_cast<std::int64_t>(received.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t row) {
        const auto& block =
            blocks(kernels::last_at_most(count, row, [&](std::int64_t b) { return blocks(b).first_row; }));
        keys(row) = received(row);
        offsets(row) = block.first_element + (row - block.first_row) * block.dim;
      });
}

}  // namespace

void RowGather::place(std::vector<std::int64_t> dims, const std::vector<std::int64_t>& first_keys) {
  if (!dims.empty() && first_keys.back() > std::numeric_limits<std::int32_t>::max())
    throw InputError("replicated gradients by rows: " + std::to_string(first_keys.back()) +
                     " rows of replicated tables need more than 31 bits; use dense, or split the largest tables");
  dims_ = std::move(dims);
  segments_ = ShardSegments(first_keys);
  const auto ranks = static_cast<std::size_t>(comm_.size());
  packed_at_.resize(dims_.size());
  counts_.resize(ranks * dims_.size());
  blocks_.resize(ranks * dims_.size());
  rows_.resize(ranks);
  elements_.resize(ranks);
}

void RowGather::count(const kernels::UniqueRows<Execution>& unique) {
  begins_ = segments_(unique);
  const auto tables = static_cast<std::int64_t>(dims_.size());
  const auto own = std::span(counts_).subspan(comm_.rank() * tables, dims_.size());
  for (std::size_t k = 0; k < dims_.size(); ++k) own[k] = begins_[k + 1] - begins_[k];
  const std::vector<std::int64_t> sent(own.begin(), own.end());
  const std::vector<std::int64_t> as_many(static_cast<std::size_t>(comm_.size()), tables);
  for (std::size_t peer = 0; peer < as_many.size(); ++peer)
    sent_.add(peer, tables * std::int64_t{sizeof(std::int64_t)});
  lane_.run([&] { all_gather_v(comm_, std::span<const std::int64_t>(sent), as_many, std::span(counts_)); });
  lay_out();
}

void RowGather::lay_out() {
  std::int64_t row = 0, element = 0;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::int64_t first_row = row, first_element = element;
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      if (r == static_cast<std::size_t>(comm_.rank())) packed_at_[k] = element - first_element;
      blocks_[r * dims_.size() + k] = {row, element, dims_[k]};
      row += counts_[r * dims_.size() + k];
      element += counts_[r * dims_.size() + k] * dims_[k];
    }
    rows_[r] = row - first_row;
    elements_[r] = element - first_element;
  }
}

/// Everybody's values, by_rank[r] of rank r.
template <class T>
DeviceArray<T> RowGather::share(const DeviceArray<T>& own, const std::vector<std::int64_t>& by_rank,
                                DeviceScratch<T>& received) {
  const auto all = received.first(std::accumulate(by_rank.begin(), by_rank.end(), std::int64_t{0}));
  for (std::size_t peer = 0; peer < by_rank.size(); ++peer)
    sent_.add(peer, static_cast<std::int64_t>(own.extent(0) * sizeof(T)));
  lane_.run([&] {
    all_gather_v(comm_, std::span<const T>(own.data(), own.extent(0)), by_rank,
                 std::span<T>(all.data(), all.extent(0)));
  });
  return all;
}

RowGather::Rows RowGather::gather(const kernels::UniqueRows<Execution>& unique) {
  const Execution exec;
  const auto keys = keys_sent_.first(begins_.back() - begins_.front());
  narrow(unique, begins_.front(), keys);
  exec.fence("shardmark: rows and their gradients are sent");
  const auto received = share(keys, rows_, keys_received_);
  const auto gradients = share(packed(), elements_, gradients_);
  const auto rows = static_cast<std::int64_t>(received.extent(0));
  const Rows all{keys_.first(rows), offsets_.first(rows), gradients};
  expand(received, device_blocks_.holding(exec, blocks_), all.keys, all.gradient_offsets);
  return all;
}

}  // namespace shardmark
