// SPDX-License-Identifier: Apache-2.0
#include "results/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "results/json_fields.hpp"
#include "results/json_text.hpp"
#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 18> field_names{
    "record",     "workload",  "plan",           "options",      "changed",       "ranks",
    "threads",    "step_ms",   "samples_per_s",  "phases",       "wire_error",    "communication_ms",
    "exposed_ms", "imbalance", "sent_bytes_max", "predicted_ms", "checked_steps", "wrong"};

StepTime step_time_from(const Fields& fields) {
  StepTime time{.median = fields.number("median"),
                .low = fields.number("low"),
                .high = fields.number("high"),
                .n = fields.count("n", 1),
                .samples = fields.numbers("samples"),
                .visits = fields.counts("visits", 1)};
  if (time.n != std::ssize(time.samples))
    fields.fail("step_ms.n", fmt::format("the number of samples, {}", time.samples.size()));
  if (!time.visits.empty() && std::reduce(time.visits.begin(), time.visits.end()) != time.n)
    fields.fail("step_ms.visits", fmt::format("a split of the {} samples", time.n));
  return time;
}

std::optional<WireError> wire_error_from(const Fields& record, const Json& json) {
  if (!json.contains("wire_error")) return std::nullopt;
  const auto of = [](const Fields& fields) { return VectorError{fields.number("max"), fields.number("rms")}; };
  const Fields fields = record.object("wire_error");
  return WireError{of(fields.object("forward")), of(fields.object("backward"))};
}

Json to_json(const VectorError& error) { return {{"max", error.max}, {"rms", error.rms}}; }

std::vector<PhaseTime> phases_from(const Fields& record, const Json& json) {
  const Fields fields = record.object("phases");
  std::vector<PhaseTime> phases;
  for (const auto& [name, value] : json.at("phases").items()) {
    const Fields phase = fields.object(name);
    phases.push_back({name, phase.number("median_ms"), phase.number("mean_over_ranks_ms"), phase.count("bytes", 0),
                      phase.maybe_number("predicted_ms"), phase.maybe_number("least_ms"),
                      phase.maybe_number("path_ms")});
  }
  return phases;
}

}  // namespace

StepTime step_time(std::vector<double> samples_ms, std::vector<std::int64_t> visits) {
  const Summary steps = summarize(samples_ms);
  const Summary medians = visits.empty() ? steps : summarize(medians_of_visits(samples_ms, visits));
  return {.median = steps.median,
          .low = std::min(medians.low, steps.median),
          .high = std::max(medians.high, steps.median),
          .n = steps.n,
          .samples = std::move(samples_ms),
          .visits = std::move(visits)};
}

double samples_per_second(std::int64_t global_batch, double median_ms) {
  return static_cast<double>(global_batch) / (median_ms * 1e-3);
}

std::string CaseRecord::option(std::string_view name) const {
  const auto found = options.find(name);
  return found == options.end() ? "-" : text_of(*found);
}

std::string CaseRecord::step() const {
  const auto digest = details.find(plan_digest_field);
  if (digest == details.end()) return "";
  return fmt::format("{} {} {} {} {}", workload, digest->dump(), options.dump(), ranks, threads);
}

std::int64_t CaseRecord::global_batch() const {
  const auto found = options.find("batch");
  return found != options.end() && found->is_number_integer() ? found->get<std::int64_t>() : 1;
}

bool CaseRecord::differs(const CaseRecord& other, std::string_view name) const {
  const auto ours = options.find(name), theirs = other.options.find(name);
  return ours != options.end() && theirs != other.options.end() && *ours != *theirs;
}

Json to_json(const CaseRecord& record) {
  Json phases = Json::object();
  for (const PhaseTime& phase : record.phases) {
    Json& fields = phases[phase.name] = {
        {"median_ms", phase.median_ms}, {"mean_over_ranks_ms", phase.mean_over_ranks_ms}, {"bytes", phase.bytes}};
    if (phase.predicted_ms) fields["predicted_ms"] = *phase.predicted_ms;
    if (phase.least_ms) fields["least_ms"] = *phase.least_ms;
    if (phase.path_ms) fields["path_ms"] = *phase.path_ms;
  }
  Json json = {{"record", "case"}, {"workload", record.workload}, {"plan", record.plan}};
  json.update({
      {"options", record.options},
      {"changed", record.changed},
      {"ranks", record.ranks},
      {"threads", record.threads},
      {"step_ms",
       {{"median", record.step_ms.median},
        {"low", record.step_ms.low},
        {"high", record.step_ms.high},
        {"n", record.step_ms.n},
        {"samples", record.step_ms.samples}}},
      {"samples_per_s", record.samples_per_s},
      {"phases", std::move(phases)},
      {"imbalance", record.imbalance},
      {"sent_bytes_max", record.sent_bytes_max},
      {"predicted_ms", record.predicted_ms ? Json(*record.predicted_ms) : Json(nullptr)},
      {"checked_steps", record.checked_steps},
      {"wrong", record.wrong},
  });
  if (!record.step_ms.visits.empty()) json["step_ms"]["visits"] = record.step_ms.visits;
  if (record.communication_ms) json["communication_ms"] = *record.communication_ms;
  if (record.exposed_ms) json["exposed_ms"] = *record.exposed_ms;
  if (record.wire_error)
    json["wire_error"] = {{"forward", to_json(record.wire_error->forward)},
                          {"backward", to_json(record.wire_error->backward)}};
  for (const auto& [name, value] : record.details.items()) {
    if (std::ranges::find(field_names, name) != field_names.end())
      throw std::invalid_argument("details repeat the field '" + name + "'");
    json[name] = value;
  }
  return json;
}

CaseRecord case_record_from_json(const Json& json, const std::string& origin) {
  const Fields fields(json, origin);
  CaseRecord record;
  record.workload = fields.text("workload");
  record.plan = fields.text("plan");
  fields.object("options").count("batch", 1);
  record.options = json.at("options");
  record.changed = fields.texts("changed");
  record.wire_error = wire_error_from(fields, json);
  if (json.contains("communication_ms")) record.communication_ms = fields.number("communication_ms");
  if (json.contains("exposed_ms")) record.exposed_ms = fields.number("exposed_ms");
  record.ranks = fields.count("ranks", 1);
  record.threads = fields.count("threads", 1);
  record.step_ms = step_time_from(fields.object("step_ms"));
  record.samples_per_s = fields.number("samples_per_s");
  record.phases = phases_from(fields, json);
  record.imbalance = fields.number("imbalance");
  record.sent_bytes_max = fields.count("sent_bytes_max", 0);
  record.predicted_ms = fields.maybe_number("predicted_ms");
  record.checked_steps = fields.count("checked_steps", 0);
  record.wrong = fields.count("wrong", 0);
  for (const auto& [name, value] : json.items())
    if (std::ranges::find(field_names, name) == field_names.end()) record.details[name] = value;
  return record;
}

}  // namespace shardmark::results
