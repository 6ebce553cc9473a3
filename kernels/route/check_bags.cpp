// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/check_bags.hpp"

#include "kernels/instantiate.hpp"
#include "reference/error.hpp"

namespace shardmark::kernels {

/// Holds the faults that were found in the ids and weights of some bags.
struct BagFaults {
  static constexpr std::int64_t none = std::int64_t{1} << 62;

  std::int64_t bad_offset = none;    ///< first i at which offsets[i] is no good
  std::int64_t bad_position = none;  ///< first position of a bad id or weight
  std::int64_t ids = 0;              ///< how many are bad
  std::int64_t weights = 0;          ///< how many are not finite

  KOKKOS_FUNCTION void operator+=(const BagFaults& other) {
    bad_offset = Kokkos::min(bad_offset, other.bad_offset);
    bad_position = Kokkos::min(bad_position, other.bad_position);
    ids += other.ids;
    weights += other.weights;
  }
};

/// Inspects the bags of one range: all of one feature at a time, in loops that only note whether anything is bad.
template <class Exec, class Index>
struct FindBagFaults {
  Bags<Exec, Index> bags;
  ConstArray<Exec, KeyRange> keys;
  std::int64_t nnz;

  static constexpr std::int64_t grain = on_device<Exec> ? 8 : 2048;

  KOKKOS_FUNCTION void operator()(std::int64_t range, BagFaults& faults) const {
    const auto features = static_cast<std::int64_t>(keys.extent(0));
    const std::int64_t bag_count = static_cast<std::int64_t>(bags.offsets.extent(0)) - 1;
    const std::int64_t end = Kokkos::min(bag_count, (range + 1) * grain);
    std::int64_t bag = range * grain;
    if (bag == 0 && bags.offsets(0) != 0) faults.bad_offset = 0;
    for (std::int64_t f = last_at_most(features, bag, bags.first_bag); bag < end && f < features; ++f) {
      const std::int64_t stop = Kokkos::min(end, bags.first_bag(f + 1));
      if (bag < stop) look_at(bag, stop, keys(f), faults);
      bag = Kokkos::max(bag, stop);
    }
    if (end == bag_count && bags.offsets(bag_count) != nnz)
      faults.bad_offset = Kokkos::min(faults.bad_offset, bag_count + 1);
  }

  KOKKOS_INLINE_FUNCTION bool bad_id(std::int64_t i, const KeyRange& range) const {
    return !range.contains(static_cast<std::int64_t>(bags.indices(i)));
  }
  KOKKOS_INLINE_FUNCTION bool bad_weight(std::int64_t i) const {
    return (Kokkos::bit_cast<std::uint32_t>(bags.weights(i)) & 0x7f800000U) == 0x7f800000U;
  }

 private:
  KOKKOS_INLINE_FUNCTION void look_at(std::int64_t first, std::int64_t stop, const KeyRange& range,
                                      BagFaults& faults) const {
    bool decreases = false;
    for (std::int64_t b = first; b < stop; ++b) decreases |= bags.offsets(b + 1) < bags.offsets(b);
    for (std::int64_t b = first; decreases && b < stop; ++b)
      if (bags.offsets(b + 1) < bags.offsets(b)) faults.bad_offset = Kokkos::min(faults.bad_offset, b + 1);
    const std::int64_t begin = Kokkos::max(std::int64_t{0}, bags.offsets(first));
    const std::int64_t end = Kokkos::min(nnz, bags.offsets(stop));
    const bool weighted = bags.weights.extent(0) > 0;
    std::int64_t bad_ids = 0, bad_weights = 0;
    for (std::int64_t i = begin; i < end; ++i) bad_ids += bad_id(i, range);
    for (std::int64_t i = begin; weighted && i < end; ++i) bad_weights += bad_weight(i);
    faults.ids += bad_ids;
    faults.weights += bad_weights;
    for (std::int64_t i = begin; bad_ids + bad_weights > 0 && i < end; ++i)
      if (bad_id(i, range) || (weighted && bad_weight(i))) {
        faults.bad_position = Kokkos::min(faults.bad_position, i);
        break;
      }
  }
};

/// Describes the first fault in words, by feature, sample within this rank's batch plus `first_sample`, and value.
template <class Exec, class Index>
class FaultReport {
 public:
  FaultReport(const Bags<Exec, Index>& bags, ConstArray<Exec, KeyRange> keys, std::int64_t first_sample)
      : bags_(bags), first_bag_(on_host(bags.first_bag)), keys_(on_host(keys)), first_sample_(first_sample) {}

