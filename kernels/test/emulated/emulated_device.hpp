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

/// Is what was launched on the device between two calls, to be launched again as one.
class RecordedLaunches {
 public:
  template <class Launches>
  explicit RecordedLaunches(const Launches& launches) {
    Device::get().begin_recording();
    launches();
    recording_ = Device::get().end_recording();
  }
  void launch() const { Device::get().launch(*recording_); }

 private:
  std::shared_ptr<const Device::Recording> recording_;
};

}  // namespace shardmark::kernels::emulated
