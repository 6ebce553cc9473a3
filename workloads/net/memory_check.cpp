// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/memory_check.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>

#include "comm/agree.hpp"
#include "kernels/guard_bands.hpp"
#include "kernels/huge_pages.hpp"
#include "workloads/measure/memory.hpp"

namespace shardmark {
namespace {

/// Of buffers that are small whatever the case, and of what Kokkos allocates beside the values.
constexpr double of_small_ones = 256e3;

std::atomic<std::int64_t> allocated{0}, most_allocated{0};

/// Without the huge page that kernels::allocate adds to align an array of two and more: what it skips is never touched.
std::int64_t touched(std::uint64_t bytes) {
  return static_cast<std::int64_t>(bytes >= 3 * kernels::huge_page ? bytes - kernels::huge_page : bytes);
}

/// Counts the bytes of arrays, without guard bands, while it lives.
class CountedArrays {
 public:
  CountedArrays() {
    using Kokkos::Tools::SpaceHandle;
    kernels::guard_bands = false;
    allocated = most_allocated = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](const SpaceHandle, const char*, const void*, const std::uint64_t bytes) {
          const std::int64_t now = allocated += touched(bytes);
          std::int64_t most = most_allocated;
          while (now > most && !most_allocated.compare_exchange_weak(most, now)) {
          }
        });
    Kokkos::Tools::Experimental::set_deallocate_data_callback(
        [](const SpaceHandle, const char*, const void*, const std::uint64_t bytes) { allocated -= touched(bytes); });
  }
  ~CountedArrays() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
    kernels::guard_bands = true;
  }
};

}  // namespace

std::string memory_beyond(const Communicator& comm, const CaseSetup& setup, BatchSource& batches) {
  CaseSetup unchecked = setup;  // without the reference, which is not made of arrays
  unchecked.asked.checked_steps = unchecked.plans.front().options.checked_steps = 0;
  unchecked.asked.batches = unchecked.plans.front().options.batches = 1;
  const double needed =
      memory_needed(comm, unchecked.planned().plan, unchecked.planned().options, std::array{unchecked.how()});
  double actual = 0.0;
  {
    const CountedArrays counted;
    const Job job{comm, unchecked.asked, unchecked.plans, unchecked.cases};
    Prepared prepared(job, batches, [](const std::string&) {});
    prepared.hold(0);
    ReadyCase& ready = prepared.ready(0);
    prepared.fill();
    if (ready.pipeline) {
      ready.pipeline->start(prepared.step_batches(), 0, 1);
      ready.pipeline->step(ready.dense);
      ready.pipeline->finish();
    } else {
      ready.step(prepared.inputs().front());
    }
    actual = static_cast<double>(most_allocated.load());
  }
  try {
    agree(comm, [&] {
      if (actual > needed + of_small_ones)
        throw std::runtime_error(
            fmt::format("arrays hold {:.0f} bytes, {:.0f} were said to be needed", actual, needed));
    });
  } catch (const CollectiveError& error) {
    return error.what();
  }
  return {};
}

}  // namespace shardmark
