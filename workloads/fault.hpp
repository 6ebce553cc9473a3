// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark {

/// A defect that a step commits on purpose (--set fault=...), to show that the check finds it or the watchdog ends it.
enum class Fault { none, lookup, route, exchange, update, stop, die };

struct FaultChoice {
  std::string_view name;
  std::string_view description;
  Fault value;
};

inline constexpr std::array faults{
    FaultChoice{"none", "no defect", Fault::none},
    FaultChoice{"lookup", "one value of the first pooled vector is off by one", Fault::lookup},
    FaultChoice{"route", "one id arrives in the bag after its own", Fault::route},
    FaultChoice{"exchange", "one bit of what is received from other ranks flips", Fault::exchange},
    FaultChoice{"update", "the last row that should be updated is not", Fault::update},
    FaultChoice{"stop", "the last rank sleeps for ever in its lookup", Fault::stop},
    FaultChoice{"die", "the last rank kills itself in its lookup", Fault::die},
};

inline Fault fault_named(std::string_view name) { return choice_named(faults, "fault", name).value; }

}  // namespace shardmark
