// SPDX-License-Identifier: Apache-2.0
// shardmark-hash-maps: the key table of dynamic tables beside hash maps of others, in turns. scripts/peers/hash_maps
// builds it, runs it and compares. Maps that are not installed are left out.
#include <malloc.h>

#include <Kokkos_UnorderedMap.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kernels/bench/keyed_rows.hpp"
#include "kernels/ceilings.hpp"
#include "reference/error.hpp"
#include "reference/number.hpp"
#if __has_include(<absl/container/flat_hash_map.h>)
#include <absl/container/flat_hash_map.h>
#define SHARDMARK_HAS_ABSL
#endif
#if __has_include(<ankerl/unordered_dense.h>)
#include <ankerl/unordered_dense.h>
#define SHARDMARK_HAS_ANKERL
#endif
#if __has_include(<boost/unordered/unordered_flat_map.hpp>)
#include <boost/unordered/unordered_flat_map.hpp>
#define SHARDMARK_HAS_BOOST
#endif
#if __has_include(<gtl/phmap.hpp>)
#include <gtl/phmap.hpp>
#define SHARDMARK_HAS_GTL
#endif
#if __has_include(<tsl/robin_map.h>)
#include <tsl/robin_map.h>
#define SHARDMARK_HAS_ROBIN_MAP
#endif

namespace shardmark::kernels::bench {
namespace {

using Exec = DefaultSpace;
using Keys = std::vector<std::int64_t>;
constexpr int dim = 16;
constexpr std::size_t batch_count = 8;

struct Options {
  std::int64_t keys = 8'000'000;
  std::int64_t batch = 262'144;
  std::int64_t insert_batch = 65'536;
  std::int64_t calls = 16;
  std::int64_t seed = 1;
  std::int64_t tuned = 0;  ///< all memory lies in huge pages that have been touched before
};
Options options;
std::string_view only;  ///< systems whose names hold this; empty: all

/// Bytes that the maps have asked for, and the most that they had at a time.
struct Asked {
  std::atomic<std::int64_t> bytes{0}, most{0};
};
Asked asked;

/// The allocator of the maps.
template <class T>
struct CountedAllocator {
  using value_type = T;
  CountedAllocator() = default;
  template <class U>
  CountedAllocator(const CountedAllocator<U>&) {}  // NOLINT: allocators convert
  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    void* const memory = std::aligned_alloc(std::max<std::size_t>(alignof(T), 16), (bytes + 15) / 16 * 16);
    if (memory == nullptr) throw std::bad_alloc();
    const std::int64_t now = asked.bytes += static_cast<std::int64_t>(bytes);
    for (std::int64_t most = asked.most; most < now && !asked.most.compare_exchange_weak(most, now);) {
    }
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t n) {
    asked.bytes -= static_cast<std::int64_t>(n * sizeof(T));
    std::free(memory);
  }
  bool operator==(const CountedAllocator&) const = default;
};
using Entry = std::pair<const std::int64_t, std::uint32_t>;

/// A batch of keys that are all there, distinct, as they come and dealt to threads, each of which has a map.
struct Batch {
  Keys keys;
  std::vector<Keys> of_threads;
  Array<Exec, std::int64_t> array;
};

int threads() { return Exec().concurrency(); }
std::size_t thread_of(std::int64_t key) {
  return random_bits(std::uint64_t{99}, key) % static_cast<std::uint64_t>(threads());
}

Batch batch_of(Keys keys) {
  Batch batch{std::move(keys), std::vector<Keys>(static_cast<std::size_t>(threads())), {}};
  for (const std::int64_t key : batch.keys) batch.of_threads[thread_of(key)].push_back(key);
  batch.array = array_of(Exec(), batch.keys, "shardmark::bench_keys");
  return batch;
}

/// What all systems share: the rows by slot, the gradients by place in the batch, and where results go.
struct Memory {
  KeyedRows<dim> rows;
  Array<Exec, float> gradients, sums;
  Array<Exec, std::int64_t> slots;
};

/// A system under test.
class System {
 public:
  virtual ~System() = default;
  virtual void clear() = 0;
  virtual void insert(const Batch& batch) = 0;  ///< of new keys
  virtual void find(const Batch& batch, const Memory& memory) = 0;
  virtual void find_sum(const Batch& batch, const Memory& memory) = 0;
  virtual void find_update(const Batch& batch, const Memory& memory) = 0;
  virtual std::int64_t most_bytes() const = 0;  ///< at a time, since clear(); 0 where nobody counts them
};

class Ours : public System {
 public:
  void clear() override {
    table_.reset();
    table_ = std::make_unique<KeyTable<Exec>>(KeyBuckets::of_table(0));
    most_bytes_ = 0;
  }
  void insert(const Batch& batch) override {
    const auto slots = slots_.first(std::ssize(batch.keys));
    table_->find_or_insert(Exec(), batch.array, slots);
    most_bytes_ = std::max(most_bytes_, table_->bytes());
  }
  void find(const Batch& batch, const Memory& memory) override { table_->find(Exec(), batch.array, memory.slots); }
  void find_sum(const Batch& batch, const Memory& memory) override {
    sum_found_rows<dim>(Exec(), table_->arrays(), memory.rows, batch.array, memory.sums);
  }
  void find_update(const Batch& batch, const Memory& memory) override {
    update_found_rows<dim>(Exec(), table_->arrays(), memory.rows, batch.array, memory.gradients);
  }
  std::int64_t most_bytes() const override { return most_bytes_; }

