// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/rma_put.hpp"

#include <algorithm>
#include <exception>

#include "comm/collectives.hpp"
#include "comm/exchange/blocks.hpp"
#include "comm/mpi_error.hpp"

namespace shardmark::comm {

std::string RmaPut::unusable(const Communicator& comm) {
  MPI_Win window = MPI_WIN_NULL;
  void* memory = nullptr;
  const int made = MPI_Win_allocate(8, 1, MPI_INFO_NULL, comm.get(), &memory, &window) == MPI_SUCCESS ? 1 : 0;
  if (all_reduce(comm, made, Reduce::min) == 0)
    return "this MPI makes no windows between these ranks (MPI_Win_allocate)";
  check_mpi(MPI_Win_free(&window), "MPI_Win_free");
  return {};
}

RmaPut::~RmaPut() {
  if (window_ != MPI_WIN_NULL && std::uncaught_exceptions() == 0) MPI_Win_free(&window_);
}

void RmaPut::ask_targets(const Route& route, Setup& setup) {
  told_.clear();
  for (int peer = 0; peer < comm_.size(); ++peer)
    told_.push_back({route.receive_offsets()[peer], route.receive_total()});
  setup.targets.resize(comm_.size());
  check_mpi(MPI_Alltoall(told_.data(), 2, MPI_INT64_T, setup.targets.data(), 2, MPI_INT64_T, comm_.get()),
            "MPI_Alltoall");
  setup.largest_total = std::ranges::max(setup.targets, {}, &Target::total).total;
}

void RmaPut::make_room(std::int64_t bytes) {
  if (bytes <= room_) return;
  if (window_ != MPI_WIN_NULL) check_mpi(MPI_Win_free(&window_), "MPI_Win_free");
  room_ = bytes + bytes / 4;
  check_mpi(MPI_Win_allocate(room_, 1, MPI_INFO_NULL, comm_.get(), &memory_, &window_), "MPI_Win_allocate", -1, room_);
  check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
}

void RmaPut::put(std::span<const std::byte> bytes, int target, std::int64_t offset) const {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min<std::size_t>(bytes.size(), comm_.count_limit()));
    const int count = static_cast<int>(piece.size());
    check_mpi(MPI_Put(piece.data(), count, MPI_BYTE, target, offset, count, MPI_BYTE, window_), "MPI_Put", target,
              count);
    offset += count;
    bytes = bytes.subspan(piece.size());
  }
}

void RmaPut::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  const Blocks blocks(comm_, route, send, receive, element_bytes);
  if (route.bound() == 0) return;
  const Setup& setup = setups_.of(route, [&](Setup& fresh) { ask_targets(route, fresh); });
  if (setup.largest_total == 0) return;
  make_room(setup.largest_total * element_bytes);
  check_mpi(MPI_Win_fence(MPI_MODE_NOPRECEDE, window_), "MPI_Win_fence");  // the windows have been read
  for (int distance = 1; distance < comm_.size(); ++distance) {
    const int target = rank_after(comm_, distance);
    put(blocks.to(target), target, setup.targets[target].offset * element_bytes);
  }
  blocks.copy_own(comm_.rank());
  check_mpi(MPI_Win_fence(MPI_MODE_NOSUCCEED, window_), "MPI_Win_fence");
  for (int distance = 1; distance < comm_.size(); ++distance) {
    const int source = rank_after(comm_, distance);
    const auto block = blocks.from(source);
    if (!block.empty()) std::memcpy(block.data(), memory_ + (block.data() - receive), block.size());
  }
}

}  // namespace shardmark::comm
