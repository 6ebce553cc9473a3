// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/row_sum_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "kernels/row_sums.hpp"

namespace shardmark {
namespace {

auto order_of(const RowSet& rows) { return std::tuple(rows.begin, rows.end, rows.stride); }

/// The shards of one table that hold the same rows, by column.
std::vector<std::vector<Shard>> group_by_rows(const Table& table, const TablePlacement& placement) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<Shard>> groups;
  for (const Shard& shard : placement.shards) groups[order_of(shard.rows)].push_back(shard);
  std::vector<std::vector<Shard>> result;
  for (auto& [rows, shards] : groups) {
    std::ranges::sort(shards, {}, &Shard::column_begin);
    std::int64_t columns = 0;
    for (const Shard& shard : shards) columns += shard.columns();
    if (columns != table.dim)
      throw InputError(
          fmt::format("plan: table {} uses {}, which needs the same row split in every column range, but the rows "
                      "from {} on are cut differently; use the same rows or an element-wise optimizer",
                      table.name, name_of(table.optimizer.kind), shards.front().rows.begin));
    result.push_back(std::move(shards));
  }
  return result;
}

}  // namespace

RowSumExchange::RowSumExchange(const Communicator& comm, Exchange& exchange, const Plan& plan,
                               const std::vector<Table>& tables, const ShardLayout& layout)
    : comm_(comm), exchange_(exchange), layout_(layout) {
  for (std::int64_t t = 0; t < std::ssize(tables); ++t) {
    const Table& table = tables[t];
    const TablePlacement& placement = plan.tables[t];
    const std::int64_t sums = exchanged_row_sums(table, placement);
    if (sums == 0) continue;
    width_ = std::max(width_, sums);
    for (const auto& shards : group_by_rows(table, placement)) {
      most_members_ = std::max(most_members_, shards.size());
      Group group;
      for (const Shard& shard : shards) {
        const auto own = std::ranges::find_if(layout.shards, [&](const LocalShard& local) {
          return shard.rank == layout.rank && local.table == t && local.rows == shard.rows &&
                 local.column_begin == shard.column_begin;
        });
        group.push_back({shard.rank, own == layout.shards.end() ? -1 : own - layout.shards.begin()});
      }
      if (std::ranges::any_of(group, [](const Member& member) { return member.own >= 0; })) groups_.push_back(group);
    }
  }
  std::vector<std::int64_t> first_keys;
  for (const LocalShard& shard : layout.shards) first_keys.push_back(shard.first_key);
  first_keys.push_back(layout.keys);
  segments_ = kernels::ShardSegments<Execution>(first_keys);
}

/// Both ends of a message list what it holds in the order (group, sender's column, receiver's column).
RowSumExchange::Messages RowSumExchange::messages(const std::vector<std::int64_t>& begins, std::int64_t bound) const {
  Messages messages;
  const auto ranks = static_cast<std::size_t>(comm_.size());
  std::vector<std::int64_t> sent(ranks), received(ranks);
  const auto add = [&](std::vector<Message>& list, std::int64_t own, int peer, std::vector<std::int64_t>& elements) {
    if (own < 0) return;
    list.push_back({own, peer, elements[peer]});
    elements[peer] += width_ * (begins[own + 1] - begins[own]);
  };
  for (const Group& group : groups_) {
    for (const Member& from : group) {
      for (const Member& to : group) {
        if (&from != &to) {
          add(messages.sent, from.own, to.rank, sent);
          add(messages.received, to.own, from.rank, received);
        } else if (to.own >= 0) {
          messages.received.push_back({to.own, Message::stays, 0});
        }
      }
    }
  }
  messages.route =
      Route(std::move(sent), std::move(received), bound * width_ * static_cast<std::int64_t>(most_members_));
  return messages;
}

void RowSumExchange::complete(const kernels::UniqueRows<Execution>& unique, const DeviceArray<double>& sums,
                              std::int64_t bound) {
  const Execution exec;
  const auto& begins = segments_(unique);
  const auto sums_of = [&](std::int64_t shard) {
    return part(sums, width_ * begins[shard], width_ * begins[shard + 1]);
  };
  const Messages messages = this->messages(begins, bound);
  const Route& route = messages.route;
  const auto send = send_.first(route.send_total());
  const auto receive = receive_.first(route.receive_total());
  for (const Message& message : messages.sent) {
    const auto own = sums_of(message.own);
    const std::int64_t at = route.send_offsets()[message.peer] + message.at;
    Kokkos::deep_copy(exec, part(send, at, at + static_cast<std::int64_t>(own.extent(0))), own);
  }
  exec.fence("shardmark: the row sums are sent");
  run(exchange_, route, std::span<const double>(send.data(), send.extent(0)),
      std::span<double>(receive.data(), receive.extent(0)));

  std::map<std::int64_t, std::vector<kernels::RowSumTerms>> terms;  // by local shard, in the order of the columns
  for (const auto& [own, peer, at] : messages.received)
    terms[own].push_back(
        {peer == Message::stays ? sums_of(own).data() : receive.data() + route.receive_offsets()[peer] + at});
  for (const auto& [own, of_columns] : terms) kernels::add_row_sums(exec, of_columns, sums_of(own));
}

}  // namespace shardmark
