// SPDX-License-Identifier: Apache-2.0
#include "kernels/dynamic/key_filter.hpp"

#include "kernels/dynamic/row_uses.hpp"
#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

template <class Exec>
KeyFilter<Exec>::KeyFilter(const Admission& admission, const KeyBuckets& mix) : admission_(admission), mix_(mix) {
  if (admission.kind == AdmissionKind::counter) counted_.emplace(mix);
  if (admission.kind == AdmissionKind::bloom) shared_.emplace(admission, mix);
}

template <class Exec>
std::int64_t KeyFilter<Exec>::bytes() const {
  return (counted_ ? counted_->bytes() : 0) + (shared_ ? shared_->bytes() : 0) +
         static_cast<std::int64_t>(sizeof(RowUse) * counts_.extent(0));
}

template <class Exec>
void KeyFilter<Exec>::put(const Exec& exec, ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, RowUse> counts) {
  const auto slots = slots_.first(static_cast<std::int64_t>(keys.extent(0)));
  const std::int64_t used = counted_->slot_bound();
  counted_->find_or_insert(exec, keys, slots);
  reserve(exec, counts_, used, counted_->slot_bound(), "shardmark::key_counts");
  set_uses<Exec>(exec, slots, counts, counts_);
}

template <class Exec>
void KeyFilter<Exec>::forget(const Exec& exec, ConstArray<Exec, std::int64_t> keys) {
  if (counted_ && counted_->keys() > 0) counted_->erase(exec, keys);
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
  counted_->find(exec, absent_keys, counted);
  const std::int64_t used = counted_->slot_bound();
  const auto added = counted_->insert(exec, absent_keys, counted);
  reserve(exec, counts_, used, counted_->slot_bound(), "shardmark::key_counts");
  clear_counts<Exec>(exec, added, counted, counts_);
  const std::int64_t admitted =
      count_and_list<Exec>(exec, step, admission_.uses, absent, uses, counted, counts_, slots, keys, absent_keys);
  counted_->erase(exec, Kokkos::subview(absent_keys, std::pair<std::int64_t, std::int64_t>(0, admitted)));
}

template <class Exec>
void KeyFilter<Exec>::admit(const Exec& exec, std::int64_t step, ConstArray<Exec, std::int64_t> keys,
                            ConstArray<Exec, std::int64_t> uses, Array<Exec, std::int64_t> slots) {
  if (admission_.kind == AdmissionKind::all) return;
  const auto absent = group_by_bucket<Exec>(exec, mix_, keys, slots, SlotsToSelect::missing, groups_);
  if (absent.positions() == 0) return;
  if (admission_.kind == AdmissionKind::counter)
    count_keys(exec, step, absent, keys, uses, slots);
  else
    shared_->count(exec, step, absent, keys, uses, slots);
}

template KeyFilter<DefaultSpace>::KeyFilter(const Admission&, const KeyBuckets&);
template std::int64_t KeyFilter<DefaultSpace>::bytes() const;
template void KeyFilter<DefaultSpace>::put(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>,
                                           ConstArray<DefaultSpace, RowUse>);
template void KeyFilter<DefaultSpace>::forget(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>);
template void KeyFilter<DefaultSpace>::admit(const DefaultSpace&, std::int64_t, ConstArray<DefaultSpace, std::int64_t>,
                                             ConstArray<DefaultSpace, std::int64_t>, Array<DefaultSpace, std::int64_t>);

}  // namespace shardmark::kernels
