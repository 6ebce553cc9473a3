// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/row_arrays.hpp"

#include <fmt/format.h>

#include "kernels/fill_rows.hpp"
#include "reference/error.hpp"
#include "workloads/tables/placed_bytes.hpp"

namespace shardmark::workloads {
namespace {

template <class T, class Space>
using Elements = Kokkos::View<T*, Space, Kokkos::MemoryUnmanaged>;

template <class T>
std::vector<T> copied(const T* begin, std::int64_t count) {
  if constexpr (kernels::in_host_memory<Execution>) {
    Execution().fence("shardmark: rows are as they are read");
    return {begin, begin + count};
  } else {
    std::vector<T> host(static_cast<std::size_t>(count));
    Kokkos::deep_copy(Elements<T, Kokkos::HostSpace>(host.data(), host.size()),
                      Elements<const T, Execution::memory_space>(begin, host.size()));
    return host;
  }
}

template <class T>
void copy(const std::vector<T>& host, T* begin) {
  Kokkos::deep_copy(Elements<T, Execution::memory_space>(begin, host.size()),
                    Elements<const T, Kokkos::HostSpace>(host.data(), host.size()));
}

/// Returns rows of `dim` elements, as fp32.
std::vector<float> as_floats(ValueType type, std::int64_t dim, const void* rows,
                             const ConstDeviceArray<std::int64_t>& wanted) {
  const DeviceArray<float> output("shardmark::read_rows", wanted.extent(0) * static_cast<std::size_t>(dim));
  kernels::read_rows<Execution>(Execution(), {.dim = dim, .value_type = type}, rows, wanted, output);
  Execution().fence("shardmark: rows are read");
  return copied(output.data(), static_cast<std::int64_t>(output.extent(0)));
}

}  // namespace

void RowArrays::require(std::int64_t first, std::int64_t count) const {
  if (first < 0 || count < 0 || count > rows - first)
    throw InputError(fmt::format("rows {} to {} are asked of a part that has {}", first, first + count, rows));
}

ChosenRows RowArrays::read_rows(const std::vector<std::int64_t>& local_rows) const {
  const auto wanted = kernels::array_of(Execution(), local_rows, "shardmark::wanted_rows");
  return {as_floats(value_type, dim, values, wanted), as_floats(ValueType::fp32, state_size(), state, wanted)};
}

StoredRows RowArrays::read_range(std::int64_t first, std::int64_t count) const {
  require(first, count);
  return {copied(values + first * value_bytes(), count * value_bytes()),
          copied(state + first * state_size(), count * state_size())};
}

void RowArrays::write_range(std::int64_t first, const StoredRows& stored) const {
  const std::int64_t count = std::ssize(stored.values) / value_bytes();
  require(first, count);
  require_rows(count, stored);
  copy(stored.values, values + first * value_bytes());
  copy(stored.state, state + first * state_size());
}

StoredRows RowArrays::read_places(const ConstDeviceArray<std::int64_t>& places) const {
  return {workloads::read_places<std::byte>(values, value_bytes(), places),
          workloads::read_places<float>(state, state_size(), places)};
}

void RowArrays::write_places(const ConstDeviceArray<std::int64_t>& places, const StoredRows& stored) const {
  require_rows(static_cast<std::int64_t>(places.extent(0)), stored);
  workloads::write_places(stored.values, value_bytes(), places, values);
  workloads::write_places(stored.state, state_size(), places, state);
}

void RowArrays::require_rows(std::int64_t count, const StoredRows& stored) const {
  if (std::ssize(stored.values) != count * value_bytes() || std::ssize(stored.state) != count * state_size())
    throw InputError(fmt::format("{} bytes of values and {} floats of state are no rows of {} and {} each",
                                 stored.values.size(), stored.state.size(), value_bytes(), state_size()));
}

}  // namespace shardmark::workloads
