// SPDX-License-Identifier: Apache-2.0
#include "comm/node_memory.hpp"

#include <atomic>
#include <exception>

#include "comm/collectives.hpp"
#include "comm/mpi_error.hpp"
#include "comm/waiting.hpp"

namespace shardmark::comm {
namespace {

constexpr std::int64_t line_pair = 128;  // bytes: processors fetch cache lines in pairs

constexpr std::int64_t whole_pairs(std::int64_t bytes) { return (bytes + line_pair - 1) / line_pair * line_pair; }

}  // namespace

std::uint64_t seen(std::uint64_t& count) { return std::atomic_ref(count).load(std::memory_order_acquire); }
void show(std::uint64_t& count, std::uint64_t value) { std::atomic_ref(count).store(value, std::memory_order_release); }

/// Stands before the part of a rank.
struct NodeMemory::Header {
  alignas(line_pair) std::uint64_t met;  ///< meetings that the rank has come to
};

NodeMemory::Header& NodeMemory::header(int number) const {
  return *reinterpret_cast<Header*>(part(number) - sizeof(Header));
}

NodeMemory::~NodeMemory() {
  if (window_ != MPI_WIN_NULL && std::uncaught_exceptions() == 0) MPI_Win_free(&window_);
}

std::string NodeMemory::unusable(const Communicator& comm) {
  const Communicator node = ranks_of_node(comm);
  MPI_Win window = MPI_WIN_NULL;
  void* memory = nullptr;
  const int made = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, node.get(), &memory, &window) == MPI_SUCCESS ? 1 : 0;
  const bool all_made = all_reduce(comm, made, Reduce::min) == 1;
  if (window != MPI_WIN_NULL) check_mpi(MPI_Win_free(&window), "MPI_Win_free");
  return all_made ? "" : "this MPI shares no memory between the ranks of a node (MPI_Win_allocate_shared)";
}

bool NodeMemory::resize(std::int64_t bytes) {
  if (all_reduce(node_, bytes > room_ ? 1 : 0, Reduce::max) == 0) return false;
  if (window_ != MPI_WIN_NULL) check_mpi(MPI_Win_free(&window_), "MPI_Win_free");
  room_ = whole_pairs(bytes + bytes / 8);
  const auto size = static_cast<MPI_Aint>(room_ + std::int64_t{sizeof(Header)} + line_pair);  // a pair to align it
  void* own = nullptr;
  check_mpi(MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, node_.get(), static_cast<void*>(&own), &window_),
            "MPI_Win_allocate_shared", -1, size);
  parts_.clear();
  for (int number = 0; number < node_.size(); ++number) {
    MPI_Aint of_rank = 0;
    int unit = 0;
    std::byte* begin = nullptr;
    check_mpi(MPI_Win_shared_query(window_, number, &of_rank, &unit, static_cast<void*>(&begin)),
              "MPI_Win_shared_query", number);
    const std::int64_t skip = -reinterpret_cast<std::intptr_t>(begin) & (line_pair - 1);
    parts_.push_back(begin + skip + sizeof(Header));
  }
  barriers_ = 0;
  show(header(node_.rank()).met, 0);
  barrier(node_);
  return true;
}

void NodeMemory::node_barrier() {
  show(header(node_.rank()).met, ++barriers_);
  for (int number = 0; number < node_.size(); ++number)
    while (seen(header(number).met) < barriers_) wait_a_moment();
}

}  // namespace shardmark::comm
