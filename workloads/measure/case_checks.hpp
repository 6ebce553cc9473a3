// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/measure/case_record.hpp"
#include "workloads/measure/check.hpp"

namespace shardmark::workloads {

/// Runs the checks of the cases of a job (check.hpp), which share the references that they can.
class CaseChecks {
 public:
  struct Hooks {
    Status status;
    std::function<bool()> interrupted;  ///< collective
  };
  /// Takes `states`: of the cases by number. All outlive the object.
  CaseChecks(const Job& job, BatchSource& batches, Prepared& prepared, std::vector<CaseState>& states, Hooks hooks)
      : job_(job), batches_(batches), prepared_(prepared), states_(states), hooks_(std::move(hooks)) {}

  /// Checks so many steps of these cases, those of one reference in turn, and counts them in `count`. Those that are
  /// not `wanted` when their turn comes are left out, as are all of a reference whose first case is not. Collective.
  void check(const std::vector<std::size_t>& cases, std::int64_t steps, std::int64_t Checked::*count,
             const std::function<bool(std::size_t)>& wanted);

  /// Returns the seconds that references took until now.
  double reference_seconds() const { return reference_seconds_; }

 private:
  bool share_reference(std::size_t one, std::size_t other) const;
  std::vector<std::size_t> references(const std::vector<std::size_t>& cases) const;
  void check_case(std::size_t number, Expectation& expectation);
  double now() const;

  const Job& job_;
  BatchSource& batches_;
  Prepared& prepared_;
  std::vector<CaseState>& states_;
  Hooks hooks_;
  double reference_seconds_ = 0.0;
};

}  // namespace shardmark::workloads
