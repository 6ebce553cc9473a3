// SPDX-License-Identifier: Apache-2.0
// The library comes with the driver, not with the toolkit, so it is opened when it is asked; names and numbers are
// those of its header, nvml.h.
#include "workloads/command/doctor/gpu_clock.hpp"

#include <dlfcn.h>

#include <array>

namespace shardmark::workloads {
namespace {

constexpr int success = 0, multiprocessors = 1;  // NVML_SUCCESS, NVML_CLOCK_SM

struct Reason {
  unsigned long long bits;
  const char* name;
};
/// These are of nvmlClocksEventReasons; the first that applies is named.
constexpr std::array reasons{Reason{0x60, "heat"}, Reason{0x80, "a power brake"}, Reason{0x8, "heat or power"},
                             Reason{0x4, "its power limit"}, Reason{0x2, "a clock that was set"}};

/// Is the library between nvmlInit and nvmlShutdown.
class Nvml {
 public:
  explicit Nvml(const char* file) : library_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    initialised_ = library_ != nullptr && call<int()>("nvmlInit_v2") == success;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (initialised_) call<int()>("nvmlShutdown");
    if (library_ != nullptr) dlclose(library_);
  }

  bool initialised() const { return initialised_; }

  /// Returns the result of a function, -1 where the library has none of that name.
  template <class Function, class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<Function*>(dlsym(library_, name));
    return function == nullptr ? -1 : function(arguments...);
  }

 private:
  void* library_;
  bool initialised_ = false;
};

}  // namespace

std::optional<GpuClock> gpu_clock(const std::string& address, const char* library) {
  const Nvml nvml(library);
  void* gpu = nullptr;
  unsigned mhz = 0;
  unsigned long long held = 0;
  if (!nvml.initialised() ||
      nvml.call<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2", address.c_str(), &gpu) != success ||
      nvml.call<int(void*, int, unsigned*)>("nvmlDeviceGetClockInfo", gpu, multiprocessors, &mhz) != success)
    return {};
  GpuClock clock{.mhz = mhz, .held_by = {}};
  if (nvml.call<int(void*, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons", gpu, &held) != success)
    return clock;
  for (const Reason& reason : reasons)
    if (clock.held_by.empty() && (held & reason.bits) != 0) clock.held_by = reason.name;
  return clock;
}

}  // namespace shardmark::workloads
