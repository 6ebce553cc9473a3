// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "reference/error.hpp"
#include "reference/input_file.hpp"
#include "results/comparability.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/measure/case_record.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the text of the file of rank 0 on every rank.
std::string text_on_all_ranks(const comm::Communicator& world, const std::string& file) {
  std::string text;
  comm::agree(world, [&] {
    if (world.rank() != 0) return;
    results::read_results(std::filesystem::path(file));  // says what is wrong with it
    text = file_text(file).value_or("");
  });
  comm::broadcast(world, text, 0);
  return text;
}

/// Throws where times of both jobs may not stand in one record.
void require_same(const Earlier& earlier, const Json& environment) {
  if (earlier.results.cases.empty()) return;
  const std::vector launches{results::launch_of(earlier.results, earlier.file),
                             results::launch_of({environment, earlier.results.cases}, "this job")};
  for (const results::Disagreement& each : results::disagreements(launches, {}, {}))
    if (each.key != "host")
      throw InputError(fmt::format("--resume {}: {}; measure anew, without --resume", earlier.file, each.text));
}

bool is_of(const results::CaseRecord& record, const Job& job, std::size_t number, const Prepared& prepared,
           const CaseState& state) {
  const PlannedTables& planned = job.planned(number);
  Json options = case_options(planned.options, job.cases[number].config, planned.plan);
  options["batches"] = prepared.inputs().size();
  return record.workload == job.options.workload.name && record.plan == planned.plan.name &&
         record.details.value(results::plan_digest_field, "") == state.plan_digest && record.options == options &&
         record.ranks == job.comm.size();
}

}  // namespace

std::int64_t Earlier::rounds() const { return results.environment.value("rounds", std::int64_t{0}); }

Earlier read_earlier(const comm::Communicator& world, const std::string& file, const Json& environment) {
  std::istringstream stream(text_on_all_ranks(world, file));
  Earlier earlier{file, results::read_results(stream, file)};
  comm::agree(world, [&] {
    if (!earlier.results.environment.contains("state"))
      throw InputError(fmt::format("--resume {}: its job came to its end; there is nothing to resume", file));
    require_same(earlier, environment);
  });
  return earlier;
}

std::vector<std::string> take_over(const Earlier& earlier, const Job& job, const Prepared& prepared,
                                   std::vector<CaseState>& states) {
  const Json left_out = earlier.results.environment.value("left_out", Json::array());
  std::vector<bool> taken(earlier.results.cases.size());
  for (std::size_t c = 0; c < states.size(); ++c) {
    CaseState& state = states[c];
    const auto& records = earlier.results.cases;
    const auto found =
        std::ranges::find_if(records, [&](const auto& record) { return is_of(record, job, c, prepared, state); });
    state.left_out = std::ranges::find(left_out, Json(job.name_of(c))) != left_out.end();
    if (found == records.end()) continue;
    taken[static_cast<std::size_t>(found - records.begin())] = true;
    state.earlier = *found;
    state.timings.step_ms = found->step_ms.samples;
    state.timings.visits = found->step_ms.visits;
    state.conditions = results::conditions_in(found->details);
    state.stopped = found->details.value("stopped", "");
    state.out_of_budget = state.stopped.ends_with(stopped_by_budget);
  }
  std::vector<std::string> others;
  for (std::size_t r = 0; r < taken.size(); ++r) {
    const results::CaseRecord& record = earlier.results.cases[r];
    if (!taken[r])
      others.push_back(fmt::format("{} {} {}", record.plan, record.option("transfer"), record.option("exchange")));
  }
  if (!others.empty() && others.size() == taken.size())
    throw InputError(
        fmt::format("--resume {}: its case {} is none of this job; give the options of the job that wrote "
                    "it",
                    earlier.file, others.front()));
  return others;
}

double visit_seconds(const std::vector<CaseState>& states) {
  double seconds = 0.0;
  for (const CaseState& state : states)
    for (const results::VisitConditions& each : state.conditions) seconds += each.seconds;
  return seconds;
}

}  // namespace shardmark::workloads
