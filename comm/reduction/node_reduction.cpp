// SPDX-License-Identifier: Apache-2.0
#include "comm/reduction/node_reduction.hpp"

#include <algorithm>

#include "comm/waiting.hpp"

namespace shardmark::comm {

std::string NodeReduction::unusable(const Communicator& comm) {
  return comm.nodes() > 1 ? "its ranks are on several nodes" : NodeMemory::unusable(comm);
}

void NodeReduction::add(std::span<const float> partials, std::span<float> sums) {
  for (auto& end : channels_.out()) end.bytes = std::as_bytes(part(partials, end.number));
  std::vector<NodeChannels::In*> by_rank(static_cast<std::size_t>(comm_.size()));  // null: this rank
  for (auto& end : channels_.in()) {
    end.bytes = std::as_writable_bytes(sums);  // as many come; they are added where they lie
    by_rank[end.number] = &end;
  }
  std::span<const float> own = part(partials, comm_.rank());
  constexpr std::size_t most = NodeChannels::slot_bytes / sizeof(float);
  std::size_t term = 0;  // the next of the first piece of `sums`
  const auto add_term = [&] {
    const std::size_t size = std::min(sums.size(), most);
    std::span<const float> piece = own.first(size);
    if (NodeChannels::In* from = by_rank[term]) {
      const auto bytes = channels_.next_piece(*from);
      if (bytes.empty()) return false;
      piece = {reinterpret_cast<const float*>(bytes.data()), size};
    }
    if (term == 0)
      std::ranges::copy(piece, sums.begin());
    else
      add_to(sums.first(size), piece);
    if (by_rank[term] != nullptr) channels_.drop(*by_rank[term]);
    if (++term < by_rank.size()) return true;
    term = 0;
    sums = sums.subspan(size);
    own = own.subspan(size);
    return true;
  };
  while (!sums.empty() || !channels_.all_passed()) {
    const bool filled = channels_.fill_slots(), added = !sums.empty() && add_term();
    if (!filled && !added) wait_a_moment();
  }
  count_shares();
}

void NodeReduction::gather(std::span<const float> own, std::span<float> all) {
  for (auto& end : channels_.out()) end.bytes = std::as_bytes(own);
  for (auto& end : channels_.in()) end.bytes = std::as_writable_bytes(part(all, end.number));
  channels_.fill_slots();
  std::ranges::copy(own, part(all, comm_.rank()).begin());
  while (!channels_.all_passed()) {
    const bool filled = channels_.fill_slots(), emptied = channels_.empty_slots();
    if (!filled && !emptied) wait_a_moment();
  }
  count_own();
}

}  // namespace shardmark::comm
