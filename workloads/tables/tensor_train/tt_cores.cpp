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

TtTable kept_tt(std::int64_t shard, std::int64_t table, const Table& what) {
  TtTable tt{.shard = shard, .table = table, .what = what, .shape = tensor_train_shape(what), .contracted = {}};
  tt.mirrored = what.tensor_train.direction == ContractionDirection::suffix;
  tt.contracted = tt.mirrored ? mirrored(tt.shape) : tt.shape;
  return tt;
}

/// Transposes every array [a][q][b] of elements of `size` bytes to [b][q][a].
void transpose(std::span<std::byte> values, std::size_t size, std::int64_t a, std::int64_t q, std::int64_t b) {
  const std::size_t bytes = static_cast<std::size_t>(a * q * b) * size;
  std::vector<std::byte> slice(bytes);
  for (std::size_t begin = 0; begin + bytes <= values.size(); begin += bytes) {
    std::ranges::copy(values.subspan(begin, bytes), slice.begin());
    for (std::int64_t i = 0; i < a; ++i)
      for (std::int64_t j = 0; j < q; ++j)
        for (std::int64_t k = 0; k < b; ++k)
          std::memcpy(&values[begin + static_cast<std::size_t>((k * q + j) * a + i) * size],
                      &slice[static_cast<std::size_t>((i * q + j) * b + k) * size], size);
  }
}

std::size_t element_bytes(const TtTable& tt) { return static_cast<std::size_t>(row_bytes(tt.what.value_type, 1)); }

/// Transposes slices of core t where the mirrored tensor train is kept: from their order in the table to that in which
/// they are kept, or back.
struct Mirror {
  const TtTable& tt;
  int t;
  bool to_kept;

  void turn(std::span<std::byte> values, std::size_t size) const {
    if (!tt.mirrored) return;
    const std::int64_t a = tt.shape.r[t], q = tt.shape.q[t], b = tt.shape.r[t + 1];
    to_kept ? transpose(values, size, a, q, b) : transpose(values, size, b, q, a);
  }
  void turn(std::vector<float>& values) const { turn(std::as_writable_bytes(std::span(values)), sizeof(float)); }

  /// Does so with the state of slices: [vectors of the optimizer] of the elements, and the numbers of the whole slice
  /// behind them.
  void turn_state(std::vector<float>& state) const {
    const auto vectors = static_cast<std::int64_t>(choice_of(tt.what.optimizer.kind).vectors);
    const std::int64_t elements = tt.shape.slice_elements(t);
    const std::int64_t size = state_per_row(tt.what.optimizer.kind, elements);
    for (std::int64_t begin = 0; size > 0 && begin + size <= std::ssize(state); begin += size)
      turn(std::as_writable_bytes(std::span(state).subspan(begin, vectors * elements)), sizeof(float));
  }
};

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
    TtTable& tt = tts_.emplace_back(kept_tt(s, table, tables[table]));
    for (int place = 0; place < tt.shape.cores; ++place) {
      const std::int64_t slices = tt.contracted.p[place], elements = tt.contracted.slice_elements(place);
      tt.values[place] = values;
      tt.state[place] = state;
      values += align(slices * row_bytes(tt.what.value_type, elements), kernels::line_pair);
      state += align(slices * state_size(tt, place), kernels::line_pair / 4);
    }
  }
  values_ = kernels::allocate<Execution, std::byte>("shardmark::cores", values);
  state_ = kernels::allocate<Execution, float>("shardmark::core_state", state);
}

const TtTable* TtCores::find(std::int64_t shard) const {
  const auto found = std::ranges::find(tts_, shard, &TtTable::shard);
  return found == tts_.end() ? nullptr : &*found;
}

std::int64_t TtCores::state_size(const TtTable& tt, int place) const {
  return state_per_row(tt.what.optimizer.kind, tt.contracted.slice_elements(place));
}

