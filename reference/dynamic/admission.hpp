// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/dynamic/key_buckets.hpp"
#include "reference/named.hpp"

namespace shardmark::reference {

/// Selects which new keys a dynamic table admits. F is the same for all: a key is admitted in the step in which the
/// uses that were counted while it had no row reach F, those of that step included.
enum class AdmissionKind { all, counter, bloom };

inline constexpr std::array admissions{
    Choice<AdmissionKind>{"all", "every key, at its first use", AdmissionKind::all},
    Choice<AdmissionKind>{"counter", "counter:F, keys of F uses; a count for each key", AdmissionKind::counter},
    Choice<AdmissionKind>{"bloom", "bloom:F:p, the same, or fewer uses with probability p; counters that keys share",
                          AdmissionKind::bloom},
};
constexpr auto choices_of(AdmissionKind) { return Choices{"admission", admissions}; }

struct Admission {
  AdmissionKind kind = AdmissionKind::all;
  std::int64_t uses = 1;           ///< F
  double false_positives = 0.0;    ///< p of bloom
  std::int64_t expected_keys = 0;  ///< of bloom: keys that its counters are made for

  bool operator==(const Admission&) const = default;
};

/// Returns what `text` names: all, counter:F, bloom:F:p. Throws InputError for anything else, for F below 1 or above
/// 2^32 - 1, and for p outside (0, 1).
Admission admission_named(std::string_view text);
/// Returns the text that names it.
std::string text_of(const Admission& admission);

/// Describes the counters that keys of a bucket share (Fan et al., Summary Cache, IEEE/ACM ToN 2000). They come in
/// layers, each of which doubles them (Almeida et al., Scalable Bloom Filters, IPL 101, 2007), so that a bucket has
/// those for the keys that it has seen; the last layer completes those for the keys that are expected. Counters
/// saturate at F, take the bits of F rounded up to a power of two, and lie in lines of 64 bytes.
struct BloomShape {
  static constexpr std::int64_t line_bytes = 64;

  std::int64_t hashes = 0;  ///< k = ceil(log2(L / p)), at most L layers
  std::int64_t counter_bits = 1;
  std::int64_t first_lines = 1;  ///< of layer 0: the least of all buckets
  std::int64_t lines = 1;        ///< of all layers of a bucket

  /// Returns the line behind the last one of a layer. Buckets begin their doublings with numbers of their own, from 1
  /// to 2 times first_lines, so that they do not all double at once. The last layer has a third of all lines or more:
  /// it takes the keys that come beyond those that are expected. Behind it layers have no lines.
  constexpr std::int64_t end(std::int64_t bucket, std::int64_t layer) const {
    const std::int64_t of_bucket = 1024 + (static_cast<std::uint32_t>(bucket) * 2654435769U >> 22);
    const std::int64_t doubled = (first_lines << layer) * of_bucket / 1024;
    return 3 * doubled > 2 * lines ? lines : doubled;
  }
  /// Returns the first line of a layer.
  constexpr std::int64_t begin(std::int64_t bucket, std::int64_t layer) const {
    return layer > 0 ? end(bucket, layer - 1) : 0;
  }
  constexpr std::int64_t layer_of(std::int64_t bucket, std::int64_t line) const {
    std::int64_t layer = 0;
    while (line >= end(bucket, layer)) ++layer;
    return layer;
  }
  /// Returns the most layers that a bucket has.
  constexpr std::int64_t layers() const { return layer_of(0, lines - 1) + 1; }
  /// Returns how many counters a layer has: m.
  constexpr std::int64_t counters(std::int64_t bucket, std::int64_t layer) const {
    return (end(bucket, layer) - begin(bucket, layer)) * (8 * line_bytes / counter_bits);
  }
  /// Returns which of the counters of a layer hash number `hash` of a key is. bits: KeyBuckets::bits.
  static constexpr std::int64_t counter(std::uint64_t bits, std::int64_t hash, std::int64_t counters) {
    return static_cast<std::int64_t>(
        (next_random_bits(bits, static_cast<std::uint64_t>(hash)) >> 32) * static_cast<std::uint64_t>(counters) >> 32);
  }
  /// Returns how many layers a bucket has begun where `fresh` keys, at least one, are to be counted in its newest. No
  /// more than half of the counters of a layer are above 0, so that all k of a key that is not counted there are with
  /// probability 2^-k at most: a bucket that lacks such a layer begins the next one that is large enough, or the last,
  /// which takes all. begun: before; used: counters of the newest that are above 0.
  constexpr std::int64_t layers_for(std::int64_t bucket, std::int64_t begun, std::int64_t used,
                                    std::int64_t fresh) const {
    std::int64_t now = begun > 0 ? begun : 1;
    for (; end(bucket, now - 1) < lines && used + hashes * fresh > counters(bucket, now - 1) / 2; ++now) used = 0;
    return now;
  }

