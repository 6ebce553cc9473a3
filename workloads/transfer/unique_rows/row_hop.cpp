// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/row_hop.hpp"

namespace shardmark::workloads {
namespace {

std::int64_t size_of(const RowHop::Range& range) { return range.second - range.first; }

}  // namespace

RowHop::RowHop(comm::Exchange& exchange, Wire& wire, const RowShards& rows, std::vector<Range> asked, Range held,
               const std::vector<bool>& askers)
    : exchange_(exchange),
      rows_(rows),
      asked_(std::move(asked)),
      held_(held),
      distinct_(rows),
      id_wire_(wire.ids()),
      vectors_(exchange, wire) {
  std::vector<std::int64_t> sent, received;
  for (const Range& range : asked_) sent.push_back(size_of(range));
  for (const bool asks : askers) received.push_back(asks ? size_of(held) : 0);
  count_route_ = comm::Route(std::move(sent), std::move(received), std::ssize(rows.shards) * std::ssize(asked_));
}

void RowHop::request(const ConstDeviceArray<std::int64_t>& keys, std::int64_t bound, bool repeated) {
  distinct_.find(keys, repeated);
  exchange_counts();
  make_routes(bound);
}

void RowHop::exchange_counts() {
  asked_counts_.clear();
  for (const auto& [begin, end] : asked_)
    for (std::int64_t s = begin; s < end; ++s) asked_counts_.push_back(distinct_.rows(s));
  held_counts_.assign(count_route_.receive_total(), 0);
  comm::run(exchange_, count_route_, std::span<const std::int64_t>(asked_counts_), std::span(held_counts_));
  const auto held = static_cast<std::size_t>(size_of(held_));
  for (std::size_t r = 0; r < asked_.size(); ++r)  // ranks that ask for nothing
    if (count_route_.receive_counts()[r] == 0)
      held_counts_.insert(held_counts_.begin() + static_cast<std::ptrdiff_t>(r * held), held, 0);
}

void RowHop::make_routes(std::int64_t bound) {
  const auto dim = [&](std::int64_t s) { return rows_.shards[s].dim; };
  std::vector<std::int64_t> ids_sent, ids_received;
  RowBlocks blocks{.owner = {}, .home = {}, .row_bound = bound, .element_bound = bound * rows_.largest_dim};
  auto count = held_counts_.begin();
  for (int r = 0; r < static_cast<int>(asked_.size()); ++r) {
    const auto& [begin, end] = asked_[r];
    ids_sent.push_back(distinct_.first_row(end) - distinct_.first_row(begin));
    for (std::int64_t s = begin; s < end; ++s) blocks.home.push_back({r, distinct_.rows(s), dim(s)});
    std::int64_t ids = 0;
    for (std::int64_t s = held_.first; s < held_.second; ids += *count++, ++s)
      blocks.owner.push_back({r, *count, dim(s)});
    ids_received.push_back(ids);
  }
  id_route_ = comm::Route(std::move(ids_sent), std::move(ids_received), bound);
  vectors_.lay_out(static_cast<int>(asked_.size()), blocks);
}

void RowHop::receive_ids(const DeviceArray<std::int64_t>& ids) {
  id_wire_.write(id_route_.send_total(), [&](const auto& asked) { distinct_.list_ids(asked); });
  id_wire_.exchange(exchange_, id_route_, ids);
}

void RowHop::send_rows(const DeviceArray<float>& held, const DeviceArray<float>& packed) {
  vectors_.pack(Direction::forward, held);
  vectors_.move(Direction::forward, held, packed);
  vectors_.unpack(Direction::forward, packed);
}

void RowHop::return_gradients(const DeviceArray<float>& packed, const DeviceArray<float>& held) {
  vectors_.pack(Direction::backward, packed);
  vectors_.move(Direction::backward, packed, held);
  vectors_.unpack(Direction::backward, held);
}

}  // namespace shardmark::workloads
