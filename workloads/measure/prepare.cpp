// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/agree.hpp"
#include "workloads/step/decide.hpp"

namespace shardmark {

std::vector<std::size_t> Job::cases_of(std::size_t plan) const {
  std::vector<std::size_t> numbers;
  for (std::size_t c = 0; c < cases.size(); ++c)
    if (cases[c].plan == plan) numbers.push_back(c);
  return numbers;
}

std::string Job::name_of(std::size_t number) const {
  return fmt::format("{} {}", plans[cases[number].plan].name, cases[number].how.name());
}

Prepared::Prepared(const Job& job, BatchSource& batches, const Status& status) : job_(job), decided_(job.cases.size()) {
  const RunOptions& options = job.options;
  const SampleRange own = samples_of(options.workload.global_batch, job.comm.size(), job.comm.rank());
  for (std::int64_t step = 0; step < std::max(options.batches, options.checked_steps); ++step) {
    status(fmt::format("preparing batch {}", step));
    const Samples samples = agree(job.comm, [&] { return batches.read(step, own.first, own.count); });
    inputs_.push_back(make_step_input(job.comm, options.workload, samples, own.first, step, options.gradients()));
  }
}

bool Prepared::hold(std::size_t plan) {
  if (tables_ && held_ == plan) return false;
  ready_.clear();
  tables_.reset();
  const Workload& workload = job_.options.workload;
  agree(job_.comm, [&] { tables_.emplace(job_.plans[plan], workload.tables, workload.features, job_.comm.rank()); });
  held_ = plan;
  return true;
}

ReadyCase& Prepared::ready(std::size_t number) {
  if (const auto found = ready_.find(number); found != ready_.end()) return found->second;
  const Case& how = job_.cases[number].how;
  const Plan& plan = job_.plans[job_.cases[number].plan];
  auto& decided = decided_[number];
  if (!decided)
    decided = decide(job_.comm, plan, tables_->tables(), tables_->features(), how.movement, inputs_.front());
  return ready_.try_emplace(number, job_.comm, *tables_, plan, how, *decided, job_.options.fault).first->second;
}

}  // namespace shardmark