 private:
  std::unique_ptr<KeyTable<Exec>> table_;
  Scratch<Exec, std::int64_t> slots_{"shardmark::bench_slots"};
  std::int64_t most_bytes_ = 0;
};

/// Calls body(thread) on each thread. (Not by Kokkos, whose map starts kernels of its own where it is rehashed.)
template <class Body>
void on_threads(const Body& body) {
#pragma omp parallel for schedule(static, 1) num_threads(threads())
  for (int thread = 0; thread < threads(); ++thread) body(static_cast<std::size_t>(thread));
}

/// A map of the standard's interface for each thread.
template <class Map>
struct StandardMap {
  Map map;
  std::uint32_t slot(std::int64_t key) const { return map.find(key)->second; }
  void insert(std::int64_t key, std::uint32_t slot) { map.emplace(key, slot); }
  std::int64_t size() const { return static_cast<std::int64_t>(map.size()); }
};

/// Kokkos's map does not grow by itself, and may refuse keys while it has room: it is rehashed and asked again.
struct KokkosMap {
  Kokkos::UnorderedMap<std::int64_t, std::uint32_t, Kokkos::HostSpace> map{1024};
  std::uint32_t slot(std::int64_t key) const { return map.value_at(map.find(key)); }
  void insert(std::int64_t key, std::uint32_t slot) {
    if (keys == map.capacity() / 4 * 3) map.rehash(2 * map.capacity());
    while (map.insert(key, slot).failed()) map.rehash(2 * map.capacity());
    ++keys;
  }
  std::int64_t size() const { return keys; }
  std::uint32_t keys = 0;  ///< its own size() counts them
};

template <class Map>
class MapOfEachThread : public System {
 public:
  void clear() override {
    maps_.clear();
    asked.most = asked.bytes.load();
    before_ = asked.bytes;
    maps_.resize(static_cast<std::size_t>(threads()));
  }
  void insert(const Batch& batch) override {
    on_threads([&](std::size_t thread) {
      Map& map = maps_[thread];
      const auto count = static_cast<std::uint32_t>(threads());
      for (const std::int64_t key : batch.of_threads[thread])
        map.insert(key, static_cast<std::uint32_t>(map.size()) * count + static_cast<std::uint32_t>(thread));
    });
  }
  void find(const Batch& batch, const Memory& memory) override {
    each(batch, [&](std::int64_t place, std::uint32_t slot) { memory.slots(place) = slot; });
  }
  void find_sum(const Batch& batch, const Memory& memory) override {
    each(batch, [&](std::int64_t place, std::uint32_t slot) { memory.sums(place) = memory.rows.sum(slot); });
  }
  void find_update(const Batch& batch, const Memory& memory) override {
    each(batch, [&](std::int64_t place, std::uint32_t slot) {
      memory.rows.update(slot, memory.gradients.data() + place * dim);
    });
  }
  std::int64_t most_bytes() const override { return asked.most - before_; }

