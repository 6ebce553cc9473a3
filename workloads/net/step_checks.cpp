// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/step_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "comm/agree.hpp"
#include "comm/placement/test/traffic_oracle.hpp"
#include "kernels/guard_bands.hpp"
#include "kernels/huge_pages.hpp"
#include "workloads/measure/memory.hpp"

namespace shardmark::workloads {
namespace {

/// This allows for buffers that are small whatever the case, and for what Kokkos allocates beside the values.
constexpr double of_small_ones = 256e3;

/// Counts the bytes of arrays by label: now, and when they were most.
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

/// Returns the bytes without the huge page that kernels::allocate adds to align an array of two and more: what it skips
/// is never touched.
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
    kernels::guard_bands = guarded_;
  }

 private:
  const bool guarded_ = kernels::guard_bands;
};

/// Lists the largest arrays, when the bytes of all were most.
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
  unchecked.requested.checked_steps = unchecked.plans.front().options.checked_steps = 0;
  unchecked.requested.batches = unchecked.plans.front().options.batches = 1;
  const double needed =
      memory_needed(comm, unchecked.planned().plan, unchecked.planned().options, std::array{unchecked.config()}).all();
  double actual = 0.0;
  {
    const CountedArrays counted;
    const Job job{comm, unchecked.requested, unchecked.plans, unchecked.cases};
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

namespace {

/// Returns the ids of every rank's own samples.
std::vector<Batch> ids_of_ranks(const Workload& workload, BatchSource& batches, std::int64_t number, int ranks) {
  std::vector<Batch> homes;
  for (int r = 0; r < ranks; ++r) {
    const SampleRange samples = samples_of(workload.global_batch, ranks, r);
    homes.push_back(batches.read(number, samples.first, samples.count).batch);
  }
  return homes;
}

/// Returns whether ids may name rows that are not there, which are not updated and whose norms do not travel.
bool may_lack_rows(std::span<const Table> tables) {
  return std::ranges::any_of(
      tables, [](const Table& table) { return table.dynamic.admission.kind != reference::AdmissionKind::all; });
}

}  // namespace

std::string unequal_bytes(const comm::Communicator& comm, const CaseSetup& setup, BatchSource& batches,
                          std::int64_t number, const Flight& flight) {
  const auto& [plan, options] = setup.planned();
  const Workload& workload = options.workload;
  const placement::Movement& movement = setup.config().movement;
  const placement::Decisions decided =
      placement::predict_decisions(plan, workload.tables, workload.features,
                                   ids_of_ranks(workload, batches, 0, comm.size()), movement, comm.node_of());
  const placement::Traffic traffic = placement::predict_traffic(plan, workload.tables, workload.features,
                                                                ids_of_ranks(workload, batches, number, comm.size()),
                                                                movement, decided, comm.node_of());
  const comm::SentBytes sent = flight.sent();
  const bool at_most = may_lack_rows(workload.tables);  // of updates
  for (const auto& [phase, bytes] :
       {std::pair(Phase::input_dist, &traffic.input_dist), std::pair(Phase::output_dist, &traffic.output_dist),
        std::pair(Phase::grad_dist, &traffic.grad_dist), std::pair(Phase::update, &traffic.update)})
    for (int peer = 0; peer < comm.size(); ++peer)
      if (const std::int64_t counted = sent.to_ranks(index_of(phase)).payload[peer],
          expected = (*bytes)(comm.rank(), peer);
          at_most && phase == Phase::update ? counted > expected : counted != expected)
        return fmt::format("{} of batch {} counted {} bytes to rank {}, the model says {}",
                           phase_names[index_of(phase)], number, counted, peer, expected);
  return {};
}

}  // namespace shardmark::workloads
