// SPDX-License-Identifier: Apache-2.0
#include "kernels/dynamic/key_filter.hpp"

#include "kernels/dynamic/row_uses.hpp"
#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

template <class Exec>
KeyFilter<Exec>::KeyFilter(const Admission& admission, const KeyBuckets& mix)
    : admission_(admission), mix_(mix), counted_(mix) {
  if (admission.kind != AdmissionKind::bloom) return;
  const std::int64_t counters = key_buckets * bloom_shape(admission).counters;
  bytes_ = allocate<Exec, std::uint8_t>("shardmark::bloom_counters", in_bytes(admission) ? counters : 0);
  words_ = allocate<Exec, std::uint32_t>("shardmark::bloom_counters", in_bytes(admission) ? 0 : counters);
  last_ = allocate<Exec, std::uint32_t>("shardmark::bloom_steps", key_buckets);
  const Exec exec;
  Kokkos::deep_copy(exec, bytes_, std::uint8_t{0});
  Kokkos::deep_copy(exec, words_, 0U);
  Kokkos::deep_copy(exec, last_, 0U);
  exec.fence("shardmark: an empty filter of keys");
}

template <class Exec>
std::int64_t KeyFilter<Exec>::bytes() const {
  return counted_.bytes() + static_cast<std::int64_t>(bytes_.extent(0) + 4 * (words_.extent(0) + last_.extent(0)) +
                                                      sizeof(RowUse) * counts_.extent(0));
}

template <class Exec>
std::byte* KeyFilter<Exec>::counters() const {
  return in_bytes(admission_) ? reinterpret_cast<std::byte*>(bytes_.data())
                              : reinterpret_cast<std::byte*>(words_.data());
}

template <class Exec>
void KeyFilter<Exec>::put(const Exec& exec, ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, RowUse> counts) {
  const auto slots = slots_.first(static_cast<std::int64_t>(keys.extent(0)));
  const std::int64_t used = counted_.slot_bound();
  counted_.find_or_insert(exec, keys, slots);
  reserve(exec, counts_, used, counted_.slot_bound(), "shardmark::key_counts");
  set_uses<Exec>(exec, slots, counts, counts_);
}

template <class Exec>
void KeyFilter<Exec>::forget(const Exec& exec, ConstArray<Exec, std::int64_t> keys) {
  if (counted_.keys() > 0) counted_.erase(exec, keys);
}

/// Counts in one counter for each hash, a bucket in one thread; then marks the keys with a counter below F.
template <class Exec, class Counter>
void count_in_bloom(const Exec& exec, std::int64_t step, const Admission& admission, const KeyBuckets& mix,
                    const UniqueRows<Exec>& absent, const ConstArray<Exec, std::int64_t>& keys,
                    const ConstArray<Exec, std::int64_t>& uses, const Array<Exec, Counter>& counters,
                    const Array<Exec, std::uint32_t>& last, const Array<Exec, std::int64_t>& slots) {
  const BloomShape shape = bloom_shape(admission);
  const std::int64_t admitted = admission.uses;
  for_each_group(
      "shardmark::count_in_bloom", exec, absent,
      KOKKOS_LAMBDA(std::int64_t bucket, std::int64_t begin, std::int64_t end) {
        Counter* const own = counters.data() + bucket * shape.counters;
        last(bucket) = static_cast<std::uint32_t>(step);
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t p = absent.position(i);
          const std::uint64_t bits = mix.bits(keys(p));
          for (std::int64_t hash = 0; hash < shape.hashes; ++hash) {
            Counter& counter = own[shape.counter(bits, hash)];
            counter = reference::add_saturated(counter, uses(p), admitted);
          }
        }
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t p = absent.position(i);
          const std::uint64_t bits = mix.bits(keys(p));
          for (std::int64_t hash = 0; hash < shape.hashes; ++hash)
            if (own[shape.counter(bits, hash)] < admitted) slots(p) = not_admitted;
        }
      });
}

/// Copies the keys of the positions of `absent`, in its order.
template <class Exec>
void gather_absent(const Exec& exec, const UniqueRows<Exec>& absent, const ConstArray<Exec, std::int64_t>& keys,
                   const Array<Exec, std::int64_t>& to) {
  Kokkos::parallel_for(
      "shardmark::absent_keys", static_range(exec, absent.positions()),
      KOKKOS_LAMBDA(const std::int64_t i) { to(i) = keys(absent.position(i)); });
}