 private:
  template <class Use>
  void each(const Batch& batch, const Use& use) {
    on_threads([&](std::size_t thread) {
      const Map& map = maps_[thread];
      std::int64_t place = 0;
      for (std::size_t before = 0; before < thread; ++before) place += std::ssize(batch.of_threads[before]);
      for (const std::int64_t key : batch.of_threads[thread]) use(place++, map.slot(key));
    });
  }
  std::vector<Map> maps_;
  std::int64_t before_ = 0;
};

/// Ceilings: rows whose slots are known; and lines at random, each of which says which row is read or updated next.
class Known : public System {
 public:
  explicit Known(bool behind_a_line) : behind_a_line_(behind_a_line) {}
  void clear() override { lines_ = {}; }
  void insert(const Batch&) override {}
  void find(const Batch& batch, const Memory& memory) override {
    each(
        batch, [](std::int64_t) {}, [&](std::int64_t i, std::int64_t slot) { memory.slots(i) = slot; });
  }
  void find_sum(const Batch& batch, const Memory& memory) override {
    each(
        batch, [&](std::int64_t slot) { memory.rows.ask(slot); },
        [&](std::int64_t i, std::int64_t slot) { memory.sums(i) = memory.rows.sum(slot); });
  }
  void find_update(const Batch& batch, const Memory& memory) override {
    each(
        batch, [&](std::int64_t slot) { memory.rows.ask_to_update(slot); },
        [&](std::int64_t i, std::int64_t slot) { memory.rows.update(slot, memory.gradients.data() + i * dim); });
  }
  std::int64_t most_bytes() const override { return 0; }

 private:
  struct Line {
    std::int64_t slot;
    std::int64_t others[7];
  };
  /// Slots, and lines, are the keys scaled to as many as there are.
  static std::int64_t scaled_key(std::int64_t key, std::int64_t bound) {
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(key) >> 32) * static_cast<std::uint64_t>(bound) >> 32);
  }
  template <class Ask, class Use>
  void each(const Batch& batch, const Ask& ask, const Use& use) {
    constexpr std::int64_t lines_ahead = 32, rows_ahead = 16;
    const std::int64_t n = std::ssize(batch.keys), rows = options.keys, line_count = rows / 3;
    if (behind_a_line_ && lines_.extent(0) == 0) {
      lines_ = allocate<Exec, Line>("shardmark::bench_lines", line_count);
      for (std::int64_t i = 0; i < line_count; ++i)
        lines_(i).slot = scaled_key(static_cast<std::int64_t>(random_bits(7, i)), rows);
    }
    const std::int64_t share = (n + threads() - 1) / threads();
    on_threads([&](std::size_t thread) {
      const std::int64_t begin = static_cast<std::int64_t>(thread) * share, end = std::min(n, begin + share);
      const auto line = [&](std::int64_t i) { return &lines_(scaled_key(batch.keys[i], line_count)); };
      const auto slot = [&](std::int64_t i) {
        return behind_a_line_ ? line(i)->slot : scaled_key(batch.keys[i], rows);
      };
      for (std::int64_t i = begin - lines_ahead; i < end; ++i) {
        if (behind_a_line_ && i + lines_ahead < end) prefetch(line(i + lines_ahead), cache_line);
        if (i + rows_ahead >= begin && i + rows_ahead < end) ask(slot(i + rows_ahead));
        if (i >= begin) use(i, slot(i));
      }
    });
  }
  bool behind_a_line_;
  Array<Exec, Line> lines_;
};

struct NamedSystem {
  std::string_view name;
  std::unique_ptr<System> system;
};

template <class Map>
NamedSystem standard(std::string_view name) {
  return {name, std::make_unique<MapOfEachThread<StandardMap<Map>>>()};
}

