// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark {

/// A defect that a step commits on purpose (--set fault=...), to show that the check finds it or the watchdog ends it.
enum class Fault { none, lookup, route, exchange, update, stop, die };

inline constexpr std::array faults{
    Choice<Fault>{"none", "no defect", Fault::none},
    Choice<Fault>{"lookup", "one value of the first pooled vector is off by one", Fault::lookup},
    Choice<Fault>{"route", "one id arrives in the bag after its own", Fault::route},
    Choice<Fault>{"exchange", "a value that travels, or a gradient that is summed over ranks, changes its sign",
                  Fault::exchange},
    Choice<Fault>{"update", "the last row that should be updated is not", Fault::update},
    Choice<Fault>{"stop", "the last rank sleeps for ever in its lookup", Fault::stop},
    Choice<Fault>{"die", "the last rank kills itself in its lookup", Fault::die},
};
constexpr auto choices_of(Fault) { return Choices{"fault", faults}; }

}  // namespace shardmark
