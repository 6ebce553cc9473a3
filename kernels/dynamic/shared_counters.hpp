// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dynamic/key_table.hpp"
#include "reference/dynamic/admission.hpp"

namespace shardmark::kernels {

/// Is a cache line of counters of BloomShape::counter_bits each, from the lowest bits of a word on.
struct alignas(cache_line) CounterLine {
  std::uint32_t words[cache_line / 4];
};
static_assert(sizeof(CounterLine) == BloomShape::line_bytes);

/// Holds where the lines of a layer of a bucket lie; null where it has none.
struct CounterRun {
  CounterLine* lines = nullptr;
};

/// Holds what is known of the counters of a bucket.
struct CountedBucket {
  std::uint32_t layers = 0;  ///< that it has begun
  std::uint32_t used = 0;    ///< counters of the newest that are above 0
  std::uint32_t last = 0;    ///< step that counted a key
};

/// Is what kernels read and change of SharedCounters. One thread at a time changes a bucket.
template <class Exec>
struct SharedCounterArrays {
  KeyBuckets mix;
  BloomShape shape;
  std::int64_t admitted = 1;           ///< F
  Array<Exec, CountedBucket> buckets;  ///< [key_buckets]
  Array<Exec, CounterRun> layers;      ///< [layers, key_buckets]

  KOKKOS_FORCEINLINE_FUNCTION CounterLine*& lines(std::int64_t bucket, std::int64_t layer) const {
    return layers(layer * key_buckets + bucket).lines;
  }
  /// Returns the line of a number, BloomShape::line_number.
  KOKKOS_FORCEINLINE_FUNCTION CounterLine& line(std::int64_t number) const {
    const std::int64_t bucket = BloomShape::bucket_of_line(number), at = BloomShape::line_in_bucket(number);
    const std::int64_t layer = shape.layer_of(bucket, at);
    return lines(bucket, layer)[at - shape.begin(bucket, layer)];
  }
};

/// Says where the lines of a layer of a bucket are to lie.
struct BegunLayer {
  std::int64_t bucket, layer, count;
  CounterLine* lines;
};

/// Counts keys of dynamic tables in counters that they share, by the rule of reference::KeyFilter, with the same
/// counters. Layers take memory as buckets begin them, and do not move.
template <class Exec>
class SharedCounters {
 public:
  SharedCounters(const Admission& admission, const KeyBuckets& mix);

  /// Counts the uses of absent keys in a step, and sets the slots of those that are not admitted to not_admitted.
  /// absent: their positions by bucket. Waits for the device.
  void count(const Exec& exec, std::int64_t step, const UniqueRows<Exec>& absent, ConstArray<Exec, std::int64_t> keys,
             ConstArray<Exec, std::int64_t> uses, Array<Exec, std::int64_t> slots);

  /// These are for checkpoints, and go by BloomShape::line_number. begun_lines() lists the lines that buckets have,
  /// ascending. write_lines() begins the layers that its lines are of. numbers: ascending. They wait for the device.
  std::vector<std::int64_t> begun_lines() const;
  void read_lines(const Exec& exec, ConstArray<Exec, std::int64_t> numbers, Array<Exec, CounterLine> to) const;
  void write_lines(const Exec& exec, const std::vector<std::int64_t>& numbers, ConstArray<Exec, CounterLine> from);

  ConstArray<Exec, CountedBucket> buckets() const { return arrays_.buckets; }  ///< [key_buckets]

  /// Returns the bytes of its arrays, workspace left out.
  std::int64_t bytes() const;

 private:
  BegunLayer take_layer(std::int64_t bucket, std::int64_t layer);
  void begin_layers(const Exec& exec, const std::vector<BegunLayer>& begun);

  SharedCounterArrays<Exec> arrays_;
  LineArena<Exec, CounterLine> arena_{"shardmark::counter_lines"};
  std::vector<std::uint32_t> begun_;  ///< [key_buckets] the layers of buckets, on the host

  Scratch<Exec, std::int64_t> places_{"shardmark::counted_before"};
  Scratch<Exec, std::uint32_t> wanted_{"shardmark::wanted_layers"};
  Scratch<Exec, BegunLayer> begun_layers_{"shardmark::begun_layers"};
  std::vector<std::uint32_t> host_wanted_;
};

}  // namespace shardmark::kernels
