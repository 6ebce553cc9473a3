// SPDX-License-Identifier: Apache-2.0
#include "results/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "reference/error.hpp"
#include "results/statistics.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 24> field_names{
    "record",    "workload",   "scale",          "plan",          "transfer",         "exchange",
    "wire",      "wire_error", "groups",         "group_balance", "communication_ms", "exposed_ms",
    "optimizer", "ranks",      "threads",        "global_batch",  "step_ms",          "samples_per_s",
    "phases",    "imbalance",  "sent_bytes_max", "predicted_ms",  "checked_steps",    "wrong"};

bool is_field(std::string_view name) { return std::ranges::find(field_names, name) != field_names.end(); }

/// A JSON object that is being read: its members by name and type, and where it stands.
class Fields {
 public:
  Fields(const Json& json, std::string origin, std::string path = "")
      : json_(json), origin_(std::move(origin)), path_(std::move(path)) {
    if (!json_.is_object()) fail(path_.empty() ? "the record" : path_.substr(0, path_.size() - 1), "an object");
  }

  const Json& at(const std::string& name) const {
    const auto member = json_.find(name);
    if (member == json_.end())
      throw InputError(
          fmt::format("{}: the case record lacks '{}{}'; measure again, or remove the line", origin_, path_, name));
    return *member;
  }

  Fields object(const std::string& name) const {
    std::string path = path_ + name + '.';
    std::ranges::replace_if(
        path, [](unsigned char c) { return c < ' '; }, '?');  // messages stay on one line
    return {at(name), origin_, std::move(path)};
  }

  std::string text(const std::string& name) const {
    if (!at(name).is_string()) fail(path_ + name, "a text");
    return at(name).get<std::string>();
  }

  double number(const std::string& name) const { return number(at(name), path_ + name); }

  std::int64_t count(const std::string& name, std::int64_t least) const {
    const Json& value = at(name);
    // Beyond 2^63 the conversion wraps to a negative number, which is less than any `least`.
    if (!value.is_number_integer() || value.get<std::int64_t>() < least)
      fail(path_ + name, fmt::format("a whole number of at least {}", least));
    return value.get<std::int64_t>();
  }

  std::vector<double> numbers(const std::string& name) const {
    if (!at(name).is_array()) fail(path_ + name, "an array");
    std::vector<double> values;
    for (const Json& value : at(name)) values.push_back(number(value, path_ + name));
    return values;
  }

  [[noreturn]] void fail(const std::string& what, std::string_view expected) const {
    throw InputError(fmt::format("{}: {} is not {}; measure again, or remove the line", origin_, what, expected));
  }

 private:
  double number(const Json& value, const std::string& what) const {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0.0)
      fail(what, "a finite number of at least 0");
    return value.get<double>();
  }

  const Json& json_;
  std::string origin_;
  std::string path_;
};

StepTime step_time_from(const Fields& fields) {
  StepTime time{.median = fields.number("median"),
                .low = fields.number("low"),
                .high = fields.number("high"),
                .n = fields.count("n", 1),
                .samples = fields.numbers("samples")};
  if (time.n != std::ssize(time.samples))
    fields.fail("step_ms.n", fmt::format("the number of samples, {}", time.samples.size()));
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
    phases.push_back({name, phase.number("median_ms"), phase.number("mean_over_ranks_ms"), phase.count("bytes", 0)});
  }
  return phases;
}

}  // namespace

StepTime step_time(std::vector<double> samples_ms) {
  const Summary summary = summarize(samples_ms);
  return {summary.median, summary.low, summary.high, summary.n, std::move(samples_ms)};
}

double samples_per_second(std::int64_t global_batch, double median_ms) {
  return static_cast<double>(global_batch) / (median_ms * 1e-3);
}

Json to_json(const CaseRecord& record) {
  Json phases = Json::object();
  for (const PhaseTime& phase : record.phases) {
    phases[phase.name] = {
        {"median_ms", phase.median_ms}, {"mean_over_ranks_ms", phase.mean_over_ranks_ms}, {"bytes", phase.bytes}};
  }
  Json json = {
      {"record", "case"},
      {"workload", record.workload},
      {"scale", record.scale},
      {"plan", record.plan},
      {"transfer", record.transfer},
      {"exchange", record.exchange},
      {"wire", {{"forward", record.wire.forward}, {"backward", record.wire.backward}}},
      {"groups", record.groups},
      {"optimizer", record.optimizer},
      {"ranks", record.ranks},
      {"threads", record.threads},
      {"global_batch", record.global_batch},
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
  };
  if (!record.wire.ids.empty()) json["wire"]["ids"] = record.wire.ids;
  if (record.groups > 1) json["group_balance"] = record.group_balance;
  if (record.communication_ms) json["communication_ms"] = *record.communication_ms;
  if (record.exposed_ms) json["exposed_ms"] = *record.exposed_ms;
  if (record.wire_error)
    json["wire_error"] = {{"forward", to_json(record.wire_error->forward)},
                          {"backward", to_json(record.wire_error->backward)}};
  for (const auto& [name, value] : record.details.items()) {
    if (is_field(name)) throw std::invalid_argument("details repeat the field '" + name + "'");
    json[name] = value;
  }
  return json;
}

CaseRecord case_record_from_json(const Json& json, const std::string& origin) {
  const Fields fields(json, origin);
  const Fields wire = fields.object("wire");
  CaseRecord record;
  record.workload = fields.text("workload");
  record.scale = fields.count("scale", 1);
  record.plan = fields.text("plan");
  record.transfer = fields.text("transfer");
  record.exchange = fields.text("exchange");
  record.wire = {wire.text("forward"), wire.text("backward")};
  if (json.at("wire").contains("ids")) record.wire.ids = wire.text("ids");
  record.wire_error = wire_error_from(fields, json);
  record.groups = fields.count("groups", 1);
  if (json.contains("group_balance")) record.group_balance = fields.text("group_balance");
  if (json.contains("communication_ms")) record.communication_ms = fields.number("communication_ms");
  if (json.contains("exposed_ms")) record.exposed_ms = fields.number("exposed_ms");
  record.optimizer = fields.text("optimizer");
  record.ranks = fields.count("ranks", 1);
  record.threads = fields.count("threads", 1);
  record.global_batch = fields.count("global_batch", 1);
  record.step_ms = step_time_from(fields.object("step_ms"));
  record.samples_per_s = fields.number("samples_per_s");
  record.phases = phases_from(fields, json);
  record.imbalance = fields.number("imbalance");
  record.sent_bytes_max = fields.count("sent_bytes_max", 0);
  if (json.contains("predicted_ms") && !json.at("predicted_ms").is_null())
    record.predicted_ms = fields.number("predicted_ms");
  record.checked_steps = fields.count("checked_steps", 0);
  record.wrong = fields.count("wrong", 0);
  for (const auto& [name, value] : json.items())
    if (!is_field(name)) record.details[name] = value;
  return record;
}

}  // namespace shardmark
