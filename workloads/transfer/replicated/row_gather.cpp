// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/replicated/row_gather.hpp"

#include <limits>
#include <numeric>

#include "comm/collectives.hpp"
#include "kernels/bag_lengths.hpp"
#include "reference/error.hpp"

namespace shardmark::workloads {

void RowGather::place(std::vector<std::int64_t> dims, const std::vector<std::int64_t>& first_keys) {
  if (!dims.empty() && first_keys.back() > std::numeric_limits<std::int32_t>::max())
    throw InputError("replicated gradients by rows: " + std::to_string(first_keys.back()) +
                     " rows of replicated tables need more than 31 bits; use dense, or split the largest tables");
  dims_ = std::move(dims);
  first_keys_ = first_keys;
  segments_ = kernels::ShardSegments<Execution>(first_keys);
  const auto ranks = static_cast<std::size_t>(comm_.size());
  packed_at_.resize(dims_.size());
  counts_.resize(ranks * dims_.size());
  rows_.resize(ranks);
  elements_.resize(ranks);
}

void RowGather::count(const kernels::UniqueRows<Execution>& unique) {
  begins_ = segments_(unique);
  const auto tables = static_cast<std::int64_t>(dims_.size());
  std::vector<std::int64_t> own;
  for (std::size_t k = 0; k < dims_.size(); ++k) own.push_back(begins_[k + 1] - begins_[k]);
  const std::vector<std::int64_t> as_many(static_cast<std::size_t>(comm_.size()), tables);
  for (std::size_t peer = 0; peer < as_many.size(); ++peer)
    sent_.add(peer, tables * std::int64_t{sizeof(std::int64_t)});
  lane_.run([&] { comm::all_gather_v(comm_, std::span<const std::int64_t>(own), as_many, std::span(counts_)); });
  lay_out();
}

void RowGather::lay_out() {
  std::int64_t row = 0, element = 0;
  blocks_.host.clear();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::int64_t first_row = row, first_element = element;
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      if (r == static_cast<std::size_t>(comm_.rank())) packed_at_[k] = element - first_element;
      const std::int64_t rows = counts_[r * dims_.size() + k];
      blocks_.host.push_back({.first_bag = row,
                              .bags = rows,
                              .first_key = first_keys_[k],
                              .gradient = element,
                              .gradient_stride = dims_[k]});
      row += rows;
      element += rows * dims_[k];
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
    comm::all_gather_v(comm_, std::span<const T>(own.data(), own.extent(0)), by_rank,
                       std::span<T>(all.data(), all.extent(0)));
  });
  return all;
}

RowGather::Rows RowGather::gather(const kernels::UniqueRows<Execution>& unique) {
  const Execution exec;
  const auto ids = ids_sent_.first(begins_.back() - begins_.front());
  segments_.list_ids(unique, begins_.front(), ids);
  exec.fence("shardmark: rows and their gradients are sent");
  const auto received = share(ids, rows_, ids_received_);
  const auto gradients = share(packed(), elements_, gradients_);
  const auto rows = static_cast<std::int64_t>(received.extent(0));
  const Rows all{keys_.first(rows), gradient_offsets_.first(rows), gradients};
  const auto offsets = offsets_.first(rows + 1);
  kernels::count_up(exec, offsets);
  kernels::expand_positions(exec, blocks_.array(), ConstDeviceArray<std::int64_t>(offsets), received, all.keys,
                            all.gradient_offsets);
  return all;
}

}  // namespace shardmark::workloads
