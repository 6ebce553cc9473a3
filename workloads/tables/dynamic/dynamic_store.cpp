// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/dynamic/dynamic_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>

#include "kernels/dynamic/dynamic_keys.hpp"
#include "kernels/route/bag_lengths.hpp"
#include "results/dynamic_fields.hpp"
#include "workloads/tables/dynamic/kept_keys.hpp"
#include "workloads/tables/row_store.hpp"

namespace shardmark::workloads {
namespace {

using KeyArray = ConstDeviceArray<std::int64_t>;
using SlotArray = DeviceArray<std::int64_t>;
using KeyTable = kernels::KeyTable<Execution>;

/// Gives the keys that have no slot one place that all share.
void share_place(const SlotArray& slots, std::int64_t place) {
  Kokkos::parallel_for(
      "shardmark::share_place", kernels::static_range(Execution(), static_cast<std::int64_t>(slots.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (slots(i) < 0) slots(i) = place;
      });
}

/// Gives the keys that have no slot places from `first` on, and lists them. Returns how many they are.
std::int64_t give_places(const SlotArray& slots, std::int64_t first, const SlotArray& listed) {
  std::int64_t count = 0;
  Kokkos::parallel_scan(
      "shardmark::give_places", kernels::static_range(Execution(), static_cast<std::int64_t>(slots.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& before, const bool final) {
        if (slots(i) >= 0) return;
        if (final) {
          listed(before) = i;
          slots(i) = first + before;
        }
        ++before;
      },
      count);
  return count;
}

std::int64_t count_absent(const SlotArray& slots) {
  std::int64_t count = 0;
  Kokkos::parallel_reduce(
      "shardmark::count_absent", kernels::static_range(Execution(), static_cast<std::int64_t>(slots.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& absent) { absent += slots(i) < 0 ? 1 : 0; }, count);
  return count;
}

/// Writes the keys of new rows to their slots.
void write_keys_of(const kernels::PlacedRows<Execution>& added, const SlotArray& numbers) {
  Kokkos::parallel_for(
      "shardmark::number_rows", kernels::static_range(Execution(), added.count()),
      KOKKOS_LAMBDA(const std::int64_t i) { numbers(added.places(added.chosen(i))) = added.numbers(added.chosen(i)); });
}

SlotArray numbers_up_to(std::int64_t count) {
  const SlotArray numbers = kernels::allocate<Execution, std::int64_t>("shardmark::counted_up", count);
  kernels::count_up(Execution(), numbers);
  return numbers;
}

/// Returns the sum of bits of the keys of a table, modulo 2^64: equal for equal sets of keys, whoever holds which.
std::int64_t sum_of_keys(const KeyArray& keys, const KeyBuckets& mix) {
  std::uint64_t sum = 0;
  Kokkos::parallel_reduce(
      "shardmark::sum_of_keys", kernels::static_range(Execution(), static_cast<std::int64_t>(keys.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, std::uint64_t& of_keys) {
        of_keys += next_random_bits(mix.seed + 1, mix.bits(keys(i)));
      },
      sum);
  return static_cast<std::int64_t>(sum);
}

template <class Array>
auto host_copy(const Array& array) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), array);
  return std::vector<typename Array::non_const_value_type>(host.data(), host.data() + host.extent(0));
}

/// Writes lines of counters.
void write_counters(const std::vector<std::int64_t>& lines, const std::vector<std::byte>& values,
                    kernels::SharedCounters<Execution>& counters) {
  std::vector<kernels::CounterLine> written(lines.size());
  std::memcpy(written.data(), values.data(), values.size());
  counters.write_lines(Execution(), lines, kernels::array_of(Execution(), written, "shardmark::written_counters"));
}

std::vector<std::int64_t> places_of(const ShardLayout& layout, const std::vector<Table>& tables,
                                    const std::vector<std::int64_t>& shards) {
  std::vector<std::int64_t> places;
  for (const std::int64_t s : shards)
    places.push_back(most_places(tables[layout.shards[s].table], layout.shards[s].rows.most_rows()));
  return places;
}

class DynamicStore : public RowStore {
 public:
  DynamicStore(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards)
      : RowStore(layout, tables, shards, places_of(layout, tables, shards)), kept_(layout.shards.size()) {
    for (const std::int64_t s : shards) {
      kept_[s].room = local(s).rows.most_rows();
      if (table_of(s).stochastic_rounding)
        kept_[s].numbers = kernels::allocate<Execution, std::int64_t>("shardmark::row_numbers", places(s));
    }
  }

  void fill(const RowValues& initial) override {
    initial_ = initial;
    for (const std::int64_t s : shards()) {
      forget_keys(s);
      kept_[s].counts = {};
    }
  }

  void bring(std::int64_t s, std::int64_t step, const KeyArray& keys, const SlotArray& slots) override {
    const Execution exec;
    Kept& kept = kept_[s];
    const auto n = static_cast<std::int64_t>(keys.extent(0));
    if (n == 0) return;
    const auto added = kept.keys->bring(exec, step, keys, ones(n), slots);  // Oracle::bring: a step uses a key once
    const std::int64_t bound = kept.keys->table().slot_bound();
    require_room(s, bound);
    if constexpr (host_reaches_arrays)
      if (KeptRows* const before = kept_rows(s))
        before->before_write(static_cast<std::int64_t>(added.extent(0)),
                             [&](std::int64_t i) { return slots(added(i)); });
    place_rows(s, {keys, slots, added});
    if (kept.numbers.extent(0) > 0) write_keys_of({keys, slots, added}, kept.numbers);
    const std::int64_t absent = place_absent(s, keys, slots, bound);
    kept.counts.admitted += static_cast<std::int64_t>(added.extent(0));
    kept.counts.absent += absent;
    kept.counts.found += n - absent - static_cast<std::int64_t>(added.extent(0));
  }

  void end(std::int64_t s, std::int64_t step) override {
    const Table& table = table_of(s);
    const auto victims = kept_[s].keys->end(Execution(), step, {rows(s), table.value_type, local(s).dim()});
    kept_[s].counts.evicted += static_cast<std::int64_t>(victims.extent(0));
    if (!kept_[s].evicted) return;
    const std::vector<std::int64_t> keys = host_copy(victims);
    kept_[s].evicted->insert(kept_[s].evicted->end(), keys.begin(), keys.end());
  }

  std::vector<LiveRow> live_rows(std::int64_t s) const override {
    return used_keys(kept_[s].keys->table(), kept_[s].keys->uses());
  }

  void keep_keys(std::int64_t s) override {
    kept_[s].saved.emplace(*kept_[s].keys, kept_[s].evicted.value_or(std::vector<std::int64_t>()));
  }
  std::int64_t saved_count(std::int64_t s, SavedKeys part) const override { return kept_[s].saved->count(part); }
  std::vector<std::int64_t> saved_keys(std::int64_t s, SavedKeys part, std::int64_t since) override {
    return kept_[s].saved->list(part, since);
  }
  void note_evicted(std::int64_t s) override { kept_[s].evicted.emplace(); }

  StoredRows read_keys(std::int64_t s, SavedKeys part, const std::vector<std::int64_t>& keys) const override {
    const KeptKeys& saved = *kept_[s].saved;
    if (part == SavedKeys::evicted) return {};
    if (part == SavedKeys::counters) return {saved.counters(keys), {}};
    if (part == SavedKeys::counts || !values_are_saved(table_of(s))) return {{}, {}, saved.uses(part, keys)};
    const std::vector<std::int64_t> slots = saved.slots(keys);
    StoredRows read = arrays(s).read_places(array_of_keys(slots));
    read.uses = saved.uses(part, keys);
    if (KeptRows* const kept = kept_rows(s))
      kept->put_back(
          std::ssize(slots), [&](std::int64_t i) { return slots[i]; }, read);
    return read;
  }
  void let_go() override {
    RowStore::let_go();
    for (Kept& kept : kept_) kept.saved.reset();
  }

  void write_keys(std::int64_t s, SavedKeys part, const std::vector<std::int64_t>& keys,
                  const StoredRows& stored) override {
    const Execution exec;
    Kept& kept = kept_[s];
    const KeyArray wanted = array_of_keys(keys);
    if (part == SavedKeys::evicted) return kept.keys->forget(exec, wanted);
    if (part == SavedKeys::counters) return write_counters(keys, stored.values, kept.keys->filter().shared());
    const auto uses = kernels::array_of(exec, stored.uses, "shardmark::saved_uses");
    if (part == SavedKeys::counts) return kept.keys->put_counts(exec, wanted, uses);
    const SlotArray slots = kernels::allocate<Execution, std::int64_t>("shardmark::saved_slots", std::ssize(keys));
    kept.keys->put(exec, wanted, uses, slots);
    require_room(s, kept.keys->table().slot_bound());
    const kernels::PlacedRows<Execution> added{wanted, slots, numbers_up_to(std::ssize(keys))};
    if (kept.numbers.extent(0) > 0) write_keys_of(added, kept.numbers);
    if (!values_are_saved(table_of(s))) return place_rows(s, added);
    arrays(s).write_places(slots, stored);
  }

  void forget_keys(std::int64_t s) override {
    kept_[s].keys.emplace(reference::rules_of(table_of(s)), *local(s).rows.buckets);
    kept_[s].evicted.reset();
  }

  /// Rows of keys that have none are made beside the others.
  ChosenRows read_rows(std::int64_t s, std::int64_t /*part*/, const std::vector<std::int64_t>& keys) const override {
    const Execution exec;
    const auto count = static_cast<std::int64_t>(keys.size());
    const Table& table = table_of(s);
    const KeyArray wanted = array_of_keys(keys);
    const SlotArray slots = slots_of(kept_[s].keys->table(), wanted);
    const auto values = kernels::allocate<Execution, std::byte>("shardmark::read_rows",
                                                                count * row_bytes(table.value_type, local(s).dim()));
    const auto states = kernels::allocate<Execution, float>("shardmark::read_state", count * state_size(s));
    const SlotArray all = numbers_up_to(count);
    kernels::fill_placed_rows<Execution>(exec, initial_, shard_rows(s), {wanted, all, all}, values.data());
    kernels::fill_placed_state<Execution>(exec, table.optimizer, {wanted, all, all}, local(s).dim(), states.data());
    RowArrays made = arrays(s);
    made.values = values.data(), made.state = states.data(), made.rows = count;
    ChosenRows chosen = made.read_rows(host_copy(all));
    std::vector<std::int64_t> at, places;
    const std::vector<std::int64_t> found = host_copy(slots);
    for (std::int64_t i = 0; i < count; ++i)
      if (found[i] >= 0) {
        at.push_back(i);
        places.push_back(found[i]);
      }
    const ChosenRows live = arrays(s).read_rows(places);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      copy_row(live.values, row, local(s).dim(), chosen.values, at[i]);
      copy_row(live.state, row, state_size(s), chosen.state, at[i]);
    }
    return chosen;
  }

  std::int64_t changed_rows(std::int64_t s, std::int64_t /*part*/, const RowValues& initial) const override {
    return kernels::count_changed_placed_rows(Execution(), initial, shard_rows(s), all_rows(s), rows(s));
  }

  void report(std::span<std::int64_t> numbers) const override {
    const auto add = [&](DynamicNumber number, std::int64_t value) {
      std::int64_t& sum = numbers[index_of(number)];
      sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
    };
    for (const std::int64_t s : shards()) {
      const auto& keys = kept_[s].keys;
      const Counts& counts = kept_[s].counts;
      const Table& table = table_of(s);
      add(DynamicNumber::rows, keys->table().keys());
      add(DynamicNumber::room, keys->table().room());
      add(DynamicNumber::key_bytes, keys->table().bytes() + keys->filter().bytes() +
                                        static_cast<std::int64_t>(keys->uses().extent(0) * sizeof(RowUse)));
      add(DynamicNumber::row_bytes,
          keys->table().slot_bound() * (row_bytes(table.value_type, local(s).dim()) + 4 * state_size(s)));
      if (local(s).column_begin == 0)
        add(DynamicNumber::keys, sum_of_keys(all_rows(s).numbers, KeyBuckets::of_table(local(s).table)));
      add(DynamicNumber::found, counts.found);
      add(DynamicNumber::admitted, counts.admitted);
      add(DynamicNumber::absent, counts.absent);
      add(DynamicNumber::evicted, counts.evicted);
    }
  }

 private:
  /// Counts keys of steps that had a row, got one, or got none, and rows that were evicted.
  struct Counts {
    std::int64_t found = 0, admitted = 0, absent = 0, evicted = 0;
  };
  struct Kept {
    std::optional<kernels::DynamicKeys<Execution>> keys;
    SlotArray numbers;  ///< [places] where rows are rounded by their numbers
    Counts counts;
    std::optional<std::vector<std::int64_t>> evicted;  ///< since a checkpoint, where changes are saved
    std::optional<KeptKeys> saved;                     ///< of the save that has begun
    std::int64_t room = 0;                             ///< most rows
  };

  /// Throws where rows of steps before did not leave enough room.
  void require_room(std::int64_t s, std::int64_t rows) const {
    const std::int64_t most = kept_[s].room;
    if (rows <= most) return;
    const std::string what =
        fmt::format("table {}: {} rows in a shard that has room for {}", table_of(s).name, rows, most);
    if (!table_of(s).any_key) throw std::runtime_error(what);
    throw InputError(what + "; use --capacity N with --evict, or more \"keys\" in the spec");
  }

  KeyArray ones(std::int64_t count) {
    if (static_cast<std::int64_t>(ones_.extent(0)) < count) {
      ones_ = kernels::allocate<Execution, std::int64_t>("shardmark::key_uses", count + count / 8);
      Kokkos::deep_copy(Execution(), ones_, std::int64_t{1});
    }
    return part(ones_, 0, count);
  }

  const std::int64_t* row_numbers(std::int64_t s) const override { return kept_[s].numbers.data(); }
  std::int64_t rows_to_keep(std::int64_t s) const override {
    return values_are_saved(table_of(s)) ? kept_[s].keys->table().slot_bound() : 0;
  }

  static void copy_row(const std::vector<float>& from, std::int64_t row, std::int64_t width, std::vector<float>& to,
                       std::int64_t at) {
    std::copy_n(from.begin() + row * width, width, to.begin() + at * width);
  }

  static KeyArray array_of_keys(const std::vector<std::int64_t>& keys) {
    return kernels::array_of(Execution(), keys, "shardmark::some_keys");
  }
  static SlotArray slots_of(const KeyTable& table, const KeyArray& keys) {
    const auto count = static_cast<std::int64_t>(keys.extent(0));
    const SlotArray slots = kernels::allocate<Execution, std::int64_t>("shardmark::some_slots", count);
    table.find(Execution(), keys, slots);
    Execution().fence("shardmark: slots of some keys are found");
    return slots;
  }

  static kernels::PlacedRows<Execution> all_of(const KeyTable& table) {
    const SlotArray keys = kernels::allocate<Execution, std::int64_t>("shardmark::all_keys", table.keys());
    const SlotArray slots = kernels::allocate<Execution, std::int64_t>("shardmark::all_slots", table.keys());
    table.list(Execution(), keys, slots);
    const SlotArray all = numbers_up_to(table.keys());
    Execution().fence("shardmark: all keys are listed");
    return {keys, slots, all};
  }
  kernels::PlacedRows<Execution> all_rows(std::int64_t s) const { return all_of(kept_[s].keys->table()); }

  /// Returns the keys of a table, ascending, with what lies at their slots.
  static std::vector<LiveRow> used_keys(const KeyTable& table, const ConstDeviceArray<RowUse>& uses) {
    const kernels::PlacedRows<Execution> all = all_of(table);
    const auto keys = host_copy(all.numbers), slots = host_copy(all.places);
    const auto of_slots = host_copy(uses);
    std::vector<LiveRow> used;
    for (std::size_t i = 0; i < keys.size(); ++i) used.push_back({keys[i], of_slots[slots[i]]});
    std::ranges::sort(used, {}, &LiveRow::key);
    return used;
  }

  void place_rows(std::int64_t s, const kernels::PlacedRows<Execution>& added) {
    const Execution exec;
    kernels::fill_placed_rows<Execution>(exec, initial_, shard_rows(s), added, rows(s));
    kernels::fill_placed_state<Execution>(exec, table_of(s).optimizer, added, local(s).dim(), state(s));
  }

  /// Gives keys that have no row places from `bound` on, with what they read. Returns how many they are.
  std::int64_t place_absent(std::int64_t s, const KeyArray& keys, const SlotArray& slots, std::int64_t bound) {
    const Table& table = table_of(s);
    if (table.dynamic.admission.kind == AdmissionKind::all) return 0;
    if (table.dynamic.absent == AbsentRows::initial) {
      const auto listed = absent_.first(static_cast<std::int64_t>(slots.extent(0)));
      const std::int64_t absent = give_places(slots, bound, listed);
      if (bound + absent > places(s)) require_room(s, bound + absent);
      place_rows(s, {keys, slots, part(listed, 0, absent)});
      return absent;
    }
    const Execution exec;
    const std::int64_t absent = count_absent(slots), bytes = row_bytes(table.value_type, local(s).dim());
    share_place(slots, bound);
    Kokkos::deep_copy(exec,
                      Kokkos::View<std::byte*, Execution::memory_space, Kokkos::MemoryUnmanaged>(
                          rows(s) + bound * bytes, static_cast<std::size_t>(bytes)),
                      std::byte{0});
    kernels::fill_state(exec, table.optimizer, 1, local(s).dim(), state(s) + bound * state_size(s));
    return absent;
  }

  RowValues initial_;
  std::vector<Kept> kept_;  ///< by shard of the layout
  SlotArray ones_;
  DeviceScratch<std::int64_t> absent_{"shardmark::absent_positions"};
};

}  // namespace

std::unique_ptr<Store> make_dynamic_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                          const std::vector<std::int64_t>& shards) {
  return std::make_unique<DynamicStore>(layout, tables, shards);
}

