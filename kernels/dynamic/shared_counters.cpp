// SPDX-License-Identifier: Apache-2.0
#include "kernels/dynamic/shared_counters.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {
namespace {

/// Is one counter in the lines of a layer.
struct SharedCounter {
  std::uint32_t* word;
  std::uint32_t shift, mask;

  KOKKOS_FORCEINLINE_FUNCTION SharedCounter(CounterLine* lines, std::int64_t number, std::int64_t bits)
      : word(lines->words + number * bits / 32),
        shift(static_cast<std::uint32_t>(number * bits % 32)),
        mask(bits < 32 ? (1U << bits) - 1 : ~0U) {}

  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t get() const { return *word >> shift & mask; }
  KOKKOS_FORCEINLINE_FUNCTION void set(std::uint32_t value) const {
    *word = (*word & ~(mask << shift)) | value << shift;
  }
};

/// Returns the layer of a key in the upper 32 bits, and its count in the others; 0 where it is not counted.
template <class Exec>
KOKKOS_INLINE_FUNCTION std::int64_t place_of(const SharedCounterArrays<Exec>& arrays, std::int64_t bucket,
                                             std::uint64_t bits) {
  const BloomShape& shape = arrays.shape;
  for (std::int64_t layer = 0; layer < arrays.buckets(bucket).layers; ++layer) {
    CounterLine* const lines = arrays.lines(bucket, layer);
    if (lines == nullptr) continue;
    const std::int64_t counters = shape.counters(bucket, layer);
    auto least = static_cast<std::uint32_t>(arrays.admitted);
    for (std::int64_t hash = 0; hash < shape.hashes && least > 0; ++hash)
      least =
          Kokkos::min(least, SharedCounter(lines, BloomShape::counter(bits, hash, counters), shape.counter_bits).get());
    if (least > 0) return layer << 32 | least;
  }
  return 0;
}

/// Raises the counters of a key among those of a layer. Returns how many of them were 0.
KOKKOS_INLINE_FUNCTION std::uint32_t raise_counters(const BloomShape& shape, CounterLine* lines, std::int64_t counters,
                                                    std::uint64_t bits, std::uint32_t count) {
  std::uint32_t zeros = 0;
  for (std::int64_t hash = 0; hash < shape.hashes; ++hash) {
    const SharedCounter counter(lines, BloomShape::counter(bits, hash, counters), shape.counter_bits);
    const std::uint32_t before = counter.get();
    zeros += before == 0 ? 1 : 0;
    if (before < count) counter.set(count);
  }
  return zeros;
}

}  // namespace

template <class Exec>
SharedCounters<Exec>::SharedCounters(const Admission& admission, const KeyBuckets& mix)
    : begun_(static_cast<std::size_t>(key_buckets)), host_wanted_(static_cast<std::size_t>(key_buckets)) {
  arrays_ = {mix,
             bloom_shape(admission),
             admission.uses,
             allocate<Exec, CountedBucket>("shardmark::counted_buckets", key_buckets),
             {}};
  const Exec exec;
  Kokkos::deep_copy(exec, arrays_.buckets, CountedBucket{});
  exec.fence("shardmark: no shared counters");
}

template <class Exec>
std::int64_t SharedCounters<Exec>::bytes() const {
  return static_cast<std::int64_t>(sizeof(CountedBucket) * arrays_.buckets.extent(0) +
                                   sizeof(CounterRun) * arrays_.layers.extent(0)) +
         arena_.lines() * std::int64_t{sizeof(CounterLine)};
}

/// Writes the places of absent keys before a step, and how many layers their buckets are to have begun.
template <class Exec>
void place_absent_keys(const Exec& exec, const SharedCounterArrays<Exec>& arrays, const UniqueRows<Exec>& absent,
                       const ConstArray<Exec, std::int64_t>& keys, const Array<Exec, std::int64_t>& places,
                       const Array<Exec, std::uint32_t>& wanted) {
  Kokkos::deep_copy(exec, wanted, 0U);
  for_each_group(
      "shardmark::place_absent_keys", exec, absent,
      KOKKOS_LAMBDA(std::int64_t bucket, std::int64_t begin, std::int64_t end) {
        std::int64_t fresh = 0;
        for (std::int64_t i = begin; i < end; ++i) {
          places(i) = place_of(arrays, bucket, arrays.mix.bits(keys(absent.position(i))));
          fresh += places(i) == 0 ? 1 : 0;
        }
        const CountedBucket& at = arrays.buckets(bucket);
        if (fresh > 0)
          wanted(bucket) = static_cast<std::uint32_t>(arrays.shape.layers_for(bucket, at.layers, at.used, fresh));
      });
}

