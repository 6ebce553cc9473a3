// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/machine_model.hpp"

#include <algorithm>
#include <span>

namespace shardmark::placement {
double MessageCost::seconds(double bytes) const {
  if (points.empty()) return 0.0;
  if (points.size() == 1 || bytes <= points.front().bytes) return points.front().seconds;
  auto end = std::ranges::upper_bound(points, bytes, {}, &Point::bytes);
  if (end == points.end()) --end;
  const Point &low = *(end - 1), &high = *end;
  return low.seconds + (bytes - low.bytes) * (high.seconds - low.seconds) / (high.bytes - low.bytes);
}

double MessageCost::bytes_per_second() const {
  if (points.size() < 2) return 0.0;
  const Point &low = points[points.size() - 2], &high = points.back();
  return high.seconds > low.seconds ? (high.bytes - low.bytes) / (high.seconds - low.seconds) : 0.0;
}

const ExchangeCost &MachineModel::exchange(std::string_view wanted) const {
  static const ExchangeCost free;
  for (const std::string_view known : {wanted, wanted.substr(0, wanted.find(':')), library_exchange})
    if (const auto found = exchanges.find(known); found != exchanges.end()) return found->second;
  return free;
}

double share_at(std::span<const SizeShare> curve, double bytes) {
  if (curve.empty()) return 1.0;
  const auto end = std::ranges::upper_bound(curve, bytes, {}, &SizeShare::bytes);
  if (end == curve.begin()) return end->share;
  const SizeShare &low = *(end - 1);
  if (end == curve.end()) return low.share;
  return low.share + (bytes - low.bytes) * (end->share - low.share) / (end->bytes - low.bytes);
}

double least_share(std::span<const SizeShare> curve) {
  return curve.empty() ? 1.0 : std::ranges::min(curve, {}, &SizeShare::share).share;
}

double MachineModel::row_share(double row_bytes) const { return share_at(row_shares, row_bytes); }

double MachineModel::optimizer_weight(OptimizerKind kind) const {
  const auto found = optimizer_weights.find(name_of(kind));
  return found == optimizer_weights.end() ? 1.0 : found->second;
}

}  // namespace shardmark::placement
