// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/row_sum_exchange.hpp"

#include <algorithm>

namespace shardmark::workloads {

RowSumExchange::RowSumExchange(const comm::Communicator& comm, comm::Exchange& exchange, const placement::Plan& plan,
                               const std::vector<Table>& tables, const std::vector<Feature>& features,
                               const ShardLayout& layout)
    : comm_(comm), exchange_(exchange) {
  const auto sums_of = [&](std::int64_t t) { return placement::exchanged_row_sums(tables[t], plan.tables[t]); };
  if (std::ranges::none_of(layout.strips, [&](const Strip& s) { return sums_of(features[s.feature].table) > 0; }))
    return;
  for (std::int64_t t = 0; t < std::ssize(tables); ++t) {
    if (sums_of(t) == 0) continue;
    width_ = std::max(width_, sums_of(t));
    for (const auto& shards : placement::shards_by_rows(plan.tables[t])) {
      most_members_ = std::max(most_members_, shards.size());
      Group group;
      for (const placement::Shard& shard : shards) {
        const auto own = std::ranges::find_if(layout.exchanged, [&](const KeyedShard& keyed) {
          const LocalShard& local = layout.shards[keyed.shard];
          return shard.rank == layout.rank && local.table == t && local.rows == shard.rows &&
                 local.column_begin == shard.column_begin;
        });
        group.push_back({shard.rank, own == layout.exchanged.end() ? -1 : own - layout.exchanged.begin()});
      }
      list_messages(group);
    }
  }
  std::vector<std::int64_t> first_keys;
  for (const KeyedShard& shard : layout.exchanged) first_keys.push_back(shard.first_key);
  first_keys.push_back(layout.exchanged_keys);
  segments_ = kernels::ShardSegments<Execution>(first_keys);
}

/// Both ends of a message list what it holds in the order (group, sender's column, receiver's column).
void RowSumExchange::list_messages(const Group& group) {
  const std::int64_t first_term = std::ssize(terms_.host);
  for (const Member& to : group) {
    if (to.own < 0) continue;
    wholes_.push_back({to.own, std::ssize(terms_.host), std::ssize(group)});
    terms_.host.resize(terms_.host.size() + group.size());
  }
  for (std::int64_t f = 0; f < std::ssize(group); ++f) {
    std::int64_t term = first_term + f;
    for (const Member& to : group) {
      const Member& from = group[f];
      if (&from != &to && from.own >= 0) sent_.push_back({from.own, to.rank});
      if (to.own < 0) continue;
      received_.push_back({to.own, &from == &to ? Message::stays : from.rank, term});
      term += std::ssize(group);
    }
  }
}

/// Where each message lies, when the shards have these distinct rows.
comm::Route RowSumExchange::place(const std::vector<std::int64_t>& begins, std::int64_t bound) {
  const auto place_at = [&](std::vector<Message>& messages) {
    std::vector<std::int64_t> elements(comm_.size());
    for (Message& message : messages) {
      if (message.peer == Message::stays) continue;
      message.at = elements[message.peer];
      elements[message.peer] += width_ * (begins[message.own + 1] - begins[message.own]);
    }
    return elements;
  };
  return comm::Route(place_at(sent_), place_at(received_), bound * width_ * static_cast<std::int64_t>(most_members_));
}

void RowSumExchange::complete(const kernels::UniqueRows<Execution>& unique, const DeviceArray<double>& sums,
                              std::int64_t bound) {
  const Execution exec;
  const auto& begins = segments_(unique);
  const auto sums_of = [&](std::int64_t shard) {
    return part(sums, width_ * begins[shard], width_ * begins[shard + 1]);
  };
  const comm::Route route = place(begins, bound);
  const auto send = send_scratch_.first(route.send_total());
  const auto receive = receive_scratch_.first(route.receive_total());
  for (const Message& message : sent_) {
    const auto own = sums_of(message.own);
    const std::int64_t at = route.send_offsets()[message.peer] + message.at;
    kernels::copy_array(exec, part(send, at, at + static_cast<std::int64_t>(own.extent(0))), own);
  }
  comm::run(exchange_, route, std::span<const double>(send.data(), send.extent(0)),
            std::span<double>(receive.data(), receive.extent(0)));

  for (const auto& [own, peer, term, at] : received_)
    terms_.host[term] = {peer == Message::stays ? sums_of(own).data()
                                                : receive.data() + route.receive_offsets()[peer] + at};
  const auto& terms = terms_.array();
  for (const auto& [own, first, count] : wholes_)
    kernels::add_row_sums<Execution>(exec, Kokkos::subview(terms, std::pair(first, first + count)), sums_of(own));
}

}  // namespace shardmark::workloads
