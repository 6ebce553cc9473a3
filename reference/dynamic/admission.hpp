// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

/// Describes the counters of one bucket (Fan et al., Summary Cache, IEEE/ACM ToN 2000). They saturate at F, so that
/// they fit into a byte for F up to 255, and no batch is too large for them.
struct BloomShape {
  std::int64_t hashes = 0;    ///< k = ceil(log2(1 / p))
  std::int64_t counters = 0;  ///< m = ceil(n ln(1 / p) / ln(2)^2), n keys

  /// Returns which counter of its bucket hash number `hash` of a key is. bits: KeyBuckets::bits.
  constexpr std::int64_t counter(std::uint64_t bits, std::int64_t hash) const {
    return static_cast<std::int64_t>(
        (next_random_bits(bits, static_cast<std::uint64_t>(hash)) >> 32) * static_cast<std::uint64_t>(counters) >> 32);
  }
};

/// Returns the shape of the counters of every bucket.
inline BloomShape bloom_shape(const Admission& admission) {
  const double of_p = -std::log(admission.false_positives);
  const auto keys = static_cast<double>((admission.expected_keys + key_buckets - 1) / key_buckets);
  return {static_cast<std::int64_t>(std::ceil(of_p / std::log(2.0))),
          static_cast<std::int64_t>(std::ceil(keys * of_p / (std::log(2.0) * std::log(2.0))))};
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

  /// Counts the uses of the absent keys of a step, and returns those that it admits, ascending. All uses are counted
  /// before the first key is admitted, so that the order of keys does not matter where they share counters. A counter
  /// that belongs to one key forgets it when it is admitted; those that keys share keep what they counted, and so admit
  /// a key that was evicted at its next use.
  std::vector<std::int64_t> admit(const KeyUses& absent);

  /// Returns the uses counted for an absent key, at most F.
  std::int64_t counted(std::int64_t key) const;

 private:
  std::vector<std::int64_t> counters_of(std::int64_t key) const;

  Admission admission_;
  KeyBuckets buckets_;
  BloomShape shape_;
  KeyUses counts_;                      ///< of counter
  std::vector<std::int64_t> counters_;  ///< of bloom: [buckets, counters]
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Admission, reference::AdmissionKind, reference::BloomShape, reference::admissions,
    reference::bloom_shape, reference::text_of;
}  // namespace shardmark
