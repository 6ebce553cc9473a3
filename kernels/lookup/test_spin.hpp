// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>

#ifndef SHARDMARK_TEST_SPIN
#define SHARDMARK_TEST_SPIN 0
#endif

namespace shardmark::kernels {

/// Makes a known slowdown, with which the regression gate is tested: what runs on `exec` during its life takes percent
/// more time. It does nothing unless CMake's SHARDMARK_TEST_SPIN says how many percent.
template <class Exec, int percent = SHARDMARK_TEST_SPIN>
class TestSpin {
 public:
  explicit TestSpin(const Exec& exec) : exec_(exec) { exec_.fence("shardmark::test_spin"); }
  TestSpin(const TestSpin&) = delete;
  TestSpin& operator=(const TestSpin&) = delete;
  ~TestSpin() {
    exec_.fence("shardmark::test_spin");
    const double end = timer_.seconds() * (1.0 + percent / 100.0);
    while (timer_.seconds() < end) continue;
  }

 private:
  Exec exec_;
  Kokkos::Timer timer_;
};

template <class Exec>
class TestSpin<Exec, 0> {
 public:
  explicit TestSpin(const Exec&) {}
};

}  // namespace shardmark::kernels
