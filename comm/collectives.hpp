// SPDX-License-Identifier: Apache-2.0
// These are the collective operations of the suite, with 64-bit counts. An operation that exceeds the count limit of
// the communicator goes in pieces. Every rank of the communicator must call them, with the same operation, root and
// counts.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/route.hpp"
#include "comm/waiting.hpp"

namespace shardmark::comm {

enum class Reduce { sum, max, min, bit_or };  ///< bit_or: of integers alone

template <class T>
concept Reducible =
    std::same_as<T, int> || std::same_as<T, std::int64_t> || std::same_as<T, float> || std::same_as<T, double>;

/// Holds the values that every rank of a group contributed, in the order of ranks: those of rank r are values
/// [offsets[r], offsets[r + 1]).
template <class T>
struct Gathered {
  std::vector<T> values;
  std::vector<std::int64_t> offsets;

  std::span<const T> of(int rank) const {
    return std::span(values).subspan(offsets[rank], offsets[rank + 1] - offsets[rank]);
  }
};

void barrier(const Communicator& comm);

/// Reduces each value over all ranks, in place; every rank passes the same number of values. Sums of floating-point
/// values may depend on the number of ranks.
template <Reducible T>
void all_reduce(const Communicator& comm, std::span<T> values, Reduce operation);

template <Reducible T>
T all_reduce(const Communicator& comm, T value, Reduce operation) {
  all_reduce(comm, std::span(&value, 1), operation);
  return value;
}

void broadcast(const Communicator& comm, std::span<std::byte> bytes, int root);
/// Copies the root's text to every rank. The length need only be right at the root.
void broadcast(const Communicator& comm, std::string& text, int root);

/// Concatenates counts[r] elements of element_bytes bytes from each rank r in `receive`; this rank contributes `send`.
void all_gather_v(const Communicator& comm, const std::byte* send, std::span<const std::int64_t> counts,
                  std::byte* receive, std::int64_t element_bytes);

/// Concatenates counts[r] values from each rank r in `receive` (at least their sum); send.size() == counts[rank].
template <class T>
requires std::is_trivially_copyable_v<T>
void all_gather_v(const Communicator& comm, std::span<const T> send, std::span<const std::int64_t> counts,
                  std::span<T> receive) {
  all_gather_v(comm, std::as_bytes(send).data(), counts, std::as_writable_bytes(receive).data(), sizeof(T));
}

/// Returns one value from each rank, by rank.
template <class T>
requires std::is_trivially_copyable_v<T> std::vector<T> all_gather(const Communicator& comm, T value) {
  std::vector<T> values(comm.size());
  const std::vector<std::int64_t> ones(values.size(), 1);
  all_gather_v(comm, std::span<const T>(&value, 1), ones, std::span(values));
  return values;
}

/// Gathers on every rank any number of values from each rank; the numbers may differ.
template <class T>
requires std::is_trivially_copyable_v<T> Gathered<T> all_gather(const Communicator& comm, std::span<const T> values) {
  const auto counts = all_gather(comm, std::ssize(values));
  Gathered<T> gathered{{}, exclusive_scan(counts)};
  gathered.values.resize(gathered.offsets.back());
  all_gather_v(comm, values, counts, std::span(gathered.values));
  return gathered;
}

std::vector<std::string> all_gather(const Communicator& comm, const std::string& text);

/// Concatenates counts[r] bytes from each rank r in `receive` at the root; `receive` is not touched elsewhere.
void gather_v(const Communicator& comm, std::span<const std::byte> send, std::span<const std::int64_t> counts,
              std::span<std::byte> receive, int root);

/// Gathers any number of values from each rank at the root, and returns nothing elsewhere; the numbers may differ.
template <class T>
requires std::is_trivially_copyable_v<T> Gathered<T> gather(const Communicator& comm, std::span<const T> values,
                                                            int root) {
  const auto bytes = all_gather(comm, std::ssize(std::as_bytes(values)));
  Gathered<T> gathered;
  if (comm.rank() == root) {
    gathered.offsets = exclusive_scan(bytes);
    for (auto& offset : gathered.offsets) offset /= static_cast<std::int64_t>(sizeof(T));
    gathered.values.resize(gathered.offsets.back());
  }
  gather_v(comm, std::as_bytes(values), bytes, std::as_writable_bytes(std::span(gathered.values)), root);
  return gathered;
}

/// Returns the last way in the order of Waiting that any rank wants, for threads of all ranks whose collective calls
/// meet: the ways make different calls, which MPI does not match with each other. Collective.
Waiting common_waiting(const Communicator& comm, Waiting wanted);

}  // namespace shardmark::comm
