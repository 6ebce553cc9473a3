// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/tensor_train/tt_cores.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/fill_rows.hpp"
#include "kernels/huge_pages.hpp"
#include "reference/rounding.hpp"
#include "reference/tensor_train/contraction.hpp"
#include "reference/tensor_train/initial_cores.hpp"
#include "reference/tensor_train/stored_cores.hpp"

namespace shardmark::workloads {
namespace {

TtTable kept_train(std::int64_t shard, std::int64_t table, const Table& what) {
  TtTable train{.shard = shard, .table = table, .what = what, .shape = tensor_train_shape(what), .contracted = {}};
  train.mirrored = what.tensor_train.direction == ContractionDirection::suffix;
  train.contracted = train.mirrored ? mirrored(train.shape) : train.shape;
  return train;
}

/// Transposes every array [a][q][b] of `values` to [b][q][a].
void transpose(std::vector<float>& values, std::int64_t a, std::int64_t q, std::int64_t b) {
  const std::int64_t elements = a * q * b;
  std::vector<float> slice(static_cast<std::size_t>(elements));
  for (std::int64_t begin = 0; begin < std::ssize(values); begin += elements) {
    std::copy_n(values.begin() + begin, elements, slice.begin());
    for (std::int64_t i = 0; i < a; ++i)
      for (std::int64_t j = 0; j < q; ++j)
        for (std::int64_t k = 0; k < b; ++k) values[begin + (k * q + j) * a + i] = slice[(i * q + j) * b + k];
  }
}

/// Transposes the state of slices, [vectors of the optimizer] of the elements and the numbers of the whole slice behind
/// them.
void transpose_state(std::vector<float>& state, const TtTable& train, int place, bool to_kept) {
  const auto vectors = static_cast<std::int64_t>(choice_of(train.what.optimizer.kind).vectors);
  const std::int64_t elements = train.contracted.slice_elements(place);
  const std::int64_t size = state_per_row(train.what.optimizer.kind, elements);
  const std::int64_t a = train.contracted.r[place], q = train.contracted.q[place], b = train.contracted.r[place + 1];
  for (std::int64_t begin = 0; size > 0 && begin < std::ssize(state); begin += size) {
    std::vector<float> whole(state.begin() + begin, state.begin() + begin + vectors * elements);
    to_kept ? transpose(whole, b, q, a) : transpose(whole, a, q, b);
    std::ranges::copy(whole, state.begin() + begin);
  }
}

template <class T>
void store_as(const std::vector<float>& values, std::vector<std::byte>& bytes) {
  bytes.resize(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T stored = rounded_to<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &stored, sizeof(T));
  }
}

std::vector<std::byte> stored(ValueType type, const std::vector<float>& values) {
  std::vector<std::byte> bytes;
  if (type == ValueType::fp16)
    store_as<Fp16>(values, bytes);
  else if (type == ValueType::bf16)
    store_as<Bf16>(values, bytes);
  else
    store_as<float>(values, bytes);
  return bytes;
}

std::vector<float> read_on_host(const kernels::ShardRows& rows, const void* values,
                                const std::vector<std::int64_t>& wanted) {
  const Execution exec;
  const DeviceArray<float> output("shardmark::read_slices", wanted.size() * static_cast<std::size_t>(rows.dim));
  kernels::read_rows(exec, rows, values, kernels::array_of(exec, wanted, "shardmark::wanted_slices"), output);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), output);
  return {host.data(), host.data() + host.extent(0)};
}

std::vector<std::int64_t> first_numbers(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

}  // namespace

TtCores::TtCores(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards) {
  std::int64_t values = 0, state = 0;
  for (const std::int64_t s : shards) {
    const std::int64_t table = layout.shards[s].table;
    TtTable& train = trains_.emplace_back(kept_train(s, table, tables[table]));
    for (int place = 0; place < train.shape.cores; ++place) {
      const std::int64_t slices = train.contracted.p[place], elements = train.contracted.slice_elements(place);
      train.values[place] = values;
      train.state[place] = state;
      values += align(slices * row_bytes(train.what.value_type, elements), kernels::line_pair);
      state += align(slices * state_size(train, place), kernels::line_pair / 4);
    }
  }
  values_ = kernels::allocate<Execution, std::byte>("shardmark::cores", values);
  state_ = kernels::allocate<Execution, float>("shardmark::core_state", state);
}

const TtTable* TtCores::find(std::int64_t shard) const {
  const auto found = std::ranges::find(trains_, shard, &TtTable::shard);
  return found == trains_.end() ? nullptr : &*found;
}