/// Counts absent keys in the layers where they are, fresh ones in the newest.
template <class Exec>
void count_absent_keys(const Exec& exec, std::int64_t step, const SharedCounterArrays<Exec>& arrays,
                       const UniqueRows<Exec>& absent, const ConstArray<Exec, std::int64_t>& keys,
                       const ConstArray<Exec, std::int64_t>& uses, const ConstArray<Exec, std::int64_t>& places,
                       const ConstArray<Exec, std::uint32_t>& wanted, const Array<Exec, std::int64_t>& slots) {
  for_each_group(
      "shardmark::count_absent_keys", exec, absent,
      KOKKOS_LAMBDA(std::int64_t bucket, std::int64_t begin, std::int64_t end) {
        CountedBucket at = arrays.buckets(bucket);
        if (wanted(bucket) > at.layers) at = {wanted(bucket), 0, 0};
        at.last = static_cast<std::uint32_t>(step);
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t p = absent.position(i), layer = places(i) == 0 ? at.layers - 1 : places(i) >> 32;
          const std::uint32_t count =
              reference::add_saturated(static_cast<std::uint32_t>(places(i)), uses(p), arrays.admitted);
          const std::uint32_t zeros =
              raise_counters(arrays.shape, arrays.lines(bucket, layer), arrays.shape.counters(bucket, layer),
                             arrays.mix.bits(keys(p)), count);
          at.used += zeros;  // none but in the newest layer
          if (count < arrays.admitted) slots(p) = not_admitted;
        }
        arrays.buckets(bucket) = at;
      });
}

template <class Exec>
BegunLayer SharedCounters<Exec>::take_layer(std::int64_t bucket, std::int64_t layer) {
  const std::int64_t count = arrays_.shape.end(bucket, layer) - arrays_.shape.begin(bucket, layer);
  begun_[bucket] = std::max(begun_[bucket], static_cast<std::uint32_t>(layer + 1));
  return {bucket, layer, count, arena_.take(static_cast<std::uint32_t>(count))};
}

/// Clears lines of layers, and sets where they lie.
template <class Exec>
void clear_layers(const Exec& exec, const SharedCounterArrays<Exec>& arrays,
                  const ConstArray<Exec, BegunLayer>& begun) {
  Kokkos::parallel_for(
      "shardmark::begin_layers", dynamic_range(exec, static_cast<std::int64_t>(begun.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t line = 0; line < begun(i).count; ++line) begun(i).lines[line] = CounterLine{};
        arrays.lines(begun(i).bucket, begun(i).layer) = begun(i).lines;
      });
}

template <class Exec>
void SharedCounters<Exec>::begin_layers(const Exec& exec, const std::vector<BegunLayer>& begun) {
  if (begun.empty()) return;
  std::int64_t layers = 0;
  for (const BegunLayer& one : begun) layers = std::max(layers, one.layer + 1);
  const std::int64_t used = static_cast<std::int64_t>(arrays_.layers.extent(0)), wanted = layers * key_buckets;
  if (wanted > used) {
    const auto more = allocate<Exec, CounterRun>("shardmark::counter_layers", wanted);
    Kokkos::deep_copy(exec, more, CounterRun{});
    if (used > 0)
      copy_array(exec, Kokkos::subview(more, std::pair<std::int64_t, std::int64_t>(0, used)), arrays_.layers);
    arrays_.layers = more;
  }
  clear_layers<Exec>(exec, arrays_, begun_layers_.holding(exec, begun));
}

template <class Exec>
void SharedCounters<Exec>::count(const Exec& exec, std::int64_t step, const UniqueRows<Exec>& absent,
                                 ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, std::int64_t> uses,
                                 Array<Exec, std::int64_t> slots) {
  const auto places = places_.first(absent.positions());
  const auto wanted = wanted_.first(key_buckets);
  place_absent_keys(exec, arrays_, absent, keys, places, wanted);
  copy_array(exec, host_array(host_wanted_), wanted);
  exec.fence("shardmark: which buckets begin a layer of counters");
  std::vector<BegunLayer> begun;
  for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket)
    if (host_wanted_[bucket] > begun_[bucket]) begun.push_back(take_layer(bucket, host_wanted_[bucket] - 1));
  begin_layers(exec, begun);
  count_absent_keys<Exec>(exec, step, arrays_, absent, keys, uses, places, wanted, slots);
}

template <class Exec>
std::vector<std::int64_t> SharedCounters<Exec>::begun_lines() const {
  const auto buckets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), arrays_.buckets);
  const auto layers = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), arrays_.layers);
  const BloomShape& shape = arrays_.shape;
  std::vector<std::int64_t> numbers;
  for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket) {
    for (std::int64_t layer = 0; layer < buckets(bucket).layers; ++layer) {
      if (layers(layer * key_buckets + bucket).lines == nullptr) continue;
      for (std::int64_t line = shape.begin(bucket, layer); line < shape.end(bucket, layer); ++line)
        numbers.push_back(BloomShape::line_number(bucket, line));
    }
  }
  return numbers;
}

