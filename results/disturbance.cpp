// SPDX-License-Identifier: Apache-2.0
#include "results/disturbance.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the sum of an array of numbers; nothing where it is none.
std::optional<double> sum_of(const Json& object, const char* name) {
  const auto values = object.find(name);
  if (values == object.end() || !values->is_array()) return std::nullopt;
  double sum = 0.0;
  for (const Json& value : *values) {
    if (!value.is_number()) return std::nullopt;
    sum += value.get<double>();
  }
  return sum;
}

}  // namespace

bool VisitConditions::is_disturbed() const {
  constexpr double processors_of_others = 0.15, processors_stolen = 0.05;
  constexpr double switches_per_second = 40.0, switches_when_idle = 8.0;
  constexpr double tick = 0.02;  // seconds by which what /proc/stat says of two processors may be off
  const bool shared = others_cpu_seconds > processors_of_others * seconds + tick &&
                      static_cast<double>(switches) > switches_when_idle + switches_per_second * seconds;
  return shared || stolen_seconds > processors_stolen * seconds + tick;
}

Json to_json(const std::vector<VisitConditions>& visits) {
  Json seconds = Json::array(), switches = seconds, others = seconds, stolen = seconds, runnable = seconds,
       barriers = seconds;
  for (const VisitConditions& each : visits) {
    seconds.push_back(each.seconds);
    switches.push_back(each.switches);
    others.push_back(each.others_cpu_seconds);
    stolen.push_back(each.stolen_seconds);
    runnable.push_back(each.runnable);
    barriers.push_back(1e6 * each.barrier_seconds);
  }
  return {{"seconds", seconds},
          {"switches", switches},
          {"others_cpu_seconds", others},
          {"stolen_seconds", stolen},
          {"runnable", runnable},
          {"barrier_us", barriers},
          {"disturbed_visits", std::ranges::count_if(visits, &VisitConditions::is_disturbed)}};
}

std::vector<VisitConditions> conditions_in(const Json& details) {
  std::vector<VisitConditions> visits;
  try {
    const Json& all = details.at(conditions_field);
    for (std::size_t v = 0; v < all.at("seconds").size(); ++v)
      visits.push_back({all.at("seconds").at(v), all.at("switches").at(v), all.at("others_cpu_seconds").at(v),
                        all.at("stolen_seconds").at(v), all.at("runnable").at(v),
                        1e-6 * all.at("barrier_us").at(v).get<double>()});
  } catch (const Json::exception&) {
    return {};
  }
  return visits;
}

std::optional<Disturbance> disturbance_of(const Json& details) {
  const auto found = details.find(conditions_field);
  if (found == details.end() || !found->is_object()) return std::nullopt;
  const auto seconds = sum_of(*found, "seconds"), switches = sum_of(*found, "switches"),
             others = sum_of(*found, "others_cpu_seconds"), stolen = sum_of(*found, "stolen_seconds");
  const auto disturbed = found->find("disturbed_visits");
  if (!seconds || *seconds <= 0.0 || !switches || !others || !stolen || disturbed == found->end() ||
      !disturbed->is_number_integer())
    return std::nullopt;
  return Disturbance{disturbed->get<std::int64_t>(), std::ssize(found->at("seconds")), *others / *seconds,
                     *stolen / *seconds, *switches / *seconds};
}

bool is_disturbed(const CaseRecord& record) {
  const auto disturbance = disturbance_of(record.details);
  return disturbance && disturbance->is_disturbed();
}

std::string disturbance_text(const std::vector<const CaseRecord*>& records) {
  Disturbance all;
  std::int64_t cases = 0;
  for (const CaseRecord* record : records) {
    const auto each = disturbance_of(record->details);
    if (!each) continue;
    cases += each->is_disturbed() ? 1 : 0;
    all.disturbed_visits += each->disturbed_visits;
    all.visits += each->visits;
    const auto weight = static_cast<double>(each->visits);
    all.others += weight * each->others;
    all.stolen += weight * each->stolen;
    all.switches_per_second += weight * each->switches_per_second;
  }
  if (cases == 0) return "";
  const auto visits = static_cast<double>(all.visits);
  return fmt::format(
      "DISTURBED: in {} of {} visits other processes took the processors of this run: {:.2f} of them on average{}, and "
      "its threads lost theirs {:.0f} times a second. These times are not those of an idle machine: end what else "
      "runs, "
      "or bind the ranks elsewhere, and measure again.",
      all.disturbed_visits, all.visits, all.others / visits,
      all.stolen > 0.01 * visits ? fmt::format(", other virtual machines {:.2f}", all.stolen / visits) : "",
      all.switches_per_second / visits);
}

}  // namespace shardmark::results