template <class Exec>
void clear_counts(const Exec& exec, const ConstArray<Exec, std::int64_t>& positions,
                  const Array<Exec, std::int64_t>& slots, const Array<Exec, RowUse>& counts) {
  Kokkos::parallel_for(
      "shardmark::clear_counts", static_range(exec, static_cast<std::int64_t>(positions.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { counts(slots(positions(i))) = RowUse{}; });
}

/// Adds the uses, marks the keys whose count is below F, and moves the others to the front of `absent_keys`, in their
/// order. Returns how many those are.
template <class Exec>
std::int64_t count_and_list(const Exec& exec, std::int64_t step, std::int64_t admitted, const UniqueRows<Exec>& absent,
                            const ConstArray<Exec, std::int64_t>& uses, const ConstArray<Exec, std::int64_t>& counted,
                            const Array<Exec, RowUse>& counts, const Array<Exec, std::int64_t>& slots,
                            const ConstArray<Exec, std::int64_t>& keys, const Array<Exec, std::int64_t>& absent_keys) {
  Kokkos::parallel_for(
      "shardmark::count_keys", static_range(exec, absent.positions()), KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t p = absent.position(i);
        RowUse& count = counts(counted(i));
        count = {static_cast<std::uint32_t>(step), reference::add_saturated(count.uses, uses(p), admitted)};
        if (count.uses < admitted) slots(p) = not_admitted;
      });
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "shardmark::admitted_keys", static_range(exec, absent.positions()),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& before, const bool final) {
        const std::int64_t p = absent.position(i);
        if (slots(p) != no_slot) return;
        if (final) absent_keys(before) = keys(p);
        ++before;
      },
      total);
  return total;
}

template <class Exec>
void KeyFilter<Exec>::count_keys(const Exec& exec, std::int64_t step, const UniqueRows<Exec>& absent,
                                 const ConstArray<Exec, std::int64_t>& keys, const ConstArray<Exec, std::int64_t>& uses,
                                 const Array<Exec, std::int64_t>& slots) {
  const auto absent_keys = keys_.first(absent.positions()), counted = slots_.first(absent.positions());
  gather_absent(exec, absent, keys, absent_keys);
  counted_.find(exec, absent_keys, counted);
  const std::int64_t used = counted_.slot_bound();
  const auto added = counted_.insert(exec, absent_keys, counted);
  reserve(exec, counts_, used, counted_.slot_bound(), "shardmark::key_counts");
  clear_counts<Exec>(exec, added, counted, counts_);
  const std::int64_t admitted =
      count_and_list<Exec>(exec, step, admission_.uses, absent, uses, counted, counts_, slots, keys, absent_keys);
  counted_.erase(exec, Kokkos::subview(absent_keys, std::pair<std::int64_t, std::int64_t>(0, admitted)));
}

template <class Exec>
void KeyFilter<Exec>::admit(const Exec& exec, std::int64_t step, ConstArray<Exec, std::int64_t> keys,
                            ConstArray<Exec, std::int64_t> uses, Array<Exec, std::int64_t> slots) {
  if (admission_.kind == AdmissionKind::all) return;
  const auto absent = group_by_bucket<Exec>(exec, mix_, keys, slots, SlotsToSelect::missing, groups_);
  if (absent.positions() == 0) return;
  if (admission_.kind == AdmissionKind::counter)
    count_keys(exec, step, absent, keys, uses, slots);
  else if (bytes_.extent(0) > 0)
    count_in_bloom<Exec>(exec, step, admission_, mix_, absent, keys, uses, bytes_, last_, slots);
  else
    count_in_bloom<Exec>(exec, step, admission_, mix_, absent, keys, uses, words_, last_, slots);
}

#define KEY_FILTER_ON(Exec)                                                                                  \
  template KeyFilter<Exec>::KeyFilter(const Admission&, const KeyBuckets&);                                  \
  template std::int64_t KeyFilter<Exec>::bytes() const;                                                      \
  template std::byte* KeyFilter<Exec>::counters() const;                                                     \
  template void KeyFilter<Exec>::put(const Exec&, ConstArray<Exec, std::int64_t>, ConstArray<Exec, RowUse>); \
  template void KeyFilter<Exec>::forget(const Exec&, ConstArray<Exec, std::int64_t>);                        \
  template void KeyFilter<Exec>::admit(const Exec&, std::int64_t, ConstArray<Exec, std::int64_t>,            \
                                       ConstArray<Exec, std::int64_t>, Array<Exec, std::int64_t>);
SHARDMARK_ON_EACH_SPACE(KEY_FILTER_ON)

}  // namespace shardmark::kernels
