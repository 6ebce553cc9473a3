// SPDX-License-Identifier: Apache-2.0
#include "results/registered.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reference/input_file.hpp"
#include "reference/json.hpp"
#include "results/json_fields.hpp"
#include "results/json_text.hpp"
#include "results/prediction_quality.hpp"
#include "results/table/layout.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* hash_key = "hash";

std::string text_without_hash(Json json) {
  json.erase(hash_key);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RegisteredStep step_from(const Fields& fields) {
  RegisteredStep step{.plan = fields.text("plan"),
                      .plan_digest = fields.text("plan_digest"),
                      .ranks = fields.count("ranks", 1),
                      .nodes = fields.count("nodes", 1),
                      .step_ms = fields.number("step_ms"),
                      .phases = fields.at("phases"),
                      .options = fields.at("options"),
                      .placement = fields.at("placement")};
  if (step.step_ms <= 0.0) fields.fail("step_ms", "a time above 0");
  fields.object("options");
  return step;
}

/// Returns whether a text is as utc_time() writes it, so that texts are in the order of their times.
bool is_utc_time(std::string_view text) {
  constexpr std::string_view form = "0000-00-00T00:00:00Z";
  return text.size() == form.size() && std::ranges::equal(text, form, [](char c, char of_form) {
           return of_form == '0' ? c >= '0' && c <= '9' : c == of_form;
         });
}

std::string checked_time(const Json& json, const std::string& where) {
  const std::string text = json.is_string() ? json.get<std::string>() : "";
  if (!is_utc_time(text)) throw InputError(where + " is no time such as 2026-11-21T06:12:00Z");
  return text;
}

}  // namespace

std::string digest_of(std::string_view text) { return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())); }

Json to_json(const Registered& registered) {
  Json steps = Json::array();
  for (const RegisteredStep& step : registered.steps)
    steps.push_back({{"plan", step.plan},
                     {"plan_digest", step.plan_digest},
                     {"ranks", step.ranks},
                     {"nodes", step.nodes},
                     {"step_ms", step.step_ms},
                     {"phases", step.phases},
                     {"options", step.options},
                     {"placement", step.placement}});
  Json json{{"format", registered_format},
            {"time", registered.time},
            {"build", registered.build},
            {"workload", registered.workload},
            {"spec", registered.spec},
            {"machine",
             {{"name", registered.machine.name},
              {"source", registered.machine.source},
              {"measured", registered.machine.measured},
              {"hash", registered.machine.hash}}},
            {"within", registered.within},
            {"predictions", std::move(steps)}};
  json[hash_key] = digest_of(text_without_hash(json));
  return json;
}

Registered read_registered(const std::filesystem::path& file) {
  const std::string name = file.string();
  const auto text = file_text(file);
  if (!text) throw InputError(name + ": cannot be read; name a file of shardmark predict --register");
  const Json json = parse_json(*text, name);
  if (!json.is_object() || json.value("format", Json()) != Json(registered_format))
    throw InputError(fmt::format("{}: \"format\" is not \"{}\"; name a file of shardmark predict --register", name,
                                 registered_format));
  const Fields fields(json, name, "", "predict again");
  const std::string written = fields.text(hash_key), found = digest_of(text_without_hash(json));
  if (written != found)
    throw InputError(
        fmt::format("{}: was changed after it was registered: its content has the hash {}, and \"{}\" says {}; use the "
                    "file as it was written",
                    name, found, hash_key, plain(written)));
  Registered registered;
  registered.time = checked_time(fields.at("time"), name + ": \"time\"");
  registered.build = fields.at("build");
  registered.workload = fields.text("workload");
  registered.spec = fields.at("spec");
  const Fields machine = fields.object("machine");
  registered.machine = {machine.text("name"), machine.text("source"), machine.at("measured") == true,
                        machine.text(hash_key)};
  registered.within = fields.number("within");
  if (!fields.at("predictions").is_array()) fields.fail("predictions", "a list");
  for (const Json& step : fields.at("predictions"))
    registered.steps.push_back(
        step_from({step, name, fmt::format("predictions[{}].", registered.steps.size()), "predict again"}));
  return registered;
}

std::string measured_since(const Results& results, const std::string& file) {
  std::string since = checked_time(results.environment.value("time", Json()), file + ":1: \"time\"");
  for (const Json& job : results.environment.value("resumed", Json::array()))
    since =
        std::min(since, checked_time(job.is_object() ? job.value("time", Json()) : Json(), file + ":1: \"resumed\""));
  return since;
}

std::optional<std::vector<std::string>> differences(const Registered& registered, const RegisteredStep& step,
                                                    const CaseRecord& record) {
  const bool same_plan = record.details.value(plan_digest_field, Json()) == step.plan_digest;
  if (record.workload != registered.workload || record.ranks != step.ranks || (!same_plan && record.plan != step.plan))
    return std::nullopt;
  std::vector<std::string> differing;
  if (!same_plan) differing.emplace_back("another plan of that name");
  std::set<std::string> names;
  for (const Json* options : {&step.options, &record.options})
    for (const auto& [name, value] : options->items()) names.insert(name);
  names.erase("batches");
  for (const std::string& name : names) {
    const Json ours = step.options.value(name, Json()), theirs = record.options.value(name, Json());
    if (ours != theirs)
      differing.push_back(fmt::format("{} {}, predicted with {}", name, text_of(theirs), text_of(ours)));
  }
  return differing;
}

Standing standing_of(const Registered& registered, const RegisteredStep& step, const CaseRecord& record,
                     std::string_view since) {
  if (registered.time >= since) return Standing::younger;
  if (!is_valid(record)) return Standing::not_valid;
  const double error = PredictedTime{step.step_ms, record.step_ms.median}.error();
  return std::abs(error) <= registered.within ? Standing::registered : Standing::refuted;
}

}  // namespace shardmark::results
