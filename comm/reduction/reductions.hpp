// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "comm/placement/traffic/reduction_bytes.hpp"
#include "comm/reduction/halving_reduction.hpp"
#include "comm/reduction/library_reduction.hpp"
#include "comm/reduction/nccl_reduction.hpp"
#include "comm/reduction/node_reduction.hpp"
#include "comm/reduction/pairwise_reduction.hpp"
#include "comm/unusable.hpp"

namespace shardmark::comm {

/// A ReductionChoice is one entry of the table `reductions`.
struct ReductionChoice {
  std::string_view name;
  std::string_view description;
  placement::ReductionSteps steps;  ///< by which comm/placement predicts what it counts
  /// Makes the reduction. Collective.
  std::unique_ptr<Reduction> (*make)(const Communicator&);
  /// Returns why these ranks cannot use it, the same on all of them; empty where they can. Collective.
  std::string (*unusable)(const Communicator&);
};

/// Returns the entry of a class that is constructed from (comm); it is refused where its static unusable(comm), if it
/// has one, gives a reason.
template <class Algorithm>
constexpr ReductionChoice reduction_choice(std::string_view name, std::string_view description,
                                           placement::ReductionSteps steps) {
  const auto make = [](const Communicator& comm) -> std::unique_ptr<Reduction> {
    return std::make_unique<Algorithm>(comm);
  };
  return {name, description, steps, make, unusable_by<Algorithm>};
}

inline constexpr std::array reductions{
    reduction_choice<LibraryReduction>("library", "MPI_Reduce_scatter, and MPI_Allgatherv back",
                                       placement::ReductionSteps::direct),
    reduction_choice<PairwiseReduction>("pairwise", "P-1 rounds, in round k to rank+k and from rank-k",
                                        placement::ReductionSteps::direct),
    reduction_choice<HalvingReduction>("recursive_halving",
                                       "log P rounds of half as much each, and of twice as much back",
                                       placement::ReductionSteps::halving),
    reduction_choice<NodeReduction>("node_shared", "loads and stores between ranks of one node, added in their order",
                                    placement::ReductionSteps::direct),
    reduction_choice<NcclReduction>("nccl", "NCCL's, a GPU for each rank", placement::ReductionSteps::direct),
};

}  // namespace shardmark::comm
