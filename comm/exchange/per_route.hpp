// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "comm/route.hpp"

namespace shardmark::comm {

/// Keeps what an exchange has set up for each of the last 16 routes that it carried, which is more than a step has.
template <class Setup>
class PerRoute {
 public:
  /// Returns the route's set-up; `set_up` fills that of a new route, in the storage of the oldest. All ranks do so in
  /// the same run.
  template <class SetUp>
  Setup& of(const Route& route, SetUp&& set_up) {
    for (auto& [id, setup] : kept_)
      if (id == route.id()) return setup;
    auto& [id, setup] = kept_[next_++ % kept_.size()];
    id = 0;
    std::forward<SetUp>(set_up)(setup);
    id = route.id();
    return setup;
  }

 private:
  std::array<std::pair<std::uint64_t, Setup>, 16> kept_{};
  std::size_t next_ = 0;
};

}  // namespace shardmark::comm