std::int64_t TtCores::state_size(const TtTable& train, int place) const {
  return state_per_row(train.what.optimizer.kind, train.contracted.slice_elements(place));
}

void TtCores::fill(const RowValues& initial) {
  const Execution exec;
  for (const TtTable& train : trains_)
    for (int t = 0; t < train.shape.cores; ++t) {
      const int place = train.place(t);
      std::vector<float> core = initial_core(train.what, train.shape, train.table, t, initial);
      if (train.mirrored) transpose(core, train.shape.r[t], train.shape.q[t], train.shape.r[t + 1]);
      const std::vector<std::byte> bytes = stored(train.what.value_type, core);
      const std::int64_t begin = train.values[place];
      Kokkos::deep_copy(
          part(values_, begin, begin + std::ssize(bytes)),
          Kokkos::View<const std::byte*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(bytes.data(), bytes.size()));
      kernels::fill_state(exec, train.what.optimizer, train.contracted.p[place], train.contracted.slice_elements(place),
                          state(train, place));
    }
  exec.fence("shardmark: cores are filled");
}

kernels::TensorTrainCores TtCores::cores(const TtTable& train, std::int64_t first_key, std::int64_t first_slice) const {
  kernels::TensorTrainCores cores{.shape = train.contracted,
                                  .cores = {},
                                  .value_type = train.what.value_type,
                                  .first_key = first_key,
                                  .first_slice = {},
                                  .mirrored = train.mirrored,
                                  .dim = train.what.dim};
  for (int place = 0; place < train.shape.cores; ++place) {
    cores.cores[place] = values(train, place);
    cores.first_slice[place] = first_slice;
    first_slice += train.contracted.p[place];
  }
  return cores;
}

kernels::UpdateShard TtCores::update_shard(const TtTable& train, int place, std::int64_t first_key) const {
  const std::int64_t elements = train.contracted.slice_elements(place);
  return {.rows = values(train, place),
          .state = state(train, place),
          .first_key = first_key,
          .dim = elements,
          .full_dim = elements,
          .optimizer = train.what.optimizer,
          .value_type = train.what.value_type,
          .stochastic_rounding = train.what.stochastic_rounding,
          .table = core_number(train.table, train.place(place))};
}

std::vector<float> TtCores::read(const TtTable& train, int t, const std::vector<std::int64_t>& slices) const {
  const int place = train.place(t);
  const kernels::ShardRows rows{.dim = train.contracted.slice_elements(place), .value_type = train.what.value_type};
  std::vector<float> kept = read_on_host(rows, values(train, place), slices);
  if (train.mirrored) transpose(kept, train.shape.r[t + 1], train.shape.q[t], train.shape.r[t]);
  return kept;
}

std::vector<float> TtCores::read_state(const TtTable& train, int t, const std::vector<std::int64_t>& slices) const {
  const int place = train.place(t);
  std::vector<float> kept =
      read_on_host({.dim = state_size(train, place), .value_type = ValueType::fp32}, state(train, place), slices);
  if (train.mirrored) transpose_state(kept, train, place, false);
  return kept;
}

void TtCores::write_state(const TtTable& train, int t, std::int64_t slice, const std::vector<float>& slice_state) {
  const int place = train.place(t);
  std::vector<float> kept = slice_state;
  if (train.mirrored) transpose_state(kept, train, place, true);
  const std::int64_t begin = train.state[place] + slice * state_size(train, place);
  Kokkos::deep_copy(part(state_, begin, begin + std::ssize(kept)),
                    kernels::array_of(Execution(), kept, "shardmark::slice_state"));
}

std::int64_t TtCores::changed(const TtTable& train, int t, const RowValues& initial) const {
  const std::vector<float> now = read(train, t, first_numbers(train.shape.p[t]));
  std::vector<float> before = initial_core(train.what, train.shape, train.table, t, initial);
  for (float& value : before) value = rounded_to(train.what.value_type, value);
  const std::int64_t elements = train.shape.slice_elements(t);
  std::int64_t changed = 0;
  for (std::int64_t begin = 0; begin < std::ssize(now); begin += elements)
    changed += std::memcmp(&now[begin], &before[begin], static_cast<std::size_t>(elements) * sizeof(float)) != 0;
  return changed;
}

double TtCores::huge_page_share() const {
  return kernels::huge_page_share(values_.data(), static_cast<std::int64_t>(values_.extent(0)));
}

}  // namespace shardmark::workloads
