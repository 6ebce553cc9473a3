// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/bruck.hpp"

#include <algorithm>

#include "comm/exchange/blocks.hpp"

namespace shardmark::comm {
namespace {

std::int64_t sum_of(const std::vector<std::size_t>& blocks, const std::vector<std::int64_t>& sizes) {
  std::int64_t sum = 0;
  for (const std::size_t block : blocks) sum += sizes[block];
  return sum;
}

}  // namespace

Bruck::Bruck(const Communicator& comm, int radix) : comm_(comm), messages_(comm), blocks_(comm.size()) {
  const std::int64_t ranks = comm.size();
  for (std::int64_t power = 1; power < ranks; power *= radix) {
    auto& steps = rounds_.emplace_back();
    for (std::int64_t digit = 1; digit < radix && digit * power < ranks; ++digit) {
      Step& step = steps.emplace_back(Step{static_cast<int>(digit * power), {}});
      for (std::int64_t distance = digit * power; distance < ranks; ++distance)
        if (distance / power % radix == digit) step.blocks.push_back(distance);
    }
  }
  received_.resize(rounds_.size());
}

double Bruck::keeps(const Communicator& comm, int radix) {
  int rounds = 0;
  for (std::int64_t power = 1; power < comm.size(); power *= radix) ++rounds;
  return (1.0 + rounds) * (1.0 - 1.0 / std::min(radix, comm.size()));
}

void Bruck::find_sizes(const Route& route, Setup& sizes) {
  sizes.resize(rounds_.size() + 1);
  sizes[0].resize(blocks_.size());
  for (std::size_t d = 0; d < blocks_.size(); ++d)
    sizes[0][d] = route.send_counts()[rank_after(comm_, static_cast<int>(d))];
  std::vector<Sizes> sent, received;
  for (std::size_t x = 0; x < rounds_.size(); ++x) {
    sent.clear();
    received.clear();
    for (const Step& step : rounds_[x]) {
      received.emplace_back(step.blocks.size());
      messages_.receive(std::as_writable_bytes(std::span(received.back())), rank_before(comm_, step.distance));
      Sizes& out = sent.emplace_back();
      for (const std::size_t block : step.blocks) out.push_back(sizes[x][block]);
      messages_.send(std::as_bytes(std::span(out)), rank_after(comm_, step.distance));
    }
    messages_.wait();
    sizes[x + 1] = sizes[x];
    for (std::size_t s = 0; s < rounds_[x].size(); ++s)
      for (std::size_t b = 0; b < received[s].size(); ++b) sizes[x + 1][rounds_[x][s].blocks[b]] = received[s][b];
  }
}

void Bruck::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  const Blocks blocks(comm_, route, send, receive, element_bytes);
  const Setup& sizes = setups_.of(route, [&](Setup& fresh) { find_sizes(route, fresh); });
  messages_.count_anew();
  const auto bytes = [&](std::int64_t elements) { return elements * element_bytes; };
  for (std::size_t d = 0; d < blocks_.size(); ++d) blocks_[d] = blocks.to(rank_after(comm_, static_cast<int>(d)));
  for (std::size_t x = 0; x < rounds_.size(); ++x) {
    std::int64_t leaving = 0, arriving = 0;
    for (const Step& step : rounds_[x]) {
      leaving += sum_of(step.blocks, sizes[x]);
      arriving += sum_of(step.blocks, sizes[x + 1]);
    }
    sent_.restart(bytes(leaving));
    received_[x].restart(bytes(arriving));
    for (const Step& step : rounds_[x])
      messages_.receive(received_[x].take(bytes(sum_of(step.blocks, sizes[x + 1]))), rank_before(comm_, step.distance));
    for (const Step& step : rounds_[x]) {
      const std::size_t begin = sent_.used();
      for (const std::size_t block : step.blocks) sent_.append(blocks_[block]);
      messages_.send(sent_.since(begin), rank_after(comm_, step.distance));
    }
    messages_.wait();
    received_[x].restart(0);
    for (const Step& step : rounds_[x])
      for (const std::size_t block : step.blocks) blocks_[block] = received_[x].take(bytes(sizes[x + 1][block]));
  }
  for (std::size_t d = 0; d < blocks_.size(); ++d)
    if (!blocks_[d].empty())
      std::memcpy(blocks.from(rank_before(comm_, static_cast<int>(d))).data(), blocks_[d].data(), blocks_[d].size());
}

}  // namespace shardmark::comm
