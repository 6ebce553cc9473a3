// SPDX-License-Identifier: Apache-2.0
#include "results/environment.hpp"

#include <fmt/chrono.h>

#include <cstdlib>

#include "results/build_info.hpp"
#include "results/machine.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

Json recorded_environment() {
  Json variables = Json::object();
  for (const std::string_view name : recorded_variables) {
    if (const char* value = std::getenv(name.data())) variables[std::string(name)] = value;
  }
  return variables;
}

}  // namespace

std::string utc_time(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

Json build_json() {
  const BuildInfo& build = build_info();
  return {
      {"version", build.version},
      {"git_hash", build.git_hash.empty() ? Json(nullptr) : Json(build.git_hash)},
      {"dirty", build.git_hash.empty() ? Json(nullptr) : Json(build.dirty)},
      {"compiler", build.compiler},
      {"flags", build.flags},
      {"type", build.type},
  };
}

Json environment_record(const RunContext& context) {
  return {
      {"record", "environment"},
      {"format_version", format_version},
      {"time", utc_time()},
      {"arguments", context.arguments},
      {"seed", context.seed},
      {"build", build_json()},
      {"libraries", context.libraries},
      {"machine", describe_machine()},
      {"ranks", context.ranks},
      {"variables", recorded_environment()},
  };
}

}  // namespace shardmark::results
