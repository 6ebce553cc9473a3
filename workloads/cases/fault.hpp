// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark::workloads {

/// Selects a defect that a step commits on purpose (--set fault=...), to show that the check finds it or the watchdog
/// ends it.
enum class Fault {
  none,
  lookup,
  route,
  exchange,
  update,
  state,
  stray_row,
  one_replica,
  late_step,
  stop,
  die,
  slow,
  fail,
  crash
};

inline constexpr std::array faults{
    Choice<Fault>{"none", "no defect", Fault::none},
    Choice<Fault>{"lookup", "one value of the first pooled vector is off by one", Fault::lookup},
    Choice<Fault>{"route", "one id arrives in the bag after its own", Fault::route},
    Choice<Fault>{"exchange", "a value that travels, or a gradient that is summed over ranks, changes its sign",
                  Fault::exchange},
    Choice<Fault>{"update", "the last row that should be updated is not", Fault::update},
    Choice<Fault>{"state", "the optimizer state of one updated row is off by one", Fault::state},
    Choice<Fault>{"stray_row", "a row that no id asked for is updated", Fault::stray_row},
    Choice<Fault>{"one_replica", "the last rank forgets a row of its copies of replicated tables", Fault::one_replica},
    Choice<Fault>{"late_step", "as lookup, but not in the first step", Fault::late_step},
    Choice<Fault>{"stop", "the last rank sleeps for ever in its lookup", Fault::stop},
    Choice<Fault>{"die", "the last rank kills itself in its lookup", Fault::die},
    Choice<Fault>{"slow", "the last rank sleeps 20 ms before each lookup; all values are right", Fault::slow},
    Choice<Fault>{"fail", "the last rank throws an error in its lookup", Fault::fail},
    Choice<Fault>{"crash", "crash@N: a rank kills itself before its N-th write, sync or rename of a save",
                  Fault::crash},
};
constexpr auto choices_of(Fault) { return Choices{"fault", faults}; }

}  // namespace shardmark::workloads
