// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/test/emulated/emulated_space.hpp"
#include "kernels/test/emulated/emulated_teams.hpp"

namespace shardmark::kernels::emulated {

/// Calls the functor with or without its tag.
template <class Tag, class Functor, class... Arguments>
void call(const Functor& functor, Arguments&&... arguments) {
  if constexpr (std::is_void_v<Tag>)
    functor(std::forward<Arguments>(arguments)...);
  else
    functor(Tag{}, std::forward<Arguments>(arguments)...);
}

}  // namespace shardmark::kernels::emulated

namespace Kokkos::Impl {

template <class Functor, class... Traits>
class ParallelFor<Functor, RangePolicy<Traits...>, emulated::Exec> {
  using Policy = RangePolicy<Traits...>;

 public:
  ParallelFor(const Functor& functor, const Policy& policy)
      : functor_(functor), begin_(policy.begin()), end_(policy.end()) {}
  void execute() const {
    if (begin_ == end_) return;  // as CUDA, which launches nothing
    emulated::Device::get().launch([self = *this] {
      emulated::Device::get().for_each(self.begin_, self.end_, [&](std::int64_t i) {
        emulated::call<typename Policy::work_tag>(self.functor_, static_cast<typename Policy::member_type>(i));
      });
    });
  }

 private:
  Functor functor_;
  std::int64_t begin_, end_;
};

template <class CombinedFunctor, class... Traits>
class ParallelReduce<CombinedFunctor, RangePolicy<Traits...>, emulated::Exec> {
  using Policy = RangePolicy<Traits...>;
  using Reducer = typename CombinedFunctor::reducer_type;
  using Pointer = typename Reducer::pointer_type;

 public:
  template <class Result>
  ParallelReduce(const CombinedFunctor& functor, const Policy& policy, const Result& result)
      : functor_(functor), begin_(policy.begin()), end_(policy.end()), result_(result.data()) {}
  void execute() const {
    const bool for_host = result_ != nullptr && !emulated::Device::get().holds(result_);
    if (!for_host) return emulated::Device::get().launch([self = *this] { self.run(self.result_); });
    Bytes kept(functor_.get_reducer().value_size());  // as a kernel cannot write to the host
    emulated::Device::get().launch([self = *this, to = kept.data()] { self.run(to); });
    emulated::Device::get().wait();
    std::memcpy(static_cast<void*>(result_), kept.data(), kept.size());
  }

 private:
  using Bytes = std::vector<char, emulated::Malloc<char>>;

  void run(void* result) const {
    const Reducer& reducer = functor_.get_reducer();
    const std::size_t size = reducer.value_size();
    Bytes sum(size + 64), part(size + 64);
    const auto total = reinterpret_cast<Pointer>(sum.data()), of_block = reinterpret_cast<Pointer>(part.data());
    reducer.init(total);
    constexpr std::int64_t block = 5;
    emulated::Device::get().for_each(0, (end_ - begin_ + block - 1) / block, [&](std::int64_t b) {
      typename Reducer::reference_type value = reducer.init(of_block);
      const std::int64_t first = begin_ + b * block;
      emulated::Device::get().for_each(first, std::min(first + block, end_), [&](std::int64_t i) {
        emulated::call<typename Policy::work_tag>(functor_.get_functor(), static_cast<typename Policy::member_type>(i),
                                                  value);
      });
      reducer.join(total, of_block);
    });
    reducer.final(total);
    if (result != nullptr) std::memcpy(result, total, size);
  }

  CombinedFunctor functor_;
  std::int64_t begin_, end_;
  Pointer result_;
};

/// Scans as a GPU does: the sums of blocks first, with final = false, then the elements, with final = true, where all
/// threads of a block read before any writes.
template <class Functor, class Policy, class Total>
class EmulatedScan {
  using Analysis = FunctorAnalysis<FunctorPatternInterface::SCAN, Policy, Functor, Total>;
  using Reducer = typename Analysis::Reducer;
  using Value = typename Analysis::value_type;
  using Values = std::vector<Value, emulated::Malloc<Value>>;

 public:
  EmulatedScan(const Functor& functor, const Policy& policy, Value* total)
      : functor_(functor), begin_(policy.begin()), end_(policy.end()), total_(total) {}
  void execute() const {
    const bool for_host = total_ != nullptr && !emulated::Device::get().holds(total_);
    if (!for_host) return emulated::Device::get().launch([self = *this] { self.run(self.total_); });
    Values kept(1);  // as a kernel cannot write to the host
    emulated::Device::get().launch([self = *this, to = kept.data()] { self.run(to); });
    emulated::Device::get().wait();
    *total_ = kept.front();
  }