void TtCores::fill(const RowValues& initial) {
  const Execution exec;
  for (const TtTable& tt : tts_)
    for (int t = 0; t < tt.shape.cores; ++t) {
      const int place = tt.place(t);
      std::vector<float> core = initial_core(tt.what, tt.shape, tt.table, t, initial);
      Mirror{tt, t, true}.turn(core);
      const std::vector<std::byte> bytes = stored(tt.what.value_type, core);
      const std::int64_t begin = tt.values[place];
      Kokkos::deep_copy(part(values_, begin, begin + std::ssize(bytes)), kernels::host_array(bytes));
      kernels::fill_state(exec, tt.what.optimizer, tt.contracted.p[place], tt.contracted.slice_elements(place),
                          state(tt, place));
    }
  exec.fence("shardmark: cores are filled");
}

kernels::TensorTrainCores TtCores::cores(const TtTable& tt, std::int64_t first_key, std::int64_t first_slice) const {
  kernels::TensorTrainCores cores{.shape = tt.contracted,
                                  .cores = {},
                                  .value_type = tt.what.value_type,
                                  .first_key = first_key,
                                  .first_slice = {},
                                  .mirrored = tt.mirrored,
                                  .dim = tt.what.dim};
  for (int place = 0; place < tt.shape.cores; ++place) {
    cores.cores[place] = values(tt, place);
    cores.first_slice[place] = first_slice;
    first_slice += tt.contracted.p[place];
  }
  return cores;
}

kernels::UpdateShard TtCores::update_shard(const TtTable& tt, int place, std::int64_t first_key) const {
  const std::int64_t elements = tt.contracted.slice_elements(place);
  return {.rows = values(tt, place),
          .state = state(tt, place),
          .first_key = first_key,
          .dim = elements,
          .full_dim = elements,
          .optimizer = tt.what.optimizer,
          .value_type = tt.what.value_type,
          .stochastic_rounding = tt.what.stochastic_rounding,
          .table = core_number(tt.table, tt.place(place))};
}

RowArrays TtCores::arrays(const TtTable& tt, int place) const {
  return {.values = values(tt, place),
          .state = state(tt, place),
          .rows = tt.contracted.p[place],
          .dim = tt.contracted.slice_elements(place),
          .value_type = tt.what.value_type,
          .optimizer = tt.what.optimizer.kind};
}

ChosenRows TtCores::read(const TtTable& tt, int t, const std::vector<std::int64_t>& slices) const {
  ChosenRows chosen = arrays(tt, tt.place(t)).read_rows(slices);
  const Mirror from_kept{tt, t, false};
  from_kept.turn(chosen.values);
  from_kept.turn_state(chosen.state);
  return chosen;
}

StoredRows TtCores::read_range(const TtTable& tt, int t, std::int64_t first, std::int64_t count) const {
  StoredRows slices = arrays(tt, tt.place(t)).read_range(first, count);
  const Mirror from_kept{tt, t, false};
  from_kept.turn(slices.values, element_bytes(tt));
  from_kept.turn_state(slices.state);
  return slices;
}

void TtCores::write_range(const TtTable& tt, int t, std::int64_t first, StoredRows slices) const {
  const Mirror to_kept{tt, t, true};
  to_kept.turn(slices.values, element_bytes(tt));
  to_kept.turn_state(slices.state);
  arrays(tt, tt.place(t)).write_range(first, slices);
}

std::int64_t TtCores::changed(const TtTable& tt, int t, const RowValues& initial) const {
  const std::vector<float> now = read(tt, t, first_numbers(tt.shape.p[t])).values;
  std::vector<float> before = initial_core(tt.what, tt.shape, tt.table, t, initial);
  for (float& value : before) value = rounded_to(tt.what.value_type, value);
  const std::int64_t elements = tt.shape.slice_elements(t);
  std::int64_t changed = 0;
  for (std::int64_t begin = 0; begin < std::ssize(now); begin += elements)
    changed += std::memcmp(&now[begin], &before[begin], static_cast<std::size_t>(elements) * sizeof(float)) != 0;
  return changed;
}

double TtCores::huge_page_share() const { return kernels::huge_page_share(values_); }

}  // namespace shardmark::workloads