std::int64_t most_places(const Table& table, std::int64_t most_rows) {
  if (table.dynamic.admission.kind == AdmissionKind::all) return most_rows;
  return table.dynamic.absent == AbsentRows::zero ? most_rows + 1 : 2 * most_rows;
}

std::int64_t steps_until_keys_are_known(const Table& /*table*/, std::int64_t batches) { return batches; }

bool values_are_saved(const Table& table) { return table.value_type != ValueType::int8; }

bool has_capacity(const Table& table) { return table.dynamic.eviction.capacity > 0; }

void require_capacity(Table& table, std::int64_t number, const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> named(static_cast<std::size_t>(key_buckets));
  for (const std::int64_t row : rows) ++named[KeyBuckets::of_table(number).bucket(row)];
  std::int64_t least = 0;
  for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket)
    if (named[bucket] > 0) least = std::max(least, (named[bucket] - 1) * key_buckets + bucket + 1);
  if (least <= table.dynamic.eviction.capacity) return;
  throw InputError(fmt::format(
      "table {}: a step names {} rows, up to {} of one of its {} buckets, which capacity {} does not hold; "
      "use capacity={} or more",
      table.name, rows.size(), std::ranges::max(named), key_buckets, table.dynamic.eviction.capacity, least));
}

/// Returns the bytes of counters that keys share, of a shard that has room for so many rows.
double shared_counter_bytes(const Table& table, const Admission& admission, double rows) {
  constexpr double most_of_arena = 1.25;  // with the lines that are free
  const BloomShape shape = bloom_shape(admission);
  const auto buckets = static_cast<double>(key_buckets);
  const double share = std::min(1.0, rows / static_cast<double>(std::max<std::int64_t>(1, table.most_rows())));
  double lines = buckets * share * static_cast<double>(shape.lines);
  if (!has_capacity(table)) {  // all keys that come have room: a layer is begun where half of the one before is used
    const double counters = 4.0 * static_cast<double>(shape.hashes) * rows;
    lines = std::min(lines, 2.0 * std::min(buckets, rows) * static_cast<double>(shape.first_lines) +
                                counters * static_cast<double>(shape.counter_bits) / (8.0 * BloomShape::line_bytes));
  }
  const double of_buckets =
      sizeof(kernels::CountedBucket) + sizeof(kernels::CounterRun) * static_cast<double>(shape.layers());
  return most_of_arena * lines * BloomShape::line_bytes + buckets * of_buckets;
}