  /// Returns the number of a line of a bucket among those of all, and the bucket and the line that it names.
  static constexpr std::int64_t line_number(std::int64_t bucket, std::int64_t line) { return bucket << 32 | line; }
  static constexpr std::int64_t bucket_of_line(std::int64_t number) { return number >> 32; }
  static constexpr std::int64_t line_in_bucket(std::int64_t number) { return number & 0xffffffff; }
};

/// Returns the shape of the counters of every bucket: n keys fill half of m = k n / ln 2 counters.
inline BloomShape bloom_shape(const Admission& admission) {
  constexpr double first_keys = 16.0;  // that layer 0 is made for, in whole lines: half of them, or more
  const auto keys =
      static_cast<double>(std::max<std::int64_t>(1, (admission.expected_keys + key_buckets - 1) / key_buckets));
  const double most_layers = keys > first_keys ? 2.0 + std::ceil(std::log2(keys / first_keys)) : 1.0;
  BloomShape shape{.hashes = static_cast<std::int64_t>(std::ceil(std::log2(most_layers / admission.false_positives)))};
  const auto bits_of_uses = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(admission.uses)));
  shape.counter_bits = std::bit_ceil(bits_of_uses);
  const auto lines_of = [&](double counted) {
    const double counters = static_cast<double>(shape.hashes) * counted / std::log(2.0);
    return counters * static_cast<double>(shape.counter_bits) / (8.0 * BloomShape::line_bytes);
  };
  shape.lines = static_cast<std::int64_t>(std::ceil(lines_of(keys)));
  shape.first_lines =
      most_layers > 1.0 ? std::max<std::int64_t>(1, static_cast<std::int64_t>(lines_of(first_keys))) : shape.lines;
  return shape;
}

/// Adds uses to a count that saturates at `most`.
template <class Count>
constexpr Count add_saturated(Count count, std::int64_t uses, std::int64_t most) {
  return uses >= most - static_cast<std::int64_t>(count) ? static_cast<Count>(most)
                                                         : static_cast<Count>(static_cast<std::int64_t>(count) + uses);
}

/// Holds the uses of the distinct keys of a step.
using KeyUses = std::map<std::int64_t, std::int64_t>;

/// Counts keys that are absent from a table until they are admitted.
class KeyFilter {
 public:
  KeyFilter(const Admission& admission, const KeyBuckets& buckets);

  /// Counts the uses of the absent keys of a step, and returns those that it admits, ascending. What it does depends on
  /// the counts before the step, so that the order of keys does not matter where they share counters. A counter that
  /// belongs to one key forgets it when it is admitted; those that keys share keep what they counted, and so admit a
  /// key that was evicted at its next use.
  ///
  /// Of counters that keys share, a key is counted in the first layer in which all of its counters are above 0, and the
  /// least of them is its count; in the newest layer where there is none. Its counters are raised to its new count
  /// (conservative update: Estan, Varghese, SIGCOMM 2002). In layers that are not the newest none is raised from 0, so
  /// that a key stays in its layer, and is never counted too few times.
  std::vector<std::int64_t> admit(const KeyUses& absent);

  /// Returns the uses counted for an absent key, at most F.
  std::int64_t counted(std::int64_t key) const;

  /// Returns, of bloom, the counters of the layers that a bucket has begun: [layers, m], none of those that it passed
  /// over.
  const std::vector<std::vector<std::int64_t>>& layers(std::int64_t bucket) const { return layers_[bucket]; }

 private:
  struct Place {
    std::int64_t layer = -1, count = 0;  ///< -1: it is not counted
  };
  std::vector<std::int64_t> counters_of(std::int64_t key, std::int64_t layer) const;
  Place place(std::int64_t key) const;
  std::int64_t begin_layer(std::int64_t bucket, std::int64_t fresh);
  void count_in_bucket(std::int64_t bucket, const KeyUses& absent, std::vector<std::int64_t>& admitted);

  Admission admission_;
  KeyBuckets buckets_;
  BloomShape shape_;
  KeyUses counts_;                                              ///< of counter
  std::vector<std::vector<std::vector<std::int64_t>>> layers_;  ///< of bloom: [buckets, layers, m]
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Admission, reference::AdmissionKind, reference::BloomShape, reference::admissions,
    reference::bloom_shape, reference::text_of;
}  // namespace shardmark
