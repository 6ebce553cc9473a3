// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/results_file.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/measure/interruption.hpp"

namespace shardmark::workloads {

ResultsFile::ResultsFile(const comm::Communicator& world, const std::string& path, const std::string& workload,
                         nlohmann::ordered_json environment)
    : world_(world), environment_(std::move(environment)) {
  environment_["state"] = "running";
  comm::agree(world, [&] {
    if (world.rank() != 0) return;
    const auto time = environment_.at("time").get<std::string>();
    writer_.emplace(path.empty() ? results::default_results_file(workload, time) : std::filesystem::path(path),
                    environment_);
  });
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
