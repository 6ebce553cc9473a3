// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace shardmark::kernels {

/// In which order the gradients of a row are added.
///   deterministic  unique_rows, fused_update: ascending positions, so the same bits for any number of threads
///   unordered      as threads come to them: scatter_sgd for tables that can_scatter, whose sums differ from the others
///                  by their fp32 roundings, from run to run; others as above, since nothing that was tried is faster
enum class UpdateOrder { deterministic, unordered };

struct UpdateOrderChoice {
  std::string_view name;
  std::string_view description;
  UpdateOrder value;
};

inline constexpr std::array update_orders{
    UpdateOrderChoice{"deterministic", "sums in the order of the ids: the same bits for any number of threads",
                      UpdateOrder::deterministic},
    UpdateOrderChoice{"unordered", "sums in the order in which threads come to them", UpdateOrder::unordered},
};

}  // namespace shardmark::kernels