double dynamic_bytes_beside(const Table& table, std::int64_t rows, std::int64_t columns) {
  constexpr double small_arrays = 0.6e6;          // of a table of keys that has few
  constexpr double of_key = 32.0, of_use = 24.0;  // while they grow: lines with room, and two arrays of uses
  const Admission admission = reference::rules_of(table).admission;
  const auto keys = static_cast<double>(rows);
  double bytes = small_arrays + keys * (of_key + of_use);
  if (admission.kind == AdmissionKind::counter) bytes += small_arrays + keys * (of_key + of_use);
  if (admission.kind == AdmissionKind::bloom) bytes += shared_counter_bytes(table, admission, keys);
  if (table.dynamic.eviction.kind != EvictionKind::none) bytes += keys * (sizeof(kernels::VictimCandidate) + 16.0);
  if (table.stochastic_rounding) bytes += 8.0 * static_cast<double>(most_places(table, rows));
  return bytes + placement::stored_bytes(table, most_places(table, rows) - rows, columns);
}

double dynamic_step_bytes(const Table& table, double ids, double distinct) {
  const bool filters = table.dynamic.admission.kind != AdmissionKind::all;
  return 36.0 * ids + (filters ? 160.0 : 96.0) * distinct;
}

nlohmann::ordered_json dynamic_details(std::span<const Table> tables, std::span<const std::int64_t> numbers,
                                       const StepMilliseconds& /*times*/) {
  namespace fields = results::dynamic_fields;
  const auto of = [&](DynamicNumber number) { return numbers[index_of(number)]; };
  const auto per = [](std::int64_t sum, std::int64_t count) {
    return count > 0 ? std::round(1e4 * static_cast<double>(sum) / static_cast<double>(count)) / 1e4 : 0.0;
  };
  const std::int64_t rows = of(DynamicNumber::rows), keys = of(DynamicNumber::key_bytes);
  return {{fields::tables, tables.size()},
          {fields::rows, rows},
          {fields::keys, fmt::format("{:016x}", static_cast<std::uint64_t>(of(DynamicNumber::keys)))},
          {fields::load, per(rows, of(DynamicNumber::room))},
          {fields::found, of(DynamicNumber::found)},
          {fields::admitted, of(DynamicNumber::admitted)},
          {fields::absent, of(DynamicNumber::absent)},
          {fields::evicted, of(DynamicNumber::evicted)},
          {fields::bytes_per_row, per(keys + of(DynamicNumber::row_bytes), rows)},
          {fields::key_bytes_per_row, per(keys, rows)}};
}

}  // namespace shardmark::workloads
