// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/memory_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "comm/agree.hpp"
#include "kernels/guard_bands.hpp"
#include "kernels/huge_pages.hpp"
#include "workloads/measure/memory.hpp"

namespace shardmark::workloads {
namespace {

/// Of buffers that are small whatever the case, and of what Kokkos allocates beside the values.
constexpr double of_small_ones = 256e3;

/// Bytes of arrays by label: now, and when they were most.
struct Arrays {
  std::mutex mutex;
  std::int64_t bytes = 0, most_bytes = 0;
  std::map<std::string, std::int64_t> now, at_most;

  void add(const char* label, std::int64_t more) {
    const std::lock_guard lock(mutex);
    now[label] += more;
    bytes += more;
    if (bytes <= most_bytes) return;
    most_bytes = bytes;
    at_most = now;
  }
  void clear() {
    const std::lock_guard lock(mutex);
    bytes = most_bytes = 0;
    now.clear();
    at_most.clear();
  }
} arrays;

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
    arrays.clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](const SpaceHandle, const char* label, const void*, const std::uint64_t bytes) {
          arrays.add(label, touched(bytes));
        });
    Kokkos::Tools::Experimental::set_deallocate_data_callback(
        [](const SpaceHandle, const char* label, const void*, const std::uint64_t bytes) {
          arrays.add(label, -touched(bytes));
        });
  }
  ~CountedArrays() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
    kernels::guard_bands = true;
  }
};

/// When they were most.
std::string largest_arrays() {
  std::vector<std::pair<std::int64_t, std::string>> sizes;
  for (const auto& [label, bytes] : arrays.at_most) sizes.emplace_back(bytes, label);
  std::ranges::sort(sizes, std::greater<>());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(sizes.size(), 8); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", sizes[i].second, sizes[i].first);
  return text;
}

}  // namespace

std::string memory_beyond(const comm::Communicator& comm, const CaseSetup& setup, BatchSource& batches) {
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
    actual = static_cast<double>(arrays.most_bytes);
  }
  try {
    comm::agree(comm, [&] {
      if (actual > needed + of_small_ones)
        throw std::runtime_error(fmt::format("arrays hold {:.0f} bytes, {:.0f} were said to be needed; the largest: {}",
                                             actual, needed, largest_arrays()));
    });
  } catch (const comm::CollectiveError& error) {
    return error.what();
  }
  return {};
}

}  // namespace shardmark::workloads
