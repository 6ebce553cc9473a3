// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/calibration_record.hpp"

#include <cmath>

#include "comm/collectives.hpp"
#include "comm/placement/cost/machine_file.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

double digits(double value) { return std::round(value * 1e5) / 1e5; }

/// Returns {"min", "max"} over the ranks.
Json over_ranks(const comm::Communicator& world, double value) {
  return {{"min", comm::all_reduce(world, value, comm::Reduce::min)},
          {"max", comm::all_reduce(world, value, comm::Reduce::max)}};
}

Json rate_json(const comm::Communicator& world, const Rate& rate) {
  Json json{{"name", rate.name}};
  if (rate.dim > 0) json["dim"] = rate.dim;
  json["bytes_per_second"] = over_ranks(world, rate.bytes_per_second);
  if (rate.dim > 0)
    json["setting"] = {{"far", rate.setting.far}, {"near", rate.setting.near}, {"grain", rate.setting.grain}};
  return json;
}

Json measured_and_predicted(double measured, double predicted) {
  return {{"measured_ms", digits(1e3 * measured)}, {"predicted_ms", digits(1e3 * predicted)}};
}

Json case_json(const Calibration& calibration, std::size_t c) {
  const CaseTimes& times = calibration.times[c];
  const placement::StepPrediction& predicted = calibration.fit.predictions[c];
  Json json{{"name", calibration.cases[c].name}, {"steps", times.steps}};
  json.update(measured_and_predicted(times.step, predicted.seconds));
  for (std::size_t p = 0; p < phase_count; ++p) {
    Json& phase = json["phases"][std::string(phase_names[p])];
    phase = measured_and_predicted(times.phases[p], predicted.phases[p].seconds);
    phase["exchange_ms"] = digits(1e3 * predicted.phases[p].exchange);
  }
  const placement::TermCounts& counts = predicted.counts;
  for (std::size_t t = 0; t < placement::terms.size(); ++t)
    if (counts[t] > 0.0) json["counts"][std::string(placement::terms[t].name)] = std::round(counts[t]);
  return json;
}

Json errors_json(const Calibration& calibration, const FitErrors& errors) {
  return {{"mean", digits(errors.mean)},
          {"largest", digits(errors.largest)},
          {"worst", calibration.cases[errors.worst].name}};
}

/// Returns {level: {"ranks", "call", "round", "message" in seconds, "mean_error"}}, without what could not be told
/// apart.
Json latencies_json(std::span<const LevelLatency> latencies) {
  Json json = Json::object();
  for (const LevelLatency& of : latencies) {
    Json& level = json[of.level->name] = {{"ranks", of.ranks}};
    if (of.call) level["call"] = *of.call;
    if (of.round) level["round"] = *of.round;
    level["message"] = of.message;
    level["mean_error"] = digits(of.error);
  }
  return json;
}

Json fit_json(const Calibration& calibration) {
  Json json{{"seconds", digits(calibration.seconds)}};
  if (!calibration.latencies.empty()) json["latency"] = latencies_json(calibration.latencies);
  json["exchange_share"] = calibration.fit.exchange_share;
  Json& errors = json["errors"];
  errors["step"] = errors_json(calibration, step_errors(calibration.times, calibration.fit));
  for (std::size_t p = 0; p < phase_count; ++p)
    errors[std::string(phase_names[p])] = errors_json(calibration, phase_errors(calibration.times, calibration.fit, p));
  json["unmeasured"] = Json::array();
  for (std::size_t t = 0; t < placement::terms.size(); ++t)
    if (!calibration.fit.measured[t]) json["unmeasured"].push_back(placement::terms[t].name);
  json["cases"] = Json::array();
  for (std::size_t c = 0; c < calibration.cases.size(); ++c) json["cases"].push_back(case_json(calibration, c));
  return json;
}

}  // namespace

Json to_json(const comm::Communicator& world, const Calibration& calibration, const CalibrationSettings& settings) {
  Json json = placement::to_json(calibration.machine);
  json["words"] = calibration.fingerprint.words;
  json["table_bytes"] = settings.rates.table_bytes;
  json["array_bytes"] = settings.rates.array_bytes;
  json["rows"] = settings.rates.rows;
  json["rounds"] = settings.rates.rounds;
  json["huge_page_share"] = over_ranks(world, calibration.rates.huge_page_share);
  json["ceilings"] = Json::array();
  for (const Rate& rate : calibration.rates.rates) json["ceilings"].push_back(rate_json(world, rate));
  json["calibration"] = fit_json(calibration);
  return json;
}

}  // namespace shardmark::workloads