template <class Exec>
void copy_from_lines(const Exec& exec, const SharedCounterArrays<Exec>& arrays,
                     const ConstArray<Exec, std::int64_t>& numbers, const Array<Exec, CounterLine>& to) {
  Kokkos::parallel_for(
      "shardmark::read_counters", static_range(exec, static_cast<std::int64_t>(numbers.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { to(i) = arrays.line(numbers(i)); });
}

template <class Exec>
void copy_to_lines(const Exec& exec, const SharedCounterArrays<Exec>& arrays,
                   const ConstArray<Exec, std::int64_t>& numbers, const ConstArray<Exec, CounterLine>& from) {
  Kokkos::parallel_for(
      "shardmark::write_counters", static_range(exec, static_cast<std::int64_t>(numbers.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { arrays.line(numbers(i)) = from(i); });
}

template <class Exec>
void SharedCounters<Exec>::read_lines(const Exec& exec, ConstArray<Exec, std::int64_t> numbers,
                                      Array<Exec, CounterLine> to) const {
  copy_from_lines<Exec>(exec, arrays_, numbers, to);
  exec.fence("shardmark: lines of counters are read");
}

/// Sets what is known of some buckets from their counters.
template <class Exec>
void count_used(const Exec& exec, const SharedCounterArrays<Exec>& arrays, const ConstArray<Exec, std::int64_t>& some,
                const ConstArray<Exec, std::uint32_t>& layers) {
  Kokkos::parallel_for(
      "shardmark::count_used_counters", dynamic_range(exec, static_cast<std::int64_t>(some.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t newest = layers(i) - 1;
        CounterLine* const lines = arrays.lines(some(i), newest);
        std::uint32_t used = 0;
        for (std::int64_t counter = 0; counter < arrays.shape.counters(some(i), newest); ++counter)
          used += SharedCounter(lines, counter, arrays.shape.counter_bits).get() > 0 ? 1 : 0;
        CountedBucket& at = arrays.buckets(some(i));
        at = {layers(i), used, Kokkos::max(at.last, 1U)};
      });
}

template <class Exec>
void SharedCounters<Exec>::write_lines(const Exec& exec, const std::vector<std::int64_t>& numbers,
                                       ConstArray<Exec, CounterLine> from) {
  const auto host_layers = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), arrays_.layers);
  std::vector<BegunLayer> begun;
  std::vector<std::int64_t> some;
  for (const std::int64_t number : numbers) {
    const std::int64_t bucket = BloomShape::bucket_of_line(number);
    const std::int64_t layer = arrays_.shape.layer_of(bucket, BloomShape::line_in_bucket(number));
    const auto at = static_cast<std::size_t>(layer * key_buckets + bucket);
    const bool is_there = at < host_layers.extent(0) && host_layers(at).lines != nullptr;
    const bool is_taken = !begun.empty() && begun.back().bucket == bucket && begun.back().layer == layer;
    if (!is_there && !is_taken) begun.push_back(take_layer(bucket, layer));
    if (some.empty() || some.back() != bucket) some.push_back(bucket);
  }
  begin_layers(exec, begun);
  copy_to_lines<Exec>(exec, arrays_, array_of(exec, numbers, "shardmark::counter_lines"), from);
  std::vector<std::uint32_t> layers;
  for (const std::int64_t bucket : some) layers.push_back(begun_[bucket]);
  count_used<Exec>(exec, arrays_, array_of(exec, some, "shardmark::counted_buckets"),
                   array_of(exec, layers, "shardmark::counted_layers"));
  exec.fence("shardmark: lines of counters are written");
}

template SharedCounters<DefaultSpace>::SharedCounters(const Admission&, const KeyBuckets&);
template std::int64_t SharedCounters<DefaultSpace>::bytes() const;
template void SharedCounters<DefaultSpace>::count(const DefaultSpace&, std::int64_t, const UniqueRows<DefaultSpace>&,
                                                  ConstArray<DefaultSpace, std::int64_t>,
                                                  ConstArray<DefaultSpace, std::int64_t>,
                                                  Array<DefaultSpace, std::int64_t>);
template std::vector<std::int64_t> SharedCounters<DefaultSpace>::begun_lines() const;
template void SharedCounters<DefaultSpace>::read_lines(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>,
                                                       Array<DefaultSpace, CounterLine>) const;
template void SharedCounters<DefaultSpace>::write_lines(const DefaultSpace&, const std::vector<std::int64_t>&,
                                                        ConstArray<DefaultSpace, CounterLine>);

}  // namespace shardmark::kernels
