// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <string>
#include <vector>

#include "reference/named.hpp"

namespace shardmark::placement {

/// Names what a software does while other parts of the step run.
enum class Overlap { input, weights, sums, replicas };

inline constexpr std::array overlaps{
    Choice<Overlap>{"input", "ids of the next batch are exchanged while this one is trained", Overlap::input},
    Choice<Overlap>{"weights", "gradients of weights are computed while those of embeddings travel", Overlap::weights},
    Choice<Overlap>{"sums", "gradients of dense layers are summed while embeddings are updated", Overlap::sums},
    Choice<Overlap>{"replicas", "gradients of replicated rows are summed while other rows are updated",
                    Overlap::replicas},
};
constexpr auto choices_of(Overlap) { return Choices{"overlap", overlaps}; }

/// Says what runs a step on a machine, as far as time depends on it. The default is our own step, one phase after the
/// other in fp32.
struct Software {
  std::string name;  ///< empty: our own step
  std::string date;  ///< of the version that it describes, "2022-04"
  std::bitset<placement::overlaps.size()> overlaps = {};
  double gradient_bytes = 4.0;            ///< of a value of gradients that are summed over all ranks
  std::vector<std::string> options = {};  ///< that a case has unless it says otherwise: "wire=fp16"

  bool overlapping(Overlap which) const { return overlaps.test(static_cast<std::size_t>(which)); }
  bool operator==(const Software&) const = default;
};

}  // namespace shardmark::placement