std::vector<NamedSystem> systems() {
  std::vector<NamedSystem> all;
  using Key = std::int64_t;
  using Slot = std::uint32_t;
  using Equal = std::equal_to<Key>;
  using Allocator = CountedAllocator<Entry>;
  all.push_back({"shardmark", std::make_unique<Ours>()});
  all.push_back({"known slots", std::make_unique<Known>(false)});
  all.push_back({"two dependent reads", std::make_unique<Known>(true)});
  all.push_back(standard<std::unordered_map<Key, Slot, std::hash<Key>, Equal, Allocator>>("std::unordered_map"));
  all.push_back({"Kokkos::UnorderedMap", std::make_unique<MapOfEachThread<KokkosMap>>()});
#ifdef SHARDMARK_HAS_ABSL
  all.push_back(
      standard<absl::flat_hash_map<Key, Slot, absl::container_internal::hash_default_hash<Key>, Equal, Allocator>>(
          "absl::flat_hash_map"));
#endif
#ifdef SHARDMARK_HAS_ANKERL
  all.push_back(
      standard<ankerl::unordered_dense::map<Key, Slot, ankerl::unordered_dense::hash<Key>, Equal,
                                            CountedAllocator<std::pair<Key, Slot>>>>("ankerl::unordered_dense"));
#endif
#ifdef SHARDMARK_HAS_BOOST
  all.push_back(
      standard<boost::unordered_flat_map<Key, Slot, boost::hash<Key>, Equal, Allocator>>("boost::unordered_flat_map"));
#endif
#ifdef SHARDMARK_HAS_GTL
  all.push_back(standard<gtl::flat_hash_map<Key, Slot, gtl::priv::hash_default_hash<Key>, Equal, Allocator>>(
      "gtl::flat_hash_map"));
#endif
#ifdef SHARDMARK_HAS_ROBIN_MAP
  all.push_back(standard<tsl::robin_map<Key, Slot, std::hash<Key>, Equal, CountedAllocator<std::pair<Key, Slot>>>>(
      "tsl::robin_map"));
#endif
  return all;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0.0 : values[values.size() / 2];
}

void print(std::string_view operation, std::string_view system, double nanoseconds, const std::string& more = "") {
  std::printf(R"({"record": "time", "operation": "%s", "system": "%s", "ns": %.4f%s})"
              "\n",
              std::string(operation).c_str(), std::string(system).c_str(), nanoseconds, more.c_str());
  std::fflush(stdout);
}

/// Inserts all keys into an empty table, batch by batch. Prints the time of a key, and of the slowest batch in those of
/// the median one, of the batches from an eighth of the keys on.
void grow(const NamedSystem& of, const std::vector<Batch>& batches, bool printed) {
  of.system->clear();
  std::vector<double> times;
  double total = 0.0;
  for (const Batch& batch : batches) {
    times.push_back(seconds(Exec(), [&] { of.system->insert(batch); }));
    total += times.back();
  }
  if (!printed) return;
  times.erase(times.begin(), times.begin() + std::ssize(times) / 8);
  const double worst = *std::ranges::max_element(times) / median(times);
  char more[128];
  const std::int64_t bytes = of.system->most_bytes();
  std::snprintf(more, sizeof(more),
                bytes > 0 ? R"(, "worst_batch": %.3f, "bytes_per_key": %.2f)" : R"(, "worst_batch": %.3f)", worst,
                static_cast<double>(bytes) / static_cast<double>(options.keys));
  print("insert", of.name, total * 1e9 / static_cast<double>(options.keys), more);
}