  std::string offset(std::int64_t i) const {
    const auto offset = [&](std::int64_t at) { return std::to_string(value(bags_.offsets, at)); };
    const std::int64_t bags = static_cast<std::int64_t>(bags_.offsets.extent(0)) - 1;
    if (i == 0) return "batch: offsets start at " + offset(0) + " instead of 0";
    if (i > bags)
      return "batch: offsets end at " + offset(bags) + " but there are " + std::to_string(bags_.indices.extent(0)) +
             " ids";
    const auto [feature, sample] = place(i - 1);
    return "batch: offsets decrease at feature " + std::to_string(feature) + ", sample " + std::to_string(sample) +
           ": " + offset(i - 1) + " then " + offset(i);
  }

  std::string id_or_weight(std::int64_t position) const {
    const auto offsets = on_host(bags_.offsets);
    const auto bag = last_at_most(static_cast<std::int64_t>(offsets.extent(0)) - 1, position, offsets);
    const auto [feature, sample] = place(bag);
    const std::string where = " of feature " + std::to_string(feature) + ", sample " + std::to_string(sample);
    const auto id = static_cast<std::int64_t>(value(bags_.indices, position));
    const KeyRange range = keys_(feature);
    if (!range.contains(id)) return "batch: id " + std::to_string(id) + where + " is outside " + range.text();
    return "batch: weight " + std::to_string(value(bags_.weights, position)) + where + " is not finite";
  }

 private:
  template <class View>
  static auto on_host(const View& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  }
  template <class View>
  static auto value(const View& view, std::int64_t i) {
    typename View::non_const_value_type result;
    Kokkos::deep_copy(result, Kokkos::subview(view, i));
    return result;
  }
  std::pair<std::int64_t, std::int64_t> place(std::int64_t bag) const {
    const std::int64_t feature = last_at_most(static_cast<std::int64_t>(keys_.extent(0)), bag, first_bag_);
    return {feature, bag - first_bag_(feature) + first_sample_};
  }

  Bags<Exec, Index> bags_;
  decltype(on_host(ConstArray<Exec, std::int64_t>())) first_bag_;
  decltype(on_host(ConstArray<Exec, KeyRange>())) keys_;
  std::int64_t first_sample_;
};

template <class Exec, class Index>
BagWarnings check_bags(const Exec& exec, BoundsCheck mode, const Bags<Exec, Index>& bags,
                       const Array<Exec, Index>& indices, ConstArray<Exec, KeyRange> keys, std::int64_t first_sample) {
  if (mode == BoundsCheck::off) return {};
  const auto nnz = static_cast<std::int64_t>(indices.extent(0));
  const std::int64_t bag_count = static_cast<std::int64_t>(bags.offsets.extent(0)) - 1;
  using Find = FindBagFaults<Exec, Index>;
  const Find find{bags, keys, nnz};
  BagFaults faults;
  const std::int64_t ranges = Kokkos::max(std::int64_t{1}, (bag_count + Find::grain - 1) / Find::grain);
  Kokkos::parallel_reduce("shardmark::check_bags", static_range(exec, ranges), find, faults);
  if (faults.bad_offset == BagFaults::none && faults.bad_position == BagFaults::none) return {};
  const FaultReport<Exec, Index> report(bags, keys, first_sample);
  if (faults.bad_offset != BagFaults::none) throw InputError(report.offset(faults.bad_offset));
  BagWarnings warnings{faults.ids, faults.weights, report.id_or_weight(faults.bad_position)};
  if (mode == BoundsCheck::on) throw InputError(warnings.first);
  const auto features = static_cast<std::int64_t>(keys.extent(0));
  const bool folds = mode == BoundsCheck::fold;
  Kokkos::parallel_for(
      "shardmark::mend_ids", static_range(exec, bag_count), KOKKOS_LAMBDA(const std::int64_t bag) {
        const KeyRange range = keys(last_at_most(features, bag, bags.first_bag));
        for (std::int64_t i = bags.offsets(bag); i < bags.offsets(bag + 1); ++i)
          if (find.bad_id(i, range))
            indices(i) = static_cast<Index>(folds ? range.folded(static_cast<std::int64_t>(indices(i))) : range.first);
      });
  return warnings;
}

SHARDMARK_INSTANCE(check_bags<DefaultSpace, std::int32_t>)
SHARDMARK_INSTANCE(check_bags<DefaultSpace, std::int64_t>)

}  // namespace shardmark::kernels