 private:
  void add(std::int64_t i, Value& value, bool final) const {
    emulated::call<typename Policy::work_tag>(functor_, static_cast<typename Policy::member_type>(i), value, final);
  }
  void run(Value* total) const {
    const Reducer reducer{functor_};
    constexpr std::int64_t block = 3;
    const std::int64_t blocks = (end_ - begin_ + block - 1) / block;
    const auto first = [&](std::int64_t b) { return begin_ + b * block; };
    const auto last = [&](std::int64_t b) { return std::min(first(b) + block, end_); };
    Values sums(static_cast<std::size_t>(blocks));
    emulated::Device::get().for_each(0, blocks, [&](std::int64_t b) {
      reducer.init(&sums[b]);
      for (std::int64_t i = first(b); i < last(b); ++i) add(i, sums[b], false);
    });
    Value before;
    reducer.init(&before);
    for (Value& sum : sums) {
      Value own = sum;
      sum = before;
      reducer.join(&before, &own);
    }
    emulated::Device::get().for_each(0, blocks, [&](std::int64_t b) {
      Value starts[block], value = sums[b];
      for (std::int64_t i = first(b); i < last(b); ++i) {
        starts[i - first(b)] = value;
        Value one;
        reducer.init(&one);
        add(i, one, false);
        reducer.join(&value, &one);
      }
      for (std::int64_t i = last(b); i-- > first(b);) add(i, starts[i - first(b)], true);
    });
    if (total != nullptr) *total = before;
  }

  Functor functor_;
  std::int64_t begin_, end_;
  Value* total_;
};
template <class Functor, class... Traits>
class ParallelScan<Functor, RangePolicy<Traits...>, emulated::Exec>
    : public EmulatedScan<Functor, RangePolicy<Traits...>, void> {
 public:
  ParallelScan(const Functor& functor, const RangePolicy<Traits...>& policy)
      : EmulatedScan<Functor, RangePolicy<Traits...>, void>(functor, policy, nullptr) {}
};
template <class Functor, class Total, class... Traits>
class ParallelScanWithTotal<Functor, RangePolicy<Traits...>, Total, emulated::Exec>
    : public EmulatedScan<Functor, RangePolicy<Traits...>, Total> {
 public:
  template <class Result>
  ParallelScanWithTotal(const Functor& functor, const RangePolicy<Traits...>& policy, const Result& total)
      : EmulatedScan<Functor, RangePolicy<Traits...>, Total>(functor, policy, total.data()) {}
};

template <class... Properties>
class TeamPolicyInternal<emulated::Exec, Properties...> : public PolicyTraits<Properties...> {
 public:
  using execution_policy = TeamPolicyInternal;
  using traits = PolicyTraits<Properties...>;
  using execution_space = emulated::Exec;
  using member_type = emulated::Member;

  TeamPolicyInternal() = default;
  template <class... Others>
  TeamPolicyInternal(const TeamPolicyInternal<emulated::Exec, Others...>& other)
      : league_(other.league_size()),
        team_(other.team_size()),
        lanes_(other.impl_vector_length()),
        scratch_{other.scratch_size(0), other.scratch_size(1)} {}
  TeamPolicyInternal(const emulated::Exec&, int league, int team, int lanes = 1)
      : league_(league), team_(team), lanes_(lanes) {}
  TeamPolicyInternal(const emulated::Exec&, int league, const AUTO_t&, int lanes = 1)
      : league_(league), team_(256 / lanes), lanes_(lanes) {}
  TeamPolicyInternal(int league, int team, int lanes = 1) : league_(league), team_(team), lanes_(lanes) {}

  const emulated::Exec& space() const { return exec_; }
  int league_size() const { return league_; }
  int team_size() const { return team_; }
  int impl_vector_length() const { return lanes_; }
  bool impl_auto_team_size() const { return false; }
  bool impl_auto_vector_length() const { return false; }
  void impl_set_team_size(std::size_t) {}
  void impl_set_vector_length(std::size_t) {}
  int chunk_size() const { return 1; }
  std::size_t scratch_size(int level, int = 0) const { return scratch_[level]; }
  static int scratch_size_max(int level) { return level == 0 ? 48 << 10 : 20 << 20; }
  TeamPolicyInternal& set_chunk_size(int) { return *this; }
  TeamPolicyInternal& set_scratch_size(int level, const PerTeamValue& bytes) {
    scratch_[level] = bytes.value;
    return *this;
  }

 private:
  int league_ = 0, team_ = 1, lanes_ = 1;
  std::size_t scratch_[2] = {0, 0};
  emulated::Exec exec_;
};
template <class Functor, class... Properties>
class ParallelFor<Functor, TeamPolicy<Properties...>, emulated::Exec> {
  using Policy = TeamPolicyInternal<emulated::Exec, Properties...>;

 public:
  ParallelFor(const Functor& functor, const Policy& policy) : functor_(functor), policy_(policy) {}
  void execute() const {
    emulated::Device::get().launch([self = *this] { self.run(); });
  }

 private:
  void run() const {
    std::vector<char, emulated::Malloc<char>> level_0(policy_.scratch_size(0) + 64),
        level_1(policy_.scratch_size(1) + 64);
    emulated::Device::get().for_each(0, policy_.league_size(), [&](std::int64_t team) {
      std::fill(level_0.begin(), level_0.end(), static_cast<char>(0xff));
      std::fill(level_1.begin(), level_1.end(), static_cast<char>(0xff));
      emulated::TeamThreads::get().run(policy_.team_size(), [&](int rank) {
        const emulated::Member member(
            {static_cast<int>(team), policy_.league_size(), rank, policy_.team_size(), policy_.impl_vector_length()},
            level_0.data(), level_0.size(), level_1.data(), level_1.size());
        emulated::call<typename Policy::work_tag>(functor_, member);
      });
    });
  }

  Functor functor_;
  Policy policy_;
};

}  // namespace Kokkos::Impl
