// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Returns why these ranks cannot use an algorithm: the result of its static unusable(comm), if it has one, else empty.
/// Collective.
template <class Algorithm>
std::string unusable_by([[maybe_unused]] const Communicator& comm) {
  if constexpr (requires { Algorithm::unusable(comm); })
    return Algorithm::unusable(comm);
  else
    return {};
}

}  // namespace shardmark::comm
