// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/node_aware.hpp"

#include <fmt/format.h>

#include <numeric>

namespace shardmark::comm {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

}  // namespace

std::string NodeAware::unusable(const Communicator& comm) {
  if (comm.nodes() == 1) return "all ranks are on one node";
  for (int node = 1; node < comm.nodes(); ++node)
    if (comm.ranks_of(node).size() != comm.ranks_of(0).size())
      return fmt::format("it needs as many ranks on every node: node 0 has {}, node {} has {}", comm.ranks_of(0).size(),
                         node, comm.ranks_of(node).size());
  return {};
}

NodeAware::NodeAware(const Communicator& comm)
    : comm_(comm), node_(comm.node_of(comm.rank())), number_(comm.node_rank()), messages_(comm) {}

void NodeAware::find_sizes(const Route& route, Sizes& sizes) {
  Sizes sent(comm_.node_size(), std::vector<std::int64_t>(comm_.nodes()));
  sizes = sent;
  for (int number = 0; number < comm_.node_size(); ++number) {
    for (int node = 0; node < comm_.nodes(); ++node) sent[number][node] = route.send_counts()[on(node, number)];
    if (number == number_) {
      sizes[number] = sent[number];
      continue;
    }
    messages_.receive(std::as_writable_bytes(std::span(sizes[number])), on(node_, number));
    messages_.send(std::as_bytes(std::span(sent[number])), on(node_, number));
  }
  messages_.wait();
}

void NodeAware::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  const Blocks blocks(comm_, route, send, receive, element_bytes);
  const Sizes& sizes = sizes_.of(route, [&](Sizes& fresh) { find_sizes(route, fresh); });
  messages_.count_anew();
  to_rails_.restart(route.send_total() * element_bytes);
  from_nodes_.restart(route.receive_total() * element_bytes);
  within_node(blocks, sizes, element_bytes);
  between_nodes(blocks, sizes, element_bytes);
}

void NodeAware::within_node(const Blocks& blocks, const Sizes& sizes, std::int64_t element_bytes) {
  std::size_t passing = 0;
  for (const auto& of_number : sizes) passing += sum(of_number) * element_bytes;
  from_node_.restart(passing);
  to_nodes_.restart(passing);
  for (int number = 0; number < comm_.node_size(); ++number) {
    if (number == number_) continue;
    const int peer = on(node_, number);
    const auto& incoming = sizes[number];
    const auto elements = sum(incoming) - incoming[node_];
    messages_.receive(blocks.from(peer), peer);
    messages_.receive(from_node_.take(elements * element_bytes), peer);
    messages_.send(blocks.to(peer), peer);
    const std::size_t begin = to_rails_.used();
    for (int node = 0; node < comm_.nodes(); ++node)
      if (node != node_) to_rails_.append(blocks.to(on(node, number)));
    messages_.send(to_rails_.since(begin), peer);
  }
  blocks.copy_own(comm_.rank());
  messages_.wait();
}

void NodeAware::between_nodes(const Blocks& blocks, const Sizes& sizes, std::int64_t element_bytes) {
  for (int node = 0; node < comm_.nodes(); ++node) {
    if (node == node_) continue;
    const std::size_t begin = from_nodes_.used();
    for (const int source : comm_.ranks_of(node)) from_nodes_.take(blocks.from(source).size());
    messages_.receive(from_nodes_.since(begin), on(node, number_));
  }
  for (int target = 0; target < comm_.nodes(); ++target) {
    if (target == node_) continue;
    const std::size_t begin = to_nodes_.used();
    from_node_.restart(0);
    for (int number = 0; number < comm_.node_size(); ++number) {
      if (number == number_) to_nodes_.append(blocks.to(on(target, number_)));
      if (number == number_) continue;
      for (int node = 0; node < comm_.nodes(); ++node) {
        if (node == node_) continue;
        const auto elements = sizes[number][node];
        const auto block = from_node_.take(elements * element_bytes);
        if (node == target) to_nodes_.append(block);
      }
    }
    messages_.send(to_nodes_.since(begin), on(target, number_));
  }
  messages_.wait();
  from_nodes_.restart(0);
  for (int node = 0; node < comm_.nodes(); ++node) {
    if (node == node_) continue;
    for (const int source : comm_.ranks_of(node)) {
      const auto block = blocks.from(source);
      const auto arrived = from_nodes_.take(block.size());
      if (!block.empty()) std::memcpy(block.data(), arrived.data(), block.size());
    }
  }
}

}  // namespace shardmark::comm
