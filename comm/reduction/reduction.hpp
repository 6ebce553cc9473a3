// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/device_memory.hpp"
#include "comm/messages.hpp"

namespace shardmark::comm {

/// A Reduction defines how partial sums are added on their way to the ranks that need them (reduce-scatter), and how
/// all ranks gather what these ranks return (all-gather): the second takes the steps of the first backwards. An object
/// keeps its buffers, so that a step with the counts of the one before allocates nothing. The communicator must outlive
/// it.
class Reduction {
 public:
  explicit Reduction(const Communicator& comm) : comm_(comm), messages_(comm) {}
  virtual ~Reduction() = default;

  /// Sets the layout: from now on counts[r] values belong to rank r, the same on all ranks. Throws
  /// std::invalid_argument for another number of ranks.
  void lay_out(std::span<const std::int64_t> counts);

  /// Adds the `partials` of all ranks (the sum of counts: those for rank 0, then those for rank 1, ...), as
  /// comm/reduce_scatter.hpp does; `sums` receives the counts[rank] of this rank. The two do not overlap. GPU memory
  /// goes by way of pinned host memory, unless the algorithm reads it. Throws std::invalid_argument when a buffer is
  /// smaller than the counts, and MpiError. Collective.
  void reduce_scatter(std::span<const float> partials, std::span<float> sums);

  /// Gathers on all ranks, under the same conditions: `own` holds counts[rank] values, `all` receives those of every
  /// rank. Collective.
  void all_gather(std::span<const float> own, std::span<float> all);

  /// Orders both operations by a stream, where this reduction can, as Exchange::follow does; they are then only
  /// started, and finish() ends them.
  virtual void follow(GpuStream) {}
  virtual bool follows() const { return false; }
  virtual void finish() {}

  /// Returns the bytes that the last of the two operations sent from this rank to each rank.
  const std::vector<std::int64_t>& sent() const { return sent_; }

 protected:
  /// Returns the part of the ranks [first, last) of `values`, which begins with the first value of rank 0.
  template <class T>
  std::span<T> part(std::span<T> values, int first, int last) const {
    const std::size_t begin = offsets_[first];
    return values.subspan(begin, offsets_[last] - begin);
  }
  template <class T>
  std::span<T> part(std::span<T> values, int rank) const {
    return part(values, rank, rank + 1);
  }
  std::size_t own_size() const { return counts_[comm_.rank()]; }
  std::size_t total() const { return offsets_.back(); }

  /// Starts a message of `values` to `peer`; it is under way until wait(). receive() starts one from a peer.
  void send(std::span<const float> values, int peer);
  void receive(std::span<float> values, int peer) { messages_.receive(std::as_writable_bytes(values), peer); }
  void wait() { messages_.wait(); }
  /// Counts for reduce_scatter, in an algorithm that does not send by send(), what must be sent at least: every other
  /// rank's share. count_own() counts for all_gather this rank's own share to every other rank.
  void count_shares();
  void count_own();

  const Communicator& comm_;
  std::vector<std::int64_t> counts_, offsets_;

 private:
  virtual void make_room() {}
  virtual void add(std::span<const float> partials, std::span<float> sums) = 0;
  virtual void gather(std::span<const float> own, std::span<float> all) = 0;
  virtual bool reads_gpus() const { return false; }

  using Path = void (Reduction::*)(std::span<const float>, std::span<float>);
  void count(int peer, std::int64_t values);
  void go(Path path, std::span<const float> from, std::size_t from_size, std::span<float> to, std::size_t to_size);

  Messages messages_;
  std::vector<std::int64_t> sent_;
  KeptMemory sent_copy_{KeptMemory::Place::pinned_host}, received_copy_{KeptMemory::Place::pinned_host};
};

/// Adds more[i] to sums[i]; the two do not overlap.
inline void add_to(std::span<float> sums, std::span<const float> more) {
  float* __restrict__ to = sums.data();
  const float* __restrict__ from = more.data();
  for (std::size_t i = 0; i < sums.size(); ++i) to[i] += from[i];
}

}  // namespace shardmark::comm
