// SPDX-License-Identifier: Apache-2.0
#include "datasets/criteo_format.hpp"

#include <fmt/format.h>

namespace shardmark::datasets {

std::string criteo_field_name(int field) {
  return field < criteo_dense ? fmt::format("I{}", field + 1) : fmt::format("C{}", field - criteo_dense + 1);
}

}  // namespace shardmark::datasets
