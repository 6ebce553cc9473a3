// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/test/emulated/emulated_space.hpp"

namespace shardmark::kernels::emulated {

/// Runs the threads of one team on stacks of their own, which take turns at barriers.
class TeamThreads {
 public:
  static TeamThreads& get() {
    static TeamThreads threads;
    return threads;
  }

  template <class Body>
  void run(int size, const Body& body) {
    size_ = alive_ = size;
    waiting_ = 0;
    std::fill_n(state_, size, State::ready);
    fibers_.run(size - 1, [&](int rank) {
      body(rank);
      state_[rank] = State::ended;
      if (waiting_ > 0) fail("a thread of a team has ended while others wait for it");
      return --alive_ == 0 ? Fibers::none : next();
    });
  }

  void barrier() {
    if (alive_ < size_) fail("a thread of a team waits for others that have ended");
    const int own = fibers_.current();
    if (++waiting_ == size_) {
      std::fill_n(state_, size_, State::ready);
      waiting_ = 0;
      return;
    }
    state_[own] = State::waiting;
    fibers_.go_on_with(next());
  }

 private:
  enum class State : char { ready, waiting, ended };

  /// Returns a thread that may go on: the one before this one, or before that, ..
  int next() const {
    for (int k = 1; k < size_; ++k)
      if (const int rank = (fibers_.current() - k + size_) % size_; state_[rank] == State::ready) return rank;
    fail("threads of a team wait for others that wait elsewhere");
  }

  Fibers fibers_;
  State state_[Fibers::most];
  int size_ = 0, alive_ = 0, waiting_ = 0;
};

/// Is a thread of a team, with all the lanes of its vector, which run one after the other in each range.
class Member {
 public:
  using execution_space = Exec;
  using scratch_memory_space = Kokkos::ScratchMemorySpace<Exec>;
  using team_handle = Member;

  struct Place {
    int league_rank, league_size, rank, size, lanes;
  };
  Member(const Place& place, char* level_0, std::size_t bytes_0, char* level_1, std::size_t bytes_1)
      : place_(place), scratch_(level_0, bytes_0, level_1, bytes_1) {}

  int league_rank() const { return place_.league_rank; }
  int league_size() const { return place_.league_size; }
  int team_rank() const { return place_.rank; }
  int team_size() const { return place_.size; }
  int lanes() const { return place_.lanes; }
  void team_barrier() const {
    if (place_.size > 1) TeamThreads::get().barrier();
  }
  const scratch_memory_space& team_scratch(int level) const { return scratch_.set_team_thread_mode(level, 1, 0); }
  const scratch_memory_space& team_shmem() const { return team_scratch(0); }

 private:
  Place place_;
  scratch_memory_space scratch_;
};

/// Is a range that `threads` threads share, of which `member` is number `thread`; backwards.
template <class Index>
struct SharedRange {
  const Member& member;
  Index count;
  int thread, threads;

  template <class Body>
  void for_each(const Body& body) const {
    for (Index i = count; i-- > 0;)
      if (static_cast<int>(i % static_cast<Index>(threads)) == thread) body(i);
  }
};

}  // namespace shardmark::kernels::emulated

namespace Kokkos {

inline Impl::VectorSingleStruct<shardmark::kernels::emulated::Member> PerThread(
    const shardmark::kernels::emulated::Member& member) {
  return Impl::VectorSingleStruct<shardmark::kernels::emulated::Member>(member);
}
template <class Index>
shardmark::kernels::emulated::SharedRange<Index> ThreadVectorRange(const shardmark::kernels::emulated::Member& member,
                                                                   Index count) {
  return {member, count, 0, 1};
}
template <class Index>
shardmark::kernels::emulated::SharedRange<Index> TeamThreadRange(const shardmark::kernels::emulated::Member& member,
                                                                 Index count) {
  return {member, count, member.team_rank(), member.team_size()};
}
template <class Index>
shardmark::kernels::emulated::SharedRange<Index> TeamVectorRange(const shardmark::kernels::emulated::Member& member,
                                                                 Index count) {
  return TeamThreadRange(member, count);
}
template <class Index, class Body>
void parallel_for(const shardmark::kernels::emulated::SharedRange<Index>& range, const Body& body) {
  range.for_each(body);
}
template <class Function>
void single(const Impl::VectorSingleStruct<shardmark::kernels::emulated::Member>&, const Function& function) {
  function();
}

}  // namespace Kokkos
