// SPDX-License-Identifier: Apache-2.0
#pragma once

// In preset `emulated` kernels and steps run on a device that is not there.
#include "kernels/test/emulated/emulated_launch.hpp"
#include "kernels/test/emulated/emulated_warps.hpp"

namespace shardmark::kernels::emulated {

/// Calls kernel(i) for the lanes of `count` warps: lane i % warp_size of warp i / warp_size.
template <class Kernel>
void for_lanes(std::int64_t count, const Kernel& kernel) {
  Device::get().launch([count, kernel] {
    Device::get().for_each(
        0, count, [&](std::int64_t warp) { Warp::get().run([&](int lane) { kernel(warp * warp_size + lane); }); });
  });
}

}  // namespace shardmark::kernels::emulated
