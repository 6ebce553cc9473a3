// SPDX-License-Identifier: Apache-2.0
#include "results/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reference/error.hpp"
#include "results/disturbance.hpp"
#include "results/google_benchmark.hpp"
#include "results/json_text.hpp"
#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Names a field that must agree, and where the environment record holds it.
struct ContextField {
  const char* name;
  const char* pointer;
};
constexpr std::array context_fields{
    ContextField{"cpu", "/machine/cpu"},
    ContextField{"cores", "/machine/cores"},
    ContextField{"compiler", "/build/compiler"},
    ContextField{"build_type", "/build/type"},
    ContextField{"flags", "/build/flags"},
    ContextField{"kokkos", "/libraries/kokkos"},
    ContextField{"kokkos_configuration", "/libraries/kokkos_configuration"},
    ContextField{"mpi", "/libraries/mpi"},
    ContextField{"transparent_huge_pages", "/machine/transparent_huge_pages"},
    ContextField{"governor", "/machine/governor"},
    ContextField{"seed", "/seed"},
};
/// These options stand in every name, whether changed or not.
constexpr std::array<std::string_view, 4> always_named{"transfer", "exchange", "optimizer", "batch"};

std::string hosts_of(const Json& environment) {
  std::set<std::string> hosts;
  for (const Json& rank : environment.value("ranks", Json::array()))
    if (rank.is_object() && rank.contains("host")) hosts.insert(text_of(rank.at("host")));
  return fmt::format("{}", fmt::join(hosts, " "));
}

std::string name_of(const CaseRecord& record) {
  std::string name = fmt::format("{}/{}/{}/{}/{}", record.workload, record.plan, record.option("transfer"),
                                 record.option("exchange"), record.option("optimizer"));
  const std::set<std::string> changed(record.changed.begin(), record.changed.end());
  for (const std::string& option : changed)
    if (std::ranges::find(always_named, option) == always_named.end())
      name += fmt::format("/{}:{}", option, record.option(option));
  return name + fmt::format("/ranks:{}/threads:{}/batch:{}", record.ranks, record.threads, record.option("batch"));
}

std::vector<std::pair<std::string, std::string>> options_of(const CaseRecord& record) {
  std::vector<std::pair<std::string, std::string>> options;
  for (const auto& [option, value] : record.options.items()) options.emplace_back(option, text_of(value));
  if (const auto digest = record.details.find(plan_digest_field); digest != record.details.end())
    options.emplace_back(plan_digest_field, text_of(*digest));
  return options;
}

bool is_launch_file(const fs::path& file) { return file.extension() == ".json" || file.extension() == ".jsonl"; }

std::vector<fs::path> launch_files(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_regular_file() && is_launch_file(entry.path())) files.push_back(entry.path());
  if (files.empty())
    throw InputError(fmt::format("{} holds no launch; name a folder with .json or .jsonl files", path.string()));
  std::ranges::sort(files);
  return files;
}

}  // namespace

const LaunchedCase* Launch::find(std::string_view name) const {
  const auto found = std::ranges::find(cases, name, &LaunchedCase::name);
  return found == cases.end() ? nullptr : &*found;
}

Launch read_launch(const fs::path& file, const std::string& counter) {
  const Results results = read_any_results(file);
  const std::string name = file.string();
  require_no_exchanges(results, name);
  if (!results.benchmarks.is_null()) return google_benchmark_launch(results.benchmarks, name, counter);
  return launch_of(results, name);
}

std::vector<Launch> read_launches(std::span<const fs::path> files_or_folders, const std::string& counter) {
  std::vector<Launch> launches;
  for (const fs::path& path : files_or_folders)
    for (const fs::path& file : launch_files(path)) launches.push_back(read_launch(file, counter));
  return launches;
}

Launch launch_of(const Results& results, const std::string& file) {
  Launch launch;
  launch.file = file;
  launch.context.emplace_back("host", hosts_of(results.environment));
  for (const ContextField& field : context_fields) {
    const Json::json_pointer pointer(field.pointer);
    if (results.environment.contains(pointer))
      launch.context.emplace_back(field.name, text_of(results.environment.at(pointer)));
  }
  const Json build = results.environment.value("build", Json::object());
  launch.revision =
      text_of(build.value("git_hash", Json(""))) + (build.value("dirty", Json()) == Json(true) ? "+" : "");
  CaseSamples samples;
  std::map<std::string, const CaseRecord*> first_of_name;
  for (const CaseRecord& record : results.cases) {
    const std::string name = name_of(record);
    first_of_name.emplace(name, &record);
    if (record.wrong > 0)
      samples.fail(name, fmt::format("{} wrong values", record.wrong));
    else if (std::ranges::any_of(record.step_ms.samples, [](double ms) { return ms <= 0.0; }))
      throw InputError(fmt::format("{}: a sample of {} is not above 0; measure again", file, name));
    else
      samples.add(name, record.step_ms.samples);
  }
  launch.cases = samples.medians();
  for (LaunchedCase& each : launch.cases) {
    each.options = options_of(*first_of_name.at(each.name));
    each.disturbed = std::ranges::any_of(
        results.cases, [&](const CaseRecord& record) { return name_of(record) == each.name && is_disturbed(record); });
  }
  if (launch.cases.empty()) throw InputError(file + " holds no case; measure again");
  return launch;
}

CaseSamples::Entry& CaseSamples::entry(const std::string& name) {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found != entries_.end() ? *found : entries_.emplace_back(Entry{name, {}, {}});
}

void CaseSamples::add(const std::string& name, std::span<const double> samples_ms) {
  Entry& to = entry(name);
  to.samples.insert(to.samples.end(), samples_ms.begin(), samples_ms.end());
}

void CaseSamples::fail(const std::string& name, const std::string& error) { entry(name).error = error; }

std::vector<LaunchedCase> CaseSamples::medians() const {
  std::vector<LaunchedCase> cases;
  for (const Entry& each : entries_)
    cases.push_back({each.name, each.error.empty() ? summarize(each.samples).median : 0.0, each.error, {}});
  return cases;
}

}  // namespace shardmark::results
