// SPDX-License-Identifier: Apache-2.0
// A block (from, to) travels, among others, in this order: to the leader by destination group and destination; between
// leaders by source and destination; to the member by source group and source.
#include "comm/exchange/node_leader.hpp"

#include <algorithm>
#include <numeric>

namespace shardmark::comm {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& by_rank, const std::vector<int>& ranks) {
  std::int64_t sum = 0;
  for (const int rank : ranks) sum += by_rank[rank];
  return sum;
}

}  // namespace

std::string NodeLeader::unusable(const Communicator& comm) {
  return comm.nodes() == 1 ? "all ranks are on one node" : "";
}

double NodeLeader::keeps(const Communicator& comm, int leaders) {
  const int ranks = comm.node_size(), groups = std::min(leaders, ranks);
  for (int g = 0; g < groups; ++g)
    if (comm.node_rank() == ranks * g / groups)
      return 1.0 + 4.0 * (1.0 - 1.0 / comm.nodes()) * (ranks * (g + 1) / groups - ranks * g / groups);
  return 1.0;
}

NodeLeader::NodeLeader(const Communicator& comm, int leaders) : comm_(comm), messages_(comm) {
  for (int node = 0; node < comm.nodes(); ++node) {
    const auto& ranks = comm.ranks_of(node);
    const auto groups = std::min<std::ptrdiff_t>(leaders, std::ssize(ranks));
    for (std::ptrdiff_t g = 0; g < groups; ++g)
      groups_.emplace_back(ranks.begin() + std::ssize(ranks) * g / groups,
                           ranks.begin() + std::ssize(ranks) * (g + 1) / groups);
  }
  group_ = &*std::ranges::find_if(groups_, [&](const Group& g) { return std::ranges::count(g, comm.rank()) > 0; });
}

void NodeLeader::find_sizes(const Route& route, Sizes& sizes) {
  const std::size_t ranks = comm_.size();
  if (!leads()) {
    messages_.send(std::as_bytes(std::span(route.send_counts())), group_->front());
    messages_.send(std::as_bytes(std::span(route.receive_counts())), group_->front());
    return messages_.wait();
  }
  for (auto* of_members : {&sizes.send, &sizes.receive})
    of_members->assign(group_->size(), std::vector<std::int64_t>(ranks));
  sizes.send[0] = route.send_counts();
  sizes.receive[0] = route.receive_counts();
  for (std::size_t m = 1; m < group_->size(); ++m) {
    messages_.receive(std::as_writable_bytes(std::span(sizes.send[m])), (*group_)[m]);
    messages_.receive(std::as_writable_bytes(std::span(sizes.receive[m])), (*group_)[m]);
  }
  messages_.wait();
}

void NodeLeader::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  const Blocks blocks(comm_, route, send, receive, element_bytes);
  const Sizes& sizes = sizes_.of(route, [&](Sizes& fresh) { find_sizes(route, fresh); });
  messages_.count_anew();
  own_.restart(std::max(route.send_total(), route.receive_total()) * element_bytes);
  gather(blocks, sizes, element_bytes);
  if (leads()) exchange(sizes, element_bytes);
  scatter(blocks, sizes, element_bytes);
}

/// Leaves in gathered_ of the leader what the members send away: [member][group away][rank of that group].
void NodeLeader::gather(const Blocks& blocks, const Sizes& sizes, std::int64_t element_bytes) {
  for (const int peer : comm_.ranks_of(comm_.node_of(comm_.rank()))) {
    if (peer == comm_.rank()) continue;
    messages_.receive(blocks.from(peer), peer);
    messages_.send(blocks.to(peer), peer);
  }
  for (const Group& group : groups_)
    if (is_away(group))
      for (const int rank : group) own_.append(blocks.to(rank));
  if (leads()) {
    const auto away = [&](const std::vector<std::int64_t>& counts) {
      std::int64_t elements = 0;
      for (const Group& group : groups_) elements += is_away(group) ? sum(counts, group) : 0;
      return elements * element_bytes;
    };
    std::size_t outgoing = 0, incoming = 0;
    for (const auto& counts : sizes.send) outgoing += away(counts);
    for (const auto& counts : sizes.receive) incoming += away(counts);
    gathered_.restart(outgoing);
    to_leaders_.restart(outgoing);
    from_leaders_.restart(incoming);
    scattered_.restart(incoming);
    gathered_.append(own_.since(0));
    for (std::size_t m = 1; m < group_->size(); ++m)
      messages_.receive(gathered_.take(away(sizes.send[m])), (*group_)[m]);
  } else {
    messages_.send(own_.since(0), group_->front());
  }
  blocks.copy_own(comm_.rank());
  messages_.wait();
}

/// Turns gathered_ into messages of [member][rank of the group away] and leaves theirs in from_leaders_:
/// [group away][rank of that group][member].
void NodeLeader::exchange(const Sizes& sizes, std::int64_t element_bytes) {
  const auto bytes = [&](std::int64_t elements) { return elements * element_bytes; };
  for (const Group& source : groups_) {
    if (!is_away(source)) continue;
    std::int64_t elements = 0;
    for (const auto& counts : sizes.receive) elements += sum(counts, source);
    messages_.receive(from_leaders_.take(bytes(elements)), source.front());
  }
  for (const Group& target : groups_) {
    if (!is_away(target)) continue;
    const std::size_t begin = to_leaders_.used();
    gathered_.restart(0);
    for (const auto& counts : sizes.send)
      for (const Group& group : groups_) {
        if (!is_away(group)) continue;
        const auto blocks = gathered_.take(bytes(sum(counts, group)));
        if (&group == &target) to_leaders_.append(blocks);
      }
    messages_.send(to_leaders_.since(begin), target.front());
  }
  messages_.wait();
}

/// The leader sends each member its blocks from away: [group away][rank of that group].
void NodeLeader::scatter(const Blocks& blocks, const Sizes& sizes, std::int64_t element_bytes) {
  own_.restart(0);
  if (leads()) {
    for (std::size_t member = 0; member < group_->size(); ++member) {
      const std::size_t begin = scattered_.used();
      from_leaders_.restart(0);
      for (const Group& group : groups_) {
        if (!is_away(group)) continue;
        for (const int source : group)
          for (std::size_t m = 0; m < group_->size(); ++m) {
            const auto elements = sizes.receive[m][source];
            const auto block = from_leaders_.take(elements * element_bytes);
            if (m == member) scattered_.append(block);
          }
      }
      if (member == 0)
        own_.append(scattered_.since(begin));
      else
        messages_.send(scattered_.since(begin), (*group_)[member]);
    }
  } else {
    for (const Group& group : groups_)
      if (is_away(group))
        for (const int source : group) own_.take(blocks.from(source).size());
    messages_.receive(own_.since(0), group_->front());
  }
  messages_.wait();
  own_.restart(0);
  for (const Group& group : groups_) {
    if (!is_away(group)) continue;
    for (const int source : group) {
      const auto block = blocks.from(source);
      const auto arrived = own_.take(block.size());
      if (!block.empty()) std::memcpy(block.data(), arrived.data(), block.size());
    }
  }
}

}  // namespace shardmark::comm
