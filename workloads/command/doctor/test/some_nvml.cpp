// SPDX-License-Identifier: Apache-2.0
// Stands for NVIDIA's management library, with one GPU, which gets hot.
#include <cstdlib>
#include <cstring>

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** gpu) {
  static int one = 0;
  *gpu = &one;
  return std::strcmp(address, "0000:3b:00") == 0 ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}

int nvmlDeviceGetClockInfo(void*, int domain, unsigned* mhz) {
  *mhz = domain == 1 ? 1200 : 0;
  return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  const char* held = std::getenv("SHARDMARK_TEST_HELD");
  *reasons = held == nullptr ? 1 : std::strtoull(held, nullptr, 0);  // 1: it is idle
  return 0;
}
}
