// SPDX-License-Identifier: Apache-2.0
#include "comm/collectives.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "comm/datatype.hpp"
#include "comm/messages.hpp"
#include "comm/mpi_error.hpp"
#include "comm/waiting.hpp"

namespace shardmark::comm {
namespace {

template <Reducible T>
MPI_Datatype type_of() {
  if constexpr (std::same_as<T, int>) return MPI_INT;
  if constexpr (std::same_as<T, std::int64_t>) return MPI_INT64_T;
  if constexpr (std::same_as<T, float>) return MPI_FLOAT;
  if constexpr (std::same_as<T, double>) return MPI_DOUBLE;
}

MPI_Op op_of(Reduce operation) {
  switch (operation) {
    case Reduce::sum:
      return MPI_SUM;
    case Reduce::max:
      return MPI_MAX;
    case Reduce::min:
      return MPI_MIN;
    case Reduce::bit_or:
      return MPI_BOR;
  }
  return MPI_OP_NULL;
}

template <class T>
std::span<T> next_piece(const Communicator& comm, std::span<T>& rest, std::size_t most = SIZE_MAX) {
  const auto piece = rest.first(std::min({rest.size(), static_cast<std::size_t>(comm.count_limit()), most}));
  rest = rest.subspan(piece.size());
  return piece;
}

std::span<std::byte> block_of(std::span<std::byte> all, std::span<const std::int64_t> offsets, int rank) {
  return all.subspan(offsets[rank], offsets[rank + 1] - offsets[rank]);
}

constexpr std::int64_t most_bytes_by_messages = 4096;
/// Libraries copy what they reduce. Of so many bytes they find room that they have used before; of several times as
/// many each copy lies in new pages, which the system clears first: a step that sums 132 MB on two ranks took 2.8 times
/// as long.
constexpr std::size_t most_bytes_reduced = std::size_t{8} << 20;

template <class T>
T reduced(T a, T b, Reduce operation) {
  if (operation == Reduce::sum) return a + b;
  if constexpr (std::integral<T>)
    if (operation == Reduce::bit_or) return a | b;
  return operation == Reduce::max ? std::max(a, b) : std::min(a, b);
}

/// Each rank sends its values to all others and adds up all, in the order of ranks.
template <class T>
void all_reduce_by_messages(const Communicator& comm, std::span<T> values, Reduce operation) {
  std::vector<T> all(values.size() * comm.size());
  const auto of_rank = [&](int rank) { return std::span(all).subspan(rank * values.size(), values.size()); };
  std::ranges::copy(values, of_rank(comm.rank()).begin());
  Messages messages(comm);
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (rank == comm.rank()) continue;
    messages.receive(std::as_writable_bytes(of_rank(rank)), rank);
    messages.send(std::as_bytes(std::span<const T>(values)), rank);
  }
  messages.wait();
  std::ranges::copy(of_rank(0), values.begin());
  for (int rank = 1; rank < comm.size(); ++rank)
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = reduced(values[i], of_rank(rank)[i], operation);
}

}  // namespace

void barrier(const Communicator& comm) { check_mpi(MPI_Barrier(comm.get()), "MPI_Barrier"); }

template <Reducible T>
void all_reduce(const Communicator& comm, std::span<T> values, Reduce operation) {
  while (!values.empty()) {
    const auto piece = next_piece(comm, values, most_bytes_reduced / sizeof(T));
    const int count = static_cast<int>(piece.size());
    const std::int64_t bytes = piece.size_bytes();
    if (waiting() == Waiting::messages && bytes <= most_bytes_by_messages) {
      all_reduce_by_messages(comm, piece, operation);
      continue;
    }
    if (waiting() != Waiting::sleep) {
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, piece.data(), count, type_of<T>(), op_of(operation), comm.get()),
                "MPI_Allreduce", -1, bytes);
      continue;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(MPI_IN_PLACE, piece.data(), count, type_of<T>(), op_of(operation), comm.get(), &request),
              "MPI_Iallreduce", -1, bytes);
    check_mpi(wait_all({&request, 1}, MPI_STATUSES_IGNORE), "MPI_Iallreduce", -1, bytes);
  }
}

template void all_reduce(const Communicator&, std::span<int>, Reduce);
template void all_reduce(const Communicator&, std::span<std::int64_t>, Reduce);
template void all_reduce(const Communicator&, std::span<float>, Reduce);
template void all_reduce(const Communicator&, std::span<double>, Reduce);

void broadcast(const Communicator& comm, std::span<std::byte> bytes, int root) {
  while (!bytes.empty()) {
    const auto piece = next_piece(comm, bytes);
    const int count = static_cast<int>(piece.size());
    check_mpi(MPI_Bcast(piece.data(), count, MPI_BYTE, root, comm.get()), "MPI_Bcast", root, count);
  }
}

void broadcast(const Communicator& comm, std::string& text, int root) {
  std::int64_t length = text.size();
  broadcast(comm, std::as_writable_bytes(std::span(&length, 1)), root);
  text.resize(length);
  broadcast(comm, std::as_writable_bytes(std::span(text)), root);
}

void all_gather_v(const Communicator& comm, const std::byte* send, std::span<const std::int64_t> counts,
                  std::byte* receive, std::int64_t element_bytes) {
  auto offsets = exclusive_scan(counts);
  if (offsets.back() <= comm.count_limit()) {
    const std::vector<int> int_counts(counts.begin(), counts.end());
    const std::vector<int> int_offsets(offsets.begin(), offsets.end());
    const Datatype element = Datatype::element(element_bytes);
    check_mpi(MPI_Allgatherv(send, int_counts[comm.rank()], element.get(), receive, int_counts.data(),
                             int_offsets.data(), element.get(), comm.get()),
              "MPI_Allgatherv", -1, offsets.back() * element_bytes);
    return;
  }
  for (auto& offset : offsets) offset *= element_bytes;
  const std::span all(receive, offsets.back());
  const auto own = block_of(all, offsets, comm.rank());
  if (!own.empty()) std::memcpy(own.data(), send, own.size());
  for (int root = 0; root < comm.size(); ++root) broadcast(comm, block_of(all, offsets, root), root);
}

std::vector<std::string> all_gather(const Communicator& comm, const std::string& text) {
  const auto gathered = all_gather(comm, std::span<const char>(text));
  std::vector<std::string> texts;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto one = gathered.of(rank);
    texts.emplace_back(one.begin(), one.end());
  }
  return texts;
}

void gather_v(const Communicator& comm, std::span<const std::byte> send, std::span<const std::int64_t> counts,
              std::span<std::byte> receive, int root) {
  Messages messages(comm);
  if (comm.rank() != root) {
    messages.send(send, root);
  } else {
    const auto offsets = exclusive_scan(counts);
    for (int rank = 0; rank < comm.size(); ++rank) {
      if (rank != root) messages.receive(block_of(receive, offsets, rank), rank);
    }
    if (!send.empty()) std::memcpy(block_of(receive, offsets, root).data(), send.data(), send.size());
  }
  messages.wait();
}

Waiting common_waiting(const Communicator& comm, Waiting wanted) {
  return static_cast<Waiting>(all_reduce(comm, static_cast<int>(wanted), Reduce::max));
}

}  // namespace shardmark::comm