void run() {
  std::mt19937_64 random(static_cast<std::uint64_t>(options.seed));
  Keys keys(static_cast<std::size_t>(options.keys));
  for (auto& key : keys) key = static_cast<std::int64_t>(random());
  std::vector<Batch> growth;
  for (std::size_t first = 0; first < keys.size(); first += static_cast<std::size_t>(options.insert_batch))
    growth.push_back(
        batch_of({keys.begin() + static_cast<std::int64_t>(first),
                  keys.begin() + std::min(options.keys, static_cast<std::int64_t>(first) + options.insert_batch)}));
  std::ranges::shuffle(keys, random);
  std::vector<Batch> batches;
  for (std::size_t b = 0; b < batch_count; ++b) {
    const std::int64_t first = static_cast<std::int64_t>(b) * options.batch;
    batches.push_back(batch_of({keys.begin() + first, keys.begin() + first + options.batch}));
  }
  // A thread's slots are its own: there may be some more than there are keys.
  const std::int64_t slots = options.keys + options.keys / 8;
  const Memory memory{{allocate<Exec, float>("shardmark::bench_rows", slots * dim),
                       allocate<Exec, float>("shardmark::bench_state", slots)},
                      allocate<Exec, float>("shardmark::bench_gradients", options.batch * dim),
                      allocate<Exec, float>("shardmark::bench_sums", options.batch),
                      allocate<Exec, std::int64_t>("shardmark::bench_slots", options.batch)};
  Kokkos::deep_copy(memory.rows.values, 1.0F);
  Kokkos::deep_copy(memory.rows.state, 1.0F);
  Kokkos::deep_copy(memory.gradients, 0x1p-10F);

  auto all = systems();
  std::erase_if(all, [](const NamedSystem& system) { return system.name.find(only) == std::string_view::npos; });
  std::ranges::shuffle(all, random);
  for (const NamedSystem& of : all) {
    grow(of, growth, dynamic_cast<Known*>(of.system.get()) == nullptr);
  }
  using Operation = void (System::*)(const Batch&, const Memory&);
  constexpr std::array<std::pair<std::string_view, Operation>, 3> operations{
      {{"find", &System::find}, {"find_sum", &System::find_sum}, {"find_update", &System::find_update}}};
  for (const auto& [name, operation] : operations) {
    std::vector<std::vector<double>> times(all.size());
    for (std::int64_t call = -2; call < options.calls; ++call)  // systems take turns
      for (std::size_t s = 0; s < all.size(); ++s) {
        const Batch& batch = batches[static_cast<std::size_t>(call + 2) % batch_count];
        const double time = seconds(Exec(), [&] { ((*all[s].system).*operation)(batch, memory); });
        if (call >= 0) times[s].push_back(time);
      }
    for (std::size_t s = 0; s < all.size(); ++s)
      print(name, all[s].name, median(times[s]) * 1e9 / static_cast<double>(options.batch));
  }
}

/// Makes the heap, which all memory comes from now on, so large that it need not grow: in huge pages, touched.
void touch_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  const std::int64_t bytes = 512 * options.keys;
  void* const memory = std::malloc(static_cast<std::size_t>(bytes));
  if (memory == nullptr) throw std::bad_alloc();
  advise_huge_pages(memory, bytes);
  for (std::int64_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(memory)[at] = 0;
  std::free(memory);
}

void parse(int argc, char** argv) {
  struct Known {
    std::string_view name;
    std::int64_t& value;
  };
  const Known known[] = {
      {"--keys=", options.keys},   {"--batch=", options.batch}, {"--insert-batch=", options.insert_batch},
      {"--calls=", options.calls}, {"--seed=", options.seed},   {"--tuned=", options.tuned}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument.starts_with("--only=")) {
      only = argument.substr(7);
      continue;
    }
    const auto* const option =
        std::ranges::find_if(known, [&](const Known& k) { return argument.starts_with(k.name); });
    const auto value = option == std::end(known) ? std::nullopt : whole_number_in(argument.substr(option->name.size()));
    if (!value || *value < 0)
      throw InputError("unknown argument '" + std::string(argument) +
                       "'; give --keys=N --batch=N --insert-batch=N --calls=N --seed=N --tuned=0|1 --only=NAME");
    option->value = *value;
  }
  if (options.batch < 1 || options.insert_batch < 1 || options.calls < 1 ||
      options.keys < static_cast<std::int64_t>(batch_count) * options.batch)
    throw InputError("--keys must be at least " + std::to_string(batch_count) + " times --batch, all of them above 0");
}

}  // namespace
}  // namespace shardmark::kernels::bench

int main(int argc, char** argv) {
  try {
    Kokkos::ScopeGuard kokkos(argc, argv);
    shardmark::kernels::bench::parse(argc, argv);
    if (shardmark::kernels::bench::options.tuned != 0) {
      shardmark::kernels::bench::touch_memory();
    }
    shardmark::kernels::bench::run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shardmark-hash-maps: %s\n", error.what());
    return 2;
  }
}
