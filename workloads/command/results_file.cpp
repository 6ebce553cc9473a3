// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/results_file.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/measure/interruption.hpp"

namespace shardmark::workloads {

std::string file_of_partial(const std::string& partial) {
  constexpr std::string_view ending = ".partial";
  return partial.ends_with(ending) ? partial.substr(0, partial.size() - ending.size()) : "";
}

ResultsFile::ResultsFile(const comm::Communicator& world, const std::string& path, bool force,
                         const std::string& workload, nlohmann::ordered_json environment, const Earlier* earlier)
    : world_(world), has_cases_(earlier && !earlier->results.cases.empty()), environment_(std::move(environment)) {
  environment_["state"] = "running";
  if (earlier) {
    auto jobs = earlier->results.environment.value("resumed", nlohmann::ordered_json::array());
    jobs.push_back({{"time", earlier->results.environment.at("time")}, {"rounds", earlier->rounds()}});
    environment_["resumed"] = std::move(jobs);
  }
  comm::agree(world, [&] {
    if (world.rank() != 0) return;
    const auto time = environment_.at("time").get<std::string>();
    const std::string resumed = earlier ? file_of_partial(earlier->file) : "";
    const std::filesystem::path file = !path.empty()      ? std::filesystem::path(path)
                                       : !resumed.empty() ? std::filesystem::path(resumed)
                                                          : results::default_results_file(workload, time);
    const results::Replace replace{force, force || file == resumed};
    if (earlier)
      writer_.emplace(file, earlier->results.environment, replace, earlier->results.cases);
    else
      writer_.emplace(file, environment_, replace);
  });
}

ResultsFile::~ResultsFile() {
  if (writer_ && !has_cases_) writer_->discard();
}

void ResultsFile::write(const Measured& measured, const std::string& state) {
  environment_.erase("state");
  environment_.erase("rounds");
  environment_.erase("left_out");
  if (!measured.left_out.empty()) environment_["left_out"] = measured.left_out;
  if (!state.empty()) {
    environment_["state"] = state;
    environment_["rounds"] = measured.rounds;
  }
  has_cases_ = has_cases_ || !measured.records.empty();
  if (writer_) writer_->rewrite(environment_, measured.records);
}

void ResultsFile::keep(const Measured& measured) {
  try {
    write(measured, "running");
  } catch (const InputError&) {  // a disk that is full now need not be so at the end
  }
}

bool ResultsFile::finish(const Measured& measured) {
  int written = 1;
  try {
    write(measured, measured.signal == 0 ? "" : "interrupted by " + name_of_signal(measured.signal));
    if (writer_) writer_->close();
  } catch (const InputError& error) {
    fmt::print(stderr, "shardmark: {}\n", error.what());
    written = 0;
  }
  return comm::all_reduce(world_, written, comm::Reduce::min) == 1;
}

}  // namespace shardmark::workloads
